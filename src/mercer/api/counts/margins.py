"""Several margins of a table at once.  M13; Hall's thesis, Section 2.4.2."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

import numpy as np

from mercer.api.counts.asked import CountRequest, check_worth
from mercer.columns.cells import MOST_LISTED, Axes
from mercer.common.checks import Ints
from mercer.door.publish import Purse, publish
from mercer.noise.count_laws import CountLaw
from mercer.noise.mechanisms.counts import count_mechanism
from mercer.promise.statement import Statement
from mercer.releases.counts.margins import MarginsRelease
from mercer.releases.findings import tell
from mercer.sensitive.summaries.cell_counts import MarginCounts, count_margins, moved_counts, moves_of

__all__ = ["released_margins", "sets_of"]

MOST_MARGINS = 1 << 14


def released_margins(
    ask: CountRequest,
    data: object,
    purse: Purse,
    margins: object,
    what: str,
    progress: Callable[[int], None] | None,
) -> MarginsRelease:
    """Read, charge, add noise to all margins, make them fit each other."""
    sets = sets_of(margins, ask.axes)
    used = sorted(set().union(*sets))  # a value that is missing elsewhere does not matter
    axes = ask.axes.only(used)
    sets = tuple(tuple(used.index(place) for place in places) for places in sets)
    ask = replace(ask, axes=axes)
    sizes = [math.prod(axes.sizes[place] for place in places) for places in sets]
    if sum(sizes) > MOST_LISTED:
        raise ValueError(
            f"margins would have {sum(sizes)} cells together, too many to list (at most "
            f"{MOST_LISTED}); ask for fewer, or of fewer columns"
        )
    # where every record is in a cell and n is public, one count of two tells the other
    complete = ask.missing == "drop"
    single = tuple(complete and size == 2 for size in sizes)
    mechanism = count_mechanism(ask.delta)
    moved = moved_counts(moves_of(single), ask.most, mechanism.norm)
    noise = mechanism.calibrate(moved, **ask.promise)
    tally = count_margins(
        ask.open(data, progress), axes, sets, most=ask.most, counts=ask.counts, lots=ask.lots(purse)
    )
    n = ask.n(tally)
    check_worth(noise, n, None, insist=ask.insist, fewer="fewer margins")
    named = f"{len(sets)} margins of the {what}"
    ends = np.cumsum([1 if alone else size for size, alone in zip(sizes, single, strict=True)])[:-1]

    def build(noisy: Ints, law: CountLaw, statement: Statement) -> MarginsRelease:
        parts = [
            np.array([n - part[0], part[0]]) if alone else part
            for part, alone in zip(np.split(noisy, ends), single, strict=True)
        ]
        shaped = tuple(
            part.reshape([axes.sizes[place] for place in places])
            for part, places in zip(parts, sets, strict=True)
        )
        return tell(MarginsRelease(axes, statement, sets, shaped, law, single, complete, rows_each=ask.most))

    counts = MarginCounts(tally, single, n=n, unit=ask.unit or "row")
    return publish(counts, mechanism, build, purse, promise=ask.promise, what=named)


def sets_of(margins: object, axes: Axes) -> tuple[tuple[int, ...], ...]:
    """Sets of columns, by their places."""
    if isinstance(margins, (int, np.integer)) and not isinstance(margins, bool):
        if not 1 <= margins <= axes.dimension:
            raise ValueError(
                f"margins must be from 1 to the number of columns, {axes.dimension}; got {margins}"
            )
        if math.comb(axes.dimension, int(margins)) > MOST_MARGINS:
            raise ValueError(f"margins would be more than {MOST_MARGINS}; list the ones you need")
        return tuple(combinations(range(axes.dimension), int(margins)))
    if isinstance(margins, str) or not isinstance(margins, (list, tuple)) or not margins:
        raise ValueError(
            "margins must be 'all', a number of columns, or a list of tuples of names such as "
            '[("age", "sex"), ("sex",)]'
        )
    sets = []
    for names in margins:
        group = (names,) if isinstance(names, str) else tuple(names)
        if not group or len(set(group)) < len(group):
            raise ValueError("margins: each must name one or more different columns")
        for name in group:
            if name not in axes.names:
                shown = ", ".join(map(repr, axes.names))
                raise ValueError(f"margins: there is no column {name!r}; there are {shown}")
        sets.append(tuple(sorted(axes.index(name) for name in group)))
    if len(set(sets)) < len(sets):
        raise ValueError("margins: one of them stands twice; ask for it once")
    if len(sets) > MOST_MARGINS:
        raise ValueError(f"margins must be at most {MOST_MARGINS}, got {len(sets)}")
    return tuple(sets)
