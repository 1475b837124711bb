"""The command `mercer curve`."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from mercer.cli.options import CommandTerms, Delta, Epsilon, File, NaValues, Output, Unit, command, finer
from mercer.cli.releasing import Written, ask, csv_note, keep, target
from mercer.cli.typed import na_of, number_or_word, numbers_of_file, one_of, pairs
from mercer.show import terminal

__all__ = ["curve_command"]

_point_option = partial(typer.Option, rich_help_panel="Where the points are")
_group_option = partial(typer.Option, rich_help_panel="Groups")


@command(without=["formats", "plot"])
def curve_command(
    *,
    file: File,
    columns: Annotated[
        list[str] | None,
        _point_option(
            "--columns",
            "-c",
            metavar="NAME…",
            help="Columns of heights, a row a curve: 'cca_*' for all that start so.",
        ),
    ],
    grid: Annotated[
        list[float] | None, _point_option(metavar="LO HI", help="The columns are even points from LO to HI.")
    ],
    grid_file: Annotated[Path | None, _point_option(help="Or the points: a file, a number a line.")],
    grid_from_names: Annotated[
        bool,
        _point_option(
            "--grid-from-names", help="Or the number at the end of each column's name: age_1.25 is 1.25."
        ),
    ] = False,
    long: Annotated[
        list[str] | None,
        _point_option(
            metavar="ID T VALUE", help="Instead: columns of a file with a row a point, with --bounds."
        ),
    ],
    bounds: Annotated[
        list[float] | None,
        _point_option(metavar="LO HI", help="Public bounds of the points; the grid's ends unless given."),
    ],
    bound: Annotated[
        float | None, typer.Option(help="Public bound on a curve's root mean square. Required.")
    ],
    epsilon: Epsilon,
    delta: Delta,
    output: Output,
    unit: Unit,
    center: Annotated[
        float | None, typer.Option(help="A public level that curves are near: the bound is around it.")
    ],
    by: Annotated[
        str | None,
        _group_option(metavar="COLUMN", help="A mean for each group: the public column that names it."),
    ],
    groups: Annotated[
        list[str] | None,
        _group_option(
            metavar="NAME…", help="The groups, as they stand in that column. Other rows are in none."
        ),
    ],
    disjoint: Annotated[
        bool | None,
        _group_option(
            "--disjoint/--overlapping",
            help="Nobody is in two groups: each has the whole budget. Or they share it.",
        ),
    ],
    kernel: Annotated[
        str, finer(help="gaussian, matern52, matern32 or exponential; auto: many filters are averaged.")
    ] = "auto",
    scale: Annotated[
        str, finer(help="Length of the kernel in the units of the points, or auto: from the noisy curve.")
    ] = "auto",
    eta: Annotated[str, finer(help="Power of the smoothing, 1 or more, or auto.")] = "auto",
    penalty: Annotated[
        list[str] | None, finer(metavar="P", help="auto (unless given, free), a number, rule or private-cv.")
    ],
    order: Annotated[
        str, finer(help="noise-first; or paper: smoothing, then noise (needs a penalty and a delta).")
    ] = "noise-first",
    missing: Annotated[
        str,
        finer(
            help="Gaps: fill (by lines). zero: such a curve counts as the centre. drop: the number "
            "of complete curves is public."
        ),
    ] = "fill",
    na_values: NaValues,
    outside: Annotated[
        str,
        finer(
            help="Curves beyond the bound: clip (scaled down to it), or drop: they count as the "
            "centre, and still in the number of curves."
        ),
    ] = "clip",
    population: Annotated[
        float,
        finer(
            help="Share of the budget for bands about the mean of the population that the curves are a "
            "sample of: 0.05 is enough; then eval and plot with --of population."
        ),
    ] = 0.0,
    terms: CommandTerms,
) -> None:
    """Release the mean of curves: the function itself, a value and a band at every point.

    [bold]Example:[/bold] mercer curve scans.csv --columns 'cca_*' --grid 0 1 --bound 1
    --epsilon 1 --delta 1e-5 -o mean.json

    A row a point: mercer curve growth.csv --long child age height --bounds 1 18 --bound 40
    --center 120 --epsilon 1 --delta 1e-5 -o growth.json

    Groups: mercer curve scans.csv --columns 'cca_*' --grid 0 1 --bound 1 --by case --groups 0 1
    --disjoint --epsilon 1 --delta 1e-5 -o mean.json writes mean-0.json and mean-1.json.

    Curves beyond the bound are scaled down to it, unless --outside drop. Nothing is spent if an
    argument is wrong; --dry-run says what would be.
    """
    from mercer.api.curve import mean_curve, mean_curves

    places = _places(output, by, groups, disjoint, terms.overwrite, needed=not terms.dry_run)
    names, points = _points(file, columns, grid, grid_file, grid_from_names, long, unit, by)
    chosen: dict[str, Any] = {
        "columns": names,
        "grid": points,
        "long": tuple(long) if long else None,
        "bounds": pairs(bounds),
        "bound": bound,
        "epsilon": epsilon,
        "delta": delta,
        "unit": unit,
        "center": None if center is None else lambda t: 0.0 * t + center,  # for curves on any grid
        "kernel": kernel,
        "scale": number_or_word(scale),
        "missing": missing,
        "eta": number_or_word(eta),
        "penalty": one_of("penalty", penalty, "auto"),
        "order": order,
        "na_values": na_of(na_values, by_column=False),
        "outside": outside,
        "population": population,
    }
    if by is None:
        releases = {"": ask(mean_curve, file, terms=terms, **chosen)}
    else:
        releases = ask(mean_curves, file, terms=terms, by=by, groups=groups, disjoint=disjoint, **chosen)
    written = {
        name: keep(release, places[name], terms.ledger, as_json=terms.as_json)
        for name, release in releases.items()
    }
    _tell(releases, written, file, by, terms.as_json)
    Written(written, written == places).leave()


def _places(
    output: Path | None,
    by: str | None,
    groups: list[str] | None,
    disjoint: bool | None,
    overwrite: bool,
    *,
    needed: bool,
) -> dict[str, Path]:
    """The file of each group's release, checked before anything is spent."""
    if by is None:
        if groups or disjoint is not None:
            raise ValueError("groups need --by: name the column that says which group a curve is in")
        return {"": target(output, overwrite)} if needed or output else {}
    if not groups:
        raise ValueError(
            "groups is missing: which groups there are is public and cannot be read from the "
            f"data; declare them, for example --by {by} --groups case control"
        )
    if disjoint is None:
        raise ValueError(
            "say whether anybody may be in two groups: --disjoint (nobody is: each group's mean "
            "has the whole budget) or --overlapping (they share it)"
        )
    if output is None and not needed:
        return {}
    if output is None:
        raise ValueError("output is missing: name the release files with -o, for example -o r.json")
    places = {}
    for name in groups:
        plain = re.sub(r"[^\w.-]+", "_", name)
        places[name] = target(output.with_name(f"{output.stem}-{plain}{output.suffix}"), overwrite)
    if len(set(places.values())) < len(places):
        raise ValueError("groups: two of the names give the same file; rename one in the data")
    return places


