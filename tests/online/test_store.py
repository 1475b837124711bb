"""Stores of live releases: one answer a point, whoever asks, in whatever order, for ever."""

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

import mercer
from mercer.ledger.ledger import Ledger
from mercer.online import base as live_releases
from mercer.online import cholesky as live_cholesky
from mercer.online import markov as live_markov
from mercer.online import sql as live_tables
from mercer.online.base import store_of
from mercer.online.store import LiveError, LiveFull, LiveUnavailable, Memory
from tests.helpers.children import in_a_child
from tests.helpers.live_samples import AGES, KINDS, asked_elsewhere, make, points_for

GROWING = [kind for kind in KINDS if kind != "coordinates"]


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def anywhere(request, tmp_path):
    """A new store: in memory, in a file, in a database."""
    if request.param == "memory":
        return Memory()
    return str(tmp_path / "live.db") if request.param == "sqlite" else request.getfixturevalue("postgres")


def statements(place, *texts):
    """Run by somebody who knows the database."""
    engine = store_of(place).engine
    try:
        with engine.begin() as connection:
            for text in texts:
                connection.execute(sa.text(text))
    finally:
        engine.dispose()


# the same answer


@pytest.mark.parametrize("kind", KINDS)
def test_one_answer_a_point_in_any_order(anywhere, kind, rng):
    with make(anywhere, kind) as live:
        x = points_for(live, 24, rng)
        first = np.array([float(live.ask(p)) for p in x[:8]])  # one by one
        whole = live.ask(x)  # some known, some not
        assert np.array_equal(whole[:8], first)
        order = rng.permutation(len(x))
        assert np.array_equal(live.ask(x[order]), whole[order])
        assert np.array_equal(live.ask(x[::-1].tolist()), whole[::-1])
        assert [float(live.ask(p)) for p in x] == whole.tolist()
        assert len(np.unique(whole)) == 24
        assert live.count == (0 if kind == "coordinates" else 24)
    with mercer.open_live(anywhere) as again:
        assert np.array_equal(again.ask(x), whole)
        more = again.ask(points_for(again, 3, rng))
        assert np.all(np.isfinite(more))


@pytest.mark.parametrize("kind", ["coordinates", "matern32", "cholesky"])
def test_another_process_answers_the_same(place, kind, rng):
    with make(place, kind) as live:
        x = points_for(live, 12, rng)
        ours = live.ask(x[:6])
        theirs = asked_elsewhere(place, "live", x)  # the other one draws half of them
        assert np.array_equal(theirs[:6], ours)
        assert np.array_equal(live.ask(x), theirs)


@pytest.mark.parametrize("kind", ["coordinates", "exponential", "cholesky line"])
def test_zero_has_no_sign(anywhere, kind):
    with make(anywhere, kind, bounds=(-50, 50)) as live:
        value = float(live.ask(-0.0))
        assert live.ask([0.0, -0.0]).tolist() == [value, value]
        assert float(live.ask(0.0)) == value
        assert live.count == (0 if kind == "coordinates" else 1)


def test_zero_in_two_columns(anywhere):
    with make(anywhere, "cholesky") as live:
        value = live.ask([[-0.0, 7.0], [0.0, 7.0], [5.0, -0.0]])
        assert value[0] == value[1]
        assert float(live.ask([5.0, 0.0])) == value[2]
        assert live.count == 2


@pytest.mark.parametrize("kind", GROWING)
def test_points_repeated_in_one_question(anywhere, kind, rng):
    with make(anywhere, kind) as live:
        x = points_for(live, 3, rng)[[0, 1, 0, 2, 2, 0]]
        values = live.ask(x)
        assert values[0] == values[2] == values[5]
        assert values[3] == values[4]
        assert live.count == 3


