"""Conditions on the columns of records, as axes of which every cell counts.

A condition is public: how it reads a record's cell does not depend on other records.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import date
from typing import Any

import numpy as np

from mercer.columns.cells import Axes, Axis
from mercer.columns.kinds import Boolean, Categorical, Date, Numeric
from mercer.columns.rules import FAR

__all__ = ["axes_of_condition", "words_of"]


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


def words_of(where: Mapping[str, Any]) -> str:
    """The condition in words."""
    parts = []
    for name, rule in where.items():
        if isinstance(rule, tuple):
            low, high = rule
            ends = [f"{name} >= {low}"] if low is not None else []
            ends += [f"{name} <= {high}"] if high is not None else []
            parts += ends or [f"{name} is there"]
        elif isinstance(rule, (list, set, frozenset)):
            parts.append(f"{name} in {{{', '.join(map(str, rule))}}}")
        else:
            parts.append(f"{name} = {rule}")
    return " and ".join(parts)


def _axis(name: str, rule: Any) -> Axis:
    if isinstance(rule, tuple):
        return _between(name, rule)
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
        return _between(name, (plain[0], plain[0]))
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
    else:
        assert beyond is not None
        most = (beyond[1] or "").startswith(("<", "≤"))
        ends = f"(None, {beyond[2]})" if most else f"({beyond[2] or beyond[3]}, None)"
    raise ValueError(
        f"where: {name!r} is {text!r}, which reads like a range of numbers but would be one text; "
        f"for a range write {{{name!r}: {ends}}}, for records that hold just this text "
        f"{{{name!r}: [{text!r}]}}"
    )


def _between(name: str, rule: tuple[Any, ...]) -> Axis:
    if len(rule) != 2:
        raise ValueError(f"where: {name!r} must be (least, most); None is an open end")
    if any(isinstance(end, (str, date)) for end in rule):
        low = date.min if rule[0] is None else rule[0]
        high = date.max if rule[1] is None else rule[1]
        try:
            days = Date(name, low, high)
        except (TypeError, ValueError):
            raise ValueError(
                f"where: {name!r} is a range (least, most) of dates or numbers; for one of several "
                "values give a list, not a tuple"
            ) from None
        start, stop = days.ends
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
        raise ValueError(f"where: {name!r}: (least, most) stand the other way round")
    if ends[0] == ends[1]:
        ends[1] = math.nextafter(ends[1], math.inf)
    return Axis(Numeric(name, -FAR, FAR), tuple(ends), "drop")
