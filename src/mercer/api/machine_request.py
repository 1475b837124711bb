"""How a machine is learnt, its penalty chosen and its error band paid for.  M8, M12, M21."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np

from mercer.api.calls import Source, beside, check_share, pure
from mercer.api.recipes.machine import MachineRecipe
from mercer.api.recipes.moments import MomentPlan
from mercer.columns.domain import MOST_COLUMNS, Box, dimension_of
from mercer.common.checks import Floats, Ints
from mercer.door.objective import Objective, tilted_noise
from mercer.door.publish import Payer, Purse, Rehearsed, publish
from mercer.noise.count_laws import CountLaw
from mercer.noise.laws import Law
from mercer.noise.mechanisms import Exponential, Gaussian
from mercer.noise.mechanisms.base import Promise, no_delta
from mercer.noise.mechanisms.counts import GeometricCounts
from mercer.promise.events import ApproximateEvent, Event, PureEvent
from mercer.promise.statement import Statement
from mercer.releases.findings import tell
from mercer.releases.machine.curvature import Curvature
from mercer.releases.machine.moments import NoisyMoments
from mercer.releases.machine.release import MachineRelease
from mercer.sensitive.base import Scores
from mercer.sensitive.labels import Labels
from mercer.sensitive.persons import n_of
from mercer.sensitive.summaries.curvature import CurvatureCells, curvature_bound
from mercer.sensitive.summaries.machine import MachineBounds, MachineObjective, MachineSummary, held_scores
from mercer.sensitive.summaries.moments import MomentSums
from mercer.sensitive.summaries.risk import Examples, Machine
from mercer.spaces.losses import Loss
from mercer.spaces.maps import FeatureMap
from mercer.spaces.meshes import CellMesh

__all__ = ["learn"]

M = TypeVar("M", bound=MachineRelease)
Functions: TypeAlias = Callable[[int, float], Sequence[tuple[Loss, int | None]]]

_FINE = {1: 64, 2: 16, 3: 5}  # nodes along a side of a cell, at which the function is looked up
_PART = 1 << 12  # nodes at a time


def learn(
    source: Source,
    labels: Labels,
    functions: Functions,
    choices: Sequence[object],
    build: Callable[[dict[str, Any], str], M],
    kind: str,
    *,
    squared: bool = False,
) -> M:
    """Read, check, charge, learn; `build` makes the release from the fields of any machine and a label.

    `functions` says what is learnt from so many rows with this epsilon; `choices` are those of
    `MachineRecipe.of`, in its order; `squared` whether moments are enough for it.
    """
    terms, bounds = source.terms, source.bounds
    recipe = MachineRecipe.of((), *choices, pure=no_delta(terms.delta), unit=terms.unit, squared=squared)
    named = labels.column or getattr(labels.values, "name", None)  # a series has a name
    label = named if isinstance(named, str) else "y"
    what = f"{kind} of {label}"
    promise, purse = terms.promise(recipe.mechanism), terms.purse(source.data)
    chosen = isinstance(recipe.penalty, tuple)
    if chosen and (terms.unit is not None or source.missing == "drop"):
        raise ValueError(
            "penalty: a choice among candidates holds out rows by their place; it goes neither "
            "with unit nor with missing='drop'; give one penalty or 'rule'"
        )
    one_pair = bounds is not None and np.array(bounds, dtype=object).shape == (2,)
    dimension = None if one_pair else dimension_of(bounds)
    rows = source.rows(dimension, labels)
    several = len(rows.names) > 1 and not isinstance(source.data, np.ndarray)
    if one_pair and several and source.columns is None:
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
    recipe = recipe.settled(domain)
    recipe.check(domain)
    rows.progress(terms.tick)
    examples = Examples(rows, domain, "learnt" if chosen else "all")
    n = n_of(examples, rows.unit, source.missing)
    recipe = replace(recipe, functions=tuple(functions(n, promise["epsilon"])))
    recipe, promise = recipe.quieter(domain, n=n, promise=promise)
    features = recipe.map(domain, n=n, epsilon=promise["epsilon"])
    moves = rows.unit is not None or not rows.fixed
    if recipe.method == "moments":
        given = recipe.penalty if isinstance(recipe.penalty, float) else None
        plan = MomentPlan(features, n, promise, given)
        sums = MomentSums(examples, features, plan.span, n=n, unit=rows.unit or "row", moves=moves)
        fields = {"domain": domain, "losses": recipe.losses}
        return _from_moments(plan, sums, lambda more: build(fields | more, label), purse, what)
    band = BandPlan.of(recipe, domain, features, promise, n=n)
    learning = band.learning
    penalties = recipe.candidates(features, n=n, promise=learning)
    persons = rows.unit is not None
    limits = recipe.bounds(features, penalties, n, learning, moves=moves, persons=persons)
    for _ in range(25):  # the rule's penalty, or the next that doubles can solve
        if recipe.penalty is not None or recipe.sound(limits, learning):
            break
        penalties = (1.15 * penalties[0],)
        limits = recipe.bounds(features, penalties, n, learning, moves=moves, persons=persons)
    recipe.warn(limits, learning)
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
            return publish(source, Objective(source), releases, payer, promise=learning, what=what)
        return publish(summary, recipe.mechanism, releases, payer, promise=learning, what=what)

    def banded(release: M, payer: Payer) -> M:
        """With the curvature for its band, if that was paid for."""
        alike = [machine for machine in limits.machines if machine.penalty == release.penalty]
        machines = alike[: len(recipe.losses)]
        return band.spend(release, examples, machines, limits, payer, unit=summary.unit, what=what)

    def drawn() -> M:
        if held is None and not band:
            return tell(noised(purse)[0])
        event: Event = ApproximateEvent(**learning) if learning["delta"] else PureEvent(learning["epsilon"])
        words = summary.note + band.words
        if held is not None:
            words += "; penalty chosen on every fifth row by the exponential mechanism"
        recipe.calibrated(summary, learning)  # whatever is wrong is found before the charge
        band.check(limits.machines[: len(recipe.losses)])
        paid = purse.pay(
            (event, *band.events),
            promise=promise,
            n=whole,
            unit="row",
            words=(Objective.words if inside else recipe.mechanism.words) + words,
            calibration="exact",
            what=what,
        )
        if held is None:
            return tell(banded(noised(paid)[0], paid))
        learnt, kept_back = paid.parts([n, held.rows])
        made = noised(learnt)
        machines = limits.machines[: len(recipe.losses)]
        scores, moved = held_scores(held, features, machines, [release.weights for release in made])
        kept = Scores(scores, moved, n=held.rows, unit="row")  # rows that nothing else was learnt from
        best = publish(
            kept, Exponential(), lambda place, *_: made[place], kept_back, promise=pure(learning["epsilon"])
        )
        return tell(banded(best, learnt))

    try:
        return drawn()
    except Rehearsed as dry:
        dry.expected = recipe.expected(limits, learning) + band.expected
        raise


def _from_moments(
    plan: MomentPlan, sums: MomentSums, build: Callable[[dict[str, Any]], M], purse: Purse, what: str
) -> M:
    """Charge for the moments and draw their noise; the function and its band follow from them."""
    plan.warn()

    def made(noisy: Floats, law: Law, statement: Statement) -> M:
        moments = NoisyMoments(plan.span.ratio)
        sd = float(law.deviations(len(noisy))[0])
        penalty = plan.given or moments.rule(plan.features, sd, plan.n)
        return build(
            {
                "privacy": statement,
                "features": plan.features,
                "coordinates": noisy,
                "noise": law,
                "method": "moments",
                "penalty": penalty,
                "choice": "rule" if plan.given is None else "given",
                "gap": 0.0,
                "shrink": False,
                "moments": moments,
            }
        )

    try:
        return tell(publish(sums, Gaussian(), made, purse, promise=plan.promise, what=what))
    except Rehearsed as dry:
        dry.expected = plan.expected
        raise


@dataclass(frozen=True)
class BandPlan:
    """What is public of the band: its epsilon beside the machine's, and where curvature is counted."""

    epsilon: float  # of the counts; 0 where there is no band
    learning: Promise  # of the machine alone
    mesh: CellMesh | None = None

    @classmethod
    def of(
        cls, recipe: MachineRecipe, domain: Box, features: FeatureMap, promise: Promise, *, n: int
    ) -> Self:
        """By the caller's share of the budget, or by the public rule."""
        whole = promise["epsilon"]
        share = recipe.band_share(domain, features, n=n, epsilon=whole)
        if not share:
            return cls(0.0, promise)
        counts = whole * share
        check_share(counts, 1)
        cells = recipe.cells(domain, n=n, epsilon=whole, counts=counts)
        alone = Promise(epsilon=beside(counts, whole), delta=promise["delta"])
        return cls(counts, alone, CellMesh(cells, _FINE[len(cells)]))

    def __bool__(self) -> bool:
        return self.mesh is not None

    @property
    def events(self) -> tuple[PureEvent, ...]:
        """What the counts cost."""
        return (PureEvent(self.epsilon),) if self else ()

    @property
    def words(self) -> str:
        """A description for the statement."""
        if self.mesh is None:
            return ""
        return (
            f"; second derivatives of the loss in {self.mesh.count} cells, for the error band, by "
            f"{GeometricCounts.words}, epsilon = {self.epsilon:g} of it"
        )

    @property
    def expected(self) -> str:
        """What a dry run says of it."""
        if not self:
            return ""
        return f"; the error band is estimated with epsilon = {self.epsilon:g} of the promise"

    def check(self, machines: Sequence[Machine]) -> None:
        """Raise the errors of the counts' noise, before anything is charged."""
        if self:
            GeometricCounts().calibrate(curvature_bound(machines), epsilon=self.epsilon)

    def spend(
        self,
        release: M,
        examples: Examples,
        machines: Sequence[Machine],
        limits: MachineBounds,
        payer: Payer,
        *,
        unit: str,
        what: str,
    ) -> M:
        """The release with its curvature, counted on the rows that it was learnt from."""
        if self.mesh is None:
            return release
        mesh, nodes = self.mesh, self.mesh.nodes()
        values = np.concatenate(
            [
                release.features.features(nodes[start : start + _PART]) @ release.weights.T
                for start in range(0, len(nodes), _PART)
            ]
        ).T
        noise = tilted_noise(limits, **self.learning)
        source = CurvatureCells(examples, machines, mesh, values, n=limits.n, unit=unit)

        def build(noisy: Ints, law: CountLaw, _statement: object) -> M:
            found = Curvature(
                mesh.finer(1),
                np.reshape(noisy, (len(machines), mesh.count)),
                machines[0].loss.steps,
                law,
                noise.tilt.scale,
                float(noise.finish.law.deviations(limits.size)[0]),
                limits.n,
            )
            return replace(release, curvature=found)

        return publish(source, GeometricCounts(), build, payer, promise=pure(self.epsilon), what=what)
