"""CSV and Parquet files and folders as streams of Arrow batches.  Layer 2, left of the door.

A CSV file declares no types, so its columns are read as text and what is not a number counts as
missing: guessing a type, or failing on a cell, would be an output that depends on a record
(M18).  A damaged line counts as a row without values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

__all__ = ["Task", "file_batches", "keeps_places"]

Task: TypeAlias = Callable[[], Iterator[Any]]  # reads one part: a stream of Arrow batches

_ROWS = 1 << 20  # of a batch; of more than eight columns, eight times as many cells
_KINDS = (".parquet", ".pq", ".csv", ".csv.gz", ".tsv")


def file_batches(
    path: Path, *, whole: bool = False
) -> tuple[Any, Callable[[list[str]], Iterator[Task]]]:
    """Schema of a file or folder, and a function that gives the named columns in parts.

    `whole`: damaged lines of a CSV file are an error, for rows that are the caller's own.
    """
    files = _files(path)
    schemas = [_schema(file) for file in files]
    for file, schema in zip(files[1:], schemas[1:], strict=True):
        if schema.names != schemas[0].names or schema.types != schemas[0].types:
            raise ValueError(
                f"{path.name}: all files of a folder must have the same columns and types; "
                f"{file.name} differs from {files[0].name}"
            )

    def tasks(names: list[str]) -> Iterator[Task]:
        for file in files:
            yield from _tasks(file, names, whole)

    return schemas[0], tasks


def keeps_places(path: Path) -> bool:
    """Whether a row's place does not depend on others: damaged lines of CSV files go last."""
    return all(map(_is_parquet, _files(path)))


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise FileNotFoundError(f"data: there is no file or folder {str(path)!r}")
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if file.name.endswith(_KINDS))
        if not files:
            raise ValueError(f"data: the folder {str(path)!r} holds no {', '.join(_KINDS)} file")
        return files
    if not path.name.endswith(_KINDS):
        raise ValueError(f"data: {path.name!r} must end in one of {', '.join(_KINDS)}")
    return [path]


def _is_parquet(path: Path) -> bool:
    return path.suffix in (".parquet", ".pq")


def _schema(path: Path) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with _readable(path):
        if _is_parquet(path):
            return pq.read_schema(path)
        with _csv(path, None, []) as reader:
            # no types are declared: whoever names a column of a CSV file says it is numeric
            return pa.schema([(name, pa.float64()) for name in reader.schema.names])


def _tasks(path: Path, names: list[str], whole: bool) -> Iterator[Task]:
    """The file in parts that threads may read side by side: row groups, or blocks of text."""
    import pyarrow.parquet as pq

    if _is_parquet(path):
        with _readable(path):
            about = pq.read_metadata(path)
        for group in range(about.num_row_groups):
            yield partial(_row_group, path, about, group, names)
        return
    damaged: list[None] = []
    with _readable(path), _csv(path, names, damaged) as reader:
        for batch in reader:
            yield partial(iter, (batch,))
    if damaged and whole:
        raise ValueError(
            f"{path.name}: {len(damaged)} line(s) have more or fewer cells than there are columns; "
            "mend them, or predictions would not stand beside their rows"
        )
    if damaged:
        yield partial(iter, (_empty_rows(names, len(damaged)),))


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
    except (pa.ArrowException, OSError, EOFError, UnicodeError):
        raise _unreadable(path) from None


def _csv(path: Path, names: list[str] | None, damaged: list[None]) -> Any:
    import pyarrow as pa
    import pyarrow.csv as csv

    def skip(_row: Any) -> str:
        damaged.append(None)
        return "skip"

    # the names must be known before the types can be set to text, so they are read first
    header = names
    if header is None:
        large = csv.ReadOptions(block_size=1 << 24)
        with csv.open_csv(path, read_options=large, parse_options=_parse(path, skip)) as reader:
            header = list(reader.schema.names)
    return csv.open_csv(
        path,
        read_options=csv.ReadOptions(block_size=1 << 24),
        parse_options=_parse(path, skip),
        convert_options=csv.ConvertOptions(
            include_columns=header,
            column_types={name: pa.binary() for name in header},
            check_utf8=False,
            strings_can_be_null=True,
            null_values=[""],
        ),
    )


def _parse(path: Path, skip: Callable[[Any], str]) -> Any:
    import pyarrow.csv as csv

    delimiter = "\t" if path.suffix == ".tsv" else ","
    return csv.ParseOptions(
        delimiter=delimiter,
        invalid_row_handler=skip,
        newlines_in_values=True,  # or where a block ends would change the number of rows
        ignore_empty_lines=False,  # in a file of one column an empty line is an empty cell
    )


def _empty_rows(names: list[str], rows: int) -> Any:
    import pyarrow as pa

    return pa.record_batch({name: pa.nulls(rows, pa.binary()) for name in names})


def _unreadable(path: Path) -> ValueError:
    kind = "Parquet" if _is_parquet(path) else "CSV"
    return ValueError(
        f"data: {path.name!r} cannot be read as {kind}: it is damaged, truncated or of another "
        "kind; nothing was spent"
    )
