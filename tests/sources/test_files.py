"""Which files are read, and what decides it: names and the disk, never a record."""

import gzip
import json
import os
import subprocess
import sys
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import mercer
from mercer.columns.rules import listed
from mercer.ledger.store import LedgerError
from mercer.sources.files import _tasks, file_batches, header_of, keeps_places
from mercer.sources.folders import ending_of, files_in, paths_of, said_of
from tests.helpers.shell import run

PROMISE = {"epsilon": 1.0, "rng": 5}
TEXT = "age,sex\n" + "3,f\n" * 50


def rows_of(source, names=("age",)):
    """Rows of a source as they are read."""
    _, tasks = file_batches(source)
    return sum(batch.num_rows for task in tasks(list(names)) for batch in task())


def counted(source, **where):
    """n of a count: how many rows the noise is for."""
    return mercer.count(source, where=where or {"sex": "f"}, **PROMISE).privacy.n


def write(path, text=TEXT):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix.lower() in (".parquet", ".pq"):
        pq.write_table(pa.table({"age": [3.0] * 50, "sex": ["f"] * 50}), path)
    elif path.suffix.lower() == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


SKIPPED = (
    "_temporary/0/part-0.csv",
    ".hidden.csv",
    "._a.csv",
    ".ipynb_checkpoints/a-checkpoint.csv",
    "_metadata.parquet",
    "sub/_started.csv",
    "sub/.git/a.csv",
)


@pytest.mark.parametrize("name", SKIPPED)
def test_leftovers_do_not_count(tmp_path, name):
    write(tmp_path / "a.csv")
    write(tmp_path / name)
    write(tmp_path / "sub" / "b.csv")
    assert counted(tmp_path) == 100
    assert said_of(tmp_path) == (
        f"2 files of {str(tmp_path)!r}, 1 skipped because their names begin with . or _"
    )


@pytest.mark.parametrize("inside", [".", "year=2020"])
@pytest.mark.parametrize(
    ("mark", "words", "reader"),
    [
        ("_delta_log/00.json", "a Delta table", "deltalake"),
        ("_delta_log/00.checkpoint.parquet", "a Delta table", "deltalake"),
        (".hoodie/hoodie.properties", "a Hudi table", "Hudi"),
        ("_spark_metadata/0", "a Spark stream", "Spark"),
        ("metadata/v1.metadata.json", "an Iceberg table", "pyiceberg"),
    ],
)
def test_formats_of_tables_are_refused_by_name(tmp_path, mark, words, reader, inside):
    """Their files hold replaced rows, which would count twice: the table as well as its insides."""
    table = tmp_path / "lake" / "table"
    holding = table / "data" if "Iceberg" in words else table
    for name in ("0.parquet", "1.parquet"):
        write(holding / "year=2020" / name)
    assert counted(table) == 100
    (table / mark).parent.mkdir()
    (table / mark).write_text("{}")
    within = sorted(holding.rglob("*=*/*.parquet"))
    for source in (table, tmp_path, holding / inside, within):
        with pytest.raises(ValueError, match=words) as caught:
            counted(source)
        assert reader in str(caught.value)
    assert counted(within[0]) == 50  # a single file holds each of its rows once


def test_metadata_beside_other_files_is_no_table(tmp_path):
    write(tmp_path / "data" / "a.csv")
    write(tmp_path / "data" / "b.csv", TEXT)
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "about.json").write_text("{}")
    assert counted(tmp_path) == 100


