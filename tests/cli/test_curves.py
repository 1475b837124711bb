"""`mercer curve`, and mean curves in `eval`, `plot`, `inspect` and `plan`."""

import inspect
import json
import shlex

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import mercer
from mercer.cli.app import app
from mercer.cli.curves import curve_command
from mercer.cli.typed import spread
from mercer.columns.grids import grid_in_names
from mercer.sensitive.curves.groups import columns_of_points, split_by
from tests.helpers.shell import released, run

PROMISE = ["--epsilon", "2", "--delta", "1e-5"]
T = np.linspace(0, 1, 12)
WIDE = ["curve", "scans.csv", "--columns", "cca_*", "--grid", "0", "1", "--bound", "1"]
LONG = ["curve", "growth.csv", "--long", "child", "age", "height", "--bounds", "1", "18"]
BY = ["--by", "case", "--groups", "0", "1"]


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng()
    case = np.arange(300) % 2
    heights = 0.5 + 0.2 * np.sin(3 * T) - 0.2 * case[:, None] + 0.05 * rng.normal(size=(300, 1))
    wide = pd.DataFrame(heights, columns=[f"cca_{k}" for k in range(12)])
    wide.insert(0, "person", np.arange(300) // 2)
    wide.insert(1, "case", case)
    ages = np.arange(1, 19)
    children = pd.DataFrame(
        {
            "child": np.repeat([f"c{k}" for k in range(200)], 18),
            "clinic": np.repeat(np.where(np.arange(200) % 4, "north", "south side"), 18),
            "age": np.tile(ages, 200),
        }
    )
    children["height"] = 75 + 6 * children.age + rng.normal(0, 4, 3600)
    return wide, children


@pytest.fixture
def folder(tmp_path, monkeypatch, tables):
    monkeypatch.chdir(tmp_path)
    wide, children = tables
    wide.to_csv("scans.csv", index=False)
    wide.to_parquet("scans.parquet")
    children.to_csv("growth.csv", index=False)
    return tmp_path


def test_curve_eval_plot_inspect(folder, capsys):
    out = " ".join(released(capsys, *WIDE, *PROMISE, "-o", "mean.json").split())
    assert "Released the mean curve of value over t in [0, 1]" in out
    for words in ("epsilon = 2", "300 rows", "operating system's entropy", "at most 1", "accuracy"):
        assert words in out
    assert "Written to mean.json. Look at it: mercer plot mean.json" in out
    release = mercer.load("mean.json")
    assert abs(release(0.5) - (0.4 + 0.2 * np.sin(1.5))) < 0.5
    found = json.loads(released(capsys, "eval", "mean.json", "--at", "0.2", "0.5", "--json"))
    assert (found["value"], found["derivative"], found["level"]) == ("value", [0], 0.95)
    assert found["band"] == "for the file's own mean, clipped, credible: coverage measured, not a theorem"
    first = found["values"][0]
    band = release.band([0.2, 0.5])
    assert first["at"] == [0.2]
    assert first["value"] == pytest.approx(float(release(0.2)))
    assert first["lower"] == pytest.approx(band.lower[0])
    assert first["upper"] == pytest.approx(band.upper[0])
    assert first["standard_error"] == pytest.approx(float(release.standard_error(0.2)))
    found = json.loads(
        released(capsys, "eval", "mean.json", "--grid", 3, "--derivative", 1, "--level", 0.8, "--json")
    )
    assert [row["at"] for row in found["values"]] == [[0.0], [0.5], [1.0]]
    slope = release.band([0.0, 0.5, 1.0], 0.8, order=1)
    assert found["values"][1]["value"] == pytest.approx(float(release.derivative(0.5)))
    assert found["values"][1]["upper"] == pytest.approx(slope.upper[1])
    out = released(capsys, "eval", "mean.json", "--at", 0.5, "--derivative", 2)
    assert "derivative 2 of value" in out
    assert "95% band for the file's own mean, clipped, everywhere" in " ".join(out.split())
    assert "it is credible: coverage measured, not a theorem" in " ".join(out.split())
    released(capsys, "plot", "mean.json", "--xlabel", "tract", "--ylabel", "FA", "--size", 6, 4)
    assert (folder / "mean.png").stat().st_size > 5000
    out = released(capsys, "plot", "mean.json", "--derivative", 1, "-o", "slope.svg", "--json")
    assert json.loads(out) == {"file": "slope.svg"}
    words = " ".join(released(capsys, "inspect", "mean.json", "-o", "attack.png").split())
    assert "mean.json: a mean curve of value over t in [0, 1]" in words
    fields = json.loads(released(capsys, "inspect", "mean.json", "--json"))
    assert fields["kind"] == "mean-curve"
    assert fields["bound"] == 1
    assert fields["smoothing"]["choice"] == "auto"
    assert fields["accuracy"]["pointwise"] == release.accuracy.pointwise
    assert fields["accuracy"]["root_mean_square"] == pytest.approx(release.accuracy.integrated**0.5)


def test_the_same_as_in_python(folder, capsys):
    fields = json.loads(
        released(
            capsys,
            "curve",
            "scans.parquet",
            "--columns",
            "cca_*",
            "--grid",
            "0",
            "2",
            "--bounds",
            "0",
            "3",
            "--bound",
            "0.5",
            "--center",
            "0.4",
            "--kernel",
            "matern52",
            "--scale",
            "0.5",
            "--eta",
            "2",
            "--penalty",
            "0.01",
            "--order",
            "paper",
            "--missing",
            "zero",
            "--unit",
            "person",
            *PROMISE,
            "--seed",
            "7",
            "-o",
            "a.json",
            "--json",
        )
    )
    there = mercer.mean_curve(
        "scans.parquet",
        columns="cca_*",
        grid=np.linspace(0, 2, 12),
        bounds=(0, 3),
        bound=0.5,
        center=lambda t: 0 * t + 0.4,
        kernel="matern52",
        scale=0.5,
        eta=2,
        penalty=0.01,
        order="paper",
        missing="zero",
        unit="person",
        epsilon=2,
        delta=1e-5,
        rng=7,
    )
    assert mercer.load("a.json").to_dict() == there.to_dict()
    assert fields["file"] == "a.json"
    assert fields["order"] == "paper"
    assert fields["privacy"]["n"] == 150
    words = " ".join(released(capsys, "inspect", "a.json").split())
    assert "NOT PRIVATE" in words
    assert "it cannot be smoothed again" in words
    assert "at most 0.5 around a public centre" in words


@pytest.mark.parametrize("penalty", ["auto", "rule", "private-cv", "0.05"])
def test_penalties_in_words_and_numbers(folder, capsys, penalty):
    fields = json.loads(
        released(
            capsys,
            "curve",
            "scans.parquet",
            *WIDE[2:],
            *PROMISE,
            "--penalty",
            penalty,
            "--scale",
            "0.3",
            "--eta",
            "1",
            "-o",
            "p.json",
            "--json",
        )
    )
    assert fields["smoothing"]["choice"] == ("given" if penalty == "0.05" else penalty)


def test_pure_and_missing(folder, capsys):
    fields = json.loads(
        released(capsys, *WIDE, "--epsilon", "2", "--missing", "drop", "-o", "p.json", "--json")
    )
    assert fields["privacy"]["delta"] == 0


def test_three_ways_to_say_where_the_points_are(folder, capsys):
    common = ["--bound", "1", *PROMISE, "--seed", "1", "--columns", "cca_*"]
    released(capsys, "curve", "scans.csv", "--grid", 0, 11, *common, "-o", "a.json")
    (folder / "points.txt").write_text("\n".join(map(str, range(12))) + "\n")
    released(capsys, "curve", "scans.csv", "--grid-file", "points.txt", *common, "-o", "b.json")
    released(capsys, "curve", "scans.csv", "--grid-from-names", *common, "-o", "c.json")
    first, second, third = (mercer.load(f"{name}.json").to_dict() for name in "abc")
    assert first == second == third
    # all but person and group are heights where none are named
    released(
        capsys,
        "curve",
        "scans.csv",
        "--grid",
        0,
        1,
        "--unit",
        "person",
        *BY,
        "--overlapping",
        "--bound",
        1,
        *PROMISE,
        "-o",
        "d.json",
    )


def test_numbers_at_the_end_of_names():
    names, grid = grid_in_names(["h_10", "h_2", "h_-1", "age-5", "x1.25", "y2e1", "w.5"])
    assert names == ["h_-1", "w.5", "x1.25", "h_2", "age-5", "h_10", "y2e1"]
    assert grid.tolist() == [-1, 0.5, 1.25, 2, 5, 10, 20]
    with pytest.raises(ValueError, match="1 column name.* 'age' is the first"):
        grid_in_names(["h_1", "age"])


def test_a_row_a_point(folder, capsys):
    more = ["--bound", "60", "--center", "130", *PROMISE]
    out = released(capsys, *LONG, *more, "-o", "growth.json")
    assert "mean curve of height over age in [1, 18]" in " ".join(out.split())
    release = mercer.load("growth.json")
    assert release.privacy.n == 200
    assert (release.domain.names, release.value) == (("age",), "height")
    released(
        capsys,
        *LONG,
        *more,
        "--by",
        "clinic",
        "--groups",
        "north",
        "south side",
        "--disjoint",
        "-o",
        "by.json",
    )
    assert mercer.load("by-north.json").privacy.n == 150
    assert mercer.load("by-south_side.json").privacy.n == 50


def test_groups_have_a_file_each_and_one_charge(folder, capsys):
    book = mercer.Ledger("budgets.db")
    book.register("scans", epsilon=4, delta=1e-4)
    charged = ["--ledger", "budgets.db", "--dataset", "scans"]
    out = released(capsys, *WIDE, *PROMISE, *BY, "--disjoint", *charged, "-o", "mean.json")
    assert "value over t in [0, 1], case = 0" in out
    assert "Written to mean-0.json, mean-1.json." in out
    one, two = mercer.load("mean-0.json"), mercer.load("mean-1.json")
    assert (one.privacy.n, two.privacy.n) == (150, 150)
    assert "nobody is in two of them" in one.privacy.mechanism
    (charge,) = book.history("scans")  # both together cost what one costs
    assert charge.what == "mean curves of 2 groups"
    assert (charge.epsilon, charge.delta) == (2, 1e-5)
    shared = json.loads(
        released(capsys, *WIDE, *PROMISE, *BY, "--overlapping", *charged, "-o", "more.json", "--json")
    )
    assert shared["by"] == "case"
    assert list(shared["groups"]) == ["0", "1"]
    assert shared["groups"]["1"]["file"] == "more-1.json"
    assert len(book.history("scans")) == 2
    wider = mercer.load("more-0.json").noise.deviations(1)[0]
    assert wider == pytest.approx(2**0.5 * one.noise.deviations(1)[0], rel=0.01)
    code, _, err = run(capsys, *WIDE, *PROMISE, *BY, "--disjoint", *charged, "-o", "third.json")
    assert code == 2
    assert "left" in err
    assert not list(folder.glob("third*"))


def test_a_note_beside_a_file_counts_for_groups_too(folder, capsys):
    mercer.Ledger("budgets.db").register("scans", epsilon=4, delta=1e-4, data="scans.csv")
    code, _, err = run(capsys, *WIDE, *PROMISE, *BY, "--disjoint", "-o", "mean.json")
    assert code == 2
    assert "are counted in the ledger" in err
    with pytest.raises(mercer.LedgerError):
        mercer.mean_curves(
            {"a": "scans.csv", "b": "scans.csv"}, disjoint=False, grid=T, columns="cca_*", bound=1, epsilon=1
        )


def test_split_by_any_table(tables):
    wide, children = tables
    wide = wide.copy()
    wide.loc[5, "case"] = 7
    parts = split_by(wide, "case", (0, 1), columns="cca_*", unit="person")
    assert {name: part.num_rows for name, part in parts.items()} == {0: 150, 1: 149}
    assert parts[0].schema.names == [*(f"cca_{k}" for k in range(12)), "person"]
    told = wide.assign(case=pd.Categorical(wide.case.map({0: "no", 1: "yes"})))
    assert split_by(told, "case", ("no", "yes"))["no"].num_rows == 150
    truth = wide.assign(case=wide.case == 1)
    assert split_by(truth, "case", [True, False])[True].num_rows == 149
    # a curve of a long table is in the group of its first row
    mixed = children.copy()
    mixed.loc[mixed.age > 9, "clinic"] = "west"
    parts = split_by(mixed, "clinic", ("north", "south side"), long=("child", "age", "height"))
    assert {name: part.num_rows for name, part in parts.items()} == {"north": 2700, "south side": 900}
    assert columns_of_points(wide, "case", besides=["case"]) == ["case"]  # named: an error later
    means = mercer.mean_curves(
        wide,
        by="case",
        groups=(0, 1),
        disjoint=True,
        columns="cca_*",
        grid=T,
        bound=1,
        epsilon=3,
        delta=1e-5,
        rng=1,
    )
    apart = mercer.mean_curves(
        {str(k): wide.loc[wide.case == k, "cca_0":].to_numpy() for k in (0, 1)},
        disjoint=True,
        grid=T,
        bound=1,
        epsilon=3,
        delta=1e-5,
        rng=1,
    )
    assert all(np.array_equal(means[k].raw, apart[str(k)].raw) for k in (0, 1))


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"by": "case"}, ValueError, "groups must be 2 to 64 sets"),
        ({"groups": (0, 1)}, ValueError, "groups must be 2 to 64 sets"),
        ({"by": 3, "groups": (0, 1)}, TypeError, "by must be the name of a column"),
        ({"by": "gone", "groups": (0, 1)}, ValueError, "by: there is no column 'gone'"),
        (
            {"by": "cca_1", "groups": (0, 1), "columns": ["cca_0", "cca_1"]},
            ValueError,
            "which has another use",
        ),
        ({"by": "case", "groups": "01"}, TypeError, "groups must be a list of values"),
        ({"by": "case", "groups": (0,)}, ValueError, "groups must be 2 to 64 different"),
        ({"by": "case", "groups": (0, "0")}, ValueError, "groups must be 2 to 64 different"),
        ({"by": "case", "groups": (0, 9)}, ValueError, "no row has '9' in the column 'case'"),
        ({"by": "case", "groups": (0, 1), "columns": 3}, TypeError, "columns must be a column's"),
        ({"by": "case", "groups": (0, 1), "long": "x"}, ValueError, "long must name three"),
        ({"by": "case", "groups": (0, 1), "penalty": "private-cv"}, ValueError, "one group at"),
    ],
)
def test_mistakes_with_groups(tables, options, kind, message):
    given = {"columns": "cca_*", "grid": T, "bound": 1, "epsilon": 1, "delta": 1e-5} | options
    with pytest.raises(kind, match=message):
        mercer.mean_curves(tables[0], disjoint=True, **given)


