"""Any source of records as chunks of numbers.  Left of the door: holds people's data.

Nothing here may be printed, pickled or copied to disk, and no error may depend on the value of
a record (M18): text that is not a number, missing and infinite values become NaN and follow the
public rule of the summary that reads them.  Names and types of columns are public.  Cells are
read by `cells`, as those of every other kind of release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mercer.columns.cells import Unbounded
from mercer.columns.domain import Domain
from mercer.columns.reading import PLAIN, Reading
from mercer.columns.rules import listed
from mercer.common.checks import Floats
from mercer.sensitive.answers import Answer, answers_of
from mercer.sensitive.base import Sensitive
from mercer.sensitive.rows import CHUNK, ArrayRows, Batches, Rows
from mercer.sources.cells import Reader, reader_of
from mercer.sources.folders import paths_of
from mercer.sources.frames import (
    array_in,
    check_unit,
    codes_of,
    in_rows,
    names_of,
    nothing_of,
    read_already,
    table_read,
)

__all__ = ["CHUNK", "Rows", "Sensitive", "open_rows"]


def open_rows(
    data: object,
    *,
    columns: object,
    unit: object,
    dimension: int | None,
    bounds: object = None,
    answer: Answer | None = None,
    reading: Reading = PLAIN,
) -> Rows:
    """Rows of whatever the caller handed in; errors name columns and types, never values.

    `bounds` are those of the columns where cells are to be read by them (dates; values beyond
    them that count as missing); `dimension` is the number of columns that they speak of, to
    choose when none are named.
    """
    if isinstance(data, Rows):
        return data
    if unit is not None and not isinstance(unit, str):
        raise TypeError(f"unit must be the name of a column, got {type(unit).__name__}")
    ask = _Asked(columns, unit, dimension, bounds, answer, reading)
    if (paths := paths_of(data)) is not None:
        return _from_files(paths, ask)
    names = names_of(data)
    if names is not None:
        return _from_table(data, names, ask)
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes, bytearray, memoryview)):
        return _from_list(data, ask)
    return _from_array(data, ask)


class _Asked:
    """Public arguments of `open_rows`."""

    def __init__(
        self,
        columns: object,
        unit: str | None,
        dimension: int | None,
        bounds: object,
        answer: Answer | None,
        reading: Reading,
    ) -> None:
        if columns is None and isinstance(bounds, Mapping):
            columns = list(bounds)  # bounds by name name the columns
        self.columns, self.unit, self.dimension = columns, unit, dimension
        self.bounds, self.answer, self.reading = bounds, answer, reading

    @property
    def label(self) -> str | None:
        """The column of answers, if they are one of the data's."""
        return None if self.answer is None else self.answer.column

    def readers(self, names: Sequence[str]) -> dict[str, Reader]:
        """A reader for each column, and for the column of answers, the last."""
        label = [] if self.label is None else [self.label]
        self.reading.check_names([*names, *label, *(["y"] if self.answer and not label else [])])
        kinds = Domain.columns_of(self.bounds, names, drops=self.reading.outside == "drop")
        found = {
            name: reader_of(kind or Unbounded(name), self.reading.of_column(name))
            for name, kind in zip(names, kinds, strict=True)
        }
        if self.answer is not None and self.label is not None:
            found[self.label] = self.answer.target.reader(self.label, self.reading)
        return found

    def ways(
        self, readers: Mapping[str, Reader], ready: set[str] | frozenset[str] = frozenset()
    ) -> dict[str, Callable[[Any], Floats]]:
        """How an Arrow column of each name becomes numbers."""
        found: dict[str, Callable[[Any], Floats]] = {}
        for name, reader in readers.items():
            codes = nothing_of if self.reading.blank else read_already if name in ready else reader.codes
            finish = name == self.label and self.answer is not None
            found[name] = partial(_finished, self.answer.target, codes) if finish else codes  # type: ignore[union-attr]
        return found


def _finished(target: Any, codes: Callable[[Any], Floats], column: Any) -> Floats:
    return np.asarray(target.finish(codes(column)), dtype=np.float64)


def _from_files(paths: list[Path], ask: _Asked) -> Rows:
    import pyarrow as pa

    from mercer.sources.files import file_batches, keeps_places

    schema, tasks = file_batches(paths)
    if ask.answer is not None and ask.label is None:
        raise TypeError("y must be the name of a column where the data are a file")
    names = _chosen(schema.names, ask)
    readers = ask.readers(names)
    declared = keeps_places(paths)  # cells of CSV files are text of which no type is known
    for name, reader in readers.items():
        kind = schema.field(name).type  # of a CSV file only what the names of folders declare
        if declared or not pa.types.is_float64(kind):
            reader.check(kind)
    check_unit(schema, ask.unit)
    rows = Batches(tasks, names, ask.unit, ask.ways(readers))
    rows.fixed = declared
    return rows


def _from_table(data: Any, present: list[str], ask: _Asked) -> Rows:
    names = _chosen(present, ask)
    readers = ask.readers(names)
    table, ready = table_read(data, readers, ask.unit)
    check_unit(table.schema, ask.unit)
    ways = ask.ways(readers, ready)
    if ask.answer is not None and ask.label is None:
        import pyarrow as pa

        place = "y"
        while place in table.schema.names:
            place += "'"
        targets = answers_of(ask.answer, table.num_rows, ask.reading)
        table, ways[place] = table.append_column(place, pa.array(targets)), read_already
    return Batches(_slices(table), names, ask.unit, ways)


