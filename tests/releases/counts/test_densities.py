"""A histogram smoothed into a density: near the truth, honest bands, the same bits after a file."""

import json
import math
from dataclasses import replace
from importlib.resources import files

import jsonschema
import numpy as np
import pytest
from scipy.stats import beta, binom

import mercer
from mercer.noise.laws import BinnedLaplace, Normal, law_from_dict
from mercer.releases.counts.smoothing import _of_bins
from mercer.releases.density.release import DensityRelease
from mercer.server import Settings
from tests.conftest import ALPHA
from tests.helpers.serving import serving

TRUTH = beta(2, 5)
POINTS = np.linspace(0, 10, 401)
EQUAL = np.linspace(0, 10, 41)
UNEQUAL = 10 * np.linspace(0, 1, 41) ** 1.5
SCHEMA = json.loads((files("mercer.releases") / "release.schema.json").read_text())
SURE = {"missing": "drop"}  # the number of complete rows is public


def truth(x):
    return TRUTH.pdf(np.asarray(x) / 10) / 10


def values(n, rng):
    return 10 * TRUTH.rvs(n, random_state=rng)


@pytest.mark.parametrize("edges", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
def test_the_density_is_nearer_to_the_truth_than_the_bars(edges, rng):
    """In 30 draws, in 95 of 100 cases each (measured: always), so 16 or more but for ALPHA."""
    assert binom.cdf(15, 30, 0.95) < ALPHA
    wins = 0
    for _ in range(30):
        bars = mercer.histogram(values(5000, rng), bins=edges, epsilon=0.5, rng=rng)
        smooth = bars.density()
        errors = [np.mean((f(POINTS) - truth(POINTS)) ** 2) for f in (smooth, bars)]
        wins += errors[0] < errors[1]
    assert wins >= 16


def test_much_data_give_the_density_itself(rng):
    bars = mercer.histogram(values(200_000, rng), bins=EQUAL, epsilon=5, rng=rng)
    found = bars.density()
    assert np.mean(np.abs(found(POINTS) - truth(POINTS))) < 0.01  # of 0.1: its mean value
    assert found.integral(0, 10) == pytest.approx(1, abs=1e-9)
    assert found.integral(0, 3) == pytest.approx(TRUTH.cdf(0.3), abs=0.02)


def test_noise_of_equal_bins_is_white():
    """The map from bins to moments 1 and above is a multiple of an isometry's transpose."""
    cells, degree = 30, 29
    middles = (np.arange(cells) + 0.5) / cells
    rows = np.cos(math.pi * np.outer(np.arange(1, degree + 1), middles))
    np.testing.assert_allclose(rows @ rows.T, cells / 2 * np.eye(degree), atol=1e-12)


def test_moments_and_their_deviation(rng):
    x = values(1000, rng)
    bars = mercer.histogram(x, bins=EQUAL, epsilon=1, rng=rng, **SURE)
    found = bars.density(degree=12)
    middles = (np.arange(40) + 0.5) / 40
    direct = np.cos(math.pi * np.outer(np.arange(13), middles)) @ (bars.raw / 1000)
    np.testing.assert_allclose(found.coordinates[1:], direct[1:], atol=1e-5 * found.noise.scale)
    assert found.coordinates[0] == 1
    exact = math.sqrt(40 / 2) * bars.noise.deviation / 1000
    np.testing.assert_allclose(found.noise.deviations(13), exact, rtol=1e-12)
    assert found.privacy == bars.privacy


def test_which_law_is_told(rng):
    x = values(1000, rng)
    options = {"bounds": (0, 10), "epsilon": 1}
    pure = mercer.histogram(x, bins=40, **options).density()
    assert isinstance(pure.noise, BinnedLaplace)
    assert pure.noise.cells == 40
    for other in (
        mercer.histogram(x, bins=40, delta=1e-6, **options),
        mercer.histogram(x, bins=UNEQUAL, epsilon=1),
        mercer.histogram(x, bins=5000, insist=True, **options),
    ):
        assert isinstance(other.density().noise, Normal)


def test_draws_of_the_law_have_its_deviations(rng):
    """By the fourth moment: |mean of z^2 - 1| < 7 standard errors, below 1e-9 for ten."""
    law, runs = BinnedLaplace(0.02, 0.01, 16), 40_000
    scaled = (law.simulate(11, runs, rng) / law.deviations(11))[:, 1:] ** 2
    limit = 7 * np.sqrt(np.var(scaled, axis=0) / runs)
    assert np.all(np.abs(np.mean(scaled, axis=0) - 1) < limit)
    assert np.all(np.abs(1.1 * np.mean(scaled, axis=0) - 1) > limit)  # would see a twentieth


def test_a_damaged_law_is_refused():
    fields = BinnedLaplace(0.02, 0.01, 16).to_dict()
    assert law_from_dict(fields) == BinnedLaplace(0.02, 0.01, 16)
    for cells in (1, 1 << 13, True, "16", None):
        with pytest.raises(ValueError, match="cells of the noise must be a whole number"):
            law_from_dict(fields | {"cells": cells})


@pytest.mark.parametrize("cells", [5, 40])
def test_a_law_that_does_not_fit_is_refused(cells, tmp_path, rng):
    found = mercer.histogram(values(500, rng), bins=EQUAL, epsilon=1).density(degree=12)
    path = found.save(tmp_path / "density.json")
    path.write_text(path.read_text().replace('"cells": 40', f'"cells": {cells}'))
    if cells == 40:
        mercer.load(path)
    else:
        with pytest.raises(ValueError, match="'binned-laplace' does not fit the basis 'moments'"):
            mercer.load(path)


def test_unequal_bins_state_no_less_noise_than_there_is(rng):
    """For every combination of moments, not for each moment alone."""
    unit = UNEQUAL / 10
    shares = rng.dirichlet(np.ones(40))
    moments, stretch = _of_bins(shares, unit, 15)
    j = math.pi * np.arange(1, 16)[:, None]
    rows = np.diff(np.sin(j * unit), axis=1) / (j * np.diff(unit))
    np.testing.assert_allclose(moments[1:], rows @ shares, atol=1e-12)
    for _ in range(100):
        weights = rng.normal(size=15)
        assert np.linalg.norm(weights @ rows) <= stretch * np.linalg.norm(weights) * (1 + 1e-12)


def covered(edges, rng, draws, shrink=1.0):
    """How often the band at 95 % holds the same smoothing of the counts without noise."""
    x, count = values(3000, rng), 0
    plain = np.histogram(x, edges)[0]
    for _ in range(draws):
        bars = mercer.histogram(x, bins=edges, epsilon=1, rng=rng, **SURE)
        found = bars.density()
        found = replace(found, noise=replace(found.noise, scale=found.noise.scale * shrink))
        quiet = replace(bars, values=plain).density(degree=found.basis.size - 1)
        same = replace(quiet, covariance=found.covariance, smoother=found.smoother, choice=found.choice)
        low, high, _ = found.band(POINTS, 0.95, raw=True)
        target = same.raw(POINTS)
        count += bool(np.all((low <= target) & (target <= high)))
    return count


def test_bands_cover_the_estimate_without_noise(rng):
    """Simultaneously, at 95 %; a little slack, since the noise has a part in the bandwidth."""
    draws = 60
    least = int(binom.ppf(ALPHA, draws, 0.93))
    assert covered(EQUAL, rng, draws) >= least
    assert covered(EQUAL, rng, draws, shrink=0.5) < least  # would see half of the noise


def test_bands_of_unequal_bins_cover_too(rng):
    assert covered(UNEQUAL, rng, 40) >= int(binom.ppf(ALPHA, 40, 0.93))


@pytest.mark.parametrize("edges", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
def test_a_file_keeps_every_bit(edges, tmp_path, rng):
    bars = mercer.histogram(values(2000, rng), bins=edges, epsilon=1, columns="wait")
    found = bars.density()
    again = mercer.load(found.save(tmp_path / "wait.json"))
    assert isinstance(again, DensityRelease)
    np.testing.assert_array_equal(again(POINTS), found(POINTS))
    np.testing.assert_array_equal(again.band(POINTS).upper, found.band(POINTS).upper)
    np.testing.assert_array_equal(again.sample(50, rng=1), found.sample(50, rng=1))
    jsonschema.validate(json.loads((tmp_path / "wait.json").read_text()), SCHEMA)
    assert again.privacy == found.privacy
    assert again.domain.names == ("wait",)
    np.testing.assert_array_equal(  # from the file of the bars as well
        mercer.load(bars.save(tmp_path / "bars.json")).density()(POINTS), found(POINTS)
    )


def test_it_is_a_density_like_any_other(tmp_path, rng):
    found = mercer.histogram(values(2000, rng), bins=EQUAL, epsilon=1).density()
    assert found.plot(tmp_path / "density.png") is not None
    assert (tmp_path / "density.png").stat().st_size > 0
    smoother = found.smooth(2.0)
    assert smoother.bandwidth[0] == pytest.approx(2.0)
    assert np.all((found.sample(100) >= 0) & (found.sample(100) <= 10))
    assert found.smooth()(5.0) == found(5.0)


def test_it_is_served(tmp_path, rng):
    found = mercer.histogram(values(2000, rng), bins=EQUAL, epsilon=1).density()
    found.save(tmp_path / "wait.json")
    with serving(Settings(folder=tmp_path, refresh_seconds=0)) as service:
        answer = service.client.get("/api/releases/wait").json()
        assert answer["statement"]["words"] == found.privacy.sentence
        told = service.values("wait", points=POINTS.tolist(), band=0.9).json()
    assert told["values"] == found(POINTS).tolist()
    assert told["upper"] == found.band(POINTS, 0.9).upper.tolist()


def test_rows_without_values_do_not_bend_it(rng):
    """A third has none: the density is that of the others, and integrates to one."""
    x = values(30_000, rng)
    x[::3] = np.nan
    found = mercer.histogram(x, bins=EQUAL, epsilon=2, rng=rng).density()
    assert np.mean(np.abs(found(POINTS) - truth(POINTS))) < 0.02
    assert found.integral(0, 10) == pytest.approx(1, abs=1e-9)


def test_several_rows_of_a_person_do_not_either(rng):
    """Three rows each: counts add up to three times n."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": values(30_000, rng), "who": np.repeat(np.arange(10_000), 3)})
    bars = mercer.histogram(frame, columns="x", bins=EQUAL, epsilon=2, unit="who", rows_per_person=3, rng=rng)
    found = bars.density()
    assert np.mean(np.abs(found(POINTS) - truth(POINTS))) < 0.02


def test_hardly_any_noise(rng):
    found = mercer.histogram(values(100, rng), bins=EQUAL, epsilon=1e4, insist=True).density()
    assert np.all(np.isfinite(found(POINTS)))


def test_more_noise_fewer_cosines(rng):
    x = values(1000, rng)
    sizes = [
        mercer.histogram(x, bins=256, bounds=(0, 10), epsilon=e).density().basis.size for e in (0.1, 1, 10)
    ]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] <= 256


def test_arguments(rng):
    x = values(500, rng)
    bars = mercer.histogram(x, bins=EQUAL, epsilon=1)
    with pytest.raises(ValueError, match=r"degree must be in \[1, 39\], got 40"):
        bars.density(degree=40)
    with pytest.raises(ValueError, match="histogram of one column in bins"):
        mercer.histogram(["a", "b"] * 90, categories=["a", "b"], epsilon=1).density()
    with pytest.raises(ValueError, match="sparse=False"):
        mercer.histogram(x, bins=EQUAL, epsilon=1, sparse=True).density()
    with pytest.raises(ValueError, match="at least 2 bins, got 1"):
        mercer.histogram(x, bins=[0, 10], epsilon=1).density()
