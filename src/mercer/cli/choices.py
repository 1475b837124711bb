"""Commands for private choices: parse, call, render."""

from __future__ import annotations

from typing import Annotated

import typer

from mercer.cli import bounds as terminal_bounds
from mercer.cli import places as terminal_places
from mercer.cli.terms import (
    NOTHING_WRITTEN,
    Bounds,
    Dataset,
    DryRun,
    Epsilon,
    File,
    Formats,
    Insist,
    Json,
    LedgerName,
    NaValues,
    OutputToo,
    Outside,
    Overwrite,
    Seed,
    Unit,
    ask,
    terms,
)
from mercer.show import terminal

__all__ = ["add_to", "quantiles"]


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command(no_args_is_help=True)(quantiles)


def quantiles(
    file: File,
    column: Annotated[str | None, typer.Option("--column", "-c", help="Column.")] = None,
    bounds: Bounds = None,
    q: Annotated[
        list[float] | None,
        typer.Option("--q", metavar="Q…", help="Levels in [0, 1]. The quartiles unless given."),
    ] = None,
    epsilon: Epsilon = None,
    output: OutputToo = None,
    unit: Unit = None,
    na_values: NaValues = None,
    outside: Outside = "clip",
    formats: Formats = None,
    insist: Insist = False,
    dry_run: DryRun = False,
    seed: Seed = None,
    ledger: LedgerName = None,
    dataset: Dataset = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Release quantiles of one column, with pure differential privacy.

    [bold]Example:[/bold] mercer quantiles admissions.csv --column age --bounds 0 100
    --q 0.25 0.5 0.75 --epsilon 0.5 -o quartiles.json

    2 % of epsilon count the rows with a number and those at the bounds; levels share the rest
    evenly. Values outside the bounds are clipped, unless --outside drop; rows without a number are
    left out. Nothing is spent if an argument is wrong; --dry-run says what would be.
    """
    from mercer.api.ranks import quantiles as release_quantiles

    places = terminal_places.places(output, overwrite, needed=False)
    chosen = terms(
        epsilon=epsilon,
        na_values=na_values,
        formats=formats,
        seed=seed,
        unit=unit,
        outside=outside,
        insist=insist,
        dry_run=dry_run,
        ledger=ledger,
        dataset=dataset,
    )
    release = ask(
        release_quantiles,
        file,
        q or (0.25, 0.5, 0.75),
        as_json=as_json,
        told=False,
        bounds=terminal_bounds.pairs(bounds),
        columns=column,
        **chosen,
    )
    written = terminal_places.write(release, places, ledger=ledger, as_json=as_json)
    if as_json:
        terminal.print_json(release.to_dict() | written.told(), file)
    else:
        rows = terminal.table("q", release.column)
        for level, value in zip(release.levels, release.shown, strict=True):
            rows.add_row(f"{level:g}", str(value) if release.dates else f"{value:g}")
        terminal.console().print(rows)
        terminal.facts("", [("promise", str(release.privacy)), *terminal.notes(release)])
        print(f"Written to {written.words()}." if written.files else NOTHING_WRITTEN)
    written.leave()
