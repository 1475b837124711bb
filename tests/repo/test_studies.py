"""Every study and benchmark runs, in its quick version, from its own file.

What they import from elsewhere, which takes most of the seconds of many, is there already when
their processes start; Mercer is not, and each imports what it needs of it.
"""

import importlib.util

import numpy as np
import pytest

from tests.helpers import ROOT
from tests.helpers.children import in_a_child

STUDIES = sorted((ROOT / "studies").rglob("*.py")) + sorted((ROOT / "benchmarks").glob("*.py"))
LOADED = (
    "dp_accounting",
    "flint",
    "matplotlib.pyplot",
    "opendp.domains",
    "opendp.measurements",
    "opendp.measures",
    "opendp.metrics",
    "pandas",
    "pyarrow.parquet",
    "scipy.optimize",
    "scipy.signal",
    "scipy.stats",
    "sklearn.base",
    "sqlalchemy",
)
PROGRAM = """
import runpy, signal, sys
signal.alarm(300)  # seconds, then it is killed
sys.path.insert(0, {folder!r})
sys.argv[:] = [{name!r}, "--quick", "--out", {out!r}]
runpy.run_module({name!r}, run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("script", STUDIES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_quick_version_of_studies_and_benchmarks(script, tmp_path):
    text = script.read_text()
    if '__name__ == "__main__"' not in text:
        pytest.skip("shared by the other scripts")
    needed = [name for name in ("KDEpy", "diffprivlib") if name in text]
    if any(importlib.util.find_spec(name) is None for name in needed):
        pytest.skip(f"needs {', '.join(needed)}: make peers")
    folder = ROOT if ROOT / "studies" in script.parents else script.parent
    name = ".".join(script.relative_to(folder).with_suffix("").parts)
    in_a_child(PROGRAM.format(folder=str(folder), name=name, out=str(tmp_path)), LOADED)
    assert list(tmp_path.iterdir())
    assert np.all([p.stat().st_size > 0 for p in tmp_path.iterdir()])
