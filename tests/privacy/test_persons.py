"""Who is one person, which of their rows count, and what is told of the number of rows.

False alarms: an exact test rejects a correct draw with probability 1e-9 at most, over all cases.
"""

import json
import math
import warnings
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import binomtest

import mercer
from mercer.audits.audit import epsilon_lower_bound
from mercer.columns.bins import axis_of
from mercer.columns.cells import Axes
from mercer.columns.table import Domain
from mercer.noise.count_laws import GeometricLaw
from mercer.noise.entropy import Secure, Seeded
from mercer.noise.mechanisms.counts import CountNoise
from mercer.promise.events import PureEvent, Sensitivity
from mercer.sensitive import persons
from mercer.sensitive.curves.source import open_curves
from mercer.sensitive.data import open_records, open_rows
from mercer.sensitive.persons import DrawnRows, Lots
from mercer.sensitive.summaries.cell_counts import CellCounts, count_cells
from mercer.show import terminal
from mercer.sources.values import identities, person_name
from tests.conftest import ALPHA
from tests.helpers.shell import released

SAME = {  # name of a person: spellings of it
    "1": [
        1,
        1.0,
        True,
        "1",
        " 1 ",
        "1.0",
        "001",
        "+1",
        "1.",
        "true",
        " TRUE",
        np.int8(1),
        np.float32(1),
        np.True_,
        Decimal("1.00"),
        b"1",
        "\u00a01\u2003",
        Fraction(2, 2),
        "1e+0",
    ],
    "0": [0, 0.0, -0.0, False, "-0", "0.0", "false", ".0"],
    "1.5": [1.5, "1.5", "01.50", Decimal("1.5"), Fraction(3, 2), "15e-1"],
    "9007199254740993": [2**53 + 1, "9007199254740993", Decimal(2**53 + 1), "9007199254740993.0"],
    "9007199254740992": [2**53, float(2**53), "9007199254740992"],
    "100000000000000000000": [10**20, 1e20, "1e+20", Decimal("1e20"), "100000000000000000000.00"],
    "P 7": ["P 7", " P 7\t", b"P 7\n", np.str_("P 7")],
    "12e5": ["12e5"],  # may be an id
    "1970-01-01": [
        date(1970, 1, 1),
        datetime(1970, 1, 1),
        "1970-01-01",
        "1970-01-01T00:00:00Z",
        np.datetime64("1970-01-01"),
        np.datetime64(0, "ns"),
        pd.Timestamp(0),
        datetime(1970, 1, 1, tzinfo=UTC),
    ],
    "1970-01-01 10:30": [
        datetime(1970, 1, 1, 10, 30),
        "1970-01-01 10:30:00.000",
        np.datetime64("1970-01-01T10:30"),
    ],
    "\\xff": [b"\xff", b" \xff"],
    "\\xed\\xb2\\x80": ["\udc80", b"\xed\xb2\x80"],
    "inf": [float("inf"), "inf"],
}
NOBODY = [
    None,
    "",
    "  ",
    "\u00a0",
    "nan",
    "NaN",
    " NAN ",
    float("nan"),
    np.float32("nan"),
    Decimal("nan"),
    Decimal("snan"),
    pd.NA,
    pd.NaT,
    np.datetime64("NaT"),
    np.timedelta64("NaT"),
    np.ma.masked,
    b"",
    object(),
    [1],
    (1, 2),
    {},
    {"a": 1},
    1j,
    np.array([]),
    np.array([1, 2]),
    np.void(b"a"),
    len,
]
ODD = [
    *NOBODY,
    "\ud800",
    "\ud800x",
    b"\xff\xfe",
    10**400,
    10**5000,
    -(10**30),
    1e308,
    Decimal("1e999999"),
    np.longdouble("1e4000"),
    5e-324,
    np.datetime64(2**62, "s"),
    timedelta(1),
    np.timedelta64(1, "M"),
    time(1),
    UUID(int=3),
    pd.Timestamp("2020-01-01", tz="Europe/Paris"),
    True,
    "a" * 10_000,
    "a\x00",
]


def names(cells):
    return identities(pa.array([person_name(cell) for cell in cells], pa.large_string())).to_pylist()


