"""Cells of columns: places, keys, bins and categories as callers write them, conditions."""

import math
from datetime import date

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mercer.columns.bins import axes_of, axis_of, axis_of_column
from mercer.columns.cells import Axes, Axis
from mercer.columns.conditions import axes_of_condition, words_of
from mercer.columns.kinds import Boolean, Categorical, Integer, Numeric
from mercer.columns.rules import FAR
from mercer.columns.table import Domain
from mercer.releases.counts.asked import Along, Asked
from mercer.sensitive.summaries.cell_places import count_places, places_of, quick


def one(**given_):
    usual = {"bins": None, "bounds": None, "categories": None, "other": None, "outside": "clip"}
    return axis_of("x", **(usual | given_))


def test_bins_hold_their_lower_edge_and_the_last_its_upper():
    axis = one(bins=[0, 1, 2, 4])
    codes = np.array([-5.0, 0.0, 0.999, 1.0, 2.0, 3.9, 4.0, 7.0, np.nan, np.inf, -np.inf])
    assert axis.places(codes).tolist() == [0, 0, 0, 1, 2, 2, 2, 2, -1, -1, -1]
    dropped = one(bins=[0, 1, 2, 4], outside="drop")
    assert dropped.places(codes).tolist() == [-1, 0, 0, 1, 2, 2, 2, -1, -1, -1, -1]
    assert axis.labels() == ["below 1", "[1, 2)", "2 and more"]  # what is beyond is counted there
    assert dropped.labels() == ["[0, 1)", "[1, 2)", "[2, 4]"]
    assert axis.describe() == "x in 3 bins of [0, 4]"


def test_categories_and_other():
    axis = one(categories=["a", "b"], other="else")
    assert axis.size == 3
    assert axis.labels() == ["a", "b", "else"]
    assert axis.places(np.array([0.0, 2.0, np.nan])).tolist() == [0, 2, -1]


def test_whole_numbers_and_dates():
    axis = one(bins=range(3, 6))
    assert axis.labels() == ["3", "4", "5"]
    days = one(bins=4, bounds=("2020-01-01", "2020-01-28"))
    assert days.size == 4
    assert days.labels()[0] == "2020-01-01..2020-01-07"
    assert axis_of_column(Integer("k", 0, 999), None).size == 10
    assert axis_of_column(Integer("k", 0, 99), None).size == 100
    assert axis_of_column(Integer("k", 0, 9), 4).labels() == ["0..1", "2..4", "5..6", "7..9"]
    assert axis_of_column(Integer("k", 0, 9), 40).size == 10
    cut = one(bins=["2020-01-01", "2020-02-01", "2020-03-01"])
    assert cut.labels() == ["2020-01-01..2020-01-31", "2020-02-01..2020-03-01"]
    assert cut.describe() == "x in 2 bins of [2020-01-01, 2020-03-01]"
    assert Along.of(cut, ("2020-01-01", "2020-01-31")).share.tolist() == [1.0, 0.0]
    assert Along.of(cut, ("2020-02-01", None)).share.tolist() == [0.0, 1.0]


EVEN = st.tuples(st.floats(-1e6, 1e6, allow_nan=False), st.floats(1e-3, 1e6), st.integers(1, 300)).map(
    lambda t: np.linspace(t[0], t[0] + t[1], t[2] + 1)
)
UNEVEN = st.lists(st.floats(-1e9, 1e9, allow_nan=False), min_size=2, max_size=30, unique=True).map(
    lambda edges: np.array(sorted(edges))
)
NEAR = st.lists(st.integers(-50, 50), min_size=2, max_size=20, unique=True).map(
    lambda edges: np.array(sorted(edges)) / 8
)


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(EVEN, UNEVEN, NEAR),
    st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=20),
    st.booleans(),
)
def test_places_are_found_exactly(edges, values, drop):
    """The quick way finds what the search finds: at edges, beside them, and anywhere."""
    edges = np.unique(edges)
    assume(len(edges) > 1)
    axis = Axis(Numeric("x", -FAR, FAR), tuple(edges.tolist()), "drop" if drop else "clip")
    middles = (edges[1:] + edges[:-1]) / 2
    codes = np.concatenate(
        [values, edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf), middles]
    )
    codes = np.append(codes, [FAR, -FAR])
    with np.errstate(all="ignore"):
        slow, fast = axis.places(codes), places_of(Axes((axis,)), codes[:, None])[0]
        counts = count_places(axis, codes) if quick(axis) else None
    assert fast.tolist() == slow.tolist()
    true = np.bincount(slow[slow >= 0], minlength=axis.size).tolist()
    assert counts is None or counts.tolist() == true


def test_usual_edges_are_quick():
    assert quick(one(bins=[0, 18, 40, 65, 100]))
    assert quick(one(bins=1000, bounds=(0, 1)))
    assert not quick(one(bins=[0, 1e-12, 1]))
    assert not quick(Axis(Numeric("x", -FAR, FAR), (1e15, 1e15 + 1, 1e15 + 5)))


def test_keys_and_places_are_inverse(rng):
    axes = Axes((one(bins=[0, 1, 2]), Axis(Boolean("b")), Axis(Categorical("c", ("u", "v", "w")))))
    keys = np.arange(axes.cells)
    assert axes.keys(axes.places(keys)).tolist() == keys.tolist()
    places = axes.places(keys)
    places[1, 3] = -1
    assert axes.keys(places)[3] == -1
    large = Axes(tuple(Axis(Boolean(f"b{i}")) for i in range(62)))
    some = rng.integers(0, 1 << 62, 50)
    assert large.keys(large.places(some)).tolist() == some.tolist()
    with pytest.raises(ValueError, match="2\\^62"):
        Axes(tuple(Axis(Boolean(f"b{i}")) for i in range(63)))


