"""Where the points of a reduced set may lie, and what is found there.  M10.

A point is a row of codes, one number a column: a measurement, a level, a category.  A `Space`
knows how codes become coordinates of unit length scale, and which of them may move.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from mercer.common.checks import Floats

__all__ = ["Reduced", "Space"]


@dataclass(frozen=True, eq=False)
class Space:
    """Rows of codes, described by public functions of them.

    A free column k embeds affinely: coordinate `place[k]` is (code - lower[k]) * slope[k].
    The other columns only ever take values that `draw` gave.
    """

    embed: Callable[[Floats], Floats]  # codes (n, C) to coordinates (n, D)
    draw: Callable[[int], Floats]  # n space-filling public rows; the same at every call
    snap: Callable[[Floats], Floats]  # to the nearest valid codes
    free: tuple[int, ...] = ()  # columns whose codes may move continuously
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    slope: tuple[float, ...] = ()
    place: tuple[int, ...] = ()
    step: tuple[float, ...] = field(default=())  # between levels; 0 or left out: none

    def __post_init__(self) -> None:
        count = len(self.free)
        for name in ("lower", "upper", "slope", "place"):
            if len(getattr(self, name)) != count:
                raise ValueError(
                    f"{name} must have one entry for each of the {count} free columns, got "
                    f"{len(getattr(self, name))}; give free, lower, upper, slope and place alike"
                )
        if len(self.step) not in (0, count):
            raise ValueError(
                f"step must be empty or have one entry for each of the {count} free columns, got "
                f"{len(self.step)}; write 0 for a column without levels"
            )
        if len(set(self.free)) < count or len(set(self.place)) < count:
            raise ValueError(
                f"free and place must not repeat a column, got {self.free!r} and {self.place!r}; "
                "each free column has a coordinate of its own"
            )
        for k in range(count):
            low, high, slope = self.lower[k], self.upper[k], self.slope[k]
            if not (math.isfinite(low) and math.isfinite(high) and low <= high):
                raise ValueError(
                    f"lower and upper of free column {self.free[k]} must be finite and in order, "
                    f"got {low!r} and {high!r}"
                )
            if not (math.isfinite(slope) and slope > 0):
                raise ValueError(
                    f"slope of free column {self.free[k]} must be a finite number above 0, got "
                    f"{slope!r}; leave a column that does not move out of free"
                )

    def within(self, codes: Floats) -> Floats:
        """Free codes cut to their bounds."""
        out = codes.copy()
        for k, column in enumerate(self.free):
            out[:, column] = np.clip(out[:, column], self.lower[k], self.upper[k])
        return out

    def shifted(self, codes: Floats, moves: Floats) -> Floats:
        """Codes whose free coordinates moved, one column of moves each."""
        out = codes.copy()
        for k, column in enumerate(self.free):
            out[:, column] += moves[:, k] / self.slope[k]
        return self.within(out)

    def levels(self, k: int) -> float:
        """The distance of levels of the k-th free column, 0 for none."""
        return self.step[k] if self.step else 0.0


@dataclass(frozen=True, eq=False)
class Reduced:
    """Points and weights whose mean feature is near a target."""

    codes: Floats  # at most as many rows as were asked for; none has weight 0
    weights: Floats
    distance: float  # |sum w phi(z) - c| at these very numbers
    history: tuple[tuple[int, float], ...]  # points and distance after each stage
    level: bool = False  # equal weights of public points: nothing of the target was left
