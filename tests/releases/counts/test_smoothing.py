"""Better counts from noisy ones: always a histogram, never far off, far better where it can be."""

import math

import numpy as np
import pytest
from scipy.stats import binom

from mercer.common.streams import simulation
from mercer.noise.laws import LaplaceLaw
from mercer.releases.counts.smoothing import best_counts, nonnegative_counts
from tests.conftest import ALPHA

CELLS = 1024
DRAWS = 60
WINS = 40  # of the draws: see test_the_number_of_wins


def noise(epsilon):
    """Two-sided geometric, P(k) proportional to exp(-epsilon |k| / 2) (M13), and its variance."""
    law = LaplaceLaw(2 / epsilon, 1.0)
    return law, float(law.deviations(1)[0] ** 2)


def range_error(counts, truth):
    """Mean squared error of all ranges: twice the variance of the errors of the prefixes."""
    return 2 * np.var(np.concatenate([[0.0], np.cumsum(counts - truth)]))


def wins(method, truth, epsilon, rng, factor):
    """Draws in which a method's error is below `factor` times that of the noisy counts.

    The noisy counts are moved to the right total first, which is the fair rival.
    """
    law, variance = noise(epsilon)
    total, count = float(np.sum(truth)), 0
    for row in law.simulate(truth.size, DRAWS, rng):
        noisy = truth + row
        rival = noisy + (total - np.sum(noisy)) / truth.size
        found = method(noisy, variance, total)
        count += range_error(found, truth) < factor * range_error(rival, truth)
    return count


def sparse(rng):
    truth = np.zeros(CELLS)
    truth[rng.choice(CELLS, 12, replace=False)] = 1000.0
    return truth


