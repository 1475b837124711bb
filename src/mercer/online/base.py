"""Live releases: answers at any point, at any time, always the same.  M7; Hall 2013, Sec. 5.

`ask` answers the released path f_D + sigma Delta G, before any projection, by one of three routes:

- coordinates: the path of a smooth kernel follows from its released coordinates (M2), and no answer
  is stored;
- `online.markov`: the exponential and Matern kernels on a line, between released states;
- `online.cholesky`: any kernel, drawn from f_D itself.

The first two are based on an ordinary release, made once at the door, and use no record afterwards.
A released classifier or regression can be the base as well.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from mercer.columns.domain import Box
from mercer.common.checks import Floats, Ints, check_level
from mercer.online.store import LiveError, LiveStore, Memory, Record
from mercer.promise.statement import Statement
from mercer.releases.base import FORMAT, VERSION, Release, from_dict
from mercer.releases.density.release import DensityRelease
from mercer.releases.density.smoothing import BasisAccuracy
from mercer.releases.function import Band
from mercer.releases.machine.field import MachineAccuracy
from mercer.releases.machine.release import MachineRelease

__all__ = [
    "ROUTES",
    "CoordinatesLive",
    "DensityLive",
    "LiveRelease",
    "LiveUnkept",
    "MachineLive",
    "reopened",
    "store_of",
]


class LiveUnkept(LiveError):  # noqa: N818
    """A store that could not keep a release that was made and charged: save its `release`."""

    def __init__(self, message: str, release: DensityRelease) -> None:
        super().__init__(message)
        self.release = release


ROUTES: dict[str, type[LiveRelease]] = {}
_MOST = 10**6  # points of one question


class LiveRelease(ABC):
    """A private function that is evaluated at points as they are asked, always consistently."""

    route: ClassVar[str]
    sensitive: ClassVar[bool]  # whether the store holds counts of records
    _single = False  # whether `_answer_one` is there for questions on a line
    domain: Box
    privacy: Statement

    def __init_subclass__(cls) -> None:
        if "route" in cls.__dict__:
            ROUTES[cls.route] = cls

    def __init__(self, store: LiveStore, record: Record) -> None:
        self._store, self.name = store, record.name

    @classmethod
    @abstractmethod
    def resume(cls, store: LiveStore, record: Record) -> LiveRelease:
        """The live release that a record of the store describes, ready for further questions."""

    @property
    def store(self) -> str:
        """The place where the answers are kept: a path, or a URL without its password."""
        return self._store.where

    @property
    def count(self) -> int:
        """The number of points answered so far."""
        return self._store.count(self.name)

    @property
    def kind(self) -> str:
        """What is released: a density, or what a machine predicts."""
        return "density"

    @property
    @abstractmethod
    def accuracy(self) -> BasisAccuracy | MachineAccuracy:
        """Expected error due to the noise for privacy, as of a release made at once."""

    @abstractmethod
    def standard_error(self, points: object) -> Floats:
        """Standard deviation of the noise at each point."""

    @abstractmethod
    def _answer(self, rows: Floats) -> Floats:
        """Values of the path at rows of the domain, which are distinct and increasing."""

    def _answer_one(self, x: float) -> float:
        """The value of the path at one point of the domain's only column."""
        return float(self._answer(np.array([[x]]))[0])

    def ask(self, points: object) -> Floats:
        """The released function at these points.  A point asked before gets the same answer.

        Raw values of the path: near zero they may be negative.
        """
        if isinstance(points, float) and self._single:
            (low, high), x = self.domain.bounds[0], float(points) + 0.0
            if low <= x <= high:
                return np.asarray(self._answer_one(x))
        rows = self.domain.points(points)
        if len(rows) > _MOST:
            raise LiveError(f"points must be at most {_MOST} a question, got {len(rows)}")
        if not len(rows):
            return np.zeros(self.domain.shape(points))
        distinct, place = _distinct(rows + 0.0)  # -0.0 is 0.0
        answers = self._answer(distinct)[place]
        return answers.reshape((*self.domain.shape(points), *answers.shape[1:]))

    __call__ = ask

    def band(self, points: object, level: float = 0.95) -> Band:
        """At each point, an interval that covers the estimate without noise with this probability (M15)."""
        check_level(level)
        centre = self.ask(points)
        width = float(ndtri((1 + level) / 2)) * self.standard_error(points)
        return Band(centre - width, centre + width, level)

    def close(self) -> None:
        """Close the store; its answers are kept."""
        self._store.close()

    def __enter__(self) -> LiveRelease:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        kept = "holds counts of records: sensitive" if self.sensitive else "holds no records"
        return (
            f"<{type(self).__name__} {self.name!r} of {self.domain.describe()}: "
            f"{self.privacy.short}; store {self.store!r} {kept}>"
        )


