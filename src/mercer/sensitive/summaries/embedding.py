"""The mean embedding of records in a public subspace.  Left of the door.  M2, M10, M18.

Balog, Tolstikhin and Schoelkopf 2018: Algorithm 1 (landmarks), Algorithm 2 (random features).
Rows that do not fit contribute nothing.  Sums are of whole numbers, and what one record adds
depends on that record alone (M3.3).  docs/proofs/embedding.md.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mercer.common.checks import Floats, Ints
from mercer.common.quiet import threads
from mercer.promise.events import Norm, Sensitivity, replace_one
from mercer.sensitive.base import Sensitive, Summary
from mercer.sensitive.persons import fold_persons
from mercer.sensitive.rows import Records
from mercer.sensitive.summaries.kernel_sums import BITS, kernel_error, kernel_sums, wave_norm, wave_sums
from mercer.spaces.record_kernels import GRAIN, LandmarkSpan, OwnKernel, RecordKernel, WaveSpan

__all__ = [
    "EmbeddingSummary",
    "EmbeddingTally",
    "LandmarkFeatures",
    "OwnFeatures",
    "WaveFeatures",
    "tally_own",
    "tally_records",
]

_PERSON = 1 << 15  # shares of a person's rows
_STEP, _CELLS = 1 << 14, 1 << 21  # rows, and coordinates of rows, at once


class RecordFeatures(ABC):
    """The public features by which records are seen."""

    span: LandmarkSpan | WaveSpan

    @property
    def size(self) -> int:
        """Number of coordinates of the release."""
        return self.span.size

    @property
    def numbers(self) -> int:
        """Number of integers that a record adds."""
        return self.size

    @property
    @abstractmethod
    def diameter(self) -> float:
        """The largest distance of two records in the coordinates, rounding included."""

    def coordinates(self, total: Sequence[int], count: int) -> Floats:
        """Coordinates of the mean, from sums in steps of 2^-24 of one part in `count`."""
        return np.array([int(t) / (count << BITS) for t in total])

    @property
    @abstractmethod
    def key(self) -> tuple[Any, ...]:
        """The public choices that the coordinates depend on, for a replay."""


@dataclass(frozen=True, eq=False)
class LandmarkFeatures(RecordFeatures):
    """Kernel functions at public records (Algorithm 1)."""

    kernel: RecordKernel
    points: Floats  # the landmarks as the kernel sees them
    span: LandmarkSpan

    @property
    def numbers(self) -> int:
        return len(self.points)

    def first(self, most: int) -> LandmarkFeatures:
        """The same features with only the first coordinates of the span."""
        return replace(self, span=self.span.first(most))

    def sums(self, u: Floats, weights: Ints | None) -> Ints:
        """Sums over rows of k(row, landmark), as whole numbers in steps of 2^-24."""
        return kernel_sums(self.kernel, u, self.points, weights)

    @property
    def diameter(self) -> float:
        """M10: sqrt2, as the kernel is nowhere negative and at most one; less any mass left out."""
        return math.sqrt(2) * self.span.gain + 2 * self.span.reach * kernel_error(self.kernel)

    def coordinates(self, total: Sequence[int], count: int) -> Floats:
        """Exact up to the last division: mixing and sums are whole numbers."""
        sums = np.array([int(t) for t in total], dtype=object)
        whole = np.ldexp(self.span.mixing, GRAIN).astype(np.int64)
        steps = count << (BITS + GRAIN)
        return np.array([int(row.astype(object) @ sums) / steps for row in whole])

    @property
    def key(self) -> tuple[Any, ...]:
        return self.kernel.scales, self.points.tobytes()


@dataclass(frozen=True, eq=False)
class WaveFeatures(RecordFeatures):
    """Random features (Algorithm 2)."""

    kernel: RecordKernel
    span: WaveSpan

    def sums(self, u: Floats, weights: Ints | None) -> Ints:
        """Sums over rows of cosines and sines, as whole numbers in steps of 2^-24."""
        return wave_sums(self.span.frequencies, u, weights)

    @property
    def diameter(self) -> float:
        """M10: 2, as waves may be opposite."""
        return 2 * wave_norm()

    def coordinates(self, total: Sequence[int], count: int) -> Floats:
        """Means of cosines and sines over the root of their number."""
        return super().coordinates(total, count) / math.sqrt(len(self.span.frequencies))

    @property
    def key(self) -> tuple[Any, ...]:
        return self.kernel.scales, self.span.frequencies.tobytes()


@dataclass(frozen=True, eq=False)
class OwnFeatures(RecordFeatures):
    """A kernel of the caller's: features of every record are computed alone and clipped (M3.2)."""

    kernel: OwnKernel
    points: Sequence[Any]
    span: LandmarkSpan

    def row(self, record: Any) -> Ints:
        """Features of one record in steps of 2^-24, of norm at most one."""
        values = self.kernel.row(record, self.points)
        fits = np.all(np.abs(values) <= 1e6)  # so they are finite
        e = self.span.coordinates(np.where(fits, values, 0.0))
        e /= max(1.0, math.sqrt(float(np.dot(e, e))))
        return np.trunc(e * (1 << BITS)).astype(np.int64)

    @property
    def diameter(self) -> float:
        """2: nothing but the norm is relied on."""
        return 2.0

    @property
    def key(self) -> tuple[Any, ...]:
        return self.kernel.name, self.span.mixing.tobytes()


