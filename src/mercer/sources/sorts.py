"""Sorts of cells: text, numbers, booleans and days, each as doubles.  Left of the door.

What a text says does not depend on other cells: text that is no number, or no date, is NaN.  No
message of Arrow, which may show a cell, gets out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.columns.kinds import EPOCH
from mercer.columns.reading import DateFormat, NumberFormat
from mercer.common.checks import Floats, Ints

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["by_sort", "days_of", "numbers_of", "sort_of", "trimmed", "written_days", "written_numbers"]

_NUMBER = r"^[ \t]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?[ \t]*$"
_DAY = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9:.,]*[ ]*(Z|[+-][0-9:]+)?)?$"
_A_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_PARTS = ("year", "month", "day")
_NUMBERS = frozenset({float, int, np.float64, np.float32, np.float16})  # most cells are of these


def sort_of(kind: Any) -> str | None:
    """The sort of cells that an Arrow type holds; None for a type that is not read."""
    import pyarrow.types as types

    if types.is_dictionary(kind):
        return sort_of(kind.value_type)
    tests = {
        "null": (types.is_null,),
        "truth": (types.is_boolean,),
        "number": (types.is_integer, types.is_floating, types.is_decimal),
        "day": (types.is_date, types.is_timestamp),
        "text": (
            types.is_string,
            types.is_large_string,
            types.is_string_view,
            types.is_binary,
            types.is_large_binary,
            types.is_binary_view,
            types.is_fixed_size_binary,
        ),
    }
    return next((sort for sort, of in tests.items() if any(test(kind) for test in of)), None)


def by_sort(cells: Iterable[Any]) -> dict[str, tuple[list[int], list[Any]]]:
    """Python objects by their sort: the places and the plain values of those that are a cell."""
    sorts: dict[str, tuple[list[int], list[Any]]] = {}
    with np.errstate(all="ignore"):  # or a number beyond all doubles would be a warning
        for place, cell in enumerate(cells):
            sort, value = _sorted(cell)
            if sort is not None:
                places, values = sorts.setdefault(sort, ([], []))
                places.append(place)
                values.append(value)
    return sorts


def _sorted(cell: Any) -> tuple[str | None, Any]:
    try:
        return ("number", float(cell)) if type(cell) in _NUMBERS else _plain(cell)
    except Exception:  # of a type of its own; whatever it says may show the cell
        return None, None


def _plain(cell: Any) -> tuple[str | None, Any]:
    if type(cell) is np.ndarray and cell.ndim == 0:  # a cell in an array of its own
        cell = cell[()]
    if isinstance(cell, str):
        return "text", str.encode(cell, "utf-8", "surrogatepass")  # not a method of its own
    if isinstance(cell, bytes):
        return "text", bytes.__getitem__(cell, slice(None))
    if isinstance(cell, (bool, np.bool_)):
        return "truth", float(cell)
    if isinstance(cell, np.timedelta64):  # which NumPy calls a whole number
        return None, None
    if isinstance(cell, (int, float, Decimal, np.integer, np.floating)):
        return "number", float(cell)
    if isinstance(cell, np.datetime64):
        cell = cell.astype("datetime64[D]").item()
    if isinstance(cell, date):  # a datetime is one
        return "day", float(cell.toordinal() - EPOCH)
    return None, None


def trimmed(cells: pa.Array) -> pa.Array:
    """Text of any Arrow type as bytes without white space at its ends; null where nothing is left."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.cast(pc.cast(cells, pa.large_binary()), pa.large_string(), safe=False)
    bare = pc.cast(pc.ascii_trim_whitespace(text), pa.large_binary())
    return pc.if_else(pc.equal(pc.binary_length(bare), 0), None, bare)


def numbers_of(column: pa.Array, name: str) -> Floats:
    """An Arrow column as doubles, nulls as NaN; no message of Arrow, which may show a cell, gets out."""
    import pyarrow as pa

    try:
        return _converted(column)
    except pa.ArrowException:
        raise TypeError(f"column {name!r} cannot be read as numbers; convert it first") from None


