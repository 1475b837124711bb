"""Laplace noise for a quantile of the changes that pairs of records make.  M14; thesis, Section 5.3.

The noise follows the records, so this keeps the weaker promise alone.  docs/proofs/random.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

from mercer.common.checks import Ints
from mercer.common.streams import simulation
from mercer.noise.entropy import MAX_SCALE, Entropy
from mercer.noise.mechanisms.base import Randomiser
from mercer.promise.events import Norm, RandomEvent, Sensitivity
from mercer.promise.weaker import pairs_of

__all__ = ["Paired", "PairedLaplace"]


class Paired(Protocol):
    """Values of which pairs say how far exchanging one for the other moves a statistic."""

    def spread(self, pairs: tuple[Ints, Ints], rank: int) -> float:
        """The rank-th smallest change."""
        ...

    def steps(self, step: float) -> int:
        """The statistic times n, in steps of a lattice."""
        ...

    def exact(self) -> float:
        """The statistic without noise."""
        ...


@dataclass(frozen=True)
class PairedNoise(Randomiser):
    """Noise for the change of this rank among n / 2 pairs."""

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
class PairedLaplace:
    """The noise of `rank`, times two where the promise is asymptotic."""

    n: int
    rank: int
    gamma: float
    asymptotic: bool

    norm: ClassVar[Norm] = "l1"
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
        """The scale is found when the noise is drawn: there is no bound for all data."""
        event = RandomEvent(epsilon, delta, self.gamma)
        return PairedNoise(self.n, self.rank, 2 if self.asymptotic else 1, event)


def _lattice(spread: float, n: int, epsilon: float) -> tuple[float, float]:
    """The step, a power of two far below the noise, and the noise's scale in steps."""
    finest = max(spread / (max(1.0, epsilon) * n) * 2.0**-20, 4 * spread / epsilon / MAX_SCALE)
    step = math.ldexp(1.0, math.floor(math.log2(finest)))
    scale = (spread / step * (1 + 2.0**-40) + 1) / epsilon * (1 + 2.0**-40)
    return step, scale
