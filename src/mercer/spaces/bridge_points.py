"""`bridges.bridge` for a single point, in plain floats without arrays. M7."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

from mercer.spaces.bridges import DETERMINED, turned
from mercer.spaces.kernels import MaternKernel

__all__ = ["bridge_point"]

Matrix: TypeAlias = list[list[float]]


def bridge_point(
    kernel: MaternKernel,
    before: float,
    after: float,
    left: Sequence[float],
    right: Sequence[float],
    z: Sequence[float],
) -> tuple[list[float], float]:
    """The state between two known ones, and the variance of its value."""
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
        return _forward(kernel.states, rate, before, after, left, right, z)
    turn = _turn(kernel)
    start, end = _times(turn, right), _times(turn, left)
    state, variance = _forward(kernel.states, rate, after, before, start, end, z)
    return _times(turn, state), variance


def _forward(
    p: int,
    rate: float,
    near: float,
    far: float,
    start: Sequence[float],
    end: Sequence[float],
    z: Sequence[float],
) -> tuple[list[float], float]:
    """As in `bridges`, with the same scales."""
    total, orders = near + far, range(p)
    small = [near ** (p - 0.5 - i) for i in orders]
    large = [total ** (p - 0.5 - i) for i in orders]
    step, whole = _innovation(p, rate, near), _innovation(p, rate, total)
    beyond = _transition(p, rate, far)
    onward = [[beyond[i][j] * small[j] / large[i] for j in orders] for i in orders]
    cross = [[sum(onward[i][k] * step[k][j] for k in orders) for j in orders] for i in orders]
    root = _cholesky(whole)
    half = [_solve(root, [cross[i][j] for i in orders]) for j in orders]  # columns of L^-1 cross
    spread = [[step[i][j] - sum(half[i][k] * half[j][k] for k in orders) for j in orders] for i in orders]
    ahead = _times(_transition(p, rate, near), start)
    there = _times(beyond, ahead)
    surprise = _solve(root, [(end[i] - there[i]) / large[i] for i in orders])
    variance = max(spread[0][0], 0.0) * small[0] ** 2
    noise = _cholesky(spread) if variance > DETERMINED else [[0.0] * p] * p
    state = [
        ahead[i]
        + small[i] * sum(half[i][k] * surprise[k] + (noise[i][k] * z[k] if k <= i else 0.0) for k in orders)
        for i in orders
    ]
    return state, variance


def _innovation(p: int, rate: float, gap: float) -> Matrix:
    """The innovation of a gap over powers of the gap.

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
    decay = math.exp(-rate * gap)
    return [
        [decay * gap ** (j - i) / math.factorial(j - i) if j >= i else 0.0 for j in range(p)]
        for i in range(p)
    ]


def _times(matrix: Matrix, vector: Sequence[float]) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def _cholesky(matrix: Matrix) -> Matrix:
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
