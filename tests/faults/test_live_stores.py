"""Stores that fail: nothing is answered that is not kept, and afterwards the answers are the same."""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

import mercer
from mercer.ledger.ledger import Ledger
from mercer.online import databases as live_databases
from mercer.online import sql as live_pens
from mercer.online.base import store_of
from mercer.online.cholesky import CholeskyLive
from mercer.online.markov import MarkovLive
from mercer.online.store import LiveError, LiveUnavailable, Memory
from tests.helpers.children import in_a_child
from tests.helpers.live_samples import asked_elsewhere, make, points_for


class Interrupted(BaseException):
    """As if the process was stopped here."""


@pytest.fixture
def live(tmp_path):
    with make(tmp_path / "live.db") as made:
        yield made


def copied(path, target):
    """By another process: to open and close the file here would take this one's locks away."""
    subprocess.run(["cp", "-p", str(path), str(target)], check=True)


def exchanged(path, other):
    """As it should be done: without the log of the file that was there."""
    other.replace(path)
    for end in ("-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)


def aside(live, monkeypatch, act):
    """Something happens after the draw and before the commit."""
    add = live_pens.SqlPen.add_one

    def and_then(self, *what):
        add(self, *what)
        act()

    monkeypatch.setattr(live_pens.SqlPen, "add_one", and_then)


# the file


def test_a_file_that_was_moved_away(live, tmp_path):
    path, away = tmp_path / "live.db", tmp_path / "away.db"
    values = live.ask([1.0, 2.0])
    path.rename(away)
    for x in (1.0, 3.0, [4.0, 5.0]):
        with pytest.raises(LiveUnavailable, match="is not there .*Bring the same file back"):
            live.ask(x)
    with pytest.raises(LiveUnavailable, match="is not there"):
        live.count  # noqa: B018
    assert not path.exists()  # no new one was made
    away.rename(path)
    assert np.array_equal(live.ask([1.0, 2.0]), values)
    assert live.count == 2
    assert live.ask([3.0]) == asked_elsewhere(str(path), "live", [3.0])


def test_a_file_that_goes_away_while_a_question_is_answered(live, tmp_path, monkeypatch):
    path, away = tmp_path / "live.db", tmp_path / "away.db"
    value = float(live.ask(1.0))
    aside(live, monkeypatch, lambda: path.rename(away))
    with pytest.raises(LiveUnavailable, match="is not there"):
        live.ask(2.0)
    monkeypatch.undo()
    away.rename(path)
    assert float(live.ask(1.0)) == value
    assert live.ask([2.0]) == asked_elsewhere(str(path), "live", [2.0])


@pytest.mark.parametrize("which", ["file", "log"])
def test_a_file_exchanged_while_a_question_is_answered(live, tmp_path, monkeypatch, which):
    path = tmp_path / "live.db"
    value = float(live.ask(1.0))
    live.close()
    copied(path, tmp_path / "copy.db")
    live.ask(1.0)

    def exchange():
        if which == "file":
            exchanged(path, tmp_path / "copy.db")
        else:
            (tmp_path / "live.db-wal").unlink()

    aside(live, monkeypatch, exchange)
    with pytest.raises(LiveUnavailable, match="another file took its place|taken away while"):
        live.ask(2.0)
    monkeypatch.undo()
    assert float(live.ask(1.0)) == value
    assert live.ask([3.0]) == asked_elsewhere(str(path), "live", [3.0])


def test_a_log_that_was_removed(live, tmp_path):
    live.ask(1.0)
    (tmp_path / "live.db-wal").unlink()
    with pytest.raises(LiveUnavailable, match="its log was taken away"):
        live.ask(2.0)
    live.ask(3.0)
    assert live.ask([3.0]) == asked_elsewhere(str(tmp_path / "live.db"), "live", [3.0])


@pytest.mark.parametrize("kind", ["matern32", "cholesky"])
def test_an_older_copy_brought_back(tmp_path, kind, rng):
    """Public noise is drawn anew from what the copy has; a draw from f_D is refused."""
    path = tmp_path / "live.db"
    with make(path, kind) as live:
        x = points_for(live, 9, rng)
        first = live.ask(x[:3])
        live.close()
        copied(path, tmp_path / "copy.db")
        live.ask(x[3:6])
        exchanged(path, tmp_path / "copy.db")
        with pytest.raises(LiveUnavailable, match="another file took its place.*ask again"):
            live.ask(x[0])
        assert np.array_equal(live.ask(x[:3]), first)
        assert live.count == 3
        if kind == "cholesky":
            for _ in range(2):
                with pytest.raises(LiveError, match="lacks answers that were given"):
                    live.ask(x[6:])
            assert live.count == 3
        else:
            rest = live.ask(x[6:])
            assert np.array_equal(asked_elsewhere(str(path), "live", x[6:]), rest)


@pytest.mark.parametrize("kind", ["exponential", "cholesky line"])
def test_another_live_release_of_that_name_is_not_gone_on_with(tmp_path, kind):
    path = tmp_path / "live.db"
    with make(path, kind) as live:
        value = float(live.ask(1.0))
        live.close()
        copied(path, tmp_path / "copy.db")
        live.ask(1.0)
        make(tmp_path / "second.db", kind).close()
        exchanged(path, tmp_path / "second.db")
        with pytest.raises(LiveUnavailable, match="another file took its place"):
            live.ask(1.0)
        for x in (1.0, [2.0, 3.0]):
            with pytest.raises(LiveError, match="is not the one that was opened here"):
                live.ask(x)
        exchanged(path, tmp_path / "copy.db")
        with pytest.raises(LiveUnavailable, match="another file took its place"):
            live.ask(1.0)
        assert float(live.ask(1.0)) == value


def test_numbers_of_another_store_are_not_used(tmp_path):
    """Live release 'b' is the second of the first store, and the first of the one put there."""
    path, other = tmp_path / "live.db", tmp_path / "other.db"
    make(path, name="a").close()
    with make(path, name="b") as live:
        live.ask(1.0)
        live.close()
        copied(path, tmp_path / "copy.db")
        with sqlite3.connect(tmp_path / "copy.db") as connection:
            for table in ("mercer_live", "mercer_answers"):
                connection.execute(f"DROP TRIGGER {table}_update")
            connection.execute("PRAGMA foreign_keys = OFF")
            connection.execute("UPDATE mercer_answers SET live = 9 WHERE live = 2")
            connection.execute("UPDATE mercer_live SET id = 9 WHERE id = 2")
        connection.close()
        value = float(live.ask(1.0))
        live.close()
        shutil.move(tmp_path / "copy.db", other)
        exchanged(path, other)
        with pytest.raises(LiveUnavailable, match="took its place"):
            live.ask(1.0)
        assert float(live.ask(1.0)) == value
        live.ask(2.0)
        assert live.count == 2
    with mercer.open_live(path, "a") as first:
        assert first.count == 0


@pytest.fixture
def open_folder():
    """A folder that another user can reach."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_a_folder_that_may_not_be_written(open_folder):
    path = open_folder / "live.db"
    with make(path) as live:
        value = float(live.ask(1.0))
    become = ""
    if os.getuid() == 0:
        become = "import os; os.setgroups([]); os.setgid(65534); os.setuid(65534)"
        os.chown(path, 65534, 65534)
    try:
        said = in_a_child(f"""
import mercer
from mercer.online.store import LiveError, LiveUnavailable
from tests.helpers.live_samples import make
with make({str(open_folder / "first.db")!r}) as first:  # imports all that is needed
    first.ask([1.0, 2.0]), first.ask(3.0)
import os; os.unlink({str(open_folder / "first.db")!r}); os.chmod({str(open_folder)!r}, 0o555)
{become}
for act in (
    lambda: mercer.open_live({str(path)!r}).ask(2.0),
    lambda: make({str(path)!r}, name="second"),
    lambda: make({str(open_folder / "new.db")!r}),
):
    try:
        act()
        print("answered")
    except LiveUnavailable as error:
        print(error)
""").splitlines()
    finally:
        open_folder.chmod(0o755)
    assert len(said) == 3
    assert all("may be read and written" in line or "read-only" in line for line in said[:2]), said
    assert "Permission denied" in said[2]
    assert [p.name for p in open_folder.iterdir()] == ["live.db"]
    if os.getuid() == 0:
        os.chown(path, 0, 0)
    with mercer.open_live(path) as live:
        assert live.count == 1
        assert float(live.ask(1.0)) == value


def test_a_full_disk_answers_nothing(live):
    values = {x: float(live.ask(x)) for x in (1.0, 2.0)}
    live.close()

    def tight(connection, _):
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 4}")

    sa.event.listen(live._store.engine, "connect", tight)
    with pytest.raises(LiveUnavailable, match="the disk is full; make room.*nothing new was answered"):
        live.ask(np.linspace(3.0, 99.0, 4000))
    assert live.count == 2
    assert {x: float(live.ask(x)) for x in values} == values
    sa.event.remove(live._store.engine, "connect", tight)
    live.close()
    more = live.ask(np.linspace(3.0, 99.0, 4000))
    assert np.array_equal(live.ask(np.linspace(3.0, 99.0, 4000)), more)
    assert {x: float(live.ask(x)) for x in values} == values


@pytest.mark.parametrize("kind", ["exponential", "cholesky line"])
def test_a_disk_that_refuses_to_grow(tmp_path, kind):
    """A limit on the size of files: the operating system refuses the write."""
    path = tmp_path / "live.db"
    make(path, kind).close()
    said = in_a_child(f"""
import resource
import mercer
from mercer.online.store import LiveUnavailable
live = mercer.open_live({str(path)!r})
live.ask(1.0)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
k = 0
try:
    while True:
        k += 1
        x = 1.0 + k / 100
        print(x.hex(), float(live.ask(x)).hex())
except LiveUnavailable as error:
    print(error)
""").splitlines()
    assert "nothing new was answered" in said[-1]
    assert len(said) > 10
    told = [[float.fromhex(v) for v in line.split()] for line in said[:-1]]
    with mercer.open_live(path) as live:
        assert live.count == len(told) + 1
        for x, value in told:
            assert float(live.ask(x)) == value
        live.ask(99.0)


def test_a_small_disk(tmp_path):
    """A file system of its own that fills up, where one may be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("may not mount a file system")
    try:
        with make(disk / "live.db") as live:
            told = {}
            with pytest.raises(LiveUnavailable, match="disk is full|the disk failed"):
                told.update((k / 16, float(live.ask(k / 16))) for k in range(1000))
            assert len(told) > 10
            with pytest.raises(LiveUnavailable):
                live.ask(np.linspace(70, 99, 3000))
            subprocess.run(["mount", "-o", "remount,size=4m", str(disk)], check=True)
            assert live.count == len(told)
            assert {x: float(live.ask(x)) for x in told} == told
            live.ask(99.0)
            x = list(told)
            assert asked_elsewhere(str(disk / "live.db"), "live", x).tolist() == list(told.values())
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_a_damaged_file(live, tmp_path):
    live.ask(np.linspace(1, 99, 500))
    live.close()
    path = tmp_path / "live.db"
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + bytes([0xA5]) * (len(whole) - 4096))
    with pytest.raises(LiveUnavailable, match="damaged|the database failed"):
        live.ask(0.5)
    live.close()
    path.write_bytes(whole)
    assert live.count == 500


