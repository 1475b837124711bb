"""What every feature map has, and maps in closed form: powers of the columns, random waves.  M8, E11.

A table of their names rebuilds them from files.
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

from mercer.common import streams
from mercer.common.checks import Floats
from mercer.spaces.bases.base import matrix_of
from mercer.spaces.kernels import KERNELS, MaternKernel, gaussian_frequencies

__all__ = [
    "MAPS",
    "MOST_FEATURES",
    "FeatureMap",
    "Linear",
    "RandomFeatures",
    "Taylor",
    "map_from_dict",
    "shown",
]

MAPS: dict[str, type[FeatureMap]] = {}
MOST_FEATURES = 4096


@dataclass(frozen=True, eq=False)
class FeatureMap(ABC):
    """phi(x) = (constant, features of norm at most one), on the unit cube.

    The constant is left out where it is zero.
    """

    constant: float  # b: the kernel is K + b^2

    name: ClassVar[str]
    ordered: ClassVar[bool] = False  # whether features come in the order of their importance

    def __init_subclass__(cls) -> None:
        if "name" in cls.__dict__:
            MAPS[cls.name] = cls

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number of columns of the data."""

    @property
    @abstractmethod
    def inner(self) -> int:
        """The number of features without the constant."""

    @property
    @abstractmethod
    def words(self) -> str:
        """A description of the features for people."""

    @abstractmethod
    def rows(self, unit: Floats) -> Floats:
        """The features without the constant, before rows are scaled to norm at most one."""

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """The fields, besides name and constant, from which a file rebuilds the map."""

    @classmethod
    @abstractmethod
    def from_fields(cls, constant: float, fields: dict[str, Any]) -> FeatureMap:
        """Rebuild a map from its `fields`; ValueError if one is out of range."""

    @property
    def size(self) -> int:
        """The number m of features, with the constant."""
        return self.inner + (self.constant > 0)

    @property
    def kappa(self) -> float:
        """The largest norm sup |phi(x)| of the features of a row, rounded up."""
        return math.sqrt(1 + self.constant**2) * (1 + 1e-9)

    @property
    @abstractmethod
    def amplification(self) -> float:
        """Root mean square, over the features, of the sum of absolute values of their terms."""

    @property
    def wobble(self) -> float:
        """Bound on how far rounding moves the features of a row when its batch changes.

        Matrix products may add up the same terms in another order.
        """
        terms = 4 * (self.dimension + 64)
        return terms * 2.0**-53 * math.sqrt(self.inner) * self.amplification

    def features(self, unit: Floats) -> Floats:
        """The feature vectors phi of rows of the unit cube: shape (rows, m)."""
        inner = self.rows(unit)
        inner /= np.sqrt(np.maximum(np.einsum("ij,ij->i", inner, inner), 1.0))[:, None]
        if not self.constant:
            return inner
        out = np.empty((len(unit), self.size))
        out[:, 1:] = inner
        out[:, 0] = self.constant
        return out

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, from which `map_from_dict` rebuilds the same map."""
        return {"name": self.name, "constant": self.constant, **self.fields()}


def map_from_dict(fields: object) -> FeatureMap:
    """Rebuild a map from a table of names: nothing named in a file is ever imported."""
    name = fields.get("name") if isinstance(fields, dict) else None
    if not isinstance(fields, dict) or not isinstance(name, str) or name not in MAPS:
        raise ValueError(f"unknown features {name!r}; this version knows {', '.join(MAPS)}")
    constant = fields.get("constant")
    if isinstance(constant, bool) or not isinstance(constant, (int, float)) or not 0 <= constant <= 100:
        raise ValueError("constant of the features must be a number in [0, 100]")
    return MAPS[name].from_fields(float(constant), fields)


def shown(lengths: Floats) -> str:
    """A bandwidth formatted for people, as a share of the width."""
    values = [f"{h:.3g}" for h in lengths]
    return f"{values[0] if len(set(values)) == 1 else ', '.join(values)} of the width"


@dataclass(frozen=True, eq=False)
class Linear(FeatureMap):
    """The linear kernel on the cube: features 2 (x - middle) / sqrt(d)."""

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

    @property
    def amplification(self) -> float:
        return 1.0

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
    """Taylor features of the Gaussian kernel around the middle of the cube: few, and orthonormal.

    e_a(x) = exp(-|u|^2 / 2) prod u_i^a_i / sqrt(a!), u = (x - middle) / bandwidth, for all a of
    total degree at most `degree`; all degrees together are the kernel.
    """

    lengths: Floats
    degree: int

    name = "taylor"
    ordered = True

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
            f"bandwidth {shown(self.lengths)}"
        )

    @cached_property
    def _terms(self) -> list[tuple[tuple[int, ...], float]]:
        out = []
        for k in range(self.degree + 1):
            for term in itertools.combinations_with_replacement(range(self.dimension), k):
                counts = [term.count(i) for i in set(term)]
                out.append((term, 1 / math.sqrt(math.prod(map(math.factorial, counts)))))
        return out

    @property
    def amplification(self) -> float:
        return 1.0

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
        lengths = matrix_of([fields.get("lengths")], "lengths")[0]
        degree = fields.get("degree")
        if isinstance(degree, bool) or not isinstance(degree, int) or not 0 <= degree <= 8:
            raise ValueError("degree of features must be a whole number up to 8")
        built = cls(constant, lengths, degree)
        if np.any(lengths <= 0) or built.inner > MOST_FEATURES:
            raise ValueError("lengths of features must be above 0, and their number at most 4096")
        return built


@dataclass(frozen=True, eq=False)
class RandomFeatures(FeatureMap):
    """cos(w x), sin(w x) at public random frequencies w, in pairs: norm exactly one (E11)."""

    frequencies: Floats  # one row a pair, in radians over the unit cube
    origin: str  # of which kernel

    name = "random"

    @classmethod
    def spanning(cls, constant: float, kernel: str, lengths: Floats, size: int) -> RandomFeatures:
        """`size` features for a kernel that is a product over the columns.

        Frequencies have the kernel's spectral law and are drawn from a fixed public stream.
        """
        d, pairs = len(lengths), (size + 1) // 2
        rng = streams.simulation(17)
        shape = KERNELS[kernel]
        if issubclass(shape, MaternKernel):
            nu = shape.states - 0.5
            w = stdtrit(2 * nu, rng.random((pairs, d)))
        else:
            w = gaussian_frequencies(pairs, d, rng)
        words = f"{kernel} kernel, bandwidth {shown(lengths)}"
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

    @property
    def amplification(self) -> float:
        sums = 1 + np.abs(self.frequencies).sum(axis=1)
        return float(np.sqrt(np.mean(sums**2) / (self.inner / 2)))

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
        w = matrix_of(fields.get("frequencies"), "frequencies")
        origin = fields.get("origin")
        if len(w) > MOST_FEATURES or not isinstance(origin, str) or len(origin) > 200:
            raise ValueError("frequencies of features must be a matrix of a stated kernel")
        return cls(constant, w, origin)
