"""Bases spanned by kernel functions at public points: landmarks, eigenfunctions.  Layer 1."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from mercer.bases.base import (
    UNIT_ROUNDOFF,
    Basis,
    Features,
    kernel_from_dict,
    kernel_to_dict,
    matrix_of,
    nodes_for,
)
from mercer.checks import Floats
from mercer.domain import MOST_COLUMNS
from mercer.kernels import Kernel, norms

__all__ = ["Eigenfunctions", "Landmarks", "PointBasis"]

_MOST_POINTS = 4096
_MOST_ENTRIES = 1 << 22  # of a feature table


class PointBasis(Basis):
    """e(x) = B k(Z, x) with B K_ZZ B' = I (or less, where jitter keeps B bounded, M3.1)."""

    kernel: Kernel
    points: tuple[tuple[float, ...], ...]  # Z, in the unit cube

    @property
    def mixing(self) -> Floats:
        """B, shape (m, number of points)."""
        raise TypeError("a point basis defines its mixing matrix")

    @cached_property
    def _z(self) -> Floats:
        return np.array(self.points)

    @property
    def size(self) -> int:
        return len(self.mixing)

    @cached_property
    def deficit(self) -> float:
        per_axis = {1: 513, 2: 33, 3: 11}[self.kernel.dimension]
        ticks = np.linspace(0, 1, per_axis)
        grid = np.array(list(itertools.product(ticks, repeat=self.kernel.dimension)))
        return float(np.max(1 - np.sum(self.features(grid) ** 2, axis=1)))

    def features(self, x: Floats, orders: tuple[int, ...] | None = None) -> Floats:
        return self.kernel(x, self._z, orders) @ self.mixing.T

    def evaluate(
        self, x: Floats, coordinates: Floats, orders: tuple[int, ...] | None = None
    ) -> Floats:
        weights = self.mixing.T @ coordinates
        step = max(1, (1 << 22) // len(self.points))
        parts = [
            self.kernel(x[i : i + step], self._z, orders) @ weights for i in range(0, len(x), step)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def row_features(self, smoother: Kernel) -> Features:
        bound = norms(smoother, self.kernel)
        shape = _fitting(nodes_for(smoother.lengths), self.size)
        ticks = [np.linspace(0.0, 1.0, nodes) for nodes in shape]
        nodes = np.stack(np.meshgrid(*ticks, indexing="ij"), -1).reshape(-1, len(shape))
        block = max(1, (1 << 21) // len(self.points))
        vectors = np.concatenate(
            [
                self.mixing @ (smoother(self._z, nodes[i : i + block]) / smoother.mass)
                for i in range(0, len(nodes), block)
            ],
            axis=1,
        )
        length = np.sqrt(np.sum(vectors**2, axis=0))
        vectors *= np.minimum(1.0, bound.norm / np.maximum(length, bound.norm / 2))
        rounding = 2 * UNIT_ROUNDOFF * len(nodes) * math.sqrt(self.size) * bound.norm
        return Features(
            shape=shape,
            project=lambda weights: vectors @ weights.reshape(-1),
            norm=bound.norm * (1 + 1e-9),
            diameter=bound.diameter * (1 + 1e-9),
            rounding=rounding,
        )


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
    def mixing(self) -> Floats:
        gram = self.kernel(self._z, self._z)
        jitter = 4 * len(gram) * 2.0**-52 * np.linalg.norm(gram, 2)
        factor = np.linalg.cholesky(gram + jitter * np.eye(len(gram)))
        return np.asarray(solve_triangular(factor, np.eye(len(gram)), lower=True))

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kernel": kernel_to_dict(self.kernel),
            "points": [list(point) for point in self.points],
        }

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
        vectors = vectors * np.where(vectors[np.abs(vectors).argmax(axis=0), range(len(values))] < 0, -1, 1)  # fmt: skip  # noqa: E501
        keep = values > floor
        matrix = (vectors[:, keep] / np.sqrt(values[keep])).T * root
        return cls(kernel, _tuples(z), _tuples(matrix))

    @cached_property
    def mixing(self) -> Floats:
        return np.array(self.matrix)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kernel": kernel_to_dict(self.kernel),
            "points": [list(point) for point in self.points],
            "matrix": [list(row) for row in self.matrix],
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Eigenfunctions:
        kernel = kernel_from_dict(fields.get("kernel"))
        points = _points(fields.get("points"), kernel.dimension)
        matrix = matrix_of(fields.get("matrix"), "matrix")
        if matrix.shape[1] != len(points) or not 1 <= len(matrix) <= len(points):
            raise ValueError("basis matrix must have one column a point")
        return cls(kernel, points, _tuples(matrix))


def _lattice(size: int, dimension: int) -> tuple[tuple[float, ...], ...]:
    side = max(2, round(size ** (1 / dimension)))
    return tuple(itertools.product(np.linspace(0.0, 1.0, side).tolist(), repeat=dimension))


def _fitting(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Halve the finest side until the feature table fits."""
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
