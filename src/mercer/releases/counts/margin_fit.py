"""Consistent, non-negative margins from noisy ones.  Right of the door.  M13.

Several margins of one table are released, each with independent noise of one variance in all of
its cells.  What they say about each other is free: the best linear unbiased estimate in closed
form, its variance for any product of conditions, and the nearest margins without negative
cells.  docs/proofs/margins.md proves it.

Margins that agree wherever they overlap need not be margins of any table without negative
cells: pairs of columns may contradict each other in a circle.  No table is claimed to exist.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer.common.checks import Floats
from mercer.releases.counts.margin_parts import MOST_CELLS, Parts, Subset, subsets

__all__ = ["NEAR", "SWEEPS", "MarginFit", "Nearest"]

SWEEPS = 1000  # at most, of the search for margins without negative cells
NEAR = 1e-3  # it stops this near to the end: root mean square, in deviations of the noise
_CHECK = 10  # sweeps between two looks at how near it is


@dataclass(frozen=True, eq=False)
class Nearest:
    """Margins without negative cells, and how near they are to the nearest such."""

    margins: tuple[Floats, ...]
    distance: float  # root mean square over cells, in deviations of their noise, at most
    sweeps: int


@dataclass(frozen=True, eq=False, repr=False)
class MarginFit:
    """What noisy margins say together.  Keeps about 50 bytes a cell, 120 while it searches."""

    sizes: tuple[int, ...]  # cells along each axis of the table
    sets: tuple[Subset, ...]  # axes of each released margin
    total: float  # known, or estimated and not negative: the sum of every margin
    parts: Parts
    estimate: Floats  # components of the unbiased estimate
    known: bool  # whether the total is

    @classmethod
    def of(
        cls,
        sizes: Sequence[int],
        sets: Sequence[Subset],
        noisy: Sequence[Floats],
        variances: Sequence[float],
        total: float | None = None,
    ) -> MarginFit:
        """From margins `noisy` over the axes `sets` with these noise variances in each cell.

        `total` is the number of records where it is known without noise.
        """
        sizes, sets = _sizes(sizes), _sets(sets, len(sizes))
        cells = sum(math.prod(sizes[axis] for axis in chosen) for chosen in sets)
        if max(cells, sum(2 ** len(chosen) for chosen in sets)) > MOST_CELLS:
            raise ValueError(
                f"margins must have at most {MOST_CELLS} cells together; release margins of fewer columns"
            )
        variances = _variances(variances, len(sets))
        margins = _margins(noisy, sizes, sets)
        if total is not None and not (math.isfinite(total) and total >= 0):
            raise ValueError(f"total must be a finite number, at least 0, got {total!r}")
        parts = Parts.of(sizes, sets, variances)
        estimate = parts.components(parts.flat(margins))
        if total is not None:
            estimate[0] = total
        estimate.setflags(write=False)
        kept = max(float(estimate[0]), 0.0)
        return cls(sizes, sets, kept, parts, estimate, total is not None)

    def covers(self, axes: Sequence[int]) -> bool:
        """Whether these axes are together in a released margin."""
        return any(set(axes) <= set(chosen) for chosen in self.sets)

    def unbiased(self, axes: Sequence[int]) -> Floats:
        """The best linear unbiased estimate of a margin; cells may be negative."""
        return self._summed(self._unbiased, axes)

    def margin(self, axes: Sequence[int]) -> Floats:
        """A margin without negative cells; it agrees with all others and sums to the total."""
        return self._summed(self.nearest.margins, axes)

    def answer(self, axes: Sequence[int], vectors: Sequence[Floats]) -> tuple[float, float]:
        """The sum of a margin's cells times a weight for each axis: unbiased, and not negative.

        The second is not negative for weights that are not.
        """
        self._cover(axes)
        weights = self._weights(axes, vectors)
        found = []
        for margin in (self.unbiased(axes), self.margin(axes)):
            for weight in weights:
                margin = np.tensordot(weight, margin, 1)
            found.append(float(margin))
        return found[0], found[1]

    def deviation(self, axes: Sequence[int], vectors: Sequence[Floats]) -> float:
        """Standard deviation of the noise in the unbiased answer to the same question."""
        self._cover(axes)
        weights = self._weights(axes, vectors)
        above = [float(np.sum((weight - weight.mean()) ** 2)) for weight in weights]
        level = [float(weight.mean()) ** 2 for weight in weights]
        return self._spread(axes, above, level)

    def terms(self, axes: Sequence[int], vectors: Sequence[Floats]) -> float:
        """How many equal noises have a sum as near to a normal as the noise in that answer.

        By fourth cumulants, where all noises have one law but for its scale: from one, where one
        cell decides the answer.  Linear in the number of cells of all margins.
        """
        self._cover(axes)
        weights = dict(zip(axes, self._weights(axes, vectors), strict=True))
        row = np.zeros(self.parts.width)
        for part in subsets(tuple(sorted(axes))):
            inner = np.ones(1)
            for axis in part:
                inner = np.outer(inner, weights[axis][1:] - weights[axis][0]).ravel()
            means = math.prod(float(weights[axis].mean()) for axis in axes if axis not in part)
            start = self.parts.starts[part]
            row[start : start + inner.size] = inner * means
        if self.known:
            row[0] = 0.0
        square = self.parts.weights(row) ** 2 / self.parts.inverse
        fourth = float(np.sum(square**2))
        return float(np.sum(square)) ** 2 / fourth if fourth > 0 else math.inf

    def cell_deviation(self, axes: Sequence[int]) -> float:
        """The same for one cell of a margin: it is one number for all."""
        self._cover(axes)
        above = [1 - 1 / self.sizes[axis] for axis in axes]
        return self._spread(axes, above, [1 / self.sizes[axis] ** 2 for axis in axes])

    @cached_property
    def nearest(self) -> Nearest:
        """All margins without negative cells, found when they are first asked for."""
        return _nearest(self.parts, self.estimate, self.total)

    @cached_property
    def _unbiased(self) -> tuple[Floats, ...]:
        flat = self.parts.cells(self.estimate)
        flat.setflags(write=False)
        return self.parts.margins(flat)

    def _spread(self, axes: Sequence[int], above: list[float], level: list[float]) -> float:
        """Over components: their variance times the question's square in them (proof, 3)."""
        variance = 0.0
        for part in subsets(tuple(sorted(axes))):
            if part or not self.known:
                square = math.prod(
                    up if axis in part else down for axis, up, down in zip(axes, above, level, strict=True)
                )
                variance += square / self.parts.precision[part]
        return math.sqrt(variance)

    def _summed(self, margins: tuple[Floats, ...], axes: Sequence[int]) -> Floats:
        """From the smallest released margin that has these axes, in the order asked for."""
        source = self._cover(axes)
        chosen = self.sets[source]
        rest = tuple(k for k, axis in enumerate(chosen) if axis not in axes)
        kept = [axis for axis in chosen if axis in axes]
        found = margins[source].sum(axis=rest) if rest else margins[source]
        found = np.array(np.transpose(found, [kept.index(axis) for axis in axes]))
        found.setflags(write=False)
        return found

    def _cover(self, axes: Sequence[int]) -> int:
        if len(set(axes)) != len(axes) or not set(axes) <= set(range(len(self.sizes))):
            raise ValueError(f"axes must be different numbers from 0 to {len(self.sizes) - 1}, got {axes!r}")
        found = [k for k, chosen in enumerate(self.sets) if set(axes) <= set(chosen)]
        if not found:
            raise ValueError(
                f"axes {tuple(axes)} are not together in any margin; there are "
                + ", ".join(map(str, self.sets[:20]))
                + (" and more" if len(self.sets) > 20 else "")
            )
        return min(found, key=lambda k: math.prod(self.sizes[axis] for axis in self.sets[k]))

    def _weights(self, axes: Sequence[int], vectors: Sequence[Floats]) -> list[Floats]:
        """One vector of finite numbers for each axis."""
        weights = [np.asarray(vector, dtype=float) for vector in vectors]
        shapes = [(self.sizes[axis],) for axis in axes]
        if [w.shape for w in weights] != shapes or not all(np.all(np.isfinite(w)) for w in weights):
            raise ValueError(
                f"vectors must be finite, one for each axis, of shapes {shapes}; got "
                f"{[w.shape for w in weights]}"
            )
        return weights


