"""Records that the service may read, and the budgets that their releases are charged to.

A file is looked up in the one folder it may come from and must stay in it, links followed.  An
upload is written beside its place, flushed to the disk, and only then gets its name; nothing is
ever overwritten.
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

from mercer.common.files import sync
from mercer.ledger.ledger import Ledger
from mercer.ledger.store import claim_on
from mercer.server.entries import ChargeView, DatasetView, Left, fields_of
from mercer.server.guard import Refusal, wrong

__all__ = ["DATA_NAME", "Budgets", "DataFolder"]

DATA_NAME = r"^[A-Za-z0-9](?!.*\.\.)[A-Za-z0-9._-]{0,120}\.(csv|csv\.gz|tsv|parquet|pq)$"
_NAME = re.compile(DATA_NAME)
_DRAFT = ".mercer-upload-"
_PIECE = 1 << 20  # bytes written at once
_DAY = 86_400


@final
class DataFolder:
    """The folder of records: the only one that releases are made from."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder.resolve()
        for draft in self._folder.glob(_DRAFT + "*"):  # of uploads that a crash cut off
            with suppress(OSError):
                if time() - draft.stat().st_mtime > _DAY:
                    draft.unlink()

    def path(self, name: str) -> Path:
        """A file of the folder; a refusal if there is none, or if it is a link that leads out."""
        _check_file_name(name)
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
        """Names and sizes of the files, for the owner."""
        found = []
        for path in sorted(self._folder.iterdir()):
            if _NAME.fullmatch(path.name) and path.resolve().parent == self._folder:
                with suppress(OSError):
                    if path.is_file():
                        found.append({"name": path.name, "bytes": path.stat().st_size})
        return found

    async def receive(self, name: str, pieces: AsyncIterator[bytes]) -> int:
        """Store an upload and return its size in bytes; a refusal if a file of that name exists."""
        _check_file_name(name)
        target = self._folder / name
        if os.path.lexists(target):
            raise _file_taken(name)
        file, draft = await run_in_threadpool(self._draft)
        try:
            size = await self._copy(pieces, file)
            if size == 0:
                raise wrong("the body must be the file; it has no bytes", "empty")
            await run_in_threadpool(_name_draft, file, draft, target, name)
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


def _name_draft(file: BinaryIO, draft: Path, target: Path, name: str) -> None:
    file.flush()
    os.fsync(file.fileno())
    try:
        os.link(draft, target)  # fails if there is one: never overwritten
    except FileExistsError:
        raise _file_taken(name) from None
    draft.unlink()
    sync(target.parent)


def _check_file_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise wrong(
            "'data' must be a plain file name of letters, digits, '.', '_' and '-' "
            "that ends in .csv, .csv.gz, .tsv, .parquet or .pq"
        )


def _file_taken(name: str) -> Refusal:
    return Refusal(409, "taken", f"there is a file {name!r} already; choose another name")


@final
class Budgets:
    """The budgets of datasets in one ledger.

    All methods block.  The ledger is opened anew for each use: one that was gone may be back.
    """

    def __init__(self, place: str | None) -> None:
        self._place = place

    def view(self, name: str) -> dict[str, Any]:
        """The total of a dataset, its charges and what is left, all of which is public."""
        ledger = self._opened()
        if ledger is None or name not in ledger.datasets:
            raise _unknown(name)
        dataset, left = ledger.dataset(name), ledger.remaining(name)
        return fields_of(
            DatasetView,
            dataset,
            name=name,
            charges=[fields_of(ChargeView, charge) for charge in ledger.history(name)],
            left=fields_of(Left, left, share_used=left.share, pure=left.epsilon),
            words=str(left),
        )

    def register(self, name: str, *, epsilon: float, delta: float, unit: str, data: Path | None) -> None:
        """Register a new dataset; the ledger is made if it does not exist."""
        assert self._place is not None
        ledger = Ledger(self._place)
        if name in ledger.datasets:
            raise Refusal(
                409, "taken", f"dataset {name!r} exists; totals are never changed, choose another name"
            )
        _check_claim(data, ledger, name)
        ledger.register(name, epsilon=epsilon, delta=delta, unit=unit, data=data)

    def to_charge(self, dataset: str, unit: str | None, data: Path) -> Ledger:
        """The ledger, after checking that a release of these data may be charged to this dataset."""
        ledger = self._opened()
        known = {} if ledger is None else ledger.datasets
        if ledger is None or dataset not in known:
            raise _unknown(dataset)
        own = known[dataset].unit
        if own != (unit or "row"):
            raise wrong(
                f"'unit' must be {own!r}, as dataset {dataset!r} was registered: "
                "promises about different things do not add up",
                "unit",
            )
        _check_claim(data, ledger, dataset)
        return ledger

    def _opened(self) -> Ledger | None:
        if self._place is None:
            return None
        if "://" not in self._place and not Path(self._place).exists():
            return None
        return Ledger.open(self._place)


def _check_claim(data: Path | None, ledger: Ledger, dataset: str) -> None:
    """A refusal if another dataset, or another ledger, counts the releases of a file."""
    if (found := claim_on(data)) is None:
        return
    claim = found[1]
    if claim.ledger != ledger.id:
        words = "another ledger counts the releases of these data; use that one"
    elif claim.dataset != dataset:
        words = f"releases of these data are counted as {claim.dataset!r}; give that dataset"
    else:
        return
    raise Refusal(409, "counted", words)


def _unknown(name: str) -> Refusal:
    return Refusal(404, "no_dataset", f"there is no dataset {name[:80]!r} in the ledger of this service")
