"""What every command that releases something does: ask for it, write it, say what was released.

Where a release goes is proved before anything is spent: a folder is proved by writing a file there
and removing it.  If a release that was paid for still cannot be written where it was to go, it is
written to the first place that takes it, or printed.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from mercer.cli.options import CommandTerms
from mercer.show import terminal

if TYPE_CHECKING:
    from mercer.api.calls import DryRun
    from mercer.releases.base import Release

__all__ = [
    "NOTHING_WRITTEN",
    "NOT_AS_ASKED",
    "Written",
    "ask",
    "csv_note",
    "keep",
    "noted",
    "place",
    "places",
    "rehearsed",
    "rescue",
    "say",
    "target",
    "tell",
    "worded",
    "write",
]

NOTHING_WRITTEN = "Nothing was written: keep these numbers, or name a file with -o next time."
NOT_AS_ASKED = 3  # exit status: released and paid for, but a file is not where it was to be
_ENDINGS = {"csv": (".csv",), "parquet": (".parquet",), "plot": (".png", ".svg", ".pdf")}
_ROOM = 1 << 16  # bytes written as a proof
_OPTIONS = {
    "columns": "--column",
    "na_values": "--na",
    "formats": "--format",
    "rows_per_person": "--rows-per-person",
    "rng": "--seed",
    "where": "--where",
}
_SPELT = {
    "sparse=True": "--sparse",
    "margins=2": "--margins 2",
    "weaker_promise=True": "--weaker-promise",
    "bounds=(low, high)": "--bounds LO HI",
    "(lower, upper)": "LO HI",
    "(low, high)": "LO HI",
    "with columns=…": "with --column",
    "with where=… (mercer.count)": "with mercer count --where …",
    "ledger= and dataset=": "--ledger and --dataset",
    ", or Ledger.register in Python": "",
    "ledger and dataset go together": "--ledger and --dataset go together",
    "mercer.proportion": "mercer count --proportion",
    "mercer.histogram": "mercer histogram",
    "mercer.Ledger or mercer ledger": "mercer ledger",
    "mechanism='optimal'": "--mechanism optimal",
    "missing='drop'": "--missing drop",
    "outside='drop'": "--outside drop",
    "method='output'": "--method output",
}

R = TypeVar("R")


def ask(make: Callable[..., R | DryRun], *data: Any, terms: CommandTerms, told: bool = True, **own: Any) -> R:
    """Make the call on the terms; a dry run says what it found, and ends the command.

    With `told`, the rows that were read are shown on a terminal.
    """
    chosen, as_json = terms.of(**own), terms.as_json
    file = data[0] if data and isinstance(data[0], Path) else None
    if not told:
        terminal.say_files(not as_json, file)
    with noted(as_json), terminal.progress(told and not as_json, file) as tick:
        made = make(*data, **chosen, **({"progress": tick} if told else {}))
    return rehearsed(made, as_json)


def rehearsed(made: R | DryRun, as_json: bool, **about: Any) -> R:
    """Hand on a release; print the findings of a dry run, which ends the command."""
    from mercer.api.calls import DryRun

    if not isinstance(made, DryRun):
        return made
    if as_json:
        terminal.print_json(made.to_dict() | about)
    else:
        print(made)
    raise typer.Exit


@contextmanager
def noted(as_json: bool) -> Iterator[None]:
    """Print warnings about the promise as one line each on stderr, and no other warnings."""
    from mercer.common.checks import PrivacyWarning

    def tell(message: Warning | str, category: type[Warning], *_where: Any) -> None:
        if category is not PrivacyWarning:
            return  # a kind of it is told with the release
        say("note", worded(str(message)), as_json)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", PrivacyWarning)
        warnings.showwarning = tell  # type: ignore[assignment]
        yield


def worded(said: str) -> str:
    """A message of the Python functions, with arguments named as the options that are typed."""
    said = re.sub(r"insist=True( \(--insist\))?", "--insist", said)
    said = re.sub(r"\bdataset='([^']*)'", r"--dataset \1", said)
    for python, option in _SPELT.items():
        said = said.replace(python, option)
    said = re.sub(r"\{'([^']*)': \(([^(),]+), ([^(),]+)\)\}", _typed_range, said)
    said = re.sub(
        r"\{'([^']*)': range\((-?\d+), (-?\d+)\)\}",
        lambda found: f"'{found[1]}>={found[2]}' '{found[1]}<={int(found[3]) - 1}'",
        said,
    )
    said = re.sub(r"""formats=\{"([^"]*)": "([^"]*)"\}""", r"--format '\1=\2'", said)
    said = re.sub(r"\{'([^']*)': \['([^']*)'\]\}", r"""'\1="\2"'""", said)
    said = re.sub(r"\b(rows_per_person|na_values)\b(?!=)", lambda found: _OPTIONS[found[1]], said)
    said = re.sub(r"^(formats|where)(?= must|:)", lambda found: _OPTIONS[found[1]], said)
    said = re.sub(
        r"\b(columns|unit|ledger|dataset|where|formats|na_values|rows_per_person|rng)=(?=[\s,;)]|$)",
        lambda found: _OPTIONS.get(found[1], f"--{found[1]}"),
        said,
    )
    if "everything would be noise" in said and "mercer plan" not in said:
        said += "; mercer plan histogram --n N --cells P --epsilon E… says what to expect"
    return said


def _typed_range(found: re.Match[str]) -> str:
    """A range as it is typed: both ends without quotes, an open one left out."""
    low, high = ("" if end == "None" else end.strip("'") for end in found.groups()[1:])
    return f"'{found[1]}={low}..{high}'"


def target(output: Path | None, overwrite: bool) -> Path:
    """The file of the release, checked before anything is spent."""
    if output is None:
        raise ValueError("output is missing: name the release file with -o, for example -o r.json")
    return place("output", output, (".json",), overwrite)


def places(
    output: Path | None, terms: CommandTerms, *, needed: bool = True, **others: Path | None
) -> dict[str, Path]:
    """The files of the release and of what is made of it (csv, parquet, plot), checked likewise."""
    needed = needed and not terms.dry_run
    found = {"file": target(output, terms.overwrite)} if needed or output is not None else {}
    for name, path in ({"plot": terms.plot} if "plot" in terms.taken else others).items():
        if path is not None:
            found[name] = place(name, path, _ENDINGS[name], terms.overwrite)
    return found


def place(name: str, path: Path, endings: tuple[str, ...], overwrite: bool) -> Path:
    """A file that can be written: its ending is known, its folder exists, nothing is lost by it."""
    if path.suffix not in endings:
        raise ValueError(f"{name} must end in {' or '.join(endings)}, got {path.name!r}")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise ValueError(f"{name}: there is no folder {str(path.parent)!r}; create it first")
    if path.is_dir():
        raise ValueError(f"{name} {str(path)!r} is a folder; choose another name")
    if path.exists() and not overwrite:
        lost = " that release (what it cost stays spent)" if endings == (".json",) else " it"
        raise ValueError(f"{name} {str(path)!r} exists; choose another name, or --overwrite to replace{lost}")
    try:
        handle, draft = tempfile.mkstemp(dir=folder, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(bytes(_ROOM))
                file.flush()
                os.fsync(file.fileno())
        finally:
            Path(draft).unlink()
    except OSError as error:
        raise ValueError(
            f"{name}: the folder {str(path.parent)!r} cannot be written to ({_reason(error)}); "
            "choose another, or make room; nothing was spent"
        ) from None
    return path


@dataclass
class Written:
    """The files that are there now, and whether all of them are where they were to be."""

    files: dict[str, Path] = field(default_factory=dict)
    as_asked: bool = True

    def words(self) -> str:
        """The paths of all files, for a sentence."""
        return ", ".join(map(str, self.files.values()))

    def told(self) -> dict[str, str]:
        """The path of each file by what it holds, for JSON."""
        return {name: str(path) for name, path in self.files.items()}

    def leave(self) -> None:
        """End a command with an exit status that says so if a file is elsewhere than asked for."""
        if not self.as_asked:
            raise typer.Exit(NOT_AS_ASKED)


def write(
    release: Any, places: Mapping[str, Path], terms: CommandTerms, **others: Callable[[Path], object]
) -> Written:
    """Write the release first, then what is made of it: an error there takes nothing from it."""
    written = Written()
    if "file" in places:
        found = keep(release, places["file"], terms.ledger, as_json=terms.as_json)
        written.files["file"] = found
        written.as_asked = found == places["file"]
    for name, path in places.items():
        if name == "file":
            continue
        try:
            others[name](path)
            written.files[name] = path
        except Exception as error:  # it is made of the release alone, which is kept
            there = written.files.get("file")
            safe = f"the release is in {there}" if there else "the release is what is printed here"
            say(
                "error",
                f"{name}: {path} could not be written ({_reason(error)}); {safe}, and what is made "
                "of it costs nothing",
                terms.as_json,
            )
            written.as_asked = False
    return written


def tell(
    release: Release,
    written: Written,
    file: Path,
    terms: CommandTerms,
    heading: str,
    *,
    notes: Iterable[str] = (),
    hint: str = "",
    **about: object,
) -> None:
    """Say what was released and where it was written, or print it as JSON with what is `about` it."""
    from mercer.releases.words import words_of

    words = words_of(release)
    if terms.as_json:
        terminal.print_json(words.summary() | about | written.told(), file)
    else:
        words.told(heading)
        for note in notes:
            print(note)
        print(f"Written to {written.words()}.{hint}" if written.files else NOTHING_WRITTEN)
    written.leave()


def csv_note(file: Path, note: str) -> list[str]:
    """A note on cells that could not be read, unless the file declares the types of its columns."""
    return [] if file.name.endswith((".parquet", ".pq")) else [note]


def keep(release: Any, path: Path, ledger: str | None, *, as_json: bool = False) -> Path:
    """Write a release that was paid for; where that fails, to the first place that takes it.

    Beside the ledger, the current folder, the home folder, the folder of temporary files; and if
    none takes it, standard output.  Says where on stderr.
    """
    try:
        release.save(path)
        return path
    except OSError as error:
        return rescue(release, path, ledger, _reason(error), as_json=as_json)


def rescue(release: Any, path: Path, ledger: str | None, reason: str, *, as_json: bool = False) -> Path:
    """Write what could not be written where it was to go to the first other place that works."""
    for folder in _havens(ledger):
        found = _free(folder, path)
        with suppress(OSError):
            release.save(found)
            say(
                "error",
                f"the release was made and paid for, but {path} could not be written ({reason}); "
                f"it was kept as {found}",
                as_json,
            )
            return found
    from mercer.releases.base import text_of

    say(
        "error",
        f"the release was made and paid for, but {path} could not be written ({reason}), nor any "
        "other place; it follows on standard output: keep it as a .json file",
        as_json,
    )
    print(text_of(release.to_dict()))
    raise typer.Exit(NOT_AS_ASKED)


def _havens(ledger: str | None) -> list[Path]:
    found = [] if ledger is None or "://" in ledger else [Path(ledger).resolve().parent]
    for folder in (Path.cwd, Path.home, lambda: Path(tempfile.gettempdir())):
        with suppress(OSError, RuntimeError):
            found.append(folder())
    return found


def _free(folder: Path, path: Path) -> Path:
    """A path in a folder that no file has yet."""
    found, number = folder / path.name, 1
    while os.path.lexists(found):
        number += 1
        found = folder / f"{path.stem}-{number}{path.suffix}"
    return found


def _reason(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def say(kind: str, words: str, as_json: bool) -> None:
    """Print a note or an error on stderr, in words or as JSON."""
    print(json.dumps({kind: words}) if as_json else f"{kind.capitalize()}: {words}", file=sys.stderr)
