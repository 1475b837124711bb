"""Pictures of synthetic tables: columns, and pairs of them.

A picture sees only the release: shares by weight in public bins and levels, and the synthetic
records themselves.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from mercer.columns.kinds import Column, Date, labels_of
from mercer.common.checks import Floats, check_level
from mercer.releases.synthetic.marginals import correlation, distribution, marginal
from mercer.releases.synthetic.release import TableRelease
from mercer.show.figure import BAND, INK, SMALL, dated, figure_of, no_more, promised

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw", "no_picture"]

_SIDES = {0: 0.0, 1: 3.3, 2: 2.7, 3: 2.25, 4: 2.0, 5: 1.8}  # inches of a cell of the pairs
_WIDE, _TOP, _BOTTOM = 3.7, 0.72, 0.46  # inches of the other panels, and of the words
_MOST_BARS = 14
_CORNER, _MOST_CORNER = 4, 5  # columns in the matrix of pairs: unless chosen, and at most
_ROW, _HEAD, _HISTOGRAM, _STACK = 0.235, 0.78, 2.0, 4.2  # inches
_MOST_PANELS, _MOST_PAIRS = 24, 20
_GREY = "#777777"
_MOST_LONG = 24  # letters of a name


def no_picture(release: object, **_options: Any) -> NoReturn:
    """Refuse: there is no picture of records of any kind."""
    del release
    raise TypeError("records of any kind have no picture; use release.points and weights")


def draw(
    release: TableRelease,
    *,
    level: float | None,
    title: str | None,
    columns: Sequence[str] | str | None = None,
    **others: Any,
) -> Figure:
    """Histograms and bars, circles whose area is the weight; words around them."""
    no_more("a synthetic table", others)
    sheet = Sheet.of(release, columns)
    figure = figure_of(sheet.size)
    if level is not None:
        check_level(level)
    wide, high = sheet.size
    figure.set_layout_engine(
        "constrained", rect=(0, _BOTTOM / high, 1, 1 - (_TOP + _BOTTOM) / high), h_pad=0.05, w_pad=0.1
    )
    parts = int(bool(sheet.corner)) + len(sheet.stacks)
    beside = [_WIDE] * len(sheet.stacks)
    first = [wide - sum(beside)] if sheet.corner else []
    boxes = figure.subfigures(1, parts, width_ratios=[*first, *beside], squeeze=False)[0]
    if sheet.corner:
        _corner(release, sheet.corner, boxes[0])
    for stack, box in zip(sheet.stacks, boxes[len(first) :], strict=True):
        heights = [panel.inches for panel in stack]
        left = sheet.height - sum(heights)
        grid = box.add_gridspec(len(stack) + 1, 1, height_ratios=[*heights, max(left, 1e-3)])
        for place, panel in enumerate(stack):
            _panel(release, panel, box.add_subplot(grid[place, 0]))
    figure.text(0.16 / wide, 1 - 0.34 / high, title or _heading(release, wide), fontsize=13)
    figure.text(0.16 / wide, 1 - 0.58 / high, promised(release.privacy), fontsize=8, color=SMALL)
    caption = textwrap.fill(_caption(release, sheet), int(15.5 * wide))
    figure.text(0.16 / wide, 0.12 / high, caption, fontsize=7.5, color=SMALL)
    return figure


@dataclass(frozen=True)
class Panel:
    """One column, or several of two levels each."""

    columns: tuple[Column, ...]

    @property
    def inches(self) -> float:
        """Height in inches: a row for each level, column of two levels or bar of a histogram."""
        if len(self.columns) > 1:
            return _HEAD + _ROW * len(self.columns)
        levels = len(labels_of(self.columns[0]))
        return _HEAD + _ROW * min(levels, _MOST_BARS) if levels else _HISTOGRAM


@dataclass(frozen=True)
class Sheet:
    """The layout of a picture: which columns are drawn in pairs, and which in panels of their own."""

    corner: tuple[Column, ...]  # the matrix of pairs
    stacks: tuple[tuple[Panel, ...], ...]  # beside it, from left to right
    left_out: int

    @classmethod
    def of(cls, release: TableRelease, chosen: Sequence[str] | str | None) -> Sheet:
        """All columns, or those that were chosen, in their order."""
        names = release.domain.names if chosen is None else [chosen] if isinstance(chosen, str) else chosen
        columns = [release.domain.column(name) for name in dict.fromkeys(names)]
        if not columns:
            raise ValueError("columns must name one or more columns of the table")
        lines = [c for c in columns if not labels_of(c)]
        corner = lines[: _CORNER if chosen is None else _MOST_CORNER]
        beside = [c for c in columns if c not in corner]
        pairs = [c for c in beside if len(labels_of(c)) == 2]
        if len(pairs) < 3:  # each has a panel of its own
            pairs = []
        panels = [Panel(tuple(pairs[i : i + _MOST_PAIRS])) for i in range(0, len(pairs), _MOST_PAIRS)]
        panels += [Panel((c,)) for c in beside if c not in pairs]
        shown, left = panels[:_MOST_PANELS], panels[_MOST_PANELS:]
        side = _SIDES[len(corner)] * len(corner)
        return cls(tuple(corner), _stacked(shown, side), sum(len(p.columns) for p in left))

    @property
    def side(self) -> float:
        """Inches of the matrix of pairs."""
        return _SIDES[len(self.corner)] * len(self.corner)

    @property
    def height(self) -> float:
        """Inches of what is drawn, without the words."""
        return max([self.side, *(sum(p.inches for p in stack) for stack in self.stacks)])

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the figure in inches."""
        beside = _WIDE * len(self.stacks)
        across = (self.side * (1.5 if len(self.corner) == 1 else 1.12)) + beside
        return max(across, 6.4), self.height + _TOP + _BOTTOM


