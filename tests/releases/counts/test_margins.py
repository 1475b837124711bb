"""Released margins: answers, intervals that cover, files, and what goes wrong.  M13, M15."""

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

import mercer
from mercer.columns.cells import Axes, Axis
from mercer.columns.kinds import Boolean, Categorical, Numeric
from mercer.noise.count_laws import GeometricLaw, RoundedNormalLaw
from mercer.promise.events import PureEvent
from mercer.promise.statement import Statement
from mercer.releases.counts.margins import MarginsRelease
from tests.conftest import ALPHA

AXES = Axes(
    (
        Axis(Numeric("age", 0, 100), (0.0, 20.0, 50.0, 100.0)),
        Axis(Categorical("town", ("ely", "rye"))),
        Axis(Boolean("smoker")),
        Axis(Boolean("sick")),
    )
)
PAIRS = tuple(itertools.combinations(range(4), 2))
LAW = GeometricLaw(12.0)


def statement(n=1000, unit="row"):
    return Statement(
        epsilon=1.0,
        delta=0.0,
        neighbours="replace-one",
        unit=unit,
        n=n,
        mechanism="two-sided geometric",
        calibration="exact",
        secure=True,
        version="0",
        events=(PureEvent(1.0),),
    )


def table(rng, n=1000):
    """A whole table of n records with many empty cells."""
    return rng.multinomial(n, rng.dirichlet(np.full(24, 0.3))).reshape(3, 2, 2, 2)


def margins(whole, sets):
    return [whole.sum(axis=tuple(set(range(4)) - set(chosen))) for chosen in sets]


def released(rng, whole, *, sets=PAIRS, law=LAW, drawn=None, complete=True):
    """With noise of the law, or of another one than it says."""
    noise = drawn or law
    raw = tuple(m + noise.simulate(m.shape, rng) for m in margins(whole, sets))
    return MarginsRelease(AXES, statement(int(whole.sum())), sets, raw, law, complete=complete)


def test_margins_agree_with_each_other_and_with_questions(rng):
    release = released(rng, table(rng), law=GeometricLaw(60.0))
    both = release.margin("smoker", "age")
    assert both.axes.names == ("smoker", "age")
    assert both.counts.shape == (2, 3)
    assert both.counts.min() >= 0
    assert np.all(both.lower <= both.counts)
    assert np.all(both.counts <= both.upper)
    ways = release.one_way()
    assert list(ways) == ["age", "town", "smoker", "sick"]
    np.testing.assert_allclose(both.counts.sum(axis=0), ways["age"].counts, atol=1e-6)
    np.testing.assert_allclose(both.counts.sum(axis=1), ways["smoker"].counts, atol=1e-6)
    for way in ways.values():
        assert way.counts.sum() == pytest.approx(1000)
    answer = release.query({"age": (20, 100), "smoker": True})
    assert answer.estimate == pytest.approx(both.counts[1, 1:].sum(), abs=1e-6)
    assert answer.lower <= answer.estimate <= answer.upper
    cut = release.query({"age": (10, 20)})
    assert cut.estimate == pytest.approx(ways["age"].counts[0] / 2, abs=1e-6)
    every = release.query({})
    assert every == pytest.approx((1000, 1000, 1000, 0.95))
    assert len(both.to_frame()) == 6


def test_questions_with_weights_on_one_axis_are_those_of_a_cell(rng):
    release = released(rng, table(rng), complete=False)
    margin = release.margin("town", "sick", level=0.9)
    answer = release.query({"town": "rye", "sick": False}, level=0.9)
    found = (margin.counts[1, 0], margin.lower[1, 0], margin.upper[1, 0], 0.9)
    assert answer == pytest.approx(found, abs=1e-6)


SETS = {"one": ((0, 1),), "pairs": PAIRS, "nested": ((0,), (0, 1), (0, 1, 2))}
CASES = list(itertools.product(SETS, [GeometricLaw(6.0), RoundedNormalLaw(8.0)]))


