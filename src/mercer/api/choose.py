"""Private choices of a candidate, a function or a bandwidth.  M12; docs/proofs/selection.md.

A bandwidth may also be chosen from the noisy result at no cost (M17): `bandwidth="auto"` of
`mercer.density`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mercer.api.calls import DryRun, Split, Terms, call, check_share, part, pure
from mercer.api.ranks import draw_spread, expected_ranks, pay
from mercer.columns.domain import Box
from mercer.common.checks import Floats, check_choice, check_count, check_epsilon, check_positive
from mercer.door.publish import LedgerLike, Paid, Payer, publish
from mercer.noise.mechanisms import Exponential
from mercer.noise.mechanisms.exponential import Choice
from mercer.promise.events import PureEvent, Sensitivity
from mercer.promise.statement import Statement
from mercer.releases.choice import BandwidthRelease, SelectionRelease
from mercer.sensitive.base import Scores
from mercer.sensitive.summaries.density import Counted, Tally, fit_points, fit_scores
from mercer.sensitive.summaries.selection import (
    Criterion,
    CrossValidation,
    Ranks,
    gap_scores,
    gap_sensitivity,
)

__all__ = ["cv_bandwidth", "draw_bandwidth", "extremes", "scott_bandwidth", "select", "select_function"]

_NARROWEST, _WIDEST = 1e-3, 0.5  # of the bounds: where Scott's bandwidth is cut, publicly
_LEAST = {1: 0.004, 2: 0.012, 3: 0.06}  # what any basis for a density can hold


def _expected_fit(given: Mapping[str, Any], made: Any) -> str:
    """The expected error of a choice among functions, in words."""
    return _expected_choice(len(given["functions"]), made.epsilon)


def _expected_selection(given: Mapping[str, Any], made: Any) -> str:
    """The expected error of a choice among candidates, in words."""
    return _expected_choice(len(given["candidates"]), made.epsilon)


def _expected_choice(candidates: int, epsilon: float) -> str:
    """By how much the exponential mechanism misses the best score, in units of the sensitivity."""
    reach = 2 / epsilon * (math.log(candidates) + math.log(20))
    return (
        f"the score of the chosen one is within {reach:.3g} times the sensitivity of the best, in "
        "95 % of the cases"
    )


def _expected_bandwidth(given: Mapping[str, Any], made: Any) -> str:
    """The expected error of the quartiles or scores behind a private bandwidth, in words."""
    if given["method"] == "private-scott":
        return expected_ranks(made.epsilon / 2, made.n)
    return "the score of the chosen bandwidth is near the best: see docs/proofs/selection.md"


@call(_expected_selection)
def select(
    candidates: Sequence[Any],
    score: Callable[[Any], Any] | Sequence[Any],
    *,
    sensitivity: object = None,
    epsilon: float,
    n: object = None,
    insist: bool = False,
    dry_run: bool = False,
    rng: object = None,
    ledger: LedgerLike = None,
    dataset: str | None = None,
) -> SelectionRelease | DryRun:
    """Choose one of finitely many public candidates by a score of the records: epsilon-DP.

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

    Examples
    --------
    >>> import mercer
    >>> votes = {"red": 120, "blue": 300, "green": 80}
    >>> mercer.select(list(votes), list(votes.values()), sensitivity=1, epsilon=1, n=500).candidate
    'blue'

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
    purse = Terms(epsilon, None, None, insist, dry_run, rng, ledger, dataset).purse(None)

    def build(place: int, _law: object, statement: Statement) -> SelectionRelease:
        return SelectionRelease(candidates[place], place, len(candidates), statement)

    what = f"one of {len(candidates)} candidates"
    held = Scores(scores, bound, n=count, unit="row")
    return publish(held, Exponential(), build, purse, promise=pure(epsilon), what=what)


@call(_expected_fit)
def select_function(
    functions: Sequence[Any] | Mapping[str, Any],
    data: object,
    *,
    bounds: object = None,
    epsilon: float,
    columns: object = None,
    unit: str | None = None,
    na_values: object = None,
    outside: str = "clip",
    formats: object = None,
    insist: bool = False,
    dry_run: bool = False,
    rng: object = None,
    ledger: LedgerLike = None,
    dataset: str | None = None,
) -> SelectionRelease | DryRun:
    """Choose the public function that fits the records best in least squares: epsilon-DP.

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
    terms = Terms(epsilon, None, unit, insist, dry_run, rng, ledger, dataset)
    reading, purse = terms.reading(na_values, formats, outside), terms.purse(data)
    held = Counted(data, bounds, columns, unit, reading, one=False)
    tables = [_table(f, held.domain) for f in listed]
    scores, moved = fit_scores(held.tally, tables, n=held.n)

    def build(place: int, _law: object, statement: Statement) -> SelectionRelease:
        chosen = listed[place] if names is None else names[place]
        return SelectionRelease(chosen, place, len(listed), statement)

    what = f"one of {len(listed)} functions on {', '.join(held.domain.names)}"
    fits = Scores(scores, moved, n=held.n, unit=held.unit)
    return publish(fits, Exponential(), build, purse, promise=pure(epsilon), what=what)


def _table(function: Any, domain: Box) -> Floats:
    """Values of a public candidate at the nodes; an error may say what is wrong with it."""
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


def extremes(domain: Box) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The narrowest and the widest bandwidths that can be drawn, in the units of the data."""
    least = _LEAST[domain.dimension]
    return (tuple(float(least * w) for w in domain.widths), tuple(float(_WIDEST * w) for w in domain.widths))


