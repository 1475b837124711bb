"""Intervals of private quantiles and ranges: their scores, their law on neighbours, what they cover."""

import itertools
import json
import math
from datetime import date
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

import mercer
from mercer.api.calls import shares
from mercer.api.recipes.ranks import Points, RankShares, declared_step, margin_of
from mercer.audits.audit import epsilon_lower_bound
from mercer.columns.domain import Box
from mercer.noise.mechanisms import Exponential
from mercer.promise.events import Sensitivity
from mercer.releases.choice import rank_reach
from mercer.sensitive.summaries.density import PERSON, Counted, Tally
from mercer.sensitive.summaries.selection import Ranks, rank_sensitivity
from tests.conftest import ALPHA
from tests.helpers.shell import run, said
from tests.noise.test_exponential import law

CELLS = 1 << 15
ALL = np.arange(CELLS + 1)
DEFINITIONS = ("inverted_cdf", "linear", "hazen", "median_unbiased", "lower", "higher")


def ranks(rows):
    rows = np.asarray(rows, dtype=float)[:, None]
    return Ranks(Tally(Box.of((0, 1), ["x"])).add(rows), 0, n=len(rows))


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("q", [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1)])
def test_scores_of_ends_are_those_of_the_definition(q, upper, rng):
    rows = np.append(rng.integers(0, 9, 40) / 8, [np.nan, 7.0])  # one missing, one to clip
    nodes = np.sort(np.append(np.arange(0, CELLS + 1, CELLS // 8), CELLS // 4))  # one point twice
    values, margin = np.clip(rows[np.isfinite(rows)], 0, 1), 5
    aim = q * len(values) + (margin if upper else -margin)
    if upper:  # ranks from above the point before to the point's own; the bound has all that are left
        ranked = [-math.inf, *(int(np.sum(values <= v)) for v in nodes / CELLS), math.inf]
    else:
        ranked = [-math.inf, *(int(np.sum(values < v)) for v in nodes / CELLS), math.inf]
    wanted = [max(low - aim, aim - high, 0) for low, high in itertools.pairwise(ranked)]
    found = ranks(rows).end_scores(q, nodes, margin, upper=upper)
    assert [-Fraction(int(s), q.denominator) for s in found] == wanted
    assert found.max() == 0  # whatever the records are: the bound of the chance to miss needs it


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 6), min_size=2, max_size=12),
    st.integers(0, 6),
    st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(9, 10), Fraction(1)]),
    st.integers(1, 9),
    st.booleans(),
)
def test_replaced_record_moves_no_score_of_an_end_by_more_than_one(nodes, other, q, margin, upper):
    """6 stands for a row without a value."""
    rows = np.array([0, 0.2, 0.4, 0.6, 1.0, 3.0, np.nan])[[*nodes, other]]
    one, two = (
        ranks(r).end_scores(q, ALL, margin, upper=upper) for r in (rows[:-1], [*rows[1:-1], rows[-1]])
    )
    assert np.max(np.abs(one - two)) <= rank_sensitivity(q, 1).value


