"""`mercer classify`, `regress` and `predict` as people and machines use them."""

import csv
import inspect
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import mercer
from mercer.cli.app import app
from mercer.cli.machines import classify_command, regress_command
from mercer.cli.typed import spread
from tests.helpers.shell import released, run

PROMISE = ["--epsilon", "5", "--delta", "1e-6"]
SEEDED = ["--seed", "1", "--size", "12", "--features", "random"]  # seeds and few features: quick
BOTH = ["--columns", "age", "bmi", "--bounds", "0", "100", "10", "60"]
ILL = ["classify", "patients.csv", *BOTH, "--label", "outcome", "--classes", "healthy", "ill"]
AGE = ["classify", "patients.csv", "-c", "age", "--bounds", "0", "100", "--label", "outcome"]
PRESSURE = ["regress", "patients.csv", *BOTH, "--label", "pressure", "--y-bounds", "60", "220"]


@pytest.fixture
def folder(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    age, bmi = rng.uniform(0, 100, 400), rng.normal(27, 6, 400)
    ill = age + 2 * bmi + rng.normal(0, 10, 400) > 105
    ward = np.array(["north", "south", "west"])[rng.integers(0, 3, 400)]
    lines = [
        f"{i // 2},{a:.1f},{b:.1f},{'ill' if k else 'healthy'},{w},{100 + a / 2:.1f},{int(k)}"
        for i, (a, b, k, w) in enumerate(zip(age, bmi, ill, ward, strict=True))
    ]
    head = "id,age,bmi,outcome,ward,pressure,flag"
    (tmp_path / "patients.csv").write_text("\n".join([head, *lines]) + "\n")
    (tmp_path / "new.csv").write_text("name,bmi,age\nAnn,22,30\nBob,,80\nCy,90,70\nDi,x,20\n")
    return tmp_path


def near(value):
    """Of a row alone and among others: sums in another order."""
    return pytest.approx(value, rel=1e-12)


def test_classify_predict_eval_plot_inspect(folder, capsys):
    out = released(capsys, *ILL, *PROMISE, *SEEDED, "--loss", "logistic", "-o", "ill.json")
    words = " ".join(out.split())
    assert "classifier of outcome from age in [0, 100], bmi in [10, 60]" in words
    assert "classes healthy, ill" in words
    assert "mercer predict ill.json NEW.csv" in words
    release = mercer.load("ill.json")
    assert release.classes == ("healthy", "ill")
    assert release.label == "outcome"
    found = json.loads(released(capsys, "predict", "ill.json", "new.csv", "--probability", "--json"))
    assert (found["rows"], found["missing"], found["outside"]) == (4, 2, 1)
    ann, bob, cy, _ = found["predictions"]
    assert ann["row"] == 1
    assert ann["prediction"] == release.predict([[30, 22]]).item()
    assert ann["probability_ill"] == near(release.probability([[30, 22]])[0, 1])
    assert bob == {"row": 2, "prediction": None, "probability_healthy": None, "probability_ill": None}
    assert cy["probability_ill"] == near(release.probability([[70, 60]])[0, 1])  # moved to the bounds
    out = released(capsys, "predict", "ill.json", "new.csv", "--band")
    assert "decision" in out
    assert "2 of 4 rows lack a number: they get no prediction." in out
    assert "1 of 4 rows have values outside" in out
    out = released(capsys, "predict", "ill.json", "--at", "42", "27", "30", "20")
    assert len(out.strip().splitlines()) == 3
    values = json.loads(released(capsys, "eval", "ill.json", "--at", "42", "27", "--json"))
    assert values["function"] == "decision function"
    (value,) = values["values"]
    assert value["value"] == release([[42, 27]]).item()
    assert value["lower"] < value["value"] < value["upper"]
    assert "Above 0 is ill, below healthy." in released(capsys, "eval", "ill.json", "--at", 42, 27)
    released(capsys, "plot", "ill.json")
    assert (folder / "ill.png").stat().st_size > 5000
    out = released(capsys, "plot", "ill.json", "--columns", "age", "--at", "bmi=22", "-o", "c.svg", "--json")
    assert json.loads(out) == {"file": "c.svg"}
    assert (folder / "c.svg").stat().st_size > 5000
    words = " ".join(released(capsys, "inspect", "ill.json", "-o", "attack.png").split())
    for part in ("promise", "classes healthy, ill", "features", "penalty", "accuracy"):
        assert part in words
    fields = json.loads(released(capsys, "inspect", "ill.json", "--json"))
    assert fields["classes"] == ["healthy", "ill"]
    assert fields["penalty"] == release.penalty
    assert fields["penalty_choice"] == "rule"
    assert fields["accuracy"]["pointwise"] == release.accuracy.pointwise


def test_dates_of_new_rows_are_read_as_those_learnt_from(folder, capsys, rng):
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 365, 300), unit="D")
    frame = pd.DataFrame({"day": days.date, "half": np.where(days.month > 6, "late", "early")})
    learnt = {"y": "half", "classes": ("early", "late"), "bounds": ("2020-01-01", "2020-12-31")}
    release = mercer.classifier(frame, columns="day", epsilon=50, insist=True, rng=1, **learnt)
    release.save("halves.json")
    (folder / "days.csv").write_text("day\n2020-02-01\n2020-11-05\n2021-05-05\nx\n")
    found = json.loads(released(capsys, "predict", "halves.json", "days.csv", "--json"))
    assert (found["missing"], found["outside"]) == (1, 1)
    assert [row["prediction"] for row in found["predictions"]] == ["early", "late", "late", None]
    frame.to_parquet("days.parquet")
    found = json.loads(released(capsys, "predict", "halves.json", "days.parquet", "--json"))
    assert (found["missing"], found["outside"]) == (0, 0)