TWINS = [
    ("a.csv", "a.csv.gz"),
    ("a.csv", "a.parquet"),
    ("a.csv", "a.tsv"),
    ("a.pq", "a.parquet"),
    ("a.csv", "A.CSV"),
    ("é.csv", "e\u0301.csv.gz"),
    ("a.parquet/0.parquet", "a.csv"),
    ("a.csv", "a (copy).csv"),
    ("a.csv", "a (1).csv"),
    ("a.csv", "a(1).csv"),
    ("a.csv", "a copy.csv"),
    ("a.csv", "a copy 2.csv"),
    ("a.csv", "a - Copy.csv"),
    ("a.csv", "a - Copy (2).csv"),
    ("a.csv", "Copy of a.csv"),
    ("a.csv", "a (3rd copy).csv"),
    ("a.csv", "a - Kopie.csv"),
    ("a.csv", "Kopie von a.csv"),
    ("a.csv", "a_copy.csv.gz"),
    ("a.csv", "a (Ann's conflicted copy 2024-01-02).csv"),
    ("a.csv", "a.bak.csv"),
    ("a.csv", "a.sync-conflict-20240102-101112-ABC.csv"),
    ("a copy.csv", "a (copy).csv"),
    ("2020/a.csv", "2020 (1)/a.csv"),
    ("2020/a.csv", "2020 - Copy/b.csv"),
    ("year=2020/a.csv", "year=2020 copy/a.csv"),
    ("sub/a.csv", "sub/a (1) (copy).csv"),
]


@pytest.mark.parametrize(("one", "other"), TWINS)
def test_twins_are_refused_by_their_names(tmp_path, one, other):
    paths = [write(tmp_path / "in" / name, TEXT.replace("3", "4")) for name in (one, other)]
    sources = [tmp_path / "in", paths, [str(path) for path in paths], tuple(reversed(paths))]
    for source in sources:
        with pytest.raises(ValueError, match="would count twice") as caught:
            counted(source)
        assert str(tmp_path / "in") in str(caught.value)
    paths[1].unlink()
    assert counted(tmp_path / "in") == 50


