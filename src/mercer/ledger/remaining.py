"""What remains of a total, in numbers and words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from mercer.ledger.store import LedgerError
from mercer.promise.filter import Cost, Filter, Spent

__all__ = ["BudgetExceeded", "Remaining"]


@dataclass(frozen=True)
class Remaining:
    """What remains of a dataset's total, what is spent of it, and what would still be accepted.

    A pure release of at most `epsilon` is accepted now, and none of more.  A release with a delta
    of its own that the ledger adds up is accepted up to `delta` and up to
    `total_epsilon - spent_epsilon`; Gaussian releases, which cost less together than their sums,
    up to `gaussian` at `at_delta`.
    """

    dataset: str
    epsilon: float  # that remains: the largest of a pure release that fits
    delta: float  # that remains by the basic rule
    total_epsilon: float
    total_delta: float
    releases: int
    spent_epsilon: float  # sums of the basic rule
    spent_delta: float
    mu: float | None  # of all releases by the gaussian rule; None if it cannot be used
    share: float  # used, by the rule that has more left: 0 nothing, 1 all
    gaussian: float  # the largest epsilon of a Gaussian release that fits, at `at_delta`
    at_delta: float

    @classmethod
    def of(cls, name: str, total: Filter, costs: Sequence[Cost], at_delta: float | None = None) -> Remaining:
        """Of a filter and the releases so far.

        Without `at_delta`: that of the total, or a smaller one where only that leaves room for a
        Gaussian release.
        """
        if at_delta is not None:
            return cls._at(name, total, costs, at_delta)
        whole = cls._at(name, total, costs, total.delta)
        if whole.gaussian or not total.delta:
            return whole
        # the whole delta leaves none to put beside what was released before: look below it
        rest = max(0.9 * (total.delta - whole.spent_delta), 0.0)
        return cls._at(name, total, costs, float(f"{rest:.1g}"))

    @classmethod
    def _at(cls, name: str, total: Filter, costs: Sequence[Cost], at_delta: float) -> Remaining:
        spent, split = Spent.of(costs), total.split(costs)
        gaussian = total.largest_gaussian(costs, delta=at_delta) if 0 < at_delta < 0.999 else 0.0
        return cls(
            dataset=name,
            epsilon=total.largest_pure(costs),
            delta=total.delta_left(costs),
            total_epsilon=total.epsilon,
            total_delta=total.delta,
            releases=len(costs),
            spent_epsilon=float(spent.epsilon),
            spent_delta=float(spent.delta),
            mu=spent.mu if total.gaussian(spent, split) else None,
            share=(0.0, *total.shares(costs))[-1],
            gaussian=gaussian if total.delta > 0 else 0.0,
            at_delta=at_delta,
        )

    @property
    def offer(self) -> str:
        """What would be accepted now, rounded down."""
        words = [f"a pure release of epsilon up to {_down(self.epsilon)}"] if self.epsilon else []
        if self.gaussian:
            promise = f"epsilon up to {_down(self.gaussian)} at delta = {self.at_delta:g}"
            words.append(f"a Gaussian release of {promise}")
        return " or ".join(words) + " fits" if words else "nothing more fits"

    @property
    def way_out(self) -> str:
        """What somebody can do whose release does not fit."""
        if self.epsilon or self.gaussian:
            return "ask for no more than that"
        return (
            "a total is never raised, but everything computed from a release that is there, and "
            "every question to a live one, is free"
        )

    def __str__(self) -> str:
        delta = "pure releases only" if self.total_delta == 0 else f"delta = {self.total_delta:g}"
        times = "1 release" if self.releases == 1 else f"{self.releases} releases"
        return (
            f"{self.dataset}: total epsilon = {self.total_epsilon:g}, {delta}. {times}, "
            f"{self.share:.0%} used; sums: epsilon {self.spent_epsilon:g}, delta "
            f"{self.spent_delta:g}. Now {self.offer}."
        )

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return asdict(self)


class BudgetExceeded(LedgerError):  # noqa: N818
    """A release that does not fit what is left; nothing was charged and no noise was drawn."""

    def __init__(self, message: str, *, epsilon: float, delta: float, left: Remaining) -> None:
        super().__init__(message)
        self.epsilon, self.delta, self.left = epsilon, delta, left

    @classmethod
    def of(cls, name: str, total: Filter, costs: Sequence[Cost], cost: Cost) -> Self:
        """Of the release that does not fit, after those that did."""
        left = Remaining.of(name, total, costs, cost.delta)
        if cost.delta > 0 and total.delta == 0:
            words = f"it is registered with delta = 0, for pure releases only, and {left.offer}"
            way = "leave out delta" if left.epsilon else left.way_out
        else:
            if cost.delta > 0 and not left.gaussian:  # with a smaller delta it may fit
                left = Remaining.of(name, total, costs)
            words, way = left.offer, left.way_out
        return cls(
            f"release costs epsilon = {cost.epsilon:g}, delta = {cost.delta:g}; dataset {name!r} "
            f"has not that much left of epsilon = {total.epsilon:g}, delta = {total.delta:g}: "
            f"{words}. Nothing was charged, no noise was drawn; {way}",
            epsilon=cost.epsilon,
            delta=cost.delta,
            left=left,
        )


def _down(value: float) -> str:
    """Four digits, rounded down, so that what is shown is accepted."""
    shift = 10 ** (3 - math.floor(math.log10(value)))
    shown = math.floor(value * shift * (1 + 1e-14)) / shift
    return f"{shown:.4g}"
