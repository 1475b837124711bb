"""Columns cut into cells: what a histogram or a table counts.  M13, M18.

Everything here is public.  A cell of a table is identified by an integer, its key: places along
the columns read as digits, the last column running fastest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.columns.domain import NamedColumns
from mercer.columns.kinds import Column, Date, Integer, Unbounded
from mercer.columns.rules import FAR
from mercer.columns.table import column_from_dict
from mercer.common.checks import Floats, Ints, check_choice

__all__ = ["MOST_CELLS", "MOST_LISTED", "OUTSIDE", "Axes", "Axis"]

MOST_CELLS = 1 << 62  # of a table: keys are 64-bit numbers
MOST_LISTED = 1 << 24  # cells of a table that is written down cell by cell
MOST_PLACES = 1 << 22  # cells along one column
OUTSIDE = ("clip", "drop")


@dataclass(frozen=True)
class Axis:
    """A column cut into cells: bins between edges, or one cell for each of its values."""

    column: Column
    edges: tuple[float, ...] | None = None  # rising codes; the last cell holds its upper edge
    outside: str = "clip"  # values beyond the edges: in the nearest cell, or in none

    def __post_init__(self) -> None:
        check_choice("outside", self.outside, OUTSIDE)
        if self.edges is None and self.column.levels_count is None:
            raise ValueError(f"column {self.name!r} is continuous: give bins for it")
        if self.edges is not None and not self.column.numeric:
            raise ValueError(f"column {self.name!r} has levels without an order: it has no bins")
        if self.size > MOST_PLACES:
            raise ValueError(
                f"column {self.name!r} would have {self.size} cells; one column can have at most "
                f"{MOST_PLACES}: give wider bins"
            )

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.column.name

    @property
    def size(self) -> int:
        """Number of cells along the column."""
        return self.column.levels_count or 0 if self.edges is None else len(self.edges) - 1

    @property
    def clips(self) -> bool:
        """Whether values beyond the ends are counted in the first and last cells."""
        return self.outside == "clip" and self.column.kind in ("numeric", "integer", "date")

    @property
    def bounds_in_words(self) -> tuple[str, str]:
        """The least and the greatest value inside the cells, as text."""
        low, high = self.ends
        if self.edges is not None and not self.column.continuous:  # edges lie between the values
            low, high = math.ceil(low), math.ceil(high) - 1
        return self.end(low), self.end(high)

    @property
    def reading(self) -> Column:
        """The column as records are read by it: edges do the clipping."""
        if self.cuts.size == 0:
            return self.column if self.outside == "clip" else _wider(self.column)
        if isinstance(self.column, Date):
            return Date(self.name, date.min, date.max)
        return Unbounded(self.name)

    @property
    def ends(self) -> tuple[float, float]:
        """Codes of the outer edges, or of the first and last value."""
        return self.column.ends if self.edges is None else (self.edges[0], self.edges[-1])

    @cached_property
    def equal(self) -> bool:
        """Whether each edge is where equal bins would have it, to a millionth of a bin."""
        cuts = self.cuts
        if cuts.size == 0:
            return False
        even = np.linspace(cuts[0], cuts[-1], len(cuts))
        width = (cuts[-1] - cuts[0]) / self.size
        rounding = 2.0**-51 * max(abs(cuts[0]), abs(cuts[-1]))
        return bool(np.max(np.abs(cuts - even)) + rounding <= 1e-7 * width)

    @cached_property
    def cuts(self) -> Floats:
        """Edges that numbers are put between: those of bins, or halfway between whole numbers."""
        if self.edges is None and isinstance(self.column, Integer):
            return self.column.lower - 0.5 + np.arange(self.size + 1, dtype=np.float64)
        return np.array(self.edges if self.edges is not None else [], dtype=np.float64)

    def places(self, codes: Floats) -> Ints:
        """The cell of each code; -1 for one that does not fit."""
        missing = ~np.isfinite(codes)
        if self.cuts.size == 0:
            found = np.where(missing, -1.0, codes - self.column.ends[0]).astype(np.int64)
            if self.outside == "drop":
                found[(found < 0) | (found >= self.size)] = -1
            return found
        edges = self.cuts
        safe = np.where(missing, edges[0], codes)
        found = np.searchsorted(edges, safe, side="right").astype(np.int64) - 1
        last = safe == edges[-1]
        if self.outside == "clip":
            np.clip(found, 0, self.size - 1, out=found)
        else:
            found[found >= self.size] = -1
            found[found < 0] = -1
        found[last] = self.size - 1
        found[missing] = -1
        return found

    def labels(self) -> list[str]:
        """What the cells are called: values, or bins with their ends."""
        if self.edges is None:
            low = self.column.ends[0]
            values = self.column.values(low + np.arange(self.size, dtype=np.float64))
            return [str(value) for value in values]
        if not self.column.continuous:  # edges lie between the values
            held = [(math.ceil(a), math.ceil(b) - 1) for a, b in pairwise(self.edges)]
            return [self.end(a) if a == b else f"{self.end(a)}..{self.end(b)}" for a, b in held]
        ends = [self.end(edge) for edge in self.edges]
        words = [f"[{a}, {b})" for a, b in pairwise(ends)]
        words[-1] = words[-1][:-1] + "]"
        if self.clips and len(words) > 1:  # whatever is beyond the edges is counted there
            words[0], words[-1] = f"below {ends[1]}", f"{ends[-2]} and more"
        return words

    def end(self, code: float) -> str:
        """An edge as text: a number or a date."""
        if self.column.kind == "date":
            return str(self.column.values(np.array([math.floor(code)]))[0])
        return f"{code:.12g}"

    def values(self) -> list[Any]:
        """The values of the cells, where each is one value; the edges of the bins otherwise."""
        if self.edges is not None:
            return [float(edge) for edge in self.edges]
        low = self.column.ends[0]
        return self.column.values(low + np.arange(self.size, dtype=np.float64))

    def describe(self) -> str:
        """The column and its cells, such as `age in 20 bins of [0, 100]`."""
        if self.edges is None:
            return self.column.describe()
        low, high = self.bounds_in_words
        return f"{self.name} in {self.size} bins of [{low}, {high}]"

    def to_dict(self) -> dict[str, Any]:
        """The column, its edges and what is done outside of them, as a JSON object."""
        edges = None if self.edges is None else list(self.edges)
        return {"column": self.column.to_dict(), "edges": edges, "outside": self.outside}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Axis:
        """The axis that `to_dict` gave; ValueError says what is wrong."""
        edges, column = fields.get("edges"), fields.get("column")
        if not isinstance(column, Mapping):
            raise ValueError("an axis must have a column")
        if edges is not None:
            edges = rising(column.get("name"), edges)
        outside = fields.get("outside")
        if not isinstance(outside, str):
            raise ValueError("outside of an axis must be 'clip' or 'drop'")
        return cls(column_from_dict(column), edges, outside)


@dataclass(frozen=True)
class Axes(NamedColumns):
    """The columns of a table, each cut into cells."""

    columns: tuple[Axis, ...]

    def __post_init__(self) -> None:
        names = [axis.name for axis in self.columns]
        if not names or len(set(names)) < len(names):
            raise ValueError("a table must have one or more columns of different names")
        if self.cells > MOST_CELLS:
            raise ValueError(
                f"the table would have {self.cells:.3g} cells; at most 2^62 can be numbered: leave "
                "columns out, or release margins=2"
            )

    @property
    def names(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the columns, in order."""
        return tuple(axis.name for axis in self.columns)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Cells along each column."""
        return tuple(axis.size for axis in self.columns)

    @property
    def cells(self) -> int:
        """Number of cells of the table, p."""
        return math.prod(self.sizes)

    def only(self, places: Iterable[int]) -> Axes:
        """The columns at these places, in this order."""
        return Axes(tuple(self.columns[place] for place in places))

    def index(self, name: object) -> int:
        """The place of the column of this name; ValueError where there is none."""
        if not isinstance(name, str) or name not in self.names:
            shown = ", ".join(map(repr, self.names))
            raise ValueError(f"there is no column {name!r} in this table; there are {shown}")
        return self.names.index(name)

    def keys(self, places: Ints) -> Ints:
        """Keys of cells by their places, shape (columns, cells); -1 where one does not fit."""
        keys = np.zeros(places.shape[1], dtype=np.int64)
        for size, row in zip(self.sizes, places, strict=True):
            keys *= size
            keys += row
        keys[np.any(places < 0, axis=0)] = -1
        return keys

    def places(self, keys: Ints) -> Ints:
        """Places of cells along each column, shape (columns, cells)."""
        found = np.empty((self.dimension, len(keys)), dtype=np.int64)
        left = np.array(keys, dtype=np.int64)
        for place in range(self.dimension - 1, -1, -1):
            left, found[place] = np.divmod(left, self.sizes[place])
        return found

    def _told(self, most: int) -> list[str]:
        return [axis.describe() for axis in self.columns[:most]]

    def to_dict(self) -> dict[str, Any]:
        return {"axes": [axis.to_dict() for axis in self.columns]}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Axes:
        """The axes that `to_dict` gave; ValueError says what is wrong."""
        axes = fields.get("axes")
        if not isinstance(axes, list) or not all(isinstance(axis, Mapping) for axis in axes):
            raise ValueError("axes must be a list of columns in cells")
        return cls(tuple(Axis.from_dict(axis) for axis in axes))


def _wider(column: Column) -> Column:
    """A column of dates with one day more at either end, so that days beyond are not clipped."""
    if isinstance(column, Date):
        low, high = column.lower, column.upper
        low = low if low == date.min else low - timedelta(1)
        return Date(column.name, low, high if high == date.max else high + timedelta(1))
    return column


def rising(name: object, edges: object) -> tuple[float, ...]:
    """Edges of bins as floats; an error unless they are finite and rising."""
    if not isinstance(edges, (list, tuple, np.ndarray)) or len(edges) < 2:
        raise ValueError(f"bins of {name!r} must be two or more edges")
    if len(edges) - 1 > MOST_PLACES:
        raise ValueError(f"bins of {name!r} must be at most {MOST_PLACES}, got {len(edges) - 1}")
    numbers = []
    for edge in edges:
        plain = edge.item() if isinstance(edge, np.generic) else edge
        if isinstance(plain, bool) or not isinstance(plain, (int, float)) or not abs(plain) <= FAR:
            raise ValueError(f"bins of {name!r} must have finite numbers as edges")
        numbers.append(float(plain))
    for i, (a, b) in enumerate(pairwise(numbers)):
        if not a < b:
            raise ValueError(
                f"bins of {name!r} must rise: edge {i + 2} ({b:g}) is not above edge {i + 1} "
                f"({a:g}); sort them and leave out doubles"
            )
    return tuple(numbers)
