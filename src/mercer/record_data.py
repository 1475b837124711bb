"""Any table of mixed columns as chunks of codes.  Layer 2, left of the door: holds people's data.

Names and types of columns are public and checked before a cell is read; no error depends on the
value of a record (M18).  Columns outside the domain are never looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from mercer.cells import reader_of
from mercer.checks import Floats
from mercer.data import Rows
from mercer.files import Task, file_batches, keeps_places
from mercer.folders import paths_of
from mercer.headers import listed
from mercer.table_domain import TableDomain
from mercer.tables import names_of, person_name, table_of

__all__ = ["Records", "open_records"]

_CELLS = 1 << 20  # of a chunk

Tasks: TypeAlias = Callable[[list[str]], Iterator[Task]]


class Records(Rows):
    """Records of a public domain as codes, and optionally a column that names the person."""

    workers = 2

    def __init__(
        self, domain: TableDomain, unit: str | None, tasks: Tasks, ready: Sequence[str] = ()
    ) -> None:
        super().__init__(domain.names, unit)
        self.domain = domain
        self._tasks = tasks
        self._readers = [_Ready() if c.name in ready else reader_of(c) for c in domain.columns]
        # always read together: a table may be cut differently in each of its columns
        self._wanted = [*domain.names, *([unit] if unit else [])]
        self._step = max(1, _CELLS // domain.dimension)

    def parts(self) -> Iterator[Callable[[], Iterator[Floats]]]:
        for task in self._tasks(self._wanted):
            yield partial(self._read, task)

    def _read(self, task: Task) -> Iterator[Floats]:
        for batch in task():
            self._tick(batch.num_rows)
            for start in range(0, batch.num_rows, self._step):
                part = batch.slice(start, self._step)
                if self.domain.dimension == 1:
                    yield self._readers[0].codes(part.column(self.names[0]))[:, None]
                    continue
                codes = np.empty((self.domain.dimension, part.num_rows))
                for place, (name, reader) in enumerate(zip(self.names, self._readers, strict=True)):
                    codes[place] = reader.codes(part.column(name))
                yield codes.T  # each column in one piece

    def persons(self) -> Iterator[Any]:
        assert self.unit is not None
        for task in self._tasks(self._wanted):
            for batch in task():
                for start in range(0, batch.num_rows, self._step):
                    yield batch.column(self.unit).slice(start, self._step)


class _Ready:
    """Reads codes that were made already."""

    def codes(self, cells: Any) -> Floats:
        return np.asarray(cells.to_numpy(zero_copy_only=False), dtype=np.float64)


def open_records(data: object, *, domain: TableDomain, unit: str | None) -> Records:
    """Records of whatever the caller handed in; errors name columns and types, never values.

    A data frame, an Arrow table, a CSV or Parquet file, a folder or a list of them, with the
    domain's columns by name; an array with a column for each of the domain's, in its order; or a
    list of rows, each a dictionary by name or a tuple in order.
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
    if (paths := paths_of(data)) is not None:
        return _from_files(paths, domain, unit)
    if isinstance(data, (list, tuple, range)):
        return _from_list(data, domain, unit)
    names = names_of(data)
    if names is None:
        return _from_array(data, domain, unit)
    return _from_table(data, names, domain, unit)


def _from_files(paths: list[Path], domain: TableDomain, unit: str | None) -> Records:
    schema, tasks = file_batches(paths)
    _check_names(schema.names, domain, unit)
    declared = keeps_places(paths)  # cells of CSV files are text
    if declared:
        _check_types(schema, domain, unit)
    records = Records(domain, unit, tasks)
    records.fixed = declared
    return records


def _from_table(data: Any, names: list[str], domain: TableDomain, unit: str | None) -> Records:
    import pyarrow as pa

    single = isinstance(data, (pa.Array, pa.ChunkedArray)) or type(data).__name__ == "Series"
    if single and names == ["value"] and domain.dimension == 1:  # it has no name of its own
        names = list(domain.names)
    _check_names(names, domain, unit)
    if isinstance(data, (pa.Array, pa.ChunkedArray)):
        data = pa.table({names[0]: data})
    if isinstance(data, (pa.Table, pa.RecordBatch, pa.RecordBatchReader)):
        return _from_arrow(table_of(data, list(domain.names), unit), domain, unit)
    columns: dict[str, Any] = {}
    ready = []
    for column in domain.columns:
        cells = data if single else data[column.name]
        columns[column.name] = _arrow_column(cells, column.name)
        if columns[column.name] is None:
            columns[column.name] = pa.array(reader_of(column).objects(list(cells)))
            ready.append(column.name)
    if unit is not None:
        columns[unit] = table_of(data, [], unit).column(unit)
    return _from_arrow(pa.table(columns), domain, unit, ready)


def _arrow_column(cells: Any, name: str) -> Any:
    """A data frame's column as Arrow's; None for one of Python objects."""
    import pyarrow as pa

    kind = str(cells.dtype)
    if kind.lower() == "object":
        return None
    try:
        if type(cells).__module__.startswith("polars"):
            return cells.to_arrow()
        return pa.Array.from_pandas(cells)
    except Exception:  # whatever a library says of a cell may show it
        if kind == "category" or "str" in kind.lower():  # read one by one
            return None
        raise TypeError(
            f"column {name!r} of type {kind} cannot be read; convert it to numbers, text, "
            "booleans or dates first"
        ) from None