def test_axes_as_files():
    axes = Axes((one(bins=[0, 1, 2], outside="drop"), Axis(Categorical("c", ("u", "v"), "z"))))
    assert Axes.from_dict(axes.to_dict()) == axes
    for wrong in ({}, {"axes": [1]}, {"axes": [{"column": 3}]}, {"axes": []}):
        with pytest.raises(ValueError, match="ax|column"):
            Axes.from_dict(wrong)
    fields = axes.to_dict()
    fields["axes"][0]["edges"] = [0, 0]
    with pytest.raises(ValueError, match="rise"):
        Axes.from_dict(fields)


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ({}, "either bins"),
        ({"bins": 3, "categories": ["a"]}, "either bins"),
        ({"bins": 3}, "bounds is missing"),
        ({"bins": 0, "bounds": (0, 1)}, "bins must be in"),
        ({"bins": [0, 2, 1]}, "edge 3 \\(1\\) is not above edge 2"),
        ({"bins": [0, 1, 1]}, "must rise"),
        ({"bins": [0, math.inf]}, "finite"),
        ({"bins": [0]}, "two or more edges"),
        ({"bins": [(0, 10), (5, 15)]}, "bins 1 and 2 overlap"),
        ({"bins": [(0, 10), (12, 15)]}, "leave a gap"),
        ({"bins": [0, 1], "bounds": (0, 1)}, "bounds go with a number"),
        ({"categories": ["a"], "bounds": (0, 1)}, "bounds go with bins"),
        ({"bins": [0, 1], "other": "z"}, "other goes with categories"),
        ({"categories": ["a", "a"]}, "x"),
        ({"bins": [0, 1], "outside": "raise"}, "outside must be one of"),
        ({"bins": range(0)}, "range"),
    ],
)
def test_errors_name_the_way_out(given_, words):
    with pytest.raises(ValueError, match=words):
        one(**given_)


def test_odd_types_are_refused():
    with pytest.raises(TypeError, match="bins must be a number"):
        one(bins="ten")
    with pytest.raises(TypeError, match="categories must be a list"):
        one(categories="abc")


def test_columns_of_a_table():
    domain = Domain({"age": (0, 100), "sex": ["f", "m"], "k": range(5)})
    axes = axes_of(domain, ["sex", "age"], {"age": [0, 18, 65, 100]})
    assert axes.sizes == (2, 3)
    assert axes_of(domain, None, None).sizes == (10, 2, 5)
    for columns, bins, words in (
        (["sex", "city"], None, "city"),
        (None, {"city": 3}, "no column 'city'"),
        (None, {"sex": 3}, "without an order"),
    ):
        with pytest.raises(ValueError, match=words):
            axes_of(domain, columns, bins)
    with pytest.raises(TypeError, match="by column"):
        axes_of(domain, None, 10)


def test_shares_of_cut_bins():
    axis = one(bins=[0, 10, 20])
    assert Along.of(axis, (5, 12)).share.tolist() == [0.5, 0.2]
    assert Along.of(axis, (None, 10)).share.tolist() == [1.0, 0.0]
    with pytest.raises(ValueError, match="released in bins"):
        Along.of(axis, 5)
    with pytest.raises(ValueError, match="the least comes first"):
        Along.of(axis, (12, 5))
    whole = axis_of_column(Integer("k", 0, 9), 5)
    assert Along.of(whole, (2, 3)).share.tolist() == [0, 1, 0, 0, 0]
    axes = Axes((axis, Axis(Categorical("c", ("u", "v")))))
    assert Asked.of(axes, {"c": ["u"]}).shares[0] is None
    with pytest.raises(ValueError, match="no column 'd'"):
        Asked.of(axes, {"d": 1})
    with pytest.raises(TypeError, match="by columns"):
        Asked.of(axes, [1])


def test_conditions_as_cells():
    axes = axes_of_condition({"age": (60, None), "sex": "f", "ok": True, "k": [1, 2]})
    assert axes.sizes == (1, 1, 1, 2)
    age = axes.columns[0]
    assert age.places(np.array([59.9, 60.0, 1e9, np.nan])).tolist() == [-1, 0, 0, -1]
    point = axes_of_condition({"x": 0.5}).columns[0]
    assert point.places(np.array([0.5, 0.50001, 0.4999])).tolist() == [0, -1, -1]
    day = axes_of_condition({"d": (date(2020, 1, 1), date(2020, 1, 1))}).columns[0]
    assert day.size == 1
    words = words_of({"age": (60, None), "k": [1, 2], "sex": "f", "z": (None, None)})
    assert words == "age >= 60 and k in {1, 2} and sex = f and z has a value"
    for wrong in ({"age": (1, 2, 3)}, {"age": (5, 1)}, {"age": ("a", 1)}, {"age": []}, {"x": (math.nan, 1)}):
        with pytest.raises(ValueError, match="age|x"):
            axes_of_condition(wrong)
    with pytest.raises(TypeError, match="by column"):
        axes_of_condition([1])


def test_continuous_columns_need_bins():
    with pytest.raises(ValueError, match="give bins"):
        Axis(Numeric("x", 0, 1))


def test_booleans_are_said_as_they_are_typed():
    assert words_of({"admitted": True, "ill": [False, True]}) == "admitted = yes and ill in {no, yes}"
