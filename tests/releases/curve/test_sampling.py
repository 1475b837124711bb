"""Bands about the mean of a population: what they hold, how wide they are, what a file keeps of them."""

import json
import math
import pickle
import warnings
from dataclasses import replace
from importlib.resources import files

import jsonschema
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom

import mercer
from mercer.noise.laws import Euclidean, Normal
from mercer.releases.base import from_dict
from mercer.releases.curve.sampling import DIRECTIONS, Sampling, radius_of, total_above
from tests.conftest import ALPHA
from tests.helpers.shell import released, run

T = np.linspace(0, 1, 60)
TERMS = {"grid": T, "bound": 1.0, "delta": 1e-6}
MEAN = 0.3 * np.sin(2 * np.pi * T)
WAYS = np.array([0.25 + 0 * T, 0.2 * np.cos(3 * T), 0.3 * np.exp(-(((T - 0.9) / 0.1) ** 2))])  # of one curve
FLOOR = 0.93


def sample(n, rng):
    """Curves of one law, of which next to none reaches the bound."""
    return MEAN + np.clip(rng.standard_normal((n, len(WAYS))), -2.5, 2.5) @ WAYS


def released_of(rng, n=2000, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mercer.PrivacyWarning)
        terms = TERMS | {"epsilon": 5.0, "population": 0.05, "rng": 0} | options
        return mercer.mean_curve(sample(n, rng), **terms)


@pytest.fixture(scope="module")
def mean():
    return released_of(np.random.default_rng())


# what is known of the curves


def test_the_covariance_is_that_of_the_curves_where_there_is_no_noise(rng):
    """A root of the mean's covariance: to the n-th part of what the moments say."""
    curves = rng.standard_normal((500, 4)) @ (0.05 * rng.standard_normal((4, 4)))
    above = np.triu_indices(4, 1)
    square = curves.T @ curves / 500
    total = float(np.trace(square))
    law = Normal(1e-12, 2.0**-60)
    radius = 3 * math.sqrt(total)
    moments = np.concatenate([np.diag(square), math.sqrt(2) * square[above]]) / radius**2
    found = Sampling(total, law, radius, moments, law, 500, 0.05)
    assert found.directions == 4
    assert np.allclose(found.root @ found.root.T, square / 500, atol=1e-12)
    assert found.error == pytest.approx(math.sqrt(total / 500))
    draws = found.draws(200_000)
    assert np.allclose(np.cov(draws.T) * 500, square, atol=0.02 * total)
    assert np.array_equal(draws, found.draws(200_000))  # a public stream


def test_what_noise_adds_is_taken_off(rng):
    """The nearest matrix without negative eigenvalues whose trace is the total: against a search."""
    law = Normal(1e-12, 2.0**-60)
    for _ in range(5):
        moments = rng.standard_normal(6)
        found = Sampling(0.5, law, 1.0, moments, law, 1, 0.05).root
        square = found @ found.T
        given = np.diag(moments[:3])
        above = np.triu_indices(3, 1)
        given[above] = given.T[above] = moments[3:] / math.sqrt(2)
        assert np.trace(square) == pytest.approx(0.5)

        def away(flat, given=given):
            root = flat.reshape(3, 3)
            other = root @ root.T
            return np.sum((other / np.trace(other) * 0.5 - given) ** 2)

        best = min(minimize(away, rng.standard_normal(9)).fun for _ in range(8))
        assert np.sum((square - given) ** 2) <= best + 1e-6


def test_the_radius_is_three_root_mean_squares_and_at_most_the_bound():
    noise = Normal(0.01, 2.0**-30)
    assert total_above(0.03, noise) == pytest.approx(0.04)
    assert radius_of(0.03, noise) == pytest.approx(0.6)
    assert total_above(-5.0, noise) == pytest.approx(0.01)  # never below a standard deviation of the noise
    assert radius_of(9.0, noise) == total_above(9.0, noise) == 1.0
    assert total_above(0.0, Euclidean(0.01, 2.0**-30)) == pytest.approx(0.01 * math.sqrt(2))


