"""What a store of live releases keeps, in which order it may be written, and a store in memory.  M7.

A point is answered once.  Draws of a live release are serialised: the one writer holds its pen, so
two questions never draw from the same gap at once, and what was drawn is on the disk before
anybody sees it.  `Memory` is for trials; `databases` keeps a store in a file or a database.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import chain
from threading import Lock
from typing import Any, TypeAlias

import numpy as np

from mercer.common.checks import Bools, Floats

__all__ = [
    "NAME",
    "Factor",
    "Knot",
    "LiveError",
    "LiveFull",
    "LiveStore",
    "LiveUnavailable",
    "Memory",
    "NearestKnots",
    "Pen",
    "Record",
    "check_name",
    "is_name",
    "missing",
    "taken",
]

NAME = r"^[A-Za-z0-9](?!.*\.\.)[A-Za-z0-9._-]{0,63}$"  # of a release: safe in a path
STATES = 3  # numbers kept with an answer: the value, and what else its neighbours need
Key: TypeAlias = float | tuple[float, ...]  # a point on a line, or of more dimensions


class LiveError(ValueError):
    """A live release that cannot be made, opened or asked in this way."""


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
        """The digest of all that the path depends on: a store whose content changed is refused."""
        text = json.dumps([self.name, self.route, self.fields], sort_keys=True, allow_nan=False)
        return hashlib.sha256(text.encode() + b"\0" + (self.secret or b"")).hexdigest()


@dataclass(frozen=True)
class NearestKnots:
    """The nearest knots on both sides of points: positions (NaN if there is none) and states."""

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


Knot: TypeAlias = tuple[float, Sequence[float]]  # a place on a line, and the state there


class Pen(ABC):
    """Access to the answers of one live release, for its one writer; points are rows of the domain."""

    @abstractmethod
    def find(self, points: Floats) -> tuple[Bools, Floats]:
        """Which points are answered, and their values; NaN where they are not."""

    @abstractmethod
    def look(self, x: float) -> float | None:
        """The answer at one point on a line, if there is one."""

    @abstractmethod
    def around(self, x: Floats) -> NearestKnots:
        """The nearest knots on each side of increasing points on a line."""

    @abstractmethod
    def beside(self, x: float) -> tuple[Knot | None, Knot | None]:
        """The nearest knots on each side of one point on a line."""

    @abstractmethod
    def add(self, points: Floats, states: Floats, knots: Bools) -> None:
        """Add new answers: states of shape (points, at most STATES), the value first."""

    @abstractmethod
    def add_one(self, x: float, state: Sequence[float], knot: bool) -> None:
        """Add one new answer on a line."""

    @abstractmethod
    def factors(self, after: int) -> list[Factor]:
        """The knots of a Cholesky release in the order in which they were drawn, from number `after` on."""

    @abstractmethod
    def add_factor(self, number: int, factor: Factor) -> None:
        """Add one more knot of a Cholesky release, at this number."""


class LiveStore(ABC):
    """Where live releases and their answers are kept."""

    where: str  # for messages: without a password

    def prepare(self) -> None:  # noqa: B027
        """Make the store if it does not exist."""

    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The names of the live releases in the store."""

    @abstractmethod
    def create(self, record: Record) -> None:
        """Add a live release; LiveError if there is one of that name."""

    @abstractmethod
    def load(self, name: str) -> Record:
        """The record of a live release; LiveError if its digest does not fit."""

    @abstractmethod
    def count(self, name: str) -> int:
        """The number of points that a live release has answered."""

    @abstractmethod
    def reading(self, name: str) -> AbstractContextManager[Pen]:
        """Access for reading: it waits for no writer."""

    @abstractmethod
    def writing(self, name: str) -> AbstractContextManager[Pen]:
        """Access for writing: when it ends, all that was added is durable, or nothing is."""

    @abstractmethod
    def close(self) -> None:
        """Close all connections; the store may be used again."""


def is_name(name: object) -> bool:
    """Whether a name can be a file name and a part of a URL everywhere."""
    return isinstance(name, str) and re.fullmatch(NAME, name) is not None


def check_name(name: object) -> str:
    """The name, if it can be a file name and a part of a URL everywhere; else LiveError."""
    if not isinstance(name, str) or not is_name(name):
        raise LiveError(
            "name must be 1 to 64 letters, digits, dots (not two together), dashes or underscores, "
            f"the first a letter or a digit; got {name!r}"
        )
    return name


def taken(name: str, where: str) -> str:
    """The message of an error: a live release of this name is there already."""
    return (
        f"store {where!r} has a live release {name!r} already: go on with it by mercer.open_live, "
        "or choose another name; nothing was spent"
    )


def missing(name: str, names: tuple[str, ...], where: str) -> str:
    """The message of an error: no live release of this name is there."""
    known = f"it has {', '.join(map(repr, names))}" if names else "it has none yet"
    return f"store {where!r} has no live release {name!r}; {known}"


