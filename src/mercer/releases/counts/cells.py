"""What released counts of cells have in common: histograms, tables and margins.  M13."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.columns.cells import MOST_LISTED, Axes
from mercer.common.checks import Floats, Ints
from mercer.common.files import Fields
from mercer.promise.statement import rows_words
from mercer.releases.base import Release

if TYPE_CHECKING:
    import pandas

__all__ = ["MOST_COUNT", "CellsRelease", "Margin", "rows_each", "whole_numbers"]

MOST_COUNT = 1 << 62


@dataclass(frozen=True)
class Margin:
    """Counts of some columns, with the ends of an interval for each."""

    axes: Axes
    counts: Floats
    lower: Floats
    upper: Floats
    level: float

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
