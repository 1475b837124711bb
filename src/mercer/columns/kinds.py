"""Kinds of columns of a table: codes of cells and where they lie.

A cell is one float64 code: the number itself (numeric, integer), the place of its level (ordered,
categorical, boolean) or days since 1970-01-01 (date).  NaN is a cell that does not fit.
Everything here is public: the sensitive side reads cells by it, a release is written by it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mercer.columns.rules import (
    Level,
    arrow_levels,
    check_bound,
    check_day,
    check_levels,
    check_name,
    check_order,
    check_whole,
    show_levels,
)
from mercer.common.checks import Bools, Floats

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "EPOCH",
    "Boolean",
    "Categorical",
    "Column",
    "Date",
    "Integer",
    "Numeric",
    "Ordered",
    "Unbounded",
    "day_of",
    "labels_of",
]

EPOCH = date(1970, 1, 1).toordinal()  # codes of dates are days since then


@dataclass(frozen=True)
class Column(ABC):
    """A named column: which cells there may be, and where they lie."""

    name: str

    kind: ClassVar[str]
    continuous: ClassVar[bool] = False  # any number between its ends
    numeric: ClassVar[bool] = True  # has a position on a line
    _stored: ClassVar[type] = np.float64  # of its cells in an Arrow table

    @property
    @abstractmethod
    def ends(self) -> tuple[float, float]:
        """The least and the greatest code."""

    @abstractmethod
    def describe(self) -> str:
        """The column with its bounds or levels, such as `age in [0, 100]`."""

    def to_dict(self) -> dict[str, Any]:
        """The column's name, type and parameters, as a JSON object."""
        return {"name": self.name, "type": self.kind}

    def _value(self, code: float) -> Any:
        """A valid code as a Python value."""
        return code

    def _arrow(self, codes: Floats, missing: Bools) -> pa.Array:
        """Valid codes as an Arrow array, null where one is missing."""
        import pyarrow as pa

        return pa.array(codes.astype(self._stored), mask=missing)

    @property
    def levels_count(self) -> int | None:
        """Number of distinct values; None for a continuous column."""
        low, high = self.ends
        return None if self.continuous else int(high) - int(low) + 1

    @property
    def width(self) -> int:
        """Number of coordinates that `embed` gives the column."""
        count = self.levels_count
        return 1 if self.numeric or count is None or count <= 2 else count

    def embed(self, codes: Floats) -> Floats:
        """Codes as points, shape (n, width); NaN in all coordinates of a cell that does not fit.

        A numeric column: its position in [0, 1].  Others: squared distance 2 between any two
        levels; 0 or sqrt(2) for two of them, else one coordinate a level.
        """
        codes = np.asarray(codes, dtype=np.float64)
        low, high = self.ends
        if high == low:
            return np.where(np.isnan(codes), np.nan, 0.0)[:, None]
        if self.numeric:
            return np.clip((codes - low) / (high - low), 0.0, 1.0)[:, None]
        if self.width == 1:
            return (math.sqrt(2) * self.snap(codes))[:, None]
        missing = np.isnan(codes)
        places = self.snap(np.where(missing, 0.0, codes)).astype(np.intp)
        points = np.zeros((codes.size, self.width))
        points[np.arange(codes.size), places] = 1.0
        points[missing] = np.nan
        return points

    def from_unit(self, u: Floats) -> Floats:
        """Uniform numbers in [0, 1] as codes that are equally likely."""
        low, high = self.ends
        count = self.levels_count
        if count is None:
            return np.clip(low + u * (high - low), low, high)
        return low + np.clip(np.floor(u * count), 0.0, count - 1.0)

    def snap(self, codes: Floats) -> Floats:
        """The nearest valid codes; NaN stays NaN."""
        return np.clip(codes if self.continuous else np.rint(codes), *self.ends)

    def values(self, codes: Floats) -> list[Any]:
        """Codes as Python values; None for NaN."""
        plain = self.snap(np.asarray(codes, dtype=np.float64)).tolist()
        return [None if code != code else self._value(code) for code in plain]

    def arrow(self, codes: Floats) -> pa.Array:
        """Codes as an Arrow array of the column's type; null for NaN."""
        codes = self.snap(np.asarray(codes, dtype=np.float64))
        missing = np.isnan(codes)
        return self._arrow(np.where(missing, self.ends[0], codes), missing)

    def _set(self, **fields: object) -> None:
        """Replace what was declared by its checked form, while the column is made."""
        for name, value in fields.items():
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class Numeric(Column):
    """Numbers in [lower, upper]."""

    lower: float
    upper: float

    kind = "numeric"
    continuous = True

    def __post_init__(self) -> None:
        check_name(self.name)
        low, high = (check_bound(self.name, bound) for bound in (self.lower, self.upper))
        check_order(self.name, low, high)
        self._set(lower=low, upper=high)

    @property
    def ends(self) -> tuple[float, float]:
        return self.lower, self.upper

    def describe(self) -> str:
        return f"{self.name} in [{self.lower:g}, {self.upper:g}]"

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"bounds": [self.lower, self.upper]}


