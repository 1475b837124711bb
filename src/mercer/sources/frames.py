"""Tables of any library as Arrow columns, or as codes.  Left of the door.

Only the columns asked for are looked at.  A column whose type is declared is checked by this type,
which is public; one of Python objects, or of categories that any cell may add to, is read cell by
cell.  No message of another library, which may show a cell, gets out (M18).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from mercer.columns.kinds import Unbounded
from mercer.common.checks import Floats
from mercer.sources.cells import Numbers, Reader
from mercer.sources.values import person_name

__all__ = [
    "ARROW",
    "SERIES",
    "array_in",
    "check_unit",
    "codes_of",
    "first_column",
    "in_rows",
    "is_a",
    "is_frame",
    "names_of",
    "nothing_of",
    "numbers_among",
    "read_already",
    "table_read",
    "tabled",
]

if TYPE_CHECKING:
    import pyarrow as pa

ARROW = ("pyarrow.Array", "pyarrow.ChunkedArray")
SERIES = ("pandas.Series", "pandas.Index", "pandas.ExtensionArray", "polars.Series", *ARROW)

Readers = Mapping[str, Reader]
T = TypeVar("T")


def is_a(data: object, *names: str) -> bool:
    """Whether data is of one of these classes of other libraries, or of a class derived from one."""
    kinds = (f"{c.__module__.split('.')[0]}.{c.__qualname__}" for c in type(data).__mro__)
    return not set(names).isdisjoint(kinds)


def is_frame(data: object) -> bool:
    """Whether data is a table with names of columns that scikit-learn can read."""
    return is_a(data, "pandas.DataFrame", "polars.DataFrame", "pyarrow.Table")


def tabled(data: T) -> T | pa.Table:
    """Batches of Arrow as the table they are; anything else as it is."""
    batches: Any = data
    if is_a(data, "pyarrow.RecordBatchReader"):
        return batches.read_all()
    if is_a(data, "pyarrow.RecordBatch"):
        import pyarrow as pa

        return pa.Table.from_batches([batches])
    return data


def first_column(frame: Any) -> object:
    """The first column of a data frame or an Arrow table, as its library gives it."""
    if is_a(frame, "pandas.DataFrame"):
        return frame.iloc[:, 0]
    return frame.to_series(0) if is_a(frame, "polars.DataFrame") else frame.column(0)


def names_of(data: Any) -> list[str] | None:
    """Names of the columns of a table or of a named column; None for anything else."""
    import pyarrow as pa

    if isinstance(data, (pa.Table, pa.RecordBatch, pa.RecordBatchReader)):
        return list(data.schema.names)
    if isinstance(data, (pa.Array, pa.ChunkedArray)):
        return ["value"]
    if is_a(data, "pandas.DataFrame", "polars.DataFrame"):
        if not all(isinstance(name, str) for name in data.columns):
            raise TypeError("columns of a data frame must have text names; rename them first")
        return list(data.columns)
    if is_a(data, "pandas.Series", "polars.Series"):
        return [str(data.name or "value")]
    return None


def table_read(data: Any, readers: Readers, unit: str | None) -> tuple[Any, set[str]]:
    """An Arrow table of the columns to read and the unit, and the columns that are codes already."""
    import pyarrow as pa

    data = tabled(data)
    if isinstance(data, (pa.Array, pa.ChunkedArray)):
        data = pa.table({next(iter(readers)): data})
    if isinstance(data, pa.Table):
        for name, reader in readers.items():
            reader.check(data.schema.field(name).type)
        return _named(data, [*readers, *([unit] if unit else [])]), set()
    single = is_a(data, "pandas.Series", "polars.Series")
    columns: dict[str, Any] = {}
    ready = set()
    for name, reader in readers.items():
        cells = data if single else data[name]
        found = _arrow_column(cells, reader)
        if found is None:
            found = pa.array(_one_by_one(cells, reader))
            ready.add(name)
        columns[name] = found
    if unit is not None:
        if list(data.columns).count(unit) > 1:
            raise ValueError(f"column {unit!r} stands more than once; rename it")
        columns[unit] = _unit_column(data[unit])
    return pa.table(columns), ready


def codes_of(values: Any, reader: Reader) -> Floats:
    """Codes of one column: an array, a list, or a column of any library."""
    import pyarrow as pa

    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        reader.check(values.type)
        whole = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
        return _joined(whole, reader)
    if isinstance(values, np.ndarray):
        return _of_array(values, reader)
    if is_a(values, "pandas.Index", "pandas.ExtensionArray"):
        import pandas as pd

        values = pd.Series(values)
    if is_a(values, *SERIES):
        found = _arrow_column(values, reader)
        return _one_by_one(values, reader) if found is None else _joined(found, reader)
    return reader.objects(list(values))


def numbers_among(cells: Any, name: str = "x") -> Floats:
    """Cells as doubles, NaN where one is not a number; a declared type without any is refused."""
    return codes_of(cells, Numbers(Unbounded(name)))


def array_in(data: object) -> NDArray[Any] | None:
    """The array in anything that says by its type that it is one; None for anything else."""
    if isinstance(data, np.ndarray):
        return data
    if getattr(type(data), "__array__", None) is not None:  # else a cell would say the type
        with suppress(Exception):  # whatever it says may show a record
            return np.asarray(data)
    return None


def in_rows(data: Sequence[Any], names: Sequence[str], unit: str | None) -> list[list[Any]]:
    """Cells by column of a list of rows: each a mapping by name, or a sequence in order.

    What a row is follows from the names alone: where there is one column, anything that is no
    mapping and no sequence is its cell.  A row of another kind or length has no values, and a key
    that is not there is a missing cell (M18).  The last column is the unit's, if there is one.
    """
    wanted = [*names, *([unit] if unit else [])]
    rows = [_cells_of(row, len(names), wanted) for row in data]
    return [[row[place] for row in rows] for place in range(len(wanted))]


def nothing_of(column: Any) -> Floats:
    """As many missing cells as a column has: a dry run looks at none of them."""
    return np.full(len(column), np.nan)


def read_already(column: Any) -> Floats:
    """The codes in an Arrow column that was read before, from Python objects."""
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)


def check_unit(schema: Any, unit: str | None) -> None:
    """Refuse a unit column whose declared type cannot hold names of persons."""
    import pyarrow as pa

    if unit is not None:
        kind = schema.field(unit).type
        if pa.types.is_nested(kind) and not pa.types.is_dictionary(kind):
            raise TypeError(f"unit {unit!r} must hold plain names or numbers, its type is {kind}")


def _cells_of(row: Any, width: int, wanted: Sequence[str]) -> list[Any]:
    empty = [None] * len(wanted)
    try:
        if isinstance(row, Mapping):
            return [row.get(name) for name in wanted]
        if isinstance(row, np.ma.MaskedArray):
            row = np.ma.filled(row.astype(object), None)
        if isinstance(row, (list, tuple, np.ndarray)):
            cells = list(row)
            return [*cells, None][: len(wanted)] if len(cells) == width else empty
    except Exception:  # of a type of its own; whatever it says may show the record
        return empty
    return [row, None][: len(wanted)] if width == 1 else empty


def _joined(column: Any, reader: Reader) -> Floats:
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        parts = [reader.codes(part) for part in column.chunks]
        return np.concatenate([np.zeros(0), *parts])
    return reader.codes(column)


def _of_array(values: Any, reader: Reader) -> Floats:
    """Codes of an array, with any number of axes where cells are numbers or objects, else with one."""
    import pyarrow as pa

    if isinstance(values, np.ma.MaskedArray) and values.dtype.kind != "O":
        codes = _of_array(np.asarray(values.data), reader)
        return np.where(np.ma.getmaskarray(values), np.nan, codes)
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values, None)
    kind = values.dtype.kind
    if kind == "O":
        return reader.objects(values.reshape(-1).tolist()).reshape(values.shape)
    _check_array(values.dtype, reader)
    if kind in "iufb":
        return reader.array(values)
    if kind == "M":
        days = values.astype("datetime64[D]")
        missing = np.isnat(days)
        numbers = np.where(missing, 0, days.astype(np.int64)).astype(np.int64)
        near = np.clip(numbers, -(2**31), 2**31 - 1).astype(np.int32)
        return reader.codes(pa.array(near, mask=missing).cast(pa.date32()))
    return reader.objects(values.tolist())  # text


def _check_array(dtype: Any, reader: Reader) -> None:
    """Refuse an array whose declared type, which is public, cannot hold the column."""
    import pyarrow as pa

    kinds = {
        "i": pa.int64(),
        "u": pa.uint64(),
        "f": pa.float64(),
        "b": pa.bool_(),
        "M": pa.timestamp("s"),
        "U": pa.string(),
        "S": pa.binary(),
    }
    if dtype.kind not in kinds:
        reader.check(pa.duration("s") if dtype.kind == "m" else pa.struct([(str(dtype), pa.null())]))
        return
    reader.check(kinds[dtype.kind])


def _arrow_column(cells: Any, reader: Reader) -> Any:
    """A data frame's column as an Arrow array, its type checked; None if it is read cell by cell."""
    import pyarrow as pa

    kind = str(cells.dtype).lower()
    library = type(cells).__module__.split(".")[0]
    if kind == "object" or (library == "pandas" and kind == "category"):
        return None  # any cell may be of another type
    text = library == "pandas" and (kind.startswith(("str", "string")))
    if text:
        reader.check(pa.large_string())
    try:
        found = cells.to_arrow() if library == "polars" else pa.Array.from_pandas(cells)
    except Exception:  # whatever a library says of a cell may show it
        if text or kind.startswith("sparse"):
            return None
        raise TypeError(
            f"column {cells.name!r} of type {cells.dtype} cannot be read; convert it to numbers, "
            "text, booleans or dates first"
        ) from None
    reader.check(found.type)
    return found


