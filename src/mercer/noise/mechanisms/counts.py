"""Mechanisms for counts, exact on the integers.  M1, M13.

Pure noise is two-sided geometric.  With a delta it is a normal rounded to the nearest integer,
which is post-processing of M1.  A sparse table is what is left of the noisy table after cells at or
below a public threshold are set to zero; it is drawn without visiting the empty cells.
docs/proofs/counts.md.  For one count there is also the matrix of least risk, and under the weaker
promise (M14) rare counts are released without noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from mercer.common.checks import Bools, Ints, check_delta, check_epsilon
from mercer.noise.count_laws import MOST_SCALE, CountLaw, GeometricLaw, RoundedNormalLaw
from mercer.noise.entropy import Entropy
from mercer.noise.exact import above_geometric, above_normal, geometric, passing, rounded_normal
from mercer.noise.mechanisms.base import (
    AnyMechanism,
    Randomiser,
    check_norm,
    check_pure,
    no_delta,
    scale_above,
)
from mercer.noise.optimal import OptimalCount
from mercer.promise.events import (
    GaussianEvent,
    Norm,
    PureEvent,
    RandomEvent,
    Sensitivity,
    gaussian_multiplier,
)

__all__ = [
    "CountMechanism",
    "CountNoise",
    "GeometricCounts",
    "OptimalMatrix",
    "RareCounts",
    "RoundedGaussian",
    "SparseCounts",
    "count_mechanism",
    "threshold_of",
]

_BLOCK = 1 << 12  # noise is drawn in blocks: the time shows the number of occupied cells only roughly


@dataclass(frozen=True)
class CountNoise(Randomiser[Ints, Ints]):
    """Noise of a known law, ready to be added to integer counts."""

    law: CountLaw
    event: PureEvent | GaussianEvent

    @property
    def parameters(self) -> tuple[float, ...]:
        return (self.law.scale,)

    def draw(self, size: int, entropy: Entropy) -> Ints:
        """`size` independent draws of the noise."""
        if isinstance(self.law, GeometricLaw):
            return geometric(self.law.scale, size, entropy)
        return rounded_normal(self.law.scale, size, entropy)

    def randomise(self, exact: Ints, entropy: Entropy) -> Ints:
        """The counts plus noise."""
        return exact + self.draw(len(exact), entropy)

    def sparse(
        self, keys: Ints, counts: Ints, cells: int, threshold: int, entropy: Entropy
    ) -> tuple[Ints, Ints]:
        """Cells whose noisy count is above the threshold (>= 0), rising, and their counts.

        `keys` and `counts` are of the occupied cells among all `cells`.  Of the empty ones each
        passes with the chance that noise alone is above the threshold: the gaps between those
        that pass are geometric, and their counts are noise given that it passed.  The same law as
        noise in every cell, at a cost that follows the cells that are occupied or pass.
        """
        size = -(-max(len(keys), 1) // _BLOCK) * _BLOCK
        noisy = counts + self.draw(size, entropy)[: len(keys)]
        kept = noisy > threshold
        chance = self.law.above(threshold)
        ranks = passing(cells - len(keys), cells, chance, lambda: self.law.above_ball(threshold), entropy)
        places = np.array(ranks, dtype=np.int64)
        before = keys - np.arange(len(keys))  # empty cells before each occupied one
        empty = places + np.searchsorted(before, places, side="right")
        above = above_geometric if isinstance(self.law, GeometricLaw) else above_normal
        values = above(self.law.scale, threshold, len(ranks), entropy)
        all_keys = np.concatenate([keys[kept], empty])
        order = np.argsort(all_keys, kind="stable")
        return all_keys[order], np.concatenate([noisy[kept], values])[order]


@dataclass(frozen=True)
class GeometricCounts(AnyMechanism[Ints, Ints]):
    """Two-sided geometric noise: pure, in the l1 norm, for counts whose sensitivity is an integer."""

    norm = "l1"
    words = "two-sided geometric on whole numbers, exact sampler"

    def calibrate(
        self, sensitivity: Sensitivity, size: int = 1, *, epsilon: float, delta: float = 0.0
    ) -> CountNoise:
        """The number of counts does not matter: the sensitivity is that of all counts together."""
        number = check_pure(epsilon, delta)
        check_norm(self, sensitivity)
        if sensitivity.value != round(sensitivity.value):
            raise ValueError("the l1 sensitivity of counts must be a whole number")
        scale = _checked(scale_above(sensitivity.value, number))
        return CountNoise(GeometricLaw(scale), PureEvent(number))


@dataclass(frozen=True)
class RoundedGaussian(AnyMechanism[Ints, Ints]):
    """Normal noise rounded to the nearest integer: (epsilon, delta)-DP, in the l2 norm (M1)."""

    norm = "l2"
    words = "Gaussian rounded to whole numbers, exact sampler"

    def calibrate(
        self, sensitivity: Sensitivity, size: int = 1, *, epsilon: float, delta: float
    ) -> CountNoise:
        """The number of counts does not matter: the sensitivity is that of all counts together."""
        number, small = check_epsilon(epsilon), check_delta(delta)
        check_norm(self, sensitivity)
        multiplier = gaussian_multiplier(epsilon=number, delta=small)
        sigma = _checked(math.nextafter(multiplier * sensitivity.value * (1 + 1e-12), math.inf))
        return CountNoise(RoundedNormalLaw(sigma), GaussianEvent(1 / multiplier, 0.0))


CountMechanism: TypeAlias = GeometricCounts | RoundedGaussian


def count_mechanism(delta: object = None) -> CountMechanism:
    """Noise for counts: geometric without a delta, rounded normal with one."""
    return GeometricCounts() if no_delta(delta) else RoundedGaussian()


def threshold_of(noise: CountNoise, cells: int, occupied: int | None) -> int:
    """The public threshold of a sparse release: noise alone passes it with chance q / 2p.

    (2 / epsilon) ln(p / q) for geometric noise (thesis, Proposition 2.4.3), q = 1 unless the
    number of occupied cells is known in public.
    """
    return int(noise.law.threshold((occupied or 1) / (2 * cells)))


@dataclass(frozen=True)
class SparseNoise(Randomiser[tuple[Ints, Ints, int], tuple[Ints, Ints]]):
    """Noise on all cells of a table, of which only counts above a public threshold are released."""

    noise: CountNoise
    threshold: int

    @property
    def event(self) -> PureEvent | GaussianEvent:  # type: ignore[override]
        return self.noise.event

    @property
    def law(self) -> CountLaw:
        return self.noise.law

    @property
    def parameters(self) -> tuple[float, ...]:
        return (self.law.scale, self.threshold)

    def randomise(self, exact: tuple[Ints, Ints, int], entropy: Entropy) -> tuple[Ints, Ints]:
        """Keys and noisy counts of the cells kept.

        `exact` holds keys and counts of the occupied cells, and the number of all cells.
        """
        keys, counts, cells = exact
        return self.noise.sparse(keys, counts, cells, self.threshold, entropy)


@dataclass(frozen=True)
class SparseCounts(AnyMechanism[tuple[Ints, Ints, int], tuple[Ints, Ints]]):
    """Noise on all cells of a large table, of which those above a public threshold are kept."""

    inner: CountMechanism
    threshold: int

    @property
    def norm(self) -> Norm:  # type: ignore[override]
        """The norm of the noise that is thresholded."""
        return self.inner.norm

    @property
    def words(self) -> str:
        """A description of the noise for the statement of a release."""
        return f"{self.inner.words}; cells above the public threshold {self.threshold} are kept"

    def calibrate(
        self, sensitivity: Sensitivity, size: int = 1, *, epsilon: float, delta: float = 0.0
    ) -> SparseNoise:
        """The noise that all cells get, occupied or not."""
        return SparseNoise(
            self.inner.calibrate(sensitivity, size, epsilon=epsilon, delta=delta), self.threshold
        )


@dataclass(frozen=True)
class MatrixNoise(Randomiser[Ints, Ints]):
    """Answers drawn with the exact probabilities of a matrix."""

    law: OptimalCount

    @property
    def event(self) -> PureEvent:  # type: ignore[override]
        return PureEvent(self.law.epsilon)

    def randomise(self, exact: Ints, entropy: Entropy) -> Ints:
        return np.array([self.law.draw(int(count), entropy) for count in exact])


@dataclass(frozen=True)
class OptimalMatrix(AnyMechanism[Ints, Ints]):
    """The mechanism of least risk for one count that a record moves by at most one."""

    chosen: OptimalCount

    norm = "l1"

    @property
    def words(self) -> str:
        """A description of the noise for the statement of a release."""
        how = "minimax" if self.chosen.prior is None else "Bayes-optimal"
        return f"{how} matrix for the {self.chosen.loss} loss, drawn exactly"

    def calibrate(
        self, sensitivity: Sensitivity, size: int = 1, *, epsilon: float, delta: float = 0.0
    ) -> MatrixNoise:
        """The matrix itself; ValueError if it does not keep this promise."""
        check_norm(self, sensitivity)
        if size != 1 or sensitivity.value != 1 or epsilon < self.chosen.epsilon or delta:
            raise ValueError(
                "an optimal matrix is for one count of sensitivity 1 and a pure promise of its own epsilon"
            )
        return MatrixNoise(self.chosen)


@dataclass(frozen=True)
class RareNoise(Randomiser[Ints, tuple[Ints, Bools]]):
    """Noise on all counts but rare ones, which are released without noise."""

    noise: CountNoise
    most: int
    event: RandomEvent

    @property
    def law(self) -> CountLaw:
        return self.noise.law

    def randomise(self, exact: Ints, entropy: Entropy) -> tuple[Ints, Bools]:
        """The released counts, and which of them are exact."""
        noisy = self.noise.randomise(exact, entropy)
        rare = exact <= self.most
        return np.where(rare, exact, noisy), rare


@dataclass(frozen=True)
class RareCounts(AnyMechanism[Ints, tuple[Ints, Bools]]):
    """Counts of at most `most` are exact, all others noisy: for the weaker promise alone (M14)."""

    most: int  # below 0: none
    told: str  # a description of what is exact, for the statement
    gamma: float  # the share of data sets for which nothing is promised

    norm = "l1"

    @property
    def words(self) -> str:
        """A description of the noise for the statement of a release."""
        return f"{GeometricCounts.words}; {self.told}"

    def calibrate(
        self, sensitivity: Sensitivity, size: int = 1, *, epsilon: float, delta: float = 0.0
    ) -> RareNoise:
        """The noise that counts get which are not rare."""
        inner = GeometricCounts().calibrate(sensitivity, size, epsilon=epsilon, delta=delta)
        return RareNoise(inner, self.most, RandomEvent(epsilon, delta, self.gamma))


def _checked(scale: float) -> float:
    if scale >= MOST_SCALE:
        raise ValueError(
            f"epsilon is so small that noise would be of the order {scale:.3g}, at most "
            f"{MOST_SCALE:g} can be drawn; nothing was spent; use a larger one, fewer margins or "
            "fewer rows_per_person"
        )
    return scale
