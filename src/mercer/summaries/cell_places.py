"""Cells of chunks of records.  Layer 2, left of the door.

No branch here depends on a value.  Edges equally far apart are found by dividing: a place that is
never too low by rounding, then one look at its lower edge.
"""

from __future__ import annotations

import numpy as np

from mercer.axes import Axes, Axis
from mercer.checks import Floats, Ints

__all__ = ["count_equal", "places_of"]

_PIECE = 1 << 15  # rows at once: they stay in the processor's cache
_NUDGE = 1 + 2.0**-20  # far more than edges and division are off: a place is never too low


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
            row -= 1
        else:
            row[:] = axis.places(codes)
    return places


@np.errstate(all="ignore")
def count_equal(axis: Axis, codes: Floats) -> Ints:
    """How many codes are in each cell of one column with edges equally far apart."""
    finder, counts = _Equal(axis), np.zeros(axis.size + 1, dtype=np.int64)
    for start in range(0, len(codes), _PIECE):
        counts += np.bincount(finder(codes[start : start + _PIECE]), minlength=len(counts))
    return counts[1:]


class _Equal:
    """One more than the place of each code, as `Axis.places` finds it; 0 for one in no cell."""

    def __init__(self, axis: Axis) -> None:
        edges = np.asarray(axis.edges, dtype=np.float64)
        self._ends = float(edges[0]), float(edges[-1])
        self._scale = axis.size / (edges[-1] - edges[0])
        self._size, self._drop = axis.size, axis.outside == "drop"
        self._near = abs(edges[0]) <= 1024 * (edges[-1] - edges[0])
        self._shift = _NUDGE - edges[0] * self._scale
        # lower edges by one more than the place; nothing is below the first
        self._lower = np.concatenate([[-np.inf, -np.inf], edges[1:-1]])
        self._value, self._edge = np.empty(_PIECE), np.empty(_PIECE)
        self._place, self._bad = np.empty(_PIECE, dtype=np.int64), np.empty(_PIECE, dtype=bool)

    def __call__(self, codes: Floats) -> Ints:
        many = len(codes)
        value, place, bad = self._value[:many], self._place[:many], self._bad[:many]
        edge, (low, high) = self._edge[:many], self._ends
        if self._near:  # one pass less, and no digits to lose
            np.multiply(codes, self._scale, out=value)
            value += self._shift
        else:
            np.subtract(codes, low, out=value)
            value *= self._scale
            value += _NUDGE
        np.maximum(value, 1.0, out=value)  # quicker than one clip
        np.minimum(value, self._size, out=value)
        np.isfinite(codes, out=bad)
        np.logical_not(bad, out=bad)
        if self._drop:
            bad |= (codes < low) | (codes > high)
        np.copyto(value, 0.0, where=bad)
        np.copyto(place, value, casting="unsafe")
        np.take(self._lower, place, out=edge, mode="clip")
        np.less(codes, edge, out=bad)
        place -= bad
        return place
