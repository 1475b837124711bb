"""Features in closed form: powers of the columns, and waves at public frequencies.  M8, E11."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import stdtrit

from mercer.common import streams
from mercer.common.checks import Floats
from mercer.spaces.bases.base import matrix_of
from mercer.spaces.kernels import KERNELS, MaternKernel
from mercer.spaces.maps.base import MOST_FEATURES, FeatureMap, shown

__all__ = ["Linear", "RandomFeatures", "Taylor"]


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
    """The Gaussian kernel's leading functions around the middle of the cube, few and orthonormal.

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

        Frequencies have the kernel's spectral law, and are orthogonal in blocks for the Gaussian
        kernel, which makes the average converge faster; drawn from a fixed public stream.
        """
        d, pairs = len(lengths), (size + 1) // 2
        rng = streams.simulation(17)
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
