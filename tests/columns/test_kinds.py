"""Kinds of columns: codes, where they lie, what they mean, and what may be declared."""

import json
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mercer.columns.kinds import Boolean, Categorical, Date, Integer, Numeric, Ordered
from mercer.columns.table import KINDS, column_from_dict

AGE = Numeric("age", 0, 100)
VISITS = Integer("visits", 0, 50)
STAGE = Ordered("stage", ("I", "II", "III"))
SEX = Categorical("sex", ("f", "m"))
WARD = Categorical("ward", ("a", "b"), "other")
GROUP = Categorical("group", (10, 20, 30))
SMOKER = Boolean("smoker")
DAY = Date("day", date(2020, 1, 1), date(2024, 12, 31))
ALL = [AGE, VISITS, STAGE, SEX, WARD, GROUP, SMOKER, DAY]

words = st.text(min_size=1, max_size=6).filter(lambda w: w == w.strip() and w.isprintable())
levels = st.one_of(
    st.lists(words, min_size=1, max_size=9, unique=True),
    st.lists(st.integers(-(2**53) + 1, 2**53 - 1), min_size=1, max_size=9, unique=True),
    st.permutations([False, True]),
)
numbers = st.floats(-1e6, 1e6)
columns = st.one_of(
    st.tuples(numbers, st.floats(0.01, 1e6)).map(lambda b: Numeric("c", b[0], b[0] + b[1])),
    st.tuples(st.integers(-(2**40), 2**40), st.integers(0, 2**40)).map(
        lambda b: Integer("c", b[0], b[0] + b[1])
    ),
    st.tuples(st.dates(), st.dates()).map(lambda b: Date("c", min(b), max(b))),
    levels.map(lambda given: Ordered("c", given)),
    levels.map(lambda given: Categorical("c", given)),
    levels.filter(lambda given: "an other" not in given).map(
        lambda given: Categorical("c", given, "an other")
    ),
    st.just(Boolean("c")),
)
units = st.lists(st.floats(0, 1), min_size=1, max_size=20).map(np.array)


def test_the_few_facts_of_each_kind():
    facts = {c.name: (c.kind, c.continuous, c.numeric, c.width, c.levels_count) for c in ALL}
    assert facts == {
        "age": ("numeric", True, True, 1, None),
        "visits": ("integer", False, True, 1, 51),
        "stage": ("ordered", False, True, 1, 3),
        "sex": ("categorical", False, False, 1, 2),
        "ward": ("categorical", False, False, 3, 3),
        "group": ("categorical", False, False, 3, 3),
        "smoker": ("boolean", False, False, 1, 2),
        "day": ("date", False, True, 1, 1827),
    }
    assert {c.kind for c in ALL} == set(KINDS)
    assert [c.describe() for c in ALL] == [
        "age in [0, 100]",
        "visits in {0..50}",
        "stage in {I < II < III}",
        "sex in {f, m}",
        "ward in {a, b, other}",
        "group in {10, 20, 30}",
        "smoker in {false, true}",
        "day in [2020-01-01, 2024-12-31]",
    ]
    many = Categorical("x", tuple(range(100)))
    assert many.describe() == "x in {0, 1, 2, 3, 4, 5, 6, 7, … 92 more}"


def test_values_are_those_of_python_and_arrow():
    codes = np.array([0.0, 1.0, np.nan])
    assert AGE.values(np.array([1.5, np.nan])) == [1.5, None]
    assert [type(v) for v in VISITS.values(codes)] == [int, int, type(None)]
    assert STAGE.values(codes) == ["I", "II", None]
    assert WARD.values(np.array([2.0])) == ["other"]
    assert GROUP.values(codes) == [10, 20, None]
    assert SMOKER.values(codes) == [False, True, None]
    assert DAY.values(np.array([18262.0, np.nan])) == [date(2020, 1, 1), None]
    text = pa.dictionary(pa.int32(), pa.string())
    ranked = pa.dictionary(pa.int32(), pa.string(), ordered=True)
    kinds = [pa.float64(), pa.int64(), ranked, text, text, pa.int64(), pa.bool_(), pa.date32()]
    assert [c.arrow(codes).type for c in ALL] == kinds


@given(columns, units)
def test_a_uniform_number_becomes_a_valid_code(column, u):
    codes = column.from_unit(u)
    assert np.array_equal(column.snap(codes), codes)
    low, high = column.ends
    assert np.all((low <= codes) & (codes <= high))
    assert column.continuous or np.all(codes == np.rint(codes))
    assert column.from_unit(np.array([0.0, 1.0])).tolist() == [low, high]


@given(columns, units)
def test_values_in_python_and_arrow_are_the_same(column, u):
    codes = np.append(column.from_unit(u), np.nan)
    arrow = column.arrow(codes)
    expected = column.values(codes)
    if column.kind == "categorical" and column.other is not None:  # an Arrow type holds one type
        expected = [None if value is None else str(value) for value in expected]
    assert arrow.to_pylist() == expected


@given(columns, units)
def test_levels_that_differ_are_equally_far_apart(column, u):
    codes = column.from_unit(u)
    points = column.embed(codes)
    assert points.shape == (len(u), column.width)
    distance = np.sum((points[:, None] - points[None]) ** 2, axis=2)
    if column.numeric:
        assert np.all((points >= 0) & (points <= 1))
        assert (
            np.array_equal(np.argsort(points[:, 0], kind="stable"), np.argsort(codes, kind="stable"))
            or column.continuous
        )
    else:
        assert np.allclose(distance, 2.0 * (codes[:, None] != codes[None]), atol=1e-12)
    assert np.isnan(column.embed(np.array([np.nan]))).all()


