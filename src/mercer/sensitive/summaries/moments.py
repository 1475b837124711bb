"""Moments of features and responses: sum phi phi' and sum y phi over the rows.  Left of the door.

M21.  Least squares needs nothing else of the records, so noise on the moments pays for the function,
for its error band, and for every other penalty.  Features and responses are cut to a grid, so that
sums are of whole numbers: exact in any order.  docs/proofs/machines.md, 8.
"""

from __future__ import annotations

import math

import numpy as np

from mercer.common.checks import Floats, Ints
from mercer.promise.events import Norm, Sensitivity, replace_one
from mercer.sensitive.base import Summary
from mercer.sensitive.summaries.risk import ExampleBatch, Examples
from mercer.spaces.maps import FeatureMap
from mercer.spaces.moments import MomentSpan

__all__ = ["MomentSums", "moment_bound"]

_BITS = 20  # of the grid of features and responses, where no feature is longer than 1
_BITS_SHARED = 16  # where rows have shares of a person's weight,
_SHARES = 15  # which has so many bits
_EXACT = 53  # bits of whole numbers that doubles hold
_CARRIED = 8  # pieces, whose sums 64 bits hold


def moment_bound(length: float, ratio: float) -> float:
    """How far one row moves the coordinates of the moments; |phi| <= length, |y| <= 1.

    A replaced row changes them by at most sqrt(2 L^4 - 2 u^2 + ratio^2 (2 L^2 + 2 u)) with
    u = |phi'psi| <= L^2 (M21), which is largest at u = ratio^2 / 2.
    """
    square = length**2
    u = min(ratio**2 / 2, square)
    return math.sqrt(2 * square**2 - 2 * u**2 + ratio**2 * (2 * square + 2 * u))


class MomentSums(Summary[Floats]):
    """The moments of all rows, or persons, in coordinates that keep lengths."""

    name = "moments"

    def __init__(
        self, examples: Examples, features: FeatureMap, span: MomentSpan, *, n: int, unit: str, moves: bool
    ) -> None:
        """`moves`: whether one record can move the places of others (CSV files, persons)."""
        self._examples, self._features, self._span = examples, features, span
        self._moves, self._persons = moves, unit != "row"
        self.n, self.unit = n, unit

    @property
    def size(self) -> int:
        return self._span.size

    @property
    def _bits(self) -> int:
        """Of the grid: coarser by what features are longer than 1."""
        longer = max(0, math.ceil(math.log2(self._features.kappa) - 0.01))
        return (_BITS_SHARED if self._persons else _BITS) - longer

    @property
    def _length(self) -> float:
        """No row of features on the grid is longer."""
        return self._features.kappa + math.ldexp(math.sqrt(self._span.features), -self._bits - 1)

    def sensitivity(self, norm: Norm) -> Sensitivity:
        """Cutting to the grid makes features longer by half a step in each; sums are rounded once."""
        if norm != "l2":
            raise ValueError(f"moments have no bound in the norm {norm!r}")
        length, ratio = self._length, self._span.ratio
        rounding = self.n * math.ldexp(length * math.hypot(length, ratio), -50)
        return replace_one(moment_bound(length, ratio) + rounding)

    def coordinates(self) -> Floats:
        m, bits = self._span.features, self._bits
        weights = _SHARES if self._persons else 0
        most = math.ldexp(self._length, bits) ** 2 * (1 << weights)  # that a row adds to a sum
        step = math.floor((1 << _EXACT) / most)  # rows whose sums doubles hold

        def work(piece: ExampleBatch) -> Ints:
            phi = np.rint(np.ldexp(self._rows(piece.phi), bits))
            y = np.rint(np.ldexp(piece.target, bits))
            share = np.floor(np.ldexp(piece.weight, weights))
            sums = np.zeros((m, m + 1), dtype=np.int64)
            for start in range(0, len(y), step):
                part = slice(start, start + step)
                both = np.column_stack([phi[part], y[part]])
                sums += ((phi[part] * share[part, None]).T @ both).astype(np.int64)
            return sums

        total = np.zeros((m, m + 1), dtype=object)
        carried = np.zeros((m, m + 1), dtype=np.int64)
        for place, sums in enumerate(self._examples.fold_points(work)):
            carried += sums
            if place % _CARRIED == _CARRIED - 1:
                total, carried = total + carried, np.zeros_like(carried)
        whole = 1 << (2 * bits + weights)
        found = np.array([int(value) / whole for value in (total + carried).flat]).reshape(m, m + 1)
        return self._span.coordinates(found[:, :m], found[:, m])

    def _rows(self, unit: Floats) -> Floats:
        """Features of points; one point at a time where its place is not its own.

        Then they are the same numbers to the last bit wherever the row stands.
        """
        if not self._moves:
            return self._features.features(unit)
        out = np.empty((len(unit), self._features.size))
        for place, row in enumerate(unit):
            out[place] = self._features.features(row[None].copy())[0]
        return out
