"""Worst neighbours of each mechanism, and the statistic that tells them apart best.

Coordinates one sensitivity apart for which the likelihood ratio reaches e^epsilon, or for the
Gaussian mechanism the whole trade-off curve, on a set of outputs that is not rare.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.common.checks import Floats
from mercer.noise.mechanisms import L2, KNorm, Mechanism, Orbitope

__all__ = ["WorstPair", "worst_pair", "worst_scores"]


@dataclass(frozen=True)
class WorstPair:
    """Two vectors of coordinates, a statistic of outputs and how many runs show something."""

    one: Floats
    two: Floats
    statistic: Callable[[Floats], Floats] | None
    samples: int

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self.one)


def worst_pair(
    mechanism: Mechanism, neighbours: tuple[Any, Any] | None, *, epsilon: float, delta: float
) -> WorstPair:
    """The pair given, or the mechanism's worst, with the log-likelihood ratio where it is known."""
    del delta
    if neighbours is None:
        one, two = _worst(mechanism)
    else:
        one, two = (np.asarray(side, dtype=float).reshape(-1) for side in neighbours)
        if one.shape != two.shape or not np.all(np.isfinite(one) & np.isfinite(two)):
            raise ValueError("neighbours must be two vectors of coordinates of one length")
    samples = {"gaussian": 3_000_000, "k-norm": 40_000}.get(mechanism.name, 400_000)
    if mechanism == Orbitope(real=False):
        samples = 8_000_000  # the ratio comes near its bound only far out
    return WorstPair(one, two, _ratio(mechanism, one, two, epsilon), samples)


def worst_scores() -> tuple[Floats, Floats]:
    """One candidate's score falls by one as those of many others rise: a ratio near e^epsilon."""
    up = np.zeros(24)
    up[0] = 1.0
    return up, 1.0 - up


def _worst(mechanism: Mechanism) -> tuple[Floats, Floats]:
    if isinstance(mechanism, Orbitope):
        # c_0 and c_1 of one record at either end: the cone is a product of two half lines in
        # c_0 + c_1 and c_0 - c_1 (reflecting), and nearly so (periodic)
        shape = [1.0, 1.0] if mechanism.real else [1.0, 1.0, 0.0]
        mirror = [1.0, -1.0] if mechanism.real else [1.0, -1.0, 0.0]
        return np.array(shape), np.array(mirror)
    if isinstance(mechanism, KNorm):
        corner = np.ones(mechanism.body.dimension)
        corner /= mechanism.body.gauge(corner)
        return corner, np.zeros(len(corner))
    size = 2 if isinstance(mechanism, L2) else 1
    one = np.zeros(size)
    one[0] = 1.0
    return one, np.zeros(size)


def _ratio(
    mechanism: Mechanism, one: Floats, two: Floats, epsilon: float
) -> Callable[[Floats], Floats] | None:
    """Log-likelihood ratio of outputs, up to an increasing function; None where it is unknown."""
    if mechanism.norm == "l1":
        return lambda z: np.sum(np.abs(z - two) - np.abs(z - one), axis=1)
    if isinstance(mechanism, L2):
        return lambda z: np.linalg.norm(z - two, axis=1) - np.linalg.norm(z - one, axis=1)
    if isinstance(mechanism, KNorm):
        gauge = mechanism.body.gauge
        return lambda z: np.array([gauge(row - two) - gauge(row - one) for row in z])
    if isinstance(mechanism, Orbitope):
        if len(one) == (2 if mechanism.real else 3):
            return lambda z: _first_moment(z, one, two, epsilon, real=mechanism.real)
        return None
    return lambda z: z @ (one - two)


def _first_moment(z: Floats, one: Floats, two: Floats, epsilon: float, *, real: bool) -> Floats:
    """Log-likelihood ratio of c_0 + c_1 and c_0 - c_1 for moments of degree one.

    On the cone they are independent Gamma(k, 2 s), k = 1 reflecting and 3/2 periodic, s = 2 /
    epsilon; the difference of two such has density |y|^(k - 1/2) K_(k - 1/2)(|y| / 2s), up to a
    constant, with K the modified Bessel function: Laplace's for k = 1.
    """
    from scipy.special import kve

    scale, order = 4 / epsilon, 0.5 if real else 1.0
    grid = np.linspace(0.0, 8.0, 4001) ** 2 + 1e-9  # finer near zero, where it bends
    values = order * np.log(grid) + np.log(kve(order, grid)) - grid

    def log_density(y: Floats) -> Floats:  # beyond the grid, at e^-64, it does not matter
        return np.interp(np.abs(y) / scale, grid, values)

    total = np.zeros(len(z))
    for sign in (1.0, -1.0):
        value, a, b = (v[..., 0] + sign * v[..., 1] for v in (z, one, two))
        total += log_density(value - a) - log_density(value - b)
    return total
