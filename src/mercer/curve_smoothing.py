"""Smoothing of noisy curves, chosen from the noisy coordinates alone.  Layer 4.  M17.

Stein's unbiased estimate of the risk of a filter with factors s in uncorrelated coordinates y
with noise of variance v is sum (1 - s)^2 (y^2 - v) + s^2 v: it needs the noise's variance only,
not its law.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mercer.checks import Floats
from mercer.modes import Filter, shrink
from mercer.polynomials import Polynomials

__all__ = ["ETAS", "PENALTIES", "SCALES", "cautious_risk", "choose_filter", "estimated_risk"]

SCALES = tuple(float(h) for h in np.geomspace(0.02, 0.64, 11))
ETAS = (1.0, 1.5, 2.0, 3.0, 4.0)
# times the largest eigenvalue to the power eta: the first eigenfunction keeps ten elevenths, or
# a curve below the noise would vanish together with its band
_CAUTION = 2.0
PENALTIES = np.logspace(-12, -1, 45)


def choose_filter(
    coordinates: Floats,
    variance: float,
    polynomials: Polynomials,
    frame: Floats | None,
    *,
    kernel: str,
    scales: Sequence[tuple[float, ...]],
    etas: Sequence[float],
    penalty: float | None,
) -> Filter:
    """The filter of least estimated risk among these scales and powers, and a penalty or all."""
    best: tuple[float, Filter] | None = None
    for lengths in scales:
        found = Filter(kernel, lengths, 1.0, 1.0).modes(polynomials).within(frame)
        turned = found.vectors.T @ coordinates
        for eta in etas:
            top = float(found.values[0] ** eta)
            penalties = PENALTIES * top if penalty is None else np.array([penalty])
            factors = shrink(found.values[None, :], eta, penalties[:, None])
            risks = cautious_risk(turned, variance, factors)
            place = int(np.argmin(risks))
            if best is None or risks[place] < best[0]:
                least = max(float(penalties[place]), math.ulp(0.0))
                best = (float(risks[place]), Filter(kernel, lengths, eta, least))
    if best is None:
        raise ValueError("there must be at least one scale and one eta")
    return best[1]


def cautious_risk(turned: Floats, variance: float, factors: Floats) -> Floats:
    """The estimate and two standard deviations of what noise alone does to it.

    The least of many estimates is too good: noise lets some rough filter seem right.  Two is a
    choice; it is measured in studies/results/curve_caution.md.
    """
    spread = variance * np.sqrt(2 * np.sum(factors**2, axis=-1))
    return estimated_risk(turned, variance, factors) + _CAUTION * spread


def estimated_risk(turned: Floats, variance: float, factors: Floats) -> Floats:
    """Expected squared error of y times each row of factors, without bias, up to a constant."""
    return (1 - factors) ** 2 @ (turned**2 - variance) + variance * np.sum(factors**2, axis=-1)
