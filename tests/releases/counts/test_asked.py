"""Questions that cut bins, ends of conditions, and intervals of all cells at once."""

import json
from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import mercer
from mercer.columns.cells import Axes, Axis
from mercer.columns.conditions import Closed, Open, matches
from mercer.columns.kinds import Date, Integer, Numeric
from mercer.noise.count_laws import GeometricLaw, RoundedNormalLaw
from mercer.releases.counts.asked import Along, Asked
from tests.conftest import ALPHA
from tests.helpers.shell import said

SURE = {"epsilon": 1e6, "insist": True}  # noise is none but with probability e^-500000
HOURS = np.repeat(
    [5, 20, 38, 40, 41, 45, 50, 55, 60, 64, 70, 99], [3, 7, 20, 500, 4, 40, 90, 10, 60, 2, 9, 1]
)


def counted(values, low, high, closed=False):
    return int(np.sum((values >= low) & ((values <= high) if closed else (values < high))))


def test_a_cut_bin_holds_none_or_all_of_its_records():
    """Heaped hours in bins of 5: the share by width is far off, and the interval says so."""
    release = mercer.histogram(HOURS, bins=20, bounds=(0, 100), **SURE)
    answer = release.query(41, 60)
    assert answer.lower == counted(HOURS, 45, 60) == 140
    assert answer.upper == counted(HOURS, 40, 60) == 644
    assert answer.estimate == pytest.approx(140 + 504 * 4 / 5)
    assert answer.lower <= counted(HOURS, 41, 60) == 144 <= answer.upper
    assert answer.note == "bins are cut at 41; exact at 40 or 45"
    assert answer.where == "41 <= x < 60"
    assert "exact at 40 or 45" in str(answer)
    assert "41 <= x < 60" in repr(answer)
    both = release.query(42, 61)
    assert both[1:3] == (140, 644 + 62)
    assert both.note == "bins are cut at 42 and 61; exact at 40 or 45, and at 60 or 65"
    whole = release.query(40, 60)
    assert whole[:3] == (644, 644, 644)
    assert (whole.note, whole.cuts) == ("", ())
    one = release.query(42, 43)  # both ends in one bin
    assert one[:3] == (pytest.approx(504 / 5), 0, 504)
    last = release.query(97, 300)  # values beyond the last edge are in the last bin
    assert last[1:3] == (0, 1)
    assert last.where == "x >= 97"


def test_smooth_counts_by_width_and_says_what_it_assumes():
    release = mercer.histogram(HOURS, bins=20, bounds=(0, 100), **SURE)
    answer = release.query(41, 60, smooth=True)
    assert answer.upper - answer.lower <= 2
    assert answer.estimate == pytest.approx(140 + 504 * 4 / 5, abs=1)
    assert answer.note.endswith("exact at 40 or 45; the interval assumes records spread evenly in them")
    assert not release.query(40, 60, smooth=True).note


def test_cut_bins_mean_the_same_in_tables_margins_and_sparse_releases():
    sex = np.where(np.arange(len(HOURS)) % 3 == 0, "f", "m")
    rows = pd.DataFrame({"hours": HOURS, "sex": sex})
    domain = {"hours": (0, 100), "sex": ["f", "m"]}
    given = {"domain": domain, "bins": {"hours": 20}} | SURE
    inside, around = (HOURS >= 45) & (HOURS < 60), (HOURS >= 40) & (HOURS < 60)
    where = {"hours": (41, 60), "sex": "f"}
    for more in ({"sparse": False}, {"sparse": True}, {"margins": 2}):
        release = mercer.table(rows, **given, **more)
        answer = release.query(where)
        least, most = int((inside & (sex == "f")).sum()), int((around & (sex == "f")).sum())
        width = 40 if more.get("sparse") else 0.51  # Chernoff's bound, or half a step of the noise
        assert least - width <= answer.lower <= least
        assert most <= answer.upper <= most + width
        assert answer.estimate == pytest.approx(least + (most - least) * 4 / 5, abs=1e-3)
        assert answer.note == "bins are cut at 41; exact at 40 or 45"
        assert answer.where == "41 <= hours < 60 and sex = f"
        alone = release.query({"hours": (41, 60)})
        assert alone.lower <= inside.sum() <= around.sum() <= alone.upper
    two = mercer.table(
        pd.DataFrame({"a": HOURS, "b": HOURS}), domain={"a": (0, 100), "b": (0, 100)}, bins={"a": 5}, **SURE
    ).query({"a": (41, 60), "b": (0, 45)})
    assert (
        two.note == "bins of a are cut at 41; exact at 40 or 60; bins of b are cut at 45; exact at 40 or 50"
    )
    assert two[1:3] == (0, counted(HOURS, 40, 50))


