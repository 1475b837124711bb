"""Probability laws of the noise of coordinates.  M15.

The law is public and is all that a release says about its error.  A law knows the standard
deviation of every coordinate and how to simulate itself.  The exact draws for releases are in
`noise/mechanisms`.

`OrbitopeLaw` is the law for the body of trigonometric moments (M11; thesis, Sec. 4.4).  The moments
c_j = mean of exp(2 pi i j x) (periodic), or of cos(pi j x) (reflecting), j = 1..m, of any
distribution are those c for which the Toeplitz matrix with diagonal 1 and entries c is
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

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.fft import dct
from scipy.special import gammaincinv

from mercer.common import streams
from mercer.common.checks import Floats, Ints

__all__ = [
    "LAWS",
    "MOST_BINS",
    "RUNS",
    "BinnedLaplace",
    "Euclidean",
    "LaplaceLaw",
    "Law",
    "Normal",
    "OrbitopeLaw",
    "cone_draws",
    "gauge",
    "law_from_dict",
    "powers",
    "public_draws",
    "uniform_moments",
]

MOST_BINS = 1 << 12  # whose noise is simulated bin by bin
RUNS = 4000  # public draws by which a law of noise is described


@dataclass(frozen=True)
class Law(ABC):
    """Symmetric noise on lattice points; `scale` is the parameter of the law."""

    scale: float
    step: float  # of the lattice: a power of two

    name: ClassVar[str]
    white: ClassVar[bool] = True  # coordinates are uncorrelated, with one standard deviation
    moments: ClassVar[bool] = False  # for trigonometric moments alone

    @abstractmethod
    def deviations(self, size: int) -> Floats:
        """Standard deviations of the noise of `size` coordinates."""

    @abstractmethod
    def simulate(self, size: int, runs: int, rng: np.random.Generator) -> Floats:
        """Draws of the law in double precision, for audits and studies: shape (runs, size)."""

    def draws(self, size: int, kept: Ints) -> Floats:  # noqa: ARG002
        """Public draws of the coordinates `kept` of `size`, from a fixed stream: (runs, kept).

        They are those of as many coordinates as are kept: the same where coordinates are independent.
        """
        return self.simulate(kept.size, RUNS, streams.simulation(1))

    def radii(self, size: int) -> Floats:
        """Equally likely factors r: normal noise of these deviations times r has nearly this law.

        The only factor is 1 for laws whose sums over many coordinates are nearly normal; see
        `Euclidean` for the other case.
        """
        del size
        return np.ones(1)

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, from which `law_from_dict` rebuilds the law."""
        return {"law": self.name, "scale": self.scale, "step": self.step}


@dataclass(frozen=True)
class Normal(Law):
    """Discrete Gaussian of standard deviation `scale` in every coordinate (M3.5)."""

    name = "discrete-gaussian"

    def deviations(self, size: int) -> Floats:
        return np.full(size, self.scale)

    def simulate(self, size: int, runs: int, rng: np.random.Generator) -> Floats:
        return rng.standard_normal((runs, size)) * self.scale


@dataclass(frozen=True)
class LaplaceLaw(Law):
    """P(k step) proportional to exp(-|k| step / scale) in every coordinate."""

    name = "discrete-laplace"

    def deviations(self, size: int) -> Floats:
        ratio = self.step / self.scale  # variance of the discrete law: step^2 / (cosh(ratio) - 1)
        return np.full(size, self.step / (math.sqrt(2.0) * math.sinh(ratio / 2)))

    def simulate(self, size: int, runs: int, rng: np.random.Generator) -> Floats:
        pair = rng.geometric(-math.expm1(-self.step / self.scale), (2, runs, size))
        return (pair[0] - pair[1]) * self.step


@dataclass(frozen=True)
class Euclidean(Law):
    """Density proportional to exp(-|z| / scale), |z| the l2 norm of all coordinates; rounded."""

    name = "l2"

    def deviations(self, size: int) -> Floats:
        return np.full(size, self.scale * math.sqrt(size + 1))  # E|z|^2 = size (size + 1) scale^2

    def simulate(self, size: int, runs: int, rng: np.random.Generator) -> Floats:
        z = rng.standard_normal((runs, size))
        length = rng.gamma(size, self.scale, runs) / np.sqrt(np.sum(z**2, axis=1))
        return z * length[:, None]

    def draws(self, size: int, kept: Ints) -> Floats:
        rng = streams.simulation(1)
        z = rng.standard_normal((RUNS, kept.size))
        square = np.sum(z**2, axis=1)
        if size > kept.size:
            square += rng.chisquare(size - kept.size, RUNS)
        return z * (rng.gamma(size, self.scale, RUNS) / np.sqrt(square))[:, None]

    def radii(self, size: int) -> Floats:
        levels = (np.arange(64) + 0.5) / 64
        return gammaincinv(size, levels) / math.sqrt(size * (size + 1))


