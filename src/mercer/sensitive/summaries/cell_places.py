"""Which cell of a table each record is in.  Left of the door.

No branch here depends on a value.  A place between edges is found from a fine even grid over
them, fine enough that no cell of it holds two edges: how many edges lie certainly below the
grid's cell, and the one that may lie in it, which is then looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mercer.columns.cells import Axes, Axis
from mercer.common.checks import Bools, Floats, Ints

__all__ = ["count_places", "places_of", "quick"]

_PIECE = 1 << 17  # rows at once: more stay no longer in the cache, fewer keep threads waiting
_FEW = 16  # cells whose edges are compared with every code
_FINEST = 1 << 18  # cells of the fine grid
_SLACK = 2.0**-10  # of a cell: far more than rounding moves a value


@np.errstate(all="ignore")  # in whatever thread: a warning would tell of a value
def places_of(axes: Axes, chunk: Floats) -> Ints:
    """Places of the records along each column, shape (columns, records); -1 where one fails."""
    places = np.empty((axes.dimension, len(chunk)), dtype=np.int64)
    for row, axis, codes in zip(places, axes.columns, chunk.T, strict=True):
        if not quick(axis):
            row[:] = axis.places(codes)
            continue
        finder = _Finder(axis)
        for start in range(0, len(codes), _PIECE):
            row[start : start + _PIECE] = finder(codes[start : start + _PIECE])
        row[finder.outside(codes)] = -1
    return places


@np.errstate(all="ignore")
def count_places(axis: Axis, codes: Floats) -> Ints:
    """How many codes are in each cell of one column that is `quick`.

    Few edges are compared with every code.  With more, a code that is in no cell is counted in
    the first or last one, and taken out of it again.
    """
    if axis.size <= _FEW:
        return _compared(axis, codes)
    finder, counts = _Finder(axis), np.zeros(axis.size, dtype=np.int64)
    below, above = finder.open_ends
    first = last = 0
    for start in range(0, len(codes), _PIECE):
        piece = codes[start : start + _PIECE]
        counts += np.bincount(finder(piece), minlength=axis.size)
        first += len(piece) - int(np.count_nonzero(np.greater_equal(piece, below)))  # NaN is not
        last += int(np.count_nonzero(np.greater(piece, above)))
    counts[0] -= first
    counts[-1] -= last
    return counts


def _compared(axis: Axis, codes: Floats) -> Ints:
    below, above = _open_ends(axis)
    edges = [below, *axis.cuts[1:-1].tolist()]
    more = np.zeros(axis.size + 1, dtype=np.int64)
    for start in range(0, len(codes), _PIECE):
        piece = codes[start : start + _PIECE]
        for place, edge in enumerate(edges):
            more[place] += np.count_nonzero(np.greater_equal(piece, edge))  # NaN is not
        more[-1] += np.count_nonzero(np.greater(piece, above))
    return more[:-1] - more[1:]


def quick(axis: Axis) -> bool:
    """Whether places can be found from a fine grid: edges are not too near each other."""
    return axis.cuts.size > 0 and _grid(axis) is not None


def _open_ends(axis: Axis) -> tuple[float, float]:
    """The least and the greatest code that is in a cell."""
    largest = float(np.finfo(np.float64).max)
    ends = float(axis.cuts[0]), float(axis.cuts[-1])
    return ends if axis.outside == "drop" else (-largest, largest)


@dataclass(frozen=True, eq=False)
class _Grid:
    """An even grid over the edges of a column, a little below them where its cells are the bins."""

    low: float
    scale: float
    below: Ints | None  # edges certainly below each cell; None: one in each, at its lower end
    edge: Floats  # the one that may be in it, or NaN


@lru_cache(maxsize=64)
def _grid(axis: Axis) -> _Grid | None:
    edges = axis.cuts
    low, width = float(edges[0]), float(edges[-1] - edges[0])
    if axis.equal:  # a value is in its cell or, by less than the slack, in the one before
        down = _SLACK * width / axis.size
        return _Grid(low - down, axis.size / width, None, np.append(-np.inf, edges[1:-1]))
    cells = 16
    while cells * np.min(np.diff(edges)) < 2 * width:
        cells *= 2
        if cells > _FINEST:
            return None
    cell = width / cells
    if not 2.0**-50 * max(abs(edges[0]), abs(edges[-1])) <= _SLACK / 4 * cell:
        return None
    starts = low + np.arange(cells) * cell
    inner = np.append(edges[1:-1], np.inf)
    below = np.searchsorted(inner, starts - _SLACK * cell, side="right").astype(np.int64)
    near = inner[below] <= starts + (1 + _SLACK) * cell
    return _Grid(low, cells / width, below, np.where(near, inner[below], np.nan))


class _Finder:
    """The place of each code as `Axis.places` finds it; at an end for one in no cell."""

    def __init__(self, axis: Axis) -> None:
        grid = _grid(axis)
        assert grid is not None
        self._grid, self._last = grid, len(grid.edge) - 1.0
        self.open_ends = _open_ends(axis)
        self._value = np.empty(_PIECE)
        self._cell, self._place = np.empty((2, _PIECE), dtype=np.int64)
        self._up = np.empty(_PIECE, dtype=bool)

    def __call__(self, codes: Floats) -> Ints:
        many, grid = len(codes), self._grid
        value, up = self._value[:many], self._up[:many]
        cell, place = self._cell[:many], self._place[:many]
        np.subtract(codes, grid.low, out=value)
        value *= grid.scale
        np.fmax(value, 0.0, out=value)  # NaN goes to the first
        np.fmin(value, self._last, out=value)
        np.copyto(cell, value, casting="unsafe")
        np.take(grid.edge, cell, out=value, mode="clip")
        if grid.below is None:
            np.less(codes, value, out=up)
            cell -= up
            return cell
        np.take(grid.below, cell, out=place, mode="clip")
        np.greater_equal(codes, value, out=up)
        place += up
        return place

    def outside(self, codes: Floats) -> Bools:
        """Whether each code is in no cell."""
        below, above = self.open_ends
        return ~((codes >= below) & (codes <= above))
