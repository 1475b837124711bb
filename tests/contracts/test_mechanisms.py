"""Every registered mechanism: lattice, widening, slack, scale; found by name."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from mercer import entropy
from mercer.accountants import gaussian_multiplier
from mercer.mechanisms import MECHANISMS, Gaussian
from mercer.privacy import Sensitivity
from tests.conftest import ALPHA

ALL = [pytest.param(m(), id=name) for name, m in MECHANISMS.items()]
ALL.append(pytest.param(Gaussian("classic"), id="gaussian-classic"))
DELTA = Sensitivity(0.01, norm="l2")


@pytest.mark.parametrize("mechanism", ALL)
@pytest.mark.parametrize("size", [1, 40, 5000])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-9), (0.5, 0.1)])
def test_lattice_is_fine_enough(mechanism, size, epsilon, delta):
    """M3.5: s >= max(2^30, sqrt(25 (1 + e^eps) m / delta)), slack <= delta/1000, Delta widened."""
    noise = mechanism.calibrate(DELTA, size, epsilon=epsilon, delta=delta)
    assert math.frexp(noise.step)[0] == 0.5  # a power of two
    least = max(2.0**30, math.sqrt(25 * (1 + math.exp(epsilon)) * size / delta))
    assert noise.sd / noise.step >= least
    assert noise.event.distance * (1 + math.exp(epsilon)) <= delta / 1000 * (1 + 1e-9)
    multiplier = mechanism.multiplier(epsilon=epsilon, delta=delta)
    assert noise.sd >= multiplier * (DELTA.value + noise.step * math.sqrt(size))
    assert noise.sd <= multiplier * DELTA.value * 1.001  # exactness costs next to nothing


@pytest.mark.parametrize("mechanism", ALL)
def test_outputs_are_lattice_points_around_the_coordinates(mechanism, rng):
    noise = mechanism.calibrate(DELTA, 4000, epsilon=1.0, delta=1e-6)
    centre = np.arange(4000) / 10
    out = noise.add(centre, entropy.Seeded(rng))
    steps = out / noise.step
    assert np.array_equal(steps, np.rint(steps))
    residue = (out - centre) / noise.sd
    s = float(np.sum(residue**2))
    assert 2 * min(chi2.cdf(s, 4000), chi2.sf(s, 4000)) > ALPHA
    smaller = s / 0.8**2  # planted fault: noise 20 % too small
    assert chi2.sf(smaller, 4000) < ALPHA


def test_multiplier_is_that_of_m1():
    noise = Gaussian().calibrate(DELTA, 10, epsilon=1.0, delta=1e-6)
    assert noise.sd / DELTA.value == pytest.approx(4.22468, rel=3e-4)
    assert 1 / noise.event.mu >= gaussian_multiplier(epsilon=1.0, delta=1e-6)


def test_parameters_beyond_64_bit_draws_are_refused():
    with pytest.raises(ValueError, match="finer lattice than 64-bit draws"):
        Gaussian().calibrate(DELTA, 100, epsilon=1.0, delta=1e-33)
    with pytest.raises(ValueError, match="calibration must be one of"):
        Gaussian("loose")


def test_low_bits_tell_nothing():
    """Float noise on float values leaks through the low bits; lattice output cannot.

    0 + z keeps all bits of z, also those far below the ulp of 1; 1 + z has lost them.  So one
    look at the last bits tells which of two neighbours was released, whatever epsilon says.
    """
    noise = Gaussian().calibrate(Sensitivity(1.0, norm="l2"), 1, epsilon=1.0, delta=1e-6)

    def coarse(values):  # all outputs are whole numbers of 2^-53
        small = np.abs(values)[np.abs(values) < 0.5]
        return bool(np.all(small * 2.0**53 == np.rint(small * 2.0**53)))

    z = np.random.default_rng().standard_normal(4000) * noise.sd
    assert coarse(1.0 + z)
    assert not coarse(0.0 + z)  # the leak
    zero, one = (noise.add(np.full(4000, float(k)), entropy.Seeded(7)) for k in (0, 1))
    assert coarse(zero)  # ours: both on one lattice
    assert coarse(one)
