"""A public curve in the middle of the ball."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.columns.domain import Domain
from mercer.common.checks import Floats
from mercer.releases.curve.functionals import PolynomialCurve
from mercer.spaces.polynomials import Polynomials

__all__ = ["center_of"]


def center_of(
    center: object, polynomials: Polynomials, domain: Domain, grid: tuple[Floats, ...] | None
) -> Floats:
    """Coefficients of a public centre: none, values on the grid, a function, or a curve."""
    if center is None:
        return np.zeros(polynomials.size)
    if isinstance(center, PolynomialCurve):
        if center.domain.bounds != domain.bounds or center.polynomials != polynomials:
            raise ValueError("center must have the bounds and the size of the curves")
        return np.array(center.coefficients)
    if callable(center):
        return polynomials.inner(lambda unit: _values(center, domain.from_unit(unit)))
    if grid is None:
        raise ValueError("center must be a function where curves have grids of their own")
    shape = tuple(len(ticks) for ticks in grid)
    try:
        values = np.asarray(center, dtype=float)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.shape not in ((), shape) or not np.all(np.isfinite(values)):
        raise ValueError(
            f"center must be a finite number, {' x '.join(map(str, shape))} finite numbers, one "
            f"for each point of the grid, or a function; got {_shown(center)}"
        )
    return np.broadcast_to(values, shape).reshape(-1) @ polynomials.of_grid(grid)


def _values(center: Callable[[Any], Any], rows: Floats) -> Floats:
    value = np.asarray(center(rows[:, 0] if rows.shape[1] == 1 else rows), dtype=float)
    if value.shape not in ((), (len(rows),)) or not np.all(np.isfinite(value)):
        raise ValueError(
            f"center must give one finite number for each point; got shape {value.shape} for "
            f"{len(rows)} points"
        )
    return np.broadcast_to(value, (len(rows),))


def _shown(value: object) -> str:
    return f"{type(value).__name__} of shape {getattr(value, 'shape', ())}"
