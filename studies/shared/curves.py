"""What the studies of mean curves share: coordinates, the papers' noise, what their files hold.

The data of real people and places are files in the folder that MERCER_DATA names.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.integrate import trapezoid

from mercer.spaces.modes import SpectralFilter
from mercer.spaces.polynomials import Polynomials
from studies.shared.report import Floats

__all__ = [
    "POLYNOMIALS",
    "coordinates",
    "gaussian_scale",
    "largest_norm",
    "printed_multiplier",
    "rms",
    "smoothed",
]

POLYNOMIALS = Polynomials((128,))  # what Mercer sees curves through


def gaussian_scale(rho: float) -> float:
    """The papers write exp(-|t - s|^2 / rho), Mercer exp(-|t - s|^2 / (2 scale^2))."""
    return math.sqrt(rho / 2)


def printed_multiplier(*, epsilon: float, delta: float) -> float:
    """Mirshani's and Hall's sqrt(2 ln(2/delta)) / epsilon; proved up to epsilon = 1 only (E1)."""
    return math.sqrt(2 * math.log(2 / delta)) / epsilon


def coordinates(curves: Floats, grid: Floats) -> Floats:
    """Of broken lines on [0, 1], in Mercer's polynomials: (curves, 128).  Not private."""
    return np.asarray(curves) @ POLYNOMIALS.of_grid([np.asarray(grid)])


def largest_norm(curves: Floats, grid: Floats) -> float:
    """The papers' tau: the largest norm of the curves, by the trapezoid rule.  Not private (E8)."""
    return math.sqrt(float(np.max(trapezoid(np.asarray(curves) ** 2, grid, axis=1))))


def smoothed(mean: Floats, smoothing: SpectralFilter) -> Floats:
    """The penalised mean without noise, from and to coordinates.  Not private."""
    found = smoothing.modes(POLYNOMIALS)
    return ((mean @ found.vectors) * smoothing.factors(found.values)) @ found.vectors.T


def rms(values: Floats) -> float:
    """Root mean square over [0, 1] of a function by its coordinates; over draws, if several."""
    square = np.sum(np.atleast_2d(values) ** 2, axis=1)
    return float(np.sqrt(np.mean(square)))
