"""What the command line shows.  Words, numbers and tables, no decisions."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mercer.sources.folders import said_of

__all__ = [
    "console",
    "describe",
    "facts",
    "notes",
    "print_json",
    "progress",
    "say_files",
    "show",
    "summary",
    "table",
    "told",
]


def describe(release: Any) -> str:
    """What a density is of."""
    return f"density of {release.domain.describe()}"


def summary(release: Any) -> dict[str, Any]:
    """What `--json` says of a release."""
    accuracy = release.accuracy
    return {
        "kind": release.kind,
        "domain": release.domain.to_dict(),
        "boundary": release.boundary,
        "bandwidth": release.bandwidth.tolist(),
        "finest_bandwidth": release.finest_bandwidth.tolist(),
        "bandwidth_choice": release.choice,
        "smoother": release.smoother,
        "basis": release.basis.name,
        "privacy": release.privacy.to_dict(),
        "findings": told(release),
        "accuracy": {
            "integrated": accuracy.integrated,
            "pointwise": accuracy.pointwise,
            "coordinates": accuracy.coordinates,
            "truncation": accuracy.truncation if math.isfinite(accuracy.truncation) else None,
            "resolution": accuracy.resolution,
        },
    }


def show(release: Any, heading: str) -> None:
    """Promise, domain, bandwidth and accuracy in words."""
    width = ", ".join(f"{h:.4g}" for h in release.bandwidth)
    how = {
        "auto": "chosen from the noisy result, free",
        "rule": "public rule",
        "given": "given",
        "private-scott": "Scott's rule from private quartiles, a part of the budget",
        "private-cv": "private cross-validation, a part of the budget",
    }
    rows = [
        ("promise", str(release.privacy)),
        ("attack", release.privacy.attack),
        ("domain", release.domain.describe() + f", boundary {release.boundary}"),
        ("bandwidth", f"{width} ({how[release.choice]})"),
        ("accuracy", str(release.accuracy)),
    ]
    facts(heading, rows + notes(release))


def notes(release: Any) -> list[tuple[str, str]]:
    """What the release itself tells of the records, and a promise that is too weak."""
    rows = [("note", f"{found.words} (told by the release itself)") for found in release.findings()]
    if release.privacy.delta > 1 / release.privacy.n:
        rows.append(("note", "delta is above 1/n, too weak a promise for most uses"))
    return rows


def told(release: Any) -> list[dict[str, str]]:
    """The same for `--json`."""
    return [found.to_dict() for found in release.findings()]


def facts(heading: str, rows: list[tuple[str, str]]) -> None:
    """Names and sentences under a heading, wrapped to the screen."""
    from rich.markup import escape
    from rich.table import Table

    columns = Table(title=escape(heading), title_justify="left", show_header=False, box=None, padding=(0, 2))
    for name, words in rows:
        columns.add_row(name, escape(words))
    console().print(columns)


def table(*headings: str) -> Any:
    """An empty table with these columns."""
    from rich.table import Table

    columns = Table(box=None, padding=(0, 1), header_style="bold")
    for heading in headings:
        columns.add_column(heading, justify="right", no_wrap=len(headings) > 6)
    return columns


def console() -> Any:
    """Where tables go."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


def print_json(value: Any, file: Path | None = None) -> None:
    """Exact JSON on standard output; of a folder that was read also of how many files."""
    try:
        files = "" if file is None else said_of(file)
    except (OSError, ValueError):  # the folder has changed since; the release has not
        files = ""
    print(json.dumps(value | {"files": files} if files else value, indent=1, allow_nan=False))


def say_files(wanted: bool, file: Path | None) -> None:
    """Say how many files a folder holds, before they are read."""
    if wanted and file is not None and (files := said_of(file)):
        print(f"Reading {files}", file=sys.stderr)


@contextmanager
def progress(wanted: bool, file: Path | None = None) -> Iterator[Callable[[int], None] | None]:
    """Rows read so far, on a terminal only; of persons no rows are told, and nothing is counted.

    Of a folder it is said first how many files are read.
    """
    say_files(wanted, file)
    if not (wanted and sys.stderr.isatty()):
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task, seen = bar.add_task("reading", total=None), [0]

        def tick(rows: int) -> None:
            seen[0] += rows
            bar.update(task, description=f"{seen[0]:,} rows")

        yield tick
