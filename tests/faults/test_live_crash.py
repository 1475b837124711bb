"""Killed processes: every answer that was given is given again.  The study can be seen to fail."""

import importlib.util
import re
import subprocess
import sys

import pytest

from tests.helpers import ROOT

STUDY = ROOT / "studies" / "crashes" / "live_crashes.py"


def crashes(kind, out, *options):
    return subprocess.run(
        [sys.executable, "-W", "ignore", str(STUDY), "--only", kind, "--out", str(out), *options],
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(("kind", "kills"), [("SQLite", 20), ("PostgreSQL", 10)])
def test_kills_in_a_storm(kind, kills, tmp_path, request):
    if kind == "PostgreSQL":
        request.getfixturevalue("postgres")
    done = crashes(kind, tmp_path, "--kills", str(kills))
    print(done.stdout)  # the crash log
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.match(rf"{kind}: (\d+) kills of a process at work.* (\d+) questions", done.stdout)
    assert found, done.stdout
    assert int(found[1]) >= kills
    assert int(found[2]) >= 4  # all that asked were answered
    assert " 0 mismatches" in done.stdout


@pytest.mark.parametrize("kind", ["SQLite", "PostgreSQL"])
def test_telling_before_the_commit_would_be_seen(kind, tmp_path, request):
    if kind == "PostgreSQL":
        request.getfixturevalue("postgres")
    done = crashes(kind, tmp_path, "--fault")
    assert done.returncode == 1, done.stdout + done.stderr
    assert int(re.search(r"(\d+) mismatches", done.stdout)[1]) > 0


def test_one_bit_would_be_seen(tmp_path):
    spec = importlib.util.spec_from_file_location("live_crashes", STUDY)
    study = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = study
    spec.loader.exec_module(study)
    notes = study.Notes(tmp_path / "notes")
    notes.write("line", [(1.0,), (2.0,)], [0.1, 0.2])
    with notes.path.open("a") as file:
        file.write('["line", [["0x1.0p+0"]], [')  # killed while it wrote
    told = study.Told()
    for line in notes.new():
        told.add(*line)
    assert told.values == {"line": {(1.0,): 0.1, (2.0,): 0.2}}
    assert list(notes.new()) == []
    assert told.verify(lambda *_: [0.1, 0.2]) == 0
    assert told.verify(lambda *_: [0.1, 0.1 + 0.1 + 2**-55]) == 1
    told.add("line", [(1.0,)], [0.1 + 2**-56])
    assert told.mismatches == 1
    del sys.modules[spec.name]