def test_groups_need_a_table_or_a_dictionary(tables):
    given = {"disjoint": True, "grid": T, "bound": 1, "epsilon": 1, "by": "case"}
    with pytest.raises(TypeError, match="by names a column, so the curves must have named"):
        mercer.mean_curves(np.ones((5, 12)), groups=(0, 1), **given)
    with pytest.raises(ValueError, match="a dictionary names groups"):
        mercer.mean_curves({"a": 1, "b": 2}, groups=(0, 1), **given)


END = [*PROMISE, "--seed", "1", "-o", "x.json"]
BARE = ["curve", "scans.csv", "--columns", "cca_*", "--bound", "1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*WIDE, *PROMISE], "output is missing"),
        ([*WIDE, *PROMISE, "-o", "x.txt"], "output must end in .json"),
        ([*WIDE, *END[2:]], "epsilon is missing"),
        ([*WIDE, *END, "--epsilon", "1", "2"], "epsilon must be one number"),
        ([*WIDE[:-2], *END], "bound is missing"),
        ([*BARE, *END], "say where the points of the curves are"),
        ([*WIDE, *END, "--grid-from-names"], "say where the points of the curves are"),
        ([*BARE, "--grid", "1", *END], "grid must be LO HI"),
        ([*BARE, "--grid", "1", "0", *END], "grid must be LO HI"),
        ([*BARE, "--grid-file", "gone.txt", *END], "gone.txt"),
        ([*BARE, "--grid-file", "words.txt", *END], "number 2 is 'two'"),
        ([*BARE, "--grid-file", "short.txt", *END], "one number for each of the 12 value columns"),
        (["curve", "scans.csv", "--grid-from-names", "--bound", "1", *END], "do not end in"),
        ([*BARE[:3], "h_*", "--grid", "0", "1", "--bound", "1", *END], "no column starts with"),
        ([*BARE[:3], "gone", "--grid", "0", "1", "--bound", "1", *END], "no column 'gone'"),
        ([*WIDE, *END, "--bounds", "0", "0.5"], "grid must lie in the bounds"),
        ([*WIDE, *END, "--kernel", "box"], "kernel must be one of"),
        ([*WIDE, *END, "--scale", "wide"], "scale must be one of 'auto'"),
        ([*WIDE, *END, "--eta", "0.5"], "eta must be in [1, 16]"),
        ([*WIDE, *END, "--penalty", "0"], "penalty must be above 0"),
        ([*WIDE, *END, "--penalty", "0.1", "0.2"], "penalty must be one word or number"),
        ([*WIDE, *END, "--penalty", "best"], "penalty must be one of"),
        ([*WIDE, *END, "--penalty", "private-cv"], "a Parquet file"),
        ([*WIDE, *END, "--order", "paper"], "penalty is missing"),
        ([*WIDE, *END, "--missing", "guess"], "missing must be one of"),
        ([*WIDE, *END, "--unit", "gone"], "unit: there is no column 'gone'"),
        ([*LONG, "--bound", "60", *END, "--grid", "0", "1"], "--long names all columns"),
        ([*LONG[:4], "--bounds", "1", "18", "--bound", "60", *END], "long must name three"),
        ([*LONG[:-3], "--bound", "60", *END], "bounds is missing"),
        ([*WIDE, *END, "--groups", "0", "1"], "groups need --by"),
        ([*WIDE, *END, "--disjoint"], "groups need --by"),
        ([*WIDE, *END, "--by", "case"], "groups is missing"),
        ([*WIDE, *END, *BY], "--disjoint (nobody is"),
        ([*WIDE, *PROMISE, *BY, "--disjoint"], "output is missing"),
        ([*WIDE, *END, "--by", "case", "--groups", "a b", "a/b", "--disjoint"], "the same file"),
        ([*WIDE, *END, "--by", "case", "--groups", "0", "5", "--disjoint"], "no row has '5'"),
        ([*WIDE, *END, *BY, "--disjoint", "--unit", "person"], "disjoint must be False"),
        ([*WIDE, *END, "--ledger", "b.db"], "--ledger and --dataset go together"),
        (["plan", "curve", "--n", "9", "--epsilon", "1"], "bound is missing"),
        (["plan", "curve", "--n", "1", "--bound", "1", "--epsilon", "1"], "n must be"),
    ],
)
def test_mistakes_are_one_clear_line(folder, capsys, arguments, message):
    (folder / "words.txt").write_text("1\ntwo\n3\n")
    (folder / "short.txt").write_text("1\n2\n3\n")
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert not list(folder.glob("x*.json"))


