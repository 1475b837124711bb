"""Legendre polynomials, orthonormal on the unit cube: coordinates of curves.  M9, M17.

A curve seen at points is the broken line through them, continued level beyond the first and the
last.  Its coordinates are integrals of that line, exactly: by Bessel's inequality they are never
longer than the curve, on any grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

import numpy as np
from numpy.polynomial import legendre

from mercer.common.checks import Floats, Ints

__all__ = ["MOST_FUNCTIONS", "Polynomials", "gauss"]

MOST_FUNCTIONS = 1024
_NEAR = 1e-6


@dataclass(frozen=True)
class Polynomials:
    """Products of p_0..p_(side - 1) of each coordinate, p_k = sqrt(2k + 1) P_k(2t - 1)."""

    sides: tuple[int, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.sides) <= 2 or min(self.sides) < 1 or self.size > MOST_FUNCTIONS:
            raise ValueError(
                f"polynomials must be 1 to {MOST_FUNCTIONS} products of one or two coordinates, "
                f"got {self.sides}"
            )

    @property
    def dimension(self) -> int:
        """The number of arguments of a function: one for curves, two for surfaces."""
        return len(self.sides)

    @property
    def size(self) -> int:
        """The number of functions."""
        return math.prod(self.sides)

    @property
    def resolution(self) -> float:
        """Half a wave of the finest function in the middle, as a share of the width."""
        return math.pi / 2 / max(max(self.sides) - 1, 1)

    def rows(self, x: Floats, orders: Sequence[int] | None = None) -> Floats:
        """Values of all functions, or of partial derivatives, at the rows of x: shape (points, size)."""
        tables = [
            _table(x[:, axis], side, 0 if orders is None else orders[axis])
            for axis, side in enumerate(self.sides)
        ]
        if len(tables) == 1:
            return tables[0]
        return np.einsum("ij,ik->ijk", *tables).reshape(len(x), -1)

    def evaluate(self, x: Floats, coefficients: Floats, orders: Sequence[int] | None = None) -> Floats:
        """Sum_k c_k p_k at the rows of x, one rounded operation after the other (Clenshaw)."""
        series = self._series(coefficients, orders or (0,) * self.dimension)
        u = 2 * x - 1
        if self.dimension == 1:  # most smooth curves are of low degree
            used = np.flatnonzero(series)
            return np.asarray(legendre.legval(u[:, 0], series[: used[-1] + 1 if used.size else 1]))
        return np.asarray(legendre.legval2d(u[:, 0], u[:, 1], series))

    def on_grid(self, ticks: Sequence[Floats], coefficients: Floats) -> Floats:
        """Values of sum_k c_k p_k on the tensor product grid of these ticks."""
        mesh = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1)
        flat = mesh.reshape(-1, self.dimension)
        return self.evaluate(flat, coefficients).reshape(mesh.shape[:-1])

    def integrals(self, lower: Floats, upper: Floats) -> Floats:
        """The integral of each function over a box of the unit cube."""
        parts = [
            (_antiderivatives(np.array([hi]), side) - _antiderivatives(np.array([lo]), side))[0]
            for side, lo, hi in zip(self.sides, lower, upper, strict=True)
        ]
        return reduce(np.multiply.outer, parts).reshape(-1)

    def inner(self, function: Callable[[Floats], Floats]) -> Floats:
        """The inner product of each function with another, by Gauss-Legendre quadrature."""
        nodes, weights = self.quadrature
        return np.asarray(function(nodes), dtype=float) * weights @ self.rows(nodes)

    @property
    def quadrature(self) -> tuple[Floats, Floats]:
        """Points of the unit cube and weights, exact for products of any two functions."""
        axes = [gauss(max(2 * side, 64)) for side in self.sides]
        nodes = np.stack(np.meshgrid(*[x for x, _ in axes], indexing="ij"), axis=-1)
        weights = reduce(np.multiply.outer, [w for _, w in axes])
        return nodes.reshape(-1, self.dimension), weights.reshape(-1)

    def of_grid(self, ticks: Sequence[Floats]) -> Floats:
        """The matrix from values on a grid to coordinates of the broken line: shape (points, size)."""
        tables = []
        for side, tick in zip(self.sides, ticks, strict=True):
            ends = np.array([0, len(tick)])
            tables.append(_hats(np.asarray(tick, dtype=float), ends, side))
        return tables[0] if len(tables) == 1 else np.kron(*tables).astype(np.float64)

    def of_points(self, times: Floats, values: Floats, starts: Ints) -> Floats:
        """Coordinates of curves on grids of their own, points one after the other: (curves, size).

        A curve without points has the coordinates of zero.  What is computed for a curve depends
        on its own points only.
        """
        weighted = _hats(times, starts, self.sides[0]) * values[:, None]
        seen = np.diff(starts) > 0
        sums = np.zeros((len(seen), self.size))
        if len(times):
            sums[seen] = np.add.reduceat(weighted, starts[:-1][seen], axis=0)
        return sums

    def _series(self, coefficients: Floats, orders: Sequence[int]) -> Floats:
        """Coefficients of the Legendre series in u = 2t - 1, after differentiation."""
        series = np.asarray(coefficients, dtype=float).reshape(self.sides)
        for axis, (side, order) in enumerate(zip(self.sides, orders, strict=True)):
            norm = np.sqrt(2.0 * np.arange(side) + 1).reshape(
                [-1 if a == axis else 1 for a in range(self.dimension)]
            )
            series = series * norm
            if order:
                series = legendre.legder(series, order, axis=axis) * 2.0**order
        return series

    def to_dict(self) -> dict[str, Any]:
        """Name and sides, from which `from_dict` rebuilds them."""
        return {"name": "legendre", "sides": list(self.sides)}

    @classmethod
    def from_dict(cls, fields: object) -> Polynomials:
        """Rebuild from what `to_dict` wrote; ValueError if a field is out of range."""
        if not isinstance(fields, dict) or fields.get("name") != "legendre":
            raise ValueError("functions must be named 'legendre'")
        sides = fields.get("sides")
        if not isinstance(sides, list) or not all(
            isinstance(side, int) and not isinstance(side, bool) for side in sides
        ):
            raise ValueError("sides of the functions must be whole numbers")
        return cls(tuple(sides))


@lru_cache(maxsize=32)
def gauss(count: int) -> tuple[Floats, Floats]:
    """Gauss-Legendre points and weights of the unit interval."""
    nodes, weights = legendre.leggauss(count)
    nodes, weights = (nodes + 1) / 2, weights / 2
    nodes.setflags(write=False)
    weights.setflags(write=False)
    return nodes, weights


def _table(t: Floats, side: int, order: int = 0) -> Floats:
    norm = np.sqrt(2.0 * np.arange(side) + 1)
    if not order:
        return legendre.legvander(2 * t - 1, side - 1) * norm
    if order >= side:
        return np.zeros((len(t), side))
    slopes = legendre.legder(np.diag(norm), order, axis=0) * 2.0**order
    return legendre.legvander(2 * t - 1, side - 1 - order) @ slopes


def _antiderivatives(t: Floats, side: int) -> Floats:
    """Antiderivatives of p_k, zero at t = 0: from P_k = (P'_(k+1) - P'_(k-1)) / (2k + 1)."""
    p = legendre.legvander(2 * t - 1, side + 1)
    k = np.arange(side)
    before = np.where(k > 0, p[:, np.maximum(k - 1, 0)], -1.0)
    return (p[:, 1 : side + 1] - before) / (2 * np.sqrt(2.0 * k + 1))


def _second(t: Floats, side: int) -> Floats:
    """Second antiderivatives of p_k; they and their first derivatives are zero at t = 0."""
    p = legendre.legvander(2 * t - 1, side + 2)
    k = np.arange(side)
    up = (p[:, 2 : side + 2] - p[:, :side]) / (2 * k + 3)
    down = (p[:, :side] - np.where(k > 1, p[:, np.maximum(k - 2, 0)], 0.0)) / np.maximum(2 * k - 1, 1)
    down[:, :2] = 0.0
    value = (up - down) / np.sqrt(2.0 * k + 1) / 4
    u = 2 * t  # 1 + (2t - 1)
    value[:, 0] = u**2 / 8
    if side > 1:  # integral of (P_2 - P_0) / 3
        value[:, 1] = ((p[:, 3] - p[:, 1]) / 5 - u) / 3 * math.sqrt(3.0) / 4
    return value


def _hats(times: Floats, starts: Ints, side: int) -> Floats:
    """Integrals of p_k times the hat function of each point, for grids one after the other.

    With W the second antiderivative and d_i its difference quotient between points i and i + 1,
    the hat of point i has d_i - d_(i-1); level ends make d = 0 before the first point, and the
    whole integral after the last.
    """
    if not len(times):
        return np.zeros((0, side))
    w = _second(times, side)
    last = np.zeros(len(times), dtype=bool)
    ends = starts[1:][np.diff(starts) > 0] - 1
    last[ends] = True
    gap = np.append(np.diff(times), 1.0)
    gap[last] = 1.0
    after = np.concatenate([np.diff(w, axis=0), np.zeros((1, side))]) / gap[:, None]
    near = np.flatnonzero(gap < _NEAR)  # a quotient of rounding errors: the slope in the middle
    after[near] = _antiderivatives((times[near] + times[np.minimum(near + 1, len(times) - 1)]) / 2, side)
    whole = np.zeros(side)
    whole[0] = 1.0
    after[last] = whole
    before = np.concatenate([np.zeros((1, side)), after[:-1]])
    before[1:][last[:-1]] = 0.0
    return after - before