def _slices(table: Any) -> Callable[[list[str]], Iterator[Callable[[], Iterator[Any]]]]:
    def slices(wanted: list[str]) -> Iterator[Callable[[], Iterator[Any]]]:
        yield lambda: iter(table.select(wanted).to_batches())

    return slices


def _from_list(data: Sequence[Any], ask: _Asked) -> Rows:
    """Rows of Python objects.  How many columns there are is said by public arguments (M18)."""
    import pyarrow as pa

    if ask.columns is None and ask.dimension is None:
        if ask.bounds is not None:
            Domain.of(ask.bounds, ["x"])  # what is wrong with them is said first
        raise ValueError(
            "columns is missing: a list does not declare how many columns its rows have; name "
            "them with columns=…, give bounds for each, or hand in a numpy array"
        )
    named = _names_given(ask.columns)
    width = len(named) if named else ask.dimension or 1
    names = named or (["x"] if width == 1 else [f"x{i + 1}" for i in range(width)])
    if ask.unit in names:
        raise _unit_released(ask.unit)
    label = [] if ask.label is None else [ask.label]
    readers = ask.readers(names)
    if label and not named:
        raise ValueError(
            f"y = {ask.label!r} names a column, so the data must have named columns: hand in a "
            "data frame, an Arrow table or a file, or y as an array"
        )
    cells = in_rows(data, [*names, *label], ask.unit)
    columns = {name: pa.array(readers[name].objects(c)) for name, c in zip(readers, cells, strict=False)}
    ways = ask.ways(readers, set(readers))
    if ask.unit is not None:
        from mercer.sources.names import person_name

        names_of_persons = [person_name(value) for value in cells[-1]]
        columns[ask.unit] = pa.array(names_of_persons, pa.large_string())
    if ask.answer is not None and ask.label is None:
        columns["y'"] = pa.array(answers_of(ask.answer, len(data), ask.reading))
        ways["y'"] = read_already
    return Batches(_slices(pa.table(columns)), names, ask.unit, ways)


def _from_array(data: object, ask: _Asked) -> Rows:
    if ask.unit is not None:
        raise ValueError(
            "unit names a column, so the data must have named columns: hand in a data frame, an "
            "Arrow table, a file or a list of dictionaries"
        )
    array = _array_in(data)
    rows = array[:, None] if array.ndim == 1 else array
    names = _names_given(ask.columns)
    if not names:
        width = rows.shape[1]
        names = ["x"] if width == 1 else [f"x{i + 1}" for i in range(width)]
    if len(names) != rows.shape[1]:
        raise ValueError(
            f"columns must be {rows.shape[1]} name(s) for the columns of the array, got {len(names)}"
        )
    if ask.label is not None:
        raise ValueError(
            f"y = {ask.label!r} names a column, so the data must have named columns: hand in a "
            "data frame, an Arrow table or a file, or y as an array"
        )
    readers = list(ask.readers(names).values())
    if ask.reading.blank:
        rows = np.broadcast_to(np.nan, rows.shape)
        return ArrayRows(rows if ask.answer is None else np.full((len(rows), len(names) + 1), np.nan), names)
    plain = array.dtype.kind in "iufb" and not isinstance(array, np.ma.MaskedArray)
    if not plain:
        read = [codes_of(column, reader) for column, reader in zip(rows.T, readers, strict=True)]
        rows, readers = np.stack(read, axis=1), []
    elif all(reader.as_is for reader in readers):
        readers = []
    if ask.answer is None:
        return ArrayRows(rows, names, readers)
    if readers:
        read = [reader.array(column) for column, reader in zip(rows.T, readers, strict=True)]
        rows = np.stack(read, axis=1)
    targets = answers_of(ask.answer, len(rows), ask.reading)
    return ArrayRows(np.column_stack([np.asarray(rows, dtype=np.float64), targets]), names)


def _array_in(data: object) -> Any:
    """The array in whatever came, by its type and number of axes alone."""
    found = array_in(data)
    array: Any = np.empty((), dtype=object) if found is None else found
    if array.dtype.kind not in "iufbOMUS" or array.ndim not in (1, 2):
        raise TypeError(
            "data must be a file, a table or an array of numbers with one or two axes, or a list "
            f"of rows; got {type(data).__name__} of {array.dtype} with {array.ndim} axes"
        )
    return array


def _names_given(columns: object) -> list[str]:
    """Names as a caller gave them; none where columns were not named."""
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


def _chosen(present: list[str], ask: _Asked) -> list[str]:
    """The columns to release, of those that are there."""
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


def _check_there(what: str, name: str | None, present: list[str]) -> None:
    if name is not None and name not in present:
        raise ValueError(f"{what}: there is no column {name!r}; there are {listed(present)}")
    if name is not None and present.count(name) > 1:
        raise ValueError(f"column {name!r} stands {present.count(name)} times; rename it")


def _unit_released(unit: object) -> ValueError:
    return ValueError(f"unit must name a column that is not released, got {unit!r}; it names the person")
