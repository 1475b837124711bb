"""Cells of any column as codes.  Left of the door: reads people's data.

What a cell means does not depend on where it stands, nor on the kind of release: text of a CSV
file, of a data frame and of a list is read alike, for densities as for tables.  A cell that does
not fit is NaN, or the column's `other`; a column is refused by its declared type alone, which is
public, and no error depends on a value (M18).

A level is met by its text (case and blanks do not count), by its number, or as a boolean: "Yes",
" yes" and "YES" are one; 1, 1.0 and "1.0" are one; a column of booleans fits levels that are booleans,
0 and 1, or two words for them.  What is undeclared is the column's `other`, or missing.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mercer.columns.kinds import Boolean, Categorical, Column, Date, Integer, Numeric, Ordered, Unbounded
from mercer.columns.reading import DateFormat, NumberFormat, OfColumn
from mercer.common.checks import Floats
from mercer.sources.values import (
    by_sort,
    days_of,
    numbers_of,
    sort_of,
    trimmed,
    written_days,
    written_numbers,
)

__all__ = ["AS_IS", "Days", "Levels", "Numbers", "Reader", "reader_of"]

AS_IS = OfColumn()
_TRUTHS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "1.0": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
    "0.0": False,
}
_WHOLE = r"^[+-]?(0|[1-9][0-9]{0,17})([.]0*)?$"  # "01" is a code, not the number 1


def reader_of(column: Column, how: OfColumn = AS_IS) -> Reader:
    """The reader for the cells of a column."""
    match column:
        case Numeric() | Integer() | Unbounded():
            return Numbers(column, how)
        case Date():
            return Days(column, how)
        case Boolean():
            return Levels(column, (False, True), None, how)
        case Ordered():
            return Levels(column, column.levels, None, how)
        case Categorical():
            return Levels(column, column.levels, column.other, how)
    raise TypeError(f"column {column.name!r}: there is no reader of {type(column).__name__}")


class Reader(ABC):
    """How cells of one column become codes, with a method for each sort of cell."""

    sorts: frozenset[str]  # sorts of cells that can fit

    def __init__(self, column: Column, how: OfColumn = AS_IS) -> None:
        self._column, self._how = column, how

    def _numbers(self, numbers: Floats) -> Floats:
        """Codes of numbers; NaN is a missing number.  Of a sort that cannot fit, all cells are missing."""
        return np.full(len(numbers), np.nan)

    def _truths(self, truths: Floats) -> Floats:
        """Codes of booleans, given as 0, 1 and NaN."""
        return np.full(len(truths), np.nan)

    def _days(self, days: Floats) -> Floats:
        """Codes of days since 1970-01-01, or NaN."""
        return np.full(len(days), np.nan)

    @abstractmethod
    def _texts(self, texts: Any) -> Floats:
        """Codes of text, given as trimmed Arrow bytes; an empty cell is null."""

    def check(self, kind: Any) -> None:
        """Refuse a column whose declared type, which is public, has no cells that fit."""
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
        """Codes of an Arrow array of any type."""
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
        """Codes of a NumPy array of numbers or booleans."""
        if cells.dtype.kind == "b":
            return self._truths(cells.astype(np.float64))
        return self._numbers(self._present(np.asarray(cells, dtype=np.float64)))

    def objects(self, cells: Sequence[Any]) -> Floats:
        """Codes of Python objects: the type of one does not change how another is read."""
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
        """Numbers, with NaN in place of those that stand for a missing cell."""
        if not self._how.numbers:
            return numbers
        return np.where(np.isin(numbers, self._how.numbers), np.nan, numbers)

    def _written(self, cells: Any) -> Floats:
        """Codes of text in an Arrow array of any type."""
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = trimmed(cells)
        if self._how.texts:
            gone = pa.array([text.encode() for text in self._how.texts], pa.large_binary())
            texts = pc.if_else(pc.is_in(texts, value_set=gone), None, texts)
        return self._texts(texts)

    def _in_text(self, texts: Any) -> Floats:
        """The numbers in trimmed text, in the format that was given."""
        written, name = self._how.written, self._column.name
        if isinstance(written, NumberFormat):
            return self._present(written_numbers(texts, written, name))
        return self._present(numbers_of(texts, name))


class Numbers(Reader):
    """Numbers: of a column with bounds, or of one whose reader leaves open what fits."""

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

    def _written(self, cells: Any) -> Floats:
        if self._how.plain:  # blanks around a number are read with it
            return self._numbers(self._present(numbers_of(cells, self._column.name)))
        return super()._written(cells)

    def _texts(self, texts: Any) -> Floats:
        return self._numbers(self._in_text(texts))


class Days(Reader):
    """Dates, and timestamps without their time of day."""

    sorts = frozenset({"day", "text"})

    def __init__(self, column: Date, how: OfColumn = AS_IS) -> None:
        super().__init__(column, how)

    def _days(self, days: Floats) -> Floats:
        codes = self._column.snap(days)
        if self._how.drops:
            low, high = self._column.ends
            codes[(days < low) | (days > high)] = np.nan
        return codes

    def _texts(self, texts: Any) -> Floats:
        written = self._how.written
        return self._days(written_days(texts, written if isinstance(written, DateFormat) else None))


class Levels(Reader):
    """Levels by their text, number or boolean; what is undeclared is `other`, if there is one."""

    def __init__(
        self, column: Column, levels: Sequence[Any], other: str | None, how: OfColumn = AS_IS
    ) -> None:
        super().__init__(column, how)
        self._other = np.nan if other is None else float(len(levels))
        truths = _truths_among(levels)
        self._spelt = _spellings(column.name, [*levels, *([] if other is None else [other])], truths)
        numbers = {
            float(level): float(place)
            for place, level in enumerate(levels)
            if isinstance(level, (int, float)) and not isinstance(level, bool)
        }
        written = {float(int(v)): float(place) for place, v in enumerate(levels) if _is_whole(v)}
        self._declared, self._places = _Places(numbers), _Places({**written, **numbers})
        self._truth = _Places({float(truth): float(place) for truth, place in truths.items()})
        numeric = self._places.keys.size or self._truth.keys.size
        self.sorts = frozenset(
            {"text", *(["number"] if numeric else []), *(["truth"] if self._truth.keys.size else [])}
        )

    def _numbers(self, numbers: Floats) -> Floats:
        places = self._places if self._places.keys.size else self._truth
        codes = places.of(numbers, self._other)
        codes[~np.isfinite(numbers)] = np.nan
        return codes

    def _truths(self, truths: Floats) -> Floats:
        codes = self._truth.of(truths, self._other)
        codes[np.isnan(truths)] = np.nan
        return codes

    def _texts(self, texts: Any) -> Floats:
        import pyarrow as pa
        import pyarrow.compute as pc

        coded = pc.dictionary_encode(texts)  # every text is looked up once
        known = pa.array(list(self._spelt), pa.large_binary())
        found = pc.fill_null(pc.index_in(_folded(coded.dictionary), value_set=known), len(known))
        places = np.array([*self._spelt.values(), self._other])
        of_text = places[found.to_numpy(zero_copy_only=False)]
        strange = pc.equal(found, len(known))
        rest = coded.dictionary.filter(strange)
        numbers = np.full(len(rest), self._other)
        if self._places.keys.size:  # "1.0" is the level 1, and "01" only where it is a number
            whole = pc.if_else(pc.match_substring_regex(rest, _WHOLE), rest, None)
            numbers = self._places.of(self._in_text(whole), self._other)
        if self._declared.keys.size:
            numbers = self._declared.of(self._in_text(rest), self._other)
        of_text[strange.to_numpy(zero_copy_only=False)] = numbers
        which = pc.fill_null(coded.indices, len(of_text)).to_numpy(zero_copy_only=False)
        return np.append(of_text, np.nan)[which]


class _Places:
    """The places of levels that are numbers, to look numbers up in."""

    def __init__(self, places: Mapping[float, float]) -> None:
        self.keys = np.array(sorted(places), dtype=np.float64)
        self._places = np.array([places[key] for key in sorted(places)], dtype=np.float64)

    def of(self, numbers: Floats, otherwise: Any) -> Floats:
        """The place of each number among the levels; `otherwise` for a number that is none of them."""
        if not self.keys.size:
            return np.broadcast_to(np.float64(otherwise), numbers.shape).copy()
        near = np.minimum(np.searchsorted(self.keys, numbers), self.keys.size - 1)
        return np.where(self.keys[near] == numbers, self._places[near], otherwise)


def _declared(column: Column) -> str:
    if isinstance(column, Unbounded):
        return "must hold numbers"
    return f"is declared as {column.describe()}"


def _folded(texts: Any) -> Any:
    """Trimmed text as bytes in ASCII lower case, with one blank for several."""
    import pyarrow as pa
    import pyarrow.compute as pc

    small = pc.ascii_lower(pc.cast(texts, pa.large_string(), safe=False))
    return pc.replace_substring_regex(pc.cast(small, pa.large_binary()), r"[ \t\r\n]+", " ")


def _fold(text: str) -> bytes:
    """The folded form of one text, as `_folded` makes it; letters beyond ASCII keep their case."""
    small = "".join(letter.lower() if letter.isascii() else letter for letter in text)
    return re.sub(r"[ \t\r\n]+", " ", small.strip()).encode("utf-8", "surrogatepass")


def _spellings(name: str, labels: Sequence[Any], truths: Mapping[bool, int]) -> dict[bytes, float]:
    """Places of levels by how they may be spelt; an error where two could not be told apart."""
    words: dict[bytes, float] = {}
    for place, label in enumerate(labels):
        text = str(label)
        for spelt in (text, text.lower(), text.upper(), text.title(), text.casefold()):
            if words.setdefault(_fold(spelt), float(place)) != place:
                raise ValueError(
                    f"column {name!r}: levels must differ by more than case and blanks, got "
                    f"{str(labels[int(words[_fold(spelt)])])!r} and {text!r}, which are read as "
                    "one; leave one of them out, or rename it in the data"
                )
    if len(truths) == 2 == len(labels) or all(isinstance(label, bool) for label in labels):
        for word, truth in _TRUTHS.items():  # the two of them, so that every word is one of them
            if truth in truths:
                words.setdefault(word.encode(), float(truths[truth]))
    return words


def _truths_among(levels: Sequence[Any]) -> dict[bool, int]:
    """Places of false and true among levels that are booleans, 0 and 1, or words for them."""
    if all(isinstance(level, bool) for level in levels):
        return {level: place for place, level in enumerate(levels)}
    if all(isinstance(level, (int, float)) for level in levels):
        return {bool(level): place for place, level in enumerate(levels) if level in (0, 1)}
    said = [_TRUTHS.get(str(level).strip().lower()) for level in levels]
    if None not in said and len(set(said)) == len(said):
        return {bool(truth): place for place, truth in enumerate(said)}
    plain = [str(level).lower() for level in levels]
    return {word == "true": plain.index(word) for word in ("true", "false") if word in plain}


def _is_whole(level: object) -> bool:
    """Whether a level is the text of an integer, which a column of numbers may hold."""
    return isinstance(level, str) and bool(re.fullmatch(r"0|-?[1-9][0-9]{0,14}", level))
