"""One pass over chunks of rows: zero, add, merge.  Layer 2.

The state is an integer tally, so the result does not depend on the order of the rows, on how
they are cut into chunks, or on who adds them.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, Self, TypeVar

__all__ = ["Foldable", "ahead", "fold"]

T = TypeVar("T")


class Foldable(Protocol):
    """A commutative monoid of sensitive sums."""

    def merge(self, other: Self) -> Self:
        """The tally of both sets of rows."""
        ...


Tally = TypeVar("Tally", bound=Foldable)
Chunk = TypeVar("Chunk")


def fold(
    chunks: Iterable[Chunk],
    zero: Tally,
    add: Callable[[Tally, Chunk], Tally],
) -> Tally:
    """Add all chunks to `zero`, one after the other."""
    tally = zero
    for chunk in chunks:
        tally = add(tally, chunk)
    return tally


def ahead(items: Iterable[T], depth: int = 2) -> Iterator[T]:
    """The same items, produced by a thread that stays at most `depth` items ahead."""
    ready: queue.Queue[tuple[T | None, BaseException | None, bool]] = queue.Queue(depth)
    stopped = threading.Event()

    def put(entry: tuple[T | None, BaseException | None, bool]) -> None:
        while not stopped.is_set():
            try:
                ready.put(entry, timeout=0.1)
                return
            except queue.Full:
                continue

    def produce() -> None:
        try:
            for item in items:
                put((item, None, False))
                if stopped.is_set():
                    return
            put((None, None, True))
        except BaseException as error:
            put((None, error, True))

    thread = threading.Thread(target=produce, daemon=True)
    thread.start()
    try:
        while True:
            item, error, last = ready.get()
            if error is not None:
                raise error
            if last:
                return
            yield item  # type: ignore[misc]
    finally:
        stopped.set()
        thread.join()
