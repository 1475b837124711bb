"""The first line of a CSV file: names of columns, or a record that was taken for them.

Names of columns are public, and may decide.  But of a file without a header the first line is a
person's record: it is refused where it cannot be a header, and no message lists names of which
any looks like a value.
"""

from __future__ import annotations

import csv
import gzip
import io
from pathlib import Path
from typing import IO

from mercer.columns.rules import MARKS, is_no_name, mark_in
from mercer.sources.folders import ending_of

__all__ = ["header_of", "separator_between"]

_MOST = 1 << 24  # bytes of a header, and of a block in which Arrow looks for one
_FIRST = 1 << 14
_BOM = "\xef\xbb\xbf"  # of UTF-8, a character a byte


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
    if all(map(is_no_name, map(str.strip, names))):
        raise ValueError(
            f"data: {path.name!r} seems to have no header: its first line holds only numbers, "
            "dates or nothing, and would be taken for the names of the columns; write the names "
            "into the first line of the file"
        )
    expected = separator_between(path)
    mark = mark_in(names, expected)
    if mark is not None and len(names) == 1 and not first.removeprefix(_BOM).startswith('"'):
        way = ", or end its name in .tsv" if mark == "\t" else ""
        raise ValueError(
            f"data: {path.name!r} has a single column: it looks separated by {MARKS[mark]}, where "
            f"{MARKS[expected]} are expected; save it with {MARKS[expected]}{way}, or read it "
            "with pandas (sep=…) and hand in the data frame"
        )
    return names


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
