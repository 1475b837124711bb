"""Chunks of records: what a summary reads.  Left of the door: holds people's data."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from mercer.common.checks import Floats
from mercer.sensitive.base import Sensitive
from mercer.sources.cells import Reader

__all__ = ["CHUNK", "ArrayRows", "Batches", "Rows"]

CHUNK = 1 << 20  # rows handled at once; of more than eight columns far fewer
_FEW = 8  # columns


class Rows(Sensitive, ABC):
    """Records with named numeric columns, and optionally a column that names the person."""

    def __init__(self, names: Sequence[str], unit: str | None) -> None:
        self.names = tuple(names)
        self.unit = unit

    @abstractmethod
    def parts(self) -> Iterator[Callable[[], Iterator[Floats]]]:
        """Parts that threads may read side by side, each a stream of chunks."""

    def chunks(self) -> Iterator[Floats]:
        """Rows in order, as arrays of shape (rows, columns); NaN where there is no number."""
        for part in self.parts():
            yield from part()

    workers = 1  # threads among which reading and counting are worth sharing
    fixed = True  # a row's place says nothing of other rows

    @abstractmethod
    def persons(self) -> Iterator[Any]:
        """The unit column in the same chunks, as Arrow arrays."""

    def progress(self, tick: Callable[[int], None]) -> None:
        """Have `tick` called with the rows of each chunk; never with a unit: they are secret."""
        if self.unit is None:
            self._tick = tick

    _tick: Callable[[int], None] = staticmethod(lambda _rows: None)

    def columnwise(self) -> bool:
        """Have chunks come as lists of columns, if that saves work; whether they do."""
        return False


class ArrayRows(Rows):
    """An array of numbers, its columns read one by one where they are not taken as they are."""

    def __init__(self, columns: Any, names: Sequence[str], readers: Sequence[Reader] = ()) -> None:
        super().__init__(names, None)
        self._columns, self._readers = columns, readers

    def parts(self) -> Iterator[Callable[[], Iterator[Floats]]]:
        yield self._whole

    def _whole(self) -> Iterator[Floats]:
        step = _step(self._columns.shape[1])
        for start in range(0, len(self._columns), step):
            part = self._columns[start : start + step]
            self._tick(len(part))
            if self._readers:
                read = zip(self._readers, part.T, strict=True)
                yield np.stack([reader.array(column) for reader, column in read], axis=1)
            else:
                yield np.asarray(part, dtype=np.float64)

    def persons(self) -> Iterator[Any]:
        return iter(())


class Batches(Rows):
    """Anything Arrow can stream: tables, data frames, files."""

    workers = 2
    apart = False  # chunks as lists of columns

    def __init__(
        self,
        tasks: Callable[[list[str]], Iterator[Callable[[], Iterator[Any]]]],
        names: Sequence[str],
        unit: str | None,
        ways: Mapping[str, Callable[[Any], Floats]],
    ) -> None:
        super().__init__(names, unit)
        self._tasks, self._ways = tasks, ways
        # always read together: a table may be cut differently in each of its columns
        self._wanted = list(dict.fromkeys([*ways, *([unit] if unit else [])]))
        self._step = _step(len(ways))

    def columnwise(self) -> bool:
        self.apart, self._step = True, max(1, 4 * CHUNK // len(self.names))
        return True

    def parts(self) -> Iterator[Callable[[], Iterator[Floats]]]:
        for task in self._tasks(self._wanted):
            yield partial(self._read, task)

    def _read(self, task: Callable[[], Iterator[Any]]) -> Iterator[Floats]:
        for batch in task():
            self._tick(batch.num_rows)
            for most in range(0, batch.num_rows, CHUNK):
                yield from self._numbers(batch.slice(most, CHUNK))

    def _numbers(self, batch: Any) -> Iterator[Floats]:
        columns = [read(batch.column(name)) for name, read in self._ways.items()]
        for start in range(0, batch.num_rows, self._step):
            part = [column[start : start + self._step] for column in columns]
            if self.apart:
                yield part  # type: ignore[misc]
            elif len(part) > _FEW:  # column by column, as they came
                yield np.stack(part).T
            else:
                yield part[0][:, None] if len(part) == 1 else np.stack(part, axis=1)

    def persons(self) -> Iterator[Any]:
        assert self.unit is not None
        for task in self._tasks(self._wanted):
            for batch in task():
                for most in range(0, batch.num_rows, CHUNK):
                    column = batch.column(self.unit).slice(most, CHUNK)
                    for start in range(0, len(column), self._step):
                        yield column.slice(start, self._step)


def _step(columns: int) -> int:
    """Rows of a chunk: one of many columns holds half as many numbers."""
    return CHUNK if columns <= _FEW else max(1, (CHUNK >> 1) // columns)
