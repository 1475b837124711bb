"""What a release itself tells: it is told where it is so, and hardly ever where it is not."""

import inspect
import json
import math
import warnings
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import mercer
from mercer.api.calls import shares
from mercer.api.ranks import draw_ends
from mercer.audits.audit import epsilon_lower_bound
from mercer.columns.domain import Box
from mercer.common.checks import FindingWarning
from mercer.door.publish import Purse
from mercer.noise import entropy
from mercer.noise.laws import Euclidean, LaplaceLaw, Normal, OrbitopeLaw
from mercer.releases.choice import EndCounts
from mercer.releases.findings import ALPHA as FALSE
from mercer.releases.findings import Finding, hidden, reach, tell
from mercer.sensitive.summaries.density import tally_rows
from mercer.sensitive.summaries.selection import Ranks
from mercer.server import Settings
from tests.api.test_selection import CELLS, ranks, worst_ratio
from tests.cli.test_density import run
from tests.conftest import ALPHA
from tests.helpers.serving import serving

N = 20_000
TEXT = np.full(2000, "$312.60", dtype=object)


def kinds(release):
    return [found.kind for found in release.findings()]


def one(make, kind):
    """The one finding of most releases that `make` makes: noise may hide it, or add another.

    Each does so in well under 1 in 100 of the cases here; four of seven releases would have to.
    """
    seen = []
    for _ in range(7):
        found = make().findings()
        if [part.kind for part in found] == [kind]:
            seen.append(found[0])
        if len(seen) == 4:
            return seen[0]
    raise AssertionError(f"{len(seen)} of 7 releases told {kind!r} alone; the last {found}")


def silent(make):
    """Most releases tell nothing: each of them does in one case of 1000."""
    found = [make().findings() for _ in range(4)]
    assert sum(part == () for part in found) >= 2, found


def density(values, **more):
    return mercer.density(values, **({"bounds": (0, 100), "epsilon": 1.0} | more))


def histogram(values, **more):
    return mercer.histogram(
        values, **({"bins": 20, "bounds": (0, 100), "epsilon": 1.0, "insist": True} | more)
    )


def few(count, runs, chance):
    """Binomial: a rule that errs with at most this chance passes, for every seed."""
    return binom.sf(count - 1, runs, chance) > ALPHA


# how far noise reaches


@pytest.mark.parametrize(
    ("law", "size"),
    [
        (Normal(1.0, 2.0**-20), 1),
        (LaplaceLaw(1.0, 2.0**-20), 1),
        (Euclidean(1.0, 2.0**-20), 1),
        (Euclidean(1.0, 2.0**-20), 3),
        (Euclidean(1.0, 2.0**-20), 50),
        (OrbitopeLaw(1.0, 2.0**-20, real=True), 3),
        (OrbitopeLaw(1.0, 2.0**-20, real=True), 20),
    ],
    ids=lambda v: v.name if not isinstance(v, int) else str(v),
)
def test_noise_reaches_no_further_than_said(law, size, rng):
    runs, chance = 400_000 if size < 20 else 100_000, 2.5e-4
    noise = law.simulate(size, runs, rng)
    first = noise[:, 0] / law.deviations(size)[0]
    seen = int(np.sum(first > reach(normal=isinstance(law, Normal), alpha=chance)))
    # the deviation of the orbitope's noise is itself simulated: 5 % of it
    assert few(seen, runs, chance * (1.5 if law.moments else 1.02))
    near = int(np.sum(first > reach(normal=True, alpha=chance) / 2))
    assert not few(near, runs, chance * 1.5)  # half as far: would be seen


def test_hidden_is_a_test_of_its_level(rng):
    runs = 4000
    blind = sum(hidden(rng.standard_normal(40)) for _ in range(runs))
    assert few(runs - blind, runs, 5 * 0.01)  # five sums are looked at
    seen = np.append(6.0, np.zeros(39))
    assert sum(hidden(seen + rng.standard_normal(40)) for _ in range(200)) < 20


# densities


CLEAN = {
    "normal": lambda rng, n: rng.normal(50, 15, n),
    "exponential": lambda rng, n: rng.exponential(10, n),
    "even": lambda rng, n: rng.uniform(0, 100, n),
    "two peaks": lambda rng, n: rng.normal(np.where(rng.random(n) < 0.4, 30, 70), 6),
}


