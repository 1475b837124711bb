"""The owner side: files of records, datasets, releases made and retired.

The token is checked by the guard, before anything of a request is read.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from fastapi import Path as InPath
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from mercer.online.store import NAME
from mercer.server import schemas
from mercer.server.answering import Answers, Work
from mercer.server.budgets import Budgets
from mercer.server.guard import mercer_errors
from mercer.server.making import DATA_NAME, DataFolder, Maker
from mercer.server.public import details_of, json_response
from mercer.server.schemas import errors

__all__ = ["owner_routes"]

_MOST_WAITING = 8  # releases that may wait for the one that is being made
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


class FileView(schemas.Out):
    """A file of records."""

    name: str
    bytes: int


class FileList(schemas.Out):
    """The files of records."""

    files: list[FileView]


class Retired(schemas.Out):
    """A name that is used up."""

    name: str
    status: Literal["retired"]


def owner_routes(answers: Answers) -> APIRouter:
    """Everything under /api/owner."""
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
        "/datasets", status_code=201, response_model=schemas.DatasetView, responses=errors(400, 401, 404, 409)
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
        "/releases", status_code=201, response_model=schemas.Details, responses=errors(400, 401, 404, 409)
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
