"""What goes in and out, for the API's own description and for checks."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "Curve",
    "DatasetView",
    "Details",
    "ErrorBody",
    "Health",
    "MapView",
    "Out",
    "ReleaseList",
    "ReleaseSummary",
    "errors",
]


class Out(BaseModel):
    """What goes out has these fields and no others."""

    model_config = ConfigDict(extra="forbid")


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
