"""Classifiers and regressions: bad arguments, and records that do not fit.

A wrong argument is a clear error before anything is read or spent; a record is never one (M18).
"""

import math
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mercer
from mercer.noise.entropy import Seeded
from mercer.promise.events import PureEvent

# little noise, so that a record that counts would be seen; few features, to be quick
LOOSE = {"bounds": (0, 1), "epsilon": 30.0, "insist": True, "delta": 1e-6, "size": 12}
SECRET = 0.123456789


def learnt(X, y, **options):
    return mercer.classifier(X, y, **({"classes": (0, 1), "rng": 0} | LOOSE | options))


def fitted(X, y, **options):
    return mercer.regression(X, y, **({"y_bounds": (0, 1), "rng": 0} | LOOSE | options))


def same(one, other):
    """Equal but for rounding: CSV files get a trace more noise for it (docs/proofs/machines.md)."""
    size = np.abs(one.coordinates).max()
    return np.allclose(one.coordinates, other.coordinates, rtol=0, atol=1e-4 * size)


class Untouchable:
    """Data that must not be read before the arguments are known to be right."""

    def __array__(self, *_args, **_kwargs):
        raise AssertionError("the data were read")


class Watched(Seeded):
    """Noise that knows whether it was asked for."""

    def __init__(self):
        super().__init__(0)
        self.draws = 0

    def discrete_gaussian(self, scale, size):
        self.draws += 1
        return super().discrete_gaussian(scale, size)

    def discrete_laplace(self, scale, size):
        self.draws += 1
        return super().discrete_laplace(scale, size)

    def octets(self, count):
        self.draws += 1
        return super().octets(count)


@pytest.fixture
def line(rng):
    x = rng.random(200)
    return x, (x > 0.5).astype(int)


SHARED = [
    ({"epsilon": None}, "epsilon is missing"),
    ({"epsilon": 0}, "epsilon must be a finite number above 0"),
    ({"epsilon": "1"}, "epsilon must be a number"),
    ({"delta": 1.0}, r"delta must be in \(0, 1\)"),
    ({"penalty": 0}, "penalty must be a finite number above 0"),
    ({"penalty": -0.1}, "penalty must be a finite number above 0"),
    ({"penalty": math.nan}, "penalty must be a finite number above 0"),
    ({"penalty": None}, "penalty must be a number"),
    ({"penalty": "best"}, "penalty must be one of 'rule'"),
    ({"penalty": [0.1]}, "penalty must be 2 to 16 candidates, got 1"),
    ({"penalty": [0.1, -1]}, "penalty must be a finite number above 0"),
    ({"penalty": [0.1, 1], "missing": "drop"}, "goes neither with unit nor"),
    ({"kernel": "box"}, "kernel must be one of"),
    ({"features": "wavelets"}, "features must be one of"),
    ({"features": "random", "kernel": "linear"}, "no meaning with kernel='linear'"),
    ({"features": "taylor", "kernel": "matern32"}, "needs kernel='gaussian'"),
    ({"features": "random", "points": [[0.5]]}, "points are for features='landmarks'"),
    ({"size": 0}, r"size must be in \[1, 4096\]"),
    ({"size": 2.5}, "size must be a whole number"),
    ({"constant": -1}, r"constant must be a number in \[0, 100\]"),
    ({"constant": "1"}, r"constant must be a number in \[0, 100\]"),
    ({"method": "input"}, "method must be one of"),
    ({"missing": "ignore"}, "missing must be one of"),
    ({"rng": "seed"}, "rng must be None"),
    ({"ledger": "budgets.db"}, "dataset"),
    ({"loss": "0-1"}, "loss must be one of"),
    ({"width": 0}, "width must be a finite number above 0"),
    ({"width": 7}, r"width must be in \[0.001, 1\]"),
]