@pytest.mark.parametrize("promise", [{"epsilon": 1.0}, {"epsilon": 1.0, "delta": 1e-6}])
@pytest.mark.parametrize("clean", CLEAN)
def test_clean_columns_have_no_findings(clean, promise, rng):
    """Noise around the moments of a sample, drawn again and again: one in 1000 says anything."""
    values, runs = CLEAN[clean](rng, 3000), 500
    release = density(values, **promise)
    points = np.clip(values / 100, 0, 1)[:, None]
    exact = release.basis.mix(release.basis.features(points).mean(axis=0))
    away = (release.coordinates - exact) / release.noise.deviations(release.basis.size)
    assert np.abs(away).max() < 15  # these are the coordinates that noise was added to
    noise = release.noise.simulate(release.basis.size, runs, rng)
    wrong = sum(bool(replace(release, coordinates=exact + part).findings()) for part in noise)
    assert few(wrong, runs, FALSE)


def test_text_and_missing_rows_are_told(rng):
    for promise in ({}, {"delta": 1e-6}, {"kernel": "matern32", "delta": 1e-6, "bandwidth": 10.0}):
        with pytest.warns(mercer.PrivacyWarning, match=r"is the column text"):
            release = density(TEXT, **promise)
        assert kinds(release) == ["fit"]
        assert release.share_of_values < 0.05  # the floor of what one divides by is not told
        assert release.integral(0, 100) == pytest.approx(1)
    half = np.where(rng.random(N) < 0.5, np.nan, rng.normal(50, 15, N))
    found = one(lambda: density(half), "fit")
    assert "about 5" in found.words or "about 49" in found.words


def test_values_at_a_bound_are_told(rng):
    height = rng.normal(1.7, 0.1, N)
    for values, end in ((height, "lower"), (height * 1e4, "upper")):
        for promise in ({}, {"delta": 1e-6}):
            found = one(lambda v=values, p=promise: density(v, bounds=(100, 200), **p), "bound")
            assert f"{end} bound of x" in found.words
            assert "in the column's unit" in found.words
    both = np.stack([rng.normal(150, 10, N), height], axis=1)
    found = one(lambda: density(both, bounds=[(100, 200)] * 2, delta=1e-6), "bound")
    code = np.where(rng.random(N) < 0.3, 999.0, rng.normal(50, 15, N))
    found = one(lambda: density(code), "bound")
    assert "about 30 %" in found.words or "about 29 %" in found.words or "about 31 %" in found.words


def test_repeated_values_and_lattices_are_told(rng):
    often = np.where(rng.random(N) < 0.4, 40.0, rng.normal(50, 15, N))
    found = one(lambda: density(often), "spike")
    assert "near 40" in found.words
    whole = np.rint(rng.normal(10, 3, N))
    found = one(lambda: density(whole, bounds=(0, 20)), "lattice")
    assert "look like whole numbers" in found.words
    rounded = 5 * np.rint(rng.normal(50, 15, N) / 5)
    found = one(lambda: density(rounded), "lattice")
    assert "multiples of 5" in found.words
    heaped = np.where(rng.random(N) < 0.5, rounded, rng.normal(50, 15, N))
    found = one(lambda: density(heaped), "lattice")
    assert "look rounded to multiples of 5" in found.words
    silent(lambda: density(rng.normal(10, 3, N), bounds=(0, 20)))
    silent(lambda: density(rng.normal(10, 3, N), bounds=(0, 20), boundary="periodic"))
    whole = np.rint(rng.normal(5, 2, N))
    found = one(lambda: density(whole, bounds=(0, 10), boundary="open"), "lattice")


def test_a_flat_release_says_so_in_words(rng):
    found = one(lambda: density(rng.normal(50, 15, 1000), epsilon=1e-4), "flat")
    assert "only the bounds are left" in found.words
    release = density(rng.normal(50, 15, 1000), epsilon=1e-4).smooth(300)  # nothing finer is left
    assert str(release.accuracy).startswith("Nothing of the records is left")
    assert "e-" not in str(release.accuracy)
    good = density(rng.normal(50, 15, 1000))
    assert "standard deviation at most" in str(good.accuracy)
    silent(lambda: density(rng.uniform(0, 100, N)))  # even, and clearly so


