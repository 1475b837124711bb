"""How good private synthetic tables are, beside those of peers, on three real tables.

Every method sees the same training rows and the same public domain; what comes out is measured
against test rows (`shared/measures.py`).  Noise is seeded, so that the table can be made again: no
release here is private.

    MERCER_DATA=FOLDER python -m studies.accuracy.tables        # writes studies/accuracy/results
    python -m studies.accuracy.tables --quick --out FOLDER
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from studies.peers.merf import Settings
from studies.peers.tables import METHODS, PYTHON, available
from studies.shared.measures import BINS, KINDS, LENGTH, QUERIES, STEP, measures
from studies.shared.report import Floats, half_width, provenance, save, sheet
from studies.shared.tables import SPECS, Table, stand_in, table

EPSILONS = (0.1, 1.0, 4.0)
DELTA = 1e-6
NOT_PRIVATE = "resampled"
SHOWN = ("two-way", "queries", "distance", "boosting AUC")  # in the picture


@dataclass(frozen=True)
class Plan:
    """What is run; `seeds` of a method, where they are not `repeats` (those take minutes each)."""

    names: tuple[str, ...] = tuple(SPECS)
    epsilons: tuple[float, ...] = EPSILONS
    repeats: int = 5
    seeds: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("mst", "aim", "aim-own"), 2))
    rows: int = 0  # of drawn stand-ins; 0 for the files
    data: str | None = None

    def table(self, name: str) -> Table:
        """The rows of a name."""
        return stand_in(name, self.rows) if self.rows else table(name, self.data)


QUICK = Plan(("california", "nltcs"), (1.0,), repeats=1, seeds={}, rows=300)


# --- running -------------------------------------------------------------------------------------

Found = dict[str, dict[str, list[float]]]  # "table | method | epsilon" -> measure -> by seed


def key(name: str, method: str, epsilon: float) -> str:
    """The resampled rows do not depend on epsilon."""
    return f"{name} | {method} | {'none' if method == NOT_PRIVATE else f'{epsilon:g}'}"


def trial(data: Table, synthesise: Any, epsilon: float, seed: int) -> dict[str, float]:
    """One method on one table: same arguments, same numbers, but for the seconds."""
    start = time.perf_counter()
    frame, weights = synthesise(data.train, data.spec.domain, epsilon=epsilon, delta=DELTA, seed=seed)
    seconds = time.perf_counter() - start
    return {**measures(data.name, frame, weights, data.test), "seconds": seconds}


def run(plan: Plan, methods: dict[str, Any], keep: Path | None) -> Found:
    """Measures of every case; `keep`, a file, holds what is finished."""
    found: Found = json.loads(keep.read_text()) if keep and keep.exists() else {}
    for name in plan.names:
        data = plan.table(name)
        for method, (_, synthesise) in methods.items():
            for epsilon in plan.epsilons:
                have = found.setdefault(key(name, method, epsilon), {})
                first = len(have.get("seconds", []))
                for seed in range(first, plan.seeds.get(method, plan.repeats)):
                    try:
                        values = trial(data, synthesise, epsilon, seed)
                    except NotImplementedError:
                        break
                    for kind, value in values.items():
                        have.setdefault(kind, []).append(value)
                    if keep:
                        keep.write_text(json.dumps(found))
    return {k: v for k, v in found.items() if v}


# --- the report ----------------------------------------------------------------------------------


def cell(values: list[float], kind: str) -> str:
    scale, digits = (1, 1) if kind == "seconds" else (100, 2)
    array: Floats = scale * np.array(values)
    half = "" if len(values) < 2 or kind == "seconds" else f" ± {half_width(array):.{digits}f}"
    return f"{array.mean():.{digits}f}{half}"


def present(found: Found, plan: Plan, name: str) -> list[str]:
    """Methods that have numbers, now or from an earlier run that was kept."""
    return [m for m in METHODS if any(key(name, m, e) in found for e in plan.epsilons)]


def best(found: Found, name: str, epsilon: float, kind: str, methods: list[str]) -> str:
    """The private method with the best mean."""
    sign = 1 if KINDS[kind][1] else -1
    private = [m for m in methods if m != NOT_PRIVATE and key(name, m, epsilon) in found]
    means = {m: sign * float(np.mean(found[key(name, m, epsilon)][kind])) for m in private}
    return max(means, key=means.__getitem__, default="")


def tables(found: Found, plan: Plan) -> list[str]:
    lines = []
    for name in plan.names:
        data, shown = plan.table(name), present(found, plan, name)
        lines += [
            "",
            f"## {SPECS[name].title}",
            "",
            f"{len(data.train):,} rows to learn from, {len(data.test):,} to test on, "
            f"{len(SPECS[name].domain)} columns. The classifiers say whether "
            f"`{SPECS[name].target}` exceeds {SPECS[name].above:g}.",
            "",
            "| epsilon | method | " + " | ".join(KINDS) + " | seconds |",
            "|---:|---|" + "---:|" * (len(KINDS) + 1),
        ]
        for epsilon in plan.epsilons:
            winners = {kind: best(found, name, epsilon, kind, shown) for kind in KINDS}
            for method in shown:
                values = found.get(key(name, method, epsilon))
                if values is None or (method == NOT_PRIVATE and epsilon != plan.epsilons[-1]):
                    continue
                texts = [cell(values[kind], kind) for kind in (*KINDS, "seconds")]
                for place, kind in enumerate(KINDS):
                    if winners[kind] == method:
                        texts[place] = f"**{texts[place]}**"
                label = "any" if method == NOT_PRIVATE else f"{epsilon:g}"
                lines.append(f"| {label} | {METHODS[method][0]} | " + " | ".join(texts) + " |")
    return lines


SIZES = Settings()
NOTES = f"""All numbers but seconds are times 100, ± half of the 95 % interval of the mean over
seeds (of noise and of drawing; the rows are the same). Bold: the best private method. Neighbours:
replace one row; the number of rows is public. delta = {DELTA:g}. Smaller is better up to
*distance*; of classifiers, larger is.

