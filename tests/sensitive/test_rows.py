"""All kinds of input give the same release; errors name columns and types, never values."""

import gzip
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mercer
from mercer.sensitive.data import open_rows
from mercer.sensitive.persons import person_weights

PROMISE = {"epsilon": 1.0, "delta": 1e-6, "rng": 11}
SECRET = 31337.25  # stands in the data and must never stand in a message


@pytest.fixture
def frame(rng):
    n = 400
    values = rng.normal(50, 20, n)
    values[5] = SECRET
    return pd.DataFrame(
        {
            "age": values,
            "weight": rng.normal(70, 9, n),
            "who": [f"p{i // 3}" for i in range(n)],
            "label": ["a"] * n,
        }
    )


def release(data, **options):
    return mercer.density(data, bounds=(0, 100), **PROMISE, **options).coordinates


def test_every_kind_of_input_gives_the_same_release(frame, tmp_path):
    table = pa.Table.from_pandas(frame)
    frame.to_csv(tmp_path / "a.csv", index=False)
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=37)
    (tmp_path / "folder").mkdir()
    for i in range(3):
        pq.write_table(table.slice(i * 150, 150), tmp_path / "folder" / f"{i}.parquet")
    with gzip.open(tmp_path / "a.csv.gz", "wt") as file:
        frame.to_csv(file, index=False)
    frame.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    expected = release(frame["age"].to_numpy())
    plain = [
        frame["age"],
        frame["age"].tolist(),
        pl.Series("age", frame["age"]),
        frame["age"].to_numpy()[:, None],
        table["age"],
        table["age"].combine_chunks(),
    ]
    named = [
        frame,
        pl.from_pandas(frame),
        table,
        table.to_batches()[0],
        tmp_path / "a.csv",
        str(tmp_path / "a.parquet"),
        tmp_path / "folder",
        tmp_path / "a.csv.gz",
        tmp_path / "a.tsv",
        table.to_reader(),
    ]
    for data in plain:
        assert np.array_equal(release(data), expected), type(data)
    for data in named:
        assert np.array_equal(release(data, columns="age"), expected), type(data)


def test_rows_that_do_not_fit_follow_the_public_rule(tmp_path):
    """M18: missing, infinite and textual cells count in n and add nothing."""
    text = "age,name\n10,x\n20,\n,\nNA,y\n-inf,z\noops,\xe9\n30,w,too,many,cells\n40,v\n"
    (tmp_path / "odd.csv").write_text(text, encoding="latin-1")
    odd = mercer.density(tmp_path / "odd.csv", columns="age", bounds=(0, 100), **PROMISE)
    array = [10, 20, None, None, -np.inf, np.nan, None, 40]
    assert odd.privacy.n == 8
    assert np.array_equal(odd.coordinates, release(np.array(array, dtype=object)))
    dropped = mercer.density(array, bounds=(0, 100), missing="drop", **PROMISE)
    assert dropped.privacy.n == 3