@pytest.mark.parametrize("name", SAME)
def test_spellings_of_one_name(name):
    assert names(SAME[name]) == [name] * len(SAME[name])
    assert names([name]) == [name]  # what is a name stays it


def test_nobody():
    assert names(NOBODY) == [None] * len(NOBODY)


def test_every_cell_is_a_name_or_nobody():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "n times epsilon")
        found = names(ODD)
    known = [name for name in found if name is not None]
    assert len(set(known)) == len(known) == len(ODD) - len(NOBODY)
    assert identities(pa.array(found, pa.large_string())).to_pylist() == found


TYPED = [
    (pa.array([1, None, 1, 2], pa.int64()), ["1", None, "1", "2"]),
    (pa.array([2**63 + 1, 2**64 - 1], pa.uint64()), [str(2**63 + 1), str(2**64 - 1)]),
    (pa.array([1.0, float("nan"), None, 2.5, 1e300]), ["1", None, None, "2.5", str(int(1e300))]),
    (pa.array(np.array([1, 2.5], np.float16)), ["1", "2.5"]),
    (pa.array(np.array([1, np.nan], np.float32)), ["1", None]),
    (pa.array([True, False, None]), ["1", "0", None]),
    (pa.array([Decimal("1.00"), Decimal("1.50")]), ["1", "1.5"]),
    (pa.array([0, 86_400 * 10**9 + 5], pa.timestamp("ns")), ["1970-01-01", "1970-01-02 00:00:00.000000005"]),
    (pa.array([0], pa.timestamp("us", "Europe/Paris")), ["1970-01-01"]),
    (pa.array([0, 2**31 - 1], pa.date32()), ["1970-01-01", "<value out of range: 2147483647>"]),
    (pa.array([0], pa.date64()), ["1970-01-01"]),
    (pa.array([1], pa.duration("s")), [str(10**9)]),
    (pa.array([3600], pa.time32("s")), ["01:00:00"]),
    (pa.array(["1.0", " 1", "nan", "x "], pa.string_view()), ["1", "1", None, "x"]),
    (pa.array([b"\xff", b"1"]), ["\\xff", "1"]),
    (pa.array([b"a ", b" b"], pa.binary(2)), ["a", "b"]),
    (pa.array(["1", "1.0", None, "x"]).dictionary_encode(), ["1", "1", None, "x"]),
    (pa.DictionaryArray.from_arrays(pa.array([1, None, 0]), pa.array(["x", None])), [None, None, "x"]),
    (pa.array([[1], [2]]), [None, None]),
    (pa.array([[1], [2]]).slice(0, 0), []),
    (pa.nulls(2), [None, None]),
    (pa.chunked_array([["a"], ["a "]]), ["a", "a"]),
    (
        pa.chunked_array([pa.array(["a"]).dictionary_encode(), pa.array(["b "]).dictionary_encode()]),
        ["a", "b"],
    ),
    (pa.array(pd.period_range("1970-01-01", periods=2)), ["0", "1"]),
]


@pytest.mark.parametrize(
    ("cells", "expected"), TYPED, ids=[str(c.type) + str(i) for i, (c, _) in enumerate(TYPED)]
)
def test_columns_of_any_type(cells, expected):
    found = identities(cells)
    assert found.to_pylist() == expected
    assert found.type == pa.large_string()


def ids_of(source):
    return [name for part in source.persons() for name in identities(part).to_pylist()]


PLAIN = ["1", " 1 ", "1.0", "", "nan", "b", "b ", "é", "\u00a0é"]  # three persons, two rows of nobody


