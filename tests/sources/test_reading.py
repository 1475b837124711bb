"""One reader of cells for all kinds of releases: what is missing, how text is written, dry runs."""

import datetime
from collections import UserList, deque
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mercer
from mercer.columns.reading import Reading, format_of
from mercer.sensitive.data import open_records, open_rows
from mercer.sources.arrays import own_codes

SURE = {"epsilon": 1e6, "insist": True}  # noise is none but with probability e^-500000


def column(data, reading, bounds=(0, 100), name="x"):
    rows = open_rows(data, columns=name, unit=None, dimension=1, bounds=bounds, reading=Reading.of(**reading))
    return np.concatenate([*rows.chunks(), np.zeros((0, 1))])[:, 0].tolist()


def same(found, expected):
    return np.array_equal(np.array(found, float), np.array(expected, float), equal_nan=True)


@pytest.mark.parametrize(
    ("example", "texts", "values"),
    [
        (
            "$1,234.50",
            ["$1,234.50", "$ 12", "1,234", "-$3", "1,23", "1$2", "$"],
            [1234.5, 12, 1234, -3, np.nan, np.nan, np.nan],
        ),
        ("12 %", ["12 %", "7%", "0.5", "x%"], [12, 7, 0.5, np.nan]),
        ("1.234,5", ["1.234,5", "0,25", "1.5", "2.000"], [1234.5, 0.25, np.nan, 2000]),
        ("3,5", ["3,5", "-,5", "3.5"], [3.5, -0.5, np.nan]),
        ("1 234.5", ["1 234.5", "12", "1234"], [1234.5, 12, 1234]),
        ("€ 1.234.567", ["€ 1.234.567", "1.000 €"], [1234567, 1000]),
    ],
)
def test_numbers_in_text_as_an_example_shows_them(tmp_path, example, texts, values):
    (tmp_path / "a.csv").write_text("x\n" + "".join(f'"{text}"\n' for text in texts))
    reading = {"formats": {"x": example}}
    frame = pd.DataFrame({"x": texts})
    for data in (
        tmp_path / "a.csv",
        pa.table({"x": texts}),
        frame,
        pl.DataFrame(frame),
        frame.astype(object),
        [{"x": text} for text in texts],
    ):
        assert same(column(data, reading), values), type(data)


def test_dates_in_text_as_an_example_shows_them():
    days = ["31/12/2023", "1/2/2024", "30/2/2024", "2024-01-01", "05/06/2024 10:30", ""]
    nan = np.nan
    domain = {"day": ("2023-01-01", "2024-12-31")}
    counts = mercer.histogram(
        [{"day": day} for day in days],
        columns="day",
        bins=["2023-12-31", "2024-01-01", "2024-02-01", "2024-02-02", "2024-06-05", "2024-06-06"],
        outside="drop",
        formats={"day": "31/12/2023"},
        **SURE,
    )
    assert counts.raw.tolist() == [1, 0, 1, 0, 1]
    bounds = ("2023-01-01", "2024-12-31")
    for written in ("31/12/2023", "dd/mm/yyyy", "%d/%m/%Y"):
        found = column([{"x": day} for day in days], {"formats": {"x": written}}, bounds)
        assert same(found, [19722, 19754, nan, nan, 19879, nan]), written
    assert mercer.Domain(domain).describe() == "day in [2023-01-01, 2024-12-31]"


@pytest.mark.parametrize(
    ("example", "words"),
    [
        ("1,234", "may have thousands or decimals"),
        ("01/02/2023", "may be day first or month first"),
        ("dd/dd/yyyy", "must have day, month and year"),
        ("money", "is no number and no date"),
        ("1.2.3,4,5", "several signs between its digits"),
        (7, "must be an example such as"),
    ],
)
def test_examples_that_say_too_little(example, words):
    with pytest.raises(ValueError, match=words):
        format_of("income", example)


