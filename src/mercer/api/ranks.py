"""The ranks of one column: private quantiles, spreads, and counts beside them.  M12.

Scores and counts come from an integer tally of the records, with sensitivities that are proved in
docs/proofs/selection.md; all of it is charged before anything is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from mercer.api.calls import ENDS, DryRun, Terms, call, part, pure, shares
from mercer.api.recipes.ranks import CELLS, Points, RankShares, accuracy_of, declared_step, draw_interval
from mercer.columns.domain import Box
from mercer.common.checks import Floats, Ints, check_choice, check_delta, check_epsilon, check_level
from mercer.door.publish import LedgerLike, Paid, Payer, Purse, publish
from mercer.noise.count_laws import GeometricLaw
from mercer.noise.laws import LaplaceLaw
from mercer.noise.mechanisms import Exponential, Geometric
from mercer.noise.mechanisms.additive import GeometricShare
from mercer.noise.mechanisms.base import Promise
from mercer.promise.events import ApproximateEvent, PureEvent, Sensitivity
from mercer.releases.choice import EndCounts, FactorAccuracy, QuantileRelease, RankAccuracy, SpreadRelease
from mercer.releases.findings import share as percent
from mercer.releases.findings import tell
from mercer.sensitive.base import Scores, Whole
from mercer.sensitive.summaries.density import Counted
from mercer.sensitive.summaries.selection import LogBins, Ranks, rank_sensitivity

__all__ = ["draw_spread", "expected_quantiles", "expected_ranks", "iqr", "pay", "quantiles"]

_QUARTILES = (Fraction(1, 4), Fraction(3, 4))
_COUNTED = f", and {percent(ENDS)} of epsilon for three counts with discrete Laplace noise"
_TESTED = "exact discrete Laplace on a lattice of logarithms, after a test of stability"
_FINEST_LEVEL = 1_000_000  # levels are fractions with at most this denominator


def expected_quantiles(given: Mapping[str, Any], made: Any) -> str:
    """The expected error of the ranks of quantiles, in words."""
    q, grid, level = given["q"], given.get("grid"), given.get("level")
    levels = len(list(q)) if isinstance(q, Iterable) else 1
    points = len(list(grid)) if isinstance(grid, Iterable) else grid or _points_of(given)
    share = RankShares.of(shares(made.epsilon, 1)[0], levels, ends=level is not None)
    return str(accuracy_of(share, n=made.n, points=points, level=level, ends=given.get("ends", 2)))


def _points_of(given: Mapping[str, Any]) -> int:
    """How many points there are where none are given: the values of a column in steps, or even ones."""
    bounds, step = declared_step(given.get("bounds"), given.get("step"))
    if isinstance(bounds, Mapping) and len(bounds) == 1:
        bounds = next(iter(bounds.values()))
    if step is None or not isinstance(bounds, (tuple, list)):
        return CELLS
    low, high = Box.of(bounds, ["x"]).bounds[0]
    return round((high - low) / step) + 1


def _expected_spread(given: Mapping[str, Any], made: Any) -> str:
    """The expected error of an interquartile range, in words."""
    if given["method"] != "exponential":
        return str(_factor(shares(made.epsilon, 2)[0] / 2, made.n))
    return expected_quantiles({**given, "q": _QUARTILES, "ends": 4}, made)


def expected_ranks(epsilon: float, n: int) -> str:
    """By how many records a rank that is drawn with this epsilon misses its target."""
    return str(RankAccuracy.of(epsilon, None, n=n, points=CELLS))


@call(expected_quantiles)
def quantiles(
    data: object,
    q: float | Sequence[float],
    *,
    bounds: object = None,
    epsilon: float,
    grid: int | Sequence[float] | None = None,
    step: float | None = None,
    level: float | None = 0.95,
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
) -> QuantileRelease | DryRun:
    """Quantiles of one column: epsilon-differentially private, no delta.

    2 % of epsilon pay for three noisy counts, of the rows with a number and of those at either
    bound or beyond: they tell whether the column can be read so.  Each q gets an even share of
    the rest (they add up), and is chosen among public points by the exponential mechanism; a
    point's score is minus the number of records by which its rank misses the target.  Half of that
    share is for the ends of an interval, chosen likewise: it holds the records' own quantile, by
    any usual definition, with the probability `level`.  Values that fall as q grows are put in
    order afterwards.  Values outside the bounds are clipped; rows without a value are left out.

    Parameters
    ----------
    data, bounds, epsilon, columns, unit, na_values, outside, formats, insist, dry_run, rng
        As in `mercer.density`.
    q
        A number in [0, 1], or several; 0.5 is the median.
    step
        Distance between the values there can be: 1 for integers, which come out as integers.  Bounds
        that are a `range` say it too, as do dates.
    level
        Of the interval of each quantile by itself; None for none, and all of epsilon for the quantiles.
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
    levels, level = _levels(q), _sure(level)
    terms = Terms(epsilon, None, unit, insist, dry_run, rng, ledger, dataset)
    bounds, step = declared_step(bounds, step)
    asked = level is not None
    reading, purse = terms.reading(na_values, formats, outside), terms.purse(data)
    held = Counted(data, bounds, columns, unit, reading, one=True)
    points = Points.of(grid, held.domain, held.tally.shape[0] - 1, step)
    choice, counts = shares(epsilon, RankShares.choices(len(levels), ends=asked))
    paid = pay(purse, held, PureEvent(epsilon), f"quantiles of {held.name}", Exponential.words + _COUNTED)
    ranks = Ranks(held.tally, 0, n=held.n, unit=held.unit)
    ends = draw_ends(ranks, counts, paid)
    share = RankShares.of(choice, len(levels), ends=asked)
    found = draw_quantiles(ranks, levels, points.nodes, share.point, paid)
    ordered = np.empty(len(levels))
    ordered[np.argsort(np.array(levels, dtype=float), kind="stable")] = np.sort(points.values[found])
    values = [points.told(value) for value in ordered.tolist()]
    lower = upper = None
    if share.end is not None and level is not None:
        drawn = [draw_interval(ranks, q, points, share.end, (1 - level) / 2, paid) for q in levels]
        lower = tuple(min(low, value) for (low, _), value in zip(drawn, values, strict=True))
        upper = tuple(max(high, value) for (_, high), value in zip(drawn, values, strict=True))
    return tell(
        QuantileRelease(
            held.name,
            held.domain.bounds[0],
            tuple(map(float, levels)),
            tuple(values),
            paid.statement,
            ends,
            bool(held.domain.dates),
            lower,
            upper,
            level,
            accuracy_of(share, n=held.n, points=len(points.values), level=level, ends=2),
        )
    )


