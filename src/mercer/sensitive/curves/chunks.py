"""Samples of curves in chunks, on one grid or on grids of their own.  Left of the door.

Any cells are read as numbers, and points of curves on grids of their own are brought into order.

Nothing depends on the value of a record but the numbers handed on (M18): what is not a finite
number is missing, a record of another shape is a curve without points, and how a sample is cut
into chunks follows from the number of its curves.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from mercer.columns.domain import Box
from mercer.common.checks import Floats, Ints
from mercer.sensitive.base import Sensitive
from mercer.sensitive.rows import CHUNK, Chunked, Rows
from mercer.sources.frames import SERIES, is_a, numbers_among
from mercer.sources.values import identities

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "CURVES",
    "Blank",
    "Columns",
    "Curves",
    "Held",
    "Ragged",
    "Streamed",
    "curves_of",
    "held_array",
    "held_basis",
    "held_ids",
    "held_pairs",
    "held_points",
    "names_in",
    "numbers_in",
    "without",
]

_NONE: Floats = np.empty(0)
CURVES = 256  # with points of their own, handled at once: how many points they have is not public


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


def without(heights: Floats, missing: Floats) -> Floats:
    """Heights with NaN in place of those that stand for a missing one."""
    return np.where(np.isin(heights, missing), np.nan, heights) if len(missing) else heights


class Columns(Sensitive):
    """Curves on the common grid: an array of heights for each grid point, which nobody may change."""

    def __init__(self, columns: Sequence[Floats]) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns[0])

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.stack(self.columns, axis=1).astype(dtype or np.float64)


CurveChunk: TypeAlias = Floats | Ragged | Columns


class Curves(Chunked[CurveChunk]):
    """Curves or surfaces: heights called `value` at arguments of a public `domain`.

    `grid` is the common public grid in the unit cube, one array of ticks an axis, or None where
    each curve has its own.  A chunk has shape (curves, *ticks), what is not a finite number being
    missing, or is `Ragged`, or `Columns`.
    """

    def __init__(
        self,
        domain: Box,
        *,
        value: str = "value",
        unit: str | None = None,
        grid: tuple[Floats, ...] | None = None,
    ) -> None:
        self.domain, self.value, self.unit, self.grid = domain, value, unit, grid


class _Remade(Curves, ABC):
    """Curves that are made of other records chunk by chunk."""

    _inner: Chunked[Any]

    @abstractmethod
    def _made(self, part: Callable[[], Iterator[Any]]) -> Iterator[CurveChunk]:
        """The chunks of curves for a part of the other records."""

    def parts(self) -> Iterator[Callable[[], Iterator[CurveChunk]]]:
        for part in self._inner.parts():
            yield partial(self._made, part)

    def persons(self) -> Iterator[Any]:
        return iter(()) if self.unit is None else self._inner.persons()

    def progress(self, tick: Callable[[int], None]) -> None:
        self._inner.progress(tick)


class Blank(_Remade):
    """As many curves as others, of the same persons, without heights: for dry runs."""

    def __init__(self, curves: Curves) -> None:
        super().__init__(curves.domain, value=curves.value, unit=curves.unit, grid=curves.grid)
        self._inner, self.fixed = curves, curves.fixed

    def _made(self, part: Callable[[], Iterator[Any]]) -> Iterator[CurveChunk]:
        for chunk in part():
            if isinstance(chunk, Ragged):
                yield Ragged(_NONE, _NONE, np.zeros(len(chunk) + 1, dtype=np.int64))
            else:
                ticks = () if self.grid is None else tuple(len(axis) for axis in self.grid)
                yield np.full((len(chunk), *ticks), np.nan)


class Streamed(_Remade):
    """A table with a row for each curve and a column for each grid point; `missing` heights are none."""

    def __init__(self, rows: Rows, domain: Box, grid: tuple[Floats, ...], missing: Floats = _NONE) -> None:
        super().__init__(domain, unit=rows.unit, grid=grid)
        self._inner, self.workers, self.fixed = rows, rows.workers, rows.fixed
        self._missing, self._apart = missing, rows.columnwise()

    def _made(self, part: Callable[[], Iterator[Any]]) -> Iterator[CurveChunk]:
        for chunk in part():
            if self._apart:
                yield Columns([without(column, self._missing) for column in chunk])
            else:
                yield without(chunk, self._missing)


class Held(Curves):
    """Curves in memory: `read` gives those of a slice, `people` are the names of their persons."""

    def __init__(
        self,
        count: int,
        step: int,
        read: Callable[[slice], Floats | Ragged],
        domain: Box,
        *,
        value: str = "value",
        unit: str | None = None,
        grid: tuple[Floats, ...] | None = None,
        people: Any = None,
    ) -> None:
        super().__init__(domain, value=value, unit=unit, grid=grid)
        self._slices = [slice(at, min(at + step, count)) for at in range(0, count, step)]
        self._read, self._people = read, people

    def parts(self) -> Iterator[Callable[[], Iterator[CurveChunk]]]:
        yield self._whole

    def _whole(self) -> Iterator[Floats | Ragged]:
        for part in self._slices:
            self._tick(part.stop - part.start)
            yield self._read(part)

    def persons(self) -> Iterator[Any]:
        if self._people is not None:
            for part in self._slices:
                yield self._people[part]


def _finite(heights: Floats) -> Floats:
    """Heights with NaN for whatever is not a finite number."""
    return np.where(np.isfinite(heights), heights, np.nan)


def held_array(
    array: Any, domain: Box, grid: tuple[Floats, ...], value: str = "value", missing: Floats = _NONE
) -> Held:
    """Curves in an array of numbers, shape (curves, *ticks)."""

    def read(part: slice) -> Floats:
        with np.errstate(all="ignore"):
            return _finite(without(np.asarray(array[part], dtype=np.float64), missing))

    step = max(1, CHUNK // int(np.prod([len(ticks) for ticks in grid])))
    return Held(len(array), step, read, domain, grid=grid, value=value)


def held_basis(coefficients: Any, heights: Floats, domain: Box, grid: tuple[Floats, ...], value: str) -> Held:
    """Curves given by coefficients of public functions, which have `heights` on the grid."""

    def read(part: slice) -> Floats:
        with np.errstate(all="ignore"):
            return _finite(np.asarray(coefficients[part], dtype=np.float64) @ heights)

    step = max(1, CHUNK // heights.shape[1])
    return Held(len(coefficients), step, read, domain, grid=grid, value=value)


def held_pairs(pairs: Sequence[Any], domain: Box, missing: Floats = _NONE) -> Held:
    """Curves given as (t, x) pairs, each on a grid of its own."""

    def read(part: slice) -> Ragged:
        lines = [line_of(pair) for pair in pairs[part]]
        times, values = (np.concatenate([line[i] for line in lines]) for i in (0, 1))
        return ragged_of(
            times, without(values, missing), owners_of([len(line[0]) for line in lines]), len(lines), domain
        )

    return Held(len(pairs), CURVES, read, domain)


def held_points(
    times: Any, values: Any, starts: Ints, domain: Box, value: str, missing: Floats = _NONE
) -> Held:
    """Curves whose points stand one after the other, in any order within a curve."""

    def read(part: slice) -> Ragged:
        points = slice(starts[part.start], starts[part.stop])
        owners = owners_of(np.diff(starts[part.start : part.stop + 1]))
        line = numbers_in(times[points]), without(numbers_in(values[points]), missing)
        return ragged_of(*line, owners, part.stop - part.start, domain)

    return Held(len(starts) - 1, CURVES, read, domain, value=value)


def held_ids(
    rows: Rows, people: Rows | None, domain: Box, value: str, unit: str | None, missing: Floats = _NONE
) -> Held:
    """Curves of a table with a row for each point: columns t and value, and the id as the unit column.

    The whole table is read into memory.  Rows of one id and one person are a curve, whoever else
    uses that id; without `people` the id is the person.
    """
    codes, names = curves_of(names_in(rows), None if people is None else names_in(people))
    count = len(names)
    table = [np.empty((0, 2)), *rows.chunks()]
    times, values = (np.concatenate([chunk[:, i] for chunk in table]) for i in (0, 1))
    curves = ragged_of(times, without(values, missing), codes, count, domain)
    persons = None if unit is None else names
    return Held(count, CURVES, curves.cut, domain, value=value, unit=unit, people=persons)


def curves_of(ids: pa.Array, people: pa.Array | None) -> tuple[Ints, pa.Array]:
    """The number of each row's curve (-1: none), and the name of each curve or, with people, its person.

    A curve is an id, or an id of a person.
    """
    import pyarrow as pa

    codes, names = _coded(ids)
    if people is None:
        return codes, names
    place, persons = _coded(people)
    many = len(persons) + 1
    both = np.where(codes < 0, -1, codes * many + place + 1)
    known, pairs = np.unique(both, return_inverse=True)
    skip = int(np.sum(known < 0))  # rows without an id
    owner = known[skip:] % many - 1
    return pairs.reshape(-1) - skip, persons.take(pa.array(owner, mask=owner < 0))


def _coded(names: pa.Array) -> tuple[Ints, pa.Array]:
    """The place of each name among the different ones (-1: no name), and these."""
    import pyarrow.compute as pc

    coded = names.dictionary_encode()
    places = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)
    return places.astype(np.int64), coded.dictionary


def names_in(rows: Rows) -> pa.Array:
    """The unit column as one Arrow array of text; NaN is no name."""
    import pyarrow as pa
    import pyarrow.compute as pc

    parts = [pa.array([], pa.large_string())]
    for part in rows.persons():
        if pa.types.is_floating(part.type):
            unnamed = pc.is_nan(pc.cast(part, pa.float64()))
            part = pc.if_else(unnamed, pa.scalar(None, part.type), part)
        parts.append(identities(part))
    return pa.concat_arrays(parts)
