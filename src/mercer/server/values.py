"""The busiest route: values at points.  What is asked is parsed and checked, then answered.

A plain Starlette route with orjson; FastAPI's validation would cost more than the values.  Bodies
are JSON or CSV; small questions fit in an address.  Numbers are finite, here and in every answer.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from mercer.columns.domain import Box
from mercer.common.checks import Floats
from mercer.server.answering import Answers, Values, ValuesRequest
from mercer.server.entries import Entry
from mercer.server.guard import PlainRoute, Refusal, wrong

__all__ = ["PATH", "values_route", "widths_of"]

PATH = "/api/releases/{name}/values"
_LARGE = 1 << 16  # bytes of a body that is parsed in a thread
_OPTIONS = ("bandwidth", "raw", "band", "simultaneous", "format")
_NUMBERS = frozenset((int, float))
_FIELDS = ("points", "bandwidth", "raw", "band", "simultaneous")
_NUMBER = re.compile(r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?$", re.ASCII)
_WORDS = {"true": True, "false": False, "1": True, "0": False}


def values_route(answers: Answers) -> PlainRoute:
    """The route for POST and GET of values."""

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
    """The whole body, whose size the guard limits."""
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
        raise wrong("'format' must be json or csv")
    return wanted == "csv"


def _options(request: Request, *unknown: str) -> dict[str, str]:
    if not request.scope["query_string"]:
        return {}
    out: dict[str, str] = {}
    for key, value in request.query_params.multi_items():
        if key == "at" and key not in unknown:
            continue
        if key not in _OPTIONS:
            raise wrong(f"{key[:40]!r} is not known here; known are at, {', '.join(_OPTIONS)}")
        if key in out:
            raise wrong(f"{key!r} must be given once")
        out[key] = value
    return out


def from_json(body: bytes, domain: Box, most: int) -> ValuesRequest:
    """Parse a request in JSON; a refusal names what is wrong."""
    try:
        fields = orjson.loads(body)
    except ValueError:
        raise Refusal(400, "not_json", 'the body must be JSON (RFC 8259) like {"points": [1, 2]}') from None
    if type(fields) is not dict or "points" not in fields:
        raise _wrong("points", 'is missing; the body must be an object like {"points": [1, 2]}')
    points = fields["points"]
    if len(fields) > 1:
        unknown = [name for name in fields if name not in _FIELDS]
        if unknown:
            raise _wrong(unknown[0][:40], f"is not a known field; known are {', '.join(_FIELDS)}")
    if type(points) is not list:
        raise _wrong("points", "must be a list of numbers, or of one list of numbers a point")
    _check_count(len(points), most)
    d = domain.dimension
    kinds = set(map(type, points))
    nested = kinds == {list}
    if nested:
        if set(map(len, points)) != {d}:
            raise _wrong("points", f"must have {d} number(s) each: {', '.join(domain.names)}")
        kinds = set(map(type, chain.from_iterable(points)))
    elif d > 1:
        raise _wrong("points", f"must be lists of {d} numbers each: {', '.join(domain.names)}")
    if not kinds <= _NUMBERS:
        raise _wrong("points", "must be numbers; null, text and true are none")
    rows = np.array(points, dtype=float).reshape(len(points), d)
    return ValuesRequest(
        _inside(rows, domain),
        bandwidth=_bandwidth(fields.get("bandwidth"), d),
        raw=_truth("raw", fields.get("raw", False)),
        band=_level(fields.get("band")),
        simultaneous=_truth("simultaneous", fields.get("simultaneous", True)),
        nested=nested,
    )


def from_csv(body: bytes, options: Mapping[str, str], domain: Box, most: int) -> ValuesRequest:
    """Parse a request in CSV: a header with the columns' names, then one line a point."""
    try:
        text = body.decode("utf-8-sig")
        lines = [line for line in csv.reader(io.StringIO(text), strict=True) if line]
    except (UnicodeDecodeError, csv.Error):
        raise Refusal(400, "not_csv", "the body must be CSV in UTF-8; it cannot be read") from None
    names = list(domain.names)
    head = [name.strip() for name in lines[0]] if lines else []
    if not lines:
        raise Refusal(400, "not_csv", "the body is empty; send CSV with a header and a line a point")
    if sorted(head) != sorted(names):
        raise _wrong("header", f"must be a first line with the release's columns: {','.join(names)}")
    _check_count(len(lines) - 1, most)
    order = [head.index(name) for name in names]
    if any(len(line) != len(names) for line in lines):
        raise _wrong("points", f"must have {len(names)} number(s) on each line")
    rows = np.array([[_number("points", line[i]) for i in order] for line in lines[1:]])
    return _with_options(_inside(rows.reshape(-1, len(names)), domain), options, domain)


