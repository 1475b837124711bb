"""What one may ask of a curve: values, derivatives, integrals, extremes.

M2, M9; Mirshani, Reimherr and Slavkovic 2019, Theorem 3.3 and Corollary 3.1: the promise covers the
function, and so everything computed from it.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize

from mercer.columns.domain import Box
from mercer.common.checks import Floats
from mercer.releases.function import Function, Orders
from mercer.spaces.modes import derivatives_of
from mercer.spaces.polynomials import Polynomials

__all__ = ["Extreme", "Plain", "PolynomialCurve", "Sketch"]

_FINE = {1: 4001, 2: 161}  # points along each argument where extremes are looked for


class Extreme(NamedTuple):
    """Where a curve is highest or lowest, and how high it is there."""

    at: float | tuple[float, ...]
    height: float


class PolynomialCurve(Function):
    """A function on one or two arguments, by its coefficients in polynomials of the unit cube."""

    polynomials: Polynomials

    argument = "argument"

    @property
    @abstractmethod
    def coefficients(self) -> Floats:
        """In the polynomials, of the function of the unit cube."""

    @property
    @abstractmethod
    def kernels(self) -> tuple[str, ...]:
        """Whose functions these are: they say how often they can be differentiated."""

    def __call__(self, x: object) -> Floats:
        """Values at points."""
        return self._values(x)

    def derivative(self, x: object, order: int | Orders = 1) -> Floats:
        """A derivative at points; an error where the kernel's functions have none."""
        return self._values(x, self._orders(order))

    def integral(self, lower: object = None, upper: object = None) -> float:
        """Over the domain, or over a part of it."""
        low, high = self._box(lower, upper)
        return float(self.polynomials.integrals(low, high) @ self.coefficients) * self.domain.volume

    def mean(self) -> float:
        """The integral over the domain, divided by the domain's size."""
        return self.integral() / self.domain.volume

    def inner(self, weight: Callable[[Floats], Any] | PolynomialCurve) -> float:
        """The integral of the curve times a weight function of the same argument(s)."""
        if isinstance(weight, PolynomialCurve):
            self._check_same(weight)
            return float(weight.coefficients @ self.coefficients) * self.domain.volume
        return float(self._weights(weight) @ self.coefficients) * self.domain.volume

    def norm(self) -> float:
        """The L2 norm on the domain: the root of the integral of the square."""
        return math.sqrt(float(self.coefficients @ self.coefficients) * self.domain.volume)

    def maximum(self) -> Extreme:
        """Where the curve is highest."""
        return self._extreme(1.0)

    def minimum(self) -> Extreme:
        """Where the curve is lowest."""
        return self._extreme(-1.0)

    def time_above(self, level: float) -> float:
        """For how long (on what area) the curve is above a level."""
        level = _height(level)
        values = self._on(self._ticks()) - level
        if self.domain.dimension > 1:
            return float(np.mean(values > 0)) * self.domain.volume
        edges = np.array([0.0, *self._crossings(values, level), 1.0])
        inside = np.diff(edges)[0 if values[0] > 0 else 1 :: 2]
        return float(np.sum(inside)) * self.domain.volume

    def crossings(self, level: float) -> tuple[float, ...]:
        """Where the curve passes through a level, up or down, in increasing order."""
        height = _height(level)
        if self.domain.dimension > 1:
            raise ValueError("crossings are points of a curve; a surface passes a level along lines")
        places = self._crossings(self._on(self._ticks()) - height, height)
        return tuple(self.domain.from_unit(np.asarray(places).reshape(-1, 1))[:, 0].tolist())

    def first_crossing(self, level: float) -> float:
        """The first of `crossings`; the upper end of the domain where there is none."""
        return next(iter(self.crossings(level)), float(self.domain.upper[0]))

    def _orders(self, order: int | Orders) -> Orders:
        orders = super()._orders(order)
        for kernel in self.kernels:
            most = derivatives_of(kernel)
            if max(orders) > most:
                raise ValueError(
                    f"order must be at most {most:g} for the kernel {kernel!r}, got {max(orders)}: "
                    "a path of its noise has no further derivatives; use a smoother kernel, "
                    "release.smooth(kernel='gaussian') has all"
                )
        return orders

    def _at(self, unit: Floats, orders: Orders) -> Floats:
        return self.polynomials.evaluate(unit, self.coefficients, orders) / self._chain(orders)

    def _rows(self, unit: Floats, orders: Orders) -> Floats:
        """Values of the polynomials, or of their derivatives: (points, polynomials)."""
        return self.polynomials.rows(unit, orders) / self._chain(orders)

    def _box(self, lower: object, upper: object) -> tuple[Floats, Floats]:
        low = self.domain.lower if lower is None else self.domain.points(lower)[0]
        high = self.domain.upper if upper is None else self.domain.points(upper)[0]
        if np.any(high < low):
            raise ValueError("upper must not be below lower")
        return self.domain.to_unit(low), self.domain.to_unit(high)

    def _weights(self, weight: Callable[[Floats], Any]) -> Floats:
        """Inner products of the polynomials with a weight, in unit coordinates."""
        if not callable(weight):
            raise TypeError(
                f"weight must be a function of {', '.join(self.domain.names)}, got {type(weight).__name__}"
            )
        d = self.domain.dimension

        def on_unit(unit: Floats) -> Floats:
            rows = self.domain.from_unit(unit)
            value = np.asarray(weight(rows[:, 0] if d == 1 else rows), dtype=float)
            if value.shape not in ((), (len(rows),)) or not np.all(np.isfinite(value)):
                raise ValueError(
                    "weight must give one finite number for each point; got shape "
                    f"{value.shape} for {len(rows)} points"
                )
            return np.broadcast_to(value, (len(rows),))

        return self.polynomials.inner(on_unit)

    def _ticks(self) -> list[Floats]:
        d = self.domain.dimension
        return [np.linspace(0.0, 1.0, _FINE[d])] * d

    def _on(self, ticks: list[Floats]) -> Floats:
        """Values on a fine grid, from a table that is kept."""
        if self.domain.dimension > 1:
            return self.polynomials.on_grid(ticks, self.coefficients)
        used = np.flatnonzero(self.coefficients)
        most = used[-1] + 1 if used.size else 1
        return _fine_table(self.polynomials, len(ticks[0]))[:, :most] @ self.coefficients[:most]

    def _slope(self, t: float) -> float:
        return float(self.polynomials.evaluate(np.array([[t]]), self.coefficients, (1,))[0])

    def _above(self, t: float, level: float) -> float:
        return float(self.polynomials.evaluate(np.array([[t]]), self.coefficients)[0]) - level

    def _crossings(self, values: Floats, level: float) -> list[float]:
        """Places in the unit interval where heights above a level, on the fine grid, change sign."""
        t, up = self._ticks()[0], values > 0
        return [self._crossing(t[i], t[i + 1], level) for i in np.flatnonzero(up[1:] != up[:-1])]

    def _crossing(self, low: float, high: float, level: float) -> float:
        """Where the curve crosses a level; in the middle if only rounding says so."""
        if self._above(low, level) * self._above(high, level) > 0:
            return (low + high) / 2
        return float(brentq(self._above, low, high, args=(level,)))

    def _extreme(self, sign: float) -> Extreme:
        ticks = self._ticks()
        values = sign * self._on(ticks)
        best = np.unravel_index(int(np.argmax(values)), values.shape)
        start = np.array([tick[i] for tick, i in zip(ticks, best, strict=True)])
        step = ticks[0][1]
        box = [(max(0.0, s - step), min(1.0, s + step)) for s in start]

        def fall(u: Floats) -> float:
            return -sign * float(self.polynomials.evaluate(u[None, :], self.coefficients)[0])

        if len(start) == 1:  # where the slope is zero, if it changes its sign
            low, high = box[0]
            slopes = self._slope(low), self._slope(high)
            place = start
            if slopes[0] * slopes[1] < 0:
                place = np.array([brentq(self._slope, low, high, xtol=1e-13)])
        else:
            found = minimize(fall, start, bounds=box, method="L-BFGS-B", options={"ftol": 1e-15})
            place = found.x
        place = place if fall(place) <= fall(start) else start
        at = self.domain.from_unit(np.clip(place, 0.0, 1.0)[None, :])[0]
        height = float(self(at if len(at) > 1 else at[0]))
        return Extreme(float(at[0]) if len(at) == 1 else tuple(at.tolist()), height)

    def _check_same(self, other: PolynomialCurve) -> None:
        if other.domain.bounds != self.domain.bounds or other.polynomials != self.polynomials:
            raise ValueError(
                f"the two curves must have the same bounds and size; one is on "
                f"{self.domain.describe()} with {self.polynomials.size} coefficients, the other on "
                f"{other.domain.describe()} with {other.polynomials.size}"
            )


