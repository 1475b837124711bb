"""No record decides whether an estimator is fitted, nor what it says; no message shows a cell (M18).

The contract: an estimator fitted on clean rows, and on their neighbour with one odd cell, ends
alike, with the same warnings and the same attributes.  What may be refused are containers, types
and axes, in words that show no cell.
"""

import datetime
import decimal
import enum
import fractions
import traceback
import uuid
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import mercer
from mercer.common.checks import FindingWarning

ROWS, WIDTH = 24, 2
PROMISE = {"epsilon": 8.0, "delta": 1e-6, "random_state": 0}
PAIRS = [(0, 1)] * WIDTH
QUICK = {"features": "random", "size": 8, **PROMISE}
MODELS = {
    "density": mercer.PrivateKernelDensity(bounds=PAIRS, bandwidth=0.3, **PROMISE),
    "classifier": mercer.PrivateKernelClassifier(bounds=PAIRS, classes=("no", "yes"), **QUICK),
    "regressor": mercer.PrivateKernelRegressor(bounds=PAIRS, y_bounds=(0, 1), **QUICK),
    "curve": mercer.PrivateMeanCurve(bound=1, grid=np.linspace(0, 1, WIDTH), **PROMISE),
    "table": mercer.PrivateSynthesizer(bounds=PAIRS, size=6, scale=0.5, weights="free", **PROMISE),
}
CLEAN = np.random.default_rng(3).random((ROWS, WIDTH))
ANSWERS = {"classifier": ["no", "yes"] * (ROWS // 2), "regressor": np.linspace(0, 1, ROWS).tolist()}


class Unreadable:
    """Raises an error whatever is asked of it, and shows a cell in it."""

    def _fail(self, *_args, **_options):
        raise RuntimeError("a cell of 0.123456")

    __float__ = __int__ = __index__ = __complex__ = __len__ = __iter__ = __bool__ = _fail
    __array__ = __eq__ = __ne__ = __lt__ = __gt__ = __str__ = __repr__ = __getitem__ = _fail
    __hash__ = None


class Masquerade(Unreadable):
    @property
    def __class__(self):
        raise RuntimeError("a class of 0.123456")


class OwnFloat(float):
    def __float__(self):
        raise RuntimeError("a number of 0.123456")

    __eq__ = __ne__ = __repr__ = __str__ = __hash__ = __float__


class OwnInt(int):
    def __float__(self):
        raise RuntimeError("a number of 0.123456")

    __eq__ = __ne__ = __repr__ = __str__ = __hash__ = __int__ = __index__ = __float__


class OwnText(str):
    __slots__ = ()

    def __eq__(self, other):
        raise RuntimeError("a text of 0.123456")

    __ne__ = __str__ = __repr__ = __hash__ = __eq__


class Colour(str, enum.Enum):  # noqa: UP042  it is a text whose class is an Enum
    RED = "red"


ODD = {
    "empty text": "",
    "text": "abc",
    "number as text": "0.5",
    "own text": OwnText("abc"),
    "numpy text": np.str_("abc"),
    "enum": Colour.RED,
    "bytes": b"\xff\x00",
    "surrogate": "\ud800",
    "none": None,
    "nan": float("nan"),
    "infinite": float("-inf"),
    "pandas NA": pd.NA,
    "not a time": pd.NaT,
    "masked": np.ma.masked,
    "date": datetime.date(2024, 2, 29),
    "moment": datetime.datetime(2024, 2, 29, tzinfo=datetime.UTC),
    "span": datetime.timedelta(days=1),
    "timestamp": pd.Timestamp("2024-02-29"),
    "datetime64": np.datetime64("2024-02-29"),
    "timedelta64": np.timedelta64(3, "D"),
    "timedelta64 without unit": np.timedelta64(3),
    "huge": 10**400,
    "huge negative": -(10**400),
    "long double": np.longdouble("1e4000"),
    "signalling": np.array([0x7F800001], dtype=np.uint32).view(np.float32)[0],
    "complex": 1 + 2j,
    "numpy complex": np.complex64(1j),
    "decimal": decimal.Decimal("0.5"),
    "signalling decimal": decimal.Decimal("sNaN"),
    "fraction": fractions.Fraction(1, 3),
    "list": [0.5],
    "two": [1, 2],
    "nothing": [],
    "tuple": (),
    "dictionary": {"a": 1},
    "set": {1},
    "array": np.array([1.0, 2.0]),
    "array without axes": np.array(0.5),
    "void": np.zeros(1, dtype=[("a", float)])[0],
    "frame": pd.DataFrame({"a": [1]}),
    "true": True,
    "numpy true": np.True_,
    "object": object(),
    "type": float,
    "identifier": uuid.UUID(int=5),
    "unreadable": Unreadable(),
    "masquerade": Masquerade(),
    "own float": OwnFloat(0.5),
    "own int": OwnInt(1),
}


def grid_of(flat):
    """Objects as an array: NumPy would ask them what they are."""
    return np.fromiter(flat, dtype=object, count=ROWS * WIDTH).reshape(ROWS, WIDTH)


def cells_with(odd, place=(1, 0)):
    flat = CLEAN.reshape(-1).tolist()
    if odd is not None:
        flat[place[0] * WIDTH + place[1]] = odd[0]
    return grid_of(flat)


def pandas_of(cells):
    columns = {f"c{i}": pd.Series(list(cells[:, i]), dtype=object) for i in range(WIDTH)}
    return pd.DataFrame(columns)


def polars_of(cells):
    return pl.DataFrame([pl.Series(f"c{i}", list(cells[:, i]), dtype=pl.Object) for i in range(WIDTH)])


CONTAINERS = {
    "lists": lambda cells: [list(row) for row in cells],
    "rows": lambda cells: list(cells),  # a list of arrays
    "objects": lambda cells: cells,
    "pandas": pandas_of,
    "polars": polars_of,
}


def outcome(model, X, y=None):
    """All that a fit shows but its noisy release: how it ended, what it warned of, what it set."""
    model = clone(model)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", FindingWarning)  # of noisy numbers
        try:
            model.fit(X, y)
            end = "fitted"
        except Exception as error:
            end = (type(error), str(error))
    told = sorted((w.category.__name__, str(w.message)) for w in heard)
    seen = {name: type(value) for name, value in vars(model).items()}
    names = list(getattr(model, "feature_names_in_", []))
    release = getattr(model, "release_", None)
    facts = None if release is None else (release.privacy.n, release.privacy.unit)
    return end, told, seen, getattr(model, "n_features_in_", None), names, facts


DECLARED = {
    "table with a domain": mercer.PrivateSynthesizer(
        domain={"c0": (0, 1), "c1": (0, 1)}, size=6, scale=0.5, weights="free", **PROMISE
    )
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("kind", [*MODELS, *DECLARED])
def test_one_odd_cell_changes_nothing_that_is_shown(kind, container):
    model, made, y = {**MODELS, **DECLARED}[kind], CONTAINERS[container], ANSWERS.get(kind)
    clean = outcome(model, made(cells_with(None)), y)
    assert clean[0] == "fitted"
    assert clean[3] == WIDTH
    assert clean[5] == (ROWS, "row")
    wrong = []
    for name, odd in ODD.items():
        if outcome(model, made(cells_with([odd])), y) != clean:
            wrong.append(name)
    assert wrong == []


@pytest.mark.parametrize("place", [(0, 0), (ROWS - 1, WIDTH - 1)])
@pytest.mark.parametrize("name", ODD)
def test_the_first_row_and_the_last_are_rows_like_others(name, place):
    for container in ("lists", "objects", "pandas"):
        made, model = CONTAINERS[container], MODELS["table"]
        odd = made(cells_with([ODD[name]], place))
        assert outcome(model, odd) == outcome(model, made(cells_with(None)))


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("row", [0, 7])
def test_a_row_of_another_shape_is_a_row_without_numbers(kind, row):
    model, y = MODELS[kind], ANSWERS.get(kind)
    clean = CONTAINERS["lists"](CLEAN)
    ends = outcome(model, clean, y)
    assert ends[0] == "fitted"
    others = [
        [],
        [0.5],
        [0.5] * (WIDTH + 1),
        0.5,
        "abc",
        None,
        {"c0": 1},
        np.zeros((2, 2)),
        [[0.5]] * WIDTH,
        np.zeros(WIDTH, dtype="M8[D]"),
        Unreadable(),
        Masquerade(),
        np.ma.masked_all(WIDTH),
        OwnText("abc"),
        np.zeros(()),
        pd.Series([1.0] * WIDTH),
    ]
    for other in others:
        assert outcome(model, [*clean[:row], other, *clean[row + 1 :]], y) == ends
    assert outcome(model, [0.5] * ROWS, y) == ends  # as do all rows at once


@pytest.mark.parametrize("kind", MODELS)
def test_missing_cells_of_declared_types_change_nothing(kind):
    model, y = MODELS[kind], ANSWERS.get(kind)
    frame = pd.DataFrame(CLEAN, columns=["a", "b"])
    hidden = np.zeros(CLEAN.shape, dtype=bool)
    hidden[1, 0] = True
    holes = CLEAN.copy()
    holes[1, 0] = np.nan
    gaps = pd.DataFrame(holes, columns=["a", "b"])
    halves = frame.round()
    pairs = [
        (CLEAN, holes),
        (np.ma.masked_array(CLEAN), np.ma.masked_array(CLEAN, hidden)),
        (np.ma.masked_array(CLEAN.astype(object)), np.ma.masked_array(CLEAN.astype(object), hidden)),
        (CLEAN.astype(np.float32), np.where(hidden, ODD["signalling"], CLEAN.astype(np.float32))),
        (CLEAN.astype(np.longdouble), np.where(hidden, ODD["long double"], CLEAN)),
        (frame, gaps),
        (frame.astype("Float64"), gaps.astype("Float64")),
        (halves.astype("Int64"), halves.mask(hidden).astype("Int64")),
        (halves.astype("boolean"), halves.mask(hidden).astype("boolean")),
        (frame.astype("double[pyarrow]"), gaps.astype("double[pyarrow]")),
        (pl.from_pandas(frame), pl.from_pandas(gaps)),
        (pl.from_pandas(frame), pl.from_pandas(gaps).fill_nan(None)),
        (pa.Table.from_pandas(frame), pa.Table.from_pandas(gaps)),
        (pa.RecordBatch.from_pandas(frame), pa.RecordBatch.from_pandas(gaps)),
    ]
    for clean, odd in pairs:
        ends = outcome(model, clean, y)
        assert ends[0] == "fitted"
        assert outcome(model, odd, y) == ends


ANSWERED = {
    "list": list,
    "objects": lambda cells: np.fromiter(cells, dtype=object, count=ROWS),
    "column": lambda cells: np.fromiter(cells, dtype=object, count=ROWS)[:, None],
    "pandas": lambda cells: pd.Series(list(cells), dtype=object, name="ill"),
    "pandas frame": lambda cells: pd.DataFrame({"ill": pd.Series(list(cells), dtype=object)}),
    "polars": lambda cells: pl.Series("ill", list(cells), dtype=pl.Object),
}


@pytest.mark.parametrize("container", ANSWERED)
@pytest.mark.parametrize("classes", [None, ("no", "yes"), (0, 1), (False, True)])
def test_one_odd_answer_changes_nothing_that_is_shown(container, classes):
    made = ANSWERED[container]
    model = MODELS["regressor"] if classes is None else clone(MODELS["classifier"])
    answers = ANSWERS["regressor"] if classes is None else list(classes) * (ROWS // 2)
    if classes is not None:
        model.classes = classes
    clean = outcome(model, CLEAN, made(answers))
    assert clean[0] == "fitted"
    assert clean[1] in ([], clean[1][:1])
    assert all(category == "DataConversionWarning" for category, _ in clean[1])
    wrong = []
    for name, odd in ODD.items():
        if outcome(model, CLEAN, made([answers[0], odd, *answers[2:]])) != clean:
            wrong.append(name)
    assert wrong == []


def test_declared_answers_may_be_missing():
    words = pd.Series(["no", "yes"] * (ROWS // 2))
    model = MODELS["classifier"]
    for kind in ("string[python]", "string[pyarrow]", "category", "str"):
        clean = outcome(model, CLEAN, words.astype(kind))
        assert clean[0] == "fitted"
        odd = words.mask(words.index == 1).astype(kind)
        assert outcome(model, CLEAN, odd) == clean
    lone = words.astype("string[python]")
    lone[1] = "\ud800"
    assert outcome(model, CLEAN, lone) == clean
    mixed = pd.Series([7, *words[1:]], dtype=object).astype("category")
    assert outcome(model, CLEAN, mixed) == clean
    assert outcome(model, CLEAN, mixed.array) == outcome(model, CLEAN, words.array) == clean
    encoded = pa.array(words.tolist())
    clean = outcome(model, CLEAN, encoded)
    offsets, data = encoded.buffers()[1:]
    broken = pa.py_buffer(b"\xff\xfe" + data.to_pybytes()[2:])
    invalid = pa.Array.from_buffers(pa.string(), ROWS, [None, offsets, broken])
    assert clean[0] == "fitted"
    assert outcome(model, CLEAN, invalid) == clean
    assert outcome(model, CLEAN, invalid.dictionary_encode()) == clean


@pytest.mark.filterwarnings("ignore::mercer.common.checks.FindingWarning")
def test_what_is_declared_is_read():
    """Every container of the same numbers is the same release, and keeps its names."""
    model = clone(MODELS["table"])
    expected = model.fit(CLEAN).release_.to_dict()
    frame = pd.DataFrame(CLEAN, columns=["x1", "x2"])
    same = [
        CLEAN.tolist(),
        [tuple(row) for row in CLEAN],
        list(CLEAN),
        CLEAN.astype(object),
        np.asfortranarray(CLEAN),
        frame,
        frame.astype(object),
        frame.astype("Float64"),
        pl.from_pandas(frame),
        pa.Table.from_pandas(frame),
        pa.RecordBatch.from_pandas(frame),
        pa.Table.from_pandas(frame).to_reader(),
        np.ma.masked_array(CLEAN),
    ]
    for X in same:
        assert model.fit(X).release_.to_dict() == expected
    named = MODELS["classifier"]
    words = ANSWERS["classifier"]
    for y in (
        pd.Series(words, name="ill"),
        pl.Series("ill", words),
        pd.Series(words, name="ill", dtype="category"),
        pd.Series(words, name="ill", dtype=object),
    ):
        fitted = clone(named).fit(frame, y)
        assert fitted.release_.label == "ill"
        plain = clone(named).fit(CLEAN, words).release_.coordinates
        assert np.array_equal(fitted.release_.coordinates, plain)
    number = MODELS["regressor"]
    values = np.array(ANSWERS["regressor"])
    plain = clone(number).fit(CLEAN, values).release_.coordinates
    for y in (
        values.tolist(),
        pd.Series(values),
        pd.Series(values, dtype="Float64"),
        pl.Series(values),
        pa.array(values),
        pa.chunked_array([values[:3], values[3:]]),
        values.astype(object),
    ):
        assert np.array_equal(clone(number).fit(CLEAN, y).release_.coordinates, plain)
    with pytest.warns(DataConversionWarning, match="column-vector"):
        again = clone(number).fit(CLEAN, values[:, None])
    assert np.array_equal(again.release_.coordinates, plain)


@pytest.mark.parametrize("kind", MODELS)
def test_declared_types_decide_whatever_the_cells_are(kind):
    model, y = MODELS[kind], ANSWERS.get(kind)
    frame = pd.DataFrame(CLEAN, columns=["a", "b"])
    day = pd.Series(["2024-02-29"] * ROWS).astype("M8[ns]")
    columns = [
        (pd.Series(["0.123456"] * ROWS, dtype="string"), pd.Series(["x"] * ROWS, dtype="string")),
        (pd.Series([0, 1] * (ROWS // 2)).astype("category"), pd.Series(["u"] * ROWS).astype("category")),
        (
            pd.Series([1, 2] * (ROWS // 2)).astype("category"),
            pd.Series([1, "x"] * (ROWS // 2)).astype("category"),
        ),
        (day, day + pd.Timedelta(days=1)),
        (day - day, day - day + pd.Timedelta(days=1)),
        (day.dt.to_period("D"), day.dt.to_period("D") + 1),
        (pd.Series([1j] * ROWS), pd.Series([2j] * ROWS)),
    ]
    for one, other in columns:
        ends = outcome(model, frame.assign(b=one), y)
        assert ends[0][0] is ValueError
        assert "X must hold" in ends[0][1]
        assert "'b'" in ends[0][1]
        assert outcome(model, frame.assign(b=other), y) == ends
    for X in (
        pl.from_pandas(frame).with_columns(b=pl.lit("0.123456")),
        pl.from_pandas(frame).with_columns(b=pl.lit("u", dtype=pl.Categorical)),
        pa.Table.from_pandas(frame).set_column(1, "b", pa.array(["0.123456"] * ROWS)),
        CLEAN.astype("m8[D]"),
        CLEAN.astype("M8[D]"),
        CLEAN.astype(complex),
        CLEAN.view([("u", float), ("v", float)]),
    ):
        end = outcome(model, X, y)[0]
        assert end[0] is ValueError
        assert "X must hold" in end[1]
    for short, long in ((CLEAN.astype("U4"), CLEAN.astype("U9")), (CLEAN.astype("S4"), text)):
        end = outcome(model, short, y)  # how long the longest text is may not be told
        assert end == outcome(model, long, y)
        assert "of type text" in end[0][1]


def test_declared_types_of_answers_decide():
    days = np.array(["2024-02-29"] * ROWS, dtype="M8[ns]")
    for y in (
        days,
        days - days,
        np.zeros(ROWS, dtype=complex),
        pd.Series(days),
        pl.Series(days),
        pa.array(days),
        pd.Series(days).dt.to_period("D"),
        np.zeros(ROWS, dtype="i4,i4"),
    ):
        for kind in ("classifier", "regressor"):
            end = outcome(MODELS[kind], CLEAN, y)[0]
            assert end[0] is ValueError
            assert "y must hold" in end[1]
    words = ["0.5"] * ROWS
    for y in (
        np.array(words),
        pd.Series(words, dtype="string"),
        pd.Series(words).astype("category"),
        pl.Series(words),
        pa.array(words),
    ):
        with pytest.raises(ValueError, match="y must hold numbers, its type is"):
            clone(MODELS["regressor"]).fit(CLEAN, y)


def test_a_list_says_its_width_by_public_arguments_alone():
    one = {"bounds": (0, 1), **PROMISE}
    for model, way_out in [
        (mercer.PrivateKernelDensity(**one), "bounds must have one pair for each column"),
        (mercer.PrivateKernelClassifier(classes=("no", "yes"), **one), "one pair for each"),
        (mercer.PrivateKernelRegressor(y_bounds=(0, 1), **one), "one pair for each column"),
        (mercer.PrivateSynthesizer(**one), "one pair for each column"),
        (mercer.PrivateMeanCurve(bound=1, **PROMISE), "grid must have one number for each column"),
    ]:
        ends = []
        for X in ([[0.123456]] * ROWS, [0.123456] * ROWS, [[0.1, 0.2], [0.3]] * (ROWS // 2), ["x"]):
            with pytest.raises(ValueError, match=way_out) as caught:
                clone(model).fit(X, ANSWERS["classifier"])
            ends.append(str(caught.value))
        assert len(set(ends)) == 1
        assert "0.123456" not in ends[0]


# --- no message shows a cell -------------------------------------------------------------------

SECRET = 0.123456
TRACE = "12345"
line = np.full(ROWS, SECRET)
block = np.full((ROWS, WIDTH), SECRET)
text = np.array([[f"{SECRET}"] * WIDTH] * ROWS)
ragged = [[SECRET] * (1 + place % WIDTH) for place in range(ROWS)]
odd_rows = grid_of(
    [
        10**400 + 123456,
        f"{SECRET}",
        SECRET * 1j,
        pd.NA,
        Unreadable(),
        OwnFloat(SECRET),
        f"\ud800{SECRET}",
        Masquerade(),
        decimal.Decimal("0.123456"),
        [SECRET],
        {SECRET: SECRET},
        np.timedelta64(123456, "s"),
        *[SECRET] * (ROWS * WIDTH - 12),
    ]
)

SLIPS = {
    "line": line,
    "list": line.tolist(),
    "one number": SECRET,
    "no axis": np.array(SECRET),
    "three axes": np.full((ROWS, WIDTH, 2), SECRET),
    "ragged": ragged,
    "ragged array": np.fromiter(ragged, dtype=object, count=ROWS),
    "rows of rows": block[:, :, None].tolist(),
    "odd rows": odd_rows,
    "odd lists": odd_rows.tolist(),
    "odd frame": pd.DataFrame(odd_rows),
    "polars": pl.DataFrame([pl.Series(f"c{i}", list(odd_rows[:, i]), dtype=pl.Object) for i in range(WIDTH)]),
    "text": text,
    "lists of text": text.tolist(),
    "frame of text": pd.DataFrame(text),
    "categories": pd.DataFrame(text).astype("category"),
    "polars text": pl.DataFrame(text),
    "arrow text": pa.table({"a": text[:, 0].tolist(), "b": line}),
    "bytes": text.astype(bytes),
    "complex": block * 1j,
    "lists of complex": (block * 1j).tolist(),
    "days": np.full((ROWS, WIDTH), 123456, dtype="M8[D]"),
    "spans": np.full((ROWS, WIDTH), 123456, dtype="m8[s]"),
    "lists of spans": np.full((ROWS, WIDTH), 123456, dtype="m8[s]").tolist(),
    "huge": [[10**400 + 123456] * WIDTH] * ROWS,
    "masked": np.ma.masked_greater(block, 0),
    "fields": block.view([("u", float), ("v", float)]),
    "sparse": scipy.sparse.csr_matrix(block),
    "sparse array": scipy.sparse.coo_array(block),
    "series": pd.Series(line),
    "polars series": pl.Series(line),
    "arrow": pa.array(line),
    "dictionary": {SECRET: line},
    "set": {SECRET},
    "iterator": iter(block.tolist()),
    "string": f"{SECRET}",
    "dictionaries": [{"a": SECRET}] * ROWS,
    "too wide": np.full((ROWS, 70), SECRET),
    "too few": block[:1],
    "no rows": block[:0],
    "no columns": block[:, :0],
    "nothing": None,
    "unreadable": Unreadable(),
    "list of unreadable": [Unreadable()] * ROWS,
}
WRONG_ANSWERS = {
    "short": line[:-3],
    "short list": line[:-3].tolist(),
    "column": line[:, None],
    "two columns": block[:, :2],
    "lists": block.tolist(),
    "frame": pd.DataFrame(block),
    "polars frame": pl.DataFrame(block),
    "no axis": np.array(SECRET),
    "unhashable": [[SECRET], {SECRET: SECRET}, {SECRET}] * (ROWS // 3),
    "mixed": [SECRET, f"{SECRET}", None] * (ROWS // 3),
    "text": text[:, 0],
    "huge": [10**400 + 123456] * ROWS,
    "complex": line * 1j,
    "complex list": (line * 1j).tolist(),
    "days": np.full(ROWS, 123456, dtype="M8[D]"),
    "masked": np.ma.masked_greater(line, 0),
    "series": pd.Series(list(odd_rows[:, 0])),
    "categories": pd.Series(text[:, 0]).astype("category"),
    "unreadable": [Unreadable(), Masquerade(), OwnFloat(SECRET), OwnText(SECRET)] * (ROWS // 4),
    "string": f"{SECRET}",
    "sparse": scipy.sparse.csr_matrix(line[:, None]),
    "fields": line.view([("u", float)]),
    "dictionary": {SECRET: line},
    "none": None,
}


def said(action):
    """All that is shown while something is done: errors, those before them, and warnings."""
    words = []
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", FindingWarning)  # of noisy numbers
        try:
            action()
        except Exception as error:
            words += traceback.format_exception(error)
            before, seen = error, set()
            while before is not None and id(before) not in seen:
                seen.add(id(before))
                words.append(str(before))
                before = before.__cause__ or before.__context__
    return "\n".join([*words, *(str(w.message) for w in heard)])


def score(model, X, y=None):
    """A score of anything, which asks for all that a model may say of rows."""
    del y
    for name in ("predict", "score_samples", "decision_function"):
        if name in dir(model):
            getattr(model, name)(X)
    raise ValueError("the score cannot be computed")


MORE = {
    **{
        f"{kind} one pair": clone(MODELS[kind]).set_params(bounds=(0, 1))
        for kind in ("density", "classifier", "regressor", "table")
    },
    "curve without grid": mercer.PrivateMeanCurve(bound=1, **PROMISE),
}


@pytest.mark.parametrize("kind", [*MODELS, *MORE])
def test_no_message_of_a_fit_shows_a_cell(kind):
    model = {**MODELS, **MORE}[kind]
    y = ANSWERS.get(kind.split()[0])
    shown = {}
    for name, X in SLIPS.items():
        shown[name] = said(lambda X=X: clone(model).fit(X, y))
        if name != "unreadable":  # of which a pipeline asks what it is
            pipe = make_pipeline(FunctionTransformer(), clone(model))
            shown[f"{name}, in a pipeline"] = said(lambda X=X, pipe=pipe: pipe.fit(X, y))
    if y is not None:
        for name, wrong in WRONG_ANSWERS.items():
            shown[f"y: {name}"] = said(lambda wrong=wrong: clone(model).fit(CLEAN, wrong))
    assert [name for name, words in shown.items() if TRACE in words] == []
    assert "two axes" in shown["line"]
    assert "Reshape your data" in shown["line"]
    assert f"({ROWS}, {WIDTH}, 2)" in shown["three axes"]
    assert "sparse" in shown["sparse"]
    assert "sparse" in shown["sparse array"]


@pytest.mark.parametrize("kind", MODELS)
def test_no_message_of_a_search_shows_a_cell(kind):
    """What scikit-learn shows of a failed fit or score are its traceback and its message."""
    model, y = MODELS[kind], ANSWERS.get(kind)
    halves = KFold(2)
    # what scikit-learn refuses before an estimator is asked is its own to say
    own = {"no axis", "one number", "dictionary", "set", "iterator", "string", "nothing"}
    own |= {"unreadable", "too few", "no rows"}
    shown = {}
    for name, X in SLIPS.items():
        if name in own:
            continue
        for errors in ("raise", np.nan):
            shown[f"{name}, {errors}"] = said(
                lambda X=X, errors=errors: cross_val_score(
                    model, X, y, cv=halves, scoring=score, error_score=errors
                )
            )
        grid = {"epsilon": [8.0]}
        shown[f"{name}, search"] = said(
            lambda X=X, grid=grid: GridSearchCV(model, grid, cv=halves, scoring=score).fit(X, y)
        )
    if y is not None:
        for name in ("column", "mixed", "unhashable", "complex list", "days", "masked", "unreadable"):
            shown[f"y: {name}"] = said(
                lambda name=name: cross_val_score(model, CLEAN, WRONG_ANSWERS[name], cv=halves)
            )
    assert [name for name, words in shown.items() if TRACE in words] == []
    assert "Reshape your data" in shown["line, raise"]  # scikit-learn did show what we said
    assert "Reshape your data" in shown["line, nan"]


@pytest.mark.parametrize("kind", MODELS)
def test_no_message_of_a_fitted_model_shows_a_cell(kind):
    y = ANSWERS.get(kind)
    model = clone(MODELS[kind]).fit(CLEAN, y)
    shown = {}
    for method in ("predict", "score_samples", "decision_function", "score"):
        if method not in dir(model):
            continue
        for name, X in SLIPS.items():
            given = (X,) if method != "score" or y is None else (X, y)
            shown[f"{method}: {name}"] = said(
                lambda given=given, method=method: getattr(model, method)(*given)
            )
    if y is not None:
        for name, wrong in WRONG_ANSWERS.items():
            shown[f"score: y {name}"] = said(lambda wrong=wrong: model.score(CLEAN, wrong))
            shown[f"weights: {name}"] = said(lambda wrong=wrong: model.score(CLEAN, y, wrong))
    assert [name for name, words in shown.items() if TRACE in words] == []


def test_rows_of_a_recipient_are_checked_in_plain_words():
    model = clone(MODELS["classifier"]).fit(CLEAN, ANSWERS["classifier"])
    guesses = model.predict(CLEAN)
    assert np.array_equal(model.predict(CLEAN.tolist()), guesses)
    assert np.array_equal(model.predict(pd.DataFrame(CLEAN)), guesses)
    for X, words in [
        (CLEAN.tolist()[0], "must have two axes.*Reshape your data"),
        ([[0.1, 0.2, 0.3], [0.4]], "rows of one length"),
        ([[0.1]], "1 features, but .* 2"),
        (CLEAN[:, :1], "1 features, but .* 2"),
        ([[0.1, "abc"]], "contains NaN"),
        ([[0.1, np.inf]], "contains infinity"),
        ([], "must have two axes|0 sample|0 feature"),
    ]:
        with pytest.raises(ValueError, match=words):
            model.predict(X)
    curve = clone(MODELS["curve"]).fit(CLEAN)
    assert curve.predict([0.5, 1]).shape == (2,)
    assert curve.predict(CLEAN.tolist()).shape == CLEAN.shape
    for X in (["0.1", "abc"], [0.1, [0.2]], [10**400], [1j], [None, object()]):
        with pytest.raises(ValueError, match="X must be a line of points"):
            curve.predict(X)


def test_scores_are_those_of_scikit_learn(rng):
    X, weights = rng.random((60, WIDTH)), rng.random(60)
    words = np.where(X[:, 0] > 0.5, "yes", "no")
    model = clone(MODELS["classifier"]).fit(X, words)
    assert model.score(X, words) == accuracy_score(words, model.predict(X))
    given = model.score(X, words.tolist(), sample_weight=weights)
    assert given == pytest.approx(accuracy_score(words, model.predict(X), sample_weight=weights))
    unknown = [[7], *words[1:].tolist()]  # of no class: never predicted
    assert model.score(X, unknown) == np.mean(model.predict(X)[1:] == words[1:]) * 59 / 60
    model = clone(MODELS["regressor"]).fit(X, X[:, 0])
    assert model.score(X, X[:, 0]) == r2_score(X[:, 0], model.predict(X))
    given = model.score(X, pd.Series(X[:, 0]), weights)
    assert given == pytest.approx(r2_score(X[:, 0], model.predict(X), sample_weight=weights))
    for wrong in (weights[:5], weights[:, None]):
        with pytest.raises(ValueError, match="sample_weight must be one number for each of the 60"):
            model.score(X, X[:, 0], wrong)
