"""Threads for numerics, with a queue that ends.

The event loop only moves bytes: a request that computes waits for one of a few threads, and where
too many wait already, the next is told to come back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, final

from mercer.server.errors import busy

__all__ = ["Work"]

T = TypeVar("T")


@final
class Work:
    """A pool of `workers` threads; at most `queue` calls wait for one."""

    def __init__(self, workers: int, queue: int) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="mercer")
        self._most = workers + queue
        self._under_way = 0

    async def run(self, call: Callable[[], T]) -> T:
        """The result of a call made in a thread; a refusal where too many wait."""
        if self._under_way >= self._most:
            raise busy("the service is busy; send the same request again in a moment")
        self._under_way += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, call)
        finally:
            self._under_way -= 1

    def close(self) -> None:
        """Finish what is under way."""
        self._pool.shutdown(wait=True)
