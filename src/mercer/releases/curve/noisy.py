"""Curves with noise of a known law: bands, error bars, differences.  M15, M17."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.common.checks import Floats, check_count, check_level
from mercer.releases.base import KINDS, Interval, found
from mercer.releases.curve.functionals import Plain, PolynomialCurve
from mercer.releases.curve.smoothing import Mesh, suprema
from mercer.releases.function import Band, Field, NoisyFunction, Orders, order_statistic
from mercer.show.figure import picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CurveNoise", "Difference", "NoisyCurve"]

_RUNS = 2000  # draws of which whole curves are looked at
_EACH = 6  # points of a mesh in half a wave: a peak between two is seen within 0.4 percent


@dataclass(frozen=True, eq=False)
class CurveNoise:
    """The law of what privacy adds to the coefficients: public draws, and their covariance."""

    draws: Floats  # (runs, coefficients)
    factor: Floats  # noise = factor @ white noise of standard deviation one
    normal: bool


class NoisyCurve(PolynomialCurve, NoisyFunction):
    """A curve of which the noise is known: its law is public."""

    _memory: dict[Any, Any]

    @property
    def origin(self) -> bytes | None:
        """What the noise came with: two curves of one origin have the same draw of it."""
        return None

    @abstractmethod
    def _noise(self) -> CurveNoise:
        """Of the coefficients, under this smoothing."""

    def _errors(self, runs: int) -> Floats:
        """Draws of what the noise does to the coefficients, by way of the choice too."""
        return self._noise().draws[:runs]

    def _selection(self, level: float, orders: Orders, unit: Floats | None = None) -> Floats:
        """How much wider than for a smoothing fixed beforehand, everywhere at once or at points."""
        del level, orders, unit
        return np.ones(())

    def _field(self, orders: Orders = ()) -> CurveField:
        orders = orders or (0,) * self.domain.dimension
        if ("field", orders) not in self._memory:
            self._memory["field", orders] = CurveField(self, orders)
        return self._memory["field", orders]

    def band(
        self, x: object, level: float = 0.95, *, simultaneous: bool = True, order: int | Orders = 0
    ) -> Band:
        """A band that covers the same smoothing of the mean without noise (M15, M17).

        At a point, or everywhere at once.  It speaks of the noise for privacy alone: how far the
        sample's mean is from the population's is not in it.

        A smoothing chosen from the same noisy coordinates depends on their noise.  The band then
        covers what this smoothing makes of the mean without noise; its width is found by making
        the choice again on public draws of noise, added to this curve as an estimate of the mean.
        That is not exact: at level 0.95, measured coverage was 0.92 to 0.98.  It is never
        narrower than for a smoothing fixed beforehand.  `standard_error` is that of a fixed one.
        """
        return self._band(x, level, self._orders(order), simultaneous=simultaneous)

    def interval(
        self, functional: Callable[[PolynomialCurve], float], level: float = 0.95, *, runs: int = 400
    ) -> Interval:
        """Any number computed from the curve, with an error bar for the noise.

        The noise's law is public, so it is drawn again `runs` times, and where the smoothing was
        chosen from the noisy coordinates the choice is made again as well.  The ends are simulated:
        another number of runs moves them a little.  With a smoothing given beforehand nothing else
        is approximate for a functional that is linear in the curve, and others hold to first order.
        """
        check_level(level)
        check_count("runs", runs, least=20, most=4000, hint="more runs, steadier ends")
        if (1 - level) / 2 * (runs + 1) < 1 - 1e-9:
            raise ValueError(
                f"level must be at most {1 - 2 / (runs + 1):.4g} with {runs} runs, got {level!r}; "
                "at most 4000 runs can be had"
            )
        value = float(functional(self))
        moved = self.coefficients + self._errors(runs)
        errors = [
            float(functional(Plain(self.domain, self.polynomials, row, self.kernels))) - value
            for row in moved
        ]
        low, high = np.quantile(errors, [(1 - level) / 2, (1 + level) / 2], method="weibull")
        return Interval(value, value - float(high), value - float(low), level)

    def __sub__(self, other: NoisyCurve) -> Difference:
        if not isinstance(other, NoisyCurve):
            return NotImplemented
        self._check_same(other)
        return Difference(self, other)


@dataclass(frozen=True, eq=False)
class CurveField(Field):
    """Noise of a curve or of a derivative, by way of the choice of its smoothing too."""

    curve: NoisyCurve
    orders: Orders

    @property
    def normal(self) -> bool:
        return self.curve._noise().normal

    def deviation(self, unit: Floats) -> Floats:
        rows = self.curve._rows(unit, self.orders)
        return np.asarray(np.linalg.norm(rows @ self.curve._noise().factor, axis=1))

    def width_at(self, unit: Floats, level: float, sd: Floats) -> Floats:
        del sd
        rows = self.curve._rows(unit, self.orders)
        return order_statistic(np.abs(self.curve._noise().draws @ rows.T), level)

    def everywhere(self, level: float) -> float:
        """Under this smoothing, as if it had been fixed beforehand."""
        return float(order_statistic(self.sorted_suprema, level))

    def suprema(self) -> Floats:
        noise, mesh = self.curve._noise(), Mesh(self.curve.polynomials, self.orders, _EACH)
        return suprema(noise.draws[:_RUNS], noise.factor, mesh)

    def stretch(self, level: float, unit: Floats | None) -> Floats:
        return self.curve._selection(level, self.orders, unit)


class Difference(NoisyCurve):
    """One released curve less another.

    Releases of one origin, two smoothings of one release, have the same noise; others have
    independent noise.
    """

    def __init__(self, one: NoisyCurve, two: NoisyCurve) -> None:
        self.one, self.two = one, two
        self.domain, self.polynomials = one.domain, one.polynomials
        self._memory = {}

    @property
    def coefficients(self) -> Floats:
        return self.one.coefficients - self.two.coefficients

    @property
    def kernels(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.one.kernels, *self.two.kernels)))

    def _terms(self) -> list[tuple[int, NoisyCurve]]:
        """The releases it is made of, with their signs."""
        one, two = (
            side._terms() if isinstance(side, Difference) else [(1, side)] for side in (self.one, self.two)
        )
        return [*one, *((-sign, term) for sign, term in two)]

    def _origins(self) -> list[list[tuple[int, NoisyCurve]]]:
        """The same, those of one origin together."""
        found: dict[object, list[tuple[int, NoisyCurve]]] = {}
        for place, (sign, term) in enumerate(self._terms()):
            found.setdefault(place if term.origin is None else term.origin, []).append((sign, term))
        return list(found.values())

    def _combined(self, draws: Callable[[NoisyCurve], Floats]) -> Floats:
        """All come from one public stream: an origin's draws are shifted by its place.

        So no two origins have the same draw in a run, and their noise is independent.
        """
        sums = [sum(sign * draws(term) for sign, term in group) for group in self._origins()]
        return np.asarray(sum(np.roll(part, place, axis=0) for place, part in enumerate(sums)))

    def _noise(self) -> CurveNoise:
        if "noise" not in self._memory:
            factors = [sum(sign * term._noise().factor for sign, term in group) for group in self._origins()]
            normal = all(term._noise().normal for _, term in self._terms())
            draws = self._combined(lambda term: term._noise().draws)
            self._memory["noise"] = CurveNoise(draws, np.hstack(factors), normal)
        return self._memory["noise"]

    def _errors(self, runs: int) -> Floats:
        return self._combined(lambda term: term._errors(runs))

    def _selection(self, level: float, orders: Orders, unit: Floats | None = None) -> Floats:
        # if choosing stretches the errors of each side by its own factor, the larger of the two
        # covers their difference; for two smoothings of one release this is a rule of thumb
        one, two = (side._selection(level, orders, unit) for side in (self.one, self.two))
        return np.maximum(one, two)

    def plot(self, path: str | Path | None = None, **options: Any) -> Figure:
        """Draw the difference with its band; returns the Matplotlib figure."""
        return picture(found(KINDS["mean-curve"].figure), self, path, **options)

    def __repr__(self) -> str:
        return f"<Difference of two curves on {self.domain.describe()}>"
