"""A mechanism for a count as a matrix of integers, and the losses by which it is judged.  M13.

Row j holds the weights of the answers 0..n when the count is j; all rows have the same sum.
Floating-point numbers guarantee nothing about ratios, so the matrix that a linear program finds is
rounded to integers and mixed with the uniform matrix, by the smallest share that makes every ratio
right.  `OptimalCount` checks itself in integer arithmetic whenever one is made.  loss(i, j) is the
cost of the answer i when the count is j, both in 0..n; losses, and priors on the count, are public.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Protocol, TypeAlias

import numpy as np

from mercer.common.checks import Floats, check_count, check_epsilon, check_level
from mercer.common.files import Fields, finite, numbers

__all__ = [
    "BITS",
    "LIMITS",
    "LOSSES",
    "MOST",
    "OWN",
    "Loss",
    "OptimalCount",
    "RandomBytes",
    "check_prior",
    "distance_graded",
    "geometric_matrix",
    "loss_matrix",
    "mirrored",
    "ratios",
    "settled",
]

Loss: TypeAlias = str | Floats | Sequence[Sequence[float]] | Callable[[int, int], float]

LOSSES = ("absolute", "squared", "zero-one")
OWN = "own"  # the name of a loss that was given as an array or a function
_LARGEST = 1e12


def loss_matrix(loss: Loss, n: int) -> tuple[str, Floats]:
    """The name of a loss and the matrix of its values, loss(i, j) in row i and column j."""
    i, j = np.indices((n + 1, n + 1))
    if isinstance(loss, str):
        named = {"absolute": np.abs(i - j), "squared": (i - j) ** 2, "zero-one": i != j}
        if loss not in named:
            raise ValueError(
                f"loss must be one of {', '.join(map(repr, LOSSES))}, an array of {n + 1} x "
                f"{n + 1} numbers or a function loss(i, j); got {loss!r}"
            )
        return loss, named[loss].astype(float)
    if callable(loss):
        values: Any = [[loss(a, b) for b in range(n + 1)] for a in range(n + 1)]
    else:
        values = loss
    try:
        matrix = np.array(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"loss must be numbers, {n + 1} x {n + 1} of them, or a function that returns one; "
            f"got {type(loss).__name__}"
        ) from error
    if matrix.shape != (n + 1, n + 1):
        raise ValueError(
            f"loss must have {n + 1} rows (what is said) and {n + 1} columns (the count), one for "
            f"each of 0..{n}; got the shape {matrix.shape}"
        )
    if not np.all(np.isfinite(matrix)) or matrix.min() < 0 or matrix.max() > _LARGEST:
        raise ValueError(
            f"loss must be finite, at least 0 and at most {_LARGEST:g} everywhere; add a constant "
            "to a loss that falls below 0, and give a large number for what must not be said"
        )
    if matrix.max() < 1 / _LARGEST:
        raise ValueError(
            f"loss must be above {1 / _LARGEST:g} somewhere: without a loss every mechanism is best"
        )
    return OWN, matrix


def check_prior(prior: object, n: int) -> Floats:
    """The prior as weights of the counts 0..n with sum one; an error if it is none."""
    try:
        weights = np.array(prior, dtype=float)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"prior must be {n + 1} weights, one for each count 0..{n}; got {type(prior).__name__}"
        ) from error
    if weights.shape != (n + 1,):
        raise ValueError(
            f"prior must be {n + 1} weights, one for each count 0..{n}; got the shape "
            f"{weights.shape}; leave it out for the minimax mechanism"
        )
    total = float(weights.sum())
    if not np.all(np.isfinite(weights)) or weights.min() < 0 or not 0 < total < np.inf:
        raise ValueError(
            "prior must be finite weights of at least 0 that are not all 0; for a count that "
            "cannot be give 0, or leave prior out for the minimax mechanism"
        )
    return weights / total


def distance_graded(matrix: Floats) -> bool:
    """Whether, for every count, answers further from it never cost less.

    loss(i, j) is then, for each j, a function of |i - j| that does not fall: the condition of
    Ghosh, Roughgarden and Sundararajan 2009.
    """
    count = len(matrix)
    away = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    order = np.argsort(away, axis=0, kind="stable")
    loss = np.take_along_axis(matrix, order, axis=0)
    far = np.take_along_axis(away, order, axis=0)
    step, level = np.diff(loss, axis=0), np.diff(far, axis=0) == 0
    return bool(np.all(step >= 0) and np.all(step[level] == 0))


def mirrored(matrix: Floats) -> bool:
    """Whether the loss is the same after i -> n - i and j -> n - j, as for counting the other records."""
    return bool(np.array_equal(matrix, matrix[::-1, ::-1]))


Weights: TypeAlias = tuple[tuple[int, ...], ...]

BITS = 96  # weights are integers of about 2^-96
LIMITS = (1e-6, 50.0)  # of epsilon
MOST = 200  # counts


class RandomBytes(Protocol):
    """Where random bytes come from: `noise.entropy.Entropy` is one."""

    def octets(self, count: int) -> bytes:
        """`count` independent uniformly random bytes."""


@dataclass(frozen=True, repr=False)
class OptimalCount:
    """An epsilon-DP mechanism for a count in 0..n, n public; neighbours replace one record.

    P(say i | count j) = weights[j][i] / total.  `risk` is that of these weights: the largest
    over counts, or the mean under the prior.  No mechanism has less than `best`.
    """

    n: int
    epsilon: float
    loss: str  # "absolute", "squared", "zero-one" or "own"
    prior: tuple[float, ...] | None  # None: minimax
    weights: Weights
    best: float  # a lower bound for the risk of every epsilon-DP mechanism
    own: tuple[tuple[float, ...], ...] | None = field(default=None)  # loss(i, j), if not named

    def __post_init__(self) -> None:
        self.verify()

    def verify(self) -> None:
        """Check all fields; the ratios of neighbouring counts are checked exactly, in integers."""
        check_count("n", self.n, least=1, most=MOST, hint="it is public")
        check_epsilon(self.epsilon)
        if not LIMITS[0] <= self.epsilon <= LIMITS[1]:
            raise ValueError(f"epsilon must be in [{LIMITS[0]:g}, {LIMITS[1]:g}]")
        if (self.own is None) != (self.loss in LOSSES) or self.loss not in (*LOSSES, OWN):
            raise ValueError(f"loss must be one of {', '.join(LOSSES)}, or {OWN!r} with its values")
        loss_matrix(self.loss if self.own is None else self.own, self.n)
        if self.prior is not None:
            check_prior(self.prior, self.n)
        shapes = {len(self.weights), *(len(row) for row in self.weights)}
        if shapes != {self.n + 1} or any(type(w) is not int for row in self.weights for w in row):
            raise ValueError(f"weights must be {self.n + 1} x {self.n + 1} whole numbers")
        if any(w < 0 for row in self.weights for w in row):
            raise ValueError("weights must be at least 0")
        if self.total <= 0 or any(sum(row) != self.total for row in self.weights):
            raise ValueError("weights must have the same sum in every row, above 0")
        below, _ = ratios(self.epsilon)
        if _excess(self.weights, below) > 0:
            raise ValueError(
                f"weights break the promise epsilon = {self.epsilon:g}: two neighbouring counts "
                "differ by more than the factor e^epsilon in the chance of some answer"
            )
        if not 0 <= self.best <= self.risk * (1 + 1e-9):
            raise ValueError("best must be at least 0 and at most the risk of the weights")

    @property
    def total(self) -> int:
        """The sum of each row of weights, the same for all rows."""
        return sum(self.weights[0])

    @cached_property
    def matrix(self) -> Floats:
        """P(say i | count j) in row j, column i, each rounded to the nearest double."""
        total = self.total
        return np.array([[weight / total for weight in row] for row in self.weights])

    @cached_property
    def losses(self) -> Floats:
        """The matrix of losses, loss(i, j) in row i and column j."""
        return loss_matrix(self.loss if self.own is None else self.own, self.n)[1]

    @property
    def risks(self) -> Floats:
        """The expected loss at each of the counts 0..n."""
        return _risks(self.matrix, self.losses)

    @property
    def risk(self) -> float:
        """The largest of the risks, or their mean under the prior."""
        return self._whole(self.risks)

    @property
    def geometric_risk(self) -> float:
        """The risk of two-sided geometric noise at the same epsilon, clipped to 0..n."""
        return self._whole(_risks(geometric_matrix(self.n, self.epsilon), self.losses))

    def draw(self, count: int, entropy: RandomBytes) -> int:
        """One answer, drawn exactly from random bits.  A count outside 0..n is clipped.

        Every call draws a new answer and costs epsilon.
        """
        if isinstance(count, bool) or not isinstance(count, (int, np.integer)):
            raise TypeError(f"count must be a whole number, got {type(count).__name__}")
        edges = self._edges[min(max(int(count), 0), self.n)]
        bits = edges[-1].bit_length()
        size = (bits + 7) // 8
        while True:  # ends at once with probability above 1/2, whatever the count
            point = int.from_bytes(entropy.octets(size), "big") >> (8 * size - bits)
            if point < edges[-1]:
                return bisect_right(edges, point)

    def interval(self, output: int, level: float) -> tuple[int, int]:
        """Smallest and largest count that this answer does not reject, at this level.

        A count is rejected if an answer this small, or this large, has probability (1 - level)/2
        at most under it; tails are compared exactly.  So the interval covers the count with
        probability at least `level`, whatever the count is.
        """
        hint = "it is what draw returned"
        place = check_count("output", output, least=0, most=self.n, hint=hint)
        check_level(level)
        most = (1 - Fraction(float(level))) / 2 * self.total
        kept = [
            count
            for count, edges in enumerate(self._edges)
            if edges[place] > most and edges[-1] - (edges[place - 1] if place else 0) > most
        ]
        return (kept[0], kept[-1]) if kept else (0, self.n)

    def to_dict(self) -> dict[str, Any]:
        """Fields for a file.  Weights are decimal texts, since many readers of JSON round large numbers."""
        return {
            "kind": "optimal-count",
            "n": self.n,
            "epsilon": self.epsilon,
            "loss": self.loss,
            "losses": None if self.own is None else [list(row) for row in self.own],
            "prior": None if self.prior is None else list(self.prior),
            "best": self.best,
            "weights": [[str(weight) for weight in row] for row in self.weights],
        }

    @staticmethod
    def from_dict(fields: object) -> OptimalCount:
        """Rebuild from what `to_dict` wrote, with all checks; ValueError for anything else."""
        source = Fields(fields, "an optimal count")
        if source.get("kind", str) != "optimal-count":
            raise ValueError("kind must be 'optimal-count'")
        own, prior = source.optional("losses", list), source.optional("prior", list)
        rows = source.get("weights", list)
        texts = [w for row in rows for w in (row if isinstance(row, list) else [None])]
        if not all(isinstance(w, str) and w.isdecimal() and len(w) < 100 for w in texts):
            raise ValueError("weights must be rows of whole numbers in decimal digits")
        if own is not None and not all(isinstance(row, list) for row in own):
            raise ValueError("losses must be rows of numbers")
        return OptimalCount(
            n=source.get("n", int),
            epsilon=source.positive("epsilon"),
            loss=source.get("loss", str),
            prior=None if prior is None else tuple(numbers(prior, "'prior'")),
            weights=tuple(tuple(int(w) for w in row) for row in rows),
            best=finite(source.get("best", int | float), "'best'"),
            own=None if own is None else tuple(tuple(numbers(row, "'losses'")) for row in own),
        )

    def __repr__(self) -> str:
        goal = "minimax" if self.prior is None else "Bayes"
        return (
            f"OptimalCount(n={self.n}, epsilon={self.epsilon:g}, loss={self.loss!r}, {goal} risk "
            f"{self.risk:.4g}, clipped geometric {self.geometric_risk:.4g})"
        )

    def __str__(self) -> str:
        goal = "largest expected" if self.prior is None else "expected (under the prior)"
        return (
            f"A count in 0..{self.n}, epsilon = {self.epsilon:g}, pure, one record: {goal} "
            f"{self.loss} loss {self.risk:.4g}. No mechanism has less than {self.best:.4g}; "
            f"geometric noise clipped to 0..{self.n} has {self.geometric_risk:.4g}."
        )

    @cached_property
    def _edges(self) -> list[list[int]]:
        return [list(accumulate(row)) for row in self.weights]

    def _whole(self, risks: Floats) -> float:
        if self.prior is None:
            return float(risks.max())
        return float(check_prior(self.prior, self.n) @ risks)


def ratios(epsilon: float) -> tuple[int, int]:
    """Integers below and above 2^BITS e^epsilon.

    Both hold for the double epsilon and for the decimal that it prints as.
    """
    from flint import arb, ctx, fmpq

    both = Fraction(epsilon), Fraction(repr(float(epsilon)))
    with ctx.workprec(2 * BITS + 128):
        low, high = (
            arb(fmpq(number.numerator, number.denominator)).exp() * 2**BITS
            for number in (min(both), max(both))
        )
        return int(low.lower().floor().unique_fmpz()), int(high.upper().ceil().unique_fmpz())


def geometric_matrix(n: int, epsilon: float) -> Floats:
    """P(answer k | count j) of two-sided geometric noise clipped to 0..n: row j, column k."""
    away = np.abs(np.subtract.outer(np.arange(n + 1), np.arange(n + 1)))
    matrix = np.exp(-epsilon * away) * np.tanh(epsilon / 2)
    matrix[:, [0, n]] = np.exp(-epsilon * away[:, [0, n]]) / (1 + np.exp(-epsilon))
    return matrix


def settled(rows: Sequence[Sequence[int]], below: int) -> Weights:
    """Weights near these (each row has sum near 2^BITS) that keep the ratio below / 2^BITS.

    Adding b to every weight turns w <= r w' + excess into w + b <= r (w' + b) as soon as
    b (r - 1) >= excess: the smallest such b is taken.
    """
    even = []
    for row in rows:
        whole = sum(max(weight, 0) for weight in row)
        scaled = [(max(weight, 0) << BITS) // whole for weight in row]
        scaled[scaled.index(max(scaled))] += (1 << BITS) - sum(scaled)
        even.append(tuple(scaled))
    more = max(0, -(-_excess(even, below) // (below - (1 << BITS))))
    return tuple(tuple(weight + more for weight in row) for row in even)


def _excess(rows: Sequence[Sequence[int]], below: int) -> int:
    """Largest of 2^BITS w - below w' over an answer's weights w, w' at neighbouring counts."""
    return max(
        max((a << BITS) - below * b, (b << BITS) - below * a)
        for one, other in pairwise(rows)
        for a, b in zip(one, other, strict=True)
    )


def _risks(matrix: Floats, losses: Floats) -> Floats:
    return np.asarray(np.sum(matrix * losses.T, axis=1))
