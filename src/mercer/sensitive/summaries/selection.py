"""Scores of public candidates and ranks of public points, with their sensitivities.  Left of the door.

Ranks: scores of quantiles for the exponential mechanism (M12), and the distance to instability of the
interquartile range (Dwork and Lei 2009).  Everything is a whole number: a record is a node of
the tally's grid, and no float is computed from one.

Bandwidths: least-squares cross-validation, J(h) = int f_h^2 - (2/n) sum_i f_(h,-i)(x_i), estimates
the integrated squared error of f_h, less a constant (M12).  Rows stand at nodes of the fine grid,
kernels are normal densities on a circle (with images, for a reflecting boundary), so J is a sum
over pairs of rows:

    J(h) = (1/n^2) sum_(i,l) K_(sqrt2 h)(x_i, x_l) - 2/(n(n-1)) sum_(i != l) K_h(x_i, x_l),

computed from the Fourier coefficients of the counts.
docs/proofs/selection.md has the bounds.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial, reduce
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn, fftn, irfft

from mercer.common.checks import Floats, Ints
from mercer.promise.events import Sensitivity
from mercer.sensitive.base import Sensitive
from mercer.sensitive.summaries.density import Tally

__all__ = [
    "Criterion",
    "CrossValidation",
    "LogBins",
    "Ranks",
    "gap_scores",
    "gap_sensitivity",
    "rank_sensitivity",
]

_LENGTH = {"reflect": 2, "periodic": 1, "open": 2}  # of the circle, in widths of the bounds
_CELLS = {1: 1 << 13, 2: 1 << 8, 3: 1 << 6}  # of the grid on which rows are compared
_FINEST = {1: 2e-3, 2: 0.01, 3: 0.03}  # several cells
_RATIO = 1.002  # of neighbouring distances at which kernels are compared


@dataclass(frozen=True)
class Criterion:
    """What is public: the candidate bandwidths, their kernels, and the sensitivity of J to one of n rows."""

    bandwidths: tuple[float, ...]  # in the unit cube
    boundary: str
    dimension: int
    n: int

    @classmethod
    def of(cls, dimension: int, n: int, boundary: str, count: int = 24) -> Criterion:
        """Candidates from a tenth of n^(-1/(d+4)), the rate of the best, up to 0.4: public."""
        least = max(_FINEST[dimension], 0.1 * n ** (-1 / (dimension + 4)))
        widths = np.geomspace(min(least, 0.1), 0.4, count)
        return cls(tuple(widths.tolist()), boundary, dimension, n)

    @property
    def cells(self) -> int:
        """Cells of the bounds along each coordinate."""
        return _CELLS[self.dimension]

    @property
    def nodes(self) -> int:
        """Nodes on the circle."""
        return _LENGTH[self.boundary] * self.cells

    @cached_property
    def frequencies(self) -> Floats:
        """Frequencies of the circle that any candidate keeps; the same for all."""
        length = _LENGTH[self.boundary]
        most = min(self.nodes // 2, math.ceil(6.5 * length / (2 * np.pi * min(self.bandwidths))))
        return np.asarray(2 * math.pi / length * np.arange(most + 1.0))

    def spectrum(self, h: float) -> Floats:
        """Fourier coefficients of the normal density of bandwidth h along one coordinate."""
        decay: Floats = np.exp(-((self.frequencies * h) ** 2) / 2)
        return decay

    def profile(self, h: float) -> Floats:
        """The density at the nodes of the circle: what is computed, cut at the frequencies."""
        padded = np.zeros(self.nodes // 2 + 1)
        padded[: len(self.frequencies)] = self.spectrum(h)
        values: Floats = irfft(padded, self.nodes) * self.nodes / _LENGTH[self.boundary]
        return values

    @property
    def images(self) -> int:
        """Terms of a kernel: the row and, at a reflecting boundary, its images."""
        return 2**self.dimension if self.boundary == "reflect" else 1

    @cached_property
    def bounds(self) -> Floats:
        """Sensitivity of J(h_i) - J(h_j) for all i, j; on the diagonal that of J(h_i) itself.

        Replacing one row changes a sum over n - 1 pairs of a_i - a_j at the distance of the pair
        (and its images), a_h = 2/n^2 K_(sqrt2 h) - 4/(n(n-1)) K_h; so it moves the sum by at most
        n - 1 times the range of a_i - a_j, in which 0 (a row without values) counts too; and one
        row's own term K_(sqrt2 h)(x, x) / n^2.  On the whole line a_h is a function of the
        distance alone and compared at distances with ratio 1.002; `slack` holds what happens in
        between, the images on the circle, and the frequencies cut off.
        """
        d, n = self.dimension, self.n
        finest = 0.01 * min(self.bandwidths)
        count = math.ceil(math.log(2 * math.sqrt(d) / finest) / math.log(_RATIO))
        distance = np.append(0.0, finest * _RATIO ** np.arange(count + 1))
        shape, slack, own = [], [], []
        for h in self.bandwidths:
            curve, loose = np.zeros(len(distance)), 0.0
            for width, share in ((math.sqrt(2) * h, 2 / n**2), (h, -4 / (n * (n - 1)))):
                top = (2 * math.pi * width**2) ** (-d / 2)
                curve += share * top * np.exp(-((distance / width) ** 2) / 2)
                loose += abs(share) * (self._distortion(width) + (_RATIO - 1) * 2 / math.e * top)
            shape.append(curve)
            slack.append(loose)
            own.append(self.images * (self.profile(math.sqrt(2) * h)[0]) ** d / n**2)
        curves, loose_by, own_by = np.array(shape), np.array(slack), np.array(own)
        bounds = np.empty((len(shape),) * 2)
        for i, one in enumerate(shape):
            other = np.arange(len(shape)) != i  # on the diagonal: against nothing
            change = one - np.where(other[:, None], curves, 0.0)
            both = slack[i] + np.where(other, loose_by, 0.0)
            highest, lowest = change.max(axis=1) + both, change.min(axis=1) - both
            spread = np.maximum(highest, 0.0) - np.minimum(lowest, 0.0)
            bounds[i] = (n - 1) * self.images * spread + (own[i] + np.where(other, own_by, 0.0))
        rounding = np.array([self.rounding(h) for h in self.bandwidths])
        return bounds * (1 + 1e-9) + 2 * (rounding[:, None] + rounding[None, :])

    def _distortion(self, width: float) -> float:
        """Bound on |product of densities on the circle - the normal density| over all nodes."""
        place = np.arange(self.nodes)
        u = np.minimum(place, self.nodes - place) / self.cells
        normal = np.exp(-((u / width) ** 2) / 2) / (math.sqrt(2 * math.pi) * width)
        circle = self.profile(width)
        off = float(np.max(np.abs(circle - normal)))
        return float((normal[0] + off) ** self.dimension - normal[0] ** self.dimension)

    def rounding(self, h: float) -> float:
        """Bound on the error of a computed J(h), whatever the counts.

        Higham 2002, Theorem 24.2: the relative 2-norm error of the transform is about
        7 u log2(points); we take 16.  Weights of rows and images have 2-norm at most `images`, so
        the coefficients' error has 2-norm at most e = 16 u log2(points) sqrt(points) images, and
        each coefficient is at most `images`: sum_j w_j |a_j|^2 is off by at most
        (2 images + e) e |w|, by Cauchy and Schwarz.  As much again for what follows, and 1e-12 of
        the largest J for exponentials and sums.
        """
        d, length = self.dimension, _LENGTH[self.boundary]
        points = self.nodes**d
        error = 16 * 2.0**-53 * math.log2(points) * math.sqrt(points) * self.images
        weight = 5 * math.sqrt(2 * float(np.sum(self.spectrum(h) ** 2))) ** d
        spectral = 2 * (2 * self.images + error) * error * weight / (length**d * self.images)
        return spectral + 1e-12 * 5 * self.images * float(self.profile(h)[0]) ** d


class CrossValidation(Sensitive):
    """J(h) for each candidate of a criterion."""

    def __init__(self, tally: Tally, criterion: Criterion) -> None:
        self.criterion = criterion
        self._counts = tally.on(tally.shape)[0]
        for axis in range(criterion.dimension):
            moved = np.moveaxis(self._counts, axis, 0)
            self._counts = np.moveaxis(_nearest(moved, criterion.cells), 0, axis)
        if tally.weight != 1:
            raise ValueError(
                "cross-validation counts rows, not persons; leave unit out and hand in one row a "
                "person, or choose the bandwidth by 'private-scott'"
            )

    def values(self) -> Floats:
        """J(h) for each candidate."""
        c, power = self.criterion, self._power()
        d, n, length = c.dimension, c.n, _LENGTH[c.boundary]
        out = []
        for h in c.bandwidths:
            wide, narrow = (
                float(_contract(power, [c.spectrum(width)] * d)) / (length**d * c.images)
                for width in (math.sqrt(2) * h, h)
            )
            own = float(_contract(self._counts / n, [self._own(h)] * d))
            out.append(wide - 2 * n / (n - 1) * narrow + 2 / (n - 1) * own)
        return np.array(out)

    def _own(self, h: float) -> Floats:
        """K_h(x, x) along one coordinate at the nodes of the bounds."""
        c = self.criterion
        profile = c.profile(h)
        nodes = np.arange(c.cells + 1)
        image = profile[2 * nodes % c.nodes] if c.boundary == "reflect" else 0.0
        return np.asarray(profile[0] + image + np.zeros(c.cells + 1))

    def _power(self) -> Floats:
        """Squared Fourier coefficients of the rows and their images, for frequencies >= 0."""
        c, weights = self.criterion, self._counts / self.criterion.n
        kept = len(c.frequencies)
        for axis in range(c.dimension):
            ends = np.moveaxis(weights, axis, 0)
            if c.boundary == "reflect":  # a row at the wall coincides with its image
                ends[0] *= 2
                ends[-1] *= 2
            elif c.boundary == "periodic":  # the two ends are one point
                ends[0] += ends[-1]
                weights = np.moveaxis(ends[:-1], 0, axis)
        if c.boundary == "reflect":
            part = (slice(0, kept),) * c.dimension
            folded = dctn(weights, type=1)[part] ** 2
        else:
            folded = np.abs(fftn(weights, s=(c.nodes,) * c.dimension)) ** 2
        for axis in range(c.dimension):  # both signs of a frequency together
            folded = _fold(np.moveaxis(folded, axis, 0), kept, c.boundary, c.nodes)
            folded = np.moveaxis(folded, 0, axis)
        return np.asarray(folded)


def gap_scores(values: Floats, bounds: Floats) -> Floats:
    """Scores of sensitivity 1 from values of different sensitivities: small values are good.

    score_i = -max_j (v_i - v_j) / b_ij, b_ij the sensitivity of v_i - v_j (as Raskhodnikova and
    Smith 2016, who have b_i + b_j).  Dividing each value by its own bound has sensitivity 1 too,
    and always chooses the smoothest: J is near -int f^2, which the bounds would rescale.
    """
    return np.asarray(-np.max((values[:, None] - values[None, :]) / bounds, axis=1))


def gap_sensitivity(n: int) -> Sensitivity:
    """1, and what rounding adds to `gap_scores`: they are at most n, the records one could replace.

    After n replacements no row has a value and every J is 0, so |v_i - v_j| <= n b_ij.
    """
    return Sensitivity(1 + 1e-14 * n, norm="score")


def _contract(array: Floats, vectors: Sequence[Floats]) -> Floats:
    """Sum of the array times a vector along each axis."""
    return reduce(lambda left, vector: np.tensordot(vector, left, axes=(0, 0)), vectors, array)


def _nearest(counts: Ints, cells: int) -> Ints:
    """Counts on a coarser grid: each fine node goes to the nearest coarse one, halves up."""
    parts = (len(counts) - 1) // cells
    starts = np.arange(cells + 1) * parts - parts // 2
    return np.asarray(np.add.reduceat(counts, np.maximum(starts, 0), axis=0))


def _fold(power: Floats, kept: int, boundary: str, nodes: int) -> Floats:
    """Frequencies j and -j added together, j = 0..kept-1."""
    out = power[:kept].copy()
    if boundary == "reflect":
        out[1:] *= 2
        if kept == nodes // 2 + 1:
            out[-1] /= 2
        return out
    twins = np.arange(1, min(kept, (nodes + 1) // 2))
    out[twins] += power[-twins]
    return out


_FAR = 1 << 20  # distances are counted up to this many records
_LOG_STEPS = 1 << 10  # steps of the lattice in one bin of logarithms


def rank_sensitivity(q: Fraction, weight: int) -> Sensitivity:
    """One record (or person) of this weight moves a score of `Ranks.scores` by no more: exact."""
    return Sensitivity(float(q.denominator * weight), norm="score")


class Ranks(Sensitive):
    """Counts of one column at the nodes of the fine grid."""

    def __init__(self, tally: Tally, axis: int, *, n: int, unit: str = "row") -> None:
        counts = tally.on(tally.shape)[0]
        others = tuple(a for a in range(counts.ndim) if a != axis)
        self.counts: Ints = counts.sum(axis=others)
        self.cells = len(self.counts) - 1
        self.weight, self.n, self.unit = tally.weight, n, unit

    def scores(self, q: Fraction, nodes: Ints) -> NDArray[Any]:
        """-distance of 0 from [#(x < v) - q N, #(x <= v) - q N] at nodes v, times q's denominator.

        N counts the rows with values.  Row i adds 1 - q, -q or (no value) 0 to either end, so
        replacing it moves both ends, and the distance, by at most 1: times the denominator, and
        the weight of a person.
        """
        above = np.cumsum(self.counts)
        if int(above[-1]) * q.denominator >= 1 << 62:  # whole numbers of any size
            above = above.astype(object)
        low = q.denominator * (above - self.counts) - q.numerator * above[-1]
        high = q.denominator * above - q.numerator * above[-1]
        return -np.maximum(np.maximum(low, -high), 0)[nodes]

    def end_scores(self, q: Fraction, nodes: Ints, margin: int, *, upper: bool) -> NDArray[Any]:
        """Scores of points for an end of an interval for a quantile, times q's denominator.

        `nodes` rise.  The end aims at the rank q N less `margin` records, or more.  A point stands for
        the ranks from its own number of records below to the next point's: together with the bound,
        which stands for all ranks before the first point (first of the scores; last of those of an
        upper end), they stand for every rank there is, so one of them has the score 0.
        """
        above, shift = np.cumsum(self.counts), margin * self.weight * (1 if upper else -1)
        if (int(above[-1]) + abs(shift)) * q.denominator >= 1 << 62:  # whole numbers of any size
            above = above.astype(object)
        counts = (above if upper else above - self.counts)[nodes]
        apart = q.denominator * (counts - shift) - q.numerator * above[-1]
        zero = np.zeros(1, dtype=apart.dtype)  # how far the first and last ranks of each are beyond the aim
        return -np.append(zero, np.maximum(apart, 0)) - np.append(np.maximum(-apart, 0), zero)

    def spread(self, bins: LogBins) -> tuple[int, int]:
        """The logarithm of the interquartile range on the lattice, and its distance.

        The distance is a number A(D) that moves by at most 1 when a record is replaced, and
        where A(D) >= 2 every neighbour's logarithm is less than one bin away.  Rows without a
        value stand at the middle of the bounds: a public rule.
        """
        counts = self.counts.copy()
        counts[self.cells // 2] += self.n - int(counts.sum())
        order = _Order(np.cumsum(counts), self.n, self.cells)
        log = bins.log(order.spread(0, most=True))
        most = min(self.n, _FAR)
        shifts = 0, bins.steps // 2
        return log, max(_first(partial(_leaves, bins, order, log, shift), most) for shift in shifts)


@dataclass(frozen=True)
class LogBins:
    """log to the base 1 + 1/ln n of a range in cells, in steps of 1/`steps` bin: public."""

    n: int
    cells: int
    steps: int = _LOG_STEPS

    @property
    def base(self) -> float:
        """The factor from one bin to the next; n below 10 counts as 10."""
        return 1 + 1 / math.log(max(self.n, 10))

    def log(self, cells: int) -> int:
        """A whole number that does not fall as `cells` grows; a range of 0 counts as half a cell.

        Logarithms of whole numbers up to 2^15 are further apart than rounding.
        """
        return round(self.steps * math.log(max(cells, 0.5)) / math.log(self.base))

    def cells_of(self, log: float) -> float:
        """The range of a logarithm: the inverse, up to rounding, within the bounds."""
        exponent = log / self.steps * math.log(self.base)
        return math.exp(min(max(exponent, math.log(0.5)), math.log(self.cells)))


@dataclass(frozen=True)
class _Order:
    """Order statistics from cumulated counts: x_1 <= ... <= x_n, 0 before and `cells` after."""

    cumulated: Ints
    n: int
    cells: int

    def __call__(self, ranks: Ints) -> Ints:
        nodes = np.searchsorted(self.cumulated, np.clip(ranks, 1, self.n), side="left")
        return np.where(ranks < 1, 0, np.where(ranks > self.n, self.cells, nodes))

    def spread(self, k: int, *, most: bool) -> int:
        """Bound on x_b - x_a when k records are replaced, from above (`most`) or below.

        a and b are the ranks of the quartiles.  max_j x_(b+k-j) - x_(a-j), or
        min_j x_(b-k+j) - x_(a+j), j = 0..k.
        """
        a, b = math.ceil(self.n / 4), math.ceil(3 * self.n / 4)
        j = np.arange(k + 1)
        if most:
            return int(np.max(self(b + k - j) - self(a - j)))
        return int(np.min(self(b - k + j) - self(a + j)))


def _leaves(bins: LogBins, order: _Order, log: int, shift: int, k: int) -> bool:
    """Whether the logarithm may leave its bin when k records are replaced."""
    home = (log + shift) // bins.steps
    ends = (bins.log(max(order.spread(k, most=most), 0)) for most in (True, False))
    return any((end + shift) // bins.steps != home for end in ends)


def _first(fails: Callable[[int], bool], most: int) -> int:
    """The least k in 1..most at which a property that stays failed fails first, or `most`."""
    tries = ((1 << i >> 1, min(1 << i, most)) for i in count())  # holds at 0
    low, high = next((low, k) for low, k in tries if k >= most or fails(k))
    return low + 1 + bisect_left(range(low + 1, high), True, key=fails)
