"""What a machine learns to predict: labels as they are declared, found and made numbers.  Left of the door.

Classes and bounds are declared, so they are public; what does not fit them is missing (NaN) or
clipped, and no message depends on a value (M18).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.columns.domain import Box
from mercer.columns.kinds import Categorical, Numeric
from mercer.columns.reading import Reading
from mercer.common.checks import Floats
from mercer.sensitive.base import Sensitive
from mercer.sources.arrays import listed_labels
from mercer.sources.cells import Levels, Numbers, Reader
from mercer.sources.frames import codes_of, first_column

__all__ = ["Classes", "Labels", "Response", "Target", "targets_of"]

_MOST_CLASSES = 64


class Target(ABC):
    """How labels become numbers: they are read like the cells of any column, and then scaled."""

    @abstractmethod
    def reader(self, name: str, reading: Reading) -> Reader:
        """The reader of a column of labels."""

    @abstractmethod
    def finish(self, codes: Floats) -> Floats:
        """The targets for the codes that were read; NaN where a label does not fit."""


@dataclass(frozen=True)
class Response(Target):
    """A number, clipped to public bounds and scaled to [-1, 1]."""

    lower: float
    upper: float

    @classmethod
    def declared(cls, y_bounds: object) -> Response:
        """The response with the bounds that a caller gave; an error if they are no bounds."""
        if y_bounds is None:
            raise ValueError(
                "y_bounds is missing: the range of the response is public and cannot be read from "
                "the data; give (lower, upper)"
            )
        try:
            return cls(*Box.of(y_bounds, ("y",)).bounds[0])
        except (TypeError, ValueError) as error:
            raise type(error)(f"y_bounds: {error}") from None

    def reader(self, name: str, reading: Reading) -> Reader:
        return Numbers(Numeric(name, self.lower, self.upper), reading.of_column(name))

    def finish(self, codes: Floats) -> Floats:
        half = (self.upper - self.lower) / 2
        return np.clip((codes - self.lower) / half - 1, -1.0, 1.0)


@dataclass(frozen=True)
class Classes(Target):
    """The place of the class among those declared, as a number."""

    names: tuple[Any, ...]

    @classmethod
    def declared(cls, classes: object) -> Classes:
        """The classes that a caller gave; an error unless they can be told apart."""
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


@dataclass(frozen=True, repr=False)
class Labels(Sensitive):
    """The labels that a machine learns from: a column's name, or an array beside the rows.

    Chunks of rows with labels have one column more, the last, of targets.
    """

    values: Any
    target: Target

    @property
    def column(self) -> str | None:
        """The name of the column of labels; None where they are an array."""
        return self.values if isinstance(self.values, str) else None


def targets_of(labels: Labels, rows: int, reading: Reading) -> Floats:
    """Targets for an array of labels, one for each of so many rows."""
    values = _column_in(labels.values)
    try:
        shape = values.shape if isinstance(values, np.ndarray) else (len(values),)
    except TypeError:
        raise TypeError(
            f"y must be one answer for each of the {rows} rows, or the name of a column; got "
            f"{type(values).__name__}"
        ) from None
    if shape != (rows,):
        raise ValueError(
            f"y must be one answer for each of the {rows} rows, got shape {shape}; or the name of a column"
        )
    return labels.target.finish(codes_of(values, labels.target.reader("y", reading)))


def _column_in(values: Any) -> Any:
    """Answers as one column, where they are a list or a table or an array with one column."""
    if isinstance(values, (list, tuple)):
        return listed_labels(values)
    shape = getattr(values, "shape", ())
    if not isinstance(shape, tuple) or len(shape) != 2:
        return values
    if isinstance(values, np.ndarray):
        return values[:, 0] if shape[1] == 1 else values
    if shape[1] != 1:
        raise ValueError(f"y must be one column of answers, got {shape[1]}; name one of them")
    return first_column(values)
