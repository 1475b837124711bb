"""The application: routes, errors and the guard put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.concurrency import run_in_threadpool

from mercer.common.version import __version__
from mercer.server import errors
from mercer.server.answers import Answers
from mercer.server.guard import First, Guard
from mercer.server.owner import owner_routes
from mercer.server.pages import page_routes
from mercer.server.public import public_routes
from mercer.server.settings import Settings
from mercer.server.values import described, values_route

__all__ = ["create_app"]

_ABOUT = (
    "Releases with differential privacy: look at them, ask for values, read what was promised. "
    "Every error is {error: {code, message}}."
)


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
    errors.install(app)
    busiest = values_route(answers)
    app.router.routes.append(busiest)  # here for its other methods
    app.include_router(public_routes(answers))
    if settings.token is not None:
        app.include_router(owner_routes(answers))
    app.router.routes.extend(page_routes(app))
    app.add_middleware(First, route=busiest)
    app.add_middleware(Guard, settings=settings)
    _describe(app)
    return app


def _describe(app: FastAPI) -> None:
    """Have the description hold the routes that are not FastAPI's."""
    plain = app.openapi

    def whole() -> dict[str, Any]:
        if app.openapi_schema is None:
            described(plain())
        assert app.openapi_schema is not None
        return app.openapi_schema

    app.openapi = whole  # type: ignore[method-assign]
