"""Orthonormal expansions of one column without a kernel: moments, Hermite functions, wavelets.  M2, M11.

Thesis, Sec. 3.1.1: any orthonormal functions serve, with a bound on their values.  Rows are nodes
of a public grid (M5), so bounds are the largest over finitely many vectors.  Nothing is smoothed
before the noise.

Trigonometric moments are cosines or a circle's harmonics, all with weight one (M11).  The coordinates
that are released are the moments themselves, c_j = mean of cos(pi j u) for a reflecting boundary, of
exp(2 pi i j u / period) for a periodic one (period one) or an open one (longer, so that smoothing at
one end does not reach the other).  The bandwidth is chosen afterwards, at no cost (M17).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.fft import rfft
from scipy.spatial.distance import cdist

from mercer.common.checks import Floats, Ints
from mercer.spaces.bases.base import UNIT_ROUNDOFF, Basis, Features, positive_int
from mercer.spaces.bases.fourier import cosine_sums, laid_on
from mercer.spaces.bases.spectral import SpectralBasis, covariance_sum, differentiated
from mercer.spaces.kernels import Kernel
from mercer.spaces.series import Harmonics, exp

__all__ = ["MOST_DEGREE", "Expansion", "Hermite", "Moments", "Wavelet"]

_NODES = 1 << 10
_MOST = 256


class Expansion(Basis):
    """Orthonormal functions of one column.  Rows contribute the values of the functions."""

    count: int

    def __post_init__(self) -> None:
        if not 2 <= self.count <= _MOST:
            raise ValueError(f"size must be in [2, {_MOST}] for {self.name}, got {self.count}")

    @property
    def size(self) -> int:
        return self.count

    @property
    def dimension(self) -> int:
        return 1

    @property
    def deficit(self) -> float:
        return math.inf  # nothing is smoothed: what is left out may be anything

    @abstractmethod
    def features(self, x: Floats, orders: tuple[int, ...] | None = None) -> Floats: ...

    def row_features(self, smoother: Kernel | None) -> Features:  # noqa: ARG002
        """Nothing is smoothed: a row contributes the values of the functions at its node."""
        table = self.features((np.arange(_NODES + 1) / _NODES)[:, None])
        square = np.sum(table**2, axis=1)
        norm = math.sqrt(float(square.max()))
        far = math.sqrt(float(np.max(square[:, None] + square - 2 * (table @ table.T))) + 1e-9)
        wide = float(np.max(cdist(table, table, "cityblock")))
        whole = float(np.max(np.sum(np.abs(table), axis=1)))
        peak = float(np.max(np.abs(table)))
        rounding = UNIT_ROUNDOFF * (_NODES + 64) * peak * math.sqrt(self.size)
        up = 1 + 1e-9

        def project(weights: Floats) -> Floats:
            return weights @ table

        spans = {"l1": max(wide, whole) * up}
        return Features((_NODES + 1,), project, norm * up, max(norm, far) * up, rounding, spans)

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "size": self.count}


@dataclass(frozen=True)
class Hermite(Expansion):
    """Hermite functions centred on the middle, with room for their tails within the bounds."""

    count: int

    name = "hermite"

    @classmethod
    def spanning(cls, kernel: Kernel | None, size: int) -> Hermite:
        _check_line(kernel, cls.name)
        return cls(size)

    @property
    def reach(self) -> float:
        """Half the width of the domain in units of the functions: sqrt(2 m + 1) and one more."""
        return math.sqrt(2 * self.count + 1) + 1

    @property
    def lengths(self) -> Floats:
        return np.array([math.pi / (2 * self.reach * math.sqrt(2 * self.count + 1))])

    def features(self, x: Floats, orders: tuple[int, ...] | None = None) -> Floats:
        order = 0 if orders is None else orders[0]
        scale = 2 * self.reach
        t = (x[:, 0] - 0.5) * scale
        rows = np.empty((self.count + order + 1, len(t)))
        rows[0] = math.pi**-0.25 * np.exp(-(t**2) / 2)
        rows[1] = math.sqrt(2.0) * t * rows[0]
        for k in range(2, len(rows)):
            rows[k] = math.sqrt(2 / k) * t * rows[k - 1] - math.sqrt((k - 1) / k) * rows[k - 2]
        for _ in range(order):  # h_k' = sqrt(k/2) h_(k-1) - sqrt((k+1)/2) h_(k+1)
            j = np.arange(len(rows) - 1)[:, None]
            lower = np.vstack([np.zeros_like(t), rows[:-2]])
            rows = np.sqrt(j / 2) * lower - np.sqrt((j + 1) / 2) * rows[1:]
            rows *= scale
        return rows[: self.count].T * math.sqrt(scale)

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Hermite:
        return cls(positive_int(fields, "size", _MOST))


@dataclass(frozen=True)
class Wavelet(Expansion):
    """Meyer's wavelets on the circle: smooth, band-limited, orthonormal; 2^J of them.

    The constant, and for j = 0..J-1 the 2^j shifts of psi_j, whose Fourier coefficients are
    2^(-j/2) psi^(n / 2^j): Meyer 1990, made periodic.
    """

    count: int

    name = "wavelet"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.count & (self.count - 1):
            raise ValueError(f"size must be a power of two for wavelets, got {self.count}")

    @classmethod
    def spanning(cls, kernel: Kernel | None, size: int) -> Wavelet:
        _check_line(kernel, cls.name)
        return cls(1 << (max(size, 2).bit_length() - 1))

    @property
    def lengths(self) -> Floats:
        return np.array([1 / self.count])

    @cached_property
    def _axis(self) -> Harmonics:
        return Harmonics(max(1, math.floor(4 / 3 * self.count / 2)), 2.0, sines=True)

    @cached_property
    def _mixing(self) -> Floats:
        """Coefficients of each wavelet on 1, cosines and sines, one row a wavelet."""
        order = self._axis.order
        n = np.arange(1, order + 1)
        rows = np.zeros((self.count, self._axis.size))
        rows[0, 0] = 1.0
        place = 1
        for level in range(self.count.bit_length() - 1):
            size = _meyer(n / 2.0**level) * 2 / math.sqrt(2.0**level)
            for k in range(2**level):
                angle = 2 * math.pi * n * (k + 0.5) / 2.0**level
                rows[place, 1 : order + 1] = size * np.cos(angle)
                rows[place, order + 1 :] = size * np.sin(angle)
                place += 1
        return rows

    def features(self, x: Floats, orders: tuple[int, ...] | None = None) -> Floats:
        return differentiated(self._axis, x[:, 0], 0 if orders is None else orders[0]).T @ self._mixing.T

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Wavelet:
        return cls(positive_int(fields, "size", _MOST))


def _meyer(f: Floats) -> Floats:
    """|psi^| of Meyer's wavelet at frequency f (turns): from 1/3 to 4/3, with smooth flanks."""

    def step(t: Floats) -> Floats:
        t = np.clip(t, 0.0, 1.0)
        return t**4 * (35 - 84 * t + 70 * t**2 - 20 * t**3)

    rising = np.sin(math.pi / 2 * step(3 * f - 1))
    falling = np.cos(math.pi / 2 * step(1.5 * f - 1))
    return np.where(f < 2 / 3, rising, falling) * ((f > 1 / 3) & (f < 4 / 3))


