"""All sources of mixed tables give the same codes; cells that do not fit follow a public rule."""

import csv
import gzip
import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mercer
from mercer.columns.kinds import Numeric, Unbounded
from mercer.columns.reading import PLAIN, Reading
from mercer.columns.table import Domain
from mercer.sensitive import rows as chunks_of_rows
from mercer.sensitive.data import open_records
from mercer.sensitive.persons import person_weights
from mercer.sensitive.rows import Records, Rows
from mercer.sources.cells import reader_of
from tests.columns.test_kinds import columns

SECRET = "k31337"  # stands in the data and must never stand in a message
NUMBER = 31337.25
DOMAIN = mercer.Domain(
    {
        "age": (0, 100),
        "visits": range(0, 51),
        "sex": ["f", "m"],
        "smoker": bool,
        "stage": {"ordered": ["I", "II", "III"]},
        "ward": {"categories": ["north", "south"], "other": "other"},
        "floor": {"categories": [1, 2, 3]},
        "admitted": (date(2020, 1, 1), date(2024, 12, 31)),
    }
)


def codes(data, domain=DOMAIN, unit=None, reading=PLAIN):
    parts = list(open_records(data, domain=domain, unit=unit, reading=reading).chunks())
    return np.concatenate(parts) if parts else np.empty((0, domain.dimension))


def one(cells, written, kind=None, formats=None):
    """Codes of one column of cells."""
    column = pa.array(cells, kind) if kind is not None else np.array([*cells, None], object)[:-1]
    table = pa.table({"x": column}) if kind is not None else column
    return codes(table, mercer.Domain({"x": written}), reading=Reading.of(formats=formats))[:, 0].tolist()


def same(found, expected):
    return np.array_equal(found, expected, equal_nan=True)


@pytest.fixture
def expected(rng):
    made = DOMAIN.from_unit(rng.random((300, DOMAIN.dimension)))
    made[rng.random(made.shape) < 0.1] = np.nan
    made[0] = DOMAIN.from_unit(np.full((1, DOMAIN.dimension), 0.5))[0]
    return made


def write_csv(path, rows, open_file=open, **options):
    with open_file(path, "wt", newline="") as file:
        writer = csv.DictWriter(file, rows[0], **options)
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_every_source_gives_the_same_codes(expected, tmp_path):
    table = DOMAIN.table(expected)
    rows = DOMAIN.rows(expected)
    plain = pa.table({name: pa.array([row[name] for row in rows]) for name in DOMAIN.names})
    frame = pd.DataFrame(rows)
    (tmp_path / "folder" / "deep").mkdir(parents=True)
    for i, place in enumerate(("0.parquet", "1.parquet", "deep/2.parquet")):
        pq.write_table(plain.slice(i * 120, 120), tmp_path / "folder" / place)
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=37)
    pq.write_table(plain, tmp_path / "b.pq")
    texts = {
        name: pa.array([None if v is None else f" {v}\t" for v in plain[name].to_pylist()])
        for name in DOMAIN.names
    }
    sources = {
        "arrow, by dictionary": table,
        "arrow": plain,
        "batch": plain.to_batches()[0],
        "reader": plain.to_reader(),
        "arrow in chunks": pa.concat_tables([table.slice(0, 7), table.slice(7)]),
        "arrow in another order": plain.select(DOMAIN.names[::-1]),
        "all text": pa.table(texts),
        "large text": pa.table(texts).cast(pa.schema([(n, pa.large_string()) for n in DOMAIN.names])),
        "views of text": pa.table(texts).cast(pa.schema([(n, pa.string_view()) for n in DOMAIN.names])),
        "bytes": pa.table(texts).cast(pa.schema([(n, pa.binary()) for n in DOMAIN.names])),
        "pandas": frame,
        "pandas of Arrow's types": plain.to_pandas(types_mapper=pd.ArrowDtype),
        "pandas by category": table.to_pandas(),
        "pandas of objects": frame.astype(object),
        "pandas, new types": frame.convert_dtypes(),
        "polars": pl.from_arrow(plain),
        "polars by category": pl.from_arrow(table),
        "dictionaries": rows,
        "tuples": [tuple(row.values()) for row in rows],
        "lists and dictionaries": [list(r.values()) if i % 2 else r for i, r in enumerate(rows)],
        "array of objects": np.array([list(row.values()) for row in rows], dtype=object),
        "parquet": tmp_path / "a.parquet",
        "parquet, plain": str(tmp_path / "b.pq"),
        "folder": tmp_path / "folder",
        "csv": write_csv(tmp_path / "a.csv", rows),
        "csv.gz": write_csv(tmp_path / "a.csv.gz", rows, gzip.open),
        "tsv": write_csv(tmp_path / "a.tsv", rows, delimiter="\t"),
        "csv in quotes": write_csv(tmp_path / "q.csv", rows, quoting=csv.QUOTE_ALL),
    }
    # a type of text is declared: numbers are read in it where the caller says how they are written
    texts = Reading.of(formats={c.name: "1.5" for c in DOMAIN.columns if c.kind in ("numeric", "integer")})
    for name, data in sources.items():
        declared = name in ("all text", "large text", "views of text", "bytes")
        assert same(codes(data, reading=texts if declared else PLAIN), expected), name
        if declared:
            with pytest.raises(TypeError, match="cannot hold; .* formats="):
                codes(data)
    words = np.array([["" if v is None else str(v) for v in row.values()] for row in rows])
    assert same(codes(words, reading=texts), expected)
    assert same(codes(words.astype("S"), reading=texts), expected)


