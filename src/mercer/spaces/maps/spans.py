"""Feature maps whose features are orthonormal functions of a kernel's space.  M2."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from mercer.common.checks import Floats, Ints
from mercer.spaces.bases import Eigenfunctions, Landmarks
from mercer.spaces.bases.base import matrix_of
from mercer.spaces.kernels import KERNELS, Kernel
from mercer.spaces.maps.base import MOST_FEATURES, FeatureMap, shown

__all__ = ["LandmarkMap", "TensorMap"]

_MOST = 64  # functions of one column
_TRACE = 0.995  # share of the kernel that is kept


@dataclass(frozen=True, eq=False)
class LandmarkMap(FeatureMap):
    """Kernel functions at public points, made orthonormal: K_m is the kernel's projection (M2)."""

    basis: Landmarks

    name = "landmarks"

    @classmethod
    def spanning(cls, constant: float, kernel: str, lengths: Floats, points: Floats | int) -> LandmarkMap:
        """The map for these public points; for an integer, about so many points of an even grid."""
        noise = _kernel(kernel, lengths)
        if isinstance(points, int):
            return cls(constant, Landmarks.spanning(noise, points))
        rows = tuple(tuple(float(v) for v in row) for row in np.unique(points, axis=0))
        return cls(constant, Landmarks(noise, rows))

    @property
    def dimension(self) -> int:
        return self.basis.dimension

    @property
    def inner(self) -> int:
        return self.basis.size

    @property
    def words(self) -> str:
        kernel = self.basis.kernel
        return f"{self.inner} public landmarks, {kernel.name} kernel, bandwidth {shown(kernel.lengths)}"

    @property
    def amplification(self) -> float:
        sums = np.abs(self.basis.mixing).sum(axis=1)
        return _rms(sums) * max(1.0, len(self.basis.points) / 64)

    def rows(self, unit: Floats) -> Floats:
        return self.basis.features(unit)

    def fields(self) -> dict[str, Any]:
        return {"basis": self.basis.to_dict()}

    @classmethod
    def from_fields(cls, constant: float, fields: dict[str, Any]) -> LandmarkMap:
        basis = fields.get("basis")
        if not isinstance(basis, dict):
            raise ValueError("features at landmarks must name them")
        return cls(constant, Landmarks.from_dict(basis))


@dataclass(frozen=True, eq=False)
class TensorMap(FeatureMap):
    """Eigenfunctions of a product kernel: products of one for each column (thesis 3.2.2)."""

    axes: tuple[Eigenfunctions, ...]  # of one column each
    terms: Ints  # one row a feature: which function of each column

    name = "eigenfunctions"
    ordered = True

    @classmethod
    def spanning(
        cls, constant: float, kernel: str, lengths: Floats, size: int, *, level: bool = False
    ) -> TensorMap:
        """At most `size` products, those of largest eigenvalue, up to 99.5 % of the kernel.

        With `level`, instead all those of total degree at most some bound.
        """
        pairs = [_line(kernel, h) for h in lengths.tolist()]
        axes, values = tuple(axis for axis, _ in pairs), [value for _, value in pairs]
        product = values[0]
        for more in values[1:]:
            product = np.multiply.outer(product, more)
        places = np.stack(np.unravel_index(np.arange(product.size), product.shape), axis=1)
        flat = product.reshape(-1)
        order = np.argsort(-flat, kind="stable")
        if level:
            total = places.sum(axis=1)
            degree = max(q for q in range(len(values[0])) if np.sum(total <= q) <= max(size, 1))
            order = order[total[order] <= degree]
        else:
            share = np.cumsum(flat[order])
            order = order[: min(size, int(np.searchsorted(share, _TRACE)) + 1)]
        return cls(constant, _trimmed(axes, places[order]), places[order])

    @property
    def dimension(self) -> int:
        return len(self.axes)

    @property
    def inner(self) -> int:
        return len(self.terms)

    @property
    def words(self) -> str:
        kernel = self.axes[0].kernel
        lengths = np.array([axis.kernel.lengths[0] for axis in self.axes])
        return f"{self.inner} eigenfunctions of the {kernel.name} kernel, bandwidth {shown(lengths)}"

    @property
    def amplification(self) -> float:
        each = [np.abs(axis.mixing).sum(axis=1) for axis in self.axes]
        return _rms(sum(sums[self.terms[:, k]] for k, sums in enumerate(each)))

    def rows(self, unit: Floats) -> Floats:
        out = np.ones((len(unit), self.inner))
        for column, axis in enumerate(self.axes):
            out *= axis.features(unit[:, column : column + 1])[:, self.terms[:, column]]
        return out

    def fields(self) -> dict[str, Any]:
        distinct: list[Eigenfunctions] = []
        for axis in self.axes:
            if axis not in distinct:
                distinct.append(axis)
        return {
            "bases": [axis.to_dict() for axis in distinct],
            "axes": [distinct.index(axis) for axis in self.axes],
            "terms": self.terms.tolist(),
        }

    @classmethod
    def from_fields(cls, constant: float, fields: dict[str, Any]) -> TensorMap:
        given, places = fields.get("bases"), fields.get("axes")
        if not (
            isinstance(given, list) and isinstance(places, list) and len(given) <= 3 and 1 <= len(places) <= 3
        ):
            raise ValueError("eigenfunctions must be of one to three columns")
        bases = [Eigenfunctions.from_dict(basis) for basis in given]
        if any(basis.dimension != 1 for basis in bases):
            raise ValueError("eigenfunctions must be products over the columns")
        if any(isinstance(p, bool) or not isinstance(p, int) or not 0 <= p < len(bases) for p in places):
            raise ValueError("axes of eigenfunctions must be numbers of bases")
        axes = tuple(bases[p] for p in places)
        terms = matrix_of(fields.get("terms"), "terms")
        whole = terms.astype(np.int64)
        most = np.array([axis.size for axis in axes])
        if terms.shape[1] != len(axes) or len(terms) > MOST_FEATURES or np.any(whole != terms):
            raise ValueError("terms of eigenfunctions must be whole numbers, one a column")
        if np.any(whole < 0) or np.any(whole >= most):
            raise ValueError("terms of eigenfunctions name functions that are not there")
        return cls(constant, axes, whole)


@lru_cache(maxsize=32)
def _line(kernel: str, length: float) -> tuple[Eigenfunctions, Floats]:
    """Eigenfunctions of one column, and their eigenvalues."""
    axis = Eigenfunctions.spanning(_kernel(kernel, np.array([length])), _MOST, side=96)
    weights = np.polynomial.legendre.leggauss(len(axis.points))[1] / 2
    return axis, np.asarray(weights @ axis.features(np.array(axis.points)) ** 2)


def _trimmed(axes: tuple[Eigenfunctions, ...], terms: Ints) -> tuple[Eigenfunctions, ...]:
    """The bases of the columns, cut to the functions that the terms use."""
    kept: dict[int, Eigenfunctions] = {}
    most = {id(axis): 0 for axis in axes}
    for column, axis in enumerate(axes):
        most[id(axis)] = max(most[id(axis)], int(terms[:, column].max()) + 1)
    for axis in axes:
        kept[id(axis)] = Eigenfunctions(axis.kernel, axis.points, axis.matrix[: most[id(axis)]])
    return tuple(kept[id(axis)] for axis in axes)


def _rms(values: Any) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _kernel(name: str, lengths: Floats) -> Kernel:
    matrix = np.diag(np.square(lengths))
    return KERNELS[name](tuple(tuple(float(v) for v in row) for row in matrix))
