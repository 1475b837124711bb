"""One small seeded release of every kind, by every route that the public interface has.

The records follow from formulas, the noise from a seed, and so every number of every release is the
same whenever it is made.  A case is a function without arguments; what it returns is collected by
`tests.contracts.collected`.
"""

from __future__ import annotations

import datetime
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import mercer
from mercer import composition, kernels, lower_bounds, mechanisms

__all__ = ["CASES", "made"]

ROWS = 240
PURE = {"epsilon": 1.5}
WEAK = {"epsilon": 1.0, "delta": 1e-4}
CASES: dict[str, Callable[[], Any]] = {}


def made(name: str) -> Any:
    """What a case gives; what it warns of, which tests elsewhere are about, is left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CASES[name]()


def even(root: int, rows: int = ROWS) -> np.ndarray:
    """Numbers spread evenly over [0, 1), others for each root."""
    return (np.arange(1, rows + 1) * np.sqrt(root)) % 1.0


def bell(*roots: int, rows: int = ROWS) -> np.ndarray:
    """Numbers in [0, 1) that are mostly near the middle."""
    return sum(even(root, rows) for root in roots) / len(roots)


AGE = 100 * bell(2, 3) ** 1.5
BMI = 15 + 30 * bell(5, 7, 11)
PRESSURE = 80 + 60 * (0.5 * AGE / 100 + 0.5 * even(13))
DAYS = (30 * even(17) ** 2).astype(int)
ILL = AGE + 30 * even(19) > 55
WARD = np.array(["north", "south", "west"])[(2.999 * even(23) ** 1.3).astype(int)]
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


def add(group: str, function: Callable[..., Any], /, *given: Any, **variants: dict[str, Any]) -> None:
    """A case for each variant of the options of one public function; the seed is the case's number."""
    for name, options in variants.items():
        arguments = {"rng": len(CASES) + 1, **options}
        call = arguments.pop("call", given)
        CASES[f"{group}-{name.replace('_', '-')}"] = lambda f=function, c=call, a=arguments: f(*c, **a)


def case(function: Callable[[], Any]) -> Callable[[], Any]:
    """A case with a function of its own."""
    CASES[function.__name__.replace("_", "-")] = function
    return function


# densities

