"""Which store the path of a file, or a database's URL, names."""

from __future__ import annotations

import os
from pathlib import Path

from mercer.online.memory import Memory
from mercer.online.store import LiveError, Store

__all__ = ["store_of"]


def store_of(place: str | os.PathLike[str] | Store | None) -> Store:
    """The store for the path of a SQLite file or a PostgreSQL URL; None is memory."""
    if place is None:
        return Memory()
    if isinstance(place, Store):
        return place
    try:
        from mercer.online.postgres import PostgreSQL
        from mercer.online.sqlite import SQLite
    except ImportError:
        raise LiveError("a store for live releases needs SQLAlchemy: pip install 'mercer[serve]'") from None
    text = os.fspath(place)
    if text.startswith(("postgresql://", "postgres://")):
        return PostgreSQL(text)
    if "://" in text or not text:
        raise LiveError(
            "store must be the path of a file or a postgresql:// URL, got "
            + (f"a {text.split('://')[0]}:// URL" if text else "''")
        )
    if Path(text).suffix in (".json", ".csv", ".parquet"):
        raise LiveError(
            f"store must be a live store, for example live.db, and {text!r} is none"
            + ("; a release is evaluated with mercer eval" if text.endswith(".json") else "")
        )
    return SQLite(Path(text))
