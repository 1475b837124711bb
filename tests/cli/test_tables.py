"""`mercer synthesize`, and what `eval`, `plot` and `inspect` say of synthetic tables."""

import json
import re
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import mercer
from mercer.cli.app import app
from mercer.ledger.ledger import Ledger
from tests.helpers.shell import released, run

DOMAIN = """\
age: [0, 100]
visits: {type: integer, bounds: [0, 20]}
sex: [f, m]
smoker: boolean
stage: {ordered: [I, II, III]}
ward: {categories: [north, south], other: elsewhere}
admitted: [2020-01-01, 2020-12-31]
"""
PROMISE = ("--domain", "domain.yaml", "--epsilon", 4, "--delta", "1e-6", "--size", 60)


def patients(many=500):
    rng = np.random.default_rng()
    days = np.datetime64("2020-01-01") + rng.integers(0, 366, many)
    return pa.table(
        {
            "id": np.arange(many) // 2,
            "age": rng.normal(50, 20, many).round(1),
            "visits": rng.poisson(4, many),
            "sex": rng.choice(["f", "m"], many),
            "smoker": rng.random(many) < 0.3,
            "stage": rng.choice(["I", "II", "III"], many),
            "ward": rng.choice(["north", "south", "west"], many),
            "admitted": pa.array(days.astype("datetime64[D]")),
        }
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with records, a domain and a release."""
    folder = tmp_path_factory.mktemp("made")
    pyarrow.csv.write_csv(patients(), folder / "patients.csv")
    (folder / "domain.yaml").write_text(DOMAIN)
    domain = mercer.Domain.read(folder / "domain.yaml")
    release = mercer.synthetic(patients(), domain=domain, epsilon=4, delta=1e-6, size=60)
    release.save(folder / "table.json")
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    for name in ("patients.csv", "domain.yaml", "table.json"):
        (tmp_path / name).write_bytes((made / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


def test_the_whole_way(folder, capsys):
    out = released(
        capsys,
        "synthesize",
        "patients.csv",
        *PROMISE,
        "-o",
        "t.json",
        "--csv",
        "rows.csv",
        "--parquet",
        "rows.parquet",
        "--plot",
        "t.png",
    )
    before, after = out.split("Released a synthetic table")
    assert re.search(r"records +up to 60 synthetic ones", before)
    assert "its scales follow the laws of the columns, for a part of the budget" in before
    assert re.search(r"noise +in up to 60 coordinates", before)
    assert "how far a share of one column is off is measured when the table is made" in " ".join(
        before.split()
    )
    assert "Differentially private with epsilon = 4 (delta = 1e-06)" in " ".join(after.split())
    assert re.search(r"A share of one column, .* is off by (at most )?about [\d.]+ ", " ".join(after.split()))
    assert "±" not in after
    for word in (
        r"age +mean [\d.]+",
        r"smoker +false [\d.]+ %",
        r"stage +I [\d.]+ %",
        r"admitted +mean 2020-\d\d-\d\d",
    ):
        assert re.search(word, after), word
    assert "Written to t.json, rows.csv, rows.parquet, t.png" in after
    release = mercer.load("t.json")
    assert release.privacy.n == 500
    assert release.privacy.secure
    rows = pyarrow.csv.read_csv("rows.csv")
    assert rows.schema.names == [*release.domain.names, "weight"]
    assert np.array_equal(rows["weight"].to_numpy(), release.weights)
    written = pq.read_table("rows.parquet")
    assert written["age"].to_pylist() == release.points["age"].to_pylist()
    assert written.schema.metadata[b"mercer.privacy"] == str(release.privacy).encode()
    assert (folder / "t.png").stat().st_size > 10_000


def test_json_is_exact_and_a_sample_has_no_weights(folder, capsys):
    out = released(
        capsys,
        "synthesize",
        "patients.csv",
        *PROMISE,
        "-o",
        "t.json",
        "--csv",
        "rows.csv",
        "--sample",
        70,
        "--weights",
        "l1",
        "--bound",
        2,
        "--kernel",
        "matern52",
        "--unit",
        "id",
        "--scale",
        0.4,
        "--json",
    )
    said = json.loads(out)
    release = mercer.load("t.json")
    assert (said["file"], said["csv"]) == ("t.json", "rows.csv")
    assert said["kind"] == "synthetic-table"
    assert said["privacy"]["unit"] == "id"
    assert said["privacy"]["n"] == 250
    assert (release.style, release.bound, release.kernel.name) == ("l1", 2, "matern52")
    assert release.kernel.scales[0] == 0.4
    assert said["plan"]["size"] == 60
    assert said["accuracy"]["difference"] is None  # with scales of one's own, no column is counted
    assert said["accuracy"]["words"] == str(release.accuracy)
    assert [column["name"] for column in said["columns"]] == list(release.domain.names)
    rows = pyarrow.csv.read_csv("rows.csv")
    assert rows.num_rows == 70
    assert "weight" not in rows.schema.names


def test_scales_public_rows_a_seed_and_a_ledger(folder, capsys):
    Ledger("b.db").register("patients", epsilon=9, delta=1e-5)
    public = patients(40).append_column("more", pa.array([1] * 40))
    public = public.set_column(1, "age", pa.array([None, *range(30, 69)], pa.float64()))
    pq.write_table(public, "public.parquet")
    names = mercer.Domain.read("domain.yaml").names
    scales = [word for name in names for word in ("--scale", f"{name}=2.5")]
    call = ("synthesize", "patients.csv", *PROMISE[:-2], "--public", "public.parquet", *scales)
    released(capsys, *call, "-o", "t.json", "--ledger", "b.db", "--dataset", "patients")
    release = mercer.load("t.json")
    assert release.points_count == 39  # the row without an age was left out
    assert release.kernel.scales[0] == 0.025
    assert len(Ledger("b.db").history("patients")) == 1
    for name in ("u.json", "v.json"):
        released(capsys, *call, "--size", 20, "--seed", 3, "-o", name)
    first, second = (json.loads((folder / name).read_text()) for name in ("u.json", "v.json"))
    assert first == second
    assert not first["privacy"]["secure"]
    assert len(first["points"]) == 20
    out = released(capsys, *call[:-14], "--scale", "private", "-o", "w.json")
    assert "a part of the budget" in out


def test_a_plan_spends_nothing(folder, capsys):
    out = released(capsys, "synthesize", "patients.csv", *PROMISE, "--dry-run")
    assert "To be released" in out
    assert "Dry run: nothing was spent, nothing was released" in out
    said = json.loads(released(capsys, "synthesize", "patients.csv", *PROMISE, "--dry-run", "--json"))
    assert said["plan"]["coordinates"] == 60
    found = mercer.load("table.json").accuracy
    assert said["plan"]["counts_noise_times_n"] == pytest.approx(500 * found.noise, rel=1e-6)
    assert f"themselves off by {found.noise:.2g} with 500 records" in said["expected"]
    assert {p.name for p in folder.iterdir()} == {"patients.csv", "domain.yaml", "table.json"}
    waves = ("--method", "features", "--features", 100)
    assert "up to" not in released(capsys, "synthesize", "patients.csv", *PROMISE, *waves, "--dry-run")


def test_a_table_drawn_whole(folder, capsys):
    (folder / "tiny.yaml").write_text("sex: [f, m]\nsmoker: boolean\n")
    call = ("synthesize", "patients.csv", "--domain", "tiny.yaml", "--epsilon", 1, "--size", 3)
    out = released(capsys, *call, "--method", "exponential", "-o", "t.json")
    assert "one of all tables of so many records is drawn" in out
    assert "drawn whole" in out
    assert "±" not in out
    said = json.loads(released(capsys, "inspect", "t.json", "--json"))
    assert said["accuracy"]["error"] is None
    assert said["columns"][0]["levels"][0]["plus_minus"] is None
    assert "No interval is known" in released(capsys, "eval", "t.json", "--where", "sex=f")


def test_a_first_domain_file(folder, capsys):
    out = released(capsys, "synthesize", "--example-domain")
    (folder / "example.yaml").write_text(out)
    assert mercer.Domain.read("example.yaml").dimension == 7
    out = released(capsys, "synthesize", "patients.csv", "--example-domain")
    assert "# age: ONE-OF-THESE" in out
    table = patients(5).append_column("no", pa.array([True] * 5))
    pq.write_table(table, "typed.parquet")
    out = released(capsys, "synthesize", "typed.parquet", "--example-domain")
    for line in (
        "# age: [LOWER, UPPER]",
        "# visits: {type: integer, bounds: [LOWER, UPPER]}",
        "# sex: [LEVEL, LEVEL]",
        "# smoker: boolean",
        '# "no": boolean',
        "# admitted: [FIRST-DAY, LAST-DAY]",
    ):
        assert line in out.splitlines()
    typed = re.sub('^# (?=[\\w"]+: )', "", out, flags=re.M)
    for blank, filled in (
        ("LOWER", "0"),
        ("UPPER", "9"),
        ("FIRST-DAY", "2020-01-01"),
        ("LAST-DAY", "2021-01-01"),
        ("LEVEL, LEVEL", "a, b"),
    ):
        typed = typed.replace(blank, filled)
    (folder / "typed.yaml").write_text(
        "\n".join(line for line in typed.splitlines() if "|" not in line and "public" not in line)
    )
    assert mercer.Domain.read("typed.yaml").names == tuple(table.schema.names)


BAD = [
    (["missing.csv", *PROMISE, "-o", "t.json"], "there is no file or folder 'missing.csv'"),
    (["patients.csv", *PROMISE[2:], "-o", "t.json"], "domain is missing.*--example-domain"),
    (["patients.csv", "--domain", "x.yaml", *PROMISE[2:], "-o", "t.json"], "no file 'x.yaml'"),
    (["patients.csv", *PROMISE[:2], "-o", "t.json"], "epsilon is missing"),
    (["patients.csv", *PROMISE, "--epsilon", "1", "-o", "t.json"], "epsilon must be one number"),
    (["patients.csv", *PROMISE], "output is missing"),
    (["patients.csv", *PROMISE, "-o", "t.txt"], "output must end in .json"),
    (["patients.csv", *PROMISE, "-o", "table.json"], "exists"),
    (["patients.csv", *PROMISE, "-o", "t.json", "--csv", "patients.csv"], "csv 'patients.csv' exists"),
    (["patients.csv", *PROMISE, "-o", "t.json", "--csv", "rows.txt"], "csv must end in .csv"),
    (["patients.csv", *PROMISE, "-o", "t.json", "--plot", "no/t.png"], "plot: there is no folder"),
    (["patients.csv", *PROMISE, "-o", "t.json", "--sample", "10"], "sample needs a file"),
    (["patients.csv", *PROMISE, "-o", "t.json", "--sample", "0", "--csv", "a.csv"], "sample must be 1"),
    (["patients.csv", *PROMISE, "-o", "t.json", "--scale", "age=1", "--scale", "x"], "scale must be auto"),
    (["patients.csv", *PROMISE, "-o", "t.json", "--scale", "wide"], "scale must be one of"),
    (["patients.csv", *PROMISE, "-o", "t.json", "--method", "magic"], "method must be one of"),
    (["patients.csv", *PROMISE, "-o", "t.json", "--unit", "person"], "no column 'person'"),
    (["patients.csv", *PROMISE, "-o", "t.json", "--public", "domain.yaml"], "public: data: 'domain.yaml'"),
    (["patients.csv", *PROMISE, "-o", "t.json", "--dataset", "d"], "--ledger and --dataset go together"),
    (["--epsilon", "1"], "file is missing"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[words for _, words in BAD])
def test_errors_are_one_line_and_come_before_anything_is_spent(folder, capsys, arguments, message):
    code, _, err = run(capsys, "synthesize", *arguments)
    assert code == 2
    assert re.fullmatch(rf"Error: .*{message}.*\n", err), err
    assert {p.name for p in folder.iterdir()} == {"patients.csv", "domain.yaml", "table.json"}
    code, out, err = run(capsys, "synthesize", *arguments, "--json")
    assert (code, out) == (2, "")
    assert re.search(message, json.loads(err)["error"])


def test_eval_asks_for_means_and_probabilities(folder, capsys):
    release = mercer.load("table.json")
    said = json.loads(released(capsys, "eval", "table.json", "--expect", "age", "admitted", "--json"))
    assert said["values"][0]["value"] == pytest.approx(release.expect("age"))
    assert re.fullmatch(r"2020-\d\d-\d\d", said["values"][1]["value"])
    where = ("--where", "age=60:80", "stage=II:", "ward=north,elsewhere", "smoker=no", "admitted=:2020-06-30")
    said = json.loads(released(capsys, "eval", "table.json", *where, "--json", "--level", 0.8))
    condition = {
        "age": (60, 80),
        "stage": ["II", "III"],
        "ward": ["north", "elsewhere"],
        "smoker": False,
        "admitted": (None, "2020-06-30"),
    }
    assert said["values"][0]["value"] == pytest.approx(release.probability(condition))
    assert said["level"] == 0.8
    assert (said["values"][0]["lower"], said["values"][0]["upper"]) == (None, None)
    assert said["interval"].startswith("no interval is known")
    out = released(capsys, "eval", "table.json", "--expect", "age", "--where", "sex=f")
    assert re.search(r"mean of age where sex = f +[\d.]+ *$", out, re.M)
    assert "No interval is known" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["eval", "table.json"], "say what to ask"),
        (["eval", "table.json", "--at", "3"], "has no points to evaluate at"),
        (["eval", "table.json", "--where", "age"], "must be COLUMN=VALUE"),
        (["eval", "table.json", "--where", "age=", "sex=f"], "must be COLUMN=VALUE"),
        (["eval", "table.json", "--where", "age=1", "age=2"], "'age' stands twice"),
        (["eval", "table.json", "--where", "age=old"], "'old' is no value"),
        (["eval", "table.json", "--where", "sex=f:m"], "'f:m' is no value"),
        (["eval", "table.json", "--expect", "weight"], "no column 'weight'"),
        (["eval", "table.json", "--expect", "sex"], "has levels and no mean"),
        (["eval", "table.json", "--expect", "age", "--level", "2"], "level must be"),
        (["eval", "table.json", "--expect", "age", "--bandwidth", "2"], "bandwidth is for densities"),
        (["plot", "table.json", "--at", "age=3"], "has no option 'at'"),
        (["plot", "table.json", "--columns", "weight"], "no column 'weight'"),
        (["predict", "table.json", "--at", "3"], "only classifiers and regressions predict"),
    ],
)
def test_what_a_table_cannot_answer(folder, capsys, arguments, message):
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert re.search(message, err), err


def test_other_releases_have_no_conditions(folder, capsys):
    mercer.density([0.5, 0.6, 0.7], bounds=(0, 1), epsilon=1).save("d.json")
    code, _, err = run(capsys, "eval", "d.json", "--expect", "x")
    assert code == 2
    assert "--expect and --where are for synthetic tables and counts; this is a density" in err


def test_inspect_and_plot(folder, capsys):
    out = released(capsys, "inspect", "table.json")
    assert "table.json: a synthetic table of age in [0, 100]" in " ".join(out.split())
    assert "Somebody who knows every other row" in " ".join(out.split())
    said = json.loads(released(capsys, "inspect", "table.json", "--json"))
    assert said["records"] == 60
    assert said["file"] == "table.json"
    out = released(capsys, "plot", "table.json", "--columns", "age", "sex", "-o", "two.svg")
    assert out == "Picture written to two.svg\n"
    assert (folder / "two.svg").stat().st_size > 5000


def test_records_of_any_kind_are_inspected(folder, capsys):
    kernel = mercer.OwnKernel(lambda x, z: float(x == z), supremum=1.0)
    words = ["a", "b"] * 50
    release = mercer.synthetic(words, kernel=kernel, public=["a", "b"], epsilon=1, delta=1e-6)
    release.save("words.json")
    assert "2 synthetic ones" in released(capsys, "inspect", "words.json")
    said = json.loads(released(capsys, "inspect", "words.json", "--json"))
    assert said["kind"] == "synthetic-records"
    for arguments in (["eval", "words.json", "--expect", "x"], ["plot", "words.json"]):
        code, _, err = run(capsys, *arguments)
        assert code == 2
        assert "Error: records of any kind" in err


def test_progress_shows_rows_and_the_search(folder, monkeypatch):
    """On a terminal only; the words say what is being done."""
    from mercer.show.terminal import searching

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with searching(True) as (tick, search):
        tick(1000)
        tick(500)
        search(1)
    with searching(False) as nothing:
        assert nothing == (None, None)


def test_help_starts_with_an_example_that_runs():
    text = CliRunner().invoke(app, ["synthesize", "--help"]).output
    assert "Example: mercer synthesize patients.csv --domain domain.yaml" in " ".join(text.split())
