"""Any table of mixed columns as chunks of codes.  Left of the door: holds people's data.

Names and types of columns are public and checked before a cell is read; no error depends on the
value of a record (M18).  Columns outside the domain are never looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from mercer.columns.reading import PLAIN, Reading
from mercer.columns.rules import listed
from mercer.columns.table import TableDomain
from mercer.common.checks import check_column
from mercer.sensitive.rows import (
    CHUNK,
    FoundCells,
    Readers,
    Records,
    check_no_unit,
    check_once,
    in_files,
    in_list,
    in_table,
    slices,
    ways_of,
)
from mercer.sources.cells import reader_of
from mercer.sources.files import Task
from mercer.sources.folders import paths_of
from mercer.sources.frames import codes_of, names_of

__all__ = ["Records", "open_records"]


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
    check_column("unit", unit)
    if unit in domain.names:
        raise ValueError(
            f"unit must name a column that is not released, got {unit!r}; it names the person: "
            "leave it out of the domain"
        )
    reading.check_names(domain.names)
    readers = {c.name: reader_of(c, reading.of_column(c.name)) for c in domain.columns}
    if counts is not None:  # a number of records is no value that may stand for a missing one
        readers[counts] = reader_of(domain.column(counts))

    def declared(present: list[str]) -> Readers:
        for name in [*domain.names, *([unit] if unit else [])]:
            what = "unit: " if name == unit else ""
            if name not in present:
                raise ValueError(f"{what}the table has no column {name!r}; there are {listed(present)}")
            check_once(name, present)
        return readers

    if (paths := paths_of(data)) is not None:
        found = in_files(paths, declared, unit)
    elif isinstance(data, (list, tuple, range)):
        found = in_list(data, readers, unit)[1]
    elif (present := names_of(data)) is not None:
        if present == ["value"] and domain.dimension == 1 and _is_column(data):  # it has no name of its own
            present = list(domain.names)
        found = in_table(data, present, declared, unit)[1]
    else:
        check_no_unit(unit)
        found = _in_array(data, domain, readers)
    blank = [name for name in domain.names if reading.blank and name != counts]
    records = Records(found.tasks, domain, unit, ways_of(found, blank))
    records.fixed = found.fixed
    return records


def _in_array(data: object, domain: TableDomain, readers: Readers) -> FoundCells:
    import pyarrow as pa

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
    if rows.dtype.kind in "OUSM" or isinstance(rows, np.ma.MaskedArray):
        columns = {n: pa.array(codes_of(c, readers[n])) for n, c in zip(domain.names, rows.T, strict=True)}
        return FoundCells(slices(pa.table(columns)), readers, domain.names)
    for name in domain.names:
        codes_of(rows[:0, 0], readers[name])  # its type alone
    step = max(1, CHUNK // domain.dimension)

    def tasks(_wanted: list[str]) -> Iterator[Task]:
        for start in range(0, len(rows), step):
            yield partial(_slice, rows[start : start + step], domain.names)

    return FoundCells(tasks, readers)


def _slice(rows: Any, names: Sequence[str]) -> Iterator[Any]:
    import pyarrow as pa

    kind = rows.dtype if rows.dtype.kind == "b" else np.float64
    with np.errstate(all="ignore"):  # a number beyond all doubles is infinite, and no warning
        columns = [pa.array(np.ascontiguousarray(column, dtype=kind)) for column in rows.T]
    yield pa.record_batch(columns, names=list(names))


def _is_column(data: Any) -> bool:
    import pyarrow as pa

    return isinstance(data, (pa.Array, pa.ChunkedArray)) or type(data).__name__ == "Series"