def test_shapes_numbers_and_nothing(anywhere):
    with make(anywhere) as live:
        assert live.ask([]).shape == (0,)
        assert live.ask(3).shape == ()
        assert float(live.ask(np.float64(3.0))) == float(live.ask(3)) == float(live.ask(3.0))
        assert live.ask([[1.0, 2.0], [3.0, 4.0]]).shape == (2, 2)
        assert live(np.float32(3)) == live.ask(3.0)
        for bad in (-0.1, 100.1, float("nan"), float("inf"), "x", [1.0, 101.0]):
            with pytest.raises((ValueError, TypeError), match="x must"):
                live.ask(bad)
        assert live.count == 4
        with pytest.raises(LiveError, match="at most 1000000 a question"):
            live.ask(np.zeros(1_000_001))


def test_the_ends_and_the_nodes_of_the_grid(anywhere):
    with make(anywhere, "matern52") as live:
        ends = live.ask([0.0, 100.0])
        nodes = live._nodes[0]
        some = [nodes[k] for k in (0, 1, len(nodes) // 2, -1)]
        values = [float(live.ask(x)) for x in some]
        assert values[0] == ends[0]
        assert values[-1] == ends[1]
        assert live.ask(some).tolist() == values


def test_several_in_one_store(anywhere, rng):
    lives = {
        name: make(anywhere, kind, name)
        for name, kind in {
            "a": "exponential",
            "b": "exponential",
            "c": "matern32",
            "d": "cholesky line",
        }.items()
    }
    x = points_for(lives["a"], 6, rng)
    values = {name: live.ask(x) for name, live in lives.items()}
    assert mercer.live_names(anywhere) == ("a", "b", "c", "d")
    for name in lives:
        with mercer.open_live(anywhere, name) as again:
            assert np.array_equal(again.ask(x), values[name])
        assert lives[name].count == 6
        for other in lives:
            assert name == other or not np.any(values[name] == values[other])
    with pytest.raises(LiveError, match="name must say which .* it has 'a', 'b', 'c', 'd'"):
        mercer.open_live(anywhere)
    with pytest.raises(LiveError, match="no live release 'e'; it has 'a', 'b', 'c', 'd'"):
        mercer.open_live(anywhere, "e")
    for live in lives.values():
        live.close()


# names and versions


def test_a_name_that_is_taken_spends_nothing(anywhere, tmp_path):
    ledger = Ledger(tmp_path / "budget.db")
    ledger.register("people", epsilon=3, delta=1e-5)
    paid = {"ledger": ledger, "dataset": "people"}
    with make(anywhere, name="ages", **paid) as live:
        value = float(live.ask(3.0))
    for kind in ("exponential", "coordinates", "cholesky"):
        with pytest.raises(LiveError, match="has a live release 'ages' already.*nothing was spent"):
            make(anywhere, kind, "ages", **paid)
    assert len(ledger.history("people")) == 1
    make(anywhere, "cholesky", "other", **paid).close()
    assert [c.what for c in ledger.history("people")] == ["density of x", "live density of x1 and x2"]
    with mercer.open_live(anywhere, "ages") as again:
        assert float(again.ask(3.0)) == value


def test_a_name_taken_while_the_release_was_made(place, monkeypatch):
    make(place).close()
    monkeypatch.setattr(live_tables.Tables, "names", lambda _: ())
    with pytest.raises(LiveError, match="somebody else has just made .* stays charged"):
        make(place)


@pytest.mark.parametrize("name", ["", "a/b", "../a", ".a", "-a", "a b", "x" * 65, "ä", "a\n", 3])
def test_bad_names(anywhere, name, tmp_path):
    ledger = Ledger(tmp_path / "budget.db")
    ledger.register("people", epsilon=3, delta=1e-5)
    with pytest.raises(LiveError, match="name must be 1 to 64 letters"):
        make(anywhere, name=name, ledger=ledger, dataset="people")
    assert ledger.history() == []
    with pytest.raises(LiveError, match="name must be 1 to 64 letters"):
        mercer.open_live(anywhere, name)


def test_a_store_without_live_releases(anywhere):
    empty = store_of(anywhere)
    empty.prepare()
    empty.close()
    assert mercer.live_names(anywhere) == ()
    with pytest.raises(LiveError, match="holds no live release yet"):
        mercer.open_live(anywhere)
    with pytest.raises(LiveError, match="no live release 'a'; it has none yet"):
        mercer.open_live(anywhere, "a")


def test_from_a_newer_version(place, monkeypatch):
    monkeypatch.setattr(live_tables, "VERSION", 99)
    make(place).close()
    monkeypatch.undo()
    with pytest.raises(LiveError, match="written by a newer version; upgrade mercer"):
        mercer.open_live(place)


def test_a_route_of_a_newer_version(anywhere, monkeypatch):
    monkeypatch.setattr(live_markov.MarkovLive, "route", "spiral")
    monkeypatch.setattr(mercer.DensityRelease, "routes", ("spiral",))
    monkeypatch.setitem(live_releases.ROUTES, "spiral", live_markov.MarkovLive)
    make(anywhere).close()
    monkeypatch.undo()
    with pytest.raises(LiveError, match="works by 'spiral'.*upgrade mercer"):
        mercer.open_live(anywhere)


# what a store holds


def test_secrets_only_where_they_are_needed(place):
    for kind, sensitive in {
        "coordinates": False,
        "exponential": False,
        "matern52": False,
        "cholesky": True,
        "cholesky line": True,
    }.items():
        name = kind.replace(" ", "-")
        with make(place, kind, name) as live:
            assert live.sensitive is sensitive
            assert ("sensitive" in repr(live)) is sensitive
            assert ("holds no records" in repr(live)) is not sensitive
            record = live._store.load(name)
            assert (record.secret is not None) is sensitive
            assert "secret" not in repr(record)
            assert str(record.secret) not in repr(record)
            fields = json.dumps(record.fields)
            assert not any(repr(float(age)) in fields for age in AGES[1:-1])


def drop_triggers(place, table):
    if "postgres" in place:
        return [f"DROP TRIGGER {table}_keep ON {table}"]
    return [f"DROP TRIGGER {table}_update", f"DROP TRIGGER {table}_delete"]


@pytest.mark.parametrize(
    "change",
    [
        "fields = replace(fields, '100.0', '100.5')",
        "route = 'cholesky'",
        "digest = 'x'",
        "name = 'other'",
        "secret = {nothing}",
    ],
)
@pytest.mark.parametrize("kind", ["exponential", "cholesky line"])
def test_what_was_changed_behind_its_back_is_refused(place, kind, change):
    with make(place, kind) as live:
        live.ask(3.0)
    change = change.format(nothing="decode('00', 'hex')" if "postgres" in place else "x'00'")
    if kind == "cholesky line" and change.startswith("route"):
        change = "route = 'markov'"
    statements(place, *drop_triggers(place, "mercer_live"), f"UPDATE mercer_live SET {change}")
    with pytest.raises(LiveError, match="digest does not fit.*restore the store"):
        mercer.open_live(place)


@pytest.mark.parametrize("table", ["mercer_live", "mercer_answers", "mercer_factors"])
def test_rows_are_never_changed_or_removed(place, table):
    with make(place, "cholesky line") as live:
        value = float(live.ask(3.0))
        number = "number" if table == "mercer_factors" else "knot" if "answers" in table else "id"
        texts = [f"UPDATE {table} SET {number} = 7", f"DELETE FROM {table}"]
        texts += [f"TRUNCATE {table} CASCADE"] if "postgres" in place else []
        texts += [] if "postgres" in place else [f"REPLACE INTO {table} SELECT * FROM {table}"]
        for text in texts:
            with pytest.raises(sa.exc.DBAPIError, match="never changed or removed"):
                statements(place, text)
        assert float(live.ask(3.0)) == value


# the file


@pytest.mark.parametrize("umask", [0o000, 0o777])
def test_a_file_for_its_owner_alone(tmp_path, umask):
    said = in_a_child(f"""
import os
from tests.helpers.live_samples import make
os.umask({umask})
live = make({str(tmp_path / "live.db")!r}, "cholesky line")
live.ask(3.0)
for entry in sorted(os.scandir({str(tmp_path)!r}), key=lambda e: e.name):
    print(entry.name, oct(entry.stat().st_mode & 0o777))
""")
    lines = ["live.db 0o600", "live.db-shm 0o600", "live.db-wal 0o600"]
    assert said.splitlines() == lines  # and nothing else was left behind


def test_an_empty_file_becomes_a_store_of_its_owner(tmp_path):
    path = tmp_path / "live.db"
    path.touch(0o644)
    with make(path) as live:
        assert path.stat().st_mode & 0o777 == 0o600
        value = live.ask([3.0])
        assert asked_elsewhere(str(path), "live", [3.0]) == value


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644, 0o666])
def test_a_file_that_others_can_read_is_refused(tmp_path, mode):
    path = tmp_path / "live.db"
    with make(path) as live:
        value = float(live.ask(3.0))
        path.chmod(mode)
        for act in (
            lambda: live.ask(3.0),
            lambda: live.ask(4.0),
            lambda: mercer.open_live(path),
            lambda: mercer.live_names(path),
            lambda: make(path, name="second"),
        ):
            with pytest.raises(LiveError, match=f"read by others.* chmod 600 {path}"):
                act()
        path.chmod(0o600)
        assert float(live.ask(3.0)) == value
        assert live.count == 1


