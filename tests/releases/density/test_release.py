"""A release as its reader uses it: values, bands, derivatives, integrals, samples, smoothing."""

import math

import numpy as np
import pytest
from scipy.stats import binom, gaussian_kde, kstest

import mercer
from mercer.noise.entropy import Seeded
from mercer.noise.mechanisms import Gaussian
from mercer.spaces.bases import REGISTRY, Basis
from mercer.spaces.kernels import KERNELS
from tests.conftest import ALPHA

PROMISE = {"epsilon": 1.0, "delta": 1e-6}
LOUD = {"epsilon": 50.0, "delta": 0.5, "insist": True}  # next to no noise: compares with the estimate itself


@pytest.fixture
def rows(rng):
    return np.clip(np.concatenate([rng.normal(30, 8, 4000), rng.normal(70, 8, 6000)]), 0, 100)


@pytest.fixture
def release(rows):
    return mercer.density(rows, bounds=(0, 100), **PROMISE)


def test_open_boundary_is_the_papers_estimate(rows):
    """Hall 2013, Sec. 4.1: the Gaussian KDE of SciPy, to the accuracy of binning and noise."""
    h, x = 4.0, np.linspace(0, 100, 101)
    ours = mercer.density(rows, bounds=(0, 100), bandwidth=h, boundary="open", **LOUD)
    theirs = gaussian_kde(rows, bw_method=h / rows.std(ddof=1))(x)
    assert np.abs(ours.raw(x) - theirs).max() < 3e-3 * theirs.max()
    for basis in ("landmarks", "eigenfunctions"):
        other = mercer.density(rows, bounds=(0, 100), bandwidth=h, basis=basis, size=80, **LOUD)
        assert np.abs(other.raw(x) - theirs).max() < 3e-3 * theirs.max()
    for kernel in ("exponential", "matern32", "matern52"):
        rough = mercer.density(rows, bounds=(0, 100), bandwidth=h, kernel=kernel, **LOUD)
        assert np.abs(rough.raw(x) - theirs).max() < 1e-2 * theirs.max()


def test_reflecting_and_periodic_boundaries(rows):
    h, x = 4.0, np.linspace(0, 100, 101)
    images = {
        "reflect": np.concatenate([rows, -rows, 200 - rows]),
        "periodic": np.concatenate([rows, rows - 100, rows + 100]),
    }
    for boundary, pool in images.items():
        ours = mercer.density(rows, bounds=(0, 100), bandwidth=h, boundary=boundary, **LOUD)
        theirs = 3 * gaussian_kde(pool, bw_method=h / pool.std(ddof=1))(x)
        assert np.abs(ours.raw(x) - theirs).max() < 3e-3 * theirs.max()


def test_two_columns_with_a_full_matrix(rng):
    data = rng.multivariate_normal([0.5, 0.5], [[0.02, 0.012], [0.012, 0.02]], 3000)
    data = np.clip(data, 0, 1)
    matrix = np.array([[0.004, 0.002], [0.002, 0.003]])
    ours = mercer.density(data, bounds=[(0, 1)] * 2, bandwidth=matrix, boundary="open", **LOUD)
    x = rng.random((50, 2))
    gap = x[:, None] - data[None]
    form = np.einsum("ijk,kl,ijl->ij", gap, np.linalg.inv(matrix), gap)
    exact = np.exp(-form / 2).mean(axis=1) / (2 * math.pi * math.sqrt(np.linalg.det(matrix)))
    assert np.abs(ours.raw(x) - exact).max() < 0.01 * exact.max()


def test_it_is_a_density(release):
    x = np.linspace(0, 100, 2001)
    assert release(x).min() >= 0
    assert release.integral(0, 100) == pytest.approx(1, abs=1e-9)
    assert np.trapezoid(release(x), x) == pytest.approx(1, abs=1e-4)
    assert release.integral(0, 30) + release.integral(30, 100) == pytest.approx(1, abs=1e-9)
    smooth = np.trapezoid(release(np.linspace(20, 45, 4001)), np.linspace(20, 45, 4001))
    assert release.integral(20, 45) == pytest.approx(smooth, abs=0.05)  # which has no smoothing in it
    assert release(x, raw=True) == pytest.approx(release.raw(x))


@pytest.mark.parametrize("kernel", ["gaussian", "matern32", "matern52"])
def test_derivatives(rows, kernel):
    one = mercer.density(rows, bounds=(0, 100), kernel=kernel, bandwidth=6.0, **PROMISE)
    x = np.linspace(5.03, 95.03, 41)
    step = 1e-5
    numeric = (one.raw(x + step) - one.raw(x - step)) / (2 * step)
    good = np.abs(one.raw(x, order=1) - numeric) < 1e-4 * np.abs(numeric).max()
    assert good.mean() > 0.9
    inside = one(x) > 0
    assert np.allclose(one.derivative(x)[inside], one.raw(x, order=1)[inside])
    if kernel == "matern32":
        with pytest.raises(ValueError, match="no further derivatives"):
            one.derivative(x, order=2)


