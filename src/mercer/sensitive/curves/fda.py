"""Functional data of scikit-fda, which is not imported, as chunks.  Left of the door."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.columns.domain import Domain
from mercer.columns.grids import axes_of, on_grid, own_domain
from mercer.common.checks import Floats, Ints
from mercer.sensitive.curves.chunks import Curves, held_array, held_basis, held_points

__all__ = ["fda_curves", "fda_kind"]

_EVEN = 513  # points at which curves given in a basis are read


def fda_kind(curves: object) -> str | None:
    """Which class of scikit-fda it is, if any."""
    for base in type(curves).__mro__:
        if base.__module__.split(".")[0] == "skfda" and base.__name__ in _READERS:
            return base.__name__
    return None


def fda_curves(kind: str, curves: Any, grid: Any, bounds: object, missing: Floats) -> Curves:
    """Curves of a class of scikit-fda; grid and bounds are its own, and may be repeated."""
    most = 2 if kind == "FDataGrid" else 1
    arguments, heights = curves.dim_domain, curves.dim_codomain
    if heights != 1 or not 1 <= arguments <= most:
        raise ValueError(
            f"curves must have one coordinate and at most {most} argument(s) as {kind}, got "
            f"{heights} and {arguments}; take one of its .coordinates, or .to_grid()"
        )
    default = ("t",) if arguments == 1 else ("t1", "t2")
    given = zip(curves.argument_names, default, strict=True)
    names = tuple(str(name or other) for name, other in given)
    value = str(curves.coordinate_names[0] or "value")
    return _READERS[kind](curves, grid, bounds, names, value, missing)


def _grid(
    curves: Any, grid: Any, bounds: object, names: tuple[str, ...], value: str, missing: Floats
) -> Curves:
    axes = [axes_of(ticks)[0] for ticks in curves.grid_points]
    if grid is not None:
        mine = axes_of(grid)
        same = [np.array_equal(*pair) for pair in zip(mine, axes, strict=False)]
        if len(mine) != len(axes) or not all(same):
            raise ValueError("grid contradicts the grid_points of FDataGrid; leave it out")
    domain, ticks = on_grid(axes, _range(curves, bounds, names), names)
    return held_array(curves.data_matrix[..., 0], domain, ticks, value, missing)


def _basis(
    curves: Any, grid: Any, bounds: object, names: tuple[str, ...], value: str, missing: Floats
) -> Curves:
    if len(missing):
        raise ValueError("na_values must be left out for FDataBasis, which has coefficients and no heights")
    _no_grid("FDataBasis", f"which is read at {_EVEN} even points", grid)
    low, high = _range(curves, bounds, names)[0]
    even = np.linspace(low, high, _EVEN)
    domain, ticks = on_grid([even], (low, high), names)
    heights: Floats = np.asarray(curves.basis(even), dtype=np.float64)[..., 0]
    return held_basis(curves.coefficients, heights, domain, ticks, value)


def _irregular(
    curves: Any, grid: Any, bounds: object, names: tuple[str, ...], value: str, missing: Floats
) -> Curves:
    # its domain_range is that of the points unless somebody set it, so it does not count as public
    _no_grid("FDataIrregular", "whose curves have grids of their own", grid)
    domain = own_domain(bounds, names[0])
    starts: Ints = np.append(curves.start_indices, len(curves.points)).astype(np.int64)
    return held_points(curves.points[:, 0], curves.values[:, 0], starts, domain, value, missing)


_READERS = {"FDataGrid": _grid, "FDataBasis": _basis, "FDataIrregular": _irregular}


def _no_grid(kind: str, why: str, grid: object) -> None:
    if grid is not None:
        raise ValueError(f"grid must be left out for {kind}, {why}; or hand in .to_grid(grid)")


def _range(curves: Any, bounds: object, names: tuple[str, ...]) -> tuple[tuple[float, float], ...]:
    """Its domain range, which bounds may repeat but not contradict."""
    domain = Domain.of(curves.domain_range, names)
    if bounds is not None and Domain.of(bounds, names) != domain:
        raise ValueError(
            f"bounds contradict the domain_range of the curves, {domain.describe()}; leave them out"
        )
    return domain.bounds