RULES = [
    (3, 8), (4, 8), (3.5, 8), (None, 7), (6, None), (None, None), (5, 5), (2, 30), (4, 12), (11, 12), (12, 20),
    Closed(4, 8), Closed(None, 8), Closed(3, 7), Closed(4, 12), Open(4, 8), Open(None, 7), Open(4, 12),
    Closed(6, 6), range(4, 9),
]  # fmt: skip


def possible(axis, place):
    """Values that may stand in a cell, as codes: eighths, or integers and days; and some beyond the ends."""
    step = 1 if not axis.column.continuous else 0.125
    some = np.arange(-4, 24 + step, step)
    if not axis.clips:
        some = some[(some >= axis.ends[0]) & (some <= axis.ends[1])]
    return some[axis.places(some) == place]


@pytest.mark.parametrize("outside", ["clip", "drop"])
@pytest.mark.parametrize("kind", ["numeric", "integer"])
def test_least_and_most_are_what_any_records_allow(kind, outside):
    """Against all values that may be in a bin, one by one: nothing is left out, and nothing too much.

    Values beyond the bounds of a release that clips stand for the bound, as in the release.
    """
    if kind == "numeric":
        axis = Axis(Numeric("x", 0, 12), (0.0, 4.0, 8.0, 12.0), outside)
    else:
        axis = Axis(Integer("x", 0, 12), (-0.5, 3.5, 7.5, 12.5), outside)
    column = axis.column
    for rule in RULES:
        if axis.clips and rule in ((12, 20),) and kind == "numeric":
            with pytest.raises(ValueError, match="beyond"):
                Along.of(axis, rule)
            continue
        along = Along.of(axis, rule)
        for place in range(axis.size):
            values = np.clip(possible(axis, place), 0, 12)
            truth = matches(column, values, rule)
            if truth.all():
                assert along.least[place] == along.share[place] == 1, (rule, place)
            assert along.least[place] <= truth.all(), (rule, place)
            assert along.most[place] >= truth.any(), (rule, place)
            assert along.least[place] <= along.share[place] <= along.most[place] or rule == (5, 5)
            cut = along.most[place] - along.least[place]
            assert bool(cut) == (truth.any() and not truth.all()), (rule, place)
        assert bool(along.cuts) == bool(np.any(along.most != along.least)), rule


def test_exact_ends_are_those_that_are_named():
    """Asked at an end that a note names, nothing is cut."""
    axis = Axis(Numeric("x", 0, 12), (0.0, 4.0, 8.0, 12.0), "clip")
    whole = Axis(Integer("k", 0, 12), (-0.5, 3.5, 7.5, 12.5), "clip")
    days = Axis(Date("d", "2024-01-01", "2024-01-12"), (19722.5, 19726.5, 19730.5, 19734.5), "clip")
    assert [cut.exact for cut in Along.of(axis, (5, 9)).cuts] == [("4", "8"), ("8", "12")]
    assert [cut.exact for cut in Along.of(whole, (5, 9)).cuts] == [("4", "8"), ("7", "12")]
    assert [cut.exact for cut in Along.of(whole, (9, None)).cuts] == [("8",)]  # nothing begins beyond 12
    assert [cut.exact for cut in Along.of(whole, Open(5, 9)).cuts] == [("4", "8"), ("8", "13")]
    found = Along.of(days, ("2024-01-06", "2024-01-10")).cuts
    assert [cut.exact for cut in found] == [("2024-01-05", "2024-01-09"), ("2024-01-08", "2024-01-12")]
    assert [cut.at for cut in found] == ["2024-01-06", "2024-01-10"]
    for low in ("4", "8"):
        for high in ("8", "12"):
            if low < high or (low, high) == ("4", "12"):
                assert not Along.of(axis, (float(low), float(high))).cuts
    for low in (4, 8):
        for high in (7, 12):
            if low < high:
                assert not Along.of(whole, (low, high)).cuts
    below = Asked.of(Axes((axis,)), {"x": Closed(None, 4)})
    assert below.words == "x <= 4"
    assert below.cuts[0].below


