"""Answers beside the rows they belong to.  Left of the door: holds people's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.columns.reading import Reading
from mercer.common.checks import Floats
from mercer.sensitive.base import Sensitive
from mercer.sources.frames import codes_of
from mercer.sources.targets import Target

__all__ = ["Answer", "answers_of"]


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
