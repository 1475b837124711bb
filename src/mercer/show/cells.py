"""Counts of cells as they are shown: what cells are called, rows on a screen, bars and maps in a picture.

Everything shown is public: counts of public cells and the ends of their intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mercer.columns.cells import Axes, Axis
from mercer.columns.kinds import labels_of
from mercer.common.checks import Bools, Floats, Ints
from mercer.show import terminal
from mercer.show.figure import BAND, INK, MAP, dated

__all__ = [
    "MOST_BARS",
    "Cells",
    "Line",
    "bars",
    "bins",
    "counted",
    "heat",
    "in_words",
    "largest",
    "lines",
    "names",
    "number",
    "show_lines",
    "told",
    "upright",
]

MOST_BARS = 30  # in a list of cells
MOST_STEPS = 60  # bins that have a bar each
MOST_WRITTEN = 150  # cells of a map with their counts in them
_MOST_LONG = 44  # letters of a label in a picture
_LETTERS = 24  # of a bar on the screen
_COLUMNS = 5  # of a table on the screen; cells of more columns are named in one


def names(axis: Axis) -> list[str]:
    """What the cells of a column are called: levels by their names, others by their bounds."""
    return labels_of(axis.column) if axis.edges is None and labels_of(axis.column) else axis.labels()


def in_words(axes: Axes, labels: Sequence[str]) -> str:
    """What a cell is called: booleans are named where they are true, other columns with their value."""
    parts = []
    for axis, label in zip(axes.columns, labels, strict=True):
        if axis.column.kind != "boolean":
            parts.append(f"{axis.name} {label}")
        elif label == "true":
            parts.append(axis.name)
    return ", ".join(parts) or "all false"


class Line(NamedTuple):
    """A row on the screen: what a cell is called, its count, and the ends of its interval."""

    labels: tuple[str, ...]
    value: float
    lower: float
    upper: float


def largest(axes: Axes, counts: Floats, most: int) -> Ints:
    """Places of the largest counts: in their order for one column of numbers, else the largest first."""
    order = np.argsort(-counts, kind="stable")[:most]
    ordered = axes.dimension == 1 and axes.columns[0].column.numeric
    return np.sort(order) if ordered or len(counts) <= most else order


def lines(axes: Axes, keys: Ints, counts: Floats, low: Floats, high: Floats) -> list[Line]:
    """The cells with these keys as rows, with their counts and the ends of their intervals."""
    words = [names(axis) for axis in axes.columns]
    places = axes.places(np.asarray(keys, dtype=np.int64))
    return [
        Line(tuple(word[p] for word, p in zip(words, place, strict=True)), *map(float, ends))
        for place, *ends in zip(places.T, counts, low, high, strict=True)
    ]


def told(axes: Axes, some: Iterable[Line]) -> list[dict[str, Any]]:
    """Cells with their counts and intervals, as JSON holds them."""
    return [
        {
            "cell": dict(zip(axes.names, line.labels, strict=True)),
            "count": line.value,
            "lower": line.lower,
            "upper": line.upper,
        }
        for line in some
    ]


def show_lines(axes: Axes, some: list[Line], more: int, level: float, *, simultaneous: bool = False) -> None:
    """Print a row for each cell: its count, its interval of this level and a bar.

    `simultaneous` says that the intervals of all cells hold at once.
    """
    if not some:
        print("No cell is above the threshold.")
        return
    from rich.markup import escape

    wide = axes.dimension > _COLUMNS
    heads = ["cell" if wide else name for name in axes.names[: 1 if wide else None]]
    which = f"{level:.0%} interval{', all at once' if simultaneous else ''}"
    table = terminal.table(*map(escape, heads), "count", which, "")
    for column in (*table.columns[: len(heads)], table.columns[-1]):
        column.justify = "left"
    for column in table.columns[len(heads) :]:
        column.no_wrap = True
    top = max(line.value for line in some)
    for line in some:
        labels = [in_words(axes, line.labels)] if wide else line.labels
        table.add_row(*map(escape, labels), *counted(line, top))
    terminal.show(table)
    if more:
        print(f"… and {more} more cells; these are the largest.")


def counted(line: Line, top: float) -> tuple[str, str, str]:
    """The count, the interval and the bar of a cell as text; `top` is the count of a full bar."""
    bar = "█" * round(_LETTERS * min(line.value / top, 1.0)) if top > 0 else ""
    return number(line.value), f"{number(line.lower)} to {number(line.upper)}", bar


def number(value: float) -> str:
    """A count as text, with decimals only where it is no integer."""
    return f"{value:.0f}" if value == round(value) else f"{value:.5g}"


@dataclass(frozen=True, eq=False)
class Cells:
    """Counts of cells in one row, with the ends of their intervals if these are to be drawn."""

    counts: Floats
    ends: tuple[Floats, Floats] | None
    held: Bools | None = None  # of a sparse release: cells that are not left out

    def largest(self, most: int) -> tuple[Cells, Ints]:
        """The cells with the largest counts, in the order they have here, and their places."""
        places = np.sort(np.argsort(-self.counts, kind="stable")[:most])
        ends = None if self.ends is None else (self.ends[0][places], self.ends[1][places])
        held = None if self.held is None else self.held[places]
        return Cells(self.counts[places], ends, held), places

    def reach(self, scale: Floats | float = 1.0) -> Floats | None:
        """Lengths of error bars below and above, shape (2, cells); NaN for a cell that was left out."""
        if self.ends is None:
            return None
        low, high = self.ends
        both = np.maximum(np.stack([self.counts - low, high - self.counts]), 0.0) / scale
        if self.held is not None:
            both[:, ~self.held] = np.nan
        return both


def upright(axis: Axis) -> bool:
    """Whether the bars of a column are drawn upright: cells on a scale, or a few with short names."""
    words = [] if axis.edges is not None or not labels_of(axis.column) else names(axis)
    return len(words) <= 12 and sum(map(len, words)) <= 60 and max(map(len, words), default=0) <= 12


def spans(axis: Axis) -> Floats:
    """Where cells on a scale end: their edges, or half a step around integers and days."""
    if axis.edges is not None:
        return np.array(axis.edges)
    low, high = axis.ends
    return np.arange(low, high + 2) - 0.5


def bins(axes: Any, axis: Axis, cells: Cells, *, small: bool = False) -> None:
    """Draw a histogram in which area is count, so that unequal bins can be compared."""
    edges = spans(axis)
    widths = np.diff(edges)
    equal = bool(np.ptp(widths) <= 1e-9 * np.max(widths))
    scale: Any = 1.0 if equal else widths
    heights, reach = cells.counts / scale, cells.reach(scale)
    middle = (edges[:-1] + edges[1:]) / 2
    if len(heights) <= MOST_STEPS:
        axes.bar(edges[:-1], heights, widths, align="edge", color=BAND, edgecolor=INK, linewidth=0.7)
        if reach is not None:
            cap = 0 if len(heights) > 30 else 2
            axes.errorbar(middle, heights, reach, fmt="none", ecolor=INK, elinewidth=1.1, capsize=cap)
    elif cells.held is not None:  # few of many
        some = np.flatnonzero(cells.held)
        axes.vlines(middle[some], 0, heights[some], color=BAND, linewidth=1.2)
        axes.plot(middle[some], heights[some], "o", color=INK, markersize=2)
        if reach is not None:
            axes.errorbar(middle[some], heights[some], reach[:, some], fmt="none", ecolor=INK, elinewidth=1)
    else:
        if reach is not None:
            low, high = heights - reach[0], heights + reach[1]
            axes.stairs(high, edges, baseline=low, fill=True, color=BAND, linewidth=0)
        axes.stairs(heights, edges, color=INK, linewidth=0.9)
    room = 0.005 * (edges[-1] - edges[0])  # for the outlines of the first and the last bar
    axes.set_xlim(edges[0] - room, edges[-1] + room)
    axes.set_ylim(bottom=0)
    _clean(axes)
    axes.set_xlabel(axis.name)
    unit = "day" if axis.column.kind == "date" else f"unit of {axis.name}"
    if equal and axis.edges is not None and axis.column.continuous:
        axes.set_ylabel("count" if small else f"count in each bin of {widths[0]:.4g}")
    else:
        axes.set_ylabel("count" if equal else f"count per {unit}")
    _scale(axes, axis)


def bars(axes: Any, words: list[str], cells: Cells, *, standing: bool) -> None:
    """Draw a bar for each level: upright, or horizontal from the top downwards."""
    places = np.arange(len(words), dtype=float)
    reach = cells.reach()
    style = {"color": BAND, "edgecolor": INK, "linewidth": 0.7}
    line = {"fmt": "none", "ecolor": INK, "elinewidth": 1.2, "capsize": 2}
    short = [word if len(word) <= _MOST_LONG else f"{word[:28]}…{word[-14:]}" for word in words]
    if standing:
        axes.bar(places, cells.counts, 0.72, **style)
        if reach is not None:
            axes.errorbar(places, cells.counts, yerr=reach, **line)
        axes.set_xticks(places, short)
        axes.tick_params(axis="x", length=0)
        axes.set(xlim=(-0.6, len(words) - 0.4), ylabel="count")
        axes.set_ylim(bottom=0)
    else:
        axes.barh(places[::-1], cells.counts, 0.72, **style)
        if reach is not None:
            axes.errorbar(cells.counts, places[::-1], xerr=reach, **line)
        axes.set_yticks(places[::-1], short)
        axes.tick_params(axis="y", length=0)
        axes.set(ylim=(-0.7, len(words) - 0.3), xlabel="count")
        axes.set_xlim(left=0)
    _clean(axes)
    if not standing:
        axes.spines["left"].set_visible(False)


def heat(axes: Any, figure: Any, cells: Axes, counts: Floats, held: Bools | None) -> None:
    """Draw counts of two columns as a heat map, the first one across; few counts are written in."""
    across, up = cells.columns
    counts = counts.T
    shown = counts if held is None else np.ma.masked_where(~held.T, counts)
    axes.set_facecolor("#ececec")  # cells that were left out
    corners = np.arange(across.size + 1), np.arange(up.size + 1)
    lines = {"edgecolors": "white", "linewidth": 0.6 if counts.size <= MOST_WRITTEN * 4 else 0}
    most = max(float(counts.max()), 1.0)
    image = axes.pcolormesh(*corners, shown, cmap=MAP, vmin=0, vmax=most, **lines)
    _cell_ticks(axes.xaxis, across)
    _cell_ticks(axes.yaxis, up)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=2, labelsize=8)
    if counts.size <= MOST_WRITTEN:
        style = {"ha": "center", "va": "center", "fontsize": 9 if counts.size <= 60 else 7}
        for (row, place), count in np.ndenumerate(counts):
            if held is None or held[place, row]:
                colour = "white" if count < 0.55 * counts.max() else "black"
                axes.text(place + 0.5, row + 0.5, f"{count:.0f}", color=colour, **style)
    bar = figure.colorbar(image, ax=axes, fraction=0.05, pad=0.02)
    bar.set_label("count", size=9)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8)


def _cell_ticks(axis_of: Any, axis: Axis) -> None:
    axis_of.set_label_text(axis.name, fontsize=9)
    if axis.edges is not None and axis.column.continuous:  # edges between the cells
        edges, least = axis.edges, max(1, math.ceil(axis.size / 12))
        steps = range(least, min(2 * least, axis.size) + 1)
        step = min(steps, key=lambda s: (axis.size % s > 0, max(len(f"{e:.6g}") for e in edges[::s])))
        places = np.arange(0, axis.size + 1, step)
        axis_of.set_ticks(places, [f"{edges[place]:.5g}" for place in places])
        return
    words, step = names(axis), max(1, math.ceil(axis.size / 24))
    short = [word if len(word) <= 18 else word[:17] + "…" for word in words[::step]]
    axis_of.set_ticks(np.arange(0, axis.size, step) + 0.5, short)
    if axis_of.axis_name == "x" and sum(map(len, short)) > 60:
        axis_of.set_tick_params(labelrotation=90)


def _scale(axes: Any, axis: Axis) -> None:
    if axis.column.kind == "date":
        dated(axes.xaxis)
    elif not axis.column.continuous:
        from matplotlib.ticker import MaxNLocator

        axes.xaxis.set_major_locator(MaxNLocator(10, integer=True, min_n_ticks=2))


def _clean(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.xaxis.label.set_size(9)
    axes.yaxis.label.set_size(9)
