"""Shares, quantiles, means and draws of one column: the distribution function of any release of one.

False alarms: each statistical assertion fails with probability 1e-9 at most for a correct program.
"""

import numpy as np
import pytest
from scipy.stats import binom, kstest

import mercer
from mercer.releases.cdf import Cdf
from mercer.releases.density.cdf import least_squares
from tests.conftest import ALPHA

PURE, WEAK = {"epsilon": 1.0}, {"epsilon": 1.0, "delta": 1e-6}
ROUTES = {
    "moments": PURE,
    "cosine": WEAK,
    "periodic": {**PURE, "boundary": "periodic"},
    "open": {**WEAK, "boundary": "open", "bandwidth": 0.05},
    "laplace": {**PURE, "mechanism": "laplace", "basis": "cosine"},
    "matern32": {**WEAK, "kernel": "matern32", "bandwidth": 0.05},
    "landmarks": {**WEAK, "basis": "landmarks", "bandwidth": 0.05},
    "counted": {**PURE, "step": 0.01},
    "counted with a delta": {**WEAK, "step": 0.01, "epsilon": 0.5},
}


class Line(Cdf):
    """Any raw function, without noise."""

    def __init__(self, raw, *, steps=False):
        self.raw, self.steps = np.asarray(raw, dtype=float), steps
        self.edges = np.arange(len(self.raw), dtype=float)

    def half_widths(self, points, weights, level=0.95):  # noqa: ARG002
        return np.zeros(len(points) if weights is None else len(weights))

    deviations = half_widths


def values(rng, n=3000):
    return np.round(np.clip(rng.beta(2, 5, n), 0, 1), 2)


@pytest.fixture(params=ROUTES)
def release(request, rng):
    return mercer.density(values(rng), bounds=(0, 1), **ROUTES[request.param])


def test_the_fit_is_nearer_to_every_monotone_function(rng):
    for _ in range(50):
        truth = np.sort(np.concatenate([[0.0, 1.0], rng.random(60)]))
        raw = truth + rng.normal(scale=0.1, size=truth.size)
        raw[0], raw[-1] = 0.0, 1.0
        fitted = Line(raw).fitted
        assert np.all(np.diff(fitted) >= 0)
        assert fitted[0] == 0
        assert fitted[-1] == 1
        assert np.abs(fitted - truth).max() <= np.abs(raw - truth).max() + 1e-12


def test_quantiles_are_the_generalised_inverse():
    law = Line([0, 0.2, 0.2, 0.7, 1.0])
    assert law.quantiles(np.array([0.1, 0.2, 0.45, 0.7, 1.0])) == pytest.approx([0.5, 1, 2.5, 3, 4])
    atoms = Line([0, 0.2, 0.2, 0.7, 1.0], steps=True)
    assert atoms.quantiles(np.array([0.0, 0.1, 0.2, 0.21, 0.7, 1.0])).tolist() == [1, 1, 1, 3, 3, 4]
    assert atoms.at(np.array([0.9, 1.0, 2.5, 3.0, 9.0])).tolist() == [0, 0.2, 0.2, 0.7, 1.0]


def test_ends_of_ranges_are_included_where_records_stand():
    atoms = Line([0, 0.2, 0.2, 0.7, 1.0], steps=True)
    assert atoms.share(1, 1, 0.95).estimate == pytest.approx(0.2)
    assert atoms.share(3, 4, 0.95).estimate == pytest.approx(0.8)
    assert Line([0, 0.2, 0.2, 0.7, 1.0]).share(3, 4, 0.95).estimate == pytest.approx(0.3)


