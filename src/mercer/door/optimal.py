"""A count through the mechanism of least risk: charge, then draw.  M13."""

from __future__ import annotations

import numpy as np

from mercer.columns.conditions import Condition
from mercer.door.publish import Purse, spend
from mercer.noise.optimal.programs import optimal_count
from mercer.noise.optimal.weights import MOST, OptimalCount
from mercer.promise.events import PureEvent, Sensitivity
from mercer.releases.counts.number import CountRelease
from mercer.releases.findings import tell

__all__ = ["mechanism_for", "publish_optimal"]


def mechanism_for(chosen: OptimalCount | str, n: int, epsilon: float) -> OptimalCount:
    """The mechanism that was given, or the minimax one for this n: checked before anything is paid.

    n is public, so the mechanism may follow it.
    """
    if isinstance(chosen, str):
        if n > MOST:
            raise ValueError(
                f"mechanism='optimal' is for at most {MOST} records, there are {n}; nothing was "
                "spent; leave mechanism out: geometric noise is nearly optimal for so many"
            )
        return optimal_count(n, epsilon)
    if chosen.n != n:
        raise ValueError(
            f"mechanism is for n = {chosen.n} and there are {n} records; nothing was spent; use "
            f"mercer.optimal_count({n}, …)"
        )
    if chosen.epsilon > epsilon:
        raise ValueError(
            f"mechanism has epsilon = {chosen.epsilon:g}, more than the {epsilon:g} asked for; "
            "nothing was spent"
        )
    return chosen


def publish_optimal(
    chosen: OptimalCount | str,
    count: int,
    purse: Purse,
    epsilon: float,
    *,
    n: int,
    unit: str,
    what: str,
    share: bool,
    words: str,
) -> CountRelease:
    """Charge what the mechanism costs, then draw the answer by its exact probabilities."""
    mechanism = mechanism_for(chosen, n, epsilon)
    how = "minimax" if mechanism.prior is None else "Bayes-optimal"
    statement = spend(
        (PureEvent(mechanism.epsilon),),
        purse,
        epsilon=mechanism.epsilon,
        delta=0.0,
        n=n,
        unit=unit,
        words=f"{how} matrix for the {mechanism.loss} loss, drawn exactly",
        calibration="exact",
        what=what,
    )
    purse.entropy.witness("count", np.array([count]), Sensitivity(1.0, norm="l1"))
    drawn = mechanism.draw(count, purse.entropy)
    return tell(CountRelease(Condition(words), statement, mechanism, drawn, share))
