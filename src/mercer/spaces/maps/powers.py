"""Features that are powers of the columns: linear, and the leading Gaussian ones."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.common.checks import Floats
from mercer.spaces.bases.base import matrix_of
from mercer.spaces.maps.base import MOST_FEATURES, FeatureMap, shown

__all__ = ["Linear", "Taylor"]


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
