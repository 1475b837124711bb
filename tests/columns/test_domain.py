"""The domain of a table: how it is written, in Python and in files, and what it does."""

import json
from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer
from mercer.columns.kinds import Boolean, Categorical, Date, Integer, Numeric, Ordered
from mercer.columns.table import MOST_TABLE_COLUMNS, Domain
from tests.columns.test_kinds import columns

WRITTEN = {
    "age": (0, 100),
    "visits": range(0, 51),
    "sex": ["f", "m"],
    "smoker": bool,
    "stage": {"ordered": ["I", "II", "III"]},
    "ward": {"categories": ["a", "b"], "other": "other"},
    "admitted": (date(2020, 1, 1), date(2024, 12, 31)),
}
COLUMNS = (
    Numeric("age", 0, 100),
    Integer("visits", 0, 50),
    Categorical("sex", ("f", "m")),
    Boolean("smoker"),
    Ordered("stage", ("I", "II", "III")),
    Categorical("ward", ("a", "b"), "other"),
    Date("admitted", date(2020, 1, 1), date(2024, 12, 31)),
)
YAML = """
age: [0, 100]
visits: {type: integer, bounds: [0, 50]}
sex: [f, m]
smoker: [no, yes]
stage: {ordered: [I, II, III]}
ward:
  categories: [a, b]
  other: other
admitted: [2020-01-01, 2024-12-31]
"""


@pytest.fixture
def domain():
    return mercer.Domain(WRITTEN)


def test_short_and_long_forms_are_one_domain(domain):
    long = {
        "age": {"type": "numeric", "bounds": [0, 100]},
        "visits": {"type": "integer", "bounds": [0, 50]},
        "sex": {"type": "categorical", "levels": ["f", "m"]},
        "smoker": {"type": "boolean"},
        "stage": {"type": "ordered", "levels": ["I", "II", "III"]},
        "ward": {"type": "categorical", "levels": ["a", "b"], "other": "other"},
        "admitted": {"type": "date", "bounds": ["2020-01-01", "2024-12-31"]},
    }
    assert domain.columns == COLUMNS
    assert isinstance(domain, mercer.Domain)
    assert mercer.Domain(long) == domain == Domain(COLUMNS)
    assert hash(mercer.Domain(long)) == hash(domain)
    assert repr(mercer.Domain({"age": (0, 100), "sex": ["f", "m"]})) == (
        "Domain(age in [0, 100], sex in {f, m})"
    )


@pytest.mark.parametrize(
    ("written", "column"),
    [
        ([False, True], Boolean("x")),
        ([True, False], Boolean("x")),
        ("boolean", Boolean("x")),
        (("2020-01-01", "2020-12-31"), Date("x", "2020-01-01", "2020-12-31")),
        ((datetime(2020, 1, 1, 7), date(2020, 12, 31)), Date("x", date(2020, 1, 1), date(2020, 12, 31))),
        ([date(2020, 1, 1), date(2020, 12, 31)], Date("x", "2020-01-01", "2020-12-31")),
        ((np.float64(0), np.int64(3)), Numeric("x", 0, 3)),
        ([1, 2, 3], Categorical("x", (1, 2, 3))),
        (["only"], Categorical("x", ("only",))),
        ({"categories": [0, 1]}, Categorical("x", (0, 1))),
        ({"categories": [True, False]}, Categorical("x", (True, False))),
    ],
)
def test_other_ways_to_write_a_column(written, column):
    assert mercer.Domain({"x": written}).columns == (column,)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (
            {"x": [0, 1]},
            "may be bounds or levels; write (0, 1) for all between them, or "
            '{"categories": [0, 1]} for these two alone',
        ),
        ({"x": ["2020-01-01", "2021-01-01"]}, "may be bounds or levels"),
        ({"x": {"f", "m"}}, "column 'x' must be (lower, upper) for numbers or dates"),
        ({"x": int}, 'or {"type": …}; got int'),
        ({"x": (1, 2, 3)}, "got tuple"),
        ({"x": ("a", "b")}, "got tuple"),
        ({"x": (0, date(2020, 1, 1))}, "got tuple"),
        ({"x": None}, "got NoneType"),
        ({"x": {"lower": 0, "upper": 1}}, "got {lower, upper}"),
        ({"x": {"ordered": ["a"], "other": "b"}}, "got {ordered, other}"),
        ({"x": {"type": "boolean", "name": "y"}}, "its name is given already"),
        ({"x": range(0, 10, 2)}, "a range must have step 1"),
        ({"x": range(3, 3)}, "a range must have step 1 and hold a number"),
        ({"x": []}, "levels must be 1 to 1000"),
        ({"x": [True, True]}, "levels must be different"),
        ({"x": ["SE", False, "DK"]}, "without them YAML reads a boolean"),
        ({7: bool}, "name must be text, got 7"),
        ({}, "1 to 64 columns, got 0"),
        ({f"x{i}": bool for i in range(MOST_TABLE_COLUMNS + 1)}, "1 to 64 columns, got 65"),
        ([("x", bool)], "a domain must be columns by their names"),
        (None, "got NoneType"),
        (7, "got int"),
    ],
)
def test_what_cannot_be_a_domain(written, message):
    with pytest.raises((TypeError, ValueError)) as error:
        mercer.Domain(written)
    assert message in str(error.value)


