"""The command line as people and machines use it."""

import errno
import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import mercer
from mercer.cli.app import app
from mercer.cli.typed import spread
from tests.helpers.shell import run, said

PROMISE = ["--epsilon", "1", "--delta", "1e-6"]


@pytest.fixture
def folder(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{i // 2},{a:.1f},{w:.1f},x"
        for i, (a, w) in enumerate(zip(rng.normal(50, 15, 400), rng.normal(70, 10, 400), strict=True))
    ]
    (tmp_path / "people.csv").write_text("id,age,weight,name\n" + "\n".join(rows) + "\n")
    return tmp_path


AGE = ["density", "people.csv", "--column", "age", "--bounds", "0", "100", *PROMISE]


def test_density_eval_plot_inspect(folder, capsys):
    code, out, err = run(capsys, *AGE, "-o", "ages.json")
    assert (code, err) == (0, "")
    assert "Written to ages.json" in out
    assert "epsilon = 1" in out
    release = mercer.load("ages.json")
    assert release.privacy.secure
    code, out, _ = run(capsys, "eval", "ages.json", "--at", "20", "40", "60", "--json")
    values = json.loads(out)["values"]
    assert [v["density"] for v in values] == release([20, 40, 60]).tolist()
    assert values[0]["lower"] <= values[0]["upper"]
    code, out, _ = run(capsys, "eval", "ages.json", "--grid", "5")
    assert code == 0
    assert len(out.strip().splitlines()) == 6
    for name in ("a.png", "a.svg", "a.pdf"):
        code, out, _ = run(capsys, "plot", "ages.json", "-o", name)
        assert code == 0
        assert (folder / name).stat().st_size > 5000
    code, out, _ = run(capsys, "plot", "ages.json", "--bandwidth", "15", "--json")
    assert json.loads(out) == {"file": "ages.png"}
    code, out, _ = run(capsys, "inspect", "ages.json")
    assert "operating system's entropy" in " ".join(out.split())
    code, out, _ = run(capsys, "inspect", "ages.json", "--json")
    fields = json.loads(out)
    assert fields["privacy"]["epsilon"] == 1.0
    assert fields["accuracy"]["integrated"] == release.accuracy.integrated


def test_two_columns_persons_and_json(folder, capsys):
    code, out, err = run(
        capsys,
        "density",
        "people.csv",
        "-c",
        "age",
        "-c",
        "weight",
        "--bounds",
        "0",
        "100",
        "30",
        "120",
        *PROMISE,
        "--unit",
        "id",
        "-o",
        "two.json",
        "--json",
    )
    assert (code, err) == (0, "")
    fields = json.loads(out)
    assert fields["privacy"]["n"] == 200
    assert fields["privacy"]["unit"] == "id"
    assert run(capsys, "plot", "two.json")[0] == 0
    code, out, _ = run(capsys, "eval", "two.json", "--at", "50", "70", "20", "60", "--json")
    assert len(json.loads(out)["values"]) == 2
    code, _, err = run(capsys, "eval", "two.json", "--at", "50")
    assert code == 2
    assert "2 numbers a point (age, weight)" in err


def test_options_reach_the_release(folder, capsys):
    code, *_ = run(capsys, *AGE, "-o", "a.json", "--bandwidth", "7", "--boundary", "open", "--seed", "3")
    release = mercer.load("a.json")
    assert code == 0
    assert release.bandwidth == pytest.approx([7])
    assert release.boundary == "open"
    assert "NOT PRIVATE" in release.privacy.sentence
    code, *_ = run(capsys, *AGE, "-o", "b.json", "--kernel", "exponential", "--bandwidth", "rule")
    assert mercer.load("b.json").basis.name == "grid"


def test_plan(folder, capsys):
    arguments = [
        "plan",
        "density",
        "--n",
        "2000",
        "--bounds",
        "-5",
        "100",
        "--epsilon",
        "0.1",
        "1",
        "--delta",
        "1e-6",
    ]
    code, out, _ = run(capsys, *arguments, "-o", "plan.png")
    assert code == 0
    assert "0.1" in out
    assert (folder / "plan.png").stat().st_size > 5000
    code, out, _ = run(capsys, *arguments, "--json")
    plans = json.loads(out)["plans"]
    assert [p["epsilon"] for p in plans] == [0.1, 1.0]
    assert plans[0]["privacy_error"] > plans[1]["privacy_error"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*AGE[:-4], "--delta", "1e-6", "-o", "x.json"], "epsilon is missing"),
        ([*AGE[:-2], "--delta", "2", "-o", "x.json"], "delta must be in (0, 1)"),
        ([*AGE[:4], *PROMISE, "-o", "x.json"], "bounds is missing"),
        (AGE, "output is missing"),
        ([*AGE, "-o", "x.txt"], "output must end in .json"),
        ([*AGE, "-o", "nowhere/x.json"], "there is no folder"),
        (["density", "people.csv", "-c", "agee", *AGE[4:], "-o", "x.json"], "there are 'id', 'age'"),
        (["density", "gone.csv", *AGE[2:], "-o", "x.json"], "there is no file"),
        ([*AGE[:5], "100", "0", *PROMISE, "-o", "x.json"], "lower < upper"),
        ([*AGE[:5], "0", "100", "5", *PROMISE, "-o", "x.json"], "bounds must be pairs"),
        ([*AGE, "-o", "x.json", "--bandwidth", "-3"], "bandwidth must be finite"),
        ([*AGE, "-o", "x.json", "--bandwidth", "big"], "bandwidth must be a number"),
        (["eval", "gone.json", "--at", "3"], "no release file"),
        (["plan", "density", "--bounds", "0", "1", *PROMISE], "n is missing"),
    ],
)
def test_mistakes_are_one_clear_line(folder, capsys, arguments, message):
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert message in err
    assert "Traceback" not in err
    assert not (folder / "x.json").exists()


