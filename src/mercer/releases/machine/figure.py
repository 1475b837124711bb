"""Pictures of classifiers and regressions.  M8; Hall 2013, Figure 3.

A picture sees only the release.  More than two columns are cut: all others stand at a public point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.common.checks import Floats
from mercer.releases.machine.kinds import ClassifierRelease, RegressionRelease
from mercer.releases.machine.release import MachineRelease
from mercer.show.figure import BAND, GREY, INK, MAP, SMALL, entitle, figure_of, no_more, promised

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]

_SIDE = 161


def draw(
    release: MachineRelease,
    *,
    level: float | None,
    title: str | None,
    columns: Sequence[str] | str | None = None,
    at: Mapping[str, float] | None = None,
    **others: Any,
) -> Figure:
    """The function over one or two `columns`, with its band or the places where its sign is sure.

    `at` says where the other columns stand.
    """
    no_more(f"a {release.kind}", others)
    one = release.domain.dimension == 1 or isinstance(columns, str)
    figure = figure_of((7, 4.2) if one else (6.8, 5.4))
    names = list(release.domain.names)
    shown = _shown(names, columns)
    centre = _centre(release, at)
    axes = figure.add_subplot()
    if len(shown) == 1:
        _line(release, axes, names.index(shown[0]), centre, level)
    else:
        _plane(release, figure, axes, [names.index(name) for name in shown], centre, level)
    cut = [name for name in names if name not in shown]
    if cut:
        words = ", ".join(f"{name} = {centre[names.index(name)]:.4g}" for name in cut[:4])
        more = f" and {len(cut) - 4} more at their middles" if len(cut) > 4 else ""
        figure.text(0.98, 0.01, f"cut at {words}{more}", ha="right", fontsize=7, color=SMALL)
    entitle(figure, title or _heading(release), promised(release.privacy), flat=one)
    return figure


def _heading(release: MachineRelease) -> str:
    if isinstance(release, ClassifierRelease):
        return f"Private classifier of {release.label}"
    assert isinstance(release, RegressionRelease)
    return f"Private regression of {release.response}"


def _shown(names: list[str], columns: Sequence[str] | str | None) -> list[str]:
    if columns is None:
        return names[:2]
    chosen = [columns] if isinstance(columns, str) else list(columns)
    unknown = [name for name in chosen if name not in names]
    if unknown or not 1 <= len(set(chosen)) == len(chosen) <= 2:
        raise ValueError(f"columns must be one or two of {', '.join(names)}; got {chosen}")
    return chosen


def _centre(release: MachineRelease, at: Mapping[str, float] | None) -> Floats:
    domain = release.domain
    centre = (domain.lower + domain.upper) / 2
    for name, value in (at or {}).items():
        if name not in domain.names:
            raise ValueError(f"at: there is no column {name!r}; there are {', '.join(domain.names)}")
        centre[domain.names.index(name)] = float(value)
    return np.clip(centre, domain.lower, domain.upper)


def _along(release: MachineRelease, axis: int, count: int) -> Floats:
    return np.linspace(*release.domain.bounds[axis], count)


def _line(release: MachineRelease, axes: Any, axis: int, centre: Floats, level: float | None) -> None:
    x = _along(release, axis, 401)
    rows = np.tile(centre, (len(x), 1))
    rows[:, axis] = x
    value = np.asarray(release(rows)).reshape(len(x), -1)
    labels = _labels(release)
    if level is not None:
        band = release.band(rows, level)
        lower, upper = (np.asarray(end).reshape(len(x), -1) for end in (band.lower, band.upper))
        for k in range(value.shape[1]):
            words = f"{level:.0%} band for the noise, whole curve" if k == 0 else None
            axes.fill_between(x, lower[:, k], upper[:, k], color=BAND, alpha=0.6, linewidth=0, label=words)
    styles = ("-", "--", "-.", ":")
    for k in range(value.shape[1]):
        axes.plot(x, value[:, k], styles[k % 4], color=INK, linewidth=1.6, label=labels[k])
    if isinstance(release, ClassifierRelease):
        axes.axhline(0.0, color=GREY, linewidth=0.8)
        _strip(release, axes, x, rows)
        axes.set_ylabel("decision function")
    else:
        assert isinstance(release, RegressionRelease)
        axes.set_ylabel(release.response)
    axes.set(xlabel=release.domain.names[axis], xlim=(x[0], x[-1]))
    axes.spines[["top", "right"]].set_visible(False)
    handles = [*axes.get_legend_handles_labels()[0]]
    if isinstance(release, ClassifierRelease):
        handles += _patches(release)
    _legend(axes, handles, 3, below=0.16)


def _strip(release: ClassifierRelease, axes: Any, x: Floats, rows: Floats) -> None:
    """The predicted class along the lower edge."""
    place = [list(release.classes).index(c) for c in release.predict(rows).tolist()]
    low, high = axes.get_ylim()
    extent = (x[0], x[-1], low, low + 0.03 * (high - low))
    _shades(release, axes, np.array(place)[None, :], extent, zorder=0)
    axes.set_ylim(low, high)


def _plane(
    release: MachineRelease, figure: Any, axes: Any, pair: list[int], centre: Floats, level: float | None
) -> None:
    first, second = (_along(release, axis, _SIDE) for axis in pair)
    mesh = np.stack(np.meshgrid(first, second, indexing="xy"), -1)
    rows = np.tile(centre, (_SIDE * _SIDE, 1))
    rows[:, pair] = mesh.reshape(-1, 2)
    extent = (first[0], first[-1], second[0], second[-1])
    if isinstance(release, ClassifierRelease) and len(release.classes) > 2:
        _regions(release, axes, rows, extent)
    else:
        value = np.asarray(release(rows)).reshape(len(rows), -1)
        middle = value[:, value.shape[1] // 2].reshape(_SIDE, _SIDE)
        if isinstance(release, ClassifierRelease):
            _decision(release, figure, axes, middle, rows, extent, level)
        else:
            image = axes.imshow(middle, origin="lower", aspect="auto", cmap=MAP, extent=extent)
            figure.colorbar(image, ax=axes, label=_labels(release)[value.shape[1] // 2])
            lines = axes.contour(middle, colors="white", linewidths=0.7, extent=extent)
            axes.clabel(lines, fontsize=7)
    axes.set(xlabel=release.domain.names[pair[0]], ylabel=release.domain.names[pair[1]])


def _decision(
    release: ClassifierRelease,
    figure: Any,
    axes: Any,
    value: Floats,
    rows: Floats,
    extent: Any,
    level: float | None,
) -> None:
    """M8; Hall 2013, Figure 3: the function's height, its zero line, and where noise may change it."""
    most = float(np.abs(value).max()) or 1.0
    image = axes.imshow(value, origin="lower", aspect="auto", cmap=MAP, extent=extent, vmin=-most, vmax=most)
    sides = f"above 0 is {release.classes[1]}, below {release.classes[0]}"
    figure.colorbar(image, ax=axes, label=f"decision function: {sides}")
    axes.contour(value, levels=[0.0], colors="white", linewidths=2.2, extent=extent)
    axes.contour(value, levels=[0.0], colors="black", linewidths=1.0, extent=extent)
    if level is not None:
        band = release.band(rows, level, simultaneous=False)
        unsure = ((band.lower < 0) & (band.upper > 0)).reshape(value.shape).astype(float)
        axes.contourf(unsure, levels=[0.5, 1.5], colors="none", hatches=["...."], extent=extent)
        words = f"dotted: the noise may turn the sign ({level:.0%} at each point)"
        axes.set_title(words, fontsize=8, loc="right")


