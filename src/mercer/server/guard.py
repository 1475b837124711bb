"""What every request passes: the token, the size of bodies, headers, the log.

Plain ASGI, outside of the framework: nothing gets past it, an unexpected error included.  The log
holds method, route template, status, time and sizes; never a query, a point, a name or a token.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
from time import perf_counter
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from mercer.server.errors import Refusal, busy, error_body, log_unexpected
from mercer.server.settings import Settings

__all__ = ["First", "Guard", "PlainRoute"]

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
    """Answers the busiest route ahead of the framework; what it raises, the guard answers."""

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
    """The outermost layer of the service."""

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
    """One request and its answer."""

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
            log_unexpected(error)
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
        """The next piece of the body, counted, and not waited for longer than is fair."""
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
        """Pass an answer on, with the headers that all answers have."""
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
