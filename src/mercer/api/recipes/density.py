"""The public choices of a density release, and how accurate it will be: before any record is read."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mercer.columns.domain import Box, dimension_of
from mercer.common.checks import Floats, check_choice, check_count
from mercer.noise.mechanisms import MECHANISMS, Mechanism, Orbitope
from mercer.noise.mechanisms.base import check_promise, no_delta
from mercer.releases.density.smoothing import BasisField, unit_covariance, without_constant
from mercer.rules.public import (
    CIRCLES,
    ExpectedError,
    Variance,
    ball_rule,
    moment_degree,
    moment_rule,
    noise_bandwidth,
    orbitope_variance,
    rule_bandwidth,
)
from mercer.sensitive.summaries.density import row_sensitivity
from mercer.spaces.bases import REGISTRY, Basis, Cosine, Fourier, Moments, SpectralBasis
from mercer.spaces.bases.base import covariance_of, nodes_for
from mercer.spaces.bases.expansions import MOST_DEGREE
from mercer.spaces.bases.spectral import CUT
from mercer.spaces.kernels import KERNELS, Kernel, MaternKernel, norms

__all__ = ["FOLLOWS", "DensityPlan", "Recipe", "density_plan"]

SPECTRAL = ("cosine", "fourier", "moments")
FOLLOWS = (  # of a bandwidth that is chosen after the noise
    "the release chooses its own from the result, free: its noise can be larger "
    "and its smoothing error smaller"
)
_EXPANSIONS = ("hermite", "wavelet")
PRIVATE = ("private-scott", "private-cv")
_WORDS = ("auto", "rule", *PRIVATE)
_PURE_CUT = 0.03  # of the eigenvalues, for a given bandwidth: every function kept adds noise

_SIZES = {
    "landmarks": {1: 64, 2: 144, 3: 343},
    "eigenfunctions": {1: 32, 2: 100, 3: 200},
    "grid": {2: 33**2, 3: 11**3},
}
_FINEST = 0.002  # bandwidth, as a share of the width, that a grid on one column can follow


@dataclass(frozen=True)
class Recipe:
    """The public choices of a density: its kernels, its basis, its bandwidth, its noise."""

    kernel: str
    smoother: str
    boundary: str
    basis: str
    size: int | None
    bandwidth: object
    mechanism: Mechanism

    @classmethod
    def of(
        cls,
        kernel: object,
        smoother: object,
        boundary: object,
        basis: object,
        size: object,
        bandwidth: object,
        mechanism: object,
        *,
        delta: object,
        dimension: int | None,
    ) -> Recipe:
        noise = check_choice("kernel", kernel, tuple(KERNELS))
        shape = check_choice("smoother", smoother or "gaussian", tuple(KERNELS))
        if basis is not None:
            basis = check_choice("basis", basis, tuple(REGISTRY))
        mirrors = basis in (None, "cosine", "moments")
        opened = noise != "gaussian" or shape != "gaussian" or not mirrors
        if boundary is None:
            boundary = "periodic" if basis == "wavelet" else "open" if opened else "reflect"
        wall = check_choice("boundary", boundary, ("reflect", "periodic", "open"))
        plain = noise == shape == "gaussian" and basis in (None, "moments")
        line = plain and dimension not in (2, 3)
        chosen = _mechanism(mechanism, delta=delta, line=line, wall=wall)
        if isinstance(chosen, Orbitope) and dimension in (2, 3):
            raise ValueError(f"mechanism='orbitope' is for one column, got {dimension}; use 'l2' or leave it")
        if basis is None:
            if noise != "gaussian":
                basis = "grid" if not chosen.pure else "eigenfunctions"
            elif chosen.pure and line:
                basis = "moments"
            else:
                basis = "cosine" if wall == "reflect" else "fourier"
        _check_fit(noise, shape, wall, basis, chosen)
        if size is not None:
            size = _checked_size(size, basis)
        if isinstance(bandwidth, str) and bandwidth not in _WORDS:
            raise ValueError(
                "bandwidth must be a number, one number for each column, a matrix or one of "
                f"{', '.join(map(repr, _WORDS))}; got {bandwidth!r}"
            )
        return cls(noise, shape, wall, basis, size, bandwidth, chosen)

    @property
    def adaptive(self) -> bool:
        """Whether the bandwidth is chosen after the noise: only spectral coordinates can."""
        automatic = isinstance(self.bandwidth, str) and self.bandwidth == "auto"
        return automatic and self.basis in SPECTRAL

    @property
    def private(self) -> str | None:
        """The private choice of the bandwidth that a share of the budget pays for, or None."""
        word = self.bandwidth
        return word if isinstance(word, str) and word in PRIVATE else None

    def check(self, domain: Box) -> None:
        """Raise errors that follow from the bandwidth alone, before any record is read."""
        if not isinstance(self.bandwidth, str):
            covariance = unit_covariance(self.bandwidth, domain)
            if self.basis in _EXPANSIONS:
                raise ValueError(
                    f"bandwidth has no meaning for basis={self.basis!r}, which is not smoothed; "
                    "leave it out, and set size, the number of functions"
                )
            if self.basis != "moments":  # they need n as well
                self._kernels(covariance, self._given_cut)
            return
        if self.private and self.basis in _EXPANSIONS:
            raise ValueError(f"bandwidth={self.bandwidth!r} has no meaning for {self.basis!r}")
        any_width = covariance_of(np.eye(domain.dimension) * 0.01)
        norms(KERNELS[self.smoother](any_width), KERNELS[self.kernel](any_width))

    @property
    def _given_cut(self) -> float:
        """The least eigenvalue of a function that is kept, for a given bandwidth."""
        return _PURE_CUT if self.mechanism.pure else CUT

    def rule(self, domain: Box, *, n: int, epsilon: float, delta: float) -> ExpectedError:
        """The bandwidth by the public rule, and the error to be expected with it."""
        if self.basis in ("moments", *_EXPANSIONS):
            variance = self._variance(n=n, epsilon=epsilon, delta=delta)
            return moment_rule(variance, n=n, boundary=self.boundary)[1]
        d = domain.dimension
        if self.mechanism.pure:
            return ball_rule(n=n, epsilon=epsilon, dimension=d, boundary=self.boundary).expected
        multiplier = self.mechanism.multiplier(1, epsilon=epsilon, delta=delta)
        return rule_bandwidth(n=n, multiplier=multiplier, dimension=d, boundary=self.boundary)

    def build(self, domain: Box, *, n: int, epsilon: float, delta: float) -> tuple[Basis, Kernel]:
        """The basis and the kernel of the estimate."""
        promise = {"epsilon": epsilon, "delta": delta}
        if self.basis in ("moments", *_EXPANSIONS):
            return self._line(domain, n=n, **promise)
        if not isinstance(self.bandwidth, str):
            return self._kernels(unit_covariance(self.bandwidth, domain), self._given_cut)
        d, cut = domain.dimension, CUT
        if self.mechanism.pure and self.basis in SPECTRAL:
            ball = ball_rule(n=n, epsilon=epsilon, dimension=d, boundary=self.boundary)
            length, cut = ball.bandwidth, ball.cut
        elif self.adaptive:
            multiplier = self.mechanism.multiplier(1, **promise)
            length = noise_bandwidth(n=n, multiplier=multiplier, dimension=d, boundary=self.boundary)
        else:
            length = self.rule(domain, n=n, **promise).bandwidth
        return self._kernels(covariance_of(np.eye(d) * length**2), cut)

    def _variance(self, *, n: int, epsilon: float, delta: float) -> Variance:
        """The variance of the noise of each coefficient, as a function of the degree."""
        if isinstance(self.mechanism, Orbitope):
            return orbitope_variance(self.boundary, n=n, epsilon=epsilon)
        pair = 1 if self.boundary == "reflect" else 2
        length = CIRCLES[self.boundary][2]

        def variance(m: int) -> Floats:
            multiplier = self.mechanism.multiplier(pair * m + 1, epsilon=epsilon, delta=delta)
            reach = math.sqrt(2.5 * m) if self.mechanism.norm == "l2" else 2.0 * m
            return np.full(m, 2 / length * (multiplier * reach * math.sqrt(pair) / n) ** 2)

        return variance

    def _line(self, domain: Box, *, n: int, epsilon: float, delta: float) -> tuple[Basis, Kernel]:
        if domain.dimension != 1:
            raise ValueError(
                f"basis={self.basis!r} is for one column, got {domain.dimension}; leave basis out, "
                "and mechanism='orbitope'"
            )
        variance = self._variance(n=n, epsilon=epsilon, delta=delta)
        if isinstance(self.bandwidth, str):
            degree, expected = moment_rule(variance, n=n, boundary=self.boundary)
            covariance = covariance_of([[expected.bandwidth**2]])
        else:
            covariance = unit_covariance(self.bandwidth, domain)
            h = math.sqrt(covariance[0][0])
            degree = moment_degree(h, variance, n=n, boundary=self.boundary, most=MOST_DEGREE)
        if self.size is not None:
            degree = max(1, self.size - 1 if self.boundary == "reflect" else (self.size - 1) // 2)
        if self.basis == "moments":
            return Moments(degree, self.boundary), KERNELS["gaussian"](covariance)
        kernel = KERNELS["gaussian"](covariance)
        basis = REGISTRY[self.basis].spanning(kernel, self.size or max(2, min(degree, 128)))
        own = covariance_of([[float(basis.lengths[0]) ** 2]])  # what they can show
        return basis, KERNELS["gaussian"](own)

    def _kernels(self, covariance: tuple[tuple[float, ...], ...], cut: float) -> tuple[Basis, Kernel]:
        noise, shape = KERNELS[self.kernel](covariance), KERNELS[self.smoother](covariance)
        norms(shape, noise)  # raises where the estimate is not in the noise kernel's space
        if self.basis == "grid" and shape.smoothness < noise.smoothness:
            raise ValueError(
                f"smoother={self.smoother!r} must be at least as smooth as kernel={self.kernel!r} "
                "on a grid, whose points hold derivatives; use basis='landmarks'"
            )
        if self.basis == "fourier":
            periodic = self.boundary == "periodic"
            return Fourier.spanning(noise, periodic=periodic, cut=cut), shape
        if self.basis == "cosine":
            return Cosine.spanning(noise, cut=cut), shape
        return REGISTRY[self.basis].spanning(noise, self.size or self._size(noise)), shape

    def _size(self, noise: Kernel) -> int:
        """The number of points or functions, where the caller gives none."""
        if isinstance(noise, MaternKernel) and self.basis == "grid" and noise.dimension == 1:
            cells = nodes_for(noise.lengths)[0] - 1  # where rows stand; or twice as many
            cells = min(2 * cells, 1 << 13) if noise.states == 1 else min(cells, 1 << 12)
            if noise.lengths[0] < _FINEST:
                raise ValueError(
                    f"bandwidth must be at least {_FINEST:g} of the width of the bounds with "
                    f"kernel={noise.name!r}, got {noise.lengths[0]:.2g}: no grid is fine enough "
                    "for less; choose a larger one, or kernel='gaussian'"
                )
            return cells + 1
        return _SIZES.get(self.basis, {}).get(noise.dimension, 0)


@dataclass(frozen=True)
class DensityPlan:
    """What a density release would cost in accuracy: computed without any data."""

    n: int
    epsilon: float
    delta: float
    bandwidth: tuple[float, ...]  # given or the public rule's, in the units of the data
    finest: tuple[float, ...]  # bandwidth at which the noise is added, likewise
    coordinates: int
    privacy_error: float  # root expected integrated squared error due to noise, at `bandwidth`
    sampling_error: float  # the same due to sampling, privacy or not
    pointwise: float  # largest standard deviation of the noise at a point, density per unit

    @property
    def share(self) -> float:
        """The noise's share of the variance of the estimate."""
        return self.privacy_error**2 / (self.privacy_error**2 + self.sampling_error**2)


