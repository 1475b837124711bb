"""The distribution function of one released column: shares, quantiles, expectations and draws.  M20.

A release is linear in noisy numbers, and so is the distribution function that follows from it at any
point.  That raw function may fall and leave [0, 1].  Its isotonic fit does not, and is nowhere
farther from the distribution function of the records than the raw one is at worst: every share,
quantile, mean and synthetic record is read from the fit.  Intervals are those of the raw function,
whose noise has a known law; they are about the records themselves and hold noise alone, but for
values that stand closer together than the release resolves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from mercer.common import streams
from mercer.common.checks import Floats, check_count, check_level
from mercer.releases.base import Interval
from mercer.releases.function import Band

__all__ = ["Cdf", "Distributed"]

_LOOKED = 257  # points at which the width of the noise is computed for quantiles


class Cdf(ABC):
    """Released shares up to the ends of cells, with their noise; cells are rising and touch each other.

    Mass is spread evenly over a cell, or stands at its upper end (`steps`).  Otherwise records may
    stand at the first edge, and then `raw` starts with their share, and at the last one, and then
    it ends with what is below it.
    """

    steps: bool = False

    @cached_property
    @abstractmethod
    def edges(self) -> Floats:
        """The ends of the cells, rising: one more than there are cells."""

    @cached_property
    @abstractmethod
    def raw(self) -> Floats:
        """The released share up to each edge, not monotone; at the last one, of what is below it or there."""

    @abstractmethod
    def half_widths(self, points: Floats, weights: Floats | None, level: float) -> Floats:
        """What an interval for the noise of sums of the raw function at points reaches to each side.

        `weights` has a row for each sum; None for the values at the points themselves.  At points
        that are not finite the function is known.
        """

    @abstractmethod
    def deviations(self, points: Floats, weights: Floats | None) -> Floats:
        """The standard deviation of the same noise."""

    def unseen(self, points: Floats) -> tuple[Floats, Floats]:
        """By how much the records' function may be lower or higher at points for lack of resolution."""
        return np.zeros(len(points)), np.zeros(len(points))

    def shared(self, points: Floats) -> Floats:
        """What of the records may stand at points, or not, without a sign of it."""
        return np.zeros(len(points))

    @property
    def grain(self) -> float:
        """How far a quantile of the records may be from where the function takes it to be."""
        return 0.0

    def unseen_at_bounds(self, values: Floats) -> float:
        """By how much a mean of these values of the cells may be off for what is piled up at a bound."""
        del values
        return 0.0

    @cached_property
    def fitted(self) -> Floats:
        """The monotone function nearest to the raw one in least squares, within [0, 1], at the edges."""
        inside = isotonic_regression(self.raw[1:-1]).x if len(self.raw) > 2 else np.zeros(0)
        first, last = (float(np.clip(end, 0.0, 1.0)) for end in (self.raw[0], self.raw[-1]))
        found = np.concatenate([[first], np.clip(inside, first, max(first, last)), [max(first, last)]])
        found.setflags(write=False)
        return found

    def at(self, x: Floats) -> Floats:
        """The share of records at or below x."""
        return self._between(self.fitted, x)

    def raw_at(self, x: Floats) -> Floats:
        """The same as released, before it is made monotone."""
        return self._between(self.raw, x)

    def quantiles(self, q: Floats) -> Floats:
        """The least value at or below which there is a share q of the records."""
        return self._inverse(self.fitted, q)

    def band(self, x: Floats, level: float) -> Band:
        """The ends of an interval for the share at or below each point."""
        check_level(level)
        down, up = self.unseen(x)
        width = self.half_widths(x, None, level) + self.shared(x)
        value, raw = self.at(x), self.raw_at(x)
        lower = np.clip(np.minimum(value, raw - width - down), 0.0, 1.0)
        upper = np.clip(np.maximum(value, raw + width + up), 0.0, 1.0)
        below, above = x < self.first, x >= self.edges[-1]
        lower, upper = (np.where(above, 1.0, np.where(below, 0.0, end)) for end in (lower, upper))
        return Band(lower, upper, level)

    def between(self, low: float, high: float) -> float:
        """The share of records from low to high; where records stand at points, both ends included."""
        return max(float(np.diff(self.at(self._ends(low, high)))[0]), 0.0)

    def share(self, low: float, high: float, level: float) -> Interval:
        """The same with an interval for the noise."""
        check_level(level)
        ends = self._ends(low, high)
        value = self.between(low, high)
        raw = float(np.diff(self.raw_at(ends))[0])
        width = float(self.half_widths(ends, np.array([[-1.0, 1.0]]), level)[0] + self.shared(ends).sum())
        down, up = self.unseen(ends)
        lower = min(value, float(raw - width - up[0] - down[1]))
        upper = max(value, float(raw + width + down[0] + up[1]))
        return Interval(value, min(max(lower, 0.0), 1.0), min(max(upper, 0.0), 1.0), level)

    def quantile_band(self, q: Floats, level: float) -> Band:
        """The ends of an interval for each quantile of the records.

        The records' distribution function crosses q where the raw one is within the width of its
        noise of q: the interval holds all such places.
        """
        check_level(level)
        width = self._widths(level)
        down, up = self.unseen(self.edges)
        high, low = self.raw + width + up, self.raw - width - down
        lower, upper = np.empty(len(q)), np.empty(len(q))
        for place, level_asked in enumerate(q):
            lower[place] = self._crossing(np.maximum.accumulate(high), level_asked)
            rest = np.minimum.accumulate(low[::-1])[::-1]
            upper[place] = self._crossing(rest, level_asked)
        value = self.quantiles(q)
        lower, upper = np.minimum(lower, value) - self.grain, np.maximum(upper, value) + self.grain
        return Band(np.maximum(lower, self.first), np.minimum(upper, self.edges[-1]), level)

    def expectation(self, function: Callable[[Floats], Any], level: float) -> Interval:
        """The mean of a function of the column over the records."""
        check_level(level)
        points = self.middles
        values = np.asarray(function(points), dtype=float)
        if values.shape != points.shape or not np.all(np.isfinite(values)):
            raise ValueError(
                "function must give one finite number for each of the numbers it is given: of an array "
                f"of {len(points)} it gave shape {values.shape}"
            )
        # records at the first edge count with the first value, those at the last one with the last
        masses = [np.diff(shares, prepend=0.0, append=1.0) for shares in (self.fitted, self.raw)]
        ends = np.concatenate([values[:1], values, values[-1:]])
        value, raw = (float(mass @ ends) for mass in masses)
        weights = ends[:-1] - ends[1:]
        width = float(self.half_widths(self.edges, weights[None, :], level)[0])
        least, most = float(values.min()), float(values.max())
        width += self.unseen_at_bounds(values)
        lower, upper = min(value, raw - width), max(value, raw + width)
        return Interval(value, min(max(lower, least), most), min(max(upper, least), most), level)

    def draws(self, size: object, rng: int | np.random.Generator | None, *, independent: bool) -> Floats:
        """Synthetic values: evenly spread over the law in random order, or independent of each other."""
        count = check_count("size", size, least=0, most=10**9, hint="how many records to draw")
        generator = streams.fresh(rng)
        if independent:
            return self.quantiles(generator.random(count))
        places = (np.arange(count) + generator.random()) / max(count, 1)
        return generator.permutation(self.quantiles(places))

    @property
    def middles(self) -> Floats:
        """A value for each cell: its middle, or its upper end where mass stands there."""
        return self.edges[1:] if self.steps else (self.edges[:-1] + self.edges[1:]) / 2

    @property
    def first(self) -> float:
        """The least value there can be."""
        return float(self.edges[1] if self.steps else self.edges[0])

    def before(self, x: float) -> float:
        """The greatest edge below x: the last value before it, where records stand at values."""
        place = int(np.searchsorted(self.edges, x, side="left"))
        return float(self.edges[min(max(place - 1, 0), len(self.edges) - 1)])

    def _ends(self, low: float, high: float) -> Floats:
        """Where a range begins, just below its first value where records stand there, and ends."""
        if self.steps:
            return np.array([self.before(low), high])
        whole = low <= self.edges[0], high >= self.edges[-1]
        return np.array([-np.inf if whole[0] else low, np.inf if whole[1] else high])

    def _between(self, shares: Floats, x: Floats) -> Floats:
        if self.steps:
            return shares[np.clip(np.searchsorted(self.edges, x, side="right") - 1, 0, len(shares) - 1)]
        found = np.interp(x, self.edges, shares)
        return np.where(x >= self.edges[-1], 1.0, np.where(x < self.edges[0], 0.0, found))

    def _inverse(self, shares: Floats, q: Floats) -> Floats:
        """The generalised inverse of shares that rise."""
        inside = np.clip(np.asarray(q, dtype=float), 0.0, 1.0)
        least = max(float(shares[0]), 0.0)
        place = np.clip(np.searchsorted(shares, np.maximum(inside, least), side="left"), 1, len(shares) - 1)
        # at 0: the first cell that holds anything
        place = np.where(inside <= least, max(int(np.searchsorted(shares, least, side="right")), 1), place)
        place = np.minimum(place, len(shares) - 1)
        if self.steps:
            return self.edges[place]
        below, above = shares[place - 1], shares[place]
        part = np.clip((inside - below) / np.where(above > below, above - below, 1.0), 0.0, 1.0)
        found = self.edges[place - 1] + part * (self.edges[place] - self.edges[place - 1])
        found = np.where(inside > shares[-1], self.edges[-1], found)
        return np.where((inside <= least) & (least > 0), self.edges[0], found)

    def _crossing(self, shares: Floats, q: float) -> float:
        """The first edge at which rising shares reach q, or the place between edges."""
        place = min(int(np.searchsorted(shares, q, side="left")), len(shares) - 1)
        if self.steps or place == 0:
            return float(self.edges[max(place, 1)] if self.steps else self.edges[place])
        below, above = float(shares[place - 1]), float(shares[place])
        part = min(max((q - below) / (above - below), 0.0), 1.0) if above > below else 1.0
        return float(self.edges[place - 1] + part * (self.edges[place] - self.edges[place - 1]))

    def _widths(self, level: float) -> Floats:
        """Half widths at all edges, from some of them."""
        places = np.unique(np.linspace(0, len(self.edges) - 1, _LOOKED).astype(int))
        some = self.half_widths(self.edges[places], None, level)
        return np.interp(np.arange(len(self.edges)), places, some)


