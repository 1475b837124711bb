"""Counts of the bins of every column of a table.  Left of the door.  M13, M16, M18."""

from __future__ import annotations

from typing import Self

import numpy as np

from mercer.common.checks import Floats, Ints
from mercer.promise.events import Norm, Sensitivity
from mercer.sensitive.persons import person_weights
from mercer.sensitive.rows import Records
from mercer.sensitive.summaries.base import Summary
from mercer.spaces.landmarks import bins_of, places_in

__all__ = ["ColumnCounts", "count_columns"]

_PERSON = 1 << 15


class ColumnCounts(Summary):
    """How many records are in each bin of each column; cells that do not fit are in none."""

    name = "counts"

    def __init__(self, records: Records) -> None:
        self.domain, self.unit = records.domain, records.unit or "row"
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

    @property
    def n(self) -> int:  # type: ignore[override]
        """Rows, or persons: public."""
        return self.rows if self.unit == "row" else self.persons

    @property
    def size(self) -> int:
        return sum(len(part) for part in self.counts)

    def sensitivity(self, norm: Norm) -> Sensitivity:  # noqa: ARG002
        """A record leaves one bin of every column and enters another: l1, exact."""
        return Sensitivity(float(2 * len(self.counts) * self.weight), norm="l1")

    def coordinates(self) -> Floats:
        """The counts of one column after the other."""
        return np.concatenate(self.counts).astype(float)


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
