"""Counts of records in the cells of a table.  Left of the door.  M13, M16, M18.

One pass over the rows.  A small table is counted cell by cell, a large one by the cells that are
occupied: memory grows with them, not with the rows.  A record that does not fit is in no cell.
Of a person's rows at most `most` count, drawn at random: counts stay whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Self, TypeVar

import numpy as np

from mercer.columns.cells import Axes
from mercer.common.checks import Floats, Ints
from mercer.promise.events import Norm, Sensitivity
from mercer.promise.statement import rows_words
from mercer.sensitive.base import Sensitive, Summary
from mercer.sensitive.persons import DrawnRows, Lots, Persons
from mercer.sensitive.rows import Records, fold
from mercer.sensitive.summaries.cell_places import count_places, places_of, quick

__all__ = [
    "CellCounts",
    "CellTally",
    "MarginCounts",
    "MarginTally",
    "OccupiedCounts",
    "count_cells",
    "count_margins",
    "count_persons",
    "moved_counts",
    "moves_of",
]

_DENSE = 1 << 22  # cells of a table that is counted cell by cell
_MOST_RECORDS = 1 << 60  # of rows that are counts: sums and noise stay below 2^63
_KEPT = 1 << 20  # keys kept apart before they are merged


class CellTally(Sensitive):
    """Counts of records in the cells of one table."""

    def __init__(self, axes: Axes, most: int = 1) -> None:
        self.axes, self.most = axes, most
        self.rows = self.persons = self.fitting = 0
        self._dense = np.zeros(axes.cells, dtype=np.int64) if axes.cells <= _DENSE else None
        self._keys: list[Ints] = []
        self._counts: list[Ints] = []
        self._waiting = 0

    def add(self, chunk: Floats) -> Self:
        """Add a chunk of records."""
        if self._dense is not None and self.axes.dimension == 1 and quick(self.axes.columns[0]):
            self.rows += len(chunk)
            self._dense += count_places(self.axes.columns[0], chunk[:, 0])
            return self
        return self.put(places_of(self.axes, chunk), len(chunk))

    def put(self, places: Ints, rows: int, weights: Ints | None = None) -> Self:
        """Add records at these places, shape (columns, records), each with weight one or its own."""
        keys = self.axes.keys(places) if len(places) > 1 else places[0]
        self.rows += rows if weights is None else int(weights.sum())
        if self._dense is not None:
            length = len(self._dense) + 1  # the last is of those that do not fit
            if weights is None:
                counts = np.bincount(keys + 1, minlength=length)
            else:
                counts = np.zeros(length, dtype=np.int64)
                np.add.at(counts, keys + 1, weights)
            self._dense += counts[1:]
            return self
        self._later(*_united(keys, np.ones(len(keys), dtype=np.int64) if weights is None else weights))
        return self

    def _later(self, keys: Ints, counts: Ints) -> None:
        self._keys.append(keys)
        self._counts.append(counts)
        self._waiting += len(keys)
        if self._waiting > max(_KEPT, 2 * len(self._keys[0])):
            self._gather()

    def _gather(self) -> None:
        if len(self._keys) != 1:
            keys, counts = _united(
                np.concatenate([np.zeros(0, np.int64), *self._keys]),
                np.concatenate([np.zeros(0, np.int64), *self._counts]),
            )
            self._keys, self._counts = [keys], [counts]
        self._waiting = 0

    def merge(self, other: Self) -> Self:
        """Add the counts of other rows."""
        self.rows += other.rows
        if self._dense is not None and other._dense is not None:
            self._dense += other._dense
        else:
            self._keys += other._keys
            self._counts += other._counts
            self._gather()
        return self

    def occupied(self) -> tuple[Ints, Ints]:
        """Keys of the cells that hold a record, rising, and their counts."""
        if self._dense is not None:
            keys = np.flatnonzero(self._dense).astype(np.int64)
            return keys, self._dense[keys]
        self._gather()
        return self._keys[0], self._counts[0]

    def dense(self) -> Ints:
        """The counts of all cells, in the order of their keys."""
        if self._dense is not None:
            return self._dense
        keys, counts = self.occupied()
        out = np.zeros(self.axes.cells, dtype=np.int64)
        out[keys] = counts
        return out

    @property
    def complete(self) -> int:
        """Records that are in a cell.  Sensitive, unless the caller knows it is public."""
        return int(self.dense().sum()) if self._dense is not None else int(self.occupied()[1].sum())

    def listed(self) -> Ints:
        """The counts for a replay; of a table too large to list, folded to 2^16 sums."""
        if self._dense is not None:
            return self._dense
        keys, counts = self.occupied()
        out = np.zeros(1 << 16, dtype=np.int64)
        np.add.at(out, keys % (1 << 16), counts)
        return out


class MarginTally(Sensitive):
    """Records in the cells of several margins of one table: sets of its columns, by their places."""

    def __init__(self, axes: Axes, sets: tuple[tuple[int, ...], ...], most: int = 1) -> None:
        self.axes, self.sets, self.most = axes, sets, most
        self.parts = [CellTally(axes.only(places), most) for places in sets]
        self.rows = self.persons = self.fitting = 0

    def add(self, chunk: Floats) -> Self:
        """Add a chunk of records."""
        return self.put(places_of(self.axes, chunk), len(chunk))

    def put(self, places: Ints, rows: int, weights: Ints | None = None) -> Self:
        """Add records at these places; one that does not fit is in no margin."""
        fits = np.all(places >= 0, axis=0)
        self.rows += rows if weights is None else int(weights.sum())
        self.fitting += int(fits.sum()) if weights is None else int(weights[fits].sum())
        for part, columns in zip(self.parts, self.sets, strict=True):
            part.put(np.where(fits, places[list(columns)], -1), rows, weights)
        return self

    def merge(self, other: Self) -> Self:
        """Add the counts of other rows."""
        self.rows += other.rows
        self.fitting += other.fitting
        for one, two in zip(self.parts, other.parts, strict=True):
            one.merge(two)
        return self

    @property
    def complete(self) -> int:
        """Records that fit.  Sensitive, unless the caller knows it is public."""
        return self.fitting


AnyTally = TypeVar("AnyTally", CellTally, MarginTally)


def moved_counts(moves: int, most: int, norm: Norm) -> Sensitivity:
    """What one record does that enters or leaves so many cells; a person has `most` of them: exact.

    All of a person's rows may leave one cell and enter another.
    """
    if norm == "l1":
        return Sensitivity(float(most * moves), norm="l1")
    return Sensitivity(math.nextafter(most * math.sqrt(moves), math.inf), norm="l2")


X = TypeVar("X")


class _Counts(Summary[X]):
    """Counts of records in cells; the statement says how many rows of a person count."""

    _tally: CellTally | MarginTally

    @property
    def note(self) -> str:
        words = rows_words(self.unit, self._tally.most)
        return f"; {words}" if words else ""


class _TableCounts(_Counts[X]):
    """Counts of the cells of one table."""

    name = "counts"
    _tally: CellTally

    def __init__(self, tally: CellTally, *, n: int, unit: str) -> None:
        self._tally, self.n, self.unit = tally, n, unit

    @property
    def size(self) -> int:
        return self._tally.axes.cells

    @property
    def parameters(self) -> tuple[int]:
        return (self.size,)

    def sensitivity(self, norm: Norm) -> Sensitivity:
        """A record leaves a cell and enters another."""
        return moved_counts(2, self._tally.most, norm)

    def shown(self, exact: X) -> Ints:  # noqa: ARG002
        return self._tally.listed()


class CellCounts(_TableCounts[Ints]):
    """Counts of all cells of one table."""

    def coordinates(self) -> Ints:
        return self._tally.dense()


class OccupiedCounts(_TableCounts[tuple[Ints, Ints, int]]):
    """Counts of the cells of one table that are occupied, which may be few of very many."""

    def coordinates(self) -> tuple[Ints, Ints, int]:
        """Keys and counts of the occupied cells, and the number of all cells."""
        return (*self._tally.occupied(), self.size)


class MarginCounts(_Counts[Ints]):
    """Counts of all cells of several margins, one margin after the other.

    Of a margin marked single, which has two cells, the second alone is counted; the first is what
    it leaves of n.
    """

    name = "margins"
    _tally: MarginTally

    def __init__(self, tally: MarginTally, single: tuple[bool, ...], *, n: int, unit: str) -> None:
        self._tally, self._single, self.n, self.unit = tally, single, n, unit

    @property
    def size(self) -> int:
        sizes = [part.axes.cells for part in self._tally.parts]
        return sum(1 if alone else size for size, alone in zip(sizes, self._single, strict=True))

    @property
    def parameters(self) -> tuple[tuple[bool, ...]]:
        return (self._single,)

    def sensitivity(self, norm: Norm) -> Sensitivity:
        """A record leaves a cell of every margin and enters another; it changes a single one alone."""
        return moved_counts(moves_of(self._single), self._tally.most, norm)

    def coordinates(self) -> Ints:
        pairs = zip(self._tally.parts, self._single, strict=True)
        return np.concatenate([part.dense()[1:] if alone else part.dense() for part, alone in pairs])


def moves_of(single: tuple[bool, ...]) -> int:
    """Number of counts that one record changes when it is replaced; a single margin has one."""
    return sum(1 if alone else 2 for alone in single)


def count_cells(
    records: Records, axes: Axes, *, most: int, counts: str | None = None, lots: Lots | None = None
) -> CellTally:
    """All records of a source in the cells of a table; of persons, those that `lots` draw."""
    return _counted(records, lambda: CellTally(axes, most), most, counts, lots)


def count_margins(
    records: Records,
    axes: Axes,
    sets: tuple[tuple[int, ...], ...],
    *,
    most: int,
    counts: str | None = None,
    lots: Lots | None = None,
) -> MarginTally:
    """All records of a source in the cells of several margins: the same ones in all of them."""
    return _counted(records, lambda: MarginTally(axes, sets, most), most, counts, lots)


def count_persons(records: Records, axes: Axes, least: int) -> tuple[int, int]:
    """Persons with a row in a cell of at least this key, and all persons."""
    seen, found = Persons(), np.zeros(0, dtype=bool)
    for chunk, names in zip(records.chunks(), records.persons(), strict=True):
        here = axes.keys(places_of(axes, chunk)) >= least
        person = seen.numbers(names)
        found = np.append(found, np.zeros(seen.count - len(found), dtype=bool))
        found[person[here & (person >= 0)]] = True
    return int(found.sum()), seen.count


def _counted(
    records: Records, zero: Callable[[], AnyTally], most: int, counts: str | None, lots: Lots | None
) -> AnyTally:
    if counts is not None:
        return _weighed(records, zero())
    if records.unit is None:
        return fold(records.parts(), zero, workers=records.workers)
    if lots is None:
        raise ValueError("lots are missing: which rows of a person count is drawn at random")
    tally = zero()
    drawn = DrawnRows(lots, most, tally.axes.dimension)
    for chunk, names in zip(records.chunks(), records.persons(), strict=True):
        drawn.put(names, places_of(tally.axes, chunk))
    for places in drawn.rows():
        tally.put(places, places.shape[1])
    tally.persons = drawn.count
    return tally


def _weighed(records: Records, tally: AnyTally) -> AnyTally:
    """Rows that are cells with the number of their records in the last column.

    A number below zero is no count of any records: an error of it tells of none.
    """
    total = 0.0
    for chunk in records.chunks():
        numbers = chunk[:, -1]
        if not np.all((numbers >= 0) & (numbers <= 2.0**52) & (numbers == np.rint(numbers))):
            raise ValueError(
                f"counts: the column {records.names[-1]!r} must hold whole numbers >= 0, how many "
                "records each row stands for; nothing was spent"
            )
        weights = numbers.astype(np.int64)
        total += math.fsum(numbers)
        if total > _MOST_RECORDS:  # their number is public
            raise ValueError(
                f"counts: the column {records.names[-1]!r} has a sum above 2^60; nothing was spent"
            )
        tally.put(places_of(tally.axes, chunk[:, :-1]), len(chunk), weights)
    return tally


def _united(keys: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Each key once, rising, with the sum of its counts; those that do not fit are left out."""
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    starts = np.flatnonzero(np.diff(keys, prepend=-2))
    sums = np.add.reduceat(counts, starts) if len(keys) else counts
    keys = keys[starts]
    real = (keys >= 0) & (sums > 0)
    return keys[real], sums[real]
