"""Gaussian paths with exponential and Matern kernels, in time linear in the points.  M7.

With D the derivative and rate lambda, the state is x_i = (D + lambda)^i f, i < p.  The last one is
an Ornstein-Uhlenbeck process and each other one is driven by the next, so every step is a
cascade of first-order recursions: no matrix of points x points, and no cancellation, since the
innovation covariances are incomplete Gamma integrals.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import gammainc

from mercer.common.checks import Floats
from mercer.spaces.kernels import MaternKernel

__all__ = [
    "derivative_row",
    "innovation",
    "path_from",
    "sample_path",
    "state_of",
    "transition",
    "unwhiten",
    "whiten",
    "whitener",
]

UNIT_ROUNDOFF = 2.0**-53

_SPAN = 300.0  # largest rate * distance summed at once: e^300 is far from overflow
_BLOCK = 1 << 14  # points worked on at once


def transition(kernel: MaternKernel, gap: float | Floats, axis: int = 0) -> Floats:
    """The matrix A(gap) that maps a state to the mean of the state after `gap`: shape (..., p, p)."""
    p, gaps = kernel.states, np.asarray(gap, dtype=float)
    matrix = np.zeros((*gaps.shape, p, p))
    decay = np.exp(-kernel.rate(axis) * gaps)
    for i in range(p):
        for j in range(i, p):
            matrix[..., i, j] = decay * gaps ** (j - i) / math.factorial(j - i)
    return matrix


def innovation(kernel: MaternKernel, gap: float | Floats, axis: int = 0) -> Floats:
    """Covariance of the state after `gap` given the state before; unconditional for gap = inf.

    Entry (i, j) is q int_0^gap s^(a+b)/(a! b!) e^(-2 rate s) ds, a = p-1-i, b = p-1-j.
    """
    p, rate, gaps = kernel.states, kernel.rate(axis), np.asarray(gap, dtype=float)
    power = _diffusion(kernel, axis)
    matrix = np.empty((*gaps.shape, p, p))
    for i in range(p):
        for j in range(p):
            a, b = p - 1 - i, p - 1 - j
            share = gammainc(a + b + 1, 2 * rate * gaps)
            matrix[..., i, j] = power * math.comb(a + b, a) * share / (2 * rate) ** (a + b + 1)
    return matrix


def state_of(kernel: MaternKernel, derivatives: Floats, axis: int = 0) -> Floats:
    """The state of a function from its value and derivatives, both of shape (p, ...)."""
    rate = kernel.rate(axis)
    return np.stack(
        [
            sum(math.comb(i, k) * rate ** (i - k) * derivatives[k] for k in range(i + 1))
            for i in range(kernel.states)
        ]
    )


def derivative_row(kernel: MaternKernel, order: int, axis: int = 0) -> Floats:
    """The row r for which r . state is the derivative of the given order."""
    if order >= kernel.states:
        raise ValueError(
            f"order must be below {kernel.states} for the kernel {kernel.name!r}, got {order}: "
            "its paths have no further derivatives; choose a smoother kernel"
        )
    rate, row = kernel.rate(axis), np.zeros(kernel.states)
    for k in range(order + 1):
        row[k] = math.comb(order, k) * (-rate) ** (order - k)
    return row


def whitener(kernel: MaternKernel, gap: float, axis: int = 0) -> tuple[Floats, float]:
    """Inverse C^-1 of the Cholesky factor of an innovation covariance, and a bound on its rounding.

    The second is a bound on |(computed C^-1 C) - I|: entries of the innovation are known up to 256
    units in the last place (test_markov.py), and with states scaled to innovations of variance one
    the error is that times the norm of the inverse.
    """
    p, matrix = kernel.states, innovation(kernel, gap, axis)
    scale = np.sqrt(np.diag(matrix))
    inverse = np.linalg.inv(np.linalg.cholesky(matrix / np.outer(scale, scale)))
    off = UNIT_ROUNDOFF * (256 + 16 * p**2) * p * float(np.sum(inverse**2))
    return inverse / scale, off


def whiten(kernel: MaternKernel, states: Floats, gap: float, axis: int = 0) -> Floats:
    """Coordinates of states (points, p, ...) at equal gaps: independent under the kernel's law."""
    first, later = whitener(kernel, math.inf, axis)[0], whitener(kernel, gap, axis)[0]
    step = transition(kernel, gap, axis)
    out = np.empty_like(states)
    out[:1] = np.einsum("ij,nj...->ni...", first, states[:1])
    change = states[1:] - np.einsum("ij,nj...->ni...", step, states[:-1])
    out[1:] = np.einsum("ij,nj...->ni...", later, change)
    return out


def unwhiten(kernel: MaternKernel, coordinates: Floats, gap: float, axis: int = 0) -> Floats:
    """States from coordinates: the inverse of `whiten`, and a path if these are normal."""
    first = np.linalg.cholesky(innovation(kernel, math.inf, axis))
    later = np.linalg.cholesky(innovation(kernel, gap, axis))
    from scipy.signal import lfilter  # slow to load, and only this route needs it

    driving = np.empty_like(coordinates)
    driving[:1] = np.einsum("ij,nj...->ni...", first, coordinates[:1])
    driving[1:] = np.einsum("ij,nj...->ni...", later, coordinates[1:])
    step, p = transition(kernel, gap, axis), kernel.states
    decay = step[0, 0]
    out = np.empty_like(coordinates)
    for i in range(p - 1, -1, -1):
        force = driving[:, i].copy()
        for j in range(i + 1, p):
            force[1:] += step[i, j] * out[:-1, j]
        out[:, i] = lfilter([1.0], [1.0, -decay], force, axis=0)
    return out


