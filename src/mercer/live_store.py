"""What a live release remembers, and the order in which it may be written.  Layer 5 (M7).

A point is answered once.  Whoever draws holds the pen of that release: draws are serialised, so
two questions never draw from the same gap at once, and what was drawn is on the disk before
anybody sees it.  This module says what a store does and keeps one in memory; `live_tables` keeps
them in SQLite and PostgreSQL.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np

from mercer.checks import Bools, Floats

__all__ = [
    "Factor",
    "LiveError",
    "LiveFull",
    "LiveUnavailable",
    "Memory",
    "Neighbours",
    "Pen",
    "Record",
    "Store",
    "check_name",
    "store_of",
]

STATES = 3  # numbers kept with an answer: the value, and what else its neighbours need


class LiveError(ValueError):
    """A live release that cannot be made, opened or asked so."""


class LiveUnavailable(LiveError):  # noqa: N818
    """The store cannot be used now: nothing new was answered; try again."""


class LiveFull(LiveError):  # noqa: N818
    """A live release that can take no more new points; those it answered stay answered."""


@dataclass(frozen=True)
class Record:
    """A live release as it is stored.  `secret` holds counts of records: sensitive."""

    name: str
    route: str
    fields: dict[str, Any]
    secret: bytes | None = field(default=None, repr=False)

    @property
    def digest(self) -> str:
        """Of all that the path depends on: a store whose f_D or parameters changed is refused."""
        text = json.dumps([self.name, self.route, self.fields], sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode() + b"\0" + (self.secret or b"")).hexdigest()


@dataclass(frozen=True)
class Neighbours:
    """Nearest knots at or beside points: where they are (NaN: there is none) and their states."""

    left: Floats
    left_states: Floats
    right: Floats
    right_states: Floats


@dataclass(frozen=True)
class Factor:
    """One knot of a Cholesky live release: its row of the factor, and its coordinate."""

    point: tuple[float, ...]
    row: bytes = field(repr=False)
    noisy: float
    exact: int = field(repr=False)  # sensitive


class Pen(ABC):
    """Held by one writer of a live release at a time; points are rows of the domain."""

    @abstractmethod
    def find(self, points: Floats) -> tuple[Bools, Floats]:
        """Which points are answered, and their values (NaN where not)."""

    @abstractmethod
    def around(self, x: Floats) -> Neighbours:
        """The nearest knots on each side of points on a line."""

    @abstractmethod
    def add(self, points: Floats, states: Floats, knots: Bools) -> None:
        """New answers: states (points, at most STATES), the first of which is the value."""

    @abstractmethod
    def factors(self, after: int) -> list[Factor]:
        """Knots of a Cholesky release in the order of their drawing, from number `after` on."""

    @abstractmethod
    def add_factor(self, number: int, factor: Factor) -> None:
        """One more knot."""


class Store(ABC):
    """Live releases and their answers."""

    where: str  # for messages: without a password
    durable: bool

    def prepare(self) -> None:  # noqa: B027
        """Make the store where there is none."""

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Live releases in the store."""

    @abstractmethod
    def create(self, record: Record) -> None:
        """Add a live release; LiveError if there is one of that name."""

    @abstractmethod
    def load(self, name: str) -> Record:
        """What was created; LiveError if its digest does not fit."""

    @abstractmethod
    def count(self, name: str) -> int:
        """Points answered."""

    @abstractmethod
    def reading(self, name: str) -> AbstractContextManager[Pen]:
        """For `find` alone: waits for nobody."""

    @abstractmethod
    def writing(self, name: str) -> AbstractContextManager[Pen]:
        """All that is added is durable when this ends, or nothing is."""

    @abstractmethod
    def close(self) -> None:
        """Let go of connections; the store may be used again."""


class Memory(Store):
    """In this process only: quick, and gone with it."""

    where, durable = "memory", False

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}
        self._pens: dict[str, _MemoryPen] = {}
        self._locks: dict[str, Lock] = {}

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
        with self._locks[name]:
            yield self._pens[name]

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
        found = [self._beside(v) for v in x.tolist()]
        nothing = (float("nan"), (float("nan"),) * STATES)
        sides = [[pair[side] or nothing for pair in found] for side in (0, 1)]
        arrays: list[Floats] = []
        for side in sides:
            arrays += [np.array([v for v, _ in side]), np.array([s for _, s in side], dtype=float)]
        return Neighbours(*arrays)

    def add(self, points: Floats, states: Floats, knots: Bools) -> None:
        for point, state, knot in zip(
            points.tolist(), states.tolist(), knots.tolist(), strict=True
        ):
            self._values[tuple(point)] = state[0]
            if knot and len(point) == 1:
                self._insert(point[0], (*state, *(0.0,) * (STATES - len(state))))

    def factors(self, after: int) -> list[Factor]:
        return self._factors[after:]

    def add_factor(self, number: int, factor: Factor) -> None:  # noqa: ARG002
        self._factors.append(factor)

    def _beside(self, x: float) -> tuple[Any, Any]:
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


def store_of(place: str | os.PathLike[str] | Store | None) -> Store:
    """The store for a path or a PostgreSQL URL; None is memory."""
    if place is None:
        return Memory()
    if isinstance(place, Store):
        return place
    try:
        from mercer.live_databases import tables_of
    except ImportError:
        raise LiveError(
            "a store for live releases needs SQLAlchemy: pip install 'mercer[serve]'"
        ) from None
    return tables_of(place)


def check_name(name: object) -> str:
    """A name that is a file name and a part of a URL everywhere."""
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
        raise LiveError(
            "name must be 1 to 64 letters, digits, dots, dashes or underscores, the first a letter "
            f"or a digit; got {name!r}"
        )
    return name


def taken(name: str, where: str) -> str:
    """For an error."""
    return (
        f"store {where!r} has a live release {name!r} already: go on with it by mercer.open_live, "
        "or choose another name; nothing was spent"
    )


def missing(name: str, names: tuple[str, ...], where: str) -> str:
    """For an error."""
    known = f"it has {', '.join(map(repr, names))}" if names else "it has none yet"
    return f"store {where!r} has no live release {name!r}; {known}"
