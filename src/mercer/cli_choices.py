"""Commands for private choices: parse, call, render.  Layer 6."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer import terminal

__all__ = ["add_to", "quantiles"]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(no_args_is_help=True)(quantiles)


def quantiles(
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file, or a folder of them.")],
    column: Annotated[str | None, typer.Option("--column", "-c", help="Column.")] = None,
    bounds: Annotated[
        list[float] | None, typer.Option(metavar="LO HI", help="Public bounds. Required.")
    ] = None,
    q: Annotated[
        list[float] | None,
        typer.Option("--q", metavar="Q…", help="Levels in [0, 1]. The quartiles unless given."),
    ] = None,
    epsilon: Annotated[
        list[float] | None, typer.Option(help="The epsilon of the promise, for all. Required.")
    ] = None,
    unit: Annotated[
        str | None, typer.Option(help="Column that names the person: protects persons, not rows.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Reproducible draws. The result is then NOT PRIVATE.")
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="Ledger to charge: a file or a postgresql:// URL.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="Dataset of the ledger.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print exact JSON for machines.")] = False,
) -> None:
    """Release quantiles of one column, with pure differential privacy.

    [bold]Example:[/bold] mercer quantiles admissions.csv --column age --bounds 0 100
    --q 0.25 0.5 0.75 --epsilon 0.5

    2 % of epsilon count the rows with a number and those at the bounds; levels share the rest
    evenly. Values outside the bounds are clipped; rows without a number are left out. Nothing is
    spent if an argument is wrong.
    """
    from mercer.selection import quantiles as release_quantiles

    if epsilon is not None and len(epsilon) != 1:
        raise ValueError(f"epsilon must be one number, got {len(epsilon)}")
    terminal.say_files(not as_json, file)
    release = release_quantiles(
        file,
        q or (0.25, 0.5, 0.75),
        bounds=terminal.pairs(bounds),
        epsilon=None if epsilon is None else epsilon[0],
        columns=column,
        unit=unit,
        ledger=ledger,
        dataset=dataset,
        rng=seed,
    )
    if as_json:
        terminal.print_json(release.to_dict(), file)
        return
    rows = terminal.table("q", release.column)
    for level, value in zip(release.levels, release.values, strict=True):
        rows.add_row(f"{level:g}", f"{value:g}")
    terminal.console().print(rows)
    terminal.facts("", [("promise", str(release.privacy)), *terminal.notes(release)])
