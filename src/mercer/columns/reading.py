"""How cells are to be read: what is missing, how text is written, what is beyond the bounds.

Public arguments, checked before a record is read.  `na_values` are values that stand for
a missing cell; `outside` says whether a value beyond the bounds is moved to the nearest bound
("clip") or counts as missing ("drop"); `formats` say by an example how numbers and dates are
written in text.  `"$1,234.50"` is a number with a dollar sign, commas between thousands and a
point before decimals; `"1.234,50"` one with a decimal comma; `"12 %"` a number of per cent, 12;
`"31/12/2023"` a day before its month; `"dd/mm/yyyy"` says the same without an example.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mercer.common.checks import check_choice

__all__ = ["PLAIN", "DateFormat", "NumberFormat", "OfColumn", "Reading", "format_of"]

_OUTSIDE = ("clip", "drop")
_SPACES = " \u00a0\u202f'"  # between thousands, besides a comma or a point
_LETTERS = {
    "d": "day",
    "dd": "day",
    "m": "month",
    "mm": "month",
    "yyyy": "year",
    "%d": "day",
    "%m": "month",
    "%Y": "year",
}


@dataclass(frozen=True)
class NumberFormat:
    """Signs around a number, between its thousands and before its decimals."""

    thousands: str | None
    decimal: str  # "." or ","
    around: tuple[str, ...]  # signs before or after it: "$", "%", "EUR"

    def pattern(self) -> str:
        """The regular expression of a number in this format, without the signs around it."""
        point = re.escape(self.decimal)
        groups = r"[0-9]+"
        if self.thousands is not None:
            groups = rf"([0-9]{{1,3}}({re.escape(self.thousands)}[0-9]{{3}})+|[0-9]+)"
        return rf"^[+-]?({groups}({point}[0-9]*)?|{point}[0-9]+)([eE][+-]?[0-9]{{1,4}})?$"


@dataclass(frozen=True)
class DateFormat:
    """In which order day, month and year stand, and what is between them."""

    order: tuple[str, str, str]
    between: str

    def pattern(self) -> str:
        """The regular expression of a date in this format, with its parts as named groups."""
        parts = {"day": "(?P<day>[0-9]{1,2})", "month": "(?P<month>[0-9]{1,2})", "year": "(?P<year>[0-9]{4})"}
        return rf"^{re.escape(self.between).join(parts[part] for part in self.order)}(?:[T ].*)?$"


@dataclass(frozen=True)
class OfColumn:
    """How the cells of one column are read."""

    numbers: tuple[float, ...] = ()  # that stand for a missing cell
    texts: tuple[str, ...] = ()
    written: NumberFormat | DateFormat | None = None
    drops: bool = False  # values beyond the bounds count as missing

    @property
    def plain(self) -> bool:
        """Whether text is read without a format or values that are missing."""
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
        """The reading that a caller asked for; an error says which argument is wrong.

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
        """How the cells of the column of this name are read."""
        given = [self.missing[key] for key in (None, name) if key in self.missing]
        return OfColumn(
            tuple(number for one in given for number in one.numbers),
            tuple(text for one in given for text in one.texts),
            self.formats.get(name),
            self.outside == "drop",
        )

    def check_names(self, names: Iterable[str]) -> None:
        """Refuse arguments about columns that are not read."""
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


def format_of(name: object, example: object) -> NumberFormat | DateFormat:
    """The format that an example shows, or an error that says what it may be.

    >>> format_of("income", "$1,234.50")
    NumberFormat(thousands=',', decimal='.', around=('$',))
    >>> format_of("day", "31/12/2023").order
    ('day', 'month', 'year')
    """
    if not isinstance(example, str) or not example.strip() or len(example) > 40:
        came = repr(example) if isinstance(example, str) else type(example).__name__
        raise ValueError(
            f"formats: that of {name!r} must be an example such as '$1,234.50', '12 %', '1.234,5' "
            f"or '31/12/2023', got {came}"
        )
    text = example.strip()
    return _date_like(name, text) or _number_like(name, text)


def _date_like(name: object, text: str) -> DateFormat | None:
    words = re.fullmatch(r"([a-zA-Z%]+)([^a-zA-Z0-9%])([a-zA-Z%]+)\2([a-zA-Z%]+)", text)
    if words is not None:
        order = [_LETTERS.get(part if "%" in part else part.lower(), "") for part in words.group(1, 3, 4)]
        if sorted(order) != ["day", "month", "year"]:
            raise ValueError(
                f"formats: {text!r} of {name!r} must have day, month and year, such as "
                "'dd/mm/yyyy' or '%d.%m.%Y'; or give an example such as '31/12/2023'"
            )
        return DateFormat((order[0], order[1], order[2]), words.group(2))
    shown = re.fullmatch(r"([0-9]{1,4})([^0-9a-zA-Z ,'])([0-9]{1,4})\2([0-9]{1,4})", text)
    if shown is None:
        return None
    parts = shown.group(1, 3, 4)
    if len(parts[0]) == 4:
        return DateFormat(("year", "month", "day"), shown.group(2))
    if len(parts[2]) != 4 or max(map(int, parts[:2])) > 31:
        return None
    first, second = int(parts[0]), int(parts[1])
    if (first > 12) == (second > 12):
        raise ValueError(
            f"formats: {text!r} of {name!r} may be day first or month first; give an example whose "
            "day is above 12, such as '31/12/2023', or write 'dd/mm/yyyy'"
        )
    if first > 12:
        return DateFormat(("day", "month", "year"), shown.group(2))
    return DateFormat(("month", "day", "year"), shown.group(2))


def _number_like(name: object, text: str) -> NumberFormat:
    found = re.fullmatch(r"([^0-9.,+-]*)[+-]?([0-9][0-9.,\s']*)([^0-9]*)", text)
    body = "" if found is None else found.group(2).strip()
    if found is None or not body:
        raise ValueError(
            f"formats: {text!r} of {name!r} is no number and no date; give an example such as "
            "'$1,234.50', '12 %', '1.234,5' or '31/12/2023'"
        )
    around = tuple(sign.strip() for sign in found.group(1, 3) if sign.strip())
    marks = re.sub(r"[0-9]", "", body)
    last = marks[-1] if marks else ""
    if last in (".", ",") and marks.count(last) == 1:
        rest = set(marks[:-1])
        lone = not rest and re.fullmatch(r"[0-9]{1,3}[.,][0-9]{3}", body) is not None
        if lone:
            raise ValueError(
                f"formats: {text!r} of {name!r} may have thousands or decimals after {last!r}; "
                "give an example with both, such as '1,234.50' or '1.234,50'"
            )
        decimal, between = last, rest
    else:
        between = set(marks)
        decimal = "," if between == {"."} else "."
    if len(between) > 1 or between & {decimal} or not between <= {",", ".", *_SPACES}:
        raise ValueError(
            f"formats: {text!r} of {name!r} has several signs between its digits; give one with a "
            "sign between thousands and one before decimals, such as '1,234.50'"
        )
    return NumberFormat(next(iter(between), None), decimal, around)
