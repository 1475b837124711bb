"""The weaker promise as a user meets it: asked for in words, said in words, never counted."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import mercer
from mercer import LedgerError, random_histogram, random_proportion, random_statistic
from mercer.promise.events import PureEvent, RandomEvent
from mercer.promise.statement import Statement
from mercer.promise.weaker import RandomStatement, together
from tests.conftest import ALPHA

WEAK = {"epsilon": 1, "gamma": 0.05, "weaker_promise": True}
BINS = {"bins": [0, 20, 40, 60, 80, 100]}
RARE = [True] * 3 + [False] * 997


def ages(n=7000):
    return [20 + (i * i) % 40 for i in range(n)] + [97]


def made():
    """One release of each kind."""
    numbers = [float(i * i % 101) for i in range(9000)]
    return {
        "histogram": random_histogram(ages(), **BINS, **WEAK),
        "rare count": random_proportion(RARE, **WEAK),
        "count": random_proportion([True, False] * 300, **WEAK),
        "exact": random_statistic(numbers, **WEAK),
        "asymptotic": random_statistic(numbers, method="asymptotic", **WEAK),
    }


@pytest.mark.parametrize("function", [random_histogram, random_proportion, random_statistic])
@pytest.mark.parametrize(
    "said", [{}, {"weaker_promise": False}, {"weaker_promise": 1}, {"weaker_promise": "yes"}]
)
def test_nobody_gets_it_by_accident(function, said):
    with pytest.raises(ValueError, match="not differential privacy.*unprotected.*no ledger") as error:
        function([1, 2], epsilon=1, gamma=0.05, **said)
    assert "weaker_promise=True" in str(error.value)
    assert "mercer.histogram" in str(error.value)


def test_there_is_no_ledger(tmp_path):
    for function in (random_histogram, random_proportion, random_statistic):
        with pytest.raises(TypeError, match="ledger"):
            function([1, 2], ledger=tmp_path / "a.db", **WEAK)
        assert "ledger" in function.__doc__


def test_ledgers_refuse(tmp_path):
    ledger = mercer.Ledger(tmp_path / "budgets.db")
    ledger.register("a", epsilon=10, delta=1e-3)
    price = {"epsilon": 1, "delta": 0, "what": "x"}
    for release in made().values():
        statement = release.privacy
        for events in (
            statement,
            statement.events,
            [PureEvent(0.1), *statement.events],
            [statement],
            [RandomEvent(1, 0, 0.1)],
        ):
            with pytest.raises(LedgerError, match="fails for a share gamma .* hold for all of them"):
                ledger.charge("a", events, **price)
    assert ledger.history() == []
    ledger.charge("a", [PureEvent(1)], **price)


def test_data_of_a_ledger_are_left_alone(tmp_path):
    """Beside a ledger's releases nothing is released that it cannot count."""
    path = tmp_path / "people.csv"
    pd.DataFrame({"age": ages(), "ill": [True] + [False] * 7000}).to_csv(path, index=False)
    mercer.Ledger(tmp_path / "b.db").register("people", epsilon=1, data=path)
    for call in (
        lambda **more: random_histogram(path, columns="age", **BINS, **WEAK, **more),
        lambda **more: random_proportion(path, columns="ill", **WEAK, **more),
        lambda **more: random_statistic(path, columns="age", **WEAK, **more),
    ):
        with pytest.raises(LedgerError, match="cannot count it.*nothing was released"):
            call()
        assert not call(rng=1).privacy.secure  # a trial is no release


def test_statement_says_who_may_be_seen():
    for name, release in made().items():
        privacy, words = release.privacy, str(release.privacy)
        assert isinstance(privacy, RandomStatement)
        assert not isinstance(privacy, Statement)
        assert words.startswith("NOT differential privacy but a weaker promise")
        assert "independent draws from one distribution" in words
        assert "1 - 0.05" in words
        assert "Outlying individuals may be unprotected" in words
        assert ("asymptotic in n only" in words) == (name == "asymptotic") == privacy.asymptotic
        assert "all but a share 0.05 of the draws" in privacy.attack
        assert "rare" in privacy.attack
        assert privacy.short in repr(release)
        assert 0.05 < privacy.power(0.05) <= 0.05 + 0.95 * math.e * 0.05 + 0.05
    assert made()["count"].privacy.short == "WEAKER PROMISE: random DP, epsilon = 1, gamma = 0.05, one row"
    assert ", asymptotic, " in made()["asymptotic"].privacy.short
    assert "at most 34 of the 7001 records" in str(made()["histogram"].privacy)
    assert "at most 24 of the 1000 records" in str(made()["rare count"].privacy)
    assert "values are far out" in str(made()["exact"].privacy)


def test_seeded_noise_is_marked():
    release = random_proportion([True, False] * 300, rng=3, **WEAK)
    assert release.privacy.short.startswith("NOT PRIVATE (seeded): WEAKER PROMISE")
    assert str(release.privacy).startswith("NOT PRIVATE: the noise came from a seed")
    assert "seed" in release.privacy.attack
    assert release.privacy.power() == 1.0
    assert release.raw == random_proportion([True, False] * 300, rng=3, **WEAK).raw


