"""Weights of landmarks for the target of a noisy embedding.  M10, Theorem 11."""

from __future__ import annotations

import numpy as np

from mercer.common.checks import Floats, check_positive
from mercer.releases.synthetic.embedding import LandmarkEmbedding
from mercer.releases.synthetic.weightings import fit_weights, herd
from mercer.spaces.record_kernels import RecordKernel

__all__ = ["ENOUGH", "placed", "weigh"]

ENOUGH = 0.1  # share of the squared error of privacy that fitting weights may add


def weigh(embedding: LandmarkEmbedding, style: str, bound: float) -> Floats:
    """Weights of the landmarks: free, bounded or positive."""
    bound = check_positive("bound", bound, "1 or more")
    if style == "l1" and bound < 1:
        raise ValueError(f"bound must be at least 1 (Balog et al., Theorem 11), got {bound:g}")
    target = embedding.target
    if style == "free":
        return embedding.span.weights(target)
    return fit_weights(
        embedding.gram,
        embedding.values(target),
        style=style,
        bound=bound,
        enough=ENOUGH * embedding.risk,
        length=float(np.dot(target, target)),
    )


def placed(
    embedding: LandmarkEmbedding,
    kernel: RecordKernel,
    landmarks: Floats,
    points: Floats,
    style: str,
    bound: float,
    *,
    size: int,
) -> tuple[Floats, Floats]:
    """Synthetic records and their weights.

    Free weights are those of the landmarks.  Bounded and positive ones may lie on any `points`:
    more of them than landmarks are better spread.  Equal weights choose `size` of the points.
    """
    if style == "free" or (style != "uniform" and points is landmarks):
        return landmarks, weigh(embedding, style, bound)
    target = embedding.target
    gram = kernel(points, points)
    values = kernel(points, landmarks) @ embedding.span.weights(target)
    if style == "uniform":
        return points[herd(gram, values, size)], np.full(size, 1 / size)
    return points, fit_weights(
        gram,
        values,
        style=style,
        bound=bound,
        enough=ENOUGH * embedding.risk,
        length=float(np.dot(target, target)),
    )
