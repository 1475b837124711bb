"""The default smoothing of curves: what is averaged, what its bands hold, what a file keeps of it."""

import json
import math

import numpy as np
import pytest
from scipy.stats import binom

import mercer
from mercer.api.recipes.curve_plan import REFERENCES, reference_errors
from mercer.releases.curve.average import FAMILY, RUNS, Average
from mercer.releases.curve.functionals import Plain, Sketch
from mercer.rules.public import frame_of
from mercer.spaces.polynomials import Polynomials
from tests.conftest import ALPHA

T = np.linspace(0, 1, 101)
SOME = Polynomials((32,))
X = np.sin(np.linspace(0, np.pi / 2, 200)) ** 2
ROWS = SOME.rows(X[:, None])
# three smooth means, and two that are not: of a hundred runs each at level 0.95, the smooth ones are held
# in 95 to 100, the kink in 90, the jump next to never once noise is small
MEANS = {
    "sine": lambda t: 0.5 * np.sin(2 * np.pi * t),
    "rise": lambda t: 0.8 / (1 + np.exp(-(t - 0.4) / 0.08)) - 0.4,
    "decay": lambda t: 0.7 * np.exp(-5 * t) - 0.1,
}
FLOOR = 0.93


def jump(t):
    return np.where(t < 0.4, -0.3, 0.3)


def coefficients(function, some=SOME):
    return some.inner(lambda u: function(u[:, 0]))


def held(truth, sd, runs, rng, frame=None, *, width=1.0):
    """How often the whole band around the average holds the curve, and squared errors of it."""
    hits, errors = 0, []
    for _ in range(runs):
        seen = truth if frame is None else frame @ truth
        noisy = seen + sd * rng.standard_normal(len(seen))
        made = Average().of(noisy, sd**2, SOME, frame)
        gap = ROWS @ (made.draws(400) - made.mean).T
        half = np.sqrt(np.mean(gap**2, axis=1))
        quantile = np.quantile(np.max(np.abs(gap) / half[:, None], axis=0), 0.95)
        error = ROWS @ (made.mean[0] - truth)
        hits += np.all(np.abs(error) <= width * made.stretch() * quantile * half)
        errors.append(np.sum((made.mean[0] - truth) ** 2) / np.sum(gap**2, axis=0).mean() * len(X))
    return hits, errors


def test_bands_hold_smooth_means_and_half_of_them_would_not(rng):
    """All cases counted together, at two sizes of noise, with and without a frame."""
    hits, less, runs = 0, 0, 0
    for mean in MEANS.values():
        truth = coefficients(mean)
        for sd, frame in ((0.05, None), (0.01, None), (0.03, frame_of(SOME, 14))):
            hits += held(truth, sd, 12, rng, frame)[0]
            less += held(truth, sd, 12, rng, frame, width=0.5)[0]
            runs += 12
    assert hits >= binom.ppf(ALPHA, runs, FLOOR)
    assert less < binom.ppf(ALPHA, runs, FLOOR)  # planted: bands half as wide


def test_a_jump_is_not_held(rng):
    """What no band of smooth curves can hold is known, and said in the docs."""
    some = coefficients(jump)
    assert held(some, 0.003, 20, rng)[0] <= binom.isf(ALPHA, 20, 0.5)


def test_the_average_is_nearer_than_no_smoothing_and_keeps_the_level(rng):
    truth = coefficients(MEANS["sine"])
    noisy = truth + 0.05 * rng.standard_normal((50, 32))
    made = Average().of(noisy, 0.05**2, SOME, None)
    assert np.allclose(made.mean[:, 0], noisy[:, 0], atol=1e-12)
    assert np.sum((made.mean - truth) ** 2) < 0.5 * np.sum((noisy - truth) ** 2)
    assert np.all((made.estimate.freedom > 1) & (made.estimate.freedom < 32))


def test_where_noise_is_next_to_nothing_nothing_is_smoothed(rng):
    truth = coefficients(jump)
    made = Average().of(truth + 1e-9 * rng.standard_normal(32), 1e-18, SOME, None)
    assert np.allclose(made.mean[0], truth, atol=1e-7)


