"""Ledgers: the filter, one transaction, damage and faults that charge nothing, the door."""

import functools
import json
import math
import os
import shutil
import sqlite3
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import mercer
from mercer.door.publish import Purse
from mercer.ledger import ledger as ledger_module
from mercer.ledger import store as ledger_store
from mercer.ledger.ledger import BudgetExceeded, Ledger, LedgerError
from mercer.noise import entropy
from mercer.promise.composition import delta_of
from mercer.promise.events import ApproximateEvent, GaussianEvent, PureEvent, RandomEvent, gaussian_multiplier
from mercer.promise.filter import BASIC, BOTH, Cost, PrivacyFilter, Spent, mu_of_pure
from tests.helpers.children import in_a_child


def pure(epsilon):
    return Cost(epsilon, 0.0, (PureEvent(epsilon),))


def gaussian(epsilon, delta, distance=0.0):
    mu = 1 / gaussian_multiplier(epsilon=epsilon, delta=delta)
    return Cost(epsilon, delta, (GaussianEvent(mu, distance),))


def accepted(total, cost):
    """How many equal releases fit."""
    low, high = 0, 1
    while total.accepts([cost] * high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if total.accepts([cost] * middle) else (low, middle)
    return low


def pay(ledger, name="a", epsilon=0.1, **more):
    return ledger.charge(name, [PureEvent(epsilon)], epsilon=epsilon, delta=0, what="x", **more)


# the filter


@pytest.mark.parametrize(("part", "times"), [(0.1, 10), (0.2, 5), (1 / 3, 3), (0.3, 3), (1.0, 1), (1.1, 0)])
def test_pure_releases_fill_a_pure_total_exactly(part, times):
    assert accepted(PrivacyFilter(1.0, 0.0), pure(part)) == times
    costs = [pure(part)] * times
    left = PrivacyFilter(1.0, 0.0).largest_pure(costs)
    assert left == pytest.approx(1 - times * part, abs=1e-6)
    if left:
        assert PrivacyFilter(1.0, 0.0).accepts([*costs, pure(left)])
        assert not PrivacyFilter(1.0, 0.0).accepts([*costs, pure(left * 1.001)])


def test_one_release_may_take_all():
    for cost in (gaussian(3.0, 1e-5), Cost(3.0, 1e-5, (ApproximateEvent(3.0, 1e-5),)), pure(3.0)):
        assert PrivacyFilter(3.0, 1e-5).accepts([cost])
    assert PrivacyFilter(3.0, 1e-5).split([gaussian(3.0, 1e-5)]) == BASIC
    assert PrivacyFilter(3.0, 1e-5).split([gaussian(1.0, 1e-5)]) == BOTH  # fits the gaussian rule
    assert not PrivacyFilter(3.0, 1e-5).accepts([gaussian(3.01, 1e-5)])
    for split in (BASIC, BOTH):
        assert split.basic + split.curve + split.distance == 1


def test_many_gaussian_releases_get_more_than_sums():
    """At a total of (3, 1e-5): sums allow 30 releases of epsilon 0.1, the gaussian rule 100s."""
    times = accepted(PrivacyFilter(3.0, 1e-5), gaussian(0.1, 1e-8))
    mu = gaussian(0.1, 1e-8).events[0].mu
    most = 1 / gaussian_multiplier(epsilon=3.0, delta=0.0099e-5)
    assert times == math.floor((most / mu) ** 2)
    assert times > 300


def test_what_a_fixed_list_costs_is_never_above_the_total(rng):
    """Whatever is accepted on any path is (E, D)-DP as a list: a necessary condition."""
    kinds = [
        pure(0.05),
        pure(0.3),
        gaussian(0.2, 1e-8),
        gaussian(0.5, 1e-7),
        Cost(0.1, 1e-7, (ApproximateEvent(0.1, 1e-7),)),
    ]
    total = PrivacyFilter(2.0, 1e-6)
    for _ in range(20):
        costs = []
        for choice in rng.integers(0, len(kinds), 60):
            if total.accepts([*costs, kinds[choice]]):
                costs.append(kinds[choice])
        assert len(costs) > 3
        events = [event for cost in costs for event in cost.events]
        assert delta_of(events, epsilon=2.0) <= 1e-6


def worst(filtered, claimed, parts):
    """The largest P(S) - e^E Q(S) that any adaptive choice of pure releases reaches, exactly.

    Backwards over all paths: randomised response of the given epsilons, in whatever order and
    number the filter accepts, each chosen knowing the privacy loss so far.
    """

    @functools.cache
    def fits(first, counts):
        rest = [pure(e) for e, count in zip(parts, counts, strict=True) for _ in range(count)]
        rest.remove(pure(parts[first]))
        return filtered.accepts([pure(parts[first]), *rest])

    @functools.cache
    def value(first, counts, loss):
        best = max(0.0, -math.expm1(claimed - loss))
        for k, e in enumerate(parts):
            more = tuple(c + (j == k) for j, c in enumerate(counts))
            start = k if first is None else first
            if fits(start, more):
                likely = 1 / (1 + math.exp(-e))
                up, down = (value(start, more, round(loss + s, 9)) for s in (e, -e))
                best = max(best, likely * up + (1 - likely) * down)
        return best

    return value(None, (0,) * len(parts), 0.0)


@pytest.mark.parametrize(("epsilon", "delta", "wrong"), [(1.0, 0.4, None), (0.5, 0.01, 1.6), (1.0, 0.0, 1.1)])
def test_the_worst_adaptive_choice_keeps_the_total(epsilon, delta, wrong):
    parts = (0.1, 0.25)
    reached = worst(PrivacyFilter(epsilon, delta), epsilon, parts)
    assert reached <= delta + 1e-12
    if wrong is not None:  # a filter too generous is seen
        assert worst(PrivacyFilter(wrong * epsilon, delta), epsilon, parts) > delta
    else:
        times = accepted(PrivacyFilter(epsilon, delta), pure(0.1))
        assert times > 10  # the gaussian rule was used, not sums alone


def test_distances_have_their_own_share():
    """They are not traded against the curve: a path could choose the worse of both."""
    total = PrivacyFilter(1.0, 1e-6)
    most = 1e-10 / (1 + math.e)
    cost = gaussian(0.01, 1e-12)
    for distance, fits in ((0.99 * most, True), (1.01 * most, False)):
        far = Cost(cost.epsilon, 1e-8, (GaussianEvent(cost.events[0].mu, distance),))
        assert total.gaussian(Spent.of([far]), BOTH) is fits


def test_trading_distances_against_the_curve_would_not_be_private():
    """The counterexample of docs/proofs/ledger.md, integrated: 1.44 times the total delta."""
    total, delta = 0.1, 1e-6
    mu = 1 / gaussian_multiplier(epsilon=total, delta=delta)
    first, second = math.sqrt(0.65) * mu, math.sqrt(0.35) * mu

    def curve(m, e):
        return norm.cdf(m / 2 - e / m) - np.exp(e) * norm.cdf(-m / 2 - e / m)

    y, step = np.linspace(first - 12, first + 12, 200_001, retstep=True)
    p, q, loss = norm.pdf(y, first), norm.pdf(y), first * y - first**2 / 2
    lucky = loss > 0.04
    distance = (delta - curve(first, total)) / (1 + math.exp(total))
    found = step * np.sum((p * curve(second, total - loss))[lucky])
    rest = np.maximum(0, p - math.exp(total) * q)
    found += step * np.sum((distance * p + (1 - distance) * rest)[~lucky])
    assert found > 1.4 * delta


@given(st.floats(1e-4, 30), st.floats(1e-6, 1 - 1e-6))
@settings(max_examples=100, deadline=None)
def test_pure_releases_as_gaussian_ones(epsilon, alpha):
    """The trade-off curve of pure privacy lies above that of its mu, and touches it."""
    mu = mu_of_pure(epsilon)
    line = max(0.0, 1 - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1 - alpha))
    assert norm.cdf(norm.isf(alpha) - mu) <= line + 1e-12
    kink = 1 / (1 + math.exp(epsilon))
    assert norm.cdf(-mu / 2) == pytest.approx(kink, rel=1e-6)


