"""Public rules for pure releases: how many coordinates.  M11, M17.

Nothing here sees a record.  More coordinates show more detail and cost more noise in each, so
the number is chosen from n and epsilon alone, for reference densities in the unit cube; the
bandwidth is chosen afterwards from the noisy result.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from mercer.common.checks import Floats, Ints
from mercer.rules.density import CIRCLES, ExpectedError, reference_power

__all__ = ["BallRule", "Variance", "ball_rule", "moment_degree", "moment_rule", "orbitope_variance"]

_PRICE = (0.15, 0.35)  # what keeping finer detail may add to the expected error: where the best
_FEW = 6  # degree is below this, and else
_DETAIL = 4  # at most so many times the degree of least expected error
_MOST = 256  # degree of the rule; a given bandwidth may ask for more
_LADDER = sorted({round(2 * 2 ** (step / 4)) for step in range(33)})
_CUTS = (0.6, 0.45, 0.3, 0.2, 0.1, 0.03, 0.01, 1e-3)

Variance = Callable[[int], Floats]  # degree -> noise variance of each coefficient 1..degree


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
    degree, price = ladder[best], _PRICE[ladder[best] >= _FEW]
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
    """A pure release by the l2 mechanism."""

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
