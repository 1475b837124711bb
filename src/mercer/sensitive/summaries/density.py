"""Rows counted on a fine public grid, and the kernel density estimate of the counts.  Left of the door.

M3.3, M4, M5, M6; Hall 2013, Sec. 4.1-4.2.  Binning is free (M5): a row becomes a convex combination
of grid nodes, so every bound on feature vectors stands.  A row goes to the nearest node of the fine
grid, and a fine node is shared between its two neighbours on the grid that a basis asks for, with
weights that are whole numbers: linear binning in exact integers.  Counts do not depend on order,
chunks or workers (M3.3), and no branch depends on a value: rows that do not fit add to a cell that
nobody reads (M18).

A live release draws from the values of the estimate at points: a row adds s(x - g) at point x, g its
node and s the smoother's density, rounded towards zero to a public step, so that what one row adds
does not depend on how many others there are; the sums are exact integers (M3.3).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, reduce

import numpy as np

from mercer.columns.domain import Box, dimension_of
from mercer.columns.reading import PLAIN, Reading
from mercer.common.checks import Floats, Ints
from mercer.promise.events import Norm, Sensitivity, replace_one
from mercer.sensitive.base import Sensitive, Summary
from mercer.sensitive.data import open_rows
from mercer.sensitive.persons import fold_persons, public_n
from mercer.sensitive.rows import Rows
from mercer.spaces.bases import Basis, Features
from mercer.spaces.bases.base import nodes_for
from mercer.spaces.kernels import Kernel

__all__ = ["PERSON", "Counted", "DensitySummary", "PointValues", "Tally", "row_sensitivity", "tally_rows"]

PERSON = 1 << 20  # a person's weight, shared by the person's rows in whole numbers
_PIECE = 1 << 17  # rows worked on at once
_FINE = {1: 1 << 15, 2: 1 << 11, 3: 1 << 8}  # cells along each coordinate


class Tally(Sensitive):
    """Weights of rows at the nodes of the fine grid, as integers."""

    def __init__(self, domain: Box, weight: int = 1) -> None:
        self.domain = domain
        self.weight = weight  # of one row, or of all rows of one person
        self.rows = 0  # rows read
        self.persons = 0  # distinct persons, where a unit is named
        self._cells = _FINE[domain.dimension]
        # one node more along each coordinate, for values that are missing: nobody reads it
        self._counts = np.zeros((self._cells + 2,) * domain.dimension, dtype=np.int64)
        self._index = np.empty(0, dtype=np.int64)
        self._float = np.empty(_PIECE)
        self._flags = np.empty(_PIECE, dtype=bool)
        self._whole = np.empty(_PIECE, dtype=np.int64)

    @property
    def shape(self) -> tuple[int, ...]:
        """Nodes of the fine grid along each coordinate: public."""
        return (self._cells + 1,) * self.domain.dimension

    @property
    def complete(self) -> int:
        """Weight of the rows that have values.  Sensitive, unless the caller knows it is public."""
        return int(self._valid.sum())

    @property
    def _valid(self) -> Ints:
        return self._counts[(slice(0, self._cells + 1),) * self.domain.dimension]

    def add(self, chunk: Floats, weights: Ints | None = None) -> Tally:
        """Count a chunk of rows, each with weight one or its own."""
        index = self._work(len(chunk))
        with np.errstate(all="ignore"):
            for start in range(0, len(chunk), _PIECE):
                self._place(chunk[start : start + _PIECE], index[start : start + _PIECE])
        flat = self._counts.reshape(-1)
        if self.domain.dimension > 1 or weights is not None:
            np.add.at(flat, index, 1 if weights is None else weights)
        else:
            flat += np.bincount(index, minlength=flat.size)
        self.rows += len(chunk)
        return self

    def _place(self, piece: Floats, index: Ints) -> None:
        """Number of the node of each row, into `index`."""
        place, step = self._float[: len(piece)], self._whole[: len(piece)]
        missing = self._flags[: len(piece)]
        for axis, (low, width) in enumerate(zip(self.domain.lower, self.domain.widths, strict=True)):
            column, scale = piece[:, axis], self._cells / width
            if abs(low) <= 1024 * width:  # one pass less, and no digits to lose
                np.multiply(column, scale, out=place)
                place += 0.5 - low * scale
            else:
                np.subtract(column, low, out=place)
                place *= scale
                place += 0.5
            np.clip(place, 0.0, self._cells, out=place)
            into = step if axis else index
            np.copyto(into, place, casting="unsafe")
            np.isfinite(column, out=missing)
            np.logical_not(missing, out=missing)
            np.copyto(into, self._cells + 1, where=missing)  # the node nobody reads
            if axis:
                index *= self._cells + 2
                index += step

    def _work(self, rows: int) -> Ints:
        """An array to work in, kept from chunk to chunk: fresh memory costs more than counting."""
        if rows > self._index.size:
            self._index = np.empty(rows, dtype=np.int64)
        return self._index[:rows]

    def merge(self, other: Tally) -> Tally:
        """The tally of both sets of rows."""
        if (self.domain, self.weight) != (other.domain, other.weight):
            raise ValueError("tallies must share domain and weight to be merged")
        self._counts += other._counts
        self.rows += other.rows
        return self

    def on(self, shape: tuple[int, ...]) -> tuple[Ints, int]:
        """Weights on a coarser grid of this shape by linear binning, and the factor they gained."""
        counts = self._valid
        for axis, nodes in enumerate(shape):
            counts = np.moveaxis(_coarser(np.moveaxis(counts, axis, 0), nodes - 1), 0, axis)
        return counts, math.prod(self._cells // (nodes - 1) for nodes in shape)


def tally_rows(rows: Rows, domain: Box) -> Tally:
    """Count all rows of a source."""
    weight = 1 if rows.unit is None else PERSON
    return fold_persons(rows, lambda: Tally(domain, weight), weight)


class Counted(Sensitive):
    """Records counted on the fine grid, with their public domain, unit and number."""

    def __init__(
        self,
        data: object,
        bounds: object,
        columns: object,
        unit: str | None,
        reading: Reading = PLAIN,
        *,
        one: bool,
    ) -> None:
        dimension = 1 if one else dimension_of(bounds)
        rows = open_rows(
            data, columns=columns, unit=unit, dimension=dimension, bounds=bounds, reading=reading
        )
        if one and len(rows.names) != 1:
            raise ValueError(f"columns must be one column, got {len(rows.names)}; name it")
        self.domain = Box.of(bounds, rows.names)
        self.tally = tally_rows(rows, self.domain)
        self.unit = rows.unit or "row"
        self.n = public_n(self.tally.rows, persons=self.tally.persons, unit=rows.unit)
        self.name = rows.names[0]


def _coarser(counts: Ints, cells: int) -> Ints:
    """Share each fine node between its two coarse neighbours, in whole numbers."""
    fine = len(counts) - 1
    parts = fine // cells
    if parts * cells != fine or parts == 0:
        raise ValueError(f"a grid of {cells} cells does not divide the fine grid of {fine}")
    if parts == 1:
        return counts
    body = counts[:fine].reshape(cells, parts, *counts.shape[1:])
    out = np.zeros((cells + 1, *counts.shape[1:]), dtype=np.int64)
    np.multiply(body[:, 0], parts, out=out[:cells])
    share = np.empty_like(out[:cells])
    for r in range(1, parts):
        out[:cells] += np.multiply(body[:, r], parts - r, out=share)
        out[1:] += np.multiply(body[:, r], r, out=share)
    out[cells] += parts * counts[fine]
    return out


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


_FIT_NODES = {1: 4097, 2: 257, 3: 65}  # along each coordinate
_FIT_STEPS = 1 << 16  # in the largest value


def fit_points(domain: Box) -> Floats:
    """Nodes of the bounds at which candidates are evaluated, as rows: public."""
    axes = [np.linspace(0.0, 1.0, _FIT_NODES[domain.dimension])] * domain.dimension
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    return domain.from_unit(grid.reshape(-1, domain.dimension))


def fit_scores(tally: Tally, tables: Sequence[Floats], *, n: int) -> tuple[list[int], Sensitivity]:
    """Scores of functions given by their values at `fit_points`, and what one record can do.

    The score of a candidate density f is mean_i f(x_i) - int f^2 / 2: its expectation is largest at
    the f nearest to the true density in L2.  Values of f at nodes are rounded to whole numbers, so
    that the sum over records is exact.  docs/proofs/selection.md has the bounds.

    A record shares its weight among nodes (M5), so it adds to the sum a number in the range of the
    table, or 0 without a value; replacing it moves the sum by at most the width of that range.
    """
    domain = tally.domain
    shape = (_FIT_NODES[domain.dimension],) * domain.dimension
    counts, factor = tally.on(shape)
    whole = n * tally.weight * factor
    if whole * 2 * _FIT_STEPS >= 1 << 62:  # whole numbers of any size
        counts = counts.astype(object)
    top = max(float(np.max(np.abs(table))) for table in tables) or 1.0
    edge = np.ones(shape[0])
    edge[[0, -1]] = 0.5
    volume: Floats = np.ones(())
    for _ in shape:
        volume = np.multiply.outer(volume, edge / (shape[0] - 1))
    scores, widest = [], 1
    for table in tables:
        steps: Ints = np.rint(table / top * _FIT_STEPS).astype(np.int64)
        square = float(np.sum(volume.reshape(-1) * table**2)) * domain.volume
        fit = int(np.dot(counts.reshape(-1), steps))
        scores.append(fit - int(square / 2 / top * _FIT_STEPS * whole))
        widest = max(widest, int(max(steps.max(), 0) - min(steps.min(), 0)))
    return scores, Sensitivity(float(widest * tally.weight * factor), norm="score")
