"""What a release itself tells of its records, and how often it is wrong.

Clean continuous columns first: every finding but "flat" is a false alarm there.  Then mistakes made
on purpose (a column of text, bounds in another unit, codes for missing values, whole numbers), and
columns of real people, if MERCER_DATA names a folder with adult_full.csv.gz and old_faithful.csv.

    MERCER_DATA=FOLDER python -m studies.accuracy.findings     # writes studies/accuracy/results/findings.md
    python -m studies.accuracy.findings --quick --out FOLDER   # simulated columns alone
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import beta

import mercer
from studies.shared.report import data_file, provenance

Draw = Callable[[np.random.Generator, int], Any]
BOUNDS = (0.0, 100.0)
CLEAN: dict[str, Draw] = {
    "normal": lambda rng, n: rng.normal(50, 15, n),
    "narrow normal": lambda rng, n: rng.normal(50, 3, n),
    "two peaks": lambda rng, n: np.where(rng.random(n) < 0.4, rng.normal(30, 4, n), rng.normal(70, 8, n)),
    "exponential": lambda rng, n: rng.exponential(10, n),
    "lognormal": lambda rng, n: rng.lognormal(3, 0.5, n),
    "a part of the bounds": lambda rng, n: rng.uniform(20, 60, n),
    "even": lambda rng, n: rng.uniform(0, 100, n),
    "arcs": lambda rng, n: 100 * rng.beta(0.5, 0.5, n),
}
WRONG: dict[str, Draw] = {
    "text": lambda _rng, n: np.full(n, "$312.60", dtype=object),
    "half is missing": lambda rng, n: np.where(rng.random(n) < 0.5, np.nan, rng.normal(50, 15, n)),
    "bounds in another unit": lambda rng, n: rng.normal(5000, 1500, n),
    "a third has the code 999": lambda rng, n: np.where(rng.random(n) < 1 / 3, 999.0, rng.normal(50, 15, n)),
    "40 % have one value": lambda rng, n: np.where(rng.random(n) < 0.4, 40.0, rng.normal(50, 15, n)),
    "multiples of 5": lambda rng, n: 5 * np.rint(rng.normal(50, 15, n) / 5),
    "whole numbers": lambda rng, n: np.rint(rng.normal(50, 15, n)),
}
COLUMNS = {
    "age": (0.0, 100.0),
    "hours_per_week": (0.0, 100.0),
    "capital_gain": (0.0, 1e5),
    "education_num": (0.0, 20.0),
    "eruptions": (0.0, 6.0),
    "waiting": (0.0, 120.0),
}


@dataclass(frozen=True)
class Plan:
    """How much is computed."""

    n: tuple[int, ...] = (200, 1000, 5000, 50_000)
    epsilon: tuple[float, ...] = (0.1, 1.0, 3.0)
    repeats: int = 10
    repeats_of_clean: int = 25


QUICK = Plan(n=(200, 1000), epsilon=(1.0,), repeats=2, repeats_of_clean=2)


def kinds_of(values: Any, bounds: tuple[float, float], epsilon: float, seed: int) -> dict[str, Any]:
    """Kinds of findings of each release of a column."""
    usual: dict[str, Any] = {"bounds": bounds, "epsilon": epsilon, "rng": seed}
    made = {
        "density": mercer.density(values, **usual),
        "with a delta": mercer.density(values, delta=1e-6, **usual),
        "histogram": mercer.histogram(values, bins=40, insist=True, **usual),
        "quartiles": mercer.quantiles(values, [0.25, 0.5, 0.75], **usual),
    }
    return {name: [found.kind for found in release.findings()] for name, release in made.items()}


def false_alarms(plan: Plan) -> list[str]:
    """A table of clean columns: how many of the releases say something wrong."""
    lines = ["| column | density | with a delta | histogram | quartiles |", "|---|---:|---:|---:|---:|"]
    wrong, total, said = Counter[str](), 0, Counter[str]()
    for place, (name, draw) in enumerate(CLEAN.items()):
        own, count = Counter[str](), 0
        for n in plan.n:
            for epsilon in plan.epsilon:
                for run in range(plan.repeats_of_clean):
                    seed = hash_of(place, n, epsilon, run)
                    values = draw(np.random.default_rng(seed), n)
                    count += 1
                    for release, kinds in kinds_of(values, BOUNDS, epsilon, seed + 1).items():
                        false = [kind for kind in kinds if kind != "flat"]
                        own[release] += bool(false)
                        said.update(false)
        cells = [f"{own[release]} of {count}" for release in RELEASES]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
        wrong.update(own)
        total += count
    every = sum(wrong.values())
    most = beta.ppf(0.95, every + 1, 4 * total - every)
    what = ", ".join(f"{kind} {number}" for kind, number in sorted(said.items())) or "none"
    return [*lines, "", f"All together {every} of {4 * total} releases ({what}); 95 % upper end {most:.2g}."]


RELEASES = ("density", "with a delta", "histogram", "quartiles")


def told(columns: dict[str, tuple[Draw, tuple[float, float]]], plan: Plan, first: int) -> list[str]:
    """What is told of columns, in how many of the runs."""
    lines = [
        "| column | n | epsilon | density | with a delta | histogram | quartiles |",
        "|---|---:|---:|---|---|---|---|",
    ]
    for place, (name, (draw, bounds)) in enumerate(columns.items(), first):
        for n in plan.n:
            for epsilon in plan.epsilon:
                seen: dict[str, Counter[str]] = {release: Counter() for release in RELEASES}
                for run in range(plan.repeats):
                    seed = hash_of(place, n, epsilon, run)
                    values = draw(np.random.default_rng(seed), n)
                    found = kinds_of(values, bounds, epsilon, seed + 1)
                    for release, kinds in found.items():
                        seen[release].update(kinds)
                cells = [
                    ", ".join(f"{kind} {count}" for kind, count in seen[release].most_common())
                    for release in RELEASES
                ]
                lines.append(f"| {name} | {n} | {epsilon:g} | " + " | ".join(cells) + " |")
    return lines


def hash_of(place: int, n: int, epsilon: float, run: int) -> int:
    """A seed for every case."""
    return int(np.random.SeedSequence([place, n, int(1000 * epsilon), run]).generate_state(1)[0])


def real_columns() -> dict[str, tuple[Draw, tuple[float, float]]]:
    """Columns of the folder MERCER_DATA, each drawn from without replacement."""
    adult = pd.read_csv(data_file("adult_full.csv.gz"), skipinitialspace=True)
    geyser = pd.read_csv(data_file("old_faithful.csv"))
    out = {}
    for name, bounds in COLUMNS.items():
        table = adult if name in adult else geyser
        values = table[name].to_numpy(float)

        def draw(rng: np.random.Generator, n: int, values: Any = values) -> Any:
            return rng.choice(values, min(n, len(values)), replace=False)

        out[name] = (draw, bounds)
    return out


def report(plan: Plan, *, quick: bool) -> str:
    """The page."""
    source = provenance()  # before the minutes in which the repository may change
    words = [
        "# What a release itself tells",
        "",
        "Findings (`release.findings()`) of densities without and with a delta (1e-6), histograms "
        "in 40 bins and three quartiles, by kind: *fit* (rows that hold no number), *bound* "
        "(values piled up at a bound), *spike* (a value that many share), *lattice* (whole numbers "
        "or multiples of a step), *flat* (nothing can be told from the noise).",
        "",
        "## a. Clean continuous columns: false alarms",
        "",
        f"n = {', '.join(map(str, plan.n))}; epsilon = {', '.join(map(str, plan.epsilon))}; "
        f"{plan.repeats_of_clean} runs each. A finding other than *flat* is a false alarm; the "
        "rules allow noise one in 1000.",
        "",
        *false_alarms(plan),
        "",
        f"## b. Mistakes on purpose: how often of {plan.repeats} runs each is told",
        "",
        *told({name: (draw, BOUNDS) for name, draw in WRONG.items()}, plan, len(CLEAN)),
        "",
    ]
    if not quick:
        words += [
            f"## c. Real columns: what is told in {plan.repeats} runs",
            "",
            "Adult (48842 people) and Old Faithful (272 eruptions: all of them where n is more). "
            "All four columns of Adult are whole numbers; 47 % work 40 hours, 92 % have no gain.",
            "",
            *told(real_columns(), plan, len(CLEAN) + len(WRONG)),
            "",
        ]
    return "\n".join([*words, source, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a few numbers, in seconds")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", mercer.PrivacyWarning)
    text = report(QUICK if chosen.quick else Plan(), quick=chosen.quick)
    chosen.out.mkdir(parents=True, exist_ok=True)
    (chosen.out / "findings.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