def test_places_that_are_no_stores(tmp_path):
    with pytest.raises(LiveError, match="no folder .* create it first"):
        make(tmp_path / "missing" / "live.db")
    with pytest.raises(LiveError, match="is a folder; name a file in it"):
        make(tmp_path)
    with pytest.raises(LiveError, match="got a mysql:// URL"):
        make("mysql://x")
    with pytest.raises(LiveError, match="got ''"):
        make("")
    for act in (mercer.open_live, mercer.live_names):
        with pytest.raises(LiveUnavailable, match="is not there"):
            act(tmp_path / "live.db")
    text = tmp_path / "text.db"
    text.write_text("not a database " * 100)
    text.chmod(0o600)
    for act in (mercer.open_live, mercer.live_names, make):
        with pytest.raises(LiveUnavailable, match="it is not a SQLite database"):
            act(text)
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    other.chmod(0o600)
    for act in (mercer.open_live, mercer.live_names):
        with pytest.raises(LiveUnavailable, match="it holds no live releases"):
            act(other)
    assert sorted(p.name for p in tmp_path.iterdir() if "-" not in p.name) == ["other.db", "text.db"]


def test_odd_names_of_files(tmp_path, monkeypatch):
    for name in ("a b?c#d%20.db", "ü.db", "a'b\"c.db"):
        with make(tmp_path / name) as live:
            values = live.ask([1.0, 2.0])
        assert (tmp_path / name).exists()
        with mercer.open_live(tmp_path / name) as again:
            assert np.array_equal(again.ask([1.0, 2.0]), values)
    monkeypatch.chdir(tmp_path)
    with make("relative.db") as live:
        assert live.store == "relative.db"


