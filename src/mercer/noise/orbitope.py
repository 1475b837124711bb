"""The body of trigonometric moments, and uniform draws from it.  M11; thesis, Sec. 4.4.

The moments c_j = mean of exp(2 pi i j x) (periodic), or of cos(pi j x) (reflecting), j = 1..m, of
any distribution are those c for which the Toeplitz matrix with diagonal 1 and entries c is
positive semidefinite: the convex hull of the moment curve.  Its points are one to one with m
canonical moments (Verblunsky coefficients) alpha_0..alpha_(m-1) in the open unit disk, in the
real interval (-1, 1) when reflecting; uniform on the body means independent alpha_k, and
Levinson's recursion leads from them to c in m^2 operations, without rejection and without a
Markov chain.

With |alpha_k|^2 = 1 - U^(1/b) and a uniform phase, U uniform, the complex case has
b = 2 (m - k) - 1; in the real case alpha_k is the real part of such a number with
b = m - k - 1/2, which has the law 2 Beta(m - k, m - k) - 1 (docs/proofs/orbitope.md).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from mercer.common import streams
from mercer.common.checks import Floats

__all__ = ["RUNS", "cone_draws", "gauge", "powers", "public_draws", "uniform_moments"]

RUNS = 4000  # public draws by which a law of noise is described


def gauge(coordinates: Floats, *, real: bool) -> float:
    """The least c_0 for which (c_0, c) are moments: -lambda_min of Toeplitz(0, c).

    `coordinates` are c_1..c_m, or their real parts followed by their imaginary parts.
    """
    from scipy.linalg import eigvalsh, toeplitz

    c = np.asarray(coordinates, dtype=float)
    if not real:
        half = c.size // 2
        c = c[:half] + 1j * c[half:]
    return -float(eigvalsh(toeplitz(np.concatenate([[0.0], c]).conj()), subset_by_index=[0, 0])[0])


def powers(degree: int, *, real: bool) -> list[float]:
    """1/b of each canonical moment: |alpha_k|^2 = 1 - U^(1/b)."""
    if real:
        return [1 / (degree - k - 0.5) for k in range(degree)]
    return [1 / (2 * (degree - k) - 1) for k in range(degree)]


def uniform_moments(degree: int, runs: int, rng: np.random.Generator, *, real: bool) -> Floats:
    """Uniform draws from the body, shape (m or 2 m, runs): for public simulation, in doubles."""
    kind: Any = np.float64 if real else np.complex128
    c: Any = np.zeros((degree + 1, runs), dtype=kind)
    predictor: Any = np.zeros((degree + 1, runs), dtype=kind)
    error = np.ones(runs)
    for k, power in enumerate(powers(degree, real=real)):
        radius = np.sqrt(-np.expm1(power * np.log1p(-rng.random(runs))))
        angle = 2 * np.pi * rng.random(runs)
        alpha = radius * np.cos(angle) if real else radius * np.exp(1j * angle)
        past = predictor[1 : k + 1]
        c[k + 1] = error * alpha - np.einsum("jr,jr->r", past, c[k:0:-1])
        past -= alpha * past[::-1].conj()
        predictor[k + 1] = -alpha
        error *= 1 - np.abs(alpha) ** 2
    return c[1:].copy() if real else np.concatenate([c[1:].real, c[1:].imag])


def cone_draws(degree: int, runs: int, rng: np.random.Generator, *, real: bool) -> Floats:
    """Differences of two draws of density exp(-c_0) on the cone of (c_0, c): shape (runs, size).

    c_0 is Gamma(size) and c = c_0 u, u uniform on the body: M11's law with the constant's own
    noise beside it.
    """
    total = []
    for _ in range(2):
        body = uniform_moments(degree, runs, rng, real=real)
        mass = rng.gamma(len(body) + 1, 1.0, runs)
        total.append(np.concatenate([mass[None], mass * body]).T)
    return total[0] - total[1]


@lru_cache(maxsize=8)
def public_draws(degree: int, *, real: bool) -> Floats:
    """Draws of `cone_draws` from a fixed public stream: by them errors and bands are computed."""
    runs = min(RUNS, max(1000, 64 * RUNS // degree))  # fewer where each one is long
    draws = cone_draws(degree, runs, streams.simulation(2 * degree + real), real=real)
    draws.setflags(write=False)
    return draws
