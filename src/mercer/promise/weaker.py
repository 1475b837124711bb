"""Random differential privacy, a weaker promise, in words and numbers.  M14.

A type of its own: nothing that counts or compares promises of differential privacy takes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mercer.common.fields import Fields, finite
from mercer.promise.accountants import power
from mercer.promise.composition import decimal
from mercer.promise.events import ApproximateEvent, Neighbours, RandomEvent

__all__ = ["PROMISE", "RandomStatement", "random_statement_from", "together"]

PROMISE = "random"  # the field "promise" of a file; statements of differential privacy have none
_LONGEST = 2000


@dataclass(frozen=True)
class RandomStatement:
    """(epsilon, delta)-privacy but for a share gamma of data sets (thesis, Definition 5.1.1)."""

    epsilon: float
    delta: float
    gamma: float
    asymptotic: bool  # True: in the limit of large n only
    unit: str  # "row", or the column that names a person
    n: int  # rows or persons; public
    mechanism: str
    unprotected: str  # who may be seen exactly, in words
    secure: bool  # False: the noise came from a seed and the release is not private
    version: str

    neighbours: Neighbours = "replace-one"

    @property
    def sentence(self) -> str:
        """The promise in words, and whom it may leave out."""
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
        """How often a test wrong with probability alpha finds the truth: a mean over draws.

        For an outlying individual it may be 1.
        """
        if not self.secure:
            return 1.0
        most = power((ApproximateEvent(self.epsilon, self.delta),), alpha)
        return self.gamma + (1 - self.gamma) * most

    @property
    def attack(self) -> str:
        """What the promise means to somebody who knows everybody else."""
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
        """What the release is made of; no ledger accepts it."""
        return (RandomEvent(self.epsilon, self.delta, self.gamma),)

    def __str__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, Any]:
        """Numbers and words for a file."""
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
    """A statement from what its `to_dict` wrote; ValueError says what is wrong."""
    if fields.get("promise", str) != PROMISE:
        raise ValueError(f"promise must be {PROMISE!r}: this version knows no other weaker one")
    delta = finite(fields.get("delta", float | int), "delta")
    gamma = finite(fields.get("gamma", float | int), "gamma")
    n = fields.get("n", int)
    if not (0 <= delta < 1 and 0 < gamma < 1 and n >= 1):
        raise ValueError("delta must be in [0, 1), gamma in (0, 1), n at least 1")
    words = {name: fields.get(name, str) for name in ("unit", "mechanism", "unprotected", "version")}
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


def together(statements: Iterable[RandomStatement]) -> tuple[float, float, float]:
    """(epsilon, delta, gamma) of several releases of the same records: sums, in decimals.

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
