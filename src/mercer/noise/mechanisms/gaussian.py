"""The Gaussian mechanism on a lattice, exact to the last bit.  M1, M2, M3.5; Hall 2013, Cor. 9."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mercer.common.checks import Floats, check_choice, check_count
from mercer.noise.entropy import MAX_SCALE, Entropy
from mercer.noise.laws import Normal
from mercer.noise.mechanisms.base import Mechanism, Noise, check_norm, check_promise
from mercer.promise.accountants import classic_multiplier, gaussian_multiplier
from mercer.promise.events import GaussianEvent, Sensitivity

__all__ = ["Gaussian", "GaussianNoise"]


@dataclass(frozen=True)
class GaussianNoise(Noise):
    """Discrete Gaussian noise of standard deviation `scale` steps on the lattice step * Z."""

    law: Normal
    scale: float  # standard deviation in steps of the lattice
    event: GaussianEvent

    def add(self, coordinates: Floats, entropy: Entropy) -> Floats:
        """Snap to the lattice, then add an integer number of steps in Python integers.

        The step is a power of two, so nothing is rounded but by the snap itself; the sums are
        rounded to doubles last: post-processing of integers.
        """
        snapped = [int(value) for value in np.rint(coordinates / self.law.step)]
        draws = entropy.discrete_gaussian(self.scale, len(snapped))
        sums = [float(s + k) for s, k in zip(snapped, draws, strict=True)]
        return np.array(sums) * self.law.step


@dataclass(frozen=True)
class Gaussian(Mechanism):
    """Independent Gaussian noise in orthonormal coordinates: (epsilon, delta)-DP, delta > 0.

    M1 (`calibration="analytic"`, exact) or Hall 2013, Proposition 3 (`"classic"`, E1).
    """

    calibration: str = "analytic"

    name = "gaussian"
    norm = "l2"
    pure = False

    def __post_init__(self) -> None:
        check_choice("calibration", self.calibration, ("analytic", "classic"))

    @property
    def words(self) -> str:
        return "Gaussian on a lattice, exact discrete sampler"

    def multiplier(self, size: int, *, epsilon: float, delta: float) -> float:  # noqa: ARG002
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
