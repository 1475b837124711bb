"""The distribution function of a column whose values were counted on a tree, with its noise.  M20."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mercer.common.checks import Floats, Ints
from mercer.noise.count_laws import CountLaw
from mercer.releases.cdf import Cdf
from mercer.releases.counts.cells import noise_width
from mercer.spaces.trees import Tree

__all__ = ["TreeCdf"]

_BLOCK = 1 << 22  # weights held at once


@dataclass(frozen=True, eq=False)
class TreeCdf(Cdf):
    """Shares of the records at or below each value; records stand at the values."""

    values: Floats  # rising, of the leaves; one leaf more is of the records without a value
    step: float
    tree: Tree
    nodes: Ints  # noisy sums
    noise: CountLaw
    n: int

    steps = True

    @cached_property
    def edges(self) -> Floats:
        return np.concatenate([[self.values[0] - self.step], self.values])

    @cached_property
    def leaves(self) -> Floats:
        """Estimated counts of all leaves: unbiased, and they add up to n."""
        return self.tree.fit(self.nodes.astype(np.float64), float(self.n))

    @property
    def complete(self) -> bool:
        """Whether every record is known to have a value."""
        return self.tree.leaves == len(self.values)

    @cached_property
    def total(self) -> float:
        """The estimated number of records with a value."""
        if self.complete:
            return float(self.n)
        return min(max(float(np.sum(self.leaves[:-1])), 0.05 * self.n), float(self.n))

    @cached_property
    def raw(self) -> Floats:
        found = np.concatenate([[0.0], np.cumsum(self.leaves[: len(self.values)]) / self.total])
        found[-1] = 1.0
        return found

    def deviations(self, points: Floats, weights: Floats | None) -> Floats:
        return np.concatenate(
            [self.noise.deviation * np.sqrt(np.sum(part**2, axis=1)) for part in self._parts(points, weights)]
        )

    def half_widths(self, points: Floats, weights: Floats | None, level: float) -> Floats:
        return np.array(
            [_width(self.noise, row, level) for part in self._parts(points, weights) for row in part]
        )

    def value_widths(self, level: float) -> Floats:
        """The half widths of intervals for the shares of single values, from some: they hardly differ."""
        places = np.unique(np.linspace(0, len(self.values) - 1, 257).astype(np.int64))
        width = [_width(self.noise, row, level) for part in self._single(places) for row in part]
        return np.interp(np.arange(len(self.values)), places, width)

    def value_deviations(self, places: Ints) -> Floats:
        """Standard deviations of the noise of the shares of single values."""
        found = [np.sqrt(np.sum(part**2, axis=1)) for part in self._single(places)]
        return self.noise.deviation * np.concatenate(found)

    def _single(self, places: Ints) -> Iterator[Floats]:
        for start in range(0, len(places), self._rows_at_once):
            some = places[start : start + self._rows_at_once]
            rows = np.zeros((len(some), self.tree.leaves))
            rows[np.arange(len(some)), some] = 1.0
            yield self._of_leaves(rows)

    @property
    def _rows_at_once(self) -> int:
        return max(1, _BLOCK // self.tree.size)

    def _parts(self, points: Floats, weights: Floats | None) -> list[Floats]:
        """What each node's noise is multiplied by in sums of the raw function at points, a few at a time."""
        below = np.clip(np.searchsorted(self.edges, points, side="right") - 1, 0, len(self.values))
        rows = np.eye(len(below)) if weights is None else weights
        parts = []
        for start in range(0, len(rows), self._rows_at_once):
            some = rows[start : start + self._rows_at_once]
            reached = np.zeros((len(some), len(self.values) + 1))
            np.add.at(reached.T, below, some.T)
            reached[:, -1] = 0.0  # the share of all values is one, without noise
            leaves = np.cumsum(reached[:, ::-1], axis=1)[:, ::-1][:, 1:]
            given = np.zeros((len(some), self.tree.leaves))
            given[:, : len(self.values)] = leaves
            parts.append(self._of_leaves(given))
        return parts

    def _of_leaves(self, weights: Floats) -> Floats:
        """The same from weights of the leaves' shares of all values, whose number has noise as well."""
        if not self.complete:
            count = len(self.values)
            mean = weights[:, :count] @ (self.leaves[:count] / self.total)
            weights = weights.copy()
            weights[:, :count] -= mean[:, None]
        return self.tree.node_weights(weights) / self.total


def _width(noise: CountLaw, row: Floats, level: float) -> float:
    """Half an interval for a weighted sum of noise."""
    most = float(np.max(np.abs(row), initial=0.0))
    share = np.abs(row) / most if most else row
    share = share[share > 1e-6]  # what is left out has less than a millionth of the largest weight
    return most * noise_width(noise, share, level) if share.size else 0.0
