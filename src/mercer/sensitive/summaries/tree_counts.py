"""Counts of the values of one column, summed up along a tree.  Left of the door.  M20, M16, M18."""

from __future__ import annotations

import numpy as np

from mercer.common.checks import Ints
from mercer.promise.events import Norm, Sensitivity
from mercer.promise.statement import rows_words
from mercer.sensitive.base import Summary
from mercer.sensitive.summaries.cell_counts import CellTally, moved_counts
from mercer.spaces.trees import Tree

__all__ = ["TreeCounts"]


class TreeCounts(Summary[Ints]):
    """Counts of all nodes of a tree over the cells of one column.

    The last leaf is of the records without a value, unless all are known to have one: so every
    record is in one leaf, and the sum of all leaves is n.
    """

    name = "counts"

    def __init__(self, tally: CellTally, tree: Tree, *, n: int, unit: str) -> None:
        self._tally, self._tree, self.n, self.unit = tally, tree, n, unit
        if tree.leaves not in (tally.axes.cells, tally.axes.cells + 1):
            raise ValueError("a tree needs a leaf for each cell, and at most one more")

    @property
    def size(self) -> int:
        return self._tree.size

    @property
    def note(self) -> str:
        words = rows_words(self.unit, 1)
        return f", on {self._tree.levels} level(s) of a tree" + (f"; {words}" if words else "")

    @property
    def parameters(self) -> tuple[int, int]:
        return (self._tree.leaves, self._tree.levels)

    def sensitivity(self, norm: Norm) -> Sensitivity:
        return self.bound_of(self._tree, norm)

    @staticmethod
    def bound_of(tree: Tree, norm: Norm) -> Sensitivity:
        """On each level a replaced record leaves one node and enters another: public."""
        return moved_counts(2 * tree.levels, 1, norm)

    def coordinates(self) -> Ints:
        cells = self._tally.dense()
        if self._tree.leaves > len(cells):
            cells = np.append(cells, self.n - int(cells.sum()))
        return self._tree.sums(cells)
