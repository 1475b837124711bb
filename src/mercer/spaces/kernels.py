"""Kernels k(x, y) on the unit cube with k(x, x) = 1.

Each is a positive-definite function of x - y and a product over the coordinates, except the
Gaussian with a full matrix.  A kernel knows its spectral density, how often its functions can
be differentiated, and, where it has one, its Markov form (M7).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.polynomial.hermite_e import hermeval
from scipy.spatial.distance import cdist
from scipy.special import gammaln

from mercer.common.checks import Floats

__all__ = [
    "KERNELS",
    "ExponentialKernel",
    "GaussianKernel",
    "Kernel",
    "Matern32",
    "Matern52",
    "MaternKernel",
    "Norms",
    "gaussian_frequencies",
    "norms",
]


@dataclass(frozen=True, repr=False)
class Kernel(ABC):
    """A stationary kernel; `covariance` holds squared length scales, in unit coordinates."""

    covariance: tuple[tuple[float, ...], ...]

    name: ClassVar[str]
    nonnegative: ClassVar[bool] = True  # then ||k_x - k_y||^2 <= 2 (M4)

    def __repr__(self) -> str:
        """The kernel by its name in `mercer.kernels`."""
        return f"{type(self).__name__.removesuffix('Kernel')}(covariance={self.covariance!r})"

    @property
    def dimension(self) -> int:
        """The number of coordinates of a point."""
        return len(self.covariance)

    @cached_property
    def lengths(self) -> Floats:
        """Length scale of each coordinate."""
        lengths = np.sqrt(np.diag(np.array(self.covariance)))
        lengths.flags.writeable = False
        return lengths

    @cached_property
    def diagonal(self) -> bool:
        """Whether the kernel is a product over the coordinates."""
        matrix = np.array(self.covariance)
        return bool(np.all(matrix == np.diag(np.diag(matrix))))

    @property
    @abstractmethod
    def smoothness(self) -> float:
        """Matern's nu: functions of the kernel's space have derivatives below nu + 1/2."""

    @property
    def mass(self) -> float:
        """Integral of k(x, .) over the whole space: 1/mass makes a density of it."""
        return math.prod(float(self.spectrum(np.zeros(1), i)[0]) for i in range(self.dimension))

    @abstractmethod
    def profile(self, r: Floats, axis: int, order: int = 0) -> Floats:
        """The factor of one coordinate at the signed distance r, differentiated `order` times."""

    @abstractmethod
    def spectrum(self, omega: Floats, axis: int) -> Floats:
        """The spectral density: Fourier transform of the factor of one coordinate."""

    def __call__(self, x: Floats, y: Floats, orders: tuple[int, ...] | None = None) -> Floats:
        """Matrix of k(x_i, y_j), differentiated in x if `orders` says so."""
        value = np.ones((len(x), len(y)))
        for axis in range(self.dimension):
            order = 0 if orders is None else orders[axis]
            value *= self.profile(x[:, None, axis] - y[None, :, axis], axis, order)
        return value


@dataclass(frozen=True, repr=False)
class GaussianKernel(Kernel):
    """k(x, y) = exp(-(x - y)' H^-1 (x - y) / 2), H the covariance."""

    name = "gaussian"

    @property
    def smoothness(self) -> float:
        return math.inf

    @property
    def mass(self) -> float:
        matrix = 2 * math.pi * np.array(self.covariance)
        return math.sqrt(float(np.linalg.det(matrix)))

    def profile(self, r: Floats, axis: int, order: int = 0) -> Floats:
        h = self.lengths[axis]
        steps = r / h
        decay = np.asarray(np.exp(-(steps**2) / 2))
        if not order:
            return decay
        series = np.zeros(order + 1)
        series[order] = (-1 / h) ** order
        return hermeval(steps, series) * decay

    def spectrum(self, omega: Floats, axis: int) -> Floats:
        h = self.lengths[axis]
        return math.sqrt(2 * math.pi) * h * np.exp(-((omega * h) ** 2) / 2)

    def __call__(self, x: Floats, y: Floats, orders: tuple[int, ...] | None = None) -> Floats:
        if self.diagonal and (orders is None or not any(orders)):
            return np.exp(cdist(x / self.lengths, y / self.lengths, "sqeuclidean") * -0.5)
        if self.diagonal:
            return super().__call__(x, y, orders)
        if orders is not None and any(orders):
            raise ValueError(
                "derivatives of landmark releases need a diagonal bandwidth; "
                "use basis='fourier' with a full matrix"
            )
        return np.exp(cdist(self._white(x), self._white(y), "sqeuclidean") * -0.5)

    @cached_property
    def _whitening(self) -> Floats:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(np.array(self.covariance))).T)

    def _white(self, x: Floats) -> Floats:
        """Whitened points, for which the covariance is I.  Rounded points have a Gaussian kernel too.

        Products are added one after the other, so that a point is rounded alike in any batch.
        """
        white = np.zeros(x.shape)
        for column, row in zip(x.T, self._whitening, strict=True):
            white = white + column[:, None] * row
        return white


