"""Feature maps of kernel machines: x -> phi(x) with |phi(x)| <= kappa, public.  Layer 1.  M8.

A machine lives in the span of finitely many features, and its weights there are what is
released.  The kernel is phi(x)'phi(y) = K_m(x, y) + constant^2: the constant stands for the
intercept, which has no bound of its own (M8).  K_m is the kernel projected on landmarks or
eigenfunctions, its average over random frequencies, or the linear kernel; K_m(x, x) <= 1, and
rows are scaled to that where rounding would exceed it, so that kappa holds by construction.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import stdtrit

from mercer import entropy
from mercer.bases import Basis, Eigenfunctions, Landmarks, basis_from_dict
from mercer.bases.points import PointBasis
from mercer.checks import Floats
from mercer.kernels import KERNELS, MaternKernel

__all__ = ["MAPS", "BasisMap", "FeatureMap", "Linear", "RandomFeatures", "Taylor", "map_from_dict"]

MAPS: dict[str, type[FeatureMap]] = {}
_MOST_FEATURES = 4096


@dataclass(frozen=True, eq=False)
class FeatureMap(ABC):
    """phi(x) = (constant, features of norm at most one), on the unit cube."""

    constant: float  # b: the kernel is K + b^2

    name: ClassVar[str]

    def __init_subclass__(cls) -> None:
        if "name" in cls.__dict__:
            MAPS[cls.name] = cls

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Columns of the data."""

    @property
    @abstractmethod
    def inner(self) -> int:
        """Features beside the constant."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What they are, for people."""

    @abstractmethod
    def rows(self, unit: Floats) -> Floats:
        """The features but the constant, before any scaling."""

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """What a file needs to rebuild it, beside name and constant."""

    @classmethod
    @abstractmethod
    def from_fields(cls, constant: float, fields: dict[str, Any]) -> FeatureMap:
        """Rebuild; ValueError if a field is out of range."""

    @property
    def size(self) -> int:
        """m, the number of features, the constant included."""
        return self.inner + 1

    @property
    def kappa(self) -> float:
        """sup |phi(x)|, rounded up."""
        return math.sqrt(1 + self.constant**2) * (1 + 1e-9)

    @property
    def blocks(self) -> tuple[int, ...]:
        """Sizes of groups of features of falling importance, for shrinkage (M17)."""
        return (self.size,)

    def features(self, unit: Floats) -> Floats:
        """phi at rows of the unit cube: shape (rows, m)."""
        out = np.empty((len(unit), self.size))
        inner = out[:, 1:]
        inner[:] = self.rows(unit)
        length = np.sqrt(np.einsum("ij,ij->i", inner, inner))
        inner /= np.maximum(length, 1.0)[:, None]
        out[:, 0] = self.constant
        return out

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, from which `map_from_dict` rebuilds the same map."""
        return {"name": self.name, "constant": self.constant, **self.fields()}


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
        of = f"{self.basis.kernel.name} kernel, bandwidth {_shown(self.basis.kernel.lengths)}"
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


@dataclass(frozen=True, eq=False)
class RandomFeatures(FeatureMap):
    """cos(w x), sin(w x) at public random frequencies w, in pairs: norm exactly one (E11)."""

    frequencies: Floats  # one row a pair, in radians over the unit cube
    origin: str  # of which kernel

    name = "random"

    @classmethod
    def spanning(
        cls, constant: float, kernel: str, lengths: Floats, size: int
    ) -> RandomFeatures:
        """`size` features for a kernel that is a product over the columns.

        Frequencies have the kernel's spectral law, and are orthogonal in blocks for the Gaussian
        kernel, which makes the average converge faster; drawn from a fixed public stream.
        """
        d, pairs = len(lengths), (size + 1) // 2
        rng = entropy.simulation(17)
        shape = KERNELS[kernel]
        if issubclass(shape, MaternKernel):
            nu = shape.states - 0.5
            w = stdtrit(2 * nu, rng.random((pairs, d)))
        else:
            blocks = []
            for _ in range(math.ceil(pairs / d)):
                q, r = np.linalg.qr(rng.standard_normal((d, d)))
                lengths_of = np.sqrt(rng.chisquare(d, d))
                blocks.append(lengths_of[:, None] * (q * np.sign(np.diag(r))))
            w = np.concatenate(blocks)[:pairs]
        words = f"{kernel} kernel, bandwidth {_shown(lengths)}"
        return cls(constant, np.ldexp(np.rint(np.ldexp(w / lengths, 24)), -24), words)

    @property
    def dimension(self) -> int:
        return int(self.frequencies.shape[1])

    @property
    def inner(self) -> int:
        return 2 * len(self.frequencies)

    @property
    def words(self) -> str:
        return f"{self.inner} random features (cosines and sines) of the {self.origin}"

    def rows(self, unit: Floats) -> Floats:
        angle = unit @ self.frequencies.T
        pairs = len(self.frequencies)
        out = np.empty((len(unit), 2 * pairs))
        np.cos(angle, out=out[:, :pairs])
        np.sin(angle, out=out[:, pairs:])
        out *= 1 / math.sqrt(pairs)
        return out

    def fields(self) -> dict[str, Any]:
        return {"frequencies": self.frequencies.tolist(), "origin": self.origin}

    @classmethod
    def from_fields(cls, constant: float, fields: dict[str, Any]) -> RandomFeatures:
        w = _matrix(fields.get("frequencies"), "frequencies")
        origin = fields.get("origin")
        if len(w) > _MOST_FEATURES or not isinstance(origin, str) or len(origin) > 200:
            raise ValueError("frequencies of features must be a matrix of a stated kernel")
        return cls(constant, w, origin)


@dataclass(frozen=True, eq=False)
class Linear(FeatureMap):
    """2 (x - middle) / sqrt(d): the linear kernel on the cube."""

    columns: int

    name = "linear"

    @property
    def dimension(self) -> int:
        return self.columns

    @property
    def inner(self) -> int:
        return self.columns

    @property
    def words(self) -> str:
        return f"the {self.columns} column(s) themselves (linear kernel)"

    def rows(self, unit: Floats) -> Floats:
        return (unit - 0.5) * (2 / math.sqrt(self.columns))

    def fields(self) -> dict[str, Any]:
        return {"columns": self.columns}

    @classmethod
    def from_fields(cls, constant: float, fields: dict[str, Any]) -> Linear:
        columns = fields.get("columns")
        if isinstance(columns, bool) or not isinstance(columns, int) or not 1 <= columns <= 10**4:
            raise ValueError("columns of linear features must be a whole number above 0")
        return cls(constant, columns)


@dataclass(frozen=True, eq=False)
class Taylor(FeatureMap):
    """The Gaussian kernel's leading functions around the middle of the cube, few and orthonormal.

    e_a(x) = exp(-|u|^2 / 2) prod u_i^a_i / sqrt(a!), u = (x - middle) / bandwidth, for all a of
    total degree at most `degree`; all degrees together are the kernel.
    """

    lengths: Floats
    degree: int

    name = "taylor"

    @property
    def dimension(self) -> int:
        return len(self.lengths)

    @property
    def inner(self) -> int:
        return math.comb(self.dimension + self.degree, self.degree)

    @property
    def words(self) -> str:
        return (
            f"{self.inner} Taylor features of degree {self.degree} of the gaussian kernel, "
            f"bandwidth {_shown(self.lengths)}"
        )

    @property
    def blocks(self) -> tuple[int, ...]:
        d = self.dimension
        rest = [math.comb(d + k - 1, k) for k in range(1, self.degree + 1)]
        return (2, *rest)

    @cached_property
    def _terms(self) -> list[tuple[tuple[int, ...], float]]:
        out = []
        for k in range(self.degree + 1):
            for term in itertools.combinations_with_replacement(range(self.dimension), k):
                counts = [term.count(i) for i in set(term)]
                out.append((term, 1 / math.sqrt(math.prod(map(math.factorial, counts)))))
        return out

    def rows(self, unit: Floats) -> Floats:
        u = (unit - 0.5) / self.lengths
        decay = np.exp(-np.einsum("ij,ij->i", u, u) / 2)
        out = np.empty((len(unit), self.inner))
        for place, (term, weight) in enumerate(self._terms):
            column = decay * weight
            for i in term:
                column = column * u[:, i]
            out[:, place] = column
        return out

    def fields(self) -> dict[str, Any]:
        return {"lengths": self.lengths.tolist(), "degree": self.degree}

    @classmethod
    def from_fields(cls, constant: float, fields: dict[str, Any]) -> Taylor:
        lengths = _matrix([fields.get("lengths")], "lengths")[0]
        degree = fields.get("degree")
        if isinstance(degree, bool) or not isinstance(degree, int) or not 0 <= degree <= 8:
            raise ValueError("degree of features must be a whole number up to 8")
        built = cls(constant, lengths, degree)
        if np.any(lengths <= 0) or built.inner > _MOST_FEATURES:
            raise ValueError("lengths of features must be above 0, and their number at most 4096")
        return built


def map_from_dict(fields: object) -> FeatureMap:
    """Rebuild a map from a table of names: nothing named in a file is ever imported."""
    name = fields.get("name") if isinstance(fields, dict) else None
    if not isinstance(fields, dict) or not isinstance(name, str) or name not in MAPS:
        raise ValueError(f"unknown features {name!r}; this version knows {', '.join(MAPS)}")
    constant = fields.get("constant")
    if isinstance(constant, bool) or not isinstance(constant, (int, float)) or not 0 <= constant <= 100:  # fmt: skip  # noqa: E501
        raise ValueError("constant of the features must be a number in [0, 100]")
    return MAPS[name].from_fields(float(constant), fields)


def _kernel(name: str, lengths: Floats) -> Any:
    matrix = np.diag(np.square(lengths))
    return KERNELS[name](tuple(tuple(float(v) for v in row) for row in matrix))


def _shown(lengths: Floats) -> str:
    values = [f"{h:.3g}" for h in lengths]
    return f"{values[0] if len(set(values)) == 1 else ', '.join(values)} of the width"


def _matrix(value: object, what: str) -> Floats:
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{what} of features must be numbers") from None
    if array.ndim != 2 or array.size == 0 or not np.all(np.isfinite(array)):
        raise ValueError(f"{what} of features must be a finite matrix, got shape {array.shape}")
    return array
