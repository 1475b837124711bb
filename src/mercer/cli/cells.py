"""What `mercer histogram`, `table` and `count` share: options, places, words."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from mercer.cli.options import FINER, Terms
from mercer.cli.releasing import NOTHING_WRITTEN, write
from mercer.cli.typed import end_of, pairs
from mercer.common.checks import is_number
from mercer.show import terminal

__all__ = [
    "CELLS",
    "CellsOutside",
    "Counts",
    "Gamma",
    "Occupied",
    "RowsPerPerson",
    "WeakerPromise",
    "bins_of",
    "cells_given",
    "margins_of",
    "promised",
    "tell",
]

CELLS = "Which cells there are: public, never read from the data"
_WEAKER = "A weaker promise"

Occupied = Annotated[
    int | None,
    typer.Option(help="Sparse: so many cells are known in public to hold something.", rich_help_panel=FINER),
]
CellsOutside = Annotated[
    str,
    typer.Option(
        help="Values beyond the edges: clip (into the nearest bin) or drop (into none).",
        rich_help_panel=CELLS,
    ),
]
Counts = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="The data are counts already: this column says how many records a row stands for.",
        rich_help_panel=FINER,
    ),
]
RowsPerPerson = Annotated[
    int | None,
    typer.Option(
        help="With --unit: so many rows of a person count, drawn at random; one unless given. "
        "Noise grows with it.",
        rich_help_panel=FINER,
    ),
]
WeakerPromise = Annotated[
    bool,
    typer.Option(
        "--weaker-promise",
        help="Random differential privacy: people with rare values may be seen exactly.",
        rich_help_panel=_WEAKER,
    ),
]
Gamma = Annotated[
    float | None,
    typer.Option(
        help="With it: the chance, over the drawing of all records, that the promise fails.",
        rich_help_panel=_WEAKER,
    ),
]


def cells_given(
    column: str | None,
    bins: list[int] | None,
    bounds: list[str] | None,
    edges: list[str] | None,
    whole: list[int] | None,
    categories: list[str] | None,
    other: str | None,
) -> dict[str, Any]:
    """`bins`, `bounds` or `categories` of `mercer.histogram`."""
    ways = {"--bins": bins, "--edges": edges, "--whole": whole, "--categories": categories}
    given = [name for name, value in ways.items() if value]
    if len(given) != 1:
        raise ValueError(
            "say which cells there are, in one way: --bins N --bounds LO HI, --edges X…, --whole "
            "LO HI or --categories VALUE…; they are public and cannot be read from the data"
            + (f"; got {' and '.join(given)}" if given else "")
        )
    if bounds and not bins:
        raise ValueError(f"--bounds go with --bins; {given[0]} says where the cells are already")
    if other is not None and not categories:
        raise ValueError("--other goes with --categories: it names whatever is not among them")
    if categories:
        if len(categories) == 1 and "," in categories[0]:
            raise ValueError(
                "categories stand apart, with spaces between them: --categories "
                f"{' '.join(part.strip() for part in categories[0].split(','))}; got one with "
                "commas in it"
            )
        return {"categories": categories, "other": other}
    if edges:
        return {"bins": [end_of(word, "edges") for word in edges]}
    if whole:
        if len(whole) != 2 or whole[0] > whole[1]:
            raise ValueError("whole must be LO HI, two rising whole numbers, such as --whole 0 50")
        return {"bins": range(whole[0], whole[1] + 1)}
    assert bins is not None
    if len(bins) != 1:
        raise ValueError(f"bins must be one number, got {len(bins)}; edges are given with --edges")
    ends = pairs(bounds)
    if isinstance(ends, dict):
        ends = ends.get(column) if len(ends) == 1 else None
    if not isinstance(ends, tuple):
        raise ValueError(
            "bounds must be LO HI, public bounds that the bins of one column divide, such as --bounds 0 100"
        )
    return {"bins": bins[0], "bounds": ends}


def bins_of(words: list[str] | None) -> dict[str, Any] | None:
    """`age=10` or `income=0,1e4,1e5` by column."""
    found: dict[str, Any] = {}
    for word in words or []:
        name, _, text = word.rpartition("=")
        parts = [part for part in re.split(r"[,|]", text) if part]
        if not name or not parts or not all(is_number(p) or "-" in p for p in parts):
            raise ValueError(
                "bins must be COLUMN=NUMBER or COLUMN=EDGE,EDGE,…, for example --bins age=10 "
                f"income=0,10000,50000; got {word!r}"
            )
        if len(parts) > 1:
            found[name] = [end_of(part, "bins") for part in parts]
        elif re.fullmatch(r"\d+", parts[0]):
            found[name] = int(parts[0])
        else:
            raise ValueError(f"bins of {name!r} must be a whole number, or edges: {name}=0,10,20")
    return found or None


def margins_of(word: str) -> Any:
    """`all`, a number of columns, or `a,b;b,c`."""
    text = word.strip()
    if text == "all":
        return text
    if re.fullmatch(r"\d+", text):
        return int(text)
    sets = [tuple(name.strip() for name in part.split(",") if name.strip()) for part in text.split(";")]
    found = [names for names in sets if names]
    if not found:
        raise ValueError("margins must be all, a number of columns, or names such as 'a,b;b,c'")
    return found


def promised(weaker: bool, gamma: float | None, delta: float | None, terms: Terms) -> bool:
    """Whether the weaker promise is asked for, in so many words."""
    if not weaker:
        if gamma is not None:
            raise ValueError(
                "gamma belongs to a weaker promise than differential privacy: it may fail with "
                "that chance over the drawing of the records, and people with rare values may be "
                "seen exactly; if that is meant, say --weaker-promise, otherwise leave --gamma out"
            )
        return False
    if gamma is None:
        raise ValueError(
            "gamma is missing: with --weaker-promise, say with which chance the promise may fail, "
            "for example --gamma 0.05"
        )
    if terms.ledger is not None or terms.dataset is not None:
        raise ValueError(
            "--ledger counts differential privacy, and --weaker-promise is not: its cost cannot be "
            "added to a total there; leave --ledger and --dataset out"
        )
    if delta is not None:
        raise ValueError("delta: the weaker promise has a gamma instead; leave --delta out")
    return True


def tell(release: Any, files: dict[str, Path], file: Path, terms: Terms) -> None:
    """Write the release first, then its picture; then say what was released."""
    from mercer.releases.words import words_of

    words = words_of(release)
    written = write(release, files, terms, plot=release.plot)
    if terms.as_json:
        terminal.print_json(words.summary() | written.told(), file)
        written.leave()
        return
    words.told(f"Released the {words.describe()}")
    if not file.name.endswith((".parquet", ".pq")):
        print(
            "Values of a CSV file that fit nowhere are not counted, and stay in n: check the names "
            "of columns and the spelling of values."
        )
    axes = getattr(release.domain, "columns", ())  # of a count there are none
    if any(axis.clips for axis in axes):
        print("Numbers and dates beyond the first and last cell were counted in it.")
    if written.files:
        hint = words.hint(written.files["file"]) if "file" in written.files else ""
        print(f"Written to {written.words()}.{hint}")
    else:
        print(NOTHING_WRITTEN)
    written.leave()
