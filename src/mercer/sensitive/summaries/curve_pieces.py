"""Curves as numbers that can be summed, with their norms.  Left of the door.  M3, M9.

What a curve's numbers and norm are depends on that curve alone, to the last bit: norms on a common
grid are exact sums of whole numbers, in any order.  docs/proofs/curves.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from mercer.common.checks import Bools, Floats, Ints
from mercer.sensitive.base import Sensitive
from mercer.sensitive.curves.source import Columns, Curves, Ragged
from mercer.spaces.polynomials import Polynomials

__all__ = ["MOST_BITS", "ColumnPiece", "CurvePiece", "Gridded", "Scattered", "projection"]

MOST_BITS = 31  # of the number of curves
# bits of a height below the curve's peak, and of a grid's weights: together 52, twice the first
_FEW = 15, 22
_MANY = 4096, 12, 28  # from so many points on
_SMALL = 20  # bits of a coordinate below the peak: sums of squares are exact
_PIECE = 1 << 19  # numbers worked on at once
_LOWEST = -900  # exponent of a height: what is smaller is zero


@dataclass(frozen=True, eq=False, repr=False)
class CurvePiece(Sensitive):
    """Some curves: numbers that are summed, a bound on the norm of each, and which are whole."""

    numbers: Floats
    norms: Floats
    complete: Bools

    def sums(self, share: Floats, place: int, folds: int) -> Floats:
        """Sums of the numbers times the curves' shares, cut to integers: a row for each fold."""
        whole = self.numbers
        whole *= share[:, None]
        np.trunc(whole, out=whole)
        out = np.zeros((folds, whole.shape[1]))
        for k in range(folds):
            out[(place + k) % folds] = whole[k::folds].sum(axis=0)
        return out

    def cut(self, rows: int) -> Iterator[CurvePiece]:
        """The same in smaller pieces; it has few curves."""
        del rows
        yield self


@dataclass(frozen=True, eq=False, repr=False)
class ColumnPiece(Sensitive):
    """Some curves as a `CurvePiece`, but kept as columns, which are not changed."""

    columns: Sequence[Floats]
    gaps: Ints  # curves with gaps
    filled: Floats  # and their heights
    norms: Floats
    complete: Bools

    def sums(self, share: Floats, place: int, folds: int) -> Floats:
        """The sums of `CurvePiece`, a column at a time, which stays in the processor's cache."""
        out, mine = np.zeros((folds, len(self.columns))), share[self.gaps]
        whole = np.empty(len(share))
        for j, column in enumerate(self.columns):
            np.multiply(column, share, out=whole)
            whole[self.gaps] = self.filled[:, j] * mine
            np.trunc(whole, out=whole)
            for k in range(folds):
                out[(place + k) % folds, j] = whole[k::folds].sum()
        return out

    def cut(self, rows: int) -> Iterator[CurvePiece]:
        """The same in pieces of some curves each, whose numbers stand together."""
        for start in range(0, len(self.norms), rows):
            part = slice(start, start + rows)
            numbers = np.stack([column[part] for column in self.columns], axis=1)
            first, last = np.searchsorted(self.gaps, (start, start + rows))
            numbers[self.gaps[first:last] - start] = self.filled[first:last]
            yield CurvePiece(numbers, self.norms[part], self.complete[part])