def test_mass_at_the_ends_belongs_to_the_range():
    law = Line([0.3, 0.4, 0.9])  # 0.3 at the first edge, 0.1 at the last
    assert law.at(np.array([-0.1, 0.0, 1.0, 1.9999999, 2.0])) == pytest.approx([0, 0.3, 0.4, 0.9, 1])
    assert law.between(0, 0) == pytest.approx(0.3)
    assert law.between(0.5, 2) == pytest.approx(0.65)
    assert law.between(0, 2) == 1
    assert law.quantiles(np.array([0.0, 0.3, 0.35, 0.65, 0.95, 1.0])) == pytest.approx([0, 0, 0.5, 1.5, 2, 2])
    assert law.expectation(lambda x: x, 0.95).estimate == pytest.approx(
        0.3 * 0.5 + 0.1 * 0.5 + 0.5 * 1.5 + 0.1 * 1.5
    )
    band = law.band(np.array([0.0, 2.0]), 0.95)
    assert band.lower == pytest.approx([0.3, 1.0])


def test_all_answers_agree(release):
    x = np.linspace(0, 1, 101)
    cdf = release.cdf(x)
    assert np.all(np.diff(cdf) >= 0)
    assert cdf[-1] == 1
    assert release.integral(0, 1) == pytest.approx(1, abs=1e-12)
    parts = [release.share(a, b).estimate for a, b in ((0, 0.3), (0.31, 1))]
    between = float(release.cdf(0.31) - release.cdf(0.3))
    whole = release.kind == "column"
    assert sum(parts) + (0 if whole else between) == pytest.approx(1, abs=1e-9)
    q = release.quantile([0.1, 0.5, 0.9])
    assert np.all(np.diff(q) >= 0)
    assert np.all(release.cdf(q) >= np.array([0.1, 0.5, 0.9]) - 1e-9)
    mean = release.mean()
    assert mean.lower <= mean.estimate <= mean.upper
    assert release.expect(lambda x: np.ones_like(x)).estimate == pytest.approx(1)
    assert release.quantile(0.5).shape == ()


def test_draws_are_spread_evenly(release, rng):
    drawn = np.sort(release.sample(5000, rng=int(rng.integers(1 << 31))))
    for end in (0.1, 0.25, 0.4, 0.8):
        share = np.searchsorted(drawn, end, side="right") / 5000
        assert abs(share - release.cdf(end)) <= 2 / 5000
    again = release.sample(5000, rng=int(rng.integers(1 << 31)), independent=True)
    jitter = rng.random(5000)
    below = np.where(release.kind == "column", release.cdf(np.clip(again - 0.01, 0, 1)), release.cdf(again))
    below = np.where((release.kind == "column") & (again < 0.005), 0.0, below)
    assert kstest(below + jitter * (release.cdf(again) - below), "uniform").pvalue > ALPHA


@pytest.mark.parametrize("given", [PURE, {**WEAK, "epsilon": 0.3}, {"epsilon": 8.0}])
def test_counted_shares_are_those_of_the_file(given, rng):
    """Every interval covers the file's own number: 40 shares, each with a false alarm of 1e-9 / 40."""
    x = values(rng)
    release = mercer.density(x, bounds=(0, 1), step=0.01, **given)
    for _ in range(40):
        a, b = np.sort(rng.integers(0, 101, 2)) / 100
        found = release.share(a, b, 1 - ALPHA / 40)
        assert found.lower - 1e-12 <= np.mean((x >= a - 1e-9) & (x <= b + 1e-9)) <= found.upper + 1e-12


RUNS = 150
LEAST = int(binom.ppf(ALPHA, RUNS, 0.95))  # of so many intervals of level 0.95


