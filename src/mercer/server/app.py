"""The application: routes, errors and the guard put together; the page and the API's description.

The page, its scripts and styles are in the package: nothing is fetched from elsewhere.  FastAPI
writes the description of all routes but that of values, which is written here by hand.
"""

from __future__ import annotations

import html
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import resources
from typing import Any

import orjson
from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from mercer.common import __version__
from mercer.server.answering import Answers
from mercer.server.entries import errors
from mercer.server.guard import First, Guard, PlainRoute, Refusal, handle_errors
from mercer.server.owner import owner_routes
from mercer.server.public import public_routes
from mercer.server.settings import Settings
from mercer.server.values import PATH, values_route

__all__ = ["create_app"]

_ABOUT = (
    "Releases with differential privacy: look at them, ask for values, read what was promised. "
    "Every error is {error: {code, message}}."
)
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}


def create_app(settings: Settings) -> FastAPI:
    """The service as an ASGI application; ValueError where it cannot start."""
    answers = Answers(settings)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        await run_in_threadpool(answers.close)

    app = FastAPI(
        title="Mercer",
        version=__version__,
        description=_ABOUT,
        lifespan=lifespan,
        docs_url=None,
        openapi_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.answers = answers
    handle_errors(app)
    busiest = values_route(answers)
    app.router.routes.append(busiest)  # here for its other methods
    app.include_router(public_routes(answers))
    if settings.token is not None:
        app.include_router(owner_routes(answers))
    app.router.routes.extend(_page_routes(app))
    app.add_middleware(First, route=busiest)
    app.add_middleware(Guard, settings=settings)
    _describe(app)
    return app


def _describe(app: FastAPI) -> None:
    """Add the routes that are not FastAPI's to the description."""
    plain = app.openapi

    def whole() -> dict[str, Any]:
        if app.openapi_schema is None:
            _add_values(plain())
        assert app.openapi_schema is not None
        return app.openapi_schema

    app.openapi = whole  # type: ignore[method-assign]


_NUMBER_LIST = {"type": "array", "items": {"type": "number"}}
_POINTS = {
    "anyOf": [
        {**_NUMBER_LIST, "minItems": 1},
        {"type": "array", "minItems": 1, "items": {**_NUMBER_LIST, "minItems": 1, "maxItems": 3}},
    ]
}
_BANDWIDTH = {
    "anyOf": [
        {"type": "number", "exclusiveMinimum": 0},
        {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 1, "maxItems": 3},
        {"type": "null"},
    ],
    "description": "Smooth more, free; in the units of the data. Not for live releases.",
}
_LEVEL = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}
_QUESTION = {
    "type": "object",
    "title": "Question",
    "required": ["points"],
    "additionalProperties": False,
    "properties": {
        "points": _POINTS,
        "bandwidth": _BANDWIDTH,
        "raw": {"type": "boolean", "default": False},
        "band": {"anyOf": [_LEVEL, {"type": "null"}], "description": "Level of an error band."},
        "simultaneous": {"type": "boolean", "default": True},
    },
}
_ENDS = {"anyOf": [_NUMBER_LIST, {"type": "null"}]}
_ANSWER = {
    "type": "object",
    "title": "Values",
    "required": ["points", "values", "lower", "upper"],
    "additionalProperties": False,
    "properties": {
        "points": {
            "anyOf": [_NUMBER_LIST, {"type": "array", "items": _NUMBER_LIST}],
            "description": "As they were asked.",
        },
        "values": _NUMBER_LIST,
        "lower": _ENDS,
        "upper": _ENDS,
    },
}


def _add_values(openapi: dict[str, Any]) -> None:
    """Add the two operations to a description that has the shape of errors already."""
    schemas = openapi["components"]["schemas"]
    schemas["Question"], schemas["Values"] = _QUESTION, _ANSWER
    text = {"schema": {"type": "string"}}
    name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
    replies: dict[str, Any] = {
        "200": {
            "description": "Values at the points, with a band if one was asked for.",
            "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/Values"}},
                "text/csv": text,
            },
        }
    }
    refused = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}}
    for status, fields in errors(400, 404, 409, 410, 415).items():
        replies[str(status)] = {"description": fields["description"], "content": refused}
    wanted = {"type": "string", "enum": ["json", "csv"]}
    options = [
        _parameter("bandwidth", {"type": "string"}, "A number, or one a column with commas."),
        _parameter("raw", {"type": "boolean"}, "The function as released, not a density."),
        _parameter("band", _LEVEL, "Level of an error band."),
        _parameter("simultaneous", {"type": "boolean"}, "A band that holds everywhere at once."),
        _parameter("format", wanted, "Type of the answer."),
    ]
    at = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    openapi["paths"][PATH] = {
        "post": {
            "summary": "Values at points",
            "description": "JSON or CSV in and out. With CSV in, the options go in the address.",
            "operationId": "values",
            "tags": ["releases"],
            "parameters": [name, *options],
            "requestBody": {
                "required": True,
                "content": {
                    "application/json": {"schema": {"$ref": "#/components/schemas/Question"}},
                    "text/csv": text,
                },
            },
            "responses": replies,
        },
        "get": {
            "summary": "Values at a few points",
            "description": "at=1&at=2 for one column, at=1,2 for two.",
            "operationId": "values_at",
            "tags": ["releases"],
            "parameters": [
                name,
                {"name": "at", "in": "query", "required": True, "schema": at, "explode": True},
                *options,
            ],
            "responses": replies,
        },
    }