What is measured, against test rows that no method saw:

- *one-way*, *two-way*: total variation between tables of one and of two columns, the mean over all
  of them; {BINS[1]} and {BINS[2]} equal bins of numbers, which are no method's own.
- *queries*: mean absolute error of the share of rows in {QUERIES:,} fixed random boxes of one to
  three columns.
- *moments*: root mean squared error of means and of second moments, columns standardised by the
  test rows; *waves*: of cosines and sines of random directions, at three scales.
- *distance*: RKHS distance to the law of the test rows, their own sampling error taken out;
  Gaussian kernel of length {LENGTH:g} of each column's bounds, times exp(-{STEP:g}) for each level
  that differs.
- *logistic*, *boosting*: classifiers trained on synthetic rows, tested on real ones.

Methods:

- *DP-MERF, our version* (`peers/merf.py`): one release of the mean of {SIZES.frequencies} random
  waves (cosine and sine) times one-hot categories, sensitivity 2/n, exact Gaussian calibration; a
  network with layers of {" and ".join(map(str, SIZES.hidden))} learns to draw rows with that mean,
  {SIZES.steps:,} steps of Adam, {SIZES.batch:,} rows a step. Scales of the waves are public.
- *tree of pairs* (`peers/trees.py`): all columns, then the pairs of a spanning tree chosen by
  exponential mechanisms, Gaussian noise on counts, zCDP; the tree's graphical model is fitted to
  all of them. Columns are cut into groups chosen from their noisy counts.
- *SmartNoise* (`peers/smartnoise.py`): smartnoise-synth 1.0.8 on groups chosen in the same way, for
  a fifth of rho. Its neighbours add or remove one row; it is asked for so much less that the
  promise holds where one row is replaced. *Its own neighbours*: as it comes, a weaker promise than
  the others give at the same epsilon. Its Gaussian noise takes no seed.
- *independent columns*: noisy counts of every column, nothing else.
- *rows drawn again*: the training rows with replacement, not private: what one can hope for.