def _stacked(panels: Sequence[Panel], side: float) -> tuple[tuple[Panel, ...], ...]:
    """Panels in stacks that are about as high as the matrix of pairs."""
    total, tallest = sum(p.inches for p in panels), max((p.inches for p in panels), default=0.0)
    most = max(side, tallest, min(total, _STACK), (total / 4) if total > 24 else 0.0)
    stacks: list[list[Panel]] = []
    for panel in panels:
        if not stacks or sum(p.inches for p in stacks[-1]) + panel.inches > most + 1e-9:
            stacks.append([])
        stacks[-1].append(panel)
    return tuple(map(tuple, stacks))


def _corner(release: TableRelease, columns: Sequence[Column], box: Any) -> None:
    """A matrix of pairs: columns on the diagonal, circles below, correlations above."""
    many, even = len(columns), distribution(release)
    grid = box.add_gridspec(many, many)
    for row, one in enumerate(columns):
        for place, other in enumerate(columns[: row + 1]):
            axes = box.add_subplot(grid[row, place])
            if row == place:
                _histogram(release, one, axes, small=many > 1)
            else:
                _circles(release, other, one, axes, _SIDES[many])
            _limits(axes, other, "x")
            if row == many - 1:
                axes.set_xlabel(other.name)
            else:
                axes.tick_params(labelbottom=False)
            if row != place:
                _limits(axes, one, "y")
                if place == 0:
                    axes.set_ylabel(one.name)
                else:
                    axes.tick_params(labelleft=False)
            elif many > 1:
                axes.set_title(one.name, fontsize=9.5, fontweight="bold")
        for place in range(row + 1, many):
            _correlation(even, one, columns[place], box.add_subplot(grid[row, place]))


def _correlation(release: TableRelease, one: Column, two: Column, axes: Any) -> None:
    value = correlation(release, one.name, two.name)
    axes.set(xlim=(0, 1), ylim=(0, 1), xticks=[], yticks=[])
    axes.spines[:].set_color("#d5dde5")
    if value != value:
        return
    axes.patch.set(facecolor=BAND, alpha=min(abs(value), 1.0) * 0.8)
    words = {"ha": "center", "va": "center", "color": INK}
    axes.text(0.5, 0.5, f"{round(value, 2) + 0.0:.2f}", fontsize=11 + 5 * abs(value), **words)


def _histogram(release: TableRelease, column: Column, axes: Any, *, small: bool) -> None:
    found = marginal(release, column.name, bins=16 if small else 24)
    assert found.edges is not None
    style = {"color": BAND, "edgecolor": INK, "linewidth": 0.6}
    axes.bar(found.edges[:-1], found.shares, np.diff(found.edges), align="edge", **style)
    if np.all(found.shares >= 0):
        axes.set_ylim(bottom=0)
    _clean(axes)
    _percent(axes.yaxis, "right" if small else "left")
    axes.axhline(0, color=INK, linewidth=0.8)
    if small:
        axes.spines["left"].set_visible(False)
    else:
        axes.set_ylabel("share")


def _circles(release: TableRelease, x: Column, y: Column, axes: Any, inches: float) -> None:
    """Equal pairs are one circle, with all their weight."""
    names = release.domain.names
    pair = release.codes[:, [names.index(x.name), names.index(y.name)]]
    spots, back = np.unique(pair, axis=0, return_inverse=True)
    weights = np.bincount(back.reshape(-1), release.weights, len(spots))
    area = 0.35 * (72 * inches) ** 2 / max(float(np.abs(weights).sum()), 1e-300)
    plus = weights >= 0
    for which, face in ((plus, INK), (~plus, "none")):
        sizes = np.minimum(np.abs(weights[which]) * area, 900.0)
        style = {"facecolor": face, "edgecolor": "white" if face == INK else INK, "alpha": 0.6}
        axes.scatter(*spots[which].T, sizes, linewidth=0.3, clip_on=False, **style)
    _clean(axes)


