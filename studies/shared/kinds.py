"""Every kind of release as the study of coverage asks it: questions, true answers, intervals, plans.

A kind is a function of data and a promise that gives a function of a seed: it releases once and yields
an `Answer` to each question.  To add a kind, write such a function and mark it with `@kind`.  Where a
release has no interval, the ends are NaN: the report says "none given".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import mercer
from mercer.sensitive.summaries.density import DensitySummary
from studies.accuracy.columns import LAWS, REAL, Law
from studies.accuracy.curve_coverage import FRESH, Curves, real
from studies.accuracy.machine_bands import Columns, noiseless
from studies.accuracy.machine_bands import columns as machine_columns
from studies.shared.report import Floats, data_file

__all__ = ["KINDS", "SIZES", "Answer", "Column", "Data", "Kind", "columns"]

DELTA, GAMMA = 1e-6, 0.05
SIZES = (100, 1000, 20_000)
NONE = np.nan


class Answer(NamedTuple):
    """What one release said to one question, and what is true."""

    name: str
    truth: Any  # a number, or one for each place
    estimate: Any
    lower: Any = NONE
    upper: Any = NONE
    planned: float = NONE  # error that was said before the release
    by: str = "rms"  # what was planned: "rms", "mean" (absolute), "largest" (rms of all places) or "95 %"
    together: bool = False  # the ends say that they hold at all places at once


class Data(NamedTuple):
    """Data that a kind is tried on."""

    name: str
    n: int
    values: Any


Once = Callable[[int], Iterator[Answer]]
Ask = Callable[[Any, float, float | None], Once]


@dataclass(frozen=True)
class Kind:
    """A kind of release, what its intervals are about, and on which data it is tried."""

    name: str
    about: str
    ask: Ask
    data: Callable[[bool], list[Data]]  # True: drawn data alone, few
    runs: int
    promises: tuple[float | None, ...]


KINDS: dict[str, Kind] = {}


def kind(
    name: str,
    about: str,
    data: Callable[[bool], list[Data]],
    *,
    runs: int = 200,
    promises: tuple[float | None, ...] = (None, DELTA),
) -> Callable[[Ask], Ask]:
    """Mark a function as a kind."""

    def marked(ask: Ask) -> Ask:
        KINDS[name] = Kind(name, about, ask, data, runs, promises)
        return ask

    return marked


# --- columns -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """Values of a column, NaN where there is none, its public bounds, step and places to ask about."""

    values: Floats
    bounds: tuple[float, float]
    step: float | None
    places: tuple[float, float, float]  # of a quantile 0.1, 0.5 and 0.9 of the law

    @property
    def known(self) -> Floats:
        """The values that there are, as they are read: clipped."""
        return np.clip(self.values[np.isfinite(self.values)], *self.bounds)

    def within(self, low: float, high: float) -> float:
        """The share of known values from low to high."""
        return float(np.mean((self.known >= low) & (self.known <= high)))


_OWN = {  # beside those of the study of columns
    "90 % zeros, hundreds": Law(
        lambda rng, n: np.where(rng.random(n) < 0.9, 0.0, 100 * np.rint(rng.lognormal(8.5, 0.9, n) / 100)),
        (0.0, 1e5),
        100.0,
    ),
    "heaped, 10 % missing": Law(
        lambda rng, n: np.where(rng.random(n) < 0.1, np.nan, LAWS["heaped integers"].draw(rng, n)),
        (0.0, 100.0),
        1.0,
    ),
}
_LAWS = {**LAWS, **_OWN}
_STEPPED = (
    "heaped integers",
    "heaped, 10 % missing",
    "log-normal integers",
    "90 % zeros, hundreds",
    "constant",
)


@cache
def _column(name: str, n: int) -> Data:
    if name in REAL:
        frame = pd.read_csv(data_file("adult_numeric.csv.gz"))
        values, law = frame[name].to_numpy(dtype=float), Law(lambda _r, _n: np.zeros(0), REAL[name], 1.0)
        some = values
    else:
        law = _LAWS[name]
        rng = np.random.default_rng([11, list(_LAWS).index(name), n])
        values, some = law.draw(rng, n), law.draw(rng, 20_000)
    some = np.clip(some[np.isfinite(some)], *law.bounds)
    low, middle, high = (float(v) for v in np.quantile(some, [0.1, 0.5, 0.9]))
    if law.step is None:
        low, middle, high = round(low, 2), round(middle, 2), round(high, 2)
    return Data(
        name if name not in REAL else f"Adult {name}", len(values), _made(values, law, low, middle, high)
    )


def _made(values: Floats, law: Law, *places: float) -> Column:
    return Column(values, law.bounds, law.step, (places[0], places[1], places[2]))


def columns(
    *names: str, once: tuple[str, ...] = (), sizes: tuple[int, ...] = SIZES, files: tuple[str, ...] = ()
) -> Callable[[bool], list[Data]]:
    """Columns by their laws, in all sizes or `once` with 1000 values, and of Adult."""

    def found(quick: bool) -> list[Data]:
        if quick:
            return [_column(names[0], 1000)]
        every = [(name, n) for name in names for n in sizes] + [(name, 1000) for name in once]
        return [_column(name, n) for name, n in [*every, *((name, 0) for name in files)]]

    return found


@contextmanager
def _coordinates() -> Iterator[list[Floats]]:
    """The coordinates that releases inside had before the noise.  Not private."""
    seen: list[Floats] = []
    plain = DensitySummary.coordinates

    def kept(self: Any) -> Floats:
        seen.append(plain(self))
        return seen[-1]

    DensitySummary.coordinates = kept  # type: ignore[method-assign]
    try:
        yield seen
    finally:
        DensitySummary.coordinates = plain  # type: ignore[method-assign]


def _distribution(release: Any, x: Column, aside: float, errors: tuple[float, float]) -> Iterator[Answer]:
    """Shares, the cdf, quantiles and the mean; `aside`: how far from values the ends of shares stand."""
    (low, high), (a, b, c) = x.bounds, x.places
    known, order = x.known, np.sort(x.known)
    for name, (start, end) in {
        "share, lower half": (a, b),
        "share, upper half": (b, c),
        "share, tail": (c, high),
        "share above the lower bound": (low + (x.step or 0.01 * (high - low)), high),
    }.items():
        ends = max(start - aside, low), min(end + aside, high)
        found = release.share(*ends)
        yield Answer(name, x.within(*ends), found.estimate, found.lower, found.upper)
    some = np.unique(np.clip(np.array(x.places) + aside, low, high))
    if x.step is not None and aside == 0:
        every = np.arange(low, high, x.step)
        some = every[:: max(1, len(every) // 25)]
    band = release.cdf_band(some)
    truth = np.searchsorted(order, some, "right") / len(order)
    yield Answer("cdf", truth, release.cdf(some), band.lower, band.upper, errors[0])
    for level in (0.25, 0.5, 0.9):
        ends = release.quantile_band(level)
        true = np.quantile(order, level, method="inverted_cdf")
        yield Answer(f"quantile {level:g}", true, release.quantile(level), ends.lower, ends.upper)
    mean = release.mean()
    yield Answer("mean", known.mean(), mean.estimate, mean.lower, mean.upper, errors[1])


@kind(
    "density, one column by bounds",
    "shares, cdf, quantiles and mean: the file's; the curve: the same estimate without noise",
    columns("two normals", "heaped integers", once=("log-normal", *_STEPPED[1:]), files=("capital_gain",)),
    runs=50,
)
def density(x: Column, epsilon: float, delta: float | None) -> Once:
    places = np.linspace(*x.bounds, 42)[1:-1]
    plan = mercer.density_plan(n=len(x.values), bounds=x.bounds, epsilon=epsilon, delta=delta)
    planned = plan.privacy_error / np.sqrt(x.bounds[1] - x.bounds[0])

    def once(seed: int) -> Iterator[Answer]:
        with _coordinates() as seen:
            made: Any = mercer.density(x.values, bounds=x.bounds, epsilon=epsilon, delta=delta, rng=seed)
        yield from _distribution(made, x, (x.step or 0) / 2, (NONE, NONE))
        plain = replace(made, coordinates=seen[-1])
        band = made.band(places, simultaneous=False, raw=True)
        yield Answer("curve at a point", plain.raw(places), made.raw(places), band.lower, band.upper, planned)

    return once


@kind(
    "density, whole curve",
    "the same estimate without noise, everywhere at once",
    columns("two normals", "heaped integers", sizes=(1000,)),
    runs=50,
)
def density_band(x: Column, epsilon: float, delta: float | None) -> Once:
    places = np.linspace(*x.bounds, 202)[1:-1]

    def once(seed: int) -> Iterator[Answer]:
        with _coordinates() as seen:
            made: Any = mercer.density(x.values, bounds=x.bounds, epsilon=epsilon, delta=delta, rng=seed)
        plain, band = replace(made, coordinates=seen[-1]), made.band(places, raw=True)
        yield Answer(
            "whole curve", plain.raw(places), made.raw(places), band.lower, band.upper, together=True
        )

    return once


@kind(
    "density, one column by step",
    "the file's own shares, cdf, quantiles, mean and shares of values",
    columns(
        "heaped integers",
        "90 % zeros, hundreds",
        once=(*_STEPPED[1:3], "constant"),
        files=("age", "hours_per_week"),
    ),
    runs=100,
)
def column(x: Column, epsilon: float, delta: float | None) -> Once:
    step, low, high = x.step or 1.0, *x.bounds
    plan = mercer.column_plan(n=len(x.values), bounds=x.bounds, step=step, epsilon=epsilon, delta=delta)
    values = np.arange(low, high + step / 2, step)
    truth = np.bincount(np.rint((x.known - low) / step).astype(int), minlength=len(values)) / len(x.known)
    some = slice(None, None, max(1, len(values) // 50))

    def once(seed: int) -> Iterator[Answer]:
        made: Any = mercer.density(
            x.values, bounds=x.bounds, step=step, epsilon=epsilon, delta=delta, rng=seed
        )
        yield from _distribution(made, x, 0.0, (plan.cdf, plan.mean))
        each, whole = made.band(values[some], simultaneous=False), made.band(values)
        yield Answer(
            "share of a value",
            truth[some],
            made.shares[some],
            each.lower * step,
            each.upper * step,
            plan.value,
            "largest",
        )
        yield Answer(
            "shares of all values", truth, made.shares, whole.lower * step, whole.upper * step, together=True
        )

    return once


# --- two columns ---------------------------------------------------------------------------------


def planes(quick: bool) -> list[Data]:
    """Two smooth hills, and two heaped columns of integers."""
    rng = np.random.default_rng(12)
    found = []
    for n in (1000,) if quick else SIZES:
        first = rng.random(n) < 0.6
        smooth = np.where(
            first[:, None], rng.normal([0.35, 0.4], 0.1, (n, 2)), rng.normal([0.7, 0.65], 0.08, (n, 2))
        )
        ages = LAWS["heaped integers"].draw(rng, n)
        hours = np.clip(np.where(rng.random(n) < 0.5, 40.0, np.rint(rng.normal(40, 12, n))), 0, 100)
        found += [
            Data("two hills", n, (np.clip(smooth, 0, 1), [(0.0, 1.0)] * 2)),
            Data("ages and hours", n, (np.stack([ages, hours], axis=1), [(0.0, 100.0)] * 2)),
        ]
    return found[:1] if quick else found


@kind("density, two columns", "the same estimate without noise", planes, runs=50)
def plane(data: tuple[Floats, list[tuple[float, float]]], epsilon: float, delta: float | None) -> Once:
    x, bounds = data
    low, high = np.array(bounds).T
    ticks = np.stack(np.meshgrid(*[np.linspace(0.04, 0.96, 12)] * 2, indexing="ij"), -1).reshape(-1, 2)
    places, box = low + ticks * (high - low), low + np.array([[0.3, 0.3], [0.6, 0.7]]) * (high - low)
    true = float(np.mean(np.all((x >= box[0]) & (x <= box[1]), axis=1)))
    plan = mercer.density_plan(n=len(x), bounds=bounds, epsilon=epsilon, delta=delta)
    planned = plan.privacy_error / np.sqrt(np.prod(high - low))

    def once(seed: int) -> Iterator[Answer]:
        with _coordinates() as seen:
            made: Any = mercer.density(x, bounds=bounds, epsilon=epsilon, delta=delta, rng=seed)
        plain = replace(made, coordinates=seen[-1]).raw(places)
        each, whole = (made.band(places, simultaneous=both, raw=True) for both in (False, True))
        yield Answer("at a point", plain, made.raw(places), each.lower, each.upper, planned)
        yield Answer("whole", plain, made.raw(places), whole.lower, whole.upper, together=True)
        yield Answer("share of a box", true, made.integral(*box))

    return once


# --- curves --------------------------------------------------------------------------------------


def curves(quick: bool) -> list[Data]:
    """Means made for the study of curves, and its files."""
    grid = np.linspace(0, 1, 201)
    names = ["late rise"] if quick else ["two hills", "late rise", "cusp", "jumps"]
    found = []
    for name in names:
        said, mean = FRESH[name]
        for n in (100, 1000) if name == "late rise" and not quick else (1000,):
            heights = np.tile(mean(grid), (n, 1))
            found.append(Data(f"{name} ({said})", n, Curves(name, said, heights, grid, 1.0, 0 * grid, ())))
    if quick:
        return found
    return found + [Data(each.name, len(each.heights), each) for each in real()]


@kind("mean curve", "the mean of the file's own curves, clipped to the bound", curves, runs=50)
def curve(data: Curves, epsilon: float, delta: float | None) -> Once:
    unit = np.linspace(0, 1, 101)
    plan = mercer.curve_plan(n=len(data.heights), bound=data.bound, epsilon=epsilon, delta=delta)
    from studies.accuracy.curve_coverage import PLACES

    own = np.interp(unit, PLACES, data.truth[1]) * data.bound + np.interp(unit, data.grid, data.center)

    def once(seed: int) -> Iterator[Answer]:
        made = data.release(epsilon, delta, rng=seed)
        low, high = made.domain.bounds[0]
        at = low + (high - low) * unit
        value, whole, each = made(at), made.band(at), made.band(at, simultaneous=False)
        yield Answer("at a point", own, value, each.lower, each.upper, plan.privacy_error)
        yield Answer("whole", own, value, whole.lower, whole.upper, together=True)

    return once


# --- machines ------------------------------------------------------------------------------------


def machines(count: int, *, classes: bool) -> Callable[[bool], list[Data]]:
    """Drawn rows, even, skewed or all alike, and those of the study of bands."""

    def found(quick: bool) -> list[Data]:
        rng, out = np.random.default_rng(13), []
        bounds, y_bounds = [(0.0, 1.0)] * count, None if classes else (-2.0, 2.0)
        for n in (1000,) if quick else SIZES:
            for name in ("even", "skewed", "constant") if n == 1000 and not quick else ("even",):
                x = (
                    rng.random((n, count))
                    if name == "even"
                    else np.minimum(rng.lognormal(-2, 0.7, (n, count)), 1)
                )
                if name == "constant":
                    x = np.full((n, count), 0.37)
                mean = np.sin(6 * x[:, 0]) * (x[:, -1] + 0.5 if count > 1 else 1.0)
                y = mean + 0.3 * rng.normal(size=n)
                out.append(
                    Data(name, n, Columns(x, (y > 0).astype(float) if classes else y, bounds, y_bounds))
                )
        if not quick:
            names = (["income 2"] if classes else ["california 2"]) if count > 1 else ["california", "hours"]
            for name in names if count > 1 or not classes else []:
                rows = machine_columns(name)
                out.append(Data(name.removesuffix(" 2"), len(rows.x), rows))
        return out

    return found


def _machine(data: Columns, epsilon: float, delta: float | None) -> Once:
    rng = np.random.default_rng(14)
    low, high = np.array(data.bounds, dtype=float).T
    records = data.x[rng.choice(len(data.x), 25)]
    far = low + rng.random((50, len(low))) * (high - low)
    common: dict[str, Any] = {"bounds": data.bounds, "epsilon": epsilon, "delta": delta}
    known: dict[str, Any] = {}

    def once(seed: int) -> Iterator[Answer]:
        if data.y_bounds is None:
            made: Any = mercer.classifier(data.x, data.y, classes=(0.0, 1.0), rng=seed, **common)
        else:
            made = mercer.regression(data.x, data.y, y_bounds=data.y_bounds, rng=seed, **common)
        if "weights" not in known:
            known["weights"] = noiseless(made, data)
        plain = replace(made, coordinates=made.penalty * known["weights"], shrink=False)
        planned = made.accuracy.pointwise  # the bound of a dry run
        for name, at, said in (("at records", records, NONE), ("anywhere", far, planned)):
            each = made.band(at, simultaneous=False)
            yield Answer(name, plain(at), made(at), each.lower, each.upper, said, "largest")
        every = np.concatenate([records, far])
        whole = made.band(every)
        yield Answer("whole", plain(every), made(every), whole.lower, whole.upper, together=True)

    return once


_WITHOUT = "the same machine without noise"
for _count, _word in ((1, "one column"), (2, "two columns")):
    kind(f"regression, {_word}", _WITHOUT, machines(_count, classes=False), runs=60 // _count)(_machine)
    kind(f"classifier, {_word}", _WITHOUT, machines(_count, classes=True), runs=60 // _count)(_machine)


# --- counts --------------------------------------------------------------------------------------

_COUNTED = columns("heaped integers", once=(*_STEPPED[1:], "log-normal"), files=("age", "capital_gain"))
_BINS = 20


@kind("histogram", "the file's own counts", _COUNTED)
def histogram(x: Column, epsilon: float, delta: float | None) -> Once:
    edges = np.linspace(*x.bounds, _BINS + 1)
    truth = np.histogram(x.known, edges)[0]
    mean = mercer.histogram_plan(len(x.values), _BINS, epsilon=epsilon, delta=delta).law.mean_error
    wide, known = edges[1] - edges[0], x.known
    ranges = {
        "range of whole bins": (edges[4], edges[9]),
        "range that cuts two bins": (edges[4] + 0.42 * wide, edges[9] + 0.72 * wide),
        "range within a bin": (edges[7] + 0.22 * wide, edges[7] + 0.62 * wide),
    }

    def once(seed: int) -> Iterator[Answer]:
        made: Any = mercer.histogram(
            x.values, bins=_BINS, bounds=x.bounds, epsilon=epsilon, delta=delta, rng=seed
        )
        low, high = made.interval()
        yield Answer("a cell", truth, made.counts, low, high, mean, "mean")
        ends = made.interval(simultaneous=True)
        yield Answer("all cells", truth, made.counts, *ends, together=True)
        yield Answer(
            "a cell, negative counts kept",
            truth,
            made.raw,
            made.raw - _half(made),
            made.raw + _half(made),
            mean,
            "mean",
        )
        for name, (start, end) in ranges.items():
            found = made.query(start, end)
            true = int(np.sum((known >= start) & (known < end)))
            yield Answer(name, true, found.estimate, found.lower, found.upper)

    return once


def _half(made: Any) -> float:
    """The half width of a cell's interval before it is cut to what a count can be."""
    return float(made.noise.half_width(1, 0.95))


