"""A release: the public, immutable artifact.  Right of the door: never sees a record.

Noisy coordinates in a basis, their noise, and what was promised.  All else is post-processing:
evaluate, derivatives, error bands.  What a kind of release adds (a density: integrals, samples,
smoothing) is in a module of its own.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from mercer.columns.domain import Domain
from mercer.common.checks import Floats, check_level
from mercer.common.disk import replace_text
from mercer.common.fields import Fields
from mercer.noise.laws import Law, Normal
from mercer.promise.statement import Statement
from mercer.releases.bands import Band
from mercer.releases.findings import Finding
from mercer.spaces.bases import Basis, SpectralBasis

__all__ = [
    "FORMAT",
    "NOTHING_LEFT",
    "VERSION",
    "Accuracy",
    "FunctionRelease",
    "Release",
    "noise_accuracy",
    "text_of",
    "write",
]

FORMAT = "mercer-release"  # what a file calls itself
VERSION = 2
NOTHING_LEFT = 1e-3


@dataclass(frozen=True)
class Accuracy:
    """Error due to privacy: the distance to the same estimate without noise.  Known beforehand."""

    integrated: float  # expected integrated squared error
    pointwise: float  # largest standard deviation at a point
    coordinates: int
    truncation: float  # integrated squared error of leaving out all finer functions, at most;
    # infinite where nothing bounds it
    resolution: float  # half a wave of the finest function, as a share of the bounds' width
    left: float = 1.0  # largest factor that smoothing leaves of a coordinate that is not constant

    def __str__(self) -> str:
        if self.left < NOTHING_LEFT:
            return (
                "Nothing of the records is left: for so few records and so small an epsilon the "
                "noise hides all, and smoothing keeps the bounds alone."
            )
        return (
            f"Noise for privacy: standard deviation at most {self.pointwise:.3g} at a point, "
            f"root integrated squared error {math.sqrt(self.integrated):.3g} expected. "
            f"{self.coordinates} coordinates, detail down to {self.resolution:.2g} of the width"
            + (
                f"; leaving out the rest adds at most {math.sqrt(self.truncation):.1g}."
                if 1e-6 * self.integrated < self.truncation <= self.integrated
                else "."
            )
        )


@dataclass(frozen=True, eq=False, repr=False)
class Release(ABC):
    """Something anyone may evaluate, plot and keep for ever at no further cost."""

    domain: Domain
    privacy: Statement

    kind: ClassVar[str]

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """All that the file holds."""

    @classmethod
    @abstractmethod
    def from_fields(cls, top: Fields) -> Self:
        """The release that `to_dict` wrote; ValueError says what is wrong."""

    @abstractmethod
    def findings(self) -> tuple[Finding, ...]:
        """What the release itself tells: post-processing of its noisy numbers, free."""

    def save(self, path: str | Path) -> Path:
        """Write the release as JSON; `mercer.load` reads it back to the last bit."""
        return write(self.to_dict(), Path(path))

    def plot(self, path: str | Path | None = None, **options: Any) -> Any:
        """Draw the release with its band; returns the Matplotlib figure."""
        from mercer.releases.figure import draw

        return draw(self, None if path is None else Path(path), **options)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.domain.describe()}: {self.privacy.short}>"


def write(fields: dict[str, Any], path: Path) -> Path:
    """Write a release, all of it or nothing: a crash leaves the old file or the new one."""
    text = text_of(fields)
    try:
        replace_text(path, text + "\n", mode=0o644)
    except OSError as error:
        missing = not path.resolve().parent.is_dir()
        reason = f"there is no folder {str(path.parent)!r}" if missing else error.strerror
        raise OSError(
            error.errno,
            f"{reason}; the release is not lost: save it again to another place, at no cost",
            str(path),
        ) from None
    return path


def text_of(fields: dict[str, Any]) -> str:
    """All that the file of a release says."""
    return json.dumps({"format": FORMAT, "version": VERSION, **fields}, allow_nan=False, indent=1)


@dataclass(frozen=True, eq=False, repr=False)
class FunctionRelease(Release):
    """Noisy coordinates of one function in a basis, with the law of their noise."""

    basis: Basis
    coordinates: Floats
    noise: Law
    _memory: dict[Any, Any] = field(default_factory=dict, init=False)

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

    def raw(self, x: object, *, order: int | tuple[int, ...] = 0) -> Floats:
        """The released function itself, before any repair, or a derivative of it."""
        rows = self.domain.to_unit(self.domain.points(x))
        orders = self._orders(order)
        value = self.basis.evaluate(rows, self._filtered, orders) if any(orders) else self._function(rows)
        chain = math.prod(w**o for w, o in zip(self.domain.widths, orders, strict=True))
        out: Floats = (value * (self.scale / chain)).reshape(self.domain.shape(x))
        return out

    def band(self, x: object, level: float = 0.95, *, simultaneous: bool = True) -> Band:
        """A band that covers the same estimate without noise, at a point or everywhere at once.

        It speaks of the noise alone: the estimate's own sampling error is not in it (M15).
        """
        check_level(level)
        centre, sd = self.raw(x), self.standard_error(x)
        width = self._simultaneous(level) * sd if simultaneous else self._pointwise(x, level, sd)
        return Band(centre - width, centre + width, level)

    def standard_error(self, x: object) -> Floats:
        """Standard deviation of the noise at each point."""
        rows = self.domain.to_unit(self.domain.points(x))
        spread = _deviation(self.basis, self.noise, rows, self._noisy)
        return (self.scale * spread).reshape(self.domain.shape(x))

    @property
    def accuracy(self) -> Accuracy:
        """Expected error due to privacy."""
        if "accuracy" not in self._memory:
            self._memory["accuracy"] = noise_accuracy(
                self.basis,
                self._noisy,
                self.noise,
                scale=self.scale,
                finest=self._finest,
                volume=self.domain.volume,
                tail=self._tail,
            )
        return self._memory["accuracy"]

    @property
    def _filtered(self) -> Floats:
        if "filtered" not in self._memory:
            self._memory["filtered"] = self.basis.unmix(self.coordinates) * self.filter
        return self._memory["filtered"]

    @property
    def _function(self) -> Callable[[Floats], Floats]:
        if "function" not in self._memory:
            self._memory["function"] = self.basis.function(self._filtered)
        return self._memory["function"]

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
        return float(self.basis.lengths.min())

    @property
    def _noisy(self) -> Floats:
        """Factor of the noise of every coordinate: none where the value is known."""
        return self.filter

    @property
    def _tail(self) -> float:
        return self.basis.deficit

    def _pointwise(self, x: object, level: float, sd: Floats) -> Floats:
        """Quantile of |noise| at each point."""
        if isinstance(self.noise, Normal):
            return float(ndtri((1 + level) / 2)) * sd
        if self.domain.dimension > 1:
            return _radial_quantile(level, self.noise.radii(self.basis.size)) * sd
        unit = self.domain.to_unit(self.domain.points(x))
        draws = self.noise.draws(self.basis.size, np.arange(self.basis.size)).T
        parts = [
            np.quantile(np.abs(self.basis.noise_rows(part, self._noisy) @ draws), level, axis=1)
            for part in np.array_split(unit, max(1, len(unit) // 256))
        ]
        return (self.scale * np.concatenate(parts)).reshape(self.domain.shape(x))

    def _simultaneous(self, level: float) -> float:
        """Quantile of sup_x |noise(x)| / sd(x): public, so simulated, or in closed form (M15)."""
        size = self.basis.size
        if self.domain.dimension > 1 and isinstance(self.basis, SpectralBasis):
            return _field_quantile(level, self.basis, self._noisy, self.noise.radii(size))
        if "suprema" not in self._memory:
            mesh = _mesh(self.domain.dimension, self._finest)
            runs = {1: 4000, 2: 2000, 3: 1000}[self.domain.dimension]
            trial = self.basis.noise_rows(mesh[:: max(1, len(mesh) // 64)], self._noisy)
            trial = trial * self.noise.deviations(size)
            power = np.max(trial**2 / np.sum(trial**2, axis=1, keepdims=True), axis=0)
            kept = np.flatnonzero(power > 1e-8)  # the others cannot be seen in the supremum
            draws = self.noise.draws(size, kept)[:runs].T
            suprema = np.zeros(draws.shape[1])
            for start in range(0, len(mesh), 512):
                part = mesh[start : start + 512]
                sd = np.maximum(_deviation(self.basis, self.noise, part, self._noisy), 1e-300)
                rows = self.basis.noise_rows(part, self._noisy)[:, kept] / sd[:, None]
                np.maximum(suprema, np.abs(rows @ draws).max(axis=0), out=suprema)
            self._memory["suprema"] = np.sort(suprema)
        suprema = self._memory["suprema"]
        rank = min(math.ceil((suprema.size + 1) * level), suprema.size)
        return float(suprema[rank - 1])


def noise_accuracy(
    basis: Basis, factors: Floats, law: Law, *, scale: float, finest: float, volume: float, tail: float
) -> Accuracy:
    """Error of noise of this law in coordinates multiplied by `factors`, times `scale`."""
    d = basis.dimension
    mesh = _mesh(d, finest)
    spread = scale * _deviation(basis, law, mesh, factors)
    side = round(len(mesh) ** (1 / d))
    return Accuracy(
        integrated=_mean((spread**2).reshape((side,) * d)) * volume,
        pointwise=float(np.max(spread)),
        coordinates=basis.size,
        truncation=tail / volume,
        resolution=basis.resolution,
        left=float(np.max(np.abs(factors[1:]), initial=0.0)) if basis.size > 1 else 1.0,
    )


def _deviation(basis: Basis, law: Law, x: Floats, factors: Floats) -> Floats:
    """Standard deviation of the noise at points of the unit cube."""
    if law.white:
        return law.deviations(basis.size)[0] * basis.deviation(x, factors)
    draws = law.draws(basis.size, np.arange(basis.size))
    covariance = draws.T @ draws / len(draws)
    rows = basis.noise_rows(x, factors)
    return np.sqrt(np.maximum(np.einsum("ij,ij->i", rows @ covariance, rows), 0.0))


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


def _radial_quantile(level: float, radii: Floats) -> float:
    """The u with P(|Z| > u) = 1 - level, Z normal times one of these radii."""

    def excess(u: float) -> float:
        return 2 * float(np.mean(ndtr(-u / radii))) - (1 - level)

    return float(brentq(excess, 0.0, 40.0))


def _field_quantile(level: float, basis: SpectralBasis, factors: Floats, radii: Floats) -> float:
    """The u with P(sup |Z| > u) = 1 - level, Z the noise over its sd, a smooth field on the cube.

    By the expected Euler characteristic of the set where Z > u, which is exact up to terms that
    vanish exponentially faster (Adler and Taylor 2007, Theorem 12.4.1): with rates r_i the
    standard deviations of Z's slopes, the cube has the curvatures e_j(r_1..r_d).
    """
    weight = basis.eigenvalues * (basis.amplitude * factors) ** 2 * basis.spread
    rates = np.sqrt(weight @ basis.angular**2 / np.sum(weight))
    curvature = np.poly(-rates)  # 1, sum of rates, sum over pairs, product

    def excess(height: float) -> float:
        u = height / radii  # the noise is normal times one of these, nearly
        tail = np.exp(-(u**2) / 2) / (2 * math.pi)
        count = 1 - ndtr(u) + curvature[1] * tail
        if len(curvature) > 2:
            count += curvature[2] * tail * u / math.sqrt(2 * math.pi)
        if len(curvature) > 3:
            count += curvature[3] * tail * (u**2 - 1) / (2 * math.pi)
        return 2 * float(np.mean(np.minimum(count, 0.5))) - (1 - level)

    return float(brentq(excess, 1.5, 40.0)) if excess(1.5) > 0 else float(ndtri((1 + level) / 2))
