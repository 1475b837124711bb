"""Kernels on records of mixed columns, and of any other kind.  M10.

A record is a row of codes, one number a column (`columns.kinds`).  A product kernel sees it as a
point u of a few coordinates, one for a numeric column and one a level for a category, scaled so
that the Gaussian kernel is exp(-|u - v|^2 / 2): categories that differ give exp(-a).

The mean embedding of records is released in a subspace: kernel functions at public landmarks,
made orthonormal (M2; Balog, Tolstikhin and Schoelkopf 2018, Algorithm 1), or random features in
pairs of cosine and sine, whose norm is one (Algorithm 2, E11).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpstrf
from scipy.spatial.distance import cdist
from scipy.special import stdtrit

from mercer.columns.table import Domain
from mercer.common import streams
from mercer.common.checks import Bools, Floats, Ints, check_positive
from mercer.common.quiet import quiet
from mercer.spaces.kernels import KERNELS, MaternKernel, gaussian_frequencies

__all__ = ["GRAIN", "MOST_LANDMARKS", "MOST_WAVES", "LandmarkSpan", "OwnKernel", "RecordKernel", "WaveSpan"]


@dataclass(frozen=True)
class RecordKernel:
    """A kernel that is a product over the columns, with k(x, x) = 1 and k >= 0."""

    domain: Domain
    name: str  # of the factors of numeric columns
    scales: tuple[float, ...]  # a numeric column: length, as a share of the width; else: a

    def __post_init__(self) -> None:
        if self.name not in KERNELS:
            raise ValueError(f"kernel must be one of {', '.join(KERNELS)}, got {self.name!r}")
        if len(self.scales) != self.domain.dimension:
            raise ValueError(
                f"scales must be one number for each of the {self.domain.dimension} columns, got "
                f"{len(self.scales)}"
            )
        for column, scale in zip(self.domain.columns, self.scales, strict=True):
            least, most = (1e-4, 1e4) if column.numeric else (1e-6, 100.0)
            if not (math.isfinite(scale) and least <= scale <= most):
                what = "a share of the width" if column.numeric else "exp(-scale) if they differ"
                raise ValueError(
                    f"scale of {column.name!r} must be in [{least:g}, {most:g}], got {scale!r}: " + what
                )

    supremum = 1.0

    @property
    def universal(self) -> bool:
        """Whether its space is dense in the continuous functions of the domain: all of them are."""
        return True

    @cached_property
    def factors(self) -> Floats:
        """The factors by which the coordinates of an embedded record are multiplied."""
        parts = [
            np.full(column.width, 1 / scale if column.numeric else math.sqrt(scale))
            for column, scale in zip(self.domain.columns, self.scales, strict=True)
        ]
        return _fixed(np.concatenate(parts))

    @cached_property
    def straight(self) -> Bools:
        """Which coordinates belong to numeric columns."""
        parts = [np.full(column.width, column.numeric) for column in self.domain.columns]
        return np.concatenate(parts)

    def embed(self, codes: Floats) -> Floats:
        """Records as points, rounded to single precision.  Kernel values are those of the rounded points."""
        return (self.domain.embed(codes) * self.factors).astype(np.float32).astype(np.float64)

    def between(self, u: Floats, v: Floats) -> Floats:
        """The matrix of kernel values between embedded points."""
        if self.name == "gaussian":
            return np.asarray(np.exp(cdist(u, v, "sqeuclidean") * -0.5))
        flat = ~self.straight
        value = np.asarray(np.exp(cdist(u[:, flat], v[:, flat], "sqeuclidean") * -0.5))
        one = KERNELS[self.name](((1.0,),))
        for axis in np.flatnonzero(self.straight):
            value *= one.profile(u[:, None, axis] - v[None, :, axis], 0)
        return value

    def __call__(self, x: Floats, y: Floats) -> Floats:
        """Matrix of k(x_i, y_j) of records given by their codes."""
        return self.between(self.embed(x), self.embed(y))

    def frequencies(self, pairs: int) -> Floats:
        """Public random frequencies with the kernel's spectral law, orthogonal in blocks."""
        d, rng = len(self.factors), streams.simulation(29)
        w = gaussian_frequencies(pairs, d, rng)
        shape = KERNELS[self.name]
        if issubclass(shape, MaternKernel):
            straight = np.flatnonzero(self.straight)
            w[:, straight] = stdtrit(2 * shape.states - 1, rng.random((pairs, len(straight))))
        return np.ldexp(np.rint(np.ldexp(w, 20)), -20)

    @property
    def words(self) -> str:
        """A description of the kernel and its scales for people."""
        parts = [
            f"{column.name} {scale:.3g}"
            for column, scale in zip(self.domain.columns, self.scales, strict=True)
        ]
        shown = ", ".join(parts[:8]) + (", …" if len(parts) > 8 else "")
        return f"{self.name} kernel with scales {shown}"

    def to_dict(self) -> dict[str, Any]:
        """Name and scales; the domain stands beside it in a file."""
        return {"name": self.name, "scales": list(self.scales)}