def _points(
    file: Path,
    columns: list[str] | None,
    grid: list[float] | None,
    grid_file: Path | None,
    from_names: bool,
    long: list[str] | None,
    unit: str | None,
    by: str | None,
) -> tuple[list[str] | None, Any]:
    """Names of the columns that hold values of the curves, and the public point of each."""
    from mercer.columns.grids import alike, grid_in_names
    from mercer.sensitive.curves.groups import columns_of_points

    ways = [bool(grid), grid_file is not None, from_names]
    if long:
        if any(ways) or columns:
            raise ValueError(
                "--long names all columns and points that are needed; leave out --columns and --grid…"
            )
        return None, None
    if sum(ways) != 1:
        raise ValueError(
            "say where the points of the curves are, in one way: --grid LO HI (even), --grid-file "
            "FILE, --grid-from-names, or --long ID T VALUE for a file with a row a point"
        )
    names = columns_of_points(file, columns, besides=[name for name in (unit, by) if name])
    if grid and not columns and not alike(names):
        raise ValueError(
            "columns is missing: name the columns of heights, for example --columns 'age_*'; "
            "--grid LO HI would take every column for a point, names of people too"
        )
    if from_names:
        return grid_in_names(names)
    if grid_file is not None:
        return names, numbers_of_file(grid_file)
    assert grid is not None
    if len(grid) != 2 or not grid[0] < grid[1]:
        raise ValueError(
            f"grid must be LO HI with LO below HI, got {' '.join(f'{x:g}' for x in grid)}; other "
            "points: --grid-file"
        )
    import numpy as np

    return names, np.linspace(grid[0], grid[1], len(names))


def _tell(
    releases: dict[str, Any], places: dict[str, Path], file: Path, by: str | None, as_json: bool
) -> None:
    from mercer.releases.curve.words import CurveWords

    if as_json:
        told = {
            name: CurveWords(release).summary() | {"file": str(places[name])}
            for name, release in releases.items()
        }
        terminal.print_json(told[""] if by is None else {"by": by, "groups": told}, file)
        return
    for name, release in releases.items():
        of = f", {by} = {name}" if by is not None else ""
        words = CurveWords(release)
        words.show(f"Released the {words.describe()}{of}", short=name != next(iter(releases)))
    for note in csv_note(
        file, "Cells of a CSV file that are no numbers count as missing: check the columns."
    ):
        print(note)
    listed = ", ".join(str(place) for place in places.values())
    first = next(iter(places.values()))
    print(f"Written to {listed}. Look at it: mercer plot {first}, or mercer eval {first} --at X…")
