"""The arguments of counts, and how accurate they will be: before any record is read.  M13, M16, M18."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np

from mercer.api.calls import Terms
from mercer.columns.cells import MOST_CELLS, Axes
from mercer.columns.kinds import Numeric
from mercer.columns.reading import Reading
from mercer.columns.table import Domain
from mercer.common.checks import check_choice, check_count, check_delta, check_epsilon
from mercer.door.publish import Purse, Weaker
from mercer.noise.count_laws import CountLaw
from mercer.noise.lower_bounds import histogram_bound, sparse_bound
from mercer.noise.mechanisms.base import Promise, no_delta
from mercer.noise.mechanisms.counts import CountNoise, count_mechanism, threshold_of
from mercer.promise.statement import Statement
from mercer.releases.counts.cells import sparse_error
from mercer.sensitive.data import open_records
from mercer.sensitive.persons import Lots, check_drop, n_of
from mercer.sensitive.rows import Records
from mercer.sensitive.summaries.cell_counts import CellTally, MarginTally, moved_counts
from mercer.sources.frames import names_of

__all__ = ["CountRequest", "HistogramPlan", "check_worth", "expected_cells", "histogram_plan", "name_of"]


@dataclass(frozen=True)
class CountRequest:
    """The arguments of counts of any kind, checked before any record is read."""

    axes: Axes
    terms: Terms
    promise: Promise
    most: int  # rows of one person that count: one, unless the caller says more
    counts: str | None
    missing: str
    reading: Reading

    @classmethod
    def of(
        cls,
        axes: Axes,
        terms: Terms,
        na_values: object,
        formats: object,
        counts: object,
        missing: str = "zero",
        rows_per_person: object = 1,
    ) -> CountRequest:
        reading = terms.reading(na_values, formats, missing=missing)
        number = check_epsilon(terms.epsilon)
        small = 0.0 if no_delta(terms.delta) else _check_delta(terms.delta)
        check_choice("missing", missing, ("zero", "drop"))
        if not isinstance(terms.insist, bool):
            raise TypeError(f"insist must be True or False, got {type(terms.insist).__name__}")
        most = _rows_that_count(1 if rows_per_person is None else rows_per_person)
        if terms.unit is None and most != 1:
            raise ValueError("rows_per_person goes with unit, the column that names the person")
        check_drop(missing, terms.unit)
        if counts is not None:
            if not isinstance(counts, str):
                raise TypeError(f"counts must name a column, got {type(counts).__name__}")
            if terms.unit is not None:
                raise ValueError(
                    "counts and unit cannot be combined: rows that are counts of "
                    "records have no names of persons"
                )
            if counts in axes.names:
                raise ValueError(f"counts must name another column than {counts!r}, which is cut")
        return cls(axes, terms, Promise(epsilon=number, delta=small), most, counts, missing, reading)

    @property
    def unit(self) -> str | None:
        """The column that names the person."""
        return self.terms.unit

    def open(self, data: object) -> Records:
        """Open the records, of which only the columns that are counted are read."""
        columns = [axis.reading for axis in self.axes.columns]
        if self.counts is not None:
            columns.append(Numeric(self.counts, -(2.0**60), 2.0**60))
        records = open_records(
            data, domain=Domain(columns), unit=self.unit, reading=self.reading, counts=self.counts
        )
        records.progress(self.terms.tick)
        return records

    def lots(self, purse: Purse | Weaker) -> Lots | None:
        """The lots by which some rows of each person are drawn to count; None without persons."""
        return None if self.unit is None else purse.lots()

    def n(self, tally: CellTally | MarginTally) -> int:
        """The public number of rows, of persons, or of complete rows if that is public."""
        return n_of(tally, self.unit, self.missing, least=1)


def check_worth(
    noise: CountNoise, n: int, threshold: int | None, *, insist: bool, fewer: str = "fewer cells"
) -> None:
    """Refuse, before anything is spent, noise that would be larger than any count there can be."""
    if insist:
        return
    reach = noise.law.half_width(1, 0.95) if threshold is None else float(threshold)
    if reach >= n:
        how = "noise of one count" if threshold is None else "the threshold of a sparse release"
        raise ValueError(
            f"epsilon is so small that everything would be noise: {how} is {reach:.4g} and there "
            f"are {n} records in all; nothing was spent; use a larger epsilon, {fewer}, or "
            "insist=True to release it all the same"
        )


def name_of(values: object, columns: object) -> str:
    """The name of the column to count, which may be left out where there is only one."""
    if columns is not None and not isinstance(columns, str):
        raise TypeError(f"columns must name one column, got {type(columns).__name__}")
    if columns is not None:
        return columns
    names = (
        None
        if isinstance(values, (str, list, tuple, range)) or hasattr(values, "__fspath__")
        else names_of(values)
    )
    if names is not None and len(names) == 1:
        return names[0]
    if names is None and not isinstance(values, str) and not hasattr(values, "__fspath__"):
        return "x"
    raise ValueError(
        "columns is missing: name the column to count with columns=…, or a condition with where=… "
        "(mercer.count)"
    )


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
        """The noise as a share of the largest count there can be: from 1 on it hides everything."""
        return self.half_width / (self.n * self.rows_per_person)

    def dense_error(self, occupied: int) -> float:
        """A bound on the error of all cells, so many of them occupied, once negative counts are 0."""
        return (self.cells + self._held(occupied)) / 2 * self.law.mean_error

    def sparse_error(self, occupied: int) -> float:
        """A bound on the error of a sparse release, if so many cells are occupied."""
        return sparse_error(self.law, self.cells, self._held(occupied), self.threshold)

    def best(self, occupied: int | None = None) -> float | None:
        """The least error that a pure release of this epsilon can promise on its worst data.

        It is of all data, or of data in which so many cells are occupied; unknown with a delta.
        """
        if self.delta:
            return None
        if occupied is None:
            return histogram_bound(self.n, self.cells, self.epsilon)
        held = self._held(occupied)
        return sparse_bound(self.n, self.cells, held, self.epsilon) if held else 0.0

    @property
    def worth(self) -> int:
        """The number of occupied cells up to which a sparse release has the smaller bound."""
        most = min(self.cells, self.n * self.rows_per_person)
        first, last = (self.sparse_error(q) - self.dense_error(q) for q in (0, most))
        if first >= 0:
            return 0
        return most if last < 0 else int(most * first / (first - last))  # both are straight lines

    def to_dict(self) -> dict[str, Any]:
        """The numbers of the plan as fields of JSON."""
        asked = ("n", "cells", "epsilon", "delta", "rows_per_person", "occupied")
        return {name: getattr(self, name) for name in asked} | {
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
    delta: float | None = None,
    occupied: int | None = None,
    rows_per_person: int = 1,
) -> tuple[HistogramPlan, ...]: ...


@overload
def histogram_plan(
    n: object,
    cells: object,
    *,
    epsilon: float,
    delta: float | None = None,
    occupied: int | None = None,
    rows_per_person: int = 1,
) -> HistogramPlan: ...


def histogram_plan(
    n: object,
    cells: object,
    *,
    epsilon: float | Sequence[float],
    delta: float | None = None,
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
    n: object, cells: object, epsilon: object, delta: float | None, occupied: object, rows_per_person: object
) -> HistogramPlan:
    many = check_count("n", n, least=1, most=10**15, hint="the public number of records")
    size = check_count("cells", cells, least=1, most=MOST_CELLS, hint="bins times categories")
    most = _rows_that_count(rows_per_person)
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


def expected_cells(cells: int, given: Mapping[str, Any], made: Statement) -> str:
    """The error of each of so many cells, in words, for a dry run."""
    plan = histogram_plan(
        made.n,
        cells,
        epsilon=made.epsilon,
        delta=made.delta or None,
        occupied=given.get("occupied"),
        rows_per_person=given.get("rows_per_person") or 1,
    )
    return (
        f"each of {cells} counts is off by {plan.law.mean_error:.3g} on average, and by at most "
        f"{plan.half_width:g} in 95 % of the cases, of n = {made.n}"
    )


def _rows_that_count(given: object) -> int:
    """The number of rows of a person that count, checked."""
    hint = "rows of one person that count; noise grows with it"
    return check_count("rows_per_person", given, least=1, most=1 << 20, hint=hint)


def _check_delta(delta: object) -> float:
    try:
        return check_delta(delta)
    except ValueError:
        raise ValueError(
            f"delta must be in (0, 1), got {delta!r}: give one well below 1/n, for example 1e-6, "
            "or leave it out for pure differential privacy"
        ) from None
