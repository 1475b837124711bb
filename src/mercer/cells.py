"""Cells of a table as codes of their column.  Layer 2, left of the door: reads people's data.

What a cell means does not depend on where it stands: text of a CSV file, of a data frame and of a
list is read alike.  A cell that does not fit is NaN, or the column's `other`; a column is refused
by its declared type alone, which is public, and no error depends on a value (M18).
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.axes import Unbounded
from mercer.cell_sorts import by_sort, days_of, sort_of, trimmed, written_days
from mercer.checks import Floats
from mercer.columns import Boolean, Categorical, Column, Date, Integer, Numeric, Ordered
from mercer.tables import numbers_of

__all__ = ["Reader", "reader_of"]

_TRUTHS = {"true": True, "yes": True, "on": True, "1": True, "1.0": True,
           "false": False, "no": False, "off": False, "0": False, "0.0": False}  # fmt: skip


class Reader(ABC):
    """How cells of one column become codes: a way for each sort of cell."""

    sorts: frozenset[str]  # sorts of cells that can fit

    def __init__(self, column: Column) -> None:
        self._column = column

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
        if sort_of(kind) not in (*self.sorts, "null"):
            column = self._column
            raise TypeError(
                f"column {column.name!r} is declared as {column.describe()}, which a column of "
                f"type {kind} cannot hold; convert it first, or declare it as it is"
            )

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
                return self._numbers(numbers_of(cells, self._column.name))
            case "truth":
                return self._truths(numbers_of(cells, self._column.name))
            case "text":
                return self._texts(trimmed(cells))
            case "day":
                return self._days(days_of(cells))
        return np.full(len(cells), np.nan)

    def objects(self, cells: Sequence[Any]) -> Floats:
        """Codes of Python objects: one of another type does not change how others are read."""
        import pyarrow as pa

        codes, sorts = np.full(len(cells), np.nan), by_sort(cells)
        ways = {"number": self._numbers, "truth": self._truths, "day": self._days}
        for sort, read in ways.items():  # all of them, whatever there is
            places, values = sorts.get(sort, ([], []))
            codes[places] = read(np.array(values, dtype=np.float64))
        places, values = sorts.get("text", ([], []))
        codes[places] = self._texts(trimmed(pa.array(values, pa.large_binary())))
        return codes


class _OfNumbers(Reader):
    sorts = frozenset({"number", "truth", "text"})

    def _numbers(self, numbers: Floats) -> Floats:
        codes = self._column.snap(numbers)
        codes[~np.isfinite(numbers)] = np.nan
        return codes

    def _truths(self, truths: Floats) -> Floats:
        return self._numbers(truths)

    def _days(self, days: Floats) -> Floats:
        return np.full(len(days), np.nan)

    def _texts(self, texts: Any) -> Floats:
        return self._numbers(numbers_of(texts, self._column.name))


class _OfAnyNumbers(Reader):
    """Numbers as they are: whoever asks for them looks what fits."""

    sorts = _OfNumbers.sorts

    def _numbers(self, numbers: Floats) -> Floats:
        return numbers

    def _truths(self, truths: Floats) -> Floats:
        return truths

    def _days(self, days: Floats) -> Floats:
        return np.full(len(days), np.nan)

    def _texts(self, texts: Any) -> Floats:
        return numbers_of(texts, self._column.name)


class _OfDays(Reader):
    sorts = frozenset({"day", "text"})

    def _numbers(self, numbers: Floats) -> Floats:
        return np.full(len(numbers), np.nan)

    def _truths(self, truths: Floats) -> Floats:
        return np.full(len(truths), np.nan)

    def _days(self, days: Floats) -> Floats:
        return self._column.snap(days)

    def _texts(self, texts: Any) -> Floats:
        return self._days(written_days(texts))


class _OfLevels(Reader):
    """Levels by their text, number or truth; what is undeclared is `other`, if there is one."""

    def __init__(self, column: Column, levels: Sequence[Any], other: str | None) -> None:
        super().__init__(column)
        self._other = np.nan if other is None else float(len(levels))
        labels = [*levels, *([] if other is None else [other])]
        self._spelt = {text: float(i) for i, label in enumerate(labels) for text in _spellings(label)}  # fmt: skip  # noqa: E501
        whole = {float(level): float(i) for i, level in enumerate(levels) if isinstance(level, int)}
        written = {float(int(level)): float(i) for i, level in enumerate(levels) if _is_whole(level)}  # fmt: skip  # noqa: E501
        self._whole, self._any_number = _Places(whole), _Places({**written, **whole})
        named = {text.lower() == "true": place for text, place in self._spelt.items() if text.lower() in ("true", "false")}  # fmt: skip  # noqa: E501
        self._truth = {float(truth): place for truth, place in named.items()}
        self._truth |= {key: place for key, place in whole.items() if key in (0.0, 1.0)}
        self.sorts = frozenset(
            {"text", *(["number"] if whole or written else []), *(["truth"] if self._truth else [])}
        )

    def _numbers(self, numbers: Floats) -> Floats:
        codes = self._any_number.of(numbers, self._other)
        codes[~np.isfinite(numbers)] = np.nan
        return codes

    def _truths(self, truths: Floats) -> Floats:
        codes = _Places(self._truth).of(truths, self._other)
        codes[np.isnan(truths)] = np.nan
        return codes

    def _days(self, days: Floats) -> Floats:
        return np.full(len(days), np.nan)

    def _texts(self, texts: Any) -> Floats:
        import pyarrow as pa
        import pyarrow.compute as pc

        known = pa.array([text.encode() for text in self._spelt], pa.large_binary())
        places = np.array([*self._spelt.values(), self._other])
        found = pc.fill_null(pc.index_in(texts, value_set=known), len(known))
        codes = places[found.to_numpy(zero_copy_only=False)]
        strange = pc.equal(found, len(known))
        if self._whole.keys.size:  # "1.0" is the level 1
            numbers = numbers_of(texts.filter(strange), self._column.name)
            codes[strange.to_numpy(zero_copy_only=False)] = self._whole.of(numbers, self._other)
        missing = pc.is_null(texts).to_numpy(zero_copy_only=False)
        codes[missing] = np.nan
        return codes


class _Places:
    """Places of levels that are numbers."""

    def __init__(self, places: dict[float, float]) -> None:
        self.keys = np.array(sorted(places), dtype=np.float64)
        self._places = np.array([places[key] for key in sorted(places)], dtype=np.float64)

    def of(self, numbers: Floats, otherwise: Any) -> Floats:
        """The place of each number among the levels, or `otherwise`."""
        if not self.keys.size:
            return np.broadcast_to(np.float64(otherwise), numbers.shape).copy()
        near = np.minimum(np.searchsorted(self.keys, numbers), self.keys.size - 1)
        return np.where(self.keys[near] == numbers, self._places[near], otherwise)


def reader_of(column: Column) -> Reader:
    """The reader of a column's cells."""
    match column:
        case Numeric() | Integer():
            return _OfNumbers(column)
        case Unbounded():
            return _OfAnyNumbers(column)
        case Date():
            return _OfDays(column)
        case Boolean():
            return _OfLevels(column, (False, True), None)
        case Ordered():
            return _OfLevels(column, column.levels, None)
        case Categorical():
            return _OfLevels(column, column.levels, column.other)
    raise TypeError(f"column {column.name!r}: there is no reader of {type(column).__name__}")


def _spellings(label: object) -> list[str]:
    """How a level may stand in a text."""
    if not isinstance(label, bool):
        return [str(label)]
    words = [word for word, truth in _TRUTHS.items() if truth is label]
    return list(dict.fromkeys(w for word in words for w in (word, word.upper(), word.title())))


def _is_whole(level: object) -> bool:
    """Whether a text is that of a whole number, which a table of numbers may hold."""
    return isinstance(level, str) and bool(re.fullmatch(r"0|-?[1-9][0-9]{0,14}", level))
