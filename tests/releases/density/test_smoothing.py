"""Post-processing: SURE estimates the risk without bias, projection is the nearest density."""

import numpy as np
import pytest
from scipy.stats import beta

from mercer.columns.domain import Box
from mercer.kernels import Gaussian
from mercer.releases.density.smoothing import choose_bandwidth, density_level, released_mass, unit_covariance
from mercer.rules.public import expected_error, noise_bandwidth, rule_bandwidth
from mercer.spaces.bases import Cosine, Fourier


def test_projection_against_brute_force(rng):
    for _ in range(20):
        values = rng.normal(1, 2, 200)
        level = density_level(values)
        projected = np.maximum(values - level, 0)
        assert projected.mean() == pytest.approx(1, abs=1e-12)
        for _ in range(20):  # no density is nearer
            other = rng.exponential(size=200) ** rng.integers(1, 5)
            other /= other.mean()
            assert np.sum((values - projected) ** 2) <= np.sum((values - other) ** 2)
            mixed = 0.9 * projected + 0.1 * other
            assert np.sum((values - projected) ** 2) <= np.sum((values - mixed) ** 2)


def test_projection_never_moves_away_from_a_density(rng):
    truth = rng.exponential(size=300)
    truth /= truth.mean()
    for _ in range(50):
        noisy = truth + rng.normal(0, 1, 300)
        projected = np.maximum(noisy - density_level(noisy), 0)
        assert np.sum((projected - truth) ** 2) <= np.sum((noisy - truth) ** 2)


@pytest.mark.parametrize(
    "basis",
    [Cosine.spanning(Gaussian(((0.02**2,),))), Fourier.spanning(Gaussian(((0.02**2,),)), periodic=True)],
    ids=["cosine", "fourier"],
)
def test_sampling_variance_is_that_of_the_coefficients(basis, rng):
    """(1 + theta_2j / sqrt2 - theta_j^2) / n, the population formula, on a large sample."""
    x = rng.beta(2, 4, 100_000)
    psi = basis.features(x[:, None]) / np.sqrt(basis.eigenvalues)
    claimed = basis.sampling_variance(psi.mean(axis=0), 1)
    real = psi.var(axis=0)
    low = slice(1, 12)
    if basis.name == "cosine":
        assert np.allclose(claimed[low], real[low], rtol=0.05)
    else:  # the average of a cosine and its sine
        half = (basis.size - 1) // 2
        both = (real[1 : half + 1] + real[half + 1 :]) / 2
        assert np.allclose(claimed[1:12], both[:11], rtol=0.05)


def test_bandwidth_follows_the_noise(rng):
    """Little noise keeps detail, much noise smooths it away: and never below the finest."""
    basis = Cosine.spanning(Gaussian(((0.01**2,),)))
    x = np.concatenate([rng.normal(c, 0.02, 3000) for c in (0.2, 0.5, 0.8)])
    y = basis.features(x[:, None]).mean(axis=0)
    chosen = []
    for sd in (1e-5, 1e-2, 0.1, 10.0):
        lengths, smoother = choose_bandwidth(basis, y, sd=np.full(basis.size, sd), n=x.size)
        assert smoother == "gaussian"  # a kernel's own coordinates know no other
        chosen.append(lengths[0])
    assert chosen == sorted(chosen)
    assert 0.01 <= chosen[0] < 0.02
    assert chosen[-1] > 1.0


def test_sure_is_close_to_the_best_bandwidth(rng):
    basis = Cosine.spanning(Gaussian(((0.01**2,),)))
    lam, ratios, sd = basis.eigenvalues, [], 2e-3
    u = (np.arange(4000) + 0.5) / 4000
    psi = basis.features(u[:, None]) / np.sqrt(lam)
    truth = (beta.pdf(u, 3, 5)[:, None] * psi).mean(axis=0)
    filters = np.array([basis.multiplier(((h**2,),)) for h in np.geomspace(0.01, 1, 60)])
    for _ in range(25):
        x = rng.beta(3, 5, 4000)
        y = basis.features(x[:, None]).mean(axis=0) + sd * rng.standard_normal(basis.size)
        errors = np.sum((filters * (y / np.sqrt(lam)) - truth) ** 2, axis=1)
        (chosen,), _ = choose_bandwidth(basis, y, sd=np.full(basis.size, sd), n=x.size)
        own = np.sum((basis.multiplier(((chosen**2,),)) * (y / np.sqrt(lam)) - truth) ** 2)
        ratios.append(own / errors.min())
    assert np.median(ratios) < 1.8  # 13 of 25 runs would have to be that far off


def test_mass_is_one_unless_the_noise_cannot_explain_it():
    assert released_mass(0.99, 0.01) == 1.0
    assert released_mass(1.2, 0.01) == 1.0
    assert released_mass(0.5, 0.01) == 0.5
    assert released_mass(-3.0, 0.2) == pytest.approx(0.6)
    assert released_mass(0.0, 1e-3) == 0.05


def test_rules_are_public_and_sensible():
    """h0 <= rule; few coordinates when n * epsilon is small, more as it grows."""
    for boundary in ("reflect", "periodic", "open"):
        for dimension in (1, 2, 3):
            previous = np.inf
            for n in (10**2, 10**4, 10**6, 10**8):
                options = {"n": n, "multiplier": 4.2, "dimension": dimension, "boundary": boundary}
                rule, finest = rule_bandwidth(**options).bandwidth, noise_bandwidth(**options)
                assert finest <= rule <= previous
                previous = rule
    small = rule_bandwidth(n=50, multiplier=36.0, dimension=1, boundary="reflect")
    assert small.bandwidth > 0.5  # next to nothing can be told: nearly uniform


def test_noise_costs_grow_as_m17_says():
    """1.5 times at h = 2 h0, 2.9 times at 4 h0."""
    options = {"n": 10**6, "multiplier": 4.2, "dimension": 1, "boundary": "periodic"}
    own = expected_error(0.04, 0.04, **options).privacy
    assert expected_error(0.04, 0.02, **options).privacy / own == pytest.approx(1.5, abs=0.1)
    assert expected_error(0.04, 0.01, **options).privacy / own == pytest.approx(2.9, abs=0.1)


@pytest.mark.parametrize("bandwidth", [1e200, 1.7e308, 5e-324, [[1e300]], [[1.7e308]]])
def test_bandwidths_beyond_doubles_are_refused_without_a_warning(bandwidth):
    with pytest.raises(ValueError, match="bandwidth"):
        unit_covariance(bandwidth, Box(("x",), ((0.0, 1e-5),)))
