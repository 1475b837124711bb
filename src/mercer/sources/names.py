"""Who is one person: one rule of names for every reader.  Left of the door.

A cell of a unit column, of any type and any value, is a name or nobody (M18).  Names are compared
as text without white space around it.  Numbers are compared as numbers: 1, 1.0, True, "1", " 1 ",
"1.0" and "001" are one name.  Empty cells, missing cells and NaN, the text "nan" too, are nobody.
Where in doubt two spellings are one name: that two persons are taken for one makes the promise
stronger, that one is taken for two would break it.
"""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from itertools import repeat
from numbers import Rational, Real
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

from mercer.common.checks import Floats
from mercer.sources.sorts import sort_of

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["identities", "person_name"]

_NOBODY = r"(?i)^([+-]?nan)?$"
_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-][0-9]{1,3})?$"  # 12e5 may be an id
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
    numbers = pc.fill_null(pc.match_substring_regex(names, _NUMBER), False)
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
            return None if told is None else _plain(told)
    except Exception:  # of a type of its own, or pandas' missing value
        return None


def _plain(text: str) -> str:
    """Text that can be written as UTF-8, whatever a class of its own made of it."""
    return str.encode(text, "utf-8", "backslashreplace").decode()


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
        return _whole(int(value.numerator))
    if isinstance(value, Real):
        number = float(value)
        whole = math.isfinite(number) and number == round(number)
        return _whole(int(number)) if whole else repr(number)
    return None


def _whole(number: int) -> str:
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
