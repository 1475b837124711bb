"""Pictures of releases: the curve with its band, maps, and what was promised.

No record is ever drawn: a picture sees only the release.  Colours work in grey.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mercer.releases.base import Release
from mercer.releases.counts.figure import AnyCounts, CountPage, draw_counts
from mercer.releases.curve.figure import check_overlay, curve_heading, curve_promise, draw_curve, draw_overlay
from mercer.releases.curve.noisy import NoisyCurve
from mercer.releases.density.release import DensityRelease
from mercer.releases.machine.figure import draw_machine, heading
from mercer.releases.machine.release import MachineRelease
from mercer.releases.synthetic.figure import draw_table
from mercer.releases.synthetic.release import TableRelease
from mercer.releases.synthetic.sheets import Sheet

__all__ = ["draw", "draw_attack", "draw_plan", "draw_spending", "plot_curves"]

_INK, _BAND, _MAP = "#1b3a5c", "#b9cde0", "cividis"
_KINDS = (".png", ".svg", ".pdf")


def draw(
    release: Release | NoisyCurve,
    path: Path | None,
    *,
    level: float = 0.95,
    title: str | None = None,
    band: bool = True,
    **options: Any,
) -> Any:
    """A figure of the release; written to `path` if one is given.

    A machine's picture can be cut: `columns=` one or two to show, `at=` where the others stand.
    Of a mean curve, `derivative=1` is drawn instead.  Of a table, synthetic or of counts,
    `columns=` are drawn.
    """
    if isinstance(release, AnyCounts):
        _check_path(path)
        return _counts(release, path, level if band else None, title, **options)
    if isinstance(release, TableRelease):
        _check_path(path)
        return _table(release, path, level if band else None, title, **options)
    if isinstance(release, NoisyCurve):
        _check_path(path)
        return _mean_curve(release, path, level if band else None, title, **options)
    if isinstance(release, MachineRelease):
        _check_path(path)
        return _machine(release, path, level if band else None, title, **options)
    if options:
        raise TypeError(f"a picture of a density has no option {next(iter(options))!r}")
    if not isinstance(release, DensityRelease):
        raise TypeError(f"no picture is known for {type(release).__name__}")
    _check_path(path)
    d = release.domain.dimension
    names = release.domain.names
    figure = _figure({1: (7, 4.2), 2: (6.4, 5.4), 3: (11.5, 4.6)}[d])
    if d == 1:
        _curve(release, figure.add_subplot(), level if band else None)
    elif d == 2:
        axes = figure.add_subplot()
        _map(release, figure, axes, (0, 1))
    else:
        for place, pair in enumerate(((0, 1), (0, 2), (1, 2))):
            _map(release, figure, figure.add_subplot(1, 3, place + 1), pair)
    _entitle(figure, _promise(release), title or f"Private density of {' and '.join(names)}", d == 1)
    return _finish(figure, path)


def _table(
    release: TableRelease,
    path: Path | None,
    level: float | None,
    title: str | None,
    columns: Sequence[str] | str | None = None,
    **others: Any,
) -> Any:
    if others:
        raise TypeError(f"a picture of a synthetic table has no option {next(iter(others))!r}")
    sheet = Sheet.of(release, columns)
    figure = _figure(sheet.size)
    draw_table(release, sheet, figure, level=level, title=title)
    return _finish(figure, path)


def _counts(
    release: AnyCounts,
    path: Path | None,
    level: float | None,
    title: str | None,
    columns: Sequence[str] | str | None = None,
    **others: Any,
) -> Any:
    if others:
        raise TypeError(f"a picture of counts has no option {next(iter(others))!r}")
    page = CountPage.of(release, columns)
    figure = _figure(page.size)
    draw_counts(release, page, figure, level=level, title=title)
    return _finish(figure, path)


def _machine(
    release: MachineRelease,
    path: Path | None,
    level: float | None,
    title: str | None,
    columns: Sequence[str] | str | None = None,
    at: Mapping[str, float] | None = None,
) -> Any:
    one = release.domain.dimension == 1 or isinstance(columns, str)
    figure = _figure((7, 4.2) if one else (6.8, 5.4))
    draw_machine(release, figure, level=level, columns=columns, at=at)
    _entitle(figure, _promise(release), title or heading(release), one)
    return _finish(figure, path)


def _mean_curve(
    curve: NoisyCurve,
    path: Path | None,
    level: float | None,
    title: str | None,
    derivative: int | tuple[int, ...] = 0,
    **others: Any,
) -> Any:
    if others:
        raise TypeError(f"a picture of a mean curve has no option {next(iter(others))!r}")
    one = curve.domain.dimension == 1
    figure = _figure((7, 4.2) if one else (11.5, 4.8))
    draw_curve(curve, figure, level=level, order=derivative)
    _entitle(figure, curve_promise(curve), title or curve_heading(curve, derivative), one)
    return _finish(figure, path)


def plot_curves(
    releases: Mapping[str, NoisyCurve],
    path: str | Path | None = None,
    *,
    level: float = 0.95,
    title: str | None = None,
    band: bool = True,
    derivative: int = 0,
) -> Any:
    """Several mean curves in one picture, by name, each with its band.

    Examples
    --------
    >>> import mercer
    >>> import numpy as np
    >>> t = np.linspace(0, 1, 20)
    >>> two = {"low": np.ones((300, 20)), "high": 2 * np.ones((200, 20))}
    >>> means = mercer.mean_curves(two, disjoint=True, grid=t, bound=3, epsilon=1, delta=1e-6)
    >>> figure = mercer.plot_curves(means, level=0.9)

    """
    curves = check_overlay(releases)
    place = None if path is None else Path(path)
    _check_path(place)
    figure = _figure((7, 4.2))
    draw_overlay(curves, figure, level=level if band else None, order=derivative)
    several = "Private mean curves" if len(curves) > 1 else "Private mean curve"
    _entitle(figure, curve_promise(curves), title or several, True)
    return _finish(figure, place)


def _entitle(figure: Any, promise: str, title: str, flat: bool) -> None:
    figure.suptitle(title, fontsize=13, x=0.02, ha="left")
    figure.text(0.02, 0.915 if flat else 0.925, promise, fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0, 1, 0.985))


def draw_plan(
    epsilons: Sequence[float],
    privacy: Sequence[float],
    sampling: Sequence[float],
    title: str,
    path: Path | None,
    quantity: str = "root integrated squared error",
) -> Any:
    """Expected error due to privacy against epsilon, beside the sampling error."""
    _check_path(path)
    figure = _figure((6.4, 4.2))
    axes = figure.add_subplot()
    axes.plot(epsilons, privacy, "o-", color=_INK, label="noise for privacy")
    axes.plot(epsilons, sampling, "s--", color="#8a8a8a", label="sampling error, for comparison")
    axes.set(xscale="log", yscale="log", xlabel="epsilon", ylabel=quantity)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    axes.set_title(title, loc="left")
    figure.tight_layout()
    return _finish(figure, path)


def draw_spending(
    shares: dict[str, Sequence[float]], totals: dict[str, str], title: str, path: Path | None
) -> Any:
    """The share of each dataset's total that was used after each of its releases."""
    _check_path(path)
    figure = _figure((7, 1.2 + 2.2 * len(shares)))
    for place, (name, used) in enumerate(shares.items()):
        axes = figure.add_subplot(len(shares), 1, place + 1)
        axes.bar(range(1, len(used) + 1), used, width=0.7, color=_BAND, edgecolor=_INK)
        axes.axhline(1.0, color="#8a8a8a", linestyle="--", linewidth=1)
        axes.set(xlim=(0.4, max(6, len(used)) + 0.6), ylim=(0, 1.08), ylabel="share used")
        axes.set_title(f"{name}: {totals[name]}", loc="left", fontsize=9)
        axes.spines[["top", "right"]].set_visible(False)
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlabel("after release")
    figure.suptitle(title, fontsize=13, x=0.02, ha="left")
    figure.tight_layout()
    return _finish(figure, path)


