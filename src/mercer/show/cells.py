"""Cells of histograms and tables in rows on a screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from mercer.columns.cells import Axes
from mercer.common.checks import Floats, Ints
from mercer.show import terminal
from mercer.show.bars import in_words, names

__all__ = ["Line", "counted", "largest", "lines", "number", "show_lines", "told"]

_BAR = 24  # letters
_COLUMNS = 5  # that have a column each


class Line(NamedTuple):
    """A cell with the ends of its interval."""

    labels: tuple[str, ...]
    value: float
    lower: float
    upper: float


def largest(axes: Axes, counts: Floats, most: int) -> Ints:
    """Places of the largest counts: in the order of a column of numbers, else the largest first."""
    order = np.argsort(-counts, kind="stable")[:most]
    ordered = axes.dimension == 1 and axes.columns[0].column.numeric
    return np.sort(order) if ordered or len(counts) <= most else order


def lines(axes: Axes, keys: Ints, counts: Floats, low: Floats, high: Floats) -> list[Line]:
    """The cells with these keys, in words, with their counts and intervals."""
    words = [names(axis) for axis in axes.columns]
    places = axes.places(np.asarray(keys, dtype=np.int64))
    return [
        Line(tuple(word[p] for word, p in zip(words, place, strict=True)), *map(float, ends))
        for place, *ends in zip(places.T, counts, low, high, strict=True)
    ]


def told(axes: Axes, some: Iterable[Line]) -> list[dict[str, Any]]:
    """Cells for machines."""
    return [
        {
            "cell": dict(zip(axes.names, line.labels, strict=True)),
            "count": line.value,
            "lower": line.lower,
            "upper": line.upper,
        }
        for line in some
    ]


def show_lines(axes: Axes, some: list[Line], more: int, level: float) -> None:
    """A row for each cell: its count, interval and bar."""
    if not some:
        print("No cell is above the threshold.")
        return
    from rich.markup import escape

    wide = axes.dimension > _COLUMNS
    heads = ["cell" if wide else name for name in axes.names[: 1 if wide else None]]
    table = terminal.table(*map(escape, heads), "count", f"{level:.0%} interval", "")
    for column in (*table.columns[: len(heads)], table.columns[-1]):
        column.justify = "left"
    for column in table.columns[len(heads) :]:
        column.no_wrap = True
    top = max(line.value for line in some)
    for line in some:
        labels = [in_words(axes, line.labels)] if wide else line.labels
        table.add_row(*map(escape, labels), *counted(line, top))
    terminal.console().print(table)
    if more:
        print(f"… and {more} more cells; these are the largest.")


def counted(line: Line, top: float) -> tuple[str, str, str]:
    """Count, interval and bar of a cell."""
    bar = "█" * round(_BAR * min(line.value / top, 1.0)) if top > 0 else ""
    return number(line.value), f"{number(line.lower)} to {number(line.upper)}", bar


def number(value: float) -> str:
    """A count, or what is not whole."""
    return f"{value:.0f}" if value == round(value) else f"{value:.5g}"
