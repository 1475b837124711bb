"""Points and weights that descend together, in the space where they may lie.  M10.

A point is a row of codes, one number a column: a measurement, a level, a category.  A `Space`
knows how codes become coordinates of unit length scale, and which of them may move.  The Hessian of
the squared distance is near 1 in a weight and near w^2 in a point of weight w: so a point moves in
units of its weight, which makes the problem round enough for L-BFGS.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import Bounds, minimize

from mercer.common.checks import Bools, Floats
from mercer.releases.synthetic.reduced.rules import Quadratic, Rule
from mercer.releases.synthetic.reduced.waves import WaveEngine

__all__ = ["Problem", "Reduced", "Space", "ascend", "descend", "refit"]

_MEMORY = 20  # pairs of steps that L-BFGS remembers


@dataclass(frozen=True, eq=False)
class Space:
    """Rows of codes, described by public functions of them.

    A free column k embeds affinely: coordinate `place[k]` is (code - lower[k]) * slope[k].
    The other columns only ever take values that `draw` gave.
    """

    embed: Callable[[Floats], Floats]  # codes (n, C) to coordinates (n, D)
    draw: Callable[[int], Floats]  # n space-filling public rows; the same at every call
    snap: Callable[[Floats], Floats]  # to the nearest valid codes
    free: tuple[int, ...] = ()  # columns whose codes may move continuously
    lower: tuple[float, ...] = ()
    upper: tuple[float, ...] = ()
    slope: tuple[float, ...] = ()
    place: tuple[int, ...] = ()
    step: tuple[float, ...] = field(default=())  # between levels; 0 or left out: none

    def __post_init__(self) -> None:
        count = len(self.free)
        for name in ("lower", "upper", "slope", "place"):
            if len(getattr(self, name)) != count:
                raise ValueError(
                    f"{name} must have one entry for each of the {count} free columns, got "
                    f"{len(getattr(self, name))}; give free, lower, upper, slope and place alike"
                )
        if len(self.step) not in (0, count):
            raise ValueError(
                f"step must be empty or have one entry for each of the {count} free columns, got "
                f"{len(self.step)}; write 0 for a column without levels"
            )
        if len(set(self.free)) < count or len(set(self.place)) < count:
            raise ValueError(
                f"free and place must not repeat a column, got {self.free!r} and {self.place!r}; "
                "each free column has a coordinate of its own"
            )
        for k in range(count):
            low, high, slope = self.lower[k], self.upper[k], self.slope[k]
            if not (math.isfinite(low) and math.isfinite(high) and low <= high):
                raise ValueError(
                    f"lower and upper of free column {self.free[k]} must be finite and in order, "
                    f"got {low!r} and {high!r}"
                )
            if not (math.isfinite(slope) and slope > 0):
                raise ValueError(
                    f"slope of free column {self.free[k]} must be a finite number above 0, got "
                    f"{slope!r}; leave a column that does not move out of free"
                )

    def within(self, codes: Floats) -> Floats:
        """Free codes cut to their bounds."""
        out = codes.copy()
        for k, column in enumerate(self.free):
            out[:, column] = np.clip(out[:, column], self.lower[k], self.upper[k])
        return out

    def shifted(self, codes: Floats, moves: Floats) -> Floats:
        """Codes whose free coordinates moved, one column of moves each."""
        out = codes.copy()
        for k, column in enumerate(self.free):
            out[:, column] += moves[:, k] / self.slope[k]
        return self.within(out)

    def levels(self, k: int) -> float:
        """The distance of levels of the k-th free column, 0 for none."""
        return self.step[k] if self.step else 0.0


@dataclass(frozen=True, eq=False)
class Reduced:
    """Points and weights whose mean feature is near a target."""

    codes: Floats  # at most as many rows as were asked for; none has weight 0
    weights: Floats
    distance: float  # |sum w phi(z) - c| at these very numbers
    history: tuple[tuple[int, float], ...]  # points and distance after each stage
    level: bool = False  # equal weights of public points: nothing of the target was left


@dataclass(frozen=True, eq=False)
class Problem:
    """What is minimised, where, and by which weights."""

    target: Floats
    fast: WaveEngine  # for the search
    exact: WaveEngine  # for what is reported
    space: Space
    rule: Rule
    noise: float  # standard deviation of each number of the target, 0 if not known
    tick: Callable[[int], None]

    def distance(self, codes: Floats, weights: Floats) -> float:
        rest = self.exact.residual(self.space.embed(codes), weights, self.target)
        return float(np.sqrt(rest @ rest))

    @property
    def places(self) -> Sequence[int]:
        return list(self.space.place)


def descend(
    problem: Problem,
    codes: Floats,
    weights: Floats,
    iterations: int,
    *,
    exactly: bool = False,
    held: Bools | None = None,
) -> tuple[Floats, Floats]:
    """Points and weights of a smaller distance, by L-BFGS-B from those given.

    `held` marks free columns that stay where they are.
    """
    waves = problem.exact if exactly else problem.fast
    points, places = problem.space.embed(codes), problem.places
    chart = problem.rule.chart(weights)
    size = np.abs(weights)
    unit = np.maximum(size, max(0.1 * float(size.mean()), 1e-12))[:, None]
    low, high = _box(problem.space, codes)
    if held is not None:
        low[:, held] = high[:, held] = 0.0
    shape = low.shape
    cut = low.size
    scale = max(waves.value(points, chart.weights(chart.start), problem.target)[0], 1e-300)

    def objective(numbers: Floats) -> tuple[float, Floats]:
        there = points.copy()
        there[:, places] += numbers[:cut].reshape(shape) / unit
        share = chart.weights(numbers[cut:])
        value, by_point, by_weight = waves.value(there, share, problem.target)
        problem.tick(1)
        moved = (by_point[:, places] / unit).ravel()
        pulled = chart.pull(numbers[cut:], by_weight)
        return value / scale, np.concatenate([moved, pulled]) / scale

    first = np.concatenate([np.zeros(cut), chart.start])
    if not len(first):
        return codes, weights
    lower = np.concatenate([(low * unit).ravel(), np.full(len(chart.start), chart.least)])
    upper = np.concatenate([(high * unit).ravel(), np.full(len(chart.start), np.inf)])
    # a number of the fit earns noise^2 by chance: gains far below that are not looked for
    least = max(1e-15 if exactly else 1e-9, 0.01 * problem.noise**2 / scale)
    found = minimize(
        objective,
        first,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(lower, upper),
        options={
            "maxiter": iterations,
            "maxfun": 2 * iterations,
            "maxcor": _MEMORY,
            "ftol": least,
            "gtol": 1e-14,
        },
    )
    moves = found.x[:cut].reshape(shape) / unit
    return problem.space.shifted(codes, moves), chart.weights(found.x[cut:])


def ascend(problem: Problem, codes: Floats, vector: Floats, iterations: int) -> Floats:
    """Points moved uphill on |phi(u)'vector|, each from where it is."""
    if not problem.space.free or not len(codes):
        return codes
    points, places = problem.space.embed(codes), problem.places
    low, high = _box(problem.space, codes)
    signs = np.sign(problem.fast.scores(points, vector))
    if not problem.rule.signed:
        signs = np.ones(len(codes))
    scale = float(np.sqrt(vector @ vector)) or 1.0

    def objective(numbers: Floats) -> tuple[float, Floats]:
        there = points.copy()
        there[:, places] += numbers.reshape(low.shape)
        heights, slopes = problem.fast.slopes(there, vector)
        problem.tick(1)
        return (-float(signs @ heights) / scale, -(signs[:, None] * slopes[:, places]).ravel() / scale)

    found = minimize(
        objective,
        np.zeros(low.size),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(low.ravel(), high.ravel()),
        options={"maxiter": iterations, "maxfun": 2 * iterations, "maxcor": _MEMORY},
    )
    return problem.space.shifted(codes, found.x.reshape(low.shape))


def refit(problem: Problem, codes: Floats, weights: Floats) -> Floats:
    """The best weights of these points, if they beat those given."""
    points = problem.space.embed(codes)
    cross = problem.exact.scores(points, problem.target)
    square = float(problem.target @ problem.target)
    better = problem.rule.refit(Quadratic(problem.exact.gram(points), cross, square), weights)
    if problem.distance(codes, better) <= problem.distance(codes, weights):
        return better
    return weights


def _box(space: Space, codes: Floats) -> tuple[Floats, Floats]:
    """How far each free coordinate may move down and up."""
    low, high = np.empty((2, len(codes), len(space.free)))
    for k, column in enumerate(space.free):
        low[:, k] = np.minimum((space.lower[k] - codes[:, column]) * space.slope[k], 0.0)
        high[:, k] = np.maximum((space.upper[k] - codes[:, column]) * space.slope[k], 0.0)
    return low, high