def test_approximate_releases_close_the_gaussian_rule():
    total = PrivacyFilter(1.0, 1e-5)
    costs = [Cost(0.1, 1e-7, (ApproximateEvent(0.1, 1e-7),))]
    assert not total.gaussian(Spent.of(costs), BOTH)
    assert accepted(total, costs[0]) == 10
    assert accepted(PrivacyFilter(1.0, 1e-5), Cost(0.001, 1e-6, (ApproximateEvent(0.001, 1e-6),))) == 9


# the ledger


def test_totals_charges_and_what_is_left(place):
    ledger = Ledger(place)
    ledger.register("a", epsilon=1)
    ledger.register("b", epsilon=3, delta=1e-5, unit="patient")
    receipts = [pay(ledger) for _ in range(10)]
    assert [r.number for r in receipts] == list(range(1, 11))
    with pytest.raises(BudgetExceeded, match=r"costs epsilon = 0\.1.*nothing more fits") as caught:
        pay(ledger)
    assert caught.value.left.releases == 10
    cost = gaussian(1.0, 1e-6)
    for _ in range(6):
        ledger.charge("b", cost.events, epsilon=1, delta=1e-6, what="g", unit="patient")
    left = ledger.remaining("b", delta=1e-6)
    with pytest.raises(BudgetExceeded, match=r"Gaussian release of epsilon up to 0\.5.* fits"):
        ledger.charge("b", cost.events, epsilon=1, delta=1e-6, what="g", unit="patient")
    smaller = gaussian(left.gaussian, 1e-6)
    ledger.charge("b", smaller.events, epsilon=left.gaussian, delta=1e-6, what="g", unit="patient")
    assert "7 releases" in str(ledger.remaining("b"))
    again = Ledger(place)  # another process would see the same
    assert again.id == ledger.id
    assert [c.receipt for c in again.history("a")] == receipts
    assert len(again.history()) == 17
    assert again.history("b")[0].events == cost.events
    assert all(again.holds(r) for r in receipts)
    assert not again.holds(mercer.Receipt(ledger.id, "a", 11, "", ""))
    again.check()
    alone = ledger.power("a", 0.05)
    assert 0.085 < alone < 0.095  # ten flips of a coin: near Phi(Phi^-1(0.05) + 0.1 sqrt(10))
    assert ledger.power("b", 0.05) > norm.cdf(norm.ppf(0.05) + cost.events[0].mu)


