"""Synthetic records as files for other programs.  Right of the door."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mercer.common.checks import Floats
from mercer.promise.statement import Statement

if TYPE_CHECKING:
    import pyarrow

__all__ = ["with_weights", "write_csv", "write_parquet"]

WEIGHT = "weight"


def with_weights(table: pyarrow.Table, weights: Floats) -> pyarrow.Table:
    """An Arrow table with a last column of weights."""
    import pyarrow as pa

    name = WEIGHT
    while name in table.schema.names:
        name += "_"
    return table.append_column(name, pa.array(weights))


def write_csv(table: pyarrow.Table, path: Path) -> Path:
    """Write an Arrow table as text."""
    import pyarrow as pa
    import pyarrow.csv as csv

    plain = [  # categories as text
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    csv.write_csv(pa.table(plain, names=table.schema.names), path)
    return path


def write_parquet(table: pyarrow.Table, path: Path, privacy: Statement) -> Path:
    """Write an Arrow table, with the promise beside it."""
    import pyarrow.parquet as pq

    about = {b"mercer.privacy": str(privacy).encode()}
    pq.write_table(table.replace_schema_metadata({**(table.schema.metadata or {}), **about}), path)
    return path
