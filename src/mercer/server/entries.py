"""What the service says: of a release in words and numbers, and the schema of every answer.

The schemas are what the API's own description shows and what answers are checked against in tests.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from mercer.columns.domain import Box
from mercer.online.base import LiveRelease
from mercer.promise.statement import Statement
from mercer.releases.density.release import DensityRelease
from mercer.spaces.bases import SpectralBasis

__all__ = [
    "ChargeView",
    "Curve",
    "DatasetView",
    "Details",
    "Entry",
    "ErrorBody",
    "Health",
    "Left",
    "LiveEntry",
    "MapView",
    "Out",
    "ReleaseList",
    "ReleaseSummary",
    "Signature",
    "StatementView",
    "StoredEntry",
    "accuracy_of",
    "errors",
    "fields_of",
    "stored_entry",
    "summary_of",
]

Signature: TypeAlias = tuple[int, int, int]  # inode, size, time of the last change


@dataclass(frozen=True, eq=False)
class StoredEntry:
    """A release that was read from a file, and what the service says of it."""

    name: str
    release: DensityRelease
    path: Path
    signature: Signature
    details: dict[str, Any]  # made once: they cost some milliseconds
    lock: Lock = field(default_factory=Lock)  # so that a band is simulated once

    live = False

    @property
    def domain(self) -> Box:
        """The columns of the release with their bounds."""
        return self.release.domain


@dataclass(frozen=True, eq=False)
class LiveEntry:
    """An open live release, and what the service says of it."""

    name: str
    release: LiveRelease
    store: str

    live = True

    @property
    def domain(self) -> Box:
        """The columns of the release with their bounds."""
        return self.release.domain

    def details(self) -> dict[str, Any]:
        """All that is public of the release; the store is read for it."""
        accuracy = self.release.accuracy
        return {
            **summary_of(self),
            "statement": _statement(self.release.privacy),
            "accuracy": accuracy_of(accuracy),
            "findings": [],  # its answers come one by one
            "smoothing": {"free": False, "bandwidth": None, "finest": None, "widest": None},
            "answers": self.release.count,
            "downloads": {"release": None},
        }


Entry: TypeAlias = StoredEntry | LiveEntry


def stored_entry(name: str, release: DensityRelease, path: Path, mark: Signature) -> StoredEntry:
    """An entry with its details computed and the release evaluated once, so that no request is slow."""
    entry = StoredEntry(name, release, path, mark, {})
    middle = release.domain.from_unit(0.5 + 0 * release.domain.lower[None, :])
    release(middle)
    entry.details.update(
        {
            **summary_of(entry),
            "statement": _statement(release.privacy),
            "accuracy": accuracy_of(release.accuracy),
            "findings": [found.to_dict() for found in release.findings()],
            "smoothing": _smoothing(release),
            "answers": None,
            "downloads": {"release": f"/api/releases/{name}/file"},
        }
    )
    return entry


def summary_of(entry: Entry) -> dict[str, Any]:
    """The fields of a release in the list of all releases."""
    domain, privacy = entry.domain, entry.release.privacy
    return {
        "name": entry.name,
        "kind": entry.release.kind,
        "live": entry.live,
        "title": f"{entry.release.kind} of {_listed(domain.names)}",
        "dimension": domain.dimension,
        "columns": list(domain.names),
        "bounds": [list(pair) for pair in domain.bounds],
        "promise": privacy.short,
        "private": privacy.secure,
    }


def _listed(names: Sequence[str]) -> str:
    """Names joined for a sentence, as in: age; age and weight; age, weight and height."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def _statement(privacy: Statement) -> dict[str, Any]:
    return fields_of(StatementView, privacy, words=privacy.sentence)


def accuracy_of(accuracy: Any) -> dict[str, Any]:
    """The accuracy of a release as a sentence and in numbers; null where one does not apply."""
    names = ("pointwise", "integrated", "coordinates", "resolution")
    numbers = {name: getattr(accuracy, name, None) for name in names}
    return {"words": str(accuracy)} | {
        name: value if value is None or math.isfinite(value) else None for name, value in numbers.items()
    }


