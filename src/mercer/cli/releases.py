"""The commands `mercer eval`, `plot` and `inspect`: what anyone may do with a release file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mercer.cli.options import Columns, Json, Level, command
from mercer.cli.typed import named_numbers
from mercer.show import terminal

if TYPE_CHECKING:
    from mercer.releases.base import Release
    from mercer.releases.words import Words

__all__ = ["eval_command", "inspect_command", "plot_command"]

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
    expect: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN…", help="Synthetic tables: means of columns.")
    ],
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUE…",
            help="Tables and histograms: where this holds; age=60..80, sex=f, 'ward=a|b', "
            "'age>=60'. Alone: its probability, or the count.",
        ),
    ],
    margin: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN…", help="Tables of counts: the counts of these columns."),
    ],
    smooth: Annotated[
        bool, typer.Option("--smooth", help="Histograms: a nearer count, from smoothed ones: free.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Evaluate a release, with its error band: a density, a decision function, a curve, a table.

    [bold]Example:[/bold] mercer eval ages.json --at 20 40 60

    A synthetic table: mercer eval table.json --expect age --where sex=f stage=II..IV

    A histogram or table of counts: mercer eval ages.json --where age=20..40
    """
    from mercer.releases.words import Question

    asked = Question(at, grid, level, raw, derivative or (), expect or (), where or (), margin or (), smooth)
    _words(release, bandwidth).answer(asked, as_json=as_json)


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
    at: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=X…", help="Classifiers, regressions: where the other columns stand."),
    ],
    derivative: Derivative,
    as_json: Json = False,
) -> None:
    """Draw a release: a curve with its band, a map, bars with error bars, a table's columns.

    [bold]Example:[/bold] mercer plot ages.json -o ages.png

    A classifier or regression of more columns is cut: mercer plot ill.json --columns age bmi
    --at weight=70 dose=2.5
    """
    target = release.with_suffix(".png") if output is None else output
    given = {"columns": column, "xlabel": xlabel, "ylabel": ylabel, "size": size}
    options: dict[str, Any] = {name: value for name, value in given.items() if value}
    if at:
        options["at"] = named_numbers(at)
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
    from mercer.releases.file import load
    from mercer.releases.words import words_of

    words = words_of(load(file))
    return words_of(words.smoothed(bandwidth)) if bandwidth else words