def test_equally_many_of_each_level():
    u = (np.arange(3000) + 0.5) / 3000
    assert np.bincount(STAGE.from_unit(u).astype(int)).tolist() == [1000] * 3
    assert np.bincount(SMOKER.from_unit(u).astype(int)).tolist() == [1500] * 2


def test_a_single_level_lies_at_zero():
    for column in (Categorical("c", ("a",)), Ordered("c", ("a",)), Integer("c", 3, 3)):
        assert column.embed(column.from_unit(np.array([0.0, 0.7]))).tolist() == [[0.0], [0.0]]
        assert column.width == 1


def test_positions_on_a_line():
    assert AGE.embed(np.array([25.0])) == 0.25
    assert STAGE.embed(np.array([0.0, 1.0, 2.0])).tolist() == [[0.0], [0.5], [1.0]]
    assert SEX.embed(np.array([0.0, 1.0])).ravel().tolist() == [0.0, np.sqrt(2)]
    assert WARD.embed(np.array([2.0, 0.0])).tolist() == [[0, 0, 1], [1, 0, 0]]


def test_snapping_goes_to_the_nearest():
    codes = np.array([-7.0, 0.4, 0.5, 1.5, 1.6, 99.0, np.nan])
    assert np.array_equal(STAGE.snap(codes), [0, 0, 0, 2, 2, 2, np.nan], equal_nan=True)
    assert np.array_equal(AGE.snap(codes), [0, 0.4, 0.5, 1.5, 1.6, 99, np.nan], equal_nan=True)


@given(columns)
def test_columns_come_back_from_json(column):
    again = column_from_dict(json.loads(json.dumps(column.to_dict())))
    assert again == column
    assert hash(again) == hash(column)


def test_what_is_declared_is_kept_in_one_form():
    assert Integer("n", np.int64(1), 5.0) == Integer("n", 1, 5)
    assert Ordered("s", ["a", np.str_("b")]) == Ordered("s", ("a", "b"))
    assert Date("d", "2020-01-01", datetime(2020, 5, 1, 12)) == Date("d", date(2020, 1, 1), date(2020, 5, 1))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Numeric("", 0, 1), "must not be empty"),
        (lambda: Numeric(3, 0, 1), "name must be text, got 3"),
        (lambda: Numeric("x", 1, 1), "'x': bounds must have lower < upper"),
        (lambda: Numeric("x", 1e9, 1e9 + 1e-6), "further apart than rounding"),
        (lambda: Numeric("x", 0, float("inf")), "'x': bounds must be finite, got inf"),
        (lambda: Numeric("x", float("nan"), 1), "bounds must be finite"),
        (lambda: Numeric("x", 0, 10**400), "bounds must be finite"),
        (lambda: Numeric("x", "0", 1), "bounds must be numbers, got '0'"),
        (lambda: Numeric("x", False, True), "bounds must be numbers, got False"),
        (lambda: Integer("x", 0, 1.5), "whole numbers below 2^53, got 1.5; or declare it numeric"),
        (lambda: Integer("x", 0, 2**53), "whole numbers below"),
        (lambda: Integer("x", 2, 1), "lower <= upper"),
        (lambda: Date("x", "2020-02-30", "2021-01-01"), "text like '2020-12-31', got '2020-02-30'"),
        (lambda: Date("x", "2021-01-01", "2020-01-01"), "lower <= upper"),
        (lambda: Ordered("x", "abc"), "levels must be a list, got str"),
        (lambda: Ordered("x", ()), "levels must be 1 to 1000, got 0"),
        (lambda: Ordered("x", tuple(range(1001))), "got 1001"),
        (lambda: Categorical("x", ("a", "a")), "levels must be different, got a, a"),
        (lambda: Categorical("x", (1, "1")), "levels must be different"),
        (lambda: Categorical("x", (True, "a")), "all booleans or none, got True, a"),
        (lambda: Categorical("x", (1.5, 2)), "whole numbers or booleans, got 1.5"),
        (lambda: Categorical("x", ("a ",)), "without white space at its ends, got 'a '"),
        (lambda: Categorical("x", ("\ud800",)), "levels must be text"),
        (lambda: Categorical("x", (2**53,)), "below 2^53"),
        (lambda: Categorical("x", ("a", "b"), "a"), "levels must be different, got a, b, a"),
        (lambda: Categorical("x", ("a", "b"), 7), "other must be text, got int"),
        (lambda: column_from_dict({"name": "x"}), "type must be one of numeric, integer"),
        (lambda: column_from_dict({"name": "x", "type": "int"}), "got 'int'"),
        (lambda: column_from_dict({"name": "x", "type": ["a"]}), "got list"),
        (lambda: column_from_dict({"name": "x", "type": "ordered"}), "levels is missing"),
        (lambda: column_from_dict({"name": "x", "type": "date", "bounds": [1]}), "got 1 of them"),
        (lambda: column_from_dict({"name": "x", "type": "numeric"}), "got nothing"),
        (
            lambda: column_from_dict({"name": "x", "type": "boolean", "levels": [0, 1]}),
            "of type boolean has type alone; got levels",
        ),
    ],
)
def test_a_wrong_declaration_says_what_is_right(make, message):
    with pytest.raises((TypeError, ValueError)) as error:
        make()
    assert message in str(error.value)
