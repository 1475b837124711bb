"""Laws of noise: public, and all that a release tells about its error.  M15.

A law knows the standard deviation of every coordinate and how to simulate itself.  How noise is
drawn for a release, exactly, is the mechanisms' business.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.fft import dct
from scipy.special import gammaincinv

from mercer.common import streams
from mercer.common.checks import Floats, Ints
from mercer.noise.orbitope import RUNS, cone_draws, public_draws

__all__ = [
    "LAWS",
    "MOST_BINS",
    "BinnedLaplace",
    "Euclidean",
    "LaplaceLaw",
    "Law",
    "Normal",
    "OrbitopeLaw",
    "law_from_dict",
]

MOST_BINS = 1 << 12  # whose noise is simulated bin by bin


@dataclass(frozen=True)
class Law(ABC):
    """Symmetric noise on lattice points; `scale` is the law's own parameter."""

    scale: float
    step: float  # of the lattice: a power of two

    name: ClassVar[str]
    white: ClassVar[bool] = True  # coordinates are uncorrelated, with one standard deviation
    moments: ClassVar[bool] = False  # for trigonometric moments alone

    @abstractmethod
    def deviations(self, size: int) -> Floats:
        """Standard deviation of each of `size` coordinates."""

    @abstractmethod
    def simulate(self, size: int, runs: int, rng: np.random.Generator) -> Floats:
        """Draws of the law in doubles, for audits and studies: shape (runs, size)."""

    @abstractmethod
    def draws(self, size: int, kept: Ints) -> Floats:
        """Public draws of the coordinates `kept` of `size`, from a fixed stream: (runs, kept)."""

    def radii(self, size: int) -> Floats:
        """Equally likely factors by which normal noise of the same deviations is the law, nearly.

        One for laws whose sums over many coordinates are normal; see `Euclidean`.
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

    def draws(self, size: int, kept: Ints) -> Floats:  # noqa: ARG002
        return self.simulate(kept.size, RUNS, streams.simulation(1))


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

    def draws(self, size: int, kept: Ints) -> Floats:  # noqa: ARG002
        return self.simulate(kept.size, RUNS, streams.simulation(1))


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
        """m, from the number of coordinates."""
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
    a value.  The constant moment is known, and no noise of it is told.
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
