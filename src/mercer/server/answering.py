"""Values, curves and maps of any release, stored or live, and how questions wait for them.

The event loop only moves bytes: what computes waits for one of a few threads (`Work`).  What is
light (a thousand points of a stored release, without a band) costs less than the way to a thread
and back, and most of it does not depend on how many points there are: such questions to one release
that are read in the same turn of the event loop are evaluated in one call, on the loop itself
(`Batches`).  A live release stores an answer before it is sent, and a write to the disk costs the
same for one point as for many: while one write is under way, questions collect, and the next write
answers them all (`LiveQueue`).
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar, final

import numpy as np

from mercer.common.checks import Floats
from mercer.online.store import LiveUnavailable
from mercer.releases.density.release import DensityRelease
from mercer.releases.function import Band
from mercer.server.catalogue import Catalogue
from mercer.server.entries import Entry, LiveEntry, StoredEntry
from mercer.server.guard import busy, mercer_errors, wrong
from mercer.server.settings import Settings
from mercer.spaces.bases import SpectralBasis

__all__ = ["Answers", "LiveQueue", "Values", "ValuesRequest", "Work"]

_MOST_TOGETHER = 100_000  # points of one durable write
_PATIENCE = 3.0  # seconds that a request waits for a store to say what it holds
_LIGHT = 500_000  # points times coordinates of one question: about a millisecond
_TURN = 2_000_000  # of all questions in one turn of the loop

T = TypeVar("T")


@dataclass(frozen=True)
class ValuesRequest:
    """Points at which values are asked for, and how they are to be answered."""

    rows: Floats  # (points, columns), in the domain
    bandwidth: tuple[float, ...] | None = None
    raw: bool = False
    band: float | None = None
    simultaneous: bool = True
    nested: bool = True  # points are answered as they came: numbers, or lists of numbers


@dataclass(frozen=True)
class Values:
    """The values at the points of a request, with the ends of a band if one was asked for."""

    values: Floats
    lower: Floats | None = None
    upper: Floats | None = None

    def __post_init__(self) -> None:
        for part in (self.values, self.lower, self.upper):
            if part is not None and not np.isfinite(part).all():
                raise RuntimeError("an answer must be finite")  # a bug, answered with 500


@final
class Answers:
    """All releases, and the threads that evaluate them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.catalogue = Catalogue(settings)
        self.work = Work(settings.workers, settings.queue)
        self._lookout = ThreadPoolExecutor(1, thread_name_prefix="mercer-look")
        self._queues: dict[LiveEntry, LiveQueue] = {}
        self._batches = Batches()
        self._smoothed: OrderedDict[tuple[Any, ...], DensityRelease] = OrderedDict()
        self._lock = Lock()
        self._closers: list[Callable[[], None]] = []
        self._look: asyncio.Task[None] | None = None

    async def find(self, name: str) -> Entry:
        """A release by name; new files are found once the list is older than `refresh_seconds`."""
        if self.catalogue.stale:
            if not self.catalogue.has(name) or self.settings.refresh_seconds == 0:
                if not await self.look() and not self.catalogue.has(name):
                    raise busy("a store of live releases does not answer; try again later")
            else:
                self._begin_look()
        return self.catalogue.get(name)

    async def look(self) -> bool:
        """Read the folder again, unless the list is fresh.

        False if a store does not answer in time: the list is then unchanged.
        """
        if self.catalogue.stale:
            with mercer_errors():
                done, _ = await asyncio.wait([self._begin_look()], timeout=_PATIENCE)
                for task in done:
                    task.result()
                return bool(done)
        return True

    def _begin_look(self) -> asyncio.Task[None]:
        """Start to read the folder, or join the reading that is under way."""
        if self._look is None or self._look.done():
            self._look = asyncio.create_task(self._do_look())
            self._look.add_done_callback(lambda task: task.cancelled() or task.exception())
        return self._look

    async def _do_look(self) -> None:
        await asyncio.get_running_loop().run_in_executor(self._lookout, self.catalogue.refresh)

    async def values(self, entry: Entry, question: ValuesRequest) -> Values:
        """Values at points, with a band if one is asked for."""
        if isinstance(entry, LiveEntry):
            return await self._live(entry, question)
        if question.band is None and question.bandwidth is None:
            release, rows = entry.release, question.rows
            if is_light(release, len(rows), self.settings.light):
                return Values(await self._batches.values(release, rows, raw=question.raw))
        return await self.work.run(lambda: self._stored(entry, question))

    def _stored(self, entry: StoredEntry, question: ValuesRequest) -> Values:
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

    async def _live(self, entry: LiveEntry, question: ValuesRequest) -> Values:
        if question.bandwidth is not None or question.raw:
            raise wrong(
                "'bandwidth' and 'raw' cannot be given for a live release: its "
                "answers are drawn one by one and cannot be smoothed; leave them out",
                "live",
            )
        with mercer_errors():
            values = await self._queue(entry).ask(question.rows)
            if question.band is None:
                return Values(values)
            band = await self.work.run(lambda: self._live_band(entry, question))
        return Values(values, band.lower, band.upper)

    def _live_band(self, entry: LiveEntry, question: ValuesRequest) -> Band:
        assert question.band is not None
        return entry.release.band(question.rows, level=question.band)

    def _queue(self, entry: LiveEntry) -> LiveQueue:
        if entry not in self._queues:
            for old in [one for one in self._queues if one.name == entry.name]:
                self._queues.pop(old).close(wait=False)
            self._queues[entry] = LiveQueue(
                entry.release.ask, most=self.settings.waiting, together=_MOST_TOGETHER
            )
        return self._queues[entry]

    def on_close(self, call: Callable[[], None]) -> None:
        """Register a call that is made before the stores are closed."""
        self._closers.append(call)

    def close(self) -> None:
        """Finish what is under way, then close the stores."""
        for call in self._closers:
            call()
        self.work.close()
        for queue in self._queues.values():
            queue.close()
        self._lookout.shutdown(wait=True)
        self.catalogue.close()


