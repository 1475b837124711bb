"""Cells of histograms and tables in rows on a screen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from mercer.columns.cells import MOST_LISTED, Axes
from mercer.common.checks import Floats, Ints
from mercer.releases.counts.histogram import HistogramRelease, Margin
from mercer.show import terminal
from mercer.show.bars import in_words, names

__all__ = ["Line", "cells_of", "counted", "lines_of", "number", "show_lines", "told"]

_BAR = 24  # letters
_COLUMNS = 5  # that have a column each


class Line(NamedTuple):
    """A cell with the ends of its interval."""

    labels: tuple[str, ...]
    value: float
    lower: float
    upper: float


def cells_of(release: HistogramRelease, level: float, most: int) -> tuple[list[Line], int]:
    """The largest cells with their intervals, and how many more there are.

    All cells are in their order; some of them too where a column has one, or the largest first.
    """
    keys = np.arange(len(release.values)) if release.keys is None else release.keys
    if release.domain.cells <= MOST_LISTED:
        low, high = (end.reshape(-1)[keys] for end in release.interval(level))
    else:
        wide = release.noise.half_width(1, level)
        low, high = (np.clip(release.values + shift, 0, release.most) for shift in (-wide, wide))
    counts = np.maximum(release.values, 0).astype(float)
    order = _largest(release.domain, counts, most)
    lines = _lines(release.domain, keys[order], counts[order], low[order], high[order])
    return lines, len(counts) - len(order)


def _largest(axes: Axes, counts: Floats, most: int) -> Ints:
    order = np.argsort(-counts, kind="stable")[:most]
    ordered = axes.dimension == 1 and axes.columns[0].column.numeric
    return np.sort(order) if ordered or len(counts) <= most else order


def lines_of(margin: Margin, most: int) -> tuple[list[Line], int]:
    """The same of a margin."""
    counts = margin.counts.reshape(-1)
    order = _largest(margin.axes, counts, most)
    ends = (end.reshape(-1)[order] for end in (margin.counts, margin.lower, margin.upper))
    return _lines(margin.axes, order, *ends), counts.size - len(order)


def _lines(axes: Axes, keys: Ints, counts: Floats, low: Floats, high: Floats) -> list[Line]:
    words = [names(axis) for axis in axes.columns]
    places = axes.places(np.asarray(keys, dtype=np.int64))
    return [
        Line(tuple(word[p] for word, p in zip(words, place, strict=True)), *map(float, ends))
        for place, *ends in zip(places.T, counts, low, high, strict=True)
    ]


def told(axes: Axes, lines: Iterable[Line]) -> list[dict[str, Any]]:
    """Cells for machines."""
    return [
        {
            "cell": dict(zip(axes.names, line.labels, strict=True)),
            "count": line.value,
            "lower": line.lower,
            "upper": line.upper,
        }
        for line in lines
    ]


def show_lines(axes: Axes, lines: list[Line], more: int, level: float) -> None:
    """A row for each cell: its count, interval and bar."""
    if not lines:
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
    top = max(line.value for line in lines)
    for line in lines:
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
