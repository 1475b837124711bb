"""What does a live question cost, in memory and kept on the disk, after how many before it?

A live release draws each point between its neighbours and keeps it before it answers.  Beside it
on the disk: a bare `fsync` of as many bytes and a bare insert with sqlite3.  Beside it in memory:
the growing Cholesky factor for any kernel, SciPy's factor kept by hand, and scikit-learn's
Gaussian process, fitted anew for each point.
"""  # noqa: D400

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import mean, median
from time import perf_counter, sleep
from typing import TypeAlias

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern

import mercer
from common import options, report, table, verdict
from mercer.online.base import LiveRelease

Seconds: TypeAlias = dict[str, list[float]]
TURN = 50
KERNELS = ("exponential", "matern32", "matern52")
LENGTH = 10.0
WIDTH = 100.0
DURABLE = """\
## On the disk

SQLite files, exponential kernel, each answer in the write-ahead log and synced before it is
returned.  One live release for each i, filled in batches of {batch:,} random points up to i; then
{window:,} new random points are asked of each one by one, in turns of {turn}, and in turns with the
two baselines: all share the machine's busy moments.  This disk slows down for a while when much
was written; the questions wait until a bare `fsync` is as quick as it was at first.  Microseconds a
point: mean and, in brackets, median.  *Bare fsync*: 8 KiB, two pages, appended to a file and
synced.  *Bare sqlite3*: one insert and its commit, in a table as large as the largest, with the
same settings.  Batches: one commit each."""
MEMORY = """\
## In memory

No store.  {count:,} random points in sorted batches of {batch:,}, each new to the release; then
{window:,} one by one.  Points a second, from the first to the last, and in the last tenth."""
FACTOR = """\
## Against a factor that grows

After {count:,} points, in memory, in turns; medians, milliseconds a point.  *Cholesky*: `route=
"cholesky"`, with exact coordinates.  *SciPy*: the same conditional draw in doubles with a kept
factor, one `solve_triangular` a point.  *scikit-learn*: `GaussianProcessRegressor` with its
kernel fixed, fitted to all points so far, one draw from its prediction."""


def made(kernel: str, store: Path | None = None, route: str = "auto") -> LiveRelease:
    data = np.random.default_rng(1).uniform(0, WIDTH, 1000)
    return mercer.live(
        data,
        bounds=(0, WIDTH),
        epsilon=1,
        delta=1e-6,
        bandwidth=LENGTH,
        kernel=kernel,
        route=route,
        store=store,
    )


def points(count: int) -> np.ndarray:
    return np.random.default_rng().uniform(0, WIDTH, count)


def fill(live: LiveRelease, count: int, batch: int) -> list[float]:
    """Seconds a point of each whole batch."""
    seconds = []
    while (left := count - live.count) > 0:
        x = np.sort(points(min(batch, left)))
        start = perf_counter()
        live.ask(x)
        if len(x) == batch:
            seconds.append((perf_counter() - start) / batch)
    return seconds


def one_by_one(live: LiveRelease, count: int) -> float:
    """Seconds a question: the median over turns of a hundred."""
    seconds = []
    for part in points(count).reshape(-1, 100).tolist():
        start = perf_counter()
        for v in part:
            live.ask(v)
        seconds.append((perf_counter() - start) / len(part))
    return median(seconds)


def same_again(live: LiveRelease) -> None:
    x = points(200)
    first = [float(live.ask(v)) for v in x]
    if live.ask(x[::-1]).tolist() != first[::-1]:
        raise RuntimeError("a point was answered twice")


def in_turns(acts: dict[str, tuple[Callable[[], object], int]], rounds: int) -> Seconds:
    """Seconds of each act, so many of one kind after so many of another."""
    seconds: Seconds = {name: [] for name in acts}
    for _ in range(rounds):
        for name, (act, count) in acts.items():
            for _ in range(count):
                start = perf_counter()
                act()
                seconds[name].append(perf_counter() - start)
    return seconds


def asking(live: LiveRelease, count: int) -> Callable[[], object]:
    """One new question after the other."""
    fresh = iter(points(count).tolist())
    return lambda: live.ask(next(fresh))