def sources(folder):
    x = np.arange(len(PLAIN)) / 10
    frame = pd.DataFrame({"who": PLAIN, "x": x})
    table = pa.table({"who": PLAIN, "x": x})
    (folder / "p.csv").write_text("who,x\n" + "".join(f'"{n}",{v}\n' for n, v in zip(PLAIN, x, strict=True)))
    pq.write_table(table, folder / "p.parquet")
    yield "csv", folder / "p.csv"
    yield "parquet", folder / "p.parquet"
    yield "arrow", table
    yield "dictionary", table.set_column(0, "who", table["who"].dictionary_encode())
    yield "polars", pl.DataFrame({"who": PLAIN, "x": x})
    yield ("polars categorical", pl.DataFrame({"who": pl.Series(PLAIN, dtype=pl.Categorical), "x": x}))
    for kind in ("object", "string[python]", "string[pyarrow]", "category"):
        yield kind, frame.astype({"who": kind})
    mixed = [1, True, 1.0, None, float("nan"), "b", b"b ", "é", "\u00a0é"]
    yield "mixed", pd.DataFrame({"who": pd.Series(mixed, dtype=object), "x": x})
    yield (
        "mixed categories",
        pd.DataFrame({"who": pd.Categorical([1, "1", "1 ", None, "", "b", "b ", "é", "é "]), "x": x}),
    )


def test_one_rule_for_all_readers(tmp_path):
    where = {"x": (0.0, None)}
    for kind, data in sources(tmp_path):
        assert mercer.density(data, columns="x", bounds=(0, 1), epsilon=1, unit="who").privacy.n == 3, kind
        assert mercer.count(data, where=where, epsilon=1, unit="who", insist=True).n == 3, kind
        found = mercer.histogram(data, columns="x", bins=2, bounds=(0, 1), epsilon=1, unit="who", insist=True)
        assert found.n == 3, kind
        rows = open_rows(data, columns="x", unit="who", dimension=1)
        ids = ids_of(rows)
        assert ids == ["1", "1", "1", None, None, "b", "b", "é", "é"], kind
    frame = pd.DataFrame({"who": PLAIN, "x": 0.5, "y": 0.5})
    curves = open_curves(frame, grid=(0, 1), columns=["x", "y"], unit="who")
    assert ids_of(curves) == ids
    listed = [{"who": who, "x": x} for who, x in zip(PLAIN, range(9), strict=True)]
    records = open_records(listed, domain=Domain({"x": (0, 9)}), unit="who")
    assert ids_of(records) == ids


def frames(cells):
    yield pd.DataFrame({"who": pd.Series(cells, dtype=object), "x": 0.5, "y": 0.5})
    strings = [cell for cell in cells if isinstance(cell, str)]
    yield pd.DataFrame({"who": pd.Series(strings, dtype="string[python]"), "x": 0.5, "y": 0.5})
    some = [cell for cell in cells if isinstance(cell, (str, int, bytes, date))]
    yield pd.DataFrame({"who": pd.Categorical(some), "x": 0.5, "y": 0.5})
    yield pd.DataFrame({"who": np.array([1, 2, 3], complex), "x": 0.5, "y": 0.5})  # nobody


@pytest.mark.parametrize("place", range(4))
def test_no_cell_of_a_unit_column_is_an_exception(place):
    """Lone surrogates, integers among categories, and the rest: no error and no warning."""
    data = list(frames(["a", "b", *ODD]))[place]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "n times epsilon")
        rows = open_rows(data, columns=["x"], unit="who", dimension=1)
        records = open_records(data, domain=Domain({"x": (0, 1)}), unit="who")
        for source in (rows, records):
            found = ids_of(source)
            assert len(found) == len(data)
        if place < 3:
            assert mercer.density(data, columns="x", bounds=(0, 1), epsilon=1, unit="who").privacy.n > 2
            made = mercer.histogram(
                data, columns="x", bins=2, bounds=(0, 1), epsilon=2, unit="who", insist=True
            )
            assert made.n == len({name for name in found if name is not None})
            mercer.mean_curve(
                data, grid=[0, 1], columns=["x", "y"], bound=1, epsilon=19, delta=1e-9, unit="who"
            )


# -- which rows of a person count ------------------------------------------------------------------

FIVE = ["a", "b", "c", "d", "e"]


def visits(count):
    return pd.DataFrame({"who": np.repeat(np.arange(count), 5), "x": np.tile(FIVE, count)})


def fives():
    return Axes((axis_of("x", bins=None, bounds=None, categories=FIVE, other=None, outside="clip"),))


def counted(data, *, most=1, source=None):
    axes = fives()
    records = open_records(data, domain=Domain([axes.columns[0].reading]), unit="who")
    return count_cells(records, axes, most=most, lots=Lots((source or Secure()).octets(32)))


