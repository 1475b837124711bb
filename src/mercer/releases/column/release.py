"""A released column whose values were counted: integers, dates, amounts in steps.  M20.

Right of the door: never sees a record.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from mercer.columns.domain import Box
from mercer.common.checks import Floats, Ints, check_level
from mercer.common.files import Fields
from mercer.noise.count_laws import CountLaw, count_law_from_dict
from mercer.promise.statement import Statement
from mercer.releases.base import Release
from mercer.releases.cdf import Distributed
from mercer.releases.column.law import TreeCdf
from mercer.releases.counts.cells import whole_numbers
from mercer.releases.function import Band
from mercer.spaces.trees import Tree

__all__ = ["MOST_VALUES", "ColumnAccuracy", "ColumnRelease", "lattice"]

MOST_VALUES = 1 << 20

_LOOKED = 129  # values at which the noise of shares is computed for the accuracy


@dataclass(frozen=True)
class ColumnAccuracy:
    """Error due to privacy, known beforehand: the distance to the records' own shares."""

    cdf: float  # root mean square of the noise of the share at or below a value
    value: float  # standard deviation of the share of a single value, at most
    mean: float  # standard deviation of the mean, in the units of the column
    n: int

    @classmethod
    def of(cls, domain: Box, step: float, tree: Tree, noise: CountLaw, n: int) -> ColumnAccuracy:
        """The errors of a tree with this noise, if every record has a value."""
        values = lattice(domain, step)
        plain = TreeCdf(values, step, tree, np.zeros(tree.size, dtype=np.int64), noise, n)
        below = plain.deviations(values[_some(len(values) - 1)], None)
        at = plain.value_deviations(_some(len(values)))
        weights = np.concatenate([[0.0], values]) - np.concatenate([values, [0.0]])
        return cls(
            cdf=math.sqrt(float(np.mean(below**2))),
            value=float(np.max(at)),
            mean=float(plain.deviations(plain.edges, weights[None, :])[0]),
            n=n,
        )

    @property
    def errors(self) -> tuple[float, float, float]:
        """The three errors: of the cdf, of a value, of the mean."""
        return self.cdf, self.value, self.mean

    def __str__(self) -> str:
        return (
            f"Noise for privacy, root mean square: {self.cdf:.2g} in the share at or below a value "
            f"({self.cdf * self.n:.3g} of {self.n} records), {self.value:.2g} in that of one value, "
            f"{self.mean:.3g} in the mean."
        )


