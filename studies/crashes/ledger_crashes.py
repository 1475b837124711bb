"""What a killed process leaves: never a release without its charge, never a damaged ledger.

A worker charges 0.1 against a total of 1 again and again, and after each charge publishes: it
appends the receipt to a file and syncs it.  It is killed (SIGKILL) at a random moment.  Then the
ledger must open and pass its check, every published receipt must be in it, what is left must
still be usable by another process, and no more than ten charges may ever be accepted.

    python -m studies.crashes.ledger_crashes                       # SQLite
    MERCER_TEST_POSTGRES=postgresql://… python -m studies.crashes.ledger_crashes   # and PostgreSQL

A kill leaves what was handed to the operating system; a power failure is not simulated here.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import random
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import mercer
from mercer.ledger.ledger import BudgetExceeded, Ledger
from mercer.promise.events import PureEvent

EPSILON, FITS = 0.1, 10
KINDS = ("SQLite", "PostgreSQL")
PATIENCE = 20  # seconds, for a busy machine


@dataclass
class Tally:
    """What happened."""

    kills: int = 0
    published: int = 0  # receipts on the disk when the process died
    unpublished: int = 0  # charges without a release: spent, and nobody's privacy lost
    busy: int = 0  # kills that came while the worker was at work
    faults: int = 0


def charge(ledger: Ledger, name: str) -> tuple[int, str]:
    receipt = ledger.charge(name, [PureEvent(EPSILON)], epsilon=EPSILON, delta=0, what="a count")
    return receipt.number, receipt.digest


def work(place: str, name: str, out: Path, fault: bool) -> None:
    """Charge, then publish; with `fault` the wrong way round, to show that it would be seen."""
    ledger = Ledger(place)
    with out.open("a") as file:
        for number in range(1, FITS + 1):
            line = [number, None] if fault else list(charge(ledger, name))
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())
            if fault:
                charge(ledger, name)


def kill_once(place: str, name: str, out: Path, pace: float, fault: bool, tally: Tally) -> None:
    """One worker, one kill, all checks."""
    Ledger(place).register(name, epsilon=1)
    worker = os.fork()
    if worker == 0:
        try:
            work(place, name, out, fault)
        finally:
            os._exit(0)
    _wait(out, random.randrange(FITS))
    time.sleep(random.uniform(0.0, pace))
    os.kill(worker, signal.SIGKILL)
    _, status = os.waitpid(worker, 0)
    tally.kills += 1
    tally.busy += os.WIFSIGNALED(status)
    lines = out.read_text().splitlines() if out.exists() else []
    published = [json.loads(line) for line in lines if line.endswith("]")]
    ledger = Ledger(place)
    ledger.check()
    charges = {c.number: c.receipt.digest for c in ledger.history(name)}
    paid = sum(n in charges and digest in (None, charges[n]) for n, digest in published)
    with contextlib.suppress(BudgetExceeded):
        while True:  # another process goes on
            charge(ledger, name)
    accepted = len(ledger.history(name))
    tally.published += len(published)
    tally.unpublished += len(charges) - paid
    tally.faults += paid != len(published) or accepted != FITS


def _wait(out: Path, count: int) -> None:
    """Until so many receipts were published: a kill then comes at any stage of the worker."""
    end = time.monotonic() + PATIENCE
    while count and time.monotonic() < end:
        if out.exists() and out.read_text().count("\n") >= count:
            return
        time.sleep(0.0005)


def _pace(place: str, name: str) -> float:
    """Seconds for two charges on this machine, as busy as it is."""
    ledger = Ledger(place)
    ledger.register(name, epsilon=1)
    start = time.monotonic()
    for _ in range(FITS):
        charge(ledger, name)
    return (time.monotonic() - start) / FITS * 2


def run(kind: str, place: str, kills: int, fault: bool, folder: Path) -> str:
    tally, start = Tally(), time.monotonic()
    pace = _pace(place, f"pace of {os.getpid()}")
    for k in range(kills):
        name = f"round {k} of {os.getpid()}"
        kill_once(place, name, folder / f"{kind}-{k}", pace, fault, tally)
        if fault and tally.faults:
            break  # seen
    seconds = time.monotonic() - start
    return (
        f"{kind}: {tally.kills} kills, {tally.busy} of a worker at work; {tally.published} "
        f"releases published, {tally.unpublished} charges without a release; "
        f"{tally.faults} faults; {seconds:.1f} s"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--quick", action="store_true", help="10 kills instead of 100")
    parser.add_argument("--fault", action="store_true", help="publish before the charge: is seen")
    parser.add_argument("--only", choices=KINDS, help="one of the two")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    url = os.environ.get("MERCER_TEST_POSTGRES")
    with tempfile.TemporaryDirectory() as folder:
        places = {"SQLite": f"{folder}/ledger.db"} | ({"PostgreSQL": url} if url else {})
        lines = [
            run(kind, place, 10 if given.quick else 100, given.fault, Path(folder))
            for kind, place in places.items()
            if given.only in (None, kind)
        ]
    lines.append(f"python {platform.python_version()}, mercer {mercer.__version__}")
    (given.out / "ledger_crashes.txt").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
    if any(" 0 faults" not in line for line in lines[:-1]):
        sys.exit(1)


if __name__ == "__main__":
    main()
