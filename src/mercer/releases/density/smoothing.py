"""Smoothing of noisy coordinates to a density, and the noise that it leaves.  M15, M17.

Filters, Stein's estimate of risk and the projection to a density see released numbers only, so they may
look at them as often as they like.  The noise that is left after a filter, and with it the expected
error, is known before any record is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from mercer.columns.domain import Box
from mercer.common.checks import Floats
from mercer.noise.laws import Law, Normal
from mercer.releases.function import NOTHING_LEFT, Field, Orders, radial_quantile, suprema_of
from mercer.rules.public import reference_power
from mercer.spaces.bases import Basis, SpectralBasis
from mercer.spaces.bases.base import check_scales, covariance_of

__all__ = [
    "BasisAccuracy",
    "BasisField",
    "choose_bandwidth",
    "density_level",
    "released_mass",
    "unit_covariance",
    "without_constant",
]

_STEPS = 96
PRIOR = 0.5  # weight of the reference density beside the data's own estimate of risk
_SEEN = 1e-8  # share of a coordinate in the variance below which it cannot be seen in the supremum


def choose_bandwidth(
    basis: SpectralBasis, coordinates: Floats, *, sd: Floats, n: int
) -> tuple[tuple[float, ...], str]:
    """Bandwidths (unit coordinates) and smoother of least estimated risk (Stein's, unbiased).

    M17: y_k = theta_k + noise of variance v_k + sampling error of variance t_k, filtered by s_k;
    the risk is, up to a constant, sum s_k^2 y_k^2 - 2 s_k (y_k^2 - v_k - t_k).  To it half of the
    expected error of the public reference density is added, which steadies the choice when the
    noise leaves little to see and vanishes beside the risk when there is more.  One bandwidth
    for all coordinates first, then each in turn.

    Raw moments may be smoothed by a kernel of order four as well, which keeps low frequencies
    whole: for smooth densities that halves the error, and it is the estimate of risk that decides.
    """
    own = np.sqrt(basis.eigenvalues)
    y = basis.unmix(coordinates) / own
    error = (sd / own) ** 2 * basis.spread + basis.sampling_variance(y, n)
    prior = PRIOR * reference_power(basis.angular) * basis.amplitude[0] ** 2
    # a filter is a product over the axes, so sums over k are products of small tables
    size = np.abs(basis.frequencies)
    shape = tuple(int(s) for s in size.max(axis=0) + 1)
    flat = np.ravel_multi_index(tuple(size.T), shape)
    power, signal = (
        np.bincount(flat, terms, math.prod(shape)).reshape(shape)
        for terms in (y**2 + prior + PRIOR * error, y**2 - error + prior)
    )
    h0 = basis.lengths
    top = float(np.min(np.log(np.maximum(basis.widest / h0, 1.0))))
    grid = np.exp(np.linspace(0.0, top, _STEPS))
    tables = [
        np.exp(-np.outer(grid**2, (math.pi * axis.rate * h * np.arange(side)) ** 2 / 2))
        for axis, h, side in zip(basis.axes, h0, shape, strict=True)
    ]

    def risks(axis: int, chosen: list[int]) -> Floats:
        """Risk at every step of one axis, the others at their chosen step."""
        p, s = power, signal
        for other in reversed(range(len(shape))):
            if other != axis:
                row = tables[other][chosen[other]]
                p, s = np.tensordot(p, row**2, (other, 0)), np.tensordot(s, row, (other, 0))
        return np.asarray(tables[axis] ** 2 @ p - 2 * (tables[axis] @ s), dtype=float)

    smoother = "gaussian"
    if len(shape) == 1:
        least = risks(0, [0])
        best = [int(np.argmin(least))]
        if "quartic" in basis.smoothers:
            angle = math.pi * basis.axes[0].rate * h0[0] * np.arange(shape[0])
            sharp = np.exp(-np.outer(grid**4, angle**4) / 2)
            other = sharp**2 @ power - 2 * (sharp @ signal)
            if np.min(other) < np.min(least):
                best, smoother = [int(np.argmin(other))], "quartic"
    else:
        common = [float(risks(0, [i] * len(shape))[i]) for i in range(_STEPS)]
        best = [int(np.argmin(common))] * len(shape)
        for axis in [*range(len(shape))] * 2:
            best[axis] = int(np.argmin(risks(axis, best)))
    return tuple(float(v) for v in np.maximum(h0 * grid[best], h0)), smoother


def released_mass(coordinate: float, sd: float) -> float:
    """Estimated share of records with values, from the constant coordinate (M18).

    It is taken as one unless it is below one by more than three standard deviations of the
    noise, and is never taken below a twentieth.
    """
    if coordinate >= 1 - 3 * sd:
        return 1.0
    return max(coordinate, 3 * sd, 0.05)


def density_level(values: Floats) -> float:
    """The t for which max(values - t, 0) has mean one: the L2 projection to a density.

    Values are those at the middles of equal cells of the unit cube.  Sums run in sorted order,
    one after the other, so that the level is the same on every machine.
    """
    falling = np.sort(values, axis=None)[::-1]
    count = np.arange(1, falling.size + 1)
    level = (np.cumsum(falling) - values.size) / count
    above = np.flatnonzero(falling > level)  # none where all values agree to the last bit
    return float(level[above[-1] if above.size else -1])


def without_constant(basis: Basis, factors: Floats) -> Floats:
    """Factors of the noise of a density: its integral is one, so that the constant has none.

    Cosines of several columns keep it: their noise is a product over the columns, and a little
    less than what is said.
    """
    if not isinstance(basis, SpectralBasis) or (basis.reflects and basis.dimension > 1):
        return factors
    return np.concatenate([[0.0], factors[1:]])


def unit_covariance(bandwidth: object, domain: Box) -> tuple[tuple[float, ...], ...]:
    """The squared bandwidth H in unit coordinates, from what a caller gave in data units."""
    d = domain.dimension
    try:
        value = np.asarray(bandwidth, dtype=float)
    except (TypeError, ValueError):
        value = np.empty((0, 0, 0))
    if value.ndim == 0:
        value = np.full(d, float(value))
    if value.shape not in ((d,), (d, d)):
        raise ValueError(
            f"bandwidth must be a number, {d} number(s), a {d} x {d} matrix (the squared "
            f"bandwidth), 'auto', 'rule', 'private-scott' or 'private-cv'; got {_shown(bandwidth)}"
        )
    if value.ndim == 1:
        if not (np.all(np.isfinite(value)) and np.all(value > 0)):
            raise ValueError(
                f"bandwidth must be finite and above 0, got {value.tolist()}; it is the standard "
                "deviation of the smoothing, in the units of the data"
            )
        with np.errstate(over="ignore", under="ignore"):  # the check refuses what is left
            scales = value / domain.widths
        matrix = np.diag(np.clip(scales, 1e-9, 1e9) ** 2)
    else:
        if not np.all(np.isfinite(value)) or not np.allclose(value, value.T, rtol=1e-12):
            raise ValueError("bandwidth as a matrix must be finite and symmetric")
        matrix = value / 2 + value.T / 2
        if np.any(np.diag(matrix) <= 0) or np.linalg.eigvalsh(matrix)[0] <= 0:
            raise ValueError("bandwidth as a matrix must be positive definite: all its eigenvalues above 0")
        with np.errstate(over="ignore", under="ignore"):
            matrix = matrix / np.outer(domain.widths, domain.widths)
            scales = np.sqrt(np.diag(matrix))
    try:
        check_scales(scales)
        return covariance_of(matrix)
    except ValueError as error:
        raise ValueError(f"bandwidth: {error}") from None


def _shown(value: object) -> str:
    if isinstance(value, (str, int, float, list, tuple)):
        return repr(value)[:60]
    return f"{type(value).__name__} of shape {getattr(value, 'shape', ())}"


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
            return radial_quantile(level, self.law.radii(self.basis.size)) * sd
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
