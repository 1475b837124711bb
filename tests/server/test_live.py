"""Live releases in the service: one durable write for many clients, and stores that fail."""

import asyncio
import shutil
import sqlite3
import threading
from contextlib import closing

import numpy as np
import pytest

import mercer
from mercer.online.store import LiveFull, LiveUnavailable
from mercer.server import Settings, create_app
from mercer.server.answering import LiveQueue
from tests.helpers.serving import OWNER, TOKEN, refusal, serving, until


def make_live(store, name="path", **options):
    data = np.clip(np.random.default_rng().normal(50, 15, 500), 0, 100)
    fields = {
        "bounds": (0, 100),
        "epsilon": 1,
        "delta": 1e-6,
        "bandwidth": 5,
        "columns": "age",
        "kernel": "exponential",
    }
    mercer.live(data, **{**fields, **options}, store=store, name=name).close()


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "releases").mkdir()
    make_live(tmp_path / "releases" / "walks.db")
    return tmp_path / "releases"


@pytest.fixture
def service(folder):
    with serving(Settings(folder=folder, refresh_seconds=0)) as service:
        yield service


def test_listed_with_the_others(service):
    (row,) = service.client.get("/api/releases").json()["releases"]
    assert (row["name"], row["live"], row["dimension"]) == ("path", True, 1)
    details = service.client.get("/api/releases/path").json()
    assert details["smoothing"] == {"free": False, "bandwidth": None, "finest": None, "widest": None}
    assert details["downloads"] == {"release": None}
    assert details["answers"] == 0
    assert details["accuracy"]["pointwise"] > 0
    service.values("path", points=[1.5, 2.5, 1.5])
    assert service.client.get("/api/releases/path").json()["answers"] == 2
    assert service.client.get("/health").json()["releases"] == 1


def test_answers_are_the_store_s_and_stay(service, folder, rng):
    x = rng.uniform(0, 100, 20).tolist()
    first = service.values("path", points=x, band=0.95).json()
    again = service.values("path", points=x[::-1]).json()
    assert again["values"] == first["values"][::-1]
    assert np.all(np.array(first["lower"]) < first["values"])
    with mercer.open_live(folder / "walks.db") as other:
        assert other.ask(x).tolist() == first["values"]


def test_restart_picks_it_up(service, folder):
    first = service.values("path", points=[10, 20, 30]).json()
    with serving(Settings(store=str(folder / "walks.db"))) as again:
        assert again.values("path", points=[10, 20, 30]).json() == first


def test_curve_is_asked_once(service):
    first = service.client.get("/api/releases/path/curve?count=101").json()
    assert len(first["x"]) == 101
    assert first["bandwidth"] is None
    assert service.client.get("/api/releases/path").json()["answers"] == 101
    assert service.client.get("/api/releases/path/curve?count=101").json() == first
    assert service.client.get("/api/releases/path").json()["answers"] == 101


@pytest.mark.parametrize(
    "path",
    [
        "?bandwidth=7",
        "/curve?count=402",
        "/curve?from=10",
        "/curve?bandwidth=7",
        "/values?at=1&bandwidth=7",
        "/values?at=1&raw=true",
    ],
)
def test_what_a_live_release_cannot_do(service, path):
    assert service.error("GET", f"/api/releases/path{path}")[:2] == (422, "live")


def test_it_has_no_file(service):
    status, code, words = service.error("GET", "/api/releases/path/file")
    assert (status, code) == (404, "no_file")
    assert "live" in words


def test_bad_points_are_refused_before_they_join_the_queue(service):
    for points, code in (([101], "out_of_domain"), ([[1, 2]], "invalid"), (["x"], "invalid")):
        assert refusal(service.values("path", points=points))[:2] == (422, code)
    assert service.client.get("/api/releases/path").json()["answers"] == 0


def test_map_of_a_live_release(tmp_path):
    data = np.random.default_rng().uniform(0, 100, (300, 2))
    make = {"bounds": [(0, 100)] * 2, "epsilon": 1, "delta": 1e-6, "columns": ["a", "b"]}
    mercer.live(data, **make, store=tmp_path / "s.db", name="plane").close()
    with serving(Settings(folder=tmp_path)) as service:
        found = service.client.get("/api/releases/plane/map?side=5").json()
        assert np.shape(found["values"]) == (5, 5)
        wide = service.client.get("/api/releases/plane/map").json()
        assert len(wide["x"]) == 20  # a live release is not asked for more


