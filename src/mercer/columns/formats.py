"""How numbers and dates are written in text, told by an example.  Public arguments.

`"$1,234.50"` is a number with a dollar sign, commas between thousands and a point before
decimals; `"1.234,50"` one with a decimal comma; `"12 %"` a number of per cent, 12; `"31/12/2023"`
a day before its month; `"dd/mm/yyyy"` says the same without an example.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["DateFormat", "NumberFormat", "format_of"]

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
        """What a text must look like, once the signs around it are gone."""
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
        """A text's parts, in named groups; a time of day after it is left out."""
        parts = {"day": "(?P<day>[0-9]{1,2})", "month": "(?P<month>[0-9]{1,2})", "year": "(?P<year>[0-9]{4})"}
        return rf"^{re.escape(self.between).join(parts[part] for part in self.order)}(?:[T ].*)?$"


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
    return _date(name, text) or _number(name, text)


def _date(name: object, text: str) -> DateFormat | None:
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


def _number(name: object, text: str) -> NumberFormat:
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
