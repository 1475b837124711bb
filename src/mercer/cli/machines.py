"""The commands `mercer classify` and `mercer regress`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mercer.cli.options import (
    Bounds,
    Columns,
    CommandTerms,
    Delta,
    Epsilon,
    File,
    Options,
    Output,
    command,
    finer,
)
from mercer.cli.releasing import ask, csv_note, places, tell, write
from mercer.cli.typed import pairs, required
from mercer.common.checks import is_number

if TYPE_CHECKING:
    from mercer.api.calls import DryRun
    from mercer.releases.machine.release import MachineRelease

__all__ = ["classify_command", "regress_command"]

Label = Annotated[str | None, typer.Option(help="Column to predict. Required.")]
Penalty = Annotated[
    list[str] | None,
    finer(
        metavar="L…",
        help="rule (unless given); a number: lambda in mean loss + lambda |f|^2; or several, one "
        "of which is chosen with a share of the budget.",
    ),
]
Kernel = Annotated[str, finer(help="gaussian, exponential, matern32, matern52 or linear.")]
Bandwidth = Annotated[
    list[str] | None,
    finer(
        metavar="H…",
        help="Of the kernel: rule (unless given), a number, or one a column, in the data's units.",
    ),
]
Features = Annotated[
    str | None, finer(help="eigenfunctions, landmarks (up to three columns), random or taylor.")
]
Size = Annotated[int | None, finer(help="Number of features.")]
Constant = Annotated[float | None, finer(help="The kernel is K + constant^2: an intercept.")]
Method = Annotated[
    str | None,
    finer(
        help="Where the noise is: objective (where it is proved), output, or moments (regress --loss squared "
        "with a delta)."
    ),
]


Share = Annotated[
    float | None,
    finer(help="Share of epsilon for the error band, up to three columns: 0.05 to 0.15 by a rule; 0: none."),
]


@dataclass(frozen=True)
class Learning(Options):
    """How a machine is learnt: the options that classification and regression share."""

    penalty: Penalty = None
    kernel: Kernel = "gaussian"
    bandwidth: Bandwidth = None
    features: Features = None
    size: Size = None
    constant: Constant = None
    method: Method = None
    band: Share = None

    def of(self) -> dict[str, Any]:
        """The arguments of `mercer.classifier` and `mercer.regression` that these options give."""
        lengths = _numbers("bandwidth", self.bandwidth)
        return self.given() | {
            "penalty": _numbers("penalty", self.penalty),
            "bandwidth": None if lengths == "rule" else lengths,
        }


@command()
def classify_command(
    *,
    file: File,
    column: Columns,
    bounds: Bounds,
    label: Label,
    classes: Annotated[
        list[str] | None, typer.Option(metavar="CLASS…", help="All classes: they are public. Required.")
    ],
    epsilon: Epsilon,
    delta: Delta,
    output: Output,
    loss: Annotated[str, finer(help="hinge or logistic.")] = "hinge",
    learning: Learning,
    terms: CommandTerms,
) -> None:
    """Release a classifier: which class a row has, from its other columns.

    [bold]Example:[/bold] mercer classify patients.csv --columns age bmi --bounds 0 100 10 60
    --label outcome --classes healthy ill --epsilon 1 --delta 1e-6 -o ill.json

    Bounds by name: --bounds age=0,100 bmi=10,60; one pair stands for all columns. Values outside
    are clipped, unless --outside drop; rows that lack a number or have another class count and add
    nothing. Nothing is spent if an argument is wrong; --dry-run says what would be.
    """
    from mercer.api.machine import classifier

    files = places(output, terms)
    if not classes:
        raise ValueError(
            "classes is missing: which classes there are is public and cannot be read from the "
            "data; declare them, for example --classes healthy ill"
        )
    _release(
        classifier,
        file,
        files,
        label,
        learning,
        terms,
        columns=column or None,
        bounds=pairs(bounds),
        epsilon=epsilon,
        delta=delta,
        loss=loss,
        classes=_classes(classes),
    )


@command()
def regress_command(
    *,
    file: File,
    column: Columns,
    bounds: Bounds,
    label: Label,
    y_bounds: Annotated[
        list[str] | None,
        typer.Option(metavar="LO HI", help="Public bounds of what is predicted: numbers or dates. Required."),
    ],
    epsilon: Epsilon,
    delta: Delta,
    output: Output,
    loss: Annotated[
        str,
        finer(
            help="huber (between mean and median), squared (the mean), pinball (quantiles) or "
            "epsilon-insensitive."
        ),
    ] = "huber",
    quantiles: Annotated[
        list[float] | None, finer(metavar="Q…", help="With --loss pinball: levels in (0, 1).")
    ],
    threshold: Annotated[
        float | None, finer(help="With --loss huber: from where a residual is large; by a rule unless given.")
    ],
    tube: Annotated[
        float | None, finer(help="With --loss epsilon-insensitive: residuals that do not count.")
    ],
    learning: Learning,
    terms: CommandTerms,
) -> None:
    """Release a regression: a column's middle, mean or quantiles as a function of other columns.

    [bold]Example:[/bold] mercer regress patients.csv --columns age bmi --bounds 0 100 10 60
    --label pressure --y-bounds 60 220 --epsilon 1 --delta 1e-6 -o pressure.json

    Quantile curves: --loss pinball --quantiles 0.1 0.5 0.9. Values outside the bounds are clipped,
    unless --outside drop; rows that lack a number count and add nothing. Nothing is spent if an
    argument is wrong; --dry-run says what would be.
    """
    from mercer.api.machine import regression

    _release(
        regression,
        file,
        places(output, terms),
        label,
        learning,
        terms,
        columns=column or None,
        bounds=pairs(bounds),
        epsilon=epsilon,
        delta=delta,
        loss=loss,
        y_bounds=pairs(y_bounds, "y_bounds"),
        quantiles=quantiles or None,
        threshold=threshold,
        tube=tube,
    )


def _numbers(name: str, words: list[str] | None) -> str | float | list[float]:
    """The word 'rule', a number, or several numbers."""
    if not words or words == ["rule"]:
        return "rule"
    if not all(map(is_number, words)):
        raise ValueError(f"{name} must be 'rule' or numbers, got {' '.join(words)!r}")
    numbers = [float(word) for word in words]
    return numbers[0] if len(numbers) == 1 else numbers


def _classes(words: list[str]) -> list[Any]:
    """Classes as they may stand in a table: integers, numbers, True and False, or text."""
    if all(word.lower() in ("true", "false") for word in words):
        return [word.lower() == "true" for word in words]
    for kind in (int, float):
        try:
            return [kind(word) for word in words]
        except ValueError:
            pass
    return words


def _release(
    make: Callable[..., MachineRelease | DryRun],
    file: Path,
    files: dict[str, Path],
    label: str | None,
    learning: Learning,
    terms: CommandTerms,
    **chosen: Any,
) -> None:
    """Learn a machine, write it, and say what was released."""
    from mercer.releases.words import words_of

    release = ask(make, file, required("label", label), terms=terms, **learning.of(), **chosen)
    written = write(release, files, terms, plot=release.plot)
    note = csv_note(
        file,
        "Cells of a CSV file that are no numbers, and labels that are no class, count as "
        "missing: check the spelling of columns and classes.",
    )
    first = written.files["file"]
    hint = f" Use it: mercer predict {first} NEW.csv, or mercer plot {first}"
    heading = f"Released the {words_of(release).describe()}"
    tell(release, written, file, terms, heading, notes=note, hint=hint)
