"""Conditions on columns as people type them: `age>=65`, `sex=f`, `ward=a|b`."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from mercer.columns.kinds import Boolean, Categorical, Column, Date, Ordered
from mercer.releases.synthetic.marginals import labels_of
from mercer.show import terminal

__all__ = ["conditions"]

_FORM = (
    "--where must be COLUMN=VALUE, COLUMN=VALUE|VALUE, COLUMN=FROM..TO, COLUMN>=FROM or "
    "COLUMN<=TO, for example --where 'age>=65' sex=f"
)
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_WHOLE = re.compile(r"0|-?[1-9]\d{0,14}")


def conditions(words: Sequence[str], column_of: Callable[[str], Column] | None = None) -> dict[str, Any]:
    """Conditions by column: a value, a list of values, or (least, most) with None for open ends.

    `age=60..80`, `age=60..`, `age>=60`, `sex=f`, `ward=a|b`; also `age=60:80` and `ward=a,b`.
    A value in double quotes is text as it stands.  With `column_of`, values are read as those of
    the column; without it, as what they look like.
    """
    rules: dict[str, Any] = {}
    for word in words:
        name, sign, text = _parts(word)
        column = None if column_of is None else column_of(name)
        if sign == "=":
            rule = _rule(column, text)
        else:
            end = _end(column, name, text)
            rule = (end, None) if sign == ">=" else (None, end)
        rules[name] = _both(name, rules[name], rule) if name in rules else rule
    return rules


def _parts(word: str) -> tuple[str, str, str]:
    found = re.match(r"\s*([^<>=!]+?)\s*(>=|<=|!=|==|=|<|>)\s*(.*?)\s*$", word, flags=re.S)
    if found is None or not found[3]:
        raise ValueError(f"{_FORM}; got {word!r}")
    name, sign, text = found[1], found[2], found[3]
    if sign in ("<", ">"):
        raise ValueError(
            f"--where knows {sign}= but not {sign}: write the {'least' if sign == '>' else 'most'} "
            f"value that still counts, for example '{name}{sign}={text}'; got {word!r}"
        )
    if sign == "!=":
        raise ValueError(
            f"--where has no !=: name the values that count, '{name}=a|b', or count {name}={text} "
            f"and take it from the public number of records; got {word!r}"
        )
    if text[0] in "<>=~":
        raise ValueError(
            f"--where: {text!r} is no value; signs are =, >= and <=, and a value that begins with "
            f"one stands in double quotes, for example '{name}=\"{text}\"'; got {word!r}"
        )
    return name, "=" if sign == "==" else sign, text


def _rule(column: Column | None, text: str) -> Any:
    if column is None and _quoted(text):
        return [text[1:-1]]  # that text, whatever it looks like
    if _quoted(text) or (column is not None and text in labels_of(column)):
        return _value(column, text)
    ordered = not isinstance(column, (Boolean, Categorical))
    for mark in ("..", ":"):
        low, found, high = text.partition(mark)
        if found and ordered and (column is not None or _ends(low, high)):
            if not low and not high:
                raise ValueError(f"{_FORM}; got a range without ends")
            return tuple(_value(column, end) if end else None for end in (low, high))
    mark = "|" if "|" in text else ","
    if mark in text:
        return [_value(column, part.strip()) for part in text.split(mark) if part.strip()]
    value = _value(column, text)
    if column is None and isinstance(value, str) and _DAY.fullmatch(value) and not _quoted(text):
        return value, value  # that day, whether the file says so by a date or by a text
    return value


def _end(column: Column | None, name: str, text: str) -> Any:
    if column is None and not _is_end(text):
        raise ValueError(
            f"--where: the end of a range must be a number or a date such as 2024-12-31; got "
            f"{text!r} for {name!r}"
        )
    return _value(column, text)


def _ends(low: str, high: str) -> bool:
    return all(not end or _is_end(end) for end in (low, high))


def _is_end(text: str) -> bool:
    return terminal.is_number(text) or bool(_DAY.fullmatch(text))


def _quoted(text: str) -> bool:
    return len(text) > 1 and text[0] == text[-1] == '"'


def _value(column: Column | None, text: str) -> Any:
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
    return terminal.number_or_word(text)


def _both(name: str, one: Any, two: Any) -> tuple[Any, Any]:
    """`age>=20` and `age<=40`."""
    if isinstance(one, tuple) and isinstance(two, tuple):
        pairs = list(zip(one, two, strict=True))
        if all(None in pair for pair in pairs):
            low, high = (a if b is None else b for a, b in pairs)
            return low, high
    raise ValueError(f"--where: {name!r} stands twice; all conditions must hold")
