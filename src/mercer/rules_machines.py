"""Public rules for kernel machines: bandwidth, features, penalty.  Layer 2.  M8.

Functions of the number of records, of columns and of the promise, never of a record.
studies/machine_rules.py measured the constants.
"""

from __future__ import annotations

import math

__all__ = ["bandwidth_rule", "feature_rule", "penalty_rule"]


def bandwidth_rule(dimension: int) -> float:
    """Bandwidth of the kernel as a share of the width of the bounds, the same in all columns."""
    return min(0.25 * math.sqrt(dimension), 2.0)


def feature_rule(dimension: int, *, pure: bool) -> tuple[str, int]:
    """Kind and number of features.

    With a delta, noise at a point does not depend on their number; a pure promise pays for each.
    """
    if dimension <= 3:
        sizes = {1: (16, 40), 2: (25, 100), 3: (35, 200)}[dimension]
        return "eigenfunctions", sizes[0] if pure else sizes[1]
    if pure:
        return "taylor", 1 if dimension > 8 else 2
    return "random", 512


def penalty_rule(*, n: int, multiplier: float, kappa: float, steepness: float) -> float:
    """Penalty at which the noise at a point is a fixed share of the function's scale.

    Noise at a point has standard deviation multiplier * steepness * kappa^2 / (penalty n).
    """
    return max(3.0 * multiplier * steepness * kappa**2 / n, 1e-6)
