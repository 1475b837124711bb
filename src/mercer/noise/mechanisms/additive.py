"""Independent noise in every coordinate, exact on a lattice: Gaussian, Laplace, two-sided geometric.

The Gaussian mechanism is (epsilon, delta)-DP: M1, M2, M3.5; Hall 2013, Cor. 9.  Laplace noise and
the two-sided geometric are pure: M3.6, M11.  Both of these are the discrete Laplace law P(k)
proportional to exp(-|k| / scale) of OpenDP's exact sampler: on a fine lattice for real numbers, on
the integers for counts.  docs/proofs/gaussian.md, docs/proofs/laplace.md.  Laplace noise for a
quantile of the changes that pairs of records make (thesis, Section 5.3) follows the records, so it
keeps only the weaker promise (M14).  docs/proofs/random.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from mercer.common.checks import Floats, Ints, check_choice, check_count
from mercer.common.streams import simulation
from mercer.noise.entropy import MAX_SCALE, Entropy
from mercer.noise.laws import LaplaceLaw, Normal
from mercer.noise.mechanisms.base import (
    AnyMechanism,
    Mechanism,
    Noise,
    PureMechanism,
    Randomiser,
    check_norm,
    check_promise,
    lattice_below,
    scale_above,
)
from mercer.promise.events import (
    GaussianEvent,
    PureEvent,
    RandomEvent,
    Sensitivity,
    classic_multiplier,
    gaussian_multiplier,
)
from mercer.promise.weaker import pairs_of

__all__ = [
    "Gaussian",
    "GaussianNoise",
    "GaussianShare",
    "Geometric",
    "GeometricShare",
    "Laplace",
    "LaplaceNoise",
    "Paired",
    "PairedLaplace",
]


@dataclass(frozen=True)
class GaussianNoise(Noise):
    """Discrete Gaussian noise of standard deviation `scale` steps on the lattice step * Z."""

    law: Normal
    scale: float  # standard deviation in steps of the lattice
    event: GaussianEvent

    def add(self, coordinates: Floats, entropy: Entropy) -> Floats:
        return _on_lattice(
            coordinates, self.law.step, entropy.discrete_gaussian(self.scale, len(coordinates))
        )


@dataclass(frozen=True)
class Gaussian(Mechanism):
    """Independent Gaussian noise in orthonormal coordinates: (epsilon, delta)-DP, delta > 0.

    M1 (`calibration="analytic"`, exact) or Hall 2013, Proposition 3 (`"classic"`, E1).
    """

    calibration: str = "analytic"

    name = "gaussian"
    norm = "l2"
    words = "Gaussian on a lattice, exact discrete sampler"
    pure = False

    def __post_init__(self) -> None:
        check_choice("calibration", self.calibration, ("analytic", "classic"))

    def multiplier(self, size: int, *, epsilon: float, delta: float) -> float:
        if self.calibration == "classic":
            return classic_multiplier(epsilon=epsilon, delta=delta)
        return gaussian_multiplier(epsilon=epsilon, delta=delta)

    def event(self, *, epsilon: float, delta: float) -> GaussianEvent:
        growth = 1 + math.exp(min(epsilon, 700.0))
        multiplier = self.multiplier(1, epsilon=epsilon, delta=delta)
        return GaussianEvent((1 + 1e-9) / multiplier, delta / (1000 * growth) * (1 + 1e-9))

    def calibrate(
        self, sensitivity: Sensitivity, size: int, *, epsilon: float, delta: float
    ) -> GaussianNoise:
        """M3.5: a lattice so fine that the discrete law costs at most delta/1000.

        Snapping widens the sensitivity by step * sqrt(size); the discrete Gaussian is within
        total variation 1/(40 scale^2) a coordinate of a rounded normal, which is post-processing
        of M1; so M1 holds at delta less (1 + e^epsilon) size / (40 scale^2).
        """
        promise = check_promise(self, epsilon, delta)
        epsilon, delta = promise["epsilon"], promise["delta"]
        check_norm(self, sensitivity)
        size = check_count("size", size, least=1, most=1 << 24, hint="coordinates released")
        growth = 1 + math.exp(min(epsilon, 700.0))
        least = max(2.0**30, math.sqrt(25 * growth * size / delta))
        if 2 * least > MAX_SCALE:
            raise ValueError(
                f"delta = {delta:g} with epsilon = {epsilon:g} and {size} coordinates needs a "
                "finer lattice than 64-bit draws allow; use a larger delta or a smaller epsilon"
            )
        slack = growth * size / (40 * least**2)
        multiplier = self.multiplier(size, epsilon=epsilon, delta=delta - slack)
        exponent = math.floor(math.log2(multiplier * sensitivity.value / least))
        step = math.ldexp(1.0, exponent)
        while multiplier * sensitivity.value < least * step:
            step /= 2
        widened = sensitivity.value + step * math.sqrt(size) * (1 + 1e-12)
        scale = float(math.ceil(multiplier * widened / step * (1 + 1e-12)))  # quicker to draw
        if scale > MAX_SCALE:
            raise ValueError(
                f"delta = {delta:g} with epsilon = {epsilon:g} needs a finer lattice than 64-bit "
                "draws allow; use a larger delta or a smaller epsilon"
            )
        return GaussianNoise(Normal(scale * step, step), scale, GaussianEvent(1 / multiplier, slack / growth))


@dataclass(frozen=True)
class GaussianShare(Mechanism, by_name=False):
    """`Gaussian` for a share of a promise's mu^2: its noise is 1 / sqrt(share) times as large.

    Gaussian releases compose to mu^2 = sum mu_i^2 (M1): releases whose shares add up to one keep the
    promise together, where each is given a delta that leaves room for the lattices of the others.
    """

    share: float

    name = "gaussian-share"
    norm = "l2"
    words = Gaussian.words
    calibration = Gaussian.calibration
    pure = False

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ValueError(f"share must be in (0, 1], got {self.share!r}: it is a part of mu^2")

    def multiplier(self, size: int, *, epsilon: float, delta: float) -> float:
        return Gaussian().multiplier(size, epsilon=epsilon, delta=delta) / math.sqrt(self.share)

    def event(self, *, epsilon: float, delta: float) -> GaussianEvent:
        return self._part(Gaussian().event(epsilon=epsilon, delta=delta))

    def calibrate(
        self, sensitivity: Sensitivity, size: int, *, epsilon: float, delta: float
    ) -> GaussianNoise:
        """The noise of a summary that moves 1 / sqrt(share) times as far, and a little further.

        The lattice widens the summary's own change by as much as the larger one's.  Twice that,
        divided by the root, is added first: a step is at most doubled by it.
        """
        root = math.sqrt(self.share)
        larger, whole = Sensitivity(sensitivity.value / root, sensitivity.norm), Gaussian()
        found = whole.calibrate(larger, size, epsilon=epsilon, delta=delta)
        spare = 2 * found.law.step * math.sqrt(size) / root
        larger = Sensitivity((larger.value + spare) * (1 + 1e-12), sensitivity.norm)
        found = whole.calibrate(larger, size, epsilon=epsilon, delta=delta)
        return GaussianNoise(found.law, found.scale, self._part(found.event))

    def _part(self, whole: GaussianEvent) -> GaussianEvent:
        return GaussianEvent(whole.mu * math.sqrt(self.share) * (1 + 1e-15), whole.distance)


@dataclass(frozen=True)
class LaplaceNoise(Noise):
    """Discrete Laplace noise of `scale` steps on the lattice step * Z."""

    law: LaplaceLaw
    scale: float
    event: PureEvent

    @property
    def drawable(self) -> bool:
        """Whether the scale is within what 64-bit draws allow."""
        return self.scale <= MAX_SCALE

    def add(self, coordinates: Floats, entropy: Entropy) -> Floats:
        return _on_lattice(coordinates, self.law.step, entropy.discrete_laplace(self.scale, len(coordinates)))


@dataclass(frozen=True)
class Laplace(PureMechanism):
    """Independent Laplace noise in every coordinate: pure epsilon-DP in the l1 norm.

    The scale is Delta_1 / epsilon, with Delta_1 the bound on the l1 norm of the whole change; the
    thesis (4.4.1) prints its inverse and leaves out the bound of the basis (E6).
    """

    name = "laplace"
    norm = "l1"
    words = "Laplace on a lattice, exact discrete sampler"

    def multiplier(self, size: int, *, epsilon: float, delta: float) -> float:
        return math.sqrt(2.0) / epsilon

    def calibrate(
        self, sensitivity: Sensitivity, size: int, *, epsilon: float, delta: float = 0.0
    ) -> LaplaceNoise:
        """Snapping moves each coordinate by half a step at most, so two by size * step in all."""
        epsilon = check_promise(self, epsilon, delta)["epsilon"]
        check_norm(self, sensitivity)
        step = lattice_below(sensitivity.value / max(1.0, epsilon) / size)  # snapping costs 2^-20
        steps = (sensitivity.value / step + size) * (1 + 1e-12)
        scale = scale_above(steps, epsilon)
        return LaplaceNoise(LaplaceLaw(scale * step, step), scale, PureEvent(epsilon))


@dataclass(frozen=True)
class Geometric(PureMechanism):
    """Two-sided geometric noise, so that counts stay integers: pure, in the l1 norm."""

    name = "geometric"
    norm = "l1"
    words = "two-sided geometric on whole numbers, exact discrete sampler"

    def multiplier(self, size: int, *, epsilon: float, delta: float) -> float:
        return 1 / (math.sqrt(2.0) * math.sinh(epsilon / 2))

    def calibrate(
        self, sensitivity: Sensitivity, size: int, *, epsilon: float, delta: float = 0.0
    ) -> LaplaceNoise:
        """Integers lie on the lattice already, so the sensitivity is not widened."""
        epsilon = check_promise(self, epsilon, delta)["epsilon"]
        check_norm(self, sensitivity)
        if sensitivity.value != round(sensitivity.value):
            raise ValueError(
                "sensitivity must be a whole number for the geometric mechanism, got "
                f"{sensitivity.value:g}: it releases counts; use 'laplace' for other numbers"
            )
        return _whole(sensitivity, epsilon)


@dataclass(frozen=True)
class GeometricShare(AnyMechanism[Floats, Floats]):
    """`Geometric` for a share of an epsilon that was checked as a whole: it may be below 1e-9."""

    norm = "l1"
    words = "discrete Laplace noise"

    def calibrate(
        self, sensitivity: Sensitivity, size: int, *, epsilon: float, delta: float = 0.0
    ) -> LaplaceNoise:
        """Integers lie on the lattice already, so the sensitivity is not widened."""
        check_norm(self, sensitivity)
        return _whole(sensitivity, epsilon)


class Paired(Protocol):
    """Values in pairs: exchanging the two records of a pair shows how far a statistic can move."""

    def spread(self, pairs: tuple[Ints, Ints], rank: int) -> float:
        """The `rank`-th smallest change of the statistic over these pairs."""

    def steps(self, step: float) -> int:
        """The statistic times n, in steps of a lattice, as an integer."""

    def exact(self) -> float:
        """The statistic without noise."""


@dataclass(frozen=True)
class PairedNoise(Randomiser[Paired, tuple[float, float]]):
    """Laplace noise for the change of a given rank among n / 2 pairs of records."""

    n: int
    rank: int
    factor: int
    event: RandomEvent

    law = None  # its scale follows the records

    def randomise(self, exact: Paired, entropy: Entropy) -> tuple[float, float]:
        """The statistic with noise, and the noise's scale; 0 where so many pairs change nothing."""
        spread = exact.spread(pairs_of(self.n, simulation(self.n)), self.rank)
        if spread == 0.0:
            return exact.exact(), 0.0
        step, scale = _lattice(spread, self.n, self.event.epsilon / self.factor)
        noisy = exact.steps(step) + int(entropy.discrete_laplace(scale, 1)[0])
        return float(Fraction(noisy) * Fraction(step) / self.n), scale * step / self.n


