"""No curve decides between a release and an exception, and none raises a warning (M18)."""

import datetime
import decimal
import fractions
import inspect
import uuid
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mercer
from mercer.common.checks import FindingWarning
from mercer.sensitive.curves.chunks import numbers_in
from mercer.sensitive.curves.source import missing_heights, open_curves
from tests.privacy.test_curves import moved, summary_of

T = np.linspace(0, 1, 4)
PROMISE = {"bound": 5.0, "epsilon": 1.0, "delta": 1e-6, "rng": 0}


class Shy:
    """A cell that answers nothing."""

    def __array__(self, *_args, **_options):
        raise RuntimeError("secret")

    def __float__(self):
        raise ValueError("secret")

    def __len__(self):
        raise TypeError("secret")

    def __eq__(self, _other):
        raise RuntimeError("secret")

    __hash__ = None


class Number(float):
    """A number that fails as soon as it is asked for its value."""

    def __float__(self):
        raise ArithmeticError("secret")


def signalling(kind):
    """NaN that sets off the processor's alarm when it is converted."""
    bits = {np.float32: (np.uint32, 0x7FA00000), np.float64: (np.uint64, 0x7FF4000000000000)}[kind]
    return np.array([bits[1]], bits[0]).view(kind)[0]


CELLS = {
    "None": None,
    "nan": np.nan,
    "inf": -np.inf,
    "1e400": 10**400,
    "-1e400": -(10**400),
    "near the largest": 1e308,
    "text": "abc",
    "numeral": "1.5",
    "empty": "",
    "bytes": b"1",
    "surrogate": "\ud800",
    "timedelta64": np.timedelta64(3, "D"),
    "NaT": np.datetime64("NaT"),
    "datetime64": np.datetime64("2020-01-01"),
    "date": datetime.date(2020, 1, 1),
    "timedelta": datetime.timedelta(3),
    "Timestamp": pd.Timestamp("2020-01-01"),
    "NA": pd.NA,
    "pandas NaT": pd.NaT,
    "complex": 1 + 2j,
    "complex64": np.complex64(1j),
    "decimal": decimal.Decimal("1.5"),
    "decimal nan": decimal.Decimal("sNaN"),
    "decimal huge": decimal.Decimal("1e999999"),
    "fraction": fractions.Fraction(1, 3),
    "masked": np.ma.masked,
    "float128": np.longdouble("1e4000"),
    "float16": np.float16(np.inf),
    "signalling": signalling(np.float32),
    "signalling double": signalling(np.float64),
    "list": [1.0],
    "tuple": (),
    "dict": {"a": 1},
    "set": {1},
    "array": np.array([1.0, 2.0]),
    "a number's array": np.array(1.0),
    "object array": np.array([None, 1], dtype=object),
    "bool": True,
    "int": 3,
    "uint64": np.uint64(2**64 - 1),
    "void": np.void(b"ab"),
    "uuid": uuid.UUID(int=3),
    "class": int,
    "shy": Shy(),
    "number": Number(1.0),
    "generator": (i for i in range(3)),
    "range": range(4),
    "Arrow": pa.scalar(1.0),
}


def outcome(make, options):
    """What can be seen of a release, besides its numbers."""
    with warnings.catch_warnings(record=True) as told, np.errstate(all="raise"):
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", FindingWarning)  # of noisy numbers
        try:
            release = mercer.mean_curve(make, **options)
        except Exception as error:  # the class and the words are both outputs
            return type(error).__name__, str(error), len(told)
    assert np.all(np.isfinite(release(np.linspace(0, 1, 9)[:, None].ravel())))
    fields = {k: v for k, v in release.to_dict().items() if k not in ("smoothing", "curve")}
    return "release", str(sorted(fields)), [str(one.message) for one in told]


def rows_of(cell):
    """Twenty curves on four points, the last of which has an odd height."""
    rows = [[0.1 * i, 1.0, 2.0, 1.0] for i in range(20)]
    rows[-1][1] = cell
    return rows


def _objects(rows):
    out = np.empty((len(rows), len(rows[0])), dtype=object)
    for i, row in enumerate(rows):
        for j, cell in enumerate(row):
            out[i, j] = cell
    return out