def test_points_may_have_any_shape(release):
    assert release(42.0).shape == ()
    assert release([42.0, 43.0]).shape == (2,)
    assert release(np.full((2, 3), 42.0)).shape == (2, 3)
    assert release(np.full((5, 1), 42.0)).shape == (5,)
    assert release([]).shape == (0,)


@pytest.mark.parametrize("bad", [-0.001, 100.001, math.nan, math.inf, [1.0, 200.0]])
def test_nothing_is_said_outside_the_domain(release, bad):
    for use in (release, release.band, release.derivative):
        with pytest.raises(ValueError, match=r"must lie in the domain x in \[0, 100\]"):
            use(bad)
    with pytest.raises(TypeError, match="x must be numbers"):
        release("forty")


def test_sample_follows_the_density(release):
    """Kolmogorov's test against the release's own distribution function."""
    draws = release.sample(20_000)
    grid = np.linspace(0, 100, 3001)
    law = np.array([release.integral(0, g) for g in grid[::10]])
    assert kstest(draws, lambda v: np.interp(v, grid[::10], law)).pvalue > ALPHA
    assert kstest(draws * 0.97, lambda v: np.interp(v, grid[::10], law)).pvalue < ALPHA
    assert np.array_equal(release.sample(5, rng=3), release.sample(5, rng=3))
    assert not np.array_equal(release.sample(5), release.sample(5))


def test_smoothing_again_is_free_and_only_upwards(release):
    wider = release.smooth(bandwidth=12)
    assert wider.bandwidth == pytest.approx([12])
    assert wider.accuracy.integrated < release.accuracy.integrated
    assert wider.coordinates is not release.coordinates
    assert np.array_equal(wider.coordinates, release.coordinates)
    assert wider.privacy == release.privacy
    back = wider.smooth("auto")
    assert np.array_equal(back(np.arange(101.0)), release(np.arange(101.0)))
    with pytest.raises(ValueError, match="at least the release's own"):
        release.smooth(float(release.finest_bandwidth[0]) / 2)
    with pytest.raises(ValueError, match="bandwidth must be"):
        release.smooth("rule")


def test_smoothing_equals_the_estimate_at_that_bandwidth(rows):
    """M17: coordinates noised at h0 and smoothed to h are the estimate of bandwidth h."""
    fine = mercer.density(rows, bounds=(0, 100), bandwidth=2.0, **LOUD)
    direct = mercer.density(rows, bounds=(0, 100), bandwidth=5.0, **LOUD)
    x = np.linspace(0, 100, 101)
    assert np.abs(fine.smooth(5.0).raw(x) - direct.raw(x)).max() < 3e-3 * direct.raw(x).max()


def test_rows_without_values_do_not_change_the_shape(rows):
    """M18: they count in n, and the mass is restored to one afterwards."""
    holes = np.concatenate([rows, np.full(5000, np.nan)])
    full, part = (mercer.density(r, bounds=(0, 100), bandwidth=4.0, **LOUD) for r in (rows, holes))
    x = np.linspace(0, 100, 101)
    assert part.privacy.n == 15_000
    assert np.abs(full(x) - part(x)).max() < 0.01 * full(x).max()
    assert part.integral(0, 100) == pytest.approx(1)


def test_all_rows_without_values_is_still_a_density():
    empty = mercer.density(np.full(100, np.nan), bounds=(0, 1), **PROMISE)
    assert empty.integral(0, 1) == pytest.approx(1)


def test_two_and_three_columns(rng):
    for d in (2, 3):
        data = rng.beta(2, 3, (2000, d))
        release = mercer.density(data, bounds=[(0, 1)] * d, **PROMISE)
        assert release.integral([0] * d, [1] * d) == pytest.approx(1)
        points = rng.random((7, d))
        assert release(points).shape == (7,)
        assert release(points[0]).shape == ()
        ticks = [np.sort(rng.random(4)) for _ in range(d)]
        mesh = np.stack(np.meshgrid(*ticks, indexing="ij"), -1)
        assert np.allclose(release.grid(*ticks), release(mesh))
        assert release.sample(10).shape == (10, d)
        band = release.band(points)
        assert np.all(band.lower <= band.upper)
        step = np.eye(d)[0] * 1e-6
        inner = 0.1 + 0.8 * points
        numeric = (release.raw(inner + step) - release.raw(inner - step)) / 2e-6
        order = (1,) + (0,) * (d - 1)
        assert np.allclose(release.raw(inner, order=order), numeric, atol=1e-4 * np.abs(numeric).max())
        with pytest.raises(ValueError, match=f"{d} numbers a point"):
            release([0.5] * (d + 1))
        with pytest.raises(ValueError, match="order must be"):
            release.derivative(points, order=1)


