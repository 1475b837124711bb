"""Histograms and tables as their users see them: counts, questions, files, errors."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import binom

import mercer
from tests.conftest import ALPHA

EDGES = [0, 20, 40, 60, 80, 100]
AGES = np.array([5.0, 25, 25, 45, 45, 45, 65, 85, 100, 130, -3])
TRUE = [2, 2, 3, 1, 3]  # beyond the edges: in the nearest bin
SURE = 1e6  # noise is none but with probability e^-500000


def exact(values, **given):
    return mercer.histogram(values, epsilon=SURE, insist=True, **({"bins": EDGES} | given))


def test_every_source_gives_the_same_counts(tmp_path):
    frame = pd.DataFrame({"age": AGES, "other": "x"})
    frame.to_csv(tmp_path / "ages.csv", index=False)
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "ages.parquet")
    assert exact(AGES).raw.tolist() == TRUE
    assert exact(AGES.tolist()).raw.tolist() == TRUE
    assert exact(frame["age"]).raw.tolist() == TRUE
    assert exact(pa.array(AGES)).raw.tolist() == TRUE
    assert exact(AGES.astype(int)).raw.tolist() == TRUE
    for data in (frame, pa.Table.from_pandas(frame), tmp_path / "ages.csv", str(tmp_path / "ages.parquet")):
        assert exact(data, columns="age").raw.tolist() == TRUE
    rows = [{"age": a} for a in AGES]
    assert exact(rows, columns="age").raw.tolist() == TRUE


def test_values_that_do_not_fit_count_in_n_alone():
    values = [*AGES.tolist(), None, float("nan"), float("inf"), "many", [1, 2]]
    release = exact(values)
    assert release.raw.tolist() == TRUE
    assert release.n == len(values)
    assert exact(values, outside="drop").raw.tolist() == [1, 2, 3, 1, 2]
    whole = {"bins": range(2, 5), "outside": "drop"}  # cells of single values, likewise
    assert exact([1, 2, 2.4, 4, 4.4, 5, 99, -1e9], **whole).raw.tolist() == [2, 0, 2]
    days = {"bins": 9, "bounds": ("2020-01-02", "2020-01-03"), "outside": "drop"}
    dates = ["2020-01-01", "2020-01-02", "2020-01-04", "1066-01-01"]
    assert exact(dates, **days).raw.tolist() == [1, 0]
    dropped = exact(values, missing="drop")
    assert dropped.n == len(AGES)
    assert dropped.complete


def test_categories():
    words = ["a", "b", "a", None, "z", " a ", 3]
    release = mercer.histogram(words, categories=["a", "b"], epsilon=SURE, insist=True)
    assert release.counts.tolist() == [3, 1]
    assert release.n == 7
    assert release.categories == ["a", "b"]
    other = mercer.histogram(words, categories=["a", "b"], other="else", epsilon=SURE, insist=True)
    assert other.counts.tolist() == [3, 1, 2]
    assert other.query("else").estimate == 2
    assert other.query(["a", "b"]).estimate == 4
    with pytest.raises(ValueError, match="was cut into bins|no bins but values"):
        _ = other.edges


def test_counts_that_are_counts_already():
    rows = pd.DataFrame({"bin": [0, 1, 2, 3], "many": [5, 0, 7, 100]})
    release = mercer.histogram(rows, columns="bin", bins=range(4), counts="many", epsilon=SURE, insist=True)
    assert release.raw.tolist() == [5, 0, 7, 100]
    assert release.n == 112
    for wrong in (-1, 0.5, np.nan, np.inf):
        bad = rows.assign(many=[5, 0, wrong, 1])
        with pytest.raises(ValueError, match="'many' must hold whole numbers >= 0") as error:
            mercer.histogram(bad, columns="bin", bins=range(4), counts="many", epsilon=1)
        assert "nothing was spent" in str(error.value)
    with pytest.raises(ValueError, match="sum above 2\\^60; nothing was spent"):
        mercer.histogram(
            pd.concat([rows.assign(many=2**52)] * 200), columns="bin", bins=range(4), counts="many", epsilon=1
        )
    for wrong, words in ((3, "name a column"), ("bin", "another column")):
        with pytest.raises((ValueError, TypeError), match=words):
            mercer.histogram(rows, columns="bin", bins=range(4), counts=wrong, epsilon=1)


def test_persons():
    rows = pd.DataFrame({"who": ["a", "a", "a", "b", "b", None], "x": [1, 2, 3, 3, 3, 1]})
    first = mercer.histogram(rows, columns="x", bins=range(1, 4), unit="who", epsilon=SURE, insist=True)
    assert first.raw.sum() == 2  # one row of each; a row of nobody counts not
    assert first.raw[2] >= 1
    assert first.n == 2
    two = mercer.histogram(
        rows, columns="x", bins=range(1, 4), unit="who", rows_per_person=2, epsilon=SURE, insist=True
    )
    assert two.raw.sum() == two.most == 4
    assert two.query(3, 3).estimate == two.raw[2] >= 2
    assert two.noise.scale == pytest.approx(2 * first.noise.scale)
    with pytest.raises(ValueError, match="goes with unit"):
        mercer.histogram(rows, columns="x", bins=range(1, 4), rows_per_person=2, epsilon=1)
    with pytest.raises(ValueError, match="cannot be combined with unit"):
        mercer.histogram(rows, columns="x", bins=range(1, 4), unit="who", missing="drop", epsilon=1)


def test_names_of_persons_need_not_be_text(tmp_path):
    """Bytes that are no UTF-8 name a person like any other: no error tells of them (M18)."""
    lines = [b"x,who", b"1,a", b"2,\xff\xfe", b"3,\xff\xfe", b"3,\xfe", b"2,"]
    (tmp_path / "p.csv").write_bytes(b"\n".join(lines) + b"\n")
    given = {"unit": "who", "epsilon": SURE, "insist": True}
    release = mercer.histogram(tmp_path / "p.csv", columns="x", bins=range(1, 4), **given)
    assert release.raw[0] == 1
    assert release.raw.sum() == release.n == 3
    assert mercer.count(tmp_path / "p.csv", where={"x": 3}, **given).count == 2


def test_persons_across_chunks(monkeypatch):
    from mercer.sensitive import rows as reading

    monkeypatch.setattr(reading, "CHUNK", 3)
    who = np.repeat(np.arange(20), 5)
    rows = pd.DataFrame({"who": who, "x": np.tile([0, 1, 1, 1, 1], 20)})
    release = mercer.histogram(
        rows, columns="x", bins=range(2), unit="who", rows_per_person=3, epsilon=SURE, insist=True
    )
    assert release.raw.sum() == 60
    assert 0 < release.raw[0] <= 20


def test_questions_and_intervals():
    release = exact(np.repeat([10.0, 30.0, 50.0], [10, 20, 30]))
    assert release.query(0, 40).estimate == 30
    assert release.query(30, 60).estimate == 40  # half of a bin that is cut
    assert release.query(None, 20).estimate == 10
    assert release.query({"x": (0, 100)}).estimate == 60
    assert release([10, 30, 99, 100, 101, -1]).tolist() == pytest.approx([1 / 120, 2 / 120, 0, 0, 0, 0])
    for wrong, words in (((1, 2, 3), "query needs"), (((5, 1)), "the least comes first"), ((3,), "in bins")):
        with pytest.raises(ValueError, match=words):
            release.query(*wrong)
    with pytest.raises(ValueError, match="level"):
        release.query(0, 1, level=95)


def test_smoothed_answers_are_nearer_and_inside(rng):
    """On an even histogram by far: its noise is shared by all cells."""
    values = np.arange(20_000) % 256
    raw, smooth = [], []
    for _ in range(30):
        release = mercer.histogram(values, bins=range(256), epsilon=0.1, missing="drop")
        for low in rng.integers(0, 240, 40).tolist():
            true = np.sum((values >= low) & (values <= low + 12))
            plain, nearer = release.query(low, low + 12), release.query(low, low + 12, smooth=True)
            assert nearer[1:] == plain[1:]
            assert nearer.lower <= nearer.estimate <= nearer.upper
            raw.append(abs(plain.estimate - true))
            smooth.append(abs(nearer.estimate - true))
    assert np.mean(smooth) < np.mean(raw)  # some 0.24 of it, give or take 0.02
    assert release.best.min() >= 0
    with pytest.raises(ValueError, match="without an order"):
        _ = mercer.histogram(["a", "b"] * 50, categories=["a", "b"], epsilon=1).best
    sparse = mercer.histogram(values, bins=range(256), epsilon=1, sparse=True)
    with pytest.raises(ValueError, match="noise in every cell"):
        sparse.query(3, 4, smooth=True)


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_intervals_cover(rng, delta):
    """Single cells and sums: not less often than they say, at the level of an exact test."""
    values = rng.integers(0, 8, 4000)
    true = np.bincount(values, minlength=8)
    runs, level, hits, sums = 400, 0.9, 0, 0
    for _ in range(runs):
        release = mercer.histogram(values, bins=range(8), epsilon=0.5, delta=delta)
        low, high = release.interval(level)
        hits += int(low[3] <= true[3] <= high[3])
        _, low, high, _ = release.query(1, 5, level=level)
        sums += int(low <= true[1:6].sum() <= high)
    for found in (hits, sums):
        assert binom.cdf(found, runs, level) > ALPHA


def test_sparse_intervals_cover(rng):
    keys = np.repeat([3, 700, 4000], [300, 30, 1])
    runs, low_miss = 200, 0
    for _ in range(runs):
        release = mercer.histogram(keys, bins=range(4096), epsilon=1, sparse=True)
        for question, true in (((0, 100), 300), ((0, 800), 330), ((3000, 4095), 1)):
            _, low, high, _ = release.query(*question, level=0.9)
            low_miss += not low <= true <= high
    assert binom.sf(low_miss - 1, 3 * runs, 0.1) > ALPHA
    assert release.query(0, 4095).upper == 331


def test_files_give_the_same_release_back(tmp_path, rng):
    kinds = [
        mercer.histogram(rng.normal(50, 20, 500), bins=20, bounds=(0, 100), epsilon=1),
        mercer.histogram(rng.normal(50, 20, 500), bins=200, bounds=(0, 100), epsilon=1, sparse=True),
        mercer.histogram(["a", "b"] * 50, categories=["a", "b"], epsilon=1, delta=1e-5),
    ]
    for release in kinds:
        back = mercer.load(release.save(tmp_path / "r.json"))
        assert back.raw.tolist() == release.raw.tolist()
        assert back.domain == release.domain
        assert back.privacy == release.privacy
        assert back.noise == release.noise
        assert (back.threshold, back.complete, back.rows_each) == (
            release.threshold,
            release.complete,
            release.rows_each,
        )
        assert json.dumps(back.to_dict()) == json.dumps(release.to_dict())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"values": [1.5] * 5}, "whole numbers"),
        ({"values": [1, 2]}, "5 counts"),
        ({"keys": [3, 1]}, "keys and a threshold"),
        ({"keys": [0, 9], "values": [9, 9], "threshold": 3}, "rising cells"),
        ({"keys": [0, 1], "values": [9, 2], "threshold": 3}, "above its threshold"),
        ({"threshold": -1}, "threshold"),
        ({"noise": {"law": "cauchy", "scale": 1}}, "unknown law"),
        ({"exact": [7]}, "places of values"),
        ({"exact": [0]}, "weaker promise alone"),
        ({"rows_each": 0}, "rows_each"),
        ({"domain": {"axes": []}}, "one or more columns"),
    ],
)
def test_damaged_files_are_refused(tmp_path, change, words):
    release = mercer.histogram(AGES, bins=EDGES, epsilon=1)
    path = release.save(tmp_path / "r.json")
    fields = json.loads(path.read_text()) | change
    path.write_text(json.dumps(fields))
    with pytest.raises(ValueError, match=words):
        mercer.load(path)


def test_tables(tmp_path):
    rows = [{"age": 30 + i % 40, "smoker": i % 3 == 0, "junk": object()} for i in range(2000)]
    domain = {"age": (0, 100), "smoker": bool}
    release = mercer.table(rows, domain=domain, bins={"age": 5}, epsilon=SURE, insist=True)
    assert release.counts.sum() == 2000
    assert release.counts.shape == (5, 2)
    true = sum(40 <= r["age"] < 60 and r["smoker"] for r in rows)
    assert release.query({"age": (40, 60), "smoker": True}).estimate == true
    margin = release.margin("smoker")
    assert margin.counts.tolist() == release.counts.sum(axis=0).tolist()
    assert release.margin("smoker", "age").counts.tolist() == release.counts.T.tolist()
    assert list(margin.to_frame().columns) == ["smoker", "count", "lower", "upper"]
    frame = release.cells()
    assert frame["count"].sum() == 2000
    assert list(frame.columns) == ["age", "smoker", "count"]
    back = mercer.load(release.save(tmp_path / "t.json"))
    assert back.raw.tolist() == release.raw.tolist()
    for wrong in ((), ("smoker", "smoker")):
        with pytest.raises(ValueError, match="different columns"):
            release.margin(*wrong)
    with pytest.raises(ValueError, match="no column 'city'"):
        release.margin("city")
    with pytest.raises(ValueError, match="one column"):
        release.query(3, 4)


def test_tables_too_large_to_list(rng):
    names = [f"b{i}" for i in range(40)]
    rows = np.zeros((500, 40), dtype=bool)
    rows[:200] = rng.integers(0, 2, 40).astype(bool)  # one cell of 200
    domain = dict.fromkeys(names, bool)
    release = mercer.table(rows, domain=domain, epsilon=1)
    assert release.sparse
    assert release.threshold == int(2 * 40 * np.log(2))
    assert len(release.values) >= 2  # of 200 and 300 records: lost with probability e^-72
    assert release.cells()["count"].max() > 100
    everything = release.query(dict(zip(names, rows[0].tolist(), strict=True)))
    assert 100 < everything.estimate < 500
    assert release.accuracy.error > 0
    with pytest.raises(ValueError, match="too many to list; see cells"):
        _ = release.raw
    with pytest.raises(ValueError, match="sparse=True, fewer columns"):
        mercer.table(rows, domain=domain, epsilon=1, sparse=False)
    with pytest.raises(ValueError, match="margins of a sparse release"):
        release.margin("b1")


def test_sparse_where_the_numbers_alone_say_so():
    few = np.zeros((30, 12), dtype=bool)
    domain = {f"b{i}": bool for i in range(12)}
    assert mercer.table(few, domain=domain, epsilon=5).sparse
    assert not mercer.table(few[:, :3], domain={f"b{i}": bool for i in range(3)}, epsilon=5).sparse


def test_known_number_of_occupied_cells():
    values = np.repeat(np.arange(10), 100)
    usual = mercer.histogram(values, bins=range(1000), epsilon=1, sparse=True)
    known = mercer.histogram(values, bins=range(1000), epsilon=1, sparse=True, occupied=10)
    assert usual.threshold == int(2 * np.log(1000))
    assert known.threshold == int(2 * np.log(100))
    with pytest.raises(ValueError, match="occupied must be in"):
        mercer.histogram(values, bins=range(5), epsilon=1, sparse=True, occupied=6)
    with pytest.raises(ValueError, match="goes with sparse"):
        mercer.histogram(values, bins=range(10), epsilon=1, occupied=6)


@pytest.mark.parametrize("delta", [0, 1e-5])
def test_sparse_releases_at_any_epsilon(delta):
    """Where noise passes the threshold less than once in 10^(10^8) cells, too."""
    for epsilon in (1e3, SURE, 1e9):
        release = mercer.histogram(
            AGES, bins=10**6, bounds=(0, 200), epsilon=epsilon, insist=True, delta=delta, sparse=True
        )
        assert release.values.sum() == len(AGES)


def test_accuracy_is_beside_the_best_possible():
    release = mercer.histogram(np.arange(5000) % 20, bins=range(20), epsilon=0.5)
    accuracy = release.accuracy
    assert accuracy.best < accuracy.error < 2.2 * accuracy.best
    assert "times the best possible" in str(accuracy)
    assert accuracy.to_dict()["ratio"] == accuracy.ratio
    loose = mercer.histogram(np.arange(5000) % 20, bins=range(20), epsilon=0.5, delta=1e-6)
    assert "this one has a delta" in str(loose.accuracy)


def test_noise_that_drowns_everything_is_said_before_it_is_paid(tmp_path):
    ledger = mercer.Ledger.create(tmp_path / "l.db")
    ledger.register("ages", epsilon=1)
    options = {"bins": EDGES, "ledger": ledger, "dataset": "ages"}
    with pytest.raises(ValueError, match="everything would be noise.*nothing was spent"):
        mercer.histogram(AGES, epsilon=1e-3, **options)
    with pytest.raises(ValueError, match="threshold of a sparse release"):
        mercer.histogram(AGES, epsilon=0.5, **(options | {"bins": range(1000), "sparse": True}))
    assert ledger.remaining("ages").spent_epsilon == 0
    mercer.histogram(AGES, epsilon=1e-3, insist=True, **options)
    assert ledger.remaining("ages").spent_epsilon == pytest.approx(1e-3)


def test_what_cannot_be_drawn_is_not_paid(tmp_path):
    ledger = mercer.Ledger.create(tmp_path / "l.db")
    ledger.register("ages", epsilon=1)
    ledger.register("people", epsilon=1, unit="who")
    paid = {"ledger": ledger, "dataset": "ages", "insist": True}
    rows = pd.DataFrame({"who": range(30), "x": 1.0})
    with pytest.raises(ValueError, match="noise would be of the order.*nothing was spent"):
        mercer.histogram(
            rows,
            columns="x",
            bins=range(3),
            unit="who",
            rows_per_person=1 << 20,
            epsilon=1e-9,
            **paid | {"dataset": "people"},
        )
    domain = {f"x{i}": (0, 1) for i in range(10)}
    ten = pd.DataFrame(dict.fromkeys(domain, [0.5] * 30))
    with pytest.raises(ValueError, match="occupied must be in"):
        mercer.table(ten, domain=domain, occupied=10**9, epsilon=1, **paid)
    for name in ("ages", "people"):
        assert ledger.remaining(name).spent_epsilon == 0


def test_the_ledger_is_charged_once(tmp_path):
    ledger = mercer.Ledger.create(tmp_path / "l.db")
    ledger.register("ages", epsilon=1, delta=1e-5)
    values = np.arange(1000) % 5
    mercer.histogram(values, bins=range(5), epsilon=0.25, ledger=ledger, dataset="ages")
    assert ledger.remaining("ages").spent_epsilon == pytest.approx(0.25)
    mercer.count(values > 2, epsilon=0.5, ledger=ledger, dataset="ages")
    assert ledger.remaining("ages").spent_epsilon == pytest.approx(0.75)
    with pytest.raises(mercer.BudgetExceeded):
        mercer.histogram(values, bins=range(5), epsilon=0.5, ledger=ledger, dataset="ages")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "epsilon is missing"),
        ({"epsilon": 0}, "epsilon must be"),
        ({"epsilon": 1, "delta": 2}, "delta must be in"),
        ({"epsilon": 1, "missing": "skip"}, "missing must be one of"),
        ({"epsilon": 1, "sparse": "maybe"}, "sparse must be"),
        ({"epsilon": 1, "unit": "who"}, "unit names a column"),
        ({"epsilon": 1, "rows_per_person": 0}, "rows_per_person must be in"),
        ({"epsilon": 1, "counts": "n", "unit": "who"}, "cannot be combined"),
    ],
)
def test_errors(given, words):
    with pytest.raises(ValueError, match=words):
        mercer.histogram(AGES, bins=EDGES, **given)


def test_more_errors(tmp_path):
    with pytest.raises(ValueError, match="columns is missing"):
        mercer.histogram(pd.DataFrame({"a": [1], "b": [2]}), bins=EDGES, epsilon=1)
    with pytest.raises(ValueError, match="columns is missing"):
        mercer.histogram(tmp_path / "x.csv", bins=EDGES, epsilon=1)
    with pytest.raises(ValueError, match="at least 1 row, got 0; nothing was spent"):
        mercer.histogram(np.zeros(0), bins=EDGES, epsilon=1)
    with pytest.raises(TypeError, match="insist"):
        mercer.histogram(AGES, bins=EDGES, epsilon=1, insist="yes")
    with pytest.raises(ValueError, match="domain is missing"):
        mercer.table([{"a": 1}], epsilon=1)
    rows = [{"a": 1, "b": True}] * 30
    domain = {"a": range(3), "b": bool}
    for margins, words in (
        (3, "from 1 to the number of columns"),
        ([("a", "c")], "no column 'c'; there are 'a', 'b'"),
        ([], "margins must be"),
        ("some", "margins must be"),
        ([("a",), ("a",)], "stands twice"),
        ([()], "one or more different"),
    ):
        with pytest.raises(ValueError, match=words):
            mercer.table(rows, domain=domain, margins=margins, epsilon=1)
    with pytest.raises(ValueError, match="not thresholded"):
        mercer.table(rows, domain=domain, margins=1, sparse=True, epsilon=1)


def test_statement_and_seeds():
    release = mercer.histogram(AGES, bins=EDGES, epsilon=1, rng=3)
    again = mercer.histogram(AGES, bins=EDGES, epsilon=1, rng=3)
    assert release.raw.tolist() == again.raw.tolist()
    assert release.privacy.sentence.startswith("NOT PRIVATE")
    assert "two-sided geometric" in release.privacy.sentence
    sparse = mercer.histogram(AGES, bins=EDGES, epsilon=1, sparse=True)
    assert "public threshold 3" in sparse.privacy.sentence
    assert "HistogramRelease of 5 cells" in repr(release)


def test_progress_and_streaming(tmp_path):
    pq.write_table(pa.table({"x": np.arange(10_000) % 7}), tmp_path / "x.parquet", row_group_size=1000)
    seen = []
    release = mercer.histogram(
        tmp_path / "x.parquet", columns="x", bins=range(7), epsilon=SURE, insist=True, progress=seen.append
    )
    assert sum(seen) == 10_000
    assert release.raw.tolist() == np.bincount(np.arange(10_000) % 7).tolist()


def test_sparse_answers_about_few_cells_are_as_narrow_as_their_noise(rng):
    values = np.repeat([3, 4, 700], [300, 200, 150])
    release = mercer.histogram(values, bins=range(4096), epsilon=1, sparse=True)
    width = release.noise.half_width(1, 0.95)
    one = release.query(3, 3)
    assert one.upper - one.lower <= 3 * width  # a cell that is held
    empty = release.query(2000, 2000)  # one that is not: up to the threshold and its noise
    assert (empty.estimate, empty.lower) == (0, 0)
    assert empty.upper <= release.threshold + 2 * width
    both = release.query(3, 4)
    assert abs(both.estimate - 500) < 150  # beyond with probability e^-70
    assert both.upper - both.lower <= 5 * width


def test_what_lies_beyond_the_edges_cannot_be_asked_about():
    release = exact(AGES)
    for question in ((100, 300), (200, 300), (-50, 0)):
        with pytest.raises(ValueError, match="beyond 0 and 100 was counted in the end cells"):
            release.query(*question)
    assert release.query(90, 300).estimate == 1.5  # half of the last bin, which holds them too
    dropped = exact(AGES, outside="drop")
    assert dropped.query(200, 300).estimate == 0
    whole = mercer.histogram([1, 2, 99], bins=range(1, 11), epsilon=SURE, insist=True)
    with pytest.raises(ValueError, match="beyond 1 and 10"):
        whole.query(11, 90)


def test_edges_of_whole_numbers_and_dates():
    days = np.repeat([1, 6, 7, 13, 14, 40], [1, 2, 3, 4, 5, 6])
    rows = [{"days": int(d)} for d in days]
    table = mercer.table(
        rows, domain={"days": range(1, 91)}, bins={"days": [1, 7, 14, 90]}, epsilon=SURE, insist=True
    )
    assert table.counts.tolist() == [3, 7, 11]
    assert table.query({"days": (7, 13)}).estimate == 7
    assert list(table.to_frame()["days"]) == ["1..6", "7..13", "14..90"]
    with pytest.raises(ValueError, match="whole numbers as edges"):
        mercer.table(rows, domain={"days": range(1, 91)}, bins={"days": [1, 7.5]}, epsilon=1)
    dates = pd.to_datetime(["2024-01-05", "2024-06-30", "2024-07-01", "2024-12-31"])
    edges = pd.date_range("2024-01-01", periods=3, freq="184D")
    for bins in (edges, edges.to_numpy(), [e.date() for e in edges]):
        release = mercer.histogram(pd.Series(dates), bins=bins, epsilon=SURE, insist=True)
        assert release.raw.tolist() == [3, 1]
    cut = mercer.histogram(
        pd.Series(dates), bins=["2024-01-01", "2024-07-01", "2024-12-31"], epsilon=SURE, insist=True
    )
    assert cut.query("2024-01-01", "2024-06-30").estimate == 2
    assert cut.query("2024-07-01", "2024-12-31").estimate == 2


def test_a_value_that_is_missing_elsewhere_does_not_matter():
    rows = [{"a": i % 2, "b": None if i % 3 else 1} for i in range(600)]
    domain = {"a": range(2), "b": range(2)}
    alone = mercer.table(rows, domain=domain, margins=[("a",)], epsilon=SURE, insist=True)
    assert alone.margin("a").counts.tolist() == pytest.approx([300, 300])
    both = mercer.table(rows, domain=domain, margins=1, epsilon=SURE, insist=True)
    assert both.margin("a").counts.sum() == pytest.approx(200)  # a row is in all or in none