def from_query(at: Sequence[str], options: Mapping[str, str], domain: Box, most: int) -> ValuesRequest:
    """Parse a request in an address: at=1&at=2, or at=1,2 for two columns."""
    if not at:
        raise _wrong("at", "is missing; give points like ?at=1&at=2, with commas between columns")
    _check_count(len(at), most)
    d = domain.dimension
    points = [[_number("at", part) for part in text.split(",")] for text in at]
    if any(len(point) != d for point in points):
        raise _wrong("at", f"must have {d} number(s) each: {','.join(domain.names)}")
    return _with_options(_inside(np.array(points, dtype=float), domain), options, domain)


def csv_answer(domain: Box, columns: Mapping[str, Floats | None], rows: Floats) -> bytes:
    """Points and values as CSV, one line a point."""
    given = {name: values for name, values in columns.items() if values is not None}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*domain.names, *given])
    writer.writerows(np.column_stack([rows, *given.values()]).tolist())
    return out.getvalue().encode()


def widths_of(text: str | None, dimension: int) -> tuple[float, ...] | None:
    """Parse a bandwidth in an address: one number, or one a column with commas between."""
    if text is None or text == "":
        return None
    return _bandwidth([_number("bandwidth", part) for part in text.split(",")], dimension)


def _with_options(rows: Floats, options: Mapping[str, str], domain: Box) -> ValuesRequest:
    band = options.get("band")
    return ValuesRequest(
        rows,
        bandwidth=widths_of(options.get("bandwidth"), domain.dimension),
        raw=_word("raw", options.get("raw", "false")),
        band=None if band is None else _level(_number("band", band)),
        simultaneous=_word("simultaneous", options.get("simultaneous", "true")),
        nested=domain.dimension > 1,
    )


def _inside(rows: Floats, domain: Box) -> Floats:
    try:
        return domain.points(rows)
    except ValueError as error:
        raise wrong("points: " + str(error), "out_of_domain") from None


def _check_count(count: int, most: int) -> None:
    if count > most:
        raise Refusal(
            413,
            "too_many_points",
            f"points must be at most {most} a request, got {count}; send several requests",
        )
    if count < 1:
        raise _wrong("points", "must be at least one")


def _bandwidth(value: Any, dimension: int) -> tuple[float, ...] | None:
    if value is None:
        return None
    parts = value if type(value) is list else [value]
    if len(parts) not in (1, dimension) or not set(map(type, parts)) <= _NUMBERS:
        raise _wrong("bandwidth", f"must be a number, or a list of {dimension} number(s)")
    if not all(0 < part < 1e300 for part in parts):
        raise _wrong("bandwidth", "must be above 0; it is in the units of the data")
    return tuple(float(part) for part in parts) * (dimension if len(parts) == 1 else 1)


def _level(value: Any) -> float | None:
    if value is None:
        return None
    if type(value) not in _NUMBERS or not 0 < value < 1:
        raise _wrong("band", "must be a level between 0 and 1, or null for no band; 0.95 is usual")
    return float(value)


def _truth(name: str, value: Any) -> bool:
    if type(value) is not bool:
        raise _wrong(name, "must be true or false")
    return value


def _word(name: str, value: str) -> bool:
    if value not in _WORDS:
        raise _wrong(name, "must be true or false")
    return _WORDS[value]


def _number(name: str, text: str) -> float:
    text = text.strip()
    if not _NUMBER.match(text):
        raise _wrong(name, "must be numbers like 1, -2.5 or 3e4")
    return float(text)


def _wrong(name: str, words: str) -> Refusal:
    return wrong(f"{name!r} {words}")
