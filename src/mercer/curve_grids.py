"""Public grids and bounds of curves.  Layer 2: meets no records."""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import Any

import numpy as np

from mercer.checks import Floats
from mercer.domain import Domain

__all__ = ["axes_of", "is_line", "is_twofold", "on_grid", "own_domain"]

_LONGEST = 100_000  # points of an axis


def is_line(cells: Any) -> bool:
    """Whether it is a list, array or column with one axis."""
    listed = isinstance(cells, Sized) and not isinstance(cells, (str, bytes, dict))
    return listed and len(getattr(cells, "shape", (0,))) == 1


def is_twofold(grid: Any) -> bool:
    """Whether a grid is that of surfaces, (ticks1, ticks2)."""
    listed = isinstance(grid, (list, tuple)) or (isinstance(grid, np.ndarray) and grid.ndim == 2)
    return listed and len(grid) == 2 and all(map(is_line, grid))


def axes_of(grid: Any) -> list[Floats]:
    """Ticks of a public grid, one array an axis."""
    if not is_twofold(grid):
        return [_ticks("grid", grid)]
    return [_ticks(f"grid (axis {i + 1})", ticks) for i, ticks in enumerate(grid)]


def _ticks(name: str, given: Any) -> Floats:
    try:
        ticks = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} must be increasing numbers, got {type(given).__name__}; give one for each "
            "point of the curves, or (ticks1, ticks2) for surfaces"
        ) from None
    if ticks.ndim != 1 or not 2 <= len(ticks) <= _LONGEST:
        raise ValueError(
            f"{name} must be a line of 2 to {_LONGEST} numbers, got shape {ticks.shape}; give one "
            "for each point of the curves, thinned out if there are more"
        )
    if not np.all(np.isfinite(ticks)):
        raise ValueError(f"{name} must be finite, got NaN or infinite numbers; leave these out")
    if not np.all(ticks[1:] > ticks[:-1]):
        at = int(np.argmin(ticks[1:] > ticks[:-1])) + 1
        raise ValueError(
            f"{name} must increase, got {ticks[at]:g} after {ticks[at - 1]:g} at place {at + 1}; "
            "sort it together with the columns, and keep one of equal points"
        )
    return ticks


def on_grid(
    axes: list[Floats], bounds: object, names: Sequence[str] | None = None
) -> tuple[Domain, tuple[Floats, ...]]:
    """The domain of a grid, its ends unless bounds are given, and the grid in the unit cube."""
    names = names or (("t",) if len(axes) == 1 else ("t1", "t2"))
    if bounds is None:
        bounds = [(ticks[0], ticks[-1]) for ticks in axes]
    domain = Domain.of(bounds, names)
    out = []
    for name, ticks, (low, high) in zip(names, axes, domain.bounds, strict=True):
        if ticks[0] < low or ticks[-1] > high:
            raise ValueError(
                f"grid must lie in the bounds {domain.describe()}, got {name} from {ticks[0]:g} "
                f"to {ticks[-1]:g}; widen the bounds, or leave them out to take the grid's ends"
            )
        unit = Domain((name,), ((low, high),)).to_unit(ticks[:, None])[:, 0]
        if not np.all(unit[1:] > unit[:-1]):
            raise ValueError(
                f"grid must have points further apart than rounding within {domain.describe()}; "
                "thin it out"
            )
        out.append(unit)
    return domain, tuple(out)


def own_domain(bounds: object, name: str = "t") -> Domain:
    """The domain of curves on grids of their own, where bounds have no default."""
    if bounds is None:
        raise ValueError(
            "bounds is missing: where curves have grids of their own, the range of t is public and "
            "cannot be read from the data; give bounds=(lower, upper)"
        )
    return Domain.of(bounds, (name,))
