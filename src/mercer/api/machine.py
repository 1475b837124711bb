"""`mercer.classifier` and `mercer.regression`: kernel machines learnt with differential privacy.

M8, M12; Hall 2013, Sec. 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from mercer.api.calls import DryRun, Progress, Source, Terms, call, pure
from mercer.api.recipes.machine import MachineRecipe
from mercer.columns.domain import MOST_COLUMNS, Box, dimension_of
from mercer.common.checks import Floats, check_choice, check_positive
from mercer.door.objective import Objective
from mercer.door.publish import LedgerLike, Payer, Rehearsed, publish
from mercer.noise.laws import Law
from mercer.noise.mechanisms import Exponential
from mercer.noise.mechanisms.base import no_delta
from mercer.promise.events import ApproximateEvent, Event, PureEvent
from mercer.promise.statement import Statement
from mercer.releases.findings import tell
from mercer.releases.machine.kinds import ClassifierRelease, RegressionRelease
from mercer.releases.machine.release import MachineRelease
from mercer.sensitive.base import Scores
from mercer.sensitive.labels import Classes, Labels, Response
from mercer.sensitive.persons import n_of
from mercer.sensitive.summaries.machine import MachineObjective, MachineSummary, held_scores
from mercer.sensitive.summaries.risk import Examples
from mercer.spaces.losses import Hinge, Huber, Insensitive, Logistic, Loss, Pinball, Squared

__all__ = ["classifier", "regression"]

M = TypeVar("M", bound=MachineRelease)

_REGRESSIONS = ("huber", "epsilon-insensitive", "pinball", "squared")


def _expected_machine(_given: object, _made: object) -> str:
    """What a dry run says that ends before the expected noise is known."""
    return "see mercer.classifier on made-up records of this kind, with a seed"


@call(_expected_machine)
def classifier(
    X: object,
    y: object,
    *,
    classes: Sequence[Any] | None = None,
    bounds: object = None,
    epsilon: float,
    delta: float | None = None,
    loss: str = "hinge",
    penalty: object = "rule",
    kernel: str = "gaussian",
    bandwidth: object = None,
    features: str | None = None,
    size: int | None = None,
    points: object = None,
    constant: float | None = None,
    method: str | None = None,
    width: float = 0.5,
    columns: object = None,
    unit: str | None = None,
    missing: str = "zero",
    na_values: object = None,
    outside: str = "clip",
    formats: object = None,
    insist: bool = False,
    dry_run: bool = False,
    rng: object = None,
    ledger: LedgerLike = None,
    dataset: str | None = None,
    progress: Progress | None = None,
) -> ClassifierRelease | DryRun:
    """Release a classifier with differential privacy: the decision function itself.

    Parameters
    ----------
    X
        Rows to learn from: an array, a data frame, an Arrow table, or the path of a CSV or Parquet
        file or folder.  Large files are streamed.
    y
        The class of each row: an array, or the name of a column of X.
    classes
        The classes: public, so they are declared.  Rows of any other class add nothing (M18); a
        class without rows is no error.  With more than two there is one function a class
        (one against the rest), and the budget is shared.
    bounds
        Public (lower, upper) for all columns, or one such pair for each.  Values outside are
        clipped.
    epsilon, delta
        The promise.  Delta left out (or 0) is pure differential privacy.
    loss
        "hinge" (default; the most accurate) or "logistic" (gives probabilities).
    width
        Over which the corner of the hinge loss is rounded.
    penalty
        "rule" (default): by a public rule in n, epsilon and delta.  A number: lambda in
        mean loss + lambda |f|^2.  A list: all are learnt, sharing the budget, and one is chosen on
        every fifth row, which is held out.  Rows must stand in an order that does not follow their
        values, since who is held out depends on it.
    kernel, bandwidth
        "gaussian", "exponential", "matern32", "matern52" or "linear"; its bandwidth in the units
        of the data, one for all columns or one each, or None for a public rule.
    features, size, points
        What is released are weights of public features: "eigenfunctions" (default up to three
        columns), "landmarks" (on a grid, or at public `points`), "random" (default above), or
        "taylor" (few; default for pure promises above three columns); and how many.
    constant
        The kernel is K + constant^2: it stands for the intercept, which may not be free of the
        penalty (M8).  None: 0 (the kernels here reach constants by themselves), 0.316 if linear.
    method
        Where the noise is: "objective" (default where it is proved) or "output", the papers' way.
    columns, unit, missing, na_values, outside, formats, insist, dry_run, rng, ledger, dataset, progress
        As in `mercer.density`.

    Examples
    --------
    >>> import mercer
    >>> import numpy as np
    >>> x = np.linspace(0, 1, 1000)
    >>> ill = mercer.classifier(x, x > 0.6, classes=(False, True), bounds=(0, 1), epsilon=1, rng=0)
    >>> ill.predict([0.1, 0.9]).tolist()
    [False, True]

    """
    declared = Classes.declared(classes)
    named = declared.names
    check_choice("loss", loss, ("logistic", "hinge"))
    one: Loss = Logistic() if loss == "logistic" else Hinge(_share("width", width))
    functions = [(one, place) for place in ([1] if len(named) == 2 else range(len(named)))]

    def build(fields: dict[str, Any], label: str) -> ClassifierRelease:
        return ClassifierRelease(**fields, classes=named, label=label)

    terms = Terms(epsilon, delta, unit, insist, dry_run, rng, ledger, dataset, progress)
    source = Source.of(terms, X, bounds, columns, missing, na_values, outside, formats)
    choices = (kernel, bandwidth, features, size, points, constant, method, penalty)
    return _learn(source, Labels(y, declared), functions, choices, build, "classifier")


@call(_expected_machine)
def regression(
    X: object,
    y: object,
    *,
    y_bounds: object = None,
    bounds: object = None,
    epsilon: float,
    delta: float | None = None,
    loss: str = "huber",
    quantiles: object = None,
    threshold: object = None,
    tube: object = None,
    width: float = 0.05,
    penalty: object = "rule",
    kernel: str = "gaussian",
    bandwidth: object = None,
    features: str | None = None,
    size: int | None = None,
    points: object = None,
    constant: float | None = None,
    method: str | None = None,
    columns: object = None,
    unit: str | None = None,
    missing: str = "zero",
    na_values: object = None,
    outside: str = "clip",
    formats: object = None,
    insist: bool = False,
    dry_run: bool = False,
    rng: object = None,
    ledger: LedgerLike = None,
    dataset: str | None = None,
    progress: Progress | None = None,
) -> RegressionRelease | DryRun:
    """Release a regression function with differential privacy.

    Parameters
    ----------
    X, bounds, epsilon, delta, penalty, kernel, bandwidth, features, size, points, constant, method
        As in `mercer.classifier`.
    y, y_bounds
        The response, an array or the name of a column of X, and its public (lower, upper):
        responses outside are clipped.
    loss
        "huber" (default): the mean, with large residuals counted by their size only.
        "epsilon-insensitive": small residuals do not count.  "pinball": quantile curves; several
        share the budget and never cross.  "squared": the mean; needs the most noise.
    quantiles
        Levels of the pinball loss, one or several; the median unless given.
    threshold, tube
        Where a residual is large (Huber), and where it is small (epsilon-insensitive), in the
        units of y.
    width
        Over which corners of the pinball and epsilon-insensitive losses are rounded, as a share
        of half the width of y_bounds.
    columns, unit, missing, na_values, outside, formats, insist, dry_run, rng, ledger, dataset, progress
        As in `mercer.density`.

    Examples
    --------
    >>> import mercer
    >>> import numpy as np
    >>> x = np.linspace(0, 1, 1000)
    >>> dose = mercer.regression(x, np.sin(6 * x), bounds=(0, 1), y_bounds=(-1, 1), epsilon=1,
    ...                          delta=1e-6, rng=0)
    >>> bool(abs(dose(0.25) - 1) < 0.4)
    True

    """
    response = Response.declared(y_bounds)
    low, high = response.lower, response.upper
    half = (high - low) / 2
    check_choice("loss", loss, _REGRESSIONS)
    for name, value, own in [
        ("quantiles", quantiles, "pinball"),
        ("threshold", threshold, "huber"),
        ("tube", tube, "epsilon-insensitive"),
    ]:
        if value is not None and loss != own:
            raise ValueError(f"{name} is for loss={own!r}, got loss={loss!r}; leave it out")
    rounded = _share("width", width)
    losses: tuple[Loss, ...]
    if loss == "huber":
        losses = (Huber(_unit_share("threshold", threshold, half, 0.3)),)
    elif loss == "epsilon-insensitive":
        losses = (Insensitive(_unit_share("tube", tube, half, 0.05), rounded),)
    elif loss == "pinball":
        losses = tuple(Pinball(level, rounded) for level in _levels(0.5 if quantiles is None else quantiles))
    else:
        losses = (Squared(),)

    def build(fields: dict[str, Any], label: str) -> RegressionRelease:
        return RegressionRelease(**fields, response=label, y_bounds=(low, high))

    terms = Terms(epsilon, delta, unit, insist, dry_run, rng, ledger, dataset, progress)
    source = Source.of(terms, X, bounds, columns, missing, na_values, outside, formats)
    choices = (kernel, bandwidth, features, size, points, constant, method, penalty)
    return _learn(source, Labels(y, response), [(one, None) for one in losses], choices, build, "regression")


def _learn(
    source: Source,
    labels: Labels,
    functions: Sequence[tuple[Loss, int | None]],
    choices: Sequence[object],
    build: Callable[[dict[str, Any], str], M],
    kind: str,
) -> M:
    """Read, check, charge, learn; `build` makes the release from the fields of any machine and a label.

    `choices` are those of `MachineRecipe.of`, in its order.
    """
    terms, bounds = source.terms, source.bounds
    recipe = MachineRecipe.of(functions, *choices, pure=no_delta(terms.delta), unit=terms.unit)
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
    recipe.check(domain)
    rows.progress(terms.tick)
    examples = Examples(rows, domain, "learnt" if chosen else "all")
    n = n_of(examples, rows.unit, source.missing)
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


def _levels(quantiles: object) -> tuple[float, ...]:
    """The levels of quantiles, checked and in order."""
    given: list[Any] = list(quantiles) if isinstance(quantiles, (Sequence, np.ndarray)) else [quantiles]
    levels = sorted(check_positive("quantiles", q, "levels in (0, 1)") for q in given)
    if not 1 <= len(levels) <= 16 or levels[-1] >= 1 or len(set(levels)) < len(levels):
        raise ValueError(
            f"quantiles must be 1 to 16 different levels in (0, 1), got {levels}; the median is 0.5"
        )
    return tuple(levels)


def _share(name: str, value: object) -> float:
    """A width in units of the loss, between 0.001 and 1."""
    number = check_positive(name, value, "0.1 is usual")
    if not 1e-3 <= number <= 1:
        raise ValueError(f"{name} must be in [0.001, 1], got {number!r}; 0.1 is usual")
    return number


def _unit_share(name: str, value: object, half: float, usual: float) -> float:
    """A length in units of y as a share of half the width of its bounds."""
    if value is None:
        return usual
    share = check_positive(name, value, "in units of y") / half
    if not 1e-3 <= share <= 2:
        raise ValueError(
            f"{name} must be between 0.0005 and 1 times the width of y_bounds, got {share / 2:.3g} times"
        )
    return share
