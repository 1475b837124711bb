"""Margins of a table from the fields of their file.  Everything is checked."""

from __future__ import annotations

import math
from typing import Any

from mercer.columns.cells import Axes
from mercer.common.fields import Fields
from mercer.noise.count_laws import count_law_from_dict
from mercer.promise.statement import Statement
from mercer.releases.counts.margin_parts import MOST_CELLS
from mercer.releases.counts.margins import MarginsRelease
from mercer.releases.counts.storage import whole_numbers

__all__ = ["margins_from"]


def margins_from(top: Fields, privacy: Statement) -> MarginsRelease:
    """Released margins; ValueError says what is wrong."""
    axes = Axes.from_dict(top.get("domain", dict))
    sets = tuple(_places(chosen, axes.dimension) for chosen in top.get("sets", list))
    values = top.get("values", list)
    if len(values) != len(sets):
        raise ValueError("values must be one list for each of the sets")
    shapes = [tuple(axes.sizes[place] for place in chosen) for chosen in sets]
    if sum(max(math.prod(shape), 2 ** len(shape)) for shape in shapes) > MOST_CELLS:
        raise ValueError(f"margins must have at most {MOST_CELLS} cells together")
    raw = []
    for counts, shape in zip(values, shapes, strict=True):
        if not isinstance(counts, list) or len(counts) != math.prod(shape):
            raise ValueError("values must be one count for each cell of a margin")
        raw.append(whole_numbers(counts, "values").reshape(shape))
    single = tuple(top.get("single", list))
    if len(single) != len(sets) or not all(isinstance(alone, bool) for alone in single):
        raise ValueError("single must be true or false for each of the sets")
    each = top.get("rows_each", int)
    if not 1 <= each <= 1 << 20:
        raise ValueError("rows_each must be a whole number from 1")
    return MarginsRelease(
        domain=axes,
        privacy=privacy,
        sets=sets,
        raw=tuple(raw),
        noise=count_law_from_dict(top.get("noise", dict)),
        single=single,
        complete=top.get("complete", bool),
        rows_each=each,
    )


def _places(chosen: Any, dimension: int) -> tuple[int, ...]:
    if not isinstance(chosen, list) or len(chosen) > dimension:
        raise ValueError("sets must be lists of places of columns")
    places = whole_numbers(chosen, "sets")
    if any(not 0 <= place < dimension for place in places.tolist()):
        raise ValueError("sets must be lists of places of columns")
    return tuple(places.tolist())