# who holds the pen


@contextlib.contextmanager
def held(place):
    """By somebody else, for as long as it takes."""
    other = store_of(place)
    with other.connected(write=True) as connection:
        if "postgres" in place:
            connection.execute(sa.text("SELECT 1 FROM mercer_live FOR UPDATE"))
        yield
    other.close()


def test_locked_by_another(place, tmp_path, monkeypatch):
    ledger = Ledger(tmp_path / "budget.db")
    ledger.register("people", epsilon=3, delta=1e-5)
    monkeypatch.setattr(live_databases, "WAIT", 1)
    with make(place) as live:
        value = float(live.ask(1.0))
        with held(place):
            for x in (2.0, [3.0, 4.0]):
                with pytest.raises(LiveUnavailable, match="another process held it.*try again"):
                    live.ask(x)
            assert float(live.ask(1.0)) == value  # what is known waits for nobody
            if "postgres" not in place:
                with pytest.raises(LiveUnavailable, match="another process held it"):
                    make(place, name="other", ledger=ledger, dataset="people")
                assert ledger.history() == []
        assert live.count == 1
        assert live.ask([2.0]) == asked_elsewhere(place, "live", [2.0])


def test_one_live_release_does_not_wait_for_another_in_postgresql(postgres):
    with make(postgres, name="a") as first, make(postgres, name="b") as second, first._store.writing("a"):
        assert np.isfinite(second.ask(1.0))


