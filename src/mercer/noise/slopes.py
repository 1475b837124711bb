"""How far one record moves the slope of an objective: corners of the range of the loss's slopes.  M8."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Slopes", "corners", "reach"]


@dataclass(frozen=True)
class Slopes:
    """Of one machine: the range of its loss's slope, times kappa."""

    low: float
    high: float


def corners(slopes: Slopes) -> list[float]:
    """Bounds on |v| at the four corners of (c, c').

    Slopes of one sign for all: 0, one row alone twice, both together.  If low = -high, the corners
    are +-(phi - phi') and +-(phi + phi'), whose squares add up to 4: one pair is below sqrt(2).
    """
    low, high = abs(slopes.low), abs(slopes.high)
    if slopes.low == -slopes.high:
        return [2 * high, 2 * high, math.sqrt(2) * high, math.sqrt(2) * high]
    return [one + other for one, other in itertools.product((low, high), repeat=2)]


def reach(machines: Sequence[Slopes]) -> float:
    """The largest |v| of all machines together."""
    return math.sqrt(sum(max(corners(slopes)) ** 2 for slopes in machines))