def test_mistakes_with_a_release(folder, capsys):
    released(capsys, *WIDE, *PROMISE, "-o", "a.json")
    rough = [*WIDE, *PROMISE, "--kernel", "exponential", "-o", "rough.json"]
    released(capsys, *rough)
    density = ["density", "scans.csv", "-c", "cca_1", "--bounds", 0, 2, "--seed", 1, *PROMISE]
    released(capsys, *density, "-o", "d.json")
    for arguments, message in [
        ([*WIDE, *PROMISE, "-o", "a.json"], "--overwrite"),
        (["eval", "a.json", "--at", 7], "x must lie in the domain"),
        (["eval", "a.json", "--at", 0.5, "--raw"], "--raw is for densities"),
        (["eval", "a.json", "--at", 0.5, "--bandwidth", 9], "smoothed again in Python"),
        (["eval", "a.json", "--at", 0.5, "--derivative", 1, 1], "each of the 1 argument(s)"),
        (["eval", "rough.json", "--at", 0.5, "--derivative", 1], "use a smoother kernel"),
        (["eval", "d.json", "--at", 0.5, "--derivative", 1], "--derivative is for mean curves"),
        (["plot", "d.json", "--derivative", 1], "--derivative is for mean curves"),
        (["plot", "a.json", "--columns", "t"], "a mean curve has no option 'columns'"),
        (["predict", "a.json", "scans.csv"], "only classifiers and regressions predict"),
    ]:
        code, _, err = run(capsys, *arguments)
        assert (code, len(err.strip().splitlines())) == (2, 1), (arguments, err)
        assert message in err
    released(capsys, *WIDE, *PROMISE, "-o", "a.json", "--overwrite")


