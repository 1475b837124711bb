"""Points of curves: any cells as numbers, curves on grids of their own.  Left of the door.

No error depends on a record (M18): what is not a finite number is missing, a record of another
shape is a curve without points.
"""

from __future__ import annotations

import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mercer.columns.domain import Box
from mercer.common.checks import Floats, Ints
from mercer.sensitive.base import Sensitive
from mercer.sources.frames import SERIES, is_a, numbers_among

__all__ = [
    "Ragged",
    "come_singly",
    "line_of",
    "missing_heights",
    "numbers_in",
    "owners_of",
    "ragged_of",
    "stack_of",
    "without",
]

_NUMBERS = (str, bytes, bytearray, memoryview, range, array.array)  # no sequences of curves


@dataclass(frozen=True, repr=False, eq=False)
class Ragged(Sensitive):
    """Curves on grids of their own, their points concatenated.

    Curve i has the points starts[i]:starts[i + 1], perhaps none; its times lie in the unit
    interval and increase, and all values are finite.
    """

    times: Floats
    values: Floats
    starts: Ints

    def __len__(self) -> int:
        return len(self.starts) - 1

    def cut(self, part: slice) -> Ragged:
        """The curves of a slice, with their points."""
        starts = self.starts[part.start : part.stop + 1]
        points = slice(starts[0], starts[-1])
        return Ragged(self.times[points], self.values[points], starts - starts[0])


def ragged_of(times: Floats, values: Floats, owners: Ints, curves: int, domain: Box) -> Ragged:
    """Points of the curves `owners`, by t in the unit interval; those of one t are averaged.

    A point of no curve (-1), without two finite numbers or outside the bounds is left out.
    """
    with np.errstate(all="ignore"):
        inside = (times >= domain.lower[0]) & (times <= domain.upper[0]) & (owners >= 0)
        kept = np.flatnonzero(inside & np.isfinite(values))
        unit = domain.to_unit(times[kept][:, None])[:, 0]
        kept = kept[order := np.lexsort((unit, owners[kept]))]
        unit, owner = unit[order], owners[kept]
        new = np.ones(len(kept), dtype=np.bool_)
        new[1:] = (np.diff(owner) > 0) | (np.diff(unit) > 0)
        first, group = np.flatnonzero(new), np.cumsum(new) - 1
        share = values[kept] / np.bincount(group, minlength=len(first))[group]
        mean = np.bincount(group, weights=share, minlength=len(first))
        most = np.finfo(np.float64).max
        counts = np.bincount(owner[first], minlength=curves)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return Ragged(unit[first], np.clip(mean, -most, most), starts)


def owners_of(lengths: Any) -> Ints:
    """For each point the place of its curve, from the numbers of points of the curves."""
    return np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)


def line_of(pair: Any) -> tuple[Floats, Floats]:
    """Times and values of a (t, x) pair; empty if it is no pair of lines of equal length."""
    rows = isinstance(pair, (list, tuple)) or (isinstance(pair, np.ndarray) and pair.ndim > 0)
    two = pair if rows and len(pair) == 2 else ((), ())
    times, values = numbers_in(two[0]), numbers_in(two[1])
    fits = times.ndim == 1 and times.shape == values.shape
    return (times, values) if fits else (np.empty(0), np.empty(0))


def numbers_in(cells: Any, axes: int = 1) -> Floats:
    """Cells of any type as doubles: what is no number is missing, what is no array has no cells.

    `axes` is the number of axes that are wanted: in a list of lists, each is a row of cells where
    there are two, and a cell, which is no number, where there is one.
    """
    try:
        with np.errstate(all="ignore"):
            if isinstance(cells, (list, tuple)):
                if axes > 1:
                    return np.stack([numbers_in(row, axes - 1) for row in cells])
            elif not is_a(cells, *SERIES):
                cells = np.asanyarray(cells)  # or text and mappings would be lines of cells
            return numbers_among(cells)
    except Exception:  # of a type without numbers; or whatever a library says of a cell, which may show it
        return np.empty(0)


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
        array = curves if isinstance(curves, np.ndarray) else np.asarray(curves)
    except Exception:  # no array at all
        array = np.empty(())
    if array.dtype.kind not in "iufbO" or array.ndim == 0:
        raise TypeError(
            "curves must be a file, a table, an array of numbers or a list of (t, x) pairs; got "
            f"{type(curves).__name__}"
        )
    if array.dtype == object or isinstance(array, np.ma.MaskedArray):
        return numbers_in(array)
    return array


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


def without(heights: Floats, missing: Floats) -> Floats:
    """Heights with NaN in place of those that stand for a missing one."""
    return np.where(np.isin(heights, missing), np.nan, heights) if len(missing) else heights
