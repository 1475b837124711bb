"""The options of commands, each in one place, and what is typed with them as values.

A group of options, such as `Terms`, stands in a command as one parameter.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from mercer.show import terminal

__all__ = [
    "FINER",
    "Bounds",
    "Column",
    "Columns",
    "Dataset",
    "Delta",
    "Drawing",
    "DryRun",
    "Epsilon",
    "Epsilons",
    "File",
    "Formats",
    "Insist",
    "Json",
    "LedgerName",
    "Level",
    "MechanismName",
    "Missing",
    "NaValues",
    "Options",
    "Output",
    "OutputToo",
    "Outside",
    "Overwrite",
    "Picture",
    "Seed",
    "Terms",
    "Unit",
    "columns_of",
    "end_of",
    "grouped_options",
    "na_of",
    "one_epsilon",
    "pairs",
]

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
FINER = "Finer choices, all public"
_READING = "How cells are read"

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
Epsilons = Annotated[list[float] | None, typer.Option(metavar="E…", help="One or more epsilons. Required.")]
Delta = Annotated[
    float | None, typer.Option(help="The delta of the promise. Left out: pure, which is stronger.")
]
Level = Annotated[float, typer.Option(help="Level of the band.")]
MechanismName = Annotated[
    str | None, typer.Option("--mechanism", help="orbitope, l2, laplace (pure) or gaussian (needs delta).")
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Release file to write. Required.")]
OutputToo = Annotated[Path | None, typer.Option("--output", "-o", help="Release file to write.")]
Drawing = Annotated[Path | None, typer.Option("--output", "-o", help="Also draw it: .png, .svg or .pdf.")]
Picture = Annotated[Path | None, typer.Option(help="Also a picture: .png, .svg or .pdf.")]
Unit = Annotated[str | None, typer.Option(help="Column that names the person: protects persons, not rows.")]
Missing = Annotated[
    str,
    typer.Option(
        help="zero: rows without values still count in n. drop: the number of the others is public.",
        rich_help_panel=_READING,
    ),
]
NaValues = Annotated[
    list[str] | None,
    typer.Option(
        "--na",
        "--na-values",
        metavar="VALUE…",
        help="Values that stand for a missing cell, such as 999; of one column: age=999.",
        rich_help_panel=_READING,
    ),
]
Outside = Annotated[
    str,
    typer.Option(
        help="Values beyond the bounds: clip (moved to the nearest bound) or drop (missing).",
        rich_help_panel=_READING,
    ),
]
Formats = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        metavar="COLUMN=EXAMPLE…",
        help="How numbers or dates are written, by an example: 'income=$1,234.50' 'share=12 %' "
        "weight=1.234,5 day=31/12/2023.",
        rich_help_panel=_READING,
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


@dataclass(frozen=True)
class Options:
    """A group of options: a command has those that are `taken`, the others are as declared."""

    taken: frozenset[str]

    def given(self) -> dict[str, Any]:
        """The values of the options that the command has."""
        return {name: value for name, value in vars(self).items() if name in self.taken}


@dataclass(frozen=True)
class Terms(Options):
    """What a command that releases something takes, whatever it releases."""

    unit: Unit = None
    missing: Missing = "zero"
    na_values: NaValues = None
    outside: Outside = "clip"
    formats: Formats = None
    insist: Insist = False
    dry_run: DryRun = False
    plot: Picture = None
    seed: Seed = None
    ledger: LedgerName = None
    dataset: Dataset = None
    overwrite: Overwrite = False
    as_json: Json = False

    def of(self, *, epsilon: list[float] | None, **own: Any) -> dict[str, Any]:
        """The arguments of a call in Python: a command's own, and the terms that are given."""
        own = {"epsilon": one_epsilon(epsilon)} | own
        found = self.given() | {
            "na_values": na_of(self.na_values),
            "formats": _formats(self.formats),
            "rng": self.seed,
        }
        shown = ("plot", "seed", "overwrite", "as_json")  # of what is written and shown, or named above
        terms = {name: value for name, value in found.items() if value is not None and name not in shown}
        return terms | own


