"""Everything that the public interface says of a release, as plain JSON values.

Nothing here asks how a release was made or which class it has: only its public kind.  What a method
refuses is collected as the words of the refusal.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Callable, Collection, Mapping
from datetime import date
from enum import Enum
from typing import Any

import numpy as np
import pyarrow as pa

import mercer

__all__ = ["answers", "canonical", "collected", "plain"]

Questions = dict[str, Callable[[], Any]]

SEED = 7  # of samples drawn from releases


def canonical(value: object) -> bytes:
    """One text for each value: floats are written with all their bits."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def plain(value: Any) -> Any:
    """JSON values of arrays, tables, dates, tuples and public dataclasses."""
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, Enum)):
        return value
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, complex):
        return [value.real, value.imag]
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, pa.Table):
        return plain(value.to_pydict())
    if type(value).__module__.startswith("pandas"):
        return plain(value.to_dict("list"))
    if dataclasses.is_dataclass(value):
        return {
            field.name: plain(getattr(value, field.name))
            for field in dataclasses.fields(value)
            if not field.name.startswith("_")
        }
    raise TypeError(f"no plain value of {type(value).__name__}")


def collected(thing: Any) -> Any:
    """What a release says, under names; of a mapping what each of its parts says."""
    if isinstance(thing, mercer.Release):
        return {**_common(thing), **_tried(**_KINDS[thing.kind](thing))}
    if isinstance(thing, Mapping):
        return {str(name): collected(part) for name, part in thing.items()}
    if hasattr(thing, "privacy") and hasattr(thing, "to_dict"):  # a private choice
        return _choice(thing)
    return plain(thing)


def answers(release: mercer.Release, names: Collection[str]) -> dict[str, Any]:
    """The answers to some of the questions that `collected` asks."""
    asked = _KINDS[release.kind](release)
    return _tried(**{name: question for name, question in asked.items() if name in names})


def _tried(**questions: Callable[[], Any]) -> dict[str, Any]:
    """The answer to each question, or the words with which it is refused."""
    found = {}
    for name, question in questions.items():
        try:
            found[name] = plain(question())
        except (ValueError, TypeError) as error:
            found[name] = f"{type(error).__name__}: {error}"
    return found


def _choice(choice: Any) -> dict[str, Any]:
    shown = getattr(choice, "shown", None)
    return {"file": _file(choice), "text": str(choice), "shown": plain(shown), **_promise(choice)}


def _common(release: mercer.Release) -> dict[str, Any]:
    accuracy = getattr(release, "accuracy", None)
    return {
        "file": _file(release),
        "domain": release.domain.describe(),
        "repr": repr(release),
        "findings": [str(finding) for finding in release.findings()],
        "accuracy": plain(accuracy),
        "accuracy in words": str(accuracy),
        **_promise(release),
    }


def _promise(release: Any) -> dict[str, Any]:
    privacy = release.privacy
    return {
        "privacy": str(privacy),
        "promise": privacy.short,
        **_tried(attack=lambda: privacy.attack, power=lambda: [privacy.power(), privacy.power(0.01)]),
    }


def _file(release: Any) -> Any:
    """The fields of the file, but for the version of the library that wrote it."""
    fields = json.loads(json.dumps(release.to_dict()))
    fields["privacy"].pop("version")
    return fields


def _box(release: Any) -> tuple[np.ndarray, np.ndarray]:
    """Where the numbers of a function's columns are, as its file says."""
    bounds = np.array(_file(release)["domain"]["bounds"], dtype=float)
    return bounds[:, 0], bounds[:, 1]


def _mesh(release: Any, most: int) -> np.ndarray:
    """At most so many points inside the bounds, away from the middle and from each other."""
    lower, upper = _box(release)
    side = max(2, int(most ** (1 / len(lower)) + 1e-9))
    ticks = lower + (upper - lower) * ((np.arange(side) + 0.37) / side)[:, None]
    points = np.array(list(itertools.product(*ticks.T)))[:most]
    return points[:, 0] if len(lower) == 1 else points


