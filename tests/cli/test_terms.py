"""What all commands that release share: how cells are read, dry runs, files that are not lost."""

import csv
import errno
import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mercer
from mercer.cli import releasing
from mercer.cli.releasing import worded
from mercer.cli.typed import columns_of, pairs, spread
from mercer.ledger.ledger import Ledger
from mercer.online.store import LiveUnavailable
from mercer.releases import base as storage
from mercer.show import terminal
from tests.helpers.shell import released, run

SEED = ("--seed", 1)
AGE = ("--column", "age", "--bounds", "0", "100")
DENSITY = ("density", "people.csv", *AGE, "--epsilon", 1)
QUANTILES = ("quantiles", "people.csv", *AGE, "--epsilon", 1)
COUNT = ("count", "people.csv", "--where", "age>=65", "--epsilon", 1)
HISTOGRAM = ("histogram", "people.csv", *AGE, "--bins", 5, "--epsilon", 1)
TABLE = (
    "table",
    "people.csv",
    "--domain",
    "domain.yaml",
    "--columns",
    "age",
    "--bins",
    "age=5",
    "--epsilon",
    1,
)
CLASSIFY = (
    "classify",
    "people.csv",
    *AGE,
    "--label",
    "ill",
    "--classes",
    "no",
    "yes",
    "--features",
    "random",
    "--size",
    8,
    "--epsilon",
    1,
    "--delta",
    1e-6,
)
REGRESS = (
    "regress",
    "people.csv",
    *AGE,
    "--label",
    "bmi",
    "--y-bounds",
    10,
    60,
    "--features",
    "random",
    "--size",
    8,
    "--epsilon",
    1,
    "--delta",
    1e-6,
)
SYNTHESIZE = (
    "synthesize",
    "people.csv",
    "--domain",
    "domain.yaml",
    "--size",
    20,
    "--epsilon",
    1,
    "--delta",
    1e-6,
)
LIVE = ("live", "people.csv", *AGE, "--epsilon", 1, "--delta", 1e-6, "--kernel", "matern32")
WRITING = {
    "density": DENSITY,
    "histogram": HISTOGRAM,
    "table": TABLE,
    "classify": CLASSIFY,
    "regress": REGRESS,
    "synthesize": SYNTHESIZE,
}
FREE = {"quantiles": QUANTILES, "count": COUNT}  # need no file
ALL = WRITING | FREE | {"live": LIVE}
CLIPPING = {name: call for name, call in ALL.items() if name != "count"}


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    rng = np.random.default_rng()
    folder = tmp_path_factory.mktemp("people")
    rows = [
        f'{k // 2:04d},{age},"${pay:,.2f}",{k % 28 + 1:02d}/{k % 12 + 1:02d}/2023,{ill},{bmi:.1f}'
        for k, (age, pay, ill, bmi) in enumerate(
            zip(
                rng.integers(20, 90, 400),
                rng.uniform(1e3, 9e4, 400),
                rng.choice(["no", "yes"], 400),
                rng.uniform(18, 40, 400),
                strict=True,
            )
        )
    ]
    (folder / "people.csv").write_text("id,age,income,day,ill,bmi\n" + "\n".join(rows) + "\n")
    (folder / "domain.yaml").write_text("age: [0, 100]\nill: boolean\n")
    return folder


@pytest.fixture
def folder(people, tmp_path, monkeypatch):
    for name in ("people.csv", "domain.yaml"):
        shutil.copy(people / name, tmp_path / name)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


@pytest.fixture
def book(folder):
    """A ledger in a folder of its own."""
    (folder / "books").mkdir()
    Ledger("books/b.db").register("people", epsilon=30, delta=1e-3)
    return ("--ledger", "books/b.db", "--dataset", "people")


def charges():
    return Ledger("books/b.db").history("people")


# --- dry runs


@pytest.mark.parametrize("name", ALL)
def test_dry_runs_write_nothing_spend_nothing_and_need_no_file(folder, book, capsys, name):
    before = sorted(path.name for path in folder.rglob("*"))
    out = released(capsys, *ALL[name], *book, "--dry-run", "--na", 999, "--format", "age=1,234.50")
    assert "Dry run: nothing was spent, nothing was released" in out
    assert "400 rows" in out
    assert "epsilon = 1, delta =" in out
    told = json.loads(released(capsys, *ALL[name], *book, "--dry-run", "--json"))
    assert (told["dry_run"], told["n"], told["unit"], told["epsilon"]) == (True, 400, "row", 1)
    assert not charges()
    assert sorted(path.name for path in folder.rglob("*")) == before


