"""Live releases kept in memory: for trying things out, and as quick as it gets.  Layer 5."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import chain
from threading import Lock
from typing import TypeAlias

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

Key: TypeAlias = float | tuple[float, ...]  # a point on a line, or of more dimensions


class Memory(Store):
    """In this process only: quick, and gone with it."""

    where, durable = "memory", False

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}
        self._pens: dict[str, _MemoryPen] = {}
        self._open: dict[str, nullcontext[Pen]] = {}
        self._held: dict[str, _Held] = {}

    def names(self) -> tuple[str, ...]:
        return tuple(self._records)

    def create(self, record: Record) -> None:
        if record.name in self._records:
            raise LiveError(taken(record.name, self.where))
        pen = self._pens[record.name] = _MemoryPen()
        self._open[record.name], self._held[record.name] = nullcontext(pen), _Held(record.name, pen)
        self._records[record.name] = record

    def load(self, name: str) -> Record:
        if name not in self._records:
            raise LiveError(missing(name, self.names(), self.where))
        return self._records[name]

    def count(self, name: str) -> int:
        return len(self._pens[name])

    def reading(self, name: str) -> AbstractContextManager[Pen]:
        return self._open[name]  # for everybody: answers are only ever added

    def writing(self, name: str) -> AbstractContextManager[Pen]:
        return self._held[name]

    def close(self) -> None:
        pass


class _Held(AbstractContextManager[Pen]):
    """The pen, while nobody else has it."""

    def __init__(self, name: str, pen: _MemoryPen) -> None:
        self._name, self._pen, self._lock, self._process = name, pen, Lock(), os.getpid()
        self._drawn = 0

    def __enter__(self) -> Pen:
        if os.getpid() != self._process:  # both would draw at the same points
            raise LiveError(
                f"live release {self._name!r} is in the memory of the process that made it, and "
                "this one is a fork; give store= a file to share it"
            )
        self._lock.acquire()
        self._drawn = self._pen.drawn
        return self._pen

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._pen.back_to(self._drawn)  # answers are added last: there are none to take back
        self._lock.release()


class _MemoryPen(Pen):
    """Answers by their points; knots in order, by blocks: a new one moves a thousand at most."""

    _BLOCK = 1024

    def __init__(self) -> None:
        self._answers: dict[Key, Sequence[float]] = {}  # states, of which the first is the value
        self._starts: list[float] = []  # first knot of each block
        self._blocks: list[list[float]] = []
        self._factors: list[Factor] = []

    def __len__(self) -> int:
        return len(self._answers)

    def find(self, points: Floats) -> tuple[Bools, Floats]:
        nothing = (float("nan"),)
        found = [state or nothing for state in map(self._answers.get, _keys(points))]
        values = np.array([state[0] for state in found], dtype=float)
        return ~np.isnan(values), values

    def look(self, x: float) -> float | None:
        state = self._answers.get(x)
        return None if state is None else state[0]

    def beside(self, x: float) -> tuple[Knot | None, Knot | None]:
        left, right = self._neighbours(x)
        return (
            None if left is None else (left, self._answers[left]),
            None if right is None else (right, self._answers[right]),
        )

    def around(self, x: Floats) -> Neighbours:
        found = [self._neighbours(v) for v in x.tolist()]
        left, left_states = self._side([pair[0] for pair in found])
        right, right_states = self._side([pair[1] for pair in found])
        return Neighbours(left, left_states, right, right_states)

    def add(self, points: Floats, states: Floats, knots: Bools) -> None:
        self._answers.update(zip(_keys(points), map(tuple, states.tolist()), strict=True))
        if points.shape[1] == 1:
            self._place(points[knots, 0].tolist())

    def add_one(self, x: float, state: Sequence[float], knot: bool) -> None:
        self._answers[x] = state
        if not knot:
            return
        b = bisect_right(self._starts, x) - 1
        if b < 0 or len(self._blocks[b]) > 2 * self._BLOCK:
            self._place([x])
        else:
            insort(self._blocks[b], x)

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

    def _neighbours(self, x: float) -> tuple[float | None, float | None]:
        """The last knot before x, and the first one at or after it."""
        if not self._blocks:
            return None, None
        b = max(bisect_left(self._starts, x) - 1, 0)
        block = self._blocks[b]
        i = bisect_left(block, x)
        left = block[i - 1] if i else None
        if i < len(block):
            return left, block[i]
        return left, self._starts[b + 1] if b + 1 < len(self._starts) else None

    def _side(self, knots: list[float | None]) -> tuple[Floats, Floats]:
        """Places and states, NaN where there is no knot."""
        some = next((knot for knot in knots if knot is not None), None)
        width = STATES if some is None else len(self._answers[some])
        nothing, answers = (float("nan"),) * width, self._answers
        states = chain.from_iterable([nothing if v is None else answers[v] for v in knots])
        places = np.array(knots, dtype=float)  # None becomes NaN
        return places, np.fromiter(states, float, width * len(knots)).reshape(-1, width)

    def _place(self, new: list[float]) -> None:
        """Increasing knots, into their blocks."""
        if new and not self._blocks:
            self._starts, self._blocks = [new[0]], [[]]
        i = 0
        while i < len(new):
            b = max(bisect_right(self._starts, new[i]) - 1, 0)
            last = b + 1 == len(self._starts)
            end = len(new) if last else bisect_left(new, self._starts[b + 1], i)
            block = self._blocks[b] + new[i:end]
            block.sort()  # two increasing parts: in linear time
            size = self._BLOCK if len(block) > 2 * self._BLOCK else len(block)
            self._blocks[b : b + 1] = parts = [
                block[k : k + size] for k in range(0, len(block), size)
            ]
            self._starts[b : b + 1] = [part[0] for part in parts]
            i = end


def _keys(points: Floats) -> Iterable[Key]:
    if points.shape[1] == 1:
        line: list[float] = points[:, 0].tolist()
        return line
    return map(tuple, points.tolist())
