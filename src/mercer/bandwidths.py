"""Bandwidths chosen from the records with privacy.  Layer 5.  M12; docs/proofs/selection.md.

First ask whether smoothing after the noise makes the choice free (M17): `bandwidth="auto"`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer import entropy as sources
from mercer.checks import check_choice, check_epsilon
from mercer.choices import BandwidthRelease
from mercer.domain import Domain
from mercer.draws import Held, draw_spread, part
from mercer.entropy import Entropy
from mercer.mechanisms.exponential import Exponential
from mercer.privacy import PureEvent
from mercer.summaries.crossval import Criterion, CrossValidation, gap_scores, gap_sensitivity
from mercer.summaries.tally import Tally

__all__ = ["cv_bandwidth", "private_bandwidth", "scott_bandwidth"]

_NARROWEST, _WIDEST = 1e-3, 0.5  # of the bounds: where Scott's bandwidth is cut, publicly


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
    entropy: Entropy,
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


@np.errstate(all="ignore")
def _bandwidth(
    data: object,
    method: str,
    boundary: str = "reflect",
    *,
    bounds: object = None,
    epsilon: object = None,
    columns: object = None,
    unit: str | None = None,
    ledger: Any = None,
    dataset: str | None = None,
    rng: object = None,
) -> BandwidthRelease:
    epsilon = check_epsilon(epsilon)
    check_choice("boundary", boundary, ("reflect", "periodic", "open"))
    source = sources.resolve(rng)
    if unit is not None and method == "private-cv":
        raise ValueError("unit cannot be combined with cross-validation; use scott_bandwidth")
    held = Held(data, bounds, columns, unit, one=False)
    what = f"bandwidth of {', '.join(held.domain.names)}"
    statement = held.charge(epsilon, source, ledger, dataset, what)
    lengths, _ = private_bandwidth(
        held.tally, held.domain, n=held.n, method=method, epsilon=epsilon, boundary=boundary,
        entropy=source,
    )  # fmt: skip
    values = tuple(float(h * w) for h, w in zip(lengths, held.domain.widths, strict=True))
    return BandwidthRelease(held.domain.names, values, method, statement)
