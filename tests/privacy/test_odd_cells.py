"""The contract of odd cells: one record, however odd, decides nothing but noisy numbers.

Every entry of the library, of the command line, of the estimators and of the service meets every
odd cell in one record, in every container the cell can stand in.  The neighbour with a clean cell
in its place has the same declared types.  Both must end alike: a release with the same fields, or
the same error with the same text; the same warnings, log lines, progress, exit status and texts.
Numbers in texts are not compared, as the noise moves them; the statement of privacy is compared
to the last character.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import json
import logging
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import threadpoolctl
import typer

import mercer
from mercer.cli.app import main
from mercer.sensitive.summaries import curves as curve_summaries
from tests.helpers import odd_cells
from tests.helpers.odd_cells import CLEAN, FIELDS, LINES, OBJECTS, PLACES, ROWS, N, Typed

LEAST = 25_000  # combinations: fewer means that a part of the contract was lost
NOISY = ("findings", "FindingWarning")  # what a release tells of its own noisy numbers
ran: Counter[str] = Counter()

PROMISE: dict[str, Any] = {"epsilon": 1, "rng": 0}
APPROXIMATE = {**PROMISE, "delta": 1e-6}
UNIT = (0, 1)
BOX = [UNIT, UNIT]
SMALL = {"size": 4, "features": "random", "bounds": [UNIT]}  # few features: quick
DOMAIN = {"x": UNIT, "g": ["a", "b"]}
WEAKER = {"epsilon": 1, "gamma": 0.5, "weaker_promise": True, "rng": 0}
TIMES = [0.0, 0.25, 0.5, 0.75, 1.0]
CURVE = {**APPROXIMATE, "bound": 2, "size": 4, "scale": 0.3, "penalty": 0.1, "eta": 1}
WIDE = {**CURVE, "grid": TIMES}


# ---------------------------------------------------------------- what is compared


@dataclass(frozen=True)
class Outcome:
    """All that a call shows but noisy numbers."""

    kind: str  # what it returned, or raised
    text: str
    fields: str
    warnings: tuple[str, ...]
    logs: tuple[str, ...]
    printed: str
    ticks: tuple[int, ...]

    def unlike(self, other: Outcome) -> str:
        """In what they differ, in words; empty if in nothing."""
        parts = [name for name in self.__dataclass_fields__ if getattr(self, name) != getattr(other, name)]
        return "; ".join(
            f"{name}: {_cut(getattr(self, name))} | {_cut(getattr(other, name))}" for name in parts
        )


def _cut(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 160 else text[:80] + " … " + text[-75:]


def without_numbers(text: str) -> str:
    """A text in which each number is `#`."""
    return re.sub(r"-?\d[\d.,]*(e[+-]?\d+)?", "#", text)


def shape(value: Any, *, exact: bool = False) -> Any:
    """Keys, types, lengths and texts of a value of JSON."""
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if k not in NOISY}
        return {str(k): shape(v, exact=exact or k == "privacy") for k, v in kept.items()}
    if isinstance(value, (list, tuple)):
        parts = [shape(v, exact=exact) for v in value]
        same = all(part == parts[0] for part in parts)
        return [len(parts), parts[0]] if parts and same else parts
    if isinstance(value, str):
        return value if exact else without_numbers(value)
    if exact or value is None or isinstance(value, bool):
        return repr(value) if exact else type(value).__name__
    return "number"


def fields_of(result: Any, *, exact: bool) -> Any:
    """The fields that a result has as a file."""
    match result:
        case None | str() | int() | float():
            return shape(result)
        case dict():
            return {key: fields_of(value, exact=exact) for key, value in result.items()}
        case tuple():
            return [fields_of(value, exact=exact) for value in result]
    fields = shape(result.to_dict())
    if not exact:  # the number of persons may differ, which is public
        fields["privacy"] = shape(result.to_dict()["privacy"] | {"n": 0})
        fields["privacy"] = without_numbers(str(fields["privacy"]))
    return fields


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.name} {without_numbers(record.getMessage())}")


def outcome(
    call: Callable[[Callable[[int], None]], Any], *, exact: bool = True, loose: bool = False
) -> Outcome:
    """Everything that a call shows; `exact` tells whether the number of records is the same."""
    kind, text, fields = "", "", ""
    ticks: list[int] = []
    handler, printed = _Lines(), io.StringIO()
    root = logging.getLogger()
    root.addHandler(handler)
    try:
        with (
            warnings.catch_warnings(record=True) as seen,
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
        ):
            warnings.simplefilter("always")
            try:
                result = call(ticks.append)
                kind, fields = type(result).__name__, str(fields_of(result, exact=exact))
                fields = str(list(result.to_dict())) if loose else fields
            except Exception as error:
                kind, text = f"raised {type(error).__name__}", str(error)
    finally:
        root.removeHandler(handler)
    seen = [w for w in seen if w.category.__name__ not in NOISY]
    if not exact:  # how few records there are is public
        seen = [w for w in seen if not issubclass(w.category, mercer.PrivacyWarning)]
    told = sorted(f"{w.category.__name__}: {without_numbers(str(w.message))}" for w in seen)
    return Outcome(
        kind,
        text,
        fields,
        tuple(told),
        tuple(handler.lines),
        without_numbers(printed.getvalue()),
        tuple(ticks) if exact else (),
    )


@dataclass
class Contract:
    """Compares calls on neighbours, and collects what differs."""

    part: str

    def __post_init__(self) -> None:
        self.broken: list[tuple[str, str]] = []
        self.clean: dict[Any, Outcome] = {}

    def compare(
        self,
        key: str,
        where: str,
        clean: Callable[[], Any],
        odd: Any,
        call: Entry | Callable[..., Any],
        *,
        exact: bool = True,
    ) -> None:
        """Call on the clean data (once for each key) and on the odd ones."""
        loose = isinstance(call, Entry) and call.loose
        way = call.call if isinstance(call, Entry) else call
        if key not in self.clean:
            data = clean()
            self.clean[key] = outcome(lambda tick: way(data, tick), exact=exact, loose=loose)
        ran[self.part] += 1
        found = outcome(lambda tick: way(odd, tick), exact=exact, loose=loose)
        if difference := self.clean[key].unlike(found):
            self.broken.append((key, f"{key}, {where}: {difference}"))

    def check(self) -> None:
        """Fail with all that was found, kinds first."""
        if self.broken:
            kinds = Counter(key for key, _ in self.broken)
            total = f"{len(self.broken)} of {ran[self.part]} combinations differ\n"
            listed = "\n".join(f"  {many:4d} {kind}" for kind, many in kinds.most_common())
            pytest.fail(total + listed + "\n" + "\n".join(line for _, line in self.broken), pytrace=False)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which libraries have threads is looked up once, and not for each of the many calls."""
    monkeypatch.setattr(threadpoolctl, "ThreadpoolController", cache(threadpoolctl.ThreadpoolController))
    monkeypatch.setattr(curve_summaries, "threadpool_limits", lambda *_, **__: contextlib.nullcontext())