def _converted(column: Any) -> Floats:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        # a CSV file's text: what is not a number is missing
        text = pc.if_else(pc.match_substring_regex(column, _NUMBER), column, None)
        column = pc.cast(pc.utf8_trim_whitespace(pc.cast(text, pa.large_string())), pa.float64())
    elif pa.types.is_boolean(column.type):
        column = pc.cast(pc.cast(column, pa.uint8()), pa.float64())
    elif not pa.types.is_float64(column.type):
        column = pc.cast(column, pa.float64(), safe=False)
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def days_of(cells: pa.Array) -> Floats:
    """Dates and timestamps as days since 1970-01-01, on the calendar of their time zone."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = cells.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        cells = pc.local_timestamp(cells)
    unit = 1 if pa.types.is_date32(kind) else _A_DAY["ms" if pa.types.is_date(kind) else kind.unit]
    missing = pc.is_null(cells).to_numpy(zero_copy_only=False)
    steps = cells.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64())
    days = pc.fill_null(steps, 0).to_numpy(zero_copy_only=False).astype(np.int64) // unit
    return np.where(missing, np.nan, days.astype(np.float64))


def written_numbers(texts: pa.Array, written: NumberFormat, name: str) -> Floats:
    """Numbers in text, with signs around them and between thousands; NaN where there is no number."""
    import pyarrow as pa
    import pyarrow.compute as pc

    bare = pc.cast(texts, pa.large_binary())
    for sign in written.around:
        word = re.escape(sign)
        bare = pc.replace_substring_regex(bare, rf"^([+-]?)[ \t]*{word}[ \t]*", r"\1")
        bare = pc.replace_substring_regex(bare, rf"[ \t]*{word}$", "")
    fits = pc.match_substring_regex(bare, written.pattern())
    bare = pc.if_else(pc.fill_null(fits, False), bare, None)
    if written.thousands is not None:
        bare = pc.replace_substring(bare, written.thousands.encode(), b"")
    if written.decimal != ".":
        bare = pc.replace_substring(bare, written.decimal.encode(), b".")
    return numbers_of(bare, name)


def written_days(texts: pa.Array, written: DateFormat | None = None) -> Floats:
    """Dates in text as days since 1970-01-01; NaN where there is no date.

    They are ISO dates unless a format says how they are written.  A time of day is cut off.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if written is not None:
        parts = pc.extract_regex(pc.cast(texts, pa.large_binary()), written.pattern())
        return _real_days(*(_whole(pc.struct_field(parts, part)) for part in _PARTS))
    fits = pc.fill_null(pc.match_substring_regex(texts, _DAY), False)
    first = pc.binary_slice(pc.if_else(fits, texts, b"0000-00-00"), 0, 10)
    start = np.frombuffer(first.buffers()[1], np.int64)[first.offset]  # ten bytes each from here
    letters = np.frombuffer(first.buffers()[2], np.uint8)[start : start + 10 * len(first)]
    digits = letters.reshape(-1, 10).astype(np.int64)
    digits -= ord("0")
    year = digits[:, :4] @ np.array([1000, 100, 10, 1])
    tens = np.array([10, 1])
    return _real_days(year, digits[:, 5:7] @ tens, digits[:, 8:] @ tens)


def _whole(digits: Any) -> Ints:
    """Integers written in digits; 0 where there are none."""
    return np.asarray(np.nan_to_num(numbers_of(digits, "day")), dtype=np.int64)


def _real_days(year: Ints, month: Ints, day: Ints) -> Floats:
    """Days since 1970-01-01; NaN where the calendar has no such day."""
    months = ((year - 1970) * 12 + month - 1).astype("datetime64[M]")
    days = months.astype("datetime64[D]") + (day - 1)
    real = (month >= 1) & (month <= 12) & (day >= 1) & (days.astype("datetime64[M]") == months)
    real &= year >= 1
    return np.where(real, days.astype(np.int64).astype(np.float64), np.nan)