def test_values_that_stand_for_a_missing_cell(tmp_path):
    cells = [1, 999, 50, "unknown", " UNKNOWN ", "999", None, Decimal("999.0")]
    texts = [None if cell is None else str(cell) for cell in cells]
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{t or ''},1\n" for t in texts))
    expected = [1, np.nan, 50, *[np.nan] * 5]
    for given in ([999, "unknown"], {"x": [999, "unknown"]}):
        for data in (np.array(cells, dtype=object), [{"x": c} for c in cells], tmp_path / "a.csv"):
            assert same(column(data, {"na_values": given}), expected), (given, type(data))
    assert same(column(np.array([1.0, 999.0]), {"na_values": 999}), [1, np.nan])
    assert same(column(pa.table({"x": [1, 999]}), {"na_values": 999}), [1, np.nan])
    words = ["north", "n/a", " N/A", "south"]
    release = mercer.histogram(words, categories=["north", "south"], other="else", na_values=["n/a"], **SURE)
    assert release.raw.tolist() == [1, 1, 1]  # text compares as it stands: " N/A" is another one
    with pytest.raises(ValueError, match="na_values: there is no column 'z' among those"):
        column([{"x": 1}], {"na_values": {"z": [1]}})


def test_values_beyond_the_bounds_are_clipped_or_dropped():
    cells = [-5, 0, 50, 100, 100.4, 101, None]
    nan = np.nan
    drop = {"outside": "drop"}
    for data in (
        [{"x": c} for c in cells],
        np.array([nan if c is None else c for c in cells]),
        pa.table({"x": pa.array(cells, pa.float64())}),
    ):
        assert same(column(data, drop), [nan, 0, 50, 100, nan, nan, nan]), type(data)
    days = [datetime.date(2019, 12, 31), datetime.date(2020, 1, 1)]
    bounds = ("2020-01-01", "2020-12-31")
    assert same(column([{"x": d} for d in days], drop, bounds), [nan, 18262])
    assert same(column([{"x": d} for d in days], {}, bounds), [18262, 18262])
    rows = [{"age": c} for c in cells]
    inside = mercer.table(rows, domain={"age": range(101)}, bins={"age": 2}, outside="drop", **SURE)
    assert inside.raw.sum() == 4
    whole = mercer.table(rows, domain={"age": range(101)}, bins={"age": 2}, **SURE)
    assert whole.raw.sum() == 6
    with pytest.raises(ValueError, match="outside must be one of 'clip', 'drop'"):
        Reading.of(outside="ignore")


YES_NO = ["yes", " No", "YES ", "no", "maybe", "", None, True, 0, "1", "false", b"yes"]
TRUE = [1, 0, 1, 0, np.nan, np.nan, np.nan, 1, 0, 1, 0, 1]


def test_yes_and_no_are_read_alike_by_every_kind():
    """A classifier read such a column as noise where a table read truths."""
    rows = [{"x": i / 12, "ok": cell} for i, cell in enumerate(YES_NO)]
    seen = {}
    seen["count"] = mercer.count(rows, where={"ok": True}, **SURE).count
    seen["truths"] = mercer.count(YES_NO, **SURE).count
    seen["words"] = mercer.count(rows, where={"ok": ["yes", "no"]}, **SURE).count - 5
    table = mercer.table(rows, domain={"ok": bool}, **SURE)
    seen["table"] = int(table.raw[1])
    seen["categories"] = int(mercer.histogram(YES_NO, categories=["no", "yes"], columns="ok", **SURE).raw[1])
    assert seen == {"count": 5, "truths": 5, "words": 4, "table": 5, "categories": 5}
    for classes in ((False, True), (0, 1), ("no", "yes"), ("No", "Yes")):
        found = open_rows(rows, columns=["x"], unit=None, dimension=1, labels=_answer(classes))
        assert same(np.concatenate(list(found.chunks()))[:, 1], TRUE), classes


