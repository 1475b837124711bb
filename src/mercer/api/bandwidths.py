"""Bandwidths chosen from the records with privacy.  M12; docs/proofs/selection.md.

First ask whether smoothing after the noise makes the choice free (M17): `bandwidth="auto"`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from scipy.optimize import brentq

from mercer.api.calls import call
from mercer.api.expected_choices import of_bandwidth
from mercer.columns.domain import MAX_DIMENSION, Domain
from mercer.columns.reading import Reading
from mercer.common.checks import check_choice, check_epsilon, check_positive
from mercer.door.choose import Held, check_share, draw_spread, part
from mercer.door.publish import LedgerLike, Purse, spend
from mercer.noise import entropy as sources
from mercer.noise.entropy import Entropy
from mercer.noise.mechanisms import Mechanism
from mercer.noise.mechanisms.base import Promise
from mercer.noise.mechanisms.exponential import Choice, Exponential
from mercer.promise.accountants import gaussian_multiplier
from mercer.promise.composition import decimal, delta_of, gaussian_beside
from mercer.promise.events import ApproximateEvent, Event, PureEvent
from mercer.promise.statement import Statement
from mercer.releases.choice import BandwidthRelease
from mercer.sensitive.summaries.crossval import Criterion, CrossValidation, gap_scores, gap_sensitivity
from mercer.sensitive.summaries.tally import Tally

__all__ = ["Split", "cv_bandwidth", "private_bandwidth", "scott_bandwidth"]

_NARROWEST, _WIDEST = 1e-3, 0.5  # of the bounds: where Scott's bandwidth is cut, publicly
_LEAST = {1: 0.004, 2: 0.012, 3: 0.06}  # what any basis for a density can hold


@dataclass(frozen=True)
class Split:
    """A budget for a private bandwidth and the density that uses it, fixed beforehand.

    Epsilon of the choice is a share; the rest is the density's.  Pure releases add up; a Gaussian
    one is calibrated so that both together keep the promise by the composition of their events
    (`mercer.promise.composition`), which costs less than the difference.
    """

    method: str
    choice: float  # epsilon of the choice
    noise: Promise  # of the density alone
    whole: Promise
    events: tuple[Event, Event]

    @classmethod
    def of(cls, method: str, mechanism: Mechanism, promise: Promise, share: object) -> Split:
        """Check the share and divide."""
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

    def spend(
        self,
        mechanism: Mechanism,
        purse: Purse,
        *,
        n: int,
        unit: str,
        what: str,
        chosen: str = "bandwidth",
        by: str = Choice.words,
    ) -> Statement:
        """Charge both at once, before either is drawn."""
        words = f"{mechanism.words}; {chosen} by {by}, epsilon = {self.choice:g} of it"
        return spend(
            self.events,
            purse,
            **self.whole,
            n=n,
            unit=unit,
            words=words,
            calibration=mechanism.calibration,
            what=what,
        )

    def extremes(self, domain: Domain) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The narrowest and the widest bandwidths that can be drawn, in the units of the data."""
        least = _LEAST[domain.dimension]
        return (
            tuple(float(least * w) for w in domain.widths),
            tuple(float(_WIDEST * w) for w in domain.widths),
        )

    def draw(self, tally: Tally, domain: Domain, purse: Purse, *, n: int, boundary: str) -> tuple[float, ...]:
        """The bandwidth of each column, in the units of the data."""
        lengths, _ = private_bandwidth(
            tally,
            domain,
            n=n,
            method=self.method,
            epsilon=self.choice,
            boundary=boundary,
            entropy=purse.entropy,
        )
        least = _LEAST[domain.dimension]
        pairs = zip(lengths, domain.widths, strict=True)
        return tuple(float(max(h, least) * w) for h, w in pairs)


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


def scott_bandwidth(data: object, **arguments: Any) -> BandwidthRelease:
    """Scott's bandwidth of each column from private quartiles; arguments as in `quantiles`.

    h_j = (4 / ((d + 2) n))^(1/(d + 4)) IQR_j / 1.34 (Hall 2013, Sec. 4.1.2 prints d + 1), cut to
    [0.001, 0.5] of the bounds.  Epsilon is split evenly over the columns.
    """
    return _bandwidth(data, "private-scott", **arguments)


def cv_bandwidth(data: object, *, boundary: str = "reflect", **arguments: Any) -> BandwidthRelease:
    """A bandwidth by private least-squares cross-validation; arguments as in `quantiles`."""
    return _bandwidth(data, "private-cv", boundary, **arguments)


def private_bandwidth(
    tally: Tally, domain: Domain, *, n: int, method: str, epsilon: float, boundary: str, entropy: Entropy
) -> tuple[tuple[float, ...], PureEvent]:
    """Bandwidths in the unit cube, one for each column, and what drawing them cost.

    The caller has charged `PureEvent(epsilon)` before.
    """
    check_choice("method", method, ("private-scott", "private-cv"))
    if method == "private-scott":
        d = domain.dimension
        rule = (4 / ((d + 2) * n)) ** (1 / (d + 4)) / 1.34
        spreads = [draw_spread(tally, axis, n, part(epsilon, d), entropy) for axis in range(d)]
        lengths = tuple(min(max(rule * share, _NARROWEST), _WIDEST) for share in spreads)
        return lengths, PureEvent(epsilon)
    criterion = Criterion.of(domain.dimension, n, boundary)
    values = CrossValidation(tally, criterion).values()
    choice = Exponential().calibrate(gap_sensitivity(n), epsilon=epsilon)
    index = choice.choose(gap_scores(values, criterion.bounds), entropy)
    return (criterion.bandwidths[index],) * domain.dimension, choice.event


@call(of_bandwidth)
def _bandwidth(
    data: object,
    method: str,
    boundary: str = "reflect",
    *,
    bounds: object = None,
    epsilon: object = None,
    columns: object = None,
    unit: str | None = None,
    na_values: object = None,
    outside: str = "clip",
    formats: object = None,
    insist: bool = False,
    dry_run: bool = False,
    ledger: LedgerLike = None,
    dataset: str | None = None,
    rng: object = None,
) -> BandwidthRelease:
    epsilon = check_epsilon(epsilon)
    check_choice("boundary", boundary, ("reflect", "periodic", "open"))
    source = sources.resolve(rng)
    if unit is not None and method == "private-cv":
        raise ValueError("unit cannot be combined with cross-validation; use scott_bandwidth")
    reading = Reading.of(na_values=na_values, outside=outside, formats=formats, dry_run=dry_run)
    purse = Purse.of(source, ledger, dataset, data=data, unit=unit, insist=insist, dry_run=dry_run)
    held = Held(data, bounds, columns, unit, purse, reading, one=False)
    check_share(epsilon, 2 * held.domain.dimension if method == "private-scott" else 1)
    what = f"bandwidth of {', '.join(held.domain.names)}"
    statement = held.charge(epsilon, what)
    lengths, _ = private_bandwidth(
        held.tally, held.domain, n=held.n, method=method, epsilon=epsilon, boundary=boundary, entropy=source
    )
    values = tuple(float(h * w) for h, w in zip(lengths, held.domain.widths, strict=True))
    return BandwidthRelease(held.domain.names, values, method, statement)
