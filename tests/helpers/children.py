"""Programs in processes of their own, without the seconds that imports take.

A helper is a new interpreter that has imported Mercer and what it loads late, and has made, opened
and drawn nothing.  It forks for each program: the child shares nothing with the test but the disk
and the database.
"""

from __future__ import annotations

import atexit
import functools
import json
import subprocess
import sys

HELPER = """
import importlib, json, os, sys, tempfile, traceback
sys.path[:0] = json.loads(sys.argv[1])
for name in json.loads(sys.argv[2]):
    importlib.import_module(name)


def become(program, out, err):
    for handle, number in ((os.open(os.devnull, os.O_RDONLY), 0), (out.fileno(), 1), (err.fileno(), 2)):
        os.dup2(handle, number)
    code = 1
    try:
        exec(compile(program, "program", "exec"), {"__name__": "__main__"})
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(code)


for line in sys.stdin:
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        child = os.fork()
        if child == 0:
            become(json.loads(line), out, err)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        print(json.dumps([code, *(f.seek(0) or f.read() for f in (out, err))]), flush=True)
"""
LOADED = (
    "mercer.api.density",
    "mercer.ledger.ledger",
    "mercer.api.live",
    "mercer.online.cholesky",
    "mercer.online.databases",
    "mercer.online.markov",
    "mercer.releases.base",
    "tests.helpers.live_samples",
    "opendp.domains",
    "opendp.measurements",
    "opendp.measures",
    "opendp.metrics",
    "psycopg",
    "pyarrow.ipc",
    "scipy.signal",
    "sqlalchemy.dialects.postgresql",
    "sqlalchemy.dialects.sqlite",
)


@functools.cache
def _helper(loaded: tuple[str, ...]) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "ignore", "-c", HELPER, json.dumps(sys.path), json.dumps(loaded)]
    helper = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    atexit.register(helper.communicate)  # its input ends, and so does it
    return helper


def in_a_child(program: str, loaded: tuple[str, ...] = LOADED) -> str:
    """What a program prints that has a process of its own, with these modules imported."""
    helper = _helper(loaded)
    assert helper.stdin is not None
    assert helper.stdout is not None
    print(json.dumps(program), file=helper.stdin, flush=True)
    code, out, err = json.loads(helper.stdout.readline())
    assert code == 0, err
    return out.strip()
