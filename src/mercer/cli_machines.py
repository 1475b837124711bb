"""`mercer classify` and `mercer regress`: parse, call, render.  Layer 6."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mercer import terminal
from mercer.cli_plan import Bounds, Delta, Json

__all__ = ["Columns", "classify_command", "regress_command"]

_FINER = "Finer choices, all public"

File = Annotated[Path, typer.Argument(help="CSV or Parquet file, or a folder of them.")]
Columns = Annotated[
    list[str] | None,
    typer.Option("--column", "-c", "--columns", metavar="NAME…", help="Columns to learn from."),
]
Label = Annotated[str | None, typer.Option(help="Column to predict. Required.")]
Epsilon = Annotated[
    list[float] | None,
    typer.Option(metavar="E", help="The epsilon of the promise. Required."),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="Release file to write. Required.")
]
Penalty = Annotated[
    list[str] | None,
    typer.Option(
        metavar="L…",
        help="rule (unless given); a number: lambda in mean loss + lambda |f|^2; or several, one "
        "of which is chosen with a share of the budget.",
        rich_help_panel=_FINER,
    ),
]
Kernel = Annotated[
    str,
    typer.Option(
        help="gaussian, exponential, matern32, matern52 or linear.", rich_help_panel=_FINER
    ),
]
Bandwidth = Annotated[
    list[str] | None,
    typer.Option(
        metavar="H…",
        help="Of the kernel: rule (unless given), a number, or one a column, in the data's units.",
        rich_help_panel=_FINER,
    ),
]
Features = Annotated[
    str | None,
    typer.Option(
        help="eigenfunctions, landmarks (up to three columns), random or taylor.",
        rich_help_panel=_FINER,
    ),
]
Size = Annotated[
    int | None, typer.Option(help="Number of features.", rich_help_panel=_FINER)
]  # fmt: skip
Constant = Annotated[
    float | None,
    typer.Option(help="The kernel is K + constant^2: an intercept.", rich_help_panel=_FINER),
]
Method = Annotated[
    str | None,
    typer.Option(
        help="Where the noise is: objective (where it is proved) or output.",
        rich_help_panel=_FINER,
    ),
]
Unit = Annotated[
    str | None, typer.Option(help="Column that names the person: protects persons, not rows.")
]
Missing = Annotated[
    str,
    typer.Option(
        help="zero: rows without values count. drop: their number is public.",
        rich_help_panel=_FINER,
    ),
]
Seed = Annotated[
    int | None, typer.Option(help="Reproducible noise. The release is then NOT PRIVATE.")
]
LedgerName = Annotated[
    str | None, typer.Option("--ledger", help="Ledger to charge: a file or a postgresql:// URL.")
]
Dataset = Annotated[str | None, typer.Option(help="Dataset of the ledger.")]
Overwrite = Annotated[bool, typer.Option(help="Replace an existing release file.")]


def classify_command(
    file: File,
    column: Columns = None,
    bounds: Bounds = None,
    label: Label = None,
    classes: Annotated[
        list[str] | None,
        typer.Option(metavar="CLASS…", help="All classes: they are public. Required."),
    ] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    output: Output = None,
    loss: Annotated[
        str,
        typer.Option(help="hinge, or logistic: gives probabilities.", rich_help_panel=_FINER),
    ] = "hinge",
    penalty: Penalty = None,
    kernel: Kernel = "gaussian",
    bandwidth: Bandwidth = None,
    features: Features = None,
    size: Size = None,
    constant: Constant = None,
    method: Method = None,
    unit: Unit = None,
    missing: Missing = "zero",
    seed: Seed = None,
    ledger: LedgerName = None,
    dataset: Dataset = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Release a classifier: which class a row has, from its other columns.

    [bold]Example:[/bold] mercer classify patients.csv --columns age bmi --bounds 0 100 10 60
    --label outcome --classes healthy ill --epsilon 1 --delta 1e-6 -o ill.json

    One pair of bounds stands for all columns. Values outside are clipped; rows that lack a number
    or have another class count and add nothing. Nothing is spent if an argument is wrong.
    """
    from mercer.learning import classifier

    place = terminal.target(output, overwrite)
    if not classes:
        raise ValueError(
            "classes is missing: which classes there are is public and cannot be read from the "
            "data; declare them, for example --classes healthy ill"
        )
    chosen = _options(
        column, bounds, epsilon, delta, penalty, kernel, bandwidth, features, size, constant,
        method, unit, missing, seed, ledger, dataset,
    ) | {"loss": loss, "classes": _classes(classes)}  # fmt: skip
    _release(classifier, file, terminal.required("label", label), chosen, place, as_json)


