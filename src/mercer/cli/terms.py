"""What all commands that release something share: options, notes, dry runs, errors."""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from mercer.show import terminal

__all__ = [
    "FINER",
    "NOTHING_WRITTEN",
    "Bounds",
    "Column",
    "Columns",
    "Dataset",
    "Delta",
    "DryRun",
    "Epsilon",
    "File",
    "Formats",
    "Insist",
    "Json",
    "LedgerName",
    "MechanismName",
    "Missing",
    "NaValues",
    "Output",
    "OutputToo",
    "Outside",
    "Overwrite",
    "Picture",
    "Seed",
    "Unit",
    "ask",
    "na_of",
    "noted",
    "one_epsilon",
    "rehearsed",
    "terms",
    "worded",
]

FINER = "Finer choices, all public"
_CELLS = "How cells are read"
NOTHING_WRITTEN = "Nothing was written: keep these numbers, or name a file with -o next time."

File = Annotated[Path, typer.Argument(help="CSV or Parquet file, or a folder of them.")]
Column = Annotated[list[str] | None, typer.Option("--column", "-c", help="Column; repeat for two or three.")]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", "-c", "--columns", metavar="NAME…", help="Columns to learn from."),
]
Bounds = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LO HI",
        help="Public bounds, LO HI for each column: numbers or dates such as 2024-12-31. Or by "
        "name: age=0,100 bmi=10,60. Required.",
    ),
]
Epsilon = Annotated[
    list[float] | None, typer.Option(metavar="E", help="The epsilon of the promise. Required.")
]
Delta = Annotated[
    float | None, typer.Option(help="The delta of the promise. Left out: pure, which is stronger.")
]
MechanismName = Annotated[
    str | None, typer.Option("--mechanism", help="orbitope, l2, laplace (pure) or gaussian (needs delta).")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Release file to write. Required.")]
OutputToo = Annotated[Path | None, typer.Option("--output", "-o", help="Release file to write.")]
Picture = Annotated[Path | None, typer.Option(help="Also a picture: .png, .svg or .pdf.")]
Unit = Annotated[str | None, typer.Option(help="Column that names the person: protects persons, not rows.")]
Missing = Annotated[
    str,
    typer.Option(
        help="zero: rows without values still count in n. drop: the number of the others is public.",
        rich_help_panel=_CELLS,
    ),
]
NaValues = Annotated[
    list[str] | None,
    typer.Option(
        "--na",
        "--na-values",
        metavar="VALUE…",
        help="Values that stand for a missing cell, such as 999; of one column: age=999.",
        rich_help_panel=_CELLS,
    ),
]
Outside = Annotated[
    str,
    typer.Option(
        help="Values beyond the bounds: clip (moved to the nearest bound) or drop (missing).",
        rich_help_panel=_CELLS,
    ),
]
Formats = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        metavar="COLUMN=EXAMPLE…",
        help="How numbers or dates are written, by an example: 'income=$1,234.50' 'share=12 %' "
        "weight=1.234,5 day=31/12/2023.",
        rich_help_panel=_CELLS,
    ),
]
Insist = Annotated[
    bool,
    typer.Option(
        "--insist",
        help="Release even with an epsilon above 20 or a delta above 1/n, or counts that noise drowns.",
    ),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Say what would be counted, how accurately, at what charge; nothing is spent or written.",
    ),
]
Seed = Annotated[int | None, typer.Option(help="Reproducible noise. The release is then NOT PRIVATE.")]
LedgerName = Annotated[
    str | None, typer.Option("--ledger", help="Ledger to charge: a file or a postgresql:// URL.")
]
Dataset = Annotated[str | None, typer.Option(help="Dataset of the ledger.")]
Overwrite = Annotated[bool, typer.Option(help="Replace existing files.")]
Json = Annotated[bool, typer.Option("--json", help="Print exact JSON for machines.")]


def terms(
    *,
    epsilon: list[float] | None,
    na_values: list[str] | None,
    formats: list[str] | None,
    seed: int | None,
    **others: Any,
) -> dict[str, Any]:
    """The arguments of a call, from the options that are typed otherwise than in Python."""
    return others | {
        "epsilon": one_epsilon(epsilon),
        "na_values": na_of(na_values),
        "formats": _formats(formats),
        "rng": seed,
    }


def one_epsilon(epsilon: list[float] | None) -> float | None:
    """The one epsilon."""
    if epsilon is not None and len(epsilon) != 1:
        raise ValueError(f"epsilon must be one number, got {len(epsilon)}; mercer plan compares several")
    return None if epsilon is None else epsilon[0]


def ask(make: Any, *data: Any, as_json: bool, told: bool = True, **chosen: Any) -> Any:
    """Make the call; a dry run says what it found, and ends the command.

    With `told`, the rows that were read are shown on a terminal.
    """
    file = data[0] if data and isinstance(data[0], Path) else None
    if not told:
        terminal.say_files(not as_json, file)
    with noted(as_json), terminal.progress(told and not as_json, file) as tick:
        made = make(*data, **chosen, **({"progress": tick} if told else {}))
    return rehearsed(made, as_json)