def test_dates_in_bins():
    first = date(2024, 1, 1)
    days = [first + timedelta(int(k)) for k in np.repeat([0, 6, 7, 13], [1, 2, 4, 8])]
    release = mercer.histogram(
        pd.Series(pd.to_datetime(days)), bins=2, bounds=("2024-01-01", "2024-01-14"), **SURE
    )
    answer = release.query("2024-01-01", "2024-01-08")
    assert answer[1:3] == (3, 15)
    assert answer.note == "bins are cut at 2024-01-08; exact at 2024-01-07 or 2024-01-14"
    assert release.query("2024-01-01", "2024-01-07")[:3] == (3, 3, 3)


@pytest.mark.parametrize("delta", [None, 1e-6])
@pytest.mark.parametrize("kind", ["dense", "sparse", "margins"])
def test_intervals_of_cut_bins_cover(rng, kind, delta):
    """Heaped and skewed records, ends anywhere: the records' own count is inside as often as is said."""
    if kind == "sparse" and delta:
        pytest.skip("one law is enough for Chernoff's bound")
    heaps = rng.choice([10, 20, 40, 40, 40, 60], 3000)
    skewed = np.minimum(np.floor(rng.lognormal(2.5, 1.0, 3000)), 99)
    rows = pd.DataFrame({"x": np.concatenate([heaps, skewed]), "g": rng.integers(0, 2, 6000)})
    level, runs = 0.9, 60
    asked = ((7, 41, 0), (40, 61, 1), (23, 24, 0), (40, 60, 0))  # in the last no bin is cut: noise alone
    more = {"dense": {"sparse": False}, "sparse": {"sparse": True}, "margins": {"margins": 2}}[kind]
    hits = np.zeros(len(asked), dtype=int)
    for _ in range(runs):
        release = mercer.table(
            rows, domain={"x": (0, 100), "g": range(2)}, bins={"x": 20}, epsilon=1, delta=delta, **more
        )
        for place, (low, high, g) in enumerate(asked):
            _, least, most, _ = release.query({"x": (low, high), "g": g}, level=level)
            hits[place] += least <= counted(rows["x"][rows["g"] == g].to_numpy(), low, high) <= most
    assert np.all(binom.cdf(hits, runs, level) > ALPHA)


def test_a_share_by_width_alone_does_not_cover(rng):
    """What the interval for the noise alone would do: the test above can fail."""
    misses = 0
    for _ in range(30):
        release = mercer.histogram(HOURS, bins=20, bounds=(0, 100), epsilon=1)
        _, low, high, _ = release.query(41, 60, level=0.9, smooth=True)
        misses += not low <= counted(HOURS, 41, 60) <= high
    assert misses == 30


