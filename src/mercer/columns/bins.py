"""Bins and categories of histograms as callers write them: public arguments, made to cells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np

from mercer.columns.cells import MOST_PLACES, Axes, Axis, rising
from mercer.columns.kinds import Categorical, Column, Date, Integer, Numeric
from mercer.columns.table import Domain
from mercer.common.checks import check_count

__all__ = ["axes_of", "axis_of", "axis_of_column"]

FEW = 100  # values of a column that are a cell each unless bins are given
USUAL = 10  # bins of a column with more


def axis_of(name: str, *, bins: Any, bounds: Any, categories: Any, other: Any, outside: str) -> Axis:
    """The cells of the one column of a histogram."""
    if (bins is None) == (categories is None):
        raise ValueError(
            "give either bins (edges, or a number with bounds=(low, high)) or categories (a list "
            "of values): which cells there are is public and cannot be read from the data"
        )
    if categories is not None:
        if bounds is not None:
            raise ValueError("bounds go with bins, not with categories")
        if hasattr(categories, "tolist"):  # arrays and columns
            categories = categories.tolist()
        if isinstance(categories, str) or not isinstance(categories, Sequence | set | frozenset):
            raise TypeError(f"categories must be a list of values, got {type(categories).__name__}")
        return Axis(Categorical(name, tuple(categories), other))
    if other is not None:
        raise ValueError("other goes with categories: it names whatever is not among them")
    if isinstance(bins, range):
        return Axis(_whole(name, bins), None, outside)
    if isinstance(bins, (int, np.integer)) and not isinstance(bins, bool):
        count = check_count("bins", bins, least=1, most=MOST_PLACES, hint="how many there are")
        if bounds is None:
            raise ValueError("bounds is missing: a number of bins needs public bounds=(low, high) to divide")
        return _divided(_between(name, bounds), count, outside)
    if bounds is not None:
        raise ValueError("bounds go with a number of bins; edges say where the bins end already")
    return _cut(name, bins, outside)


def axis_of_column(column: Column, bins: Any, outside: str = "clip") -> Axis:
    """The cells of a column of a table: one for each value where values are few, bins otherwise."""
    if bins is None:
        count = column.levels_count
        if count is not None and (count <= FEW or not column.numeric):
            return Axis(column, None, outside)
        return _divided(column, USUAL, outside)
    if not column.numeric:
        raise ValueError(f"bins: column {column.name!r} has levels without an order")
    if isinstance(bins, (int, np.integer)) and not isinstance(bins, bool):
        what = f"bins of {column.name!r}"
        count = check_count(what, bins, least=1, most=MOST_PLACES, hint="how many there are")
        return _divided(column, count, outside)
    axis = _cut(column.name, bins, outside)
    if isinstance(column, Date):
        return Axis(column, axis.edges, outside)
    if isinstance(column, Integer):  # cells of whole numbers: edges lie between them
        assert axis.edges is not None
        if any(edge != round(edge) for edge in axis.edges):
            raise ValueError(f"bins of {column.name!r} must have whole numbers as edges")
        between = [edge - 0.5 for edge in axis.edges]
        return Axis(column, (*between[:-1], between[-1] + 1), outside)
    return axis


def axes_of(domain: Domain, columns: Any, bins: Any, outside: str = "clip") -> Axes:
    """The cells of the named columns of a table, in the order of the names."""
    if columns is None:
        names = list(domain.names)
    elif isinstance(columns, str):
        names = [columns]
    elif isinstance(columns, Sequence) and all(isinstance(name, str) for name in columns):
        names = list(columns)
    else:
        raise TypeError(f"columns must be names of columns, got {type(columns).__name__}")
    if bins is not None and not isinstance(bins, Mapping):
        raise TypeError(
            'bins must be by column, for example {"age": 20, "income": [0, 1e4, 1e5]}; got '
            f"{type(bins).__name__}"
        )
    given = dict(bins or {})
    for name in given:
        if name not in names:
            raise ValueError(f"bins: there is no column {name!r} among those of the table")
    cut = [axis_of_column(domain.column(name), given.get(name), outside) for name in names]
    return Axes(tuple(cut))


def _whole(name: str, bins: range) -> Integer:
    if bins.step != 1 or len(bins) < 1:
        raise ValueError(
            "bins given as a range are whole numbers, each a cell: one or more, of step 1; for "
            "wider bins give edges, list(range(…))"
        )
    return Integer(name, bins[0], bins[-1])


def _between(name: str, bounds: Any) -> Column:
    if not isinstance(bounds, (list, tuple)) or len(bounds) != 2:
        raise ValueError("bounds must be (low, high)")
    if any(isinstance(end, (str, date)) for end in bounds):
        return Date(name, *bounds)
    return Numeric(name, *bounds)


def _divided(column: Column, count: int, outside: str) -> Axis:
    """Equal bins from one end of a column to the other; of integers, widths may differ by one."""
    low, high = column.ends
    if not column.continuous:
        low, high = low - 0.5, high + 0.5
        steps = np.floor(np.linspace(0, high - low, count + 1)) if count <= high - low else None
        if steps is None:
            return Axis(column, None, outside)
        edges = low + steps
    else:
        edges = np.linspace(low, high, count + 1)
        edges[0], edges[-1] = low, high
    if not np.all(np.diff(edges) > 0) or not all(map(math.isfinite, edges)):
        raise ValueError(f"bins of {column.name!r} would be narrower than numbers can tell apart")
    return Axis(column, tuple(edges.tolist()), outside)


def _cut(name: str, bins: Any, outside: str) -> Axis:
    """Cells between given edges, or given as pairs (low, high) that touch each other."""
    if str(getattr(bins, "dtype", "")).startswith("datetime64"):
        bins = np.asarray(bins).astype("datetime64[D]").tolist()
    elif hasattr(bins, "tolist"):
        bins = bins.tolist()
    items = list(bins) if isinstance(bins, (list, tuple)) else None
    if items is None:
        raise TypeError(
            f"bins must be a number, a list of edges or a range of whole numbers; got {type(bins).__name__}"
        )
    if items and all(isinstance(item, (list, tuple)) and len(item) == 2 for item in items):
        items = _joined(name, items)
    days = [isinstance(item, (str, date)) for item in items]
    if items and all(days):
        codes = [Date(name, item, item).ends[0] - 0.5 for item in items]
        edges = rising(name, [*codes[:-1], codes[-1] + 1])  # the last bin holds its last day
        return Axis(Date(name, items[0], items[-1]), edges, outside)
    edges = rising(name, items)
    return Axis(Numeric(name, edges[0], edges[-1]), edges, outside)


def _joined(name: str, pairs: list[Any]) -> list[Any]:
    for i, (one, two) in enumerate(pairwise(pairs)):
        if one[1] != two[0]:
            how = "overlap" if two[0] < one[1] else "leave a gap"
            raise ValueError(
                f"bins of {name!r} must touch each other in rising order: bins {i + 1} and {i + 2} "
                f"{how}; give the edges, one list that rises"
            )
    return [pairs[0][0], *(pair[1] for pair in pairs)]
