"""Symmetric matrices and vectors as coordinates in which their lengths are kept.  M21.

Moments of features phi and a response y are sum phi phi' and sum y phi.  As coordinates they are
(A_jj, sqrt(2) A_jk for j < k, ratio c_j): squares add up to |A|^2 + ratio^2 |c|^2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer.common.checks import Floats, Ints

__all__ = ["MomentSpan"]


@dataclass(frozen=True)
class MomentSpan:
    """A symmetric matrix and a vector of so many features as one vector."""

    features: int
    ratio: float  # weight of the vector beside the matrix

    def __post_init__(self) -> None:
        if self.features < 1 or not 1e-6 <= self.ratio <= 1e6:
            raise ValueError("moments must be of at least one feature, their ratio between 1e-6 and 1e6")

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.features * (self.features + 1) // 2 + self.features

    @cached_property
    def _upper(self) -> tuple[Ints, Ints]:
        """Places in the matrix: the diagonal, then what is above it, row by row."""
        rows, columns = np.triu_indices(self.features, 1)
        line = np.arange(self.features)
        return np.concatenate([line, rows]), np.concatenate([line, columns])

    def coordinates(self, matrix: Floats, vector: Floats) -> Floats:
        """The coordinates of a matrix, of which the upper triangle is read, and a vector."""
        inner = matrix[self._upper].astype(np.float64)
        inner[self.features :] *= math.sqrt(2)
        return np.concatenate([inner, vector * self.ratio])

    def parts(self, coordinates: Floats) -> tuple[Floats, Floats]:
        """The matrix and the vector of these coordinates."""
        m = self.features
        inner = np.array(coordinates[:-m], dtype=np.float64)
        inner[m:] /= math.sqrt(2)
        matrix = np.zeros((m, m))
        matrix[self._upper] = inner
        matrix[self._upper[::-1]] = inner
        return matrix, np.asarray(coordinates[-m:]) / self.ratio