@pytest.mark.parametrize("name", ["histogram", "rare count", "count", "exact", "asymptotic"])
def test_files(name, tmp_path):
    release = made()[name]
    path = release.save(tmp_path / "r.json")
    again = mercer.load(path)
    assert again.privacy == release.privacy
    assert again.to_dict() == release.to_dict()
    fields = json.loads(path.read_text())
    assert fields["privacy"]["promise"] == "random"
    assert fields["privacy"]["asymptotic"] is (name == "asymptotic")
    assert "WEAKER" in repr(again)
    assert "NOT differential privacy" in fields["privacy"]["sentence"]
    for change in (
        {"promise": "other"},
        {"promise": None},
        {"gamma": 0},
        {"gamma": 1.5},
        {"gamma": "0.1"},
        {"asymptotic": 0},
        {"delta": -1},
        {"n": 0},
        {"epsilon": 0},
        {"unprotected": "x" * 3000},
        {"unprotected": None},
    ):
        path.write_text(json.dumps(fields | {"privacy": fields["privacy"] | change}))
        with pytest.raises(ValueError, match="is not a valid release"):
            mercer.load(path)
    for field in ("gamma", "asymptotic", "unprotected"):  # without them it is no other promise
        less = {key: value for key, value in fields["privacy"].items() if key != field}
        path.write_text(json.dumps(fields | {"privacy": less}))
        with pytest.raises(ValueError, match=field):
            mercer.load(path)


def test_files_of_both_promises_are_told_apart(tmp_path):
    """Old files have no field; a density may not have it."""
    count = mercer.proportion(RARE, epsilon=1).save(tmp_path / "c.json")
    assert "promise" not in json.loads(count.read_text())["privacy"]
    assert isinstance(mercer.load(count).privacy, Statement)
    path = mercer.density(ages(), bounds=(0, 100), epsilon=1).save(tmp_path / "d.json")
    fields = json.loads(path.read_text())
    fields["privacy"] |= {"promise": "random", "gamma": 0.05}
    path.write_text(json.dumps(fields))
    with pytest.raises(ValueError, match="cannot be under a weaker promise"):
        mercer.load(path)


def test_exact_parts_have_no_width():
    release = made()["histogram"]
    assert release.exact.tolist() == [True, False, False, True, True]
    assert release.counts[[0, 3, 4]].tolist() == [0, 0, 1]
    low, high = release.interval()
    assert np.all((high - low == 0) == release.exact)
    assert release.query(60, 100)[:3] == (1.0, 1.0, 1.0)
    rare = made()["rare count"]
    assert rare.noise is None
    assert rare.interval()[:3] == (0.003, 0.003, 0.003)


def test_noise_of_the_other_cells_has_its_law():
    """20000 cells; chi-square, wrong at a rate of ALPHA; noise 20 % small would be seen."""
    cells, scale = 20_000, 2.0
    data = np.repeat(np.arange(cells), 3)
    release = random_histogram(data, bins=range(cells), insist=True, **WEAK)
    noise = np.abs(release.raw - 3)
    assert not release.exact.any()

    def p_value(scale):
        ratio = math.exp(-1 / scale)
        chances = [(1 - ratio) / (1 + ratio) * ratio**k * (1 if k == 0 else 2) for k in range(12)]
        chances.append(1 - sum(chances))
        seen = np.bincount(np.minimum(noise, 12), minlength=13)
        return chi2.sf(np.sum((seen - cells * np.array(chances)) ** 2 / (cells * np.array(chances))), 12)

    assert p_value(scale) > ALPHA
    assert p_value(0.8 * scale) < ALPHA


def test_statistic_has_its_noise():
    """400 releases of one mean; |noise| / scale is exponential: wrong at a rate of ALPHA."""
    values = np.arange(1000) % 7.0
    found = [random_statistic(values, **WEAK) for _ in range(400)]
    assert len({one.scale for one in found}) == 1
    total = sum(abs(one.value - values.mean()) / one.scale for one in found)

    def p_value(total):
        return 2 * min(chi2.cdf(2 * total, 800), chi2.sf(2 * total, 800))

    assert p_value(total) > ALPHA
    assert p_value(total / 2) < ALPHA
    assert p_value(total * 2) < ALPHA
    assert found[0].scale == pytest.approx(6 / 1000, rel=1e-6)  # the largest change of a pair
    estimate, low, high, level = found[0].interval(0.9)
    assert (high - low) / 2 == pytest.approx(found[0].scale * math.log(10), rel=1e-4)
    assert (estimate, level) == (found[0].value, 0.9)
    assert float(found[0]) == estimate