# counts


def test_cells_tell_what_fits_and_what_is_piled_up(rng):
    values = rng.normal(50, 15, N)
    silent(lambda: histogram(values))
    silent(lambda: histogram(rng.exponential(10, N)))
    found = one(lambda: histogram(TEXT), "fit")
    assert "is the column text" in found.words
    found = one(lambda: histogram(values * 100), "bound")
    assert "last cell, 95 and more" in found.words
    one(lambda: histogram(values * 100, outside="drop"), "fit")
    found = one(lambda: histogram(np.rint(values), bins=200), "lattice")
    assert "whole numbers" in found.words
    one(lambda: histogram(values[:50], epsilon=0.001), "flat")
    half = np.where(rng.random(N) < 0.5, np.nan, values)
    one(lambda: histogram(half), "fit")
    silent(lambda: histogram(half, missing="drop"))
    one(lambda: histogram(TEXT, sparse=True), "flat")


def test_categories_that_fit_few_rows_are_told():
    wards = ["North ward", "South ward"] * 1000
    ask = {"categories": ["north", "south"], "epsilon": 1.0}
    found = one(lambda: mercer.histogram(wards, **ask), "fit")
    assert "are the categories written as in the data" in found.words
    found = one(lambda: mercer.histogram(wards, other="elsewhere", **ask), "categories")
    assert "'elsewhere'" in found.words
    good = ["north", "south"] * 1000
    silent(lambda: mercer.histogram(good, other="elsewhere", **ask))


def test_tables_and_margins_tell_of_every_column(rng):
    n = 5000
    frame = pd.DataFrame({"age": rng.normal(50, 15, n), "sex": rng.choice(["f", "m"], n)})
    ask = {"domain": {"age": (0, 100), "sex": ["f", "m"]}, "bins": {"age": 10}, "epsilon": 1.0}
    for more in ({}, {"margins": 1}, {"margins": 2}):

        def table(rows, more=more):
            return mercer.table(rows, **ask, **more)

        silent(lambda: table(frame))
        found = one(lambda: table(frame.assign(age=100 * frame.age)), "bound")
        assert found.words.startswith("age:")
        one(lambda: table(frame.assign(sex="female")), "fit")


def test_counts_of_nothing_are_told():
    rows = pd.DataFrame({"sex": ["f", "m"] * 1000})
    found = one(lambda: mercer.count(rows, where={"sex": "female"}, epsilon=1), "categories")
    assert "written as in the data" in found.words
    silent(lambda: mercer.count(rows, where={"sex": "f"}, epsilon=1))
    one(lambda: mercer.count(rows[:20], where={"sex": "f"}, epsilon=0.01, insist=True), "flat")
    silent(lambda: mercer.count(rows[:100], where={"sex": "f"}, epsilon=5, mechanism="optimal"))


@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_clean_histograms_have_no_findings(epsilon, rng):
    """A column of known counts, its noise drawn again."""
    release = histogram(rng.normal(50, 15, 5000), epsilon=epsilon)
    exact, runs = np.histogram(rng.normal(50, 15, 5000).clip(0, 100), 20, (0, 100))[0], 3000
    noise = release.noise.simulate((runs, 20), rng)
    wrong = sum(bool(replace(release, values=exact + part).findings()) for part in noise)
    assert few(wrong, runs, FALSE)


# curves, machines, synthetic tables


def test_a_mean_curve_at_its_bound_is_told(rng):
    t = np.linspace(1, 18, 31)
    heights = 80 + 100 * (t - 1) / 17 + rng.normal(0, 5, (2000, 1))
    ask = {"grid": t, "epsilon": 1, "delta": 1e-6}
    with pytest.warns(mercer.PrivacyWarning, match=r"bound, 100, .* in the unit of the values"):
        short = mercer.mean_curve(heights, bound=100, **ask)
    assert kinds(short) == ["clipped"]
    assert abs(short(10.0) - 133) > 20  # which is why it must be told
    silent(lambda: mercer.mean_curve(heights, bound=160, **ask))
    near = ask | {"center": lambda t: 80 + 100 * (t - 1) / 17}
    silent(lambda: mercer.mean_curve(heights, bound=60, **near))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mercer.PrivacyWarning)  # that the curves are few
        few_of_them = ask | {"bound": 160, "epsilon": 1e-3}
        one(lambda: mercer.mean_curve(heights[:100], **few_of_them), "flat")