class TestNames:
    def test_two_of_one_name_stop_the_start(self, folder):
        make_live(folder / "others.db")
        with pytest.raises(ValueError, match="two releases have the name path"):
            create_app(Settings(folder=folder))

    def test_two_of_one_name_later_are_answered_by_neither(self, service, folder):
        density = mercer.density([1.0, 2.0, 3.0], bounds=(0, 5), epsilon=1)
        density.save(folder / "path.json")
        assert service.error("GET", "/api/releases/path")[:2] == (409, "ambiguous")
        assert refusal(service.values("path", points=[1]))[0] == 409
        assert service.client.get("/api/releases").json() == {"releases": []}
        (folder / "path.json").unlink()
        assert service.values("path", points=[1]).status_code == 200

    def test_a_store_given_by_hand(self, folder, tmp_path):
        make_live(tmp_path / "more.db", "second")
        with serving(Settings(folder=folder, store=str(tmp_path / "more.db"))) as service:
            rows = service.client.get("/api/releases").json()["releases"]
            assert [row["name"] for row in rows] == ["path", "second"]

    def test_another_database_is_left_alone(self, service, folder, caplog):
        with closing(sqlite3.connect(folder / "other.db")) as other:
            other.execute("CREATE TABLE t (x)")
            other.commit()
        (folder / "other.db").chmod(0o600)
        (folder / "text.db").write_text("hello")
        rows = service.client.get("/api/releases").json()["releases"]
        assert [row["name"] for row in rows] == ["path"]
        assert service.client.get("/health").status_code == 200
        assert "cannot be used" in caplog.text

    def test_a_new_live_release_appears(self, service, folder):
        make_live(folder / "walks.db", "second")
        make_live(folder / "new.db", "third", kernel="gaussian")
        rows = service.client.get("/api/releases").json()["releases"]
        assert [row["name"] for row in rows] == ["path", "second", "third"]


class TestStore:
    def test_locked_and_free_again(self, service, monkeypatch):
        entry = service.app.state.answers.catalogue.get("path")
        known = service.values("path", points=[5]).json()
        ask = entry.release.ask
        with monkeypatch.context() as patch:

            def locked(_points):
                raise LiveUnavailable("store '/a/path' is held by another process")

            patch.setattr(entry.release, "ask", locked)
            service.app.state.answers._queues.clear()
            answer = service.values("path", points=[6])
            status, code, words = refusal(answer)
            assert (status, code) == (503, "store")
            assert "/a/path" not in words
            assert answer.headers["retry-after"] == "5"
        service.app.state.answers._queues.clear()
        assert entry.release.ask == ask
        assert service.values("path", points=[5]).json() == known

    def test_gone_and_back(self, service, folder, tmp_path):
        known = service.values("path", points=[5]).json()
        for end in ("", "-wal", "-shm"):
            path = folder / f"walks.db{end}"
            if path.exists():
                path.rename(tmp_path / path.name)
        assert refusal(service.values("path", points=[6]))[:2] == (503, "store")
        assert service.error("GET", "/health")[:2] == (503, "store")
        assert service.error("GET", "/api/releases/path")[:2] == (503, "store")
        for path in tmp_path.glob("walks.db*"):
            path.rename(folder / path.name)
        assert service.client.get("/health").status_code == 200
        assert service.values("path", points=[5]).json() == known

    def test_another_file_in_its_place_is_opened_anew(self, service, folder, tmp_path):
        service.values("path", points=[5])
        make_live(tmp_path / "new.db", bounds=(0, 10))
        for end in ("-wal", "-shm"):
            (folder / f"walks.db{end}").unlink(missing_ok=True)
        shutil.copy(tmp_path / "new.db", folder / "new")
        (folder / "new").chmod(0o600)
        (folder / "new").replace(folder / "walks.db")
        assert service.client.get("/api/releases/path").json()["bounds"] == [[0, 10]]
        assert refusal(service.values("path", points=[20]))[:2] == (422, "out_of_domain")

    def test_a_store_that_is_not_there_at_the_start(self, tmp_path):
        with serving(Settings(store=str(tmp_path / "late.db"), refresh_seconds=0)) as service:
            assert service.error("GET", "/health")[0] == 503
            assert service.client.get("/api/releases").json() == {"releases": []}
            make_live(tmp_path / "late.db")
            assert service.client.get("/health").json()["releases"] == 1

    def test_a_store_that_is_none(self):
        with pytest.raises(ValueError, match="postgresql"):
            create_app(Settings(store="mysql://x"))

    def test_full(self, service, monkeypatch):
        entry = service.app.state.answers.catalogue.get("path")

        def full(_points):
            raise LiveFull("the release can take no more points; those it answered stay")

        monkeypatch.setattr(entry.release, "ask", full)
        assert refusal(service.values("path", points=[6]))[:2] == (409, "full")


