"""The main job on made-up records: release densities, evaluate and draw them, ask a live one.

`make demo` runs this.  It writes to demo-output/ (or the folder given as an argument) and uses
the command line only, as a person would.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np

RECORDS = 20_000


def sample_records(path: Path) -> None:
    """Hospital admissions that never happened: two humps of ages, a few cells left empty."""
    rng = np.random.default_rng()
    young, old = rng.gamma(4.0, 7.0, RECORDS // 3), rng.normal(68.0, 12.0, RECORDS)
    ages = np.concatenate([young, old])[:RECORDS]
    ages = np.clip(rng.permutation(ages), 0.0, 104.0).round(1)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["patient", "age", "days"])
        for i, age in enumerate(ages):
            days = 1 + rng.poisson(2 + age / 20)
            writer.writerow([f"p{i:05d}", "" if rng.random() < 0.01 else age, days])


def mercer(*arguments: str) -> str:
    """Run the command line, show the call, return what it printed."""
    print(f"\n$ mercer {' '.join(arguments)}", flush=True)
    command = [sys.executable, "-m", "mercer", *arguments]
    done = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE)
    print(done.stdout, end="", flush=True)
    return done.stdout


def _program() -> str:
    """The command as it can be typed here."""
    beside = Path(sys.executable).with_name("mercer")
    return str(beside.relative_to(Path.cwd())) if beside.is_relative_to(Path.cwd()) else "mercer"


def main() -> None:
    """The tour."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output")
    public = folder / "releases"  # what `mercer serve` shows; the records are not in it
    public.mkdir(parents=True, exist_ok=True)
    records, picture = folder / "admissions.csv", folder / "ages.png"
    release, plane, path = (public / name for name in ("ages.json", "stays.json", "live.db"))
    for old in public.glob("live.db*"):
        old.unlink()
    sample_records(records)
    print(f"Made {RECORDS} sample records: {records} (what an earlier run made is replaced)")
    mercer("plan", "density", "--n", str(RECORDS), "--bounds", "0", "100", "--epsilon", "0.1", "0.5", "1")
    mercer(
        "density",
        str(records),
        "--column",
        "age",
        "--bounds",
        "0",
        "100",
        "--epsilon",
        "1",
        "-o",
        str(release),
        "--overwrite",
    )
    mercer("eval", str(release), "--at", "20", "40", "60", "80")
    mercer("plot", str(release), "-o", str(picture))
    mercer(
        "density",
        str(records),
        "--column",
        "age",
        "--column",
        "days",
        "--bounds",
        "0",
        "100",
        "0",
        "20",
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "-o",
        str(plane),
        "--overwrite",
    )
    mercer(
        "live",
        str(records),
        "--column",
        "age",
        "--bounds",
        "0",
        "100",
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--kernel",
        "matern32",
        "--store",
        str(path),
        "--name",
        "live-ages",
    )
    mercer("ask", str(path), "--at", "42")
    promise = json.loads(release.read_text())["privacy"]["sentence"]
    print(f"\nDone. Promised: {promise}")
    print(f"Records (sensitive in real life): {records}")
    print(f"The release, public for ever:     {release}")
    print(f"Its picture:                      {picture}")
    print(f"One of two columns, a live one:   {plane}, {path}")
    print(f"Look at them in a browser:        {_program()} serve {public}")


if __name__ == "__main__":
    main()
