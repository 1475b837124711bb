"""How many questions a second does the service answer, beside a bare FastAPI endpoint?

One Uvicorn worker each (uvloop, httptools, no log), the same client over loopback with the same
number of open connections, taking turns.  The bare endpoint computes nothing: it returns the same
JSON from memory.
"""  # noqa: D400

from __future__ import annotations

import asyncio
import json
import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, contextmanager
from importlib.metadata import version
from pathlib import Path

import numpy as np

import mercer
from common import options, report, table, verdict

NOTE = """\
{connections} connections, {seconds:g} seconds a turn, {turns} turns each; requests a second are the
median of the turns, and so are the quantiles of the time from request to answer.  A request holds
{points} points of one column.  *Bare, from memory*: `async def` that returns a dictionary.  *Bare,
validated*: the question is a Pydantic model and so is the answer.  Client and server share {cores}
cores, so both are slower than they would be alone.  {versions}."""

LIVE = """\
**Live answers.**  A live release with an exponential kernel in a SQLite file; new answers are on
the disk before they are sent.  SQLite alone commits one row {commits:,.0f} times a second here:
clients that wait together share a commit, so more of them get more answers."""

BARE = """
import json, sys
from fastapi import FastAPI
from pydantic import BaseModel

ANSWER = json.load(open(sys.argv[2]))
app = FastAPI()

class Question(BaseModel):
    points: list[float]

class Answer(BaseModel):
    points: list[float]
    values: list[float]
    lower: list[float] | None
    upper: list[float] | None

@app.post("/bare")
async def bare():
    return ANSWER

@app.post("/validated")
async def validated(question: Question) -> Answer:
    return Answer(**ANSWER)

import socket, uvicorn
sockets = [socket.socket(fileno=int(sys.argv[1]))]
config = uvicorn.Config(app, log_config=None, access_log=False, loop="uvloop", http="httptools")
uvicorn.Server(config).run(sockets=sockets)
"""


