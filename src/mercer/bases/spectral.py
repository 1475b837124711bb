"""Cosine and Fourier bases of the Gaussian kernel: closed forms, any number of points.  Layer 1.

Both are eigenfunctions of a Gaussian kernel on a torus (M2, M11): the cosines of the circle of
length two, folded onto [0, 1], give a reflecting boundary; the Fourier functions of period one a
periodic one; and those of a longer period, seen only on [0, 1], the papers' open boundary, since
a Gaussian does not reach round.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from mercer.bases.base import (
    Basis,
    Features,
    kernel_from_dict,
    kernel_to_dict,
    nodes_for,
    positive_int,
)
from mercer.checks import Floats, Ints
from mercer.exact import BITS, quantise
from mercer.kernels import Gaussian, Kernel
from mercer.series import Axis, TrigSeries, exp

__all__ = ["CUT", "Cosine", "Fourier", "SpectralBasis", "covariance_sum"]

CUT = 1e-9  # coordinates are kept while their eigenvalue is at least this
MOST_COORDINATES = 1 << 20
_WEIGHT_BITS = 60


class SpectralBasis(Basis):
    """Eigenfunctions psi_k of a Gaussian kernel with eigenvalues lambda_k = exp(-w_k' H w_k / 2).

    e_k = sqrt(lambda_k) psi_k, and a function has raw coefficients theta_k = c_k / sqrt(lambda_k).
    """

    kernel: Gaussian

    @cached_property
    @abstractmethod
    def axes(self) -> tuple[Axis, ...]:
        """The one-dimensional functions of each coordinate."""

    @cached_property
    @abstractmethod
    def frequencies(self) -> Ints:
        """K of each coordinate, shape (m, d)."""

    @cached_property
    @abstractmethod
    def terms(self) -> tuple[tuple[Ints, Ints], ...]:
        """psi_k as signed products of the axes' functions: (flat index, sign) a term."""

    @cached_property
    @abstractmethod
    def amplitude(self) -> Floats:
        """Factor of each psi_k that makes it a unit vector of L2 of the torus."""

    @property
    @abstractmethod
    def kappa(self) -> float:
        """sqrt(sup K(x, x)) of the whole kernel, not only of the coordinates kept."""

    @abstractmethod
    def sampling_variance(self, theta: Floats, n: int) -> Floats:
        """Estimate of the variance of the coefficients of n rows with coefficients theta (M17)."""

    @property
    def widest(self) -> Floats:
        """Largest bandwidth of each coordinate: beyond it an open boundary would wrap round."""
        return np.full(len(self.axes), 4.0)

    @property
    def size(self) -> int:
        return len(self.frequencies)

    @property
    def deficit(self) -> float:
        kept = float(np.sum(self.eigenvalues * self.amplitude**2))
        return max(self.kappa**2 - kept, 0.0)

    @cached_property
    def eigenvalues(self) -> Floats:
        """lambda_k of the basis' own kernel."""
        return self.multiplier(self.kernel.covariance)

    def multiplier(self, covariance: object) -> Floats:
        """Eigenvalues at another bandwidth: the KDE filter on the raw coefficients."""
        return exp(-covariance_sum(self.angular, np.array(covariance, dtype=float)) / 2)

    @cached_property
    def angular(self) -> Floats:
        """w_k, the angular frequency of each coordinate."""
        return self.frequencies * (math.pi * np.array([axis.rate for axis in self.axes]))

    def series(self, coordinates: Floats) -> TrigSeries:
        """sum_j c_j e_j as a trigonometric series."""
        return self.raw_series(np.sqrt(self.eigenvalues) * coordinates)

    def raw_series(self, theta: Floats) -> TrigSeries:
        """sum_k theta_k psi_k."""
        flat = np.zeros(math.prod(axis.size for axis in self.axes))
        for index, sign in self.terms:  # k and its mirror images share products
            np.add.at(flat, index, sign * (self.amplitude * theta))
        return TrigSeries(self.axes, flat.reshape([axis.size for axis in self.axes]))

    def features(self, x: Floats, orders: tuple[int, ...] | None = None) -> Floats:
        scale = np.sqrt(self.eigenvalues) * self.amplitude
        out = np.zeros((len(x), self.size))
        shape = tuple(axis.size for axis in self.axes)
        tables = [
            _differentiated(axis, x[:, i], 0 if orders is None else orders[i])
            for i, axis in enumerate(self.axes)
        ]
        for index, sign in self.terms:
            product = np.ones((self.size, len(x)))
            for table, position in zip(tables, np.unravel_index(index, shape), strict=True):
                product *= table[position]
            out += (product * (sign * scale)[:, None]).T
        return out

    def evaluate(
        self, x: Floats, coordinates: Floats, orders: tuple[int, ...] | None = None
    ) -> Floats:
        series = self.series(coordinates)
        return (series if orders is None else series.derivative(orders))(x)

    def on_grid(self, ticks: Any, coordinates: Floats) -> Floats:
        return self.series(coordinates).grid(ticks)

    def row_features(self, smoother: Kernel) -> Features:
        if smoother != self.kernel:
            raise ValueError("a spectral basis releases the estimate of its own Gaussian kernel")
        shape = nodes_for(self.kernel.lengths)
        tables = tuple(
            quantise(axis.table(np.linspace(0.0, 1.0, nodes)), 2.0**-BITS)
            for axis, nodes in zip(self.axes, shape, strict=True)
        )
        scale = np.sqrt(self.eigenvalues) * self.amplitude * 2.0**_WEIGHT_BITS
        d = len(self.axes)
        # a product of d entries is off by at most d 2^-BITS (and the weights by 2^-50 of them);
        # psi_k sums 2^(d-1) products, and the squared weights sum to at most 2 kappa^2
        error = 1.01 * 2 ** (d - 1) * d * 2.0**-BITS * math.sqrt(2) * self.kappa
        return Features(
            shape=shape,
            tables=tables,
            unit=Fraction(1, 2 ** (BITS * d + _WEIGHT_BITS)),
            norm=self.kappa + error,
            diameter=math.sqrt(2) * self.kappa * (1 + 1e-9) + 2 * error,
            rows=self.terms,
            weights=tuple(int(w) for w in scale),
        )


@dataclass(frozen=True)
class Cosine(SpectralBasis):
    """Reflecting boundary: products of 1 and sqrt2 cos(pi j u_i); the bandwidth is diagonal."""

    kernel: Gaussian
    orders: tuple[int, ...]  # highest frequency along each coordinate

    name = "cosine"

    @classmethod
    def for_kernel(cls, kernel: Gaussian) -> Cosine:
        """As many frequencies as the kernel has eigenvalues above the cut."""
        if not kernel.diagonal:
            raise ValueError(
                "bandwidth must be a number or one number a column with boundary='reflect': a "
                "slanted kernel does not reflect at a wall; use boundary='open' or 'periodic'"
            )
        return cls(kernel, _orders(kernel, [1.0] * kernel.dimension))

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        return tuple(Axis(order, 1.0, sines=False) for order in self.orders)

    @cached_property
    def frequencies(self) -> Ints:
        box = np.stack(np.meshgrid(*(np.arange(o + 1) for o in self.orders), indexing="ij"), -1)
        return _kept(box.reshape(-1, len(self.orders)), self.kernel, [1.0] * len(self.orders))

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
            square *= 1 + 2 * _theta_sum(h, 1.0)
        return math.sqrt(square)

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
        return {"name": self.name, "kernel": kernel_to_dict(self.kernel), "size": self.size}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Cosine:
        return _checked_size(cls.for_kernel(_gaussian(fields)), fields)


@dataclass(frozen=True)
class Fourier(SpectralBasis):
    """Functions sqrt2 cos(w_k u), sqrt2 sin(w_k u) of a torus with the given periods."""

    kernel: Gaussian
    periods: tuple[float, ...]
    orders: tuple[int, ...]

    name = "fourier"

    @classmethod
    def for_kernel(cls, kernel: Gaussian, *, periodic: bool) -> Fourier:
        """Period one, or long enough that a kernel of this bandwidth does not reach round.

        Open: the padding is the width of the domain or 9 bandwidths, whichever is more, so
        that smoothing up to a sixth of the width stays open as well.
        """
        periods = tuple(1.0 if periodic else 1 + max(1.0, 9 * float(h)) for h in kernel.lengths)
        return cls(kernel, periods, _orders(kernel, [2 / p for p in periods]))

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        return tuple(
            Axis(order, 2 / period, sines=True)
            for order, period in zip(self.orders, self.periods, strict=True)
        )

    @cached_property
    def _half_space(self) -> Ints:
        ranges = [np.arange(-order, order + 1) for order in self.orders]
        box = np.stack(np.meshgrid(*ranges, indexing="ij"), -1).reshape(-1, len(self.orders))
        lead = np.zeros(len(box), dtype=np.int64)
        for column in reversed(range(box.shape[1])):
            lead = np.where(box[:, column] != 0, np.sign(box[:, column]), lead)
        return _kept(box[lead > 0], self.kernel, [2 / p for p in self.periods])

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
            square = math.prod((1 + 2 * _theta_sum(h, 2 / p)) / p for h, p in pairs)
        else:  # wrapped normal density at 0, its images summed where they count
            images = np.array(list(itertools.product(range(-12, 13), repeat=len(self.periods))))
            inverse = np.linalg.inv(np.array(self.kernel.covariance))
            away = images * np.array(self.periods)
            square = float(np.sum(np.exp(-covariance_sum(away, inverse) / 2))) / self.kernel.mass
            square *= 1 + 1e-9
        return math.sqrt(square)

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
            "size": self.size,
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Fourier:
        periodic = fields.get("periodic")
        if not isinstance(periodic, bool):
            raise ValueError("basis periodic must be true or false")
        return _checked_size(cls.for_kernel(_gaussian(fields), periodic=periodic), fields)


def covariance_sum(omega: Floats, covariance: Floats) -> Floats:
    """Omega' H omega for each row, added in a fixed order."""
    total = np.zeros(len(omega))
    for i, j in itertools.product(range(omega.shape[1]), repeat=2):
        if covariance[i, j] != 0:
            total = total + covariance[i, j] * omega[:, i] * omega[:, j]
    return total


def _orders(kernel: Gaussian, rates: list[float]) -> tuple[int, ...]:
    """Highest frequency along each axis with an eigenvalue above the cut."""
    limit = math.sqrt(-2 * math.log(CUT))
    inverse = np.sqrt(np.diag(np.linalg.inv(np.array(kernel.covariance))))
    orders = tuple(
        max(1, math.floor(limit * float(reach) / (math.pi * rate)))
        for reach, rate in zip(inverse, rates, strict=True)
    )
    if math.prod(2 * order + 1 for order in orders) > 16 * MOST_COORDINATES:
        raise ValueError(
            f"bandwidth is too small for this dimension: it needs about {math.prod(orders)} "
            f"coordinates, at most {MOST_COORDINATES} are kept; use a larger bandwidth"
        )
    return orders


def _kept(box: Ints, kernel: Gaussian, rates: list[float]) -> Ints:
    omega = box * (math.pi * np.array(rates))
    return box[covariance_sum(omega, np.array(kernel.covariance)) <= -2 * math.log(CUT)]


def _theta_sum(h: float, rate: float) -> float:
    """Bound on sum_(j>=1) exp(-(pi rate j h)^2 / 2), rounded up."""
    step = (math.pi * rate * h) ** 2 / 2
    j = np.arange(1, math.ceil(math.sqrt(60 / step)) + 2)
    return float(np.sum(np.exp(-step * j.astype(float) ** 2))) * (1 + 1e-9) + 1e-15


def _differentiated(axis: Axis, u: Floats, order: int) -> Floats:
    """The axis' functions differentiated `order` times at u."""
    wide = Axis(axis.order, axis.rate, sines=True)
    table, k = wide.table(u), axis.order
    slope = axis.rate * math.pi * np.arange(1, k + 1)[:, None]
    for _ in range(order):
        table = np.concatenate([np.zeros((1, u.size)), -slope * table[k + 1 :], slope * table[1 : k + 1]])  # fmt: skip  # noqa: E501
    return table[: axis.size]


def _gaussian(fields: dict[str, Any]) -> Gaussian:
    kernel = kernel_from_dict(fields.get("kernel"))
    if not isinstance(kernel, Gaussian):
        raise ValueError("a spectral basis needs the gaussian kernel")
    return kernel


def _checked_size(basis: Any, fields: dict[str, Any]) -> Any:
    if positive_int(fields, "size", MOST_COORDINATES) != basis.size:
        raise ValueError("basis size does not follow from its kernel: the file is damaged")
    return basis