def order_p_value(most, count=2000):
    """Each row of a person is among those that count with probability most / 5, wherever it is."""
    found = counted(visits(count), most=most).dense()
    assert found.sum() == most * count
    return min(binomtest(int(k), count, most / 5).pvalue for k in found)


@pytest.mark.parametrize("most", [1, 2, 4])
def test_which_rows_count_does_not_follow_from_their_order(most, monkeypatch):
    assert order_p_value(most) > ALPHA / 15
    monkeypatch.setattr(Lots, "tickets", staticmethod(lambda _, places: places.astype(np.uint64)))
    assert order_p_value(most) < ALPHA / 15  # the first rows: what it was


def test_pairs_of_rows_are_drawn_alike():
    """All ten pairs of five rows are as likely."""
    drawn = DrawnRows(Lots(Secure().octets(32)), 2, 1)
    drawn.put(pa.array(np.repeat(np.arange(4000), 5)), np.tile(np.arange(5), 4000)[None])
    pairs = np.concatenate(list(drawn.rows()), axis=1)[0].reshape(-1, 2)
    codes = np.sort(pairs, axis=1) @ [5, 1]
    kinds, counts = np.unique(codes, return_counts=True)
    assert len(kinds) == 10
    assert min(binomtest(int(k), 4000, 0.1).pvalue for k in counts) > ALPHA / 10


def test_a_histogram_of_persons_is_that_of_all_their_rows():
    found = mercer.histogram(visits(1000), columns="x", categories=FIVE, unit="who", epsilon=20, rng=None)
    assert found.n == 1000 == found.most
    assert np.all((found.raw > 100) & (found.raw < 300))  # 200 each expected; [998, 0, 0, 0, 0] before
    more = mercer.histogram(
        visits(1000), columns="x", categories=FIVE, unit="who", rows_per_person=9, epsilon=20
    )
    assert np.all(abs(more.raw - 1000) < 60)  # all rows of all persons, with nine times the noise


def test_margins_count_the_same_rows():
    rows = pd.DataFrame({"who": np.repeat(np.arange(50), 4), "a": np.tile(range(4), 50)})
    rows["b"] = rows["a"]
    found = mercer.table(
        rows,
        domain={"a": range(4), "b": range(4)},
        margins=[("a",), ("b",)],
        unit="who",
        epsilon=2000,
        insist=True,
    )
    assert np.array_equal(found.raw[0], found.raw[1])
    assert found.raw[0].sum() == 50


@pytest.mark.parametrize("most", [1, 3])
def test_rows_are_drawn_alike_however_they_are_cut(most, monkeypatch):
    """Chunks, the numbers of rows sorted at once, and other persons' rows have no say."""
    rng = np.random.default_rng(4)
    who, x = rng.integers(0, 40, 1000), np.arange(1000)
    column = pa.array(who, mask=rng.random(1000) < 0.1)
    name = np.array(["?" if w is None else str(w) for w in column.to_pylist()])
    lots = Lots(bytes(range(32)))

    def kept(cuts, keep):
        drawn = DrawnRows(lots, most, 2)
        for start, stop in zip([0, *cuts], [*cuts, 1000], strict=True):
            some = np.arange(start, stop)[keep[start:stop]]
            drawn.put(column.take(pa.array(some)), np.stack([x[some], x[some]]))
        got = np.concatenate([np.zeros((2, 0), dtype=int), *drawn.rows()], axis=1)
        assert np.array_equal(got[0], got[1])
        assert drawn.count == len(set(name[keep]) - {"?"})
        return set(got[0].tolist())

    everyone = np.ones(1000, dtype=bool)
    whole = kept([], everyone)
    expected = set()
    for person in set(name) - {"?"}:  # by hand
        mine = x[name == person]
        tickets = lots.tickets(np.repeat(lots.seeds([person.encode()]), len(mine)), np.arange(len(mine)))
        expected |= set(mine[np.argsort(tickets)[:most]].tolist())
    assert whole == expected
    monkeypatch.setattr(persons, "_CELLS", 8)
    assert kept([1, 2, 500, 500, 999], everyone) == whole
    few = np.isin(name, ["3", "17"])
    assert kept([10], few) == {i for i in whole if few[i]}


