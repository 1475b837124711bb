"""K-norm noise: density proportional to exp(-gauge(z) epsilon / Delta).  M11, M3.6.

Thesis, Sec. 1.3.3; Hardt and Talwar 2010.  A draw is a radius, Gamma(d + 1), times a uniform point
of the body, computed in ball arithmetic until its rounding to the lattice is certain: what is
released is a rounding of the real number itself, and so as private.  docs/proofs/knorm.md.

The body of trigonometric moments (thesis, Sec. 4.4) is not symmetric: K-norm noise of it, as in the
thesis with Delta = 2/n, is (m + 1)/2 times less private than printed (E5).  The difference A - B of
two independent draws on the cone over the body is as private as claimed, and releases the share of
records with values along with the moments.  docs/proofs/orbitope.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.common.checks import Floats, Ints, check_count
from mercer.common.streams import simulation
from mercer.noise.entropy import Entropy, Uniforms
from mercer.noise.exact import balls, gamma, phases, powered, settle
from mercer.noise.laws import RUNS, Euclidean, Law, OrbitopeLaw, powers
from mercer.noise.mechanisms.base import (
    Noise,
    PureMechanism,
    check_norm,
    check_promise,
    lattice_below,
    scale_above,
)
from mercer.promise.events import Norm, PureEvent, Sensitivity

__all__ = [
    "L2",
    "MOST_DEGREE",
    "Body",
    "KNorm",
    "KNormNoise",
    "Orbitope",
    "OrbitopeNoise",
    "cross_polytope",
    "cube",
    "euclidean_ball",
]

MOST_DEGREE = 512  # of moments


@dataclass(frozen=True)
class Body:
    """A convex body that is its own mirror image, by its gauge and a sampler.

    `uniform` makes a uniform point of the body from `uniforms` uniform numbers.  It is given them
    as balls (`flint.arb`) and may use any arithmetic of balls; results that are not yet known
    well enough are asked for again with more bits.
    """

    dimension: int
    uniforms: int
    gauge: Callable[[Floats], float]
    uniform: Callable[[Sequence[Any]], Sequence[Any]]


@dataclass(frozen=True)
class KNormNoise(Noise):
    """Noise of density exp(-gauge(z) / scale), rounded to the lattice with certainty."""

    law: Law
    body: Body
    event: PureEvent

    def add(self, coordinates: Floats, entropy: Entropy) -> Floats:
        from flint import arb

        d = self.body.dimension
        radius, place = entropy.uniforms(d + 1), entropy.uniforms(self.body.uniforms)
        scale, step = arb(self.law.scale), self.law.step

        def noisy(bits: int) -> list[Any]:
            reach = gamma(balls(radius, bits)) * scale
            point = self.body.uniform(balls(place, bits))
            return [(arb(float(c)) + reach * u) / step for c, u in zip(coordinates, point, strict=True)]

        return np.array([float(k) for k in settle(noisy)]) * step


@dataclass(frozen=True)
class BodyLaw(Law):
    """The law of K-norm noise for a body that the caller gave, described by simulation."""

    body: Body

    name = "k-norm"
    white = False

    def deviations(self, size: int) -> Floats:
        return np.sqrt(np.mean(self.draws(size, np.arange(size)) ** 2, axis=0))

    def simulate(self, size: int, runs: int, rng: np.random.Generator) -> Floats:
        from flint import arb

        points = [
            [float(value.mid()) for value in self.body.uniform([arb(u) for u in row])]
            for row in rng.random((runs, self.body.uniforms))
        ]
        return np.array(points) * rng.gamma(size + 1, self.scale, (runs, 1))

    def draws(self, size: int, kept: Ints) -> Floats:
        return self.simulate(size, RUNS, simulation(size))[:, kept]


@dataclass(frozen=True)
class KNorm(PureMechanism, by_name=False):
    """Noise shaped like a given symmetric body: pure epsilon-DP in the body's own norm.

    The sensitivity is a bound on the body's gauge of the change; its norm is called "body".
    """

    body: Body

    name = "k-norm"
    norm = "body"
    words = "K-norm noise, rounded to a lattice with certainty"

    def multiplier(self, size: int, *, epsilon: float, delta: float) -> float:
        law = BodyLaw(1.0, 1.0, self.body)
        return float(np.sqrt(np.mean(law.deviations(size) ** 2))) / epsilon

    def calibrate(
        self, sensitivity: Sensitivity, size: int, *, epsilon: float, delta: float = 0.0
    ) -> KNormNoise:
        epsilon = check_promise(self, epsilon, delta)["epsilon"]
        check_norm(self, sensitivity)
        if size != self.body.dimension:
            raise ValueError(f"size must be the body's dimension {self.body.dimension}, got {size}")
        scale = scale_above(sensitivity.value, epsilon)
        law = BodyLaw(scale, lattice_below(scale), self.body)
        return KNormNoise(law, self.body, PureEvent(epsilon))


@dataclass(frozen=True)
class L2(PureMechanism):
    """Direction uniform, length Gamma(d, Delta / epsilon): pure epsilon-DP in the l2 norm.

    The "Gamma" mechanism: K-norm noise of the Euclidean ball.  Any orthonormal coordinates.
    """

    name = "l2"
    norm = "l2"
    words = "l2 (uniform direction, Gamma length), rounded to a lattice with certainty"

    def multiplier(self, size: int, *, epsilon: float, delta: float) -> float:
        return math.sqrt(size + 1) / epsilon

    def calibrate(
        self, sensitivity: Sensitivity, size: int, *, epsilon: float, delta: float = 0.0
    ) -> KNormNoise:
        epsilon = check_promise(self, epsilon, delta)["epsilon"]
        check_norm(self, sensitivity)
        size = check_count("size", size, least=1, most=1 << 16, hint="coordinates released")
        scale = scale_above(sensitivity.value, epsilon)
        law = Euclidean(scale, lattice_below(scale))
        return KNormNoise(law, euclidean_ball(size), PureEvent(epsilon))


@dataclass(frozen=True)
class OrbitopeNoise(Noise):
    """The difference A - B of two draws on the cone of moments, rounded to the lattice with certainty."""

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
class Orbitope(PureMechanism):
    """Noise shaped like the body of moments: pure epsilon-DP, squared error of order m^2.

    Coordinates are (c_0, c_1..c_m), c_j the mean of cos(pi j x) (`real`), or the real parts and
    then the imaginary parts of the mean of exp(2 pi i j x / period).
    """

    real: bool = True

    name = "orbitope"
    words = "two-sided Caratheodory (orbitope), rounded to a lattice with certainty"

    @property
    def norm(self) -> Norm:  # type: ignore[override]
        return "cosines" if self.real else "moments"

    def multiplier(self, size: int, *, epsilon: float, delta: float) -> float:
        law = OrbitopeLaw(2 / epsilon, 1.0, self.real)
        return float(np.sqrt(np.mean(law.deviations(size)[1:] ** 2)))

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
        scale = scale_above(2 * sensitivity.value, epsilon)
        return OrbitopeNoise(OrbitopeLaw(scale, lattice_below(scale), self.real), PureEvent(epsilon))


def euclidean_ball(dimension: int) -> Body:
    """{|z|_2 <= 1}: normal numbers give the direction (Box and Muller), U^(1/d) the length."""
    from flint import arb

    pairs = (dimension + 1) // 2

    def uniform(u: Sequence[Any]) -> list[Any]:
        normals = []
        for first, (cosine, sine) in zip(u[:pairs], phases(u[pairs : 2 * pairs]), strict=True):
            size = (-2 * first.log()).sqrt()
            normals += [size * cosine, size * sine]
        normals = normals[:dimension]
        square = normals[0] * normals[0]
        for z in normals[1:]:
            square += z * z
        reach = powered(u[-1], arb(1) / dimension) / square.sqrt()
        return [z * reach for z in normals]

    return Body(dimension, 2 * pairs + 1, lambda z: float(np.sqrt(np.sum(z**2))), uniform)


def cross_polytope(dimension: int) -> Body:
    """{|z|_1 <= 1}, whose K-norm noise is Laplace's: shares of exponentials with random signs."""

    def uniform(u: Sequence[Any]) -> list[Any]:
        shares = [-value.log() for value in u[: dimension + 1]]
        total = shares[0]
        for share in shares[1:]:
            total += share
        return [
            share / total * (2 * coin).floor() * 2 - share / total
            for share, coin in zip(shares[:dimension], u[dimension + 1 :], strict=True)
        ]

    return Body(dimension, 2 * dimension + 1, lambda z: float(np.sum(np.abs(z))), uniform)


def cube(dimension: int) -> Body:
    """{|z|_inf <= 1}, whose uniform points have independent uniform coordinates."""

    def uniform(u: Sequence[Any]) -> list[Any]:
        return [2 * value - 1 for value in u]

    return Body(dimension, dimension, lambda z: float(np.max(np.abs(z))), uniform)


def _cone(mass: Uniforms, radii: Uniforms, turns: Uniforms, bits: int, *, real: bool) -> list[Any]:
    """A draw (c_0, c_0 u) on the cone, in balls: c_0 is Gamma(size), u is uniform on the body."""
    from flint import acb, arb

    total = gamma(balls(mass, bits))
    one = arb(1)
    points = zip(balls(radii, bits), phases(balls(turns, bits)), powers(len(turns), real=real), strict=True)
    c: list[Any] = [one if real else acb(1)]
    predictor: list[Any] = []
    error = one
    for u, (cosine, sine), power in points:
        # 1/b is 1 over an integer or a half: exact as a quotient of balls
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