def test_ends_have_one_meaning(tmp_path, capsys, monkeypatch):
    """The same file and condition in count, query, integral and --where."""
    monkeypatch.chdir(tmp_path)
    rows = pd.DataFrame({"x": np.repeat([10.0, 20, 30, 40, 45], [1, 2, 4, 8, 16])})
    rows["day"] = [f"2024-01-{int(x):02d}" if x < 32 else f"2024-02-{int(x) - 31:02d}" for x in rows["x"]]
    rows.to_csv("rows.csv", index=False)
    asked = {"columns": "x"} | SURE

    def eval_of(release, *where):
        release.save("r.json")
        return said(capsys, "eval", "r.json", "--where", *where)

    bins = mercer.histogram("rows.csv", bins=[0, 10, 20, 40, 50], **asked)
    smooth = mercer.density("rows.csv", bounds=(0, 50), **(asked | {"epsilon": 10}))
    # of numbers the upper end does not count: 20 <= x < 40
    assert mercer.count("rows.csv", where={"x": (20, 40)}, **SURE).count == 6
    assert mercer.count("rows.csv", where={"x": (20, 40)}, **SURE).domain.words == "20 <= x < 40"
    assert bins.query(20, 40)[:3] == (6, 6, 6)
    assert bins.query(20, 40).where == "20 <= x < 40"
    found = eval_of(bins, "x=20..40")
    assert (found["count"], found["where"]) == (6, "20 <= x < 40")
    assert eval_of(smooth, "x=20..40")["where"] == "20 <= x < 40"
    given = ["--epsilon", 1e6, "--insist"]
    assert said(capsys, "count", "rows.csv", "--where", "x=20..40", *given)["value"] == 6
    # of integers both ends do, wherever the column is declared as such
    whole = mercer.histogram("rows.csv", bins=range(51), **asked)
    values = mercer.density("rows.csv", bounds=range(51), **asked)
    assert mercer.count("rows.csv", where={"x": range(20, 41)}, **SURE).count == 14
    assert mercer.count("rows.csv", where={"x": range(20, 41)}, **SURE).domain.words == "20 <= x <= 40"
    assert whole.query(20, 40)[:3] == (14, 14, 14)
    assert whole.query(20, 40).where == "20 <= x <= 40"
    assert values.integral(20, 40) == pytest.approx(14 / 31)
    found = eval_of(values, "x=20..40")
    assert (found["estimate"], found["where"]) == (pytest.approx(14 / 31), "20 <= x <= 40")
    found = eval_of(whole, "x=20..40")
    assert (found["count"], found["where"]) == (14, "20 <= x <= 40")
    # signs say it for any column
    for where, true in ((["x>=20", "x<40"], 6), (["x>=20", "x<=40"], 14), (["x<40"], 7), (["x<=40"], 15)):
        assert said(capsys, "count", "rows.csv", "--where", *where, *given)["value"] == true
        assert eval_of(whole, *where)["count"] == true
        assert eval_of(values, *where)["estimate"] == pytest.approx(true / 31)
        found = eval_of(bins, *where)
        assert found["lower"] <= true <= found["upper"]
        assert (found["lower"] == found["upper"]) == where[-1].endswith("<40")
    # of dates both ends count
    text = {"columns": "day"} | SURE
    days = mercer.histogram("rows.csv", bins=60, bounds=("2024-01-01", "2024-02-29"), **text)
    dated = mercer.density("rows.csv", bounds=("2024-01-01", "2024-02-29"), step=1, **text)
    ends = ("2024-01-20", "2024-02-09")
    assert mercer.count("rows.csv", where={"day": ends}, **SURE).count == 14
    assert mercer.count("rows.csv", where={"day": ends}, **SURE).domain.words == (
        "2024-01-20 <= day <= 2024-02-09"
    )
    assert days.query(*ends)[:3] == (14, 14, 14)
    assert dated.integral(*ends) == pytest.approx(14 / 31)
    span = "day=2024-01-20..2024-02-09"
    assert said(capsys, "count", "rows.csv", "--where", span, *given)["value"] == 14
    assert eval_of(days, span)["count"] == 14
    assert eval_of(days, span)["where"] == "2024-01-20 <= day <= 2024-02-09"
    assert eval_of(dated, span)["estimate"] == pytest.approx(14 / 31)
    before = ["day>=2024-01-20", "day<2024-02-09"]
    assert said(capsys, "count", "rows.csv", "--where", *before, *given)["value"] == 6
    assert eval_of(days, *before)["count"] == 6
    assert eval_of(dated, *before)["estimate"] == pytest.approx(6 / 31)


def test_ranges_that_cannot_be_meant():
    axis = Axis(Numeric("x", 0, 12), (0.0, 4.0, 12.0))
    for rule in (range(0), range(0, 10, 2)):
        with pytest.raises(ValueError, match="of step 1"):
            Along.of(axis, rule)


def joint(release, true, level, **given):
    low, high = release.interval(level, **given)
    return bool(np.all((low <= true) & (true <= high)))


