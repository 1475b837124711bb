"""The mean of curves that are clipped into a ball.  Layer 2, left of the door.  M9, M16, M18.

A curve becomes the coordinates of the broken line through its points, less a public centre, and
is scaled into the ball of radius `bound` if it lies outside.  All sums are of whole numbers, so
that what one curve adds depends on that curve alone, not on its neighbours in a chunk, on chunks
or on workers (M3.3).  docs/proofs/curves.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Self

import numpy as np

from mercer.accountants import replace_one
from mercer.checks import Bools, Floats, Ints
from mercer.curve_data import Curves, Ragged
from mercer.data import Sensitive
from mercer.folding import fold
from mercer.persons import person_weights
from mercer.polynomials import Polynomials
from mercer.privacy import Norm, Sensitivity
from mercer.rules_curves import gain_of
from mercer.summaries.base import Summary

__all__ = ["MISSING", "CurveSummary", "CurveTally", "curve_norms", "tally_curves"]

MISSING = ("fill", "zero", "drop")
_BITS = 32  # steps of a bound: the grid of the sums
_VALUE, _WEIGHT, _MANTISSA = 23, 29, 21  # bits of a height, a hat's integral, a coordinate
_PERSON = 1 << 20
_PIECE = 1 << 19  # numbers worked on at once
_LOWEST = -900  # exponent of a height: what is smaller is zero


class Lengths(Sensitive):
    """Coordinates of curves as whole numbers, each curve with its own power of two."""

    def __init__(self, whole: Floats, exponents: Ints, complete: Bools) -> None:
        self.whole, self.complete = whole, complete
        with np.errstate(over="ignore", under="ignore"):
            self.unit = np.ldexp(1.0, exponents)
        square = np.einsum("ij,ij->i", whole, whole)  # exact: at most 2^52
        self.root = np.sqrt(square)

    def inside(self, bound: float) -> Floats:
        """Factor of each curve's whole numbers that puts it into the ball."""
        with np.errstate(divide="ignore"):
            return np.minimum(self.unit, bound / self.root)