def test_what_remains_is_what_fits(place):
    """`epsilon` and `delta` are what remains; the total has names of its own."""
    ledger = Ledger(place)
    ledger.register("a", epsilon=3, delta=1e-5)
    fresh = ledger.remaining("a")
    assert (fresh.epsilon, fresh.delta, fresh.total_epsilon, fresh.total_delta) == (3, 1e-5, 3, 1e-5)
    approximate = ApproximateEvent(1.0, 1e-6)
    ledger.charge("a", [approximate], epsilon=1, delta=1e-6, what="x")
    left = ledger.remaining("a")
    assert (left.total_epsilon, left.total_delta) == (3, 1e-5)
    assert (left.epsilon, left.delta) == (2, 8.9e-6)  # 99 per cent of delta is for sums
    assert (left.spent_epsilon, left.spent_delta) == (1, 1e-6)
    assert left.to_dict()["epsilon"] == 2
    for epsilon, delta in ((2.001, 8.9e-6), (2, 8.91e-6)):
        with pytest.raises(BudgetExceeded, match="ask for no more than that") as caught:
            ledger.charge("a", [ApproximateEvent(epsilon, delta)], epsilon=epsilon, delta=delta, what="x")
        assert caught.value.left.epsilon == 2
        assert (caught.value.epsilon, caught.value.delta) == (epsilon, delta)
    ledger.charge("a", [ApproximateEvent(2, 8.9e-6)], epsilon=2, delta=8.9e-6, what="x")
    nothing = ledger.remaining("a")
    assert (nothing.epsilon, nothing.delta, nothing.gaussian) == (0, 0, 0)
    assert nothing.total_epsilon == 3
    words = r"nothing more fits.*a total is never raised.*question to a live one, is free"
    with pytest.raises(BudgetExceeded, match=words) as caught:
        pay(ledger)
    assert caught.value.left == nothing.__class__(**{**nothing.to_dict(), "at_delta": 0.0})


