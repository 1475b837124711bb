"""`mercer histogram`, `mercer table` and `mercer count`: parse, call, render."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from mercer.cli import places as terminal_places
from mercer.cli.cells import (
    CELLS,
    CellsOutside,
    Counts,
    Gamma,
    Occupied,
    RowsPerPerson,
    WeakerPromise,
    bins_of,
    cells_given,
    margins_of,
    promised,
    tell,
)
from mercer.cli.terms import (
    Dataset,
    Delta,
    DryRun,
    Epsilon,
    File,
    Formats,
    Insist,
    Json,
    LedgerName,
    Missing,
    NaValues,
    Output,
    OutputToo,
    Overwrite,
    Picture,
    Seed,
    Unit,
    ask,
    terms,
)

__all__ = ["count_command", "histogram_command", "table_command"]


def histogram_command(
    file: File,
    column: Annotated[str | None, typer.Option("--column", "-c", help="Column to count. Required.")] = None,
    bins: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="So many equal bins, with --bounds.", rich_help_panel=CELLS),
    ] = None,
    bounds: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LO HI",
            help="Public bounds that the bins divide: numbers or dates.",
            rich_help_panel=CELLS,
        ),
    ] = None,
    edges: Annotated[
        list[str] | None, typer.Option(metavar="X…", help="Or the edges of the bins.", rich_help_panel=CELLS)
    ] = None,
    whole: Annotated[
        list[int] | None,
        typer.Option(metavar="LO HI", help="Or each whole number from LO to HI.", rich_help_panel=CELLS),
    ] = None,
    categories: Annotated[
        list[str] | None, typer.Option(metavar="VALUE…", help="Or these values.", rich_help_panel=CELLS)
    ] = None,
    other: Annotated[
        str | None,
        typer.Option(
            help="Name of one more cell: whatever is not among the categories.", rich_help_panel=CELLS
        ),
    ] = None,
    outside: CellsOutside = "clip",
    epsilon: Epsilon = None,
    delta: Delta = None,
    output: Output = None,
    sparse: Annotated[
        bool, typer.Option("--sparse", help="Keep cells above a public threshold: most are empty.")
    ] = False,
    occupied: Occupied = None,
    unit: Unit = None,
    rows_per_person: RowsPerPerson = None,
    counts: Counts = None,
    missing: Missing = "zero",
    na_values: NaValues = None,
    formats: Formats = None,
    insist: Insist = False,
    dry_run: DryRun = False,
    plot: Picture = None,
    weaker_promise: WeakerPromise = False,
    gamma: Gamma = None,
    seed: Seed = None,
    ledger: LedgerName = None,
    dataset: Dataset = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Release a histogram of one column: noisy counts of bins, values or categories.

    [bold]Example:[/bold] mercer histogram admissions.csv --column age --bins 20 --bounds 0 100
    --epsilon 1 -o ages.json

    Categories: mercer histogram patients.csv --column ward --categories north south
    --other elsewhere --epsilon 1 -o wards.json

    Values beyond the edges go to the nearest bin, unless --outside drop; rows that fit no cell
    count in n alone. Nothing is spent if an argument is wrong; --dry-run says what would be.
    """
    places = terminal_places.places(output, overwrite, needed=not dry_run, plot=plot)
    chosen = terms(
        epsilon=epsilon,
        na_values=na_values,
        formats=formats,
        seed=seed,
        columns=column,
        outside=outside,
        unit=unit,
        counts=counts,
        missing=missing,
        insist=insist,
        dry_run=dry_run,
        **cells_given(column, bins, bounds, edges, whole, categories, other),
    )
    if promised(weaker_promise, gamma, ledger, dataset, delta):
        from mercer.api.weaker import random_histogram as make

        if sparse or occupied is not None or rows_per_person is not None:
            raise ValueError(
                "--sparse, --occupied and --rows-per-person go with the full promise: leave "
                "--weaker-promise out"
            )
        chosen |= {"gamma": gamma, "weaker_promise": True}
    else:
        from mercer.api.counts.tables import histogram as make  # type: ignore[assignment]

        chosen |= {
            "delta": delta,
            "sparse": sparse or occupied is not None,
            "occupied": occupied,
            "rows_per_person": rows_per_person,
            "ledger": ledger,
            "dataset": dataset,
        }
    release = ask(make, file, as_json=as_json, **chosen)
    tell(release, places, file, ledger=ledger, as_json=as_json)