def test_arrays_have_a_column_for_each_of_the_domain(rng):
    domain = mercer.Domain({"a": (0, 1), "b": range(0, 4), "c": {"categories": [0, 1]}, "d": bool})
    made = domain.from_unit(rng.random((70, 4)))
    assert same(codes(made, domain), made)
    assert same(codes(np.asfortranarray(made), domain), made)
    assert same(codes(made.tolist(), domain), made)
    whole = made.copy()
    whole[:, 0] = np.rint(whole[:, 0])
    assert same(codes(whole.astype(np.int8), domain), whole)
    assert same(codes(whole.astype(np.float32), domain), whole)
    assert same(codes(whole.astype(np.uint64), domain), whole)
    assert same(codes(whole.astype(np.longdouble), domain), whole)
    hidden = np.ma.array(made, mask=np.zeros_like(made))
    hidden[3, 1] = np.ma.masked
    assert np.argwhere(np.isnan(codes(hidden, domain))).tolist() == [[3, 1]]
    single = mercer.Domain({"x": (0, 1)})
    line = made[:, 0]
    for data in (
        line,
        line.tolist(),
        pd.Series(line),
        pl.Series(line),
        pa.array(line),
        pd.Series(line, name="x"),
    ):
        assert same(codes(data, single)[:, 0], line), type(data)
    days = np.array(["2020-01-05", "NaT"], "datetime64[ns]")
    assert same(codes(days, mercer.Domain({"x": ("2020-01-01", "2020-12-31")}))[:, 0], [18266, np.nan])


def told_apart(column):
    """Whether levels differ by more than case and blanks, which readers ask for."""
    try:
        reader_of(column)
    except ValueError:
        return False
    return True


@given(st.lists(columns.filter(told_apart), min_size=1, max_size=4), st.integers(0, 2**32 - 1))
def test_a_table_of_the_domain_comes_back(given_columns, seed):
    named = [type(c)(**{**vars(c), "name": f"c{i}"}) for i, c in enumerate(given_columns)]
    domain = Domain(named)
    made = domain.from_unit(np.random.default_rng(seed).random((6, domain.dimension)))
    made[5] = np.nan
    assert same(codes(domain.table(made), domain), made)
    assert same(codes(domain.rows(made), domain), made)
    assert same(codes(domain.table(made).to_pandas(), domain), made)