def test_slopes_come_from_smooth_draws(rng):
    noisy = coefficients(MEANS["rise"]) + 0.02 * rng.standard_normal(32)
    made = Average().of(noisy, 0.02**2, SOME, None)
    rough, smooth = (np.std(made.draws(300, slopes=slopes), axis=0)[16:] for slopes in (False, True))
    assert np.mean(rough) > np.mean(smooth)


def test_bands_are_stretched_where_the_shape_is_seen():
    """1 below a signal of 30, 1.2 from about 1000 on, 1.5 from 100,000 on; the cube for slopes."""
    found = []
    for signal in (1, 30, 950, 1e5, 1e9):
        noisy = np.zeros(32)
        noisy[1] = math.sqrt(signal + 31)
        found.append(Average().of(noisy, 1.0, SOME, None))
    assert [made.stretch() for made in found] == pytest.approx([1, 1, 1.2, 1.5, 1.5], abs=1e-3)
    assert [made.stretch((1,)) for made in found] == pytest.approx([1, 1, 1.728, 1.728, 1.728], abs=1e-2)


def test_what_was_not_released_is_drawn_too(rng):
    frame = frame_of(SOME, 8)
    made = Average().of(frame @ coefficients(MEANS["rise"]), 0.01**2, SOME, frame)
    draws = made.draws(200)
    beyond = draws - draws @ frame.T @ frame
    assert np.mean(beyond**2) > 0
    assert np.allclose(made.mean @ frame.T @ frame, made.mean)
    assert np.allclose(beyond @ frame.T, 0, atol=1e-12)


@pytest.fixture
def curves(rng):
    return np.sin(3 * T) + 0.2 * rng.standard_normal((400, 1)) * np.cos(5 * T)


PROMISE = {"grid": T, "bound": 1.5, "epsilon": 1.0}


@pytest.mark.parametrize("delta", [1e-6, None])
def test_it_is_the_default_and_a_file_keeps_it(delta, curves, tmp_path):
    made = mercer.mean_curve(curves, **PROMISE, delta=delta)
    assert made.smoothing == Average()
    assert made.choice == "auto"
    kept = json.loads(made.save(tmp_path / "a.json").read_text())
    assert kept["filter"] == {"average": FAMILY, "choice": "auto"}
    back = mercer.load(tmp_path / "a.json")
    assert np.array_equal(back(T), made(T))
    assert np.allclose(back.band(T).upper, made.band(T).upper, rtol=1e-9)
    assert np.allclose(back.smooth()(T), made(T), atol=1e-12)
    assert made.smooth(kernel="gaussian").smoothing.kernel == "gaussian"
    # bands hold the curve that was released, and are wider for slopes than where nothing is unsure
    for order in (0, 1):
        for simultaneous in (True, False):
            band = made.band(T, order=order, simultaneous=simultaneous)
            assert np.all((band.lower < made.derivative(T, order)) & (made.derivative(T, order) < band.upper))
    error = made.standard_error((np.arange(4000) + 0.5) / 4000)
    assert np.sqrt(np.mean(error**2)) == pytest.approx(np.sqrt(made.accuracy.integrated), rel=0.05)


def test_files_with_another_family_or_a_filter_beside_it_are_refused(curves, tmp_path):
    fields = json.loads(mercer.mean_curve(curves, **PROMISE).save(tmp_path / "a.json").read_text())
    for damage in ({"average": "curves-9"}, {"average": 3}, {"choice": "given"}):
        broken = fields | {"filter": fields["filter"] | damage}
        (tmp_path / "b.json").write_text(json.dumps(broken))
        with pytest.raises(ValueError, match=r"b\.json is not a valid release"):
            mercer.load(tmp_path / "b.json")


def test_surfaces_and_what_is_given_have_one_filter(curves):
    surface = np.tile(np.outer(np.sin(T[:12]), T[:9]), (300, 1, 1))
    made = mercer.mean_curve(surface, grid=(T[:12], T[:9]), bound=1, epsilon=1, delta=1e-6, size=8)
    assert made.smoothing.kernel == "gaussian"
    assert mercer.mean_curve(curves, **PROMISE, scale=0.2).smoothing.kernel == "gaussian"
    assert mercer.mean_curve(curves, **PROMISE, kernel="matern32").smoothing.kernel == "matern32"


