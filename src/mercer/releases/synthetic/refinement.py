"""Synthetic records moved to where a release says the data are.  M10.

Landmarks fill the whole domain, and most lie where nobody is.  Records are drawn by their weights,
moved a little, and weighed again, a few times: post-processing of what was released, so it costs
nothing.
"""

from __future__ import annotations

import numpy as np

from mercer.common import streams
from mercer.common.checks import Floats
from mercer.releases.synthetic.embedding import LandmarkEmbedding
from mercer.releases.synthetic.weightings import fit_weights
from mercer.releases.synthetic.weights import ENOUGH
from mercer.releases.weighted import resample
from mercer.spaces.record_kernels import RecordKernel

__all__ = ["refined"]

_ROUNDS = 2
_STEP = 0.5  # of the kernel's lengths: how far a number moves
_TURNS = 4  # trials to move it
_CHANCE = 0.1  # that a category is drawn anew


def refined(
    embedding: LandmarkEmbedding,
    kernel: RecordKernel,
    landmarks: Floats,
    points: Floats,
    weight: Floats,
    *,
    style: str,
    bound: float,
) -> tuple[Floats, Floats]:
    """As many records as `points`, where their weights are, with weights of their own.

    A cell moves to that of another of the `points` nearby, so that columns keep their laws.
    """
    domain, rng = kernel.domain, streams.simulation(43)
    size, target = len(points), embedding.target
    raw, length = embedding.span.weights(target), float(np.dot(target, target))
    best = points, weight
    for _ in range(_ROUNDS):
        codes = best[0][resample(np.maximum(best[1], 0.0), size, rng)].copy()
        for j, (column, scale) in enumerate(zip(domain.columns, kernel.scales, strict=True)):
            reach = _STEP * scale * (column.ends[1] - column.ends[0])
            for _ in range(_TURNS if column.numeric else 1):
                other = points[rng.integers(size, size=size), j]
                moves = np.abs(other - codes[:, j]) <= reach if column.numeric else rng.random(size) < _CHANCE
                codes[:, j] = np.where(moves, other, codes[:, j])
        fitted = fit_weights(
            kernel(codes, codes),
            kernel(codes, landmarks) @ raw,
            style=style,
            bound=bound,
            enough=ENOUGH * embedding.risk,
            length=length,
        )
        best = codes, fitted
    return best
