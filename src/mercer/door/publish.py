"""The one door.  The only place where a summary meets noise and becomes a release.

`publish` is for noise that is added to coordinates, `spend` for choices: both charge before
anything is drawn.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

from mercer.common.checks import Floats, check_worthwhile
from mercer.common.version import __version__
from mercer.ledger.ledger import Ledger, account
from mercer.noise.entropy import Entropy
from mercer.noise.laws import Law
from mercer.noise.mechanisms import Mechanism
from mercer.noise.mechanisms.base import Noise, Promise
from mercer.noise.mechanisms.objective import FINISH, Slopes, Tilt, TiltedNoise, calibrate_tilt, reach
from mercer.promise.composition import delta_of
from mercer.promise.events import ApproximateEvent, Event, GaussianEvent, PureEvent, Sensitivity
from mercer.promise.statement import Statement
from mercer.sensitive.summaries import MachineBounds, MachineSummary, Summary

__all__ = [
    "LedgerLike",
    "Purse",
    "Rehearsed",
    "commit",
    "perturb",
    "publish",
    "spend",
    "tilted_bounds",
    "tilted_noise",
]

R = TypeVar("R")
LedgerLike: TypeAlias = Ledger | str | os.PathLike[str] | None


@dataclass(frozen=True)
class Purse:
    """Where noise comes from, and who pays: nobody, or a dataset of a ledger."""

    entropy: Entropy
    ledger: Ledger | None = None
    dataset: str | None = None
    insist: bool = False  # on a promise that protects next to nobody
    dry: bool = False  # say what would be charged, and stop there

    def __post_init__(self) -> None:
        if (self.ledger is None) != (self.dataset is None):
            raise ValueError("ledger and dataset go together: give both, or neither")

    @classmethod
    def of(
        cls,
        entropy: Entropy,
        ledger: LedgerLike,
        dataset: str | None,
        *,
        data: object = None,
        unit: str | None = None,
        insist: bool = False,
        dry_run: bool = False,
    ) -> Purse:
        """Open the ledger and check all that can be checked before data are read."""
        if unit == "row":
            raise ValueError(
                "unit = 'row' is the word for no unit: a promise about it would speak of rows; "
                "rename the column that names the person"
            )
        book = account(ledger, dataset, data=data, unit=unit, secure=entropy.secure)
        return cls(entropy, book, dataset, insist, dry_run)


class Rehearsed(Exception):  # noqa: N818
    """A dry run has come to the door: what would be charged there, instead of the charge."""

    def __init__(self, statement: Any, what: str, charge: str) -> None:
        super().__init__("a dry run ends at the door")
        self.statement, self.what, self.charge = statement, what, charge
        self.expected = ""  # error in words, where the release's own code knows it best


def _would_charge(purse: Purse, statement: Statement) -> str:
    """What a charge would take and leave, in words; BudgetExceeded if it would be refused."""
    if purse.ledger is None or purse.dataset is None:
        return "no ledger is given, so nothing would be counted"
    cost = {"epsilon": statement.epsilon, "delta": statement.delta}
    left = purse.ledger.rehearse(purse.dataset, statement.events, **cost)
    return f"epsilon = {cost['epsilon']:g}, delta = {cost['delta']:g} of {left}"


def spend(
    events: Sequence[Event],
    purse: Purse,
    *,
    epsilon: float,
    delta: float,
    n: int,
    unit: str,
    words: str,
    calibration: str,
    what: str,
) -> Statement:
    """Charge what is about to be drawn, durably, and hand out the statement of it.

    A crash may cost a charge, but never leaves a release unpaid.
    """
    check_worthwhile(epsilon, delta, n, insist=purse.insist)
    statement = Statement(
        epsilon=epsilon,
        delta=delta,
        neighbours="replace-one",
        unit=unit,
        n=n,
        mechanism=words,
        calibration=calibration,
        secure=purse.entropy.secure,
        version=__version__,
        events=tuple(events),
    )
    if purse.dry:
        raise Rehearsed(statement, what, _would_charge(purse, statement))
    if purse.ledger is not None and purse.dataset is not None:
        purse.ledger.charge(
            purse.dataset,
            statement.events,
            epsilon=epsilon,
            delta=delta,
            what=what,
            unit=unit,
            secure=statement.secure,
        )
    return statement


def commit(
    sensitivity: Sensitivity,
    mechanism: Mechanism,
    size: int,
    purse: Purse,
    *,
    promise: Promise,
    n: int,
    unit: str,
    what: str,
) -> tuple[Noise, Statement]:
    """Calibrate and charge for `size` coordinates that will come one at a time (M7)."""
    noise = mechanism.calibrate(sensitivity, size, **promise)
    statement = spend(
        (noise.event,),
        purse,
        **promise,
        n=n,
        unit=unit,
        words=mechanism.words,
        calibration=mechanism.calibration,
        what=what,
    )
    return noise, statement


def publish(
    summary: Summary,
    mechanism: Mechanism,
    build: Callable[[Floats, Law, Statement], R],
    purse: Purse,
    *,
    promise: Promise,
    what: str,
    paid: Statement | None = None,
) -> R:
    """Calibrate to the summary's sensitivity, charge, add noise, and hand out what is public.

    The charge is made when all is ready but before noise is drawn; `paid` is the statement of one
    that was made already, for this noise and a choice before it together.  `build` makes the
    release from noisy coordinates, the law of their noise and the statement; it is
    post-processing.
    """
    sensitivity = summary.sensitivity(mechanism.norm)
    noise = mechanism.calibrate(sensitivity, summary.size, **promise)
    if paid is not None and not _covered(noise.event, paid, summary):
        raise ValueError("what was paid does not cover this noise; nothing was drawn")
    coordinates = summary.coordinates()
    statement = paid or spend(
        (noise.event,),
        purse,
        **promise,
        n=summary.n,
        unit=summary.unit,
        words=mechanism.words + summary.note,
        calibration=mechanism.calibration,
        what=what,
    )
    purse.entropy.parameters(*summary.parameters)
    purse.entropy.witness("coordinates", coordinates, sensitivity)
    noisy = noise.add(coordinates, purse.entropy)
    return build(noisy, noise.law, statement)


def perturb(
    summary: MachineSummary,
    build: Callable[[Floats, Law, Statement], R],
    purse: Purse,
    *,
    promise: Promise,
    what: str,
    paid: Statement | None = None,
) -> R:
    """Noise inside the objectives of machines (M8): charge, draw, minimise, hide what is left.

    `build` is given weights times their penalties, as by `publish`, and a law that bounds their
    noise to first order: half the slope's, over n.
    """
    noise = tilted_noise(summary.bounds, **promise)
    if summary.bounds.tilt < noise.tilt.longest:
        raise ValueError("the solver's bounds do not hold for this noise; nothing was drawn")
    if paid is not None and not _covered(noise.event, paid, summary):
        raise ValueError("what was paid does not cover this noise; nothing was drawn")
    statement = paid or spend(
        (noise.event,),
        purse,
        **promise,
        n=summary.n,
        unit=summary.unit,
        words=TiltedNoise.words + summary.note,
        calibration="exact",
        what=what,
    )
    moved = Sensitivity(reach(_slopes(summary.bounds)), norm="l2")
    purse.entropy.witness("gradient", summary.gradient, moved)
    weights = summary.tilted(noise.tilt.draw(summary.size, purse.entropy))
    noisy = noise.finish.add(weights, purse.entropy)
    return build(noisy, noise.law(2 * summary.n), statement)


def tilted_bounds(bounds: MachineBounds, *, epsilon: float, delta: float) -> MachineBounds:
    """The same bounds with noise in the objectives: public."""
    tilt = _tilt(bounds, epsilon=epsilon, delta=delta)
    return replace(bounds, tilt=tilt.longest)


def tilted_noise(bounds: MachineBounds, *, epsilon: float, delta: float) -> TiltedNoise:
    """Noise for the objectives of these machines, and for what the solver leaves: public."""
    tilt = _tilt(bounds, epsilon=epsilon, delta=delta)
    bounds = replace(bounds, tilt=tilt.longest)
    bounds.check()
    left = math.sqrt(sum(bounds.left(machine) ** 2 for machine in bounds.machines))
    distance = left + tilt.rounding / (2 * bounds.n)  # of weights times penalties
    return TiltedNoise(tilt, distance, bounds.size, epsilon=epsilon, delta=delta)


def _tilt(bounds: MachineBounds, *, epsilon: float, delta: float) -> Tilt:
    kappa, n = bounds.features.kappa, bounds.n
    growth = sum(
        math.log1p(machine.loss.curvature * kappa**2 / (2 * machine.penalty * n)) * (1 + 1e-9)
        for machine in bounds.machines
    )
    if delta and epsilon * FINISH < 1e-4:
        raise ValueError(
            f"epsilon must be at least {1e-4 / FINISH:g} for noise in the objective with a delta, "
            f"got {epsilon:g}; use method='output'"
        )
    if 2 * growth > epsilon:
        many = len(bounds.machines)
        enough = max(
            machine.loss.curvature * kappa**2 / (2 * n * math.expm1(epsilon / (2 * many)))
            for machine in bounds.machines
        )
        raise ValueError(
            f"penalty = {min(m.penalty for m in bounds.machines):.3g} is too small for noise in "
            f"the objective: the loss's curvature would cost {growth:.3g} of epsilon = "
            f"{epsilon:g}; nothing was spent; use a penalty of {enough:.3g} or more, or "
            "method='output'"
        )
    return calibrate_tilt(_slopes(bounds), growth, bounds.size, epsilon=epsilon, delta=delta)


def _slopes(bounds: MachineBounds) -> list[Slopes]:
    kappa, losses = bounds.features.kappa, [machine.loss for machine in bounds.machines]
    return [Slopes(loss.slopes[0] * kappa, loss.slopes[1] * kappa) for loss in losses]


def _covered(event: Event, paid: Statement, summary: Summary) -> bool:
    """Whether the last event of a statement is at least this one, of these records or a part."""
    if paid.n < summary.n or paid.unit != summary.unit:
        return False
    match event, paid.events[-1]:
        case PureEvent(), PureEvent() as most:
            return event.epsilon <= most.epsilon
        case ApproximateEvent(), ApproximateEvent() as most:
            return event.epsilon <= most.epsilon and event.delta <= most.delta
        case GaussianEvent(), GaussianEvent() as most:
            return event.mu <= most.mu and event.distance <= most.distance
        case GaussianEvent(), ApproximateEvent() as most:
            return delta_of((event,), epsilon=most.epsilon) <= most.delta
    return False
