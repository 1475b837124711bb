"""How far two sensitive intermediates are apart, in the norms of `Sensitivity`.

Where the norm is the gauge of trigonometric moments, what is told is an upper bound: measures that
make up the change are found by a linear program, and what they leave of it is added with the mass
that it needs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.common.checks import Floats

__all__ = ["measure"]

_ROUNDS = 24  # at most; eight are usual
_GAIN = 1e-9  # of a round, as a share: two of less are the last
_APART = 1e-8  # of points, as a share of a wave: nearer ones say the same, and upset the solver


def measure(one: Any, two: Any, norm: str) -> float:
    """The distance between two intermediates, in a norm of `Sensitivity`."""
    change = np.array([float(a - b) for a, b in zip(one.reshape(-1), two.reshape(-1), strict=True)])
    if norm == "l1":
        return float(np.sum(np.abs(change)))
    if norm == "l2":
        return float(np.sqrt(np.sum(change**2)))
    if norm == "score":
        return float(np.max(np.abs(change)))
    if norm in ("cosines", "moments"):
        return _split(change, real=norm == "cosines")
    raise ValueError(f"a change in the norm {norm!r} cannot be measured")


def _split(change: Floats, *, real: bool) -> float:
    """A v for which the change of (c_0, c) is t - t', both of mass at most v: the least but for 1e-7.

    The measures stand on finitely many points.  Each round drops those without mass, and adds the
    extrema of the dual's polynomial, where mass may be worth more, and the centres of mass of two
    neighbours: what stands between two points is found as both.
    """
    if not np.any(change):
        return 0.0
    m = change.size - 1 if real else (change.size - 1) // 2
    turn = np.pi if real else 2 * np.pi
    scale = float(np.max(np.abs(change)))
    grid = np.linspace(0.0, turn, (8 if real else 16) * (m + 1), endpoint=real)
    points, best, idle = grid[::3], np.inf, 0
    for _ in range(_ROUNDS):
        solved = _program(_table(points, m, real=real), change / scale)
        if solved is None:
            break
        found, masses, dual = solved
        idle = 0 if found < best * (1 - _GAIN) else idle + 1
        best = min(best, found)
        if idle == 2:
            break
        held = np.flatnonzero(masses)
        points, masses = points[held], masses[held]
        new = np.concatenate([_centres(points, masses, real=real), _extrema(dual, grid, m, real=real)])
        apart = np.min(np.abs(new[:, None] - points), axis=1) > _APART / (m + 1)
        points = np.unique(np.concatenate([points, new[apart]]))
    return best * scale


def _centres(points: Floats, masses: Floats, *, real: bool) -> Floats:
    """Centres of mass of neighbours with masses of one sign: what moves the waves least.

    Of cosines, which are polynomials in the cosine, it is its mean that stays; on the circle the
    last point is a neighbour of the first.
    """
    following, weights = np.roll(points, -1), np.roll(masses, -1)
    following[-1] += 0.0 if real else 2 * np.pi
    pairs = masses * weights > 0
    pairs[-1] &= not real
    share = weights[pairs] / (masses[pairs] + weights[pairs])
    if real:
        before, after = np.cos(points[pairs]), np.cos(following[pairs])
        return np.arccos(before + share * (after - before))
    return np.mod(points[pairs] + share * (following - points)[pairs], 2 * np.pi)


def _table(points: Floats, m: int, *, real: bool, order: int = 0) -> Floats:
    """The waves at some points, one a row, or their derivatives."""
    j = np.arange(m + 1, dtype=np.float64)[:, None]
    turned = order * np.pi / 2
    rows = j**order * np.cos(j * points + turned)
    if real:
        return rows
    return np.concatenate([rows, (j**order * np.sin(j * points + turned))[1:]])


def _program(table: Floats, wanted: Floats) -> tuple[float, Floats, Floats] | None:
    """An upper bound from measures on these points only, the mass on each point, and the dual."""
    from scipy.optimize import linprog

    count = table.shape[1]
    equal = np.hstack([table, -table, np.zeros((len(table), 1))])
    above = np.zeros((2, 2 * count + 1))
    above[0, :count] = above[1, count:-1] = 1.0
    above[:, -1] = -1.0
    cost = np.zeros(2 * count + 1)
    cost[-1] = 1.0
    exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    tries: list[Any] = [exact, {}]
    for options in tries:
        found: Any = linprog(
            cost, A_ub=above, b_ub=[0, 0], A_eq=equal, b_eq=wanted, method="highs", options=options
        )
        if found.success:
            break
    else:
        return None
    plus, minus = np.maximum(found.x[:count], 0.0), np.maximum(found.x[count:-1], 0.0)
    left = np.abs(wanted - table @ (plus - minus))
    # cos(j.) / pi is a measure that has this wave alone, and 2 / pi above zero: no more than one
    bound = max(float(np.sum(plus)), float(np.sum(minus))) + float(np.sum(left))
    return bound, plus - minus, np.asarray(found.eqlin.marginals, dtype=float)


def _extrema(dual: Floats, grid: Floats, m: int, *, real: bool) -> Floats:
    """Where the dual's polynomial is largest and least, each place apart."""
    values = dual @ _table(grid, m, real=real)
    before, after = np.roll(values, 1), np.roll(values, -1)
    if real:  # even at the ends
        before[0], after[-1] = values[1], values[-2]
    places = grid[((values >= before) & (values >= after)) | ((values <= before) & (values <= after))]
    step = grid[1] - grid[0]
    for _ in range(4):  # Newton's method for a zero of the slope, never further than to the next place
        slope = dual @ _table(places, m, real=real, order=1)
        bend = dual @ _table(places, m, real=real, order=2)
        with np.errstate(divide="ignore", invalid="ignore"):
            move = np.nan_to_num(-slope / bend)
        places = places + np.clip(move, -step, step)
        places = np.clip(places, 0.0, np.pi) if real else np.mod(places, 2 * np.pi)
    return places
