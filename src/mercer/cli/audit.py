"""`mercer audit`: every mechanism on its worst neighbours."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from mercer.cli.terms import Json
from mercer.show import terminal

__all__ = ["audit_command"]


def audit_command(
    mechanism: Annotated[
        str | None, typer.Argument(help="Name of a mechanism; or --all.", show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Audit every mechanism.")] = False,
    epsilon: Annotated[float, typer.Option(help="The claim.")] = 1.0,
    delta: Annotated[float | None, typer.Option(help="The claim, where the mechanism needs one.")] = None,
    samples: Annotated[
        int | None, typer.Option(help="Runs on each neighbour; by default enough to come near.")
    ] = None,
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
                epsilon=epsilon,
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
        terminal.console().print(table)
    if not all(result.kept for result in found):
        raise typer.Exit(1)
