"""Counts of the bins of every column of a table.  Left of the door.  M13, M16, M18."""

from __future__ import annotations

from typing import Self

import numpy as np

from mercer.common.checks import Floats, Ints
from mercer.promise.events import Sensitivity
from mercer.sensitive.base import Sensitive
from mercer.sensitive.persons import person_weights
from mercer.sensitive.records import Records
from mercer.spaces.landmarks import bins_of, places_in

__all__ = ["ColumnCounts", "count_columns"]

_PERSON = 1 << 15


class ColumnCounts(Sensitive):
    """How many records are in each bin of each column; cells that do not fit are in none."""

    def __init__(self, records: Records) -> None:
        self.domain = records.domain
        self.rows, self.persons, self.weight = 0, 0, 1
        self.counts = [np.zeros(bins_of(c), dtype=np.int64) for c in self.domain.columns]

    def add(self, chunk: Floats, weights: Ints | None = None) -> Self:
        """With a chunk of rows more, each of weight one or its own."""
        self.rows += len(chunk)
        share = np.ones(len(chunk), dtype=np.int64) if weights is None else weights
        for column, codes, counts in zip(self.domain.columns, chunk.T, self.counts, strict=True):
            place = places_in(column, codes)
            padded = np.zeros(len(counts) + 1, dtype=np.int64)
            np.add.at(padded, place, share)  # -1 is the last
            counts += padded[:-1]
        return self

    def sensitivity(self) -> Sensitivity:
        """A record leaves one bin of every column and enters another: l1, exact."""
        return Sensitivity(float(2 * len(self.counts) * self.weight), norm="l1")


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