def test_a_dry_run_of_persons_and_of_a_ledger_that_is_spent(folder, book, capsys):
    out = released(capsys, *DENSITY, "--unit", "id", "--dry-run")
    assert "200 persons" in out
    code, out, err = run(capsys, *DENSITY[:-1], 19, *book, "-o", "a.json")
    assert code == 0, err
    code, out, err = run(capsys, *DENSITY[:-1], 19, *book, "--dry-run")
    assert (code, out) == (2, "")
    assert "BudgetExceeded" not in err
    assert len(charges()) == 1
    code, _, err = run(capsys, *DENSITY, "--dry-run", "-o", "nowhere/a.json")
    assert (code, "there is no folder" in err) == (2, True)


# --- how cells are read


@pytest.mark.parametrize("name", sorted(set(CLIPPING) - {"live"}))
def test_what_stands_for_a_missing_cell_reaches_the_call(folder, capsys, name):
    """The same release, bit for bit, as of a file in which those cells are empty."""
    lines = (folder / "people.csv").read_text().splitlines()
    head, rows = lines[0], [line.split(",", 2) for line in lines[1:]]

    def made(code, *options):
        cells = [f"{a},{code if k % 4 == 0 else b},{c}" for k, (a, b, c) in enumerate(rows)]
        (folder / "people.csv").write_text("\n".join([head, *cells]) + "\n")
        released(capsys, *CLIPPING[name], *SEED, "-o", "a.json", "--overwrite", *options)
        return re.sub(r'"outside": "\w+"', "", Path("a.json").read_text())

    clean = made("")
    assert made(999, "--na", "999") == clean
    assert made(999, "--na", "age=999") == clean
    assert made(999, "--outside", "drop") == clean
    assert made(999) != clean


def test_live_releases_read_cells_alike(folder, capsys):
    (folder / "people.csv").write_text("age\n" + "999\n" * 3000 + "50\n" * 1000)
    high = {}
    for name, options in [("clip", ()), ("na", ("--na", 999)), ("drop", ("--outside", "drop"))]:
        sure = ("--epsilon", 20, "--bandwidth", 5)
        released(capsys, *LIVE[:-6], *sure, *LIVE[-4:], "--store", f"{name}.db", *options)
        with mercer.open_live(f"{name}.db") as opened:
            high[name] = float(opened.ask(99.0))
    assert high["clip"] > 0.05
    assert max(abs(high["na"]), abs(high["drop"])) < 0.01


def test_formats_and_dates(folder, capsys):
    income = (
        "quantiles",
        "people.csv",
        "--column",
        "income",
        "--bounds",
        0,
        100000,
        "--q",
        0.5,
        "--epsilon",
        20,
    )
    told = json.loads(released(capsys, *income, "--format", "income=$1,234.50", "--json"))
    assert 2e4 < told["values"][0] < 7e4
    days = ("density", "people.csv", "-c", "day", "--bounds", "2023-01-01", "2023-12-31", "--epsilon", 1)
    told = json.loads(released(capsys, *days, "--format", "day=31/12/2023", "-o", "d.json", "--json"))
    assert told["domain"]["columns"] == ["day"]
    code, _, err = run(capsys, *days, "--format", "31/12/2023", "-o", "e.json")
    assert (code, "--format must be COLUMN=EXAMPLE" in err) == (2, True)
    code, _, err = run(capsys, *days, "--format", "dya=31/12/2023", "-o", "e.json")
    assert (code, "there is no column 'dya'" in err, "formats" in err) == (2, True, False)


def test_counts_know_missing_values(folder, capsys):
    (folder / "people.csv").write_text("age\n" + "999\n" * 100 + "70\n" * 100)
    sure = ("--epsilon", 400, "--insist")
    assert released(capsys, *COUNT[:-2], *sure).splitlines()[0] == "200"
    assert released(capsys, *COUNT[:-2], *sure, "--na", 999).splitlines()[0] == "100"
    share = released(capsys, *COUNT[:-2], *sure, "--na", "age=999", "--proportion").splitlines()
    assert share[0] == "0.5"
    assert share[1].startswith("95% interval ")


