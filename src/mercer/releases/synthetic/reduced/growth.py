"""Reduced sets grown from a pool of public rows, and moves that no gradient sees.  M10.

A stage scores the pool and the surroundings of the points found so far against what is not yet
explained, chooses some of the best by orthogonal matching pursuit, and lets points and weights
descend together.  Stages grow with the set, so a thousand points take some twenty.

Categories, levels and the end on valid codes: all features have norm one, so moving point m from z
to z' changes the squared distance by 2 w (phi(z') - phi(z))'r, r the residual without point m: the
best of many places is one product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.common.checks import Floats, Ints
from mercer.releases.synthetic.reduced.descent import Problem, Space, ascend, descend, refit

__all__ = [
    "Garden",
    "NeighbourRows",
    "climb",
    "even",
    "exchange",
    "grow",
    "prune",
    "pursue",
    "renew",
    "settle",
    "sweep",
]

_SHORT = 64  # candidates on the short list at least, and four for each place
_FEW = 32  # while there are fewer points, the short list climbs first
_STAGE = 25  # iterations of descent after each stage
_SPREADS = (0.1, 0.3, 0.9)  # length scales between a point and a new one near it
_NUMBERS = 4 * 10**7  # features of a short list held at once
_VANISHED = 1e-9  # of the largest weight
_VALUES = 64  # of one column that are tried
_SWEEPS = 4
_EXCHANGES = 8


@dataclass(frozen=True, eq=False)
class NeighbourRows:
    """Rows that differ from a row in one column."""

    space: Space
    values: tuple[tuple[int, Floats], ...]  # of columns that are not free

    @classmethod
    def seen(cls, space: Space, pool: Floats) -> NeighbourRows:
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


def climb(problem: Problem, neighbours: NeighbourRows, codes: Floats, vector: Floats) -> Floats:
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
    problem: Problem, neighbours: NeighbourRows, codes: Floats, weights: Floats, *, levels: bool = True
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
    problem: Problem, neighbours: NeighbourRows, codes: Floats, weights: Floats, iterations: int
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
    problem: Problem, neighbours: NeighbourRows, codes: Floats, weights: Floats, iterations: int
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


@dataclass(frozen=True, eq=False)
class Garden:
    """Where new points come from: public rows, their neighbours and public draws."""

    pool: Floats
    neighbours: NeighbourRows
    rng: np.random.Generator


def grow(
    problem: Problem,
    garden: Garden,
    codes: Floats,
    weights: Floats,
    size: int,
    history: list[tuple[int, float]],
) -> tuple[Floats, Floats]:
    """Points added until there are `size`, or until more explain nothing."""
    square = float(problem.target @ problem.target)
    value = square if not len(codes) else _value(problem, codes, weights)
    while len(codes) < size and value > 1e-24 * square:
        want = min(size - len(codes), max(1, len(codes) // 2))
        fresh = candidates(problem, garden, codes, weights, want)
        if not len(fresh):
            break
        tried = np.concatenate([codes, fresh])
        share = problem.rule.project(np.append(weights, np.zeros(len(fresh))))
        share = refit(problem, tried, share)
        tried, share = prune(*descend(problem, tried, share, _STAGE))
        reached = _value(problem, tried, share)
        added = len(tried) - len(codes)
        charge = 0.0
        if not problem.rule.bounded:  # what the best of so many places fits by chance
            chance = 2 * np.log(len(garden.pool)) + 2 * len(problem.space.free)
            charge = problem.noise**2 * added * float(chance)
        if len(codes) and value - reached <= max(charge, 0.0 if added > 0 else 1e-3 * value):
            break
        codes, weights, value = tried, share, reached
        history.append((len(codes), float(np.sqrt(value))))
    return codes, weights


def candidates(problem: Problem, garden: Garden, codes: Floats, weights: Floats, want: int) -> Floats:
    """Rows for new points, best first."""
    waves, space = problem.fast, problem.space
    rest = problem.target
    rows = garden.pool
    if len(codes):
        rest = -waves.residual(space.embed(codes), weights, problem.target)
        near = np.repeat(codes, -(-max(_SHORT, 4 * want) // len(codes)), axis=0)
        spread = garden.rng.choice(_SPREADS, len(near))[:, None]
        moves = spread * garden.rng.standard_normal((len(near), len(space.free)))
        near = space.shifted(near, moves)
        rows = np.concatenate([rows, near])
        if garden.neighbours.values:
            rows = np.concatenate([rows, garden.neighbours.mixed(near, garden.pool, garden.rng)])
    heights = waves.scores(space.embed(rows), rest)
    if problem.rule.signed:
        heights = np.abs(heights)
    short = min(len(rows), max(_SHORT, 4 * want), max(want, _NUMBERS // len(rest)))
    rows = rows[np.argsort(-heights, kind="stable")[:short]]
    if len(codes) < _FEW:
        rows = climb(problem, garden.neighbours, rows, rest)
        rows = ascend(problem, rows, rest, _STAGE)
    features = waves.rows(space.embed(rows))
    return rows[pursue(features, rest, want, problem.rule.signed)]


def pursue(features: Floats, rest: Floats, count: int, signed: bool) -> Ints:
    """Orthogonal matching pursuit: rows that explain most, each given those before it."""
    gram = (features @ features.T).astype(np.float64)
    height = (features @ rest.astype(features.dtype)).astype(np.float64)
    left = np.ones(len(features))  # squared norm beyond what is chosen
    basis = np.zeros((0, len(features)))
    chosen: list[int] = []
    for _ in range(count):
        gain = np.where(left > 1e-4, height / np.sqrt(np.maximum(left, 1e-4)), 0.0)
        if signed:
            gain = np.abs(gain)
        best = int(np.argmax(gain))
        if gain[best] <= 0:
            break
        chosen.append(best)
        line = (gram[best] - basis[:, best] @ basis) / np.sqrt(left[best])
        height -= line * height[best] / np.sqrt(left[best])
        left = left - line**2
        left[best] = 0.0
        basis = np.concatenate([basis, line[None]])
    return np.array(chosen, dtype=np.int64)


def prune(codes: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Without the points whose weight vanished."""
    size = np.abs(weights)
    kept = size > _VANISHED * float(size.max(initial=0.0))
    return codes[kept], weights[kept]


