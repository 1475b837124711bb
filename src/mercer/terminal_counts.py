"""What the command line shows of counts, histograms and tables.  Layer 6.

All of it follows from the release: no record is behind these numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from mercer import terminal
from mercer.axes import MOST_LISTED, Axes, Axis
from mercer.cell_releases import HistogramRelease, Margin
from mercer.checks import Floats, Ints
from mercer.count_laws import CountLaw
from mercer.count_releases import CountRelease
from mercer.histogram_plans import HistogramPlan
from mercer.marginals import labels_of
from mercer.terminal_conditions import conditions
from mercer.weighted import Interval

__all__ = ["describe", "show", "show_plans", "show_values", "summary"]

_SHOWN = 25  # cells of a table on a screen
_TOLD = 10_000  # cells in JSON
_BAR = 24  # letters

AnyCounts = HistogramRelease | CountRelease


class Line(NamedTuple):
    """A cell with the ends of its interval."""

    labels: tuple[str, ...]
    count: float
    lower: float
    upper: float


def describe(release: AnyCounts) -> str:
    """`histogram of age in 20 bins of [0, 100]`."""
    if isinstance(release, CountRelease):
        return f"{'proportion' if release.share else 'count'} of {release.domain.words}"
    what = "histogram" if release.domain.dimension == 1 else "table"
    return f"{'sparse ' * release.sparse}{what} of {release.domain.describe()}"


def summary(release: AnyCounts, level: float = 0.95) -> dict[str, Any]:
    """What `--json` says of a release of counts."""
    about: dict[str, Any] = {"kind": release.kind, "privacy": release.privacy.to_dict()}
    noise = None if release.noise is None else release.noise.to_dict()
    if isinstance(release, CountRelease):
        found = release.interval(level)
        return about | {
            "of": release.domain.words, "value": release.value, "count": release.count,
            "proportion": release.proportion, "raw": release.raw, "noise": noise,
            "level": level, "lower": found.lower, "upper": found.upper,
        }  # fmt: skip
    lines, more = cells_of(release, level, _TOLD)
    return about | {
        "domain": release.domain.to_dict(), "cells": release.domain.cells,
        "held": len(release.values), "threshold": release.threshold, "noise": noise,
        "accuracy": {
            "deviation": release.noise.deviation,
            "half_width": release.noise.half_width(1, level),
            "expected_error": release.noise.mean_error,
        },
        "level": level, "counts": _told(release.domain, lines), "counts_left_out": more,
    }  # fmt: skip


def show(release: AnyCounts, heading: str, level: float = 0.95) -> None:
    """Promise and accuracy in words, then the cells with a bar each."""
    rows = [("promise", str(release.privacy)), ("attack", release.privacy.attack)]
    rows += [(_value_name(release), _value_words(release, level))] if isinstance(release, CountRelease) else []  # fmt: skip  # noqa: E501
    rows += _accuracy(release, level)
    if release.privacy.delta > 1 / release.privacy.n:
        rows.append(("note", "delta is above 1/n, too weak a promise for most uses"))
    terminal.facts(heading, rows)
    if isinstance(release, CountRelease):
        return
    lines, more = cells_of(release, level, _SHOWN)
    show_lines(release.domain, lines, more, level, "not shown")


def _value_name(release: CountRelease) -> str:
    return "proportion" if release.share else "count"


def _value_words(release: CountRelease, level: float) -> str:
    found = release.interval(level)
    ends = f"{level:.0%} interval {_number(found.lower)} to {_number(found.upper)}"
    beside = f"{release.count} of {release.n}" if release.share else f"of {release.n} in all"
    return f"{_number(release.value)}, {ends} ({beside})"


def _accuracy(release: AnyCounts, level: float) -> list[tuple[str, str]]:
    noise: Any = release.noise
    if noise is None:
        return [("accuracy", "no noise was added, under the weaker promise")]
    if isinstance(release, CountRelease):
        if not isinstance(noise, CountLaw):
            return [("accuracy", str(noise))]
        words = f"noise of standard deviation {noise.deviation:.3g}"
        return [("accuracy", f"{words} in the count, known in advance")]
    wide = noise.half_width(1, level)
    words = f"each count ± {wide:g} ({level:.0%}), standard deviation {noise.deviation:.3g}"
    if release.exact is not None:
        some = int(release.exact.sum())
        words += f"; {some} of {len(release.values)} counts have no noise, under the weaker promise"
    if release.threshold is None:
        total = release.domain.cells * noise.mean_error
        words += f"; all {release.domain.cells} cells together err by {total:.4g} in expectation"
        return [("accuracy", words)]
    return [
        ("cells", f"{len(release.values)} of {release.domain.cells} are above the public threshold "
                  f"{release.threshold}; the others count as 0"),
        ("accuracy", words + f"; a cell left out may hold up to {release.threshold + wide:g}"),
    ]  # fmt: skip


def cells_of(release: HistogramRelease, level: float, most: int) -> tuple[list[Line], int]:
    """The largest cells with their intervals, and how many more there are.

    All cells are in their order; some of them too where a column has one, or the largest first.
    """
    keys = np.arange(len(release.values)) if release.keys is None else release.keys
    if release.domain.cells <= MOST_LISTED:
        low, high = (end.reshape(-1)[keys] for end in release.interval(level))
    else:
        wide = release.noise.half_width(1, level)
        low, high = (np.clip(release.values + shift, 0, release.n) for shift in (-wide, wide))
    counts = np.maximum(release.values, 0).astype(float)
    order = _largest(release.domain, counts, most)
    lines = _lines(release.domain, keys[order], counts[order], low[order], high[order])
    return lines, len(counts) - len(order)


def _largest(axes: Axes, counts: Floats, most: int) -> Ints:
    order = np.argsort(-counts, kind="stable")[:most]
    ordered = axes.dimension == 1 and axes.columns[0].column.numeric
    return np.sort(order) if ordered or len(counts) <= most else order


def lines_of(margin: Margin, most: int) -> tuple[list[Line], int]:
    """The same of a margin."""
    counts = margin.counts.reshape(-1)
    order = _largest(margin.axes, counts, most)
    ends = (end.reshape(-1)[order] for end in (margin.counts, margin.lower, margin.upper))
    return _lines(margin.axes, order, *ends), counts.size - len(order)


def _lines(axes: Axes, keys: Ints, counts: Floats, low: Floats, high: Floats) -> list[Line]:
    words = [names(axis) for axis in axes.columns]
    places = axes.places(np.asarray(keys, dtype=np.int64))
    return [
        Line(tuple(word[p] for word, p in zip(words, place, strict=True)), *map(float, ends))
        for place, *ends in zip(places.T, counts, low, high, strict=True)
    ]


def names(axis: Axis) -> list[str]:
    """Cells of a column in words."""
    return labels_of(axis.column) if axis.edges is None and labels_of(axis.column) else axis.labels()


def _told(axes: Axes, lines: Iterable[Line]) -> list[dict[str, Any]]:
    return [
        {"cell": dict(zip(axes.names, line.labels, strict=True)), "count": line.count,
         "lower": line.lower, "upper": line.upper}
        for line in lines
    ]  # fmt: skip


def show_lines(axes: Axes, lines: list[Line], more: int, level: float, where: str) -> None:
    """A row for each cell: its count, interval and bar."""
    table = terminal.table(*axes.names, "count", f"{level:.0%} interval", "")
    for column in (*table.columns[: axes.dimension], table.columns[-1]):
        column.justify = "left"
    for column in table.columns[axes.dimension :]:
        column.no_wrap = True
    top = max((line.count for line in lines), default=0.0)
    for line in lines:
        bar = "█" * round(_BAR * line.count / top) if top > 0 else ""
        ends = f"{_number(line.lower)} to {_number(line.upper)}"
        table.add_row(*line.labels, _number(line.count), ends, bar)
    terminal.console().print(table)
    if more:
        largest = "above are the largest" if len(lines) else "nothing is above the threshold"
        print(f"… and {more} more cells, {where}: {largest}.")


def show_values(
    release: AnyCounts, *, at: Sequence[float], where: Sequence[str], margin: Sequence[str],
    level: float, as_json: bool,
) -> None:  # fmt: skip
    """`mercer eval`: how many records a condition holds for, margins, or the density at points."""
    asked = [name for name, given in (("--at", at), ("--where", where), ("--margin", margin)) if given]  # fmt: skip  # noqa: E501
    if isinstance(release, CountRelease):
        if asked:
            raise ValueError(f"{asked[0]}: a count is one number and answers nothing else")
        said = summary(release, level)
        told = [("", Interval(release.value, said["lower"], said["upper"], level))]
        _answers(told, _value_name(release), release.n, level, as_json)
        return
    if len(asked) != 1:
        raise ValueError(
            "say what to ask, in one way: --where 'COLUMN>=VALUE' … for a count of records, "
            "--margin COLUMN… for the counts of some columns, or --at X… for a density"
        )
    if margin:
        found = release.margin(*margin, level=level)
        lines, more = lines_of(found, _TOLD if as_json else _SHOWN)
        if as_json:
            terminal.print_json({"level": level, "counts": _told(found.axes, lines), "counts_left_out": more})  # fmt: skip  # noqa: E501
        else:
            show_lines(found.axes, lines, more, level, "in --json")
        return
    if where:
        rules = conditions(where, lambda name: release.domain.columns[release.domain.index(name)].column)  # fmt: skip  # noqa: E501
        answer = release.query(rules, level=level)
        _answers([(" and ".join(where), answer)], "count", release.n, level, as_json)
        return
    heights = np.atleast_1d(release(np.array(at)))
    if as_json:
        rows = [{"at": x, "density": float(h)} for x, h in zip(at, heights, strict=True)]
        terminal.print_json({"values": rows})
        return
    table = terminal.table(release.domain.names[0], "density")
    for x, height in zip(at, heights, strict=True):
        table.add_row(f"{x:g}", f"{height:.6g}")
    terminal.console().print(table)


def _answers(
    found: list[tuple[str, Interval]], what: str, n: int, level: float, as_json: bool
) -> None:
    if as_json:
        terminal.print_json({
            "level": level,
            "values": [
                {"where": words, what: value.estimate, "lower": value.lower, "upper": value.upper}
                for words, value in found
            ],
        })  # fmt: skip
        return
    table = terminal.table("where", what, f"{level:.0%} interval for the noise", "of")
    table.columns[0].justify = "left"
    for words, value in found:
        ends = f"{_number(value.lower)} to {_number(value.upper)}"
        table.add_row(words or "(as released)", _number(value.estimate), ends, f"{n}")
    terminal.console().print(table)


def show_plans(plans: Sequence[HistogramPlan], occupied: Sequence[int]) -> None:
    """A line for each epsilon."""
    heads = [f"sparse, {q} occupied" for q in occupied]
    table = terminal.table("epsilon", "deviation", "95% ±", "all cells", "threshold", *heads)
    for plan in plans:
        table.add_row(
            f"{plan.epsilon:g}", f"{plan.deviation:.3g}", f"{plan.half_width:g}",
            f"{plan.privacy_error:.4g}", f"{plan.threshold}",
            *(f"{plan.sparse_error(q):.4g}" for q in occupied),
        )  # fmt: skip
    terminal.console().print(table)
    one = plans[0]
    print(
        f"deviation, 95% ±: of the noise of one count. all cells, sparse: expected error of all "
        f"{one.cells} counts\ntogether, at most; other records of the same distribution would make "
        f"{one.sampling_error:.4g} at most, privacy or not."
    )
    if one.worth:
        print(f"A sparse release is the better one up to about {one.worth} occupied cells.")
    for plan in plans:
        if plan.half_width >= plan.n:
            print(f"At epsilon = {plan.epsilon:g} everything would be noise: it will be refused.")


def _number(value: float) -> str:
    return f"{value:.0f}" if value == round(value) else f"{value:.5g}"