def test_replaced_person_moves_a_score_of_an_end_by_one():
    """All rows of a person, however many, against all rows of another; the margin is of persons."""
    q, scores = Fraction(3, 10), []
    for rows, place in ((1, 0.0), (70, 1.0), (3, 0.4)):
        values = [*np.linspace(0.3, 0.7, 60), *[place] * rows]
        frame = pd.DataFrame({"id": [i // 3 for i in range(60)] + [99] * rows, "x": values})
        held = Counted(frame, (0, 1), "x", "id", one=True)
        scores.append(Ranks(held.tally, 0, n=held.n).end_scores(q, ALL, 2, upper=True))
    for one, two in itertools.combinations(scores, 2):
        assert 0 < np.max(np.abs(one - two)) <= rank_sensitivity(q, PERSON).value
    held = Ranks(held.tally, 0, n=held.n)
    near, far = (held.end_scores(q, ALL, margin, upper=True)[0] for margin in (0, 2))
    assert near - far == 2 * PERSON * q.denominator


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_a_quantile_with_its_interval_on_the_worst_neighbours(epsilon):
    """Exactly: the three choices of one release together stay below the promise, and come near it."""
    q, level = Fraction(1, 2), 0.95
    choice, counts = shares(epsilon, RankShares.choices(1, ends=True))
    share = RankShares.of(choice, 1, ends=True)
    assert Fraction(share.point) + 2 * Fraction(share.end) + Fraction(counts) <= Fraction(epsilon)
    margin = margin_of(share.end, len(ALL), (1 - level) / 2)
    pair = ranks([1 / CELLS] * 2 + [1.0]), ranks([1 / CELLS] * 2 + [0.0])

    def ratio(scores, epsilon, told=1.0):
        rate = epsilon / (2 * rank_sensitivity(q, 1).value * told)
        laws = [law(scores(one), rate) for one in pair]
        return np.max(np.abs(np.log(laws[0] / laws[1])))

    def whole(told):
        point = ratio(lambda one: one.scores(q, ALL), share.point, told)
        ends = [
            ratio(lambda one, up=up: one.end_scores(q, ALL, 1, upper=up), share.end, told)
            for up in (False, True)
        ]
        return point + sum(ends)

    assert 0.5 * choice < whole(1.0) <= choice * (1 + 1e-9)
    assert whole(0.4) > choice  # noise for less: caught
    assert ratio(lambda one: one.end_scores(q, ALL, margin, upper=True), share.end) <= share.end


def test_audited_with_intervals(rng):
    """All that leaves, the quantile, its interval and the counts, on neighbours that are far for all."""
    epsilon, runs = 24.0, 1000

    def seen(last):
        out = []
        for _ in range(runs):
            made = mercer.quantiles(
                [0.0] * 2 + [1.0] * 2 + [last],
                0.5,
                bounds=(0, 1),
                epsilon=epsilon,
                insist=True,
                step=0.5,
                rng=rng,
            )
            out.append(made.values[0] + made.lower[0] + made.upper[0])
        return np.array(out)

    low, high = seen(0.0), seen(1.0)
    cuts = (0.25, 0.75, 1.25, 1.75, 2.25)
    bound = max(
        epsilon_lower_bound(high > cut, low > cut, delta=0.0, confidence=1 - ALPHA / len(cuts))
        for cut in cuts
    )
    assert 0.05 * epsilon < bound <= epsilon


def heaped(rng, n):
    return rng.choice([20, 25, 30, 40, 40, 40, 60], n).astype(float)


def skewed(rng, n):
    return np.minimum(rng.lognormal(2, 1.2, n), 100)


def smooth(rng, n):
    return np.clip(rng.normal(50, 15, n), 0, 100)


def constant(rng, n):
    del rng
    return np.full(n, 37.0)


def spiked(rng, n):
    return np.where(rng.random(n) < 0.8, 0.0, rng.uniform(0, 100, n))


def halves(rng, n):
    """Nothing between two heaps, of which the median stands at the edge: any definition may differ."""
    del rng
    return np.repeat([10.0, 90.0], n // 2)


COLUMNS = (heaped, skewed, smooth, constant, spiked, halves)
LEVELS = (0.0, 0.1, 0.5, 0.75, 1.0)


@pytest.mark.parametrize("n", [20, 2000])
@pytest.mark.parametrize("column", COLUMNS)
def test_intervals_hold_the_quantile_of_the_records(column, n, rng):
    """At the level, for each of the usual definitions; some rows have no value."""
    x, level, runs = column(rng, n), 0.8, 40
    rows = np.append(x, [np.nan] * (n // 10))
    integers = bool(np.all(x == np.round(x)))
    inside = np.zeros((len(LEVELS), len(DEFINITIONS)), dtype=int)
    for _ in range(runs):
        made = mercer.quantiles(
            rows, LEVELS, bounds=range(101) if integers else (0, 100), epsilon=4, level=level, insist=True
        )
        for place, (value, low, high, _) in enumerate(made.intervals):
            assert 0 <= low <= value <= high <= 100
            for k, method in enumerate(DEFINITIONS):
                inside[place, k] += low <= np.quantile(x, LEVELS[place], method=method) <= high
    assert np.all(binom.cdf(inside, runs, level) > ALPHA)


def test_an_end_that_aims_at_the_quantile_itself_is_seen_to_miss():
    """Planted fault: no margin.  Nothing is drawn: chances of fixed records, spread as a normal law's."""
    x = norm.ppf((np.arange(6000) + 0.5) / 6000, loc=0.5, scale=0.15).clip(0, 1)
    held, q = ranks(x), Fraction(1, 2)
    true = np.quantile(x, 0.5)
    choose = Exponential().calibrate(rank_sensitivity(q, 1), epsilon=1.0)
    chances = [choose.probabilities(held.end_scores(q, ALL, margin, upper=False)) for margin in (0, 40)]
    beyond = [chance[1:][true < ALL / CELLS].sum() for chance in chances]
    assert 0.4 < beyond[0] < 0.5  # as often as not, but for the cell of the quantile
    assert beyond[1] < 0.025
    assert rank_reach(1.0, len(ALL), 0.025) > 28  # the bound that is proved is not reached


@pytest.mark.parametrize("column", [heaped, skewed, constant, spiked])
@pytest.mark.parametrize("tested", [False, True])
def test_intervals_hold_the_range_of_the_records(column, tested, rng):
    n = 8000
    x, level, runs, inside, made_of = column(rng, n), 0.8, 40, 0, 0
    true = np.subtract(*np.sort(x)[[math.ceil(0.75 * n) - 1, math.ceil(n / 4) - 1]])
    more = {"delta": 1e-4, "method": "propose-test-release"} if tested else {}
    for _ in range(runs):
        made = mercer.iqr(x, bounds=(0, 100), epsilon=8, level=level, **more)
        if made.declined:
            assert (made.lower, made.upper) == (None, None)
            continue
        made_of += 1
        inside += made.interval.lower <= true <= made.interval.upper
    if made_of:
        assert binom.cdf(inside, made_of, level) > ALPHA
    assert tested or made_of == runs


def test_intervals_are_as_wide_as_is_said(rng):
    """Ends within the ranks that the accuracy names, in 95 % of the releases."""
    x, runs, within = np.sort(smooth(rng, 20_000)), 60, 0
    for _ in range(runs):
        made = mercer.quantiles(x, 0.5, bounds=(0, 100), epsilon=1)
        _, low, high, _ = made.intervals[0]
        far = max(abs(np.searchsorted(x, end) - 10_000) for end in (low, high))
        within += far <= made.accuracy.end + 30  # records in one cell of the fine grid
        assert made.accuracy.most < 130
        assert "misses its target by at most" in str(made.accuracy)
    assert binom.cdf(within, runs, 0.9) > ALPHA  # two ends, each in 95 %


def test_integers_come_out_as_integers(tmp_path, capsys, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    ages = np.floor(rng.gamma(6, 6, 4000))
    pd.DataFrame({"age": ages}).to_csv("ages.csv", index=False)
    for asked in (
        {"bounds": range(101)},
        {"bounds": (0, 100), "step": 1},
        {"bounds": (0, 100), "grid": range(101)},
    ):
        made = mercer.quantiles(ages, [0.25, 0.5], epsilon=2, **asked)
        assert all(type(v) is int for v in (*made.values, *made.lower, *made.upper))
        assert "." not in str(made).split("(")[0].split(": ", 2)[2]
    named = mercer.quantiles("ages.csv", 0.5, bounds={"age": range(101)}, epsilon=2)
    assert type(named.values[0]) is int
    spread = mercer.iqr(ages, bounds=range(101), epsilon=2)
    assert type(spread.value) is type(spread.lower) is int
    ask = ["quantiles", "ages.csv", "--column", "age", "--bounds", 0, 100, "--step", 1, "--epsilon", 2]
    capsys.readouterr()  # the seed
    fields = said(capsys, *ask, "--level", 0.9)
    assert all(type(v) is int for v in fields["values"] + fields["lower"] + fields["upper"])
    assert fields["level"] == 0.9
    assert set(fields["accuracy"]) == {"expected", "most", "end", "n"}
    code, out, _ = run(capsys, *ask)
    assert code == 0
    assert "95% interval" in out
    assert "each rank misses its target" in " ".join(out.split())
    row = next(line.split() for line in out.splitlines() if line.split()[:1] == ["0.5"])
    assert row[1].isdigit()
    assert row[2].isdigit()
    assert row[4].isdigit()
    plain = mercer.quantiles(ages, 0.5, bounds=(0, 100), epsilon=2)
    assert isinstance(plain.values[0], float)


def test_many_integers_to_a_node_of_the_fine_grid(rng):
    """A hundred thousand amounts: several share a node, and the interval holds all of them."""
    x = np.floor(np.minimum(rng.lognormal(9, 1, 3000), 99_999))
    made = mercer.quantiles(x, 0.5, bounds=range(100_000), epsilon=50, level=1 - ALPHA, insist=True)
    assert made.lower[0] <= np.median(x) <= made.upper[0]
    points = Points.of(None, Box.of((0, 99_999), ["x"]), CELLS, 1.0)
    node = int(points.nodes[777])
    held = points.values[points.nodes == node]
    assert points.least(node) <= held.min()
    assert held.max() <= points.most(node)


def test_dates_have_intervals_of_days():
    days = pd.to_datetime(np.repeat(["2024-01-10", "2024-02-01", "2024-03-05"], [100, 500, 100]))
    made = mercer.quantiles(pd.Series(days), 0.5, bounds=("2024-01-01", "2024-12-31"), epsilon=5)
    assert made.shown == (date(2024, 2, 1),)
    assert made.shown_ends == ((date(2024, 2, 1), date(2024, 2, 1)),)
    fields = made.to_dict()
    assert fields["dates_of_ends"] == [["2024-02-01", "2024-02-01"]]
    assert "2024-02-01 to 2024-02-01" in str(made)


def test_without_intervals_all_of_epsilon_is_for_the_quantiles(rng, tmp_path):
    x = rng.normal(50, 10, 2000)
    made = mercer.quantiles(x, [0.25, 0.5], bounds=(0, 100), epsilon=1, level=None)
    assert (made.lower, made.upper, made.level, made.accuracy.end) == (None, None, None, None)
    asked = mercer.quantiles(x, [0.25, 0.5], bounds=(0, 100), epsilon=1)
    assert asked.accuracy.most == pytest.approx(2 * made.accuracy.most, rel=1e-9)
    assert [one.privacy.epsilon for one in (made, asked)] == [1, 1]
    with pytest.raises(ValueError, match="level=None"):
        _ = made.intervals
    assert "lower" not in made.to_dict()
    spread = mercer.iqr(x, bounds=(0, 100), epsilon=1, level=None)
    with pytest.raises(ValueError, match="level=None"):
        _ = spread.interval
    book = mercer.Ledger.create(tmp_path / "b.db")
    book.register("x", epsilon=1)
    mercer.quantiles(x, [0.1, 0.5, 0.9], bounds=(0, 100), epsilon=0.5, ledger=book, dataset="x")
    assert book.remaining("x").spent_epsilon == pytest.approx(0.5)
    fields = json.loads(asked.save(tmp_path / "q.json").read_text())
    assert fields["lower"] == list(asked.lower)


def test_what_is_said_beforehand_is_what_is_said_afterwards(rng):
    x = np.floor(rng.gamma(6, 6, 4000))
    for make in (
        lambda **more: mercer.quantiles(x, [0.25, 0.5], bounds=range(101), epsilon=1, **more),
        lambda **more: mercer.quantiles(x, 0.5, bounds=(0, 100), epsilon=1, **more),
        lambda **more: mercer.quantiles(x, 0.5, bounds=(0, 100), grid=[0, 50, 100], epsilon=1, **more),
        lambda **more: mercer.iqr(x, bounds=(0, 100), epsilon=1, **more),
        lambda **more: mercer.iqr(
            x, bounds=(0, 100), epsilon=9, delta=1e-4, method="propose-test-release", **more
        ),
    ):
        assert make(dry_run=True).expected == str(make().accuracy)


def test_errors():
    x = [1.0, 2.0] * 20
    for wrong, words in (
        ({"bounds": (0, 4), "level": 2}, "level"),
        ({"bounds": (0, 4), "level": 0}, "level"),
        ({"bounds": (0, 4), "step": 1, "grid": 3}, "leave grid out"),
        ({"bounds": (0, 4), "step": 3}, "whole number of steps"),
        ({"bounds": (0, 4), "step": -1}, "step"),
        ({"bounds": range(1)}, "rising range"),
        ({"bounds": range(5), "step": 2}, "that of the range"),
    ):
        with pytest.raises(ValueError, match=words):
            mercer.quantiles(x, 0.5, epsilon=1, **wrong)
    assert declared_step((0, 1), None) == ((0, 1), None)
    assert Sensitivity(1.0, norm="score").value == 1
