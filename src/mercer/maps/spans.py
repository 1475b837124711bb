"""Features that are orthonormal functions of a kernel's space.  Layer 1.  M2."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.bases import Basis, Eigenfunctions, Landmarks, basis_from_dict
from mercer.bases.points import PointBasis
from mercer.checks import Floats
from mercer.kernels import KERNELS, Kernel
from mercer.maps.base import FeatureMap, shown

__all__ = ["BasisMap"]


@dataclass(frozen=True, eq=False)
class BasisMap(FeatureMap):
    """Orthonormal functions of the kernel's space: K_m is the kernel's projection (M2)."""

    basis: Basis

    name = "basis"

    @classmethod
    def eigenfunctions(cls, constant: float, kernel: str, lengths: Floats, size: int) -> BasisMap:
        """The first eigenfunctions of the kernel on the cube, where it has up to three sides."""
        return cls(constant, Eigenfunctions.spanning(_kernel(kernel, lengths), size))

    @classmethod
    def landmarks(
        cls, constant: float, kernel: str, lengths: Floats, points: Floats | int
    ) -> BasisMap:
        """Kernel functions at public points, or at about so many points of a grid."""
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
        of = f"{self.basis.kernel.name} kernel, bandwidth {shown(self.basis.kernel.lengths)}"
        if isinstance(self.basis, Eigenfunctions):
            return f"{self.inner} eigenfunctions of the {of}"
        return f"{self.inner} public landmarks, {of}"

    @property
    def blocks(self) -> tuple[int, ...]:
        if not isinstance(self.basis, Eigenfunctions):
            return (self.size,)
        sizes, left = [4], self.size - 4
        while left > 0:
            sizes.append(min(2 * sizes[-1], left))
            left -= sizes[-1]
        return tuple(sizes) if self.size > 4 else (self.size,)

    def rows(self, unit: Floats) -> Floats:
        return self.basis.features(unit)

    def fields(self) -> dict[str, Any]:
        return {"basis": self.basis.to_dict()}

    @classmethod
    def from_fields(cls, constant: float, fields: dict[str, Any]) -> BasisMap:
        basis = fields.get("basis")
        if not isinstance(basis, dict):
            raise ValueError("features on a basis must name it")
        built = basis_from_dict(basis)
        if not isinstance(built, PointBasis):
            raise ValueError(f"features cannot stand on the basis {built.name!r}")
        return cls(constant, built)


def _kernel(name: str, lengths: Floats) -> Kernel:
    matrix = np.diag(np.square(lengths))
    return KERNELS[name](tuple(tuple(float(v) for v in row) for row in matrix))