def draw_attack(
    curves: dict[str, Callable[[float], float]], title: str, promise: str, path: Path | None
) -> Any:
    """The trade-off curve: how often a test finds the truth against how often it is wrong."""
    _check_path(path)
    figure = _figure((5.6, 5.2))
    axes = figure.add_subplot()
    alpha = np.concatenate([np.geomspace(1e-4, 0.05, 60), np.linspace(0.05, 1.0, 190)])
    axes.plot([0, 1], [0, 1], color="#8a8a8a", linestyle=":", label="without the release")
    for (label, power), style in zip(curves.items(), itertools.cycle(["-", "--", "-."])):
        axes.plot(alpha, [power(float(a)) for a in alpha], style, color=_INK, label=label)
        axes.plot([0.05], [power(0.05)], "o", color=_INK, markersize=4)
        axes.annotate(f"{power(0.05):.1%}", (0.05, power(0.05)), (0.085, power(0.05)), fontsize=8)
    axes.set(xlim=(0, 1), ylim=(0, 1.01), xlabel="wrongly says B when it is A")
    axes.set_ylabel("rightly says B when it is B, at most")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right", fontsize=9)
    figure.suptitle(title, fontsize=12, x=0.02, ha="left")
    figure.text(0.02, 0.925, promise, fontsize=8, color="#555555")
    figure.tight_layout(rect=(0, 0, 1, 0.985))
    return _finish(figure, path)


