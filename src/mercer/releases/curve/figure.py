"""Pictures of mean curves, their derivatives and differences.  M15, M17.

A picture sees only releases: never a curve of anybody.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.releases.curve.noisy import Difference, NoisyCurve
from mercer.releases.curve.release import CurveRelease
from mercer.show.figure import BAND, GREY, INK, MAP, entitle, figure_of, no_more, picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw", "plot_curves"]

_POINTS, _SIDE, _MOST = 601, 81, 8
# dark, then light enough to be told apart in grey; every curve has a pattern of its own too
_LINES = (
    ("#1b3a5c", "#9db8d2", "-"),
    ("#c1661c", "#ecc9a4", "--"),
    ("#3f7f5f", "#b5d3c2", "-."),
    ("#8a4f8f", "#d9c1db", ":"),
)

Order = int | tuple[int, ...]


def draw(
    curve: NoisyCurve,
    *,
    level: float | None,
    title: str | None,
    derivative: Order = 0,
    of: str = "data",
    **others: Any,
) -> Figure:
    """A curve with its band, or a surface beside the size of its noise; or a derivative of it."""
    no_more("a mean curve", others)
    seen = curve.whose(of)
    one = curve.domain.dimension == 1
    figure = figure_of((7, 4.2) if one else (11.5, 4.8))
    if one:
        _line(curve, seen, figure.add_subplot(), level, derivative)
    else:
        _surface(curve, figure, level, derivative)
    entitle(figure, title or _heading(curve, derivative), _promise([curve]), flat=one)
    return figure


def plot_curves(
    releases: Mapping[str, NoisyCurve],
    path: str | Path | None = None,
    *,
    level: float = 0.95,
    title: str | None = None,
    band: bool = True,
    derivative: int = 0,
    of: str = "data",
    xlabel: str | None = None,
    ylabel: str | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Several mean curves in one picture, by name, each with its band.

    With of="population" bands are about the means of populations, where all releases paid for that.

    Examples
    --------
    >>> import mercer
    >>> import numpy as np
    >>> t = np.linspace(0, 1, 20)
    >>> two = {"low": np.ones((300, 20)), "high": 2 * np.ones((200, 20))}
    >>> means = mercer.mean_curves(two, disjoint=True, grid=t, bound=3, epsilon=1, delta=1e-6)
    >>> figure = mercer.plot_curves(means, level=0.9)

    """
    curves = _together(releases)
    return picture(
        _overlay,
        curves,
        path,
        level=level,
        title=title,
        band=band,
        derivative=derivative,
        of=of,
        xlabel=xlabel,
        ylabel=ylabel,
        size=size,
    )


def _overlay(
    curves: Mapping[str, NoisyCurve], *, level: float | None, title: str | None, derivative: Order, of: str
) -> Figure:
    figure = figure_of((7, 4.2))
    _lines(curves, figure, level, derivative, of)
    several = "Private mean curves" if len(curves) > 1 else "Private mean curve"
    entitle(figure, title or several, _promise(list(curves.values())), flat=True)
    return figure


def _lines(curves: Mapping[str, NoisyCurve], figure: Any, level: float | None, order: Order, of: str) -> None:
    """Several curves on one argument, each with its band."""
    axes = figure.add_subplot()
    first = next(iter(curves.values()))
    x = np.linspace(*first.domain.bounds[0], _POINTS)
    for place, (name, curve) in enumerate(curves.items()):
        ink, shade, style = _LINES[place % len(_LINES)]
        width = 1.8 if place < len(_LINES) else 1.0
        if level is not None:
            band = curve.band(x, level, order=order, of=of)
            axes.fill_between(x, band.lower, band.upper, color=shade, alpha=0.45, linewidth=0)
            for end in (band.lower, band.upper):
                axes.plot(x, end, style, color=ink, linewidth=0.5)
        axes.plot(x, curve.derivative(x, order), style, color=ink, linewidth=width, label=name, zorder=3)
    if np.any(order) or any(isinstance(curve, Difference) for curve in curves.values()):
        axes.axhline(0.0, color=GREY, linewidth=0.8, zorder=1)
    _frame(axes, first, order)
    words = (
        ""
        if level is None
        else f"shaded: {_band_words([curve.whose(of) for curve in curves.values()], level)}"
    )
    axes.legend(frameon=False, fontsize=9, title=words, title_fontsize=8, alignment="left")