@pytest.mark.parametrize("given", [PURE, WEAK, {**PURE, "step": 0.01}], ids=["pure", "delta", "counted"])
def test_intervals_cover_the_records(given, rng, monkeypatch):
    """Shares, quantiles and means of a smooth law; a fifth of the width for noise alone is seen to miss.

    Errors have a third to a half of that width as their deviation: a fifth holds less than half of
    them (0.57 deviations, 43 %), and so many as LEAST of 150 with chance below 1e-18.
    """
    x = np.round(np.clip(rng.beta(2, 5, 2000), 0, 1), 2 if "step" in given else 15)
    exact = np.mean((x >= 0.2 - 1e-9) & (x <= 0.5 + 1e-9)), np.mean(x)
    hits, narrow = np.zeros(3), np.zeros(2)
    for _ in range(RUNS):
        release = mercer.density(x, bounds=(0, 1), **given)
        found = release.share(0.2, 0.5), release.mean()
        band = release.quantile_band(0.4)
        hits += [
            *(
                part.lower - 1e-9 <= value <= part.upper + 1e-9
                for part, value in zip(found, exact, strict=True)
            ),
            band.lower - 1e-9 <= np.quantile(x, 0.4, method="inverted_cdf") <= band.upper + 1e-9,
        ]
        centres = [(part.lower + part.upper) / 2 for part in found]
        widths = [(part.upper - part.lower) / 2 for part in found]
        if (
            "step" not in given
        ):  # where a file may have more than the finest wave shows, its interval is wider
            ends = release.law._ends(0.2, 0.5)
            centres[0] = float(np.diff(release.law.raw_at(ends))[0])
            widths[0] = release.law.half_widths(ends, np.array([[-1.0, 1.0]]), 0.95)[0]
        narrow += [
            abs(value - centre) <= width / 5
            for value, centre, width in zip(exact, centres, widths, strict=True)
        ]
    assert np.all(hits >= LEAST), hits
    assert np.all(narrow < LEAST), narrow


def test_a_comb_has_the_shares_of_its_file(rng):
    """Integers that were not declared: with max(raw - level, 0) the tail of such a file was lost."""
    x = np.clip(np.rint(rng.gamma(6, 6.5, 40_000)), 0, 100)
    release = mercer.density(x, bounds=(0, 100), epsilon=3)
    for low, high in ((0.0, 20.5), (20.5, 49.5), (49.5, 64.5), (64.5, 100.0)):
        assert release.integral(low, high) == pytest.approx(np.mean((x > low) & (x <= high)), abs=0.004)


def test_an_interval_is_wide_where_values_may_be_anywhere(rng):
    """Half of the records at one value: shares that end beside it may hold all of them or none."""
    x = np.where(rng.random(5000) < 0.5, 0.5, rng.random(5000))
    release = mercer.density(x, bounds=(0, 1), epsilon=1)
    found = release.share(0.0, 0.499)
    assert found.lower <= np.mean(x <= 0.499) <= found.upper
    assert found.upper - found.lower > 0.2


@pytest.mark.parametrize("given", [PURE, WEAK], ids=["pure", "delta"])
def test_records_at_the_bounds_stand_there(given, rng):
    """Nine tenths of zeros, and a normal law that is clipped: their shares are found, and drawn.

    The shares are known up to noise of at most .004 (pure) and .01 (delta) at these n: 6 standard
    deviations are allowed.
    """
    spike = np.where(rng.random(20_000) < 0.9, 0.0, rng.random(20_000))
    release = mercer.density(spike, bounds=(0, 1), **given)
    assert release.law.piled[0] == pytest.approx(np.mean(spike == 0), abs=0.03)
    assert release.law.piled[1] == 0
    assert release.cdf(0) == pytest.approx(np.mean(spike == 0), abs=0.03)
    assert release.share(0, 0).estimate == release.cdf(0)
    assert release.quantile([0.1, 0.5]).tolist() == [0, 0]
    assert np.mean(release.sample(1000) == 0) == pytest.approx(release.cdf(0), abs=0.002)
    assert release.mean().estimate == pytest.approx(np.mean(spike), abs=0.03)
    clipped = np.clip(rng.normal(0.5, 0.3, 20_000), 0, 1)
    release = mercer.density(clipped, bounds=(0, 1), **given)
    assert release.law.piled == pytest.approx([np.mean(clipped == end) for end in (0, 1)], abs=0.03)
    assert release.quantile([0.01, 0.99]).tolist() == [0, 1]
    assert release.integral(0, 1) == 1
    assert release.cdf(1) == 1
    assert release.cdf(0.9999) < 0.99


