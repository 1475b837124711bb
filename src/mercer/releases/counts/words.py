"""What the command line shows of counts, histograms and tables.

All of it follows from the release: no record is behind these numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mercer.columns.conditions import conditions
from mercer.releases.bands import Interval
from mercer.releases.counts.histogram import HistogramRelease
from mercer.releases.counts.margins import MarginsRelease
from mercer.releases.counts.number import CountRelease, StatisticRelease
from mercer.show import terminal
from mercer.show.cells import cells_of, counted, lines_of, number, show_lines, told

__all__ = ["describe", "show", "show_number", "show_values", "summary"]

_SHOWN = 25  # cells of a table on a screen
_TOLD = 10_000  # cells in JSON
_COLUMNS = 6  # in a heading
_SETS = 12  # margins by name

AnyNumber = CountRelease | StatisticRelease
AnyCounts = HistogramRelease | MarginsRelease | AnyNumber


def describe(release: AnyCounts) -> str:
    """`histogram of age in 20 bins of [0, 100]`."""
    if isinstance(release, CountRelease):
        return f"{'proportion' if release.share else 'count'} of {release.domain.words}"
    if isinstance(release, StatisticRelease):
        return release.domain.words
    more = release.domain.dimension - _COLUMNS
    columns = ", ".join(axis.describe() for axis in release.domain.columns[:_COLUMNS])
    columns += f" and {more} more column{'s' * (more > 1)}" if more > 0 else ""
    if isinstance(release, MarginsRelease):
        return f"{len(release.sets)} margins of {columns}"
    what = "histogram" if release.domain.dimension == 1 else "table"
    return f"{'sparse ' * release.sparse}{what} of {columns}"


def summary(release: AnyCounts, level: float = 0.95) -> dict[str, Any]:
    """What `--json` says of a release of counts."""
    about: dict[str, Any] = {
        "kind": release.kind,
        "privacy": release.privacy.to_dict(),
        "findings": terminal.told(release),
    }
    if isinstance(release, StatisticRelease):
        return about | {"of": release.domain.words, **_ends(release, level)}
    noise = None if release.noise is None else release.noise.to_dict()
    about |= {"noise": noise, "accuracy": release.accuracy.to_dict()}
    if isinstance(release, CountRelease):
        return about | {
            "of": release.domain.words,
            "count": release.count,
            "proportion": release.proportion,
            "raw": release.raw,
            **_ends(release, level),
        }
    about |= {"domain": release.domain.to_dict(), "level": level}
    about |= {"rows_each": release.rows_each, "rows": release.rows or None}
    if isinstance(release, MarginsRelease):
        left, margins = _TOLD, []
        for chosen in release.margins:
            found = release.margin(*chosen, level=level)
            lines, more = lines_of(found, left)
            left -= len(lines)
            margins.append(
                {"columns": list(chosen), "counts": told(found.axes, lines), "counts_left_out": more}
            )
        return about | {"margins": margins}
    lines, more = cells_of(release, level, _TOLD)
    return about | {
        "cells": release.domain.cells,
        "held": len(release.values),
        "threshold": release.threshold,
        "counts": told(release.domain, lines),
        "counts_left_out": more,
    }


def show_number(release: CountRelease, level: float = 0.95) -> None:
    """The number alone on a line, then its interval."""
    print(number(release.value))
    found = _ends(release, level)
    of = f"{release.count} of {release.n}" if release.share else f"of {release.n} in all"
    ends = f"{number(found['lower'])} to {number(found['upper'])}"
    print(f"{level:.0%} interval {ends}, for the noise; {of}")


def show(release: AnyCounts, heading: str, level: float = 0.95) -> None:
    """Promise and accuracy in words, then the cells with a bar each."""
    rows = [("promise", str(release.privacy)), ("attack", release.privacy.attack)]
    if isinstance(release, AnyNumber):
        rows.insert(0, (value_name(release), _value_words(release, level)))
    rows += _accuracy(release, level)
    terminal.facts(heading, rows + terminal.notes(release))
    if isinstance(release, MarginsRelease):
        show_margins(release, level)
    elif isinstance(release, HistogramRelease):
        show_lines(release.domain, *cells_of(release, level, _SHOWN), level)


def value_name(release: AnyNumber) -> str:
    """What the number is."""
    if isinstance(release, StatisticRelease):
        return "value"
    return "proportion" if release.share else "count"


def _value_words(release: AnyNumber, level: float) -> str:
    found = _ends(release, level)
    words = number(release.value)
    if found["lower"] is not None:
        words += f", {level:.0%} interval {number(found['lower'])} to {number(found['upper'])}"
    if isinstance(release, StatisticRelease):
        return words
    return (
        f"{words} ({release.count} of {release.n})" if release.share else f"{words} (of {release.n} in all)"
    )


def _ends(release: AnyNumber, level: float) -> dict[str, Any]:
    """The value and its interval, if the scale of the noise is told."""
    if isinstance(release, StatisticRelease) and release.scale is None:
        return {"value": release.value, "level": level, "lower": None, "upper": None}
    found = release.interval(level)
    return {"value": release.value, "level": level, "lower": found.lower, "upper": found.upper}


def _accuracy(release: AnyCounts, level: float) -> list[tuple[str, str]]:
    if isinstance(release, StatisticRelease):
        told = release.scale is not None
        scale = f"Laplace noise of scale {release.scale:.3g}" if told else "noise of an untold scale"
        return [("accuracy", scale)]
    rows = []
    if isinstance(release, (HistogramRelease, MarginsRelease)) and release.rows:
        more = "; --rows-per-person K counts K of them, with K times the noise"
        rows.append(("persons", release.rows + more * (release.rows_each == 1)))
    if isinstance(release, HistogramRelease):
        wide = release.noise.half_width(1, level)
        words = f"± {wide:g} ({level:.0%}), standard deviation {release.noise.deviation:.3g}"
        words += ", of the rows that were drawn" if release.rows else ""
        rows.append(("each count", words))
        if release.exact is not None:
            some = f"{int(release.exact.sum())} of {len(release.values)}"
            rows.append(("no noise", f"in {some} counts, under the weaker promise"))
        if release.threshold is not None:
            rows.append(
                (
                    "cells",
                    f"{len(release.values)} of {release.domain.cells} are above the public "
                    f"threshold {release.threshold}; the others count as 0 and may hold up to "
                    f"{release.threshold + wide:g}",
                )
            )
    return [*rows, ("accuracy", str(release.accuracy))]


def show_margins(release: MarginsRelease, level: float) -> None:
    """Every column by itself, as far as there is room."""
    from rich.markup import escape

    table = terminal.table("column", "cell", "count", f"{level:.0%} interval", "")
    for place in (0, 1, 4):
        table.columns[place].justify = "left"
    room, left = _SHOWN, 0
    for name, margin in release.one_way(level=level).items():
        lines, more = lines_of(margin, room)
        room, left = room - len(lines), left + more
        for k, line in enumerate(lines):
            shown = map(escape, (name if k == 0 else "", *line.labels))
            table.add_row(*shown, *counted(line, release.n))
    terminal.console().print(table)
    if left:
        print(f"… and {left} more cells of single columns.")
    sets = [" x ".join(names) or "the total" for names in release.margins]
    others = f" and {len(sets) - _SETS} more" if len(sets) > _SETS else ""
    print(f"Released together: {', '.join(sets[:_SETS])}{others}.")


def show_values(
    release: AnyCounts,
    *,
    at: Sequence[float],
    where: Sequence[str],
    margin: Sequence[str],
    level: float,
    smooth: bool,
    as_json: bool,
) -> None:
    """`mercer eval`: how many records a condition holds for, margins, or the density at points."""
    asked = [name for name, given in (("--at", at), ("--where", where), ("--margin", margin)) if given]
    if isinstance(release, AnyNumber):
        if asked:
            raise ValueError(f"{asked[0]}: a {release.kind} is one number and answers nothing else")
        if as_json:
            terminal.print_json(_ends(release, level))
        else:
            print(f"{value_name(release)}: {_value_words(release, level)}")
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
            terminal.print_json({"level": level, "counts": told(found.axes, lines), "counts_left_out": more})
        else:
            show_lines(found.axes, lines, more, level)
        return
    if where:
        rules = conditions(where, lambda name: release.domain.columns[release.domain.index(name)].column)
        if smooth and isinstance(release, MarginsRelease):
            raise ValueError("--smooth is for histograms of one column; this is margins")
        options = {"smooth": True} if smooth else {}
        answer = release.query(rules, level=level, **options)
        _answer(" and ".join(where), answer, release.n, as_json)
        return
    if isinstance(release, MarginsRelease):
        raise ValueError("--at is for histograms of one column; ask with --where or --margin")
    heights = np.atleast_1d(release(np.array(at)))
    if as_json:
        rows = [{"at": x, "density": float(h)} for x, h in zip(at, heights, strict=True)]
        terminal.print_json({"values": rows})
        return
    table = terminal.table(release.domain.names[0], "density")
    for x, height in zip(at, heights, strict=True):
        table.add_row(f"{x:g}", f"{height:.6g}")
    terminal.console().print(table)


def _answer(words: str, found: Interval, n: int, as_json: bool) -> None:
    if as_json:
        ends = {"count": found.estimate, "lower": found.lower, "upper": found.upper}
        terminal.print_json({"level": found.level, "where": words, **ends, "of": n})
        return
    from rich.markup import escape

    table = terminal.table("where", "count", f"{found.level:.0%} interval for the noise", "of")
    table.columns[0].justify = "left"
    between = f"{number(found.lower)} to {number(found.upper)}"
    table.add_row(escape(words), number(found.estimate), between, f"{n}")
    terminal.console().print(table)
