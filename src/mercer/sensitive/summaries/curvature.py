"""How much the records curve the objectives of released machines, cell by cell.  Left of the door.

M21.  Noise in an objective moves the minimum by the inverse of its second derivative, which is a sum
over the rows of loss''(y, f(x)) phi phi'.  What of it matters is how much of loss'' there is in each
cell of a public mesh: a histogram, given the weights that were released.  docs/proofs/machines.md, 7.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.common.checks import Floats, Ints
from mercer.promise.events import Norm, Sensitivity
from mercer.sensitive.base import Summary
from mercer.sensitive.summaries.risk import ExampleBatch, Examples, Machine
from mercer.spaces.meshes import CellMesh

__all__ = ["CurvatureCells", "curvature_bound"]


def curvature_bound(machines: Sequence[Machine]) -> Sensitivity:
    """How far one row moves all cells: from one cell of each function to another, in whole steps."""
    return Sensitivity(2.0 * sum(machine.loss.steps for machine in machines), norm="l1")


class CurvatureCells(Summary[Ints]):
    """Sums of loss'' over the rows of each cell, one function after the other, in whole steps.

    Each row counts with between 0 and `loss.steps` in one cell.  Functions are looked up at the node
    nearest to the row, where their values are public numbers, so what a row counts with depends on
    the row and on what was released, to the last bit: no other row can move it.
    """

    name = "curvature"

    def __init__(
        self,
        examples: Examples,
        machines: Sequence[Machine],
        mesh: CellMesh,
        values: Floats,
        *,
        n: int,
        unit: str,
    ) -> None:
        """`values` are those of the released functions at the nodes of the mesh: (functions, nodes)."""
        if values.shape != (len(machines), len(mesh.cell_of_node())):
            raise ValueError("values must be those of each function at each node")
        self._examples, self._machines, self._mesh, self._values = examples, tuple(machines), mesh, values
        self.n, self.unit = n, unit

    @property
    def size(self) -> int:
        return len(self._machines) * self._mesh.count

    def sensitivity(self, norm: Norm) -> Sensitivity:
        bound = curvature_bound(self._machines)
        if norm != bound.norm:
            raise ValueError(f"counts of curvature have no bound in the norm {norm!r}")
        return bound

    def coordinates(self) -> Ints:
        mesh, cell_of = self._mesh, self._mesh.cell_of_node()

        def work(piece: ExampleBatch) -> Ints:
            node, there = mesh.node_of(piece.phi), piece.weight > 0
            cell = cell_of[node]
            found = np.zeros((len(self._machines), mesh.count), dtype=np.int64)
            for k, machine in enumerate(self._machines):
                loss, target = machine.loss, machine.target(piece.target)
                curve = loss.jet(self._values[k][node], target).curve / loss.curvature
                steps = np.clip(np.rint(curve * loss.steps), 0, loss.steps) * there
                # whole numbers below 2^53: sums of doubles are exact
                found[k] = np.bincount(cell, weights=steps, minlength=mesh.count).astype(np.int64)
            return found

        total = np.zeros((len(self._machines), mesh.count), dtype=np.int64)
        for part in self._examples.fold_points(work):
            total += part
        return total.reshape(-1)