# PostgreSQL


def killed(place):
    """End all other connections that use this place's schema."""
    import psycopg

    url, schema = place.split("options=-csearch_path%3D")
    with psycopg.connect(url.rstrip("?&"), autocommit=True) as connection:
        rows = connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid IN "
            "(SELECT pid FROM pg_locks l JOIN pg_class c ON l.relation = c.oid JOIN pg_namespace n "
            "ON c.relnamespace = n.oid WHERE n.nspname = %s) AND pid <> pg_backend_pid()",
            (schema,),
        )
        return len(rows.fetchall())


@pytest.mark.parametrize("kind", ["exponential", "cholesky line"])
def test_a_connection_that_is_killed_in_the_middle(postgres, kind, monkeypatch):
    with make(postgres, kind) as live:
        value = float(live.ask(1.0))
        pen = live_pens.SqlPen
        method = "add_one" if kind == "exponential" else "add"
        add = getattr(pen, method)

        def and_killed(self, *what):
            add(self, *what)
            assert killed(postgres) == 1

        monkeypatch.setattr(pen, method, and_killed)
        with pytest.raises(LiveUnavailable, match="nothing new was answered"):
            live.ask(2.0)
        monkeypatch.undo()
        assert float(live.ask(1.0)) == value
        assert live.count == 1
        assert live.ask([2.0]) == asked_elsewhere(postgres, "live", [2.0])