def test_differences_of_averages(curves):
    one, two = (mercer.mean_curve(curves + lift, **PROMISE, delta=1e-6) for lift in (0.0, 0.2))
    gap = two - one
    assert "file's own mean" in gap.about
    assert np.allclose(gap.standard_error(T), np.hypot(one.standard_error(T), two.standard_error(T)))
    noise = gap._noise()
    energy = sum(np.sum(side._noise().factor ** 2) for side in (one, two))
    assert np.mean(np.sum(noise.draws**2, axis=1)) == pytest.approx(energy, rel=0.1)
    assert np.allclose((one - one).standard_error(T), 0, atol=1e-12)
    assert (two - one.smooth(kernel="gaussian")).about == "for the noise alone"
    assert np.all(np.isfinite(gap.band(T, order=1).upper))


FUNCTIONALS = {
    "highest": lambda c: c.maximum().at,
    "lowest": lambda c: c.minimum().at,
    "height": lambda c: c.maximum().height,
    "area": lambda c: c.integral(),
    "norm": lambda c: c.norm(),
    "time": lambda c: c.time_above(0.5),
    "crossing": lambda c: c.first_crossing(0.5),
}


@pytest.mark.parametrize("smoothing", [{}, {"kernel": "gaussian"}, {"scale": 0.2, "penalty": 0.01, "eta": 1}])
@pytest.mark.filterwarnings("ignore::mercer.common.checks.PrivacyWarning")  # next to nothing but noise
def test_intervals_stay_in_the_domain(smoothing, curves):
    grid = np.linspace(10, 50, 101)
    options = PROMISE | {"grid": grid, "epsilon": 0.3, "delta": 1e-6}
    made = mercer.mean_curve(curves[:60] * 0.1, **options, **smoothing)
    for name, functional in FUNCTIONALS.items():
        found = made.interval(functional, runs=100)
        if name in ("highest", "lowest", "crossing"):
            assert 10 <= found.lower <= found.upper <= 50
        if name in ("time", "norm"):
            assert found.lower >= 0
        if name == "time":
            assert found.upper <= 40


def test_intervals_hold_what_is_true(rng):
    """All functionals and runs together, at level 0.9; intervals of a fortieth of the width would fail."""
    heights = np.tile(MEANS["sine"](T) + 0.3 * T, (400, 1))
    said = {name: [] for name in FUNCTIONALS}
    exact = mercer.mean_curve(
        heights, grid=T, bound=1.5, epsilon=1e9, insist=True, scale=0.05, eta=1, penalty=1e-9
    )
    for _ in range(12):
        made = mercer.mean_curve(heights, grid=T, bound=1.5, epsilon=8, delta=1e-6, size=32)
        for name, functional in FUNCTIONALS.items():
            said[name].append((made.interval(functional, 0.9, runs=200), functional(exact)))
    every = [pair for pairs in said.values() for pair in pairs]
    hits = sum(found.lower <= true <= found.upper for found, true in every)
    # the runs are independent, not the functionals of one: as if only the runs counted
    assert hits / len(every) >= binom.ppf(ALPHA, 12, 0.9) / 12
    middle = sum(abs(2 * true - f.lower - f.upper) * 40 <= f.upper - f.lower for f, true in every)
    assert middle / len(every) < binom.ppf(ALPHA, 12, 0.9) / 12  # planted


def test_a_sketch_is_the_curve(rng):
    values = rng.standard_normal(32) / (1 + np.arange(32.0)) ** 2
    domain = mercer.mean_curve(np.zeros((50, 5)), grid=range(5), bound=1, epsilon=9).domain
    exact, near = (kind(domain, SOME, values, ("gaussian",)) for kind in (Plain, Sketch))
    for side in ("maximum", "minimum"):
        one, two = (getattr(curve, side)() for curve in (exact, near))
        assert one.at == pytest.approx(two.at, abs=2e-3)
        assert one.height == pytest.approx(two.height, abs=1e-3)
    level = float(np.mean(exact(np.linspace(0, 4, 99))))
    assert np.allclose(exact.crossings(level), near.crossings(level), atol=1e-5)
    assert exact.time_above(level) == pytest.approx(near.time_above(level), abs=1e-4)
    assert exact.first_crossing(1e9) == 4.0
    assert exact.crossings(1e9) == ()
    with pytest.raises(TypeError, match="level must be a height"):
        exact.crossings(float("nan"))


