"""Cells of the unit cube, and finer nodes inside them: places where a public function is looked up.

A row's cell and node are floors of single products, so they depend on the row alone: not on the rows
beside it, nor on the machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mercer.common.checks import Floats, Ints

__all__ = ["MOST_MESH", "CellMesh"]

MOST_MESH = 3  # columns of a mesh


@dataclass(frozen=True)
class CellMesh:
    """`cells[j]` equal cells along column j, and `fine` nodes along each side of a cell."""

    cells: tuple[int, ...]
    fine: int = 1

    def __post_init__(self) -> None:
        whole = all(isinstance(k, int) and not isinstance(k, bool) for k in (*self.cells, self.fine))
        if not whole or not 1 <= len(self.cells) <= MOST_MESH or min(*self.cells, self.fine) < 1:
            raise ValueError("a mesh has whole numbers of cells along one to three columns")
        if math.prod(self.cells) * self.fine ** len(self.cells) > 1 << 24:
            raise ValueError("a mesh has at most 2^24 nodes")

    @property
    def count(self) -> int:
        """The number of cells."""
        return math.prod(self.cells)

    @property
    def sides(self) -> tuple[int, ...]:
        """The number of nodes along each column."""
        return tuple(k * self.fine for k in self.cells)

    def finer(self, fine: int) -> CellMesh:
        """The same cells with so many nodes along each side."""
        return CellMesh(self.cells, fine)

    def nodes(self) -> Floats:
        """All nodes as rows of the unit cube: the middles of equal parts, the last column fastest."""
        ticks = [(np.arange(side) + 0.5) / side for side in self.sides]
        return np.stack(np.meshgrid(*ticks, indexing="ij"), -1).reshape(-1, len(self.cells))

    def cell_of_node(self) -> Ints:
        """The cell of each node, in the order of `nodes`."""
        each = [np.arange(side) // self.fine for side in self.sides]
        places = np.stack(np.meshgrid(*each, indexing="ij"), -1).reshape(-1, len(self.cells))
        return np.asarray(np.ravel_multi_index(tuple(places.T), self.cells), dtype=np.int64)

    def node_of(self, unit: Floats) -> Ints:
        """The node nearest to each row of the unit cube."""
        sides = np.array(self.sides)
        places = np.clip((unit * sides).astype(np.int64), 0, sides - 1)
        return np.asarray(np.ravel_multi_index(tuple(places.T), self.sides), dtype=np.int64)
