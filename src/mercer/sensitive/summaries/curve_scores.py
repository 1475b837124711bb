"""Cross-validation of the penalised mean, with a bound on what one curve can do.  M12.

Ten folds by the curves' places.  The score of a filter S is minus
sum_k (n_k / n) |S mean of the others - mean of fold k|^2, which is the cross-validated squared
error of the left-out curves up to what no filter changes.  Replacing one curve of the ball moves
it by at most 8/n in its own fold and 8 n_k / (n (n - n_k)) in every other, 16/n in all for equal
folds, in units of the squared bound: docs/proofs/curves.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.promise.events import Sensitivity
from mercer.sensitive.summaries.curves import CurveTally
from mercer.spaces.modes import SpectralFilter
from mercer.spaces.polynomials import Polynomials

__all__ = ["FOLDS", "fold_scores", "score_sensitivity"]

FOLDS = 10
_UNIT = 1 << 32  # scores are whole numbers of 1/_UNIT of the squared bound


def fold_scores(
    tally: CurveTally,
    polynomials: Polynomials,
    filters: Sequence[SpectralFilter],
    errors: Sequence[float],
    *,
    n: int,
) -> tuple[list[int], Sensitivity]:
    """Scores, each less the public error that privacy adds, and how far one curve moves them."""
    sizes = fold_sizes(n)
    every = np.arange(FOLDS)
    own = np.stack([tally.means(sizes[k], every[[k]]) for k in every])
    rest = np.stack([tally.means(n - sizes[k], every[every != k]) for k in every])
    share = np.array(sizes) / n
    scores = []
    for smoothing, error in zip(filters, errors, strict=True):
        found = smoothing.seen(polynomials, None)
        factors = smoothing.factors(found.values)
        gaps = (rest @ found.vectors) * factors - own @ found.vectors
        risk = float(share @ np.sum(gaps**2, axis=1)) + error
        scores.append(-round(risk * _UNIT))
    return scores, score_sensitivity(n)


def fold_sizes(n: int) -> list[int]:
    """Curves of each fold: public."""
    return [len(range(k, n, FOLDS)) for k in range(FOLDS)]


def score_sensitivity(n: int) -> Sensitivity:
    """Of the whole numbers: the largest over folds, and rounding."""
    sizes = fold_sizes(n)
    parts = [8 / n * size / (n - size) for size in sizes]
    most = max(8 / n + sum(parts) - part for part in parts)
    return Sensitivity(most * (1 + 1e-9) * _UNIT + 4, norm="score")
