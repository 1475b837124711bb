"""Ranks of public points among the records, from integer counts.  Left of the door.

Scores of quantiles for the exponential mechanism (M12), and the distance to instability of the
interquartile range (Dwork and Lei 2009).  Everything is a whole number: a record is a node of
the tally's grid, and no float is computed from one.  docs/proofs/selection.md.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.common.checks import Ints
from mercer.promise.events import Sensitivity
from mercer.sensitive.base import Sensitive
from mercer.sensitive.summaries.density import Tally

__all__ = ["LogBins", "Ranks", "rank_sensitivity"]

_FAR = 1 << 20  # distances are counted up to this many records
_STEPS = 1 << 10  # steps of the lattice in one bin of logarithms


def rank_sensitivity(q: Fraction, weight: int) -> Sensitivity:
    """One record (or person) of this weight moves a score of `Ranks.scores` by no more: exact."""
    return Sensitivity(float(q.denominator * weight), norm="score")


class Ranks(Sensitive):
    """Counts of one column at the nodes of the fine grid."""

    def __init__(self, tally: Tally, axis: int, *, n: int, unit: str = "row") -> None:
        counts = tally.on(tally.shape)[0]
        others = tuple(a for a in range(counts.ndim) if a != axis)
        self.counts: Ints = counts.sum(axis=others)
        self.cells = len(self.counts) - 1
        self.weight, self.n, self.unit = tally.weight, n, unit

    def scores(self, q: Fraction, nodes: Ints) -> NDArray[Any]:
        """-distance of 0 from [#(x < v) - q N, #(x <= v) - q N] at nodes v, times q's denominator.

        N counts the rows with values.  Row i adds 1 - q, -q or (no value) 0 to either end, so
        replacing it moves both ends, and the distance, by at most 1: times the denominator, and
        the weight of a person.
        """
        above = np.cumsum(self.counts)
        if int(above[-1]) * q.denominator >= 1 << 62:  # whole numbers of any size
            above = above.astype(object)
        low = q.denominator * (above - self.counts) - q.numerator * above[-1]
        high = q.denominator * above - q.numerator * above[-1]
        return -np.maximum(np.maximum(low, -high), 0)[nodes]

    def spread(self, bins: LogBins) -> tuple[int, int]:
        """The logarithm of the interquartile range on the lattice, and its distance.

        The distance is a number A(D) that moves by at most 1 when a record is replaced, and
        where A(D) >= 2 every neighbour's logarithm is less than one bin away.  Rows without a
        value stand at the middle of the bounds: a public rule.
        """
        counts = self.counts.copy()
        counts[self.cells // 2] += self.n - int(counts.sum())
        order = _Order(np.cumsum(counts), self.n, self.cells)
        log = bins.log(order.spread(0, most=True))
        most = min(self.n, _FAR)
        shifts = 0, bins.steps // 2
        return log, max(_first(partial(_leaves, bins, order, log, shift), most) for shift in shifts)


@dataclass(frozen=True)
class LogBins:
    """log to the base 1 + 1/ln n of a range in cells, in steps of 1/`steps` bin: public."""

    n: int
    cells: int
    steps: int = _STEPS

    @property
    def base(self) -> float:
        """The factor from one bin to the next; n below 10 counts as 10."""
        return 1 + 1 / math.log(max(self.n, 10))

    def log(self, cells: int) -> int:
        """A whole number that does not fall as `cells` grows; a range of 0 counts as half a cell.

        Logarithms of whole numbers up to 2^15 are further apart than rounding.
        """
        return round(self.steps * math.log(max(cells, 0.5)) / math.log(self.base))

    def cells_of(self, log: float) -> float:
        """The range of a logarithm: the inverse, up to rounding, within the bounds."""
        exponent = log / self.steps * math.log(self.base)
        return math.exp(min(max(exponent, math.log(0.5)), math.log(self.cells)))


@dataclass(frozen=True)
class _Order:
    """Order statistics from cumulated counts: x_1 <= ... <= x_n, 0 before and `cells` after."""

    cumulated: Ints
    n: int
    cells: int

    def __call__(self, ranks: Ints) -> Ints:
        nodes = np.searchsorted(self.cumulated, np.clip(ranks, 1, self.n), side="left")
        return np.where(ranks < 1, 0, np.where(ranks > self.n, self.cells, nodes))

    def spread(self, k: int, *, most: bool) -> int:
        """Bound on x_b - x_a when k records are replaced, from above (`most`) or below.

        a and b are the ranks of the quartiles.  max_j x_(b+k-j) - x_(a-j), or
        min_j x_(b-k+j) - x_(a+j), j = 0..k.
        """
        a, b = math.ceil(self.n / 4), math.ceil(3 * self.n / 4)
        j = np.arange(k + 1)
        if most:
            return int(np.max(self(b + k - j) - self(a - j)))
        return int(np.min(self(b - k + j) - self(a + j)))


def _leaves(bins: LogBins, order: _Order, log: int, shift: int, k: int) -> bool:
    """Whether the logarithm may leave its bin when k records are replaced."""
    home = (log + shift) // bins.steps
    ends = (bins.log(max(order.spread(k, most=most), 0)) for most in (True, False))
    return any((end + shift) // bins.steps != home for end in ends)


def _first(fails: Callable[[int], bool], most: int) -> int:
    """The least k in 1..most at which a property that stays failed fails first, or `most`."""
    tries = ((1 << i >> 1, min(1 << i, most)) for i in count())  # holds at 0
    low, high = next((low, k) for low, k in tries if k >= most or fails(k))
    return low + 1 + bisect_left(range(low + 1, high), True, key=fails)
