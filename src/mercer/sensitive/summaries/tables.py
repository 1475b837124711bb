"""Integer counts behind synthetic tables: bins of every column, and small tables.  Left of the door.

Landmarks are chosen by counts of the bins of each column (M13, M16).  The exponential mechanism
chooses among all tables of M records: a table R has the score -||mu_D - mu_R|| (M10, M12; Balog,
Tolstikhin and Schoelkopf 2018, Sec. 3.4, after Blum, Ligett and Roth 2008).  Kernel values are cut
to whole multiples of 2^-80, so the squared distance is a whole number, and its root is cut once.
docs/proofs/embedding.md.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from itertools import combinations_with_replacement
from typing import Any, Self

import numpy as np

from mercer.common.checks import Floats, Ints
from mercer.promise.events import Norm, Sensitivity, replace_one
from mercer.sensitive.base import Sensitive, Summary
from mercer.sensitive.persons import fold_persons
from mercer.sensitive.rows import Records, fold
from mercer.spaces.landmarks import bins_of, everything, places_in
from mercer.spaces.record_kernels import RecordKernel

__all__ = ["ColumnCounts", "SmallTally", "candidate_tables", "count_columns", "count_records", "table_scores"]

MOST_TABLES = 20_000
MOST_CELLS = 64
_BITS = 80
_STEP = 1 << 14  # rows at once
_SCALE = 1 << 30  # of the scores


class SmallTally(Sensitive):
    """For each possible record of a small domain, how many records are equal to it."""

    def __init__(self, cells: Floats) -> None:
        self._cells = cells
        self.rows, self.counts = 0, np.zeros(len(cells), dtype=np.int64)

    def add(self, chunk: Floats) -> Self:
        """Add a chunk of rows; those that do not fit are none of the records."""
        self.rows += len(chunk)
        for start in range(0, len(chunk), _STEP):
            same = chunk[start : start + _STEP, None, :] == self._cells[None, :, :]
            self.counts += np.sum(np.all(same, axis=2), axis=0)
        return self

    def merge(self, other: Self) -> Self:
        """Add the counts of other rows."""
        self.rows += other.rows
        self.counts += other.counts
        return self


def count_records(records: Records, cells: Floats) -> SmallTally:
    """Count the records of a small domain in one pass over the rows."""
    return fold(records.parts(), lambda: SmallTally(cells), workers=records.workers)


def candidate_tables(kernel: RecordKernel, size: int) -> tuple[Floats, Ints]:
    """All records of the domain, and all tables of `size` of them, as counts: public."""
    cells = kernel.domain.size
    few = cells is not None and cells <= MOST_CELLS
    if cells is None or not few or math.comb(cells + size - 1, size) > MOST_TABLES:
        raise ValueError(
            f"method='exponential' lists all tables of {size} records: of this domain there are "
            f"too many; at most {MOST_TABLES} of a domain of {MOST_CELLS} records can be listed; "
            "use method='landmarks', or a smaller size"
        )
    places = list(combinations_with_replacement(range(cells), size))
    tables = np.zeros((len(places), cells), dtype=np.int64)
    for row, chosen in enumerate(places):
        np.add.at(tables[row], list(chosen), 1)
    return everything(kernel.domain), tables


def table_scores(
    kernel: RecordKernel, counts: SmallTally, tables: Ints, *, n: int
) -> tuple[list[int], Sensitivity]:
    """Minus the distance of each table, in steps of 2^-30, and what one record can do to it.

    Records that do not fit are missing from mu_D.  A distance moves by at most sqrt2 / n (M10);
    cutting kernel values moves it by less than 2^-38, and the root by less than a step.
    """
    gram = _whole_gram(kernel)
    size = int(tables[0].sum())
    own, each = counts.counts.astype(object), tables.astype(object)
    toward = each @ (gram @ own)
    lengths = np.einsum("ij,ij->i", each @ gram, each)
    alone = own @ gram @ own
    scores = []
    for cross, length in zip(toward, lengths, strict=True):
        square = size**2 * alone - 2 * size * n * cross + n**2 * length  # times (size n)^2 2^80
        shifted = max(int(square), 0) * _SCALE**2
        scores.append(-(math.isqrt(shifted >> _BITS) // (size * n)))
    return scores, replace_one(math.sqrt(2) / n * _SCALE + 4, norm="score")


def _whole_gram(kernel: RecordKernel) -> Any:
    """Kernel values in steps of 2^-80, cut downwards."""
    cells = kernel.embed(everything(kernel.domain))
    if kernel.name != "gaussian":
        raise ValueError("method='exponential' is for the Gaussian kernel")
    gram = np.zeros((len(cells), len(cells)), dtype=object)
    with localcontext() as context:
        context.prec = 60
        for i, one in enumerate(cells.tolist()):
            for j, other in enumerate(cells.tolist()):
                square = sum(
                    ((Decimal(a) - Decimal(b)) ** 2 for a, b in zip(one, other, strict=True)), Decimal(0)
                )
                gram[i, j] = int((-square / 2).exp() * (1 << _BITS))
    return gram


_PERSON = 1 << 15


class ColumnCounts(Summary[Floats]):
    """How many records are in each bin of each column; cells that do not fit are in none."""

    name = "counts"

    def __init__(self, records: Records) -> None:
        self.domain, self.unit = records.domain, records.unit or "row"
        self.rows, self.persons, self.weight = 0, 0, 1 if records.unit is None else _PERSON
        self.counts = [np.zeros(bins_of(c), dtype=np.int64) for c in self.domain.columns]

    def add(self, chunk: Floats, weights: Ints | None = None) -> Self:
        """Add a chunk of rows, each with weight one or its own."""
        self.rows += len(chunk)
        share = np.ones(len(chunk), dtype=np.int64) if weights is None else weights
        for column, codes, counts in zip(self.domain.columns, chunk.T, self.counts, strict=True):
            place = places_in(column, codes)
            padded = np.zeros(len(counts) + 1, dtype=np.int64)
            np.add.at(padded, place, share)  # -1 is the last
            counts += padded[:-1]
        return self

    def merge(self, other: Self) -> Self:
        """Add the counts of other rows."""
        self.rows += other.rows
        for mine, theirs in zip(self.counts, other.counts, strict=True):
            mine += theirs
        return self

    @property
    def n(self) -> int:  # type: ignore[override]
        """Number of rows, or of persons where a unit is named: public."""
        return self.rows if self.unit == "row" else self.persons

    @property
    def size(self) -> int:
        return sum(len(part) for part in self.counts)

    def sensitivity(self, norm: Norm) -> Sensitivity:  # noqa: ARG002
        """A record leaves one bin of every column and enters another: l1, exact."""
        return Sensitivity(float(2 * len(self.counts) * self.weight), norm="l1")

    def coordinates(self) -> Floats:
        """The counts of all columns, concatenated."""
        return np.concatenate(self.counts).astype(float)


def count_columns(records: Records) -> ColumnCounts:
    """Count the bins of every column, in two passes where a person may have several rows (M16)."""
    return fold_persons(records, lambda: ColumnCounts(records), _PERSON)
