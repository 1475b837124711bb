"""What cosine and Fourier bases share: closed forms for the Gaussian kernel.

Both are eigenfunctions of a Gaussian kernel on a torus (M2, M11).
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from mercer.common.checks import Floats, Ints
from mercer.spaces.bases.base import UNIT_ROUNDOFF, Basis, kernel_from_dict, most_nodes, positive_int
from mercer.spaces.kernels import GaussianKernel, Kernel
from mercer.spaces.series import Harmonics, TrigSeries, exp

__all__ = [
    "CUT",
    "SpectralBasis",
    "checked_size",
    "covariance_sum",
    "cut_of",
    "differentiated",
    "fft_growth",
    "gaussian_of",
    "kept",
    "orders_above_cut",
    "theta_sum",
    "wrapped_least",
]

CUT = 1e-6  # coordinates are kept while their eigenvalue is at least this
MOST_COORDINATES = 1 << 20

Spectral = TypeVar("Spectral", bound="SpectralBasis")


class SpectralBasis(Basis):
    """Eigenfunctions psi_k of a Gaussian kernel with eigenvalues lambda_k = exp(-w_k' H w_k / 2).

    e_k = sqrt(lambda_k) psi_k, and a function has raw coefficients theta_k = c_k / sqrt(lambda_k).
    """

    kernel: GaussianKernel

    @cached_property
    @abstractmethod
    def axes(self) -> tuple[Harmonics, ...]:
        """The one-dimensional functions of each coordinate."""

    @cached_property
    @abstractmethod
    def frequencies(self) -> Ints:
        """The frequency numbers k of each coordinate, shape (m, d)."""

    @cached_property
    @abstractmethod
    def terms(self) -> tuple[tuple[Ints, Ints], ...]:
        """psi_k as signed products of the axes' functions: (flat index, sign) a term."""

    @cached_property
    @abstractmethod
    def amplitude(self) -> Floats:
        """The factor of each psi_k that makes it a unit vector in L2 of the torus."""

    @property
    @abstractmethod
    def kappa(self) -> float:
        """sqrt(sup K(x, x)) of the whole kernel, not only of the coordinates kept."""

    @property
    @abstractmethod
    def overlap(self) -> float:
        """A lower bound on K(x, y) over the domain, of the whole kernel."""

    @property
    def diameter(self) -> float:
        """A bound on ||K_x - K_y|| and on ||K_x||: sharper than M4's sqrt2 kappa where K > 0.

        ||K_x - K_y||^2 = K(x, x) + K(y, y) - 2 K(x, y) <= 2 (kappa^2 - inf K).
        """
        return max(self.kappa, math.sqrt(2 * (self.kappa**2 - self.overlap)))

    @abstractmethod
    def sampling_variance(self, theta: Floats, n: int) -> Floats:
        """Estimate of the variance of the coefficients of n rows with coefficients theta (M17)."""

    @property
    def widest(self) -> Floats:
        """Largest bandwidth of each coordinate: beyond it an open boundary would wrap round."""
        return np.full(len(self.axes), 4.0)

    @property
    def reflects(self) -> bool:
        """Whether the boundary is reflecting."""
        return not self.axes[0].sines

    @property
    def own(self) -> Floats:
        """Squared bandwidth of the estimate to which noise is added; smoothing can only add to it."""
        return np.array(self.kernel.covariance)

    @property
    def resolution(self) -> float:
        return 1 / max(axis.order * axis.rate for axis in self.axes)

    @property
    def smoothers(self) -> tuple[str, ...]:
        """The names of the smoothing filters that can be applied after the noise."""
        return ("gaussian",)

    def filter(self, covariance: tuple[tuple[float, ...], ...], smoother: str) -> Floats:
        """The factor of each coordinate in smoothing to this squared bandwidth."""
        del smoother  # only the Gaussian
        if covariance == self.kernel.covariance:
            return np.ones(self.size)
        return np.minimum(self.multiplier(covariance) / self.eigenvalues, 1.0)

    def tail(self, covariance: tuple[tuple[float, ...], ...], smoother: str) -> float:
        """Bound on the squared error of leaving out the other functions, after this smoothing.

        Coefficients of a density are at most amplitude * multiplier; the sum of the squares over
        all functions is the kernel of twice the covariance at a point.
        """
        del smoother
        twice = tuple(tuple(2 * value for value in row) for row in covariance)
        whole = replace(self, kernel=GaussianKernel(twice)).kappa ** 2  # type: ignore[type-var]
        return max(whole - float(np.sum(self.multiplier(twice) * self.amplitude**2)), 0.0)

    @property
    def size(self) -> int:
        return len(self.frequencies)

    @property
    def deficit(self) -> float:
        kept = float(np.sum(self.eigenvalues * self.amplitude**2))
        return max(self.kappa**2 - kept, 0.0)

    @cached_property
    def eigenvalues(self) -> Floats:
        """The eigenvalues lambda_k of the kernel of this basis."""
        return self.multiplier(self.kernel.covariance)

    def check_smoother(self, smoother: Kernel) -> None:
        """ValueError unless the smoother is the kernel of this basis."""
        if smoother != self.kernel:
            raise ValueError("a spectral basis releases the estimate of its own Gaussian kernel")

    def multiplier(self, covariance: object) -> Floats:
        """Eigenvalues of the Gaussian kernel of another covariance: its filter on raw coefficients."""
        return exp(-covariance_sum(self.angular, np.array(covariance, dtype=float)) / 2)

    @cached_property
    def angular(self) -> Floats:
        """The angular frequencies w_k, of shape (m, d)."""
        return self.frequencies * (math.pi * np.array([axis.rate for axis in self.axes]))

    def series(self, coordinates: Floats) -> TrigSeries:
        """The function sum_j c_j e_j as a trigonometric series."""
        return self.raw_series(np.sqrt(self.eigenvalues) * coordinates)

    def raw_series(self, theta: Floats) -> TrigSeries:
        """The trigonometric series sum_k theta_k psi_k of raw coefficients."""
        flat = np.zeros(math.prod(axis.size for axis in self.axes))
        for index, sign in self.terms:  # k and its mirror images share products
            np.add.at(flat, index, sign * (self.amplitude * theta))
        return TrigSeries(self.axes, flat.reshape([axis.size for axis in self.axes])).trimmed()

    def features(self, x: Floats, orders: tuple[int, ...] | None = None) -> Floats:
        scale = np.sqrt(self.eigenvalues) * self.amplitude
        out = np.zeros((len(x), self.size))
        shape = tuple(axis.size for axis in self.axes)
        tables = [
            differentiated(axis, x[:, i], 0 if orders is None else orders[i])
            for i, axis in enumerate(self.axes)
        ]
        for index, sign in self.terms:
            product = np.ones((self.size, len(x)))
            for table, position in zip(tables, np.unravel_index(index, shape), strict=True):
                product *= table[position]
            out += (product * (sign * scale)[:, None]).T
        return out

    def evaluate(self, x: Floats, coordinates: Floats, orders: tuple[int, ...] | None = None) -> Floats:
        series = self.series(coordinates)
        return (series if orders is None else series.derivative(orders))(x)

    def function(self, coordinates: Floats) -> Callable[[Floats], Floats]:
        return self.series(coordinates)

    def on_grid(self, ticks: Any, coordinates: Floats) -> Floats:
        return self.series(coordinates).grid(ticks)

    @property
    def spread(self) -> Floats:
        """Variance of the noise of each plain coordinate, in units of that of a released one."""
        return np.ones(self.size)

    def fft_rounding(self, *sides: int) -> float:
        """Bound on the error of coordinates computed by an FFT with these numbers of points a side.

        The input has 2-norm at most one, the output at most the root of the number of points.
        What follows the transform gets as much again of kappa.  docs/proofs/density.md.
        """
        peak = float(np.max(self.amplitude))
        tail = 16 * max(axis.size for axis in self.axes) * self.kappa
        growth = sum(fft_growth(side) for side in sides)
        return UNIT_ROUNDOFF * (growth * math.sqrt(math.prod(sides)) * peak + tail)


def fft_growth(points: int) -> float:
    """Bound on the relative error of a transform of this length in the 2-norm, in units of u.

    Higham, Accuracy and Stability of Numerical Algorithms, Theorem 24.2: about 7 u a factor of two;
    we take 16, and as much for each factor of two in 3, 5, 7 and 11, which have programs of their
    own too.  A larger prime p is added up term by term, at 2 (p + 4) sqrt(p), or the whole is done
    by Bluestein's three transforms of up to four times the length.
    """
    growth, left, prime, whole = 0.0, points, 2, 0.0
    while left > 1:
        if left % prime:
            prime += 1
            continue
        left //= prime
        if prime <= 11:
            growth += 16 * math.log2(prime)
        else:
            growth, whole = growth + 2 * (prime + 4) * math.sqrt(prime), 400 * math.log2(4 * points)
    return growth + whole


def covariance_sum(omega: Floats, covariance: Floats) -> Floats:
    """The quadratic form w' H w for each row w of omega, summed in a fixed order."""
    total = np.zeros(len(omega))
    for i, j in itertools.product(range(omega.shape[1]), repeat=2):
        if covariance[i, j] != 0:
            total = total + covariance[i, j] * omega[:, i] * omega[:, j]
    return total


def orders_above_cut(kernel: GaussianKernel, rates: list[float], cut: float) -> tuple[int, ...]:
    """Highest frequency along each axis with an eigenvalue above the cut."""
    limit = math.sqrt(-2 * math.log(cut))
    inverse = np.sqrt(np.diag(np.linalg.inv(np.array(kernel.covariance))))
    orders = tuple(
        max(1, math.floor(limit * float(reach) / (math.pi * rate)))
        for reach, rate in zip(inverse, rates, strict=True)
    )
    most = most_nodes(len(orders))
    if max(order * rate for order, rate in zip(orders, rates, strict=True)) > most - 1:
        least = float(np.max(inverse * kernel.lengths)) * limit / (math.pi * most)
        raise ValueError(
            f"bandwidth must be at least {least:.2g} times the width of the bounds in "
            f"{len(orders)} dimension(s), got {float(np.min(kernel.lengths)):.2g} times; use a "
            "larger bandwidth or narrower bounds"
        )
    return orders


def kept(box: Ints, kernel: GaussianKernel, rates: list[float], cut: float) -> Ints:
    """The rows of `box` (frequency numbers) whose eigenvalue is at least `cut`."""
    omega = box * (math.pi * np.array(rates))
    return box[covariance_sum(omega, np.array(kernel.covariance)) <= -2 * math.log(cut)]


def theta_sum(h: float, rate: float) -> float:
    """Bound on sum_(j>=1) exp(-(pi rate j h)^2 / 2), rounded up."""
    step = (math.pi * rate * h) ** 2 / 2
    j = np.arange(1, math.ceil(math.sqrt(60 / step)) + 2)
    return float(np.sum(np.exp(-step * j.astype(float) ** 2))) * (1 + 1e-9) + 1e-15


def wrapped_least(h: float, rate: float, away: float) -> float:
    """Lower bound on 1 + 2 sum_j exp(-(pi rate j h)^2 / 2) cos(pi rate j away), never below 0."""
    step = (math.pi * rate * h) ** 2 / 2
    j = np.arange(1, math.ceil(math.sqrt(60 / step)) + 2).astype(float)
    value = 1 + 2 * float(np.sum(np.exp(-step * j**2) * np.cos(math.pi * rate * away * j)))
    return max(0.0, value - 1e-12 * (1 + 2 * j.size))


def differentiated(axis: Harmonics, u: Floats, order: int) -> Floats:
    """Values at u of the functions of an axis, differentiated `order` times."""
    wide = Harmonics(axis.order, axis.rate, sines=True)
    table, k = wide.table(u), axis.order
    slope = axis.rate * math.pi * np.arange(1, k + 1)[:, None]
    for _ in range(order):
        table = np.concatenate([np.zeros((1, u.size)), -slope * table[k + 1 :], slope * table[1 : k + 1]])
    return table[: axis.size]


def gaussian_of(fields: dict[str, Any]) -> GaussianKernel:
    """The Gaussian kernel that a file describes; ValueError for any other."""
    kernel = kernel_from_dict(fields.get("kernel"))
    if not isinstance(kernel, GaussianKernel):
        raise ValueError("a spectral basis needs the gaussian kernel")
    return kernel


def cut_of(fields: dict[str, Any]) -> float:
    """The least eigenvalue that is kept.  Files of format 1 leave the field out."""
    cut = fields.get("cut", CUT)
    if isinstance(cut, bool) or not isinstance(cut, (int, float)) or not 1e-9 <= cut < 1:
        raise ValueError("basis cut must be a number in [1e-9, 1)")
    return float(cut)


def checked_size(basis: Spectral, fields: dict[str, Any]) -> Spectral:
    """The basis itself; ValueError unless it has the size that a file states."""
    if positive_int(fields, "size", MOST_COORDINATES) != basis.size:
        raise ValueError("basis size does not follow from its kernel: the file is damaged")
    return basis