def test_errors_as_json(folder, capsys):
    code, _, err = run(capsys, *AGE, "-o", "x.txt", "--json")
    assert code == 2
    assert "output must end" in json.loads(err)["error"]


def test_a_release_is_not_overwritten_by_accident(folder, capsys):
    run(capsys, *AGE, "-o", "a.json")
    before = (folder / "a.json").read_bytes()
    code, _, err = run(capsys, *AGE, "-o", "a.json")
    assert code == 2
    assert "--overwrite" in err
    assert (folder / "a.json").read_bytes() == before
    assert run(capsys, *AGE, "-o", "a.json", "--overwrite")[0] == 0
    assert (folder / "a.json").read_bytes() != before


def test_eval_points_outside_and_wrong_pictures(folder, capsys):
    run(capsys, *AGE, "-o", "a.json")
    for arguments, message in [
        (["eval", "a.json", "--at", "200"], "must lie in the domain"),
        (["eval", "a.json"], "--at"),
        (["plot", "a.json", "-o", "a.bmp"], "must end in"),
        (["eval", "a.json", "--at", "3", "--bandwidth", "0.05"], "at least the release's own"),
    ]:
        code, _, err = run(capsys, *arguments)
        assert code == 2
        assert message in err


def test_numbers_after_an_option_belong_to_it():
    assert spread(["--bounds", "-5", "1e3", "f.csv"]) == ["--bounds=-5", "--bounds=1e3", "f.csv"]
    assert spread(["--bandwidth", "auto"]) == ["--bandwidth", "auto"]
    assert spread(["--epsilon"]) == ["--epsilon"]


@pytest.mark.parametrize("command", [[], ["density"], ["eval"], ["plot"], ["inspect"], ["plan", "density"]])
def test_help_has_an_example(command):
    result = CliRunner().invoke(app, [*command, "--help"])
    assert result.exit_code == 0
    if command:
        assert f"mercer {' '.join(command)}" in result.output
        assert "Example" in result.output


