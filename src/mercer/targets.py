"""What a machine learns to predict: a column or an array as numbers.  Layer 2, left of the door.

Classes and bounds are declared, so they are public; what does not fit them is missing (NaN) or
clipped, and no message depends on a value (M18).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.checks import Floats
from mercer.domain import Domain
from mercer.tables import numbers_among, numbers_of

__all__ = ["Classes", "Response", "Target"]

_MOST_CLASSES = 64


class Target(ABC):
    """How answers become numbers."""

    @abstractmethod
    def check(self, kind: str, *, numeric: bool) -> None:
        """Refuse a declared type, which is public, that no answer of could fit."""

    @abstractmethod
    def of_array(self, values: Any) -> Floats:
        """Numbers for an array of answers; NaN where one does not fit."""

    @abstractmethod
    def of_column(self, column: Any, name: str) -> Floats:
        """The same for an Arrow column."""


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

    def check(self, kind: str, *, numeric: bool) -> None:
        if not numeric:
            raise TypeError(f"y must be numbers, its type is {kind}; convert it first")

    def of_array(self, values: Any) -> Floats:
        if values.dtype.kind not in "iufb":
            values = numbers_among(values.astype(object))
        return self._scaled(np.asarray(values, dtype=np.float64))

    def of_column(self, column: Any, name: str) -> Floats:
        self.check(f"{column.type} (column {name!r})", numeric=_is_numeric(column.type, text=True))
        return self._scaled(numbers_of(column, name))

    def _scaled(self, values: Floats) -> Floats:
        half = (self.upper - self.lower) / 2
        scaled = np.clip((values - self.lower) / half - 1, -1.0, 1.0)
        return np.where(np.isfinite(values), scaled, np.nan)


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
        if len(set(map(str, names))) < len(names) or len(set(names)) < len(names):
            raise ValueError(f"classes must be different, got {list(names)}")
        if not 2 <= len(names) <= _MOST_CLASSES:
            raise ValueError(
                f"classes must be 2 to {_MOST_CLASSES}, got {len(names)}; declare all that can "
                "occur"
            )
        return cls(names)

    def check(self, kind: str, *, numeric: bool) -> None:
        if numeric and all(isinstance(c, str) for c in self.names):
            raise TypeError(
                f"classes are text and the type of y is {kind}: no row could have one of them; "
                "declare the classes as they stand in y, for example classes=(0, 1)"
            )

    def of_array(self, values: Any) -> Floats:
        out = np.full(len(values), np.nan)
        plain = values.dtype.kind in "iufb"
        for place, name in enumerate(self.names):
            if plain:
                number = _number(name)
                if number is not None:
                    out[values == number] = place
            else:
                same = [_same(value, name) for value in values.tolist()]
                out[np.array(same, dtype=bool)] = place
        return out

    def of_column(self, column: Any, name: str) -> Floats:
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = column.type
        if pa.types.is_dictionary(kind):
            column = column.dictionary_decode()
            kind = column.type
        text = any(f(kind) for f in (pa.types.is_binary, pa.types.is_string, pa.types.is_large_string, pa.types.is_large_binary))  # fmt: skip  # noqa: E501
        if not text:
            if not _is_numeric(kind, text=False):
                raise TypeError(f"y {name!r} must be text or numbers, its type is {kind}")
            self.check(f"{kind} (column {name!r})", numeric=True)
            return self.of_array(numbers_of(column, name))
        bare = pc.cast(column, pa.large_binary())
        spelt = [(word, place) for place, c in enumerate(self.names) for word in _spellings(c)]
        known = pa.array([word.encode() for word, _ in spelt], pa.large_binary())
        found = pc.index_in(bare, value_set=known).to_numpy(zero_copy_only=False)
        found = np.asarray(found, dtype=np.float64)
        places = np.array([place for _, place in spelt], dtype=np.float64)
        out = np.where(np.isnan(found), np.nan, places[np.nan_to_num(found).astype(int)])
        if pa.types.is_binary(kind) and any(_number(c) is not None for c in self.names):
            numeric = self.of_array(numbers_of(column, name))  # "1.0" in a CSV file is the class 1
            out = np.where(np.isnan(out), numeric, out)
        return out


def _number(name: object) -> float | None:
    """A class that is a number."""
    if isinstance(name, (bool, int, float, np.integer, np.floating, np.bool_)):
        try:
            return float(name)
        except OverflowError:  # a whole number beyond all doubles is no class
            return None
    return None


def _spellings(name: object) -> tuple[str, ...]:
    """How a class may stand in a text."""
    return (str(name), str(name).lower(), str(name).upper()) if isinstance(name, bool) else (str(name),)  # fmt: skip  # noqa: E501


def _same(value: object, name: object) -> bool:
    if isinstance(value, str):
        return value in _spellings(name)
    one = _number(value)
    return one is not None and one == _number(name)


def _is_numeric(kind: Any, *, text: bool) -> bool:
    """Whether an Arrow type holds numbers; a CSV file's columns are bytes and may."""
    import pyarrow as pa

    tests = [pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean]
    tests += [pa.types.is_null, *([pa.types.is_binary] if text else [])]
    return any(test(kind) for test in tests)
