"""What the benchmarks share: options, timing in turn, and tables that name their machine."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import resource
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter

__all__ = ["child", "measured", "options", "race", "report", "table", "trials", "verdict", "warm"]

HERE = Path(__file__).parent


def options(question: str | None, *extra: tuple[str, str]) -> argparse.Namespace:
    """`--quick` and `--out`, and further options that take one text each."""
    parser = argparse.ArgumentParser(description=question)
    parser.add_argument("--quick", action="store_true", help="small sizes, under ten seconds")
    parser.add_argument("--out", metavar="DIR", type=Path, help="folder of the result table")
    for name, words in extra:
        parser.add_argument(name, help=words)
    return parser.parse_args()


def race(runs: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Least seconds of each run, after one warm-up each.

    The runs take turns, so that a busy minute of the machine does not fall on one of them alone.
    """
    best = dict.fromkeys(runs, float("inf"))
    for run in runs.values():
        run()
    for _ in range(repeats):
        for name, run in runs.items():
            start = perf_counter()
            run()
            best[name] = min(best[name], perf_counter() - start)
    return best


def child(script: str, *words: str) -> str:
    """What a script prints in a process of its own: its peak memory is not ours.

    A quick run, which says nothing about speed or memory, forks instead of starting Python anew.
    """
    if "--quick" in sys.argv and sys.platform != "win32":
        return _forked(script, words)
    done = subprocess.run([sys.executable, script, *words], check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def _forked(script: str, words: Sequence[str]) -> str:
    with tempfile.TemporaryFile("w+") as out:
        sys.stdout.flush()
        inside = os.fork()
        if inside == 0:
            code = 1
            try:
                os.dup2(out.fileno(), 1)
                sys.argv = [script, *words]
                runpy.run_path(script, run_name="__main__")
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush(), sys.stderr.flush()
                os._exit(code)
        if code := os.waitstatus_to_exitcode(os.waitpid(inside, 0)[1]):
            raise SystemExit(f"{script} {' '.join(words)} ended with status {code}")
        out.seek(0)
        return out.read()


def measured(job: Callable[[Path], object], small: Path, path: Path) -> dict[str, float]:
    """In the child: seconds and peak megabytes of one job, after one on a small file."""
    job(small)
    seconds = float("inf")
    for _ in range(2):  # the first run also grows the process
        start = perf_counter()
        job(path)
        seconds = min(seconds, perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB on Linux
    return {"seconds": seconds, "peak": peak * 1024 / 1e6}


def trials(
    script: str, jobs: Iterable[str], path: Path, repeats: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Least seconds and largest peak of each job; they take turns, each in a child."""
    warm(path)
    names = [*jobs]
    runs = [(job, json.loads(child(script, "--measure", job, str(path)))) for job in names * repeats]
    seconds = {job: min(run["seconds"] for name, run in runs if name == job) for job in names}
    peaks = {job: max(run["peak"] for name, run in runs if name == job) for job in names}
    return seconds, peaks


def warm(path: Path) -> None:
    """Read a file into the system's cache."""
    with path.open("rb") as file:
        while file.read(1 << 24):
            pass


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; all columns but the first are numbers."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def verdict(words: str, value: float, most: float) -> str:
    """A line that compares a number with its target, which is an upper bound."""
    return f"- {words}: {value:.3g}, target {most:g}: {'met' if value <= most else '**missed**'}."


def report(name: str, question: str | None, parts: Sequence[str], args: argparse.Namespace) -> None:
    """Print the result and write `name`.md; a quick run is written only where `--out` says."""
    title = (question or "").strip().splitlines()[0]
    size = "\n\nQuick run at small sizes: says nothing about speed." if args.quick else ""
    text = "\n\n".join([f"# {title}{size}", *parts, _environment()]) + "\n"
    print(text)
    folder = args.out or (None if args.quick else HERE / "results")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def _environment() -> str:
    packages = ("numpy", "scipy", "opendp", "pyarrow", "scikit-learn", "KDEpy")
    rows = [
        ("commit", _commit()),
        ("date", datetime.datetime.now(datetime.UTC).date().isoformat()),
        ("processor", f"{_processor()}, {os.cpu_count()} cores"),
        ("system", f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"),
        ("packages", ", ".join(f"{name} {version(name)}" for name in packages if _there(name))),
    ]
    return "\n".join(["| | |", "| --- | --- |", *(f"| {key} | {value} |" for key, value in rows)])


def _there(package: str) -> bool:
    """Peers need not be installed where a script does not run them."""
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def _commit() -> str:
    changed = _git("status", "--porcelain", "--", "src")
    return _git("rev-parse", "--short", "HEAD") + (" with changes in src" if changed else "")


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=HERE.parent, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else "unknown"


def _processor() -> str:
    source = Path("/proc/cpuinfo")
    lines = source.read_text(encoding="utf-8").splitlines() if source.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
