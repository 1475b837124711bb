"""The Markov form of rough kernels on an even grid: time linear in its points.  M2, M7.

Coordinates are the whitened states of the function at the grid points, along one axis after
the other: exactly Hall's batch release f_D + sigma Delta G at those points, and the kernel's own
interpolation between them.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mercer.common.checks import Floats, Ints
from mercer.spaces.bases.base import (
    UNIT_ROUNDOFF,
    Basis,
    Features,
    kernel_from_dict,
    kernel_to_dict,
    nodes_for,
)
from mercer.spaces.kernels import Kernel, MaternKernel, norms
from mercer.spaces.markov import derivative_row, innovation, state_of, transition, unwhiten, whiten, whitener

__all__ = ["Grid"]

_MOST_COORDINATES = 1 << 18
_TABLE = 1 << 17  # entries of a table of feature vectors worked on at once: a cache holds them


@dataclass(frozen=True)
class Grid(Basis):
    """States of an exponential or Matern path at `sides` points along each coordinate."""

    kernel: MaternKernel
    sides: tuple[int, ...]

    name = "grid"

    @classmethod
    def spanning(cls, kernel: Kernel, size: int) -> Grid:
        """A grid of about `size` points in all dimensions together."""
        if not isinstance(kernel, MaternKernel) or not kernel.diagonal:
            raise ValueError(
                "basis='grid' needs kernel='exponential', 'matern32' or 'matern52', which have a "
                "Markov form, and a bandwidth that is a number or one number a column"
            )
        side = max(2, round(size ** (1 / kernel.dimension)))
        return cls(kernel, (side,) * kernel.dimension)

    @property
    def size(self) -> int:
        return math.prod(side * self.kernel.states for side in self.sides)

    @cached_property
    def deficit(self) -> float:
        worst = 1.0  # half-way between two points of every axis
        for axis, side in enumerate(self.sides):
            middle = np.full((1, len(self.sides)), 0.5 / (side - 1))
            worst *= float(np.sum(self._axis_features(axis, middle[:, axis], 0) ** 2))
        return max(1 - worst, 0.0)

    def features(self, x: Floats, orders: tuple[int, ...] | None = None) -> Floats:
        out = np.ones((len(x), 1))
        for axis in range(len(self.sides)):
            part = self._axis_features(axis, x[:, axis], 0 if orders is None else orders[axis])
            out = (out[:, :, None] * part[:, None, :]).reshape(len(x), -1)
        return out

    def evaluate(self, x: Floats, coordinates: Floats, orders: tuple[int, ...] | None = None) -> Floats:
        states, d, p = self.states(coordinates), len(self.sides), self.kernel.states
        places = [self._bridge(axis, x[:, axis], 0 if orders is None else orders[axis]) for axis in range(d)]
        value = np.zeros(len(x))
        for corner in itertools.product(range(2 * p), repeat=d):
            weight, index = np.ones(len(x)), []
            for (left, weights), j in zip(places, corner, strict=True):
                weight = weight * weights[:, j]
                index.append(left * p + j)  # states of the two neighbours lie side by side
            value += weight * states[tuple(index)]
        return value

    def row_features(self, smoother: Kernel) -> Features:
        if not smoother.diagonal:
            raise ValueError("bandwidth must be a number or one number a column with this kernel")
        bound = norms(smoother, self.kernel)
        shape = nodes_for(smoother.lengths)
        rounding, blur, p = 0.0, 0.0, self.kernel.states
        for axis, (side, nodes) in enumerate(zip(self.sides, shape, strict=True)):
            rounding += 2 * UNIT_ROUNDOFF * nodes * math.sqrt(side * p)
            # what is computed for a node may be that much off, and is what counts
            blur += self._blur(smoother, axis, bound.axes[axis])

        def project(weights: Floats) -> Floats:
            for axis, top in enumerate(bound.axes):  # contracts the first axis, appends its own
                weights = self._contract(smoother, axis, top, weights)
            return weights.reshape(-1)

        return Features(
            shape=shape,
            project=project,
            norm=bound.norm * (1 + 1e-9),
            diameter=bound.diameter * (1 + 1e-9) + 2 * blur * bound.norm,
            rounding=rounding * math.sqrt(self.size) * bound.norm,
        )

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "kernel": kernel_to_dict(self.kernel), "sides": list(self.sides)}

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Grid:
        kernel, sides = kernel_from_dict(fields.get("kernel")), fields.get("sides")
        if not isinstance(kernel, MaternKernel) or not kernel.diagonal:
            raise ValueError("a grid basis needs an exponential or Matern kernel, axis by axis")
        if not isinstance(sides, list) or len(sides) != kernel.dimension:
            raise ValueError("basis sides must be one whole number a column")
        if any(isinstance(s, bool) or not isinstance(s, int) or s < 2 for s in sides):
            raise ValueError("basis sides must be whole numbers of at least 2")
        if math.prod(sides) * kernel.states ** len(sides) > _MOST_COORDINATES:
            raise ValueError(f"a grid basis may have at most {_MOST_COORDINATES} coordinates")
        return cls(kernel, tuple(sides))

    def mean_deviation(self) -> float:
        """The standard deviation for a path of this kernel; states at the nodes nearly determine it."""
        r = (np.arange(1 << 12) + 0.5) / (1 << 12)
        sides = [2 * np.mean((1 - r) * self.kernel.profile(r, i)) for i in range(len(self.sides))]
        return math.sqrt(math.prod(map(float, sides)))

    def interpolation(self, smoother: Kernel) -> float:
        """On one column, how far a row's s(. - g) is from its projection, at most: public.

        Between two nodes the projection is the kernel's interpolation of the states at them.  The
        difference is computed at a quarter, a half and three quarters of the gap, for rows at all
        distances.
        """
        gap, width, p = self._gap(0), float(smoother.lengths[0]), self.kernel.states
        reach = 40 * width if isinstance(smoother, MaternKernel) else 10 * width
        nodes = nodes_for(smoother.lengths)[0] - 1
        places = np.arange(math.ceil(min(reach, 1.0) * nodes) + 1) / nodes  # where rows can stand
        scale, worst = 1 / float(smoother.spectrum(np.zeros(1), 0)[0]), 0.0
        for share in (0.25, 0.5, 0.75):
            weights = self._bridge(0, np.array([share * gap]), 0)[1][0]
            at = np.concatenate([places, -places])  # of the left node, from the row
            value = smoother.profile(at + share * gap, 0) * scale
            for end, part in ((0.0, weights[:p]), (gap, weights[p:])):
                slopes = np.stack([smoother.profile(at + end, 0, k) * scale for k in range(p)])
                value = value - part @ state_of(self.kernel, slopes)
            worst = max(worst, float(np.max(np.abs(value))))
        return worst

    def _blur(self, smoother: Kernel, axis: int, norm: float) -> float:
        """How far rounding moves a row's whitened states along an axis, as a share of `norm`.

        Whitening divides by innovations as small as (rate gap)^(p - 1/2), and so multiplies the
        rounding of states; its own matrix is known up to its condition.  docs/proofs/density.md.
        """
        kernel, gap, p = self.kernel, self._gap(axis), self.kernel.states
        top, wave = 1 / float(smoother.spectrum(np.zeros(1), axis)[0]), 0.0
        if isinstance(smoother, MaternKernel):
            wave = smoother.rate(axis)
        else:  # Hermite polynomials have terms of both signs
            top, wave = 3 * top, 1 / float(smoother.lengths[axis])
        sizes = top * (kernel.rate(axis) + wave) ** np.arange(p)  # of states, term by term
        drift = transition(kernel, gap, axis) * (1 + kernel.rate(axis) * gap)
        (first, off), (later, more) = (whitener(kernel, g, axis) for g in (math.inf, gap))
        ends = float(np.linalg.norm(np.abs(first) @ sizes))
        each = float(np.linalg.norm(np.abs(later) @ (sizes + drift @ sizes)))
        worst = math.hypot(ends, math.sqrt(self.sides[axis] - 1) * each)
        return UNIT_ROUNDOFF * (70 + 3 * wave) * worst / norm + max(off, more)

    def _gap(self, axis: int) -> float:
        return 1 / (self.sides[axis] - 1)

    def states(self, coordinates: Floats) -> Floats:
        """Values and further states on the grid: shape (side * p, ...)."""
        p = self.kernel.states
        value = coordinates.reshape([side * p for side in self.sides])
        for axis, side in enumerate(self.sides):
            lead = np.moveaxis(value, axis, 0)
            split = lead.reshape(side, p, *lead.shape[1:])
            split = unwhiten(self.kernel, split, self._gap(axis), axis)
            value = np.moveaxis(split.reshape(lead.shape), 0, axis)
        return value

    def _contract(self, smoother: Kernel, axis: int, top: float, weights: Floats) -> Floats:
        """Sum over the nodes of one axis of weight times node vector, clipped to norm `top`."""
        side, p, reach = self.sides[axis], self.kernel.states, _reach(smoother, axis)
        nodes, total = np.linspace(0, 1, len(weights)), np.zeros((*weights.shape[1:], side * p))
        block = max(1, int(_TABLE / (side * p * min(1.0, 2 * reach))))
        for start in range(0, len(nodes), block):
            part = nodes[start : start + block]
            low = max(0, math.floor((part[0] - reach) * (side - 1)) - 1)
            high = min(side, math.ceil((part[-1] + reach) * (side - 1)) + 2)
            vectors = self._axis_rows(smoother, axis, part, slice(low, high))
            length = np.sqrt(np.sum(vectors**2, axis=0))
            vectors *= np.minimum(1.0, top / np.maximum(length, top / 2))
            some = weights[start : start + block]
            total[..., low * p : high * p] += np.tensordot(some, vectors, axes=(0, 1))
        return total

    def _axis_rows(self, smoother: Kernel, axis: int, nodes: Floats, part: slice) -> Floats:
        """Whitened states of s(. - g) along a part of one axis, g the nodes: (part * p, nodes).

        The states are zero at the part's ends, or these are ends of the axis.
        """
        z, p = np.linspace(0, 1, self.sides[axis])[part], self.kernel.states
        gap = z[:, None] - nodes[None, :]
        scale = 1 / float(smoother.spectrum(np.zeros(1), axis)[0])
        slopes = np.stack([smoother.profile(gap, axis, k) * scale for k in range(p)])
        states = np.moveaxis(state_of(self.kernel, slopes, axis), 0, 1)  # (side, p, nodes)
        white = whiten(self.kernel, states, self._gap(axis), axis)
        return white.reshape(-1, nodes.size)

    def _axis_features(self, axis: int, u: Floats, order: int) -> Floats:
        """The transpose of `unwhiten`, applied to each point's weights on its two neighbours.

        State k is the sum of A(k - j) times the innovation at j <= k, so coordinate j gets
        A(left - j)'r times the innovation's factor, r the weights on both neighbours brought to the left one.
        """
        kernel, gap, side, p = self.kernel, self._gap(axis), self.sides[axis], self.kernel.states
        left, weights = self._bridge(axis, u, order)
        first = np.linalg.cholesky(innovation(kernel, math.inf, axis))
        later = np.linalg.cholesky(innovation(kernel, gap, axis))
        brought = weights[:, :p] + weights[:, p:] @ transition(kernel, gap, axis)
        steps = transition(kernel, gap * np.arange(float(side)), axis)  # A of 0, 1, ... gaps
        out = np.zeros((len(u), side, p))
        for i, k in enumerate(left):
            out[i, : k + 1] = brought[i] @ steps[k::-1]
            out[i, k + 1] = weights[i, p:]
        out[:, 1:] = out[:, 1:] @ later
        out[:, 0] = out[:, 0] @ first
        return out.reshape(len(u), side * p)

    def _bridge(self, axis: int, u: Floats, order: int) -> tuple[Ints, Floats]:
        """Left neighbour of each point, and the weights of both neighbours' states."""
        kernel, gap, p = self.kernel, self._gap(axis), self.kernel.states
        row = derivative_row(kernel, order, axis)
        left = np.clip(np.floor(u / gap).astype(np.int64), 0, self.sides[axis] - 2)
        scale = gap ** (np.arange(p)[::-1] + 0.5)  # innovations of unit size, well conditioned
        whole = np.linalg.inv(innovation(kernel, gap, axis) / np.outer(scale, scale))
        whole /= np.outer(scale, scale)
        step = transition(kernel, gap, axis)
        away = np.clip(u - left * gap, 0.0, gap)
        lead = innovation(kernel, away, axis) @ transition(kernel, gap - away, axis).mT
        right = row @ (lead @ whole)
        near = row @ transition(kernel, away, axis) - right @ step
        return left, np.concatenate([near, right], axis=1)


def _reach(smoother: Kernel, axis: int) -> float:
    """Beyond this distance a profile and its derivatives are zero in doubles: e^-746 is."""
    if isinstance(smoother, MaternKernel):
        return 746 / smoother.rate(axis)
    return 39 * float(smoother.lengths[axis])
