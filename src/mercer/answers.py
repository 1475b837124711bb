"""Answers beside the rows they belong to.  Layer 2, left of the door: holds people's data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.checks import Floats
from mercer.frames import codes_of
from mercer.reading import Reading
from mercer.sensitive import Sensitive
from mercer.targets import Target

__all__ = ["Answer", "answers_of", "cells_of"]


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
    values = answer.values
    if isinstance(values, (list, tuple)):
        values = cells_of(values)
    if isinstance(values, np.ndarray) and values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    shape = np.shape(values) if isinstance(values, np.ndarray) else (_length(values, rows),)
    if shape != (rows,):
        raise ValueError(
            f"y must be one answer for each of the {rows} rows, got shape {shape}; or the name of "
            "a column"
        )
    return answer.target.finish(codes_of(values, answer.target.reader("y", reading)))


def _length(values: Any, rows: int) -> int:
    try:
        return len(values)
    except TypeError:
        raise TypeError(
            f"y must be one answer for each of the {rows} rows, or the name of a column; got "
            f"{type(values).__name__}"
        ) from None


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
