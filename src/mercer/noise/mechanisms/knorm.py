"""K-norm noise: density proportional to exp(-gauge(z) epsilon / Delta).  M11, M3.6.

Thesis, Sec. 1.3.3; Hardt and Talwar 2010.  A draw is a radius, Gamma(d + 1), times a uniform point
of the body, computed in ball arithmetic until its rounding to the lattice is certain: what is
released is a rounding of the real number itself, and so as private.  docs/proofs/knorm.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.common.checks import Floats, Ints, check_count
from mercer.common.streams import simulation
from mercer.noise.entropy import Entropy
from mercer.noise.exact import balls, gamma, phases, powered, settle
from mercer.noise.laws import Euclidean, Law
from mercer.noise.mechanisms.base import Mechanism, Noise, check_norm, check_promise, lattice_below
from mercer.noise.orbitope import RUNS
from mercer.promise.events import PureEvent, Sensitivity

__all__ = ["L2", "Body", "KNorm", "KNormNoise", "cross_polytope", "cube", "euclidean_ball"]


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
    """The law of K-norm noise for a body that has no name: simulated where it is asked for."""

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
class KNorm(Mechanism, by_name=False):
    """Noise shaped like a given symmetric body: pure epsilon-DP in the body's own norm.

    The sensitivity is a bound on the body's gauge of the change; its norm is called "body".
    """

    body: Body

    name = "k-norm"
    norm = "body"
    pure = True

    @property
    def words(self) -> str:
        return "K-norm noise, rounded to a lattice with certainty"

    def multiplier(self, size: int, *, epsilon: float, delta: float) -> float:  # noqa: ARG002
        law = BodyLaw(1.0, 1.0, self.body)
        return float(np.sqrt(np.mean(law.deviations(size) ** 2))) / epsilon

    def event(self, *, epsilon: float, delta: float) -> PureEvent:  # noqa: ARG002
        return PureEvent(epsilon)

    def calibrate(
        self, sensitivity: Sensitivity, size: int, *, epsilon: float, delta: float = 0.0
    ) -> KNormNoise:
        epsilon = check_promise(self, epsilon, delta)["epsilon"]
        check_norm(self, sensitivity)
        if size != self.body.dimension:
            raise ValueError(f"size must be the body's dimension {self.body.dimension}, got {size}")
        scale = _scale(sensitivity, epsilon)
        law = BodyLaw(scale, lattice_below(scale), self.body)
        return KNormNoise(law, self.body, PureEvent(epsilon))


@dataclass(frozen=True)
class L2(Mechanism):
    """Direction uniform, length Gamma(d, Delta / epsilon): pure epsilon-DP in the l2 norm.

    The "Gamma" mechanism: K-norm noise of the Euclidean ball.  Any orthonormal coordinates.
    """

    name = "l2"
    norm = "l2"
    pure = True

    @property
    def words(self) -> str:
        return "l2 (uniform direction, Gamma length), rounded to a lattice with certainty"

    def multiplier(self, size: int, *, epsilon: float, delta: float) -> float:  # noqa: ARG002
        return math.sqrt(size + 1) / epsilon

    def event(self, *, epsilon: float, delta: float) -> PureEvent:  # noqa: ARG002
        return PureEvent(epsilon)

    def calibrate(
        self, sensitivity: Sensitivity, size: int, *, epsilon: float, delta: float = 0.0
    ) -> KNormNoise:
        epsilon = check_promise(self, epsilon, delta)["epsilon"]
        check_norm(self, sensitivity)
        size = check_count("size", size, least=1, most=1 << 16, hint="coordinates released")
        scale = _scale(sensitivity, epsilon)
        law = Euclidean(scale, lattice_below(scale))
        return KNormNoise(law, euclidean_ball(size), PureEvent(epsilon))


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
    """{|z|_inf <= 1}: every coordinate uniform."""

    def uniform(u: Sequence[Any]) -> list[Any]:
        return [2 * value - 1 for value in u]

    return Body(dimension, dimension, lambda z: float(np.max(np.abs(z))), uniform)


def _scale(sensitivity: Sensitivity, epsilon: float) -> float:
    """Delta / epsilon, rounded up."""
    return math.nextafter(sensitivity.value / epsilon * (1 + 1e-12), math.inf)