@pytest.mark.parametrize(("delta", "sparse"), [(None, False), (1e-6, False), (None, True)])
def test_intervals_of_all_cells_hold_at_once(rng, delta, sparse):
    """101 cells: at the level, while those of each by itself hold together in few runs."""
    values = np.minimum(np.floor(rng.lognormal(3, 0.7, 20_000)), 100).astype(int)
    true, level, runs, all_of, each = np.bincount(values, minlength=101), 0.9, 300, 0, 0
    for _ in range(runs):
        release = mercer.histogram(values, bins=range(101), epsilon=1, delta=delta, sparse=sparse)
        all_of += joint(release, true, level, simultaneous=True)
        each += joint(release, true, level)
    assert binom.cdf(all_of, runs, level) > ALPHA
    assert binom.cdf(each, runs, level) < ALPHA


def test_the_width_of_all_cells_is_the_least_that_is_enough():
    for law in (GeometricLaw(2.0), GeometricLaw(0.3), RoundedNormalLaw(5.0), RoundedNormalLaw(0.4)):
        for cells in (2, 101, 65_536):
            width = law.half_width_of_all(cells, 1, 0.95)
            assert cells * np.log1p(-2 * law.above(int(width))) >= np.log(0.95) * (1 + 1e-9)
            if width:
                assert cells * np.log1p(-2 * law.above(int(width) - 1)) < np.log(0.95)
            drawn = law.half_width_of_all(cells, 3, 0.95)
            assert width <= drawn <= 3 * width + 3
        assert law.half_width_of_all(1, 4, 0.9) == law.half_width(4, 0.9)
        assert law.half_width_of_all(0, 4, 0.9) == law.half_width_of_all(5, 0, 0.9) == 0


@pytest.mark.parametrize("kind", ["table", "margins"])
def test_margins_hold_at_once(rng, kind):
    rows = pd.DataFrame({"a": rng.integers(0, 12, 4000), "b": rng.integers(0, 9, 4000) ** 2 // 9})
    domain = {"a": range(12), "b": range(9)}
    true = {
        ("a",): rows["a"].value_counts().reindex(range(12), fill_value=0).to_numpy(),
        ("a", "b"): pd.crosstab(rows["a"], rows["b"])
        .reindex(index=range(12), columns=range(9), fill_value=0)
        .to_numpy(),
    }
    level, runs = 0.9, 150
    more = {"margins": [("a", "b"), ("a",)]} if kind == "margins" else {}
    hits = dict.fromkeys([(names, at_once) for names in true for at_once in (True, False)], 0)
    for _ in range(runs):
        release = mercer.table(rows, domain=domain, epsilon=1, sparse="auto", **more)
        for names, at_once in hits:
            margin = release.margin(*names, level=level, simultaneous=at_once)
            assert margin.simultaneous == at_once
            hits[names, at_once] += bool(
                np.all((margin.lower <= true[names]) & (true[names] <= margin.upper))
            )
    for (names, at_once), found in hits.items():
        if at_once:
            assert binom.cdf(found, runs, level) > ALPHA, names
        else:
            assert binom.cdf(found, runs, level) < ALPHA, names
    if kind == "margins":
        wide, narrow = release.one_way(simultaneous=True), release.one_way()
        assert np.all(wide["b"].upper >= narrow["b"].upper)
        assert wide["b"].upper.sum() > narrow["b"].upper.sum()


def test_all_cells_at_once_on_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    release = mercer.histogram(np.arange(500) % 20, bins=range(20), epsilon=1)
    release.save("h.json")
    both = [said(capsys, "eval", "h.json", "--margin", "x", *more) for more in ((), ("--simultaneous",))]
    assert [found["simultaneous"] for found in both] == [False, True]
    low, high = release.interval(simultaneous=True)
    assert [cell["lower"] for cell in both[1]["counts"]] == low.tolist()
    assert [cell["upper"] for cell in both[1]["counts"]] == high.tolist()
    assert both[0]["counts"][3]["upper"] < both[1]["counts"][3]["upper"]
    frame = release.to_frame(simultaneous=True)
    assert frame["upper"].tolist() == high.tolist()
    figures = [release.plot(simultaneous=at_once) for at_once in (False, True)]
    words = [[text.get_text() for text in figure.texts] for figure in figures]
    assert any("each for itself" in word for word in words[0])
    assert any("all at once" in word for word in words[1])
    assert json.loads(json.dumps(both))
