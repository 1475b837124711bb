"""`mercer eval`, `plot` and `inspect`: what anyone may do with a release file."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from mercer.cli.options import Columns, Json, Level
from mercer.cli.typed import load_release, named_numbers, number_at, order_of, points_of
from mercer.show import terminal

__all__ = ["eval_command", "inspect_command", "plot_command"]

_COUNTS = ("count", "histogram", "margins", "statistic")

ReleaseFile = Annotated[Path, typer.Argument(metavar="RELEASE", help="A release file.")]
Derivative = Annotated[list[int] | None, typer.Option(metavar="K", help="Mean curves: a derivative instead.")]


def eval_command(
    release: ReleaseFile,
    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="X…", help="Points: X for one column, X Y for two, and so on; dates as 2024-12-31."
        ),
    ] = None,
    grid: Annotated[
        int | None, typer.Option(help="Evaluate at this many even points of the first column.")
    ] = None,
    level: Level = 0.95,
    bandwidth: Annotated[
        list[float] | None, typer.Option(help="Smooth more before evaluating: free.")
    ] = None,
    raw: Annotated[bool, typer.Option(help="The function as released, not a density.")] = False,
    derivative: Derivative = None,
    expect: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN…", help="Synthetic tables: means of columns.")
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=VALUE…",
            help="Tables and histograms: where this holds; age=60..80, sex=f, 'ward=a|b', "
            "'age>=60'. Alone: its probability, or the count.",
        ),
    ] = None,
    margin: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN…", help="Tables of counts: the counts of these columns."),
    ] = None,
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
    import numpy as np

    loaded = load_release(release, bandwidth)
    if loaded.kind in _COUNTS:
        if grid is not None or raw or derivative or expect:
            raise ValueError(
                f"a {loaded.kind} is asked with --where COLUMN=FROM..TO, --margin COLUMN… or --at "
                "X…; it has no --grid, --raw, --derivative or --expect"
            )
        from mercer.releases.counts import words as terminal_counts

        terminal_counts.show_values(
            loaded,
            at=list(map(number_at, at or [])),
            where=where or [],
            margin=margin or [],
            level=level,
            smooth=smooth,
            as_json=as_json,
        )
        return
    if margin or smooth:
        option = "--margin" if margin else "--smooth"
        raise ValueError(f"{option} is for histograms and tables of counts; this is a {loaded.kind}")
    if loaded.kind.startswith("synthetic"):
        if at or grid is not None or raw or derivative:
            raise ValueError(
                f"a {loaded.kind} has no points to evaluate at; ask with --expect COLUMN… and "
                "--where COLUMN=VALUE…"
            )
        if not expect and not where:
            raise ValueError("say what to ask: --expect COLUMN…, --where COLUMN=VALUE…, or both")
        from mercer.releases.synthetic import words as terminal_tables

        terminal_tables.show_values(loaded, expect or [], where or [], level, as_json=as_json)
        return
    if expect or where:
        raise ValueError(f"--expect and --where are for synthetic tables and counts; this is a {loaded.kind}")
    d, order = loaded.domain.dimension, order_of(loaded, derivative)
    if (at is None) == (grid is None):
        raise ValueError("give the points either with --at X… or with --grid N, not both or none")
    if grid is not None:
        if d != 1 or grid < 2:
            raise ValueError("--grid needs a release of one column and at least 2 points")
        low, high = loaded.domain.bounds[0]
        points = np.linspace(low, high, grid)[:, None]
    else:
        points = points_of(at or [], loaded.domain)
    if loaded.kind != "density":
        if raw:
            raise ValueError(f"--raw is for densities; a {loaded.kind} is shown as released")
        from mercer.releases.curve import words as terminal_curves
        from mercer.releases.machine import words as terminal_machines

        if loaded.kind == "mean-curve":
            terminal_curves.show_values(loaded, points, level, order, as_json=as_json)
        else:
            terminal_machines.show_values(loaded, points, level, as_json=as_json)
        return
    value, band = loaded(points, raw=raw), loaded.band(points, level, raw=raw)
    rows: list[dict[str, Any]] = [
        {
            "at": [x if isinstance(x, float) else str(x) for x in loaded.domain.shown(point.tolist())],
            "density": float(v),
            "lower": float(low),
            "upper": float(high),
        }
        for point, v, low, high in zip(points, value, band.lower, band.upper, strict=True)
    ]
    if as_json:
        terminal.print_json({"level": level, "raw": raw, "values": rows})
        return
    rows_out = terminal.table(
        *loaded.domain.names, "density", f"{level:.0%} band for the noise, everywhere at once"
    )
    for row in rows:
        rows_out.add_row(
            *(f"{x:g}" if isinstance(x, float) else x for x in row["at"]),
            f"{row['density']:.6g}",
            f"{row['lower']:.6g} to {row['upper']:.6g}",
        )
    terminal.console().print(rows_out)


def plot_command(
    release: ReleaseFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Picture: .png, .svg or .pdf.")
    ] = None,
    level: Level = 0.95,
    bandwidth: Annotated[list[float] | None, typer.Option(help="Smooth more before drawing: free.")] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the picture.")] = None,
    column: Columns = None,
    at: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=X…", help="Classifiers, regressions: where the other columns stand."),
    ] = None,
    derivative: Derivative = None,
    as_json: Json = False,
) -> None:
    """Draw a release: a curve with its band, a map, bars with error bars, a table's columns.

    [bold]Example:[/bold] mercer plot ages.json -o ages.png

    A classifier or regression of more columns is cut: mercer plot ill.json --columns age bmi
    --at weight=70 dose=2.5
    """
    target = release.with_suffix(".png") if output is None else output
    options: dict[str, Any] = {"columns": column} if column else {}
    if at:
        options["at"] = named_numbers(at)
    loaded = load_release(release, bandwidth)
    if derivative:
        options["derivative"] = order_of(loaded, derivative)
    loaded.plot(target, level=level, title=title, **options)
    if as_json:
        terminal.print_json({"file": str(target)})
    else:
        print(f"Picture written to {target}")


def inspect_command(
    release: ReleaseFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Draw what an attacker can do: .png, .svg or .pdf.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what a release promises, what an attacker can do with it, and how accurate it is.

    [bold]Example:[/bold] mercer inspect ages.json -o attack.png
    """
    loaded = load_release(release, None)
    if output is not None:
        from mercer.show.figure import draw_attack

        curves = {"with the release": loaded.privacy.power}
        draw_attack(curves, "What an attacker can do", loaded.privacy.short, output)
        if not as_json:
            print(f"Picture written to {output}")
    words = _words(loaded)
    if as_json:
        terminal.print_json(words.summary(loaded) | {"file": str(release)})
    else:
        words.show(loaded, f"{release.name}: a {words.describe(loaded)}")


def _words(release: Any) -> ModuleType:
    """What describes a kind of release."""
    if release.kind == "density":
        return terminal
    from mercer.releases.counts import words as terminal_counts
    from mercer.releases.curve import words as terminal_curves
    from mercer.releases.machine import words as terminal_machines
    from mercer.releases.synthetic import words as terminal_tables

    if release.kind in _COUNTS:
        return terminal_counts
    if release.kind.startswith("synthetic"):
        return terminal_tables
    return terminal_curves if release.kind == "mean-curve" else terminal_machines