def test_lots_are_uniform_and_none_twice():
    lots = Lots(Secure().octets(32))
    tickets = lots.tickets(np.repeat(lots.seeds([b"a", b"b"]), 5000), np.tile(np.arange(5000), 2))
    assert len(np.unique(tickets)) == 10_000
    for bit in range(64):
        ones = int(np.count_nonzero(tickets >> np.uint64(bit) & np.uint64(1)))
        assert binomtest(ones, 10_000).pvalue > ALPHA / 64
    assert not np.array_equal(lots.seeds([b"a"]), Lots(Secure().octets(32)).seeds([b"a"]))
    assert np.array_equal(Lots(Seeded(3).octets(32)).seeds([b"a"]), Lots(Seeded(3).octets(32)).seeds([b"a"]))


def test_a_seed_makes_it_reproducible():
    one, two, other = (
        mercer.histogram(visits(50), columns="x", categories=FIVE, unit="who", epsilon=1, rng=seed)
        for seed in (5, 5, 6)
    )
    assert np.array_equal(one.raw, two.raw)
    assert not np.array_equal(one.raw, other.raw)


def test_what_is_read_must_be_drawn_by_lots():
    axes = fives()
    records = open_records(visits(2), domain=Domain([axes.columns[0].reading]), unit="who")
    with pytest.raises(ValueError, match="lots are missing"):
        count_cells(records, axes, most=1)


# -- the promise -----------------------------------------------------------------------------------


def people(rows_of_c):
    return pd.DataFrame({"who": [*"aab", *"c" * len(rows_of_c)], "x": [*"abc", *rows_of_c]})


PAIRS = [("aaa", "eee"), ("a" * 9, "e"), ("e", "a" * 9), ("abcd", "e" * 40), ("abc", "cde")]


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("most", [None, 1, 2])
@pytest.mark.parametrize("given", [{}, {"sparse": True}, {"delta": 1e-6}])
def test_replay_of_persons_with_other_numbers_of_rows(pair, most, given):
    function = lambda data, rng: mercer.histogram(  # noqa: E731
        data,
        columns="x",
        categories=FIVE,
        unit="who",
        rows_per_person=most,
        epsilon=9,
        rng=rng,
        insist=True,
        **given,
    )
    found = mercer.replay(function, tuple(people(rows) for rows in pair))
    assert found.kept, str(found)
    (change,) = found.changes
    k = most or 1
    assert change.declared == pytest.approx(k * (math.sqrt(2) if "delta" in given else 2))
    if pair == PAIRS[0]:
        assert change.measured == pytest.approx(change.declared)  # the worst there is


@pytest.mark.parametrize("margins", [1, 2])
def test_replay_of_margins_of_persons(margins):
    function = lambda data, rng: mercer.table(  # noqa: E731
        data,
        domain={"x": FIVE, "y": range(2)},
        margins=margins,
        unit="who",
        rows_per_person=2,
        epsilon=9,
        rng=rng,
        insist=True,
    )
    pair = people("aaa").assign(y=0), people("eeeeee").assign(y=lambda f: (f.who == "c") * 1)
    found = mercer.replay(function, pair)
    assert found.kept, str(found)
    assert found.changes[0].measured == found.changes[0].declared


@pytest.mark.parametrize("cell", ["b ", b"b", None, float("nan"), pd.NA, "", [1], "c"])
def test_replay_of_another_spelling_and_of_nobody(cell):
    """A row that goes from one person to another, or to nobody: two persons, as before."""
    function = lambda data, rng: mercer.histogram(  # noqa: E731
        data, columns="x", categories=FIVE, unit="who", epsilon=9, rng=rng, insist=True
    )
    pair = [people("aaae").astype({"who": object}) for _ in range(2)]
    pair[1].at[6, "who"] = cell
    found = mercer.replay(function, tuple(pair))
    assert found.kept, str(found)


