"""Any source of rows as chunks of numbers, and answers beside them.  Left of the door.

Nothing here may be printed, pickled or copied to disk, and no error may depend on the value of
a record (M18): text that is not a number, missing and infinite values become NaN and follow the
public rule of the summary that reads them.  Names and types of columns are public.  Cells are
read by `sources.cells`, as those of every other kind of release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from mercer.columns.domain import Domain
from mercer.columns.reading import PLAIN, Reading
from mercer.columns.rules import listed
from mercer.common.checks import Floats, check_column
from mercer.sensitive.base import Sensitive
from mercer.sensitive.rows import (
    ArrayRows,
    FoundCells,
    Readers,
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
from mercer.sources.folders import paths_of
from mercer.sources.frames import array_in, codes_of, names_of, read_already
from mercer.sources.targets import Target

__all__ = ["Answer", "answers_of", "open_rows"]


@dataclass(frozen=True, repr=False)
class Answer(Sensitive):
    """What is to be learnt: the name of a column, or an array beside the rows, and how to read it.

    Chunks of rows with an answer have one column more, the last, of targets.
    """

    values: Any
    target: Target

    @property
    def column(self) -> str | None:
        """Its column, where it is one of the data's."""
        return self.values if isinstance(self.values, str) else None


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
    ask = _Asked(columns, check_column("unit", unit), dimension, bounds, answer, reading)
    if (paths := paths_of(data)) is not None:
        found = in_files(paths, ask.chosen, ask.unit)
        if ask.answer is not None and ask.label is None:
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
    if ask.answer is not None and ask.label is None:
        import pyarrow as pa

        place = "y"
        while place in table.schema.names:
            place += "'"
        targets = answers_of(ask.answer, table.num_rows, ask.reading)
        table, ways[place] = table.append_column(place, pa.array(targets)), read_already
    return StreamedRows(slices(table), ask.names_in(found), ask.unit, ways)


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

    def _readers(self, names: Sequence[str]) -> dict[str, Reader]:
        """A reader for each column, and for the column of answers, the last."""
        label = [] if self.label is None else [self.label]
        self.reading.check_names([*names, *label, *(["y"] if self.answer and not label else [])])
        kinds = Domain.columns_of(self.bounds, names, drops=self.reading.outside == "drop")
        found = {
            name: reader_of(kind, self.reading.of_column(name))
            for name, kind in zip(names, kinds, strict=True)
        }
        if self.answer is not None and self.label is not None:
            found[self.label] = self.answer.target.reader(self.label, self.reading)
        return found

    def chosen(self, present: list[str]) -> Readers:
        """Readers of the columns to release, of those that are there."""
        return self._readers(_chosen(present, self))

    def of_list(self) -> Readers:
        """Readers of the columns of a list, of which public arguments say how many there are (M18)."""
        if self.columns is None and self.dimension is None:
            if self.bounds is not None:
                Domain.of(self.bounds, ["x"])  # what is wrong with them is said first
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
        """Readers of the columns of an array, which has so many."""
        names = _names_given(self.columns) or _plain_names(width)
        if len(names) != width:
            raise ValueError(
                f"columns must be {width} name(s) for the columns of the array, got {len(names)}"
            )
        if self.label is not None:
            raise _unnamed_label(self.label)
        return self._readers(names)

    def names_in(self, found: FoundCells) -> list[str]:
        """Columns that are no answers."""
        return [name for name in found.readers if name != self.label]

    def ways(self, found: FoundCells) -> dict[str, Way]:
        """How an Arrow column of each name becomes numbers, that of answers to learn from."""
        ways = ways_of(found, list(found.readers) if self.reading.blank else ())
        if self.answer is not None and self.label is not None:
            ways[self.label] = partial(_finished, self.answer.target, ways[self.label])
        return ways


def _finished(target: Any, codes: Way, column: Any) -> Floats:
    return np.asarray(target.finish(codes(column)), dtype=np.float64)


def _array_rows(data: object, ask: _Asked) -> Rows:
    check_no_unit(ask.unit)
    array = _array_in(data)
    rows = array[:, None] if array.ndim == 1 else array
    chosen = ask.of_array(rows.shape[1])
    names, readers = list(chosen), list(chosen.values())
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


def answers_of(answer: Answer, rows: int, reading: Reading) -> Floats:
    """Targets of an array, one for each of so many rows."""
    values = _column_in(answer.values)
    shape = values.shape if isinstance(values, np.ndarray) else (_length(values, rows),)
    if shape != (rows,):
        raise ValueError(
            f"y must be one answer for each of the {rows} rows, got shape {shape}; or the name of a column"
        )
    return answer.target.finish(codes_of(values, answer.target.reader("y", reading)))


def _column_in(values: Any) -> Any:
    """The column of a frame or an array that has one; a list as it is, its cells taken out."""
    if isinstance(values, (list, tuple)):
        cells = [c[0] if isinstance(c, (list, tuple)) and len(c) == 1 else c for c in values]
        return np.fromiter(cells, dtype=object, count=len(cells))
    if isinstance(values, np.ndarray):
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    shape = getattr(values, "shape", ())
    if isinstance(shape, tuple) and len(shape) == 2:  # a frame or a table
        if shape[1] != 1:
            raise ValueError(f"y must be one column of answers, got {shape[1]}; name one of them")
        match type(values).__module__.split(".")[0]:
            case "pandas":
                return values.iloc[:, 0]
            case "polars":
                return values.to_series(0)
        return values.column(0)
    return values


def _length(values: Any, rows: int) -> int:
    try:
        return len(values)
    except TypeError:
        raise TypeError(
            f"y must be one answer for each of the {rows} rows, or the name of a column; got "
            f"{type(values).__name__}"
        ) from None
