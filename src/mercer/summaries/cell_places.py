"""Cells of chunks of records.  Layer 2, left of the door.

No branch here depends on a value.  Edges equally far apart are found by dividing: a place that is
never too low by rounding, then one look at its lower edge.
"""

from __future__ import annotations

import numpy as np

from mercer.axes import Axes, Axis
from mercer.checks import Bools, Floats, Ints

__all__ = ["count_equal", "places_of"]

_PIECE = 1 << 17  # rows at once: more stay no longer in the cache, fewer keep threads waiting
_NUDGE = 2.0**-20  # far more than edges and division are off: a place is never too low


@np.errstate(all="ignore")  # in whatever thread: a warning would tell of a value
def places_of(axes: Axes, chunk: Floats) -> Ints:
    """Places of the records along each column, shape (columns, records); -1 where one fails."""
    places = np.empty((axes.dimension, len(chunk)), dtype=np.int64)
    for row, axis, codes in zip(places, axes.columns, chunk.T, strict=True):
        if axis.equal:
            finder = _Equal(axis)
            for start in range(0, len(codes), _PIECE):
                into = row[start : start + _PIECE]
                into[:] = finder(codes[start : start + _PIECE])
            row[finder.outside(codes)] = -1
        else:
            row[:] = axis.places(codes)
    return places


@np.errstate(all="ignore")
def count_equal(axis: Axis, codes: Floats) -> Ints:
    """How many codes are in each cell of one column with edges equally far apart.

    A code that is in no cell is counted in the first or last one, and taken out of it again.
    """
    finder, counts = _Equal(axis), np.zeros(axis.size, dtype=np.int64)
    below, above = finder.open_ends
    first = last = 0
    for start in range(0, len(codes), _PIECE):
        piece = codes[start : start + _PIECE]
        counts += np.bincount(finder(piece), minlength=axis.size)
        first += len(piece) - np.count_nonzero(np.greater_equal(piece, below))  # NaN is not
        last += np.count_nonzero(np.greater(piece, above))
    counts[0] -= first
    counts[-1] -= last
    return counts


class _Equal:
    """The place of each code as `Axis.places` finds it; at an end for one in no cell."""

    def __init__(self, axis: Axis) -> None:
        edges = np.asarray(axis.edges, dtype=np.float64)
        self._low, self._last = float(edges[0]), axis.size - 1.0
        self._scale = axis.size / (edges[-1] - edges[0])
        largest = np.finfo(np.float64).max
        ends = (
            (float(edges[0]), float(edges[-1])) if axis.outside == "drop" else (-largest, largest)
        )
        self.open_ends = ends  # what is in a cell is not below the one, nor above the other
        self._near = abs(edges[0]) <= 1024 * (edges[-1] - edges[0])
        self._shift = _NUDGE - edges[0] * self._scale
        self._lower = np.concatenate([[-np.inf], edges[1:-1]])  # nothing is below the first
        self._value, self._edge = np.empty(_PIECE), np.empty(_PIECE)
        self._place, self._less = np.empty(_PIECE, dtype=np.int64), np.empty(_PIECE, dtype=bool)

    def __call__(self, codes: Floats) -> Ints:
        many = len(codes)
        value, edge = self._value[:many], self._edge[:many]
        place, less = self._place[:many], self._less[:many]
        if self._near:  # one pass less, and no digits to lose
            np.multiply(codes, self._scale, out=value)
            value += self._shift
        else:
            np.subtract(codes, self._low, out=value)
            value *= self._scale
            value += _NUDGE
        np.fmax(value, 0.0, out=value)  # NaN goes to the first
        np.fmin(value, self._last, out=value)
        np.copyto(place, value, casting="unsafe")
        np.take(self._lower, place, out=edge, mode="clip")
        np.less(codes, edge, out=less)
        place -= less
        return place

    def outside(self, codes: Floats) -> Bools:
        """Which codes are in no cell."""
        below, above = self.open_ends
        return ~((codes >= below) & (codes <= above))
