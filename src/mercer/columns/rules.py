"""Checks of what columns are declared by: names, bounds and levels; and names that look like a record.

Declarations are public, so errors show them.  Names of columns are public too, and may decide;
but of a file without a header the first line is a person's record, so no message lists names of
which any looks like a value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mercer.common.checks import Bools, Floats

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "FAR",
    "MARKS",
    "Level",
    "arrow_levels",
    "check_bound",
    "check_day",
    "check_levels",
    "check_name",
    "check_order",
    "check_whole",
    "is_no_name",
    "listed",
    "looks_like_a_record",
    "mark_in",
    "show_levels",
]

Level: TypeAlias = str | int | bool

MOST_LEVELS = 1000  # of a column
FAR = 1e100  # bounds are no larger
_MOST_WHOLE = 2**53 - 1  # whole numbers that doubles tell apart
_SHOWN = 8  # levels in a description
_MOST_NAMES = 30  # in an error
_NUMBER = r"[^\w\s#]{0,2} ?[+-]?(?:\d[\d'’ .,]*|[.,]\d+)(?:[eE][+-]?\d+)? ?[^\w\s]{0,2}"
_DATE = (
    r"\d{1,4}(?P<mark>[-/.])\d{1,2}(?P=mark)\d{1,4}(?:[T ]\d{1,2}:\d{2}.*)?"
    r"|\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?"
)
_NEVER = re.compile(rf"(?:{_NUMBER}|{_DATE}|[+-]?inf|nan|)", re.IGNORECASE)  # a name in a header
_WORD = r"na|n/a|null|none|true|false|yes|no|[^@\s]+@[^@\s]+\.\w+"
_VALUE = re.compile(rf"(?:{_NUMBER}|{_DATE}|[+-]?inf|nan|{_WORD})", re.IGNORECASE)
MARKS = {",": "commas", ";": "';'", "\t": "tabs", "|": "'|'"}


def check_name(name: object) -> str:
    """The name of a column: text that is not empty."""
    if not isinstance(name, str):
        raise TypeError(f"a column's name must be text, got {name!r}; put it in quotes")
    if not name:
        raise ValueError("a column's name must not be empty; give the name it has in the table")
    return name


def check_order(name: str, low: Any, high: Any, *, one: bool = False) -> None:
    """Refuse bounds that do not rise; with `one` they may be equal."""
    if not (low <= high if one else low < high):
        rule = "lower <= upper" if one else "lower < upper"
        raise ValueError(f"column {name!r}: bounds must have {rule}, got [{low}, {high}]; exchange the two")
    if not one and high - low < 1e-12 * max(abs(low), abs(high)) + 1e-100:
        raise ValueError(
            f"column {name!r}: bounds must be further apart than rounding, got [{low}, {high}]; "
            "shift the data"
        )


def check_bound(name: str, value: object) -> float:
    """A bound as a float: a finite number."""
    whole = isinstance(value, (int, float, np.integer, np.floating))
    if isinstance(value, (bool, np.bool_)) or not whole:
        raise TypeError(f"column {name!r}: bounds must be numbers, got {value!r}")
    try:
        number = float(value)  # type: ignore[arg-type]
    except OverflowError:
        number = math.inf
    if not abs(number) <= FAR:
        raise ValueError(f"column {name!r}: bounds must be finite, got {value!r}; choose a public range")
    return number


def check_whole(name: str, value: object) -> int:
    """A bound as an integer below 2^53, which a double holds exactly."""
    number = check_bound(name, value)
    if number != math.floor(number) or abs(number) > _MOST_WHOLE:
        raise ValueError(
            f"column {name!r}: bounds must be whole numbers below 2^53, got {value!r}; or declare it numeric"
        )
    return int(number)


def check_day(name: str, value: object) -> date:
    """A bound as a date, from a date, a time or ISO text."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ValueError(
            f"column {name!r}: bounds of dates must be dates or text like '2020-12-31', got {value!r}"
        ) from None