@pytest.fixture
def contract(request: pytest.FixtureRequest) -> Iterator[Contract]:
    contract = Contract(request.node.name)
    yield contract
    assert ran[contract.part], "nothing was compared"


# ---------------------------------------------------------------- the entries


@dataclass(frozen=True)
class Entry:
    """A way into the library: which clean columns it gets and how it is called."""

    name: str
    columns: tuple[str, ...]  # where an odd cell may stand
    call: Callable[..., Any]  # of the data and `progress`
    dear: bool = False  # takes long: meets every cell in one place of one container only
    counted: tuple[str, ...] = ("who",)  # columns that decide a number which is public
    loose: bool = False  # sizes follow a noisy choice: of the fields only the names are compared


def truths() -> list[bool]:
    return [value > 0.5 for value in CLEAN["x"]]


ROLES: dict[str, list[Any]] = {**CLEAN, "truth": truths()}

ONE = [  # a single column
    Entry(
        "density",
        ("x",),
        lambda d, p: mercer.density(d, bounds=UNIT, bandwidth=0.3, progress=p, **APPROXIMATE),
    ),
    Entry(
        "pure density",
        ("x",),
        lambda d, p: mercer.density(d, bounds=UNIT, bandwidth=0.3, progress=p, **PROMISE),
        dear=True,
    ),
    Entry(
        "counted column",
        ("x",),
        lambda d, p: mercer.density(d, bounds=UNIT, step=0.25, progress=p, **PROMISE),
    ),
    Entry(
        "density, private bandwidth",
        ("x",),
        lambda d, p: mercer.density(d, bounds=UNIT, bandwidth="private-scott", progress=p, **APPROXIMATE),
        dear=True,
        loose=True,
    ),
    Entry("quantiles", ("x",), lambda d, _: mercer.quantiles(d, [0.25, 0.5], bounds=UNIT, grid=5, **PROMISE)),
    Entry("iqr", ("x",), lambda d, _: mercer.iqr(d, bounds=UNIT, **PROMISE), dear=True),
    Entry("count", ("truth",), lambda d, p: mercer.count(d, progress=p, **PROMISE)),
    Entry("proportion", ("truth",), lambda d, p: mercer.proportion(d, progress=p, **PROMISE)),
    Entry(
        "histogram of bins",
        ("x",),
        lambda d, p: mercer.histogram(d, bins=4, bounds=UNIT, progress=p, **PROMISE),
    ),
    Entry(
        "histogram of categories",
        ("g",),
        lambda d, p: mercer.histogram(d, categories=["a", "b"], progress=p, **PROMISE),
    ),
    Entry(
        "histogram with other",
        ("g",),
        lambda d, p: mercer.histogram(d, categories=["a"], other="rest", progress=p, **PROMISE),
    ),
    Entry(
        "random_histogram",
        ("g",),
        lambda d, p: mercer.random_histogram(d, categories=["a", "b"], progress=p, **WEAKER),
    ),
    Entry("random_proportion", ("truth",), lambda d, p: mercer.random_proportion(d, progress=p, **WEAKER)),
    Entry(
        "random_statistic",
        ("x",),
        lambda d, p: mercer.random_statistic(d, progress=p, **{**WEAKER, "epsilon": 2}),
        dear=True,
    ),
]