@pytest.mark.parametrize("method", ["output", "objective"])
def test_a_machine_that_learnt_nothing_is_told(method, rng):
    x = rng.uniform(0, 100, (4000, 2))
    y = np.where(x[:, 0] + rng.normal(0, 10, 4000) > 50, "ill", "well")
    ask = {"classes": ["well", "ill"], "bounds": [(0, 100)] * 2, "epsilon": 2, "method": method}
    silent(lambda: mercer.classifier(x, y, **ask | {"epsilon": 4}))
    none = [mercer.classifier(x * np.nan, y, **ask) for _ in range(12)]
    assert sum(kinds(release) == ["flat"] for release in none) >= 6
    wide = rng.uniform(0, 100, (4000, 5))
    split = np.where(wide[:, 0] + wide[:, 1] > 100, "ill", "well")
    if method == "objective":  # of many columns nothing false is said, with random features or Taylor's
        for more in ({}, {"delta": 1e-6}):
            silent(lambda: mercer.classifier(wide, split, **ask | {"bounds": [(0, 100)] * 5} | more))  # noqa: B023


def test_a_classifier_that_may_lose_to_one_class_is_told(rng):
    """Classes that the columns say nothing of; and ones that they do, of which nothing is said."""
    x = rng.uniform(0, 100, (5000, 2))
    ask = {"classes": ["well", "ill"], "bounds": [(0, 100)] * 2, "epsilon": 1, "delta": 1e-6}
    told = [mercer.classifier(x, np.where(rng.random(5000) < 0.2, "ill", "well"), **ask) for _ in range(8)]
    assert sum(kinds(release) in (["majority"], ["flat"]) for release in told) >= 6
    (finding,) = next(release for release in told if kinds(release) == ["majority"]).findings()
    assert "what decides for ill may be noise: deciding for well everywhere" in finding.words
    flipped = [mercer.classifier(x, np.where(rng.random(5000) < 0.2, "well", "ill"), **ask) for _ in range(8)]
    words = [finding.words for release in flipped for finding in release.findings()]
    assert any("deciding for ill everywhere" in each for each in words)
    assert not any("deciding for well everywhere" in each for each in words)
    y = np.where(x[:, 0] > 70, "ill", "well")
    silent(lambda: mercer.classifier(x, y, **ask))
    silent(lambda: mercer.classifier(x, y, **ask, band=0))  # where nothing was counted there is no telling


def test_synthetic_tables_tell_of_fit_and_bounds(rng):
    n = 4000
    frame = pd.DataFrame({"age": rng.normal(50, 15, n), "sex": rng.choice(["f", "m"], n)})
    ask = {"domain": {"age": (0, 100), "sex": ["f", "m"]}, "epsilon": 1, "delta": 1e-6}
    ask |= {"scale": "public", "size": 60}
    silent(lambda: mercer.synthetic(frame, **ask))
    one(lambda: mercer.synthetic(frame.assign(sex="female"), **ask), "fit")
    one(lambda: mercer.synthetic(frame.assign(age=100 * frame.age), **ask), "bound")
    corners = pd.DataFrame({"age": rng.choice([0.0, 100.0], n), "sex": "m"})
    silent(lambda: mercer.synthetic(corners, **ask))
    one(lambda: mercer.synthetic(frame[:50], **ask | {"epsilon": 0.01}), "flat")


# quantiles pay for it


def test_the_shares_of_epsilon_never_exceed_it(rng):
    for epsilon in 10.0 ** rng.uniform(-6, 3, 2000):
        choice, counts = shares(float(epsilon), 3)
        assert Fraction(choice) + Fraction(counts) <= Fraction(float(epsilon))
        assert math.isclose(counts, 0.02 * epsilon)
        assert choice + counts > epsilon * (1 - 1e-12)


