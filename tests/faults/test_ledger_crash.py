"""Two processes never overspend; a killed one leaves no release unpaid.  Both can be seen to fail."""

import re
import subprocess
import sys

import pytest

from tests.helpers import ROOT

STUDY = ROOT / "studies" / "crashes" / "ledger_crashes.py"

RACE = """
import os, sys, time
sys.path[:0] = {path!r}
from mercer.promise.filter import PrivacyFilter
from mercer.ledger.ledger import BudgetExceeded, Ledger
from mercer.promise.events import PureEvent

class Unlocked(Ledger):
    '''Looks in one transaction and writes in another: the fault that the lock prevents.'''

    def charge(self, name, events, **more):
        left = self.remaining(name)
        if left.epsilon < 0.1:
            raise BudgetExceeded("", epsilon=0.1, delta=0, left=left)
        time.sleep(0.05)
        fits, PrivacyFilter.accepts = PrivacyFilter.accepts, lambda *_: True
        try:
            return super().charge(name, events, **more)
        finally:
            PrivacyFilter.accepts = fits

ledger = {kind}({place!r})
ledger.register("a", epsilon=1)
start = time.time() + 0.3
for _ in range(8):
    if os.fork() == 0:
        time.sleep(max(0, start - time.time()))
        done = 0
        try:
            for _ in range(5):
                ledger.charge("a", [PureEvent(0.1)], epsilon=0.1, delta=0, what="x")
                done += 1
        except BudgetExceeded:
            pass
        os._exit(done)
total = 0
for _ in range(8):
    total += os.waitstatus_to_exitcode(os.wait()[1])
ledger.check()
print(total, len(ledger.history("a")))
"""


def race(place, kind):
    """How many of 8 processes' 40 charges were told to have fitted, and how many are written."""
    program = RACE.format(path=sys.path, place=place, kind=kind)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return tuple(map(int, done.stdout.split()))


def test_eight_processes_share_one_total(place):
    assert race(place, "Ledger") == (10, 10)


def test_without_one_transaction_they_overspend(tmp_path):
    told, written = race(str(tmp_path / "a.db"), "Unlocked")
    assert told == written > 10


def crashes(kind, out, *options):
    return subprocess.run(
        [sys.executable, "-W", "ignore", str(STUDY), "--only", kind, "--out", str(out), *options],
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("kind", ["SQLite", "PostgreSQL"])
def test_a_hundred_kills(kind, tmp_path, request):
    if kind == "PostgreSQL":
        request.getfixturevalue("postgres")
    done = crashes(kind, tmp_path)
    print(done.stdout)  # the crash log
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.match(rf"{kind}: 100 kills, (\d+) of a worker at work; (\d+) releases", done.stdout)
    assert found, done.stdout
    assert int(found[1]) >= 20  # enough came in time, so that something was tested
    assert int(found[2]) >= 20
    assert " 0 faults" in done.stdout


def test_publishing_before_the_charge_would_be_seen(tmp_path):
    done = crashes("SQLite", tmp_path, "--fault")
    assert done.returncode == 1, done.stdout + done.stderr
    assert int(re.search(r"(\d+) faults", done.stdout)[1]) > 0
