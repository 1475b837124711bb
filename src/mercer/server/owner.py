"""The owner side: files of records, datasets, releases made and retired.

The token is checked by the guard, before anything of a request is read.  The name of a release is
taken before anything is spent: an empty file NAME.json, which only one can make.  The charge comes
next, then the noise; a release that was paid for and cannot be written is kept in memory, and the
same request writes it without another charge.
"""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Annotated, Any, Literal, cast, final

from fastapi import APIRouter, Depends, Request
from fastapi import Path as InPath
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from mercer.api.calls import made
from mercer.api.density import density
from mercer.api.live import live
from mercer.common.files import sync
from mercer.ledger.ledger import Ledger
from mercer.online.base import LiveUnkept, store_of
from mercer.online.store import NAME, LiveError, is_name
from mercer.releases.density.release import DensityRelease
from mercer.server import entries
from mercer.server.answering import Answers, Work
from mercer.server.catalogue import Catalogue
from mercer.server.entries import Entry, LiveEntry, errors
from mercer.server.guard import Refusal, later, mercer_errors, wrong
from mercer.server.public import details_of, json_response
from mercer.server.records import DATA_NAME, Budgets, DataFolder
from mercer.server.settings import Settings

__all__ = ["Maker", "owner_routes"]

_MOST_WAITING = 8  # releases that may wait for the one that is being made
_PARTS = ("-wal", "-shm", "")  # of a SQLite file, itself last
_ROOM = 32 << 20  # bytes that must be free on the disk before budget is spent
Number = Annotated[float, Field(allow_inf_nan=False)]
Words = Annotated[str, Field(min_length=1, max_length=200)]
Name = Annotated[str, Field(pattern=NAME.replace("(?!.*\\.\\.)", ""), max_length=64)]
FileName = Annotated[str, Field(min_length=1, max_length=128)]


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class DatasetIn(_In):
    """A dataset and its total, which is never changed."""

    name: Name
    epsilon: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
    delta: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] = 0.0
    unit: Words | None = Field(None, description="row, or the column that names a person")
    data: FileName | None = Field(None, description="A file that gets a note of this ledger.")


class ReleaseIn(_In):
    """A release to make.  Nothing is spent if an argument is wrong."""

    name: Name
    kind: Literal["density", "live"] = "density"
    data: FileName
    dataset: Words
    columns: Annotated[list[Words], Field(min_length=1, max_length=3)]
    bounds: Annotated[
        list[Annotated[list[Number], Field(min_length=2, max_length=2)]], Field(min_length=1, max_length=3)
    ]
    epsilon: Annotated[float, Field(gt=0, le=1e6, allow_inf_nan=False)]
    delta: Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)] | None = None
    bandwidth: Words | Number | Annotated[list[Number], Field(min_length=1, max_length=3)] = "auto"
    kernel: Words = "gaussian"
    boundary: Words | None = None
    unit: Words | None = None
    missing: Literal["zero", "drop"] = "zero"


class FileView(entries.Out):
    """A file of records."""

    name: str
    bytes: int


class FileList(entries.Out):
    """The files of records."""

    files: list[FileView]


class Retired(entries.Out):
    """A name that is used up."""

    name: str
    status: Literal["retired"]


def owner_routes(answers: Answers) -> APIRouter:
    """The routes under /api/owner."""
    settings = answers.settings
    assert settings.data is not None
    data = DataFolder(settings.data)
    maker = Maker(settings, answers.catalogue, data)
    budgets = Budgets(settings.ledger_place)
    work = Work(1, _MOST_WAITING)
    answers.on_close(work.close)
    bearer = Depends(HTTPBearer(auto_error=False, description="The token of --token-file."))
    router = APIRouter(prefix="/api/owner", tags=["owner"], dependencies=[bearer])

    @router.get("/data", response_model=FileList, responses=errors(401))
    async def files() -> Response:
        """Names and sizes of the files of records."""
        with mercer_errors(public=False):
            return json_response({"files": await answers.work.run(data.listing)})

    @router.put(
        "/data/{filename}",
        status_code=201,
        response_model=FileView,
        responses=errors(400, 401, 409),
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
            }
        },
    )
    async def upload(
        filename: Annotated[str, InPath(max_length=128, json_schema_extra={"pattern": DATA_NAME})],
        request: Request,
    ) -> Response:
        """Upload a CSV or Parquet file; nothing is overwritten."""
        with mercer_errors(public=False):
            size = await data.receive(filename, request.stream())
        return json_response({"name": filename, "bytes": size}, 201)

    @router.post(
        "/datasets", status_code=201, response_model=entries.DatasetView, responses=errors(400, 401, 404, 409)
    )
    async def register(dataset: DatasetIn) -> Response:
        """Set the total of a dataset, once and for all."""

        def call() -> dict[str, Any]:
            with mercer_errors(public=False):
                path = None if dataset.data is None else data.path(dataset.data)
                budgets.register(
                    dataset.name,
                    epsilon=dataset.epsilon,
                    delta=dataset.delta,
                    unit=dataset.unit or "row",
                    data=path,
                )
                return budgets.view(dataset.name)

        return json_response(await work.run(call), 201)

    @router.post(
        "/releases", status_code=201, response_model=entries.Details, responses=errors(400, 401, 404, 409)
    )
    async def make(release: ReleaseIn) -> Response:
        """Make a release, charged to a dataset of the ledger."""
        entry = await work.run(lambda: maker.make(release.model_dump()))
        return json_response(await details_of(answers, entry), 201)

    @router.delete("/releases/{name}", response_model=Retired, responses=errors(401, 404, 409, 410))
    async def retire(name: str) -> Response:
        """Retire a release: it is no longer answered, and its name is never used again."""
        await work.run(lambda: maker.retire(name))
        return json_response({"name": name, "status": "retired"})

    return router