def _band_words(curves: list[NoisyCurve], level: float) -> str:
    """What the shaded bands are, in one line or two."""
    about = " or ".join(dict.fromkeys(curve.about for curve in curves))
    grades = [curve.grade for curve in curves if curve.grade]
    return f"{level:.0%} band {about}, whole curve" + (f"\n({grades[0]})" if grades else "")


def _heading(curve: NoisyCurve, order: Order) -> str:
    """The title of a picture: of a mean, a difference of means or a derivative."""
    parts = _parts(curve)
    what = "" if parts[0].value == "value" else f" of {parts[0].value}"
    kind = "curve" if curve.domain.dimension == 1 else "surface"
    title = f"Private mean {kind}{what}"
    if isinstance(curve, Difference):
        title = f"Difference of private mean {kind}s{what}"
    return f"{title}: {_ordinal(order)}derivative" if np.any(order) else title


def _promise(curves: list[NoisyCurve]) -> str:
    """What was promised of all releases in a picture."""
    parts = list(dict.fromkeys(part for one in curves for part in _parts(one)))
    counts: dict[str, list[int]] = {}
    for part in parts:
        counts.setdefault(part.privacy.short, []).append(part.privacy.n)
    lines = [
        f"{'each: ' if len(n) > 1 else ''}{said}; {', '.join(map(str, n))} records"
        for said, n in counts.items()
    ]
    return " | ".join(lines[:2]) + (f" | and {len(lines) - 2} more" if len(lines) > 2 else "")


def _together(curves: object) -> Mapping[str, NoisyCurve]:
    """Curves by name that can stand in one picture."""
    if not isinstance(curves, Mapping) or not 1 <= len(curves) <= _MOST:
        raise ValueError(
            f'releases must be 1 to {_MOST} mean curves by name, as {{"cases": a, "controls": b}}'
        )
    for name, curve in curves.items():
        if not isinstance(curve, NoisyCurve):
            raise TypeError(f"releases must be mean curves; {str(name)!r} is a {type(curve).__name__}")
    several = list(curves.values())
    bounds = {curve.domain.bounds for curve in several}
    if several[0].domain.dimension > 1 or len(bounds) > 1:
        raise ValueError(
            "releases must be curves of one argument over the same bounds; draw surfaces, and "
            "curves over other bounds, in pictures of their own"
        )
    return {str(name): curve for name, curve in curves.items()}


def _line(curve: NoisyCurve, seen: NoisyCurve, axes: Any, level: float | None, order: Order) -> None:
    """A curve with its band, as it is `seen`: about the mean of its file or population."""
    x = np.linspace(*curve.domain.bounds[0], _POINTS)
    signed = np.any(order) or isinstance(curve, Difference)  # zero means something
    if level is not None:
        band = seen.band(x, level, order=order)
        words = _band_words([seen], level)
        axes.fill_between(x, band.lower, band.upper, color=BAND, linewidth=0, label=words)
        sure = (band.lower > 0) | (band.upper < 0)
        if signed and np.any(sure):
            foot = {"color": INK, "linewidth": 0, "zorder": 4, "transform": axes.get_xaxis_transform()}
            axes.fill_between(x, 0.0, 0.018, where=sure, label="zero is outside the band", **foot)
    what = "released difference" if isinstance(curve, Difference) else "released mean"
    if np.any(order):
        what = f"released {_ordinal(order)}derivative"
    axes.plot(x, curve.derivative(x, order), color=INK, linewidth=1.8, label=what)
    if signed:
        axes.axhline(0.0, color=GREY, linewidth=0.9, linestyle="--", zorder=1)
    _frame(axes, curve, order)
    axes.legend(frameon=False, fontsize=9)