class Silent(entropy.Seeded):
    """No noise, and what was shown of the counts."""

    def __init__(self):
        super().__init__(np.random.default_rng(0))
        self.asked = []

    def discrete_laplace(self, scale, size):
        self.asked.append(scale)
        return [0] * size


def ends_of(rows, epsilon=0.5):
    source = Silent()
    found = draw_ends(ranks(rows), epsilon, Purse(source))
    return np.array([found.fits, found.lower, found.upper]), source.asked


def test_one_record_moves_the_three_counts_by_at_most_two():
    sorts = [-5.0, 0.0, 0.4, 1.0, 7.0, np.nan, np.inf]
    moved = []
    for one, other in product(sorts, repeat=2):
        (a, asked), (b, _) = (ends_of([0.2, 0.7, *rest]) for rest in ([one], [other]))
        moved.append(np.abs(a - b).sum())
        assert asked == [pytest.approx(2 / 0.5)]
    assert max(moved) == 2


def test_one_person_moves_them_by_two_shares(rng):
    def told(last):
        x = np.array([0.2, 0.5, 0.7, *last])
        frame = pd.DataFrame({"x": x, "id": [1, 1, 2, 3, 3, 3][: len(x)]})
        rows = mercer.sensitive.data.open_rows(frame, columns="x", unit="id", dimension=1)
        domain = Box.of((0, 1), rows.names)
        tally = tally_rows(rows, domain)
        source = Silent()
        found = draw_ends(Ranks(tally, 0, n=tally.persons), 0.5, Purse(source))
        assert source.asked == [pytest.approx(2 * tally.weight / 0.5)]
        return np.array([found.fits, found.lower, found.upper])

    sorts = [0.0, 1.0, 0.4, np.nan]
    every = [told(last) for last in product(sorts, repeat=3)]
    moved = [np.abs(a - b).sum() for a in every for b in every]
    assert max(moved) == pytest.approx(2)


def test_quantiles_audited_with_their_counts(rng):
    """All that leaves, the counts and the choice, drawn on neighbours that are far for both."""
    epsilon, runs = 8.0, 4000

    def ratio(rows, promise):
        out = []
        for _ in range(runs):
            made = mercer.quantiles(
                rows, 0.5, bounds=(0, 1), epsilon=promise, grid=[0.0, 0.5, 1.0], level=None, rng=rng
            )
            out.append(made.ends.upper - made.ends.lower + 40 * (made.values[0] - 0.5))
        return np.array(out)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mercer.PrivacyWarning)
        low, high = (ratio([0.0] * 2 + [1.0] * 2 + [last], epsilon) for last in (0.0, 1.0))
    bound = max(
        epsilon_lower_bound(high > cut, low > cut, delta=0.0, confidence=1 - ALPHA / 4)
        for cut in (-10, 0, 10)
    )
    assert 0.05 * epsilon < bound <= epsilon


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_quantiles_with_their_counts_on_the_worst_neighbours(epsilon):
    """Exactly: one record goes from a bound to the other, and the counts and the point are far.

    Both laws are largest in ratio at once, so the sum of the two is reached, nearly.
    """
    choice, counts = shares(epsilon, 1)
    (one, asked), (two, _) = (ends_of([1 / CELLS] * 2 + [last], counts) for last in (1.0, 0.0))
    ratio = np.abs(one - two).sum() / asked[0]  # of the counts, where all noise points one way
    assert 0.99 * counts < ratio <= counts
    assert 0.8 * epsilon < worst_ratio(choice) + ratio <= epsilon
    assert worst_ratio(choice, told=0.75) + ratio > epsilon  # noise for less: caught


def test_quantiles_say_what_they_were_made_of(rng):
    with pytest.warns(mercer.PrivacyWarning, match=r"hold a number .*: is the column text"):
        prices = mercer.quantiles(np.tile(TEXT, 10), [0.25, 0.5], bounds=(0, 10_000), epsilon=1)
    assert kinds(prices) == ["fit"]
    assert "hold a number, for 2 % of epsilon" in str(prices)
    with pytest.warns(mercer.PrivacyWarning, match="at the upper bound of x, 100, or beyond"):
        spread = mercer.iqr(rng.normal(5000, 10, N), bounds=(0, 100), epsilon=1)
    assert kinds(spread) == ["bound"]
    values = rng.normal(50, 10, N)
    tested = [
        mercer.iqr(values, bounds=(0, 100), epsilon=1, delta=1e-6, method="propose-test-release")
        for _ in range(4)
    ]
    assert sum(release.findings() == () for release in tested) >= 2
    assert "2 % of epsilon for three counts" in tested[0].privacy.mechanism
    fields = prices.to_dict()
    assert fields["findings"][0]["kind"] == "fit"
    assert fields["ends"]["share"] == 0.02
    assert len(prices.privacy.events) == 1  # all of it in one charge
    assert prices.privacy.events[0].epsilon == 1


