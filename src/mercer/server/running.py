"""The HTTP server under the application: Uvicorn, changed in three ways.

The head of a request that arrives too slowly or does not end is not waited for; what is not HTTP is
refused in the form of all errors; and no line of the log shows a query.
"""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mercer.server.guard import error_body

__all__ = ["Protocol", "config_of"]


def config_of(app: Any) -> uvicorn.Config:
    """The configuration of Uvicorn, without the address."""
    return uvicorn.Config(
        app,
        http=Protocol,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=30,
    )


class Protocol(HttpToolsProtocol):
    """One connection, with limits on the head of a request."""

    head_seconds = 20.0
    head_bytes = 1 << 16

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._in_head, self._held = True, 0
        self._clock: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._held += len(data)
            if self._clock is None:
                self._wait_for_head()
        super().data_received(data)
        if self._in_head and self._held > self.head_bytes:
            self._refuse(431, "too_large", f"the head must have at most {self.head_bytes} bytes")

    def on_headers_complete(self) -> None:
        self._in_head, self._held = False, 0
        self._stop_clock()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_head = True
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_clock()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        del msg
        self._refuse(400, "bad_request", "this is not HTTP/1.1; nothing was read")

    def _wait_for_head(self) -> None:
        self._clock = self.loop.call_later(self.head_seconds, self._too_slow)

    def _stop_clock(self) -> None:
        if self._clock is not None:
            self._clock.cancel()
            self._clock = None

    def _too_slow(self) -> None:
        if self._held:
            self._refuse(408, "too_slow", "the head of the request did not end in time")
        else:
            self.transport.close()  # nothing was asked

    def _refuse(self, status: int, code: str, message: str) -> None:
        if self.transport.is_closing():
            return
        body = error_body(code, message)
        head = (
            f"HTTP/1.1 {status} \r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()