def test_the_way_out_names_what_would_fit(place):
    ledger = Ledger(place)
    ledger.register("pure", epsilon=1)
    ledger.register("both", epsilon=1, delta=1e-6)
    cost = gaussian(0.5, 1e-7)
    with pytest.raises(BudgetExceeded, match=r"epsilon up to 1 fits\. Nothing.*; leave out delta"):
        ledger.charge("pure", cost.events, epsilon=0.5, delta=1e-7, what="x")
    ledger.charge("both", [ApproximateEvent(0.1, 1e-8)], epsilon=0.1, delta=1e-8, what="x")
    far = gaussian(0.5, 1e-5)
    with pytest.raises(BudgetExceeded, match=r"Gaussian release .* at delta = 9e-07 fits") as caught:
        ledger.charge("both", far.events, epsilon=0.5, delta=1e-5, what="x")
    left = caught.value.left
    fits = gaussian(left.gaussian, left.at_delta)
    ledger.charge("both", fits.events, epsilon=fits.epsilon, delta=fits.delta, what="x")


@given(st.lists(st.sampled_from([0.1, 0.25, 0.5]), max_size=8), st.integers(0, 8))
@settings(max_examples=40, deadline=None)
def test_the_delta_that_remains_fits_and_no_more(parts, many):
    total = PrivacyFilter(1.0, 1e-5)
    costs = []
    for epsilon in [*parts[:many], *parts]:
        cost = Cost(epsilon, 1e-6 * epsilon, (ApproximateEvent(epsilon, 1e-6 * epsilon),))
        if total.accepts([*costs, cost]):
            costs.append(cost)
    left = total.delta_left(costs)
    small = 1e-9  # of epsilon: only delta decides
    spare = total.largest_pure(costs) > small
    assert (left > 0) == spare
    if spare:
        for factor in (1.0, 1.0001):
            delta = left * factor
            more = Cost(small, delta, (ApproximateEvent(small, delta),))
            assert total.accepts([*costs, more]) is (factor == 1.0)


def test_what_is_refused(place):
    ledger = Ledger(place)
    ledger.register("a", epsilon=1)
    ledger.register("d", epsilon=1, delta=1e-6)
    cost = gaussian(0.5, 1e-7)
    for match, call in {
        "'b' is not in ledger .*'a', 'd'.*register": lambda: pay(ledger, "b"),
        "registered with delta = 0, for pure": lambda: ledger.charge(
            "a", cost.events, epsilon=0.5, delta=1e-7, what="x"
        ),
        "exists in ledger .* epsilon = 1, delta = 0": lambda: ledger.register("a", epsilon=1),
        "epsilon is missing": lambda: ledger.register("c", epsilon=None),
        "epsilon is missing: .* no default": lambda: ledger.register("c"),
        "delta must be in": lambda: ledger.register("c", epsilon=1, delta=1.0),
        "name must be": lambda: ledger.register("", epsilon=1),
        "what must be": lambda: ledger.charge("a", [PureEvent(0.1)], epsilon=0.1, delta=0, what=""),
        "seed .* leave out rng=": lambda: pay(ledger, secure=False),
        "unit of dataset 'a' is 'row'": lambda: pay(ledger, unit="patient"),
        "random-DP .* without ledger=": lambda: ledger.charge(
            "a", [RandomEvent(0.1, 0, 0.1)], epsilon=0.1, delta=0, what="x"
        ),
        "events cost more": lambda: ledger.charge("a", [PureEvent(0.2)], epsilon=0.1, delta=0, what="x"),
        "events cost more than": lambda: ledger.charge("d", cost.events, epsilon=0.4, delta=1e-7, what="x"),
        "must not be empty": lambda: ledger.charge("a", [], epsilon=0.1, delta=0, what="x"),
    }.items():
        with pytest.raises(ValueError, match=match):
            call()
    assert ledger.history() == []
    with pytest.raises(LedgerError, match="exists"):
        Ledger.create(place)