def _from_arrow(
    table: Any, domain: TableDomain, unit: str | None, ready: Sequence[str] = ()
) -> Records:
    _check_types(table.schema, domain, unit, ready)

    def batches(wanted: list[str]) -> Iterator[Task]:
        for batch in table.select(wanted).to_batches(max_chunksize=_CELLS):
            yield partial(iter, (batch,))

    return Records(domain, unit, batches, ready)


def _from_array(data: object, domain: TableDomain, unit: str | None) -> Records:
    import pyarrow as pa

    if unit is not None:
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
    kind = rows.dtype.kind
    if isinstance(rows, np.ma.MaskedArray):
        rows, kind = np.ma.filled(rows.astype(object), None), "O"
    if kind == "M":  # an array of objects would hold plain numbers
        rows = rows.astype("datetime64[D]")
    if kind not in "OUS":
        plain = pa.from_numpy_dtype(np.dtype(np.float64) if kind == "f" else rows.dtype)
        schema = pa.schema([(name, plain) for name in domain.names])
        _check_types(schema, domain, None)
    if kind in "OUSM":
        return _from_objects(list(rows.T.astype(object)), domain, None, None)
    step = max(1, _CELLS // domain.dimension)

    def batches(_wanted: list[str]) -> Iterator[Task]:
        for start in range(0, len(rows), step):
            yield partial(_slice, rows[start : start + step], domain.names)

    return Records(domain, None, batches)


def _slice(rows: Any, names: Sequence[str]) -> Iterator[Any]:
    import pyarrow as pa

    kind = rows.dtype if rows.dtype.kind == "b" else np.float64
    with np.errstate(all="ignore"):  # a number beyond all doubles is infinite, and no warning
        columns = [pa.array(np.ascontiguousarray(column, dtype=kind)) for column in rows.T]
    yield pa.record_batch(columns, names=list(names))


def _from_list(data: Sequence[Any], domain: TableDomain, unit: str | None) -> Records:
    """Rows of any kind: what one is does not change how another is read (M18).

    Names of columns are public: that no row at all has one is an error, as it is of a table.
    """
    wanted = [*domain.names, *([unit] if unit else [])]
    seen: set[str] = set()
    rows = [_cells_of(row, domain, wanted, seen) for row in data]
    for name in wanted if rows else ():
        if name not in seen:
            raise ValueError(
                f"{'unit: ' if name == unit else ''}no row has a column {name!r}; rows must "
                f"be dictionaries with the columns {', '.join(wanted)}"
                + ("" if unit else f", or tuples of {domain.dimension}")
            )
    columns = [[row[place] for row in rows] for place in range(len(wanted))]
    return _from_objects(columns, domain, unit, columns[-1] if unit else None)


def _cells_of(row: Any, domain: TableDomain, wanted: list[str], seen: set[str]) -> list[Any]:
    """Cells of one row, by name or in order; none of a row of another kind."""
    try:
        if isinstance(row, Mapping):
            seen.update(name for name in wanted if name in row)
            return [row.get(name) for name in wanted]
        if isinstance(row, (list, tuple, np.ndarray)) and len(row) == domain.dimension:
            seen.update(domain.names)
            return [*row, None]
        if domain.dimension == 1 and not isinstance(row, (list, tuple, np.ndarray)):
            seen.update(domain.names)
            return [row, None]
    except Exception:  # of a type of its own; whatever it says may show the record
        return [None] * len(wanted)
    return [None] * len(wanted)


def _from_objects(
    columns: Sequence[Sequence[Any]], domain: TableDomain, unit: str | None, persons: Any
) -> Records:
    """Columns of Python objects, read at once."""
    import pyarrow as pa

    pairs = zip(domain.columns, columns, strict=False)
    codes = {column.name: pa.array(reader_of(column).objects(cells)) for column, cells in pairs}
    if unit is not None:
        codes[unit] = pa.array([person_name(value) for value in persons], pa.large_string())
    return _from_arrow(pa.table(codes), domain, unit, domain.names)


def _check_names(present: list[str], domain: TableDomain, unit: str | None) -> None:
    for name in [*domain.names, *([unit] if unit else [])]:
        if name not in present:
            raise ValueError(
                f"{'unit: ' if name == unit else ''}the table has no column {name!r}; there "
                f"are {listed(present)}"
            )
        if present.count(name) > 1:
            raise ValueError(f"column {name!r} stands {present.count(name)} times; rename it")


def _check_types(
    schema: Any, domain: TableDomain, unit: str | None, ready: Sequence[str] = ()
) -> None:
    import pyarrow as pa

    for column in domain.columns:
        if column.name not in ready:
            reader_of(column).check(schema.field(column.name).type)
    if unit is not None:
        kind = schema.field(unit).type
        if pa.types.is_nested(kind) and not pa.types.is_dictionary(kind):
            raise TypeError(f"unit {unit!r} must hold plain names or numbers, its type is {kind}")