def density_plan(
    *,
    n: object,
    bounds: object,
    epsilon: float,
    delta: float | None = None,
    boundary: str = "reflect",
    bandwidth: object = "auto",
    mechanism: str | Mechanism | None = None,
) -> DensityPlan:
    """Accuracy of `density` before anything is spent: no data are needed."""
    count = check_count("n", n, least=2, most=10**15, hint="the public number of records")
    dimension = dimension_of(bounds) or 1
    domain = Box.of(bounds, ["x"] if dimension == 1 else [f"x{i + 1}" for i in range(dimension)])
    recipe = Recipe.of(
        "gaussian", None, boundary, None, None, bandwidth, mechanism, delta=delta, dimension=dimension
    )
    promise = check_promise(recipe.mechanism, epsilon, delta)
    chosen, smoothing = recipe.build(domain, n=count, **promise)
    assert isinstance(chosen, SpectralBasis)
    features = chosen.row_features(smoothing)
    sensitivity = row_sensitivity(features, count, chosen.size, recipe.mechanism.norm)
    noise = recipe.mechanism.calibrate(sensitivity, chosen.size, **promise)
    if recipe.adaptive:
        rule = recipe.rule(domain, n=count, **promise)
        final = covariance_of(np.eye(domain.dimension) * rule.bandwidth**2)
    else:
        final = smoothing.covariance
    finest = float(np.sqrt(np.min(np.diag(np.array(final)))))
    keep, volume = chosen.multiplier(final), domain.volume
    factors = without_constant(chosen, chosen.filter(final, "gaussian"))
    field = BasisField(chosen, noise.law, factors, 1 / volume, finest)
    accuracy = field.accuracy(volume=volume, tail=chosen.tail(final, "gaussian"))
    # without privacy a coefficient has variance about 1/n
    sampling = float(np.sum(keep**2)) * chosen.amplitude[0] ** 2 / (count * volume)
    return DensityPlan(
        n=count,
        **promise,
        bandwidth=_in_data_units(final, domain),
        finest=_in_data_units(smoothing.covariance, domain),
        coordinates=chosen.size,
        privacy_error=float(np.sqrt(accuracy.integrated)),
        sampling_error=float(np.sqrt(sampling)),
        pointwise=accuracy.pointwise,
    )