@dataclass(frozen=True)
class PairedLaplace(AnyMechanism[Paired, tuple[float, float]]):
    """Laplace noise for the change of `rank`; twice as much if the promise is asymptotic."""

    n: int
    rank: int
    gamma: float
    asymptotic: bool

    norm = "l1"
    words = "Laplace on a lattice, for a quantile of the changes that pairs of records make"
    calibration = "quantile"

    def calibrate(
        self, sensitivity: Sensitivity | None, size: int, *, epsilon: float, delta: float
    ) -> PairedNoise:
        """The scale is found when the noise is drawn: no bound holds for all data sets."""
        event = RandomEvent(epsilon, delta, self.gamma)
        return PairedNoise(self.n, self.rank, 2 if self.asymptotic else 1, event)


def _on_lattice(coordinates: Floats, step: float, draws: list[int]) -> Floats:
    """Snap to the lattice, then add an integer number of steps in Python integers.

    The step is a power of two, so nothing is rounded but by the snap itself; the sums are
    rounded to doubles last: post-processing of integers.
    """
    snapped = [int(value) for value in np.rint(coordinates / step)]
    return np.array([float(s + k) for s, k in zip(snapped, draws, strict=True)]) * step


def _whole(sensitivity: Sensitivity, epsilon: float) -> LaplaceNoise:
    scale = scale_above(sensitivity.value, epsilon)
    return LaplaceNoise(LaplaceLaw(scale, 1.0), scale, PureEvent(epsilon))


def _lattice(spread: float, n: int, epsilon: float) -> tuple[float, float]:
    """The step, a power of two far below the noise, and the noise's scale in steps."""
    finest = max(spread / (max(1.0, epsilon) * n) * 2.0**-20, 4 * spread / epsilon / MAX_SCALE)
    step = math.ldexp(1.0, math.floor(math.log2(finest)))
    scale = (spread / step * (1 + 2.0**-40) + 1) / epsilon * (1 + 2.0**-40)
    return step, scale
