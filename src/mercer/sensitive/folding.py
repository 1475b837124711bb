"""One pass over chunks of rows: zero, add, merge.

The state is an integer tally, so the result does not depend on the order of the rows, on how
they are cut into chunks, or on who adds them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Any, Protocol, Self, TypeAlias, TypeVar

from mercer.common.quiet import threads

__all__ = ["Foldable", "fold"]


class Foldable(Protocol):
    """A commutative monoid of sensitive sums."""

    def add(self, chunk: Any) -> Self:
        """The tally with a chunk of rows more."""
        ...

    def merge(self, other: Self) -> Self:
        """The tally of both sets of rows."""
        ...


Part: TypeAlias = Callable[[], Iterator[Any]]
Tally = TypeVar("Tally", bound=Foldable)


def fold(parts: Iterable[Part], zero: Callable[[], Tally], *, workers: int = 1) -> Tally:
    """The tally of all chunks of all parts.

    With several workers each thread takes the next part as it is free, reads it and counts it; an
    error in any of them is raised here.
    """
    if workers == 1:
        return _add_all(iter(parts), zero())
    shared = _Shared(iter(parts))
    with threads(workers) as pool:
        tallies = list(pool.map(lambda _: _add_all(shared, zero()), range(workers)))
    return reduce(lambda one, other: one.merge(other), tallies)


def _add_all(parts: Iterator[Part], tally: Tally) -> Tally:
    for part in parts:
        for chunk in part():
            tally = tally.add(chunk)
    return tally


class _Shared:
    """An iterator that several threads may draw from; the first error ends it for all."""

    def __init__(self, items: Iterator[Any]) -> None:
        self._items, self._lock, self._ended = items, threading.Lock(), False

    def __iter__(self) -> _Shared:
        return self

    def __next__(self) -> Any:
        with self._lock:
            if self._ended:
                raise StopIteration
            try:
                return next(self._items)
            except BaseException:
                self._ended = True
                raise