@pytest.mark.parametrize(("options", "message"), SHARED)
def test_choices_are_checked_before_data_are_read(options, message):
    hinge = {} if "loss" in options else {"loss": "hinge"}
    with pytest.raises((ValueError, TypeError), match=message):
        learnt(Untouchable(), Untouchable(), **(hinge | options))
    with pytest.raises((ValueError, TypeError), match=message):
        fitted(Untouchable(), Untouchable(), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": None}, "classes is missing: .* public .* declare them"),
        ({"classes": "ab"}, "classes must be a list of classes, got str"),
        ({"classes": 2}, "classes must be a list of classes, got int"),
        ({"classes": [0]}, "classes must be 2 to 64, got 1"),
        ({"classes": list(range(65))}, "classes must be 2 to 64, got 65"),
        ({"classes": [0, 0]}, "classes must be different"),
        ({"classes": [0, False]}, "classes must be different"),
        ({"classes": ["1", 1]}, "classes must be different"),
        ({"classes": ["", "a"]}, "classes must not be empty text"),
        ({"classes": ["a", "A "]}, "differ by more than case and blanks"),
        ({"classes": [0, None]}, "classes must be text, whole numbers"),
        ({"classes": [0, math.nan]}, "must be finite"),
        ({"classes": [0, 10**400]}, "must be finite"),
        ({"loss": "huber"}, "loss must be one of"),
    ],
)
def test_classes_are_declared(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        learnt(Untouchable(), Untouchable(), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y_bounds": None}, "y_bounds is missing: .* public"),
        ({"y_bounds": (1, 0)}, "y_bounds: .* lower < upper"),
        ({"y_bounds": (0, math.inf)}, "y_bounds: .* finite"),
        ({"y_bounds": "0 1"}, "y_bounds: "),
        ({"loss": "hinge"}, "loss must be one of"),
        ({"quantiles": [0.5]}, "quantiles is for loss='pinball', got loss='huber'"),
        ({"tube": 0.1}, "tube is for loss='epsilon-insensitive'"),
        ({"loss": "squared", "threshold": 0.1}, "threshold is for loss='huber'"),
        ({"loss": "pinball", "quantiles": 1}, r"levels in \(0, 1\)"),
        ({"loss": "pinball", "quantiles": [0.5, 0.5]}, "1 to 16 different levels"),
        ({"loss": "pinball", "quantiles": []}, "1 to 16 different levels"),
        ({"threshold": 0}, "threshold must be a finite number above 0"),
        ({"threshold": 50}, "threshold must be between 0.0005 and 1 times"),
    ],
)
def test_the_response_is_declared(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        fitted(Untouchable(), Untouchable(), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bounds": None}, "bounds is missing"),
        ({"bounds": (1, 0)}, "lower < upper"),
        ({"bounds": [(0, 1), (0, 1)]}, "bounds must be one .* pair for each of the 1 column"),
        ({"bounds": "0 1"}, "bounds must be"),
        ({"bandwidth": 0}, "bandwidth must be a number above 0"),
        ({"bandwidth": "rule"}, "bandwidth must be a number above 0"),
        ({"bandwidth": [1, 2]}, "one for each of the 1 column"),
        ({"bandwidth": 1e-9}, "between 0.001 and 100 times the width"),
        ({"columns": ["a", "b"]}, "columns must be 1 name"),
        ({"unit": "person"}, "unit names a column, so the data must have named columns"),
        ({"y": "label"}, "y = 'label' names a column, so the data must have named columns"),
        ({"y": np.zeros(7)}, r"y must be one answer for each of the 50 rows, got shape \(7,\)"),
        ({"y": np.zeros((50, 2))}, "y must be one answer for each of the 50 rows"),
        ({"y": 3}, "y must be one answer for each of the 50 rows"),
        ({"y": np.zeros(50, "M8[D]")}, "y"),
        ({"x": "text"}, "there is no file"),
        ({"x": 3.0}, "data must be a file, a table or an array"),
        ({"x": np.zeros((2, 2, 2))}, "data must be a file, a table or an array"),
        ({"x": [SECRET], "columns": "x"}, "at least 2 rows, got 1; nothing was spent"),
        ({"x": [SECRET]}, "columns is missing: a list does not declare"),
    ],
)
def test_data_and_domain(options, message):
    x = options.pop("x", np.full(50, SECRET))
    y = options.pop("y", [1] * (1 if isinstance(x, list) else 50))
    for learn in (learnt, fitted):
        if learn is learnt and getattr(y, "dtype", None) == np.dtype("M8[D]"):
            continue
        source = Watched()
        with pytest.raises((ValueError, TypeError, OSError), match=message) as caught:
            learn(x, y, rng=source, **options)
        assert str(SECRET) not in str(caught.value)
        assert source.draws == 0


