"""Weights of landmarks for the target of a noisy embedding.  Layer 4.  M10, Theorem 11."""

from __future__ import annotations

import numpy as np

from mercer.checks import Floats, check_positive
from mercer.noisy_embeddings import LandmarkEmbedding
from mercer.weightings import fit_weights, herd

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
        embedding.gram, embedding.values(target), style=style, bound=bound,
        enough=ENOUGH * embedding.risk, length=float(np.dot(target, target)),
    )  # fmt: skip


def placed(
    embedding: LandmarkEmbedding, landmarks: Floats, style: str, bound: float, *, size: int
) -> tuple[Floats, Floats]:
    """Points and weights: the landmarks, or `size` of them with repetition and equal weights."""
    if style != "uniform":
        return landmarks, weigh(embedding, style, bound)
    places = herd(embedding.gram, embedding.values(embedding.target), size)
    return landmarks[places], np.full(size, 1 / size)