# what bands hold


@pytest.mark.parametrize("delta", [1e-6, None])
def test_bands_hold_the_population_and_those_of_the_file_would_not(delta, rng):
    """Samples drawn again and again; planted: bands for the noise alone, where sampling is more than noise.

    Of 100 runs each the one held 95 and 98, the other none and 2.
    """
    runs, held, own, widths = 24, 0, 0, []
    for _ in range(runs):
        made = released_of(rng, 20_000, epsilon=20.0, delta=delta)
        band, file = (made.band(T, of=of) for of in ("population", "data"))
        held += np.all((band.lower <= MEAN) & (band.upper >= MEAN))
        own += np.all((file.lower <= MEAN) & (file.upper >= MEAN))
        law = Normal(1e-9, 2.0**-60)
        exact = WAYS @ made.polynomials.of_grid([T])[:, :DIRECTIONS]
        square = exact.T @ exact
        radius = 1.0
        above = np.triu_indices(DIRECTIONS, 1)
        moments = np.concatenate([np.diag(square), math.sqrt(2) * square[above]])
        known = Sampling(float(np.trace(square)), law, radius, moments, law, 20_000, 0.05)
        other = replace(made, sampling=known).band(T, of="population")
        widths.append(np.mean(band.upper - band.lower) / np.mean(other.upper - other.lower))
    assert held >= binom.ppf(ALPHA, runs, FLOOR)
    if delta:
        assert own < binom.ppf(ALPHA, runs, FLOOR)
    assert 0.85 < np.median(widths) < 1.15  # of those with known covariance


def test_intervals_are_about_the_same_mean(mean):
    """Wider than those of the file's own mean, and inside the domain."""
    for functional in (lambda curve: curve.integral(), lambda curve: curve.maximum().height):
        own, other = (mean.interval(functional, of=of) for of in ("data", "population"))
        assert other.upper - other.lower > 1.5 * (own.upper - own.lower)
        assert own.value == other.value
    place = mean.interval(lambda curve: curve.maximum().at, of="population")
    assert 0 <= place.lower <= place.upper <= 1
    sd = math.sqrt(np.sum(np.mean(WAYS, axis=1) ** 2) / 2000)
    width = mean.interval(lambda curve: curve.integral(), of="population")
    assert 0.7 < (width.upper - width.lower) / (2 * 1.96 * sd) < 1.6


def test_points_slopes_and_standard_errors(mean):
    one, two = mean.whose("data"), mean.whose("population")
    assert one is mean
    assert mean.whose("population") is two.whose("population") is two
    assert np.array_equal(one(T), two(T))
    assert np.all(two.standard_error(T) > one.standard_error(T))
    everywhere = mean.band(T, of="population")
    points = mean.band(T, of="population", simultaneous=False)
    assert np.all(everywhere.upper >= points.upper)
    assert np.all(mean.band(T, 0.5, of="population").upper < points.upper)
    slope = mean.band(T, of="population", order=1)
    own = mean.band(T, order=1)
    assert np.mean(slope.upper - slope.lower) > 0.9 * np.mean(own.upper - own.lower)
    with pytest.raises(ValueError, match="of must be one of"):
        mean.band(T, of="sample")


def test_a_release_that_was_asked_can_be_pickled(mean):
    band = mean.band(T, of="population")
    again = pickle.loads(pickle.dumps(mean))
    assert np.array_equal(again.band(T, of="population").upper, band.upper)
    assert np.array_equal(again.whose("population")(T), mean(T))


def test_without_the_share_nothing_is_changed_and_it_is_refused(rng):
    curves = sample(300, rng)
    terms = TERMS | {"epsilon": 1.0, "rng": 5}
    one, two = mercer.mean_curve(curves, **terms), mercer.mean_curve(curves, **terms, population=0)
    assert one.to_dict() == two.to_dict()
    assert "sampling" not in one.to_dict()
    for ask in (
        lambda: one.band(T, of="population"),
        lambda: one.interval(lambda curve: curve.mean(), of="population"),
        lambda: one.plot(of="population"),
        lambda: (one - two).band(T, of="population"),
    ):
        with pytest.raises(ValueError, match="make it with population=0.05, a share of the budget"):
            ask()


