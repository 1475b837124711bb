"""How far the shares of rows in a synthetic table are off.  Right of the door.  M10, M12.

Noise is the smaller part of the error: what the kernel smooths away, and what few records cannot
hold, is not known from the embedding.  But the table is made with noisy counts of its single
columns, which say where landmarks belong.  They err by noise of a known law alone, so the distance
between them and the table is the table's error up to that noise, by the triangle inequality.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.columns.kinds import labels_of
from mercer.columns.table import Domain
from mercer.common.checks import Floats
from mercer.common.files import Fields, numbers
from mercer.spaces.landmarks import bins_of, places_in

__all__ = ["UNCHECKED", "NoisyShares", "TableAccuracy", "counts_noise"]

UNCHECKED = (
    "how far shares of rows are off is not known: there are no noisy counts of the columns to compare "
    "with; scale='private' or public='laws' releases them"
)
_PARTS = 4  # of a column of numbers, with as many rows each, nearly
_CLEAR = 4.0  # the noise of the counts is so much smaller than a difference that is told as an error


def counts_noise(domain: Domain, deviation: float) -> float:
    """Root mean square of the noise of the parts that are compared; `deviation` is that of one bin."""
    bins = [bins_of(column) for column in domain.columns]
    parts = [
        many if labels_of(column) else min(many, _PARTS)
        for column, many in zip(domain.columns, bins, strict=True)
    ]
    return deviation * math.sqrt(sum(bins) / sum(parts))


@dataclass(frozen=True, eq=False)
class NoisyShares:
    """Shares of the records in every bin of every column, with noise."""

    shares: tuple[Floats, ...]
    deviation: float  # of the noise of a share

    def to_dict(self) -> dict[str, Any]:
        """The field `shares` of a file."""
        return {"columns": [part.tolist() for part in self.shares], "deviation": self.deviation}

    @classmethod
    def from_fields(cls, fields: Fields, domain: Domain) -> Self:
        """The shares that `to_dict` wrote; ValueError says what is wrong."""
        rows = fields.get("columns", list)
        if len(rows) != domain.dimension or not all(isinstance(row, list) for row in rows):
            raise ValueError(f"shares must be lists of numbers, one for each of {domain.dimension} columns")
        parts = tuple(np.array(numbers(row, "a share"), dtype=float) for row in rows)
        for part, column in zip(parts, domain.columns, strict=True):
            if part.shape != (bins_of(column),):
                raise ValueError(f"shares of {column.name!r} must be {bins_of(column)}, got {len(part)}")
        return cls(parts, fields.positive("deviation"))

    def compared(self, domain: Domain, codes: Floats, weights: Floats) -> Floats:
        """Share by weight minus noisy share: of every level, and of each quarter of a column of numbers."""
        found = []
        for column, noisy, own in zip(domain.columns, self.shares, codes.T, strict=True):
            gaps = np.bincount(places_in(column, own), weights, len(noisy)) - noisy
            if not labels_of(column):
                starts = [0, *(end for end in _quarters(noisy) if end < len(noisy))]
                gaps = np.add.reduceat(gaps, starts)
            found.append(gaps)
        return np.concatenate(found)


def _quarters(noisy: Floats) -> list[int]:
    """Where to cut the bins, so that as many records are in each part, nearly."""
    grown = np.cumsum(np.maximum(noisy, 0.0))
    places = [int(np.argmin(np.abs(grown - part * grown[-1] / _PARTS))) for part in range(1, _PARTS)]
    return sorted({place + 1 for place in places})


@dataclass(frozen=True)
class TableAccuracy:
    """How far shares of rows are off, noise and smoothing together; root mean squares, all public.

    The shares are those of every level, and of each quarter of the rows in columns of numbers.  NaN is
    what is not known.  Shares of several columns together are compared with nothing.
    """

    difference: float  # between the table's shares and the noisy ones
    noise: float  # of the noisy shares alone, expected

    @property
    def error(self) -> float:
        """Of the table's shares; NaN where the noise of the counts hides it."""
        return self.difference if self.noise * _CLEAR <= self.difference else math.nan

    @property
    def most(self) -> float:
        """What the error is about, at most: the difference and the noise beside it."""
        return min(self.difference + self.noise, 1.0)

    @property
    def size(self) -> str:
        """`off by about 0.02`, in words; nothing where it is not known."""
        if self.difference != self.difference:
            return ""
        clear = self.error == self.error
        return f"off by about {self.error:.2g}" if clear else f"off by at most about {self.most:.2g}"

    def __str__(self) -> str:
        if not self.size:
            return UNCHECKED[0].upper() + UNCHECKED[1:] + "."
        return (
            f"A share of one column, of a level or a quarter of the rows, is {self.size} (root mean "
            "square, noise and smoothing together): compared with noisy counts of the columns, "
            f"themselves off by {self.noise:.2g}. Shares of several columns together are not compared."
        )

    @classmethod
    def of(cls, shares: NoisyShares | None, domain: Domain, codes: Floats, weights: Floats) -> Self:
        """What the release alone tells of the error of its shares."""
        if shares is None:
            return cls(math.nan, math.nan)
        gaps = shares.compared(domain, codes, weights)
        return cls(float(np.sqrt(np.mean(gaps**2))), counts_noise(domain, shares.deviation))
