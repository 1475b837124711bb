"""The HTTP service: released functions to look at and to query.

`create_app(Settings(folder=...))` is an ASGI application; `mercer serve` runs it.
"""

from __future__ import annotations

from mercer.server.app import create_app
from mercer.server.settings import Settings

__all__ = ["Settings", "create_app"]