def test_a_surface_from_python(folder, capsys):
    u, v = np.linspace(0, 1, 6), np.linspace(0, 2, 5)
    heights = np.tile(u[:, None] * v[None, :], (300, 1, 1))
    release = mercer.mean_curve(heights, grid=(u, v), bound=2, size=6, epsilon=1, delta=1e-6)
    release.save("s.json")
    found = json.loads(released(capsys, "eval", "s.json", "--at", 0.5, 1, "--derivative", 1, 0, "--json"))
    assert found["derivative"] == [1, 0]
    (row,) = found["values"]
    assert row["value"] == pytest.approx(release.derivative([[0.5, 1.0]], (1, 0)).item())
    assert "mean surface of value over t1" in " ".join(released(capsys, "inspect", "s.json").split())
    released(capsys, "plot", "s.json")


def test_plan(folder, capsys):
    plan = ["plan", "curve", "--n", "142", "--bound", "2", "--epsilon", "0.5", "1", "--delta", "1e-5"]
    found = json.loads(released(capsys, *plan, "--json"))["plans"]
    assert [p["epsilon"] for p in found] == [0.5, 1]
    assert found[0]["privacy_error"] > found[1]["privacy_error"] > 0
    assert found[0]["sampling_error"] == pytest.approx(2 / 142**0.5)
    out = released(capsys, *plan, "-o", "plan.png")
    assert "root mean square distance to the mean of the file's own curves, clipped to the bound" in out
    assert (folder / "plan.png").exists()
    assert found[0]["least_error"] < found[0]["privacy_error"] < found[0]["most_error"]
    assert (found[0]["smoothing"], found[0]["kernel"], found[0]["penalty"]) == ("average", None, None)
    ruled = released(capsys, *plan, "--penalty", "rule")
    assert "what smoothing takes away is not in it" in ruled
    assert json.loads(released(capsys, *plan, "--kernel", "matern32", "--json"))["plans"][0]["scale"] is None
    given = mercer.curve_plan(
        n=300, bound=1, epsilon=2, delta=1e-5, scale=0.3, eta=2, penalty=0.01, bounds=(0, 1)
    )
    fields = json.loads(
        released(
            capsys,
            *WIDE,
            *PROMISE,
            "--scale",
            "0.3",
            "--eta",
            "2",
            "--penalty",
            "0.01",
            "-o",
            "a.json",
            "--json",
        )
    )
    assert given.privacy_error == pytest.approx(fields["accuracy"]["root_mean_square"], rel=1e-3)
    assert 0 < given.share < 1
    pure = mercer.curve_plan(n=1000, bound=1, epsilon=1, penalty="auto")
    assert (pure.delta, pure.coordinates < 128) == (0, True)
    assert pure == mercer.curve_plan(n=1000, bound=1, epsilon=1)


