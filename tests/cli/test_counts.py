"""`mercer histogram`, `table` and `count`, and what `eval`, `plot` and `inspect` say of them."""

import json
import re
import shlex

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import mercer
from mercer.cli.app import app
from mercer.columns.conditions import conditions
from mercer.ledger.ledger import Ledger
from tests.helpers.shell import released, run, said

DOMAIN = """\
age: [0, 100]
sex: [f, m]
smoker: boolean
ward: {categories: [north, south], other: elsewhere}
"""
SURE = ("--epsilon", 400, "--insist")  # noise of scale 1/200: none, but for a chance below 1e-80
AGES = ("--column", "age", "--bins", 10, "--bounds", 0, 100)


def people(many=400):
    rng = np.random.default_rng()
    return pa.table(
        {
            "id": np.arange(many) // 2,
            "age": rng.normal(50, 25, many).round(1),
            "sex": rng.choice(["f", "m"], many),
            "smoker": rng.random(many) < 0.3,
            "ward": rng.choice(["north", "south", "west"], many),
            "stays": rng.integers(0, 6, many),
            "admitted": rng.choice(["2020-01-15", "2020-06-15", "2020-12-31"], many),
        }
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    pyarrow.csv.write_csv(people(), folder / "survey.csv")
    (folder / "domain.yaml").write_text(DOMAIN)
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    for name in ("survey.csv", "domain.yaml"):
        (tmp_path / name).write_bytes((made / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


@pytest.fixture
def truth(folder):
    return pyarrow.csv.read_csv(folder / "survey.csv").to_pandas()


def flat(text):
    return " ".join(text.split())


def test_a_histogram_the_whole_way(folder, truth, capsys):
    out = released(capsys, "histogram", "survey.csv", *AGES, *SURE, "-o", "a.json", "--plot", "a.png")
    assert "Released the histogram of age in 10 bins of [0, 100]" in out
    assert "Differentially private with epsilon = 400 (pure, no delta)" in flat(out)
    assert re.search(r"each count +± 0 \(95%\), standard deviation", out)
    assert re.search(r"accuracy +All 10 cells together: expected absolute error", out)
    counts = np.histogram(truth["age"].clip(0, 100), bins=np.linspace(0, 100, 11))[0]
    for name, count in (("below 10", counts[0]), ("90 and more", counts[-1])):
        assert re.search(rf"^ {re.escape(name)} +{count} +{count} to {count} ", out, re.M), out
    assert out.count("█" * 24) >= 1  # the largest bar
    assert "Written to a.json, a.png" in out
    assert "mercer eval a.json --where age=0..10" in out
    assert mercer.load("a.json").counts.tolist() == counts.tolist()
    assert (folder / "a.png").stat().st_size > 8000
    got = said(capsys, "histogram", "survey.csv", *AGES, *SURE, "-o", "a.json", "--overwrite")
    assert [cell["count"] for cell in got["counts"]] == counts.tolist()
    assert got["counts"][0]["cell"] == {"age": "below 10"}
    assert (got["file"], got["cells"], got["counts_left_out"]) == ("a.json", 10, 0)
    assert got["accuracy"]["best"] >= 0
    assert got["privacy"]["n"] == 400


@pytest.mark.parametrize(
    ("given", "call"),
    [
        (("--edges", 0, 18, 40, 65, 100), {"bins": [0, 18, 40, 65, 100]}),
        (("--edges", 20, 40, "--outside", "drop"), {"bins": [20, 40], "outside": "drop"}),
        (("--whole", -3, 120), {"bins": range(-3, 121)}),
    ],
)
def test_cells_of_numbers(folder, capsys, given, call):
    released(capsys, "histogram", "survey.csv", "-c", "age", *given, *SURE, "-o", "a.json")
    want = mercer.histogram("survey.csv", columns="age", epsilon=400, insist=True, **call)
    got = mercer.load("a.json")
    assert got.domain == want.domain
    assert got.counts.tolist() == want.counts.tolist()


def test_cells_of_words_and_dates_and_counts(folder, truth, capsys):
    out = released(
        capsys,
        "histogram",
        "survey.csv",
        "--column",
        "ward",
        "--categories",
        "north",
        "south",
        "--other",
        "else",
        *SURE,
        "-o",
        "w.json",
    )
    west = int((truth["ward"] == "west").sum())
    assert re.search(rf"^ else +{west} ", out, re.M)
    days = ("--column", "admitted", "--edges", "2020-01-01", "2020-07-01", "2021-01-01")
    got = said(capsys, "histogram", "survey.csv", *days, *SURE, "-o", "d.json")
    late = int((truth["admitted"].astype(str) == "2020-12-31").sum())
    assert [cell["count"] for cell in got["counts"]] == [400 - late, late]
    bounds = ("--column", "admitted", "--bins", 2, "--bounds", "2020-01-01", "2020-12-31")
    got = said(capsys, "histogram", "survey.csv", *bounds, *SURE, "-o", "e.json")
    assert sum(cell["count"] for cell in got["counts"]) == 400
    stays = ("--column", "sex", "--categories", "f", "m", "--counts", "stays")
    got = said(capsys, "histogram", "survey.csv", *stays, *SURE, "-o", "s.json")
    assert got["privacy"]["n"] == truth["stays"].sum()


def test_names_are_shown_as_they_are(folder, capsys):
    pyarrow.csv.write_csv(pa.table({"[red]kind[/red]": ["[b]", "[/b]", "x"] * 50}), "odd.csv")
    call = ("histogram", "odd.csv", "--column", "[red]kind[/red]", "--categories", "[b]", "[/b]")
    out = released(capsys, *call, *SURE, "-o", "o.json")
    assert "Released the histogram of [red]kind[/red] in {[b], [/b]}" in out
    assert re.search(r"^ \[/b\] +50 ", out, re.M)
    assert "[red]kind[/red] = [b]" in released(capsys, "eval", "o.json", "--where", "[red]kind[/red]=[b]")


def test_persons_seeds_ledgers_and_sparse_cells(folder, truth, capsys):
    Ledger("b.db").register("survey", epsilon=1000)
    paid = ("--ledger", "b.db", "--dataset", "survey")
    call = ("histogram", "survey.csv", "--column", "age", "--whole", 0, 4095, *SURE)
    out = released(capsys, *call, "--sparse", *paid, "-o", "s.json")
    assert re.search(r"cells +\d+ of 4096 are above the public threshold 0", out)
    assert len(Ledger("b.db").history("survey")) == 1
    got = mercer.load("s.json")
    assert got.sparse
    assert got.counts.sum() == 400
    released(capsys, *call, "--occupied", 50, "--delta", "1e-9", "-o", "t.json")
    assert mercer.load("t.json").sparse
    person = ("--unit", "id", "--rows-per-person", 2)
    got = said(capsys, "histogram", "survey.csv", *AGES, *SURE, *person, "-o", "p.json")
    assert (got["privacy"]["n"], got["privacy"]["unit"]) == (200, "id")
    assert sum(cell["count"] for cell in got["counts"]) == 400
    for name in ("u.json", "v.json"):
        out = released(capsys, *call[:-2], 1, "--seed", 4, "-o", name, "--missing", "drop")
        assert "NOT PRIVATE" in out
    assert (folder / "u.json").read_bytes() == (folder / "v.json").read_bytes()
    assert "… and 4071 more cells; these are the largest." in out


def test_a_table_and_its_questions(folder, truth, capsys):
    call = ("table", "survey.csv", "--domain", "domain.yaml", "--bins", "age=0,40,100", *SURE)
    out = released(capsys, *call, "--columns", "sex", "age", "smoker", "-o", "t.json", "--plot", "t.png")
    assert "Released the table of sex in {f, m}, age in 2 bins of [0, 100], smoker" in flat(out)
    young = truth["age"] < 40
    both = int((young & (truth["sex"] == "f") & truth["smoker"]).sum())
    assert re.search(rf"^ f +below 40 +true +{both} ", out, re.M)
    got = said(capsys, "eval", "t.json", "--where", "age<=40", "sex=f")
    assert got["count"] == int((young & (truth["sex"] == "f")).sum())
    assert got["lower"] <= got["count"] <= got["upper"]
    half = said(capsys, "eval", "t.json", "--where", "age=0..20", "--level", 0.5)
    assert half["count"] == pytest.approx(young.sum() / 2)
    assert half["level"] == 0.5
    out = released(capsys, "eval", "t.json", "--margin", "smoker")
    assert re.search(rf"^ true +{int(truth['smoker'].sum())} ", out, re.M)
    got = said(capsys, "eval", "t.json", "--margin", "smoker", "sex")
    assert len(got["counts"]) == 4
    assert "t.json: a table of sex in {f, m}" in flat(released(capsys, "inspect", "t.json"))
    assert said(capsys, "inspect", "t.json")["cells"] == 8
    out = released(capsys, "plot", "t.json", "--columns", "age", "sex", "-o", "two.png")
    assert "Picture written to two.png" in out
    out = released(capsys, "histogram", "survey.csv", *AGES, *SURE, "-o", "a.json")
    out = released(capsys, "eval", "a.json", "--at", 15, 200)
    assert re.search(r"^ +200 +0 *$", out, re.M)
    got = said(capsys, "eval", "a.json", "--at", 15)
    release = mercer.load("a.json")
    assert got["values"] == [{"at": 15.0, "density": pytest.approx(float(release(15.0)))}]
    got = said(capsys, "eval", "a.json", "--where", "age=0..50", "--smooth")
    assert got["count"] == pytest.approx(release.query(0, 50, smooth=True).estimate)
    out = released(capsys, "eval", "a.json", "--at", 50, "--bandwidth", 20)
    assert "band for the noise" in out  # a histogram becomes a density, and is smoothed: free
    released(capsys, "plot", "a.json", "--bandwidth", 20, "-o", "smooth.png")
    out = released(capsys, "eval", "a.json", "--where", "age=0..50")
    assert re.search(r"^ age < 50 +\d+ +\d+ to \d+ +400", out, re.M)


def test_margins(folder, truth, capsys):
    call = ("table", "survey.csv", "--domain", "domain.yaml", "--bins", "age=4", *SURE)
    out = released(capsys, *call, "--margins", 2, "-o", "m.json", "--plot", "m.png")
    assert "Released the 6 margins of age in 4 bins of [0, 100]" in flat(out)
    assert "Released together: age x sex, age x smoker, age x ward, sex x smoker" in out
    women = int((truth["sex"] == "f").sum())
    assert re.search(rf"^ sex +f +{women} ", out, re.M)
    named = ("--margins", "age,sex;ward", "-o", "n.json")
    got = said(capsys, *call, *named)
    assert [margin["columns"] for margin in got["margins"]] == [["age", "sex"], ["ward"]]
    assert len(got["margins"][0]["counts"]) == 8
    asked = said(capsys, "eval", "n.json", "--where", "sex=f", "age>=25", "age<=75")
    middle = truth["age"].clip(0, 100).between(25, 75, inclusive="left") & (truth["sex"] == "f")
    assert asked["count"] == pytest.approx(middle.sum(), abs=1e-6)
    assert len(said(capsys, "eval", "n.json", "--margin", "ward")["counts"]) == 3
    assert "inspect" not in released(capsys, "inspect", "m.json")
    released(capsys, "plot", "m.json", "--columns", "age", "sex", "-o", "p.png")


def test_counts_and_proportions(folder, truth, capsys):
    old = int(((truth["age"] >= 65) & (truth["sex"] == "f")).sum())
    out = released(capsys, "count", "survey.csv", "--where", "age>=65", "--where", "sex=f", *SURE)
    assert "Released the count of age >= 65 and sex = f" in out
    assert re.search(rf"count +{old}, 95% interval {old} to {old} \(of 400 in all\)", out)
    assert "Nothing was written" in out
    got = said(
        capsys,
        "count",
        "survey.csv",
        "--where",
        "ward=north|south",
        "age=20..40",
        *SURE,
        "--proportion",
        "-o",
        "c.json",
        "--plot",
        "c.png",
    )
    some = (truth["age"].between(20, 40, inclusive="left") & (truth["ward"] != "west")).sum()
    assert got["value"] == pytest.approx(some / 400)
    assert got["file"] == "c.json"
    assert (folder / "c.png").stat().st_size > 3000
    got = said(capsys, "count", "survey.csv", "--column", "smoker", *SURE, "--delta", "1e-9")
    assert got["count"] == truth["smoker"].sum()
    got = said(capsys, "count", "survey.csv", "--where", "smoker=true", *SURE, "--unit", "id")
    assert got["count"] == truth.groupby("id")["smoker"].any().sum()
    got = said(capsys, "count", "survey.csv", "--where", "admitted=2020-12-31", *SURE)
    assert got["count"] == (truth["admitted"].astype(str) == "2020-12-31").sum()
    assert said(capsys, "eval", "c.json", "--level", 0.5)["level"] == 0.5
    assert re.search(r"proportion: 0\.\d+, 95% interval", released(capsys, "eval", "c.json"))
    assert "c.json: a proportion of ward in" in flat(released(capsys, "inspect", "c.json"))
    assert "Picture written" in released(capsys, "plot", "c.json", "-o", "d.png")


def test_optimal_counting(folder, capsys):
    pq.write_table(people(60), "few.parquet")
    out = released(
        capsys,
        "count",
        "few.parquet",
        "--where",
        "sex=f",
        "--epsilon",
        0.5,
        "--mechanism",
        "optimal",
        "-o",
        "o.json",
    )
    assert "optimal mechanism" in out
    assert "CSV" not in out
    assert 0 <= mercer.load("o.json").count <= 60


def test_the_weaker_promise_must_be_asked_for(folder, capsys):
    weaker = ("--weaker-promise", "--gamma", 0.5)
    out = released(capsys, "histogram", "survey.csv", *AGES, "--epsilon", 4, *weaker, "-o", "w.json")
    assert "NOT differential privacy but a weaker promise" in flat(out)
    assert re.search(r"no noise +in \d+ of 10 counts, under the weaker promise", out)
    assert mercer.load("w.json").privacy.gamma == 0.5
    got = said(
        capsys,
        "count",
        "survey.csv",
        "--where",
        "age>=99",
        "--proportion",
        "--epsilon",
        4,
        *weaker,
        "-o",
        "c.json",
    )
    assert got["privacy"]["promise"] == "random"
    assert "WEAKER PROMISE" in mercer.load("c.json").privacy.short
    mean = mercer.random_statistic(
        [float(i % 9) for i in range(500)], epsilon=4, gamma=0.2, weaker_promise=True
    )
    mean.save("mean.json")
    assert re.search(r"value +[-\d.]+, 95% interval", released(capsys, "inspect", "mean.json"))
    assert said(capsys, "eval", "mean.json")["value"] == mean.value
    released(capsys, "plot", "mean.json", "-o", "mean.png")


OK = ("--epsilon", "1", "-o", "r.json")
NUMBERS = ["histogram", "survey.csv", *map(str, AGES)]
BAD = [
    ([*NUMBERS[:4], *OK], "say which cells there are, in one way"),
    ([*NUMBERS, "--edges", "1", "2", *OK], "in one way.*got --bins and --edges"),
    ([*NUMBERS[:6], *OK], "bounds must be LO HI"),
    ([*NUMBERS, "--bins", "7", *OK], "bins must be one number, got 2"),
    ([*NUMBERS[:4], "--whole", "5", *OK], "whole must be LO HI"),
    ([*NUMBERS[:4], "--edges", "5", "1", *OK], "bins of 'age' must rise"),
    ([*NUMBERS[:4], "--edges", "5", "6", "--bounds", "0", "9", *OK], "--bounds go with --bins"),
    ([*NUMBERS, "--other", "x", *OK], "--other goes with --categories"),
    (["histogram", "survey.csv", "--categories", "a", *OK], "columns is missing.*with --column"),
    ([*NUMBERS, "-o", "r.json"], "epsilon is missing"),
    ([*NUMBERS, "--epsilon", "1", "2", "-o", "r.json"], "epsilon must be one number, got 2"),
    ([*NUMBERS, "--epsilon", "1"], "output is missing"),
    ([*NUMBERS, *OK, "--plot", "r.gif"], "plot must end in"),
    ([*NUMBERS, *OK, "--plot", "no/r.png"], "plot: there is no folder"),
    (
        [*NUMBERS, "--epsilon", "1e-5", "-o", "r.json"],
        "everything would be noise.*nothing was spent.*--insist.*mercer plan histogram",
    ),
    ([*NUMBERS, *OK, "--gamma", "0.05"], "weaker promise than differential privacy.*people with rare values"),
    ([*NUMBERS, *OK, "--weaker-promise"], "gamma is missing"),
    (
        [*NUMBERS, *OK, "--weaker-promise", "--gamma", "0.5", "--ledger", "b.db"],
        "--ledger counts differential privacy",
    ),
    ([*NUMBERS, *OK, "--weaker-promise", "--gamma", "0.5", "--delta", "1e-6"], "has a gamma instead"),
    ([*NUMBERS, *OK, "--weaker-promise", "--gamma", "0.5", "--sparse"], "go with the full promise"),
    ([*NUMBERS, *OK, "--weaker-promise", "--gamma", "1e-4"], "mercer histogram makes the full promise"),
    ([*NUMBERS, *OK, "--dataset", "d"], "--ledger and --dataset go together"),
    ([*NUMBERS, *OK, "--outside", "up"], "outside must be one of"),
    ([*NUMBERS, *OK, "--rows-per-person", "2"], "--rows-per-person goes with unit"),
    (["table", "survey.csv", *OK], "domain is missing.*--example-domain"),
    (["table", "survey.csv", "--domain", "domain.yaml", "--columns", "age", "size", *OK], "no column 'size'"),
    (
        ["table", "survey.csv", "--domain", "domain.yaml", "--bins", "age", "--epsilon", "1", "-o", "r.json"],
        "bins must be COLUMN=NUMBER",
    ),
    (
        ["table", "survey.csv", "--domain", "domain.yaml", "--bins", "age=2.5", *OK],
        "must be a whole number, or edges",
    ),
    (["table", "survey.csv", "--domain", "domain.yaml", "--bins", "size=2", *OK], "no column 'size'"),
    (["table", "survey.csv", "--domain", "domain.yaml", "--margins", "size", *OK], "no column 'size'"),
    (["table", "survey.csv", "--domain", "domain.yaml", "--margins", ";", *OK], "margins must be all"),
    (["table", "survey.csv", "--domain", "domain.yaml", "--margins", "9", *OK], "margins"),
    (["count", "survey.csv", "--epsilon", "1"], "say what to count, in one way"),
    (["count", "survey.csv", "--where", "age>65", "--epsilon", "1"], "'age>=65'"),
    (["count", "survey.csv", "--where", "sex!=f", "--epsilon", "1"], "has no !="),
    (["count", "survey.csv", "--where", "age", "--epsilon", "1"], "must be COLUMN=VALUE"),
    (["count", "survey.csv", "--where", "age>=old", "--epsilon", "1"], "must be a number or a date"),
    (["count", "survey.csv", "--where", "sex=f", "sex=m", "--epsilon", "1"], "'sex' stands twice"),
    (["count", "survey.csv", "--where", "size=3", "--epsilon", "1"], "no column 'size'"),
    (
        ["count", "survey.csv", "--where", "sex=f", "--epsilon", "1", "--mechanism", "best"],
        "mechanism must be",
    ),
    (["count", "survey.csv", "--where", "sex=f", "--epsilon", "1", "--gamma", "0.1"], "weaker promise"),
    (
        ["count", "survey.csv", "--where", "sex=f", "--epsilon", "1", "--gamma", "0.1", "--weaker-promise"],
        "add --proportion",
    ),
    (["count", "missing.csv", "--where", "sex=f", "--epsilon", "1"], "no file or folder 'missing.csv'"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[words for _, words in BAD])
def test_errors_are_one_line_and_come_before_anything_is_spent(folder, capsys, arguments, message):
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert re.fullmatch(rf"Error: .*{message}.*\n", err), err
    assert {path.name for path in folder.iterdir()} == {"survey.csv", "domain.yaml"}


def test_errors_in_json(folder, capsys):
    for arguments, message in BAD[::15]:
        code, out, err = run(capsys, *arguments, "--json")
        assert (code, out) == (2, "")
        assert re.search(message, json.loads(err)["error"])


def test_what_counts_cannot_answer(folder, capsys):
    released(capsys, "histogram", "survey.csv", *AGES, *SURE, "-o", "a.json")
    released(capsys, "count", "survey.csv", "--where", "sex=f", *SURE, "-o", "c.json")
    mercer.density([0.5, 0.6, 0.7], bounds=(0, 1), epsilon=1).save("d.json")
    for arguments, message in [
        (["eval", "a.json"], "say what to ask, in one way"),
        (["eval", "a.json", "--at", "3", "--where", "age=1..2"], "in one way"),
        (["eval", "a.json", "--grid", "9"], "it has no --grid"),
        (["eval", "d.json", "--smooth", "--at", "1"], "--smooth is for histograms"),
        (["eval", "a.json", "--where", "age=42"], "must be .least, most.: it was released in bins"),
        (["eval", "a.json", "--where", "size=4"], "there is no column 'size'"),
        (["eval", "a.json", "--where", "age=0..5", "--level", "2"], "level must be"),
        (["eval", "c.json", "--bandwidth", "2"], "bandwidth is for densities and histograms"),
        (["eval", "c.json", "--where", "sex=m"], "a count is one number"),
        (["eval", "d.json", "--margin", "x"], "--margin is for histograms and tables of counts"),
        (["plot", "a.json", "--at", "age=3"], "has no option 'at'"),
        (["plot", "c.json", "--columns", "sex"], "has none to choose from"),
        (["histogram", "survey.csv", *AGES, *SURE, "-o", "a.json"], "exists"),
    ]:
        code, _, err = run(capsys, *arguments)
        assert code == 2, arguments
        assert re.search(message, err), err


def test_conditions_as_people_type_them():
    read = conditions(["age>=20", "age<=40", "ward=a,b", "code=007", "k=1|2", 'x="a|b"', "t = 1.5"])
    assert read == {"age": (20, 40), "ward": ["a", "b"], "code": "007", "k": [1, 2], "x": ["a|b"], "t": 1.5}
    assert conditions(["a=1..2", "b=..3", "c=2020-01-01..", "d=5:6", "e=12:x"]) == {
        "a": (1, 2),
        "b": (None, 3),
        "c": ("2020-01-01", None),
        "d": (5, 6),
        "e": "12:x",
    }
    assert conditions(["ill=TRUE", "day=2020-02-03"]) == {"ill": True, "day": ("2020-02-03", "2020-02-03")}
    with pytest.raises(ValueError, match="range without ends"):
        conditions(["a=.."])


def test_help_starts_with_an_example_that_runs(folder, capsys):
    for name in ("admissions.csv", "patients.csv"):
        (folder / name).write_bytes((folder / "survey.csv").read_bytes())
    for command in (["histogram"], ["table"], ["count"], ["plan", "histogram"]):
        shown = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "200"}).output
        found = re.findall(r"(Example|Categories): mercer (.*?)\n *\n", shown, flags=re.S)
        assert found[0][0] == "Example", shown
        for _, line in found:
            assert shlex.split(line)[: len(command)] == command
            released(capsys, *shlex.split(line))