NAMED = [  # tables whose columns have names
    Entry(
        "density of two columns",
        ("x", "y"),
        lambda d, p: mercer.density(
            d, columns=["x", "y"], bounds=BOX, bandwidth=0.5, progress=p, **APPROXIMATE
        ),
        dear=True,
    ),
    Entry(
        "density of a column",
        ("x", "spare"),
        lambda d, p: mercer.density(d, columns="x", bounds=UNIT, bandwidth=0.3, progress=p, **APPROXIMATE),
    ),
    Entry(
        "density of persons",
        ("x", "who"),
        lambda d, p: mercer.density(
            d, columns="x", bounds=UNIT, bandwidth=0.3, unit="who", progress=p, **APPROXIMATE
        ),
    ),
    Entry(
        "quantiles of a column",
        ("x",),
        lambda d, _: mercer.quantiles(d, 0.5, columns="x", bounds=UNIT, grid=5, **PROMISE),
    ),
    Entry(
        "count where",
        ("x", "g", "spare"),
        lambda d, p: mercer.count(d, where={"x": (0.2, None), "g": "a"}, progress=p, **PROMISE),
    ),
    Entry(
        "count persons",
        ("g", "who"),
        lambda d, p: mercer.count(d, where={"g": "a"}, unit="who", progress=p, **PROMISE),
    ),
    Entry(
        "proportion where",
        ("g",),
        lambda d, p: mercer.proportion(d, where={"g": ["a"]}, progress=p, **PROMISE),
    ),
    Entry(
        "histogram of a column",
        ("x",),
        lambda d, p: mercer.histogram(d, columns="x", bins=4, bounds=UNIT, progress=p, **PROMISE),
    ),
    Entry(
        "histogram of persons",
        ("g", "who"),
        lambda d, p: mercer.histogram(
            d, columns="g", categories=["a", "b"], unit="who", progress=p, **PROMISE
        ),
    ),
    Entry(
        "table",
        ("x", "g", "spare"),
        lambda d, p: mercer.table(d, domain=DOMAIN, bins={"x": 3}, progress=p, **PROMISE),
    ),
    Entry(
        "table of persons",
        ("x", "who"),
        lambda d, p: mercer.table(d, domain=DOMAIN, bins={"x": 3}, unit="who", progress=p, **PROMISE),
    ),
    Entry(
        "classifier",
        ("x", "g"),
        lambda d, p: mercer.classifier(
            d, "g", columns=["x"], classes=["a", "b"], progress=p, **SMALL, **APPROXIMATE
        ),
    ),
    Entry(
        "classifier of persons",
        ("x", "g", "who"),
        lambda d, p: mercer.classifier(
            d,
            "g",
            columns=["x"],
            classes=["a", "b"],
            unit="who",
            loss="logistic",
            progress=p,
            **SMALL,
            **APPROXIMATE,
        ),
        dear=True,
    ),
    Entry(
        "regression by moments",
        ("x", "y"),
        lambda d, p: mercer.regression(
            d,
            "y",
            columns=["x"],
            y_bounds=UNIT,
            loss="squared",
            method="moments",
            progress=p,
            **SMALL,
            **APPROXIMATE,
        ),
    ),
    Entry(
        "regression by moments, persons",
        ("x", "y"),
        lambda d, p: mercer.regression(
            d,
            "y",
            columns=["x"],
            y_bounds=UNIT,
            loss="squared",
            unit="who",
            progress=p,
            **SMALL,
            **APPROXIMATE,
        ),
    ),
    Entry(
        "regression",
        ("x", "y"),
        lambda d, p: mercer.regression(
            d,
            "y",
            columns=["x"],
            y_bounds=UNIT,
            loss="squared",
            method="objective",
            progress=p,
            **SMALL,
            **APPROXIMATE,
        ),
    ),
    Entry(
        "random_proportion where",
        ("g",),
        lambda d, p: mercer.random_proportion(d, where={"g": "a"}, progress=p, **WEAKER),
        dear=True,
    ),
    Entry(
        "synthetic",
        ("x", "g"),
        lambda d, p: mercer.synthetic(
            d, domain=DOMAIN, size=4, scale=0.5, weights="uniform", progress=p, **APPROXIMATE
        ),
        dear=True,
    ),
    Entry(
        "synthetic of persons",
        ("x", "who"),
        lambda d, p: mercer.synthetic(
            d, domain={"x": UNIT}, size=4, scale=0.5, unit="who", weights="uniform", progress=p, **APPROXIMATE
        ),
        dear=True,
    ),
    Entry(
        "synthetic by features",
        ("x",),
        lambda d, p: mercer.synthetic(
            d, domain={"x": UNIT}, method="features", features=4, size=2, progress=p, **APPROXIMATE
        ),
        dear=True,
    ),
]

TUPLES = [  # rows without names, x and y in order
    Entry(
        "density of rows",
        ("x", "y"),
        lambda d, p: mercer.density(d, bounds=BOX, bandwidth=0.5, progress=p, **APPROXIMATE),
        dear=True,
    ),
    Entry(
        "table of rows",
        ("x", "y"),
        lambda d, p: mercer.table(d, domain={"x": UNIT, "y": UNIT}, bins=2, progress=p, **PROMISE),
    ),
    Entry(
        "synthetic of rows",
        ("x", "y"),
        lambda d, p: mercer.synthetic(
            d, domain={"x": UNIT, "y": UNIT}, size=4, scale=0.5, weights="uniform", progress=p, **APPROXIMATE
        ),
        dear=True,
    ),
    Entry(
        "classifier of rows",
        ("x", "y"),
        lambda d, p: mercer.classifier(
            d, CLEAN["g"], classes=["a", "b"], progress=p, **{**SMALL, "bounds": BOX}, **APPROXIMATE
        ),
    ),
    Entry(
        "regression of rows",
        ("x", "y"),
        lambda d, p: mercer.regression(
            d,
            CLEAN["y"],
            y_bounds=UNIT,
            loss="squared",
            progress=p,
            **{**SMALL, "bounds": BOX},
            **APPROXIMATE,
        ),
    ),
    Entry(
        "PrivateKernelDensity",
        ("x", "y"),
        lambda d, _: (
            mercer.PrivateKernelDensity(1.0, 1e-6, UNIT, bandwidth=0.5, random_state=0).fit(d).release_
        ),
        dear=True,
    ),
    Entry(
        "PrivateKernelClassifier",
        ("x", "y"),
        lambda d, _: (
            mercer.PrivateKernelClassifier(
                1.0, 1e-6, UNIT, ("a", "b"), size=4, features="random", random_state=0
            )
            .fit(d, CLEAN["g"])
            .release_
        ),
    ),
    Entry(
        "PrivateKernelRegressor",
        ("x", "y"),
        lambda d, _: (
            mercer.PrivateKernelRegressor(
                1.0, 1e-6, UNIT, UNIT, loss="squared", size=4, features="random", random_state=0
            )
            .fit(d, CLEAN["x"])
            .release_
        ),
    ),
    Entry(
        "PrivateSynthesizer",
        ("x", "y"),
        lambda d, _: (
            mercer.PrivateSynthesizer(
                1.0, 1e-6, bounds=BOX, size=4, scale=0.5, weights="uniform", random_state=0
            )
            .fit(d)
            .release_
        ),
        dear=True,
    ),
]

