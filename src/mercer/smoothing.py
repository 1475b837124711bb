"""Post-processing of noisy coordinates: filters, SURE, projection to a density.  Layer 4.  M17.

Everything here sees released numbers only, so it may look at them as often as it likes.
"""

from __future__ import annotations

import numpy as np

from mercer.bases import SpectralBasis
from mercer.checks import Floats
from mercer.rules import reference_power

__all__ = ["choose_bandwidth", "density_level", "released_mass"]

_STEPS = 96
PRIOR = 0.5  # weight of the reference density beside the data's own estimate of risk


def choose_bandwidth(
    basis: SpectralBasis, coordinates: Floats, *, sd: float, n: int
) -> tuple[float, ...]:
    """Bandwidths (unit coordinates) that minimise Stein's unbiased estimate of the risk.

    M17: y_k = theta_k + noise of variance v_k + sampling error of variance t_k, filtered by s_k;
    the risk is, up to a constant, sum s_k^2 y_k^2 - 2 s_k (y_k^2 - v_k - t_k).  To it half of the
    expected error of the public reference density is added, which steadies the choice when the
    noise leaves little to see and vanishes beside the risk when there is more.  One bandwidth
    for all coordinates first, then each in turn.
    """
    own = np.sqrt(basis.eigenvalues)
    y = basis.unmix(coordinates) / own
    error = (sd / own) ** 2 * basis.spread + basis.sampling_variance(y, n)
    h0 = basis.kernel.lengths
    prior = PRIOR * reference_power(basis.angular) * basis.amplitude[0] ** 2
    signal, power = y**2 - error + prior, y**2 + prior + PRIOR * error

    def risks(exponents: Floats) -> Floats:
        """Risk of each row of exponents -log s_k."""
        filters = np.exp(-exponents)
        return filters**2 @ power - 2 * (filters @ signal)

    parts = (basis.angular * h0) ** 2 / 2  # exponent of each coordinate at h0
    top = float(np.min(np.log(np.maximum(basis.widest / h0, 1.0))))
    grid = np.exp(np.linspace(0.0, top, _STEPS))
    scale = np.full(len(h0), grid[int(np.argmin(risks(np.outer(grid**2, parts.sum(axis=1)))))])
    if len(h0) > 1:
        for _ in range(2):
            for axis in range(len(h0)):
                rest = np.delete(parts, axis, 1) @ np.delete(scale, axis) ** 2
                exponents = rest + np.outer(grid**2, parts[:, axis])
                scale[axis] = grid[int(np.argmin(risks(exponents)))]
    return tuple(float(v) for v in np.maximum(h0 * scale, h0))


def released_mass(coordinate: float, sd: float) -> float:
    """Estimated share of records with values, from the constant coordinate (M18).

    It is taken as one unless it is below one by more than three standard deviations of the
    noise, and is never taken below a twentieth.
    """
    if coordinate >= 1 - 3 * sd:
        return 1.0
    return max(coordinate, 3 * sd, 0.05)


def density_level(values: Floats) -> float:
    """T for which max(values - t, 0) has mean one: the L2 projection to a density.

    Values are those at the middles of equal cells of the unit cube.  Sums run in sorted order,
    one after the other, so that the level is the same on every machine.
    """
    falling = np.sort(values, axis=None)[::-1]
    count = np.arange(1, falling.size + 1)
    level = (np.cumsum(falling) - values.size) / count
    kept = int(np.nonzero(falling > level)[0][-1])
    return float(level[kept])