def draw_bandwidth(
    tally: Tally, domain: Box, split: Split, paid: Paid, *, n: int, unit: str, boundary: str
) -> tuple[float, ...]:
    """The bandwidth of each column for a density, in the units of the data."""
    lengths = private_bandwidth(
        tally,
        domain,
        n=n,
        unit=unit,
        method=split.method,
        epsilon=split.choice,
        boundary=boundary,
        payer=paid,
    )
    least = _LEAST[domain.dimension]
    return tuple(float(max(h, least) * w) for h, w in zip(lengths, domain.widths, strict=True))


def scott_bandwidth(data: object, *, epsilon: float, **arguments: Any) -> BandwidthRelease | DryRun:
    """Scott's bandwidth of each column from private quartiles; arguments as in `quantiles`.

    h_j = (4 / ((d + 2) n))^(1/(d + 4)) IQR_j / 1.34 (Hall 2013, Sec. 4.1.2 prints d + 1), cut to
    [0.001, 0.5] of the bounds.  Epsilon is split evenly over the columns.
    """
    return _bandwidth(data, "private-scott", epsilon=epsilon, **arguments)


def cv_bandwidth(
    data: object, *, epsilon: float, boundary: str = "reflect", **arguments: Any
) -> BandwidthRelease | DryRun:
    """A bandwidth by private least-squares cross-validation; arguments as in `quantiles`."""
    return _bandwidth(data, "private-cv", boundary, epsilon=epsilon, **arguments)


def private_bandwidth(
    tally: Tally,
    domain: Box,
    *,
    n: int,
    method: str,
    epsilon: float,
    boundary: str,
    payer: Payer,
    unit: str = "row",
) -> tuple[float, ...]:
    """Draw bandwidths in the unit cube, one for each column: epsilon-DP together."""
    check_choice("method", method, ("private-scott", "private-cv"))
    if method == "private-scott":
        d = domain.dimension
        rule = (4 / ((d + 2) * n)) ** (1 / (d + 4)) / 1.34
        each = part(epsilon, d)
        spreads = [draw_spread(Ranks(tally, axis, n=n, unit=unit), each, payer) for axis in range(d)]
        return tuple(min(max(rule * share, _NARROWEST), _WIDEST) for share in spreads)
    criterion = Criterion.of(domain.dimension, n, boundary)
    values = CrossValidation(tally, criterion).values()
    scores = Scores(gap_scores(values, criterion.bounds), gap_sensitivity(n), n=n, unit=unit)

    def build(place: int, *_: object) -> tuple[float, ...]:
        return (criterion.bandwidths[place],) * domain.dimension

    return publish(scores, Exponential(), build, payer, promise=pure(epsilon))


@call(_expected_bandwidth)
def _bandwidth(
    data: object,
    method: str,
    boundary: str = "reflect",
    *,
    bounds: object = None,
    epsilon: float,
    columns: object = None,
    unit: str | None = None,
    na_values: object = None,
    outside: str = "clip",
    formats: object = None,
    insist: bool = False,
    dry_run: bool = False,
    rng: object = None,
    ledger: LedgerLike = None,
    dataset: str | None = None,
) -> BandwidthRelease | DryRun:
    epsilon = check_epsilon(epsilon)
    check_choice("boundary", boundary, ("reflect", "periodic", "open"))
    if unit is not None and method == "private-cv":
        raise ValueError("unit cannot be combined with cross-validation; use scott_bandwidth")
    terms = Terms(epsilon, None, unit, insist, dry_run, rng, ledger, dataset)
    reading, purse = terms.reading(na_values, formats, outside), terms.purse(data)
    held = Counted(data, bounds, columns, unit, reading, one=False)
    check_share(epsilon, 2 * held.domain.dimension if method == "private-scott" else 1)
    what = f"bandwidth of {', '.join(held.domain.names)}"
    paid = pay(purse, held, PureEvent(epsilon), what, Exponential.words)
    lengths = private_bandwidth(
        held.tally,
        held.domain,
        n=held.n,
        unit=held.unit,
        method=method,
        epsilon=epsilon,
        boundary=boundary,
        payer=paid,
    )
    values = tuple(float(h * w) for h, w in zip(lengths, held.domain.widths, strict=True))
    return BandwidthRelease(held.domain.names, values, method, paid.statement)