@final
class Work:
    """A pool of `workers` threads; at most `queue` calls wait for a free one."""

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


@dataclass(frozen=True)
class _Pending:
    """A question that waits for its answer."""

    rows: Floats  # (points, columns), checked
    answer: asyncio.Future[Floats]


def is_light(release: DensityRelease, points: int, most: int) -> bool:
    """Whether evaluation is fast, and the same to the last bit whatever the batch.

    They are sums in a fixed order on spectral bases; linear algebra may round by the size of the
    batch, so other bases are left to threads, one question at a time.
    """
    return (
        isinstance(release.basis, SpectralBasis) and points <= most and points * release.basis.size <= _LIGHT
    )


@final
class Batches:
    """The light questions of one turn of the event loop, grouped by release and `raw`."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[DensityRelease, bool], list[_Pending]] = {}

    async def values(self, release: DensityRelease, rows: Floats, *, raw: bool) -> Floats:
        """Values of a release at rows of the domain, evaluated together with other questions."""
        loop = asyncio.get_running_loop()
        question = _Pending(rows, loop.create_future())
        key = (release, raw)
        if key in self._waiting:
            self._waiting[key].append(question)
        else:
            self._waiting[key] = [question]
            loop.call_soon(self._answer, key)
        return await question.answer

    def _answer(self, key: tuple[DensityRelease, bool]) -> None:
        release, raw = key
        group = self._waiting.pop(key)
        most = max(1, _TURN // release.basis.size)
        total = size = 0
        while size < len(group) and total < most:
            total += len(group[size].rows)
            size += 1
        if group[size:]:  # the others' turn comes after whatever else waits
            self._waiting[key] = group[size:]
            asyncio.get_running_loop().call_soon(self._answer, key)
            group = group[:size]
        try:
            rows = group[0].rows if size == 1 else np.concatenate([one.rows for one in group])
            values = release(rows, raw=raw)
        except Exception as error:
            for one in group:
                _settle(one.answer, error)
            return
        start = 0
        for one in group:
            end = start + len(one.rows)
            _settle(one.answer, values[start:end])
            start = end


@final
class LiveQueue:
    """The queue of one live release: it runs on the event loop and asks in a thread of its own."""

    def __init__(self, ask: Callable[[Floats], Floats], *, most: int, together: int) -> None:
        self._ask = ask
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="mercer-live")
        self._most, self._together = most, together
        self._waiting: list[_Pending] = []
        self._task: asyncio.Task[None] | None = None

    async def ask(self, rows: Floats) -> Floats:
        """Values at rows of the domain, asked in one write together with other questions."""
        if len(self._waiting) >= self._most:
            raise busy("too many requests wait for this live release; send it again in a moment")
        question = _Pending(rows, asyncio.get_running_loop().create_future())
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
                values = await self._in_thread([one.rows for one in group])
            except Exception as error:
                await self._apart(group, error)
                continue
            for one, part in zip(group, values, strict=True):
                _settle(one.answer, part)

    async def _apart(self, group: list[_Pending], error: Exception) -> None:
        """After an error of a group: each question gets the error, or is asked alone if that may succeed."""
        for one in group:
            if len(group) == 1 or isinstance(error, (LiveUnavailable, OSError)):
                _settle(one.answer, error)
                continue
            try:
                (value,) = await self._in_thread([one.rows])
            except Exception as own:
                _settle(one.answer, own)
            else:
                _settle(one.answer, value)

    def _next_group(self) -> list[_Pending]:
        """As many questions as come to `together` points, at least one."""
        total = size = 0
        for one in self._waiting:
            total += len(one.rows)
            if size and total > self._together:
                break
            size += 1
        group, self._waiting = self._waiting[:size], self._waiting[size:]
        return group

    async def _in_thread(self, questions: list[Floats]) -> list[Floats]:
        """The values of several questions, whose points are asked each once."""
        points, places = np.unique(np.concatenate(questions), axis=0, return_inverse=True)
        ends = np.cumsum([len(rows) for rows in questions])[:-1]
        values = await asyncio.get_running_loop().run_in_executor(self._pool, self._ask, points)
        return np.split(np.asarray(values, dtype=float)[places.reshape(-1)], ends)


def _settle(answer: asyncio.Future[Floats], value: Floats | Exception) -> None:
    if answer.done():  # the client is gone
        return
    if isinstance(value, Exception):
        answer.set_exception(value)
    else:
        answer.set_result(value)
