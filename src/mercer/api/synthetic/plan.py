"""What a synthetic table will be, before anything is spent.  M10, M15.

Public choices alone: no record is read, and the number of records is not known yet.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mercer.api.shares import Split
from mercer.api.synthetic.recipe import TableRecipe
from mercer.columns.table import TableDomain
from mercer.noise.mechanisms.base import check_promise

__all__ = ["TablePlan", "plan_table"]


@dataclass(frozen=True)
class TablePlan:
    """Records, kernel and noise of a table to come."""

    domain: TableDomain
    method: str
    size: int  # synthetic records, at most
    coordinates: int  # noisy ones, at most; 0 for a table drawn whole
    style: str
    kernel: str | None  # in words; None: its scales take a part of the budget
    epsilon: float
    delta: float
    reach: float  # n times the expected distance that the noise makes, before shrinking, at most

    def distance(self, n: int) -> float:
        """Expected distance due to the noise, where a record has length one."""
        return self.reach / n

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "method": self.method,
            "size": self.size,
            "coordinates": self.coordinates,
            "weights": self.style,
            "kernel": self.kernel,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "noise_distance_times_n": self.reach or None,
        }


def plan_table(
    chosen: Mapping[str, Any], *, epsilon: object, delta: object, choice_share: float
) -> TablePlan:
    """Checks all public choices; `chosen` are the arguments of `TableRecipe.of`."""
    recipe = TableRecipe.of(**chosen)
    promise = noise = check_promise(recipe.mechanism, epsilon, delta)
    whole = recipe.method == "exponential"
    if recipe.private and not whole:
        noise = Split.of("private-scott", recipe.mechanism, promise, choice_share).noise
    waves = recipe.method == "features"
    many = 0 if whole else 2 * ((recipe.waves + 1) // 2) if waves else recipe.size
    reach = 0.0
    if many:
        between = 2.0 if waves else math.sqrt(2)  # records, at most: M10
        reach = recipe.mechanism.multiplier(many, **noise) * between * math.sqrt(many)
    return TablePlan(
        recipe.domain,
        recipe.method,
        recipe.size,
        many,
        "uniform" if whole else recipe.style,
        None if recipe.private else recipe.record_kernel().words,
        promise["epsilon"],
        0.0 if whole else promise["delta"],
        reach,
    )
