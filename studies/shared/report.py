"""What all studies share: data files, intervals, pictures, and a line that says what a result was made with.

The data of real people and places are files in the folder that the variable MERCER_DATA names.
"""

from __future__ import annotations

import io
import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from scipy.stats import t

__all__ = ["COLOURS", "Floats", "data_file", "half_width", "provenance", "save", "sheet", "titles"]

Floats = np.ndarray[Any, np.dtype[np.float64]]

FILES = {  # and their columns
    "adult_full.csv.gz": "the columns of UCI Adult under their names",
    "adult_numeric.csv.gz": "split (train or test), age, education_num, capital_gain, capital_loss, "
    "hours_per_week, sex_male, married, income_gt_50k (UCI Adult)",
    "banknote.csv": "variance, skewness, curtosis, entropy, forged (UCI banknote authentication)",
    "berkeley_growth.csv": "id, sex and heights in cm at 31 ages, age_1 to age_18, 93 rows (growth of "
    "the R package fda)",
    "california_housing_xy.csv": "longitude, latitude, median_income, median_house_value (StatLib, "
    "Pace and Barry)",
    "canadian_weather_temp.csv": "place, region, lat_n, lon_w and d001 to d365, deg C, 35 rows "
    "(CanadianWeather of the R package fda)",
    "dpbench_1d_4096.csv": "bin and seven columns of counts, 4096 rows (DPBench)",
    "dti_cca.csv": "ID, visit, case, ... and cca_01 to cca_93, 382 rows (DTI of the R package refund)",
    "edwards_mildew_2x6_counts.csv": "six columns of levels and count, 64 rows (mildew of the R package "
    "gRbase)",
    "nltcs_2x16_counts.csv": "pattern (16 characters 0 or 1) and count, the occupied cells of 2^16 "
    "(National Long Term Care Survey)",
    "old_faithful.csv": "durations of eruptions and waiting times of Old Faithful, under their names",
}

COLOURS = {
    "sample": "#cfcfcf",
    "mean": "#1e8449",
    "paper": "#c0392b",
    "exact": "#e0a030",
    "ours": "#123a6b",
    "pure": "#7f5fa8",
}


def data_file(name: str, folder: str | Path | None = None) -> Path:
    """A file of `folder`, or of MERCER_DATA; without it the study ends and says what to get."""
    folder = folder or os.environ.get("MERCER_DATA")
    if not folder or not (Path(folder) / name).exists():
        where = f"is not in {folder}" if folder else "is needed"
        sys.exit(
            f"{name} {where}: set MERCER_DATA to a folder that holds it as a CSV file with a header, "
            f"with the columns {FILES[name]}; or take --quick, which needs no files"
        )
    return Path(folder) / name


def half_width(values: Floats) -> float:
    """Half the width of the 95 % interval of the mean."""
    if len(values) < 2 or np.ptp(values) == 0:
        return 0.0
    spread = np.std(values, ddof=1) / np.sqrt(len(values))
    return float(t.ppf(0.975, len(values) - 1) * spread)


def provenance(*packages: str) -> str:
    """The commit, the versions and the processor, as one sentence for the end of a result."""

    def git(*words: str) -> str:
        top = Path(__file__).parent.parent.parent
        done = subprocess.run(["git", *words], cwd=top, capture_output=True, text=True)
        return done.stdout.strip()

    changed = " (with changes in src)" if git("status", "--porcelain", "src") else ""
    names = Path("/proc/cpuinfo")
    lines = names.read_text(encoding="utf-8").splitlines() if names.exists() else []
    cpu = next((line.split(": ")[1] for line in lines if line.startswith("model name")), "CPU")
    versions = [f"python {platform.python_version()}"]
    for name in ("numpy", "scipy", "scikit-learn", "mercer", *packages):
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            versions.append(f"{name} not installed")
    commit = git("rev-parse", "--short", "HEAD")
    return f"Commit {commit}{changed}; {', '.join(versions)}; {cpu}, {os.cpu_count()} cores."


def sheet(rows: int, columns: int, size: tuple[float, float], **options: Any) -> tuple[Any, Any]:
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    return plt.subplots(rows, columns, figsize=size, squeeze=False, **options)


def titles(axes: Any, title: str, small: str) -> None:
    axes.set_title(title, loc="left", fontsize=10, pad=6 + 10 * (small.count("\n") + 1))
    axes.text(0, 1.03, small, transform=axes.transAxes, fontsize=7.5, color="#555555")
    axes.spines[["top", "right"]].set_visible(False)


def save(figure: Any, path: Path, *, dpi: int = 90, colours: int = 64) -> None:
    """Few colours: a third of the size."""
    from matplotlib import pyplot as plt
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    with io.BytesIO() as buffer:
        figure.savefig(buffer, dpi=dpi)
        Image.open(buffer).convert("RGB").quantize(colours).save(path, optimize=True)
    plt.close(figure)
