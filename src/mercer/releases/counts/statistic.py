"""A released number under the weaker promise.  Right of the door.  M14."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from mercer.columns.conditions import Condition
from mercer.common.checks import check_level
from mercer.common.fields import Fields, finite
from mercer.releases.base import Release
from mercer.releases.findings import Finding
from mercer.releases.weighted import Interval

__all__ = ["StatisticRelease", "statistic_from"]


@dataclass(frozen=True, eq=False, repr=False)
class StatisticRelease(Release):
    """A statistic of one column with Laplace noise."""

    domain: Condition  # type: ignore[assignment]
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

    def findings(self) -> tuple[Finding, ...]:
        if self.scale is None or self.scale == 0 or abs(self.value) >= -self.scale * math.log(0.01):
            return ()
        return (Finding("flat", f"{self.domain.words} cannot be told from zero: the noise explains it"),)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "domain": {"words": self.domain.words},
            "value": self.value,
            "scale": self.scale,
            "privacy": self.privacy.to_dict(),
        }

    def __repr__(self) -> str:
        ends = "" if self.scale is None else f" +- {self.interval().upper - self.value:.3g}"
        return f"<StatisticRelease: {self.domain.words} = {self.value:.6g}{ends}; {self.privacy.short}>"


def statistic_from(top: Fields, privacy: Any) -> StatisticRelease:
    """A number with its noise; ValueError says what is wrong."""
    given = top.get("scale", float | int | None)
    scale = None if given is None else finite_far(given, "scale")
    words = top.part("domain").get("words", str)
    value = finite_far(top.get("value", float | int), "value")
    return StatisticRelease(Condition(words), privacy, value, scale)


def finite_far(value: object, what: str) -> float:
    """A number of a column without bounds."""
    if isinstance(value, float) and math.isfinite(value):
        return value
    return finite(value, what)
