"""Pictures of counts: bars with error bars, heat maps, pages of margins.  M13, M15.

A picture sees only the release: noisy counts of public cells.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.columns.cells import MOST_LISTED, Axes, Axis
from mercer.columns.kinds import labels_of
from mercer.common.checks import Bools, Floats, check_level
from mercer.promise.weaker import RandomStatement
from mercer.releases.counts.cells import Margin
from mercer.releases.counts.histogram import HistogramRelease
from mercer.releases.counts.margins import MarginsRelease
from mercer.releases.counts.number import CountRelease, StatisticRelease
from mercer.show.cells import MOST_BARS, Cells, bars, bins, heat, in_words, names, upright
from mercer.show.figure import INK, SMALL, figure_of, no_more, promised

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["CountPage", "draw_cells", "draw_number"]

AnyNumber = CountRelease | StatisticRelease
AnyTable = HistogramRelease | MarginsRelease
AnyCounts = AnyTable | AnyNumber

MOST_MAP = 4096  # cells of a heat map
MOST_PANELS = 12
MOST_STAIRS = 240  # bins in a picture; more are put together
_TOP, _BOTTOM = 0.74, 0.44  # inches


@dataclass(frozen=True)
class Ends:
    """Which intervals a picture shows: their level, None for none, and whether they hold at once."""

    level: float | None
    simultaneous: bool

    @property
    def sure(self) -> float:
        """The level, where one is needed."""
        return 0.95 if self.level is None else self.level

    @property
    def words(self) -> str:
        """What the intervals are."""
        how = "all at once" if self.simultaneous else "each for itself"
        return f"{self.level:.0%} intervals for the noise of privacy, {how}"

    def of_panel(self, release: AnyTable, shown: Sequence[str], name: str) -> Ends:
        """The intervals of one panel of several: what all at once leave out is shared by their cells."""
        if not self.simultaneous:
            return self
        sizes = {one: release.domain.columns[release.domain.index(one)].size for one in shown}
        return Ends(1 - (1 - self.sure) * sizes[name] / sum(sizes.values()), True)


@dataclass(frozen=True)
class CountPage:
    """What a picture shows, and its size in inches."""

    form: str  # one, map, panels or list
    columns: tuple[str, ...]
    size: tuple[float, float]

    @classmethod
    def of(cls, release: AnyTable, columns: Sequence[str] | str | None) -> CountPage:
        """The picture of a release, or of some of its columns."""
        chosen = [columns] if isinstance(columns, str) else columns
        if chosen is not None and not chosen:
            raise ValueError("columns must be one or more columns of the table")
        wanted = release.domain.names if chosen is None else tuple(chosen)
        sparse = isinstance(release, HistogramRelease) and release.sparse
        places = [release.domain.index(name) for name in wanted]
        if len(set(places)) < len(places):
            raise ValueError("columns must be different ones")
        if sparse and set(wanted) != set(release.domain.names):
            raise ValueError(
                "columns: margins of a sparse release would miss the cells left out; draw all of "
                "it, or release the margins themselves: mercer.table(..., margins=…)"
            )
        axes = release.domain.only(places)
        if axes.dimension == 1:
            axis = axes.columns[0]
            many = min(axis.size, MOST_BARS)
            size = (7, 4.2) if upright(axis) else (7, 1.7 + 0.27 * many)
            return cls("one", wanted, size)
        apart = isinstance(release, MarginsRelease) and not release.fit.covers(places)
        if axes.dimension == 2 and axes.cells <= MOST_MAP and not (chosen is None and apart):
            wide = min(max(6.4, 2.2 + 0.42 * axes.sizes[0]), 12.0)
            high = min(max(4.2, 1.9 + 0.36 * axes.sizes[1]), 9.0)
            return cls("map", wanted, (wide, high))
        if isinstance(release, HistogramRelease) and release.sparse:
            many = min(max(len(release.values), 1), MOST_BARS)
            return cls("list", wanted, (8, 1.8 + 0.27 * many))
        shown = min(len(wanted), MOST_PANELS)
        across = 1 if shown == 1 else 2 if shown <= 4 else 3
        return cls("panels", wanted, (4.0 * across, 1.2 + 2.7 * math.ceil(shown / across)))


def draw_number(
    release: AnyNumber, *, level: float | None, title: str | None, columns: object = None, **others: Any
) -> Figure:
    """A number as a point with its interval, and as much of the scale as shows it."""
    no_more("counts", others)
    if columns is not None:
        raise ValueError(f"columns: a {release.kind} has none to choose from")
    figure = _empty((7, 2.3), level)
    _name(figure, release, title or _heading(release), _point(release, figure.add_subplot(), level))
    return figure


def draw_cells(
    release: AnyTable,
    *,
    level: float | None,
    title: str | None,
    columns: Sequence[str] | str | None = None,
    simultaneous: bool = False,
    **others: Any,
) -> Figure:
    """Bars, maps and lists of cells, of all columns or of some.

    `simultaneous`: the error bars of the whole picture hold at once, not each by itself.
    """
    no_more("counts", others)
    page = CountPage.of(release, columns)
    figure = _empty(page.size, level)
    ends = Ends(level, simultaneous)
    if page.form == "one":
        caption = _one(release, page, figure.add_subplot(), ends)
    elif page.form == "map":
        caption = _map(release, page, figure, ends)
    elif page.form == "list" and isinstance(release, HistogramRelease):
        caption = _list(release, figure.add_subplot(), ends)
    else:
        caption = _panels(release, page, figure, ends)
    listed = " and ".join(filter(None, [", ".join(page.columns[:-1]), page.columns[-1]]))
    what = "histogram" if release.domain.dimension == 1 else "table"
    what = "margins" if isinstance(release, MarginsRelease) else what
    _name(figure, release, title or f"{_kind(release)} {what} of {listed}", caption)
    return figure


def _empty(size: tuple[float, float], level: float | None) -> Figure:
    """A figure with room for the words around the picture."""
    figure, (_, high) = figure_of(size), size
    if level is not None:
        check_level(level)
    figure.set_layout_engine(
        "constrained", rect=(0.01, _BOTTOM / high, 0.98, 1 - (_TOP + _BOTTOM) / high), h_pad=0.06, w_pad=0.08
    )
    return figure


def _name(figure: Any, release: AnyCounts, title: str, caption: str) -> None:
    """The title, the promise under it, and below the picture what it means."""
    wide, high = figure.get_size_inches()
    head = textwrap.shorten(title, int(10.5 * wide), placeholder=" …")
    figure.text(0.16 / wide, 1 - 0.36 / high, head, fontsize=13)
    promise = promised(release.privacy, "records" if release.privacy.unit == "row" else "persons")
    figure.text(0.16 / wide, 1 - 0.60 / high, promise, fontsize=8, color=SMALL)
    words = textwrap.fill(caption, int(15.5 * wide))
    figure.text(0.16 / wide, 0.12 / high, words, fontsize=7.5, color=SMALL)


def _point(release: AnyNumber, axes: Any, level: float | None) -> str:
    """One number with its interval, and as much of the scale as shows it."""
    value, most = float(release.value), math.inf
    if isinstance(release, CountRelease):
        most = 1.0 if release.share else float(release.n)
        words = f"{value:.4g}" if release.share else f"{release.count} of {release.n}"
        what = "share of all records" if release.share else "count"
        least, step = 0.0, most / release.n
    else:
        words, what, least, step = f"{value:.5g}", release.domain.words, -math.inf, abs(value) / 50
    known = isinstance(release, CountRelease) or release.scale is not None
    low = high = value
    if known:
        _, low, high, _ = release.interval(0.95 if level is None else level)
    around = 4 * max(high - value, value - low, step, 1e-9)
    axes.set(xlim=(max(value - around, least), min(value + around, most)), ylim=(-1, 1), yticks=[])
    if level is not None:
        axes.plot([low, high], [0, 0], color=INK, linewidth=3, solid_capstyle="butt")
    axes.plot([value], [0], "o", color=INK, markersize=7, clip_on=False)
    axes.annotate(words, (value, 0), (0, 10), textcoords="offset points", fontsize=12, ha="center")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.set_xlabel(what, size=9)
    return f"line: {level:.0%} interval for the noise of privacy" if level and known else ""


def _one(release: AnyTable, page: CountPage, axes: Any, ends: Ends) -> str:
    """One column: bins to scale, or a bar for each value."""
    margin, held = _margin(release, page.columns, ends)
    axis, words = margin.axes.columns[0], names(margin.axes.columns[0])
    cells, more = _cells(margin, ends, held), ""
    if axis.edges is not None or not labels_of(axis.column):
        bins(axes, axis, cells)
    else:
        if len(words) > MOST_BARS:
            more = f"; {len(words) - MOST_BARS} smaller ones are not shown"
            cells, places = cells.largest(MOST_BARS)
            words = [words[place] for place in places]
        bars(axes, words, cells, standing=upright(axis))
        (axes.set_xlabel if upright(axis) else axes.set_ylabel)(axis.name)
    threshold = release.threshold if isinstance(release, HistogramRelease) else None
    if threshold is not None and (axis.edges is None or axis.equal):
        line = axes.axhline if upright(axis) else axes.axvline
        line(threshold, color=SMALL, linestyle=":", linewidth=1)
    return _caption(release, ends) + more


def _map(release: AnyTable, page: CountPage, figure: Any, ends: Ends) -> str:
    margin, held = _margin(release, page.columns, ends)
    heat(figure.add_subplot(), figure, margin.axes, margin.counts, held)
    if ends.level is None:
        return _caption(release, ends)
    widths, left = (margin.upper - margin.lower) / 2, ""
    if isinstance(release, HistogramRelease) and held is not None:
        widths = np.array(release.width(ends.sure, simultaneous=ends.simultaneous))
        left = f"; grey: cells at or below the public threshold {release.threshold}"
    wide = f"each count ± {float(np.max(widths)):.3g}"
    return f"{wide}: {ends.words}{left}"


def _list(release: HistogramRelease, axes: Any, ends: Ends) -> str:
    """The largest cells of a table that is too large for a map."""
    order = np.argsort(-release.values, kind="stable")[:MOST_BARS]
    assert release.keys is not None
    words = [names(axis) for axis in release.domain.columns]
    labels = [
        in_words(release.domain, [word[p] for word, p in zip(words, row, strict=True)])
        for row in release.domain.places(release.keys[order]).T
    ]
    counts = release.values[order].astype(float)
    wide = release.width(ends.sure, simultaneous=ends.simultaneous)
    drawn = (np.maximum(counts - wide, 0), counts + wide) if ends.level is not None else None
    bars(axes, labels, Cells(counts, drawn), standing=False)
    more = len(release.values) - len(order)
    return f"the {len(order)} largest of {len(release.values)} cells held; " * (more > 0) + _caption(
        release, ends
    )


def _panels(release: AnyTable, page: CountPage, figure: Any, ends: Ends) -> str:
    """Every column by itself, all others added up."""
    held = set().union(*release.margins) if isinstance(release, MarginsRelease) else set(page.columns)
    columns = [name for name in page.columns if name in held]
    shown = columns[:MOST_PANELS]
    across = round(page.size[0] / 4.0)
    for place, name in enumerate(shown):
        axes = figure.add_subplot(math.ceil(len(shown) / across), across, place + 1)
        margin, _ = _margin(release, (name,), ends.of_panel(release, shown, name))
        axis, cells = margin.axes.columns[0], _cells(margin, ends)
        if axis.edges is not None or not labels_of(axis.column):
            bins(axes, axis, cells, small=True)
        else:
            some, places = cells.largest(12)
            bars(axes, [names(axis)[p] for p in places], some, standing=False)
            axes.set_ylabel(name)
    left = len(columns) - len(shown)
    more = f"; {left} more columns: columns=…" if left else ""
    return "each column by itself; " + _caption(release, ends) + more


def _margin(release: AnyTable, columns: Sequence[str], ends: Ends) -> tuple[Margin, Bools | None]:
    """Counts of some columns; of a sparse release also which cells it holds."""
    sure, at_once = ends.sure, ends.simultaneous
    if isinstance(release, MarginsRelease):
        return release.margin(*columns, level=sure, simultaneous=at_once), None
    if release.keys is None:
        return _coarser(release, release.margin(*columns, level=sure, simultaneous=at_once)), None
    assert release.domain.cells <= MOST_LISTED
    order = [release.domain.index(name) for name in columns]
    held = np.zeros(release.domain.cells, dtype=bool)
    held[release.keys] = True
    low, high = release.interval(sure, simultaneous=at_once)
    counts, lower, upper = (np.transpose(part, order) for part in (release.counts.astype(float), low, high))
    shown = np.transpose(held.reshape(release.domain.sizes), order)
    return Margin(release.domain.only(order), counts, lower, upper, sure), shown


def _cells(margin: Margin, ends: Ends, held: Bools | None = None) -> Cells:
    """Bars of a margin of one column."""
    return Cells(margin.counts, None if ends.level is None else (margin.lower, margin.upper), held)


def _coarser(release: HistogramRelease, margin: Margin) -> Margin:
    """Neighbouring bins together, where there are more than a picture can show."""
    axis = margin.axes.columns[0]
    listed = axis.edges is None and axis.column.kind not in ("integer", "date")
    if margin.axes.dimension != 1 or listed or axis.size <= MOST_STAIRS:
        return margin
    if axis.edges is None:  # whole numbers and days: edges lie between them
        first = axis.column.ends[0] - 0.5
        axis = Axis(axis.column, tuple(first + k for k in range(axis.size + 1)), axis.outside)
    assert axis.edges is not None
    least = math.ceil(axis.size / MOST_STAIRS)
    even = [step for step in range(least, 2 * least + 1) if axis.size % step == 0]
    step = even[0] if even else least
    starts = np.arange(0, axis.size, step)
    place = release.domain.index(axis.name)
    others_of = tuple(i for i in range(release.domain.dimension) if i != place)
    sums: Floats = np.add.reduceat(release.raw.sum(axis=others_of), starts).astype(float)
    others = release.domain.cells // axis.size
    cells = len(starts) if margin.simultaneous else 1
    wide = release.noise.half_width_of_all(cells, step * others, margin.level)
    edges = (*(axis.edges[start] for start in starts), axis.edges[-1])
    counts, low, high = (np.maximum(sums + shift, 0.0) for shift in (0.0, -wide, wide))
    coarse = Axes((Axis(axis.column, edges, axis.outside),))
    return Margin(coarse, counts, low, high, margin.level, margin.simultaneous)


def _heading(release: AnyNumber) -> str:
    if isinstance(release, StatisticRelease):
        return release.domain.words
    return f"{_kind(release)} {'proportion' if release.share else 'count'} of {release.domain.words}"


def _kind(release: AnyCounts) -> str:
    """A weaker promise is not called private."""
    return "Noisy" if isinstance(release.privacy, RandomStatement) else "Private"


def _caption(release: AnyTable, ends: Ends) -> str:
    words = "noisy counts, none below 0"
    if ends.level is not None:
        words = f"error bars: {ends.words}"
    if isinstance(release, MarginsRelease):
        return words
    if release.exact is not None:
        words += f"; {int(release.exact.sum())} counts have no noise, under the weaker promise"
    beyond = [axis.name for axis in release.domain.columns if axis.clips]
    if beyond and release.domain.dimension == 1:
        words += "; values beyond the edges are in the end cells"
    if release.threshold is not None:
        words += f"; cells at or below the public threshold {release.threshold} are left out"
    return words
