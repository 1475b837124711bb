"""Rows counted on a fine public grid: the one pass over the data.  Left of the door.

Binning is free (M5): a row becomes a convex combination of grid nodes, so every bound on feature
vectors stands.  A row goes to the nearest node of the fine grid, and a fine node is shared
between its two neighbours on the grid that a basis asks for, with weights that are whole numbers:
linear binning in exact integers.  Counts do not depend on order, chunks or workers (M3.3), and
no branch depends on a value: rows that do not fit add to a cell that nobody reads (M18).
"""

from __future__ import annotations

import math

import numpy as np

from mercer.columns.domain import Box, dimension_of
from mercer.columns.reading import PLAIN, Reading
from mercer.common.checks import Floats, Ints
from mercer.sensitive.base import Sensitive
from mercer.sensitive.data import open_rows
from mercer.sensitive.persons import person_weights, public_n
from mercer.sensitive.rows import Rows, fold

__all__ = ["PERSON", "Counted", "Tally", "tally_rows"]

PERSON = 1 << 20  # a person's weight, shared by the person's rows in whole numbers
_PIECE = 1 << 17  # rows worked on at once
_FINE = {1: 1 << 15, 2: 1 << 11, 3: 1 << 8}  # cells along each coordinate


class Tally(Sensitive):
    """Weights of rows at the nodes of the fine grid, as integers."""

    def __init__(self, domain: Box, weight: int = 1) -> None:
        self.domain = domain
        self.weight = weight  # of one row, or of all rows of one person
        self.rows = 0  # rows read
        self.persons = 0  # distinct persons, where a unit is named
        self._cells = _FINE[domain.dimension]
        # one node more along each coordinate, for values that are missing: nobody reads it
        self._counts = np.zeros((self._cells + 2,) * domain.dimension, dtype=np.int64)
        self._index = np.empty(0, dtype=np.int64)
        self._float = np.empty(_PIECE)
        self._flags = np.empty(_PIECE, dtype=bool)
        self._whole = np.empty(_PIECE, dtype=np.int64)

    @property
    def shape(self) -> tuple[int, ...]:
        """Nodes of the fine grid along each coordinate: public."""
        return (self._cells + 1,) * self.domain.dimension

    @property
    def complete(self) -> int:
        """Weight of the rows that have values.  Sensitive, unless the caller knows it is public."""
        return int(self._valid.sum())

    @property
    def _valid(self) -> Ints:
        return self._counts[(slice(0, self._cells + 1),) * self.domain.dimension]

    def add(self, chunk: Floats, weights: Ints | None = None) -> Tally:
        """Count a chunk of rows, each with weight one or its own."""
        index = self._work(len(chunk))
        with np.errstate(all="ignore"):
            for start in range(0, len(chunk), _PIECE):
                self._place(chunk[start : start + _PIECE], index[start : start + _PIECE])
        flat = self._counts.reshape(-1)
        if self.domain.dimension > 1 or weights is not None:
            np.add.at(flat, index, 1 if weights is None else weights)
        else:
            flat += np.bincount(index, minlength=flat.size)
        self.rows += len(chunk)
        return self

    def _place(self, piece: Floats, index: Ints) -> None:
        """Number of the node of each row, into `index`."""
        place, step = self._float[: len(piece)], self._whole[: len(piece)]
        missing = self._flags[: len(piece)]
        for axis, (low, width) in enumerate(zip(self.domain.lower, self.domain.widths, strict=True)):
            column, scale = piece[:, axis], self._cells / width
            if abs(low) <= 1024 * width:  # one pass less, and no digits to lose
                np.multiply(column, scale, out=place)
                place += 0.5 - low * scale
            else:
                np.subtract(column, low, out=place)
                place *= scale
                place += 0.5
            np.clip(place, 0.0, self._cells, out=place)
            into = step if axis else index
            np.copyto(into, place, casting="unsafe")
            np.isfinite(column, out=missing)
            np.logical_not(missing, out=missing)
            np.copyto(into, self._cells + 1, where=missing)  # the node nobody reads
            if axis:
                index *= self._cells + 2
                index += step

    def _work(self, rows: int) -> Ints:
        """An array to work in, kept from chunk to chunk: fresh memory costs more than counting."""
        if rows > self._index.size:
            self._index = np.empty(rows, dtype=np.int64)
        return self._index[:rows]

    def merge(self, other: Tally) -> Tally:
        """The tally of both sets of rows."""
        if (self.domain, self.weight) != (other.domain, other.weight):
            raise ValueError("tallies must share domain and weight to be merged")
        self._counts += other._counts
        self.rows += other.rows
        return self

    def on(self, shape: tuple[int, ...]) -> tuple[Ints, int]:
        """Weights on a coarser grid of this shape by linear binning, and the factor they gained."""
        counts = self._valid
        for axis, nodes in enumerate(shape):
            counts = np.moveaxis(_coarser(np.moveaxis(counts, axis, 0), nodes - 1), 0, axis)
        return counts, math.prod(self._cells // (nodes - 1) for nodes in shape)


def tally_rows(rows: Rows, domain: Box) -> Tally:
    """Count all rows of a source."""
    if rows.unit is None:
        return fold(rows.parts(), lambda: Tally(domain), workers=rows.workers)
    persons, weights = person_weights(rows, PERSON)
    tally = Tally(domain, PERSON)
    tally.persons = persons
    for chunk, weight in zip(rows.chunks(), weights(), strict=True):
        tally.add(chunk, weight)
    return tally


class Counted(Sensitive):
    """Records counted on the fine grid, with their public domain, unit and number."""

    def __init__(
        self,
        data: object,
        bounds: object,
        columns: object,
        unit: str | None,
        reading: Reading = PLAIN,
        *,
        one: bool,
    ) -> None:
        dimension = 1 if one else dimension_of(bounds)
        rows = open_rows(
            data, columns=columns, unit=unit, dimension=dimension, bounds=bounds, reading=reading
        )
        if one and len(rows.names) != 1:
            raise ValueError(f"columns must be one column, got {len(rows.names)}; name it")
        self.domain = Box.of(bounds, rows.names)
        self.tally = tally_rows(rows, self.domain)
        self.unit = rows.unit or "row"
        self.n = public_n(self.tally.rows, persons=self.tally.persons, unit=rows.unit)
        self.name = rows.names[0]


def _coarser(counts: Ints, cells: int) -> Ints:
    """Share each fine node between its two coarse neighbours, in whole numbers."""
    fine = len(counts) - 1
    parts = fine // cells
    if parts * cells != fine or parts == 0:
        raise ValueError(f"a grid of {cells} cells does not divide the fine grid of {fine}")
    if parts == 1:
        return counts
    body = counts[:fine].reshape(cells, parts, *counts.shape[1:])
    out = np.zeros((cells + 1, *counts.shape[1:]), dtype=np.int64)
    np.multiply(body[:, 0], parts, out=out[:cells])
    share = np.empty_like(out[:cells])
    for r in range(1, parts):
        out[:cells] += np.multiply(body[:, r], parts - r, out=share)
        out[1:] += np.multiply(body[:, r], r, out=share)
    out[cells] += parts * counts[fine]
    return out
