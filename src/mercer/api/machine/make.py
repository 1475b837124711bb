"""How a kernel machine of any kind is learnt and released.  M8, M12."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from mercer.api.calls import Terms
from mercer.api.machine.recipe import MachineRecipe
from mercer.api.shares import pure
from mercer.columns.domain import MOST_COLUMNS, Box, dimension_of
from mercer.common.checks import Floats, check_choice
from mercer.door.objective import Objective
from mercer.door.publish import Payer, Rehearsed, publish
from mercer.noise.laws import Law
from mercer.noise.mechanisms import Exponential
from mercer.noise.mechanisms.base import no_delta
from mercer.promise.events import ApproximateEvent, Event, PureEvent
from mercer.promise.statement import Statement
from mercer.releases.findings import tell
from mercer.releases.machine.release import MachineRelease
from mercer.sensitive.base import Scores
from mercer.sensitive.data import open_rows
from mercer.sensitive.labels import Labels, Target
from mercer.sensitive.persons import n_of
from mercer.sensitive.summaries.machine import MachineObjective, MachineSummary, held_scores
from mercer.sensitive.summaries.risk import Examples
from mercer.spaces.losses import Loss

__all__ = ["learn"]

M = TypeVar("M", bound=MachineRelease)


def learn(
    X: object,
    y: object,
    target: Target,
    functions: Sequence[tuple[Loss, int | None]],
    build: Callable[[dict[str, Any], str], M],
    terms: Terms,
    kind: str,
    *,
    bounds: object,
    columns: object,
    missing: str,
    na_values: object,
    outside: str,
    formats: object,
    **choices: object,
) -> M:
    """Read, check, charge, learn; `build` makes the release from the fields of any machine and a label.

    `functions` and `choices` are those of `MachineRecipe.of`.
    """
    recipe = MachineRecipe.of(functions, **choices, pure=no_delta(terms.delta), unit=terms.unit)
    reading = terms.reading(na_values, formats, outside, missing=missing)
    label = _label_of(y)
    what = f"{kind} of {label}"
    check_choice("missing", missing, ("zero", "drop"))
    promise, purse = terms.promise(recipe.mechanism), terms.purse(X)
    chosen = isinstance(recipe.penalty, tuple)
    if chosen and (terms.unit is not None or missing == "drop"):
        raise ValueError(
            "penalty: a choice among candidates holds out rows by their place; it goes neither "
            "with unit nor with missing='drop'; give one penalty or 'rule'"
        )
    one_pair = bounds is not None and np.array(bounds, dtype=object).shape == (2,)
    dimension = None if one_pair else dimension_of(bounds)
    rows = open_rows(
        X,
        columns=columns,
        unit=terms.unit,
        dimension=dimension,
        bounds=bounds,
        labels=Labels(y, target),
        reading=reading,
    )
    if columns is None and one_pair and len(rows.names) > 1 and not isinstance(X, np.ndarray):
        raise ValueError(
            "columns is missing: name the columns to learn from, or give bounds for each of them: "
            "(lower, upper) alone would take in every column there is, names and numbers of "
            "persons too"
        )
    if chosen and not rows.fixed:
        raise ValueError(
            "penalty: a choice among candidates holds out rows by their place, which a damaged "
            "line of a CSV file would move; use a Parquet file or a data frame, one penalty, or "
            "'rule'"
        )
    spread: Any = [bounds] * len(rows.names) if one_pair else bounds
    domain = Box.of(spread, rows.names, most=MOST_COLUMNS)
    recipe.check(domain)
    rows.progress(terms.tick)
    examples = Examples(rows, domain, "learnt" if chosen else "all")
    n = n_of(examples, rows.unit, missing)
    features = recipe.map(domain, n=n, epsilon=promise["epsilon"])
    penalties = recipe.candidates(features, n=n, promise=promise)
    persons = rows.unit is not None
    moves = persons or not rows.fixed
    limits = recipe.bounds(features, penalties, n, promise, moves=moves, persons=persons)
    for _ in range(25):  # the rule's penalty, or the next that doubles can solve
        if recipe.penalty is not None or recipe.sound(limits, promise):
            break
        penalties = (1.15 * penalties[0],)
        limits = recipe.bounds(features, penalties, n, promise, moves=moves, persons=persons)
    recipe.warn(limits, promise)
    summary = MachineSummary(examples, limits, unit=rows.unit or "row")
    held = Examples(rows, domain, "held") if chosen else None
    whole = n + (held.rows if held is not None else 0)
    how = "private" if chosen else "given" if recipe.penalty is not None else "rule"

    def releases(noisy: Floats, law: Law, statement: Statement) -> list[M]:
        """A release for each penalty, by which its weights were multiplied before the noise."""
        out = []
        for penalty, part in zip(penalties, np.split(noisy, len(penalties)), strict=True):
            share = float(law.deviations(len(noisy))[0] / law.deviations(len(part))[0])
            fields = {
                "domain": domain,
                "privacy": statement,
                "features": features,
                "losses": recipe.losses,
                "coordinates": part,
                "noise": replace(law, scale=law.scale * share),
                "method": recipe.method,
                "penalty": penalty,
                "choice": how,
                "gap": limits.gap,
                "shrink": False,
            }
            out.append(build(fields, label))
        return out

    inside = recipe.method == "objective"

    def noised(payer: Payer) -> list[M]:
        """With noise in the objective, or in the weights."""
        if inside:
            source = MachineObjective(summary)
            return publish(source, Objective(source), releases, payer, promise=promise, what=what)
        return publish(summary, recipe.mechanism, releases, payer, promise=promise, what=what)

    def drawn() -> M:
        if held is None:
            return tell(noised(purse)[0])
        event: Event = ApproximateEvent(**promise) if promise["delta"] else PureEvent(promise["epsilon"])
        words = f"{summary.note}; penalty chosen on every fifth row by the exponential mechanism"
        recipe.calibrated(summary, promise)  # whatever is wrong is found before the charge
        paid = purse.pay(
            (event,),
            promise=promise,
            n=whole,
            unit="row",
            words=(Objective.words if inside else recipe.mechanism.words) + words,
            calibration="exact",
            what=what,
        )
        learnt, kept_back = paid.parts([n, held.rows])
        made = noised(learnt)
        machines = limits.machines[: len(recipe.losses)]
        scores, moved = held_scores(held, features, machines, [release.weights for release in made])
        kept = Scores(scores, moved, n=held.rows, unit="row")  # rows that nothing else was learnt from
        chosen = pure(promise["epsilon"])
        return tell(publish(kept, Exponential(), lambda place, *_: made[place], kept_back, promise=chosen))

    try:
        return drawn()
    except Rehearsed as dry:
        dry.expected = recipe.expected(limits, promise)
        raise


def _label_of(y: object) -> str:
    """The name of the column of labels: given, that of a series, or "y"."""
    name = y if isinstance(y, str) else getattr(y, "name", None)
    return name if isinstance(name, str) else "y"