def _in_data_units(covariance: object, domain: Box) -> tuple[float, ...]:
    lengths = np.sqrt(np.diag(np.array(covariance, dtype=float))) * domain.widths
    return tuple(float(length) for length in lengths)


def _mechanism(value: object, *, delta: object, line: bool, wall: str) -> Mechanism:
    """The mechanism asked for, or the default: pure without a delta, Gaussian with one."""
    if value is None:
        value = "gaussian" if not no_delta(delta) else "orbitope" if line else "l2"
    if isinstance(value, str):
        names = [name for name in MECHANISMS if name != "geometric"]  # which is for counts
        chosen = MECHANISMS[check_choice("mechanism", value, names)]
        value = Orbitope(real=wall == "reflect") if chosen is Orbitope else chosen()
    if not isinstance(value, Mechanism):
        raise TypeError(f"mechanism must be a name or a Mechanism, got {type(value).__name__}")
    if value.norm == "body" or value.name == "geometric":
        raise ValueError(f"mechanism {value.name!r} does not fit a density")
    return value


def _checked_size(size: object, basis: str) -> int:
    if basis in ("cosine", "fourier"):
        raise ValueError(
            f"size cannot be set for the basis {basis!r}: the bandwidth sets it; choose "
            "basis='moments', 'landmarks', 'eigenfunctions' or 'grid'"
        )
    most = {"moments": 2 * MOST_DEGREE + 1, "grid": 1 << 14}.get(basis, 4096)
    return check_count("size", size, least=2, most=most, hint="points or functions")


