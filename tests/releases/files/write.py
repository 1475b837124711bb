"""Write the files that later versions must go on reading, and what they answer: README.md.

PYTHONPATH=src python tests/releases/files/write.py FOLDER
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

import mercer
from tests.contracts import collected
from tests.contracts.seeded import made
from tests.contracts.seeded.records import AGE, CUBE, LINE, OLD, PLANE, PURE, TABLE, WEAK
from tests.contracts.seeded.tables import GRADED, GRADES

CASES = [
    "column-integers",
    "density-pure",
    "density-pure-l2",
    "density-pure-laplace",
    "density-pure-cosine",
    "density-pure-periodic",
    "density-gaussian",
    "density-gaussian-classic",
    "density-gaussian-periodic",
    "density-hermite",
    "density-wavelet",
    "density-landmarks",
    "density-matern52-eigenfunctions",
    "density-matern32",
    "density-exponential-both",
    "density-scott",
    "density-cross-validated-pure",
    "density-persons",
    "density-dates",
    "density-gaps",
    "density-plane-pure",
    "density-plane-slanted",
    "density-plane-landmarks",
    "density-plane-matern",
    "density-cube-pure",
    "mean-curve-gaussian",
    "mean-curve-pure",
    "mean-curve-matern52",
    "mean-curve-own-kernel",
    "mean-curve-paper",
    "mean-curve-cross-validated",
    "mean-curve-long",
    "mean-curve-surfaces",
    "classifier-hinge",
    "classifier-given",
    "classifier-pure-output",
    "classifier-chosen",
    "classifier-matern32",
    "classifier-plane-linear",
    "classifier-plane-taylor",
    "classifier-plane-points",
    "classifier-random",
    "classifier-wards-logistic",
    "regression-median",
    "regression-quantiles-output",
    "regression-insensitive",
    "regression-squared",
    "regression-chosen",
    "regression-moments",
    "regression-array",
    "synthetic-mixed",
    "synthetic-pure",
    "synthetic-scales",
    "synthetic-matern",
    "synthetic-l1",
    "synthetic-public-rows",
    "synthetic-laws",
    "synthetic-features-uniform",
    "synthetic-drawn",
    "synthetic-ordered",
    "records-letters",
    "records-pure",
    "histogram-bins",
    "histogram-edges",
    "histogram-delta",
    "histogram-whole",
    "histogram-categories",
    "histogram-dates",
    "histogram-dropped",
    "histogram-sparse",
    "histogram-sparse-delta",
    "histogram-persons-rows",
    "table-whole",
    "table-sparse",
    "table-pairs",
    "table-singles",
    "table-chain",
    "table-persons",
    "count-geometric",
    "count-delta",
    "count-persons",
    "proportion-geometric",
    "proportion-days",
    "random-histogram",
    "random-proportion-rare",
    "random-statistic-mean",
    "random-statistic-asymptotic",
    "quantiles-dates",
]
SMALL = {  # of settings whose files would be large
    "density-cube": lambda: mercer.density(TABLE, **CUBE, **WEAK, bandwidth=[30.0, 12.0, 25.0], rng=11),
    "count-optimal": lambda: mercer.count(
        TABLE.slice(0, 12), **OLD, epsilon=0.5, mechanism="optimal", rng=12
    ),
    "histogram-smoothed": lambda: mercer.histogram(AGE, bins=20, bounds=(0, 100), **PURE, rng=13).density(),
    "synthetic-persons": lambda: mercer.synthetic(GRADED, domain=GRADES, **WEAK, size=6, rng=14),
}
ANSWERS = {  # numbers that follow from the file alone
    "values",
    "raw",
    "band",
    "narrow",
    "error",
    "slope",
    "integral",
    "integrals",
    "bandwidths",
    "coefficients",
    "predicted",
    "as_released",
    "probability",
    "weights",
    "points",
    "expect",
    "counts",
    "interval",
    "best",
    "proportions",
    "numbers",
    "margin",
    "bins",
    "cut",
    "whole",
    "level",
    "margins",
    "one_way",
    "query",
    "pair",
}
LIVE = {
    "coordinates": {**LINE, **WEAK},
    "coordinates-pure": {**LINE, **PURE},
    "exponential": {**LINE, **WEAK, "kernel": "exponential", "bandwidth": 10},
    "matern32": {**LINE, **WEAK, "kernel": "matern32", "bandwidth": 10},
    "matern52": {**LINE, **WEAK, "kernel": "matern52", "bandwidth": 10},
    "cholesky": {**LINE, **WEAK, "kernel": "matern32", "bandwidth": 10, "route": "cholesky"},
    "cholesky-plane": {**PLANE, **WEAK, "kernel": "exponential", "bandwidth": [20.0, 10.0]},
}


def answers(release: Any) -> Any:
    """What a release answers, thinned.  Intervals of synthetic tables hang on how weights are solved for."""
    asked = ANSWERS - {"interval"} if release.kind.startswith("synthetic") else ANSWERS
    found = collected.answers(release, asked)
    numbers = {name: part for name, part in found.items() if not isinstance(part, str)}  # no refusals
    return json.loads(json.dumps(_thin(numbers)))


def _thin(value: Any, most: int = 16) -> Any:
    if isinstance(value, dict):
        return {name: _thin(part) for name, part in value.items()}
    if isinstance(value, list):
        few = value if len(value) <= most else [*value[: most - 1], value[-1], len(value)]
        return [_thin(part) for part in few]
    return value


def heard(path: Any) -> Any:
    """What a live release answers at points that it was asked before."""
    x = [20.0, 41.5, 60.0] if len(path.domain.names) == 1 else [[20.0, 20.0], [41.5, 33.0], [60.0, 47.0]]
    told = [path.ask(x), path.ask(x[1:]), *path.band(x), path.standard_error(x), path.count, path.kind]
    return collected.plain([*told, str(path.privacy), path.domain.describe()])


def spent(ledger: mercer.Ledger) -> Any:
    """What a ledger tells of its datasets."""
    found = {}
    for name in ledger.datasets:
        left = ledger.remaining(name)
        charges = [charge.to_dict() for charge in ledger.history(name)]
        found[str(name)] = [charges, collected.plain(left), str(left), collected.plain(ledger.power(name))]
    return json.loads(json.dumps(found))


def budgets(place: Path) -> mercer.Ledger:
    """A ledger with charges of several sorts."""
    ledger = mercer.Ledger(place)
    ledger.register("rows", epsilon=12, delta=1e-2)
    ledger.register("pure", epsilon=3)
    ledger.register("persons", epsilon=10, delta=1e-3, unit="person")
    rows = {"ledger": ledger, "dataset": "rows"}
    mercer.density(TABLE, **LINE, **PURE, **rows)
    mercer.density(TABLE, **LINE, **WEAK, **rows, bandwidth="private-scott")
    mercer.histogram(TABLE, columns="age", bins=12, bounds=(0, 100), **WEAK, **rows)
    mercer.quantiles(TABLE, [0.25, 0.5], **LINE, **PURE, **rows)
    mercer.live(TABLE, **LIVE["matern32"], **rows)
    mercer.live(TABLE, **LIVE["cholesky-plane"], **rows)
    mercer.count(TABLE, **OLD, **PURE, ledger=ledger, dataset="pure")
    mercer.density(TABLE, **LINE, **WEAK, unit="person", ledger=ledger, dataset="persons")
    return ledger


def main(folder: Path) -> None:
    warnings.simplefilter("ignore")
    folder.mkdir(parents=True, exist_ok=True)
    told: dict[str, Any] = {}
    for name in (*CASES, *SMALL):
        release = SMALL[name]() if name in SMALL else made(name)
        release.save(folder / f"{name}.json")
    for file in sorted(folder.glob("*.json")):
        if file.stem not in ("answers", "quantiles-dates"):  # numbers to read, not to load
            told[file.stem] = answers(mercer.load(file))
    live = {}
    for name, options in LIVE.items():
        with mercer.live(TABLE, **options, store=folder / "live.db", name=name) as path:
            live[name] = heard(path)
    ledger = spent(budgets(folder / "budgets.db"))
    said = {"releases": told, "live": live, "ledger": ledger}
    (folder / "answers.json").write_text(json.dumps(said, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
