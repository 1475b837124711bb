"""Bases spanned by kernel functions at public points: landmarks, eigenfunctions.  M2; Hall 2013, Prop. 8.

What rounding can do to coordinates is bounded from the matrices as they were computed, whatever
processor computed them: docs/proofs/density.md, "Kernel functions at points".
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from mercer.columns.domain import MOST_COLUMNS
from mercer.common.checks import Floats
from mercer.spaces.bases.base import (
    UNIT_ROUNDOFF,
    Basis,
    Features,
    kernel_from_dict,
    kernel_to_dict,
    matrix_of,
    nodes_for,
)
from mercer.spaces.kernels import GaussianKernel, Kernel, norms

__all__ = ["Eigenfunctions", "Landmarks", "PointBasis"]

_MOST_POINTS = 4096
_MOST_ENTRIES = 1 << 22  # of a feature table


_UP = 1 + 1e-9  # bounds are rounded up (M3.4); more than their own arithmetic can take away


class PointBasis(Basis):
    """e(x) = B k(Z, x) with B K_ZZ B' = I (or less, where jitter keeps B bounded, M3.1)."""

    kernel: Kernel
    points: tuple[tuple[float, ...], ...]  # Z, in the unit cube

    @property
    def mixing(self) -> Floats:
        """The mixing matrix B, of shape (m, number of points)."""
        raise TypeError("a point basis defines its mixing matrix")

    @cached_property
    def _z(self) -> Floats:
        return np.array(self.points)

    @property
    def size(self) -> int:
        return len(self.mixing)

    @cached_property
    def deficit(self) -> float:
        """The largest deficit on an even grid of the cube, rounding included.  No sensitivity uses it."""
        return max(1 - float(np.min(np.sum(self._on_ticks**2, axis=0))), 0.0) + self.blur

    @cached_property
    def blur(self) -> float:
        """How far a computed |e(x)|^2 can be above K(x, x) = 1, or away from the exact one."""
        tops = np.abs(self.mixing).sum(axis=1)
        off = self._rounded(tops, tops, self._value_error(self.kernel))
        reach = 2 * (np.max(np.abs(self._on_ticks), axis=1) + off)
        square = self._at_most(1.0, reach)
        return square - 1 + _longer(square, reach, off)

    @cached_property
    def _on_ticks(self) -> Floats:
        per_axis = {1: 513, 2: 33, 3: 13}[self.kernel.dimension]
        ticks = np.linspace(0, 1, per_axis)
        grid = np.array(list(itertools.product(ticks, repeat=self.kernel.dimension)))
        return self.features(grid).T

    def _at_most(self, square: float, reach: Floats) -> float:  # noqa: ARG002
        """Bound on the exact |B f(Z)|^2 of functions with |f|^2 <= square: B as it was computed.

        `reach` bounds the coordinates of B f(Z) one by one: badly conditioned ones are small.
        """
        raise TypeError("a point basis bounds its mixing matrix")

    def _value_error(self, smoother: Kernel) -> float:
        """Bound on the rounding of a value of a kernel whose supremum is one.

        Gaussians are those of points divided by the bandwidth and rounded: other points, but the
        same ones for smoother and space unless these are different kernels.
        """
        moved = 0.0
        if smoother != self.kernel and isinstance(smoother, GaussianKernel):
            moved = 2 * float(np.sum(1 / smoother.lengths))
        return UNIT_ROUNDOFF * (24 * smoother.dimension + moved)

    def _rounded(self, sums: Floats, tops: Floats, error: float) -> Floats:
        """Bound on the rounding of each coordinate of B f: `sums` is |B| |f|, `tops` is |B| 1."""
        return (UNIT_ROUNDOFF * (len(self.points) + 8) * sums + error * tops) * _UP

    def features(self, x: Floats, orders: tuple[int, ...] | None = None) -> Floats:
        return self.kernel(x, self._z, orders) @ self.mixing.T

    def evaluate(self, x: Floats, coordinates: Floats, orders: tuple[int, ...] | None = None) -> Floats:
        weights = self.mixing.T @ coordinates
        step = max(1, (1 << 22) // len(self.points))
        parts = [self.kernel(x[i : i + step], self._z, orders) @ weights for i in range(0, len(x), step)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def row_features(self, smoother: Kernel) -> Features:
        bound = norms(smoother, self.kernel)
        shape = _fitting(nodes_for(smoother.lengths), self.size)
        ticks = [np.linspace(0.0, 1.0, nodes) for nodes in shape]
        nodes = np.stack(np.meshgrid(*ticks, indexing="ij"), -1).reshape(-1, len(shape))
        block = max(1, (1 << 21) // len(self.points))
        sizes, parts = np.abs(self.mixing), []
        tops, sums = sizes.sum(axis=1), np.zeros(self.size)
        for i in range(0, len(nodes), block):
            values = smoother(self._z, nodes[i : i + block]) / smoother.mass
            parts.append(self.mixing @ values)
            sums = np.maximum(sums, np.max(sizes @ values, axis=1))
        vectors = np.concatenate(parts, axis=1)
        off = self._rounded(sums, tops, self._value_error(smoother) / smoother.mass)
        reach = 2 * (np.max(np.abs(vectors), axis=1) + off)
        square = self._at_most(bound.diameter**2, reach)
        square += _longer(square, reach, 2 * off)
        length = np.sqrt(np.sum(vectors**2, axis=0))
        vectors *= np.minimum(1.0, bound.norm / np.maximum(length, bound.norm / 2))
        rounding = 2 * UNIT_ROUNDOFF * len(nodes) * math.sqrt(self.size) * bound.norm
        return Features(
            shape=shape,
            project=lambda weights: vectors @ weights.reshape(-1),
            norm=bound.norm * _UP,
            diameter=math.sqrt(square) * _UP,
            rounding=rounding,
        )

    def to_dict(self) -> dict[str, Any]:
        points = [list(point) for point in self.points]
        return {"name": self.name, "kernel": kernel_to_dict(self.kernel), "points": points}


@dataclass(frozen=True)
class Landmarks(PointBasis):
    """Gram-Schmidt of k(z_1, .)..k(z_m, .): Hall's batch release on Z, Balog's Algorithm 1."""

    kernel: Kernel
    points: tuple[tuple[float, ...], ...]

    name = "landmarks"

    @classmethod
    def spanning(cls, kernel: Kernel, size: int) -> Landmarks:
        """About `size` points, evenly spread over the unit cube."""
        return cls(kernel, _lattice(size, kernel.dimension))

    @cached_property
    def _gram(self) -> tuple[Floats, float]:
        """The Gram matrix with its jitter, and the jitter."""
        gram = self.kernel(self._z, self._z)
        jitter = 4 * len(gram) * 2.0**-52 * float(np.linalg.norm(gram, 2))
        return gram + jitter * np.eye(len(gram)), jitter

    @cached_property
    def _factor(self) -> Floats:
        return np.asarray(np.linalg.cholesky(self._gram[0]))

    @cached_property
    def mixing(self) -> Floats:
        # row by row of B L = I, not of L B = I: each row is then exact for an L that is off by its
        # last bits, and B L differs from I by the rounding of a product, not by the square of L's
        # condition
        size = len(self._factor)
        return np.asarray(solve_triangular(self._factor, np.eye(size), lower=True, trans="T").T, order="C")

    @cached_property
    def _miss(self) -> Floats:
        """Bounds on the entries of B L - I: what is measured, and its own rounding."""
        factor, mixing, size = self._factor, self.mixing, len(self._factor)
        rounding = UNIT_ROUNDOFF * (size + 2) * (np.abs(mixing) @ np.abs(factor))
        return (np.abs(mixing @ factor - np.eye(size)) + rounding) * _UP

    @cached_property
    def _lost(self) -> float:
        """How far f(Z)' (L L')^-1 f(Z) can exceed |f|^2, as a share: 0 where the jitter dominates.

        K_ZZ = L L' - S with S the jitter less what rounding took of it.
        """
        (gram, jitter), one = self._gram, np.ones(len(self._factor))
        bare, dot = np.abs(self._factor), UNIT_ROUNDOFF * (len(one) + 2)
        off = np.abs(self._factor @ self._factor.T - gram) @ one
        off += dot * (bare @ (bare.T @ one) + gram @ one)
        off += self._value_error(self.kernel) * len(one)
        wrong = float(np.linalg.norm(self._miss))  # below 1e-4, as L is no worse than its jitter
        inverse = float(np.sum(self.mixing**2)) / (1 - min(wrong, 0.5)) ** 2
        return max(float(np.max(off)) * _UP - jitter, 0.0) * inverse

    def _at_most(self, square: float, reach: Floats) -> float:
        # y = L^-1 f(Z) has |y|^2 <= |f|^2, and B f(Z) = y + (B L - I) y
        whole = square * (1 + self._lost)
        root = math.sqrt(whole)
        y = reach + root * np.linalg.norm(self._miss, axis=1)
        return whole + _longer(whole, y, self._miss @ y, root * float(np.linalg.norm(self._miss)))

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Landmarks:
        kernel = kernel_from_dict(fields.get("kernel"), most=MOST_COLUMNS)
        return cls(kernel, _points(fields.get("points"), kernel.dimension))


@dataclass(frozen=True)
class Eigenfunctions(PointBasis):
    """sqrt(lambda_j) psi_j, the first m eigenpairs of the kernel on the cube (thesis 3.2.2).

    Nystrom with Gauss-Legendre weights W: eigenvectors v_j of W^1/2 K W^1/2 give
    e_j = lambda_j^(-1/2) sum_i sqrt(w_i) v_ij k(z_i, .), orthonormal in the kernel's space.
    """

    kernel: Kernel
    points: tuple[tuple[float, ...], ...]
    matrix: tuple[tuple[float, ...], ...]  # B: kept, since eigenvectors differ between machines

    name = "eigenfunctions"

    @classmethod
    def spanning(cls, kernel: Kernel, size: int, *, side: int | None = None) -> Eigenfunctions:
        """The `size` largest eigenpairs, from `side` points along each coordinate."""
        d = kernel.dimension
        side = side or {1: 256, 2: 24, 3: 10}[d]
        ticks, weights = np.polynomial.legendre.leggauss(side)
        z = np.array(list(itertools.product((ticks + 1) / 2, repeat=d)))
        root = np.sqrt([math.prod(w) for w in itertools.product(weights / 2, repeat=d)])
        values, vectors = np.linalg.eigh(root[:, None] * kernel(z, z) * root)
        floor = 4 * len(z) * 2.0**-52 * float(values[-1])  # M3.1: below it, rounding dust
        values, vectors = values[::-1][:size], vectors[:, ::-1][:, :size]
        vectors = vectors * np.where(vectors[np.abs(vectors).argmax(axis=0), range(len(values))] < 0, -1, 1)
        keep = values > floor
        matrix = (vectors[:, keep] / np.sqrt(values[keep])).T * root
        return cls(kernel, _tuples(z), _tuples(matrix))

    @cached_property
    def mixing(self) -> Floats:
        return np.array(self.matrix)

    def _at_most(self, square: float, reach: Floats) -> float:
        # B K B' = I + F, and |z|^2 - z'F z <= z'(I + F)^-1 z <= |f|^2 for z = B f(Z).  F is large
        # in the last rows alone, whose coordinates are small
        gram, size = self.kernel(self._z, self._z), len(self.points)
        off = np.abs(self.mixing @ gram @ self.mixing.T - np.eye(self.size))
        sums = np.abs(self.mixing).T @ reach
        dot = 2 * UNIT_ROUNDOFF * (size + 2)
        rounding = dot * float(sums @ gram @ sums)
        rounding += self._value_error(self.kernel) * float(np.sum(sums)) ** 2
        return square + (float(reach @ off @ reach) + rounding) * _UP

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"matrix": [list(row) for row in self.matrix]}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Eigenfunctions:
        kernel = kernel_from_dict(fields.get("kernel"))
        points = _points(fields.get("points"), kernel.dimension)
        matrix = matrix_of(fields.get("matrix"), "matrix")
        if matrix.shape[1] != len(points) or not 1 <= len(matrix) <= len(points):
            raise ValueError("basis matrix must have one column a point")
        return cls(kernel, points, _tuples(matrix))


def _longer(square: float, sizes: Floats, off: Floats, wrong: float | None = None) -> float:
    """Bound on |v + e|^2 - |v|^2 from bounds on |v|^2, the entries of v and e, and |e|."""
    wrong = float(np.linalg.norm(off)) if wrong is None else wrong
    each = float(np.sum(off * (2 * sizes + off)))
    return min(each, wrong * (2 * math.sqrt(square) + wrong)) * _UP


def _lattice(size: int, dimension: int) -> tuple[tuple[float, ...], ...]:
    side = max(2, round(size ** (1 / dimension)))
    return tuple(itertools.product(np.linspace(0.0, 1.0, side).tolist(), repeat=dimension))


def _fitting(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """The grid's shape, with its finest side halved until the feature table is small enough."""
    sides = list(shape)
    while math.prod(sides) * size > _MOST_ENTRIES and max(sides) > 17:
        finest = sides.index(max(sides))
        sides[finest] = (sides[finest] - 1) // 2 + 1
    return tuple(sides)


def _points(value: object, dimension: int) -> tuple[tuple[float, ...], ...]:
    array = matrix_of(value, "points")
    if array.shape[1] != dimension or len(array) > _MOST_POINTS:
        raise ValueError(f"basis points must be at most {_MOST_POINTS} rows of {dimension}")
    if np.any(array < 0) or np.any(array > 1) or len(np.unique(array, axis=0)) < len(array):
        raise ValueError("basis points must be distinct and inside the unit cube")
    return _tuples(array)


def _tuples(array: Floats) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(float(v) for v in row) for row in array)
