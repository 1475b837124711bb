"""What released counts of cells have in common, questions about them, and how near they are.  M13.

Widths of intervals for sums of cells: docs/proofs/counts.md, 6; which cells a condition means is in
`counts.asked`.

How near: the expected absolute errors of the mechanism beside a lower bound that holds for every pure
epsilon-DP release, on its worst data (docs/proofs/lower_bounds.md).  All of it follows from the
law of the noise, the columns and the promise.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.columns.cells import MOST_LISTED, Axes
from mercer.common.checks import Floats, Ints
from mercer.common.files import Fields
from mercer.noise.count_laws import CountLaw
from mercer.promise.statement import rows_words
from mercer.releases.base import Interval, Release

if TYPE_CHECKING:
    import pandas


__all__ = [
    "MOST_COUNT",
    "CellsRelease",
    "CountAccuracy",
    "Margin",
    "best_in_words",
    "clipped",
    "noise_width",
    "product",
    "rows_each",
    "sparse_ends",
    "sparse_error",
    "whole_numbers",
    "within",
]

MOST_COUNT = 1 << 62


@dataclass(frozen=True)
class Margin:
    """Counts of some columns, with the ends of an interval for each, or of intervals that hold together."""

    axes: Axes
    counts: Floats
    lower: Floats
    upper: Floats
    level: float
    simultaneous: bool = False  # whether all intervals together hold with the level, or each by itself

    def to_frame(self) -> pandas.DataFrame:
        """One row for each cell, as a pandas data frame."""
        import pandas as pd

        keys = np.arange(self.counts.size)
        table = {
            axis.name: [axis.labels()[place] for place in places]
            for axis, places in zip(self.axes.columns, self.axes.places(keys), strict=True)
        }
        ends = {"count": self.counts, "lower": self.lower, "upper": self.upper}
        return pd.DataFrame(table | {name: value.reshape(-1) for name, value in ends.items()})


@dataclass(frozen=True, eq=False, repr=False)
class CellsRelease(Release):
    """Noisy counts of records, or of persons, in the cells of a public table."""

    domain: Axes
    complete: bool = field(default=False, kw_only=True)  # every record is in a cell: their number is n
    rows_each: int = field(default=1, kw_only=True)  # rows of one person that count

    @property
    def n(self) -> int:
        """Number of records or persons: public."""
        return self.privacy.n

    @property
    def most(self) -> int:
        """No count can be larger: public."""
        return self.n * self.rows_each

    @property
    def rows(self) -> str:
        """Which rows of a person count, in words; empty where the promise is about rows."""
        return rows_words(self.privacy.unit, self.rows_each)


def rows_each(top: Fields) -> int:
    """Rows of one person that count, of a file."""
    number: int = top.get("rows_each", int)
    if not 1 <= number <= 1 << 20:
        raise ValueError("rows_each must be a whole number from 1")
    return number


def whole_numbers(values: list[Any], what: str) -> Ints:
    """A list of whole numbers that 64 bits hold, of a file."""
    if len(values) > MOST_LISTED:
        raise ValueError(f"{what} are too many for any release")
    if not all(isinstance(v, int) and not isinstance(v, bool) and abs(v) < MOST_COUNT for v in values):
        raise ValueError(f"{what} must be whole numbers")
    return np.array(values, dtype=np.int64)


def clipped(value: float, width: tuple[float, float], most: float, level: float) -> Interval:
    """An estimate with its ends, all within what a count can be."""
    low, high = value - width[0], value + width[1]
    value, low, high = (min(max(end, 0.0), most) for end in (value, low, high))
    return Interval(value, low, high, level)


def within(estimate: float, low: float, high: float, most: float, level: float) -> Interval:
    """An estimate and ends found apart from it, all within what a count can be."""
    estimate, low, high = (min(max(end, 0.0), most) for end in (estimate, low, high))
    return Interval(estimate, min(low, estimate), max(high, estimate), level)


def product(axes: Axes, weights: list[Floats | None]) -> Floats:
    """The share of every cell of a table, from those along its columns."""
    share = np.ones(1)
    for axis, vector in zip(axes.columns, weights, strict=True):
        share = np.outer(share, np.ones(axis.size) if vector is None else vector).reshape(-1)
    return share


def noise_width(noise: CountLaw, share: Floats, level: float) -> float:
    """Half width of an interval for the noise of a weighted sum.

    With weights below one, by standard deviations, and half a step of the largest weight more:
    widths of whole sums are whole, so a ratio of them may be short by that.
    """
    squares = float(np.sum(share**2))
    terms = int(np.count_nonzero(share))
    if squares == terms or not terms or not noise.deviation:
        return noise.half_width(terms, level)
    relative = noise.half_width(1, level) / noise.deviation
    many = noise.half_width(terms, level) / math.sqrt(terms * noise.variance)
    return max(relative, many) * noise.deviation * math.sqrt(squares) + 0.5 * float(np.max(share))


def sparse_ends(
    axes: Axes,
    noise: CountLaw,
    threshold: int,
    held: tuple[Ints, Ints],
    weights: list[Floats | None],
    most: int,
    level: float,
) -> tuple[float, float]:
    """The ends of an interval for the number in some cells: those held, and those left out.

    Weights are one for the cells that are meant and zero for others.  A cell that is left out holds up
    to the threshold and its noise.  Four events, each of a quarter of what the level leaves out: the
    noise of all cells meant, summed, from above and from below; that of those among them that are
    held; and that of the others that are held, which leave the rest of all records at most.
    """
    keys, values = held
    meant = np.ones(len(keys), dtype=bool)
    terms = 1
    for axis, vector, places in zip(axes.columns, weights, axes.places(keys), strict=True):
        along = np.ones(axis.size) if vector is None else vector
        meant &= along[places] > 0
        terms *= int(np.count_nonzero(along))
    if not terms:
        return 0.0, 0.0
    inside, outside = float(values[meant].sum()), float(values[~meant].sum())
    here, there = int(meant.sum()), int((~meant).sum())
    part = (1 - level) / 4
    fixed = noise.half_width(terms, 1 - 2 * part)
    low = inside - noise.chosen_width(here, terms, 1 - part)
    if here == terms:
        low = max(low, inside - fixed)
    rest = outside - noise.chosen_width(there, axes.cells - terms, 1 - part)
    high = min(most - max(rest, 0.0), inside + threshold * (terms - here) + fixed)
    return low, max(high, inside) if math.isfinite(high) else float(most)


@dataclass(frozen=True)
class CountAccuracy:
    """Error due to privacy, beside the least that any mechanism can promise."""

    what: str
    error: float  # expected sum of absolute errors, at most
    each: float  # standard deviation of one count's noise
    best: float | None  # no pure release of this epsilon has less on its worst data
    pure: bool
    words: str = ""
    plain: float | None = None  # expected error of the same without a delta

    @property
    def ratio(self) -> float | None:
        """How many times the best possible this is, at most."""
        return None if not self.best else self.error / self.best

    def __str__(self) -> str:
        beside = "" if self.plain is None else f"; without the delta it would be {self.plain:.4g}"
        text = f"{self.what}: expected absolute error {self.error:.4g}{self.words}."
        return text + best_in_words(self.best, self.ratio, pure=self.pure, beside=beside)

    def to_dict(self) -> dict[str, Any]:
        """The fields and the ratio, for JSON."""
        return asdict(self) | {"ratio": self.ratio}


def best_in_words(best: float | None, ratio: float | None, *, pure: bool, beside: str = "") -> str:
    """The least expected error that a pure release can promise, and how many times that a release has."""
    if best is None or ratio is None:
        return ""
    most = f": at most {ratio:.3g} times the best possible" if pure else f"; this one has a delta{beside}"
    return f" No pure release of this epsilon can promise less than {best:.4g}{most}."


def sparse_error(law: CountLaw, cells: int, occupied: int, threshold: int) -> float:
    """Bound on the expected l1 error with this many occupied cells (thesis, Prop. 2.4.3).

    An occupied cell errs by at most the threshold and one noise more; an empty one passes with
    the chance P(noise > threshold), and is then wrong by the threshold and a noise.
    """
    each = threshold + 1 + law.mean_error
    return (occupied + (cells - occupied) * law.above(threshold)) * each