def test_seeded_releases_say_so(rows):
    seeded = mercer.density(rows, bounds=(0, 100), rng=1, **PROMISE)
    assert not seeded.privacy.secure
    assert "NOT PRIVATE" in seeded.privacy.sentence
    assert "NOT PRIVATE" in repr(seeded)
    secure = mercer.density(rows, bounds=(0, 100), **PROMISE)
    assert secure.privacy.secure
    assert "NOT PRIVATE" not in str(secure.privacy)
    assert "epsilon = 1" in str(secure.privacy)


def test_the_artifact_is_immutable(release):
    with pytest.raises(ValueError, match="read-only"):
        release.coordinates[0] = 0.0
    with pytest.raises(AttributeError):
        release.coordinates = np.zeros(3)


COVERAGE_CASES = {
    "reflect": {"bandwidth": 0.08},
    "open": {"bandwidth": 0.08, "boundary": "open"},
    "exponential": {"bandwidth": 0.1, "kernel": "exponential", "size": 65},
}


@pytest.mark.parametrize("options", COVERAGE_CASES.values(), ids=COVERAGE_CASES)
def test_band_covers_the_estimate_without_noise(options, rng):
    """95 % simultaneous and pointwise bands cover f_D in 95 % of runs; each test can fail."""
    data, runs = rng.beta(2, 4, 300), 1200
    first = mercer.density(data, bounds=(0, 1), rng=rng, **PROMISE, **options)
    x = np.linspace(0, 1, 201)
    quiet = mercer.density(data, bounds=(0, 1), rng=rng, epsilon=30.0, delta=0.4, insist=True, **options).raw(
        x
    )
    e = first.basis.features(x[:, None]) * first.filter
    draws = np.array(Seeded(rng).discrete_gaussian(2.0**30, first.basis.size * runs)) / 2.0**30
    noise = first.noise.scale * first.scale * (e @ draws.reshape(-1, runs))
    centre = first.raw(x)
    widths = {
        "simultaneous": first._field().everywhere(0.95) * first.standard_error(x),
        "pointwise": 1.959964 * first.standard_error(x),
    }
    assert np.abs(quiet - centre).max() < 12 * first.standard_error(x).max()
    every = np.mean(np.all(np.abs(noise) <= widths["simultaneous"][:, None], axis=0))
    middle = np.mean(np.abs(noise[100]) <= widths["pointwise"][100])

    def plausible(share, level, tolerance):
        """Binomial two-sided; the simulated quantile itself is off by up to `tolerance`."""
        hits = round(share * runs)
        low = binom.cdf(hits, runs, level - tolerance)
        high = binom.sf(hits - 1, runs, min(level + tolerance, 1 - 1e-9))
        return min(low, high) > ALPHA

    assert plausible(every, 0.95, 0.017)  # five standard errors of 4000 simulations
    assert plausible(middle, 0.95, 0.0)
    pointwise_everywhere = np.mean(np.all(np.abs(noise) <= widths["pointwise"][:, None], axis=0))
    assert not plausible(pointwise_everywhere, 0.95, 0.017)  # the test sees a band too narrow
    small = np.mean(np.all(np.abs(noise) <= 0.8 * widths["simultaneous"][:, None], axis=0))
    assert not plausible(small, 0.95, 0.017)


@pytest.mark.parametrize("boundary", ["reflect", "periodic"])
def test_band_covers_in_the_plane(boundary, rng):
    """The closed form for fields: at least 95 % coverage, and not far above, on a fine grid."""
    data, runs = rng.random((200, 2)), 500
    options = {"bounds": [(0, 1)] * 2, "bandwidth": 0.15, "boundary": boundary}
    first = mercer.density(data, rng=rng, **PROMISE, **options)
    ticks = np.linspace(0, 1, 41)
    x = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), -1).reshape(-1, 2)
    rows = first.basis.noise_rows(x, first.filter)
    deviation = np.sqrt(np.sum(rows**2, axis=1))
    # the quick formulas are those of the rows
    assert np.allclose(first.basis.deviation(x, first.filter), deviation, rtol=1e-4)
    z = rows @ rng.standard_normal((first.basis.size, runs)) / deviation[:, None]
    covered = int(np.sum(np.max(np.abs(z), axis=0) <= first._field().everywhere(0.95)))
    assert binom.cdf(covered, runs, 0.945) > ALPHA
    assert binom.sf(covered - 1, runs, 0.985) > ALPHA
    narrow = int(np.sum(np.max(np.abs(z), axis=0) <= 1.96))  # a pointwise band is seen
    assert binom.cdf(narrow, runs, 0.945) < ALPHA


