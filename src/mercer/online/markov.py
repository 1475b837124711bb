"""Live paths of the exponential and Matern kernels on a line.  M7; Hall 2013, Sec. 5.

The states at the nodes of a fine public grid are released once, at the door.  f_D, projected on
these nodes, is known between them once it is known at them, so what the path still lacks there
is noise alone: it is drawn from public randomness when it is first asked for, between the nearest
known points (knots) on both sides (docs/proofs/live.md).  No record is needed any more.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from functools import cached_property

import numpy as np

from mercer.common import streams
from mercer.common.checks import Bools, Floats
from mercer.online.base import DensityLive
from mercer.online.store import Knot, LiveError, LiveStore, Pen, Record
from mercer.releases.density.release import DensityRelease
from mercer.releases.density.smoothing import BasisAccuracy
from mercer.releases.function import Band
from mercer.spaces.bases import Grid
from mercer.spaces.bridges import DETERMINED, bridge_point, fill
from mercer.spaces.kernels import MaternKernel

__all__ = ["MarkovLive"]


class MarkovLive(DensityLive):
    """Bridges between released states.  Question number i takes time of order log i."""

    route = "markov"
    _single = True

    def __init__(self, store: LiveStore, record: Record, release: DensityRelease) -> None:
        super().__init__(store, record, release)
        self._error = float(record.fields["error"]) / release.domain.volume
        if not isinstance(release.basis, Grid) or release.domain.dimension != 1:
            raise LiveError(f"live release {record.name!r} does not stand on a grid of one column")
        self._kernel: MaternKernel = release.basis.kernel
        self._width = float(release.domain.widths[0])
        self._sigma = float(release.noise.deviations(release.basis.size)[0])
        self._normals = _Normals(self._kernel.states, self._sigma)
        self._scale = 1 / release.domain.volume  # f_D as it is: no mass is divided out

    def follow(self, seed: int) -> None:
        """Draw reproducibly in this process, for a caller who gave a seed."""
        self._normals = _Normals(self._kernel.states, self._sigma, seed)

    @cached_property
    def _nodes(self) -> tuple[list[float], list[list[float]], tuple[Floats, Floats]]:
        """Nodes of the public grid, in the domain, and the released states: as lists and as arrays."""
        basis = self.release.basis
        assert isinstance(basis, Grid)
        side = basis.sides[0]
        place = self.domain.from_unit(np.linspace(0, 1, side)[:, None])[:, 0]
        states = basis.states(self.release.coordinates).reshape(side, -1)
        return place.tolist(), states.tolist(), (place, states)

    @property
    def accuracy(self) -> BasisAccuracy:
        spread = self._sigma * self._scale
        return BasisAccuracy(
            integrated=spread**2 * self.domain.volume,
            pointwise=spread,
            coordinates=self.release.basis.size,
            truncation=self._error**2 * self.domain.volume,
            resolution=self.release.basis.resolution,
        )

    def standard_error(self, points: object) -> Floats:
        return np.full(self.domain.shape(points), self._sigma * self._scale)

    def band(self, points: object, level: float = 0.95) -> Band:
        noise = super().band(points, level)
        return Band(noise.lower - self._error, noise.upper + self._error, level)

    def _answer(self, rows: Floats) -> Floats:
        with self._store.reading(self.name) as pen:
            known, values = pen.find(rows)
        if not np.all(known):
            _ = self._nodes  # computed while nobody waits for the write lock
            with self._store.writing(self.name) as pen:
                values[~known] = self._draw(pen, rows[~known])
        return values * self._scale

    def _answer_one(self, x: float) -> float:
        with self._store.reading(self.name) as pen:
            value = pen.look(x)
        if value is None:
            _ = self._nodes  # computed while nobody waits for the write lock
            with self._store.writing(self.name) as pen:
                value = pen.look(x)
                if value is None:
                    state, knot = self._between_one(pen, x)
                    pen.add_one(x, state, knot)
                    value = state[0]
        return value * self._scale

    def _draw(self, pen: Pen, rows: Floats) -> Floats:
        """Answers at points that were new a moment ago; somebody else may have been quicker."""
        known, values = pen.find(rows)
        new = rows[~known]
        if len(new):
            states, knots = self._between(pen, new[:, 0])
            pen.add(new, states, knots)
            values[~known] = states[:, 0]
        return values

    def _between_one(self, pen: Pen, x: float) -> tuple[list[float], bool]:
        nodes, at_nodes, _ = self._nodes
        cell = min(max(bisect_right(nodes, x) - 1, 0), len(nodes) - 2)
        left: Knot = (nodes[cell], at_nodes[cell])
        right: Knot = (nodes[cell + 1], at_nodes[cell + 1])
        known = pen.beside(x)
        if known[0] is not None and known[0][0] > left[0]:
            left = known[0]
        if known[1] is not None and known[1][0] < right[0]:
            right = known[1]
        width, p = self._width, self._kernel.states
        state, variance = bridge_point(
            self._kernel,
            (x - left[0]) / width,
            (right[0] - x) / width,
            left[1][:p],
            right[1][:p],
            self._normals.one(),
        )
        return state, variance > DETERMINED

    def _between(self, pen: Pen, x: Floats) -> tuple[Floats, Bools]:
        nodes, at_nodes = self._nodes[2]
        p = self._kernel.states
        cell = np.clip(np.searchsorted(nodes, x, side="right") - 1, 0, len(nodes) - 2)
        known = pen.around(x)
        ends, states = [], []
        for place, state, node, nearer in (
            (known.left, known.left_states, cell, np.greater),
            (known.right, known.right_states, cell + 1, np.less),
        ):
            use = nearer(place, nodes[node])  # False where there is no knot
            ends.append(np.where(use, place, nodes[node]))
            states.append(np.where(use[:, None], state[:, :p], at_nodes[node]))
        width, low = self._width, float(self.domain.lower[0])
        unit = [np.maximum((end - low) / width, 0.0) for end in ends]
        return fill(
            self._kernel, (x - low) / width, (unit[0], unit[1]), (states[0], states[1]), self._normals
        )


class _Normals:
    """Public standard normals times sigma; a forked process gets a stream of its own."""

    _AHEAD = 64  # drawn at once for questions of one point

    def __init__(self, states: int, sigma: float, seed: int | None = None) -> None:
        self._states, self._sigma = states, sigma
        self._start(seed)

    def _start(self, seed: int | None) -> None:
        self._rng, self._process = streams.fresh(seed), os.getpid()
        self._ahead: list[list[float]] = []

    def __call__(self, count: int) -> Floats:
        if os.getpid() != self._process:
            self._start(None)
        return self._sigma * self._rng.standard_normal((count, self._states))

    def one(self) -> list[float]:
        """The normals for the state at one point."""
        if not self._ahead or os.getpid() != self._process:
            self._ahead = self(self._AHEAD).tolist()
        return self._ahead.pop()