def regress_command(
    file: File,
    column: Columns = None,
    bounds: Bounds = None,
    label: Label = None,
    y_bounds: Annotated[
        list[float] | None,
        typer.Option(metavar="LO HI", help="Public bounds of what is predicted. Required."),
    ] = None,
    epsilon: Epsilon = None,
    delta: Delta = None,
    output: Output = None,
    loss: Annotated[
        str,
        typer.Option(
            help="huber (a robust mean), squared (the mean), pinball (quantiles) or "
            "epsilon-insensitive.",
            rich_help_panel=_FINER,
        ),
    ] = "huber",
    quantiles: Annotated[
        list[float] | None,
        typer.Option(
            metavar="Q…", help="With --loss pinball: levels in (0, 1).", rich_help_panel=_FINER
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="With --loss huber: from where a residual is large.", rich_help_panel=_FINER
        ),
    ] = None,
    tube: Annotated[
        float | None,
        typer.Option(
            help="With --loss epsilon-insensitive: residuals that do not count.",
            rich_help_panel=_FINER,
        ),
    ] = None,
    penalty: Penalty = None,
    kernel: Kernel = "gaussian",
    bandwidth: Bandwidth = None,
    features: Features = None,
    size: Size = None,
    constant: Constant = None,
    method: Method = None,
    unit: Unit = None,
    missing: Missing = "zero",
    seed: Seed = None,
    ledger: LedgerName = None,
    dataset: Dataset = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Release a regression: a column's mean or quantiles as a function of other columns.

    [bold]Example:[/bold] mercer regress patients.csv --columns age bmi --bounds 0 100 10 60
    --label pressure --y-bounds 60 220 --epsilon 1 --delta 1e-6 -o pressure.json

    Quantile curves: --loss pinball --quantiles 0.1 0.5 0.9. Values outside the bounds are clipped;
    rows that lack a number count and add nothing. Nothing is spent if an argument is wrong.
    """
    from mercer.learning import regression

    place = terminal.target(output, overwrite)
    chosen = _options(
        column, bounds, epsilon, delta, penalty, kernel, bandwidth, features, size, constant,
        method, unit, missing, seed, ledger, dataset,
    ) | {
        "loss": loss, "y_bounds": terminal.pairs(y_bounds), "quantiles": quantiles or None,
        "threshold": threshold, "tube": tube,
    }  # fmt: skip
    _release(regression, file, terminal.required("label", label), chosen, place, as_json)


def _options(
    column: list[str] | None, bounds: list[float] | None, epsilon: list[float] | None,
    delta: float | None, penalty: list[str] | None, kernel: str, bandwidth: list[str] | None,
    features: str | None, size: int | None, constant: float | None, method: str | None,
    unit: str | None, missing: str, seed: int | None, ledger: str | None, dataset: str | None,
) -> dict[str, Any]:  # fmt: skip
    """What both commands hand on."""
    if epsilon is not None and len(epsilon) != 1:
        raise ValueError(f"epsilon must be one number, got {len(epsilon)}")
    lengths = _numbers("bandwidth", bandwidth)
    return {
        "columns": column or None, "bounds": terminal.pairs(bounds),
        "epsilon": None if epsilon is None else epsilon[0], "delta": delta,
        "penalty": _numbers("penalty", penalty), "kernel": kernel,
        "bandwidth": None if lengths == "rule" else lengths, "features": features, "size": size,
        "constant": constant, "method": method, "unit": unit, "missing": missing, "rng": seed,
        "ledger": ledger, "dataset": dataset,
    }  # fmt: skip


def _numbers(name: str, words: list[str] | None) -> Any:
    """'rule', a number, or several."""
    if not words or words == ["rule"]:
        return "rule"
    if not all(map(terminal.is_number, words)):
        raise ValueError(f"{name} must be 'rule' or numbers, got {' '.join(words)!r}")
    numbers = [float(word) for word in words]
    return numbers[0] if len(numbers) == 1 else numbers


def _classes(words: list[str]) -> list[Any]:
    """Classes as they may stand in a table: whole numbers, numbers, True and False, or text."""
    if all(word.lower() in ("true", "false") for word in words):
        return [word.lower() == "true" for word in words]
    for kind in (int, float):
        try:
            return [kind(word) for word in words]
        except ValueError:
            pass
    return words


def _release(
    make: Any, file: Path, label: str, chosen: dict[str, Any], place: Path, as_json: bool
) -> None:
    from mercer import terminal_machines as words

    with terminal.progress(not as_json, file) as tick, words.warned(as_json):
        release = make(file, label, **chosen, progress=tick)
    release.save(place)
    if as_json:
        terminal.print_json(words.summary(release) | {"file": str(place)}, file)
        return
    words.show(release, f"Released the {words.describe(release)}")
    if not file.name.endswith((".parquet", ".pq")):
        print(
            "Cells of a CSV file that are no numbers, and labels that are no class, count as "
            "missing: check the spelling of columns and classes."
        )
    print(f"Written to {place}. Use it: mercer predict {place} NEW.csv, or mercer plot {place}")
