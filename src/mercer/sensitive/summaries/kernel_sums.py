"""Sums of kernel values and of cosine and sine waves over records, as integers.  Left of the door.

What a record adds is a function of that record alone, computed by the same correctly rounded
operations wherever it stands, cut to whole multiples of 2^-24 and added up as integers (M3.3).
With numba (the extra `fast`) the loops are compiled; the NumPy ones are slower and more exact.
docs/proofs/embedding.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from mercer.common.checks import Floats, Ints
from mercer.spaces.record_kernels import RecordKernel

__all__ = ["BITS", "compiled", "kernel_error", "kernel_sums", "wave_norm", "wave_sums"]

BITS = 24
_WHOLE = 1 << BITS
_PER_LOG = 0.5 / math.log(2)
_CEILING = 30.0  # a kernel value below 2^-30 is nothing
_BLOCK = 1 << 19  # numbers at once


@cache
def compiled() -> bool:
    """Whether the compiled loops can be used."""
    return find_spec("numba") is not None


def kernel_error(kernel: RecordKernel) -> float:
    """Bound on the error of a kernel value of these sums (docs/proofs/embedding.md): public."""
    # of the coordinates of a category at most two differ
    width = sum(min(column.width, 2) for column in kernel.domain.columns)
    if kernel.name == "gaussian" and compiled():
        return 2.0**-BITS * (0.37 * (width + 5) + 7)
    return 2.0**-BITS * (1 + 2.0**-20 * (width + 8))


def kernel_sums(kernel: RecordKernel, u: Floats, points: Floats, weights: Ints | None) -> Ints:
    """Sum over rows of floor(2^24 k(row, point)), each times its weight, for every point."""
    if kernel.name == "gaussian" and compiled():
        total = np.zeros(len(points), dtype=np.int64)
        rows, across = u.astype(np.float32), np.ascontiguousarray(points.T.astype(np.float32))
        if weights is None:
            _loops()[0](rows, across, total)
        else:
            _loops()[1](rows, across, weights, total)
        return total
    return _blocked(lambda part: kernel.between(part, points), u, len(points), weights)


def wave_norm() -> float:
    """Bound on the norm of a row's waves as `wave_sums` has them: public."""
    return 1 + 2.0**-30


def wave_sums(frequencies: Floats, u: Floats, weights: Ints | None) -> Ints:
    """Sum over rows of cos(w u) and of sin(w u), cut towards zero to multiples of 2^-24."""
    if compiled():
        total = np.zeros((2, len(frequencies)), dtype=np.int64)
        share = np.ones(len(u), dtype=np.int64) if weights is None else weights
        turns = np.ascontiguousarray(frequencies.T / (2 * math.pi))
        _loops()[2](np.ascontiguousarray(u), turns, share, total)
        return total.reshape(-1)

    def waves(part: Floats) -> Floats:
        angle = np.zeros((len(part), len(frequencies)))
        for axis in range(part.shape[1]):  # in this order: a row's numbers are its own
            angle += part[:, axis, None] * frequencies[None, :, axis]
        return np.concatenate([np.cos(angle), np.sin(angle)], axis=1)

    return _blocked(waves, u, 2 * len(frequencies), weights)