@pytest.mark.parametrize(("name", "law"), CASES)
def test_intervals_cover(rng, name, law):
    """At least as often as their level says, with 1 % for the normal law; not with 4 times the noise.

    Counts are far from zero, so ends are not clipped.  Binomial tests.
    """
    whole, level, runs = 100 + table(rng, 100), 0.9, 200
    where, truth = {"age": (0, 20), "town": "ely"}, whole[0, 0].sum()

    def covered(drawn):
        found = 0
        for _ in range(runs):
            release = released(rng, whole, sets=SETS[name], law=law, drawn=drawn, complete=name != "one")
            _, low, high, _ = release.query(where, level=level)
            found += low <= truth <= high
        return found

    right = covered(law)
    assert binom.cdf(right, runs, level - 0.01) > ALPHA / len(CASES)
    assert binom.sf(right - 1, runs, 0.98) > ALPHA / len(CASES)  # nor much too often
    wide = replace(law, scale=4 * law.scale)
    assert binom.cdf(covered(wide), runs, level - 0.01) < ALPHA / len(CASES)


@pytest.mark.parametrize("law", [GeometricLaw(s) for s in (0.25, 0.4, 1.5)], ids=str)
def test_intervals_of_little_noise_cover(rng, law):
    """Counted out for one column of three cells and a known total: 89 % of 95 % without the step."""
    k = np.arange(-30, 31)
    p = np.array([law.above(int(i) - 1) - law.above(int(i)) for i in k])
    one, two, three = np.meshgrid(k, k, k, indexing="ij")
    away = np.abs(2 * one - two - three) / 3
    release = released(rng, 100 + table(rng), sets=((0,),), law=law)
    for level in (0.5, 0.8, 0.95, 0.99):
        margin = release.margin("age", level=level)
        width = float(margin.upper[0] - margin.lower[0]) / 2
        chance = np.einsum("i,j,k,ijk->", p, p, p, away <= width + 1e-9)
        assert chance >= level - 1e-9


def test_accuracy_is_the_error_that_is_seen(rng):
    """Means over 400 releases, within seven standard errors and 2 % for the normal law."""
    whole, runs = table(rng, 5000), 400
    exact = margins(whole, PAIRS)
    seen = []
    for _ in range(runs):
        release = released(rng, whole)
        raw = [np.abs(a - b).sum() for a, b in zip(release.raw, exact, strict=True)]
        fitted = [np.abs(release.fit.unbiased(s) - b).sum() for s, b in zip(PAIRS, exact, strict=True)]
        seen.append([raw, fitted])
    mean, error = np.mean(seen, axis=0), np.std(seen, axis=0) / math.sqrt(runs)
    expected = np.array([release.accuracy.raw, release.accuracy.unbiased])
    assert np.all(np.abs(mean - expected) < 7 * error + 0.02 * expected)
    assert not np.any(np.abs(mean - 1.3 * expected) < 7 * error + 0.02 * expected)
    assert np.all(expected[1] < expected[0])
    assert "6 margins" in str(release.accuracy)
    alone = released(rng, whole, sets=((0, 1),), complete=False).accuracy
    assert alone.unbiased == pytest.approx(alone.raw)
    assert alone.margins == (("age", "town"),)


def one_noise(rng, whole, law=LAW, drawn=None):
    """One-way margins of the columns of two cells, of which the second alone has noise; and a pair."""
    n, sets = int(whole.sum()), ((1,), (2,), (3,), (1, 2))
    raw = []
    for exact in margins(whole, sets):
        second = exact.ravel()[1:] + (drawn or law).simulate((exact.size - 1,), rng)
        first = n - second[0] if exact.size == 2 else exact.flat[0] + (drawn or law).simulate((), rng)
        raw.append(np.array([first, *second]).reshape(exact.shape))
    single = (True, True, True, False)
    return MarginsRelease(AXES, statement(n), sets, tuple(raw), law, single, complete=True)


@pytest.mark.parametrize("where", [{"sick": True}, {"town": "ely"}, {"town": "ely", "smoker": True}])
def test_one_noise_for_two_cells(rng, where):
    """Exact variance, as if each of the cells had twice that of one; intervals cover."""
    whole, level, runs, law = 50 + table(rng, 100), 0.9, 200, GeometricLaw(6.0)
    index = tuple({"sick": 1, "town": 0, "smoker": 1}[c] if c in where else slice(None) for c in AXES.names)
    truth = whole[index].sum()

    def answers(drawn):
        found = [one_noise(rng, whole, law, drawn).query(where, level=level) for _ in range(runs)]
        return sum(low <= truth <= high for _, low, high, _ in found)

    assert binom.cdf(answers(law), runs, level - 0.01) > ALPHA / 3
    assert binom.cdf(answers(GeometricLaw(24.0)), runs, level - 0.01) < ALPHA / 3