def test_integers_booleans_and_decimals_are_numbers():
    whole = pa.table({"x": pa.array([1, 2, None, 4])})
    same = pa.table({"x": pa.array([Decimal(1), Decimal(2), None, Decimal(4)])})
    assert np.array_equal(release(whole), release(same))
    assert release(pd.Series([True, False, True])).size > 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": "agee"}, "no column 'agee'; there are 'age', 'weight', 'who', 'label'"),
        ({"columns": "label"}, "column 'label' must hold numbers"),
        ({}, "columns is missing"),
        ({"columns": ["age", "age"]}, "different names"),
        ({"columns": 3}, "name or a list of names"),
        ({"columns": "age", "unit": "nobody"}, "no column 'nobody'"),
        ({"columns": "age", "unit": 3}, "unit must be the name"),
        ({"columns": "age", "unit": "who", "missing": "drop"}, "cannot be combined with unit"),
    ],
)
def test_errors_about_columns(frame, options, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        release(frame, **options)
    assert str(SECRET) not in str(caught.value)


def test_unreadable_files(tmp_path, frame):
    good = tmp_path / "good.parquet"
    frame.to_parquet(good)
    (tmp_path / "cut.parquet").write_bytes(good.read_bytes()[:-200])
    (tmp_path / "fake.parquet").write_text("age\n1\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "void").mkdir()
    (tmp_path / "a.xlsx").write_text("")
    for name, message in [
        ("cut.parquet", "cannot be read as Parquet"),
        ("fake.parquet", "cannot be read as Parquet"),
        ("empty.csv", "cannot be read as CSV"),
        ("void", "holds no"),
        ("a.xlsx", "must end in"),
        ("gone.csv", "there is no file"),
    ]:
        with pytest.raises((ValueError, FileNotFoundError), match=message):
            release(tmp_path / name, columns="age")


def test_a_file_damaged_in_the_middle_spends_and_shows_nothing(tmp_path, frame):
    path = tmp_path / "a.parquet"
    frame.to_parquet(path, compression="snappy", row_group_size=50)
    blob = bytearray(path.read_bytes())
    blob[300:900] = bytes(600)
    path.write_bytes(bytes(blob))
    with pytest.raises(ValueError, match="nothing was spent") as caught:
        release(path, columns="age")
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(("rows", "count"), [([], 0), ([5.0], 1)])
def test_too_few_rows(rows, count):
    with pytest.raises(ValueError, match=f"at least 2 rows, got {count}; nothing was spent"):
        release(np.array(rows, dtype=float))


def test_files_of_a_folder_must_agree(tmp_path, frame):
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame[["who", "age"]].to_csv(tmp_path / "b.csv", index=False)
    with pytest.raises(ValueError, match="same columns"):
        release(tmp_path, columns="age")


def test_a_person_counts_once(frame, tmp_path):
    """M16: a person with many rows has the weight of one; repeating rows changes nothing."""
    unit = {"columns": "age", "unit": "who"}
    once = mercer.density(frame, bounds=(0, 100), **unit, **PROMISE)
    assert once.privacy.n == frame["who"].nunique()
    assert once.privacy.unit == "who"
    assert "all rows of one 'who'" in once.privacy.sentence
    loud = pd.concat([frame, frame[frame.who == "p7"]])
    assert np.allclose(release(loud, **unit), once.coordinates, atol=1e-5)  # shares of 2^20
    frame.to_csv(tmp_path / "a.csv", index=False)
    assert np.array_equal(release(tmp_path / "a.csv", **unit), once.coordinates)
    coded = frame.assign(who=frame.who.astype("category"))
    assert np.array_equal(release(coded, **unit), once.coordinates)


def test_a_row_of_another_length_is_a_row_without_values():
    """M18: it decides about no exception, and counts."""
    rows = [[0.2, 0.4]] * 9
    options = {"bounds": [(0, 1)] * 2, "epsilon": 1, "rng": 0}
    wanted = mercer.density([*rows, [None, None]], **options)
    for odd in ([0.2], [0.2, 0.4, 0.6], [], 7.0, "ab", None, [[0.2], 0.4]):
        made = mercer.density([*rows, odd], **options)
        assert np.array_equal(made.coordinates, wanted.coordinates)


def test_person_weights_never_exceed_one_person(frame):
    frame.loc[3:9, "who"] = None  # unnamed rows are nobody's
    rows = open_rows(frame, columns="age", unit="who", dimension=1)
    persons, chunks = person_weights(rows, 1 << 20)
    weights = np.concatenate(list(chunks()))
    assert weights[3:10].sum() == 0
    total = pd.Series(weights).groupby(frame["who"]).sum()
    assert persons == len(total)
    assert total.max() <= 1 << 20
    assert total.min() > (1 << 20) - len(frame)


def test_memory_does_not_grow_with_rows(tmp_path):
    """Chunks are dropped as they are counted: a stream of any length needs one chunk at a time."""
    import tracemalloc

    from mercer.columns.domain import Box
    from mercer.sensitive.rows import Rows
    from mercer.sensitive.summaries.density import tally_rows

    class Endless(Rows):
        def __init__(self, chunks):
            super().__init__(["x"], None)
            self.count = chunks

        def parts(self):
            for _ in range(self.count):
                yield lambda: iter([np.random.default_rng().random((1 << 16, 1))])

        def persons(self):
            return iter(())

    peaks = []
    for chunks in (4, 64):
        tracemalloc.start()
        tally_rows(Endless(chunks), Box(("x",), ((0.0, 1.0),)))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]


def test_no_cell_reaches_a_message_whatever_the_source(tmp_path):
    """Mixed, oversized and textual cells: missing values or an error that names the column."""
    word = "secret-diagnosis"
    odd = [
        pd.Series([0.1, 0.2, word], dtype=object),
        pd.DataFrame({"x": [0.1, 0.2, 0.3], "note": [1, word, None]})[["x"]],
        pd.DataFrame({"x": [0.1, 0.2, 0.3], "note": pd.Series([1, word, None], dtype=object)}),
        pd.Series([1, 2**70, 3], dtype=object),
        pd.Series([Decimal("1e100"), Decimal(2), None], dtype=object),
        [0.1, 0.2, word],
        [0.1, 1j, None],
        [0.1, b"abc", 0.3],
        np.array([1e4000, 1.0], dtype=np.longdouble) if np.finfo(np.longdouble).max > 1e308 else [1.0, 2.0],
        pl.DataFrame({"x": [0.1, None, 0.3], "note": [word, None, "b"]}),
    ]
    for data in odd:
        columns = "x" if hasattr(data, "columns") else None
        done = mercer.density(data, bounds=(0, 1), columns=columns, **PROMISE)
        assert done.privacy.n in (2, 3)
    for data in (np.array(["a", word]), np.array([1j]), pl.Series("x", [[1.0], [2.0]])):
        with pytest.raises((TypeError, ValueError)) as caught:
            mercer.density(data, bounds=(0, 1), **PROMISE)
        assert word not in str(caught.value)
    pq.write_table(pa.table({"x": [0.1, 0.2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [word, "b"]}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match="same columns and types") as caught:
        mercer.density(tmp_path, columns="x", bounds=(0, 1), **PROMISE)
    assert word not in str(caught.value)


def test_the_number_of_rows_of_a_csv_file_does_not_depend_on_cells(tmp_path):
    (tmp_path / "blank.csv").write_text("x\n.1\n\n.3\n")
    assert mercer.density(tmp_path / "blank.csv", bounds=(0, 1), **PROMISE).privacy.n == 3
    filler = "0.5,abcdefg\n" * (((1 << 24) - 200) // 12)
    quoted = '0.5,"' + "\n" * 400 + '"\n'
    (tmp_path / "long.csv").write_text("x,note\n" + filler + quoted + "0.5,end\n" * 50)
    rows = ((1 << 24) - 200) // 12 + 1 + 50
    done = mercer.density(tmp_path / "long.csv", columns="x", bounds=(0, 1), insist=True, **PROMISE)
    assert done.privacy.n == rows
    (tmp_path / "first.csv").write_text("x,note\n0.1," + "a" * 2_000_000 + "\n0.2,b\n")
    done = mercer.density(tmp_path / "first.csv", columns="x", bounds=(0, 1), **PROMISE)
    assert done.privacy.n == 2


def test_the_callers_numpy_settings_change_nothing():
    with np.errstate(all="raise"):
        assert release(np.array([5e-324, 1e308, -1e308, np.nan, 3.0])).size > 1