def _thinned(values: np.ndarray) -> Any:
    """Some hundred of many numbers, and the sum of all."""
    flat = np.ravel(values)
    return [flat[:: 1 + len(flat) // 300], np.sum(flat), values.shape]


def _density(release: Any) -> Questions:
    x, (lower, upper) = _mesh(release, 9), _box(release)
    low, high = lower + 0.2 * (upper - lower), lower + 0.6 * (upper - lower)
    ticks = [np.linspace(a, b, 4) for a, b in zip(lower, upper, strict=True)]
    first = (1,) + (0,) * (len(lower) - 1)
    wider = 1.5 * np.array(release.bandwidth)
    return {
        "values": lambda: release(x),
        "raw": lambda: release.raw(x),
        "band": lambda: release.band(x),
        "narrow": lambda: release.band(x, 0.8, simultaneous=False),
        "raw_band": lambda: release.band(x, raw=True),
        "error": lambda: release.standard_error(x),
        "slope": lambda: release.derivative(x, first),
        "curvature": lambda: release.derivative(x, tuple(2 * order for order in first)),
        "grid": lambda: release.grid(*ticks),
        "integral": lambda: release.integral(low, high),
        "raw_integral": lambda: release.integral(low, high, raw=True),
        "sample": lambda: release.sample(5, rng=SEED),
        "cells": lambda: _thinned(release.cell_values()),
        "bandwidths": lambda: [release.bandwidth, release.finest_bandwidth],
        "repair": lambda: [release.constant, release.share_of_values],
        "smoothed": lambda: release.smooth(wider)(x),
        "smoothed_band": lambda: release.smooth(wider).band(x),
        "auto": lambda: release.smooth()(x),
        "auto_bandwidth": lambda: release.smooth().bandwidth,
    }


def _column(release: Any) -> Questions:
    (lower,), (upper,) = _box(release)
    x, q = np.linspace(lower, upper, 9), [0.1, 0.5, 0.9]
    low, high = lower + 0.2 * (upper - lower), lower + 0.6 * (upper - lower)
    return {
        "values": lambda: release(x),
        "band": lambda: release.band(x),
        "cut": lambda: [release.cdf(x), release.cdf_band(x)],
        "query": lambda: [release.share(low, high), release.quantile(q), release.quantile_band(q)],
        "expect": lambda: [release.mean(), release.expect(np.square)],
        "bins": lambda: _thinned(release.shares),
        "sample": lambda: release.sample(5, rng=SEED),
        "repair": lambda: release.share_of_values,
    }


def _curve(release: Any) -> Questions:
    x, (lower, upper) = _mesh(release, 9), _box(release)
    line = len(lower) == 1
    first: Any = 1 if line else (1, 0)
    low, high = (lower + 0.2 * (upper - lower)).tolist(), (lower + 0.6 * (upper - lower)).tolist()
    box: Any = (low[0], high[0]) if line else (low, high)

    def weight(*where: Any) -> Any:
        return sum(np.asarray(t).sum(axis=-1) if np.ndim(t) > 1 else np.asarray(t) for t in where)

    return {
        "values": lambda: release(x),
        "slope": lambda: release.derivative(x, first),
        "band": lambda: release.band(x),
        "narrow": lambda: release.band(x, 0.8, simultaneous=False),
        "slope_band": lambda: release.band(x, order=first),
        "error": lambda: release.standard_error(x),
        "integrals": lambda: [release.integral(), release.integral(*box), release.mean(), release.norm()],
        "inner": lambda: release.inner(weight),
        "extremes": lambda: [release.maximum(), release.minimum()],
        "above": lambda: release.time_above(release.mean()),
        "interval": lambda: release.interval(lambda curve: curve.integral(), runs=50),
        "smoothed": lambda: release.smooth(kernel="matern52", scale=0.2, eta=1.0, penalty=0.01)(x),
        "smoothed_band": lambda: release.smooth(scale=0.3, eta=2.0, penalty=0.1).band(x),
        "auto": lambda: release.smooth(kernel="matern32")(x),
        "coefficients": lambda: release.coefficients,
    }


def _machine(release: Any) -> Questions:
    x = _mesh(release, 9)
    return {
        "values": lambda: release(x),
        "predicted": lambda: release.predict(x),
        "band": lambda: release.band(x),
        "narrow": lambda: release.band(x, 0.8, simultaneous=False),
        "error": lambda: release.standard_error(x),
        "weights": lambda: release.weights,
        "shrunk": lambda: release.shrunk()(x),
        "shrunk_band": lambda: release.shrunk().band(x),
    }


def _classifier(release: Any) -> Questions:
    x = _mesh(release, 4)
    return {**_machine(release), "probability": lambda: release.probability(x)}


def _regression(release: Any) -> Questions:
    x = _mesh(release, 4)
    return {
        **_machine(release),
        "as_released": lambda: release.predict(x, raw=True),
        "smoothed": lambda: release.smooth(penalty=0.1, smoothness=0.5)(x),
    }


def _synthetic(release: Any) -> Questions:
    names = release.points.column_names
    rows = release.points.slice(0, 12)
    some = {names[0]: release.points.column(0).to_pylist()[0]}

    def number(table: Any) -> Any:
        return np.arange(len(table[names[0]])) % 3 + 0.5

    return {
        "points": lambda: release.points,
        "weights": lambda: [release.weights, release.positive],
        "expect": lambda: [release.expect(name) for name in names[:1]],
        "expect_of": lambda: release.expect(number),
        "probability": lambda: release.probability(some),
        "interval": lambda: release.interval(number),
        "interval_where": lambda: release.interval(some, 0.8),
        "sample": lambda: release.sample(5, rng=SEED),
        "chosen": lambda: release.chosen(9, SEED),
        "pushed": lambda: release.push(number).expect(lambda value: value),
        "frame": lambda: release.to_frame().iloc[:3],
        "mmd": lambda: release.mmd(rows),
        "test": lambda: release.two_sample_test(rows),
        "l1": lambda: release.reweight("l1", bound=2.0).weights,
        "free": lambda: release.reweight("free").weights,
        "uniform": lambda: release.reweight("uniform").weights,
        "unshrunk": lambda: release.smooth(penalty=0).weights,
        "shrunk": lambda: release.smooth(penalty=0.5, eta=1.0).weights,
    }


def _records(release: Any) -> Questions:
    return {
        "points": lambda: list(release.points),
        "weights": lambda: [release.weights, release.positive],
        "expect": lambda: release.expect(lambda words: np.array([len(set(word)) for word in words])),
        "probability": lambda: release.probability(lambda words: [word < "m" for word in words]),
        "interval": lambda: release.interval(lambda words: np.array([len(set(word)) for word in words])),
        "sample": lambda: release.sample(5, rng=SEED),
        "l1": lambda: release.reweight("l1", bound=2.0).weights,
        "mmd": lambda: release.mmd(["abc", "xyz"]),
        "test": lambda: release.two_sample_test(["abc", "abd", "xyz", "mno"] * 3),
    }


def _margin(margin: Any) -> Any:
    return [margin.counts, margin.lower, margin.upper, margin.to_frame()]


def _histogram(release: Any) -> Questions:
    first = _file(release)["domain"]["axes"][0]
    name, edges = first["column"]["name"], first["edges"] or [0, 0, 1, 1]
    return {
        "raw": lambda: release.raw,
        "counts": lambda: release.counts,
        "cells": lambda: release.cells(),
        "edges": lambda: release.edges,
        "categories": lambda: release.categories,
        "interval": lambda: release.interval(),
        "best": lambda: release.best,
        "proportions": lambda: release.proportions,
        "numbers": lambda: [release.n, release.rows, release.most, release.sparse],
        "margin": lambda: _margin(release.margin(name, level=0.8)),
        "frame": lambda: release.to_frame(),
        "bins": lambda: release.query(edges[1], edges[-2]),
        "smooth": lambda: release.query(edges[1], edges[-2], smooth=True),
        "cut": lambda: release.query({name: (edges[0], (edges[-1] + edges[-2]) / 2)}, level=0.5),
        "whole": lambda: release.query({name: (2, 5)}),
        "level": lambda: release.query({name: ["north", "west"]}),
    }


def _margins(release: Any) -> Questions:
    return {
        "margins": lambda: [_margin(release.margin(*names)) for names in release.margins],
        "one_way": lambda: {name: _margin(margin) for name, margin in release.one_way().items()},
        "query": lambda: release.query({"ward": "north"}),
        "pair": lambda: release.query({"ward": ["north", "west"], "age": (20, 60)}, level=0.8),
        "raw": lambda: list(release.raw),
        "numbers": lambda: [release.n, release.rows, release.most],
    }


def _count(release: Any) -> Questions:
    return {
        "numbers": lambda: [release.count, release.value, release.proportion, release.n, release.raw],
        "interval": lambda: [release.interval(), release.interval(0.5)],
    }


def _statistic(release: Any) -> Questions:
    return {
        "numbers": lambda: [release.value, release.scale, release.n, float(release)],
        "interval": lambda: [release.interval(), release.interval(0.5)],
    }


_KINDS: dict[str, Callable[[Any], Questions]] = {
    "classifier": _classifier,
    "column": _column,
    "count": _count,
    "density": _density,
    "histogram": _histogram,
    "margins": _margins,
    "mean-curve": _curve,
    "regression": _regression,
    "statistic": _statistic,
    "synthetic-records": _records,
    "synthetic-table": _synthetic,
}
