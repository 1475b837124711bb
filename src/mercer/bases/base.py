"""What every basis does.  Layer 1."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mercer.checks import Floats, Ints
from mercer.exact import Exact, contract
from mercer.kernels import KERNELS, Kernel

__all__ = ["Basis", "Features", "basis_from_dict", "kernel_from_dict", "kernel_to_dict"]

REGISTRY: dict[str, type[Basis]] = {}


@dataclass(frozen=True)
class Features:
    """The feature vector of every node of a public grid, in integers (M3.2, M3.3, M5).

    A row x contributes a convex combination of node vectors u(g).  `norm` bounds |u(g)|,
    `diameter` bounds |u(g) - u(g')| and |u(g)|, both of the *quantised* vectors.
    """

    shape: tuple[int, ...]  # nodes along each coordinate
    tables: tuple[Ints, ...]  # one (functions, nodes) table a coordinate, or one for all nodes
    unit: Fraction  # one step of a product of table entries
    norm: float
    diameter: float
    rows: tuple[tuple[Ints, Ints], ...] = ()  # see `combine`
    weights: tuple[int, ...] = ()  # an integer factor for each coordinate, in `unit`

    def total(self, counts: Ints, weight: int) -> Exact:
        """sum_g counts[g] u(g) / weight, exactly; `weight` bounds the sum of counts."""
        if len(self.tables) == 1:
            counts = counts.reshape(-1)
        whole = self.combine(contract(counts, self.tables, weight).reshape(-1))
        return Exact([int(value) for value in whole], self.unit / weight)

    def combine(self, whole: NDArray[Any]) -> NDArray[Any]:
        """Signed sums of table products, times the integer weights.

        Row k of the result is weights[k] * sum_j sign[k, j] whole[index[k, j]], each of `rows`
        one column j; without rows all products stand as they are.
        """
        if self.rows:
            parts = [whole[index] * sign.astype(object) for index, sign in self.rows]
            whole = sum(parts[1:], parts[0])
        if self.weights:
            whole = whole * np.array(self.weights, dtype=object)
        return whole


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
        """m, the number of coordinates."""

    @property
    @abstractmethod
    def deficit(self) -> float:
        """Bound on sup_x K(x, x) - |e(x)|^2: what truncation leaves out (M2)."""

    @abstractmethod
    def features(self, x: Floats, orders: tuple[int, ...] | None = None) -> Floats:
        """e(x), or its partial derivatives, at the rows of x: shape (points, m)."""

    @abstractmethod
    def row_features(self, smoother: Kernel) -> Features:
        """u(g) = <s(. - g), e_j> for a row at node g, s the smoother's density."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, from which `basis_from_dict` rebuilds the same basis."""

    @classmethod
    @abstractmethod
    def from_dict(cls, fields: dict[str, Any]) -> Basis:
        """Rebuild; ValueError if a field is out of range."""

    def evaluate(
        self, x: Floats, coordinates: Floats, orders: tuple[int, ...] | None = None
    ) -> Floats:
        """sum_j c_j e_j(x)."""
        step = max(1, (1 << 22) // self.size)
        parts = [
            self.features(x[i : i + step], orders) @ coordinates for i in range(0, len(x), step)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def on_grid(self, ticks: Sequence[Floats], coordinates: Floats) -> Floats:
        """Values on a tensor grid."""
        mesh = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1)
        return self.evaluate(mesh.reshape(-1, len(ticks)), coordinates).reshape(mesh.shape[:-1])


def basis_from_dict(fields: dict[str, Any]) -> Basis:
    """Rebuild a basis from a table of names: nothing named in a file is ever imported."""
    name = fields.get("name")
    if not isinstance(name, str) or name not in REGISTRY:
        raise ValueError(f"unknown basis {name!r}; this version knows {', '.join(REGISTRY)}")
    return REGISTRY[name].from_dict(fields)


def kernel_to_dict(kernel: Kernel) -> dict[str, Any]:
    """Name and covariance of a kernel."""
    return {"name": kernel.name, "covariance": [list(row) for row in kernel.covariance]}


def kernel_from_dict(fields: object) -> Kernel:
    """Rebuild a kernel, checking that its covariance is one."""
    if not isinstance(fields, dict) or fields.get("name") not in KERNELS:
        named = fields.get("name") if isinstance(fields, dict) else fields
        raise ValueError(f"unknown kernel {named!r}; this version knows {', '.join(KERNELS)}")
    return KERNELS[fields["name"]](covariance_of(fields.get("covariance")))


def covariance_of(value: object) -> tuple[tuple[float, ...], ...]:
    """A symmetric positive definite matrix of dimension one to three, as tuples."""
    try:
        matrix = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError("a kernel's covariance must be a matrix of numbers") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not 1 <= len(matrix) <= 3:
        raise ValueError(f"a kernel's covariance must be 1x1 to 3x3, got shape {matrix.shape}")
    if not np.all(np.isfinite(matrix)) or not np.array_equal(matrix, matrix.T):
        raise ValueError("a kernel's covariance must be finite and symmetric")
    scale = np.sqrt(np.abs(np.diag(matrix)))
    if not np.all(np.diag(matrix) > 0) or np.linalg.eigvalsh(matrix / np.outer(scale, scale))[0] <= 1e-9:  # fmt: skip  # noqa: E501
        raise ValueError("a kernel's covariance must be positive definite")
    if not (scale.min() >= 1e-5 and scale.max() <= 1e3):
        raise ValueError(
            "a bandwidth must be between 1e-5 and 1e3 times the width of the bounds, got "
            f"{', '.join(f'{s:g}' for s in scale)} times"
        )
    return tuple(tuple(float(v) for v in row) for row in matrix)


def positive_int(fields: dict[str, Any], key: str, most: int) -> int:
    """A whole number in [1, most] from a file."""
    value = fields.get(key)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise ValueError(f"basis {key} must be a whole number in [1, {most}]")
    return value


def nodes_for(lengths: Floats) -> tuple[int, ...]:
    """Nodes of the public binning grid along each coordinate: 16 a bandwidth, within limits.

    Linear binning widens a row by at most a sixth of the squared spacing: 1/1500 of h^2.
    """
    most = {1: 1 << 15, 2: 1 << 10, 3: 1 << 7}[len(lengths)]
    least = {1: 1 << 10, 2: 1 << 7, 3: 1 << 5}[len(lengths)]
    return tuple(
        min(most, max(least, 1 << math.ceil(math.log2(16 / length)))) + 1 for length in lengths
    )
