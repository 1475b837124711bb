"""Objective perturbation: a random slope is added before the minimum is sought.  M8.

Which noise hides a record follows from public bounds of the machines; the noise is drawn, the
objective is minimised with it, and a trace of noise hides what the solver leaves.

With b drawn first, w(b) = argmin P(w) + b'w / n.  The map from b to w is one to one, so the
density of w is that of b(w) = -n grad P(w) times a determinant.  Replacing a row moves b(w) by
v = c' phi(x') - c phi(x), c and c' slopes of the loss within [low, high], and the determinant by at
most `growth`.  The log-likelihood ratio is convex in v, so at any b it is largest at one of the
four corners of (c, c'), and at a corner it is that of two shifted normals.  So

    delta <= sum over corners of delta_Gauss(|v| / s; epsilon - growth),

which for two classes is one Gaussian mechanism of sensitivity 2 kappa and two, much smaller, of
kappa.  The pure variant needs only |v|.  docs/proofs/machines.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.optimize import brentq

from mercer.common.checks import Floats
from mercer.noise.entropy import MAX_SCALE, Entropy
from mercer.noise.laws import Law, Normal
from mercer.noise.mechanisms.additive import Gaussian, GaussianNoise
from mercer.noise.mechanisms.base import AnyMechanism, Noise, Randomiser
from mercer.noise.mechanisms.knorm import L2
from mercer.promise.events import (
    ApproximateEvent,
    Event,
    GaussianEvent,
    PureEvent,
    Sensitivity,
    Slopes,
    corners,
    gaussian_log_delta,
    reach,
)
from mercer.sensitive.summaries.machine import MachineBounds, MachineObjective

__all__ = ["FINISH", "Objective", "Tilt", "TiltedNoise", "calibrate_tilt", "tilted_bounds", "tilted_noise"]

FINISH = 0.02  # share of epsilon and delta for the noise that hides what the solver leaves
_KEYS = 96  # squared lengths are rounded up to so many values
_BEYOND = math.sqrt(2 * 750.0)  # a normal vector is longer with probability e^-750, below 1e-325


@dataclass(frozen=True)
class Tilt:
    """The random slope b: its law, and how far a draw is from the real numbers that are meant."""

    noise: Noise
    scale: float  # standard deviation of a coordinate
    rounding: float  # l2 distance from what is meant
    longest: float  # |b| is longer with probability below e^-700

    @property
    def law(self) -> Law:
        """The law of the noise of one coordinate."""
        return self.noise.law

    def draw(self, size: int, entropy: Entropy) -> Floats:
        """A draw of b, as a point of a lattice."""
        return self.noise.add(np.zeros(size), entropy)


def calibrate_tilt(
    machines: Sequence[Slopes], growth: float, size: int, *, epsilon: float, delta: float
) -> Tilt:
    """The least noise for (1 - FINISH) of epsilon and delta.

    `growth` bounds the logarithm of the change of the determinant; `size` is the dimension of b.
    """
    inner, lost = (1 - FINISH) * epsilon * (1 - 1e-12), (1 - FINISH) * delta
    if inner <= growth:
        raise ValueError(f"growth = {growth:.3g} must be below epsilon = {epsilon:g}")
    if delta == 0:
        noise = L2().calibrate(
            Sensitivity(reach(machines) * (1 + 1e-9), norm="l2"), size, epsilon=inner - growth
        )
        half = noise.law.step * math.sqrt(size) / 2
        scale = noise.law.scale
        longest = scale * (size + 750 + math.sqrt(2 * 750.0 * size))  # Gamma(size), Chernoff
        return Tilt(noise, float(noise.law.deviations(size)[0]), half * (1 + 1e-9), longest)
    multiplier = _gaussian_scale(machines, inner - growth, lost)
    least = max(2.0**30, math.sqrt(25 * (1 + math.exp(min(epsilon, 700.0))) * size / lost))
    fine = 2 * least <= MAX_SCALE
    step = math.ldexp(1.0, math.floor(math.log2(multiplier / least))) if fine else 1.0
    steps = float(math.ceil(multiplier / step))
    if not fine or steps > MAX_SCALE:
        raise ValueError(
            f"delta = {delta:g} with epsilon = {epsilon:g} needs a finer lattice than 64-bit draws "
            "allow; use a larger delta or a smaller epsilon"
        )
    scale = steps * step
    sampler = GaussianNoise(Normal(scale, step), steps, GaussianEvent(reach(machines) / scale, 0.0))
    half = step * math.sqrt(size) / 2 * (1 + 1e-9)
    return Tilt(sampler, scale, half, scale * (math.sqrt(size) + _BEYOND))


def _gaussian_scale(machines: Sequence[Slopes], epsilon: float, delta: float) -> float:
    """The scale s with sum over corners of delta_Gauss(|v| / s; epsilon) <= delta, less the lattice's part.

    The discrete law of size coordinates is within size / (40 (s/step)^2) of rounded normals (M3.5);
    with s/step at least `least` that costs below delta / 1000.
    """
    lengths = _lengths(machines)
    target = math.log(delta) + math.log1p(-1e-3)

    def excess(log_scale: float) -> float:
        scale = math.exp(log_scale)
        terms = [
            math.log(count) + gaussian_log_delta(length / scale, epsilon=epsilon)
            for length, count in lengths.items()
        ]
        return max(float(np.logaddexp.reduce(terms)), -1e6) - target

    top = max(lengths)
    low, high = math.log(top) - math.log(epsilon + 100), math.log(top) - math.log(epsilon) + 40
    scale = math.exp(float(brentq(excess, low, high, xtol=1e-14, rtol=1e-14)))
    while excess(math.log(scale)) > -1e-9:
        scale *= 1 + 1e-9
    return scale


def _lengths(machines: Sequence[Slopes]) -> dict[float, int]:
    """The lengths |v| at the corners of all machines together, with the number of corners of each."""
    squares: dict[float, int] = {0.0: 1}
    top = reach(machines) ** 2
    for slopes in machines:
        joined: dict[float, int] = {}
        for (square, count), corner in itertools.product(squares.items(), corners(slopes)):
            total = square + corner**2
            key = min(top, math.ceil(total / top * _KEYS * (1 - 1e-12)) / _KEYS * top)
            joined[key] = joined.get(key, 0) + count
        squares = joined
    squares.pop(0.0, None)
    return {math.sqrt(square) * (1 + 1e-9): count for square, count in squares.items()}


class TiltedNoise(Randomiser[Callable[[Floats], Floats], Floats]):
    """Noise in the objective, then a little noise on the weights for what the solver leaves."""

    words = "random slope in the objective, then a trace of noise on the weights; exact samplers"

    def __init__(
        self, tilt: Tilt, distance: float, size: int, *, curvature: float, epsilon: float, delta: float
    ) -> None:
        """`distance` bounds how far penalty * weights are from the minimum that is meant.

        `law` is that of the weights to first order, where n times the objective curves no less
        than `curvature`.
        """
        mechanism = L2() if delta == 0 else Gaussian()
        bound = Sensitivity(2 * distance * (1 + 1e-9), norm="l2")
        self.tilt, self._size = tilt, size
        self.finish = mechanism.calibrate(bound, size, epsilon=FINISH * epsilon, delta=FINISH * delta)
        self.event: Event = ApproximateEvent(epsilon, delta) if delta else PureEvent(epsilon)
        inner, last = tilt.law, self.finish.law
        slope = float(inner.deviations(size)[0]) / curvature
        both = math.hypot(slope, float(last.deviations(size)[0]))
        self.law = replace(inner, scale=inner.scale / curvature * both / slope, step=last.step)

    def randomise(self, exact: Callable[[Floats], Floats], entropy: Entropy) -> Floats:
        """The weights with noise; `exact` finds the minimum for a given slope in the objective."""
        return self.finish.add(exact(self.tilt.draw(self._size, entropy)), entropy)


@dataclass(frozen=True)
class Objective(AnyMechanism[Callable[[Floats], Floats], Floats]):
    """Noise in the objectives of these machines, whose bounds hold with it: see `tilted_bounds`."""

    machines: MachineObjective

    norm = "l2"
    words: ClassVar[str] = TiltedNoise.words

    def calibrate(self, sensitivity: Sensitivity, size: int, *, epsilon: float, delta: float) -> TiltedNoise:
        """The corners of the machines' slopes say more than the sensitivity of them together."""
        bounds = self.machines.bounds
        if (sensitivity, size) != (self.machines.sensitivity(self.norm), self.machines.size):
            raise ValueError("noise in the objective is for its own machines; nothing was drawn")
        noise = tilted_noise(bounds, epsilon=epsilon, delta=delta)
        if bounds.tilt < noise.tilt.longest:
            raise ValueError("the solver's bounds do not hold for this noise; nothing was drawn")
        return noise


