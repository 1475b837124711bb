"""The command line: parse, call, render.  Layer 6."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

from mercer import cli_choices, terminal
from mercer.checks import FindingWarning
from mercer.cli_audit import audit_command
from mercer.cli_counts import count_command, histogram_command, table_command
from mercer.cli_curves import curve_command
from mercer.cli_ledger import ledger_app
from mercer.cli_live import ask_command, live_command
from mercer.cli_machines import classify_command, regress_command
from mercer.cli_plan import Bounds, Delta, Json, MechanismName, plan_app
from mercer.cli_predict import predict_command
from mercer.cli_releases import eval_command, inspect_command, plot_command
from mercer.cli_serve import serve_command
from mercer.cli_tables import synthesize_command
from mercer.version import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    name="mercer",
    help="Release functions and counts with differential privacy: a density, a histogram, a table, "
    "a classifier, a regression, a mean curve or a synthetic table from a file of records, that "
    "anyone may use for ever.",
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
app.command("synthesize", no_args_is_help=True)(synthesize_command)
app.command("count", no_args_is_help=True)(count_command)
app.command("histogram", no_args_is_help=True)(histogram_command)
app.command("table", no_args_is_help=True)(table_command)
app.command("eval", no_args_is_help=True)(eval_command)
app.command("plot", no_args_is_help=True)(plot_command)
app.command("inspect", no_args_is_help=True)(inspect_command)


def main(arguments: list[str] | None = None) -> None:
    """Entry point: errors are one line on stderr, exit code 2; a bug is a trace and exit code 1."""
    argv = terminal.spread(sys.argv[1:] if arguments is None else arguments)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FindingWarning)  # said with the release, once
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
    with terminal.progress(not as_json, file) as tick:
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
        terminal.print_json(terminal.summary(release) | {"file": str(file_out)}, file)
        return
    terminal.show(release, f"Released the density of {' and '.join(release.domain.names)}")
    print(f"Written to {file_out}. Look at it: mercer plot {file_out}")


cli_choices.add_to(app)
