"""A warning is an output: none of them may depend on records, in whatever thread they are read."""

import subprocess
import sys
import threading
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mercer
from mercer.common.checks import FindingWarning, PrivacyWarning
from mercer.common.quiet import quiet, quietly, threads
from mercer.sensitive.rows import fold

PROMISE = {"epsilon": 1.0, "delta": 1e-6, "rng": 0}


class Loud:
    """A tally whose every step warns of the numbers it meets."""

    def __init__(self):
        self.total = 0.0

    def add(self, chunk):
        self.total += float(np.sum(np.log(chunk) - np.array([np.inf, -np.inf]).sum()))
        warnings.warn("a cell of value 123", RuntimeWarning, stacklevel=1)
        return self

    def merge(self, other):
        self.total += other.total
        return self


@pytest.mark.parametrize("workers", [1, 2, 8])
def test_threads_that_read_records_are_silent(workers):
    parts = [lambda: iter([np.array([-1.0, 0.0])] * 5)] * 20
    with warnings.catch_warnings(record=True) as told, np.errstate(all="raise"), quiet():
        warnings.simplefilter("always")  # set later, and still not heard
        warnings.simplefilter("ignore", FindingWarning)  # of noisy numbers
        with quiet():
            fold(parts, Loud, workers=workers)
    assert told == []
    with quiet(), threads(2) as pool:
        assert list(pool.map(lambda x: np.float64(x) / 0.0, [1.0, -1.0])) == [np.inf, -np.inf]


def test_warnings_of_public_arguments_are_heard():
    @quietly
    def call():
        warnings.warn("few", PrivacyWarning, stacklevel=2)
        warnings.warn("a cell", UserWarning, stacklevel=2)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", FindingWarning)  # of noisy numbers
        call()
        assert [str(one.message) for one in told] == ["few"]
        warnings.simplefilter("ignore")
        call()
        assert len(told) == 1
    with pytest.warns(PrivacyWarning, match="few"):
        call()


def test_other_threads_and_later_calls_keep_their_warnings():
    """Filters belong to the process: a call must not take a word from anybody else."""
    before = list(warnings.filters)
    inside, leave = threading.Event(), threading.Event()

    @quietly
    def slow():
        inside.set()
        leave.wait(10)

    thread = threading.Thread(target=slow)
    thread.start()
    inside.wait(10)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", FindingWarning)  # of noisy numbers
        warnings.warn("mine", UserWarning, stacklevel=1)
        keeper = warnings.catch_warnings()
        keeper.__enter__()  # ends after the call does, and brings its filter back
        leave.set()
        thread.join()
        keeper.__exit__(None, None, None)
        warnings.warn("mine as well", UserWarning, stacklevel=1)
    assert [str(one.message) for one in told] == ["mine", "mine as well"]
    with quiet(), quiet():
        pass
    assert warnings.filters == before