def test_warnings_are_lines_before_the_result(folder, capsys):
    few = [*WIDE, "--epsilon", "0.01", "--delta", "1e-5"]
    code, out, err = run(capsys, *few, "-o", "a.json")
    assert code == 0
    assert "Released the mean curve" in out
    lines = sorted(err.strip().splitlines())
    assert lines[0].startswith("Note: 300 curves are few for this promise")
    assert lines[1].startswith("Note: n times epsilon is 3")
    code, out, err = run(capsys, *few, "-o", "b.json", "--json")
    notes = sorted(json.loads(line)["note"] for line in err.strip().splitlines())
    assert notes[0].startswith("300 curves are few")
    assert json.loads(out)["kind"] == "mean-curve"


def test_no_values_in_the_output(folder, capsys):
    rows = "77.125,secret-diagnosis,66.25,secret-ward\n" * 60
    (folder / "s.csv").write_text("h_0,h_1,h_2,ward\n" + rows + "1,2,3,north\n" * 60)
    out = ""
    for more in (["--columns", "h_*"], ["--by", "ward", "--groups", "north", "south", "--disjoint"]):
        code, said, err = run(
            capsys, "curve", "s.csv", "--grid", 0, 1, *more, "--bound", 5, *PROMISE, "-o", "s.json"
        )
        out += said + err
        assert code == (0 if more[0] == "--columns" else 2)
    assert "no row has 'south'" in out
    for word in ("77.125", "66.25", "secret"):
        assert word not in out + (folder / "s.json").read_text()