def check_levels(name: str, levels: object) -> tuple[Level, ...]:
    """The levels of a column: different ones, at most 1000."""
    if not isinstance(levels, (list, tuple)):
        raise TypeError(
            f"column {name!r}: levels must be a list, got {type(levels).__name__}; write them in "
            "a fixed order, for example ['f', 'm']"
        )
    plain: Sequence[Any] = [v.item() if isinstance(v, np.generic) else v for v in levels]
    if not 1 <= len(plain) <= MOST_LEVELS:
        raise ValueError(
            f"column {name!r}: levels must be 1 to {MOST_LEVELS}, got {len(plain)}; declare the "
            "frequent ones and 'other', or bounds"
        )
    for level in plain:
        if not isinstance(level, (str, int)):
            raise TypeError(
                f"column {name!r}: levels must be text, whole numbers or booleans, got {level!r}; "
                "for numbers in a range give bounds"
            )
        if isinstance(level, str) and not _is_plain(level):
            raise ValueError(
                f"column {name!r}: levels must be text without white space at its ends, got "
                f"{level!r}; an empty cell is a missing one"
            )
        if isinstance(level, int) and abs(level) > _MOST_WHOLE:
            raise ValueError(f"column {name!r}: levels must be below 2^53, got {level!r}")
    if 0 < sum(isinstance(level, bool) for level in plain) < len(plain):
        raise ValueError(
            f"column {name!r}: levels must be all booleans or none, got "
            f"{show_levels(plain, ', ')}; put words such as 'no' in quotes: without them YAML "
            "reads a boolean"
        )
    if len({str(level) for level in plain}) < len(plain):
        raise ValueError(f"column {name!r}: levels must be different, got {show_levels(plain, ', ')}")
    return tuple(plain)


def _is_plain(text: str) -> bool:
    """Whether a text is not empty, has no white space at its ends and holds no half of a character."""
    halves = any("\ud800" <= letter <= "\udfff" for letter in text)
    return bool(text) and text == text.strip() and not halves


def show_levels(levels: Sequence[Level], between: str) -> str:
    """The first few levels as text, and how many more there are."""
    shown = between.join(map(str, levels[:_SHOWN]))
    more = len(levels) - _SHOWN
    return shown + (f"{between}… {more} more" if more > 0 else "")


def arrow_levels(levels: Sequence[Level], codes: Floats, missing: Bools, *, ordered: bool) -> pa.Array:
    """Places of levels as an Arrow array: of integers or booleans, or of text as a dictionary."""
    import pyarrow as pa

    places = pa.array(codes.astype(np.int32), mask=missing)
    if all(isinstance(level, int) for level in levels):  # booleans are, too
        return pa.DictionaryArray.from_arrays(places, pa.array(levels)).dictionary_decode()
    return pa.DictionaryArray.from_arrays(places, pa.array(list(map(str, levels))), ordered=ordered)


def is_no_name(text: str) -> bool:
    """Whether a text is a number, a date or nothing, which no header has for a name."""
    return _NEVER.fullmatch(text) is not None


def listed(names: Sequence[str]) -> str:
    """What an error says of the columns there are: their names, unless these look like a record.

    >>> listed(["age", "sex"]), "smith" in listed(["smith", "1972-03-01"])
    ("'age', 'sex'", False)

    """
    if looks_like_a_record(names):
        return (
            f"{len(names)} column(s), which are not shown: the first line looks like a record "
            "rather than names; does the file have a header?"
        )
    shown = ", ".join(map(repr, names[:_MOST_NAMES]))
    mark = mark_in(names, ",")
    doubt = "" if mark is None else f" (it looks separated by {MARKS[mark]})"
    return shown + (f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else "") + doubt


def looks_like_a_record(names: Sequence[str]) -> bool:
    """Whether any name is a value rather than a name, or stands twice."""
    plain = [part.strip() for name in names for part in re.split(r"[;\t|]", name)]
    return len(set(names)) < len(names) or any(map(_VALUE.fullmatch, plain))


def mark_in(names: Sequence[str], expected: str) -> str | None:
    """The mark that separates columns instead of the expected one, if there is any in a name."""
    counts = {mark: sum(name.count(mark) for name in names) for mark in MARKS if mark != expected}
    most = max(counts, key=counts.__getitem__)
    return most if counts[most] else None
