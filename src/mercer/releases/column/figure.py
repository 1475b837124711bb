"""Pictures of counted columns: the share of records at each value, with its interval.  M15, M20."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.common.checks import Floats
from mercer.releases.column.release import ColumnRelease
from mercer.show.figure import BAND, INK, SMALL, entitle, figure_of, no_more, promised

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
    places, width, height, lower, upper = grouped(release, 0.95 if level is None else level)
    axes.bar(places, 100 * height, width=0.86 * width, color=BAND, edgecolor=INK, linewidth=0.6)
    if level is not None:
        ends = 100 * np.maximum(np.stack([height - lower, upper - height]), 0.0)
        label = f"{level:.0%} intervals for the noise, all bars at once"
        axes.errorbar(
            places, 100 * height, ends, fmt="none", ecolor=INK, elinewidth=0.8, capsize=0, label=label
        )
        axes.legend(frameon=False, fontsize=9)
    _cut(axes, places, 100 * height, 100 * upper)
    name = release.domain.names[0]
    together = round(width / release.step)
    each = f"{together} values" if together > 1 else "day" if release.domain.dates else "value"
    axes.set(xlabel=name, ylabel=f"share of the records per {each}, %")
    axes.set_xlim(places[0] - width, places[-1] + width)
    if release.domain.dates:
        axes.xaxis_date()  # whose numbers are days since 1970-01-01 too
    axes.spines[["top", "right"]].set_visible(False)
    entitle(figure, title or f"Private distribution of {name}", promised(release.privacy), flat=True)
    return figure


def grouped(release: ColumnRelease, level: float) -> tuple[Floats, float, Floats, Floats, Floats]:
    """Middles and width of the bars, their shares and the ends of intervals that hold together."""
    count = len(release.values)
    together = -(-count // MOST_BARS)
    starts = np.arange(0, count, together)
    ends = np.minimum(starts + together, count)
    law = release.law
    edges = law.edges[np.append(starts, count)]
    each = 1 - (1 - level) / len(starts)
    weights = np.eye(len(starts), len(edges), 1) - np.eye(len(starts), len(edges))
    width = law.half_widths(edges, weights, each)
    height, raw = np.diff(law.at(edges)), np.diff(law.raw_at(edges))
    lower = np.clip(np.minimum(height, raw - width), 0.0, 1.0)
    upper = np.clip(np.maximum(height, raw + width), 0.0, 1.0)
    middles = (release.values[starts] + release.values[ends - 1]) / 2
    return middles, together * release.step, height, lower, upper


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
