"""Curves with noise of a known law: bands, error bars, differences.  Layer 4.  M15, M17."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from mercer.checks import Floats, check_count, check_positive
from mercer.functionals import Curve, Plain
from mercer.release import Band

__all__ = ["CurveNoise", "Difference", "Interval", "NoisyCurve"]


class Interval(NamedTuple):
    """A number and the ends of its error bar."""

    value: float
    lower: float
    upper: float
    level: float


@dataclass(frozen=True, eq=False)
class CurveNoise:
    """The law of what privacy adds to the coefficients: public draws, and their covariance."""

    draws: Floats  # (runs, coefficients)
    factor: Floats  # noise = factor @ white noise of standard deviation one
    normal: bool


class NoisyCurve(Curve):
    """A curve of which the noise is known: its law is public."""

    @property
    def origin(self) -> bytes | None:
        """What the noise came with: two curves of one origin have the same draw of it."""
        return None

    @abstractmethod
    def _noise(self) -> CurveNoise:
        """Of the coefficients."""

    def standard_error(self, x: object, order: int | tuple[int, ...] = 0) -> Floats:
        """Standard deviation of the noise at each point, or of a derivative's."""
        spread = np.linalg.norm(self._at(x, self._orders(order)) @ self._noise().factor, axis=1)
        return spread.reshape(self.domain.shape(x))

    def band(
        self,
        x: object,
        level: float = 0.95,
        *,
        simultaneous: bool = True,
        order: int | tuple[int, ...] = 0,
    ) -> Band:
        """A band that covers the same smoothing of the mean without noise (M15, M17).

        At a point, or everywhere at once.  It speaks of the noise for privacy alone: how far the
        sample's mean is from the population's is not in it.
        """
        _check_level(level)
        orders = self._orders(order)
        centre, sd = self.derivative(x, orders), self.standard_error(x, orders)
        if simultaneous:
            width = self._quantile(level, orders) * sd
        elif self._noise().normal:
            width = float(ndtri((1 + level) / 2)) * sd
        else:
            width = self._pointwise(x, level, orders).reshape(sd.shape)
        return Band(centre - width, centre + width, level)

    def interval(
        self, functional: Callable[[Curve], float], level: float = 0.95, *, runs: int = 400
    ) -> Interval:
        """Any number computed from the curve, with an error bar for the noise.

        The noise's law is public, so it is drawn again `runs` times: for a functional that is
        linear in the curve the bar is exact, for others to first order.
        """
        _check_level(level)
        check_count("runs", runs, least=20, most=4000, hint="more runs, steadier ends")
        value = float(functional(self))
        moved = self.coefficients + self._noise().draws[:runs]
        errors = [
            float(functional(Plain(self.domain, self.polynomials, row, self.kernels))) - value
            for row in moved
        ]
        low, high = np.quantile(errors, [(1 - level) / 2, (1 + level) / 2])
        return Interval(value, value - float(high), value - float(low), level)

    def __sub__(self, other: NoisyCurve) -> Difference:
        if not isinstance(other, NoisyCurve):
            return NotImplemented
        self._check_same(other)
        return Difference(self, other)

    def _mesh(self) -> Floats:
        d, finest = self.domain.dimension, self.polynomials.resolution
        side = min(max(int(6 / finest), 64), {1: 1024, 2: 40}[d]) + 1
        ticks = [np.linspace(0.0, 1.0, side)] * d
        return np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1).reshape(-1, d)

    def _quantile(self, level: float, orders: tuple[int, ...]) -> float:
        """Quantile of sup |noise| / sd, from public draws."""
        rows, noise = self.polynomials.rows(self._mesh(), orders), self._noise()
        spread = np.linalg.norm(rows @ noise.factor, axis=1)
        draws = noise.draws[:2000]
        suprema = np.zeros(len(draws))
        for start in range(0, len(rows), 256):
            part = slice(start, start + 256)
            scaled = rows[part] / np.maximum(spread[part], 1e-300)[:, None]
            np.maximum(suprema, np.abs(draws @ scaled.T).max(axis=1), out=suprema)
        rank = min(math.ceil((suprema.size + 1) * level), suprema.size)
        return float(np.sort(suprema)[rank - 1])

    def _pointwise(self, x: object, level: float, orders: tuple[int, ...]) -> Floats:
        return np.quantile(np.abs(self._noise().draws @ self._at(x, orders).T), level, axis=0)


class Difference(NoisyCurve):
    """One released curve less another.

    Their noise is independent, unless they are two smoothings of one release.
    """

    def __init__(self, one: NoisyCurve, two: NoisyCurve) -> None:
        self.one, self.two = one, two
        self.domain, self.polynomials = one.domain, one.polynomials

    @property
    def coefficients(self) -> Floats:
        return self.one.coefficients - self.two.coefficients

    @property
    def kernels(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.one.kernels, *self.two.kernels)))

    def _noise(self) -> CurveNoise:
        one, two = self.one._noise(), self.two._noise()
        count = min(len(one.draws), len(two.draws))
        normal = one.normal and two.normal
        if self.one.origin is not None and self.one.origin == self.two.origin:
            return CurveNoise(one.draws - two.draws, one.factor - two.factor, normal)
        # both come from one public stream: shifted by one run, pairs are independent
        draws = one.draws[:count] - np.roll(two.draws[:count], 1, axis=0)
        return CurveNoise(draws, np.hstack([one.factor, two.factor]), normal)

    def plot(self, path: str | Path | None = None, **options: Any) -> Any:
        """Draw the difference with its band; returns the Matplotlib figure."""
        from mercer.plotting import draw

        return draw(self, None if path is None else Path(path), **options)

    def __repr__(self) -> str:
        return f"<Difference of two curves on {self.domain.describe()}>"


def _check_level(level: float) -> None:
    check_positive("level", level, "0.95 is usual")
    if level >= 1:
        raise ValueError(f"level must be in (0, 1), got {level!r}; 0.95 is usual")
