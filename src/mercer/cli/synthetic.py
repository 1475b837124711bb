"""The command `mercer synthesize`."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from mercer.cli.options import CommandTerms, Delta, Epsilon, Output, Unit, command, finer
from mercer.cli.releasing import csv_note, noted, places, rehearsed, tell, write
from mercer.cli.typed import number_or_word, one_epsilon, required
from mercer.common.checks import is_number
from mercer.show import terminal

if TYPE_CHECKING:
    import pyarrow

    from mercer.columns.table import Domain
    from mercer.releases.synthetic.release import TableRelease

__all__ = ["synthesize_command"]

_file_option = partial(typer.Option, rich_help_panel="More files")
_EXAMPLE = """\
# The public domain of a table: a line for each column that is released.
# Bounds and levels come from public knowledge, never from the records.
age: [0, 100]                                   # numbers: lower and upper bound; others are clipped
visits: {type: integer, bounds: [0, 50]}        # whole numbers
sex: [f, m]                                     # categories; quote words such as "no", "on", "007"
smoker: boolean
stage: {ordered: [I, II, III, IV]}              # categories in an order
ward: {categories: [north, south], other: other}  # whatever is not declared counts as the other
admitted: [2020-01-01, 2024-12-31]              # dates
"""
_HEAD = """\
# The public domain of {name}: fill in what stands in CAPITALS and take the # away.
# Bounds and levels come from public knowledge, never from the records. {types}
#   numbers [0, 100] | whole numbers {{type: integer, bounds: [0, 50]}} | categories [f, m]
#   boolean | in an order {{ordered: [I, II, III]}} | dates [2020-01-01, 2024-12-31]
#   categories and whatever else {{categories: [north, south], other: other}}
"""
_CSV = "A CSV file declares no types: choose."
_PARQUET = "Types are those that the file declares."
_WORDS = ("y", "n", "yes", "no", "on", "off", "true", "false", "null")  # YAML reads them as others


@command(without=["missing"])
def synthesize_command(
    *,
    file: Annotated[Path | None, typer.Argument(help="CSV or Parquet file, or a folder of them.")],
    domain: Annotated[
        Path | None, typer.Option(help="Public columns with bounds and levels: YAML or JSON. Required.")
    ],
    epsilon: Epsilon,
    delta: Delta,
    output: Output,
    unit: Unit,
    example_domain: Annotated[
        bool, typer.Option("--example-domain", help="Print a domain file to fill in, and stop.")
    ] = False,
    terms: CommandTerms,
    csv: Annotated[Path | None, _file_option(help="Also the records with weights, as .csv.")],
    parquet: Annotated[Path | None, _file_option(help="Also the records with weights, as .parquet.")],
    sample: Annotated[
        int | None,
        _file_option(metavar="N", help="Write N ordinary rows without weights to those files instead."),
    ],
    plot: Annotated[Path | None, _file_option(help="Also a picture: .png, .svg or .pdf.")],
    method: Annotated[
        str, finer(help="landmarks; features: records are searched for; exponential: tiny domains.")
    ] = "landmarks",
    public: Annotated[Path | None, finer(help="Public rows like those of the table: a CSV or Parquet file.")],
    size: Annotated[int | None, finer(help="Number of synthetic records.")],
    weights: Annotated[str, finer(help="positive, l1, free or uniform.")] = "positive",
    bound: Annotated[float, finer(help="Of the sum of absolute weights: l1.")] = 1.0,
    kernel: Annotated[str, finer(help="gaussian, matern52, matern32 or exponential.")] = "gaussian",
    scale: Annotated[
        list[str] | None,
        finer(
            metavar="S",
            help="Of the kernel: private (the laws of the columns, for a part of the budget), "
            "public (a rule), auto (public with public rows, else private), a number, a share of "
            "every numeric column's width; or NAME=NUMBER for every column, in its units.",
        ),
    ],
    choice_share: Annotated[float, finer(help="Share of epsilon for laws of columns.")] = 0.2,
    features: Annotated[int | None, finer(help="Number of random features.")],
    restarts: Annotated[int, finer(help="How often the search starts.")] = 1,
    device: Annotated[str, finer(help="Of the search: numpy, torch or cuda.")] = "numpy",
) -> None:
    """Release a weighted synthetic table: rows that anyone may analyse in place of the data.

    [bold]Example:[/bold] mercer synthesize patients.csv --domain domain.yaml --epsilon 1
    --delta 1e-6 -o synthetic.json --csv rows.csv

    A first domain file: mercer synthesize patients.csv --example-domain > domain.yaml

    Numbers outside the bounds are clipped, unless --outside drop; rows that do not fit count and
    add nothing. Nothing is spent if an argument is wrong; --dry-run says what would be.
    """
    if example_domain:
        print(_example_domain(file), end="")
        return
    from mercer.api.recipes.synthetic import plan_table
    from mercer.api.synthetic import synthetic
    from mercer.noise.mechanisms.base import no_delta
    from mercer.releases.synthetic.release import write_csv, write_parquet
    from mercer.releases.words import words_of
    from mercer.sensitive.data import open_records

    source = required("file", file, "name the file of records: mercer synthesize patients.csv …")
    number = one_epsilon(epsilon)
    _check_sample(sample, csv, parquet)
    files = places(output, terms, csv=csv, parquet=parquet, plot=plot)
    columns = _domain(domain, source)
    chosen: dict[str, Any] = {
        "domain": columns,
        "method": method,
        "kernel": kernel,
        "scale": _scale(scale),
        "size": size,
        "features": features,
        "weights": weights,
        "bound": bound,
        "public": None if public is None else _public(public, columns, size),
    }
    plan = plan_table(
        chosen | {"pure": no_delta(delta)}, epsilon=number, delta=delta, choice_share=choice_share
    )
    open_records(source, domain=columns, unit=unit)  # names and types of its columns
    chosen |= terms.of(
        epsilon=epsilon, delta=delta, unit=unit, restarts=restarts, device=device, choice_share=choice_share
    )
    as_json = terms.as_json
    if not as_json:
        terminal.facts("To be released", plan.rows())
    with terminal.searching(not as_json) as (tick, search), noted(as_json):
        found = synthetic(source, **chosen, progress=tick, searching=search)
    release = cast("TableRelease", rehearsed(found, as_json, plan=plan.to_dict()))

    def rows() -> pyarrow.Table:
        return release.with_weights() if sample is None else release.sample(sample, rng=terms.seed)

    written = write(
        release,
        files,
        terms,
        csv=lambda path: write_csv(rows(), path),
        parquet=lambda path: write_parquet(rows(), path, release.privacy),
        plot=release.plot,
    )
    note = csv_note(
        source,
        "Cells of a CSV file that do not fit their column count as missing: check the spelling "
        "of columns and levels.",
    )
    first = written.files["file"]
    hint = f" Look at it: mercer plot {first}, or\nmercer eval {first} --expect COLUMN… --where COLUMN=VALUE…"
    heading = f"Released a {words_of(release).describe()}"
    tell(release, written, source, terms, heading, notes=note, hint=hint, plan=plan.to_dict())


def _domain(path: Path | None, file: Path) -> Domain:
    from mercer.columns.table import Domain

    hint = (
        "columns with their bounds and levels are public and cannot be read from the data; start "
        f"with mercer synthesize {file} --example-domain > domain.yaml"
    )
    return Domain.read(required("domain", path, hint))


def _scale(words: list[str] | None) -> str | float | dict[str, float]:
    """A word, a number, or numbers by column."""
    if not words:
        return "auto"
    if len(words) == 1 and "=" not in words[0]:
        return number_or_word(words[0])
    out = {}
    for word in words:
        name, _, number = word.rpartition("=")
        if not name or not is_number(number):
            raise ValueError(
                "scale must be auto, private, public, one number, or NAME=NUMBER for every column "
                f"(repeat --scale); got {word!r}"
            )
        out[name] = float(number)
    return out


def _public(path: Path, domain: Domain, size: int | None) -> object:
    """Public rows, read by the same rules as the table; those that do not fit are left out."""
    import numpy as np

    from mercer.sensitive.data import open_records
    from mercer.spaces.record_kernels import MOST_LANDMARKS

    most = MOST_LANDMARKS + 1 if size is None else size
    parts: list[Any] = []
    try:
        for chunk in open_records(path, domain=domain, unit=None).chunks():
            parts.append(chunk[np.all(np.isfinite(chunk), axis=1)])
            if sum(map(len, parts)) >= most:
                break
    except (ValueError, TypeError) as error:
        raise type(error)(f"public: {error}") from None
    rows = np.concatenate(parts) if parts else np.empty((0, domain.dimension))
    if not len(rows):
        raise ValueError(f"public: {path.name} has no row that fits the domain")
    return domain.table(rows[:most])


def _check_sample(sample: int | None, csv: Path | None, parquet: Path | None) -> None:
    if sample is None:
        return
    if csv is None and parquet is None:
        raise ValueError("sample needs a file to write to: --csv rows.csv or --parquet …")
    if not 1 <= sample <= 10_000_000:
        raise ValueError(f"sample must be 1 to 10000000 rows, got {sample}")


def _example_domain(path: Path | None) -> str:
    """YAML with every way to declare a column, or with a line for each column of a file.

    Names of columns are public, and so are the types that a Parquet file declares; nothing else of
    the data is looked at.
    """
    if path is None:
        return _EXAMPLE
    from mercer.sources.files import file_batches, keeps_places

    schema, _ = file_batches(path)
    typed = keeps_places(path)
    lines = [f"# {_quoted(field.name)}: {_form(field.type) if typed else 'ONE-OF-THESE'}" for field in schema]
    return _HEAD.format(name=path.name, types=_PARQUET if typed else _CSV) + "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    return (
        name if name.isidentifier() and name.lower() not in _WORDS else json.dumps(name, ensure_ascii=False)
    )


def _form(kind: Any) -> str:
    import pyarrow as pa

    types = pa.types
    if types.is_boolean(kind):
        return "boolean"
    if types.is_integer(kind):
        return "{type: integer, bounds: [LOWER, UPPER]}"
    if types.is_floating(kind) or types.is_decimal(kind):
        return "[LOWER, UPPER]"
    if types.is_date(kind) or types.is_timestamp(kind):
        return "[FIRST-DAY, LAST-DAY]"
    return "[LEVEL, LEVEL]"
