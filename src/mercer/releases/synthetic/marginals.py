"""Shares and means of a synthetic table's columns, with error bars.  M10, M15.

Bins and levels are public.  The bars speak of the noise of privacy alone, as `interval` does, and
are NaN where there is no noise of a known law.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.columns.kinds import Categorical, Column, Ordered, labels_of
from mercer.common.checks import Floats, check_level
from mercer.releases.base import Interval
from mercer.releases.synthetic.release import TableRelease

__all__ = ["Marginal", "correlation", "distribution", "estimate", "marginal", "share_of_true"]


@dataclass(frozen=True, eq=False)
class Marginal:
    """Shares of the bins or levels of a column."""

    column: Column
    edges: Floats | None  # of bins, in codes; None: levels
    shares: Floats
    bars: Floats  # half their length

    @property
    def labels(self) -> list[str]:
        """Levels of the column as text; none where it has bins."""
        return labels_of(self.column)


def marginal(release: TableRelease, name: str, *, level: float, bins: int = 20) -> Marginal:
    """Shares of a column's levels, or of at most so many public bins of equal width."""
    column = release.domain.column(name)
    codes = release.codes[:, release.domain.names.index(name)]
    spots = len(np.unique(codes)) if column.continuous else len(codes)
    bins = min(bins, max(spots // 2, 5))  # a few records fill a few bins
    if labels_of(column):
        edges, places = None, codes.astype(np.intp)
        many = len(labels_of(column))
    else:
        edges = _edges(column, bins)
        many = len(edges) - 1
        places = np.clip(np.searchsorted(edges, codes, side="right") - 1, 0, many - 1)
    member = np.zeros((len(codes), many))
    member[np.arange(len(codes)), places] = 1.0
    return Marginal(column, edges, *_shares(release, member, level))


def share_of_true(release: TableRelease, name: str, *, level: float) -> tuple[float, float]:
    """Share of the second of two levels, and its bar."""
    found = marginal(release, name, level=level)
    return float(found.shares[1]), float(found.bars[1])


def estimate(
    release: TableRelease, name: str | None, where: Mapping[str, Any] | None, *, level: float
) -> Interval:
    """The mean of a column, the probability of a condition, or the mean where it holds.

    A column of levels has no mean; dates are days since 1970-01-01.
    """
    check_level(level)
    release = distribution(release)
    held = np.ones(len(release.codes)) if where is None else release.matching(where).astype(float)
    if name is None:
        shares, bars = _shares(release, held[:, None], level)
        middle, bar = float(shares[0]), float(bars[0])
        low, high = (float(np.clip(end, 0.0, 1.0)) for end in (middle - bar, middle + bar))
        return Interval(middle, low, high, level)
    column = release.domain.column(name)
    if isinstance(column, (Categorical, Ordered)):
        raise ValueError(
            f"column {name!r} has levels and no mean; ask for the share of one: a condition "
            f"{name}={labels_of(column)[0]}"
        )
    values = release.codes[:, release.domain.names.index(name)]
    ends = column.ends
    middle = _ratio(release.weights, values, held)
    drawn = np.array([_ratio(w, values, held) for w in release.replicas])
    bar = float(np.quantile(np.abs(drawn - np.mean(drawn)), level))
    low, high = (float(np.clip(end, *ends)) for end in (middle - bar, middle + bar))
    return Interval(middle, low, high, level)


def correlation(release: TableRelease, one: str, two: str, *, level: float) -> tuple[float, float]:
    """Of two columns with bins, and its bar; NaN where one of them does not vary."""
    names = release.domain.names
    x, y = (release.codes[:, names.index(name)] for name in (one, two))
    drawn = np.array([_correlated(w, x, y) for w in release.replicas])
    bar = float(np.quantile(np.abs(drawn - np.mean(drawn)), level))
    return _correlated(release.weights, x, y), bar


def distribution(release: TableRelease) -> TableRelease:
    """The same release with weights that are a distribution."""
    return release.reweight("positive") if release.style in ("free", "l1") else release


def _correlated(weights: Floats, x: Floats, y: Floats) -> float:
    share = weights / max(float(weights.sum()), 1e-300)
    a, b = x - share @ x, y - share @ y
    square = float(share @ a**2) * float(share @ b**2)
    return float(share @ (a * b)) / math.sqrt(square) if square > 0 else math.nan


def _ratio(weights: Floats, values: Floats, held: Floats) -> float:
    """The mean where a condition holds; NaN where no weight is."""
    total = float(weights @ held)
    return float(weights @ (values * held)) / total if total > 1e-9 else math.nan


def _shares(release: TableRelease, member: Floats, level: float) -> tuple[Floats, Floats]:
    """Of each column of `member`, with the bars that `interval` would give."""
    drawn = (release.replicas @ member) / _mass(release.replicas)[:, None]
    bars = np.quantile(np.abs(drawn - drawn.mean(axis=0)), level, axis=0)
    return (release.weights @ member) / _mass(release.weights), bars


def _mass(weights: Floats) -> Any:
    """Sums of weights, one where they are lost in noise."""
    total = weights.sum(axis=-1)
    return np.where(total > 0.1, total, 1.0)


def _edges(column: Column, bins: int) -> Floats:
    """Ends of public bins: of equal width, and around whole numbers where the codes are whole."""
    low, high = column.ends
    if column.continuous:
        return np.linspace(low, high, bins + 1)
    count = int(high) - int(low) + 1
    step = max(1, math.ceil(count / bins))
    return low - 0.5 + step * np.arange(math.ceil(count / step) + 1.0)
