"""Fourier functions of a torus: a periodic boundary, or an open one by padding.  M2, M11.

With period one the domain is the circle.  With a longer period it is a part of the circle, and
since a Gaussian does not reach round, the boundary is open: the papers' setting.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.fft import rfftn

from mercer.common.checks import Floats, Ints
from mercer.spaces.bases.base import Features, kernel_to_dict, nodes_for
from mercer.spaces.bases.spectral import (
    CUT,
    SpectralBasis,
    checked_size,
    covariance_sum,
    cut_of,
    gaussian_of,
    kept,
    orders_above_cut,
    theta_sum,
    wrapped_least,
)
from mercer.spaces.kernels import GaussianKernel, Kernel
from mercer.spaces.series import Harmonics

__all__ = ["Fourier", "laid_on"]


@dataclass(frozen=True)
class Fourier(SpectralBasis):
    """Functions sqrt2 cos(w_k u), sqrt2 sin(w_k u) of a torus with the given periods."""

    kernel: GaussianKernel
    periods: tuple[float, ...]
    orders: tuple[int, ...]
    cut: float = CUT  # functions with a smaller eigenvalue are left out

    name = "fourier"

    @classmethod
    def spanning(
        cls,
        kernel: Kernel,
        size: int = 0,  # noqa: ARG003
        *,
        periodic: bool = False,
        cut: float = CUT,
    ) -> Fourier:
        """Period one, or long enough that a kernel of this bandwidth does not reach round.

        Open: the padding is the width of the domain or 9 bandwidths, whichever is more, so
        that smoothing up to a sixth of the width stays open as well.
        """
        if not isinstance(kernel, GaussianKernel):
            raise ValueError(f"the Fourier basis needs kernel='gaussian', got {kernel.name!r}")
        if periodic:
            periods = (1.0,) * kernel.dimension
        else:  # in quarters, so that the nodes of the binning grid divide the circle
            periods = tuple(math.ceil(4 + max(4.0, 36 * float(h))) / 4 for h in kernel.lengths)
        rates = [2 / p for p in periods]
        return cls(kernel, periods, orders_above_cut(kernel, rates, cut), cut)

    @cached_property
    def axes(self) -> tuple[Harmonics, ...]:
        return tuple(
            Harmonics(order, 2 / period, sines=True)
            for order, period in zip(self.orders, self.periods, strict=True)
        )

    @cached_property
    def _half_space(self) -> Ints:
        ranges = [np.arange(-order, order + 1) for order in self.orders]
        box = np.stack(np.meshgrid(*ranges, indexing="ij"), -1).reshape(-1, len(self.orders))
        lead = np.zeros(len(box), dtype=np.int64)
        for column in reversed(range(box.shape[1])):
            lead = np.where(box[:, column] != 0, np.sign(box[:, column]), lead)
        return kept(box[lead > 0], self.kernel, [2 / p for p in self.periods], self.cut)

    @cached_property
    def frequencies(self) -> Ints:
        zero = np.zeros((1, len(self.orders)), dtype=np.int64)
        return np.concatenate([zero, self._half_space, self._half_space])

    @cached_property
    def terms(self) -> tuple[tuple[Ints, Ints], ...]:
        d, half = len(self.orders), len(self._half_space)
        even = [s for s in itertools.product((0, 1), repeat=d) if sum(s) % 2 == 0]
        odd = [s for s in itertools.product((0, 1), repeat=d) if sum(s) % 2 == 1]
        shape = tuple(axis.size for axis in self.axes)
        size, orders = np.abs(self._half_space), np.array(self.orders)
        out = []
        for chosen_even, chosen_odd in zip(even, odd, strict=True):
            index, sign = [np.zeros(1, np.int64)], [np.array([int(not any(chosen_even))])]
            for chosen in (np.array(chosen_even), np.array(chosen_odd)):
                # cos(a + b) = cos a cos b - sin a sin b, and so on: (-1)^(sines // 2)
                value = np.full(half, (-1) ** (int(chosen.sum()) // 2), dtype=np.int64)
                value *= np.prod(np.where(chosen == 1, np.sign(self._half_space), 1), axis=1)
                position = np.where((chosen == 1) & (size > 0), orders + size, size)
                flat = np.ravel_multi_index(tuple(position.T), shape)
                index.append(np.asarray(flat, dtype=np.int64))
                sign.append(value)
            out.append((np.concatenate(index), np.concatenate(sign)))
        return tuple(out)

    @cached_property
    def amplitude(self) -> Floats:
        amplitude = np.full(self.size, math.sqrt(2.0))
        amplitude[0] = 1.0
        return amplitude / math.sqrt(math.prod(self.periods))

    @cached_property
    def kappa(self) -> float:
        if self.kernel.diagonal:
            pairs = zip(self.kernel.lengths, self.periods, strict=True)
            square = math.prod((1 + 2 * theta_sum(h, 2 / p)) / p for h, p in pairs)
        else:  # wrapped normal density at 0, its images summed where they count
            images = np.array(list(itertools.product(range(-40, 41), repeat=len(self.periods))))
            inverse = np.linalg.inv(np.array(self.kernel.covariance))
            away = images * np.array(self.periods)
            square = float(np.sum(np.exp(-covariance_sum(away, inverse) / 2))) / self.kernel.mass
            kept = float(np.sum(self.eigenvalues * self.amplitude**2)) / 2  # cosines and sines
            square = max(square, kept + float(self.amplitude[0] ** 2) / 2) * (1 + 1e-9)
        return math.sqrt(square)

    def deviation(self, x: Floats, factors: Floats) -> Floats:
        half = len(self._half_space)  # a cosine and its sine: the same everywhere
        weight = self.eigenvalues * (self.amplitude * factors) ** 2
        return np.full(len(x), math.sqrt(float(weight[0] + np.sum(weight[1 : half + 1]))))

    def row_features(self, smoother: Kernel) -> Features:
        self.check_smoother(smoother)
        shape = nodes_for(self.kernel.lengths)
        scale = np.sqrt(self.eigenvalues) * self.amplitude
        circle = tuple(round(p * (g - 1)) for p, g in zip(self.periods, shape, strict=True))
        half = self._half_space
        flip = half[:, -1] < 0  # the real transform holds these as their mirror images
        picked = tuple((np.where(flip[:, None], -half, half) % np.array(circle)).T)

        def project(weights: Floats) -> Floats:
            moments = rfftn(laid_on(weights, circle))
            chosen = moments[picked]
            sines = np.where(flip, chosen.imag, -chosen.imag)
            zero = np.array([moments.real.flat[0]])
            return scale * np.concatenate([zero, chosen.real, sines])

        rounding = self.fft_rounding(*circle)
        return Features(shape, project, self.kappa, self.diameter * (1 + 1e-9), rounding)

    @cached_property
    def overlap(self) -> float:
        if not self.kernel.diagonal:
            return 0.0
        # the wrapped normal density falls up to half a period; points are at most one apart
        return math.prod(
            wrapped_least(float(h), 2 / p, min(1.0, p / 2)) / p
            for h, p in zip(self.kernel.lengths, self.periods, strict=True)
        )

    def sampling_variance(self, theta: Floats, n: int) -> Floats:
        half = len(self._half_space)
        theta = theta * math.sqrt(math.prod(self.periods))  # back to unit amplitudes
        power = (theta[1 : half + 1] ** 2 + theta[half + 1 :] ** 2) / 2
        pair = np.maximum(1 - power, 0.0) / n
        variance = np.concatenate([np.zeros(1), pair, pair])
        return variance / math.prod(self.periods)

    @property
    def periodic(self) -> bool:
        """Whether the domain is the whole circle."""
        return all(period == 1.0 for period in self.periods)

    @property
    def widest(self) -> Floats:
        if self.periodic:
            return super().widest
        return (np.array(self.periods) - 1) / 6

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "kernel": kernel_to_dict(self.kernel),
            "periodic": self.periodic,
            "cut": self.cut,
            "size": self.size,
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Fourier:
        periodic = fields.get("periodic")
        if not isinstance(periodic, bool):
            raise ValueError("basis periodic must be true or false")
        basis = cls.spanning(gaussian_of(fields), periodic=periodic, cut=cut_of(fields))
        return checked_size(basis, fields)


def laid_on(weights: Floats, circle: tuple[int, ...]) -> Floats:
    """Weights of the nodes laid on a torus with these numbers of points.

    Where the domain is the whole circle, its two ends are the same point.
    """
    for axis, points in enumerate(circle):
        last = np.moveaxis(weights, axis, -1)
        out = np.zeros((*last.shape[:-1], max(points, last.shape[-1])))
        out[..., : last.shape[-1]] = last
        if points < out.shape[-1]:
            out[..., 0] += out[..., -1]
            out = out[..., :-1]
        weights = np.moveaxis(out, -1, axis)
    return weights
