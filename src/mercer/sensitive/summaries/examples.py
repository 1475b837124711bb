"""Rows with answers, as features, again and again in the same pieces.  Left of the door.

A solver passes over the rows several times.  A piece is a fixed number of rows at a fixed place,
so neighbours differ in one row of one piece and in nothing else; small data are kept as features,
large ones are read and mapped anew, so that memory does not grow with rows.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import cache
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np

from mercer.columns.domain import Domain
from mercer.common.checks import Bools, Floats
from mercer.common.quiet import threads
from mercer.sensitive.base import Sensitive
from mercer.sensitive.persons import person_weights
from mercer.sensitive.rows import Rows
from mercer.sensitive.summaries.tally import PERSON
from mercer.spaces.maps import FeatureMap

__all__ = ["PIECE", "ExampleBatch", "Examples"]

PIECE = 1 << 12  # rows of a piece
_KEPT = 1 << 28  # bytes of features that are kept between passes
_HELD = 5  # of so many rows one is held out, where a choice needs it

Part: TypeAlias = Literal["all", "learnt", "held"]

T = TypeVar("T")


class ExampleBatch(NamedTuple):
    """Features, targets and weights of some rows; rows that do not fit have weight zero (M18)."""

    phi: Floats
    target: Floats
    weight: Floats


class Examples(Sensitive):
    """Rows with their targets in the last column."""

    def __init__(self, rows: Rows, domain: Domain, part: Part = "all") -> None:
        self.domain, self._rows, self._part = domain, rows, part
        self.rows = 0  # rows read
        self.complete = 0  # of them with values.  Sensitive, unless its number is public
        self._map: FeatureMap | None = None
        self._pieces: list[ExampleBatch] | None = None
        self._people: Callable[[], Iterator[Floats]] | None = None
        self.persons = 0
        if rows.unit is not None:
            self.persons, people = person_weights(rows, PERSON)
            self._people = lambda: (chunk / PERSON for chunk in people())
        self._count()

    def _count(self) -> None:
        for chunk, _ in self._chunks():
            self.rows += len(chunk)
            self.complete += int(np.isfinite(chunk).all(axis=1).sum())
        self._rows.progress(lambda _rows: None)  # how many passes follow is the records' business

    def on(self, features: FeatureMap) -> None:
        """Use these features from now on."""
        if features is not self._map:
            self._map, self._pieces = features, None

    def fold(self, work: Callable[[ExampleBatch], T], stride: int = 1, *, heavy: bool = False) -> Iterator[T]:
        """`work` of every piece, in order; of every `stride`-th row of each, if that is given.

        Results that are `heavy` are made one at a time.
        """
        assert self._map is not None
        keep = self._map.size * 8 * self.rows <= _KEPT
        workers = 1 if heavy else min(os.cpu_count() or 1, 8)
        if self._pieces is None and keep:
            self._pieces = list(_ordered(self._raw(1), self._piece, workers))
        if self._pieces is not None:
            kept = iter(self._pieces)
            some = kept if stride == 1 else (_thin(piece, stride) for piece in kept)
            if len(self._pieces) == 1:  # threads would cost more than they bring
                return map(work, some)
            return _ordered(some, work, workers)
        return _ordered(self._raw(stride), lambda raw: work(self._piece(raw)), workers)

    def _raw(self, stride: int) -> Iterator[tuple[Floats, Floats]]:
        """Pieces of the same length however the source is cut, but for the last."""
        length = PIECE * stride
        rest: list[tuple[Floats, Floats]] = []
        held = 0
        for chunk, weight in self._chunks():
            start = 0
            while held + len(chunk) - start >= length:
                stop = start + length - held
                yield _joined([*rest, (chunk[start:stop], weight[start:stop])], stride)
                rest, held, start = [], 0, stop
            rest.append((chunk[start:], weight[start:]))
            held += len(chunk) - start
        if held:
            yield _joined(rest, stride)

    def _chunks(self) -> Iterator[tuple[Floats, Floats]]:
        """Rows of this part and their weights: every fifth row, by its place, is held out."""
        people, seen = None if self._people is None else self._people(), 0
        for chunk in self._rows.chunks():
            weight = np.ones(len(chunk)) if people is None else next(people)
            if self._part == "all":
                yield chunk, weight
            else:
                place = np.arange(seen, seen + len(chunk), dtype=np.int64) % _HELD
                mine: Bools = place == _HELD - 1
                if self._part == "learnt":
                    mine = ~mine
                yield chunk[mine], weight[mine]
            seen += len(chunk)

    def _piece(self, raw: tuple[Floats, Floats]) -> ExampleBatch:
        assert self._map is not None
        chunk, weight = raw
        x, target = chunk[:, :-1], chunk[:, -1]
        whole: Bools = np.all(np.isfinite(chunk), axis=1)
        with np.errstate(all="ignore"):
            unit = self.domain.to_unit(np.where(whole[:, None], x, self.domain.lower))
        unit = np.ascontiguousarray(unit)  # the same bits however the source lays out its columns
        return ExampleBatch(self._map.features(unit), np.where(whole, target, 0.0), weight * whole)


def _joined(parts: list[tuple[Floats, Floats]], stride: int) -> tuple[Floats, Floats]:
    if len(parts) == 1:
        return parts[0][0][::stride], parts[0][1][::stride]
    chunk, weight = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
    return chunk[::stride], weight[::stride]


def _thin(piece: ExampleBatch, stride: int) -> ExampleBatch:
    return ExampleBatch(*(np.ascontiguousarray(part[::stride]) for part in piece))


@cache
def _libraries() -> Any:
    """Linear algebra's own threads; to look for them takes as long as a small pass."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


S = TypeVar("S")


def _ordered(items: Iterator[S], work: Callable[[S], T], workers: int) -> Iterator[T]:
    """`work` on several threads, results in order, few items at a time."""
    with _libraries().limit(limits=1), threads(workers) as pool:
        waiting: deque[Future[T]] = deque()
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > 2 * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
