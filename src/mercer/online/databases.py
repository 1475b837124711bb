"""Live releases in a SQLite file that processes of one machine share, or a PostgreSQL database."""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
from contextlib import closing, suppress
from pathlib import Path
from time import monotonic
from typing import Any
from weakref import WeakSet

import sqlalchemy as sa
from sqlalchemy.pool import QueuePool

from mercer.common.checks import Floats
from mercer.online.sql import METADATA, NAMES, WAIT, Tables, padded
from mercer.online.store import LiveError, LiveUnavailable

__all__ = ["LivePostgreSQL", "LiveSQLite"]


class LiveSQLite(Tables):
    """A store in a SQLite file that only its owner may read.

    Its locks belong to the process: they are lost once the process closes the file by any other
    way than SQLite, and a fork does not have them though SQLite's own notes, copied, say so.
    Without them another process that closes the store removes the log, with all that is written
    to it later.  So the file is never opened here directly, and is closed before a fork.
    """

    mark, asked = "?", "temp.mercer_asked a"

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path, self.where = path.absolute(), str(path)
        self._file: tuple[int, int] | None = None  # device and inode of the file in use
        self.engine = sa.create_engine(
            "sqlite://", creator=self._connect, poolclass=QueuePool, pool_size=8, max_overflow=64
        )
        sa.event.listen(self.engine, "begin", _begin)
        _OPEN.add(self)

    def _connect(self) -> _Connection:
        connection = sqlite3.connect(
            f"{self._path.as_uri()}?mode=rw",
            uri=True,
            isolation_level=None,
            timeout=WAIT,
            check_same_thread=False,
            factory=_Connection,
        )
        try:
            for setting in (
                "synchronous = FULL",
                "foreign_keys = ON",
                "temp_store = MEMORY",
                "recursive_triggers = ON",
            ):
                connection.execute(f"PRAGMA {setting}")
            connection.execute(
                "CREATE TEMP TABLE mercer_asked (x DOUBLE, y DOUBLE, z DOUBLE, "
                "PRIMARY KEY (x, y, z)) WITHOUT ROWID"
            )
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()  # opens the log
            connection.log = self._log()
        except BaseException:
            connection.close()
            raise
        return connection

    def prepare(self) -> None:
        if not self._path.parent.is_dir():
            raise LiveError(f"store: there is no folder {str(self._path.parent)!r}; create it first")
        if self._path.is_dir():
            raise LiveError(f"store {self.where!r} is a folder; name a file in it")
        try:
            if not self._path.exists():
                self._make()
            elif self._path.stat().st_size == 0:
                self._path.chmod(0o600)
                self._begin_log(self._path)
        except OSError as error:
            raise LiveUnavailable(f"store {self.where!r}: {error.strerror}") from error
        with self.connected(write=True) as connection:
            METADATA.create_all(connection)
            for statement in _sqlite_triggers():
                connection.execute(sa.text(statement))

    def _make(self) -> None:
        """Make a new file, which gets its name only once it is complete."""
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")
        try:
            os.fchmod(handle, 0o600)  # whatever the umask is
            os.close(handle)
            self._begin_log(Path(name))
            with suppress(FileExistsError):  # somebody else was quicker: theirs counts
                os.link(name, self._path)
        finally:
            for end in ("", "-wal", "-shm"):
                Path(name + end).unlink(missing_ok=True)

    def _begin_log(self, path: Path) -> None:
        with self.explained(), closing(sqlite3.connect(path, timeout=WAIT)) as plain:
            plain.execute("PRAGMA journal_mode = WAL")

    def leave_parent(self) -> None:
        if self._using:
            raise LiveUnavailable(
                f"store {self.where!r} was in use when this process was forked; nothing was "
                "answered. Start processes by 'spawn', or fork when no thread asks"
            )
        self.engine.dispose()

    def _log(self) -> int | None:
        """The inode of the log file to which a connection writes first."""
        try:
            return os.stat(f"{self._path}-wal").st_ino  # noqa: PTH116 - a path object takes longer
        except OSError:
            return None

    def still_there(self) -> object:
        try:
            status = self._path.stat()
        except OSError as error:
            self.engine.dispose()
            raise LiveUnavailable(
                f"store {self.where!r} is not there ({error.strerror}); nothing new was answered. "
                "Bring the same file back: a copy that is older would answer points anew"
            ) from error
        if status.st_mode & 0o077:
            raise LiveError(
                f"store {self.where!r} can be read by others, and a live release may hold counts "
                f"of records: chmod 600 {self.where}"
            )
        file = (status.st_dev, status.st_ino)
        if self._file not in (None, file):
            self.engine.dispose()
            self.forget()
            self._file = file
            raise LiveUnavailable(
                f"store {self.where!r}: another file took its place; nothing new was answered. "
                "If it is the right one, ask again"
            )
        self._file = file
        return file

    def check_written(self, connection: sa.Connection, before: object) -> None:
        raw = connection.connection.driver_connection
        assert isinstance(raw, _Connection)
        try:
            if self.still_there() == before and self._log() == raw.log:
                return
            raise LiveUnavailable(
                f"store {self.where!r}: the file or its log was taken away while a question was "
                "answered, and the answer with it; nothing new was answered"
            )
        except LiveError:
            connection.invalidate()  # it writes to nowhere
            self.engine.dispose()
            raise

    def lock(self, connection: sa.Connection, number: int) -> tuple[str, str] | None:
        cursor = connection.connection.cursor()  # BEGIN IMMEDIATE has waited
        cursor.execute("SELECT digest, time FROM mercer_live WHERE id = ?", (number,))
        return cursor.fetchone()

    def offer(self, cursor: Any, points: Floats) -> tuple[Any, ...]:
        cursor.execute("DELETE FROM temp.mercer_asked")
        cursor.executemany("INSERT INTO temp.mercer_asked VALUES (?, ?, ?)", padded(points).tolist())
        return ()

    def words(self, error: BaseException) -> str:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        return _SQLITE_WORDS.get(code, "the database failed")


