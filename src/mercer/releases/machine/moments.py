"""Least squares from noisy moments, and what their noise does to it.  M21, M17.

A~ = sum phi phi' + noise and c~ = sum y phi + noise are released; the function is post-processing of
them, so that its penalty stays free.  With the penalty lambda and n rows the weights are
(A~+ + n lambda D)^-1 c~, A~+ the part of A~ without negative eigenvalues.  To first order in the noise
(G, z) they are off by P (z - G w), P = (A~+ + n lambda D)^-1: a law that everybody knows.  Right of the
door.  docs/proofs/machines.md, 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.common import streams
from mercer.common.checks import Floats
from mercer.common.files import Fields
from mercer.rules.machines import moment_penalty
from mercer.spaces.maps import FeatureMap
from mercer.spaces.moments import MomentSpan

__all__ = ["LeastSquares", "NoisyMoments", "check_smoothness"]

_PLACES = 2000  # public points at which the size of features is averaged
_ROUGHEST, _SMOOTHEST = 0.0, 4.0
_LEAST = 1e-6  # of the largest feature's mean square: no feature is penalised more than that


@dataclass(frozen=True)
class LeastSquares:
    """Weights, and the law of their noise."""

    weights: Floats
    root: Floats  # of their covariance: the standard deviation of w'phi is |root' phi|
    typical: float  # root mean square of that over the records


@dataclass(frozen=True)
class NoisyMoments:
    """How coordinates are moments, and how a function follows from them."""

    ratio: float  # of the weight of sum y phi beside sum phi phi'
    smoothness: float = 0.0  # of the penalty: features are penalised by their size to this power

    def __post_init__(self) -> None:
        if not 1e-6 <= self.ratio <= 1e6:
            raise ValueError("ratio of moments must be in [1e-6, 1e6]")
        check_smoothness(self.smoothness)

    def span(self, features: FeatureMap) -> MomentSpan:
        """How the coordinates are a matrix and a vector."""
        return MomentSpan(features.size, self.ratio)

    def signals(self, features: FeatureMap, coordinates: Floats) -> Floats:
        """The coordinates of sum y phi: noise alone where the function is zero."""
        return coordinates[-features.size :]

    def rule(self, features: FeatureMap, sd: float, n: int) -> float:
        """The penalty by the public rule, from the noise of a coordinate."""
        return moment_penalty(sd=sd, n=n, size=features.size, dimension=features.dimension)

    def solve(
        self, features: FeatureMap, coordinates: Floats, *, sd: float, penalty: float, n: int
    ) -> LeastSquares:
        """The weights at this penalty; `sd` is that of the noise of a coordinate.

        The covariance of the weights is sd^2 P [(1/ratio^2 + |w|^2/2) I + w w'/2] P.
        """
        matrix, vector = self.span(features).parts(coordinates)
        scale = self._sizes(features)
        values, vectors = np.linalg.eigh(matrix * np.outer(scale, scale))
        turned = vectors * scale[:, None]
        kept = np.maximum(values, 0.0)
        whole = 1 / (kept + n * penalty)
        weights = (turned * whole) @ (turned.T @ vector)
        inverse = (turned * whole) @ turned.T
        square = float(weights @ weights)
        small, large = self.ratio**-2 + square / 2, self.ratio**-2 + square
        middle = math.sqrt(small) * np.eye(features.size)
        if square > 0:
            middle += (math.sqrt(large) - math.sqrt(small)) / square * np.outer(weights, weights)
        root = sd * inverse @ middle
        records = (vectors / scale[:, None]) * np.sqrt(kept)  # a root of A~+
        return LeastSquares(weights, root, float(np.linalg.norm(root.T @ records)) / math.sqrt(n))

    def _sizes(self, features: FeatureMap) -> Floats:
        """D^-1/2: features that are small on the cube are penalised more."""
        if not self.smoothness:
            return np.ones(features.size)
        points = streams.simulation(21).random((_PLACES, features.dimension))
        square = np.mean(features.features(points) ** 2, axis=0)
        return np.asarray(np.maximum(square / square.max(), _LEAST) ** (self.smoothness / 2))

    def to_dict(self) -> dict[str, Any]:
        """Fields from which a file rebuilds it."""
        return {"ratio": self.ratio, "smoothness": self.smoothness}

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Rebuild it; ValueError where a field is out of range."""
        return cls(fields.positive("ratio"), check_smoothness(fields.get("smoothness", int | float)))


def check_smoothness(value: object) -> float:
    """The power of a penalty, in [0, 4]."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not _ROUGHEST <= float(value) <= _SMOOTHEST:  # type: ignore[arg-type]
        raise ValueError(
            f"smoothness must be a number in [0, 4], got {value!r}; 0 penalises all features alike"
        )
    return float(value)  # type: ignore[arg-type]
