"""Shared by the tests of the service: a real server in a thread, and a client."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import uvicorn

import mercer
from mercer.server import Settings, create_app
from mercer.server.running import config_of

TOKEN = "0123456789abcdef0123456789abcdef"
OWNER = {"Authorization": f"Bearer {TOKEN}"}


@dataclass(frozen=True)
class Service:
    """A running service."""

    app: Any
    client: httpx.Client
    port: int
    settings: Settings

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def values(self, name: str = "ages", **fields: Any) -> httpx.Response:
        return self.client.post(f"/api/releases/{name}/values", json=fields)

    def error(self, method: str, path: str, **options: Any) -> tuple[int, str, str]:
        """Status, code and message of a refusal, whose shape is checked."""
        return refusal(self.client.request(method, path, **options))


def refusal(answer: httpx.Response) -> tuple[int, str, str]:
    assert answer.status_code >= 400, answer.text
    assert answer.headers["content-type"] == "application/json"
    fields = answer.json()
    assert list(fields) == ["error"]
    assert list(fields["error"]) == ["code", "message"]
    assert all(isinstance(part, str) and part for part in fields["error"].values())
    return answer.status_code, fields["error"]["code"], fields["error"]["message"]


@contextmanager
def serving(settings: Settings, app: Any = None, port: int = 0) -> Iterator[Service]:
    """A service on a port of this machine, a free one if it is 0; stopped at the end."""
    app = create_app(settings) if app is None else app
    listener = socket.create_server(("127.0.0.1", port))
    port = listener.getsockname()[1]
    server = uvicorn.Server(config_of(app))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        until(lambda: server.started)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            yield Service(app, client, port, settings)
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()
        assert not thread.is_alive()


def start(arguments: list[Any], env: dict[str, str] | None = None) -> tuple[Any, int, str]:
    """`mercer serve` in a process: the process, its port and what it said."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mercer", "serve", *map(str, arguments), "--port", "0"],  # wins
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
    )
    assert process.stdout is not None
    said = "".join(process.stdout.readline() for _ in range(3))
    assert "http://" in said, said + process.communicate()[1]
    return process, int(said.splitlines()[0].rsplit(":", 1)[1].strip(" /")), said


def until(condition: Any, seconds: float = 30) -> None:
    """Wait for something that will happen; fails if it does not."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


def make_releases(folder: Path) -> None:
    """One, two and three columns, and one that cannot be smoothed."""
    rng = np.random.default_rng()
    data = np.clip(rng.normal(50, 15, (1000, 3)), 0, 100)
    box = [(0, 100)] * 3
    columns = ["age", "weight", "height"]
    for name, d, options in (
        ("ages", 1, {}),
        ("both", 2, {"delta": 1e-6}),
        ("three", 3, {"delta": 1e-6}),
        ("rough", 1, {"delta": 1e-6, "kernel": "exponential", "bandwidth": 5}),
    ):
        mercer.density(data[:, :d], bounds=box[:d], epsilon=1, columns=columns[:d], **options).save(
            folder / f"{name}.json"
        )
