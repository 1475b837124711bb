"""The door for the weaker promise: nothing is charged, since no ledger counts it.  M14.

What gets noise is not shown to a replay: its test is of differential privacy.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from mercer.common.checks import check_worthwhile
from mercer.common.streams import simulation
from mercer.common.version import __version__
from mercer.door.publish import Rehearsed
from mercer.ledger.claims import claim_on
from mercer.ledger.ledger import LedgerError
from mercer.noise.entropy import MAX_SCALE, Entropy
from mercer.noise.mechanisms.counts import CountNoise
from mercer.promise.statement import rows_words
from mercer.promise.weaker import (
    RandomStatement,
    asymptotic_delta,
    asymptotic_rank,
    pair_rank,
    pairs_of,
    rarest,
)
from mercer.releases.counts.histogram import HistogramRelease
from mercer.releases.counts.number import Condition, CountRelease
from mercer.releases.counts.statistic import StatisticRelease
from mercer.releases.findings import tell
from mercer.sensitive.summaries.cell_counts import CellCounts
from mercer.sensitive.summaries.paired_values import PairedValues

__all__ = [
    "Weaker",
    "check_unclaimed",
    "publish_random_cells",
    "publish_random_count",
    "publish_random_statistic",
]


@dataclass(frozen=True)
class Weaker:
    """What is promised, to whom, and where noise comes from."""

    epsilon: float
    gamma: Fraction
    unit: str
    n: int
    entropy: Entropy
    what: str = ""  # is released
    insist: bool = False
    dry: bool = False  # say what would be released, and stop there

    def statement(
        self, mechanism: str, unprotected: str, *, delta: float = 0.0, asymptotic: bool = False
    ) -> RandomStatement:
        """In words; a promise that protects next to nobody is refused before anything is drawn."""
        check_worthwhile(self.epsilon, delta, self.n, insist=self.insist)
        made = RandomStatement(
            epsilon=self.epsilon,
            delta=delta,
            gamma=float(self.gamma),
            asymptotic=asymptotic,
            unit=self.unit,
            n=self.n,
            mechanism=mechanism,
            unprotected=unprotected,
            secure=self.entropy.secure,
            version=__version__,
        )
        if self.dry:
            raise Rehearsed(made, self.what, "no ledger can count a weaker promise")
        return made


def check_unclaimed(data: object, entropy: Entropy) -> None:
    """LedgerError for a file whose releases a ledger counts: it cannot count this one."""
    found = claim_on(data)
    if found is not None and entropy.secure:
        raise LedgerError(
            f"releases of these data are counted in the ledger {found[1].where!r}; random "
            "differential privacy fails for a share gamma of data sets, so the ledger cannot count "
            "it and its total would no longer hold; nothing was released; use mercer.histogram, "
            "mercer.proportion or mercer.density with ledger="
        )


def publish_random_cells(
    counts: CellCounts, noise: CountNoise, weaker: Weaker, *, complete: bool
) -> HistogramRelease:
    """Rare cells as they are, noise in all others, and which is which (thesis, (5.3))."""
    cells, n = counts.axes.cells, weaker.n
    most = rarest(n, cells, weaker.gamma)
    told = f"cells with at most {most} of the {n} records as they are" if most >= 0 else "no cell as it is"
    who = (
        f"whoever is in one of the cells with at most {most} of the {n} records, which are told "
        "exactly; that is, people whose values are rare"
        if most >= 0
        else "none here, since every cell got noise"
    )
    rows = rows_words(weaker.unit, counts.most)
    statement: Any = weaker.statement("; ".join(filter(None, (noise.words, told, rows))), who)
    plain = counts.dense()
    noisy = noise.add(plain, weaker.entropy)
    exact = plain <= most
    values = np.where(exact, plain, noisy)
    return tell(HistogramRelease(counts.axes, statement, noise.law, None, values, None, complete, exact))


def publish_random_count(count: int, noise: CountNoise, weaker: Weaker, *, words: str) -> CountRelease:
    """A rare count as it is, any other with noise, and which of the two (thesis, (5.1))."""
    most, n = rarest(weaker.n, 1, weaker.gamma), weaker.n
    told = f"a count of at most {most} of {n} as it is" if most >= 0 else "no count as it is"
    who = (
        f"those few for whom the condition holds where they are at most {most} of the {n} "
        "records: their number is then told exactly"
        if most >= 0
        else "none here, since the count got noise"
    )
    statement: Any = weaker.statement(f"{noise.words}; {told}", who)
    noisy = count + int(noise.draw(1, weaker.entropy)[0])
    if count <= most:
        return CountRelease(Condition(words), statement, None, count, True)
    return tell(CountRelease(Condition(words), statement, noise.law, noisy, True))


def publish_random_statistic(
    values: PairedValues, weaker: Weaker, *, words: str, asymptotic: bool
) -> StatisticRelease:
    """Laplace noise for a quantile of the changes that pairs of records make (thesis, 5.3)."""
    n, pairs = weaker.n, weaker.n // 2
    delta = asymptotic_delta(n, weaker.epsilon) if asymptotic else 0.0
    rank = asymptotic_rank(n, pairs, weaker.gamma) if asymptotic else pair_rank(pairs, weaker.gamma)
    if rank is None or delta is None:
        gamma = float(weaker.gamma)
        least = (
            math.ceil(max(4 * math.log(4 / gamma) / gamma**2, 4 / weaker.epsilon**2, 3))
            if asymptotic
            else 2 * math.ceil(3 / weaker.gamma)
        )
        raise ValueError(
            f"gamma = {gamma:g} needs at least {least} records, there are {n}; nothing was "
            "released; use a larger gamma, or mercer.density with public bounds"
        )
    share = (pairs + 1 - rank) / pairs
    who = (
        f"people whose values are far out: the noise is made for changes that all but a share "
        f"{share:.3g} of pairs of records make, and larger ones show"
    )
    mechanism = "Laplace on a lattice, for a quantile of the changes that pairs of records make"
    statement: Any = weaker.statement(mechanism, who, delta=delta, asymptotic=asymptotic)
    spread = values.spread(pairs_of(n, simulation(n)), rank)
    factor = 2 if asymptotic else 1
    if spread == 0.0:  # so many pairs change nothing
        return StatisticRelease(Condition(words), statement, values.exact(), None if asymptotic else 0.0)
    step, scale = _lattice(spread, n, weaker.epsilon / factor)
    noisy = values.steps(step) + int(weaker.entropy.discrete_laplace(scale, 1)[0])
    value = float(Fraction(noisy) * Fraction(step) / n)
    told = None if asymptotic else scale * step / n
    return tell(StatisticRelease(Condition(words), statement, value, told))


def _lattice(spread: float, n: int, epsilon: float) -> tuple[float, float]:
    """The step, a power of two far below the noise, and the noise's scale in steps."""
    finest = max(spread / (max(1.0, epsilon) * n) * 2.0**-20, 4 * spread / epsilon / MAX_SCALE)
    step = math.ldexp(1.0, math.floor(math.log2(finest)))
    scale = (spread / step * (1 + 2.0**-40) + 1) / epsilon * (1 + 2.0**-40)
    return step, scale
