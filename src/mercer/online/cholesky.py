"""Live releases for any kernel in one to three dimensions.  M7, M3.1; Hall 2013, Sec. 5.

Each new point appends a row to the Cholesky factor L of K + jitter.  Its coordinate
c = (f_D(x) - l'c_before) / l_ii gets noise, and the answer is the row times the noisy coordinates.
The factor is kept as it was computed: L L' dominates the kernel matrix whatever the rounding, so
the coordinates of all points together move no further than f_D does in the kernel's space
(docs/proofs/live.md).  Question number i takes time and memory of order i^2, up to LIMIT knots;
points that the knots determine are answered as well and become no knots.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg.blas import dtpsv

from mercer.columns.domain import Box
from mercer.common.checks import Floats
from mercer.door.publish import Tap
from mercer.online.base import LiveRelease
from mercer.online.store import Factor, LiveError, LiveFull, LiveStore, Pen, Record
from mercer.promise.events import Sensitivity, replace_one
from mercer.promise.statement import Statement
from mercer.releases.base import statement_from
from mercer.releases.density.smoothing import BasisAccuracy
from mercer.sensitive.summaries.density import PointValues
from mercer.spaces.bases.base import kernel_from_dict, kernel_to_dict
from mercer.spaces.kernels import Kernel, norms

__all__ = ["LIMIT", "CholeskyLive", "point_sensitivity"]

LIMIT = 1 << 13
JITTER = 2.0**-24  # about eight times what the factor's rounding can take away
_FIXED = 160  # bits after the point of exact coordinates


def point_sensitivity(values: PointValues, smoother: Kernel, noise: Kernel, n: int) -> Sensitivity:
    """How far one of n records can move the coordinates of LIMIT points.  It is public.

    The change of f_D in the kernel's space; rounded rows, which L^-1 can stretch by no more than
    one over the root of the jitter that is left; and the last rounding to a double.
    """
    bound = norms(smoother, noise)
    stretch = math.sqrt(LIMIT / (0.85 * JITTER))
    change = (bound.diameter * (1 + 1e-9) + 2 * values.rounding * stretch) / n
    return replace_one(change + 2.0**-50 * bound.norm)


class CholeskyLive(LiveRelease):
    """Draws from f_D at the points asked for; the store holds counts of the records."""

    route = "cholesky"
    sensitive = True

    def __init__(
        self, store: LiveStore, record: Record, *, kernel: Kernel, values: PointValues, tap: Tap
    ) -> None:
        super().__init__(store, record)
        self.domain = Box.of(record.fields["bounds"], record.fields["columns"])
        self.privacy = statement_from(record.fields["privacy"])
        self._kernel, self._values, self._tap = kernel, values, tap
        self._knots = _Knots(self.domain.dimension)
        self._kept = 0  # of the knots, how many are in the store for sure

    @classmethod
    def start(
        cls,
        store: LiveStore,
        name: str,
        *,
        domain: Box,
        kernel: Kernel,
        smoother: Kernel,
        values: PointValues,
        tap: Tap,
        statement: Statement,
    ) -> CholeskyLive:
        """Store f_D and the noise level that was charged, and open the live release."""
        fields: dict[str, Any] = {
            "columns": list(domain.names),
            "bounds": [list(pair) for pair in domain.bounds],
            "kernel": kernel_to_dict(kernel),
            "smoother": kernel_to_dict(smoother),
            "shape": list(values.shape),
            "weight": values.weight,
            **tap.to_fields(),
            "privacy": statement.to_dict(),
        }
        record = Record(name, cls.route, fields, values.to_bytes())
        store.create(record)
        return cls(store, record, kernel=kernel, values=values, tap=tap)

    @classmethod
    def resume(cls, store: LiveStore, record: Record) -> CholeskyLive:
        fields, secret = record.fields, record.secret
        try:
            tap = Tap.resume(fields)
        except ValueError:
            tap = None
        if secret is None or tap is None:
            raise LiveError(f"live release {record.name!r} is incomplete; restore the store")
        smoother = kernel_from_dict(fields["smoother"])
        values = PointValues.from_bytes(secret, fields["shape"], fields["weight"], smoother)
        kernel = kernel_from_dict(fields["kernel"])
        return cls(store, record, kernel=kernel, values=values, tap=tap)

    @property
    def accuracy(self) -> BasisAccuracy:
        spread = float(self.standard_error(self.domain.lower[None]).reshape(-1)[0])
        return BasisAccuracy(
            integrated=spread**2 * self.domain.volume,
            pointwise=spread,
            coordinates=LIMIT,
            truncation=0.0,
            resolution=float(self._kernel.lengths.min()),
        )

    def standard_error(self, points: object) -> Floats:
        spread = self._tap.law.scale * math.sqrt(1 + JITTER) / self.domain.volume
        return np.full(self.domain.shape(points), spread)

    def _answer(self, rows: Floats) -> Floats:
        with self._store.reading(self.name) as pen:
            known, values = pen.find(rows)
        if not known.all():
            with self._store.writing(self.name) as pen:
                values[~known], drawn = self._draw(pen, rows[~known])
            self._kept = drawn  # not before: what was not kept was never drawn
        return values / self.domain.volume

    def _draw(self, pen: Pen, rows: Floats) -> tuple[Floats, int]:
        """Answers at these rows, and the number of knots after drawing them."""
        known, values = pen.find(rows)
        if known.all():
            return values, self._kept
        self._catch_up(pen)
        new = rows[~known]
        drawn = [self._next(pen, unit) for unit in self.domain.to_unit(new)]
        answers, knots = (np.array(column) for column in zip(*drawn, strict=True))
        pen.add(new, answers[:, None], knots)
        values[~known] = answers
        return values, len(self._knots)

    def _catch_up(self, pen: Pen) -> None:
        """Bring the knots to the state of the store, after failures here or draws elsewhere."""
        kept = min(self._kept, len(self._knots))
        self._knots.cut(kept)
        factors = pen.factors(max(kept - 1, 0))
        if kept and not (factors and self._knots.ends_with(factors.pop(0))):
            raise LiveError(
                f"live release {self.name!r}: store {self.store!r} lacks answers that were given: "
                "it is an older copy, or another one. Drawing them anew would break the promise; "
                "bring the newest store back"
            )
        for factor in factors:
            self._knots.keep(factor)
        self._kept = len(self._knots)

    def _next(self, pen: Pen, unit: Floats) -> tuple[float, bool]:
        """Answer at one new point of the unit cube, and whether it is a knot."""
        knots = self._knots
        head = knots.solve(self._kernel(unit[None], knots.points)[0])
        square = 1 + JITTER - float(head @ head)
        if square <= 2 * JITTER:  # the others determine it: nothing of f_D goes out (M7)
            return float(head @ knots.noisy), False
        if len(knots) >= LIMIT:
            raise LiveFull(
                f"live release {self.name!r} holds {LIMIT} points at most, and this question would "
                f"go beyond: there was room for {LIMIT - self._kept} more. What was answered stays "
                "answered; a Markov kernel on one column has no limit"
            )
        line = np.append(head, math.sqrt(square))
        exact = self._coordinate(line, unit)
        value = math.ldexp(float(exact), -_FIXED) * self._values.step
        noisy = self._tap.draw(value)
        point = tuple(unit.tolist())
        factor = Factor(point, line.astype("<f8").tobytes(), noisy, exact)
        pen.add_factor(len(knots), factor)
        knots.keep(factor)
        return float(line @ knots.noisy), True

    def _coordinate(self, line: Floats, unit: Floats) -> int:
        """(f_D - line . coordinates) / last, in steps times 2^_FIXED: exact but for its floor."""
        whole = [int(v) for v in np.ldexp(line, 100)]
        total = (self._values.at(unit) << (_FIXED + 100)) // self._values.weight
        total -= sum(a * b for a, b in zip(whole, self._knots.exact, strict=False))
        return total // whole[-1]


class _Knots:
    """The knots: rows of the Cholesky factor, points and coordinates, on which all draws depend."""

    def __init__(self, dimension: int) -> None:
        self.exact: list[int] = []  # sensitive
        self._rows, self._noisy = np.empty(1024), np.empty(64)
        self._points = np.empty((64, dimension))

    def __len__(self) -> int:
        return len(self.exact)

    @property
    def points(self) -> Floats:
        return self._points[: len(self)]

    @property
    def noisy(self) -> Floats:
        return self._noisy[: len(self)]

    def solve(self, right: Floats) -> Floats:
        """The solution x of L x = right, L the factor of the covariance at the knots."""
        count = len(self)
        if not count:
            return right
        rows = self._rows[: count * (count + 1) // 2]
        return np.asarray(dtpsv(count, rows, right, lower=0, trans=1))  # packed U = L'

    def cut(self, count: int) -> None:
        """Drop the knots after the first `count`."""
        del self.exact[count:]

    def ends_with(self, factor: Factor) -> bool:
        """Whether this is the last knot, so that no other process added one since."""
        last, d = len(self) - 1, self._points.shape[1]
        return (
            self._noisy[last] == factor.noisy
            and self.exact[last] == factor.exact
            and tuple(self._points[last].tolist()) == factor.point[:d]
        )

    def keep(self, factor: Factor) -> None:
        count = len(self)
        start = count * (count + 1) // 2
        if start + count + 1 > self._rows.size:
            self._rows = np.concatenate([self._rows, np.empty(self._rows.size)])
        if count == len(self._noisy):
            self._noisy = np.concatenate([self._noisy, np.empty(count)])
            self._points = np.concatenate([self._points, np.empty_like(self._points)])
        self._rows[start : start + count + 1] = np.frombuffer(factor.row, dtype="<f8")
        self._noisy[count] = factor.noisy
        self._points[count] = factor.point[: self._points.shape[1]]
        self.exact.append(factor.exact)
