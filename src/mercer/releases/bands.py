"""Bands and intervals: how far the noise of privacy may have moved a value.  M15.

The noise of a released function is a field on its domain whose law is public.

The release is linear in noisy coordinates, so what privacy adds to it at a point is the noise of the
coordinates, weighed by the values of public functions there.  Every error bar and every band is a
quantile of |noise| over its standard deviation: at a point, or of the supremum over the domain.
A kind of function hands in its field; how the width of a band follows is written here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from mercer.common.checks import Floats

__all__ = ["Band", "Field", "Interval", "order_statistic", "suprema_of"]


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


class Field(ABC):
    """The noise of a function, or of several, at points of the unit cube."""

    @property
    @abstractmethod
    def normal(self) -> bool:
        """Whether the noise at a point has a normal law."""

    @abstractmethod
    def deviation(self, unit: Floats) -> Floats:
        """Standard deviation at points, in the units of the function; several functions last."""

    @abstractmethod
    def suprema(self) -> Floats:
        """Public draws of sup |noise| / deviation over the domain."""

    @abstractmethod
    def width_at(self, unit: Floats, level: float, sd: Floats) -> Floats:
        """Quantile of |noise| at each point, for a law that is not normal."""

    @abstractmethod
    def everywhere(self, level: float) -> float:
        """Quantile of sup |noise| / deviation over the domain."""

    def stretch(self, level: float, unit: Floats | None) -> Floats:
        """How much wider a band must be than for a smoothing fixed beforehand.

        Everywhere at once (None) or at points; one where the smoothing was fixed beforehand.
        """
        del level, unit
        return np.ones(())

    def half_width(self, unit: Floats, level: float, *, simultaneous: bool) -> Floats:
        """What a band of this level reaches to each side, at points or everywhere at once."""
        sd = self.deviation(unit)
        if simultaneous:
            return self.everywhere(level) * self.stretch(level, None) * sd
        width = float(ndtri((1 + level) / 2)) * sd if self.normal else self.width_at(unit, level, sd)
        return width * self.stretch(level, unit)

    @cached_property
    def sorted_suprema(self) -> Floats:
        """The same draws in their order: drawn once."""
        return np.sort(self.suprema())

    def simulated(self, level: float) -> float:
        """Quantile of the simulated suprema; beyond their number the largest."""
        count = self.sorted_suprema.size
        return float(self.sorted_suprema[min(math.ceil((count + 1) * level), count) - 1])


def suprema_of(parts: Iterable[Floats], runs: int) -> Floats:
    """The largest |value| of every draw: parts are (points, runs)."""
    found = np.zeros(runs)
    for part in parts:
        np.maximum(found, np.abs(part).max(axis=0), out=found)
    return found


def order_statistic(values: Floats, level: float) -> Floats:
    """What a further value stays below with this probability, along the first axis.

    The rank (runs + 1) level, rounded up; beyond the largest there is nothing to read off.
    """
    runs = len(values)
    rank = math.ceil((runs + 1) * level * (1 - 1e-12))
    if rank > runs:
        raise ValueError(
            f"level must be at most {runs / (runs + 1):.5g} here, got {level!r}: the width is "
            f"read off {runs} public draws of the noise"
        )
    return np.asarray(np.partition(values, rank - 1, axis=0)[rank - 1])
