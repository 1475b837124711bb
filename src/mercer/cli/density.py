"""The commands `mercer density` and `mercer quantiles`."""

from __future__ import annotations

from typing import Annotated

import typer

from mercer.cli.options import (
    Bounds,
    Column,
    CommandTerms,
    Delta,
    Epsilon,
    File,
    MechanismName,
    Output,
    OutputToo,
    command,
)
from mercer.cli.releasing import NOTHING_WRITTEN, ask, places, tell, write
from mercer.cli.typed import bandwidth_of, columns_of, pairs
from mercer.show import terminal

__all__ = ["density_command", "quantiles_command"]


@command()
def density_command(
    *,
    file: File,
    column: Column,
    bounds: Bounds,
    epsilon: Epsilon,
    delta: Delta,
    output: Output,
    bandwidth: Annotated[
        list[str] | None,
        typer.Option(
            help="auto, rule, private-scott, private-cv, one number, or one a column, in the data's units."
        ),
    ],
    choice_share: Annotated[float, typer.Option(help="Share of epsilon for a private bandwidth.")] = 0.2,
    boundary: Annotated[str | None, typer.Option(help="reflect, periodic or open.")],
    kernel: Annotated[
        str, typer.Option(help="Noise: gaussian, exponential, matern32 or matern52.")
    ] = "gaussian",
    mechanism: MechanismName,
    terms: CommandTerms,
) -> None:
    """Release the density of one to three columns.

    [bold]Example:[/bold] mercer density admissions.csv --column age --bounds 0 100
    --epsilon 1 -o ages.json

    Values outside the bounds are clipped, unless --outside drop; rows without a number count and
    add nothing. Nothing is spent if an argument is wrong; --dry-run says what would be.
    """
    from mercer.api.density import density as release_density

    files = places(output, terms)
    release = ask(
        release_density,
        file,
        terms=terms,
        epsilon=epsilon,
        delta=delta,
        bounds=pairs(bounds),
        columns=column or None,
        boundary=boundary,
        kernel=kernel,
        mechanism=mechanism,
        bandwidth=bandwidth_of(bandwidth, columns_of(bounds)),
        choice_share=choice_share,
    )
    written = write(release, files, terms, plot=release.plot)
    heading = f"Released the density of {' and '.join(release.domain.names)}"
    tell(release, written, file, terms, heading, hint=f" Look at it: mercer plot {written.files['file']}")


@command(without=["missing", "plot"])
def quantiles_command(
    *,
    file: File,
    column: Annotated[str | None, typer.Option("--column", "-c", help="Column.")],
    bounds: Bounds,
    q: Annotated[
        list[float] | None,
        typer.Option("--q", metavar="Q…", help="Levels in [0, 1]. The quartiles unless given."),
    ],
    epsilon: Epsilon,
    output: OutputToo,
    terms: CommandTerms,
) -> None:
    """Release quantiles of one column, with pure differential privacy.

    [bold]Example:[/bold] mercer quantiles admissions.csv --column age --bounds 0 100
    --q 0.25 0.5 0.75 --epsilon 0.5 -o quartiles.json

    2 % of epsilon count the rows with a number and those at the bounds; levels share the rest
    evenly. Values outside the bounds are clipped, unless --outside drop; rows without a number are
    left out. Nothing is spent if an argument is wrong; --dry-run says what would be.
    """
    from mercer.api.ranks import quantiles as release_quantiles
    from mercer.releases.words import notes

    files = places(output, terms, needed=False)
    release = ask(
        release_quantiles,
        file,
        q or (0.25, 0.5, 0.75),
        terms=terms,
        told=False,
        epsilon=epsilon,
        bounds=pairs(bounds),
        columns=column,
    )
    written = write(release, files, terms)
    if terms.as_json:
        terminal.print_json(release.to_dict() | written.told(), file)
    else:
        rows = terminal.table("q", release.column)
        for level, value in zip(release.levels, release.shown, strict=True):
            rows.add_row(f"{level:g}", str(value) if release.dates else f"{value:g}")
        terminal.console().print(rows)
        terminal.facts("", [("promise", str(release.privacy)), *notes(release, release.privacy)])
        print(f"Written to {written.words()}." if written.files else NOTHING_WRITTEN)
    written.leave()
