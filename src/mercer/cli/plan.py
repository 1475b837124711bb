"""The commands `mercer plan …` and `mercer audit`: accuracy and promises, before anything is spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from mercer.cli.options import Bounds, Delta, Drawing, Epsilons, Json, MechanismName, command
from mercer.cli.typed import bandwidth_of, columns_of, number_or_word, one_of, pairs, required
from mercer.show import terminal

if TYPE_CHECKING:
    from mercer.api.recipes.counts import HistogramPlan

__all__ = ["audit_command", "plan_app"]

P = TypeVar("P")

plan_app = typer.Typer(no_args_is_help=True, help="Accuracy before spending anything: no data.")


@plan_app.command("density", no_args_is_help=True)
@command()
def plan_density(
    *,
    n: Annotated[int | None, typer.Option("--n", help="Number of records. Required.")],
    bounds: Bounds,
    epsilon: Epsilons,
    delta: Delta,
    mechanism: MechanismName,
    boundary: Annotated[str, typer.Option(help="reflect, periodic or open.")] = "reflect",
    bandwidth: Annotated[list[str] | None, typer.Option(help="auto, rule, one number, or one a column.")],
    output: Drawing,
    as_json: Json = False,
) -> None:
    """How accurate a density release will be, for each epsilon: needs no data, spends nothing.

    [bold]Example:[/bold] mercer plan density --n 2000 --bounds 0 100 --epsilon 0.1 0.5 1
    """
    from mercer.api.recipes.density import FOLLOWS, density_plan

    plans = _plans(
        density_plan,
        epsilon,
        n=required("n", n),
        bounds=pairs(bounds),
        delta=delta,
        mechanism=mechanism,
        boundary=boundary,
        bandwidth=bandwidth_of(bandwidth, columns_of(bounds)),
    )
    _draw(plans, f"Density of {plans[0].n} records", output)
    columns = {
        "epsilon": [f"{p.epsilon:g}" for p in plans],
        "noise": [f"{p.privacy_error:.3g}" for p in plans],
        "sampling": [f"{p.sampling_error:.3g}" for p in plans],
        "share of noise": [f"{p.share:.0%}" for p in plans],
        "at a point": [f"{p.pointwise:.3g}" for p in plans],
        "bandwidth": [", ".join(f"{h:.3g}" for h in p.bandwidth) for p in plans],
    }
    words = (
        "noise, sampling: root integrated squared error due to privacy, and without it. at a "
        "point: largest\nstandard deviation of the noise. share: noise in the variance of both. "
        "bandwidth: "
    )
    words += "as given." if bandwidth not in (None, ["auto"], ["rule"]) else "the public rule's."
    if bandwidth in (None, ["auto"]):
        words += f"\nThe errors are of this bandwidth; {FOLLOWS}."
    _tell(plans, columns, words, output, as_json)


@plan_app.command("column", no_args_is_help=True)
@command()
def plan_column(
    *,
    n: Annotated[int | None, typer.Option("--n", help="Number of records. Required.")],
    bounds: Bounds,
    step: Annotated[float, typer.Option(help="Distance between the values there can be.")] = 1.0,
    epsilon: Epsilons,
    delta: Delta,
    as_json: Json = False,
) -> None:
    """How accurate a column will be whose values are counted: needs no data, spends nothing.

    [bold]Example:[/bold] mercer plan column --n 2000 --bounds 0 100 --epsilon 0.1 0.5 1
    """
    from mercer.api.counted import column_plan

    plans = _plans(column_plan, epsilon, n=required("n", n), bounds=pairs(bounds), step=step, delta=delta)
    if as_json:
        terminal.print_json({"plans": [asdict(plan) for plan in plans]})
        return
    table = terminal.table("epsilon", "at or below a value", "a value", "the mean", "levels")
    for plan in plans:
        errors = (f"{plan.cdf:.3%}", f"{plan.value:.3%}", f"{plan.mean:.3g}")
        table.add_row(f"{plan.epsilon:g}", *errors, f"{plan.levels}")
    terminal.show(table)
    print(
        f"Standard deviations of the noise in shares of {plans[0].n} records and in the mean of "
        f"{plans[0].values} values.\nlevels: of the tree of counts."
    )


@plan_app.command("curve", no_args_is_help=True)
@command()
def plan_curve(
    *,
    n: Annotated[int | None, typer.Option("--n", help="Number of curves. Required.")],
    bound: Annotated[float | None, typer.Option(help="Bound on a curve's root mean square. Required.")],
    epsilon: Epsilons,
    delta: Delta,
    bounds: Annotated[list[float] | None, typer.Option(metavar="LO HI", help="Bounds of the argument: 0 1.")],
    kernel: Annotated[
        str, typer.Option(help="auto (averages filters), gaussian, matern52, matern32 or exponential.")
    ] = "auto",
    scale: Annotated[
        str, typer.Option(help="Length of the kernel, in the argument's units, or auto.")
    ] = "auto",
    eta: Annotated[str, typer.Option(help="Power of the smoothing, 1 or more, or auto.")] = "auto",
    penalty: Annotated[list[str] | None, typer.Option(metavar="P", help="auto, a number, or rule.")],
    order: Annotated[str, typer.Option(help="noise-first or paper.")] = "noise-first",
    population: Annotated[
        float, typer.Option(help="Share of the budget for bands about the population's mean.")
    ] = 0.0,
    output: Drawing,
    as_json: Json = False,
) -> None:
    """How accurate a mean curve will be, for each epsilon: needs no data, spends nothing.

    [bold]Example:[/bold] mercer plan curve --n 142 --bound 1 --epsilon 0.5 1 2 --delta 1e-5
    """
    from mercer.api.recipes.curve_plan import curve_plan

    plans = _plans(
        curve_plan,
        epsilon,
        n=required("n", n),
        bound=required("bound", bound),
        delta=delta,
        bounds=pairs(bounds) or (0.0, 1.0),
        kernel=kernel,
        scale=number_or_word(scale),
        eta=number_or_word(eta),
        penalty=one_of("penalty", penalty, "auto"),
        order=order,
        population=population,
    )
    follows = plans[0].smoothing in ("average", "chosen")
    error = "noise and smoothing" if follows else "noise for privacy"
    of = f"Mean of {plans[0].n} curves"
    _draw(plans, of, output, quantity="root mean square error", error=error)
    columns = {"epsilon": [f"{p.epsilon:g}" for p in plans]}
    if follows:
        columns |= {
            "error": [f"{p.privacy_error:.3g}" for p in plans],
            "from": [f"{p.least_error:.3g}" for p in plans],
            "to": [f"{p.most_error:.3g}" for p in plans],
            "sampling": [f"{p.sampling_error:.3g}" for p in plans],
        }
        words = (
            "error: root mean square distance to the mean of the file's own curves, clipped to the bound, by "
            "noise\nand smoothing, on average over public reference curves (a slope, a wave, two peaks, a "
            "quarter of the\nbound high); from, to: the least and the most of them. sampling: at most, "
            "without privacy."
        )
    else:
        columns |= {
            "noise": [f"{p.privacy_error:.3g}" for p in plans],
            "sampling": [f"{p.sampling_error:.3g}" for p in plans],
            "scale": [f"{p.scale:.3g}" for p in plans],
            "eta": [f"{p.eta:g}" for p in plans],
            "penalty": [f"{p.penalty:.2g}" for p in plans],
        }
        words = (
            "noise: root mean square error by noise alone, in the mean of the file's own curves, clipped to "
            "the bound;\nwhat smoothing takes away is not in it. sampling: at most, without privacy. The "
            "penalty is given or the\npublic rule's."
        )
    _tell(plans, columns, words, output, as_json)


@plan_app.command("histogram", no_args_is_help=True)
@command()
def plan_histogram(
    *,
    n: Annotated[int | None, typer.Option("--n", help="Number of records, or of persons. Required.")],
    cells: Annotated[int | None, typer.Option(help="Number of bins, categories or combinations. Required.")],
    epsilon: Epsilons,
    delta: Delta,
    occupied: Annotated[
        int | None, typer.Option(help="Cells known in public to hold something: for the threshold.")
    ],
    rows_per_person: Annotated[int, typer.Option(help="Rows of a person that count.")] = 1,
    output: Drawing,
    as_json: Json = False,
) -> None:
    """How accurate a histogram or table will be, for each epsilon: needs no data, spends nothing.

    [bold]Example:[/bold] mercer plan histogram --n 20000 --cells 20 --epsilon 0.1 0.5 1

    A count alone has half the deviation: nobody leaves one cell for another.
    """
    from mercer.api.recipes.counts import histogram_plan

    many = required("cells", cells)
    plans: list[HistogramPlan] = _plans(
        histogram_plan,
        epsilon,
        n=required("n", n),
        cells=many,
        delta=delta,
        occupied=occupied,
        rows_per_person=rows_per_person,
    )
    _draw(plans, f"{many} counts of {n} records", output, quantity="error of all counts together")
    most = min(many, plans[0].n * rows_per_person)
    few = [occupied] if occupied else sorted({-(-most // 100), -(-most // 10)})
    if as_json:
        terminal.print_json(
            {
                "plans": [
                    plan.to_dict() | {"sparse_error": {str(q): plan.sparse_error(q) for q in few}}
                    for plan in plans
                ]
            }
        )
        return
    _show_histograms(plans, few)
    if output is not None:
        print(f"Picture written to {output}")


def _plans(make: Callable[..., P], epsilon: list[float] | None, **public: Any) -> list[P]:
    """A plan for each epsilon; without any, the error that says why there is no default."""
    values: Sequence[float | None] = epsilon or [None]
    return [make(epsilon=value, **public) for value in values]


def _tell(
    plans: Sequence[Any], columns: dict[str, list[str]], words: str, output: Path | None, as_json: bool
) -> None:
    """Print plans of densities or curves, a row for each epsilon, or all their numbers as JSON."""
    if as_json:
        terminal.print_json({"plans": [asdict(p) | {"privacy_share": p.share} for p in plans]})
        return
    table = terminal.table(*columns)
    for row in zip(*columns.values(), strict=True):
        table.add_row(*row)
    terminal.show(table)
    print(words)
    if output is not None:
        print(f"Picture written to {output}")


def _show_histograms(plans: Sequence[HistogramPlan], occupied: Sequence[int]) -> None:
    """Print plans of histograms, a row for each epsilon, and what their columns mean."""
    pure = not plans[0].delta
    heads = [f"sparse, {q} held" for q in occupied] + ["best"] * pure
    table = terminal.table("epsilon", "one sd", "95% ±", "threshold", "dense", *heads)
    for p in plans:
        table.add_row(
            f"{p.epsilon:g}",
            f"{p.deviation:.3g}",
            f"{p.half_width:g}",
            f"{p.threshold}",
            f"{p.privacy_error:.4g}",
            *(f"{p.sparse_error(q):.4g}" for q in occupied),
            *([f"{p.best():.4g}"] if pure else []),
        )
    terminal.show(table)
    one = plans[0]
    print(
        "one sd, 95% ±: standard deviation and interval of the noise of one count. dense, sparse: "
        f"expected\nerror of all {one.cells} counts together, at most; of a sparse release if so "
        "many cells hold something."
    )
    if pure:
        print("best: no pure release of this epsilon can promise less for all data.")
    print(f"Other records of the same distribution would make {one.sampling_error:.4g}, at most.")
    if one.worth:
        print(f"A sparse release is the better one up to about {one.worth} occupied cells.")
    for p in plans:
        if p.half_width >= p.n:
            print(f"At epsilon = {p.epsilon:g} everything would be noise: it will be refused.")


def _draw(plans: Sequence[Any], of: str, output: Path | None, **options: Any) -> None:
    """Draw the error of each plan by its epsilon, where a picture is asked for."""
    if output is None:
        return
    from mercer.show.figure import draw_plan

    promise = f"delta = {plans[0].delta:g}" if plans[0].delta else "pure"
    draw_plan(
        [p.epsilon for p in plans],
        [p.privacy_error for p in plans],
        [p.sampling_error for p in plans],
        f"{of}, {promise}",
        output,
        **options,
    )


@command()
def audit_command(
    *,
    mechanism: Annotated[
        str | None, typer.Argument(help="Name of a mechanism; or --all.", show_default=False)
    ],
    everything: Annotated[bool, typer.Option("--all", help="Audit every mechanism.")] = False,
    claim: Annotated[float, typer.Option("--epsilon", help="The claim.")] = 1.0,
    delta: Annotated[float | None, typer.Option(help="The claim, where the mechanism needs one.")],
    samples: Annotated[
        int | None, typer.Option(help="Runs on each neighbour; by default enough to come near.")
    ],
    exact: Annotated[
        bool, typer.Option(help="Draw the noise as for a release: slow, and the real thing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Bound epsilon from below by attacking a mechanism on its worst neighbours.

    [bold]Example:[/bold] mercer audit laplace --samples 20000

    An audited epsilon above the claim would prove the promise broken (at confidence 1 - 1e-6); one
    close below it shows that the attack is a strong one.
    """
    from dataclasses import asdict

    from mercer.audits.audit import CASES, audit

    if everything == (mechanism is not None):
        raise ValueError("name one mechanism, or --all for every one")
    names = list(CASES) if everything else [str(mechanism)]
    for name in names:
        if name not in CASES:
            raise ValueError(f"mechanism must be one of {', '.join(CASES)}; got {name!r}")
    found = []
    for name in names:
        subject, least = CASES[name]
        found.append(
            audit(
                subject,
                epsilon=claim,
                delta=least if delta is None and least else delta,
                samples=samples,
                exact=exact,
                name=name,
            )
        )
    if as_json:
        rows = [asdict(result) | {"verdict": result.verdict} for result in found]
        terminal.print_json({"audits": rows})
    else:
        table = terminal.table(
            "mechanism", "claim", "delta", "audited", "reach", "samples", "time", "verdict"
        )
        for result in found:
            table.add_row(
                result.name,
                f"{result.epsilon:g}",
                f"{result.delta:g}",
                f"{result.audited:.3f}",
                f"{result.reach:.0%}",
                f"{result.samples:,}",
                f"{result.seconds:.1f} s",
                result.verdict,
            )
        terminal.show(table)
    if not all(result.kept for result in found):
        raise typer.Exit(1)
