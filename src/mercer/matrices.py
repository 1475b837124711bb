"""What an estimator is handed, as doubles and as answers.  Layer 2, left of the door.

scikit-learn's own checks raise an error for one odd cell, and some of them print the records.
Here the type of a container, its names and its axes are public and are refused in words of our
own; cells are read one by one, and what is not a number is missing (M18).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from mercer.checks import Floats
from mercer.tables import numbers_among, numbers_of

__all__ = ["is_frame", "labels_of", "matrix_of", "tabled", "width_of"]

_FRAMES = ("pandas.DataFrame", "polars.DataFrame", "pyarrow.Table")
_ARROW = ("pyarrow.Array", "pyarrow.ChunkedArray")
_SERIES = ("pandas.Series", "pandas.Index", "polars.Series", *_ARROW)


def is_frame(X: object) -> bool:
    """Whether X is a table with names of columns that scikit-learn can read."""
    return _is_a(X, *_FRAMES)


def tabled(X: Any) -> Any:
    """Batches of Arrow as the table they are; anything else as it is."""
    if _is_a(X, "pyarrow.RecordBatchReader"):
        return X.read_all()
    if _is_a(X, "pyarrow.RecordBatch"):
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
    if _is_a(X, "pandas.DataFrame"):
        return _of_pandas(X)
    if _is_a(X, "polars.DataFrame"):
        return _stacked([_of_polars(X.to_series(i)) for i in range(X.width)], X.columns, X, len(X))
    if _is_a(X, "pyarrow.Table"):
        names = X.schema.names
        cells = [_of_arrow(column, name) for column, name in zip(X.columns, names, strict=True)]
        return _stacked(cells, names, X, X.num_rows)
    if _is_a(X, *_SERIES):
        _check_axes((len(X),))
    array = _array_of(X, "X")
    _check_kind(array.dtype)
    _check_axes(array.shape)
    return _numbers(array)


@np.errstate(all="ignore")
def labels_of(y: Any, *, numeric: bool, name: str = "y") -> Any:
    """Answers as an array of doubles, or of plain text and numbers, None where there is neither.

    It has the axes of y.  `numeric`: answers are numbers, so a type of text is refused.
    """
    if isinstance(y, (list, tuple, range)):
        return _plain(_objects([_bare(cell) for cell in y]), numeric)
    if is_frame(y):
        if y.shape[1] != 1:
            return np.empty(y.shape)  # which is an error of whoever looks at the axes
        pandas = _is_a(y, "pandas.DataFrame")
        only = y.iloc[:, 0] if pandas else y[y.columns[0]] if _is_a(y, "polars.DataFrame") else y[0]
        return labels_of(only, numeric=numeric, name=name)[:, None]
    if _is_a(y, *_SERIES):
        numbers, text = _series(y)
        if numbers is not None:
            return numbers
        if text is None or (numeric and text is not _objects):
            kind = y.type if _is_a(y, *_ARROW) else y.dtype
            raise _refused(name, kind, numeric=numeric)
        return _plain(text(y), numeric)
    array = _array_of(y, name)
    if array.dtype.kind not in ("iufbO" if numeric else "iufbOUS"):
        raise _refused(name, array.dtype, numeric=numeric)
    if array.dtype.kind in "OUS":
        cells = np.array(array, dtype=object)
        if isinstance(array, np.ma.MaskedArray):
            cells[np.ma.getmaskarray(array)] = None
        return _plain(cells, numeric)
    return _numbers(array) if isinstance(array, np.ma.MaskedArray) else array


def _is_a(data: object, *names: str) -> bool:
    """Whether data is of a class of another library, or of one derived from it."""
    kinds = (f"{c.__module__.split('.')[0]}.{c.__qualname__}" for c in type(data).__mro__)
    return not set(names).isdisjoint(kinds)


def _check_axes(shape: tuple[int, ...]) -> None:
    if len(shape) == 1:
        raise ValueError(
            f"X must have two axes, rows and columns, got one axis of {shape[0]} values. Reshape "
            "your data: X.reshape(-1, 1) if they are one column, X.reshape(1, -1) if one row"
        )
    if len(shape) != 2:
        raise ValueError(f"X must have two axes, rows and columns, got shape {shape}; reshape it")


def _check_kind(kind: Any, column: object = None) -> None:
    """Refuse a type that holds no numbers: it is public, whatever the cells are."""
    where = "" if column is None else f"column {column!r} "
    if getattr(kind, "kind", "") == "c":
        raise ValueError(
            f"X must hold real numbers, got {where}of type {kind}. Complex data not supported: "
            "give the real and imaginary parts as two columns"
        )
    if not isinstance(kind, np.dtype) or kind.kind not in "iufbO":
        raise ValueError(
            f"X must hold numbers in every column, got {where}of type {kind}; convert or drop it"
        )


def _refused(name: str, kind: object, *, numeric: bool) -> ValueError:
    what = "numbers" if numeric else "text, numbers or booleans"
    return ValueError(f"{name} must hold {what}, its type is {kind}; convert it first")


def _array_of(data: Any, name: str) -> Any:
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
        raise TypeError(
            f"{name} must be an array, a list or a data frame, got {type(data).__name__}"
        )
    return array


def _numbers(array: Any) -> Floats:
    """An array of numbers or objects as doubles; masked cells are missing."""
    cells = np.asarray(array)
    values = numbers_among(cells) if cells.dtype == object else np.asarray(cells, dtype=np.float64)
    if isinstance(array, np.ma.MaskedArray):
        values = np.where(np.ma.getmaskarray(array), np.nan, values)
    return np.asarray(values, dtype=np.float64)


def _of_rows(rows: Sequence[Any], width: int) -> Floats:
    """Rows of any kind; one of another length, or of another type, is a row without numbers."""
    flat = [cell for row in rows for cell in _cells(row, width)]
    return numbers_among(np.fromiter(flat, dtype=object, count=len(flat)).reshape(len(rows), width))


def _length(row: Any) -> int | None:
    """How many cells a row has; None if it is none.  A cell may lie about its class."""
    if issubclass(type(row), np.ndarray):
        return len(row) if row.ndim else None
    return len(row) if issubclass(type(row), (list, tuple)) else None


def _cells(row: Any, width: int) -> Sequence[Any]:
    empty = [None] * width
    try:
        if isinstance(row, np.ndarray):
            fits = row.ndim == 1 and row.dtype.kind in "iufbO"
            cells = list(row) if fits else empty
        elif isinstance(row, (list, tuple)):
            cells = list(row)
        else:
            cells = [row] if width == 1 else empty
    except Exception:  # of a type of its own; whatever it says may show the record
        return empty
    return cells if len(cells) == width else empty


def _of_pandas(frame: Any) -> Floats:
    if all(isinstance(kind, np.dtype) and kind.kind in "iufb" for kind in frame.dtypes):
        return np.asarray(frame.to_numpy(dtype=np.float64))
    columns = [frame.iloc[:, place] for place in range(frame.shape[1])]
    return _stacked(list(map(_pandas_numbers, columns)), frame.columns, frame, len(frame))


def _stacked(columns: Sequence[Any], names: Sequence[Any], frame: Any, rows: int) -> Floats:
    """Columns beside each other; None stands for one whose type holds no numbers."""
    out = np.empty((rows, len(columns)))
    for place, (cells, name) in enumerate(zip(columns, names, strict=True)):
        if cells is None:
            kinds = frame.schema.types if _is_a(frame, "pyarrow.Table") else frame.dtypes
            _check_kind(list(kinds)[place], name)
        out[:, place] = cells
    return out


def _pandas_numbers(column: Any) -> Floats | None:
    """A column of a type of numbers, or of Python objects, as doubles."""
    kind = column.dtype
    if isinstance(kind, np.dtype) and kind.kind == "O":
        return np.asarray(numbers_among(column.to_numpy()), dtype=np.float64)
    if kind.kind in "iufb":
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    arrow = getattr(kind, "pyarrow_dtype", None)
    if arrow is None or not _arrow_number(arrow):
        return None
    import pyarrow as pa

    return numbers_of(pa.array(column, from_pandas=True), str(column.name))


def _of_polars(column: Any) -> Floats | None:
    import polars as pl

    if column.dtype == pl.Object:
        return np.asarray(numbers_among(_objects(column)), dtype=np.float64)
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return np.asarray(column.cast(pl.Float64, strict=False).to_numpy(), dtype=np.float64)
    return None


def _of_arrow(column: Any, name: str) -> Floats | None:
    if not _arrow_number(column.type):
        return None
    chunks = column.chunks if _is_a(column, "pyarrow.ChunkedArray") else [column]
    return np.concatenate([np.empty(0), *(numbers_of(chunk, name) for chunk in chunks)])


def _arrow_number(kind: Any) -> bool:
    import pyarrow as pa

    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(test(kind) for test in tests)


def _series(y: Any) -> tuple[Floats | None, Callable[[Any], Any] | None]:
    """A line's numbers if its type holds some, or else how to read its cells, if they may be."""
    if _is_a(y, "polars.Series"):
        import polars as pl

        if y.dtype == pl.Object:
            return None, _objects
        words = y.dtype in (pl.String, pl.Categorical, pl.Enum)
        return _of_polars(y), _words if words else None
    if _is_a(y, *_ARROW):
        return _of_arrow(y, "y"), _arrow_words(y.type)
    kind = y.dtype
    if isinstance(kind, np.dtype) and kind.kind == "O":
        return None, _objects
    words = getattr(kind, "type", None) is str or str(kind) == "category"
    return _pandas_numbers(y), _words if words else None


