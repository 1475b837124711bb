"""The curve that is drawn: no peak that the released shares do not prove.  M20.

In a tube around a distribution function the taut string is the function whose slope has the fewest
peaks (Davies and Kovac 2001).  The tube is as wide as the noise of privacy and of sampling make it,
so that a peak of the string is one of the law unless the tube misses it.  The smooth curve is then
made to rise and fall where the string does, by least squares in between.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import isotonic_regression

from mercer.common.checks import Bools, Floats, Ints
from mercer.releases.density.cdf import BasisCdf

__all__ = ["Shape", "taut_string"]

CELLS = 512  # of the string
_SAMPLING = 0.83  # median of the Kolmogorov distance of a sample of n from its law, times sqrt(n)
_SQUEEZE, _ROUNDS = 0.7, 30
_FLAT = 1e-12  # of the mean slope: below it two slopes are one


@dataclass(frozen=True)
class Shape:
    """Where a curve rises and falls: cells at which it turns, the first a peak, then in turn."""

    turns: tuple[tuple[int, int], ...]  # first and last + 1 of the cells among which each turn is
    cells: int

    @classmethod
    def of(cls, law: BasisCdf, n: float) -> Shape:
        """The shape of the taut string around a released distribution function of n records."""
        every = law.cells // CELLS
        edges, raw, fitted = law.edges[::every], law.raw[::every], law.fitted[::every]
        width = math.hypot(law.median_supremum, _SAMPLING / math.sqrt(n))
        radius = np.full(CELLS + 1, width)
        slopes = _string(fitted, radius)
        if not law.rings:  # next to a jump shares are not those of the records, and prove nothing
            first, last = _dyadic(CELLS)
            weights = np.zeros((len(first), CELLS + 1))
            weights[np.arange(len(first)), last] = 1.0
            weights[np.arange(len(first)), first] = -1.0
            variance = law.deviations(edges, weights) ** 2
            far = math.sqrt(2 * math.log(CELLS))
            for _ in range(_ROUNDS):
                string = np.concatenate([[0.0], np.cumsum(slopes)])
                share = np.clip(string[last] - string[first], 0.0, 1.0)
                error = np.sqrt(variance + np.maximum(share, 1 / n) * (1 - share) / n)
                bad = np.abs(raw[last] - raw[first] - share) > far * error
                if not bad.any():
                    break
                radius = np.where(_covered(first[bad], last[bad], CELLS + 1), radius * _SQUEEZE, radius)
                slopes = _string(fitted, radius)
        return cls(_turns(slopes), CELLS)

    @property
    def peaks(self) -> int:
        """How many peaks are shown."""
        return (len(self.turns) + 1) // 2

    def fit(self, values: Floats) -> Floats:
        """The nearest curve, in least squares, that turns where the shape does.

        `values` are at the middles of a multiple of the cells.  The order of two curves is kept.
        """
        many = len(values) // self.cells
        out = np.array(values, dtype=float)
        start, rising = 0, True
        for first, last in self.turns:
            part = values[first * many : last * many]
            place = first * many + int(np.argmax(part) if rising else np.argmin(part))
            end = place + 1 if rising else place
            out[start:end] = _monotone(out[start:end], rising=rising)
            start, rising = end, not rising
        out[start:] = _monotone(out[start:], rising=rising)
        return out


def _monotone(values: Floats, *, rising: bool) -> Floats:
    return isotonic_regression(values, increasing=rising).x if values.size else values


def _string(centre: Floats, radius: Floats) -> Floats:
    lower, upper = np.maximum(centre - radius, 0.0), np.minimum(centre + radius, 1.0)
    lower[0] = upper[0] = 0.0
    lower[-1] = upper[-1] = 1.0
    return taut_string(lower, upper)


def taut_string(lower: Floats, upper: Floats) -> Floats:
    """Slopes of the shortest line through a tube, a step apart; both ends of the tube are points."""
    low, high, last = lower.tolist(), upper.tolist(), len(lower) - 1
    slopes = np.empty(last)
    at, height = 0, low[0]
    while at < last:
        steepest, flattest, above, below = math.inf, -math.inf, at, at
        for place in range(at + 1, last + 1):
            up, down = (high[place] - height) / (place - at), (low[place] - height) / (place - at)
            if down > steepest:
                after, reached = above, high[above]
                break
            if up < flattest:
                after, reached = below, low[below]
                break
            if up <= steepest:
                steepest, above = up, place
            if down >= flattest:
                flattest, below = down, place
        else:
            after, reached = last, low[last]
        slopes[at:after] = (reached - height) / (after - at)
        at, height = after, reached
    return slopes


def _turns(slopes: Floats) -> tuple[tuple[int, int], ...]:
    """The flat pieces at which slopes turn, a peak first and last."""
    new = np.abs(np.diff(slopes)) > _FLAT / len(slopes)
    starts = np.concatenate([[0], np.flatnonzero(new) + 1])
    ends = np.append(starts[1:], len(slopes))
    levels = slopes[starts]
    up = np.concatenate([[True], np.diff(levels) > 0])
    down = np.concatenate([np.diff(levels) < 0, [True]])
    turning = (up & down) | (~up & ~down)
    return tuple((int(a), int(b)) for a, b in zip(starts[turning], ends[turning], strict=True))


def _dyadic(cells: int) -> tuple[Ints, Ints]:
    """First and last edges of ranges of 1, 2, 4, … cells, half a range apart."""
    first, last, width = [], [], 1
    while width <= cells // 2:
        starts = np.arange(0, cells - width + 1, max(1, width // 2))
        first.append(starts)
        last.append(starts + width)
        width *= 2
    return np.concatenate(first), np.concatenate(last)


def _covered(first: Ints, last: Ints, edges: int) -> Bools:
    """Whether each edge is in one of these ranges."""
    marks = np.zeros(edges + 1, dtype=np.int64)
    np.add.at(marks, first, 1)
    np.add.at(marks, last + 1, -1)
    return np.cumsum(marks)[:edges] > 0