POINTS = [[value] for value in CLEAN["x"]]
LABELS = [  # labels beside clean points
    Entry(
        "classifier, y",
        ("g",),
        lambda d, p: mercer.classifier(POINTS, d, classes=["a", "b"], progress=p, **SMALL, **APPROXIMATE),
    ),
    Entry(
        "regression, y",
        ("y",),
        lambda d, p: mercer.regression(
            POINTS, d, y_bounds=UNIT, loss="squared", progress=p, **SMALL, **APPROXIMATE
        ),
    ),
    Entry(
        "PrivateKernelClassifier, y",
        ("g",),
        lambda d, _: (
            mercer.PrivateKernelClassifier(
                1.0, 1e-6, UNIT, ("a", "b"), size=4, features="random", random_state=0
            )
            .fit(POINTS, d)
            .release_
        ),
    ),
    Entry(
        "PrivateKernelRegressor, y",
        ("y",),
        lambda d, _: (
            mercer.PrivateKernelRegressor(
                1.0, 1e-6, UNIT, UNIT, loss="squared", size=4, features="random", random_state=0
            )
            .fit(POINTS, d)
            .release_
        ),
    ),
]


def curve(i: int) -> list[float]:
    return [round(CLEAN["x"][i] * t + 0.1, 3) for t in TIMES]


CURVES = [curve(i) for i in range(N)]
MATRICES = [
    Entry("mean_curve", (), lambda d, p: mercer.mean_curve(d, progress=p, **WIDE)),
    Entry(
        "mean_curves",
        (),
        lambda d, p: mercer.mean_curves({"one": d, "two": CURVES}, disjoint=True, progress=p, **WIDE),
        dear=True,
    ),
    Entry("curve_bound", (), lambda d, _: mercer.curve_bound(d, most=3, grid=TIMES, **PROMISE)),
    Entry(
        "PrivateMeanCurve",
        (),
        lambda d, _: (
            mercer.PrivateMeanCurve(1.0, 1e-6, 2, TIMES, scale=0.3, penalty=0.1, eta=1, random_state=0)
            .fit(d)
            .release_
        ),
        dear=True,
    ),
]
PAIRS = [
    Entry("mean_curve of pairs", (), lambda d, p: mercer.mean_curve(d, bounds=UNIT, progress=p, **CURVE)),
    Entry(
        "curve_bound of pairs", (), lambda d, _: mercer.curve_bound(d, most=3, bounds=UNIT, size=4, **PROMISE)
    ),
]
WIDES = [
    Entry(
        "mean_curve of columns",
        ("t0", "t3", "spare"),
        lambda d, p: mercer.mean_curve(d, columns=NAMES, progress=p, **WIDE),
    ),
    Entry(
        "mean_curve of persons",
        ("t0", "who"),
        lambda d, p: mercer.mean_curve(d, columns=NAMES, unit="who", progress=p, **WIDE),
        dear=True,
    ),
    Entry(
        "mean_curves by group",
        ("t0", "g"),
        lambda d, p: mercer.mean_curves(
            d, columns=NAMES, by="g", groups=["a", "b"], disjoint=True, progress=p, **WIDE
        ),
        dear=True,
        counted=("who", "g"),
    ),
    Entry(
        "curve_bound of columns",
        ("t0",),
        lambda d, _: mercer.curve_bound(d, most=3, columns=NAMES, grid=TIMES, **PROMISE),
    ),
]
LONGS = [
    Entry(
        "mean_curve of points",
        ("who", "x", "y", "spare"),
        lambda d, p: mercer.mean_curve(d, long=("who", "x", "y"), bounds=UNIT, progress=p, **CURVE),
    ),
    Entry(
        "mean_curves of points",
        ("x", "g"),
        lambda d, p: mercer.mean_curves(
            d,
            long=("who", "x", "y"),
            by="g",
            groups=["a", "b"],
            disjoint=True,
            bounds=UNIT,
            progress=p,
            **CURVE,
        ),
        dear=True,
        counted=("who", "g"),
    ),
    Entry(
        "curve_bound of points",
        ("y",),
        lambda d, _: mercer.curve_bound(d, most=3, long=("who", "x", "y"), bounds=UNIT, size=4, **PROMISE),
    ),
]
NAMES = [f"t{k}" for k in range(len(TIMES))]
ROLES |= {name: [line[k] for line in CURVES] for k, name in enumerate(NAMES)}


# ---------------------------------------------------------------- the containers


def with_cell(cells: list[Any], place: int, cell: Any) -> list[Any]:
    return [*cells[:place], cell, *cells[place + 1 :]]


def object_array(cells: list[Any]) -> Any:
    array = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        array[place] = cell
    return array


def object_series(cells: list[Any]) -> Any:
    return pd.Series(object_array(cells), dtype=object, name="x")


SINGLE: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "object array": object_array,
    "object series": object_series,
    "tuple": tuple,
}

Columns = dict[str, list[Any]]


def as_dictionaries(columns: Columns) -> Any:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def as_tuples(columns: Columns) -> Any:
    return list(zip(*columns.values(), strict=True))


def as_lists(columns: Columns) -> Any:
    return [list(row) for row in as_tuples(columns)]


