"""Chunks of records: where they are found, and one pass over them.  Left of the door.

The columns that are asked for are found in files, tables and lists in one way, whatever they are
read for: their declared types are public and checked before a cell is read (M18).  A pass begins
with nothing, adds chunks and merges what threads have added; what it adds up are whole numbers,
so the result does not depend on the order of the rows, on how they are cut into chunks, or on who
adds them.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from pathlib import Path
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar

import numpy as np

from mercer.columns.table import Domain
from mercer.common.checks import Floats
from mercer.common.quiet import threads
from mercer.sensitive.base import Sensitive
from mercer.sources.cells import Reader
from mercer.sources.files import Task, file_batches, keeps_places
from mercer.sources.frames import check_unit, in_rows, nothing_of, read_already, table_read
from mercer.sources.values import person_name

__all__ = [
    "CHUNK",
    "ArrayRows",
    "Chunked",
    "Foldable",
    "FoundCells",
    "Readers",
    "Records",
    "Rows",
    "StreamedRows",
    "Way",
    "check_no_unit",
    "check_once",
    "fold",
    "in_files",
    "in_list",
    "in_table",
    "slices",
    "ways_of",
]

Readers: TypeAlias = Mapping[str, Reader]
Way: TypeAlias = Callable[[Any], Floats]  # how an Arrow column becomes numbers
Tasks: TypeAlias = Callable[[list[str]], Iterator[Task]]  # reads the columns of these names, in parts

CHUNK = 1 << 20  # rows handled at once; of more than eight columns far fewer
_FEW = 8  # columns

C = TypeVar("C")


class Chunked(Sensitive, ABC, Generic[C]):
    """Records in chunks, which can be read again and again."""

    unit: str | None  # the column that names the person, if there is one
    workers = 1  # threads among which reading and counting are worth sharing
    fixed = True  # a record's place says nothing of other records

    @abstractmethod
    def parts(self) -> Iterator[Callable[[], Iterator[C]]]:
        """Parts that threads may read in parallel, each a stream of chunks."""

    def chunks(self) -> Iterator[C]:
        """All records in order, in chunks."""
        for part in self.parts():
            yield from part()

    @abstractmethod
    def persons(self) -> Iterator[Any]:
        """The unit column in the same chunks, as Arrow arrays."""

    def progress(self, tick: Callable[[int], None]) -> None:
        """Have `tick` called with the records of each chunk; never with a unit: they are secret."""
        if self.unit is None:
            self._tick = tick

    _tick: Callable[[int], None] = staticmethod(lambda _records: None)


class Rows(Chunked[Floats]):
    """Rows of named numeric columns: chunks have shape (rows, columns), NaN where there is no number."""

    def __init__(self, names: Sequence[str], unit: str | None) -> None:
        self.names = tuple(names)
        self.unit = unit

    def columnwise(self) -> bool:
        """Ask for chunks as lists of columns; returns whether they will come so."""
        return False


class ArrayRows(Rows):
    """Rows of an array of numbers; with readers its columns are read one by one."""

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


class ArrowRows(Rows, ABC):
    """Rows of anything that Arrow can stream; `ways` are functions that read its columns."""

    workers = 2

    def __init__(
        self,
        tasks: Tasks,
        names: Sequence[str],
        unit: str | None,
        ways: Mapping[str, Way],
        span: int,
        step: int,
    ) -> None:
        super().__init__(names, unit)
        self._tasks, self._ways = tasks, ways
        # always read together: a table may be cut differently in each of its columns
        self._wanted = list(dict.fromkeys([*ways, *([unit] if unit else [])]))
        self._span, self._step = span, step  # rows that are read at once, and that make a chunk

    @abstractmethod
    def _chunk(self, columns: list[Floats]) -> Floats:
        """A chunk made of its columns."""

    def parts(self) -> Iterator[Callable[[], Iterator[Floats]]]:
        for task in self._tasks(self._wanted):
            yield partial(self._read, task)

    def _read(self, task: Task) -> Iterator[Floats]:
        for batch in task():
            self._tick(batch.num_rows)
            for part in _cut(batch, self._span):
                columns = [read(part.column(name)) for name, read in self._ways.items()]
                for start in range(0, part.num_rows, self._step):
                    yield self._chunk([column[start : start + self._step] for column in columns])

    def persons(self) -> Iterator[Any]:
        assert self.unit is not None
        for task in self._tasks(self._wanted):
            for batch in task():
                for part in _cut(batch, self._span):
                    column = part.column(self.unit)
                    for start in range(0, len(column), self._step):
                        yield column.slice(start, self._step)


class StreamedRows(ArrowRows):
    """Rows of numbers."""

    apart = False  # chunks as lists of columns

    def __init__(self, tasks: Tasks, names: Sequence[str], unit: str | None, ways: Mapping[str, Way]) -> None:
        super().__init__(tasks, names, unit, ways, CHUNK, _step(len(ways)))

    def columnwise(self) -> bool:
        self.apart, self._step = True, max(1, 4 * CHUNK // len(self.names))
        return True

    def _chunk(self, columns: list[Floats]) -> Floats:
        if self.apart:
            return columns  # type: ignore[return-value]
        if len(columns) > _FEW:  # column by column, as they came
            return np.stack(columns).T
        return columns[0][:, None] if len(columns) == 1 else np.stack(columns, axis=1)


class Records(ArrowRows):
    """Records of a public domain, as codes of their cells."""

    def __init__(self, tasks: Tasks, domain: Domain, unit: str | None, ways: Mapping[str, Way]) -> None:
        step = max(1, CHUNK // domain.dimension)
        super().__init__(tasks, domain.names, unit, ways, step, step)
        self.domain = domain

    def _chunk(self, columns: list[Floats]) -> Floats:
        return columns[0][:, None] if len(columns) == 1 else np.stack(columns).T  # each in one piece


def _cut(batch: Any, rows: int) -> Iterator[Any]:
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def _step(columns: int) -> int:
    """Rows of a chunk: one of many columns holds half as many numbers."""
    return CHUNK if columns <= _FEW else max(1, (CHUNK >> 1) // columns)


@dataclass(frozen=True, repr=False)
class FoundCells(Sensitive):
    """Where the cells of a source are, and the readers of its columns."""

    tasks: Tasks
    readers: Readers
    ready: Collection[str] = ()  # columns of codes that are read already
    fixed: bool = True  # a row's place says nothing of other rows


def in_files(paths: list[Path], choose: Callable[[list[str]], Readers], unit: str | None) -> FoundCells:
    """The cells of files, in the columns that are chosen by their names."""
    import pyarrow as pa

    schema, tasks = file_batches(paths)
    readers = choose(schema.names)
    declared = keeps_places(paths)  # cells of CSV files are text of which no type is known
    for name, reader in readers.items():
        kind = schema.field(name).type  # of a CSV file only what the names of folders declare
        if declared or not pa.types.is_float64(kind):
            reader.check(kind)
    check_unit(schema, unit)
    return FoundCells(tasks, readers, fixed=declared)


def in_table(
    data: Any, present: list[str], choose: Callable[[list[str]], Readers], unit: str | None
) -> tuple[Any, FoundCells]:
    """The cells of a table or data frame in the chosen columns, and an Arrow table of these."""
    readers = choose(present)
    table, ready = table_read(data, readers, unit)
    check_unit(table.schema, unit)
    return table, FoundCells(slices(table), readers, ready)


def in_list(data: Sequence[Any], readers: Readers, unit: str | None) -> tuple[Any, FoundCells]:
    """The cells of a list of rows; the type of one row does not change how another is read (M18)."""
    import pyarrow as pa

    cells = in_rows(data, list(readers), unit)
    columns = {name: pa.array(readers[name].objects(c)) for name, c in zip(readers, cells, strict=False)}
    if unit is not None:
        columns[unit] = pa.array([person_name(value) for value in cells[-1]], pa.large_string())
    table = pa.table(columns)
    return table, FoundCells(slices(table), readers, set(readers))


def slices(table: Any) -> Tasks:
    """The tasks that read an Arrow table in parts."""

    def tasks(wanted: list[str]) -> Iterator[Task]:
        for batch in table.select(wanted).to_batches(max_chunksize=CHUNK):
            yield partial(iter, (batch,))

    return tasks


def ways_of(found: FoundCells, blank: Collection[str]) -> dict[str, Way]:
    """For each name the function that makes numbers of its Arrow column; `blank` are not looked at."""
    return {
        name: nothing_of if name in blank else read_already if name in found.ready else reader.codes
        for name, reader in found.readers.items()
    }


def check_once(name: str | None, present: list[str]) -> None:
    """Refuse a name that several columns have."""
    if name is not None and present.count(name) > 1:
        raise ValueError(f"column {name!r} stands {present.count(name)} times; rename it")


def check_no_unit(unit: str | None) -> None:
    """Refuse a unit where columns have no names."""
    if unit is not None:
        raise ValueError(
            "unit names a column, so the data must have named columns: hand in a data frame, an "
            "Arrow table, a file or a list of dictionaries"
        )


class Foldable(Protocol):
    """Sensitive sums that can be added in any order and merged: a commutative monoid."""

    def add(self, chunk: Any) -> Self:
        """Add a chunk of rows."""

    def merge(self, other: Self) -> Self:
        """Add the sums of other rows."""


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
