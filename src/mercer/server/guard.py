"""The guard that every request passes, and the one form of all errors.

The guard is plain ASGI, outside of the framework: nothing gets past it, an unexpected error
included.  It asks for the token, counts bodies, adds headers and writes the log, which holds
method, route template, status, time and sizes; never a query, a point, a name or a token.

Messages of Mercer's errors name arguments and public parameters, so they may be shown; any other
error is answered with a plain sentence, and logged by its type and place only.
"""

from __future__ import annotations

import asyncio
import errno
import hmac
import logging
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import orjson
from fastapi import FastAPI, HTTPException
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mercer.ledger.ledger import BudgetExceeded, LedgerError
from mercer.online.store import LiveError, LiveFull, LiveUnavailable
from mercer.server.settings import Settings

__all__ = [
    "First",
    "Guard",
    "PlainRoute",
    "Refusal",
    "busy",
    "error_body",
    "handle_errors",
    "later",
    "mercer_errors",
    "wrong",
]

_LOG = logging.getLogger("mercer.server")
_WORDS = {
    404: ("not_found", "there is nothing at this address; GET /docs lists what there is"),
    405: ("method_not_allowed", "this address has no such method; GET /docs lists what there is"),
}
_ACCESS = logging.getLogger("mercer.access")
_HEADERS = (
    (
        b"content-security-policy",
        b"default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)
_OWNER = "/api/owner"
_UPLOADS = "/api/owner/data/"


class PlainRoute(Route):
    """A route outside of FastAPI whose template the log can name."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, found = super().matches(scope)
        return match, {**found, "route": self}


class First:
    """Answers the busiest route before the framework; the guard answers its errors."""

    def __init__(self, app: ASGIApp, route: PlainRoute) -> None:
        self._app, self._route = app, route

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match, found = self._route.matches(scope)
        if match is not Match.FULL:
            await self._app(scope, receive, send)
            return
        scope.update(found)
        response = await self._route.endpoint(Request(scope, receive))
        await response(scope, receive, send)


class Guard:
    """The outermost layer of the service: token, limits, headers, errors and the access log."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self._token = None if settings.token is None else settings.token.encode()
        self._under_way = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1000})
                return
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(self._settings, scope, receive, send)
        app = self._app if self._under_way < self._settings.requests else _refuse_all
        self._under_way += 1
        try:
            await exchange.run(app, self._token)
        finally:
            self._under_way -= 1


async def _refuse_all(_scope: Scope, _receive: Receive, _send: Send) -> None:
    raise busy("too many requests are under way; send it again in a moment")


class _Exchange:
    """One request with its answer: admission, counting, headers and the log line."""

    def __init__(self, settings: Settings, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        path = scope["path"]
        self._owner = path == _OWNER or path.startswith(_OWNER + "/")
        self._upload = path.startswith(_UPLOADS) and scope["method"] == "PUT"
        self._limit = settings.upload_bytes if self._upload else settings.body_bytes
        self._patience = settings.body_seconds
        self._deadline: float | None = None
        self._ended = False  # the body was read to its end
        self._bytes_in = self._bytes_out = self._status = 0

    async def run(self, app: ASGIApp, token: bytes | None) -> None:
        start = perf_counter()
        try:
            self._admit(token)
            await app(self._scope, self.receive, self.send)
        except Refusal as refusal:
            await self._refuse(refusal.status_code, refusal.code, str(refusal.detail), refusal.headers)
        except ClientDisconnect:
            pass
        except Exception as error:
            _log_unexpected(error)
            words = "something went wrong in the service; the request was not finished"
            await self._refuse(500, "internal", words)
        finally:
            self._log(perf_counter() - start)

    def _admit(self, token: bytes | None) -> None:
        if self._owner:
            if token is None:
                raise Refusal(404, "not_found", "this service has no owner side")
            if not hmac.compare_digest(_bearer(self._scope["headers"]), token):
                raise Refusal(
                    401,
                    "unauthorized",
                    "the header Authorization: Bearer TOKEN is missing or "
                    "wrong; the token is in the file given to mercer serve --token-file",
                    {"WWW-Authenticate": "Bearer"},
                )
        for name, value in self._scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value) > self._limit:
                raise self._too_large()

    async def receive(self) -> Message:
        """The next piece of the body, counted; a refusal if it does not arrive in time."""
        if self._ended:
            return await self._receive()
        now = asyncio.get_running_loop().time()
        if self._deadline is None or self._upload:
            self._deadline = now + self._patience
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            raise Refusal(
                408,
                "too_slow",
                f"the body did not arrive within {self._patience:g} seconds; send it again, in one go",
            ) from None
        if message["type"] == "http.request":
            self._bytes_in += len(message.get("body", b""))
            self._ended = not message.get("more_body", False)
            if self._bytes_in > self._limit:
                raise self._too_large()
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the answer, with the headers that all answers have."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers = [*message.get("headers", ()), *_HEADERS]
            if self._status >= 400 and not self._ended and self._has_body():
                headers.append((b"connection", b"close"))  # the rest of the body is not read
            message = {**message, "headers": headers}
        elif message["type"] == "http.response.body":
            self._bytes_out += len(message.get("body", b""))
        await self._send(message)

    def _has_body(self) -> bool:
        return any(
            name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
            for name, value in self._scope["headers"]
        )

    def _too_large(self) -> Refusal:
        return Refusal(413, "too_large", f"the body must have at most {self._limit} bytes; send less at once")

    async def _refuse(self, status: int, code: str, message: str, headers: Any = None) -> None:
        if self._status:  # the answer has begun: it can only be cut off
            return
        body = error_body(code, message)
        lines = {"content-type": "application/json", "content-length": str(len(body))}
        pairs = [(k.lower().encode(), v.encode()) for k, v in {**lines, **(headers or {})}.items()]
        await self.send({"type": "http.response.start", "status": status, "headers": pairs})
        await self.send({"type": "http.response.body", "body": body})

    def _log(self, seconds: float) -> None:
        if _ACCESS.isEnabledFor(logging.INFO):
            route = getattr(self._scope.get("route"), "path", "-")
            _ACCESS.info(
                "%s %s %d %.1fms in=%d out=%d",
                self._scope["method"],
                route,
                self._status,
                1e3 * seconds,
                self._bytes_in,
                self._bytes_out,
            )