def _check_fit(noise: str, shape: str, wall: str, basis: str, mechanism: Mechanism) -> None:
    if (basis == "cosine" and wall != "reflect") or (basis == "fourier" and wall == "reflect"):
        raise ValueError(f"basis={basis!r} does not fit boundary={wall!r}; leave basis out")
    if basis in SPECTRAL and noise != "gaussian":
        raise ValueError(f"basis={basis!r} needs kernel='gaussian', got kernel={noise!r}")
    if basis == "moments" and shape != "gaussian":
        raise ValueError(f"basis='moments' needs smoother='gaussian', got {shape!r}")
    if basis == "wavelet" and wall != "periodic":
        raise ValueError(f"basis='wavelet' needs boundary='periodic', got {wall!r}")
    if basis not in (*SPECTRAL, "wavelet") and wall != "open":
        raise ValueError(
            f"boundary={wall!r} needs kernel='gaussian' on cosine or Fourier coordinates; use "
            f"boundary='open' with kernel={noise!r} and basis={basis!r}"
        )
    if basis == "grid" and noise == "gaussian":
        raise ValueError(
            "basis='grid' needs kernel='exponential', 'matern32' or 'matern52': the Gaussian "
            "kernel has no Markov form"
        )
    if isinstance(mechanism, Orbitope) and basis != "moments":
        raise ValueError(
            f"mechanism='orbitope' is for moments of one column, not for basis={basis!r}; use mechanism='l2'"
        )
    if isinstance(mechanism, Orbitope) and mechanism.real != (wall == "reflect"):
        raise ValueError(
            f"Orbitope(real={mechanism.real}) does not fit boundary={wall!r}; name it mechanism='orbitope'"
        )
