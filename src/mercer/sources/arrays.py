"""Rows and answers that callers hand in from memory, as arrays.  Left of the door, but for `own_codes`.

scikit-learn's own checks raise an error for one odd cell, and some of them print the records.
Here the type of a container, its names and its axes are public and are refused in words of our
own; cells are read one by one, and what is not a number is missing (M18).  The rows that a
recipient of a release brings along are nobody's records: of those, what does not fit is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.columns.table import Domain
from mercer.common.checks import Floats
from mercer.sources.cells import reader_of
from mercer.sources.frames import (
    ARROW,
    SERIES,
    array_in,
    codes_of,
    first_column,
    in_rows,
    is_a,
    is_frame,
    numbers_among,
)

__all__ = ["labels_of", "listed_labels", "matrix_of", "own_codes", "width_of"]


def width_of(rows: Sequence[Any]) -> int:
    """Number of cells in each row of a recipient's list; an error if rows differ in it."""
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
    array = _array_of(X, "X")
    _check_type(array.dtype)
    _check_axes(array.shape)
    return numbers_among(array)


@np.errstate(all="ignore")
def labels_of(y: Any, *, numeric: bool, name: str = "y") -> NDArray[Any]:
    """Answers as an array of doubles, or of plain text and numbers, with None for any other object.

    The array has the shape of y.  With `numeric` answers are numbers, and a type of text is refused.
    """
    if isinstance(y, (list, tuple, range)):
        return _plain(listed_labels(y), numeric)
    if is_frame(y):
        if y.shape[1] != 1:
            return np.empty(y.shape)  # which is an error of whoever looks at the axes
        return labels_of(first_column(y), numeric=numeric, name=name)[:, None]
    if is_a(y, *SERIES):
        return _of_series(y, numeric, name)
    array = _array_of(y, name)
    if array.dtype.kind not in ("iufbO" if numeric else "iufbOUS"):
        raise _refused(name, array.dtype, numeric=numeric)
    if array.dtype.kind in "OUS":
        cells = np.array(array, dtype=object)
        if isinstance(array, np.ma.MaskedArray):
            cells[np.ma.getmaskarray(array)] = None
        return _plain(cells, numeric)
    return numbers_among(array) if isinstance(array, np.ma.MaskedArray) else array


def listed_labels(y: Sequence[Any]) -> NDArray[Any]:
    """Answers of a list as an array of Python objects; one that is alone in a row is taken out of it."""
    return _objects([_bare(cell) for cell in y])


def own_codes(rows: object, domain: Domain) -> Floats:
    """Codes, shape (rows, columns), of a recipient's data frame, Arrow table, mapping, list or array.

    Numbers outside the bounds are clipped, as those of the records were.
    """
    columns = _own_columns(rows, domain)
    lengths = {len(values) for values in columns}
    if len(lengths) != 1 or lengths == {0}:
        raise ValueError("rows must be one or more, with as many values in every column")
    coded = [
        codes_of(cells, reader_of(column)) for column, cells in zip(domain.columns, columns, strict=True)
    ]
    for column, codes in zip(domain.columns, coded, strict=True):
        if lost := int(np.sum(np.isnan(codes))):
            raise ValueError(
                f"rows: column {column.name!r} has {lost} value(s) that do not fit "
                f"({column.describe()}); leave those rows out"
            )
    return np.stack(coded, axis=1)


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
            f"X must hold numbers in every column, got {where}of type {_shown_type(kind)}; convert or drop it"
        )


def _of_rows(rows: Sequence[Any], width: int) -> Floats:
    """Rows of any kind; one of another length, or of another type, is a row without numbers."""
    columns = in_rows(rows, [f"x{place}" for place in range(width)], None)
    out = np.empty((len(rows), width))
    for place, cells in enumerate(columns):
        out[:, place] = numbers_among(cells)
    return out


def _length(row: Any) -> int | None:
    """How many cells a row has; None if it is no row.  An object may lie about its class."""
    if issubclass(type(row), np.ndarray):
        return len(row) if row.ndim else None
    return len(row) if issubclass(type(row), (list, tuple)) else None


def _of_frame(frame: Any) -> Floats:
    """A data frame or an Arrow table of numbers as doubles, shape (rows, columns)."""
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
        cells = _column_numbers(columns[place], name)
        if cells is None:
            _check_type(kinds[place], name)
        out[:, place] = cells
    return out


