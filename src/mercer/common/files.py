"""The library's own files: written as a whole or not at all, and checked when they are read.

A crash leaves the old file or the new one.  What a file holds is not trusted: a field that is
missing, of another type or out of range is a ValueError that says so.
"""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
from collections.abc import Iterable
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, cast, overload

__all__ = ["Fields", "finite", "numbers", "replace_text", "sync"]

T = TypeVar("T")


def replace_text(path: Path, text: str | Iterable[str], *, mode: int) -> None:
    """Write a file with these permissions, all of it or nothing."""
    handle, draft = tempfile.mkstemp(dir=path.resolve().parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.writelines([text] if isinstance(text, str) else text)
            file.flush()
            os.fsync(file.fileno())
        Path(draft).chmod(mode)
        Path(draft).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(draft).unlink()
        raise


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Fields:
    """A JSON object whose fields are fetched with their type."""

    def __init__(self, fields: object, what: str) -> None:
        if not isinstance(fields, dict):
            raise ValueError(f"{what} must be a JSON object")
        self._fields, self._what = fields, what

    @overload
    def get(self, key: str, kind: type[T]) -> T: ...
    @overload
    def get(self, key: str, kind: UnionType) -> object: ...
    def get(self, key: str, kind: type[T] | UnionType) -> T | object:
        """The field of this name and type, or of one of several types: int | float."""
        if key not in self._fields:
            raise ValueError(f"{self._what} has no field {key!r}")
        value = self._fields[key]
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ValueError(f"{key!r} in {self._what} has the wrong type")
        return value

    def optional(self, key: str, kind: type[T]) -> T | None:
        """The field of this name and type, which may be null but not missing."""
        return cast(T | None, self.get(key, kind | None))

    def has(self, key: str) -> bool:
        """Whether there is a field of this name."""
        return key in self._fields

    def part(self, key: str) -> Fields:
        """The JSON object in this field."""
        return Fields(self.get(key, dict), repr(key))

    def positive(self, key: str) -> float:
        """The number in this field, which must be above 0."""
        value = finite(self._fields.get(key), repr(key))
        if value <= 0:
            raise ValueError(f"{key!r} in {self._what} must be above 0")
        return value


def finite(value: object, what: str) -> float:
    """A number that a release may hold: finite and at most 1e15, as a float."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{what} must be a number")
    number = float(value)
    if not math.isfinite(number) or abs(number) > 1e15:
        raise ValueError(f"{what} must be finite and at most 1e15")
    return number


def numbers(values: list[Any], what: str) -> list[float]:
    """A list of numbers that a release may hold, as floats."""
    return [finite(value, what) for value in values]
