"""What does a histogram of 1e8 rows, or a sparse table of 2^16 or 2^40 cells, cost?

One float64 column of 1e5 to 1e8 rows of a Parquet file in row groups of 1e6, as PyArrow writes it
by default, in 100 equal and in 4 uneven bins; the baseline is PyArrow streaming the same column
and doing nothing with it.  Then releases of counts that are known, beside noise in every cell by
OpenDP.
"""  # noqa: D400

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from common import child, options, race, report, table, trials, verdict
from rows import batches, groups, located, measure, write

# The parent imports neither NumPy nor PyArrow before the files are read: see rows.py.

SIZES = [10**5, 10**6, 10**7, 10**8]
QUICK = [10**4]
NOTE = """\
Rows: seconds are the least of {repeats} processes, two runs in each; the file lies in the system's
cache.  Mercer: `histogram(path, columns="age", bins=100, bounds=(0, 100), epsilon=1)`, secure
noise.  Counts: least of {repeats} runs in turn.  OpenDP: `make_laplace` on whole numbers for all
cells at once; it draws noise for every cell and has no sparse release, so that a table of 2^40
cells is beyond it.  `mercer dense` is noise in every cell, by the same exact law as OpenDP's."""


def release(path: Path) -> object:
    import mercer

    return mercer.histogram(path, columns="age", bins=100, bounds=(0, 100), epsilon=1)


def uneven(path: Path) -> object:
    import mercer

    return mercer.histogram(path, columns="age", bins=[0, 18, 40, 65, 100], epsilon=1)


JOBS: dict[str, Callable[[Path], object]] = {
    "batches": batches,
    "groups": groups,
    "release": release,
    "uneven": uneven,
}


def trial(folder: Path, rows: int, repeats: int) -> dict[str, float]:
    """One row of the first table; the jobs take turns."""
    seconds, peaks = trials(__file__, JOBS, located(folder, rows), repeats)
    stream = min(seconds["batches"], seconds["groups"])
    return {"rows": rows, "stream": stream, "peak": peaks["release"], **seconds}


def known(cells: int, occupied: int, repeats: int) -> dict[str, float]:
    """Seconds of a release of counts that are known."""
    from mercer.door.publish import Purse, publish
    from mercer.noise.entropy import Secure
    from mercer.noise.mechanisms.base import Promise
    from mercer.noise.mechanisms.counts import GeometricCounts, SparseCounts, threshold_of
    from mercer.sensitive.summaries.cell_counts import CellCounts, OccupiedCounts, moved_counts

    tally, mechanism = counted(cells, occupied), GeometricCounts()
    noise = mechanism.calibrate(moved_counts(2, 1, "l1"), epsilon=1)
    threshold = threshold_of(noise, cells, None)

    def released(limit: int | None) -> object:
        n, payer, promise = 10 * occupied, Purse(Secure()), Promise(epsilon=1.0, delta=0.0)
        if limit is None:
            dense = CellCounts(tally, n=n, unit="row")
            return publish(dense, mechanism, lambda noisy, *_: noisy, payer, promise=promise)
        counts, how = OccupiedCounts(tally, n=n, unit="row"), SparseCounts(mechanism, limit)
        return publish(counts, how, lambda noisy, *_: noisy, payer, promise=promise)

    runs: dict[str, Callable[[], object]] = {"sparse": lambda: released(threshold)}
    if cells <= 1 << 16:
        every, measurement = tally.dense(), opendp(noise.law.scale)
        runs |= {"dense": lambda: released(None), "opendp": lambda: measurement(every)}
    return race(runs, repeats)


def counted(cells: int, occupied: int):
    """A tally with this many occupied cells of ten records each."""
    import numpy as np

    from mercer.columns.cells import Axes, Axis
    from mercer.columns.kinds import Boolean
    from mercer.common.streams import simulation
    from mercer.sensitive.summaries.cell_counts import CellTally

    columns = cells.bit_length() - 1
    axes = Axes(tuple(Axis(Boolean(f"b{i}")) for i in range(columns)))
    keys = np.unique(simulation(9).integers(0, cells, occupied))
    tally = CellTally(axes)
    tally.put(axes.places(keys), len(keys), np.full(len(keys), 10))
    return tally


def opendp(scale: float):
    """OpenDP's measurement for counts of all cells."""
    from opendp import measurements
    from opendp.domains import atom_domain, vector_domain
    from opendp.metrics import l1_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    space = vector_domain(atom_domain(T="i64"))
    return measurements.make_laplace(space, l1_distance(T="i64"), scale=scale)


def main() -> None:
    args = options(__doc__, ("--folder", "keep the files here, and use those that are there"))
    sizes, repeats = (QUICK, 1) if args.quick else (SIZES, 3)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(args.folder or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        child(__file__, "--write", str(folder), *map(str, sizes))
        rows = [trial(folder, size, repeats) for size in sizes]
    last = rows[-1]
    first = table(
        [
            "rows",
            "iter_batches s",
            "read_row_group s",
            "100 equal bins s",
            "4 uneven bins s",
            "ratio",
            "peak MB",
            "ns/row",
        ],
        (
            [
                f"{r['rows']:.0e}",
                *(f"{r[k]:.4f}" for k in JOBS),
                f"{r['release'] / r['stream']:.2f}",
                f"{r['peak']:.0f}",
                f"{1e9 * r['release'] / r['rows']:.1f}",
            ]
            for r in rows
        ),
    )
    bits, occupied, large_bits = (10, 50, 30) if args.quick else (16, 3152, 40)
    small = known(1 << bits, occupied, 5 * repeats)
    large = known(1 << large_bits, 100 if args.quick else 100_000, repeats)
    second = table(
        ["release of known counts", "ms"],
        [
            ["2^16 cells, 3152 occupied: mercer sparse", f"{1e3 * small['sparse']:.1f}"],
            ["2^16 cells: mercer dense", f"{1e3 * small['dense']:.1f}"],
            ["2^16 cells: OpenDP", f"{1e3 * small['opendp']:.1f}"],
            ["2^40 cells, 1e5 occupied: mercer sparse", f"{1e3 * large['sparse']:.1f}"],
        ],
    )
    verdicts = [
        verdict(f"Ratio at {last['rows']:.0e} rows", last["release"] / last["stream"], 2),
        verdict("The same, uneven bins", last["uneven"] / last["stream"], 2),
        verdict("Sparse release of 2^16 cells, ms", 1e3 * small["sparse"], 50),
        verdict("Sparse release of 2^40 cells, s", large["sparse"], 1),
        verdict("Noise in every cell over OpenDP's time", small["dense"] / small["opendp"], 1),
    ]
    notes = NOTE.format(repeats=repeats)
    report("counts", __doc__, [first, second, "\n".join(verdicts), notes], args)


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
