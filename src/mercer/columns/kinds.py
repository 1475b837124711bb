"""Kinds of columns of a table.  Imports `column_base` and `column_rules`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np

from mercer.columns.base import Column
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

__all__ = [
    "KINDS",
    "Boolean",
    "Categorical",
    "Column",
    "Date",
    "Integer",
    "Numeric",
    "Ordered",
    "column_from_dict",
    "labels_of",
]

_EPOCH = date(1970, 1, 1).toordinal()


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
        return {"name": self.name, "type": self.kind, "bounds": [self.lower, self.upper]}

    def _value(self, code: float) -> float:
        return code

    def _arrow(self, codes: Floats, missing: Bools) -> Any:
        import pyarrow as pa

        return pa.array(codes, mask=missing)


@dataclass(frozen=True)
class Integer(Column):
    """Whole numbers from lower to upper, both included."""

    lower: int
    upper: int

    kind = "integer"

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
        return {"name": self.name, "type": self.kind, "bounds": [self.lower, self.upper]}

    def _value(self, code: float) -> int:
        return int(code)

    def _arrow(self, codes: Floats, missing: Bools) -> Any:
        import pyarrow as pa

        return pa.array(codes.astype(np.int64), mask=missing)


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
        return float(self.lower.toordinal() - _EPOCH), float(self.upper.toordinal() - _EPOCH)

    def describe(self) -> str:
        return f"{self.name} in [{self.lower}, {self.upper}]"

    def to_dict(self) -> dict[str, Any]:
        bounds = [self.lower.isoformat(), self.upper.isoformat()]
        return {"name": self.name, "type": self.kind, "bounds": bounds}

    def _value(self, code: float) -> date:
        return date.fromordinal(int(code) + _EPOCH)

    def _arrow(self, codes: Floats, missing: Bools) -> Any:
        import pyarrow as pa

        return pa.array(codes.astype(np.int32), mask=missing).cast(pa.date32())


@dataclass(frozen=True)
class Ordered(Column):
    """Levels in an order, equally far apart."""

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
        return {"name": self.name, "type": self.kind, "levels": list(self.levels)}

    def _value(self, code: float) -> Level:
        return self.levels[int(code)]

    def _arrow(self, codes: Floats, missing: Bools) -> Any:
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
        fields = {"name": self.name, "type": self.kind, "levels": list(self.levels)}
        return fields if self.other is None else {**fields, "other": self.other}

    def _value(self, code: float) -> Level:
        return self.labels[int(code)]

    def _arrow(self, codes: Floats, missing: Bools) -> Any:
        return arrow_levels(self.labels, codes, missing, ordered=False)


@dataclass(frozen=True)
class Boolean(Column):
    """False or true."""

    kind = "boolean"
    numeric = False

    def __post_init__(self) -> None:
        check_name(self.name)

    @property
    def ends(self) -> tuple[float, float]:
        return 0.0, 1.0

    def describe(self) -> str:
        return f"{self.name} in {{false, true}}"

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "type": self.kind}

    def _value(self, code: float) -> bool:
        return bool(code)

    def _arrow(self, codes: Floats, missing: Bools) -> Any:
        import pyarrow as pa

        return pa.array(codes.astype(bool), mask=missing)


def labels_of(column: Column) -> list[str]:
    """Levels of a column as text; none of one that has bins."""
    if isinstance(column, Boolean):
        return ["false", "true"]
    if isinstance(column, Categorical):
        return [str(label) for label in column.labels]
    return [str(level) for level in column.levels] if isinstance(column, Ordered) else []


KINDS: Mapping[str, tuple[str, ...]] = {  # what a column of each type is declared by
    "numeric": ("bounds",),
    "integer": ("bounds",),
    "ordered": ("levels",),
    "categorical": ("levels", "other"),
    "boolean": (),
    "date": ("bounds",),
}


def column_from_dict(fields: Mapping[str, Any]) -> Column:
    """A column from its name, type and parameters; whatever is wrong is an error."""
    name = check_name(fields.get("name"))
    kind = fields.get("type")
    if not isinstance(kind, str) or kind not in KINDS:
        shown = repr(kind) if isinstance(kind, (str, type(None))) else type(kind).__name__
        raise ValueError(f"column {name!r}: type must be one of {', '.join(KINDS)}; got {shown}")
    given = {key: value for key, value in fields.items() if key not in ("name", "type")}
    if odd := [str(key) for key in given if key not in KINDS[kind]]:
        allowed = ", ".join(("type", *KINDS[kind]))
        raise ValueError(
            f"column {name!r}: a column of type {kind} has {allowed} alone; got {', '.join(odd)}"
        )
    if kind == "boolean":
        return Boolean(name)
    if kind in ("ordered", "categorical"):
        if "levels" not in given:
            raise ValueError(
                f"column {name!r}: levels is missing: which levels there are is public and cannot "
                "be read from the data; list them"
            )
        return Ordered(name, **given) if kind == "ordered" else Categorical(name, **given)
    bounds = given.get("bounds")
    if not isinstance(bounds, (list, tuple)) or len(bounds) != 2:
        raise ValueError(
            f"column {name!r}: bounds must be a lower and an upper one, public and not read from "
            f"the data; got {_came(bounds)}"
        )
    if kind == "date":
        return Date(name, *bounds)
    return Numeric(name, *bounds) if kind == "numeric" else Integer(name, *bounds)


def _came(value: object) -> str:
    """A public argument in an error."""
    if isinstance(value, (list, tuple)):
        return f"{len(value)} of them"
    return "nothing" if value is None else type(value).__name__
