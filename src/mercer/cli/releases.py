"""The commands `mercer eval`, `plot`, `inspect` and `predict`: what anyone may do with a release file.

New rows to predict are the caller's own: nothing here is private, and nothing is spent.
"""

from __future__ import annotations

import csv
import io
import math
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mercer.cli.options import Columns, Json, Level, Of, Overwrite, Simultaneous, Smooth, Where, command
from mercer.cli.releasing import place
from mercer.cli.typed import named_numbers
from mercer.columns.rules import listed
from mercer.common.checks import Floats
from mercer.show import terminal

if TYPE_CHECKING:
    from mercer.releases.base import Release
    from mercer.releases.words import Words

__all__ = ["eval_command", "inspect_command", "plot_command", "predict_command"]

_SHOWN = 20

ReleaseFile = Annotated[Path, typer.Argument(metavar="RELEASE", help="A release file.")]
Derivative = Annotated[list[int] | None, typer.Option(metavar="K", help="Mean curves: a derivative instead.")]


@command()
def eval_command(
    *,
    release: ReleaseFile,
    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="X…", help="Points: X for one column, X Y for two, and so on; dates as 2024-12-31."
        ),
    ],
    grid: Annotated[int | None, typer.Option(help="Evaluate at this many even points of the first column.")],
    level: Level = 0.95,
    bandwidth: Annotated[list[float] | None, typer.Option(help="Smooth more before evaluating: free.")],
    raw: Annotated[bool, typer.Option(help="The function as released, not a density.")] = False,
    derivative: Derivative,
    of: Of,
    expect: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN…", help="Synthetic tables: means of columns.")
    ],
    where: Where,
    margin: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN…", help="Tables of counts: the counts of these columns."),
    ],
    smooth: Smooth = False,
    simultaneous: Simultaneous = False,
    as_json: Json = False,
) -> None:
    """Evaluate a release, with its error band: a density, a decision function, a curve, a table.

    [bold]Example:[/bold] mercer eval ages.json --at 20 40 60

    A synthetic table: mercer eval table.json --expect age --where sex=f stage=II..IV

    A histogram or table of counts: mercer eval ages.json --where age=20..40
    """
    from mercer.releases.words import Question

    lists = (derivative or (), expect or (), where or (), margin or ())
    asked = Question(at, grid, level, raw, *lists, smooth, of, simultaneous)
    _words(release, bandwidth).ask(asked, as_json=as_json)


@command()
def plot_command(
    *,
    release: ReleaseFile,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Picture: .png, .svg or .pdf.")],
    level: Level = 0.95,
    bandwidth: Annotated[list[float] | None, typer.Option(help="Smooth more before drawing: free.")],
    title: Annotated[str | None, typer.Option(help="Heading of the picture.")],
    xlabel: Annotated[str | None, typer.Option(help="Label of the horizontal axis.")],
    ylabel: Annotated[str | None, typer.Option(help="Label of the vertical axis.")],
    size: Annotated[list[float] | None, typer.Option(metavar="W H", help="Width and height in inches.")],
    column: Columns,
    at: Annotated[list[str] | None, typer.Option(metavar="NAME=X…", help="Where other columns stand.")],
    derivative: Derivative,
    of: Of,
    simultaneous: Simultaneous = False,
    as_json: Json = False,
) -> None:
    """Draw a release: a curve with its band, a map, bars with error bars, a table's columns.

    [bold]Example:[/bold] mercer plot ages.json -o ages.png

    A classifier or regression of more columns is cut: mercer plot ill.json --columns age bmi
    --at weight=70 dose=2.5
    """
    target = release.with_suffix(".png") if output is None else output
    placed = named_numbers(at) if at else None
    given = {"columns": column, "at": placed, "xlabel": xlabel, "ylabel": ylabel, "size": size, "of": of}
    options: dict[str, Any] = {name: value for name, value in given.items() if value}
    options |= {"simultaneous": True} if simultaneous else {}
    words = _words(release, bandwidth)
    if derivative:
        options["derivative"] = words.order(derivative)
    words.release.plot(target, level=level, title=title, **options)
    if as_json:
        terminal.print_json({"file": str(target)})
    else:
        print(f"Picture written to {target}")


