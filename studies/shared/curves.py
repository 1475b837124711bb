"""What the studies of mean curves share: coordinates, the papers' noise, files, pictures.

The data of real people and places are files in the folder that MERCER_DATA names.
"""

from __future__ import annotations

import io
import math
import os
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from scipy.integrate import trapezoid

from machine_data import Floats, provenance
from mercer.spaces.modes import SpectralFilter
from mercer.spaces.polynomials import Polynomials

__all__ = [
    "COLOURS",
    "POLYNOMIALS",
    "Floats",
    "coordinates",
    "data_file",
    "gaussian_scale",
    "largest_norm",
    "printed_multiplier",
    "provenance",
    "rms",
    "save",
    "sheet",
    "smoothed",
    "titles",
]

POLYNOMIALS = Polynomials((128,))  # what Mercer sees curves through

COLOURS = {
    "sample": "#cfcfcf",
    "mean": "#1e8449",
    "paper": "#c0392b",
    "exact": "#e0a030",
    "ours": "#123a6b",
    "pure": "#7f5fa8",
}

FILES = {
    "dti_cca.csv": "ID, visit, case, ... and cca_01 to cca_93, 382 rows: the table DTI of the R "
    "package refund",
    "berkeley_growth.csv": "id, sex and heights in cm at 31 ages, age_1 to age_18, 93 rows: growth "
    "of the R package fda",
    "canadian_weather_temp.csv": "place, region, lat_n, lon_w and d001 to d365, deg C, 35 rows: "
    "CanadianWeather of the R package fda",
}


def data_file(name: str) -> Path:
    """A file of the folder MERCER_DATA; the study ends with a word on what to get."""
    folder = os.environ.get("MERCER_DATA")
    path = Path(folder or ".") / name
    if folder is None or not path.exists():
        where = "the variable MERCER_DATA names no folder" if folder is None else f"not in {folder}"
        sys.exit(
            f"{name} is missing ({where}). Its columns: {FILES[name]}. Put it as a CSV file with "
            "a header into a folder and name that folder in MERCER_DATA, or take --quick, which "
            "uses a generated stand-in."
        )
    return path


def gaussian_scale(rho: float) -> float:
    """The papers write exp(-|t - s|^2 / rho), Mercer exp(-|t - s|^2 / (2 scale^2))."""
    return math.sqrt(rho / 2)


def printed_multiplier(*, epsilon: float, delta: float) -> float:
    """Mirshani's and Hall's sqrt(2 ln(2/delta)) / epsilon; proved up to epsilon = 1 only (E1)."""
    return math.sqrt(2 * math.log(2 / delta)) / epsilon


def coordinates(curves: Floats, grid: Floats) -> Floats:
    """Of broken lines on [0, 1], in Mercer's polynomials: (curves, 128).  Not private."""
    return np.asarray(curves) @ POLYNOMIALS.of_grid([np.asarray(grid)])


def largest_norm(curves: Floats, grid: Floats) -> float:
    """The papers' tau: the largest norm of the curves, by the trapezoid rule.  Not private (E8)."""
    return math.sqrt(float(np.max(trapezoid(np.asarray(curves) ** 2, grid, axis=1))))


def smoothed(mean: Floats, smoothing: SpectralFilter) -> Floats:
    """The penalised mean without noise, from and to coordinates.  Not private."""
    found = smoothing.modes(POLYNOMIALS)
    return ((mean @ found.vectors) * smoothing.factors(found.values)) @ found.vectors.T


def rms(values: Floats) -> float:
    """Root mean square over [0, 1] of a function by its coordinates; over draws, if several."""
    square = np.sum(np.atleast_2d(values) ** 2, axis=1)
    return float(np.sqrt(np.mean(square)))


# --- pictures ------------------------------------------------------------------------------------


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
