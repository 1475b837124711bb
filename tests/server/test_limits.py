"""Large, slow, many and broken requests: each is refused clearly, and the others are answered."""

import json
import logging
import os
import signal
import socket
import threading
from contextlib import ExitStack

import numpy as np
import pytest

from mercer.server import Settings
from mercer.server.running import Protocol
from tests.helpers.serving import make_releases, refusal, serving, start, until

SMALL = {"body_bytes": 20_000, "body_seconds": 0.4, "workers": 1, "queue": 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("releases")
    make_releases(folder)
    return folder


@pytest.fixture
def service(folder):
    with serving(Settings(folder=folder, **SMALL)) as service:
        yield service


HEAD = "POST /api/releases/ages/values HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


def talk(service, text, *, wait=30):
    """Send bytes, and all that comes back until the server closes or is silent."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=wait) as line:
        line.sendall(text.encode())
        return read(line)


def read(line):
    held = b""
    while True:
        part = line.recv(65536)
        held += part
        head, _, body = held.partition(b"\r\n\r\n")
        size = [row for row in head.lower().split(b"\r\n") if row.startswith(b"content-length:")]
        if not part or (size and len(body) >= int(size[0].split(b":")[1])):
            break
    status = int(held.split(b" ")[1])
    fields = json.loads(body)
    if status >= 400:
        assert set(fields) == {"error"}
        assert set(fields["error"]) == {"code", "message"}
    return status, head.decode().lower(), fields


def test_a_body_that_announces_too_much_is_not_read(service):
    status, head, fields = talk(service, HEAD + "Content-Length: 20001\r\n\r\n")
    assert (status, fields["error"]["code"]) == (413, "too_large")
    assert "connection: close" in head


def test_a_chunked_body_is_counted(service):
    chunk = f"{4096:x}\r\n" + "1" * 4096 + "\r\n"
    text = HEAD + "Transfer-Encoding: chunked\r\n\r\n" + chunk * 5
    status, head, fields = talk(service, text)  # it never ends, and is answered all the same
    assert (status, fields["error"]["code"]) == (413, "too_large")
    assert "connection: close" in head


def test_a_chunked_body_of_a_fair_size_is_answered(service):
    body = json.dumps({"points": [1, 2]})
    text = HEAD + f"Transfer-Encoding: chunked\r\n\r\n{len(body):x}\r\n{body}\r\n0\r\n\r\n"
    assert talk(service, text)[0] == 200


@pytest.mark.parametrize("length", ["-1", "x", "1.5", "9" * 30])
def test_lengths_that_are_none(service, length):
    status, _, fields = talk(service, HEAD + f"Content-Length: {length}\r\n\r\n")
    assert status in (400, 413)
    assert fields["error"]["code"] in ("bad_request", "too_large")


@pytest.mark.parametrize("text", ["hello\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\0\0\0"])
def test_what_is_no_http(service, text):
    status, head, fields = talk(service, text)
    assert (status, fields["error"]["code"]) == (400, "bad_request")
    assert "connection: close" in head


def test_a_slow_body_is_given_up_and_stops_nobody(service):
    with ExitStack() as stack:
        lines = []
        for _ in range(20):
            line = stack.enter_context(socket.create_connection(("127.0.0.1", service.port), timeout=30))
            line.sendall((HEAD + 'Content-Length: 1000\r\n\r\n{"points": [1').encode())
            lines.append(line)
        for _ in range(5):
            assert service.values(points=[1, 2], band=0.95).status_code == 200
        for line in lines:
            status, head, fields = read(line)
            assert (status, fields["error"]["code"]) == (408, "too_slow")
            assert "connection: close" in head


def test_a_body_cannot_be_drawn_out(service):
    """A byte now and then does not buy more time."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as line:
        line.sendall((HEAD + "Content-Length: 100000\r\n\r\n"[:-2]).replace("100000", "9000").encode())
        line.sendall(b"\r\n")
        stop = threading.Event()

        def drip():
            while not stop.wait(0.05):
                try:
                    line.sendall(b" ")
                except OSError:
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            assert read(line)[0] == 408
        finally:
            stop.set()
            thread.join()


def test_a_slow_head_is_given_up(service, monkeypatch):
    monkeypatch.setattr(Protocol, "head_seconds", 0.3)
    status, head, fields = talk(service, "GET /health HTTP/1.1\r\nHost:")
    assert (status, fields["error"]["code"]) == (408, "too_slow")
    assert "connection: close" in head
    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as line:
        assert line.recv(1) == b""  # nothing asked, nothing answered
    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as line:
        line.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        assert read(line)[0] == 200
        line.sendall(b"GET /hea")  # the second on the same connection
        assert read(line)[0] == 408


def test_a_head_ends(service):
    status, _, fields = talk(service, "GET /health HTTP/1.1\r\n" + "X: " + "x" * 70_000)
    assert (status, fields["error"]["code"]) == (431, "too_large")


def test_a_client_that_leaves(service, caplog):
    with caplog.at_level(logging.WARNING):
        for text in (HEAD + "Content-Length: 1000\r\n\r\n{", "GET /api/releases/ages/curve", ""):
            with socket.create_connection(("127.0.0.1", service.port)) as line:
                line.sendall(text.encode())
        assert service.client.get("/health").status_code == 200
    assert not [r for r in caplog.records if r.levelno >= logging.ERROR]


def test_where_too_many_wait_the_next_is_told_to_come_back(service):
    """One thread and two places in the queue; light questions need neither."""
    release = service.app.state.answers.catalogue.get("ages").release
    go, entered, band = threading.Event(), threading.Event(), release.band

    def slow(*args, **options):
        entered.set()
        assert go.wait(30)
        return band(*args, **options)

    object.__setattr__(release, "band", slow)
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(service.values(points=[1], band=0.9)))
        for _ in range(3)
    ]
    work = service.app.state.answers.work
    try:
        for thread in threads:
            thread.start()
        assert entered.wait(30)
        until(lambda: work._under_way == 3)
        refused = service.values(points=[1], band=0.9)
        assert refusal(refused)[:2] == (503, "busy")
        assert refused.headers["retry-after"] == "1"
        assert refusal(service.client.get("/api/releases/both/map"))[0] == 503
        assert service.values(points=[1, 2]).status_code == 200
        assert service.client.get("/health").status_code == 200
    finally:
        go.set()
        for thread in threads:
            thread.join()
        object.__delattr__(release, "band")
    assert [a.status_code for a in answers] == [200] * 3
    assert service.values(points=[1], band=0.9).status_code == 200