def as_object_array(columns: Columns) -> Any:
    return np.stack([object_array(cells) for cells in columns.values()], axis=1)


def as_object_frame(columns: Columns) -> Any:
    return pd.DataFrame({name: object_series(cells) for name, cells in columns.items()})


def as_object_polars(columns: Columns) -> Any:
    odd = [pl.Series(name, cells, dtype=pl.Object) for name, cells in columns.items()]
    return pl.DataFrame(odd)


NAMED_TABLES = {"dictionaries": as_dictionaries, "object frame": as_object_frame}
PLAIN_TABLES = {
    "tuples": as_tuples,
    "lists": as_lists,
    "object matrix": as_object_array,
    "object frame": as_object_frame,
}


def share(number: int, entry: Entry) -> list[tuple[str, Any]]:
    """The first container meets every odd cell, another one every other; so do dear entries."""
    cells = list(OBJECTS.items())
    if number or (entry.dear and entry in NAMED + TUPLES):
        return cells[(number + len(entry.name)) % 2 :: 2]
    return cells


def columns_of(*names: str) -> Columns:
    return {name: list(ROLES[name]) for name in names}


@cache
def place_of(*words: str) -> tuple[str, int]:
    """A place for the odd cell, another one for each combination, the same on every run."""
    return list(PLACES.items())[sum(map(len, words)) % len(PLACES)]


# ---------------------------------------------------------------- Python objects


@pytest.mark.parametrize("entry", ONE + LABELS, ids=lambda e: e.name)
def test_objects_in_one_column(entry, contract):
    role = entry.columns[0]
    for number, (container, build) in enumerate(SINGLE.items()):
        if entry.dear and number:
            break
        for name, cell in share(number, entry):
            where, place = place_of(entry.name, container, name)
            data = build(with_cell(ROLES[role], place, cell))
            clean = lambda build=build: build(ROLES[role])  # noqa: E731
            key = f"{entry.name} of a {container}"
            contract.compare(key, f"{name} {where}", clean, data, entry)
    contract.check()


def tables(contract: Contract, entry: Entry, names: tuple[str, ...], builders: Any) -> None:
    """Every odd cell in each column of an entry."""
    for number, (container, build) in enumerate(builders.items()):
        if entry.dear and number:
            break
        for column, (name, cell) in itertools.product(entry.columns, share(number, entry)):
            if entry.dear and column != entry.columns[len(name) % len(entry.columns)]:
                continue
            where, place = place_of(entry.name, container, column, name)
            columns = columns_of(*names)
            columns[column] = with_cell(columns[column], place, cell)
            clean = lambda build=build: build(columns_of(*names))  # noqa: E731
            counted = column in entry.counted
            key = f"{entry.name}: {column + ' of ' if counted else ''}{container}"
            at = f"{column} {where} {name}"
            contract.compare(key, at, clean, build(columns), entry, exact=not counted)


@pytest.mark.parametrize("entry", NAMED, ids=lambda e: e.name)
def test_objects_in_tables(entry, contract):
    tables(contract, entry, ("spare", "x", "y", "g", "who"), NAMED_TABLES)
    contract.check()


@pytest.mark.parametrize("entry", TUPLES, ids=lambda e: e.name)
def test_objects_in_rows(entry, contract):
    tables(contract, entry, ("x", "y"), PLAIN_TABLES)
    contract.check()


@pytest.mark.parametrize("entry", NAMED + TUPLES, ids=lambda e: e.name)
def test_rows_of_another_kind(entry, contract):
    named = entry in NAMED
    names = ("spare", "x", "y", "g", "who") if named else ("x", "y")
    builders = {"dictionaries": as_dictionaries} if named else {"tuples": as_tuples, "lists": as_lists}
    for container, build in builders.items():
        clean = lambda build=build: build(columns_of(*names))  # noqa: E731
        persons = "persons" in entry.name
        for (where, place), (name, row) in itertools.product(PLACES.items(), ROWS.items()):
            if entry.dear and where != place_of(name)[0]:
                continue
            data = with_cell(clean(), place, row)
            key = f"{entry.name}: rows of {container}"
            contract.compare(key, f"{where} {name}", clean, data, entry, exact=not persons)
        for gone in names if named else ():  # a key that one row lacks, or has alone
            data = clean()
            del data[0][gone]
            key = f"{entry.name}: rows of {container}"
            contract.compare(key, f"{gone} lacks", clean, data, entry, exact=not persons)
    contract.check()


# ---------------------------------------------------------------- curves


@pytest.mark.parametrize("entry", MATRICES, ids=lambda e: e.name)
def test_objects_in_curves(entry, contract):
    builders = {
        "list": list,
        "object matrix": lambda lines: np.stack([object_array(line) for line in lines]),
        "object frame": lambda lines: pd.DataFrame(np.stack([object_array(line) for line in lines])).rename(
            columns=str
        ),
    }
    for number, (container, build) in enumerate(builders.items()):
        if entry.dear and number:
            break
        for name, cell in share(number, entry):
            where, place = place_of(entry.name, container, name)
            lines = with_cell(CURVES, place, with_cell(CURVES[place], 2, cell))
            clean = lambda build=build: build(CURVES)  # noqa: E731
            key = f"{entry.name} of a {container}"
            contract.compare(key, f"{where} {name}", clean, build(lines), entry)
    for name, row in ROWS.items():  # instead of a curve
        where, place = place_of(entry.name, name)
        data = with_cell(CURVES, place, row)
        key = f"{entry.name}: rows of a list"
        contract.compare(key, f"{where} {name}", lambda: CURVES, data, entry)
    contract.check()


