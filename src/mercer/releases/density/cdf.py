"""The distribution function of a density of one column, from its coordinates without any smoothing.  M20."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.ndimage import maximum_filter1d
from scipy.special import ndtri

from mercer.columns.domain import Box
from mercer.common.checks import Bools, Floats, Ints
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
_PROVED = 5.0  # standard deviations beyond which records stand at a bound
_SKIPPED = 4  # waves from this part of the finest on tell of records at a bound
_FEWEST = 16  # waves that may tell of it
_MANY = 50  # values in the bounds, or more: of fewer the step is asked for
_LIKELY = 0.95  # of the noise, what is in fine waves


@dataclass(frozen=True, eq=False)
class BasisCdf(Cdf):
    """Integrals of the released function from the lower bound on."""

    domain: Box
    basis: Basis
    plain: Floats  # coordinates before smoothing, with the constant that the density is given
    mass: float  # what the function is divided by
    noise: Law
    n: float  # records with a value

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
    def resolution(self) -> float:
        """Half the finest wave that is not smoothed away, as a share of the domain."""
        if not isinstance(self.basis, SpectralBasis):
            return self.basis.resolution
        kept = self.basis.eigenvalues >= _UNDONE
        return self.basis.resolution * float(self._order.max() / max(self._order[kept].max(), 1))

    @property
    def _order(self) -> Ints:
        assert isinstance(self.basis, SpectralBasis)
        return np.abs(self.basis.frequencies[:, 0])

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
    def at_bounds(self) -> Floats:
        """What the coordinates are weighted by in the shares of the records that stand at either bound.

        Records at a bound, where clipping puts them, are in all waves alike: c_j = a e_j(0) + b e_j(1);
        what a smooth function leaves at a wall falls as j^-2.  Least squares on the fine waves finds
        both; a share that the noise and the other waves could explain is none (weights of zero).
        """
        found = np.zeros((2, self.basis.size))
        sides = [0, 1] if np.count_nonzero(self._fine) >= _FEWEST else []
        while sides:
            weights, error = self._least_squares(sides, (0, -2))
            share = _ordered_sum(weights * self.plain[self._fine])
            proved = [side for k, side in enumerate(sides) if share[k] > _PROVED * error[k]]
            if proved == sides:
                found[np.ix_(np.array(sides), np.flatnonzero(self._fine))] = weights
                break
            sides = proved
        return found

    @cached_property
    def _doubt(self) -> Floats:
        """By how much the shares at the bounds are others where functions may fall as slowly as j^-1/2."""
        sides = np.flatnonzero(self.piled).tolist()
        found = np.zeros(2)
        if sides:
            weights, error = self._least_squares(sides, (0, -0.5, -1, -2))
            share = _ordered_sum(weights * self.plain[self._fine])
            found[sides] = np.minimum(np.abs(share - self.piled[sides]) + 2 * error, self.piled[sides])
        return found

    @cached_property
    def _fine(self) -> Bools:
        """Which coordinates are of fine waves, of cosines."""
        if not isinstance(self.basis, SpectralBasis) or not self.basis.reflects:
            return np.zeros(self.basis.size, dtype=bool)
        order = self.basis.frequencies[:, 0]
        return np.asarray(order * _SKIPPED > order.max())

    def _least_squares(self, sides: list[int], powers: tuple[float, ...]) -> tuple[Floats, Floats]:
        """Weights of the fine waves in the shares at bounds beside such powers of j, and their errors."""
        assert isinstance(self.basis, SpectralBasis)
        order = self.basis.frequencies[self._fine, 0] / self.basis.frequencies.max()
        walls = [self._walls[side][self._fine] for side in sides]
        patterns = self.mass * np.array([wall * order**power for power in powers for wall in walls])
        deviation = self.noise.deviations(self.basis.size)[self._fine]
        value = self.plain[self._fine]
        weights = least_squares(patterns, deviation)
        rest = (value - _ordered_sum(_ordered_sum(weights * value) * patterns.T)) / deviation
        excess = max(1.0, float(_ordered_sum(rest**2)) / max(len(value) - len(patterns), 1))
        error = np.sqrt(excess * _ordered_sum((weights * deviation) ** 2))
        return weights[: len(sides)], error[: len(sides)]

    @cached_property
    def _walls(self) -> Floats:
        """Coordinates of records that all stand at either bound."""
        assert isinstance(self.basis, SpectralBasis)
        lower = np.sqrt(self.basis.eigenvalues) * self.basis.amplitude
        return np.array([lower, lower * (-1.0) ** self.basis.frequencies[:, 0]])

    @cached_property
    def piled(self) -> Floats:
        """The shares of the records that stand at the lower and the upper bound."""
        return np.clip(_ordered_sum(self.at_bounds * self.plain), 0.0, 1.0)

    @cached_property
    def raw(self) -> Floats:
        plain = self.plain * self.factors
        if self.piled.any():
            plain = plain - self.mass * self.factors * _ordered_sum(self._walls.T * self.piled)
        if isinstance(self.basis, SpectralBasis):  # means over cells, exactly
            half = self.basis.angular[:, 0] / (2 * math.pi * self.cells)
            sine = cos_sin_pi(half)[1]
            plain = plain * np.where(half > 0, sine / np.where(half > 0, math.pi * half, 1.0), 1.0)
        middles = (np.arange(self.cells) + 0.5) / self.cells
        shares = self.basis.on_grid([middles], plain) / (self.cells * self.mass)
        if not self.piled.any():
            shares /= max(float(np.sum(shares)), 0.05)  # what an open boundary lets out
        found = self.piled[0] + np.concatenate([[0.0], np.cumsum(shares)])
        found[-1] = 1.0 - self.piled[1]
        return found

    def deviations(self, points: Floats, weights: Floats | None) -> Floats:
        rows = self._rows(points, weights)
        if self.noise.white:
            return float(self.noise.deviations(self.basis.size)[0]) * np.linalg.norm(rows, axis=1)
        return np.sqrt(np.maximum(np.einsum("ij,ij->i", rows @ self._covariance, rows), 0.0))

    def half_widths(self, points: Floats, weights: Floats | None, level: float) -> Floats:
        """Of the noise, and of what n records by chance leave in waves finer than the finest."""
        far = float(ndtri((1 + level) / 2))
        inside = np.isfinite(points)
        fewer = np.where(inside, 1.0, 0.0) if weights is None else np.sum(weights[:, inside] ** 2, axis=1)
        finer = far**2 * fewer * self.resolution / (math.pi**2 * self.n)
        if isinstance(self.noise, Normal):
            return np.sqrt((far * self.deviations(points, weights)) ** 2 + finer)
        rows = self._rows(points, weights)
        draws = self.noise.draws(self.basis.size, np.arange(self.basis.size)).T
        step = max(1, _BLOCK // draws.shape[1])
        parts = [
            np.quantile(np.abs(rows[k : k + step] @ draws), level, axis=1) for k in range(0, len(rows), step)
        ]
        return np.sqrt(np.concatenate(parts) ** 2 + finer) if parts else np.zeros(0)

    def unseen(self, points: Floats) -> tuple[Floats, Floats]:
        """What the finest wave cannot tell: values that many records share, and steep places.

        A jump is half of it on either side, and what the function does within a quarter of a wave
        holds 0.44 of a jump that stands at the point; but no jump is larger than `unresolved` says.
        Where many records share a value the raw function rings.
        """
        wave, inside = self._wave, np.isfinite(points)
        waves = self._waves[np.clip(np.searchsorted(self.edges, points), 0, self.cells)]
        here = self.at(points)
        down, up = here - self.at(points - wave / 2), self.at(points + wave / 2) - here
        waves += self._moved(points)
        return (
            inside * (np.minimum(_HALF * down, self.unresolved) + waves),
            inside * (np.minimum(_HALF * up, self.unresolved) + waves),
        )

    def shared(self, points: Floats) -> Floats:
        """Half of what would stand at points if values have no more decimals than they.

        Whole numbers that are closer together than the finest wave leave hardly a sign of it; others
        are in the wave of their step.
        """
        unit = [_last_digit(point) if np.isfinite(point) else 0.0 for point in points.tolist()]
        near = np.array([step / 2 if self._likely(step) else 0.0 for step in unit])
        return _HALF / 2 * (self.at(points + near) - self.at(points - near))

    @property
    def grain(self) -> float:
        low, high = self.domain.bounds[0]
        unit = min(_last_digit(low), _last_digit(high))
        return _HALF / 2 * unit if self._likely(unit) else 0.0

    def _likely(self, step: float) -> bool:
        """Whether many values that are so far apart may be all there are."""
        if step == 0 or float(self.domain.widths[0]) < _MANY * step:
            return False
        return step < 2 * self._wave or self._combed(step)

    def _combed(self, step: float) -> bool:
        """Whether the wave of this length is more than noise, and than the waves beside it."""
        if not isinstance(self.basis, SpectralBasis):
            return True
        order = 2 * float(self.domain.widths[0]) / (step * self.basis.axes[0].rate)
        size = np.abs(self.plain / self.noise.deviations(self.basis.size))
        away = np.abs(self._order - order)
        beside = size[(away >= 2) & (away <= order / 8)]
        least = _PROVED * math.sqrt(max(1.0, float(np.mean(beside**2)) if beside.size else 1.0))
        return bool(np.any(size[away < 1] > least))

    @cached_property
    def unresolved(self) -> float:
        """The share of records that would leave as much in the finest quarter of the waves, at one value.

        Zero where the noise and n independent records explain what is there: each of these leaves 1/n.
        """
        if not isinstance(self.basis, SpectralBasis):
            return 0.0
        most = self._order[self.basis.eigenvalues >= _UNDONE].max()
        if most == 0:
            return 1.0  # no wave is left that could tell
        fine = (self._order * 4 > 3 * most) & (self._order <= most)
        one = self.mass * np.sqrt(self.basis.eigenvalues / 2) * self.basis.amplitude
        deviation = self.noise.deviations(self.basis.size)
        weights = np.where(fine, (one / deviation) ** 2, 0.0)
        left = self.plain - self.mass * _ordered_sum(self._walls.T * self.piled)
        draws = self.noise.draws(self.basis.size, np.arange(self.basis.size))
        chance = np.sort(_ordered_sum(weights * (draws / one) ** 2))
        total, weight = float(_ordered_sum(weights * (left / one) ** 2)), float(_ordered_sum(weights))
        by_chance = float(chance[math.ceil(_LIKELY * len(chance)) - 1])
        spread = math.sqrt(2 * float(_ordered_sum(weights**2)))
        rest = total - by_chance - (weight + 2 * spread) / self.n
        return min(math.sqrt(max(rest / weight, 0.0)), 1.0)

    def _moved(self, points: Floats) -> Floats:
        """How far the function is off at points where doubtful shares at bounds stand beside them."""
        found = np.zeros(len(points))
        if self._doubt.any():
            inside = np.clip(points, self.edges[0], self.edges[-1])
            rows = integrals(self.basis, self.domain.to_unit(inside[:, None])[:, 0]) * self.factors
            for side, doubt in enumerate(self._doubt):
                found += doubt * np.abs((1.0 - side) - rows @ self._walls[side])
        return found

    def unseen_at_bounds(self, values: Floats) -> float:
        """Records at a bound are spread over a quarter of a wave, to one side alone."""
        reach, most = max(1, round(self.cells * self.resolution / 2)), self.unresolved
        first, last = float(self.fitted[reach]), 1 - float(self.fitted[-1 - reach])
        first = first if self.piled[0] else min(first, most)
        last = last if self.piled[1] else min(last, most)
        return _HALF * (
            first * abs(float(values[reach] - values[0])) + last * abs(float(values[-1] - values[-1 - reach]))
        )

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

    @property
    def _wave(self) -> float:
        """Half a wave of the finest function."""
        return self.resolution * float(self.domain.widths[0])

    @cached_property
    def _waves(self) -> Floats:
        """The largest misfit within half a wave of each edge, where jumps make the raw function ring."""
        if not self.rings:
            return np.zeros(self.cells + 1)
        around = max(1, round(self._wave / (self.edges[1] - self.edges[0])))
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
        inside = np.isfinite(points)
        unit = self.domain.to_unit(np.where(inside, points, self.edges[0])[:, None])[:, 0]
        factors = without_constant(self.basis, self.factors) / self.mass
        piled = self.at_bounds if self.piled.any() else None
        step = max(1, _BLOCK // self.basis.size)
        found = np.zeros((len(unit) if weights is None else len(weights), self.basis.size))
        for first in range(0, len(unit), step):
            part = slice(first, first + step)
            rows = integrals(self.basis, unit[part])
            noisy = rows * factors
            if piled is not None:  # taken out of the function, and put at the bounds
                noisy += (np.array([1.0, 0.0]) - rows @ (self._walls * self.factors).T) @ piled
            if self.mass < 1 and isinstance(self.basis, SpectralBasis):  # what all shares are divided by
                noisy[:, 0] = (unit[part] - self.at(points[part])) / self.mass
            noisy[~inside[part]] = 0.0
            if weights is None:
                found[part] = noisy
            else:
                found += weights[:, part] @ noisy
        return self.basis.unmix(found)


def _last_digit(number: float) -> float:
    """One in the last decimal place of a number as it is written: 1 for whole numbers."""
    return float(10.0 ** -len(f"{number:.6f}".rstrip("0").split(".")[1]))


def least_squares(patterns: Floats, deviation: Floats) -> Floats:
    """The weights of noisy numbers in the coefficients of patterns, all sums in a fixed order."""
    scaled = patterns / deviation
    gram = [[float(_ordered_sum(a * b)) for b in scaled] for a in scaled]
    rows = [row + [float(i == k) for k in range(len(gram))] for i, row in enumerate(gram)]
    for i, row in enumerate(rows):  # positive definite: no pivots are needed
        rows[i] = row = [value / row[i] for value in row]
        for k, other in enumerate(rows):
            if k != i:
                rows[k] = [b - other[i] * a for a, b in zip(row, other, strict=True)]
    inverse = np.array([row[len(gram) :] for row in rows])
    return np.asarray(_ordered_sum(inverse[:, None, :] * (scaled / deviation).T))


def _ordered_sum(values: Floats) -> Floats:
    """Sums over the last axis, one number after the other: the same bits on every machine."""
    return np.asarray(np.cumsum(values, axis=-1)[..., -1])


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
