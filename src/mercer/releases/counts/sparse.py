"""Sums over cells of a sparse release, with intervals.  docs/proofs/counts.md, 6."""

from __future__ import annotations

import math

import numpy as np

from mercer.columns.cells import Axes
from mercer.common.checks import Floats, Ints
from mercer.noise.count_laws import CountLaw
from mercer.releases.bands import Interval
from mercer.releases.counts.questions import clipped, sum_width

__all__ = ["sparse_answer"]


def sparse_answer(
    axes: Axes,
    noise: CountLaw,
    threshold: int,
    held: tuple[Ints, Ints],
    weights: list[Floats | None],
    most: int,
    level: float,
) -> Interval:
    """Sum of the cells that are held; those left out hold up to the threshold and their noise.

    Four events, each of a quarter of what the level leaves out: the noise of all cells asked
    about, summed, from above and from below; that of those among them that are held; and that of
    the others that are held, which leave the rest of all records at most.
    """
    keys, values = held
    share = np.ones(len(keys))
    asked, squares, whole, largest = 1.0, 1.0, 1, 1.0
    terms = 1
    for axis, vector, places in zip(axes.columns, weights, axes.places(keys), strict=True):
        along = np.ones(axis.size) if vector is None else vector
        share *= along[places]
        asked *= float(np.sum(along))
        squares *= float(np.sum(along**2))
        largest *= float(np.max(along))
        terms *= int(np.count_nonzero(along))
        whole *= int(np.count_nonzero(along == 1))
    inside, outside = float(share @ values), float((1 - share) @ values)
    here, there = int(np.count_nonzero(share)), int(np.count_nonzero(share < 1))
    part = (1 - level) / 4
    fixed = sum_width(noise, terms, squares, largest, 1 - 2 * part)
    low = inside - noise.chosen_width(here, terms, 1 - part)
    if here == terms:
        low = max(low, inside - fixed)
    left_out = max(asked - float(np.sum(share)), 0.0)
    rest = outside - noise.chosen_width(there, axes.cells - whole, 1 - part)
    high = min(most - max(rest, 0.0), inside + threshold * left_out + fixed)
    high = max(high, inside) if math.isfinite(high) else most
    return clipped(inside, (inside - low, high - inside), most, level)
