"""Records that follow from formulas, and what is public of them."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa

import mercer

ROWS = 240
PURE = {"epsilon": 1.5}
WEAK = {"epsilon": 1.0, "delta": 1e-4}
STRONG = {"epsilon": 4.0, "delta": 1e-4}


def even(root: int, rows: int = ROWS) -> np.ndarray:
    """Numbers spread evenly over [0, 1), others for each root."""
    return (np.arange(1, rows + 1) * np.sqrt(root)) % 1.0


def bell(*roots: int, rows: int = ROWS) -> np.ndarray:
    """Numbers in [0, 1) that are mostly near the middle."""
    return sum(even(root, rows) for root in roots) / len(roots)


# rounded, so that they do not depend on how a machine computes powers and sines
AGE = np.round(100 * bell(2, 3) ** 1.5, 2)
BMI = np.round(15 + 30 * bell(5, 7, 11), 2)
PRESSURE = np.round(80 + 0.3 * AGE + 30 * even(13), 2)
DAYS = (30 * even(17) ** 2).astype(int)
ILL = AGE + 30 * even(19) > 55
WARD = np.array(["north", "south", "west"])[(3 * even(23) ** 2).astype(int)]
PERSON = np.arange(ROWS) // 2
DAY = [datetime.date(2020, 1, 1) + datetime.timedelta(days=int(v)) for v in 3 * AGE]
GAPS = np.where(even(29) < 0.05, np.nan, AGE)
TABLE = pa.table(
    {
        "age": AGE,
        "bmi": BMI,
        "pressure": PRESSURE,
        "days": DAYS,
        "outcome": np.where(ILL, "ill", "healthy"),
        "ward": WARD,
        "person": PERSON,
        "day": pa.array(DAY),
        "gaps": GAPS,
    }
)
PLANE = {"columns": ["age", "bmi"], "bounds": [(0, 100), (10, 50)]}
CUBE = {"columns": ["age", "bmi", "pressure"], "bounds": [(0, 100), (10, 50), (70, 150)]}
LINE = {"columns": "age", "bounds": (0, 100)}

GRID = np.linspace(0.0, 1.0, 21)
SLOPES, BENDS = even(2, 60)[:, None], even(3, 60)[:, None]
CURVES = np.round(0.5 * np.sin(3 * GRID) + 0.4 * (SLOPES - 0.5) * GRID + 0.2 * BENDS * GRID**2, 6)
LEVEL = {"grid": GRID, "bound": 1.0}

PAIR = {"age": (0, 100), "outcome": ["healthy", "ill"]}
WORDS = ["abc", "abd", "xyz", "mno", "axy"] * 40
LETTERS = mercer.OwnKernel(lambda x, z: len(set(x) & set(z)) / 3, supremum=1.0)
OWN = {"kernel": LETTERS, "public": ["abc", "xyz", "mno", "axo"]}

ROOMS = mercer.Domain(
    {"age": (0, 100), "outcome": ["healthy", "ill"], "ward": ["north", "south", "west"], "days": range(31)}
)
BINS = {"age": [0, 20, 40, 65, 100], "days": 4}
OLD = {"where": {"age": (65, None), "outcome": "ill"}}
SEEN_BY_FEW = {"epsilon": 1.0, "gamma": 0.2, "weaker_promise": True}
