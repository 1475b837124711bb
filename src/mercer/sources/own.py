"""Rows that a recipient of a release brings along.  Right of the door.

They are the recipient's own, not the records behind the release: what does not fit is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

import numpy as np

from mercer.columns.kinds import Categorical, Column, Ordered
from mercer.columns.table import TableDomain
from mercer.common.checks import Floats

__all__ = ["codes_of"]

_EPOCH = date(1970, 1, 1).toordinal()


def codes_of(rows: object, domain: TableDomain) -> Floats:
    """Codes of a data frame, an Arrow table, a mapping of columns, a list of records or an array.

    Numbers outside the bounds are clipped, as those of the records were.
    """
    columns = _columns(rows, domain)
    lengths = {len(values) for values in columns}
    if len(lengths) != 1 or lengths == {0}:
        raise ValueError("rows must be one or more, with as many values in every column")
    coded = [_encode(column, values) for column, values in zip(domain.columns, columns, strict=True)]
    return domain.snap(np.stack(coded, axis=1))


def _columns(rows: Any, domain: TableDomain) -> list[Sequence[Any]]:
    named: Any = None
    if isinstance(rows, Mapping):
        named = rows
    elif isinstance(rows, np.ndarray):
        if rows.ndim != 2 or rows.shape[1] != domain.dimension:
            raise ValueError(
                f"rows must have {domain.dimension} columns ({', '.join(domain.names)}), got shape "
                f"{rows.shape}"
            )
        return [list(column) for column in rows.T]
    elif isinstance(rows, (list, tuple)) and rows and all(isinstance(r, Mapping) for r in rows):
        named = {name: [row.get(name) for row in rows] for name in domain.names}
    elif isinstance(rows, (list, tuple)) and rows and all(isinstance(r, (list, tuple)) for r in rows):
        if any(len(row) != domain.dimension for row in rows):
            raise ValueError(f"rows must have {domain.dimension} values each")
        return [list(column) for column in zip(*rows, strict=True)]
    else:
        named = _frame(rows)
    missing = [name for name in domain.names if name not in named]
    if missing:
        raise ValueError(f"rows: there is no column {missing[0]!r}; there are {', '.join(named)}")
    return [list(named[name]) for name in domain.names]


def _frame(rows: Any) -> Mapping[str, list[Any]]:
    """Columns of an Arrow table, or of a data frame of pandas or polars."""
    kind = f"{type(rows).__module__.split('.')[0]}.{type(rows).__qualname__}"
    if kind in ("pyarrow.Table", "pyarrow.RecordBatch"):
        return {name: rows.column(name).to_pylist() for name in rows.schema.names}
    if kind == "pandas.DataFrame":
        return {str(name): rows[name].tolist() for name in rows.columns}
    if kind == "polars.DataFrame":
        return {name: rows[name].to_list() for name in rows.columns}
    raise TypeError(
        "rows must be a data frame, an Arrow table, an array, or a list of records; got "
        f"{type(rows).__name__}"
    )


def _encode(column: Column, values: Sequence[Any]) -> Floats:
    if isinstance(column, (Categorical, Ordered)):
        known = {level: float(i) for i, level in enumerate(column.levels)}
        known |= {str(level): code for level, code in known.items()}
        other = float(len(column.levels)) if isinstance(column, Categorical) and column.other else np.nan
        found = [known.get(value, other) if _plain(value) else np.nan for value in values]
    else:
        found = [_number(value) for value in values]
    codes = np.array(found, dtype=float)
    if not np.all(np.isfinite(codes)):
        raise ValueError(
            f"rows: column {column.name!r} has {int(np.sum(~np.isfinite(codes)))} value(s) that do "
            f"not fit ({column.describe()}); leave those rows out"
        )
    return codes


def _plain(value: object) -> bool:
    return isinstance(value, (str, int, float, np.generic))


def _number(value: Any) -> float:
    if isinstance(value, datetime):
        value = value.date()
    if isinstance(value, date):
        return float(value.toordinal() - _EPOCH)
    if isinstance(value, np.datetime64):
        return float(value.astype("datetime64[D]").astype(int))
    if isinstance(value, str):
        try:
            return float(date.fromisoformat(value).toordinal() - _EPOCH)
        except ValueError:
            return np.nan
    return float(value) if isinstance(value, (int, float, np.number, np.bool_)) else np.nan