def test_a_server_that_is_not_there_and_passwords():
    with pytest.raises(
        LiveUnavailable, match=r"'postgresql://localhost:9/x': the database cannot be reached"
    ) as caught:
        make("postgresql://me:hidden@localhost:9/x")
    assert "hidden" not in str(caught.value)
    with pytest.raises(LiveError, match="postgresql://user@host/database") as caught:
        make("postgresql://me:hidden@localhost:port/x")
    assert "hidden" not in str(caught.value)


# together


@pytest.mark.parametrize("kind", ["exponential", "matern52", "cholesky"])
def test_eight_threads_get_the_same_answers(anywhere, kind, rng):
    with make(anywhere, kind) as live:
        x = points_for(live, 24, rng)
        orders = [rng.permutation(len(x)) for _ in range(8)]

        def storm(k):
            out = {}
            for part in np.array_split(orders[k], 6 if k % 2 else 24):
                values = live.ask(x[part] if k % 2 else x[part[0]])
                out |= dict(zip(part.tolist(), np.atleast_1d(values).tolist(), strict=True))
            return out

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(storm, range(8)))
        assert all(a == answers[0] for a in answers)
        assert live.ask(x).tolist() == [answers[0][i] for i in range(24)]
        assert live.count == 24
    with mercer.open_live(anywhere) as again:
        assert again.ask(x).tolist() == [answers[0][i] for i in range(24)]


