"""Rows that a recipient of a release brings along, read as those of the records.  Right of the door.

They are the recipient's own, not the records behind the release: what does not fit is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mercer.columns.table import TableDomain
from mercer.common.checks import Floats
from mercer.sources.cells import reader_of
from mercer.sources.frames import codes_of, is_a

__all__ = ["own_codes"]


def own_codes(rows: object, domain: TableDomain) -> Floats:
    """Codes of a data frame, an Arrow table, a mapping of columns, a list of records or an array.

    Numbers outside the bounds are clipped, as those of the records were.
    """
    columns = _columns(rows, domain)
    lengths = {len(values) for values in columns}
    if len(lengths) != 1 or lengths == {0}:
        raise ValueError("rows must be one or more, with as many values in every column")
    coded = [
        codes_of(cells, reader_of(column)) for column, cells in zip(domain.columns, columns, strict=True)
    ]
    for column, codes in zip(domain.columns, coded, strict=True):
        if lost := int(np.sum(np.isnan(codes))):
            raise ValueError(
                f"rows: column {column.name!r} has {lost} value(s) that do not fit "
                f"({column.describe()}); leave those rows out"
            )
    return np.stack(coded, axis=1)


def _columns(rows: Any, domain: TableDomain) -> list[Any]:
    if isinstance(rows, np.ndarray):
        if rows.ndim != 2 or rows.shape[1] != domain.dimension:
            raise ValueError(
                f"rows must have {domain.dimension} columns ({', '.join(domain.names)}), got shape "
                f"{rows.shape}"
            )
        return list(rows.T)
    listed = isinstance(rows, (list, tuple)) and rows
    if listed and all(isinstance(row, (list, tuple)) for row in rows):
        if any(len(row) != domain.dimension for row in rows):
            raise ValueError(f"rows must have {domain.dimension} values each")
        return list(zip(*rows, strict=True))
    if listed and all(isinstance(row, Mapping) for row in rows):
        return [[row.get(name) for row in rows] for name in domain.names]
    present: Sequence[Any]
    if is_a(rows, "pyarrow.Table", "pyarrow.RecordBatch"):
        present = rows.schema.names
    elif is_a(rows, "pandas.DataFrame", "polars.DataFrame"):
        present = list(rows.columns)
    elif isinstance(rows, Mapping):
        present = list(rows)
    else:
        raise TypeError(
            "rows must be a data frame, an Arrow table, an array, or a list of records; got "
            f"{type(rows).__name__}"
        )
    missing = [name for name in domain.names if name not in present]
    if missing:
        raise ValueError(f"rows: there is no column {missing[0]!r}; there are {', '.join(map(str, present))}")
    return [rows[name] for name in domain.names]
