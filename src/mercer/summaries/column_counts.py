"""Counts of numeric columns of a table on fine grids.  Layer 2, left of the door.  M12."""

from __future__ import annotations

from typing import Self

import numpy as np

from mercer.checks import Ints
from mercer.persons import person_weights
from mercer.record_data import Records
from mercer.sensitive import Sensitive

__all__ = ["ColumnCounts", "count_columns"]

_NODES = 1 << 12
_PERSON = 1 << 15


class ColumnCounts(Sensitive):
    """How often each node of [0, 1] is nearest to a value, for every numeric column."""

    def __init__(self, records: Records) -> None:
        self.domain = records.domain
        self.places = [j for j, column in enumerate(self.domain.columns) if column.numeric]
        self.rows, self.persons, self.weight = 0, 0, 1
        self.counts = np.zeros((len(self.places), _NODES + 1), dtype=np.int64)

    @property
    def names(self) -> list[str]:
        """Of the columns: public."""
        return [self.domain.columns[j].name for j in self.places]

    def add(self, chunk: object, weights: Ints | None = None) -> Self:
        """With a chunk of rows more; cells that do not fit are not counted."""
        codes = np.asarray(chunk, dtype=float)
        self.rows += len(codes)
        share = np.ones(len(codes), dtype=np.int64) if weights is None else weights
        for i, j in enumerate(self.places):
            unit = self.domain.columns[j].embed(codes[:, j])[:, 0]
            fits = np.isfinite(unit)
            nodes = np.rint(unit[fits] * _NODES).astype(np.int64)
            np.add.at(self.counts[i], nodes, share[fits])
        return self

    def of(self, place: int) -> Column:
        """One column, as ranks are taken of it."""
        return Column(self.counts[place], self.weight)


class Column(Sensitive):
    """Counts of one column."""

    def __init__(self, counts: Ints, weight: int) -> None:
        self._counts, self.weight, self.shape = counts, weight, counts.shape

    def on(self, _shape: tuple[int, ...]) -> tuple[Ints, int]:
        """At the nodes."""
        return self._counts, 1


def count_columns(records: Records) -> ColumnCounts:
    """One pass over the rows, or two where a person may have several (M16)."""
    counts = ColumnCounts(records)
    if records.unit is None:
        for chunk in records.chunks():
            counts.add(chunk)
        return counts
    persons, shares = person_weights(records, _PERSON)
    for chunk, share in zip(records.chunks(), shares(), strict=True):
        counts.add(chunk, share)
    counts.persons, counts.weight = persons, _PERSON
    return counts