def test_rows_are_never_changed_or_removed(place):
    ledger = Ledger(place)
    ledger.register("a", epsilon=1)
    pay(ledger)
    for table in ("mercer_charges", "mercer_datasets"):
        for statement in (f"UPDATE {table} SET epsilon = '0.01'", f"DELETE FROM {table}"):
            with (
                pytest.raises(LedgerError, match="never changed or removed"),
                ledger._store.transaction(lock="a") as run,
            ):
                run(statement)
    assert ledger.remaining("a").spent_epsilon == 0.1


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE mercer_charges SET epsilon = '0.01' WHERE number = 2",
        "UPDATE mercer_charges SET events = '[]' WHERE number = 1",
        "UPDATE mercer_charges SET time = 'x' WHERE number = 3",
        "DELETE FROM mercer_charges WHERE number = 2",
        "UPDATE mercer_datasets SET epsilon = '100.0'",
        "UPDATE mercer_ledger SET id = 'x'",
    ],
)
def test_rows_changed_behind_its_back_are_seen(place, statement):
    ledger = Ledger(place)
    ledger.register("a", epsilon=1)
    for _ in range(3):
        pay(ledger)
    with ledger._store.transaction(lock="a") as run:
        table = statement.split()[2 if "DELETE" in statement else 1]
        if "postgres" in place:
            run(f"DROP TRIGGER {table}_keep ON {table}")
        else:
            run(f"DROP TRIGGER {table}_update")
            run(f"DROP TRIGGER {table}_delete")
        run(statement)
    for call in (lambda: Ledger(place).check(), lambda: pay(Ledger(place))):
        with pytest.raises(LedgerError, match=r"damaged: (charge|dataset)"):
            call()


def test_from_a_newer_version(place, monkeypatch):
    monkeypatch.setattr(ledger_store, "VERSION", 99)
    ledger_store.store_of(place).create()
    with pytest.raises(LedgerError, match=r"newer version \(format 99"):
        Ledger(place)


def test_made_once_by_many(place):
    with ThreadPoolExecutor(8) as pool:
        identities = set(pool.map(lambda _: Ledger(place).id, range(16)))
    assert len(identities) == 1


def test_the_clock(place, monkeypatch):
    ledger = Ledger(place)
    ledger.register("a", epsilon=1)
    first = pay(ledger)
    now = datetime.fromisoformat(first.time)
    monkeypatch.setattr(ledger_module, "_now", lambda: (now - timedelta(hours=23)).isoformat())
    assert pay(ledger).time == first.time  # a small step back: the last time again
    monkeypatch.setattr(ledger_module, "_now", lambda: (now - timedelta(hours=25)).isoformat())
    with pytest.raises(LedgerError, match="set the clock right"):
        pay(ledger)
    monkeypatch.undo()
    assert pay(ledger).time > first.time
    assert first.time <= datetime.now(UTC).isoformat()


# files


def test_files_that_are_no_ledgers(tmp_path):
    with pytest.raises(LedgerError, match="no folder"):
        Ledger(tmp_path / "missing" / "a.db")
    with pytest.raises(LedgerError, match="is a folder"):
        Ledger(tmp_path)
    with pytest.raises(LedgerError, match="mysql:// URL"):
        Ledger("mysql://x")
    with pytest.raises(LedgerError, match="there is no ledger"):
        Ledger.open(tmp_path / "a.db")
    (tmp_path / "text.db").write_text("not a database " * 100)
    with pytest.raises(LedgerError, match="not a ledger"):
        Ledger(tmp_path / "text.db")
    for name in ("empty.db", "other.db"):
        with sqlite3.connect(tmp_path / name) as other:
            if name == "other.db":
                other.execute("CREATE TABLE t (x)")
        other.close()
        (tmp_path / name).touch()
        with pytest.raises(LedgerError, match="a database but not a ledger"):
            Ledger(tmp_path / name)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["empty.db", "other.db", "text.db"]


def test_damaged_pages_are_seen(tmp_path):
    path = tmp_path / "a.db"
    ledger = Ledger(path)
    ledger.register("a", epsilon=1000)
    for _ in range(60):
        pay(ledger)
    whole = path.read_bytes()
    pages = range(4096, len(whole), 4096)
    assert len(pages) > 5
    seen = 0
    for page in pages:
        path.write_bytes(whole[:page] + bytes([0xA5]) * 4096 + whole[page + 4096 :])
        try:
            damaged = Ledger(path)
            damaged.check()
            pay(damaged)
        except LedgerError as error:
            assert "ledger" in str(error)
            seen += 1
        shutil.copyfile(path, tmp_path / "b.db")
    assert seen == len(pages)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(LedgerError):
        Ledger(path).check()
    path.write_bytes(whole)
    assert pay(Ledger(path)).number == 61


