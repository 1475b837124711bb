"""Counts and numbers under a weaker promise, random differential privacy.  M14, M16, M18.

Random differential privacy (Hall's thesis, Chapter 5) is not differential privacy: see
docs/weaker.md.  No function here takes a ledger, on purpose: a ledger promises that its total
holds for all data sets, and a release that fails for a share gamma of them would void it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from mercer.api.calls import DryRun, Progress, Terms, call
from mercer.api.counts import condition_of, counted, expected_count
from mercer.api.recipes.counts import CountRequest, check_worth, name_of
from mercer.api.tables import expected_histogram
from mercer.columns.bins import axis_of
from mercer.columns.cells import MOST_LISTED, Axes
from mercer.columns.domain import InWords
from mercer.columns.kinds import Numeric
from mercer.columns.rules import FAR
from mercer.columns.table import Domain
from mercer.common.checks import Bools, Ints, check_choice, check_epsilon
from mercer.door.publish import publish
from mercer.noise.count_laws import CountLaw
from mercer.noise.mechanisms.additive import PairedLaplace
from mercer.noise.mechanisms.base import Promise
from mercer.noise.mechanisms.counts import GeometricCounts, RareCounts
from mercer.promise.events import Sensitivity
from mercer.promise.weaker import (
    asymptotic_delta,
    asymptotic_rank,
    check_gamma,
    check_weaker,
    pair_rank,
    rarest,
)
from mercer.releases.counts.histogram import HistogramRelease
from mercer.releases.counts.number import CountRelease, StatisticRelease
from mercer.releases.findings import tell
from mercer.sensitive.base import Count
from mercer.sensitive.data import open_records
from mercer.sensitive.persons import public_n
from mercer.sensitive.summaries.cell_counts import CellCounts, count_cells, moved_counts
from mercer.sensitive.summaries.paired_values import paired_values

__all__ = ["random_histogram", "random_proportion", "random_statistic"]

METHODS = ("exact", "asymptotic")


@call(expected_count)
def random_proportion(
    data: object,
    *,
    where: Mapping[str, Any] | None = None,
    epsilon: float,
    gamma: object = None,
    weaker_promise: object = None,
    columns: str | None = None,
    counts: str | None = None,
    unit: str | None = None,
    na_values: object = None,
    formats: object = None,
    insist: bool = False,
    dry_run: bool = False,
    rng: object = None,
    progress: Progress | None = None,
) -> CountRelease | DryRun:
    """Release the share of records that a condition holds for, under a weaker promise.

    The share is told exactly where it is rare, 2 (share + 1 / n) <= gamma, so that the few it
    holds for may be seen; otherwise with two-sided geometric noise of scale 1 / epsilon on the
    count (thesis, Proposition 5.2.1).  There is no `ledger`: no ledger can count this.

    Parameters
    ----------
    data, where, columns, counts
        As in `mercer.proportion`.
    epsilon, gamma
        The promise: (epsilon, gamma)-random differential privacy.  With probability 1 - gamma
        over independent draws of all records and one more, exchanging one for that changes no
        probability by more than the factor e^epsilon.
    weaker_promise
        True, said in so many words: it is required.
    unit
        Column that names the person (M16): then persons are the draws.
    insist
        Release even where noise must drown the count, or where n and gamma say that no count
        would be exact, so that `mercer.proportion` promises more at the same noise.
    na_values, formats, dry_run, rng, progress
        As in `mercer.proportion`.

    Examples
    --------
    >>> import mercer
    >>> ill = [True] * 3 + [False] * 997
    >>> share = mercer.random_proportion(ill, epsilon=1, gamma=0.05, weaker_promise=True)
    >>> share.value, share.privacy.short
    (0.003, 'WEAKER PROMISE: random DP, epsilon = 1, gamma = 0.05, one row')

    """
    check_weaker(weaker_promise, "the few that a rare condition holds for")
    share = check_gamma(gamma)
    axes, words = condition_of(data, where, columns)
    terms = Terms(epsilon, None, unit, insist, dry_run, rng, progress=progress)
    ask = CountRequest.of(axes, terms, na_values, formats, counts)
    purse = terms.weaker(data, share)
    noise = GeometricCounts().calibrate(Sensitivity(1.0, norm="l1"), epsilon=ask.promise["epsilon"])
    number, n = counted(ask, data, truths=where is None)
    most = _most_exact(n, 1, share, "mercer.proportion", insist=insist)
    check_worth(noise, n, None, insist=insist)
    told = f"a count of at most {most} of {n} as it is" if most >= 0 else "no count as it is"
    who = (
        f"those few for whom the condition holds where they are at most {most} of the {n} "
        "records: their number is then told exactly"
        if most >= 0
        else "none here, since the count got noise"
    )

    def build(noisy: tuple[Ints, Bools], law: CountLaw, statement: Any) -> CountRelease:
        (count,), (exact,) = noisy[0].tolist(), noisy[1].tolist()
        if exact:
            return CountRelease(InWords(words), statement, None, count, True)
        return tell(CountRelease(InWords(words), statement, law, count, True))

    one = Count(number, n=n, unit=ask.unit or "row")
    payer, what = replace(purse, unprotected=who), f"proportion of {words}"
    return publish(one, RareCounts(most, told, float(share)), build, payer, promise=ask.promise, what=what)


@call(expected_histogram)
def random_histogram(
    values: object,
    *,
    bins: object = None,
    categories: object = None,
    epsilon: float,
    gamma: object = None,
    weaker_promise: object = None,
    bounds: object = None,
    other: str | None = None,
    outside: str = "clip",
    columns: str | None = None,
    counts: str | None = None,
    unit: str | None = None,
    missing: str = "zero",
    na_values: object = None,
    formats: object = None,
    insist: bool = False,
    dry_run: bool = False,
    rng: object = None,
    progress: Progress | None = None,
) -> HistogramRelease | DryRun:
    """Release the histogram of one column, under a weaker promise.

    Of k cells those with a share of at most gamma / 2k - 1 / n are told exactly, so that people
    whose values are rare may be seen; the others get two-sided geometric noise of scale
    2 / epsilon (thesis, Proposition 5.2.3).  `release.exact` says which.  Where most cells are
    empty, `mercer.histogram(..., sparse=True)` is nearly as accurate and promises differential
    privacy.  There is no `ledger`: no ledger can count this.

    Parameters
    ----------
    values, bins, categories, bounds, other, outside, columns, counts, missing, na_values
        As in `mercer.histogram`.
    formats, dry_run, rng, progress
        As in `mercer.histogram`.
    epsilon, gamma, weaker_promise, insist
        As in `mercer.random_proportion`.
    unit
        Column that names the person (M16): then persons are the draws, and each counts in one of
        their rows, drawn at random.

    Examples
    --------
    >>> import mercer
    >>> ages = [34, 51, 42, 38, 55, 47, 40] * 1000 + [97]
    >>> promise = {"epsilon": 1, "gamma": 0.05, "weaker_promise": True}
    >>> release = mercer.random_histogram(ages, bins=[0, 20, 40, 60, 80, 100], **promise)
    >>> release.exact.tolist(), int(release.counts[4])
    ([True, False, False, True, True], 1)

    """
    check_weaker(weaker_promise, "people whose values are rare, who may be seen exactly")
    share = check_gamma(gamma)
    name = name_of(values, columns)
    axis = axis_of(name, bins=bins, bounds=bounds, categories=categories, other=other, outside=outside)
    axes = Axes((axis,))
    terms = Terms(epsilon, None, unit, insist, dry_run, rng, progress=progress)
    ask = CountRequest.of(axes, terms, na_values, formats, counts, missing)
    if axes.cells > MOST_LISTED:
        raise ValueError(f"there are {axes.cells} cells, too many to list (at most {MOST_LISTED})")
    purse = terms.weaker(values, share)
    noise = GeometricCounts().calibrate(moved_counts(2, 1, "l1"), epsilon=ask.promise["epsilon"])
    tally = count_cells(ask.open(values), axes, most=1, counts=ask.counts, lots=ask.lots(purse))
    n = ask.n(tally)
    most = _most_exact(n, axes.cells, share, "mercer.histogram", insist=insist)
    check_worth(noise, n, None, insist=insist)
    told = f"cells with at most {most} of the {n} records as they are" if most >= 0 else "no cell as it is"
    who = (
        f"whoever is in one of the cells with at most {most} of the {n} records, which are told "
        "exactly; that is, people whose values are rare"
        if most >= 0
        else "none here, since every cell got noise"
    )

    def build(noisy: tuple[Ints, Bools], law: CountLaw, statement: Any) -> HistogramRelease:
        counts, exact = noisy
        complete = ask.missing == "drop"
        return tell(HistogramRelease(axes, statement, law, None, counts, exact=exact, complete=complete))

    held = CellCounts(tally, n=n, unit=ask.unit or "row")
    payer, what = replace(purse, unprotected=who), f"histogram of {name}"
    return publish(held, RareCounts(most, told, float(share)), build, payer, promise=ask.promise, what=what)


def _expected_statistic(_given: object, _made: object) -> str:
    """What a dry run says of a statistic, whose noise follows the records."""
    return "noise for a quantile of what exchanging two records moves: known after it is released"


@call(_expected_statistic)
def random_statistic(
    values: object,
    *,
    statistic: str | Callable[[Any], Any] = "mean",
    change: Callable[[Any, Any], Any] | None = None,
    epsilon: float,
    gamma: object = None,
    weaker_promise: object = None,
    method: str = "exact",
    columns: str | None = None,
    na_values: object = None,
    formats: object = None,
    insist: bool = False,
    dry_run: bool = False,
    rng: object = None,
    progress: Progress | None = None,
) -> StatisticRelease | DryRun:
    """Release a mean, or a statistic of one's own, of a column without bounds.

    Noise is made for a quantile of the changes h(x, x') that n / 2 pairs of records would make to
    n times the statistic: thesis, Section 5.3.  People far out may be seen.  A value that is
    missing or infinite counts as 0.  There is no `ledger`: no ledger can count this.

    Parameters
    ----------
    values
        As in `mercer.histogram`; read into memory.  A row is a draw: one a person.
    statistic, change
        "mean" (default).  Or a function of an array of values that gives one number for any of
        them, together with `change(x, y)`, which gives for two arrays of values how far exchanging
        each x for its y moves n times the statistic at most, whatever the other records are.  That
        it does is the caller's promise.
    epsilon, gamma, weaker_promise
        As in `mercer.random_proportion`.
    method
        "exact" (default): the least quantile for which three further pairs are below it with
        probability 1 - gamma, which makes the promise hold at every n >= 6 / gamma, noise of scale
        h / (n epsilon), and its scale public (docs/proofs/random.md, 4).  "asymptotic": the
        thesis' own, noise 2 h / (n epsilon), a delta near exp(-epsilon sqrt(n) / 2): a guarantee
        in the limit of large n only, and labelled so; the scale of the noise is not told.
    columns, na_values, formats, insist, dry_run, rng, progress
        As in `mercer.histogram`.

    Examples
    --------
    >>> import mercer
    >>> incomes = [1800.0 + 7 * (i * i % 400) for i in range(2000)]
    >>> promise = {"epsilon": 1, "gamma": 0.05, "weaker_promise": True}
    >>> release = mercer.random_statistic(incomes, **promise)
    >>> release.privacy.asymptotic, release.scale < 3
    (False, True)

    """
    check_weaker(weaker_promise, "people whose values are far from those of others")
    share = check_gamma(gamma)
    number = check_epsilon(epsilon)
    check_choice("method", method, METHODS)
    own = None if isinstance(statistic, str) else statistic
    if own is None:
        check_choice("statistic", statistic, ("mean",))
    elif not callable(own):
        raise TypeError(f"statistic must be 'mean' or a function, got {type(own).__name__}")
    if (own is None) != (change is None) or (change is not None and not callable(change)):
        raise ValueError(
            "change is for a statistic of one's own, and required for it: a function of two arrays "
            "that bounds how far exchanging x for y moves n times the statistic"
        )
    terms = Terms(epsilon, None, None, insist, dry_run, rng, progress=progress)
    purse = terms.weaker(values, share)
    name = name_of(values, columns)
    domain = Domain([Numeric(name, -FAR, FAR)])
    records = open_records(values, domain=domain, unit=None, reading=terms.reading(na_values, formats))
    records.progress(terms.tick)
    held = paired_values(records, change, own)
    public_n(held.n)
    words = f"{statistic if own is None else 'statistic'} of {name}"
    loose = method == "asymptotic"
    rank, delta = _rank_of(held.n, number, share, asymptotic=loose)
    pairs = held.n // 2
    who = (
        f"people whose values are far out: the noise is made for changes that all but a share "
        f"{(pairs + 1 - rank) / pairs:.3g} of pairs of records make, and larger ones show"
    )

    def build(noisy: tuple[float, float], _law: object, statement: Any) -> StatisticRelease:
        value, scale = noisy
        made = StatisticRelease(InWords(words), statement, value, None if loose else scale)
        return tell(made) if scale else made

    payer = replace(purse, unprotected=who, asymptotic=loose)
    how = PairedLaplace(held.n, rank, float(share), loose)
    return publish(held, how, build, payer, promise=Promise(epsilon=number, delta=delta), what=words)


def _rank_of(n: int, epsilon: float, gamma: Fraction, *, asymptotic: bool) -> tuple[int, float]:
    """The rank of the largest change of a pair that is hidden; the delta of an asymptotic promise."""
    pairs = n // 2
    delta = asymptotic_delta(n, epsilon) if asymptotic else 0.0
    rank = asymptotic_rank(n, pairs, gamma) if asymptotic else pair_rank(pairs, gamma)
    if rank is None or delta is None:
        least = (
            math.ceil(max(4 * math.log(4 / float(gamma)) / float(gamma) ** 2, 4 / epsilon**2, 3))
            if asymptotic
            else 2 * math.ceil(3 / gamma)
        )
        raise ValueError(
            f"gamma = {float(gamma):g} needs at least {least} records, there are {n}; nothing was "
            "released; use a larger gamma, or mercer.density with public bounds"
        )
    return rank, delta


def _most_exact(n: int, cells: int, gamma: Fraction, instead: str, *, insist: bool) -> int:
    """The largest count that is told exactly; ValueError if none is: n, cells and gamma are public."""
    most = rarest(n, cells, gamma)
    if most < 0 and not insist:
        raise ValueError(
            f"gamma = {float(gamma):g} is too small for {n} records and {cells} cell(s): nothing "
            f"could be exact (2 * cells <= gamma * n is needed), so {instead} makes the full "
            "promise with the same noise; nothing was released; use it, or insist=True"
        )
    return most