@call(_expected_spread)
def iqr(
    data: object,
    *,
    bounds: object = None,
    epsilon: float,
    delta: float | None = None,
    method: str = "exponential",
    step: float | None = None,
    level: float | None = 0.95,
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
) -> SpreadRelease | DryRun:
    """The interquartile range of one column.

    `method="exponential"`: the difference of two private quartiles; pure.  2 % of epsilon pay for
    noisy counts as in `quantiles`.
    `method="propose-test-release"` (Dwork and Lei 2009; Hall 2013, Sec. 4.1.2): half of epsilon
    tests whether enough records would have to change before the logarithm of the range left its
    bin, the other half hides the logarithm within it; needs a delta, and may decline, openly.
    `level`: the release has an interval that holds the records' own range with this probability; None
    for none.  By the first method half of epsilon pays for it, by the second it is free.  `step`: the
    distance between the values there can be, 1 for integers.
    """
    epsilon, level = check_epsilon(epsilon), _sure(level)
    asked = level is not None and method == "exponential"
    choice, counts = shares(epsilon, RankShares.choices(2, ends=asked))
    bounds, step = declared_step(bounds, step)
    check_choice("method", method, ("exponential", "propose-test-release"))
    terms = Terms(epsilon, delta, unit, insist, dry_run, rng, ledger, dataset)
    reading, purse = terms.reading(na_values, formats, outside), terms.purse(data)
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
    paid = pay(purse, held, event, f"{what} of {held.name}", words + _COUNTED)
    ranks = Ranks(held.tally, 0, n=held.n, unit=held.unit)
    ends = draw_ends(ranks, counts, paid)
    top, width = ranks.cells, float(held.domain.widths[0])
    if isinstance(event, ApproximateEvent):
        found = propose_test_release(ranks, choice / 2, event.delta, paid, level)
        spread = None if found is None else (found[0] * width, found[1] * width, found[2] * width)
        accuracy: RankAccuracy | FactorAccuracy = _factor(choice / 2, held.n)
    else:
        points = Points.of(None, held.domain, top, step)
        shared = RankShares.of(choice, 2, ends=asked)
        spread = _quartiles_apart(ranks, points, shared, level, paid)
        accuracy = accuracy_of(shared, n=held.n, points=len(points.values), level=level, ends=4)
    value, low, high = (None, None, None) if spread is None else spread
    made = held.name, held.domain.bounds[0], value, method, paid.statement, ends
    return tell(SpreadRelease(*made, *((low, high) if level is not None else (None, None)), level, accuracy))


def _quartiles_apart(
    ranks: Ranks, points: Points, share: RankShares, level: float | None, payer: Payer
) -> tuple[float, float, float]:
    """The difference of two private quartiles, and the ends of its interval, from those of both."""
    places = draw_quantiles(ranks, _QUARTILES, points.nodes, share.point, payer)
    first, last = (points.told(points.values[place]) for place in places)
    value = max(last - first, 0)
    if share.end is None or level is None:
        return value, value, value
    miss, given = (1 - level) / 4, share.end
    one, two = (draw_interval(ranks, q, points, given, miss, payer) for q in _QUARTILES)
    return value, max(min(two[0] - one[1], value), 0), max(two[1] - one[0], value)


def pay(purse: Purse, held: Counted, event: PureEvent | ApproximateEvent, what: str, words: str) -> Paid:
    """Charge for all that a choice draws together, before anything is drawn."""
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


