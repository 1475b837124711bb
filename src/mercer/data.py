"""Any source of records as chunks of numbers.  Layer 2, left of the door: holds people's data.

Nothing here may be printed, pickled or copied to disk, and no error may depend on the value of
a record (M18): text that is not a number, missing and infinite values become NaN and follow the
public rule of the summary that reads them.  Names and types of columns are public.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from mercer.answers import Answer, answers_of, beside, taken_out
from mercer.checks import Floats
from mercer.folders import paths_of
from mercer.headers import listed
from mercer.sensitive import Sensitive
from mercer.tables import names_of, numbers_among, numbers_of, table_of

__all__ = ["CHUNK", "Rows", "Sensitive", "open_rows"]

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
        """Have `tick` called with the rows of each chunk as it is read."""
        self._tick = tick

    _tick: Callable[[int], None] = staticmethod(lambda _rows: None)

    def columnwise(self) -> bool:
        """Have chunks come as lists of columns, if that saves work; whether they do."""
        return False


class _Array(Rows):
    def __init__(self, columns: Floats, names: Sequence[str]) -> None:
        super().__init__(names, None)
        self._columns = columns

    def parts(self) -> Iterator[Callable[[], Iterator[Floats]]]:
        yield self._whole

    def _whole(self) -> Iterator[Floats]:
        step = _step(self._columns.shape[1])
        for start in range(0, len(self._columns), step):
            part = self._columns[start : start + step]
            self._tick(len(part))
            yield np.asarray(part, dtype=np.float64)

    def persons(self) -> Iterator[Any]:
        return iter(())


class _Batches(Rows):
    """Anything Arrow can stream: tables, data frames, files."""

    workers = 2
    apart = False  # chunks as lists of columns

    def __init__(
        self,
        tasks: Callable[[list[str]], Iterator[Callable[[], Iterator[Any]]]],
        names: Sequence[str],
        unit: str | None,
        answer: Answer | None,
    ) -> None:
        super().__init__(names, unit)
        self._tasks, self._answer = tasks, answer
        label = [answer.column] if answer is not None and answer.column else []
        # always read together: a table may be cut differently in each of its columns
        self._wanted = list(dict.fromkeys([*self.names, *label, *([unit] if unit else [])]))
        self._step = _step(len(self.names) + len(label))

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
        columns = [numbers_of(batch.column(name), name) for name in self.names]
        if self._answer is not None and self._answer.column:
            label = self._answer.column
            columns.append(self._answer.target.of_column(batch.column(label), label))
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


def open_rows(
    data: object,
    *,
    columns: object,
    unit: object,
    dimension: int | None,
    answer: Answer | None = None,
) -> Rows:
    """Rows of whatever the caller handed in; errors name columns and types, never values.

    `dimension` is the number of columns the bounds speak of, to choose when none are named.
    """
    if isinstance(data, Rows):
        return data
    if unit is not None and not isinstance(unit, str):
        raise TypeError(f"unit must be the name of a column, got {type(unit).__name__}")
    if (paths := paths_of(data)) is not None:
        from mercer.files import file_batches, keeps_places

        schema, tasks = file_batches(paths)
        if answer is not None and answer.column is None:
            raise TypeError("y must be the name of a column where the data are a file")
        rows = _from_schema(schema, tasks, columns, unit, dimension, answer)
        rows.fixed = keeps_places(paths)
        return rows
    names = names_of(data)
    if names is None:
        return _from_array(data, columns, unit, answer, dimension)
    label = None if answer is None else answer.column
    chosen = _choose(names, columns, unit, dimension, label)
    if answer is not None and label is not None:
        answer = taken_out(data, answer)
        label = answer.column
    table = table_of(data, [*chosen, *([label] if label else [])], unit)
    if answer is not None and label is None:
        table, answer = beside(table, answer)

    def slices(wanted: list[str]) -> Iterator[Callable[[], Iterator[Any]]]:
        yield lambda: iter(table.select(wanted).to_batches())

    return _from_schema(table.schema, slices, chosen, unit, dimension, answer)


def _from_schema(
    schema: Any,
    tasks: Callable[[list[str]], Iterator[Callable[[], Iterator[Any]]]],
    columns: object,
    unit: str | None,
    dimension: int | None,
    answer: Answer | None,
) -> Rows:
    import pyarrow as pa

    label = None if answer is None else answer.column
    names = _choose(schema.names, columns, unit, dimension, label)
    if unit in names:
        raise ValueError(
            f"unit must name a column that is not released, got {unit!r}; it names the person"
        )
    for name in [*names, *([unit] if unit else []), *([label] if label else [])]:
        if schema.names.count(name) > 1:
            raise ValueError(f"column {name!r} stands {schema.names.count(name)} times; rename it")
    for name in names:
        kind = schema.field(name).type
        numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if not (numeric or pa.types.is_decimal(kind) or pa.types.is_boolean(kind)):
            raise TypeError(
                f"column {name!r} must be numeric, its type is {kind}; convert it first, or choose "
                f"another column with columns=…"
            )
    if unit is not None:
        kind = schema.field(unit).type
        if pa.types.is_nested(kind) and not pa.types.is_dictionary(kind):
            raise TypeError(f"unit {unit!r} must hold plain names or numbers, its type is {kind}")
    if label is not None and pa.types.is_nested(schema.field(label).type):
        raise TypeError(
            f"y {label!r} must hold plain values, its type is {schema.field(label).type}"
        )
    return _Batches(tasks, names, unit, answer)


def _choose(
    present: list[str],
    columns: object,
    unit: str | None,
    dimension: int | None,
    label: str | None = None,
) -> list[str]:
    if columns is None:
        names = [name for name in present if name not in (unit, label)]
        if dimension is not None and len(names) != dimension:
            raise ValueError(
                f"columns is missing: bounds speak of {dimension} column(s) and the data have "
                f"{listed(present)}; name the ones to release with columns=…"
            )
    elif isinstance(columns, str):
        names = [columns]
    elif isinstance(columns, Sequence) and all(isinstance(name, str) for name in columns):
        names = list(columns)
    else:
        raise TypeError(
            f"columns must be a column's name or a list of names, got {type(columns).__name__}"
        )
    if not names or len(set(names)) < len(names):
        raise ValueError(f"columns must be one or more different names, got {listed(names)}")
    if label in names:
        raise ValueError(f"y names the column {label!r}, which is among the columns to learn from")
    for name in [*names, *([unit] if unit else []), *([label] if label else [])]:
        if name not in present:
            what = "unit" if name == unit else "y" if name == label else "columns"
            raise ValueError(f"{what}: there is no column {name!r}; there are {listed(present)}")
    return names


def _even(data: Sequence[Any], width: int) -> Any:
    """Rows of one length; one of another length is a row without values (M18)."""
    if width == 1:
        return np.fromiter(data, dtype=object, count=len(data))
    empty = [None] * width
    rows = [row if isinstance(row, (list, tuple)) and len(row) == width else empty for row in data]
    flat = [cell for row in rows for cell in row]
    return np.fromiter(flat, dtype=object, count=len(flat)).reshape(len(rows), width)


def _from_array(
    data: object, columns: object, unit: str | None, answer: Answer | None, dimension: int | None
) -> Rows:
    if unit is not None:
        raise ValueError(
            "unit names a column, so the data must have named columns: hand in a data frame, an "
            "Arrow table or a file"
        )
    try:
        array = np.asarray(data)
        if array.dtype.kind not in "iufb" and isinstance(data, (list, tuple)):
            array = np.asarray(data, dtype=object)
    except Exception:
        array = np.empty((), dtype=object)
        if isinstance(data, (list, tuple)):  # ragged: what is no number, or row, is missing
            width = len(columns) if isinstance(columns, (list, tuple)) else dimension or 1
            array = _even(data, width)
    if array.dtype == object and array.ndim:  # among objects, what is no number is missing
        array = numbers_among(array)
    if array.dtype.kind not in "iufb" or array.ndim not in (1, 2):
        raise TypeError(
            "data must be a file, a table or an array of numbers with one or two axes; got "
            f"{type(data).__name__} with {array.ndim} axes"
        )
    rows = array[:, None] if array.ndim == 1 else array
    if columns is None:
        width = rows.shape[1]
        names = ["x"] if width == 1 else [f"x{i + 1}" for i in range(width)]
    else:
        names = [columns] if isinstance(columns, str) else list(columns)  # type: ignore[call-overload]
        if len(names) != rows.shape[1] or not all(isinstance(name, str) for name in names):
            raise ValueError(
                f"columns must be {rows.shape[1]} name(s) for the columns of the array, got "
                f"{len(names)}"
            )
    if answer is None:
        return _Array(rows, names)
    if answer.column is not None:
        raise ValueError(
            f"y = {answer.column!r} names a column, so the data must have named columns: hand in a "
            "data frame, an Arrow table or a file, or y as an array"
        )
    targets = answers_of(answer, len(rows))
    return _Array(np.column_stack([np.asarray(rows, dtype=np.float64), targets]), names)