@pytest.mark.parametrize("entry", PAIRS, ids=lambda e: e.name)
def test_objects_in_pairs(entry, contract):
    clean = [(TIMES, line) for line in CURVES]
    for name, cell in OBJECTS.items():
        where, place = place_of(entry.name, name)
        times, line = clean[place]
        pairs = {
            "a time": (with_cell(times, 1, cell), line),
            "all times": (cell, line),
            "a value": (times, with_cell(line, 1, cell)),
            "all values": (times, cell),
            "the pair": cell,
        }
        for kind, pair in list(pairs.items())[len(name) % 2 :: 2]:
            data = with_cell(clean, place, pair)
            contract.compare(f"{entry.name}: {kind}", f"{where} {name}", lambda: clean, data, entry)
    for (where, place), (name, row) in itertools.product(PLACES.items(), ROWS.items()):
        data = with_cell(clean, place, row)
        contract.compare(f"{entry.name}: the pair", f"{where} {name}", lambda: clean, data, entry)
    contract.check()


@pytest.mark.parametrize("entry", WIDES, ids=lambda e: e.name)
def test_objects_in_wide_tables(entry, contract):
    tables(contract, entry, ("spare", "who", "g", *NAMES), {"object frame": as_object_frame})
    contract.check()


@pytest.mark.parametrize("entry", LONGS, ids=lambda e: e.name)
def test_objects_in_long_tables(entry, contract):
    tables(contract, entry, ("spare", "who", "x", "y", "g"), {"object frame": as_object_frame})
    contract.check()


# ---------------------------------------------------------------- columns of a declared type

KINDS: dict[str, list[Typed]] = {
    "arrays": list(odd_cells.arrays()),
    "pandas": list(odd_cells.series()),
    "arrow": list(odd_cells.arrows()),
    "polars": list(odd_cells.polars()),
}


def typed(kind: Typed, role: str, cell: Any = None, place: int | None = None) -> Any:
    cells = kind.clean(ROLES[role])
    return kind.make(cells if place is None else with_cell(cells, place, cell))


def each(kind: Typed, *words: str) -> Iterator[tuple[str, int, Any]]:
    for name, cell in kind.odd.items():
        where, place = place_of(kind.name, name, *words)
        yield f"{name} {where}", place, cell


def framed(library: str, columns: dict[str, Any]) -> Any:
    """Columns of one library as its table; those of Python's lists beside."""
    match library:
        case "pandas":
            return pd.DataFrame(columns)
        case "polars":
            return pl.DataFrame(columns)
        case "arrow":
            return pa.table(columns)
    raise ValueError(library)


def cheap(entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if not entry.dear]


@pytest.mark.parametrize("library", KINDS)
def test_types_of_one_column(library, contract):
    for kind, entry in itertools.product(KINDS[library], cheap(ONE) + cheap(LABELS)):
        role = entry.columns[0]
        clean = lambda kind=kind, role=role: typed(kind, role)  # noqa: E731
        for where, place, cell in each(kind, entry.name):
            key = f"{entry.name}: {kind.name}"
            contract.compare(key, where, clean, typed(kind, role, cell, place), entry)
    contract.check()


def matrix(kind: Typed, cell: Any = None, place: int | None = None) -> Any:
    stack = np.ma.stack if "masked" in kind.name else np.stack
    return stack([typed(kind, "x", cell, place), typed(kind, "y")], axis=1)


def test_types_of_matrices(contract):
    for kind, entry in itertools.product(KINDS["arrays"], [e for e in TUPLES if "ynth" not in e.name]):
        if entry.dear and not ("float64" in kind.name or kind.name.startswith("masked")):
            continue
        for where, place, cell in each(kind, entry.name):
            key = f"{entry.name}: matrix of {kind.name}"
            contract.compare(key, where, lambda kind=kind: matrix(kind), matrix(kind, cell, place), entry)
    contract.check()


def test_types_of_curves(contract):
    def lines(kind: Typed, cell: Any = None, place: int | None = None) -> Any:
        stack = np.ma.stack if "masked" in kind.name else np.stack
        first = [typed(kind, "t0", cell, place)]
        return stack([*first, *(typed(kind, name) for name in NAMES[1:])], axis=1)

    for kind, entry in itertools.product(KINDS["arrays"], MATRICES):
        if entry.dear and "float64" not in kind.name:
            continue
        for where, place, cell in each(kind, entry.name):
            key = f"{entry.name}: matrix of {kind.name}"
            contract.compare(key, where, lambda kind=kind: lines(kind), lines(kind, cell, place), entry)
    contract.check()


@pytest.mark.parametrize("library", ["pandas", "arrow", "polars"])
def test_types_of_tables(library, contract):
    """A column of each type among plain ones; for persons and labels too."""
    jobs = [(entry, ("spare", "x", "y", "g", "who")) for entry in cheap(NAMED)]
    jobs += [(entry, ("spare", "who", "g", *NAMES)) for entry in cheap(WIDES)]
    jobs += [(entry, ("spare", "who", "x", "y", "g")) for entry in cheap(LONGS)]
    for kind, (entry, names) in itertools.product(KINDS[library], jobs):
        for number, column in enumerate(entry.columns):
            counted = column in entry.counted

            def table(
                cell: Any = None, place: int | None = None, kind=kind, names=names, column=column
            ) -> Any:
                columns = columns_of(*names)
                return framed(library, {**columns, column: typed(kind, column, cell, place)})

            for case, (where, place, cell) in enumerate(each(kind, entry.name, column)):
                if case > 1 and case % len(entry.columns) != number:
                    continue  # of many odd cells each column gets its share
                key = f"{entry.name}: {column} of {kind.name}"
                contract.compare(key, where, table, table(cell, place), entry, exact=not counted)
    contract.check()


# ---------------------------------------------------------------- files and the command line