def _shown_type(kind: Any) -> str:
    """A type without the length of the longest text, which is one record's."""
    return "text" if isinstance(kind, np.dtype) and kind.kind in "US" else str(kind)


def _array_of(data: object, name: str) -> NDArray[Any]:
    """The array in anything that says by its type that it is one; TypeError for anything else."""
    if any(c.__module__.startswith("scipy.sparse") for c in type(data).__mro__):
        raise TypeError(f"{name} must be dense, got a sparse {type(data).__name__}; use .toarray()")
    array = array_in(data)
    if array is None:
        raise TypeError(f"{name} must be an array, a list or a data frame, got {type(data).__name__}")
    return array


def _column_numbers(column: Any, name: object) -> Floats | None:
    """A column of a type of numbers, or of Python objects, as doubles; None if of another type."""
    if str(getattr(column, "dtype", "")) == "category":
        return None
    try:
        return numbers_among(column, str(name))
    except TypeError:
        return None


def _refused(name: str, kind: object, *, numeric: bool) -> ValueError:
    what = "numbers" if numeric else "text, numbers or booleans"
    return ValueError(f"{name} must hold {what}, its type is {_shown_type(kind)}; convert it first")


def _of_series(y: Any, numeric: bool, name: str) -> NDArray[Any]:
    """Answers in a column of pandas, polars or Arrow, whose type says how it is read."""
    kind = y.type if is_a(y, *ARROW) else y.dtype
    if str(kind).lower() == "object":
        return _plain(_objects(y), numeric)
    numbers = _column_numbers(y, name)
    if numbers is not None:
        return numbers
    words = None if numeric else _words(y, kind)
    if words is None:
        raise _refused(name, kind, numeric=numeric)
    return _plain(_objects(words), numeric)


def _words(y: Any, kind: Any) -> Any:
    """Cells of a type of text or of categories; None of another type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if is_a(y, *ARROW):
        y = y.dictionary_decode() if pa.types.is_dictionary(kind) else y
        if not (pa.types.is_string(y.type) or pa.types.is_large_string(y.type)):
            return None
        words = pc.cast(y, pa.large_binary()).to_pylist()  # bytes that are no text would raise
        return [w if w is None else w.decode("utf-8", "surrogateescape") for w in words]
    if is_a(y, "polars.Series"):
        return y if str(kind).split("(")[0] in ("String", "Categorical", "Enum") else None
    return y if getattr(kind, "type", None) is str or str(kind) == "category" else None


def _objects(cells: Any) -> NDArray[Any]:
    """An array of Python objects, each as it is."""
    return np.fromiter(cells, dtype=object, count=len(cells))


def _bare(cell: Any) -> Any:
    """An answer, or the only one of a row; a cell may lie about its class, and raise an error."""
    try:
        return cell[0] if issubclass(type(cell), (list, tuple)) and len(cell) == 1 else cell
    except Exception:
        return None


def _plain(cells: NDArray[Any], numeric: bool) -> NDArray[Any]:
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


def _own_columns(rows: Any, domain: Domain) -> list[Any]:
    """Cells by column of a recipient's rows, in the order of the domain."""
    if isinstance(rows, np.ndarray):
        if rows.ndim != 2 or rows.shape[1] != domain.dimension:
            raise ValueError(
                f"rows must have {domain.dimension} columns ({', '.join(domain.names)}), got shape "
                f"{rows.shape}"
            )
        return list(rows.T)
    listed = isinstance(rows, (list, tuple)) and rows
    sequences = listed and all(isinstance(row, (list, tuple)) for row in rows)
    if sequences and any(len(row) != domain.dimension for row in rows):
        raise ValueError(f"rows must have {domain.dimension} values each")
    if sequences or (listed and all(isinstance(row, Mapping) for row in rows)):
        return in_rows(rows, domain.names, None)
    present: Sequence[Any]
    if is_a(rows, "pyarrow.Table", "pyarrow.RecordBatch"):
        present = rows.schema.names
    elif is_a(rows, "pandas.DataFrame", "polars.DataFrame"):
        present = list(rows.columns)
    elif isinstance(rows, Mapping):
        present = list(rows)
    else:
        raise TypeError(
            "rows must be a data frame, an Arrow table, an array, or a list of records; got "
            f"{type(rows).__name__}"
        )
    missing = [name for name in domain.names if name not in present]
    if missing:
        raise ValueError(f"rows: there is no column {missing[0]!r}; there are {', '.join(map(str, present))}")
    return [rows[name] for name in domain.names]