def tilted_bounds(bounds: MachineBounds, *, epsilon: float, delta: float) -> MachineBounds:
    """The same bounds with noise in the objectives: public."""
    tilt = _tilt(bounds, epsilon=epsilon, delta=delta)
    return replace(bounds, tilt=tilt.longest)


def tilted_noise(bounds: MachineBounds, *, epsilon: float, delta: float) -> TiltedNoise:
    """Noise for the objectives of these machines, and for what the solver leaves: public.

    Its law bounds that of the weights to first order: half the slope's, over n.
    """
    tilt = _tilt(bounds, epsilon=epsilon, delta=delta)
    bounds = replace(bounds, tilt=tilt.longest)
    bounds.check()
    left = math.sqrt(sum(bounds.left(machine) ** 2 for machine in bounds.machines))
    distance = left + tilt.rounding / (2 * bounds.n)  # of weights times penalties
    return TiltedNoise(tilt, distance, bounds.size, curvature=2 * bounds.n, epsilon=epsilon, delta=delta)


def _tilt(bounds: MachineBounds, *, epsilon: float, delta: float) -> Tilt:
    kappa, n = bounds.features.kappa, bounds.n
    growth = sum(
        math.log1p(machine.loss.curvature * kappa**2 / (2 * machine.penalty * n)) * (1 + 1e-9)
        for machine in bounds.machines
    )
    if delta and epsilon * FINISH < 1e-4:
        raise ValueError(
            f"epsilon must be at least {1e-4 / FINISH:g} for noise in the objective with a delta, "
            f"got {epsilon:g}; use method='output'"
        )
    if 2 * growth > epsilon:
        many = len(bounds.machines)
        enough = max(
            machine.loss.curvature * kappa**2 / (2 * n * math.expm1(epsilon / (2 * many)))
            for machine in bounds.machines
        )
        raise ValueError(
            f"penalty = {min(m.penalty for m in bounds.machines):.3g} is too small for noise in "
            f"the objective: the loss's curvature would cost {growth:.3g} of epsilon = "
            f"{epsilon:g}; nothing was spent; use a penalty of {enough:.3g} or more, or "
            "method='output'"
        )
    return calibrate_tilt(bounds.slopes, growth, bounds.size, epsilon=epsilon, delta=delta)
