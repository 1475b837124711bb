"""How a budget is divided between a private choice and the release that uses it, before any draw."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from scipy.optimize import brentq

from mercer.columns.domain import MAX_DIMENSION
from mercer.common.checks import check_positive
from mercer.door.publish import Paid, Payer
from mercer.noise.mechanisms import Mechanism
from mercer.noise.mechanisms.base import Promise
from mercer.noise.mechanisms.exponential import Choice
from mercer.promise.composition import decimal, delta_of, gaussian_beside
from mercer.promise.events import ApproximateEvent, Event, PureEvent, gaussian_multiplier

__all__ = ["ENDS", "Split", "check_share", "part", "pure", "shares"]

ENDS = 0.02  # share of epsilon for the counts beside quantiles


@dataclass(frozen=True)
class Split:
    """A budget for a choice and the release that uses it.

    Epsilon of the choice is a share; the rest is the release's.  Pure releases add up; a Gaussian
    one is calibrated so that both together keep the promise by the composition of their events
    (`mercer.promise.composition`), which costs less than the difference.
    """

    method: str
    choice: float  # epsilon of the choice
    noise: Promise  # of the release alone
    whole: Promise
    events: tuple[Event, Event]

    @classmethod
    def of(cls, method: str, mechanism: Mechanism, promise: Promise, share: object) -> Split:
        """Divide a budget, `share` of epsilon for the choice; ValueError where a part is too small."""
        number = check_positive("choice_share", share, "a share of epsilon, for example 0.2")
        if number >= 1:
            raise ValueError(f"choice_share must be below 1, got {number:g}; 0.2 is usual")
        epsilon, delta = promise["epsilon"], promise["delta"]
        first = epsilon * number
        check_share(first, 2 * MAX_DIMENSION if method == "private-scott" else 1)
        check_share(epsilon - first, 1)
        rest = float(decimal(epsilon) - decimal(first))
        while decimal(first) + decimal(rest) > decimal(epsilon):
            rest = math.nextafter(rest, 0.0)
        alone = Promise(epsilon=rest, delta=delta)
        if mechanism.pure:
            return cls(method, first, alone, promise, (PureEvent(first), PureEvent(rest)))
        joined = Promise(epsilon=_beside(first, epsilon=epsilon, delta=delta), delta=delta)
        both: tuple[Event, Event] = (PureEvent(first), mechanism.event(**joined))
        if joined["epsilon"] > rest and delta_of(both, epsilon=epsilon) <= delta:
            return cls(method, first, joined, promise, both)
        return cls(method, first, alone, promise, (both[0], ApproximateEvent(rest, delta)))

    def pay(
        self,
        mechanism: Mechanism,
        purse: Payer,
        *,
        n: int,
        unit: str,
        what: str,
        chosen: str = "bandwidth",
        by: str = Choice.words,
    ) -> Paid:
        """Charge both at once, before either is drawn."""
        return purse.pay(
            self.events,
            promise=self.whole,
            n=n,
            unit=unit,
            words=f"{mechanism.words}; {chosen} by {by}, epsilon = {self.choice:g} of it",
            calibration=mechanism.calibration,
            what=what,
        )


def pure(epsilon: float) -> Promise:
    """The promise of a choice by the exponential mechanism: there is no delta in it."""
    return Promise(epsilon=epsilon, delta=0.0)


def shares(epsilon: float, choices: int) -> tuple[float, float]:
    """Epsilon of the choices and of the counts beside: their sum is at most the whole, exactly."""
    counts = part(epsilon, round(1 / ENDS))
    choice = epsilon - counts
    while Fraction(choice) + Fraction(counts) > Fraction(epsilon):
        choice = math.nextafter(choice, 0.0)
    check_share(choice, choices)  # before anything is charged
    return choice, counts


def check_share(epsilon: float, count: int) -> None:
    """Refuse an epsilon that cannot be shared by so many choices, before it is charged."""
    if epsilon / count < 1.001e-9:
        raise ValueError(
            "epsilon must be in [1e-9, 1e9] for each choice that is made with it, and is too "
            f"small to be shared: {epsilon:g} for {count} choice(s); nothing was spent; use a "
            "larger epsilon"
        )


def part(epsilon: float, count: int) -> float:
    """An even share, rounded down so that `count` of them never exceed epsilon."""
    share = epsilon / count
    while Fraction(share) * count > Fraction(epsilon):
        share = math.nextafter(share, 0.0)
    return share


def _beside(first: float, *, epsilon: float, delta: float) -> float:
    """Epsilon at which a Gaussian alone has the noise that it needs beside a pure choice."""
    # the lattice costs up to delta/1000 at the Gaussian's own epsilon, and more at the whole one
    lattice = 0.0011 * (1 + math.exp(min(epsilon, 700.0))) / (1 + math.exp(min(epsilon - first, 700.0)))
    if lattice > 0.3:
        return epsilon - first
    multiplier = gaussian_beside(first, epsilon=epsilon, delta=delta * (1 - lattice))

    def excess(candidate: float) -> float:
        return gaussian_multiplier(epsilon=candidate, delta=delta) / multiplier - 1

    low, high = epsilon - first, epsilon
    if excess(low) <= 0:
        return low
    return float(brentq(excess, low, high, xtol=1e-9)) * (1 - 1e-6) if excess(high) < 0 else low
