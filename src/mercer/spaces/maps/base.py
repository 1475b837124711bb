"""The contract of a feature map, and a table of their names for files."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mercer.common.checks import Floats

__all__ = ["MAPS", "MOST_FEATURES", "FeatureMap", "map_from_dict", "shown"]

MAPS: dict[str, type[FeatureMap]] = {}
MOST_FEATURES = 4096


@dataclass(frozen=True, eq=False)
class FeatureMap(ABC):
    """phi(x) = (constant, features of norm at most one), on the unit cube.

    The constant is left out where it is zero.
    """

    constant: float  # b: the kernel is K + b^2

    name: ClassVar[str]
    ordered: ClassVar[bool] = False  # whether features come in the order of their importance

    def __init_subclass__(cls) -> None:
        if "name" in cls.__dict__:
            MAPS[cls.name] = cls

    @property
    @abstractmethod
    def dimension(self) -> int:
        """How many columns the data have."""

    @property
    @abstractmethod
    def inner(self) -> int:
        """How many features there are beside the constant."""

    @property
    @abstractmethod
    def words(self) -> str:
        """A description of the features for people."""

    @abstractmethod
    def rows(self, unit: Floats) -> Floats:
        """The features but the constant, before any scaling."""

    @abstractmethod
    def fields(self) -> dict[str, Any]:
        """What a file needs to rebuild it, beside name and constant."""

    @classmethod
    @abstractmethod
    def from_fields(cls, constant: float, fields: dict[str, Any]) -> FeatureMap:
        """Rebuild; ValueError if a field is out of range."""

    @property
    def size(self) -> int:
        """m, the number of features, the constant included."""
        return self.inner + (self.constant > 0)

    @property
    def kappa(self) -> float:
        """The largest norm sup |phi(x)| of the features of a row, rounded up."""
        return math.sqrt(1 + self.constant**2) * (1 + 1e-9)

    @property
    @abstractmethod
    def amplification(self) -> float:
        """Root mean square over the features of the sum of sizes of the terms of each."""

    @property
    def wobble(self) -> float:
        """Bound on what the place of a row in a piece can do to its computed features, by rounding.

        Products of matrices may add up the same terms in another order.
        """
        terms = 4 * (self.dimension + 64)
        return terms * 2.0**-53 * math.sqrt(self.inner) * self.amplification

    def features(self, unit: Floats) -> Floats:
        """Phi at rows of the unit cube: shape (rows, m)."""
        inner = self.rows(unit)
        inner /= np.sqrt(np.maximum(np.einsum("ij,ij->i", inner, inner), 1.0))[:, None]
        if not self.constant:
            return inner
        out = np.empty((len(unit), self.size))
        out[:, 1:] = inner
        out[:, 0] = self.constant
        return out

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, from which `map_from_dict` rebuilds the same map."""
        return {"name": self.name, "constant": self.constant, **self.fields()}


def map_from_dict(fields: object) -> FeatureMap:
    """Rebuild a map from a table of names: nothing named in a file is ever imported."""
    name = fields.get("name") if isinstance(fields, dict) else None
    if not isinstance(fields, dict) or not isinstance(name, str) or name not in MAPS:
        raise ValueError(f"unknown features {name!r}; this version knows {', '.join(MAPS)}")
    constant = fields.get("constant")
    if isinstance(constant, bool) or not isinstance(constant, (int, float)) or not 0 <= constant <= 100:
        raise ValueError("constant of the features must be a number in [0, 100]")
    return MAPS[name].from_fields(float(constant), fields)


def shown(lengths: Floats) -> str:
    """A bandwidth in words, as a share of the width."""
    values = [f"{h:.3g}" for h in lengths]
    return f"{values[0] if len(set(values)) == 1 else ', '.join(values)} of the width"
