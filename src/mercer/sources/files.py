"""CSV and Parquet files and folders as streams of Arrow batches.  Left of the door.

A CSV file declares no types, so its columns are read as text and what is not a number counts as
missing: guessing a type, or failing on a cell, would be an output that depends on a record
(M18).  A damaged line counts as a row without values.  Names of columns are public; but of a file
without a header the first line is a person's record, so it is refused where it cannot be a
header.  Folders named `key=value` give a column.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import threading
import weakref
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeAlias

from mercer.columns.rules import MARKS, is_no_name, mark_in
from mercer.sources.folders import Part, ending_of, files_in

__all__ = ["Task", "file_batches", "header_of", "keeps_places"]

Task: TypeAlias = Callable[[], Iterator[Any]]  # reads one part: a stream of Arrow batches

_ROWS = 1 << 20  # of a batch; of more than eight columns, eight times as many cells
_BLOCK = 1 << 24  # bytes
_LARGEST = (1 << 31) - 1  # bytes, of a block that Arrow can hold
_PATIENCE = 60.0  # seconds for threads of Arrow to end
_MOST_HEADER = 1 << 24  # bytes of a header, and of a block in which Arrow looks for one
_FIRST_HEADER = 1 << 14
_BOM = "\xef\xbb\xbf"  # of UTF-8, a character a byte
_WHOLE = re.compile(r"[+-]?\d{1,18}")


def file_batches(source: object, *, whole: bool = False) -> tuple[Any, Callable[[list[str]], Iterator[Task]]]:
    """Schema of a file, a folder or a list of them, and a function that reads columns in parts.

    `whole`: damaged lines of a CSV file are an error, for rows that are the caller's own.
    """
    parts = files_in(source).parts
    schemas = [_schema(part.path) for part in parts]
    for part, schema in zip(parts[1:], schemas[1:], strict=True):
        if schema.names != schemas[0].names or schema.types != schemas[0].types:
            raise ValueError(
                "data: all files that are read together must have the same columns and types; "
                f"{part.path.name} differs from {parts[0].path.name}"
            )
    own = whole_schema = schemas[0]
    keys = _keys(parts)
    for key in keys:
        if key.name in own.names:
            raise ValueError(
                f"data: the column {key.name!r} stands in the files and in the names of their "
                f"folders ({key.name}=…), so which of them counts is open; rename the folders"
            )
        whole_schema = whole_schema.append(key)

    any_name = next((name for name in own.names if own.names.count(name) == 1), own.names[0])

    def tasks(names: list[str]) -> Iterator[Task]:
        wanted = [name for name in names if name in own.names]
        constant = [key for key in keys if key.name in names]
        for part in parts:
            read = _tasks(part.path, wanted or [any_name], whole)
            try:
                for task in read:
                    yield partial(_beside, task, part, names, constant) if constant else task
            finally:
                read.close()

    return whole_schema, tasks


def keeps_places(source: object) -> bool:
    """Whether a row's place does not depend on others: damaged lines of CSV files go last."""
    return all(_is_parquet(part.path) for part in files_in(source).parts)


def _is_parquet(path: Path) -> bool:
    return ending_of(path) in (".parquet", ".pq")


def _keys(parts: tuple[Part, ...]) -> list[Any]:
    """Columns that the names of folders give: integers where all their values are, or text."""
    import pyarrow as pa

    values = {name: {dict(part.keys)[name] for part in parts} for name, _ in parts[0].keys}
    return [
        pa.field(name, pa.int64() if all(map(_whole, found)) else pa.string())
        for name, found in values.items()
    ]


def _whole(text: str | None) -> bool:
    return text is None or _WHOLE.fullmatch(text) is not None


def _beside(task: Task, part: Part, names: list[str], keys: list[Any]) -> Iterator[Any]:
    """Batches of a file with the values that its folders give, the same in each row."""
    import pyarrow as pa

    given = dict(part.keys)
    for batch in task():
        columns = {key.name: pa.repeat(_scalar(given[key.name], key.type), batch.num_rows) for key in keys}
        columns |= {name: batch.column(name) for name in names if name not in columns}
        yield pa.record_batch({name: columns[name] for name in names})


def _scalar(text: str | None, kind: Any) -> Any:
    import pyarrow as pa

    value = int(text) if text is not None and pa.types.is_integer(kind) else text
    return pa.scalar(value, kind)