def test_rows_of_a_recipient_are_read_as_the_records_were():
    domain = mercer.Domain(
        {
            "x": (0, 10),
            "n": range(5),
            "s": ["f", "m"],
            "b": bool,
            "d": ("2020-01-01", "2020-12-31"),
            "w": {"categories": ["a"], "other": "z"},
        }
    )
    day = datetime.date(2020, 3, 1)
    rows = [
        {"x": 3.5, "n": 2, "s": " F", "b": "Yes", "d": "2020-03-01", "w": "q"},
        {"x": "11", "n": "3", "s": "m", "b": 0, "d": datetime.datetime(2020, 5, 1, 3), "w": "A"},
    ]
    plain = [
        {"x": 3.5, "n": 2, "s": "F ", "b": True, "d": day, "w": "q"},
        {"x": 11.0, "n": 3, "s": "m", "b": False, "d": datetime.date(2020, 5, 1), "w": "a "},
    ]
    expected = own_codes(rows, domain)
    assert same(expected, [[3.5, 2, 0, 1, 18322, 1], [10, 3, 1, 0, 18383, 0]])
    assert same(np.concatenate(list(open_records(rows, domain=domain, unit=None).chunks())), expected)
    listed = {name: [row[name] for row in plain] for name in domain.names}
    frame = pd.DataFrame(plain)
    tables = [frame, pl.DataFrame(plain), pa.Table.from_pylist(plain), pa.RecordBatch.from_pylist(plain)]
    for given in (*tables, listed, [tuple(row.values()) for row in plain], frame.to_numpy()):
        assert same(own_codes(given, domain), expected)
        if not isinstance(given, dict):
            read = open_records(given, domain=domain, unit=None)
            assert same(np.concatenate(list(read.chunks())), expected)
    for odd in ({"b": "perhaps"}, {"x": None}, {"d": "soon"}, {"s": "x"}, {"x": np.inf}):
        with pytest.raises(ValueError, match=r"has 1 value\(s\) that do not fit"):
            own_codes([rows[0] | odd], domain)


def _answer(classes):
    from mercer.sensitive.labels import Classes, Labels

    return Labels(np.array(YES_NO, dtype=object), Classes.declared(classes))


def test_levels_that_differ_by_case_or_blanks_alone_are_refused():
    rows = [{"x": 1.0, "sex": "F"}] * 20
    for levels in (["f", "F"], ["a b", "a  B"], ["Zürich", "ZÜRICH"]):
        for call in (
            lambda levels=levels: mercer.histogram(rows, columns="sex", categories=levels, epsilon=1),
            lambda levels=levels: mercer.table(rows, domain={"sex": levels}, epsilon=1),
            lambda levels=levels: mercer.synthetic(rows, domain={"sex": levels}, epsilon=1),
            lambda levels=levels: mercer.classifier(
                rows, "sex", classes=levels, columns="x", bounds=(0, 1), epsilon=1
            ),
        ):
            with pytest.raises(ValueError, match="must differ by more than case and blanks"):
                call()


def test_a_type_of_text_is_no_number_in_any_kind(tmp_path):
    """The type is public: it is refused before a charge, and a format is the way out."""
    ledger = mercer.Ledger(tmp_path / "budgets.db")
    ledger.register("d", epsilon=10)
    paid = {"epsilon": 1, "ledger": ledger, "dataset": "d"}
    table = pa.table({"age": [str(20 + i % 50) for i in range(200)], "y": [0, 1] * 100})
    pq.write_table(table, tmp_path / "a.parquet")
    frame = table.to_pandas().astype({"age": "string"})
    domain = {"age": (0, 100)}
    calls = [
        lambda data, **given: mercer.density(data, columns="age", bounds=(0, 100), **given),
        lambda data, **given: mercer.quantiles(data, 0.5, columns="age", bounds=(0, 100), **given),
        lambda data, **given: mercer.histogram(data, columns="age", bins=range(101), **given),
        lambda data, **given: mercer.histogram(data, columns="age", bins=5, bounds=(0, 9), **given),
        lambda data, **given: mercer.table(data, domain=domain, **given),
        lambda data, **given: mercer.synthetic(data, domain=domain, size=20, **given),
        lambda data, **given: mercer.count(data, where={"age": (65, None)}, **given),
        lambda data, **given: mercer.classifier(
            data, "y", classes=(0, 1), columns="age", bounds=(0, 100), size=4, **given
        ),
    ]
    for call in calls:
        for data in (tmp_path / "a.parquet", table, frame, pl.from_arrow(table)):
            with pytest.raises(TypeError, match="column 'age'.* formats="):
                call(data, **paid)
            call(data, epsilon=1, rng=0, formats={"age": "12.5"})
    assert ledger.history("d") == []


