"""The owner side: tokens, files of records, budgets, releases made and retired."""

import errno
import itertools
import json
import logging
import os
import stat
import threading

import numpy as np
import pytest

import mercer
from mercer.online.sql import Tables
from mercer.releases.base import Release
from mercer.server import Settings, create_app, owner
from mercer.server.settings import read_token
from tests.helpers.serving import OWNER, TOKEN, refusal, serving


@pytest.fixture
def places(tmp_path):
    for name in ("releases", "records"):
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.fixture
def settings(places):
    return Settings(folder=places / "releases", data=places / "records", token=TOKEN, refresh_seconds=0)


@pytest.fixture
def service(settings):
    with serving(settings) as service:
        service.client.headers.update(OWNER)
        yield service


def records(n=500):
    ages = np.clip(np.random.default_rng().normal(50, 15, n), 0, 100)
    return "age,patient\n" + "\n".join(f"{age:.3f},{i // 2}" for i, age in enumerate(ages))


def upload(service, name="admissions.csv", text=None):
    return service.client.put(f"/api/owner/data/{name}", content=text or records())


@pytest.fixture
def ready(service):
    """Records, and a dataset with a total of epsilon = 2."""
    assert upload(service).status_code == 201
    fields = {"name": "admissions", "epsilon": 2, "delta": 1e-5, "data": "admissions.csv"}
    assert service.client.post("/api/owner/datasets", json=fields).status_code == 201
    return service


WANTED = {
    "name": "ages",
    "data": "admissions.csv",
    "dataset": "admissions",
    "columns": ["age"],
    "bounds": [[0, 100]],
    "epsilon": 1,
}


def make(service, **changes):
    return service.client.post("/api/owner/releases", json={**WANTED, **changes})


def spent(service):
    return service.client.get("/api/datasets/admissions").json()["left"]["spent_epsilon"]


class TestToken:
    ROUTES = (
        ("GET", "/api/owner/data"),
        ("PUT", "/api/owner/data/x.csv"),
        ("POST", "/api/owner/datasets"),
        ("POST", "/api/owner/releases"),
        ("DELETE", "/api/owner/releases/ages"),
        ("GET", "/api/owner"),
        ("GET", "/api/owner/none"),
    )

    WRONG = (
        None,
        "",
        "Bearer",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer ümlaut",
    )

    def test_off_unless_there_is_a_token(self, places):
        with serving(Settings(folder=places / "releases")) as service:
            for method, path in self.ROUTES:
                assert service.error(method, path, headers=OWNER)[:2] == (404, "not_found")

    def test_wrong_tokens(self, places, service):
        service.client.headers.pop("Authorization")
        for (method, path), given in itertools.product(self.ROUTES, self.WRONG):
            headers = {} if given is None else {"Authorization": given.encode("latin-1")}
            answer = service.client.request(method, path, headers=headers)
            assert refusal(answer)[:2] == (401, "unauthorized"), (method, path, given)
            assert answer.headers["www-authenticate"] == "Bearer"
        assert not list((places / "records").iterdir())

    def test_it_is_compared_in_constant_time(self, settings, monkeypatch):
        from mercer.server import guard

        seen = []
        compare = guard.hmac.compare_digest
        monkeypatch.setattr(guard.hmac, "compare_digest", lambda a, b: seen.append((a, b)) or compare(a, b))
        with serving(settings) as service:
            service.client.get("/api/owner/data", headers=OWNER)
            service.client.get("/api/owner/data", headers={"Authorization": "Bearer x"})
        assert seen == [(TOKEN.encode(), TOKEN.encode()), (b"x", TOKEN.encode())]

    def test_file_of_the_token(self, tmp_path):
        path = tmp_path / "token"
        path.write_text(TOKEN + "\n")
        for mode in (0o644, 0o640, 0o604, 0o620, 0o660):
            path.chmod(mode)
            with pytest.raises(ValueError, match="chmod 600") as caught:
                read_token(path)
            assert TOKEN not in str(caught.value)
        path.chmod(0o600)
        assert read_token(path) == TOKEN
        for text in ("", "short", "x" * 31, "two words " * 5, "ü" * 40):
            path.write_text(text)
            with pytest.raises(ValueError, match="at least 32 printable") as caught:
                read_token(path)
            assert not text or text not in str(caught.value)

    def test_the_log_holds_neither_tokens_nor_names_of_files(self, ready, caplog):
        with caplog.at_level(logging.DEBUG):
            caplog.clear()
            upload(ready, "salaries.csv")
            make(ready)
            ready.client.get("/api/owner/data", headers={"Authorization": "Bearer wrong-token"})
        text = "\n".join(r.getMessage() for r in caplog.records if r.name.startswith("mercer"))
        assert "PUT /api/owner/data/{filename} 201" in text
        for word in (TOKEN, "wrong-token", "salaries", "admissions", "ages"):
            assert word not in text


