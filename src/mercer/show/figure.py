"""What all pictures share: options, paths, sizes, titles, colours; and pictures of plans and promises.

No record is ever drawn.  Colours work in grey.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "BAND",
    "GREY",
    "INK",
    "MAP",
    "SMALL",
    "dated",
    "draw_attack",
    "draw_plan",
    "draw_spending",
    "entitle",
    "figure_of",
    "no_more",
    "picture",
    "promised",
]

INK, BAND, MAP = "#1b3a5c", "#b9cde0", "cividis"
GREY, SMALL = "#8a8a8a", "#555555"  # lines beside what is shown, and small type
_ENDINGS = (".png", ".svg", ".pdf")


class Quoted(Protocol):
    """A statement, as pictures quote it."""

    @property
    def short(self) -> str:
        """The promise in one line: epsilon, delta, and whom it protects."""

    @property
    def n(self) -> int:
        """Number of records or persons."""


def picture(
    draw: Callable[..., Figure],
    thing: object,
    path: str | Path | None,
    *,
    level: float = 0.95,
    title: str | None = None,
    band: bool = True,
    xlabel: str | None = None,
    ylabel: str | None = None,
    size: Sequence[float] | None = None,
    **options: Any,
) -> Figure:
    """The figure that `draw` makes of a thing; written to `path` if one is given.

    Labels replace those of the first axes, and the same words elsewhere in the picture; `size` is its
    width and height in inches.
    """
    place = _checked(path)
    inches = None if size is None else _inches(size)
    figure = draw(thing, level=level if band else None, title=title, **options)
    for axis, label in (("x", xlabel), ("y", ylabel)):
        if label is not None:
            _relabel(figure, axis, label)
    if inches is not None:
        figure.set_size_inches(*inches)
    changed = inches is not None or xlabel is not None or ylabel is not None
    if changed and getattr(figure.get_layout_engine(), "adjust_compatible", True):
        figure.tight_layout(rect=(0, 0, 1, 0.985))  # unless an engine finds room when it is drawn
    return _finished(figure, place)


def dated(axis: Any, most: int = 7, *, offset: bool = True) -> None:
    """Ticks of an axis whose numbers are days since 1970-01-01: a few, in short words beside each other."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(minticks=2, maxticks=most)
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator, show_offset=offset))


def no_more(what: str, options: Mapping[str, Any]) -> None:
    """Refuse options that a picture does not have."""
    if options:
        raise TypeError(f"a picture of {what} has no option {next(iter(options))!r}")


def figure_of(size: tuple[float, float]) -> Figure:
    """An empty figure of this size in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=130)
    FigureCanvasAgg(figure)
    return figure


def entitle(figure: Figure, title: str, promise: str, *, flat: bool) -> None:
    """A title, and the promise in small type under it; `flat` figures are wider than high."""
    figure.suptitle(title, fontsize=13, x=0.02, ha="left")
    figure.text(0.02, 0.915 if flat else 0.925, promise, fontsize=8, color=SMALL)
    figure.tight_layout(rect=(0, 0, 1, 0.985))


def promised(privacy: Quoted, who: str = "records") -> str:
    """The promise, and about how many."""
    return f"{privacy.short}; {privacy.n} {who}"


def draw_plan(
    epsilons: Sequence[float],
    privacy: Sequence[float],
    sampling: Sequence[float],
    title: str,
    path: Path | None,
    quantity: str = "root integrated squared error",
    error: str = "noise for privacy",
) -> Figure:
    """Expected error due to privacy against epsilon, beside the sampling error."""
    place = _checked(path)
    figure = figure_of((6.4, 4.2))
    axes = figure.add_subplot()
    axes.plot(epsilons, privacy, "o-", color=INK, label=error)
    axes.plot(epsilons, sampling, "s--", color=GREY, label="sampling error, for comparison")
    axes.set(xscale="log", yscale="log", xlabel="epsilon", ylabel=quantity)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    axes.set_title(title, loc="left")
    figure.tight_layout()
    return _finished(figure, place)


def draw_spending(
    shares: dict[str, Sequence[float]], totals: dict[str, str], title: str, path: Path | None
) -> Figure:
    """The share of each dataset's total that was used after each of its releases."""
    place = _checked(path)
    figure = figure_of((7, 1.2 + 2.2 * len(shares)))
    for row, (name, used) in enumerate(shares.items()):
        axes = figure.add_subplot(len(shares), 1, row + 1)
        axes.bar(range(1, len(used) + 1), used, width=0.7, color=BAND, edgecolor=INK)
        axes.axhline(1.0, color=GREY, linestyle="--", linewidth=1)
        axes.set(xlim=(0.4, max(6, len(used)) + 0.6), ylim=(0, 1.08), ylabel="share used")
        axes.set_title(f"{name}: {totals[name]}", loc="left", fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
        axes.locator_params(axis="x", integer=True)
    axes.set_xlabel("after release")
    figure.suptitle(title, fontsize=13, x=0.02, ha="left")
    figure.tight_layout()
    return _finished(figure, place)


def draw_attack(
    curves: dict[str, Callable[[float], float]], title: str, promise: str, path: Path | None
) -> Figure:
    """The trade-off curve: how often a test finds the truth against how often it is wrong."""
    place = _checked(path)
    figure = figure_of((5.6, 5.2))
    axes = figure.add_subplot()
    alpha = np.concatenate([np.geomspace(1e-4, 0.05, 60), np.linspace(0.05, 1.0, 190)])
    axes.plot([0, 1], [0, 1], color=GREY, linestyle=":", label="without the release")
    for (label, power), style in zip(curves.items(), itertools.cycle(["-", "--", "-."])):
        axes.plot(alpha, [power(float(a)) for a in alpha], style, color=INK, label=label)
        axes.plot([0.05], [power(0.05)], "o", color=INK, markersize=4)
        axes.annotate(f"{power(0.05):.1%}", (0.05, power(0.05)), (0.085, power(0.05)), fontsize=8)
    axes.set(xlim=(0, 1), ylim=(0, 1.01), xlabel="wrongly says B when it is A")
    axes.set_ylabel("rightly says B when it is B, at most")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right", fontsize=9)
    figure.suptitle(title, fontsize=12, x=0.02, ha="left")
    figure.text(0.02, 0.925, promise, fontsize=8, color=SMALL)
    figure.tight_layout(rect=(0, 0, 1, 0.985))
    return _finished(figure, place)


def _relabel(figure: Figure, axis: str, label: object) -> None:
    if not isinstance(label, str):
        raise TypeError(f"{axis}label must be text, got {type(label).__name__}")
    before = getattr(figure.axes[0], f"get_{axis}label")()
    for place, axes in enumerate(figure.axes):
        if not place or (before and getattr(axes, f"get_{axis}label")() == before):
            getattr(axes, f"set_{axis}label")(label)


def _inches(size: object) -> tuple[float, float]:
    try:
        width, height = (float(side) for side in size)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise TypeError(f"size must be (width, height) in inches, got {size!r}") from None
    if not (3 <= width <= 40 and 2 <= height <= 40):
        raise ValueError(f"size must be from 3 x 2 to 40 x 40 inches, got {width:g} x {height:g}")
    return width, height


def _checked(path: str | Path | None) -> Path | None:
    place = None if path is None else Path(path)
    if place is not None and place.suffix.lower() not in _ENDINGS:
        raise ValueError(f"path must end in {', '.join(_ENDINGS)}, got {place.name!r}; name the picture so")
    return place


def _finished(figure: Figure, path: Path | None) -> Figure:
    if path is not None:
        figure.savefig(path)
    return figure
