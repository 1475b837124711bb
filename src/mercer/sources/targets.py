"""What a machine learns to predict: a column or an array as numbers.  Left of the door.

Classes and bounds are declared, so they are public; what does not fit them is missing (NaN) or
clipped, and no message depends on a value (M18).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.columns.domain import Domain
from mercer.columns.kinds import Categorical, Numeric
from mercer.columns.reading import Reading
from mercer.common.checks import Floats
from mercer.sources.cells import Numbers, Reader
from mercer.sources.levels import Levels

__all__ = ["Classes", "Response", "Target"]

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
