"""The door for counts: charge, then draw, then build.  M13.

Like `publish`, for whole numbers: nothing is drawn before it is paid for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.columns.cells import Axes
from mercer.common.checks import Ints
from mercer.door.publish import Purse, spend
from mercer.noise.mechanisms.counts import CountNoise
from mercer.promise.events import PureEvent, Sensitivity
from mercer.promise.statement import Statement, rows_words
from mercer.releases.counts.histogram import HistogramRelease
from mercer.releases.findings import tell
from mercer.sensitive.summaries.cell_counts import CellCounts, MarginCounts

__all__ = ["check_worth", "publish_cells", "publish_count", "publish_margins", "threshold_of"]


def threshold_of(noise: CountNoise, cells: int, occupied: int | None) -> int:
    """The public threshold of a sparse release: noise alone passes it with chance q / 2p.

    (2 / epsilon) ln(p / q) for geometric noise (thesis, Proposition 2.4.3), q = 1 unless the
    number of occupied cells is known in public.
    """
    return int(noise.law.threshold((occupied or 1) / (2 * cells)))


def check_worth(
    noise: CountNoise, n: int, threshold: int | None, *, insist: bool, fewer: str = "fewer cells"
) -> None:
    """An error, before anything is spent, where noise would drown any count there can be."""
    if insist:
        return
    reach = noise.law.half_width(1, 0.95) if threshold is None else float(threshold)
    if reach >= n:
        how = "noise of one count" if threshold is None else "the threshold of a sparse release"
        raise ValueError(
            f"epsilon is so small that everything would be noise: {how} is {reach:.4g} and there "
            f"are {n} records in all; nothing was spent; use a larger epsilon, {fewer}, or "
            "insist=True to release it all the same"
        )


def publish_cells(
    counts: CellCounts,
    noise: CountNoise,
    purse: Purse,
    *,
    n: int,
    unit: str,
    epsilon: float,
    delta: float,
    threshold: int | None,
    complete: bool,
    what: str,
) -> HistogramRelease:
    """Charge, add noise to all cells or to the occupied ones, and hand out what is public."""
    statement = _paid(
        noise,
        purse,
        n=n,
        unit=unit,
        epsilon=epsilon,
        delta=delta,
        what=what,
        threshold=threshold,
        rows=rows_words(unit, counts.most),
    )
    _show(counts.axes, counts, noise, threshold, purse)
    keys: Ints | None = None
    if threshold is None:
        values = noise.add(counts.dense(), purse.entropy)
    else:
        keys, values = noise.sparse(*counts.occupied(), counts.axes.cells, threshold, purse.entropy)
    return tell(
        HistogramRelease(
            counts.axes, statement, noise.law, keys, values, threshold, complete, rows_each=counts.most
        )
    )


def publish_count(
    count: int,
    noise: CountNoise,
    purse: Purse,
    *,
    n: int,
    unit: str,
    epsilon: float,
    delta: float,
    sensitivity: Any,
    what: str,
    build: Callable[[int, Statement], Any],
) -> Any:
    """Charge and add noise to one count."""
    statement = _paid(noise, purse, n=n, unit=unit, epsilon=epsilon, delta=delta, what=what, threshold=None)
    purse.entropy.witness("count", np.array([count]), sensitivity)
    return tell(build(count + int(noise.draw(1, purse.entropy)[0]), statement))


def _paid(
    noise: CountNoise,
    purse: Purse,
    *,
    n: int,
    unit: str,
    epsilon: float,
    delta: float,
    what: str,
    threshold: int | None,
    rows: str = "",
) -> Statement:
    kept = "" if threshold is None else f"; cells above the public threshold {threshold} are kept"
    return spend(
        (noise.event,),
        purse,
        epsilon=epsilon,
        delta=delta,
        n=n,
        unit=unit,
        words=noise.words + kept + (f"; {rows}" if rows else ""),
        calibration="exact",
        what=what,
    )


def _show(axes: Axes, counts: CellCounts, noise: CountNoise, threshold: int | None, purse: Purse) -> None:
    sensitivity = counts.l1() if isinstance(noise.event, PureEvent) else counts.l2()
    purse.entropy.parameters(axes.cells, noise.law.scale, threshold)
    purse.entropy.witness("counts", counts.shown, sensitivity)


def publish_margins(
    counts: MarginCounts,
    single: tuple[bool, ...],
    noise: CountNoise,
    purse: Purse,
    *,
    n: int,
    unit: str,
    epsilon: float,
    delta: float,
    bounds: tuple[Sensitivity, Sensitivity],
    what: str,
) -> tuple[list[Ints], Statement]:
    """Charge and add noise to every cell of every margin.

    Of a margin marked single, which has two cells, the second alone gets noise; the first is what
    it leaves of n.
    """
    statement = _paid(
        noise,
        purse,
        n=n,
        unit=unit,
        epsilon=epsilon,
        delta=delta,
        what=what,
        threshold=None,
        rows=rows_words(unit, counts.most),
    )
    parts = [
        part.dense()[1:] if alone else part.dense() for part, alone in zip(counts.parts, single, strict=True)
    ]
    sensitivity = bounds[0] if isinstance(noise.event, PureEvent) else bounds[1]
    purse.entropy.parameters(single, noise.law.scale)
    whole = np.concatenate(parts)
    purse.entropy.witness("margins", whole, sensitivity)
    noisy = np.split(noise.add(whole, purse.entropy), np.cumsum([len(part) for part in parts])[:-1])
    pairs = zip(noisy, single, strict=True)
    return [np.array([n - part[0], part[0]]) if alone else part for part, alone in pairs], statement
