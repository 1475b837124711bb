"""Cells of chunks of records.  Layer 2, left of the door."""

from __future__ import annotations

import numpy as np

from mercer.axes import Axes, Axis
from mercer.checks import Floats, Ints

__all__ = ["places_of"]

_PIECE = 1 << 15  # rows at once: they stay in the processor's cache


def places_of(axes: Axes, chunk: Floats) -> Ints:
    """Places of the records along each column, shape (columns, records); -1 where one fails."""
    places = np.empty((axes.dimension, len(chunk)), dtype=np.int64)
    for row, axis, codes in zip(places, axes.columns, chunk.T, strict=True):
        if axis.equal:
            _equal(axis, codes, row)
        else:
            row[:] = axis.places(codes)
    return places


def _equal(axis: Axis, codes: Floats, out: Ints) -> None:
    """The same as `Axis.places` for edges equally far apart: divide, then look at both edges."""
    edges = np.asarray(axis.edges)
    low, size = edges[0], axis.size
    scale = size / (edges[-1] - low)
    rooms = np.concatenate([edges[:-1], [np.inf]])  # the last holds its upper edge
    above = np.concatenate([edges[1:-1], [np.inf]])
    place = np.empty(min(_PIECE, len(codes)))
    for start in range(0, len(codes), _PIECE):
        piece, into = codes[start : start + _PIECE], out[start : start + _PIECE]
        value = place[: len(piece)]
        np.subtract(piece, low, out=value)
        value *= scale
        np.clip(value, 0.0, size - 1.0, out=value)  # NaN stays
        np.copyto(value, 0.0, where=np.isnan(piece))
        np.copyto(into, value, casting="unsafe")
        into += piece >= above[into]
        into -= (piece < rooms[into]) & (into > 0)
        if axis.outside == "drop":
            into[(piece < low) | (piece > edges[-1])] = -1
        into[np.isnan(piece)] = -1
