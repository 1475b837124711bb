"""How cells are to be read: what is missing, how text is written, what is beyond the bounds.

Public arguments, checked before a record is read.  `na_values` are values that stand for
a missing cell; `formats` say how numbers and dates are written in text; `outside` says whether a
value beyond the bounds is moved to the nearest bound ("clip") or counts as missing ("drop").
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.columns.formats import DateFormat, NumberFormat, format_of
from mercer.common.checks import check_choice

__all__ = ["PLAIN", "OfColumn", "Reading"]

_OUTSIDE = ("clip", "drop")


@dataclass(frozen=True)
class OfColumn:
    """How the cells of one column are read."""

    numbers: tuple[float, ...] = ()  # that stand for a missing cell
    texts: tuple[str, ...] = ()
    written: NumberFormat | DateFormat | None = None
    drops: bool = False  # values beyond the bounds count as missing

    @property
    def plain(self) -> bool:
        """Whether text is read as it is."""
        return not self.texts and self.written is None


@dataclass(frozen=True)
class Reading:
    """How the cells of all columns are read."""

    missing: Mapping[str | None, OfColumn] = field(default_factory=dict)  # None: of every column
    outside: str = "clip"
    formats: Mapping[str, NumberFormat | DateFormat] = field(default_factory=dict)
    blank: bool = False  # no cell is looked at: for dry runs

    @classmethod
    def of(
        cls,
        *,
        na_values: object = None,
        outside: object = "clip",
        formats: object = None,
        dry_run: object = False,
    ) -> Reading:
        """Check what a caller gave.

        >>> Reading.of(na_values=[999, "unknown"]).of_column("age").numbers
        (999.0,)
        """
        beyond = check_choice("outside", outside, _OUTSIDE)
        if not isinstance(dry_run, bool):
            raise TypeError(f"dry_run must be True or False, got {type(dry_run).__name__}")
        if formats is not None and not isinstance(formats, Mapping):
            raise TypeError(
                'formats must be examples by column, such as {"income": "$1,234.50", "day": '
                f'"31/12/2023"}}; got {type(formats).__name__}'
            )
        written = {_name("formats", name): format_of(name, how) for name, how in (formats or {}).items()}
        missing: dict[str | None, OfColumn]
        if isinstance(na_values, Mapping):
            missing = {_name("na_values", name): _missing(v) for name, v in na_values.items()}
        else:
            missing = {} if na_values is None else {None: _missing(na_values)}
        return cls(missing, beyond, written, dry_run)

    def of_column(self, name: str) -> OfColumn:
        """How a column's cells are read."""
        given = [self.missing[key] for key in (None, name) if key in self.missing]
        return OfColumn(
            tuple(number for one in given for number in one.numbers),
            tuple(text for one in given for text in one.texts),
            self.formats.get(name),
            self.outside == "drop",
        )

    def check_names(self, names: Iterable[str]) -> None:
        """Refuse what is said of columns that are not read."""
        known = list(names)
        for argument, given in (("na_values", self.missing), ("formats", self.formats)):
            for name in given:
                if name is not None and name not in known:
                    raise ValueError(
                        f"{argument}: there is no column {name!r} among those that are read: "
                        f"{', '.join(map(repr, known[:30]))}"
                    )


PLAIN = Reading()


def _name(argument: str, name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"{argument} must be by names of columns, got {type(name).__name__}")
    return name


def _missing(values: object) -> OfColumn:
    """Values that stand for a missing cell; numbers are missing as text, too."""
    single = isinstance(values, str) or not isinstance(values, (Iterable, np.ndarray))
    listed: list[Any] = [values] if single else list(values)  # type: ignore[call-overload]
    numbers, texts = [], []
    for value in listed:
        plain = value.item() if isinstance(value, np.generic) else value
        if isinstance(plain, bool) or not isinstance(plain, (str, int, float)):
            raise TypeError(
                "na_values must be numbers or text that stand for a missing cell, such as [999, "
                f'"unknown"]; got {type(plain).__name__}'
            )
        if isinstance(plain, str):
            if not plain.strip():
                continue  # an empty cell is missing anyway
            texts.append(plain.strip())
            try:
                numbers.append(float(plain))
            except ValueError:
                continue
        elif abs(plain) <= 1e300:
            numbers.append(float(plain))
        else:
            raise ValueError("na_values must be finite; infinite and NaN are missing anyway")
    return OfColumn(tuple(numbers), tuple(texts))
