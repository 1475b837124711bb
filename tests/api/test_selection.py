"""Private quantiles, spreads and choices: scores replayed on neighbours, laws on the worst ones."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mercer
from mercer.api.calls import part
from mercer.api.ranks import propose_test_release, threshold
from mercer.audits.audit import epsilon_lower_bound
from mercer.columns.domain import Box
from mercer.door.publish import Purse
from mercer.noise import entropy
from mercer.sensitive.summaries.density import PERSON, Counted, Tally, fit_points, fit_scores
from mercer.sensitive.summaries.selection import LogBins, Ranks, _Order, rank_sensitivity
from tests.cli.test_density import run
from tests.conftest import ALPHA
from tests.noise.test_exponential import law

CELLS = 1 << 15
ALL = np.arange(CELLS + 1)


def tally(rows):
    rows = np.asarray(rows, dtype=float)
    rows = rows[:, None] if rows.ndim == 1 else rows
    names = [f"x{i}" for i in range(rows.shape[1])]
    return Tally(Box.of([(0, 1)] * rows.shape[1], names)).add(rows)


def ranks(rows):
    return Ranks(tally(rows), 0, n=len(rows))


# quantiles


@pytest.mark.parametrize("q", [Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1)])
def test_scores_are_those_of_the_definition(q, rng):
    rows = np.append(rng.integers(0, 9, 40) / 8, [np.nan, 7.0])  # one missing, one to clip
    nodes = np.arange(0, CELLS + 1, CELLS // 8)
    values = np.clip(rows[np.isfinite(rows)], 0, 1)
    wanted = []
    for v in nodes / CELLS:
        low, high = (np.sum(values < v), np.sum(values <= v))
        below, above = int(low) - q * len(values), int(high) - q * len(values)
        wanted.append(-max(below, -above, Fraction(0)))
    found = ranks(rows).scores(q, nodes)
    assert [Fraction(int(s), q.denominator) for s in found] == wanted


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 6), min_size=2, max_size=12),
    st.integers(0, 6),
    st.sampled_from([Fraction(1, 4), Fraction(1, 2), Fraction(9, 10), Fraction(1)]),
)
def test_replaced_record_moves_no_rank_score_by_more_than_one(nodes, other, q):
    """6 stands for a row without a value."""
    rows = np.array([0, 0.2, 0.4, 0.6, 1.0, 3.0, np.nan])[[*nodes, other]]
    one, two = ranks(rows[:-1]).scores(q, ALL), ranks([*rows[1:-1], rows[-1]]).scores(q, ALL)
    assert np.max(np.abs(one - two)) <= rank_sensitivity(q, 1).value


def test_sensitivity_of_a_rank_is_reached():
    one, two = (ranks([*[0.5] * 8, last]).scores(Fraction(1, 2), ALL) for last in (0.0, 1.0))
    assert np.max(np.abs(one - two)) == rank_sensitivity(Fraction(1, 2), 1).value == 2  # 2 halves


def worst_ratio(epsilon, told=1.0):
    """Largest log-ratio of the median's law on neighbours that are far from a tie.

    Almost every point lies right of the median and loses 1; the leftmost point gains 1.
    """
    q = Fraction(1, 2)
    rate = epsilon / (2 * rank_sensitivity(q, 1).value * told)
    laws = [law(ranks([1 / CELLS] * 2 + [last]).scores(q, ALL), rate) for last in (1.0, 0.0)]
    return np.max(np.abs(np.log(laws[0] / laws[1])))


def test_median_on_the_worst_neighbours():
    assert 0.8 * 1.0 < worst_ratio(1.0) <= 1.0 + 1e-9
    assert worst_ratio(1.0, told=0.5) > 1.5  # sensitivity halved: caught


def test_median_audited(rng):
    epsilon = 6.0
    grid = np.append(np.arange(2) / CELLS, np.linspace(0.1, 0.9, 20))
    out = [
        np.array(
            [
                mercer.quantiles(
                    [1 / CELLS] * 2 + [last], 0.5, bounds=(0, 1), epsilon=epsilon, grid=grid, rng=rng
                ).values[0]
                == 0.0
                for _ in range(3000)
            ]
        )
        for last in (1.0, 0.0)
    ]
    bound = epsilon_lower_bound(out[1], out[0], delta=0.0, confidence=1 - ALPHA)
    assert 0.05 * epsilon < bound <= epsilon


def test_bounds_read_from_the_data_are_caught():
    """Points between the least and the largest record: an outcome of one is none of the other."""

    def faulty(rows):
        low, high = min(rows), max(rows)
        p = law(ranks((np.array(rows) - low) / (high - low)).scores(Fraction(1, 2), ALL), 0.5)
        return dict(zip(np.round(low + ALL / CELLS * (high - low), 12), p, strict=True))

    one, two = faulty([0.2, 0.3, 0.4, 0.9]), faulty([0.2, 0.3, 0.4, 0.7])
    assert sum(p for value, p in one.items() if value not in two) > 0.1  # no epsilon holds


def test_quantiles_are_near_and_in_order(rng):
    """P(rank error > (2/epsilon)(ln points + t)) <= e^-t, the mechanism's own theorem."""
    n, epsilon, levels = 20_000, 2.0, (0.9, 0.1, 0.5)
    x = rng.normal(50, 12, n)
    release = mercer.quantiles(x, levels, bounds=(0, 100), epsilon=epsilon)
    error = 2 / (epsilon / 3) * (math.log(CELLS + 1) + math.log(3 / ALPHA)) / n
    for level, value in zip(levels, release.values, strict=True):
        step = 100 / CELLS
        low, high = np.quantile(x, [level - error - 1e-3, level + error + 1e-3])
        assert low - step < value < high + step
    tight = mercer.quantiles(x[:30], np.linspace(0, 1, 9), bounds=(0, 100), epsilon=0.1)
    assert list(tight.values) == sorted(tight.values)
    assert all(0 <= v <= 100 for v in tight.values)
    assert sum([Fraction(part(0.1, 9))] * 9) <= Fraction(0.1)


