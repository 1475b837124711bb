"""How curves vary about a released mean: the total of it, and where.  Left of the door.  M22, M16.

The centre is the mean that was released, a public function by now.  A curve, clipped as it is for the
mean, less the centre is its residual.  The total is the mean of |residual|^2, cut at the squared bound;
moments are the mean of a a', a the first coordinates of the residual, clipped to a public radius.  A curve
adds a symmetric matrix without negative eigenvalues and of trace at most one, in squared radii, and two
such are at most sqrt(2) apart: docs/proofs/curves.md, 8.

Heights and coordinates are whole numbers, so few bits of them that all their products and sums are exact:
what a curve adds depends on that curve and the centre alone, to the last bit (M3.3).  Of a person's curves
each has its share of the person's weight, so that the sums tell no less than how persons vary.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from threadpoolctl import threadpool_limits

from mercer.common.checks import Floats, Ints
from mercer.promise.events import Norm, Sensitivity, replace_one
from mercer.sensitive.base import Sensitive, Summary
from mercer.sensitive.curves.source import Columns, Curves, Ragged
from mercer.sensitive.persons import fold_persons
from mercer.sensitive.rows import fold
from mercer.sensitive.summaries.curve_pieces import Gridded, Scattered, projection
from mercer.sensitive.summaries.curves import PERSON, CurveBall
from mercer.spaces.polynomials import Polynomials

__all__ = ["ResidualSummary", "ResidualTally", "residual_bound", "residual_size", "tally_residuals"]

_UNIT = 30  # bits of what a curve adds: of the squared bound, or of the squared radius
_EXACT = 50  # bits of sums of products of heights and weights, of which doubles hold 53


def residual_size(directions: int | None) -> int:
    """How many numbers are released: one, or those of a symmetric matrix."""
    return 1 if directions is None else directions * (directions + 1) // 2


def residual_bound(n: int, directions: int | None, stretch: float = 1.0) -> Sensitivity:
    """How far one curve, or person, of n moves these numbers: public.

    With `stretch`, other draws share the event.
    The sums are exact; dividing them, and sqrt(2) for what stands beside the diagonal, are rounded by less
    than 2^-50 in all.
    """
    moved = (1.0 if directions is None else math.sqrt(2.0)) / n * (1 + 1e-9) + 2.0**-50
    return replace_one(moved * stretch)


class ResidualTally(Sensitive):
    """Sums over clipped curves less a public centre: of squared distances, or of products of coordinates."""

    def __init__(
        self, how: Gridded | Scattered, ball: CurveBall, mean: Floats, radius: float, directions: int | None
    ) -> None:
        """`mean`: released coefficients in units of the bound, as is the radius of the coordinates."""
        self.rows, self.persons = 0, 0
        self._how, self._ball, self.directions = how, ball, directions
        weights, self._fine = how.weights
        self._weights, self._bits = weights, (_EXACT - self._fine) // 2
        middle = how.values(mean)
        length = math.sqrt(float(np.sum(middle**2 * weights)) * 2.0**-self._fine)
        self._middle = np.rint(middle / max(1.0, length * (1 + 1e-9)) * 2.0**self._bits)
        count = 0 if directions is None else directions
        # by Cauchy-Schwarz no partial sum of heights times the table exceeds 2^51
        table, bits = how.table(count), _EXACT - 1 - self._bits
        gain = math.sqrt(float(np.max(np.sum(table**2 / weights[:, None], axis=0), initial=0.0)))
        bits -= max(0, math.ceil(math.log2(max(gain, 1e-300) * 2.0 ** (self._fine / 2) * (1 + 1e-6))))
        self._table = np.trunc(table * 2.0**bits)
        self._radius = radius * 2.0 ** (self._bits + bits)
        self.total = np.zeros(1 if directions is None else (count, count), dtype=np.int64)

    def add(self, chunk: Floats | Ragged | Columns, weights: Ints | None = None) -> Self:
        """Add a chunk of curves, each with weight one or its own share of a person's."""
        begin = 0
        for whole in self._how.pieces(chunk):  # type: ignore[arg-type]
            for piece in whole.cut(self._how.rows):
                count = len(piece.norms)
                share = self._ball.shares(piece, self._bits)[:, None]
                some = self._ball.counted(piece)
                some *= 1.0 if weights is None else weights[begin : begin + count] / PERSON
                self._add(np.rint(piece.numbers * share) - self._middle, some)
                self.rows += count
                begin += count
        return self

    def _add(self, heights: Floats, weights: Floats) -> None:
        """Whole numbers of the residuals, with the curves' weights."""
        if self.directions is None:
            square = np.square(heights) @ self._weights
            steps = np.trunc(square * 2.0 ** (_UNIT - 2 * self._bits - self._fine))
            steps = np.trunc(np.minimum(steps, 2.0**_UNIT) * weights)
            self.total += int(steps.sum())
            return
        found = heights @ self._table
        short = _clipped(found, self._radius, weights)
        self.total += (short.T @ short).astype(np.int64)

    def merge(self, other: Self) -> Self:
        """Add the sums of other curves."""
        self.total += other.total
        self.rows += other.rows
        return self

    def means(self, n: int) -> Floats:
        """The total in squared bounds, or the moments in squared radii.

        Of a matrix its diagonal, then sqrt(2) times what stands above it: lengths are those of matrices.
        """
        mean = self.total / (n * 2.0**_UNIT)
        if self.directions is None:
            return mean
        above = np.triu_indices(self.directions, 1)
        return np.concatenate([np.diag(mean), math.sqrt(2.0) * mean[above]])


def _clipped(found: Floats, radius: float, weights: Floats) -> Floats:
    """Rows in whole steps of the radius / 2^15, times the roots of their weights: none is longer than that.

    Every operation is on the numbers of one row, in a fixed order; products of two are below 2^30.
    """
    square = np.zeros(len(found))
    for column in found.T:
        square += column * column
    scale = 2.0 ** (_UNIT // 2) * (1 - 2.0**-40) * np.sqrt(weights)
    return np.trunc(found * (scale / np.maximum(np.sqrt(square), radius))[:, None])


def tally_residuals(
    curves: Curves,
    polynomials: Polynomials,
    *,
    center: Floats,
    ball: CurveBall,
    mean: Floats,
    radius: float = 1.0,
    directions: int | None = None,
) -> ResidualTally:
    """Sums over all curves: `center` is that of the ball, `mean` the released one less it, in bounds."""
    how = projection(curves, polynomials, center)

    def zero() -> ResidualTally:
        return ResidualTally(how, ball, mean, radius, directions)

    if curves.unit is not None:
        return fold_persons(curves, zero, PERSON)
    with threadpool_limits(1, user_api="blas"):  # the workers are threads already
        return fold(curves.parts(), zero, workers=curves.workers)


class ResidualSummary(Summary[Floats]):
    """The total of the residuals, or their moments in `directions` coordinates."""

    name = "residuals"

    def __init__(
        self, tally: ResidualTally, *, n: int, unit: str, stretch: float, parameters: tuple[Any, ...]
    ) -> None:
        self.n, self.unit, self.stretch = n, unit, stretch
        self._tally, self._parameters = tally, parameters

    @property
    def size(self) -> int:
        return residual_size(self._tally.directions)

    @property
    def parameters(self) -> tuple[Any, ...]:
        return self._parameters

    def sensitivity(self, norm: Norm) -> Sensitivity:
        if norm != "l2":
            raise ValueError(f"moments of residuals have no bound in the norm {norm!r}")
        return residual_bound(self.n, self._tally.directions, self.stretch)

    def coordinates(self) -> Floats:
        return self._tally.means(self.n)