def test_bounds_by_name_and_of_dates():
    rows = pd.DataFrame(
        {"who": range(300), "age": np.arange(300) % 90, "day": pd.date_range("2020-01-01", periods=300)}
    )
    named = mercer.density(rows, bounds={"age": (0, 100)}, epsilon=1, rng=0)
    assert named.domain.names == ("age",)
    assert named(30.0) == mercer.density(rows, columns="age", bounds=(0, 100), epsilon=1, rng=0)(30)
    two = mercer.density(rows, bounds={"age": (0, 100), "who": (0, 300)}, epsilon=5, rng=0)
    assert two.domain.names == ("age", "who")
    days = mercer.density(rows, columns="day", bounds=("2020-01-01", "2020-12-31"), epsilon=5, rng=0)
    assert days.domain.describe() == "day in [2020-01-01, 2020-12-31]"
    assert days("2020-03-01") == days(datetime.date(2020, 3, 1)) == days(18322.0) > 0
    assert 0.05 < days.integral("2020-02-01", "2020-03-01") < 0.2
    with pytest.raises(ValueError, match=r"x must lie in the domain day .* got 2021-01-01"):
        days("2021-01-01")
    middle = mercer.quantiles(rows, 0.5, bounds={"day": ("2020-01-01", "2020-12-31")}, epsilon=9)
    assert "2020-0" in str(middle)
    with pytest.raises(ValueError, match="bounds must be two numbers"):
        mercer.density(rows, columns="age", bounds=100, epsilon=1)
    with pytest.raises(ValueError, match="those of 'who' are missing"):
        mercer.density(rows, columns=["age", "who"], bounds={"age": (0, 100)}, epsilon=1)


def test_columns_are_named():
    frame = pd.DataFrame({"id": range(50), "x": np.arange(50.0), "y": [0, 1] * 25})
    for data in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        with pytest.raises(ValueError, match="columns is missing"):
            mercer.classifier(data, "y", classes=(0, 1), bounds=(0, 50), epsilon=1)
        with pytest.raises(ValueError, match="columns is missing"):
            mercer.density(data, bounds=(0, 50), epsilon=1)


@pytest.mark.parametrize("odd", [{"hiv": True}, {}, {"age": 1, "other": 2}, 7, None, ["x"], (1, 2)])
def test_no_key_of_one_record_decides(odd):
    """A missing key is a missing cell: one record with it does not turn an error to a release."""
    rows = [{"age": 30}] * 50
    for data in (rows, [*rows[1:], odd]):
        mercer.count(data, where={"hiv": True}, epsilon=1)
        mercer.table(data, domain={"hiv": bool}, epsilon=1)
        mercer.synthetic(data, domain={"age": (0, 100), "hiv": bool}, epsilon=1, size=10)
        mercer.density(data, columns="age", bounds=(0, 100), epsilon=1)


WHERE = ["65-70", "65..70", ">=65", "<18", "65+", "65 to 70", "65–70"]


@pytest.mark.parametrize("text", WHERE)
def test_text_that_reads_like_a_range_is_refused(text):
    rows = [{"age": "65-70"}] * 50
    with pytest.raises(ValueError, match="reads like a range of numbers"):
        mercer.count(rows, where={"age": text}, epsilon=1)
    assert mercer.count(rows, where={"age": ["65-70"]}, **SURE).count == 50


