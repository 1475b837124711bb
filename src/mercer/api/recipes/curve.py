"""The public choices of a mean curve, before any curve is read.

M9, M12, M17.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.api.calls import beside, check_share
from mercer.columns.domain import Box
from mercer.common.checks import Floats, PrivacyWarning, check_choice, check_count
from mercer.noise.mechanisms import L2, Gaussian, Mechanism
from mercer.noise.mechanisms.additive import GaussianShare
from mercer.noise.mechanisms.base import Promise
from mercer.promise.composition import decimal
from mercer.releases.curve.functionals import PolynomialCurve
from mercer.releases.curve.release import ORDERS, check_eta, check_penalty, unit_scales
from mercer.releases.curve.smoothing import ETAS
from mercer.rules.public import (
    SIDES,
    TYPICAL_SCALE,
    coordinates_rule,
    curve_penalty,
    frame_of,
    rule_penalties,
)
from mercer.spaces.kernels import Kernel
from mercer.spaces.modes import CURVE_KERNELS, Modes, SpectralFilter, cameron_martin, gain_of, level_of
from mercer.spaces.polynomials import MOST_FUNCTIONS, Polynomials

__all__ = ["CurveRecipe", "Sight", "center_of"]

_WORDS = ("auto", "rule", "private-cv")
_SMOOTHNESS = {"gaussian": math.inf, "matern52": 2.5, "matern32": 1.5, "exponential": 0.5}
_CANDIDATES = (0.05, 0.1, 0.2, 0.4), (1.0, 2.0), np.logspace(-6, 0, 7)


@dataclass(frozen=True)
class Sight:
    """How curves are seen: all that the expected noise of their mean depends on, which is public."""

    polynomials: Polynomials
    frame: Floats | None  # the functions whose coordinates are released; None for all
    n: int
    promise: Promise  # of the noise alone

    @property
    def coordinates(self) -> int:
        """The number of coordinates that are released."""
        return self.polynomials.size if self.frame is None else len(self.frame)


@dataclass(frozen=True)
class CurveRecipe:
    """The public choices of a mean curve: its kernel, its smoothing, its noise."""

    kernel: str  # of a filter, if there is one
    noise_kernel: str
    scale: object
    eta: object
    penalty: object  # a number, several, or one of "auto", "rule", "private-cv"
    order: str
    size: object
    mechanism: Mechanism
    average: bool  # of filters, for curves: nothing was given
    stretch: float = 1.0  # of the noise, where several groups share the budget
    population: float = 0.0  # share of the budget for bands about the population's mean

    @classmethod
    def of(
        cls,
        *,
        pure: bool,
        kernel: object = "auto",
        noise_kernel: object = None,
        scale: object = "auto",
        eta: object = "auto",
        penalty: object = "auto",
        order: object = "noise-first",
        size: object = None,
        population: object = 0.0,
    ) -> CurveRecipe:
        order = check_choice("order", order, ORDERS)
        if isinstance(kernel, Kernel):  # its lengths are shares of the widths
            if not isinstance(scale, str):
                raise ValueError("scale must be left out where kernel is a Kernel: it has its own")
            scale, kernel = kernel, kernel.name
        asked = check_choice("kernel", kernel, ("auto", *CURVE_KERNELS))
        name = "gaussian" if asked == "auto" else asked
        other = name if noise_kernel is None else check_choice("noise_kernel", noise_kernel, CURVE_KERNELS)
        if order == "paper":
            _check_paper(penalty, pure)
            eta = 1.0 if isinstance(eta, str) and eta == "auto" else eta
        elif noise_kernel is not None:
            raise ValueError("noise_kernel is for order='paper'; leave it out")
        free = all(isinstance(value, str) and value == "auto" for value in (asked, scale, eta, penalty))
        average = free and order == "noise-first"
        share = _share_of(population)
        mechanism: Mechanism = L2() if pure else (GaussianShare(1 - share) if share else Gaussian())
        recipe = cls(name, other, scale, eta, penalty, order, size, mechanism, average, population=share)
        recipe._check_words()
        if share and not average:
            raise ValueError(
                "population is for the default smoothing, whose errors hold what smoothing takes away: leave "
                "kernel, scale, eta, penalty and order out, or leave population out"
            )
        recipe._check_compatible()
        return recipe

    @property
    def private(self) -> bool:
        """Whether the smoothing is chosen from the curves, with budget."""
        return isinstance(self.penalty, str) and self.penalty == "private-cv"

    @property
    def choice(self) -> str:
        """The way in which the smoothing is chosen, in the word of the release file."""
        if isinstance(self.penalty, str) and self.penalty != "auto":
            return self.penalty
        several = any(isinstance(v, str) for v in (self.scale, self.eta, self.penalty))
        return "auto" if several and self.order == "noise-first" else "given"

    def polynomials(self, domain: Box) -> Polynomials:
        """The functions that curves are seen through."""
        d = domain.dimension
        if self.size is None:
            return Polynomials(SIDES[d])
        sides = tuple(self.size) if isinstance(self.size, (list, tuple)) else (self.size,) * d
        most = {1: MOST_FUNCTIONS // 2, 2: math.isqrt(MOST_FUNCTIONS)}[d]
        if len(sides) != d:
            raise ValueError(f"size must be one number for each of the {d} argument(s)")
        hint = "polynomials along each argument"
        return Polynomials(tuple(check_count("size", side, least=4, most=most, hint=hint) for side in sides))

    def sight(self, polynomials: Polynomials, *, n: int, promise: Promise) -> Sight:
        """How curves are seen: through all functions, or as many as a public rule says for pure noise."""
        frame = None
        if self.order != "paper" and self.mechanism.pure:
            many = coordinates_rule(polynomials, n=n, epsilon=promise["epsilon"] / self.stretch)
            frame = frame_of(polynomials, many)
        return Sight(polynomials, frame, n, promise)

    def parts(self, promise: Promise) -> list[tuple[Mechanism, Promise]]:
        """What draws the mean's noise, that of the residuals' total and that of their moments (M22).

        Together they keep the promise: Gaussian noise by shares of mu^2, pure noise by shares of epsilon.
        Without a share for the population it is the mean alone.
        """
        share, epsilon = self.population, promise["epsilon"]
        if not share:
            return [(self.mechanism, promise)]
        if not self.mechanism.pure:
            own = [1 - share, share / 4, 3 * share / 4]
            return [(GaussianShare(part), promise) for part in own]
        total, moments = epsilon * share / 4, epsilon * share * 3 / 4
        both = float(decimal(total) + decimal(moments)) * (1 + 1e-15)
        check_share(total, 1)
        left = [beside(both, epsilon), total, moments]
        return [(self.mechanism, Promise(epsilon=part, delta=0.0)) for part in left]

    def check(self, domain: Box) -> None:
        """Raise errors that follow from the domain, before any curve is read."""
        if self.population and domain.dimension > 1:
            raise ValueError("population is for curves of one argument, not for surfaces; leave it out")
        self.scales(domain)
        self.polynomials(domain)

    def scales(self, domain: Box) -> tuple[float, ...] | None:
        """The kernel's lengths as shares of the widths; None where they are to be chosen."""
        if isinstance(self.scale, Kernel):
            if self.scale.dimension != domain.dimension:
                raise ValueError(f"kernel must be of dimension {domain.dimension}")
            return unit_scales(self.scale.lengths * domain.widths, domain)
        return None if isinstance(self.scale, str) else unit_scales(self.scale, domain)

    def etas(self) -> tuple[float, ...]:
        """Powers eta of the eigenvalues to choose from: one, if it is given."""
        return ETAS if isinstance(self.eta, str) else (check_eta(self.eta),)

    def candidates(self, domain: Box, polynomials: Polynomials) -> list[SpectralFilter]:
        """The filters among which a private choice is made."""
        lengths, etas, shares = _CANDIDATES
        scales = self.scales(domain)
        every = [(h,) * domain.dimension for h in lengths] if scales is None else [scales]
        powers = etas if isinstance(self.eta, str) else self.etas()
        return [
            self._filter(h, eta, float(share) * self._modes(h, polynomials).top ** eta, polynomials)
            for h in every
            for eta in powers
            for share in shares
        ]

    def ruled(self, domain: Box, sight: Sight) -> SpectralFilter:
        """A filter given in full, or chosen by the public rule."""
        polynomials = sight.polynomials
        scales = self.scales(domain) or (TYPICAL_SCALE,) * domain.dimension
        found = self._filter(scales, 1.0, 1.0, polynomials).seen(polynomials, sight.frame)
        best: tuple[float, SpectralFilter] | None = None
        for eta in self.etas():
            if isinstance(self.penalty, str):
                penalties = rule_penalties(found, eta)
            else:
                penalties = np.array([check_penalty(self.penalty)])
            filters = [self._filter(scales, eta, float(phi), polynomials) for phi in penalties]
            noise = np.array([self.error(f, sight) for f in filters])
            risk, penalty = curve_penalty(found, noise, penalties, eta)
            if best is None or risk < best[0]:
                best = (risk, self._filter(scales, eta, penalty, polynomials))
        assert best is not None
        return best[1]

    def deviation(self, sight: Sight) -> float:
        """Standard deviation of a coordinate's noise, in units of the bound; order="noise-first"."""
        return float(
            self.stretch * self.mechanism.multiplier(sight.coordinates, **sight.promise) * 2 / sight.n
        )

    def error(self, smoothing: SpectralFilter, sight: Sight) -> float:
        """Expected squared error that privacy adds, in units of the squared bound: public."""
        if self.order == "paper":
            encode, decode = cameron_martin(smoothing, self.noise_kernel, sight.polynomials)
            multiplier = self.stretch * self.mechanism.multiplier(len(encode), **sight.promise)
            return (multiplier * 2 / sight.n * gain_of(encode)) ** 2 * float(np.sum(decode**2))
        found = smoothing.seen(sight.polynomials, sight.frame)
        return self.deviation(sight) ** 2 * float(np.sum(smoothing.factors(found.values) ** 2))

    def warn(self, smoothing: SpectralFilter, sight: Sight) -> None:
        """Warn, before anything is spent, where the noise would be larger than any curve."""
        noise = math.sqrt(self.error(smoothing, sight))
        if noise <= 1:
            return
        words = (
            f"penalty = {smoothing.penalty:.3g} with {sight.n} curves: the noise for privacy has a root "
            f"mean square of {noise:.3g} times the bound, more than any curve can have"
        )
        found = smoothing.seen(sight.polynomials, sight.frame)
        for penalty in rule_penalties(found, smoothing.eta):
            larger = replace(smoothing, penalty=float(penalty))
            if penalty > smoothing.penalty and self.error(larger, sight) < 0.04:
                words += f"; a penalty of {penalty:.2g} would bring it to a fifth of the bound"
                break
        else:
            words += "; no penalty mends that: use a larger epsilon, or more curves"
        warnings.warn(words, PrivacyWarning, stacklevel=4)

    def warn_few(self, sight: Sight) -> None:
        """Warn, before anything is spent, where even one coordinate would be mostly noise."""
        noise = self.deviation(sight)
        if noise > 0.5:
            warnings.warn(
                f"{sight.n} curves are few for this promise: the noise of the mean's every coordinate "
                f"has a standard deviation of {noise:.2g} times the bound; use a larger epsilon, "
                "or a smaller bound around a public center",
                PrivacyWarning,
                stacklevel=6,
            )

    def _filter(
        self, scales: tuple[float, ...], eta: float, penalty: float, polynomials: Polynomials
    ) -> SpectralFilter:
        level = self.order == "noise-first" and level_of(polynomials)
        return SpectralFilter(self.kernel, scales, eta, penalty, level)

    def _modes(self, scales: tuple[float, ...], polynomials: Polynomials) -> Modes:
        return SpectralFilter(self.kernel, scales, 1.0, 1.0).modes(polynomials)

    def _check_words(self) -> None:
        if isinstance(self.scale, str):
            check_choice("scale", self.scale, ("auto",))
        if isinstance(self.eta, str):
            check_choice("eta", self.eta, ("auto",))
        else:
            check_eta(self.eta)
        if isinstance(self.penalty, str):
            check_choice("penalty", self.penalty, _WORDS)
        elif isinstance(self.penalty, Sequence):
            raise TypeError("penalty must be a number or one of 'auto', 'rule', 'private-cv'")
        else:
            check_penalty(self.penalty)

    def _check_compatible(self) -> None:
        """M9; Mirshani et al., Theorem 3.1: the estimate must lie in the noise's space."""
        power = min(self.etas())
        reach = power * (2 * _SMOOTHNESS[self.kernel] + 1)
        if reach < _SMOOTHNESS[self.noise_kernel] + 0.5:
            raise ValueError(
                f"noise_kernel = {self.noise_kernel!r} is not compatible with an estimate smoothed "
                f"by {self.kernel!r}: the estimate need not lie in the Cameron-Martin space of "
                "the noise, and then no amount of noise makes it private (Mirshani et al., Theorem "
                f"3.1); use {self.kernel!r} or a rougher kernel for the noise"
            )


