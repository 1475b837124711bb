"""What the command line prints: tables, facts, JSON and progress.  It decides nothing."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from mercer.sources.folders import said_of

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["facts", "print_json", "progress", "say_files", "searching", "show", "table"]

Tick: TypeAlias = Callable[[int], None]

_WIDE = 100_000  # letters a line: more than any table has


def facts(heading: str, rows: list[tuple[str, str]]) -> None:
    """Names and sentences under a heading, wrapped to the screen."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    columns = Table(title=escape(heading), title_justify="left", show_header=False, box=None, padding=(0, 2))
    for name, words in rows:
        columns.add_row(name, escape(words))
    Console(highlight=False).print(columns)


def table(*headings: str) -> Table:
    """An empty table whose columns have these headings."""
    from rich.table import Table

    columns = Table(box=None, padding=(0, 1), header_style="bold")
    for heading in headings:
        columns.add_column(heading, justify="right")
    return columns


def show(columns: Table) -> None:
    """Print a table: wrapped to a terminal at spaces only, elsewhere as wide as it is; nothing is cut."""
    from rich.cells import cell_len
    from rich.console import Console

    least = 0
    for column in columns.columns:
        words = [str(column.header), *map(str, column.cells)]
        parts = words if column.no_wrap else [part for word in words for part in word.split()]
        column.min_width = max(map(cell_len, parts), default=0)
        least += column.min_width + 2
    width = max(Console().width, least) if sys.stdout.isatty() else None
    Console(highlight=False, width=_WIDE).print(columns, width=width)


def print_json(value: Any, file: Path | None = None) -> None:
    """Print exact JSON on standard output; for a folder that was read, also how many files it had."""
    try:
        files = "" if file is None else said_of(file)
    except (OSError, ValueError):  # the folder has changed since; the release has not
        files = ""
    print(json.dumps(value | {"files": files} if files else value, indent=1, allow_nan=False))


def say_files(wanted: bool, file: Path | None) -> None:
    """Print how many files of a folder are read, before they are."""
    if wanted and file is not None and (files := said_of(file)):
        print(f"Reading {files}", file=sys.stderr)


@contextmanager
def progress(wanted: bool, file: Path | None = None) -> Iterator[Tick | None]:
    """Show the number of rows read so far, on a terminal only; yields the function that counts them.

    With a column of persons nobody calls it: their number of rows is not public.  For a folder the
    number of its files is printed first.
    """
    with _line(wanted, file) as say:
        yield say and _counter(say, "{:,} rows")


@contextmanager
def searching(wanted: bool, file: Path | None = None) -> Iterator[tuple[Tick | None, Tick | None]]:
    """Show the rows read, then the trials of a search, on a terminal only; yields a counter of each."""
    with _line(wanted, file) as say:
        yield say and _counter(say, "{:,} rows"), say and _counter(say, "searching records: {:,} trials")


@contextmanager
def _line(wanted: bool, file: Path | None) -> Iterator[Callable[[str], None] | None]:
    """A line on a terminal that says what is being done, and for how long."""
    say_files(wanted, file)
    if not (wanted and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("reading", total=None)
        yield lambda words: bar.update(task, description=words)


def _counter(say: Callable[[str], None], words: str) -> Tick:
    """A function that adds to a number and shows it in these words."""
    seen = 0

    def tick(more: int) -> None:
        nonlocal seen
        seen += more
        say(words.format(seen))

    return tick
