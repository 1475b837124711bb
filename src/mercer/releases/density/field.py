"""Noise of a density, and its expected error: known before any record is read.  M15."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from mercer.common.checks import Floats
from mercer.noise.laws import Law, Normal
from mercer.releases.function import NOTHING_LEFT, Field, Orders, suprema_of
from mercer.spaces.bases import Basis, SpectralBasis

__all__ = ["BasisAccuracy", "BasisField"]

_SEEN = 1e-8  # share of a coordinate in the variance below which it cannot be seen in the supremum


@dataclass(frozen=True)
class BasisAccuracy:
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


@dataclass(frozen=True, eq=False)
class BasisField(Field):
    """Noise in the coordinates of a basis, each multiplied by a public factor."""

    basis: Basis
    law: Law
    factors: Floats
    scale: float  # from the basis' function of the unit cube to the function shown
    finest: float  # bandwidth, of which the mesh has eight points
    orders: Orders = ()  # of the derivative

    @property
    def normal(self) -> bool:
        return isinstance(self.law, Normal)

    def deviation(self, unit: Floats) -> Floats:
        return self.scale * self._spread(unit)

    def width_at(self, unit: Floats, level: float, sd: Floats) -> Floats:
        if self.basis.dimension > 1:
            return _radial_quantile(level, self.law.radii(self.basis.size)) * sd
        draws = self.law.draws(self.basis.size, np.arange(self.basis.size)).T
        parts = [
            np.quantile(np.abs(self._rows(part) @ draws), level, axis=1)
            for part in np.array_split(unit, max(1, len(unit) // 256))
        ]
        return self.scale * np.concatenate(parts)

    def everywhere(self, level: float) -> float:
        """In closed form for smooth fields on several columns, else simulated."""
        if self.basis.dimension > 1 and isinstance(self.basis, SpectralBasis) and not any(self.orders):
            return _field_quantile(level, self.basis, self.factors, self.law.radii(self.basis.size))
        return self.simulated(level)

    def suprema(self) -> Floats:
        mesh, size = self.mesh, self.basis.size
        runs = {1: 4000, 2: 2000, 3: 1000}[self.basis.dimension]
        trial = self._rows(mesh[:: max(1, len(mesh) // 64)]) * self.law.deviations(size)
        power = np.max(trial**2 / np.sum(trial**2, axis=1, keepdims=True), axis=0)
        kept = np.flatnonzero(power > _SEEN)
        draws = self.law.draws(size, kept)[:runs].T

        def parts() -> Iterator[Floats]:
            for start in range(0, len(mesh), 512):
                part = mesh[start : start + 512]
                sd = np.maximum(self._spread(part), 1e-300)
                yield self._rows(part)[:, kept] / sd[:, None] @ draws

        return suprema_of(parts(), draws.shape[1])

    def accuracy(self, *, volume: float, tail: float) -> BasisAccuracy:
        """Expected error of this noise; `tail` is what the basis leaves out."""
        spread = self.deviation(self.mesh)
        d = self.basis.dimension
        side = round(len(spread) ** (1 / d))
        return BasisAccuracy(
            integrated=_mean((spread**2).reshape((side,) * d)) * volume,
            pointwise=float(np.max(spread)),
            coordinates=self.basis.size,
            truncation=tail / volume,
            resolution=self.basis.resolution,
            left=float(np.max(np.abs(self.factors[1:]), initial=0.0)) if self.basis.size > 1 else 1.0,
        )

    @property
    def mesh(self) -> Floats:
        """Points of the unit cube, dense enough to stand for all of it."""
        d = self.basis.dimension
        side = min(max(int(8 / self.finest), 64), {1: 2048, 2: 48, 3: 14}[d]) + 1
        ticks = np.linspace(0.0, 1.0, side)
        return np.stack(np.meshgrid(*[ticks] * d, indexing="ij"), -1).reshape(-1, d)

    def _rows(self, unit: Floats) -> Floats:
        """What each coordinate's noise is multiplied by at points."""
        if any(self.orders):
            return self.basis.unmix(self.basis.features(unit, self.orders) * self.factors)
        return self.basis.noise_rows(unit, self.factors)

    def _spread(self, unit: Floats) -> Floats:
        size = self.basis.size
        if self.law.white:
            sd = self.law.deviations(size)[0]
            if any(self.orders):
                return np.asarray(sd * np.linalg.norm(self._rows(unit), axis=1))
            return sd * self.basis.deviation(unit, self.factors)
        draws = self.law.draws(size, np.arange(size))
        covariance = draws.T @ draws / len(draws)
        rows = self._rows(unit)
        return np.sqrt(np.maximum(np.einsum("ij,ij->i", rows @ covariance, rows), 0.0))


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
