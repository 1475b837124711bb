"""Public rules: bandwidths from n, epsilon and delta alone.  M12, M17.

Nothing here sees a record.  Expected errors are those of a reference density, a normal of
standard deviation an eighth of the bounds, in the unit cube.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer.common.checks import Floats
from mercer.spaces.bases.cosine import WIDEST_EVEN

__all__ = [
    "CIRCLES",
    "ExpectedError",
    "expected_error",
    "noise_bandwidth",
    "reference_power",
    "rule_bandwidth",
]

_REFERENCE = 1 / 8  # standard deviation of the reference density
_PRICE = 0.1  # what keeping finer detail may add to the expected error
_FINEST = {1: 1e-3, 2: 0.012, 3: 0.06}  # where the number of coordinates becomes the limit
# for each boundary: frequency rate in half turns, functions a frequency, length of the circle
CIRCLES = {"reflect": (1.0, 1, 1.0), "periodic": (2.0, 2, 1.0), "open": (1.0, 2, 2.0)}


@dataclass(frozen=True)
class ExpectedError:
    """Mean integrated squared error of the reference density, and its parts, in the unit cube."""

    bandwidth: float
    bias: float
    sampling: float
    privacy: float

    @property
    def total(self) -> float:
        """Sum of the parts."""
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
    if boundary == "reflect" and h0 <= WIDEST_EVEN:  # see bases/cosine.py
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
