"""Released functions, and how far the noise of privacy may have moved their values.  M2, M15.

A released function is noisy coordinates in a public span, with a known law of noise: a density, a mean
curve, a classifier, a regression.  Points, orders of derivatives, standard errors and bands are treated
here for all of them; a kind adds what its function is (a density: what makes it one; a curve: its
functionals; a classifier: its classes).  Right of the door: never sees a record.

The release is linear in noisy coordinates, so what privacy adds to it at a point is the noise of the
coordinates, weighed by the values of public functions there: a field on the domain whose law is public.
Every error bar and every band is a quantile of |noise| over its standard deviation: at a point, or of
the supremum over the domain.  A kind of function hands in its field; how the width of a band follows is
written here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from mercer.columns.domain import Box
from mercer.common.checks import Floats, check_level
from mercer.noise.laws import Law
from mercer.releases.base import Release, freeze

__all__ = [
    "NOTHING_LEFT",
    "Band",
    "Field",
    "Function",
    "FunctionRelease",
    "NoisyFunction",
    "Orders",
    "order_statistic",
    "radial_quantile",
    "suprema_of",
]

NOTHING_LEFT = 1e-3  # of all coordinates together: smoothing left nothing but what is public
Orders = tuple[int, ...]  # of a derivative, one for each argument


class Band(NamedTuple):
    """Lower and upper ends of an error band, and its level."""

    lower: Floats
    upper: Floats
    level: float


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
        freeze(self, "coordinates")
        values = self.coordinates
        if values.shape != (self.size,) or not np.all(np.isfinite(values)):
            raise ValueError(f"coordinates must be {self.size} finite numbers, got shape {values.shape}")

    def _but(self, *names: str) -> dict[str, Any]:
        """All that it was made of but these: for the same release smoothed in another way (M17)."""
        made = (part.name for part in fields(self) if part.init)
        return {name: getattr(self, name) for name in made if name not in names}

    def _draws(self) -> Floats:
        """Public draws of the coordinates' noise, from a fixed stream: (runs, coordinates)."""
        return self.noise.draws(self.size, np.arange(self.size))


def radial_quantile(level: float, radii: Floats) -> float:
    """The u with P(|Z| > u) = 1 - level, Z normal times one of these radii."""

    def excess(u: float) -> float:
        return 2 * float(np.mean(ndtr(-u / radii))) - (1 - level)

    return float(brentq(excess, 0.0, 40.0))
