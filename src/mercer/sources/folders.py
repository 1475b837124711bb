"""Which files are read of a file, a folder or a list of them.  Names, never contents.

A record that stands in two of the files counts twice, and the noise is for once.  So what reads
as leftover, as a copy or as the format of a table is skipped or refused, by what is public alone:
names, and which of them are one file on the disk.  Contents are never compared, as that would be
a decision from records (M18).
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

__all__ = ["KINDS", "FoundFiles", "Part", "ending_of", "files_in", "paths_of", "said_of"]

KINDS = (".parquet", ".pq", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
_NULL = "__HIVE_DEFAULT_PARTITION__"
_TABLES = {
    "_delta_log": ("a Delta table", "deltalake reads it"),
    ".hoodie": ("a Hudi table", "Spark with Hudi reads it"),
    "_spark_metadata": ("the output of a Spark stream", "Spark reads it"),
}
_ICEBERG = ("an Iceberg table", "pyiceberg reads it")
_COPY = "copy|copie|copia|cópia|kopie|kopia"
_COPIES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?P<of>.+?)[ ._-]*\((?:[^()]* )?(?:{_COPY})(?: [^()]*)?\)",  # a (copy), a (3rd copy)
        rf"(?P<of>.+?)[ ._-]+(?:{_COPY}|backup|bak)(?:[ _-]*\(?\d+\)?)?",  # a - Copy (2), a copy 2
        rf"(?:{_COPY})(?: ?\(?\d+\)?)? (?:of|von|de|di|van) (?P<of>.+)",  # Copy of a
        r"(?P<of>.+?)\.sync-conflict-.+",
    )
)
_NUMBERED = re.compile(r"(?P<of>.+?) ?\(\d+\)")  # a (1): a copy where there is an a


@dataclass(frozen=True)
class Part:
    """One file, and the values that the names of its folders give (`year=2020`)."""

    path: Path
    keys: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True)
class FoundFiles:
    """The files of a source, in order, and how many names there were besides."""

    name: str  # of the folder or file; empty of a list
    parts: tuple[Part, ...]
    hidden: int = 0  # names that begin with . or _
    others: int = 0  # files of other kinds


def paths_of(data: object) -> list[Path] | None:
    """The files and folders that data stand for; None for data of another kind.

    One path is text or a path object.  A list or tuple is a list of files where each element is a
    path object, or text that ends in one of the endings that are read: a list of text is a list of
    records otherwise, and folders in a list are given as path objects.
    """
    if isinstance(data, (str, os.PathLike)):
        return [Path(data)]
    if isinstance(data, (list, tuple)) and data and all(map(_names_a_file, data)):
        return [Path(one) for one in data]
    return None


def _names_a_file(one: object) -> bool:
    if isinstance(one, str):
        return ending_of(Path(one)) is not None
    return isinstance(one, os.PathLike)


def ending_of(path: Path) -> str | None:
    """Which of the endings that are read a name has, in lower case."""
    name = path.name.lower()
    return next((kind for kind in KINDS if name.endswith(kind)), None)


def said_of(source: object) -> str:
    """How many files of a folder or a list are read, and what is skipped; empty for a single file."""
    paths = paths_of(source)
    if paths is None or (len(paths) == 1 and not paths[0].is_dir()):
        return ""
    found = files_in(source)
    left = []
    if found.hidden:
        left.append(f"{found.hidden} skipped because their names begin with . or _")
    if found.others:
        left.append(f"{found.others} of other kinds not read")
    count = len(found.parts)
    of = f" of {found.name}" if found.name else ""
    return ", ".join([f"{count} file{'s' * (count != 1)}{of}", *left])


def files_in(source: object) -> FoundFiles:
    """The files that are read; an error, by names alone, where a record may stand in two of them.

    >>> files_in("no-such-folder")
    Traceback (most recent call last):
    FileNotFoundError: data: there is no file or folder 'no-such-folder'

    """
    paths = paths_of(source)
    if paths is None:
        raise TypeError(
            "data must be a file, a folder or a list of them, as text or path objects; got "
            f"{type(source).__name__}"
        )
    walk = _Walk()
    for path in paths:
        walk.add(path)
    root = _common(paths)
    if len(walk.files) > 1:
        _refuse_tables(walk.files)
        _refuse_links(walk.files)
        _refuse_twins(walk.files, root)
    parts = tuple(Part(path, _keys(path, root)) for path in walk.files)
    _refuse_other_keys(parts)
    name = repr(str(paths[0])) if len(paths) == 1 else ""
    return FoundFiles(name, parts, walk.hidden, walk.others)


class _Walk:
    """The files that are found, in the order of their names."""

    def __init__(self) -> None:
        self.files: list[Path] = []
        self.hidden = self.others = 0
        self._seen: dict[tuple[int, int], Path] = {}

    def add(self, path: Path) -> None:
        if path.is_dir():
            before = len(self.files)
            self._enter(path)
            if len(self.files) == before:
                raise ValueError(
                    f"data: the folder {str(path)!r} holds no {', '.join(KINDS)} file"
                    + f"; {self.hidden} name(s) begin with . or _" * (self.hidden > 0)
                )
        elif not path.exists():
            raise FileNotFoundError(f"data: there is no file or folder {str(path)!r}")
        elif ending_of(path) is None:
            raise ValueError(
                f"data: {path.name!r} must end in one of {', '.join(KINDS)}; hand in what a file "
                "of another kind holds as a data frame or an Arrow table"
            )
        else:
            self._keep(path)

    def _enter(self, folder: Path) -> None:
        about = folder.stat()
        known = self._seen.setdefault((about.st_dev, about.st_ino), folder)
        if known is not folder:
            raise _twice(folder, known, "are the same folder")
        names = sorted(path.name for path in folder.iterdir())
        _refuse_table(folder, names)
        for name in names:
            path = folder / name
            if name.startswith((".", "_")):
                self.hidden += 1
            elif path.is_dir():
                self._enter(path)
            elif ending_of(path) is None:
                self.others += 1
            else:
                self._keep(path)

    def _keep(self, path: Path) -> None:
        if not path.exists():
            raise FileNotFoundError(f"data: {str(path)!r} is a link that leads nowhere")
        if not stat.S_ISREG(path.stat().st_mode):
            raise ValueError(f"data: {str(path)!r} is no ordinary file; write it to one first")
        self.files.append(path)


def _refuse_table(folder: Path, names: list[str]) -> None:
    """Refuse the folder of a table format, whose files hold rows that were replaced or deleted."""
    found = next((words for mark, words in _TABLES.items() if mark in names), None)
    if found is None and "data" in names and any((folder / "metadata").glob("*.metadata.json")):
        found = _ICEBERG
    if found is not None:
        raise ValueError(
            f"data: {str(folder)!r} is {found[0]}, whose files also hold rows that were deleted or "
            f"replaced, so that a person would count more than once: {found[1]}; hand in the "
            "Arrow table or the data frame, or write it out as plain Parquet files"
        )


def _refuse_tables(files: list[Path]) -> None:
    """Refuse files out of the middle of such a table."""
    holding: dict[Path, set[str]] = {}  # folders above, and which of their folders we are in
    for folder in {_absolute(file).parent for file in files}:
        holding.setdefault(folder, set())
        for inner in (folder, *folder.parents):
            holding.setdefault(inner.parent, set()).add(inner.name)
    for folder, inside in holding.items():
        marks = [mark for mark in _TABLES if (folder / mark).exists()]
        _refuse_table(folder, [*marks, *(inside & {"data"})])


def _refuse_links(files: list[Path]) -> None:
    """Refuse two names of one file: links, and what is named twice."""
    seen: dict[tuple[int, int], Path] = {}
    for file in files:
        about = file.stat()
        known = seen.setdefault((about.st_dev, about.st_ino), file)
        if known is not file:
            raise _twice(file, known, "are the same file on the disk")


def _refuse_twins(files: list[Path], root: Path) -> None:
    """Refuse one name in two forms in a folder, and a copy beside what it is named after."""
    stems: dict[tuple[Path, bool, str], Path] = {}
    copies: list[tuple[tuple[Path, bool, str], Path]] = []
    for entry, path in _entries(files, root).items():
        kind = ending_of(entry)
        stem = unicodedata.normalize("NFC", entry.name[: len(entry.name) - len(kind or "")])
        known = stems.setdefault((entry.parent, kind is None, stem.casefold()), path)
        if known is not path:
            raise _twice(path, known, "are one name in two forms")
        copies.append(((entry.parent, kind is None, stem), path))
    for (folder, plain, stem), path in copies:
        for original, sure in _originals(stem):
            key = (folder, plain, original.casefold())
            known = stems.setdefault(key, path) if sure else stems.get(key, path)
            if known is not path:
                raise _twice(path, known, "seem to be a file and its copy, by their names")


def _entries(files: list[Path], root: Path) -> dict[Path, Path]:
    """Each file and each folder that it lies in, under the root, and how it was written."""
    entries: dict[Path, Path] = {}
    for file in files:
        written, whole = file, _absolute(file)
        while whole != root and whole != whole.parent:
            entries.setdefault(whole, written)
            written, whole = written.parent, whole.parent
    return entries


def _originals(stem: str) -> Iterator[tuple[str, bool]]:
    """The names that a name says it is a copy of, step by step, and whether a word says so."""
    while True:
        match = next(filter(None, (pattern.fullmatch(stem) for pattern in _COPIES)), None)
        found = match or _NUMBERED.fullmatch(stem)
        if found is None:
            return
        stem = found.group("of")
        yield stem, match is not None


def _twice(one: Path, other: Path, why: str) -> ValueError:
    return ValueError(
        f"data: {str(other)!r} and {str(one)!r} {why}: a record in both would count twice. Move "
        "one of them elsewhere, or list the files to read; if they hold different records, rename "
        "one of them"
    )


def _common(paths: list[Path]) -> Path:
    whole = [_absolute(path) for path in paths]
    folders = [path if path.is_dir() else path.parent for path in whole]
    return Path(os.path.commonpath(folders))


def _keys(file: Path, root: Path) -> tuple[tuple[str, str | None], ...]:
    """Pairs of the folders under the root that are named `key=value`."""
    parts = _absolute(file).parent.relative_to(root).parts
    pairs = [part.partition("=") for part in parts if not part.startswith("=") and "=" in part]
    keys = tuple((unquote(key), None if text in (_NULL, "") else unquote(text)) for key, _, text in pairs)
    if len(dict(keys)) < len(keys):
        raise ValueError(f"data: the folders of {str(file)!r} give one column twice; rename one")
    return keys


def _refuse_other_keys(parts: tuple[Part, ...]) -> None:
    first = parts[0]
    for part in parts[1:]:
        if set(dict(part.keys)) != set(dict(first.keys)):
            raise ValueError(
                f"data: {str(first.path)!r} and {str(part.path)!r} must lie in folders that name "
                "the same columns (key=value); move the files, or read the folders apart"
            )


def _absolute(path: Path) -> Path:
    """The absolute path as it is written; links are not followed, as names are what matter here."""
    return Path(os.path.abspath(path))  # noqa: PTH100
