"""Curves with noise of a known law: bands, error bars, differences.  M15, M17, M22."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.common.checks import Floats, check_choice, check_count, check_level
from mercer.releases.base import KINDS, Interval, found
from mercer.releases.curve.functionals import PolynomialCurve, Sketch
from mercer.releases.curve.smoothing import Mesh, suprema
from mercer.releases.function import Band, Field, NoisyFunction, Orders, order_statistic
from mercer.show.figure import picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["OF", "CurveNoise", "Difference", "NoisyCurve"]

OF = ("data", "population")  # whose mean a band is about

_RUNS = 2000  # draws of which whole curves are looked at
_EACH = 6  # points of a mesh in half a wave: a peak between two is seen within 0.4 percent


@dataclass(frozen=True, eq=False)
class CurveNoise:
    """How the coefficients differ from what they estimate: public draws, and their covariance."""

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

    @property
    def about(self) -> str:
        """What a band is a band for, in words."""
        return "for the noise alone"

    @property
    def grade(self) -> str:
        """What sort of a band it is, where it is not one of a known law's noise."""
        return ""

    def whose(self, of: str = "data") -> NoisyCurve:
        """The same curve, with errors about the mean of the file's own curves, or of the population's.

        Its bands, intervals and standard errors are about that mean; see `band`.
        """
        if check_choice("of", of, OF) == "data":
            return self
        if "population" not in self._memory:
            self._memory["population"] = self._of_population()
        found: NoisyCurve = self._memory["population"]
        return found

    @abstractmethod
    def _of_population(self) -> NoisyCurve:
        """With errors about the population's mean; ValueError where nothing was paid for that."""

    @abstractmethod
    def _noise(self, orders: Orders = ()) -> CurveNoise:
        """Of the coefficients, under this smoothing: for values, or for derivatives of these orders."""

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
        self,
        x: object,
        level: float = 0.95,
        *,
        simultaneous: bool = True,
        order: int | Orders = 0,
        of: str = "data",
    ) -> Band:
        """A band at points: everywhere at once (simultaneous), or at each point.

        *Of the default smoothing* (M22) it is about the mean of the file's own curves, as clipped to the
        bound: noise and smoothing are both in it.  It is a credible band, from draws of the mixture
        that the curve is the mean of, with a coverage that is measured and not a theorem
        (studies/accuracy/results/curve_coverage.md).  A jump is not held once the noise is small, and
        a cusp, a kink or a rough walk less often than said.  How far the file's mean is from a
        population's is not in it.

        *With of="population"* it is about the mean of the population that the curves are a sample of:
        independent curves of one law, each as clipped to the bound.  The release must have paid for it, with
        `mercer.mean_curve(..., population=0.05)`, and have the default smoothing.  This band is credible
        too, and fails where the other does.  In a difference, of="population" takes the two samples for
        independent.

        *Of a smoothing that was given* (M15) it covers the same smoothing of the mean without noise:
        what smoothing takes away is not in it.  Where scale, power or penalty was chosen from the
        noisy coordinates, the width is found by making the choice again on public draws of noise,
        added to this curve as an estimate of the mean (M17): at level 0.95, measured coverage was 0.92
        to 0.98.  It is never narrower than for a smoothing fixed beforehand.
        """
        return self.whose(of)._band(x, level, self._orders(order), simultaneous=simultaneous)

    def interval(
        self,
        functional: Callable[[PolynomialCurve], float],
        level: float = 0.95,
        *,
        runs: int = 400,
        of: str = "data",
    ) -> Interval:
        """Any number computed from the curve, with an error bar.

        Percentiles of the same number of `runs` curves that the true one may be: the place of a maximum
        is always in the domain, an area never negative where no curve is.  They are about what the
        band is about, the file's own mean or, with of="population", the population's (see `band`).  The
        curves are looked at on a fine grid, and the ends are simulated: another number of runs moves
        them a little.
        """
        check_level(level)
        check_count("runs", runs, least=20, most=4000, hint="more runs, steadier ends")
        if (1 - level) / 2 * (runs + 1) < 1 - 1e-9:
            raise ValueError(
                f"level must be at most {1 - 2 / (runs + 1):.4g} with {runs} runs, got {level!r}; "
                "at most 4000 runs can be had"
            )
        value = float(functional(self))
        others = self.coefficients - self.whose(of)._errors(runs)
        found = [
            float(functional(Sketch(self.domain, self.polynomials, row, self.kernels))) for row in others
        ]
        low, high = np.quantile(found, [(1 - level) / 2, (1 + level) / 2], method="weibull")
        return Interval(value, float(low), float(high), level)

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
        return self.curve._noise(self.orders).normal

    def deviation(self, unit: Floats) -> Floats:
        rows = self.curve._rows(unit, self.orders)
        return np.asarray(np.linalg.norm(rows @ self.curve._noise(self.orders).factor, axis=1))

    def width_at(self, unit: Floats, level: float, sd: Floats) -> Floats:
        del sd
        rows = self.curve._rows(unit, self.orders)
        return order_statistic(np.abs(self.curve._noise(self.orders).draws @ rows.T), level)

    def everywhere(self, level: float) -> float:
        """Of these draws: under this smoothing, as if it had been fixed beforehand."""
        return float(order_statistic(self.sorted_suprema, level))

    def suprema(self) -> Floats:
        noise, mesh = self.curve._noise(self.orders), Mesh(self.curve.polynomials, self.orders, _EACH)
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

    @property
    def about(self) -> str:
        said = {term.about for _, term in self._terms()}
        return said.pop() if len(said) == 1 else super().about

    @property
    def grade(self) -> str:
        return max(term.grade for _, term in self._terms())

    def _of_population(self) -> NoisyCurve:
        return Difference(self.one.whose("population"), self.two.whose("population"))

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

    def _noise(self, orders: Orders = ()) -> CurveNoise:
        slopes = any(orders)
        if ("noise", slopes) not in self._memory:
            found = {term: term._noise(orders) for _, term in self._terms()}
            factors = [sum(sign * found[term].factor for sign, term in group) for group in self._origins()]
            normal = all(noise.normal for noise in found.values())
            runs = min(len(noise.draws) for noise in found.values())
            draws = self._combined(lambda term: found[term].draws[:runs])
            self._memory["noise", slopes] = CurveNoise(draws, np.hstack(factors), normal)
        return self._memory["noise", slopes]

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