def test_bounds_by_name_and_of_dates():
    assert pairs(["0", "100"]) == (0, 100)
    assert pairs(["0", "1", "-2", "3e1"]) == [(0, 1), (-2, 30)]
    assert pairs(["2020-01-01", "2024-12-31"]) == ("2020-01-01", "2024-12-31")
    found = pairs(["age=0,100", "a=b=-1,2", "day=2020-01-01,2024-12-31"])
    assert found == {"age": (0, 100), "a=b": (-1, 2), "day": ("2020-01-01", "2024-12-31")}
    assert pairs(None) is None
    assert columns_of(["0", "1", "2", "3"]) == 2
    assert columns_of(["age=0,1"]) == 1
    assert spread(["--bounds", "age=0,100", "bmi=-1,60", "f.csv"]) == [
        "--bounds=age=0,100",
        "--bounds=bmi=-1,60",
        "f.csv",
    ]
    assert spread(["--na", "999", "-1", "unknown", "-o", "f"]) == [
        "--na=999",
        "--na=-1",
        "--na=unknown",
        "-o",
        "f",
    ]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["0"], "two numbers, LO HI, got the one number 0.*--bounds 0 100"),
        (["0", "1", "2"], "pairs LO HI, got 3 numbers"),
        (["0,", "100"], "with spaces between them and no commas: --bounds 0 100"),
        (["0,100"], "--bounds 0 100"),
        (["zero", "100"], "numbers, or dates.*'zero'"),
        (["age=0,100", "5"], "got '5'"),
        (["age=0"], "NAME=LO,HI"),
        (["age=0,1", "age=0,2"], "'age' stands twice"),
        (["age=a,b"], "got 'a'"),
    ],
)
def test_bounds_that_are_no_bounds(words, message):
    with pytest.raises(ValueError, match=message):
        pairs(words)


@pytest.mark.parametrize("name", ["density", "quantiles", "classify", "regress", "histogram"])
def test_bounds_by_name_on_commands(folder, capsys, name):
    call = [*ALL[name]]
    place = call.index("--bounds")
    call[place : place + 3] = ["--bounds", "age=0,100"]
    files = () if name == "quantiles" else ("-o", "a.json")
    other = () if name == "quantiles" else ("-o", "b.json")
    one = released(capsys, *call, *SEED, *files, "--json")
    two = released(capsys, *ALL[name], *SEED, *other, "--json")
    assert one == two.replace("b.json", "a.json")


# --- promises that are none


@pytest.mark.parametrize("name", ALL)
def test_large_epsilons_are_refused_unless_insisted_on(folder, book, capsys, name):
    call = [*ALL[name]]
    call[call.index("--epsilon") + 1] = 25
    place = {"live": ("--store", "l.db")}.get(name, ("-o", "a.json"))
    code, out, err = run(capsys, *call, *book, *place)
    assert (code, out if name != "synthesize" else "") == (2, "")
    assert "say --insist" in err
    assert "insist=True" not in err
    assert not charges()
    released(capsys, *call, *book, *place, "--insist")
    assert len(charges()) == 1


@pytest.mark.parametrize("name", ["density", "quantiles", "count", "live"])
def test_what_python_warns_of_is_a_note(folder, capsys, name):
    call = [*ALL[name]]
    call[call.index("--epsilon") + 1] = 0.01
    place = {"live": ("--store", "l.db"), "density": ("-o", "a.json")}.get(name, ())
    code, out, err = run(capsys, *call, *place)
    assert code == 0, err
    assert out
    (line,) = err.strip().splitlines()
    assert line.startswith("Note: n times epsilon is 4: ")
    assert ".py" not in line


# --- files


