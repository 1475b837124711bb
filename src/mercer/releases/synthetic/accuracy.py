"""The parts of the error of a synthetic table.  M10, M15.

Balog, Tolstikhin and Schoelkopf 2018, equations (18) and (23): distances in the kernel's space
between the distribution, the records, their projection, the noisy one, and the table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mercer.common.checks import Floats
from mercer.releases.synthetic.embedding import LandmarkEmbedding, NoisyEmbedding, WaveEmbedding
from mercer.spaces.landmarks import spread
from mercer.spaces.record_kernels import RecordKernel

__all__ = ["TableAccuracy", "accuracy_of"]

_MESH = 2048


@dataclass(frozen=True)
class TableAccuracy:
    """Distances in the kernel's space, where a single record has length one.  All are public."""

    sampling: float  # of the records to their distribution, expected
    projection: float  # of a record to the subspace, root mean square: of synthetic records, or
    # anywhere in the domain where those are the landmarks themselves
    privacy: float  # of what is released to the records' projection, estimated after shrinking
    noise: float  # the same before shrinking, expected
    reduced: float  # of the table to what was released
    coordinates: int
    points: int

    def __str__(self) -> str:
        return (
            "Distances in the kernel's space (a record has length 1): sampling "
            f"{self.sampling:.2g}, privacy {self.privacy:.2g} ({self.noise:.2g} before shrinking), "
            f"the table's own {self.reduced:.2g}; a record is {self.projection:.2g} from what "
            f"{self.coordinates} coordinates can tell. {self.points} records."
        )


def accuracy_of(
    embedding: NoisyEmbedding | None,
    kernel: RecordKernel,
    landmarks: Floats | None,
    codes: Floats,
    weights: Floats,
    *,
    n: int,
) -> TableAccuracy:
    """All parts that are public, or follow from the release alone."""
    if embedding is None:
        return TableAccuracy(1 / math.sqrt(n), 0.0, math.nan, math.nan, 0.0, 0, len(codes))
    target, u = embedding.target, kernel.embed(codes)
    if isinstance(embedding, LandmarkEmbedding):
        marks = u if landmarks is None else kernel.embed(landmarks)
        mean = embedding.span.coordinates(kernel.between(marks, u) @ weights)
        projection = math.sqrt(_left_out(embedding, kernel, marks, None if landmarks is None else u))
    else:
        assert isinstance(embedding, WaveEmbedding)
        mean = np.zeros(embedding.size)
        for start in range(0, len(u), 256):
            part = slice(start, start + 256)
            mean += weights[part] @ embedding.span.coordinates(u[part])
        projection = math.sqrt(2 / embedding.size)
    length = min(float(np.dot(target, target)), 1.0)
    return TableAccuracy(
        sampling=math.sqrt((1 - length) / n),
        projection=projection,
        privacy=math.sqrt(embedding.risk),
        noise=embedding.raw_error,
        reduced=float(np.linalg.norm(mean - target)),
        coordinates=embedding.size,
        points=len(codes),
    )


def _left_out(embedding: LandmarkEmbedding, kernel: RecordKernel, marks: Floats, u: Floats | None) -> float:
    """Mean over records, or over the domain, of 1 - |e(x)|^2."""
    if u is None:
        u = kernel.embed(spread(kernel.domain, _MESH, label=1))
    seen = embedding.span.coordinates(kernel.between(u, marks))
    return float(np.clip(1 - np.mean(np.sum(seen**2, axis=1)), 0.0, 1.0))
