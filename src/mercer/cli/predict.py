"""The command `mercer predict`: what a released machine says of new rows.

New rows are the caller's own: nothing here is private, and nothing is spent.
"""

from __future__ import annotations

import csv
import io
import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer

from mercer.cli.options import Json, Level, Overwrite, command
from mercer.cli.releasing import place
from mercer.columns.rules import listed
from mercer.common.checks import Floats
from mercer.show import terminal

__all__ = ["predict_command"]

_SHOWN = 20
_ENDINGS = (".csv", ".parquet")


@command()
def predict_command(
    *,
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="A release file.")],
    file: Annotated[
        Path | None, typer.Argument(help="New rows: a CSV or Parquet file with the release's columns.")
    ],
    at: Annotated[
        list[str] | None,
        typer.Option(metavar="X…", help="Points instead: X for one column, X Y for two, and so on."),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Predictions to write: .csv or .parquet.")
    ],
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN…",
            help="Columns of the file to keep beside the predictions, as they stand: an id.",
        ),
    ],
    probability: Annotated[
        bool, typer.Option("--probability", help="Of each class; needs classify --loss logistic.")
    ] = False,
    band: Annotated[
        bool, typer.Option("--band", help="Error band for the noise, everywhere at once.")
    ] = False,
    level: Level = 0.95,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Predict new rows with a released classifier or regression: free, any number of times.

    [bold]Example:[/bold] mercer predict ill.json new.csv --keep patient -o predictions.csv

    Or at points: mercer predict ill.json --at 42 27. Values outside the bounds are moved to them;
    a row that lacks a number gets no prediction.
    """
    from mercer.releases.base import KINDS, load
    from mercer.releases.words import Question, words_of

    machine: Any = load(release)
    if not KINDS[machine.kind].predicts:
        raise ValueError(
            f"{release.name} is a {machine.kind}: only classifiers and regressions predict; see "
            "mercer eval --help"
        )
    if (at is None) == (file is None):
        raise ValueError("give the new rows either as a file or with --at X…, not both or none")
    if keep and file is None:
        raise ValueError("--keep goes with a file of new rows: points have no other columns")
    if output is not None:
        if file is not None and output.resolve() == file.resolve():
            raise ValueError("output is the file of new rows itself; choose another name")
        place("output", output, _ENDINGS, overwrite)
    words: Any = words_of(machine)
    seen = _Seen(words, probability, level if band else None)
    parts: Iterator[list[dict[str, Any]]]
    others: list[str] = []
    shown: list[dict[str, Any]] = []
    with terminal.progress(not as_json, file) as tick:
        if file is not None:
            wanted = keep or []
            table, others = _read(file, machine.domain, wanted, tick)
            parts = (seen.rows(rows, wanted, kept) for rows, kept in table)
        else:
            parts = iter([seen.points(Question(at=at).points(machine.domain))])
        if output is not None:
            _save(parts, output)
        else:
            for part in parts:
                shown += part if as_json else part[: _SHOWN - len(shown)]
    if as_json:
        about: dict[str, Any] = {"kind": machine.kind, "label": words.label, "rows": seen.count}
        about |= {"missing": seen.missing, "outside": seen.outside}
        about |= {"level": level} if band else {}
        about |= {"predictions": shown} if output is None else {"file": str(output)}
        terminal.print_json(about, file)
        return
    if shown:
        _print(shown, release, several=band and len(words.functions) > 1)
    elif output is None:
        print("There are no rows to predict.")
    if seen.count > len(shown) > 0:
        print(f"The first {len(shown)} of {seen.count} rows; all of them: -o predictions.csv")
    for note in seen.notes():
        print(note)
    if output is not None:
        print(f"{seen.count} predictions of {words.label} written to {output}")
    if others and not keep:
        listed = ", ".join(others[:6]) + (" …" if len(others) > 6 else "")
        print(
            f"Rows are numbered from 1, in the order of {file}, which also has {listed}; to keep "
            f"columns beside the predictions: --keep {shlex.quote(others[0])}"
        )


@dataclass
class _Seen:
    """Predictions as they are made, and how many rows lacked a number or were outside the bounds."""

    words: Any  # of a classifier or a regression
    probability: bool
    level: float | None
    count: int = field(default=0)
    missing: int = field(default=0)
    outside: int = field(default=0)

    def rows(self, rows: Floats, names: Sequence[str], kept: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
        """Predictions of a part of a file, each with the number of its row, from 1, and its kept cells."""
        first, found = self.count + 1, []
        for k, answer in enumerate(self._found(rows)):
            beside = {name: cells[k] for name, cells in zip(names, kept, strict=True)}
            if k == 0 and (twice := [name for name in names if name in ("row", *answer)]):
                raise ValueError(
                    f"--keep: {twice[0]!r} is a column of the predictions; rename it in the file"
                )
            found.append({"row": first + k} | beside | answer)
        return found

    def points(self, rows: Floats) -> list[dict[str, Any]]:
        """Predictions at points from the command line, each with its coordinates."""
        names = self.words.release.domain.names
        return [
            dict(zip(names, point, strict=True)) | answer
            for point, answer in zip(rows.tolist(), self._found(rows), strict=True)
        ]

    def _found(self, rows: Floats) -> list[dict[str, Any]]:
        import numpy as np

        domain = self.words.release.domain
        whole = np.all(np.isfinite(rows), axis=1)
        inside = np.all((rows >= domain.lower) & (rows <= domain.upper), axis=1)
        self.count += len(rows)
        self.missing += int(np.sum(~whole))
        self.outside += int(np.sum(whole & ~inside))
        named = self.words.predicted(rows, probability=self.probability, level=self.level)
        return [dict(zip(named, cells, strict=True)) for cells in zip(*named.values(), strict=True)]

    def notes(self) -> Iterator[str]:
        """Sentences on rows that lacked a number or were outside the bounds."""
        if self.missing:
            yield f"{self.missing} of {self.count} rows lack a number: they get no prediction."
        if self.outside:
            yield (
                f"{self.outside} of {self.count} rows have values outside the release's bounds, "
                "which were moved to them."
            )


def _read(
    file: Path, domain: Any, keep: list[str], tick: Callable[[int], None] | None
) -> tuple[Iterator[tuple[Floats, list[list[Any]]]], list[str]]:
    """The rows in parts, with the cells that are kept of each; and names of the other columns."""
    from mercer.sources.cells import reader_of
    from mercer.sources.files import file_batches, keeps_places

    schema, tasks = file_batches(file, whole=True)
    for name in domain.names:
        if schema.names.count(name) != 1:
            raise ValueError(
                f"{file.name} must have one column {name!r}, as the release has; it has "
                f"{listed(schema.names)}"
            )
    for name in keep:
        if schema.names.count(name) != 1 or keep.count(name) != 1:
            raise ValueError(
                f"--keep must name columns of {file.name}, each once; it has "
                f"{', '.join(map(repr, schema.names[:30]))}; got {name!r}"
            )
    readers = {column.name: reader_of(column) for column in domain.open_columns()}
    if keeps_places(file):  # cells of CSV files are text of which no type is known
        for name, reader in readers.items():
            reader.check(schema.field(name).type)
    return _parts(tasks, readers, keep, tick), [name for name in schema.names if name not in readers]


def _parts(
    tasks: Any, readers: Mapping[str, Any], keep: list[str], tick: Callable[[int], None] | None
) -> Iterator[tuple[Floats, list[list[Any]]]]:
    import numpy as np

    read = list(dict.fromkeys([*readers, *keep]))
    for batch in chain.from_iterable(task() for task in tasks(read)):
        if tick is not None:
            tick(batch.num_rows)
        for start in range(0, batch.num_rows, 1 << 16):
            part = batch.slice(start, 1 << 16)
            rows = np.stack([reader.codes(part.column(name)) for name, reader in readers.items()], axis=1)
            yield rows, [_cells(part.column(name)) for name in keep]


def _cells(column: Any) -> list[Any]:
    """Cells as they are written: text of a CSV file, numbers and text of a Parquet file."""
    return [_plain(cell) for cell in column.to_pylist()]


def _plain(cell: Any) -> Any:
    if isinstance(cell, bytes):
        return cell.decode("utf-8", errors="replace")
    if isinstance(cell, float) and not math.isfinite(cell):
        return None
    return cell if cell is None or isinstance(cell, (bool, int, float, str)) else str(cell)


def _print(rows: list[dict[str, Any]], release: Path, *, several: bool) -> None:
    """Print predictions as a table, without the bands of several functions, which do not fit."""
    ends = ("decision_", "lower_", "upper_")
    names = [name for name in rows[0] if not (several and name.startswith(ends))]
    table = terminal.table(*names)
    for row in rows:
        table.add_row(*(_cell(row[name]) for name in names))
    terminal.console().print(table)
    if several:
        print(f"Bands of each function: mercer eval {release} --at X…, or --json, or -o FILE.csv")


def _save(parts: Iterator[list[dict[str, Any]]], output: Path) -> None:
    """Write predictions to a file, which appears when it is complete."""
    from mercer.common.files import replace_text

    if output.suffix == ".csv":
        replace_text(output, _lines(parts), mode=0o644)
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = list(chain.from_iterable(parts))
    draft = output.with_name(f".{output.name}.draft")
    try:
        pq.write_table(pa.Table.from_pylist(rows), draft)
        draft.replace(output)
    finally:
        draft.unlink(missing_ok=True)


def _lines(parts: Iterator[list[dict[str, Any]]]) -> Iterator[str]:
    """Predictions as CSV text, numbers with all digits that they need to be read back exactly."""
    headed = False
    for part in parts:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if part and not headed:
            writer.writerow(part[0])
            headed = True
        writer.writerows(row.values() for row in part)
        yield text.getvalue()


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