EIGHT = """
import os, sys, numpy as np, mercer
from tests.helpers.live_samples import make
make(None).ask(1.0)  # imports what is imported late
start, go = os.pipe()
pipes = []
for k in range(8):
    read, write = os.pipe()
    if os.fork() == 0:
        os.close(go)
        os.read(start, 1)  # all at once
        with os.fdopen(write, "w") as out:
            try:
                {act}
            except BaseException as error:
                print("failed", repr(error), file=out)
        os._exit(0)
    os.close(write)
    pipes.append(os.fdopen(read))
os.close(go)
for pipe in pipes:
    sys.stdout.write(pipe.read())
    os.wait()
"""
STORM = """
                points = np.array({points!r})
                job = np.array({jobs!r}[k])
                with mercer.open_live({place!r}) as live:
                    for part in np.array_split(job, [2, len(job)][k % 2]):
                        for i, value in zip(part, live.ask(points[part])):
                            print(i, float(value).hex(), file=out)
"""
MAKE = """
                with make({place!r}, name=f"live{{k}}") as live:
                    print(k, float(live.ask(3.0)).hex(), file=out)
"""


@pytest.mark.parametrize("kind", ["exponential", "matern52", "cholesky"])
def test_eight_processes_agree_on_every_point(place, kind, rng):
    with make(place, kind) as live:
        x = points_for(live, 30, rng)
        jobs = [[int(i) for i in rng.permutation(30)[: rng.integers(15, 31)]] for _ in range(8)]
        act = STORM.format(place=place, points=x.tolist(), jobs=jobs).strip()
        lines = in_a_child(EIGHT.format(act=act)).splitlines()
        told: dict[int, set[str]] = {}
        for line in lines:
            i, value = line.split()
            told.setdefault(int(i), set()).add(value)
        assert len(lines) == sum(map(len, jobs))
        assert all(len(values) == 1 for values in told.values())
        assert live.count == len(told)
        for i, (value,) in told.items():
            assert float(live.ask(x[i])) == float.fromhex(value)


def test_a_store_is_made_once_by_eight_processes(place):
    lines = in_a_child(EIGHT.format(act=MAKE.format(place=place).strip())).splitlines()
    assert len(lines) == 8
    for line in lines:
        k, value = line.split()
        with mercer.open_live(place, f"live{k}") as live:
            assert float(live.ask(3.0)) == float.fromhex(value)
    if "postgres" not in place:
        assert [p.name for p in Path(place).parent.iterdir()] == [Path(place).name]


def test_made_once_by_many(place):
    def attempt(k):
        try:
            return make(place, name="ages")
        except LiveError as error:
            return str(error)

    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(attempt, range(8)))
    lives = [m for m in made if not isinstance(m, str)]
    assert len(lives) == 1
    lives[0].close()
    assert all("choose another name" in m for m in made if isinstance(m, str))
    assert mercer.live_names(place) == ("ages",)


# a limit


def test_a_full_factor_answers_what_it_answered(anywhere, monkeypatch, rng):
    monkeypatch.setattr(live_cholesky, "LIMIT", 5)
    with make(anywhere, "cholesky") as live:
        x = points_for(live, 9, rng)
        values = live.ask(x[:4])
        with pytest.raises(LiveFull, match="holds 5 points at most.*room for 1 more.*stays answered"):
            live.ask(x[4:8])  # the first of them would have fitted: all or nothing
        last = live.ask(x[8])
        with pytest.raises(LiveFull):
            live.ask(x[4])
        assert np.array_equal(live.ask(x[:4]), values)
        assert live.ask(x[8]) == last
    with mercer.open_live(anywhere) as again:
        assert np.array_equal(again.ask(x[[8, 0, 1]]), [last, *values[:2]])
