"""Pictures of densities: a curve with its band, or maps of pairs of columns.  M15."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.common.checks import Floats
from mercer.releases.density.release import DensityRelease
from mercer.releases.density.shape import CELLS, Shape
from mercer.show.figure import BAND, INK, MAP, SMALL, dated, entitle, figure_of, no_more, promised

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw"]


def draw(
    release: DensityRelease, *, level: float | None, title: str | None, smooth: bool = False, **others: Any
) -> Figure:
    """A density of one column with its band; of more, every pair of columns as a map.

    The curve of one column has no peak that the released shares do not prove; `smooth=True` draws
    the released function as it is evaluated, with all the waves that noise leaves in it.
    """
    no_more("a density", others)
    if not isinstance(smooth, bool):
        raise TypeError(f"smooth must be True or False, got {type(smooth).__name__}")
    d = release.domain.dimension
    figure = figure_of({1: (7, 4.2), 2: (6.4, 5.4), 3: (11.5, 4.6)}[d])
    if d == 1:
        _curve(release, figure.add_subplot(), level, smooth)
    for place, pair in enumerate(combinations(range(d), 2)):
        _map(release, figure, figure.add_subplot(1, 3 if d == 3 else 1, place + 1), pair)
    heading = title or f"Private density of {' and '.join(release.domain.names)}"
    entitle(figure, heading, promised(release.privacy), flat=d == 1)
    return figure


def _curve(release: DensityRelease, axes: Any, level: float | None, smooth: bool) -> None:
    (low, high), name = release.domain.bounds[0], release.domain.names[0]
    cells = 2 * CELLS
    x = low + (high - low) * (np.arange(cells) + 0.5) / cells
    shape = None if smooth else Shape.of(release.law, release.privacy.n * release.share_of_values)

    def shown(values: Floats) -> Floats:
        return values if shape is None else shape.fit(values)

    if level is not None:
        band = release.band(x, level)
        label = f"{level:.0%} band for the noise, whole curve"
        axes.fill_between(x, shown(band.lower), shown(band.upper), color=BAND, linewidth=0, label=label)
    axes.plot(x, shown(release(x)), color=INK, linewidth=1.8, label="released density")
    days = name in release.domain.dates
    axes.set(xlabel=name, ylabel=f"density per {'day' if days else f'unit of {name}'}", xlim=(low, high))
    if days:
        dated(axes.xaxis)
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    for side, share in enumerate(release.law.piled):
        if share:  # no curve can show it
            _told_at_bound(axes, f"{share:.1%} of the records\nare at this bound", upper=bool(side))


def _told_at_bound(axes: Any, words: str, *, upper: bool) -> None:
    """Words beside a wall of the picture, half way up."""
    place, side = (0.98, "right") if upper else (0.02, "left")
    axes.text(place, 0.5, words, transform=axes.transAxes, ha=side, fontsize=9, color=SMALL)


def _map(release: DensityRelease, figure: Any, axes: Any, pair: tuple[int, int]) -> None:
    names, bounds = release.domain.names, release.domain.bounds
    values = release.cell_values()
    for axis in reversed(range(values.ndim)):
        if axis not in pair:
            low, high = bounds[axis]
            values = values.mean(axis=axis) * (high - low)
    i, j = pair
    image = axes.imshow(
        values.T, origin="lower", aspect="auto", cmap=MAP, vmin=0, extent=(*bounds[i], *bounds[j])
    )
    axes.set(xlabel=names[i], ylabel=names[j])
    if names[i] in release.domain.dates:
        dated(axes.xaxis)
    if names[j] in release.domain.dates:
        dated(axes.yaxis)
    figure.colorbar(image, ax=axes, label="density", fraction=0.05)