class MaternKernel(Kernel):
    """Matern with nu = states - 1/2: Markov in the state (f, (D + rate) f, (D + rate)^2 f).

    M7; the path and its conditional laws are in `markov.py`.
    """

    states: ClassVar[int]

    @property
    def smoothness(self) -> float:
        return self.states - 0.5

    def rate(self, axis: int) -> float:
        """The rate lambda = sqrt(2 nu) / length: 1/length for the exponential kernel."""
        return math.sqrt(2 * self.smoothness) / float(self.lengths[axis])

    def profile(self, r: Floats, axis: int, order: int = 0) -> Floats:
        if order >= self.states:
            raise ValueError(
                f"order must be below {self.states} for the kernel {self.name!r}, got {order}: "
                "its functions have no further derivatives; choose a smoother kernel"
            )
        rate = self.rate(axis)
        s = rate * np.abs(r)
        decay = np.exp(-s)
        if self.states == 1:
            return np.asarray(decay)
        if order == 0:
            shape = 1 + s if self.states == 2 else 1 + s + s**2 / 3
        elif order == 1:
            slope = -rate * np.sign(r)
            shape = s * slope if self.states == 2 else (s + s**2) / 3 * slope
        else:
            shape = (s**2 - s - 1) / 3 * rate**2
        return np.asarray(shape * decay)

    def spectrum(self, omega: Floats, axis: int) -> Floats:
        rate, a = self.rate(axis), self.states
        return _spectral_constant(a) * rate ** (2 * a - 1) / (rate**2 + omega**2) ** a


@dataclass(frozen=True, repr=False)
class ExponentialKernel(MaternKernel):
    """k = exp(-|x - y| / length) in each coordinate: the Sobolev space of M6."""

    name = "exponential"
    states = 1


@dataclass(frozen=True)
class Matern32(MaternKernel):
    """k = (1 + s) exp(-s), s = sqrt(3) |x - y| / length, in each coordinate."""

    name = "matern32"
    states = 2


@dataclass(frozen=True)
class Matern52(MaternKernel):
    """k = (1 + s + s^2/3) exp(-s), s = sqrt(5) |x - y| / length, in each coordinate."""

    name = "matern52"
    states = 3


def gaussian_frequencies(pairs: int, dimension: int, rng: np.random.Generator) -> Floats:
    """Frequencies with the spectral law of the Gaussian kernel of unit bandwidth, one row each.

    They are orthogonal in blocks, so that averages over them converge faster.
    """
    blocks = []
    for _ in range(math.ceil(pairs / dimension)):
        q, r = np.linalg.qr(rng.standard_normal((dimension, dimension)))
        lengths = np.sqrt(rng.chisquare(dimension, dimension))
        blocks.append(lengths[:, None] * (q * np.sign(np.diag(r))))
    return np.concatenate(blocks)[:pairs]


KERNELS: dict[str, type[Kernel]] = {
    kernel.name: kernel for kernel in (GaussianKernel, ExponentialKernel, Matern32, Matern52)
}


@dataclass(frozen=True)
class Norms:
    """Bounds on norms of a smoother s in the space of a noise kernel."""

    axes: tuple[float, ...]  # bound on the norm of each one-dimensional factor
    norm: float  # bound on ||s_x||
    diameter: float  # bound on ||s_x - s_y||, and on ||s_x||


