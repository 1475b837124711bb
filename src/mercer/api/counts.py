"""`mercer.count` and `mercer.proportion`: how many records a condition holds for.  M13, M16, M18."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mercer.api.calls import DryRun, Progress, Terms, call, pure
from mercer.api.recipes.counts import CountRequest, check_worth, name_of
from mercer.columns.cells import Axes, Axis
from mercer.columns.conditions import axes_of_condition, words_of
from mercer.columns.domain import InWords
from mercer.columns.kinds import Boolean
from mercer.common.checks import Ints
from mercer.door.publish import LedgerLike, publish
from mercer.noise.mechanisms.base import AnyMechanism
from mercer.noise.mechanisms.counts import OptimalMatrix, count_mechanism
from mercer.noise.optimal import MOST, OptimalCount
from mercer.promise.events import Sensitivity
from mercer.promise.statement import Statement
from mercer.releases.counts.number import CountRelease
from mercer.releases.findings import tell
from mercer.sensitive.base import Count
from mercer.sensitive.persons import public_n
from mercer.sensitive.summaries.cell_counts import count_cells, count_persons

__all__ = ["condition_of", "count", "counted", "expected_count", "proportion"]


def expected_count(given: Mapping[str, Any], made: Statement) -> str:
    """The mean absolute error of one count or proportion, in words."""
    if given.get("mechanism", "geometric") != "geometric":
        return "the least risk there is for this n: see mercer.optimal_count"
    mechanism = count_mechanism(made.delta)
    one = Sensitivity(1.0, mechanism.norm)
    noise = mechanism.calibrate(one, epsilon=made.epsilon, delta=made.delta)
    width = noise.law.half_width(1, 0.95)
    return (
        f"a count is off by {noise.law.mean_error:.3g} on average, and by at most {width:g} in 95 "
        f"% of the cases, of n = {made.n}"
    )


@call(expected_count)
def count(
    data: object,
    *,
    where: Mapping[str, Any] | None = None,
    epsilon: float,
    delta: float | None = None,
    mechanism: object = "geometric",
    columns: str | None = None,
    counts: str | None = None,
    unit: str | None = None,
    na_values: object = None,
    formats: object = None,
    insist: bool = False,
    dry_run: bool = False,
    rng: object = None,
    ledger: LedgerLike = None,
    dataset: str | None = None,
    progress: Progress | None = None,
) -> CountRelease | DryRun:
    """Release how many records a condition holds for, with differential privacy.

    Parameters
    ----------
    data
        A list or array of truths; or a table (data frame, Arrow table, CSV or Parquet file or
        folder, list of rows) with `where`.
    where
        Conditions by column that must all hold: a value, a list of values, or (least, most) with
        None for an open end.  A missing cell fulfils none.
    epsilon, delta
        The promise.  Delta left out (or 0): two-sided geometric noise, pure; with a delta,
        Gaussian noise rounded to whole numbers.
    mechanism
        "geometric" (default), or "optimal" or a `mercer.optimal_count(...)`: the mechanism of
        least risk for this n, for small n.
    columns
        The column of truths, where the data have several.
    unit
        Column that names the person: then persons are counted for whom it holds in any row, and
        the promise is about persons (M16).
    counts, na_values, formats, insist, dry_run, rng, ledger, dataset, progress
        As in `mercer.histogram`.

    Examples
    --------
    >>> import mercer
    >>> rows = [{"age": 20 + i % 60, "sex": "fm"[i % 2]} for i in range(1000)]
    >>> elderly = mercer.count(rows, where={"age": (65, None), "sex": "f"}, epsilon=1)
    >>> 0 <= elderly.count <= 1000
    True

    """
    terms = Terms(epsilon, delta, unit, insist, dry_run, rng, ledger, dataset, progress)
    return _released(data, where, columns, mechanism, terms, na_values, formats, counts, share=False)


@call(expected_count)
def proportion(
    data: object,
    *,
    where: Mapping[str, Any] | None = None,
    epsilon: float,
    delta: float | None = None,
    mechanism: object = "geometric",
    columns: str | None = None,
    counts: str | None = None,
    unit: str | None = None,
    na_values: object = None,
    formats: object = None,
    insist: bool = False,
    dry_run: bool = False,
    rng: object = None,
    ledger: LedgerLike = None,
    dataset: str | None = None,
    progress: Progress | None = None,
) -> CountRelease | DryRun:
    """Release the share of records that a condition holds for: `mercer.count` over n.

    Examples
    --------
    >>> import mercer
    >>> share = mercer.proportion([True, False, True, True] * 500, epsilon=1)
    >>> 0.7 < share.value < 0.8
    True

    """
    terms = Terms(epsilon, delta, unit, insist, dry_run, rng, ledger, dataset, progress)
    return _released(data, where, columns, mechanism, terms, na_values, formats, counts, share=True)


def _released(
    data: object,
    where: Mapping[str, Any] | None,
    columns: str | None,
    mechanism: object,
    terms: Terms,
    na_values: object,
    formats: object,
    counts: str | None,
    *,
    share: bool,
) -> CountRelease:
    """Count the records or persons, charge, and release their number or share with noise."""
    axes, words = condition_of(data, where, columns)
    ask = CountRequest.of(axes, terms, na_values, formats, counts)
    chosen = _mechanism(mechanism, ask)
    purse = terms.purse(data)
    added = count_mechanism(ask.promise["delta"])
    noise = added.calibrate(Sensitivity(1.0, added.norm), **ask.promise)
    number, n = counted(ask, data, truths=where is None)
    how: AnyMechanism[Ints, Ints] = added
    promise = ask.promise
    if chosen is None:
        check_worth(noise, n, None, insist=terms.insist)
    else:
        how = OptimalMatrix(_matrix(chosen, n, ask.promise["epsilon"]))
        promise = pure(how.chosen.epsilon)

    def build(noisy: Ints, law: Any, statement: Statement) -> CountRelease:
        return tell(CountRelease(InWords(words), statement, law, int(noisy[0]), share))

    what = f"{'proportion' if share else 'count'} of {words}"
    one = Count(number, n=n, unit=ask.unit or "row")
    return publish(one, how, build, purse, promise=promise, what=what)


def condition_of(data: object, where: Mapping[str, Any] | None, columns: str | None) -> tuple[Axes, str]:
    """The cells that count (of a column of truths the last alone), and the condition in words."""
    if where is None:
        name = name_of(data, columns)
        return Axes((Axis(Boolean(name)),)), name
    if columns is not None:
        raise ValueError("columns names a column of truths; where names its columns itself")
    return axes_of_condition(where), words_of(where)


def counted(ask: CountRequest, data: object, *, truths: bool) -> tuple[int, int]:
    """How many records or persons the condition holds for, and of how many.

    With `truths` those in the last cell count, otherwise those in any.
    """
    records, last = ask.open(data), ask.axes.cells - 1
    if ask.unit is not None:
        number, persons = count_persons(records, ask.axes, last if truths else 0)
        return number, public_n(persons, persons=persons, unit=ask.unit, least=1)
    tally = count_cells(records, ask.axes, most=1, counts=ask.counts)
    n = ask.n(tally)
    return int(tally.dense()[last]) if truths else tally.complete, n


def _mechanism(mechanism: object, ask: CountRequest) -> OptimalCount | str | None:
    """None for added noise; "optimal", or a mechanism of least risk that was given."""
    if mechanism == "geometric":
        return None
    if not isinstance(mechanism, OptimalCount) and mechanism != "optimal":
        raise ValueError(
            "mechanism must be 'geometric', 'optimal' or a mercer.optimal_count(...); got "
            f"{mechanism if isinstance(mechanism, str) else type(mechanism).__name__!r}"
        )
    if ask.promise["delta"]:
        raise ValueError("mechanism='optimal' is pure: leave out delta")
    return mechanism


def _matrix(chosen: OptimalCount | str, n: int, epsilon: float) -> OptimalCount:
    """The mechanism that was given, or the minimax one for this n: checked before anything is paid.

    n is public, so the mechanism may follow it.
    """
    if isinstance(chosen, str):
        if n > MOST:
            raise ValueError(
                f"mechanism='optimal' is for at most {MOST} records, there are {n}; nothing was "
                "spent; leave mechanism out: geometric noise is nearly optimal for so many"
            )
        from mercer.noise.programs import optimal_count

        return optimal_count(n, epsilon)
    if chosen.n != n:
        raise ValueError(
            f"mechanism is for n = {chosen.n} and there are {n} records; nothing was spent; use "
            f"mercer.optimal_count({n}, …)"
        )
    if chosen.epsilon > epsilon:
        raise ValueError(
            f"mechanism has epsilon = {chosen.epsilon:g}, more than the {epsilon:g} asked for; "
            "nothing was spent"
        )
    return chosen