def test_version(capsys):
    code, out, _ = run(capsys, "--version")
    assert code == 0
    assert out.strip() == f"mercer {mercer.__version__}"


def test_no_progress_on_a_pipe_and_no_values_in_the_output(folder, capsys):
    (folder / "s.csv").write_text("age\n" + "\n".join(["77.125"] * 50) + "\n")
    _, out, err = run(capsys, "density", "s.csv", *AGE[2:], "-o", "s.json")
    assert "77.125" not in out + err + (folder / "s.json").read_text()
    assert err == ""


def test_pictures_show_the_promise(folder, capsys):
    run(capsys, *AGE, "-o", "a.json")
    figure = mercer.load("a.json").plot()
    words = [text.get_text() for text in figure.texts]
    assert any("epsilon = 1, delta = 1e-06, one row" in word for word in words)
    axes = figure.axes[0]
    assert axes.get_xlabel() == "age"
    curve = axes.lines[0].get_ydata()
    assert np.all(curve >= 0)


def test_pure_by_default_with_what_an_attacker_can_do(folder, capsys):
    words = ["density", "people.csv", "--column", "age", "--bounds", "0", "100", "--epsilon", "1"]
    code, out, err = run(capsys, *words, "-o", "pure.json")
    assert (code, err) == (0, "")
    assert "pure, no delta" in " ".join(out.split())
    assert "at most 13.6 % of the cases of B" in " ".join(out.split())
    code, out, _ = run(capsys, "inspect", "pure.json", "-o", "attack.png")
    assert code == 0
    assert (folder / "attack.png").stat().st_size > 5000
    code, out, _ = run(capsys, *words, "--mechanism", "l2", "-o", "l2.json", "--json")
    assert json.loads(out)["privacy"]["delta"] == 0
    for method in ("private-scott", "private-cv"):
        code, out, _ = run(
            capsys, *words, "--bandwidth", method, "--choice-share", "0.3", "-o", f"{method}.json"
        )
        assert code == 0
        assert "a part of the budget" in " ".join(out.split())
    code, out, _ = run(capsys, *words, "--seed", "1", "-o", "seeded.json")
    assert "Whoever knows or guesses the seed" in " ".join(out.split())
    assert "13.6 %" not in out


def test_folders_that_cannot_be_written_are_found_before_anything_is_spent(folder, capsys, monkeypatch):
    def refuse(**_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refuse)
    code, _, err = run(capsys, *AGE, "-o", "x.json")
    assert code == 2
    assert "cannot be written to" in err


def test_audit(capsys):
    code, out, _ = run(capsys, "audit", "laplace", "--samples", "20000")
    assert code == 0
    assert "kept" in out
    code, out, _ = run(capsys, "audit", "geometric", "--samples", "20000", "--json")
    (found,) = json.loads(out)["audits"]
    assert found["verdict"] == "kept"
    assert 0.5 < found["audited"] <= found["epsilon"] == 1
    code, out, _ = run(capsys, "audit", "l2", "--samples", "300", "--exact", "--json")
    assert code == 0
    for wrong in (["audit", "nonsense"], ["audit", "laplace", "--all"]):
        code, _, err = run(capsys, *wrong)
        assert code == 2
        assert "one" in err


