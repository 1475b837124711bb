"""The samplers' laws, exactly, and that the tests would see a wrong one."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from mercer.noise import entropy
from tests.conftest import ALPHA


def scale_p_value(draws, scale):
    """Exact for normals; the lattice changes it by less than 1e-18 at these scales."""
    s = float(np.sum((draws / scale) ** 2))
    return 2 * min(chi2.cdf(s, draws.size), chi2.sf(s, draws.size))


@pytest.mark.parametrize("source", [entropy.Secure(), None], ids=["secure", "seeded"])
def test_scale_of_discrete_gaussian(source, rng):
    source = source or entropy.Seeded(rng)
    scale, size = 2.0**30, 12_000
    draws = np.array(source.discrete_gaussian(scale, size), dtype=float)
    assert scale_p_value(draws, scale) > ALPHA
    assert scale_p_value(draws, scale / 0.8) < ALPHA  # would see noise 20 % too small
    assert scale_p_value(draws, scale / 1.2) < ALPHA


def dkw_distance(draws, scale):
    """sup |empirical - exact| distribution function of the discrete Gaussian."""
    support = np.arange(-60, 61)
    mass = np.exp(-(support**2) / (2 * scale**2))
    law = np.cumsum(mass / mass.sum())
    return float(np.max(np.abs(np.searchsorted(np.sort(draws), support, "right") / len(draws) - law)))


def test_law_of_secure_draws_at_a_small_scale():
    draws = np.array(entropy.Secure().discrete_gaussian(3.0, 20_000))
    limit = math.sqrt(math.log(2 / ALPHA) / (2 * draws.size))  # Dvoretzky-Kiefer-Wolfowitz
    assert dkw_distance(draws, 3.0) < limit
    assert dkw_distance(draws, 3.0 * 1.25) > limit  # the scale 20 % too small
    assert dkw_distance(draws + 1, 3.0) > limit  # a shift by one step


def test_secure_draws_are_independent_and_never_repeat():
    one = entropy.Secure().discrete_gaussian(2.0**40, 1000)
    two = entropy.Secure().discrete_gaussian(2.0**40, 1000)
    assert len(set(one) & set(two)) <= 1  # two repeats: probability below 1e-13


def test_seeds_are_marked_and_reproducible():
    assert entropy.resolve(None).secure
    assert not entropy.resolve(7).secure
    assert not entropy.resolve(np.random.default_rng(7)).secure
    draws = [entropy.resolve(7).discrete_gaussian(2.0**30, 5) for _ in range(2)]
    assert draws[0] == draws[1]


@pytest.mark.parametrize("bad", ["7", -1, 1.5, True, object()])
def test_bad_rng(bad):
    with pytest.raises(TypeError, match="rng must be None"):
        entropy.resolve(bad)


@pytest.mark.parametrize("scale", [0.0, -1.0, 2.0**57, math.nan])
def test_scales_that_64_bits_cannot_hold_are_refused(scale):
    with pytest.raises(ValueError, match="lattice steps"):
        entropy.Secure().discrete_gaussian(scale, 1)