def _one_by_one(cells: Any, reader: Reader) -> Floats:
    """Codes of a column of Python objects; each category of a categorical column is read once."""
    if str(cells.dtype) == "category":
        levels = np.append(reader.objects(list(cells.cat.categories)), np.nan)
        return levels[cells.cat.codes.to_numpy()]
    return reader.objects(list(cells))


def _named(table: Any, names: list[str]) -> Any:
    """The named columns of an Arrow table; all of its columns where two have the same name."""
    present = table.schema.names
    return table if len(set(present)) < len(present) else table.select(names)


def _unit_column(column: Any) -> Any:
    """A column of names of persons as an Arrow array, cell by cell where Arrow may not know the type."""
    import pyarrow as pa

    python = column.dtype == object or getattr(column.dtype, "storage", "") == "python"
    with suppress(Exception):  # of a type that Arrow does not know: every cell by itself
        if is_a(column, "polars.Series"):
            return column.to_arrow()
        if str(column.dtype) == "category":
            names = pa.array(list(map(person_name, column.cat.categories)), pa.large_string())
            places = column.cat.codes.to_numpy()
            return pa.DictionaryArray.from_arrays(pa.array(places, mask=places < 0), names)
        if not python:
            return pa.Array.from_pandas(column)
    return pa.array(list(map(person_name, column)), pa.large_string())
