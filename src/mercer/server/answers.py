"""Values, curves and maps of any release, stored or live.

Numerics run in threads.  What is light (a thousand points of a stored release, without a band)
costs less than the way to a thread and back, and is computed at once.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any, final

import numpy as np

from mercer.common.checks import Floats
from mercer.releases.bands import Band
from mercer.releases.density.release import DensityRelease
from mercer.server.batches import Batches, is_light
from mercer.server.catalogue import Catalogue
from mercer.server.entries import Entry, LiveEntry, StoredEntry
from mercer.server.errors import Refusal, busy, mercer_errors
from mercer.server.live import Questions
from mercer.server.questions import Question
from mercer.server.settings import Settings
from mercer.server.work import Work

__all__ = ["Answers", "Values"]

_MOST_TOGETHER = 100_000  # points of one durable write
_PATIENCE = 3.0  # seconds that a request waits for a store to say what it holds


@dataclass(frozen=True)
class Values:
    """What a question is answered with."""

    values: Floats
    lower: Floats | None = None
    upper: Floats | None = None

    def __post_init__(self) -> None:
        for part in (self.values, self.lower, self.upper):
            if part is not None and not np.isfinite(part).all():
                raise RuntimeError("an answer must be finite")  # a bug, answered with 500


@final
class Answers:
    """The releases and the threads that answer for them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.catalogue = Catalogue(settings)
        self.work = Work(settings.workers, settings.queue)
        self._lookout = ThreadPoolExecutor(1, thread_name_prefix="mercer-look")
        self._questions: dict[LiveEntry, Questions] = {}
        self._batches = Batches()
        self._smoothed: OrderedDict[tuple[Any, ...], DensityRelease] = OrderedDict()
        self._lock = Lock()
        self._closers: list[Callable[[], None]] = []
        self._look: asyncio.Task[None] | None = None

    async def find(self, name: str) -> Entry:
        """A release by name; a new file is seen as soon as the list is stale."""
        if self.catalogue.stale:
            if not self.catalogue.has(name) or self.settings.refresh_seconds == 0:
                if not await self.look() and not self.catalogue.has(name):
                    raise busy("a store of live releases does not answer; try again later")
            else:
                self._begin_look()
        return self.catalogue.get(name)

    async def look(self) -> bool:
        """Look at the folder again, unless that was done a moment ago.

        False if a store keeps us waiting: what is known is then as it was.
        """
        if self.catalogue.stale:
            with mercer_errors():
                done, _ = await asyncio.wait([self._begin_look()], timeout=_PATIENCE)
                for task in done:
                    task.result()
                return bool(done)
        return True

    def _begin_look(self) -> asyncio.Task[None]:
        """One look at a time, however many wait for it."""
        if self._look is None or self._look.done():
            self._look = asyncio.create_task(self._do_look())
            self._look.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._look

    async def _do_look(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._lookout, self.catalogue.refresh)

    async def values(self, entry: Entry, question: Question) -> Values:
        """Values at points, with a band if one is asked for."""
        if isinstance(entry, LiveEntry):
            return await self._live(entry, question)
        if question.band is None and question.bandwidth is None:
            release, rows = entry.release, question.rows
            if is_light(release, len(rows), self.settings.light):
                return Values(await self._batches.values(release, rows, raw=question.raw))
        return await self.work.run(lambda: self._stored(entry, question))

    def _stored(self, entry: StoredEntry, question: Question) -> Values:
        release = self.smoothed(entry, question.bandwidth)
        with mercer_errors():
            values = release(question.rows, raw=question.raw)
            if question.band is None:
                return Values(values)
            with entry.lock:
                band = release.band(
                    question.rows, question.band, simultaneous=question.simultaneous, raw=question.raw
                )
        return Values(values, band.lower, band.upper)

    def smoothed(self, entry: StoredEntry, bandwidth: tuple[float, ...] | None) -> DensityRelease:
        """The release with another smoothing; the last few are kept, for sliders go to and fro."""
        if bandwidth is None:
            return entry.release
        key = (entry.name, entry.signature, bandwidth)
        with self._lock:
            if key in self._smoothed:
                self._smoothed.move_to_end(key)
                return self._smoothed[key]
        with mercer_errors("bandwidth"):
            release = entry.release.smooth(list(bandwidth))
        with self._lock:
            self._smoothed[key] = release
            while len(self._smoothed) > self.settings.smoothed:
                self._smoothed.popitem(last=False)
        return release

    async def _live(self, entry: LiveEntry, question: Question) -> Values:
        if question.bandwidth is not None or question.raw:
            raise Refusal(
                422,
                "live",
                "'bandwidth' and 'raw' cannot be given for a live release: its "
                "answers are drawn one by one and cannot be smoothed; leave them out",
            )
        with mercer_errors():
            values = await self._queue(entry).ask(question.rows)
            if question.band is None:
                return Values(values)
            band = await self.work.run(lambda: self._live_band(entry, question))
        return Values(values, band.lower, band.upper)

    def _live_band(self, entry: LiveEntry, question: Question) -> Band:
        assert question.band is not None
        return entry.release.band(question.rows, level=question.band)

    def _queue(self, entry: LiveEntry) -> Questions:
        if entry not in self._questions:
            for old in [one for one in self._questions if one.name == entry.name]:
                self._questions.pop(old).close(wait=False)
            self._questions[entry] = Questions(
                entry.release.ask, most=self.settings.waiting, together=_MOST_TOGETHER
            )
        return self._questions[entry]

    def on_close(self, call: Callable[[], None]) -> None:
        """Have something else finished before the stores are closed."""
        self._closers.append(call)

    def close(self) -> None:
        """Finish what is under way, then close the stores."""
        for call in self._closers:
            call()
        self.work.close()
        for queue in self._questions.values():
            queue.close()
        self._lookout.shutdown(wait=True)
        self.catalogue.close()
