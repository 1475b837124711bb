"""What a store of live releases keeps, and in which order it may be written.  M7.

A point is answered once.  Draws of a live release are serialised: the one writer holds its pen, so
two questions never draw from the same gap at once, and what was drawn is on the disk before
anybody sees it.  This module is the interface of a store; `memory` keeps one in memory,
`databases` in a file or a database.
"""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mercer.common.checks import Bools, Floats

__all__ = [
    "NAME",
    "Factor",
    "Knot",
    "LiveError",
    "LiveFull",
    "LiveStore",
    "LiveUnavailable",
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
