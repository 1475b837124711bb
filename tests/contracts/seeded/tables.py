"""Synthetic tables, counts, the weaker promise and private choices."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import mercer
from tests.contracts.seeded.records import (
    AGE,
    BINS,
    BMI,
    CURVES,
    GRID,
    LINE,
    OLD,
    OWN,
    PAIR,
    PURE,
    ROOMS,
    SEEN_BY_FEW,
    STRONG,
    TABLE,
    WEAK,
    WORDS,
    even,
)
from tests.contracts.seeded.register import add, case

# synthetic tables

MIXED = {
    "age": (0, 100),
    "days": range(31),
    "outcome": ["healthy", "ill"],
    "ward": {"categories": ["north", "south"], "other": "elsewhere"},
    "day": {"type": "date", "bounds": ["2020-01-01", "2020-12-31"]},
}
GRADES = {"grade": {"ordered": ["low", "middle", "high"]}, "smokes": bool}
GRADED = pa.table(
    {"grade": np.array(["low", "middle", "high"])[(2.999 * AGE / 100).astype(int)], "smokes": even(41) < 0.3}
)
PUBLIC = TABLE.slice(0, 30)

add(
    "synthetic",
    mercer.synthetic,
    TABLE,
    mixed={"domain": MIXED, **STRONG, "size": 30},
    pure={"domain": PAIR, "epsilon": 4.0, "size": 20},
    public_scale={"domain": PAIR, **STRONG, "size": 20, "scale": "public"},
    given_scale={"domain": PAIR, **STRONG, "size": 20, "scale": 0.2},
    scales={"domain": PAIR, **STRONG, "size": 20, "scale": {"age": 15.0, "outcome": 1.0}},
    exponential_kernel={"domain": PAIR, **STRONG, "size": 20, "kernel": "exponential"},
    matern={"domain": PAIR, **STRONG, "size": 20, "kernel": "matern52", "weights": "free"},
    l1={"domain": PAIR, **STRONG, "size": 20, "weights": "l1", "bound": 2.0},
    uniform={"domain": PAIR, **STRONG, "size": 20, "weights": "uniform"},
    public_rows={"domain": PAIR, **STRONG, "public": PUBLIC},
    laws={"domain": PAIR, **STRONG, "public": "laws", "scale": 0.2, "size": 20},
    features={"domain": PAIR, **STRONG, "method": "features", "size": 8, "features": 60},
    features_uniform={
        "domain": PAIR,
        **STRONG,
        "method": "features",
        "size": 8,
        "features": 60,
        "weights": "uniform",
    },
    features_pure={"domain": PAIR, "epsilon": 8.0, "method": "features", "size": 8, "features": 20},
    drawn={"call": (GRADED,), "domain": GRADES, "epsilon": 4.0, "method": "exponential", "size": 4},
    ordered={"call": (GRADED,), "domain": GRADES, **STRONG, "size": 6},
    persons={"domain": PAIR, **STRONG, "size": 20, "unit": "person"},
)

add(
    "records",
    mercer.synthetic,
    WORDS,
    letters={**OWN, **STRONG},
    pure={**OWN, "epsilon": 4.0, "weights": "l1", "bound": 1.5},
    free={**OWN, **STRONG, "weights": "free"},
)


# counts, histograms, tables

CHAIN = [("age", "outcome"), ("outcome", "ward")]

add(
    "histogram",
    mercer.histogram,
    TABLE,
    bins={"columns": "age", "bins": 12, "bounds": (0, 100), **PURE},
    edges={"columns": "age", "bins": [0, 18, 40, 65, 100], **PURE},
    delta={"columns": "age", "bins": 12, "bounds": (0, 100), **WEAK},
    whole={"columns": "days", "bins": range(31), **PURE},
    categories={"columns": "ward", "categories": ["north", "south"], "other": "elsewhere", **PURE},
    dates={"columns": "day", "bins": 12, "bounds": ("2020-01-01", "2020-12-31"), **PURE},
    dropped={"columns": "age", "bins": 8, "bounds": (10, 60), "outside": "drop", **PURE},
    sparse={"columns": "days", "bins": range(2000), "sparse": True, **PURE},
    sparse_delta={"columns": "days", "bins": range(2000), "sparse": True, "occupied": 30, **WEAK},
    persons={"columns": "age", "bins": 12, "bounds": (0, 100), "unit": "person", **PURE},
    persons_rows={
        "columns": "age",
        "bins": 12,
        "bounds": (0, 100),
        "unit": "person",
        "rows_per_person": 2,
        **PURE,
    },
    values={"call": (AGE,), "bins": 6, "bounds": (0, 100), **PURE},
    gaps={"columns": "gaps", "bins": 6, "bounds": (0, 100), "missing": "drop", **PURE},
)

add(
    "table",
    mercer.table,
    TABLE,
    whole={"domain": ROOMS, "columns": ["age", "outcome", "ward"], "bins": {"age": BINS["age"]}, **PURE},
    sparse={"domain": ROOMS, "bins": {"age": 50}, "sparse": True, **PURE},
    pairs={"domain": ROOMS, "bins": BINS, "margins": 2, **PURE},
    singles={"domain": ROOMS, "bins": BINS, "margins": 1, **WEAK},
    chain={"domain": ROOMS, "bins": BINS, "margins": CHAIN, **PURE},
    persons={"domain": ROOMS, "bins": BINS, "margins": 2, "unit": "person", "rows_per_person": 2, **PURE},
)

add(
    "count",
    mercer.count,
    TABLE,
    geometric={**OLD, **PURE},
    delta={**OLD, **WEAK},
    optimal={"call": (TABLE.slice(0, 40),), **OLD, "epsilon": 0.5, "mechanism": "optimal"},
    persons={**OLD, **PURE, "unit": "person"},
    yes={"call": ([True] * 21 + [False] * 49,), **PURE},
)
add(
    "proportion",
    mercer.proportion,
    TABLE,
    geometric={"where": {"ward": ["north", "west"]}, **PURE},
    days={"where": {"days": (7, None), "day": ("2020-02-01", "2020-06-30")}, **PURE},
)


@case
def optimal_counts() -> Any:
    found = {}
    prior = np.linspace(1, 2, 11) / np.linspace(1, 2, 11).sum()
    for name, options in {
        "absolute": {},
        "squared": {"loss": "squared"},
        "prior": {"prior": prior},
        "own": {"loss": lambda i, j: abs(i - j) ** 1.5},
    }.items():
        best = mercer.optimal_count(10, epsilon=0.5, **options)
        numbers = [best.risk, best.geometric_risk, best.risks, best.losses, best.interval(3, 0.9)]
        found[name] = {"text": str(best), "matrix": best.matrix, "numbers": numbers}
    return {**found, "body": mercer.risk_body(0.5)}


@case
def densities_of_histograms() -> Any:
    made = mercer.histogram(TABLE, columns="age", bins=20, bounds=(0, 100), **PURE, rng=301)
    delta = mercer.histogram(TABLE, columns="age", bins=20, bounds=(0, 100), **WEAK, rng=302)
    return {"pure": made.density(), "few": made.density(degree=5), "delta": delta.density()}


# the weaker promise

add(
    "random",
    mercer.random_histogram,
    TABLE,
    histogram={"columns": "age", "bins": [0, 20, 40, 60, 80, 100], **SEEN_BY_FEW},
    categories={"columns": "ward", "categories": ["north", "south", "west"], **SEEN_BY_FEW},
)
add(
    "random-proportion",
    mercer.random_proportion,
    TABLE,
    rare={"where": {"age": (90, None)}, **SEEN_BY_FEW},
    common={"where": {"age": (40, None)}, **SEEN_BY_FEW},
)
add(
    "random-statistic",
    mercer.random_statistic,
    BMI,
    mean=SEEN_BY_FEW,
    asymptotic={"method": "asymptotic", **SEEN_BY_FEW, "gamma": 0.3},
    squares={"statistic": lambda x: (x**2).mean(), "change": lambda x, y: abs(x**2 - y**2), **SEEN_BY_FEW},
)


# private choices

add(
    "quantiles",
    mercer.quantiles,
    TABLE,
    [0.25, 0.5, 0.75],
    three={**LINE, **PURE},
    grid={**LINE, **PURE, "grid": 50},
    persons={**LINE, **PURE, "unit": "person"},
    dates={**PURE, "columns": "day", "bounds": ("2020-01-01", "2020-12-31")},
)
add(
    "iqr",
    mercer.iqr,
    TABLE,
    exponential={**LINE, **PURE},
    test={**LINE, "epsilon": 4.0, "delta": 3e-3, "method": "propose-test-release"},
)
add(
    "select",
    mercer.select,
    scores={"call": (["a", "b", "c"], [3.0, 9.0, 4.0]), "sensitivity": 1.0, "n": 240, **PURE},
    function={"call": ([1, 2, 3], lambda k: -abs(k - 2.2)), "sensitivity": 0.5, "n": 100, **PURE},
)
add(
    "select-function",
    mercer.select_function,
    densities={
        "call": (
            {"even": lambda x: np.full(len(x), 0.01), "low": lambda x: 0.02 - 0.0002 * np.ravel(x)},
            TABLE,
        ),
        **LINE,
        **PURE,
    },
)
add(
    "curve-bound",
    mercer.curve_bound,
    CURVES,
    norms={"grid": GRID, "most": 5.0, "epsilon": 1.0},
    share={"grid": GRID, "most": 5.0, "epsilon": 1.0, "share": 0.5, "center": 0.1},
)
