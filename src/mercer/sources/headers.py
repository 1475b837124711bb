"""The first line of a CSV file: names of columns, or a record that was taken for them.

Names of columns are public, and may decide.  But of a file without a header the first line is a
person's record: it is refused where it cannot be a header, and no message lists names of which
any looks like a value.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from mercer.sources.folders import ending_of

__all__ = ["header_of", "listed", "looks_like_a_record", "separator_between"]

_MOST = 1 << 24  # bytes of a header, and of a block in which Arrow looks for one
_FIRST = 1 << 14
_SHOWN = 30
_BOM = "\xef\xbb\xbf"  # of UTF-8, a character a byte
_NUMBER = r"[^\w\s#]{0,2} ?[+-]?(?:\d[\d'’ .,]*|[.,]\d+)(?:[eE][+-]?\d+)? ?[^\w\s]{0,2}"
_DATE = (
    r"\d{1,4}(?P<mark>[-/.])\d{1,2}(?P=mark)\d{1,4}(?:[T ]\d{1,2}:\d{2}.*)?"
    r"|\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?"
)
_NEVER = re.compile(rf"(?:{_NUMBER}|{_DATE}|[+-]?inf|nan|)", re.IGNORECASE)  # a name in a header
_WORD = r"na|n/a|null|none|true|false|yes|no|[^@\s]+@[^@\s]+\.\w+"
_VALUE = re.compile(rf"(?:{_NUMBER}|{_DATE}|[+-]?inf|nan|{_WORD})", re.IGNORECASE)
_MARKS = {",": "commas", ";": "';'", "\t": "tabs", "|": "'|'"}


def header_of(path: Path) -> list[str]:
    """Names of the columns of a CSV or TSV file; ValueError says what is wrong, not what stands.

    EOFError or another exception of reading is the caller's to turn into words.
    """
    first, names = _first_record(path)
    if first.startswith(("\xff\xfe", "\xfe\xff")) or "\0" in first:
        raise ValueError(
            f"data: {path.name!r} is not UTF-8 but UTF-16 or similar; save it as UTF-8 (in Excel: "
            "'CSV UTF-8'), and read it again"
        )
    try:
        names = [name.encode("latin-1").decode() for name in names]
    except UnicodeDecodeError:
        raise ValueError(
            f"data: the first line of {path.name!r}, which holds the names of the columns, is not "
            "UTF-8; save the file as UTF-8 (in Excel: 'CSV UTF-8'), and read it again"
        ) from None
    if all(map(_NEVER.fullmatch, map(str.strip, names))):
        raise ValueError(
            f"data: {path.name!r} seems to have no header: its first line holds only numbers, "
            "dates or nothing, and would be taken for the names of the columns; write the names "
            "into the first line of the file"
        )
    expected = separator_between(path)
    mark = _mark_in(names, expected)
    if mark is not None and len(names) == 1 and not first.removeprefix(_BOM).startswith('"'):
        way = ", or end its name in .tsv" if mark == "\t" else ""
        raise ValueError(
            f"data: {path.name!r} has a single column: it looks separated by {_MARKS[mark]}, where "
            f"{_MARKS[expected]} are expected; save it with {_MARKS[expected]}{way}, or read it "
            "with pandas (sep=…) and hand in the data frame"
        )
    return names


def listed(names: Sequence[str]) -> str:
    """What an error says of the columns there are: their names, unless these look like a record.

    >>> listed(["age", "sex"]), "smith" in listed(["smith", "1972-03-01"])
    ("'age', 'sex'", False)

    """
    if looks_like_a_record(names):
        return (
            f"{len(names)} column(s), which are not shown: the first line looks like a record "
            "rather than names; does the file have a header?"
        )
    shown = ", ".join(map(repr, names[:_SHOWN]))
    mark = _mark_in(names, ",")
    doubt = "" if mark is None else f" (it looks separated by {_MARKS[mark]})"
    return shown + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "") + doubt


def looks_like_a_record(names: Sequence[str]) -> bool:
    """Whether any name is a value rather than a name, or stands twice."""
    plain = [part.strip() for name in names for part in re.split(r"[;\t|]", name)]
    return len(set(names)) < len(names) or any(map(_VALUE.fullmatch, plain))


def _mark_in(names: Sequence[str], expected: str) -> str | None:
    """The mark that separates columns instead of the expected one, if there is any in a name."""
    counts = {mark: sum(name.count(mark) for name in names) for mark in _MARKS if mark != expected}
    most = max(counts, key=counts.__getitem__)
    return most if counts[most] else None


def separator_between(path: Path) -> str:
    """What stands between the cells, by the file's ending."""
    return "\t" if (ending_of(path) or "").startswith(".tsv") else ","


def _first_record(path: Path) -> tuple[str, list[str]]:
    """Its text and its cells, a character a byte; as for Arrow, it may go over several lines."""
    size = _FIRST
    while True:
        with _opened(path) as file:
            held = file.read(size)
        text = held.decode("latin-1")
        before = len(text) - len(text.removeprefix(_BOM))
        lines = io.StringIO(text[before:], newline="")
        cells = next(csv.reader(lines, delimiter=separator_between(path)), None)
        end = before + lines.tell()
        if cells is not None and (end < len(text) or len(held) < size):
            return text[:end], cells or [""]
        if cells is None or size >= _MOST:
            raise EOFError  # not even a header
        size *= 8


def _opened(path: Path) -> IO[bytes]:
    zipped = (ending_of(path) or "").endswith(".gz")
    return gzip.open(path) if zipped else path.open("rb")  # type: ignore[return-value]
