"""A released count or proportion.  Right of the door.  M13."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mercer.columns.conditions import Condition
from mercer.common.checks import check_level
from mercer.common.fields import Fields
from mercer.noise.count_laws import CountLaw, count_law_from_dict
from mercer.promise.weaker import RandomStatement
from mercer.releases.base import Release
from mercer.releases.counts.findings import count_findings
from mercer.releases.counts.questions import clipped
from mercer.releases.findings import Finding
from mercer.releases.weighted import Interval

if TYPE_CHECKING:
    from mercer.noise.optimal.weights import OptimalCount

__all__ = ["CountRelease", "count_from"]


@dataclass(frozen=True, eq=False, repr=False)
class CountRelease(Release):
    """How many records a condition holds for, with noise."""

    domain: Condition  # type: ignore[assignment]
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
    def accuracy(self) -> Any:
        """Expected error due to privacy, beside the least that is possible."""
        from mercer.releases.counts.accuracy import accuracy_of_count

        return accuracy_of_count(self)

    def findings(self) -> tuple[Finding, ...]:
        return count_findings(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "domain": {"words": self.domain.words},
            "noise": None if self.noise is None else self.noise.to_dict(),
            "raw": self.raw,
            "share": self.share,
            "privacy": self.privacy.to_dict(),
        }

    def __repr__(self) -> str:
        what = "proportion" if self.share else "count"
        _, low, high, _ = self.interval(0.95)
        return (
            f"<CountRelease: {what} of {self.domain.words} = {self.value:.6g}, 95 % interval "
            f"[{low:.6g}, {high:.6g}]; {self.privacy.short}>"
        )


def count_from(top: Fields, privacy: Any) -> CountRelease:
    """A count; ValueError says what is wrong."""
    given = top.get("noise", dict | None)
    noise: Any = None
    if given is not None and "law" in given:
        noise = count_law_from_dict(given)
    elif given is not None:
        from mercer.noise.optimal.weights import OptimalCount

        noise = OptimalCount.from_dict(given)
        if noise.n != privacy.n or noise.epsilon > privacy.epsilon:
            raise ValueError("the mechanism is for another number of records, or epsilon")
    raw = top.get("raw", int)
    if given is not None and "law" not in given and not 0 <= raw <= privacy.n:
        raise ValueError("raw is no answer of the mechanism")
    if abs(raw) >= 1 << 62:
        raise ValueError("raw is no count")
    words = top.part("domain").get("words", str)
    return CountRelease(Condition(words), privacy, noise, raw, top.get("share", bool))
