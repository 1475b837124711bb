"""What is asked of counts, checked before any record is read.  M16, M18."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mercer.columns.cells import Axes
from mercer.columns.kinds import Numeric
from mercer.columns.reading import PLAIN, Reading
from mercer.columns.table import TableDomain
from mercer.common.checks import check_choice, check_count, check_delta, check_epsilon
from mercer.door.publish import Purse
from mercer.door.weaker import Weaker
from mercer.noise.lots import Lots
from mercer.noise.mechanisms.base import Promise, no_delta
from mercer.noise.mechanisms.counts import CountNoise
from mercer.sensitive.records import open_records
from mercer.sensitive.rows import Records
from mercer.sensitive.summaries.cell_counts import CellTally, MarginTally
from mercer.sources.frames import names_of

__all__ = ["CountRequest", "check_worth", "name_of"]


@dataclass(frozen=True)
class CountRequest:
    """What was asked for, checked before any record is read."""

    axes: Axes
    epsilon: float
    delta: float
    unit: str | None
    most: int  # rows of one person that count: one, unless the caller says more
    counts: str | None
    missing: str
    insist: bool
    reading: Reading = PLAIN

    @classmethod
    def of(
        cls,
        axes: Axes,
        *,
        epsilon: object,
        delta: object,
        unit: object,
        rows_per_person: object,
        counts: object,
        missing: str,
        insist: object,
        reading: Reading = PLAIN,
    ) -> CountRequest:
        number = check_epsilon(epsilon)
        small = 0.0 if no_delta(delta) else _check_delta(delta)
        check_choice("missing", missing, ("zero", "drop"))
        if not isinstance(insist, bool):
            raise TypeError(f"insist must be True or False, got {type(insist).__name__}")
        most = check_count(
            "rows_per_person",
            1 if rows_per_person is None else rows_per_person,
            least=1,
            most=1 << 20,
            hint="rows of one person that count; noise grows with it",
        )
        if unit is None and most != 1:
            raise ValueError("rows_per_person goes with unit, the column that names the person")
        if unit is not None and missing == "drop":
            raise ValueError("missing='drop' cannot be combined with unit; drop the rows first")
        if counts is not None:
            if not isinstance(counts, str):
                raise TypeError(f"counts must name a column, got {type(counts).__name__}")
            if unit is not None:
                raise ValueError(
                    "counts and unit cannot be combined: rows that are counts of "
                    "records have no names of persons"
                )
            if counts in axes.names:
                raise ValueError(f"counts must name another column than {counts!r}, which is cut")
        return cls(axes, number, small, unit, most, counts, missing, insist, reading)  # type: ignore[arg-type]

    def open(self, data: object, progress: Callable[[int], None] | None) -> Records:
        """The records, by the columns of the question."""
        columns = [axis.reading for axis in self.axes.columns]
        if self.counts is not None:
            columns.append(Numeric(self.counts, -(2.0**60), 2.0**60))
        records = open_records(
            data, domain=TableDomain(columns), unit=self.unit, reading=self.reading, counts=self.counts
        )
        if progress is not None:
            records.progress(progress)
        return records

    @property
    def promise(self) -> Promise:
        """Epsilon and delta."""
        return Promise(epsilon=self.epsilon, delta=self.delta)

    def lots(self, purse: Purse | Weaker) -> Lots | None:
        """What decides which rows of a person count; nothing without persons."""
        return None if self.unit is None else purse.lots()

    def n(self, tally: CellTally | MarginTally) -> int:
        """Public: the number of rows, of persons, or of complete rows if that is public."""
        if self.unit is not None:
            return self.some(tally.persons)
        return self.some(tally.complete if self.missing == "drop" else tally.rows)

    def some(self, n: int) -> int:
        """At least one."""
        if n < 1:
            what = "rows" if self.unit is None else f"different {self.unit!r}"
            raise ValueError(f"data: there are no {what}, so there is nothing to count")
        return n


def check_worth(
    noise: CountNoise, n: int, threshold: int | None, *, insist: bool, fewer: str = "fewer cells"
) -> None:
    """An error, before anything is spent, where noise would drown any count there can be."""
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
    """The column that a histogram or count is of."""
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


def _check_delta(delta: object) -> float:
    try:
        return check_delta(delta)
    except ValueError:
        raise ValueError(
            f"delta must be in (0, 1), got {delta!r}: give one well below 1/n, for example 1e-6, "
            "or leave it out for pure differential privacy"
        ) from None