def _objects(cells: Any) -> Any:
    """Cells of Python objects, as they are."""
    return np.fromiter(cells, dtype=object, count=len(cells))


def _bare(cell: Any) -> Any:
    """An answer, or the only one of a row; a cell may lie about its class, and raise an error."""
    return cell[0] if issubclass(type(cell), (list, tuple)) and len(cell) == 1 else cell


def _words(cells: Any) -> Any:
    """Cells of a type of text or categories."""
    return _objects(cells)


def _arrow_words(kind: Any) -> Callable[[Any], Any] | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    coded = pa.types.is_dictionary(kind)
    held = kind.value_type if coded else kind
    if not (pa.types.is_string(held) or pa.types.is_large_string(held)):
        return None

    def read(column: Any) -> Any:
        plain = column.dictionary_decode() if coded else column
        words = pc.cast(plain, pa.large_binary()).to_pylist()  # bytes that are no text raise
        return _objects([w if w is None else w.decode("utf-8", "surrogateescape") for w in words])

    return read


def _plain(cells: Any, numeric: bool) -> Any:
    """Objects as doubles, or as plain text and numbers without methods of their own."""
    if numeric:
        return numbers_among(cells)
    flat = [_label(cell) for cell in cells.reshape(-1)]
    return np.fromiter(flat, dtype=object, count=len(flat)).reshape(cells.shape)


def _label(cell: Any) -> Any:
    kind = type(cell)
    if issubclass(kind, np.timedelta64):  # which NumPy counts among whole numbers
        return None
    if kind in (str, bool, int, float, Decimal, Fraction) or issubclass(kind, np.number | np.bool_):
        return cell
    for plain in (str, int, float):
        if issubclass(kind, plain):  # NumPy's text, words of an Enum, or anybody's
            return getattr(plain, f"__{plain.__name__}__")(cell)
    return None