def test_replay_sees_rows_that_the_noise_does_not_cover(monkeypatch):
    """Two rows of a person with the noise for one."""
    monkeypatch.setattr(CellCounts, "sensitivity", lambda *_: Sensitivity(2.0, norm="l1"))
    function = lambda data, rng: mercer.histogram(  # noqa: E731
        data, columns="x", categories=FIVE, unit="who", rows_per_person=2, epsilon=9, rng=rng, insist=True
    )
    found = mercer.replay(function, (people("aaa"), people("eee")))
    assert found.changes[0].measured == 4 > found.changes[0].declared
    assert not found.kept


def test_replay_sees_lots_that_follow_the_number_of_rows(monkeypatch):
    """A lot for each row from the stream of the noise: its length would tell how many there are."""
    usual = DrawnRows.put

    def wrong(self, names_, places):
        source.octets(8 * places.shape[1])
        usual(self, names_, places)

    monkeypatch.setattr(DrawnRows, "put", wrong)

    def function(data, rng):
        nonlocal source
        source = rng
        return mercer.histogram(
            data, columns="x", categories=FIVE, unit="who", epsilon=9, rng=rng, insist=True
        )

    source = None
    assert not mercer.replay(function, (people("aaa"), people("eeeeee"))).same_noise


def test_audit_of_a_histogram_of_persons():
    """Two rows of a person move: near the claim, and above it with the noise for one row."""
    epsilon, runs, most = 1.0, 400_000, 2
    fixed = pd.DataFrame({"who": [*"abcc"], "x": [*"bcaa"]})
    other = pd.DataFrame({"who": [*"abcccc"], "x": [*"bceeee"]})
    one, two = (counted(data, most=most).dense() for data in (fixed, other))
    made = mercer.histogram(
        fixed, columns="x", categories=FIVE, unit="who", rows_per_person=most, epsilon=epsilon, insist=True
    )

    def ratio(scale):
        noise = CountNoise(GeometricLaw(scale), PureEvent(epsilon))
        a, b = (noise.draw(runs * 5, Secure()).reshape(runs, -1) + counts for counts in (one, two))
        score = [np.abs(z - two).sum(axis=1) - np.abs(z - one).sum(axis=1) for z in (a, b)]
        return epsilon_lower_bound(*score, delta=0.0, confidence=1 - ALPHA)

    assert np.abs(one - two).sum() == 2 * most
    assert 0.75 * epsilon < ratio(made.noise.scale) <= epsilon
    assert ratio(made.noise.scale / most) > epsilon


def test_the_door_shows_what_was_drawn():
    """What gets noise are the counts of the drawn rows, at most one a person."""
    seen = []

    class Watching(Secure):
        def witness(self, what, value, sensitivity):
            seen.append((what, value(), sensitivity.value))

    mercer.histogram(
        visits(30), columns="x", categories=FIVE, unit="who", epsilon=1, rng=Watching(), insist=True
    )
    ((what, counts, declared),) = seen
    assert (what, counts.sum(), declared) == ("counts", 30, 2.0)


# -- what is told ----------------------------------------------------------------------------------


def test_the_release_says_how_many_rows_count(tmp_path):
    given = {"columns": "x", "categories": FIVE, "unit": "who", "epsilon": 1, "insist": True}
    one = mercer.histogram(visits(40), **given)
    words = "each 'who' counts once, in one of their rows, drawn at random"
    assert one.rows == words
    assert one.rows_each == 1
    for text in (repr(one), str(one.privacy), one.to_dict()["privacy"]["sentence"]):
        assert words in text
    two = mercer.histogram(visits(40), rows_per_person=2, **given)
    assert "each 'who' counts in at most 2 of their rows, drawn at random" in repr(two)
    margins = mercer.table(visits(40), domain={"x": FIVE}, margins=1, unit="who", epsilon=1, insist=True)
    assert words in repr(margins)
    assert words in str(margins.privacy)
    two.save(tmp_path / "r.json")
    assert mercer.load(tmp_path / "r.json").rows == two.rows
    rows = mercer.histogram(visits(40)["x"], categories=FIVE, epsilon=1)
    assert rows.rows == ""
    assert "drawn at random" not in repr(rows) + str(rows.privacy)
    promise = {"epsilon": 1, "gamma": 0.05, "weaker_promise": True, "unit": "who"}
    weaker = mercer.random_histogram(visits(400), columns="x", categories=FIVE, **promise)
    assert words in str(weaker.privacy)