def _check_line(kernel: Kernel | None, name: str) -> None:
    if kernel is not None and (kernel.dimension != 1 or kernel.name != "gaussian"):
        raise ValueError(f"basis {name!r} is for one column and kernel='gaussian'")


MOST_DEGREE = 512
_OPEN = 2.0  # period of the circle for an open boundary
_CELLS = 1 << 13  # cells of the binning grid: 16 for half a wave at the highest degree


@dataclass(frozen=True)
class Moments(SpectralBasis):
    """c_0..c_m in one dimension: an orthogonal expansion without a kernel."""

    degree: int
    boundary: str  # "reflect", "periodic" or "open"

    name = "moments"

    @classmethod
    def spanning(cls, kernel: Kernel | None, size: int, boundary: str = "reflect") -> Moments:
        """`size` coordinates or one less (harmonics come in pairs); the kernel does not matter."""
        _check_line(kernel, cls.name)
        return cls(size - 1 if boundary == "reflect" else (size - 1) // 2, boundary)

    def __post_init__(self) -> None:
        if not 1 <= self.degree <= MOST_DEGREE:
            raise ValueError(f"degree of moments must be in [1, {MOST_DEGREE}], got {self.degree}")
        if self.boundary not in ("reflect", "periodic", "open"):
            raise ValueError(f"boundary of moments is unknown: {self.boundary!r}")

    @property
    def dimension(self) -> int:
        return 1

    @property
    def real(self) -> bool:
        """Whether the functions are cosines alone, as at a reflecting boundary."""
        return self.boundary == "reflect"

    @property
    def period(self) -> float:
        """Length of the circle; two when it is folded onto the interval."""
        return {"reflect": 2.0, "periodic": 1.0, "open": _OPEN}[self.boundary]

    @property
    def lengths(self) -> Floats:
        """A bandwidth so small that the highest moment keeps 98 % of its size."""
        return np.array([0.2 / (math.pi * self.axes[0].rate * self.degree)])

    @cached_property
    def axes(self) -> tuple[Harmonics, ...]:
        return (Harmonics(self.degree, 2 / self.period, sines=not self.real),)

    @cached_property
    def frequencies(self) -> Ints:
        j = np.arange(self.degree + 1)
        return (j if self.real else np.concatenate([j, j[1:]]))[:, None]

    @cached_property
    def terms(self) -> tuple[tuple[Ints, Ints], ...]:
        index = np.arange(self.size)  # the axis' own order: cosines, then sines
        return ((index, np.ones(self.size, dtype=np.int64)),)

    @cached_property
    def amplitude(self) -> Floats:
        amplitude = np.full(self.size, math.sqrt(2.0))
        amplitude[0] = 1.0
        return amplitude if self.real else amplitude / math.sqrt(self.period)

    @cached_property
    def eigenvalues(self) -> Floats:
        return np.ones(self.size)

    @property
    def own(self) -> Floats:
        return np.zeros((1, 1))

    @property
    def smoothers(self) -> tuple[str, ...]:
        return ("gaussian", "quartic")

    def filter(self, covariance: tuple[tuple[float, ...], ...], smoother: str) -> Floats:
        form = covariance_sum(self.angular, np.array(covariance))
        return exp(-(form if smoother == "gaussian" else form**2) / 2)

    @property
    def kappa(self) -> float:
        return math.sqrt(float(np.sum(self.amplitude**2)))

    @property
    def overlap(self) -> float:
        return -(self.kappa**2)

    @property
    def deficit(self) -> float:
        return 0.0

    def tail(self, covariance: tuple[tuple[float, ...], ...], smoother: str) -> float:
        rate = math.pi * self.axes[0].rate
        j = np.arange(self.degree + 1, 64 * self.degree)
        form = covariance[0][0] * (rate * j) ** 2
        left_out = np.exp(-(form if smoother == "gaussian" else form**2))
        pair = 1 if self.real else 2
        return float(pair * self.amplitude[1] ** 2 * np.sum(left_out))

    @property
    def spread(self) -> Floats:
        return self.amplitude**2

    @property
    def widest(self) -> Floats:
        return super().widest if self.boundary != "open" else np.array([(self.period - 1) / 6])

    def mix(self, rows: Floats) -> Floats:
        return rows / self.amplitude

    def unmix(self, rows: Floats) -> Floats:
        return rows * self.amplitude

    def row_features(self, smoother: Kernel) -> Features:  # noqa: ARG002
        """Moments of the nodes: each in the body, so that a row contributes a point of it."""
        circle = round(self.period * _CELLS)
        m = self.degree

        def project(weights: Floats) -> Floats:
            if self.real:
                return cosine_sums(weights)[: m + 1]
            moments = rfft(laid_on(weights, (circle,)))[: m + 1]
            return np.concatenate([moments.real, -moments.imag[1:]])

        # c_0 is the same for all rows with values, and zero for the others
        norm = math.sqrt(m + 1)
        far = math.sqrt(self._farthest) if self.real else 2 * math.sqrt(m)
        apart = 2.0 * m if self.real else 2 * math.sqrt(2.0) * m
        spans = {"l1": max(apart, math.sqrt(2.0) * m + 1), "cosines" if self.real else "moments": 1.0}
        return Features(
            (_CELLS + 1,), project, norm, max(far, norm) * (1 + 1e-9), self.fft_rounding(circle), spans
        )

    @property
    def _farthest(self) -> float:
        """Upper bound on sum_j (cos j a - cos j b)^2 over j = 1..m, for all a and b.

        It is m + (S(2a) + S(2b))/2 - S(a + b) - S(a - b) with S(t) = sum_j cos j t <= m, and S has
        a second derivative of at most m (m + 1)(2m + 1)/6, so that its least value on a grid of
        64 points a half wave is at most m/1000 above the true one.
        """
        m = self.degree
        t = np.linspace(0.0, math.pi, 64 * m + 1)
        least = float(np.min(np.sum(np.cos(np.outer(np.arange(1, m + 1), t)), axis=0)))
        return min(4.0 * m, 2 * m - 2 * (least - 1e-3 * (m + 1)))

    def sampling_variance(self, theta: Floats, n: int) -> Floats:
        plain = theta / self.amplitude  # moments; half angles: cos^2 = (1 + cos 2a) / 2
        m = self.degree
        twice = np.zeros(self.size)
        j = np.arange(1, m // 2 + 1)
        twice[j] = plain[2 * j]
        if not self.real:
            twice[m + j] = -plain[2 * j]
        square = (1 + twice) / 2 - plain**2
        square[0] = 0.0
        return np.maximum(square, 0.0) * self.amplitude**2 / n

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "boundary": self.boundary, "size": self.size}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Moments:
        size, boundary = positive_int(fields, "size", 2 * MOST_DEGREE + 1), fields.get("boundary")
        if boundary not in ("reflect", "periodic", "open"):
            raise ValueError("basis boundary must be 'reflect', 'periodic' or 'open'")
        basis = cls(size - 1 if boundary == "reflect" else (size - 1) // 2, boundary)
        if basis.size != size:
            raise ValueError("basis size does not fit its boundary: the file is damaged")
        return basis
