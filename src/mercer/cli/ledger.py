"""The commands `mercer ledger …`: budgets of datasets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mercer.cli.options import Drawing, Json, Options, command
from mercer.cli.typed import required
from mercer.show import terminal

if TYPE_CHECKING:
    from mercer.ledger.ledger import Ledger

__all__ = ["ledger_app"]

ledger_app = typer.Typer(
    no_args_is_help=True, help="Budgets that last: totals of datasets, what is spent, what is left."
)
Place = Annotated[str, typer.Argument(metavar="LEDGER", help="A ledger: a file, or a postgresql:// URL.")]
Name = Annotated[str | None, typer.Option("--dataset", help="Name of the dataset.")]
Total = Annotated[float | None, typer.Option(help="Total epsilon of all its releases. Required.")]
TotalDelta = Annotated[float, typer.Option(help="Total delta; 0 admits pure releases only.")]
Unit = Annotated[str, typer.Option(help="row, or the column that names a person.")]
Data = Annotated[
    Path | None, typer.Option(help="The records: a note beside them keeps other ledgers from counting them.")
]


@dataclass(frozen=True)
class Budget(Options):
    """What a dataset is registered with, once and for all."""

    epsilon: Total = None
    delta: TotalDelta = 0.0
    unit: Unit = "row"
    data: Data = None


@ledger_app.command(no_args_is_help=True)
@command()
def create(*, place: Place, dataset: Name, budget: Budget, as_json: Json = False) -> None:
    """Make a ledger and register a dataset with its total.

    [bold]Example:[/bold] mercer ledger create budgets.db --dataset admissions --epsilon 3
    --delta 1e-5
    """
    if dataset is None and budget.epsilon is not None:
        raise ValueError("dataset is missing; give it with --dataset")
    from mercer.ledger.ledger import Ledger, make_with
    from mercer.ledger.store import store_of

    if dataset is None or store_of(place).exists():
        ledger = Ledger.create(place)
    else:
        ledger = make_with(place, dataset, **budget.given())
    _registered(ledger, dataset, True, as_json)


@ledger_app.command(no_args_is_help=True)
@command()
def register(*, place: Place, dataset: Name, budget: Budget, as_json: Json = False) -> None:
    """Register a dataset with its total, once and for all; a ledger is made if there is none.

    [bold]Example:[/bold] mercer ledger register budgets.db --dataset visits --epsilon 1
    """
    name = required("dataset", dataset)
    from mercer.ledger.ledger import make_with
    from mercer.ledger.store import store_of

    if made := not store_of(place).exists():
        ledger = make_with(place, name, **budget.given())
    else:
        ledger = _open(place)
        ledger.register(name, **budget.given())
    _registered(ledger, name, made, as_json)


@ledger_app.command(no_args_is_help=True)
@command()
def show(
    *,
    place: Place,
    dataset: Name,
    at_delta: Annotated[
        float | None, typer.Option(help="Delta of the Gaussian release that would still fit.")
    ],
    output: Drawing,
    attack: Annotated[Path | None, typer.Option(help="Draw what an attacker with all releases can do.")],
    as_json: Json = False,
) -> None:
    """What is spent and what is left of each dataset, and what an attacker can do with it.

    [bold]Example:[/bold] mercer ledger show budgets.db --dataset admissions -o budgets.png
    --attack attack.png
    """
    ledger = _open(place)
    names = list(ledger.datasets) if dataset is None else [dataset]
    left = [ledger.remaining(name, delta=at_delta) for name in names]
    if attack is not None and len(names) != 1:
        raise ValueError(f"--attack draws one dataset; name one with --dataset: {', '.join(names)}")
    if output is not None:
        _draw(ledger, names, output)
    if attack is not None:
        _draw_attack(ledger, names, attack)
    if as_json:
        fields = {"ledger": ledger.id, "datasets": [one.to_dict() for one in left]}
        terminal.print_json(fields | ({} if output is None else {"file": str(output)}))
        return
    rows = terminal.table("dataset", "releases", "sum of epsilon", "sum of delta", "used")
    for one in left:
        rows.add_row(
            one.dataset,
            str(one.releases),
            f"{one.spent_epsilon:g} of {one.total_epsilon:g}",
            f"{one.spent_delta:g} of {one.total_delta:g}",
            _bar(one.share),
        )
    terminal.show(rows)
    for one in left:
        print(f"{one.dataset}: {one.offer}.")
        if one.releases:
            found = ledger.power(one.dataset)
            print(
                f"{one.dataset}: with all its releases ({one.releases}) a test that is wrong in "
                f"5 % of the cases on one side finds the truth in at most {found:.1%} on the other."
            )
    if not left:
        print("No dataset yet: mercer ledger register")
    if output is not None:
        print(f"Picture written to {output}")
    if attack is not None:
        print(f"Picture written to {attack}")


@ledger_app.command(no_args_is_help=True)
@command()
def history(*, place: Place, dataset: Name, as_json: Json = False) -> None:
    """All charges, in order; the chain of digests is checked.

    [bold]Example:[/bold] mercer ledger history budgets.db --dataset admissions
    """
    ledger = _open(place)
    charges = ledger.history(dataset)
    if as_json:
        terminal.print_json({"ledger": ledger.id, "charges": [c.to_dict() for c in charges]})
        return
    rows = terminal.table("dataset", "no.", "time (UTC)", "epsilon", "delta", "what")
    for c in charges:
        rows.add_row(
            c.dataset, str(c.number), c.time[:16].replace("T", " "), f"{c.epsilon:g}", f"{c.delta:g}", c.what
        )
    terminal.show(rows)


def _open(place: str) -> Ledger:
    from mercer.ledger.ledger import Ledger

    return Ledger.open(place)


def _registered(ledger: Ledger, name: str | None, made: bool, as_json: bool) -> None:
    if as_json:
        fields: dict[str, Any] = {"ledger": ledger.id, "where": ledger.where, "made": made}
        if name is not None:
            fields["dataset"] = ledger.remaining(name).to_dict()
        terminal.print_json(fields)
        return
    if made:
        print(f"Ledger {ledger.where} made.")
    if name is None:
        print("Register a dataset: mercer ledger register")
    else:
        print(f"In ledger {ledger.where}: {ledger.remaining(name)}")


def _bar(share: float) -> str:
    """A share of a budget as a bar of ten blocks and a percentage."""
    full = round(10 * min(1.0, share))
    return "█" * full + "░" * (10 - full) + f" {share:4.0%}"


def _draw_attack(ledger: Ledger, names: list[str], output: Path) -> None:
    """Draw the power of the best test against the releases of one dataset, and against its total."""
    from mercer.promise.events import ApproximateEvent, power
    from mercer.show.figure import draw_attack

    one = ledger.dataset(names[0])
    total = (ApproximateEvent(one.epsilon, one.delta),)
    events = [event for charge in ledger.history(names[0]) for event in charge.events]
    curves: dict[str, Callable[[float], float]] = {"when all is spent": lambda a: power(total, a)}
    if events:
        curves = {"with all releases so far": lambda a: min(power(events, a), power(total, a)), **curves}
    promise = f"{names[0]}: epsilon = {one.epsilon:g}, delta = {one.delta:g}, one {one.unit}"
    draw_attack(curves, "What an attacker can do", promise, output)


def _draw(ledger: Ledger, names: list[str], output: Path) -> None:
    """Draw which share of each total the releases have used."""
    from mercer.promise.filter import PrivacyFilter
    from mercer.show.figure import draw_spending

    if not names:
        raise ValueError("output: there is no dataset to draw; mercer ledger register")
    shares: dict[str, Sequence[float]] = {}
    totals: dict[str, str] = {}
    for name in names:
        one = ledger.dataset(name)
        total, costs = PrivacyFilter(one.epsilon, one.delta), [c.cost for c in ledger.history(name)]
        shares[name] = total.shares(costs)
        promise = "pure" if one.delta == 0 else f"delta = {one.delta:g}"
        totals[name] = f"epsilon = {one.epsilon:g}, {promise}, one {one.unit}"
    draw_spending(shares, totals, "What the releases have used", output)
