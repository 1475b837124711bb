"""A weighted set of few points whose mean feature is near a noisy one.  M10.

Balog, Tolstikhin and Schoelkopf 2018, Algorithm 2, line 6: minimise |sum w_m phi(z_m) - c| over
points z and weights w, equation (5).  c carries its noise already and phi is public, so this is
post-processing: any search, any number of restarts, at no cost.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.common import streams
from mercer.common.checks import Floats, check_choice, check_count, check_positive
from mercer.releases.synthetic.reduced.descent import Problem, Reduced, Space, descend, refit
from mercer.releases.synthetic.reduced.growth import (
    Garden,
    NeighbourRows,
    even,
    exchange,
    grow,
    prune,
    renew,
    settle,
)
from mercer.releases.synthetic.reduced.rules import Free, Rule, Simplex, Uniform, rule_named
from mercer.releases.synthetic.reduced.waves import NumpyWaves, WaveEngine, torch_waves
from mercer.releases.synthetic.weights import STYLES

__all__ = ["DEVICES", "MOST_POINTS", "Reduced", "Space", "distance", "reduce"]

DEVICES = ("numpy", "torch", "cuda")
MOST_POINTS = 5_000
_STREAM = 41  # of public randomness
_POOL = (2_000, 10_000)  # rows of a pool, fewer for many features
_POOL_CELLS = 5 * 10**7
_CORE = 32  # points by which restarts are compared
_RENEWALS = 3
_POLISH = 25  # iterations in double precision at a time


def reduce(
    target: Floats,
    frequencies: Floats,
    space: Space,
    *,
    size: int,
    weights: str = "l1",
    bound: float = 1.0,
    noise: float = 0.0,
    restarts: int = 2,
    iterations: int = 200,
    progress: Callable[[int], None] | None = None,
    device: str = "numpy",
) -> Reduced:
    """At most `size` points with weights whose mean feature is near `target`.

    Parameters
    ----------
    target
        c: P cosines, then P sines, each with the factor P^-1/2.
    frequencies
        W, one row for each of the P pairs, for coordinates of unit length scale.
    space
        Where points may lie.
    size
        How many points.  Fewer come back where more explain nothing; never for "uniform".
    weights
        "l1": sum |w| <= `bound`, the paper's; "positive": w >= 0 with sum one; "uniform": 1/M;
        "free": any.
    bound
        The largest sum of |w|, for "l1" only.
    noise
        Standard deviation of the noise in each number of c, where it is known: points that
        would only fit noise are not added, and gains below it are not looked for.
    restarts, iterations
        Pools that the search starts from; steps of a descent.
    progress
        Called with 1 after each evaluation.
    device
        "numpy"; "torch" or "cuda": PyTorch on the processor or on a GPU (mercer[torch]).

    Notes
    -----
    Same arguments, same result: public randomness comes from a fixed stream.

    Where no point of the space brings the distance below that of no point at all, noise has left
    nothing of the target.  Then all weights would vanish; `size` public points of the space with
    equal weights are given instead, and the result says so (`level`): the target was paid for.

    """
    c, w = _checked(target, frequencies)
    size = check_count("size", size, least=1, most=MOST_POINTS, hint="points to find")
    check_count("restarts", restarts, least=1, most=100, hint="2 is usual")
    check_count("iterations", iterations, least=1, most=10**6, hint="200 is usual")
    check_choice("weights", weights, STYLES)
    check_choice("device", device, DEVICES)
    bound = check_positive("bound", bound, "the largest sum of |w|; 1.0 for a distribution")
    if noise != 0:
        noise = check_positive("noise", noise, "sd of each number of target, or 0 if not known")
    rule = rule_named(weights, bound)
    fast, exact = _engines(w, device)
    first: Rule = Simplex() if isinstance(rule, Uniform) else rule
    tick = progress or _silent
    problem = Problem(c, fast, exact, space, first, float(noise), tick)
    pools = _pools(space, w, restarts)
    history: list[tuple[int, float]] = []
    codes, share, garden = _core(problem, pools, size, iterations, history)
    codes, share = grow(problem, garden, codes, share, size, history)
    if not len(codes) or not np.any(share):
        return _level(c, w, space, pools[0], size, history)
    codes, share = prune(*descend(problem, codes, share, iterations))
    history.append((len(codes), problem.distance(codes, share)))
    for _ in range(_RENEWALS):
        codes, share, better = renew(problem, garden, codes, share, size, iterations, history)
        if not better:
            break
    if isinstance(rule, Uniform):
        problem = Problem(c, fast, exact, space, rule, float(noise), tick)
        codes = even(problem, garden, codes, share, size)
        share = rule.project(np.zeros(size))
        codes, share = descend(problem, codes, share, iterations)
    codes, share = exchange(problem, garden.neighbours, codes, share, _POLISH)
    codes, share = _polished(problem, codes, share, iterations)
    codes, share = settle(problem, garden.neighbours, codes, share, iterations)
    if not isinstance(rule, Uniform):
        codes, share = prune(codes, share)
    share = share if isinstance(rule, Free) else rule.project(share)
    if not len(codes) or not np.any(share) or not np.all(np.isfinite(share)):
        return _level(c, w, space, pools[0], size, history)
    final = distance(c, w, space, codes, share)
    history.append((len(codes), final))
    return Reduced(codes, share, final, tuple(history))


def distance(target: Floats, frequencies: Floats, space: Space, codes: Floats, weights: Floats) -> float:
    """|sum w phi(z) - c| of any points and weights, in double precision."""
    c, w = _checked(target, frequencies)
    rest = NumpyWaves(w).residual(space.embed(codes), np.asarray(weights, dtype=np.float64), c)
    return float(np.sqrt(rest @ rest))


def _core(
    problem: Problem, pools: list[Floats], size: int, iterations: int, history: list[tuple[int, float]]
) -> tuple[Floats, Floats, Garden]:
    """The best of several small sets, each grown from a pool of its own."""
    found: list[tuple[Floats, Floats, Garden, list[tuple[int, float]]]] = []
    for number, pool in enumerate(pools):
        rng = streams.simulation(_STREAM + number)
        garden = Garden(pool, NeighbourRows.seen(problem.space, pool), rng)
        log: list[tuple[int, float]] = []
        start = np.zeros((0, pool.shape[1])), np.zeros(0)
        codes, share = grow(problem, garden, *start, min(size, _CORE), log)
        if len(codes):
            codes, share = prune(*descend(problem, codes, share, iterations))
        found.append((codes, share, garden, log))
    codes, share, garden, log = min(found, key=lambda one: problem.distance(one[0], one[1]))
    history.extend(log)
    return codes, share, garden


def _polished(problem: Problem, codes: Floats, share: Floats, iterations: int) -> tuple[Floats, Floats]:
    """The same in double precision, while a round still gains a hundredth."""
    here = problem.distance(codes, share)
    for _ in range(-(-iterations // _POLISH)):
        tried = descend(problem, codes, share, _POLISH, exactly=True)
        tried = tried[0], refit(problem, *tried)
        there = problem.distance(*tried)
        if there < here:
            codes, share = tried
        if not there < 0.995 * here:
            break
        here = there
    return codes, share


def _checked(target: Floats, frequencies: Floats) -> tuple[Floats, Floats]:
    c, w = np.asarray(target, dtype=np.float64), np.asarray(frequencies, dtype=np.float64)
    if w.ndim != 2 or not w.size or not np.all(np.isfinite(w)):
        raise ValueError(
            f"frequencies must be a matrix of finite numbers, one row a pair; got shape {w.shape}"
        )
    if c.shape != (2 * len(w),):
        raise ValueError(
            f"target must be a vector of {2 * len(w)} numbers, the cosines and then the sines "
            f"of {len(w)} frequencies; got shape {c.shape}"
        )
    if not np.all(np.isfinite(c)):
        raise ValueError(
            "target must be finite, got a number that is not; give the noisy mean feature of a "
            "release, never of raw rows with holes"
        )
    return c, w


def _level(
    target: Floats,
    frequencies: Floats,
    space: Space,
    pool: Floats,
    size: int,
    history: list[tuple[int, float]],
) -> Reduced:
    """Public points with equal weights: allowed by every rule."""
    codes, share = pool[np.arange(size) % len(pool)], np.full(size, 1 / size)
    final = distance(target, frequencies, space, codes, share)
    return Reduced(codes, share, final, (*history, (size, final)), level=True)


def _pools(space: Space, frequencies: Floats, restarts: int) -> list[Floats]:
    """Public rows, shared out between the restarts."""
    count = int(np.clip(_POOL_CELLS // len(frequencies), *_POOL))
    rows = space.snap(space.within(np.asarray(space.draw(count * restarts), dtype=np.float64)))
    if rows.ndim != 2 or not len(rows) or not np.all(np.isfinite(rows)):
        raise ValueError(f"draw must give a matrix of finite codes, one row each; got shape {rows.shape}")
    shape = space.embed(rows[:1]).shape
    if shape != (1, frequencies.shape[1]):
        raise ValueError(
            f"embed must give {frequencies.shape[1]} coordinates a row, as many as frequencies "
            f"have columns; got shape {shape} for one row"
        )
    return [rows[k::restarts] for k in range(min(restarts, len(rows)))]


def _engines(frequencies: Floats, device: str) -> tuple[WaveEngine, WaveEngine]:
    """One for the search, one for what is reported."""
    if device == "numpy":
        return NumpyWaves(frequencies, single=True), NumpyWaves(frequencies)
    return torch_waves(frequencies, device)


def _silent(count: int) -> None:
    pass
