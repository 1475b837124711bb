"""The commands `mercer histogram`, `mercer table` and `mercer count`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mercer.cli.options import CommandTerms, Delta, Epsilon, File, Output, OutputToo, command, finer
from mercer.cli.releasing import ask, csv_note, places, tell, write
from mercer.cli.typed import bins_of, end_of, margins_of, pairs

if TYPE_CHECKING:
    from mercer.releases.base import Release

__all__ = ["count_command", "histogram_command", "table_command"]

_cell_option = partial(
    typer.Option, rich_help_panel="Which cells there are: public, never read from the data"
)
_weaker_option = partial(typer.Option, rich_help_panel="A weaker promise")

Occupied = Annotated[int | None, finer(help="Sparse: so many cells are known in public to hold something.")]
CellsOutside = Annotated[
    str, _cell_option(help="Values beyond the edges: clip (into the nearest bin) or drop (into none).")
]
Counts = Annotated[
    str | None,
    finer(
        metavar="COLUMN",
        help="The data are counts already: this column says how many records a row stands for.",
    ),
]
RowsPerPerson = Annotated[
    int | None,
    finer(
        help="With --unit: so many rows of a person count, drawn at random; one unless given. "
        "Noise grows with it."
    ),
]
WeakerPromise = Annotated[
    bool,
    _weaker_option(
        "--weaker-promise", help="Random differential privacy: people with rare values may be seen exactly."
    ),
]
Gamma = Annotated[
    float | None,
    _weaker_option(help="With it: the chance, over the drawing of all records, that the promise fails."),
]


@command()
def histogram_command(
    *,
    file: File,
    column: Annotated[str | None, typer.Option("--column", "-c", help="Column to count. Required.")],
    bins: Annotated[list[int] | None, _cell_option(metavar="N", help="So many equal bins, with --bounds.")],
    bounds: Annotated[
        list[str] | None,
        _cell_option(metavar="LO HI", help="Public bounds that the bins divide: numbers or dates."),
    ],
    edges: Annotated[list[str] | None, _cell_option(metavar="X…", help="Or the edges of the bins.")],
    whole: Annotated[
        list[int] | None, _cell_option(metavar="LO HI", help="Or each whole number from LO to HI.")
    ],
    categories: Annotated[list[str] | None, _cell_option(metavar="VALUE…", help="Or these values.")],
    other: Annotated[
        str | None, _cell_option(help="Name of one more cell: whatever is not among the categories.")
    ],
    outside: CellsOutside = "clip",
    epsilon: Epsilon,
    delta: Delta,
    output: Output,
    sparse: Annotated[
        bool, typer.Option("--sparse", help="Keep cells above a public threshold: most are empty.")
    ] = False,
    occupied: Occupied,
    rows_per_person: RowsPerPerson,
    counts: Counts,
    terms: CommandTerms,
    weaker_promise: WeakerPromise = False,
    gamma: Gamma,
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
        **_cells_given(column, bins, bounds, edges, whole, categories, other),
    }
    if _promised(weaker_promise, gamma, delta, terms):
        from mercer.api.weaker import random_histogram as make

        if sparse or occupied is not None or rows_per_person is not None:
            raise ValueError(
                "--sparse, --occupied and --rows-per-person go with the full promise: leave "
                "--weaker-promise out"
            )
        chosen |= {"gamma": gamma, "weaker_promise": True}
    else:
        from mercer.api.tables import histogram as make  # type: ignore[assignment]

        chosen |= {
            "delta": delta,
            "sparse": sparse or occupied is not None,
            "occupied": occupied,
            "rows_per_person": rows_per_person,
        }
    release = ask(make, file, terms=terms, epsilon=epsilon, **chosen)
    _write_and_tell(release, files, file, terms)


@command()
def table_command(
    *,
    file: File,
    domain: Annotated[
        Path | None, typer.Option(help="Public columns with bounds and levels: YAML or JSON. Required.")
    ],
    columns: Annotated[
        list[str] | None,
        typer.Option("--columns", "-c", metavar="NAME…", help="Which of them, in order. Unless given: all."),
    ],
    margins: Annotated[
        str, typer.Option(help="all: the table itself. 2: all pairs of columns, and so on. 'a,b;b,c': these.")
    ] = "all",
    bins: Annotated[
        list[str] | None,
        _cell_option(metavar="COLUMN=N…", help="Bins of a column: a number, or edges: age=0,18,65,100."),
    ],
    outside: CellsOutside = "clip",
    epsilon: Epsilon,
    delta: Delta,
    output: Output,
    sparse: Annotated[
        bool | None,
        typer.Option(
            "--sparse/--dense",
            help="Keep cells above a public threshold, or all of them. Unless given: sparse where "
            "n and the number of cells alone say that it is better.",
        ),
    ],
    occupied: Occupied,
    rows_per_person: RowsPerPerson,
    counts: Counts,
    terms: CommandTerms,
) -> None:
    """Release a contingency table of several columns, or margins of it.

    [bold]Example:[/bold] mercer table survey.csv --domain domain.yaml --columns age sex ward
    --margins 2 --bins age=10 --epsilon 1 -o table.json

    Margins share epsilon, agree with each other and have no negative counts. A table of too many
    cells to list is released sparse. A first domain file: mercer synthesize survey.csv
    --example-domain. Nothing is spent if an argument is wrong; --dry-run says what would be.
    """
    from mercer.api.tables import table
    from mercer.columns.table import Domain

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
        domain=Domain.read(domain),
        columns=columns or None,
        margins=margins_of(margins),
        bins=bins_of(bins),
        outside=outside,
        counts=counts,
        rows_per_person=rows_per_person,
        occupied=occupied,
        sparse="auto" if sparse is None else sparse,
    )
    _write_and_tell(release, files, file, terms)


@command(without=["missing", "outside"])
def count_command(
    *,
    file: File,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION…",
            help="'age>=65', 'age<=17', 'age<18', sex=f, 'city=a|b', age=20..40, which is 20 <= age < 40 "
            "(of dates with both ends); all must hold.",
        ),
    ],
    column: Annotated[
        str | None, typer.Option("--column", "-c", help="Instead: a column of true and false.")
    ],
    epsilon: Epsilon,
    delta: Delta,
    proportion: Annotated[
        bool, typer.Option("--proportion", help="The share of all records, not their number.")
    ] = False,
    mechanism: Annotated[
        str, typer.Option(help="geometric; or optimal: of least risk for this number of records.")
    ] = "geometric",
    output: OutputToo,
    counts: Counts,
    terms: CommandTerms,
    weaker_promise: WeakerPromise = False,
    gamma: Gamma,
) -> None:
    """Release how many records a condition holds for, or which share of them.

    [bold]Example:[/bold] mercer count survey.csv --where 'age>=65' --where sex=f --epsilon 1

    Put < and > and | in quotes, or the shell takes them. A missing cell fulfils no condition; with
    --unit, persons are counted for whom it holds in any row. The first line is the number. Nothing
    is spent if an argument is wrong; --dry-run says what would be.
    """
    from mercer.api import counts as counting
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
    if _promised(weaker_promise, gamma, delta, terms):
        from mercer.api.weaker import random_proportion as make

        if not proportion or mechanism != "geometric":
            raise ValueError("--weaker-promise releases a share: add --proportion alone")
        chosen |= {"gamma": gamma, "weaker_promise": True}
    else:
        make = counting.proportion if proportion else counting.count  # type: ignore[assignment]
        chosen |= {"delta": delta, "mechanism": mechanism}
    release = ask(make, file, terms=terms, epsilon=epsilon, **chosen)
    _write_and_tell(release, files, file, terms)


def _cells_given(
    column: str | None,
    bins: list[int] | None,
    bounds: list[str] | None,
    edges: list[str] | None,
    whole: list[int] | None,
    categories: list[str] | None,
    other: str | None,
) -> dict[str, Any]:
    """The arguments of `mercer.histogram` that say which cells there are."""
    ways = {"--bins": bins, "--edges": edges, "--whole": whole, "--categories": categories}
    given = [name for name, value in ways.items() if value]
    if len(given) != 1:
        raise ValueError(
            "say which cells there are, in one way: --bins N --bounds LO HI, --edges X…, --whole "
            "LO HI or --categories VALUE…; they are public and cannot be read from the data"
            + (f"; got {' and '.join(given)}" if given else "")
        )
    if bounds and not bins:
        raise ValueError(f"--bounds go with --bins; {given[0]} says where the cells are already")
    if other is not None and not categories:
        raise ValueError("--other goes with --categories: it names whatever is not among them")
    if categories:
        if len(categories) == 1 and "," in categories[0]:
            raise ValueError(
                "categories stand apart, with spaces between them: --categories "
                f"{' '.join(part.strip() for part in categories[0].split(','))}; got one with "
                "commas in it"
            )
        return {"categories": categories, "other": other}
    if edges:
        return {"bins": [end_of(word, "edges") for word in edges]}
    if whole:
        if len(whole) != 2 or whole[0] > whole[1]:
            raise ValueError("whole must be LO HI, two rising whole numbers, such as --whole 0 50")
        return {"bins": range(whole[0], whole[1] + 1)}
    assert bins is not None
    if len(bins) != 1:
        raise ValueError(f"bins must be one number, got {len(bins)}; edges are given with --edges")
    ends = pairs(bounds)
    if isinstance(ends, dict):
        ends = ends.get(column or "") if len(ends) == 1 else None
    if not isinstance(ends, tuple):
        raise ValueError(
            "bounds must be LO HI, public bounds that the bins of one column divide, such as --bounds 0 100"
        )
    return {"bins": bins[0], "bounds": ends}


def _promised(weaker: bool, gamma: float | None, delta: float | None, terms: CommandTerms) -> bool:
    """Whether the weaker promise is asked for, which takes both of its options."""
    if not weaker:
        if gamma is not None:
            raise ValueError(
                "gamma belongs to a weaker promise than differential privacy: it may fail with "
                "that chance over the drawing of the records, and people with rare values may be "
                "seen exactly; if that is meant, say --weaker-promise, otherwise leave --gamma out"
            )
        return False
    if gamma is None:
        raise ValueError(
            "gamma is missing: with --weaker-promise, say with which chance the promise may fail, "
            "for example --gamma 0.05"
        )
    if terms.ledger is not None or terms.dataset is not None:
        raise ValueError(
            "--ledger counts differential privacy, and --weaker-promise is not: its cost cannot be "
            "added to a total there; leave --ledger and --dataset out"
        )
    if delta is not None:
        raise ValueError("delta: the weaker promise has a gamma instead; leave --delta out")
    return True


def _write_and_tell(release: Release, files: dict[str, Path], file: Path, terms: CommandTerms) -> None:
    """Write the release, then its picture; then say what was released."""
    from mercer.releases.words import words_of

    words = words_of(release)
    written = write(release, files, terms, plot=release.plot)
    notes = csv_note(
        file,
        "Values of a CSV file that fit nowhere are not counted, and stay in n: check the names "
        "of columns and the spelling of values.",
    )
    axes = getattr(release.domain, "columns", ())  # of a count there are none
    if any(axis.clips for axis in axes):
        notes.append("Numbers and dates beyond the first and last cell were counted in it.")
    hint = words.hint(written.files["file"]) if "file" in written.files else ""
    tell(release, written, file, terms, f"Released the {words.describe()}", notes=notes, hint=hint)
