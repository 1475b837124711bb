"""Odd cells, and the containers they come in, for the contract of odd cells.

Each cell here has been met in a file or made a reader of records fail.  Nothing is random: a
reading is the same on every run.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import pathlib
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

N = 24  # rows: two for each person
PLACES = {"first": 0, "middle": 11, "last": N - 1}  # where the odd cell stands

# clean cells: numbers in the middle of (0, 1), so that all stay within their bounds
X = [round(0.05 + 0.9 * ((7 * i) % N) / N, 3) for i in range(N)]
Y = [round(0.05 + 0.9 * ((11 * i) % N) / N, 3) for i in range(N)]
CLEAN: dict[str, list[Any]] = {
    "x": X,
    "y": Y,
    "g": ["a" if i % 2 else "b" for i in range(N)],
    "who": [f"p{i // 2:02d}" for i in range(N)],
    "spare": list(Y),  # a column that nobody asks for
}


class _Colour(enum.IntEnum):
    RED = 1


class _Untold:
    """Answers no question at all."""

    def _no(self, *_: Any) -> Any:
        raise RuntimeError("a cell that answers nothing")

    __eq__ = __ne__ = __lt__ = __gt__ = __float__ = __int__ = __bool__ = __str__ = _no  # type: ignore[assignment]
    __repr__ = __len__ = __iter__ = __index__ = __array__ = __getitem__ = _no  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


class _BadFloat(float):
    def __float__(self) -> float:
        raise RuntimeError("no number after all")


class _BadText(str):
    def encode(self, *_: Any) -> bytes:
        raise RuntimeError("no text after all")

    strip = encode  # type: ignore[assignment]
    __slots__ = ()


def signalling(bits: int = 0x7FF0000000000001) -> Any:
    """A signalling NaN, which raises a flag whenever it is worked with."""
    return np.array([bits], dtype=np.uint64).view(np.float64)[0]


TEXTS = {
    "empty": "",
    "blank": "  ",
    "word": "abc",
    "number": "0.5",
    "padded": " 0.5 ",
    "comma": "0,5",
    "money": "$1,234.50",
    "percent": "50 %",
    "beyond doubles": "1e400",
    "exponent": "1e99999999",
    "long integer": "9" * 400,
    "nan": "nan",
    "NA": "NA",
    "inf": "inf",
    "minus inf": "-Infinity",
    "none": "None",
    "true": "true",
    "hex": "0x10",
    "underscore": "1_000",
    "arabic digits": "٠٫٥",
    "wide digits": "０.５",
    "surrogate": "\ud800",
    "surrogate pair": "\udcff0.5",
    "nul": "\x00",
    "nul inside": "0\x00.5",
    "emoji": "🙂",
    "combining": "e\u0301",
    "no-break": "\u00a00.5\u00a0",
    "bom": "\ufeff0.5",
    "long": "x" * 5000,
    "newline": "0.5\n0.5",
    "quote": 'say "x"',
    "date": "2020-01-31",
    "no date": "2020-02-31",
    "time": "2020-01-31T25:00",
    "formula": "=1+1",
}

FLOATS = {
    "nan": float("nan"),
    "signalling nan": signalling(),
    "negative nan": signalling(0xFFF8000000000123),
    "inf": float("inf"),
    "minus inf": -float("inf"),
    "most": 1.7976931348623157e308,
    "least": 5e-324,
    "minus zero": -0.0,
}

OBJECTS: dict[str, Any] = {
    **{f"float {name}": value for name, value in FLOATS.items()},
    **{f"text {name}": value for name, value in TEXTS.items()},
    "none": None,
    "int": 1,
    "true": True,
    "huge integer": 10**400,
    "minus huge integer": -(10**400),
    "int64 max": 2**63 - 1,
    "beyond int64": 2**63,
    "beyond uint64": 2**64,
    "numpy int": np.int64(-(2**63)),
    "numpy uint": np.uint64(2**64 - 1),
    "numpy true": np.True_,
    "float16": np.float16(0.5),
    "float32 signalling": np.array([0x7F800001], dtype=np.uint32).view(np.float32)[0],
    "long double": np.longdouble(0.5),
    "long double beyond": np.longdouble("1e4000"),
    "numpy text": np.str_("0.5"),
    "numpy bytes": np.bytes_(b"0.5"),
    "complex": 0.5 + 0j,
    "numpy complex": np.complex128(0.5),
    "decimal": decimal.Decimal("0.5"),
    "decimal nan": decimal.Decimal("NaN"),
    "decimal signalling": decimal.Decimal("sNaN"),
    "decimal inf": decimal.Decimal("-Infinity"),
    "decimal beyond": decimal.Decimal("1e999999"),
    "fraction": fractions.Fraction(1, 2),
    "fraction beyond": fractions.Fraction(10**400, 3),
    "enum": _Colour.RED,
    "bad float": _BadFloat(0.5),
    "bad text": _BadText("0.5"),
    "untold": _Untold(),
    "bytes": b"0.5",
    "bytes no utf-8": b"\xff\xfe",
    "bytearray": bytearray(b"0.5"),
    "memoryview": memoryview(b"0.5"),
    "date": datetime.date(2020, 1, 31),
    "first day": datetime.date.min,
    "datetime": datetime.datetime(2020, 1, 31, 12),
    "datetime with zone": datetime.datetime(2020, 1, 31, tzinfo=datetime.UTC),
    "time": datetime.time(12),
    "timedelta": datetime.timedelta(1),
    "datetime64": np.datetime64("2020-01-31"),
    "datetime64 ns": np.datetime64(0, "ns"),
    "datetime64 far": np.datetime64(10**6, "Y"),
    "datetime64 NaT": np.datetime64("NaT"),
    "datetime64 no unit": np.datetime64("NaT", "generic"),
    "timedelta64": np.timedelta64(1, "D"),
    "timedelta64 plain": np.timedelta64(1),
    "timedelta64 NaT": np.timedelta64("NaT"),
    "pandas NA": pd.NA,
    "pandas NaT": pd.NaT,
    "pandas time": pd.Timestamp("2020-01-31 12:00"),
    "pandas time with zone": pd.Timestamp("2020-01-31", tz="Europe/Paris"),
    "pandas timedelta": pd.Timedelta(1, "D"),
    "pandas period": pd.Period("2020-01", "M"),
    "pandas interval": pd.Interval(0, 1),
    "arrow scalar": pa.scalar(0.5),
    "arrow null": pa.scalar(None, pa.float64()),
    "arrow array": pa.array([0.5]),
    "array of one": np.array(0.5),
    "array of two": np.array([0.5, 0.5]),
    "array empty": np.array([]),
    "array of texts": np.array(["a", "b"]),
    "array as long": np.full(N, 0.5),
    "record": np.array([(0.5, 1)], dtype=[("a", float), ("b", int)])[0],
    "masked": np.ma.masked,
    "masked array": np.ma.array(0.5, mask=True),
    "series": pd.Series([0.5]),
    "frame": pd.DataFrame({"x": [0.5]}),
    "polars series": pl.Series([0.5]),
    "list": [0.5],
    "list empty": [],
    "list of lists": [[0.5], [0.5, 0.5]],
    "list as long": [0.5] * N,
    "tuple": (0.5, 0.5),
    "dictionary": {"x": 0.5},
    "dictionary empty": {},
    "set": frozenset({0.5}),
    "range": range(3),
    "iterator": iter(()),
    "object": object(),
    "type": float,
    "function": len,
    "ellipsis": ...,
    "not implemented": NotImplemented,
    "exception": ValueError("in a cell"),
    "uuid": uuid.UUID(int=1),
    "path": pathlib.Path("0.5"),
}

# instead of a whole row of a list
ROWS: dict[str, Any] = {
    "none": None,
    "empty tuple": (),
    "empty dictionary": {},
    "one cell": (0.5,),
    "many cells": (0.5,) * 9,
    "number": 0.5,
    "text": "ab",
    "long text": "abcde",
    "bytes": b"ab",
    "dictionary": {"x": 0.5},
    "other names": {"elsewhere": 0.5, 7: 1},
    "names of other types": {None: 1, (1, 2): 2, "x": 0.5},
    "list": [0.5, 0.5],
    "set": {0.5, 0.6},
    "array": np.array([0.5, 0.5]),
    "array of three": np.array([0.5, 0.5, 0.5]),
    "square": np.zeros((2, 2)),
    "nested": [[0.5, 0.5], [0.5]],
    "masked": np.ma.array([0.5, 0.5], mask=[True, False]),
    "all masked": np.ma.masked,
    "series": pd.Series([0.5, 0.5]),
    "frame": pd.DataFrame({"x": [0.5]}),
    "arrow scalar": pa.scalar({"x": 0.5}),
    "arrow array": pa.array([0.5, 0.5]),
    "object": object(),
    "untold": _Untold(),
    "iterator": iter(()),
    "huge integer": 10**400,
    "date": datetime.date(2020, 1, 31),
    "timedelta": np.timedelta64(1, "D"),
    "missing": pd.NA,
}


@dataclass(frozen=True)
class Typed:
    """A declared type of column: how cells become one, clean cells and odd ones of it."""

    name: str
    make: Callable[[list[Any]], Any]
    clean: Callable[[list[Any]], list[Any]]  # of the clean cells of a role
    odd: dict[str, Any]


def _same(cells: list[Any]) -> list[Any]:
    """Numbers as they are; names as numbers."""
    known = list(dict.fromkeys(cells))
    return [known.index(c) / 16 if isinstance(c, str) else float(c) for c in cells]


def _texts(cells: list[Any]) -> list[Any]:
    return [str(cell) for cell in cells]


def _whole(cells: list[Any]) -> list[Any]:
    return [i // 2 % 12 for i in range(len(cells))]


def _truths(cells: list[Any]) -> list[Any]:
    return [i // 2 % 2 == 0 for i in range(len(cells))]


def _days(cells: list[Any]) -> list[Any]:
    return [datetime.date(2020, 1, 1 + i) for i in _whole(cells)]


def _times(cells: list[Any]) -> list[Any]:
    return [datetime.datetime(2020, 1, 1 + i) for i in _whole(cells)]


def _spans(cells: list[Any]) -> list[Any]:
    return [datetime.timedelta(i) for i in _whole(cells)]


_PLAIN_TEXTS = {k: v for k, v in TEXTS.items() if "surrogate" not in k}
_FEWER_TEXTS = dict(list(_PLAIN_TEXTS.items())[::3])
_SOME_TEXTS = {k: TEXTS[k] for k in ("empty", "word", "number", "nul", "beyond doubles", "emoji")}


def _array(dtype: Any) -> Callable[[list[Any]], Any]:
    return lambda cells: np.array(cells, dtype=dtype)


def _masked(dtype: Any) -> Callable[[list[Any]], Any]:
    """A masked array in which (value,) is a masked cell that hides a value."""

    def make(cells: list[Any]) -> Any:
        hidden = [isinstance(cell, tuple) for cell in cells]
        plain = [cell[0] if isinstance(cell, tuple) else cell for cell in cells]
        return np.ma.array(np.array(plain, dtype=dtype), mask=hidden)

    return make


def arrays() -> Iterator[Typed]:
    """Columns as NumPy arrays."""
    yield Typed("float64", _array(np.float64), _same, FLOATS)
    yield Typed("float64 swapped", _array(">f8"), _same, {"signalling nan": signalling()})
    small = {k: FLOATS[k] for k in ("nan", "inf", "minus zero")}
    yield Typed("float32", _array(np.float32), _same, small)
    yield Typed("float16", _array(np.float16), _same, small)
    beyond = {"nan": np.longdouble("nan"), "beyond": np.longdouble("1e4000")}
    yield Typed("long double", _array(np.longdouble), _same, beyond)
    yield Typed("int64", _array(np.int64), _whole, {"most": 2**63 - 1, "least": -(2**63)})
    yield Typed("uint64", _array(np.uint64), _whole, {"most": 2**64 - 1})
    yield Typed("int8", _array(np.int8), _whole, {"least": -128})
    yield Typed("bool", _array(np.bool_), _truths, {"other": True})
    yield Typed("complex", _array(np.complex128), _same, {"nan": complex("nan+1j"), "i": 1j})
    yield Typed("U40", _array("U40"), _texts, {k: v[:40] for k, v in TEXTS.items()})
    some = {k: v.encode()[:40] for k, v in _FEWER_TEXTS.items()}
    raw = {**some, "no utf-8": b"\xff\xfe"}
    yield Typed("S40", _array("S40"), lambda cells: [str(c).encode() for c in cells], raw)
    days = {"NaT": np.datetime64("NaT"), "early": np.datetime64("0001-01-01")}
    yield Typed("datetime64[D]", _array("datetime64[D]"), _days, days)
    far = {"NaT": np.datetime64("NaT"), "far": np.datetime64(2**62, "s")}
    yield Typed("datetime64[s]", _array("datetime64[s]"), _times, far)
    yield Typed("timedelta64[s]", _array("m8[s]"), _spans, {"NaT": np.timedelta64("NaT")})
    hidden = {f"hidden {k}": (v,) for k, v in FLOATS.items()}
    yield Typed("masked float64", _masked(np.float64), _same, {**hidden, **FLOATS})
    yield Typed("masked int64", _masked(np.int64), _whole, {"hidden": (2**62,)})
    yield Typed("masked object", _masked(object), _same, {"hidden": ("abc",), "text": "abc"})
    yield Typed("masked U40", _masked("U40"), _texts, {"hidden": ("abc",)})
    fields = np.dtype([("a", np.float64)])
    yield Typed("record", _array(fields), lambda cells: [(0.5,) for _ in cells], {"nan": (np.nan,)})


def _series(dtype: Any) -> Callable[[list[Any]], Any]:
    return lambda cells: pd.Series(cells, dtype=dtype)


def _categories(cells: list[Any]) -> Any:
    known = [cell for cell in dict.fromkeys(cells) if cell is not None]
    return _coded(cells, known)


def _known_categories(cells: list[Any]) -> Any:
    known = list(dict.fromkeys([*cells, *_SOME_TEXTS.values()]))
    return _coded(cells, [cell for cell in known if cell is not None])


def _coded(cells: list[Any], known: list[Any]) -> Any:
    codes = [-1 if cell is None else known.index(cell) for cell in cells]
    kind = pd.CategoricalDtype(pd.Index(known, dtype=object))
    return pd.Series(pd.Categorical.from_codes(codes, dtype=kind))


def series() -> Iterator[Typed]:
    """Columns as pandas series."""
    yield Typed("pandas float64", _series("float64"), _same, FLOATS)
    yield Typed("pandas Float64", _series("Float64"), _same, {"NA": pd.NA, "inf": np.inf})
    yield Typed("pandas Int64", _series("Int64"), _whole, {"NA": pd.NA, "most": 2**63 - 1})
    yield Typed("pandas boolean", _series("boolean"), _truths, {"NA": pd.NA})
    python = pd.StringDtype("python")
    yield Typed("pandas string[python]", _series(python), _texts, {**TEXTS, "NA": pd.NA})
    arrow = pd.StringDtype("pyarrow")
    yield Typed("pandas string[pyarrow]", _series(arrow), _texts, {**_FEWER_TEXTS, "NA": pd.NA})
    yield Typed("pandas str", _series("str"), _texts, {**_FEWER_TEXTS, "nan": np.nan})
    mixed = {"integer": 7, "float": 0.25, "none": None, "true": True, "date": _days([0])[0]}
    mixed |= {"bytes": b"\xff", "tuple": (1, 2), "surrogate": "\ud800", "huge": 10**400}
    yield Typed("pandas category", _categories, _texts, {**mixed, "word": "abc"})
    yield Typed("pandas category of numbers", _categories, _same, {**mixed, "word": "abc"})
    yield Typed("pandas known category", _known_categories, _texts, {**_SOME_TEXTS, "none": None})
    yield Typed("pandas datetime", _series("datetime64[ns]"), _times, {"NaT": pd.NaT})
    zone = _series("datetime64[ns, Europe/Paris]")
    zoned = {"NaT": pd.NaT, "early": pd.Timestamp(1, tz="Europe/Paris")}
    yield Typed("pandas datetime with zone", zone, _times, zoned)
    yield Typed("pandas timedelta", _series("timedelta64[ns]"), _spans, {"NaT": pd.NaT})
    yield Typed("pandas period", _series("period[M]"), _times, {"NaT": pd.NaT})
    interval = lambda cells: pd.Series(pd.arrays.IntervalArray.from_tuples(cells))  # noqa: E731
    yield Typed("pandas interval", interval, lambda c: [(0.0, 1.0 + i) for i in _whole(c)], {"none": np.nan})
    yield Typed("pandas sparse", _series("Sparse[float64]"), _same, {"nan": np.nan})
    yield Typed("pandas complex", _series("complex128"), _same, {"nan": np.nan})
    decimals = pd.ArrowDtype(pa.decimal128(10, 4))
    amounts = lambda cells: [decimal.Decimal(i) / 16 for i in _whole(cells)]  # noqa: E731
    yield Typed("pandas decimal", _series(decimals), amounts, {"NA": pd.NA})


def _arrow(kind: Any) -> Callable[[list[Any]], Any]:
    return lambda cells: pa.array(cells, type=kind)


def _dictionary(index: Any, kind: Any) -> Callable[[list[Any]], Any]:
    """A dictionary of the cells as they come up, nulls among its values."""

    def make(cells: list[Any]) -> Any:
        known = list(dict.fromkeys(cells))
        places = pa.array([known.index(cell) for cell in cells], index)
        return pa.DictionaryArray.from_arrays(places, pa.array(known, kind))

    return make


def _chunked(cells: list[Any]) -> Any:
    return pa.chunked_array([pa.array(cells[:5], pa.float64()), pa.array(cells[5:], pa.float64())])


def _runs(cells: list[Any]) -> Any:
    ends = pa.array(range(1, len(cells) + 1), pa.int32())
    return pa.RunEndEncodedArray.from_arrays(ends, pa.array(cells, pa.float64()))


def arrows() -> Iterator[Typed]:
    """Columns as Arrow arrays; None is null."""
    null = {"null": None}
    yield Typed("arrow double", _arrow(pa.float64()), _same, {**FLOATS, **null})
    yield Typed("arrow chunks", _chunked, _same, {**null, "inf": np.inf})
    yield Typed("arrow float", _arrow(pa.float32()), _same, {**null, "inf": np.inf})
    half = lambda cells: pa.array([None if c is None else np.float16(c) for c in cells], pa.float16())  # noqa: E731
    yield Typed("arrow half", half, _same, null)
    yield Typed("arrow int64", _arrow(pa.int64()), _whole, {**null, "most": 2**63 - 1})
    yield Typed("arrow uint64", _arrow(pa.uint64()), _whole, {**null, "most": 2**64 - 1})
    yield Typed("arrow int8", _arrow(pa.int8()), _whole, {**null, "least": -128})
    yield Typed("arrow bool", _arrow(pa.bool_()), _truths, null)
    amounts = lambda cells: [decimal.Decimal(i) / 16 for i in _whole(cells)]  # noqa: E731
    most = {**null, "most": decimal.Decimal("9" * 38)}
    yield Typed("arrow decimal", _arrow(pa.decimal128(38, 0)), _whole, most)
    yield Typed("arrow decimal256", _arrow(pa.decimal256(60, 4)), amounts, null)
    yield Typed("arrow string", _arrow(pa.string()), _texts, {**_PLAIN_TEXTS, **null})
    for kind in (pa.large_string(), pa.string_view()):
        yield Typed(f"arrow {kind}", _arrow(kind), _texts, {**_SOME_TEXTS, **null})
    raw = {**{k: v.encode() for k, v in _SOME_TEXTS.items()}, "no utf-8": b"\xff\xfe", **null}
    octets = lambda cells: [str(c).encode() for c in cells]  # noqa: E731
    yield Typed("arrow binary", _arrow(pa.binary()), octets, raw)
    three = {**null, "no utf-8": b"\xff\xfe\xfd"}
    fixed = lambda cells: [b"%03d" % i for i in _whole(cells)]  # noqa: E731
    yield Typed("arrow fixed binary", _arrow(pa.binary(3)), fixed, three)
    yield Typed("arrow date32", _arrow(pa.date32()), _days, {**null, "early": datetime.date.min})
    yield Typed("arrow date64", _arrow(pa.date64()), _days, {**null, "late": datetime.date.max})
    for unit in ("s", "ns"):
        extreme = {**null, "most": 2**63 - 1, "least": -(2**63) + 1}
        yield Typed(f"arrow timestamp[{unit}]", _arrow(pa.timestamp(unit)), _whole, extreme)
        zoned = pa.timestamp(unit, tz="Europe/Paris")
        yield Typed(f"arrow timestamp[{unit}] with zone", _arrow(zoned), _whole, extreme)
    yield Typed("arrow time", _arrow(pa.time64("us")), _whole, null)
    yield Typed("arrow duration", _arrow(pa.duration("s")), _whole, {**null, "most": 2**62})
    texts = _dictionary(pa.int8(), pa.string())
    yield Typed("arrow dictionary", texts, _texts, {**_FEWER_TEXTS, **null})
    numbers_by = _dictionary(pa.int32(), pa.float64())
    yield Typed("arrow dictionary of numbers", numbers_by, _same, {**FLOATS, **null})
    bytes_by = _dictionary(pa.int32(), pa.binary())
    yield Typed("arrow dictionary of bytes", bytes_by, octets, raw)
    lists = {**null, "empty": [], "longer": [0.5, 0.5], "null inside": [None]}
    single = lambda cells: [[i / 16] for i in _whole(cells)]  # noqa: E731
    yield Typed("arrow list", _arrow(pa.list_(pa.float64())), single, lists)
    pairs = {**null, "null inside": [None]}
    yield Typed("arrow fixed list", _arrow(pa.list_(pa.float64(), 1)), single, pairs)
    struct = pa.struct([("a", pa.float64())])
    filled = lambda cells: [{"a": i / 16} for i in _whole(cells)]  # noqa: E731
    yield Typed("arrow struct", _arrow(struct), filled, {**null, "null inside": {"a": None}})
    mapping = pa.map_(pa.string(), pa.float64())
    keyed = lambda cells: [[("a", i / 16)] for i in _whole(cells)]  # noqa: E731
    yield Typed("arrow map", _arrow(mapping), keyed, {**null, "empty": []})
    yield Typed("arrow runs", _runs, _same, {**null, "nan": np.nan})
    yield Typed("arrow null", _arrow(pa.null()), lambda cells: [None] * len(cells), null)


def _polars(dtype: Any) -> Callable[[list[Any]], Any]:
    return lambda cells: pl.Series(cells, dtype=dtype, strict=False)


def polars() -> Iterator[Typed]:
    """Columns as polars series."""
    null = {"null": None}
    yield Typed("polars float", _polars(pl.Float64), _same, {**FLOATS, **null})
    yield Typed("polars int", _polars(pl.Int64), _whole, {**null, "most": 2**63 - 1})
    yield Typed("polars uint", _polars(pl.UInt64), _whole, {**null, "most": 2**64 - 1})
    yield Typed("polars bool", _polars(pl.Boolean), _truths, null)
    yield Typed("polars text", _polars(pl.String), _texts, {**_FEWER_TEXTS, **null})
    yield Typed("polars categorical", _polars(pl.Categorical), _texts, {**_SOME_TEXTS, **null})
    yield Typed("polars date", _polars(pl.Date), _days, {**null, "early": datetime.date.min})
    yield Typed("polars datetime", _polars(pl.Datetime("us")), _times, null)
    yield Typed("polars duration", _polars(pl.Duration("us")), _spans, null)
    yield Typed("polars time", _polars(pl.Time), lambda c: [datetime.time(i) for i in _whole(c)], null)
    amounts = lambda cells: [decimal.Decimal(i) / 16 for i in _whole(cells)]  # noqa: E731
    yield Typed("polars decimal", _polars(pl.Decimal(20, 4)), amounts, null)
    single = lambda cells: [[i / 16] for i in _whole(cells)]  # noqa: E731
    lists = {**null, "empty": [], "longer": [0.5, 0.5]}
    yield Typed("polars list", _polars(pl.List(pl.Float64)), single, lists)
    yield Typed(
        "polars binary", _polars(pl.Binary), lambda c: [b"%03d" % i for i in _whole(c)], {"no": b"\xff"}
    )
    objects = {k: OBJECTS[k] for k in ("none", "text word", "huge integer", "timedelta64", "list")}
    yield Typed("polars object", lambda c: pl.Series(c, dtype=pl.Object), _same, objects)


# fields of a row of a CSV file, as they stand in it, and whole lines
FIELDS: dict[str, bytes] = {
    **{
        name: b'"' + text.encode().replace(b'"', b'""') + b'"'
        for name, text in _PLAIN_TEXTS.items()
        if name not in ("number",)
    },
    **{
        f"bare {name}": text.encode()
        for name, text in _PLAIN_TEXTS.items()
        if not set(text) & set(',"\n') and name not in ("number",)
    },
    "latin-1": b"caf\xe9",
    "utf-16": "0.5".encode("utf-16"),
    "no utf-8": b"\xff\xfe\x00",
    "quote inside": b'0"5',
    "quoted and more": b'"0.5"x',
    "carriage return": b'"0.5\r"',
    "more fields": b"0.5,0.5",
    "many fields": b"0.5" + b",0.5" * 20,
    "semicolon": b"0;5",
    "tab": b"\t0.5",
    "backslash": b"\\",
    "comment": b"#0.5",
}
LINES: dict[str, bytes] = {
    "short": b"0.5",
    "blanks": b" ",
    "one comma": b",",
    "commas": b",,,,",
    "many commas": b"," * 40,
    "header again": b"x,y,g,who,spare",
}
