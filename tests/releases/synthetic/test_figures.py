"""Pictures of synthetic tables, the numbers in them, and conditions by columns."""

import datetime
import re

import numpy as np
import pytest
from matplotlib.image import imread

import mercer
from mercer.releases.synthetic.figure import Sheet
from mercer.releases.synthetic.marginals import correlation, estimate, marginal

PROMISE = {"epsilon": 5.0, "delta": 1e-6}
LONG = "general surgery and traumatology, second floor"
DOMAIN = mercer.Domain(
    {
        "age": (0, 100),
        "visits": range(21),
        "sex": ["f", "m"],
        "ill": bool,
        "stage": {"ordered": ["mild", "bad", "grave"]},
        "ward": {"categories": [LONG, "b"], "other": "?"},
        "day": ("2020-01-01", "2020-12-31"),
    }
)
TINY = mercer.Domain({"a": bool, "b": ["x", "y"]})


def rows(domain, many=600):
    return domain.table(domain.from_unit(np.random.default_rng().random((many, domain.dimension))))


def make(domain=DOMAIN, **options):
    return mercer.synthetic(rows(domain), domain=domain, **{**PROMISE, "size": 120, **options})


@pytest.fixture(scope="module")
def release():
    return make()


def texts(figure):
    """All words of a picture."""
    from matplotlib.text import Text

    return [" ".join(text.get_text().split()) for text in figure.findobj(Text) if text.get_text()]


def test_a_picture_shows_every_column_its_accuracy_and_the_promise(release, tmp_path):
    path = tmp_path / "t.png"
    figure = release.plot(path)
    assert imread(path).shape[0] > 500
    words = texts(figure)
    assert "Synthetic table of age, visits, sex, ill, stage, ward and day" in words
    assert f"{release.privacy.short}; 600 records" in words
    assert {"age", "visits", "day", "sex", "ill", "stage", "ward"} <= set(words)
    assert {"f", "m", "true", "mild", "grave", "general surgery and tra…"} <= set(words)
    assert any(re.search(r"off by (at most )?about [\d.]+", word) for word in words)
    assert not any("±" in word for word in words)
    assert not any(
        axes.containers and axes.containers[-1].__class__.__name__ == "ErrorbarContainer"
        for axes in figure.axes
    )
    assert any(word == "Apr" or word.startswith("2020") for word in words)


def test_what_can_be_chosen_and_what_cannot(release, tmp_path):
    figure = release.plot(columns=["stage", "age"], title="Two of them", level=0.5)
    assert "Two of them" in texts(figure)
    assert "ward" not in texts(figure)
    assert "ward" in texts(release.plot(columns="ward"))
    for options, kind, message in [
        ({"columns": ["weight"]}, ValueError, "no column 'weight'; there are age, visits"),
        ({"columns": []}, ValueError, "one or more columns"),
        ({"level": 1.5}, ValueError, r"level must be in \(0, 1\)"),
        ({"at": {"age": 3}}, TypeError, "has no option 'at'"),
    ]:
        with pytest.raises(kind, match=message):
            release.plot(**options)
    with pytest.raises(ValueError, match="must end in"):
        release.plot(tmp_path / "t.gif")


def test_many_binary_columns_share_a_panel():
    wide = mercer.Domain({f"activity_{i}": bool for i in range(16)} | {"sex": ["f", "m"]})
    release = make(wide, size=60)
    sheet = Sheet.of(release, None)
    assert sheet.corner == ()
    assert [len(panel.columns) for stack in sheet.stacks for panel in stack] == [17]
    words = texts(release.plot())
    assert {"activity_15", "sex: m", "share of true, or of the level named"} <= set(words)
    assert any(word.endswith("more columns") for word in words)


def test_free_weights_a_table_drawn_whole_and_many_levels():
    free = make(weights="free", epsilon=0.1).smooth(penalty=0)  # as noisy as it was released
    words = texts(free.plot(columns=["age", "day"]))
    assert any("hollow where it is negative" in word for word in words)
    whole = mercer.synthetic(rows(TINY), domain=TINY, epsilon=1, method="exponential", size=3)
    assert any("how far they are off is not known" in " ".join(word.split()) for word in texts(whole.plot()))
    many = mercer.Domain({"country": [f"land {i}" for i in range(40)]})
    assert "27 others" in texts(make(many).plot())