def _panel(release: TableRelease, panel: Panel, axes: Any) -> None:
    column = panel.columns[0]
    if len(panel.columns) > 1:
        shares = np.array([marginal(release, c.name).shares[1] for c in panel.columns])
        words = [
            c.name if labels_of(c) == ["false", "true"] else f"{c.name}: {labels_of(c)[1]}"
            for c in panel.columns
        ]
        _bars(axes, words, shares)
        axes.set_xlim(min(0.0, float(shares.min())), 1.0)
        named = "" if set(words) <= set(release.domain.names) else ", or of the level named"
        axes.set_title(f"share of true{named}", fontsize=9, loc="left")
        return
    if not labels_of(column):
        _histogram(release, column, axes, small=False)
        _limits(axes, column, "x")
        axes.set_title(column.name, fontsize=9, loc="left")
        return
    one = marginal(release, column.name)
    words, shares = one.labels, one.shares
    if len(words) > _MOST_BARS:  # the heaviest, in their order
        kept = np.sort(np.argsort(-shares, kind="stable")[: _MOST_BARS - 1])
        rest = 1 - float(shares[kept].sum())
        words = [*(words[k] for k in kept), f"{len(words) - len(kept)} others"]
        shares = np.append(shares[kept], rest)
    _bars(axes, words, shares)
    axes.set_title(column.name, fontsize=9, loc="left")


def _bars(axes: Any, words: Sequence[str], shares: Floats) -> None:
    places = np.arange(len(words))[::-1]
    axes.barh(places, shares, 0.72, color=BAND, edgecolor=INK, linewidth=0.6)
    axes.set_yticks(places, [_short(word) for word in words], fontsize=8)
    axes.set_ylim(-0.7, len(words) - 0.3)
    axes.tick_params(axis="y", length=0)
    _clean(axes)
    _percent(axes.xaxis, "bottom")
    axes.axvline(0, color=INK, linewidth=0.8)
    axes.spines["left"].set_visible(False)


def _clean(axes: Any) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=7.5)
    axes.xaxis.label.set_size(9)
    axes.yaxis.label.set_size(9)


def _percent(axis: Any, where: str) -> None:
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(4, min_n_ticks=2))
    axis.set_major_formatter(FuncFormatter(lambda share, _place: f"{100 * share:.3g} %"))
    if where == "right":
        axis.tick_right()
        axis.set_tick_params(length=0, labelcolor=_GREY, labelsize=6.5)


def _limits(axes: Any, column: Column, which: str) -> None:
    """Bounds of the column, and its ticks: days as dates."""
    low, high = column.ends
    half = 0.0 if column.continuous or isinstance(column, Date) else 0.5
    edge = max(half, 0.5 if high == low else 0.0)
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xlim if which == "x" else axes.set_ylim)(low - edge, high + edge)
    if isinstance(column, Date):
        dated(axis, 4, offset=False)
    else:
        from matplotlib.ticker import MaxNLocator

        axis.set_major_locator(MaxNLocator(4, integer=not column.continuous, min_n_ticks=2))


def _short(word: str) -> str:
    return word if len(word) <= _MOST_LONG else word[: _MOST_LONG - 1].rstrip() + "…"


def _heading(release: TableRelease, inches: float) -> str:
    """A title with as many names of columns as fit in the width."""
    names = [_short(name) for name in release.domain.names]
    shown = len(names) if len(names) <= 7 else 5
    while shown > 1 and len(", ".join(names[:shown])) > 8.2 * inches - 36:
        shown -= 1
    if shown < len(names):
        more = len(names) - shown
        return f"Synthetic table of {', '.join(names[:shown])} and {more} more column{'s' * (more > 1)}"
    return "Synthetic table of " + " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _caption(release: TableRelease, sheet: Sheet) -> str:
    size = release.accuracy.size
    off = f"a level or a quarter of the rows is {size}" if size else "how far they are off is not known"
    words = [f"shares by weight, without error bars: {off}"]
    if len(sheet.corner) > 1:
        hollow = ", hollow where it is negative" if bool(np.any(release.weights < 0)) else ""
        words.append(f"a circle is a synthetic record, its area the weight{hollow}")
        words.append("numbers: correlations")
    if sheet.left_out:
        words.append(f"{sheet.left_out} more columns: columns=…")
    return "; ".join(words)
