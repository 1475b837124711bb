"""New points of a Markov path between known ones: M7's bridge, for many gaps at once.

Given the states at both ends of a gap, the state between them is normal with a known mean and
covariance, and nothing beyond the gap matters.  Points of one gap are drawn middle first, then
the middles of the halves, so that a batch of k points takes log k steps, each for all gaps at
once; the law does not depend on the order.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mercer.common.checks import Bools, Floats
from mercer.spaces.kernels import MaternKernel
from mercer.spaces.markov import innovation, state_of, transition

__all__ = ["DETERMINED", "bridge", "fill", "turned"]

DETERMINED = 1e-10  # of the value's variance: what is left of it is below any use (M7)


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
    A point whose value is determined by its neighbours gets the mean and is no knot: it says
    nothing about its surroundings that the neighbours do not say better.
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
    """The exponential kernel, with M7's closed form."""
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
    """The same with near <= far.  Innovations are scaled to unit size by powers of the gaps."""
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
    """Lower factors of many small matrices; a direction lost to rounding gets no noise."""
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