def test_a_sketch_of_a_surface(rng):
    some = Polynomials((6, 5))
    domain = mercer.mean_curve(
        np.zeros((50, 4, 4)), grid=(range(4), range(4)), bound=1, epsilon=9, size=4
    ).domain
    values = rng.standard_normal(30)
    exact, near = (kind(domain, some, values, ("gaussian",)) for kind in (Plain, Sketch))
    assert exact.maximum().height == pytest.approx(near.maximum().height, rel=0.02)
    assert exact.time_above(0.1) == pytest.approx(near.time_above(0.1), abs=1e-9)
    with pytest.raises(ValueError, match="a surface passes a level along lines"):
        exact.crossings(0.1)


def test_plans_are_of_the_default(rng):
    """Simulated errors are those of the smoothing itself, on curves of a quarter of the bound."""
    for curve in REFERENCES:
        square = np.sum(SOME.inner(curve) ** 2)
        assert math.sqrt(square) == pytest.approx(0.25, rel=0.05)

    def estimate(noisy):
        return Average().of(noisy, 0.05**2, SOME, None).mean

    planned = reference_errors(estimate, 0.05, SOME, None)
    for error, curve in zip(planned, REFERENCES, strict=True):
        truth = SOME.inner(curve)
        noisy = truth + 0.05 * rng.standard_normal((200, 32))
        assert np.sqrt(np.mean(np.sum((estimate(noisy) - truth) ** 2, axis=1))) == pytest.approx(
            error, rel=0.35
        )
    raw = reference_errors(lambda noisy: noisy, 0.05, SOME, None)
    assert raw == pytest.approx(np.full(3, 0.05 * math.sqrt(32)), rel=0.2)
    plan = mercer.curve_plan(n=300, bound=2, epsilon=1, delta=1e-6)
    chosen = mercer.curve_plan(n=300, bound=2, epsilon=1, delta=1e-6, kernel="gaussian")
    assert (plan.smoothing, chosen.smoothing) == ("average", "chosen")
    assert plan.privacy_error == pytest.approx(
        2 * mercer.curve_plan(n=300, bound=1, epsilon=1, delta=1e-6).privacy_error
    )
    surface = mercer.curve_plan(n=300, bound=2, epsilon=1, delta=1e-6, bounds=[(0, 1), (0, 2)], size=6)
    assert (surface.smoothing, surface.kernel) == ("chosen", "gaussian")


def test_a_dry_run_says_the_plan(curves):
    said = mercer.mean_curve(curves, **PROMISE, delta=1e-6, dry_run=True).expected
    plan = mercer.curve_plan(n=400, bound=1.5, epsilon=1.0, delta=1e-6)
    for number in (plan.privacy_error, plan.least_error, plan.most_error, plan.sampling_error):
        assert f"{number:.3g}" in said
    given = mercer.mean_curve(curves, **PROMISE, delta=1e-6, dry_run=True, scale=0.3, eta=1, penalty=0.01)
    plan = mercer.curve_plan(n=400, bound=1.5, epsilon=1.0, delta=1e-6, scale=0.3, eta=1, penalty=0.01)
    assert f"root mean square {plan.privacy_error:.3g} by noise, in the mean" in given.expected
    stack = np.zeros((300, 5, 6))
    surface = mercer.mean_curve(stack, grid=(range(5), range(6)), bound=1, epsilon=1, size=6, dry_run=True)
    assert "public reference curves" in surface.expected


def test_more_draws_than_are_kept(curves):
    made = mercer.mean_curve(curves, **PROMISE, delta=1e-6, size=12)
    assert len(made._errors(RUNS + 1)) == RUNS + 1
    made.interval(lambda c: c.norm(), 0.999, runs=RUNS + 1)