@dataclass(frozen=True, eq=False, repr=False)
class ColumnRelease(Release, Distributed):
    """Noisy counts of all values of a column, from which anyone may read shares, quantiles, means, draws.

    Records are counted at the values themselves and along a tree above them, so nothing between the
    values is smoothed: heaps, spikes and gaps stay what they are.  `release(x)` is the share of the
    records at the value nearest to x, for each unit of the column.
    """

    domain: Box
    step: float  # from one value to the next; the bounds are values
    noise: CountLaw
    levels: int  # of the tree
    nodes: Ints  # noisy sums, level by level, as they came out
    complete: bool = field(default=False, kw_only=True)  # every record is known to have a value

    kind = "column"

    def __post_init__(self) -> None:
        if self.domain.dimension != 1:
            raise ValueError("a counted column is one column")
        tree = self._tree
        fixed = np.array(self.nodes, dtype=np.int64)
        fixed.setflags(write=False)
        object.__setattr__(self, "nodes", fixed)
        if fixed.shape != (tree.size,):
            raise ValueError(f"nodes must be {tree.size} counts, got shape {fixed.shape}")

    @cached_property
    def values(self) -> Floats:
        """The values that were counted, rising; dates as days since 1970-01-01."""
        return lattice(self.domain, self.step)

    @property
    def _tree(self) -> Tree:
        return Tree(len(self.values) + (not self.complete), self.levels)

    @cached_property
    def law(self) -> TreeCdf:
        """The distribution function of the column, and its noise."""
        return TreeCdf(self.values, self.step, self._tree, self.nodes, self.noise, self.privacy.n)

    @property
    def whole(self) -> bool:
        """Whether the values are integers."""
        return (
            not self.domain.dates
            and self.step == round(self.step)
            and self.values[0] == round(self.values[0])
        )

    @cached_property
    def shares(self) -> Floats:
        """The share of records at each value: none is negative, and they add up to one."""
        found = np.diff(self.law.fitted)
        found.setflags(write=False)
        return found

    @property
    def share_of_values(self) -> float:
        """The estimated share of records that have a value."""
        return self.law.total / self.privacy.n

    def __call__(self, x: object) -> Floats:
        """The share of records at the value nearest to each point, for each unit of the column."""
        points, shape = self._codes(x)
        return (self.shares[self._place(points)] / self.step).reshape(shape)

    def band(self, x: object, level: float = 0.95, *, simultaneous: bool = True) -> Band:
        """The ends of an interval for each of the same numbers, for the noise alone.

        With `simultaneous=True` (default) those of all values hold together with this probability.
        """
        check_level(level)
        points, shape = self._codes(x)
        each = 1 - (1 - level) / len(self.values) if simultaneous else level
        width = self.law.value_widths(each)
        raw = np.diff(self.law.raw)
        lower = np.clip(np.minimum(self.shares, raw - width), 0.0, 1.0) / self.step
        upper = np.clip(np.maximum(self.shares, raw + width), 0.0, 1.0) / self.step
        place = self._place(points)
        return Band(lower[place].reshape(shape), upper[place].reshape(shape), level)

    def integral(self, lower: object = None, upper: object = None) -> float:
        """The share of records from `lower` to `upper`, both included; `share` has its interval."""
        return self.share(lower, upper).estimate

    def sample(
        self, size: int, *, rng: int | np.random.Generator | None = None, independent: bool = False
    ) -> Floats | Ints:
        """Synthetic records: free, and as private as the release.

        They are spread evenly over the law, in random order, so that any share of them is the law's
        to one in `size`; `independent=True` draws each by itself, which adds an error of its own.
        """
        drawn = self.law.draws(size, rng, independent=independent)
        return drawn.astype(np.int64) if self.whole else drawn

    @cached_property
    def accuracy(self) -> ColumnAccuracy:
        """Expected error due to privacy."""
        return ColumnAccuracy.of(self.domain, self.step, self._tree, self.noise, self.privacy.n)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "domain": self.domain.to_dict(),
            "step": self.step,
            "levels": self.levels,
            "nodes": self.nodes.tolist(),
            "complete": self.complete,
            "noise": self.noise.to_dict(),
            "privacy": self.privacy.to_dict(),
        }

    @classmethod
    def from_fields(cls, top: Fields) -> Self:
        step = top.get("step", float)
        return cls(
            domain=Box.from_fields(top.part("domain")),
            step=step,
            privacy=Statement.from_fields(top.part("privacy")),
            noise=count_law_from_dict(top.get("noise", dict)),
            levels=top.get("levels", int),
            nodes=whole_numbers(top.get("nodes", list), "nodes"),
            complete=top.get("complete", bool),
        )

    def _codes(self, x: object) -> tuple[Floats, tuple[int, ...]]:
        points = self.domain.points(x)[:, 0]
        near = self.values[self._place(points)]  # 0.69 may be 69 steps of 0.01 but for rounding
        return np.where(np.abs(points - near) < 1e-6 * self.step, near, points), self.domain.shape(x)

    def _place(self, points: Floats) -> Ints:
        place = np.rint((points - self.values[0]) / self.step).astype(np.int64)
        return np.clip(place, 0, len(self.values) - 1)


def lattice(domain: Box, step: float) -> Floats:
    """The values from the lower bound to the upper, a step apart; ValueError unless both are values."""
    low, high = domain.bounds[0]
    name = domain.names[0]
    count = (high - low) / step if step > 0 else math.nan
    if not count <= MOST_VALUES - 1:
        raise ValueError(
            f"step must be above 0 and leave at most {MOST_VALUES} values between the bounds, got {step:g} "
            f"for {name} in [{low:g}, {high:g}]; use a larger one, or none for a column of any numbers"
        )
    if abs(count - round(count)) > 1e-6:
        raise ValueError(
            f"bounds must be a whole number of steps apart, got {name} in [{low:g}, {high:g}] and "
            f"step = {step:g}; end them at {low + step * math.ceil(count):.12g}, use another step, "
            "or none for a column of any numbers"
        )
    return low + step * np.arange(round(count) + 1, dtype=np.float64)


def _some(count: int) -> Ints:
    """Places of some of so many values, spread evenly."""
    return np.unique(np.linspace(0, count - 1, _LOOKED).astype(np.int64))