def test_postgresql(postgres, tmp_path):
    make_live(postgres, "kept")
    with serving(Settings(store=postgres, refresh_seconds=0)) as service:
        first = service.values("kept", points=[1, 2, 3]).json()
        assert service.values("kept", points=[3, 2]).json()["values"] == first["values"][:0:-1]
        assert service.client.get("/health").json()["releases"] == 1


def test_many_clients_share_commits(service, monkeypatch):
    """While one write is under way the others wait, and the next write answers them all."""
    entry = service.app.state.answers.catalogue.get("path")
    ask, sizes = entry.release.ask, []
    go, first = threading.Event(), threading.Event()

    def slow(points):
        sizes.append(len(points))
        if len(sizes) == 1:
            first.set()
            assert go.wait(30)
        return ask(points)

    monkeypatch.setattr(entry.release, "ask", slow)
    answers = {}

    def client(i):
        answers[i] = service.values("path", points=[i, i + 0.5, 50]).json()

    threads = [threading.Thread(target=client, args=(i,)) for i in range(20)]
    threads[0].start()
    assert first.wait(30)
    for thread in threads[1:]:
        thread.start()
    until(lambda: len(service.app.state.answers._queues[entry]._waiting) == 19)
    go.set()
    for thread in threads:
        thread.join()
    assert sizes == [3, 2 * 19 + 1]  # 50 is asked once
    for i, found in answers.items():
        assert found["points"] == [i, i + 0.5, 50]
        assert found["values"] == ask([i, i + 0.5, 50]).tolist()


class TestLiveQueue:
    """The queue alone, with doubles of live releases."""

    def run(self, ask, questions, **limits):
        async def main():
            queue = LiveQueue(ask, **{"most": 100, "together": 1000, **limits})
            tasks = [asyncio.ensure_future(queue.ask(np.array(q, dtype=float)[:, None])) for q in questions]
            found = await asyncio.gather(*tasks, return_exceptions=True)
            queue.close()
            return found

        return asyncio.run(main())

    def test_each_gets_its_own(self):
        seen = []

        def ask(points):
            seen.append(points[:, 0].tolist())
            return points[:, 0] * 10

        found = self.run(ask, [[3, 1], [2], [1, 1, 2]])
        assert [f.tolist() for f in found] == [[30, 10], [20], [10, 10, 20]]
        assert seen == [[1, 2, 3]]

    def test_an_error_of_one_fails_no_other(self):
        def ask(points):
            if 13 in points:
                raise LiveFull("no more")
            return points[:, 0]

        found = self.run(ask, [[1], [13], [2]])
        assert (found[0].tolist(), found[2].tolist()) == ([1], [2])
        assert isinstance(found[1], LiveFull)

    def test_a_store_that_is_gone_is_told_to_all_at_once(self):
        calls = []

        def ask(points):
            calls.append(len(points))
            raise LiveUnavailable("gone")

        found = self.run(ask, [[1], [2], [3]])
        assert all(isinstance(f, LiveUnavailable) for f in found)
        assert calls == [3]

    def test_groups_are_bounded(self):
        sizes = []

        def ask(points):
            sizes.append(len(points))
            return points[:, 0]

        self.run(ask, [[10 * i + j for j in range(4)] for i in range(5)], together=8)
        assert sizes == [8, 8, 4]
        sizes.clear()
        self.run(ask, [list(range(20))], together=8)  # one alone is never cut
        assert sizes == [20]

    def test_the_queue_ends(self):
        found = self.run(lambda points: points[:, 0], [[i] for i in range(5)], most=3)
        assert [getattr(f, "status_code", 200) for f in found] == [200] * 3 + [503] * 2

    def test_a_client_that_leaves_takes_nobody_along(self):
        async def main():
            go = threading.Event()

            def ask(points):
                assert go.wait(30)
                return points[:, 0]

            queue = LiveQueue(ask, most=10, together=100)
            first = asyncio.ensure_future(queue.ask(np.array([[1.0]])))
            await asyncio.sleep(0)
            second = asyncio.ensure_future(queue.ask(np.array([[2.0]])))
            await asyncio.sleep(0)
            first.cancel()
            go.set()
            assert (await second).tolist() == [2]
            queue.close()

        asyncio.run(main())


