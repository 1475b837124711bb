"""What is spent of a total and what is left, in numbers and words.  Layer 5."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mercer.filters import Cost, Filter, Spent

__all__ = ["Remaining"]


@dataclass(frozen=True)
class Remaining:
    """A dataset's total, what is spent of it by each rule, and what would still be accepted."""

    dataset: str
    epsilon: float  # total
    delta: float
    releases: int
    spent_epsilon: float  # sums of the basic rule
    spent_delta: float
    mu: float | None  # of all releases by the gaussian rule; None if it cannot be used
    share: float  # used, by the rule that has more left: 0 nothing, 1 all
    pure: float  # the largest epsilon of a pure release that fits
    gaussian: float  # the largest epsilon of a Gaussian release that fits, at `at_delta`
    at_delta: float

    @classmethod
    def of(cls, name: str, total: Filter, costs: Sequence[Cost], at_delta: float) -> Remaining:
        """Of a filter and the releases so far."""
        spent, split = Spent.of(costs), total.split(costs)
        gaussian = total.largest_gaussian(costs, delta=at_delta) if 0 < at_delta < 0.999 else 0.0
        return cls(
            dataset=name,
            epsilon=total.epsilon,
            delta=total.delta,
            releases=len(costs),
            spent_epsilon=float(spent.epsilon),
            spent_delta=float(spent.delta),
            mu=spent.mu if total.gaussian(spent, split) else None,
            share=(0.0, *total.shares(costs))[-1],
            pure=total.largest_pure(costs),
            gaussian=gaussian if total.delta > 0 else 0.0,
            at_delta=at_delta,
        )

    @property
    def offer(self) -> str:
        """What would be accepted now, rounded down."""
        words = [f"a pure release of epsilon up to {_down(self.pure)}"] if self.pure else []
        if self.gaussian:
            promise = f"epsilon up to {_down(self.gaussian)} at delta = {self.at_delta:g}"
            words.append(f"a Gaussian release of {promise}")
        return " or ".join(words) + " fits" if words else "nothing more fits"

    def __str__(self) -> str:
        delta = "pure releases only" if self.delta == 0 else f"delta = {self.delta:g}"
        times = "1 release" if self.releases == 1 else f"{self.releases} releases"
        return (
            f"{self.dataset}: total epsilon = {self.epsilon:g}, {delta}. {times}, "
            f"{self.share:.0%} used; sums: epsilon {self.spent_epsilon:g}, delta "
            f"{self.spent_delta:g}. Now {self.offer}."
        )

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


def _down(value: float) -> str:
    """Four digits, rounded down, so that what is shown is accepted."""
    shift = 10 ** (3 - math.floor(math.log10(value)))
    shown = math.floor(value * shift * (1 + 1e-14)) / shift
    return f"{shown:.4g}"
