"""Draws that choices are made of, from records that are counted already.

Nothing here charges: whoever calls has gone through `Held.charge`, and so through the door.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from mercer.api.density.recipe import dimension_of
from mercer.columns.domain import Domain
from mercer.columns.reading import PLAIN, Reading
from mercer.common.checks import Ints
from mercer.door.publish import Purse, spend
from mercer.noise.entropy import MAX_SCALE, Entropy
from mercer.noise.mechanisms.exponential import Choice, Exponential
from mercer.promise.events import ApproximateEvent, Event, PureEvent, Sensitivity
from mercer.promise.statement import Statement
from mercer.releases.choice import EndCounts
from mercer.releases.findings import share
from mercer.sensitive.base import Sensitive
from mercer.sensitive.data import open_rows
from mercer.sensitive.summaries.ranks import LogBins, Ranks, rank_sensitivity
from mercer.sensitive.summaries.tally import Tally, tally_rows

__all__ = [
    "Held",
    "check_share",
    "draw_ends",
    "draw_quantiles",
    "draw_spread",
    "propose_test_release",
    "shares",
]

_QUARTILES = (Fraction(1, 4), Fraction(3, 4))
ENDS = 0.02  # share of epsilon for the counts of `draw_ends`
_COUNTED = f", and {share(ENDS)} of epsilon for three counts with discrete Laplace noise"
_TESTED = "exact discrete Laplace on a lattice of logarithms, after a test of stability"


class Held(Sensitive):
    """Records counted on the fine grid, with what is public of them."""

    def __init__(
        self,
        data: object,
        bounds: object,
        columns: object,
        unit: str | None,
        purse: Purse,
        reading: Reading = PLAIN,
        *,
        one: bool,
    ) -> None:
        self.purse = purse
        dimension = 1 if one else dimension_of(bounds)
        rows = open_rows(
            data, columns=columns, unit=unit, dimension=dimension, bounds=bounds, reading=reading
        )
        if one and len(rows.names) != 1:
            raise ValueError(f"columns must be one column, got {len(rows.names)}; name it")
        self.domain = Domain.of(bounds, rows.names)
        self.tally = tally_rows(rows, self.domain)
        self.unit = rows.unit or "row"
        self.n = self.tally.rows if rows.unit is None else self.tally.persons
        if self.n < 2:
            raise ValueError(f"data must have at least 2 records, got {self.n}; nothing was spent")
        self.name = rows.names[0]

    def charge(self, epsilon: float, what: str, delta: float = 0.0, *, counted: bool = False) -> Statement:
        """Through the door: charge, then the statement; `counted`: for `draw_ends` too."""
        event: Event = ApproximateEvent(epsilon, delta) if delta else PureEvent(epsilon)
        return spend(
            (event,),
            self.purse,
            epsilon=epsilon,
            delta=delta,
            n=self.n,
            unit=self.unit,
            words=(_TESTED if delta else Choice.words) + (_COUNTED if counted else ""),
            calibration="propose-test-release" if delta else Exponential.calibration,
            what=what,
        )


def shares(epsilon: float, choices: int) -> tuple[float, float]:
    """Epsilon of the choices and of the counts beside: their sum is at most the whole, exactly."""
    counts = part(epsilon, round(1 / ENDS))
    choice = epsilon - counts
    while Fraction(choice) + Fraction(counts) > Fraction(epsilon):
        choice = math.nextafter(choice, 0.0)
    check_share(choice, choices)  # before anything is charged
    return choice, counts


def draw_ends(ranks: Ranks, epsilon: float, entropy: Entropy) -> EndCounts | None:
    """Rows with a number, at or below the lower bound, at or above the upper: epsilon-DP.

    Replacing a record moves the three counts by at most 2 together, times a person's weight
    (docs/proofs/selection.md, section 8).  None where the noise would be beyond all counts.
    """
    scale = _scale(2 * ranks.weight, epsilon)
    if scale > MAX_SCALE:
        return None
    counts = np.array([ranks.counts.sum(), ranks.counts[0], ranks.counts[-1]])
    bound = Sensitivity(2.0 * ranks.weight, norm="l1")
    entropy.witness("ends", counts, bound)
    noise = entropy.discrete_laplace(scale, 3)
    fits, lower, upper = ((int(a) + int(b)) / ranks.weight for a, b in zip(counts, noise, strict=True))
    steps = 0.0 if scale < 1e-3 else 1 / (math.sqrt(2.0) * math.sinh(0.5 / scale))
    deviation = steps / ranks.weight
    return EndCounts(fits, lower, upper, deviation, ENDS)


def draw_quantiles(
    ranks: Ranks, levels: Sequence[Fraction], nodes: Ints, epsilon: float, entropy: Entropy
) -> list[int]:
    """For each level the place of the point chosen, with an even share of epsilon each."""
    share = part(epsilon, len(levels))
    out = []
    for level in levels:
        sensitivity = rank_sensitivity(level, ranks.weight)
        choice = Exponential().calibrate(sensitivity, epsilon=share)
        out.append(choice.choose(ranks.scores(level, nodes), entropy))
    return out


def draw_spread(tally: Tally, axis: int, n: int, epsilon: float, entropy: Entropy) -> float:
    """The interquartile range of a column as a share of its bounds, from two private quartiles."""
    ranks = Ranks(tally, axis, n=n)
    nodes = np.arange(ranks.cells + 1)
    low, high = draw_quantiles(ranks, _QUARTILES, nodes, epsilon, entropy)
    return max(high - low, 0) / ranks.cells


def propose_test_release(ranks: Ranks, epsilon: float, delta: float, entropy: Entropy) -> float | None:
    """The interquartile range as a share of the bounds, or None: (2 epsilon, delta)-DP.

    The distance A(D) moves by at most 1: discrete Laplace noise of scale 1/epsilon makes the test
    epsilon-DP.  Where A(D) <= 1 it passes with probability at most delta; where A(D) >= 2 the
    logarithms of neighbours are less than a bin apart, and noise of scale bin/epsilon is enough.
    """
    bins = LogBins(ranks.n, ranks.cells)
    log, distance = ranks.spread(bins)
    entropy.witness("distance", np.array([distance]), Sensitivity(1, norm="score"))
    test, scale = _scale(1, epsilon), _scale(bins.steps, epsilon)
    if distance + entropy.discrete_laplace(test, 1)[0] <= threshold(test, delta):
        return None
    entropy.witness("logarithm", np.array([log]), Sensitivity(bins.steps, norm="l1"))
    return bins.cells_of(log + entropy.discrete_laplace(scale, 1)[0]) / ranks.cells


def threshold(scale: float, delta: float) -> int:
    """Least whole t with P(Z >= t) = r^t / (1 + r) <= delta, r = e^(-1/scale): discrete Laplace."""
    least = scale * (-math.log(delta) - math.log1p(math.exp(-1 / scale)))
    return max(1, math.ceil(least * (1 + 1e-12) + 1e-12))


def check_share(epsilon: float, count: int) -> None:
    """Refuse an epsilon that cannot be shared by so many choices, before it is charged."""
    if epsilon / count < 1.001e-9:
        raise ValueError(
            "epsilon must be in [1e-9, 1e9] for each choice that is made with it, and is too "
            f"small to be shared: {epsilon:g} for {count} choice(s); nothing was spent; use a "
            "larger epsilon"
        )


def part(epsilon: float, count: int) -> float:
    """An even share, rounded down so that `count` of them never exceed epsilon."""
    share = epsilon / count
    while Fraction(share) * count > Fraction(epsilon):
        share = math.nextafter(share, 0.0)
    return share


def _scale(steps: int, epsilon: float) -> float:
    return math.nextafter(steps / epsilon * (1 + 1e-12), math.inf)
