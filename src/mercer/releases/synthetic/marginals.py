"""Shares and means of a synthetic table's columns, in public bins and levels.  M10."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.columns.kinds import Categorical, Column, Ordered, labels_of
from mercer.common.checks import Floats
from mercer.releases.synthetic.release import TableRelease
from mercer.releases.synthetic.weighted import mass

__all__ = ["Marginal", "correlation", "distribution", "estimate", "marginal"]


@dataclass(frozen=True, eq=False)
class Marginal:
    """Shares of the bins or levels of a column."""

    column: Column
    edges: Floats | None  # of bins, in codes; None: levels
    shares: Floats

    @property
    def labels(self) -> list[str]:
        """Levels of the column as text; none where it has bins."""
        return labels_of(self.column)


def marginal(release: TableRelease, name: str, *, bins: int = 20) -> Marginal:
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
    return Marginal(column, edges, np.bincount(places, release.weights, many) / mass(release.weights))


def estimate(release: TableRelease, name: str | None, where: Mapping[str, Any] | None) -> float:
    """The mean of a column, the probability of a condition, or the mean where it holds.

    A column of levels has no mean; dates are days since 1970-01-01.
    """
    release = distribution(release)
    held = np.ones(len(release.codes)) if where is None else release.matching(where).astype(float)
    if name is None:
        return float(np.clip(release.weights @ held, 0.0, 1.0))
    column = release.domain.column(name)
    if isinstance(column, (Categorical, Ordered)):
        raise ValueError(
            f"column {name!r} has levels and no mean; ask for the share of one: a condition "
            f"{name}={labels_of(column)[0]}"
        )
    values = release.codes[:, release.domain.names.index(name)]
    return _ratio(release.weights, values, held)


def correlation(release: TableRelease, one: str, two: str) -> float:
    """Of two columns with bins; NaN where one of them does not vary."""
    names = release.domain.names
    x, y = (release.codes[:, names.index(name)] for name in (one, two))
    return _correlated(release.weights, x, y)


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


def _edges(column: Column, bins: int) -> Floats:
    """Ends of public bins: of equal width, and around whole numbers where the codes are whole."""
    low, high = column.ends
    if column.continuous:
        return np.linspace(low, high, bins + 1)
    count = int(high) - int(low) + 1
    step = max(1, math.ceil(count / bins))
    return low - 0.5 + step * np.arange(math.ceil(count / step) + 1.0)
