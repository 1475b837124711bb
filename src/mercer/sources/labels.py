"""Answers that an estimator is handed, as numbers or plain labels.  Left of the door.

The type and the axes of y are public; what one cell of it is changes nothing that is shown (M18).
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from mercer.sources.cells import numbers_among
from mercer.sources.matrices import is_frame
from mercer.sources.typed import (
    ARROW,
    SERIES,
    array_of,
    column_numbers,
    is_a,
    numbers_in,
    objects_of,
    shown_type,
)

__all__ = ["labels_of"]


@np.errstate(all="ignore")
def labels_of(y: Any, *, numeric: bool, name: str = "y") -> Any:
    """Answers as an array of doubles, or of plain text and numbers, None where there is neither.

    It has the axes of y.  `numeric`: answers are numbers, so a type of text is refused.
    """
    if isinstance(y, (list, tuple, range)):
        return _plain(objects_of([_bare(cell) for cell in y]), numeric)
    if is_frame(y):
        if y.shape[1] != 1:
            return np.empty(y.shape)  # which is an error of whoever looks at the axes
        pandas = is_a(y, "pandas.DataFrame")
        only = y.iloc[:, 0] if pandas else y[y.columns[0]] if is_a(y, "polars.DataFrame") else y[0]
        return labels_of(only, numeric=numeric, name=name)[:, None]
    if is_a(y, *SERIES):
        return _of_series(y, numeric, name)
    array = array_of(y, name)
    if array.dtype.kind not in ("iufbO" if numeric else "iufbOUS"):
        raise _refused(name, array.dtype, numeric=numeric)
    if array.dtype.kind in "OUS":
        cells = np.array(array, dtype=object)
        if isinstance(array, np.ma.MaskedArray):
            cells[np.ma.getmaskarray(array)] = None
        return _plain(cells, numeric)
    return numbers_in(array) if isinstance(array, np.ma.MaskedArray) else array


def _refused(name: str, kind: object, *, numeric: bool) -> ValueError:
    what = "numbers" if numeric else "text, numbers or booleans"
    return ValueError(f"{name} must hold {what}, its type is {shown_type(kind)}; convert it first")


def _of_series(y: Any, numeric: bool, name: str) -> Any:
    """A line of another library's: its type says how it is read."""
    if is_a(y, "pandas.ExtensionArray"):
        import pandas as pd

        y = pd.Series(y)
    kind = y.type if is_a(y, *ARROW) else y.dtype
    if str(kind).lower() == "object":
        return _plain(objects_of(y), numeric)
    numbers = column_numbers(y, name)
    if numbers is not None:
        return numbers
    words = None if numeric else _words(y, kind)
    if words is None:
        raise _refused(name, kind, numeric=numeric)
    return _plain(words, numeric)


def _words(y: Any, kind: Any) -> Any:
    """Cells of a type of text or of categories; None of another type."""
    if is_a(y, "polars.Series"):
        import polars as pl

        return objects_of(y) if kind in (pl.String, pl.Categorical, pl.Enum) else None
    if is_a(y, *ARROW):
        return _arrow_words(y)
    text = getattr(kind, "type", None) is str or str(kind) == "category"
    return objects_of(y) if text else None


def _arrow_words(column: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return None
    words = pc.cast(column, pa.large_binary()).to_pylist()  # bytes that are no text would raise
    return objects_of([w if w is None else w.decode("utf-8", "surrogateescape") for w in words])


def _bare(cell: Any) -> Any:
    """An answer, or the only one of a row; a cell may lie about its class, and raise an error."""
    try:
        return cell[0] if issubclass(type(cell), (list, tuple)) and len(cell) == 1 else cell
    except Exception:
        return None


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
