"""The busiest route: values at points.

A plain Starlette route with orjson; FastAPI's validation would cost more than the values.  The
description of it, which FastAPI writes for the other routes, is written here by hand.
"""

from __future__ import annotations

from typing import Any

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from mercer.server.answering import Answers, Values
from mercer.server.entries import Entry, errors
from mercer.server.guard import PlainRoute, Refusal
from mercer.server.questions import ValuesRequest, csv_answer, from_csv, from_json, from_query

__all__ = ["PATH", "described", "values_route"]

PATH = "/api/releases/{name}/values"
_LARGE = 1 << 16  # bytes of a body that is parsed in a thread
_OPTIONS = ("bandwidth", "raw", "band", "simultaneous", "format")


def values_route(answers: Answers) -> PlainRoute:
    """POST and GET of values."""

    async def post(request: Request) -> Response:
        kind = _content_type(request)
        options = _options(request, "at")
        entry = await answers.find(request.path_params["name"])
        body = await _body(request)
        most, domain = answers.settings.points, entry.domain

        def parse() -> ValuesRequest:
            if kind == "json":
                return from_json(body, domain, most)
            return from_csv(body, options, domain, most)

        question = parse() if len(body) <= _LARGE else await answers.work.run(parse)
        return await _answered(answers, request, entry, question, options)

    async def get(request: Request) -> Response:
        options = _options(request)
        entry = await answers.find(request.path_params["name"])
        at = request.query_params.getlist("at")
        question = from_query(at, options, entry.domain, answers.settings.points)
        return await _answered(answers, request, entry, question, options)

    async def either(request: Request) -> Response:
        return await (post if request.method == "POST" else get)(request)

    return PlainRoute(PATH, either, methods=["GET", "POST"])


async def _body(request: Request) -> bytes:
    """All of the body; the guard has counted it."""
    message = await request.receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body", False):
        message = await request.receive()
        body += message.get("body", b"")
    if message["type"] == "http.disconnect":
        raise ClientDisconnect
    return body


async def _answered(
    answers: Answers, request: Request, entry: Entry, question: ValuesRequest, options: dict[str, str]
) -> Response:
    as_csv = _wants_csv(request, options)
    found = await answers.values(entry, question)
    rows = len(question.rows)

    def render() -> bytes:
        if as_csv:
            columns = {"value": found.values, "lower": found.lower, "upper": found.upper}
            return csv_answer(entry.domain, columns, question.rows)
        return _json(found, question)

    body = render() if rows <= answers.settings.light else await answers.work.run(render)
    kind = "text/csv; charset=utf-8" if as_csv else "application/json"
    return Response(body, media_type=kind)


def _json(found: Values, question: ValuesRequest) -> bytes:
    points = question.rows if question.nested else question.rows[:, 0]
    fields = {
        "points": points.tolist(),
        "values": found.values.tolist(),
        "lower": None if found.lower is None else found.lower.tolist(),
        "upper": None if found.upper is None else found.upper.tolist(),
    }
    return orjson.dumps(fields)


def _content_type(request: Request) -> str:
    given = request.headers.get("content-type", "").split(";", 1)[0].strip().lower()
    if given == "application/json" or (given.startswith("application/") and given.endswith("+json")):
        return "json"
    if given == "text/csv":
        return "csv"
    raise Refusal(415, "content_type", "Content-Type must be application/json or text/csv for points")


def _wants_csv(request: Request, options: dict[str, str]) -> bool:
    wanted = options.get("format")
    if wanted is None:
        return request.headers.get("accept", "").strip().lower().startswith("text/csv")
    if wanted not in ("json", "csv"):
        raise Refusal(422, "invalid", "'format' must be json or csv")
    return wanted == "csv"


def _options(request: Request, *unknown: str) -> dict[str, str]:
    if not request.scope["query_string"]:
        return {}
    out: dict[str, str] = {}
    for key, value in request.query_params.multi_items():
        if key == "at" and key not in unknown:
            continue
        if key not in _OPTIONS:
            raise Refusal(
                422, "invalid", f"{key[:40]!r} is not known here; known are at, {', '.join(_OPTIONS)}"
            )
        if key in out:
            raise Refusal(422, "invalid", f"{key!r} must be given once")
        out[key] = value
    return out


_NUMBERS = {"type": "array", "items": {"type": "number"}}
_POINTS = {
    "anyOf": [
        {**_NUMBERS, "minItems": 1},
        {"type": "array", "minItems": 1, "items": {**_NUMBERS, "minItems": 1, "maxItems": 3}},
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
_ENDS = {"anyOf": [_NUMBERS, {"type": "null"}]}
_ANSWER = {
    "type": "object",
    "title": "Values",
    "required": ["points", "values", "lower", "upper"],
    "additionalProperties": False,
    "properties": {
        "points": {
            "anyOf": [_NUMBERS, {"type": "array", "items": _NUMBERS}],
            "description": "As they were asked.",
        },
        "values": _NUMBERS,
        "lower": _ENDS,
        "upper": _ENDS,
    },
}


def described(openapi: dict[str, Any]) -> None:
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