def test_promises_that_protect_nobody_are_refused(tmp_path):
    ledger = mercer.Ledger(tmp_path / "budgets.db")
    ledger.register("d", epsilon=1000, delta=0.5)
    book = {"ledger": ledger, "dataset": "d"}
    x = np.linspace(0, 1, 200)
    calls = [
        lambda **given: mercer.density(x, bounds=(0, 1), **given),
        lambda **given: mercer.histogram(x, bins=4, bounds=(0, 1), **given),
        lambda **given: mercer.synthetic(x[:, None], domain={"x": (0, 1)}, size=10, **given),
        lambda **given: mercer.classifier(x, x > 0.5, classes=(False, True), bounds=(0, 1), size=4, **given),
        lambda **given: mercer.count(x > 0.5, **given),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"epsilon = 21 promises next to nothing.*insist=True"):
            call(epsilon=21, **book)
        with pytest.raises(ValueError, match=r"delta = 0.01 is above 1/n = 0.005.*insist=True"):
            call(epsilon=1, delta=0.01, **book)
    with pytest.raises(ValueError, match="epsilon = 21 promises next to nothing"):
        mercer.quantiles(x, 0.5, bounds=(0, 1), epsilon=21, **book)
    assert ledger.history("d") == []
    calls[0](epsilon=21, insist=True, **book)
    calls[1](epsilon=1, delta=0.01, insist=True, **book)
    assert len(ledger.history("d")) == 2


@pytest.mark.filterwarnings("default:n times epsilon", "ignore::mercer.common.checks.FindingWarning")
def test_few_records_are_warned_of_before_the_charge():
    with pytest.warns(mercer.PrivacyWarning, match="n times epsilon is 5") as seen:
        mercer.density(np.linspace(0, 1, 50), bounds=(0, 1), epsilon=0.1)
    assert seen[0].filename == __file__  # the line of the caller


class Untouched:
    """A cell that tells when it is looked at."""

    def __getattribute__(self, name):
        raise AssertionError("a cell was read")


