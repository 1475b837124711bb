"""Any source of curves as chunks on a public domain.  Left of the door.

Grids, bounds, shapes, names and types are public and checked here; no error shows or depends on a
height, a time of measurement or a name of a person (M18).  Functional data of scikit-fda are read
without importing it.
"""

from __future__ import annotations

import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.columns.domain import Box
from mercer.columns.grids import axes_of, check_names, is_twofold, on_grid, own_domain
from mercer.columns.rules import listed
from mercer.common.checks import Floats, Ints, check_column
from mercer.sensitive.curves.chunks import (
    Blank,
    Columns,
    Curves,
    Ragged,
    Streamed,
    held_array,
    held_basis,
    held_ids,
    held_pairs,
    held_points,
    numbers_in,
)
from mercer.sensitive.data import open_rows
from mercer.sources.files import file_batches
from mercer.sources.folders import paths_of
from mercer.sources.frames import names_of, tabled

__all__ = ["Columns", "Curves", "Ragged", "is_file", "matched", "open_curves", "present_in", "protected"]


def open_curves(
    curves: object,
    *,
    grid: object = None,
    bounds: object = None,
    columns: object = None,
    long: object = None,
    unit: object = None,
    na_values: object = None,
    dry_run: bool = False,
) -> Curves:
    """Curves of whatever the caller handed in; errors name arguments and shapes, never values.

    A matrix, table or file with a row a curve and a public `grid`; an array (curves, T1, T2) of
    surfaces with grid=(ticks1, ticks2); a list of (t, x) pairs with `bounds`; a table with a row
    a point, long=("id", "t", "value") and `bounds`, which is read into memory; or data of
    scikit-fda.  For a dry run all of them are curves without heights.  `columns` may hold
    prefixes: "h*" stands for all columns that start with h.

    What a curve of a list is follows from the arguments alone (M18): heights on the grid where
    there is a grid, a pair (t, x) where there is none.  One of another shape has no values.
    """
    opened = _opened(curves, grid, bounds, columns, long, unit, na_values)
    return Blank(opened) if dry_run else opened


def _opened(
    curves: object,
    grid: object,
    bounds: object,
    columns: object,
    long: object,
    unit: object,
    na_values: object,
) -> Curves:
    if isinstance(curves, Curves):
        return curves
    unit = check_column("unit", unit)
    missing = missing_heights(na_values)
    kind = _fda_kind(curves)
    named = kind is None and (is_file(curves) or names_of(curves) is not None)
    if named and long is not None:
        return _long(curves, long, grid, bounds, columns, unit, missing)
    if named:
        return _wide(curves, grid, bounds, columns, unit, missing)
    for name, given in (("unit", unit), ("columns", columns), ("long", long)):
        if given is not None:
            raise ValueError(
                f"{name} names columns, so the curves must have named columns: hand in a data "
                f"frame, an Arrow table or a file, or leave {name} out"
            )
    if kind is not None:
        return _fda_curves(kind, curves, grid, bounds, missing)
    if grid is None:
        if come_singly(curves) or _paired(curves):
            pairs: Any = curves
            return held_pairs(list(pairs), _pairs_domain(bounds), missing)
        raise ValueError(
            "grid is missing: give one public number for each point of the curves; curves on grids "
            "of their own are given as a list of (t, x) pairs with bounds=(lower, upper)"
        )
    axes = axes_of(grid)
    domain, ticks = on_grid(axes, bounds)
    shape = tuple(map(len, axes))
    array = stack_of(curves, shape)
    if array.shape[1:] != shape:
        raise ValueError(
            f"curves must have shape (curves, {', '.join(map(str, shape))}) on this grid, got "
            f"shape {array.shape}; give a grid of as many numbers as each curve has heights, and "
            "two such grids, (ticks1, ticks2), for surfaces"
        )
    return held_array(array, domain, ticks, missing=missing)


def _paired(curves: Any) -> bool:
    """Whether it is an array of pairs of lists, (curves, 2): shapes and types of arrays are public.

    NumPy makes one of a list of pairs whose lines differ in length.
    """
    return isinstance(curves, np.ndarray) and curves.dtype == object and curves.shape[1:] == (2,)


def _pairs_domain(bounds: object) -> Box:
    """The domain of (t, x) pairs, which a list without a grid holds: nothing else tells."""
    if bounds is None:
        raise ValueError(
            "grid is missing, or bounds is missing: without a grid, the curves of a list are "
            "(t, x) pairs with points of their own, and the range of t is public and cannot be "
            "read from the data; give bounds=(lower, upper), or the grid if each is a list of "
            "heights"
        )
    return own_domain(bounds)


def _wide(
    curves: Any, grid: object, bounds: object, columns: object, unit: str | None, missing: Floats
) -> Curves:
    """Curves of a table with a row for each curve and a column for each point."""
    if grid is None:
        raise ValueError(
            "grid is missing: give one public number for each value column, or, where a row is a "
            'point, name its columns with long=("id", "t", "value")'
        )
    if is_twofold(grid):
        raise ValueError("grid must be one line of numbers for a table; give surfaces as an array")
    axes = axes_of(grid)
    domain, ticks = on_grid(axes, bounds)
    if columns is not None:
        columns = matched(curves, columns, unit)
    rows = open_rows(curves, columns=columns, unit=unit, dimension=None)
    if len(rows.names) != len(axes[0]):
        raise ValueError(
            f"grid must have one number for each of the {len(rows.names)} value columns, got "
            f"{len(axes[0])}; choose the columns with columns=…, for example columns='h*'"
        )
    check_names(rows.names, axes[0])
    return Streamed(rows, domain, ticks, missing)


