"""One released number: a count, a proportion, or a statistic under the weaker promise.  M13, M14."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mercer.columns.domain import InWords
from mercer.common.checks import Floats, check_level
from mercer.common.files import Fields, finite
from mercer.noise.count_laws import CountLaw, GeometricLaw, count_law_from_dict
from mercer.noise.lower_bounds import counting_bound
from mercer.promise.weaker import RandomStatement, promise_from, random_statement_from
from mercer.releases.base import Interval, Release
from mercer.releases.counts.cells import CountAccuracy, clipped

if TYPE_CHECKING:
    from mercer.noise.optimal import OptimalCount

__all__ = ["CountRelease", "StatisticRelease"]


@dataclass(frozen=True, eq=False, repr=False)
class CountRelease(Release):
    """How many records a condition holds for, with noise."""

    domain: InWords
    noise: CountLaw | OptimalCount | None  # None: released as it is, under the weaker promise
    raw: int  # the noisy count as it came out
    share: bool  # whether the value is a proportion

    kind = "count"

    def __post_init__(self) -> None:
        if isinstance(self.raw, bool) or not isinstance(self.raw, int):
            raise ValueError("raw must be a whole number")
        if self.noise is None and not isinstance(self.privacy, RandomStatement):
            raise ValueError("a count without noise is under the weaker promise alone")

    @property
    def n(self) -> int:
        """Number of records or persons: public."""
        return self.privacy.n

    @property
    def count(self) -> int:
        """The count, within 0 and n."""
        return min(max(self.raw, 0), self.n)

    @property
    def proportion(self) -> float:
        """The count as a share of n."""
        return self.count / self.n

    @property
    def value(self) -> float:
        """What was asked for: the count, or the proportion."""
        return self.proportion if self.share else self.count

    def interval(self, level: float = 0.95) -> Interval:
        """The value with the ends of an interval that covers the true one."""
        check_level(level)
        if self.noise is None:
            found = Interval(self.count, self.count, self.count, level)
        elif isinstance(self.noise, CountLaw):
            width = self.noise.half_width(1, level)
            found = clipped(self.raw, (width, width), self.n, level)
        else:
            low, high = self.noise.interval(self.raw, level)
            found = Interval(self.count, low, high, level)
        if not self.share:
            return found
        share, least, most = (end / self.n for end in found[:3])
        return Interval(share, least, most, level)

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        if self.share:
            raise TypeError("a proportion is no whole number; see .count")
        return self.count

    @property
    def accuracy(self) -> CountAccuracy:
        """Expected error due to privacy, beside the least that is possible."""
        noise, epsilon, pure = self.noise, self.privacy.epsilon, self.privacy.delta == 0
        if noise is None:
            return CountAccuracy("One count", 0.0, 0.0, None, False, ", released as it is")
        best = counting_bound(self.n, epsilon)
        if isinstance(noise, CountLaw):
            plain = None if pure else GeometricLaw(1 / epsilon).mean_error
            return CountAccuracy("One count", noise.mean_error, noise.deviation, best, pure, "", plain)
        error, each = _worst(noise.matrix)  # whatever its own loss and prior are
        if noise.loss == "absolute" and noise.prior is None:
            best = max(best, noise.best)
        return CountAccuracy("One count, optimal mechanism", error, each, best, pure)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "domain": {"words": self.domain.words},
            "noise": None if self.noise is None else self.noise.to_dict(),
            "raw": self.raw,
            "share": self.share,
            "privacy": self.privacy.to_dict(),
        }

    @classmethod
    def from_fields(cls, top: Fields) -> Self:
        privacy, given = promise_from(top.part("privacy")), top.optional("noise", dict)
        noise: CountLaw | OptimalCount | None = None
        if given is not None and "law" in given:
            noise = count_law_from_dict(given)
        elif given is not None:
            from mercer.noise.optimal import OptimalCount

            noise = OptimalCount.from_dict(given)
            if noise.n != privacy.n or noise.epsilon > privacy.epsilon:
                raise ValueError("the mechanism is for another number of records, or epsilon")
        raw = top.get("raw", int)
        if given is not None and "law" not in given and not 0 <= raw <= privacy.n:
            raise ValueError("raw is no answer of the mechanism")
        if abs(raw) >= 1 << 62:
            raise ValueError("raw is no count")
        words = top.part("domain").get("words", str)
        return cls(InWords(words), privacy, noise, raw, top.get("share", bool))  # type: ignore[arg-type]

    def __repr__(self) -> str:
        what = "proportion" if self.share else "count"
        _, low, high, _ = self.interval(0.95)
        return (
            f"<CountRelease: {what} of {self.domain.words} = {self.value:.6g}, 95 % interval "
            f"[{low:.6g}, {high:.6g}]; {self.privacy.short}>"
        )


@dataclass(frozen=True, eq=False, repr=False)
class StatisticRelease(Release):
    """A statistic of one column with Laplace noise."""

    domain: InWords
    value: float  # as it came out
    scale: float | None  # of the noise; None: it follows the records and is not told

    kind = "statistic"

    def __post_init__(self) -> None:
        told = self.scale is None or (math.isfinite(self.scale) and self.scale >= 0)
        if not math.isfinite(self.value) or not told:
            raise ValueError("value must be finite, and scale a number >= 0 or None")

    @property
    def n(self) -> int:
        """Number of records: public."""
        return self.privacy.n

    def interval(self, level: float = 0.95) -> Interval:
        """The value with the ends of an interval for the statistic of the records."""
        check_level(level)
        if self.scale is None:
            raise ValueError(
                "the asymptotic method does not tell the scale of its noise, which follows the "
                "records, so there is no interval; method='exact' has one"
            )
        width = self.scale * (math.log(1 / (1 - level)) + 2.0**-18)  # and the lattice
        return Interval(self.value, self.value - width, self.value + width, level)

    def __float__(self) -> float:
        return self.value

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "domain": {"words": self.domain.words},
            "value": self.value,
            "scale": self.scale,
            "privacy": self.privacy.to_dict(),
        }

    @classmethod
    def from_fields(cls, top: Fields) -> Self:
        privacy, given = random_statement_from(top.part("privacy")), top.get("scale", float | int | None)
        scale = None if given is None else finite_far(given, "scale")
        words = top.part("domain").get("words", str)
        value = finite_far(top.get("value", float | int), "value")
        return cls(InWords(words), privacy, value, scale)  # type: ignore[arg-type]

    def __repr__(self) -> str:
        ends = "" if self.scale is None else f" +- {self.interval().upper - self.value:.3g}"
        return f"<StatisticRelease: {self.domain.words} = {self.value:.6g}{ends}; {self.privacy.short}>"


def finite_far(value: object, what: str) -> float:
    """A number of a column without bounds."""
    if isinstance(value, float) and math.isfinite(value):
        return value
    return finite(value, what)


def _worst(matrix: Floats) -> tuple[float, float]:
    """Largest expected absolute error of a mechanism, and root of the largest squared one."""
    place = np.arange(len(matrix))
    away = np.abs(np.subtract.outer(place, place))
    errors, squares = (float(np.max(np.sum(matrix * away**k, axis=1))) for k in (1, 2))
    return errors, math.sqrt(squares)