ALIKE = [
    ("year=2020/part-0.parquet", "year=2021/part-0.parquet"),
    ("north/a.csv", "south/a.csv"),
    ("survey (1).csv", "survey (2).csv"),
    ("train.csv", "train/part.csv"),
    ("hardcopy.csv", "hard.csv"),
    ("a.csv", "ab.csv"),
    ("part 1.csv", "part 2.csv"),
    ("copy.csv", "copies.csv"),
    ("(1).csv", "a.csv"),
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_names_that_are_only_alike_are_read(tmp_path, one, other):
    """The same contents, too: contents are never compared, which would be a decision from records."""
    paths = [write(tmp_path / name) for name in (one, other)]
    assert counted(tmp_path) == counted(paths) == 100


def test_links_and_their_targets_are_one_file(tmp_path):
    path = write(tmp_path / "in" / "a.csv")
    for make in (os.symlink, os.link):
        make(path, tmp_path / "in" / "b.csv")
        with pytest.raises(ValueError, match="the same file on the disk"):
            counted(tmp_path / "in")
        (tmp_path / "in" / "b.csv").unlink()
    for source in ([path, path], [tmp_path / "in", path], [str(path), path]):
        with pytest.raises(ValueError, match="the same file"):
            counted(source)
    with pytest.raises(ValueError, match="the same folder"):
        counted([tmp_path / "in", tmp_path])
    (tmp_path / "in" / "loop").symlink_to(tmp_path / "in")
    with pytest.raises(ValueError, match="the same folder"):
        counted(tmp_path / "in")
    (tmp_path / "in" / "loop").unlink()
    (tmp_path / "elsewhere").symlink_to(tmp_path / "in")
    assert counted(tmp_path / "elsewhere") == 50
    (tmp_path / "in" / "b.csv").symlink_to(tmp_path / "nowhere.csv")
    with pytest.raises(FileNotFoundError, match="leads nowhere"):
        counted(tmp_path / "in")


def test_a_pipe_is_no_file(tmp_path):
    write(tmp_path / "a.csv")
    os.mkfifo(tmp_path / "b.csv")
    with pytest.raises(ValueError, match="no ordinary file"):
        counted(tmp_path)


def test_endings_in_capitals_and_other_endings(tmp_path):
    names = ("a.CSV", "b.Parquet", "c.PQ", "d.csv.gz", "e.Csv.Gz", "f.tsv", "g.TSV.GZ")
    for name in names:
        tabs = TEXT.replace(",", "\t") if "tsv" in name.lower() else TEXT
        path = write(tmp_path / Path(name).stem.lower().split(".")[0] / name, tabs)
        assert counted(path) == counted(path.parent) == 50
        assert keeps_places(path) == (path.suffix.lower() in (".parquet", ".pq"))
        done = mercer.density(path, columns="age", bounds=(0, 10), **PROMISE)
        assert done.privacy.n == 50
        assert done.share_of_values > 0.5
    (tmp_path / "x").mkdir()
    for name in ("survey.xlsx", "a.csv.zip", "b.feather"):
        (tmp_path / "x" / name).write_bytes(b"")
        with pytest.raises(ValueError, match=r"\.parquet, \.pq, \.csv, \.csv\.gz, \.tsv") as caught:
            counted(tmp_path / "x" / name)
        assert "data frame" in str(caught.value)
    with pytest.raises(ValueError, match="holds no"):
        counted(tmp_path / "x")
    write(tmp_path / "x" / "a.csv")
    assert said_of(tmp_path / "x").endswith(
        "1 file of " + repr(str(tmp_path / "x")) + ", 3 of other kinds not read"
    )


def test_what_is_a_list_of_files():
    assert paths_of("a.csv") == [Path("a.csv")]
    assert paths_of(Path("folder")) == [Path("folder")]
    assert paths_of(["a.csv", Path("folder"), "B.PARQUET"]) == [
        Path("a.csv"),
        Path("folder"),
        Path("B.PARQUET"),
    ]
    for data in (["a", "b"], ["a.csv", "b"], ["folder"], [], [1.0], ["a.csv", 1], [Path("a"), None], 3):
        assert paths_of(data) is None
    with pytest.raises(TypeError, match="a file, a folder or a list"):
        files_in(["a", "b"])
    assert ending_of(Path("a.b.CSV.gz")) == ".csv.gz"


def test_lists_of_files_in_every_entry(tmp_path):
    """n is that of all files together, in density, count, table, curve and machine."""
    rng = np.random.default_rng(0)
    paths = []
    for name in "abc":
        frame = pd.DataFrame(rng.random((40, 3)), columns=["x", "y", "z"])
        frame["sex"] = "f"
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        paths.append(tmp_path / f"{name}.csv")
    texts = [str(path) for path in paths]
    for source in (paths, tuple(paths), texts, tmp_path, [tmp_path], [tmp_path / "a.csv", *paths[1:]]):
        assert mercer.density(source, columns="x", bounds=(0, 1), **PROMISE).privacy.n == 120
        assert mercer.count(source, where={"sex": "f"}, **PROMISE).privacy.n == 120
    made = mercer.table(paths, domain={"x": (0, 1), "sex": ["f", "m"]}, bins={"x": 2}, **PROMISE)
    assert made.privacy.n == 120
    curve = mercer.mean_curve(paths, grid=[0, 0.5, 1], columns=["x", "y", "z"], bound=1, **PROMISE)
    assert curve.privacy.n == 120
    machine = mercer.regression(
        paths, "z", columns=["x"], bounds=(0, 1), y_bounds=(0, 1), delta=1e-6, **PROMISE
    )
    assert machine.privacy.n == 120
    assert said_of(paths) == "3 files"
    one, two = (mercer.density(s, columns="x", bounds=(0, 1), **PROMISE) for s in (paths, tmp_path))
    assert np.array_equal(one.coordinates, two.coordinates)


def test_the_note_of_a_ledger_holds_for_files_in_a_list(tmp_path):
    paths = [write(tmp_path / f"{name}.csv") for name in "abc"]
    book = mercer.Ledger(tmp_path / "ledger.db")
    book.register("one", epsilon=2, data=paths[1])
    ask = {"where": {"sex": "f"}, "epsilon": 0.5}
    with pytest.raises(LedgerError, match="counted in the ledger"):
        mercer.count(paths, **ask)
    assert mercer.count(paths, ledger=book, dataset="one", **ask).privacy.n == 150
    book.register("two", epsilon=2, data=paths[2])
    with pytest.raises(LedgerError, match="release them apart"):
        mercer.count(paths, ledger=book, dataset="one", **ask)


class TestPartitions:
    def test_folders_give_their_columns(self, tmp_path):
        for place, (year, town) in enumerate(
            [("2020", "St.%20Gallen"), ("2021", "Bern"), ("2021", "__HIVE_DEFAULT_PARTITION__")]
        ):
            for ending in (".csv", ".parquet"):
                folder = tmp_path / ending / f"year={year}" / f"town={town}"
                write(folder / f"part{ending}")
                assert place < 3
        for ending in (".csv", ".parquet"):
            source = tmp_path / ending
            schema, _ = file_batches(source)
            assert schema.names == ["age", "sex", "year", "town"]
            assert schema.field("year").type == pa.int64()
            assert schema.field("town").type == pa.string()
            assert rows_of(source, ["year"]) == 150  # no column of the files is asked for
            made = mercer.table(
                source,
                domain={"year": range(2020, 2023), "town": ["St. Gallen", "Bern"], "sex": ["f", "m"]},
                epsilon=1e6,
                insist=True,
                rng=5,
            )
            assert made.privacy.n == 150
            assert np.round(made.counts).sum() == 100  # a missing town is in no cell
            assert (
                round(
                    mercer.count(
                        source, where={"year": 2020, "town": "St. Gallen"}, epsilon=1e6, insist=True, rng=1
                    ).value
                )
                == 50
            )
            found = mercer.count(source, where={"year": 2021, "sex": "f"}, epsilon=1e6, insist=True, rng=1)
            assert round(found.value) == 100
            years = mercer.density(source, columns="year", bounds=(2000, 2040), **PROMISE)
            assert years.privacy.n == 150
            assert years.share_of_values > 0.8
            with pytest.raises(TypeError, match="'town' must hold numbers, which a column of type string"):
                mercer.density(source, columns="town", bounds=(0, 1), **PROMISE)
            persons = mercer.density(
                source, columns="age", bounds=(0, 9), unit="year", missing="zero", **PROMISE
            )
            assert persons.privacy.n == 2

    def test_damaged_lines_and_several_row_groups(self, tmp_path):
        write(tmp_path / "c" / "key=a" / "x.csv", TEXT + "1,2,3\n")
        assert rows_of(tmp_path / "c", ["key"]) == rows_of(tmp_path / "c", ["age", "key"]) == 51
        (tmp_path / "p" / "key=7").mkdir(parents=True)
        table = pa.table({"x": range(100)})
        pq.write_table(table, tmp_path / "p" / "key=7" / "x.parquet", row_group_size=30)
        _, tasks = file_batches(tmp_path / "p")
        batches = [batch for task in tasks(["key", "x"]) for batch in task()]
        assert pa.Table.from_batches(batches).to_pydict() == {"key": [7] * 100, "x": list(range(100))}
        assert rows_of(tmp_path / "p", ["key"]) == 100

    def test_a_list_of_files_has_those_below_their_common_folder(self, tmp_path):
        paths = [write(tmp_path / f"y={y}" / "a.csv") for y in (1, 2)]
        assert file_batches(paths)[0].names == ["age", "sex", "y"]
        assert file_batches([path.parent for path in paths])[0].names == ["age", "sex", "y"]
        assert file_batches(paths[0])[0].names == ["age", "sex"]
        assert file_batches(paths[0].parent)[0].names == ["age", "sex"]

    def test_what_does_not_fit_together_is_refused(self, tmp_path):
        write(tmp_path / "a" / "y=1" / "a.csv")
        write(tmp_path / "a" / "b.csv")
        with pytest.raises(ValueError, match="name the same columns"):
            counted(tmp_path / "a")
        write(tmp_path / "b" / "age=1" / "a.csv")
        with pytest.raises(ValueError, match="'age' stands in the files and in the names"):
            counted(tmp_path / "b")
        write(tmp_path / "c" / "y=1" / "y=2" / "a.csv")
        with pytest.raises(ValueError, match="one column twice"):
            counted(tmp_path / "c")


def test_the_command_line_says_how_many_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("in/y=1/a.csv", "in/y=2/a.csv", "in/_old/a.csv", "in/notes.txt"):
        write(Path(name))
    words = "2 files of 'in', 1 skipped because their names begin with . or _, 1 of other kinds not read"
    ask = ["--epsilon", "1"]
    bounds = ["--column", "age", "--bounds", "0", "10"]
    commands = [
        ["count", "--where", "sex=f", *ask],
        ["density", *bounds, *ask, "-o", "d.json", "--overwrite"],
        ["quantiles", *bounds, *ask],
        ["histogram", "--column", "sex", "--categories", "f", "m", *ask, "-o", "h.json", "--overwrite"],
    ]
    for name, *rest in commands:
        code, out, err = run(capsys, name, "in", *rest)
        assert (code, err) == (0, f"Reading {words}\n"), err
        code, out, err = run(capsys, name, "in", *rest, "--json")
        assert (code, err, json.loads(out)["files"]) == (0, "", words)
        code, out, err = run(capsys, name, "in/y=1/a.csv", *rest, "--json")
        assert (code, err) == (0, "")
        assert "files" not in json.loads(out)
    Path("domain.yaml").write_text("age: [0, 10]\nsex: [f, m]\n")
    synthesize = ["synthesize", "in", "--domain", "domain.yaml", "--delta", "1e-6", *ask]
    code, out, err = run(capsys, *synthesize, "--size", "5", "-o", "s.json", "--json")
    assert (code, err, json.loads(out)["files"]) == (0, "", words)


class TestHeaders:
    """The first line of a file without a header is a person's record."""

    @pytest.mark.parametrize(
        "line",
        [
            "37,1972-03-01,,62.5",
            "37",
            "1,2,3",
            "03/01/1972,17:30",
            '"1,5","$1,234.50"',
            ",",
            "-1e5,nan",
            "12 %,.5",
        ],
    )
    def test_a_first_line_of_numbers_is_refused_unseen(self, tmp_path, line):
        path = tmp_path / "a.csv"
        path.write_text(line + "\n" + line + "\n")
        for columns in ("age", line.split(",")[0] or None, None):
            with pytest.raises(ValueError, match="seems to have no header") as caught:
                mercer.density(path, columns=columns, bounds=(0, 1), **PROMISE)
            assert not any(part and part in str(caught.value) for part in line.split(","))

    @pytest.mark.parametrize(
        "line",
        [
            "smith,1972-03-01,f",
            "37,f,flu",
            "flu,ann@ward.org",
            "flu,flu",
            "f,yes,north",
            "f,NULL",
            "a,12:30",
            "37;f,flu",
        ],
    )
    def test_no_message_shows_a_line_that_looks_like_a_record(self, tmp_path, line):
        (tmp_path / "a.csv").write_text(line + "\n" + line + "\n")
        frame = pd.DataFrame([[1.0] * len(line.split(","))])
        frame.columns = line.split(",")
        asked = [
            lambda data: mercer.density(data, columns="age", bounds=(0, 1), **PROMISE),
            lambda data: mercer.density(data, bounds=[(0, 1)] * 9, **PROMISE),
            lambda data: mercer.count(data, where={"age": 3}, **PROMISE),
            lambda data: mercer.classifier(data, "ill", classes=["a", "b"], bounds=(0, 1), **PROMISE),
            lambda data: mercer.mean_curve(data, grid=[0, 1], columns=["a1", "a2"], bound=1, **PROMISE),
            lambda data: mercer.mean_curve(data, long=("id", "t", "x"), bounds=(0, 1), bound=1, **PROMISE),
            lambda data: mercer.synthetic(data, domain={"age": (0, 1)}, delta=1e-6, **PROMISE),
        ]
        for data in (tmp_path / "a.csv", frame):
            for ask in asked:
                with pytest.raises(ValueError, match="column") as caught:
                    ask(data)
                for part in line.replace(";", ",").split(","):
                    assert repr(part) not in str(caught.value)

    def test_names_are_listed_where_they_are_names(self):
        assert listed(["age", "sex", "2nd dose", "", "h_1.5"]) == "'age', 'sex', '2nd dose', '', 'h_1.5'"
        assert listed([f"c{i}" for i in range(40)]).endswith("'c29' and 10 more")
        assert "does the file have a header?" in listed(["f", "37"])

    @pytest.mark.parametrize(
        ("name", "text", "words"),
        [
            ("a.csv", "age;sex\n3;f\n", "separated by ';', where commas are expected"),
            ("a.csv", "37;1972-03-01\n3;f\n", "separated by ';'"),
            ("a.csv", "age\tsex\n3\tf\n", "separated by tabs.*end its name in .tsv"),
            ("a.csv", "age|sex\n3|f\n", r"separated by '\|'"),
            ("a.tsv", "age,sex\n3,f\n", "separated by commas, where tabs are expected"),
        ],
    )
    def test_another_separator_is_named(self, tmp_path, name, text, words):
        (tmp_path / name).write_text(text)
        for columns in (None, "age"):
            with pytest.raises(ValueError, match=words) as caught:
                mercer.density(tmp_path / name, columns=columns, bounds=(0, 1), **PROMISE)
            assert "37" not in str(caught.value)

    def test_a_mark_in_quotation_marks_is_part_of_a_name(self, tmp_path):
        (tmp_path / "a.csv").write_text('"height; cm"\n3\n4\n')
        done = mercer.density(tmp_path / "a.csv", bounds=(0, 10), **PROMISE)
        assert done.domain.names == ("height; cm",)
        (tmp_path / "b.csv").write_text("age,kg;sex\n3,4;f\n")
        with pytest.raises(ValueError, match="looks separated by ';'"):
            mercer.density(tmp_path / "b.csv", columns="sex", bounds=(0, 10), **PROMISE)

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
    def test_other_encodings_are_named(self, tmp_path, encoding):
        (tmp_path / "a.csv").write_bytes("age,sex\n37,f\n".encode(encoding))
        with pytest.raises(ValueError, match="is not UTF-8.*save it as UTF-8"):
            mercer.density(tmp_path / "a.csv", columns="age", bounds=(0, 1), **PROMISE)

    def test_a_header_that_is_not_utf8_is_not_shown(self, tmp_path):
        (tmp_path / "a.csv").write_bytes("größe,alter\n1,2\n".encode("latin-1"))
        with pytest.raises(ValueError, match="is not UTF-8; save the file") as caught:
            mercer.density(tmp_path / "a.csv", columns="alter", bounds=(0, 1), **PROMISE)
        assert "alter" not in str(caught.value)
        assert "gr" not in str(caught.value).replace("Program", "")

    def test_the_mark_of_utf8_is_taken_off_and_cells_may_be_anything(self, tmp_path):
        (tmp_path / "a.csv").write_bytes(b"\xef\xbb\xbfage,sex\n3,f\n\xff\xfe,\xe9\n4,\0\n")
        assert header_of(tmp_path / "a.csv") == ["age", "sex"]
        assert rows_of(tmp_path / "a.csv") == 3
        assert mercer.density(tmp_path / "a.csv", columns="age", bounds=(0, 9), **PROMISE).privacy.n == 3

    @pytest.mark.parametrize(
        "header",
        [
            'age,"a\nb",c',
            'a"b,"c""d",e',
            "x",
            " a , b ",
            'age,"' + "y" * 40_000 + '"',
            ",".join(f"c{i}" for i in range(9_000)),
        ],
    )
    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_names_are_those_that_arrow_reads(self, tmp_path, header, end):
        path = tmp_path / "a.csv"
        cells = pa.csv.read_csv(
            pa.BufferReader((header + end).encode()),
            parse_options=pa.csv.ParseOptions(newlines_in_values=True),
        ).schema.names
        path.write_bytes((header + end + ("1," * len(cells))[:-1] + end).encode())
        assert header_of(path) == cells
        assert rows_of(path, [cells[-1]]) == 1

    @pytest.mark.parametrize("text", [b"", b"\xef\xbb\xbf", b'"' + b"a" * (1 << 25)])
    def test_what_has_no_first_line_cannot_be_read(self, tmp_path, text):
        (tmp_path / "a.csv").write_bytes(text)
        with pytest.raises(ValueError, match="cannot be read as CSV"):
            counted(tmp_path / "a.csv")

    def test_a_damaged_gzip_file_cannot_be_read(self, tmp_path):
        whole = gzip.compress(TEXT.encode() * 9)
        for text in (whole[:30], b"age,sex\n1,f\n", whole[:12] + b"\xff" * 40):
            (tmp_path / "a.csv.gz").write_bytes(text)
            with pytest.raises(ValueError, match="cannot be read as CSV"):
                counted(tmp_path / "a.csv.gz")


class TestThreadsOfArrow:
    """None may want Python's lock while Python ends: status 134 instead of 2."""

    @pytest.fixture
    def large(self, tmp_path):
        path = tmp_path / "large.csv"
        path.write_text("age,x\n" + "37,12345678\n" * 4_000_000)  # several blocks
        return path

    def test_names_are_read_without_one(self, large, monkeypatch):
        def no_reader(*_args, **_options):
            raise AssertionError("a reader was opened to learn the names")

        monkeypatch.setattr(pa.csv, "open_csv", no_reader)
        schema, _ = file_batches(large)
        assert schema.names == ["age", "x"]

    @pytest.mark.parametrize("how", ["given up", "read to the end", "forgotten", "failed"])
    def test_a_reader_ends_with_its_threads(self, large, monkeypatch, how):
        """Nobody holds the function that they call once the stream is closed."""
        held = []
        make = pa.csv.ParseOptions

        def watched(**options):
            held.append(weakref.ref(options["invalid_row_handler"]))
            return make(**options)

        monkeypatch.setattr(pa.csv, "ParseOptions", watched)
        _, tasks = file_batches(large)
        stream = tasks(["age"])
        if how == "failed":
            with pytest.raises(ValueError, match="cannot be read"):
                next(_tasks(large, ["gone"], False))
        else:
            next(stream)
            if how == "read to the end":
                assert sum(batch.num_rows for task in stream for batch in task()) > 0
            if how == "given up":
                stream.close()
            del stream
        assert len(held) == 1
        assert held[0]() is None

    def test_a_wrong_column_ends_with_status_2(self, large):
        program = (
            "import sys\n"
            "from mercer.sensitive.data import open_rows\n"
            "try:\n"
            f"    open_rows({str(large)!r}, columns='agee', unit=None, dimension=1)\n"
            "except ValueError:\n"
            "    sys.exit(2)"
        )

        def status(_):
            return subprocess.run(
                [sys.executable, "-c", program], check=False, capture_output=True
            ).returncode

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(status, range(20))) == [2] * 20

    def test_a_stream_that_is_left_open_ends_before_python(self, large):
        program = (
            "import sys\n"
            "from mercer.sources.files import file_batches\n"
            f"stream = file_batches({str(large)!r})[1](['age'])\n"
            "next(stream)\n"
            "sys.exit(2)"
        )
        started = time.monotonic()
        for _ in range(3):
            done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True)
            assert (done.returncode, done.stderr) == (2, b"")
        assert time.monotonic() - started < 50  # and nobody waits for what is gone