@pytest.mark.parametrize("name", WRITING)
def test_a_missing_name_is_told_before_anything_is_spent(folder, book, capsys, name):
    code, _, err = run(capsys, *WRITING[name], *book)
    assert (code, "-o" in err) == (2, True)
    assert not charges()


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("name", WRITING | FREE)
@pytest.mark.parametrize("option", ["-o", "--plot"])
def test_folders_are_proved_before_anything_is_spent(folder, book, capsys, monkeypatch, name, option):
    if option == "--plot" and name == "quantiles":
        pytest.skip("quantiles have no picture")
    ending = "json" if option == "-o" else "png"
    rest = ("-o", "a.json") if option == "--plot" and name in WRITING else ()
    real = releasing.tempfile.mkstemp

    def refuse(dir, **options):
        if Path(dir).name == "out":
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(dir=dir, **options)

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    code, out, err = run(capsys, *ALL[name], *book, *rest, option, f"out/a.{ending}")
    assert (code, out) == (2, "")
    assert "the folder 'out' cannot be written to (Permission denied)" in err
    monkeypatch.setattr("tempfile.mkstemp", real)
    monkeypatch.setattr("os.fsync", full)
    code, out, err = run(capsys, *ALL[name], *book, *rest, option, f"out/a.{ending}")
    assert (code, "No space left on device" in err) == (2, True)
    monkeypatch.undo()
    assert not any((folder / "out").iterdir())


def test_a_folder_is_no_file(folder, capsys):
    (folder / "x.json").mkdir()
    code, _, err = run(capsys, *DENSITY, "-o", "x.json", "--overwrite")
    assert (code, "is a folder" in err) == (2, True)
    code, _, err = run(capsys, *DENSITY, "-o", f"{'x' * 245}.json")
    assert (code, "nothing was spent" in err) == (2, True)


@pytest.mark.parametrize("name", WRITING | FREE)
def test_a_release_that_was_paid_for_is_kept_beside_the_ledger(folder, book, capsys, monkeypatch, name):
    """The folder goes between the charge and the writing."""
    real = Ledger.charge

    def charge(self, *args, **options):
        found = real(self, *args, **options)
        shutil.rmtree(folder / "out")
        return found

    monkeypatch.setattr(Ledger, "charge", charge)
    code, out, err = run(capsys, *ALL[name], *book, "-o", "out/a.json")
    assert code == releasing.NOT_AS_ASKED, err
    kept = folder / "books" / "a.json"
    assert f"it was kept as {kept}" in " ".join(err.split())
    assert "there is no folder 'out'" in err
    assert str(kept) in out.replace("\n", "")
    assert len(charges()) == 1
    if name == "quantiles":
        assert json.loads(kept.read_text())["kind"] == "quantiles"
    else:
        assert mercer.load(kept).privacy.epsilon == 1


def test_mean_curves_are_kept_likewise(folder, book, capsys, monkeypatch):
    rows = "\n".join(f"{0.1 * (k % 7)},0.5,0.4,{k % 2}" for k in range(200))
    (folder / "waves.csv").write_text(f"h_0,h_1,h_2,case\n{rows}\n")
    real = Ledger.charge

    def charge(self, *args, **options):
        found = real(self, *args, **options)
        shutil.rmtree(folder / "out", ignore_errors=True)
        return found

    monkeypatch.setattr(Ledger, "charge", charge)
    code, out, err = run(
        capsys,
        "curve",
        "waves.csv",
        "--columns",
        "h_0",
        "h_1",
        "h_2",
        "--grid",
        0,
        1,
        "--bound",
        1,
        "--by",
        "case",
        "--groups",
        0,
        1,
        "--disjoint",
        "--epsilon",
        1,
        "--delta",
        1e-6,
        *book,
        "-o",
        "out/m.json",
    )
    assert code == releasing.NOT_AS_ASKED, err
    for name in ("m-0.json", "m-1.json"):
        assert mercer.load(folder / "books" / name).kind == "mean-curve"
        assert str(folder / "books" / name) in err
        assert name in out


