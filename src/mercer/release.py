"""A release: the public, immutable artifact.  Layer 4, right of the door: never sees a record.

Noisy coordinates in a basis, their noise, and what was promised.  All else is post-processing:
evaluate, derivatives, error bands.  What a kind of release adds (a density: integrals, samples,
smoothing) is in a module of its own.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from mercer import entropy
from mercer.bases import Basis, SpectralBasis
from mercer.checks import Floats
from mercer.domain import Domain
from mercer.statements import Statement

__all__ = ["Accuracy", "Band", "NoiseLaw", "Release", "noise_accuracy"]


@dataclass(frozen=True)
class NoiseLaw:
    """Independent noise in every coordinate: public."""

    law: str  # "discrete-gaussian"
    sd: float
    step: float  # of the lattice


@dataclass(frozen=True)
class Accuracy:
    """Error due to privacy: the distance to the same estimate without noise.  Known beforehand."""

    integrated: float  # expected integrated squared error
    pointwise: float  # largest standard deviation at a point
    coordinates: int
    truncation: float  # share of the kernel's variance that the coordinates leave out, at most

    def __str__(self) -> str:
        return (
            f"Noise for privacy: standard deviation at most {self.pointwise:.3g} at a point, "
            f"root integrated squared error {math.sqrt(self.integrated):.3g} expected. "
            f"{self.coordinates} coordinates, truncation at most {self.truncation:.1g}."
        )


class Band(NamedTuple):
    """Lower and upper ends of an error band, and its level."""

    lower: Floats
    upper: Floats
    level: float


@dataclass(frozen=True, eq=False, repr=False)
class Release(ABC):
    """A function anyone may evaluate, plot and keep for ever at no further cost."""

    domain: Domain
    basis: Basis
    coordinates: Floats
    noise: NoiseLaw
    privacy: Statement
    _memory: dict[Any, Any] = field(default_factory=dict, init=False)

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        values = np.array(self.coordinates, dtype=float)
        values.setflags(write=False)
        object.__setattr__(self, "coordinates", values)
        if values.shape != (self.basis.size,) or not np.all(np.isfinite(values)):
            raise ValueError(
                f"coordinates must be {self.basis.size} finite numbers, got shape {values.shape}"
            )

    @property
    @abstractmethod
    def filter(self) -> Floats:
        """Factor of every coordinate: the smoothing applied after the noise."""

    @property
    @abstractmethod
    def scale(self) -> float:
        """Factor from the basis' function of the unit cube to the function of the domain."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All that the file holds."""

    def raw(self, x: object, *, order: int | tuple[int, ...] = 0) -> Floats:
        """The released function itself, before any repair, or a derivative of it."""
        rows = self.domain.to_unit(self.domain.points(x))
        orders = self._orders(order)
        value = self.basis.evaluate(rows, self._filtered, orders if any(orders) else None)
        chain = math.prod(w**o for w, o in zip(self.domain.widths, orders, strict=True))
        out: Floats = (value * (self.scale / chain)).reshape(self.domain.shape(x))
        return out

    def band(self, x: object, level: float = 0.95, *, simultaneous: bool = True) -> Band:
        """A band that covers the same estimate without noise, at a point or everywhere at once.

        It speaks of the noise alone: the estimate's own sampling error is not in it (M15).
        """
        if not 0 < level < 1:
            raise ValueError(f"level must be in (0, 1), got {level!r}; 0.95 is usual")
        centre, sd = self.raw(x), self.standard_error(x)
        if simultaneous:
            width = self._simultaneous(level) * sd
        else:
            width = float(ndtri((1 + level) / 2)) * sd
        return Band(centre - width, centre + width, level)

    def standard_error(self, x: object) -> Floats:
        """Standard deviation of the noise at each point."""
        rows = self.domain.to_unit(self.domain.points(x))
        sd = self.noise.sd * self.scale
        return (sd * self.basis.deviation(rows, self.filter)).reshape(self.domain.shape(x))

    @property
    def accuracy(self) -> Accuracy:
        """Expected error due to privacy."""
        if "accuracy" not in self._memory:
            self._memory["accuracy"] = noise_accuracy(
                self.basis, self.filter, sd=self.noise.sd * self.scale, finest=self._finest,
                volume=self.domain.volume,
            )  # fmt: skip
        return self._memory["accuracy"]

    def save(self, path: str | Path) -> Path:
        """Write the release as JSON; `mercer.load` reads it back to the last bit."""
        from mercer.storage import write

        return write(self.to_dict(), Path(path))

    def plot(self, path: str | Path | None = None, **options: Any) -> Any:
        """Draw the release with its band; returns the Matplotlib figure."""
        from mercer.plotting import draw

        return draw(self, None if path is None else Path(path), **options)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.domain.describe()}: {self.privacy.short}>"

    @property
    def _filtered(self) -> Floats:
        if "filtered" not in self._memory:
            self._memory["filtered"] = self.basis.unmix(self.coordinates) * self.filter
        return self._memory["filtered"]

    def _orders(self, order: int | tuple[int, ...]) -> tuple[int, ...]:
        d = self.domain.dimension
        orders = (order,) if isinstance(order, (int, np.integer)) else tuple(order)
        if len(orders) != d or any(
            isinstance(o, bool) or not isinstance(o, (int, np.integer)) or o < 0 for o in orders
        ):
            if order == 0:
                return (0,) * d
            raise ValueError(
                f"order must be a whole number >= 0 for each of the {d} column(s), got {order!r}"
            )
        return orders

    @property
    def _finest(self) -> float:
        return float(self.basis.kernel.lengths.min())

    def _simultaneous(self, level: float) -> float:
        """Quantile of sup_x |noise(x)| / sd(x): public, so simulated, or in closed form (M15)."""
        if self.domain.dimension > 1 and isinstance(self.basis, SpectralBasis):
            return _field_quantile(level, self.basis, self.filter)
        if "suprema" not in self._memory:
            mesh = _mesh(self.domain.dimension, self._finest)
            runs = {1: 4000, 2: 2000, 3: 1000}[self.domain.dimension]
            trial = self.basis.noise_rows(mesh[:: max(1, len(mesh) // 64)], self.filter)
            power = np.max(trial**2 / np.sum(trial**2, axis=1, keepdims=True), axis=0)
            kept = np.flatnonzero(power > 1e-8)  # the others cannot be seen in the supremum
            normals = entropy.simulation(1).standard_normal((runs, kept.size)).T
            suprema = np.zeros(runs)
            for start in range(0, len(mesh), 512):
                rows = self.basis.noise_rows(mesh[start : start + 512], self.filter)[:, kept]
                length = np.sqrt(np.sum(rows**2, axis=1, keepdims=True))
                rows /= np.maximum(length, 1e-300)
                np.maximum(suprema, np.abs(rows @ normals).max(axis=0), out=suprema)
            self._memory["suprema"] = np.sort(suprema)
        suprema = self._memory["suprema"]
        rank = min(math.ceil((suprema.size + 1) * level), suprema.size)
        return float(suprema[rank - 1])


def noise_accuracy(
    basis: Basis, factors: Floats, *, sd: float, finest: float, volume: float
) -> Accuracy:
    """Error of independent noise of this `sd` in coordinates multiplied by `factors`."""
    d = basis.kernel.dimension
    mesh = _mesh(d, finest)
    spread = sd * basis.deviation(mesh, factors)
    side = round(len(mesh) ** (1 / d))
    return Accuracy(
        integrated=_mean((spread**2).reshape((side,) * d)) * volume,
        pointwise=float(np.max(spread)),
        coordinates=basis.size,
        truncation=basis.deficit,
    )


def _mesh(dimension: int, finest: float) -> Floats:
    """Points of the unit cube, dense enough to stand for all of it."""
    side = min(max(int(8 / finest), 64), {1: 2048, 2: 48, 3: 14}[dimension]) + 1
    ticks = np.linspace(0.0, 1.0, side)
    return np.stack(np.meshgrid(*[ticks] * dimension, indexing="ij"), -1).reshape(-1, dimension)


def _mean(values: Floats) -> float:
    """Trapezoid mean over a grid of the unit cube, ends included."""
    while values.ndim:
        values = ((values[:-1] + values[1:]) / 2).mean(axis=0)
    return float(values)


def _field_quantile(level: float, basis: SpectralBasis, factors: Floats) -> float:
    """The u with P(sup |Z| > u) = 1 - level, Z the noise over its sd, a smooth field on the cube.

    By the expected Euler characteristic of the set where Z > u, which is exact up to terms that
    vanish exponentially faster (Adler and Taylor 2007, Theorem 12.4.1): with rates r_i the
    standard deviations of Z's slopes, the cube has the curvatures e_j(r_1..r_d).
    """
    weight = basis.eigenvalues * (basis.amplitude * factors) ** 2 * basis.spread
    rates = np.sqrt(weight @ basis.angular**2 / np.sum(weight))
    curvature = np.poly(-rates)  # 1, sum of rates, sum over pairs, product

    def excess(u: float) -> float:
        tail = math.exp(-(u**2) / 2) / (2 * math.pi)
        count = 1 - float(ndtr(u)) + curvature[1] * tail
        if len(curvature) > 2:
            count += curvature[2] * tail * u / math.sqrt(2 * math.pi)
        if len(curvature) > 3:
            count += curvature[3] * tail * (u**2 - 1) / (2 * math.pi)
        return 2 * count - (1 - level)

    return float(brentq(excess, 1.5, 40.0)) if excess(1.5) > 0 else float(ndtri((1 + level) / 2))
