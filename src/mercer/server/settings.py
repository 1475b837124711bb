"""The settings of the service: its folders, its token and its limits."""

from __future__ import annotations

import math
import os
import stat
from dataclasses import dataclass, field, fields
from pathlib import Path

__all__ = ["LEAST_TOKEN", "Settings", "read_token"]

LEAST_TOKEN = 32  # characters


@dataclass(frozen=True)
class Settings:
    """Where releases are, who may change them, and the limits.

    Without a `token` there is no owner side.  With one, records are read from the folder `data`
    only, and every release is charged to the `ledger`.
    """

    folder: Path | None = None  # release files and live stores (*.db)
    store: str | None = None  # one more live store: a path or a postgresql:// URL
    ledger: str | None = None  # path or URL; FOLDER/ledger.db where left out
    token: str | None = field(default=None, repr=False)
    data: Path | None = None  # the only folder that records are read from

    body_bytes: int = 4 << 20
    body_seconds: float = 30.0  # for a whole body; of an upload, between two pieces of it
    upload_bytes: int = 1 << 30
    requests: int = 1_000  # under way at once; further ones are refused with status 503
    points: int = 10_000  # of one request
    light: int = 1_000  # points of a request that may be answered without a thread
    workers: int = 2  # threads for numerics
    queue: int = 64  # requests that may wait for a thread; further ones are refused with status 503
    waiting: int = 1_000  # requests that may wait for one live release
    smoothed: int = 16  # smoothed releases kept in memory
    refresh_seconds: float = 1.0  # how old the list of files may be

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if one.type in ("int", "float") and not (
                math.isfinite(value) and value >= (0 if one.name.endswith("seconds") else 1)
            ):
                raise ValueError(f"{one.name} must be a number of at least 1, got {value!r}")
        if self.folder is None and self.store is None:
            raise ValueError("folder is missing: name a folder of releases, or a live store")
        for name in ("folder", "data"):
            place = getattr(self, name)
            if place is not None and not place.is_dir():
                raise ValueError(f"{name}: there is no folder {str(place)!r}; create it first")
        if self.token is not None:
            check_token(self.token)
            if self.folder is None or self.data is None:
                raise ValueError(
                    "the owner side needs a folder for releases and --data, the folder of the "
                    "records; give both, or leave out the token"
                )
            if self.data.resolve() == self.folder.resolve():
                raise ValueError(
                    "data must not be the folder of the releases: records and releases are kept "
                    "apart; choose another folder"
                )

    @property
    def ledger_place(self) -> str | None:
        """The path or URL of the ledger, which need not exist yet."""
        if self.ledger is not None:
            return self.ledger
        return None if self.folder is None else str(self.folder / "ledger.db")


def check_token(token: str) -> None:
    """ValueError unless the token is long and printable.  The message does not show the token."""
    if len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise ValueError(
            f"token must be at least {LEAST_TOKEN} printable ASCII characters without spaces, "
            f"got {len(token)} characters; "
            "make one: python -c 'import uuid; print(uuid.uuid4().hex + uuid.uuid4().hex)'"
        )


def read_token(path: Path) -> str:
    """The token in a file that nobody but its owner may read."""
    with path.open("rb") as file:
        about = os.fstat(file.fileno())
        if stat.S_IMODE(about.st_mode) & 0o077:
            raise ValueError(
                f"token file {str(path)!r} can be read or changed by others; chmod 600 it, and "
                "use a new token if others may have seen it"
            )
        text = file.read(4096).decode("ascii", errors="replace").strip()
    try:
        check_token(text)
    except ValueError as error:
        raise ValueError(f"token file {str(path)!r}: {error}") from None
    return text
