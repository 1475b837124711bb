"""The exponential mechanism over a finite set, exact to the last bit.

M12; McSherry and Talwar 2007; Hall's thesis, Proposition 1.3.5 (paper g = -score, alpha = epsilon);
docs/proofs/exponential.md.  It adds no noise to numbers, so it is not among `MECHANISMS`: it
turns scores into the index of one candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from mercer.common.checks import Floats, Ints, Score, Scores, check_epsilon
from mercer.noise.entropy import Entropy
from mercer.noise.exact import balls, settle, settled_index
from mercer.noise.mechanisms.base import AnyMechanism, Randomiser
from mercer.promise.events import PureEvent, Sensitivity

__all__ = ["Choice", "Exponential", "Score", "Scores"]


@dataclass(frozen=True)
class Choice(Randomiser[Scores, int]):
    """P(i) = counts_i exp(epsilon score_i / (2 sensitivity)) / total: higher scores are better."""

    sensitivity: Sensitivity
    event: PureEvent

    words = "exponential mechanism over a finite set, exact: the index is decided with certainty"
    law = None  # nothing is added

    @staticmethod
    def check(scores: Scores) -> None:
        """Raise an error unless these are scores.  It is called before anything is charged."""
        _distinct(scores)

    def randomise(self, exact: Scores, entropy: Entropy) -> int:
        return self.choose(exact, entropy)

    def choose(self, scores: Scores, entropy: Entropy, *, counts: Ints | None = None) -> int:
        """Draw the index of one candidate.

        `counts` are public multiplicities: candidate i stands for counts_i outcomes (by default
        one).  Scores are exact numbers; where they were computed with rounding, a bound
        on twice the rounding belongs to the sensitivity.  A score that is not finite counts as 0:
        an error would disclose something about the records.  Equal scores form one group; a group is
        drawn with one uniform number, in balls that are refined until its place is certain, and
        then a member of the group with another.
        """
        values, places = _distinct(scores)
        if not len(values):
            raise ValueError("scores must hold at least one candidate, got none")
        multiplicity = np.ones(len(places), dtype=np.int64) if counts is None else counts
        if len(multiplicity) != len(places) or np.any(multiplicity < 0):
            raise ValueError(
                f"counts must be {len(places)} whole numbers >= 0, one for each candidate; got "
                f"{len(multiplicity)}"
            )
        totals = np.zeros(len(values), dtype=object)
        np.add.at(totals, places, multiplicity.astype(object))
        if not any(totals):
            raise ValueError("counts must not all be 0: there is nothing to choose from")
        best = max(place for place, total in enumerate(totals) if total)
        group = best - self._group(values[best::-1], totals[best::-1].tolist(), entropy)
        members = np.flatnonzero(places == group)
        rising = np.cumsum(multiplicity[members].astype(object))
        uniform = entropy.uniforms(1)
        rank = settle(lambda bits: [balls(uniform, bits)[0] * int(rising[-1]) - 0.5])[0]
        return int(members[int(np.searchsorted(rising, rank, side="right"))])

    def probabilities(self, scores: Scores) -> Floats:
        """The probability of each candidate, in double precision, for audits and tables."""
        exponent = np.asarray(scores, dtype=float)
        exponent = exponent * (self.event.epsilon / 2 / self.sensitivity.value)
        weight = np.exp(exponent - exponent.max())
        return weight / weight.sum()

    def _group(self, values: Sequence[Score], totals: Sequence[int], entropy: Entropy) -> int:
        """Draw the index of a group of equal scores; groups are in order of falling score.

        With b bits, groups that are worse than the best by a factor of 2^-b stay together in a
        remainder known only to lie between two bounds.  If the uniform number does not fall
        clearly short of it, more bits are read and fewer groups are left in it.
        """
        from flint import arb, fmpq

        uniform = entropy.uniforms(1)

        def compute(bits: int) -> tuple[Any, list[Any]]:
            total, edges = arb(0), list[Any]()
            # slightly less, so that the decimal that epsilon prints as is kept as well
            rate = arb(self.event.epsilon) / 2 / arb(self.sensitivity.value) * (1 - arb(2) ** -50)
            for place, (value, count) in enumerate(zip(values, totals, strict=True)):
                gap = Fraction(values[0]) - Fraction(value)
                weight = (-rate * arb(fmpq(gap.numerator, gap.denominator))).exp()
                if weight < arb(2) ** (-bits - 64):
                    most = weight * sum(int(rest) for rest in totals[place:])
                    return balls(uniform, bits)[0] * (total + most.union(arb(0))), edges
                total += weight * int(count)
                edges.append(total)
            return balls(uniform, bits)[0] * total, edges

        return settled_index(compute)


@dataclass(frozen=True)
class Exponential(AnyMechanism[Scores, int]):
    """Choose one of finitely many candidates by a score: epsilon-DP, no delta."""

    name = "exponential"
    norm = "score"
    words = Choice.words
    calibration = "pure"

    def calibrate(
        self, sensitivity: Sensitivity, size: int = 1, *, epsilon: float, delta: float = 0.0
    ) -> Choice:
        """The choice that is epsilon-DP when one record moves no score by more than this.

        Neither the number of candidates nor a delta changes anything.
        """
        if sensitivity.norm != "score":
            raise ValueError(
                f"sensitivity must be that of a score, got the norm {sensitivity.norm!r}; use "
                "Sensitivity(value, norm='score')"
            )
        return Choice(sensitivity, PureEvent(check_epsilon(epsilon)))


def _distinct(scores: Scores) -> tuple[Any, Ints]:
    """The distinct scores as exact numbers, increasing, and the index of each candidate's among them."""
    if isinstance(scores, np.ndarray) and scores.dtype.kind in "iuf" and scores.itemsize <= 8:
        array = scores
    else:  # a list may hold numbers that no one type holds exactly
        array = np.array([_exact(score) for score in scores], dtype=object)
    if array.ndim != 1:
        raise TypeError(f"scores must be one number for each candidate, got {array.ndim} axes")
    if array.dtype.kind == "f":
        array = np.where(np.isfinite(array), array, 0.0)
    values, places = np.unique(array, return_inverse=True)
    return values.tolist(), places.reshape(-1)


def _exact(score: Any) -> Any:
    if isinstance(score, (bool, np.bool_)) or not isinstance(
        score, (int, float, Fraction, np.integer, np.floating)
    ):
        raise TypeError(f"scores must be whole numbers, fractions or doubles, got {type(score).__name__}")
    if isinstance(score, (float, np.floating)) and not np.isfinite(score):
        return Fraction(0)
    number = score.item() if isinstance(score, np.generic) else score
    return number if isinstance(number, int) else Fraction(number)
