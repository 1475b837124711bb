"""The public domain of a table of mixed columns.

Everything here is public, on both sides of the door: the sensitive side reads records by it, a
synthetic table is written by it.  A record is a row of codes, one float64 a column.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mercer.columns.declared import column_from_dict, column_of, read_declarations
from mercer.columns.kinds import Column
from mercer.common.checks import Floats

__all__ = ["MOST_TABLE_COLUMNS", "Domain", "TableDomain"]

MOST_TABLE_COLUMNS = 64


@dataclass(frozen=True, init=False, repr=False)
class TableDomain:
    """Which records there may be: columns by name, each with bounds or levels.

    >>> from mercer import Domain
    >>> Domain({"age": (0, 100), "visits": range(0, 51), "sex": ["f", "m"], "smoker": bool})
    Domain(age in [0, 100], visits in {0..50}, sex in {f, m}, smoker in {false, true})
    """

    columns: tuple[Column, ...]

    def __init__(self, columns: Mapping[str, object] | Iterable[Column]) -> None:
        if isinstance(columns, Mapping):
            found = tuple(column_of(name, written) for name, written in columns.items())
        elif isinstance(columns, (list, tuple)) and all(isinstance(c, Column) for c in columns):
            found = tuple(columns)
        else:
            raise TypeError(
                "a domain must be columns by their names, for example "
                '{"age": (0, 100), "sex": ["f", "m"]}; got ' + type(columns).__name__
            )
        if not 1 <= len(found) <= MOST_TABLE_COLUMNS:
            raise ValueError(
                f"a domain must have 1 to {MOST_TABLE_COLUMNS} columns, got {len(found)}; release "
                "the columns of interest"
            )
        names = [column.name for column in found]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"column {twice[0]!r} stands more than once; leave one of them")
        object.__setattr__(self, "columns", found)

    @classmethod
    def read(cls, path: str | Path) -> TableDomain:
        """The domain that a JSON or YAML file declares."""
        columns = read_declarations(path)
        try:
            return cls(columns)
        except (TypeError, ValueError) as error:
            raise type(error)(f"domain: {Path(path).name}: {error}") from None

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> TableDomain:
        """The domain that `to_dict` gave."""
        columns = fields.get("columns")
        if not isinstance(columns, list) or not all(isinstance(c, Mapping) for c in columns):
            raise ValueError(f"domain: columns must be a list of columns, got {type(columns)!r}")
        return cls([column_from_dict(column) for column in columns])

    def to_dict(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {"columns": [column.to_dict() for column in self.columns]}

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def width(self) -> int:
        """Coordinates of an embedded record."""
        return sum(column.width for column in self.columns)

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Which embedded coordinates belong to each column."""
        ends = np.cumsum([column.width for column in self.columns]).tolist()
        return tuple(map(slice, [0, *ends], ends))

    @property
    def size(self) -> int | None:
        """Number of distinct records; None where a column is continuous."""
        counts = [column.levels_count for column in self.columns]
        return None if None in counts else math.prod(count for count in counts if count)

    def column(self, name: str) -> Column:
        """The column of that name."""
        for column in self.columns:
            if column.name == name:
                return column
        raise ValueError(f"there is no column {name!r}; there are {', '.join(self.names)}")

    def embed(self, codes: Floats) -> Floats:
        """Records as points, shape (n, width); NaN where a cell does not fit."""
        parts = zip(self.columns, self._apart(codes), strict=True)
        return np.concatenate([column.embed(part) for column, part in parts], axis=1)

    def from_unit(self, u: Floats) -> Floats:
        """Points of the unit cube, one coordinate a column, as records."""
        parts = zip(self.columns, self._apart(u), strict=True)
        return np.stack([column.from_unit(part) for column, part in parts], axis=1)

    def snap(self, codes: Floats) -> Floats:
        """The nearest records; NaN stays."""
        parts = zip(self.columns, self._apart(codes), strict=True)
        return np.stack([column.snap(part) for column, part in parts], axis=1)

    def table(self, codes: Floats) -> Any:
        """Records as an Arrow table."""
        import pyarrow as pa

        parts = zip(self.columns, self._apart(codes), strict=True)
        return pa.table({column.name: column.arrow(part) for column, part in parts})

    def rows(self, codes: Floats) -> list[dict[str, Any]]:
        """Records as values for people; None where a cell does not fit."""
        parts = zip(self.columns, self._apart(codes), strict=True)
        lists = [column.values(part) for column, part in parts]
        return [dict(zip(self.names, row, strict=True)) for row in zip(*lists, strict=True)]

    def describe(self, most: int = MOST_TABLE_COLUMNS) -> str:
        """`age in [0, 100], sex in {f, m}`; of more than `most` columns, the first and how many more."""
        more = self.dimension - most
        shown = ", ".join(column.describe() for column in self.columns[:most])
        return shown + (f" and {more} more column{'s' * (more > 1)}" if more > 0 else "")

    def __repr__(self) -> str:
        return f"Domain({self.describe()})"

    def _apart(self, codes: Floats) -> Floats:
        """Column by column."""
        codes = np.asarray(codes, dtype=np.float64)
        if codes.ndim != 2 or codes.shape[1] != self.dimension:
            raise ValueError(f"codes must have shape (records, {self.dimension}), got {codes.shape}")
        return codes.T


Domain = TableDomain  # its public name
