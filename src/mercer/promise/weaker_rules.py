"""Which counts need no noise under random differential privacy, and how much others need.

Whole numbers and fractions only, so that no rounding can decide.  M14; thesis, (5.1),
(5.3) and Section 5.3; docs/proofs/random.md.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from mercer.common.checks import Ints
from mercer.promise.composition import decimal

__all__ = [
    "asymptotic_delta",
    "asymptotic_rank",
    "check_gamma",
    "check_weaker",
    "pair_rank",
    "pairs_of",
    "rarest",
]


def check_weaker(weaker_promise: object, who: str) -> None:
    """ValueError unless the caller said in so many words that a weaker promise will do."""
    if weaker_promise is not True:
        raise ValueError(
            "weaker_promise=True is missing: random differential privacy is not differential "
            "privacy; it holds with probability 1 - gamma only, if records are independent draws "
            f"from one distribution, and may leave unprotected {who}; no ledger counts it. Say "
            "weaker_promise=True if that will do, or use mercer.histogram, mercer.proportion or "
            "mercer.density"
        )


def check_gamma(gamma: object) -> Fraction:
    """Gamma in (0, 1) as the decimal it prints as, exactly."""
    if gamma is None:
        raise ValueError(
            "gamma is missing: the share of data sets for which nothing is promised has no "
            "default; give a number in (0, 1), for example gamma=0.05"
        )
    plain = gamma.item() if isinstance(gamma, np.generic) else gamma
    if isinstance(plain, bool) or not isinstance(plain, (int, float)):
        raise TypeError(f"gamma must be a number in (0, 1), got {type(gamma).__name__}")
    if not 0 < plain < 1:
        raise ValueError(f"gamma must be in (0, 1), got {plain!r}; 0.05 or less is usual")
    return decimal(plain)


def rarest(n: int, cells: int, gamma: Fraction) -> int:
    """The most records that a cell may hold to be told exactly; -1: no cell may.

    count / n + 1 / n <= gamma / (2 cells).  A proportion is one cell: 2 (phat + 1 / n) <= gamma.
    """
    return math.floor(gamma * n / (2 * cells)) - 1


def pair_rank(pairs: int, gamma: Fraction) -> int | None:
    """The least r with 3 (pairs - r + 1) / pairs <= gamma; None: there are too few pairs.

    With probability 1 - gamma none of three further pairs changes more than the r - 1 least of
    the others do: the pair's own two and the one that is exchanged.
    """
    above = math.floor(gamma * pairs / 3)  # pairs - r + 1
    return pairs + 1 - above if above else None


def asymptotic_rank(n: int, pairs: int, gamma: Fraction) -> int | None:
    """The rank of the quantile theta of thesis 5.3; None: n is too small for this gamma.

    theta = 1 - gamma / 2 + sqrt(ln(4 / gamma) / n): half of gamma for a sample quantile below the
    true one, by the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart as in (5.7), and half
    for a pair beyond the true one.
    """
    theta = 1 - float(gamma) / 2 + math.sqrt(math.log(4 / float(gamma)) / n)
    return math.ceil(theta * pairs) if theta * pairs <= pairs else None


def asymptotic_delta(n: int, epsilon: float) -> float | None:
    """Delta of Laplace noise whose scale changes at most by e^b, b = n^(-1/2); None: n too small.

    exp(-epsilon (2 - e^b) / (2 (e^b - 1))), near the exp(-epsilon sqrt(n) / 2) of thesis 5.3.
    """
    b = n**-0.5
    if math.exp(b) >= 2 or 2 * b > epsilon:
        return None
    small = math.exp(-epsilon * (2 - math.exp(b)) / (2 * math.expm1(b))) * (1 + 1e-12)
    return max(small, 1e-300)


def pairs_of(n: int, shuffle: Any) -> tuple[Ints, Ints]:
    """Places of the two records of each pair: x_i and x_(i + n/2) after a public shuffle.

    `shuffle` is a generator that knows n alone: any fixed pairing will do for independent draws,
    and this one also for rows that come sorted.
    """
    order = shuffle.permutation(n)
    half = n // 2
    return order[:half].astype(np.int64), order[half : 2 * half].astype(np.int64)