def test_dry_runs_read_no_cell_and_spend_nothing(tmp_path):
    ledger = mercer.Ledger(tmp_path / "budgets.db")
    ledger.register("d", epsilon=3, delta=1e-5)
    book = {"ledger": ledger, "dataset": "d", "dry_run": True}
    n = 400
    values = np.linspace(0, 100, n)
    table = pa.table({"age": values, "sex": ["f", "m"] * (n // 2), "y": [0, 1] * (n // 2)})
    pq.write_table(table, tmp_path / "a.parquet")
    sources = [tmp_path / "a.parquet", table, table.to_pandas()]
    domain = {"age": (0, 100), "sex": ["f", "m"]}
    made = [
        (mercer.density, {"columns": "age", "bounds": (0, 100)}, "density of age"),
        (mercer.quantiles, {"q": [0.5], "columns": "age", "bounds": (0, 100)}, "quantiles of age"),
        (mercer.iqr, {"columns": "age", "bounds": (0, 100)}, "quartiles of age"),
        (mercer.count, {"where": {"age": (65, None)}}, "count of age >= 65"),
        (mercer.proportion, {"where": {"sex": "f"}}, "proportion of sex = f"),
        (mercer.histogram, {"columns": "age", "bins": range(101)}, "histogram of age"),
        (mercer.table, {"domain": domain}, "table of age, sex"),
        (mercer.table, {"domain": domain, "margins": 1}, "2 margins of the table of age, sex"),
        (mercer.synthetic, {"domain": domain}, "synthetic table of age, sex"),
        (
            mercer.live,
            {"columns": "age", "bounds": (0, 100), "delta": 1e-6, "kernel": "matern32"},
            "density of age",
        ),
        (
            mercer.live,
            {
                "columns": "age",
                "bounds": (0, 100),
                "delta": 1e-6,
                "kernel": "matern32",
                "route": "cholesky",
                "store": tmp_path / "live.db",
            },
            "live density of age",
        ),
        (
            mercer.classifier,
            {"y": "y", "classes": (0, 1), "columns": "age", "bounds": (0, 100)},
            "classifier of y",
        ),
        (
            mercer.regression,
            {"y": "y", "y_bounds": (0, 1), "columns": "age", "bounds": (0, 100)},
            "regression of y",
        ),
    ]
    for call, given, what in made:
        for data in sources:
            found = call(data, epsilon=1, **given, **book)
            assert isinstance(found, mercer.DryRun), what
            assert (found.what, found.n, found.unit, found.epsilon) == (what, n, "row", 1)
            assert found.expected
            assert "epsilon = 1, delta =" in found.charge
            assert "d: " in found.charge
            assert str(found).startswith("Dry run: nothing was spent")
        with pytest.raises(mercer.BudgetExceeded):
            call(sources[1], epsilon=4, **given, **book)
    assert ledger.history("d") == []
    assert not (tmp_path / "live.db").exists()


def test_the_outcome_of_a_dry_run_does_not_follow_the_records():
    """The same for all records: nothing of them is read but their number."""
    for call in (
        lambda x: mercer.density(x, bounds=(0, 1), epsilon=1, dry_run=True),
        lambda x: mercer.histogram(x, bins=5, bounds=(0, 1), epsilon=1, dry_run=True),
        lambda x: mercer.classifier(x, [0, 1] * 50, classes=(0, 1), bounds=(0, 1), epsilon=1, dry_run=True),
    ):
        found = {str(call(x)) for x in (np.zeros(100), np.linspace(0, 1, 100), np.full(100, np.nan))}
        assert len(found) == 1
    cells = [{"age": Untouched()}] * 99 + [{"age": 3}]
    with pytest.raises(AssertionError):  # the guard works: a real reader does look
        repr(cells[0]["age"].value)
    assert mercer.table(cells, domain={"age": (0, 100)}, epsilon=1, dry_run=True).n == 100


def test_persons_are_counted_in_dry_runs():
    rows = pd.DataFrame({"who": ["a", "b", "a", "c"] * 5, "x": np.linspace(0, 1, 20)})
    found = mercer.density(rows, columns="x", bounds=(0, 1), unit="who", epsilon=5, dry_run=True)
    assert (found.n, found.unit) == (3, "who")
    counts = pd.DataFrame({"x": [0, 1], "many": [30, 70]})
    found = mercer.histogram(counts, columns="x", bins=range(2), counts="many", epsilon=1, dry_run=True)
    assert found.n == 100


def test_a_density_of_dates_is_kept_drawn_and_asked_in_dates(tmp_path, capsys):
    from mercer.cli.app import main

    days = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=366).repeat(5)})
    days.to_csv(tmp_path / "d.csv", index=False)
    out = str(tmp_path / "d.json")
    main(
        [
            "density",
            str(tmp_path / "d.csv"),
            "--column",
            "day",
            "--bounds",
            "2020-01-01",
            "2020-12-31",
            "--epsilon",
            "5",
            "-o",
            out,
        ]
    )
    release = mercer.load(out)
    assert release.domain.describe() == "day in [2020-01-01, 2020-12-31]"
    assert release("2020-06-01") == pytest.approx(1 / 365, rel=0.2)
    figure = release.plot()
    figure.canvas.draw()
    assert {"2020", "Mar"} <= {label.get_text() for label in figure.axes[0].get_xticklabels()}
    capsys.readouterr()
    main(["eval", out, "--at", "2020-06-01", "2020-07-01"])
    shown = capsys.readouterr().out
    assert "2020-06-01" in shown
    assert "2020-07-01" in shown
    with pytest.raises(SystemExit):
        main(["eval", out, "--at", "2021-06-01"])
    assert "got 2021-06-01" in capsys.readouterr().err


