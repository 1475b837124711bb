"""The command line: parse, call, render.  Layer 6."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer

from mercer import cli_choices, terminal
from mercer.cli_audit import audit_command
from mercer.cli_curves import curve_command
from mercer.cli_ledger import ledger_app
from mercer.cli_live import ask_command, live_command
from mercer.cli_machines import Columns, classify_command, regress_command
from mercer.cli_plan import Bounds, Delta, Json, MechanismName, plan_app
from mercer.cli_predict import predict_command
from mercer.cli_serve import serve_command
from mercer.version import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    name="mercer",
    help="Release functions with differential privacy: a density, a classifier, a regression or a "
    "mean curve from a file of records, that anyone may evaluate, plot and use for ever.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
app.add_typer(plan_app, name="plan")
app.command("audit", no_args_is_help=True)(audit_command)
app.add_typer(ledger_app, name="ledger")
app.command("serve", no_args_is_help=True)(serve_command)
app.command("live", no_args_is_help=True)(live_command)
app.command("ask", no_args_is_help=True)(ask_command)
app.command("curve", no_args_is_help=True)(curve_command)
app.command("classify", no_args_is_help=True)(classify_command)
app.command("regress", no_args_is_help=True)(regress_command)
app.command("predict", no_args_is_help=True)(predict_command)

ReleaseFile = Annotated[Path, typer.Argument(metavar="RELEASE", help="A release file.")]
Derivative = Annotated[
    list[int] | None, typer.Option(metavar="K", help="Mean curves: a derivative instead.")
]


def main(arguments: list[str] | None = None) -> None:
    """Entry point: errors are one line on stderr, exit code 2; a bug is a trace and exit code 1."""
    argv = terminal.spread(sys.argv[1:] if arguments is None else arguments)
    try:
        app(argv)
    except (ValueError, TypeError, OSError) as error:
        message = str(error) or type(error).__name__
        if isinstance(error, OSError) and error.filename is not None:
            message = f"{error.strerror}: {error.filename}"
        if "--json" in argv:
            print(json.dumps({"error": message}), file=sys.stderr)
        else:
            print(f"Error: {message}", file=sys.stderr)
        sys.exit(2)


@app.callback(invoke_without_command=True)
def _top(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        print(f"mercer {__version__}")
        raise typer.Exit


@app.command(no_args_is_help=True)
def density(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file, or a folder of them.")],
    column: Annotated[
        list[str] | None, typer.Option("--column", "-c", help="Column; repeat for two or three.")
    ] = None,
    bounds: Bounds = None,
    epsilon: Annotated[
        list[float] | None, typer.Option(help="The epsilon of the promise. Required.")
    ] = None,
    delta: Delta = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Release file to write. Required.")
    ] = None,
    bandwidth: Annotated[
        list[str] | None,
        typer.Option(
            help="auto, rule, private-scott, private-cv, one number, or one a column, in the "
            "data's units."
        ),
    ] = None,
    choice_share: Annotated[
        float, typer.Option(help="Share of epsilon for a private bandwidth.")
    ] = 0.2,
    boundary: Annotated[str | None, typer.Option(help="reflect, periodic or open.")] = None,
    kernel: Annotated[
        str, typer.Option(help="Noise: gaussian, exponential, matern32 or matern52.")
    ] = "gaussian",
    mechanism: MechanismName = None,
    unit: Annotated[
        str | None, typer.Option(help="Column that names the person: protects persons, not rows.")
    ] = None,
    missing: Annotated[
        str, typer.Option(help="zero: rows without values count. drop: their number is public.")
    ] = "zero",
    seed: Annotated[
        int | None, typer.Option(help="Reproducible noise. The release is then NOT PRIVATE.")
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="Ledger to charge: a file or a postgresql:// URL.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Dataset of the ledger.")] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace an existing release file.")] = False,
    as_json: Json = False,
) -> None:
    """Release the density of one to three columns.

    [bold]Example:[/bold] mercer density admissions.csv --column age --bounds 0 100
    --epsilon 1 -o ages.json

    Values outside the bounds are clipped; rows without a number count and add nothing. Nothing
    is spent if an argument is wrong.
    """
    from mercer.api import density as release_density

    file_out = terminal.target(output, overwrite)
    if epsilon is not None and len(epsilon) != 1:
        raise ValueError(f"epsilon must be one number, got {len(epsilon)}")
    with terminal.progress(not as_json) as tick:
        release = release_density(
            file,
            bounds=terminal.pairs(bounds),
            epsilon=None if epsilon is None else epsilon[0],
            delta=delta,
            columns=column or None,
            bandwidth=terminal.bandwidth_of(bandwidth, len(bounds or []) // 2),
            boundary=boundary,
            kernel=kernel,
            mechanism=mechanism,
            choice_share=choice_share,
            unit=unit,
            missing=missing,
            rng=seed,
            ledger=ledger,
            dataset=dataset,
            progress=tick,
        )
    release.save(file_out)
    if as_json:
        terminal.print_json(terminal.summary(release) | {"file": str(file_out)})
        return
    terminal.show(release, f"Released the density of {' and '.join(release.domain.names)}")
    print(f"Written to {file_out}. Look at it: mercer plot {file_out}")


@app.command("eval", no_args_is_help=True)
def evaluate(
    release: ReleaseFile,
    at: Annotated[
        list[float] | None,
        typer.Option(metavar="X…", help="Points: X for one column, X Y for two, and so on."),
    ] = None,
    grid: Annotated[
        int | None, typer.Option(help="Evaluate at this many even points of the first column.")
    ] = None,
    level: Annotated[float, typer.Option(help="Level of the band.")] = 0.95,
    bandwidth: Annotated[
        list[float] | None, typer.Option(help="Smooth more before evaluating: free.")
    ] = None,
    raw: Annotated[bool, typer.Option(help="The function as released, not a density.")] = False,
    derivative: Derivative = None,
    as_json: Json = False,
) -> None:
    """Evaluate a release at points, with its error band: a density, a decision function, a curve.

    [bold]Example:[/bold] mercer eval ages.json --at 20 40 60
    """
    import numpy as np

    loaded = terminal.load_release(release, bandwidth)
    d, order = loaded.domain.dimension, terminal.order_of(loaded, derivative)
    if (at is None) == (grid is None):
        raise ValueError("give the points either with --at X… or with --grid N, not both or none")
    if grid is not None:
        if d != 1 or grid < 2:
            raise ValueError("--grid needs a release of one column and at least 2 points")
        low, high = loaded.domain.bounds[0]
        points = np.linspace(low, high, grid)[:, None]
    else:
        points = terminal.points_of(at or [], loaded.domain)
    if loaded.kind != "density":
        if raw:
            raise ValueError(f"--raw is for densities; a {loaded.kind} is shown as released")
        from mercer import terminal_curves, terminal_machines

        if loaded.kind == "mean-curve":
            terminal_curves.show_values(loaded, points, level, order, as_json=as_json)
        else:
            terminal_machines.show_values(loaded, points, level, as_json=as_json)
        return
    value, band = loaded(points, raw=raw), loaded.band(points, level, raw=raw)
    rows: list[dict[str, Any]] = [
        {
            "at": point.tolist(),
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
            *(f"{x:g}" for x in row["at"]),
            f"{row['density']:.6g}",
            f"{row['lower']:.6g} to {row['upper']:.6g}",
        )
    terminal.console().print(rows_out)


@app.command(no_args_is_help=True)
def plot(
    release: ReleaseFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Picture: .png, .svg or .pdf.")
    ] = None,
    level: Annotated[float, typer.Option(help="Level of the band.")] = 0.95,
    bandwidth: Annotated[
        list[float] | None, typer.Option(help="Smooth more before drawing: free.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Heading of the picture.")] = None,
    column: Columns = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=X…", help="Classifiers, regressions: where the other columns stand."
        ),
    ] = None,
    derivative: Derivative = None,
    as_json: Json = False,
) -> None:
    """Draw a release: a curve with its band, or a map of two columns.

    [bold]Example:[/bold] mercer plot ages.json -o ages.png

    A classifier or regression of more columns is cut: mercer plot ill.json --columns age bmi
    --at weight=70 dose=2.5
    """
    target = release.with_suffix(".png") if output is None else output
    options: dict[str, Any] = {"columns": column} if column else {}
    if at:
        options["at"] = terminal.places(at)
    loaded = terminal.load_release(release, bandwidth)
    if derivative:
        options["derivative"] = terminal.order_of(loaded, derivative)
    loaded.plot(target, level=level, title=title, **options)
    if as_json:
        terminal.print_json({"file": str(target)})
    else:
        print(f"Picture written to {target}")


@app.command(no_args_is_help=True)
def inspect(
    release: ReleaseFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Draw what an attacker can do: .png, .svg or .pdf."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what a release promises, what an attacker can do with it, and how accurate it is.

    [bold]Example:[/bold] mercer inspect ages.json -o attack.png
    """
    loaded = terminal.load_release(release, None)
    if output is not None:
        from mercer.plotting import draw_attack

        curves = {"with the release": loaded.privacy.power}
        draw_attack(curves, "What an attacker can do", loaded.privacy.short, output)
        if not as_json:
            print(f"Picture written to {output}")
    words: ModuleType = terminal
    if loaded.kind != "density":
        from mercer import terminal_curves, terminal_machines

        words = terminal_curves if loaded.kind == "mean-curve" else terminal_machines
    if as_json:
        terminal.print_json(words.summary(loaded) | {"file": str(release)})
    else:
        words.show(loaded, f"{release.name}: a {words.describe(loaded)}")


cli_choices.add_to(app)