def test_mean_curves_have_the_same_terms(folder, book, capsys):
    rows = [f"{0.1 * (k % 7)},0.5,0.4,{k % 2}" for k in range(200)]

    def made(code, *options):
        cells = [f"{code},{row.split(',', 1)[1]}" if k % 4 == 0 else row for k, row in enumerate(rows)]
        (folder / "waves.csv").write_text("\n".join(["h_0,h_1,h_2,case", *cells]) + "\n")
        released(capsys, *call, *SEED, "-o", "m.json", "--overwrite", *options)
        return Path("m.json").read_text()

    call = (
        "curve",
        "waves.csv",
        "--columns",
        "h_0",
        "h_1",
        "h_2",
        "--grid",
        0,
        1,
        "--bound",
        1,
        "--epsilon",
        1,
        "--delta",
        1e-6,
    )
    assert made("") == made(-999, "--na", -999)
    assert made("") != made(-999)
    groups = ("--by", "case", "--groups", 0, 1, "--disjoint")
    for more in ((), groups):
        assert "Dry run: nothing was spent" in released(capsys, *call, *more, *book, "--dry-run")
        told = json.loads(released(capsys, *call, *more, *book, "--dry-run", "--json"))
        assert (told["dry_run"], told["epsilon"]) == (True, 1)
    large = [*call[:-3], 25, *call[-2:]]
    code, _, err = run(capsys, *large, *book, "-o", "l.json")
    assert (code, "say --insist" in err) == (2, True)
    assert not charges()
    released(capsys, *large, *book, "-o", "l.json", "--insist")
    code, _, err = run(capsys, *call, *book, "-o", "l2.json", "--na", "h_0=3")
    assert (code, len(charges())) == (2, 1)
    assert "for all their columns alike" in err


def test_havens_in_order_and_standard_output_at_last(folder, capsys, monkeypatch):
    """A disk that is full everywhere; nothing that is there already is replaced."""
    release = mercer.density([1.0, 2.0, 3.0] * 30, bounds=(0, 4), epsilon=1)
    real, tried, bad = storage.replace_text, [], []

    def write(path, text, *, mode):
        tried.append(Path(path))
        if Path(path).parent in bad:
            full()
        real(path, text, mode=mode)

    monkeypatch.setattr(storage, "replace_text", write)
    homes = [folder / name for name in ("books", "here", "home", "temporary")]
    for home in homes:
        home.mkdir()
    monkeypatch.chdir(homes[1])
    monkeypatch.setenv("HOME", str(homes[2]))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(homes[3]))
    (homes[0] / "a.json").write_text("older")
    bad.append(folder / "out")
    for k, home in enumerate(homes):
        found = releasing.keep(release, folder / "out" / "a.json", str(homes[0] / "b.db"))
        assert found == home / ("a-2.json" if k == 0 else "a.json")
        assert mercer.load(found).coordinates.tolist() == release.coordinates.tolist()
        err = capsys.readouterr().err
        assert "No space left on device" in err
        assert str(found) in err
        bad.append(home)
    assert (homes[0] / "a.json").read_text() == "older"
    with pytest.raises(BaseException) as stopped:  # noqa: PT011
        releasing.keep(release, folder / "out" / "a.json", "postgresql://host/books")
    assert stopped.value.exit_code == releasing.NOT_AS_ASKED
    captured = capsys.readouterr()
    (folder / "printed.json").write_text(captured.out)
    monkeypatch.undo()
    assert mercer.load(folder / "printed.json").privacy.epsilon == 1


@pytest.mark.parametrize("name", ["density", "histogram", "count", "classify", "synthesize"])
def test_a_picture_that_fails_hides_nothing(folder, book, capsys, monkeypatch, name):
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", full)
    code, out, err = run(capsys, *ALL[name], *book, "-o", "a.json", "--plot", "a.png")
    assert code == releasing.NOT_AS_ASKED
    assert "plot: a.png could not be written (No space left on device); the release is in a.json" in err
    assert "Written to a.json" in out
    assert mercer.load("a.json").privacy.epsilon == 1
    assert len(charges()) == 1


@pytest.mark.parametrize("kernel", ["matern32", "gaussian"])
def test_a_store_that_does_not_take_a_live_release_loses_nothing(folder, book, capsys, monkeypatch, kernel):
    def create(self, record):
        raise LiveUnavailable("store 'l.db': database or disk is full")

    monkeypatch.setattr("mercer.online.sql.Tables.create", create)
    code, _, err = run(capsys, *LIVE[:-1], kernel, *book, "--store", "l.db")
    kept = folder / "books" / "l.json"
    assert code == releasing.NOT_AS_ASKED
    assert "disk is full" in err
    assert str(kept) in err
    assert mercer.load(kept).privacy.epsilon == 1
    assert len(charges()) == 1