@pytest.fixture
def open_folder():
    """A folder that another user can reach."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_a_full_disk_charges_nothing(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "a.db")
    ledger.register("a", epsilon=1000)
    prepare = ledger_store.LedgerSQLite._prepare

    def tight(self, connection):
        prepare(self, connection)
        connection.execute("PRAGMA max_page_count = 12")

    monkeypatch.setattr(ledger_store.LedgerSQLite, "_prepare", tight)
    done = []
    with pytest.raises(LedgerError, match=r"disk is full.*nothing was charged"):
        done.extend(pay(ledger) for _ in range(1000))
    monkeypatch.undo()
    assert [c.receipt for c in ledger.history("a")] == done
    ledger.check()


def test_a_disk_that_refuses_to_grow(tmp_path):
    """A limit on the size of files: the operating system refuses the write."""
    ledger = Ledger(tmp_path / "a.db")
    ledger.register("a", epsilon=1000)
    said = in_a_child(f"""
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (45_000, 45_000))
from mercer.ledger.ledger import Ledger, LedgerError
from mercer.promise.events import PureEvent
ledger, done = Ledger({str(tmp_path / "a.db")!r}), 0
try:
    while True:
        ledger.charge("a", [PureEvent(0.1)], epsilon=0.1, delta=0, what="x")
        done += 1
except LedgerError as error:
    print(done, error)
""")
    done, words = said.split(" ", 1)
    assert "nothing was charged" in words
    assert len(ledger.history("a")) == int(done)


def test_a_read_only_ledger_is_read_but_not_charged(open_folder):
    tmp_path = open_folder
    become = "" if os.getuid() != 0 else "import os; os.setgroups([]); os.setgid(65534); os.setuid(65534)"
    ledger = Ledger(tmp_path / "a.db")
    ledger.register("a", epsilon=1)
    pay(ledger)
    (tmp_path / "a.db").chmod(0o444)
    tmp_path.chmod(0o555)
    said = in_a_child(f"""
from mercer.ledger.ledger import Ledger, LedgerError
from mercer.promise.events import PureEvent
{become}
ledger = Ledger({str(tmp_path / "a.db")!r})
print(ledger.remaining("a").spent_epsilon)
try:
    ledger.charge("a", [PureEvent(0.1)], epsilon=0.1, delta=0, what="x")
except LedgerError as error:
    print(error)
