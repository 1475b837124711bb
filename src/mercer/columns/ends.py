"""The ends of ranges in words: what a condition says of one column, and what is wrong with it."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["end_words", "exchanged", "range_words"]


def end_words(end: Any) -> str | None:
    """An end of a range as text: 20 for 20.0, a date as it is written; None for an open end."""
    return f"{end:.12g}" if isinstance(end, (float, np.floating)) else None if end is None else str(end)


def exchanged(name: str, rule: tuple[Any, ...]) -> ValueError:
    """The error for a range whose least end is above its most."""
    low, high = map(end_words, rule)
    return ValueError(
        f"condition on {name!r}: {low} is above {high}, but the least comes first: write "
        f"{{{name!r}: ({_typed(rule[1])}, {_typed(rule[0])})}}"
    )


def range_words(name: str, low: str | None, high: str | None, *, closed: bool) -> str:
    """A range in words, such as `20 <= age < 40`; None is an open end."""
    if low is not None and low == high:
        return f"{name} = {low}"
    sign = "<=" if closed else "<"
    if low is not None and high is not None:
        return f"{low} <= {name} {sign} {high}"
    if high is not None:
        return f"{name} {sign} {high}"
    return f"{name} has a value" if low is None else f"{name} >= {low}"


def _typed(end: Any) -> str:
    """An end as it is written in Python."""
    return repr(end) if isinstance(end, str) else str(end_words(end))
