"""A server killed again and again in a storm of live questions: no two answers for one point.

Eight clients ask a running `mercer serve` at random points of three live releases (exponential and
Matern 5/2 paths, and a growing factor in the plane), a few points a request, many of them asked
before.  The server is killed (SIGKILL) at a random moment and started again, a hundred times.
Every answer that a client ever saw is written down, and each later one must be the same to the
last bit; at the end a fresh server is asked for all of them once more.

    python -m studies.crashes.service_crashes                       # SQLite
    MERCER_TEST_POSTGRES=postgresql://… python -m studies.crashes.service_crashes   # and PostgreSQL

With --fault answers are sent before they are stored, which the study must see.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import random
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import mercer

CLIENTS, POOL, PATIENCE = 8, 4000, 60
AT_ONCE = 50  # points a question, when a fresh server is asked for all of them
NAMES = ("line", "curve", "plane")

# answers stay in the server's memory instead of going to the disk first
FAULT = """
import sys
from contextlib import contextmanager
from mercer.online.store import Memory
from mercer.online.sql import Tables
kept = Memory()
@contextmanager
def writing(self, name):
    if name not in kept.names():
        kept.create(self.load(name))
    with kept.writing(name) as pen:
        yield pen
Tables.reading = Tables.writing = writing
from mercer.cli.app import main
main(sys.argv[1:])
"""


@dataclass
class Log:
    """What the clients saw."""

    kills: int = 0
    requests: int = 0
    answers: int = 0
    refused: int = 0  # requests without an answer: the server was away
    mismatches: int = 0
    seen: dict[tuple[str, tuple[float, ...]], float] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, name: str, points: list[list[float]], values: list[float]) -> None:
        with self.lock:
            self.requests += 1
            for point, value in zip(points, values, strict=True):
                self.answers += 1
                if self.seen.setdefault((name, tuple(point)), value) != value:
                    self.mismatches += 1


class Server:
    """`mercer serve` in a process of its own."""

    def __init__(self, arguments: list[str], fault: bool) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        program = ["-c", FAULT] if fault else ["-m", "mercer"]
        self._command = [sys.executable, "-W", "ignore", *program, "serve", *arguments]
        self._command += ["--port", str(self.port)]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(self._command, **quiet)
        limit = time.monotonic() + PATIENCE
        while time.monotonic() < limit:
            try:
                if call(self.port, "GET", "/health")[0] == 200:
                    return
            except OSError:
                time.sleep(0.02)
        raise SystemExit("the server did not start")

    def kill(self, how: int = signal.SIGKILL) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait()


def call(port: int, method: str, path: str, body: object = None) -> tuple[int, dict[str, object]]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read() or b"{}")
    except http.client.HTTPException as error:
        raise OSError(str(error)) from error
    finally:
        connection.close()


def question(rng: random.Random) -> tuple[str, list[list[float]]]:
    """A few points of one release, from a pool that repeats."""
    name = rng.choices(NAMES, (5, 5, 1))[0]
    pool = POOL if name != "plane" else POOL // 20
    columns = 2 if name == "plane" else 1
    spots = [random.Random(rng.randrange(pool)) for _ in range(rng.randint(1, 8))]
    return name, [[spot.uniform(0, 100) for _ in range(columns)] for spot in spots]


def client(port: int, log: Log, stop: threading.Event) -> None:
    rng = random.Random(secrets.randbits(64))
    while not stop.is_set():
        name, points = question(rng)
        try:
            status, reply = call(port, "POST", f"/api/releases/{name}/values", {"points": points})
        except (OSError, ValueError):
            status, reply = 0, {}
        if status == 200:
            log.note(name, points, reply["values"])  # type: ignore[arg-type]
        elif status in (0, 503):
            with log.lock:
                log.refused += 1
            time.sleep(0.1)
        else:
            raise SystemExit(f"unexpected answer {status}: {reply}")


def releases(store: str) -> None:
    rng = np.random.default_rng()
    rows = rng.normal(50, 15, (5000, 2))
    shared = {"epsilon": 1, "delta": 1e-6, "store": store}
    for name, kernel in (("line", "exponential"), ("curve", "matern52")):
        mercer.live(rows[:, 0], bounds=(0, 100), bandwidth=5, kernel=kernel, name=name, **shared).close()
    mercer.live(
        rows, bounds=[(0, 100)] * 2, bandwidth=12, kernel="exponential", name="plane", **shared
    ).close()


def storm(arguments: list[str], kills: int, fault: bool) -> Log:
    server, log, stop = Server(arguments, fault), Log(), threading.Event()
    server.start()
    clients = [threading.Thread(target=client, args=(server.port, log, stop)) for _ in range(CLIENTS)]
    for thread in clients:
        thread.start()
    try:
        for _ in range(kills):
            busy, limit = log.requests, time.monotonic() + PATIENCE
            while log.requests < busy + 20 and time.monotonic() < limit:
                time.sleep(0.005)
            time.sleep(random.uniform(0, 0.2))
            server.kill()
            log.kills += 1
            server.start()
    finally:
        stop.set()
        for thread in clients:
            thread.join()
    for name in NAMES:
        again = [list(point) for seen, point in log.seen if seen == name]
        for start in range(0, len(again), AT_ONCE):
            some = again[start : start + AT_ONCE]
            status, reply = call(server.port, "POST", f"/api/releases/{name}/values", {"points": some})
            if status != 200:
                raise SystemExit(f"answered points were refused with {status}")
            log.note(name, some, reply["values"])  # type: ignore[arg-type]
    server.kill(signal.SIGTERM)
    return log


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--quick", action="store_true", help="two kills")
    parser.add_argument("--fault", action="store_true", help="send before storing: must be seen")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    kills = 2 if options.quick else options.kills
    order = "sent before they are stored" if options.fault else "stored before they are sent"
    lines = [
        f"mercer {mercer.__version__}, Python {platform.python_version()}, {os.cpu_count()} cores; "
        f"{CLIENTS} clients, answers {order}"
    ]
    failed = False
    for kind in ("SQLite", "PostgreSQL"):
        url = os.environ.get("MERCER_TEST_POSTGRES")
        if kind == "PostgreSQL" and not url:
            lines.append("PostgreSQL: not run; set MERCER_TEST_POSTGRES to the URL of a server")
            continue
        with tempfile.TemporaryDirectory() as folder:
            arguments = [folder]
            if kind == "SQLite":
                releases(str(Path(folder) / "storm.db"))
            else:
                place = _schema(str(url))
                releases(place)
                arguments += ["--store", place]
            log = storm(arguments, kills, options.fault)
        failed = failed or log.mismatches > 0
        lines.append(
            f"{kind}: {log.kills} kills, {log.requests} requests answered, {log.refused} not, "
            f"{log.answers} answers at {len(log.seen)} points, {log.mismatches} mismatches"
        )
        print(lines[-1], flush=True)
    options.out.mkdir(parents=True, exist_ok=True)
    if not options.fault:
        (options.out / "service_crashes.txt").write_text("\n".join(lines) + "\n")
    if failed != options.fault:
        raise SystemExit("FAILED" if failed else "the fault was not seen")


def _schema(url: str) -> str:
    """A place of its own in the database."""
    import psycopg

    name = f"storm_{secrets.token_hex(6)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{name}"


if __name__ == "__main__":
    main()