def _parameter(name: str, schema: dict[str, Any], words: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": words}


def _page_routes(app: FastAPI) -> list[PlainRoute]:
    """The routes `/`, `/assets/…`, `/docs` and `/openapi.json`."""
    files = _assets()
    pages: dict[str, bytes] = {}  # made when they are first asked for

    async def index(_request: Request) -> Response:
        if "index.html" not in files:
            raise Refusal(404, "not_found", "this copy has no page; GET /docs describes the API")
        return _file("index.html", files["index.html"])

    async def asset(request: Request) -> Response:
        path = request.path_params["path"]
        if path not in files:  # a table of names: no path is ever put together
            raise Refusal(404, "not_found", "there is no such file of the page")
        return _file(path, files[path])

    async def docs(_request: Request) -> Response:
        if "docs" not in pages:
            pages["docs"] = _docs(app.openapi()).encode()
        return Response(pages["docs"], media_type=_TYPES[".html"])

    async def description(_request: Request) -> Response:
        if "openapi" not in pages:
            pages["openapi"] = orjson.dumps(app.openapi())
        return Response(pages["openapi"], media_type=_TYPES[".json"])

    return [
        PlainRoute("/", index, methods=["GET"]),
        PlainRoute("/assets/{path:path}", asset, methods=["GET"]),
        PlainRoute("/docs", docs, methods=["GET"]),
        PlainRoute("/openapi.json", description, methods=["GET"]),
    ]


def _assets() -> dict[str, bytes]:
    """The contents of all files of the page, by path."""
    root = resources.files("mercer.server") / "assets"
    found: dict[str, bytes] = {}

    def walk(folder: Any, prefix: str) -> None:
        for item in folder.iterdir():
            if item.is_dir():
                walk(item, f"{prefix}{item.name}/")
            elif os.path.splitext(item.name)[1] in _TYPES:  # noqa: PTH122
                found[prefix + item.name] = item.read_bytes()

    if root.is_dir():
        walk(root, "")
    return found


def _file(name: str, content: bytes) -> Response:
    kind = _TYPES[os.path.splitext(name)[1]]  # noqa: PTH122
    return Response(content, media_type=kind, headers={"Cache-Control": "no-cache"})


def _docs(openapi: dict[str, Any]) -> str:
    """The description of the API as an HTML page without scripts."""
    text = html.escape
    parts = []
    for path, operations in openapi["paths"].items():
        for method, one in operations.items():
            about = one.get("description") or one.get("summary", "")
            rows = "".join(
                f"<tr><td><code>{text(p['name'])}</code></td><td>{text(p['in'])}</td>"
                f"<td>{text(p.get('description', ''))}</td></tr>"
                for p in one.get("parameters", [])
            )
            replies = "".join(
                f"<tr><td>{text(status)}</td><td>{text(reply.get('description', ''))}</td></tr>"
                for status, reply in one["responses"].items()
            )
            parts.append(
                f"<section><h2><b>{text(method.upper())}</b> <code>{text(path)}</code></h2>"
                f"<p>{text(about)}</p>"
                + (f"<table>{rows}</table>" if rows else "")
                + f"<details><summary>Answers</summary><table>{replies}</table></details></section>"
            )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        '<title>Mercer: the API</title><link rel="stylesheet" href="/assets/docs.css"></head>'
        f"<body><main><h1>{text(openapi['info']['title'])}</h1>"
        f"<p>{text(openapi['info'].get('description', ''))} For machines: "
        f'<a href="/openapi.json">openapi.json</a>.</p>{"".join(parts)}</main></body></html>'
    )