def _curve(release: DensityRelease, axes: Any, level: float | None) -> None:
    (low, high), name = release.domain.bounds[0], release.domain.names[0]
    x = np.linspace(low, high, 801)
    if level is not None:
        band = release.band(x, level)
        axes.fill_between(
            x,
            band.lower,
            band.upper,
            color=_BAND,
            linewidth=0,
            label=f"{level:.0%} band for the noise, whole curve",
        )
    axes.plot(x, release(x), color=_INK, linewidth=1.8, label="released density")
    dated = name in release.domain.dates
    axes.set(xlabel=name, ylabel=f"density per {'day' if dated else f'unit of {name}'}", xlim=(low, high))
    if dated:
        axes.xaxis_date()  # whose numbers are days since 1970-01-01 too
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)


def _map(release: DensityRelease, figure: Any, axes: Any, pair: tuple[int, int]) -> None:
    names, bounds = release.domain.names, release.domain.bounds
    values = release.cell_values()
    for axis in reversed(range(values.ndim)):
        if axis not in pair:
            low, high = bounds[axis]
            values = values.mean(axis=axis) * (high - low)
    i, j = pair
    image = axes.imshow(
        values.T, origin="lower", aspect="auto", cmap=_MAP, vmin=0, extent=(*bounds[i], *bounds[j])
    )
    axes.set(xlabel=names[i], ylabel=names[j])
    if names[i] in release.domain.dates:
        axes.xaxis_date()
    if names[j] in release.domain.dates:
        axes.yaxis_date()
    figure.colorbar(image, ax=axes, label="density", fraction=0.05)


def _promise(release: Release) -> str:
    return f"{release.privacy.short}; {release.privacy.n} records"


def _figure(size: tuple[float, float]) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=130)
    FigureCanvasAgg(figure)
    return figure


def _check_path(path: Path | None) -> None:
    if path is not None and path.suffix.lower() not in _KINDS:
        raise ValueError(f"path must end in {', '.join(_KINDS)}, got {path.name!r}; name the picture so")


def _finish(figure: Any, path: Path | None) -> Any:
    if path is not None:
        figure.savefig(path)
    return figure