@dataclass(frozen=True)
class OwnKernel:
    """A kernel of the caller's on records of any kind: text, sets, sequences, graphs.

    `function(x, z)` is a positive-definite function of two records; k(x, x) is at most `supremum`.
    A record for which it fails, or gives no finite number, contributes nothing (M18), and a record
    whose features are longer than the supremum allows is scaled down: the promise does not rest on
    what is stated here.

    Examples
    --------
    >>> import mercer
    >>> shared = mercer.OwnKernel(lambda x, z: len(set(x) & set(z)) / 26, supremum=1.0)
    >>> shared.matrix(["abc", "xyz"], ["bcd"]).round(3).tolist()
    [[0.077], [0.0]]

    """

    function: Callable[[Any, Any], float]
    supremum: float
    name: str = "own kernel"
    universal: bool = False  # whether its space is dense in the continuous functions

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError("function must be a function of two records")
        number = check_positive("supremum", self.supremum, "the largest k(x, x)")
        if not 1e-12 <= number <= 1e12:
            raise ValueError(f"supremum must be in [1e-12, 1e12], got {number:g}; rescale")

    def row(self, record: Any, points: Sequence[Any]) -> Floats:
        """k(record, points) over the supremum; NaN where the function fails."""
        try:
            with quiet():
                values = [float(self.function(record, point)) for point in points]
                return np.array(values) / self.supremum
        except (Exception, SystemExit):  # the message of the error may show the record
            return np.full(len(points), np.nan)

    def matrix(self, x: Sequence[Any], y: Sequence[Any]) -> Floats:
        """Matrix of k(x_i, y_j) over the supremum, of public records."""
        return np.array([self.row(one, y) for one in x]).reshape(len(x), len(y))

    @property
    def words(self) -> str:
        """The name under which a release speaks of the kernel."""
        return self.name


def _fixed(array: Floats) -> Floats:
    array.setflags(write=False)
    return array


GRAIN = 34  # bits after the point of the mixing matrix
MOST_LANDMARKS = 10_000
MOST_WAVES = 1 << 16
_GAP = 1e-6  # between eigenvalues that every machine tells apart
_SLACK = 0.03  # share of the sensitivity that rounding of kernel values may add


def floor_of(error: float, size: int) -> float:
    """Least eigenvalue of a Gram matrix of `size` landmarks that is used: public.

    Kernel values are known up to `error`; directions of smaller eigenvalues would amplify it to more
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
    """Orthonormal combinations of k(z_1, .)..k(z_m, .), by decreasing eigenvalue of the Gram matrix.

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
        """The span of at most the first `most` coordinates.

        It is cut where the next eigenvalue is clearly smaller, so that every machine cuts alike: of
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
        """The same span with another floor; its eigenvectors are reused."""
        span = LandmarkSpan(self.gram, floor, self.even)
        span.__dict__["_whole"] = self._whole
        return span

    @cached_property
    def _whole(self) -> tuple[Floats, Floats]:
        """All eigenvalues of the Gram matrix in decreasing order, and their eigenvectors."""
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
        """The eigenvalues of the Gram matrix that are used, in decreasing order."""
        return self._eigen[0]

    @property
    def points(self) -> int:
        """The number of landmarks that are used."""
        return len(self.gram)

    @property
    def size(self) -> int:
        """The number of coordinates of the span."""
        return len(self.eigenvalues)

    @cached_property
    def mixing(self) -> Floats:
        """The mixing matrix in multiples of 2^-34, of shape (coordinates, landmarks)."""
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
        """Bound on how far an error of one in every kernel value moves the coordinates."""
        return math.sqrt(self.points / float(self.eigenvalues[-1])) * (1 + 1e-9)

    def coordinates(self, values: Floats) -> Floats:
        """Coordinates of functions from their values at the landmarks: one function, or one a row."""
        return values @ self.mixing.T

    def weights(self, coordinates: Floats) -> Floats:
        """Weights of the kernel functions at the landmarks, for a function with these coordinates."""
        return self.mixing.T @ coordinates


@dataclass(frozen=True, eq=False)
class WaveSpan:
    """phi(u) = (cos(w u), sin(w u)) / sqrt(pairs) at public frequencies w: norm one (E11)."""

    frequencies: Floats  # one row a pair

    @property
    def size(self) -> int:
        """The number of coordinates: all cosines, then all sines."""
        return 2 * len(self.frequencies)

    def coordinates(self, u: Floats) -> Floats:
        """Feature vectors of embedded records, one a row."""
        angle = u @ self.frequencies.T
        return np.concatenate([np.cos(angle), np.sin(angle)], axis=1) / math.sqrt(len(self.frequencies))
