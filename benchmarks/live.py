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
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean, median
from time import perf_counter, sleep

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern

import mercer
from common import options, report, table, verdict
from mercer.live_releases import LiveRelease

KERNELS = ("exponential", "matern32", "matern52")
LENGTH = 10.0
WIDTH = 100.0
DURABLE = """\
## On the disk

A SQLite file, exponential kernel, each answer in the write-ahead log and synced before it is
returned.  The release is filled in batches of {batch:,} random points up to i; then {window:,} new
random points (i / 2 where that is less) are asked one by one, in turns of {turn} with the two
baselines, which so share the machine's busy moments, and not before a bare `fsync` is as quick as
it was at first: this disk slows down for a while when much was written.  Microseconds a question:
mean and, in brackets, median.  *fsync*: 8 KiB, two pages, appended to a file and synced.
*sqlite3*: one insert and its commit, in a table of as many rows with the same settings.  Batches:
microseconds a point, one commit a batch."""
MEMORY = """\
## In memory

No store.  {count:,} random points in sorted batches of {batch:,}, each new to the release; then
{window:,} one by one.  Points a second, from the first to the last, and in the last tenth."""
FACTOR = """\
## Against a factor that grows

After {count:,} points, in memory; medians, milliseconds a point.  *Cholesky*: `route=
"cholesky"`, with exact coordinates.  *SciPy*: the same conditional draw in doubles with a kept
factor, one `solve_triangular` a point.  *scikit-learn*: `GaussianProcessRegressor` with its
kernel fixed, fitted to all points so far, one draw from its prediction."""


def made(kernel: str, store: Path | None = None, route: str = "auto") -> LiveRelease:
    data = np.random.default_rng(1).uniform(0, WIDTH, 1000)
    return mercer.live(
        data, bounds=(0, WIDTH), epsilon=1, delta=1e-6, bandwidth=LENGTH, kernel=kernel,
        route=route, store=store,
    )  # fmt: skip


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


