"""What anyone may ask of weighted synthetic records.  Right of the door.  M10.

Balog, Tolstikhin and Schoelkopf 2018, Sec. 3.3: expectations, probabilities, samples, and the
embedding of a function of the records.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from mercer.common import streams
from mercer.common.checks import Bools, Floats, Ints, check_count, check_level
from mercer.releases.bands import Interval

__all__ = ["Pushed", "Weighted", "resample"]

Points: TypeAlias = Mapping[str, Any] | Sequence[Any] | np.ndarray


class Weighted(ABC):
    """Points with weights that stand for the records."""

    @property
    @abstractmethod
    def weights(self) -> Floats:
        """One number a point."""

    @property
    @abstractmethod
    def positive(self) -> Floats:
        """The nearest weights that are a distribution: not negative, of sum one."""

    @property
    @abstractmethod
    def replicas(self) -> Floats:
        """Weights as they would have come out with other noise, one set a row: public draws."""

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
        return float(self.weights @ values) / _mass(self.weights)

    def probability(self, condition: Any) -> float:
        """P(condition): a function that gives one truth value a row, or a mapping.

        In a mapping each column has a pair (least, most) whose ends are included, a value, or a
        list of values; all must hold.  Between 0 and 1: the weights used are a distribution.
        """
        return float(np.clip(self.positive @ self._holds(condition), 0.0, 1.0))

    def interval(self, h: Any, level: float = 0.95) -> Interval:
        """The expectation of h(X) with an interval for the noise of privacy alone (M15).

        From releases redrawn around this one with the public law of the noise: sampling error and
        what smoothing takes away are not in it.  Its ends are NaN for a table drawn whole.
        """
        check_level(level)
        if isinstance(h, Mapping):
            values, estimate = self._holds(h), self.probability(h)
        else:
            values = self._values(h)
            estimate = float(self.weights @ values) / _mass(self.weights)
        drawn = (self.replicas @ values) / np.array([_mass(w) for w in self.replicas])
        spread = np.quantile(np.abs(drawn - np.mean(drawn)), level)
        return Interval(estimate, estimate - float(spread), estimate + float(spread), level)

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

    def __init__(
        self, values: np.ndarray | list[Any], weights: Floats, replicas: Floats, positive: Floats
    ) -> None:
        self.points, self._weights, self._replicas = values, weights, replicas
        self._positive = positive

    @property
    def weights(self) -> Floats:
        return self._weights

    @property
    def positive(self) -> Floats:
        return self._positive

    @property
    def replicas(self) -> Floats:
        return self._replicas

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


def _mass(weights: Floats) -> float:
    """Sum of weights, one where it is lost in noise."""
    total = float(weights.sum())
    return total if total > 0.1 else 1.0


def _called(h: Any, table: Any, name: str) -> Any:
    if not callable(h):
        raise TypeError(f"{name} must be a function of the table, got {type(h).__name__}")
    return h(table)
