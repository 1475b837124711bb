"""How quantiles are drawn with intervals: points to choose from, and the ends of an interval.  M12.

An end is chosen as a quantile is, by the exponential mechanism, but aims beyond the quantile by a public
margin that it misses by with a chance that is known: docs/proofs/selection.md, section 9.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from mercer.api.calls import part, pure
from mercer.columns.domain import Box
from mercer.common.checks import Floats, Ints, check_count, check_positive
from mercer.door.publish import Payer, publish
from mercer.noise.mechanisms import Exponential
from mercer.releases.choice import RankAccuracy, rank_reach
from mercer.releases.column.release import lattice
from mercer.sensitive.base import Scores
from mercer.sensitive.summaries.selection import Ranks, rank_sensitivity

__all__ = ["CELLS", "DEFINITIONS", "Points", "RankShares", "accuracy_of", "declared_step", "draw_interval"]

CELLS = (1 << 15) + 1  # points of a grid that is not given
DEFINITIONS = 2  # ranks by which the usual definitions of a quantile differ
_INTERVAL = 4  # an end has one part of so many, the quantile itself what two ends leave


@dataclass(frozen=True)
class RankShares:
    """How the epsilon of quantiles is shared: by levels evenly, of each half for the ends of an interval."""

    point: float  # of one quantile
    end: float | None  # of one end of its interval; None where there is none

    @classmethod
    def of(cls, epsilon: float, levels: int, *, ends: bool) -> RankShares:
        """Even shares, rounded down, so that all of them never exceed epsilon."""
        if not ends:
            return cls(part(epsilon, levels), None)
        return cls(part(epsilon, 2 * levels), part(epsilon, _INTERVAL * levels))

    @staticmethod
    def choices(levels: int, *, ends: bool) -> int:
        """So many of the smallest share make the whole."""
        return _INTERVAL * levels if ends else levels


@dataclass(frozen=True, eq=False)
class Points:
    """Public points that a quantile is chosen from, and the values that records may have."""

    values: Floats
    nodes: Ints  # of the fine grid, the nearest to each
    domain: Box
    cells: int  # of the fine grid
    step: float | None = None  # between the values that records may have, where that is declared
    base: float = 0.0  # one of these values

    @classmethod
    def of(cls, grid: object, domain: Box, cells: int, step: float | None) -> Points:
        """From a number of even points of the bounds, points, or the values of a column in steps."""
        low, high = domain.bounds[0]
        step = 1.0 if domain.dates and step is None else step
        base = low
        if step is not None and grid is not None and not domain.dates:
            raise ValueError("step says which points there are: leave grid out, or give grid alone")
        if grid is None and step is not None:
            values = lattice(domain, step)
        elif grid is None or (isinstance(grid, (int, np.integer)) and not isinstance(grid, bool)):
            hint = "even points of the bounds, or a list of points"
            many = check_count("grid", cells + 1 if grid is None else grid, least=2, most=1 << 20, hint=hint)
            values = np.linspace(low, high, many)
        elif isinstance(grid, Iterable):
            given = list(grid)
            values = domain.points(given)[:, 0]
            if step is None and given and all(isinstance(one, (int, np.integer)) for one in given):
                step, base = 1.0, 0.0
        else:
            raise TypeError(f"grid must be a number of points or points, got {type(grid).__name__}")
        if len(values) == 0:
            raise ValueError("grid must hold at least one point, got none")
        nodes = np.rint((values - low) / (high - low) * cells).astype(np.int64)
        return cls(values, np.clip(nodes, 0, cells), domain, cells, step, base)

    @property
    def whole(self) -> bool:
        """Whether the values are integers, or days."""
        return self.step is not None and self.step == round(self.step) and self.base == round(self.base)

    def told(self, value: float) -> float:
        """A value as it is released: an integer where all are."""
        return round(value) if self.whole else float(value)

    def least(self, node: int) -> float:
        """The least value of a record that is counted at this node of the fine grid or above."""
        return self._end(node, -1, math.ceil)

    def most(self, node: int) -> float:
        """The greatest value of a record that is counted at this node of the fine grid or below."""
        return self._end(node, 1, math.floor)

    def _end(self, node: int, side: int, rounded: Any) -> float:
        low, high = self.domain.bounds[0]
        edge = low + (high - low) * ((node + side * (0.5 + 1e-6)) / self.cells)
        if self.step is not None:
            edge = self.base + self.step * rounded((edge - self.base) / self.step)
        return self.told(min(max(edge, low), high))


def declared_step(bounds: object, step: object) -> tuple[object, float | None]:
    """The bounds of a column, and the step between its values where one is declared; a range declares it."""
    named = isinstance(bounds, Mapping) and len(bounds) == 1
    held = next(iter(bounds.values())) if isinstance(bounds, Mapping) and named else bounds
    if not isinstance(held, range):
        return bounds, None if step is None else check_positive("step", step, "1 for integers")
    if len(held) < 2 or held.step < 1:
        raise ValueError(f"bounds must be a rising range of two integers or more, got {held!r}")
    if step is not None and step != held.step:
        raise ValueError(f"step must be that of the range or left out, got {step!r} and {held!r}")
    ends = held[0], held[-1]
    return (dict.fromkeys(bounds, ends) if isinstance(bounds, Mapping) else ends), float(held.step)


def margin_of(epsilon: float, points: int, miss: float) -> int:
    """By how many records an end aims beyond its quantile, and misses that with this chance at most."""
    return math.ceil(rank_reach(epsilon, points, miss)) + DEFINITIONS


def accuracy_of(share: RankShares, *, n: int, points: int, level: float | None, ends: int) -> RankAccuracy:
    """How far ranks are off; `ends` of intervals share what the level leaves out."""
    margin = 0
    if share.end is not None and level is not None:
        margin = margin_of(share.end, points, (1 - level) / ends)
    return RankAccuracy.of(share.point, share.end, n=n, points=points, margin=margin)


def draw_interval(
    ranks: Ranks, q: Fraction, points: Points, epsilon: float, miss: float, payer: Payer
) -> tuple[float, float]:
    """The ends of an interval for a quantile, each beyond it but for the chance `miss`.

    Each end costs `epsilon`.
    """
    nodes = np.sort(points.nodes)
    margin = margin_of(epsilon, len(nodes), miss)
    moved = rank_sensitivity(q, ranks.weight)
    places = []
    for upper in (False, True):
        scores = Scores(ranks.end_scores(q, nodes, margin, upper=upper), moved, n=ranks.n, unit=ranks.unit)
        places.append(
            publish(scores, Exponential(), lambda place, *_: int(place), payer, promise=pure(epsilon))
        )
    low, high = map(points.told, points.domain.bounds[0])
    first, last = places
    lower = points.least(int(nodes[first - 1])) if first else low
    return lower, points.most(int(nodes[last])) if last < len(nodes) else high