def test_saving_into_a_folder_that_is_not_there_says_what_to_do(folder):
    release = mercer.quantiles([1.0, 2.0] * 20, 0.5, bounds=(0, 4), epsilon=1)
    with pytest.raises(OSError, match="there is no folder.*not lost: save it again to another place"):
        release.save("nowhere/q.json")
    assert release.save("q.json") == Path("q.json")
    with pytest.raises(ValueError, match="holds quantiles"):
        mercer.load("q.json")


@pytest.mark.parametrize("name", FREE)
def test_what_is_not_written_is_said(folder, capsys, name):
    out = released(capsys, *FREE[name])
    assert "Nothing was written: keep these numbers, or name a file with -o next time." in out
    out = released(capsys, *FREE[name], "-o", "a.json")
    assert "Written to a.json" in out
    assert "Nothing was written" not in out
    assert json.loads(Path("a.json").read_text())["format"] == "mercer-release"
    code, _, err = run(capsys, *FREE[name], "-o", "a.json")
    assert (code, "exists" in err) == (2, True)


def test_the_count_comes_first(folder, capsys):
    lines = released(capsys, *COUNT).splitlines()
    assert int(lines[0]) >= 0
    assert lines[1].startswith("95% interval ")


# --- mistakes


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            ("density", "people.csv", "--column", "age", "bmi", *AGE[2:], "--epsilon", 1, "-o", "a.json"),
            "'bmi' follows a column that is named already.*--column age --column bmi",
        ),
        ((*DENSITY, "sure", "-o", "a.json"), "'sure' stands where nothing is expected after --epsilon"),
        ((*DENSITY, "--colum", "age", "-o", "a.json"), "--colum.*mercer density --help"),
        ((*DENSITY[:-1], "one", "-o", "a.json"), "Invalid value for '--epsilon'"),
        ((*DENSITY[:-2], "-o", "a.json"), "epsilon is missing"),
        (
            ("density", "people.csv", "-c", "age", "--bounds", "0", "--epsilon", 1, "-o", "a.json"),
            "got the one number 0",
        ),
        (
            ("density", "people.csv", "-c", "age", "--bounds", "low", 9, "--epsilon", 1, "-o", "a.json"),
            "numbers, or dates.*'low'",
        ),
        ((*DENSITY, "--na", "999", "age=3", "-o", "a.json"), "got both: 999 age=3"),
        ((*DENSITY, "--na", "agee=3", "-o", "a.json"), "--na: there is no column 'agee'"),
        ((*DENSITY, "--outside", "keep", "-o", "a.json"), "outside must be one of"),
        ((*DENSITY, "--ledger", "gone.db", "--dataset", "d", "-o", "a.json"), "there is no ledger"),
        (("densitty", "people.csv"), "densitty"),
    ],
)
def test_mistakes_are_one_line_that_names_the_cause(folder, capsys, call, message):
    code, out, err = run(capsys, *call)
    assert (code, out) == (2, "")
    (line,) = err.strip().splitlines()
    assert line.startswith("Error: ")
    assert re.search(message, line), line
    code, out, err = run(capsys, *call, "--json")
    assert json.loads(err)["error"]
    assert not (folder / "a.json").exists()


def test_options_are_named_as_they_are_typed():
    assert worded("say insist=True (--insist)") == "say --insist"
    assert worded("give ledger= and dataset='d'") == "give --ledger and --dataset d"
    assert worded("na_values: there is no column 'x'") == "--na: there is no column 'x'"
    assert worded("where: write {'age': (65, 70)} or {'age': ['65-70']}") == (
        """--where: write 'age=65..70' or 'age="65-70"'"""
    )


# --- predictions


@pytest.fixture
def machine(folder, capsys):
    released(capsys, *CLASSIFY, *SEED, "-o", "ill.json")
    (folder / "new.csv").write_text("patient,age,ward\n007,30,a\n08,80,\n,50,c\n")
    return folder