def test_other_smoothings_are_refused_and_the_default_has_them_again(mean):
    rough = mean.smooth(kernel="matern52")
    assert rough.sampling is mean.sampling
    with pytest.raises(ValueError, match=r"take release.smooth\(\), which is free"):
        rough.band(T, of="population")
    again = rough.smooth().band(T, of="population")
    assert np.allclose(again.upper, mean.band(T, of="population").upper)


# groups, persons, files


def test_differences_of_groups_have_the_samples_of_both(rng):
    halves = {"a": sample(2000, rng), "b": sample(2000, rng) + 0.1}
    made = mercer.mean_curves(
        halves, disjoint=True, **TERMS, epsilon=20.0, population=0.05, rng=rng.integers(1000)
    )
    gap = made["b"] - made["a"]
    own, other = (gap.band(T, of=of) for of in ("data", "population"))
    assert np.mean(other.upper - other.lower) > 1.5 * np.mean(own.upper - own.lower)
    one = made["a"].whose("population").standard_error(T)
    both = gap.whose("population").standard_error(T)
    assert 1.2 < np.mean(both) / np.mean(one) < 1.65  # nearly sqrt(2)
    assert gap.whose("population").about == "for the mean of the population"
    assert np.all(gap.interval(lambda curve: curve.mean(), of="population")[1:3] != 0.1)
    figure = mercer.plot_curves(made, of="population")
    (legend,) = [axes.get_legend().get_title().get_text() for axes in figure.axes]
    assert legend.startswith("shaded: 95% band for the mean of the population, whole curve")


def test_persons(rng):
    import pyarrow as pa

    rows = np.repeat(sample(300, rng), 2, axis=0)
    table = pa.table({**{f"h{i:02d}": rows[:, i] for i in range(60)}, "id": np.repeat(np.arange(300), 2)})
    made = mercer.mean_curve(table, **TERMS, epsilon=20.0, unit="id", population=0.05, rng=0)
    assert made.sampling.n == 300
    single = mercer.mean_curve(sample(300, rng), **TERMS, epsilon=20.0, population=0.05, rng=0)
    assert 0.6 < made.sampling.error / single.sampling.error < 1.6


def test_few_functions_and_pairs(rng):
    t = np.linspace(0, 1, 9)
    pairs = [(t[: rng.integers(5, 10)], np.sin(t) * lift) for lift in rng.random(400)]
    pairs = [(seen, heights[: len(seen)]) for seen, heights in pairs]
    terms = {"bounds": (0, 1), "bound": 1, "epsilon": 5, "delta": 1e-6, "population": 0.1}
    made = mercer.mean_curve(pairs, size=4, **terms)
    assert made.sampling.directions == 4
    band = made.band([0.0, 0.5], of="population")
    assert np.all(band.upper > band.lower)


@pytest.mark.parametrize("delta", [1e-6, None])
def test_a_file_keeps_them(delta, rng, tmp_path):
    made = released_of(rng, 500, delta=delta)
    path = made.save(tmp_path / "mean.json")
    fields = json.loads(path.read_text())
    jsonschema.validate(fields, json.loads((files("mercer.releases") / "release.schema.json").read_text()))
    again = mercer.load(path)
    assert again.to_dict() == made.to_dict()
    for of in ("data", "population"):
        one, two = (release.band(T, of=of) for release in (made, again))
        assert np.allclose(one.upper, two.upper, atol=1e-12)


