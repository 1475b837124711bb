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

import numpy as np
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from mercer.checks import Bools, Floats
from mercer.live_store import (
    STATES,
    Factor,
    LiveError,
    LiveUnavailable,
    Neighbours,
    Pen,
    Record,
    Store,
    missing,
    taken,
)

__all__ = ["AXES", "METADATA", "NAMES", "WAIT", "Tables", "padded"]

VERSION = 1
WAIT = 10  # seconds for another writer to finish
AXES = ("x", "y", "z")
METADATA = sa.MetaData()
_LIVE = sa.Table(
    "mercer_live", METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("route", sa.Text, nullable=False),
    sa.Column("fields", sa.Text, nullable=False),
    sa.Column("secret", sa.LargeBinary),
    sa.Column("digest", sa.Text, nullable=False),
    sa.Column("time", sa.Text, nullable=False),
)  # fmt: skip
_ANSWERS = sa.Table(
    "mercer_answers", METADATA,
    sa.Column("live", sa.Integer, sa.ForeignKey("mercer_live.id"), primary_key=True),
    *(sa.Column(axis, sa.Double, primary_key=True) for axis in AXES),
    *(sa.Column(f"s{i}", sa.Double, nullable=False) for i in range(STATES)),
    sa.Column("knot", sa.Integer, nullable=False),
    sqlite_with_rowid=False,
)  # fmt: skip
_KNOTS = sa.Index(
    "mercer_knots", _ANSWERS.c.live, _ANSWERS.c.x,
    sqlite_where=_ANSWERS.c.knot == 1, postgresql_where=_ANSWERS.c.knot == 1,
)  # fmt: skip
_FACTORS = sa.Table(
    "mercer_factors", METADATA,
    sa.Column("live", sa.Integer, sa.ForeignKey("mercer_live.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    *(sa.Column(axis, sa.Double, nullable=False) for axis in AXES),
    sa.Column("row", sa.LargeBinary, nullable=False),
    sa.Column("noisy", sa.Double, nullable=False),
    sa.Column("exact", sa.Text, nullable=False),
)  # fmt: skip
NAMES = ("mercer_live", "mercer_answers", "mercer_factors")
_STATES = ", ".join(f"s{i}" for i in range(STATES))


class Tables(Store):
    """What both databases share."""

    durable = True
    asked: str  # a relation with the points asked, as columns x, y, z
    engine: sa.Engine

    def __init__(self) -> None:
        self._process = os.getpid()
        self._ids: dict[str, int] = {}

    @abstractmethod
    def prepare(self) -> None:
        """Make the tables where there are none."""

    @abstractmethod
    def words(self, error: DBAPIError) -> str:
        """What went wrong, for a person."""

    @abstractmethod
    def still_there(self) -> None:
        """LiveUnavailable if the database was moved away under our hands."""

    @abstractmethod
    def lock(self, connection: sa.Connection, number: int) -> None:
        """Wait until no one else writes this live release."""

    @abstractmethod
    def offer(self, connection: sa.Connection, points: Floats) -> dict[str, Any]:
        """Make `asked` hold these points; parameters of the statements that read it."""

    def names(self) -> tuple[str, ...]:
        with self.connected() as connection:
            rows = connection.execute(sa.select(_LIVE.c.name).order_by(_LIVE.c.id))
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
                connection.execute(sa.insert(_LIVE), values)
        except IntegrityError:
            raise LiveError(taken(record.name, self.where)) from None

    def load(self, name: str) -> Record:
        with self.connected() as connection:
            row = connection.execute(sa.select(_LIVE).where(_LIVE.c.name == name)).one_or_none()
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
        statement = sa.select(sa.func.count()).where(_ANSWERS.c.live == self._number(name))
        with self.connected() as connection:
            return int(connection.execute(statement).scalar_one())

    @contextmanager
    def reading(self, name: str) -> Iterator[Pen]:
        number = self._number(name)
        with self.connected() as connection:
            yield _SqlPen(self, connection, number)

    @contextmanager
    def writing(self, name: str) -> Iterator[Pen]:
        number = self._number(name)
        with self.connected(write=True) as connection:
            self.lock(connection, number)
            yield _SqlPen(self, connection, number)

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
                connection = connection.execution_options(mercer_write=write)
                with connection.begin():
                    yield connection
        except IntegrityError:
            raise
        except DBAPIError as error:
            raise LiveUnavailable(
                f"store {self.where!r}: {self.words(error)}; nothing new was answered"
            ) from error
        except SQLAlchemyError as error:
            raise LiveUnavailable(
                f"store {self.where!r} cannot be reached now; nothing new was answered"
            ) from error


class _SqlPen(Pen):
    """The pen of a transaction."""

    def __init__(self, store: Tables, connection: sa.Connection, number: int) -> None:
        self._store, self._connection, self._live = store, connection, number

    def find(self, points: Floats) -> tuple[Bools, Floats]:
        values = np.full(len(points), np.nan)
        if len(points) == 1:
            parameters: dict[str, Any] = {"live": self._live, **_named(points[0])}
            row = self._connection.execute(_FIND_ONE, parameters).one_or_none()
            if row is not None:
                values[0] = row[0]
            return ~np.isnan(values), values
        parameters = self._store.offer(self._connection, points) | {"live": self._live}
        rows = self._connection.execute(_find_many(self._store.asked), parameters).all()
        answers = {tuple(row[:-1]): row[-1] for row in rows}
        if answers:
            nothing = float("nan")
            values = np.array([answers.get(tuple(p), nothing) for p in padded(points).tolist()])
        return ~np.isnan(values), values

    def around(self, x: Floats) -> Neighbours:
        width = 1 + STATES
        table = np.full((len(x), 2 * width), np.nan)
        if len(x) == 1:
            for side, statement in enumerate((_LEFT_ONE, _RIGHT_ONE)):
                parameters: dict[str, Any] = {"live": self._live, "x": float(x[0])}
                row = self._connection.execute(statement, parameters).one_or_none()
                if row is not None:
                    table[0, side * width : (side + 1) * width] = row
        else:
            parameters = self._store.offer(self._connection, x[:, None]) | {"live": self._live}
            rows = self._connection.execute(_around_many(self._store.asked), parameters).all()
            found = np.array([tuple(row) for row in rows], dtype=float)  # None becomes NaN
            table[np.searchsorted(x, found[:, 0])] = found[:, 1:]
        return Neighbours(table[:, 0], table[:, 1:width], table[:, width], table[:, width + 1 :])

    def add(self, points: Floats, states: Floats, knots: Bools) -> None:
        full = np.zeros((len(states), STATES))
        full[:, : states.shape[1]] = states
        rows = [
            {"live": self._live, **dict(zip(_COLUMNS, (*point, *state, knot), strict=True))}
            for point, state, knot in zip(
                padded(points).tolist(), full.tolist(), knots.astype(int).tolist(), strict=True
            )
        ]
        self._connection.execute(_INSERT, rows)

    def factors(self, after: int) -> list[Factor]:
        statement = (
            sa.select(_FACTORS)
            .where(_FACTORS.c.live == self._live, _FACTORS.c.number >= after)
            .order_by(_FACTORS.c.number)
        )
        return [
            Factor((row.x, row.y, row.z), row.row, row.noisy, int(row.exact, 16))
            for row in self._connection.execute(statement)
        ]

    def add_factor(self, number: int, factor: Factor) -> None:
        point = dict(zip(AXES, padded(np.array([factor.point]))[0].tolist(), strict=True))
        values = {"row": factor.row, "noisy": factor.noisy, "exact": f"{factor.exact:x}"}
        self._connection.execute(
            sa.insert(_FACTORS), {"live": self._live, "number": number, **point, **values}
        )


_COLUMNS = (*AXES, *(f"s{i}" for i in range(STATES)), "knot")
_INSERT = sa.text(
    f"INSERT INTO mercer_answers (live, {', '.join(_COLUMNS)}) "
    f"VALUES (:live, {', '.join(':' + c for c in _COLUMNS)})"
)
_FIND_ONE = sa.text(
    "SELECT s0 FROM mercer_answers WHERE live = :live AND x = :x AND y = :y AND z = :z"
)
_LEFT_ONE = sa.text(
    f"SELECT x, {_STATES} FROM mercer_answers WHERE live = :live AND knot = 1 AND x <= :x "
    "ORDER BY x DESC LIMIT 1"
)
_RIGHT_ONE = sa.text(
    f"SELECT x, {_STATES} FROM mercer_answers WHERE live = :live AND knot = 1 AND x >= :x "
    "ORDER BY x LIMIT 1"
)


def _find_many(asked: str) -> sa.TextClause:
    return sa.text(
        f"SELECT a.x, a.y, a.z, m.s0 FROM {asked} JOIN mercer_answers m "
        "ON m.live = :live AND m.x = a.x AND m.y = a.y AND m.z = a.z"
    )


def _around_many(asked: str) -> sa.TextClause:
    sides = []
    for name, best, order in (("l", "max", "<="), ("r", "min", ">=")):
        sides.append(
            f"LEFT JOIN mercer_answers {name} ON {name}.live = :live AND {name}.knot = 1 AND "
            f"{name}.x = (SELECT {best}(x) FROM mercer_answers WHERE live = :live AND knot = 1 "
            f"AND x {order} a.x)"
        )
    columns = ", ".join(f"{n}.{c}" for n in "lr" for c in ("x", *_STATES.split(", ")))
    return sa.text(f"SELECT a.x, {columns} FROM {asked} {' '.join(sides)} ORDER BY a.x")


def padded(points: Floats) -> Floats:
    """Points of any dimension as rows of three numbers."""
    full = np.zeros((len(points), len(AXES)))
    full[:, : points.shape[1]] = points
    return full


def _named(point: Floats) -> dict[str, float]:
    return dict(zip(AXES, padded(point[None])[0].tolist(), strict=True))
