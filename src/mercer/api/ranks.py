"""What is drawn from the ranks of one column: quantiles, a spread, and counts beside them.  M12.

Whoever pays is a purse, or what was paid for all of them together.  docs/proofs/selection.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from mercer.api.shares import ENDS, part, pure
from mercer.common.checks import Ints
from mercer.door.publish import Paid, Payer, publish
from mercer.noise.laws import LaplaceLaw
from mercer.noise.mechanisms import Exponential, Geometric
from mercer.noise.mechanisms.laplace import GeometricShare
from mercer.promise.events import Sensitivity
from mercer.releases.choice import EndCounts
from mercer.sensitive.base import Scores, Whole
from mercer.sensitive.summaries.ranks import LogBins, Ranks, rank_sensitivity

__all__ = ["draw_ends", "draw_quantiles", "draw_spread", "propose_test_release", "threshold"]

_QUARTILES = (Fraction(1, 4), Fraction(3, 4))


def draw_ends(ranks: Ranks, epsilon: float, payer: Payer | Paid) -> EndCounts | None:
    """Rows with a number, at or below the lower bound, at or above the upper: epsilon-DP.

    Replacing a record moves the three counts by at most 2 together, times a person's weight
    (docs/proofs/selection.md, section 8).  None where the noise would be beyond all counts.
    """
    bound, weight = Sensitivity(2.0 * ranks.weight, norm="l1"), ranks.weight
    if not GeometricShare().calibrate(bound, 3, epsilon=epsilon).drawable:
        return None
    counts = [ranks.counts.sum(), ranks.counts[0], ranks.counts[-1]]

    def build(noisy: Sequence[float], law: LaplaceLaw, _statement: object) -> EndCounts:
        fits, lower, upper = (float(count) / weight for count in noisy)
        steps = 0.0 if law.scale < 1e-3 else 1 / (math.sqrt(2.0) * math.sinh(0.5 / law.scale))
        return EndCounts(fits, lower, upper, steps / weight, ENDS)

    ends = Whole(counts, bound, n=ranks.n, unit=ranks.unit, name="ends")
    return publish(ends, GeometricShare(), build, payer, promise=pure(epsilon))


def draw_quantiles(
    ranks: Ranks, levels: Sequence[Fraction], nodes: Ints, epsilon: float, payer: Payer | Paid
) -> list[int]:
    """For each level the place of the point chosen, with an even share of epsilon each."""
    promise = pure(part(epsilon, len(levels)))
    out = []
    for level in levels:
        moved = rank_sensitivity(level, ranks.weight)
        scores = Scores(ranks.scores(level, nodes), moved, n=ranks.n, unit=ranks.unit)
        out.append(publish(scores, Exponential(), lambda place, *_: int(place), payer, promise=promise))
    return out


def draw_spread(ranks: Ranks, epsilon: float, payer: Payer | Paid) -> float:
    """The interquartile range of a column as a share of its bounds, from two private quartiles."""
    nodes = np.arange(ranks.cells + 1)
    low, high = draw_quantiles(ranks, _QUARTILES, nodes, epsilon, payer)
    return max(high - low, 0) / ranks.cells


def propose_test_release(ranks: Ranks, epsilon: float, delta: float, payer: Payer | Paid) -> float | None:
    """The interquartile range as a share of the bounds, or None: (2 epsilon, delta)-DP.

    The distance A(D) moves by at most 1: discrete Laplace noise of scale 1/epsilon makes the test
    epsilon-DP.  Where A(D) <= 1 it passes with probability at most delta; where A(D) >= 2 the
    logarithms of neighbours are less than a bin apart, and noise of scale bin/epsilon is enough.
    """
    bins = LogBins(ranks.n, ranks.cells)
    log, distance = ranks.spread(bins)

    def passes(noisy: Sequence[float], law: LaplaceLaw, _statement: object) -> bool:
        return noisy[0] > threshold(law.scale, delta)

    def spread(noisy: Sequence[float], *_: object) -> float:
        return bins.cells_of(noisy[0]) / ranks.cells

    n, unit, steps = ranks.n, ranks.unit, Sensitivity(float(bins.steps), norm="l1")
    test = Whole([distance], Sensitivity(1.0, norm="l1"), n=n, unit=unit, name="distance")
    if not publish(test, Geometric(), passes, payer, promise=pure(epsilon)):
        return None
    kept = Whole([log], steps, n=n, unit=unit, name="logarithm")
    return publish(kept, Geometric(), spread, payer, promise=pure(epsilon))


def threshold(scale: float, delta: float) -> int:
    """Least whole t with P(Z >= t) = r^t / (1 + r) <= delta, r = e^(-1/scale): discrete Laplace."""
    least = scale * (-math.log(delta) - math.log1p(math.exp(-1 / scale)))
    return max(1, math.ceil(least * (1 + 1e-12) + 1e-12))
