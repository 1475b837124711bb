"""What single cells say: as numbers, booleans, text and days, and as the names of persons.  Left of the door.

Sorts of cells.  What a text says does not depend on other cells: text that is no number, or no date,
is NaN.  No message of Arrow, which may show a cell, gets out.
Who is one person: one rule of names for every reader.  A cell of a unit column, of any type and any
value, is a name or nobody (M18).  Names are compared as text without white space around it.  Numbers
are compared as numbers: 1, 1.0, True, "1", " 1 ", "1.0" and "001" are one name.  Empty cells, missing
cells and NaN, the text "nan" too, are nobody.  Where in doubt two spellings are one name: that two
persons are taken for one makes the promise stronger, that one is taken for two would break it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import repeat
from numbers import Rational, Real
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from mercer.columns.kinds import EPOCH
from mercer.columns.reading import DateFormat, NumberFormat
from mercer.common.checks import Floats, Ints

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "by_sort",
    "days_of",
    "identities",
    "numbers_of",
    "person_name",
    "sort_of",
    "trimmed",
    "written_days",
    "written_numbers",
]

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


_NOBODY = r"(?i)^([+-]?nan)?$"
_NUMERAL = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-][0-9]{1,3})?$"  # 12e5 may be an id
_WHOLE = r"^[+-]?[0-9]+(\.0*)?$"
_DIGITS = (r"^\+?(-?)0*([0-9]+?)(\.0*)?$", r"\1\2"), (r"^-0$", "0")
_TRUTHS = (r"(?i)^true$", "1"), (r"(?i)^false$", "0")
_MOMENT = r"^[0-9]{4}(-[0-9]{2}){2}[T ][0-9]{2}(:[0-9]{2}){1,2}(\.[0-9]*)? ?(Z|[+-]00:?00)?$"
_TIMES = (  # midnight is the day itself
    (r" ?(Z|[+-]00:?00)$", ""),
    (r"^(.{10})T", r"\1 "),
    (r"(\.[0-9]*?)0*$", r"\1"),
    (r"\.$", ""),
    (r"^(.{16}):00$", r"\1"),
    (r"^(.{10}) 00:00$", r"\1"),
)
_DIRECT = 2.0**63  # whole doubles below it are 64-bit integers
_LONG = 400  # digits of a decimal number before its point
_KINDS = (str, bytes, Real, Decimal, date, time, timedelta, UUID, np.bool_, np.datetime64, np.timedelta64)


def identities(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Names of persons in an Arrow column of any type, as text; null is nobody."""
    import pyarrow as pa

    return _named(column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column)


