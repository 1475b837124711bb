"""Any source of data opened: as rows of numbers, with labels beside them, or as records of a domain.

Left of the door: holds people's data.  Nothing here may be printed, pickled or copied to disk, and no
error may depend on the value of a record (M18): names and types of columns are public and checked
before a cell is read.  Cells are read by `sources.cells`, the same for every kind of release; text
that is not a number, missing and infinite values become NaN and follow the public rule of the summary
that reads them.  Columns that are not asked for are never looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer.columns.domain import Box
from mercer.columns.reading import PLAIN, Reading
from mercer.columns.rules import listed
from mercer.columns.table import Domain
from mercer.common.checks import Floats, check_column
from mercer.sensitive.labels import Labels, Target, targets_of
from mercer.sensitive.rows import (
    CHUNK,
    ArrayRows,
    FoundCells,
    Readers,
    Records,
    Rows,
    StreamedRows,
    Way,
    check_no_unit,
    check_once,
    in_files,
    in_list,
    in_table,
    slices,
    ways_of,
)
from mercer.sources.cells import Reader, reader_of
from mercer.sources.files import Task
from mercer.sources.folders import paths_of
from mercer.sources.frames import array_in, codes_of, names_of, read_already

__all__ = ["open_records", "open_rows"]


def open_rows(
    data: object,
    *,
    columns: object,
    unit: object,
    dimension: int | None,
    bounds: object = None,
    labels: Labels | None = None,
    reading: Reading = PLAIN,
) -> Rows:
    """Rows of numbers from whatever the caller handed in; errors name columns and types, never values.

    `bounds` are those of the columns where cells are to be read by them (dates; values beyond
    them that count as missing); `dimension` is the number of columns that they speak of, to
    choose when none are named.
    """
    if isinstance(data, Rows):
        return data
    if columns is None and isinstance(bounds, Mapping):
        columns = list(bounds)  # bounds by name name the columns
    ask = _Wanted(columns, check_column("unit", unit), dimension, bounds, labels, reading)
    if (paths := paths_of(data)) is not None:
        found = in_files(paths, ask.chosen, ask.unit)
        if ask.labels is not None and ask.label is None:
            raise TypeError("y must be the name of a column where the data are a file")
        rows = StreamedRows(found.tasks, ask.names_in(found), ask.unit, ask.ways(found))
        rows.fixed = found.fixed
        return rows
    if (present := names_of(data)) is not None:
        table, found = in_table(data, present, ask.chosen, ask.unit)
    elif isinstance(data, Sequence) and not isinstance(data, (str, bytes, bytearray, memoryview)):
        table, found = in_list(data, ask.of_list(), ask.unit)
    else:
        return _array_rows(data, ask)
    ways = ask.ways(found)
    if ask.labels is not None and ask.label is None:
        import pyarrow as pa

        place = "y"
        while place in table.schema.names:
            place += "'"
        targets = targets_of(ask.labels, table.num_rows, ask.reading)
        table, ways[place] = table.append_column(place, pa.array(targets)), read_already
    return StreamedRows(slices(table), ask.names_in(found), ask.unit, ways)


def open_records(
    data: object, *, domain: Domain, unit: str | None, reading: Reading = PLAIN, counts: str | None = None
) -> Records:
    """Records of a domain from whatever the caller handed in; errors name columns and types, never values.

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
        found = _records_in_array(data, domain, readers)
    blank = [name for name in domain.names if reading.blank and name != counts]
    records = Records(found.tasks, domain, unit, ways_of(found, blank))
    records.fixed = found.fixed
    return records


@dataclass(frozen=True, eq=False, repr=False)
class _Wanted:
    """Public arguments of `open_rows`, and the labels."""

    columns: object
    unit: str | None
    dimension: int | None
    bounds: object
    labels: Labels | None
    reading: Reading

    @property
    def label(self) -> str | None:
        """The name of the column of labels; None where there is none."""
        return None if self.labels is None else self.labels.column

    def _readers(self, names: Sequence[str]) -> dict[str, Reader]:
        """A reader for each column, and for the column of labels, the last."""
        label = [] if self.label is None else [self.label]
        self.reading.check_names([*names, *label, *(["y"] if self.labels and not label else [])])
        kinds = Box.columns_of(self.bounds, names, drops=self.reading.outside == "drop")
        found = {
            name: reader_of(kind, self.reading.of_column(name))
            for name, kind in zip(names, kinds, strict=True)
        }
        if self.labels is not None and self.label is not None:
            found[self.label] = self.labels.target.reader(self.label, self.reading)
        return found

    def chosen(self, present: list[str]) -> Readers:
        """Readers of the columns to release, which are chosen among those that are there."""
        return self._readers(_chosen(present, self))

    def of_list(self) -> Readers:
        """Readers of the columns of a list: public arguments say how many there are (M18)."""
        if self.columns is None and self.dimension is None:
            if self.bounds is not None:
                Box.of(self.bounds, ["x"])  # what is wrong with them is said first
            raise ValueError(
                "columns is missing: a list does not declare how many columns its rows have; name "
                "them with columns=…, give bounds for each, or hand in a numpy array"
            )
        named = _names_given(self.columns)
        names = named or _plain_names(self.dimension or 1)
        if self.unit in names:
            raise _unit_released(self.unit)
        readers = self._readers(names)
        if self.label is not None and not named:
            raise _unnamed_label(self.label)
        return readers

    def of_array(self, width: int) -> dict[str, Reader]:
        """Readers of the columns of an array with so many columns."""
        names = _names_given(self.columns) or _plain_names(width)
        if len(names) != width:
            raise ValueError(
                f"columns must be {width} name(s) for the columns of the array, got {len(names)}"
            )
        if self.label is not None:
            raise _unnamed_label(self.label)
        return self._readers(names)

    def names_in(self, found: FoundCells) -> list[str]:
        """Names of the columns to release."""
        return [name for name in found.readers if name != self.label]

    def ways(self, found: FoundCells) -> dict[str, Way]:
        """How an Arrow column of each name becomes numbers: codes of cells, targets of labels."""
        ways = ways_of(found, list(found.readers) if self.reading.blank else ())
        if self.labels is not None and self.label is not None:
            ways[self.label] = partial(_finished, self.labels.target, ways[self.label])
        return ways