DAMAGE = {
    "moments": ([0.1, 0.2], "those of a symmetric matrix"),
    "radius": (1.5, "radius, n and share"),
    "n": (0, "radius, n and share"),
    "share": (1.0, "radius, n and share"),
    "total": ("x", "wrong type"),
    "noise": ({"law": "other"}, "unknown noise law"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_file_is_refused(name, mean):
    value, message = DAMAGE[name]
    fields = json.loads(json.dumps({"format": "mercer-release", "version": 2, **mean.to_dict()}))
    fields["sampling"][name] = value
    with pytest.raises(ValueError, match=message):
        from_dict(fields)


def test_moments_are_for_curves_of_the_first_order(mean):
    fields = json.loads(json.dumps({"format": "mercer-release", "version": 2, **mean.to_dict()}))
    fields["sampling"]["moments"] = [0.0] * (200 * 201 // 2)
    with pytest.raises(ValueError, match="symmetric matrix"):
        from_dict(fields)


# words, pictures, commands


def test_pictures_say_whose_mean_the_band_is_about(mean, tmp_path):
    figure = mean.plot(tmp_path / "mean.png", of="population", xlabel="place", size=(6, 4))
    texts = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert any(text.startswith("95% band for the mean of the population, whole curve") for text in texts)
    assert figure.axes[0].get_xlabel() == "place"
    own = mean.plot()
    reach = [np.ptp(f.axes[0].collections[0].get_paths()[0].vertices[:, 1]) for f in (figure, own)]
    assert reach[0] > reach[1]


def test_on_the_command_line(tmp_path, monkeypatch, capsys, rng):
    import pandas as pd

    monkeypatch.chdir(tmp_path)
    names = [f"h{i:02d}" for i in range(60)]
    pd.DataFrame(sample(800, rng), columns=names).to_csv("a.csv", index=False)
    make = [
        "curve",
        "a.csv",
        "-c",
        "h*",
        "--grid",
        "0",
        "1",
        "--bound",
        "1",
        "--epsilon",
        "5",
        "--delta",
        "1e-6",
    ]
    told = " ".join(released(capsys, *make, "--population", "0.05", "-o", "a.json").split())
    assert "sampling alone puts its mean a root mean square of about" in told
    assert "second moments of the curves about the released mean" in " ".join(
        released(capsys, "inspect", "a.json").split()
    )
    summary = json.loads(released(capsys, "inspect", "a.json", "--json"))
    assert summary["population"]["share"] == 0.05
    values = [
        json.loads(released(capsys, "eval", "a.json", "--at", "0.5", "--of", of, "--json"))
        for of in ("data", "population")
    ]
    ends = [value["values"][0]["upper"] - value["values"][0]["lower"] for value in values]
    assert ends[1] > ends[0]
    assert values[1]["band"].startswith("for the mean of the population")
    text = released(capsys, "eval", "a.json", "--at", "0.5", "--of", "population")
    assert "band for the mean of the population" in " ".join(text.split())
    released(capsys, "plot", "a.json", "--of", "population", "-o", "a.png")
    released(capsys, *make, "-o", "b.json")
    code, _, error = run(capsys, "eval", "b.json", "--at", "0.5", "--of", "population")
    assert code
    assert "make it with population=0.05" in " ".join(error.split())
    plans = [
        json.loads(
            released(capsys, "plan", "curve", "--n", "500", "--bound", "1", "--epsilon", "1", *more, "--json")
        )["plans"][0]["privacy_error"]
        for more in ([], ["--population", "0.3"])
    ]
    assert plans[1] > plans[0]
    assert "has 0.05 of the budget" in released(capsys, *make, "--population", "0.05", "--dry-run")


def test_other_kinds_have_no_population(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    mercer.density([0.1, 0.4] * 50, bounds=(0, 1), epsilon=1).save("d.json")
    mercer.count([True, False] * 50, epsilon=1).save("c.json")
    for name, more in (("d.json", ["--at", "0.5"]), ("c.json", [])):
        code, _, error = run(capsys, "eval", name, *more, "--of", "population")
        assert code
        assert "--of is for mean curves" in error


def test_the_estimator_takes_the_share(rng):
    model = mercer.PrivateMeanCurve(epsilon=5, delta=1e-6, bound=1, grid=T, population=0.05)
    made = model.fit(sample(300, rng)).release_
    assert made.band(T, of="population").upper.shape == T.shape
