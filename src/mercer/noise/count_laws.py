"""Probability laws of the noise of counts, on the integers.  M13, M15."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri

from mercer.common.checks import Floats, Ints

if TYPE_CHECKING:
    from flint import arb

__all__ = ["COUNT_LAWS", "MOST_SCALE", "CountLaw", "GeometricLaw", "RoundedNormalLaw", "count_law_from_dict"]

MOST_SCALE = 1e15  # counts with more noise would not stay within 64 bits


@dataclass(frozen=True)
class CountLaw(ABC):
    """Symmetric noise on the integers; `scale` is the parameter of the law."""

    scale: float

    name: ClassVar[str]

    @property
    @abstractmethod
    def variance(self) -> float:
        """Variance of the noise of one count."""

    @property
    @abstractmethod
    def mean_error(self) -> float:
        """The expected absolute noise of one count, E|noise|."""

    @abstractmethod
    def above(self, k: int) -> float:
        """The probability P(noise > k), in double precision."""

    @abstractmethod
    def above_ball(self, k: int) -> arb:
        """P(noise > k) for k >= 0 as a ball (FLINT's Arb), to the working precision."""

    @abstractmethod
    def threshold(self, chance: float) -> float:
        """The t >= 0 that the noise exceeds with this probability, before rounding."""

    @abstractmethod
    def transform(self, t: Floats) -> Floats:
        """Characteristic function E exp(i t noise), which is real because the law is symmetric."""

    @abstractmethod
    def log_moment(self, t: float) -> float:
        """Logarithm of the moment generating function, E exp(t noise)."""

    @property
    @abstractmethod
    def reach(self) -> float:
        """Supremum of the t at which the moment generating function is finite."""

    @abstractmethod
    def simulate(self, size: Any, rng: np.random.Generator) -> Ints:
        """Draws in double precision, for audits and studies on public numbers, never for a release."""

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise of one count."""
        return math.sqrt(self.variance)

    def half_width(self, terms: int, level: float) -> float:
        """The least integer w with P(|sum of `terms` independent draws| <= w) >= level."""
        return _half_width(self, terms, level) if terms else 0.0

    def half_width_of_all(self, cells: int, terms: int, level: float) -> float:
        """The same for so many such sums at once, of draws that no two of them share.

        The sums are independent: all stay within w with the chance that one does to the power of
        `cells`, so that each has the level^(1/cells) quantile.
        """
        if cells <= 1 or not terms:
            return self.half_width(terms, level) if cells else 0.0
        tail = -math.expm1(math.log(level) / cells)  # the chance that one is beyond
        if terms > 1:
            return self.half_width(terms, 1 - tail)
        width = max(math.floor(self.threshold(tail / 2)) - 1, 0)
        while 2 * self.above(width) > tail:
            width += 1
        while width and 2 * self.above(width - 1) <= tail:
            width -= 1
        return float(width)

    def chosen_width(self, terms: int, among: int, level: float) -> float:
        """A bound for all sums of at most `terms` out of `among` draws at once, at this level.

        It holds for cells that were chosen by looking at their noise, also if their number was.
        It is a Chernoff bound and a union bound over all choices; weights of at most one in the
        sum change nothing.
        """
        if not terms:
            return 0.0
        number = 0.5 + 2 * math.log(terms)  # sum of 1 / m^2 < e^0.5
        budget = _log_choices(among, terms) + number - math.log(1 - level)
        top = min(self.reach * (1 - 1e-6), 50.0)
        found = minimize_scalar(
            lambda t: (budget + terms * self.log_moment(t)) / t, bounds=(top * 1e-6, top), method="bounded"
        )
        return float(found.fun)

    def to_dict(self) -> dict[str, Any]:
        """Name and parameter, from which `count_law_from_dict` rebuilds the law."""
        return {"law": self.name, "scale": self.scale}


@dataclass(frozen=True)
class GeometricLaw(CountLaw):
    """Two-sided geometric noise: P(k) is proportional to exp(-|k| / scale)."""

    name = "two-sided-geometric"

    @property
    def _ratio(self) -> float:
        return math.exp(-1 / self.scale)

    @property
    def variance(self) -> float:
        return 0.5 / math.sinh(0.5 / min(self.scale, 1e150)) ** 2 if self.scale > 2e-3 else 0.0

    @property
    def mean_error(self) -> float:
        return 1 / math.sinh(1 / self.scale) if self.scale > 2e-3 else 0.0

    def above(self, k: int) -> float:
        if k < 0:
            return 1 - self.above(-k - 1)
        return math.exp(-(k + 1) / self.scale) / (1 + self._ratio)

    def above_ball(self, k: int) -> arb:
        from flint import arb

        rate = 1 / arb(self.scale)
        return (-(k + 1) * rate).exp() / (1 + (-rate).exp())

    def threshold(self, chance: float) -> float:
        return max(self.scale * math.log(0.5 / chance), 0.0)

    def transform(self, t: Floats) -> Floats:
        ratio = self._ratio
        return (1 - ratio) ** 2 / (1 - 2 * ratio * np.cos(t) + ratio**2)

    def log_moment(self, t: float) -> float:
        one = math.expm1(-1 / self.scale)
        return (
            2 * math.log(-one)
            - math.log1p(-math.exp(t - 1 / self.scale))
            - math.log1p(-math.exp(-t - 1 / self.scale))
        )

    @property
    def reach(self) -> float:
        return 1 / self.scale

    def simulate(self, size: Any, rng: np.random.Generator) -> Ints:
        chance = -math.expm1(-1 / self.scale)
        return np.asarray(rng.geometric(chance, size) - rng.geometric(chance, size), dtype=np.int64)


@dataclass(frozen=True)
class RoundedNormalLaw(CountLaw):
    """Rounded normal noise: the nearest integer to a normal of standard deviation `scale`."""

    name = "rounded-normal"

    @property
    def variance(self) -> float:
        k = np.arange(0, math.ceil(12 * self.scale) + 2, dtype=float)
        if len(k) > 1 << 16:
            return self.scale**2 + 1 / 12
        return float(2 * np.sum((2 * k + 1) * ndtr(-(k + 0.5) / self.scale)))

    @property
    def mean_error(self) -> float:
        k = np.arange(0, math.ceil(12 * self.scale) + 2, dtype=float)
        if len(k) > 1 << 16:
            return self.scale * math.sqrt(2 / math.pi)
        return float(2 * np.sum(ndtr(-(k + 0.5) / self.scale)))

    def above(self, k: int) -> float:
        return float(ndtr(-(k + 0.5) / self.scale))

    def above_ball(self, k: int) -> arb:
        from flint import arb

        return (arb(2 * k + 1) / (2 * arb(self.scale) * arb(2).sqrt())).erfc() / 2

    def threshold(self, chance: float) -> float:
        return max(float(-self.scale * ndtri(chance)) - 0.5, 0.0)

    def transform(self, t: Floats) -> Floats:
        if self.scale > 0.5:  # Poisson's sum: the normal's times the rounding's, at t + 2 pi j
            turns = t[:, None] + 2 * np.pi * np.arange(-5, 6)
            waves = np.exp(-0.5 * (self.scale * turns) ** 2) * np.sinc(turns / (2 * np.pi))
            return np.sum(waves, axis=1)
        k = np.arange(1, 64, dtype=float)
        mass = ndtr((k + 0.5) / self.scale) - ndtr((k - 0.5) / self.scale)
        return 1 - 2 * ((1 - np.cos(np.outer(t, k))) @ mass)

    def log_moment(self, t: float) -> float:
        # rounding adds at most a half: E e^(tN) <= e^(t^2 s^2 / 2 + |t| / 2); small scales exactly
        if self.scale > 30:
            return 0.5 * (t * self.scale) ** 2 + abs(t) / 2
        k = np.arange(1, 4096, dtype=float)
        with np.errstate(divide="ignore"):
            logs = log_ndtr(-(k - 0.5) / self.scale)
        # tails are above the masses: an upper bound
        return float(logsumexp(np.concatenate([[0.0], logs + t * k, logs - t * k])))

    @property
    def reach(self) -> float:
        return 60 / self.scale

    def simulate(self, size: Any, rng: np.random.Generator) -> Ints:
        return np.rint(rng.standard_normal(size) * self.scale).astype(np.int64)


COUNT_LAWS: dict[str, type[CountLaw]] = {law.name: law for law in (GeometricLaw, RoundedNormalLaw)}


def count_law_from_dict(fields: Mapping[str, Any]) -> CountLaw:
    """Rebuild a law from a table of names; ValueError where a field is out of range."""
    name, scale = fields.get("law"), fields.get("scale")
    if not isinstance(name, str) or name not in COUNT_LAWS:
        raise ValueError(f"unknown law of counts {name!r}; there are {', '.join(COUNT_LAWS)}")
    number = isinstance(scale, (int, float)) and not isinstance(scale, bool)
    if not number or not 1e-10 < scale < MOST_SCALE:  # type: ignore[operator]
        raise ValueError("scale of the noise must be a number above 0")
    return COUNT_LAWS[name](float(scale))  # type: ignore[arg-type]


def _log_choices(among: int, terms: int) -> float:
    """Upper bound on the logarithm of the number of subsets of at most `terms` out of `among`."""
    few = min(terms, among // 2)
    if among > 1 << 30:  # differences of their factorials would be rounding alone
        return few * math.log(among) - math.lgamma(few + 1)
    return math.lgamma(among + 1) - math.lgamma(few + 1) - math.lgamma(among - few + 1) + 1e-6


@lru_cache(maxsize=512)
def _half_width(law: CountLaw, terms: int, level: float) -> float:
    """`CountLaw.half_width`, by a discrete Fourier transform of the characteristic function."""
    spread = math.sqrt(terms * law.variance)
    tail = 1.0 - level
    if isinstance(law, RoundedNormalLaw) and law.scale > 3:
        # P(|sum| <= w) is that of a normal and terms - 1 roundings within w + 1/2, to 1e-9
        normal = math.sqrt(terms * law.scale**2 + (terms - 1) / 12)
        return float(max(math.ceil(-ndtri(tail / 2) * normal - 0.5), 0))
    if terms == 1 and isinstance(law, GeometricLaw):
        width = max(math.ceil(law.scale * math.log(2 / ((1 + law._ratio) * tail)) - 1), 0)
        return float(width if 2 * law.above(width) <= tail else width + 1)
    if terms > 10_000 and spread > 100:  # as good as normal, whatever one noise is
        return float(math.ceil(-ndtri(tail / 2) * spread))
    # beyond this the sum is not found, up to 1e-4 of what the interval leaves out
    top = math.ceil(spread * max(9.0, 3 * math.sqrt(math.log(1e4 / tail))) + 40 / law.reach)
    if top > 1 << 21 and isinstance(law, GeometricLaw):  # by a coarser lattice, and a step more
        steps = 1 << (top >> 20).bit_length()
        return steps * (_half_width(GeometricLaw(law.scale / steps), terms, level) + 1)
    size = 1 << (2 * top + 1).bit_length()
    mass = np.fft.irfft(law.transform(2 * np.pi * np.arange(size // 2 + 1) / size) ** terms, size)
    inside = np.cumsum(np.concatenate([mass[:1], 2 * np.maximum(mass[1:top], 0.0)]))
    return float(min(int(np.searchsorted(inside, level)), top))
