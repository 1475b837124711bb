"""Other orthonormal expansions of one column: Hermite functions and wavelets.

M2; thesis, Sec. 3.1.1: any orthonormal functions serve, with a bound on their values.  Rows
are nodes of a public grid (M5), so the bounds are the largest over finitely many vectors, in any
norm, without analysis.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from mercer.common.checks import Floats
from mercer.spaces.bases.base import UNIT_ROUNDOFF, Basis, Features, positive_int
from mercer.spaces.kernels import Kernel
from mercer.spaces.series import Harmonics

__all__ = ["Expansion", "Hermite", "Wavelet"]

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
        axis = self._axis
        table = axis.table(x[:, 0])
        slope = 2 * math.pi * np.arange(1, axis.order + 1)[:, None]
        for _ in range(0 if orders is None else orders[0]):
            cosines, sines = table[1 : axis.order + 1], table[axis.order + 1 :]
            table = np.vstack([np.zeros((1, len(x))), -slope * sines, slope * cosines])
        return table.T @ self._mixing.T

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