@kind(
    "sparse histogram",
    "the file's own counts",
    columns("90 % zeros, hundreds", once=_STEPPED[:3], files=("capital_gain",)),
)
def sparse(x: Column, epsilon: float, delta: float | None) -> Once:
    edges = np.linspace(*x.bounds, 1001)
    truth, known = np.histogram(x.known, edges)[0], x.known
    start, end = edges[200], edges[450]
    true = int(np.sum((known >= start) & (known < end)))
    full = np.flatnonzero(truth)

    def once(seed: int) -> Iterator[Answer]:
        made: Any = mercer.histogram(
            x.values, bins=1000, bounds=x.bounds, sparse=True, epsilon=epsilon, delta=delta, rng=seed
        )
        low, high = made.interval()
        yield Answer("a cell that holds records", truth[full], made.counts[full], low[full], high[full])
        found = made.query(start, end)
        yield Answer("range of 250 cells", true, found.estimate, found.lower, found.upper)

    return once


def tables(quick: bool) -> list[Data]:
    """Ages, sex and region of drawn persons."""
    rng, found = np.random.default_rng(15), []
    for n in (1000,) if quick else SIZES:
        age = LAWS["heaped integers"].draw(rng, n)
        region = rng.choice(["north", "south", "east"], n, p=[0.7, 0.28, 0.02])
        sex = rng.random(n) < 0.3 + 0.004 * age
        found.append(Data("persons", n, pd.DataFrame({"age": age, "region": region, "sex": sex})))
    return found