def test_a_picture_names_what_is_at_a_bound(rng):
    spike = np.where(rng.random(20_000) < 0.9, 0.0, rng.random(20_000))
    texts = [part.get_text() for part in mercer.density(spike, bounds=(0, 1), epsilon=4).plot().axes[0].texts]
    assert [text.split()[1:] for text in texts] == [["of", "the", "records", "are", "at", "this", "bound"]]
    assert abs(float(texts[0].split("%")[0]) - 100 * np.mean(spike == 0)) < 1
    smooth = mercer.density(rng.beta(2, 5, 5000), bounds=(0, 1), epsilon=4)
    assert not smooth.plot().axes[0].texts


@pytest.mark.parametrize("given", [PURE, WEAK, {**PURE, "epsilon": 8}])
def test_smooth_laws_leave_nothing_at_the_bounds(given, rng):
    """Also with a slope at the wall; one release in a million finds what is not there."""
    for x in (rng.beta(2, 5, 5000), rng.random(5000), rng.exponential(0.15, 5000)):
        release = mercer.density(np.minimum(x, 1), bounds=(0, 1), **given)
        assert release.law.piled.max() < 0.02


@pytest.mark.parametrize("n", [1000, 20_000])
@pytest.mark.parametrize("given", [{**PURE, "epsilon": 0.3}, PURE, WEAK], ids=["0.3", "1", "delta"])
def test_intervals_cover_what_is_narrower_than_the_finest_wave(given, n, rng):
    """Shares of a skewed law, of a heap beside the bound and of a spike there.

    The intervals allow for what is not resolved, and are seen to fail without that.
    """
    laws = {
        "log-normal": np.minimum(rng.lognormal(-3, 1, n), 1),
        "heap": np.where(rng.random(n) < 0.3, 0.02, rng.random(n)),
        "spike": np.where(rng.random(n) < 0.9, 0.0, rng.random(n)),
    }
    hits = {"allowed": 0, "noise": 0}
    runs = 20
    for x in laws.values():
        for _ in range(runs):
            law = mercer.density(x, bounds=(0, 1), **given).law
            for low, high in ((0, 0.005), (0, 0.05), (0.05, 0.3)):
                found, exact = law.share(low, high, 0.95), np.mean((x >= low) & (x <= high))
                hits["allowed"] += found.lower - 1e-9 <= exact <= found.upper + 1e-9
                ends = law._ends(low, high)
                width = law.half_widths(ends, np.array([[-1.0, 1.0]]), 0.95)[0]
                hits["noise"] += abs(float(np.diff(law.raw_at(ends))[0]) - exact) <= width
    cases = 3 * 3 * runs
    # questions of one release go wrong together: the third part of them counts
    least = 3 * int(binom.ppf(ALPHA, cases // 3, 0.93))
    assert hits["allowed"] >= least, hits
    assert hits["noise"] < hits["allowed"], hits


@pytest.mark.parametrize(
    "given",
    [{**PURE, "epsilon": 2.0}, {**WEAK, "epsilon": 3.0}, {**WEAK, "epsilon": 8.0}],
    ids=["pure", "delta", "seen"],
)
def test_whole_numbers_that_are_not_seen_as_such_are_allowed_for(given, rng):
    """Shares that end at one of 111 whole numbers, which are closer together than the finest wave."""
    x = np.clip(np.rint(rng.gamma(4, 9, 6000)), 0, 110)
    cases, hits, narrow = [(65, 110), (50, 110), (20, 40), (0, 30)], 0, 0
    for _ in range(20):
        release = mercer.density(x, bounds=(0, 110), **given)
        for low, high in cases:
            found, exact = release.share(low, high), np.mean((x >= low) & (x <= high))
            hits += found.lower <= exact <= found.upper
            less = release.law.shared(np.array([low, high], dtype=float)).sum()
            narrow += found.lower + less <= exact <= found.upper - less
    assert hits >= 4 * int(binom.ppf(ALPHA, 20, 0.93))  # questions of one release go wrong together
    assert narrow < hits
    law = release.law
    assert law.shared(np.array([40.123, np.inf])).tolist() == pytest.approx([0, 0], abs=1e-4)
    q = np.array([0.1, 0.25, 0.5, 0.9])
    exact = np.quantile(x, q, method="inverted_cdf")
    bands = [mercer.density(x, bounds=(0, 110), **given).quantile_band(q) for _ in range(20)]
    hits = sum(int(np.sum((band.lower <= exact) & (exact <= band.upper))) for band in bands)
    assert hits >= 4 * int(binom.ppf(ALPHA, 20, 0.93))


def test_ends_of_smooth_columns_are_not_taken_for_heaps(rng):
    """No room is left for whole tenths of [0, 1], nor for steps whose wave is none among others."""
    law = mercer.density(rng.beta(2, 5, 20_000), bounds=(0, 1), epsilon=4).law
    assert law.shared(np.array([0.2, 0.5])).tolist() == [0, 0]
    assert law.grain == 0
    wide = mercer.density(110 * rng.beta(2, 5, 200_000), bounds=(0, 110), epsilon=8).law
    assert wide.resolution < 1 / 220
    assert wide.shared(np.array([20.0, 50.0])).tolist() == [0, 0]
    whole = mercer.density(np.rint(110 * rng.beta(2, 5, 200_000)), bounds=(0, 110), epsilon=8).law
    assert whole.shared(np.array([20.0, 50.0])).min() > 0


@pytest.mark.parametrize("given", [PURE, WEAK], ids=["pure", "delta"])
def test_means_of_incomplete_columns_count_the_noise_of_their_number(given, rng):
    """A tenth of the values are missing: how many there are is released with noise, too."""
    x = np.where(rng.random(4000) < 0.1, np.nan, np.minimum(rng.gamma(1.6, 55, 4000), 300))
    exact = np.nanmean(x)
    found = [mercer.density(x, bounds=(0, 600), **given).mean() for _ in range(RUNS)]
    assert sum(part.lower <= exact <= part.upper for part in found) >= LEAST
    error = np.mean([(part.estimate - exact) ** 2 for part in found])
    claimed = np.mean([((part.upper - part.lower) / 3.92) ** 2 for part in found])
    assert 0.4 < error / claimed < 1.8  # chi-square of 150, each end with probability 1e-9 at most


def test_sums_in_a_fixed_order_are_least_squares(rng):
    patterns, deviation = rng.normal(size=(4, 60)), rng.uniform(0.5, 2, 60)
    weights = least_squares(patterns, deviation)
    expected = np.linalg.pinv((patterns / deviation).T) / deviation
    assert weights == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert weights @ patterns.T == pytest.approx(np.eye(4), abs=1e-10)


def test_a_release_of_which_noise_leaves_no_wave_answers(rng):
    """So few records for the promise that all waves fade: the share of anything may be anything."""
    found = mercer.density(rng.random(100), bounds=(0, 1), epsilon=0.1, delta=1e-6).share(0.2, 0.6)
    assert 0 <= found.lower <= found.estimate <= found.upper <= 1


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: r.quantile(1.5), r"q must be in \[0, 1\]"),
        (lambda r: r.quantile("x"), "q must be numbers"),
        (lambda r: r.share(0.6, 0.5), "lower must not be above upper"),
        (lambda r: r.share(0.1, 0.5, level=2), r"level must be in \(0, 1\)"),
        (lambda r: r.cdf(1.5), "x must be|outside|inside"),
        (lambda r: r.expect(3), "function must be a function"),
        (lambda r: r.expect(lambda _: 1.0), "one finite number for each"),
    ],
)
def test_what_cannot_be_asked(release, call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call(release)


def test_a_release_of_two_columns_says_so(rng):
    release = mercer.density(rng.random((500, 2)), bounds=[(0, 1)] * 2, epsilon=1)
    with pytest.raises(ValueError, match="this is about one column, and the release is of 2"):
        release.cdf(0.5)
    assert release.sample(7).shape == (7, 2)
