"""What the noise in an objective does to the function, from noisy counts of curvature.  M21, M17.

To first order noise b in an objective moves the weights by -H^-1 b, H = sum loss'' phi phi' +
2 penalty n I.  H is rebuilt from counts of loss'' in the cells of a public mesh; smoothing them is
post-processing.  Right of the door.  docs/proofs/machines.md, 7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from mercer.common.checks import Floats, Ints
from mercer.common.files import Fields
from mercer.noise.count_laws import CountLaw, count_law_from_dict
from mercer.spaces.losses import Loss
from mercer.spaces.maps import FeatureMap
from mercer.spaces.meshes import CellMesh

__all__ = ["Curvature", "smoothed_cells"]

_CUT = {1: 4.0, 2: 9.0, 3: 4.0}  # squared standard deviations at which a sum stands out, by columns
_TINY = 1e-300
_POINTS = {1: 3, 2: 2, 3: 2}  # a side, at which phi phi' is averaged over a cell


@dataclass(frozen=True, eq=False)
class Curvature:
    """Noisy sums of loss'' in cells, and the noise that they say the effect of."""

    mesh: CellMesh
    counts: Ints  # (functions, cells), in whole steps
    steps: int  # a second derivative at its bound counts with so many
    law: CountLaw  # of the noise of a count
    slope: float  # standard deviation of a coordinate of the noise in n times the objective
    trace: float  # of penalty times a weight, for what the solver leaves
    n: int

    def __post_init__(self) -> None:
        counts = np.array(self.counts, dtype=np.int64)
        counts.setflags(write=False)
        object.__setattr__(self, "counts", counts)
        if counts.ndim != 2 or counts.shape[1] != self.mesh.count:
            raise ValueError(f"counts of curvature must be {self.mesh.count} a function")

    def mass(self, function: int) -> Floats:
        """Smoothed sums of loss'' in the cells, in units of its bound: none below 0."""
        raw = self.counts[function].reshape(self.mesh.cells) / self.steps
        return smoothed_cells(raw, self.law.deviation / self.steps).reshape(-1)

    def root(self, function: int, features: FeatureMap, loss: Loss, penalty: float) -> Floats:
        """A root of the covariance of the function's weights: sd of w'phi is |root phi|."""
        fine = self.mesh.finer(_POINTS[len(self.mesh.cells)])
        cell_of = fine.cell_of_node()
        weight = (loss.curvature * self.mass(function) * self.mesh.count / len(cell_of))[cell_of]
        hessian = 2 * penalty * self.n * np.eye(features.size)
        there, nodes = weight > 0, fine.nodes()
        for part in np.array_split(np.flatnonzero(there), max(1, len(nodes) // 4096)):
            phi = features.features(nodes[part])
            hessian += (phi * weight[part, None]).T @ phi
        values, vectors = np.linalg.eigh(hessian)
        values = np.maximum(values, 2 * penalty * self.n)
        sd = np.hypot(self.slope / values, self.trace / penalty)
        return np.asarray((vectors * sd) @ vectors.T)

    def to_dict(self) -> dict[str, Any]:
        """Fields from which a file rebuilds it."""
        return {
            "cells": list(self.mesh.cells),
            "counts": self.counts.tolist(),
            "steps": self.steps,
            "noise": self.law.to_dict(),
            "slope": self.slope,
            "trace": self.trace,
            "n": self.n,
        }

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Rebuild it; ValueError where a field is out of range."""
        counts = fields.get("counts", list)
        steps, n = fields.get("steps", int), fields.get("n", int)
        whole = all(
            isinstance(row, list) and all(isinstance(c, int) and abs(c) < 1 << 62 for c in row)
            for row in counts
        )
        if not whole or not counts or len({len(row) for row in counts}) > 1:
            raise ValueError("counts of curvature must be whole numbers, as many for each function")
        if not 1 <= steps <= 1 << 30 or n < 1:
            raise ValueError("steps and n of the curvature must be whole numbers above 0")
        return cls(
            CellMesh(tuple(fields.get("cells", list))),
            np.array(counts, dtype=np.int64),
            steps,
            count_law_from_dict(fields.get("noise", dict)),
            fields.positive("slope"),
            fields.positive("trace"),
            n,
        )


def smoothed_cells(raw: Floats, sd: float) -> Floats:
    """Sums in cells from noisy ones, of which none is below 0.

    From the whole cube down, each part is halved along all columns, and its mass goes to its
    children.  Their sums, made to agree with the parent's mass, are drawn to even shares by James and
    Stein's factor, as far as noise explains how they differ (M17); of the rest a child has a share
    only where its sum stands out from the noise.  So mass spreads evenly where nothing can be told,
    and none leaks into empty cells beside full ones.
    """
    sums = [raw]
    while sums[-1].size > 1:
        sums.append(_parents(sums[-1]))
    mass, cut = np.maximum(sums[-1], 0.0), _CUT[raw.ndim]
    for part in sums[-2::-1]:
        children = part.size // mass.size
        noise = sd * math.sqrt(raw.size / part.size)
        whole = _spread(mass, part.shape)
        sum_of = _spread(_parents(part), part.shape)
        agreed = part + (whole - sum_of) / children
        sure = np.maximum(agreed - cut * noise**2 / np.maximum(agreed, _TINY), 0) * (agreed > 0)
        total = _spread(_parents(sure), part.shape)
        share = np.where(total > 0, sure / np.maximum(total, _TINY), 1 / children)
        differ = _spread(_parents((agreed - whole / children) ** 2), part.shape)
        told = np.maximum(0.0, 1 - (children - 1) * noise**2 / np.maximum(differ, _TINY))
        mass = whole * (told * share + (1 - told) / children)
    return np.asarray(mass)


def _parents(cells: Floats) -> Floats:
    """Sums over pairs along each axis that can be halved."""
    for axis, side in enumerate(cells.shape):
        if side > 1:
            halved = (*cells.shape[:axis], side // 2, 2, *cells.shape[axis + 1 :])
            cells = cells.reshape(halved).sum(axis=axis + 1)
    return cells


def _spread(cells: Floats, shape: tuple[int, ...]) -> Floats:
    """The value of its parent for each cell of a finer shape."""
    for axis, side in enumerate(shape):
        cells = np.repeat(cells, side // cells.shape[axis], axis=axis)
    return cells