def test_types_that_no_answer_could_fit_are_refused(line):
    """By the type that an array or a column declares: it is public."""
    x, y = line
    table = pa.table({"x": x, "y": y, "t": pa.array(["secret"] * 200), "b": y == 1})
    for given in (y, y == 1, pd.Series(y), pl.Series(y).to_numpy()):
        with pytest.raises(TypeError, match="'y' is declared as y in {well, ill}, which a column"):
            learnt(x, given, classes=("well", "ill"))
    for name in ("y", "b"):
        with pytest.raises(TypeError, match="well, ill}, which a column of type (int|bool)"):
            learnt(table, name, columns="x", classes=("well", "ill"))
    for given in (table, table.to_pandas()):
        with pytest.raises(TypeError, match="column 't' is declared as t in .*string cannot hold"):
            fitted(given, "t", columns="x")
    times = pa.table({"x": x, "y": pa.array([0] * 200, pa.timestamp("s"))})
    for learn in (learnt, fitted):
        with pytest.raises(TypeError, match="column 'y' is declared as y .*timestamp.* cannot hold"):
            learn(times, "y", columns="x")


def test_rows_that_do_not_fit_add_nothing_and_count(line):
    x, y = line
    lacking = x.copy()
    lacking[:40] = math.nan
    reference = learnt(lacking, y)
    assert reference.privacy.n == 200
    infinite = np.where(np.isnan(lacking), math.inf, lacking)
    others = [(x, np.where(np.arange(200) < 40, value, y)) for value in (7, 0.5, math.nan, -math.inf)]
    cells = y.tolist()
    for place, cell in enumerate([None, "x", [1, 2], {}, 3j, "", b"zero", math.nan] * 5):
        cells[place] = cell
    for pair in [(infinite, y), *others, (x, cells), (x, np.array(cells, dtype=object))]:
        release = learnt(*pair)
        assert release.privacy.n == 200
        assert same(release, reference)
    reference = fitted(lacking, y)
    for pair in [(infinite, y), *others[2:], (x, cells)]:
        assert same(fitted(*pair), reference)


def test_one_label_does_not_change_how_the_others_are_read(line):
    x, y = line
    for odd in ("text", None, [1, 2], 0.5, 10**30):
        cells = y.tolist()
        cells[0] = odd
        lacking = x.copy()
        lacking[0] = math.nan
        assert same(learnt(x.tolist(), cells, columns="x"), learnt(lacking, y))


def test_one_class_only_is_no_error(line):
    x, _ = line
    release = learnt(x, np.ones(200))
    assert release.predict([0.2, 0.8]).tolist() == [1, 1]
    three = learnt(x, np.ones(200), classes=(0, 1, 2))
    assert three.predict([0.5]).tolist() == [1]
    nobody = learnt(x, np.full(200, 9))  # all rows of an undeclared class
    assert same(nobody, learnt(np.full(200, math.nan), np.ones(200)))


def test_answers_outside_their_bounds_are_clipped(line):
    x, _ = line
    y = 3 * x - 1
    assert same(fitted(x, y), fitted(x, np.clip(y, 0, 1)))
    assert same(fitted(3 * x - 1, x), fitted(np.clip(3 * x - 1, 0, 1), x))
    release = fitted(x, y)
    assert np.all((release([0.0, 0.5, 1.0]) >= 0) & (release([0.0, 0.5, 1.0]) <= 1))


@pytest.mark.filterwarnings("ignore::mercer.common.checks.FindingWarning")  # of what came out
def test_a_small_penalty_warns_with_numbers_before_anything_is_spent(line, tmp_path):
    x, y = line
    ledger = mercer.Ledger(tmp_path / "budgets.db")
    ledger.register("line", epsilon=10, delta=1e-4)
    source = Watched()
    poor = {"epsilon": 0.5, "penalty": 1e-3, "method": "output"}
    with warnings.catch_warnings():
        warnings.simplefilter("error", mercer.PrivacyWarning)
        with pytest.raises(mercer.PrivacyWarning) as caught:
            learnt(x, y, **poor, rng=source)
        with pytest.raises(mercer.PrivacyWarning):
            learnt(x, y, **poor, rng=None, ledger=ledger, dataset="line")
    assert source.draws == 0
    assert ledger.history("line") == []
    words = str(caught.value)
    assert words.startswith("penalty = 0.001: the noise for privacy has standard deviation ")
    better = float(words.split("a penalty of ")[1].split(" would do")[0])
    with warnings.catch_warnings():
        warnings.simplefilter("error", mercer.PrivacyWarning)
        learnt(x, y, **(poor | {"penalty": better * 1.05}))  # it is shown with two digits
    with pytest.warns(mercer.PrivacyWarning) as seen:
        assert learnt(x, y, **poor).penalty == 1e-3
    assert seen[0].filename == __file__  # where the caller is
    with pytest.warns(mercer.PrivacyWarning, match="20 records are few for this promise"):
        learnt(x[:20], y[:20], epsilon=0.1, penalty=0.1, method="output")


