"""Files of records in the one folder they may come from.

A name is looked up in the folder and must stay in it, links followed.  An upload is written beside
its place, flushed to the disk, and only then gets its name; nothing is ever overwritten.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from time import time
from typing import Any, BinaryIO, final

from starlette.concurrency import run_in_threadpool

from mercer.common.disk import sync
from mercer.server.errors import Refusal

__all__ = ["DATA_NAME", "DataFolder"]

DATA_NAME = r"^[A-Za-z0-9](?!.*\.\.)[A-Za-z0-9._-]{0,120}\.(csv|csv\.gz|tsv|parquet|pq)$"
_NAME = re.compile(DATA_NAME)
_DRAFT = ".mercer-upload-"
_PIECE = 1 << 20  # bytes written at once
_DAY = 86_400


@final
class DataFolder:
    """The folder of records."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        for draft in self._folder.glob(_DRAFT + "*"):  # of uploads that a crash cut off
            with suppress(OSError):
                if time() - draft.stat().st_mtime > _DAY:
                    draft.unlink()

    def path(self, name: str) -> Path:
        """A file of the folder; a refusal if there is none, or if it is a link that leads out."""
        _check(name)
        path = (self._folder / name).resolve()
        if not path.is_file() or path.parent != self._folder:
            raise Refusal(
                404,
                "no_data",
                f"there is no file {name!r} in the folder of records; "
                "GET /api/owner/data lists them, PUT /api/owner/data/NAME uploads one",
            )
        return path

    def listing(self) -> list[dict[str, Any]]:
        """Names and sizes."""
        found = []
        for path in sorted(self._folder.iterdir()):
            if _NAME.fullmatch(path.name) and path.resolve().parent == self._folder:
                with suppress(OSError):
                    if path.is_file():
                        found.append({"name": path.name, "bytes": path.stat().st_size})
        return found

    async def receive(self, name: str, pieces: AsyncIterator[bytes]) -> int:
        """Store an upload; its size.  A refusal if there is a file of that name."""
        _check(name)
        target = self._folder / name
        if os.path.lexists(target):
            raise _taken(name)
        file, draft = await run_in_threadpool(self._draft)
        try:
            size = await self._copy(pieces, file)
            if size == 0:
                raise Refusal(422, "empty", "the body must be the file; it has no bytes")
            await run_in_threadpool(_finish, file, draft, target, name)
        finally:
            file.close()
            with suppress(OSError):
                draft.unlink(missing_ok=True)
        return size

    def _draft(self) -> tuple[BinaryIO, Path]:
        handle, path = tempfile.mkstemp(dir=self._folder, prefix=_DRAFT)  # mode 0600
        return os.fdopen(handle, "wb"), Path(path)

    async def _copy(self, pieces: AsyncIterator[bytes], file: BinaryIO) -> int:
        held, size = bytearray(), 0
        async for piece in pieces:
            held += piece
            size += len(piece)
            if len(held) >= _PIECE:
                await run_in_threadpool(file.write, bytes(held))
                held.clear()
        await run_in_threadpool(file.write, bytes(held))
        return size


def _finish(file: BinaryIO, draft: Path, target: Path, name: str) -> None:
    file.flush()
    os.fsync(file.fileno())
    try:
        os.link(draft, target)  # fails if there is one: never overwritten
    except FileExistsError:
        raise _taken(name) from None
    draft.unlink()
    sync(target.parent)


def _check(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise Refusal(
            422,
            "invalid",
            "'data' must be a plain file name of letters, digits, '.', '_' and '-' "
            "that ends in .csv, .csv.gz, .tsv, .parquet or .pq",
        )


def _taken(name: str) -> Refusal:
    return Refusal(409, "taken", f"there is a file {name!r} already; choose another name")