def test_idle_connections_that_are_killed(postgres):
    """As after a restart of the server: the next question finds a new one."""
    import psycopg

    with make(postgres) as live:
        value = float(live.ask(1.0))
        with live._store.engine.connect() as connection:
            number = connection.execute(sa.text("SELECT pg_backend_pid()")).scalar_one()
        with psycopg.connect(postgres, autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", (number,))
            while other.execute("SELECT 1 FROM pg_stat_activity WHERE pid = %s", (number,)).fetchone():
                pass
        assert float(live.ask(1.0)) == value
        assert np.isfinite(live.ask(2.0))


def unsynced(place):
    """The same place, where a function in front of the server's own says that fsync is off."""
    import psycopg

    with psycopg.connect(place, autocommit=True) as connection:
        connection.execute(
            "CREATE FUNCTION current_setting(text) RETURNS text LANGUAGE sql AS "
            "$$ SELECT CASE $1 WHEN 'fsync' THEN 'off' ELSE pg_catalog.current_setting($1) END $$"
        )
    return place + ",pg_catalog"


def test_a_server_that_does_not_sync_is_refused(postgres, tmp_path):
    ledger = Ledger(tmp_path / "budget.db")
    ledger.register("people", epsilon=3, delta=1e-5)
    with make(postgres) as live:
        value = float(live.ask(1.0))
        wrong = unsynced(postgres)
        with pytest.raises(LiveError, match="fsync off.*turn it on"):
            make(wrong, name="other", ledger=ledger, dataset="people")
        assert ledger.history() == []
        with mercer.open_live(wrong) as same:
            assert float(same.ask(1.0)) == value
            with pytest.raises(LiveError, match="fsync off.*turn it on. Nothing was answered"):
                same.ask(2.0)
        assert live.count == 1


def test_commits_wait_for_the_disk_whatever_the_server_does_by_itself(postgres):
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        (user, schema) = connection.execute("SELECT current_user, current_schema").fetchone()
    with make(f"{postgres} -csynchronous_commit%3Doff") as live:
        with live._store.engine.connect() as connection:
            shown = [
                connection.execute(sa.text(f"SHOW {s}")).scalar()
                for s in ("synchronous_commit", "search_path")
            ]
        assert shown == ["on", schema]
        assert user


# forks, and other openings of the same file


FORKS = """
import os, sys, numpy as np
import mercer
from tests.helpers.live_samples import make

def forked(act):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, repr(act()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as said:
        text = said.read()
    os.waitpid(child, 0)
    return text

place = {place!r}
"""


@pytest.mark.parametrize("kind", ["exponential", "cholesky line"])
def test_forked_children_share_neither_connections_nor_noise(place, kind, rng):
    said = in_a_child(
        FORKS.format(place=place)
        + f"""
live = make(place, {kind!r})
second = mercer.open_live(place)  # another connection to the same file
live.ask(1.0), second.ask(1.0)
parts = [forked(lambda: [float(live.ask(x)) for x in (1.0, 2.0, 10.0 + k, 20.0 + k)]) for k in range(4)]
print(parts)
print([[float(second.ask(x)) for x in (1.0, 2.0, 10.0 + k, 20.0 + k)] for k in range(4)])
"""
    )
    parts, ours = said.splitlines()
    assert [str(p) for p in eval(ours)] == eval(parts)
    drawn = [value for part in eval(ours) for value in part[2:]]
    assert len(set(drawn)) == 8  # were the noise shared, children would draw the same normals


def test_children_of_one_state_draw_differently():
    """Four children of one live release in memory, each of which would draw at the same point."""
    said = in_a_child(
        FORKS.format(place="")
        + """
live = make(None)
live.ask(1.0)
pens = live._store._pens
live._store.writing = type(live._store).reading.__get__(live._store)
from contextlib import contextmanager
@contextmanager
def unchecked(name):
    yield pens[name]
live._store.writing = unchecked
print(*[forked(lambda: float(live.ask(2.0))) for _ in range(4)])
"""
    )
    assert len(set(said.split())) == 4


@pytest.mark.parametrize("kind", ["exponential", "cholesky line"])
def test_memory_is_not_shared_with_a_fork(kind):
    said = in_a_child(
        FORKS.format(place="")
        + f"""
live = make(None, {kind!r})
live.ask(1.0)
def act():
    try:
        return live.ask(2.0)
    except mercer.LiveError as error:
        return str(error)
print(forked(act))
print(float(live.ask(2.0)))
"""
    )
    refused, value = said.splitlines()
    assert "this one is a fork; give store= a file" in refused
    assert np.isfinite(float(value))


def test_a_child_goes_on_when_its_parent_closes(tmp_path):
    """A log that the parent took away would take the child's answers with it."""
    path = str(tmp_path / "live.db")
    said = in_a_child(
        FORKS.format(place=path)
        + """
live, second = make(place), mercer.open_live(place)
live.ask(1.0), second.ask(1.0)
ready, go = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    live.ask(2.0)
    os.write(ready[1], b"x")
    os.read(go[0], 1)
    print(float(live.ask(3.0)).hex(), flush=True)
    os._exit(0)
os.read(ready[0], 1)
live.close(), second.close()
os.write(go[1], b"x")
os.waitpid(child, 0)
"""
    )
    assert asked_elsewhere(path, "live", [3.0])[0].hex() == said


def test_a_fork_in_the_middle_of_a_question_is_refused(tmp_path):
    said = in_a_child(
        FORKS.format(place=str(tmp_path / "live.db"))
        + """
live = make(place)
live.ask(1.0)
def act():
    try:
        return live.ask(2.0)
    except mercer.LiveUnavailable as error:
        return str(error)
with live._store.writing("live"):
    print(forked(act))
print(float(live.ask(2.0)))
"""
    )
    refused, value = said.splitlines()
    assert "in use when this process was forked" in refused
    assert asked_elsewhere(str(tmp_path / "live.db"), "live", [2.0])[0] == float(value)


def test_another_live_release_made_in_the_same_process(tmp_path):
    """Making it must not touch the locks: somebody who closes the store would take the log away."""
    path = str(tmp_path / "live.db")
    with make(path, name="a") as live:
        value = live.ask([1.0])
        make(path, name="b").close()
        assert asked_elsewhere(path, "a", [1.0]) == value
        assert (tmp_path / "live.db-wal").exists()
        assert live.ask([2.0]) == asked_elsewhere(path, "a", [2.0])


# draws that were not kept


@pytest.mark.parametrize("store", ["sqlite", "memory"])
def test_draws_that_were_not_kept_are_not_stood_on(tmp_path, store, monkeypatch, rng):
    """Another thread asks at once when a draw has failed: it must not see what was rolled back."""
    path = tmp_path / "live.db"
    with make(path if store == "sqlite" else Memory(), "cholesky") as live:
        x = points_for(live, 6, rng)
        first = live.ask(x[:2])
        writing, said = live._store.writing, []

        @contextlib.contextmanager
        def interrupted(name):
            try:
                with writing(name) as pen:
                    yield pen
                    raise Interrupted
            except Interrupted:
                live._store.writing = writing
                said.append(live.ask(x[2]))
                raise

        live._store.writing = interrupted
        with pytest.raises(Interrupted):
            live.ask(x[3:5])
        assert np.array_equal(live.ask(x[:3]), [*first, *said])
        live.ask(x[3:])
        with live._store.reading("live") as pen:
            rows = [len(f.row) // 8 for f in pen.factors(0)]
        assert rows == list(range(1, len(rows) + 1))
        if store == "sqlite":
            assert len(rows) == 6
            assert np.array_equal(asked_elsewhere(str(path), "live", x), live.ask(x))


@pytest.mark.parametrize("kind", ["exponential", "cholesky line"])
def test_an_interrupted_question_leaves_nothing(place, kind, monkeypatch):
    with make(place, kind) as live:
        value = float(live.ask(1.0))
        owner, method = (
            (MarkovLive, "_between_one") if kind == "exponential" else (CholeskyLive, "_coordinate")
        )

        def stopped(*_):
            raise Interrupted

        monkeypatch.setattr(owner, method, stopped)
        with pytest.raises(Interrupted):
            live.ask(2.0)
        monkeypatch.undo()
        assert live.count == 1
        assert float(live.ask(1.0)) == value
        assert live.ask([2.0]) == asked_elsewhere(place, "live", [2.0])