@final
class Maker:
    """Makes and retires releases of files of the data folder, one at a time."""

    def __init__(self, settings: Settings, catalogue: Catalogue, data: DataFolder) -> None:
        assert settings.folder is not None
        self._folder, self._store = settings.folder, settings.store
        self._ledger_place = settings.ledger_place
        self._catalogue, self._data = catalogue, data
        self._budgets = Budgets(settings.ledger_place)
        self._one = Lock()
        self._unsaved: dict[str, tuple[dict[str, Any], DensityRelease]] = {}

    def make(self, fields: dict[str, Any]) -> Entry:
        """A release, saved and listed; a refusal before anything is spent, or BudgetExceeded."""
        with self._one, mercer_errors(public=False):
            name = fields["name"]
            if name in self._unsaved:
                return self._save_again(name, fields)
            path = self._data.path(fields["data"])
            ledger = self._budgets.to_charge(fields["dataset"], fields["unit"], path)
            if shutil.disk_usage(self._folder).free < _ROOM:
                raise OSError(28, "No space left on device")
            held = self._reserve(name)
            try:
                return self._made(name, fields, path, ledger, held)
            except BaseException:
                if name not in self._unsaved:
                    with suppress(OSError):
                        held.unlink()
                raise

    def retire(self, name: str) -> None:
        """Stop answering for a release; its file goes to FOLDER/retired, its name is used up."""
        with self._one, self._catalogue.lock, mercer_errors(public=False):
            self._catalogue.look()
            entry = self._catalogue.get(name)
            records = self._catalogue.records
            assert records is not None
            records.note_retired(name)  # from here on it is not answered, whatever happens
            if isinstance(entry, LiveEntry):
                entry.release.close()
                self._put_away_store(entry)
            else:
                self._put_away(entry.path)
            self._catalogue.look()

    def _made(self, name: str, fields: dict[str, Any], path: Path, ledger: Ledger, held: Path) -> Entry:
        options = {key: value for key, value in fields.items() if key not in ("name", "kind", "data")}
        if fields["kind"] == "live":
            try:
                self._live(name, path, options | {"ledger": ledger})
            except LiveUnkept as error:  # paid: what it stands on is kept as a release of its own
                self._unsaved[name] = (fields, error.release)
                self._save(name, error.release)
            else:
                held.unlink()
        else:
            release = cast(DensityRelease, made(density(path, **options, ledger=ledger)))
            self._unsaved[name] = (fields, release)
            self._save(name, release)
        return self._noted(name, fields["dataset"])

    def _live(self, name: str, path: Path, options: dict[str, Any]) -> None:
        if self._store is not None:
            made(live(path, **options, store=self._store, name=name)).close()
            return
        place = self._folder / f"{name}.db"
        try:
            made(live(path, **options, store=place, name=name)).close()
        except BaseException:
            self._remove_empty(place)
            raise

    def _remove_empty(self, place: Path) -> None:
        """Remove a store that was made for a release that was then refused."""
        with suppress(LiveError, OSError):
            store = store_of(place)
            empty = not store.names()
            store.close()
            if empty:
                for end in _PARTS:
                    place.with_name(place.name + end).unlink(missing_ok=True)

    def _save_again(self, name: str, fields: dict[str, Any]) -> Entry:
        asked, release = self._unsaved[name]
        if asked != fields:
            raise _taken(name)
        self._save(name, release)
        return self._noted(name, fields["dataset"])

    def _save(self, name: str, release: DensityRelease) -> None:
        try:
            release.save(self._folder / f"{name}.json")
            sync(self._folder)
        except OSError:
            raise later(
                "unsaved",
                f"release {name!r} was made and charged but cannot be written; "
                "make room on the disk and send the same request again before the service stops: "
                "it will be written without another charge",
                30,
            ) from None
        del self._unsaved[name]

    def _noted(self, name: str, dataset: str) -> Entry:
        with self._catalogue.lock:
            records = self._catalogue.records
            assert records is not None
            with suppress(OSError):  # it is made and stands; only the note is missing
                records.note_dataset(name, dataset)
            self._catalogue.look()
            return self._catalogue.get(name)

    def _reserve(self, name: str) -> Path:
        """Reserve a name by an empty file; a refusal if the name was ever used."""
        if not is_name(name):
            raise wrong(
                "'name' must be letters, digits, '.', '_' and '-', at most 64, "
                "without '..', beginning with a letter or digit"
            )
        with self._catalogue.lock:
            self._catalogue.look()
            store = self._folder / f"{name}.db"
            if self._catalogue.uses(name) or store.exists() or str(store) == self._ledger_place:
                raise _taken(name)
            path = self._folder / f"{name}.json"
            try:
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            except FileExistsError:
                raise _taken(name) from None
            return path

    def _put_away_store(self, entry: LiveEntry) -> None:
        """Move a store of the folder that held this release alone; leave any other."""
        path = Path(entry.store)
        alone = [e for e in self._catalogue.entries() if isinstance(e, LiveEntry)]
        if path.parent != self._folder or any(e.store == entry.store and e.name != entry.name for e in alone):
            return
        for end in _PARTS:
            part = path.with_name(path.name + end)
            if part.exists():
                self._put_away(part)

    def _put_away(self, path: Path) -> None:
        away = self._folder / "retired"
        away.mkdir(mode=0o700, exist_ok=True)
        if not (away / path.name).exists():
            path.rename(away / path.name)
            sync(away)
            sync(self._folder)


def _taken(name: str) -> Refusal:
    return Refusal(409, "taken", f"the name {name!r} is taken, by a release or a retired one; choose another")