@dataclass(frozen=True)
class OrbitopeLaw(Law):
    """Two-sided Caratheodory noise on the moments (c_0, c_1..c_m) (M11); rounded."""

    real: bool  # reflecting: cosines only

    name = "orbitope"
    white = False
    moments = True

    def degree(self, size: int) -> int:
        """m, the highest order of the moments, from the number of coordinates."""
        return size - 1 if self.real else (size - 1) // 2

    def deviations(self, size: int) -> Floats:
        m, draws = self.degree(size), self.draws(size, np.arange(size))
        square = np.mean(draws**2, axis=0)  # symmetric: the mean is zero
        if not self.real:  # a cosine and its sine have one law
            pair = (square[1 : m + 1] + square[m + 1 :]) / 2
            square = np.concatenate([square[:1], pair, pair])
        return np.sqrt(square)

    def simulate(self, size: int, runs: int, rng: np.random.Generator) -> Floats:
        return cone_draws(self.degree(size), runs, rng, real=self.real) * self.scale

    def draws(self, size: int, kept: Ints) -> Floats:
        return public_draws(self.degree(size), real=self.real)[:, kept] * self.scale

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"real": self.real}


@dataclass(frozen=True)
class BinnedLaplace(Law):
    """Cosine moments of equal bins, P(k step) proportional to exp(-|k| step / scale) in each bin.

    Moments 1 and above are uncorrelated; they reach further than normal ones where few bins make
    a value.  The constant moment is known, so its noise is not described.
    """

    cells: int  # bins; more than there are moments

    name = "binned-laplace"
    moments = True

    def deviations(self, size: int) -> Floats:
        one = float(LaplaceLaw(self.scale, self.step).deviations(1)[0])
        return np.full(size, one * math.sqrt(self.cells / 2))

    def simulate(self, size: int, runs: int, rng: np.random.Generator) -> Floats:
        law, out = LaplaceLaw(self.scale, self.step), np.empty((runs, size))
        rows = max(1, (1 << 20) // self.cells)
        for first in range(0, runs, rows):
            part = out[first : first + rows]
            part[:] = dct(law.simulate(self.cells, len(part), rng), type=2)[:, :size] / 2
        return out

    def draws(self, size: int, kept: Ints) -> Floats:
        return self.simulate(size, RUNS, streams.simulation(1))[:, kept]

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | {"cells": self.cells}


LAWS: dict[str, type[Law]] = {
    law.name: law for law in (Normal, LaplaceLaw, Euclidean, OrbitopeLaw, BinnedLaplace)
}


def law_from_dict(fields: dict[str, Any]) -> Law:
    """Rebuild a law from a table of names; ValueError where a field is out of range."""
    name = fields.get("law")
    if not isinstance(name, str) or name not in LAWS:
        raise ValueError(f"unknown noise law {name!r}; this version knows {', '.join(LAWS)}")
    scale = fields.get("scale", fields.get("sd"))  # format 1 called it sd
    numbers: dict[str, Any] = {"scale": scale, "step": fields.get("step")}
    for key, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 1e-100 < value < 1e15:
            raise ValueError(f"{key} of the noise must be a number above 0")
    if name == OrbitopeLaw.name:
        if not isinstance(fields.get("real"), bool):
            raise ValueError("real of the noise must be true or false")
        return OrbitopeLaw(float(numbers["scale"]), float(numbers["step"]), fields["real"])
    if name == BinnedLaplace.name:
        cells = fields.get("cells")
        if isinstance(cells, bool) or not isinstance(cells, int) or not 2 <= cells <= MOST_BINS:
            raise ValueError(f"cells of the noise must be a whole number in [2, {MOST_BINS}]")
        return BinnedLaplace(float(numbers["scale"]), float(numbers["step"]), cells)
    return LAWS[name](float(numbers["scale"]), float(numbers["step"]))


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
    """The exponents 1/b of the canonical moments, with |alpha_k|^2 = 1 - U^(1/b)."""
    if real:
        return [1 / (degree - k - 0.5) for k in range(degree)]
    return [1 / (2 * (degree - k) - 1) for k in range(degree)]


def uniform_moments(degree: int, runs: int, rng: np.random.Generator, *, real: bool) -> Floats:
    """Uniform draws from the body in double precision, for public simulation: shape (m or 2 m, runs)."""
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
    """`cone_draws` from a fixed public stream, from which errors and bands are computed."""
    runs = min(RUNS, max(1000, 64 * RUNS // degree))  # fewer where each one is long
    draws = cone_draws(degree, runs, streams.simulation(2 * degree + real), real=real)
    draws.setflags(write=False)
    return draws
