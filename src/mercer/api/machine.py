"""`mercer.classifier` and `mercer.regression`: kernel machines learnt with differential privacy.

M8, M12; Hall 2013, Sec. 4.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.api.calls import DryRun, Progress, Source, Terms, call
from mercer.api.machine_request import learn
from mercer.common.checks import check_choice, check_positive
from mercer.door.publish import LedgerLike
from mercer.releases.machine.kinds import ClassifierRelease, RegressionRelease
from mercer.rules.machines import threshold_rule
from mercer.sensitive.labels import Classes, Labels, Response
from mercer.spaces.losses import Hinge, Huber, Insensitive, Logistic, Loss, Pinball, Squared

__all__ = ["classifier", "regression"]

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
    band: float | None = None,
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
        "hinge" (default; the most accurate) or "logistic".  Both give probabilities.
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
    band
        Share of epsilon for the error band of noise in the objective, up to three columns: 0.05,
        0.1 where n epsilon is below 3000 and 0.15 below 500, unless given (M21).  With 0, and for
        more columns, the band is a bound that is many times too wide.
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
    choices = (kernel, bandwidth, features, size, points, constant, method, penalty, band)
    return learn(source, Labels(y, declared), lambda _n, _epsilon: functions, choices, build, "classifier")


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
    band: float | None = None,
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
    X, bounds, epsilon, delta, penalty, kernel, bandwidth, features, size, points, constant, band
        As in `mercer.classifier`.
    method
        Where the noise is: "objective" (default where it is proved), "output", the papers' way, or
        "moments", for squared loss with a delta: noise on sum phi phi' and sum y phi, and least
        squares afterwards (M21).  Then the error band costs nothing in any number of columns, and
        the penalty stays free: `release.smooth(penalty=0.01)`.  Default of squared loss with a
        delta, unless a share for the `band` of noise in the objective is given (up to three columns)
        or several penalties to choose from.
    y, y_bounds
        The response, an array or the name of a column of X, and its public (lower, upper):
        responses outside are clipped.
    loss
        "huber" (default): between the mean and the median, large residuals being counted by their
        size only; the mean itself from some 44,000 rows at epsilon = 1, where the threshold by the
        rule is the whole range.  "squared": the mean; the most accurate way to it from some 10,000
        rows at epsilon = 1 on, with a delta; with few rows Huber's loss has less noise.
        "epsilon-insensitive": small residuals do not count.  "pinball": quantile curves; several
        share the budget and never cross.
    quantiles
        Levels of the pinball loss, one or several; the median unless given.
    threshold, tube
        Where a residual is large (Huber), and where it is small (epsilon-insensitive), in the
        units of y.  Huber's by a public rule unless given: half the width of y_bounds times
        0.3 sqrt(n epsilon / 1000), at least 0.3 and at most 2.
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
    huber = None if threshold is None else _unit_share("threshold", threshold, half)
    middle = Insensitive(0.05 if tube is None else _unit_share("tube", tube, half), rounded)
    levels = _levels(0.5 if quantiles is None else quantiles)

    def functions(n: int, epsilon: float) -> list[tuple[Loss, None]]:
        if loss == "huber":
            return [(Huber(huber or threshold_rule(n=n, epsilon=epsilon)), None)]
        if loss == "pinball":
            return [(Pinball(level, rounded), None) for level in levels]
        return [(middle if loss == "epsilon-insensitive" else Squared(), None)]

    def build(fields: dict[str, Any], label: str) -> RegressionRelease:
        return RegressionRelease(**fields, response=label, y_bounds=(low, high))

    terms = Terms(epsilon, delta, unit, insist, dry_run, rng, ledger, dataset, progress)
    source = Source.of(terms, X, bounds, columns, missing, na_values, outside, formats)
    choices = (kernel, bandwidth, features, size, points, constant, method, penalty, band)
    return learn(
        source, Labels(y, response), functions, choices, build, "regression", squared=loss == "squared"
    )


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


def _unit_share(name: str, value: object, half: float) -> float:
    """A length in units of y as a share of half the width of its bounds."""
    share = check_positive(name, value, "in units of y") / half
    if not 1e-3 <= share <= 2:
        raise ValueError(
            f"{name} must be between 0.0005 and 1 times the width of y_bounds, got {share / 2:.3g} times"
        )
    return share