def test_a_column_of_one_noise_has_its_law(rng):
    release = one_noise(rng, table(rng))
    column = [np.array([0.0, 1.0])]
    assert release.fit.deviation((3,), column) == pytest.approx(LAW.deviation)
    assert release.terms((3,), column) == 1
    width = LAW.half_width(1, 0.95) + 0.5
    middle = release.raw[2][1]
    assert release.query({"sick": True})[1:3] == pytest.approx((middle - width, middle + width))
    assert release.accuracy.unbiased[2] == pytest.approx(2 * LAW.mean_error)


def test_one_way_margins_beside_the_best_possible(rng):
    release = released(rng, table(rng), sets=((0,), (1,), (2,), (3,)))
    assert release.accuracy.best > 0
    assert release.accuracy.ratio > 1
    assert "times the best possible" in str(release.accuracy)
    assert release.accuracy.to_dict()["ratio"] == release.accuracy.ratio
    assert released(rng, table(rng)).accuracy.best is None
    loose = replace(release, privacy=replace(statement(), delta=1e-6))
    assert "has a delta" in str(loose.accuracy)


def test_file_gives_the_same_release(rng, tmp_path):
    release = released(rng, table(rng), sets=((), (2,), (0, 1, 3)), complete=False)
    again = mercer.load(release.save(tmp_path / "m.json"))
    assert isinstance(again, MarginsRelease)
    assert again.to_dict() == release.to_dict()
    assert again.domain == release.domain
    for one, two in zip(release.raw, again.raw, strict=True):
        np.testing.assert_array_equal(one, two)
    where = {"age": (10, 60), "sick": True}
    assert again.query(where) == release.query(where)
    assert again.margins == ((), ("smoker",), ("age", "town", "sick"))


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("sets", [[0, 9]], "sets must be lists of places"),
        ("sets", [[1, 0]], "rising places"),
        ("sets", [[0], [0]], "different margins"),
        ("sets", [["a"]], "sets must be whole numbers"),
        ("sets", [3], "sets must be lists of places"),
        ("sets", [[0, 0, 0, 0, 0]], "sets must be lists of places"),
        ("sets", [], "one or more different margins"),
        ("values", [[1, 2, 3]] * 2, "one list for each of the sets"),
        ("values", [[1, 2]], "one count for each cell"),
        ("values", [3], "one count for each cell"),
        ("values", [[1, 2, 3.5]], "values must be whole numbers"),
        ("values", [[1, 2, True]], "values must be whole numbers"),
        ("values", [[1, 2, 1 << 63]], "values must be whole numbers"),
        ("noise", {"law": "none", "scale": 1}, "unknown law"),
        ("noise", {"law": LAW.name, "scale": 0}, "scale of the noise"),
        ("complete", 1, "wrong type"),
        ("rows_each", 0, "rows_each must be"),
        ("single", [], "true or false for each"),
        ("single", [1], "true or false for each"),
        ("single", [True], "must have two, of sum n"),
        ("domain", {"axes": 3}, "axes must be a list"),
        ("privacy", None, "wrong type"),
    ],
)
def test_damaged_files(rng, tmp_path, key, value, words):
    release = released(rng, table(rng), sets=((0,),))
    path = release.save(tmp_path / "m.json")
    fields = json.loads(path.read_text())
    fields[key] = value
    if key == "sets":
        fields["single"] = [False] * len(value)
        fields["values"] = [[1, 2, 3]] * len(value) if value != [[1, 0]] else [[1] * 6]
    path.write_text(json.dumps(fields))
    with pytest.raises(ValueError, match=words):
        mercer.load(path)


def test_too_many_cells_are_refused_before_they_are_made(rng, tmp_path):
    path = released(rng, table(rng), sets=((0,),)).save(tmp_path / "m.json")
    fields = json.loads(path.read_text())
    levels = {"axes": [Axis(Categorical(f"c{k}", tuple(range(100)))).to_dict() for k in range(4)]}
    path.write_text(json.dumps({**fields, "domain": levels, "sets": [[0, 1, 2, 3]], "values": [[]]}))
    with pytest.raises(ValueError, match="at most 16777216 cells"):
        mercer.load(path)