def _bearer(headers: list[tuple[bytes, bytes]]) -> bytes:
    for name, value in headers:
        if name == b"authorization" and value[:7].lower() == b"bearer ":
            return value[7:].strip()
    return b""


class Refusal(HTTPException):
    """An error with its HTTP status, a code for programs and a sentence for people."""

    def __init__(
        self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, message, None if headers is None else dict(headers))
        self.code = code


def wrong(message: str, code: str = "invalid") -> Refusal:
    """422: an argument is wrong, and the message says which."""
    return Refusal(422, code, message)


def later(code: str, message: str, seconds: int) -> Refusal:
    """503: nothing is wrong with the request, and it may be sent again after so many seconds."""
    return Refusal(503, code, message, {"Retry-After": str(seconds)})


def busy(message: str) -> Refusal:
    """503: too much is under way."""
    return later("busy", message, 1)


def error_body(code: str, message: str) -> bytes:
    """The body of an error, as JSON."""
    return orjson.dumps({"error": {"code": code, "message": message}})


def handle_errors(app: FastAPI) -> None:
    """Give every error of the framework the form of all errors."""
    app.add_exception_handler(StarletteHTTPException, _http)
    app.add_exception_handler(RequestValidationError, _validation)


@contextmanager
def mercer_errors(code: str = "invalid", *, public: bool = True) -> Iterator[None]:
    """Turn exceptions of Mercer into refusals.

    `public`: the reader is anybody, so the message must not name a path of this machine.
    """
    try:
        yield
    except Refusal:
        raise
    except BudgetExceeded as error:
        raise Refusal(409, "budget", str(error)) from None
    except LedgerError as error:
        _LOG.warning("ledger: %s", error)
        words = "the ledger cannot be used now; try again later" if public else str(error)
        raise later("ledger", words, 5) from None
    except LiveUnavailable as error:
        _LOG.warning("live store: %s", error)
        words = "the store of live releases cannot be used now; nothing was answered"
        raise later("store", words + "; try again", 5) from None
    except LiveFull as error:
        raise Refusal(409, "full", str(error)) from None
    except LiveError as error:
        if not public:
            raise wrong(str(error), code) from None
        _LOG.warning("live store: %s", error)
        raise Refusal(503, "store", "this live release cannot be used now") from None
    except FileNotFoundError as error:
        if public or error.filename:
            raise _storage(error) from None
        raise wrong(str(error), code) from None
    except OSError as error:
        raise _storage(error) from None
    except (ValueError, TypeError) as error:
        raise wrong(str(error), code) from None
    except ArithmeticError:
        words = "a number is too large or too small to compute with; nothing was done"
        raise wrong(words, code) from None


def _log_unexpected(error: BaseException) -> None:
    """Log the type and place of a bug.  Its message is left out, because it may show a value."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}" for frame in frames[-4:]]
    _LOG.error("unexpected %s at %s", type(error).__name__, " > ".join(places))


def _storage(error: OSError) -> Refusal:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    _LOG.warning("storage: %s", error.strerror or type(error).__name__)
    words = "the disk of the service is full" if full else "the service cannot use its disk now"
    return later("storage", f"{words}; try again later", 30)


async def _http(_request: Request, error: Exception) -> Response:
    assert isinstance(error, StarletteHTTPException)
    if isinstance(error, Refusal):
        code, message = error.code, str(error.detail)
    else:
        code, message = _WORDS.get(error.status_code, ("bad_request", "the body cannot be read"))
    return Response(error_body(code, message), error.status_code, error.headers, "application/json")


async def _validation(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    return Response(error_body("invalid", _sentence(error.errors())), 422, media_type="application/json")


def _sentence(errors: Any) -> str:
    """A sentence about the first invalid field, without the value that came."""
    first = errors[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or "the body"
    if first["type"] == "json_invalid":
        return "the body must be JSON (RFC 8259); it cannot be parsed"
    if first["type"] == "extra_forbidden":
        return f"{where[:80]!r} is not a known field; GET /docs lists them"
    if first["type"] == "missing":
        return f"{where[:80]!r} is missing; GET /docs says what it is"
    if first["type"] == "string_pattern_mismatch":
        return (
            f"{where[:80]!r} must be 1 to 64 letters, digits, dots, dashes or underscores, the "
            "first a letter or a digit"
        )
    return f"{where[:80]!r} is wrong: {str(first['msg'])[:200]}; GET /docs says what it may be"
