"""Results of private choices.  Right of the door: never sees a record."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from mercer.columns.kinds import day_of
from mercer.promise.statement import Statement
from mercer.releases.base import write
from mercer.releases.findings import Finding, about, fit_finding, reach
from mercer.releases.findings import share as percent

__all__ = ["BandwidthRelease", "EndCounts", "QuantileRelease", "SelectionRelease", "SpreadRelease"]

_PILE = 0.4  # share of the records at or beyond a bound that is worth a word


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
    values: tuple[float, ...]  # in the order of the levels
    privacy: Statement
    ends: EndCounts | None = None
    dates: bool = False  # of a column of dates, values are days since 1970-01-01

    @property
    def shown(self) -> tuple[float | date, ...]:
        """The values as people write them: dates of a column of dates."""
        return tuple(day_of(v) for v in self.values) if self.dates else self.values

    def __str__(self) -> str:
        words = [str(v) if self.dates else f"{v:g}" for v in self.shown]
        listed = ", ".join(f"{q:g}: {word}" for q, word in zip(self.levels, words, strict=True))
        return f"Quantiles of {self.column}: {listed} ({self._said()})"

    def to_dict(self) -> dict[str, Any]:
        """Numbers and words for a file."""
        return {
            "kind": "quantiles",
            "column": self.column,
            "bounds": list(self.bounds),
            "levels": list(self.levels),
            "values": list(self.values),
            **({"dates": list(map(str, self.shown))} if self.dates else {}),
            **self._paid(),
        }

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

    @property
    def declined(self) -> bool:
        """Whether the test failed, so that nothing but this was released; the budget is spent."""
        return self.value is None

    def __str__(self) -> str:
        told = "declined, the test failed" if self.value is None else f"{self.value:g}"
        return f"Interquartile range of {self.column}: {told} ({self._said()})"

    def to_dict(self) -> dict[str, Any]:
        """Numbers and words for a file."""
        return {
            "kind": "iqr",
            "column": self.column,
            "bounds": list(self.bounds),
            "value": self.value,
            "declined": self.declined,
            "method": self.method,
            **self._paid(),
        }


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