def center_of(
    center: object, polynomials: Polynomials, domain: Box, grid: tuple[Floats, ...] | None
) -> Floats:
    """Coefficients of a public centre, which is None, values on the grid, a function, or a curve."""
    if center is None:
        return np.zeros(polynomials.size)
    if isinstance(center, PolynomialCurve):
        if center.domain.bounds != domain.bounds or center.polynomials != polynomials:
            raise ValueError("center must have the bounds and the size of the curves")
        return np.array(center.coefficients)
    if callable(center):
        return polynomials.inner(lambda unit: _values(center, domain.from_unit(unit)))
    if grid is None:
        raise ValueError("center must be a function where curves have grids of their own")
    shape = tuple(len(ticks) for ticks in grid)
    try:
        values = np.asarray(center, dtype=float)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.shape not in ((), shape) or not np.all(np.isfinite(values)):
        raise ValueError(
            f"center must be a finite number, {' x '.join(map(str, shape))} finite numbers, one "
            f"for each point of the grid, or a function; got {_shown(center)}"
        )
    return np.broadcast_to(values, shape).reshape(-1) @ polynomials.of_grid(grid)


def _share_of(value: object) -> float:
    """The share of the budget for the population's mean; 0 for none."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= float(value) <= 0.5 or 0 < float(value) < 1e-4:  # type: ignore[arg-type]
        raise ValueError(
            f"population must be a share of the budget, 0 (none) or in [0.0001, 0.5], got {value!r}; 0.05 is "
            "usual"
        )
    return float(value)  # type: ignore[arg-type]


def _check_paper(penalty: object, pure: bool) -> None:
    if pure:
        raise ValueError("order='paper' adds Gaussian noise and needs a delta; give delta=1e-6")
    if isinstance(penalty, str) and penalty == "auto":
        raise ValueError(
            "penalty is missing: order='paper' smooths before the noise, so it cannot be chosen "
            "from the result; give a number, 'rule' or 'private-cv'"
        )


def _values(center: Callable[[Any], Any], rows: Floats) -> Floats:
    value = np.asarray(center(rows[:, 0] if rows.shape[1] == 1 else rows), dtype=float)
    if value.shape not in ((), (len(rows),)) or not np.all(np.isfinite(value)):
        raise ValueError(
            f"center must give one finite number for each point; got shape {value.shape} for "
            f"{len(rows)} points"
        )
    return np.broadcast_to(value, (len(rows),))


def _shown(value: object) -> str:
    return f"{type(value).__name__} of shape {getattr(value, 'shape', ())}"