def table_command(
    file: File,
    domain: Annotated[
        Path | None, typer.Option(help="Public columns with bounds and levels: YAML or JSON. Required.")
    ] = None,
    columns: Annotated[
        list[str] | None,
        typer.Option("--columns", "-c", metavar="NAME…", help="Which of them, in order. Unless given: all."),
    ] = None,
    margins: Annotated[
        str, typer.Option(help="all: the table itself. 2: all pairs of columns, and so on. 'a,b;b,c': these.")
    ] = "all",
    bins: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=N…",
            help="Bins of a column: a number, or edges: age=0,18,65,100.",
            rich_help_panel=CELLS,
        ),
    ] = None,
    outside: CellsOutside = "clip",
    epsilon: Epsilon = None,
    delta: Delta = None,
    output: Output = None,
    sparse: Annotated[
        bool | None,
        typer.Option(
            "--sparse/--dense",
            help="Keep cells above a public threshold, or all of them. Unless given: sparse where "
            "n and the number of cells alone say that it is better.",
        ),
    ] = None,
    occupied: Occupied = None,
    unit: Unit = None,
    rows_per_person: RowsPerPerson = None,
    counts: Counts = None,
    missing: Missing = "zero",
    na_values: NaValues = None,
    formats: Formats = None,
    insist: Insist = False,
    dry_run: DryRun = False,
    plot: Picture = None,
    seed: Seed = None,
    ledger: LedgerName = None,
    dataset: Dataset = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Release a contingency table of several columns, or margins of it.

    [bold]Example:[/bold] mercer table survey.csv --domain domain.yaml --columns age sex ward
    --margins 2 --bins age=10 --epsilon 1 -o table.json

    Margins share epsilon, agree with each other and have no negative counts. A table of too many
    cells to list is released sparse. A first domain file: mercer synthesize survey.csv
    --example-domain. Nothing is spent if an argument is wrong; --dry-run says what would be.
    """
    from mercer.api.counts.tables import table
    from mercer.columns.table import TableDomain

    places = terminal_places.places(output, overwrite, needed=not dry_run, plot=plot)
    if domain is None:
        raise ValueError(
            "domain is missing: columns with their bounds and levels are public and cannot be read "
            f"from the data; start with mercer synthesize {file} --example-domain > domain.yaml"
        )
    chosen = terms(
        epsilon=epsilon,
        na_values=na_values,
        formats=formats,
        seed=seed,
        delta=delta,
        outside=outside,
        counts=counts,
        unit=unit,
        rows_per_person=rows_per_person,
        missing=missing,
        insist=insist,
        dry_run=dry_run,
        ledger=ledger,
        dataset=dataset,
    )
    release = ask(
        table,
        file,
        as_json=as_json,
        domain=TableDomain.read(domain),
        columns=columns or None,
        margins=margins_of(margins),
        bins=bins_of(bins),
        occupied=occupied,
        sparse="auto" if sparse is None else sparse,
        **chosen,
    )
    tell(release, places, file, ledger=ledger, as_json=as_json)


def count_command(
    file: File,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION…", help="'age>=65', 'age<=17', age=20..40, sex=f, 'city=a|b'; all must hold."
        ),
    ] = None,
    column: Annotated[
        str | None, typer.Option("--column", "-c", help="Instead: a column of true and false.")
    ] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    proportion: Annotated[
        bool, typer.Option("--proportion", help="The share of all records, not their number.")
    ] = False,
    mechanism: Annotated[
        str, typer.Option(help="geometric; or optimal: of least risk for this number of records.")
    ] = "geometric",
    output: OutputToo = None,
    unit: Unit = None,
    counts: Counts = None,
    na_values: NaValues = None,
    formats: Formats = None,
    insist: Insist = False,
    dry_run: DryRun = False,
    plot: Picture = None,
    weaker_promise: WeakerPromise = False,
    gamma: Gamma = None,
    seed: Seed = None,
    ledger: LedgerName = None,
    dataset: Dataset = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Release how many records a condition holds for, or which share of them.

    [bold]Example:[/bold] mercer count survey.csv --where 'age>=65' --where sex=f --epsilon 1

    Put < and > and | in quotes, or the shell takes them. A missing cell fulfils no condition; with
    --unit, persons are counted for whom it holds in any row. The first line is the number. Nothing
    is spent if an argument is wrong; --dry-run says what would be.
    """
    from mercer.api.counts import single as counting
    from mercer.columns.conditions import conditions

    places = terminal_places.places(output, overwrite, needed=False, plot=plot)
    if bool(where) == (column is not None):
        raise ValueError(
            "say what to count, in one way: --where 'age>=65' …, or --column with true and false"
        )
    chosen = terms(
        epsilon=epsilon,
        na_values=na_values,
        formats=formats,
        seed=seed,
        columns=column,
        where=conditions(where) if where else None,
        unit=unit,
        counts=counts,
        insist=insist,
        dry_run=dry_run,
    )
    if promised(weaker_promise, gamma, ledger, dataset, delta):
        from mercer.api.weaker import random_proportion as make

        if not proportion or mechanism != "geometric":
            raise ValueError("--weaker-promise releases a share: add --proportion alone")
        chosen |= {"gamma": gamma, "weaker_promise": True}
    else:
        make = counting.proportion if proportion else counting.count  # type: ignore[assignment]
        chosen |= {"delta": delta, "mechanism": mechanism, "ledger": ledger, "dataset": dataset}
    release = ask(make, file, as_json=as_json, **chosen)
    tell(release, places, file, ledger=ledger, as_json=as_json)
