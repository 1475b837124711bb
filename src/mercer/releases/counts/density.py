"""A released histogram becomes a density for free.  Sees released numbers only.  M17.

Noisy counts in bins have moments: means of cos(pi j u), u the place between the outer edges.
With equal bins those are a discrete cosine transform of the counts, which is orthogonal: noise
that is independent from bin to bin stays uncorrelated, and has one deviation in all moments.
So the histogram is a density's release like any other: its bandwidth is chosen from the noisy
moments, anybody may choose again, and it is drawn, sampled, saved and served as one.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.fft import dct

from mercer.columns.cells import Axes
from mercer.columns.domain import Box
from mercer.common.checks import Floats, Ints, check_count
from mercer.noise.count_laws import CountLaw, GeometricLaw
from mercer.noise.laws import MOST_BINS, BinnedLaplace, Law, Normal
from mercer.promise.statement import Statement
from mercer.promise.weaker import RandomStatement
from mercer.releases.density.release import DensityRelease
from mercer.releases.density.smoothing import released_mass
from mercer.rules.public import moment_rule
from mercer.spaces.bases import Moments
from mercer.spaces.bases.expansions import MOST_DEGREE

__all__ = ["histogram_density"]

_FINE = 20  # binary digits of the moments below the deviation of their noise
_BLOCK = 1 << 14  # bins at a time


def histogram_density(
    axes: Axes,
    counts: Ints,
    noise: CountLaw,
    privacy: Statement | RandomStatement,
    *,
    complete: bool,
    degree: int | None = None,
) -> DensityRelease:
    """The density of noisy counts of one column in bins: post-processing, it spends nothing.

    `degree` is the number of cosines, by default from a public rule in n and the noise, at most
    one less than the bins.  Smoothing is chosen from the noisy moments, and free to change:
    `density.smooth(bandwidth)`.

    With equal bins the records of a bin count at its middle, and the law of the noise is exact.
    With others they are spread evenly over their bin; the noise is then taken as normal and
    white, with the deviation of the combination of moments that has most, so that bands are
    wider than they need be.
    """
    edges = _edges(axes)
    unit = (edges - edges[0]) / (edges[-1] - edges[0])
    total = _total(axes, counts, noise, privacy.n, complete=complete)
    most = min(axes.cells - 1, MOST_DEGREE)
    if degree is None:
        degree = _rule(axes.cells * noise.variance / privacy.n**2, privacy.n, most)
    else:
        degree = check_count("degree", degree, least=1, most=most, hint="cosines, below the bins")
    shares = counts.astype(float) / total
    law: Law
    if axes.columns[0].equal:
        moments, stretch = dct(shares, type=2)[: degree + 1] / 2, math.sqrt(shares.size / 2)
    else:
        moments, stretch = _of_bins(shares, unit, degree)
    deviation = max(noise.deviation / total * stretch, 1e-12)  # noise may round to none
    step = 2.0 ** (math.floor(math.log2(deviation)) - _FINE)
    moments = np.rint(moments / step) * step
    moments[0] = 1.0  # all records that have values are somewhere
    few = axes.columns[0].equal and axes.cells <= MOST_BINS  # sums over more bins are normal anyway
    if few and isinstance(noise, GeometricLaw) and deviation > 1e-12:
        law = BinnedLaplace(noise.scale / total, 1 / total, axes.cells)
    else:
        law = Normal(deviation, step)
    column = axes.columns[0]
    return DensityRelease.smoothed(
        domain=Box((column.name,), ((float(edges[0]), float(edges[-1])),)),
        privacy=privacy,
        basis=Moments(degree, "reflect"),
        coordinates=moments,
        noise=law,
        boundary="reflect",
    )


def _edges(axes: Axes) -> Floats:
    """Edges of the bins, where there is all that a density needs."""
    if axes.dimension != 1 or axes.columns[0].edges is None:
        raise ValueError(
            f"release must be a histogram of one column in bins, got {axes.describe()}; make one "
            "with mercer.histogram(values, bins=…)"
        )
    if axes.columns[0].column.kind == "date":
        raise ValueError("release must be a histogram of numbers, got dates; count days instead")
    if axes.cells < 2:
        raise ValueError("release must have at least 2 bins, got 1: its density is even")
    return np.array(axes.columns[0].edges)


def _total(axes: Axes, counts: Ints, noise: CountLaw, n: int, *, complete: bool) -> float:
    """How many records are in bins: n where that is public or the noise can explain it (M18)."""
    if complete:
        return float(n)
    noisy = float(counts.sum()) / n
    deviation = noise.deviation * math.sqrt(axes.cells) / n
    if noisy > 1 + 3 * deviation:  # several rows of one person
        return noisy * n
    return released_mass(noisy, deviation) * n


def _rule(variance: float, n: int, most: int) -> int:
    """The degree that suits the public references at this noise."""

    def every(m: int) -> Floats:
        return np.full(m, max(variance, 1e-24))

    return min(moment_rule(every, n=n, boundary="reflect")[0], most)


def _of_bins(shares: Floats, unit: Floats, degree: int) -> tuple[Floats, float]:
    """Moments of a function that is even in each bin, and by how much noise is stretched.

    The largest singular value of the map from shares to moments 1 and above.
    """
    rate = math.pi * np.arange(1, degree + 1)[:, None]
    moments, square = np.zeros(degree + 1), np.zeros((degree, degree))
    for first in range(0, shares.size, _BLOCK):
        part = slice(first, min(first + _BLOCK, shares.size))
        low, high = unit[:-1][part], unit[1:][part]
        rows = np.cos(rate * (low + high) / 2) * np.sinc(rate * (high - low) / (2 * math.pi))
        moments[1:] += rows @ shares[part]
        square += rows @ rows.T
    return moments, math.sqrt(float(np.linalg.eigvalsh(square)[-1]))