class _Connection(sqlite3.Connection):
    """A connection that remembers which log file it writes to."""

    log: int | None = None


_OPEN: WeakSet[LiveSQLite] = WeakSet()


def _before_fork() -> None:
    for store in list(_OPEN):
        store.close()


if sys.platform != "win32":
    os.register_at_fork(before=_before_fork)


def _begin(connection: sa.Connection) -> None:
    """Wait for the write lock; a single read needs no transaction.

    SQLite polls the lock ever less often, and among many writers might never get it: it is made to
    poll often.
    """
    if not connection.get_execution_options().get("mercer_write", False):
        return
    run, end = connection.connection.cursor().execute, monotonic() + WAIT
    run(f"PRAGMA busy_timeout = {_TURN}")
    try:
        while True:
            try:
                run("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or monotonic() > end:
                    raise
    finally:
        run(f"PRAGMA busy_timeout = {int(1000 * WAIT)}")


_TURN = 30  # milliseconds
_SQLITE_WORDS = {
    1: "it holds no live releases",
    5: f"another process held it for more than {WAIT} seconds; try again",
    6: "another process holds it; try again",
    8: "it is read-only; make the file and its folder writable",
    10: "it could not be written or read: the disk failed or a limit on file sizes was met",
    11: "it is damaged: its pages do not fit together; restore it from a copy",
    13: "the disk is full; make room and try again",
    14: "it cannot be opened; check that the file and its folder may be read and written",
    26: "it is not a SQLite database",
}


def _sqlite_triggers() -> list[str]:
    return [
        f"CREATE TRIGGER IF NOT EXISTS {name}_{action.lower()} BEFORE {action} ON {name} BEGIN "
        f"SELECT RAISE(ABORT, '{name}: rows are never changed or removed'); END"
        for name in NAMES
        for action in ("UPDATE", "DELETE")
    ]


class LivePostgreSQL(Tables):
    """A store in a PostgreSQL database.  Its owner must let only the service's user read it."""

    mark = "%s"
    asked = (
        "unnest(CAST(? AS double precision[]), CAST(? AS double precision[]), "
        "CAST(? AS double precision[])) AS a (x, y, z)"
    )

    def __init__(self, url: str) -> None:
        super().__init__()
        rest = url.split("://", 1)[1]
        try:
            address = sa.make_url(f"postgresql+psycopg://{rest}")
            settings = f"{address.query.get('options', '')} -c lock_timeout={WAIT}s"
            settings += " -c synchronous_commit=on"
            self.engine = sa.create_engine(
                address,
                pool_pre_ping=True,
                pool_size=8,
                max_overflow=64,
                isolation_level="READ COMMITTED",
                connect_args={"connect_timeout": WAIT, "options": settings},
            )
        except ImportError:
            raise LiveError("a store on PostgreSQL needs psycopg: pip install 'mercer[postgres]'") from None
        except (sa.exc.ArgumentError, ValueError):
            raise LiveError("store must be postgresql://user@host/database") from None
        port = f":{address.port}" if address.port else ""
        self.where = f"postgresql://{address.host or ''}{port}/{address.database or ''}"

    def prepare(self) -> None:
        with self.connected(write=True) as connection:
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:n)"), {"n": 0x6D65_7263_6C76})
            self._check_sync(connection.execute(sa.text("SELECT current_setting('fsync')")).scalar())
            METADATA.create_all(connection)
            for statement in _postgres_triggers():
                connection.execute(sa.text(statement))

    def still_there(self) -> object:
        return None  # a lost connection says so itself

    def check_written(self, connection: sa.Connection, before: object) -> None:
        pass

    def leave_parent(self) -> None:
        self.engine.dispose(close=False)

    def lock(self, connection: sa.Connection, number: int) -> tuple[str, str] | None:
        # what is read after this statement includes all that the last holder wrote
        cursor = connection.connection.cursor()
        cursor.execute(
            "SELECT digest, time, current_setting('fsync') FROM mercer_live WHERE id = %s FOR UPDATE",
            (number,),
        )
        row = cursor.fetchone()
        if row is None:
            return None
        self._check_sync(row[2])
        return row[0], row[1]

    def _check_sync(self, setting: object) -> None:
        if setting != "on":
            raise LiveError(
                f"store {self.where!r}: the server runs with fsync off, so a crash may lose "
                "answers and draw them anew; turn it on. Nothing was answered"
            )

    def offer(self, cursor: Any, points: Floats) -> tuple[Any, ...]:  # noqa: ARG002
        return tuple(padded(points).T.tolist())

    def words(self, error: BaseException) -> str:
        state = getattr(error, "sqlstate", None) or ""
        if state in _POSTGRES_WORDS:
            return _POSTGRES_WORDS[state]
        return "the database cannot be reached" if not state else "the database failed"


_POSTGRES_WORDS = {
    "53100": "the disk of the server is full; make room and try again",
    "25006": "the database is read-only",
    "42501": "this user may not do so",
    "42P01": "it holds no live releases",
    "55P03": f"another process held it for more than {WAIT} seconds; try again",
    "57P01": "the database is shutting down; try again",
    "57P03": "the database is starting; try again",
}


def _postgres_triggers() -> list[str]:
    return [
        "CREATE OR REPLACE FUNCTION mercer_live_keep() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION '%: rows are never changed or removed', TG_TABLE_NAME; END $$",
        *(
            f"CREATE OR REPLACE TRIGGER {name}_keep BEFORE UPDATE OR DELETE OR TRUNCATE ON {name} "
            "FOR EACH STATEMENT EXECUTE FUNCTION mercer_live_keep()"
            for name in NAMES
        ),
    ]