def test_ends_are_told_only_where_noise_cannot_explain_them(rng):
    wrong, runs, n = 0, 4000, 2000
    noise = rng.laplace(0, 100, (runs, 3))
    for fits, lower, upper in noise + np.array([n, 0, 0]):
        ends = EndCounts(fits, lower, upper, 100 * math.sqrt(2), 0.02)
        wrong += bool(ends.findings("x", (0, 1), n))
    assert few(wrong, runs, FALSE)


# how it is said


def test_a_warning_shows_the_callers_line_and_never_costs_the_release():
    line = inspect.currentframe().f_lineno + 2
    with pytest.warns(FindingWarning) as seen:
        mercer.density(TEXT, bounds=(0, 1), epsilon=1)
    assert (seen[0].filename, seen[0].lineno) == (__file__, line)
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("error")
        release = density(TEXT)  # paid for, so it comes back
    assert kinds(release) == ["fit"]
    assert [issubclass(one.category, mercer.PrivacyWarning) for one in shown] == [True]


def test_each_finding_is_one_warning(rng):
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        clean = [density(rng.normal(50, 15, N)) for _ in range(4)]
    assert len(shown) == sum(len(release.findings()) for release in clean) <= 2
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        assert tell(release := density(TEXT)) is release
    assert len(shown) == 2 * len(release.findings()) > 0


def test_a_finding_follows_from_the_released_numbers(tmp_path, rng):
    """Loaded from its file, a release tells the same: nothing else was looked at."""
    for release in (
        density(np.where(rng.random(N) < 0.4, np.nan, rng.normal(50, 15, N))),
        histogram(rng.normal(5000, 15, N)),
        mercer.count([{"a": 1}] * 2000, where={"a": 2}, epsilon=1),
    ):
        copy = mercer.load(release.save(tmp_path / "r.json"))
        assert copy.findings() == release.findings() != ()
        assert isinstance(copy.findings()[0], Finding)


def test_commands_say_it_once(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits.csv").write_text("price\n" + "$312.60\n" * 2000)
    ask = ["visits.csv", "--column", "price", "--bounds", "0", "10000", "--epsilon", "1"]
    for command in (
        ["density", *ask, "-o", "d.json"],
        ["histogram", *ask, "--bins", "10", "-o", "h.json"],
        ["quantiles", *ask],
    ):
        capsys.readouterr()
        code, out, err = run(capsys, *command)
        assert code == 0
        words = " ".join(out.split())
        assert words.count("is the column text") == 1
        assert "note" in words
        assert "Warning" not in err
        more = ["--overwrite"] if "-o" in command else []
        code, out, err = run(capsys, *command, *more, "--json")
        assert (code, err) == (0, "")
        assert json.loads(out)["findings"][0]["kind"] == "fit"
    for name in ("d.json", "h.json"):
        code, out, _ = run(capsys, "inspect", name)
        assert " ".join(out.split()).count("is the column text") == 1
        code, out, _ = run(capsys, "inspect", name, "--json")
        assert json.loads(out)["findings"][0]["kind"] == "fit"


def test_the_service_says_it(tmp_path, rng):
    density(TEXT).save(tmp_path / "prices.json")
    density(rng.normal(50, 15, N)).save(tmp_path / "ages.json")
    with serving(Settings(folder=tmp_path)) as service:
        details = service.client.get("/api/releases/prices").json()
        assert [found["kind"] for found in details["findings"]] == ["fit"]
        assert "is the column text" in details["findings"][0]["words"]
        assert service.client.get("/api/releases/ages").json()["findings"] == []
        assert "details.findings" in service.client.get("/assets/release.js").text
