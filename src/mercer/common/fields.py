"""Fields of a JSON object, fetched with their type.  Imports nothing.

What a file holds is not trusted: whatever is missing, of another type or out of range is a
ValueError that says so.
"""

from __future__ import annotations

import math
from typing import Any

__all__ = ["Fields", "finite", "numbers"]


class Fields:
    """A JSON object whose fields are fetched with their type."""

    def __init__(self, fields: object, what: str) -> None:
        if not isinstance(fields, dict):
            raise ValueError(f"{what} must be a JSON object")
        self._fields, self._what = fields, what

    def get(self, key: str, kind: Any) -> Any:
        """A field of this type, or of one of several: int | float."""
        if key not in self._fields:
            raise ValueError(f"{self._what} has no field {key!r}")
        value = self._fields[key]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ValueError(f"{key!r} in {self._what} has the wrong type")
        return value

    def has(self, key: str) -> bool:
        """Whether there is such a field."""
        return key in self._fields

    def part(self, key: str) -> Fields:
        """An object in it."""
        return Fields(self.get(key, dict), repr(key))

    def positive(self, key: str) -> float:
        """A number above 0."""
        value = finite(self._fields.get(key), repr(key))
        if value <= 0:
            raise ValueError(f"{key!r} in {self._what} must be above 0")
        return value


def finite(value: object, what: str) -> float:
    """A number that a release may hold."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{what} must be a number")
    number = float(value)
    if not math.isfinite(number) or abs(number) > 1e15:
        raise ValueError(f"{what} must be finite and at most 1e15")
    return number


def numbers(values: list[Any], what: str) -> list[float]:
    """Several of them."""
    return [finite(value, what) for value in values]
