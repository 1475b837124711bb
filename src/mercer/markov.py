"""Paths of the exponential and Matern kernels in time linear in the points.  Layer 1 (M7).

With D the derivative and rate lambda, the state is x_i = (D + lambda)^i f, i < p.  The last is
an Ornstein-Uhlenbeck process and each other one is driven by the next, so every step is a
cascade of first-order recursions: no matrix of points x points, and no cancellation, since the
innovation covariances are incomplete Gamma integrals.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.signal import lfilter
from scipy.special import gammainc

from mercer.checks import Floats
from mercer.kernels import MaternKernel

__all__ = ["derivative_row", "innovation", "sample_path", "state_of", "transition", "unwhiten",
           "whiten"]  # fmt: skip

_SPAN = 300.0  # largest rate * distance summed at once: e^300 is far from overflow


def transition(kernel: MaternKernel, gap: float | Floats, axis: int = 0) -> Floats:
    """A(gap): the mean of the state after `gap`, given the state before; shape (..., p, p)."""
    p, gaps = kernel.states, np.asarray(gap, dtype=float)
    matrix = np.zeros((*gaps.shape, p, p))
    decay = np.exp(-kernel.rate(axis) * gaps)
    for i in range(p):
        for j in range(i, p):
            matrix[..., i, j] = decay * gaps ** (j - i) / math.factorial(j - i)
    return matrix


def innovation(kernel: MaternKernel, gap: float | Floats, axis: int = 0) -> Floats:
    """Covariance of the state after `gap` given the state before; gap = inf: of the state.

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
    """States (p, ...) of a function from its value and derivatives (p, ...)."""
    rate = kernel.rate(axis)
    return np.stack(
        [
            sum(math.comb(i, k) * rate ** (i - k) * derivatives[k] for k in range(i + 1))
            for i in range(kernel.states)
        ]
    )


def derivative_row(kernel: MaternKernel, order: int, axis: int = 0) -> Floats:
    """Row r with r . state = the derivative of the given order."""
    if order >= kernel.states:
        raise ValueError(
            f"order must be below {kernel.states} for the kernel {kernel.name!r}, got {order}: "
            "its paths have no further derivatives; choose a smoother kernel"
        )
    rate, row = kernel.rate(axis), np.zeros(kernel.states)
    for k in range(order + 1):
        row[k] = math.comb(order, k) * (-rate) ** (order - k)
    return row


def whiten(kernel: MaternKernel, states: Floats, gap: float, axis: int = 0) -> Floats:
    """Coordinates of states (points, p, ...) at equal gaps: independent under the kernel's law."""
    first = np.linalg.inv(np.linalg.cholesky(innovation(kernel, math.inf, axis)))
    later = np.linalg.inv(np.linalg.cholesky(innovation(kernel, gap, axis)))
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


def sample_path(
    kernel: MaternKernel, points: Floats, *, rng: np.random.Generator, axis: int = 0
) -> Floats:
    """A Gaussian path with this kernel at increasing points, equally spaced or not."""
    gaps = np.diff(points)
    if np.any(gaps <= 0):
        raise ValueError("points must be increasing; sort them and drop repeats first")
    normals = rng.standard_normal((points.size, kernel.states))
    if gaps.size and np.ptp(gaps) <= 1e-9 * gaps.mean():
        return unwhiten(kernel, normals, float(gaps.mean()), axis)[:, 0]
    return _irregular(kernel, gaps, normals, axis)


def _irregular(kernel: MaternKernel, gaps: Floats, normals: Floats, axis: int) -> Floats:
    p, rate = kernel.states, kernel.rate(axis)
    factor = _cholesky(kernel, gaps, axis)
    start = np.linalg.cholesky(innovation(kernel, math.inf, axis)) @ normals[0]
    decay = np.exp(-rate * gaps)
    time = np.concatenate([[0.0], np.cumsum(rate * gaps)])
    states: list[Floats] = [np.empty(0)] * p
    for i in range(p - 1, -1, -1):
        force = np.empty(gaps.size + 1)
        force[0] = start[i]
        force[1:] = factor[i][0] * normals[1:, 0]
        for k in range(1, i + 1):
            force[1:] += factor[i][k] * normals[1:, k]
        for j in range(i + 1, p):
            force[1:] += decay * gaps ** (j - i) / math.factorial(j - i) * states[j][:-1]
        states[i] = _recursion(time, force)
    return states[0]


def _recursion(time: Floats, force: Floats) -> Floats:
    """y_k = exp(-(time_k - time_(k-1))) y_(k-1) + force_k, as scaled cumulative sums."""
    out = np.empty_like(force)
    begin, carry = 0, 0.0
    while begin < time.size:
        origin = time[begin]
        end = max(begin + 1, int(np.searchsorted(time, origin + _SPAN)))
        growth = np.exp(time[begin:end] - origin)
        block = force[begin:end] * growth
        block[0] += carry
        out[begin:end] = np.cumsum(block) / growth
        if end < time.size:
            carry = out[end - 1] * math.exp(-(time[end] - time[end - 1]))
        begin = end
    return out


def _cholesky(kernel: MaternKernel, gaps: Floats, axis: int) -> list[list[Floats]]:
    """Lower Cholesky factors of the innovations at all gaps at once."""
    p, rate, power = kernel.states, kernel.rate(axis), _diffusion(kernel, axis)
    integral = [
        power * math.factorial(k) / (2 * rate) ** (k + 1) * _gamma_share(k + 1, 2 * rate * gaps)
        for k in range(2 * p - 1)
    ]
    factor: list[list[Floats]] = []
    for i in range(p):
        row: list[Floats] = []
        for j in range(i + 1):
            a, b = p - 1 - i, p - 1 - j
            entry = integral[a + b] / (math.factorial(a) * math.factorial(b))
            for k in range(j):
                entry = entry - row[k] * factor[j][k] if j < i else entry - row[k] ** 2
            row.append(entry / factor[j][j] if j < i else np.sqrt(entry))
        factor.append(row)
    return factor


def _gamma_share(k: int, x: Floats) -> Floats:
    """Regularised lower incomplete Gamma P(k, x): a series where 1 - Q would cancel."""
    tail = sum((x**i / math.factorial(i) for i in range(k)), np.zeros_like(x))
    large = -np.expm1(-x) if k == 1 else 1 - np.exp(-x) * tail
    if k == 1:
        return large
    small = np.minimum(x, 1.0)
    series = np.zeros_like(x)
    for i in range(17, -1, -1):
        series = 1 + series * small / (k + 1 + i)
    series *= np.exp(-small) * small**k / math.factorial(k)
    return np.where(x < 1.0, series, large)


def _diffusion(kernel: MaternKernel, axis: int) -> float:
    """Q for which the value has variance one."""
    p, rate = kernel.states, kernel.rate(axis)
    return (2 * rate) ** (2 * p - 1) / math.comb(2 * p - 2, p - 1)