def test_a_number_of_records_is_no_code_for_a_missing_cell():
    """One count of 999 raised where its neighbour with 998 was released."""
    for many in (998, 999):
        rows = pd.DataFrame({"age": [1, 2, 999], "n": [many, 500, 400]})
        given = {"counts": "n", "na_values": [999], **SURE}
        release = mercer.histogram(rows, columns="age", bins=[0, 2, 4], **given)
        assert release.raw.tolist() == [many, 500]
        table = mercer.table(rows, domain={"age": range(5)}, **given)
        assert table.raw.sum() == many + 500


@pytest.mark.parametrize("long", [10, 5_000, 80_000])
def test_a_long_record_does_not_decide_whether_a_file_is_read(tmp_path, monkeypatch, long):
    """Arrow reads blocks of text, and one cell may be longer than two of them."""
    monkeypatch.setattr("mercer.sources.files._BLOCK", 1 << 10)
    lines = [f"{i % 50},x" for i in range(400)]
    lines[250] = "31," + "x" * long
    lines.insert(100, "1,2,3")  # damaged: a row without values
    (tmp_path / "a.csv").write_text("age,note\n" + "\n".join(lines) + "\n")
    found = column(tmp_path / "a.csv", {}, name="age")
    expected = [i % 50 for i in range(400)]
    expected[250] = 31
    assert same(found, [*expected, np.nan])


@pytest.mark.parametrize("container", [deque, UserList, tuple, list])
@pytest.mark.parametrize("odd", [4.0, None, "x", [1], 1j, 10**400, np.timedelta64(1, "s")])
def test_no_cell_of_any_sequence_decides(container, odd):
    cells = container([3.0] * 60 + [odd])
    mercer.density(cells, bounds=(0, 10), epsilon=1)
    mercer.iqr(cells, bounds=(0, 10), epsilon=1)
    assert column(cells, {}, (0, 10))[:60] == [3.0] * 60


def test_an_array_of_dates_with_a_mask():
    days = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], "M8[ns]")
    masked = np.ma.array(days, mask=[False, True, False])
    bounds = ("2019-01-01", "2022-01-01")
    assert same(column(masked, {}, bounds), [18262, np.nan, 18264])
    with pytest.raises(TypeError, match="must hold numbers"):
        column(masked, {})


class Odd(str):
    def encode(self, *_):
        return 5


def test_methods_of_a_cells_own_class_are_not_called():
    rows = [{"x": 1.0, "who": "a"}] * 20 + [{"x": Odd("3"), "who": Odd("b")}]
    assert column(rows, {}) == [1.0] * 20 + [3.0]
    mercer.histogram(rows, columns="x", bins=range(5), unit="who", epsilon=5)


def test_dry_runs_of_complete_rows_count_them():
    rows = pd.DataFrame({"x": [1.0, 5.0, None, None] * 50})
    for call in (
        lambda **given: mercer.density(rows, bounds={"x": (0, 10)}, **given),
        lambda **given: mercer.histogram(rows, columns="x", bins=range(10), **given),
    ):
        assert call(epsilon=1, missing="drop", dry_run=True).n == 100
        assert call(epsilon=1, missing="drop").privacy.n == 100
        assert call(epsilon=1, dry_run=True).n == 200


@pytest.mark.parametrize("epsilon", [30, 745, 1000, 2e5, 1e9])
def test_any_epsilon_that_is_insisted_on_gives_something(epsilon):
    promise = {"epsilon": epsilon, "insist": True}
    assert mercer.count([True] * 60 + [False] * 40, **promise).count == 60
    share = mercer.proportion([True] * 60 + [False] * 40, **promise)
    assert share.interval().lower <= 0.6 <= share.interval().upper
    found = mercer.quantiles([9.0] * 100, 0.5, bounds=(0, 10), **promise)
    assert found.values[0] == pytest.approx(9, abs=0.001)


def test_a_unit_is_not_called_as_no_unit_is():
    rows = pd.DataFrame({"x": np.linspace(0, 1, 40), "row": range(40)})
    with pytest.raises(ValueError, match="unit = 'row' is the word for no unit"):
        mercer.density(rows, bounds={"x": (0, 1)}, unit="row", epsilon=1)
