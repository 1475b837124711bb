"""Noise for counts, dense or sparse, exact on the whole numbers.  M1, M13.

Pure: two-sided geometric.  With a delta: a normal rounded to the nearest whole number, which is
post-processing of M1.  Sparse: what is left of the noisy table after cells at or below a public
threshold are set to zero, drawn without visiting the empty cells.  docs/proofs/counts.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mercer.common.checks import Ints, check_delta, check_epsilon
from mercer.noise.count_laws import MOST_SCALE, CountLaw, GeometricLaw, RoundedNormalLaw
from mercer.noise.entropy import Entropy
from mercer.noise.mechanisms.base import no_delta
from mercer.noise.whole import above_geometric, above_normal, geometric, passing, rounded_normal
from mercer.promise.accountants import gaussian_multiplier
from mercer.promise.events import GaussianEvent, PureEvent, Sensitivity

__all__ = ["CountNoise", "calibrate_counts"]

_BLOCK = 1 << 12  # draws are made in blocks: their number tells the occupied cells but roughly


@dataclass(frozen=True)
class CountNoise:
    """Noise of a known law, ready to be added to whole counts."""

    law: CountLaw
    event: PureEvent | GaussianEvent

    @property
    def words(self) -> str:
        """What the statement says about it."""
        if isinstance(self.law, GeometricLaw):
            return "two-sided geometric on whole numbers, exact sampler"
        return "Gaussian rounded to whole numbers, exact sampler"

    def draw(self, size: int, entropy: Entropy) -> Ints:
        """Noise alone."""
        if isinstance(self.law, GeometricLaw):
            return geometric(self.law.scale, size, entropy)
        return rounded_normal(self.law.scale, size, entropy)

    def add(self, counts: Ints, entropy: Entropy) -> Ints:
        """Noisy counts."""
        return counts + self.draw(len(counts), entropy)

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


def calibrate_counts(
    l1: Sensitivity, l2: Sensitivity, *, epsilon: object, delta: object = None
) -> CountNoise:
    """The noise that makes counts of these sensitivities private: pure, or with a delta (M1)."""
    if l1.norm != "l1" or l2.norm != "l2":
        raise ValueError("sensitivities of counts must be in the norms l1 and l2")
    number = check_epsilon(epsilon)
    if no_delta(delta):
        if l1.value != round(l1.value):
            raise ValueError("the l1 sensitivity of counts must be a whole number")
        scale = _checked(math.nextafter(l1.value / number * (1 + 1e-12), math.inf))
        return CountNoise(GeometricLaw(scale), PureEvent(number))
    small = check_delta(delta)
    multiplier = gaussian_multiplier(epsilon=number, delta=small)
    sigma = _checked(math.nextafter(multiplier * l2.value * (1 + 1e-12), math.inf))
    return CountNoise(RoundedNormalLaw(sigma), GaussianEvent(1 / multiplier, 0.0))


def _checked(scale: float) -> float:
    if scale >= MOST_SCALE:
        raise ValueError(
            f"epsilon is so small that noise would be of the order {scale:.3g}, at most "
            f"{MOST_SCALE:g} can be drawn; nothing was spent; use a larger one, fewer margins or "
            "fewer rows_per_person"
        )
    return scale