def _schema(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _readable(path):
        if _is_parquet(path):
            return pq.read_schema(path)
        # no types are declared: whoever names a column of a CSV file says it is numeric
        return pa.schema([(name, pa.float64()) for name in header_of(path)])


def _tasks(path: Path, names: list[str], whole: bool) -> Generator[Task]:
    """The file in parts that threads may read side by side: row groups, or blocks of text."""
    import pyarrow.parquet as pq

    if _is_parquet(path):
        with _readable(path):
            about = pq.read_metadata(path)
        for group in range(about.num_row_groups):
            yield partial(_row_group, path, about, group, names)
        return
    damaged: list[None] = []
    for batch in _batches(path, names, damaged):
        yield partial(iter, (batch,))
    if damaged and whole:
        raise ValueError(
            f"{path.name}: {len(damaged)} line(s) have more or fewer cells than there are "
            "columns; mend them, or predictions would not stand beside their rows"
        )
    if damaged:
        yield partial(iter, (_empty_rows(names, len(damaged)),))


def _batches(path: Path, names: list[str], damaged: list[None]) -> Generator[Any]:
    """Batches of a CSV file; where a record is longer than a block of text, in larger blocks.

    How long a record is must not decide whether its file can be read (M18).
    """
    done, block = 0, _BLOCK
    while True:
        damaged.clear()
        skip = done
        try:
            with _readable(path), closing(_Lines(path, names, damaged, block)) as lines:
                while (batch := lines.next()) is not None:
                    fresh = batch.slice(min(skip, batch.num_rows))
                    skip -= batch.num_rows - fresh.num_rows
                    done += fresh.num_rows
                    if fresh.num_rows:
                        yield fresh
            return
        except _LongRecordError:
            if block == _LARGEST:
                raise _unreadable(path) from None
            block = min(8 * block, _LARGEST)


def _row_group(path: Path, about: Any, group: int, names: list[str]) -> Iterator[Any]:
    import pyarrow.parquet as pq

    rows, buffer = _ROWS, 0
    if len(names) > 8:  # of many columns, a row group is not held at once
        rows, buffer = max(1, 8 * _ROWS // len(names)), 1 << 16
    options = {"metadata": about, "pre_buffer": False, "buffer_size": buffer}
    with _readable(path), pq.ParquetFile(path, **options) as file:
        yield from file.iter_batches(rows, row_groups=[group], columns=names, use_threads=False)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn whatever a reader says of a damaged file, which may show a cell, into one sentence."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, EOFError, UnicodeError, csv.Error, zlib.error) as error:
        if "straddl" in str(error) and isinstance(error, pa.ArrowInvalid):
            raise _LongRecordError from None
        raise _unreadable(path) from None


class _LongRecordError(Exception):
    """A record of a CSV file is longer than a block of text."""


class _Lines:
    """Batches of a CSV file, read ahead by threads of Arrow that `close` waits for.

    These threads hold the function that counts damaged lines, and let go of it under Python's
    lock.  One that does so while Python ends is ended itself, in the middle of C++ code, and takes
    the process with it ("terminate called without an active exception", status 134).  So whoever
    opens a reader waits until no thread holds the function; at the latest before Python ends.
    """

    def __init__(self, path: Path, names: list[str], damaged: list[None], block: int) -> None:
        import pyarrow as pa
        import pyarrow.csv as reading

        self._held: list[Any] = []
        free = threading.Event()
        self.close = weakref.finalize(self, _let_go, self._held, free)
        zipped = (ending_of(path) or "").endswith(".gz")
        try:
            reader = reading.open_csv(
                pa.input_stream(str(path), compression="gzip" if zipped else None),
                read_options=reading.ReadOptions(block_size=block),
                parse_options=_parsing(path, damaged, free),
                convert_options=reading.ConvertOptions(
                    include_columns=names,
                    column_types={name: pa.binary() for name in names},
                    check_utf8=False,
                    strings_can_be_null=True,
                    null_values=[""],
                ),
            )
        except BaseException:
            self.close()
            raise
        self._held.append(reader)

    def next(self) -> Any:
        """The next batch of rows, or None at the end of the file."""
        try:
            return self._held[0].read_next_batch()
        except StopIteration:
            return None


def _parsing(path: Path, damaged: list[None], free: threading.Event) -> Any:
    """How lines become cells; `free` is set when nobody holds the function that counts any more."""
    import pyarrow.csv as reading

    def skip(_row: Any) -> str:
        damaged.append(None)
        return "skip"

    weakref.finalize(skip, free.set).atexit = False
    return reading.ParseOptions(
        delimiter=_separator(path),
        invalid_row_handler=skip,
        newlines_in_values=True,  # or where a block ends would change the number of rows
        ignore_empty_lines=False,  # in a file of one column an empty line is an empty cell
    )


def _let_go(held: list[Any], free: threading.Event) -> None:
    while held:
        held.pop().close()
    free.wait(_PATIENCE)


def _empty_rows(names: list[str], rows: int) -> Any:
    import pyarrow as pa

    return pa.record_batch({name: pa.nulls(rows, pa.binary()) for name in names})


def _unreadable(path: Path) -> ValueError:
    kind = "Parquet" if _is_parquet(path) else "CSV"
    return ValueError(
        f"data: {path.name!r} cannot be read as {kind}: it is damaged, truncated or of another "
        "kind; nothing was spent"
    )


def header_of(path: Path) -> list[str]:
    """Names of the columns of a CSV or TSV file; ValueError says what is wrong and shows no cell.

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
    expected = _separator(path)
    mark = mark_in(names, expected)
    if mark is not None and len(names) == 1 and not first.removeprefix(_BOM).startswith('"'):
        way = ", or end its name in .tsv" if mark == "\t" else ""
        raise ValueError(
            f"data: {path.name!r} has a single column: it looks separated by {MARKS[mark]}, where "
            f"{MARKS[expected]} are expected; save it with {MARKS[expected]}{way}, or read it "
            "with pandas (sep=…) and hand in the data frame"
        )
    return names


def _separator(path: Path) -> str:
    """The mark between the cells of a file, by the ending of its name."""
    return "\t" if (ending_of(path) or "").startswith(".tsv") else ","


def _first_record(path: Path) -> tuple[str, list[str]]:
    """Text and cells of the header, a character a byte; as for Arrow, it may take several lines."""
    size = _FIRST_HEADER
    while True:
        with _opened(path) as file:
            held = file.read(size)
        text = held.decode("latin-1")
        before = len(text) - len(text.removeprefix(_BOM))
        lines = io.StringIO(text[before:], newline="")
        cells = next(csv.reader(lines, delimiter=_separator(path)), None)
        end = before + lines.tell()
        if cells is not None and (end < len(text) or len(held) < size):
            return text[:end], cells or [""]
        if cells is None or size >= _MOST_HEADER:
            raise EOFError  # not even a header
        size *= 8


def _opened(path: Path) -> IO[bytes]:
    zipped = (ending_of(path) or "").endswith(".gz")
    return gzip.open(path) if zipped else path.open("rb")  # type: ignore[return-value]
