"""What does a release of n rows of a Parquet file cost beside reading them?

One float64 column, from 1e5 to 1e8 rows in row groups of 1e6, written with PyArrow's defaults.
The baseline is PyArrow streaming the same column and doing nothing with it, the faster of
`iter_batches` and a loop over `read_row_group`.
"""  # noqa: D400

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from common import child, measured, options, report, table, trials, verdict

# The parent imports neither NumPy nor PyArrow: a child's peak memory starts at its parent's.

GROUP = 1_000_000
SIZES = [10**5, 10**6, 10**7, 10**8]
QUICK = [10**3, 10**4]
REPEATS = 3
NOTE = """\
Seconds are the least of {repeats} processes, two runs in each, and peak memory is the largest
`ru_maxrss` of these.  Before the clock starts the process has released a file of 1,000 rows, so
that OpenDP and PyArrow are imported; the file lies in the system's cache.  Mercer: `density(path,
columns="age", bounds=(0, 100), epsilon=1, delta=1e-9)`, secure noise, bandwidth "auto"."""


def write(path: Path, rows: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(rows)
    schema = pa.schema([("age", pa.float64())])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, GROUP):
            ages = rng.normal(45.0, 18.0, min(GROUP, rows - start))
            writer.write_table(pa.table({"age": ages}), row_group_size=GROUP)


def batches(path: Path) -> int:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        return sum(b.num_rows for b in file.iter_batches(batch_size=1 << 20, columns=["age"]))


def groups(path: Path) -> int:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        count = file.num_row_groups
        return sum(file.read_row_group(i, columns=["age"]).num_rows for i in range(count))


def release(path: Path) -> object:
    import mercer

    return mercer.density(path, columns="age", bounds=(0, 100), epsilon=1, delta=1e-9)


JOBS: dict[str, Callable[[Path], object]] = {"batches": batches, "groups": groups, "release": release}


def measure(job: Callable[[Path], object], path: Path) -> dict[str, float]:
    """In the child: seconds and peak megabytes of one job, warm."""
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.parquet"
        write(small, 1_000)
        return measured(job, small, path)


def located(folder: Path, rows: int) -> Path:
    return folder / f"ages-{rows}.parquet"


def trial(folder: Path, rows: int, repeats: int) -> dict[str, float]:
    """One row of the table; the jobs take turns."""
    seconds, peaks = trials(__file__, JOBS, located(folder, rows), repeats)
    return {
        "rows": rows,
        **seconds,
        "stream": min(seconds["batches"], seconds["groups"]),
        "stream_peak": max(peaks["batches"], peaks["groups"]),
        "peak": peaks["release"],
    }


def line(row: dict[str, float]) -> list[str]:
    return [
        f"{row['rows']:.0e}",
        f"{row['batches']:.4f}",
        f"{row['groups']:.4f}",
        f"{row['release']:.4f}",
        f"{row['release'] / row['stream']:.2f}",
        f"{row['stream_peak']:.0f}",
        f"{row['peak']:.0f}",
        f"{1e9 * row['release'] / row['rows']:.1f}",
    ]


def main() -> None:
    args = options(__doc__, ("--folder", "keep the files here, and use those that are there"))
    sizes, repeats = (QUICK, 1) if args.quick else (SIZES, REPEATS)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(args.folder or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        child(__file__, "--write", str(folder), *map(str, sizes))
        rows = [trial(folder, size, repeats) for size in sizes]
    last, before = rows[-1], rows[-2]
    growth = last["release"] / last["rows"] / (before["release"] / before["rows"])
    head = [
        "rows",
        "iter_batches s",
        "read_row_group s",
        "mercer s",
        "ratio",
        "PyArrow peak MB",
        "mercer peak MB",
        "ns/row",
    ]
    verdicts = [
        verdict(f"Ratio at {last['rows']:.0e} rows", last["release"] / last["stream"], 2),
        verdict("Peak memory, MB", max(row["peak"] for row in rows), 1000),
        verdict("Time a row over that of the size before", growth, 1.1),
        verdict("Peak memory over that of the size before", last["peak"] / before["peak"], 1.1),
    ]
    parts = [table(head, map(line, rows)), "\n".join(verdicts), NOTE.format(repeats=repeats)]
    report("rows", __doc__, parts, args)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--write", folder, *sizes]:
            for size in map(int, sizes):
                if not located(Path(folder), size).exists():
                    write(located(Path(folder), size), size)
        case ["--measure", job, path]:
            print(json.dumps(measure(JOBS[job], Path(path))))
        case _:
            main()
