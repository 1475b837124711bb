"""What does a mean embedding of N rows at M landmarks cost beside a matrix product of that size?

N = 1e5 rows of D = 5 columns, M = 1000 landmarks.  The product is X Z', float32, in blocks of rows:
as many numbers as there are kernel values.  Features e(x) = L^-1 k(Z, x), which a release by rows
would need, cost another N x M x M product.  Then N = 1e6 and 1e7 rows of a Parquet file: seconds
and peak memory; and Algorithm 2 with J = 10,000 features and M = 100 records.
"""  # noqa: D400

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from common import child, options, report, table, verdict

ROWS, LANDMARKS, COLUMNS = 10**5, 1000, 5
FILES = [10**6, 10**7]
BLOCKS = (512, 1024, 2048, 4096, 8192)
NOTE = """\
Seconds are the least of {repeats} runs in one process, compiled loops warm.  The file runs are one
process each, with secure noise and weights "free"; peak memory is `ru_maxrss`."""


def products(rows: int, landmarks: int, repeats: int) -> dict[str, float]:
    """In the child: seconds of the products and of the embedding."""
    import numpy as np

    import mercer
    from mercer.sensitive.data import open_records
    from mercer.sensitive.summaries.embedding import LandmarkFeatures, tally_records
    from mercer.sensitive.summaries.kernel_sums import kernel_error
    from mercer.spaces.record_kernels import LandmarkSpan, RecordKernel

    rng = np.random.default_rng(0)
    x, z = rng.random((rows, COLUMNS)), rng.random((landmarks, COLUMNS))
    domain = mercer.Domain({f"x{j}": (0.0, 1.0) for j in range(COLUMNS)})
    kernel = RecordKernel(domain, "gaussian", (0.25,) * COLUMNS)
    u = kernel.embed(z)
    span, used = LandmarkSpan.of(kernel.between(u, u), kernel_error(kernel))
    how = LandmarkFeatures(kernel, np.ascontiguousarray(u[used]), span)
    records = open_records(x, domain=domain, unit=None)
    single, across = x.astype(np.float32), np.ascontiguousarray(z.T.astype(np.float32))
    square = rng.random((landmarks, landmarks), dtype=np.float32)

    def product(block: int) -> None:
        out = np.empty((block, landmarks), dtype=np.float32)
        for start in range(0, rows, block):
            part = single[start : start + block]
            np.dot(part, across, out=out[: len(part)])

    def features() -> None:
        values = np.ones((2048, landmarks), dtype=np.float32)
        for _ in range(0, rows, 2048):
            np.dot(values, square)

    tally_records(records, how)  # compile
    found = {}
    jobs = {f"product, blocks of {b}": (lambda b=b: product(b)) for b in BLOCKS}
    jobs |= {"N x M x M product": features, "embedding": lambda: tally_records(records, how)}
    for name, job in jobs.items():
        times = []
        for _ in range(repeats):
            start = perf_counter()
            job()
            times.append(perf_counter() - start)
        found[name] = min(times)
    found["landmarks used"] = float(len(used))
    return found


def write(path: Path, rows: int) -> None:
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(rows)
    schema = pa.schema([(f"x{j}", pa.float64()) for j in range(COLUMNS)])
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, rows, 500_000):
            many = min(500_000, rows - start)
            writer.write_table(pa.table({f"x{j}": rng.beta(2, 3, many) for j in range(COLUMNS)}))


def release(path: Path, size: int) -> dict[str, float]:
    """In the child: seconds and peak megabytes of a release from a file."""
    import resource

    import mercer

    domain = mercer.Domain({f"x{j}": (0.0, 1.0) for j in range(COLUMNS)})
    start = perf_counter()
    mercer.synthetic(str(path), domain=domain, epsilon=1, delta=1e-8, scale=0.25, weights="free", size=size)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": perf_counter() - start, "peak": peak}


def search(features: int, records: int) -> dict[str, float]:
    """In the child: seconds of Algorithm 2, on rows like the paper's."""
    import numpy as np

    import mercer

    rng = np.random.default_rng(0)
    means = rng.normal(100, 200, (10, COLUMNS))
    rows = means[rng.integers(10, size=ROWS if features > 500 else 2000)]
    rows = rows + 30 * rng.standard_normal(rows.shape)
    domain = mercer.Domain({f"x{j}": (-1500.0, 1500.0) for j in range(COLUMNS)})
    start = perf_counter()
    made = mercer.synthetic(
        rows,
        domain=domain,
        epsilon=1,
        delta=1e-6,
        method="features",
        features=features,
        size=records,
        scale=158 / 3000,
        weights="l1",
        rng=0,
    )
    seconds, seen = perf_counter() - start, made.embedding
    mean = made.weights @ seen.seen(made.kernel, made.codes, made.marks)
    return {"seconds": seconds, "distance": float(np.linalg.norm(mean - seen.target))}


def main() -> None:
    args = options(__doc__)
    quick = args.quick
    rows, landmarks, repeats = (2000, 50, 1) if quick else (ROWS, LANDMARKS, 7)
    times = json.loads(child(__file__, "--products", str(rows), str(landmarks), str(repeats)))
    used = times.pop("landmarks used")
    lines = [[name, f"{seconds:.4f}"] for name, seconds in times.items()]
    blocks = [times[f"product, blocks of {b}"] for b in BLOCKS]
    files = []
    with tempfile.TemporaryDirectory() as folder:
        for size in [2000] if quick else FILES:
            path = Path(folder) / f"{size}.parquet"
            child(__file__, "--write", str(path), str(size))
            files.append((size, json.loads(child(__file__, "--release", str(path), str(landmarks)))))
    sizes = ("20", "2") if quick else ("10000", "100")
    found = json.loads(child(__file__, "--search", *sizes))
    best, worst = times["embedding"] / min(blocks), times["embedding"] / max(blocks)
    large = times["embedding"] / times["N x M x M product"]
    growth = files[-1][1]["peak"] / files[0][1]["peak"]
    parts = [
        NOTE.format(repeats=repeats),
        f"N = {rows:,}, M = {landmarks} ({used:.0f} used), D = {COLUMNS}:",
        table(["job", "seconds"], lines),
        verdict("Embedding over the product in its best blocks", best, 2),
        verdict("Embedding over the product in its worst blocks", worst, 2),
        verdict("Embedding over the N x M x M product", large, 2),
        table(
            ["rows of a file", "seconds", "peak MB"],
            [[f"{n:.0e}", f"{r['seconds']:.1f}", f"{r['peak']:.0f}"] for n, r in files],
        ),
        verdict("Peak memory, tenfold rows", growth, 1.3),
        f"Algorithm 2 ({sizes[0]} features, {sizes[1]} records): {found['seconds']:.0f} s in all, "
        f"distance {found['distance']:.4f} to the private target.",
    ]
    report("embeddings", __doc__, parts, args)


if __name__ == "__main__":
    if "--products" in sys.argv:
        print(json.dumps(products(*map(int, sys.argv[2:5]))))
    elif "--write" in sys.argv:
        write(Path(sys.argv[2]), int(sys.argv[3]))
    elif "--release" in sys.argv:
        print(json.dumps(release(Path(sys.argv[2]), int(sys.argv[3]))))
    elif "--search" in sys.argv:
        print(json.dumps(search(int(sys.argv[2]), int(sys.argv[3]))))
    else:
        main()
