"""Pictures of counted columns: the share of records at each value, with its interval.  M15, M20."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.common.checks import Floats
from mercer.releases.column.release import ColumnRelease
from mercer.show.figure import BAND, INK, SMALL, dated, entitle, figure_of, no_more, promised

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw", "grouped"]

MOST_BARS = 160  # values in a picture; more are put together
_TALL = 4.0  # a bar so many times the next one is cut, and its number written beside it


def draw(release: ColumnRelease, *, level: float | None, title: str | None, **others: Any) -> Figure:
    """A bar for each value, or for some values together, with intervals that hold for all bars at once."""
    no_more("a counted column", others)
    figure = figure_of((7, 4.2))
    axes = figure.add_subplot()
    places, widths, height, lower, upper = grouped(release, 0.95 if level is None else level)
    axes.bar(places, 100 * height, width=0.86 * widths, color=BAND, edgecolor=INK, linewidth=0.6)
    if level is not None:
        ends = 100 * np.maximum(np.stack([height - lower, upper - height]), 0.0)
        label = f"{level:.0%} intervals for the noise, all bars at once"
        axes.errorbar(
            places, 100 * height, ends, fmt="none", ecolor=INK, elinewidth=0.8, capsize=0, label=label
        )
        axes.legend(frameon=False, fontsize=9)
    _cut(axes, places, 100 * height, 100 * upper)
    name = release.domain.names[0]
    axes.set(xlabel=name, ylabel=f"share of the records per {_each(release)}, %")
    axes.set_xlim(places[0] - widths[0], places[-1] + widths[-1])
    if release.domain.dates:
        dated(axes.xaxis)
    axes.spines[["top", "right"]].set_visible(False)
    entitle(figure, title or f"Private distribution of {name}", promised(release.privacy), flat=True)
    return figure


def grouped(release: ColumnRelease, level: float) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """Middles and widths of the bars, their shares and the ends of intervals that hold together.

    Groups hold as many values as each other, or one less; then their shares are scaled to as many.
    """
    count, together = len(release.values), _together(release)
    bars = -(-count // together)
    places = np.arange(bars + 1) * count // bars
    starts, sizes = places[:-1], np.diff(places)
    law = release.law
    edges = law.edges[places]
    each = 1 - (1 - level) / bars
    weights = np.eye(bars, bars + 1, 1) - np.eye(bars, bars + 1)
    width = law.half_widths(edges, weights, each)
    height, raw = np.diff(law.at(edges)), np.diff(law.raw_at(edges))
    scale = together / sizes
    lower = scale * np.clip(np.minimum(height, raw - width), 0.0, 1.0)
    upper = scale * np.clip(np.maximum(height, raw + width), 0.0, 1.0)
    middles = (release.values[starts] + release.values[places[1:] - 1]) / 2
    return middles, sizes * release.step, scale * height, lower, upper


def _together(release: ColumnRelease) -> int:
    """How many values a bar is of."""
    return -(-len(release.values) // MOST_BARS)


def _each(release: ColumnRelease) -> str:
    """What a bar is the share of, in words."""
    together, step = _together(release), release.step
    if release.domain.dates:
        return "day" if together * step == 1 else f"{together * step:.6g} days"
    if together > 1 and step != 1:
        return f"{together * step:.6g} units of {release.domain.names[0]}"
    return f"{together} values" if together > 1 else "value"


def _cut(axes: Any, places: Floats, height: Floats, upper: Floats) -> None:
    """End the axis above all bars but one that dwarfs them, which is named in words."""
    order = np.argsort(height)
    top = float(np.max(upper, initial=0.0))
    if len(height) > 2 and height[order[-1]] > _TALL * max(height[order[-2]], 1e-9):
        others = float(np.max(np.delete(upper, order[-1])))
        if others > 0 and math.isfinite(others):
            top = 1.15 * others
            axes.annotate(
                f"{height[order[-1]]:.3g} %",
                (places[order[-1]], top),
                textcoords="offset points",
                xytext=(6, -12),
                fontsize=9,
                color=SMALL,
            )
    axes.set_ylim(0, top * 1.05 if top > 0 else 1.0)
