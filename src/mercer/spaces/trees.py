"""Trees of sums over cells in order: what is counted to know one column completely.  M20.

The leaves are the cells themselves.  Each level splits what is above it as evenly as possible; the
root, the sum of all cells, is public and not a node.  Noisy sums of all nodes say more of a range of
cells than the noisy cells do, and least squares makes one estimate of each cell of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from mercer.common.checks import Floats, Ints

__all__ = ["MOST_LEVELS", "Tree"]

MOST_LEVELS = 12


@dataclass(frozen=True)
class Tree:
    """So many leaves below so many levels, of which the last is the leaves."""

    leaves: int
    levels: int

    def __post_init__(self) -> None:
        if not 1 <= self.levels <= MOST_LEVELS or self.leaves < 1 or 2 ** (self.levels - 1) > self.leaves:
            raise ValueError(
                f"a tree needs 1 to {MOST_LEVELS} levels and at least two leaves a split, got {self.leaves} "
                f"leaves below {self.levels} levels"
            )

    @cached_property
    def starts(self) -> tuple[Ints, ...]:
        """For each level, from the root's own on, where each node starts among the leaves; then their end."""
        found = [np.array([0, self.leaves])]
        for level in range(1, self.levels):
            above = found[-1]
            wanted = round(self.leaves ** (level / self.levels))
            split = max(2, round(wanted / (len(above) - 1)))
            parts = [_even(first, last, split) for first, last in pairwise(above.tolist())]
            found.append(np.concatenate([*parts, [self.leaves]]))
        found.append(np.arange(self.leaves + 1))
        return tuple(found)

    @cached_property
    def size(self) -> int:
        """How many nodes there are, leaves included and the root left out."""
        return sum(len(starts) - 1 for starts in self.starts[1:])

    def sums(self, cells: Ints) -> Ints:
        """The sums of all nodes, level by level."""
        return np.concatenate([np.add.reduceat(cells, starts[:-1]) for starts in self.starts[1:]])

    def fit(self, nodes: Floats, total: float) -> Floats:
        """Estimates of the leaves from noisy nodes of one variance, in least squares, that add up to `total`.

        Upwards each node is the mean of itself and of the sum of its children, weighed by their
        precision; downwards what a node differs from its children is shared among them.
        """
        known = self._split(np.asarray(nodes, dtype=float))
        found, spread = self._upwards(known)
        parent = np.array([total])
        for level, (value, variance) in enumerate(zip(found, spread, strict=True)):
            first, many = self._children(level)
            gap = (parent - np.add.reduceat(value, first)) / np.add.reduceat(variance, first)
            parent = value + variance * np.repeat(gap, many)
        return parent

    def node_weights(self, weights: Floats) -> Floats:
        """What each node's noise is multiplied by in sums of estimated leaves: `fit`, transposed.

        `weights` are those of the leaves: a row for each sum.
        """
        spread = self._spread
        down = np.asarray(weights, dtype=float)
        parts = []
        for level in range(self.levels - 1, -1, -1):  # through the way downwards, backwards
            first, many = self._children(level)
            shared = np.add.reduceat(down * spread[level], first, axis=1)
            shared = shared / np.add.reduceat(spread[level], first)
            parts.append(down - np.repeat(shared, many, axis=1))
            down = shared
        parts.reverse()  # of the estimates on the way upwards
        found = [np.zeros((len(weights), 0))] * self.levels
        carried = parts[0]
        for level in range(self.levels):
            own = self._own[level]
            found[level] = carried * own
            if level + 1 < self.levels:
                below = np.repeat(carried * (1 - own), self._children(level + 1)[1], axis=1)
                carried = parts[level + 1] + below
        return np.concatenate(found, axis=1)

    def _upwards(self, known: list[Floats]) -> tuple[list[Floats], list[Floats]]:
        found = list(known)
        for level in range(self.levels - 2, -1, -1):
            below = np.add.reduceat(found[level + 1], self._children(level + 1)[0])
            found[level] = self._own[level] * known[level] + (1 - self._own[level]) * below
        return found, self._spread

    @cached_property
    def _spread(self) -> list[Floats]:
        """Variances of the estimates on the way upwards, for noise of variance one."""
        found = [np.ones(0)] * self.levels
        found[-1] = np.ones(self.leaves)
        for level in range(self.levels - 2, -1, -1):
            below = np.add.reduceat(found[level + 1], self._children(level + 1)[0])
            found[level] = below / (below + 1)
        return found

    @cached_property
    def _own(self) -> list[Floats]:
        """The weight of a node's own noisy sum beside its children's."""
        found = [np.ones(0)] * self.levels
        found[-1] = np.ones(self.leaves)
        for level in range(self.levels - 2, -1, -1):
            below = np.add.reduceat(self._spread[level + 1], self._children(level + 1)[0])
            found[level] = below / (below + 1)
        return found

    def _children(self, level: int) -> tuple[Ints, Ints]:
        """Of the nodes of a level: the first below each node above, and how many."""
        first = np.searchsorted(self.starts[level + 1], self.starts[level][:-1])
        return first, np.diff(np.append(first, len(self.starts[level + 1]) - 1))

    def _split(self, nodes: Floats) -> list[Floats]:
        ends = np.cumsum([len(starts) - 1 for starts in self.starts[1:]])
        return np.split(nodes, ends[:-1])


def _even(first: int, last: int, split: int) -> Ints:
    """Where parts of a range start that are as even as possible, the longer ones first."""
    length = last - first
    split = min(split, length)
    size, longer = divmod(length, split)
    places = np.arange(split)
    return first + places * size + np.minimum(places, longer)
