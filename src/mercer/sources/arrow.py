"""Tables of other libraries as Arrow columns, and columns as numbers.  Left of the door.

Only the columns asked for are looked at, and no message of another library, which may show a
cell, gets out.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from mercer.common.checks import Floats
from mercer.sources.names import person_name

__all__ = ["named", "names_of", "numbers_of", "person_name", "unit_of"]

_NUMBER = r"^[ \t]*[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?[ \t]*$"


def _kind(data: Any) -> str:
    """`pandas.DataFrame` and so on, wherever the class is defined."""
    return f"{type(data).__module__.split('.')[0]}.{type(data).__qualname__}"


def names_of(data: Any) -> list[str] | None:
    """Columns of a table or a named column, or None for anything else."""
    import pyarrow as pa

    if isinstance(data, (pa.Table, pa.RecordBatch)):
        return list(data.schema.names)
    if isinstance(data, pa.RecordBatchReader):
        return list(data.schema.names)
    if isinstance(data, (pa.Array, pa.ChunkedArray)):
        return ["value"]
    if _kind(data) in ("pandas.DataFrame", "polars.DataFrame"):
        if not all(isinstance(name, str) for name in data.columns):
            raise TypeError("columns of a data frame must have text names; rename them first")
        return list(data.columns)
    if _kind(data) in ("pandas.Series", "polars.Series"):
        return [str(data.name or "value")]
    return None


def named(table: Any, names: list[str]) -> Any:
    """The named columns of an Arrow table; all of them where two have one name."""
    present = table.schema.names
    return table if len(set(present)) < len(present) else table.select(names)


def unit_of(data: Any, unit: str) -> Any:
    """The column of a data frame that names the persons, as Arrow's; no other is looked at."""
    if list(data.columns).count(unit) > 1:
        raise ValueError(f"column {unit!r} stands more than once; rename it")
    return _unit_column(data[unit])


def _unit_column(column: Any) -> Any:
    """Names of persons: cell by cell where one of them could be none of Arrow's."""
    import pyarrow as pa

    python = column.dtype == object or getattr(column.dtype, "storage", "") == "python"
    with suppress(Exception):  # of a type that Arrow does not know: every cell by itself
        if _kind(column).startswith("polars"):
            return column.to_arrow()
        if str(column.dtype) == "category":
            names = pa.array(list(map(person_name, column.cat.categories)), pa.large_string())
            places = column.cat.codes.to_numpy()
            return pa.DictionaryArray.from_arrays(pa.array(places, mask=places < 0), names)
        if not python:
            return pa.Array.from_pandas(column)
    return pa.array(list(map(person_name, column)), pa.large_string())


def numbers_of(column: Any, name: str) -> Floats:
    """An Arrow column as doubles, nulls as NaN; no message of Arrow's, which may show a cell."""
    import pyarrow as pa

    try:
        return _converted(column)
    except pa.ArrowException:
        raise TypeError(f"column {name!r} cannot be read as numbers; convert it first") from None


def _converted(column: Any) -> Floats:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        # a CSV file's text: what is not a number is missing
        text = pc.if_else(pc.match_substring_regex(column, _NUMBER), column, None)
        column = pc.cast(pc.utf8_trim_whitespace(pc.cast(text, pa.large_string())), pa.float64())
    elif pa.types.is_boolean(column.type):
        column = pc.cast(pc.cast(column, pa.uint8()), pa.float64())
    elif not pa.types.is_float64(column.type):
        column = pc.cast(column, pa.float64(), safe=False)
    return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