def test_the_same_as_in_python(folder, capsys):
    released(
        capsys,
        *ILL,
        *PROMISE,
        *SEEDED,
        "--loss",
        "hinge",
        "--kernel",
        "matern52",
        "--bandwidth",
        "30",
        "15",
        "--penalty",
        "0.1",
        "--constant",
        "2",
        "--method",
        "output",
        "--features",
        "landmarks",
        "-o",
        "a.json",
        "--json",
    )
    there = mercer.classifier(
        "patients.csv",
        "outcome",
        columns=["age", "bmi"],
        bounds=[(0, 100), (10, 60)],
        epsilon=5,
        delta=1e-6,
        classes=("healthy", "ill"),
        loss="hinge",
        kernel="matern52",
        bandwidth=[30, 15],
        penalty=0.1,
        constant=2,
        method="output",
        features="landmarks",
        size=12,
        rng=1,
    )
    here = mercer.load("a.json")
    assert np.array_equal(here.coordinates, there.coordinates)
    assert here.to_dict() == there.to_dict()


def test_regress_and_quantiles(folder, capsys):
    released(capsys, *PRESSURE, *PROMISE, *SEEDED, "-o", "mean.json")
    release = mercer.load("mean.json")
    assert release.y_bounds == (60, 220)
    out = released(capsys, "predict", "mean.json", "new.csv", "--band", "-o", "found.csv")
    assert "4 predictions of pressure written to found.csv" in out
    with (folder / "found.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["row", "prediction", "lower", "upper"]
    assert float(rows[0]["prediction"]) == near(release([[30, 22]]).item())
    assert rows[1] == {"row": "2", "prediction": "", "lower": "", "upper": ""}
    curves = [*PRESSURE, *PROMISE, *SEEDED, "--loss", "pinball", "--quantiles", "0.1", "0.5", "0.9"]
    fields = json.loads(released(capsys, *curves, "-o", "q.json", "--json"))
    assert [loss["level"] for loss in fields["losses"]] == [0.1, 0.5, 0.9]
    release = mercer.load("q.json")
    (row,) = json.loads(released(capsys, "predict", "q.json", "--at", 30, 22, "--json"))["predictions"]
    assert [row[f"quantile_{q}"] for q in (0.1, 0.5, 0.9)] == release([[30, 22]])[0].tolist()
    values = json.loads(released(capsys, "eval", "q.json", "--at", 30, 22, "--json"))
    assert values["functions"] == ["0.1", "0.5", "0.9"]
    assert values["values"][0]["value"] == release([[30, 22]])[0].tolist()
    assert len(released(capsys, "eval", "q.json", "--at", 30, 22).strip().splitlines()) == 4
    assert "quantiles 0.1, 0.5, 0.9" in " ".join(released(capsys, "inspect", "q.json").split())


def test_several_classes(folder, capsys):
    ward = [*AGE[:-1], "ward", "--classes", "north", "south", "west", *PROMISE, *SEEDED]
    ward += ["--loss", "logistic"]
    released(capsys, *ward, "-o", "w.json")
    release = mercer.load("w.json")
    found = json.loads(released(capsys, "predict", "w.json", "--at", 40, "--probability", "--band", "--json"))
    (row,) = found["predictions"]
    shares = [row[f"probability_{name}"] for name in ("north", "south", "west")]
    assert sum(shares) == pytest.approx(1)
    assert row["decision_south"] == release([40.0])[0, 1]
    assert row["lower_west"] < row["decision_west"] < row["upper_west"]
    values = json.loads(released(capsys, "eval", "w.json", "--grid", 3, "--json"))
    assert values["functions"] == ["north", "south", "west"]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("words", "classes", "column"),
    [
        (["0", "1"], (0, 1), [0, 1]),
        (["-1", "0.5"], (-1.0, 0.5), [-1, 0.5]),
        (["false", "true"], (False, True), [False, True]),
        (["no", "1"], ("no", "1"), ["no", "1"]),
    ],
)
def test_classes_as_they_stand_in_the_file(folder, capsys, kind, words, classes, column):
    y = [column[i % 2] for i in range(100)]
    x = [float(i % 2) for i in range(100)]
    if kind == "parquet":
        pq.write_table(pa.table({"x": x, "y": y}), "d.parquet")
    else:
        cells = [str(v).lower() for v in y]
        lines = [f"{a},{b}" for a, b in zip(x, cells, strict=True)]
        (folder / "d.csv").write_text("x,y\n" + "\n".join(lines) + "\n")
    released(
        capsys,
        "classify",
        f"d.{kind}",
        "-c",
        "x",
        "--bounds",
        0,
        1,
        "--label",
        "y",
        "--classes",
        *words,
        "--epsilon",
        40,
        "--insist",
        "--delta",
        1e-6,
        "--seed",
        1,
        "-o",
        "r.json",
    )
    release = mercer.load("r.json")
    assert release.classes == classes
    assert [type(c) for c in release.classes] == [type(c) for c in classes]
    assert release.predict([0.0, 1.0]).tolist() == list(classes)


