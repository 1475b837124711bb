"""How well public functions fit the records.  Left of the door.

The least-squares score of a candidate density f is mean_i f(x_i) - int f^2 / 2: its expectation is
largest at the f nearest to the true density in L2.  Values of f at nodes are rounded to whole
numbers, so that the sum over records is exact.  docs/proofs/selection.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mercer.columns.domain import Domain
from mercer.common.checks import Floats, Ints
from mercer.promise.events import Sensitivity
from mercer.sensitive.summaries.tally import Tally

__all__ = ["fit_points", "fit_scores"]

_NODES = {1: 4097, 2: 257, 3: 65}  # along each coordinate
_STEPS = 1 << 16  # in the largest value


def fit_points(domain: Domain) -> Floats:
    """Nodes of the bounds at which candidates are evaluated, as rows: public."""
    axes = [np.linspace(0.0, 1.0, _NODES[domain.dimension])] * domain.dimension
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    return domain.from_unit(grid.reshape(-1, domain.dimension))


def fit_scores(tally: Tally, tables: Sequence[Floats], *, n: int) -> tuple[list[int], Sensitivity]:
    """Scores of functions given by their values at `fit_points`, and what one record can do.

    A record shares its weight among nodes (M5), so it adds to the sum a number in the range of the
    table, or 0 without a value; replacing it moves the sum by at most the width of that range.
    """
    domain = tally.domain
    shape = (_NODES[domain.dimension],) * domain.dimension
    counts, factor = tally.on(shape)
    whole = n * tally.weight * factor
    if whole * 2 * _STEPS >= 1 << 62:  # whole numbers of any size
        counts = counts.astype(object)
    top = max(float(np.max(np.abs(table))) for table in tables) or 1.0
    edge = np.ones(shape[0])
    edge[[0, -1]] = 0.5
    volume: Floats = np.ones(())
    for _ in shape:
        volume = np.multiply.outer(volume, edge / (shape[0] - 1))
    scores, widest = [], 1
    for table in tables:
        steps: Ints = np.rint(table / top * _STEPS).astype(np.int64)
        square = float(np.sum(volume.reshape(-1) * table**2)) * domain.volume
        fit = int(np.dot(counts.reshape(-1), steps))
        scores.append(fit - int(square / 2 / top * _STEPS * whole))
        widest = max(widest, int(max(steps.max(), 0) - min(steps.min(), 0)))
    return scores, Sensitivity(float(widest * tally.weight * factor), norm="score")
