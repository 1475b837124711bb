"""Audits: on the worst neighbours the lower bound stays under the claim and comes near it.

The attacker knows everything but one record and uses the likelihood ratio, which for Gaussian
noise is a projection on the difference of the two means.  Bounds hold with confidence 1 - 1e-9,
so a correct mechanism fails one of these tests with at most that probability.
"""

import math

import numpy as np
import pytest

from mercer.audits.audit import CASES, audit, epsilon_lower_bound
from mercer.kernels import Gaussian as GaussianKernel
from mercer.noise import entropy
from mercer.noise.mechanisms import Gaussian, Laplace
from mercer.promise.events import Sensitivity
from mercer.spaces.bases import Cosine
from tests.conftest import ALPHA
from tests.privacy.test_density import summary

EPSILON, DELTA = 1.0, 0.1  # a delta at which few samples come near the claim
BASIS = Cosine.spanning(GaussianKernel(((0.35**2,),)))
RUNS = 400_000


def audited(one, two, noise, source, runs, epsilon_delta=DELTA):
    """Lower bound on epsilon from `runs` noisy releases of each of two exact summaries."""
    a, b = one.coordinates(), two.coordinates()
    direction = a - b
    samples = []
    for exact in (a, b):
        out = noise.add(np.tile(exact, runs), source)
        samples.append(out.reshape(runs, -1) @ direction)
    return epsilon_lower_bound(*samples, delta=epsilon_delta, confidence=1 - ALPHA)


@pytest.fixture(scope="module")
def neighbours():
    rest = np.linspace(0, 1, 49)
    return summary([*rest, 0.0], BASIS), summary([*rest, 1.0], BASIS)


def calibrated(one, factor=1.0, **promise):
    sensitivity = Sensitivity(one.sensitivity("l2").value * factor, norm="l2")
    return Gaussian().calibrate(sensitivity, BASIS.size, **promise)


def test_density_release_with_secure_noise(neighbours):
    noise = calibrated(neighbours[0], epsilon=EPSILON, delta=DELTA)
    bound = audited(*neighbours, noise, entropy.Secure(), runs=25_000)
    assert 0.4 * EPSILON < bound <= EPSILON  # few draws: the next test comes nearer


def test_density_release_comes_near_the_claim(neighbours, rng):
    noise = calibrated(neighbours[0], epsilon=EPSILON, delta=DELTA)
    bound = audited(*neighbours, noise, entropy.Seeded(rng), RUNS)
    assert 0.85 * EPSILON < bound <= EPSILON


def test_noise_20_percent_too_small_is_caught(neighbours, rng):
    noise = calibrated(neighbours[0], 0.8, epsilon=EPSILON, delta=DELTA)
    assert audited(*neighbours, noise, entropy.Seeded(rng), RUNS) > EPSILON


def test_sensitivity_without_the_factor_sqrt2_is_caught(neighbours, rng):
    """A row can appear at one end and vanish from the other: kappa/n is not enough (M4)."""
    noise = calibrated(neighbours[0], 1 / math.sqrt(2), epsilon=EPSILON, delta=DELTA)
    assert audited(*neighbours, noise, entropy.Seeded(rng), RUNS) > EPSILON


def test_classic_calibration_above_one_is_caught(rng):
    """E1: at epsilon 8, delta 0.3 the papers' formula has a true delta of 0.45."""
    epsilon, delta, runs = 8.0, 0.3, 4_000_000
    sigma = math.sqrt(2 * math.log(2 / delta)) / epsilon  # what the formula would give
    z = rng.standard_normal((2, runs))
    broken = epsilon_lower_bound(z[0] * sigma + 1, z[1] * sigma, delta=delta, confidence=1 - ALPHA)
    assert broken > epsilon
    exact = Gaussian().multiplier(1, epsilon=epsilon, delta=delta)
    kept = epsilon_lower_bound(z[0] * exact + 1, z[1] * exact, delta=delta, confidence=1 - ALPHA)
    assert kept <= epsilon