def test_a_warning_is_one_line_before_the_result(folder, capsys):
    small = [*ILL, "--epsilon", "0.5", "--delta", "1e-6", *SEEDED, "--penalty", "1e-3"]
    code, out, err = run(capsys, *small, "--method", "output", "-o", "a.json")
    assert code == 0
    assert "Released the classifier" in out
    (line,) = err.strip().splitlines()
    assert line.startswith("Note: penalty = 0.001: the noise for privacy has standard deviation")
    assert ".py" not in line
    code, out, err = run(capsys, *small, "--method", "output", "-o", "b.json", "--json")
    assert json.loads(err)["note"].startswith("penalty = 0.001")
    assert json.loads(out)["penalty_choice"] == "given"


def test_predict_of_few_rows_and_several_classes(folder, capsys):
    """Bands of several functions do not fit a table; nothing to predict is said."""
    released(capsys, *ILL, *PROMISE, *SEEDED, "-o", "few.json")
    (folder / "none.csv").write_text("age,bmi\n")
    (folder / "gap.csv").write_text("age,bmi\n,27\n")
    assert "no rows" in run(capsys, "predict", "few.json", "none.csv")[1]
    code, out, _ = run(capsys, "predict", "few.json", "gap.csv")
    assert code == 0
    assert "1 of 1 rows lack a number" in out


def test_a_penalty_of_several_and_persons_and_a_ledger(folder, capsys):
    several = [*ILL, *PROMISE, *SEEDED, "--penalty", "0.05", "0.5", "-o", "a.json", "--json"]
    code, _, err = run(capsys, *several)
    assert code == 2
    assert "a Parquet file" in err  # places of a CSV file's rows are not public
    place = next(i for i, word in enumerate(several) if word.endswith(".csv"))
    pd.read_csv(several[place]).to_parquet(folder / "patients.parquet")
    several[place] = "patients.parquet"
    fields = json.loads(released(capsys, *several))
    assert fields["penalty_choice"] == "private"
    assert fields["penalty"] in (0.05, 0.5)
    fields = json.loads(released(capsys, *ILL, *PROMISE, *SEEDED, "--unit", "id", "-o", "b.json", "--json"))
    assert fields["privacy"]["unit"] == "id"
    assert fields["privacy"]["n"] == 200
    mercer.Ledger("budgets.db").register("patients", epsilon=1, delta=1e-5)
    code, _, err = run(
        capsys,
        *ILL,
        *PROMISE,
        "--size",
        "12",
        "--ledger",
        "budgets.db",
        "--dataset",
        "patients",
        "-o",
        "c.json",
    )
    assert code == 2
    assert "has" in err
    assert "left" in err
    assert not (folder / "c.json").exists()
    assert mercer.Ledger("budgets.db").history("patients") == []