def test_statistics_of_ones_own_and_without_noise():
    values = np.arange(2000) % 50.0

    def squares(x):
        return np.mean(x**2)

    def change(x, y):
        return np.abs(x**2 - y**2)

    release = random_statistic(values, statistic=squares, change=change, **WEAK)
    assert abs(release.value - squares(values)) < 60 * release.scale
    assert release.scale == pytest.approx(2400 / 2000, rel=0.1)
    same = random_statistic([2.5] * 995 + [9e9] * 5, **WEAK)  # nearly all pairs change nothing
    assert same.scale == 0
    assert same.value == (2.5 * 995 + 9e9 * 5) / 1000
    tiny = random_statistic(values * 1e-250, **WEAK)
    huge = random_statistic(values * 1e98, **WEAK)
    assert math.isfinite(tiny.value)
    assert huge.value == pytest.approx(24.5e98, rel=0.5)
    for far in (1e308, -1e308):  # clipped: no error tells of it (M18)
        assert math.isfinite(random_statistic([*values, far], **WEAK).value)
    gaps = random_statistic([1.0, float("nan"), float("inf"), None] * 500, **WEAK)
    assert abs(gaps.value - 0.25) < 30 * gaps.scale  # what is missing counts as 0
    rows = np.sort(np.concatenate([values, [1e9] * 2]))  # sorted rows are paired no worse
    assert random_statistic(rows, **WEAK).scale < 1
    for wrong in (lambda x: x, lambda _: 1 / 0, lambda _: "a"):
        with pytest.raises(ValueError, match="statistic .*nothing was released"):
            random_statistic(values, statistic=wrong, change=change, **WEAK)
    with pytest.raises(ValueError, match="change must give one number for each pair"):
        random_statistic(values, statistic=squares, change=lambda _x, _y: 1.0, **WEAK)
    with pytest.raises(ValueError, match="does not tell the scale.*method='exact'"):
        made()["asymptotic"].interval()


def test_replays_do_not_bless_it():
    def release(data, rng):
        return random_histogram(data, bins=[0, 1, 2], rng=rng, **WEAK)

    base = [0.5] * 1000
    assert not mercer.replay(release, ([*base, 1.5], [*base, 0.5])).kept


def test_together():
    """Thesis, Proposition 5.1.2: epsilons and gammas add up, apart from any ledger."""
    one = made()["count"].privacy
    assert together([one, one, one]) == (3.0, 0.0, 0.15)
    with pytest.raises(ValueError, match="unit or n differ"):
        together([one, replace(one, n=5)])
    with pytest.raises(ValueError, match="asymptotic"):
        together([made()["asymptotic"].privacy])
    with pytest.raises(TypeError, match="random differential privacy alone"):
        together([mercer.count(RARE, epsilon=1).privacy])


def test_persons_are_draws():
    frame = pd.DataFrame({"who": np.repeat(np.arange(500), 3), "age": 30, "ill": False})
    frame.loc[frame.who == 7, ["age", "ill"]] = 99, True
    release = random_histogram(frame, columns="age", unit="who", **BINS, **WEAK)
    assert release.n == 500
    assert int(release.counts[4]) == 1
    assert release.exact[4]
    assert "500 different 'who'" in str(release.privacy)
    assert "one who" in release.privacy.short
    share = random_proportion(frame, columns="ill", unit="who", **WEAK)
    assert (share.count, share.n) == (1, 500)
    some = random_proportion(frame, where={"age": (90, None)}, unit="who", **WEAK)
    assert some.proportion == 0.002


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (
            lambda: random_histogram(ages(), **BINS, **(WEAK | {"gamma": None})),
            ValueError,
            "gamma is missing.*no default",
        ),
        (
            lambda: random_histogram(ages(), **BINS, **(WEAK | {"gamma": 1})),
            ValueError,
            r"gamma must be in \(0, 1\)",
        ),
        (
            lambda: random_histogram(ages(), **BINS, **(WEAK | {"gamma": "a"})),
            TypeError,
            "gamma must be a number",
        ),
        (
            lambda: random_histogram(ages(), **BINS, **(WEAK | {"epsilon": None})),
            ValueError,
            "epsilon is missing",
        ),
        (lambda: random_histogram(ages(), **WEAK), ValueError, "give either bins"),
        (
            lambda: random_histogram(ages(100), **BINS, **WEAK),
            ValueError,
            "nothing could be exact.*mercer.histogram",
        ),
        (
            lambda: random_proportion([True] * 39, **WEAK),
            ValueError,
            "nothing could be exact.*mercer.proportion",
        ),
        (
            lambda: random_proportion(RARE, **(WEAK | {"epsilon": 1e-4})),
            ValueError,
            "everything would be noise",
        ),
        (lambda: random_statistic([1.0] * 119, **WEAK), ValueError, "at least 120 records, there are 119"),
        (
            lambda: random_statistic([1.0] * 7000, method="asymptotic", **WEAK),
            ValueError,
            "at least 7012 records",
        ),
        (
            lambda: random_statistic([1.0] * 300, statistic="median", **WEAK),
            ValueError,
            "statistic must be one of 'mean'",
        ),
        (lambda: random_statistic([1.0] * 300, statistic=np.mean, **WEAK), ValueError, "change is for"),
        (lambda: random_statistic([1.0] * 300, method="best", **WEAK), ValueError, "'exact', 'asymptotic'"),
    ],
)
def test_what_is_refused(call, error, match):
    with pytest.raises(error, match=match):
        call()