def test_points_to_choose_from(rng):
    ages = rng.integers(20, 60, 3000)
    whole = mercer.quantiles(ages, 0.5, bounds=(0, 100), epsilon=5, grid=range(101))
    assert whole.values[0] == round(whole.values[0])
    assert abs(whole.values[0] - np.median(ages)) <= 2
    few = mercer.quantiles(ages, 0.5, bounds=(0, 100), epsilon=5, grid=5)
    assert few.values[0] in (0, 25, 50, 75, 100)


def test_persons_count_once(rng):
    """1000 rows of one person weigh as much as one row of another."""
    frame = pd.DataFrame({"id": [0] * 1000 + list(range(1, 400)), "x": [0.9] * 1000 + [0.1] * 399})
    release = mercer.quantiles(frame, 0.5, bounds=(0, 1), epsilon=5, columns="x", unit="id")
    assert release.values[0] == pytest.approx(0.1, abs=0.01)
    assert release.privacy.n == 400
    assert release.privacy.unit == "id"


def test_replaced_person_moves_a_rank_score_by_one(rng):
    """All rows of a person, however many, against all rows of another."""
    q = Fraction(3, 10)
    scores = []
    for rows, place in ((1, 0.0), (70, 1.0), (3, 0.4)):
        values = [*np.linspace(0.3, 0.7, 60), *[place] * rows]
        frame = pd.DataFrame({"id": [i // 3 for i in range(60)] + [99] * rows, "x": values})
        held = Counted(frame, (0, 1), "x", "id", one=True)
        scores.append(Ranks(held.tally, 0, n=held.n).scores(q, ALL))
    for one, two in itertools.combinations(scores, 2):
        change = np.max(np.abs(one - two))
        assert 0 < change <= rank_sensitivity(q, PERSON).value


# the interquartile range, by propose-test-release


def test_spread_of_order_statistics_is_the_exact_reach_of_k_replacements():
    """Brute force: the largest range over all data sets that differ in k records."""
    cells, n = 4, 4
    for rows in itertools.combinations_with_replacement(range(cells + 1), n):
        order = _Order(np.cumsum(np.bincount(rows, minlength=cells + 1)), n, cells)
        for k in range(3):
            reach = []
            for who in itertools.combinations(range(n), k):
                for new in itertools.product(range(cells + 1), repeat=k):
                    other = list(rows)
                    for i, value in zip(who, new, strict=True):
                        other[i] = value
                    other.sort()
                    reach.append(other[2] - other[0])  # ranks 3 and 1 of 4
            assert order.spread(k, most=True) == max(reach)
            assert max(order.spread(k, most=False), 0) == min(reach)


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_distance_moves_by_one_and_tells_of_stability(data):
    n = data.draw(st.integers(2, 60))
    scale = data.draw(st.sampled_from([20, 300, CELLS]))
    nodes = data.draw(st.lists(st.integers(0, scale), min_size=n + 1, max_size=n + 1))
    bins = LogBins(n, CELLS, steps=data.draw(st.sampled_from([8, 1024])))
    rows = np.array(nodes) / CELLS
    (log, far), (log2, far2) = ranks(rows[:-1]).spread(bins), ranks(rows[1:]).spread(bins)
    assert abs(far - far2) <= 1
    if far >= 2:
        assert abs(log - log2) < bins.steps


def outcomes(log, distance, bins, epsilon, delta, *, tested=True):
    """The exact law: declined first, then every logarithm in a wide range."""

    def laplace(scale, k):
        return (1 - math.exp(-1 / scale)) / (1 + math.exp(-1 / scale)) * np.exp(-np.abs(k) / scale)

    test = 1 / epsilon
    least = threshold(test, delta) + 1 - distance if tested else -(10**9)
    r = math.exp(-1 / test)
    passes = r**least / (1 + r) if least > 0 else 1 - r ** (1 - least) / (1 + r)
    span = np.arange(-60 * bins.steps, 60 * bins.steps)
    return np.append(1 - passes, passes * laplace(bins.steps / epsilon, span - log))


def divergence(one, two, epsilon):
    return np.sum(np.maximum(one - math.exp(epsilon) * two, 0))


def test_promise_of_propose_test_release_on_unstable_neighbours():
    """The lower quartile lies at 0.2 or at 0.8: one record moves the range from 0.6 to 0."""
    epsilon, delta = 0.8, 1e-3
    one, two = ([0.2] * 2 + [0.8] * 7 + [last] for last in (0.2, 0.8))
    bins = LogBins(10, CELLS, steps=16)
    (log, far), (log2, far2) = ranks(one).spread(bins), ranks(two).spread(bins)
    assert (far, far2) == (1, 1)
    assert abs(log - log2) > 2 * bins.steps
    laws = [outcomes(a, b, bins, epsilon, delta) for a, b in ((log, far), (log2, far2))]
    assert divergence(*laws, 2 * epsilon) <= delta * (1 + 1e-9)
    assert divergence(*laws[::-1], 2 * epsilon) <= delta * (1 + 1e-9)
    assert max(divergence(*laws, 2 * epsilon), divergence(*laws[::-1], 2 * epsilon)) > delta / 10
    bare = [outcomes(a, b, bins, epsilon, delta, tested=False) for a, b in ((log, far), (log2, far2))]
    assert divergence(*bare, 2 * epsilon) > 10 * delta  # without the test: caught


def test_threshold_is_the_least_that_keeps_delta():
    for scale, delta in itertools.product((0.5, 2.0, 30.0), (1e-9, 1e-3, 0.2)):
        t, r = threshold(scale, delta), math.exp(-1 / scale)
        assert r**t / (1 + r) <= delta * (1 + 1e-9)
        assert t == 1 or r ** (t - 1) / (1 + r) > delta * (1 - 1e-9)


def test_spread_is_released_or_declined_openly(rng):
    x = rng.normal(50, 12, 100_000)
    true = np.subtract(*np.quantile(x, [0.75, 0.25]))
    pure = mercer.iqr(x, bounds=(0, 100), epsilon=1)
    assert pure.value == pytest.approx(true, rel=0.05)
    assert pure.privacy.delta == 0
    promise = {"bounds": (0, 100), "epsilon": 4, "delta": 1e-6, "method": "propose-test-release"}
    tested = mercer.iqr(x, **promise)
    assert tested.lower <= tested.value <= tested.upper
    # the base is 1.087: a factor of 8 is 25 steps of Laplace(1/2) noise
    assert true / 8 < tested.value < 8 * true
    assert tested.privacy.delta == 1e-6
    none = mercer.iqr(x[:4], **promise)
    assert none.declined
    assert "declined" in str(none)
    assert none.to_dict()["value"] is None


def test_missing_rows_stand_in_the_middle():
    bins = LogBins(4, CELLS)
    whole, holes = ranks([0.1, 0.5, 0.5, 0.9]), ranks([0.1, np.nan, np.nan, 0.9])
    assert whole.spread(bins) == holes.spread(bins)


def test_stable_data_pass_and_unstable_data_do_not():
    stable, unstable = ranks(np.linspace(0.2, 0.8, 4000)), ranks([0.2] * 2 + [0.8] * 6)
    source = Purse(entropy.Secure(), insist=True)
    found, low, high = propose_test_release(stable, 10.0, 1e-6, source)
    assert found == pytest.approx(0.3, rel=0.9)
    assert low <= found <= high
    assert all(propose_test_release(unstable, 2.0, 1e-12, source) is None for _ in range(20))


# general choices


def test_select(rng):
    release = mercer.select(["a", "b", "c"], [0, 500, 3], sensitivity=1, epsilon=1, n=10)
    assert (release.candidate, release.index) == ("b", 1)
    assert release.privacy.epsilon == 1
    assert "Candidate 2 of 3" in str(release)
    assert release.to_dict()["index"] == 1
    again = mercer.select([2.0, 3.0], lambda c: 400 * c, sensitivity=1, epsilon=1, n=10, rng=rng)
    assert again.candidate == 3.0
    assert "NOT PRIVATE" in str(again.privacy)


def bell(mean, sd):
    return lambda x: np.exp(-(((x - mean) / sd) ** 2) / 2) / (sd * math.sqrt(2 * math.pi))


def test_select_function_takes_the_nearest(rng):
    x = rng.normal(50, 10, 20_000)
    named = {str(m): bell(m, 10) for m in (30, 45, 50, 55)}
    named["release"] = mercer.density(x, bounds=(0, 100), epsilon=1, delta=1e-6)
    del named["50"]
    chosen = mercer.select_function(named, x, bounds=(0, 100), epsilon=2)
    assert chosen.candidate == "release"
    listed = mercer.select_function([bell(30, 10), bell(50, 10)], x, bounds=(0, 100), epsilon=2)
    assert listed.index == 1
    two = np.stack([x, x], axis=1)
    flat, round_ = (lambda p: np.full(len(p), 1e-4)), (lambda p: bell(50, 10)(p).prod(axis=1))
    assert mercer.select_function([flat, round_], two, bounds=[(0, 100)] * 2, epsilon=2).index == 1


def test_fit_scores_on_neighbours(rng):
    """The bound holds for random rows and is reached between top and bottom of a function."""
    points = fit_points(Box.of((0, 1), ["x"]))[:, 0]
    tables = [np.sin(9 * points), bell(0.5, 0.1)(points), np.ones_like(points)]
    rest = rng.random(30)

    def scores(last):
        return fit_scores(tally([*rest, last]), tables, n=31)

    base, sensitivity = scores(0.5)
    changes = [
        abs(a - b)
        for last in (*rng.random(20), 0.0, 1.0, -5.0, np.nan)
        for a, b in zip(scores(last)[0], base, strict=True)
    ]
    assert max(changes) <= sensitivity.value
    assert max(changes) > 0.99 * sensitivity.value  # from the top of the bell to its foot


def calls(x):
    fit = [bell(40, 10), bell(60, 10)]
    for function, arguments in [
        (mercer.quantiles, (x, [0.25, 0.5])),
        (mercer.iqr, (x,)),
        (mercer.select_function, (fit, x)),
    ]:
        yield lambda f=function, a=arguments, **more: f(*a, bounds=(0, 100), epsilon=0.5, **more)
    yield lambda **more: mercer.select([1, 2], [0, 1], sensitivity=1, epsilon=0.5, n=9, **more)


def test_charged_before_drawn(tmp_path, rng):
    class Unused(entropy.Secure):
        def octets(self, _count):
            raise AssertionError("drawn before charged")

    x = rng.normal(50, 10, 500)
    for place, call in enumerate(calls(x)):
        ledger = mercer.Ledger(tmp_path / f"{place}.db")
        ledger.register("ages", epsilon=0.6)
        release = call(ledger=ledger, dataset="ages")
        (charge,) = ledger.history("ages")
        assert (charge.epsilon, charge.delta) == (0.5, 0.0)
        assert charge.events == release.privacy.events
        assert charge.what
        with pytest.raises(mercer.BudgetExceeded, match="epsilon up to 0.1"):
            call(ledger=ledger, dataset="ages", rng=Unused())
        with pytest.raises(ValueError, match="go together"):
            call(ledger=ledger)
        assert len(ledger.history("ages")) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: mercer.quantiles(x, 0.5, bounds=(0, 1)), "epsilon is missing"),
        (lambda x: mercer.quantiles(x, 0.5, epsilon=1), "bounds is missing"),
        (lambda x: mercer.quantiles(x, 1.5, bounds=(0, 1), epsilon=1), r"q must be in \[0, 1\]"),
        (lambda x: mercer.quantiles(x, math.nan, bounds=(0, 1), epsilon=1), "the median is 0.5"),
        (lambda x: mercer.quantiles(x, [], bounds=(0, 1), epsilon=1), "got none"),
        (lambda x: mercer.quantiles(x, 0.5, bounds=(0, 1), epsilon=1, grid=[]), "grid"),
        (lambda x: mercer.quantiles(x, 0.5, bounds=(0, 1), epsilon=1, grid=[2.0]), "domain"),
        (lambda x: mercer.quantiles(x[:1], 0.5, bounds=(0, 1), epsilon=1), "at least 2"),
        (lambda x: mercer.iqr(x, bounds=(0, 1), epsilon=1, delta=0.1), "leave it"),
        (lambda x: mercer.iqr(x, bounds=(0, 1), epsilon=1, method="x"), "propose-test-release"),
        (lambda _: mercer.select([1], [1, 2], sensitivity=1, epsilon=1, n=3), "one number for each"),
        (lambda _: mercer.select([1], [1], sensitivity=1, epsilon=1), "n is missing"),
        (lambda _: mercer.select([], [], sensitivity=1, epsilon=1, n=3), "at least one"),
        (lambda _: mercer.select([1], [1], sensitivity=0, epsilon=1, n=3), "sensitivity"),
        (lambda x: mercer.select_function([], x, bounds=(0, 1), epsilon=1), "at least one"),
        (lambda x: mercer.select_function([np.sum], x, bounds=(0, 1), epsilon=1), "finite number"),
    ],
)
def test_mistakes_name_the_way_out(call, message):
    with pytest.raises(ValueError, match=message):
        call([0.123456, 0.654321, 0.3])


def test_command(tmp_path, monkeypatch, capsys, rng):
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{age:.1f},{i}" for i, age in enumerate(rng.normal(50, 10, 2000)))
    (tmp_path / "people.csv").write_text(f"age,id\n{rows}\n")
    capsys.readouterr()  # the seed
    command = ["quantiles", "people.csv", "--column", "age", "--bounds", "0", "100"]
    code, out, _ = run(capsys, *command, "--q", "0.25", "0.5", "0.75", "--epsilon", "2", "--json")
    fields = json.loads(out)
    assert code == 0
    assert fields["levels"] == [0.25, 0.5, 0.75]
    assert fields["values"] == sorted(fields["values"])
    assert fields["privacy"]["epsilon"] == 2
    code, out, _ = run(capsys, *command, "--epsilon", "2", "--unit", "id")
    assert code == 0
    assert "0.75" in out
    assert "one 'id'" in " ".join(out.split())
    code, _, err = run(capsys, *command)
    assert code == 2
    assert "epsilon is missing" in err