_DOMAIN = {"age": (0, 100), "region": ["north", "south", "east"], "sex": bool}


@kind("table margins", "the file's own counts", tables)
def margins(frame: pd.DataFrame, epsilon: float, delta: float | None) -> Once:
    code = np.minimum(frame["age"] // 20, 4).astype(int)
    ages = np.bincount(code, minlength=5)
    both = np.stack([np.bincount(code[frame["region"] == r], minlength=5) for r in _DOMAIN["region"]], axis=1)
    asked = {"age": (20, 60), "region": ["south", "east"]}
    true = int(np.sum((frame["age"] >= 20) & (frame["age"] < 60) & frame["region"].isin(["south", "east"])))

    def once(seed: int) -> Iterator[Answer]:
        made: Any = mercer.table(
            frame, domain=_DOMAIN, bins={"age": 5}, margins=2, epsilon=epsilon, delta=delta, rng=seed
        )
        each = made.accuracy.unbiased[made.margins.index(("age", "region"))] / both.size
        first, second = made.margin("age"), made.margin("age", "region")
        yield Answer("a cell of one column", ages, first.counts, first.lower, first.upper)
        yield Answer(
            "a cell of two columns",
            both.reshape(-1),
            second.counts.reshape(-1),
            second.lower.reshape(-1),
            second.upper.reshape(-1),
            each,
            "mean",
        )
        found = made.query(asked)
        yield Answer("a condition", true, found.estimate, found.lower, found.upper)

    return once


def yes_no(quick: bool) -> list[Data]:
    """How many of n: half, or a few."""
    sizes = (1000,) if quick else SIZES
    return [
        Data(f"{share:.1%} of the rows", n, np.arange(n) < share * n) for n in sizes for share in (0.5, 0.02)
    ]


@kind("count and proportion", "the file's own number", yes_no)
def number(x: Any, epsilon: float, delta: float | None) -> Once:
    def once(seed: int) -> Iterator[Answer]:
        one: Any = mercer.count(x, epsilon=epsilon, delta=delta, rng=seed)
        found, error = one.interval(), one.accuracy.error
        yield Answer("count", x.sum(), one.value, found.lower, found.upper, error, "mean")
        part: Any = mercer.proportion(x, epsilon=epsilon, delta=delta, rng=seed)
        found = part.interval()
        yield Answer("proportion", x.mean(), part.value, found.lower, found.upper, error / len(x), "mean")

    return once


_RANKED = columns("heaped integers", "two normals", once=(*_STEPPED[1:], "log-normal"), files=("age",))


@kind("quantiles", "the file's own quantiles", _RANKED, promises=(None,))
def quantiles(x: Column, epsilon: float, delta: float | None) -> Once:
    del delta
    levels, order = (0.25, 0.5, 0.9), np.sort(x.known)
    reach = 2 / (0.98 * epsilon / len(levels)) * (np.log((1 << 15) + 1) + np.log(20))
    truth = np.quantile(order, levels, method="inverted_cdf")

    def once(seed: int) -> Iterator[Answer]:
        made: Any = mercer.quantiles(x.values, levels, bounds=x.bounds, epsilon=epsilon, rng=seed)
        for place, level in enumerate(levels):
            value = made.values[place]
            yield Answer(f"quantile {level:g}", truth[place], value, *made.intervals[place][1:3])
            below, upto = np.searchsorted(order, value, "left"), np.searchsorted(order, value, "right")
            rank = float(np.clip(level * len(order), below, upto))
            yield Answer(f"rank of {level:g}", level * len(order), rank, NONE, NONE, reach, "95 %")

    return once


@kind("interquartile range", "the file's own", _RANKED, promises=(None,))
def spread(x: Column, epsilon: float, delta: float | None) -> Once:
    del delta
    truth = float(np.diff(np.quantile(x.known, [0.25, 0.75], method="inverted_cdf"))[0])

    def once(seed: int) -> Iterator[Answer]:
        made: Any = mercer.iqr(x.values, bounds=x.bounds, epsilon=epsilon, rng=seed)
        yield Answer("interquartile range", truth, made.value, *made.interval[1:3])

    return once


@kind("random DP", "the file's own number", yes_no, promises=(None,))
def weaker(x: Any, epsilon: float, delta: float | None) -> Once:
    del delta
    rng = np.random.default_rng(16)
    numbers = rng.lognormal(7, 0.6, len(x))
    given: dict[str, Any] = {"epsilon": epsilon, "gamma": GAMMA, "weaker_promise": True}

    def once(seed: int) -> Iterator[Answer]:
        part: Any = mercer.random_proportion(x, rng=seed, **given)
        found = part.interval()
        yield Answer("proportion", x.mean(), part.value, found.lower, found.upper)
        mean: Any = mercer.random_statistic(numbers, rng=seed, **given)
        found = mean.interval()
        yield Answer("mean", numbers.mean(), mean.value, found.lower, found.upper)

    return once


# --- synthetic tables and live releases ----------------------------------------------------------


@kind("synthetic table", "the file's own shares and means", tables, runs=30)
def synthetic(frame: pd.DataFrame, epsilon: float, delta: float | None) -> Once:
    domain = {"age": range(0, 101), "region": ["north", "south", "east"], "sex": bool}
    asked: dict[str, Any] = {
        "share of a range": {"age": (20, 40)},
        "share of a rare level": {"region": "east"},
        "share of two": {"age": (60, 100), "sex": True},
    }
    ages, regions, sexes = frame["age"], frame["region"], frame["sex"]
    true = {
        "share of a range": np.mean((ages >= 20) & (ages <= 40)),
        "share of a rare level": np.mean(regions == "east"),
        "share of two": np.mean((ages >= 60) & sexes),
        "mean": ages.mean(),
    }

    def once(seed: int) -> Iterator[Answer]:
        made: Any = mercer.synthetic(frame, domain=domain, epsilon=epsilon, delta=delta, rng=seed)
        for name, truth in true.items():
            found = made.interval(asked.get(name, "age"))
            if found is None:
                yield Answer(
                    name, truth, made.probability(asked[name]) if name in asked else made.expect("age")
                )
            else:
                yield Answer(name, truth, found.estimate, found.lower, found.upper)

    return once


def _live(kernel: str) -> Ask:
    def ask(x: Column, epsilon: float, delta: float | None) -> Once:
        width = x.bounds[1] - x.bounds[0]
        places = np.linspace(*x.bounds, 13)[1:-1]

        def once(seed: int) -> Iterator[Answer]:
            with _coordinates() as seen:
                made: Any = mercer.live(
                    x.values,
                    bounds=x.bounds,
                    epsilon=epsilon,
                    delta=delta,
                    bandwidth=0.08 * width,
                    kernel=kernel,
                    rng=seed,
                )
            plain = replace(made.release, coordinates=seen[-1])
            truth = plain.raw(places)
            if made.route == "markov":  # whose path is not divided by the mass
                truth = truth / (plain.scale * width)
            band = made.band(places)
            spread = made.accuracy.integrated
            planned = float(np.sqrt(spread / width))
            yield Answer("at a point", truth, made.ask(places), band.lower, band.upper, planned)

        return once

    return ask


_ASKED = columns("two normals", "heaped, 10 % missing", sizes=(100, 1000))
kind("live release, coordinates", "the same estimate without noise", _ASKED, runs=100)(_live("gaussian"))
kind("live release, Markov", "the same estimate without noise", _ASKED, runs=60, promises=(DELTA,))(
    _live("matern32")
)
