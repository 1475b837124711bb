"""The public side: the list of releases, their statements and files, curves and maps."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Annotated, Any

import numpy as np
import orjson
from fastapi import APIRouter, Query, Request
from starlette.responses import Response, StreamingResponse

from mercer.common import __version__
from mercer.server import entries
from mercer.server.answering import Answers, Values, ValuesRequest
from mercer.server.entries import Entry, LiveEntry, StoredEntry, accuracy_of, errors, summary_of
from mercer.server.guard import Refusal, later, mercer_errors, wrong
from mercer.server.records import Budgets
from mercer.server.values import widths_of

__all__ = ["details_of", "json_response", "public_routes"]

_LIVE_POINTS = 401
Level = Annotated[float, Query(gt=0, lt=1, allow_inf_nan=False)]
Bandwidth = Annotated[str | None, Query(description="A number, or one a column with commas.")]
_TEXT = {"content": {"text/plain": {"schema": {"type": "string"}}}}


def public_routes(answers: Answers) -> APIRouter:
    """All routes that need no token, except those of values and pages."""
    router = APIRouter(tags=["releases"])
    budgets = Budgets(answers.settings.ledger_place)

    @router.get("/health", response_model=entries.Health, responses=errors(), tags=["service"])
    async def health() -> Response:
        """Whether the service and its stores answer."""
        if not await answers.look() or answers.catalogue.lost:
            raise later("store", "a store of live releases does not answer; stored releases do", 5)
        count = len(answers.catalogue.entries())
        return json_response({"status": "ok", "version": __version__, "releases": count})

    @router.get("/api/releases", response_model=entries.ReleaseList, responses=errors())
    async def releases() -> Response:
        """All releases, by name."""
        await answers.look()
        return json_response({"releases": [summary_of(entry) for entry in answers.catalogue.entries()]})

    @router.get("/api/releases/{name}", response_model=entries.Details, responses=errors(404, 409, 410))
    async def release(name: str, bandwidth: Bandwidth = None) -> Response:
        """What a release is, what it promises and how accurate it is (at a bandwidth, if given)."""
        entry = await answers.find(name)
        widths = widths_of(bandwidth, entry.domain.dimension)
        fields = await details_of(answers, entry)
        if widths is not None:
            fields["accuracy"] = await _accuracy_at(answers, entry, widths)
        return json_response(fields)

    @router.get(
        "/api/releases/{name}/statement",
        responses={200: _TEXT | {"model": entries.StatementView}, **errors(404, 409, 410)},
    )
    async def statement(name: str, request: Request) -> Response:
        """What was promised, in words; in numbers with Accept: application/json."""
        entry = await answers.find(name)
        with mercer_errors():
            fields = await answers.work.run(lambda: _fields(entry)["statement"])
        if "application/json" in request.headers.get("accept", "").lower():
            return json_response(fields)
        return Response(f"{fields['words']}\n{fields['attack']}\n", media_type="text/plain")

    @router.get(
        "/api/releases/{name}/file",
        response_class=Response,
        responses={
            200: {"content": {"application/json": {"schema": {"type": "object"}}}},
            **errors(404, 409, 410),
        },
    )
    async def file(name: str) -> Response:
        """The release file, to keep and to read with mercer.load."""
        entry = await answers.find(name)
        if isinstance(entry, LiveEntry):
            raise Refusal(404, "no_file", f"release {name!r} is live: it answers questions and has no file")
        with mercer_errors():
            chunks = await answers.work.run(lambda: _open(entry))
        headers = {
            "Content-Disposition": f'attachment; filename="{name}.json"',
            "Content-Length": str(entry.signature[1]),
        }
        return StreamingResponse(chunks, headers=headers, media_type="application/json")

    @router.get("/api/releases/{name}/curve", response_model=entries.Curve, responses=errors(404, 409, 410))
    async def curve(
        name: str,
        start: Annotated[float | None, Query(alias="from", allow_inf_nan=False)] = None,
        end: Annotated[float | None, Query(alias="to", allow_inf_nan=False)] = None,
        count: Annotated[int, Query(ge=2, le=2001)] = 401,
        bandwidth: Bandwidth = None,
        level: Level = 0.95,
    ) -> Response:
        """A release of one column at even points, with its band."""
        entry = await answers.find(name)
        _check_columns(entry, 1, "curve")
        x = _ticks(entry, 0, (start, end), count, ("from", "to"))
        if isinstance(entry, LiveEntry) and count > _LIVE_POINTS:
            raise wrong(
                f"'count' must be at most {_LIVE_POINTS} for a live release, whose answers are stored", "live"
            )
        widths = widths_of(bandwidth, 1)
        question = ValuesRequest(x[:, None], bandwidth=widths, band=level)
        found = await answers.values(entry, question)
        assert found.lower is not None
        assert found.upper is not None
        return json_response(
            {
                "x": x.tolist(),
                "values": found.values.tolist(),
                "lower": found.lower.tolist(),
                "upper": found.upper.tolist(),
                "level": level,
                "bandwidth": _width(entry, widths),
            }
        )

    @router.get("/api/releases/{name}/map", response_model=entries.MapView, responses=errors(404, 409, 410))
    async def map_view(
        name: str,
        x_from: Annotated[float | None, Query(allow_inf_nan=False)] = None,
        x_to: Annotated[float | None, Query(allow_inf_nan=False)] = None,
        y_from: Annotated[float | None, Query(allow_inf_nan=False)] = None,
        y_to: Annotated[float | None, Query(allow_inf_nan=False)] = None,
        side: Annotated[int, Query(ge=2, le=301)] = 101,
        bandwidth: Bandwidth = None,
    ) -> Response:
        """A release of two columns on an even grid; values[i][j] is at x[i], y[j]."""
        entry = await answers.find(name)
        _check_columns(entry, 2, "map")
        if isinstance(entry, LiveEntry):
            side = min(side, 20)
        x = _ticks(entry, 0, (x_from, x_to), side, ("x_from", "x_to"))
        y = _ticks(entry, 1, (y_from, y_to), side, ("y_from", "y_to"))
        widths = widths_of(bandwidth, 2)
        if isinstance(entry, LiveEntry):
            rows = np.stack(np.meshgrid(x, y, indexing="ij"), -1).reshape(-1, 2)
            found = await answers.values(entry, ValuesRequest(rows, bandwidth=widths))
            values, spread, used = found.values.reshape(len(x), len(y)), None, None
        else:
            stored = entry
            values, spread, used = await answers.work.run(lambda: _grid(answers, stored, x, y, widths))
        fields = {"x": x.tolist(), "y": y.tolist(), "values": values.tolist()}
        return json_response({**fields, "standard_error": spread, "bandwidth": used})

    @router.get(
        "/api/datasets/{name}", response_model=entries.DatasetView, responses=errors(404), tags=["datasets"]
    )
    async def dataset(name: str) -> Response:
        """What was charged to a dataset, and what is left of its total."""

        def view() -> dict[str, Any]:
            with mercer_errors():
                return budgets.view(name)

        return json_response(await answers.work.run(view))

    return router


async def details_of(answers: Answers, entry: Entry) -> dict[str, Any]:
    """All that is public of a release, the dataset it was charged to included."""
    with mercer_errors():
        fields = await answers.work.run(lambda: _fields(entry))
    return {**fields, "dataset": answers.catalogue.known.datasets.get(entry.name)}


async def _accuracy_at(answers: Answers, entry: Entry, widths: tuple[float, ...]) -> dict[str, Any]:
    if isinstance(entry, LiveEntry):
        raise wrong(
            "'bandwidth' cannot be given for a live release: its answers cannot be smoothed; leave it out",
            "live",
        )
    stored = entry

    def compute() -> dict[str, Any]:
        release = answers.smoothed(stored, widths)
        with mercer_errors(), stored.lock:
            return accuracy_of(release.accuracy)

    return await answers.work.run(compute)


def _fields(entry: Entry) -> dict[str, Any]:
    return entry.details() if isinstance(entry, LiveEntry) else entry.details


def _grid(
    answers: Answers, entry: StoredEntry, x: Any, y: Any, widths: tuple[float, ...] | None
) -> tuple[Any, float, list[float]]:
    release = answers.smoothed(entry, widths)
    with mercer_errors():
        values = Values(release.grid(x, y)).values
        return values, float(release.accuracy.pointwise), release.bandwidth.tolist()


def _check_columns(entry: Entry, wanted: int, what: str) -> None:
    d = entry.domain.dimension
    if d != wanted:
        other = {1: "its curve", 2: "its map", 3: "POST values, for curve and map show one or two columns"}[d]
        words = {1: "one column", 2: "two columns"}[wanted]
        raise wrong(f"a {what} shows {words}, release {entry.name!r} has {d}; ask for {other}", "columns")


def _ticks(
    entry: Entry, axis: int, ends: tuple[float | None, float | None], count: int, words: tuple[str, str]
) -> Any:
    low, high = entry.domain.bounds[axis]
    start, end = (low if ends[0] is None else ends[0]), (high if ends[1] is None else ends[1])
    if isinstance(entry, LiveEntry) and (start, end) != (low, high):
        raise wrong(
            f"{words[0]!r} and {words[1]!r} cannot be given for a live release: its "
            "curve is asked once for the whole domain; leave them out, or ask for values",
            "live",
        )
    if not low <= start < end <= high:
        raise wrong(
            f"{words[0]!r} must be below {words[1]!r}, both in the domain {entry.domain.describe()}",
            "out_of_domain",
        )
    return np.clip(np.linspace(start, end, count), start, end)


def _width(entry: Entry, widths: tuple[float, ...] | None) -> float | None:
    if isinstance(entry, LiveEntry):
        return None
    return float(entry.release.bandwidth[0]) if widths is None else widths[0]


def _open(entry: StoredEntry) -> Iterator[bytes]:
    """The bytes of the file that was read and checked, not of one put in its place."""
    file = entry.path.open("rb")  # closed by the generator
    about = os.fstat(file.fileno())
    if (about.st_ino, about.st_size, about.st_mtime_ns) != entry.signature:
        file.close()
        raise later("changed", "the file is being replaced; try again", 1)

    def chunks() -> Iterator[bytes]:
        with file:
            while chunk := file.read(1 << 18):
                yield chunk

    return chunks()


def json_response(fields: Any, status: int = 200) -> Response:
    """A response with these fields as JSON."""
    return Response(orjson.dumps(fields), status, media_type="application/json")
