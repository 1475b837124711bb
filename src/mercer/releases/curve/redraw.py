"""Public draws of a curve's noise: on meshes, and with the smoothing chosen anew.

M15, M17.  A smoothing chosen from the noisy coordinates depends on their noise: it is kept rough
where the noise happens to be large.  Bands for a fixed smoothing then cover too seldom.  So the
choice is made again on public draws around an estimate of the mean (a parametric bootstrap).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from mercer.common.checks import Floats, Ints
from mercer.releases.bands import order_statistic
from mercer.releases.curve.smoothing import Candidates
from mercer.spaces.modes import DUST, shrink
from mercer.spaces.polynomials import Polynomials

__all__ = ["Again", "Chosen", "Mesh", "choose_again", "spread", "suprema"]

_BLOCK = 2**21  # numbers at once
Values = Callable[[Floats], Floats]  # from rows of coefficients to heights: (rows, points)


@dataclass(frozen=True)
class Mesh:
    """A grid on which no function of the polynomials hides a peak between two points.

    Even in the angle whose cosine is the argument: there p_k has the same wavelength everywhere,
    also at the ends.
    """

    polynomials: Polynomials
    orders: tuple[int, ...]
    each: int  # points in half a wave of the finest polynomial
    most: int = 2**20  # along an argument

    def values(self, coefficients: Floats) -> Floats:
        """Heights of functions, or of their derivatives: (functions, points)."""
        tables = [
            _table(self._count(side), side, order)
            for side, order in zip(self.polynomials.sides, self.orders, strict=True)
        ]
        if len(tables) == 1:
            return coefficients @ tables[0].T
        cubes = coefficients.reshape(-1, *self.polynomials.sides)
        return (tables[0] @ cubes @ tables[1].T).reshape(len(coefficients), -1)

    @property
    def points(self) -> int:
        """How many there are."""
        return math.prod(self._count(side) for side in self.polynomials.sides)

    def _count(self, side: int) -> int:
        return min(max(self.each * (side - 1), 64), self.most) + 1


@lru_cache(maxsize=16)
def _table(count: int, side: int, order: int) -> Floats:
    ticks = np.sin(np.linspace(0.0, math.pi / 2, count)) ** 2
    return Polynomials((side,)).rows(ticks[:, None], (order,))


def spread(factor: Floats, mesh: Mesh) -> Floats:
    """Standard deviations on a mesh, in blocks."""
    rows = max(_BLOCK // mesh.points, 1)
    square = np.zeros(mesh.points)
    for start in range(0, factor.shape[1], rows):
        square += np.sum(mesh.values(factor.T[start : start + rows]) ** 2, axis=0)
    return np.sqrt(square)


def suprema(draws: Floats, factor: Floats, mesh: Mesh) -> Floats:
    """The largest |draw| / sd on a mesh, of every draw, in blocks."""
    scale = 1 / np.maximum(spread(factor, mesh), 1e-300)
    rows = max(_BLOCK // mesh.points, 1)
    found = np.zeros(len(draws))
    for start in range(0, len(draws), rows):
        part = mesh.values(draws[start : start + rows])
        part *= scale
        found[start : start + rows] = np.maximum(part.max(axis=1), -part.min(axis=1))
    return found


@dataclass(frozen=True, eq=False)
class Chosen:
    """Draws for which the choice fell on one scale."""

    places: Ints  # of the draws among all
    turned: Floats  # their noise, in the kernel's eigenfunctions
    vectors: Floats  # those, as columns of coefficients
    factors: Floats  # of the filters chosen: (filters, eigenfunctions)
    which: Ints  # filter of each draw
    deviation: float

    @property
    def errors(self) -> Floats:
        """Coefficients of the filtered noise."""
        return (self.factors[self.which] * self.turned) @ self.vectors.T

    def scaled(self, values: Values) -> Floats:
        """|filtered noise| / its standard deviation under its own filter: (draws, points)."""
        functions = values(self.vectors.T)
        error = np.abs((self.factors[self.which] * self.turned) @ functions)
        sd = self.deviation * np.sqrt(self.factors**2 @ functions**2)
        return error / np.maximum(sd, 1e-300)[self.which]


@dataclass(frozen=True, eq=False)
class Again:
    """Public draws with the choice made again for each."""

    runs: int
    parts: tuple[Chosen, ...]

    def errors(self) -> Floats:
        """Coefficients of the filtered noise: (runs, coefficients)."""
        found = np.zeros((self.runs, len(self.parts[0].vectors)))
        for part in self.parts:
            found[part.places] = part.errors
        return found

    def suprema(self, mesh: Mesh) -> Floats:
        """The largest |filtered noise| / sd on a mesh, each under its own filter."""
        found = np.zeros(self.runs)
        for part in self.parts:
            found[part.places] = part.scaled(mesh.values).max(axis=1)
        return found

    def wider(self, rows: Floats, draws: Floats, factor: Floats, level: float) -> Floats:
        """Quantile of |noise| / sd at points, over that of the same draws under one filter."""
        found = np.ones(len(rows))
        for start in range(0, len(rows), 512):
            part = rows[start : start + 512]
            scaled = np.zeros((self.runs, len(part)))
            for chosen in self.parts:
                scaled[chosen.places] = chosen.scaled(partial(_at, part))
            sd = np.maximum(np.linalg.norm(part @ factor, axis=1), 1e-300)
            fixed = order_statistic(np.abs(draws[: self.runs] @ part.T) / sd, level)
            ratio = order_statistic(scaled, level) / np.maximum(fixed, 1e-300)
            found[start : start + 512] = np.maximum(ratio, 1.0)
        return found


def choose_again(candidates: Candidates, centre: Floats, noise: Floats, deviation: float) -> Again:
    """The choice made from centre + noise, for every row of the noise."""
    places = candidates.choose(centre + noise, deviation**2)
    parts = []
    for scale in np.unique(places[:, 0]):
        found = candidates.modes(int(scale))
        here = np.flatnonzero(places[:, 0] == scale)
        filters, which = np.unique(places[here, 1:], axis=0, return_inverse=True)
        etas = [candidates.etas[j] for j in filters[:, 0]]
        penalties = [candidates.penalties(found, eta)[k] for eta, k in zip(etas, filters[:, 1], strict=True)]
        factors = [shrink(found.values, *pair) for pair in zip(etas, penalties, strict=True)]
        vectors = found.vectors if candidates.frame is None else candidates.frame.T @ found.vectors
        # rounding dust in high degrees would show in derivatives
        vectors = vectors * (np.abs(vectors) > DUST)
        turned = noise[here] @ found.vectors
        parts.append(Chosen(here, turned, vectors, np.array(factors), which.reshape(-1), deviation))
    return Again(len(noise), tuple(parts))


def _at(rows: Floats, coefficients: Floats) -> Floats:
    return coefficients @ rows.T
