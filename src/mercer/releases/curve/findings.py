"""What a mean curve tells of the curves: see `mercer.releases.findings`.  M9, M18.

A mean of curves of norm at most one has a norm that the noisy coordinates tell.
"""

from __future__ import annotations

import math

import numpy as np

from mercer.common.checks import Floats
from mercer.noise.laws import Normal
from mercer.releases.curve.release import CurveRelease
from mercer.releases.findings import DRY, Finding, hidden, reach

__all__ = ["curve_findings"]

_FULL = 0.95  # norm of a mean, in bounds: its curves have that much or more on average
_NOISE = 0.05  # of a coordinate, in bounds, without which "flat" is no fault of the noise


def curve_findings(release: CurveRelease) -> tuple[Finding, ...]:
    """Whether the mean is as large as the bound lets it be, or nothing but noise."""
    if release.order == "paper":
        return ()  # its coordinates are those of the smoothed curve
    sd = float(release.law.deviations(release.raw.size)[0])
    around = "the public centre" if release.center.any() else "zero"
    if hidden(release.raw / sd):
        if sd <= _NOISE:
            return ()
        return (Finding("flat", f"the mean of {release.value} cannot be told from {around}: {DRY}"),)
    square, noise = _squared_norm(release.raw, sd)
    least = square - reach(normal=isinstance(release.law, Normal)) * noise
    if least < _FULL**2 or square > 1.5:
        return ()
    size = min(math.sqrt(square), 1.0) * release.bound
    apart = " around the centre" if release.center.any() else ""
    return (
        Finding(
            "clipped",
            f"the mean of {release.value} has a root mean square{apart} of about {size:.3g}, and "
            f"no curve can have more than the bound, {release.bound:g}, to which larger ones are "
            "scaled down: so are most, it seems; is the bound in the unit of the values?",
        ),
    )


def _squared_norm(raw: Floats, sd: float) -> tuple[float, float]:
    """Of the mean without noise: an unbiased estimate, and its standard deviation."""
    square = max(float(np.sum(raw**2)) - raw.size * sd**2, 0.0)
    return square, math.sqrt(2 * raw.size * sd**4 + 4 * max(square, sd**2) * sd**2)