def _blocked(values: Callable[[Floats], Floats], u: Floats, size: int, weights: Ints | None) -> Ints:
    total = np.zeros(size, dtype=np.int64)
    step = max(1, _BLOCK // size)
    for start in range(0, len(u), step):
        whole = np.trunc(values(u[start : start + step]) * _WHOLE).astype(np.int64)
        if weights is None:
            total += whole.sum(axis=0)
        else:
            total += weights[start : start + step] @ whole
    return total


def _halves() -> tuple[np.float32, ...]:
    """Coefficients of 2^-f on [0, 1], as singles."""
    interpolated = np.polynomial.chebyshev.Chebyshev.interpolate(np.exp2, 5, domain=[-1, 0])
    series = interpolated.convert(kind=np.polynomial.Polynomial).coef
    return tuple(np.float32(c * (-1) ** k) for k, c in enumerate(series))


@cache
def _loops() -> tuple[Any, Any, Any]:
    """Compiled when first used: rows alone, rows with weights, waves."""
    import numba

    c0, c1, c2, c3, c4, c5 = _halves()
    per_log, ceiling, whole = np.float32(_PER_LOG), np.float32(_CEILING), np.float32(_WHOLE)
    jit = numba.njit(nogil=True, inline="always")
    job = numba.njit(nogil=True)

    def _distances(row, points, out):  # type: ignore[no-untyped-def]
        width, size = points.shape
        for j in range(size):
            gap = row[0] - points[0, j]
            out[j] = gap * gap
        axis = 1
        while axis + 1 < width:  # two at a time
            first, second = row[axis], row[axis + 1]
            for j in range(size):
                gap, other = first - points[axis, j], second - points[axis + 1, j]
                out[j] += gap * gap + other * other
            axis += 2
        if axis < width:
            for j in range(size):
                gap = row[axis] - points[axis, j]
                out[j] += gap * gap

    distances = jit(_distances)

    def _alone(rows, points, total):  # type: ignore[no-untyped-def]
        size = points.shape[1]
        square, part = np.zeros(size, np.float32), np.zeros(size, np.int32)
        for i in range(len(rows)):
            distances(rows[i], points, square)
            for j in range(size):
                t = min(square[j] * per_log, ceiling)
                n = np.int32(t)
                f = t - np.float32(n)
                power = c0 + f * (c1 + f * (c2 + f * (c3 + f * (c4 + f * c5))))
                part[j] += np.int32(power * whole) >> n
            if i % 127 == 126:  # before 32 bits are full
                for j in range(size):
                    total[j] += part[j]
                    part[j] = 0
        for j in range(size):
            total[j] += part[j]

    def _weighted(rows, points, weights, total):  # type: ignore[no-untyped-def]
        size = points.shape[1]
        square = np.zeros(size, np.float32)
        for i in range(len(rows)):
            distances(rows[i], points, square)
            for j in range(size):
                t = min(square[j] * per_log, ceiling)
                n = np.int32(t)
                f = t - np.float32(n)
                power = c0 + f * (c1 + f * (c2 + f * (c3 + f * (c4 + f * c5))))
                total[j] += np.int64(np.int32(power * whole) >> n) * weights[i]

    def _waves(rows, turns, weights, total):  # type: ignore[no-untyped-def]
        width, size = turns.shape
        angle = np.zeros(size)
        for i in range(len(rows)):
            for j in range(size):
                angle[j] = rows[i, 0] * turns[0, j]
            for axis in range(1, width):
                for j in range(size):
                    angle[j] += rows[i, axis] * turns[axis, j]
            for j in range(size):
                t = angle[j] - np.floor(angle[j])
                quarter = np.floor(4 * t + 0.5)
                x = (t - 0.25 * quarter) * 6.283185307179586
                y = x * x
                rest = 1 / 362880 + y * (-1 / 39916800 + y / 6227020800)
                sine = x * (1 + y * (-1 / 6 + y * (1 / 120 + y * (-1 / 5040 + y * rest))))
                rest = -1 / 3628800 + y * (1 / 479001600 - y / 87178291200)
                cosine = 1 + y * (-1 / 2 + y * (1 / 24 + y * (-1 / 720 + y * (1 / 40320 + y * rest))))
                odd = quarter == 1 or quarter == 3
                a, b = (sine, cosine) if odd else (cosine, sine)
                a = -a if quarter == 1 or quarter == 2 else a
                b = -b if quarter == 2 or quarter == 3 else b
                total[0, j] += np.int64(a * 16777216.0) * weights[i]
                total[1, j] += np.int64(b * 16777216.0) * weights[i]

    return job(_alone), job(_weighted), job(_waves)