def test_numbers_are_clipped_and_what_is_none_is_missing():
    cells = [
        -5,
        3.5,
        250,
        None,
        float("inf"),
        float("-inf"),
        float("nan"),
        True,
        Decimal("7.5"),
        " 12 ",
        "1e1",
        "+.5",
        "twelve",
        "",
        "inf",
        "1,5",
        b"9",
        10**400,
        [1],
        {},
        object(),
        np.float32(2),
        date(2020, 1, 1),
        pd.NA,
        pd.NaT,
        Decimal("sNaN"),
        "\ud800",
        "١",
    ]
    nan = np.nan
    expected = [
        0,
        3.5,
        100,
        nan,
        nan,
        nan,
        nan,
        1,
        7.5,
        12,
        10,
        0.5,
        nan,
        nan,
        nan,
        nan,
        9,
        nan,
        nan,
        nan,
        nan,
        2,
        nan,
        nan,
        nan,
        nan,
        nan,
        nan,
    ]
    assert same(one(cells, (0, 100)), expected)
    assert same(one([0.5, 1.5, 2.4999, -0.5, 99], range(0, 4)), [0, 2, 2, 0, 3])
    assert same(one([0.5, 1.5, None], range(0, 4), pa.float32()), [0, 2, nan])
    assert same(one([Decimal("1.5"), None], (0, 4), pa.decimal128(4, 2)), [1.5, nan])
    assert same(one([True, None], (0, 4), pa.bool_()), [1, nan])
    assert same(one([None, None], (0, 4), pa.null()), [nan, nan])
    assert same(one(["1e9999", "9" * 400, "5."], (0, 4), pa.string(), {"x": "1.5"}), [nan, nan, 4])


def test_categories_match_after_trimming_whatever_their_case():
    wards = {"categories": ["north", "south"], "other": "other"}
    nan = np.nan
    cells = [
        "north",
        " south ",
        "North",
        "other",
        "",
        "  ",
        None,
        7,
        True,
        float("nan"),
        [1],
        date(2020, 1, 1),
    ]
    assert same(one(cells, wards), [0, 1, 0, 2, nan, nan, nan, 2, 2, nan, nan, nan])
    assert same(one(cells[:7], wards, pa.string()), [0, 1, 0, 2, nan, nan, nan])
    bare = {"categories": ["north", "south"]}
    assert same(one(cells, bare), [0, 1, 0, *[nan] * 9])


def test_categories_that_are_numbers_compare_as_numbers():
    floors = {"categories": [3, 1, 2]}
    nan = np.nan
    cells = [1, 1.0, "1", "1.0", " 01", "1e0", True, Decimal(1), np.int8(1), 1.5, "x", 4, None]
    assert same(one(cells, floors), [1] * 9 + [nan] * 4)
    assert same(one(cells, {**floors, "other": "rest"}), [1] * 9 + [3, 3, 3, nan])
    assert same(one([1, 2, None, 9], floors, pa.int16()), [1, 2, nan, nan])
    assert same(one([1.0, 2.5, np.inf], floors, pa.float64()), [1, nan, nan])
    # text of a whole number is a level of its own, and a table of numbers may hold it
    houses = {"categories": ["7", "07", "7b"], "other": "rest"}
    assert same(one(["7", "07", "7b", "7.0"], houses, pa.string()), [0, 1, 2, 0])
    assert same(one([7, 8], houses, pa.int64()), [0, 3])
    assert same(one([7.0, 7.5, np.nan, np.inf], houses, pa.float64()), [0, 3, nan, nan])
    near = {"categories": [2**53 - 1, 0]}
    assert same(one([2**53 - 1, 2**53, 2**53 + 1, 0], near, pa.int64()), [0, nan, nan, 1])