def _nearest(parts: Parts, estimate: Floats, total: float) -> Nearest:
    """Nearest to the estimate, with its total, in units of the noise (proof, section 4).

    Dykstra's alternating projections, which are steps down the dual of the problem, with
    Nesterov's momentum, started again where it leads astray; then a share of the even table.
    """
    start = estimate.copy()
    start[0] = total
    even = np.zeros_like(start)
    even[0] = total
    first, flat = parts.cells(start), parts.cells(even)
    size = max(first.size, 1)
    pull, ahead = np.zeros_like(first), np.zeros_like(first)  # what the orthant pushes back
    point, best, sweep, pace = first, _mixed(first, flat), 0, 1.0
    distance = _distance(parts, first, first, best, pull)
    while distance > NEAR * math.sqrt(size) and sweep < SWEEPS:
        pushed = np.maximum(ahead - _moved(parts, start, ahead), 0.0)
        step = pushed - pull
        if float(np.dot((ahead - pushed) * parts.inverse, step)) > 0:
            pace, ahead = 1.0, pushed
        else:
            faster = (1 + math.sqrt(1 + 4 * pace**2)) / 2
            ahead = pushed + (pace - 1) / faster * step
            pace = faster
        pull, sweep = pushed, sweep + 1
        if sweep % _CHECK == 0:
            point = _moved(parts, start, pull)
            mixed = _mixed(point, flat)
            bound = _distance(parts, first, point, mixed, pull)
            if bound < distance:
                best, distance = mixed, bound
    best.setflags(write=False)
    return Nearest(parts.margins(best), distance / math.sqrt(size), sweep)


