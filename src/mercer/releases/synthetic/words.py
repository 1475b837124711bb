"""What the command line reads and shows of synthetic tables.

All of it follows from the release: no record is behind these numbers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from mercer.columns.conditions import conditions
from mercer.columns.kinds import Categorical, Column, Date, labels_of
from mercer.releases.bands import Interval
from mercer.releases.synthetic.marginals import estimate, marginal
from mercer.releases.synthetic.records import RecordsRelease
from mercer.releases.synthetic.release import TableRelease
from mercer.show import terminal

__all__ = ["describe", "progress", "show", "show_values", "summary"]

_EPOCH = date(1970, 1, 1).toordinal()
_SHOWN = 6  # columns, or levels, in a line

Tick = Callable[[int], None]


def describe(release: TableRelease | RecordsRelease) -> str:
    """`synthetic table of age in [0, 100], sex in {f, m}`."""
    if isinstance(release, RecordsRelease):
        return f"synthetic set of {release.domain.describe()}"
    return f"synthetic table of {release.domain.describe(_SHOWN)}"


def summary(release: TableRelease | RecordsRelease, level: float = 0.95) -> dict[str, Any]:
    """What `--json` says of a synthetic table."""
    about: dict[str, Any] = {
        "kind": release.kind,
        "records": release.points_count,
        "weights": release.style,
        "privacy": release.privacy.to_dict(),
        "findings": terminal.told(release),
    }
    if isinstance(release, RecordsRelease):
        return about | {"domain": {"words": release.domain.words}}
    accuracy = release.accuracy
    parts = {
        name: getattr(accuracy, name) for name in ("sampling", "privacy", "noise", "reduced", "projection")
    }
    return about | {
        "domain": release.domain.to_dict(),
        "method": release.method,
        "kernel": release.kernel.to_dict(),
        "accuracy": {name: _known(value) for name, value in parts.items()}
        | {"coordinates": accuracy.coordinates},
        "level": level,
        "columns": [_told(release, column, level) for column in release.domain.columns],
    }


def show(release: TableRelease | RecordsRelease, heading: str, level: float = 0.95) -> None:
    """Promise, records, accuracy in words, and every column."""
    rows = [("promise", str(release.privacy)), ("attack", release.privacy.attack)]
    weights = {
        "positive": "weights of sum 1, none negative",
        "uniform": "equal weights",
        "free": "weights of any sign",
        "l1": f"weights of any sign, absolute values of sum at most {release.bound:g}",
    }[release.style]
    rows.append(("records", f"{release.points_count} synthetic ones, {weights}"))
    if isinstance(release, TableRelease):
        rows += [("kernel", release.kernel.words), *_accuracy(release)]
    terminal.facts(heading, rows + terminal.notes(release))
    if isinstance(release, TableRelease):
        show_columns(release, level)


def _accuracy(release: TableRelease) -> list[tuple[str, str]]:
    parts = release.accuracy
    if release.embedding is None:
        return [("accuracy", "drawn whole, the likelier the nearer: no noise whose size is known")]
    return [
        ("accuracy", "distances in the kernel's space, where a record has length 1:"),
        ("sampling", f"{parts.sampling:.2g} from other records of the same distribution"),
        ("noise", f"{parts.privacy:.2g} for privacy ({parts.noise:.2g} before shrinking)"),
        ("fit", f"{parts.reduced:.2g} between this table and what was released"),
        ("unseen", f"{parts.projection:.2g} from a record to what {parts.coordinates} coordinates can tell"),
    ]


def show_columns(release: TableRelease, level: float) -> None:
    """A line a column: its mean, or the shares of its levels."""
    known = release.embedding is not None
    head = f"± {level:.0%} for the noise of privacy" if known else ""
    table = terminal.table("column", f"mean or shares {head}".rstrip())
    for column in table.columns:
        column.justify = "left"
    for column in release.domain.columns:
        table.add_row(column.name, _line(release, column, level))
    terminal.console().print(table)
    if known:
        print("± is for the noise alone; what is finer than the kernel's scales is smoothed away.")


def _line(release: TableRelease, column: Column, level: float) -> str:
    if not labels_of(column):
        found = estimate(release, column.name, None, level=level)
        return f"mean {_value(column, found.estimate)}{_half(column, found)}"
    one = marginal(release, column.name, level=level)
    named = list(zip(one.shares, one.bars, one.labels, strict=True))
    if isinstance(column, Categorical):  # the largest first
        named.sort(key=lambda part: -part[0])
    shown = [
        f"{name} {100 * share:.3g} %" + (f" ± {100 * bar:.2g}" if bar == bar else "")
        for share, bar, name in named[:_SHOWN]
    ]
    more = len(named) - _SHOWN
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _told(release: TableRelease, column: Column, level: float) -> dict[str, Any]:
    about: dict[str, Any] = {"name": column.name, "type": column.kind}
    if not labels_of(column):
        found = estimate(release, column.name, None, level=level)
        return about | {"mean": _ends(column, found)}
    one = marginal(release, column.name, level=level)
    return about | {
        "levels": [
            {"level": name, "share": float(share), "plus_minus": _known(float(bar))}
            for name, share, bar in zip(one.labels, one.shares, one.bars, strict=True)
        ]
    }


def show_values(
    release: TableRelease | RecordsRelease,
    expect: Sequence[str],
    where: Sequence[str],
    level: float,
    *,
    as_json: bool,
) -> None:
    """`mercer eval` of a table: means of columns, or the probability of a condition."""
    if isinstance(release, RecordsRelease):
        raise ValueError("records of any kind are asked in Python: release.expect(h)")
    rules = conditions(where, release.domain.column)
    asked: list[str | None] = list(expect) if expect else [None]
    found = [estimate(release, name, rules if where else None, level=level) for name in asked]
    columns = [None if name is None else release.domain.column(name) for name in asked]
    if as_json:
        terminal.print_json(
            {
                "level": level,
                "where": list(where),
                "values": [
                    {"expect": name} | _ends(column, value)
                    for name, column, value in zip(asked, columns, found, strict=True)
                ],
            }
        )
        return
    condition = f" where {' and '.join(where)}" if where else ""
    table = terminal.table("of", "value", f"{level:.0%} interval for the noise of privacy")
    table.columns[0].justify = "left"
    for name, column, value in zip(asked, columns, found, strict=True):
        what = f"mean of {name}{condition}" if name else f"probability{condition}"
        ends = f"{_value(column, value.lower)} to {_value(column, value.upper)}"
        table.add_row(
            what, _value(column, value.estimate), ends if value.lower == value.lower else "not known"
        )
    terminal.console().print(table)


@contextmanager
def progress(wanted: bool, file: Path | None = None) -> Iterator[tuple[Tick | None, Tick | None]]:
    """Rows read, then the trials of a search, on a terminal only."""
    terminal.say_files(wanted, file)
    if not (wanted and sys.stderr.isatty()):
        yield None, None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task, seen, turned = bar.add_task("reading", total=None), [0], [0]

        def tick(rows: int) -> None:
            seen[0] += rows
            bar.update(task, description=f"{seen[0]:,} rows")

        def search(turns: int) -> None:
            turned[0] += turns
            bar.update(task, description=f"searching records: {turned[0]:,} trials")

        yield tick, search


def _value(column: Column | None, code: float) -> str:
    if code != code:
        return "not known"
    if isinstance(column, Date):
        return date.fromordinal(round(code) + _EPOCH).isoformat()
    return f"{code:.4g}"


def _half(column: Column, found: Interval) -> str:
    bar = max(found.upper - found.estimate, found.estimate - found.lower)
    if bar != bar:
        return ""
    return f" ± {bar:.2g}" + (" days" if isinstance(column, Date) else "")


def _ends(column: Column | None, found: Interval) -> dict[str, Any]:
    """Dates as text."""
    days = isinstance(column, Date)
    named = {"value": found.estimate, "lower": found.lower, "upper": found.upper}
    return {key: None if v != v else _value(column, v) if days else float(v) for key, v in named.items()}


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
