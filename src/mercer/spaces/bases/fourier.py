"""Fourier functions of a torus, and cosines: periodic, open and reflecting boundaries.  M2, M11.

With period one the domain is the circle.  With a longer period it is a part of the circle, and
since a Gaussian does not reach round, the boundary is open: the papers' setting.  Cosines are the
functions of the circle of length two folded onto [0, 1], a reflecting boundary.

At a reflecting wall a row and its mirror image coincide, so K(x, x) there is twice what it is inside,
and the noise everywhere would have to hide that.  Instead a little more noise is put on the two
functions K(0, .) and K(1, .) alone: with C the projection on them, row vectors are A e(x) with
A = I - (1 - 1/sqrt2) C, which has the same norm at the walls as inside, and the noise of the
plain coordinates is A^-1 = I + (sqrt2 - 1) C times white noise.  It is M2 in the space of the
kernel e(x)' A^-2 e(y) = K(x, y) + (K_0(x) K_0(y) + K_1(x) K_1(y)) / K(0, 0), and halves the
variance of the noise in each dimension.  docs/proofs/cosine.md has the proof.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.fft import dct, rfftn

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
from mercer.spaces.series import Harmonics, exp

__all__ = ["Cosine", "Fourier", "cosine_sums", "laid_on"]


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


WIDEST_EVEN = 0.2  # up to here the walls do not see each other: exp(-1/(2 h^2)) <= 3.8e-6
EVEN_SLACK = 1e-4  # what they see all the same: docs/proofs/cosine.md


@dataclass(frozen=True)
class Cosine(SpectralBasis):
    """Reflecting boundary: products of 1 and sqrt2 cos(pi j u_i); the bandwidth is diagonal."""

    kernel: GaussianKernel
    orders: tuple[int, ...]  # highest frequency along each coordinate
    cut: float = CUT  # functions with a smaller eigenvalue are left out

    name = "cosine"

    @classmethod
    def spanning(cls, kernel: Kernel, size: int = 0, *, cut: float = CUT) -> Cosine:  # noqa: ARG003
        """As many frequencies as the kernel has eigenvalues above the cut."""
        if not isinstance(kernel, GaussianKernel):
            raise ValueError(f"the cosine basis needs kernel='gaussian', got {kernel.name!r}")
        if not kernel.diagonal:
            raise ValueError(
                "bandwidth must be a number or one number a column with boundary='reflect': a "
                "slanted kernel does not reflect at a wall; use boundary='open' or 'periodic'"
            )
        return cls(kernel, orders_above_cut(kernel, [1.0] * kernel.dimension, cut), cut)

    @cached_property
    def axes(self) -> tuple[Harmonics, ...]:
        return tuple(Harmonics(order, 1.0, sines=False) for order in self.orders)

    @cached_property
    def frequencies(self) -> Ints:
        box = np.stack(np.meshgrid(*(np.arange(o + 1) for o in self.orders), indexing="ij"), -1)
        return box.reshape(-1, len(self.orders))  # a product: docs/proofs/cosine.md needs it

    @cached_property
    def terms(self) -> tuple[tuple[Ints, Ints], ...]:
        shape = tuple(axis.size for axis in self.axes)
        index = np.ravel_multi_index(tuple(self.frequencies.T), shape)
        return ((np.asarray(index, dtype=np.int64), np.ones(self.size, dtype=np.int64)),)

    @cached_property
    def amplitude(self) -> Floats:
        return np.sqrt(2.0 ** np.count_nonzero(self.frequencies, axis=1))

    @cached_property
    def kappa(self) -> float:
        square = 1.0  # the supremum is in a corner: prod (1 + 2 sum_j lambda_j)
        for h in self.kernel.lengths:
            square *= 1 + 2 * theta_sum(h, 1.0)
        return math.sqrt(square)

    @cached_property
    def corners(self) -> tuple[Floats, ...]:
        """The unit vectors of K_0 + K_1 and K_0 - K_1 of each coordinate, shape (frequencies, 2).

        They are the even and the odd part of e(0).  Zero where the bandwidth is so large that the
        walls see each other: there A = I.
        """
        out = []
        for order, h in zip(self.orders, self.kernel.lengths, strict=True):
            j = np.arange(order + 1)
            wall = np.sqrt(np.where(j > 0, 2.0, 1.0) * exp(-((math.pi * h * j) ** 2) / 2))
            both = np.stack([np.where(j % 2 == 0, wall, 0.0), np.where(j % 2 == 1, wall, 0.0)], 1)
            both /= np.sqrt(np.cumsum(both**2, axis=0)[-1])  # in order: same bits everywhere
            out.append(both if h <= WIDEST_EVEN else np.zeros_like(both))
        return tuple(out)

    @cached_property
    def spread(self) -> Floats:
        square = np.ones(self.size)  # the diagonal of A^-2 = I + C, one factor a coordinate
        for corner, k in zip(self.corners, self.frequencies.T, strict=True):
            square *= 1 + np.sum(corner**2, axis=1)[k]
        return square

    def mix(self, rows: Floats) -> Floats:
        return self._along(rows, 1 / math.sqrt(2) - 1)

    def unmix(self, rows: Floats) -> Floats:
        return self._along(rows, math.sqrt(2) - 1)

    def _along(self, rows: Floats, factor: float) -> Floats:
        """(I + factor C) of each row: A or its inverse, along each coordinate in turn."""
        lead = rows.shape[:-1]
        box = np.zeros((math.prod(lead), *(order + 1 for order in self.orders)))
        place = (slice(None), *self.frequencies.T)
        box[place] = rows.reshape(-1, self.size)
        for axis, corner in enumerate(self.corners):
            last = np.moveaxis(box, axis + 1, -1)
            for wall in corner.T:  # sums in order, so that a release has the same bits everywhere
                along = np.cumsum(last * wall, axis=-1)[..., -1:]
                last = last + (factor * along) * wall
            box = np.moveaxis(last, -1, axis + 1)
        return box[place].reshape(*lead, self.size)

    def deviation(self, x: Floats, factors: Floats) -> Floats:
        # smoothing is a product over the coordinates, and so is the variance
        square = np.ones(len(x))
        for i, (axis, corner) in enumerate(zip(self.axes, self.corners, strict=True)):
            alone = np.flatnonzero(np.all(np.delete(self.frequencies, i, 1) == 0, axis=1))
            line = np.zeros(axis.size)
            scale = np.sqrt(self.eigenvalues) * self.amplitude * factors
            line[self.frequencies[alone, i]] = scale[alone]
            rows = line[:, None] * axis.table(x[:, i])
            square *= np.sum(rows**2, axis=0) + np.sum((corner.T @ rows) ** 2, axis=0)
        return np.sqrt(square)

    def row_features(self, smoother: Kernel) -> Features:
        self.check_smoother(smoother)
        shape = nodes_for(self.kernel.lengths)
        scale = np.sqrt(self.eigenvalues) * self.amplitude
        picked = tuple(self.frequencies.T)

        def project(weights: Floats) -> Floats:
            moments = cosine_sums(weights)[picked]
            return self.mix(scale * moments)

        square = 1.0  # sup |A e(x)|^2, one factor a coordinate
        for corner, h in zip(self.corners, self.kernel.lengths, strict=True):
            wall = 1 + 2 * theta_sum(float(h), 1.0)
            square *= wall / 2 * (1 + EVEN_SLACK) if corner.any() else wall
        mixed = any(corner.any() for corner in self.corners)
        norm = math.sqrt(square)
        span = math.sqrt(2 * (1 + EVEN_SLACK)) * norm if mixed else self.diameter
        circle = (2 * (nodes - 1) for nodes in shape)
        return Features(shape, project, norm, span * (1 + 1e-9), self.fft_rounding(*circle))

    @cached_property
    def overlap(self) -> float:
        # one factor is (v(x - y) + v(x + y)) / 2, v the wrapped normal density of the circle of
        # length two, which falls up to distance one: least at opposite ends
        return math.prod(wrapped_least(float(h), 1.0, 1.0) for h in self.kernel.lengths)

    def sampling_variance(self, theta: Floats, n: int) -> Floats:
        shape = [2 * order + 1 for order in self.orders]
        dense = np.zeros(shape)
        dense[tuple(self.frequencies.T)] = theta
        second = np.zeros(self.size)
        for chosen in itertools.product((0, 1), repeat=len(self.orders)):
            doubled = 2 * self.frequencies * np.array(chosen)
            counts = np.all((self.frequencies > 0) | (np.array(chosen) == 0), axis=1)
            second += counts * dense[tuple(doubled.T)] / math.sqrt(2.0) ** sum(chosen)
        return np.maximum(second - theta**2, 0.0) / n

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "kernel": kernel_to_dict(self.kernel), "cut": self.cut, "size": self.size}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Cosine:
        return checked_size(cls.spanning(gaussian_of(fields), cut=cut_of(fields)), fields)


def cosine_sums(weights: Floats) -> Floats:
    """sum_g weights[g] prod_i cos(pi k_i g_i / G_i) for all k: a DCT of the first kind."""
    for axis in range(weights.ndim):
        last = np.moveaxis(weights, axis, -1)
        sign = np.where(np.arange(last.shape[-1]) % 2 == 0, 1.0, -1.0)
        ends = last[..., :1] + sign * last[..., -1:]
        weights = np.moveaxis((dct(last, type=1, axis=-1) + ends) / 2, -1, axis)
    return weights
