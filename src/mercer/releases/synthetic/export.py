"""Synthetic tables as frames, files and trained models.  Right of the door."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mercer.promise.statement import Statement
from mercer.releases.synthetic.embedding import LandmarkEmbedding, WaveEmbedding
from mercer.sources.own import codes_of

if TYPE_CHECKING:
    from mercer.releases.synthetic.release import TableRelease

__all__ = ["codes_of", "to_dict", "trained", "with_weights", "write_csv", "write_parquet"]

WEIGHT = "weight"


def with_weights(release: TableRelease) -> Any:
    """The records with a last column of weights, as an Arrow table."""
    import pyarrow as pa

    name = WEIGHT
    while name in release.domain.names:
        name += "_"
    return release.points.append_column(name, pa.array(release.weights))


def write_csv(table: Any, path: Path) -> Path:
    """An Arrow table as text."""
    import pyarrow as pa
    import pyarrow.csv as csv

    plain = [  # categories as text
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]
    csv.write_csv(pa.table(plain, names=table.schema.names), path)
    return path


def write_parquet(table: Any, path: Path, privacy: Statement) -> Path:
    """An Arrow table, with the promise beside it."""
    import pyarrow.parquet as pq

    about = {b"mercer.promise.events": str(privacy).encode()}
    pq.write_table(table.replace_schema_metadata({**(table.schema.metadata or {}), **about}), path)
    return path


def trained(release: TableRelease, estimator: Any, target: str, columns: Sequence[str] | None) -> Any:
    """A fitted clone; an estimator without sample weights gets drawn rows instead."""
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import has_fit_parameter

    names = [name for name in release.domain.names if name != target] if columns is None else list(columns)
    for name in (target, *names):
        release.domain.column(name)
    if target in names:
        raise ValueError(f"target {target!r} is among the columns to learn from")
    weights = release.positive
    used = weights > 0
    frame = release.domain.table(release.codes[used]).to_pandas()
    model, share = clone(estimator), weights[used] / weights[used].mean()
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if has_fit_parameter(last, "sample_weight"):
        key = f"{model.steps[-1][0]}__sample_weight" if isinstance(model, Pipeline) else "sample_weight"
        return model.fit(frame[names], frame[target], **{key: share})
    many = max(10 * int(used.sum()), 1000)
    drawn = release.sample(many, rng=0).to_pandas()
    return model.fit(drawn[names], drawn[target])


def to_dict(release: TableRelease) -> dict[str, Any]:
    """All that the file holds."""
    embedding = release.embedding
    fields: dict[str, Any] = {
        "kind": release.kind,
        "domain": release.domain.to_dict(),
        "kernel": release.kernel.to_dict(),
        "method": release.method,
        "points": release.codes.tolist(),
        "weights": release.weights.tolist(),
        "style": release.style,
        "bound": release.bound,
        "landmarks": None if release.landmarks is None else release.landmarks.tolist(),
        "noise": None if embedding is None else embedding.law.to_dict(),
        "coordinates": None if embedding is None else embedding.raw.tolist(),
        "privacy": release.privacy.to_dict(),
    }
    if isinstance(embedding, LandmarkEmbedding):
        fields |= {"floor": embedding.floor, "shrink": embedding.shrink.to_dict()}
        fields |= {"rank": embedding.size}
        fields |= {} if embedding.even is None else {"even": embedding.even.tolist()}
    if isinstance(embedding, WaveEmbedding):
        fields |= {"frequencies": np.asarray(embedding.frequencies).tolist()}
    return fields