@pytest.mark.parametrize("most", [None, 1])
def test_rows_per_person_without_a_unit(most):
    mercer.histogram([1, 2] * 50, bins=range(1, 4), rows_per_person=most, epsilon=1)
    with pytest.raises(ValueError, match="rows_per_person goes with unit"):
        mercer.histogram([1, 2] * 50, bins=range(1, 4), rows_per_person=2, epsilon=1)


def long_frame():
    who = np.repeat(np.arange(40), 5)
    return pd.DataFrame({"who": who, "x": np.tile([0.1, 0.3, 0.5, 0.7, 0.9], 40), "y": 0.5, "g": "a"})


CALLS = {
    "density": lambda data, **more: mercer.density(data, columns="x", bounds=(0, 1), epsilon=1, **more),
    "histogram": lambda data, **more: mercer.histogram(
        data, columns="x", bins=2, bounds=(0, 1), epsilon=1, **more
    ),
    "table": lambda data, **more: mercer.table(
        data, domain={"x": (0, 1)}, bins={"x": 2}, margins=1, epsilon=1, **more
    ),
    "count": lambda data, **more: mercer.count(data, where={"x": (0.5, None)}, epsilon=1, **more),
    "mean_curve": lambda data, **more: mercer.mean_curve(
        data, grid=[0, 1], columns=["x", "y"], bound=1, epsilon=1, delta=1e-6, **more
    ),
    "regression": lambda data, **more: mercer.regression(
        data, "y", columns=["x"], bounds=(0, 1), y_bounds=(0, 1), epsilon=19, delta=1e-6, **more
    ),
    "synthetic": lambda data, **more: mercer.synthetic(
        data, domain={"x": (0, 1), "y": (0, 1)}, epsilon=1, delta=1e-6, **more
    ),
}


@pytest.mark.parametrize("call", CALLS)
def test_progress_tells_no_number_of_rows_of_persons(call, tmp_path):
    long_frame().to_csv(tmp_path / "p.csv", index=False)
    for data in (long_frame(), tmp_path / "p.csv"):
        rows, people_ = [], []
        CALLS[call](data, progress=rows.append)
        CALLS[call](data, unit="who", progress=people_.append)
        assert sum(rows) >= 200  # public
        assert people_ == []


def test_commands_tell_which_rows_count_and_not_how_many(tmp_path, monkeypatch, capsys):
    long_frame().to_csv(tmp_path / "p.csv", index=False)
    monkeypatch.chdir(tmp_path)
    cells = ("--column", "x", "--bins", 2, "--bounds", 0, 1, "--unit", "who", "--epsilon", 1)
    out = " ".join(released(capsys, "histogram", "p.csv", *cells, "-o", "r.json").split())
    assert "each 'who' counts once, in one of their rows, drawn at random; --rows-per-person K" in out
    assert "200" not in out
    assert "drawn at random" in released(capsys, "inspect", "r.json")
    more = (*cells, "--rows-per-person", 3, "--json")
    told = json.loads(released(capsys, "histogram", "p.csv", *more, "-o", "s.json"))
    assert told["rows"] == "each 'who' counts in at most 3 of their rows, drawn at random"
    assert told["rows_each"] == 3


def test_a_terminal_shows_no_number_before_there_is_one(monkeypatch):
    lines = []
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("rich.progress.Progress.update", lambda *_, **new: lines.append(new))
    added = []
    monkeypatch.setattr("rich.progress.Progress.add_task", lambda _, words, **__: added.append(words))
    with terminal.progress(True) as tick:
        assert (added, lines) == (["reading"], [])
        tick(700)
        tick(1000)
    assert lines == [{"description": "700 rows"}, {"description": "1,700 rows"}]


def test_nothing_tells_the_number_of_rows_of_persons():
    """What is said of persons is the same whatever number of rows they have."""
    data = long_frame()
    less = data[~((data.who == 3) & (data.x > 0.2))]
    for call in CALLS.values():
        told = [call(part, unit="who", rng=1).privacy for part in (data, less)]
        assert told[0] == told[1]
        assert told[0].n == 40
