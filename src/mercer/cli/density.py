"""The commands `mercer density`, `quantiles`, `live` and `ask`: densities, stored or asked point by point."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mercer.cli.options import (
    Bounds,
    Column,
    CommandTerms,
    Delta,
    Epsilon,
    File,
    Json,
    Level,
    MechanismName,
    Output,
    OutputToo,
    command,
)
from mercer.cli.releasing import NOT_AS_ASKED, NOTHING_WRITTEN, ask, places, rescue, tell, write
from mercer.cli.typed import bandwidth_of, columns_of, pairs, required
from mercer.show import terminal

if TYPE_CHECKING:
    from mercer.online.base import LiveRelease

__all__ = ["ask_command", "density_command", "live_command", "quantiles_command"]

Step = Annotated[
    float | None,
    typer.Option(help="Distance between the values there can be, 1 for integers, which come out as such."),
]
Boundary = Annotated[str | None, typer.Option(help="reflect, periodic or open.")]


@command()
def density_command(
    *,
    file: File,
    column: Column,
    bounds: Bounds,
    epsilon: Epsilon,
    delta: Delta,
    output: Output,
    step: Step,
    bandwidth: Annotated[
        list[str] | None,
        typer.Option(
            help="auto, rule, private-scott, private-cv, one number, or one a column, in the data's units."
        ),
    ],
    choice_share: Annotated[float, typer.Option(help="Share of epsilon for a private bandwidth.")] = 0.2,
    boundary: Boundary,
    kernel: Annotated[
        str, typer.Option(help="Noise: gaussian, exponential, matern32 or matern52.")
    ] = "gaussian",
    mechanism: MechanismName,
    terms: CommandTerms,
) -> None:
    """Release the density of one to three columns.

    [bold]Example:[/bold] mercer density admissions.csv --column age --bounds 0 100
    --epsilon 1 -o ages.json

    A column of integers is better counted value by value: --step 1. Values outside the bounds are
    clipped, unless --outside drop; rows without a number count and add nothing. Nothing is spent if
    an argument is wrong; --dry-run says what would be.
    """
    from mercer.api.density import density as release_density
    from mercer.releases.words import words_of

    files = places(output, terms)
    release = ask(
        release_density,
        file,
        terms=terms,
        epsilon=epsilon,
        delta=delta,
        bounds=pairs(bounds),
        columns=column or None,
        step=step,
        boundary=boundary,
        kernel=kernel,
        mechanism=mechanism,
        bandwidth=bandwidth_of(bandwidth, columns_of(bounds)),
        choice_share=choice_share,
    )
    written = write(release, files, terms, plot=release.plot)
    heading = f"Released the {words_of(release).describe()}"
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
    step: Step,
    level: Level = 0.95,
    epsilon: Epsilon,
    output: OutputToo,
    terms: CommandTerms,
) -> None:
    """Release quantiles of one column, with pure differential privacy.

    [bold]Example:[/bold] mercer quantiles admissions.csv --column age --bounds 0 100 --step 1
    --q 0.25 0.5 0.75 --epsilon 0.5 -o quartiles.json

    2 % of epsilon count the rows with a number and those at the bounds; quantiles share the rest
    evenly, half of it for the ends of their intervals. Values outside the bounds are clipped, unless
    --outside drop; rows without a number are left out. Nothing is spent if an argument is wrong;
    --dry-run says what would be.
    """
    from mercer.api.ranks import quantiles as release_quantiles
    from mercer.releases.choice import word_of
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
        step=step,
        level=level,
    )
    written = write(release, files, terms)
    if terms.as_json:
        terminal.print_json(release.to_dict() | written.told(), file)
    else:
        rows = terminal.table("q", release.column, f"{level:.0%} interval")
        for q_of, value, (low, high) in zip(release.levels, release.shown, release.shown_ends, strict=True):
            rows.add_row(f"{q_of:g}", word_of(value), f"{word_of(low)} to {word_of(high)}")
        terminal.show(rows)
        about = [("promise", str(release.privacy)), ("accuracy", str(release.accuracy))]
        terminal.facts("", about + notes(release, release.privacy))
        print(f"Written to {written.words()}." if written.files else NOTHING_WRITTEN)
    written.leave()


@command(without=["plot", "seed", "overwrite"])
def live_command(
    *,
    file: Annotated[
        Path, typer.Argument(help="CSV or Parquet file or folder; or a released machine, .json.")
    ],
    column: Column,
    bounds: Bounds,
    epsilon: Epsilon,
    delta: Delta,
    store: Annotated[
        str | None, typer.Option(help="Where answers are kept: a file or a postgresql:// URL. Required.")
    ],
    name: Annotated[
        str | None, typer.Option(help="Name of this live release; that of the file where it is left out.")
    ],
    bandwidth: Annotated[list[str] | None, typer.Option(help="auto, rule, one number, or one a column.")],
    kernel: Annotated[
        str, typer.Option(help="gaussian (from coordinates), exponential, matern32 or matern52.")
    ] = "gaussian",
    route: Annotated[str, typer.Option(help="auto, coordinates, markov or cholesky.")] = "auto",
    boundary: Boundary,
    terms: CommandTerms,
) -> None:
    """Make a live release: pay once, answer at any point for ever.

    [bold]Example:[/bold] mercer live admissions.csv --column age --bounds 0 100 --epsilon 1
    --delta 1e-6 --kernel matern32 --store ages.db

    Then ask: mercer ask ages.db --at 42. The same point always gets the same answer. A classifier
    or regression that is released already needs no budget: mercer live ill.json --store ill.db
    """
    from mercer.api.live import live
    from mercer.online.base import LiveUnkept

    place = None if terms.dry_run else required("store", store)
    if file.suffix == ".json":
        given = (column, bounds, epsilon, delta, bandwidth)
        paying = (terms.ledger, terms.dataset, terms.na_values, terms.formats)
        if terms.dry_run or terms.insist or any(value is not None for value in (*given, *paying)):
            raise ValueError(
                f"{file.name} is released already, and costs nothing more: give --store and "
                "--name, no columns, bounds, epsilon, delta or ledger, and no --dry-run"
            )
        _machine(file, required("store", store), name, terms.as_json)
        return
    try:
        made = ask(
            live,
            file,
            terms=terms,
            epsilon=epsilon,
            delta=delta,
            bounds=pairs(bounds),
            columns=column or None,
            kernel=kernel,
            route=route,
            boundary=boundary,
            store=place,
            bandwidth=bandwidth_of(bandwidth, columns_of(bounds)),
            name=name,
        )
    except LiveUnkept as error:
        where = Path("live.db" if place is None or "://" in place else place)
        found = where.with_suffix(".json")
        why = str(error.__cause__ or "no room")
        rescue(error.release, found, terms.ledger, why, as_json=terms.as_json)
        raise typer.Exit(NOT_AS_ASKED) from None
    with made:
        if terms.as_json:
            terminal.print_json(_summary(made), file)
            return
        kept = "holds the release and its answers, and no records"
        if made.sensitive:
            kept = "holds counts of the records: keep it as safe as them"
        terminal.facts(
            f"Live release {made.name!r}: the density of {made.domain.describe()}",
            [
                ("promise", str(made.privacy)),
                ("attack", made.privacy.attack),
                ("accuracy", str(made.accuracy)),
                ("store", f"{made.store} {kept}"),
            ],
        )
        print(f"Ask it: mercer ask {made.store} --at {_somewhere(made)}")


@command()
def ask_command(
    *,
    store: Annotated[str, typer.Argument(help="A file or a postgresql:// URL.")],
    at: Annotated[
        list[float] | None,
        typer.Option(metavar="X…", help="Points: X for one column, X Y for two, and so on."),
    ],
    name: Annotated[str | None, typer.Option(help="Which live release, where the store has several.")],
    level: Annotated[float, typer.Option(help="Level of the interval.")] = 0.95,
    as_json: Json = False,
) -> None:
    """Ask a live release at points; what was answered before is answered again.

    [bold]Example:[/bold] mercer ask ages.db --at 20 40 60
    """
    import numpy as np

    from mercer.api.live import open_live
    from mercer.releases.base import KINDS

    with open_live(store, name) as opened:
        if not at:
            raise ValueError("at is missing: give the points with --at X…")
        d = opened.domain.dimension
        if len(at) % d:
            raise ValueError(f"--at needs {d} numbers a point ({', '.join(opened.domain.names)})")
        points = np.array(at).reshape(-1, d)
        if KINDS[opened.kind].predicts:
            _predicted(opened, points, level, as_json)
            return
        band, value = opened.band(points, level), opened.ask(points)
        rows: list[dict[str, Any]] = [
            {"at": point.tolist(), "value": float(v), "lower": float(low), "upper": float(high)}
            for point, v, low, high in zip(points, value, band.lower, band.upper, strict=True)
        ]
        if as_json:
            terminal.print_json({"name": opened.name, "level": level, "values": rows})
            return
        table = terminal.table(
            *opened.domain.names, "value", f"{level:.0%} interval for the noise, at each point"
        )
        for row in rows:
            table.add_row(
                *(f"{x:g}" for x in row["at"]),
                f"{row['value']:.6g}",
                f"{row['lower']:.6g} to {row['upper']:.6g}",
            )
        terminal.show(table)


def _machine(file: Path, place: str, name: str | None, as_json: bool) -> None:
    """Keep a released machine in a store, which costs nothing."""
    from mercer.api.live import live
    from mercer.releases.base import KINDS, load

    release = load(file)
    if not KINDS[release.kind].predicts:
        raise ValueError(
            f"{file.name} is a {release.kind}: mercer eval answers from it; a live density is made "
            "from records"
        )
    with live(release, store=place, name=name) as made:
        if as_json:
            terminal.print_json(_summary(made))
            return
        terminal.facts(
            f"Live {made.kind} {made.name!r} on {made.domain.describe()}",
            [("promise", str(made.privacy)), ("store", f"{made.store} holds no records")],
        )
        print(f"Ask it: mercer ask {made.store} --at {_somewhere(made)}")


def _predicted(live: Any, points: Any, level: float, as_json: bool) -> None:
    """Predictions of a live machine, with its function and the interval for the noise."""
    import numpy as np

    from mercer.releases.words import words_of

    band, value, answers = live.band(points, level), live.ask(points), live.predict(points)
    rows = [
        {
            "at": point.tolist(),
            "prediction": answer,
            "value": v.tolist(),
            "lower": low.tolist(),
            "upper": high.tolist(),
        }
        for point, answer, v, low, high in zip(
            points, answers.tolist(), value, band.lower, band.upper, strict=True
        )
    ]
    if as_json:
        terminal.print_json({"name": live.name, "kind": live.kind, "level": level, "values": rows})
        return
    words: Any = words_of(live.release)
    several, names = len(words.functions) > 1, words.functions
    head = f"{level:.0%} interval for the noise, at each point"
    which = ["of"] if several else []
    table = terminal.table(*live.domain.names, "prediction", *which, "function", head)
    for row in rows:
        best = row["prediction"]
        prediction = f"{best:.6g}" if isinstance(best, float) else str(best)
        many = zip(*(np.atleast_1d(row[key]) for key in ("value", "lower", "upper")), strict=True)
        for name, (v, low, high) in zip(names, many, strict=True):
            cells = [f"{x:g}" for x in row["at"]] + [prediction]
            ends = f"{low:.6g} to {high:.6g}"
            table.add_row(*cells, *([name] if several else []), f"{v:.6g}", ends)
    terminal.show(table)


def _summary(live: LiveRelease) -> dict[str, Any]:
    """What JSON says of a live release."""
    return {
        "name": live.name,
        "kind": live.kind,
        "route": live.route,
        "domain": live.domain.to_dict(),
        "privacy": live.privacy.to_dict(),
        "standard_error": live.accuracy.pointwise,
        "store": live.store,
        "sensitive": live.sensitive,
    }


def _somewhere(live: LiveRelease) -> str:
    """The middle of the bounds, as it is typed: an example of a question."""
    return " ".join(f"{(low + high) / 2:g}" for low, high in live.domain.bounds)