def matched(curves: Any, columns: Any, unit: str | None) -> object:
    """Names of columns; one that ends in * stands for all columns that start with it, in order."""
    given = [columns] if isinstance(columns, str) else columns
    if not isinstance(given, Sequence) or not all(isinstance(name, str) for name in given):
        return columns  # which is an error of whoever reads the table
    names: list[str] = []
    for name in given:
        if not name.endswith("*"):
            names.append(name)
            continue
        alike = [c for c in present_in(curves) if c.startswith(name[:-1]) and c != unit]
        if not alike:
            raise ValueError(f"columns: no column starts with {name[:-1]!r}; mind upper case")
        names += alike
    return names


def present_in(curves: Any) -> list[str]:
    """Names of the columns of a table or of files."""
    if is_file(curves):
        return list(file_batches(curves)[0].names)
    return names_of(curves) or []


def is_file(curves: object) -> bool:
    """Whether curves are given as files to be read."""
    return paths_of(curves) is not None


def protected(unit: str | None, long: Any) -> str | None:
    """The column whose value is protected: that of the person, or of the curve that rows belong to."""
    named = isinstance(long, (list, tuple)) and long and isinstance(long[0], str)
    return unit if unit is not None or not named else str(long[0])


def _long(
    curves: Any, long: Any, grid: object, bounds: object, columns: object, unit: str | None, missing: Floats
) -> Curves:
    """Curves of a table with a row for each point."""
    for name, given in (("grid", grid), ("columns", columns)):
        if given is not None:
            raise ValueError(
                f"{name} must be left out with long, whose three columns say all; or leave long "
                "out where a row is a curve"
            )
    texts = isinstance(long, (list, tuple)) and all(isinstance(name, str) for name in long)
    if not texts or len(long) != 3 or len(set(long)) != 3:
        raise ValueError(
            "long must name three different columns, of the curve, of t and of its height; got "
            f'{list(long) if texts else type(long).__name__}; for example ("id", "t", "value")'
        )
    who, time, height = long
    domain = own_domain(bounds, time)
    present = present_in(curves)
    for name in long:
        if name not in present:
            raise ValueError(f"long: there is no column {name!r}; there are {listed(present)}")
    curves = tabled(curves)  # a stream can be read once only
    points = [time, height]
    rows = open_rows(curves, columns=points, unit=who, dimension=None)
    other = unit is not None and unit != who
    people = open_rows(curves, columns=points, unit=unit, dimension=None) if other else None
    return held_ids(rows, people, domain, height, unit, missing)


_NUMBERS = (str, bytes, bytearray, memoryview, range, array.array)  # no sequences of curves


def stack_of(curves: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Curves as an array of numbers; in a list, one of another shape has no values (M18).

    Each curve of a list is read on its own: none may decide how the others are.  The shape of an
    array is public.
    """
    if come_singly(curves):
        out = np.full((len(curves), *shape), np.nan)
        for place, curve in enumerate(curves):
            row = numbers_in(curve, len(shape))
            out[place] = row if row.shape == shape else np.nan
        return out
    try:
        found = curves if isinstance(curves, np.ndarray) else np.asarray(curves)
    except Exception:  # no array at all
        found = np.empty(())
    if found.dtype.kind not in "iufbO" or found.ndim == 0:
        raise TypeError(
            "curves must be a file, a table, an array of numbers or a list of (t, x) pairs; got "
            f"{type(curves).__name__}"
        )
    if found.dtype == object or isinstance(found, np.ma.MaskedArray):
        return numbers_in(found)
    return found


def come_singly(curves: Any) -> bool:
    """Whether curves come one by one, so that their shapes are records: not in an array."""
    if isinstance(curves, np.ndarray):
        return curves.dtype == object and curves.ndim == 1
    return isinstance(curves, Sequence) and not isinstance(curves, _NUMBERS)


def missing_heights(na_values: object) -> Floats:
    """Numbers that stand for a missing height; as text they are numbers too.  Public.

    Other text is no number, and so is missing without being named.
    """
    if na_values is None:
        return np.empty(0)
    single = isinstance(na_values, str) or not isinstance(na_values, (Iterable, np.ndarray))
    given: list[Any] = [na_values] if single else list(na_values)  # type: ignore[call-overload]
    numbers: list[float] = []
    for value in given:
        plain = value.item() if isinstance(value, np.generic) else value
        if (
            isinstance(plain, bool)
            or not isinstance(plain, (str, int, float))
            or isinstance(na_values, Mapping)
        ):
            raise TypeError(
                "na_values must be a list of numbers or text that stand for a missing height, for "
                f"example [-999, 'unknown']; got {type(na_values if single else plain).__name__}"
            )
        try:
            numbers.append(float(plain))
        except (ValueError, OverflowError):
            continue
    with np.errstate(all="ignore"):
        exact = np.array(numbers, dtype=np.float64)
        short = exact.astype(np.float32).astype(np.float64)  # as it stands in single precision
    known = np.unique(np.concatenate([exact, short]))
    return known[np.isfinite(known)]


_EVEN = 513  # points at which curves given in a basis are read


def _fda_kind(curves: object) -> str | None:
    """The name of the class of scikit-fda that curves are of; None for other data."""
    for base in type(curves).__mro__:
        if base.__module__.split(".")[0] == "skfda" and base.__name__ in _READERS:
            return base.__name__
    return None


def _fda_curves(kind: str, curves: Any, grid: Any, bounds: object, missing: Floats) -> Curves:
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
    domain = Box.of(curves.domain_range, names)
    if bounds is not None and Box.of(bounds, names) != domain:
        raise ValueError(
            f"bounds contradict the domain_range of the curves, {domain.describe()}; leave them out"
        )
    return domain.bounds