END = [*PROMISE, *SEEDED, "-o", "x.json"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*AGE, *END], "classes is missing"),
        ([*AGE, "--classes", "ill", *END], "classes must be 2 to 64"),
        ([*AGE, "--classes", "ill", "ill", *END], "classes must be different"),
        ([*AGE[:-2], "--classes", "a", "b", *END], "label is missing"),
        ([*AGE[:-1], "gone", "--classes", "a", "b", *END], "there is no column 'gone'"),
        ([*AGE[:-1], "age", "--classes", "a", "b", *END], "among the columns to learn from"),
        ([*ILL, *PROMISE], "output is missing"),
        ([*ILL, *END[4:]], "epsilon is missing"),
        ([*ILL, *END, "--penalty", "big"], "penalty must be 'rule' or numbers"),
        ([*ILL, *END, "--penalty", "-1"], "penalty must be a finite number above 0"),
        ([*ILL, *END, "--penalty", "0.1", "0"], "penalty must be a finite number above 0"),
        ([*ILL, *END, "--bandwidth", "wide"], "bandwidth must be 'rule' or numbers"),
        ([*ILL, *END, "--loss", "pinball"], "loss must be one of"),
        ([*ILL, *END, "--kernel", "box"], "kernel must be one of"),
        ([*ILL, *END, "--method", "both"], "method must be one of"),
        ([*ILL, *END, "--unit", "id", "--method", "objective"], "use --method output with unit"),
        ([*PRESSURE[:-3], *END], "y_bounds is missing"),
        ([*PRESSURE[:-2], "220", "60", *END], "y_bounds: bounds must have lower < upper"),
        ([*PRESSURE, *END, "--quantiles", "0.5"], "quantiles is for loss='pinball'"),
        ([*PRESSURE, *END, "--loss", "pinball", "--quantiles", "2"], "levels in (0, 1)"),
        (["predict", "gone.json", "new.csv"], "no release file"),
    ],
)
def test_mistakes_are_one_clear_line(folder, capsys, arguments, message):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert not (folder / "x.json").exists()


def test_mistakes_with_a_release(folder, capsys):
    released(capsys, *AGE, "--classes", "healthy", "ill", *PROMISE, *SEEDED, "-o", "a.json")
    released(capsys, *PRESSURE, *PROMISE, *SEEDED, "-o", "p.json")
    density = ["density", "patients.csv", "-c", "age", "--bounds", 0, 100, "--seed", 1, *PROMISE]
    released(capsys, *density, "-o", "d.json")
    (folder / "torn.csv").write_text("age,bmi\n1,2,3\n4,5\n")
    for arguments, message in [
        (["predict", "a.json"], "either as a file or with --at"),
        (["predict", "a.json", "new.csv", "--at", 3], "either as a file or with --at"),
        (["predict", "p.json", "--at", 3], "2 numbers a point (age, bmi)"),
        (["predict", "p.json", "new.csv", "--probability"], "--probability is for classifiers"),
        (["predict", "p.json", "torn.csv"], "1 line(s) have more or fewer cells"),
        (["predict", "p.json", "gone.csv"], "there is no file"),
        (["predict", "a.json", "new.csv", "-o", "new.csv"], "the file of new rows itself"),
        (["predict", "a.json", "new.csv", "-o", "patients.csv"], "exists; choose another name"),
        (["predict", "a.json", "new.csv", "-o", "new.json"], "must end in .csv"),
        (["predict", "d.json", "new.csv"], "only classifiers and regressions predict"),
        (["eval", "a.json", "--at", 3, "--bandwidth", 9], "cannot be smoothed afterwards"),
        (["eval", "a.json", "--at", 3, "--raw"], "--raw is for densities"),
        (["plot", "p.json", "--columns", "size"], "columns must be one or two of age, bmi"),
        (["plot", "p.json", "--at", "bmi"], "--at must be NAME=NUMBER"),
        (["plot", "p.json", "--at", "size=3"], "there is no column 'size'"),
        (["plot", "d.json", "--at", "age=3"], "a picture of a density has no option"),
        ([*AGE, "--classes", "a", "b", *PROMISE, *SEEDED, "-o", "a.json"], "--overwrite"),
    ]:
        code, _, err = run(capsys, *arguments)
        assert (code, len(err.strip().splitlines())) == (2, 1), (arguments, err)
        assert message in err
    (folder / "thin.csv").write_text("bmi\n3\n")
    code, _, err = run(capsys, "predict", "a.json", "thin.csv", "--json")
    assert "must have one column 'age'" in json.loads(err)["error"]


