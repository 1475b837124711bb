"""Eigenfunctions of a kernel on the unit cube, as polynomials, and filters of them.

M9, M17; Mirshani, Reimherr and Slavkovic 2019, Sec. 4.  The kernel's integral operator in the
coordinates of orthonormal polynomials is a matrix; its eigenpairs are those of the operator up to
what the polynomials cannot resolve.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, reduce
from typing import Any

import numpy as np

from mercer.common.checks import Floats
from mercer.spaces.kernels import KERNELS
from mercer.spaces.polynomials import Polynomials, gauss

__all__ = [
    "CURVE_KERNELS",
    "Modes",
    "SpectralFilter",
    "cameron_martin",
    "derivatives_of",
    "gain_of",
    "level_of",
    "modes",
    "shrink",
]

CURVE_KERNELS = ("gaussian", "matern52", "matern32", "exponential")
LEAST_SCALE, MOST_SCALE = 0.005, 10.0  # of the width
_NODES = 512
DUST = 2.0**-40  # eigenvalues below this share of the largest are rounding


@dataclass(frozen=True, eq=False)
class Modes:
    """Eigenvalues in decreasing order, and eigenvectors as columns.

    An infinite eigenvalue belongs to the constant, which no penalty shrinks.
    """

    values: Floats
    vectors: Floats

    @property
    def top(self) -> float:
        """The largest eigenvalue that a penalty is compared with."""
        return float(self.values[int(np.isinf(self.values[0])) if len(self.values) > 1 else 0])

    def within(self, frame: Floats | None) -> Modes:
        """The eigenpairs of the kernel restricted to the span of a frame, in the frame's coordinates."""
        if frame is None:
            return self
        mixed = frame @ self.vectors
        values, vectors = np.linalg.eigh((mixed * self.values) @ mixed.T)
        return Modes(np.maximum(values[::-1], 0.0), vectors[:, ::-1])

    def levelled(self, frame: Floats | None) -> Modes:
        """As `within`, with the constant (its image in the frame) split off from all other functions."""
        mixed = self.vectors if frame is None else frame @ self.vectors
        constant = np.eye(len(self.vectors))[0] if frame is None else frame[:, 0]
        constant = constant / np.linalg.norm(constant)
        matrix = (mixed * self.values) @ mixed.T
        matrix -= np.outer(constant, constant @ matrix)
        matrix -= np.outer(matrix @ constant, constant)
        matrix += 2 * np.outer(constant, constant)  # above all eigenvalues: the first vector
        values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
        values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1].copy()
        values[0], vectors[:, 0] = math.inf, constant
        return Modes(values, vectors)


def derivatives_of(kernel: str) -> float:
    """How often a path of noise of this kernel can be differentiated."""
    nu = KERNELS[kernel](((1.0,),)).smoothness
    return math.inf if math.isinf(nu) else math.ceil(nu) - 1


@lru_cache(maxsize=96)
def modes(kernel: str, scales: tuple[float, ...], polynomials: Polynomials) -> Modes:
    """Eigenpairs of a product kernel with one length scale for each coordinate."""
    lines = [_line(kernel, h, side) for h, side in zip(scales, polynomials.sides, strict=True)]
    if len(lines) == 1:
        return lines[0]
    values = reduce(np.multiply.outer, [line.values for line in lines]).reshape(-1)
    vectors: Floats = np.kron(*[line.vectors for line in lines]).astype(np.float64)
    order = np.argsort(-values, kind="stable")
    return Modes(values[order], vectors[:, order])


@lru_cache(maxsize=96)
def _levelled(kernel: str, scales: tuple[float, ...], polynomials: Polynomials) -> Modes:
    return modes(kernel, scales, polynomials).levelled(None)


@lru_cache(maxsize=256)
def _line(kernel: str, scale: float, side: int) -> Modes:
    nodes, weights = gauss(max(_NODES, 2 * side))
    matrix = KERNELS[kernel](((scale * scale,),))(nodes[:, None], nodes[:, None])
    if kernel == "exponential":  # a corner on the diagonal: the sum's first error (Euler-Maclaurin)
        matrix[np.diag_indices_from(matrix)] -= weights / (6 * scale)
    table = Polynomials((side,)).rows(nodes[:, None]) * weights[:, None]
    values, vectors = np.linalg.eigh(table.T @ matrix @ table)
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(side)]
    vectors = vectors * np.where(largest < 0, -1.0, 1.0)  # the same on every machine
    return Modes(np.maximum(values[::-1], 0.0), vectors[:, ::-1])


