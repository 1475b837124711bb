"""f_D itself, at any point: for live releases that draw from it.  Left of the door.

A row adds s(x - g) at point x, g its node and s the smoother's density, rounded towards zero to
a public step, so that what one row adds does not depend on how many others there are; the sums
are exact integers (M3.3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, reduce

import numpy as np

from mercer.common.checks import Floats, Ints
from mercer.sensitive.base import Sensitive
from mercer.sensitive.summaries.tally import Tally
from mercer.spaces.bases.base import nodes_for
from mercer.spaces.kernels import Kernel

__all__ = ["PointValues"]

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
        """From counted rows."""
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
        """For the store of a live release, which is as sensitive as this.

        Not compressed: neither time nor size may depend on the counts.
        """
        return self._counts.astype("<i8").tobytes()

    @classmethod
    def from_bytes(cls, secret: bytes, shape: Sequence[int], weight: int, smoother: Kernel) -> PointValues:
        """What `to_bytes` wrote."""
        counts = np.frombuffer(secret, dtype="<i8").astype(np.int64)
        if counts.size != math.prod(shape) or int(counts.sum()) > weight:
            raise ValueError("counts do not fit their grid")
        return cls(counts.reshape(tuple(shape)), weight, smoother)

    @property
    def shape(self) -> tuple[int, ...]:
        """Nodes along each coordinate: public."""
        return self._counts.shape