def test_predictions_keep_columns_as_they_stand(machine, capsys):
    out = released(capsys, "predict", "ill.json", "new.csv")
    assert "--keep patient" in out
    out = released(capsys, "predict", "ill.json", "new.csv", "--keep", "patient", "ward")
    assert "007" in out
    assert "to keep columns" not in out
    for ending in ("csv", "parquet"):
        released(capsys, "predict", "ill.json", "new.csv", "--keep", "patient", "ward", "-o", f"p.{ending}")
    with Path("p.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["row", "patient", "ward", "prediction"]
    assert [row["patient"] for row in rows] == ["007", "08", ""]
    table = pq.read_table("p.parquet").to_pylist()
    assert [row["patient"] for row in table] == ["007", "08", None]
    assert [row["prediction"] for row in table] == [row["prediction"] for row in rows]
    told = json.loads(released(capsys, "predict", "ill.json", "new.csv", "--keep", "patient", "--json"))
    assert told["predictions"][0]["patient"] == "007"
    pq.write_table(pa.table({"age": [30.0, 40.0], "id": [7, None]}), "new.parquet")
    told = json.loads(released(capsys, "predict", "ill.json", "new.parquet", "--keep", "id", "--json"))
    assert [row["id"] for row in told["predictions"]] == [7, None]


def test_mistakes_of_keeping(machine, capsys):
    (machine / "odd.csv").write_text("prediction,age\n1,30\n")
    for call, message in [
        (("new.csv", "--keep", "id"), "--keep must name columns of new.csv"),
        (("new.csv", "--keep", "ward", "ward"), "each once"),
        (("odd.csv", "--keep", "prediction"), "is a column of the predictions"),
        (("--at", 30, "--keep", "id"), "--keep goes with a file"),
        (("new.csv", "-o", "nowhere/p.csv"), "there is no folder"),
    ]:
        code, _, err = run(capsys, "predict", "ill.json", *call)
        assert (code, message in err) == (2, True), err


@pytest.mark.parametrize("wide", [None, 20, 80])
def test_tables_cut_nothing(monkeypatch, capsys, wide):
    """Every number and name is printed whole: in a pipe on one line, on a terminal wrapped at spaces."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: wide is not None, raising=False)
    if wide is not None:
        monkeypatch.setenv("COLUMNS", str(wide))
    heads = [f"a column number {k}" for k in range(12)]
    cells = [f"-4.83333{k}" for k in range(12)]
    table = terminal.table(*heads)
    table.add_row(*cells)
    terminal.show(table)
    out = capsys.readouterr().out
    assert "…" not in out
    assert all(cell in out for cell in cells)
    if wide is None:
        assert len(out.splitlines()) == 2


def test_dry_runs_say_of_what_an_error_is(folder, capsys):
    """The bandwidth and whose it is, the unit of the tool at hand, and that a bound is one."""
    density = released(capsys, *DENSITY, "--dry-run")
    assert "the public rule's; the release chooses its own from the result, free" in density
    assert "as given" in released(capsys, *DENSITY, "--bandwidth", 5, "--dry-run")
    assert "The errors are of this bandwidth" in released(
        capsys, "plan", "density", "--n", 400, "--bounds", 0, 100, "--epsilon", 1
    )
    for name, unit, other in (
        ("regress", "half the width of y_bounds", "classes"),
        ("classify", "half the distance between the classes", "y_bounds"),
    ):
        out = released(capsys, *ALL[name], "--dry-run")
        expected = out[out.index("expected") : out.index("charge")]
        assert f"1 is {unit}, by a bound which is many times too large" in expected
        assert other not in expected


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (("count", "people.csv", "--where", "age=65-70"), "write 'age>=65' 'age<=70', for records"),
        (("count", "people.csv", "--where", "age=40..20"), "40 is above 20, but the least comes first"),
        (("count", "people.csv", "--where", "age=40..20"), "write 'age=20..40'"),
        (("count", "people.csv", "--where", "day=2023-02-01..2023-01-01"), "'day=2023-01-01..2023-02-01'"),
        (
            ("density", "people.csv", *AGE, "--step", 0.7, "-o", "a.json"),
            "end them at 100.1, use another step",
        ),
        (
            ("density", "people.csv", "-c", "age", "-c", "bmi", "--bounds", 0, 100, 0, 9, "--step", 1),
            "step is for one column, got 2 columns",
        ),
        (("density", "text.parquet", *AGE, "-o", "a.json"), "for example --format 'age=1,234.50'"),
    ],
)
def test_errors_say_what_to_type(folder, capsys, call, words):
    pq.write_table(pa.table({"age": ["a", "b"]}), "text.parquet")
    code, _, err = run(
        capsys, *call, "--epsilon", 1, *(() if "-o" in call or "count" in call else ("-o", "a.json"))
    )
    assert code != 0
    assert words in err
