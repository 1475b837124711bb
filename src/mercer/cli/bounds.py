"""Bounds as people type them: `0 100`, `2020-01-01 2024-12-31`, `age=0,100 bmi=10,60`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from mercer.show import terminal

__all__ = ["columns_of", "end_of", "pairs"]

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def pairs(words: Sequence[str | float] | None, name: str = "bounds") -> Any:
    """Bounds as one pair, or a list of pairs; or by name, from NAME=LO,HI."""
    if not words:
        return None
    option, given = f"--{name.replace('_', '-')}", [str(word) for word in words]
    if any("=" in word for word in given):
        return _named_pairs(given, option)
    for word in given:
        if word.strip(",") != word or (not terminal.is_number(word) and "," in word):
            plain = " ".join(part for one in given for part in one.split(",") if part)
            raise ValueError(
                f"{name}: numbers stand apart, with spaces between them and no commas: {option} "
                f"{plain}; or by name: {option} age=0,100"
            )
    ends = [end_of(word, name) for word in given]
    if len(ends) == 1:
        raise ValueError(
            f"{name} must be two numbers, LO HI, got the one number {given[0]}; both are public, "
            f"for example {option} 0 100"
        )
    if len(ends) % 2:
        raise ValueError(f"{name} must be pairs LO HI, got {len(ends)} numbers")
    couples = [(ends[i], ends[i + 1]) for i in range(0, len(ends), 2)]
    return couples[0] if len(couples) == 1 else couples


def columns_of(words: Sequence[str | float] | None) -> int:
    """Of how many columns bounds are."""
    given = words or []
    return len(given) if any("=" in str(word) for word in given) else len(given) // 2


def _named_pairs(words: list[str], option: str) -> dict[str, tuple[Any, Any]]:
    found: dict[str, tuple[Any, Any]] = {}
    for word in words:
        column, _, text = word.rpartition("=")
        ends = text.split(",")
        if not column or len(ends) != 2:
            raise ValueError(
                f"{option}: either LO HI for each column in order, or NAME=LO,HI for each, such as "
                f"{option} age=0,100 bmi=10,60; got {word!r}"
            )
        if column in found:
            raise ValueError(f"{option}: {column!r} stands twice; a column has one pair of bounds")
        low, high = (end_of(end.strip(), option) for end in ends)
        found[column] = low, high
    return found


def end_of(word: str, name: str) -> float | str:
    """A number, or a date as it is typed."""
    if _DAY.fullmatch(word):
        return word
    if not terminal.is_number(word):
        raise ValueError(f"{name} must be numbers, or dates such as 2024-12-31; got {word!r}")
    return float(word)
