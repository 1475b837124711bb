"""The curve that is drawn: the taut string is the shortest line in its tube, and curves turn where it does."""

import numpy as np
import pytest
from scipy.optimize import minimize

import mercer
from mercer.releases.density.shape import Shape, taut_string


def peaks(values):
    """How many local maxima a curve has, plateaus counted once."""
    kept = values[np.concatenate([[True], np.abs(np.diff(values)) > 1e-9 * np.ptp(values)])]
    around = np.concatenate([[-np.inf], kept, [-np.inf]])
    return int(np.sum((around[1:-1] > around[:-2]) & (around[1:-1] > around[2:])))


def tube(rng, size):
    centre = np.sort(rng.random(size + 1))
    lower, upper = centre - rng.random(size + 1) / 5, centre + rng.random(size + 1) / 5
    lower[0] = upper[0] = 0.0
    lower[-1] = upper[-1] = 1.0
    return lower, upper


def test_the_string_is_the_shortest_line_in_its_tube(rng):
    for size in (1, 2, 7, 20):
        lower, upper = tube(rng, size)
        slopes = taut_string(lower, upper)
        line = np.concatenate([[0.0], np.cumsum(slopes)])
        assert np.all((line >= lower - 1e-12) & (line <= upper + 1e-12))
        assert line[-1] == pytest.approx(1)
        if size == 1:
            continue

        def length(inside):
            return np.sum(np.hypot(1.0, np.diff(np.concatenate([[0.0], inside, [1.0]]))))

        found = minimize(
            length,
            (lower + upper)[1:-1] / 2,
            bounds=list(zip(lower[1:-1], upper[1:-1], strict=True)),
            tol=1e-12,
        )
        assert np.sum(np.hypot(1.0, slopes)) <= found.fun + 1e-9


def test_a_wide_tube_has_a_straight_string_and_a_narrow_one_its_middle(rng):
    lower, upper = np.full(11, -5.0), np.full(11, 5.0)
    lower[0] = upper[0] = 0.0
    lower[-1] = upper[-1] = 1.0
    assert taut_string(lower, upper) == pytest.approx(0.1)
    middle = np.sort(np.concatenate([[0.0, 1.0], rng.random(9)]))
    assert taut_string(middle, middle) == pytest.approx(np.diff(middle))


def test_fits_turn_where_the_shape_does_and_keep_their_order(rng):
    shape = Shape(((10, 12), (30, 31), (50, 55)), 64)
    values = rng.random(128)
    low, middle, high = (shape.fit(values + shift) for shift in (-0.3, 0.0, 0.2))
    assert peaks(middle) <= shape.peaks == 2
    assert np.all(low <= middle)
    assert np.all(middle <= high)
    assert middle.sum() == pytest.approx(values.sum())
    assert np.allclose(shape.fit(middle), middle)


@pytest.mark.parametrize("given", [{"epsilon": 1}, {"epsilon": 1, "delta": 1e-6}, {"epsilon": 0.1}])
def test_a_release_of_one_column_has_a_shape(given, rng):
    x = np.where(rng.random(20_000) < 0.6, rng.normal(0.3, 0.07, 20_000), rng.normal(0.7, 0.05, 20_000))
    release = mercer.density(x, bounds=(0, 1), **given)
    shape = Shape.of(release.law, release.privacy.n)
    at = (np.arange(1024) + 0.5) / 1024
    drawn = shape.fit(release(at))
    assert peaks(drawn) == shape.peaks <= peaks(release(at))
    assert np.mean(drawn) == pytest.approx(np.mean(release(at)))
    assert np.all(drawn >= 0)


def test_two_clear_peaks_are_shown():
    """With hardly any noise or sampling error: quantiles of two normals."""
    u = (np.arange(200_000) + 0.5) / 200_000
    from scipy.stats import norm

    x = np.where(np.arange(200_000) % 2, norm.ppf(u, 0.3, 0.05), norm.ppf(u, 0.7, 0.05))
    release = mercer.density(x, bounds=(0, 1), epsilon=15)
    assert Shape.of(release.law, release.privacy.n).peaks == 2


def test_a_picture_is_of_the_shape_unless_it_is_smooth(tmp_path):
    release = mercer.density(np.linspace(0, 1, 500) ** 2, bounds=(0, 1), epsilon=1)
    drawn, smooth = (release.plot(smooth=smooth).axes[0].lines[0].get_ydata() for smooth in (False, True))
    assert peaks(np.asarray(drawn)) <= peaks(np.asarray(smooth))
    at = (np.arange(1024) + 0.5) / 1024
    assert np.asarray(smooth) == pytest.approx(release(at))
    with pytest.raises(TypeError, match="smooth must be True or False"):
        release.plot(smooth="yes")