def test_booleans_have_many_spellings():
    words = ["true", "TRUE", "True", "yes", "on", "1", "1.0", "false", "No", "off", "0", " 0.0 "]
    nan = np.nan
    expected = [1] * 7 + [0] * 5
    assert same(one(words, bool), expected)
    assert same(one(words, bool, pa.string()), expected)
    assert same(one([0, 1, 2, None], bool, pa.int8()), [0, 1, nan, nan])
    assert same(one([0.0, 1.0, 0.5, np.nan, np.inf], bool, pa.float64()), [0, 1, *[nan] * 3])
    assert same(one([True, False, np.True_, 1, "maybe", None], bool), [1, 0, 1, 1, nan, nan])
    assert same(one([True, False, None], {"categories": [True, False]}, pa.bool_()), [0, 1, nan])
    assert same(one([True, False, None], {"categories": ["true", "false"]}, pa.bool_()), [0, 1, nan])
    assert same(one([True, False], {"categories": [0, 1, 2]}, pa.bool_()), [1, 0])


def test_dates_are_cut_to_their_day():
    days = (date(2020, 1, 1), date(2024, 12, 31))
    nan = np.nan
    cells = [
        date(2020, 1, 2),
        datetime(2020, 1, 2, 23, 59),
        pd.Timestamp("2020-01-02 23:00"),
        np.datetime64("2020-01-02T23"),
        "2020-01-02",
        " 2020-01-02T23:59:59.5Z ",
        "2020-01-02 10:00:00+02:00",
        "2020-02-30",
        "2020-13-01",
        "2020-1-2",
        "20200102",
        "2020-01-02x",
        date(1900, 1, 1),
        "2999-01-01",
        18263,
        True,
        None,
        pd.NaT,
        np.datetime64("NaT"),
        "",
    ]
    expected = [18263] * 7 + [nan] * 5 + [18262, 20088] + [nan] * 6
    assert same(one(cells, days), expected)
    stamp = datetime(2020, 1, 2, 23, 59)
    for kind in (
        pa.timestamp("s"),
        pa.timestamp("ms"),
        pa.timestamp("us"),
        pa.timestamp("ns"),
        pa.date32(),
        pa.date64(),
    ):
        assert same(one([stamp, None], days, kind), [18263, nan]), kind
    far = timezone(timedelta(hours=-5))
    local = [datetime(2020, 1, 2, 23, 59, tzinfo=far)]
    assert same(one(local, days, pa.timestamp("us", "-05:00")), [18263])
    assert same(one(local, days), [18263])
    assert same(one(local, days, pa.timestamp("us", "UTC")), [18264])
    assert same(one([local[0].astimezone(UTC)], days), [18264])
    early = mercer.Domain({"x": ("1900-01-01", "1970-01-01")})
    old = pa.table({"x": pa.array([-1, -86_400, -86_401, -(2**63)], pa.timestamp("s"))})
    assert codes(old, early)[:3, 0].tolist() == [-1, -1, -2]


def test_damaged_files_and_lines_of_other_lengths(tmp_path):
    """A line too long is a row without values; bytes that are no text fit nothing."""
    domain = mercer.Domain({"age": (0, 100), "sex": {"categories": ["f", "ü"], "other": "o"}})
    text = b"age,sex,x\n10,f,1\n20,\xfc,\n,\xc3\xbc,\n30,f,too,many\n40,,\n"
    (tmp_path / "odd.csv").write_bytes(text)
    found = codes(tmp_path / "odd.csv", domain)
    nan = np.nan
    assert same(found, [[10, 0], [20, 2], [nan, 1], [40, nan], [nan, nan]])
    assert not open_records(tmp_path / "odd.csv", domain=domain, unit=None).fixed
    (tmp_path / "bad.parquet").write_bytes(b"PAR1" + SECRET.encode() * 20)
    with pytest.raises(ValueError, match="cannot be read as Parquet") as error:
        codes(tmp_path / "bad.parquet", domain)
    assert SECRET not in str(error.value)