def sample_path(kernel: MaternKernel, points: Floats, *, rng: np.random.Generator, axis: int = 0) -> Floats:
    """A Gaussian path with this kernel at increasing points, equally spaced or not."""
    gaps = np.diff(points)
    if gaps.size and float(gaps.min()) <= 0:
        raise ValueError("points must be increasing; sort them and drop repeats first")
    return path_from(kernel, gaps, lambda n: rng.standard_normal((kernel.states, n)), axis)


def path_from(kernel: MaternKernel, gaps: Floats, normals: Callable[[int], Floats], axis: int = 0) -> Floats:
    """The path from standard normals: `normals(n)` gives those of the next n points, shape (p, n).

    It is computed in blocks that stay in the processor's cache.  Within a block a state is a cumulative
    sum scaled by e^(rate time), whose terms grow, so that nothing is lost.
    """
    p, rate = kernel.states, kernel.rate(axis)
    state = np.linalg.cholesky(innovation(kernel, math.inf, axis)) @ normals(1)[:, 0]
    out = np.empty(gaps.size + 1)
    out[0] = state[0]
    even = gaps.size > 0 and float(gaps.max() - gaps.min()) <= 1e-9 * float(gaps.mean())
    step = _Steps(kernel, gaps[:1] if even else gaps[:0], axis)
    begin, time, growth, shrink = 0, gaps[:0], gaps[:0], gaps[:0]
    while begin < gaps.size:
        block = gaps[begin : begin + _BLOCK]
        if not even or begin == 0:
            time = np.cumsum(rate * block)
        n = min(block.size, max(1, int(np.searchsorted(time, _SPAN))))
        if not even:
            step = _Steps(kernel, block[:n], axis)
        z, states = normals(n), np.empty((p, n + 1))
        states[:, 0] = state
        if not even or begin == 0 or growth.size != n:
            growth = np.exp(np.minimum(time[:n], _SPAN))
            shrink = 1 / growth
        for i in range(p - 1, -1, -1):
            force = step.factor[i][0] * z[0]
            for k in range(1, i + 1):
                force += step.factor[i][k] * z[k]
            for j in range(i + 1, p):
                force += step.drift[j - i] * states[j, :-1]
            if n == 1:  # one gap may be longer than a block can hold
                states[i, 1:] = step.drift[0] * state[i] + force
                continue
            force *= growth
            force[0] += state[i]
            np.cumsum(force, out=force)
            np.multiply(force, shrink, out=states[i, 1:])
        state = states[:, -1].copy()
        out[begin + 1 : begin + 1 + n] = states[0, 1:]
        begin += n
    return out


class _Steps:
    """Transitions and innovation factors of steps, for many gaps at once (or one for all)."""

    def __init__(self, kernel: MaternKernel, gaps: Floats, axis: int) -> None:
        p, rate = kernel.states, kernel.rate(axis)
        decay = np.exp(-rate * gaps)
        self.drift = [decay * gaps**k / math.factorial(k) for k in range(p)]
        self.factor = _cholesky(kernel, gaps, axis)


def _cholesky(kernel: MaternKernel, gaps: Floats, axis: int) -> list[list[Floats]]:
    """Lower Cholesky factors of the innovations at all gaps at once."""
    p, rate, power = kernel.states, kernel.rate(axis), _diffusion(kernel, axis)
    integral = [
        power * math.factorial(k) / (2 * rate) ** (k + 1) * share
        for k, share in enumerate(_gamma_shares(2 * p - 1, 2 * rate * gaps))
    ]
    factor: list[list[Floats]] = []
    for i in range(p):
        row: list[Floats] = []
        for j in range(i + 1):
            a, b = p - 1 - i, p - 1 - j
            entry = integral[a + b] / (math.factorial(a) * math.factorial(b))
            for k in range(j):
                entry -= row[k] * factor[j][k] if j < i else row[k] ** 2
            row.append(entry / factor[j][j] if j < i else np.sqrt(entry))
        factor.append(row)
    return factor


def _gamma_shares(count: int, x: Floats) -> list[Floats]:
    """Regularised lower incomplete Gamma P(1, x), ..., P(count, x).

    The last from its series (or as 1 - Q where that cannot cancel), the others by
    P(k, x) = P(k + 1, x) + x^k e^-x / k!: all terms are positive.
    """
    if count == 1:
        return [-np.expm1(-x)]
    weights = [np.exp(-x)]  # x^k e^-x / k!
    for k in range(1, count + 1):
        weights.append(weights[-1] * x / k)
    small, series = np.minimum(x, 1.0), np.ones_like(x)
    for i in range(16, 0, -1):
        series = 1 + series * small / (count + i)
    last = np.where(x < 1.0, weights[count] * series, 1 - sum(weights[1:count], weights[0]))
    shares = [last]
    for k in range(count - 1, 0, -1):
        shares.append(shares[-1] + weights[k])
    return shares[::-1]


def _diffusion(kernel: MaternKernel, axis: int) -> float:
    """The diffusion constant q for which the value has variance one."""
    p, rate = kernel.states, kernel.rate(axis)
    return (2 * rate) ** (2 * p - 1) / math.comb(2 * p - 2, p - 1)