def test_a_penalty_too_small_for_the_objective_is_refused_unspent(line):
    x, y = line
    source = Watched()
    with pytest.raises(ValueError, match="penalty = 1e-06 is too small for noise in"):
        learnt(x, y, epsilon=0.5, penalty=1e-6, rng=source)
    assert source.draws == 0


def test_promises_beyond_the_lattice_are_refused(line):
    for method in ("output", "objective"):
        with pytest.raises(ValueError, match="finer lattice than 64-bit draws allow"):
            learnt(*line, epsilon=1e6, method=method, bandwidth=0.1)


def test_points_of_prediction(line):
    x, y = line
    both = learnt(np.c_[x, x], y, columns=["age", "dose"], features="random", size=8)
    for points in ([1.0], [[1.0, 2.0, 3.0]], 1.0):
        with pytest.raises(ValueError, match=r"2 number\(s\) a point \(age, dose\)"):
            both.predict(points)
    with pytest.raises(ValueError, match="no answer where a column is missing"):
        both.predict([[0.1, math.nan]])
    with pytest.raises(TypeError, match="x must be numbers, got str"):
        both("here")
    assert both([[7.0, -7.0]]) == pytest.approx(both([[1.0, 0.0]]))  # moved to the bounds
    assert both.predict(np.empty((0, 2))).shape == (0,)
    with pytest.raises(ValueError, match="level must be in"):
        both.band([[0.1, 0.2]], 1.0)
    assert learnt(x, y, loss="hinge").probability(0.3).shape == (2,)


def test_constant_columns_are_no_error(line):
    x, y = line
    flat = np.c_[x, np.full(200, 0.3)]
    release = learnt(flat, y, features="random", size=16)
    assert release.predict([[0.1, 0.3], [0.9, 0.3]]).tolist() == [0, 1]
    assert np.all(np.isfinite(release([[0.1, 0.9]])))
    assert np.all(np.isfinite(fitted(np.full(200, 0.3), np.full(200, 0.3))([0.0, 1.0])))


def test_any_source_gives_the_same_release(line, tmp_path):
    x, y = line
    words = np.where(y == 1, "ill", "well")
    frame = pd.DataFrame({"x": x, "y": words})
    frame.to_csv(tmp_path / "d.csv", index=False)
    frame.to_parquet(tmp_path / "d.parquet")
    old = frame.astype({"y": object})
    arrow = pa.table({"x": x, "y": pa.array(words.tolist())})
    many = pa.concat_tables([arrow.slice(0, 77), arrow.slice(77)])
    options = {"classes": ("well", "ill")}
    reference = learnt(x, words, **options)
    for X, answer in [
        (x, words.tolist()),
        (x, tuple(words)),
        (x[:, None], words.astype(object)),
        (x, words[:, None]),
        (frame[["x"]], frame["y"]),
        (frame["x"], frame["y"]),
        (frame, "y"),
        (old, "y"),
        (old[["x"]], old["y"]),
        (frame.astype({"y": "category"}), "y"),
        (pl.DataFrame(frame), "y"),
        (pl.DataFrame(frame)[["x"]], pl.Series(words)),
        (arrow, "y"),
        (many, "y"),
        (arrow.to_batches()[0], "y"),
        (arrow.select(["x"]), words),
        (tmp_path / "d.csv", "y"),
        (str(tmp_path / "d.parquet"), "y"),
    ]:
        assert same(learnt(X, answer, **options), reference), (type(X), type(answer))
    for X in (x.tolist(), tuple(x)):
        assert same(learnt(X, words.tolist(), columns="x", **options), reference)
    curve = fitted(x, y / 2)
    pq.write_table(pa.table({"x": x, "y": y / 2}), tmp_path / "r.parquet")
    for X, answer in [
        (x, (y / 2).tolist()),
        (frame.assign(y=y / 2), "y"),
        (frame.assign(y=pd.Series(y / 2, dtype=object)), "y"),
        (tmp_path / "r.parquet", "y"),
    ]:
        assert same(fitted(X, answer), curve)
    with pytest.raises(TypeError, match="y must be the name of a column where the data are a file"):
        learnt(tmp_path / "d.csv", words, **options)
    with pytest.raises(ValueError, match="y: there is no column 'z'; there are 'x', 'y'"):
        learnt(tmp_path / "d.csv", "z", **options)
    with pytest.raises(ValueError, match="y names the column 'x', which is among the columns"):
        learnt(frame, "x", columns=["x"], **options)


