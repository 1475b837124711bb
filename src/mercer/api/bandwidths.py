"""Bandwidths chosen from the records with privacy.  M12; docs/proofs/selection.md.

First ask whether smoothing after the noise makes the choice free (M17): `bandwidth="auto"`.
"""

from __future__ import annotations

from typing import Any

from mercer.api.calls import call
from mercer.api.expected_choices import of_bandwidth
from mercer.api.ranks import draw_spread
from mercer.api.shares import Split, check_share, part, pure
from mercer.columns.domain import Domain
from mercer.columns.reading import Reading
from mercer.common.checks import check_choice, check_epsilon
from mercer.door.publish import LedgerLike, Paid, Payer, Purse, publish
from mercer.noise.mechanisms.exponential import Exponential
from mercer.promise.events import PureEvent
from mercer.releases.choice import BandwidthRelease
from mercer.sensitive.base import Scores
from mercer.sensitive.summaries.ranks import Ranks
from mercer.sensitive.summaries.selection import Criterion, CrossValidation, gap_scores, gap_sensitivity
from mercer.sensitive.summaries.tally import Counted, Tally

__all__ = ["cv_bandwidth", "draw_bandwidth", "extremes", "private_bandwidth", "scott_bandwidth"]

_NARROWEST, _WIDEST = 1e-3, 0.5  # of the bounds: where Scott's bandwidth is cut, publicly
_LEAST = {1: 0.004, 2: 0.012, 3: 0.06}  # what any basis for a density can hold


def extremes(domain: Domain) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The narrowest and the widest bandwidths that can be drawn, in the units of the data."""
    least = _LEAST[domain.dimension]
    return (tuple(float(least * w) for w in domain.widths), tuple(float(_WIDEST * w) for w in domain.widths))


def draw_bandwidth(
    tally: Tally, domain: Domain, split: Split, paid: Paid, *, n: int, unit: str, boundary: str
) -> tuple[float, ...]:
    """The bandwidth of each column for a density, in the units of the data."""
    lengths, _ = private_bandwidth(
        tally,
        domain,
        n=n,
        unit=unit,
        method=split.method,
        epsilon=split.choice,
        boundary=boundary,
        payer=paid,
    )
    least = _LEAST[domain.dimension]
    return tuple(float(max(h, least) * w) for h, w in zip(lengths, domain.widths, strict=True))


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
    tally: Tally,
    domain: Domain,
    *,
    n: int,
    method: str,
    epsilon: float,
    boundary: str,
    payer: Payer | Paid,
    unit: str = "row",
) -> tuple[tuple[float, ...], PureEvent]:
    """Bandwidths in the unit cube, one for each column, and what drawing them cost."""
    check_choice("method", method, ("private-scott", "private-cv"))
    if method == "private-scott":
        d = domain.dimension
        rule = (4 / ((d + 2) * n)) ** (1 / (d + 4)) / 1.34
        each = part(epsilon, d)
        spreads = [draw_spread(Ranks(tally, axis, n=n, unit=unit), each, payer) for axis in range(d)]
        lengths = tuple(min(max(rule * share, _NARROWEST), _WIDEST) for share in spreads)
        return lengths, PureEvent(epsilon)
    criterion = Criterion.of(domain.dimension, n, boundary)
    values = CrossValidation(tally, criterion).values()
    scores = Scores(gap_scores(values, criterion.bounds), gap_sensitivity(n), n=n, unit=unit)

    def build(place: int, *_: object) -> tuple[float, ...]:
        return (criterion.bandwidths[place],) * domain.dimension

    return publish(scores, Exponential(), build, payer, promise=pure(epsilon)), PureEvent(epsilon)


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
    if unit is not None and method == "private-cv":
        raise ValueError("unit cannot be combined with cross-validation; use scott_bandwidth")
    reading = Reading.of(na_values=na_values, outside=outside, formats=formats, dry_run=dry_run)
    purse = Purse.of(rng, ledger, dataset, data=data, unit=unit, insist=insist, dry_run=dry_run)
    held = Counted(data, bounds, columns, unit, reading, one=False)
    check_share(epsilon, 2 * held.domain.dimension if method == "private-scott" else 1)
    paid = purse.pay(
        (PureEvent(epsilon),),
        promise=pure(epsilon),
        n=held.n,
        unit=held.unit,
        words=Exponential.words,
        calibration=Exponential.calibration,
        what=f"bandwidth of {', '.join(held.domain.names)}",
    )
    lengths, _ = private_bandwidth(
        held.tally,
        held.domain,
        n=held.n,
        unit=held.unit,
        method=method,
        epsilon=epsilon,
        boundary=boundary,
        payer=paid,
    )
    values = tuple(float(h * w) for h, w in zip(lengths, held.domain.widths, strict=True))
    return BandwidthRelease(held.domain.names, values, method, paid.statement)
