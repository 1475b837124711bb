"""Points of curves: any cells as numbers, curves on grids of their own.  Layer 2, left of the door.

No error depends on a record (M18): what is not a finite number is missing, a record of another
shape is a curve without points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.checks import Floats, Ints
from mercer.domain import Domain
from mercer.sensitive import Sensitive
from mercer.tables import numbers_among

__all__ = ["Ragged", "line_of", "numbers_in", "owners_of", "ragged_of", "stack_of"]


@dataclass(frozen=True, repr=False, eq=False)
class Ragged(Sensitive):
    """Curves on grids of their own: points of all curves one after the other.

    Curve i has the points starts[i]:starts[i + 1], perhaps none; its times lie in the unit
    interval and increase, and all values are finite.
    """

    times: Floats
    values: Floats
    starts: Ints

    def __len__(self) -> int:
        return len(self.starts) - 1

    def cut(self, part: slice) -> Ragged:
        """The curves of a slice."""
        starts = self.starts[part.start : part.stop + 1]
        points = slice(starts[0], starts[-1])
        return Ragged(self.times[points], self.values[points], starts - starts[0])


def ragged_of(times: Floats, values: Floats, owners: Ints, curves: int, domain: Domain) -> Ragged:
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
    """The curve of each point, where the curves have so many points."""
    return np.repeat(np.arange(len(lengths), dtype=np.int64), lengths)


def line_of(pair: Any) -> tuple[Floats, Floats]:
    """Times and values of a pair; none if it is no pair of lines of one length."""
    two = pair if isinstance(pair, (list, tuple)) and len(pair) == 2 else ((), ())
    times, values = numbers_in(two[0]), numbers_in(two[1])
    fits = times.ndim == 1 and times.shape == values.shape
    return (times, values) if fits else (np.empty(0), np.empty(0))


def numbers_in(cells: Any) -> Floats:
    """Any cells as doubles: what is no number is missing, what is no array has no cells."""
    try:
        with np.errstate(all="ignore"):
            return np.asarray(_cells(cells), dtype=np.float64)
    except Exception:  # whatever a library says of a cell may show it
        return np.empty(0)


def _cells(cells: Any) -> Any:
    if isinstance(cells, np.ma.MaskedArray):
        return np.ma.filled(cells.astype(np.float64), np.nan)
    try:
        array = np.asarray(cells)
    except ValueError:  # lists of different lengths among them
        array = np.fromiter(cells, dtype=object, count=len(cells))
    if array.dtype.kind in "US":
        array = np.asarray(cells, dtype=object)
    if array.dtype == object:
        return numbers_among(array)
    return array if array.dtype.kind in "iufb" else np.full(array.shape, np.nan)


def stack_of(curves: Any, shape: tuple[int, ...]) -> Any:
    """Curves as an array of numbers; in a list, one of another shape has no values (M18).

    Each curve of a list is read on its own: none may decide how the others are.
    """
    if isinstance(curves, (list, tuple)):
        out = np.full((len(curves), *shape), np.nan)
        for place, curve in enumerate(curves):
            row = numbers_in(curve)
            out[place] = row if row.shape == shape else np.nan
        return out
    try:
        array = curves if isinstance(curves, np.ma.MaskedArray) else np.asarray(curves)
    except Exception:  # no array at all
        array = np.empty((), dtype=object)
    if array.dtype == object or isinstance(array, np.ma.MaskedArray):
        array = _cells(array)
    if array.dtype.kind not in "iufb" or array.ndim == 0:
        raise TypeError(
            "curves must be a file, a table, an array of numbers or a list of (t, x) pairs; got "
            f"{type(curves).__name__}"
        )
    return array
