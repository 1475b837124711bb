"""What the command line reads and shows.  Words, numbers and tables, no decisions."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mercer.common.checks import is_number
from mercer.sources.folders import said_of

__all__ = [
    "bandwidth_of",
    "console",
    "describe",
    "facts",
    "is_number",
    "load_release",
    "notes",
    "number_at",
    "number_or_word",
    "one_of",
    "order_of",
    "places",
    "points_of",
    "print_json",
    "progress",
    "required",
    "say_files",
    "show",
    "spread",
    "summary",
    "table",
    "told",
]

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_DATED = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}")
_LISTS = (
    "--bounds",
    "--y-bounds",
    "--at",
    "--epsilon",
    "--bandwidth",
    "--penalty",
    "--quantiles",
    "--q",
    "--grid",
    "--derivative",
    "--edges",
    "--whole",
)  # options that take several numbers
_ENDS = ("--bounds", "--y-bounds")
_WORDS = (
    "--columns",
    "--classes",
    "--groups",
    "--long",
    "--expect",
    "--where",
    "--categories",
    "--margin",
    "--na",
    "--na-values",
    "--format",
    "--keep",
)  # … words


def spread(argv: list[str]) -> list[str]:
    """`--bounds 0 100` as `--bounds=0 --bounds=100`, for all options that take several values."""
    out: list[str] = []
    place = 0
    while place < len(argv):
        option, place = argv[place], place + 1
        start = place
        if option in _ENDS and place < len(argv) and not argv[place].startswith("-"):
            out.append(f"{option}={argv[place]}")  # whatever it is: bounds say what they must be
            place += 1
        while place < len(argv) and _belongs(option, argv[place]):
            out.append(f"{option}={argv[place]}")
            place += 1
        if place == start:
            out.append(option)
    return out


def _belongs(option: str, token: str) -> bool:
    if option in _WORDS:
        return is_number(token) or not token.startswith("-")
    if option == "--at" and "=" in token:  # age=42
        token = token.rpartition("=")[2]
    if option == "--bins":  # 20, or age=10 income=0,1e4,1e5
        return is_number(token.rpartition("=")[2].partition(",")[0])
    if option in ("--bounds", "--edges", "--at") and _DATED.fullmatch(token):
        return True  # in another way than 2024-12-31 it is refused in words
    if option in _ENDS:  # age=0,100; and 0, 100 for a word about it
        token = token.rpartition("=")[2].partition(",")[0]
        return is_number(token) or bool(_DAY.fullmatch(token))
    return option in _LISTS and is_number(token)


def bandwidth_of(words: list[str] | None, dimension: int) -> Any:
    """A word, a number, one number a column, or a matrix row by row."""
    if not words:
        return "auto"
    if len(words) == 1 and not is_number(words[0]):
        return words[0]
    try:
        numbers = [float(word) for word in words]
    except ValueError:
        raise ValueError(
            f"bandwidth must be auto, rule, private-scott, private-cv or numbers, got {words}"
        ) from None
    if len(numbers) == dimension**2 and dimension > 1:
        return [numbers[i : i + dimension] for i in range(0, len(numbers), dimension)]
    return numbers[0] if len(numbers) == 1 else numbers


def points_of(at: list[str], domain: Any) -> Any:
    """Numbers or dates from the command line as points of a domain."""
    d = domain.dimension
    if not at or len(at) % d:
        raise ValueError(f"--at needs {d} numbers a point ({', '.join(domain.names)})")
    dates = [word for word in at if re.fullmatch(r"\d{4}-\d{2}-\d{2}", word)]
    if dates and not getattr(domain, "dates", ()):
        raise ValueError(f"--at must be numbers: {', '.join(domain.names)} are no dates; got {dates[0]!r}")
    numbers = [word if word in dates else number_at(word) for word in at]
    return domain.points([numbers[i : i + d] for i in range(0, len(numbers), d)])


def number_at(word: str) -> float:
    """A coordinate of a point on the command line."""
    if not is_number(word):
        raise ValueError(f"--at must be numbers, or dates such as 2024-12-31; got {word!r}")
    return float(word)


def required(name: str, value: Any) -> Any:
    """The value, or an error that names the option."""
    if value is None:
        raise ValueError(f"{name} is missing; give it with --{name}")
    return value


def load_release(path: Path, bandwidth: list[float] | None) -> Any:
    """A release file, smoothed more if a bandwidth is given."""
    from mercer.releases.file import load

    release: Any = load(path)
    if bandwidth and release.kind in ("margins", "count", "statistic"):
        raise ValueError(f"bandwidth is for densities and histograms; this is a {release.kind}")
    if bandwidth and release.kind == "histogram":
        release = release.density()
    if bandwidth and release.kind in ("mean-curve", "synthetic-table"):
        raise ValueError(
            f"bandwidth is for densities; a {release.kind} is smoothed again in Python, by "
            "release.smooth(penalty=…)"
        )
    if bandwidth and release.kind != "density":
        raise ValueError(
            f"bandwidth: a {release.kind} cannot be smoothed afterwards; its bandwidth was chosen "
            "when it was learnt"
        )
    if bandwidth:
        words = [str(b) for b in bandwidth]
        release = release.smooth(bandwidth_of(words, release.domain.dimension))
    return release


def number_or_word(word: str) -> float | str:
    """A number where it is one."""
    return float(word) if is_number(word) else word


def one_of(name: str, words: list[str] | None, unless: str) -> float | str:
    """The one value of an option that other commands give several."""
    if words is not None and len(words) > 1:
        raise ValueError(f"{name} must be one word or number, got {len(words)}")
    return number_or_word(words[0]) if words else unless


def order_of(release: Any, derivative: list[int] | None) -> int | tuple[int, ...]:
    """`--derivative 1` of a mean curve, or one order for each argument of a surface."""
    if derivative and release.kind != "mean-curve":
        raise ValueError(f"--derivative is for mean curves; this is a {release.kind}")
    if not derivative:
        return 0
    return derivative[0] if len(derivative) == 1 else tuple(derivative)


def places(at: list[str]) -> dict[str, float]:
    """`age=42` as a name and a number."""
    out = {}
    for word in at:
        name, _, number = word.rpartition("=")
        if not name or not is_number(number):
            raise ValueError(f"--at must be NAME=NUMBER, for example --at age=42; got {word!r}")
        out[name] = float(number)
    return out


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