def _named(cells: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as types

    kind, text = cells.type, pa.large_string()
    if isinstance(kind, pa.BaseExtensionType):
        return _named(cells.storage)
    if types.is_run_end_encoded(kind):
        return _named(pc.run_end_decode(cells))
    if types.is_dictionary(kind):
        used = cells.indices.dictionary_encode()
        return _named(cells.dictionary.take(used.dictionary)).take(used.indices)
    if types.is_boolean(kind):
        return pc.cast(pc.cast(cells, pa.uint8()), text)
    if types.is_integer(kind):
        return pc.cast(cells, text)
    if types.is_floating(kind):
        return _of_numbers(pc.cast(cells, pa.float64()).to_numpy(zero_copy_only=False))
    if types.is_duration(kind):
        steps = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[kind.unit]
        return pc.cast(pc.multiply(pc.cast(cells, pa.int64()), steps), text)
    if types.is_timestamp(kind):
        return _of_texts(_moments(cells))
    if types.is_date(kind) or types.is_time(kind) or types.is_decimal(kind):
        return _of_texts(pc.cast(cells, text))
    return _of_texts(cells) if sort_of(kind) == "text" else pa.nulls(len(cells), text)


def _moments(cells: Any) -> Any:
    """Timestamps in UTC as text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = pa.timestamp(cells.type.unit)
    return pc.cast(cells.cast(pa.int64()).cast(plain), pa.large_string())


def _of_texts(cells: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    coded = pc.cast(cells, pa.large_binary()).dictionary_encode()
    return _spelt(coded.dictionary).take(coded.indices)


def _spelt(raw: Any) -> Any:
    """Names that are spelt in bytes of any kind: the same steps whatever they hold."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.cast(raw, pa.large_string(), safe=False)
    odd = pc.fill_null(pc.invert(pc.string_is_ascii(text)), False)
    strings = map(bytes.decode, raw.filter(odd).to_pylist(), repeat("utf-8"), repeat("backslashreplace"))
    wide = pa.array(list(map(str.strip, strings)), pa.large_string())
    names = pc.replace_with_mask(pc.ascii_trim_whitespace(text), odd, wide)
    names = pc.if_else(pc.match_substring_regex(names, _NOBODY), None, names)
    for pattern, replacement in _TRUTHS:
        names = pc.replace_substring_regex(names, pattern, replacement)
    moments = pc.fill_null(pc.match_substring_regex(names, _MOMENT), False)
    names = pc.replace_with_mask(names, moments, _replaced(names.filter(moments), _TIMES))
    numbers = pc.fill_null(pc.match_substring_regex(names, _NUMERAL), False)
    whole = pc.fill_null(pc.match_substring_regex(names, _WHOLE), False)
    names = pc.replace_with_mask(names, whole, _replaced(names.filter(whole), _DIGITS))
    broken = pc.and_not(numbers, whole)
    doubles = pc.cast(names.filter(broken), pa.float64()).to_numpy(zero_copy_only=False)
    return pc.replace_with_mask(names, broken, _of_numbers(doubles))


def _replaced(names: Any, steps: Any) -> Any:
    import pyarrow.compute as pc

    for pattern, replacement in steps:
        names = pc.replace_substring_regex(names, pattern, replacement)
    return names


def _of_numbers(doubles: Floats) -> Any:
    """Names of numbers: integers with all their digits; NaN is nobody."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pa.large_string()
    with np.errstate(all="ignore"):
        direct = (doubles == np.rint(doubles)) & (np.abs(doubles) < _DIRECT)
        plain = np.where(direct, doubles, 0.0).astype(np.int64)
    huge = np.isfinite(doubles) & (np.abs(doubles) >= _DIRECT)
    other = ~(direct | huge | np.isnan(doubles))
    names = pc.cast(pa.array(plain, mask=np.isnan(doubles)), text)
    large = pa.array(list(map(str, map(int, doubles[huge].tolist()))), text)
    names = pc.replace_with_mask(names, pa.array(huge), large)
    broken = pa.array(list(map(repr, doubles[other].tolist())), text)
    return pc.replace_with_mask(names, pa.array(other), broken)


def person_name(value: Any) -> str | None:
    """The name that a Python object in a unit column is, as text for `identities`; None is nobody.

    An object of another type than text, numbers, dates, times and UUIDs is nobody: what it says
    of itself may be an address in memory, another one in every row.
    """
    try:
        if not isinstance(value, _KINDS) or not bool(value == value):
            return None
        with np.errstate(all="ignore"):  # a number beyond all doubles must not warn
            told = _told(value)
            if told is None:
                return None  # else text that can be written as UTF-8, whatever a class of its own made of it
            return str.encode(told, "utf-8", "backslashreplace").decode()
    except Exception:  # of a type of its own, or pandas' missing value
        return None


def _told(value: Any) -> str | None:
    """How a Python object is spelt as a name; None where its type has no names."""
    if isinstance(value, str):
        value = str.encode(value, "utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, Decimal):
        return format(value, "f") if abs(value.adjusted()) < _LONG else str(value)
    if isinstance(value, (np.datetime64, date, time, UUID)):
        return _moment(value)
    if isinstance(value, (timedelta, np.timedelta64)):
        return str(int(np.timedelta64(value).astype("timedelta64[ns]").astype(np.int64)))
    if isinstance(value, np.bool_):
        value = bool(value)
    if isinstance(value, Rational) and value.denominator == 1:
        return _digits_of(int(value.numerator))
    if isinstance(value, Real):
        number = float(value)
        whole = math.isfinite(number) and number == round(number)
        return _digits_of(int(number)) if whole else repr(number)
    return None


def _digits_of(number: int) -> str:
    try:
        return str(number)
    except ValueError:  # of more digits than Python writes
        return hex(number)


def _moment(value: Any) -> str:
    if isinstance(value, np.datetime64):
        unit = np.datetime_data(value.dtype)[0]
        finer = {"Y": "D", "M": "D", "W": "D", "h": "s", "m": "s"}.get(unit, unit)
        return str(value.astype(f"datetime64[{finer}]"))
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    return str(value)
