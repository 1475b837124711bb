"""The kernel density estimate.  Left of the door.  M4, M5, M6; Hall 2013, Sec. 4.1-4.2."""

from __future__ import annotations

import math
from functools import cached_property

from mercer.common.checks import Floats
from mercer.promise.accountants import replace_one
from mercer.promise.events import Norm, Sensitivity
from mercer.sensitive.summaries.base import Summary
from mercer.sensitive.summaries.tally import Tally
from mercer.spaces.bases import Basis, Features
from mercer.spaces.kernels import Kernel

__all__ = ["DensitySummary", "row_sensitivity"]


def row_sensitivity(features: Features, n: int, size: int, norm: Norm) -> Sensitivity:
    """What one of n records can do to the mean of node vectors, rounding included: public.

    The computed coordinates of neighbours differ from the exact ones by less than twice
    `rounding` in the l2 norm, which is at most sqrt(size) times that in the l1 norm; and any vector
    e is a difference of two points of 2 |e|_1 times the cone of moments (docs/proofs/orbitope.md).
    """
    slack = 2 * features.rounding
    if norm == "l2":
        return replace_one(features.diameter / n + slack)
    if norm == "l1":
        span = features.spans.get("l1", math.sqrt(size) * features.diameter)
        return replace_one(span / n + math.sqrt(size) * slack, "l1")
    if norm not in features.spans:
        raise ValueError(f"these coordinates have no bound in the norm {norm!r}")
    return replace_one(features.spans[norm] / n + 2 * math.sqrt(size) * slack, norm)


class DensitySummary(Summary):
    """f_D = (1/n) sum_i s(. - x_i), s the density of `smoother`, in the coordinates of `basis`.

    One record moves the coordinates by at most diameter/n, where the diameter is that of the
    feature vectors of the nodes together with zero (a record without values): a convex combination
    of nodes (binning), a person's average (M16) and a clipped value are in their convex hull.
    """

    def __init__(self, tally: Tally, basis: Basis, smoother: Kernel, *, n: int, unit: str) -> None:
        self.basis, self.n, self.unit = basis, n, unit
        self._tally, self._smoother = tally, smoother

    @cached_property
    def features(self) -> Features:
        """Feature vectors of the nodes: public."""
        return self.basis.row_features(self._smoother)

    @property
    def size(self) -> int:
        return self.basis.size

    def sensitivity(self, norm: Norm) -> Sensitivity:
        return row_sensitivity(self.features, self.n, self.basis.size, norm)

    def coordinates(self) -> Floats:
        counts, factor = self._tally.on(self.features.shape)
        return self.features.total(counts, self.n * self._tally.weight * factor)
