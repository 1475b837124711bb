"""What holds records may not be shown, copied or saved; what a summary of them tells the door."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np

from mercer.common.checks import Scores as ScoreList
from mercer.promise.events import Norm, Sensitivity

__all__ = ["Count", "Scores", "Sensitive", "Summary", "Whole"]

X = TypeVar("X")  # what the mechanism turns into something that may be told


class Sensitive:
    """Base of everything that holds records: refuses to be pickled, copied or shown."""

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"{type(self).__name__} holds sensitive records and cannot be pickled, copied or "
            "saved; release it first (mercer.density) and save the release"
        )

    def __reduce_ex__(self, _protocol: Any) -> NoReturn:
        self.__reduce__()

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: sensitive, not shown>"

    def __format__(self, _spec: str) -> str:
        return repr(self)


class Summary(Sensitive, ABC, Generic[X]):
    """f_D as coordinates, counts or scores, with a bound on what one record can do to them."""

    n: int  # rows, or persons: public under replace-one
    unit: str  # "row", or the column that names a person
    name: str = "coordinates"  # what a replay calls it
    stretch: float = 1.0  # its sensitivity is so many times what one record does: other draws share the event

    @property
    @abstractmethod
    def size(self) -> int:
        """How many numbers there are: public."""

    @property
    def note(self) -> str:
        """What the statement says beside the mechanism: public."""
        return ""

    @property
    def parameters(self) -> tuple[Any, ...]:
        """Public choices that the numbers depend on, for whoever replays a release."""
        return ()

    @abstractmethod
    def sensitivity(self, norm: Norm) -> Sensitivity | None:
        """Bound on the change of all numbers between neighbours, rounding included.

        None where no bound holds for all data: then the weaker promise alone can be made.
        """

    @abstractmethod
    def coordinates(self) -> X:
        """What the mechanism turns into something that may be told."""

    def shown(self, exact: X) -> np.ndarray:
        """The same as an array, in which a replay measures the change."""
        return np.asarray(exact)


class Whole(Summary[np.ndarray]):
    """Whole numbers with one bound on their change."""

    def __init__(self, values: Any, bound: Sensitivity, *, n: int, unit: str, name: str = "counts") -> None:
        self._values, self._bound, self.n, self.unit = np.asarray(values), bound, n, unit
        self.name = name

    @property
    def size(self) -> int:
        return len(self._values)

    def sensitivity(self, norm: Norm) -> Sensitivity:
        one = self.size == 1 and {norm, self._bound.norm} <= {"l1", "l2"}  # they are the same for one number
        return Sensitivity(self._bound.value, norm) if one else self._bound

    def coordinates(self) -> np.ndarray:
        return self._values


class Count(Whole):
    """One count: a record, or a person, is counted in it or is not."""

    def __init__(self, count: int, *, n: int, unit: str) -> None:
        super().__init__([count], Sensitivity(1.0, norm="l1"), n=n, unit=unit, name="count")


class Scores(Summary[ScoreList]):
    """A score of each of finitely many public candidates: higher is better."""

    name = "scores"

    def __init__(self, scores: Any, moved: Sensitivity, *, n: int, unit: str) -> None:
        self._scores, self._moved, self.n, self.unit = scores, moved, n, unit

    @property
    def size(self) -> int:
        return len(self._scores)

    def sensitivity(self, norm: Norm) -> Sensitivity:  # noqa: ARG002
        return self._moved

    def coordinates(self) -> ScoreList:
        return self._scores

    def shown(self, exact: ScoreList) -> np.ndarray:
        return np.array(list(exact), dtype=object)