@dataclass(frozen=True)
class Unbounded(Column):
    """Any number, infinite ones too: a column of which the reader leaves open what fits."""

    kind = "unbounded"
    continuous = True

    @property
    def ends(self) -> tuple[float, float]:
        return -math.inf, math.inf

    def describe(self) -> str:
        return f"{self.name} in numbers"


@dataclass(frozen=True)
class Integer(Column):
    """Integers from lower to upper, both included."""

    lower: int
    upper: int

    kind = "integer"
    _stored = np.int64

    def __post_init__(self) -> None:
        check_name(self.name)
        low, high = (check_whole(self.name, bound) for bound in (self.lower, self.upper))
        check_order(self.name, low, high, one=True)
        self._set(lower=low, upper=high)

    @property
    def ends(self) -> tuple[float, float]:
        return float(self.lower), float(self.upper)

    def describe(self) -> str:
        return f"{self.name} in {{{self.lower}..{self.upper}}}"

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"bounds": [self.lower, self.upper]}

    def _value(self, code: float) -> int:
        return int(code)


@dataclass(frozen=True)
class Date(Column):
    """Calendar dates from lower to upper, both included."""

    lower: date
    upper: date

    kind = "date"

    def __post_init__(self) -> None:
        check_name(self.name)
        low, high = (check_day(self.name, bound) for bound in (self.lower, self.upper))
        check_order(self.name, low, high, one=True)
        self._set(lower=low, upper=high)

    @property
    def ends(self) -> tuple[float, float]:
        return float(self.lower.toordinal() - EPOCH), float(self.upper.toordinal() - EPOCH)

    def describe(self) -> str:
        return f"{self.name} in [{self.lower}, {self.upper}]"

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"bounds": [self.lower.isoformat(), self.upper.isoformat()]}

    def _value(self, code: float) -> date:
        return day_of(code)

    def _arrow(self, codes: Floats, missing: Bools) -> pa.Array:
        import pyarrow as pa

        return pa.array(codes.astype(np.int32), mask=missing).cast(pa.date32())


@dataclass(frozen=True)
class Ordered(Column):
    """Levels in an order, equally spaced."""

    levels: tuple[Level, ...]

    kind = "ordered"

    def __post_init__(self) -> None:
        check_name(self.name)
        self._set(levels=check_levels(self.name, self.levels))

    @property
    def ends(self) -> tuple[float, float]:
        return 0.0, len(self.levels) - 1.0

    def describe(self) -> str:
        return f"{self.name} in {{{show_levels(self.levels, ' < ')}}}"

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"levels": list(self.levels)}

    def _value(self, code: float) -> Level:
        return self.levels[int(code)]

    def _arrow(self, codes: Floats, missing: Bools) -> pa.Array:
        return arrow_levels(self.levels, codes, missing, ordered=True)


@dataclass(frozen=True)
class Categorical(Column):
    """Levels without an order; `other`, where given, is a last one for whatever is undeclared."""

    levels: tuple[Level, ...]
    other: str | None = None

    kind = "categorical"
    numeric = False

    def __post_init__(self) -> None:
        check_name(self.name)
        extra = () if self.other is None else (self.other,)
        if not all(isinstance(label, str) for label in extra):
            raise TypeError(
                f"column {self.name!r}: other must be text, got {type(self.other).__name__}; it "
                "is the name of whatever is not declared"
            )
        levels = check_levels(self.name, self.levels)
        check_levels(self.name, (*map(str, levels), *extra))
        self._set(levels=levels)

    @property
    def labels(self) -> tuple[Level, ...]:
        """All levels, `other` last."""
        return self.levels if self.other is None else (*self.levels, self.other)

    @property
    def ends(self) -> tuple[float, float]:
        return 0.0, len(self.labels) - 1.0

    def describe(self) -> str:
        return f"{self.name} in {{{show_levels(self.labels, ', ')}}}"

    def to_dict(self) -> dict[str, Any]:
        fields = super().to_dict() | {"levels": list(self.levels)}
        return fields if self.other is None else fields | {"other": self.other}

    def _value(self, code: float) -> Level:
        return self.labels[int(code)]

    def _arrow(self, codes: Floats, missing: Bools) -> pa.Array:
        return arrow_levels(self.labels, codes, missing, ordered=False)


@dataclass(frozen=True)
class Boolean(Column):
    """False or true."""

    kind = "boolean"
    numeric = False
    _stored = bool

    def __post_init__(self) -> None:
        check_name(self.name)

    @property
    def ends(self) -> tuple[float, float]:
        return 0.0, 1.0

    def describe(self) -> str:
        return f"{self.name} in {{false, true}}"

    def _value(self, code: float) -> bool:
        return bool(code)


def day_of(code: float) -> date:
    """The calendar day of a number of days since 1970-01-01."""
    return date.fromordinal(math.floor(code) + EPOCH)


def labels_of(column: Column) -> list[str]:
    """Levels of a column as text; an empty list for numbers and dates."""
    if isinstance(column, Boolean):
        return ["false", "true"]
    if isinstance(column, Categorical):
        return [str(label) for label in column.labels]
    return [str(level) for level in column.levels] if isinstance(column, Ordered) else []
