"""What every summary tells the door.  Left of the door."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from mercer.common.checks import Floats
from mercer.promise.events import Norm, Sensitivity
from mercer.sensitive.base import Sensitive

__all__ = ["Summary"]


class Summary(Sensitive, ABC):
    """f_D as coordinates, with a bound on what one record can do to them."""

    n: int  # rows, or persons: public under replace-one
    unit: str  # "row", or the column that names a person

    @property
    @abstractmethod
    def size(self) -> int:
        """How many coordinates there are: public."""

    @property
    def note(self) -> str:
        """What the statement says beside the mechanism: public."""
        return ""

    @property
    def parameters(self) -> tuple[Any, ...]:
        """Public choices that the coordinates depend on, for whoever replays a release."""
        return ()

    @abstractmethod
    def sensitivity(self, norm: Norm) -> Sensitivity:
        """Bound on the change of the coordinate vector between neighbours, rounding included."""

    @abstractmethod
    def coordinates(self) -> Floats:
        """The coordinates of f_D, which get noise."""