class Projector(Sensitive):
    """From chunks of curves to their coordinates, less the centre's."""

    def __init__(
        self, polynomials: Polynomials, grid: tuple[Floats, ...] | None, center: Floats
    ) -> None:
        self.polynomials, self._grid, self._center = polynomials, grid, center
        if grid is not None:
            self._level = polynomials.on_grid(grid, center)
            table = polynomials.of_grid(grid)
            self._table = np.rint(table * 2.0**_WEIGHT)
            self.rows = max(64, _PIECE // max(table.shape))

    def pieces(self, chunk: Floats | Ragged) -> Iterator[Lengths]:
        """A chunk, some curves at a time."""
        if isinstance(chunk, Ragged):
            yield self._of_points(chunk)
            return
        for start in range(0, len(chunk), self.rows):
            yield self._of_grid(chunk[start : start + self.rows])

    def _of_points(self, chunk: Ragged) -> Lengths:
        level = self.polynomials.evaluate(chunk.times[:, None], self._center)
        raised = chunk.values - level
        found = self.polynomials.of_points(chunk.times, raised, chunk.starts)
        return _rounded(found, np.zeros(len(found), dtype=np.int64), np.diff(chunk.starts) > 0)

    def _of_grid(self, chunk: Floats) -> Lengths:
        """Heights with 23 bits below the curve's peak, times integrals with 29: sums are exact."""
        assert self._grid is not None
        with np.errstate(over="ignore", invalid="ignore"):
            heights = chunk - self._level
        seen = np.isfinite(heights).reshape(len(heights), -1).all(axis=1)
        lacking = np.flatnonzero(~seen)
        heights[lacking] = _filled(heights[lacking], self._grid)
        flat = heights.reshape(len(heights), -1)
        peaks = np.maximum(flat.max(axis=1), -flat.min(axis=1))
        exponents = np.maximum(np.frexp(peaks)[1], _LOWEST).astype(np.int64)
        flat = np.rint(flat * np.ldexp(1.0, _VALUE - exponents)[:, None])
        return _rounded(flat @ self._table, exponents - _VALUE - _WEIGHT, seen)


def _rounded(found: Floats, exponents: Ints, complete: Bools) -> Lengths:
    """Coordinates with 21 bits below the largest of each curve."""
    peaks = np.maximum(found.max(axis=1), -found.min(axis=1))
    own = np.maximum(np.frexp(peaks)[1], _LOWEST).astype(np.int64)
    whole = np.rint(found * np.ldexp(1.0, _MANTISSA - own)[:, None])
    return Lengths(whole, exponents + own - _MANTISSA, complete)


def _filled(heights: Floats, ticks: tuple[Floats, ...]) -> Floats:
    """Gaps filled: a straight line between the heights seen, level beyond the first and the last.

    Surfaces along the second argument, then what is left along the first.  Nothing seen: zero.
    """
    for axis in reversed(range(len(ticks))):
        heights = np.moveaxis(_bridged(np.moveaxis(heights, axis + 1, -1), ticks[axis]), -1, axis + 1)  # fmt: skip  # noqa: E501
    return np.nan_to_num(heights, nan=0.0)


def _bridged(heights: Floats, ticks: Floats) -> Floats:
    count = len(ticks)
    seen = np.isfinite(heights)
    place = np.arange(count)
    before = np.maximum.accumulate(np.where(seen, place, -1), axis=-1)
    after = np.minimum.accumulate(np.where(seen, place, count)[..., ::-1], axis=-1)[..., ::-1]
    left = np.minimum(np.where(before < 0, after, before), count - 1)
    right = np.minimum(np.where(after >= count, left, after), count - 1)
    gap = ticks[right] - ticks[left]
    share = np.where(gap > 0, (ticks - ticks[left]) / np.where(gap > 0, gap, 1.0), 0.0)
    low, high = (np.take_along_axis(heights, side, axis=-1) for side in (left, right))
    return low * (1 - share) + high * share


class CurveTally(Sensitive):
    """Sums of clipped curves, one for each fold of the places."""

    def __init__(self, projector: Projector, bound: float, missing: str, folds: int = 1) -> None:
        self.bound, self.rows, self.persons, self.complete = bound, 0, 0, 0
        self._projector, self._missing = projector, missing
        self.totals = np.zeros((folds, projector.polynomials.size), dtype=np.int64)

    @property
    def step(self) -> float:
        """Unit of the sums: public."""
        return self.bound / (1 << _BITS)

    def add(self, chunk: Floats | Ragged, weights: Floats | None = None) -> Self:
        """With a chunk of curves more, each with weight one or its own, at most one."""
        folds, begin = len(self.totals), 0
        for piece in self._projector.pieces(chunk):
            count = len(piece.root)
            factor = piece.inside(self.bound) / self.step
            factor *= piece.complete if self._missing != "fill" else 1.0
            factor *= 1.0 if weights is None else weights[begin : begin + count]
            scaled = np.trunc(piece.whole * factor[:, None])
            for k in range(folds):
                self.totals[(self.rows + k) % folds] += scaled[k::folds].sum(axis=0).astype(np.int64)  # fmt: skip  # noqa: E501
            self.complete += int(piece.complete.sum())
            self.rows += count
            begin += count
        return self

    def merge(self, other: Self) -> Self:
        """Of both sets of curves."""
        self.totals += other.totals
        self.rows += other.rows
        self.complete += other.complete
        return self


def tally_curves(
    curves: Curves, polynomials: Polynomials, *, center: Floats, bound: float, missing: str,
    folds: int = 1,
) -> CurveTally:  # fmt: skip
    """One pass over the curves, or two where a person may have several (M16)."""
    projector = Projector(polynomials, curves.grid, center)

    def zero() -> CurveTally:
        return CurveTally(projector, bound, missing, folds)

    if curves.unit is None:
        workers = curves.workers if folds == 1 else 1  # folds follow the places
        return fold(curves.parts(), zero, workers=workers)
    persons, shares = person_weights(curves, _PERSON)
    tally = zero()
    for chunk, share in zip(curves.chunks(), shares(), strict=True):
        tally.add(chunk, share / _PERSON)
    tally.persons = persons
    return tally


def curve_norms(curves: Curves, polynomials: Polynomials, *, center: Floats) -> Floats:
    """Length of each curve less the centre, as it is compared with a bound.  Sensitive."""
    projector = Projector(polynomials, curves.grid, center)
    parts = [
        piece.root * piece.unit for chunk in curves.chunks() for piece in projector.pieces(chunk)
    ]
    return np.concatenate(parts) if parts else np.zeros(0)


class CurveSummary(Summary):
    """The mean of the clipped curves in units of the bound, or a fixed linear map of it.

    Curves lie in the unit ball, so that replacing one of n moves the mean by at most 2 / n.  The
    map is divided by its norm, so its image moves no further: Mirshani's Theorem 4.1 where the map
    is the penalised mean in coordinates of the noise's Cameron-Martin space (M9).
    """

    def __init__(
        self, tally: CurveTally, *, n: int, unit: str, encode: Floats | None = None,
        note: str = "", stretch: float = 1.0,
    ) -> None:  # fmt: skip
        self.n, self.unit, self._note, self._stretch = n, unit, note, stretch
        self._tally = tally
        self._encode = None if encode is None else encode / gain_of(encode)

    @property
    def size(self) -> int:
        return self._tally.totals.shape[1] if self._encode is None else len(self._encode)

    @property
    def note(self) -> str:
        return self._note

    def sensitivity(self, norm: Norm) -> Sensitivity:
        if norm not in ("l2", "l1"):
            raise ValueError(f"the mean of curves has no bound in the norm {norm!r}")
        found = curve_sensitivity(n=self.n, size=self._tally.totals.shape[1]) * self._stretch
        return replace_one(found * (math.sqrt(self.size) if norm == "l1" else 1.0), norm)

    def coordinates(self) -> Floats:
        mean = mean_of(self._tally.totals.sum(axis=0), self.n)
        return mean if self._encode is None else self._encode @ mean


def mean_of(total: Ints, n: int) -> Floats:
    """A sum of clipped curves as a mean, in units of the bound."""
    return total / (n * float(1 << _BITS))


def curve_sensitivity(*, n: int, size: int) -> float:
    """What one curve of n can do to the coordinates, rounding included: public.

    The sums are exact.  The roundings of each mean and a product with `size` terms move the
    result by less than `slack` on either side.
    """
    slack = 2.0**-52 * (4 + size) * math.sqrt(size)
    return 2 / n * (1 + 1e-9) + 2 * slack
