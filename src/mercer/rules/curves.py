"""Public rules for mean curves: how many coordinates, and which penalty.  M9, M12, M17.

Functions of the number of curves and of the promise, never of a curve.
"""

from __future__ import annotations

import numpy as np

from mercer.common.checks import Floats
from mercer.spaces.modes import Modes, SpectralFilter, level_of, shrink
from mercer.spaces.polynomials import Polynomials

__all__ = [
    "REFERENCE",
    "SIDES",
    "TYPICAL_SCALE",
    "coordinates_rule",
    "frame_of",
    "penalty_rule",
    "rule_penalties",
]

SIDES = {1: (128,), 2: (20, 20)}  # polynomials along each argument
REFERENCE = ("matern52", 0.2)  # whose first eigenfunctions a pure promise releases
TYPICAL_SCALE = 0.1  # of the width, where a rule needs one
_LEAST = 6


def coordinates_rule(polynomials: Polynomials, *, n: int, epsilon: float) -> int:
    """How many coordinates a pure promise releases: every one adds to the noise of all.

    2.8 (n epsilon)^(1/3) for curves: with noise that grows as m and a remainder that falls as
    1/m^2, the sum is least at such a power.  For surfaces the 2/4 power of the same argument.
    """
    d = polynomials.dimension
    many = 2.8 * (n * epsilon) ** (1 / 3) if d == 1 else 2.8 * (n * epsilon) ** 0.5
    return int(np.clip(round(many), min(_LEAST, polynomials.size), polynomials.size))


def frame_of(polynomials: Polynomials, size: int) -> Floats:
    """The constant and the first eigenfunctions of the rest of the reference kernel, as rows."""
    kernel, scale = REFERENCE
    some = SpectralFilter(kernel, (scale,) * polynomials.dimension, 1.0, 1.0, level_of(polynomials))
    found = some.seen(polynomials, None)
    return np.ascontiguousarray(found.vectors[:, :size].T)


def penalty_rule(modes: Modes, noise: Floats, penalties: Floats, eta: float) -> tuple[float, float]:
    """Largest expected squared error over a class of curves, and the penalty where it is least.

    The class: functions of norm at most the bound in the kernel's space, so that the penalty
    takes away at most max_j lambda_j (1 - s_j)^2.  `noise` is the expected squared error that
    privacy adds at each penalty, both in units of the squared bound.
    """
    factors = shrink(modes.values[None, :], eta, penalties[:, None])
    finite = np.isfinite(modes.values)  # nothing is taken from a constant that is left alone
    bias = np.max(modes.values[finite] * (1 - factors[:, finite]) ** 2, axis=1)
    place = int(np.argmin(bias + noise))
    return float(bias[place] + noise[place]), float(penalties[place])


def rule_penalties(modes: Modes, eta: float) -> Floats:
    """Candidate penalties: multiples of the largest eigenvalue to the power eta."""
    return np.logspace(-9, 2, 56) * modes.top**eta
