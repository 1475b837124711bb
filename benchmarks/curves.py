"""What does a mean curve of n curves of 100 points in a Parquet file cost beside reading them?

A row a curve, a float64 column a point, from 1e5 to 1e6 curves in row groups of 5e4.  The baseline
is PyArrow with two threads, as Mercer has: `read_table`, after which all numbers are in memory, and
row groups in batches that are thrown away, which is all that reading alone can cost.  Then the
eigenfunctions of each kernel on a grid of 2000 points, beside a dense eigendecomposition.
"""  # noqa: D400

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

from common import child, measured, options, report, table, trials, verdict

# The parent imports neither NumPy nor PyArrow: a child's peak memory starts at its parent's.

POINTS, GROUP = 100, 50_000
SIZES = [10**5, 3 * 10**5, 10**6]
QUICK = [200, 2000]
REPEATS = 3
KERNELS = ("gaussian", "matern52", "matern32", "exponential")
NOTE = """\
Seconds are the least of {repeats} processes, two runs in each, and peak memory is the largest
`ru_maxrss` of these.  Before the clock starts the process has released a file of 200 curves, so
that OpenDP and PyArrow are imported and eigenfunctions are known; the file lies in the system's
cache.  Mercer: `mean_curve(path, grid=…, bound=2, epsilon=1, delta=1e-6)`, secure noise, smoothing
"auto".  One pass over the file."""


def write(path: Path, curves: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(curves)
    t = np.linspace(0, 1, POINTS)
    names = [f"h{k:03d}" for k in range(POINTS)]
    schema = pa.schema([(name, pa.float64()) for name in names])
    with pq.ParquetWriter(path, schema, use_dictionary=False) as writer:
        for start in range(0, curves, GROUP):
            many = min(GROUP, curves - start)
            heights = np.sin(3 * t)[:, None] + 0.3 * rng.standard_normal((POINTS, many))
            writer.write_table(pa.table(dict(zip(names, heights, strict=True))))


def whole(path: Path) -> int:
    import pyarrow.parquet as pq

    return pq.read_table(path, use_threads=True).num_rows


def groups(path: Path) -> int:
    from concurrent.futures import ThreadPoolExecutor

    import pyarrow.parquet as pq

    def rows(group: int) -> int:
        with pq.ParquetFile(path) as file:
            batches = file.iter_batches(row_groups=[group], use_threads=False)
            return sum(batch.num_rows for batch in batches)

    with ThreadPoolExecutor(2) as pool:
        return sum(pool.map(rows, range(pq.read_metadata(path).num_row_groups)))


def release(path: Path) -> object:
    import numpy as np

    import mercer

    grid = np.linspace(0, 1, POINTS)
    return mercer.mean_curve(path, grid=grid, bound=2, epsilon=1, delta=1e-6)


JOBS: dict[str, Callable[[Path], object]] = {"read_table": whole, "groups": groups, "release": release}


def measure(job: str, path: Path) -> dict[str, float]:
    """In the child: seconds and peak megabytes of one job, warm."""
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.parquet"
        write(small, 200)
        return measured(JOBS[job], small, path)


def eigen(points: int) -> dict[str, list[float]]:
    """In the child: seconds of eigenfunctions on a grid, first, again, and by a dense matrix."""
    import numpy as np

    from mercer.spaces import kernels
    from mercer.spaces.modes import modes
    from mercer.spaces.polynomials import Polynomials

    x = np.linspace(0, 1, points)[:, None]
    found = {}
    for kernel in KERNELS:
        times = []
        for _ in range(2):
            start = perf_counter()
            some = Polynomials((128,))
            some.rows(x) @ modes(kernel, (0.1,), some).vectors
            times.append(perf_counter() - start)
        start = perf_counter()
        np.linalg.eigh(kernels.KERNELS[kernel](((0.01,),))(x, x) / points)
        found[kernel] = [*times, perf_counter() - start]
    return found


def main() -> None:
    args = options(__doc__, ("--folder", "keep the files here, and use those that are there"))
    sizes, repeats = (QUICK, 1) if args.quick else (SIZES, REPEATS)
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(args.folder or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for size in sizes:
            path = folder / f"curves-{size}.parquet"
            if not path.exists():
                child(__file__, "--write", str(path), str(size))
            seconds, peaks = trials(__file__, JOBS, path, repeats)
            rows.append((size, seconds, peaks))
    points = 200 if args.quick else 2000
    times = json.loads(child(__file__, "--eigen", str(points)))
    head = [
        "curves",
        "read_table s",
        "row groups s",
        "mercer s",
        "to read_table",
        "to row groups",
        "PyArrow peak MB",
        "mercer peak MB",
    ]
    lines = [
        [
            f"{size:.0e}",
            *(f"{seconds[job]:.3f}" for job in JOBS),
            f"{seconds['release'] / seconds['read_table']:.2f}",
            f"{seconds['release'] / seconds['groups']:.2f}",
            f"{max(peaks['read_table'], peaks['groups']):.0f}",
            f"{peaks['release']:.0f}",
        ]
        for size, seconds, peaks in rows
    ]
    last = rows[-1]
    kept = last[1]["release"] / last[1]["read_table"]
    ratio = last[1]["release"] / min(last[1]["read_table"], last[1]["groups"])
    growth = last[2]["release"] / rows[-2][2]["release"]
    verdicts = [
        verdict(f"Ratio to `read_table` at {last[0]:.0e} curves", kept, 2),
        verdict("Ratio to reading batches and throwing them away", ratio, 2),
        verdict("Peak memory over that of the size before", growth, 1.3),
        verdict(f"Eigenfunctions on {points} points, s", max(t[0] for t in times.values()), 2),
    ]
    second = table(
        ["kernel", "mercer s", "again s", "dense eigh s"],
        ([kernel, *(f"{t:.4f}" for t in found)] for kernel, found in times.items()),
    )
    parts = [table(head, lines), second, "\n".join(verdicts), NOTE.format(repeats=repeats)]
    report("curves", __doc__, parts, args)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--write", path, size]:
            write(Path(path), int(size))
        case ["--measure", job, path]:
            print(json.dumps(measure(job, Path(path))))
        case ["--eigen", points]:
            print(json.dumps(eigen(int(points))))
        case _:
            main()
