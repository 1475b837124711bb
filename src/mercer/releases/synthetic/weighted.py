"""What anyone may ask of weighted synthetic records: expectations, samples, distances, tests.  M10.

Right of the door.  Balog, Tolstikhin and Schoelkopf 2018, Sec. 3.3: expectations, probabilities, samples,
and the embedding of a function of the records.

The two-sample test, Gretton et al. 2012, against released noisy coordinates.  Under the hypothesis
that own rows and records have one distribution, the difference of their mean features is normal,
nearly, with covariance S (1/rows + 1/n) + noise; S is estimated from the rows and from the synthetic
records, half each: rows where nobody else is vary in no direction that would tell.  The statistic is
the squared length of the difference with every eigendirection of S weighted by its share of signal,
s / (s + noise): directions of noise alone do not count.  Its law is that of a weighted sum of
squares, by simulation with a public stream (the spectrum method of Gretton et al. 2009).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from mercer.common import streams
from mercer.common.checks import Bools, Floats, Ints, check_count, check_level
from mercer.releases.base import Interval
from mercer.releases.synthetic.embedding import NoisyEmbedding

__all__ = ["Pushed", "TwoSample", "Weighted", "mass", "resample", "two_sample_test"]

Points: TypeAlias = Mapping[str, Any] | Sequence[Any] | np.ndarray
_RUNS = 20_000
MOST_ROWS = 50_000


class Weighted(ABC):
    """Points with weights that stand for the records."""

    @property
    @abstractmethod
    def weights(self) -> Floats:
        """The weight of each point in sums over them."""

    @property
    @abstractmethod
    def positive(self) -> Floats:
        """The nearest weights that are a distribution: not negative, of sum one."""

    @abstractmethod
    def view(self) -> Points:
        """The points as functions of them see them: arrays by name, or one array or list."""

    @property
    @abstractmethod
    def points_count(self) -> int:
        """How many points there are."""

    def matching(self, condition: Mapping[str, Any]) -> Bools:
        """Which points a condition by columns holds for: tables alone have columns."""
        raise TypeError(
            f"condition must be a function of the points, got columns ({', '.join(condition)}); "
            "these points have none"
        )

    def expect(self, h: Any) -> float:
        """The expectation of h(X): sum of weight times h(point), over the sum of the weights.

        `h` is a function of the whole table (a mapping from column names to arrays) that gives one
        number a row, or the name of a numeric column.
        """
        values = self._values(h)
        return float(self.weights @ values) / mass(self.weights)

    def probability(self, condition: Any) -> float:
        """P(condition): a function that gives one truth value a row, or a mapping.

        In a mapping each column has a pair (least, most) whose ends are included, a value, or a
        list of values; all must hold.  Between 0 and 1: the weights used are a distribution.
        """
        return float(np.clip(self.positive @ self._holds(condition), 0.0, 1.0))

    def interval(self, h: Any, level: float = 0.95) -> Interval:
        """The expectation of h(X); the ends of its interval are NaN, which says that none is known.

        The noise has a known law, but what smoothing takes away is more, in most tables, and not
        bounded by less than the whole range (docs/tables.md): an interval for the noise alone
        would not cover.  `accuracy` says how far shares of one column are off.
        """
        check_level(level)
        estimate = self.probability(h) if isinstance(h, Mapping) else self.expect(h)
        return Interval(estimate, math.nan, math.nan, level)

    def chosen(self, size: int, rng: int | np.random.Generator | None) -> Ints:
        """Places of `size` points drawn by their weights."""
        size = check_count("size", size, least=0, most=1 << 30, hint="rows to draw")
        return resample(self.positive, size, streams.fresh(rng))

    def _values(self, h: Any) -> Floats:
        table = self.view()
        columns = table if isinstance(table, Mapping) else {}
        if isinstance(h, str) and h not in columns:
            names = ", ".join(columns) or "none"
            raise ValueError(f"h: there is no column {h!r}; there are {names}")
        found = columns[h] if isinstance(h, str) else _called(h, table, "h")
        try:
            values = np.asarray(found, dtype=float)
        except (TypeError, ValueError):
            if isinstance(h, str):
                raise ValueError(
                    f"h: column {h!r} holds levels and has no mean; ask for the share of one: "
                    f"probability({{{h!r}: …}})"
                ) from None
            raise TypeError("h must give numbers, one for each row of the table") from None
        if values.shape != (self.points_count,) or not np.all(np.isfinite(values)):
            raise ValueError(
                f"h must give {self.points_count} finite numbers, one a row, got shape "
                f"{values.shape}; it is called once, with the whole table"
            )
        return values

    def _holds(self, condition: Any) -> Floats:
        if isinstance(condition, Mapping):
            return self.matching(condition).astype(float)
        found = np.asarray(_called(condition, self.view(), "condition"))
        if found.shape != (self.points_count,) or found.dtype != bool:
            raise ValueError("condition must give one truth value for each row of the table")
        return found.astype(float)


class Pushed(Weighted):
    """The distribution of g(X), from g(point) with the same weights."""

    def __init__(self, values: np.ndarray | list[Any], weights: Floats, positive: Floats) -> None:
        self.points, self._weights, self._positive = values, weights, positive

    @property
    def weights(self) -> Floats:
        return self._weights

    @property
    def positive(self) -> Floats:
        return self._positive

    @property
    def points_count(self) -> int:
        return len(self._weights)

    def view(self) -> Points:
        return self.points

    def sample(self, size: int, rng: int | np.random.Generator | None = None) -> np.ndarray | list[Any]:
        """`size` draws of g(X), by the weights."""
        places = self.chosen(size, rng)
        return (
            self.points[places] if isinstance(self.points, np.ndarray) else [self.points[i] for i in places]
        )

    def mmd(self, other: Pushed, kernel: Callable[[Any, Any], Any]) -> float:
        """Distance of two embeddings under a kernel on the values: kernel(x, y) is a matrix."""
        square = 0.0
        for one, two, sign in ((self, self, 1), (self, other, -2), (other, other, 1)):
            square += sign * float(one.weights @ np.asarray(kernel(one.points, two.points)) @ two.weights)
        return max(square, 0.0) ** 0.5


def resample(weights: Floats, size: int, rng: np.random.Generator) -> Ints:
    """Places by their weights, each as often as its weight says, up to one; in random order."""
    ends = np.cumsum(weights)
    marks = (np.arange(size) + rng.random()) / max(size, 1) * ends[-1]
    return rng.permutation(np.minimum(np.searchsorted(ends, marks, side="right"), len(ends) - 1))


def mass(weights: Floats) -> float:
    """Sum of weights, one where it is lost in noise."""
    total = float(weights.sum())
    return total if total > 0.1 else 1.0


def _called(h: Any, table: Any, name: str) -> Any:
    if not callable(h):
        raise TypeError(f"{name} must be a function of the table, got {type(h).__name__}")
    return h(table)


@dataclass(frozen=True)
class TwoSample:
    """Of the hypothesis that own rows come from the distribution of the records."""

    statistic: float
    p_value: float
    mmd: float  # distance of the means, squared bias of the noise taken off
    rows: int

    def __str__(self) -> str:
        return (
            f"p = {self.p_value:.3g} for the hypothesis that the {self.rows} rows come from the "
            f"same distribution (distance {self.mmd:.3g})"
        )


def two_sample_test(
    embedding: NoisyEmbedding, phi: Floats, synthetic: Floats, weights: Floats, *, n: int
) -> TwoSample:
    """Test own rows, given by their coordinates, beside those of the synthetic records."""
    rows = len(phi)
    if not 8 <= rows <= MOST_ROWS:
        raise ValueError(f"rows must be 8 to {MOST_ROWS}, got {rows}; thin them")
    mean = phi.mean(axis=0)
    gap = embedding.noisy - mean
    middle = weights @ synthetic
    pooled = np.concatenate(
        [(phi - mean) / math.sqrt(2 * (rows - 1)), (synthetic - middle) * np.sqrt(weights / 2)[:, None]]
    )
    spread, turned = _spectrum(pooled, gap)
    share, noise = 1 / rows + 1 / n, embedding.deviation**2
    variance = spread * share + noise
    weight = spread * share / variance
    statistic = float(np.sum(weight * turned**2))
    rng = streams.simulation(41)
    null = np.zeros(_RUNS)
    for start in range(0, len(weight), 64):
        part = slice(start, start + 64)
        null += rng.standard_normal((_RUNS, len(weight[part]))) ** 2 @ (weight * variance)[part]
    p = (1 + int(np.sum(null >= statistic))) / (_RUNS + 1)
    expected = float(np.sum(spread)) / rows + noise * embedding.size
    distance = max(float(np.dot(gap, gap)) - expected, 0.0) ** 0.5
    return TwoSample(statistic, p, distance, rows)


def _spectrum(roots: Floats, gap: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues of roots' roots, a covariance, and the gap in its eigenvectors."""
    rows, size = roots.shape
    if rows >= size:
        values, vectors = np.linalg.eigh(roots.T @ roots)
        keep = values > 1e-9 * values[-1]
        return values[keep], vectors[:, keep].T @ gap
    values, left = np.linalg.eigh(roots @ roots.T)
    keep = values > 1e-9 * values[-1]
    values, left = values[keep], left[:, keep]
    return values, (roots.T @ left / np.sqrt(values)).T @ gap