def _moved(parts: Parts, start: Floats, pull: Floats) -> Floats:
    """The consistent family with the given total nearest to the start plus the pull."""
    components = parts.components(pull)
    components[0] = 0.0
    components += start
    return parts.cells(components)


def _mixed(point: Floats, even: Floats) -> Floats:
    """As little of the even table as leaves no cell below zero; the rest is rounding."""
    low = point < 0
    share = float(np.max(-point[low] / (even[low] - point[low]), initial=0.0))
    return np.maximum((1 - share) * point + share * even, 0.0)


def _distance(parts: Parts, first: Floats, point: Floats, mixed: Floats, pull: Floats) -> float:
    """Of `mixed` to the nearest family without negative cells, at most: by the duality gap."""
    gap = np.dot((mixed - first) ** 2 - (point - first) ** 2 + 2 * pull * point, parts.inverse)
    return math.sqrt(max(float(gap), 0.0))


def _sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    if not all(isinstance(size, (int, np.integer)) and size >= 1 for size in sizes):
        raise ValueError(f"sizes must be whole numbers, at least 1, got {tuple(sizes)!r}")
    return tuple(int(size) for size in sizes)


def _sets(sets: Sequence[Subset], axes: int) -> tuple[Subset, ...]:
    if not sets:
        raise ValueError("sets must have at least one margin; () is the total")
    for chosen in sets:
        if list(chosen) != sorted(set(chosen)) or not set(chosen) <= set(range(axes)):
            raise ValueError(f"sets must be sorted, different axes from 0 to {axes - 1}, got {chosen!r}")
    return tuple(tuple(int(axis) for axis in chosen) for chosen in sets)


def _variances(variances: Sequence[float], many: int) -> list[float]:
    found = [float(variance) for variance in variances]
    if len(found) != many or not all(math.isfinite(v) and v > 0 for v in found):
        raise ValueError(f"variances must be {many} finite numbers above 0, one for each margin")
    return found


def _margins(noisy: Sequence[Floats], sizes: Sequence[int], sets: Sequence[Subset]) -> list[Floats]:
    margins = [np.asarray(margin, dtype=float) for margin in noisy]
    shapes = [tuple(sizes[axis] for axis in chosen) for chosen in sets]
    if [margin.shape for margin in margins] != shapes:
        raise ValueError(f"noisy must be arrays of shapes {shapes[:10]}, one for each margin")
    if not all(np.all(np.isfinite(margin)) for margin in margins):
        raise ValueError("noisy must be finite numbers")
    return margins