def norms(smoother: Kernel, noise: Kernel) -> Norms:
    """Bounds on the norm of the smoother's density s_x in the space of `noise`, and on ||s_x - s_y||.

    Smoother and noise alike: s_x = K_x / mass, so the norm is 1/mass and, K being >= 0, the
    distance at most sqrt2 / mass (M4).  Otherwise, on the whole line, ||s||^2 =
    1/(2 pi) int |s^(w)|^2 / S(w) dw with S the spectral density of the noise kernel; restricting
    functions to the domain only lowers norms (M6).  A Gaussian smoother of bandwidth h has
    <s_x, s_y> = N(u), a polynomial times exp(-u^2/4), u = (x - y)/h, whose least value gives the
    distance; in several coordinates the least product has one factor at its least and the others
    at their greatest, N(0).  A Matern smoother gets 2 ||s||.
    """
    if smoother == noise:
        axes = tuple(1 / float(noise.spectrum(np.zeros(1), i)[0]) for i in range(noise.dimension))
        return Norms(axes, 1 / noise.mass, math.sqrt(2) / noise.mass)
    if not noise.smoothness < 2 * smoother.smoothness or not isinstance(noise, MaternKernel):
        raise ValueError(
            f"kernel={noise.name!r} cannot hide an estimate smoothed by {smoother.name!r}: its "
            f"functions have {_degree(noise.smoothness)}, and the estimate is too rough to be one "
            "of them, so no finite amount of this noise is enough (M6); choose a rougher noise "
            "kernel ('exponential'), or the same kernel for both"
        )
    if not (smoother.diagonal and noise.diagonal):
        raise ValueError(
            f"bandwidth must be a number or one number a column with kernel={noise.name!r}: a "
            "slanted smoother has no known norm in its space"
        )
    square, least, sides = 1.0, 0.0, []
    for axis in range(noise.dimension):
        if isinstance(smoother, MaternKernel):
            top, ratio = _matern_norm(smoother, noise, axis), -1.0
        else:
            top, ratio = _gaussian_inner(float(smoother.lengths[axis]), noise, axis)
        square *= top
        least = min(least, ratio)
        sides.append(math.sqrt(top))
    return Norms(tuple(sides), math.sqrt(square), math.sqrt(2 * square * (1 - least)))


def _degree(smoothness: float) -> str:
    if math.isinf(smoothness):
        return "derivatives of every order"
    return f"about {smoothness + 0.5:g} square-integrable derivatives"


def _gaussian_inner(h: float, noise: MaternKernel, axis: int) -> tuple[float, float]:
    """N(0) and min_u N(u) / N(0), N(u) = 1/(2 pi) int exp(-h^2 w^2) cos(w u) / S(w) dw.

    1/S is a polynomial in w^2, and w^(2p) is (-1)^p times the 2p-th derivative of the Gaussian
    exp(-u^2/4h^2) / (2 sqrt(pi) h): Hermite polynomials in u / (sqrt(2) h).
    """
    a, rate = noise.states, noise.rate(axis)
    scale = 1 / (_spectral_constant(a) * rate ** (2 * a - 1))
    v = np.linspace(0.0, 12.0, 120_001)  # u = sqrt(2) h v; beyond, N is below 1e-25 of N(0)
    hermite = np.zeros(2 * a + 1)
    for p in range(a + 1):
        hermite[2 * p] = math.comb(a, p) * rate ** (2 * (a - p)) * (-1) ** p / (math.sqrt(2) * h) ** (2 * p)
    inner = scale / (2 * math.sqrt(math.pi) * h) * hermeval(v, hermite) * np.exp(-(v**2) / 2)
    # between grid points the curve falls below its grid minimum by at most step^2/8 max|N''|,
    # and max|N''| / N(0) is at most the second moment 2a + 1 of w^(2a) exp(-w^2/2)
    step = float(v[1] - v[0])
    return float(inner[0]), float(inner.min() / inner[0]) - (2 * a + 1) * step**2 / 8


def _matern_norm(smoother: MaternKernel, noise: MaternKernel, axis: int) -> float:
    """1/(2 pi) int (l^2/(l^2 + w^2))^(2a) / S(w) dw, a finite sum of Beta integrals.

    Finite exactly when noise.smoothness < 2 smoother.smoothness.
    """
    a, b = smoother.states, noise.states
    rate, mu = smoother.rate(axis), noise.rate(axis)
    total = 0.0
    for p in range(b + 1):
        beta = math.exp(gammaln(p + 0.5) + gammaln(2 * a - p - 0.5) - gammaln(2 * a))
        total += math.comb(b, p) * mu ** (2 * (b - p)) * rate ** (2 * p + 1) * beta
    return total / (2 * math.pi * _spectral_constant(b) * mu ** (2 * b - 1))


def _spectral_constant(a: int) -> float:
    """The C for which S(w) = C rate^(2a-1) / (rate^2 + w^2)^a has integral 2 pi: 2, 4, 16/3."""
    return 2 * math.sqrt(math.pi) * math.exp(gammaln(a) - gammaln(a - 0.5))
