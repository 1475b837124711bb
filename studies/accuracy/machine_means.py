"""How near is a private regression to the mean: by Huber's loss, by squared loss, by moments?  M21.

In one column releases are set beside the mean response of the rows nearby; in more columns beside rows that
were held out.  Standard errors claimed are set beside those realised.  Noise is seeded, so that the tables
can be made again: no release here is private.

    python -m studies.accuracy.machine_means            # needs MERCER_DATA; writes studies/accuracy/results
    python -m studies.accuracy.machine_means --quick --out FOLDER      # a drawn set, no files
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from studies.shared.report import Floats, data_file, provenance

DELTA = 1e-6
PLACES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)  # quantiles of the rows
RECORDS, ANYWHERE = 60, 60
WAYS: dict[str, dict[str, Any]] = {
    "Huber's loss (default)": {},
    "squared loss": {"loss": "squared"},
    "squared loss, noise in the objective": {"loss": "squared", "method": "objective"},
}


@dataclass(frozen=True)
class Plan:
    """How much is computed."""

    runs: int = 24
    further: int = 8  # runs in more columns
    line: tuple[str, ...] = ("california", "hours", "faithful", "education")
    more: tuple[str, ...] = ("california 2", "hours 2", "california 3", "hours 3", "hours 4")
    epsilons: tuple[float, ...] = (0.1, 1.0, 4.0)
    few: tuple[str, ...] = ("california", "education", "california 2", "hours 2", "california 3", "hours 4")
    sizes: tuple[int, ...] = (100, 300, 1000, 3000)


QUICK = Plan(3, 2, ("wave",), ("waves",), (1.0,), ("waves",), (300,))
WHAT = {
    "wave": "a drawn wave",
    "waves": "a drawn wave, 2 columns",
    "california": "California: value by income",
    "hours": "Adult: hours by age",
    "education": "Adult: years of education by age",
    "faithful": "Old Faithful: waiting by eruption",
    "california 2": "California: value by income, latitude",
    "california 3": "California: value by income, latitude, longitude",
    "hours 2": "Adult: hours by age, education",
    "hours 3": "Adult: hours by age, education, income class",
    "hours 4": "Adult: hours by age, education, capital gain, capital loss",
}
ADULT = {
    "age": (17, 90),
    "education_num": (1, 16),
    "income_gt_50k": (0, 1),
    "capital_gain": (0, 20_000),
    "capital_loss": (0, 4500),
}
ADULTS = {
    "hours": ["age"],
    "education": ["age"],
    "hours 2": ["age", "education_num"],
    "hours 3": ["age", "education_num", "income_gt_50k"],
    "hours 4": ["age", "education_num", "capital_gain", "capital_loss"],
}
PLACE = {"median_income": (0, 15), "latitude": (32, 42), "longitude": (-125, -114)}


@dataclass(frozen=True)
class Rows:
    """Rows, what is predicted, and the public bounds of both."""

    x: Floats
    y: Floats
    bounds: list[tuple[float, float]]
    y_bounds: tuple[float, float]

    @property
    def half(self) -> float:
        return (self.y_bounds[1] - self.y_bounds[0]) / 2

    def some(self, kept: Any) -> Rows:
        return Rows(self.x[kept], self.y[kept], self.bounds, self.y_bounds)


@lru_cache(maxsize=4)
def _read(name: str) -> dict[str, Floats]:
    table = np.genfromtxt(data_file(name), delimiter=",", names=True, dtype=None, encoding="utf-8")
    return {column: table[column] for column in table.dtype.names}


def _stacked(table: dict[str, Floats], named: list[str]) -> Floats:
    return np.stack([table[column].astype(float) for column in named], axis=1)


@lru_cache(maxsize=16)
def rows_of(name: str) -> Rows:
    """A set by its name."""
    if name.startswith("wave"):
        rng, d = np.random.default_rng(1), 1 + (name == "waves")
        x = rng.random((3000, d))
        y = np.sin(6 * x[:, 0]) + 0.3 * rng.normal(size=3000)
        return Rows(x, y, [(0.0, 1.0)] * d, (-2.0, 2.0))
    if name == "faithful":
        table = _read("old_faithful.csv")
        return Rows(table["eruptions"][:, None], table["waiting"].astype(float), [(1, 6)], (30, 110))
    if name.startswith("california"):
        table = _read("california_housing_xy.csv")
        named = list(PLACE)[: int(name.removeprefix("california") or 1)]
        bounds = [PLACE[column] for column in named]
        return Rows(_stacked(table, named), table["median_house_value"].astype(float), bounds, (0, 500_001))
    table, named = _read("adult_numeric.csv.gz"), ADULTS[name]
    bounds = [ADULT[column] for column in named]
    if name == "education":
        return Rows(_stacked(table, named), table["education_num"].astype(float), bounds, (1, 16))
    return Rows(_stacked(table, named), table["hours_per_week"].astype(float), bounds, (0, 100))


def learn(rows: Rows, epsilon: float, seed: int, *, pure: bool, way: dict[str, Any]) -> Any:
    promise = {"epsilon": epsilon} if pure else {"epsilon": epsilon, "delta": DELTA}
    terms: dict[str, Any] = {"bounds": rows.bounds, "y_bounds": rows.y_bounds, "rng": seed}
    return mercer.regression(rows.x, rows.y, **terms, **promise, **way)


def local_means(rows: Rows, at: Floats) -> Floats:
    """The mean response of the rows within 1 % of the width (3 % where rows are few) of each point."""
    (low, high), near = rows.bounds[0], 0.01 if len(rows.x) > 1000 else 0.03
    return np.array([rows.y[np.abs(rows.x[:, 0] - x) <= near * (high - low)].mean() for x in at])


@dataclass(frozen=True)
class Found:
    """Of one set, promise and way, in half ranges of the response."""

    method: str
    estimates: str
    error: float  # root mean square over releases and places
    bias: float  # mean over the places
    spread: float  # root mean square standard deviation
    ratio: Floats  # claimed over realised standard errors: (runs, places)
    far: Floats  # the same anywhere in the bounds
    seconds: float  # a release


def _found(made: list[Any], at: Floats, truth: Floats, error: float, half: float, seconds: float) -> Found:
    values = np.array([release(at, raw=True) for release in made])
    spread = values.std(axis=0, ddof=1)
    low, high = made[0].domain.lower, made[0].domain.upper
    far = low + np.random.default_rng(3).random((ANYWHERE, len(low))) * (high - low)
    return Found(
        made[0].method,
        made[0].losses[0].estimates,
        error,
        float(np.mean(values.mean(axis=0) - truth)) / half,
        float(np.sqrt(np.mean(spread**2))) / half,
        _ratios(made, at, values),
        _ratios(made, far, np.array([release(far, raw=True) for release in made])),
        seconds,
    )


def _ratios(made: list[Any], at: Floats, values: Floats) -> Floats:
    """Claimed over realised standard errors."""
    claimed = np.array([release.standard_error(at) for release in made])
    return np.asarray(claimed / values.std(axis=0, ddof=1))


def on_a_line(name: str, epsilon: float, runs: int, *, pure: bool, way: dict[str, Any]) -> Found:
    """Beside local means at quantiles of the rows."""
    rows, start = rows_of(name), time.perf_counter()
    made = [learn(rows, epsilon, seed, pure=pure, way=way) for seed in range(runs)]
    seconds = (time.perf_counter() - start) / runs
    at = np.quantile(rows.x[:, 0], PLACES)
    truth = local_means(rows, at)
    values = np.array([release(at) for release in made])
    error = float(np.sqrt(np.mean((values - truth) ** 2))) / rows.half
    return _found(made, at, truth, error, rows.half, seconds)


def in_space(name: str, epsilon: float, runs: int, *, way: dict[str, Any], size: int | None = None) -> Found:
    """Beside the responses of a fifth of the rows, which are held out; learnt from `size` others."""
    whole = rows_of(name)
    turn = np.random.default_rng(1).permutation(len(whole.x))
    held = len(turn) // 5
    rows, other = whole.some(turn[held:][:size]), whole.some(turn[:held])
    start = time.perf_counter()
    made = [learn(rows, epsilon, seed, pure=False, way=way) for seed in range(runs)]
    seconds = (time.perf_counter() - start) / runs
    squares = [np.mean((release(other.x) - other.y) ** 2) for release in made]
    kept = np.random.default_rng(9).choice(len(other.x), RECORDS)
    error = float(np.sqrt(np.mean(squares))) / whole.half
    return _found(made, other.x[kept], other.y[kept], error, whole.half, seconds)


Key = tuple[str, bool, float, str]


def run(plan: Plan) -> tuple[dict[Key, Found], dict[Key, Found], dict[tuple[str, int], list[Found]]]:
    """In one column, in more, and from few rows."""
    start = time.perf_counter()
    line: dict[Key, Found] = {}
    more: dict[Key, Found] = {}
    for name in plan.line:
        for pure in (False, True):
            for epsilon in plan.epsilons:
                for way, options in WAYS.items():
                    if not (pure and options.get("method")):
                        line[name, pure, epsilon, way] = on_a_line(
                            name, epsilon, plan.runs, pure=pure, way=options
                        )
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    for name in plan.more:
        for epsilon in plan.epsilons[-2:]:
            for way in list(WAYS)[1:]:
                key = (name, False, epsilon, way)
                more[key] = in_space(name, epsilon, plan.further, way=WAYS[way])
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    few = {
        (name, size): [in_space(name, 1.0, plan.further, way=way, size=size) for way in WAYS.values()]
        for name in plan.few
        for size in plan.sizes
    }
    print(f"few rows: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return line, more, few


def _head(key: Key, found: Found) -> str:
    name, pure, epsilon, way = key
    return f"| {WHAT[name]} | {'pure' if pure else 'delta'} | {epsilon:g} | {way} | {found.method} "


def _ratio(found: Found) -> str:
    at = ", ".join(f"{q:.2f}" for q in np.quantile(found.ratio, [0.05, 0.5, 0.95]))
    far = ", ".join(f"{q:.2f}" for q in np.quantile(found.far, [0.02, 0.5]))
    return f"{at} | {far}"


def report(
    line: dict[Key, Found],
    more: dict[Key, Found],
    few: dict[tuple[str, int], list[Found]],
    plan: Plan,
    source: str,
) -> list[str]:
    first = [
        "| data | promise | epsilon | way | method | it estimates | error | bias | spread | claimed over "
        "realised: 5 %, median, 95 % | anywhere: 2 %, median | medians by place |",
        "|---|---|---:|---|---|---|---:|---:|---:|---|---|---|",
    ]
    for key, found in line.items():
        places = np.median(found.ratio, axis=0)
        first.append(
            f"{_head(key, found)}| {found.estimates} | {found.error:.4f} | {found.bias:+.4f} | "
            f"{found.spread:.4f} | {_ratio(found)} | {places.min():.2f} to {places.max():.2f} |"
        )
    second = [
        "| data | promise | epsilon | way | method | error on rows held out | spread | claimed over "
        "realised: 5 %, median, 95 % | anywhere: 2 %, median | records with a median of 0.75 to 1.8 |",
        "|---|---|---:|---|---|---:|---:|---|---|---:|",
    ]
    for key, found in more.items():
        middle = np.median(found.ratio, axis=0)
        good = np.mean((middle >= 0.75) & (middle <= 1.8))
        second.append(
            f"{_head(key, found)}| {found.error:.4f} | {found.spread:.4f} | {_ratio(found)} | {good:.0%} |"
        )
    third = ["| data | rows | " + " | ".join(WAYS) + " |", "|---|---:|" + "---:|" * len(WAYS)]
    for (name, size), ways in few.items():
        third.append(f"| {WHAT[name]} | {size} | " + " | ".join(f"{w.error:.4f}" for w in ways) + " |")
    return [
        "# Private regressions and the mean",
        "",
        f"All numbers are in half ranges of y_bounds. {plan.runs} releases in one column, {plan.further} in "
        f"more; delta = {DELTA:g} or pure. Nothing here is private: noise is seeded. The threshold's rule "
        "was chosen on California, hours and Old Faithful, the penalty of moments and their bandwidth on "
        "California and on hours; education by age was not used. Squared loss is learnt by moments with a "
        "delta, with noise in the objective without.",
        "",
        "## One column: beside local means",
        "",
        "`error`: root mean square, over the releases and eleven quantiles of the rows, of the difference to "
        "the mean response of rows within 1 % (Old Faithful: 3 %) of the width. `bias`: its mean. `spread`: "
        "realised standard deviation. Claimed standard errors are those of the release; a realised one is "
        f"itself known to {1 / np.sqrt(2 * plan.runs - 2):.0%}. `anywhere`: at {ANYWHERE} points drawn in "
        "the bounds.",
        "",
        *first,
        "",
        "## More columns: beside rows held out",
        "",
        "`error`: root mean square of the difference to the responses of a fifth of the rows, which nothing "
        f"was learnt from; most of it is the responses' own spread. Claims at {RECORDS} of these rows; a "
        f"realised standard deviation is known to {1 / np.sqrt(2 * plan.further - 2):.0%} here.",
        "",
        *second,
        "",
        f"## Few rows: the same error, epsilon = 1, delta = {DELTA:g}",
        "",
        *third,
        "",
        source,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="drawn sets, few releases")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # few rows for the promise
    plan = QUICK if options.quick else Plan()
    source = provenance()
    found = run(plan)
    options.out.mkdir(parents=True, exist_ok=True)
    text = "\n".join(report(*found, plan, source)) + "\n"
    (options.out / "machine_means.md").write_text(text, encoding="utf-8")
    print(options.out / "machine_means.md")


if __name__ == "__main__":
    main()