def _height(level: object) -> float:
    if isinstance(level, bool) or not isinstance(level, (int, float, np.number)) or np.isnan(level):
        raise TypeError(f"level must be a height, a number; got {level!r}")
    return float(level)


@lru_cache(maxsize=4)
def _fine_table(polynomials: Polynomials, points: int) -> Floats:
    return polynomials.rows(np.linspace(0.0, 1.0, points)[:, None])


class Plain(PolynomialCurve):
    """A function whose coefficients are known, without noise."""

    def __init__(
        self, domain: Box, polynomials: Polynomials, coefficients: Floats, kernels: tuple[str, ...]
    ) -> None:
        self.domain, self.polynomials = domain, polynomials
        self._coefficients, self._kernels = coefficients, kernels

    @property
    def coefficients(self) -> Floats:
        return self._coefficients

    @property
    def kernels(self) -> tuple[str, ...]:
        return self._kernels


class Sketch(Plain):
    """The same, looked at on the fine grid alone: for the many draws behind an interval.

    Between points a curve is a parabola at an extreme, and a line at a crossing.
    """

    def _on(self, ticks: list[Floats]) -> Floats:
        if self.domain.dimension == 1:
            return super()._on(ticks)
        tables = [
            _fine_table(Polynomials((side,)), len(tick))
            for side, tick in zip(self.polynomials.sides, ticks, strict=True)
        ]
        cube = self.coefficients.reshape(self.polynomials.sides)
        return np.asarray(tables[0] @ cube @ tables[1].T)

    def _crossings(self, values: Floats, level: float) -> list[float]:
        del level
        t, up = self._ticks()[0], values > 0
        i = np.flatnonzero(up[1:] != up[:-1])
        step = values[i] / (values[i] - values[i + 1])
        return (t[i] + (t[i + 1] - t[i]) * step).tolist()

    def _extreme(self, sign: float) -> Extreme:
        ticks = self._ticks()
        values = self._on(ticks)
        best = np.unravel_index(int(np.argmax(sign * values)), values.shape)
        place = np.array([tick[i] for tick, i in zip(ticks, best, strict=True)])
        height, i = float(values[best]), int(best[0])
        if len(place) == 1 and 0 < i < len(values) - 1:
            before, here, after = values[i - 1 : i + 2]
            bend = before - 2 * here + after
            shift = (before - after) / (2 * bend) if bend else 0.0
            place = place + shift * (ticks[0][1] - ticks[0][0])
            height -= (before - after) * shift / 4
        at = self.domain.from_unit(np.clip(place, 0.0, 1.0)[None, :])[0]
        return Extreme(float(at[0]) if len(at) == 1 else tuple(at.tolist()), height)