def test_columns_that_are_not_together(rng):
    release = released(rng, table(rng), sets=((0, 1), (2,)))
    words = "'age', 'smoker' are not together .* age, town; smoker; ask about"
    with pytest.raises(ValueError, match=words):
        release.margin("age", "smoker")
    with pytest.raises(ValueError, match=words):
        release.query({"age": (0, 50), "smoker": True})
    assert list(release.one_way()) == ["age", "town", "smoker"]
    with pytest.raises(ValueError, match="no column 'height'"):
        release.margin("height")
    with pytest.raises(ValueError, match="one or more different columns"):
        release.margin()
    with pytest.raises(ValueError, match="one or more different columns"):
        release.margin("age", "age")
    for level in (0, 1, True, "a"):
        with pytest.raises(ValueError, match=r"level must be in \(0, 1\)"):
            release.query({}, level=level)
        with pytest.raises(ValueError, match=r"level must be in \(0, 1\)"):
            release.margin("age", level=level)
    with pytest.raises(TypeError, match="by columns"):
        release.query("age")


def test_many_margins_are_not_all_named(rng):
    axes = Axes(tuple(Axis(Boolean(f"c{k}")) for k in range(8)))
    sets = tuple(itertools.combinations(range(8), 2))
    raw = tuple(np.ones((2, 2), dtype=int) for _ in sets)
    release = MarginsRelease(axes, statement(4), sets, raw, LAW)
    with pytest.raises(ValueError, match="c0, c1; .*; and 8 more"):
        release.margin("c0", "c1", "c2")


def test_bad_parts(rng):
    release = released(rng, table(rng))
    for change, words in [
        ({"sets": PAIRS[:5]}, "raw must be counts of each margin"),
        ({"sets": ()}, "one or more different"),
        ({"sets": ((4,),)}, "rising places"),
        ({"single": (True,)}, "one for each margin"),
        ({"single": (True,) * 6, "complete": False}, "of complete records"),
        ({"single": (True,) * 6}, "must have two, of sum n"),
        ({"rows_each": 2}, "one row each"),
        ({"raw": tuple(m.T for m in release.raw)}, "in the shape of its columns"),
    ]:
        with pytest.raises(ValueError, match=words):
            replace(release, **change)
    with pytest.raises(ValueError, match="read-only"):
        release.raw[0][...] = 0


def test_persons_may_have_more_rows_than_there_are_persons():
    raw = (np.array([900, 800]),)
    release = MarginsRelease(AXES, statement(100, "person"), ((2,),), raw, LAW, rows_each=9)
    assert release.most == 900
    assert release.margin("smoker").upper.max() == 900
    rows = replace(release, privacy=statement(1700), rows_each=1)
    assert 900 < rows.query({"smoker": False}).upper < 1000


@pytest.mark.parametrize("options", [{}, {"missing": "drop"}, {"delta": 1e-6}])
@pytest.mark.parametrize("margins", [1, 2, [("town", "sick"), "age"]])
def test_from_rows_to_margins(rng, options, margins):
    """The whole way; every interval of the release covers, but for 1e-10 each."""
    n = 3000
    rows = [
        {"age": 100 * a, "town": ("ely", "rye")[int(b < 0.3)], "sick": bool(c < a)}
        for a, b, c in rng.random((n, 3))
    ]
    domain = {"age": (0, 100), "town": ["ely", "rye"], "sick": bool}
    release = mercer.table(rows, domain=domain, bins={"age": 4}, margins=margins, epsilon=2, **options)
    assert release.complete == ("missing" in options)
    pairs = [release.complete and counts.size == 2 for counts in release.raw]
    assert list(release.single) == pairs
    level = 1 - 1e-10
    for names in release.margins:
        found = release.margin(*names, level=level)
        assert found.counts.min() >= 0
        assert np.all((found.lower <= found.counts) & (found.counts <= found.upper))
    truth = sum(row["sick"] for row in rows)
    _, low, high, _ = release.query({"sick": True}, level=level)
    assert low <= truth <= high
    assert high - low < n / 2


def test_next_to_no_noise(rng):
    whole = table(rng)
    release = released(rng, whole, law=GeometricLaw(1e-4))
    np.testing.assert_allclose(release.margin("age", "town").counts, whole.sum(axis=(2, 3)), atol=1e-3)
    low, high = release.query({"sick": True})[1:3]
    assert high - low < 1e-3


def test_words(rng):
    release = released(rng, table(rng))
    assert repr(release).startswith("<MarginsRelease of 6 margins, 30 cells, age in 3 bins")
    assert "epsilon = 1" in repr(release)
    assert release.n == 1000
