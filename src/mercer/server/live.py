"""Live releases: questions of many clients answered in one durable write.

A live release stores an answer before it is sent, and a write to the disk costs the same for one
point as for many.  So there is one queue a live release: while one write is under way, questions
collect, and the next write answers them all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from mercer.common.checks import Floats
from mercer.online.store import LiveUnavailable
from mercer.server.errors import busy

__all__ = ["Questions"]


@dataclass(frozen=True)
class _Question:
    rows: Floats  # (points, columns), checked
    answer: asyncio.Future[Floats]


@final
class Questions:
    """The queue of one live release.  Lives on the event loop; asks in a thread of its own."""

    def __init__(self, ask: Callable[[Floats], Floats], *, most: int, together: int) -> None:
        self._ask = ask
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="mercer-live")
        self._most, self._together = most, together
        self._waiting: list[_Question] = []
        self._task: asyncio.Task[None] | None = None

    async def ask(self, rows: Floats) -> Floats:
        """Values at the rows, which must have been checked: they are asked with others'."""
        if len(self._waiting) >= self._most:
            raise busy("too many requests wait for this live release; send it again in a moment")
        question = _Question(rows, asyncio.get_running_loop().create_future())
        self._waiting.append(question)
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._serve())
        return await question.answer

    def close(self, *, wait: bool = True) -> None:
        """Finish the write that is under way."""
        self._pool.shutdown(wait=wait)

    async def _serve(self) -> None:
        while self._waiting:
            group = self._next_group()
            try:
                values = await self._in_thread(_union([one.rows for one in group]))
            except Exception as error:
                await self._apart(group, error)
                continue
            for one, part in zip(group, values, strict=True):
                _settle(one.answer, part)

    async def _apart(self, group: list[_Question], error: Exception) -> None:
        """An error of all together: each is told, or asked alone where it may fare better."""
        for one in group:
            if len(group) == 1 or isinstance(error, (LiveUnavailable, OSError)):
                _settle(one.answer, error)
                continue
            try:
                (value,) = await self._in_thread(_union([one.rows]))
            except Exception as own:
                _settle(one.answer, own)
            else:
                _settle(one.answer, value)

    def _next_group(self) -> list[_Question]:
        """As many questions as come to `together` points, at least one."""
        total = size = 0
        for one in self._waiting:
            total += len(one.rows)
            if size and total > self._together:
                break
            size += 1
        group, self._waiting = self._waiting[:size], self._waiting[size:]
        return group

    async def _in_thread(self, union: _Union) -> list[Floats]:
        loop = asyncio.get_running_loop()
        values = await loop.run_in_executor(self._pool, self._ask, union.points)
        return np.split(np.asarray(values, dtype=float)[union.places], union.cuts)


@dataclass(frozen=True)
class _Union:
    points: Floats  # each once
    places: Any  # of every asked row among them
    cuts: Any  # where one question ends and the next begins


def _union(parts: list[Floats]) -> _Union:
    rows = np.concatenate(parts)
    points, places = np.unique(rows, axis=0, return_inverse=True)
    cuts = np.cumsum([len(part) for part in parts])[:-1]
    return _Union(points, places.reshape(-1), cuts)


def _settle(answer: asyncio.Future[Floats], value: Floats | Exception) -> None:
    if answer.done():  # the client is gone
        return
    if isinstance(value, Exception):
        answer.set_exception(value)
    else:
        answer.set_result(value)
