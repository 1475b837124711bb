"""The public domain of numeric columns: their names and bounds; and the base of all such domains.

Everything here is public, on both sides of the door: the sensitive side clips to it, the
release is a function on it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from typing import Any

import numpy as np

from mercer.columns.kinds import Column, Date, Numeric, Unbounded, day_of
from mercer.common.checks import Floats
from mercer.common.files import Fields

__all__ = [
    "MAX_DIMENSION",
    "MOST_COLUMNS",
    "AnyDomain",
    "Box",
    "InWords",
    "NamedColumns",
    "day_of",
    "dimension_of",
]

MAX_DIMENSION = 3
MOST_COLUMNS = 1024  # of a kernel machine


class AnyDomain(ABC):
    """What a release is about, which is public: columns with their bounds, or words where there are none."""

    @abstractmethod
    def describe(self) -> str:
        """The domain in words: `age in [0, 100]`."""


@dataclass(frozen=True)
class InWords(AnyDomain):
    """What a release is about, in words alone."""

    words: str

    def describe(self) -> str:
        return self.words


class NamedColumns(AnyDomain):
    """Base of what is public about several columns: a box, the domain of a table, the cells of one."""

    names: tuple[str, ...]

    @property
    def dimension(self) -> int:
        """Number of columns, d."""
        return len(self.names)

    @abstractmethod
    def _told(self, most: int) -> list[str]:
        """What is said of each of the first columns: `age in [0, 100]`."""

    def describe(self, most: int | None = None) -> str:
        """`age in [0, 100], sex in {f, m}`; of more than `most` columns, the first and how many more."""
        most = self.dimension if most is None else most
        more, shown = self.dimension - most, ", ".join(self._told(most))
        return shown + (f" and {more} more column{'s' * (more > 1)}" if more > 0 else "")

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The columns as a JSON object, as the files of releases hold them."""


