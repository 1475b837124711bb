"""Are the error bands of noise in the objective as wide as the noise?  M21.

Regressions and a classifier of real columns are released again and again on the same rows.  Standard
errors claimed are set beside the standard deviation realised, decile by decile of the rows and anywhere in
the bounds, and bands beside the machine without noise.  Noise is seeded, so that the tables can be made
again: no release here is private.

    python -m studies.accuracy.machine_bands            # needs MERCER_DATA; writes studies/accuracy/results
    python -m studies.accuracy.machine_bands --quick --out FOLDER      # a drawn set, no files
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from studies.shared.report import Floats, data_file, provenance

DELTA = 1e-6
EPSILONS = (0.1, 1.0, 4.0)
DECILES = np.arange(1, 10) / 10
ANYWHERE, RECORDS = 200, 60


@dataclass(frozen=True)
class Plan:
    """How much is computed."""

    runs: int = 30
    sets: tuple[str, ...] = ("california", "hours", "faithful", "california 2", "income 2")
    epsilons: tuple[float, ...] = EPSILONS


QUICK = Plan(4, ("wave",), (1.0,))


@dataclass(frozen=True)
class Columns:
    """Rows, what is predicted, and the public bounds of both."""

    x: Floats
    y: Floats
    bounds: list[tuple[float, float]]
    y_bounds: tuple[float, float] | None  # None: classes 0 and 1


def _read(name: str) -> dict[str, Floats]:
    rows = np.genfromtxt(data_file(name), delimiter=",", names=True, dtype=None, encoding="utf-8")
    return {column: rows[column] for column in rows.dtype.names}


@lru_cache(maxsize=8)
def columns(name: str) -> Columns:
    """A set by its name."""
    if name == "wave":
        rng = np.random.default_rng(1)
        x = rng.random((2000, 1))
        return Columns(x, np.sin(6 * x[:, 0]) + 0.3 * rng.normal(size=2000), [(0.0, 1.0)], (-2.0, 2.0))
    if name == "faithful":
        table = _read("old_faithful.csv")
        return Columns(table["eruptions"][:, None], table["waiting"].astype(float), [(1, 6)], (30, 110))
    if name.startswith("california"):
        table = _read("california_housing_xy.csv")
        named = ["median_income"] if name == "california" else ["median_income", "latitude"]
        x = np.stack([table[column] for column in named], axis=1)
        return Columns(x, table["median_house_value"], [(0, 15), (32, 42)][: len(named)], (0, 500_001))
    table = _read("adult_numeric.csv.gz")
    if name == "hours":
        age = table["age"][:, None].astype(float)
        return Columns(age, table["hours_per_week"].astype(float), [(17, 90)], (0, 100))
    x = np.stack([table["age"], table["hours_per_week"]], axis=1).astype(float)
    return Columns(x, table["income_gt_50k"].astype(float), [(17, 90), (1, 99)], None)


def learn(name: str, epsilon: float, seed: int, *, pure: bool) -> Any:
    rows = columns(name)
    promise = {"epsilon": epsilon} if pure else {"epsilon": epsilon, "delta": DELTA}
    common: dict[str, Any] = {"bounds": rows.bounds, "rng": seed, **promise}
    if rows.y_bounds is None:
        return mercer.classifier(rows.x, rows.y, classes=(0.0, 1.0), **common)
    return mercer.regression(rows.x, rows.y, y_bounds=rows.y_bounds, **common)


def noiseless(release: Any, rows: Columns) -> Floats:
    """Weights of the same machine without noise: damped Newton steps on the rows that differ."""
    loss, penalty = release.losses[0], release.penalty
    if rows.y_bounds is None:
        target = 2 * rows.y - 1
    else:
        low, high = rows.y_bounds
        target = np.clip(2 * (rows.y - low) / (high - low) - 1, -1, 1)
    whole = np.column_stack([np.clip(rows.x, *np.array(rows.bounds, dtype=float).T), target])
    kept, count = np.unique(whole, axis=0, return_counts=True)
    phi, y = release.features.features(release.domain.to_unit(kept[:, :-1])), kept[:, -1]
    share, w = count / count.sum(), np.zeros(release.features.size)

    def value(w: Floats) -> float:
        return float(share @ loss.jet(phi @ w, y).value + penalty * w @ w)

    for _ in range(100):
        jet = loss.jet(phi @ w, y)
        gradient = phi.T @ (share * jet.slope) + 2 * penalty * w
        if np.linalg.norm(gradient) < 1e-9:
            break
        hessian = (phi * (share * jet.curve)[:, None]).T @ phi + 2 * penalty * np.eye(len(w))
        step, length, here = np.linalg.solve(hessian, gradient), 1.0, value(w)
        while length > 1e-6 and value(w - length * step) > here:
            length /= 2
        w = w - length * step
    return np.asarray(w)


@dataclass(frozen=True)
class Found:
    """Of one set and promise: claims over realised deviations, and how often bands held."""

    n: int
    share: float  # of epsilon, for the band
    realised: float  # median standard deviation at the points, in units of what is predicted
    at: Floats  # claimed over realised: (runs, points)
    anywhere: Floats
    bound: float  # the same for the bound without counts, median
    point: float  # share of points whose band at a point held the machine without noise
    everywhere: float  # share of releases whose band held it everywhere


def measure(name: str, epsilon: float, runs: int, *, pure: bool) -> Found:
    rows = columns(name)
    made = [learn(name, epsilon, seed, pure=pure) for seed in range(runs)]
    rng, one = np.random.default_rng(9), rows.x.shape[1] == 1
    at = np.quantile(rows.x, DECILES, axis=0) if one else rows.x[rng.choice(len(rows.x), RECORDS)]
    low, high = np.array(rows.bounds, dtype=float).T
    far = low + rng.random((ANYWHERE, len(low))) * (high - low)
    raw = {"raw": True} if rows.y_bounds is not None else {}
    truth = replace(made[0], coordinates=made[0].penalty * noiseless(made[0], rows), shrink=False)
    ratios, spreads = [], []
    for points in (at, far):
        values = np.array([release(points, **raw) for release in made])
        spreads.append(values.std(axis=0, ddof=1))
        ratios.append(np.array([release.standard_error(points) for release in made]) / spreads[-1])
    bound = np.median(replace(made[0], curvature=None).standard_error(at) / spreads[0])
    held = [inside(release, truth, at, simultaneous=False).mean() for release in made]
    whole = [inside(release, truth, np.concatenate([at, far]), simultaneous=True).all() for release in made]
    second = made[0].privacy.events[1].epsilon / epsilon
    return Found(
        len(rows.x),
        second,
        float(np.median(spreads[0])),
        ratios[0],
        ratios[1],
        float(bound),
        float(np.mean(held)),
        float(np.mean(whole)),
    )


def inside(release: Any, truth: Any, points: Floats, *, simultaneous: bool) -> Any:
    """Where the band holds the machine without noise."""
    band, there = release.band(points, simultaneous=simultaneous), truth(points)
    return (band.lower <= there) & (there <= band.upper)


Key = tuple[str, str, float]


def run(plan: Plan) -> dict[Key, Found]:
    found, start = {}, time.perf_counter()
    for name in plan.sets:
        for pure in (False, True):
            for epsilon in plan.epsilons:
                key = (name, "pure" if pure else "delta", epsilon)
                found[key] = measure(name, epsilon, plan.runs, pure=pure)
                print(f"{key}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return found


WHAT = {
    "wave": "a drawn wave, 1 column",
    "california": "California: value by income",
    "hours": "Adult: hours by age",
    "faithful": "Old Faithful: waiting by eruption",
    "california 2": "California: value by income and latitude",
    "income 2": "Adult: income class by age and hours",
}


def lines_of(key: Key, found: Found) -> str:
    name, promise, epsilon = key
    return f"| {WHAT[name]} | {promise} | {epsilon:g} | {found.share:.0%} | {found.realised:.3g} "


def report(found: dict[Key, Found], plan: Plan, source: str) -> list[str]:
    by_decile = [
        "| data | promise | epsilon | share | realised | " + " | ".join(f"{d:.0%}" for d in DECILES) + " |",
        "|---|---|---:|---:|---:|" + "---:|" * 9,
    ]
    overall = [
        "| data | promise | epsilon | share | realised | 5 %, median, 95 % | in 0.8 to 1.5 | anywhere: 2 %, "
        "10 %, median, 90 % | the bound | held at a point | held everywhere |",
        "|---|---|---:|---:|---:|---|---:|---|---:|---:|---:|",
    ]
    for key, each in found.items():
        if each.at.shape[1] == len(DECILES):
            cells = " | ".join(f"{value:.2f}" for value in np.median(each.at, axis=0))
            by_decile.append(f"{lines_of(key, each)}| {cells} |")
        at = ", ".join(f"{q:.2f}" for q in np.quantile(each.at, [0.05, 0.5, 0.95]))
        far = ", ".join(f"{q:.2f}" for q in np.quantile(each.anywhere, [0.02, 0.1, 0.5, 0.9]))
        good = np.mean((each.at >= 0.8) & (each.at <= 1.5))
        overall.append(
            f"{lines_of(key, each)}| {at} | {good:.0%} | {far} | {each.bound:.0f} | {each.point:.0%} | "
            f"{each.everywhere:.0%} |"
        )
    return [
        "# Error bands of noise in the objective",
        "",
        f"{plan.runs} releases each, on the same rows, by the defaults; delta = {DELTA:g} or pure. "
        "`share`: of epsilon, for the counts of curvature. `realised`: median standard deviation over the "
        "points of what is predicted (of the decision function for classes). Other numbers are claimed "
        "standard errors over realised ones; a realised one is itself known to "
        f"{1 / np.sqrt(2 * plan.runs - 2):.0%}. Nothing here is private: noise is seeded. Rules of shares "
        "and of cells, and how counts are smoothed, were chosen on California, Adult and Old Faithful "
        "among others at epsilon 1.",
        "",
        "## By deciles of the rows, median over the releases",
        "",
        *by_decile,
        "",
        f"## At the deciles, or {RECORDS} rows for two columns, and at {ANYWHERE} points of the bounds",
        "",
        "Quantiles over releases and points. `the bound`: what is claimed with `band=0`, over what is "
        "realised. The last two: how often a band of 95 % held the machine without noise, at a point and "
        "at all points of both kinds at once.",
        "",
        *overall,
        "",
        source,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one drawn set, 4 releases")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # few rows for the promise
    plan = QUICK if options.quick else Plan()
    source = provenance()
    found = run(plan)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "machine_bands.md").write_text("\n".join(report(found, plan, source)) + "\n")
    print(options.out / "machine_bands.md")


if __name__ == "__main__":
    main()