@pytest.mark.parametrize(
    ("classes", "values"),
    [
        ((0, 1), [0, 1]),
        ((0, 1), [0.0, 1.0]),
        ((0, 1), [False, True]),
        ((0, 1), ["0", "1"]),
        ((False, True), [False, True]),
        ((False, True), [0, 1]),
        ((False, True), ["false", "True"]),
        ((-1.0, 2.5), [-1, 2.5]),
        (("a", "b"), ["a", "b"]),
        (np.array(["a", "b"]), ["a", "b"]),
        (np.array([0, 1]), [np.int8(0), np.int8(1)]),
    ],
)
def test_kinds_of_classes(line, classes, values, tmp_path):
    x, y = line
    reference = learnt(x, y)
    given = [values[k] for k in y]
    release = learnt(x, given, classes=classes)
    assert same(release, reference)
    assert release.predict([0.0, 1.0]).tolist() == list(classes)
    release.save(tmp_path / "r.json")
    assert mercer.load(tmp_path / "r.json").classes == release.classes
    lines = [f"{float(a)!r},{b}" for a, b in zip(x, given, strict=True)]
    (tmp_path / "d.csv").write_text("x,y\n" + "\n".join(lines) + "\n")
    assert same(learnt(tmp_path / "d.csv", "y", classes=classes), reference)


def test_persons_are_the_unit(line):
    x, y = line
    frame = pd.DataFrame({"x": x, "y": y, "person": np.arange(200) // 4})
    release = learnt(frame, "y", columns="x", unit="person")
    assert release.privacy.unit == "person"
    assert release.privacy.n == 50
    assert release.method == "output"
    with pytest.raises(ValueError, match="one row a person; use method='output' with unit"):
        learnt(frame, "y", columns="x", unit="person", method="objective")
    with pytest.raises(ValueError, match="goes neither with unit"):
        learnt(frame, "y", columns="x", unit="person", penalty=[0.1, 1])
    with pytest.raises(ValueError, match="missing='drop' cannot be combined with unit"):
        learnt(frame, "y", columns="x", unit="person", missing="drop")
    shuffled = frame.iloc[::-1]
    assert learnt(shuffled, "y", columns="x", unit="person").privacy.n == 50
    assert fitted(frame, "y", columns="x", unit="person").privacy.n == 50


def test_complete_rows_if_their_number_is_public(line):
    x, y = line
    lacking = np.r_[x, np.full(50, math.nan)]
    release = learnt(lacking, np.r_[y, np.zeros(50)], missing="drop")
    assert release.privacy.n == 200
    assert release.penalty == learnt(x, y).penalty


def test_answers_in_a_frame_of_one_column_and_in_dictionaries(line):
    x, y = line
    reference = learnt(x, y)
    for answer in (
        pd.DataFrame({"y": y}),
        pd.DataFrame(y),
        pl.DataFrame({"y": y}),
        pa.table({"y": y}),
        pd.Index(y),
        pd.array(y),
    ):
        assert same(learnt(x, answer), reference), type(answer)
        assert same(learnt(pd.DataFrame({"x": x}), answer), reference), type(answer)
    rows = [{"x": a, "y": int(b)} for a, b in zip(x, y, strict=True)]
    assert same(learnt(rows, "y", columns=["x"]), reference)
    assert same(learnt(rows, "y", bounds={"x": (0, 1)}), reference)
    with pytest.raises(ValueError, match="y must be one column of answers, got 2"):
        learnt(x, pd.DataFrame({"y": y, "z": y}))


@pytest.mark.parametrize("method", ["objective", "output"])
def test_few_features_have_pure_noise_under_a_delta_where_it_is_smaller(method, rng):
    """What is promised then is more than was asked; what is given by hand stays as it is."""
    x = rng.random((300, 1))
    y = x[:, 0] > 0.5
    ask = {"classes": (False, True), "bounds": (0, 1), "delta": 1e-6, "method": method}
    small = mercer.classifier(x, y, epsilon=0.5, **ask)
    assert small.privacy.delta == 0
    assert small.features.size <= 4
    assert all(isinstance(event, PureEvent) for event in small.privacy.events)
    assert mercer.classifier(x, y, epsilon=0.5, bandwidth=0.1, **ask).privacy.delta == 1e-6
    many = rng.random((5000, 1))
    assert mercer.classifier(many, many[:, 0] > 0.5, epsilon=1, **ask).privacy.delta == 1e-6
