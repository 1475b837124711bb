"""Public landmarks for tables: evenly spread, or by the distributions of single columns.  M10, M13.

Where only the domain is known, they fill it evenly.  Once noisy counts of the single columns are
released, they can be records whose columns are independent with those distributions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.columns.kinds import Column
from mercer.columns.table import Domain
from mercer.common import streams
from mercer.common.checks import Floats, Ints

__all__ = ["ColumnLaws", "bins_of", "drawn", "everything", "places_in", "spread"]


MOST_BINS = 32
_EVEN = 0.05  # share of every distribution that is uniform, where noise may have hidden records


def spread(
    domain: Domain, size: int, label: int = 0, records: Callable[[Floats], Floats] | None = None
) -> Floats:
    """Codes of `size` records that fill the domain evenly: scrambled Sobol points.

    All records of a small discrete domain, if there are at most `size`.  `records` maps points of
    the unit cube to records with another distribution than the even one.
    """
    if domain.size is not None and domain.size <= size:
        return everything(domain)
    from scipy.stats import qmc

    engine = qmc.Sobol(domain.dimension, scramble=True, rng=streams.simulation(31 + label))
    unit = engine.random(1 << max(size - 1, 1).bit_length())[:size]
    return domain.from_unit(unit) if records is None else records(unit)


def everything(domain: Domain) -> Floats:
    """Codes of all records of a discrete domain."""
    axes = [np.arange(column.levels_count or 0, dtype=float) for column in domain.columns]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, domain.dimension)
    counts = np.array([len(axis) for axis in axes])
    return domain.from_unit((grid + 0.5) / counts)


def drawn(domain: Domain, sampler: Callable[[int, np.random.Generator], object], size: int) -> object:
    """`size` records of a public distribution: the table that `sampler(size, rng)` returns."""
    try:
        return sampler(size, streams.simulation(37))
    except TypeError:
        raise TypeError(
            "public must be rows, or a function of (size, rng) that draws rows of a public "
            f"distribution with the columns {', '.join(domain.names)}"
        ) from None


def bins_of(column: Column) -> int:
    """The number of levels of a column, or of equal bins if it has too many levels.  It is public."""
    levels = column.levels_count
    if levels is None or (column.numeric and levels > MOST_BINS):
        return MOST_BINS
    return levels


def places_in(column: Column, codes: Floats) -> Ints:
    """The bin of every code; -1 for a missing value."""
    lower, upper = column.ends
    bins = bins_of(column)
    fits = np.isfinite(codes)
    steps = np.where(fits, codes - lower, 0.0)
    place = np.rint(steps) if bins == column.levels_count else np.floor(steps / (upper - lower) * bins)
    return np.where(fits, np.clip(place, 0, bins - 1), -1).astype(np.int64)


@dataclass(frozen=True, eq=False)
class ColumnLaws:
    """A probability distribution on the bins of every column."""

    domain: Domain
    shares: tuple[Floats, ...]

    @classmethod
    def of(cls, domain: Domain, noisy: list[Floats]) -> ColumnLaws:
        """The distributions nearest to noisy counts, mixed with a little of the uniform distribution."""
        return cls(domain, tuple((1 - _EVEN) * _nearest(y) + _EVEN / len(y) for y in noisy))

    def records(self, unit: Floats) -> Floats:
        """Points of the unit cube as records whose columns are independent with these distributions."""
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
        """The probability that two independent records differ in a column."""
        shares = self.shares[place] / np.sum(self.shares[place])
        return 1 - float(np.sum(shares**2))


def _nearest(noisy: Floats) -> Floats:
    """The probabilities nearest to noisy counts in the l2 norm: not negative, of sum one."""
    total = max(float(np.sum(noisy)), 1.0)
    ordered = -np.sort(-noisy / total)
    tops = (np.cumsum(ordered) - 1) / np.arange(1, len(noisy) + 1)
    last = int(np.flatnonzero(ordered > tops)[-1])
    return np.maximum(noisy / total - tops[last], 0.0)
