"""Bands about the mean of the population that the curves are a sample of.  M22.

A part of the budget pays for two noisy summaries of the residuals, curves less the released mean: their
mean squared length, and their second moments in the first polynomials.  What the mean of n curves may be
off from the population's is normal, nearly, with the n-th part of their covariance, and independent of the
noise: its draws are added to those of the file's own mean.  Right of the door: never sees a curve.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from mercer.common import streams
from mercer.common.checks import Floats
from mercer.common.files import Fields, numbers
from mercer.noise.laws import Law, law_from_dict
from mercer.releases.base import freeze
from mercer.releases.curve.average import RUNS, Averaged
from mercer.releases.curve.noisy import CurveNoise, NoisyCurve
from mercer.releases.function import Orders

__all__ = ["DIRECTIONS", "PopulationCurve", "Sampling", "radius_of", "total_above"]

DIRECTIONS = 10  # polynomials in which moments are taken, of curves seen through as many
_STREAM = 24
_FACTOR = 3.0  # of the residuals' root mean square: longer ones are clipped
_MOST = 64  # directions that a file may have


def total_above(total: float, noise: Law) -> float:
    """Mean squared length of the residuals, in squared bounds, and a standard deviation of its noise more."""
    return min(max(total, 0.0) + float(noise.deviations(1)[0]), 1.0)


def radius_of(total: float, noise: Law) -> float:
    """What residuals are clipped to for their moments, in bounds: three root mean squares, at most one."""
    return min(1.0, _FACTOR * math.sqrt(total_above(total, noise)))


@dataclass(frozen=True, eq=False)
class Sampling:
    """Noisy second moments of the curves about the released mean."""

    total: float  # mean squared length, in squared bounds
    total_noise: Law
    radius: float  # in bounds
    moments: Floats  # in squared radii: the diagonal, then sqrt(2) times what stands above it
    noise: Law
    n: int  # curves, or persons
    share: float  # of the budget

    def __post_init__(self) -> None:
        freeze(self, "moments")
        size = self.directions * (self.directions + 1) // 2
        fits = self.moments.shape == (size,) and 1 <= self.directions <= _MOST
        if not fits or not np.all(np.isfinite(self.moments)) or not math.isfinite(self.total):
            raise ValueError("moments of the curves must be finite numbers, those of a symmetric matrix")
        if not 0 < self.radius <= 1 or self.n < 1 or not 0 < self.share < 1:
            raise ValueError("radius, n and share of the moments must be above 0, in bounds at most 1")

    @property
    def directions(self) -> int:
        """How many polynomials the moments are of."""
        return round(math.sqrt(2 * self.moments.size + 0.25) - 0.5) if self.moments.ndim == 1 else 0

    @property
    def error(self) -> float:
        """Root mean square of the mean's distance from the population's, in bounds: a little too large."""
        return math.sqrt(total_above(self.total, self.total_noise) / self.n)

    @cached_property
    def root(self) -> Floats:
        """A root of the covariance of the mean, in bounds: (polynomials, directions).

        The nearest matrix to the noisy one of which no eigenvalue is negative and whose trace is the total.
        What noise adds to all eigenvalues alike is taken off by that, and variance outside the directions is
        in it, spread over them.
        """
        k = self.directions
        square = np.diag(self.moments[:k] * self.radius**2)
        above = np.triu_indices(k, 1)
        square[above] = square.T[above] = self.moments[k:] * self.radius**2 / math.sqrt(2.0)
        values, vectors = np.linalg.eigh(square)
        values = _nearest(values, total_above(self.total, self.total_noise))
        return np.asarray(vectors * np.sqrt(values / self.n))

    def draws(self, runs: int) -> Floats:
        """Public draws of the sampling error of the first coefficients, in bounds: (runs, polynomials)."""
        white = streams.simulation(_STREAM).standard_normal((runs, self.directions))
        return white @ self.root.T

    def to_dict(self) -> dict[str, Any]:
        """Fields from which a file rebuilds it."""
        return {
            "total": self.total,
            "total_noise": self.total_noise.to_dict(),
            "radius": self.radius,
            "moments": self.moments.tolist(),
            "noise": self.noise.to_dict(),
            "n": self.n,
            "share": self.share,
        }

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Rebuild it; ValueError where a field is out of range."""
        return cls(
            total=float(numbers([fields.get("total", int | float)], "total")[0]),
            total_noise=law_from_dict(fields.get("total_noise", dict)),
            radius=fields.positive("radius"),
            moments=np.array(numbers(fields.get("moments", list), "moments")),
            noise=law_from_dict(fields.get("noise", dict)),
            n=fields.get("n", int),
            share=fields.positive("share"),
        )


class PopulationCurve(NoisyCurve):
    """The released curve, with how far it may be from the population's mean."""

    def __init__(
        self, curve: NoisyCurve, sampling: Sampling, averaged: Callable[[], Averaged], bound: float
    ) -> None:
        self.domain, self.polynomials = curve.domain, curve.polynomials
        self._curve, self._sampling, self._averaged, self._bound = curve, sampling, averaged, bound
        self._memory = {}

    @property
    def coefficients(self) -> Floats:
        return self._curve.coefficients

    @property
    def kernels(self) -> tuple[str, ...]:
        return self._curve.kernels

    @property
    def origin(self) -> bytes | None:
        return self._curve.origin

    @property
    def about(self) -> str:
        return "for the mean of the population"

    @property
    def grade(self) -> str:
        return self._curve.grade

    def _of_population(self) -> NoisyCurve:
        return self

    def _noise(self, orders: Orders = ()) -> CurveNoise:
        slopes = sum(orders)
        if ("noise", slopes) not in self._memory:
            draws = self._drawn(RUNS, orders, self._averaged().stretch(orders))
            self._memory["noise", slopes] = CurveNoise(draws, draws.T / len(draws) ** 0.5, False)
        found: CurveNoise = self._memory["noise", slopes]
        return found

    def _errors(self, runs: int) -> Floats:
        most = max(runs, RUNS)
        if ("errors", most) not in self._memory:
            self._memory["errors", most] = self._drawn(most, (), 1.0)
        found: Floats = self._memory["errors", most]
        return found[:runs]

    def _drawn(self, runs: int, orders: Orders, stretch: float) -> Floats:
        """Draws of the errors: those about the file's own mean, stretched, and what sampling adds."""
        averaged = self._averaged()
        found = (averaged.mean - averaged.draws(runs, slopes=any(orders))) * stretch
        sampled = self._sampling.draws(runs)
        found[:, : sampled.shape[1]] += sampled
        return found * self._bound


def _nearest(values: Floats, total: float) -> Floats:
    """The nearest numbers of this sum of which none is negative."""
    falling = np.sort(values)[::-1]
    less = (np.cumsum(falling) - total) / np.arange(1, values.size + 1)
    last = np.flatnonzero(falling > less)[-1]
    return np.maximum(values - less[last], 0.0)
