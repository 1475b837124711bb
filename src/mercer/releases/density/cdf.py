"""The distribution function of a density of one column, from its coordinates without any smoothing.  M20."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.ndimage import maximum_filter1d
from scipy.special import ndtri

from mercer.columns.domain import Box
from mercer.common.checks import Bools, Floats
from mercer.noise.laws import Law, Normal
from mercer.releases.cdf import Cdf
from mercer.releases.density.smoothing import without_constant
from mercer.spaces.bases import Basis, SpectralBasis
from mercer.spaces.series import Harmonics, cos_sin_pi

__all__ = ["BasisCdf"]

_LEAST, _MOST = 512, 1 << 14  # cells
_FINE = 16  # cells in half a wave of the finest function
_BLOCK = 1 << 20  # numbers held at once
_UNDONE = 0.02  # eigenvalue down to which smoothing is undone
_HALF = 1.2  # more than 0.5 / 0.44
_RINGING = 4.0  # standard deviations of the noise beyond which a misfit is a jump's


@dataclass(frozen=True, eq=False)
class BasisCdf(Cdf):
    """Integrals of the released function from the lower bound on."""

    domain: Box
    basis: Basis
    plain: Floats  # coordinates before smoothing, with the constant that the density is given
    mass: float  # what the function is divided by
    noise: Law

    @cached_property
    def factors(self) -> Floats:
        """What undoes the smoothing that the coordinates had before the noise, as far as noise allows.

        A Gaussian estimate has moments that are multiplied by the eigenvalue; noise in shares grows
        little when they are divided by it again, down to `_UNDONE`.
        """
        if not isinstance(self.basis, SpectralBasis):
            return np.ones(self.basis.size)
        return 1 / np.maximum(self.basis.eigenvalues, _UNDONE)

    @cached_property
    def cells(self) -> int:
        """How many there are: enough for the finest function."""
        fine = _FINE / self.basis.resolution
        return min(max(1 << math.ceil(math.log2(fine)), _LEAST), _MOST)

    @cached_property
    def edges(self) -> Floats:
        low, high = self.domain.bounds[0]
        found = low + (high - low) * (np.arange(self.cells + 1) / self.cells)
        found[-1] = high
        return found

    @cached_property
    def raw(self) -> Floats:
        plain = self.plain * self.factors
        if isinstance(self.basis, SpectralBasis):  # means over cells, exactly
            half = self.basis.angular[:, 0] / (2 * math.pi * self.cells)
            sine = cos_sin_pi(half)[1]
            plain = plain * np.where(half > 0, sine / np.where(half > 0, math.pi * half, 1.0), 1.0)
        middles = (np.arange(self.cells) + 0.5) / self.cells
        shares = self.basis.on_grid([middles], plain) / (self.cells * self.mass)
        shares /= max(float(np.sum(shares)), 0.05)  # what an open boundary lets out
        found = np.concatenate([[0.0], np.cumsum(shares)])
        found[-1] = 1.0
        return found

    def deviations(self, points: Floats, weights: Floats | None) -> Floats:
        rows = self._rows(points, weights)
        if self.noise.white:
            return float(self.noise.deviations(self.basis.size)[0]) * np.linalg.norm(rows, axis=1)
        return np.sqrt(np.maximum(np.einsum("ij,ij->i", rows @ self._covariance, rows), 0.0))

    def half_widths(self, points: Floats, weights: Floats | None, level: float) -> Floats:
        if isinstance(self.noise, Normal):
            return float(ndtri((1 + level) / 2)) * self.deviations(points, weights)
        rows = self._rows(points, weights)
        draws = self.noise.draws(self.basis.size, np.arange(self.basis.size)).T
        step = max(1, _BLOCK // draws.shape[1])
        parts = [
            np.quantile(np.abs(rows[k : k + step] @ draws), level, axis=1) for k in range(0, len(rows), step)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    def unseen(self, points: Floats) -> tuple[Floats, Floats]:
        """Near a jump the raw function rings, and a jump at a point is half of it on either side.

        What the function does within a quarter of a wave holds 0.44 of a jump that stands at the point.
        """
        wave = self.basis.resolution * float(self.domain.widths[0])
        place = np.clip(np.searchsorted(self.edges, points), 0, self.cells)
        near, waves = _HALF * self._ringing(wave)[place], self._waves(wave)[place]
        here = self.at(points)
        down, up = here - self.at(points - wave / 2), self.at(points + wave / 2) - here
        return near * down + waves, near * up + waves

    def unseen_at_bounds(self, values: Floats) -> float:
        """Records at a bound are spread over a quarter of a wave, to one side alone."""
        wave = self.basis.resolution * float(self.domain.widths[0])
        near, total = self._ringing(wave), 0.0
        reach = max(1, round(self.cells * self.basis.resolution / 2))
        if near[0]:
            total += float(self.fitted[reach] * abs(values[reach] - values[0]))
        if near[-1]:
            total += float((1 - self.fitted[-1 - reach]) * abs(values[-1] - values[-1 - reach]))
        return _HALF * total

    @property
    def rings(self) -> bool:
        """Whether the raw function falls more than noise explains: a value that many records share."""
        return bool(np.any(self._misfit))

    @cached_property
    def median_supremum(self) -> float:
        """The median, over the noise, of the largest error of the raw function."""
        places = np.unique(np.linspace(0, self.cells, 257).astype(int))
        rows = self._rows(self.edges[places], None)
        draws = self.noise.draws(self.basis.size, np.arange(self.basis.size))[:1000].T
        return float(np.median(np.max(np.abs(rows @ draws), axis=0)))

    @cached_property
    def _misfit(self) -> Bools:
        return np.asarray(np.abs(self.fitted - self.raw) > _RINGING * self._deviation_at_edges)

    def _ringing(self, reach: float) -> Floats:
        """One at edges within half a wave of a misfit of the raw function that noise does not explain."""
        misfit = self._misfit
        around = round(reach / (self.edges[1] - self.edges[0]))
        total = np.concatenate([[0], np.cumsum(misfit)])
        place = np.arange(len(misfit))
        most = len(misfit)
        return (total[np.minimum(place + around + 1, most)] > total[np.maximum(place - around, 0)]).astype(
            float
        )

    def _waves(self, reach: float) -> Floats:
        """The largest misfit within half a wave of each edge, where jumps make the raw function ring."""
        if not self.rings:
            return np.zeros(self.cells + 1)
        around = max(1, round(reach / (self.edges[1] - self.edges[0])))
        return np.asarray(maximum_filter1d(np.abs(self.fitted - self.raw), 2 * around + 1, mode="nearest"))

    @cached_property
    def _deviation_at_edges(self) -> Floats:
        places = np.unique(np.linspace(0, self.cells, 257).astype(int))
        return np.interp(np.arange(self.cells + 1), places, self.deviations(self.edges[places], None))

    @cached_property
    def _covariance(self) -> Floats:
        draws = self.noise.draws(self.basis.size, np.arange(self.basis.size))
        return np.asarray(draws.T @ draws / len(draws))

    def _rows(self, points: Floats, weights: Floats | None) -> Floats:
        """What each coordinate's noise is multiplied by in the raw function, or in sums of its values."""
        unit = self.domain.to_unit(np.asarray(points, dtype=float)[:, None])[:, 0]
        factors = without_constant(self.basis, self.factors) / self.mass
        step = max(1, _BLOCK // self.basis.size)
        found = np.zeros((len(unit) if weights is None else len(weights), self.basis.size))
        for first in range(0, len(unit), step):
            part = slice(first, first + step)
            rows = integrals(self.basis, unit[part])
            if weights is None:
                found[part] = rows
            else:
                found += weights[:, part] @ rows
        return self.basis.unmix(found * factors)


def integrals(basis: Basis, unit: Floats) -> Floats:
    """Integrals of the basis' functions from 0 to points of the unit interval: (points, m)."""
    if isinstance(basis, SpectralBasis):
        table = _integrated(basis.axes[0], unit)
        scale = np.sqrt(basis.eigenvalues) * basis.amplitude
        found = np.zeros((len(unit), basis.size))
        for index, sign in basis.terms:
            found += table[index].T * (sign * scale)
        return found
    middles = (np.arange(_LEAST) + 0.5) / _LEAST
    reached = np.clip(unit[:, None] * _LEAST - np.arange(_LEAST), 0.0, 1.0) / _LEAST
    found = np.zeros((len(unit), basis.size))
    step = max(1, _BLOCK // basis.size)
    for first in range(0, _LEAST, step):
        part = slice(first, first + step)
        found += reached[:, part] @ basis.features(middles[part, None])
    return found


def _integrated(axis: Harmonics, unit: Floats) -> Floats:
    """Integrals of cosines and sines from 0 on: shape (functions, points)."""
    wide = Harmonics(axis.order, axis.rate, sines=True)
    table, k = wide.table(unit), axis.order
    slope = axis.rate * math.pi * np.arange(1, k + 1)[:, None]
    found = np.concatenate([unit[None, :], table[k + 1 :] / slope, (1 - table[1 : k + 1]) / slope])
    return found[: axis.size]