@pytest.mark.parametrize(
    ("written", "kind", "words"),
    [
        ((0, 1), pa.list_(pa.float64()), "type list<"),
        ((0, 1), pa.date32(), "declared as x in [0, 1], which a column of type date32[day]"),
        ((0, 1), pa.struct([("a", pa.int8())]), "cannot hold"),
        ((0, 1), pa.duration("s"), "cannot hold"),
        ((0, 1), pa.dictionary(pa.int8(), pa.date32()), "cannot hold"),
        (bool, pa.timestamp("s"), "cannot hold"),
        (["f", "m"], pa.int64(), "declared as x in {f, m}, which a column of type int64"),
        (["f", "m"], pa.bool_(), "cannot hold"),
        (["f", "m"], pa.date32(), "cannot hold"),
        ({"ordered": [5, 6, 7]}, pa.bool_(), "cannot hold"),
        (("2020-01-01", "2021-01-01"), pa.int64(), "cannot hold"),
        (("2020-01-01", "2021-01-01"), pa.time32("s"), "cannot hold"),
    ],
)
def test_a_column_is_refused_by_its_type_alone(tmp_path, written, kind, words):
    domain = mercer.Domain({"x": written})
    table = pa.table({"x": pa.nulls(1, kind)})
    pq.write_table(table, tmp_path / "a.parquet")
    for data in (table, table.slice(1), tmp_path / "a.parquet"):
        with pytest.raises(TypeError) as error:
            open_records(data, domain=domain, unit=None)
        assert words in str(error.value)


def test_errors_come_before_anything_is_read_and_show_no_cell(tmp_path):
    domain = mercer.Domain({"age": (0, 100), "sex": ["f", "m"]})
    frame = pd.DataFrame({"age": [NUMBER], "sexe": [SECRET], "who": [SECRET]})
    table = pa.Table.from_pandas(frame)
    write_csv(tmp_path / "a.csv", frame.to_dict("records"))
    pq.write_table(table, tmp_path / "a.parquet")
    good = frame.rename(columns={"sexe": "sex"})
    twice = pd.DataFrame([[1, 2, SECRET]], columns=["age", "age", "sex"])
    spans = pd.DataFrame({"age": pd.to_timedelta([1], "s"), "sex": ["f"]})
    months = pd.DataFrame({"age": pd.PeriodIndex(["2020-01"], freq="M"), "sex": ["f"]})
    complex_ = pd.DataFrame({"age": [NUMBER * 1j], "sex": ["f"]})
    nested = pa.table({"age": [1.0], "sex": ["f"], "who": [[SECRET]]})
    no_sex = "the table has no column 'sex'; there are 'age', 'sexe', 'who'"
    cases = [
        (frame, None, no_sex),
        (pl.from_pandas(frame), None, no_sex),
        (table, None, no_sex),
        (tmp_path / "a.csv", None, no_sex),
        (str(tmp_path / "a.parquet"), None, no_sex),
        (good, "whom", "unit: the table has no column 'whom'"),
        (good, "sex", "unit must name a column that is not released, got 'sex'"),
        (good, 7, "unit must be the name of a column, got int"),
        (nested, "who", "unit 'who' must hold plain names or numbers"),
        (np.full((3, 3), NUMBER), None, "2 column(s), in the order age, sex; got shape (3, 3)"),
        (np.full((3, 2), NUMBER), None, "column 'sex' is declared as sex in {f, m}, which"),
        (np.full((3, 2), NUMBER), "who", "unit names a column"),
        (np.full((3, 2), NUMBER * 1j), None, "got ndarray of complex128"),
        (np.full((3, 2, 2), NUMBER), None, "got shape (3, 2, 2)"),
        (NUMBER, None, "got float"),
        (iter([(NUMBER, SECRET)]), None, "got list_iterator"),
        (twice, None, "column 'age' stands 2 times"),
        (spans, None, "cannot hold"),
        (months, None, "cannot hold"),
        (complex_, None, "column 'age' of type complex128 cannot be read"),
        (tmp_path / "none.csv", None, "there is no file or folder"),
    ]
    for data, unit, message in cases:
        with pytest.raises((TypeError, ValueError, FileNotFoundError)) as error:
            open_records(data, domain=domain, unit=unit)
        assert message in str(error.value)
        assert SECRET not in str(error.value)
        assert str(NUMBER) not in str(error.value)
        assert error.value.__cause__ is None


