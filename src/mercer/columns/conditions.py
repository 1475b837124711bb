"""Conditions on the columns of records: how they are typed, counted and looked up.  All public.

A condition is a mapping of columns to rules that must all hold.  A rule is a value, a list of
values, a `range` of integers, or (least, most) with None for an open end.  `conditions` reads it from
text such as `age>=65`; `axes_of_condition` makes of it cells in which the records are for which it
holds, where a condition itself is all that is known of the columns; `matches` and `holds` say which
codes of known columns it takes in.  What does not fit is an error that names it.

Ends have one meaning everywhere: (20, 40) is 20 <= x < 40, as bins hold their lower edge and not their
upper one; of columns declared as integers and of dates both ends count, 20 <= x <= 40.  `Closed` and
`Open` say it of one condition whatever the column is: `x<=40` and `x<40`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from typing import Any, NamedTuple

import numpy as np

from mercer.columns.cells import Axes, Axis
from mercer.columns.ends import end_words, exchanged, range_words
from mercer.columns.kinds import EPOCH, Boolean, Categorical, Column, Date, Numeric, Ordered, labels_of
from mercer.columns.rules import FAR
from mercer.columns.table import Domain
from mercer.common.checks import Bools, Floats, is_number

__all__ = [
    "Closed",
    "Open",
    "axes_of_condition",
    "conditions",
    "holds",
    "matches",
    "ranged",
    "upper_counts",
    "words_of",
]

_FORM = (
    "--where must be COLUMN=VALUE, COLUMN=VALUE|VALUE, COLUMN=FROM..TO, COLUMN>=FROM, COLUMN<=TO or "
    "COLUMN<TO, for example --where 'age>=65' sex=f"
)
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_WHOLE = re.compile(r"0|-?[1-9]\d{0,14}")


class Closed(NamedTuple):
    """A range whose upper end counts, whatever the column is."""

    least: Any
    most: Any


class Open(NamedTuple):
    """A range whose upper end does not count, whatever the column is."""

    least: Any
    most: Any


def upper_counts(rule: tuple[Any, ...], *, whole: bool) -> bool:
    """Whether the upper end of a range counts: of integers and dates (`whole`), unless it says otherwise."""
    return isinstance(rule, Closed) or (whole and not isinstance(rule, Open))


def ranged(name: str, rule: object) -> object:
    """A `range` of integers as the range with both its ends; any other rule as it is."""
    if not isinstance(rule, range):
        return rule
    if rule.step != 1 or not rule:
        raise ValueError(
            f"condition on {name!r}: a range must be of one or more integers, of step 1; got {rule!r}"
        )
    return Closed(rule[0], rule[-1])


def axes_of_condition(where: object) -> Axes:
    """A record is in a cell of these axes if the condition holds for it, and in none otherwise."""
    if not isinstance(where, Mapping) or not where:
        raise TypeError(
            'where must be conditions by column, for example {"age": (60, 100), "sex": "f"}; got '
            f"{type(where).__name__ if not isinstance(where, Mapping) else 'none'}"
        )
    axes = []
    for name, rule in where.items():
        if not isinstance(name, str):
            raise TypeError(f"where: columns must have text names, got {type(name).__name__}")
        axes.append(_axis(name, rule))
    return Axes(tuple(axes))


def words_of(where: Mapping[str, Any], column_of: Callable[[str], Column] | None = None) -> str:
    """A condition in words, such as `age >= 65 and sex = f`; of known columns, or by what it looks like."""
    parts = []
    for name, given in where.items():
        rule = ranged(name, given)
        if isinstance(rule, tuple):
            low, high = map(end_words, rule) if len(rule) == 2 else (None, None)
            days = any(isinstance(end, (str, date)) for end in rule)
            whole = days if column_of is None else not column_of(name).continuous
            parts.append(range_words(name, low, high, closed=upper_counts(rule, whole=whole)))
        elif isinstance(rule, (list, set, frozenset)):
            parts.append(f"{name} in {{{', '.join(map(_word, rule))}}}")
        else:
            parts.append(f"{name} = {_word(rule)}")
    return " and ".join(parts)


def _word(value: object) -> str:
    """A value as it is typed: a boolean is yes or no."""
    return ("yes" if value else "no") if isinstance(value, (bool, np.bool_)) else str(value)


def _axis(name: str, rule: Any) -> Axis:
    rule = ranged(name, rule)
    if isinstance(rule, tuple):
        return _range_axis(name, rule)
    if isinstance(rule, str):
        _check_no_range(name, rule)
    values = list(rule) if isinstance(rule, (list, set, frozenset)) else [rule]
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    if not plain:
        raise ValueError(f"where: {name!r} must be one value at least")
    if all(isinstance(value, bool) for value in plain):
        if len(set(plain)) == 2:
            return Axis(Boolean(name))
        return Axis(Categorical(name, (plain[0],)))
    if len(plain) == 1 and isinstance(plain[0], float) and not plain[0].is_integer():
        return _range_axis(name, (plain[0], plain[0]))
    levels = [int(v) if isinstance(v, float) and v.is_integer() else v for v in plain]
    if not all(isinstance(v, (str, int, bool)) for v in levels):
        raise ValueError(f"where: {name!r} must be a value, a list of values, or (least, most) for a range")
    return Axis(Categorical(name, tuple(levels)))


def _check_no_range(name: str, text: str) -> None:
    """Refuse text that reads like a range of numbers: as a value it would hold for nobody."""
    number = r"[-+]?[0-9]+(?:[.,][0-9]+)?"
    between = re.fullmatch(rf"\s*({number})\s*(?:-|–|—|\.\.+|:|to|bis)\s*({number})\s*", text)
    beyond = re.fullmatch(rf"\s*(?:([<>]=?|≤|≥)\s*({number})|({number})\s*\+)\s*", text)
    if between is None and beyond is None:
        return
    if between is not None:
        ends = f"({between[1]}, {between[2]})"
        if between[1].isdigit() and between[2].isdigit():
            ends = f"range({int(between[1])}, {int(between[2]) + 1})"
    else:
        assert beyond is not None
        most = (beyond[1] or "").startswith(("<", "≤"))
        ends = f"(None, {beyond[2]})" if most else f"({beyond[2] or beyond[3]}, None)"
    raise ValueError(
        f"where: {name!r} is {text!r}, which reads like a range of numbers but would be one text; "
        f"for a range write {{{name!r}: {ends}}}, for records that hold just this text "
        f"{{{name!r}: [{text!r}]}}"
    )


def _range_axis(name: str, rule: tuple[Any, ...]) -> Axis:
    if len(rule) != 2:
        raise ValueError(f"where: {name!r} must be (least, most); None is an open end")
    if any(isinstance(end, (str, date)) for end in rule):
        low = date.min if rule[0] is None else rule[0]
        high = date.max if rule[1] is None else rule[1]
        codes = _day_code(low), _day_code(high)
        if None not in codes and codes[0] > codes[1]:  # type: ignore[operator]
            raise exchanged(name, rule)
        try:
            days = Date(name, low, high)
        except (TypeError, ValueError):
            raise ValueError(
                f"where: {name!r} is a range (least, most) of dates or numbers; for one of several "
                "values give a list, not a tuple"
            ) from None
        start, stop = days.ends
        if isinstance(rule, Open) and rule[1] is not None:
            stop -= 1
            if stop < start:
                raise ValueError(f"where: {name!r}: no day is in this range")
        return Axis(days, (start, stop if stop > start else start + 0.5), "drop")
    ends = []
    for end, far in zip(rule, (-FAR, FAR), strict=True):
        plain = end.item() if isinstance(end, np.generic) else end
        if plain is None:
            ends.append(far)
        elif isinstance(plain, bool) or not isinstance(plain, (int, float)) or not abs(plain) < FAR:
            raise ValueError(f"where: {name!r} must have finite numbers or dates as ends")
        else:
            ends.append(float(plain))
    if ends[0] > ends[1]:
        raise exchanged(name, rule)
    if ends[0] == ends[1]:
        ends[1] = math.nextafter(ends[1], math.inf)
    elif rule[1] is not None and not upper_counts(rule, whole=False):
        ends[1] = max(math.nextafter(ends[1], -math.inf), math.nextafter(ends[0], math.inf))
    return Axis(Numeric(name, -FAR, FAR), tuple(ends), "drop")


def holds(domain: Domain, codes: Floats, condition: Mapping[str, Any]) -> Bools:
    """Each column has a pair (least, most), a value, or a list of values; all must hold.

    None is an open end.  The upper end of a pair counts for integers and dates, and at the upper bound.
    """
    found = np.ones(len(codes), dtype=bool)
    for name, rule in condition.items():
        column = domain.column(name)
        found &= matches(column, codes[:, domain.names.index(name)], rule)
    return found


def matches(column: Column, codes: Floats, rule: Any) -> Bools:
    """Whether a rule holds for each of the codes of one column."""
    rule = ranged(column.name, rule)
    if isinstance(rule, tuple):
        return _within(column, codes, rule)
    if isinstance(rule, (list, set, frozenset)):
        return np.isin(codes, [_code(column, value) for value in rule])
    return np.asarray(codes == _code(column, rule), dtype=bool)


def _within(column: Column, codes: Floats, rule: tuple[Any, ...]) -> Bools:
    if len(rule) != 2:
        raise ValueError(
            f"condition on {column.name!r} must be (least, most), a value or a list of values; got "
            f"a tuple of {len(rule)}"
        )
    if not column.numeric:
        raise ValueError(
            f"condition on {column.name!r}: its levels have no order; give a list of them instead "
            "of (least, most)"
        )
    low, high = (None if end is None else _code(column, end) for end in rule)
    least = -np.inf if low is None else low
    most = np.inf if high is None else high
    if least > most:
        raise exchanged(column.name, rule)
    counts = upper_counts(rule, whole=not column.continuous) or least == most
    if counts or (most >= column.ends[1] and not isinstance(rule, Open)):
        return np.asarray((codes >= least) & (codes <= most), dtype=bool)
    return np.asarray((codes >= least) & (codes < most), dtype=bool)


def _code(column: Column, value: Any) -> float:
    """The code of a value as people write it; an error where the column has no such value."""
    plain = value.item() if isinstance(value, np.generic) else value
    found: float | None = None
    if isinstance(column, Boolean):
        found = float(plain) if isinstance(plain, (bool, int)) and plain in (0, 1) else None
    elif isinstance(column, (Ordered, Categorical)):
        labels = column.labels if isinstance(column, Categorical) else column.levels
        written = [str(label) for label in labels]
        found = float(written.index(str(plain))) if str(plain) in written else None
    elif isinstance(column, Date):
        found = _day_code(plain)
    elif isinstance(plain, (int, float)) and not isinstance(plain, bool) and plain == plain:
        found = float(plain)
    if found is None:
        raise ValueError(
            f"condition on {column.name!r}: {value!r} is no value of it; there is {column.describe()}: "
            "ask for one of those"
        )
    return found


def _day_code(value: Any) -> float | None:
    if isinstance(value, str):
        try:
            value = date.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        value = value.date()
    return float(value.toordinal() - EPOCH) if isinstance(value, date) else None


def conditions(words: Sequence[str], column_of: Callable[[str], Column] | None = None) -> dict[str, Any]:
    """Conditions by column: a value, a list of values, or (least, most) with None for open ends.

    `age=60..80`, `age=60..`, `age>=60`, `age<=80`, `age<80`, `sex=f`, `ward=a|b`; also `age=60:80` and
    `ward=a,b`.
    A value in double quotes is text as it stands.  With `column_of`, values are read as those of
    the column; without it, as what they look like.
    """
    rules: dict[str, Any] = {}
    for word in words:
        name, sign, text = _parted(word)
        column = None if column_of is None else column_of(name)
        if sign == "=":
            rule = _told(column, text)
        else:
            end = _end(column, name, text)
            rule = {">=": (end, None), "<=": Closed(None, end), "<": Open(None, end)}[sign]
        rules[name] = _joined(name, rules[name], rule) if name in rules else rule
    return rules


def _parted(word: str) -> tuple[str, str, str]:
    found = re.match(r"\s*([^<>=!]+?)\s*(>=|<=|!=|==|=|<|>)\s*(.*?)\s*$", word, flags=re.S)
    if found is None or not found[3]:
        raise ValueError(f"{_FORM}; got {word!r}")
    name, sign, text = found[1], found[2], found[3]
    if sign == ">":
        raise ValueError(
            f"--where knows >=, <= and < but not >: write the least value that still counts, for example "
            f"'{name}>={text}'; got {word!r}"
        )
    if sign == "!=":
        raise ValueError(
            f"--where has no !=: name the values that count, '{name}=a|b', or count {name}={text} "
            f"and take it from the public number of records; got {word!r}"
        )
    if text[0] in "<>=~":
        raise ValueError(
            f"--where: {text!r} is no value; signs are =, >=, <= and <, and a value that begins with "
            f"one stands in double quotes, for example '{name}=\"{text}\"'; got {word!r}"
        )
    return name, "=" if sign == "==" else sign, text


def _told(column: Column | None, text: str) -> Any:
    if column is None and _quoted(text):
        return [text[1:-1]]  # that text, whatever it looks like
    if _quoted(text) or (column is not None and text in labels_of(column)):
        return _said(column, text)
    ordered = not isinstance(column, (Boolean, Categorical))
    for mark in ("..", ":"):
        low, found, high = text.partition(mark)
        if found and ordered and (column is not None or all(map(_is_end, filter(None, (low, high))))):
            if not low and not high:
                raise ValueError(f"{_FORM}; got a range without ends")
            return tuple(_said(column, end) if end else None for end in (low, high))
    mark = "|" if "|" in text else ","
    if mark in text:
        return [_said(column, part.strip()) for part in text.split(mark) if part.strip()]
    value = _said(column, text)
    if column is None and isinstance(value, str) and _DAY.fullmatch(value) and not _quoted(text):
        return value, value  # that day, whether the file says so by a date or by a text
    return value


def _end(column: Column | None, name: str, text: str) -> Any:
    if column is None and not _is_end(text):
        raise ValueError(
            f"--where: the end of a range must be a number or a date such as 2024-12-31; got "
            f"{text!r} for {name!r}"
        )
    return _said(column, text)


def _is_end(text: str) -> bool:
    return is_number(text) or bool(_DAY.fullmatch(text))


def _quoted(text: str) -> bool:
    return len(text) > 1 and text[0] == text[-1] == '"'


def _said(column: Column | None, text: str) -> Any:
    if _quoted(text):
        return text[1:-1]
    if isinstance(column, Boolean):
        return _TRUTH.get(text.lower(), text)
    if isinstance(column, (Categorical, Ordered, Date)):
        return text
    if column is None and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if _WHOLE.fullmatch(text) and column is None:
        return int(text)
    if column is None and re.fullmatch(r"-?0\d+", text):  # a code such as 007 is no number
        return text
    return float(text) if is_number(text) else text


def _joined(name: str, one: Any, two: Any) -> tuple[Any, Any]:
    """The range between two conditions on one column: `age>=20` and `age<=40`."""
    if isinstance(one, tuple) and isinstance(two, tuple):
        upper = one if two[1] is None else two
        pairs = list(zip(one, two, strict=True))
        if all(None in pair for pair in pairs):
            low, high = (a if b is None else b for a, b in pairs)
            return type(upper)(low, high) if isinstance(upper, (Closed, Open)) else (low, high)
    raise ValueError(f"--where: {name!r} stands twice; all conditions must hold")