class Gridded(Sensitive):
    """Curves on one public grid: what is summed are their heights."""

    def __init__(self, polynomials: Polynomials, grid: tuple[Floats, ...], center: Floats) -> None:
        self._grid, self._polynomials = grid, polynomials
        self._level = self.values(center)
        self._raised = bool(np.any(self._level))
        sides = [_trapezoid(ticks) for ticks in grid]
        self.size = math.prod(len(side) for side in sides)  # numbers of a curve
        self._height, self._weight = _FEW if self.size <= _MANY[0] else _MANY[1:]
        weights = reduce(np.multiply.outer, sides).reshape(-1)
        self._weights = np.ceil(weights * 2.0**self._weight)
        self.rows = max(64, _PIECE // self.size)
        self._tables = [
            _no_longer(Polynomials((side,)).of_grid((ticks,)), weight)
            for side, ticks, weight in zip(polynomials.sides, grid, sides, strict=True)
        ]
        # a height in the ball is at most bound / sqrt(weight), as the weight is counted
        least = max(float(weights.min()), 2.0**-self._weight)
        self.bits = 62 - MOST_BITS - math.ceil(-math.log2(least) / 2)

    def _columns(self, columns: Sequence[Floats]) -> ColumnPiece:
        """Norms as in `_piece`, a column at a time."""
        high, low = np.zeros(len(columns[0])), np.zeros(len(columns[0]))
        for column in columns:
            np.maximum(high, column, out=high)
            np.minimum(low, column, out=low)
        peaks = np.maximum(high, -low)
        complete = np.isfinite(peaks)
        gaps = np.flatnonzero(~complete)
        seen = np.stack([column[gaps] for column in columns], axis=1)
        filled = _filled(seen, self._grid)
        peaks[gaps] = _peaks(filled)
        exponents = np.maximum(np.frexp(peaks)[1], _LOWEST) - self._height
        scale = np.ldexp(1.0, -exponents)
        square, whole, mine = np.zeros(len(peaks)), np.empty(len(peaks)), scale[gaps]
        for j, (column, weight) in enumerate(zip(columns, self._weights, strict=True)):
            np.multiply(column, scale, out=whole)
            whole[gaps] = filled[:, j] * mine
            np.rint(whole, out=whole)
            np.multiply(whole, whole, out=whole)
            whole *= weight
            square += whole
        norms = np.ldexp(np.sqrt(square) * 2.0 ** (-self._weight / 2) + 0.5, exponents)
        return ColumnPiece(columns, gaps, filled, norms, complete)

    def coordinates(self, mean: Floats) -> Floats:
        """Coordinates of the broken line with these heights."""
        value = mean.reshape([len(table) for table in self._tables])
        for table in self._tables:  # the first axis goes, and comes back as the last
            value = np.tensordot(value, table, axes=(0, 0))
        return value.reshape(-1)

    def pieces(self, chunk: Floats | Columns) -> Iterator[CurvePiece | ColumnPiece]:
        """A chunk of curves in pieces of some curves each."""
        if isinstance(chunk, Columns) and not self._raised:
            yield self._columns(chunk.columns)
            return
        chunk = np.array(chunk)
        for start in range(0, len(chunk), self.rows):
            yield self._piece(chunk[start : start + self.rows])

    @property
    def weights(self) -> tuple[Floats, int]:
        """Whole numbers by which squared numbers are summed to squared norms, and how many bits they have."""
        return self._weights, self._weight

    def values(self, coefficients: Floats) -> Floats:
        """The numbers of a function with these coefficients."""
        return self._polynomials.on_grid(self._grid, coefficients).reshape(-1)

    def table(self, count: int) -> Floats:
        """The map from numbers to the first coordinates, of curves: (numbers, coordinates)."""
        (table,) = self._tables
        return table[:, :count]

    def _piece(self, chunk: Floats) -> CurvePiece:
        """Norms from heights with few bits: sums of their squares are exact, in any order.

        A rounded height is wrong by at most half a unit, and so is the norm.
        """
        shape = chunk.shape
        heights = chunk.reshape(-1, self.size)  # a chunk is nobody else's: worked on in place
        if self._raised:
            heights -= self._level
        peaks = _peaks(heights)
        complete = np.isfinite(peaks)  # a gap or an infinite height shows in the peak
        gaps = np.flatnonzero(~complete)
        filled = _filled(heights[gaps].reshape(-1, *shape[1:]), self._grid)
        heights[gaps] = filled.reshape(-1, self.size)
        peaks[gaps] = _peaks(heights[gaps])
        exponents = np.maximum(np.frexp(peaks)[1], _LOWEST) - self._height
        whole = heights * np.ldexp(1.0, -exponents)[:, None]
        np.rint(whole, out=whole)
        np.multiply(whole, whole, out=whole)
        square = whole @ self._weights
        norms = np.ldexp(np.sqrt(square) * 2.0 ** (-self._weight / 2) + 0.5, exponents)
        return CurvePiece(heights, norms, complete)


class Scattered(Sensitive):
    """Curves on grids of their own: what is summed are their coordinates."""

    bits = 62 - MOST_BITS
    rows = 256  # of a piece, at most

    def __init__(self, polynomials: Polynomials, center: Floats) -> None:
        self._polynomials, self._center = polynomials, center
        self.size = polynomials.size  # numbers of a curve

    def coordinates(self, mean: Floats) -> Floats:
        """The sums are coordinates already."""
        return mean

    @property
    def weights(self) -> tuple[Floats, int]:
        """All coordinates count alike."""
        return np.ones(self.size), 0

    def values(self, coefficients: Floats) -> Floats:
        """The numbers of a function are its coefficients."""
        return coefficients

    def table(self, count: int) -> Floats:
        """The first coordinates of all."""
        return np.eye(self.size, count)

    def pieces(self, chunk: Ragged) -> Iterator[CurvePiece]:
        """A chunk of curves as one piece: it has few."""
        times, starts = chunk.times, chunk.starts
        most = np.finfo(np.float64).max / 4
        level = self._polynomials.evaluate(times[:, None], self._center)
        raised = np.clip(chunk.values - level, -most, most)
        found = np.diff(starts) > 0
        owners = np.repeat(np.arange(len(found)), np.diff(starts))
        peaks = np.zeros(len(found))
        np.maximum.at(peaks, owners, np.abs(raised))
        exponents = np.maximum(np.frexp(peaks)[1], _LOWEST)
        small = raised * np.ldexp(1.0, -exponents)[owners]  # no square over- or underflows
        square = np.zeros(len(found))
        np.add.at(square, owners, _own_trapezoid(times, starts) * small**2)
        numbers = self._polynomials.of_points(times, small, starts)
        # by Bessel no longer, but for rounding where points nearly coincide (M9: clip these too)
        whole = np.rint(numbers * 2.0**_SMALL)
        length = np.sqrt(np.einsum("ij,ij->i", whole, whole)) + math.sqrt(self.size)
        norms = np.maximum(np.sqrt(square), length * 2.0**-_SMALL)
        unit = np.ldexp(1.0, exponents)
        yield CurvePiece(numbers * unit[:, None], norms * unit * (1 + 1e-9), found)


def _peaks(heights: Floats) -> Floats:
    """The largest height of each curve, up or down; not finite where one of them is not."""
    return np.maximum(heights.max(axis=1, initial=0.0), -heights.min(axis=1, initial=0.0))


def _no_longer(table: Floats, weights: Floats) -> Floats:
    """The map from heights to coordinates, which never makes a curve longer.

    By Bessel's inequality it does not; but for rounding, where points of a grid nearly coincide.
    """
    longest = np.linalg.norm(table / np.sqrt(weights)[:, None], 2)
    return table / max(1.0, float(longest) * (1 + 1e-12))


def _trapezoid(ticks: Floats) -> Floats:
    """Weights of the trapezoid rule on the unit interval, level beyond the ends."""
    edges = np.concatenate([[0.0], (ticks[1:] + ticks[:-1]) / 2, [1.0]])
    return np.diff(edges)


def _own_trapezoid(times: Floats, starts: Ints) -> Floats:
    """Weights of the trapezoid rule for concatenated grids."""
    seen = np.diff(starts) > 0
    middle = np.append((times[1:] + times[:-1]) / 2, 1.0)
    middle[starts[1:][seen] - 1] = 1.0
    before = np.concatenate([[0.0], middle[:-1]])
    before[starts[:-1][seen]] = 0.0
    return middle - before


def _filled(heights: Floats, ticks: tuple[Floats, ...]) -> Floats:
    """Gaps filled: a straight line between the heights seen, level beyond the first and the last.

    Surfaces along the second argument, then what is left along the first.  Nothing seen: zero.
    """
    for axis in reversed(range(len(ticks))):
        turned = np.moveaxis(heights, axis + 1, -1)
        heights = np.moveaxis(_bridged(turned, ticks[axis]), -1, axis + 1)
    return np.nan_to_num(heights, nan=0.0)


def _bridged(heights: Floats, ticks: Floats) -> Floats:
    count = len(ticks)
    heights = np.where(np.isfinite(heights), heights, np.nan)
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


def projection(curves: Curves, polynomials: Polynomials, center: Floats) -> Gridded | Scattered:
    """How these curves become numbers that are summed: public."""
    if curves.grid is None:
        return Scattered(polynomials, center)
    return Gridded(polynomials, curves.grid, center)