""")
    tmp_path.chmod(0o755)
    left, words = said.splitlines()
    assert left == "0.1"
    assert "read-only" in words
    assert "nothing was charged" in words
    assert len(ledger.history()) == 1


def test_a_server_that_is_not_there():
    pytest.importorskip("psycopg")
    with pytest.raises(LedgerError, match=r"postgresql://localhost:9/x") as caught:
        Ledger("postgresql://me:hidden@localhost:9/x")
    assert "hidden" not in str(caught.value)


def test_psycopg_is_named_when_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(LedgerError, match=r"mercer\[postgres\]"):
        Ledger("postgresql://localhost/x")


# notes beside the data


def test_two_ledgers_cannot_count_the_same_data(tmp_path):
    data = tmp_path / "people.csv"
    data.write_text("age\n" + "\n".join(map(str, range(20, 80))) + "\n")
    one, two = Ledger(tmp_path / "one.db"), Ledger(tmp_path / "two.db")
    one.register("people", epsilon=3, delta=1e-5, data=data)
    note = json.loads((tmp_path / "people.csv.mercer-ledger").read_text())
    assert note == {"ledger": one.id, "dataset": "people", "where": str(tmp_path / "one.db")}
    with pytest.raises(LedgerError, match=r"counted as 'people' in the ledger .*one\.db.*twice"):
        two.register("people", epsilon=3, delta=1e-5, data=data)
    assert two.datasets == {}
    two.register("people", epsilon=3, delta=1e-5)
    arguments = {"columns": "age", "bounds": (0, 100), "epsilon": 1, "delta": 1e-6}
    with pytest.raises(LedgerError, match="two ledgers"):
        mercer.density(data, **arguments, ledger=two, dataset="people")
    with pytest.raises(LedgerError, match=r"give ledger= and dataset='people'"):
        mercer.density(data, **arguments)
    assert mercer.density(data, **arguments, rng=1).privacy.secure is False
    mercer.density(str(data), **arguments, ledger=one, dataset="people")
    assert [len(book.history()) for book in (one, two)] == [1, 0]
    (tmp_path / "people.csv.mercer-ledger").unlink()
    with pytest.raises(LedgerError, match="is missing"):
        mercer.density(data, **arguments, ledger=one, dataset="people")
    (tmp_path / "people.csv.mercer-ledger").write_text("{")
    with pytest.raises(LedgerError, match="is damaged"):
        mercer.density(data, **arguments)


def test_a_folder_of_data_and_the_files_in_it(tmp_path):
    folder = tmp_path / "records"
    folder.mkdir()
    (folder / "part.csv").write_text("age\n1\n2\n")
    Ledger(tmp_path / "one.db").register("records", epsilon=1, data=folder)
    with pytest.raises(LedgerError, match="dataset='records'"):
        mercer.density(folder / "part.csv", bounds=(0, 9), epsilon=1, delta=1e-6)
    with pytest.raises(LedgerError, match="no file or folder"):
        Ledger(tmp_path / "one.db").register("x", epsilon=1, data=tmp_path / "missing")


# the door


class Watched(entropy.Secure):
    """Looks at the ledger at the moment when noise is drawn."""

    def __init__(self, ledger):
        object.__setattr__(self, "ledger", ledger)
        object.__setattr__(self, "seen", [])

    def discrete_gaussian(self, scale, size):  # noqa: ARG002
        self.seen.append(len(self.ledger.history()))
        raise KeyboardInterrupt  # as if the process died here


def charges_when_noise_is_drawn(path):
    ledger = Ledger(path)
    ledger.register("people", epsilon=3, delta=1e-5)
    watched = Watched(ledger)
    with pytest.raises(KeyboardInterrupt):
        mercer.density(
            np.arange(50.0),
            bounds=(0, 50),
            epsilon=1,
            delta=1e-6,
            rng=watched,
            ledger=ledger,
            dataset="people",
        )
    return watched.seen


def test_noise_is_drawn_after_the_charge(place):
    assert charges_when_noise_is_drawn(place) == [1]
    (charge,) = Ledger(place).history()
    assert charge.what.startswith("density of")
    assert (charge.epsilon, charge.delta) == (1.0, 1e-6)


def test_a_door_that_charges_late_would_be_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(Ledger, "charge", lambda *_, **__: None)
    assert charges_when_noise_is_drawn(tmp_path / "a.db") == [0]


def test_no_noise_without_a_budget(tmp_path):
    path = tmp_path / "a.db"
    ledger = Ledger(path)
    ledger.register("people", epsilon=0.5, delta=1e-5)
    arguments = {"bounds": (0, 50), "epsilon": 1, "delta": 1e-6}
    watched = Watched(ledger)
    with pytest.raises(BudgetExceeded, match="no noise was drawn"):
        mercer.density(np.arange(50.0), **arguments, rng=watched, ledger=path, dataset="people")
    with pytest.raises(LedgerError, match="seed"):
        mercer.density(np.arange(50.0), **arguments, rng=3, ledger=path, dataset="people")
    with pytest.raises(ValueError, match="go together"):
        mercer.density(np.arange(50.0), **arguments, ledger=path)
    with pytest.raises(LedgerError, match="there is no ledger"):
        mercer.density(tmp_path / "no.csv", **arguments, ledger=tmp_path / "b.db", dataset="people")
    with pytest.raises(LedgerError, match="'other' is not in ledger"):  # before data are read
        mercer.density(tmp_path / "no.csv", **arguments, ledger=path, dataset="other")
    path.write_bytes(b"x" * 8192)
    with pytest.raises(LedgerError, match="not a ledger"):
        mercer.density(np.arange(50.0), **arguments, rng=watched, ledger=ledger, dataset="people")
    assert watched.seen == []


def test_the_door_itself_wants_ledger_and_dataset_together(tmp_path):
    for half in ((Ledger(tmp_path / "a.db"), None), (None, "people")):
        with pytest.raises(ValueError, match="go together"):
            Purse.of(entropy.Secure(), *half)


def test_sums_are_exact():
    costs = [pure(0.1)] * 3
    assert Spent.of(costs).epsilon == Fraction(3, 10)


def test_a_total_without_epsilon_is_refused_in_words(tmp_path):
    ledger = mercer.Ledger(tmp_path / "budgets.db")
    with pytest.raises(ValueError, match="epsilon is missing: a privacy choice has no default"):
        ledger.register("visits")
    assert ledger.datasets == {}