def _sure(level: float | None) -> float | None:
    """The level of intervals, checked; None for none."""
    if level is not None:
        check_level(level)
    return level


def _factor(epsilon: float, n: int) -> FactorAccuracy:
    """By which factor a range is off whose logarithm has noise of this epsilon."""
    bins = LogBins(n, CELLS - 1)
    width = GeometricLaw(bins.steps / epsilon).half_width(1, 0.95)
    most = math.log(2 * bins.cells)  # from half a cell to all of them
    return FactorAccuracy(math.exp(min(width / bins.steps * math.log(bins.base), most)))


def draw_ends(ranks: Ranks, epsilon: float, payer: Payer) -> EndCounts | None:
    """Count the rows with a number, and those at or beyond either bound: epsilon-DP.

    Replacing a record moves the three counts by at most 2 together, times a person's weight
    (docs/proofs/selection.md, section 8).  None where the noise would be beyond all counts.
    """
    bound, weight = Sensitivity(2.0 * ranks.weight, norm="l1"), ranks.weight
    if not GeometricShare().calibrate(bound, 3, epsilon=epsilon).drawable:
        return None
    counts = [ranks.counts.sum(), ranks.counts[0], ranks.counts[-1]]

    def build(noisy: Floats, law: LaplaceLaw, _statement: object) -> EndCounts:
        fits, lower, upper = (float(count) / weight for count in noisy)
        steps = 0.0 if law.scale < 1e-3 else 1 / (math.sqrt(2.0) * math.sinh(0.5 / law.scale))
        return EndCounts(fits, lower, upper, steps / weight, ENDS)

    ends = Whole(counts, bound, n=ranks.n, unit=ranks.unit, name="ends")
    return publish(ends, GeometricShare(), build, payer, promise=pure(epsilon))


def draw_quantiles(
    ranks: Ranks, levels: Sequence[Fraction], nodes: Ints, epsilon: float, payer: Payer
) -> list[int]:
    """The place of the point chosen for each level, each with this epsilon."""
    promise = pure(epsilon)
    out = []
    for level in levels:
        moved = rank_sensitivity(level, ranks.weight)
        scores = Scores(ranks.scores(level, nodes), moved, n=ranks.n, unit=ranks.unit)
        out.append(publish(scores, Exponential(), lambda place, *_: int(place), payer, promise=promise))
    return out


def draw_spread(ranks: Ranks, epsilon: float, payer: Payer) -> float:
    """The interquartile range of a column as a share of its bounds, from two private quartiles."""
    nodes = np.arange(ranks.cells + 1)
    low, high = draw_quantiles(ranks, _QUARTILES, nodes, part(epsilon, 2), payer)
    return max(high - low, 0) / ranks.cells


def propose_test_release(
    ranks: Ranks, epsilon: float, delta: float, payer: Payer, level: float | None = None
) -> tuple[float, float, float] | None:
    """The interquartile range and the ends of its interval as shares of the bounds, or None.

    (2 epsilon, delta)-DP.

    The distance A(D) moves by at most 1: discrete Laplace noise of scale 1/epsilon makes the test
    epsilon-DP.  Where A(D) <= 1 it passes with probability at most delta; where A(D) >= 2 the
    logarithms of neighbours are less than a bin apart, and noise of scale bin/epsilon is enough.
    """
    bins = LogBins(ranks.n, ranks.cells)
    log, distance = ranks.spread(bins)

    def passes(noisy: Floats, law: LaplaceLaw, _statement: object) -> bool:
        return noisy[0] > threshold(law.scale, delta)

    def spread(noisy: Floats, law: LaplaceLaw, _statement: object) -> tuple[float, float, float]:
        wide = GeometricLaw(law.scale).half_width(1, 0.95 if level is None else level) + 0.5
        value, low, high = (bins.cells_of(noisy[0] + side) for side in (0.0, -wide, wide))
        # either quartile was moved by half a cell at most to a node
        ends = max(low - 1, 0.0), min(high + 1, float(ranks.cells))
        return value / ranks.cells, ends[0] / ranks.cells, ends[1] / ranks.cells

    n, unit, steps = ranks.n, ranks.unit, Sensitivity(float(bins.steps), norm="l1")
    test = Whole([distance], Sensitivity(1.0, norm="l1"), n=n, unit=unit, name="distance")
    if not publish(test, Geometric(), passes, payer, promise=pure(epsilon)):
        return None
    kept = Whole([log], steps, n=n, unit=unit, name="logarithm")
    return publish(kept, Geometric(), spread, payer, promise=pure(epsilon))


def threshold(scale: float, delta: float) -> int:
    """Least integer t with P(Z >= t) = r^t / (1 + r) <= delta for discrete Laplace Z, r = e^(-1/scale)."""
    least = scale * (-math.log(delta) - math.log1p(math.exp(-1 / scale)))
    return max(1, math.ceil(least * (1 + 1e-12) + 1e-12))
