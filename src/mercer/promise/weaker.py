"""Random differential privacy, a weaker promise: its statement and its rules.  M14.

The statement is a type of its own: nothing that counts or compares promises of differential
privacy accepts it.  The rules say which counts need no noise under it, and how much others need, in
integers and fractions only, so that no rounding can decide (thesis, (5.1), (5.3) and
Section 5.3; docs/proofs/random.md).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from mercer.common.checks import Ints
from mercer.common.files import Fields, finite
from mercer.promise.composition import decimal
from mercer.promise.events import ApproximateEvent, Neighbours, RandomEvent, power
from mercer.promise.statement import Statement

__all__ = [
    "PROMISE",
    "RandomStatement",
    "asymptotic_delta",
    "asymptotic_rank",
    "check_gamma",
    "check_weaker",
    "pair_rank",
    "pairs_of",
    "promise_from",
    "random_statement_from",
    "rarest",
    "together",
]

PROMISE = "random"  # the field "promise" of a file; statements of differential privacy have none
_LONGEST = 2000


@dataclass(frozen=True)
class RandomStatement:
    """(epsilon, delta)-privacy except for a share gamma of data sets (thesis, Definition 5.1.1)."""

    epsilon: float
    delta: float
    gamma: float
    asymptotic: bool  # True: in the limit of large n only
    unit: str  # "row", or the column that names a person
    n: int  # rows or persons; public
    mechanism: str
    unprotected: str  # who may be disclosed exactly, as a clause
    secure: bool  # False: the noise came from a seed and the release is not private
    version: str

    neighbours: Neighbours = "replace-one"

    @property
    def sentence(self) -> str:
        """The promise as a sentence for people, with whom it may leave unprotected."""
        one = "row" if self.unit == "row" else f"{self.unit!r}"
        many = f"{self.n} rows" if self.unit == "row" else f"{self.n} different {self.unit!r}"
        but = f", but for a probability of {self.delta:g}" if self.delta else ""
        limit = (
            f" The guarantee is asymptotic in n only: nothing is proved for {many}."
            if self.asymptotic
            else ""
        )
        promise = (
            f"NOT differential privacy but a weaker promise, random differential privacy with "
            f"epsilon = {self.epsilon:g}, gamma = {self.gamma:g}: if all {many} and one more are "
            f"independent draws from one distribution, then with probability 1 - {self.gamma:g} "
            f"over those draws, putting the one more in the place of one {one} changes the "
            f"probability of any outcome at most by the factor exp({self.epsilon:g}){but}. In all "
            f"other cases nothing is promised.{limit} Outlying individuals may be unprotected: "
            f"{self.unprotected}. The number of records, {many}, is public. "
            f"Noise: {self.mechanism}"
        )
        if self.secure:
            return promise + ", drawn from the operating system's entropy."
        return "NOT PRIVATE: the noise came from a seed. It would read: " + promise + "."

    @property
    def short(self) -> str:
        """The promise in one line, for pictures and tables."""
        mark = "" if self.secure else "NOT PRIVATE (seeded): "
        delta = f", delta = {self.delta:g}" if self.delta else ""
        limit = ", asymptotic" if self.asymptotic else ""
        return (
            f"{mark}WEAKER PROMISE: random DP, epsilon = {self.epsilon:g}{delta}, gamma = "
            f"{self.gamma:g}{limit}, one {self.unit}"
        )

    def power(self, alpha: float = 0.05) -> float:
        """The largest power of a test of level alpha, as a mean over draws of the data.

        For an outlying individual it may be 1.
        """
        if not self.secure:
            return 1.0
        most = power((ApproximateEvent(self.epsilon, self.delta),), alpha)
        return self.gamma + (1 - self.gamma) * most

    @property
    def attack(self) -> str:
        """What an attacker can infer who knows everybody else's records, as a sentence."""
        if not self.secure:
            return "Whoever knows or guesses the seed can subtract the noise and see everything."
        most = 100 * power((ApproximateEvent(self.epsilon, self.delta),), 0.05)
        whose = "row" if self.unit == "row" else self.unit
        limit = ", in the limit of large n" if self.asymptotic else ""
        return (
            f"Somebody who knows every other {whose} and tests whether the last is A or B, two "
            f"draws from the same distribution, wrongly saying B in 5 % of the cases of A, says B "
            f"rightly in at most {most:.1f} % of the cases of B for all but a share "
            f"{self.gamma:g} of the draws{limit}; for the others, where A or B is rare, it may be "
            "always."
        )

    @property
    def events(self) -> tuple[RandomEvent, ...]:
        """The privacy event of the release, which no ledger accepts."""
        return (RandomEvent(self.epsilon, self.delta, self.gamma),)

    def __str__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, Any]:
        """The statement as fields of a file: numbers, and the sentences."""
        return {
            "promise": PROMISE,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "gamma": self.gamma,
            "asymptotic": self.asymptotic,
            "unit": self.unit,
            "n": self.n,
            "mechanism": self.mechanism,
            "unprotected": self.unprotected,
            "secure": self.secure,
            "version": self.version,
            "sentence": self.sentence,
            "attack": self.attack,
        }


