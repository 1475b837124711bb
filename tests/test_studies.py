"""Every study and benchmark runs, in its quick version, from its own file."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
STUDIES = sorted((ROOT / "studies").glob("*.py")) + sorted((ROOT / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("script", STUDIES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_quick_version_of_studies_and_benchmarks(script, tmp_path):
    text = script.read_text()
    if "__main__" not in text:
        pytest.skip("shared by the other scripts")
    needed = [name for name in ("KDEpy", "diffprivlib") if name in text]
    if any(importlib.util.find_spec(name) is None for name in needed):
        pytest.skip(f"needs {', '.join(needed)}: make peers")
    subprocess.run(
        [sys.executable, "-W", "ignore", str(script), "--quick", "--out", str(tmp_path)],
        check=True, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert list(tmp_path.iterdir())
    assert np.all([p.stat().st_size > 0 for p in tmp_path.iterdir()])
