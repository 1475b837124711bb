"""Answers beside the rows they belong to.  Layer 2, left of the door: holds people's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.checks import Floats
from mercer.sensitive import Sensitive
from mercer.tables import numbers_of, objects_in
from mercer.targets import Target

__all__ = ["Answer", "answers_of", "beside", "cells_of", "taken_out"]


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


def beside(table: Any, answer: Answer) -> tuple[Any, Answer]:
    """A table with an array of answers as one column more."""
    import pyarrow as pa

    values = answers_of(answer, table.num_rows)
    name = "y"
    while name in table.schema.names:
        name += "'"
    return table.append_column(name, pa.array(values)), Answer(name, _Ready())


def taken_out(data: Any, answer: Answer) -> Answer:
    """The same answer; a data frame's column of Python objects as an array of them."""
    cells = objects_in(data, answer.column)
    return answer if cells is None else Answer(cells, answer.target)


class _Ready(Target):
    """Targets that were read already."""

    def check(self, kind: str, *, numeric: bool) -> None:
        pass

    def of_array(self, values: Any) -> Floats:
        return np.asarray(values, dtype=np.float64)

    def of_column(self, column: Any, name: str) -> Floats:
        return numbers_of(column, name)


def answers_of(answer: Answer, rows: int) -> Floats:
    """Targets of an array, one for each of so many rows."""
    given = answer.values
    values = cells_of(given)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1 or len(values) != rows:
        raise ValueError(
            f"y must be one answer for each of the {rows} rows, got shape {values.shape}; or the "
            "name of a column"
        )
    declared = getattr(given, "dtype", None)
    if isinstance(declared, np.dtype) and declared.kind not in "OUS":
        answer.target.check(str(declared), numeric=declared.kind in "iufb")
    return answer.target.of_array(values)


def cells_of(given: Any) -> Any:
    """Answers as an array.  What one cell is must not change how another is read."""
    if isinstance(given, np.ndarray):
        return given
    if isinstance(given, (list, tuple)):
        cells = [c[0] if isinstance(c, (list, tuple)) and len(c) == 1 else c for c in given]
        return np.fromiter(cells, dtype=object, count=len(cells))
    try:
        return np.asarray(given)
    except Exception:  # whatever a library says of a cell may show it
        raise TypeError(
            f"y must be an array or a column's name, got {type(given).__name__}"
        ) from None
