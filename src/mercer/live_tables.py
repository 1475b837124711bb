"""Live releases in SQLite and PostgreSQL, through SQLAlchemy.  Layer 5 (M7).

One writer at a time for each live release: SQLite by BEGIN IMMEDIATE, PostgreSQL by a lock on the
release's row.  A lock on a gap would let two servers draw in different gaps at once, but a batch
touches many gaps, and a commit, shared by all questions that wait, costs far more than the draws:
one writer loses nothing and cannot deadlock.  Points that are answered are read without waiting.
Rows are only ever added (triggers see to it), and a commit is on the disk when it returns.
"""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from mercer.checks import Floats
from mercer.live_pens import ANSWERS, LIVE, METADATA, SqlPen
from mercer.live_store import LiveError, LiveUnavailable, Pen, Record, Store, missing, taken

__all__ = ["METADATA", "NAMES", "WAIT", "Tables"]

VERSION = 1
WAIT = 10  # seconds for another writer to finish
NAMES = ("mercer_live", "mercer_answers", "mercer_factors")


class Tables(Store):
    """What both databases share."""

    durable = True
    mark: str  # where a value goes in the driver's statements
    asked: str  # a relation with the points asked, as columns x, y, z
    engine: sa.Engine

    def __init__(self) -> None:
        self._process = os.getpid()
        self._ids: dict[str, int] = {}

    @abstractmethod
    def prepare(self) -> None:
        """Make the tables where there are none."""

    @abstractmethod
    def words(self, error: BaseException) -> str:
        """What went wrong, for a person."""

    @abstractmethod
    def still_there(self) -> None:
        """LiveUnavailable if the database was moved away under our hands."""

    @abstractmethod
    def lock(self, connection: sa.Connection, number: int) -> None:
        """Wait until no one else writes this live release."""

    @abstractmethod
    def offer(self, cursor: Any, points: Floats) -> tuple[Any, ...]:
        """Make `asked` hold these points; the values that its marks stand for."""

    def names(self) -> tuple[str, ...]:
        with self.connected() as connection:
            rows = connection.execute(sa.select(LIVE.c.name).order_by(LIVE.c.id))
            return tuple(rows.scalars())

    def create(self, record: Record) -> None:
        self.prepare()
        values = {
            "name": record.name, "version": VERSION, "route": record.route,
            "fields": json.dumps(record.fields, allow_nan=False), "secret": record.secret,
            "digest": record.digest, "time": datetime.now(UTC).isoformat(),
        }  # fmt: skip
        try:
            with self.connected(write=True) as connection:
                connection.execute(sa.insert(LIVE), values)
        except IntegrityError:
            raise LiveError(taken(record.name, self.where)) from None

    def load(self, name: str) -> Record:
        with self.connected() as connection:
            row = connection.execute(sa.select(LIVE).where(LIVE.c.name == name)).one_or_none()
        if row is None:
            raise LiveError(missing(name, self.names(), self.where))
        if row.version > VERSION:
            raise LiveError(f"store {self.where!r} was written by a newer version; upgrade mercer")
        record = Record(row.name, row.route, json.loads(row.fields), row.secret)
        if record.digest != row.digest:
            raise LiveError(
                f"live release {name!r} in {self.where!r} is not what was created: its digest "
                "does not fit its data or parameters. Going on would draw from another function; "
                "restore the store from a copy"
            )
        self._ids[name] = row.id
        return record

    def count(self, name: str) -> int:
        statement = sa.select(sa.func.count()).where(ANSWERS.c.live == self._number(name))
        with self.connected() as connection:
            return int(connection.execute(statement).scalar_one())

    @contextmanager
    def reading(self, name: str) -> Iterator[Pen]:
        number = self._number(name)
        with self.connected() as connection:
            yield SqlPen(self, connection, number)

    @contextmanager
    def writing(self, name: str) -> Iterator[Pen]:
        number = self._number(name)
        with self.connected(write=True) as connection:
            self.lock(connection, number)
            yield SqlPen(self, connection, number)

    @property
    def driver_error(self) -> type[Exception]:
        """What the driver raises."""
        return self.engine.dialect.loaded_dbapi.Error

    def close(self) -> None:
        self.engine.dispose()

    def forget(self) -> None:
        """Another database may have taken the place of the one that was read."""
        self._ids.clear()

    def _number(self, name: str) -> int:
        if name not in self._ids:
            self.load(name)
        return self._ids[name]

    @contextmanager
    def connected(self, *, write: bool = False) -> Iterator[sa.Connection]:
        if os.getpid() != self._process:  # a fork must not share its parent's connections
            self.engine.dispose(close=False)
            self._process = os.getpid()
        self.still_there()
        try:
            with self.engine.connect() as connection:
                if write:
                    connection = connection.execution_options(mercer_write=True)
                with connection.begin():
                    yield connection
        except IntegrityError:
            raise
        except (DBAPIError, self.driver_error) as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            words = self.words(cause) if cause is not None else "the database failed"
            raise LiveUnavailable(
                f"store {self.where!r}: {words}; nothing new was answered"
            ) from error
        except SQLAlchemyError as error:
            raise LiveUnavailable(
                f"store {self.where!r} cannot be reached now; nothing new was answered"
            ) from error
