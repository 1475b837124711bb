"""Every source of curves gives the same curves; nothing public depends on a value of a record."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mercer.sensitive.curves.chunks import CURVES
from mercer.sensitive.curves.source import Curves, Ragged, open_curves
from mercer.sensitive.data import open_rows
from mercer.sensitive.persons import person_weights
from mercer.sensitive.rows import CHUNK
from mercer.sources.files import file_batches

SECRET = 987654.321  # stands in the data and must never stand in a message
GRID = np.array([0.0, 1.0, 2.5, 4.0])
UNIT = GRID / 4.0
NAMES = ["h0", "h1", "h2", "h3"]


@pytest.fixture
def heights(rng):
    values = rng.normal(size=(700, 4))  # more than two chunks of curves on grids of their own
    values[3, 1] = SECRET
    values[5, 2], values[9] = np.nan, np.nan
    return values


@pytest.fixture
def frame(heights):
    who = [f"p{i // 3}" for i in range(len(heights))]
    return pd.DataFrame(dict(zip(NAMES, heights.T, strict=True)) | {"who": who})


@pytest.fixture
def points(frame):
    """The same curves with a row a point, in no order; a missing height is an empty cell."""
    wide = frame.assign(id=[f"c{i:03}" for i in range(len(frame))])
    long = wide.melt(["id", "who"], NAMES, "t", "value")
    long["t"] = long["t"].map(dict(zip(NAMES, GRID, strict=True))).astype(float)
    return long.sample(frac=1.0, random_state=5).reset_index(drop=True)


def whole(curves):
    """All chunks of curves on a grid."""
    return np.concatenate(list(curves.chunks()))


def lines(curves):
    """(times, values) of each curve."""
    out = []
    for chunk in curves.chunks():
        assert isinstance(chunk, Ragged)
        cuts = chunk.starts[1:-1]
        out += zip(np.split(chunk.times, cuts), np.split(chunk.values, cuts), strict=True)
    return out


def same_lines(curves, heights):
    got = lines(curves)
    assert len(got) == len(heights)
    for (times, values), row in zip(got, heights, strict=True):
        kept = np.isfinite(row)
        assert np.allclose(times, UNIT[kept], rtol=0, atol=1e-15)
        assert np.array_equal(values, row[kept])


def test_every_source_on_a_grid_gives_the_same_curves(heights, frame, tmp_path):
    import skfda

    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=99)
    (tmp_path / "folder").mkdir()
    for i in range(2):
        frame[i * 350 : i * 350 + 350].to_parquet(tmp_path / "folder" / f"{i}.parquet")
    holes = [[None if x != x else float(x) for x in row] for row in heights]
    table = pa.Table.from_pandas(frame)
    plain = [
        heights,
        heights.tolist(),
        holes,
        list(heights),
        tuple(holes),
        heights[::-1][::-1],
        np.asfortranarray(heights),
        np.array(holes, dtype=object),
        np.ma.masked_invalid(heights),
    ]
    named = [
        frame,
        pl.from_pandas(frame),
        table,
        table.to_reader(),
        str(tmp_path / "a.csv"),
        tmp_path / "a.parquet",
        tmp_path / "folder",
    ]
    for data in plain:
        curves = open_curves(data, grid=GRID)
        assert np.array_equal(whole(curves), heights, equal_nan=True), type(data)
    for data in named:
        curves = open_curves(data, grid=list(GRID), columns="h*", unit="who")
        assert curves.workers == 2
        assert np.array_equal(whole(curves), heights, equal_nan=True), type(data)
    fda = open_curves(skfda.FDataGrid(heights, grid_points=GRID))
    assert np.array_equal(whole(fda), heights, equal_nan=True)
    for one in (curves, fda):
        assert one.domain.bounds == ((0.0, 4.0),)
        assert (one.domain.names, one.value) == (("t",), "value")
        assert len(one.grid) == 1
        assert np.array_equal(one.grid[0], UNIT)
    assert open_curves(curves) is curves


def test_every_source_of_points_gives_the_same_curves(heights, points, tmp_path):
    import skfda

    points.to_csv(tmp_path / "a.csv", index=False)
    points.to_parquet(tmp_path / "a.parquet", row_group_size=500)
    pairs = [(GRID, row) for row in heights]
    backwards = [[GRID[::-1].tolist(), row[::-1].tolist()] for row in heights]
    irregular = skfda.FDataIrregular(
        start_indices=np.arange(len(heights)) * 4,
        points=np.tile(GRID, len(heights))[:, None],
        values=heights.reshape(-1, 1),
    )
    for data in (pairs, tuple(backwards), irregular):
        curves = open_curves(data, bounds=(0, 4))
        assert curves.grid is None
        same_lines(curves, heights)
    order = points["id"].drop_duplicates().str[1:].astype(int)
    table = pa.Table.from_pandas(points)
    for data in (
        points,
        pl.from_pandas(points),
        table,
        table.to_reader(),
        tmp_path / "a.csv",
        tmp_path / "a.parquet",
        points.assign(id=points["id"].astype("category")),
    ):
        curves = open_curves(data, long=("id", "t", "value"), bounds=(0, 4))
        same_lines(curves, heights[order])
        assert (curves.domain.names, curves.value, curves.unit) == (("t",), "value", None)
        assert list(curves.persons()) == []


def test_columns_are_chosen_by_name_prefix_or_both(heights, frame):
    for columns in ("h*", NAMES, ["h0", "h1", "h2*", "h3"], ["h0*", *NAMES[1:]]):
        curves = open_curves(frame, grid=GRID, columns=columns)
        assert np.array_equal(whole(curves), heights, equal_nan=True)
    assert np.array_equal(whole(open_curves(frame, grid=GRID, unit="who")), heights, equal_nan=True)
    named = frame.rename(columns=dict(zip(NAMES, "abcd", strict=True)))
    swapped = open_curves(named, grid=GRID, columns=["b", "a", "c", "d"])
    assert np.array_equal(whole(swapped), heights[:, [1, 0, 2, 3]], equal_nan=True)


def test_bounds_may_be_wider_than_the_grid(heights):
    curves = open_curves(heights, grid=GRID, bounds=(-4, 4))
    assert np.allclose(curves.grid[0], (GRID + 4) / 8)


def test_surfaces(rng, monkeypatch):
    import skfda

    monkeypatch.setattr("mercer.sensitive.curves.chunks.CHUNK", 35)
    cube = rng.normal(size=(7, 4, 3))
    cube[2, 1, 1] = np.inf
    ticks = [0.0, 0.5, 2.0]
    wanted = np.where(np.isfinite(cube), cube, np.nan)
    fda = skfda.FDataGrid(cube, grid_points=[GRID, ticks], argument_names=("age", None))
    for data in (cube, cube.tolist(), [*cube[:6].tolist(), cube[6]]):
        curves = open_curves(data, grid=(GRID, ticks), bounds=[(0, 4), (0, 4)])
        assert curves.domain.names == ("t1", "t2")
        assert [chunk.shape[0] for chunk in curves.chunks()] == [2, 2, 2, 1]
        assert np.array_equal(whole(curves), wanted, equal_nan=True)
        assert np.array_equal(curves.grid[1], np.array(ticks) / 4)
    odd = open_curves([*cube[:2].tolist(), cube[0].tolist()[:3], None], grid=(GRID, ticks))
    assert np.isnan(whole(odd)[2:]).all()
    assert np.array_equal(whole(odd)[:2], cube[:2])
    assert open_curves(fda).domain.names == ("age", "t2")
    assert np.array_equal(whole(open_curves(fda)), wanted, equal_nan=True)
    two = np.zeros((5, 2, 3))  # a list of two lists a surface is no list of pairs
    assert whole(open_curves(two.tolist(), grid=([0, 1], ticks))).shape == (5, 2, 3)


def test_scikit_fda_in_a_basis():
    from skfda import FDataBasis
    from skfda.representation.basis import FourierBasis

    coefficients = np.arange(15.0).reshape(5, 3)
    data = FDataBasis(
        FourierBasis((0, 3), n_basis=3), coefficients, argument_names=("hour",), coordinate_names=("load",)
    )
    curves = open_curves(data, bounds=(0, 3))
    assert curves.grid[0].shape == (513,)
    assert (curves.domain.names, curves.value) == (("hour",), "load")
    assert np.allclose(whole(curves), data(np.linspace(0, 3, 513))[..., 0])
    coefficients[2, 1] = np.inf
    with warnings.catch_warnings(), np.errstate(all="raise"):
        got = whole(open_curves(FDataBasis(FourierBasis((0, 3), n_basis=3), coefficients)))
    assert np.isnan(got[2]).any()
    assert np.isfinite(got[[0, 1, 3, 4]]).all()


def test_cells_without_a_finite_number_are_missing(tmp_path):
    """M18: whatever stands there instead, and however the caller set NumPy up."""
    wanted = np.array([[1.0, np.nan], [np.nan, 2.0], [np.nan, np.nan], [3.0, 4.0]])
    rows = [[1.0, np.inf], [-np.inf, 2.0], [None, "secret"], [3.0, 4.0]]
    (tmp_path / "a.csv").write_text("a,b\n1,inf\n-inf,2\n,secret\n3,4\n")
    floats = [[np.nan if isinstance(x, str) or x is None else x for x in row] for row in rows]
    for data in (
        rows,
        np.array(rows, dtype=object),
        floats,
        np.array(floats, np.float32),
        np.array(floats, np.longdouble),
        pd.DataFrame(rows, columns=["a", "b"]),
        tmp_path / "a.csv",
    ):
        with np.errstate(all="raise"):
            seen = whole(open_curves(data, grid=[0, 1]))
        assert np.array_equal(np.where(np.isfinite(seen), seen, np.nan), wanted, equal_nan=True)
    for odd in ([1.0], [1, 2, 3], None, 7.0, "ab", [[1, 2], [3, 4]], {}, [[1.0], 2.0]):
        got = whole(open_curves([[1.0, 2.0], odd, [3, 4]], grid=[0, 1]))
        assert np.array_equal(got[[0, 2]], [[1, 2], [3, 4]])
        assert got.shape == (3, 2)
        assert np.isnan(got[1, 0])
        assert np.isnan(got[1, 1]) or odd == [[1.0], 2.0]


def test_a_list_of_two_numbers_a_curve_is_a_matrix():
    assert np.array_equal(whole(open_curves([[1, 2], (3, 4)], grid=(0, 1))), [[1, 2], [3, 4]])
    assert list(open_curves([], grid=(0, 1)).chunks()) == []
    assert list(open_curves([], bounds=(0, 1)).chunks()) == []


def test_pairs_with_rubbish_are_curves_without_points():
    nan, inf = np.nan, np.inf
    good = ([0.0, 1.0], [5.0, 6.0])
    empty = [
        None,
        7.0,
        "ab",
        (),
        (1,),
        ([0, 1], [2]),
        ([], []),
        ([0], 3),
        (3, 4),
        ([[0]], [[1]]),
        ("a", "b"),
        (None, None),
        ({}, {}),
        ([0], [1], [2]),
        (["x"], [1]),
        ([0.5], ["y"]),
        ([nan, inf, -inf], [1, 2, 3]),
        ([0, 1], [nan, inf]),
        ([-0.01, 2.01], [1, 2]),
        (np.array(["2020-01-01"], "M8[D]"), [1.0]),
        ([1j], [1]),
        ([0.5], [2**2000]),
        (iter([1]), iter([1])),
        ([True, [1]], [[2], True]),
    ]
    with np.errstate(all="raise"):
        got = lines(open_curves([*empty, good], bounds=(0, 2)))
        first = lines(open_curves([good, *empty], bounds=(0, 2)))
    assert len(got) == len(first) == len(empty) + 1
    assert all(len(times) == len(values) == 0 for times, values in got[:-1])
    for times, values in (got[-1], first[0]):
        assert np.array_equal(times, [0.0, 0.5])
        assert np.array_equal(values, good[1])


def test_points_are_sorted_averaged_and_kept_finite():
    most = np.finfo(float).max
    pairs = [
        ([2, 0, 1, 0, None, 2, 1.5], [1.0, 2.0, 3.0, 4.0, 5.0, None, np.inf]),
        (pd.Series([1.0, 1.0, 1.0]), np.ma.array([1.0, 3.0, 7.0], mask=[0, 0, 1])),
        (pl.Series([0.5, 0.5, 0.5]), pa.array([most, most, most])),
        ((0.5, 0.5), [-most, most]),
        (range(3), np.arange(3, dtype=np.int8)),
        (1.0 + np.array([0.0, 1e-17]) / 4, [1.0, 2.0]),  # one point of the unit interval
    ]
    with np.errstate(all="raise"):
        got = lines(open_curves(pairs, bounds=(0, 2)))
    wanted = [
        ([0, 0.5, 1], [3, 3, 1]),
        ([0.5], [2]),
        ([0.25], [most]),
        ([0.25], [0]),
        ([0, 0.5, 1], [0, 1, 2]),
        ([0.5], [1.5]),
    ]
    for (times, values), (t, x) in zip(got, wanted, strict=True):
        assert np.array_equal(times, t)
        assert np.array_equal(values, x)


def test_rows_of_a_long_table_that_do_not_fit(tmp_path):
    """No id: no curve.  An id without points still counts; a curve is an id of one person."""
    text = (
        "id,t,value,who\nb,1,10,ann\n,0.5,3,eve\na,,3,bob\nb,0,5,zoe\na,1,oops,cid\nc,9,1,\n"
        "b,1,20,ann\nd,0.5,1,ann,too,many\n"
    )
    (tmp_path / "a.csv").write_text(text)
    long = ("id", "t", "value")
    curves = open_curves(tmp_path / "a.csv", long=long, bounds=(0, 2), unit="who")
    got = lines(curves)
    assert len(got) == 5
    assert np.array_equal(got[0], [[0.5], [15]])
    assert np.array_equal(got[1], [[0], [5]])
    assert all(line[0].size == 0 for line in got[2:])
    who = ["ann", "zoe", "bob", "cid", None]
    assert pa.concat_arrays(curves.persons()).to_pylist() == who
    persons, weights = person_weights(curves, 100)
    assert persons == 4
    assert np.concatenate(list(weights())).tolist() == [100] * 4 + [0]
    mine = open_curves(tmp_path / "a.csv", long=long, bounds=(0, 2), unit="id")
    assert pa.concat_arrays(mine.persons()).to_pylist() == ["b", "a", "c"]
    nameless = pa.table({"id": [1.0, np.nan, None, 1.0], "t": [0, 1, 1, 1], "x": [1, 2, 3, 4]})
    (only,) = lines(open_curves(nameless, long=("id", "t", "x"), bounds=(0, 1)))
    assert np.array_equal(only, [[0, 1], [1, 4]])
    none = nameless.slice(0, 0)
    assert lines(open_curves(none, long=("id", "t", "x"), bounds=(0, 1), unit="id")) == []


def test_persons_stand_beside_their_curves(heights, frame, points, tmp_path, monkeypatch):
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=99)
    frame.to_csv(tmp_path / "a.csv", index=False)
    sources = [
        (data, {"grid": GRID, "columns": "h*"})
        for data in (frame, tmp_path / "a.parquet", tmp_path / "a.csv")
    ]
    sources.append((points, {"long": ("id", "t", "value"), "bounds": (0, 4)}))
    for data, options in sources:
        curves = open_curves(data, unit="who", **options)
        chunks, people = list(curves.chunks()), list(curves.persons())
        assert list(map(len, chunks)) == list(map(len, people))
        names = pa.concat_arrays([part.cast(pa.string()) for part in people]).to_pylist()
        expected = frame["who"]
        if data is points:
            expected = points.drop_duplicates("id")["who"]
        assert names == expected.tolist()
        persons, weights = person_weights(curves, 1 << 20)
        assert persons == frame["who"].nunique()
        assert [len(part) for part in weights()] == list(map(len, chunks))


def test_how_a_sample_is_cut_depends_on_no_curve(heights):
    pairs = [(GRID, row) for row in heights]
    loud = [*pairs[:9], (np.linspace(0, 4, 50_000), np.zeros(50_000)), *pairs[10:]]
    sizes = [
        [len(chunk) for chunk in open_curves(data, bounds=(0, 4)).chunks()]
        for data in (pairs, loud, [None, *loud[1:]])
    ]
    assert sizes[0] == sizes[1] == sizes[2] == [CURVES, CURVES, 700 - 2 * CURVES]


def test_chunks_of_wide_tables_hold_few_numbers(tmp_path, rng):
    wide, many = 200, 45_000
    matrix = rng.normal(size=(many, wide)).astype(np.float32)
    table = pa.table({f"h{i}": column for i, column in enumerate(matrix.T)})
    table = table.append_column("who", pa.array(np.arange(many)))
    pq.write_table(table, tmp_path / "a.parquet")  # one row group
    most = CHUNK // wide
    for data in (table, tmp_path / "a.parquet"):
        curves = open_curves(data, grid=np.arange(wide), unit="who")
        chunks = list(curves.chunks())
        assert max(map(len, chunks)) <= 4 * CHUNK // wide  # as columns
        assert [len(part) for part in curves.persons()] == list(map(len, chunks))
        assert np.array_equal(np.concatenate(chunks), matrix)
    _, tasks = file_batches(tmp_path / "a.parquet")
    assert max(batch.num_rows for task in tasks(table.column_names) for batch in task()) <= 8 * CHUNK // wide
    stacked = open_rows(table, columns=None, unit="who", dimension=None)
    assert max(map(len, stacked.chunks())) <= most
    assert all(chunk.flags.f_contiguous for chunk in stacked.chunks())
    assert max(map(len, open_curves(matrix, grid=np.arange(wide)).chunks())) <= most
    few = open_rows(table, columns=[f"h{i}" for i in range(8)], unit=None, dimension=None)
    assert [len(chunk) for chunk in few.chunks()] == [many]
    assert next(few.chunks()).flags.c_contiguous
    rows = open_rows(matrix, columns=None, unit=None, dimension=None)
    assert max(map(len, rows.chunks())) <= most


def test_progress_counts_curves(heights, frame):
    for data, options in (
        (heights, {"grid": GRID}),
        (frame, {"grid": GRID, "unit": "who"}),
        ([(GRID, row) for row in heights], {"bounds": (0, 4)}),
    ):
        seen = []
        curves = open_curves(data, **options)
        curves.progress(seen.append)
        assert sum(map(len, curves.chunks())) == 700
        assert sum(seen) == (0 if "unit" in options else 700)  # of persons only their number is public


def test_curves_cannot_be_shown_copied_or_saved(heights, frame, points):
    pairs = open_curves([(GRID, row) for row in heights], bounds=(0, 4))
    held = [
        open_curves(heights, grid=GRID),
        pairs,
        next(pairs.chunks()),
        open_curves(frame, grid=GRID, columns="h*"),
        open_curves(points, long=("id", "t", "value"), bounds=(0, 4)),
    ]
    for thing in held:
        for use in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="cannot be pickled") as caught:
                use(thing)
            assert "987654" not in str(caught.value)
        for shown in (repr(thing), str(thing), f"{thing}"):
            assert "sensitive, not shown" in shown
            assert "987654" not in shown
    with pytest.raises(TypeError, match="abstract"):
        Curves(pairs.domain)


PAIRS = [([0.5, SECRET], [SECRET, 1.0])] * 3
MATRIX = [[SECRET, 1.0, 2.0]] * 3
FRAME = pd.DataFrame(MATRIX, columns=["a", "b", "c"]).assign(who=["x", "y", "z"])
LONG = {"long": ("who", "a", "b"), "bounds": (0, 1)}
ERRORS = [
    (MATRIX, {}, ValueError, r"grid is missing.*\(t, x\) pairs"),
    ([[SECRET], [1.0, 2.0]], {}, ValueError, r"grid is missing.*\(t, x\) pairs"),
    (FRAME, {"unit": "who"}, ValueError, "grid is missing.*long="),
    (MATRIX, {"grid": [0, 2, 1]}, ValueError, "grid must increase, got 1 after 2 at place 3"),
    (MATRIX, {"grid": [0, 1, 1]}, ValueError, "grid must increase"),
    (MATRIX, {"grid": [0, 1, np.nan]}, ValueError, "grid must be finite"),
    (MATRIX, {"grid": [0, 1, np.inf]}, ValueError, "grid must be finite"),
    (MATRIX, {"grid": [0]}, ValueError, r"2 to 100000 numbers, got shape \(1,\)"),
    (MATRIX, {"grid": range(100_001)}, ValueError, r"got shape \(100001,\)"),
    (MATRIX, {"grid": 3}, ValueError, r"got shape \(\)"),
    (MATRIX, {"grid": "abc"}, TypeError, "grid must be increasing numbers, got str"),
    (MATRIX, {"grid": [0, 1, 1 + 1e-15], "bounds": (-1e3, 1e3)}, ValueError, "further apart than"),
    (np.array(MATRIX), {"grid": [0, 1]}, ValueError, r"shape \(curves, 2\) on this grid, got shape \(3, 3\)"),
    (FRAME, {"grid": [0, 1], "unit": "who"}, ValueError, "each of the 3 value columns, got 2"),
    (MATRIX, {"grid": [0, 1, 2], "bounds": (0, 1)}, ValueError, "grid must lie in the bounds"),
    (MATRIX, {"grid": [0, 1, 2], "bounds": (2, 0)}, ValueError, "lower < upper"),
    (MATRIX, {"grid": [0, 1, 2], "unit": "who"}, ValueError, "must have named columns"),
    (MATRIX, {"grid": [0, 1, 2], "columns": "a*"}, ValueError, "must have named columns"),
    (MATRIX, {"long": ("a", "b", "c")}, ValueError, "must have named columns"),
    (FRAME, {"grid": [0, 1, 2], "unit": 3}, TypeError, "unit must be the name"),
    (FRAME, {"grid": [0, 1, 2], "unit": "whom"}, ValueError, "unit: there is no column 'whom'"),
    (FRAME, {"grid": [0, 1, 2], "columns": "x*"}, ValueError, "no column starts with 'x'"),
    (FRAME, {"grid": [0, 1, 2], "columns": ["a", "a*"]}, ValueError, "different names"),
    (FRAME, {"grid": [0, 1, 2], "columns": 7}, TypeError, "name or a list of names"),
    (FRAME, {"grid": [0, 1, 2]}, TypeError, "column 'who' must hold numbers"),
    (FRAME, {"grid": [[0, 1], [0, 1]]}, ValueError, "surfaces as an array"),
    (PAIRS, {}, ValueError, "bounds is missing"),
    (PAIRS, {"bounds": (0, 1), "unit": "who"}, ValueError, "must have named columns"),
    (PAIRS, {"bounds": [(0, 1)] * 2}, ValueError, "bounds must be one"),
    (np.full((3, 2, 2), SECRET), {"grid": [0, 1]}, ValueError, r"got shape \(3, 2, 2\).*ticks1"),
    (np.full((3, 2), SECRET), {"grid": ([0, 1], [0, 1])}, ValueError, r"\(curves, 2, 2\)"),
    (np.full((3, 2, 2), SECRET), {}, ValueError, "grid is missing"),
    (np.full((3, 2, 2), SECRET), {"grid": ([0, 1], [1, 1])}, ValueError, r"axis 2\) must increase"),
    (FRAME, LONG | {"bounds": None}, ValueError, "bounds is missing"),
    (FRAME, LONG | {"grid": [0, 1]}, ValueError, "grid must be left out with long"),
    (FRAME, LONG | {"columns": "a*"}, ValueError, "columns must be left out with long"),
    (FRAME, LONG | {"long": ("who", "a")}, ValueError, "three different columns"),
    (FRAME, LONG | {"long": ("who", "a", "a")}, ValueError, "three different columns"),
    (FRAME, LONG | {"long": 7}, ValueError, "three different columns.*got int"),
    (FRAME, LONG | {"long": ("who", "a", "z")}, ValueError, "long: there is no column 'z'"),
    (FRAME, LONG | {"long": ("c", "a", "who")}, TypeError, "'who' must hold numbers"),
    (FRAME, LONG | {"unit": "whom"}, ValueError, "unit: there is no column 'whom'"),
    (FRAME, LONG | {"unit": "a"}, ValueError, "unit must name a column that is not released"),
    (np.array(["a", "987654.321"]), {"grid": [0, 1]}, TypeError, "curves must be a file"),
    (iter(MATRIX), {"grid": [0, 1, 2]}, TypeError, "got list_iterator"),
    (None, {"grid": [0, 1, 2]}, TypeError, "got NoneType"),
    ({"a": SECRET}, {"grid": [0, 1, 2]}, TypeError, "got dict"),
    (np.full((3, 2), SECRET + 0j), {"grid": [0, 1]}, TypeError, "curves must be a file"),
]


@pytest.mark.parametrize(("data", "options", "kind", "message"), ERRORS)
def test_errors_name_the_argument_and_show_no_value(data, options, kind, message):
    with pytest.raises(kind, match=message) as caught:
        open_curves(data, **options)
    assert "987654" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_errors_about_scikit_fda(heights):
    from skfda import FDataBasis, FDataGrid, FDataIrregular
    from skfda.representation.basis import FourierBasis

    grid = FDataGrid(heights, grid_points=GRID)
    assert whole(open_curves(grid, grid=GRID, bounds=(0, 4))).shape == heights.shape
    two = FDataGrid(np.full((3, 4, 2), SECRET), grid_points=GRID)
    basis = FDataBasis(FourierBasis((0, 3), n_basis=3), np.full((2, 3), SECRET))
    own = FDataIrregular([0], np.full((1, 1), SECRET), np.full((1, 1), SECRET))
    for data, options, message in [
        (grid, {"grid": GRID + 1}, "grid contradicts"),
        (grid, {"grid": [GRID, GRID]}, "grid contradicts"),
        (grid, {"bounds": (0, 5)}, "bounds contradict"),
        (grid, {"unit": "who"}, "must have named columns"),
        (two, {}, "one coordinate"),
        (basis, {"grid": GRID}, "grid must be left out for FDataBasis"),
        (basis, {"bounds": (0, 5)}, "bounds contradict"),
        (own, {}, "bounds is missing"),  # its own range is that of the records
        (own, {"bounds": (0, 1), "grid": GRID}, "grid must be left out for FDataIrregular"),
    ]:
        with pytest.raises(ValueError, match=message) as caught:
            open_curves(data, **options)
        assert "987654" not in str(caught.value)