@contextmanager
def running(command: list[str], port: int):
    """A server in a process of its own, from its first answer on."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, pass_fds=_fds(command))
    try:
        end = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if time.monotonic() > end or process.poll() is not None:
                    raise
                time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(30)


def _fds(command: list[str]) -> tuple[int, ...]:
    return (int(command[3]),) if command[1] == "-c" else ()


def request(port: int, path: str, body: bytes) -> bytes:
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def always(body: bytes):
    return lambda: body


class Asker(asyncio.Protocol):
    """One connection that asks again as soon as it is answered."""

    def __init__(self, make, times: list[float], end: float) -> None:
        self.make, self.times, self.end = make, times, end
        self.held, self.done = b"", asyncio.get_running_loop().create_future()

    def connection_made(self, transport) -> None:
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        self.start = time.perf_counter()
        if self.start > self.end:
            self.transport.close()
            self.done.set_result(None)
        else:
            self.transport.write(self.make())

    def data_received(self, data: bytes) -> None:
        self.held += data
        cut = self.held.find(b"\r\n\r\n")
        if cut < 0:
            return
        head = self.held[:cut].lower()
        size = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
        if len(self.held) < cut + 4 + size:
            return
        if not self.held.startswith(b"HTTP/1.1 200"):
            self.done.set_exception(RuntimeError(self.held[:400].decode()))
            return
        self.times.append(time.perf_counter() - self.start)
        self.held = b""
        self.ask()

    def connection_lost(self, error) -> None:
        if not self.done.done():
            self.done.set_exception(error or RuntimeError("the connection was closed"))


async def load(port: int, makers: list, seconds: float) -> list[float]:
    """Seconds of every answer."""
    loop, times = asyncio.get_running_loop(), []
    end = time.perf_counter() + seconds
    pairs = [
        await loop.create_connection(lambda m=m: Asker(m, times, end), "127.0.0.1", port) for m in makers
    ]
    await asyncio.gather(*(asker.done for _, asker in pairs))
    return times


def measure(cases: dict[str, tuple[int, list]], seconds: float, turns: int) -> dict[str, tuple]:
    """Requests a second, and the median and 99 % quantile in milliseconds, of each case."""
    import uvloop

    seen: dict[str, list[tuple[float, float, float]]] = {name: [] for name in cases}
    for turn in range(turns + 1):
        for name, (port, makers) in cases.items():
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                times = runner.run(load(port, makers, seconds if turn else seconds / 4))
            if turn:
                quick, slow = np.quantile(times, [0.5, 0.99])
                seen[name].append((len(times) / seconds, 1e3 * quick, 1e3 * slow))
    return {name: tuple(np.median(rows, axis=0)) for name, rows in seen.items()}


def serve(folder: Path, port: int) -> list[str]:
    return [sys.executable, "-m", "mercer", "serve", str(folder), "--port", str(port), "--no-log"]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def made_up() -> np.ndarray:
    return np.clip(np.random.default_rng().normal(50, 15, 20_000), 0, 100)


def stored(folder: Path, seconds: float, turns: int, connections: int, points: int) -> list:
    """A stored release beside the bare endpoints."""
    release = mercer.density(made_up(), bounds=(0, 100), epsilon=1, columns="age")
    release.save(folder / "ages.json")
    x = np.linspace(0.5, 99.5, points)
    answer = {"points": x.tolist(), "values": release(x).tolist(), "lower": None, "upper": None}
    (folder / ".answer").write_text(json.dumps(answer))
    body = json.dumps({"points": x.tolist()}).encode()
    mine, listener = free_port(), socket.create_server(("127.0.0.1", 0))
    other = listener.getsockname()[1]
    bare = [sys.executable, "-c", BARE, str(listener.fileno()), str(folder / ".answer")]
    with running(serve(folder, mine), mine), running(bare, other):
        asks = {
            "bare, from memory": (other, "/bare"),
            "bare, validated": (other, "/validated"),
            "mercer, stored release": (mine, "/api/releases/ages/values"),
        }
        cases = {
            name: (port, [always(request(port, path, body))] * connections)
            for name, (port, path) in asks.items()
        }
        found = measure(cases, seconds, turns)
    listener.close()
    return [(name, *row) for name, row in found.items()]


def live(folder: Path, seconds: float, turns: int, connections: tuple[int, ...]) -> list:
    """A live release in a SQLite file: new points, and points that were answered before."""
    mercer.live(
        made_up(),
        bounds=(0, 100),
        epsilon=1,
        delta=1e-6,
        bandwidth=5,
        kernel="exponential",
        columns="age",
        store=folder / "live.db",
        name="path",
    ).close()
    port, path = free_port(), "/api/releases/path/values"
    rng = np.random.default_rng()
    old = json.dumps({"points": np.linspace(0.5, 99.5, 100).tolist()}).encode()

    def fresh(count: int):
        return lambda: request(
            port, path, json.dumps({"points": rng.uniform(0, 100, count).tolist()}).encode()
        )

    rows = []
    with running(serve(folder, port), port):
        for many in connections:
            cases = {
                "1 new point": (port, [fresh(1)] * many),
                "100 new points": (port, [fresh(100)] * many),
                "100 points answered before": (port, [always(request(port, path, old))] * many),
            }
            found = measure(cases, seconds, turns)
            rows += [(name, many, *row) for name, row in found.items()]
    return rows


def bare_commits(folder: Path, seconds: float) -> float:
    """Durable commits a second of one row each, by SQLite alone."""
    with closing(sqlite3.connect(folder / "bare.db", isolation_level=None)) as bare:
        bare.execute("PRAGMA journal_mode = WAL")
        bare.execute("PRAGMA synchronous = FULL")
        bare.execute("CREATE TABLE t (x DOUBLE PRIMARY KEY, y DOUBLE) WITHOUT ROWID")
        rng, count, start = np.random.default_rng(), 0, time.perf_counter()
        while time.perf_counter() < start + seconds:
            bare.execute("INSERT INTO t VALUES (?, ?)", rng.random(2).tolist())
            count += 1
        return count / (time.perf_counter() - start)


def main() -> None:
    args = options(__doc__)
    seconds, turns, connections, points = (0.2, 1, 4, 100) if args.quick else (3.0, 5, 16, 100)
    many = (2, 4) if args.quick else (1, 16, 64)
    with tempfile.TemporaryDirectory() as place:
        rows = stored(Path(place), seconds, turns, connections, points)
    with tempfile.TemporaryDirectory() as place:
        lives = live(Path(place), seconds, turns, many)
        commits = bare_commits(Path(place), seconds)
    best = max(rate for name, rate, *_ in rows if name.startswith("bare"))
    head = ["server", "requests a second", "p50, ms", "p99, ms", "of the faster bare one"]
    lines = [
        [name, f"{rate:,.0f}", f"{quick:.2f}", f"{slow:.2f}", f"{rate / best:.2f}"]
        for name, rate, quick, slow in rows
    ]
    live_head = ["a request asks", "connections", "requests a second", "p50, ms", "p99, ms"]
    live_lines = [
        [name, str(n), f"{rate:,.0f}", f"{quick:.2f}", f"{slow:.2f}"] for name, n, rate, quick, slow in lives
    ]
    note = NOTE.format(
        connections=connections,
        seconds=seconds,
        turns=turns,
        points=points,
        cores=os.cpu_count(),
        versions=", ".join(f"{name} {version(name)}" for name in ("fastapi", "uvicorn", "orjson")),
    )
    parts = [note, table(head, lines)]
    if not args.quick:
        share = best / rows[-1][1]
        parts.append(verdict("bare requests a second over Mercer's, 100 points", share, 2.0))
    parts += [LIVE.format(commits=commits), table(live_head, live_lines)]
    report("service", __doc__, parts, args)


if __name__ == "__main__":
    main()