HEAD = "x,y,g,who,spare"
SEED = ["--epsilon", "1", "--seed", "0", "--json"]
ALMOST = [*SEED, "--delta", "1e-6"]
FEW = ["--size", "4", "--features", "random", "--bounds", "0", "1"]
COMMANDS: dict[str, tuple[str, list[str]]] = {  # the column that gets the odd cell, and the words
    "density": ("x", ["-c", "x", "--bounds", "0", "1", "--bandwidth", "0.3", *ALMOST, "-o", "out.json"]),
    "density ": (
        "who",
        ["-c", "x", "--bounds", "0", "1", "--bandwidth", "0.3", "--unit", "who", *ALMOST, "-o", "out.json"],
    ),
    "quantiles": ("x", ["-c", "x", "--bounds", "0", "1", "--q", "0.5", *SEED]),
    "count": ("x", ["--where", "x>=0.2", *SEED]),
    "count ": ("g", ["--where", "g=a", "--proportion", *SEED]),
    "histogram": ("g", ["-c", "g", "--categories", "a", "b", *SEED, "-o", "out.json"]),
    "histogram ": ("x", ["-c", "x", "--bins", "4", "--bounds", "0", "1", *SEED, "-o", "out.json"]),
    "table": ("g", ["--domain", "domain.yaml", "--bins", "x=3", *SEED, "-o", "out.json"]),
    "classify": ("g", ["-c", "x", "--label", "g", "--classes", "a", "b", *FEW, *ALMOST, "-o", "out.json"]),
    "regress": ("y", ["-c", "x", "--label", "y", "--y-bounds", "0", "1", *FEW, *ALMOST, "-o", "out.json"]),
    "curve": (
        "x",
        [
            "--columns",
            "y",
            "x",
            "spare",
            "--grid",
            "0",
            "1",
            "--bound",
            "2",
            "--scale",
            "0.3",
            *ALMOST,
            "-o",
            "out.json",
        ],
    ),
    "curve ": (
        "y",
        [
            "--long",
            "who",
            "x",
            "y",
            "--bounds",
            "0",
            "1",
            "--bound",
            "2",
            "--scale",
            "0.3",
            *ALMOST,
            "-o",
            "out.json",
        ],
    ),
    "synthesize": (
        "x",
        [
            "--domain",
            "domain.yaml",
            "--size",
            "4",
            "--scale",
            "0.5",
            "--weights",
            "uniform",
            *ALMOST,
            "-o",
            "out.json",
        ],
    ),
}
DEAR = {"synthesize": 4, "curve": 2, "curve ": 2}  # of how many odd cells one is tried


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(typer.main, "get_command", cache(typer.main.get_command))  # built once
    (tmp_path / "domain.yaml").write_text("x: [0, 1]\ng: [a, b]\n")
    return tmp_path


def command(file: str, command: str) -> tuple[str, Any, Any]:
    """Exit status, what is printed and the fields of the file that was written."""
    words = COMMANDS[command][1]
    printed, errors = io.StringIO(), io.StringIO()
    out = Path("out.json")
    out.unlink(missing_ok=True)
    status: Any = 0
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(errors):
        try:
            main([command.strip(), file, *words])
        except SystemExit as stop:
            status = stop.code
    said = printed.getvalue()
    exact = "--unit" not in words and "--long" not in words
    try:
        said = shape(json.loads(said)) if exact else without_numbers(str(shape(json.loads(said))))
    except ValueError:
        said = without_numbers(said)
    written = json.loads(out.read_text()) if out.exists() else {}
    fields = str(shape(written))
    return (f"status {status}: {errors.getvalue()}", str(said), fields if exact else without_numbers(fields))


def lines_of(column: str, place: int | None = None, field: bytes = b"", line: bytes | None = None) -> bytes:
    rows = []
    for i, row in enumerate(zip(*(CLEAN[name] for name in HEAD.split(",")), strict=True)):
        cells = [str(cell).encode() for cell in row]
        if i == place:
            cells[HEAD.split(",").index(column)] = field
        rows.append(line if i == place and line is not None else b",".join(cells))
    return HEAD.encode() + b"\n" + b"\n".join(rows) + b"\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_csv_files(name, folder, contract):
    column = COMMANDS[name][0]
    path = folder / "records.csv"

    def call(content: bytes, _tick: Any) -> Any:
        path.write_bytes(content)
        return command(path.name, name)

    every = DEAR.get(name, 1)
    key = f"mercer {name.strip()}, {column} of a CSV file"
    jobs = [(f"field {k}", {"field": v}) for k, v in FIELDS.items()]
    jobs += [(f"line {k}", {"line": v}) for k, v in LINES.items()]
    for what, odd in jobs[::every]:
        where, place = place_of(name, what)
        clean = lambda: lines_of(column)  # noqa: E731
        content = lines_of(column, place, **odd)
        contract.compare(key, f"{what} {where}", clean, content, call)
    contract.check()


@pytest.mark.parametrize("name", COMMANDS)
def test_parquet_files(name, folder, contract):
    column = COMMANDS[name][0]
    path = folder / "records.parquet"

    def call(table: Any, _tick: Any) -> Any:
        pq.write_table(table, path)
        return command(path.name, name)

    def table(kind: Typed, cell: Any = None, place: int | None = None) -> Any:
        columns = columns_of(*HEAD.split(","))
        return pa.table({**columns, column: typed(kind, column, cell, place)})

    # as others, or not written by Arrow
    skipped = ("decimal256", "view", "runs", "timestamp[s]", "fixed list", "map", "dictionary of")
    for kind in KINDS["arrow"]:
        if any(word in kind.name for word in skipped):
            continue
        unwritten = "dictionary" in kind.name  # a null among its values
        cells = [job for job in each(kind, name) if not (unwritten and job[2] is None)]
        for where, place, cell in cells[:: 5 * DEAR.get(name, 1) if len(cells) > 8 else 1]:
            key = f"mercer {name.strip()}: {column} of Parquet, {kind.name}"
            clean = lambda kind=kind: table(kind)  # noqa: E731
            contract.compare(key, where, clean, table(kind, cell, place), call)
    contract.check()