def renew(
    problem: Problem,
    garden: Garden,
    codes: Floats,
    weights: Floats,
    size: int,
    iterations: int,
    history: list[tuple[int, float]],
) -> tuple[Floats, Floats, bool]:
    """The points that are needed least grow anew elsewhere; kept if that is better."""
    before = _value(problem, codes, weights)
    points = problem.space.embed(codes)
    gram = problem.exact.gram(points)
    gram[np.diag_indices(len(gram))] += 1e-10
    # what leaving a point out costs once the others are fitted again
    cost = weights**2 / np.maximum(np.diag(np.linalg.inv(gram)), 1e-300)
    out = max(1, len(codes) // 10)
    kept = np.sort(np.argsort(cost, kind="stable")[out:])
    if not len(kept):
        return codes, weights, False
    fewer = codes[kept]
    share = refit(problem, fewer, problem.rule.project(weights[kept]))
    tried, share = grow(problem, garden, *prune(fewer, share), size, [])
    tried, share = prune(*descend(problem, tried, share, iterations))
    after = _value(problem, tried, share)
    if not after < (1 - 1e-3) * before:
        return codes, weights, False
    history.append((len(tried), float(np.sqrt(after))))
    return tried, share, True


def even(problem: Problem, garden: Garden, codes: Floats, weights: Floats, size: int) -> Floats:
    """`size` rows of equal weight like the weighted ones: heavy rows several times, spread."""
    share = np.maximum(weights, 0.0)
    parts = share / share.sum() * size
    count = np.floor(parts).astype(np.int64)
    for m in np.argsort(count - parts, kind="stable")[: size - int(count.sum())]:
        count[m] += 1
    rows = np.repeat(codes, count, axis=0)
    moves = 0.1 * garden.rng.standard_normal((len(rows), len(problem.space.free)))
    again = np.repeat(count, count) > 1
    return problem.space.shifted(rows, np.where(again[:, None], moves, 0.0))


def _value(problem: Problem, codes: Floats, weights: Floats) -> float:
    rest = problem.fast.residual(problem.space.embed(codes), weights, problem.target)
    return float(rest @ rest)
