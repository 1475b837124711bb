"""Results of private choices.  Right of the door: never sees a record.  M12."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from mercer.columns.kinds import day_of
from mercer.promise.statement import Statement
from mercer.releases.base import Interval, write
from mercer.releases.findings import Finding, about, fit_finding, reach
from mercer.releases.findings import share as percent

__all__ = [
    "BandwidthRelease",
    "EndCounts",
    "FactorAccuracy",
    "QuantileRelease",
    "RankAccuracy",
    "SelectionRelease",
    "SpreadRelease",
    "rank_reach",
    "word_of",
]

_PILE = 0.4  # share of the records at or beyond a bound that is worth a word


def rank_reach(epsilon: float, points: int, miss: float) -> float:
    """By how many records a rank misses its target at most, but for this chance; selection.md, 1."""
    return 2 / epsilon * (math.log(points) + math.log(1 / miss))


@dataclass(frozen=True)
class RankAccuracy:
    """By how many records ranks miss their targets: known before any record is read."""

    expected: float  # of each rank, at most
    most: float  # in 95 % of the cases at most
    end: float | None  # from a quantile's rank to an end of its interval, in 95 % of the cases at most
    n: int

    @classmethod
    def of(cls, point: float, end: float | None, *, n: int, points: int, margin: int = 0) -> RankAccuracy:
        """From the epsilon of one quantile, and of an end of its interval, which aims beyond it."""
        far = None if end is None else margin + rank_reach(end, points + 1, 0.05)
        return cls(rank_reach(point, points, math.exp(-1)), rank_reach(point, points, 0.05), far, n)

    def __str__(self) -> str:
        ends = "" if self.end is None else f"; an interval's ends are within {self.end:.3g} of it"
        return (
            f"each rank misses its target by at most {self.most:.3g} of n = {self.n} records in 95 % of the "
            f"cases ({min(self.most / self.n, 1):.2%} of them), by at most {self.expected:.3g} expected{ends}"
        )


@dataclass(frozen=True)
class FactorAccuracy:
    """By which factor a range may be off in 95 % of the cases: known before any record is read."""

    factor: float

    def __str__(self) -> str:
        return f"within a factor of {self.factor:.3g} in 95 % of the cases, where the test lets anything out"


@dataclass(frozen=True)
class EndCounts:
    """How many records hold a number, and how many of them lie at the bounds or beyond: noisy.

    Persons count by the shares of their rows.
    """

    fits: float
    lower: float
    upper: float
    deviation: float  # standard deviation of the noise of each
    share: float  # of epsilon, that they were paid with

    def findings(self, column: str, bounds: tuple[float, float], n: int) -> tuple[Finding, ...]:
        """Rows that hold no number, and values piled up at a bound."""
        far = reach(normal=False) * self.deviation / n
        found = list(
            fit_finding(
                self.fits / n,
                far,
                f"hold a number in {column}",
                "is the column text, or in another format?",
                otherwise="the others were left out",
            )
        )
        for name, bound, count in zip(("lower", "upper"), bounds, (self.lower, self.upper), strict=True):
            if count / n - far >= _PILE / 2 and count / n >= _PILE:
                words = (
                    f"{about(count / n, far)} are at the {name} bound of {column}, {bound:g}, or "
                    "beyond it: are the bounds in the column's unit, or does it have a code for "
                    "missing values?"
                )
                found.append(Finding("bound", words))
        return tuple(found)

    def words(self, n: int) -> str:
        """How many records hold a number, and what it cost to know, in one line."""
        amount = about(self.fits / n, 2 * self.deviation / n)
        return f"{amount} hold a number, for {percent(self.share)} of epsilon"

    def to_dict(self) -> dict[str, float]:
        """The counts and their noise, for a file."""
        return asdict(self)


class _OfColumn:
    """A choice from the values of one column, of which some may be counted at the ends besides."""

    column: str
    bounds: tuple[float, float]
    privacy: Statement
    ends: EndCounts | None

    def findings(self) -> tuple[Finding, ...]:
        """What the release itself tells; a part of epsilon was spent on that."""
        if self.ends is None:
            return ()
        return self.ends.findings(self.column, self.bounds, self.privacy.n)

    def _paid(self) -> dict[str, Any]:
        """The promise and what was counted, for a file."""
        fields: dict[str, Any] = {"privacy": self.privacy.to_dict()}
        if self.ends is not None:
            fields |= {"ends": self.ends.to_dict(), "findings": [one.to_dict() for one in self.findings()]}
        return fields

    def _said(self) -> str:
        """The promise and what was counted, in a line."""
        return f"{self.ends.words(self.privacy.n)}; {self.privacy.short}" if self.ends else self.privacy.short


@dataclass(frozen=True)
class QuantileRelease(_OfColumn):
    """Quantiles of one column: public values that do not fall as the level grows."""

    column: str
    bounds: tuple[float, float]
    levels: tuple[float, ...]
    values: tuple[float, ...]  # in the order of the levels; integers of a column of integers
    privacy: Statement
    ends: EndCounts | None = None
    dates: bool = False  # of a column of dates, values are days since 1970-01-01
    lower: tuple[float, ...] | None = None  # ends of an interval for each quantile of the records
    upper: tuple[float, ...] | None = None
    level: float | None = None  # of each interval by itself; None: there are none
    accuracy: RankAccuracy | None = None

    @property
    def shown(self) -> tuple[float | date, ...]:
        """The values as people write them: dates of a column of dates."""
        return self._written(self.values)

    @property
    def shown_ends(self) -> tuple[tuple[float | date, float | date], ...]:
        """The ends of the intervals as people write them; none where there are no intervals."""
        if self.lower is None or self.upper is None:
            return ()
        return tuple(zip(self._written(self.lower), self._written(self.upper), strict=True))

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """Each quantile with the ends of an interval that holds that of the records, at `level`."""
        if self.lower is None or self.upper is None or self.level is None:
            raise ValueError("these quantiles were released with level=None: they have no intervals")
        found = zip(self.values, self.lower, self.upper, strict=True)
        return tuple(Interval(*ends, self.level) for ends in found)

    def _written(self, values: Sequence[float]) -> tuple[float | date, ...]:
        return tuple(day_of(v) for v in values) if self.dates else tuple(values)

    def __str__(self) -> str:
        words = [word_of(value) for value in self.shown]
        if self.level is not None:
            ends = [f"{word_of(low)} to {word_of(high)}" for low, high in self.shown_ends]
            words = [f"{word} ({between})" for word, between in zip(words, ends, strict=True)]
        listed = ", ".join(f"{q:g}: {word}" for q, word in zip(self.levels, words, strict=True))
        which = "" if self.level is None else f" with {self.level:.0%} intervals"
        return f"Quantiles of {self.column}{which}: {listed} ({self._said()})"

    def to_dict(self) -> dict[str, Any]:
        """Numbers and words for a file."""
        fields: dict[str, Any] = {
            "kind": "quantiles",
            "column": self.column,
            "bounds": list(self.bounds),
            "levels": list(self.levels),
            "values": list(self.values),
        }
        if self.dates:
            fields["dates"] = list(map(str, self.shown))
        if self.lower is not None and self.upper is not None:
            fields |= {"lower": list(self.lower), "upper": list(self.upper), "level": self.level}
            if self.dates:
                fields["dates_of_ends"] = [[str(low), str(high)] for low, high in self.shown_ends]
        if self.accuracy is not None:
            fields["accuracy"] = asdict(self.accuracy)
        return fields | self._paid()

    def save(self, path: str | Path) -> Path:
        """Write the quantiles and their statement as JSON."""
        return write(self.to_dict(), Path(path))


@dataclass(frozen=True)
class SpreadRelease(_OfColumn):
    """An interquartile range, or the open word that none could be released."""

    column: str
    bounds: tuple[float, float]
    value: float | None  # None: declined
    method: str
    privacy: Statement
    ends: EndCounts | None = None
    lower: float | None = None  # ends of an interval for the range of the records
    upper: float | None = None
    level: float | None = None  # None: there is no interval
    accuracy: RankAccuracy | FactorAccuracy | None = None

    @property
    def interval(self) -> Interval:
        """The range with the ends of an interval that holds that of the records, at `level`."""
        if self.value is None or self.lower is None or self.upper is None or self.level is None:
            raise ValueError("there is no interval: the release was declined, or made with level=None")
        return Interval(self.value, self.lower, self.upper, self.level)

    @property
    def declined(self) -> bool:
        """Whether the test failed, so that nothing but this was released; the budget is spent."""
        return self.value is None

    def __str__(self) -> str:
        told = "declined, the test failed" if self.value is None else word_of(self.value)
        if self.level is not None and self.lower is not None and self.upper is not None:
            told += f", {self.level:.0%} interval {word_of(self.lower)} to {word_of(self.upper)}"
        return f"Interquartile range of {self.column}: {told} ({self._said()})"

    def to_dict(self) -> dict[str, Any]:
        """Numbers and words for a file."""
        fields: dict[str, Any] = {
            "kind": "iqr",
            "column": self.column,
            "bounds": list(self.bounds),
            "value": self.value,
            "declined": self.declined,
            "method": self.method,
        }
        if self.level is not None:
            fields |= {"lower": self.lower, "upper": self.upper, "level": self.level}
        if self.accuracy is not None:
            fields["accuracy"] = asdict(self.accuracy)
        return fields | self._paid()


def word_of(value: float | date) -> str:
    """A value as text: a date, an integer with all its digits, another number with six."""
    return f"{value:g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class BandwidthRelease:
    """A bandwidth for each column, chosen from the records with privacy."""

    columns: tuple[str, ...]
    values: tuple[float, ...]  # in the units of the data
    method: str
    privacy: Statement

    def __str__(self) -> str:
        pairs = zip(self.columns, self.values, strict=True)
        listed = ", ".join(f"{name}: {value:g}" for name, value in pairs)
        return f"Bandwidth of {listed} ({self.method}; {self.privacy.short})"

    def to_dict(self) -> dict[str, Any]:
        """Numbers and words for a file."""
        return {
            "kind": "bandwidth",
            "columns": list(self.columns),
            "values": list(self.values),
            "method": self.method,
            "privacy": self.privacy.to_dict(),
        }


@dataclass(frozen=True)
class SelectionRelease:
    """One of finitely many public candidates."""

    candidate: Any
    index: int
    count: int  # candidates there were
    privacy: Statement

    def __str__(self) -> str:
        return f"Candidate {self.index + 1} of {self.count} ({self.privacy.short})"

    def to_dict(self) -> dict[str, Any]:
        """Numbers and words for a file; the candidate itself is known by its index."""
        return {
            "kind": "selection",
            "index": self.index,
            "count": self.count,
            "privacy": self.privacy.to_dict(),
        }