def test_many_calls_side_by_side_leave_the_filters_as_they_were():
    before = list(warnings.filters)
    failed = []

    def often():
        for _ in range(300):
            with quiet():
                try:
                    warnings.warn("a cell", RuntimeWarning, stacklevel=1)
                except RuntimeWarning:  # the tests' own filter
                    failed.append(1)

    crowd = [threading.Thread(target=often) for _ in range(6)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
    assert not failed
    assert warnings.filters == before


ODD = [np.inf, -np.inf, np.nan, 1.7e308, -1.7e308, 5e-324]


def _said(call):
    with warnings.catch_warnings(record=True) as told, np.errstate(all="raise"):
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", FindingWarning)  # of noisy numbers
        call()
    return [(one.category, str(one.message)) for one in told]


def test_wide_curves_with_odd_heights_say_nothing(tmp_path):
    """Columns are counted by threads: infinities, 1e400, and a centre far out."""
    clean = {f"p{i}": np.linspace(0, 1, 3000) for i in range(6)}
    odd = {name: column.copy() for name, column in clean.items()}
    for i, value in enumerate(ODD):
        odd[f"p{i}"][i::7] = value
    lines = [",".join(odd), *(",".join(map(str, row)) for row in zip(*odd.values(), strict=True))]
    lines[5] = "1e400,-1e400,1e-400,nan,inf,NA"
    (tmp_path / "odd.csv").write_text("\n".join(lines) + "\n")
    pq.write_table(pa.table(odd), tmp_path / "odd.parquet", row_group_size=100)
    sources = [
        pa.table(odd),
        pd.DataFrame(odd),
        np.column_stack(list(odd.values())),
        tmp_path / "odd.csv",
        tmp_path / "odd.parquet",
    ]
    grid = np.arange(6.0)
    for center in (None, 1e308, -1.7e308, np.full(6, 1e-308)):
        for outside in ("clip", "drop"):
            options = {"grid": grid, "bound": 1.0, "center": center, "outside": outside} | PROMISE
            quiet_one = _said(lambda more=options: mercer.mean_curve(pa.table(clean), **more))
            for data in sources:
                more = {} if isinstance(data, np.ndarray) else {"columns": "p*"}
                said = _said(lambda data=data, more=more | options: mercer.mean_curve(data, **more))
                assert said == quiet_one
    told = _said(lambda: mercer.curve_bound(tmp_path / "odd.parquet", grid=grid, most=10, epsilon=1, rng=0))
    assert told == []


def test_every_kind_that_reads_with_threads_says_nothing(tmp_path):
    """Rows, labelled rows and records of mixed columns, from a file in parts."""
    n = 2000
    x, y = np.linspace(0, 1, n), np.tile([0.0, 1.0], n // 2)
    for i, value in enumerate(ODD):
        x[i::9], y[i + 1 :: 11] = value, value
    with np.errstate(all="ignore"):
        small = x.astype(np.float32).view(np.uint32)
    small[3] = 0x7FA00000  # a signalling NaN
    table = pa.table({"x": x, "y": y, "s": small.view(np.float32), "u": np.arange(n) % 50})
    pq.write_table(table, tmp_path / "odd.parquet", row_group_size=50)
    file = tmp_path / "odd.parquet"
    domain = mercer.Domain({"x": (0, 1), "s": (0, 1)})
    one = {"bounds": (0, 1), **PROMISE}
    calls = {
        "density": lambda unit: mercer.density(file, columns="s", unit=unit, **one),
        "quantiles": lambda unit: mercer.quantiles(
            file, [0.5], bounds=(0, 1), epsilon=1, columns="s", unit=unit, rng=0
        ),
        "classifier": lambda unit: mercer.classifier(
            file, "y", columns=["x"], classes=(0, 1), unit=unit, **one
        ),
        "regression": lambda unit: mercer.regression(
            file, "y", columns=["s"], y_bounds=(0, 1), unit=unit, **one
        ),
        "synthetic": lambda unit: mercer.synthetic(
            file, domain=domain, size=20, scale="public", unit=unit, **PROMISE
        ),
        "features": lambda unit: mercer.synthetic(
            file, domain=domain, size=5, features=20, method="features", scale="public", unit=unit, **PROMISE
        ),
        "histogram": lambda unit: mercer.histogram(
            file, columns="s", bounds=(0, 1), bins=9, epsilon=1, unit=unit, rng=0
        ),
        "table": lambda unit: mercer.table(
            file, domain=domain, bins={"x": 3, "s": 3}, epsilon=1, unit=unit, rng=0
        ),
    }
    for name, call in calls.items():
        for unit in (None, "u"):
            said = _said(partial(call, unit))
            assert [words for kind, words in said if kind is not PrivacyWarning] == [], name


def test_a_callers_own_kernel_and_scores_are_not_heard():
    def loud(x, z):
        warnings.warn(f"record {x}", UserWarning, stacklevel=1)
        return float(np.exp(-abs(np.float64(x) - z)))

    kernel = mercer.OwnKernel(loud, supremum=1.0)
    rows = [0.5, np.inf, -np.inf, 1e308, 0.25] * 4
    said = _said(lambda: mercer.synthetic(rows, kernel=kernel, public=[0.0, 0.5, 1.0], **PROMISE))
    assert said == []

    def score(candidate):
        warnings.warn("score", UserWarning, stacklevel=1)
        return candidate

    assert _said(lambda: mercer.select([1, 2], score, sensitivity=1, epsilon=1, n=50, rng=0)) == []


def test_nothing_stands_on_the_terminal(tmp_path):
    """`python -W always`, in processes of their own: the same words for odd cells."""
    rows = "\n".join(["a,b,c", *["1,2,3"] * 300])
    (tmp_path / "clean.csv").write_text(rows + "\n")
    (tmp_path / "odd.csv").write_text(rows + "\n1e400,-inf,nan\n")
    command = [
        "--columns",
        "a",
        "b",
        "c",
        "--grid",
        "0",
        "1",
        "--bound",
        "5",
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--center",
        "1e300",
        "--seed",
        "1",
    ]
    told = []
    for name in ("clean", "odd"):
        run = subprocess.run(
            [
                sys.executable,
                "-W",
                "always",
                "-m",
                "mercer",
                "curve",
                f"{name}.csv",
                *command,
                "-o",
                f"{name}.json",
            ],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        told.append((run.returncode, run.stderr.replace(name, "")))
    assert told[0] == told[1]
    assert told[0][0] == 0
