"""Any table of mixed columns as chunks of codes.  Left of the door: holds people's data.

Names and types of columns are public and checked before a cell is read; no error depends on the
value of a record (M18).  Columns outside the domain are never looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from mercer.columns.reading import PLAIN, Reading
from mercer.columns.rules import listed
from mercer.columns.table import TableDomain
from mercer.common.checks import Floats
from mercer.sensitive.rows import Rows
from mercer.sources.cells import Reader, reader_of
from mercer.sources.files import Task, file_batches, keeps_places
from mercer.sources.folders import paths_of
from mercer.sources.frames import (
    check_unit,
    codes_of,
    in_rows,
    names_of,
    nothing_of,
    read_already,
    table_read,
)
from mercer.sources.names import person_name

__all__ = ["Records", "open_records"]

_CELLS = 1 << 20  # of a chunk

Tasks: TypeAlias = Callable[[list[str]], Iterator[Task]]


class Records(Rows):
    """Records of a public domain as codes, and optionally a column that names the person."""

    workers = 2

    def __init__(self, ask: Asked, tasks: Tasks, ready: Collection[str] = ()) -> None:
        super().__init__(ask.domain.names, ask.unit)
        self.domain = ask.domain
        self._tasks = tasks
        self._ways = [_way(name, ask, ready) for name in self.names]
        # always read together: a table may be cut differently in each of its columns
        self._wanted = [*self.names, *([ask.unit] if ask.unit else [])]
        self._step = max(1, _CELLS // ask.domain.dimension)

    def parts(self) -> Iterator[Callable[[], Iterator[Floats]]]:
        for task in self._tasks(self._wanted):
            yield partial(self._read, task)

    def _read(self, task: Task) -> Iterator[Floats]:
        for batch in task():
            self._tick(batch.num_rows)
            for start in range(0, batch.num_rows, self._step):
                part = batch.slice(start, self._step)
                if self.domain.dimension == 1:
                    yield self._ways[0](part.column(self.names[0]))[:, None]
                    continue
                codes = np.empty((self.domain.dimension, part.num_rows))
                for place, (name, read) in enumerate(zip(self.names, self._ways, strict=True)):
                    codes[place] = read(part.column(name))
                yield codes.T  # each column in one piece

    def persons(self) -> Iterator[Any]:
        assert self.unit is not None
        for task in self._tasks(self._wanted):
            for batch in task():
                for start in range(0, batch.num_rows, self._step):
                    yield batch.column(self.unit).slice(start, self._step)


def _way(name: str, ask: Asked, ready: Collection[str]) -> Callable[[Any], Floats]:
    """How an Arrow column becomes codes."""
    if name in ask.blank:
        return nothing_of
    return read_already if name in ready else ask.readers[name].codes


@dataclass(frozen=True)
class Asked:
    """Public arguments: which columns, how their cells are read, and who is a person."""

    domain: TableDomain
    unit: str | None
    readers: Mapping[str, Reader]
    blank: Collection[str] = ()  # columns no cell of which is looked at: in dry runs


def open_records(
    data: object,
    *,
    domain: TableDomain,
    unit: str | None,
    reading: Reading = PLAIN,
    counts: str | None = None,
) -> Records:
    """Records of whatever the caller handed in; errors name columns and types, never values.

    A data frame, an Arrow table, a CSV or Parquet file, a folder or a list of them, with the
    domain's columns by name; an array with a column for each of the domain's, in its order; or a
    list of rows, each a dictionary by name or a tuple in order.  `counts` names a column that says
    how many records a row stands for: their sum is public, so that a dry run reads it.
    """
    if isinstance(data, Records):
        return data
    if unit is not None and not isinstance(unit, str):
        raise TypeError(f"unit must be the name of a column, got {type(unit).__name__}")
    if unit in domain.names:
        raise ValueError(
            f"unit must name a column that is not released, got {unit!r}; it names the person: "
            "leave it out of the domain"
        )
    reading.check_names(domain.names)
    readers = {c.name: reader_of(c, reading.of_column(c.name)) for c in domain.columns}
    if counts is not None:  # a number of records is no value that may stand for a missing one
        readers[counts] = reader_of(domain.column(counts))
    blank = [name for name in domain.names if reading.blank and name != counts]
    ask = Asked(domain, unit, readers, blank)
    if (paths := paths_of(data)) is not None:
        return _from_files(paths, ask)
    if isinstance(data, (list, tuple, range)):
        return _from_list(data, ask)
    names = names_of(data)
    if names is None:
        return _from_array(data, ask)
    return _from_table(data, names, ask)


def _from_files(paths: list[Path], ask: Asked) -> Records:
    schema, tasks = file_batches(paths)
    _check_names(schema.names, ask)
    declared = keeps_places(paths)  # cells of CSV files are text
    _check_types(schema, ask, all_declared=declared)
    records = Records(ask, tasks)
    records.fixed = declared
    return records


def _from_table(data: Any, names: list[str], ask: Asked) -> Records:
    import pyarrow as pa

    single = isinstance(data, (pa.Array, pa.ChunkedArray)) or type(data).__name__ == "Series"
    if single and names == ["value"] and ask.domain.dimension == 1:  # it has no name of its own
        names = list(ask.domain.names)
    _check_names(names, ask)
    table, ready = table_read(data, ask.readers, ask.unit)
    check_unit(table.schema, ask.unit)
    return _sliced(table, ask, ready)


def _sliced(table: Any, ask: Asked, ready: Collection[str]) -> Records:
    def batches(wanted: list[str]) -> Iterator[Task]:
        for batch in table.select(wanted).to_batches(max_chunksize=_CELLS):
            yield partial(iter, (batch,))

    return Records(ask, batches, ready)


def _from_array(data: object, ask: Asked) -> Records:
    domain = ask.domain
    if ask.unit is not None:
        raise ValueError(
            "unit names a column, so the data must have named columns: hand in a data frame, an "
            "Arrow table, a file or a list of dictionaries"
        )
    if not isinstance(data, np.ndarray) or data.dtype.kind not in "iufbUSOM":
        kind = f" of {data.dtype}" if isinstance(data, np.ndarray) else ""
        raise TypeError(
            "data must be a data frame, an Arrow table, a CSV or Parquet file or folder, an array "
            f"or a list of rows; got {type(data).__name__}{kind}"
        )
    rows = data[:, None] if data.ndim == 1 else data
    if rows.ndim != 2 or rows.shape[1] != domain.dimension:
        raise ValueError(
            f"data must be an array of {domain.dimension} column(s), in the order "
            f"{', '.join(domain.names)}; got shape {data.shape}"
        )
    readers = [ask.readers[name] for name in domain.names]
    if rows.dtype.kind in "OUSM" or isinstance(rows, np.ma.MaskedArray):
        coded = [codes_of(column, reader) for column, reader in zip(rows.T, readers, strict=True)]
        return _sliced(_coded(coded, domain.names), ask, domain.names)
    for reader in readers:
        codes_of(rows[:0, 0], reader)  # its type alone
    step = max(1, _CELLS // domain.dimension)

    def batches(_wanted: list[str]) -> Iterator[Task]:
        for start in range(0, len(rows), step):
            yield partial(_slice, rows[start : start + step], domain.names)

    return Records(ask, batches)


def _slice(rows: Any, names: Sequence[str]) -> Iterator[Any]:
    import pyarrow as pa

    kind = rows.dtype if rows.dtype.kind == "b" else np.float64
    with np.errstate(all="ignore"):  # a number beyond all doubles is infinite, and no warning
        columns = [pa.array(np.ascontiguousarray(column, dtype=kind)) for column in rows.T]
    yield pa.record_batch(columns, names=list(names))


def _from_list(data: Sequence[Any], ask: Asked) -> Records:
    """Rows of any kind: what one is does not change how another is read (M18)."""
    import pyarrow as pa

    names = ask.domain.names
    columns = in_rows(data, names, ask.unit)
    coded = [ask.readers[name].objects(cells) for name, cells in zip(names, columns, strict=False)]
    table = _coded(coded, names)
    if ask.unit is not None:
        persons = [person_name(value) for value in columns[-1]]
        table = table.append_column(ask.unit, pa.array(persons, pa.large_string()))
    return _sliced(table, ask, names)


def _coded(codes: Sequence[Floats], names: Sequence[str]) -> Any:
    import pyarrow as pa

    return pa.table({name: pa.array(column) for name, column in zip(names, codes, strict=True)})


def _check_names(present: list[str], ask: Asked) -> None:
    for name in [*ask.domain.names, *([ask.unit] if ask.unit else [])]:
        if name not in present:
            raise ValueError(
                f"{'unit: ' if name == ask.unit else ''}the table has no column {name!r}; there "
                f"are {listed(present)}"
            )
        if present.count(name) > 1:
            raise ValueError(f"column {name!r} stands {present.count(name)} times; rename it")


def _check_types(schema: Any, ask: Asked, *, all_declared: bool) -> None:
    """Of a CSV file only what the names of folders declare has a type."""
    import pyarrow as pa

    for name, reader in ask.readers.items():
        kind = schema.field(name).type
        if all_declared or not pa.types.is_float64(kind):
            reader.check(kind)
    check_unit(schema, ask.unit)
