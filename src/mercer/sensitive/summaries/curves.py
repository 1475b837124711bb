"""The mean of curves that are clipped into a ball, and its cross-validation.  M9, M12, M16, M18.

Left of the door.  A curve is the broken line through its points, less a public centre.  Its norm
is the trapezoid rule's on its own grid, which is never below that of the broken line, nor that
below the length of its coordinates; a curve outside the ball is scaled onto it, or counts as the
centre.  Sums are of whole numbers, and what one curve adds depends on that curve alone, not on
chunks or workers (M3.3).

Cross-validation has ten folds by the curves' places.  The score of a filter S is minus
sum_k (n_k / n) |S mean of the others - mean of fold k|^2, which is the cross-validated squared
error of the left-out curves up to what no filter changes.  Replacing one curve of the ball moves
it by at most 8/n in its own fold and 8 n_k / (n (n - n_k)) in every other, 16/n in all for equal
folds, in units of the squared bound: docs/proofs/curves.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from threadpoolctl import threadpool_limits

from mercer.common.checks import Floats, Ints
from mercer.promise.events import Norm, Sensitivity, replace_one
from mercer.sensitive.base import Sensitive, Summary
from mercer.sensitive.curves.source import Columns, Curves, Ragged
from mercer.sensitive.persons import fold_persons
from mercer.sensitive.rows import fold
from mercer.sensitive.summaries.curve_pieces import ColumnPiece, CurvePiece, Gridded, Scattered, projection
from mercer.spaces.modes import SpectralFilter, gain_of
from mercer.spaces.polynomials import Polynomials

__all__ = [
    "FOLDS",
    "MISSING",
    "OUTSIDE",
    "PERSON",
    "CurveBall",
    "CurveSummary",
    "CurveTally",
    "curve_norms",
    "fold_scores",
    "score_sensitivity",
    "tally_curves",
]

MISSING = ("fill", "zero", "drop")
OUTSIDE = ("clip", "drop")
PERSON = 1 << 20  # weight of a person, shared by all of its curves


@dataclass(frozen=True)
class CurveBall:
    """How curves come into the ball of the bound: public."""

    bound: float
    missing: str
    outside: str

    def shares(self, piece: CurvePiece | ColumnPiece, bits: int) -> Floats:
        """What the numbers of each curve are multiplied by: 2^bits is a curve's at the bound."""
        # rounded down, and never so small that it is rounded up: no curve leaves the ball
        share = 2.0**bits / np.maximum(piece.norms, self.bound) * (1 - 2.0**-50)
        share *= piece.complete if self.missing != "fill" else 1.0
        # the centre is in the ball too: what one curve can do is the same (M18)
        share *= piece.norms <= self.bound if self.outside == "drop" else 1.0
        return share

    def counted(self, piece: CurvePiece | ColumnPiece) -> Floats:
        """One for each curve that counts: all, unless the number of complete ones is public."""
        count = len(piece.norms)
        return np.ones(count) * (piece.complete if self.missing == "drop" else 1.0)


class CurveTally(Sensitive):
    """Sums of clipped curves, one for each fold of the places."""

    def __init__(
        self, how: Gridded | Scattered, bound: float, missing: str, outside: str, folds: int
    ) -> None:
        self.rows, self.persons, self.complete = 0, 0, 0
        self._how, self.ball, self.bound = how, CurveBall(bound, missing, outside), bound
        self._totals = np.zeros((folds, how.size), dtype=np.int64)

    def add(self, chunk: Floats | Ragged | Columns, weights: Ints | None = None) -> Self:
        """Add a chunk of curves, each with weight one or its own share of a person's."""
        folds, begin = len(self._totals), 0
        for piece in self._how.pieces(chunk):  # type: ignore[arg-type]
            count = len(piece.norms)
            share = self.ball.shares(piece, self._how.bits)
            share *= 1.0 if weights is None else weights[begin : begin + count] / PERSON
            sums = piece.sums(share, self.rows, folds)
            self._totals += sums.astype(np.int64)
            self.complete += int(piece.complete.sum())
            self.rows += count
            begin += count
        return self

    def merge(self, other: Self) -> Self:
        """Add the sums of other curves."""
        self._totals += other._totals
        self.rows += other.rows
        self.complete += other.complete
        return self

    @property
    def size(self) -> int:
        """Number of sums to which each curve contributes: public."""
        return self._how.size

    def means(self, n: int, folds: Ints | None = None) -> Floats:
        """Coordinates of the mean in units of the bound, for sums of some folds, or of all."""
        total = (self._totals if folds is None else self._totals[folds]).sum(axis=0)
        return self._how.coordinates(total / (n * 2.0**self._how.bits))


