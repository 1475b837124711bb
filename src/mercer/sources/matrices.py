"""Rows that an estimator is handed, as doubles.  Left of the door.

scikit-learn's own checks raise an error for one odd cell, and some of them print the records.
Here the type of a container, its names and its axes are public and are refused in words of our
own; cells are read one by one, and what is not a number is missing (M18).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.common.checks import Floats
from mercer.sources.frames import SERIES, array_in, in_rows, is_a, numbers_among

__all__ = ["array_of", "column_numbers", "is_frame", "matrix_of", "shown_type", "tabled", "width_of"]

_FRAMES = ("pandas.DataFrame", "polars.DataFrame", "pyarrow.Table")


def is_frame(X: object) -> bool:
    """Whether X is a table with names of columns that scikit-learn can read."""
    return is_a(X, *_FRAMES)


def tabled(X: Any) -> Any:
    """Batches of Arrow as the table they are; anything else as it is."""
    if is_a(X, "pyarrow.RecordBatchReader"):
        return X.read_all()
    if is_a(X, "pyarrow.RecordBatch"):
        import pyarrow as pa

        return pa.Table.from_batches([X])
    return X


def width_of(rows: Sequence[Any]) -> int:
    """How many cells each row of a recipient's list has; an error if not all have as many."""
    widths = set(map(_length, rows))
    if widths == {None}:
        _check_axes((len(rows),))
    if len(widths) > 1:
        raise ValueError("X must have rows of one length, got a list of rows of different lengths")
    return (widths.pop() if widths else 0) or 0


@np.errstate(all="ignore")  # a cell beyond doubles is missing or infinite, and no warning
def matrix_of(X: Any, width: int | None, hint: str) -> Floats:
    """X as doubles with two axes, NaN where a cell is not a number.

    A list does not say how many columns its rows have, and no row may decide it: `width` does,
    from public arguments, and `hint` tells the caller how to give it.
    """
    if isinstance(X, (list, tuple)):
        if width is None:
            raise ValueError(
                f"X is a {type(X).__name__}, which does not say how many columns its rows have, "
                f"and no record may decide it: {hint}, or give X as an array or a data frame"
            )
        return _of_rows(X, width)
    if is_frame(X):
        return _of_frame(X)
    if is_a(X, *SERIES):
        _check_axes((len(X),))
    array = array_of(X, "X")
    _check_type(array.dtype)
    _check_axes(array.shape)
    return numbers_among(array)


def _check_axes(shape: tuple[int, ...]) -> None:
    if len(shape) == 1:
        raise ValueError(
            f"X must have two axes, rows and columns, got one axis of {shape[0]} values. Reshape "
            "your data: X.reshape(-1, 1) if they are one column, X.reshape(1, -1) if one row"
        )
    if len(shape) != 2:
        raise ValueError(f"X must have two axes, rows and columns, got shape {shape}; reshape it")


def _check_type(kind: Any, column: object = None) -> None:
    """Refuse a type that holds no numbers: it is public, whatever the cells are."""
    where = "" if column is None else f"column {column!r} "
    if getattr(kind, "kind", "") == "c":
        raise ValueError(
            f"X must hold real numbers, got {where}of type {kind}. Complex data not supported: "
            "give the real and imaginary parts as two columns"
        )
    if not isinstance(kind, np.dtype) or kind.kind not in "iufbO":
        raise ValueError(
            f"X must hold numbers in every column, got {where}of type {shown_type(kind)}; convert or drop it"
        )


def _of_rows(rows: Sequence[Any], width: int) -> Floats:
    """Rows of any kind; one of another length, or of another type, is a row without numbers."""
    columns = in_rows(rows, [f"x{place}" for place in range(width)], None)
    out = np.empty((len(rows), width))
    for place, cells in enumerate(columns):
        out[:, place] = numbers_among(cells)
    return out


def _length(row: Any) -> int | None:
    """How many cells a row has; None if it is none.  A cell may lie about its class."""
    if issubclass(type(row), np.ndarray):
        return len(row) if row.ndim else None
    return len(row) if issubclass(type(row), (list, tuple)) else None


def _of_frame(frame: Any) -> Floats:
    """Columns beside each other."""
    if is_a(frame, "pandas.DataFrame"):
        names, kinds = list(frame.columns), list(frame.dtypes)
        if all(isinstance(kind, np.dtype) and kind.kind in "iufb" for kind in kinds):
            return np.asarray(frame.to_numpy(dtype=np.float64))
        columns = [frame.iloc[:, place] for place in range(len(names))]
    elif is_a(frame, "polars.DataFrame"):
        names, kinds, columns = frame.columns, frame.dtypes, frame.get_columns()
    else:
        names, kinds, columns = frame.schema.names, frame.schema.types, frame.columns
    out = np.empty((frame.shape[0], len(names)))
    for place, name in enumerate(names):
        cells = column_numbers(columns[place], name)
        if cells is None:
            _check_type(kinds[place], name)
        out[:, place] = cells
    return out


def shown_type(kind: Any) -> str:
    """A type without the length of the longest text, which is one record's."""
    return "text" if isinstance(kind, np.dtype) and kind.kind in "US" else str(kind)


def array_of(data: Any, name: str) -> Any:
    """An array of anything that says it is one."""
    if any(c.__module__.startswith("scipy.sparse") for c in type(data).__mro__):
        raise TypeError(f"{name} must be dense, got a sparse {type(data).__name__}; use .toarray()")
    array = array_in(data)
    if array is None:
        raise TypeError(f"{name} must be an array, a list or a data frame, got {type(data).__name__}")
    return array


def column_numbers(column: Any, name: object) -> Floats | None:
    """A column of a type of numbers, or of Python objects, as doubles; None if of another type."""
    if str(getattr(column, "dtype", "")) == "category":
        return None
    try:
        return numbers_among(column, str(name))
    except TypeError:
        return None