def rest(sync: Callable[[], None], usual: float) -> None:
    """Wait, five minutes at most, until the disk is as quick as before the filling."""
    for _ in range(60):
        if median(in_turns({"": (sync, 50)}, 1)[""]) <= usual:
            return
        sleep(5)


def bare_table(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE t (x REAL PRIMARY KEY, v REAL) WITHOUT ROWID")
    return connection


def insert(connection: sqlite3.Connection) -> None:
    x = float(points(1)[0])
    connection.execute("INSERT INTO t VALUES (?, ?)", (x, 1.0))


def durable(
    folder: Path, sizes: list[int], window: int, batch: int
) -> tuple[list[list[str]], dict[str, float]]:
    """Lines of the table, and the numbers that are judged."""
    log = os.open(folder / "log", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    page = bytes(8192)

    def sync() -> None:
        os.write(log, page)
        os.fsync(log)

    usual = median(in_turns({"": (sync, 50)}, 4)[""])
    bare, lives, large = bare_table(folder / "bare.db"), {}, {}
    with ExitStack() as stack:
        for size in sizes:
            live = stack.enter_context(made("exponential", folder / f"{size}.db"))
            live.ask(1.0)
            large[size] = fill(live, size - window // 2, batch)[-10:]
            lives[size] = live
        bare.execute("BEGIN")
        rows = np.sort(points(sizes[-1]))[:, None].tolist()
        bare.executemany("INSERT INTO t VALUES (?, 1.0)", rows)
        bare.execute("COMMIT")
        rest(sync, 1.5 * usual)
        acts = {str(size): (asking(live, window), TURN) for size, live in lives.items()}
        acts |= {"fsync": (sync, TURN), "sqlite3": (lambda: insert(bare), TURN)}
        seconds = in_turns(acts, window // TURN)
        hundred = in_turns(
            {
                str(size): (lambda live=live: live.ask(np.sort(points(100))), 2)
                for size, live in lives.items()
            },
            5,
        )
        for live in lives.values():
            same_again(live)
    bare.close()
    os.close(log)
    lines = [
        [
            f"{size:,}",
            micro(seconds[str(size)]),
            micro([s / 100 for s in hundred[str(size)]]),
            micro(large[size]),
        ]
        for size in sizes
    ]
    lines += [[f"bare {name}", micro(seconds[name]), "", ""] for name in ("fsync", "sqlite3")]
    ends = (seconds[str(sizes[-1])], seconds[str(sizes[0])])
    judged = {
        f"time at i = {sizes[-1]:,} over i = {sizes[0]:,}, one by one, means": mean(ends[0]) / mean(ends[1]),
        f"time at i = {sizes[-1]:,} over i = {sizes[0]:,}, one by one, medians": median(ends[0])
        / median(ends[1]),
        "a durable question over a bare fsync, medians": median(ends[0]) / median(seconds["fsync"]),
    }
    return lines, judged


def in_memory(kernel: str, count: int, batch: int, window: int) -> tuple[float, float, float]:
    """Points a second over all and at the end, and seconds of a single question then."""
    live = made(kernel)
    live.ask([1.0]), live.ask(2.0)
    seconds = fill(live, count, batch)
    tail = seconds[-max(1, len(seconds) // 10) :]
    single = one_by_one(live, window)
    same_again(live)
    return len(seconds) / sum(seconds), len(tail) / sum(tail), single


class ByHand:
    """Conditional draws with a kept factor: what one would write."""

    def __init__(self, count: int, room: int) -> None:
        self.x, self.y, self.factor = np.empty(room), np.empty(room), np.zeros((room, room))
        self.white = np.empty(room)
        self.rng = np.random.default_rng()
        self.count = count
        x = np.sort(points(count))
        self.x[:count] = x
        self.factor[:count, :count] = np.linalg.cholesky(self.cover(x, x) + 1e-9 * np.eye(count))
        self.white[:count] = self.rng.standard_normal(count)
        self.y[:count] = self.factor[:count, :count] @ self.white[:count]

    def cover(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.exp(-np.abs(a[:, None] - b[None]) / LENGTH)

    def ask(self, x: float) -> float:
        n = self.count
        cover = self.cover(self.x[:n], np.array([x]))[:, 0]
        row = solve_triangular(self.factor[:n, :n], cover, lower=True, check_finite=False)
        spread = np.sqrt(max(1 + 1e-9 - row @ row, 0.0))
        self.white[n] = self.rng.standard_normal()
        value = row @ self.white[:n] + spread * self.white[n]
        self.factor[n, :n], self.factor[n, n] = row, spread
        self.x[n], self.y[n], self.count = x, value, n + 1
        return float(value)


def fitted(hand: ByHand, x: float) -> float:
    """The same with scikit-learn, which fits anew."""
    n = hand.count
    process = GaussianProcessRegressor(Matern(LENGTH, nu=0.5), alpha=1e-9, optimizer=None)
    process.fit(hand.x[:n, None], hand.y[:n])
    mean, spread = process.predict([[x]], return_std=True)
    return float(mean[0] + spread[0] * hand.rng.standard_normal())


def against_factors(count: int, rounds: int) -> dict[str, float]:
    """Median seconds a point, measured in turns."""
    many, acts = 200, {}
    for kernel in KERNELS:
        live = made(kernel)
        live.ask([1.0]), live.ask(2.0)
        fill(live, count - many * rounds // 2, count)
        acts[f"markov, {kernel}, one by one"] = (asking(live, many * rounds), many)
    grown = made("exponential", route="cholesky")
    fill(grown, count - 2 * rounds, 100)
    hand = ByHand(count - rounds, count + rounds + 1)
    acts["Cholesky, exponential, one by one"] = (asking(grown, 4 * rounds), 4)
    acts["SciPy, one by one"] = (lambda: hand.ask(float(points(1)[0])), 2)
    seconds = {name: median(times) for name, times in in_turns(acts, rounds).items()}
    for kernel in KERNELS:
        live = made(kernel)
        fill(live, count, count)
        seconds[f"markov, {kernel}, batches of 1,000"] = median(fill(live, live.count + 5000, 1000))
    fits = in_turns({"": (lambda: fitted(hand, float(points(1)[0])), 3)}, 1)
    return seconds | {"scikit-learn, one by one": median(fits[""])}


def micro(values: list[float]) -> str:
    if not values:
        return "-"
    return f"{1e6 * mean(values):.0f} ({1e6 * median(values):.0f})"


def main() -> None:
    args = options(__doc__)
    if args.quick:
        sizes, window, batch, total, single, count, few = [500, 1000], 100, 250, 2000, 200, 600, 2
    else:
        sizes, window, batch = [10**3, 10**4, 10**5, 10**6], 1000, 10_000
        total, single, count, few = 10**6, 20_000, 5000, 10
    with tempfile.TemporaryDirectory() as folder:
        lines, judged = durable(Path(folder), sizes, window, batch)
    head = ["i", "one by one", "batches of 100", f"batches of {batch:,}"]
    parts = [DURABLE.format(batch=batch, window=window, turn=TURN), table(head, lines)]
    parts += ["\n".join(verdict(words, value, 2) for words, value in judged.items())]
    rates = {kernel: in_memory(kernel, total, batch, single) for kernel in KERNELS}
    lines = [
        [kernel, f"{whole:,.0f}", f"{tail:,.0f}", f"{1e6 * one:.1f}", f"{1 / one:,.0f}"]
        for kernel, (whole, tail, one) in rates.items()
    ]
    head = ["kernel", "batched, a second", "the last tenth", "one by one, µs", "one by one, a second"]
    slowest = min(whole for whole, _, _ in rates.values())
    parts += [
        MEMORY.format(count=total, batch=batch, window=single),
        table(head, lines),
        verdict("microseconds a point in batches, slowest kernel", 1e6 / slowest, 10),
    ]
    seconds = against_factors(count, few)
    own = seconds["markov, exponential, one by one"]
    lines = [[name, f"{1e3 * s:.4g}", f"{s / own:,.1f}"] for name, s in seconds.items()]
    ratio = own / seconds["Cholesky, exponential, one by one"]
    parts += [
        FACTOR.format(count=count, window=few),
        table(["", "ms a point", "over the first"], lines),
        verdict("markov over Cholesky, exponential, one by one", ratio, 1e-3),
    ]
    report("live", __doc__, parts, args)


if __name__ == "__main__":
    main()