@command()
def inspect_command(
    *,
    release: ReleaseFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Draw what an attacker can do: .png, .svg or .pdf.")
    ],
    as_json: Json = False,
) -> None:
    """Say what a release promises, what an attacker can do with it, and how accurate it is.

    [bold]Example:[/bold] mercer inspect ages.json -o attack.png
    """
    words = _words(release, None)
    if output is not None:
        from mercer.show.figure import draw_attack

        privacy = words.release.privacy
        curves: dict[str, Callable[[float], float]] = {"with the release": privacy.power}
        draw_attack(curves, "What an attacker can do", privacy.short, output)
        if not as_json:
            print(f"Picture written to {output}")
    if as_json:
        terminal.print_json(words.summary() | {"file": str(release)})
    else:
        words.show(f"{release.name}: a {words.describe()}")


def _words(file: Path, bandwidth: list[float] | None) -> Words[Release]:
    """What is said of a release file, smoothed more if a bandwidth is given."""
    from mercer.releases.base import load
    from mercer.releases.words import words_of

    words = words_of(load(file))
    return words_of(words.smoothed(bandwidth)) if bandwidth else words


@command()
def predict_command(
    *,
    release: ReleaseFile,
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
    probability: Annotated[bool, typer.Option("--probability", help="Of each class.")] = False,
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
    from mercer.releases.base import KINDS
    from mercer.releases.words import Question

    words: Any = _words(release, None)
    machine = words.release
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
        place("output", output, (".csv", ".parquet"), overwrite)
    seen = _Seen(words, probability, level if band else None)
    parts: Iterator[list[dict[str, Any]]]
    others: list[str]
    shown: list[dict[str, Any]] = []
    with terminal.progress(not as_json, file) as tick:
        if file is None:
            parts, others = iter([seen.points(Question(at=at).points(machine.domain))]), []
        else:
            table, others = _read(file, machine.domain, wanted := keep or [], tick)
            parts = (seen.rows(rows, wanted, kept) for rows, kept in table)
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
    if seen.missing:
        print(f"{seen.missing} of {seen.count} rows lack a number: they get no prediction.")
    if seen.outside:
        print(
            f"{seen.outside} of {seen.count} rows have values outside the release's bounds, "
            "which were moved to them."
        )
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
    count: int = 0
    missing: int = 0
    outside: int = 0

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
        places = [dict(zip(self.words.release.domain.names, point, strict=True)) for point in rows.tolist()]
        return [place | answer for place, answer in zip(places, self._found(rows), strict=True)]

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


def _read(
    file: Path, domain: Any, keep: list[str], tick: Callable[[int], None] | None
) -> tuple[Iterator[tuple[Floats, list[list[Any]]]], list[str]]:
    """The rows in parts, with the cells that are kept of each; and names of the other columns."""
    import numpy as np

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
    read = list(dict.fromkeys([*readers, *keep]))

    def parts() -> Iterator[tuple[Floats, list[list[Any]]]]:
        for batch in chain.from_iterable(task() for task in tasks(read)):
            if tick is not None:
                tick(batch.num_rows)
            for start in range(0, batch.num_rows, 1 << 16):
                part = batch.slice(start, 1 << 16)
                codes = [reader.codes(part.column(name)) for name, reader in readers.items()]
                beside = [[_plain(cell) for cell in part.column(name).to_pylist()] for name in keep]
                yield np.stack(codes, axis=1), beside

    return parts(), [name for name in schema.names if name not in readers]


def _plain(cell: Any) -> Any:
    """A cell as it is written: text of a CSV file, a number or text of a Parquet file."""
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
    terminal.show(table)
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

    draft = output.with_name(f".{output.name}.draft")
    try:
        pq.write_table(pa.Table.from_pylist(list(chain.from_iterable(parts))), draft)
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