def test_defaults_are_those_of_the_function():
    here, there = (inspect.signature(f).parameters for f in (curve_command, mercer.mean_curve))
    for name in set(here) & set(there) - {"epsilon", "penalty"}:  # required; None: auto
        assert here[name].default == there[name].default, name


def test_words_after_an_option_belong_to_it():
    assert spread(["--long", "a", "b", "c", "-o", "f"])[:3] == ["--long=a", "--long=b", "--long=c"]
    assert spread(["--groups", "0", "-1", "--json"]) == ["--groups=0", "--groups=-1", "--json"]
    assert spread(["--grid", "-1", "1", "x"]) == ["--grid=-1", "--grid=1", "x"]


def test_the_examples_of_the_help_run(folder, capsys):
    result = CliRunner().invoke(app, ["curve", "--help"])
    assert result.exit_code == 0
    text = " ".join(result.output.split("Curves beyond")[0].split())
    examples = [part.split(".json")[0] + ".json" for part in text.split("mercer curve ")[2:]]
    assert len(examples) == 3
    for number, example in enumerate(examples):
        released(capsys, "curve", *shlex.split(example), *(["--overwrite"] if number else []))
    assert {path.name for path in folder.glob("*.json")} == {
        "mean.json",
        "growth.json",
        "mean-0.json",
        "mean-1.json",
    }
    text = CliRunner().invoke(app, ["plan", "curve", "--help"]).output
    example = " ".join(text.split("Example:")[1].split("1e-5")[0].split()) + " 1e-5"
    released(capsys, *shlex.split(example)[1:])
