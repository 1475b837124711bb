"""Subspaces in which the mean embedding of records is released.  M2, M10.

Kernel functions at public landmarks, made orthonormal (Balog, Tolstikhin and Schoelkopf 2018,
Algorithm 1), or random features in pairs of cosine and sine, whose norm is one (Algorithm 2, E11).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpstrf

from mercer.common.checks import Floats, Ints

__all__ = ["GRAIN", "MOST_LANDMARKS", "MOST_WAVES", "LandmarkSpan", "WaveSpan", "floor_of"]

GRAIN = 34  # bits after the point of the mixing matrix
MOST_LANDMARKS = 10_000
MOST_WAVES = 1 << 16
_GAP = 1e-6  # between eigenvalues that every machine tells apart
_SLACK = 0.03  # share of the sensitivity that rounding of kernel values may add


def floor_of(error: float, size: int) -> float:
    """Least eigenvalue of a Gram matrix of `size` landmarks that is used: public.

    Kernel values are known up to `error`; directions of smaller eigenvalues would make more of it
    than three hundredths of a record.
    """
    return max(2 * size * (error / _SLACK) ** 2, 1000 * _gram_rounding(size))


def _gram_rounding(size: int) -> float:
    """Bound on what rounding does to a Gram matrix and to products with it, as a norm."""
    return 2.0**-52 * (8 * size + 64) * size


def _pivots(gram: Floats, tolerance: float) -> Ints:
    """Landmarks that span what all of them do, up to a squared distance of `tolerance`.

    Rank-revealing Gram-Schmidt: each is the one furthest from the span of those before it.
    """
    _, order, rank, info = dpstrf(gram, tol=tolerance, lower=1)
    if info < 0:
        raise ValueError("the Gram matrix of the landmarks is not finite")
    return np.asarray(order[: max(rank, 1)] - 1, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class LandmarkSpan:
    """Orthonormal combinations of k(z_1, .)..k(z_m, .), by falling eigenvalue of the Gram matrix.

    e(x) = mixing k(Z, x) with mixing K_ZZ mixing' = I: the eigenvectors of the Gram matrix over the
    roots of its eigenvalues.
    """

    gram: Floats  # of the landmarks that are used, over the supremum of the kernel
    floor: float
    even: Floats | None = None  # mean kernel function of all landmarks, at those that are used
    _memory: dict[str, Any] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, gram: Floats, error: float) -> tuple[LandmarkSpan, Ints]:
        """The span of the landmarks with this Gram matrix, and which of them are used."""
        floor = floor_of(error, len(gram))
        used = np.sort(_pivots(gram, floor))
        even = None if len(used) == len(gram) else gram[used].mean(axis=1)
        span = cls(np.ascontiguousarray(gram[np.ix_(used, used)]), floor, even)
        return span.first(span.size), used

    def first(self, most: int) -> LandmarkSpan:
        """The span of the first few coordinates, or fewer.

        Cut where the next eigenvalue is clearly smaller, so that every machine cuts alike: of
        eigenvalues that are equal but for rounding all are kept, or none.
        """
        values = self._whole[0]
        gaps = np.flatnonzero(values[1:] < (1 - _GAP) * values[:-1]) + 1  # sizes of a clear cut
        below = gaps[gaps <= most]
        if most >= len(values) or not len(gaps):
            return self._cut(self.floor)
        cut = int(below[-1] if len(below) else gaps[0])
        floor = math.sqrt(max(float(values[cut - 1] * values[cut]), self.floor**2))
        return self._cut(floor)

    def _cut(self, floor: float) -> LandmarkSpan:
        """With another floor, and eigenvectors that are known already."""
        span = LandmarkSpan(self.gram, floor, self.even)
        span.__dict__["_whole"] = self._whole
        return span

    @cached_property
    def _whole(self) -> tuple[Floats, Floats]:
        """All eigenvalues, falling, and eigenvectors."""
        values, vectors = np.linalg.eigh((self.gram + self.gram.T) / 2)
        return values[::-1], vectors[:, ::-1]

    @cached_property
    def _eigen(self) -> tuple[Floats, Floats]:
        values, vectors = self._whole
        kept = max(int(np.sum(values > self.floor)), 1)
        values, vectors = values[:kept], vectors[:, :kept]
        signs = np.where(vectors[np.argmax(np.abs(vectors), axis=0), np.arange(kept)] < 0, -1, 1)
        return np.maximum(values, self.floor), vectors * signs

    @property
    def eigenvalues(self) -> Floats:
        """Of the Gram matrix, falling."""
        return self._eigen[0]

    @property
    def points(self) -> int:
        """Landmarks that are used."""
        return len(self.gram)

    @property
    def size(self) -> int:
        """Coordinates."""
        return len(self.eigenvalues)

    @cached_property
    def mixing(self) -> Floats:
        """Shape (coordinates, landmarks), in multiples of 2^-34."""
        values, vectors = self._eigen
        whole = np.rint(np.ldexp((vectors / np.sqrt(values)).T, GRAIN))
        return np.ascontiguousarray(np.ldexp(whole, -GRAIN))

    @cached_property
    def gain(self) -> float:
        """Bound on the norm of f -> mixing <k_Z, f>, rounding included: one, nearly.

        Its square is the norm of mixing K mixing'.  Entries of K are known up to 2^-45, and the
        products are wrong by no more than their number of terms times those of absolute values.
        """
        m, size = self.points, np.abs(self.mixing)
        product = self.mixing @ self.gram @ self.mixing.T
        off = float(np.linalg.norm(product - np.eye(self.size)))
        rounding = 2.0**-52 * (m + 4) * float(np.linalg.norm(size @ np.abs(self.gram) @ size.T))
        entries = 2.0**-45 * m * float(np.sum(self.mixing**2))
        return math.sqrt(1 + (off + rounding + entries) * (1 + 1e-9))

    @property
    def reach(self) -> float:
        """Bound on what errors of one in every kernel value can do to the coordinates."""
        return math.sqrt(self.points / float(self.eigenvalues[-1])) * (1 + 1e-9)

    def coordinates(self, values: Floats) -> Floats:
        """Of functions given by their values at the landmarks, one a row or alone."""
        return values @ self.mixing.T

    def weights(self, coordinates: Floats) -> Floats:
        """The same function as a sum of kernel functions at the landmarks."""
        return self.mixing.T @ coordinates


@dataclass(frozen=True, eq=False)
class WaveSpan:
    """phi(u) = (cos(w u), sin(w u)) / sqrt(pairs) at public frequencies w: norm one (E11)."""

    frequencies: Floats  # one row a pair

    @property
    def size(self) -> int:
        """Coordinates: all cosines, then all sines."""
        return 2 * len(self.frequencies)

    def coordinates(self, u: Floats) -> Floats:
        """Features of points, one a row."""
        angle = u @ self.frequencies.T
        return np.concatenate([np.cos(angle), np.sin(angle)], axis=1) / math.sqrt(len(self.frequencies))
