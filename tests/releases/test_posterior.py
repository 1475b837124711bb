"""Averages of Wiener filters weighted by evidence: exact against one normal law after the other."""

import numpy as np
import pytest
from scipy.stats import chi2, multivariate_normal

from mercer.releases.posterior import Posterior, Spectra
from tests.conftest import ALPHA

SIZE, LEVEL = 5, 1e6  # a variance so large that it stands for an infinite one


def parts_of(rng, *, turned=True):
    """Two parts of three components; the first direction of each is left as it is."""
    found = []
    for _ in range(2):
        vectors = None
        if turned:
            whole = rng.standard_normal((SIZE, SIZE))
            whole[:, 0] = np.eye(SIZE)[0]  # the same first direction in both
            vectors, _ = np.linalg.qr(whole)
            vectors[:, 0] = np.eye(SIZE)[0]
        spectra = rng.uniform(0.1, 4, (3, SIZE))
        spectra[:, 0] = np.inf
        found.append(Spectra(vectors, spectra, np.log(rng.dirichlet(np.ones(3)) / 2)))
    return found


def slowly(parts, y, variance):
    """Weights, mean and covariance by the definition, with matrices."""
    logs, means, covariances = [], [], []
    for part in parts:
        vectors = np.eye(SIZE) if part.vectors is None else part.vectors
        for spectrum, weight in zip(part.spectra, part.weights, strict=True):
            prior = (vectors * np.where(np.isinf(spectrum), LEVEL, spectrum)) @ vectors.T
            noise = np.diag(np.broadcast_to(variance, SIZE))
            gain = prior @ np.linalg.inv(prior + noise)
            logs.append(weight + multivariate_normal(np.zeros(SIZE), prior + noise).logpdf(y))
            means.append(gain @ y)
            covariances.append(gain @ noise)
    weights = np.exp(np.array(logs) - max(logs))
    weights /= weights.sum()
    mean = weights @ means
    spread = sum(
        w * (c + np.outer(m - mean, m - mean)) for w, m, c in zip(weights, means, covariances, strict=True)
    )
    return weights, mean, spread


@pytest.mark.parametrize("turned", [True, False])
def test_weights_and_mean_by_the_definition(turned, rng):
    parts, y = parts_of(rng, turned=turned), 2 * rng.standard_normal((4, SIZE))
    variance = 0.7 if turned else rng.uniform(0.3, 2, SIZE)
    found = Posterior(parts, y, variance)
    assert found.mean.shape == y.shape
    for row in range(len(y)):
        weights, mean, _ = slowly(parts, y[row], variance)
        assert np.allclose(np.concatenate([w[row] for w in found.weights]), weights, atol=1e-5)
        assert np.allclose(found.mean[row], mean, atol=1e-5)
    least = [1 + np.sum(part.spectra[:, 1:] / (part.spectra[:, 1:] + np.max(variance)), 1) for part in parts]
    assert np.all(found.freedom >= np.min(least) - 1e-9)
    assert np.all(found.freedom <= SIZE)


def test_draws_have_the_mean_and_the_covariance(rng):
    """Of 20,000 draws, in the directions of the covariance; and draws twice too narrow would be seen."""
    parts, y, runs = parts_of(rng), 2 * rng.standard_normal(SIZE), 20_000
    _, mean, spread = slowly(parts, y, 0.7)
    drawn = Posterior(parts, y[None], 0.7).draws(runs, rng=rng)
    root = np.linalg.cholesky(np.linalg.inv(spread))
    white = (drawn.coordinates - mean) @ root
    # systematic draws over components: the mean is nearer than that of independent ones
    assert np.sum(white.mean(axis=0) ** 2) * runs < chi2.isf(ALPHA / 2, SIZE)
    size = np.mean(np.sum(white**2, axis=1)) / SIZE
    tolerance = 6.5 * np.sqrt(60 / SIZE / runs)  # fourth moments of a mixture: at most 60 in these cases
    assert abs(size - 1) < tolerance
    assert abs(size / 4 - 1) > tolerance
    counts = np.bincount(drawn.parts * 3 + drawn.components, minlength=6)
    weights, *_ = slowly(parts, y, 0.7)
    assert np.all(np.abs(counts - runs * weights) <= 1 + 1e-4 * runs)


def test_draws_are_in_no_order(rng):
    """The first half has as much of every component as the second."""
    y = np.zeros((1, SIZE))
    parts = [Spectra(None, np.full((1, SIZE), a), np.zeros(1)) for a in (0.1, 0.11)]
    drawn = Posterior(parts, y, 1.0).draws(10_000, rng=rng)
    apart = drawn.parts[:5000].sum() - drawn.parts[5000:].sum()
    assert abs(apart) < 6.5 * 50


def test_one_variance_where_directions_are_turned(rng):
    with pytest.raises(ValueError, match="variance must be one number"):
        Posterior(parts_of(rng), np.zeros((1, SIZE)), np.ones(SIZE))
