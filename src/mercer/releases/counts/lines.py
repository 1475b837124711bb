"""Counts of cells as rows on the screen and in JSON, and the answer to one question."""

from __future__ import annotations

import numpy as np

from mercer.columns.cells import MOST_LISTED
from mercer.releases.counts.asked import CountAnswer
from mercer.releases.counts.cells import Margin
from mercer.releases.counts.histogram import HistogramRelease
from mercer.show import terminal
from mercer.show.cells import Line, largest, lines, number

__all__ = ["cells_of", "lines_of", "show_answer"]


def cells_of(release: HistogramRelease, level: float, most: int) -> tuple[list[Line], int]:
    """The largest cells with their intervals, and how many more there are.

    All cells are in their order; some of them too where a column has one, or the largest first.
    """
    keys = np.arange(len(release.values)) if release.keys is None else release.keys
    if release.domain.cells <= MOST_LISTED:
        low, high = (end.reshape(-1)[keys] for end in release.interval(level))
    else:
        wide = release.noise.half_width(1, level)
        low, high = (np.clip(release.values + shift, 0, release.most) for shift in (-wide, wide))
    counts = np.maximum(release.values, 0).astype(float)
    order = largest(release.domain, counts, most)
    some = lines(release.domain, keys[order], counts[order], low[order], high[order])
    return some, len(counts) - len(order)


def lines_of(margin: Margin, most: int) -> tuple[list[Line], int]:
    """The largest cells of a margin with their intervals, and how many more there are."""
    counts = margin.counts.reshape(-1)
    order = largest(margin.axes, counts, most)
    ends = (end.reshape(-1)[order] for end in (margin.counts, margin.lower, margin.upper))
    return lines(margin.axes, order, *ends), counts.size - len(order)


def show_answer(found: CountAnswer, n: int, as_json: bool) -> None:
    """Print how many records a condition holds for, what it means, and which bins it cuts."""
    if as_json:
        ends = {"count": found.estimate, "lower": found.lower, "upper": found.upper}
        cuts = {"cuts": [cut.to_dict() for cut in found.cuts], "note": found.note or None}
        terminal.print_json({"level": found.level, "where": found.where, **ends, "of": n, **cuts})
        return
    from rich.markup import escape

    words = "interval" if found.cuts and not found.smooth else "interval for the noise"
    table = terminal.table("where", "count", f"{found.level:.0%} {words}", "of")
    table.columns[0].justify = "left"
    between = f"{number(found.lower)} to {number(found.upper)}"
    table.add_row(escape(found.where), number(found.estimate), between, f"{n}")
    terminal.show(table)
    if found.note:
        print(f"{found.note[0].upper()}{found.note[1:]}.")
