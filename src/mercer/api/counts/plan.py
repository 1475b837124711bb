"""Accuracy of counts, histograms and tables before anything is spent.  M13."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from mercer.columns.cells import MOST_CELLS
from mercer.common.checks import check_count, check_delta, check_epsilon
from mercer.noise.count_laws import CountLaw
from mercer.noise.mechanisms.base import no_delta
from mercer.noise.mechanisms.counts import count_mechanism, threshold_of
from mercer.noise.optimal.bounds import histogram_bound, sparse_bound
from mercer.releases.counts.accuracy import sparse_error
from mercer.sensitive.summaries.cell_counts import moved_counts

__all__ = ["HistogramPlan", "histogram_plan"]


@dataclass(frozen=True)
class HistogramPlan:
    """What a histogram or table would cost in accuracy: computed without any data.

    Errors are of all cells together: the expected sum of absolute errors of the counts.
    """

    n: int
    cells: int
    epsilon: float
    delta: float
    rows_per_person: int
    occupied: int | None  # cells that hold something, where that is known in public
    deviation: float  # standard deviation of one count's noise
    half_width: float  # of a 95 % interval for one count
    threshold: int  # of a sparse release
    privacy_error: float  # all cells released, at most (exact before negative counts become 0)
    sampling_error: float  # of other records of the same distribution, privacy or not: at most
    law: CountLaw

    @property
    def share(self) -> float:
        """Noise that drowns the largest count there can be has a share of 1 or more."""
        return self.half_width / (self.n * self.rows_per_person)

    def dense_error(self, occupied: int) -> float:
        """All cells released, so many of them occupied; negative counts become 0: at most."""
        return (self.cells + self._held(occupied)) / 2 * self.law.mean_error

    def sparse_error(self, occupied: int) -> float:
        """Cells above the threshold released, so many of them occupied: at most."""
        return sparse_error(self.law, self.cells, self._held(occupied), self.threshold)

    def best(self, occupied: int | None = None) -> float | None:
        """No pure release of this epsilon can promise less, on its worst data.

        Of all cells, or of data in which so many are occupied; not known with a delta.
        """
        if self.delta:
            return None
        if occupied is None:
            return histogram_bound(self.n, self.cells, self.epsilon)
        held = self._held(occupied)
        return sparse_bound(self.n, self.cells, held, self.epsilon) if held else 0.0

    @property
    def worth(self) -> int:
        """Up to so many occupied cells a sparse release has the smaller bound."""
        most = min(self.cells, self.n * self.rows_per_person)
        first, last = (self.sparse_error(q) - self.dense_error(q) for q in (0, most))
        if first >= 0:
            return 0
        return most if last < 0 else int(most * first / (first - last))  # both are straight lines

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "n": self.n,
            "cells": self.cells,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "rows_per_person": self.rows_per_person,
            "occupied": self.occupied,
            "noise": self.law.to_dict(),
            "deviation": self.deviation,
            "half_width": self.half_width,
            "level": 0.95,
            "threshold": self.threshold,
            "privacy_error": self.privacy_error,
            "sampling_error": self.sampling_error,
            "sparse_up_to": self.worth,
            "best": self.best(),
        }

    def _held(self, occupied: object) -> int:
        return check_count("occupied", occupied, least=0, most=self.cells, hint="cells that hold something")


@overload
def histogram_plan(
    n: object,
    cells: object,
    *,
    epsilon: Sequence[float],
    delta: object = None,
    occupied: int | None = None,
    rows_per_person: int = 1,
) -> tuple[HistogramPlan, ...]: ...


@overload
def histogram_plan(
    n: object,
    cells: object,
    *,
    epsilon: float | None,
    delta: object = None,
    occupied: int | None = None,
    rows_per_person: int = 1,
) -> HistogramPlan: ...


def histogram_plan(
    n: object,
    cells: object,
    *,
    epsilon: Any,
    delta: object = None,
    occupied: int | None = None,
    rows_per_person: int = 1,
) -> HistogramPlan | tuple[HistogramPlan, ...]:
    """Accuracy of `histogram` and `table` before anything is spent: no data are needed.

    Parameters
    ----------
    n
        The public number of records, or of persons.
    cells
        How many cells there are: bins, categories, or all combinations of them.
    epsilon, delta
        The promise; a list of epsilons gives a plan for each.
    occupied, rows_per_person
        As in `mercer.histogram`.

    Examples
    --------
    >>> import mercer
    >>> plan = mercer.histogram_plan(20_000, 65_536, epsilon=1)
    >>> plan.half_width, plan.threshold
    (6.0, 22)
    >>> plan.sparse_error(1_000) < plan.dense_error(1_000)
    True
    >>> [round(plan.deviation, 1) for plan in mercer.histogram_plan(500, 20, epsilon=[0.1, 1])]
    [28.3, 2.8]

    """
    if isinstance(epsilon, (list, tuple, np.ndarray)):
        if not len(epsilon):
            raise ValueError("epsilon must be one number or more, got an empty list")
        return tuple(_plan(n, cells, value, delta, occupied, rows_per_person) for value in epsilon)
    return _plan(n, cells, epsilon, delta, occupied, rows_per_person)


def _plan(
    n: object, cells: object, epsilon: object, delta: object, occupied: object, rows_per_person: object
) -> HistogramPlan:
    many = check_count("n", n, least=1, most=10**15, hint="the public number of records")
    size = check_count("cells", cells, least=1, most=MOST_CELLS, hint="bins times categories")
    most = check_count(
        "rows_per_person",
        rows_per_person,
        least=1,
        most=1 << 20,
        hint="rows of one person that count; noise grows with it",
    )
    known = None
    if occupied is not None:
        known = check_count("occupied", occupied, least=1, most=size, hint="cells known to hold something")
    number = check_epsilon(epsilon)
    small = 0.0 if no_delta(delta) else check_delta(delta)
    mechanism = count_mechanism(small)
    moved = moved_counts(2, most, mechanism.norm)  # of a person, `most` rows (M16)
    noise = mechanism.calibrate(moved, epsilon=number, delta=small)
    return HistogramPlan(
        n=many,
        cells=size,
        epsilon=number,
        delta=small,
        rows_per_person=most,
        occupied=known,
        deviation=noise.law.deviation,
        half_width=noise.law.half_width(1, 0.95),
        threshold=threshold_of(noise, size, known),
        privacy_error=size * noise.law.mean_error,
        sampling_error=math.sqrt(many * most * (size - 1)),
        law=noise.law,
    )