def test_columns_have_different_names():
    with pytest.raises(ValueError, match="column 'a' stands more than once"):
        Domain([Boolean("a"), Boolean("a")])


def test_sizes_and_places(domain):
    assert domain.names == tuple(WRITTEN)
    assert domain.dimension == 7
    assert domain.width == 9
    assert [(s.start, s.stop) for s in domain.slices] == [
        (0, 1),
        (1, 2),
        (2, 3),
        (3, 4),
        (4, 5),
        (5, 8),
        (8, 9),
    ]
    assert domain.size is None
    assert Domain(COLUMNS[1:]).size == 51 * 2 * 2 * 3 * 3 * 1827
    assert domain.column("sex") == COLUMNS[2]
    with pytest.raises(ValueError, match="no column 'agee'; there are age, visits"):
        domain.column("agee")


def test_points_records_tables_and_rows_agree(domain, rng):
    u = rng.random((50, domain.dimension))
    codes = domain.from_unit(u)
    assert np.array_equal(domain.snap(codes), codes)
    points = domain.embed(codes)
    assert points.shape == (50, domain.width)
    for column, part, place in zip(domain.columns, codes.T, domain.slices, strict=True):
        assert np.array_equal(points[:, place], column.embed(part))
    codes[3, 2] = np.nan
    assert domain.table(codes).to_pylist() == domain.rows(codes)
    assert domain.rows(codes)[3]["sex"] is None
    assert domain.table(codes).schema.field("admitted").type == pa.date32()
    with pytest.raises(ValueError, match=r"codes must have shape \(records, 7\), got \(50,\)"):
        domain.embed(codes[:, 0])


@given(st.lists(columns, min_size=1, max_size=6))
def test_domains_come_back_from_json(given_columns):
    named = [type(c)(**{**vars(c), "name": f"c{i}"}) for i, c in enumerate(given_columns)]
    domain = Domain(named)
    assert Domain.from_dict(json.loads(json.dumps(domain.to_dict()))) == domain


def test_a_wrong_dictionary_is_refused():
    for wrong in ({}, {"columns": {}}, {"columns": [1]}):
        with pytest.raises(ValueError, match="columns must be a list of columns"):
            Domain.from_dict(wrong)


def test_files_of_every_kind(domain, tmp_path):
    (tmp_path / "a.yaml").write_text(YAML)
    (tmp_path / "b.yml").write_text("\ufeff" + YAML, encoding="utf-8")
    plain = {
        "age": [0, 100],
        "visits": {"type": "integer", "bounds": [0, 50]},
        "sex": ["f", "m"],
        "smoker": "boolean",
        "stage": {"ordered": ["I", "II", "III"]},
        "ward": {"categories": ["a", "b"], "other": "other"},
        "admitted": ["2020-01-01", "2024-12-31"],
    }
    (tmp_path / "c.json").write_text(json.dumps(plain))
    (tmp_path / "d.json").write_text(json.dumps(domain.to_dict()))
    for name in ("a.yaml", "b.yml", "c.json", "d.json"):
        assert mercer.Domain.read(tmp_path / name) == domain
        assert mercer.Domain.read(str(tmp_path / name)) == domain


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.toml", "", "'a.toml' must end in .json, .yaml or .yml"),
        ("a.json", "{", "a.json cannot be read: Expecting"),
        ("a.json", "[" * 100_000, "a.json cannot be read"),
        ("a.json", "[]", "columns by their names, each [lower, upper]"),
        ("a.json", '{"x": "boolean", "x": [1, 2]}', "'x' stands more than once"),
        ("a.json", '{"x": [0, NaN]}', "column 'x': bounds must be finite"),
        ("a.json", '{"x": {"type": "numeric", "bounds": [0]}}', "column 'x': bounds must be"),
        ("a.json", "{}", "a.json: a domain must have 1 to 64 columns"),
        ("a.json", '{"x": 3}', "column 'x' must be [lower, upper] for numbers or dates"),
        ("a.json", '{"columns": [{"name": "x", "type": "y"}]}', "'x': type must be one of"),
        ("a.yaml", "x: [a, b", "a.yaml cannot be read: while parsing"),
        ("a.yaml", "", "columns by their names"),
        ("a.yaml", "x: [a, b]\nx: [c, d]", "'x' stands more than once"),
        ("a.yaml", "yes: [a, b]", "name must be text, got True; put it in quotes"),
        ("a.yaml", "x: [SE, NO, DK]", "put words such as 'no' in quotes"),
        ("a.yaml", "x: [0, 1e3]", "a number that YAML reads as text; write it out"),
        ("a.yaml", "x: [2020-02-30, 2020-03-01]", "a.yaml cannot be read: day is out of range"),
        ("a.yaml", "x: !!python/object/apply:os.system [exit]", "a.yaml cannot be read: could not"),
    ],
)
def test_what_cannot_be_read(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises((TypeError, ValueError)) as error:
        mercer.Domain.read(tmp_path / name)
    assert message in str(error.value)
    assert str(error.value).startswith("domain: ")


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="domain: there is no file"):
        mercer.Domain.read(tmp_path / "a.json")