def test_a_counted_column(folder, capsys):
    code, out, err = run(capsys, *AGE, "--step", "1", "-o", "ages.json", "--plot", "ages.png")
    assert (code, err) == (0, "")
    assert "Released the distribution of age in [0, 100], 101 values" in out
    assert "(noise only)" in out
    assert (folder / "ages.png").stat().st_size > 1000
    release = mercer.load("ages.json")
    code, out, _ = run(capsys, "eval", "ages.json", "--where", "age>=65", "--json")
    found = release.share(65, None)
    assert json.loads(out) == {"where": "65 <= age <= 100", **found._asdict()}
    code, out, _ = run(capsys, "eval", "ages.json", "--where", "age=40", "--level", "0.9")
    assert out.startswith(f"share of age = 40: {release.share(40, 40).estimate:.4%}, 90% interval")
    code, out, _ = run(capsys, "eval", "ages.json", "--at", "40", "65", "--json")
    assert [row["share"] for row in json.loads(out)["values"]] == [
        release.share(x, x).estimate for x in (40, 65)
    ]
    code, out, _ = run(capsys, "eval", "ages.json", "--at", "40")
    assert "at or below" in out
    code, out, _ = run(capsys, "inspect", "ages.json", "--json")
    summary = json.loads(out)
    assert summary["values"] == 101
    assert summary["mean"]["estimate"] == release.mean().estimate
    assert run(capsys, "plot", "ages.json", "-o", "again.png")[0] == 0


def test_shares_of_a_smooth_density(folder, capsys):
    run(capsys, *AGE, "-o", "ages.json")
    code, out, _ = run(capsys, "eval", "ages.json", "--where", "age=40..60", "--json")
    assert code == 0
    assert json.loads(out)["estimate"] == mercer.load("ages.json").share(40, 60).estimate


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (["--where", "weight>=65"], "the release is of age alone, got 'weight'"),
        (["--where", "age=40|41"], "--where must be a range of age"),
        (["--where", "age=60..40"], "lower must not be above upper"),
        (["--grid", "5"], "it has no --grid"),
        ([], "say what to ask, in one way"),
        (["--margin", "age"], "--margin is for histograms"),
        (["--at", "101"], "outside|inside"),
    ],
)
def test_what_a_counted_column_is_not_asked(folder, capsys, asked, message):
    run(capsys, *AGE, "--step", "1", "-o", "ages.json")
    code, _, err = run(capsys, "eval", "ages.json", *asked)
    assert code == 2
    assert re.search(message, err)


def test_plan_of_a_counted_column(folder, capsys):
    arguments = ["plan", "column", "--n", "400", "--bounds", "0", "100", "--epsilon", "0.5", "1"]
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    assert "the mean of 101 values" in out
    code, out, _ = run(capsys, *arguments, "--json")
    plans = json.loads(out)["plans"]
    made = mercer.density("people.csv", columns="age", bounds=(0, 100), step=1, epsilon=1)
    assert plans[1]["cdf"] == pytest.approx(made.accuracy.cdf)
    assert plans[0]["mean"] > plans[1]["mean"]


def test_the_last_day_of_a_range_of_dates_is_whole(tmp_path, monkeypatch, capsys):
    """Both ends of dates count in a density that was not counted value by value, and the output says so."""
    monkeypatch.chdir(tmp_path)
    days = np.datetime64("2023-01-01") + np.arange(365)
    release = mercer.density(days, bounds=("2023-01-01", "2023-12-31"), epsilon=1, rng=1)
    release.save("days.json")
    whole = release.share("2023-03-01", "2023-03-31")
    first, after = (float(day.astype("datetime64[D]").astype(int)) for day in (days[59], days[90]))
    assert whole == release.share(first, after)  # numbers: the upper end does not count
    assert release.integral("2023-03-01", "2023-03-31") == whole.estimate
    assert release.share("2023-03-01", np.datetime64("2023-12-31")).upper > 0
    for asked, words, found in (
        (["x=2023-03-01..2023-03-31"], "2023-03-01 <= x <= 2023-03-31", whole),
        (["x>=2023-03-01", "x<2023-04-01"], "2023-03-01 <= x < 2023-04-01", whole),
        (["x=2023-03-01"], "x = 2023-03-01", release.share(first, first + 1)),
    ):
        told = said(capsys, "eval", "days.json", "--where", *asked)
        assert told["where"] == words
        assert told["estimate"] == pytest.approx(found.estimate)
