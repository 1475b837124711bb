"""What stands around releases: live ones, plans, ledgers, estimators, audits, deep paths."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import mercer
from mercer import composition, kernels, lower_bounds, mechanisms
from tests.contracts.seeded.records import (
    AGE,
    BINS,
    BMI,
    CURVES,
    GRID,
    ILL,
    LEVEL,
    LINE,
    OLD,
    OWN,
    PAIR,
    PLANE,
    PRESSURE,
    PURE,
    ROOMS,
    ROWS,
    SEEN_BY_FEW,
    STRONG,
    TABLE,
    WEAK,
    WORDS,
)
from tests.contracts.seeded.register import add, case, made

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
