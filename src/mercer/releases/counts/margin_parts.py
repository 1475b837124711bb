"""Margins of a table taken apart into uncorrelated components.  Right of the door.

A table over the columns of S is a sum over subsets T of S: along each column it is either its
mean (columns outside T) or what is left of it (columns in T).  The T-component of the T-margin
follows from every released margin S that contains T, and from it alone; all is in
docs/proofs/margins.md.  No joint table is ever built.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import TypeAlias

import numpy as np

from mercer.common.checks import Floats, Ints

__all__ = ["MOST_CELLS", "Parts", "Subset", "apart", "subsets", "together"]

Subset: TypeAlias = tuple[int, ...]

MOST_CELLS = 1 << 24  # of all margins together; 50 bytes each while a fit is kept


@dataclass(frozen=True, eq=False)
class _Block:
    """Margins of one shape, which are worked on together."""

    shape: tuple[int, ...]
    members: tuple[int, ...]  # indices into the sets
    cells: slice  # of the flat vector

    def of(self, flat: Floats) -> Floats:
        """Its part of a flat vector: one margin for each first index.  A view."""
        return flat[self.cells].reshape(len(self.members), *self.shape)


@dataclass(frozen=True, eq=False)
class Parts:
    """Where the components of a family of margins lie, and how they are weighed.

    A flat vector has the cells of all margins, a vector of components one block for each subset
    T of a released set, of prod(size - 1 for columns in T) numbers; the first is the total.
    """

    blocks: tuple[_Block, ...]
    place: Ints  # of the component that a cell becomes when its margin is taken apart
    share: Floats  # of a margin in the mean of that component: they add up to one
    starts: dict[Subset, int]  # where each component begins
    precision: dict[Subset, float]  # of each component: one over the variance of its noise
    inverse: Floats  # one over the variance of the noise of each cell
    width: int  # how many numbers all components have

    @classmethod
    def of(cls, sizes: Sequence[int], sets: Sequence[Subset], variances: Sequence[float]) -> Parts:
        """Weights of the best linear unbiased estimate: inverse variances (proof, section 2)."""
        precision: dict[Subset, float] = {(): 0.0}
        for chosen, noise in zip(sets, variances, strict=True):
            whole = math.prod(sizes[axis] for axis in chosen)
            for part in subsets(chosen):
                kept = math.prod(sizes[axis] for axis in part)
                precision[part] = precision.get(part, 0.0) + kept / (whole * noise)
        starts: dict[Subset, int] = {}
        width = 0
        for part in sorted(precision, key=lambda part: (len(part), part)):
            starts[part] = width
            width += math.prod(sizes[axis] - 1 for axis in part)
        blocks = _blocks(sizes, sets)
        count = blocks[-1].cells.stop
        place, share, inverse = np.empty(count, np.int64), np.empty(count), np.empty(count)
        for block in blocks:
            many = len(block.members)
            ids, weight, cells = (
                vector[block.cells].reshape(many, *block.shape) for vector in (place, share, inverse)
            )
            variance = np.array([variances[member] for member in block.members])
            cells[...] = (1 / variance).reshape(many, *[1] * len(block.shape))
            for pattern in product((False, True), repeat=len(block.shape)):
                found = [_chosen(sets[member], pattern) for member in block.members]
                inner = tuple(size - 1 for size, on in zip(block.shape, pattern, strict=True) if on)
                rest = math.prod(_chosen(block.shape, [not on for on in pattern]))
                first = np.array([starts[part] for part in found])
                column = (many, *[1] * len(inner))
                where = (slice(None), *(slice(1, None) if on else 0 for on in pattern))
                ids[where] = first.reshape(column) + np.arange(math.prod(inner)).reshape(inner)
                total = np.array([precision[part] for part in found])
                weight[where] = (1 / (variance * rest * total)).reshape(column)
        return cls(blocks, place, share, starts, precision, inverse, width)

    def flat(self, margins: Sequence[Floats]) -> Floats:
        """Cells of all margins in one vector."""
        return np.concatenate(
            [np.ravel(margins[member]) for block in self.blocks for member in block.members]
        )

    def margins(self, flat: Floats) -> tuple[Floats, ...]:
        """The margins of a flat vector, in the order of the sets.  Views."""
        found = {
            member: margin
            for block in self.blocks
            for member, margin in zip(block.members, block.of(flat), strict=True)
        }
        return tuple(np.asarray(found[member]) for member in range(len(found)))

    def components(self, flat: Floats) -> Floats:
        """The weighted mean of each component over the margins that have it."""
        weighed = np.empty_like(flat)
        for block in self.blocks:
            block.of(weighed)[...] = apart(block.of(flat))
        weighed *= self.share
        return np.bincount(self.place, weighed, self.width).astype(np.float64, copy=False)

    def cells(self, components: Floats) -> Floats:
        """The consistent margins that have these components."""
        flat = components[self.place]
        for block in self.blocks:
            block.of(flat)[...] = together(block.of(flat))
        return flat

    def weights(self, row: Floats) -> Floats:
        """Of every cell in a sum of components with these weights: `components` transposed."""
        flat = row[self.place] * self.share
        for block in self.blocks:
            block.of(flat)[...] = _turned(block.of(flat))
        return flat


def subsets(axes: Subset) -> list[Subset]:
    """All of them, the empty one first."""
    return [part for size in range(len(axes) + 1) for part in combinations(axes, size)]


def apart(margins: Floats) -> Floats:
    """Along every axis but the first: the sum, then what each cell but one is above the mean.

    The cell left out is minus the sum of the others.  Linear in the number of cells.
    """
    for axis in range(1, margins.ndim):
        total = margins.sum(axis=axis, keepdims=True)
        margins = margins - total / margins.shape[axis]
        np.moveaxis(margins, axis, 0)[0] = np.squeeze(total, axis)
    return margins


def together(components: Floats) -> Floats:
    """From components along every axis but the first back to cells: what `apart` took apart."""
    for axis in range(1, components.ndim):
        front = np.moveaxis(components, axis, 0)
        mean, rest = front[0] / len(front), front[1:]
        cells = np.empty_like(components)
        ahead = np.moveaxis(cells, axis, 0)
        ahead[0] = mean - rest.sum(axis=0)
        ahead[1:] = rest + mean
        components = cells
    return components


def _turned(weights: Floats) -> Floats:
    """The transpose of the linear map `apart`: from weights of components to weights of cells."""
    for axis in range(1, weights.ndim):
        front = np.moveaxis(weights, axis, 0)
        total, rest = front[0], front[1:]
        level = total - rest.sum(axis=0) / len(front)
        cells = np.empty_like(weights)
        ahead = np.moveaxis(cells, axis, 0)
        ahead[0] = level
        ahead[1:] = rest + level
        weights = cells
    return weights


def _blocks(sizes: Sequence[int], sets: Sequence[Subset]) -> tuple[_Block, ...]:
    groups: dict[tuple[int, ...], list[int]] = {}
    for member, chosen in enumerate(sets):
        groups.setdefault(tuple(sizes[axis] for axis in chosen), []).append(member)
    blocks, stop = [], 0
    for shape, members in groups.items():
        start, stop = stop, stop + len(members) * math.prod(shape)
        blocks.append(_Block(shape, tuple(members), slice(start, stop)))
    return tuple(blocks)


def _chosen(items: Sequence[int], pattern: Sequence[bool]) -> tuple[int, ...]:
    return tuple(item for item, on in zip(items, pattern, strict=True) if on)
