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
from mercer.columns.domain import Box
from mercer.common.checks import Floats, Ints, check_choice, check_count, check_delta, check_epsilon
from mercer.door.publish import LedgerLike, Paid, Payer, Purse, publish
from mercer.noise.laws import LaplaceLaw
from mercer.noise.mechanisms import Exponential, Geometric
from mercer.noise.mechanisms.additive import GeometricShare
from mercer.noise.mechanisms.base import Promise
from mercer.promise.events import ApproximateEvent, PureEvent, Sensitivity
from mercer.releases.choice import EndCounts, QuantileRelease, SpreadRelease
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
_CELLS = (1 << 15) + 1  # points of a grid that is not given


def expected_quantiles(given: Mapping[str, Any], made: Any) -> str:
    """The expected error of the ranks of quantiles, in words."""
    q, grid = given["q"], given["grid"]
    levels = len(list(q)) if isinstance(q, Iterable) else 1
    points = len(list(grid)) if isinstance(grid, Iterable) else grid or _CELLS
    return expected_ranks(made.epsilon / levels, made.n, points)


def _expected_spread(given: Mapping[str, Any], made: Any) -> str:
    """The expected error of an interquartile range, in words."""
    if given["method"] != "exponential":
        return "the factor e^(1/epsilon) or so, where the test lets anything out"
    return expected_ranks(made.epsilon / 2, made.n)


def expected_ranks(epsilon: float, n: int, points: int = _CELLS) -> str:
    """By how many records a rank that is drawn with this epsilon misses its target."""
    reach = 2 / epsilon * (math.log(points) + math.log(20))
    return (
        f"each rank misses its target by at most {reach:.3g} of n = {n} records in 95 % of the "
        f"cases ({min(reach / n, 1):.2%} of them)"
    )


@call(expected_quantiles)
def quantiles(
    data: object,
    q: float | Sequence[float],
    *,
    bounds: object = None,
    epsilon: float,
    grid: int | Sequence[float] | None = None,
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
    terms = Terms(epsilon, None, unit, insist, dry_run, rng, ledger, dataset)
    reading, purse = terms.reading(na_values, formats, outside), terms.purse(data)
    held = Counted(data, bounds, columns, unit, reading, one=True)
    values, nodes = _points(grid, held.domain, held.tally.shape[0] - 1)
    choice, counts = shares(epsilon, len(levels))
    paid = pay(purse, held, PureEvent(epsilon), f"quantiles of {held.name}", Exponential.words + _COUNTED)
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


@call(_expected_spread)
def iqr(
    data: object,
    *,
    bounds: object = None,
    epsilon: float,
    delta: float | None = None,
    method: str = "exponential",
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
    """
    epsilon = check_epsilon(epsilon)
    choice, counts = shares(epsilon, 2)
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
    share = (
        propose_test_release(ranks, choice / 2, event.delta, paid)
        if isinstance(event, ApproximateEvent)
        else draw_spread(ranks, choice, paid)
    )
    value = None if share is None else share * float(held.domain.widths[0])
    return tell(SpreadRelease(held.name, held.domain.bounds[0], value, method, paid.statement, ends))


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


def _points(grid: object, domain: Box, cells: int) -> tuple[Floats, Ints]:
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
    """The place of the point chosen for each level, by an even share of epsilon."""
    promise = pure(part(epsilon, len(levels)))
    out = []
    for level in levels:
        moved = rank_sensitivity(level, ranks.weight)
        scores = Scores(ranks.scores(level, nodes), moved, n=ranks.n, unit=ranks.unit)
        out.append(publish(scores, Exponential(), lambda place, *_: int(place), payer, promise=promise))
    return out


def draw_spread(ranks: Ranks, epsilon: float, payer: Payer) -> float:
    """The interquartile range of a column as a share of its bounds, from two private quartiles."""
    nodes = np.arange(ranks.cells + 1)
    low, high = draw_quantiles(ranks, _QUARTILES, nodes, epsilon, payer)
    return max(high - low, 0) / ranks.cells


def propose_test_release(ranks: Ranks, epsilon: float, delta: float, payer: Payer) -> float | None:
    """The interquartile range as a share of the bounds, or None: (2 epsilon, delta)-DP.

    The distance A(D) moves by at most 1: discrete Laplace noise of scale 1/epsilon makes the test
    epsilon-DP.  Where A(D) <= 1 it passes with probability at most delta; where A(D) >= 2 the
    logarithms of neighbours are less than a bin apart, and noise of scale bin/epsilon is enough.
    """
    bins = LogBins(ranks.n, ranks.cells)
    log, distance = ranks.spread(bins)

    def passes(noisy: Floats, law: LaplaceLaw, _statement: object) -> bool:
        return noisy[0] > threshold(law.scale, delta)

    def spread(noisy: Floats, *_: object) -> float:
        return bins.cells_of(noisy[0]) / ranks.cells

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