def test_files_in_python(folder, contract):
    """The same reader in Python: fields in columns that are asked for and in others."""
    path = folder / "records.csv"
    for entry in cheap(NAMED):

        def call(content: bytes, tick: Any, entry: Entry = entry) -> Any:
            path.write_bytes(content)
            ticks: list[int] = []
            result = entry.call(str(path), ticks.append)
            tick(sum(ticks))  # a file is cut into blocks by its bytes: their total is compared
            return result

        for number, (name, field) in enumerate(FIELDS.items()):
            column = entry.columns[number % len(entry.columns)]
            where, place = place_of(entry.name, name)
            exact = "persons" not in entry.name
            clean = lambda column=column: lines_of(column)  # noqa: E731
            contract.compare(
                f"{entry.name} of a CSV file",
                f"{column} {where} {name}",
                clean,
                lines_of(column, place, field),
                call,
                exact=exact,
            )
    contract.check()


# ---------------------------------------------------------------- live releases and the service


def test_live(tmp_path, contract):
    number = itertools.count()

    def call(data: Any, tick: Any) -> Any:
        place = tmp_path / f"{next(number)}.db"
        with mercer.live(
            data, bounds=UNIT, bandwidth=0.3, store=place, progress=tick, **APPROXIMATE
        ) as release:
            return str(shape(list(release.ask([0.2, 0.4]))))

    for name in list(OBJECTS)[::4]:
        where, place = place_of("live", name)
        data = with_cell(ROLES["x"], place, OBJECTS[name])
        contract.compare("live of a list", f"{name} {where}", lambda: ROLES["x"], data, call)
    contract.check()


def test_service(tmp_path, contract):
    from mercer.server import Settings
    from tests.helpers.serving import OWNER, TOKEN, serving

    for name in ("releases", "records"):
        (tmp_path / name).mkdir()
    settings = Settings(
        folder=tmp_path / "releases", data=tmp_path / "records", token=TOKEN, refresh_seconds=0
    )
    number = itertools.count(100)
    with serving(settings) as service:
        client = service.client
        client.headers.update(OWNER)

        def call(given: tuple[str, bytes], _tick: Any) -> Any:
            kind, content = given
            name = f"n{next(number)}"
            answers = [
                client.put(f"/api/owner/data/{name}.csv", content=content),
                client.post(
                    "/api/owner/datasets",
                    json={"name": name, "epsilon": 40, "delta": 1e-5, "data": f"{name}.csv"},
                ),
                client.post(
                    "/api/owner/releases",
                    json={
                        "name": name,
                        "data": f"{name}.csv",
                        "dataset": name,
                        "columns": ["x"],
                        "bounds": [[0, 1]],
                        "epsilon": 18,  # so that noise never hides all, which words would tell
                        "delta": 1e-6,
                        "kind": kind,
                    },
                ),
                client.get(f"/api/datasets/{name}"),
            ]
            parts = [(a.status_code, shape(a.json())) for a in answers if a.content]
            return without_numbers(str(parts[0][0])), str(parts[0][0]), *map(str, parts[1:])

        jobs = [(k, {"field": v}) for k, v in list(FIELDS.items())[::6]]
        jobs += [(k, {"line": v}) for k, v in list(LINES.items())[::2]]
        for kind, (name, odd) in itertools.product(("density", "live"), jobs):
            where, place = place_of("service", name)
            content = lines_of("x", place, **odd)
            clean = lambda kind=kind: (kind, lines_of("x"))  # noqa: E731
            contract.compare(f"service, {kind}", f"{name} {where}", clean, (kind, content), call)
    contract.check()


# ---------------------------------------------------------------- the contract itself


def test_the_contract_sees_each_kind_of_difference():
    def by_value(data: Any, tick: Any, how: str) -> Any:
        odd = data[0] == "odd"
        tick(len(data))
        match how:
            case "error" if odd:
                raise ValueError("no number")
            case "warning" if odd:
                warnings.warn("odd", stacklevel=1)
            case "log" if odd:
                logging.getLogger("mercer").warning("odd")
            case "printed" if odd:
                print("odd")
            case "ticks" if odd:
                tick(1)
            case "fields":
                return {"found": "odd" if odd else None}
            case "text":
                raise ValueError(f"the first is {data[0]}")
        return None

    for how in ("error", "warning", "log", "printed", "ticks", "fields", "text"):
        contract = Contract("itself")
        call = lambda data, tick, how=how: by_value(data, tick, how)  # noqa: E731
        contract.compare("a", "b", lambda: ["clean"], ["clean"], call)
        assert not contract.broken
        contract.compare("a", "b", lambda: ["clean"], ["odd"], call)
        assert len(contract.broken) == 1, how
        with pytest.raises(pytest.fail.Exception, match="1 of"):
            contract.check()
    ran.pop("itself")


def test_the_count_of_combinations(request, capsys):
    """Last: how many were compared.  Only where all parts ran."""
    parts = {item.name for item in request.session.items if "contract" in getattr(item, "fixturenames", ())}
    total = sum(ran.values())
    with capsys.disabled():
        print(f"\n{total} combinations of entry, container, place and odd cell in {len(ran)} tests")
    if set(ran) >= parts and len(parts) > 60:
        assert total >= LEAST
    assert csv.field_size_limit() > 0
