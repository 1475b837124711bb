"""Live releases in SQLite and PostgreSQL, through SQLAlchemy.  M7.

Each live release has one writer at a time: SQLite by BEGIN IMMEDIATE, PostgreSQL by a lock on the
release's row.  A lock on a gap would let two servers draw in different gaps at once, but a batch
touches many gaps, and a commit, shared by all questions that wait, costs far more than the draws:
a single writer costs nothing and cannot deadlock.  Points that are answered are read without waiting.
Rows are only ever added (triggers see to it), and a commit is on the disk when it returns.
"""

from __future__ import annotations

import json
import os
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import get_ident
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from mercer.common.checks import Bools, Floats
from mercer.online.store import (
    STATES,
    Factor,
    Knot,
    LiveError,
    LiveStore,
    LiveUnavailable,
    NearestKnots,
    Pen,
    Record,
    missing,
)

__all__ = ["ANSWERS", "AXES", "FACTORS", "LIVE", "METADATA", "NAMES", "WAIT", "SqlPen", "Tables", "padded"]

AXES = ("x", "y", "z")
METADATA = sa.MetaData()
LIVE = sa.Table(
    "mercer_live",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("route", sa.Text, nullable=False),
    sa.Column("fields", sa.Text, nullable=False),
    sa.Column("secret", sa.LargeBinary),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("time", sa.Text, nullable=False),
)
ANSWERS = sa.Table(
    "mercer_answers",
    METADATA,
    sa.Column("live", sa.Integer, sa.ForeignKey("mercer_live.id"), primary_key=True),
    *(sa.Column(axis, sa.Double, primary_key=True) for axis in AXES),
    *(sa.Column(f"s{i}", sa.Double, nullable=False) for i in range(STATES)),
    sa.Column("knot", sa.Integer, nullable=False),
    sqlite_with_rowid=False,
)
_KNOTS = sa.Index(
    "mercer_knots",
    ANSWERS.c.live,
    ANSWERS.c.x,
    sqlite_where=ANSWERS.c.knot == 1,
    postgresql_where=ANSWERS.c.knot == 1,
)
FACTORS = sa.Table(
    "mercer_factors",
    METADATA,
    sa.Column("live", sa.Integer, sa.ForeignKey("mercer_live.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    *(sa.Column(axis, sa.Double, nullable=False) for axis in AXES),
    sa.Column("row", sa.LargeBinary, nullable=False),
    sa.Column("noisy", sa.Double, nullable=False),
    sa.Column("exact", sa.Text, nullable=False),
)
_STATES = ", ".join(f"s{i}" for i in range(STATES))


class SqlPen(Pen):
    """The pen of a transaction in a database.

    Statements of a question go directly to the driver's cursor: wrapping them would take half the
    time of a durable question.
    """

    def __init__(self, store: Tables, connection: sa.Connection, number: int) -> None:
        self._store, self._connection, self._live = store, connection, number
        self._cursor = connection.connection.cursor()

    def find(self, points: Floats) -> tuple[Bools, Floats]:
        values = np.full(len(points), np.nan)
        if len(points) == 1:
            rows = self._run(_FIND_ONE, self._live, *padded(points)[0].tolist())
            if rows:
                values[0] = rows[0][0]
            return ~np.isnan(values), values
        offered = self._store.offer(self._cursor, points)
        rows = self._run(_find_many(self._store.asked), *offered, self._live)
        answers = {tuple(row[:-1]): row[-1] for row in rows}
        if answers:
            nothing = float("nan")
            values = np.array([answers.get(tuple(p), nothing) for p in padded(points).tolist()])
        return ~np.isnan(values), values

    def look(self, x: float) -> float | None:
        rows = self._run(_FIND_ONE, self._live, x, 0.0, 0.0)
        return rows[0][0] if rows else None

    def beside(self, x: float) -> tuple[Knot | None, Knot | None]:
        sides = [self._run(statement, self._live, x) for statement in (_LEFT_ONE, _RIGHT_ONE)]
        left, right = ((rows[0][0], rows[0][1:]) if rows else None for rows in sides)
        return left, right

    def around(self, x: Floats) -> NearestKnots:
        offered = self._store.offer(self._cursor, x[:, None])
        rows = self._run(_around_many(self._store.asked), *offered, *[self._live] * 4)
        found = np.array(rows, dtype=float)[:, 1:]  # in order of x; None becomes NaN
        width = 1 + STATES
        return NearestKnots(found[:, 0], found[:, 1:width], found[:, width], found[:, width + 1 :])

    def add(self, points: Floats, states: Floats, knots: Bools) -> None:
        full = np.zeros((len(states), STATES))
        full[:, : states.shape[1]] = states
        table = np.column_stack([padded(points), full]).tolist()
        rows = [(self._live, *row, int(knot)) for row, knot in zip(table, knots.tolist(), strict=True)]
        self._cursor.executemany(self._marked(_INSERT), rows)

    def add_one(self, x: float, state: Sequence[float], knot: bool) -> None:
        rest = (0.0,) * (STATES - len(state))
        self._cursor.execute(self._marked(_INSERT), (self._live, x, 0.0, 0.0, *state, *rest, int(knot)))

    def factors(self, after: int) -> list[Factor]:
        statement = (
            sa.select(FACTORS)
            .where(FACTORS.c.live == self._live, FACTORS.c.number >= after)
            .order_by(FACTORS.c.number)
        )
        return [
            Factor((row.x, row.y, row.z), row.row, row.noisy, int(row.exact, 16))
            for row in self._connection.execute(statement)
        ]

    def add_factor(self, number: int, factor: Factor) -> None:
        point = dict(zip(AXES, padded(np.array([factor.point]))[0].tolist(), strict=True))
        values = {"row": factor.row, "noisy": factor.noisy, "exact": f"{factor.exact:x}"}
        self._connection.execute(
            sa.insert(FACTORS), {"live": self._live, "number": number, **point, **values}
        )

    def _run(self, statement: str, *values: Any) -> list[Any]:
        self._cursor.execute(self._marked(statement), values)
        return list(self._cursor.fetchall())

    def _marked(self, statement: str) -> str:
        return statement if self._store.mark == "?" else statement.replace("?", self._store.mark)


_INSERT = "INSERT INTO mercer_answers VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
_FIND_ONE = "SELECT s0 FROM mercer_answers WHERE live = ? AND x = ? AND y = ? AND z = ?"
_LEFT_ONE = (
    f"SELECT x, {_STATES} FROM mercer_answers WHERE live = ? AND knot = 1 AND x <= ? ORDER BY x DESC LIMIT 1"
)
_RIGHT_ONE = (
    f"SELECT x, {_STATES} FROM mercer_answers WHERE live = ? AND knot = 1 AND x >= ? ORDER BY x LIMIT 1"
)


def _find_many(asked: str) -> str:
    # CROSS: SQLite keeps the order and looks up each asked point; else it may read all answers
    return (
        f"SELECT a.x, a.y, a.z, m.s0 FROM {asked} CROSS JOIN mercer_answers m "
        "WHERE m.live = ? AND m.x = a.x AND m.y = a.y AND m.z = a.z"
    )


def _around_many(asked: str) -> str:
    sides = [
        f"LEFT JOIN mercer_answers {name} ON {name}.live = ? AND {name}.knot = 1 AND "
        f"{name}.x = (SELECT {best}(x) FROM mercer_answers WHERE live = ? AND knot = 1 "
        f"AND x {order} a.x)"
        for name, best, order in (("l", "max", "<="), ("r", "min", ">="))
    ]
    columns = ", ".join(f"{n}.{c}" for n in "lr" for c in ("x", *_STATES.split(", ")))
    return f"SELECT a.x, {columns} FROM {asked} {' '.join(sides)} ORDER BY a.x"


def padded(points: Floats) -> Floats:
    """Points of one to three dimensions as rows of three numbers, padded with zeros."""
    full = np.zeros((len(points), len(AXES)))
    full[:, : points.shape[1]] = points
    return full


VERSION = 1
WAIT = 10  # seconds for another writer to finish
NAMES = ("mercer_live", "mercer_answers", "mercer_factors")


class Tables(LiveStore):
    """A store in three tables of a database, whether SQLite or PostgreSQL."""

    mark: str  # the placeholder of a value in the driver's statements
    asked: str  # a relation with the points asked, as columns x, y, z
    engine: sa.Engine

    def __init__(self) -> None:
        self._process = os.getpid()
        self._using: set[int] = set()  # threads that have a connection now
        self._ids: dict[str, int] = {}
        self._opened: dict[str, tuple[str, str]] = {}  # digest and time of what was opened here

    @abstractmethod
    def prepare(self) -> None:
        """Make the tables if they do not exist."""

    @abstractmethod
    def words(self, error: BaseException) -> str:
        """A message for people about an error of the database."""

    @abstractmethod
    def still_there(self) -> object:
        """What identifies the database; LiveUnavailable if it was moved away or replaced."""

    @abstractmethod
    def check_written(self, connection: sa.Connection, before: object) -> None:
        """LiveUnavailable if the commit went to a database that is no longer in place."""

    @abstractmethod
    def leave_parent(self) -> None:
        """Called in a forked process, which must use none of the parent's connections."""

    @abstractmethod
    def lock(self, connection: sa.Connection, number: int) -> tuple[str, str] | None:
        """Wait until nobody else writes this live release; its digest and time, or None if it is missing."""

    @abstractmethod
    def offer(self, cursor: Any, points: Floats) -> tuple[Any, ...]:
        """Make the relation `asked` hold these points, and return the values for its placeholders."""

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
        """The class of the database driver's errors."""
        return self.engine.dialect.loaded_dbapi.Error

    def close(self) -> None:
        self.engine.dispose()

    def forget(self) -> None:
        """Drop what was read: another database may have replaced the one it came from."""
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
        """Turn errors of the database into errors of the store, with a message for people."""
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
