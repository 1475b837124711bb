"""The columns of a synthetic table as functions of it see them: what is misspelt is an error.

A comparison with a level that was never declared holds for no record; its share of zero would look
like an answer.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from mercer.columns.conditions import matches
from mercer.columns.kinds import Boolean, Column, labels_of
from mercer.columns.table import Domain
from mercer.common.checks import Bools, Floats

__all__ = ["RecordColumns"]


class _Levels(np.ndarray):
    """Levels of records, to be compared with declared levels alone."""

    column: Column | None = None

    def __array_finalize__(self, obj: Any) -> None:
        self.column = getattr(obj, "column", None)

    def _check(self, other: object) -> None:
        if self.column is not None and isinstance(other, (str, int, float, np.generic)):
            matches(self.column, np.zeros(1), other)

    def __eq__(self, other: object) -> Bools:  # type: ignore[override]
        self._check(other)
        return np.asarray(np.asarray(self) == other)

    def __ne__(self, other: object) -> Bools:  # type: ignore[override]
        self._check(other)
        return np.asarray(np.asarray(self) != other)

    __hash__ = None


class RecordColumns(dict[str, Any]):
    """Arrays of the values of records, by the names of their columns."""

    @classmethod
    def of(cls, domain: Domain, codes: Floats) -> RecordColumns:
        """The values of records with these codes."""
        found = cls()
        for column, own in zip(domain.columns, codes.T, strict=True):
            values = np.asarray(column.values(own))
            if labels_of(column) and not isinstance(column, Boolean):
                named = values.view(_Levels)
                named.column = column
                values = named
            found[column.name] = values
        return found

    def __missing__(self, name: str) -> NoReturn:
        raise ValueError(f"there is no column {name!r}; there are {', '.join(self)}")
