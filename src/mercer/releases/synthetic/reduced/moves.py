"""Moves that no gradient sees: categories, levels, and the end on valid codes.  M10.

All features have norm one, so moving point m from z to z' changes the squared distance by
2 w (phi(z') - phi(z))'r, r the residual without point m: the best of many places is one product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.common.checks import Floats
from mercer.releases.synthetic.reduced.descent import Problem, descend, refit
from mercer.releases.synthetic.reduced.space import Space

__all__ = ["Neighbours", "climb", "exchange", "settle", "sweep"]

_VALUES = 64  # of one column that are tried
_SWEEPS = 4
_EXCHANGES = 8


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Rows that differ from a row in one column."""

    space: Space
    values: tuple[tuple[int, Floats], ...]  # of columns that are not free

    @classmethod
    def seen(cls, space: Space, pool: Floats) -> Neighbours:
        """Values of the columns that are not free, as a pool of public rows has them."""
        values = []
        for column in range(pool.shape[1]):
            if column not in space.free:
                levels = np.unique(pool[:, column])
                chosen = np.linspace(0, len(levels) - 1, min(len(levels), _VALUES))
                values.append((column, levels[np.rint(chosen).astype(np.int64)]))
        return cls(space, tuple(values))

    def __bool__(self) -> bool:
        return any(len(levels) > 1 for _, levels in self.values) or any(self.space.step)

    def of(self, row: Floats, *, levels: bool = True) -> Floats:
        """The row itself, then its neighbours; without `levels`, free columns stay."""
        rows = [row]
        for column, values in self.values:
            rows += [_with(row, column, value) for value in values if value != row[column]]
        if not levels:
            return np.array(rows)
        for k, column in enumerate(self.space.free):
            step, low, high = self.space.levels(k), self.space.lower[k], self.space.upper[k]
            near = (row[column] - step, row[column] + step) if step else ()
            rows += [_with(row, column, level) for level in near if low <= level <= high]
        out = np.array(rows)
        out[1:] = self.space.snap(out[1:])
        return out

    def mixed(self, codes: Floats, pool: Floats, rng: np.random.Generator) -> Floats:
        """Rows with about one column in three of those that are not free taken from the pool."""
        out = codes.copy()
        others = pool[rng.integers(0, len(pool), len(codes))]
        for column, _ in self.values:
            taken = rng.random(len(codes)) < 1 / 3
            out[taken, column] = others[taken, column]
        return self.space.snap(out)


def climb(problem: Problem, neighbours: Neighbours, codes: Floats, vector: Floats) -> Floats:
    """Rows moved uphill on |phi'vector| by changing one column at a time."""
    if not neighbours:
        return codes
    out = codes.copy()
    for m in range(len(out)):
        for _ in range(_SWEEPS):
            rows = neighbours.of(out[m])
            heights = problem.fast.scores(problem.space.embed(rows), vector)
            best = int(np.argmax(np.abs(heights) if problem.rule.signed else heights))
            if best == 0:
                break
            out[m] = rows[best]
    return out


def sweep(
    problem: Problem, neighbours: Neighbours, codes: Floats, weights: Floats, *, levels: bool = True
) -> tuple[Floats, int]:
    """Each point to the best of its neighbours in turn, heaviest first; how many moved."""
    out, moved = codes.copy(), 0
    waves, embed = problem.fast, problem.space.embed
    rest = waves.residual(embed(out), weights, problem.target)
    for m in np.argsort(-np.abs(weights), kind="stable"):
        rows = neighbours.of(out[m], levels=levels)
        if len(rows) == 1 or weights[m] == 0:
            continue
        features = waves.rows(embed(rows)).astype(np.float64)
        alone = rest - weights[m] * features[0]
        heights = weights[m] * (features @ alone)
        best = int(np.argmin(heights))
        if heights[best] < heights[0] - 1e-12:
            out[m], moved = rows[best], moved + 1
            rest = alone + weights[m] * features[best]
        problem.tick(1)
    return out, moved


def exchange(
    problem: Problem, neighbours: Neighbours, codes: Floats, weights: Floats, iterations: int
) -> tuple[Floats, Floats]:
    """Categories exchanged and the rest let down again, in turn, while it gains."""
    if not neighbours.values:
        return codes, weights
    before = problem.distance(codes, weights)
    for _ in range(_EXCHANGES):
        tried, moved = sweep(problem, neighbours, codes, weights, levels=False)
        if not moved:
            break
        tried, share = descend(problem, tried, refit(problem, tried, weights), iterations)
        after = problem.distance(tried, share)
        if after < before:
            codes, weights = tried, share
        if not after < 0.999 * before:
            break
        before = after
    return codes, weights


def settle(
    problem: Problem, neighbours: Neighbours, codes: Floats, weights: Floats, iterations: int
) -> tuple[Floats, Floats]:
    """Points on valid codes, with weights and what may still move fitted to them."""
    space = problem.space
    valid = space.snap(codes)
    columns = list(space.free)
    held = np.any(valid[:, columns] != codes[:, columns], axis=0)
    held |= np.array([space.levels(k) > 0 for k in range(len(columns))], dtype=bool)
    codes = valid
    for _ in range(_SWEEPS):
        weights = refit(problem, codes, weights)
        moved = 0
        if neighbours:
            before = problem.distance(codes, weights)
            tried, moved = sweep(problem, neighbours, codes, weights)
            if problem.distance(tried, weights) < before:
                codes = tried
            else:
                moved = 0
        if held.any() and not held.all():
            codes, weights = descend(problem, codes, weights, iterations, exactly=True, held=held)
            codes = space.snap(codes)
        if not moved:
            break
    return codes, refit(problem, codes, weights)


def _with(row: Floats, column: int, value: float) -> Floats:
    out = row.copy()
    out[column] = value
    return out