class Memory(LiveStore):
    """A store in the memory of this process: fast, and lost when the process ends."""

    where = "memory"

    def __init__(self) -> None:
        self._records: dict[str, Record] = {}
        self._pens: dict[str, _MemoryPen] = {}
        self._held: dict[str, _Held] = {}

    def names(self) -> tuple[str, ...]:
        return tuple(self._records)

    def create(self, record: Record) -> None:
        if record.name in self._records:
            raise LiveError(taken(record.name, self.where))
        self._pens[record.name] = _MemoryPen()
        self._held[record.name] = _Held(record.name, self._pens)
        self._records[record.name] = record

    def load(self, name: str) -> Record:
        if name not in self._records:
            raise LiveError(missing(name, self.names(), self.where))
        return self._records[name]

    def count(self, name: str) -> int:
        return len(self._pens[name])

    def reading(self, name: str) -> AbstractContextManager[Pen]:
        return self._pens[name]  # for everybody: answers are only ever added

    def writing(self, name: str) -> AbstractContextManager[Pen]:
        return self._held[name]

    def close(self) -> None:
        pass


class _Held(AbstractContextManager[Pen]):
    """Exclusive access to the pen of a live release."""

    def __init__(self, name: str, pens: dict[str, _MemoryPen]) -> None:
        self._name, self._pens, self._lock, self._process = name, pens, Lock(), os.getpid()
        self._drawn = 0

    def __enter__(self) -> Pen:
        if os.getpid() != self._process:  # both would draw at the same points
            raise LiveError(
                f"live release {self._name!r} is in the memory of the process that made it, and "
                "this one is a fork; give store= a file to share it"
            )
        self._lock.acquire()
        pen = self._pens[self._name]
        self._drawn = pen.drawn
        return pen

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            # answers are added last: there are none to take back
            self._pens[self._name].back_to(self._drawn)
        self._lock.release()


class _MemoryPen(Pen, AbstractContextManager[Pen]):
    """Answers by their points, and sorted knots in blocks: a new knot moves at most a thousand others.

    Plain numbers are kept where possible: Python's garbage collector visits tuples repeatedly.
    """

    _BLOCK = 1024

    def __init__(self) -> None:
        self._values: dict[Key, float] = {}
        self._more: dict[float, tuple[float, ...]] = {}  # of knots: states after the value
        self._starts: list[float] = []  # first knot of each block
        self._blocks: list[list[float]] = []
        self._factors: list[Factor] = []

    def __len__(self) -> int:
        return len(self._values)

    def __enter__(self) -> Pen:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def find(self, points: Floats) -> tuple[Bools, Floats]:
        values = np.array([*map(self._values.get, _keys(points))], dtype=float)  # None is NaN
        return ~np.isnan(values), values

    def look(self, x: float) -> float | None:
        return self._values.get(x)

    def beside(self, x: float) -> tuple[Knot | None, Knot | None]:
        left, right = self._neighbours(x)
        return self._knot(left), self._knot(right)

    def around(self, x: Floats) -> NearestKnots:
        left: list[float | None] = []
        right: list[float | None] = []
        for v in x.tolist():
            before, after = self._neighbours(v)
            left.append(before)
            right.append(after)
        return NearestKnots(*self._side(left), *self._side(right))

    def add(self, points: Floats, states: Floats, knots: Bools) -> None:
        self._values.update(zip(_keys(points), states[:, 0].tolist(), strict=True))
        if points.shape[1] == 1:
            new = points[knots, 0].tolist()
            if states.shape[1] > 1:
                self._more.update(zip(new, map(tuple, states[knots, 1:].tolist()), strict=True))
            self._place(new)

    def add_one(self, x: float, state: Sequence[float], knot: bool) -> None:
        self._values[x] = state[0]
        if not knot:
            return
        if len(state) > 1:
            self._more[x] = tuple(state[1:])
        b = bisect_right(self._starts, x) - 1
        if b < 0 or len(self._blocks[b]) > 2 * self._BLOCK:
            self._place([x])
        else:
            insort(self._blocks[b], x)

    @property
    def drawn(self) -> int:
        """The number of knots of a Cholesky factor."""
        return len(self._factors)

    def back_to(self, count: int) -> None:
        """Keep the first `count` knots of a Cholesky factor and drop the later ones."""
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

    def _knot(self, x: float | None) -> Knot | None:
        return None if x is None else (x, (self._values[x], *self._more.get(x, ())))

    def _side(self, knots: list[float | None]) -> tuple[Floats, Floats]:
        """Positions and states of knots; NaN where there is no knot."""
        states = np.full((len(knots), STATES), np.nan)
        states[:, 0] = [*map(self._values.get, knots)]  # type: ignore[arg-type]
        if self._more:
            width = len(next(iter(self._more.values())))
            nothing, more = (float("nan"),) * width, self._more
            rest = chain.from_iterable([nothing if v is None else more[v] for v in knots])
            flat = np.fromiter(rest, float, width * len(knots))
            states[:, 1 : 1 + width] = flat.reshape(-1, width)
        return np.array(knots, dtype=float), states

    def _place(self, new: list[float]) -> None:
        """Put increasing knots into the blocks that they fall in; long blocks are split."""
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
            self._blocks[b : b + 1] = parts = [block[k : k + size] for k in range(0, len(block), size)]
            self._starts[b : b + 1] = [part[0] for part in parts]
            i = end


def _keys(points: Floats) -> Iterable[Key]:
    if points.shape[1] == 1:
        line: list[float] = points[:, 0].tolist()
        return line
    return map(tuple, points.tolist())