add(
    "density",
    mercer.density,
    TABLE,
    pure={**LINE, **PURE},
    pure_given={**LINE, **PURE, "bandwidth": 6.0},
    pure_rule={**LINE, **PURE, "bandwidth": "rule"},
    pure_periodic={**LINE, **PURE, "boundary": "periodic"},
    pure_open={**LINE, **PURE, "boundary": "open"},
    pure_size={**LINE, **PURE, "basis": "moments", "size": 9},
    pure_l2={**LINE, **PURE, "mechanism": "l2"},
    pure_laplace={**LINE, **PURE, "mechanism": "laplace"},
    pure_cosine={**LINE, **PURE, "basis": "cosine"},
    pure_exponential={**LINE, **PURE, "kernel": "exponential", "bandwidth": 10, "size": 8},
    gaussian={**LINE, **WEAK},
    gaussian_classic={**LINE, **WEAK, "mechanism": mechanisms.Gaussian(calibration="classic")},
    gaussian_rule={**LINE, **WEAK, "bandwidth": "rule"},
    gaussian_given={**LINE, **WEAK, "bandwidth": 6.0},
    gaussian_periodic={**LINE, **WEAK, "boundary": "periodic"},
    gaussian_open={**LINE, **WEAK, "boundary": "open", "bandwidth": 8.0},
    gaussian_fourier={**LINE, **WEAK, "basis": "fourier"},
    gaussian_moments={**LINE, **WEAK, "basis": "moments"},
    hermite={**LINE, **WEAK, "basis": "hermite", "size": 8},
    wavelet={**LINE, **WEAK, "basis": "wavelet", "size": 8},
    landmarks={**LINE, **WEAK, "basis": "landmarks", "bandwidth": 12.0, "size": 12},
    eigenfunctions={**LINE, **WEAK, "basis": "eigenfunctions", "bandwidth": 12.0, "size": 10},
    exponential={**LINE, **WEAK, "kernel": "exponential", "bandwidth": 12.0, "size": 40},
    exponential_both={
        **LINE,
        **WEAK,
        "kernel": "exponential",
        "smoother": "exponential",
        "bandwidth": 12.0,
        "size": 40,
    },
    matern32={**LINE, **WEAK, "kernel": "matern32", "smoother": "matern52", "bandwidth": 15.0, "size": 40},
    matern52={**LINE, **WEAK, "kernel": "matern52", "bandwidth": 15.0, "size": 40},
    matern52_eigenfunctions={
        **LINE,
        **WEAK,
        "kernel": "matern52",
        "basis": "eigenfunctions",
        "bandwidth": 15.0,
        "size": 10,
    },
    scott={**LINE, **WEAK, "bandwidth": "private-scott"},
    scott_pure={**LINE, **PURE, "bandwidth": "private-scott", "choice_share": 0.4},
    cross_validated={**LINE, **WEAK, "bandwidth": "private-cv"},
    cross_validated_pure={**LINE, **PURE, "bandwidth": "private-cv"},
    persons={**LINE, **WEAK, "unit": "person"},
    persons_pure={**LINE, **PURE, "unit": "person"},
    dates={**PURE, "columns": "day", "bounds": ("2020-01-01", "2020-12-31")},
    gaps={**PURE, "columns": "gaps", "bounds": (0, 100)},
    gaps_dropped={**PURE, "columns": "gaps", "bounds": (0, 100), "missing": "drop"},
    outside_dropped={**PURE, "columns": "age", "bounds": (10, 60), "outside": "drop"},
    plane={**PLANE, **WEAK},
    plane_pure={**PLANE, **PURE},
    plane_given={**PLANE, **WEAK, "bandwidth": [9.0, 5.0]},
    plane_slanted={**PLANE, **WEAK, "boundary": "open", "bandwidth": [[120.0, 20.0], [20.0, 40.0]]},
    plane_landmarks={**PLANE, **WEAK, "basis": "landmarks", "bandwidth": [25.0, 10.0], "size": 16},
    plane_eigenfunctions={**PLANE, **WEAK, "basis": "eigenfunctions", "bandwidth": [25.0, 10.0], "size": 12},
    plane_matern={**PLANE, **WEAK, "kernel": "matern32", "bandwidth": [25.0, 10.0], "size": 49},
    plane_scott={**PLANE, **WEAK, "bandwidth": "private-scott"},
    cube={**CUBE, **WEAK, "epsilon": 4.0},
    cube_pure={**CUBE, "epsilon": 4.0},
)


# mean curves

