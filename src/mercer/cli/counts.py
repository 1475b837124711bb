"""`mercer histogram`, `mercer table` and `mercer count`: parse, call, render."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

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
from mercer.cli.options import Delta, Epsilon, File, Output, OutputToo, Terms, grouped_options
from mercer.cli.releasing import ask, places

__all__ = ["count_command", "histogram_command", "table_command"]


@grouped_options()
def histogram_command(
    *,
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
    rows_per_person: RowsPerPerson = None,
    counts: Counts = None,
    terms: Terms,
    weaker_promise: WeakerPromise = False,
    gamma: Gamma = None,
) -> None:
    """Release a histogram of one column: noisy counts of bins, values or categories.

    [bold]Example:[/bold] mercer histogram admissions.csv --column age --bins 20 --bounds 0 100
    --epsilon 1 -o ages.json

    Categories: mercer histogram patients.csv --column ward --categories north south
    --other elsewhere --epsilon 1 -o wards.json

    Values beyond the edges go to the nearest bin, unless --outside drop; rows that fit no cell
    count in n alone. Nothing is spent if an argument is wrong; --dry-run says what would be.
    """
    files = places(output, terms)
    chosen = {
        "columns": column,
        "outside": outside,
        "counts": counts,
        **cells_given(column, bins, bounds, edges, whole, categories, other),
    }
    if promised(weaker_promise, gamma, delta, terms):
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
        }
    release = ask(make, file, terms=terms, epsilon=epsilon, **chosen)
    tell(release, files, file, terms)


@grouped_options()
def table_command(
    *,
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
    rows_per_person: RowsPerPerson = None,
    counts: Counts = None,
    terms: Terms,
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

    files = places(output, terms)
    if domain is None:
        raise ValueError(
            "domain is missing: columns with their bounds and levels are public and cannot be read "
            f"from the data; start with mercer synthesize {file} --example-domain > domain.yaml"
        )
    release = ask(
        table,
        file,
        terms=terms,
        epsilon=epsilon,
        delta=delta,
        domain=TableDomain.read(domain),
        columns=columns or None,
        margins=margins_of(margins),
        bins=bins_of(bins),
        outside=outside,
        counts=counts,
        rows_per_person=rows_per_person,
        occupied=occupied,
        sparse="auto" if sparse is None else sparse,
    )
    tell(release, files, file, terms)


@grouped_options(without=["missing", "outside"])
def count_command(
    *,
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
    counts: Counts = None,
    terms: Terms,
    weaker_promise: WeakerPromise = False,
    gamma: Gamma = None,
) -> None:
    """Release how many records a condition holds for, or which share of them.

    [bold]Example:[/bold] mercer count survey.csv --where 'age>=65' --where sex=f --epsilon 1

    Put < and > and | in quotes, or the shell takes them. A missing cell fulfils no condition; with
    --unit, persons are counted for whom it holds in any row. The first line is the number. Nothing
    is spent if an argument is wrong; --dry-run says what would be.
    """
    from mercer.api.counts import single as counting
    from mercer.columns.conditions import conditions

    files = places(output, terms, needed=False)
    if bool(where) == (column is not None):
        raise ValueError(
            "say what to count, in one way: --where 'age>=65' …, or --column with true and false"
        )
    chosen: dict[str, Any] = {
        "columns": column,
        "where": conditions(where) if where else None,
        "counts": counts,
    }
    if promised(weaker_promise, gamma, delta, terms):
        from mercer.api.weaker import random_proportion as make

        if not proportion or mechanism != "geometric":
            raise ValueError("--weaker-promise releases a share: add --proportion alone")
        chosen |= {"gamma": gamma, "weaker_promise": True}
    else:
        make = counting.proportion if proportion else counting.count  # type: ignore[assignment]
        chosen |= {"delta": delta, "mechanism": mechanism}
    release = ask(make, file, terms=terms, epsilon=epsilon, **chosen)
    tell(release, files, file, terms)