def grouped_options(*, without: Collection[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Have the options of each group stand in a command where its parameter is.

    Without those that are named, and those that the command has as parameters of its own.
    """

    def spread(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        out, parameters, groups = {*without, *signature.parameters, "taken"}, [], {}
        for one in signature.parameters.values():
            if not (isinstance(one.annotation, type) and issubclass(one.annotation, Options)):
                parameters.append(one)
                continue
            types = get_type_hints(one.annotation, include_extras=True)
            taken = [
                option.replace(annotation=types[option.name], kind=inspect.Parameter.KEYWORD_ONLY)
                for option in inspect.signature(one.annotation).parameters.values()
                if option.name not in out
            ]
            groups[one.name] = one.annotation, frozenset(option.name for option in taken)
            parameters += taken

        @functools.wraps(command)
        def call(**given: Any) -> None:
            for name, (group, taken) in groups.items():
                options = {option: given.pop(option) for option in taken}
                given[name] = group(taken=taken, **options)
            command(**given)

        call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {one.name: one.annotation for one in parameters}
        return call

    return spread


def one_epsilon(epsilon: list[float] | None) -> float | None:
    """The one epsilon."""
    if epsilon is not None and len(epsilon) != 1:
        raise ValueError(f"epsilon must be one number, got {len(epsilon)}; mercer plan compares several")
    return None if epsilon is None else epsilon[0]


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


def pairs(words: Sequence[str | float] | None, name: str = "bounds") -> Any:
    """Bounds as one pair, or a list of pairs; or by name, from NAME=LO,HI."""
    if not words:
        return None
    option, given = f"--{name.replace('_', '-')}", [str(word) for word in words]
    if any("=" in word for word in given):
        return _named_pairs(given, option)
    for word in given:
        if word.strip(",") != word or (not terminal.is_number(word) and "," in word):
            plain = " ".join(part for one in given for part in one.split(",") if part)
            raise ValueError(
                f"{name}: numbers stand apart, with spaces between them and no commas: {option} "
                f"{plain}; or by name: {option} age=0,100"
            )
    ends = [end_of(word, name) for word in given]
    if len(ends) == 1:
        raise ValueError(
            f"{name} must be two numbers, LO HI, got the one number {given[0]}; both are public, "
            f"for example {option} 0 100"
        )
    if len(ends) % 2:
        raise ValueError(f"{name} must be pairs LO HI, got {len(ends)} numbers")
    couples = [(ends[i], ends[i + 1]) for i in range(0, len(ends), 2)]
    return couples[0] if len(couples) == 1 else couples


def columns_of(words: Sequence[str | float] | None) -> int:
    """Of how many columns bounds are."""
    given = words or []
    return len(given) if any("=" in str(word) for word in given) else len(given) // 2


def _named_pairs(words: list[str], option: str) -> dict[str, tuple[Any, Any]]:
    found: dict[str, tuple[Any, Any]] = {}
    for word in words:
        column, _, text = word.rpartition("=")
        ends = text.split(",")
        if not column or len(ends) != 2:
            raise ValueError(
                f"{option}: either LO HI for each column in order, or NAME=LO,HI for each, such as "
                f"{option} age=0,100 bmi=10,60; got {word!r}"
            )
        if column in found:
            raise ValueError(f"{option}: {column!r} stands twice; a column has one pair of bounds")
        low, high = (end_of(end.strip(), option) for end in ends)
        found[column] = low, high
    return found


def end_of(word: str, name: str) -> float | str:
    """A number, or a date as it is typed."""
    if _DAY.fullmatch(word):
        return word
    if not terminal.is_number(word):
        raise ValueError(f"{name} must be numbers, or dates such as 2024-12-31; got {word!r}")
    return float(word)