@dataclass(frozen=True)
class SpectralFilter:
    """The penalised mean: factor lambda^eta / (lambda^eta + penalty) of every eigenfunction.

    `scales` are the kernel's lengths as shares of the domain's widths; eigenvalues are those on
    the unit cube.
    """

    kernel: str
    scales: tuple[float, ...]
    eta: float
    penalty: float
    level: bool = False  # the constant is left as it is

    def __post_init__(self) -> None:
        known = self.kernel in CURVE_KERNELS and all(
            LEAST_SCALE <= scale <= MOST_SCALE for scale in self.scales
        )
        if not (known and 1 <= self.eta <= 16 and 0 < self.penalty < 1e12):
            raise ValueError(
                f"a filter needs one of {', '.join(CURVE_KERNELS)}, scales from {LEAST_SCALE:g} to "
                f"{MOST_SCALE:g} of the width, eta from 1 to 16 and a penalty above 0"
            )

    def modes(self, polynomials: Polynomials) -> Modes:
        """Eigenpairs of the filter's kernel in the coordinates of these polynomials."""
        return modes(self.kernel, self.scales, polynomials)

    def seen(self, polynomials: Polynomials, frame: Floats | None) -> Modes:
        """The eigenpairs to which the factors apply, in the coordinates of a frame (None: all)."""
        if not self.level:
            return self.modes(polynomials).within(frame)
        if frame is None:
            return _levelled(self.kernel, self.scales, polynomials)
        return self.modes(polynomials).levelled(frame)

    def factors(self, values: Floats) -> Floats:
        """The factor of every eigenfunction, from its eigenvalue."""
        return shrink(values, self.eta, self.penalty)

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, from which `from_dict` rebuilds the filter."""
        return {
            "kernel": self.kernel,
            "scales": list(self.scales),
            "eta": self.eta,
            "penalty": self.penalty,
            "level": self.level,
        }

    @classmethod
    def from_dict(cls, fields: object) -> SpectralFilter:
        """Rebuild a filter from what `to_dict` wrote; ValueError if a field is out of range."""
        if not isinstance(fields, dict):
            raise ValueError("smoothing must be a JSON object")
        scales = fields.get("scales")
        numbers = [fields.get("eta"), fields.get("penalty")]
        if not isinstance(scales, list) or not 1 <= len(scales) <= 2:
            raise ValueError("scales of the smoothing must be one or two numbers")
        if not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in [*scales, *numbers]):
            raise ValueError("scales, eta and penalty of the smoothing must be numbers")
        if not isinstance(fields.get("level"), bool):
            raise ValueError("level of the smoothing must be true or false")
        eta, penalty = (float(v) for v in numbers)  # type: ignore[arg-type]
        lengths = tuple(float(v) for v in scales)
        return cls(str(fields.get("kernel")), lengths, eta, penalty, fields["level"])


def level_of(polynomials: Polynomials) -> bool:
    """Whether smoothing leaves the constant unchanged: yes, up to 512 functions."""
    return polynomials.size <= 512  # beyond, splitting it off takes too long


def shrink(values: Floats, eta: float, penalty: float | Floats) -> Floats:
    """lambda^eta / (lambda^eta + penalty); one where lambda is infinite."""
    endless = np.isinf(values)
    power = np.where(endless, 1.0, values) ** eta
    return np.where(endless, 1.0, power / (power + penalty))


def cameron_martin(
    smoothing: SpectralFilter, noise_kernel: str, polynomials: Polynomials
) -> tuple[Floats, Floats]:
    """Mirshani's estimator in coordinates of the noise's space: (encode, decode) (M9).

    encode takes the mean's coordinates to those of the penalised mean that are orthonormal in the
    noise's Cameron-Martin space, lambda^(-1/2) S with S the filter; decode takes them back.
    Directions in which the noise has no variance beyond rounding are left out of both (M3.1).
    """
    own = smoothing.modes(polynomials)
    noise = SpectralFilter(noise_kernel, smoothing.scales, 1.0, 1.0).modes(polynomials)
    kept = noise.values > DUST * noise.values[0]
    root = np.sqrt(noise.values[kept])
    vectors = noise.vectors[:, kept]
    factors = smoothing.factors(own.values)
    if noise_kernel == smoothing.kernel:  # the same eigenfunctions: no rounding between them
        encode = (vectors * (factors[kept] / root)).T
    else:
        encode = (vectors / root).T @ (own.vectors * factors) @ own.vectors.T
    return encode, vectors * root


def gain_of(encode: Floats | None) -> float:
    """Operator norm of the map `encode`, rounded up; one where there is none.  It is public."""
    return 1.0 if encode is None else float(np.linalg.norm(encode, 2)) * (1 + 1e-9)
