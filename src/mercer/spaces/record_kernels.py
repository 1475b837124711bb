"""Kernels on records of mixed columns, and of any other kind.  M10.

A record is a row of codes, one number a column (`columns.kinds`).  A product kernel sees it as a
point u of a few coordinates, one for a numeric column and one a level for a category, scaled so
that the Gaussian kernel is exp(-|u - v|^2 / 2): categories that differ give exp(-a).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import stdtrit

from mercer.columns.table import TableDomain
from mercer.common import streams
from mercer.common.checks import Bools, Floats, check_positive
from mercer.common.quiet import quiet
from mercer.spaces.kernels import KERNELS, MaternKernel

__all__ = ["OwnKernel", "RecordKernel"]


@dataclass(frozen=True)
class RecordKernel:
    """A product over the columns: k(x, x) = 1 and k >= 0."""

    domain: TableDomain
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
        """By which the coordinates of a record are multiplied."""
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
        """Records as points, rounded to single precision: that is what is compared."""
        return (self.domain.embed(codes) * self.factors).astype(np.float32).astype(np.float64)

    def between(self, u: Floats, v: Floats) -> Floats:
        """Matrix of k at points."""
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
        blocks = []
        for _ in range(math.ceil(pairs / d)):
            q, r = np.linalg.qr(rng.standard_normal((d, d)))
            blocks.append(np.sqrt(rng.chisquare(d, d))[:, None] * (q * np.sign(np.diag(r))))
        w = np.concatenate(blocks)[:pairs]
        shape = KERNELS[self.name]
        if issubclass(shape, MaternKernel):
            straight = np.flatnonzero(self.straight)
            w[:, straight] = stdtrit(2 * shape.states - 1, rng.random((pairs, len(straight))))
        return np.ldexp(np.rint(np.ldexp(w, 20)), -20)

    @property
    def words(self) -> str:
        """For people."""
        parts = [
            f"{column.name} {scale:.3g}"
            for column, scale in zip(self.domain.columns, self.scales, strict=True)
        ]
        shown = ", ".join(parts[:8]) + (", …" if len(parts) > 8 else "")
        return f"{self.name} kernel with scales {shown}"

    def to_dict(self) -> dict[str, Any]:
        """For a file."""
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
        except (Exception, SystemExit):  # whatever it says may show the record
            return np.full(len(points), np.nan)

    def matrix(self, x: Sequence[Any], y: Sequence[Any]) -> Floats:
        """Matrix of k(x_i, y_j) over the supremum, of public records."""
        return np.array([self.row(one, y) for one in x]).reshape(len(x), len(y))

    @property
    def words(self) -> str:
        """For people."""
        return self.name


def _fixed(array: Floats) -> Floats:
    array.setflags(write=False)
    return array
