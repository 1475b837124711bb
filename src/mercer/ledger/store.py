"""Where a ledger is kept, and the note beside a data file that says which ledger counts its releases.

A ledger's rows are in a SQLite file or a PostgreSQL database.  They are only ever added, which
triggers enforce in both.  One transaction writes at a time: SQLite's begins with BEGIN IMMEDIATE,
PostgreSQL's locks the row of its dataset.  It is on the disk when it returns: write-ahead log with
synchronous=FULL; synchronous_commit and fsync.  Connections are opened for one transaction, so that
processes may fork and threads may share.

Two ledgers that both count the releases of the same records would each allow a whole total.
Names cannot show it, and no ledger knows of another; so the data carry a note.  The file
`<data>.mercer-ledger` is made once, by `Ledger.register(..., data=...)`, and never replaced.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from mercer.common.files import sync
from mercer.sources.folders import paths_of

__all__ = [
    "VERSION",
    "Claim",
    "LedgerError",
    "LedgerPostgreSQL",
    "LedgerSQLite",
    "LedgerStore",
    "check_claim",
    "check_same",
    "claim_on",
    "note_of",
    "store_of",
    "write_claim",
]

VERSION = 1
Run: TypeAlias = Callable[..., list[tuple[Any, ...]]]  # (statement, *values) -> rows
_WAIT = 60  # seconds for another process to finish its charge
_TABLES = (
    "CREATE TABLE mercer_ledger (id TEXT NOT NULL, version INTEGER NOT NULL)",
    "CREATE TABLE mercer_datasets (name TEXT PRIMARY KEY, epsilon TEXT NOT NULL, "
    "delta TEXT NOT NULL, unit TEXT NOT NULL, data TEXT, time TEXT NOT NULL, digest TEXT NOT NULL)",
    "CREATE TABLE mercer_charges (dataset TEXT NOT NULL REFERENCES mercer_datasets (name), "
    "number INTEGER NOT NULL, time TEXT NOT NULL, events TEXT NOT NULL, epsilon TEXT NOT NULL, "
    "delta TEXT NOT NULL, what TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (dataset, number))",
)
_NAMES = ("mercer_ledger", "mercer_datasets", "mercer_charges")


class LedgerError(ValueError):
    """A ledger that cannot be used, or not in this way; nothing was charged."""


class LedgerStore(ABC):
    """Where the three tables of a ledger are kept, and transactions on them."""

    where: str  # for messages: without a password
    address: str  # the same, from any folder

    @abstractmethod
    def exists(self) -> bool:
        """Whether a ledger exists at this place."""

    @abstractmethod
    def create(self) -> None:
        """Make an empty ledger atomically; an existing one is left unchanged."""

    @abstractmethod
    def transaction(self, *, lock: str | None = None) -> contextlib.AbstractContextManager[Run]:
        """A transaction: its statements take effect together or not at all.

        With `lock`, the name of a dataset, nobody else charges it meanwhile; without, it only reads.
        """

    @abstractmethod
    def check(self) -> None:
        """LedgerError if the database itself is damaged."""

    def _begin(self, run: Run) -> str:
        run("INSERT INTO mercer_ledger VALUES (?, ?)", label := os.urandom(16).hex(), VERSION)
        return label


class LedgerSQLite(LedgerStore):
    """A ledger in a SQLite file."""

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()
        self.where, self.address = str(path), str(self._path)

    def exists(self) -> bool:
        if self._path.is_dir():
            raise LedgerError(f"ledger {self.where!r} is a folder; name a file in it")
        return self._path.exists()

    def create(self) -> None:
        folder = self._path.parent
        if not folder.is_dir():
            raise LedgerError(f"ledger: there is no folder {str(folder)!r}; create it first")
        handle, name = tempfile.mkstemp(dir=folder, prefix=f".{self._path.name}.")
        os.close(handle)
        try:
            with self._explained():
                connection = sqlite3.connect(name, isolation_level=None)
                with contextlib.closing(connection):
                    connection.execute("PRAGMA journal_mode = WAL")
                    connection.execute("PRAGMA synchronous = FULL")
                    connection.execute("BEGIN IMMEDIATE")
                    for statement in (*_TABLES, *_sqlite_triggers()):
                        connection.execute(statement)
                    self._begin(lambda text, *values: list(connection.execute(text, values)))
                    connection.execute("COMMIT")
            sync(Path(name))  # not later: closing a file takes away this process's locks on it
            with contextlib.suppress(FileExistsError):  # somebody else was quicker: theirs counts
                os.link(name, self._path)
            sync(folder)
        finally:
            for end in ("", "-wal", "-shm"):
                Path(name + end).unlink(missing_ok=True)

    @contextmanager
    def transaction(self, *, lock: str | None = None) -> Iterator[Run]:
        with self._explained(), contextlib.closing(self._connect(lock is not None)) as connection:
            connection.execute("BEGIN" if lock is None else "BEGIN IMMEDIATE")
            try:
                yield lambda text, *values: list(connection.execute(text, values))
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    with contextlib.suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                raise

    def check(self) -> None:
        with self.transaction() as run:
            answer = run("PRAGMA quick_check(1)")
        if answer != [("ok",)]:
            raise LedgerError(f"ledger {self.where!r} is damaged: {_DAMAGED}")

    def _connect(self, write: bool) -> sqlite3.Connection:
        if not self._path.exists():
            raise LedgerError(f"ledger {self.where!r} is gone; nothing was charged")
        log = self._path.with_name(self._path.name + "-wal")
        still = not write and not os.access(self._path.parent, os.W_OK) and not log.exists()
        mode = "ro&immutable=1" if still else "rw"
        uri = f"{self._path.as_uri()}?mode={mode}"
        connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=_WAIT)
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA recursive_triggers = ON")  # REPLACE counts as a deletion

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            words = _SQLITE_WORDS.get(code, f"the database says: {error}")
            raise LedgerError(f"ledger {self.where!r}: {words}; nothing was charged") from error
        except PermissionError as error:
            raise LedgerError(f"ledger {self.where!r}: {error.strerror}") from error


class LedgerPostgreSQL(LedgerStore):
    """A ledger in a PostgreSQL database, named by its URL."""

    def __init__(self, url: str) -> None:
        self._url = url
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
        self.where = self.address = f"postgresql://{parts.hostname or ''}{port}{parts.path}"

    def exists(self) -> bool:
        with self._connected() as run:
            return run("SELECT to_regclass('mercer_ledger')") != [(None,)]

    def create(self) -> None:
        with self._connected() as run:
            run("SELECT pg_advisory_xact_lock(?)", 0x6D65_7263_6572)
            if run("SELECT to_regclass('mercer_ledger')") == [(None,)]:
                for statement in (*_TABLES, *_postgres_triggers()):
                    run(statement)
                self._begin(run)

    @contextmanager
    def transaction(self, *, lock: str | None = None) -> Iterator[Run]:
        with self._connected() as run:
            if lock is None:
                run("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            else:
                run("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
                run(f"SET LOCAL lock_timeout = '{_WAIT}s'")
                run("SET LOCAL synchronous_commit = on")
                if run("SHOW fsync") != [("on",)]:
                    raise LedgerError(
                        f"ledger {self.where!r}: the server runs with fsync off, so a crash may "
                        "lose charges; turn it on. Nothing was charged"
                    )
                # rows read after this statement are those that the last holder left
                run("SELECT 1 FROM mercer_datasets WHERE name = ? FOR UPDATE", lock)
            yield run

    def check(self) -> None:
        with self.transaction() as run:
            for name in _NAMES:
                run(f"SELECT count(*) FROM {name}")

    @contextmanager
    def _connected(self) -> Iterator[Run]:
        try:
            import psycopg
        except ImportError:
            raise LedgerError(
                "a ledger on PostgreSQL needs psycopg: pip install 'mercer[postgres]'"
            ) from None
        try:
            with psycopg.connect(self._url, connect_timeout=_WAIT) as connection:

                def run(text: str, *values: object) -> list[tuple[Any, ...]]:
                    cursor = connection.execute(text.replace("?", "%s"), values or None)
                    return list(cursor.fetchall()) if cursor.description else []

                yield run
        except psycopg.Error as error:
            words = _POSTGRES_WORDS.get(error.sqlstate or "")
            if words is None:
                words = "the database says: " + (str(error).strip().splitlines() or ["?"])[0]
            raise LedgerError(
                f"ledger {self.where!r}: {words}; nothing was released, and what was charged is "
                "in its history"
            ) from error


def store_of(place: str | os.PathLike[str]) -> LedgerStore:
    """The store that a path or a URL names."""
    text = os.fspath(place)
    if text.startswith(("postgresql://", "postgres://")):
        return LedgerPostgreSQL(text)
    if "://" in text:
        kind = text.split("://")[0]
        raise LedgerError(f"ledger must be the path of a file or a postgresql:// URL, got a {kind}:// URL")
    if not text:
        raise LedgerError("ledger must be the path of a file or a postgresql:// URL, got ''")
    return LedgerSQLite(Path(text))


_DAMAGED = (
    "its pages do not fit together; restore it from a copy, and compare the receipts of what was "
    "released since"
)
_SQLITE_WORDS = {
    5: f"another process held it for more than {_WAIT} seconds; try again",
    6: "another process holds it; try again",
    8: "it is read-only, so no charge can be written; make the file and its folder writable",
    10: "it could not be written or read: the disk failed or a limit on file sizes was met",
    11: f"it is damaged: {_DAMAGED}",
    13: "the disk is full; make room and try again",
    14: "it cannot be opened; check that the file and its folder may be read and written",
    26: "it is not a ledger: not a SQLite database, or a damaged one",
}
_POSTGRES_WORDS = {
    "53100": "the disk of the server is full; make room and try again",
    "23505": "another process was quicker; try again",
    "25006": "the database is read-only, so no charge can be written",
    "42501": "this user may not do so; INSERT, SELECT and UPDATE (for the lock) are needed",
    "55P03": f"another process held it for more than {_WAIT} seconds; try again",
}


def _sqlite_triggers() -> Iterator[str]:
    for name in _NAMES:
        for action in ("UPDATE", "DELETE"):
            yield (
                f"CREATE TRIGGER {name}_{action.lower()} BEFORE {action} ON {name} BEGIN "
                f"SELECT RAISE(ABORT, '{name}: rows are never changed or removed'); END"
            )


def _postgres_triggers() -> Iterator[str]:
    yield (
        "CREATE FUNCTION mercer_keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION '%: rows are never changed or removed', TG_TABLE_NAME; END $$"
    )
    for name in _NAMES:
        yield (
            f"CREATE TRIGGER {name}_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON {name} "
            "FOR EACH STATEMENT EXECUTE FUNCTION mercer_keep()"
        )


_END = ".mercer-ledger"


@dataclass(frozen=True)
class Claim:
    """The ledger and the name under which it counts these data."""

    ledger: str  # the ledger's id
    dataset: str
    where: str  # path or URL, for messages


def note_of(data: Path) -> Path:
    """The path of the note of a data file or folder."""
    return data.with_name(data.name + _END)


def claim_on(data: object) -> tuple[Path, Claim] | None:
    """The note on a path, on a folder that holds it, or on any path of a list; else None."""
    found = [note for path in paths_of(data) or () if (note := _claim_on(path.resolve()))]
    for _, claim in found[1:]:
        if (claim.ledger, claim.dataset) != (found[0][1].ledger, found[0][1].dataset):
            raise LedgerError(
                f"the files are counted as {found[0][1].dataset!r} and as {claim.dataset!r}, each "
                "with a total of its own: release them apart"
            )
    return found[0] if found else None


def _claim_on(path: Path) -> tuple[Path, Claim] | None:
    for place in (path, *path.parents):
        note = note_of(place) if place.name else place
        if os.path.isfile(note) and note != place:  # noqa: PTH113, it never raises
            return note, _read(note)
    return None


def check_claim(data: Path, claim: Claim) -> None:
    """LedgerError unless these data exist and no other ledger counts them."""
    if not data.exists():
        raise LedgerError(f"data: there is no file or folder {str(data)!r}")
    note = note_of(data)
    if note.exists():
        check_same(note, _read(note), claim)


def write_claim(data: Path, claim: Claim) -> None:
    """Write the note, durably before this returns; LedgerError if another ledger's note exists."""
    check_claim(data, claim)
    note = note_of(data)
    text = json.dumps(asdict(claim), indent=1) + "\n"
    draft = note.with_name(f".{note.name}.{os.getpid()}")
    try:
        with draft.open("w", encoding="utf-8") as file:
            file.write(text)
        sync(draft)
        try:
            os.link(draft, note)  # fails if there is one: never replaced
        except FileExistsError:
            check_same(note, _read(note), claim)
        sync(note.parent)
    except OSError as error:
        raise LedgerError(f"data: cannot write {str(note)!r}: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)


def check_same(note: Path, found: Claim, claim: Claim) -> None:
    """LedgerError unless both name the same ledger and dataset."""
    if (found.ledger, found.dataset) != (claim.ledger, claim.dataset):
        raise LedgerError(
            f"releases of these data are counted as {found.dataset!r} in the ledger "
            f"{found.where!r} (id {found.ledger[:8]}, says {note.name}), not as "
            f"{claim.dataset!r} in {claim.where!r} (id {claim.ledger[:8]}): two ledgers would "
            "allow the total twice; use the first"
        )


def _read(note: Path) -> Claim:
    try:
        fields = json.loads(note.read_text(encoding="utf-8"))
        claim = Claim(*(fields[key] for key in ("ledger", "dataset", "where")))
        if not all(isinstance(value, str) for value in asdict(claim).values()):
            raise ValueError
    except (OSError, ValueError, KeyError, TypeError):
        raise LedgerError(
            f"{str(note)!r} is damaged: it should say which ledger counts these data; restore it"
        ) from None
    return claim
