"""The command line: parse, call, render.  Layer 6."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from mercer.version import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    name="mercer",
    help="Release functions with differential privacy: a density from a file of records, that "
    "anyone may evaluate, plot and sample for ever.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
plan_app = typer.Typer(no_args_is_help=True, help="Accuracy before spending anything: no data.")
app.add_typer(plan_app, name="plan")

_LISTS = ("--bounds", "--at", "--epsilon", "--bandwidth")  # options that take several numbers

Json = Annotated[bool, typer.Option("--json", help="Print exact JSON for machines.")]
ReleaseFile = Annotated[Path, typer.Argument(metavar="RELEASE", help="A release file.")]
Bounds = Annotated[
    list[float] | None,
    typer.Option(metavar="LO HI", help="Public bounds, LO HI for each column. Required."),
]
Delta = Annotated[float | None, typer.Option(help="The delta of the promise. Required.")]


def main(arguments: list[str] | None = None) -> None:
    """Entry point: errors are one line on stderr, exit code 2; a bug is a trace and exit code 1."""
    argv = spread(sys.argv[1:] if arguments is None else arguments)
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


def spread(argv: list[str]) -> list[str]:
    """`--bounds 0 100` as `--bounds=0 --bounds=100`, for all options that take several numbers."""
    out: list[str] = []
    place = 0
    while place < len(argv):
        option, place = argv[place], place + 1
        start = place
        while option in _LISTS and place < len(argv) and _is_number(argv[place]):
            out.append(f"{option}={argv[place]}")
            place += 1
        if place == start:
            out.append(option)
    return out


def _is_number(token: str) -> bool:
    try:
        float(token)
    except ValueError:
        return False
    return True


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
        typer.Option(help="auto, rule, one number, or one a column, in the data's units."),
    ] = None,
    boundary: Annotated[str | None, typer.Option(help="reflect, periodic or open.")] = None,
    kernel: Annotated[
        str, typer.Option(help="Noise: gaussian, exponential, matern32 or matern52.")
    ] = "gaussian",
    unit: Annotated[
        str | None, typer.Option(help="Column that names the person: protects persons, not rows.")
    ] = None,
    missing: Annotated[
        str, typer.Option(help="zero: rows without values count. drop: their number is public.")
    ] = "zero",
    seed: Annotated[
        int | None, typer.Option(help="Reproducible noise. The release is then NOT PRIVATE.")
    ] = None,
    overwrite: Annotated[bool, typer.Option(help="Replace an existing release file.")] = False,
    as_json: Json = False,
) -> None:
    """Release the density of one to three columns.

    [bold]Example:[/bold] mercer density admissions.csv --column age --bounds 0 100
    --epsilon 1 --delta 1e-6 -o ages.json

    Values outside the bounds are clipped; rows without a number count and add nothing. Nothing
    is spent if an argument is wrong.
    """
    from mercer.api import density as release_density

    target = _target(output, overwrite)
    if epsilon is not None and len(epsilon) != 1:
        raise ValueError(f"epsilon must be one number, got {len(epsilon)}")
    with _progress(not as_json) as tick:
        release = release_density(
            file,
            bounds=_pairs(bounds),
            epsilon=None if epsilon is None else epsilon[0],
            delta=delta,
            columns=column or None,
            bandwidth=_bandwidth(bandwidth, len(bounds or []) // 2),
            boundary=boundary,
            kernel=kernel,
            unit=unit,
            missing=missing,
            rng=seed,
            progress=tick,
        )
    release.save(target)
    if as_json:
        _print_json(_summary(release) | {"file": str(target)})
        return
    _show(release, f"Released the density of {' and '.join(release.domain.names)}")
    print(f"Written to {target}. Look at it: mercer plot {target}")


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
    as_json: Json = False,
) -> None:
    """Evaluate a release at points, with its error band.

    [bold]Example:[/bold] mercer eval ages.json --at 20 40 60
    """
    import numpy as np

    loaded = _load(release, bandwidth)
    d = loaded.domain.dimension
    if (at is None) == (grid is None):
        raise ValueError("give the points either with --at X… or with --grid N, not both or none")
    if grid is not None:
        if d != 1 or grid < 2:
            raise ValueError("--grid needs a release of one column and at least 2 points")
        low, high = loaded.domain.bounds[0]
        points = np.linspace(low, high, grid)[:, None]
    else:
        assert at is not None
        if len(at) % d:
            raise ValueError(f"--at needs {d} numbers a point ({', '.join(loaded.domain.names)})")
        points = np.array(at).reshape(-1, d)
    value, band = loaded(points, raw=raw), loaded.band(points, level)
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
        _print_json({"level": level, "raw": raw, "values": rows})
        return
    table = _table(*loaded.domain.names, "density", f"{level:.0%} band for the noise")
    for row in rows:
        table.add_row(
            *(f"{x:g}" for x in row["at"]),
            f"{row['density']:.6g}",
            f"{row['lower']:.6g} to {row['upper']:.6g}",
        )
    _console().print(table)


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
    as_json: Json = False,
) -> None:
    """Draw a release: a curve with its band, or a map of two columns.

    [bold]Example:[/bold] mercer plot ages.json -o ages.png
    """
    target = release.with_suffix(".png") if output is None else output
    _load(release, bandwidth).plot(target, level=level, title=title)
    if as_json:
        _print_json({"file": str(target)})
    else:
        print(f"Picture written to {target}")


@app.command(no_args_is_help=True)
def inspect(release: ReleaseFile, as_json: Json = False) -> None:
    """Say what a release promises and how accurate it is.

    [bold]Example:[/bold] mercer inspect ages.json
    """
    loaded = _load(release, None)
    if as_json:
        _print_json(_summary(loaded) | {"file": str(release)})
    else:
        _show(loaded, f"{release.name}: a density of {loaded.domain.describe()}")


@plan_app.command("density", no_args_is_help=True)
def plan_density(
    n: Annotated[int | None, typer.Option("--n", help="Number of records. Required.")] = None,
    bounds: Bounds = None,
    epsilon: Annotated[
        list[float] | None, typer.Option(metavar="E…", help="One or more epsilons. Required.")
    ] = None,
    delta: Delta = None,
    boundary: Annotated[str, typer.Option(help="reflect, periodic or open.")] = "reflect",
    bandwidth: Annotated[
        list[str] | None, typer.Option(help="auto, rule, one number, or one a column.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Also draw it: .png, .svg or .pdf.")
    ] = None,
    as_json: Json = False,
) -> None:
    """How accurate a density release will be, for each epsilon: needs no data, spends nothing.

    [bold]Example:[/bold] mercer plan density --n 2000 --bounds 0 100 --epsilon 0.1 0.5 1
    --delta 1e-6
    """
    from dataclasses import asdict

    from mercer.planning import density_plan

    plans = [
        density_plan(
            n=_required("n", n),
            bounds=_pairs(bounds),
            epsilon=value,
            delta=delta,
            boundary=boundary,
            bandwidth=_bandwidth(bandwidth, len(bounds or []) // 2),
        )
        for value in (epsilon or [None])  # type: ignore[list-item]
    ]
    if output is not None:
        from mercer.plotting import draw_plan

        draw_plan(
            [p.epsilon for p in plans],
            [p.privacy_error for p in plans],
            [p.sampling_error for p in plans],
            f"Density of {plans[0].n} records, delta = {plans[0].delta:g}",
            output,
        )
    if as_json:
        _print_json({"plans": [asdict(p) | {"privacy_share": p.share} for p in plans]})
        return
    table = _table("epsilon", "noise", "sampling", "share of noise", "at a point", "bandwidth")
    for p in plans:
        table.add_row(
            f"{p.epsilon:g}",
            f"{p.privacy_error:.3g}",
            f"{p.sampling_error:.3g}",
            f"{p.share:.0%}",
            f"{p.pointwise:.3g}",
            ", ".join(f"{h:.3g}" for h in p.bandwidth),
        )
    _console().print(table)
    print(
        "noise, sampling: root integrated squared error due to privacy, and without it. at a "
        "point: largest\nstandard deviation of the noise. share: noise in the variance of both. "
        "bandwidth: the public rule's."
    )
    if output is not None:
        print(f"Picture written to {output}")


def _target(output: Path | None, overwrite: bool) -> Path:
    """Where the release goes, checked before anything is spent."""
    if output is None:
        raise ValueError("output is missing: name the release file with -o, for example -o r.json")
    if output.suffix != ".json":
        raise ValueError(f"output must end in .json, got {output.name!r}")
    if not output.resolve().parent.is_dir():
        raise ValueError(f"output: there is no folder {str(output.parent)!r}; create it first")
    if output.exists() and not overwrite:
        raise ValueError(
            f"output {str(output)!r} exists; choose another name, or --overwrite to replace that "
            "release (what it cost stays spent)"
        )
    return output


def _pairs(bounds: list[float] | None) -> Any:
    if not bounds:
        return None
    if len(bounds) % 2:
        raise ValueError(f"bounds must be pairs LO HI, got {len(bounds)} number(s)")
    pairs = [(bounds[i], bounds[i + 1]) for i in range(0, len(bounds), 2)]
    return pairs[0] if len(pairs) == 1 else pairs


def _bandwidth(words: list[str] | None, dimension: int) -> Any:
    if not words:
        return "auto"
    if len(words) == 1 and not _is_number(words[0]):
        return words[0]
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        raise ValueError(f"bandwidth must be auto, rule or numbers, got {words}") from None
    if len(numbers) == dimension**2 and dimension > 1:
        return [numbers[i : i + dimension] for i in range(0, len(numbers), dimension)]
    return numbers[0] if len(numbers) == 1 else numbers


def _required(name: str, value: Any) -> Any:
    if value is None:
        raise ValueError(f"{name} is missing; give it with --{name}")
    return value


def _load(path: Path, bandwidth: list[float] | None) -> Any:
    from mercer.storage import load

    release = load(path)
    if bandwidth:
        release = release.smooth(_bandwidth([str(b) for b in bandwidth], release.domain.dimension))  # type: ignore[attr-defined]
    return release


def _summary(release: Any) -> dict[str, Any]:
    accuracy = release.accuracy
    return {
        "kind": release.kind,
        "domain": release.domain.to_dict(),
        "boundary": release.boundary,
        "bandwidth": release.bandwidth.tolist(),
        "finest_bandwidth": release.finest_bandwidth.tolist(),
        "bandwidth_choice": release.choice,
        "basis": release.basis.name,
        "privacy": release.privacy.to_dict(),
        "accuracy": {
            "integrated": accuracy.integrated,
            "pointwise": accuracy.pointwise,
            "coordinates": accuracy.coordinates,
            "truncation": accuracy.truncation,
        },
    }


def _show(release: Any, heading: str) -> None:
    from rich.table import Table

    table = Table(title=heading, title_justify="left", show_header=False, box=None, padding=(0, 2))
    width = ", ".join(f"{h:.4g}" for h in release.bandwidth)
    how = {"auto": "chosen from the noisy result, free", "rule": "public rule", "given": "given"}
    table.add_row("promise", str(release.privacy))
    table.add_row("domain", release.domain.describe() + f", boundary {release.boundary}")
    table.add_row("bandwidth", f"{width} ({how[release.choice]})")
    table.add_row("accuracy", str(release.accuracy))
    _console().print(table)


def _table(*headings: str) -> Any:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2), header_style="bold")
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


def _print_json(value: object) -> None:
    print(json.dumps(value, indent=1, allow_nan=False))


@contextmanager
def _progress(wanted: bool) -> Iterator[Callable[[int], None] | None]:
    """Rows read so far, on a terminal only; the number of rows is public."""
    if not (wanted and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.completed:,.0f} rows"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("rows", total=None)
        yield lambda rows: bar.advance(task, rows)