def test_the_default_has_probabilities(folder, capsys):
    released(capsys, *AGE, "--classes", "healthy", "ill", *PROMISE, *SEEDED, "-o", "a.json")
    found = json.loads(released(capsys, "predict", "a.json", "new.csv", "--probability", "--json"))
    for row in found["predictions"]:
        if row["prediction"] is not None:
            likely = max(("healthy", "ill"), key=lambda name, row=row: row[f"probability_{name}"])
            assert row["prediction"] == likely


def test_a_regression_says_what_it_estimates(folder, capsys):
    options = ["regress", "patients.csv", "--column", "age", "--bounds", "0", "100", "--label", "pressure"]
    options += ["--y-bounds", "60", "220", *PROMISE, *SEEDED]
    assert "threshold 0.212 of the range: between the mean" in " ".join(
        released(capsys, *options, "-o", "r.json").split()
    )
    assert json.loads(released(capsys, "inspect", "r.json", "--json"))["losses"][0][
        "threshold"
    ] == pytest.approx(0.3 * 2**0.5)
    assert "squared: the mean" in released(capsys, *options, "--loss", "squared", "-o", "s.json")
    assert json.loads(released(capsys, "inspect", "s.json", "--json"))["estimates"] == "the mean"


def test_many_rows_are_cut_on_a_terminal_and_whole_in_a_file(folder, capsys):
    released(capsys, *AGE, "--classes", "healthy", "ill", *PROMISE, *SEEDED, "-o", "a.json")
    out = released(capsys, "predict", "a.json", "patients.csv")
    assert "The first 20 of 400 rows; all of them: -o predictions.csv" in out
    released(capsys, "predict", "a.json", "patients.csv", "-o", "all.csv")
    assert len((folder / "all.csv").read_text().splitlines()) == 401
    found = json.loads(released(capsys, "predict", "a.json", "patients.csv", "--json"))
    assert len(found["predictions"]) == 400


def test_no_values_in_the_output(folder, capsys):
    (folder / "s.csv").write_text("age,outcome\n" + "77.125,secret-diagnosis\n" * 50)
    out = released(
        capsys,
        "classify",
        "s.csv",
        *AGE[2:],
        "--classes",
        "healthy",
        "ill",
        *PROMISE,
        *SEEDED,
        "-o",
        "s.json",
    )
    for word in ("77.125", "secret"):
        assert word not in out + (folder / "s.json").read_text()


@pytest.mark.parametrize(
    ("command", "function"), [(classify_command, mercer.classifier), (regress_command, mercer.regression)]
)
def test_defaults_are_those_of_the_functions(command, function):
    here, there = (inspect.signature(f).parameters for f in (command, function))
    for name in set(here) & set(there) - {"epsilon", "penalty"}:  # required; None: the rule
        assert here[name].default == there[name].default, name


def test_words_after_an_option_belong_to_it():
    assert spread(["--classes", "a", "-1", "-o", "f"]) == ["--classes=a", "--classes=-1", "-o", "f"]
    assert spread(["--columns", "a", "b", "--json"]) == ["--columns=a", "--columns=b", "--json"]
    assert spread(["--penalty", "rule"]) == ["--penalty", "rule"]
    assert spread(["--at", "age=3", "bmi=-4", "f"]) == ["--at=age=3", "--at=bmi=-4", "f"]


@pytest.mark.parametrize("command", ["classify", "regress", "predict"])
def test_help_starts_with_an_example(command):
    result = CliRunner().invoke(app, [command, "--help"])
    assert result.exit_code == 0
    assert f"mercer {command}" in result.output.split("Options")[0]
    assert "Example" in result.output


def test_the_examples_of_the_help_run(folder, capsys):
    (folder / "new.csv").write_text("patient,age,bmi\n007,30,22\n")
    for command in ("classify", "regress", "predict"):
        text = CliRunner().invoke(app, [command, "--help"]).output.split("Example:")[1]
        line = " ".join(text.split("\n \n")[0].split("\n\n")[0].split())
        words = line.split("Or at points")[0].split()
        words = words[
            1 : 1
            + next(i for i, w in enumerate(words) if w.endswith((".json", ".csv")) and words[i - 1] == "-o")
        ]
        released(capsys, *words)
    assert (folder / "predictions.csv").exists()
