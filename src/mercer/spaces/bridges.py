"""Bridges: new points of a Markov path between known ones, for many gaps at once.  M7.

Given the states at both ends of a gap, a state between them is normal with a known mean and
covariance, independent of everything beyond the gap.  Points of one gap are drawn middle first, then
the middles of the halves, so that a batch of k points takes log k steps, each for all gaps at
once; the law does not depend on the order.  A single point is computed in plain floats, which is
faster than arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from mercer.common.checks import Bools, Floats
from mercer.spaces.kernels import MaternKernel
from mercer.spaces.markov import innovation, state_of, transition

__all__ = ["DETERMINED", "bridge", "bridge_point", "fill", "turned"]

Matrix: TypeAlias = list[list[float]]  # a small one, in plain floats

DETERMINED = 1e-10  # variance of a value below which its neighbours determine it (M7)


def bridge(
    kernel: MaternKernel, before: Floats, after: Floats, left: Floats, right: Floats, z: Floats
) -> tuple[Floats, Floats]:
    """States (points, p) between states `left` and `right`, and the variances of their values.

    `before` and `after` are the distances to both neighbours, `z` standard normals (points, p).
    Where one distance is 0 the state is the neighbour's; where the variance is DETERMINED or
    less, the state is the mean.
    """
    if kernel.states == 1:
        return _bridge_one(kernel, before, after, left, right, z)
    turn = turned(kernel)
    swap = after < before  # from the nearer side nothing cancels
    near, far = np.where(swap, after, before), np.where(swap, before, after)
    start = np.where(swap[:, None], right @ turn.T, left)
    end = np.where(swap[:, None], left @ turn.T, right)
    state, variance = _forward(kernel, near, far, start, end, z)
    return np.where(swap[:, None], state @ turn.T, state), variance


def fill(
    kernel: MaternKernel,
    x: Floats,
    ends: tuple[Floats, Floats],
    states: tuple[Floats, Floats],
    normals: Callable[[int], Floats],
) -> tuple[Floats, Bools]:
    """States at increasing points x, drawn together, and which of them are knots.

    `ends` are the known neighbours to the left and right of each point, `states` the states there.
    A point whose value is determined by its neighbours gets the mean and is no knot: it adds no
    information to what the neighbours give.
    """
    out, knots = np.empty((len(x), kernel.states)), np.empty(len(x), dtype=bool)
    first = np.flatnonzero(np.r_[True, np.diff(ends[0]) > 0, True]) if len(x) else np.zeros(0, int)
    low, high = first[:-1], first[1:]  # each gap's points, as a range
    place = [end[low] for end in ends]
    state = [end[low] for end in states]
    while low.size:
        middle = (low + high) // 2
        at = x[middle]
        value, variance = bridge(
            kernel,
            np.maximum(at - place[0], 0.0),
            np.maximum(place[1] - at, 0.0),
            state[0],
            state[1],
            normals(len(at)),
        )
        knot = variance > DETERMINED
        out[middle], knots[middle] = value, knot
        right_place = np.where(knot, at, place[1])
        right_state = np.where(knot[:, None], value, state[1])
        left_place = np.where(knot, at, place[0])
        left_state = np.where(knot[:, None], value, state[0])
        place = [np.concatenate([place[0], left_place]), np.concatenate([right_place, place[1]])]
        state = [np.concatenate([state[0], left_state]), np.concatenate([right_state, state[1]])]
        low, high = np.concatenate([low, middle + 1]), np.concatenate([middle, high])
        some = low < high
        low, high = low[some], high[some]
        place, state = [part[some] for part in place], [part[some] for part in state]
    return out, knots


def _bridge_one(
    kernel: MaternKernel, before: Floats, after: Floats, left: Floats, right: Floats, z: Floats
) -> tuple[Floats, Floats]:
    """`bridge` for the exponential kernel, by the closed form of M7."""
    rate = kernel.rate(0)
    a, b = np.exp(-rate * before), np.exp(-rate * after)
    away, beyond = -np.expm1(-2 * rate * before), -np.expm1(-2 * rate * after)  # 1 - a^2, 1 - b^2
    whole = np.maximum(-np.expm1(-2 * rate * (before + after)), 1e-300)
    variance = away * beyond / whole
    mean = (a * beyond / whole)[:, None] * left + (b * away / whole)[:, None] * right
    spread = np.sqrt(np.where(variance > DETERMINED, variance, 0.0))
    return mean + spread[:, None] * z, variance


def _forward(
    kernel: MaternKernel, near: Floats, far: Floats, start: Floats, end: Floats, z: Floats
) -> tuple[Floats, Floats]:
    """`bridge` for near <= far.  Innovations are scaled to unit size by powers of the gaps."""
    p = kernel.states
    powers = np.arange(p)[::-1] + 0.5
    gap = np.where(near > 0, near, 1.0)
    small, large = gap[:, None] ** powers, (gap + far)[:, None] ** powers
    step = innovation(kernel, gap) / (small[:, :, None] * small[:, None, :])
    whole = innovation(kernel, gap + far) / (large[:, :, None] * large[:, None, :])
    onward = transition(kernel, far) * small[:, None, :] / large[:, :, None]
    cross = onward @ step  # covariance of the far end with the new state
    weight = np.linalg.solve(whole, cross).mT
    spread = step - weight @ cross
    ahead = transition(kernel, gap) @ start[:, :, None]
    surprise = (end[:, :, None] - transition(kernel, far) @ ahead) / large[:, :, None]
    here = near > 0
    variance = np.maximum(spread[:, 0, 0], 0.0) * small[:, 0] ** 2
    noise = np.where((variance > DETERMINED)[:, None], z, 0.0)
    shift = weight @ surprise + _cholesky(spread) @ noise[:, :, None]
    state = (ahead + small[:, :, None] * shift)[:, :, 0]
    return np.where(here[:, None], state, start), np.where(here, variance, 0.0)


def _cholesky(matrix: Floats) -> Floats:
    """Lower Cholesky factors of many small matrices; a direction lost to rounding gets no noise."""
    p = matrix.shape[-1]
    factor = np.zeros_like(matrix)
    for j in range(p):
        pivot = matrix[:, j, j] - np.sum(factor[:, j, :j] ** 2, axis=1)
        root = np.sqrt(np.maximum(pivot, 0.0))
        factor[:, j, j] = root
        inverse = np.where(root > 0, 1 / np.where(root > 0, root, 1.0), 0.0)
        for i in range(j + 1, p):
            rest = matrix[:, i, j] - np.sum(factor[:, i, :j] * factor[:, j, :j], axis=1)
            factor[:, i, j] = rest * inverse
    return factor


def turned(kernel: MaternKernel) -> Floats:
    """The state of x -> f(-x) from the state of f: derivatives of odd order change sign."""
    p = kernel.states
    states = state_of(kernel, np.eye(p))
    signs = np.array([(-1.0) ** k for k in range(p)])
    turned: Floats = states @ (signs[:, None] * np.linalg.inv(states))
    return turned


def bridge_point(
    kernel: MaternKernel,
    before: float,
    after: float,
    left: Sequence[float],
    right: Sequence[float],
    z: Sequence[float],
) -> tuple[list[float], float]:
    """`bridge` for a single point, in plain floats: the state, and the variance of its value."""
    if before <= 0 or after <= 0:
        return list(left if before <= 0 else right), 0.0
    rate = _rate(kernel)
    if kernel.states == 1:
        fall, rise = math.expm1(-rate * before), math.expm1(-rate * after)
        a, b = 1 + fall, 1 + rise
        away, beyond = -fall * (1 + a), -rise * (1 + b)  # 1 - a^2, 1 - b^2
        whole = away + a * a * beyond  # 1 - a^2 b^2, from positive terms
        variance = away * beyond / whole
        mean = (a * beyond * left[0] + b * away * right[0]) / whole
        return [mean + (math.sqrt(variance) * z[0] if variance > DETERMINED else 0.0)], variance
    if before <= after:
        return _forward_point(kernel.states, rate, before, after, left, right, z)
    turn = _turn(kernel)
    start, end = _times(turn, right), _times(turn, left)
    state, variance = _forward_point(kernel.states, rate, after, before, start, end, z)
    return _times(turn, state), variance


def _forward_point(
    p: int,
    rate: float,
    near: float,
    far: float,
    start: Sequence[float],
    end: Sequence[float],
    z: Sequence[float],
) -> tuple[list[float], float]:
    """`_forward` for a single point, with the same scales."""
    total, orders = near + far, range(p)
    small = [near ** (p - 0.5 - i) for i in orders]
    large = [total ** (p - 0.5 - i) for i in orders]
    step, whole = _innovation(p, rate, near), _innovation(p, rate, total)
    beyond = _transition(p, rate, far)
    onward = [[beyond[i][j] * small[j] / large[i] for j in orders] for i in orders]
    cross = [[sum(onward[i][k] * step[k][j] for k in orders) for j in orders] for i in orders]
    root = _cholesky_point(whole)
    half = [_solve(root, [cross[i][j] for i in orders]) for j in orders]  # columns of L^-1 cross
    spread = [[step[i][j] - sum(half[i][k] * half[j][k] for k in orders) for j in orders] for i in orders]
    ahead = _times(_transition(p, rate, near), start)
    there = _times(beyond, ahead)
    surprise = _solve(root, [(end[i] - there[i]) / large[i] for i in orders])
    variance = max(spread[0][0], 0.0) * small[0] ** 2
    noise = _cholesky_point(spread) if variance > DETERMINED else [[0.0] * p] * p
    state = [
        ahead[i]
        + small[i] * sum(half[i][k] * surprise[k] + (noise[i][k] * z[k] if k <= i else 0.0) for k in orders)
        for i in orders
    ]
    return state, variance


def _innovation(p: int, rate: float, gap: float) -> Matrix:
    """The innovation covariance of a gap, divided by powers of the gap.

    With y = 2 rate gap, entries are binomials times P(k, y) / y^k, P the incomplete Gamma
    function: the last from its series (or as 1 - Q where that cannot cancel), the others by a
    recursion of positive terms.
    """
    y = 2 * rate * gap
    most, decay = 2 * p - 1, math.exp(-y)
    if y < 1.0:
        series = 1.0
        for i in range(16, 0, -1):
            series = 1 + series * y / (most + i)
        share = decay * series / math.factorial(most)
    else:
        share = (1 - decay * sum(y**i / math.factorial(i) for i in range(most))) / y**most
    shares = {most: share}
    for k in range(most - 1, 0, -1):
        shares[k] = y * shares[k + 1] + decay / math.factorial(k)
    power = (2 * rate) ** most / math.comb(2 * p - 2, p - 1)
    return [
        [power * math.comb(2 * p - 2 - i - j, p - 1 - i) * shares[2 * p - 1 - i - j] for j in range(p)]
        for i in range(p)
    ]


def _transition(p: int, rate: float, gap: float) -> Matrix:
    """`markov.transition` for one gap, in plain floats."""
    decay = math.exp(-rate * gap)
    return [
        [decay * gap ** (j - i) / math.factorial(j - i) if j >= i else 0.0 for j in range(p)]
        for i in range(p)
    ]


def _times(matrix: Matrix, vector: Sequence[float]) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def _cholesky_point(matrix: Matrix) -> Matrix:
    """`_cholesky` of one matrix, in plain floats."""
    p = len(matrix)
    factor = [[0.0] * p for _ in range(p)]
    for j in range(p):
        pivot = matrix[j][j] - sum(v * v for v in factor[j][:j])
        if pivot <= 0:
            continue  # lost to rounding: no noise
        factor[j][j] = root = math.sqrt(pivot)
        for i in range(j + 1, p):
            rest = matrix[i][j] - sum(factor[i][k] * factor[j][k] for k in range(j))
            factor[i][j] = rest / root
    return factor


def _solve(factor: Matrix, right: list[float]) -> list[float]:
    out: list[float] = []
    for row, value in zip(factor, right, strict=True):
        rest = value - sum(a * b for a, b in zip(row, out, strict=False))
        out.append(rest / row[len(out)])
    return out


@lru_cache(maxsize=16)
def _rate(kernel: MaternKernel) -> float:
    return kernel.rate(0)


@lru_cache(maxsize=16)
def _turn(kernel: MaternKernel) -> Matrix:
    rows: Matrix = turned(kernel).tolist()
    return rows