GRID = np.linspace(0.0, 1.0, 21)
CURVES = np.array(
    [
        0.5 * np.sin(3 * GRID) + 0.4 * (a - 0.5) * GRID + 0.2 * b * GRID**2
        for a, b in zip(even(2, 60), even(3, 60), strict=True)
    ]
)
HOLES = np.where(even(31, CURVES.size).reshape(CURVES.shape) < 0.1, np.nan, CURVES)
SURFACES = CURVES[:, ::4, None] * np.cos(np.linspace(0.0, 1.0, 5))
LONG = pa.table(
    {
        "visit": np.repeat(np.arange(60), len(GRID)),
        "hour": np.tile(24 * GRID, 60),
        "load": CURVES.reshape(-1),
        "person": np.repeat(np.arange(60) // 2, len(GRID)),
    }
)
LEVEL = {"grid": GRID, "bound": 1.0}
LONGER = {"call": (LONG,), "long": ("visit", "hour", "load"), "bounds": (0, 24), "bound": 1.0}

add(
    "mean-curve",
    mercer.mean_curve,
    CURVES,
    gaussian={**LEVEL, **WEAK},
    exponential={**LEVEL, **WEAK, "kernel": "exponential"},
    matern32={**LEVEL, **WEAK, "kernel": "matern32"},
    matern52={**LEVEL, **WEAK, "kernel": "matern52", "size": 12},
    pure={**LEVEL, "epsilon": 4.0},
    given={**LEVEL, **WEAK, "scale": 0.2, "eta": 1.5, "penalty": 0.01},
    own_kernel={**LEVEL, **WEAK, "kernel": kernels.Gaussian(((0.09,),)), "penalty": 0.01},
    rule={**LEVEL, **WEAK, "penalty": "rule"},
    cross_validated={**LEVEL, **WEAK, "penalty": "private-cv"},
    paper={
        **LEVEL,
        **WEAK,
        "order": "paper",
        "penalty": 0.01,
        "kernel": "matern52",
        "noise_kernel": "exponential",
    },
    paper_rule={**LEVEL, **WEAK, "order": "paper", "penalty": "rule"},
    paper_cross_validated={
        **LEVEL,
        **WEAK,
        "order": "paper",
        "penalty": "private-cv",
        "kernel": "exponential",
    },
    center={**WEAK, "grid": GRID, "bound": 0.5, "center": 0.5 * np.sin(3 * GRID)},
    function_center={**WEAK, "grid": GRID, "bound": 0.5, "center": np.sin},
    filled={**LEVEL, **WEAK, "call": (HOLES,)},
    holes_zero={**LEVEL, **WEAK, "call": (HOLES,), "missing": "zero"},
    outside={**WEAK, "grid": GRID, "bound": 0.4, "outside": "drop"},
    pairs={**WEAK, "call": ([(GRID, curve) for curve in CURVES],), "bounds": (0, 1), "bound": 1.0},
    long={**LONGER, **WEAK, "unit": "visit"},
    persons={**LONGER, **WEAK, "unit": "person"},
    surfaces={
        **WEAK,
        "call": (SURFACES,),
        "grid": (GRID[::4], np.linspace(0, 1, 5)),
        "bound": 1.0,
        "size": 6,
    },
)


def _gap(groups: dict[Any, Any]) -> dict[str, Any]:
    one, two = groups.values()
    gap, x = one - two, [0.2, 0.5, 0.9]
    questions = {
        "values": gap(x),
        "slope": gap.derivative(x),
        "band": gap.band(x),
        "narrow": gap.band(x, simultaneous=False),
        "integral": gap.integral(),
        "interval": gap.interval(lambda curve: curve.integral(), runs=50),
        "text": repr(gap),
    }
    return {**groups, "difference": questions}


def _groups(**options: Any) -> dict[str, Any]:
    cases = pa.table({"case": np.where(even(37, 60) < 0.4, "ms", "control")})
    wide = pa.table({f"p{k:02}": CURVES[:, k] for k in range(len(GRID))})
    rows = wide.append_column("case", cases["case"])
    given = {"by": "case", "groups": ["ms", "control"], "columns": "p*", **LEVEL, **WEAK}
    return _gap(mercer.mean_curves(rows, **given, **options))


add(
    "mean-curves",
    _groups,
    disjoint={"disjoint": True},
    shared={"disjoint": False},
    given={"disjoint": True, "scale": 0.2, "eta": 1.0, "penalty": 0.01},
    paper={"disjoint": True, "order": "paper", "penalty": 0.01},
)


# classifiers and regressions

SEEN = {"columns": ["age", "bmi"], "bounds": [(0, 100), (10, 50)]}
SICK = {"call": (TABLE, "outcome"), "classes": ["healthy", "ill"]}
HIGH = {"call": (TABLE, "pressure"), "y_bounds": (70, 150)}
STRONG = {"epsilon": 4.0, "delta": 1e-4}
FOUR = {"columns": ["age", "bmi", "days", "pressure"], "bounds": [(0, 100), (10, 50), (0, 31), (70, 150)]}

add(
    "classifier",
    mercer.classifier,
    hinge={**SICK, **LINE, **STRONG},
    hinge_output={**SICK, **LINE, **STRONG, "method": "output", "penalty": 0.5},
    hinge_width={**SICK, **LINE, **STRONG, "width": 0.2, "size": 8},
    logistic={**SICK, **LINE, **STRONG, "loss": "logistic"},
    logistic_output={**SICK, **LINE, **STRONG, "loss": "logistic", "method": "output", "penalty": 0.2},
    pure={**SICK, **LINE, "epsilon": 4.0},
    pure_output={**SICK, **LINE, "epsilon": 4.0, "method": "output", "penalty": 0.5},
    given={**SICK, **LINE, **STRONG, "penalty": 0.1, "bandwidth": 30.0, "constant": 0.5, "size": 8},
    chosen={**SICK, **LINE, **STRONG, "penalty": [0.05, 0.2, 1.0], "size": 8},
    exponential={**SICK, **LINE, **STRONG, "kernel": "exponential", "size": 10},
    matern32={**SICK, **LINE, **STRONG, "kernel": "matern32", "features": "landmarks", "size": 10},
    persons={**SICK, **LINE, **STRONG, "unit": "person", "size": 8},
    plane={**SICK, **SEEN, **STRONG, "size": 25},
    plane_linear={**SICK, **SEEN, **STRONG, "kernel": "linear"},
    plane_taylor={**SICK, **SEEN, "epsilon": 4.0, "features": "taylor"},
    plane_points={**SICK, **SEEN, **STRONG, "points": [[20, 20], [50, 30], [80, 40], [20, 40]]},
    cube={**SICK, **CUBE, **STRONG, "size": 27},
    random={**SICK, **FOUR, **STRONG, "features": "random", "size": 20},
    four_pure={**SICK, **FOUR, "epsilon": 4.0},
    wards={**SEEN, **STRONG, "call": (TABLE, "ward"), "classes": ["north", "south", "west"], "size": 16},
    wards_logistic={
        **LINE,
        **STRONG,
        "call": (TABLE, "ward"),
        "classes": ["north", "south", "west"],
        "loss": "logistic",
        "size": 8,
    },
)

add(
    "regression",
    mercer.regression,
    huber={**HIGH, **LINE, **STRONG},
    huber_output={**HIGH, **LINE, **STRONG, "method": "output", "threshold": 8.0, "penalty": 0.5},
    median={**HIGH, **LINE, **STRONG, "loss": "pinball", "size": 8},
    quantiles={**HIGH, **LINE, **STRONG, "loss": "pinball", "quantiles": [0.1, 0.5, 0.9], "size": 8},
    quantiles_output={
        **HIGH,
        **LINE,
        **STRONG,
        "loss": "pinball",
        "quantiles": [0.25, 0.75],
        "method": "output",
        "penalty": 0.5,
        "size": 8,
    },
    insensitive={**HIGH, **LINE, **STRONG, "loss": "epsilon-insensitive", "tube": 5.0, "size": 8},
    squared={**HIGH, **LINE, **STRONG, "loss": "squared", "penalty": 0.5, "size": 8},
    squared_pure={**HIGH, **LINE, "epsilon": 6.0, "loss": "squared"},
    pure={**HIGH, **LINE, "epsilon": 4.0},
    chosen={**HIGH, **LINE, **STRONG, "penalty": [0.05, 0.2, 1.0], "size": 8},
    plane={**HIGH, **SEEN, **STRONG, "size": 25},
    plane_pure={**HIGH, **SEEN, "epsilon": 6.0},
    array={**STRONG, "call": (AGE[:, None], PRESSURE), "bounds": (0, 100), "y_bounds": (70, 150), "size": 8},
)


# synthetic tables

MIXED = {
    "age": (0, 100),
    "days": range(31),
    "outcome": ["healthy", "ill"],
    "ward": {"categories": ["north", "south"], "other": "elsewhere"},
    "day": {"type": "date", "bounds": ["2020-01-01", "2020-12-31"]},
}
PAIR = {"age": (0, 100), "outcome": ["healthy", "ill"]}
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

WORDS = ["abc", "abd", "xyz", "mno", "axy"] * 40
LETTERS = mercer.OwnKernel(lambda x, z: len(set(x) & set(z)) / 3, supremum=1.0)
OWN = {"kernel": LETTERS, "public": ["abc", "xyz", "mno", "axo"]}

add(
    "records",
    mercer.synthetic,
    WORDS,
    letters={**OWN, **STRONG},
    pure={**OWN, "epsilon": 4.0, "weights": "l1", "bound": 1.5},
    free={**OWN, **STRONG, "weights": "free"},
)


# counts, histograms, tables

ROOMS = mercer.Domain(
    {"age": (0, 100), "outcome": ["healthy", "ill"], "ward": ["north", "south", "west"], "days": range(31)}
)
BINS = {"age": [0, 20, 40, 65, 100], "days": 4}
CHAIN = [("age", "outcome"), ("outcome", "ward")]
OLD = {"where": {"age": (65, None), "outcome": "ill"}}

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

SEEN_BY_FEW = {"epsilon": 1.0, "gamma": 0.2, "weaker_promise": True}

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


# live releases

LIVE = {
    "coordinates": {**LINE, **WEAK},
    "coordinates_pure": {**LINE, **PURE},
    "coordinates_plane": {**PLANE, **WEAK},
    "exponential": {**LINE, **WEAK, "kernel": "exponential", "bandwidth": 10},
    "matern32": {**LINE, **WEAK, "kernel": "matern32", "bandwidth": 10},
    "matern52": {**LINE, **WEAK, "kernel": "matern52", "bandwidth": 10},
    "cholesky": {**LINE, **WEAK, "kernel": "matern32", "bandwidth": 10, "route": "cholesky"},
    "cholesky_gaussian": {**LINE, **WEAK, "bandwidth": 10, "route": "cholesky"},
    "cholesky_plane": {**PLANE, **WEAK, "kernel": "exponential", "bandwidth": [20.0, 10.0]},
}


def _answers(path: Any, first: Any, more: Any) -> dict[str, Any]:
    return {
        "first": path.ask(first),
        "more": path.ask(more),
        "again": path.ask(first),
        "band": path.band(first),
        "error": path.standard_error(more),
        "count": path.count,
        "kind": path.kind,
        "privacy": str(path.privacy),
        "accuracy": str(path.accuracy),
    }


def _asked(*, reopened: bool = False, **options: Any) -> dict[str, Any]:
    first: Any = [20.0, 41.5, 60.0, 99.0]
    more: Any = [10.0, 40.0, 41.0, 60.0, 5.5]
    if isinstance(options["columns"], list):
        first = [[20.0, 20.0], [41.5, 33.0], [60.0, 47.0]]
        more = [[10.0, 30.0], [41.0, 33.0], [60.0, 47.0]]
    if not reopened:
        path = mercer.live(TABLE, **options)
        told = _answers(path, first, more)
        if getattr(path, "release", None) is not None:
            told["release"] = path.release
        return told
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "path.db"
        path = mercer.live(TABLE, **options, store=store)
        told = _answers(path, first, more)
        path.close()
        names, again = mercer.live_names(store), mercer.open_live(store)
        found = _answers(again, first, more)
        again.close()
    return {"names": names, "made": told, "reopened": found}


add("live", _asked, **LIVE)
add("live-kept", _asked, **{k: {**v, "reopened": True} for k, v in LIVE.items() if "plane" not in k})


@case
def live_machines() -> Any:
    found = {}
    for name in ("classifier-wards", "regression-quantiles"):
        release = made(name)
        at = [[20.0, 20.0], [41.5, 33.0]] if len(release.domain.names) == 2 else [20.0, 41.5]
        found[name] = _answers(mercer.live(release), at, at)
    return found


# plans and dry runs


@case
def plans() -> Any:
    many = mercer.histogram_plan(20_000, 20, epsilon=[0.1, 1])
    sparse = mercer.histogram_plan(20_000, 10**6, epsilon=1, occupied=50, rows_per_person=3)
    found = {
        "density": mercer.density_plan(n=2000, bounds=(0, 100), epsilon=1.0),
        "density-delta": mercer.density_plan(n=2000, bounds=(0, 100), epsilon=1.0, delta=1e-6),
        "density-plane": mercer.density_plan(n=2000, bounds=[(0, 1)] * 2, epsilon=1.0, delta=1e-6),
        "curve": mercer.curve_plan(n=300, bound=1, epsilon=1, delta=1e-6),
        "curve-pure": mercer.curve_plan(n=300, bound=1, epsilon=1, kernel="matern32"),
        "histogram-0": many[0],
        "histogram-1": many[1],
        "histogram-delta": mercer.histogram_plan(20_000, 20, epsilon=1, delta=1e-6),
        "histogram-sparse": sparse,
    }
    told = {name: {"text": str(plan), "fields": plan} for name, plan in found.items()}
    shares = {name: plan.share for name, plan in found.items()}
    worth = [sparse.worth, sparse.best(50), sparse.dense_error(50), sparse.sparse_error(50)]
    return {**told, "shares": shares, "worth": worth, "dict": sparse.to_dict()}


def _dry(function: Callable[..., Any], *given: Any, **options: Any) -> dict[str, Any]:
    found = function(*given, **options, dry_run=True)
    return {"text": str(found), "fields": found.to_dict()}


@case
def dry_runs() -> Any:
    return {
        "density": _dry(mercer.density, TABLE, **LINE, **PURE),
        "density-scott": _dry(mercer.density, TABLE, **LINE, **WEAK, bandwidth="private-scott"),
        "mean-curve": _dry(mercer.mean_curve, CURVES, **LEVEL, **WEAK),
        "classifier": _dry(mercer.classifier, TABLE, "outcome", classes=["healthy", "ill"], **LINE, **STRONG),
        "regression": _dry(mercer.regression, TABLE, "pressure", y_bounds=(70, 150), **LINE, **STRONG),
        "synthetic": _dry(mercer.synthetic, TABLE, domain=PAIR, **STRONG, size=20),
        "records": _dry(mercer.synthetic, WORDS, **OWN, **STRONG),
        "histogram": _dry(mercer.histogram, TABLE, columns="age", bins=12, bounds=(0, 100), **PURE),
        "table": _dry(mercer.table, TABLE, domain=ROOMS, bins=BINS, margins=2, **PURE),
        "count": _dry(mercer.count, TABLE, **OLD, **PURE),
        "proportion": _dry(mercer.proportion, TABLE, **OLD, **PURE),
        "quantiles": _dry(mercer.quantiles, TABLE, [0.5], **LINE, **PURE),
        "iqr": _dry(mercer.iqr, TABLE, **LINE, **PURE),
        "select": _dry(mercer.select, ["a", "b"], [1.0, 2.0], sensitivity=1.0, n=240, **PURE),
        "curve-bound": _dry(mercer.curve_bound, CURVES, grid=GRID, most=5.0, epsilon=1.0),
        "live": _dry(mercer.live, TABLE, **LINE, **WEAK, kernel="matern32", bandwidth=10),
        "random-histogram": _dry(
            mercer.random_histogram, TABLE, columns="age", bins=[0, 50, 100], **SEEN_BY_FEW
        ),
        "random-statistic": _dry(mercer.random_statistic, BMI, **SEEN_BY_FEW),
    }


# ledgers


def _spent(ledger: mercer.Ledger, name: str) -> dict[str, Any]:
    """What is told of a dataset, but for times, digests and where the ledger is."""
    charges = [charge.to_dict() for charge in ledger.history(name)]
    for charge in charges:
        del charge["time"], charge["digest"]
    left = ledger.remaining(name)
    return {"charges": charges, "left": left, "words": str(left), "power": ledger.power(name)}


@case
def ledgers() -> Any:
    """Releases with noise from the operating system: only what is charged for them is told."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = mercer.Ledger(Path(folder) / "budgets.db")
        ledger.register("rows", epsilon=40, delta=1e-2)
        ledger.register("pure", epsilon=3)
        ledger.register("persons", epsilon=10, delta=1e-3, unit="person")
        rows = {"ledger": ledger, "dataset": "rows"}
        mercer.density(TABLE, **LINE, **PURE, **rows)
        mercer.density(TABLE, **LINE, **WEAK, **rows, bandwidth="private-scott")
        mercer.mean_curve(CURVES, **LEVEL, **WEAK, **rows)
        mercer.mean_curve(CURVES, **LEVEL, **WEAK, **rows, penalty="private-cv")
        mercer.mean_curves({"a": CURVES[:30], "b": CURVES[30:]}, disjoint=False, **LEVEL, **WEAK, **rows)
        mercer.classifier(TABLE, "outcome", classes=["healthy", "ill"], **LINE, **STRONG, **rows, size=8)
        mercer.regression(
            TABLE, "pressure", y_bounds=(70, 150), **LINE, **STRONG, **rows, penalty=[0.1, 1], size=8
        )
        mercer.synthetic(TABLE, domain=PAIR, **STRONG, size=20, **rows)
        mercer.synthetic(WORDS, **OWN, **STRONG, **rows)
        mercer.histogram(TABLE, columns="age", bins=12, bounds=(0, 100), **WEAK, **rows)
        mercer.table(TABLE, domain=ROOMS, bins=BINS, margins=2, **WEAK, **rows)
        mercer.count(TABLE, **OLD, **PURE, **rows)
        mercer.quantiles(TABLE, [0.25, 0.5], **LINE, **PURE, **rows)
        mercer.iqr(TABLE, **LINE, **PURE, **rows)
        mercer.live(TABLE, **LINE, **WEAK, **rows, kernel="matern32", bandwidth=10)
        mercer.live(TABLE, **PLANE, **WEAK, **rows, kernel="exponential", bandwidth=[20.0, 10.0])
        mercer.count(TABLE, **OLD, **PURE, ledger=ledger, dataset="pure")
        mercer.density(TABLE, **LINE, **WEAK, unit="person", ledger=ledger, dataset="persons")
        refused = []
        for promise in (PURE, WEAK, {"epsilon": 9.0}):
            try:
                mercer.count(TABLE, **OLD, **promise, ledger=ledger, dataset="pure")
            except mercer.LedgerError as error:
                refused.append(str(error))
        told = {name: _spent(ledger, name) for name in ("rows", "pure", "persons")}
        return {**told, "refused": refused, "names": [str(name) for name in ledger.datasets]}


# estimators


@case
def estimators() -> Any:
    rows, both = AGE[:, None], np.c_[AGE, BMI]
    density = mercer.PrivateKernelDensity(**WEAK, bounds=(0, 100), random_state=1).fit(rows)
    curve = mercer.PrivateMeanCurve(**WEAK, bound=1.0, grid=GRID, random_state=2).fit(CURVES)
    classes = mercer.PrivateKernelClassifier(
        **STRONG, bounds=[(0, 100), (10, 50)], classes=(False, True), loss="logistic", size=16, random_state=3
    ).fit(both, ILL)
    height = mercer.PrivateKernelRegressor(
        **STRONG, bounds=(0, 100), y_bounds=(70, 150), size=8, random_state=4
    ).fit(rows, PRESSURE)
    table = mercer.PrivateSynthesizer(**STRONG, bounds=[(0, 100), (10, 50)], size=20, random_state=5).fit(
        both
    )
    return {
        "density": density.release_,
        "density-scores": density.score_samples(rows[:5]),
        "density-sample": density.sample(4, random_state=6),
        "curve": curve.release_,
        "curve-predicted": [curve.predict([0.2, 0.7]), curve.predict([0.2, 0.7], derivative=1)],
        "classifier": classes.release_,
        "classifier-predicted": [
            classes.predict(both[:4]),
            classes.predict_proba(both[:4]),
            classes.decision_function(both[:4]),
            classes.score(both, ILL),
        ],
        "regressor": height.release_,
        "regressor-predicted": [height.predict(rows[:4]), height.score(rows, PRESSURE)],
        "synthesizer": table.release_,
        "synthesizer-points": [table.points_, table.weights_, table.sample(4, random_state=7)],
    }


# audits and replays


def _audits() -> Iterator[tuple[str, Any]]:
    few = {"samples": 4000, "rng": 1}
    for name in ("laplace", "geometric", "l2", "k-norm-cube", "orbitope", "exponential"):
        yield name, mercer.audit(name, epsilon=1.0, **few)
    yield "gaussian", mercer.audit("gaussian", epsilon=1.0, delta=1e-3, **few)
    cross = mechanisms.KNorm(mechanisms.cross_polytope(3))
    yield "k-norm-cross", mercer.audit(cross, epsilon=1.0, **few)
    seeds = iter(range(10**6))

    def noisy(data: Any) -> Any:
        return mercer.count(data, epsilon=1.0, rng=next(seeds)).value

    pair = [True] * 5 + [False] * 5, [True] * 4 + [False] * 6
    yield "count", mercer.audit(noisy, pair, epsilon=1.0, samples=300)


@case
def audits() -> Any:
    return {
        name: [
            found.name,
            found.epsilon,
            found.delta,
            found.audited,
            found.samples,
            found.verdict,
            found.reach,
        ]
        for name, found in _audits()
    }


REPLAYED: dict[str, Callable[..., Any]] = {
    "density": lambda rows, rng: mercer.density(rows, **LINE, **PURE, rng=rng),
    "density-delta": lambda rows, rng: mercer.density(rows, **PLANE, **WEAK, rng=rng),
    "density-scott": lambda rows, rng: mercer.density(
        rows, **LINE, **WEAK, bandwidth="private-scott", rng=rng
    ),
    "classifier": lambda rows, rng: mercer.classifier(
        rows, "outcome", classes=["healthy", "ill"], **LINE, **STRONG, size=8, rng=rng
    ),
    "regression": lambda rows, rng: mercer.regression(
        rows, "pressure", y_bounds=(70, 150), **LINE, **STRONG, method="output", penalty=0.5, size=8, rng=rng
    ),
    "synthetic": lambda rows, rng: mercer.synthetic(rows, domain=PAIR, **STRONG, size=20, rng=rng),
    "histogram": lambda rows, rng: mercer.histogram(
        rows, columns="age", bins=12, bounds=(0, 100), **PURE, rng=rng
    ),
    "margins": lambda rows, rng: mercer.table(rows, domain=ROOMS, bins=BINS, margins=2, **PURE, rng=rng),
    "count": lambda rows, rng: mercer.count(rows, **OLD, **PURE, rng=rng),
    "quantiles": lambda rows, rng: mercer.quantiles(rows, [0.5], **LINE, **PURE, rng=rng),
    "iqr": lambda rows, rng: mercer.iqr(rows, **LINE, **PURE, rng=rng),
    "live": lambda rows, rng: mercer.live(rows, **LINE, **WEAK, kernel="matern32", bandwidth=10, rng=rng),
}


@case
def replays() -> Any:
    other = TABLE.take([*range(ROWS - 1), 0])  # the last row is another
    moved = {name: mercer.replay(function, (TABLE, other)) for name, function in REPLAYED.items()}
    curves = np.vstack([CURVES[:-1], -CURVES[-1:]])
    moved["mean-curve"] = mercer.replay(
        lambda rows, rng: mercer.mean_curve(rows, **LEVEL, **WEAK, rng=rng), (CURVES, curves)
    )
    return {name: [str(found), found.kept, found] for name, found in moved.items()}


# documented deep paths


@case
def deep_paths() -> Any:
    events = [*made("density-gaussian").privacy.events, *made("count-geometric").privacy.events]
    x = np.linspace(0, 1, 5)[:, None]
    lengths = ((0.04,),)
    found = {name: kernel(lengths)(x, x[:2]) for name, kernel in kernels.KERNELS.items()}
    rough, smooth = kernels.Exponential(lengths), kernels.Gaussian(lengths)
    return {
        "kernels": found,
        "spectra": {name: kernel(lengths).spectrum(x[:, 0], 0) for name, kernel in kernels.KERNELS.items()},
        "norms": [kernels.norms(smooth, rough), kernels.norms(smooth, smooth)],
        "mechanisms": sorted(mechanisms.MECHANISMS),
        "multipliers": {
            "gaussian": mechanisms.Gaussian().multiplier(5, epsilon=1.0, delta=1e-6),
            "laplace": mechanisms.Laplace().multiplier(5, epsilon=1.0, delta=0.0),
            "l2": mechanisms.L2().multiplier(5, epsilon=1.0, delta=0.0),
        },
        "delta": composition.delta_of(events, epsilon=2.2),
        "epsilon": composition.epsilon_of(events, delta=1e-3),
        "power": composition.power_of(events, 0.05),
        "beside": composition.gaussian_beside(0.2, epsilon=1.0, delta=1e-6),
        "above": composition.gaussian_above(1.0, epsilon=1.0),
        "decimal": str(composition.decimal(0.1)),
        "bounds": [
            lower_bounds.counting_bound(70, 0.1),
            lower_bounds.histogram_bound(1000, 20, 0.5),
            lower_bounds.sparse_bound(1000, 10**4, 20, 0.5),
            lower_bounds.margins_bound(1000, 12, 0.5),
        ],
    }
