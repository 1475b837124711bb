"""Public reference curves: how accurate a smoothing is on them, before any curve is read.  M22.

A slope, a wave and two peaks, each with a root mean square of about a quarter of the bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from mercer.common import streams
from mercer.common.checks import Floats
from mercer.spaces.polynomials import Polynomials

__all__ = ["REFERENCES", "reference_errors"]

_STREAM = 23
_DRAWS = 40  # of noise, for each curve


def _slope(t: Floats) -> Floats:
    return 0.25 * math.sqrt(12) * (t[:, 0] - 0.5)


def _wave(t: Floats) -> Floats:
    return 0.25 * math.sqrt(2) * np.sin(2 * np.pi * t[:, 0])


def _peaks(t: Floats) -> Floats:
    up, down = ((t[:, 0] - 0.3) / 0.05) ** 2, ((t[:, 0] - 0.7) / 0.08) ** 2
    return 0.625 * (np.exp(-up) - np.exp(-down))


REFERENCES = (_slope, _wave, _peaks)


def reference_errors(
    estimate: Callable[[Floats], Floats], deviation: float, polynomials: Polynomials, frame: Floats | None
) -> Floats:
    """Root mean square error of an estimate on each reference curve, in units of the bound.

    `estimate` makes rows of coefficients of rows of noisy coordinates; the noise is a public draw with
    this standard deviation.
    """
    size = polynomials.size if frame is None else len(frame)
    white = streams.simulation(_STREAM).standard_normal((_DRAWS, size)) * deviation
    curves = np.array([polynomials.inner(curve) for curve in REFERENCES])
    seen = curves if frame is None else curves @ frame.T
    made = estimate((seen[:, None, :] + white).reshape(-1, size)).reshape(len(curves), _DRAWS, -1)
    return np.asarray(np.sqrt(np.mean(np.sum((made - curves[:, None, :]) ** 2, axis=2), axis=1)))
