"""The kernel density estimate, in a basis or at any point.  M4, M5, M6; Hall 2013, Sec. 4.1-4.2.

Left of the door.  A live release draws from the values at points: a row adds s(x - g) at point x,
g its node and s the smoother's density, rounded towards zero to a public step, so that what one
row adds does not depend on how many others there are; the sums are exact integers (M3.3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, reduce

import numpy as np

from mercer.common.checks import Floats, Ints
from mercer.promise.accountants import replace_one
from mercer.promise.events import Norm, Sensitivity
from mercer.sensitive.base import Sensitive, Summary
from mercer.sensitive.summaries.tally import Tally
from mercer.spaces.bases import Basis, Features
from mercer.spaces.bases.base import nodes_for
from mercer.spaces.kernels import Kernel

__all__ = ["DensitySummary", "PointValues", "row_sensitivity"]


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


class DensitySummary(Summary[Floats]):
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


_BITS = 30  # of a row's value, below its peak
_LIMB = 16  # bits of a count that are summed at once: a sum of 2^21 products stays below 2^53


class PointValues(Sensitive):
    """f_D(x) = step * at(x) / weight, with `at(x)` a whole number."""

    def __init__(self, counts: Ints, weight: int, smoother: Kernel) -> None:
        if not smoother.diagonal:
            raise ValueError("bandwidth must be a number or one number a column with route='cholesky'")
        self._counts, self._smoother, self.weight = counts, smoother, weight
        count = math.ceil(weight.bit_length() / _LIMB)  # public: no count is above the weight
        mask = (1 << _LIMB) - 1
        self._limbs = [((counts >> (_LIMB * k)) & mask).astype(float) for k in range(count)]
        self._ticks = [np.linspace(0.0, 1.0, nodes) for nodes in counts.shape]

    @classmethod
    def of(cls, tally: Tally, smoother: Kernel, *, n: int) -> PointValues:
        """The values for rows that were counted."""
        counts, factor = tally.on(nodes_for(smoother.lengths))
        return cls(counts, n * tally.weight * factor, smoother)

    @cached_property
    def step(self) -> float:
        """A row's value is a whole number of these: public."""
        return 1 / self._smoother.mass / (1 << _BITS)

    @property
    def rounding(self) -> float:
        """Bound on the distance of a row's value from s(x - g): public."""
        return self.step * (1 + 2.0**-10)  # the profile itself is good to 2^-48 of its peak

    def at(self, u: Floats) -> int:
        """f_D at a point of the unit cube, times weight / step."""
        window, sides = [], []
        for axis, ticks in enumerate(self._ticks):
            side = self._smoother.profile(u[axis] - ticks, axis)
            (seen,) = (side > 2.0 ** -(_BITS + 1)).nonzero()  # the others round to zero
            part = slice(int(seen[0]), int(seen[-1]) + 1) if seen.size else slice(0, 0)
            window.append(part)
            sides.append(side[part])
        value = reduce(lambda a, b: np.multiply.outer(a, b).reshape(-1), sides)
        whole = np.floor(np.maximum(value, 0.0) * (1 << _BITS)).astype(np.int64)
        high, low = (whole >> 15).astype(float), (whole & 0x7FFF).astype(float)
        total = 0
        for k, limb in enumerate(self._limbs):
            block = np.ascontiguousarray(limb[tuple(window)]).reshape(-1)
            upper, lower = int(block @ high), int(block @ low)  # exact
            total += ((upper << 15) + lower) << (_LIMB * k)
        return total

    def to_bytes(self) -> bytes:
        """The counts as bytes, for the store of a live release, which is as sensitive as they are.

        Not compressed: neither time nor size may depend on the counts.
        """
        return self._counts.astype("<i8").tobytes()

    @classmethod
    def from_bytes(cls, secret: bytes, shape: Sequence[int], weight: int, smoother: Kernel) -> PointValues:
        """The values whose counts `to_bytes` wrote; ValueError if they do not fit the grid."""
        counts = np.frombuffer(secret, dtype="<i8").astype(np.int64)
        if counts.size != math.prod(shape) or int(counts.sum()) > weight:
            raise ValueError("counts do not fit their grid")
        return cls(counts.reshape(tuple(shape)), weight, smoother)

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of nodes along each coordinate: public."""
        return self._counts.shape