def in_turns(acts: dict[str, Callable[[], None]], window: int, turn: int) -> dict[str, list[float]]:
    """Seconds of each act, some of one kind after some of another."""
    seconds: dict[str, list[float]] = {name: [] for name in acts}
    for _ in range(window // turn):
        for name, act in acts.items():
            for _ in range(turn):
                start = perf_counter()
                act()
                seconds[name].append(perf_counter() - start)
    return seconds


def rest(sync: Callable[[], None], usual: float) -> None:
    """Wait, five minutes at most, until the disk is as quick as before the filling."""
    for _ in range(60):
        if median(in_turns({"": sync}, 50, 50)[""]) <= usual:
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


def durable(folder: Path, sizes: list[int], most: int, batch: int) -> Iterator[dict[str, object]]:
    turn = 50
    bare = bare_table(folder / "bare.db")
    log = os.open(folder / "log", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    page = bytes(8192)

    def sync() -> None:
        os.write(log, page)
        os.fsync(log)

    usual = median(in_turns({"": sync}, 200, turn)[""])

    with made("exponential", folder / "live.db") as live:
        live.ask(1.0)
        for size in sizes:
            window = min(most, size // 2)
            large = fill(live, size - window // 2, batch)
            (rows,) = bare.execute("SELECT count(*) FROM t").fetchone()
            bare.execute("BEGIN")
            more = np.sort(points(max(0, size - rows)))
            bare.executemany("INSERT INTO t VALUES (?, 1.0)", more[:, None].tolist())
            bare.execute("COMMIT")
            rest(sync, 1.5 * usual)
            fresh = iter(points(window).tolist())
            seconds = in_turns(
                {
                    "question": lambda fresh=fresh: live.ask(next(fresh)),
                    "fsync": sync,
                    "sqlite3": lambda: insert(bare),
                },
                window,
                turn,
            )
            small = []
            for _ in range(window // 100):
                x = np.sort(points(100))
                start = perf_counter()
                live.ask(x)
                small.append((perf_counter() - start) / 100)
            same_again(live)
            yield {
                "size": size,
                **seconds,
                "small": small,
                "large": large[-10:],
            }
    bare.close()
    os.close(log)


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


def timed(act: Callable[[float], object], count: int) -> float:
    """Median seconds of an act at new points."""
    seconds = []
    for x in points(count).tolist():
        start = perf_counter()
        act(x)
        seconds.append(perf_counter() - start)
    return median(seconds)


def against_factors(count: int, window: int) -> dict[str, float]:
    seconds = {}
    for kernel in KERNELS:
        live = made(kernel)
        live.ask([1.0]), live.ask(2.0)
        fill(live, count, count)
        seconds[f"markov, {kernel}, one by one"] = one_by_one(live, 100 * window)
        seconds[f"markov, {kernel}, batches of 1,000"] = median(fill(live, live.count + 5000, 1000))
    grown = made("exponential", route="cholesky")
    fill(grown, count, 100)
    seconds["Cholesky, exponential"] = timed(lambda x: grown.ask(x), window)
    hand = ByHand(count, count + window + 1)
    seconds["SciPy"] = timed(hand.ask, window)
    seconds["scikit-learn"] = timed(lambda x: fitted(hand, x), 3)
    return seconds


def micro(values: list[float]) -> str:
    if not values:
        return "-"
    return f"{1e6 * mean(values):.0f} ({1e6 * median(values):.0f})"


def main() -> None:
    args = options(__doc__)
    if args.quick:
        sizes, window, batch, total, single, count, few = [500, 1000], 100, 250, 2000, 200, 200, 5
    else:
        sizes, window, batch = [10**3, 10**4, 10**5, 10**6], 2000, 10_000
        total, single, count, few = 10**6, 20_000, 5000, 50
    with tempfile.TemporaryDirectory() as folder:
        kept = list(durable(Path(folder), sizes, window, batch))
    columns = ("question", "fsync", "sqlite3", "small", "large")
    lines = [[f"{row['size']:,}", *(micro(row[name]) for name in columns)] for row in kept]
    first, last = kept[0]["question"], kept[-1]["question"]
    growth = {"means": mean(last) / mean(first), "medians": median(last) / median(first)}
    beside = median(kept[-1]["question"]) / median(kept[-1]["fsync"])
    head = [
        "i",
        "one by one",
        "bare fsync",
        "bare sqlite3",
        "batches of 100",
        f"batches of {batch:,}",
    ]
    parts = [
        DURABLE.format(batch=batch, window=window, turn=50), table(head, lines),
        *(verdict(f"time at i = {sizes[-1]:,} over i = {sizes[0]:,}, one by one, {word}", ratio, 2)
          for word, ratio in growth.items()),
        verdict("a durable question over a bare fsync, medians, at the end", beside, 2),
    ]  # fmt: skip
    rates = {kernel: in_memory(kernel, total, batch, single) for kernel in KERNELS}
    lines = [
        [kernel, f"{whole:,.0f}", f"{tail:,.0f}", f"{1e6 * one:.1f}", f"{1 / one:,.0f}"]
        for kernel, (whole, tail, one) in rates.items()
    ]
    head = [
        "kernel",
        "batched, a second",
        "the last tenth",
        "one by one, µs",
        "one by one, a second",
    ]
    slowest = min(whole for whole, _, _ in rates.values())
    parts += [
        MEMORY.format(count=total, batch=batch, window=single), table(head, lines),
        verdict("microseconds a point in batches, slowest kernel", 1e6 / slowest, 10),
    ]  # fmt: skip
    seconds = against_factors(count, few)
    own = seconds["markov, exponential, one by one"]
    lines = [[name, f"{1e3 * s:.4g}", f"{s / own:,.1f}"] for name, s in seconds.items()]
    ratio = own / seconds["Cholesky, exponential"]
    parts += [
        FACTOR.format(count=count, window=few),
        table(["", "ms a point", "over the first"], lines),
        verdict("markov over Cholesky, exponential, one by one", ratio, 1e-3),
    ]  # fmt: skip
    report("live", __doc__, parts, args)


if __name__ == "__main__":
    main()
