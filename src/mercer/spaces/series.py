"""Trigonometric series in one to three variables.

Values are built from single additions and multiplications of doubles alone, in a fixed
order, so that a series gives the same bits on every machine: the sines and cosines of the
C library, and sums whose order a processor chooses, do not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mercer.common.checks import Floats

__all__ = ["Harmonics", "TrigSeries", "cos_sin_pi", "exp"]

_COS = [(-1) ** k * math.pi ** (2 * k) / math.factorial(2 * k) for k in range(10)]
_SIN = [(-1) ** k * math.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(10)]
_PAIRS = np.array([_COS[-2::-1], _SIN[-2::-1]]).T
_EXP = [1 / math.factorial(k) for k in range(15)]
_LN2_HIGH = 5954088943 / 2**33  # 33 bits of ln 2, so that its multiples below 2^20 are exact
_LN2_LOW = 7.440617110012397e-11
_STRIDE = 8
_BLOCK = 1 << 22  # numbers held at once while scattered points are evaluated


@dataclass(frozen=True)
class Harmonics:
    """Frequencies 0..order of one variable, as cos(rate pi j u) and, if `sines`, sin as well."""

    order: int
    rate: float
    sines: bool

    @property
    def size(self) -> int:
        """Number of functions: cosines 0..order, then sines 1..order."""
        return 2 * self.order + 1 if self.sines else self.order + 1

    def table(self, u: Floats) -> Floats:
        """Values of all functions at the points u: shape (size, points)."""
        cos, sin = cos_sin_pi(self.rate * u)
        out = np.empty((self.size, u.size))
        out[0] = 1.0
        before_c, before_s = np.ones_like(u), np.zeros_like(u)
        now_c, now_s = cos, sin
        for j in range(1, self.order + 1):
            out[j] = now_c
            if self.sines:
                out[self.order + j] = now_s
            before_c, now_c = now_c, 2 * cos * now_c - before_c
            before_s, now_s = now_s, 2 * cos * now_s - before_s
        return out


@dataclass(frozen=True)
class TrigSeries:
    """sum_k a_k prod_i t_(k_i)(u_i), t running over each axis' cosines and sines."""

    axes: tuple[Harmonics, ...]
    coefficients: Floats  # shape: the sizes of the axes

    def __call__(self, u: Floats) -> Floats:
        """Values of the series at the rows of u."""
        step = max(1, _BLOCK // math.prod(axis.size for axis in self.axes[:-1]))
        parts = [self._block(u[i : i + step]) for i in range(0, len(u), step)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def grid(self, ticks: Sequence[Floats]) -> Floats:
        """Values on a tensor grid, one array of ticks for each variable."""
        if len(ticks) == 1:
            return self(ticks[0][:, None])
        value = self.coefficients
        for axis, tick in zip(self.axes, ticks, strict=True):
            table = axis.table(tick)
            lead = np.moveaxis(value, 0, -1)[..., None]  # (..., size, 1)
            total = np.zeros((*lead.shape[:-2], tick.size))
            for j in range(axis.size):
                total = total + lead[..., j, :] * table[j]
            value = total
        return value

    def derivative(self, orders: Sequence[int]) -> TrigSeries:
        """The series of the partial derivative of the given order in each variable."""
        series = self
        for position, order in enumerate(orders):
            for _ in range(order):
                series = series._slope(position)
        return series

    def trimmed(self) -> TrigSeries:
        """The series without its highest frequencies, whose coefficients are negligible in a double."""
        series, seen = self, np.abs(self.coefficients) > 1e-17 * np.max(np.abs(self.coefficients))
        for position, axis in enumerate(self.axes):
            others = tuple(i for i in range(seen.ndim) if i != position)
            line = np.any(seen, axis=others)
            cos, sin = line[1 : axis.order + 1], line[axis.order + 1 :]
            used = np.flatnonzero(cos | sin if axis.sines else cos)
            order = int(used[-1]) + 1 if used.size else 0
            keep = np.arange(order + 1)
            if axis.sines:
                keep = np.concatenate([keep, axis.order + 1 + np.arange(order)])
            axes = list(series.axes)
            axes[position] = replace(axis, order=order)
            series = TrigSeries(tuple(axes), np.take(series.coefficients, keep, axis=position))
        return series

    def _slope(self, position: int) -> TrigSeries:
        axis, k = self.axes[position], self.axes[position].order
        value = np.moveaxis(self.coefficients, position, 0)
        slope = np.zeros((2 * k + 1, *value.shape[1:]))
        for j in range(1, k + 1):
            slope[k + j] = -(axis.rate * math.pi * j) * value[j]
            if axis.sines:
                slope[j] = axis.rate * math.pi * j * value[k + j]
        axes = list(self.axes)
        axes[position] = replace(axis, sines=True)
        return TrigSeries(tuple(axes), np.moveaxis(slope, 0, position))

    def _block(self, u: Floats) -> Floats:
        value = np.moveaxis(self.coefficients, -1, 0)[..., None]  # (size, ..., 1)
        for i in range(len(self.axes) - 1, -1, -1):
            value = _clenshaw(self.axes[i], value, u[:, i])
            if i:
                value = np.moveaxis(value, -2, 0)
        return value


def cos_sin_pi(t: Floats) -> tuple[Floats, Floats]:
    """cos(pi t) and sin(pi t), from exactly rounded operations alone."""
    turn = t - 2 * np.rint(t / 2)  # [-1, 1], exact
    size = np.abs(turn)
    folded = np.where(size > 0.5, 1 - size, size)  # [0, 1/2], exact
    swap = folded > 0.25
    small = np.where(swap, 0.5 - folded, folded)  # [0, 1/4], exact
    square = small * small
    both = np.empty((2, *small.shape))  # one pass for both halves the calls into NumPy
    both[0], both[1] = _COS[-1], _SIN[-1]
    for pair in _PAIRS.reshape(-1, 2, *[1] * small.ndim):
        both *= square
        both += pair
    cos, sin = both[0], both[1] * small
    cos, sin = np.where(swap, sin, cos), np.where(swap, cos, sin)
    return np.where(size > 0.5, -cos, cos), np.where(turn < 0, -sin, sin)


def exp(x: Floats) -> Floats:
    """exp(x) from exactly rounded operations alone; zero below -700."""
    power = np.rint(np.maximum(x, -700.0) / math.log(2))
    rest = (np.maximum(x, -700.0) - power * _LN2_HIGH) - power * _LN2_LOW
    value = np.full_like(rest, _EXP[-1])
    for a in _EXP[-2::-1]:
        value = value * rest + a
    return np.where(x < -700.0, 0.0, np.ldexp(value, power.astype(np.int64)))


def _clenshaw(axis: Harmonics, a: Floats, u: Floats) -> Floats:
    """Sum the first index of `a` against the functions of `axis` at u (the last index)."""
    if a.ndim == 2 and a.shape[1] == 1 and axis.order >= 4 * _STRIDE:
        return _strided(axis, a[:, 0], u)
    cos, sin = cos_sin_pi(axis.rate * u)
    twice, k = 2 * cos, axis.order
    shape = np.broadcast_shapes(a.shape[1:], u.shape)
    one, two = _descend(a[1 : k + 1], twice, shape)
    total: Floats = a[0] + (cos * one - two)
    if axis.sines:
        one, _ = _descend(a[k + 1 : 2 * k + 1], twice, shape)
        total = total + sin * one
    return total


def _strided(axis: Harmonics, a: Floats, u: Floats) -> Floats:
    """`_clenshaw` in one variable, for frequencies j = _STRIDE q + r with all r at once.

    cos(j t) = cos(r t) cos(q T) - sin(r t) sin(q T) with T = _STRIDE t, and likewise sin(j t).
    """
    k, rows = axis.order, -(-(axis.order + 1) // _STRIDE)
    cos, sin = cos_sin_pi(_STRIDE * (axis.rate * u))
    first = Harmonics(_STRIDE - 1, axis.rate, sines=True).table(u)
    slow_cos, slow_sin = first[:_STRIDE], np.concatenate([np.zeros((1, u.size)), first[_STRIDE:]])
    total = np.zeros(u.size)
    for part in ("cos", "sin")[: 1 + axis.sines]:
        padded = np.zeros(rows * _STRIDE)
        if part == "cos":
            padded[: k + 1] = a[: k + 1]
        else:
            padded[1 : k + 1] = a[k + 1 :]
        block = padded.reshape(rows, _STRIDE, 1)
        one, two = _descend(block[1:], 2 * cos, (_STRIDE, u.size))
        even, odd = block[0] + (cos * one - two), sin * one
        terms = slow_cos * even - slow_sin * odd if part == "cos" else slow_sin * even + slow_cos * odd
        for row in terms:
            total = total + row
    return total


def _descend(a: Floats, twice: Floats, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    """b_1 and b_2 of Clenshaw's b_j = a_j + 2 cos b_(j+1) - b_(j+2), from the highest j down."""
    one, two, new = np.zeros(shape), np.zeros(shape), np.empty(shape)
    for row in a[::-1]:
        np.multiply(twice, one, out=new)
        new -= two
        new += row
        one, two, new = new, one, two
    return one, two
