"""The options that commands share, and how a function becomes a command.

An option that may be left out has a type that admits None, and needs no default: the command line
gives None.  A group of options, such as `CommandTerms`, is one parameter of a command.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from mercer.cli.typed import formats_of, na_of, one_epsilon

__all__ = [
    "Bounds",
    "Column",
    "Columns",
    "CommandTerms",
    "Dataset",
    "Delta",
    "Drawing",
    "DryRun",
    "Epsilon",
    "Epsilons",
    "File",
    "Json",
    "Level",
    "MechanismName",
    "NaValues",
    "Options",
    "Output",
    "OutputToo",
    "Outside",
    "Overwrite",
    "Picture",
    "Simultaneous",
    "Smooth",
    "Unit",
    "Where",
    "command",
    "finer",
]

finer = partial(typer.Option, rich_help_panel="Finer choices, all public")
_reading_option = partial(typer.Option, rich_help_panel="How cells are read")

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
Simultaneous = Annotated[
    bool, typer.Option("--simultaneous", help="Counts of cells: intervals that hold for all of them at once.")
]
Smooth = Annotated[
    bool,
    typer.Option(
        "--smooth",
        help="Histograms: a nearer count, from smoothed ones; bins that are cut count by width: free.",
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=VALUE…",
        help="Tables and histograms: where this holds; 'age>=60', 'age<80', age=60..80, sex=f, 'ward=a|b'. "
        "60..80 is 60 <= age < 80, of integers and dates with both ends. Alone: its probability, or the "
        "count.",
    ),
]
Level = Annotated[float, typer.Option(help="Level of the band.")]
Of = Annotated[
    str | None,
    typer.Option(
        metavar="data|population",
        help="Mean curves: the band is about the mean of the file's own curves (data), or of the "
        "population that they are a sample of, which --population paid for.",
    ),
]
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
    _reading_option(
        help="zero: rows without values still count in n. drop: the number of the others is public."
    ),
]
NaValues = Annotated[
    list[str] | None,
    _reading_option(
        "--na",
        "--na-values",
        metavar="VALUE…",
        help="Values that stand for a missing cell, such as 999; of one column: age=999.",
    ),
]
Outside = Annotated[
    str,
    _reading_option(help="Values beyond the bounds: clip (moved to the nearest bound) or drop (missing)."),
]
Formats = Annotated[
    list[str] | None,
    _reading_option(
        "--format",
        metavar="COLUMN=EXAMPLE…",
        help="How numbers or dates are written, by an example: 'income=$1,234.50' 'share=12 %' "
        "weight=1.234,5 day=31/12/2023.",
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
class CommandTerms(Options):
    """What every command takes that makes a release: whose it is, how cells are read, who pays."""

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
            "formats": formats_of(self.formats),
            "rng": self.seed,
        }
        shown = ("plot", "seed", "overwrite", "as_json")  # of what is written and shown, or named above
        terms = {name: value for name, value in found.items() if value is not None and name not in shown}
        return terms | own


def command(*, without: Collection[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function a command of which Typer reads the signature.

    A parameter whose type admits None may be left out.  A group of options is replaced by its
    options, without those that are named here, and those that are parameters of the command too.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(function, eval_str=True)
        out, parameters, groups = {*without, *signature.parameters, "taken"}, [], {}
        for one in signature.parameters.values():
            if not (isinstance(one.annotation, type) and issubclass(one.annotation, Options)):
                parameters.append(one.replace(default=None) if _may_be_left_out(one) else one)
                continue
            types = get_type_hints(one.annotation, include_extras=True)
            taken = [
                option.replace(annotation=types[option.name], kind=inspect.Parameter.KEYWORD_ONLY)
                for option in inspect.signature(one.annotation).parameters.values()
                if option.name not in out
            ]
            groups[one.name] = one.annotation, frozenset(option.name for option in taken)
            parameters += taken

        @functools.wraps(function)
        def called(**given: Any) -> None:
            for name, (group, taken) in groups.items():
                options = {option: given.pop(option) for option in taken}
                given[name] = group(taken=taken, **options)
            function(**given)

        called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {one.name: one.annotation for one in parameters}
        return called

    return decorate


def _may_be_left_out(parameter: inspect.Parameter) -> bool:
    """Whether a parameter has no default, and a type `Annotated[... | None, ...]`."""
    typed, *_ = get_args(parameter.annotation) or (None,)
    return parameter.default is inspect.Parameter.empty and type(None) in get_args(typed)
