"""Public grids and bounds on which curves are given; no record is seen here."""

from __future__ import annotations

import re
from collections.abc import Sequence, Sized
from typing import Any

import numpy as np

from mercer.columns.domain import Box
from mercer.columns.rules import looks_like_a_record
from mercer.common.checks import Floats

__all__ = ["alike", "axes_of", "check_names", "grid_in_names", "is_twofold", "on_grid", "own_domain"]

_LONGEST = 100_000  # points of an axis
_NEAREST = 1e-9  # of the width, between two points
_LAST = re.compile(r"(?:(?:^|(?<=[_ =]))[+-])?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$")


def _is_line(cells: Any) -> bool:
    """Whether something is a list, an array or a column with one axis."""
    listed = isinstance(cells, Sized) and not isinstance(cells, (str, bytes, dict))
    return listed and len(getattr(cells, "shape", (0,))) == 1


def is_twofold(grid: Any) -> bool:
    """Whether a grid is one of surfaces, (ticks1, ticks2)."""
    listed = isinstance(grid, (list, tuple)) or (isinstance(grid, np.ndarray) and grid.ndim == 2)
    return listed and len(grid) == 2 and all(map(_is_line, grid))


def axes_of(grid: Any) -> list[Floats]:
    """Ticks of a public grid: one increasing array for each axis."""
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
) -> tuple[Box, tuple[Floats, ...]]:
    """The domain of a grid, its ends unless bounds are given, and the grid in the unit cube."""
    names = names or (("t",) if len(axes) == 1 else ("t1", "t2"))
    if bounds is None:
        bounds = [(ticks[0], ticks[-1]) for ticks in axes]
    domain = Box.of(bounds, names)
    out = []
    for name, ticks, (low, high) in zip(names, axes, domain.bounds, strict=True):
        if ticks[0] < low or ticks[-1] > high:
            raise ValueError(
                f"grid must lie in the bounds {domain.describe()}, got {name} from {ticks[0]:g} "
                f"to {ticks[-1]:g}; widen the bounds, or leave them out to take the grid's ends"
            )
        unit = Box((name,), ((low, high),)).to_unit(ticks[:, None])[:, 0]
        if not np.all(np.diff(unit) >= _NEAREST):
            raise ValueError(
                f"grid must have points further apart than {_NEAREST:g} of the width of "
                f"{domain.describe()}; thin it out"
            )
        out.append(unit)
    return domain, tuple(out)


def own_domain(bounds: object, name: str = "t") -> Box:
    """The domain of curves on grids of their own, where bounds have no default."""
    if bounds is None:
        raise ValueError(
            "bounds is missing: where curves have grids of their own, the range of t is public and "
            "cannot be read from the data; give bounds=(lower, upper)"
        )
    return Box.of(bounds, (name,))


def grid_in_names(names: Sequence[str]) -> tuple[list[str], Floats]:
    """Columns sorted by the number at the end of their names, and these numbers: 1.25 for age_1.25."""
    if looks_like_a_record(names):
        raise ValueError(
            f"grid: among the names of the {len(names)} columns are values (a number alone is "
            "one): does the file have a header? Choose columns named like age_1.25 with columns, "
            "or give the grid itself"
        )
    found = {name: _LAST.search(name) for name in names}
    without = [name for name, number in found.items() if number is None]
    if without:
        raise ValueError(
            f"grid: {len(without)} column name(s) do not end in a number, {without[0]!r} is the "
            "first; choose the others with columns, or give the grid itself"
        )
    numbers = {name: float(number.group()) for name, number in found.items() if number}
    ordered = sorted(names, key=numbers.__getitem__)
    return ordered, np.array([numbers[name] for name in ordered])


def alike(names: Sequence[str]) -> bool:
    """Whether columns are named alike but for a number at the end: age_1, age_1.25."""
    found, stems = _at_the_end(names)
    return all(found) and len(stems) == 1 and "" not in stems


def _at_the_end(names: Sequence[str]) -> tuple[list[re.Match[str] | None], set[str]]:
    """The number at the end of each name, if there is one, and what stands before these numbers."""
    found = [_LAST.search(name) for name in names]
    return found, {name[: number.start()] for name, number in zip(names, found, strict=True) if number}


def check_names(names: Sequence[str], ticks: Floats) -> None:
    """Refuse a grid that contradicts the numbers in the names of its columns.

    They are points of the argument where all names are alike but for a number at the end, as
    age_1.25.  Whole numbers from 0 or 1 on, without a sign of equality before them, only count the
    columns, and go with any grid if they stand in their order.
    """
    found, stems = _at_the_end(names)
    if not all(found) or len(stems) > 1:
        return
    written = [number.group() for number in found if number]
    numbers = np.array([float(word) for word in written])
    counted = set(numbers) in (set(range(len(names))), set(range(1, len(names) + 1)))
    counted = counted and not np.all(np.abs(ticks - numbers) == 1)  # age_1 … at 0 …: a slip
    steps = np.diff(numbers)
    if counted and not stems.pop().endswith("=") and (np.all(steps > 0) or np.all(steps < 0)):
        return
    step = [10.0 ** -len(word.partition(".")[2]) if "." in word else 0.0 for word in written]
    near = np.array(step) * (0.5 + 1e-9) + 1e-9 * np.abs(numbers)
    apart = np.flatnonzero(~(np.abs(numbers - ticks) <= near))  # names may be rounded
    if len(apart):
        if looks_like_a_record(names):
            raise ValueError(
                "grid contradicts the numbers that stand in place of names of columns: does the "
                "file have a header? Give the columns names such as age_1.25"
            )
        shown = ", ".join(f"{names[i]!r} at {ticks[i]:g}" for i in apart[:3])
        more = f" and {len(apart) - 3} more" if len(apart) > 3 else ""
        raise ValueError(
            f"grid contradicts the numbers in the names of the columns: it puts {shown}{more}; "
            "give the numbers of the names as the grid (--grid-from-names on the command line), "
            "with the columns in that order; or rename the columns if the grid is right"
        )
