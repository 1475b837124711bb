"""Exact integer arithmetic for sensitive sums (M3.3).  Layer 1.

A floating-point sum does not have the sensitivity of the exact sum, and depends on the order
of the rows.  Here rows are counted in integers, feature tables are integers, and their
product is taken exactly: in doubles that hold whole numbers below 2^53, split into digits
where the product would be larger.  Which splits are made depends on public sizes alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.checks import Floats, Ints

__all__ = ["BITS", "Exact", "contract", "quantise"]

BITS = 24  # a feature table's entries are whole numbers of at most 2^24
_EXACT = 2.0**53


@dataclass(frozen=True, repr=False)
class Exact:
    """A vector of rational numbers: whole numbers of one unit."""

    whole: list[int]
    unit: Fraction

    def rounded(self, step: Fraction) -> list[int]:
        """Nearest whole numbers of `step`, halves up."""
        ratio = self.unit / step
        p, q = ratio.numerator, ratio.denominator
        return [(2 * value * p + q) // (2 * q) for value in self.whole]

    def floats(self) -> Floats:
        """Nearest doubles: for tests and studies, never for a release."""
        return np.array([float(value * self.unit) for value in self.whole])


def quantise(table: Floats, unit: float) -> Ints:
    """Entries of a public table towards zero, in whole numbers of `unit` (a power of two)."""
    return np.trunc(table / unit).astype(np.int64)


def contract(counts: Ints, tables: Sequence[Ints], total: int) -> NDArray[Any]:
    """sum_g counts[g] prod_i tables[i][k_i, g_i] for all k, as Python integers.

    `total` is a public bound on the sum of the counts, which are not negative.
    """
    parts: list[tuple[int, Floats]] = [(0, counts.astype(np.float64))]
    bound = float(total)
    for table in tables:
        peak = float(max(1, int(np.abs(table).max(initial=1))))
        nodes = table.shape[1]
        transposed = np.ascontiguousarray(table.T, dtype=np.float64)
        if bound * peak < _EXACT:
            parts = [(s, np.tensordot(x, transposed, axes=(0, 0))) for s, x in parts]
        else:
            width = 52 - math.ceil(math.log2(peak)) - math.ceil(math.log2(nodes))
            limit = min(bound, _EXACT)
            parts = [
                (s + shift, np.tensordot(digit, transposed, axes=(0, 0)))
                for s, x in parts
                for shift, digit in _digits(x, width, limit)
            ]
        bound *= peak
    shape = tuple(table.shape[0] for table in tables)
    whole: NDArray[Any] = np.zeros(shape, dtype=object)
    for shift, x in parts:
        whole = whole + x.astype(np.int64).astype(object) * (1 << shift)
    return whole


def _digits(x: Floats, width: int, bound: float) -> Iterator[tuple[int, Floats]]:
    """X as sum 2^shift * digit with |digit| < 2^width: exact on whole doubles below 2^53."""
    base, shift, rest = 2.0**width, 0, x
    while bound >= base:
        above = np.floor(rest / base)
        yield shift, rest - above * base
        rest, shift, bound = above, shift + width, bound / base
    yield shift, rest
