"""Live releases kept in memory: for trying things out, and as quick as it gets.  Layer 5."""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from threading import Lock

import numpy as np

from mercer.checks import Bools, Floats
from mercer.live_store import (
    STATES,
    Factor,
    Knot,
    LiveError,
    Neighbours,
    Pen,
    Record,
    Store,
    missing,
    taken,
)

__all__ = ["Memory"]


class Memory(Store):
    """In this process only: quick, and gone with it."""

    where, durable = "memory", False

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}
        self._pens: dict[str, _MemoryPen] = {}
        self._locks: dict[str, Lock] = {}
        self._process = os.getpid()

    def names(self) -> tuple[str, ...]:
        return tuple(self._records)

    def create(self, record: Record) -> None:
        if record.name in self._records:
            raise LiveError(taken(record.name, self.where))
        self._locks[record.name], self._pens[record.name] = Lock(), _MemoryPen()
        self._records[record.name] = record

    def load(self, name: str) -> Record:
        if name not in self._records:
            raise LiveError(missing(name, self.names(), self.where))
        return self._records[name]

    def count(self, name: str) -> int:
        return len(self._pens[name])

    def reading(self, name: str) -> AbstractContextManager[Pen]:
        return self.writing(name)

    @contextmanager
    def writing(self, name: str) -> Iterator[Pen]:
        if os.getpid() != self._process:  # both would draw at the same points
            raise LiveError(
                f"live release {name!r} is in the memory of the process that made it, and this "
                "one is a fork; give store= a file to share it"
            )
        with self._locks[name]:
            pen = self._pens[name]
            count = pen.drawn
            try:
                yield pen
            except BaseException:
                pen.back_to(count)  # answers are added last, so there are none to take back
                raise

    def close(self) -> None:
        pass


class _MemoryPen(Pen):
    """Sorted lists by blocks: a new knot moves a thousand others at most."""

    _BLOCK = 1024

    def __init__(self) -> None:
        self._values: dict[tuple[float, ...], float] = {}
        self._starts: list[float] = []  # first knot of each block
        self._blocks: list[list[float]] = []
        self._states: list[list[tuple[float, ...]]] = []
        self._factors: list[Factor] = []

    def __len__(self) -> int:
        return len(self._values)

    def find(self, points: Floats) -> tuple[Bools, Floats]:
        get, nothing = self._values.get, float("nan")
        values = np.array([get(tuple(p), nothing) for p in points.tolist()], dtype=float)
        return ~np.isnan(values), values

    def around(self, x: Floats) -> Neighbours:
        found = [self.beside(v) for v in x.tolist()]
        nothing = (float("nan"), (float("nan"),) * STATES)
        sides = [[pair[side] or nothing for pair in found] for side in (0, 1)]
        arrays: list[Floats] = []
        for side in sides:
            arrays += [np.array([v for v, _ in side]), np.array([s for _, s in side], dtype=float)]
        return Neighbours(*arrays)

    def add(self, points: Floats, states: Floats, knots: Bools) -> None:
        rows = zip(points.tolist(), states.tolist(), knots.tolist(), strict=True)
        for point, state, knot in rows:
            if len(point) == 1:
                self.add_one(point[0], state, knot)
            else:
                self._values[tuple(point)] = state[0]

    def add_one(self, x: float, state: Sequence[float], knot: bool) -> None:
        self._values[(x,)] = state[0]
        if knot:
            self._insert(x, (*state, *(0.0,) * (STATES - len(state))))

    def look(self, x: float) -> float | None:
        return self._values.get((x,))

    @property
    def drawn(self) -> int:
        """Knots of a growing factor."""
        return len(self._factors)

    def back_to(self, count: int) -> None:
        """Forget the later ones."""
        del self._factors[count:]

    def factors(self, after: int) -> list[Factor]:
        return self._factors[after:]

    def add_factor(self, number: int, factor: Factor) -> None:  # noqa: ARG002
        self._factors.append(factor)

    def beside(self, x: float) -> tuple[Knot | None, Knot | None]:
        if not self._blocks:
            return None, None
        b = max(bisect_left(self._starts, x) - 1, 0)
        block, states = self._blocks[b], self._states[b]
        i = bisect_left(block, x)
        left = (block[i - 1], states[i - 1]) if i else None
        if i < len(block):
            return left, (block[i], states[i])
        if b + 1 < len(self._blocks):
            return left, (self._blocks[b + 1][0], self._states[b + 1][0])
        return left, None

    def _insert(self, x: float, state: tuple[float, ...]) -> None:
        if not self._blocks:
            self._starts, self._blocks, self._states = [x], [[x]], [[state]]
            return
        b = max(bisect_left(self._starts, x) - 1, 0)
        block, states = self._blocks[b], self._states[b]
        i = bisect_left(block, x)
        block.insert(i, x)
        states.insert(i, state)
        self._starts[b] = block[0]
        if len(block) > 2 * self._BLOCK:
            half = self._BLOCK
            self._blocks.insert(b + 1, block[half:])
            self._states.insert(b + 1, states[half:])
            self._starts.insert(b + 1, block[half])
            del block[half:], states[half:]
