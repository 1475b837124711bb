"""The public domain: names and bounds of the columns.  Layer 1.

Everything here is public, on both sides of the door: the sensitive side clips to it, the
release is a function on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.checks import Floats

__all__ = ["MAX_DIMENSION", "MOST_COLUMNS", "Domain"]

MAX_DIMENSION = 3
MOST_COLUMNS = 1024  # of a kernel machine


@dataclass(frozen=True)
class Domain:
    """A box: column `names` and their `bounds`, one (lower, upper) pair each."""

    names: tuple[str, ...]
    bounds: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, bounds: object, names: Sequence[str], most: int = MAX_DIMENSION) -> Domain:
        """Check what a caller gave: (lo, hi) for one column, a pair for each of several."""
        dimension = len(names)
        if dimension > most:
            raise ValueError(
                f"columns must be at most {most}, got {dimension}: noise grows with the "
                "power of the dimension; release the columns of interest two or three at a time"
            )
        if bounds is None:
            raise ValueError(
                "bounds is missing: the domain is public and cannot be read from the data; give "
                "(lower, upper), or one such pair for each column"
            )
        try:
            array = np.asarray(bounds, dtype=float)
        except (TypeError, ValueError):
            raise TypeError(
                "bounds must be (lower, upper) numbers, or one such pair for each column; got "
                f"{type(bounds).__name__}"
            ) from None
        if array.shape == (2,) and dimension == 1:
            array = array[None, :]
        if array.shape != (dimension, 2):
            raise ValueError(
                f"bounds must be one (lower, upper) pair for each of the {dimension} column(s) "
                f"{', '.join(names)}; got shape {array.shape}"
            )
        if not np.all(np.isfinite(array)) or np.any(np.abs(array) > 1e100):
            raise ValueError(f"bounds must be finite, got {array.tolist()}; choose a public range")
        if not np.all(array[:, 0] < array[:, 1]):
            raise ValueError(
                f"bounds must have lower < upper, got {array.tolist()}; exchange the two numbers"
            )
        if np.any(array[:, 1] - array[:, 0] < 1e-12 * np.abs(array).max(axis=1) + 1e-100):
            raise ValueError(
                f"bounds must be further apart than rounding, got {array.tolist()}; shift the data"
            )
        return cls(tuple(names), tuple((float(lo), float(hi)) for lo, hi in array))

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return len(self.names)

    @cached_property
    def lower(self) -> Floats:
        """Lower bounds."""
        return _fixed([lo for lo, _ in self.bounds])

    @cached_property
    def upper(self) -> Floats:
        """Upper bounds."""
        return _fixed([hi for _, hi in self.bounds])

    @cached_property
    def widths(self) -> Floats:
        """Upper minus lower bounds."""
        return _fixed([hi - lo for lo, hi in self.bounds])

    @property
    def volume(self) -> float:
        """Volume of the box."""
        volume = 1.0
        for lo, hi in self.bounds:
            volume *= hi - lo
        return volume

    def points(self, x: object) -> Floats:
        """Public points of evaluation as rows, inside the domain or an error."""
        try:
            array = np.asarray(x, dtype=float)
        except (TypeError, ValueError):
            raise TypeError(f"x must be numbers, got {type(x).__name__}") from None
        d = self.dimension
        if d == 1 and (array.ndim < 2 or array.shape[-1] != 1):
            array = array[..., None]
        if array.ndim == 0 or array.shape[-1] != d:
            raise ValueError(
                f"x must have {d} numbers a point ({', '.join(self.names)}), got an array of "
                f"shape {array.shape}"
            )
        rows = array.reshape(-1, d)
        inside = np.all((rows >= self.lower) & (rows <= self.upper), axis=1)
        if not np.all(inside):
            bad = rows[np.argmin(inside)].tolist()
            raise ValueError(
                f"x must lie in the domain {self.describe()}, got {bad[0] if d == 1 else bad}; "
                "a release says nothing outside its bounds"
            )
        return rows

    def shape(self, x: object) -> tuple[int, ...]:
        """Shape of the values at `x`: its own, less the axis of coordinates."""
        array = np.asarray(x, dtype=float)
        if self.dimension == 1 and (array.ndim < 2 or array.shape[-1] != 1):
            return array.shape
        return array.shape[:-1]

    def to_unit(self, rows: Floats) -> Floats:
        """Rows of the domain in the unit cube."""
        return np.clip((rows - self.lower) / self.widths, 0.0, 1.0)

    def from_unit(self, rows: Floats) -> Floats:
        """Rows of the unit cube in the domain."""
        return np.clip(self.lower + rows * self.widths, self.lower, self.upper)

    def describe(self) -> str:
        """`age in [0, 100], weight in [20, 200]`."""
        return ", ".join(
            f"{name} in [{lo:g}, {hi:g}]"
            for name, (lo, hi) in zip(self.names, self.bounds, strict=True)
        )

    def to_dict(self) -> dict[str, Any]:
        """For a file."""
        return {"columns": list(self.names), "bounds": [list(pair) for pair in self.bounds]}


def _fixed(values: list[float]) -> Floats:
    array = np.array(values)
    array.setflags(write=False)
    return array
