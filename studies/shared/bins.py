"""Columns in public bins and back again: shared by the measures and the peers of tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from studies.shared.report import Floats
from studies.shared.tables import Column, Domain, span

__all__ = ["Bins", "Ints", "coded", "drawn", "rounded", "simplex"]

Ints = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Bins:
    """At most `most` equal bins of a column of numbers or integers; each level of categories."""

    column: Column
    most: int

    @property
    def size(self) -> int:
        """How many there are."""
        if isinstance(self.column, list):
            return len(self.column)
        return min(self.most, len(self.column)) if isinstance(self.column, range) else self.most

    def code(self, values: Any) -> Ints:
        """Bins of values, clipped to the bounds; what is no number or level is in the first."""
        if isinstance(self.column, list):
            places = {level: i for i, level in enumerate(self.column)}
            return np.array([places.get(v, 0) for v in np.asarray(values).tolist()], dtype=np.int64)
        low, high = span(self.column)
        numbers = np.clip(np.nan_to_num(np.asarray(values, dtype=float), nan=low), low, high)
        if isinstance(self.column, range):
            place = np.rint((numbers - low) / self.column.step).astype(np.int64)
            return place * self.size // len(self.column)
        unit = (numbers - low) / (high - low)
        return np.minimum((unit * self.size).astype(np.int64), self.size - 1)

    def draw(self, codes: Ints, rng: np.random.Generator) -> Any:
        """A value of each bin, uniform in it."""
        if isinstance(self.column, list):
            return np.array(self.column)[codes]
        if isinstance(self.column, range):
            n, b = len(self.column), self.size
            first = -(-np.arange(b + 1) * n // b)  # the least place of each bin
            width = np.diff(first)[codes]
            places = first[codes] + (rng.random(len(codes)) * width).astype(np.int64)
            return np.array(self.column)[places]
        low, high = self.column
        unit: Floats = (codes + rng.random(len(codes))) / self.size
        return low + unit * (high - low)

    def groups(self, few: Bins) -> Ints:
        """For each bin, the bin of `few`, a coarser cut of the same column, that holds it."""
        if isinstance(self.column, list):
            return np.arange(self.size)
        if isinstance(self.column, range):
            places = -(-np.arange(self.size) * len(self.column) // self.size)
            return places * few.size // len(self.column)
        return ((np.arange(self.size) + 0.5) * few.size / self.size).astype(np.int64)


def coded(
    frame: pd.DataFrame, domain: Domain, most: int, integers: int | None = None
) -> tuple[list[Bins], Ints]:
    """The bins of all columns, and the rows in them: (rows, columns).

    `most` bins of numbers; of integers too, unless `integers` says how many they have at most.
    """
    bins = [
        Bins(column, integers if integers and isinstance(column, range) else most)
        for column in domain.values()
    ]
    codes = [b.code(frame[name]) for name, b in zip(domain, bins, strict=True)]
    return bins, np.stack(codes, axis=1)


def drawn(codes: Ints, bins: list[Bins], domain: Domain, rng: np.random.Generator) -> pd.DataFrame:
    """Rows from their bins."""
    columns = {name: b.draw(codes[:, j], rng) for j, (name, b) in enumerate(zip(domain, bins, strict=True))}
    return pd.DataFrame(columns)


def simplex(values: Floats, total: float = 1.0) -> Floats:
    """The nearest vector without negative entries that sums to `total`."""
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    return np.maximum(values - excess[np.flatnonzero(falling > excess)[-1]], 0)


def rounded(n: int, shares: Floats, rng: np.random.Generator) -> Ints:
    """Whole numbers that sum to n, each within one of its share of n, and right on average."""
    ends = np.floor(np.cumsum(shares) / shares.sum() * n + rng.random())
    ends[-1] = n
    return np.diff(np.minimum(ends, n), prepend=0).astype(np.int64)