def test_bounds_read_from_the_data_are_caught(rng):
    """Bounds taken as min and max: the record that sets them moves everybody else."""
    rest = np.full(49, 0.3)

    def faulty(last):
        rows = np.array([*rest, last])
        low, high = float(rows.min()), float(rows.max())
        return summary((rows - low) / (high - low), BASIS)

    one, two = faulty(0.6), faulty(0.0)
    noise = calibrated(one, epsilon=EPSILON, delta=DELTA)
    assert audited(one, two, noise, entropy.Seeded(rng), 20_000) > EPSILON


def test_bandwidth_read_from_the_data_is_caught(rng):
    """A bandwidth from the sample's spread: one outlier changes every row's contribution."""
    rest = np.full(49, 0.5)

    def faulty(last):
        rows = np.array([*rest, last])
        h = 0.25 + 4 * float(rows.std())
        wide = Cosine.spanning(GaussianKernel(((h**2,),)))
        theta = summary(rows, wide).coordinates()
        padded = np.zeros(BASIS.size)  # the same coordinates for all, as a release would have
        padded[: min(wide.size, BASIS.size)] = theta[: BASIS.size]
        return padded

    a, b = faulty(0.5), faulty(1.0)
    noise = calibrated(summary([*rest, 0.5], BASIS), epsilon=EPSILON, delta=DELTA)
    shift = np.linalg.norm(a - b) / noise.law.scale
    z = rng.standard_normal((2, 50_000))
    bound = epsilon_lower_bound(z[0] + shift, z[1], delta=DELTA, confidence=1 - ALPHA)
    assert bound > EPSILON


def test_the_bound_is_sound_and_says_nothing_of_equal_data(rng):
    z = rng.standard_normal((2, 50_000))
    assert epsilon_lower_bound(z[0], z[1], delta=0.0, confidence=1 - ALPHA) < 0.3
    # pure randomised response at epsilon = ln 3: near the truth, never above
    flips = rng.random((2, 200_000))
    one, two = (flips[0] < 0.75).astype(float), (flips[1] < 0.25).astype(float)
    bound = epsilon_lower_bound(one, two, delta=0.0, confidence=1 - ALPHA)
    assert 0.95 * math.log(3) < bound <= math.log(3)


def test_repeated_noise_is_caught(neighbours):
    """The same noise for two releases of neighbours gives the difference away at once."""
    one, two = neighbours
    noise = calibrated(one, epsilon=EPSILON, delta=DELTA)
    again = [noise.add(s.coordinates(), entropy.Seeded(3)) for s in neighbours]
    seen = np.linalg.norm(again[0] - again[1])
    true = np.linalg.norm(one.coordinates() - two.coordinates())
    assert seen == pytest.approx(true, rel=1e-6)  # no protection at all: why seeds are marked
    fresh = [noise.add(s.coordinates(), entropy.Secure()) for s in neighbours]
    assert np.linalg.norm(fresh[0] - fresh[1]) != pytest.approx(true, rel=1e-6)


@pytest.mark.parametrize("name", [name for name in CASES if name != "orbitope-periodic"])
def test_every_mechanism_on_its_worst_pair(name):
    """Below the claim but once in 1/ALPHA runs, and near it; the periodic orbitope takes longer."""
    subject, delta = CASES[name]
    found = audit(subject, epsilon=1.0, delta=delta or None, confidence=1 - ALPHA, name=name)
    assert found.kept, str(found)
    assert found.reach > 0.75, str(found)


def test_any_release_function_can_be_audited(rng):
    """A mean with Laplace noise of the right scale, and of half of it."""
    source = entropy.Seeded(rng)

    def release(data, share=1.0):
        noise = Laplace().calibrate(Sensitivity(1 / len(data), "l1"), 1, epsilon=1.0 / share)
        return noise.add(np.array([np.mean(data)]), source)

    pair = [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]
    claim = {"epsilon": 1.0, "samples": 20_000, "confidence": 1 - ALPHA}
    sound = audit(release, pair, **claim)
    assert 0.3 < sound.audited <= 1
    faulty = audit(lambda data: release(data, 0.5), pair, **claim)
    assert not faulty.kept
    assert "EXCEEDS" in str(faulty)
    with pytest.raises(TypeError, match="neighbours="):
        audit(release, epsilon=1.0)
