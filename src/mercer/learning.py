"""Private classifiers and regressions: labelled rows and a budget in, a function out.  Layer 6.

M8; Hall 2013, Sec. 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mercer import entropy
from mercer.checks import Floats, check_choice, check_positive
from mercer.data import Answer, Rows, open_rows
from mercer.domain import Domain
from mercer.laws import Law
from mercer.losses import Hinge, Huber, Insensitive, Logistic, Loss, Pinball, Squared
from mercer.machine_recipes import MachineRecipe
from mercer.machines import ClassifierRelease, MachineRelease, RegressionRelease
from mercer.mechanisms.base import check_promise, no_delta
from mercer.publish import LedgerLike, Purse, perturb, publish
from mercer.recipes import dimension_of
from mercer.statements import Statement
from mercer.storage import MOST_COLUMNS
from mercer.summaries import Examples, MachineBounds, MachineSummary
from mercer.targets import Classes, Response, Target

__all__ = ["classifier", "regression"]

_REGRESSIONS = ("huber", "epsilon-insensitive", "pinball", "squared")
_MOST_CLASSES = 64


@np.errstate(all="ignore")  # a caller's settings must not turn a value into an exception
def classifier(
    X: object,
    y: object,
    *,
    classes: Sequence[Any] | None = None,
    bounds: object = None,
    epsilon: object = None,
    delta: object = None,
    loss: str = "logistic",
    penalty: object = "rule",
    kernel: str = "gaussian",
    bandwidth: object = None,
    features: str | None = None,
    size: int | None = None,
    points: object = None,
    constant: float | None = None,
    method: str | None = None,
    width: float = 0.1,
    columns: object = None,
    unit: str | None = None,
    missing: str = "zero",
    rng: object = None,
    ledger: LedgerLike = None,
    dataset: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> ClassifierRelease:
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
        "logistic" (default; gives probabilities) or "hinge" (support vectors), its corner rounded
        over `width`.
    penalty
        "rule" (default): by a public rule in n, epsilon and delta.  A number: lambda in
        mean loss + lambda |f|^2.  A list: one of them is chosen with a share of the budget, on
        rows that are held out.
    kernel, bandwidth
        "gaussian", "exponential", "matern32", "matern52" or "linear"; its bandwidth in the units
        of the data, one for all columns or one each, or None for a public rule.
    features, size, points
        What is released are weights of public features: "eigenfunctions" (default up to three
        columns), "landmarks" (on a grid, or at public `points`), "random" (default above), or
        "taylor" (few; default for pure promises above three columns); and how many.
    constant
        The kernel is K + constant^2: it stands for the intercept, which may not be free of the
        penalty (M8).
    method
        Where the noise is: "objective" (default where it is proved) or "output", the papers' way.
    columns, unit, missing, rng, ledger, dataset, progress
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
    named = _classes(classes)
    check_choice("loss", loss, ("logistic", "hinge"))
    one: Loss = Logistic() if loss == "logistic" else Hinge(_share("width", width))
    losses = (one,) * (1 if len(named) == 2 else len(named))
    recipe = MachineRecipe.of(
        losses, kernel=kernel, bandwidth=bandwidth, features=features, size=size, points=points,
        constant=constant, method=method, penalty=penalty, pure=no_delta(delta), unit=unit,
    )  # fmt: skip
    label = _named(y)

    def build(fields: dict[str, Any]) -> ClassifierRelease:
        return ClassifierRelease(**fields, classes=named, label=label)

    return _learn(
        X, y, Classes(named), recipe, build, f"classifier of {label}", bounds=bounds,
        epsilon=epsilon, delta=delta, columns=columns, unit=unit, missing=missing, rng=rng,
        ledger=ledger, dataset=dataset, progress=progress,
    )  # fmt: skip


@np.errstate(all="ignore")
def regression(
    X: object,
    y: object,
    *,
    y_bounds: object = None,
    bounds: object = None,
    epsilon: object = None,
    delta: object = None,
    loss: str = "huber",
    quantiles: object = 0.5,
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
    rng: object = None,
    ledger: LedgerLike = None,
    dataset: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> RegressionRelease:
    """Release a regression function with differential privacy.

    Parameters
    ----------
    X, bounds, epsilon, delta, penalty, kernel, bandwidth, features, size, points, constant, method
        As in `mercer.classifier`.
    y, y_bounds
        The response, an array or the name of a column of X, and its public (lower, upper):
        responses outside are clipped.
    loss
        "huber" (default): the mean, with residuals above `threshold` (units of y) counted by
        their size only.  "epsilon-insensitive": residuals below `tube` do not count.  "pinball":
        quantile curves, one for each level in `quantiles`; several share the budget and never
        cross.  "squared": the mean; needs the most noise.
    width
        Over which corners of the pinball and epsilon-insensitive losses are rounded, as a share
        of half the width of y_bounds.
    columns, unit, missing, rng, ledger, dataset, progress
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
    low, high = _response(y_bounds)
    half = (high - low) / 2
    check_choice("loss", loss, _REGRESSIONS)
    rounded = _share("width", width)
    losses: tuple[Loss, ...]
    if loss == "huber":
        losses = (Huber(_unit_share("threshold", threshold, half, 0.1)),)
    elif loss == "epsilon-insensitive":
        losses = (Insensitive(_unit_share("tube", tube, half, 0.05), rounded),)
    elif loss == "pinball":
        losses = tuple(Pinball(level, rounded) for level in _levels(quantiles))
    else:
        losses = (Squared(),)
    recipe = MachineRecipe.of(
        losses, kernel=kernel, bandwidth=bandwidth, features=features, size=size, points=points,
        constant=constant, method=method, penalty=penalty, pure=no_delta(delta), unit=unit,
    )  # fmt: skip
    label = _named(y)

    def build(fields: dict[str, Any]) -> RegressionRelease:
        return RegressionRelease(**fields, response=label, y_bounds=(low, high))

    return _learn(
        X, y, Response(low, high), recipe, build, f"regression of {label}", bounds=bounds,
        epsilon=epsilon, delta=delta, columns=columns, unit=unit, missing=missing, rng=rng,
        ledger=ledger, dataset=dataset, progress=progress,
    )  # fmt: skip


