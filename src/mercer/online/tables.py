"""Live releases in SQLite and PostgreSQL, through SQLAlchemy. M7.

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
from threading import get_ident
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from mercer.common.checks import Floats
from mercer.online.pens import ANSWERS, LIVE, METADATA, SqlPen
from mercer.online.store import LiveError, LiveUnavailable, Pen, Record, Store, missing

__all__ = ["METADATA", "NAMES", "WAIT", "Tables"]

VERSION = 1
WAIT = 10  # seconds for another writer to finish
NAMES = ("mercer_live", "mercer_answers", "mercer_factors")


class Tables(Store):
    """What both databases share."""

    mark: str  # where a value goes in the driver's statements
    asked: str  # a relation with the points asked, as columns x, y, z
    engine: sa.Engine

    def __init__(self) -> None:
        self._process = os.getpid()
        self._using: set[int] = set()  # threads that have a connection now
        self._ids: dict[str, int] = {}
        self._opened: dict[str, tuple[str, str]] = {}  # digest and time of what was opened here

    @abstractmethod
    def prepare(self) -> None:
        """Make the tables where there are none."""

    @abstractmethod
    def words(self, error: BaseException) -> str:
        """What went wrong, for a person."""

    @abstractmethod
    def still_there(self) -> object:
        """What database this is; LiveUnavailable if it was moved away or exchanged."""

    @abstractmethod
    def check_written(self, connection: sa.Connection, before: object) -> None:
        """LiveUnavailable if what was committed went to a database that is there no longer."""

    @abstractmethod
    def leave_parent(self) -> None:
        """In a forked process: use none of the parent's connections."""

    @abstractmethod
    def lock(self, connection: sa.Connection, number: int) -> tuple[str, str] | None:
        """Wait until no one else writes this live release; its digest and time, if it is there."""

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
            "name": record.name,
            "version": VERSION,
            "route": record.route,
            "fields": json.dumps(record.fields, allow_nan=False),
            "secret": record.secret,
            "digest": record.digest,
            "time": datetime.now(UTC).isoformat(),
        }
        try:
            with self.connected(write=True) as connection:
                connection.execute(sa.insert(LIVE), values)
        except IntegrityError:
            raise LiveError(
                f"somebody else has just made a live release {record.name!r} in "
                f"{self.where!r}; choose another name. What a ledger was charged stays charged"
            ) from None

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
        found = (row.digest, row.time)
        if self._opened.setdefault(name, found) != found:
            raise LiveError(_exchanged(name, self.where))
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
            if self.lock(connection, number) != self._opened[name]:
                self.forget()
                raise LiveError(_exchanged(name, self.where))
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
        if os.getpid() != self._process:
            self.leave_parent()
            self._process = os.getpid()
        before, thread = self.still_there(), get_ident()
        self._using.add(thread)
        try:
            with self.explained(), self.engine.connect() as connection:
                if write:
                    connection = connection.execution_options(mercer_write=True)
                with connection.begin():
                    yield connection
                if write:
                    self.check_written(connection, before)
        finally:
            self._using.discard(thread)

    @contextmanager
    def explained(self) -> Iterator[None]:
        """What the database says, in words for a person."""
        try:
            yield
        except IntegrityError:
            raise
        except (DBAPIError, self.driver_error) as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            words = self.words(cause) if cause is not None else "the database failed"
            raise LiveUnavailable(f"store {self.where!r}: {words}; nothing new was answered") from error
        except SQLAlchemyError as error:
            raise LiveUnavailable(
                f"store {self.where!r} cannot be reached now; nothing new was answered"
            ) from error


def _exchanged(name: str, where: str) -> str:
    return (
        f"live release {name!r} of store {where!r} is not the one that was opened here: another "
        "store took its place. Bring the first one back, or open this one afresh; nothing was "
        "answered"
    )
