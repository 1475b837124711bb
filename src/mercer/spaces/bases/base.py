"""What every basis has: coordinates of rows, evaluation, and a table of names for files."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mercer.common.checks import Floats, Ints
from mercer.spaces.kernels import KERNELS, Kernel

__all__ = [
    "UNIT_ROUNDOFF",
    "Basis",
    "Features",
    "basis_from_dict",
    "check_scales",
    "covariance_of",
    "kernel_from_dict",
    "kernel_to_dict",
    "matrix_of",
    "most_nodes",
    "nodes_for",
    "positive_int",
]

REGISTRY: dict[str, type[Basis]] = {}
UNIT_ROUNDOFF = 2.0**-53


@dataclass(frozen=True)
class Features:
    """How weights on a public grid of nodes become coordinates: a fixed linear map (M2, M5).

    A row is a convex combination of nodes, so it contributes a convex combination of the node
    vectors u(g).  `norm` bounds |u(g)|, `diameter` bounds |u(g) - u(g')| and |u(g)|.  The map is
    computed in doubles from exact integer weights; `rounding` bounds the distance of what is
    computed from what is meant, whatever the weights (M3.3): the error of a fixed number of
    operations, not of a sum over rows.

    `spans` holds bounds on the change in other norms than l2, where they are known.
    """

    shape: tuple[int, ...]  # nodes along each coordinate
    project: Callable[[Floats], Floats]  # weights of total at most one -> coordinates
    norm: float
    diameter: float
    rounding: float
    spans: dict[str, float] = field(default_factory=dict)

    def total(self, counts: Ints, weight: int) -> Floats:
        """sum_g counts[g] u(g) / weight; `weight` bounds the sum of the counts."""
        return self.project(counts / weight)


class Basis(ABC):
    """e_1..e_m, orthonormal in the space of `kernel`; a function is its coordinates in them."""

    name: ClassVar[str]
    kernel: Kernel

    def __init_subclass__(cls) -> None:
        if "name" in cls.__dict__:
            REGISTRY[cls.name] = cls

    @classmethod
    @abstractmethod
    def spanning(cls, kernel: Kernel, size: int) -> Basis:
        """A basis of this kernel's space; ValueError where the kernel does not fit.

        `size` is the number of points or functions, where the kernel does not set it.
        """

    @property
    @abstractmethod
    def size(self) -> int:
        """The number m of coordinates."""

    @property
    def dimension(self) -> int:
        """How many columns the data have."""
        return self.kernel.dimension

    @property
    def lengths(self) -> Floats:
        """The length of the finest detail that the functions resolve, along each coordinate."""
        return self.kernel.lengths

    @property
    @abstractmethod
    def deficit(self) -> float:
        """Bound on sup_x K(x, x) - |e(x)|^2: what truncation leaves out (M2)."""

    @property
    def resolution(self) -> float:
        """Half a wave of the finest function, as a share of the domain's width."""
        return float(self.lengths.min())

    @abstractmethod
    def features(self, x: Floats, orders: tuple[int, ...] | None = None) -> Floats:
        """e(x), or its partial derivatives, at the rows of x: shape (points, m)."""

    @abstractmethod
    def row_features(self, smoother: Kernel) -> Features:
        """The map from weights on grid nodes g to released coordinates: sums of u(g).

        u(g) holds the coordinates of s(. - g), with s the density of the smoother.
        """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, from which `basis_from_dict` rebuilds the same basis."""

    @classmethod
    @abstractmethod
    def from_dict(cls, fields: dict[str, Any]) -> Basis:
        """Rebuild a basis from what `to_dict` wrote; ValueError if a field is out of range."""

    def mix(self, rows: Floats) -> Floats:
        """Released coordinates from plain ones, those of `features`: the inverse of `unmix`."""
        return rows

    def unmix(self, rows: Floats) -> Floats:
        """Plain coordinates from released ones.  The map is its own transpose.

        For most bases released coordinates are the plain ones.  See `cosine` for the other case.
        """
        return rows

    def noise_rows(self, x: Floats, factors: Floats) -> Floats:
        """How white noise of released coordinates appears at the points x: shape (points, m).

        Plain coordinates are multiplied by `factors` in between.
        """
        return self.unmix(self.features(x) * factors)

    def deviation(self, x: Floats, factors: Floats) -> Floats:
        """Standard deviation at the points x of white noise of standard deviation one; see `noise_rows`."""
        step = max(1, (1 << 22) // self.size)
        parts = [
            np.sqrt(np.sum(self.noise_rows(x[i : i + step], factors) ** 2, axis=1))
            for i in range(0, len(x), step)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def evaluate(self, x: Floats, coordinates: Floats, orders: tuple[int, ...] | None = None) -> Floats:
        """Values sum_j c_j e_j(x) at the rows of x."""
        step = max(1, (1 << 22) // self.size)
        parts = [self.features(x[i : i + step], orders) @ coordinates for i in range(0, len(x), step)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def function(self, coordinates: Floats) -> Callable[[Floats], Floats]:
        """`evaluate` as a function of x: what depends on the coordinates alone is computed once."""
        return lambda x: self.evaluate(x, coordinates)

    def mean_deviation(self) -> float:
        """Standard deviation of the mean over the cube, for white noise of deviation one."""
        ticks = [(np.arange(64) + 0.5) / 64] * self.dimension
        mesh = np.stack(np.meshgrid(*ticks, indexing="ij"), -1).reshape(-1, self.dimension)
        some = mesh[:: max(1, len(mesh) // 4096)]
        return float(np.linalg.norm(self.features(some).mean(axis=0)))

    def on_grid(self, ticks: Sequence[Floats], coordinates: Floats) -> Floats:
        """Values on the tensor product grid of these ticks, one array of ticks for each column."""
        mesh = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1)
        return self.evaluate(mesh.reshape(-1, len(ticks)), coordinates).reshape(mesh.shape[:-1])


def basis_from_dict(fields: dict[str, Any]) -> Basis:
    """Rebuild a basis from a table of names: nothing named in a file is ever imported."""
    name = fields.get("name")
    if not isinstance(name, str) or name not in REGISTRY:
        raise ValueError(f"unknown basis {name!r}; this version knows {', '.join(REGISTRY)}")
    return REGISTRY[name].from_dict(fields)


def kernel_to_dict(kernel: Kernel) -> dict[str, Any]:
    """Name and covariance of a kernel, as fields of a file."""
    return {"name": kernel.name, "covariance": [list(row) for row in kernel.covariance]}


def kernel_from_dict(fields: object, most: int = 3) -> Kernel:
    """Rebuild a kernel from fields of a file; ValueError unless its covariance is valid."""
    if not isinstance(fields, dict) or fields.get("name") not in KERNELS:
        named = fields.get("name") if isinstance(fields, dict) else fields
        raise ValueError(f"unknown kernel {named!r}; this version knows {', '.join(KERNELS)}")
    return KERNELS[fields["name"]](covariance_of(fields.get("covariance"), most))


def covariance_of(value: object, most: int = 3) -> tuple[tuple[float, ...], ...]:
    """A symmetric positive definite matrix of dimension one to `most`, as tuples."""
    try:
        matrix = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError("a kernel's covariance must be a matrix of numbers") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not 1 <= len(matrix) <= most:
        raise ValueError(f"a kernel's covariance must be 1x1 to {most}x{most}, got shape {matrix.shape}")
    if not np.all(np.isfinite(matrix)) or not np.array_equal(matrix, matrix.T):
        raise ValueError("a kernel's covariance must be finite and symmetric")
    scale = np.sqrt(np.abs(np.diag(matrix)))
    if not np.all(np.diag(matrix) > 0) or np.linalg.eigvalsh(matrix / np.outer(scale, scale))[0] <= 1e-9:
        raise ValueError("a kernel's covariance must be positive definite")
    check_scales(scale)
    return tuple(tuple(float(v) for v in row) for row in matrix)


def check_scales(scales: Floats) -> None:
    """Bandwidths in units of the bounds' widths, within what a basis can carry."""
    if not (scales.min() >= 1e-5 and scales.max() <= 4.001):
        raise ValueError(
            "a bandwidth must be between 1e-5 and 4 times the width of the bounds, got "
            f"{', '.join(f'{s:g}' for s in scales)} times"
        )


def matrix_of(value: object, what: str) -> Floats:
    """A finite matrix of numbers from a file; ValueError names `what` if it is none."""
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"basis {what} must be a matrix of numbers") from None
    if array.ndim != 2 or array.size == 0 or not np.all(np.isfinite(array)):
        raise ValueError(f"basis {what} must be a finite matrix, got shape {array.shape}")
    return array


def positive_int(fields: dict[str, Any], key: str, most: int) -> int:
    """An integer in [1, most] from a file; ValueError names the field if it is none."""
    value = fields.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise ValueError(f"basis {key} must be a whole number in [1, {most}]")
    return value


_MOST_NODES = {1: 1 << 15, 2: 1 << 10, 3: 1 << 7}
_LEAST_NODES = {1: 1 << 10, 2: 1 << 7, 3: 1 << 5}


def most_nodes(dimension: int) -> int:
    """The number of cells of the finest binning grid, along each coordinate."""
    return _MOST_NODES[dimension]


def nodes_for(lengths: Floats) -> tuple[int, ...]:
    """Nodes of the public binning grid along each coordinate: 16 a bandwidth, within limits.

    Linear binning widens a row by at most a sixth of the squared spacing: 1/1500 of h^2.
    """
    most, least = _MOST_NODES[len(lengths)], _LEAST_NODES[len(lengths)]
    return tuple(min(most, max(least, 1 << math.ceil(math.log2(16 / length)))) + 1 for length in lengths)