def tally_curves(
    curves: Curves,
    polynomials: Polynomials,
    *,
    center: Floats,
    bound: float,
    missing: str,
    outside: str = "clip",
    folds: int = 1,
) -> CurveTally:
    """Sum the clipped curves, in two passes where a person may have several (M16)."""
    how = projection(curves, polynomials, center)

    def zero() -> CurveTally:
        return CurveTally(how, bound, missing, outside, folds)

    if curves.unit is not None:
        return fold_persons(curves, zero, PERSON)
    workers = curves.workers if folds == 1 else 1  # folds follow the places
    with threadpool_limits(1, user_api="blas"):  # the workers are threads already
        return fold(curves.parts(), zero, workers=workers)


def curve_norms(curves: Curves, polynomials: Polynomials, *, center: Floats) -> Floats:
    """Norm of each curve less the centre, as it is compared with a bound.  Sensitive."""
    how = projection(curves, polynomials, center)
    parts = [piece.norms for chunk in curves.chunks() for piece in how.pieces(chunk)]  # type: ignore[arg-type]
    return np.concatenate(parts) if parts else np.zeros(0)


class CurveSummary(Summary[Floats]):
    """The mean of the clipped curves in units of the bound, or a fixed linear map of it.

    Curves lie in the unit ball, so that replacing one of n moves the mean by at most 2 / n.  The
    map is divided by its norm, so its image moves no further: Mirshani's Theorem 4.1 where the map
    is the penalised mean in coordinates of the noise's Cameron-Martin space (M9).
    """

    def __init__(
        self,
        tally: CurveTally,
        *,
        n: int,
        unit: str,
        size: int,
        encode: Floats | None = None,
        note: str = "",
        stretch: float = 1.0,
    ) -> None:
        self.n, self.unit, self._note, self.stretch = n, unit, note, stretch
        self._tally, self._size = tally, size
        self._encode = None if encode is None else encode / gain_of(encode)

    @property
    def size(self) -> int:
        return self._size if self._encode is None else len(self._encode)

    @property
    def note(self) -> str:
        return self._note

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self._tally.bound, None if self._encode is None else self._encode.tobytes()

    def sensitivity(self, norm: Norm) -> Sensitivity:
        if norm != "l2":
            raise ValueError(f"the mean of curves has no bound in the norm {norm!r}")
        size = max(self._tally.size, self._size)
        return replace_one(curve_sensitivity(n=self.n, size=size) * self.stretch)

    def coordinates(self) -> Floats:
        mean = self._tally.means(self.n)
        return mean if self._encode is None else self._encode @ mean


def curve_sensitivity(*, n: int, size: int) -> float:
    """What one curve of n can do to the coordinates, rounding included: public.

    The sums are exact.  What the means and two products with at most `size` terms round is less
    than `slack` on either side (docs/proofs/curves.md).
    """
    slack = 2.0**-52 * (2 * size + 16) * math.sqrt(size)
    return 2 / n * (1 + 1e-9) + 2 * slack


FOLDS = 10
_UNIT = 1 << 32  # scores are whole numbers of 1/_UNIT of the squared bound


def fold_scores(
    tally: CurveTally,
    polynomials: Polynomials,
    filters: Sequence[SpectralFilter],
    errors: Sequence[float],
    *,
    n: int,
) -> tuple[list[int], Sensitivity]:
    """Scores, each less the public error that privacy adds, and how far one curve moves them."""
    sizes = fold_sizes(n)
    every = np.arange(FOLDS)
    own = np.stack([tally.means(sizes[k], every[[k]]) for k in every])
    rest = np.stack([tally.means(n - sizes[k], every[every != k]) for k in every])
    share = np.array(sizes) / n
    scores = []
    for smoothing, error in zip(filters, errors, strict=True):
        found = smoothing.seen(polynomials, None)
        factors = smoothing.factors(found.values)
        gaps = (rest @ found.vectors) * factors - own @ found.vectors
        risk = float(share @ np.sum(gaps**2, axis=1)) + error
        scores.append(-round(risk * _UNIT))
    return scores, score_sensitivity(n)


def fold_sizes(n: int) -> list[int]:
    """Number of curves in each fold: public."""
    return [len(range(k, n, FOLDS)) for k in range(FOLDS)]


def score_sensitivity(n: int) -> Sensitivity:
    """Sensitivity of the scores, which are integers: the largest over folds, rounding included."""
    sizes = fold_sizes(n)
    parts = [8 / n * size / (n - size) for size in sizes]
    most = max(8 / n + sum(parts) - part for part in parts)
    return Sensitivity(most * (1 + 1e-9) * _UNIT + 4, norm="score")
