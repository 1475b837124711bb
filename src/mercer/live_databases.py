"""The two databases of live releases: a SQLite file, PostgreSQL by URL.  Layer 5."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.pool import QueuePool

from mercer.checks import Floats
from mercer.live_pens import METADATA, padded
from mercer.live_store import LiveError, LiveUnavailable, Store
from mercer.live_tables import NAMES, WAIT, Tables

__all__ = ["tables_of"]


def tables_of(place: str | os.PathLike[str]) -> Store:
    """The store for a path or a URL."""
    text = os.fspath(place)
    if text.startswith(("postgresql://", "postgres://")):
        return PostgreSQL(text)
    if "://" in text or not text:
        raise LiveError(
            "store must be the path of a file or a postgresql:// URL, got "
            + (f"a {text.split('://')[0]}:// URL" if text else "''")
        )
    return SQLite(Path(text))


class SQLite(Tables):
    """A file that only its owner may read."""

    mark, asked = "?", "temp.mercer_asked a"

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path, self.where = path.absolute(), str(path)
        self._file: tuple[int, int] | None = None  # device and number of the file in use
        self.engine = sa.create_engine(
            "sqlite://", creator=self._connect, poolclass=QueuePool, pool_size=8, max_overflow=64
        )
        sa.event.listen(self.engine, "begin", _begin)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self._path.as_uri()}?mode=rw", uri=True, isolation_level=None, timeout=WAIT,
            check_same_thread=False,
        )  # fmt: skip
        try:
            for setting in (
                "synchronous = FULL", "foreign_keys = ON", "temp_store = MEMORY",
                "recursive_triggers = ON",
            ):  # fmt: skip
                connection.execute(f"PRAGMA {setting}")
            connection.execute(
                "CREATE TEMP TABLE mercer_asked (x DOUBLE, y DOUBLE, z DOUBLE, "
                "PRIMARY KEY (x, y, z)) WITHOUT ROWID"
            )
        except BaseException:
            connection.close()
            raise
        return connection

    def prepare(self) -> None:
        if not self._path.parent.is_dir():
            raise LiveError(
                f"store: there is no folder {str(self._path.parent)!r}; create it first"
            )
        if self._path.is_dir():
            raise LiveError(f"store {self.where!r} is a folder; name a file in it")
        try:
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise LiveUnavailable(f"store {self.where!r}: {error.strerror}") from error
        if self._path.stat().st_size == 0:
            self._path.chmod(0o600)  # whatever the umask is
            with closing(self._connect()) as plain:
                plain.execute("PRAGMA journal_mode = WAL")
        with self.connected(write=True) as connection:
            METADATA.create_all(connection)
            for statement in _sqlite_triggers():
                connection.execute(sa.text(statement))

    def still_there(self) -> None:
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
        if self._file not in (None, file):  # another file took its place: look at it afresh
            self.engine.dispose()
            self.forget()
        self._file = file

    def lock(self, connection: sa.Connection, number: int) -> None:
        pass  # BEGIN IMMEDIATE has done it

    def offer(self, cursor: Any, points: Floats) -> tuple[Any, ...]:
        cursor.execute("DELETE FROM temp.mercer_asked")
        cursor.executemany(
            "INSERT INTO temp.mercer_asked VALUES (?, ?, ?)", padded(points).tolist()
        )
        return ()

    def words(self, error: BaseException) -> str:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        return _SQLITE_WORDS.get(code, "the database failed")


def _begin(connection: sa.Connection) -> None:
    if connection.get_execution_options().get("mercer_write", False):
        connection.exec_driver_sql("BEGIN IMMEDIATE")  # a single read needs no transaction


class PostgreSQL(Tables):
    """A database, by its URL; readable by the service's user alone, as its owner sets it up."""

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
                address, pool_pre_ping=True, pool_size=8, max_overflow=64,
                isolation_level="READ COMMITTED",
                connect_args={"connect_timeout": WAIT, "options": settings},
            )  # fmt: skip
        except ImportError:
            raise LiveError(
                "a store on PostgreSQL needs psycopg: pip install 'mercer[postgres]'"
            ) from None
        except (sa.exc.ArgumentError, ValueError):
            raise LiveError("store must be postgresql://user@host/database") from None
        port = f":{address.port}" if address.port else ""
        self.where = f"postgresql://{address.host or ''}{port}/{address.database or ''}"

    def prepare(self) -> None:
        with self.connected(write=True) as connection:
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:n)"), {"n": 0x6D65_7263_6C76})
            METADATA.create_all(connection)
            for statement in _postgres_triggers():
                connection.execute(sa.text(statement))

    def still_there(self) -> None:
        pass  # a lost connection says so itself

    def lock(self, connection: sa.Connection, number: int) -> None:
        # what is read after this statement includes all that the last holder wrote
        cursor = connection.connection.cursor()
        cursor.execute(
            "SELECT current_setting('fsync') FROM mercer_live WHERE id = %s FOR UPDATE", (number,)
        )
        if cursor.fetchone() != ("on",):
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


_SQLITE_WORDS = {
    5: f"another process held it for more than {WAIT} seconds; try again",
    6: "another process holds it; try again",
    8: "it is read-only; make the file and its folder writable",
    10: "it could not be written or read: the disk failed or a limit on file sizes was met",
    11: "it is damaged: its pages do not fit together; restore it from a copy",
    13: "the disk is full; make room and try again",
    14: "it cannot be opened; check that the file and its folder may be read and written",
    26: "it is not a SQLite database",
}
_POSTGRES_WORDS = {
    "53100": "the disk of the server is full; make room and try again",
    "25006": "the database is read-only",
    "42501": "this user may not do so",
    "42P01": "it holds no live releases",
    "55P03": f"another process held it for more than {WAIT} seconds; try again",
    "57P01": "the database is shutting down; try again",
    "57P03": "the database is starting; try again",
}


def _sqlite_triggers() -> list[str]:
    return [
        f"CREATE TRIGGER IF NOT EXISTS {name}_{action.lower()} BEFORE {action} ON {name} BEGIN "
        f"SELECT RAISE(ABORT, '{name}: rows are never changed or removed'); END"
        for name in NAMES
        for action in ("UPDATE", "DELETE")
    ]


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
