"""What all columns of a table have: codes of cells and where they lie.

A cell is one float64 code: the number itself (numeric, integer), the place of its level (ordered,
categorical, boolean) or days since 1970-01-01 (date).  NaN is a cell that does not fit.
Everything here is public: the sensitive side reads cells by it, a release is written by it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.common.checks import Bools, Floats

__all__ = ["Column"]


@dataclass(frozen=True)
class Column(ABC):
    """A named column: which cells there may be, and where they lie."""

    name: str

    kind: ClassVar[str]
    continuous: ClassVar[bool] = False  # any number between its ends
    numeric: ClassVar[bool] = True  # has a position on a line

    @property
    @abstractmethod
    def ends(self) -> tuple[float, float]:
        """The least and the greatest code."""

    @abstractmethod
    def describe(self) -> str:
        """`age in [0, 100]`."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Name, type and parameters, as JSON holds them."""

    @abstractmethod
    def _value(self, code: float) -> Any:
        """A valid code as a value of Python's."""

    @abstractmethod
    def _arrow(self, codes: Floats, missing: Bools) -> Any:
        """Valid codes as an Arrow array."""

    @property
    def levels_count(self) -> int | None:
        """Number of distinct values; None of a continuous column."""
        low, high = self.ends
        return None if self.continuous else int(high) - int(low) + 1

    @property
    def width(self) -> int:
        """Coordinates that `embed` gives it."""
        count = self.levels_count
        return 1 if self.numeric or count is None or count <= 2 else count

    def embed(self, codes: Floats) -> Floats:
        """Codes as points, shape (n, width); NaN in all coordinates of a cell that does not fit.

        A numeric column: its position in [0, 1].  Others: squared distance 2 between any two
        levels; 0 or sqrt(2) for two of them, else one coordinate a level.
        """
        codes = np.asarray(codes, dtype=np.float64)
        low, high = self.ends
        if high == low:
            return np.where(np.isnan(codes), np.nan, 0.0)[:, None]
        if self.numeric:
            return np.clip((codes - low) / (high - low), 0.0, 1.0)[:, None]
        if self.width == 1:
            return (math.sqrt(2) * self.snap(codes))[:, None]
        missing = np.isnan(codes)
        places = self.snap(np.where(missing, 0.0, codes)).astype(np.intp)
        points = np.zeros((codes.size, self.width))
        points[np.arange(codes.size), places] = 1.0
        points[missing] = np.nan
        return points

    def from_unit(self, u: Floats) -> Floats:
        """Uniform numbers in [0, 1] as codes, all equally often."""
        low, high = self.ends
        count = self.levels_count
        if count is None:
            return np.clip(low + u * (high - low), low, high)
        return low + np.clip(np.floor(u * count), 0.0, count - 1.0)

    def snap(self, codes: Floats) -> Floats:
        """The nearest valid codes; NaN stays."""
        return np.clip(codes if self.continuous else np.rint(codes), *self.ends)

    def values(self, codes: Floats) -> list[Any]:
        """Values for people; None for NaN."""
        plain = self.snap(np.asarray(codes, dtype=np.float64)).tolist()
        return [None if code != code else self._value(code) for code in plain]

    def arrow(self, codes: Floats) -> Any:
        """An Arrow array of the column's type; null for NaN."""
        codes = self.snap(np.asarray(codes, dtype=np.float64))
        missing = np.isnan(codes)
        return self._arrow(np.where(missing, self.ends[0], codes), missing)

    def _set(self, **fields: object) -> None:
        """Put what was declared in its usual form; only while it is made."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)