def _learn(
    X: object,
    y: object,
    target: Target,
    recipe: MachineRecipe,
    build: Callable[[dict[str, Any]], Any],
    what: str,
    *,
    bounds: object,
    epsilon: object,
    delta: object,
    columns: object,
    unit: str | None,
    missing: str,
    rng: object,
    ledger: LedgerLike,
    dataset: str | None,
    progress: Callable[[int], None] | None,
) -> Any:
    check_choice("missing", missing, ("zero", "drop"))
    promise = check_promise(recipe.mechanism, epsilon, delta)
    purse = Purse.of(entropy.resolve(rng), ledger, dataset, data=X, unit=unit)
    dimension = None if np.shape(bounds) == (2,) else dimension_of(bounds)
    rows = open_rows(X, columns=columns, unit=unit, dimension=dimension, answer=Answer(y, target))
    domain = Domain.of(_spread(bounds, len(rows.names)), rows.names, most=MOST_COLUMNS)
    features = recipe.map(domain)
    if progress is not None:
        rows.progress(progress)
    examples = Examples(rows, domain)
    n = _count(examples, rows, missing)
    penalty = recipe.ruled(features, n=n, promise=promise) if recipe.penalty is None else recipe.penalty  # noqa: E501
    assert isinstance(penalty, float)
    limits = MachineBounds(recipe.losses, features, penalty, n)
    recipe.warn(limits, promise)
    summary = MachineSummary(examples, limits, unit=rows.unit or "row")

    def release(noisy: Floats, law: Law, statement: Statement) -> MachineRelease:
        built: MachineRelease = build(
            {
                "domain": domain, "privacy": statement, "features": features,
                "losses": recipe.losses, "coordinates": noisy, "noise": law,
                "method": recipe.method, "penalty": penalty,
                "choice": "rule" if recipe.penalty is None else "given", "gap": limits.gap,
                "shrink": recipe.method == "output",
            }  # fmt: skip
        )
        return built

    if recipe.method == "objective":
        return perturb(summary, release, purse, promise=promise, what=what)
    return publish(summary, recipe.mechanism, release, purse, promise=promise, what=what)


def _count(examples: Examples, rows: Rows, missing: str) -> int:
    """n: public.  The number of rows, of persons, or of complete rows if that is public."""
    if rows.unit is not None:
        if missing == "drop":
            raise ValueError("missing='drop' cannot be combined with unit; drop the rows first")
        n, what = examples.persons, f"different {rows.unit!r}"
    else:
        n, what = (examples.complete if missing == "drop" else examples.rows), "rows"
    if n < 2:
        raise ValueError(f"data must have at least 2 {what}, got {n}; nothing was spent")
    return n


def _spread(bounds: object, columns: int) -> object:
    """One pair for all columns, or one each."""
    return [bounds] * columns if np.shape(bounds) == (2,) and columns > 1 else bounds  # type: ignore[arg-type]


def _classes(classes: Sequence[Any] | None) -> tuple[Any, ...]:
    if classes is None:
        raise ValueError(
            "classes is missing: which classes there are is public and cannot be read from the "
            "data; declare them, for example classes=('healthy', 'ill')"
        )
    if isinstance(classes, str) or not isinstance(classes, (Sequence, np.ndarray)):
        raise TypeError(f"classes must be a list of classes, got {type(classes).__name__}")
    named = tuple(c.item() if isinstance(c, np.generic) else c for c in classes)
    if not all(isinstance(c, (str, int, float)) for c in named):
        raise TypeError("classes must be text, whole numbers, numbers or True and False")
    if len(set(map(str, named))) < len(named) or len(set(named)) < len(named):
        raise ValueError(f"classes must be different, got {list(named)}")
    if not 2 <= len(named) <= _MOST_CLASSES:
        raise ValueError(
            f"classes must be 2 to {_MOST_CLASSES}, got {len(named)}; declare all that can occur"
        )
    return named


def _response(y_bounds: object) -> tuple[float, float]:
    if y_bounds is None:
        raise ValueError(
            "y_bounds is missing: the range of the response is public and cannot be read from the "
            "data; give (lower, upper)"
        )
    return Domain.of(y_bounds, ("y_bounds",)).bounds[0]


def _levels(quantiles: object) -> tuple[float, ...]:
    given: list[Any] = list(quantiles) if isinstance(quantiles, (Sequence, np.ndarray)) else [quantiles]  # fmt: skip  # noqa: E501
    levels = sorted(check_positive("quantiles", q, "levels in (0, 1)") for q in given)
    if not 1 <= len(levels) <= 16 or levels[-1] >= 1 or len(set(levels)) < len(levels):
        raise ValueError(
            f"quantiles must be 1 to 16 different levels in (0, 1), got {levels}; the median is 0.5"
        )
    return tuple(levels)


def _share(name: str, value: object) -> float:
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
            f"{name} must be between 0.0005 and 1 times the width of y_bounds, got "
            f"{share / 2:.3g} times"
        )
    return share


def _named(y: object) -> str:
    name = y if isinstance(y, str) else getattr(y, "name", None)
    return name if isinstance(name, str) else "y"
