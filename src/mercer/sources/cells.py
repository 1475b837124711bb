"""Cells of any column as codes.  Left of the door: reads people's data.

What a cell means does not depend on where it stands, nor on the kind of release: text of a CSV
file, of a data frame and of a list is read alike, for densities as for tables.  A cell that does
not fit is NaN, or the column's `other`; a column is refused by its declared type alone, which is
public, and no error depends on a value (M18).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.columns.cells import Unbounded
from mercer.columns.kinds import Column, Date, Integer, Numeric
from mercer.columns.reading import DateFormat, NumberFormat, OfColumn
from mercer.common.checks import Floats
from mercer.sources.arrow import numbers_of
from mercer.sources.sorts import by_sort, days_of, sort_of, trimmed, written_days, written_numbers

__all__ = ["AS_IS", "Days", "Numbers", "Reader", "numbers_among"]

AS_IS = OfColumn()


class Reader(ABC):
    """How cells of one column become codes: a way for each sort of cell."""

    sorts: frozenset[str]  # sorts of cells that can fit

    def __init__(self, column: Column, how: OfColumn = AS_IS) -> None:
        self._column, self._how = column, how

    @abstractmethod
    def _numbers(self, numbers: Floats) -> Floats:
        """Codes of numbers; NaN is a missing one."""

    @abstractmethod
    def _truths(self, truths: Floats) -> Floats:
        """Codes of 0, 1 and NaN."""

    @abstractmethod
    def _days(self, days: Floats) -> Floats:
        """Codes of days since 1970-01-01, or NaN."""

    @abstractmethod
    def _texts(self, texts: Any) -> Floats:
        """Codes of trimmed Arrow bytes; an empty one is null."""

    def check(self, kind: Any) -> None:
        """Refuse a declared type, which is public, that no cell of could fit."""
        sort = sort_of(kind)
        if sort not in (*self.sorts, "null"):
            column, name = self._column, self._column.name
            said = {
                ("text", "numeric"): f"convert it first, or say how its numbers are written, for "
                f'example formats={{"{name}": "1,234.50"}}'
            }.get((sort or "", self._wants), "convert it first, or declare it as it is")
            raise TypeError(
                f"column {name!r} {_declared(column)}, which a column of type {kind} cannot hold; {said}"
            )

    _wants = "other"
    as_is = False  # numbers are their own codes

    def codes(self, cells: Any) -> Floats:
        """Codes of an Arrow array, whatever its type."""
        import pyarrow as pa
        import pyarrow.compute as pc

        try:
            if pa.types.is_dictionary(cells.type):
                levels = np.append(self.codes(cells.dictionary), np.nan)
                places = pc.fill_null(pc.cast(cells.indices, pa.int64()), len(levels) - 1)
                return levels[places.to_numpy(zero_copy_only=False)]
            return self._plain(cells)
        except pa.ArrowException:  # whatever Arrow says of a cell may show it
            raise TypeError(
                f"column {self._column.name!r} of type {cells.type} cannot be read as "
                f"{self._column.kind}; convert it first"
            ) from None

    def _plain(self, cells: Any) -> Floats:
        match sort_of(cells.type):
            case "number":
                return self._numbers(self._present(numbers_of(cells, self._column.name)))
            case "truth":
                return self._truths(numbers_of(cells, self._column.name))
            case "text":
                return self._written(cells)
            case "day":
                return self._days(days_of(cells))
        return np.full(len(cells), np.nan)

    def array(self, cells: Any) -> Floats:
        """Codes of a NumPy array of numbers or truths."""
        if cells.dtype.kind == "b":
            return self._truths(cells.astype(np.float64))
        return self._numbers(self._present(np.asarray(cells, dtype=np.float64)))

    def objects(self, cells: Sequence[Any]) -> Floats:
        """Codes of Python objects: one of another type does not change how others are read."""
        import pyarrow as pa

        codes, sorts = np.full(len(cells), np.nan), by_sort(cells)
        ways = {"truth": self._truths, "day": self._days}
        for sort, read in ways.items():  # all of them, whatever there is
            places, values = sorts.get(sort, ([], []))
            codes[places] = read(np.array(values, dtype=np.float64))
        places, values = sorts.get("number", ([], []))
        codes[places] = self._numbers(self._present(np.array(values, dtype=np.float64)))
        places, values = sorts.get("text", ([], []))
        codes[places] = self._written(pa.array(values, pa.large_binary()))
        return codes

    def _present(self, numbers: Floats) -> Floats:
        """Numbers, NaN in place of those that stand for a missing cell."""
        if not self._how.numbers:
            return numbers
        return np.where(np.isin(numbers, self._how.numbers), np.nan, numbers)

    def _written(self, cells: Any) -> Floats:
        """Codes of text of any Arrow type."""
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = trimmed(cells)
        if self._how.texts:
            gone = pa.array([text.encode() for text in self._how.texts], pa.large_binary())
            texts = pc.if_else(pc.is_in(texts, value_set=gone), None, texts)
        return self._texts(texts)

    def _in_text(self, texts: Any) -> Floats:
        """The numbers that trimmed text says, as it is written."""
        written, name = self._how.written, self._column.name
        if isinstance(written, NumberFormat):
            return self._present(written_numbers(texts, written, name))
        return self._present(numbers_of(texts, name))


class Numbers(Reader):
    """Numbers of a column with bounds, or of one without: whoever asks looks what fits."""

    _wants = "numeric"

    def __init__(self, column: Numeric | Integer | Unbounded, how: OfColumn = AS_IS) -> None:
        super().__init__(column, how)
        # text is declared as text where a type is declared: it may hold numbers if they say so
        written = isinstance(how.written, NumberFormat)
        self.sorts = frozenset({"number", "truth", *(["text"] if written else [])})
        self._open = isinstance(column, Unbounded)
        self.as_is = self._open and not how.numbers

    def _numbers(self, numbers: Floats) -> Floats:
        if self._open:
            return numbers
        codes = self._column.snap(numbers)
        codes[~np.isfinite(numbers)] = np.nan
        if self._how.drops:
            low, high = self._column.ends
            near = numbers if self._column.continuous else np.rint(numbers)
            codes[(near < low) | (near > high)] = np.nan
        return codes

    def _truths(self, truths: Floats) -> Floats:
        return self._numbers(truths)

    def _days(self, days: Floats) -> Floats:
        return np.full(len(days), np.nan)

    def _written(self, cells: Any) -> Floats:
        if self._how.plain:  # blanks around a number are read with it
            return self._numbers(self._present(numbers_of(cells, self._column.name)))
        return super()._written(cells)

    def _texts(self, texts: Any) -> Floats:
        return self._numbers(self._in_text(texts))


def numbers_among(cells: Any) -> Floats:
    """An array of Python objects as numbers: what is not a number is missing."""
    flat = Numbers(Unbounded("x")).objects(cells.reshape(-1).tolist())
    return flat.reshape(cells.shape)


class Days(Reader):
    """Dates, and times of day without the time."""

    sorts = frozenset({"day", "text"})

    def __init__(self, column: Date, how: OfColumn = AS_IS) -> None:
        super().__init__(column, how)

    def _numbers(self, numbers: Floats) -> Floats:
        return np.full(len(numbers), np.nan)

    def _truths(self, truths: Floats) -> Floats:
        return np.full(len(truths), np.nan)

    def _days(self, days: Floats) -> Floats:
        codes = self._column.snap(days)
        if self._how.drops:
            low, high = self._column.ends
            codes[(days < low) | (days > high)] = np.nan
        return codes

    def _texts(self, texts: Any) -> Floats:
        written = self._how.written
        return self._days(written_days(texts, written if isinstance(written, DateFormat) else None))


def _declared(column: Column) -> str:
    if isinstance(column, Unbounded):
        return "must hold numbers"
    return f"is declared as {column.describe()}"