def test_missing_values_and_rough_kernels_keep_the_curve_in_its_band(rng):
    data = np.concatenate([rng.normal(50, 10, 4000), np.full(400, np.nan)])
    x = np.linspace(0, 100, 101)
    for kernel in ("exponential", "matern52"):
        one = mercer.density(data, bounds=(0, 100), kernel=kernel, bandwidth=5.0, **PROMISE)
        band = one.band(x)
        inside = (one(x) >= band.lower) & (one(x) <= band.upper)
        assert inside.mean() > 0.9
        assert one.share_of_values == pytest.approx(4000 / 4400, abs=0.06)


def test_band_around_a_real_release(rows):
    release = mercer.density(rows, bounds=(0, 100), bandwidth=5.0, **PROMISE)
    x = np.linspace(0, 100, 101)
    wide, narrow = release.band(x), release.band(x, simultaneous=False)
    assert np.all(wide.lower <= narrow.lower)
    assert np.all(wide.upper >= narrow.upper)
    assert wide.lower.min() >= 0
    again = release.band(x)
    assert np.array_equal(wide.upper, again.upper)  # no fresh randomness between calls
    with pytest.raises(ValueError, match="level must be in"):
        release.band(x, level=95)


def test_accuracy_is_the_real_error_due_to_noise(rng):
    """Expected integrated squared error, against fresh secure noise."""
    data = rng.random(400)
    options = {"bounds": (0, 1), "bandwidth": 0.1, **PROMISE}
    one = mercer.density(data, **options)
    x = (np.arange(200) + 0.5) / 200
    exact = mercer.density(data, **(options | LOUD)).raw(x)
    errors = [np.mean((mercer.density(data, **options).raw(x) - exact) ** 2) for _ in range(60)]
    ratio = np.mean(errors) / one.accuracy.integrated
    assert 0.35 < ratio < 2.2  # 60 runs of about 8 effective coordinates: far beyond six sigma
    assert one.accuracy.pointwise >= math.sqrt(one.accuracy.integrated)


def test_mechanism_is_a_plug(rows):
    paper = mercer.density(rows, bounds=(0, 100), bandwidth=5.0, mechanism=Gaussian("classic"), **PROMISE)
    ours = mercer.density(rows, bounds=(0, 100), bandwidth=5.0, **PROMISE)
    assert paper.noise.scale / ours.noise.scale == pytest.approx(5.3868 / 4.22468, rel=1e-3)
    assert "classic" in paper.privacy.sentence


@pytest.mark.parametrize("kernel", ["exponential", "matern52"])
def test_a_grid_knows_how_much_its_mean_varies(kernel):
    """The closed form of a path against the features of a grid."""
    basis = REGISTRY["grid"].spanning(KERNELS[kernel](((0.04,),)), 65)
    assert np.isclose(basis.mean_deviation(), Basis.mean_deviation(basis), rtol=1e-3)


def test_narrow_estimates_on_a_grid_have_mass_one():
    """A peak much narrower than 1/64 of the width: its mass was once missed."""
    for place in (50.02, 50.78, 51.3):
        release = mercer.density(
            np.full(10**6, place), bounds=(0, 100), epsilon=1, delta=1e-6, bandwidth=0.3, kernel="exponential"
        )
        assert release.share_of_values > 0.998
        assert np.isclose(release(place), 1 / (0.3 * np.sqrt(2 * np.pi)), rtol=5e-3)


@pytest.mark.parametrize("options", [{}, {"delta": 1e-6}, {"delta": 1e-6, "boundary": "open"}], ids=str)
def test_standard_error_of_a_derivative_is_that_of_its_differences(options, rng):
    """The noise is linear: its derivative is the limit of what the noise does to differences."""
    made = mercer.density(rng.beta(2, 4, 500) * 10, bounds=(0, 10), epsilon=1, **options)
    x, step = np.linspace(1, 9, 7), 1e-4
    field, law = made._field(), made.noise
    draws = law.draws(made.size, np.arange(made.size))

    def noise(points):
        unit = made.domain.to_unit(points[:, None])
        return field.scale * made.basis.noise_rows(unit, field.factors) @ draws.T

    slopes = (noise(x + step) - noise(x - step)) / (2 * step)
    measured = np.sqrt(np.mean(slopes**2, axis=1))
    assert made.standard_error(x, order=1) == pytest.approx(measured, rel=0.1)
    assert made.standard_error(x, order=0) == pytest.approx(made.standard_error(x), abs=0)