def _line(items):
    out = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):
        out[place] = item
    return out


def _column(values):
    return pd.Series(_line(values), dtype=object)


def _long(cell, place):
    """A row a point, with an odd cell in the column at `place`: id, t or value."""
    names, times, heights = [], [], []
    for i in range(20):
        names += [f"c{i}"] * 4
        times += T.tolist()
        heights += [0.5 * i] * 4
    columns = [names, times, heights]
    columns[place][-2] = cell
    return pd.DataFrame(dict(zip(("id", "t", "x"), map(_column, columns), strict=True)))


LONG = {"long": ("id", "t", "x"), "bounds": (0, 1)}
SHAPES = {
    "lists": (lambda cell: rows_of(cell), {"grid": T}),
    "tuples": (lambda cell: tuple(map(tuple, rows_of(cell))), {"grid": T}),
    "array of objects": (lambda cell: _objects(rows_of(cell)), {"grid": T}),
    "array of lists": (lambda cell: _line(rows_of(cell)), {"grid": T}),
    "pairs": (lambda cell: [(T.tolist(), row) for row in rows_of(cell)], {"bounds": (0, 1)}),
    "pairs, time": (lambda cell: [(row, [0.0, 1.0, 2.0, 1.0]) for row in rows_of(cell)], {"bounds": (0, 1)}),
    "array of pairs": (lambda cell: _line([(T.tolist(), row) for row in rows_of(cell)]), {"bounds": (0, 1)}),
    "a whole curve": (lambda cell: [*rows_of(1.0)[:-1], cell], {"grid": T}),
    "a whole pair": (
        lambda cell: [*((T.tolist(), row) for row in rows_of(1.0)[:-1]), cell],
        {"bounds": (0, 1)},
    ),
    "half a pair": (
        lambda cell: [*((T.tolist(), row) for row in rows_of(1.0)[:-1]), (T.tolist(), cell)],
        {"bounds": (0, 1)},
    ),
    "wide frame": (
        lambda cell: pd.DataFrame(
            dict(zip("abcd", map(_column, zip(*rows_of(cell), strict=True)), strict=True))
        ),
        {"grid": T, "columns": list("abcd")},
    ),
    "long frame, height": (lambda cell: _long(cell, 2), LONG),
    "long frame, time": (lambda cell: _long(cell, 1), LONG),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_an_odd_cell_is_a_value_or_missing(shape):
    make, options = SHAPES[shape]
    clean = outcome(make(1.0), options | PROMISE)
    assert clean[0] == "release"
    for name, cell in CELLS.items():
        assert outcome(make(cell), options | PROMISE) == clean, name


def test_an_odd_name_of_a_curve_is_a_name_or_nobody():
    for options in (LONG, LONG | {"unit": "who"}):
        for name, cell in CELLS.items():
            table = _long("c19", 0)
            odd = _long(cell, 0)
            for frame in (table, odd):
                frame["who"] = _column([f"p{i // 8}" for i in range(80)])
            odd.loc[78, "who"] = None
            assert outcome(odd, options | PROMISE)[0] == "release", name
    # bytes that are no text, as they come from a CSV file
    table = pa.table(
        {
            "id": pa.array([f"v{i}" for i in range(12)]),
            "who": pa.array([b"a", b"b", b"\xff", b"\xff\xfe", None, b"c"] * 2, pa.binary()),
            "t": [0.5] * 12,
            "x": [1.0] * 12,
        }
    )
    assert outcome(table, LONG | {"unit": "who"} | PROMISE)[0] == "release"


def test_disjoint_groups_whose_persons_have_odd_names():
    """Names of a CSV file are bytes: that some are no UTF-8 must not show in an exception."""

    def groups(odd):
        out = {}
        for name, start in (("a", 0), ("b", 50)):
            who = [b"p%d" % i for i in range(start, start + 30)]
            who[3] = odd
            out[name] = pa.table({"who": pa.array(who, pa.binary()), **{c: np.ones(30) for c in "uvwx"}})
            odd = None
        return out

    for odd in (b"p3", b"\xff\xfe"):
        made = mercer.mean_curves(
            groups(odd), disjoint=True, grid=T, unit="who", columns=list("uvwx"), **PROMISE
        )
        assert sorted(made) == ["a", "b"]


@pytest.mark.parametrize("typed", [pd.DataFrame, pl.DataFrame, pa.table])
def test_typed_columns_with_odd_numbers(typed, tmp_path):
    """Numbers of every type, in columns that threads read."""
    clean = {c: np.ones(40) for c in "abcd"}
    for odd in (np.inf, -np.inf, 1e308, -1e308, signalling(np.float64), 5e-324):
        columns = {c: v.copy() for c, v in clean.items()}
        columns["b"][7] = odd
        for kind in (np.float64, np.float32, np.float16):
            with np.errstate(all="ignore"):
                cast = {c: v.astype(kind) for c, v in columns.items()}
                plain = {c: v.astype(kind) for c, v in clean.items()}
            if typed is pl.DataFrame and kind is np.float16:
                continue
            options = {"grid": T, "center": 1e300} | PROMISE
            assert outcome(typed(cast), options) == outcome(typed(plain), options)
            if typed is pa.table and kind is not np.float16:
                pq.write_table(typed(cast), tmp_path / "odd.parquet", row_group_size=5)
                options = {"grid": T} | PROMISE
                assert outcome(tmp_path / "odd.parquet", options) == outcome(typed(plain), options)
    whole = {c: pa.array([3, None, 2**62, -(2**62)] * 10) for c in "abcd"}
    precise = {c: pa.array([decimal.Decimal("1.5"), None] * 20, pa.decimal128(38, 2)) for c in "abcd"}
    for table in (pa.table(whole), pa.table(precise)):
        assert outcome(table, {"grid": T} | PROMISE)[0] == "release"


def test_a_text_file_with_odd_cells(tmp_path):
    odd = ["1e400", "-1e400", "nan", "inf", "NA", "", '"', "1,5", "\udcff", "0x10", "1_000", "١"]
    clean = outcome(_csv(tmp_path, "1.0"), {"grid": T} | PROMISE)
    assert clean[0] == "release"
    for cell in odd:
        assert outcome(_csv(tmp_path, cell), {"grid": T} | PROMISE) == clean, cell


def _csv(folder, cell):
    lines = ["a,b,c,d", *["1,2,3,2"] * 50]
    lines[30] = f"1,{cell},3,2" if cell != "1,5" else '1,"1,5",3,2'
    path = folder / "c.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="surrogateescape")
    return path


def test_what_a_curve_is_follows_from_the_arguments():
    """A list of which no curve is a pair; with a grid, one of which all are."""
    for rows in ([None] * 5, ["ab"] * 5, [{}] * 5, [[0.0] * 4] * 5, [5.0] * 5, [(T,)] * 5):
        made = outcome(rows, {"bounds": (0, 1)} | PROMISE)
        assert made[0] == "release", made
        one = outcome([*rows[:-1], (T, T)], {"bounds": (0, 1)} | PROMISE)
        assert made == one
    pairs = [(T.tolist(), T.tolist())] * 5
    for rows in (pairs, [*pairs[:-1], [0.0] * 4], [*pairs[:-1], [[0.0] * 4]]):
        assert outcome(rows, {"grid": T} | PROMISE)[0] == "release"
    assert next(iter(open_curves(pairs, grid=T).chunks())).shape == (5, 4)


def test_a_surface_with_an_odd_cell():
    def stack(cell):
        out = [[[1.0, 2.0, 3.0], [2.0, 1.0, 0.0]] for _ in range(10)]
        out[3][1][1] = cell
        return out

    options = {"grid": ([0, 1], [0, 0.5, 1]), "size": 4} | PROMISE

    def made(rows):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            warnings.simplefilter("ignore", FindingWarning)  # of noisy numbers
            mercer.mean_curve(rows, **options)
        return [str(one.message) for one in told]

    clean = made(stack(1.0))
    for name, cell in CELLS.items():
        assert made(stack(cell)) == clean, name
        assert made([*stack(1.0)[:-1], cell]) == clean, name
        assert made([*stack(1.0)[:-1], [cell, cell]]) == clean, name
    heights = next(iter(open_curves(stack(None), grid=options["grid"]).chunks()))
    assert np.isnan(heights[3, 1, 1])
    assert np.isfinite(heights).sum() == 59


def test_an_odd_cell_costs_no_other_cell():
    """A cell of another type is missing, and the rest of its curve is not."""
    for name, cell in CELLS.items():
        got = numbers_in([1.0, cell, 2.0])
        assert got.shape == (3,), name
        assert got[0] == 1.0, name
        assert got[2] == 2.0, name
    masked = np.ma.array([1.0, 99.0, 2.0], mask=[0, 1, 0])
    assert np.array_equal(numbers_in(masked), [1.0, np.nan, 2.0], equal_nan=True)
    objects = np.ma.array(_line([1, "x", 2]), mask=[0, 0, 1])
    assert np.array_equal(numbers_in(objects), [1.0, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(numbers_in([10**400, decimal.Decimal("2.5")])[1:], [2.5])


# --- a grid that contradicts the names ------------------------------------------------------------


def _named(names):
    return pd.DataFrame({name: np.ones(30) for name in names})


NUMBERED = [f"age_{a}" for a in ("1", "1.25", "1.5", "2")]


@pytest.mark.parametrize(
    ("names", "grid"),
    [
        (NUMBERED, [0, 1, 2, 3]),
        (NUMBERED, [1, 1.25, 1.5, 3]),
        (NUMBERED, np.linspace(1, 2, 4)),
        (["t=1", "t=2", "t=3"], [1, 2, 4]),
        (["t1.25", "t1.75", "t2"], [1.25, 1.75, 2.1]),
        (["h0", "h2", "h1"], [0, 1, 2]),  # an alphabet's order
        ([f"h{i}" for i in (1, 10, 11, 12, 2, 3, 4, 5, 6, 7, 8, 9)], np.arange(12)),
        (["y1990", "y1995", "y2000"], [0, 1, 2]),
    ],
)
def test_a_grid_that_contradicts_the_names_of_the_columns(names, grid, tmp_path):
    ledger = mercer.Ledger.create(tmp_path / "l.db")
    ledger.register("d", epsilon=9, delta=1e-3)
    promise = {"bound": 5.0, "epsilon": 1.0, "delta": 1e-6}
    calls = [
        lambda: mercer.mean_curve(_named(names), grid=grid, ledger=ledger, dataset="d", **promise),
        lambda: mercer.curve_bound(_named(names), grid=grid, most=9, epsilon=1, ledger=ledger, dataset="d"),
        lambda: mercer.mean_curves(
            _named(names).assign(g=["u", "v"] * 15),
            by="g",
            groups=("u", "v"),
            disjoint=True,
            grid=grid,
            ledger=ledger,
            dataset="d",
            **promise,
        ),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="grid contradicts the numbers in the names") as caught:
            call()
        assert any(repr(name) in str(caught.value) for name in names)
        assert any(f"at {number:g}" in str(caught.value) for number in grid)
    assert ledger.history("d") == []


@pytest.mark.parametrize(
    ("names", "grid"),
    [
        (NUMBERED, [1, 1.25, 1.5, 2]),
        (["x_0.33", "x_0.67", "x_1.00"], [1 / 3, 2 / 3, 1]),  # rounded
        (["cca_0", "cca_1", "cca_2"], [0.0, 0.5, 1.0]),  # they only count
        (["cca_1", "cca_2", "cca_3"], [0.0, 0.5, 1.0]),
        (["lag_3", "lag_2", "lag_1"], [-3, -2, -1]),
        (["a1", "b7", "c3"], [0, 1, 2]),
        (["one", "two", "x_3"], [0, 1, 2]),
    ],
)
def test_a_grid_that_does_not(names, grid):
    assert mercer.mean_curve(_named(names), grid=grid, **PROMISE)


# --- na_values and outside ------------------------------------------------------------------------


def test_numbers_that_stand_for_a_missing_height(tmp_path):
    """The same in every source, and in single precision."""
    clean = np.array([[1.0, 2.0, 3.0, 2.0], [2.0, np.nan, np.nan, 1.0]] * 20)
    coded = clean.copy()
    coded[1::2, 1], coded[1::2, 2] = -999.9, 77
    names = list("abcd")
    frame = pd.DataFrame(coded, columns=names)
    frame.to_csv(tmp_path / "c.csv", index=False)
    frame.to_parquet(tmp_path / "c.parquet")
    long = frame.assign(id=[f"c{i}" for i in range(40)]).melt("id", names, "t", "x")
    long["t"] = long["t"].map(dict(zip(names, T, strict=True)))
    pairs = [(T, row) for row in coded]
    sources = [
        (coded, {"grid": T}),
        (coded.astype(np.float32), {"grid": T}),
        (coded.tolist(), {"grid": T}),
        (frame, {"grid": T}),
        (frame.astype(np.float32), {"grid": T}),
        (pl.from_pandas(frame), {"grid": T}),
        (tmp_path / "c.csv", {"grid": T}),
        (tmp_path / "c.parquet", {"grid": T}),
        (pairs, {"bounds": (0, 1)}),
        (long, {"long": ("id", "t", "x"), "bounds": (0, 1)}),
    ]
    for data, options in sources:
        one, two = open_curves(data, **options, na_values=[-999.9, "77", "unknown"]), None
        expected = {"grid": clean, "bounds": [(T, row) for row in clean]}
        two = open_curves(expected["grid" if "grid" in options else "bounds"], **options | {"long": None})
        for got, want in zip(_heights(one), _heights(two), strict=True):
            assert np.array_equal(got, want, equal_nan=True)
        kept = np.concatenate(list(_heights(open_curves(data, **options))))
        assert np.any(np.abs(kept + 999.9) < 1e-3)  # without it they are heights
    same = [
        mercer.mean_curve(coded, grid=T, na_values=[-999.9, 77], **PROMISE).raw,
        mercer.mean_curve(clean, grid=T, **PROMISE).raw,
    ]
    assert np.array_equal(*same)


def _heights(curves):
    for chunk in curves.chunks():
        values = getattr(chunk, "values", None)
        yield np.asarray(chunk).reshape(-1) if values is None else values


def test_na_values_that_are_none(tmp_path):
    for wrong in ([None], [True], {"a": 1}, object(), [[1]]):
        with pytest.raises(TypeError, match="na_values must be a list of numbers or text"):
            mercer.mean_curve(np.ones((9, 4)), grid=T, na_values=wrong, **PROMISE)
    assert missing_heights("999").tolist() == [999.0]
    assert missing_heights(999).tolist() == [999.0]
    assert missing_heights(["NA", np.nan, np.inf, 10**400, "", 3]).tolist() == [3.0]


@pytest.mark.parametrize("ragged", [False, True])
def test_curves_beyond_the_bound_are_scaled_down_or_left_out(ragged):
    rows = np.array([np.full(4, 0.5)] * 30 + [np.full(4, 50.0)] * 10)
    curves = [(T, row) for row in rows] if ragged else rows
    options = {"bounds": (0, 1)} if ragged else {"grid": T}
    more = {"bound": 1.0, "epsilon": 50.0, "delta": 1e-3, "insist": True, "rng": 0}
    clipped = mercer.mean_curve(curves, **options, **more)
    dropped = mercer.mean_curve(curves, **options, outside="drop", **more)
    assert abs(clipped(0.5) - (30 * 0.5 + 10 * 1.0) / 40) < 0.02
    assert abs(dropped(0.5) - 30 * 0.5 / 40) < 0.02  # they count in n, as the centre
    near = mercer.mean_curve(curves, **options, outside="drop", center=lambda t: 0 * t + 50, **more)
    assert abs(near(0.5) - 50) < 0.02  # and the centre is where the caller puts it
    assert dropped.privacy.n == 40


@pytest.mark.parametrize("ragged", [False, True])
def test_a_curve_that_is_left_out_moves_the_mean_no_further(ragged, rng):
    """Neighbours on either side of the bound, at it, and beyond it."""
    base = rng.normal(size=(9, 4))

    def sample(last):
        rows = np.concatenate([base, [last]])
        return [(T, row) for row in rows] if ragged else rows

    grid, more = (None, {"bounds": (0, 1)}) if ragged else (T, {})
    for one in (1.0, 0.999, 1.0001, 50.0, np.inf, 0.0):
        for two in (-1.0, -0.999, -1.0001, -50.0, 0.0):
            pair = [
                summary_of(sample(np.full(4, level)), grid, bound=1.0, outside="drop", **more)
                for level in (one, two)
            ]
            assert moved(*pair) <= 1


def test_a_bound_from_the_curves_that_are_not_beyond_it():
    rows = np.array([np.full(4, 2.0)] * 400 + [np.full(4, 1e6)] * 600)
    options = {"grid": T, "most": 1000, "epsilon": 20, "share": 0.9, "rng": 0}
    assert mercer.curve_bound(rows, **options).values[0] > 900
    kept = mercer.curve_bound(rows, **options, outside="drop").values[0]
    assert 2 <= kept < 2.2
    coded = np.where(rows > 1e5, -9.0, rows)
    found = mercer.curve_bound(coded, **options, na_values=[-9])
    assert found.values[0] < 2.2  # curves without a height are at the centre
    with pytest.raises(ValueError, match="outside must be one of"):
        mercer.curve_bound(rows, **options | {"outside": "keep"})


def test_groups_take_the_same_arguments():
    rows = np.concatenate([np.full((20, 4), 0.5), np.full((20, 4), -9.0)])
    two = {"a": rows, "b": rows}
    means = mercer.mean_curves(
        two,
        disjoint=True,
        grid=T,
        bound=1,
        epsilon=50,
        delta=1e-3,
        insist=True,
        na_values=[-9],
        outside="drop",
        rng=0,
    )
    for mean in means.values():
        assert abs(mean(0.5) - 0.25) < 0.02
    named = inspect.signature(mercer.mean_curves).parameters
    assert "na_values" in named


def test_the_number_of_a_persons_curves_is_not_told_by_progress():
    """M16: with a unit, the number of rows is not public; nothing is told."""

    def seen(rows):
        who = [f"p{i}" for i in range(30)] + ["p0"] * rows
        table = pa.table({"who": who, **{c: np.ones(len(who)) for c in "abcd"}})
        told = []
        mercer.mean_curve(table, grid=T, unit="who", progress=told.append, **PROMISE)
        return told

    assert seen(0) == seen(1000) == []


def test_a_file_without_a_header_gives_no_grid(tmp_path, capsys):
    """The first child's heights would be the names, and so the public grid."""
    from mercer.cli.app import main

    path = tmp_path / "growth.csv"
    path.write_text("".join(f"C{i},f,{100 + i}.25,{110 + i}.5\n" for i in range(30)))
    words = [str(path), "--bound", "200", "--epsilon", "1", "-o", str(tmp_path / "c.json")]
    for more, message in (
        (["--grid-from-names"], "does the file have a header"),
        (["--grid-from-names", "--columns", "100.25", "110.5"], "does the file have a header"),
        (["--grid", "0", "1"], "columns is missing"),
    ):
        with pytest.raises(SystemExit) as stop:
            main(["curve", *words, *more])
        told = capsys.readouterr().err
        assert stop.value.code == 2
        assert message in told
        assert "C0" not in told
        assert "100.25" not in told.replace("age_1.25", "")
    assert not (tmp_path / "c.json").exists()


def test_a_grid_that_begins_one_too_early_is_a_slip():
    table = pa.table({f"age_{i}": np.full(30, 100.0 + i) for i in range(1, 7)})
    with pytest.raises(ValueError, match="grid contradicts the numbers in the names"):
        mercer.mean_curve(table, grid=range(6), bound=200, epsilon=1)
    mercer.mean_curve(table, grid=range(1, 7), bound=200, epsilon=1)
    mercer.mean_curve(table, grid=np.linspace(0, 1, 6), bound=200, epsilon=1)  # numbers that count


def test_names_that_are_numbers_are_not_shown():
    """They may be a record: a file without a header."""
    with pytest.raises(ValueError, match="numbers that stand in place of names") as caught:
        mercer.mean_curve(_named(["1.25", "1.75", "2"]), grid=[1.25, 1.75, 2.1], **PROMISE)
    assert "1.75" not in str(caught.value)