def test_no_cell_decides_whether_there_is_an_error():
    """M18: every cell may be anything at all."""
    odd = [SECRET, NUMBER, None, [SECRET], {SECRET: 1}, b"\xff", object(), 10**999, pd.NA, ...]
    rows = [dict.fromkeys(DOMAIN.names, cell) for cell in odd]
    good = DOMAIN.rows(DOMAIN.from_unit(np.full((1, DOMAIN.dimension), 0.5)))
    for data in (rows + good, pd.DataFrame(rows + good, dtype=object), [*odd, *good, (), SECRET, None]):
        found = codes(data)
        assert len(found) == len(data)
        assert not np.isnan(found).all()
    far = np.array(["1e4000", "0.5"]).astype(np.longdouble)  # beyond doubles, and no warning
    for data in (far, list(far), far.astype(object)):
        assert same(codes(data, mercer.Domain({"x": (0, 1)}))[:, 0], [np.nan, 0.5])
    category = pd.DataFrame({"x": pd.Categorical(["f", 3, "m", None])})  # of several types
    assert same(codes(category, mercer.Domain({"x": ["f", "m"]}))[:, 0], [0, np.nan, 1, np.nan])


def test_columns_outside_the_domain_are_never_looked_at():
    class Untouchable:
        def __array__(self, *_args, **_options):
            raise AssertionError(SECRET)

        __str__ = __repr__ = __array__

    frame = pd.DataFrame({"x": [0.5, 0.25], "y": [Untouchable(), Untouchable()]})
    domain = mercer.Domain({"x": (0, 1)})
    assert codes(frame, domain)[:, 0].tolist() == [0.5, 0.25]
    assert codes(frame.to_dict("records"), domain)[:, 0].tolist() == [0.5, 0.25]


