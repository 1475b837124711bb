"""Laws of the single columns of a table: public, once they are released.  M10, M13."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.columns.kinds import Column
from mercer.columns.table import TableDomain
from mercer.common.checks import Floats, Ints

__all__ = ["ColumnLaws", "bins_of", "places_in"]

MOST_BINS = 32
_EVEN = 0.05  # share of every law that is spread evenly, where noise may have hidden records


def bins_of(column: Column) -> int:
    """Levels of a column, or even bins of one with too many of them: public."""
    levels = column.levels_count
    if levels is None or (column.numeric and levels > MOST_BINS):
        return MOST_BINS
    return levels


def places_in(column: Column, codes: Floats) -> Ints:
    """The bin of every code; -1 where it does not fit."""
    lower, upper = column.ends
    bins = bins_of(column)
    fits = np.isfinite(codes)
    steps = np.where(fits, codes - lower, 0.0)
    place = np.rint(steps) if bins == column.levels_count else np.floor(steps / (upper - lower) * bins)
    return np.where(fits, np.clip(place, 0, bins - 1), -1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class ColumnLaws:
    """A law on the bins of every column."""

    domain: TableDomain
    shares: tuple[Floats, ...]

    @classmethod
    def of(cls, domain: TableDomain, noisy: list[Floats]) -> ColumnLaws:
        """The nearest laws to noisy counts, with a little spread evenly."""
        return cls(domain, tuple((1 - _EVEN) * _nearest(y) + _EVEN / len(y) for y in noisy))

    def records(self, unit: Floats) -> Floats:
        """Points of the unit cube as records whose columns are independent with these laws."""
        columns = []
        for column, shares, u in zip(self.domain.columns, self.shares, unit.T, strict=True):
            ends = np.cumsum(shares) / np.sum(shares)
            place = np.minimum(np.searchsorted(ends, u, side="right"), len(shares) - 1)
            inside = np.clip((u - (ends - shares)[place]) / shares[place], 0.0, 1.0)
            lower, upper = column.ends
            if len(shares) == column.levels_count:
                columns.append(lower + place)
            else:
                columns.append(lower + (place + inside) / len(shares) * (upper - lower))
        return self.domain.snap(np.stack(columns, axis=1))

    def deviation(self, place: int) -> float:
        """Standard deviation of a numeric column, as a share of its width."""
        shares = self.shares[place] / np.sum(self.shares[place])
        bins = len(shares)
        exact = bins == self.domain.columns[place].levels_count
        middle = np.arange(bins) / max(bins - 1, 1) if exact else (np.arange(bins) + 0.5) / bins
        square = float(shares @ (middle - shares @ middle) ** 2) + (0.0 if exact else 1 / (12 * bins**2))
        return square**0.5

    def differ(self, place: int) -> float:
        """Chance that two records differ in a column."""
        shares = self.shares[place] / np.sum(self.shares[place])
        return 1 - float(np.sum(shares**2))


def _nearest(noisy: Floats) -> Floats:
    """The nearest shares to noisy counts: not negative, of sum one."""
    total = max(float(np.sum(noisy)), 1.0)
    ordered = -np.sort(-noisy / total)
    tops = (np.cumsum(ordered) - 1) / np.arange(1, len(noisy) + 1)
    last = int(np.flatnonzero(ordered > tops)[-1])
    return np.maximum(noisy / total - tops[last], 0.0)
