"""Live releases in a PostgreSQL database, shared by processes and machines."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from mercer.common.checks import Floats
from mercer.online.sql import METADATA, NAMES, WAIT, Tables, padded
from mercer.online.store import LiveError

__all__ = ["LivePostgreSQL"]


class LivePostgreSQL(Tables):
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
