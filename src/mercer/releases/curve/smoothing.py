"""Smoothing of noisy curves, chosen from the noisy coordinates alone, and how choosing widens bands.

M9, M15, M17.  Stein's unbiased estimate of the risk of a filter with factors s in uncorrelated
coordinates y with noise of variance v is sum (1 - s)^2 (y^2 - v) + s^2 v: it needs the noise's variance
only, not its law.

A smoothing chosen from the noisy coordinates depends on their noise: it is kept rough where the noise
happens to be large.  Bands for a fixed smoothing then cover too seldom.  So the choice is made again on
public draws of the noise around an estimate of the mean (a parametric bootstrap).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np

from mercer.columns.domain import Box
from mercer.common.checks import Floats, Ints, check_positive
from mercer.releases.function import order_statistic
from mercer.spaces.modes import DUST, LEAST_SCALE, MOST_SCALE, Modes, SpectralFilter, level_of, shrink
from mercer.spaces.polynomials import Polynomials

__all__ = [
    "ETAS",
    "PENALTIES",
    "SCALES",
    "Again",
    "Candidates",
    "Chosen",
    "Mesh",
    "cautious_risk",
    "check_eta",
    "check_penalty",
    "choose_again",
    "choose_filter",
    "estimated_risk",
    "spread",
    "suprema",
    "unit_scales",
]

SCALES = tuple(float(h) for h in np.geomspace(0.02, 0.64, 11))
ETAS = (1.0, 1.5, 2.0, 3.0, 4.0)
_CAUTION = 2.0
# times the largest eigenvalue to the power eta: the first eigenfunction keeps ten elevenths, or
# a curve below the noise would vanish together with its band
PENALTIES = np.logspace(-12, -1, 45)
_BLOCK = 2**21  # numbers at once
Values = Callable[[Floats], Floats]  # from rows of coefficients to heights: (rows, points)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Filters to choose from: every scale with every power, and a penalty or all."""

    polynomials: Polynomials
    frame: Floats | None
    kernel: str
    scales: Sequence[tuple[float, ...]]
    etas: Sequence[float]
    penalty: float | None

    @classmethod
    def like(cls, chosen: SpectralFilter, polynomials: Polynomials, frame: Floats | None) -> Candidates:
        """Those that a choice was made among: a number that is on none of the lists was given."""
        scales = [(h,) * len(chosen.scales) for h in SCALES]
        top = chosen.seen(polynomials, frame).top ** chosen.eta
        listed = bool(np.any(np.isclose(chosen.penalty, PENALTIES * top, rtol=1e-6, atol=0.0)))
        return cls(
            polynomials,
            frame,
            chosen.kernel,
            scales if chosen.scales in scales else [chosen.scales],
            ETAS if chosen.eta in ETAS else (chosen.eta,),
            None if listed else chosen.penalty,
        )

    def modes(self, scale: int) -> Modes:
        """The kernel's eigenfunctions at one of the scales, in the coordinates."""
        lengths = self.scales[scale]
        some = SpectralFilter(self.kernel, lengths, 1.0, 1.0, level_of(self.polynomials))
        return some.seen(self.polynomials, self.frame)

    def penalties(self, found: Modes, eta: float) -> Floats:
        """With these eigenvalues and this power."""
        if self.penalty is not None:
            return np.array([self.penalty])
        return np.maximum(PENALTIES * found.top**eta, math.ulp(0.0))

    def choose(self, coordinates: Floats, variance: float) -> Ints:
        """Places of scale, power and penalty of least estimated risk, for every row: (rows, 3)."""
        if not self.scales or not self.etas:
            raise ValueError("there must be at least one scale and one eta")
        every = np.arange(len(coordinates))
        least = np.full(len(coordinates), np.inf)
        places = np.zeros((len(coordinates), 3), dtype=np.int64)
        for i in range(len(self.scales)):
            found = self.modes(i)
            turned = coordinates @ found.vectors
            for j, eta in enumerate(self.etas):
                factors = shrink(found.values, eta, self.penalties(found, eta)[:, None])
                risks = cautious_risk(turned, variance, factors)
                place = np.argmin(risks, axis=1)
                risk = risks[every, place]
                better = np.flatnonzero(risk < least)
                least[better] = risk[better]
                places[better, :2] = i, j
                places[better, 2] = place[better]
        return places