@dataclass(frozen=True)
class Box(NamedColumns):
    """A box in d dimensions: the `names` of its columns and their `bounds`, a (lower, upper) pair each.

    `dates` are the names of columns of dates, whose bounds are days since 1970-01-01.
    """

    names: tuple[str, ...]
    bounds: tuple[tuple[float, float], ...]
    dates: tuple[str, ...] = ()

    @classmethod
    def of(cls, bounds: object, names: Sequence[str], most: int = MAX_DIMENSION) -> Box:
        """The box with the bounds that a caller gave: (lower, upper) for one column, else a pair for each."""
        dimension = len(names)
        if dimension > most:
            raise ValueError(
                f"columns must be at most {most}, got {dimension}: noise grows with the "
                "power of the dimension; release the columns of interest two or three at a time"
            )
        if bounds is None:
            raise ValueError(
                "bounds is missing: the domain is public and cannot be read from the data; give "
                "(lower, upper), or one such pair for each column"
            )
        given = bounds_by_name(bounds, names)
        pairs = _pairs_of(given, dimension)
        dates = tuple(name for name, pair in zip(names, pairs, strict=False) if _is_dates(pair))
        if dates:
            found = [
                _day_ends(name, pair) if name in dates else pair
                for name, pair in zip(names, pairs, strict=True)
            ]
            given = found
        try:
            array = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            raise TypeError(
                "bounds must be (lower, upper) numbers or dates, or one such pair for each column; "
                f"got {type(bounds).__name__}"
            ) from None
        if array.ndim == 0:
            raise ValueError(
                f"bounds must be two numbers, (lower, upper), got the one number {array:g}; both "
                "are public, for example (0, 100)"
            )
        if array.shape == (2,) and dimension == 1:
            array = array[None, :]
        if array.shape != (dimension, 2):
            raise ValueError(
                f"bounds must be one (lower, upper) pair for each of the {dimension} column(s) "
                f"{', '.join(names)}; got shape {array.shape}"
            )
        if not np.all(np.isfinite(array)) or np.any(np.abs(array) > 1e100):
            raise ValueError(f"bounds must be finite, got {array.tolist()}; choose a public range")
        if not np.all(array[:, 0] < array[:, 1]):
            raise ValueError(
                f"bounds must have lower < upper, got {array.tolist()}; exchange the two numbers"
            )
        if np.any(array[:, 1] - array[:, 0] < 1e-12 * np.abs(array).max(axis=1) + 1e-100):
            raise ValueError(
                f"bounds must be further apart than rounding, got {array.tolist()}; shift the data"
            )
        return cls(tuple(names), tuple((float(lo), float(hi)) for lo, hi in array), dates)

    @staticmethod
    def columns_of(bounds: object, names: Sequence[str], *, drops: bool) -> list[Column]:
        """The columns by which cells are read: dates keep their bounds, and with `drops` all columns do.

        A column whose bounds are malformed is unbounded here; `of` raises the error.
        """
        pairs = [] if bounds is None else _pairs_of(bounds_by_name(bounds, names), len(names))
        found: list[Column] = []
        for place, name in enumerate(names):
            pair = pairs[place] if place < len(pairs) else None
            if _is_dates(pair):
                assert pair is not None
                ends = [day_of(end) for end in _day_ends(name, pair)]
                found.append(Date(name, *ends))
            elif drops and pair is not None and _is_numbers(pair):
                found.append(Numeric(name, *map(float, pair)))
            else:
                found.append(Unbounded(name))
        return found

    def open_columns(self) -> list[Column]:
        """The columns without their bounds, by which a recipient's cells are read."""
        return [
            Date(name, date.min, date.max) if name in self.dates else Unbounded(name) for name in self.names
        ]

    @cached_property
    def lower(self) -> Floats:
        """Lower bounds, shape (d,)."""
        return _fixed([lo for lo, _ in self.bounds])

    @cached_property
    def upper(self) -> Floats:
        """Upper bounds, shape (d,)."""
        return _fixed([hi for _, hi in self.bounds])

    @cached_property
    def widths(self) -> Floats:
        """Widths of the bounds, shape (d,)."""
        return _fixed([hi - lo for lo, hi in self.bounds])

    @property
    def volume(self) -> float:
        """Volume of the box, in the units of its columns."""
        volume = 1.0
        for lo, hi in self.bounds:
            volume *= hi - lo
        return volume

    def points(self, x: object) -> Floats:
        """Public points of evaluation as rows, shape (points, d); an error where one lies outside."""
        if self.dates:
            x = self._numbered(x)
        try:
            array = np.asarray(x, dtype=float)
        except (TypeError, ValueError):
            raise TypeError(f"x must be numbers, got {type(x).__name__}") from None
        d = self.dimension
        if d == 1 and (array.ndim < 2 or array.shape[-1] != 1):
            array = array[..., None]
        if array.ndim == 0 or array.shape[-1] != d:
            raise ValueError(
                f"x must have {d} numbers a point ({', '.join(self.names)}), got an array of "
                f"shape {array.shape}"
            )
        rows = array.reshape(-1, d)
        inside = np.all((rows >= self.lower) & (rows <= self.upper), axis=1)
        if not np.all(inside):
            bad = self.shown(rows[np.argmin(inside)].tolist())
            raise ValueError(
                f"x must lie in the domain {self.describe()}, got {bad[0] if d == 1 else bad}; "
                "a release says nothing outside its bounds"
            )
        return rows

    def shape(self, x: object) -> tuple[int, ...]:
        """Shape of the values at `x`: that of `x` without its axis of coordinates."""
        array = np.asarray(self._numbered(x) if self.dates else x, dtype=float)
        if self.dimension == 1 and (array.ndim < 2 or array.shape[-1] != 1):
            return array.shape
        return array.shape[:-1]

    def to_unit(self, rows: Floats) -> Floats:
        """Map rows of the domain to the unit cube; what is outside is clipped."""
        return np.clip((rows - self.lower) / self.widths, 0.0, 1.0)

    def from_unit(self, rows: Floats) -> Floats:
        """Map rows of the unit cube to the domain."""
        return np.clip(self.lower + rows * self.widths, self.lower, self.upper)

    def _told(self, most: int) -> list[str]:
        lows, highs = (self.shown(ends) for ends in zip(*self.bounds, strict=True))
        ends = zip(self.names[:most], lows, highs, strict=False)
        return [f"{name} in [{_word(low)}, {_word(high)}]" for name, low, high in ends]

    def shown(self, point: Sequence[float]) -> list[Any]:
        """The coordinates of a point for people: days since 1970-01-01 as dates."""
        return [
            day_of(value) if name in self.dates else value
            for name, value in zip(self.names, point, strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        fields = {"columns": list(self.names), "bounds": [list(pair) for pair in self.bounds]}
        return fields | ({"dates": list(self.dates)} if self.dates else {})

    @classmethod
    def from_fields(cls, fields: Fields, most: int = MAX_DIMENSION) -> Box:
        """The domain that `to_dict` wrote, with at most so many columns; ValueError says what is wrong."""
        names = fields.get("columns", list)
        if not names or not all(isinstance(name, str) for name in names):
            raise ValueError("domain columns must be a list of names")
        box = cls.of(fields.get("bounds", list), names, most=most)
        dates = fields.get("dates", list) if fields.has("dates") else []
        if not all(isinstance(name, str) and name in names for name in dates):
            raise ValueError("domain dates must be names of its columns")
        return replace(box, dates=tuple(dates))

    def _numbered(self, x: object) -> object:
        """Points with dates as days since 1970-01-01; numbers stay as they are."""
        if isinstance(x, np.ndarray) and x.dtype.kind == "M":
            return x.astype("datetime64[D]").astype(np.int64).astype(float)
        if isinstance(x, np.ndarray) and x.dtype.kind in "OU":
            x = x.tolist()
        if isinstance(x, (list, tuple)):
            return [self._numbered(item) for item in x]
        if isinstance(x, np.datetime64):
            x = x.astype("datetime64[D]").item()
        if isinstance(x, (str, date)):
            return Date("x", x, x).ends[0]  # type: ignore[arg-type]
        return x


def bounds_by_name(bounds: object, names: Sequence[str]) -> object:
    """Bounds in the order of `names` where they were given by names of columns; others as they are."""
    if not isinstance(bounds, Mapping):
        return bounds
    odd = [name for name in bounds if name not in names]
    gone = [name for name in names if name not in bounds]
    if odd or gone:
        what = f"{odd[0]!r} is not among them" if odd else f"those of {gone[0]!r} are missing"
        raise ValueError(f"bounds must be by the names of the columns to release, {', '.join(names)}; {what}")
    return [bounds[name] for name in names]


def _pairs_of(bounds: object, dimension: int) -> list[Any]:
    """The pair of bounds of each column; an empty list where bounds are neither list nor array."""
    if isinstance(bounds, np.ndarray):
        bounds = bounds.tolist()
    if not isinstance(bounds, (list, tuple)):
        return []
    lone = dimension == 1 and not any(isinstance(b, (list, tuple, np.ndarray)) for b in bounds)
    return [bounds] if lone else list(bounds)


def _is_dates(pair: object) -> bool:
    """Whether a pair of bounds are dates; text can be nothing else."""
    if not isinstance(pair, (list, tuple)) or len(pair) != 2:
        return False
    return all(isinstance(end, (str, date, np.datetime64)) for end in pair)


def _is_numbers(pair: object) -> bool:
    if not isinstance(pair, (list, tuple)) or len(pair) != 2:
        return False
    low, high = pair
    plain = all(isinstance(end, (int, float, np.integer, np.floating)) for end in (low, high))
    return plain and max(abs(low), abs(high)) <= 1e100 and bool(low < high)


def _day_ends(name: str, pair: Any) -> tuple[float, float]:
    return Date(name, *(e.item() if isinstance(e, np.datetime64) else e for e in pair)).ends


def dimension_of(bounds: object) -> int | None:
    """Number of columns that bounds are for; None where bounds do not say."""
    if isinstance(bounds, Mapping):
        return len(bounds)
    if (
        isinstance(bounds, (list, tuple))
        and len(bounds) == 2
        and all(isinstance(b, (str, date)) for b in bounds)
    ):
        return 1  # two dates
    try:
        shape = np.asarray(bounds, dtype=object).shape
    except (TypeError, ValueError):
        return None
    return {1: 1, 2: shape[0] if shape else 1}.get(len(shape))


def _word(end: Any) -> str:
    return f"{end:g}" if isinstance(end, float) else str(end)


def _fixed(values: list[float]) -> Floats:
    array = np.array(values)
    array.setflags(write=False)
    return array