class Distributed(ABC):
    """A release of one column, whose shares, quantiles and means anyone may ask for at no cost."""

    @property
    @abstractmethod
    def law(self) -> Cdf:
        """The distribution function of the column; ValueError of a release of several columns."""

    @abstractmethod
    def _codes(self, x: object) -> tuple[Floats, tuple[int, ...]]:
        """Points of the column as numbers on a line, and their shape; an error where one is outside."""

    def cdf(self, x: object) -> Floats:
        """The share of records at or below each point: rising from 0 to 1."""
        law, (points, shape) = self.law, self._codes(x)
        return law.at(points).reshape(shape)

    def cdf_band(self, x: object, level: float = 0.95) -> Band:
        """The ends of an interval for the records' share at or below each point, for the noise alone."""
        law, (points, shape) = self.law, self._codes(x)
        found = law.band(points, level)
        return Band(found.lower.reshape(shape), found.upper.reshape(shape), level)

    def quantile(self, q: object) -> Floats:
        """The least values at or below which there are these shares of the records; 0.5 is the median."""
        levels = _levels(q)
        return self.law.quantiles(levels.reshape(-1)).reshape(levels.shape)

    def quantile_band(self, q: object, level: float = 0.95) -> Band:
        """The ends of an interval for each of the records' quantiles, for the noise alone."""
        levels = _levels(q)
        found = self.law.quantile_band(levels.reshape(-1), level)
        return Band(found.lower.reshape(levels.shape), found.upper.reshape(levels.shape), level)

    def share(self, lower: object = None, upper: object = None, level: float = 0.95) -> Interval:
        """The share of records from `lower` to `upper`, with an interval for the noise; None: the bound.

        Of values that were counted (integers, dates, steps) both ends count: 20 <= x <= 40, and so they
        do of dates, whose last day is whole; of a density of numbers 20 <= x < 40, and the upper bound
        itself.
        """
        return self.law.share(*self._range(lower, upper), level)

    def _range(self, lower: object, upper: object) -> tuple[float, float]:
        """The ends of a range as numbers on a line; a day that is its upper end counts whole."""
        law = self.law
        low = law.first if lower is None else float(self._codes(lower)[0][0])
        high = float(law.edges[-1]) if upper is None else float(self._codes(upper)[0][0])
        if low > high:
            raise ValueError(f"lower must not be above upper, got {lower} and {upper}; exchange them")
        if not law.steps and isinstance(upper, (str, date, np.datetime64)):
            high = min(high + 1.0, float(law.edges[-1]))
        return low, high

    def expect(self, function: Callable[[Floats], Any], level: float = 0.95) -> Interval:
        """The mean of a function of the column over the records, with an interval for the noise.

        The function is given an array of numbers and gives one number for each.
        """
        if not callable(function):
            raise TypeError(f"function must be a function of numbers, got {type(function).__name__}")
        return self.law.expectation(function, level)

    def mean(self, level: float = 0.95) -> Interval:
        """The mean of the column over the records, with an interval for the noise."""
        return self.law.expectation(lambda x: x, level)


def _levels(q: object) -> Floats:
    try:
        levels = np.asarray(q, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(f"q must be numbers in [0, 1], got {type(q).__name__}") from None
    if not np.all((levels >= 0) & (levels <= 1)):
        raise ValueError(f"q must be in [0, 1], got {q!r}; 0.5 is the median")
    return levels