class TestUploads:
    def test_an_upload_is_whole_private_and_listed(self, service, places):
        text = records(3000)
        answer = upload(service, text=text)
        assert answer.json() == {"name": "admissions.csv", "bytes": len(text)}
        path = places / "records" / "admissions.csv"
        assert path.read_text() == text
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert service.client.get("/api/owner/data").json() == {
            "files": [{"name": "admissions.csv", "bytes": len(text)}]
        }
        assert [p.name for p in (places / "records").iterdir()] == ["admissions.csv"]

    def test_nothing_is_overwritten(self, service, places):
        upload(service, text="age\n1\n2\n")
        assert refusal(upload(service))[:2] == (409, "taken")
        assert (places / "records" / "admissions.csv").read_text() == "age\n1\n2\n"

    def test_two_at_once_and_one_gets_the_name(self, service, places):
        answers = []

        def put(letter):
            text = f"age\n{letter * 200_000}\n"
            answers.append(service.client.put("/api/owner/data/x.csv", content=text))

        threads = [threading.Thread(target=put, args=(letter,)) for letter in "1234"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(a.status_code for a in answers) == [201, 409, 409, 409]
        assert len(set((places / "records" / "x.csv").read_text().split()[1])) == 1
        assert [p.name for p in (places / "records").iterdir()] == ["x.csv"]

    NAMES = (
        "x.exe",
        "x",
        ".csv",
        ".hidden.csv",
        "a..csv",
        "x.csv.mercer-ledger",
        "%2e%2e%2fx.csv",
        "..%5cx.csv",
        "a%20b.csv",
        "%00.csv",
        "x" * 200 + ".csv",
        "-x.csv",
        "a%0a.csv",
    )

    def test_names_that_are_refused(self, service, places):
        for name in self.NAMES:
            answer = service.client.put(f"/api/owner/data/{name}", content="age\n1\n")
            assert refusal(answer)[0] in (404, 422), name
        assert not list((places / "records").iterdir())
        assert sorted(p.name for p in places.iterdir()) == ["records", "releases"]

    def test_an_empty_body_is_no_file(self, service, places):
        assert refusal(service.client.put("/api/owner/data/x.csv"))[:2] == (422, "empty")
        assert not list((places / "records").iterdir())

    def test_too_large(self, places):
        small = Settings(folder=places / "releases", data=places / "records", token=TOKEN, upload_bytes=1000)
        with serving(small) as service:
            answer = service.client.put("/api/owner/data/x.csv", content=b"1" * 1001, headers=OWNER)
            assert refusal(answer)[:2] == (413, "too_large")

            def pieces():  # chunked: no length is announced
                for _ in range(100):
                    yield b"1" * 100

            answer = service.client.put("/api/owner/data/x.csv", content=pieces(), headers=OWNER)
            assert refusal(answer)[:2] == (413, "too_large")
            assert not list((places / "records").iterdir())

    def test_a_full_disk_leaves_nothing(self, service, places, monkeypatch):
        def full(*_args):
            raise OSError(errno.ENOSPC, "No space left on device", "/a/path")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            status, code, words = refusal(upload(service))
        assert (status, code) == (503, "storage")
        assert "full" in words
        assert "/a/path" not in words
        assert not list((places / "records").iterdir())
        assert upload(service).status_code == 201

    def test_a_link_that_leads_out_is_not_followed(self, ready, places):
        outside = places / "outside.csv"
        outside.write_text(records())
        (places / "records" / "link.csv").symlink_to(outside)
        (places / "records" / "inside.csv").symlink_to(places / "records" / "admissions.csv")
        names = [f["name"] for f in ready.client.get("/api/owner/data").json()["files"]]
        assert names == ["admissions.csv", "inside.csv"]
        assert refusal(make(ready, data="link.csv"))[:2] == (404, "no_data")
        assert refusal(upload(ready, "link.csv"))[:2] == (409, "taken")
        assert spent(ready) == 0

    def test_a_cut_off_upload_is_cleared_away_a_day_later(self, settings, places):
        old, new = (places / "records" / f".mercer-upload-{x}" for x in ("old", "new"))
        for path in (old, new):
            path.write_text("age\n1")
        os.utime(old, (0, 0))
        create_app(settings).state.answers.close()
        assert [p.name for p in (places / "records").iterdir()] == [new.name]


class TestDatasets:
    def test_registered_and_seen_by_all(self, ready):
        ready.client.headers.pop("Authorization")
        view = ready.client.get("/api/datasets/admissions").json()
        assert (view["epsilon"], view["delta"], view["unit"]) == (2, 1e-5, "row")
        assert view["charges"] == []
        assert view["left"]["pure"] == view["left"]["epsilon"] == 2
        assert view["left"]["delta"] == 1e-5
        assert "total epsilon = 2" in view["words"]

    def test_totals_are_never_changed(self, ready):
        fields = {"name": "admissions", "epsilon": 9}
        answer = ready.client.post("/api/owner/datasets", json=fields)
        assert refusal(answer)[:2] == (409, "taken")
        assert ready.client.get("/api/datasets/admissions").json()["epsilon"] == 2

    WRONG = (
        {"epsilon": 0},
        {"epsilon": -1},
        {"epsilon": "1"},
        {"delta": 1},
        {"delta": -1e-9},
        {"name": "a/b"},
        {"name": ".."},
        {"name": ""},
        {"extra": 1},
        {"epsilon": True},
        {"data": "../x.csv"},
        {"unit": ""},
    )

    def test_wrong_arguments(self, service):
        for changes in self.WRONG:
            fields = {"name": "visits", "epsilon": 1, **changes}
            answer = service.client.post("/api/owner/datasets", json=fields)
            assert refusal(answer)[:2] == (422, "invalid"), changes
        for number in ("NaN", "Infinity", "1e999", "-Infinity"):
            body = f'{{"name": "visits", "epsilon": {number}}}'
            headers = {"Content-Type": "application/json"}
            answer = service.client.post("/api/owner/datasets", content=body, headers=headers)
            assert refusal(answer)[0] == 422, number

    def test_missing_data(self, service):
        fields = {"name": "visits", "epsilon": 1, "data": "none.csv"}
        answer = service.client.post("/api/owner/datasets", json=fields)
        assert refusal(answer)[:2] == (404, "no_data")

    def test_bodies_that_are_no_json(self, service):
        for path, body in itertools.product(
            ("/api/owner/datasets", "/api/owner/releases"), (b"", b"{", b"[]", b"7", b"\xff")
        ):
            headers = {"Content-Type": "application/json"}
            assert refusal(service.client.post(path, content=body, headers=headers))[0] in (400, 422)


class TestReleases:
    def test_made_saved_charged_and_answered(self, ready, places):
        answer = make(ready)
        assert answer.status_code == 201
        details = answer.json()
        assert details["dataset"] == "admissions"
        assert details["statement"]["n"] == 500
        assert details["private"] is True
        stored = mercer.load(places / "releases" / "ages.json")
        assert ready.values(points=[40]).json()["values"] == stored([40]).tolist()
        view = ready.client.get("/api/datasets/admissions").json()
        assert [(c["number"], c["epsilon"], c["what"]) for c in view["charges"]] == [(1, 1, "density of age")]
        assert ready.client.get("/api/releases/ages").json() == details

    def test_everything_is_there_after_a_restart(self, ready, settings):
        details = make(ready).json()
        make(ready, name="gone", epsilon=0.1)
        ready.client.delete("/api/owner/releases/gone")
        with serving(settings) as again:
            assert again.client.get("/api/releases/ages").json() == details
            assert again.error("GET", "/api/releases/gone")[:2] == (410, "retired")

    def test_budget(self, ready, places):
        assert make(ready, epsilon=1.5).status_code == 201
        status, code, words = refusal(make(ready, name="more", epsilon=1.5))
        assert (status, code) == (409, "budget")
        assert "epsilon up to 0.5" in words
        assert not (places / "releases" / "more.json").exists()
        assert make(ready, name="more", epsilon=0.4).status_code == 201

    WRONG = (
        ({"name": "../x"}, 422, "invalid"),
        ({"name": "a..b"}, 422, "invalid"),
        ({"name": "a/b"}, 422, "invalid"),
        ({"name": ""}, 422, "invalid"),
        ({"name": "x" * 65}, 422, "invalid"),
        ({"name": ".x"}, 422, "invalid"),
        ({"name": "a\n"}, 422, "invalid"),
        ({"data": "none.csv"}, 404, "no_data"),
        ({"data": "../x.csv"}, 422, "invalid"),
        ({"data": "/etc/passwd"}, 422, "invalid"),
        ({"dataset": "none"}, 404, "no_dataset"),
        ({"columns": []}, 422, "invalid"),
        ({"columns": ["none"]}, 422, "invalid"),
        ({"bounds": [[100, 0]]}, 422, "invalid"),
        ({"bounds": [[0, 1], [0, 1]]}, 422, "invalid"),
        ({"bounds": [[0]]}, 422, "invalid"),
        ({"epsilon": 0}, 422, "invalid"),
        ({"epsilon": -1}, 422, "invalid"),
        ({"epsilon": None}, 422, "invalid"),
        ({"delta": 1}, 422, "invalid"),
        ({"kind": "curve"}, 422, "invalid"),
        ({"kernel": "none"}, 422, "invalid"),
        ({"bandwidth": -1.0}, 422, "invalid"),
        ({"bandwidth": "wide"}, 422, "invalid"),
        ({"boundary": "none"}, 422, "invalid"),
        ({"missing": "none"}, 422, "invalid"),
        ({"unit": "patient"}, 422, "unit"),
        ({"rng": 1}, 422, "invalid"),
        ({"ledger": "x"}, 422, "invalid"),
    )

    def test_wrong_arguments_spend_nothing(self, ready, places):
        for changes, status, code in self.WRONG:
            assert refusal(make(ready, **changes))[:2] == (status, code), changes
        assert spent(ready) == 0
        assert not [p for p in (places / "releases").iterdir() if p.suffix == ".json"]

    def test_a_name_is_taken_before_anything_is_spent(self, ready, places):
        make(ready, epsilon=0.5)
        assert refusal(make(ready, epsilon=0.5))[:2] == (409, "taken")
        (places / "releases" / "mine.json").write_text("not a release")
        (places / "releases" / "theirs.db").write_text("no store")
        for name in ("mine", "theirs", "ledger"):
            assert refusal(make(ready, name=name))[:2] == (409, "taken")
        assert (places / "releases" / "mine.json").read_text() == "not a release"
        assert spent(ready) == 0.5

    def test_many_at_once_for_one_name_spend_once(self, ready):
        answers = []
        threads = [
            threading.Thread(target=lambda: answers.append(make(ready, epsilon=0.25))) for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(a.status_code for a in answers) == [201] + [409] * 5
        assert spent(ready) == 0.25

    def test_two_services_on_one_folder_spend_once(self, ready, settings):
        answers = []
        with serving(settings) as other:
            other.client.headers.update(OWNER)
            threads = [
                threading.Thread(target=lambda s=s: answers.append(make(s, epsilon=0.25)))
                for s in (ready, other) * 3
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sorted(a.status_code for a in answers) == [201] + [409] * 5
            assert spent(other) == 0.25
            assert other.values(points=[1]).json() == ready.values(points=[1]).json()

    def test_persons(self, service):
        upload(service)
        fields = {"name": "admissions", "epsilon": 2, "unit": "patient"}
        service.client.post("/api/owner/datasets", json=fields)
        assert refusal(make(service))[:2] == (422, "unit")
        details = make(service, unit="patient").json()
        assert (details["statement"]["unit"], details["statement"]["n"]) == ("patient", 250)

    def test_data_counted_elsewhere_are_refused(self, ready):
        fields = {"name": "other", "epsilon": 5}
        ready.client.post("/api/owner/datasets", json=fields)
        status, code, words = refusal(make(ready, dataset="other"))
        assert (status, code) == (409, "counted")
        assert "'admissions'" in words
        again = {"name": "again", "epsilon": 5, "data": "admissions.csv"}
        answer = ready.client.post("/api/owner/datasets", json=again)
        assert refusal(answer)[:2] == (409, "counted")
        view = ready.client.get("/api/datasets/other").json()
        assert view["charges"] == []

    def test_a_full_disk_before_and_after_the_charge(self, ready, places, monkeypatch):
        with monkeypatch.context() as patch:
            patch.setattr(owner, "_ROOM", 1 << 62)
            assert refusal(make(ready))[:2] == (503, "storage")
        assert spent(ready) == 0
        assert not (places / "releases" / "ages.json").exists()

        def full(*_args):
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(Release, "save", full)
            status, code, words = refusal(make(ready))
            assert (status, code) == (503, "unsaved")
            assert "without another charge" in words
            assert refusal(make(ready))[:2] == (503, "unsaved")
            assert ready.error("GET", "/api/releases/ages")[0] == 404
        assert spent(ready) == 1
        assert refusal(make(ready, epsilon=0.5))[:2] == (409, "taken")  # another request
        assert make(ready).status_code == 201
        assert spent(ready) == 1
        assert ready.values(points=[40]).status_code == 200

    def test_a_live_release_that_its_store_does_not_take(self, ready, monkeypatch):
        """What was paid for is served all the same: as the release that it stands on."""

        def full(*_):
            raise OSError(errno.ENOSPC, "No space left on device")

        wanted = {"kind": "live", "delta": 1e-6, "kernel": "matern32"}
        with monkeypatch.context() as patch:
            patch.setattr(Tables, "create", full)
            assert make(ready, **wanted).status_code == 201
        assert spent(ready) == 1
        assert ready.values(points=[40]).status_code == 200

    def test_a_ledger_that_is_gone_and_back(self, ready, places):
        ledger = places / "releases" / "ledger.db"
        make(ready, epsilon=0.5)
        text = ledger.read_bytes()
        ledger.write_bytes(b"damaged" * 1000)
        status, code, words = ready.error("GET", "/api/datasets/admissions")
        assert (status, code) == (503, "ledger")
        assert str(places) not in words
        assert refusal(make(ready, name="more"))[0] == 503
        assert ready.values(points=[40]).status_code == 200
        ledger.write_bytes(text)
        assert make(ready, name="more", epsilon=0.5).status_code == 201
        assert spent(ready) == 1


class TestRetire:
    def test_it_is_gone_for_ever(self, ready, places):
        make(ready, epsilon=0.5)
        answer = ready.client.delete("/api/owner/releases/ages")
        assert answer.json() == {"name": "ages", "status": "retired"}
        for path in ("", "/file", "/statement", "/curve", "/values?at=1"):
            assert ready.error("GET", f"/api/releases/ages{path}")[:2] == (410, "retired")
        assert refusal(ready.values(points=[1]))[0] == 410
        assert ready.client.get("/api/releases").json() == {"releases": []}
        assert (places / "releases" / "retired" / "ages.json").exists()
        assert not (places / "releases" / "ages.json").exists()
        assert refusal(make(ready, epsilon=0.5))[:2] == (409, "taken")
        assert ready.error("DELETE", "/api/owner/releases/ages")[:2] == (410, "retired")
        assert spent(ready) == 0.5

    def test_a_file_put_back_by_hand_stays_retired(self, ready, places):
        make(ready)
        text = (places / "releases" / "ages.json").read_bytes()
        ready.client.delete("/api/owner/releases/ages")
        (places / "releases" / "ages.json").write_bytes(text)
        assert ready.error("GET", "/api/releases/ages")[:2] == (410, "retired")

    def test_what_is_not_there(self, ready):
        for name in ("none", "a..b", "%2e%2e"):
            assert ready.error("DELETE", f"/api/owner/releases/{name}")[0] == 404

    def test_a_crash_between_note_and_move(self, ready, monkeypatch):
        make(ready)
        with monkeypatch.context() as patch:
            patch.setattr(owner.Maker, "_put_away", lambda *_: (_ for _ in ()).throw(OSError(5, "x")))
            assert ready.error("DELETE", "/api/owner/releases/ages")[0] == 503
        assert ready.error("GET", "/api/releases/ages")[:2] == (410, "retired")

    def test_a_damaged_note_stops_the_start(self, ready, settings, places):
        make(ready)
        ready.client.delete("/api/owner/releases/ages")
        note = places / "releases" / ".mercer-service.json"
        good = note.read_text()
        for text in ("{", json.dumps({"version": 1}), json.dumps({"version": 99})):
            note.write_text(text)
            with pytest.raises(ValueError, match="restore it|upgrade"):
                create_app(settings)
        note.write_text(good)
        create_app(settings).state.answers.close()
