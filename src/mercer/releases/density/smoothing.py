"""Post-processing of noisy coordinates: filters, SURE, projection to a density.  M17.

Everything here sees released numbers only, so it may look at them as often as it likes.
"""

from __future__ import annotations

import math

import numpy as np

from mercer.columns.domain import Box
from mercer.common.checks import Floats
from mercer.rules.public import reference_power
from mercer.spaces.bases import Basis, SpectralBasis
from mercer.spaces.bases.base import check_scales, covariance_of

__all__ = ["choose_bandwidth", "density_level", "released_mass", "unit_covariance", "without_constant"]

_STEPS = 96
PRIOR = 0.5  # weight of the reference density beside the data's own estimate of risk


def choose_bandwidth(
    basis: SpectralBasis, coordinates: Floats, *, sd: Floats, n: int
) -> tuple[tuple[float, ...], str]:
    """Bandwidths (unit coordinates) and smoother of least estimated risk (Stein's, unbiased).

    M17: y_k = theta_k + noise of variance v_k + sampling error of variance t_k, filtered by s_k;
    the risk is, up to a constant, sum s_k^2 y_k^2 - 2 s_k (y_k^2 - v_k - t_k).  To it half of the
    expected error of the public reference density is added, which steadies the choice when the
    noise leaves little to see and vanishes beside the risk when there is more.  One bandwidth
    for all coordinates first, then each in turn.

    Raw moments may be smoothed by a kernel of order four as well, which keeps low frequencies
    whole: for smooth densities that halves the error, and it is the estimate of risk that decides.
    """
    own = np.sqrt(basis.eigenvalues)
    y = basis.unmix(coordinates) / own
    error = (sd / own) ** 2 * basis.spread + basis.sampling_variance(y, n)
    prior = PRIOR * reference_power(basis.angular) * basis.amplitude[0] ** 2
    # a filter is a product over the axes, so sums over k are products of small tables
    size = np.abs(basis.frequencies)
    shape = tuple(int(s) for s in size.max(axis=0) + 1)
    flat = np.ravel_multi_index(tuple(size.T), shape)
    power, signal = (
        np.bincount(flat, terms, math.prod(shape)).reshape(shape)
        for terms in (y**2 + prior + PRIOR * error, y**2 - error + prior)
    )
    h0 = basis.lengths
    top = float(np.min(np.log(np.maximum(basis.widest / h0, 1.0))))
    grid = np.exp(np.linspace(0.0, top, _STEPS))
    tables = [
        np.exp(-np.outer(grid**2, (math.pi * axis.rate * h * np.arange(side)) ** 2 / 2))
        for axis, h, side in zip(basis.axes, h0, shape, strict=True)
    ]

    def risks(axis: int, chosen: list[int]) -> Floats:
        """Risk at every step of one axis, the others at their chosen step."""
        p, s = power, signal
        for other in reversed(range(len(shape))):
            if other != axis:
                row = tables[other][chosen[other]]
                p, s = np.tensordot(p, row**2, (other, 0)), np.tensordot(s, row, (other, 0))
        return np.asarray(tables[axis] ** 2 @ p - 2 * (tables[axis] @ s), dtype=float)

    smoother = "gaussian"
    if len(shape) == 1:
        least = risks(0, [0])
        best = [int(np.argmin(least))]
        if "quartic" in basis.smoothers:
            angle = math.pi * basis.axes[0].rate * h0[0] * np.arange(shape[0])
            sharp = np.exp(-np.outer(grid**4, angle**4) / 2)
            other = sharp**2 @ power - 2 * (sharp @ signal)
            if np.min(other) < np.min(least):
                best, smoother = [int(np.argmin(other))], "quartic"
    else:
        common = [float(risks(0, [i] * len(shape))[i]) for i in range(_STEPS)]
        best = [int(np.argmin(common))] * len(shape)
        for axis in [*range(len(shape))] * 2:
            best[axis] = int(np.argmin(risks(axis, best)))
    return tuple(float(v) for v in np.maximum(h0 * grid[best], h0)), smoother


def released_mass(coordinate: float, sd: float) -> float:
    """Estimated share of records with values, from the constant coordinate (M18).

    It is taken as one unless it is below one by more than three standard deviations of the
    noise, and is never taken below a twentieth.
    """
    if coordinate >= 1 - 3 * sd:
        return 1.0
    return max(coordinate, 3 * sd, 0.05)


def density_level(values: Floats) -> float:
    """The t for which max(values - t, 0) has mean one: the L2 projection to a density.

    Values are those at the middles of equal cells of the unit cube.  Sums run in sorted order,
    one after the other, so that the level is the same on every machine.
    """
    falling = np.sort(values, axis=None)[::-1]
    count = np.arange(1, falling.size + 1)
    level = (np.cumsum(falling) - values.size) / count
    above = np.flatnonzero(falling > level)  # none where all values agree to the last bit
    return float(level[above[-1] if above.size else -1])


def without_constant(basis: Basis, factors: Floats) -> Floats:
    """Factors of the noise of a density: its integral is one, so that the constant has none.

    Cosines of several columns keep it: their noise is a product over the columns, and a little
    less than what is said.
    """
    if not isinstance(basis, SpectralBasis) or (basis.reflects and basis.dimension > 1):
        return factors
    return np.concatenate([[0.0], factors[1:]])


def unit_covariance(bandwidth: object, domain: Box) -> tuple[tuple[float, ...], ...]:
    """The squared bandwidth H in unit coordinates, from what a caller gave in data units."""
    d = domain.dimension
    try:
        value = np.asarray(bandwidth, dtype=float)
    except (TypeError, ValueError):
        value = np.empty((0, 0, 0))
    if value.ndim == 0:
        value = np.full(d, float(value))
    if value.shape not in ((d,), (d, d)):
        raise ValueError(
            f"bandwidth must be a number, {d} number(s), a {d} x {d} matrix (the squared "
            f"bandwidth), 'auto', 'rule', 'private-scott' or 'private-cv'; got {_shown(bandwidth)}"
        )
    if value.ndim == 1:
        if not (np.all(np.isfinite(value)) and np.all(value > 0)):
            raise ValueError(
                f"bandwidth must be finite and above 0, got {value.tolist()}; it is the standard "
                "deviation of the smoothing, in the units of the data"
            )
        with np.errstate(over="ignore", under="ignore"):  # the check refuses what is left
            scales = value / domain.widths
        matrix = np.diag(np.clip(scales, 1e-9, 1e9) ** 2)
    else:
        if not np.all(np.isfinite(value)) or not np.allclose(value, value.T, rtol=1e-12):
            raise ValueError("bandwidth as a matrix must be finite and symmetric")
        matrix = value / 2 + value.T / 2
        if np.any(np.diag(matrix) <= 0) or np.linalg.eigvalsh(matrix)[0] <= 0:
            raise ValueError("bandwidth as a matrix must be positive definite: all its eigenvalues above 0")
        with np.errstate(over="ignore", under="ignore"):
            matrix = matrix / np.outer(domain.widths, domain.widths)
            scales = np.sqrt(np.diag(matrix))
    try:
        check_scales(scales)
        return covariance_of(matrix)
    except ValueError as error:
        raise ValueError(f"bandwidth: {error}") from None


def _shown(value: object) -> str:
    if isinstance(value, (str, int, float, list, tuple)):
        return repr(value)[:60]
    return f"{type(value).__name__} of shape {getattr(value, 'shape', ())}"
