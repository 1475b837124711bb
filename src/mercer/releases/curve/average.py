"""The default smoothing of a mean curve: an average of filters, weighted by evidence.  M22.

The prior of a curve, beside its level, which is left as it is: a stationary process with one of two
kernels, eleven scales and fourteen energies.  The estimate is the average of their filters.  Bands are
about the mean of the file's own curves.  They come from draws of a wider mixture, in which a fifth of
the weight has a rougher part beside the process: where no such part is needed, the evidence drops it.
The constants are public; what the bands cover is measured in
studies/accuracy/results/curve_coverage.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.common import streams
from mercer.common.checks import Floats
from mercer.releases.curve.smoothing import SCALES
from mercer.releases.posterior import Posterior, Spectra
from mercer.spaces.modes import SpectralFilter, level_of
from mercer.spaces.polynomials import Polynomials

__all__ = ["FAMILY", "Average", "Averaged"]

FAMILY = "curves-1"  # in files, the name of the constants below: others would be another family
KERNELS = ("matern52", "gaussian")
_ENERGIES = 14  # of the process: from a tenth of the noise's variance to the squared bound
_SMOOTH = 0.8  # prior weight of components without a rough part; the rest share the remainder evenly
_ROUGH = tuple((float(energy), power) for power in (1.0, 2.0) for energy in np.geomspace(1.0, 3000.0, 6))
RUNS = 2000  # public draws by which a band is found
_STREAM = 22

_WEIGHTS = np.tile(  # of the components of a kernel and scale: energies, and for each the rough parts
    np.log([_SMOOTH, *[(1 - _SMOOTH) / len(_ROUGH)] * len(_ROUGH)]), _ENERGIES
)


@dataclass(frozen=True)
class Average:
    """A family of filters, all of which are used."""

    family: str = FAMILY

    def __post_init__(self) -> None:
        if self.family != FAMILY:
            raise ValueError(f"average of the smoothing must be {FAMILY!r}, got {self.family!r}")

    @property
    def kernels(self) -> tuple[str, ...]:
        """Whose processes are in the prior."""
        return KERNELS

    def of(
        self, coordinates: Floats, variance: float, polynomials: Polynomials, frame: Floats | None
    ) -> Averaged:
        """The average for noisy coordinates, or rows of them, in units of the bound."""
        level, noisy = level_of(polynomials), np.atleast_2d(coordinates)
        parts, beyond = [], []
        for kernel in KERNELS:
            for scale in SCALES:
                some = SpectralFilter(kernel, (scale,) * polynomials.dimension, 1.0, 1.0, level)
                whole = some.seen(polynomials, None)
                total = float(np.sum(whole.values[1:]))
                seen = whole if frame is None else some.seen(polynomials, frame)
                spectra = _spectra(seen.values, total, variance, polynomials.size)
                parts.append(Spectra(seen.vectors, spectra, _WEIGHTS))
                if frame is not None:
                    spectra = _spectra(whole.values, total, variance, polynomials.size)
                    beyond.append(Spectra(whole.vectors, spectra, _WEIGHTS))
        smooth = [_without_rough(part) for part in parts]
        return Averaged(
            Posterior(smooth, noisy, variance),
            Posterior(parts, noisy, variance),
            [_without_rough(part) for part in beyond],
            beyond,
            frame,
        )

    def to_dict(self) -> dict[str, Any]:
        """Its name, from which `from_dict` rebuilds it."""
        return {"average": self.family}


def _spectra(values: Floats, total: float, variance: float, size: int) -> Floats:
    """Prior variances of all components of a kernel and scale: (components, eigenfunctions)."""
    energies = np.geomspace(0.1 * variance, 1.0, _ENERGIES)
    place = np.arange(1, size)
    rough = np.zeros((1 + len(_ROUGH), len(values) - 1))
    for row, (energy, power) in enumerate(_ROUGH, start=1):
        fall = place**-power
        rough[row] = (variance * energy * fall / fall.sum())[: len(values) - 1]
    smooth = energies[:, None, None] * (values[1:] / total)
    spectra = (smooth + rough).reshape(-1, len(values) - 1)
    return np.hstack([np.full((len(spectra), 1), math.inf), spectra])


def _without_rough(part: Spectra) -> Spectra:
    """The components that are a stationary process alone."""
    each = 1 + len(_ROUGH)
    return Spectra(part.vectors, part.spectra[::each], part.weights[::each])


@dataclass(frozen=True, eq=False)
class Averaged:
    """An average of filters of noisy coordinates, with draws of what the coordinates may be."""

    estimate: Posterior  # under processes alone: its mean is smooth
    wider: Posterior  # with rough parts: its draws are for bands of values
    smooth_beyond: list[Spectra]  # priors of the whole curve, where only some coordinates were released
    beyond: list[Spectra]
    frame: Floats | None

    @property
    def mean(self) -> Floats:
        """Coefficients of the estimate: (rows, polynomials)."""
        found = self.estimate.mean
        return found if self.frame is None else found @ self.frame

    @property
    def freedom(self) -> float:
        """Coordinates left in effect, of the first row."""
        return float(self.estimate.freedom[0])

    def draws(self, runs: int = RUNS, *, slopes: bool = False) -> Floats:
        """Public draws of the curve's coefficients, for the first row: (runs, polynomials).

        Of what was not released, the component's prior says what there may be.  For slopes they are
        draws of processes alone: a rough part has none.
        """
        rng = streams.simulation(_STREAM)
        drawn = (self.estimate if slopes else self.wider).draws(runs, rng=rng)
        if self.frame is None:
            return drawn.coordinates
        found = drawn.coordinates @ self.frame
        white = rng.standard_normal(found.shape)
        beyond = self.smooth_beyond if slopes else self.beyond
        for i in np.unique(drawn.parts):
            here = np.flatnonzero(drawn.parts == i)
            spectra = beyond[i].spectra[drawn.components[here]]
            spectra[:, 0] = 0.0  # the level is in the frame
            rest = beyond[i].back(np.sqrt(spectra) * white[here])
            found[here] += rest - (rest @ self.frame.T) @ self.frame
        return found

    def stretch(self, orders: tuple[int, ...] = ()) -> float:
        """How much wider bands are than the draws: 1 where noise hides the shape, 1.5 where all is seen.

        The less noise there is, the less of an error is noise, and the more it is that a curve is
        rougher in one place than in another, which no stationary process is.  For slopes that is
        felt more.  Measured, not proved.
        """
        y, v = self.wider.coordinates[0, 1:], self.wider.variance
        signal = max(float(np.sum(y**2) / v) - y.size, 1.0)
        seen = math.log10(signal)
        some = 1 + 0.2 * min(max((seen - math.log10(30)) / 1.5, 0.0), 1.0)
        if any(orders):
            return float(some ** (1 + 2 * sum(orders)))
        return some + 0.3 * min(max((seen - 3) / 2, 0.0), 1.0)
