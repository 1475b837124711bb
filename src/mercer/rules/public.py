"""Public rules: what is chosen by the number of records and by the promise alone.  M9, M11, M12, M17.

Nothing here sees a record: n, epsilon, delta, and the number of columns decide.

Densities: bandwidths and numbers of coordinates.  Expected errors are those of a reference density, a
normal of standard deviation an eighth of the bounds, in the unit cube.  A pure release pays for every
coordinate: more of them show more detail and cost more noise in each, so their number is chosen
beforehand, and the bandwidth afterwards from the noisy result.

Mean curves: how many coordinates, and which penalty.  Kernel machines: see `mercer.rules.machines`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mercer.common.checks import Floats, Ints
from mercer.spaces.bases.fourier import WIDEST_EVEN
from mercer.spaces.modes import Modes, SpectralFilter, level_of, shrink
from mercer.spaces.polynomials import Polynomials

__all__ = [
    "CIRCLES",
    "SIDES",
    "TYPICAL_SCALE",
    "BallRule",
    "ExpectedError",
    "Variance",
    "ball_rule",
    "coordinates_rule",
    "curve_penalty",
    "expected_error",
    "frame_of",
    "moment_degree",
    "moment_rule",
    "noise_bandwidth",
    "orbitope_variance",
    "reference_power",
    "rule_bandwidth",
    "rule_penalties",
]

_REFERENCE = 1 / 8  # standard deviation of the reference density
_PRICE = 0.1  # what keeping finer detail may add to the expected error
_FINEST = {1: 1e-3, 2: 0.012, 3: 0.06}  # where the number of coordinates becomes the limit
_PRICES = (0.15, 0.35)  # the same for moments, where the best degree is
_FEW = 6  # below this, and else
_DETAIL = 4  # at most so many times the degree of least expected error
_MOST = 256  # degree of the rule; a given bandwidth may ask for more
_LADDER = sorted({round(2 * 2 ** (step / 4)) for step in range(33)})
_CUTS = (0.6, 0.45, 0.3, 0.2, 0.1, 0.03, 0.01, 1e-3)
# for each boundary: frequency rate in half turns, functions a frequency, length of the circle
CIRCLES = {"reflect": (1.0, 1, 1.0), "periodic": (2.0, 2, 1.0), "open": (1.0, 2, 2.0)}

Variance = Callable[[int], Floats]  # degree -> noise variance of each coefficient 1..degree


@dataclass(frozen=True)
class ExpectedError:
    """Mean integrated squared error of the reference density, and its parts, in the unit cube."""

    bandwidth: float
    bias: float
    sampling: float
    privacy: float

    @property
    def total(self) -> float:
        """The expected error: bias, sampling and privacy together."""
        return self.bias + self.sampling + self.privacy


def expected_error(
    h: float, h0: float, *, n: int, multiplier: float, dimension: int, boundary: str
) -> ExpectedError:
    """Error at bandwidth h when the noise was added at h0 <= h (M17); both in the unit cube.

    In d dimensions all sums are powers of one-dimensional ones.
    """
    rate, functions, length = CIRCLES[boundary]
    j = np.arange(1, int(6.5 / (np.pi * rate * h0)) + 2)
    angle = np.pi * rate * j
    keep, keep0 = np.exp(-((angle * h) ** 2) / 2), np.exp(-((angle * h0) ** 2) / 2)
    signal = reference_power(np.asarray(angle)[:, None])

    def total(terms: Floats) -> float:
        return float((1 + functions * np.sum(terms)) / length) ** dimension

    bias = total(signal) - 2 * total(keep * signal) + total(keep**2 * signal)
    if boundary == "reflect" and h0 <= WIDEST_EVEN:  # see bases/fourier.py
        wall = 1 + 2 * float(np.sum(keep0))
        noise = wall**dimension * (multiplier / n) ** 2
        odd = 2 * keep0 / wall * 2  # squared unit vectors of the walls, both parities
        zero = 1 + 2 / wall
        noise *= float(zero + np.sum(keep**2 / keep0 * (1 + odd))) ** dimension * 2.0 ** (1 - dimension)
        return ExpectedError(h, bias, total(keep**2) / n, noise)
    kappa = ((1 + 2 * float(np.sum(keep0))) / length) ** dimension
    away = 0.5 if boundary == "periodic" else 1.0  # where the kernel is least
    least = max(0.0, (1 + 2 * float(np.sum(keep0 * np.cos(angle * away)))) / length) ** dimension
    noise = max(kappa, 2 * (kappa - least)) * (multiplier / n) ** 2 * total(keep**2 / keep0)
    return ExpectedError(h, bias, total(keep**2) / n, noise)


def reference_power(angular: Floats) -> Floats:
    """Mean squared coefficients of the reference density at these angular frequencies (rows)."""
    return np.exp(-np.sum((angular * _REFERENCE) ** 2, axis=1))


def rule_bandwidth(*, n: int, multiplier: float, dimension: int, boundary: str) -> ExpectedError:
    """The bandwidth of least expected error, noise added at the same bandwidth."""
    grid = np.geomspace(_FINEST[dimension], 1.5, 60)
    errors = [
        expected_error(float(h), float(h), n=n, multiplier=multiplier, dimension=dimension, boundary=boundary)
        for h in grid
    ]
    return min(errors, key=lambda error: error.total)


def noise_bandwidth(*, n: int, multiplier: float, dimension: int, boundary: str) -> float:
    """h0 of `bandwidth="auto"`: as fine as costs the reference density little (M17).

    Any bandwidth h >= h0 is free afterwards; a smaller h0 keeps more detail for densities that
    have it and costs more noise for those that do not.  h0 is the smallest that raises the
    expected error at the rule's bandwidth by at most a tenth.
    """
    best = rule_bandwidth(n=n, multiplier=multiplier, dimension=dimension, boundary=boundary)
    high, low = best.bandwidth, max(best.bandwidth / 16, _FINEST[dimension])
    for _ in range(12):  # the error falls as h0 grows towards the rule's bandwidth
        middle = (high * low) ** 0.5
        error = expected_error(
            best.bandwidth, middle, n=n, multiplier=multiplier, dimension=dimension, boundary=boundary
        )
        if error.total <= (1 + _PRICE) * best.total:
            high = middle
        else:
            low = middle
    return high


def orbitope_variance(boundary: str, *, n: int, epsilon: float) -> Variance:
    """Noise of the orbitope mechanism in coefficients of orthonormal functions, nearly.

    E|u_j|^2 of a uniform point of the body is about (1/2 - 0.45 ln(1 - t + 2/m)) / m at t = j/m
    (by simulation: to 6 % reflecting from m = 8 on; periodic up to a fifth too low at m = 8 and a
    tenth at m = 32); exact values need simulation at every m, and a rule does not.
    """
    real = boundary == "reflect"
    length = CIRCLES[boundary][2]

    def variance(m: int) -> Floats:
        t = np.arange(1, m + 1) / m
        size = m if real else 2 * m
        second = (0.5 - 0.45 * np.log(1 - t + 2 / m)) / m / (1 if real else 2)
        return 2 * 2 / length * (2 / (n * epsilon)) ** 2 * (size + 1) * (size + 2) * second

    return variance


def moment_rule(variance: Variance, *, n: int, boundary: str) -> tuple[int, ExpectedError]:
    """The degree m of `bandwidth="auto"`, and the expected error of the reference density at it.

    Least expected error over two references, a normal of standard deviation an eighth of the
    bounds and an exponential of rate five, in geometric mean; then the largest degree up to four
    times it that raises neither by more than 15 % (35 % from degree 6 on): detail for densities
    that have it.
    """
    ladder = [m for m in _LADDER if m <= _MOST]
    totals = np.array([_least(m, variance(m), n=n, boundary=boundary)[1] for m in ladder])
    best = int(np.argmin(np.sum(np.log(totals), axis=1)))
    degree, price = ladder[best], _PRICES[ladder[best] >= _FEW]
    for m, total in zip(ladder, totals, strict=True):
        if degree < m <= _DETAIL * ladder[best] and np.all(total <= (1 + price) * totals[best]):
            degree = m
    return degree, _least(degree, variance(degree), n=n, boundary=boundary)[0]


def moment_degree(h: float, variance: Variance, *, n: int, boundary: str, most: int) -> int:
    """The degree for a given bandwidth: least noise and tail together, tail at its worst.

    But no more than brings the tail below a twentieth of the sampling error, which nobody can see.
    """
    rate, functions, length = CIRCLES[boundary]
    j = np.arange(1, 4 * most + 1)
    square = np.exp(-((np.pi * rate * j * h) ** 2))
    tail = 2 / length * functions * (np.sum(square) - np.cumsum(square))
    least, degree = math.inf, 1
    for m in [*range(1, 65), *(m for m in _LADDER if 64 < m <= most)]:
        error = functions * float(np.sum(square[:m] * variance(m))) + tail[m - 1]
        if error < least:
            least, degree = error, m
    sampling = functions * float(np.sum(square)) / n / length
    degree = min(degree, int(np.argmax(tail <= 0.05 * sampling)) + 1)
    if degree == most and tail[most - 1] > 1e-3:
        raise ValueError(
            f"bandwidth must be at least {1 / (rate * most):.2g} times the width of the bounds for "
            f"a pure release of {most} moments, got {h:.2g} times; use 'auto' or a larger one"
        )
    return degree


def _least(m: int, noise: Floats, *, n: int, boundary: str) -> tuple[ExpectedError, Floats]:
    """Least expected error over bandwidths: of the normal with its parts, and of each reference."""
    rate, functions, length = CIRCLES[boundary]
    w = np.pi * rate * np.arange(1, 2049)
    power = np.stack([np.exp(-((w / 8) ** 2)), 2 * (25 / (25 + w**2)) ** 2], axis=1) / length
    h = np.geomspace(0.2 / (np.pi * rate * m), 1.0, 48)
    line = np.outer(h, w[:m])
    kept = np.concatenate([np.exp(-(line**2) / 2), np.exp(-(line**4) / 2)])
    bias = (1 - kept) ** 2 @ power[:m] + np.sum(power[m:], axis=0)
    privacy, sampling = kept**2 @ noise, np.sum(kept**2, axis=1) / n / length
    totals = functions * (bias + (privacy + sampling)[:, None])
    smooth = int(np.argmin(totals[: h.size, 0]))  # a Gaussian kernel, whose width has a meaning
    parts = functions * np.array([bias[smooth, 0], sampling[smooth], privacy[smooth]])
    return ExpectedError(float(h[smooth]), *map(float, parts)), totals.min(axis=0)


@dataclass(frozen=True)
class BallRule:
    """What is chosen for a pure release by the l2 mechanism."""

    bandwidth: float  # h0, at which the noise is added
    cut: float  # least eigenvalue of the functions kept
    expected: ExpectedError


@lru_cache(maxsize=64)
def ball_rule(*, n: int, epsilon: float, dimension: int, boundary: str) -> BallRule:
    """Bandwidth of the noise and least eigenvalue kept, for l2 noise in one to three dimensions.

    The noise of each coordinate grows with the number of coordinates, so few are kept.  Least
    expected error, in geometric mean, over normals of standard deviation 1/8 and 1/16.
    """
    rate, functions, length = CIRCLES[boundary]
    side = {1: 400, 2: 40, 3: 12}[dimension]
    k = _lattice(side, dimension, signed=functions == 2)
    w2 = np.sum((np.pi * rate * k) ** 2, axis=1)
    # what is kept is a box of cosines (docs/proofs/cosine.md), or a ball of harmonics
    reach = (np.pi * rate * np.max(np.abs(k), axis=1)) ** 2 if boundary == "reflect" else w2
    order = np.argsort(reach, kind="stable")
    w2, reach = w2[order], reach[order]
    angular = np.asarray(np.pi * rate * k, dtype=np.float64)[order]
    volume = length**dimension
    powers = np.stack([reference_power(angular * f) for f in (1.0, 0.5)], axis=1) / volume
    best: tuple[float, BallRule] | None = None
    for h0, cut in itertools.product(np.geomspace(0.006, 1.0, 22), _CUTS):
        own = np.exp(-w2 * h0**2 / 2)
        size = int(np.count_nonzero(np.exp(-reach * h0**2 / 2) >= cut))
        if size < 2 or reach[size - 1] >= (np.pi * rate * side) ** 2:
            continue
        wall = 1 + 2 * float(np.sum(np.exp(-((np.pi * rate * np.arange(1, 400) * h0) ** 2) / 2)))
        even = boundary == "reflect" and h0 <= 0.2
        square = 2 * (wall / 2 if even else wall / length) ** dimension  # of the sensitivity
        noise = square * (size + 1) / (n * epsilon) ** 2 / own[:size] / volume
        h = h0 * np.geomspace(1.0, max(1.5, 1.0 / h0), 16)
        kept = np.exp(-np.outer(h**2, w2[:size]) / 2)
        bias = (1 - kept) ** 2 @ powers[:size] + np.sum(powers[size:], axis=0)
        privacy, sampling = kept**2 @ noise, np.sum(kept**2, axis=1) / n / volume
        totals = bias + (privacy + sampling)[:, None]
        score = float(np.sum(np.log(totals.min(axis=0))))
        if best is None or score < best[0]:
            i = int(np.argmin(totals[:, 0]))
            parts = (float(bias[i, 0]), float(sampling[i]), float(privacy[i]))
            best = score, BallRule(float(h0), cut, ExpectedError(float(h[i]), *parts))
    assert best is not None
    return best[1]


def _lattice(side: int, dimension: int, *, signed: bool) -> Ints:
    ticks = np.arange(-side if signed else 0, side + 1)
    return np.stack(np.meshgrid(*[ticks] * dimension, indexing="ij"), -1).reshape(-1, dimension)


SIDES = {1: (128,), 2: (20, 20)}  # polynomials along each argument
REFERENCE = ("matern52", 0.2)  # whose first eigenfunctions a pure promise releases
TYPICAL_SCALE = 0.1  # of the width, where a rule needs one
_LEAST_SIZE = 6


def coordinates_rule(polynomials: Polynomials, *, n: int, epsilon: float) -> int:
    """How many coordinates a pure promise releases: every one adds to the noise of all.

    2.8 (n epsilon)^(1/3) for curves: with noise that grows as m and a remainder that falls as
    1/m^2, the sum is least at such a power.  For surfaces the 2/4 power of the same argument.
    """
    d = polynomials.dimension
    many = 2.8 * (n * epsilon) ** (1 / 3) if d == 1 else 2.8 * (n * epsilon) ** 0.5
    return int(np.clip(round(many), min(_LEAST_SIZE, polynomials.size), polynomials.size))


def frame_of(polynomials: Polynomials, size: int) -> Floats:
    """The constant and the first eigenfunctions of the rest of the reference kernel, as rows."""
    kernel, scale = REFERENCE
    some = SpectralFilter(kernel, (scale,) * polynomials.dimension, 1.0, 1.0, level_of(polynomials))
    found = some.seen(polynomials, None)
    return np.ascontiguousarray(found.vectors[:, :size].T)


def curve_penalty(modes: Modes, noise: Floats, penalties: Floats, eta: float) -> tuple[float, float]:
    """Largest expected squared error over a class of curves, and the penalty where it is least.

    The class: functions of norm at most the bound in the kernel's space, so that the penalty
    takes away at most max_j lambda_j (1 - s_j)^2.  `noise` is the expected squared error that
    privacy adds at each penalty, both in units of the squared bound.
    """
    factors = shrink(modes.values[None, :], eta, penalties[:, None])
    finite = np.isfinite(modes.values)  # nothing is taken from a constant that is left alone
    bias = np.max(modes.values[finite] * (1 - factors[:, finite]) ** 2, axis=1)
    place = int(np.argmin(bias + noise))
    return float(bias[place] + noise[place]), float(penalties[place])


def rule_penalties(modes: Modes, eta: float) -> Floats:
    """Candidate penalties: multiples of the largest eigenvalue to the power eta."""
    return np.logspace(-9, 2, 56) * modes.top**eta
