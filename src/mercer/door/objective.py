"""Noise inside the objectives of machines, as a mechanism of its own.  M8.

Which noise hides a record follows from public bounds of the machines; the noise is drawn, the
objective is minimised with it, and a trace of noise hides what the solver leaves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from mercer.common.checks import Floats
from mercer.noise.mechanisms.base import AnyMechanism
from mercer.noise.mechanisms.objective import FINISH, Tilt, TiltedNoise, calibrate_tilt
from mercer.promise.events import Sensitivity
from mercer.sensitive.summaries.machine import MachineBounds, MachineObjective

__all__ = ["Objective", "tilted_bounds", "tilted_noise"]


@dataclass(frozen=True)
class Objective(AnyMechanism[Callable[[Floats], Floats], Floats]):
    """Noise in the objectives of these machines, whose bounds hold with it: see `tilted_bounds`."""

    machines: MachineObjective

    norm = "l2"
    words: ClassVar[str] = TiltedNoise.words
    calibration = "exact"

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