def clusters(rng):
    """Six runs of eight high cells."""
    truth = np.zeros((CELLS // 8, 8))
    truth[rng.choice(CELLS // 8, 6, replace=False)] = rng.integers(300, 900, (6, 8))
    return truth.reshape(-1)


def half_empty(rng):
    """The first half of the cells is empty, the others hold far more than noise."""
    return np.where(np.arange(CELLS) < CELLS // 2, 0.0, rng.uniform(400, 800, CELLS).round())


def test_the_number_of_wins():
    """A method that wins 95 of 100 draws has fewer than WINS with probability below ALPHA."""
    assert binom.cdf(WINS - 1, DRAWS, 0.95) < ALPHA
    assert binom.sf(WINS - 1, DRAWS, 0.15) < ALPHA  # and one that wins 15 does not pass


@pytest.mark.parametrize(
    ("make", "epsilon", "factor"),
    [
        (sparse, 0.1, 0.2),
        (clusters, 0.1, 0.5),
        (lambda rng: rng.multinomial(5000, np.full(CELLS, 1 / CELLS)), 0.05, 0.5),
        (half_empty, 0.1, 1.0),
        (lambda rng: rng.integers(500, 5000, CELLS), 0.1, 1.1),
    ],
    ids=["sparse", "clusters", "even", "half empty", "rough"],
)
def test_ranges_are_far_better_or_hardly_worse(make, epsilon, factor, rng):
    """In 95 of 100 draws at least; measured, in more than 99.  The histogram is always the same."""
    truth = make(simulation(17)).astype(float)
    assert wins(best_counts, truth, epsilon, rng, factor) >= WINS


def test_the_same_test_sees_a_method_that_harms_ranges(rng):
    """The nearest non-negative counts move mass from high blocks to empty ones."""

    def nearest(noisy, variance, total):
        return nonnegative_counts(noisy, total)

    assert wins(nearest, half_empty(rng), 0.1, rng, 1.0) < WINS


def test_the_same_test_sees_a_variance_that_is_wrong(rng):
    """Noise taken for signal: the empty half is filled."""

    def trusting(noisy, variance, total):
        return best_counts(noisy, variance / 1e4, total)

    assert wins(trusting, half_empty(rng), 0.1, rng, 1.0) < WINS


@pytest.mark.parametrize("cells", [1, 2, 3, 7, 64, 1000, 1025])
@pytest.mark.parametrize("epsilon", [0.001, 0.1, 10])
def test_any_number_of_cells_gives_a_histogram(cells, epsilon, rng):
    law, variance = noise(epsilon)
    truth = rng.poisson(rng.gamma(0.3, 30, cells)).astype(float)
    noisy = truth + law.simulate(cells, 1, rng)[0]
    total = float(np.sum(truth))
    found = best_counts(noisy, variance, total)
    assert found.shape == (cells,)
    assert np.all(found >= 0)
    assert np.sum(found) == pytest.approx(total, abs=1e-9 * max(total, 1))
    alone = best_counts(noisy, variance)
    assert np.all(alone >= 0)
    assert np.sum(alone) == pytest.approx(max(np.sum(noisy), 0), abs=1e-6 * variance)
    np.testing.assert_array_equal(found, best_counts(noisy, variance, total))  # nothing is drawn


def test_counts_without_noise_stay(rng):
    for truth in (sparse(rng), half_empty(rng), rng.integers(0, 50, 300).astype(float)):
        found = best_counts(truth, 1e-6, float(np.sum(truth)))
        assert np.max(np.abs(found - truth)) < 0.01


def test_a_high_cell_is_kept_with_its_noise_alone(rng):
    """Its estimate is the noisy count moved to the total, whatever the trees say elsewhere."""
    truth = np.full(CELLS, 50.0)
    place = int(rng.integers(CELLS))
    truth[place] = 1e5
    law, variance = noise(0.1)
    noisy = truth + law.simulate(CELLS, 1, rng)[0]
    shift = (np.sum(truth) - np.sum(noisy)) / CELLS
    found = best_counts(noisy, variance, float(np.sum(truth)))
    assert found[place] == pytest.approx(noisy[place] + shift, rel=1e-12)


def test_empty_data_have_no_high_cells(rng):
    """All noise: the total is spread, and no cell gets more than the noise could hide."""
    law, variance = noise(0.01)
    noisy = law.simulate(CELLS, 1, rng)[0]
    # beyond, a draw of the noise alone is above with probability ALPHA
    limit = 200 * math.log(CELLS / ALPHA)
    assert np.max(best_counts(noisy, variance, 1000.0)) <= min(1000.0, limit)
    np.testing.assert_array_equal(best_counts(noisy, variance, 0.0), np.zeros(CELLS))


def test_projection_is_the_nearest_histogram(rng):
    for _ in range(20):
        noisy = rng.normal(3, 10, 50)
        total = float(rng.uniform(0, 300))
        nearest = nonnegative_counts(noisy, total)
        assert np.all(nearest >= 0)
        assert np.sum(nearest) == pytest.approx(total, abs=1e-9)
        for _ in range(20):
            other = rng.exponential(size=50) ** 2
            other *= total / np.sum(other)
            mixed = 0.9 * nearest + 0.1 * other
            assert np.sum((noisy - nearest) ** 2) <= np.sum((noisy - mixed) ** 2) + 1e-9
    np.testing.assert_array_equal(nonnegative_counts([-2, 3, 0.5]), [0, 3, 0.5])
    np.testing.assert_array_equal(nonnegative_counts([-2.0, -2.0], 0), [0, 0])


def test_many_cells_are_quick(rng):
    found = best_counts(rng.normal(0, 3, 1 << 16), 9.0, 1e4)
    assert np.sum(found) == pytest.approx(1e4)


def test_arguments():
    with pytest.raises(ValueError, match=r"noisy must be a row of finite numbers.*\(2, 2\)"):
        best_counts(np.zeros((2, 2)), 1.0)
    with pytest.raises(ValueError, match="noisy must be a row") as caught:
        best_counts([1234.5, math.nan], 1.0)
    assert "1234" not in str(caught.value)
    with pytest.raises(ValueError, match="noisy must be a row"):
        nonnegative_counts([])
    with pytest.raises(ValueError, match="variance must be a finite number above 0"):
        best_counts([1.0, 2.0], 0.0)
    with pytest.raises(ValueError, match="total must be a finite number >= 0, got -1.0; leave it"):
        best_counts([1.0, 2.0], 1.0, total=-1)
    with pytest.raises(TypeError, match="total must be a number of records or None; got str"):
        nonnegative_counts([1.0, 2.0], total="all")
