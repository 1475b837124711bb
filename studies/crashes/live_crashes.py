"""What killed processes leave of a live release: every answer that was ever given, to the last bit.

Four processes ask three live releases in one store, each at random points, one or several at once,
some old and some new, and write down what they were told: point and value, synced to the disk.
They are killed (SIGKILL) at random moments, one alone or all together, and replaced.  After each
kill a fresh process asks for everything that was ever written down; at the end one more does, in
an interpreter of its own.  Each answer must be the one that was given, in every bit.

    python -m studies.crashes.live_crashes                       # SQLite
    MERCER_TEST_POSTGRES=postgresql://… python -m studies.crashes.live_crashes   # and PostgreSQL

With --fault answers are told before they are committed, which the study must see.  A kill leaves
what was handed to the operating system; a power failure is not simulated here.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import mercer
from mercer.online.sql import SqlPen

KINDS = ("SQLite", "PostgreSQL")
ASKERS, PATIENCE = 4, 60
POOL = {"line": 20_000, "curve": 20_000, "plane": 500}  # points of each live release
OPTIONS = {
    "line": {"kernel": "exponential", "bandwidth": 10.0, "bounds": (0, 100)},
    "curve": {"kernel": "matern52", "bandwidth": 10.0, "bounds": (0, 100)},
    "plane": {"kernel": "exponential", "bandwidth": (10.0, 10.0), "bounds": [(0, 100), (0, 100)]},
}

Point = tuple[float, ...]
Ask = Callable[[str, list[Point]], list[float]]  # a live release's name and points: its answers


@dataclass
class Notes:
    """What was told, in a file that outlives whoever writes it."""

    path: Path
    read: int = 0  # bytes

    def write(self, name: str, points: list[Point], values: list[float]) -> None:
        line = [name, [[v.hex() for v in p] for p in points], [v.hex() for v in values]]
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def new(self) -> Iterator[tuple[str, list[Point], list[float]]]:
        """What was written since the last look; a last line that was cut off is left out."""
        with self.path.open("rb") as file:
            file.seek(self.read)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self.read += len(whole)
        for line in whole.splitlines():
            name, points, values = json.loads(line)
            yield (
                name,
                [tuple(float.fromhex(v) for v in p) for p in points],
                [float.fromhex(v) for v in values],
            )


@dataclass
class Told:
    """All that anybody was told; one value a point, or it is a mismatch."""

    questions: int = 0
    answers: int = 0
    mismatches: int = 0
    values: dict[str, dict[Point, float]] = field(default_factory=dict)

    def add(self, name: str, points: list[Point], values: list[float]) -> None:
        known = self.values.setdefault(name, {})
        self.questions += 1
        self.answers += len(points)
        for point, value in zip(points, values, strict=True):
            self.mismatches += known.setdefault(point, value).hex() != value.hex()

    def verify(self, ask: Ask) -> int:
        """Ask for everything once more: how many answers differ."""
        wrong = 0
        for name, known in self.values.items():
            again = ask(name, list(known))
            wrong += sum(a.hex() != b.hex() for a, b in zip(again, known.values(), strict=True))
        return wrong


def storm(ask: Ask, pools: dict[str, list[Point]], notes: Notes) -> None:
    """Ask and write down, for ever."""
    while True:
        name = random.choice(list(pools))
        count = random.choice([1, 1, 1, 2, 5, 20])
        points = random.sample(pools[name], count)
        notes.write(name, points, ask(name, points))


def asking(place: str) -> Ask:
    """Questions to the live releases of a store."""
    lives = {name: mercer.open_live(place, name) for name in POOL}

    def ask(name: str, points: list[Point]) -> list[float]:
        if len(points) == 1 and len(points[0]) == 1:
            return [float(lives[name].ask(points[0][0]))]
        return [float(v) for v in np.atleast_1d(lives[name].ask(np.array(points).squeeze()))]

    return ask


def tell_too_early(place: str, notes: Notes) -> None:
    """The fault: what was drawn is told at once, and committed afterwards."""
    scale = mercer.open_live(place, "line")._scale
    add = SqlPen.add_one

    def told(self: SqlPen, x: float, state: list[float], knot: bool) -> None:
        add(self, x, state, knot)
        notes.write("line", [(x,)], [state[0] * scale])
        time.sleep(0.005)

    SqlPen.add_one = told  # type: ignore[method-assign]


def forked(act: Callable[[], int]) -> int:
    child = os.fork()
    if child == 0:
        code = 99
        with contextlib.suppress(BaseException):
            code = min(act(), 98)
        os._exit(code)
    return child


class Asker:
    """A process that asks and writes down, each in a file of its own."""

    def __init__(self, place: str, pools: dict[str, list[Point]], folder: Path, fault: bool) -> None:
        handle, name = tempfile.mkstemp(dir=folder)
        os.close(handle)
        self.notes = Notes(Path(name))

        def act() -> int:
            random.seed()
            if fault:
                tell_too_early(place, self.notes)
                points: list[Point] = [(random.uniform(0, 100),) for _ in range(9999)]
                storm(asking(place), {"line": points}, self.notes)
            storm(asking(place), pools, self.notes)
            return 0

        self.process = forked(act)
        self.alive = True


def kill(askers: list[Asker]) -> int:
    """How many of them were at work."""
    living = [asker for asker in askers if asker.alive]
    for asker in living:
        os.kill(asker.process, signal.SIGKILL)
        asker.alive = False
    return sum(os.WIFSIGNALED(os.waitpid(asker.process, 0)[1]) for asker in living)


def wait_for_all(askers: list[Asker]) -> None:
    """Until everybody was told something new: a kill then comes in the middle."""
    end = time.monotonic() + PATIENCE
    while any(a.notes.path.stat().st_size <= a.notes.read for a in askers):
        if time.monotonic() > end:
            raise SystemExit("somebody was not answered for a minute")
        time.sleep(0.002)


def run(kind: str, place: str, kills: int, fault: bool, folder: Path) -> tuple[str, bool]:
    begin = time.monotonic()
    for name, options in OPTIONS.items():
        d = 2 if name == "plane" else 1
        data = np.random.default_rng().uniform(0, 100, (200, d))
        with mercer.live(data, **options, epsilon=1, delta=1e-6, store=place, name=name) as live:
            live.ask([[1.0] * d, [2.0] * d])  # all that is imported late is there before the forks
    pools = {
        name: [
            tuple(random.uniform(0, 100) for _ in range(2 if name == "plane" else 1)) for _ in range(count)
        ]
        for name, count in POOL.items()
    }
    told, done, together, wrong = Told(), 0, 0, 0
    askers = [Asker(place, pools, folder, fault) for _ in range(ASKERS)]
    try:
        while done < kills and not (fault and wrong):
            wait_for_all(askers)
            time.sleep(random.uniform(0, 0.05))
            all_of_them = fault or random.random() < 0.2
            chosen = askers if all_of_them else [random.choice(askers)]
            done += kill(chosen)
            together += all_of_them
            for asker in askers:
                for line in asker.notes.new():
                    told.add(*line)
            checker = forked(lambda: told.verify(asking(place)))
            wrong += os.waitstatus_to_exitcode(os.waitpid(checker, 0)[1])
            askers = [a for a in askers if a not in chosen]
            askers += [Asker(place, pools, folder, fault) for _ in chosen]
    finally:
        kill(askers)
    for asker in askers:
        for line in asker.notes.new():
            told.add(*line)
    wrong += last_check(place, told, folder) + told.mismatches
    points = sum(map(len, told.values.values()))
    kept = -2 * len(POOL)  # asked before the storm
    for name in POOL:
        with mercer.open_live(place, name) as live:
            kept += live.count
    line = (
        f"{kind}: {done} kills of a process at work, {together} times all together; "
        f"{told.questions} questions, {told.answers} answers written down at {points} points, "
        f"{kept - points} kept that nobody was told; {wrong} mismatches; "
        f"{time.monotonic() - begin:.1f} s"
    )
    return line, wrong == 0


def last_check(place: str, told: Told, folder: Path) -> int:
    """In a new interpreter."""
    file = folder / "told.json"
    file.write_text(
        json.dumps({name: [[*p, v] for p, v in known.items()] for name, known in told.values.items()})
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, "--verify", place, str(file)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return int(done.stdout)


def verify(place: str, file: str) -> int:
    told = Told()
    for name, rows in json.loads(Path(file).read_text()).items():
        told.values[name] = {tuple(row[:-1]): row[-1] for row in rows}
    return told.verify(asking(place))


@contextlib.contextmanager
def places(folder: str) -> Iterator[dict[str, str]]:
    """A new store of each kind."""
    url = os.environ.get("MERCER_TEST_POSTGRES")
    found = {"SQLite": f"{folder}/live.db"}
    if not url:
        yield found
        return
    import psycopg

    schema = f"live_{secrets.token_hex(8)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    try:
        joint = "&" if "?" in url else "?"
        yield found | {"PostgreSQL": f"{url}{joint}options=-csearch_path%3D{schema}"}
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"DROP SCHEMA {schema} CASCADE")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--quick", action="store_true", help="5 kills")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--fault", action="store_true", help="tell before the commit: is seen")
    parser.add_argument("--only", choices=KINDS, help="one of the two")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    kills = 5 if given.quick else given.kills
    with tempfile.TemporaryDirectory() as folder, places(folder) as found:
        results = [
            run(kind, place, kills, given.fault, Path(folder))
            for kind, place in found.items()
            if given.only in (None, kind)
        ]
    lines = [line for line, _ in results]
    lines.append(f"python {platform.python_version()}, mercer {mercer.__version__}")
    (given.out / "live_crashes.txt").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    if not all(right for _, right in results):
        sys.exit(1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--verify"]:
        print(verify(*sys.argv[2:]))
    else:
        main()
