"""Columns and arrays of other libraries by their declared types.  Left of the door.

Types are public and decide what is read and what is refused; cells are read one by one, and what
is not a number is missing (M18).  No message of another library, which may show a cell, gets out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.common.checks import Floats
from mercer.sources.arrow import numbers_of
from mercer.sources.cells import numbers_among

__all__ = ["ARROW", "SERIES", "array_of", "column_numbers", "is_a", "numbers_in", "objects_of", "shown_type"]

ARROW = ("pyarrow.Array", "pyarrow.ChunkedArray")
SERIES = ("pandas.Series", "pandas.Index", "pandas.ExtensionArray", "polars.Series", *ARROW)


def is_a(data: object, *names: str) -> bool:
    """Whether data is of a class of another library, or of one derived from it."""
    kinds = (f"{c.__module__.split('.')[0]}.{c.__qualname__}" for c in type(data).__mro__)
    return not set(names).isdisjoint(kinds)


def shown_type(kind: Any) -> str:
    """A type without the length of the longest text, which is one record's."""
    return "text" if isinstance(kind, np.dtype) and kind.kind in "US" else str(kind)


def array_of(data: Any, name: str) -> Any:
    """An array of anything that says it is one."""
    if isinstance(data, np.ndarray):
        return data
    array = None
    if any(c.__module__.startswith("scipy.sparse") for c in type(data).__mro__):
        raise TypeError(f"{name} must be dense, got a sparse {type(data).__name__}; use .toarray()")
    if getattr(type(data), "__array__", None) is not None:
        try:
            array = np.asarray(data)
        except Exception:  # whatever a library says of a cell may show it
            array = None
    if array is None:
        raise TypeError(f"{name} must be an array, a list or a data frame, got {type(data).__name__}")
    return array


def numbers_in(array: Any) -> Floats:
    """An array of numbers or objects as doubles; masked cells are missing."""
    cells = np.asarray(array)
    values = numbers_among(cells) if cells.dtype == object else np.asarray(cells, dtype=np.float64)
    if isinstance(array, np.ma.MaskedArray):
        values = np.where(np.ma.getmaskarray(array), np.nan, values)
    return np.asarray(values, dtype=np.float64)


def column_numbers(column: Any, name: object) -> Floats | None:
    """A column of a type of numbers, or of Python objects, as doubles; None if of another type."""
    if is_a(column, "polars.Series"):
        return _of_polars(column)
    if is_a(column, *ARROW):
        return _of_arrow(column, str(name))
    return _of_pandas(column, str(name))


def _of_pandas(column: Any, name: str) -> Floats | None:
    kind = column.dtype
    if isinstance(kind, np.dtype) and kind.kind == "O":
        return np.asarray(numbers_among(column.to_numpy()), dtype=np.float64)
    if kind.kind in "iufb":
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if getattr(kind, "pyarrow_dtype", None) is None:
        return None
    import pyarrow as pa

    return _of_arrow(pa.array(column, from_pandas=True), name)


def _of_polars(column: Any) -> Floats | None:
    import polars as pl

    if column.dtype == pl.Object:
        return np.asarray(numbers_among(objects_of(column)), dtype=np.float64)
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return np.asarray(column.cast(pl.Float64, strict=False).to_numpy(), dtype=np.float64)
    return None


def _of_arrow(column: Any, name: str) -> Floats | None:
    if not _arrow_number(column.type):
        return None
    chunks = column.chunks if is_a(column, "pyarrow.ChunkedArray") else [column]
    return np.concatenate([np.empty(0), *(numbers_of(chunk, name) for chunk in chunks)])


def _arrow_number(kind: Any) -> bool:
    import pyarrow as pa

    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(test(kind) for test in tests)


def objects_of(cells: Any) -> Any:
    """Cells of Python objects, as they are."""
    return np.fromiter(cells, dtype=object, count=len(cells))