def _frame(axes: Any, curve: NoisyCurve, order: Order) -> None:
    low, high = curve.domain.bounds[0]
    axes.set(xlabel=curve.domain.names[0], ylabel=_quantity(curve, order), xlim=(low, high))
    axes.spines[["top", "right"]].set_visible(False)
    bottom, top = _reach(axes)
    axes.set_ylim(bottom - 0.05 * (top - bottom), top + 0.17 * (top - bottom))  # room for the legend


def _reach(axes: Any) -> tuple[float, float]:
    """From the lowest to the highest of what is drawn, but for a hundredth of the width at either end.

    There a band may be as wide as polynomials are high.
    """
    left, right = axes.get_xlim()
    lines = [line.get_xydata() for line in axes.get_lines() if len(line.get_xydata()) > 2]
    areas = [path.vertices for area in axes.collections for path in area.get_paths()]
    points = np.concatenate([*lines, *areas])
    apart = 0.01 * (right - left)
    inside = points[(points[:, 0] >= left + apart) & (points[:, 0] <= right - apart), 1]
    level = [float(line.get_ydata()[0]) for line in axes.get_lines() if len(line.get_xydata()) <= 2]
    return float(min([inside.min(), *level])), float(max([inside.max(), *level]))


def _surface(curve: NoisyCurve, figure: Any, level: float | None, order: Order) -> None:
    domain = curve.domain
    ticks = [np.linspace(*bounds, _SIDE) for bounds in domain.bounds]
    mesh = np.stack(np.meshgrid(*ticks, indexing="xy"), -1).reshape(-1, 2)
    value = curve.derivative(mesh, order).reshape(_SIDE, _SIDE)
    spread = curve.standard_error(mesh, order).reshape(_SIDE, _SIDE)
    extent = (*domain.bounds[0], *domain.bounds[1])
    signed = bool(np.any(order)) or isinstance(curve, Difference)
    most = float(np.abs(value).max()) or 1.0
    ends = {"vmin": -most, "vmax": most} if signed else {}
    left, right = figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2)
    for axes, shown, label, limits in (
        (left, value, _quantity(curve, order), ends),
        (right, spread, "standard deviation of the noise", {"vmin": 0.0}),
    ):
        image = axes.imshow(
            shown, origin="lower", aspect="auto", cmap=MAP, extent=extent, interpolation="bilinear", **limits
        )
        figure.colorbar(image, ax=axes, label=label, fraction=0.05)
        axes.set(xlabel=domain.names[0], ylabel=domain.names[1])
    lines = left.contour(value, colors="white", linewidths=0.7, extent=extent)
    left.clabel(lines, fontsize=7)
    if signed and level is not None:
        band = curve.band(mesh, level, order=order)
        unsure = ((band.lower < 0) & (band.upper > 0)).reshape(value.shape).astype(float)
        left.contourf(unsure, levels=[0.5, 1.5], colors="none", hatches=["...."], extent=extent)
        left.set_title(f"dotted: zero is in the {level:.0%} band", fontsize=8, loc="right")


def _quantity(curve: NoisyCurve, order: Order) -> str:
    value, names = _parts(curve)[0].value, curve.domain.names
    what = f"difference in {value}" if isinstance(curve, Difference) else value
    if not np.any(order):
        return what
    orders = (order,) if isinstance(order, (int, np.integer)) else order
    by = " ".join(f"d{name}" + (f"^{k}" if k > 1 else "") for name, k in zip(names, orders, strict=True) if k)
    total = sum(orders)
    return f"d{f'^{total}' if total > 1 else ''} {what} / {by}"


def _ordinal(order: Order) -> str:
    total = int(np.sum(order))
    return "" if total == 1 else {2: "second ", 3: "third "}.get(total, f"{total}th ")


def _parts(curve: NoisyCurve) -> list[CurveRelease]:
    """The releases that a curve is made of."""
    if isinstance(curve, Difference):
        return [*_parts(curve.one), *_parts(curve.two)]
    assert isinstance(curve, CurveRelease)
    return [curve]
