"""Two-sided Caratheodory noise on trigonometric moments.  M11, M3.6; thesis, Sec. 4.4.

The body of moments is not symmetric: K-norm noise of it, as in the thesis with Delta = 2/n, is
(m + 1)/2 times less private than printed (E5).  The difference A - B of two independent draws on
the cone over the body is as private as claimed, and tells the share of records with values in the
same breath.  docs/proofs/orbitope.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.common.checks import Floats, check_count
from mercer.noise.entropy import Entropy, Uniforms
from mercer.noise.exact import balls, gamma, phases, powered, settle
from mercer.noise.laws import OrbitopeLaw
from mercer.noise.mechanisms.base import Mechanism, Noise, check_norm, check_promise, lattice_below
from mercer.noise.orbitope import powers
from mercer.promise.events import Norm, PureEvent, Sensitivity

__all__ = ["MOST_DEGREE", "Orbitope", "OrbitopeNoise"]

MOST_DEGREE = 512


@dataclass(frozen=True)
class OrbitopeNoise(Noise):
    """A - B on the cone of moments (c_0, c), rounded to the lattice with certainty."""

    law: OrbitopeLaw
    event: PureEvent

    def add(self, coordinates: Floats, entropy: Entropy) -> Floats:
        from flint import arb

        m, real = self.law.degree(len(coordinates)), self.law.real
        size = len(coordinates)
        sides = [(entropy.uniforms(size), entropy.uniforms(m), entropy.uniforms(m)) for _ in range(2)]
        scale, step = arb(self.law.scale), self.law.step

        def noisy(bits: int) -> list[Any]:
            plus, minus = (_cone(*side, bits, real=real) for side in sides)
            return [
                (arb(float(c)) + scale * (a - b)) / step
                for c, a, b in zip(coordinates, plus, minus, strict=True)
            ]

        return np.array([float(k) for k in settle(noisy)]) * step


@dataclass(frozen=True)
class Orbitope(Mechanism):
    """Noise shaped like the body of moments: pure epsilon-DP, squared error of order m^2.

    Coordinates are (c_0, c_1..c_m), c_j the mean of cos(pi j x) (`real`), or the real parts and
    then the imaginary parts of the mean of exp(2 pi i j x / period).
    """

    real: bool = True

    name = "orbitope"
    pure = True

    @property
    def norm(self) -> Norm:  # type: ignore[override]
        return "cosines" if self.real else "moments"

    @property
    def words(self) -> str:
        return "two-sided Caratheodory (orbitope), rounded to a lattice with certainty"

    def multiplier(self, size: int, *, epsilon: float, delta: float) -> float:  # noqa: ARG002
        law = OrbitopeLaw(2 / epsilon, 1.0, self.real)
        return float(np.sqrt(np.mean(law.deviations(size)[1:] ** 2)))

    def event(self, *, epsilon: float, delta: float) -> PureEvent:  # noqa: ARG002
        return PureEvent(epsilon)

    def calibrate(
        self, sensitivity: Sensitivity, size: int, *, epsilon: float, delta: float = 0.0
    ) -> OrbitopeNoise:
        """The scale is 2 Delta / epsilon, Delta the size of one record's own contribution."""
        epsilon = check_promise(self, epsilon, delta)["epsilon"]
        check_norm(self, sensitivity)
        most = (MOST_DEGREE if self.real else 2 * MOST_DEGREE) + 1
        size = check_count("size", size, least=2, most=most, hint="moments released, c_0 too")
        if not self.real and size % 2 == 0:
            raise ValueError(f"size must be odd (c_0, and pairs), got {size}")
        scale = math.nextafter(2 * sensitivity.value / epsilon * (1 + 1e-12), math.inf)
        return OrbitopeNoise(OrbitopeLaw(scale, lattice_below(scale), self.real), PureEvent(epsilon))


def _cone(mass: Uniforms, radii: Uniforms, turns: Uniforms, bits: int, *, real: bool) -> list[Any]:
    """(c_0, c_0 u): c_0 of law Gamma(size), u uniform on the body; in balls."""
    from flint import acb, arb

    total = gamma(balls(mass, bits))
    one = arb(1)
    points = zip(balls(radii, bits), phases(balls(turns, bits)), powers(len(turns), real=real), strict=True)
    c: list[Any] = [one if real else acb(1)]
    predictor: list[Any] = []
    error = one
    for u, (cosine, sine), power in points:
        # 1/b is 1 over a whole number or a half: exact as a quotient of balls
        square = 1 - powered(u, one / round(2 / power) * 2)
        radius = square.sqrt()
        alpha = radius * cosine if real else acb(radius * cosine, radius * sine)
        mirror = predictor[::-1] if real else [value.conjugate() for value in reversed(predictor)]
        following = error * alpha
        for a, past in zip(predictor, c[:0:-1], strict=True):
            following -= a * past
        c.append(following)
        predictor = [a - alpha * b for a, b in zip(predictor, mirror, strict=True)] + [-alpha]
        error = error * (1 - (alpha * alpha if real else square))
    body = c[1:] if real else [v.real for v in c[1:]] + [v.imag for v in c[1:]]
    return [total] + [total * value for value in body]