def test_more_requests_than_may_be_under_way(folder):
    with serving(Settings(folder=folder, requests=2)) as service, ExitStack() as stack:
        for _ in range(2):
            line = stack.enter_context(socket.create_connection(("127.0.0.1", service.port)))
            line.sendall((HEAD + "Content-Length: 1000\r\n\r\n{").encode())
        until(lambda: service.client.get("/health").status_code == 503)
        answer = service.client.get("/health")
        assert refusal(answer)[:2] == (503, "busy")
        stack.close()
        until(lambda: service.client.get("/health").status_code == 200)


def test_many_clients_at_once_get_their_own_answers(folder):
    """Questions that are evaluated together do not mix."""
    with serving(Settings(folder=folder)) as service:
        release = service.app.state.answers.catalogue.get("ages").release
        wrong = []

        def ask(i):
            x = np.linspace(i, i + 1, 3 + i).tolist()
            for raw in (False, True, False):
                found = service.values(points=x, raw=raw).json()
                if found["points"] != x or found["values"] != release(x, raw=raw).tolist():
                    wrong.append(i)

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


def test_large_questions_go_to_threads_and_are_the_same(folder, rng):
    with serving(Settings(folder=folder, light=10)) as service:
        release = service.app.state.answers.catalogue.get("ages").release
        for count in (9, 11, 5000, 10_000):
            x = rng.uniform(0, 100, count)
            assert service.values(points=x.tolist()).json()["values"] == release(x).tolist()


@pytest.mark.parametrize("sign", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_finishes_what_is_under_way(folder, sign):
    process, port, said = start([folder])
    assert "serves 4 releases" in said
    assert "Owner side: off" in said
    assert "Stop with Ctrl+C" in said
    with socket.create_connection(("127.0.0.1", port), timeout=30) as line:
        body = json.dumps({"points": [1, 2, 3]})
        line.sendall((HEAD + f"Content-Length: {len(body)}\r\n\r\n{body[:5]}").encode())
        with socket.create_connection(("127.0.0.1", port), timeout=30) as other:
            other.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert read(other)[0] == 200  # so the first was seen before
        os.kill(process.pid, sign)
        until(lambda: refused(port))
        line.sendall(body[5:].encode())
        status, _, fields = read(line)
        assert (status, fields["points"]) == (200, [1, 2, 3])
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out == "Stopped.\n"
    assert "Traceback" not in err
    assert "POST /api/releases/{name}/values 200" in err


def refused(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return True
    return False