Capital gain and loss of Adult are logarithms of one plus dollars, a public transform, for all
methods. Constants of the peers were chosen on these tables and test rows at epsilon = 1, which
flatters them.
"""


def report(found: Found, plan: Plan, source: str) -> list[str]:
    return [
        "# How good private synthetic tables are",
        "",
        "![Errors and AUC against epsilon](tables.png)",
        "",
        NOTES,
        *tables(found, plan),
        "",
        source,
    ]


STYLES: dict[str, dict[str, Any]] = {
    "ours": {"color": "#0b2440", "marker": "o", "lw": 2},
    "merf": {"color": "#c05a00", "ls": "--", "marker": "s"},
    "tree": {"color": "#4f7f3f", "ls": "-.", "marker": "^"},
    "mst": {"color": "#7f5fa8", "ls": ":", "marker": "x"},
    "aim": {"color": "#3f78b5", "ls": (0, (5, 1)), "marker": "D"},
    "aim-own": {"color": "#3f78b5", "ls": (0, (1, 1)), "marker": "D", "mfc": "white"},
    "independent": {"color": "#777777", "ls": ":", "marker": "v"},
}


def picture(found: Found, plan: Plan, path: Path) -> None:
    figure, grid = sheet(
        len(plan.names), len(SHOWN), (11.5, 2.5 * len(plan.names) + 0.8), layout="constrained"
    )
    for row, name in zip(grid, plan.names, strict=True):
        shown = present(found, plan, name)
        for axes, kind in zip(row, SHOWN, strict=True):
            for method in shown:
                label = METHODS[method][0]
                if method == NOT_PRIVATE:
                    level = float(np.mean(found[key(name, method, 0.0)][kind]))
                    axes.axhline(level, color="#b5b5b5", lw=4, label=label)
                    continue
                x = [e for e in plan.epsilons if key(name, method, e) in found]
                each = [np.array(found[key(name, method, e)][kind]) for e in x]
                axes.errorbar(
                    x,
                    [v.mean() for v in each],
                    [half_width(v) for v in each],
                    label=label,
                    ms=4,
                    elinewidth=0.8,
                    **STYLES[method],
                )
            axes.set_xscale("log")
            axes.set_xticks(plan.epsilons, [f"{e:g}" for e in plan.epsilons], minor=False)
            axes.minorticks_off()
            if not KINDS[kind][1]:
                axes.set_yscale("log")
            axes.set_ylabel(KINDS[kind][0], fontsize=7.5)
            axes.tick_params(which="both", labelsize=7)
            axes.spines[["top", "right"]].set_visible(False)
        row[0].set_title(SPECS[name].title, loc="left", fontsize=10, pad=14)
        row[0].text(
            0, 1.03, f"delta = {DELTA:g}, one row", transform=row[0].transAxes, fontsize=7, color="#555555"
        )
    for axes in grid[-1]:
        axes.set_xlabel("epsilon")
    handles, labels = grid[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, ncols=4, loc="outside lower center", frameon=False, fontsize=8)
    save(figure, path)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="drawn rows, small peers, one seed")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--data", help="the folder of the files, else MERCER_DATA")
    parser.add_argument("--keep", type=Path, help="a file for finished numbers, to go on from")
    parser.add_argument("--methods", nargs="+", help=f"only these; mst, aim need {PYTHON}")
    parser.add_argument("--repeats", type=int, default=Plan().repeats, help="seeds of a method")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # few rows for the promise; solvers that stop early
    plan = QUICK if options.quick else Plan(repeats=options.repeats, data=options.data)
    methods = available(options.quick)
    if options.methods:
        methods = {k: v for k, v in methods.items() if k in options.methods}
    source = provenance("pandas")  # before the run: the tree may change while it lasts
    found = run(plan, methods, options.keep)
    options.out.mkdir(parents=True, exist_ok=True)
    lines = report(found, plan, source)
    (options.out / "tables.md").write_text("\n".join(lines) + "\n")
    picture(found, plan, options.out / "tables.png")
    print(options.out / "tables.md")


if __name__ == "__main__":
    main()
