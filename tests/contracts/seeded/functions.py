"""Densities, mean curves, classifiers and regressions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

import mercer
from mercer import kernels, mechanisms
from tests.contracts.seeded.records import (
    AGE,
    CUBE,
    CURVES,
    GRID,
    LEVEL,
    LINE,
    PLANE,
    PRESSURE,
    PURE,
    STRONG,
    TABLE,
    WEAK,
    even,
)
from tests.contracts.seeded.register import add

# counted columns and densities

add(
    "column",
    mercer.density,
    TABLE,
    integers={**LINE, **PURE, "step": 1},
    integers_delta={**LINE, **WEAK, "step": 1},
    steps={**LINE, **PURE, "step": 2.5, "missing": "drop"},
    persons={**LINE, **PURE, "step": 1, "unit": "person"},
    many={**LINE, "epsilon": 0.1, "delta": 1e-3, "step": 0.01},
)
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

SICK = {"call": (TABLE, "outcome"), "classes": ["healthy", "ill"]}
HIGH = {"call": (TABLE, "pressure"), "y_bounds": (70, 150)}
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
    plane={**SICK, **PLANE, **STRONG, "size": 25},
    plane_linear={**SICK, **PLANE, **STRONG, "kernel": "linear"},
    plane_taylor={**SICK, **PLANE, "epsilon": 4.0, "features": "taylor"},
    plane_points={**SICK, **PLANE, **STRONG, "points": [[20, 20], [50, 30], [80, 40], [20, 40]]},
    cube={**SICK, **CUBE, **STRONG, "size": 27},
    random={**SICK, **FOUR, **STRONG, "features": "random", "size": 20},
    four_pure={**SICK, **FOUR, "epsilon": 4.0},
    wards={**PLANE, **STRONG, "call": (TABLE, "ward"), "classes": ["north", "south", "west"], "size": 16},
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
    squared={**HIGH, **LINE, **STRONG, "loss": "squared", "method": "objective", "penalty": 0.5, "size": 8},
    moments={**HIGH, **LINE, **STRONG, "loss": "squared", "method": "moments", "size": 8},
    moments_persons={**HIGH, **LINE, **STRONG, "loss": "squared", "unit": "person", "size": 6},
    moments_random={
        **HIGH,
        **STRONG,
        "columns": ["age", "bmi", "days"],
        "bounds": [(0, 100), (10, 50), (0, 31)],
        "loss": "squared",
        "method": "moments",
        "features": "random",
        "size": 12,
        "penalty": 0.05,
    },
    squared_pure={**HIGH, **LINE, "epsilon": 6.0, "loss": "squared"},
    pure={**HIGH, **LINE, "epsilon": 4.0},
    chosen={**HIGH, **LINE, **STRONG, "penalty": [0.05, 0.2, 1.0], "size": 8},
    plane={**HIGH, **PLANE, **STRONG, "size": 25},
    plane_pure={**HIGH, **PLANE, "epsilon": 6.0},
    array={**STRONG, "call": (AGE[:, None], PRESSURE), "bounds": (0, 100), "y_bounds": (70, 150), "size": 8},
)