def _smoothing(release: DensityRelease) -> dict[str, Any]:
    widths = release.bandwidth.tolist()
    if not isinstance(release.basis, SpectralBasis):
        return {"free": False, "bandwidth": widths, "finest": widths, "widest": widths}
    finest = release.finest_bandwidth
    widest = release.basis.widest * release.domain.widths
    return {
        "free": True,
        "bandwidth": widths,
        "finest": finest.tolist(),
        "widest": [max(a, b) for a, b in zip(widest.tolist(), finest.tolist(), strict=True)],
    }


class Out(BaseModel):
    """What goes out has these fields and no others."""

    model_config = ConfigDict(extra="forbid")


def fields_of(view: type[Out], source: object, **own: object) -> dict[str, Any]:
    """The fields of a view: its own, and the attributes of the same names that a source has."""
    return {name: own[name] if name in own else getattr(source, name) for name in view.model_fields}


class ErrorFields(Out):
    """A word for programs and a sentence for people."""

    code: str
    message: str


class ErrorBody(Out):
    """The shape of every error."""

    error: ErrorFields


_SENTENCES = {
    400: "The body cannot be read.",
    401: "The token is missing or wrong.",
    404: "There is no such thing.",
    406: "No known type of answer is accepted.",
    408: "The body came too slowly.",
    409: "The name is taken or ambiguous, or the budget does not suffice.",
    410: "The release was retired.",
    413: "The body is too large, or has too many points.",
    415: "The type of the body is not known.",
    422: "An argument is wrong; the message says which.",
    500: "A bug of the service.",
    503: "Busy, or a store does not answer; try again.",
}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The error responses of a route, beside those that every route has."""
    return {
        status: {"model": ErrorBody, "description": _SENTENCES[status]}
        for status in sorted({*statuses, 408, 413, 422, 500, 503})
    }


class Health(Out):
    """Whether the service works."""

    status: Literal["ok"]
    version: str
    releases: int


class ReleaseSummary(Out):
    """A release in a list."""

    name: str
    kind: str
    live: bool
    title: str
    dimension: int
    columns: list[str]
    bounds: list[tuple[float, float]]
    promise: str
    private: bool


class ReleaseList(Out):
    """All releases, by name."""

    releases: list[ReleaseSummary]


class StatementView(Out):
    """What was promised."""

    words: str
    epsilon: float
    delta: float
    unit: str
    n: int
    mechanism: str
    neighbours: str
    version: str
    attack: str


class AccuracyView(Out):
    """Error due to privacy."""

    words: str
    pointwise: float | None
    integrated: float | None
    coordinates: int | None
    resolution: float | None


class SmoothingView(Out):
    """Whether the bandwidth can be chosen, and between which ends."""

    free: bool
    bandwidth: list[float] | None
    finest: list[float] | None
    widest: list[float] | None


class Downloads(Out):
    """Addresses of files."""

    release: str | None


class FindingView(Out):
    """Something that a release itself tells of its records."""

    kind: str
    words: str


class Details(ReleaseSummary):
    """All that is public of a release."""

    statement: StatementView
    accuracy: AccuracyView
    findings: list[FindingView]
    smoothing: SmoothingView
    dataset: str | None
    answers: int | None
    downloads: Downloads


class Curve(Out):
    """A curve with its band, for drawing."""

    x: list[float]
    values: list[float]
    lower: list[float]
    upper: list[float]
    level: float
    bandwidth: float | None


class MapView(Out):
    """A map of two columns: values[i][j] at x[i], y[j]."""

    x: list[float]
    y: list[float]
    values: list[list[float]]
    standard_error: float | None
    bandwidth: list[float] | None


class ChargeView(Out):
    """A release as the ledger remembers it."""

    number: int
    time: str
    what: str
    epsilon: float
    delta: float


class Left(Out):
    """What remains, what is spent, and what would still be accepted."""

    epsilon: float = Field(description="the largest epsilon of a pure release that still fits")
    delta: float = Field(description="what remains of delta where releases' deltas are added up")
    share_used: float = Field(description="0: nothing is used, 1: all is used")
    spent_epsilon: float
    spent_delta: float
    pure: float = Field(description="the same as epsilon")
    gaussian: float = Field(description="the largest epsilon of a Gaussian release, at at_delta")
    at_delta: float


class DatasetView(Out):
    """A dataset's total, what was charged to it, and what is left."""

    name: str
    epsilon: float = Field(description="the total; left.epsilon is what remains")
    delta: float = Field(description="the total; left.delta is what remains")
    unit: str
    charges: list[ChargeView]
    left: Left
    words: str
