"""One shape for every error, and the way from Mercer's errors to it.

Messages of Mercer name arguments and public parameters, so they may be shown; whatever else goes
wrong is answered with a plain sentence, and logged by its type and place alone.
"""

from __future__ import annotations

import errno
import logging
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import orjson
from fastapi import FastAPI, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.responses import Response

from mercer.ledger.ledger import BudgetExceeded, LedgerError
from mercer.online.store import LiveError, LiveFull, LiveUnavailable

__all__ = ["Refusal", "busy", "error_body", "install", "log_unexpected", "mercer_errors"]

_LOG = logging.getLogger("mercer.server")
_WORDS = {
    404: ("not_found", "there is nothing at this address; GET /docs lists what there is"),
    405: ("method_not_allowed", "this address has no such method; GET /docs lists what there is"),
}


class Refusal(HTTPException):
    """An error with its status, a word for programs and a sentence for people."""

    def __init__(
        self, status: int, code: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, message, None if headers is None else dict(headers))
        self.code = code


def busy(message: str) -> Refusal:
    """503: nothing is wrong with the request, and it may be sent again."""
    return Refusal(503, "busy", message, {"Retry-After": "1"})


def error_body(code: str, message: str) -> bytes:
    """The JSON of an error."""
    return orjson.dumps({"error": {"code": code, "message": message}})


def install(app: FastAPI) -> None:
    """Have every error of the framework take the shape."""
    app.add_exception_handler(StarletteHTTPException, _http)
    app.add_exception_handler(RequestValidationError, _validation)


@contextmanager
def mercer_errors(code: str = "invalid", *, public: bool = True) -> Iterator[None]:
    """Turn what Mercer raises into a refusal.

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
        raise Refusal(503, "ledger", words, {"Retry-After": "5"}) from None
    except LiveUnavailable as error:
        _LOG.warning("live store: %s", error)
        words = "the store of live releases cannot be used now; nothing was answered"
        raise Refusal(503, "store", words + "; try again", {"Retry-After": "5"}) from None
    except LiveFull as error:
        raise Refusal(409, "full", str(error)) from None
    except LiveError as error:
        if not public:
            raise Refusal(422, code, str(error)) from None
        _LOG.warning("live store: %s", error)
        raise Refusal(503, "store", "this live release cannot be used now") from None
    except FileNotFoundError as error:
        if public or error.filename:
            raise _storage(error) from None
        raise Refusal(422, code, str(error)) from None
    except OSError as error:
        raise _storage(error) from None
    except (ValueError, TypeError) as error:
        raise Refusal(422, code, str(error)) from None
    except ArithmeticError:
        words = "a number is too large or too small to compute with; nothing was done"
        raise Refusal(422, code, words) from None


def log_unexpected(error: BaseException) -> None:
    """Type and place of a bug; its message is left out, for it may show a value."""
    frames = traceback.extract_tb(error.__traceback__)
    places = [f"{frame.filename.rsplit('/', 1)[-1]}:{frame.lineno}" for frame in frames[-4:]]
    _LOG.error("unexpected %s at %s", type(error).__name__, " > ".join(places))


def _storage(error: OSError) -> Refusal:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    _LOG.warning("storage: %s", error.strerror or type(error).__name__)
    words = "the disk of the service is full" if full else "the service cannot use its disk now"
    return Refusal(503, "storage", f"{words}; try again later", {"Retry-After": "30"})


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
    """The first thing that is wrong; the value that came is not repeated."""
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
