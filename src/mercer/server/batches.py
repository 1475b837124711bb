"""Light questions that arrive together are answered together.

Most of what a hundred values cost does not depend on how many they are.  So questions to one
release that are read in the same turn of the event loop are evaluated in one call, on the loop
itself: it takes less time than the way to a thread and back.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import final

import numpy as np

from mercer.common.checks import Floats
from mercer.releases.density.release import DensityRelease
from mercer.spaces.bases import SpectralBasis

__all__ = ["Batches", "is_light"]

_LIGHT = 500_000  # points times coordinates of one question: about a millisecond
_TURN = 2_000_000  # of all questions in one turn of the loop


def is_light(release: DensityRelease, points: int, most: int) -> bool:
    """Whether values are quick, and the same to the last bit in whatever company.

    They are sums in a fixed order on spectral bases; linear algebra may round by the size of the
    batch, so other bases are left to threads, one question at a time.
    """
    return (
        isinstance(release.basis, SpectralBasis) and points <= most and points * release.basis.size <= _LIGHT
    )


@dataclass(frozen=True)
class _Light:
    rows: Floats
    answer: asyncio.Future[Floats]


@final
class Batches:
    """The light questions of this turn of the loop, by release and by whether they are raw."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[DensityRelease, bool], list[_Light]] = {}

    async def values(self, release: DensityRelease, rows: Floats, *, raw: bool) -> Floats:
        """Values at rows of the domain."""
        loop = asyncio.get_running_loop()
        question = _Light(rows, loop.create_future())
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
                if not one.answer.done():
                    one.answer.set_exception(error)
            return
        start = 0
        for one in group:
            end = start + len(one.rows)
            if not one.answer.done():  # the client may be gone
                one.answer.set_result(values[start:end])
            start = end
