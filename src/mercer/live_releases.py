"""Live releases: any point, any time, the same answer for ever.  Layer 5.  M7; Hall 2013, Sec. 5.

`ask` answers the released path f_D + sigma Delta G, before any repair.  Two of the three routes
stand on an ordinary release, made once at the door, and touch no record afterwards:

- coordinates: the path of a smooth kernel is its released coordinates (M2), and nothing grows;
- markov: the exponential and Matern kernels on a line.  The states at the nodes of a fine public
  grid are the release.  f_D, projected on these nodes, is known between them once it is known at
  them, so what the path still lacks there is noise alone, drawn from public randomness when it
  is first asked for (docs/proofs/live.md);

the third, `live_cholesky`, draws from f_D itself.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from mercer import entropy
from mercer.bases import Grid
from mercer.bridges import fill
from mercer.checks import Floats
from mercer.densities import DensityRelease
from mercer.domain import Domain
from mercer.kernels import MaternKernel
from mercer.live_store import LiveError, Pen, Record, Store
from mercer.release import Accuracy, Band
from mercer.statements import Statement
from mercer.storage import FORMAT, VERSION, from_dict

__all__ = ["ROUTES", "CoordinatesLive", "LiveRelease", "MarkovLive", "reopened"]

ROUTES: dict[str, type[LiveRelease]] = {}
_MOST = 10**6  # points of one question


class LiveRelease(ABC):
    """A private function that answers at points as they are asked, for ever."""

    route: ClassVar[str]
    sensitive: ClassVar[bool]  # whether the store holds what records say
    kind = "density"
    domain: Domain
    privacy: Statement

    def __init_subclass__(cls) -> None:
        if "route" in cls.__dict__:
            ROUTES[cls.route] = cls

    def __init__(self, store: Store, record: Record) -> None:
        self._store, self.name = store, record.name

    @classmethod
    @abstractmethod
    def resume(cls, store: Store, record: Record) -> LiveRelease:
        """Go on with what a store holds."""

    @property
    def store(self) -> str:
        """Where the answers are kept."""
        return self._store.where

    @property
    def count(self) -> int:
        """Points answered so far."""
        return self._store.count(self.name)

    @property
    @abstractmethod
    def accuracy(self) -> Accuracy:
        """Expected error due to privacy."""

    @abstractmethod
    def standard_error(self, points: object) -> Floats:
        """Standard deviation of the noise at each point."""

    @abstractmethod
    def _answer(self, rows: Floats) -> Floats:
        """Values at distinct increasing rows of the domain."""

    def ask(self, points: object) -> Floats:
        """The released function at these points; what was answered before is answered again.

        Raw values of the path: near zero they may be negative.
        """
        rows = self.domain.points(points)
        if len(rows) > _MOST:
            raise LiveError(f"points must be at most {_MOST} a question, got {len(rows)}")
        if not len(rows):
            return np.zeros(self.domain.shape(points))
        distinct, place = np.unique(rows + 0.0, axis=0, return_inverse=True)  # -0.0 is 0.0
        return self._answer(distinct)[place.reshape(-1)].reshape(self.domain.shape(points))

    __call__ = ask

    def band(self, points: object, level: float = 0.95) -> Band:
        """At each point, an interval that covers the same estimate without noise (M15)."""
        if not 0 < level < 1:
            raise ValueError(f"level must be in (0, 1), got {level!r}; 0.95 is usual")
        centre = self.ask(points)
        width = float(ndtri((1 + level) / 2)) * self.standard_error(points)
        return Band(centre - width, centre + width, level)

    def close(self) -> None:
        """Let go of the store; its answers stay."""
        self._store.close()

    def __enter__(self) -> LiveRelease:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        kept = "holds counts of records: sensitive" if self.sensitive else "holds no records"
        return (
            f"<{type(self).__name__} {self.name!r} of {self.domain.describe()}: "
            f"{self.privacy.short}; store {self.store!r} {kept}>"
        )


def reopened(store: Store, name: str) -> LiveRelease:
    """The live release of this name."""
    record = store.load(name)
    if record.route not in ROUTES:
        raise LiveError(
            f"live release {name!r} works by {record.route!r}, which this version does not know; "
            "upgrade mercer"
        )
    return ROUTES[record.route].resume(store, record)


class _Standing(LiveRelease):
    """Stands on a release that is kept whole in the store: no record is needed any more."""

    sensitive = False

    def __init__(self, store: Store, record: Record, release: DensityRelease) -> None:
        super().__init__(store, record)
        self.release, self.domain, self.privacy = release, release.domain, release.privacy

    @classmethod
    def start(cls, store: Store, name: str, release: DensityRelease) -> _Standing:
        """Keep a release that was just made."""
        fields = {"format": FORMAT, "version": VERSION, **release.to_dict()}
        record = Record(name, cls.route, fields)
        store.create(record)
        return cls.resume(store, record)

    @classmethod
    def resume(cls, store: Store, record: Record) -> _Standing:
        release = from_dict(record.fields)
        if not isinstance(release, DensityRelease):
            raise LiveError(f"live release {record.name!r} does not stand on a density")
        return cls(store, record, release)


class CoordinatesLive(_Standing):
    """Answers from released coordinates: nothing is drawn and nothing grows (M2)."""

    route = "coordinates"

    @property
    def count(self) -> int:
        return 0

    @property
    def accuracy(self) -> Accuracy:
        return self.release.accuracy

    def standard_error(self, points: object) -> Floats:
        return self.release.standard_error(points)

    def band(self, points: object, level: float = 0.95) -> Band:
        return self.release.band(points, level, simultaneous=False, raw=True)

    def _answer(self, rows: Floats) -> Floats:
        return self.release.raw(rows)


class MarkovLive(_Standing):
    """Bridges between released states: O(log i) a question, i the number of those before it."""

    route = "markov"

    def __init__(self, store: Store, record: Record, release: DensityRelease) -> None:
        super().__init__(store, record, release)
        if not isinstance(release.basis, Grid) or release.domain.dimension != 1:
            raise LiveError(f"live release {record.name!r} does not stand on a grid of one column")
        self._kernel: MaternKernel = release.basis.kernel
        self._sigma = float(release.noise.deviations(release.basis.size)[0])
        self._normals = _Normals(self._kernel.states, self._sigma)

    @cached_property
    def _nodes(self) -> tuple[Floats, Floats]:
        """Nodes of the public grid, in the domain, and the released states there."""
        basis = self.release.basis
        assert isinstance(basis, Grid)
        side = basis.sides[0]
        place = self.domain.from_unit(np.linspace(0, 1, side)[:, None])[:, 0]
        return place, basis.states(self.release.coordinates).reshape(side, -1)

    @property
    def accuracy(self) -> Accuracy:
        spread = self._sigma * self.release.scale
        return Accuracy(
            integrated=spread**2 * self.domain.volume, pointwise=spread,
            coordinates=self.release.basis.size, truncation=0.0,
            resolution=self.release.basis.resolution,
        )  # fmt: skip

    def standard_error(self, points: object) -> Floats:
        return np.full(self.domain.shape(points), self._sigma * self.release.scale)

    def _answer(self, rows: Floats) -> Floats:
        with self._store.reading(self.name) as pen:
            known, values = pen.find(rows)
        if not np.all(known):
            with self._store.writing(self.name) as pen:
                values[~known] = self._draw(pen, rows[~known])
        return values * self.release.scale

    def _draw(self, pen: Pen, rows: Floats) -> Floats:
        """Answers at points that were new a moment ago; somebody else may have been quicker."""
        known, values = pen.find(rows)
        new = rows[~known]
        if len(new):
            states, knots = self._between(pen, new[:, 0])
            pen.add(new, states, knots)
            values[~known] = states[:, 0]
        return values

    def _between(self, pen: Pen, x: Floats) -> tuple[Floats, Any]:
        nodes, at_nodes = self._nodes
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
        width, low = float(self.domain.widths[0]), float(self.domain.lower[0])
        unit = [np.maximum((end - low) / width, 0.0) for end in ends]
        return fill(
            self._kernel, (x - low) / width, (unit[0], unit[1]), (states[0], states[1]),
            self._normals,
        )  # fmt: skip


class _Normals:
    """Public noise; a forked process gets its own."""

    def __init__(self, states: int, sigma: float) -> None:
        self._states, self._sigma = states, sigma
        self._rng, self._process = entropy.fresh(None), os.getpid()

    def __call__(self, count: int) -> Floats:
        if os.getpid() != self._process:
            self._rng, self._process = entropy.fresh(None), os.getpid()
        return self._sigma * self._rng.standard_normal((count, self._states))
