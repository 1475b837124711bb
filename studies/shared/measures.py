"""How good a synthetic table is, against real rows that no method has seen.

Everything here is a function of the synthetic rows, their weights and the test rows: the bins,
queries, waves and classifiers are fixed and public.  The bins are those of no method.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from studies.shared.bins import Bins, coded
from studies.shared.report import Floats
from studies.shared.tables import SPECS, Column, Domain, span

__all__ = ["KINDS", "distance", "marginals", "measures", "queries", "waves"]

BINS = {1: 20, 2: 10}  # of numbers, in tables of one and of two columns
QUERIES, MOST_COLUMNS = 1000, 3
SCALES = (0.5, 1.0, 2.0)  # of waves, in root mean squared distances of standardised rows
WAVES = 300  # of each scale
LENGTH, STEP = 0.2, 0.5  # of the kernel: in bounds of a column, and for each level that differs
BLOCK = 512
SEED = 1001
KINDS = {  # what `measures` returns, in words; True where more is better
    "one-way": ("total variation, one column", False),
    "two-way": ("total variation, two columns", False),
    "queries": ("mean error of range queries", False),
    "moments": ("rms error of moments of order 1 and 2", False),
    "waves": ("rms error of waves at three scales", False),
    "distance": ("RKHS distance", False),
    "logistic accuracy": ("logistic regression, accuracy", True),
    "logistic AUC": ("logistic regression, AUC", True),
    "boosting accuracy": ("gradient boosting, accuracy", True),
    "boosting AUC": ("gradient boosting, AUC", True),
}


def measures(name: str, synthetic: pd.DataFrame, weights: Any, test: pd.DataFrame) -> dict[str, float]:
    """All of them, by the names in KINDS; `weights` are non-negative, or None for equal ones."""
    spec = SPECS[name]
    share = _shares(synthetic, weights)
    kept = share > 0
    rows, share = synthetic.loc[kept, list(spec.domain)], share[kept]
    return {
        "one-way": marginals(spec.domain, rows, share, test, 1),
        "two-way": marginals(spec.domain, rows, share, test, 2),
        "queries": queries(spec.domain, rows, share, test),
        **waves(spec.domain, rows, share, test),
        "distance": distance(spec.domain, rows, share, test),
        **_classified(name, rows, share, test),
    }


def _shares(synthetic: pd.DataFrame, weights: Any) -> Floats:
    n = len(synthetic)
    given = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    if given.shape != (n,) or not np.all(given >= 0) or not 0 < given.sum() < np.inf:
        raise ValueError(
            f"weights must be {n} non-negative numbers, not all 0, got shape {given.shape}; clip them first"
        )
    return given / given.sum()


def marginals(domain: Domain, rows: pd.DataFrame, share: Floats, test: pd.DataFrame, columns: int) -> float:
    """Total variation between tables of one or two columns, the mean over all of them."""
    bins, codes = coded(rows, domain, BINS[columns])
    real = coded(test, domain, BINS[columns])[1]
    even = np.full(len(test), 1 / len(test))
    found = []
    for chosen in combinations(range(len(bins)), columns):
        sizes = [bins[j].size for j in chosen]
        tables = [
            np.bincount(np.ravel_multi_index([c[:, j] for j in chosen], sizes), w, int(np.prod(sizes)))
            for c, w in ((codes, share), (real, even))
        ]
        found.append(np.abs(tables[0] - tables[1]).sum() / 2)
    return float(np.mean(found))


def queries(domain: Domain, rows: pd.DataFrame, share: Floats, test: pd.DataFrame) -> float:
    """Mean absolute error of shares of rows in random boxes of one to three columns.

    An interval has two uniform points of the bounds as ends; of categories, one level is asked.
    """
    rng = np.random.default_rng(SEED)
    names = list(domain)
    ours, real = (_numbers(frame, domain) for frame in (rows, test))
    errors = []
    for _ in range(QUERIES):
        most = min(MOST_COLUMNS, len(names))
        chosen = rng.choice(len(names), size=rng.integers(1, most + 1), replace=False)
        inside, true = np.ones(len(ours), dtype=bool), np.ones(len(real), dtype=bool)
        for j in chosen:
            low, high = _interval(domain[names[j]], rng)
            inside &= (ours[:, j] >= low) & (ours[:, j] <= high)
            true &= (real[:, j] >= low) & (real[:, j] <= high)
        errors.append(abs(float(share[inside].sum()) - float(true.mean())))
    return float(np.mean(errors))


def _interval(column: Column, rng: np.random.Generator) -> tuple[float, float]:
    if isinstance(column, list):
        level = float(rng.integers(len(column)))
        return level, level
    low, high = span(column)
    ends = np.sort(low + rng.random(2) * (high - low))
    if isinstance(column, range):
        ends = np.rint(ends)
    return float(ends[0]), float(ends[1])


def _numbers(frame: pd.DataFrame, domain: Domain) -> Floats:
    """Numbers clipped to the bounds; levels by their places."""
    columns = []
    for name, column in domain.items():
        if isinstance(column, list):
            columns.append(Bins(column, 0).code(frame[name]).astype(float))
        else:
            columns.append(np.clip(frame[name].to_numpy(dtype=float), *span(column)))
    return np.stack(columns, axis=1)


def waves(domain: Domain, rows: pd.DataFrame, share: Floats, test: pd.DataFrame) -> dict[str, float]:
    """Errors of expectations of smooth functions of the columns, standardised by the test rows.

    Waves cos(w'x) and sin(w'x), w normal with standard deviation 1 / (scale sqrt(2 d)), and the
    moments of order one and two.
    """
    ours, real = (_numbers(frame, domain) for frame in (rows, test))
    mean, sd = real.mean(axis=0), np.maximum(real.std(axis=0), 1e-9)
    ours, real = (ours - mean) / sd, (real - mean) / sd
    d = ours.shape[1]
    upper = np.triu_indices(d)
    moments = [share @ ours - real.mean(axis=0)]
    moments.append(((ours * share[:, None]).T @ ours - real.T @ real / len(real))[upper])
    rng = np.random.default_rng(SEED)
    errors = []
    for scale in SCALES:
        frequencies = rng.normal(size=(d, WAVES)) / (scale * np.sqrt(2 * d))
        x, y = ours @ frequencies, real @ frequencies
        errors += [share @ wave(x) - wave(y).mean(axis=0) for wave in (np.cos, np.sin)]
    return {"moments": _rms(np.concatenate(moments)), "waves": _rms(np.concatenate(errors))}


def _rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(values**2)))


# --- the distance of mean embeddings -------------------------------------------------------------


def distance(domain: Domain, rows: pd.DataFrame, share: Floats, test: pd.DataFrame) -> float:
    """RKHS distance of the weighted rows to the law that the test rows are a sample of.

    The kernel is exp(-|u - v|^2 / 2 LENGTH^2), columns scaled to [0, 1] by their bounds, times
    exp(-STEP) for each level that differs.  Pairs of a test row with itself are left out, so that
    the square is unbiased; below zero it counts as zero.
    """
    n = len(test)
    ours, shares = _distinct(_embedded(rows, domain), share)
    real, even = _distinct(_embedded(test, domain), np.full(n, 1 / n))
    square = _norm(ours, shares) + (_norm(real, even) - 1 / n) * n / (n - 1)
    square -= 2 * _product(ours, shares, real, even)
    return float(np.sqrt(max(square, 0.0)))


def _embedded(frame: pd.DataFrame, domain: Domain) -> Any:
    """Coordinates in which the kernel is exp(-|u - v|^2 / 2): levels as corners of a simplex."""
    parts = []
    for name, column in domain.items():
        if isinstance(column, list):
            parts.append(np.eye(len(column))[Bins(column, 0).code(frame[name])] * np.sqrt(STEP))
        else:
            low, high = span(column)
            unit = (np.clip(frame[name].to_numpy(dtype=float), low, high) - low) / (high - low)
            parts.append((unit[:, None] - 0.5) / LENGTH)
    return np.concatenate(parts, axis=1).astype(np.float32)


def _distinct(points: Any, share: Floats) -> tuple[Any, Floats]:
    found, places = np.unique(points, axis=0, return_inverse=True)
    return found, np.bincount(places.ravel(), share, len(found))


def _norm(x: Any, v: Floats) -> float:
    """Twice the pairs of different blocks, and once those of the same."""
    total = 0.0
    for start in range(0, len(x), BLOCK):
        here, rest = slice(start, start + BLOCK), slice(start + BLOCK, None)
        total += _product(x[here], v[here], x[here], v[here])
        total += 2 * _product(x[here], v[here], x[rest], v[rest])
    return total


def _product(x: Any, v: Floats, y: Any, w: Floats) -> float:
    """Sum of v_i w_j k(x_i, y_j); entries in single precision."""
    if not len(y):
        return 0.0
    top, squares = w.max(), (y * y).sum(axis=1) / 2
    scaled = (w / top).astype(np.float32)
    total = 0.0
    for start in range(0, len(x), BLOCK):
        part = x[start : start + BLOCK]
        far = part @ y.T
        far -= squares
        far -= (part * part).sum(axis=1)[:, None] / 2
        np.minimum(far, 0, out=far)
        np.exp(far, out=far)
        total += top * float(v[start : start + BLOCK] @ (far @ scaled).astype(float))
    return total


# --- classifiers trained on synthetic rows, tested on real ones ----------------------------------


def _classified(name: str, rows: pd.DataFrame, share: Floats, test: pd.DataFrame) -> dict[str, float]:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from threadpoolctl import threadpool_limits

    spec = SPECS[name]
    inputs = {k: v for k, v in spec.domain.items() if k != spec.target}
    x, x_test = (_inputs(frame, inputs) for frame in (rows, test))
    y, y_test = spec.label(rows), spec.label(test)
    models = {
        "logistic": LogisticRegression(max_iter=2000),
        "boosting": HistGradientBoostingClassifier(early_stopping=False, random_state=0),
    }
    found = {}
    for kind, model in models.items():
        if y.all() or not y.any():  # one class: nothing to learn
            scores = np.full(len(test), float(y[0]))
        else:
            with threadpool_limits(1):  # threads that wait for each other are slow on busy cores
                model.fit(x, y, sample_weight=share * len(share))
            scores = model.predict_proba(x_test)[:, 1]
        found[f"{kind} accuracy"] = float(np.mean((scores > 0.5) == y_test))
        found[f"{kind} AUC"] = float(roc_auc_score(y_test, scores))
    return found


def _inputs(frame: pd.DataFrame, domain: Domain) -> Floats:
    """Numbers scaled to [0, 1] by their bounds, levels as zeros and ones."""
    columns = []
    for name, column in domain.items():
        if isinstance(column, list):
            columns.append(np.eye(len(column))[Bins(column, 0).code(frame[name])][:, 1:])
        else:
            low, high = span(column)
            columns.append((frame[[name]].to_numpy(dtype=float) - low) / (high - low))
    return np.concatenate(columns, axis=1)
