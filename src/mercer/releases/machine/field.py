"""What the noise of privacy does to released machines: their error in words, and its field.  M8.

Right of the door.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from mercer.common.checks import Floats
from mercer.noise.laws import Law, Normal
from mercer.releases.function import Field, radial_quantile, suprema_of
from mercer.spaces.maps import FeatureMap

__all__ = ["MachineAccuracy", "MachineField"]

_RUNS = 2000


@dataclass(frozen=True)
class MachineAccuracy:
    """Error due to privacy: the distance to the same machine without noise.  Known beforehand."""

    pointwise: float  # largest standard deviation of the function's noise at a point
    unit: str  # of the function's values
    coordinates: int
    features: str  # what the coordinates are weights of: chosen without looking at the records
    penalty: float
    method: str
    gap: float  # how near the solver came to the minimum: part of the sensitivity
    typical: float | None = None  # standard deviation at the records, where it is estimated

    def __str__(self) -> str:
        bound, typical = "", ""
        if self.method == "moments":
            return (
                f"Noise for privacy: standard deviation about {self.typical:.3g}{self.unit} at the records, "
                f"and at most {self.pointwise:.3g}{self.unit} at a point. {self.coordinates} moments of "
                f"{self.features}; penalty {self.penalty:.3g}, which stays free: release.smooth(penalty=…)."
            )
        if self.typical is not None:
            typical = f"about {self.typical:.3g}{self.unit} in the middle of the records, and "
        elif self.method == "objective":
            bound = " (a bound: several times less where the records determine the function)"
        return (
            f"Noise for privacy: standard deviation {typical}at most {self.pointwise:.3g}{self.unit} at "
            f"a point{bound}. {self.coordinates} weights, of {self.features}; penalty "
            f"{self.penalty:.3g}, noise in the {self.method}, solved to a gap of {self.gap:.1g}, "
            "which the noise covers."
        )


@dataclass(frozen=True, eq=False)
class MachineField(Field):
    """Noise of functions of the same features, in weights multiplied by known factors."""

    features: FeatureMap
    law: Law
    size: int  # weights of all functions, whose noise is drawn together
    factors: Floats  # of each weight, one row a function
    unit: float  # standard deviation of a weight's noise, in units of the functions
    roots: tuple[Floats, ...] = ()  # of each function's covariance of weights, in those units

    @property
    def normal(self) -> bool:
        return isinstance(self.law, Normal)

    def deviation(self, unit: Floats) -> Floats:
        phi = self.features.features(unit)
        if self.roots:
            return np.stack([np.linalg.norm(phi @ root, axis=1) for root in self.roots], axis=1)
        return np.sqrt(phi**2 @ (self.factors**2).T) * self.unit

    def width_at(self, unit: Floats, level: float, sd: Floats) -> Floats:
        del unit
        return sd * radial_quantile(level, self.law.radii(self.size))

    def everywhere(self, level: float) -> float:
        """For all functions together; above three columns Scheffe's, over all weights at once."""
        each = 1 - (1 - level) / len(self.factors)
        if self.features.dimension <= 3:
            return self.simulated(each)
        most = math.sqrt(float(chi2.ppf(each, self.features.size)))
        return most * (1.0 if self.normal else self._radius(level))

    def suprema(self) -> Floats:
        """The worst of all functions."""
        d, m = self.features.dimension, self.features.size
        ticks = np.linspace(0.0, 1.0, {1: 513, 2: 41, 3: 13}[d])
        phi = self.features.features(np.stack(np.meshgrid(*[ticks] * d, indexing="ij"), -1).reshape(-1, d))
        draws = self.law.draws(self.size, np.arange(m))[:_RUNS].T
        draws = draws / float(self.law.deviations(self.size)[0])

        def parts() -> Iterator[Floats]:
            each = [phi @ root for root in self.roots]
            for rows in each or [phi * factors for factors in np.unique(self.factors, axis=0)]:
                length = np.maximum(np.sqrt(np.sum(rows**2, axis=1, keepdims=True)), 1e-300)
                yield rows / length @ draws

        return suprema_of(parts(), draws.shape[1])

    def _radius(self, level: float) -> float:
        return float(np.quantile(self.law.radii(self.size), level))
