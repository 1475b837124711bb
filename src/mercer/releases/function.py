"""Released functions: noisy coordinates in a public span, with a known law of noise.  M2, M15.

Densities, mean curves, classifiers and regressions are this.  Points, orders of derivatives, standard
errors and bands are treated here for all of them; a kind adds what its function is (a density: what
makes it one; a curve: its functionals; a classifier: its classes).  Right of the door: never sees a
record.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from mercer.columns.domain import Box
from mercer.common.checks import Floats, check_level
from mercer.noise.laws import Law
from mercer.releases.bands import Band, Field
from mercer.releases.base import Release

__all__ = ["NOTHING_LEFT", "Function", "FunctionRelease", "NoisyFunction", "Orders"]

NOTHING_LEFT = 1e-3  # of all coordinates together: smoothing left nothing but what is public
Orders = tuple[int, ...]  # of a derivative, one for each argument


class Function(ABC):
    """A function of points of a box, or several of the same points."""

    domain: Box
    argument: ClassVar[str] = "column"  # the word for what it is a function of

    @abstractmethod
    def _at(self, unit: Floats, orders: Orders) -> Floats:
        """Values or derivatives at rows of the unit cube: (points,) or (points, functions)."""

    def _values(self, x: object, orders: Orders = ()) -> Floats:
        """The same at points of the domain, in their shape."""
        return self._shaped(self._at(self._unit(x), orders or (0,) * self.domain.dimension), x)

    def _unit(self, x: object) -> Floats:
        """Points as rows of the unit cube."""
        return self.domain.to_unit(self.domain.points(x))

    def _shaped(self, value: Floats, x: object) -> Floats:
        """Numbers in the shape of the points they belong to."""
        return value.reshape(self.domain.shape(x))

    def _orders(self, order: int | Orders) -> Orders:
        """One order for each argument; ValueError for what is none."""
        d = self.domain.dimension
        orders: tuple[Any, ...] = (order,) if np.ndim(order) == 0 else tuple(order)  # type: ignore[arg-type]
        if orders == (0,):
            return (0,) * d
        whole = all(isinstance(o, (int, np.integer)) and not isinstance(o, bool) for o in orders)
        if len(orders) != d or not whole or min(orders) < 0:
            raise ValueError(
                f"order must be a whole number >= 0 for each of the {d} {self.argument}(s), got {order!r}"
            )
        return tuple(int(o) for o in orders)

    def _chain(self, orders: Orders) -> float:
        """What a derivative in the unit cube is divided by."""
        return math.prod(w**o for w, o in zip(self.domain.widths, orders, strict=True))


class NoisyFunction(Function):
    """A function whose noise is known: its law is public."""

    @abstractmethod
    def _field(self, orders: Orders = ()) -> Field:
        """What privacy adds to the function, or to a derivative."""

    def standard_error(self, x: object, order: int | Orders = 0) -> Floats:
        """Standard deviation of the noise at each point, or of a derivative's."""
        return self._shaped(self._field(self._orders(order)).deviation(self._unit(x)), x)

    def _band(self, x: object, level: float, orders: Orders = (), *, simultaneous: bool) -> Band:
        """Around the function as released: what a kind makes of a function it makes of both ends."""
        check_level(level)
        width = self._field(orders).half_width(self._unit(x), level, simultaneous=simultaneous)
        centre, width = self._values(x, orders), self._shaped(width, x)
        return Band(centre - width, centre + width, level)


@dataclass(frozen=True, eq=False, repr=False)
class FunctionRelease(Release, NoisyFunction):
    """Noisy coordinates of one function or several, with the law of their noise."""

    domain: Box
    coordinates: Floats
    noise: Law
    _memory: dict[Any, Any] = field(default_factory=dict, init=False)

    @property
    @abstractmethod
    def size(self) -> int:
        """How many coordinates the span has."""

    def __post_init__(self) -> None:
        values = np.array(self.coordinates, dtype=float)
        values.setflags(write=False)
        object.__setattr__(self, "coordinates", values)
        if values.shape != (self.size,) or not np.all(np.isfinite(values)):
            raise ValueError(f"coordinates must be {self.size} finite numbers, got shape {values.shape}")

    def _but(self, *names: str) -> dict[str, Any]:
        """All that it was made of but these: for the same release smoothed in another way (M17)."""
        made = (part.name for part in fields(self) if part.init)
        return {name: getattr(self, name) for name in made if name not in names}

    def _draws(self) -> Floats:
        """Public draws of the coordinates' noise, from a fixed stream: (runs, coordinates)."""
        return self.noise.draws(self.size, np.arange(self.size))
