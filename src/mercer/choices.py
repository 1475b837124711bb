"""Results of private choices.  Layer 4, right of the door: never sees a record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mercer.statements import Statement

__all__ = ["BandwidthRelease", "QuantileRelease", "SelectionRelease", "SpreadRelease"]


@dataclass(frozen=True)
class QuantileRelease:
    """Quantiles of one column: public values that do not fall as the level grows."""

    column: str
    bounds: tuple[float, float]
    levels: tuple[float, ...]
    values: tuple[float, ...]  # in the order of the levels
    privacy: Statement

    def __str__(self) -> str:
        listed = ", ".join(f"{q:g}: {v:g}" for q, v in zip(self.levels, self.values, strict=True))
        return f"Quantiles of {self.column}: {listed} ({self.privacy.short})"

    def to_dict(self) -> dict[str, Any]:
        """Numbers and words for a file."""
        return {
            "kind": "quantiles",
            "column": self.column,
            "bounds": list(self.bounds),
            "levels": list(self.levels),
            "values": list(self.values),
            "privacy": self.privacy.to_dict(),
        }

    def save(self, path: str | Path) -> Path:
        """Write the quantiles and their statement as JSON."""
        from mercer.storage import write

        return write(self.to_dict(), Path(path))


@dataclass(frozen=True)
class SpreadRelease:
    """An interquartile range, or the open word that none could be released."""

    column: str
    bounds: tuple[float, float]
    value: float | None  # None: declined
    method: str
    privacy: Statement

    @property
    def declined(self) -> bool:
        """Whether the test failed, so that nothing but this was released; the budget is spent."""
        return self.value is None

    def __str__(self) -> str:
        told = "declined, the test failed" if self.value is None else f"{self.value:g}"
        return f"Interquartile range of {self.column}: {told} ({self.privacy.short})"

    def to_dict(self) -> dict[str, Any]:
        """Numbers and words for a file."""
        return {
            "kind": "iqr",
            "column": self.column,
            "bounds": list(self.bounds),
            "value": self.value,
            "declined": self.declined,
            "method": self.method,
            "privacy": self.privacy.to_dict(),
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
