"""The releases of the service: files and live stores of a folder, which is read again regularly.

A file that cannot be read is named in the log and leaves the others alone.  A name that two
releases carry is answered by neither.  What the service remembers beside the releases, their datasets and
retired names, is a small JSON file in their folder.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, cast, final

from mercer.api.live import open_live
from mercer.common.files import replace_text, sync
from mercer.online.base import store_of
from mercer.online.store import LiveError, LiveStore, LiveUnavailable, is_name
from mercer.releases.base import KINDS, load
from mercer.releases.density.release import DensityRelease
from mercer.server.entries import Entry, LiveEntry, Signature, StoredEntry, stored_entry
from mercer.server.guard import Refusal
from mercer.server.settings import Settings

__all__ = ["Catalogue"]

_LOG = logging.getLogger("mercer.server")
_FILE = ".mercer-service.json"
_VERSION = 1


@final
class Catalogue:
    """All releases by name.  `refresh` blocks and may be called from any thread."""

    def __init__(self, settings: Settings) -> None:
        self._folder, self._store = settings.folder, settings.store
        self._ledger = settings.ledger_place
        self._age = settings.refresh_seconds
        self.records = None if self._folder is None else FolderRegister(self._folder)
        self.lock = Lock()  # held while entries or records change
        self._entries: dict[str, Entry] = {}
        self._twice: frozenset[str] = frozenset()
        self._reported: dict[str, Signature] = {}  # files already complained about
        self._stores: dict[str, tuple[int, LiveStore]] = {}  # by place, with the file's inode
        self._lost: frozenset[str] = frozenset()  # stores that do not answer
        self._complained: set[str] = set()  # those the log has named
        self._unserved: set[tuple[str, str]] = set()  # live releases of other kinds, named as well
        self._looked = -float("inf")
        self.refresh()
        if self._twice:
            names = ", ".join(sorted(self._twice))
            raise ValueError(
                f"two releases have the name {names}: a file is renamed; a live release keeps its "
                "name, so serve its store from another folder"
            )

    @property
    def known(self) -> Register:
        """The datasets of releases, and the retired names."""
        return Register() if self.records is None else self.records.now

    @property
    def stale(self) -> bool:
        """Whether the list is older than `refresh_seconds`."""
        return monotonic() - self._looked >= self._age

    @property
    def lost(self) -> bool:
        """Whether some store does not answer."""
        return bool(self._lost)

    def entries(self) -> list[Entry]:
        """All releases that can be asked, sorted by name."""
        return [self._entries[name] for name in sorted(self._entries)]

    def has(self, name: str) -> bool:
        """Whether a release of this name is in the list."""
        return name in self._entries

    def uses(self, name: str) -> bool:
        """Whether a name belongs, or belonged, to a release."""
        return name in self._entries or name in self._twice or name in self.known.retired

    def get(self, name: str) -> Entry:
        """One release, or a refusal that says why there is none."""
        entry = self._entries.get(name)
        if entry is not None:
            return entry
        if name in self._twice:
            raise Refusal(409, "ambiguous", f"two releases have the name {name!r}; rename one")
        if name in self.known.retired:
            raise Refusal(410, "retired", f"release {name!r} was retired and is not answered")
        shown = repr(name) if is_name(name) else "of this name"
        raise Refusal(404, "no_release", f"there is no release {shown}; GET /api/releases lists")

    def refresh(self) -> None:
        """Read the folder and the stores again."""
        with self.lock:
            self.look()

    def look(self) -> None:
        """`refresh` for a caller that holds the lock."""
        entries: dict[str, Entry] = {}
        twice: set[str] = set()
        retired = self.known.retired
        for name, entry in (*self._files(retired), *self._lives(retired)):
            if name in entries or name in twice:
                if name not in self._twice:
                    _LOG.error("two releases have the name %s; neither is answered", name)
                twice.add(name)
                entries.pop(name, None)
            else:
                entries[name] = entry
        self._entries, self._twice = entries, frozenset(twice)
        self._looked = monotonic()

    def close(self) -> None:
        """Close the live releases."""
        with self.lock:
            for _, store in self._stores.values():
                store.close()
            self._entries, self._stores = {}, {}

    def _files(self, retired: frozenset[str]) -> Iterator[tuple[str, Entry]]:
        for path in self._paths(".json"):
            try:
                about = path.stat()
            except OSError:
                continue  # removed in this moment
            mark = (about.st_ino, about.st_size, about.st_mtime_ns)
            name = path.stem
            if name in retired:
                continue
            known = self._entries.get(name)
            if isinstance(known, StoredEntry) and (known.path, known.signature) == (path, mark):
                yield name, known
            elif self._reported.get(path.name) != mark:
                entry = self._read(name, path, mark)
                if entry is not None:
                    yield name, entry

    def _read(self, name: str, path: Path, mark: Signature) -> StoredEntry | None:
        try:
            if not is_name(name):
                raise ValueError(f"{path.name}: its name is no name for a release; rename it")
            if mark[1] == 0:
                raise ValueError(f"{path.name} is empty: a release is being made, or its making was cut off")
            release = load(path)
            if not KINDS[release.kind].served:
                raise ValueError(
                    f"{path.name} is a {release.kind}: only densities are served; use it with "
                    "mercer.load, or the command line"
                )
            entry = stored_entry(name, cast("DensityRelease", release), path, mark)
        except (ValueError, OSError, ArithmeticError, MemoryError) as error:
            _LOG.warning("left out: %s", error)
            self._reported[path.name] = mark
            return None
        self._reported.pop(path.name, None)
        return entry

    def _lives(self, retired: frozenset[str]) -> Iterator[tuple[str, Entry]]:
        places = [] if self._store is None else [self._store]
        for path in self._paths(".db"):
            if self._ledger is not None and path.resolve() == Path(self._ledger).resolve():
                continue
            places.append(str(path))
        before: dict[str, list[LiveEntry]] = {place: [] for place in places}
        for entry in self._entries.values():
            if isinstance(entry, LiveEntry) and entry.name not in retired:
                before.setdefault(entry.store, []).append(entry)
        for place in self._stores.keys() - before.keys():  # nothing is left of it
            self._stores.pop(place)[1].close()
        lost = set()
        for place, known in before.items():
            try:
                found = self._store_entries(place, {entry.name: entry for entry in known}, retired)
                self._complained.discard(place)
            except (LiveError, OSError) as error:
                passing = isinstance(error, (LiveUnavailable, OSError))
                if place == self._store and self._looked < 0 and not passing:
                    raise  # at the start somebody is there to set it right
                if place not in self._complained:
                    _LOG.warning("a store of live releases cannot be used: %s", error)
                    self._complained.add(place)
                if known or place == self._store:
                    lost.add(place)
                found = known
            for entry in found:
                yield entry.name, entry
        self._lost = frozenset(lost)

    def _store_entries(
        self, place: str, known: dict[str, LiveEntry], retired: frozenset[str]
    ) -> list[LiveEntry]:
        """The live releases of a store; opened anew where another file has taken its place."""
        inode = 0 if "://" in place else Path(place).stat().st_ino
        before, store = self._stores.get(place, (inode, None))
        if store is None or before != inode:
            if store is not None:
                store.close()
            self._unserved = {(where, name) for where, name in self._unserved if where != place}
            known, store = {}, store_of(place)
            self._stores[place] = (inode, store)
        found = []
        for name in store.names():
            if is_name(name) and name not in retired and (place, name) not in self._unserved:
                entry = known.get(name) or LiveEntry(name, open_live(store, name), place)
                if KINDS[entry.release.kind].served:
                    found.append(entry)
                else:
                    _LOG.warning("left out: %r in a store: its kind is not served", name)
                    self._unserved.add((place, name))
        return found

    def _paths(self, end: str) -> list[Path]:
        if self._folder is None:
            return []
        return sorted(
            path
            for path in self._folder.iterdir()
            if path.suffix == end and not path.name.startswith(".") and path.is_file()
        )


@dataclass(frozen=True)
class Register:
    """The dataset that each release was charged to, and the names that are retired."""

    datasets: dict[str, str] = field(default_factory=dict)
    retired: frozenset[str] = frozenset()


@final
class FolderRegister:
    """The register of a folder, in a small file.  The caller holds a lock: one writer at a time."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE
        self.now = self._read()

    def note_dataset(self, name: str, dataset: str) -> None:
        """Write down which dataset a release was charged to."""
        self._write(replace(self.now, datasets={**self.now.datasets, name: dataset}))

    def note_retired(self, name: str) -> None:
        """Write down that a name is retired and never used again."""
        self._write(replace(self.now, retired=self.now.retired | {name}))

    def _read(self) -> Register:
        if not self._path.exists():
            return Register()
        try:
            fields: Any = json.loads(self._path.read_text(encoding="utf-8"))
            if fields["version"] > _VERSION:
                raise ValueError(f"{self._path}: written by a newer version; upgrade mercer")
            return Register(
                {str(k): str(v) for k, v in dict(fields["datasets"]).items()},
                frozenset(map(str, fields["retired"])),
            )
        except (KeyError, TypeError, UnicodeError, json.JSONDecodeError):
            raise ValueError(
                f"{self._path} is damaged: it says which names are retired; restore it from a copy"
            ) from None

    def _write(self, records: Register) -> None:
        text = json.dumps(
            {"version": _VERSION, "datasets": records.datasets, "retired": sorted(records.retired)}, indent=1
        )
        replace_text(self._path, text + "\n", mode=0o600)
        sync(self._path.parent)
        self.now = records