def rehearsed(made: Any, as_json: bool, **about: Any) -> Any:
    """A release as it is; a dry run is told, and ends the command."""
    from mercer.api.calls import DryRun as Rehearsal

    if not isinstance(made, Rehearsal):
        return made
    if as_json:
        terminal.print_json(made.to_dict() | about)
    else:
        print(made)
    raise typer.Exit


@contextmanager
def noted(as_json: bool) -> Iterator[None]:
    """What there is to know before a budget is spent, as one line on stderr."""
    from mercer.common.checks import PrivacyWarning

    def tell(message: Warning | str, category: type[Warning], *_where: Any) -> None:
        if category is not PrivacyWarning:
            return  # a kind of it is told with the release
        words = worded(str(message))
        line = json.dumps({"note": words}) if as_json else f"Note: {words}"
        print(line, file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", PrivacyWarning)
        warnings.showwarning = tell  # type: ignore[assignment]
        yield


def na_of(words: list[str] | None, *, by_column: bool = True) -> Any:
    """`999 unknown` of all columns, or `age=999 income=-1` by column."""
    if not words:
        return None
    named = [word for word in words if "=" in word]
    if not named:
        return list(words)
    if not by_column:
        raise ValueError(
            f"--na of curves holds for all their columns alike: --na -999 unknown; got {named[0]!r}"
        )
    if len(named) < len(words):
        raise ValueError(
            "--na: either values of all columns (--na 999 unknown), or each with its column (--na "
            f"age=999 income=-1); got both: {' '.join(words)}"
        )
    found: dict[str, list[str]] = {}
    for word in words:
        name, _, value = word.rpartition("=")
        if not name or not value.strip():
            raise ValueError(f"--na must be VALUE… or COLUMN=VALUE…, got {word!r}")
        found.setdefault(name, []).append(value)
    return found


def _formats(words: list[str] | None) -> dict[str, str] | None:
    """`income=$1,234.50` by column."""
    found: dict[str, str] = {}
    for word in words or []:
        name, _, example = word.partition("=")
        if not name or not example.strip():
            raise ValueError(
                "--format must be COLUMN=EXAMPLE, for example --format 'income=$1,234.50' "
                f"day=31/12/2023; got {word!r}"
            )
        if name in found:
            raise ValueError(f"--format: {name!r} stands twice; a column has one format")
        found[name] = example
    return found or None


_OPTIONS = {
    "columns": "--column",
    "na_values": "--na",
    "formats": "--format",
    "rows_per_person": "--rows-per-person",
    "rng": "--seed",
    "where": "--where",
}
_SPELT = {
    "sparse=True": "--sparse",
    "margins=2": "--margins 2",
    "weaker_promise=True": "--weaker-promise",
    "bounds=(low, high)": "--bounds LO HI",
    "(lower, upper)": "LO HI",
    "(low, high)": "LO HI",
    "with columns=…": "with --column",
    "with where=… (mercer.count)": "with mercer count --where …",
    "ledger= and dataset=": "--ledger and --dataset",
    ", or Ledger.register in Python": "",
    "ledger and dataset go together": "--ledger and --dataset go together",
    "mercer.proportion": "mercer count --proportion",
    "mercer.histogram": "mercer histogram",
    "mercer.Ledger or mercer ledger": "mercer ledger",
    "mechanism='optimal'": "--mechanism optimal",
    "missing='drop'": "--missing drop",
    "outside='drop'": "--outside drop",
    "method='output'": "--method output",
}


def worded(said: str) -> str:
    """What Python says, with options as they are typed."""
    said = re.sub(r"insist=True( \(--insist\))?", "--insist", said)
    said = re.sub(r"\bdataset='([^']*)'", r"--dataset \1", said)
    for python, option in _SPELT.items():
        said = said.replace(python, option)
    said = re.sub(r"\{'([^']*)': \(([^(),]+), ([^(),]+)\)\}", r"'\1=\2..\3'", said)
    said = re.sub(r"\{'([^']*)': \['([^']*)'\]\}", r"""'\1="\2"'""", said)
    said = re.sub(r"\b(rows_per_person|na_values)\b(?!=)", lambda found: _OPTIONS[found[1]], said)
    said = re.sub(r"^(formats|where)(?= must|:)", lambda found: _OPTIONS[found[1]], said)
    said = re.sub(
        r"\b(columns|unit|ledger|dataset|where|formats|na_values|rows_per_person|rng)=(?=[\s,;)]|$)",
        lambda found: _OPTIONS.get(found[1], f"--{found[1]}"),
        said,
    )
    if "everything would be noise" in said and "mercer plan" not in said:
        said += "; mercer plan histogram --n N --cells P --epsilon E… says what to expect"
    return said
