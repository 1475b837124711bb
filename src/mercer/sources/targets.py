"""What a machine learns to predict: a column or an array as numbers.  Left of the door.

Classes and bounds are declared, so they are public; what does not fit them is missing (NaN) or
clipped, and no message depends on a value (M18).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from mercer.columns.domain import Domain
from mercer.columns.kinds import Categorical, Numeric
from mercer.columns.reading import Reading
from mercer.common.checks import Floats
from mercer.sources.cells import Levels, Numbers, Reader
from mercer.sources.frames import ARROW, SERIES, is_a, numbers_among
from mercer.sources.matrices import array_of, column_numbers, is_frame, shown_type

__all__ = ["Classes", "Response", "Target", "labels_of"]

_MOST_CLASSES = 64


class Target(ABC):
    """How answers become numbers: cells are read as those of any column, and then scaled."""

    @abstractmethod
    def reader(self, name: str, reading: Reading) -> Reader:
        """The reader of a column of answers."""

    @abstractmethod
    def finish(self, codes: Floats) -> Floats:
        """Numbers for the codes that were read; NaN where an answer does not fit."""


@dataclass(frozen=True)
class Response(Target):
    """A number, clipped to public bounds and scaled to [-1, 1]."""

    lower: float
    upper: float

    @classmethod
    def declared(cls, y_bounds: object) -> Response:
        """Check what a caller gave."""
        if y_bounds is None:
            raise ValueError(
                "y_bounds is missing: the range of the response is public and cannot be read from "
                "the data; give (lower, upper)"
            )
        try:
            return cls(*Domain.of(y_bounds, ("y",)).bounds[0])
        except (TypeError, ValueError) as error:
            raise type(error)(f"y_bounds: {error}") from None

    def reader(self, name: str, reading: Reading) -> Reader:
        return Numbers(Numeric(name, self.lower, self.upper), reading.of_column(name))

    def finish(self, codes: Floats) -> Floats:
        half = (self.upper - self.lower) / 2
        return np.clip((codes - self.lower) / half - 1, -1.0, 1.0)


@dataclass(frozen=True)
class Classes(Target):
    """The number of the class among those declared."""

    names: tuple[Any, ...]

    @classmethod
    def declared(cls, classes: object) -> Classes:
        """Check what a caller gave."""
        if classes is None:
            raise ValueError(
                "classes is missing: which classes there are is public and cannot be read from the "
                "data; declare them, for example classes=('healthy', 'ill')"
            )
        if isinstance(classes, str) or not isinstance(classes, (Sequence, np.ndarray)):
            raise TypeError(f"classes must be a list of classes, got {type(classes).__name__}")
        names = tuple(c.item() if isinstance(c, np.generic) else c for c in classes)
        if not all(isinstance(c, (str, int, float)) for c in names):
            raise TypeError("classes must be text, whole numbers, numbers or True and False")
        if not all(isinstance(c, str) or abs(c) <= 2**53 for c in names):  # nor NaN
            raise ValueError("classes that are numbers must be finite and at most 2^53")
        names = tuple(c.strip() if isinstance(c, str) else c for c in names)
        if "" in names:
            raise ValueError("classes must not be empty text: an empty cell is a missing one")
        if len(set(map(str, names))) < len(names) or len(set(names)) < len(names):
            raise ValueError(f"classes must be different, got {list(names)}")
        if not 2 <= len(names) <= _MOST_CLASSES:
            raise ValueError(
                f"classes must be 2 to {_MOST_CLASSES}, got {len(names)}; declare all that can occur"
            )
        Levels(Categorical("y", tuple(map(str, names))), names, None)  # which tells them apart
        return cls(names)

    def reader(self, name: str, reading: Reading) -> Reader:
        column = Categorical(name, tuple(map(str, self.names)))
        return Levels(column, self.names, None, reading.of_column(name))

    def finish(self, codes: Floats) -> Floats:
        return codes


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
    return numbers_among(array) if isinstance(array, np.ma.MaskedArray) else array


def _refused(name: str, kind: object, *, numeric: bool) -> ValueError:
    what = "numbers" if numeric else "text, numbers or booleans"
    return ValueError(f"{name} must hold {what}, its type is {shown_type(kind)}; convert it first")


def _of_series(y: Any, numeric: bool, name: str) -> Any:
    """A line of another library's: its type says how it is read."""
    kind = y.type if is_a(y, *ARROW) else y.dtype
    if str(kind).lower() == "object":
        return _plain(_objects(y), numeric)
    numbers = column_numbers(y, name)
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


def _objects(cells: Any) -> Any:
    """Cells of Python objects, as they are."""
    return np.fromiter(cells, dtype=object, count=len(cells))


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