def test_shares_are_those_of_probability(release):
    found = marginal(release, "stage")
    assert found.labels == ["mild", "bad", "grave"]
    for k, name in enumerate(found.labels):
        assert np.isclose(found.shares[k], release.probability({"stage": name}))
    ages = marginal(release, "age", bins=10)
    assert np.array_equal(ages.edges, np.linspace(0, 100, 11))
    assert np.isclose(ages.shares.sum(), 1)
    assert np.isclose(ages.shares[0], release.probability(lambda t: t["age"] < 10))
    visits = marginal(release, "visits", bins=7)
    assert np.array_equal(visits.edges, -0.5 + 3 * np.arange(8))
    assert np.isclose(visits.shares[2], release.probability({"visits": (6, 8)}))


def test_estimates_with_conditions(release):
    assert np.isclose(estimate(release, "age", None), release.expect("age"))
    where = {"stage": ("bad", "grave"), "ill": True}
    chance = release.probability(where)
    assert np.isclose(estimate(release, None, where), chance)
    both = release.expect(lambda t: t["age"] * (np.asarray(t["stage"]) != "mild") * t["ill"])
    assert np.isclose(estimate(release, "age", where), both / chance)
    assert np.isnan(estimate(release, "age", {"age": (0, 0), "visits": 20}))
    with pytest.raises(ValueError, match="'sex' has levels and no mean.*sex=f"):
        estimate(release, "sex", None)
    free = make(weights="free")
    assert 0 <= estimate(free, None, {"age": (0, 50)}) <= 1


def test_correlations_are_those_of_the_weighted_records(release):
    x, y = release.codes[:, 0], release.codes[:, 1]
    wanted = np.cov(x, y, aweights=release.weights)
    value = correlation(release, "age", "visits")
    assert np.isclose(value, wanted[0, 1] / np.sqrt(wanted[0, 0] * wanted[1, 1]))


def test_conditions_know_levels_their_order_and_dates(release):
    stage = np.asarray(release.view()["stage"])
    assert np.array_equal(release.matching({"stage": ("mild", "bad")}), stage != "grave")
    assert np.array_equal(release.matching({"stage": (None, "bad")}), stage != "grave")
    assert np.array_equal(release.matching({"stage": ["grave", "bad"]}), stage != "mild")
    assert np.array_equal(release.matching({"ward": "?"}), np.asarray(release.view()["ward"]) == "?")
    assert np.array_equal(release.matching({"ill": np.bool_(True)}), release.view()["ill"])
    june = np.array([day.month < 7 for day in release.view()["day"]])
    for end in ("2020-06-30", datetime.date(2020, 6, 30), datetime.datetime(2020, 6, 30, 12)):
        assert np.array_equal(release.matching({"day": (None, end)}), june)
    assert release.probability({}) == pytest.approx(1)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"weight": 3}, "no column 'weight'"),
        ({"sex": "x"}, r"'x' is no value of it; there is sex in \{f, m\}"),
        ({"sex": ("f", "m")}, "its levels have no order; give a list"),
        ({"age": (1, 2, 3)}, "a tuple of 3"),
        ({"age": (60, 20)}, "the least comes first"),
        ({"age": "old"}, "'old' is no value"),
        ({"age": float("nan")}, "nan is no value"),
        ({"ill": "maybe"}, "is no value of it"),
        ({"day": "June"}, "'June' is no value"),
        ({"day": 3}, "3 is no value"),
    ],
)
def test_conditions_that_make_no_sense(release, condition, message):
    with pytest.raises(ValueError, match=message):
        release.probability(condition)


def test_columns_that_are_not_there(release):
    with pytest.raises(ValueError, match="no column 'weight'; there are age, visits"):
        release.expect("weight")
    pushed = release.push(lambda t: t["age"])
    with pytest.raises(TypeError, match="these points have none"):
        pushed.probability({"age": 3})
    with pytest.raises(ValueError, match="no column 'age'"):
        pushed.expect("age")


def test_functions_that_misspell_a_level_or_a_column(release):
    stage = release.view()["stage"]
    assert np.array_equal(stage == "bad", np.asarray(stage) == "bad")
    assert np.array_equal(stage != "bad", np.asarray(stage) != "bad")
    assert release.probability(lambda t: t["stage"] == "bad") == release.probability({"stage": "bad"})
    for ask in (release.probability, release.expect, release.interval):
        with pytest.raises(ValueError, match=r"'stage': 'worse' is no value of it.*mild < bad < grave"):
            ask(lambda t: t["stage"] == "worse")
        with pytest.raises(ValueError, match=r"'sex': 'x' is no value of it"):
            ask(lambda t: (t["age"] > 3) & (t["sex"] != "x"))
        with pytest.raises(ValueError, match="no column 'weight'; there are age, visits"):
            ask(lambda t: t["weight"] > 80)
    with pytest.raises(ValueError, match="'sex' holds levels and has no mean"):
        release.expect("sex")