def choose_filter(
    coordinates: Floats,
    variance: float,
    polynomials: Polynomials,
    frame: Floats | None,
    *,
    kernel: str,
    scales: Sequence[tuple[float, ...]],
    etas: Sequence[float],
    penalty: float | None,
) -> SpectralFilter:
    """The filter of least estimated risk among these scales and powers, and a penalty or all."""
    every = Candidates(polynomials, frame, kernel, scales, etas, penalty)
    i, j, k = (int(place) for place in every.choose(coordinates[None, :], variance)[0])
    penalty = float(every.penalties(every.modes(i), etas[j])[k])
    return SpectralFilter(kernel, scales[i], etas[j], penalty, level_of(polynomials))


def cautious_risk(turned: Floats, variance: float, factors: Floats) -> Floats:
    """The estimate and two standard deviations of what noise alone does to it.

    The least of many estimates is too good: noise lets some rough filter seem right.  Two is a
    choice; it is measured in studies/accuracy/results/curve_caution.md.
    """
    spread = variance * np.sqrt(2 * np.sum(factors**2, axis=-1))
    return estimated_risk(turned, variance, factors) + _CAUTION * spread


def estimated_risk(turned: Floats, variance: float, factors: Floats) -> Floats:
    """Expected squared error of y times each row of factors, without bias, up to a constant."""
    gain = (turned**2 - variance) @ ((1 - factors) ** 2).T
    return gain + variance * np.sum(factors**2, axis=-1)


def check_eta(eta: object) -> float:
    """At least one: below, the estimate may leave the noise's space."""
    number = check_positive("eta", eta, "1 or more; 'auto' chooses it from the noisy curve")
    if not 1 <= number <= 16:
        raise ValueError(
            f"eta must be in [1, 16], got {number:g}: below 1 the penalty no longer keeps the "
            "estimate in the Cameron-Martin space of the noise (Mirshani et al., Theorem 3.1)"
        )
    return number


def check_penalty(penalty: object) -> float:
    """Above zero: the raw mean is not compatible with the noise."""
    if isinstance(penalty, (int, float)) and not isinstance(penalty, bool) and penalty == 0:
        raise ValueError(
            "penalty must be above 0, got 0: the raw mean need not lie in the Cameron-Martin space "
            "of the noise, and then no amount of noise makes it private (Mirshani et al., Theorem "
            "3.1); give a small penalty, or leave it out"
        )
    number = check_positive("penalty", penalty, "or 'auto'")
    if number >= 1e12:
        raise ValueError(f"penalty must be below 1e12, got {number:g}; eigenvalues are below 1")
    return number


def unit_scales(scale: object, domain: Box) -> tuple[float, ...]:
    """The kernel's length in each argument, as shares of the widths."""
    try:
        given = np.asarray(scale, dtype=float)
    except (TypeError, ValueError):
        given = np.empty((0, 0))
    d = domain.dimension
    if given.shape not in ((), (d,)) or not (np.all(np.isfinite(given)) and np.all(given > 0)):
        raise ValueError(
            f"scale must be a number above 0 or one for each of the {d} argument(s), in the units "
            "of the argument, or 'auto'"
        )
    with np.errstate(over="ignore", under="ignore"):
        shares = np.broadcast_to(given, (d,)) / domain.widths
    if np.any(shares < LEAST_SCALE) or np.any(shares > MOST_SCALE):
        raise ValueError(
            f"scale must be between {LEAST_SCALE:g} and {MOST_SCALE:g} times the width of the "
            f"bounds, got {', '.join(f'{s:.3g}' for s in shares)} times"
        )
    return tuple(float(s) for s in shares)


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
        """How many points the grid has."""
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
