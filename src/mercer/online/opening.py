"""Which store the path of a file, or a database's URL, names."""

from __future__ import annotations

import os
from pathlib import Path

from mercer.online.memory import Memory
from mercer.online.store import LiveError, LiveStore

__all__ = ["store_of"]


def store_of(place: str | os.PathLike[str] | LiveStore | None) -> LiveStore:
    """The store for the path of a SQLite file or a PostgreSQL URL; None is memory."""
    if place is None:
        return Memory()
    if isinstance(place, LiveStore):
        return place
    try:
        from mercer.online.postgres import LivePostgreSQL
        from mercer.online.sqlite import LiveSQLite
    except ImportError:
        raise LiveError("a store for live releases needs SQLAlchemy: pip install 'mercer[serve]'") from None
    text = os.fspath(place)
    if text.startswith(("postgresql://", "postgres://")):
        return LivePostgreSQL(text)
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
    return LiveSQLite(Path(text))