def test_persons_come_in_the_same_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(chunks_of_rows, "CHUNK", 64)
    domain = mercer.Domain({"x": (0, 1), "s": ["f", "m"]})
    who = [f"p{i // 3}" if i % 7 else None for i in range(200)]
    rows = [{"x": i / 200, "s": "fm"[i % 2], "who": who[i]} for i in range(200)]
    frame = pd.DataFrame(rows)
    table = pa.Table.from_pandas(frame)
    uneven = pa.table(
        {
            "x": pa.chunked_array([table["x"].combine_chunks()[:9], table["x"].combine_chunks()[9:]]),
            "s": table["s"],
            "who": table["who"],
        }
    )
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=50)
    write_csv(tmp_path / "a.csv", rows)
    coded = table.set_column(2, "who", table["who"].dictionary_encode())
    numbered = [{**row, "who": i // 3 if i % 7 else None} for i, row in enumerate(rows)]
    for data in (
        frame,
        pl.from_pandas(frame),
        table,
        uneven,
        coded,
        rows,
        numbered,
        tmp_path / "a.parquet",
        tmp_path / "a.csv",
        pd.DataFrame(numbered),
    ):
        records = open_records(data, domain=domain, unit="who")
        chunks = [len(chunk) for chunk in records.chunks()]
        assert [len(part) for part in records.persons()] == chunks
        assert max(chunks) <= 32
        assert sum(chunks) == 200
        persons, weights = person_weights(records, 720720)
        assert persons == len({w for w in who if w is not None})
        expected = [720720 // who.count(w) if w is not None else 0 for w in who]
        assert np.concatenate(list(weights())).tolist() == expected


def test_reading_is_streamed(tmp_path, rng):
    """Arrow never holds more than a few chunks of a file that is much larger."""
    domain = mercer.Domain({"a": (0, 1), "b": {"categories": ["x", "y"], "other": "z"}})
    n, groups = 50_000, 30
    schema = pa.schema([("a", pa.float64()), ("b", pa.string())])
    with pq.ParquetWriter(tmp_path / "a.parquet", schema, compression="none") as file:
        for _ in range(groups):
            words = pa.array(["x", "w"]).take(pa.array(rng.integers(0, 2, n)))
            file.write_table(pa.table({"a": rng.random(n), "b": words}, schema=schema))
    records = open_records(tmp_path / "a.parquet", domain=domain, unit=None)
    ticks, held, rows = [], [], 0
    records.progress(ticks.append)
    before = pa.total_allocated_bytes()
    for chunk in records.chunks():
        held.append(pa.total_allocated_bytes() - before)
        rows += len(chunk)
        assert chunk.dtype == np.float64
        assert chunk.shape[1] == 2
    assert rows == sum(ticks) == n * groups
    assert len(ticks) == groups
    assert max(held) < 6 * n * 14  # a row is 8 + 5 bytes and a bit; the file has 30 groups
    assert len(list(records.parts())) == groups
    assert isinstance(records, Rows)
    assert records.workers == 2


def test_a_large_table_is_cut_into_chunks():
    domain = mercer.Domain({"a": (0, 1), "b": (0, 1)})
    sizes = [len(c) for c in open_records(np.zeros((1_200_000, 2)), domain=domain, unit=None).chunks()]
    assert sizes == [1 << 19, 1 << 19, 1_200_000 - (1 << 20)]
    records = open_records(pa.table({"a": np.zeros(10), "b": np.zeros(10)}), domain=domain, unit=None)
    assert open_records(records, domain=domain, unit=None) is records


def test_nothing_is_read_of_an_empty_table(tmp_path):
    empty = DOMAIN.table(np.empty((0, DOMAIN.dimension)))
    pq.write_table(empty, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text(",".join(DOMAIN.names) + "\n")
    for data in (
        empty,
        empty.to_pandas(),
        [],
        tmp_path / "a.parquet",
        tmp_path / "a.csv",
        np.empty((0, 8), object),
    ):
        assert codes(data).shape == (0, DOMAIN.dimension)


def test_records_are_not_shown_or_saved():
    import copy
    import pickle

    records = open_records([(NUMBER,)], domain=mercer.Domain({"x": (0, 1)}), unit=None)
    assert repr(records) == "<Records: sensitive, not shown>"
    assert isinstance(records, Records)
    for refuse in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="sensitive records"):
            refuse(records)


scraps = st.one_of(
    st.binary(max_size=12),
    st.from_regex(rb"\A\s?[0-9+-]{0,4}-?[0-9]{1,2}-?[0-9:TZ .eE]{0,8}\Z"),
    st.sampled_from([b"north", b" other ", b"I", b"f", b"TRUE", b"1", b"2.0", b"2020-06-31"]),
)


@given(st.lists(scraps, max_size=8))
def test_any_bytes_are_a_code_or_missing_wherever_they_stand(cells):
    for column in DOMAIN.columns:
        domain = Domain([column])
        number = {column.name: "1.5"} if column.kind in ("numeric", "integer") else None
        written = Reading.of(formats=number)
        found = codes(pa.table({column.name: pa.array(cells, pa.binary())}), domain, reading=written)
        assert same(column.snap(found), found)
        coded = pa.array(cells, pa.binary()).dictionary_encode()
        assert same(codes(pa.table({column.name: coded}), domain, reading=written), found)
        mixed = codes([{column.name: cell} for cell in [*cells, 7]], domain, reading=written)  # cell by cell
        assert same(mixed[:-1], found)


def test_the_widest_bounds_are_bounds():
    """Only a column without any is read as it is."""
    cells = pa.array([1e200, -1e200, math.inf, math.nan, 3.0])
    bounded = reader_of(Numeric("x", -1e100, 1e100)).codes(cells)
    np.testing.assert_array_equal(bounded, [1e100, -1e100, math.nan, math.nan, 3.0])
    np.testing.assert_array_equal(reader_of(Unbounded("x")).codes(cells), cells.to_numpy())