def _regions(release: ClassifierRelease, axes: Any, rows: Floats, extent: Any) -> None:
    names = list(release.classes)
    place = np.array([names.index(c) for c in release.predict(rows).tolist()])
    shape = (_SIDE, _SIDE)
    _shades(release, axes, place.reshape(shape), extent, origin="lower", interpolation="nearest")
    for k in range(len(names)):  # where one class meets another
        axes.contour((place == k).reshape(shape), [0.5], colors="white", linewidths=1.2, extent=extent)
    _legend(axes, _patches(release), 4, below=0.12)


def _shades(release: ClassifierRelease, axes: Any, place: Any, extent: Any, **how: Any) -> None:
    """Draw classes, given by their places in the list of classes, as shades."""
    most = len(release.classes) - 1
    axes.imshow(place, extent=extent, aspect="auto", cmap=_colours(release), vmin=0, vmax=most, **how)


def _legend(axes: Any, handles: list[Any], columns: int, *, below: float) -> None:
    """A legend under the picture."""
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, -below)}
    axes.legend(handles=handles, fontsize=8, frameon=False, ncols=columns, **place)


def _patches(release: ClassifierRelease) -> list[Any]:
    """Entries of a legend: the colour of each class."""
    from matplotlib.patches import Patch

    colours = _colours(release)
    return [
        Patch(facecolor=colours(k), label=f"predicts {name}") for k, name in enumerate(release.classes[:12])
    ]


def _colours(release: ClassifierRelease) -> Any:
    """One shade a class, told apart in grey too."""
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    return ListedColormap(colormaps[MAP](np.linspace(0.25, 1.0, len(release.classes))))


def _labels(release: MachineRelease) -> list[str]:
    if isinstance(release, ClassifierRelease):
        if len(release.classes) == 2:
            return [f"above 0: {release.classes[1]}, below: {release.classes[0]}"]
        return [str(name) for name in release.classes]
    assert isinstance(release, RegressionRelease)
    if release.losses[0].name == "pinball":
        return [f"{level:.0%} quantile of {release.response}" for level in release.levels]
    return [release.response]