def _finished(target: Target, codes: Way, column: Any) -> Floats:
    """Targets of an Arrow column of labels."""
    return np.asarray(target.finish(codes(column)), dtype=np.float64)


def _array_rows(data: object, ask: _Wanted) -> Rows:
    """Rows of an array of numbers, or of cells that are read one by one."""
    check_no_unit(ask.unit)
    array = _array_in(data)
    rows = array[:, None] if array.ndim == 1 else array
    chosen = ask.of_array(rows.shape[1])
    names, readers = list(chosen), list(chosen.values())
    if ask.reading.blank:
        rows = np.broadcast_to(np.nan, rows.shape)
        return ArrayRows(rows if ask.labels is None else np.full((len(rows), len(names) + 1), np.nan), names)
    plain = array.dtype.kind in "iufb" and not isinstance(array, np.ma.MaskedArray)
    if not plain:
        read = [codes_of(column, reader) for column, reader in zip(rows.T, readers, strict=True)]
        rows, readers = np.stack(read, axis=1), []
    elif all(reader.as_is for reader in readers):
        readers = []
    if ask.labels is None:
        return ArrayRows(rows, names, readers)
    if readers:
        read = [reader.array(column) for column, reader in zip(rows.T, readers, strict=True)]
        rows = np.stack(read, axis=1)
    targets = targets_of(ask.labels, len(rows), ask.reading)
    return ArrayRows(np.column_stack([np.asarray(rows, dtype=np.float64), targets]), names)


def _array_in(data: object) -> Any:
    """The array in the data, which only its type and its number of axes decide."""
    found = array_in(data)
    array: Any = np.empty((), dtype=object) if found is None else found
    if array.dtype.kind not in "iufbOMUS" or array.ndim not in (1, 2):
        raise TypeError(
            "data must be a file, a table or an array of numbers with one or two axes, or a list "
            f"of rows; got {type(data).__name__} of {array.dtype} with {array.ndim} axes"
        )
    return array


def _chosen(present: list[str], ask: _Wanted) -> list[str]:
    """Names of the columns to release, which must be among those that are there."""
    others = {"unit": ask.unit, "y": ask.label}
    for what, name in others.items():
        _check_there(what, name, present)
    names = _names_given(ask.columns)
    if not names:
        names = [name for name in present if name not in others.values()]
        if not names or ask.dimension not in (None, len(names)):
            raise ValueError(
                f"columns is missing: bounds speak of {ask.dimension or 1} column(s) and the data "
                f"have {listed(present)}; name the ones to release with columns=…"
            )
    if ask.label in names:
        raise ValueError(f"y names the column {ask.label!r}, which is among the columns to learn from")
    for name in names:
        _check_there("columns", name, present)
    if ask.unit in names:
        raise _unit_released(ask.unit)
    return names


def _names_given(columns: object) -> list[str]:
    """Names of columns as a caller gave them; an empty list where there are none."""
    if columns is None:
        return []
    if isinstance(columns, str):
        return [columns]
    if isinstance(columns, Sequence) and all(isinstance(name, str) for name in columns):
        names = list(columns)
        if not names or len(set(names)) < len(names):
            raise ValueError(f"columns must be one or more different names, got {listed(names)}")
        return names
    raise TypeError(f"columns must be a column's name or a list of names, got {type(columns).__name__}")


def _check_there(what: str, name: str | None, present: list[str]) -> None:
    if name is not None and name not in present:
        raise ValueError(f"{what}: there is no column {name!r}; there are {listed(present)}")
    check_once(name, present)


def _plain_names(width: int) -> list[str]:
    return ["x"] if width == 1 else [f"x{i + 1}" for i in range(width)]


def _unnamed_label(label: str) -> ValueError:
    return ValueError(
        f"y = {label!r} names a column, so the data must have named columns: hand in a data frame, "
        "an Arrow table or a file, or y as an array"
    )


def _unit_released(unit: object) -> ValueError:
    return ValueError(f"unit must name a column that is not released, got {unit!r}; it names the person")


def _records_in_array(data: object, domain: Domain, readers: Readers) -> FoundCells:
    """Records in an array, its columns in the order of the domain."""
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
