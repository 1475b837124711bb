"""What every release answers with: a value, and how far the noise of privacy may have moved it.  M15."""

from __future__ import annotations

from typing import NamedTuple

from mercer.common.checks import Floats

__all__ = ["Band", "Interval"]


class Band(NamedTuple):
    """Lower and upper ends of an error band, and its level."""

    lower: Floats
    upper: Floats
    level: float


class Interval(NamedTuple):
    """An estimate with the ends of an interval for the noise of privacy."""

    estimate: float
    lower: float
    upper: float
    level: float

    @property
    def value(self) -> float:
        """The estimate: of a functional of a curve, its value at the released curve."""
        return self.estimate