class EmbeddingTally(Sensitive):
    """Sums, over records, of landmark or random features: exact integers."""

    def __init__(self, how: LandmarkFeatures | WaveFeatures, weight: int = 1) -> None:
        self.rows, self.persons, self.weight = 0, 0, weight
        self.how = how
        self.total = np.zeros(how.numbers, dtype=object)  # whole numbers of any size

    def add(self, chunk: Floats, weights: Ints | None = None) -> Self:
        """Add a chunk of rows, given as codes; those that do not fit add nothing (M18)."""
        self.rows += len(chunk)
        fits = np.all(np.isfinite(chunk), axis=1)
        if weights is not None:
            fits &= weights > 0

        step = max(1, min(_STEP, _CELLS // len(self.how.kernel.factors)))

        def sums(start: int) -> Ints:
            part = slice(start, start + step)
            mine = fits[part]
            share = None if weights is None else weights[part][mine]
            return self.how.sums(self.how.kernel.embed(chunk[part][mine]), share)

        starts = range(0, len(chunk), step)
        workers = min(len(starts), os.cpu_count() or 1, 8)
        if workers < 2:
            found = list(map(sums, starts))
        else:  # whole numbers: who adds them does not matter
            with threads(workers) as pool:
                found = list(pool.map(sums, starts))
        for part in found:  # of 2^14 rows of weight at most 2^15, in steps of 2^-24: below 2^54
            self.total = self.total + part.astype(object)
        return self

    def merge(self, other: Self) -> Self:
        """Add the sums of other rows."""
        self.rows += other.rows
        self.total = self.total + other.total
        return self


class OwnTally(Sensitive):
    """Sums over records of any kind, of features under a kernel of the caller's."""

    def __init__(self, how: OwnFeatures, rows: int, total: Ints) -> None:
        self.how, self.rows, self.persons, self.weight, self.total = how, rows, 0, 1, total


def tally_records(records: Records, how: LandmarkFeatures | WaveFeatures) -> EmbeddingTally:
    """Sum the features of all rows, in two passes where a person may have several rows (M16)."""
    weight = 1 if records.unit is None else _PERSON
    return fold_persons(records, lambda: EmbeddingTally(how, weight), weight)


def tally_own(records: Sequence[Any], how: OwnFeatures, tick: Any = None) -> OwnTally:
    """Sum the features of records of any kind, one at a time."""
    total = np.zeros(how.size, dtype=np.int64)
    for record in records:
        total += how.row(record)
        if tick is not None:
            tick(1)
    return OwnTally(how, len(records), total)


class EmbeddingSummary(Summary[Floats]):
    """The mean embedding of n records, or persons, in orthonormal coordinates."""

    def __init__(
        self, tally: EmbeddingTally | OwnTally, *, n: int, unit: str, how: RecordFeatures | None = None
    ) -> None:
        self.n, self.unit, self._tally = n, unit, tally
        self._how: RecordFeatures = tally.how if how is None else how

    @property
    def size(self) -> int:
        return self._how.size

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self._how.key

    def sensitivity(self, norm: Norm) -> Sensitivity:
        if norm not in ("l2", "rkhs"):
            raise ValueError(f"the mean embedding has no bound in the norm {norm!r}")
        return replace_one(embedding_sensitivity(self._how, n=self.n))

    def coordinates(self) -> Floats:
        return self._how.coordinates(list(self._tally.total), self.n * self._tally.weight)


def embedding_sensitivity(how: RecordFeatures, *, n: int) -> float:
    """What one record, or person, of n can do to the coordinates: public.

    The sums are exact; the mean is rounded once, by less than 2^-51 of its length.
    """
    return how.diameter / n * (1 + 1e-9) + 2.0**-50
