"""Making and retiring releases of files of records, for the owner.

A file is looked up in the one folder it may come from and must stay in it, links followed.  An
upload is written beside its place, flushed to the disk, and only then gets its name; nothing is
ever overwritten.

The name is taken before anything is spent: an empty file NAME.json, which only one can make.  The
charge comes next, then the noise; a release that was paid for and cannot be written is kept in
memory, and the same request writes it without another charge.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from threading import Lock
from time import time
from typing import Any, BinaryIO, final

from starlette.concurrency import run_in_threadpool

from mercer.api.calls import made
from mercer.api.density.call import density
from mercer.api.live import live
from mercer.common.files import sync
from mercer.online.base import LiveUnkept
from mercer.online.memory import store_of
from mercer.online.store import LiveError, is_name
from mercer.releases.density.release import DensityRelease
from mercer.server.budgets import Budgets
from mercer.server.catalogue import Catalogue
from mercer.server.entries import Entry, LiveEntry
from mercer.server.guard import Refusal, mercer_errors
from mercer.server.settings import Settings

__all__ = ["DATA_NAME", "DataFolder", "Maker"]

DATA_NAME = r"^[A-Za-z0-9](?!.*\.\.)[A-Za-z0-9._-]{0,120}\.(csv|csv\.gz|tsv|parquet|pq)$"
_NAME = re.compile(DATA_NAME)
_DRAFT = ".mercer-upload-"
_PIECE = 1 << 20  # bytes written at once
_DAY = 86_400
_PARTS = ("-wal", "-shm", "")  # of a SQLite file, itself last
_ROOM = 32 << 20  # bytes that must be free on the disk before budget is spent


@final
class Maker:
    """Makes releases of files of the data folder, one at a time."""

    def __init__(self, settings: Settings, catalogue: Catalogue, data: DataFolder) -> None:
        assert settings.folder is not None
        self._folder, self._store = settings.folder, settings.store
        self._ledger_place = settings.ledger_place
        self._catalogue, self._data = catalogue, data
        self._budgets = Budgets(settings.ledger_place)
        self._one = Lock()
        self._unsaved: dict[str, tuple[dict[str, Any], DensityRelease]] = {}

    def make(self, fields: dict[str, Any]) -> Entry:
        """A release, saved and listed; a refusal before anything is spent, or BudgetExceeded."""
        with self._one, mercer_errors(public=False):
            name = fields["name"]
            if name in self._unsaved:
                return self._save_again(name, fields)
            path = self._data.path(fields["data"])
            ledger = self._budgets.to_charge(fields["dataset"], fields["unit"], path)
            if shutil.disk_usage(self._folder).free < _ROOM:
                raise OSError(28, "No space left on device")
            held = self._reserve(name)
            try:
                return self._made(name, fields, path, ledger, held)
            except BaseException:
                if name not in self._unsaved:
                    with suppress(OSError):
                        held.unlink()
                raise

    def retire(self, name: str) -> None:
        """Stop answering for a release; its file goes to FOLDER/retired, its name is used up."""
        with self._one, self._catalogue.lock, mercer_errors(public=False):
            self._catalogue.look()
            entry = self._catalogue.get(name)
            records = self._catalogue.records
            assert records is not None
            records.note_retired(name)  # from here on it is not answered, whatever happens
            if isinstance(entry, LiveEntry):
                entry.release.close()
                self._put_away_store(entry)
            else:
                self._put_away(entry.path)
            self._catalogue.look()

    def _made(self, name: str, fields: dict[str, Any], path: Path, ledger: Any, held: Path) -> Entry:
        options = {key: value for key, value in fields.items() if key not in ("name", "kind", "data")}
        if fields["kind"] == "live":
            try:
                self._live(name, path, options | {"ledger": ledger})
            except LiveUnkept as error:  # paid: what it stands on is kept as a release of its own
                self._unsaved[name] = (fields, error.release)
                self._save(name, error.release)
            else:
                held.unlink()
        else:
            release = made(density(path, **options, ledger=ledger))
            self._unsaved[name] = (fields, release)
            self._save(name, release)
        return self._noted(name, fields["dataset"])

    def _live(self, name: str, path: Path, options: dict[str, Any]) -> None:
        if self._store is not None:
            made(live(path, **options, store=self._store, name=name)).close()
            return
        place = self._folder / f"{name}.db"
        try:
            made(live(path, **options, store=place, name=name)).close()
        except BaseException:
            self._remove_empty(place)
            raise

    def _remove_empty(self, place: Path) -> None:
        """A store that was begun for a release that was refused."""
        with suppress(LiveError, OSError):
            store = store_of(place)
            empty = not store.names()
            store.close()
            if empty:
                for end in _PARTS:
                    place.with_name(place.name + end).unlink(missing_ok=True)

    def _save_again(self, name: str, fields: dict[str, Any]) -> Entry:
        asked, release = self._unsaved[name]
        if asked != fields:
            raise _taken(name)
        self._save(name, release)
        return self._noted(name, fields["dataset"])

    def _save(self, name: str, release: DensityRelease) -> None:
        try:
            release.save(self._folder / f"{name}.json")
            sync(self._folder)
        except OSError:
            raise Refusal(
                503,
                "unsaved",
                f"release {name!r} was made and charged but cannot be written; "
                "make room on the disk and send the same request again before the service stops: "
                "it will be written without another charge",
                {"Retry-After": "30"},
            ) from None
        del self._unsaved[name]

    def _noted(self, name: str, dataset: str) -> Entry:
        with self._catalogue.lock:
            records = self._catalogue.records
            assert records is not None
            with suppress(OSError):  # it is made and stands; only the note is missing
                records.note_dataset(name, dataset)
            self._catalogue.look()
            return self._catalogue.get(name)

    def _reserve(self, name: str) -> Path:
        """An empty file that holds the name; a refusal if it was ever used."""
        if not is_name(name):
            raise Refusal(
                422,
                "invalid",
                "'name' must be letters, digits, '.', '_' and '-', at most 64, "
                "without '..', beginning with a letter or digit",
            )
        with self._catalogue.lock:
            self._catalogue.look()
            store = self._folder / f"{name}.db"
            if self._catalogue.uses(name) or store.exists() or str(store) == self._ledger_place:
                raise _taken(name)
            path = self._folder / f"{name}.json"
            try:
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            except FileExistsError:
                raise _taken(name) from None
            return path

    def _put_away_store(self, entry: LiveEntry) -> None:
        """Move a store of the folder that held this release alone; leave any other."""
        path = Path(entry.store)
        alone = [e for e in self._catalogue.entries() if isinstance(e, LiveEntry)]
        if path.parent != self._folder or any(e.store == entry.store and e.name != entry.name for e in alone):
            return
        for end in _PARTS:
            part = path.with_name(path.name + end)
            if part.exists():
                self._put_away(part)

    def _put_away(self, path: Path) -> None:
        away = self._folder / "retired"
        away.mkdir(mode=0o700, exist_ok=True)
        if not (away / path.name).exists():
            path.rename(away / path.name)
            sync(away)
            sync(self._folder)


def _taken(name: str) -> Refusal:
    return Refusal(409, "taken", f"the name {name!r} is taken, by a release or a retired one; choose another")


@final
class DataFolder:
    """The folder of records."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        for draft in self._folder.glob(_DRAFT + "*"):  # of uploads that a crash cut off
            with suppress(OSError):
                if time() - draft.stat().st_mtime > _DAY:
                    draft.unlink()

    def path(self, name: str) -> Path:
        """A file of the folder; a refusal if there is none, or if it is a link that leads out."""
        _check_file_name(name)
        path = (self._folder / name).resolve()
        if not path.is_file() or path.parent != self._folder:
            raise Refusal(
                404,
                "no_data",
                f"there is no file {name!r} in the folder of records; "
                "GET /api/owner/data lists them, PUT /api/owner/data/NAME uploads one",
            )
        return path

    def listing(self) -> list[dict[str, Any]]:
        """Names and sizes."""
        found = []
        for path in sorted(self._folder.iterdir()):
            if _NAME.fullmatch(path.name) and path.resolve().parent == self._folder:
                with suppress(OSError):
                    if path.is_file():
                        found.append({"name": path.name, "bytes": path.stat().st_size})
        return found

    async def receive(self, name: str, pieces: AsyncIterator[bytes]) -> int:
        """Store an upload; its size.  A refusal if there is a file of that name."""
        _check_file_name(name)
        target = self._folder / name
        if os.path.lexists(target):
            raise _file_taken(name)
        file, draft = await run_in_threadpool(self._draft)
        try:
            size = await self._copy(pieces, file)
            if size == 0:
                raise Refusal(422, "empty", "the body must be the file; it has no bytes")
            await run_in_threadpool(_name_draft, file, draft, target, name)
        finally:
            file.close()
            with suppress(OSError):
                draft.unlink(missing_ok=True)
        return size

    def _draft(self) -> tuple[BinaryIO, Path]:
        handle, path = tempfile.mkstemp(dir=self._folder, prefix=_DRAFT)  # mode 0600
        return os.fdopen(handle, "wb"), Path(path)

    async def _copy(self, pieces: AsyncIterator[bytes], file: BinaryIO) -> int:
        held, size = bytearray(), 0
        async for piece in pieces:
            held += piece
            size += len(piece)
            if len(held) >= _PIECE:
                await run_in_threadpool(file.write, bytes(held))
                held.clear()
        await run_in_threadpool(file.write, bytes(held))
        return size


def _name_draft(file: BinaryIO, draft: Path, target: Path, name: str) -> None:
    file.flush()
    os.fsync(file.fileno())
    try:
        os.link(draft, target)  # fails if there is one: never overwritten
    except FileExistsError:
        raise _file_taken(name) from None
    draft.unlink()
    sync(target.parent)


def _check_file_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise Refusal(
            422,
            "invalid",
            "'data' must be a plain file name of letters, digits, '.', '_' and '-' "
            "that ends in .csv, .csv.gz, .tsv, .parquet or .pq",
        )


def _file_taken(name: str) -> Refusal:
    return Refusal(409, "taken", f"there is a file {name!r} already; choose another name")
