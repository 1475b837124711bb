"""The one door.  Layer 5: the only place where a summary meets noise and becomes a release.

`publish` is for noise that is added to coordinates, `spend` for choices: both charge before
anything is drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from mercer.checks import Floats
from mercer.entropy import Entropy
from mercer.laws import Law
from mercer.mechanisms import Mechanism
from mercer.privacy import Event
from mercer.release import Release
from mercer.statements import Statement
from mercer.summaries import Summary
from mercer.version import __version__

__all__ = ["publish", "spend"]

R = TypeVar("R", bound=Release)


def publish(
    summary: Summary,
    mechanism: Mechanism,
    build: Callable[[Floats, Law, Statement], R],
    *,
    epsilon: float,
    delta: float,
    entropy: Entropy,
) -> R:
    """Calibrate to the summary's sensitivity, add noise, and hand out only what is public.

    `build` makes the release from noisy coordinates, the law of their noise and the statement;
    it is post-processing.
    """
    sensitivity = summary.sensitivity(mechanism.norm)
    noise = mechanism.calibrate(sensitivity, summary.basis.size, epsilon=epsilon, delta=delta)
    statement = Statement(
        epsilon=epsilon,
        delta=delta,
        neighbours=sensitivity.neighbours,
        unit=summary.unit,
        n=summary.n,
        mechanism=mechanism.words,
        calibration=mechanism.calibration,
        secure=entropy.secure,
        version=__version__,
        events=(noise.event,),
    )
    coordinates = summary.coordinates()
    entropy.witness("coordinates", coordinates, sensitivity)
    noisy = noise.add(coordinates, entropy)
    return build(noisy, noise.law, statement)


def spend(
    events: Sequence[Event],
    *,
    epsilon: float,
    delta: float,
    entropy: Entropy,
    n: int,
    unit: str,
    words: str,
    calibration: str,
    ledger: Any = None,
    dataset: str | None = None,
    what: str,
) -> Statement:
    """Charge what a draw costs, durably, and hand out the statement of it: before the draw."""
    statement = Statement(
        epsilon=epsilon,
        delta=delta,
        neighbours="replace-one",
        unit=unit,
        n=n,
        mechanism=words,
        calibration=calibration,
        secure=entropy.secure,
        version=__version__,
        events=tuple(events),
    )
    if ledger is not None:
        if dataset is None:
            raise ValueError(
                "dataset is missing: a ledger keeps a budget for each data set; give its name with "
                "dataset=…"
            )
        ledger.charge(dataset, tuple(events), epsilon=epsilon, delta=delta, what=what)
    return statement
