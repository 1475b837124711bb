"""Data sets with public bounds, for the studies of kernel machines.

Banknote, Adult and California are files in the folder that MERCER_DATA names; the others come with
scikit-learn or are drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from studies.shared.report import Floats, data_file

__all__ = ["DATA", "Split", "draw"]


@dataclass(frozen=True)
class Split:
    """Rows to learn from and rows to test on, and the public bounds of their columns."""

    x: Floats
    y: Floats  # classes 0 and 1
    x_test: Floats
    y_test: Floats
    bounds: list[tuple[float, float]]

    def scaled(self, rows: Floats) -> Floats:
        """Columns in [-1, 1], by the public bounds alone."""
        low, high = np.array(self.bounds).T
        return 2 * (np.clip(rows, low, high) - low) / (high - low) - 1

    def accuracy(self, predicted: Any) -> float:
        return float(np.mean(np.asarray(predicted) == self.y_test))


def split(x: Floats, y: Any, bounds: Any, rng: np.random.Generator) -> Split:
    """Four fifths at random to learn from."""
    order = rng.permutation(len(x))
    k = int(0.8 * len(x))
    y = np.asarray(y, dtype=float)
    pairs = [(float(low), float(high)) for low, high in bounds]
    return Split(x[order[:k]], y[order[:k]], x[order[k:]], y[order[k:]], pairs)


@cache
def _table(name: str) -> Floats:
    return np.loadtxt(data_file(name), delimiter=",", skiprows=1)


def banknote(rng: np.random.Generator) -> Split:
    rows = _table("banknote.csv")
    return split(rows[:, :4], rows[:, 4], [(-8, 8), (-15, 15), (-6, 20), (-10, 4)], rng)


@cache
def _adult() -> tuple[Floats, Floats, Any]:
    import pandas as pd

    frame = pd.read_csv(data_file("adult_numeric.csv.gz"))
    x = frame.iloc[:, 1:8].to_numpy(float)
    return x, frame["income_gt_50k"].to_numpy(float), (frame["split"] == "train").to_numpy()


def adult(rng: np.random.Generator, logs: bool = True) -> Split:
    """Its own split: only the noise is repeated."""
    del rng
    x, y, train = _adult()
    bounds = [(17, 90), (1, 16), (0, 100_000), (0, 5_000), (1, 99), (0, 1), (0, 1)]
    if logs:
        x = x.copy()
        x[:, 2:4] = np.log1p(x[:, 2:4])
        bounds[2:4] = [(0, float(np.log1p(high))) for _, high in bounds[2:4]]
    return Split(x[train], y[train], x[~train], y[~train], bounds)


def adult_raw(rng: np.random.Generator) -> Split:
    return adult(rng, logs=False)


def california(rng: np.random.Generator) -> Split:
    rows = _table("california_housing_xy.csv")
    return split(rows[:, :2], rows[:, 3] > 200_000, [(-125, -114), (32, 43)], rng)


def cancer(rng: np.random.Generator) -> Split:
    """Bounds are the least and largest values that its documentation prints."""
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    lines = found.DESCR[found.DESCR.find("Min") :].split("\n")[2:32]
    bounds = [tuple(map(float, line.split()[-2:])) for line in lines]
    return split(found.data, found.target, bounds, rng)


def digits(rng: np.random.Generator) -> Split:
    """Is the digit even?  64 pixels of 0 to 16."""
    from sklearn.datasets import load_digits

    found = load_digits()
    return split(found.data, found.target % 2 == 0, [(0, 16)] * 64, rng)


def _drawn(x: Floats, y: Any, n: int, bounds: list[tuple[float, float]]) -> Split:
    y = np.asarray(y, dtype=float)
    return Split(x[:n], y[:n], x[n:], y[n:], bounds)


def moons(rng: np.random.Generator, n: int = 1000) -> Split:
    from sklearn.datasets import make_moons

    x, y = make_moons(n + 4000, noise=0.2, random_state=int(rng.integers(1 << 30)))
    return _drawn(x, y, n, [(-1.75, 2.75), (-1.25, 1.75)])


def checkerboard(rng: np.random.Generator, n: int = 2000) -> Split:
    """3 x 3 squares on the unit square; one label in twenty is wrong, in the test rows too."""
    x = rng.random((n + 4000, 2))
    y = np.floor(3 * x).astype(int).sum(axis=1) % 2
    return _drawn(x, np.where(rng.random(len(y)) < 0.05, 1 - y, y), n, [(0.0, 1.0), (0.0, 1.0)])


DATA: dict[str, tuple[str, Callable[[np.random.Generator], Split]]] = {
    "banknote": ("Banknote", banknote),
    "adult": ("Adult, logs of capital", adult),
    "adult raw": ("Adult, raw", adult_raw),
    "cancer": ("Breast cancer", cancer),
    "california": ("California", california),
    "moons": ("Two moons", moons),
    "digits": ("Digits, even", digits),
    "checkerboard": ("Checkerboard", checkerboard),
}


@lru_cache(maxsize=64)
def draw(name: str, seed: int) -> Split:
    """The data set, or the split of it, that belongs to a seed."""
    return DATA[name][1](np.random.default_rng([seed, list(DATA).index(name)]))
