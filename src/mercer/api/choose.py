"""Private quantiles, spreads, bandwidths and choices.  M12; docs/proofs/selection.md.

Every function reads the records into an integer tally, computes scores whose sensitivity is
proved, goes through the door (`door.publish`), and only then draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from mercer.api.bandwidths import cv_bandwidth, private_bandwidth, scott_bandwidth
from mercer.api.calls import call
from mercer.api.expected_choices import of_fit, of_quantiles, of_selection, of_spread
from mercer.api.ranks import draw_ends, draw_quantiles, draw_spread, propose_test_release
from mercer.api.shares import ENDS, pure, shares
from mercer.columns.domain import Domain
from mercer.columns.reading import Reading
from mercer.common.checks import (
    Floats,
    Ints,
    check_choice,
    check_count,
    check_delta,
    check_epsilon,
    check_positive,
)
from mercer.door.publish import LedgerLike, Paid, Purse, publish
from mercer.noise.mechanisms.base import Promise
from mercer.noise.mechanisms.exponential import Choice, Exponential
from mercer.promise.events import ApproximateEvent, PureEvent, Sensitivity
from mercer.promise.statement import Statement
from mercer.releases.choice import QuantileRelease, SelectionRelease, SpreadRelease
from mercer.releases.findings import share as percent
from mercer.releases.findings import tell
from mercer.sensitive.base import Scores
from mercer.sensitive.summaries.ranks import Ranks
from mercer.sensitive.summaries.selection import fit_points, fit_scores
from mercer.sensitive.summaries.tally import Counted

__all__ = [
    "cv_bandwidth",
    "iqr",
    "private_bandwidth",
    "quantiles",
    "scott_bandwidth",
    "select",
    "select_function",
]

_COUNTED = f", and {percent(ENDS)} of epsilon for three counts with discrete Laplace noise"
_TESTED = "exact discrete Laplace on a lattice of logarithms, after a test of stability"
_FINEST_LEVEL = 1_000_000  # levels are fractions with at most this denominator


@call(of_quantiles)
def quantiles(
    data: object,
    q: float | Sequence[float],
    *,
    bounds: object = None,
    epsilon: object = None,
    grid: int | Sequence[float] | None = None,
    columns: object = None,
    unit: str | None = None,
    na_values: object = None,
    outside: str = "clip",
    formats: object = None,
    insist: bool = False,
    dry_run: bool = False,
    ledger: LedgerLike = None,
    dataset: str | None = None,
    rng: object = None,
) -> QuantileRelease:
    """Quantiles of one column: epsilon-differentially private, no delta.

    2 % of epsilon pay for three noisy counts, of the rows with a number and of those at either
    bound or beyond: they tell whether the column can be read so.  Each level gets an even share of
    the rest (they add up), and is chosen among public points by the exponential mechanism; a
    point's score is minus the number of records by which its rank misses the target.  Values that
    fall as the level grows are put in order afterwards.  Values outside the bounds are clipped;
    rows without a value are left out.

    Parameters
    ----------
    data, bounds, epsilon, columns, unit, na_values, outside, formats, insist, dry_run, rng
        As in `mercer.density`.
    q
        A level in [0, 1], or several.
    grid
        Public points to choose from: None for the 2^15 + 1 even points of the bounds, a number of
        even points, or the points themselves (`range(0, 101)` for whole years).
    ledger, dataset
        A ledger to charge, and the name of the data in it.

    Examples
    --------
    >>> import mercer
    >>> mercer.quantiles([3.0] * 500 + [5.0] * 499, 0.5, bounds=(0, 10), epsilon=1).levels
    (0.5,)

    """
    epsilon = check_epsilon(epsilon)
    levels = _levels(q)
    reading = Reading.of(na_values=na_values, outside=outside, formats=formats, dry_run=dry_run)
    purse = Purse.of(rng, ledger, dataset, data=data, unit=unit, insist=insist, dry_run=dry_run)
    held = Counted(data, bounds, columns, unit, reading, one=True)
    values, nodes = _points(grid, held.domain, held.tally.shape[0] - 1)
    choice, counts = shares(epsilon, len(levels))
    paid = _pay(purse, held, PureEvent(epsilon), f"quantiles of {held.name}", Exponential.words + _COUNTED)
    ranks = Ranks(held.tally, 0, n=held.n, unit=held.unit)
    ends = draw_ends(ranks, counts, paid)
    found = draw_quantiles(ranks, levels, nodes, choice, paid)
    ordered = np.empty(len(levels))
    ordered[np.argsort(np.array(levels, dtype=float), kind="stable")] = np.sort(values[found])
    return tell(
        QuantileRelease(
            held.name,
            held.domain.bounds[0],
            tuple(map(float, levels)),
            tuple(ordered.tolist()),
            paid.statement,
            ends,
            bool(held.domain.dates),
        )
    )


@call(of_spread)
def iqr(
    data: object,
    *,
    bounds: object = None,
    epsilon: object = None,
    delta: object = None,
    method: str = "exponential",
    columns: object = None,
    unit: str | None = None,
    na_values: object = None,
    outside: str = "clip",
    formats: object = None,
    insist: bool = False,
    dry_run: bool = False,
    ledger: LedgerLike = None,
    dataset: str | None = None,
    rng: object = None,
) -> SpreadRelease:
    """The interquartile range of one column.

    `method="exponential"`: the difference of two private quartiles; pure.  2 % of epsilon pay for
    noisy counts as in `quantiles`.
    `method="propose-test-release"` (Dwork and Lei 2009; Hall 2013, Sec. 4.1.2): half of epsilon
    tests whether enough records would have to change before the logarithm of the range left its
    bin, the other half hides the logarithm within it; needs a delta, and may decline, openly.
    """
    epsilon = check_epsilon(epsilon)
    choice, counts = shares(epsilon, 2)
    check_choice("method", method, ("exponential", "propose-test-release"))
    reading = Reading.of(na_values=na_values, outside=outside, formats=formats, dry_run=dry_run)
    purse = Purse.of(rng, ledger, dataset, data=data, unit=unit, insist=insist, dry_run=dry_run)
    event: PureEvent | ApproximateEvent = PureEvent(epsilon)
    what, words = "quartiles", Exponential.words
    if method == "exponential":
        if delta is not None:
            raise ValueError("delta is not used by method='exponential', which is pure; leave it")
    else:
        event = ApproximateEvent(epsilon, check_delta(delta))
        what, words = "interquartile range", _TESTED
        if unit is not None:
            raise ValueError(
                "unit cannot be combined with method='propose-test-release', which counts rows; "
                "use method='exponential'"
            )
    held = Counted(data, bounds, columns, unit, reading, one=True)
    paid = _pay(purse, held, event, f"{what} of {held.name}", words + _COUNTED)
    ranks = Ranks(held.tally, 0, n=held.n, unit=held.unit)
    ends = draw_ends(ranks, counts, paid)
    share = (
        propose_test_release(ranks, choice / 2, event.delta, paid)
        if isinstance(event, ApproximateEvent)
        else draw_spread(ranks, choice, paid)
    )
    value = None if share is None else share * float(held.domain.widths[0])
    return tell(SpreadRelease(held.name, held.domain.bounds[0], value, method, paid.statement, ends))


@call(of_selection)
def select(
    candidates: Sequence[Any],
    score: Callable[[Any], Any] | Sequence[Any],
    *,
    sensitivity: object = None,
    epsilon: object = None,
    n: object = None,
    insist: bool = False,
    dry_run: bool = False,
    ledger: LedgerLike = None,
    dataset: str | None = None,
    rng: object = None,
) -> SelectionRelease:
    """One of finitely many public candidates by a score of the records: epsilon-DP.

    Parameters
    ----------
    candidates
        Public, fixed without looking at the records.
    score
        A number for each candidate, or a function of a candidate; higher is better.  Whole
        numbers, fractions and doubles are taken as they are; what is not finite counts as 0.
    sensitivity
        The caller's promise that replacing one record moves no score by more.  Nothing here can
        check it, and the release is as private as it is true.  Scores computed in floating point
        need twice their rounding error on top.  What one record can do to *every* candidate's
        score counts: a score that is clipped for each record can still move by more than the
        clipping range (docs/proofs/selection.md).
    n
        The number of records: public, and part of the statement.
    epsilon, insist, dry_run, ledger, dataset, rng
        As in `quantiles`.

    """
    epsilon = check_epsilon(epsilon)
    bound = Sensitivity(check_positive("sensitivity", sensitivity, "of the score"), norm="score")
    if n is None:
        raise ValueError("n is missing: give the number of records, which is public")
    count = check_count("n", n, least=1, most=1 << 62, hint="the number of records, public")
    if len(candidates) == 0:
        raise ValueError("candidates must hold at least one candidate, got none")
    scores = [score(c) for c in candidates] if callable(score) else list(score)
    if len(scores) != len(candidates):
        raise ValueError(
            f"score must have one number for each of the {len(candidates)} candidates, got {len(scores)}"
        )
    Choice.check(scores)
    purse = Purse.of(rng, ledger, dataset, insist=insist, dry_run=dry_run)

    def build(place: int, _law: object, statement: Statement) -> SelectionRelease:
        return SelectionRelease(candidates[place], place, len(candidates), statement)

    what = f"one of {len(candidates)} candidates"
    held = Scores(scores, bound, n=count, unit="row")
    return publish(held, Exponential(), build, purse, promise=pure(epsilon), what=what)


@call(of_fit)
def select_function(
    functions: Sequence[Any] | Mapping[str, Any],
    data: object,
    *,
    bounds: object = None,
    epsilon: object = None,
    columns: object = None,
    unit: str | None = None,
    na_values: object = None,
    outside: str = "clip",
    formats: object = None,
    insist: bool = False,
    dry_run: bool = False,
    ledger: LedgerLike = None,
    dataset: str | None = None,
    rng: object = None,
) -> SelectionRelease:
    """The public function that fits the records best in least squares: epsilon-DP.

    The exponential mechanism over a finite set of functions (Hall's thesis, Sec. 1.3.4 and the
    opening of chapter 3).  Candidates are densities on the bounds: releases, or callables of an
    array of points (rows, where there are several columns).  The score is mean f(x_i) minus half
    the integral of f^2; one record moves it by at most (largest - least value of f, or 0) / n.
    """
    epsilon = check_epsilon(epsilon)
    names = list(functions) if isinstance(functions, Mapping) else None
    listed = list(functions.values() if isinstance(functions, Mapping) else functions)
    if len(listed) == 0:
        raise ValueError("functions must hold at least one function, got none")
    reading = Reading.of(na_values=na_values, outside=outside, formats=formats, dry_run=dry_run)
    purse = Purse.of(rng, ledger, dataset, data=data, unit=unit, insist=insist, dry_run=dry_run)
    held = Counted(data, bounds, columns, unit, reading, one=False)
    tables = [_table(f, held.domain) for f in listed]
    scores, moved = fit_scores(held.tally, tables, n=held.n)

    def build(place: int, _law: object, statement: Statement) -> SelectionRelease:
        chosen = listed[place] if names is None else names[place]
        return SelectionRelease(chosen, place, len(listed), statement)

    what = f"one of {len(listed)} functions on {', '.join(held.domain.names)}"
    fits = Scores(scores, moved, n=held.n, unit=held.unit)
    return publish(fits, Exponential(), build, purse, promise=pure(epsilon), what=what)


def _pay(purse: Purse, held: Counted, event: PureEvent | ApproximateEvent, what: str, words: str) -> Paid:
    """For a choice and the counts beside it together."""
    delta = event.delta if isinstance(event, ApproximateEvent) else 0.0
    return purse.pay(
        (event,),
        promise=Promise(epsilon=event.epsilon, delta=delta),
        n=held.n,
        unit=held.unit,
        words=words,
        calibration="propose-test-release" if delta else Exponential.calibration,
        what=what,
    )


def _levels(q: object) -> tuple[Fraction, ...]:
    given: list[Any] = list(q) if isinstance(q, Iterable) else [q]
    if not given:
        raise ValueError("q must be a level in [0, 1] or several, got none")
    for level in given:
        if isinstance(level, bool) or not isinstance(level, (int, float, np.number)):
            raise TypeError(f"q must be numbers in [0, 1], got {type(level).__name__}")
        if not 0 <= level <= 1:
            raise ValueError(f"q must be in [0, 1], got {float(level)!r}; the median is 0.5")
    return tuple(Fraction(float(level)).limit_denominator(_FINEST_LEVEL) for level in given)


def _points(grid: object, domain: Domain, cells: int) -> tuple[Floats, Ints]:
    """Public points to choose from, and the node of the fine grid nearest to each."""
    low, high = domain.bounds[0]
    if grid is None:
        grid = cells + 1
    if isinstance(grid, (int, np.integer)) and not isinstance(grid, bool):
        hint = "even points of the bounds, or a list of points"
        values = np.linspace(low, high, check_count("grid", grid, least=2, most=1 << 20, hint=hint))
    elif isinstance(grid, Iterable):
        values = domain.points(list(grid))[:, 0]
    else:
        raise TypeError(f"grid must be a number of points or points, got {type(grid).__name__}")
    if len(values) == 0:
        raise ValueError("grid must hold at least one point, got none")
    nodes = np.rint((values - low) / (high - low) * cells).astype(np.int64)
    return values, np.clip(nodes, 0, cells)


def _table(function: Any, domain: Domain) -> Floats:
    """Values of a public candidate at the nodes: whatever is wrong with it may be said."""
    if not callable(function):
        raise TypeError(f"functions must be callable, got {type(function).__name__}")
    points = fit_points(domain)
    values = np.asarray(function(points[:, 0] if domain.dimension == 1 else points), dtype=float)
    if values.shape != (len(points),) or not np.all(np.isfinite(values)):
        raise ValueError(
            f"functions must return one finite number for each of {len(points)} points, got shape "
            f"{values.shape}"
        )
    return values