def _distinct(rows: Floats) -> tuple[Floats, Ints]:
    """The distinct rows in increasing order, and the index of each row among them."""
    if rows.shape[1] == 1:  # numbers sort faster than rows do
        column, place = np.unique(rows[:, 0], return_inverse=True)
        return column[:, None], place
    distinct, place = np.unique(rows, axis=0, return_inverse=True)
    return distinct, place.reshape(-1)


def reopened(store: LiveStore, name: str) -> LiveRelease:
    """The live release of this name, by the route that its record states."""
    record = store.load(name)
    if record.route not in ROUTES:
        raise LiveError(
            f"live release {name!r} works by {record.route!r}, which this version does not know; "
            "upgrade mercer"
        )
    return ROUTES[record.route].resume(store, record)


def store_of(place: str | os.PathLike[str] | LiveStore | None) -> LiveStore:
    """The store for the path of a SQLite file or a PostgreSQL URL; None is memory."""
    if place is None:
        return Memory()
    if isinstance(place, LiveStore):
        return place
    try:
        from mercer.online.databases import LivePostgreSQL, LiveSQLite
    except ImportError:
        raise LiveError("a store for live releases needs SQLAlchemy: pip install 'mercer[serve]'") from None
    text = os.fspath(place)
    if text.startswith(("postgresql://", "postgres://")):
        return LivePostgreSQL(text)
    if "://" in text or not text:
        raise LiveError(
            "store must be the path of a file or a postgresql:// URL, got "
            + (f"a {text.split('://')[0]}:// URL" if text else "''")
        )
    if Path(text).suffix in (".json", ".csv", ".parquet"):
        raise LiveError(
            f"store must be a live store, for example live.db, and {text!r} is none"
            + ("; a release is evaluated with mercer eval" if text.endswith(".json") else "")
        )
    return LiveSQLite(Path(text))


class Standing(LiveRelease):
    """A live release based on a release that is kept in the store: no records are needed."""

    sensitive = False
    ground: ClassVar[str]  # the kind of release it is based on, for messages

    def __init__(self, store: LiveStore, record: Record, release: Any) -> None:
        super().__init__(store, record)
        self.release, self.domain, self.privacy = release, release.domain, release.privacy

    @classmethod
    def resume(cls, store: LiveStore, record: Record) -> Self:
        try:
            release = from_dict(record.fields["release"])
        except (KeyError, ValueError, TypeError) as error:
            raise LiveError(f"live release {record.name!r} is damaged") from error
        if cls.route not in release.routes:
            raise LiveError(f"live release {record.name!r} does not stand on a {cls.ground}")
        return cls(store, record, release)


class DensityLive(Standing):
    """Based on a density, which was made and charged together with the live release."""

    ground = "density"
    release: DensityRelease

    @classmethod
    def start(cls, store: LiveStore, name: str, release: DensityRelease, *, error: float = 0.0) -> Self:
        """Store a density that was just made, and open the live release on it.

        `error` bounds, in the unit cube, how far the estimate is from what the release can show.
        """
        record = Record(name, cls.route, {"release": _fields_of(release), "error": error})
        try:
            store.create(record)
        except (LiveError, OSError) as error:
            raise LiveUnkept(
                f"{error}; the release that was made and paid for is not lost: it is the "
                "`release` of this error, to be saved",
                release,
            ) from error
        return cls.resume(store, record)


class Computed(Standing):
    """Answers that follow from the release alone: nothing is drawn, so none is stored or counted."""

    @property
    def count(self) -> int:
        return 0

    @property
    def accuracy(self) -> BasisAccuracy | MachineAccuracy:
        found: BasisAccuracy | MachineAccuracy = self.release.accuracy
        return found

    def standard_error(self, points: object) -> Floats:
        return np.asarray(self.release.standard_error(points))


class CoordinatesLive(Computed, DensityLive):
    """Answers from released coordinates: nothing is drawn and nothing is stored (M2)."""

    route = "coordinates"

    def band(self, points: object, level: float = 0.95) -> Band:
        return self.release.band(points, level, simultaneous=False, raw=True)

    def _answer(self, rows: Floats) -> Floats:
        return self.release.raw(rows)


class MachineLive(Computed):
    """Predictions of a released machine from its weights: nothing is drawn or stored (M8, M2)."""

    route = "machine"
    ground = "machine"
    release: MachineRelease

    @classmethod
    def start(cls, store: LiveStore, name: str, release: Release) -> Self:
        """Store a released machine, which is public, so nothing is charged; open the live release on it."""
        record = Record(name, cls.route, {"release": _fields_of(release)})
        store.create(record)
        return cls.resume(store, record)

    @property
    def kind(self) -> str:
        return self.release.kind

    def band(self, points: object, level: float = 0.95) -> Band:
        return self.release.band(points, level, simultaneous=False)

    def predict(self, points: object) -> NDArray[Any]:
        """The class, or the response, at these points."""
        return self.release.predict(points)

    def _answer(self, rows: Floats) -> Floats:
        return np.asarray(self.release(rows))


def _fields_of(release: Release) -> dict[str, Any]:
    return {"format": FORMAT, "version": VERSION, **release.to_dict()}