def random_statement_from(fields: Fields) -> RandomStatement:
    """Rebuild a statement from what `to_dict` wrote; ValueError says what is wrong."""
    if fields.get("promise", str) != PROMISE:
        raise ValueError(f"promise must be {PROMISE!r}: this version knows no other weaker one")
    delta = finite(fields.get("delta", float | int), "delta")
    gamma = finite(fields.get("gamma", float | int), "gamma")
    n = fields.get("n", int)
    if not (0 <= delta < 1 and 0 < gamma < 1 and n >= 1):
        raise ValueError("delta must be in [0, 1), gamma in (0, 1), n at least 1")
    words: dict[str, Any] = {
        name: fields.get(name, str) for name in ("unit", "mechanism", "unprotected", "version")
    }
    if any(len(word) > _LONGEST for word in words.values()):
        raise ValueError(f"words of a statement must be at most {_LONGEST} characters")
    return RandomStatement(
        epsilon=fields.positive("epsilon"),
        delta=delta,
        gamma=gamma,
        asymptotic=fields.get("asymptotic", bool),
        n=n,
        secure=fields.get("secure", bool),
        **words,
    )


def promise_from(fields: Fields) -> Statement | RandomStatement:
    """The statement in a file: differential privacy, or the weaker promise if a field says so (M14)."""
    return random_statement_from(fields) if fields.has("promise") else Statement.from_fields(fields)


def together(statements: Iterable[RandomStatement]) -> tuple[float, float, float]:
    """(epsilon, delta, gamma) of several releases of the same records: exact sums of decimals.

    Thesis, Proposition 5.1.2.  Nothing is promised once gamma reaches 1.  Of releases under both
    promises nothing better can be said than this, a differentially private one having gamma = 0.

    >>> one = RandomStatement(0.1, 0.0, 0.01, False, "row", 900, "geometric", "x", True, "0")
    >>> together([one] * 3)
    (0.3, 0.0, 0.03)
    """
    listed = list(statements)
    if not all(isinstance(one, RandomStatement) for one in listed):
        raise TypeError("together adds up statements of random differential privacy alone")
    if len({(one.unit, one.n) for one in listed}) > 1:
        raise ValueError("statements must be of the same records: their unit or n differ")
    if any(one.asymptotic for one in listed):
        raise ValueError("an asymptotic statement has no numbers at this n to add up")
    epsilon, delta, gamma = (
        float(sum(decimal(getattr(one, name)) for one in listed)) for name in ("epsilon", "delta", "gamma")
    )
    return epsilon, delta, gamma


def check_weaker(weaker_promise: object, who: str) -> None:
    """ValueError unless the caller said explicitly, by `weaker_promise=True`, that it will do."""
    if weaker_promise is not True:
        raise ValueError(
            "weaker_promise=True is missing: random differential privacy is not differential "
            "privacy; it holds with probability 1 - gamma only, if records are independent draws "
            f"from one distribution, and may leave unprotected {who}; no ledger counts it. Say "
            "weaker_promise=True if that will do, or use mercer.histogram, mercer.proportion or "
            "mercer.density"
        )


def check_gamma(gamma: object) -> Fraction:
    """Check gamma in (0, 1), and return exactly the decimal that it prints as."""
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
    """The most records of a cell whose count is released exactly; -1 if there is no such cell.

    count / n + 1 / n <= gamma / (2 cells).  A proportion is one cell: 2 (phat + 1 / n) <= gamma.
    """
    return math.floor(gamma * n / (2 * cells)) - 1


def pair_rank(pairs: int, gamma: Fraction) -> int | None:
    """The least r with 3 (pairs - r + 1) / pairs <= gamma; None if there are too few pairs.

    With probability 1 - gamma none of three further pairs changes more than the r - 1 least of
    the others do: the pair's own two and the one that is exchanged.
    """
    above = math.floor(gamma * pairs / 3)  # pairs - r + 1
    return pairs + 1 - above if above else None


def asymptotic_rank(n: int, pairs: int, gamma: Fraction) -> int | None:
    """The rank of the quantile theta of thesis 5.3; None if n is too small for this gamma.

    theta = 1 - gamma / 2 + sqrt(ln(4 / gamma) / n): half of gamma for a sample quantile below the
    true one, by the inequality of Dvoretzky, Kiefer, Wolfowitz and Massart as in (5.7), and half
    for a pair beyond the true one.
    """
    theta = 1 - float(gamma) / 2 + math.sqrt(math.log(4 / float(gamma)) / n)
    return math.ceil(theta * pairs) if theta * pairs <= pairs else None


def asymptotic_delta(n: int, epsilon: float) -> float | None:
    """Delta of Laplace noise whose scale changes by at most e^b, b = n^(-1/2); None if n is too small.

    exp(-epsilon (2 - e^b) / (2 (e^b - 1))), near the exp(-epsilon sqrt(n) / 2) of thesis 5.3.
    """
    b = n**-0.5
    if math.exp(b) >= 2 or 2 * b > epsilon:
        return None
    small = math.exp(-epsilon * (2 - math.exp(b)) / (2 * math.expm1(b))) * (1 + 1e-12)
    return max(small, 1e-300)


def pairs_of(n: int, shuffle: Any) -> tuple[Ints, Ints]:
    """Indices of the two records of each pair: x_i and x_(i + n/2) after a public shuffle.

    `shuffle` is a generator that depends on n alone.  Any fixed pairing is valid for independent
    draws; a shuffled one serves also for rows that come sorted.
    """
    order = shuffle.permutation(n)
    half = n // 2
    return order[:half].astype(np.int64), order[half : 2 * half].astype(np.int64)
