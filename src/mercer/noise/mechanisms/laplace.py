"""Laplace noise and the two-sided geometric, exact on a lattice.  M3.6, M11, M14.

Both are the discrete Laplace law P(k) proportional to exp(-|k| / scale) of OpenDP's exact
sampler: on a fine lattice for real numbers, on the integers for counts.
docs/proofs/laplace.md.  Laplace noise for a quantile of the changes that pairs of records make
(thesis, Section 5.3) follows the records, so it keeps only the weaker promise (M14).
docs/proofs/random.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from mercer.common.checks import Floats, Ints
from mercer.common.streams import simulation
from mercer.noise.entropy import MAX_SCALE, Entropy
from mercer.noise.laws import LaplaceLaw
from mercer.noise.mechanisms.base import (
    AnyMechanism,
    Noise,
    PureMechanism,
    Randomiser,
    check_norm,
    check_promise,
    lattice_below,
)
from mercer.promise.events import PureEvent, RandomEvent, Sensitivity
from mercer.promise.weaker import pairs_of

__all__ = ["Geometric", "GeometricShare", "Laplace", "LaplaceNoise", "Paired", "PairedLaplace"]


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
        """Snap to the lattice, then add an integer number of steps in Python integers."""
        snapped = [int(value) for value in np.rint(coordinates / self.law.step)]
        draws = entropy.discrete_laplace(self.scale, len(snapped))
        return np.array([float(s + k) for s, k in zip(snapped, draws, strict=True)]) * self.law.step


@dataclass(frozen=True)
class Laplace(PureMechanism):
    """Independent Laplace noise in every coordinate: pure epsilon-DP in the l1 norm.

    The scale is Delta_1 / epsilon, with Delta_1 the bound on the l1 norm of the whole change; the
    thesis (4.4.1) prints its inverse and leaves out the bound of the basis (E6).
    """

    name = "laplace"
    norm = "l1"

    @property
    def words(self) -> str:
        return "Laplace on a lattice, exact discrete sampler"

    def multiplier(self, size: int, *, epsilon: float, delta: float) -> float:  # noqa: ARG002
        return math.sqrt(2.0) / epsilon

    def calibrate(
        self, sensitivity: Sensitivity, size: int, *, epsilon: float, delta: float = 0.0
    ) -> LaplaceNoise:
        """Snapping moves each coordinate by half a step at most, so two by size * step in all."""
        epsilon = check_promise(self, epsilon, delta)["epsilon"]
        check_norm(self, sensitivity)
        step = lattice_below(sensitivity.value / max(1.0, epsilon) / size)  # snapping costs 2^-20
        steps = (sensitivity.value / step + size) * (1 + 1e-12)
        scale = math.nextafter(steps / epsilon * (1 + 1e-12), math.inf)
        return LaplaceNoise(LaplaceLaw(scale * step, step), scale, PureEvent(epsilon))


@dataclass(frozen=True)
class Geometric(PureMechanism):
    """Two-sided geometric noise, so that counts stay integers: pure, in the l1 norm."""

    name = "geometric"
    norm = "l1"

    @property
    def words(self) -> str:
        return "two-sided geometric on whole numbers, exact discrete sampler"

    def multiplier(self, size: int, *, epsilon: float, delta: float) -> float:  # noqa: ARG002
        return 1 / (math.sqrt(2.0) * math.sinh(epsilon / 2))

    def calibrate(
        self,
        sensitivity: Sensitivity,
        size: int,  # noqa: ARG002
        *,
        epsilon: float,
        delta: float = 0.0,
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
    calibration = "exact"

    def calibrate(
        self,
        sensitivity: Sensitivity,
        size: int,  # noqa: ARG002
        *,
        epsilon: float,
        delta: float = 0.0,  # noqa: ARG002
    ) -> LaplaceNoise:
        """Integers lie on the lattice already, so the sensitivity is not widened."""
        check_norm(self, sensitivity)
        return _whole(sensitivity, epsilon)


class Paired(Protocol):
    """Values in pairs: exchanging the two records of a pair shows how far a statistic can move."""

    def spread(self, pairs: tuple[Ints, Ints], rank: int) -> float:
        """The `rank`-th smallest change of the statistic over these pairs."""
        ...

    def steps(self, step: float) -> int:
        """The statistic times n, in steps of a lattice, as an integer."""
        ...

    def exact(self) -> float:
        """The statistic without noise."""
        ...


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
        self,
        sensitivity: Sensitivity | None,  # noqa: ARG002
        size: int,  # noqa: ARG002
        *,
        epsilon: float,
        delta: float,
    ) -> PairedNoise:
        """The scale is found when the noise is drawn: no bound holds for all data sets."""
        event = RandomEvent(epsilon, delta, self.gamma)
        return PairedNoise(self.n, self.rank, 2 if self.asymptotic else 1, event)


def _whole(sensitivity: Sensitivity, epsilon: float) -> LaplaceNoise:
    scale = math.nextafter(sensitivity.value / epsilon * (1 + 1e-12), math.inf)
    return LaplaceNoise(LaplaceLaw(scale, 1.0), scale, PureEvent(epsilon))


def _lattice(spread: float, n: int, epsilon: float) -> tuple[float, float]:
    """The step, a power of two far below the noise, and the noise's scale in steps."""
    finest = max(spread / (max(1.0, epsilon) * n) * 2.0**-20, 4 * spread / epsilon / MAX_SCALE)
    step = math.ldexp(1.0, math.floor(math.log2(finest)))
    scale = (spread / step * (1 + 2.0**-40) + 1) / epsilon * (1 + 2.0**-40)
    return step, scale