class TestOwner:
    @pytest.fixture
    def own(self, tmp_path):
        (tmp_path / "releases").mkdir()
        (tmp_path / "records").mkdir()
        text = "age\n" + "\n".join(f"{a:.2f}" for a in np.random.default_rng().uniform(0, 90, 400))
        (tmp_path / "records" / "a.csv").write_text(text)
        settings = Settings(
            folder=tmp_path / "releases", data=tmp_path / "records", token=TOKEN, refresh_seconds=0
        )
        with serving(settings) as service:
            service.client.headers.update(OWNER)
            fields = {"name": "a", "epsilon": 2, "delta": 1e-5}
            assert service.client.post("/api/owner/datasets", json=fields).status_code == 201
            yield tmp_path / "releases", service

    def make(self, service, **changes):
        fields = {
            "name": "walk",
            "kind": "live",
            "data": "a.csv",
            "dataset": "a",
            "columns": ["age"],
            "bounds": [[0, 100]],
            "epsilon": 1,
            "delta": 1e-6,
            "kernel": "matern32",
        }
        return service.client.post("/api/owner/releases", json={**fields, **changes})

    def test_made_asked_and_retired(self, own):
        folder, service = own
        details = self.make(service).json()
        assert (details["live"], details["dataset"], details["answers"]) == (True, "a", 0)
        assert (folder / "walk.db").stat().st_mode & 0o077 == 0
        assert not (folder / "walk.json").exists()
        assert service.values("walk", points=[1, 2]).status_code == 200
        assert len(service.client.get("/api/datasets/a").json()["charges"]) == 1
        assert refusal(self.make(service))[:2] == (409, "taken")
        assert refusal(self.make(service, kind="density"))[:2] == (409, "taken")
        assert service.client.delete("/api/owner/releases/walk").status_code == 200
        assert refusal(service.values("walk", points=[1]))[:2] == (410, "retired")
        assert (folder / "retired" / "walk.db").exists()
        assert not list(folder.glob("walk*"))
        assert refusal(self.make(service))[:2] == (409, "taken")
        assert service.client.get("/health").status_code == 200

    def test_a_refusal_leaves_nothing(self, own):
        folder, service = own
        assert refusal(self.make(service, epsilon=3))[:2] == (409, "budget")
        assert refusal(self.make(service, delta=None))[:2] == (422, "invalid")
        assert refusal(self.make(service, columns=["none"]))[:2] == (422, "invalid")
        assert not list(folder.glob("walk*"))
        assert service.client.get("/api/datasets/a").json()["charges"] == []
        assert self.make(service).status_code == 201

    def test_one_of_several_in_a_store_is_retired_alone(self, own):
        folder, service = own
        for name in ("one", "two"):
            make_live(folder / "both.db", name)
        first = service.values("two", points=[5]).json()
        assert service.client.delete("/api/owner/releases/one").status_code == 200
        assert refusal(service.values("one", points=[5]))[0] == 410
        assert service.values("two", points=[5]).json() == first
        assert (folder / "both.db").exists()
