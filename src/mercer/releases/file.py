"""The release file: JSON that anyone can read, checked field by field.

Loading executes nothing: bases and kernels are rebuilt from a table of names.  Numbers are
written with as many digits as give the same double back.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

from mercer.common.files import Fields
from mercer.promise.statement import Statement
from mercer.releases.base import FORMAT, KINDS, VERSION, Release, class_of

__all__ = ["FORMAT", "VERSION", "from_dict", "load", "statement_from"]

_LARGEST = 1 << 28  # bytes


def load(path: str | Path) -> Release:
    """Read a release file; any damage is a ValueError that says what is wrong."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no release file {str(path)!r}")
    if path.suffix == ".db":
        raise ValueError(f"{path.name} is a live store; ask it: mercer ask {path} --at X")
    if path.stat().st_size > _LARGEST:
        raise ValueError(f"{path.name}: larger than any release ({_LARGEST >> 20} MiB)")
    try:
        fields = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise ValueError(f"{path.name} is not a release file: it is truncated, damaged or not JSON") from None
    try:
        return from_dict(fields)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise ValueError(f"{path.name} is not a valid release: {_reason(error)}") from None


def from_dict(fields: object) -> Release:
    """Rebuild a release from the fields of its file."""
    top = Fields(fields, "the file")
    if top.get("format", str) != FORMAT:
        raise ValueError(f"it does not call itself {FORMAT!r}")
    version = top.get("version", int)
    if version > VERSION:
        raise ValueError(
            f"it was written by a newer version (format {version}, this library reads "
            f"{VERSION}); upgrade mercer"
        )
    if version < 1:
        raise ValueError(f"its format version {version} does not exist")
    kind = top.get("kind", str)
    if kind == "quantiles":
        raise ValueError("it holds quantiles, which are numbers to read as they stand in the file")
    if kind not in KINDS:
        raise ValueError(f"unknown kind {kind!r}; this version knows {', '.join(KINDS)}")
    return class_of(kind).from_fields(top)


def statement_from(fields: object) -> Statement:
    """A statement from what its `to_dict` wrote."""
    return Statement.from_fields(Fields(fields, "the statement"))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of a release")


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError) else "a field has the wrong type"
