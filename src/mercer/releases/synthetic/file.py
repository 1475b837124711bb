"""Synthetic tables and records from the fields of their file.

Nothing is executed, everything is checked: columns, kernel and law are rebuilt from tables of
names, and points, weights and coordinates must fit together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.columns.table import TableDomain
from mercer.common.checks import Floats
from mercer.common.fields import Fields, finite, numbers
from mercer.noise.laws import Law, law_from_dict
from mercer.promise.statement import Statement
from mercer.releases.synthetic.embedding import LandmarkEmbedding, NoisyEmbedding, WaveEmbedding
from mercer.releases.synthetic.own import OpenDomain, RecordsRelease
from mercer.releases.synthetic.release import METHODS, TableRelease
from mercer.releases.synthetic.smoothing import Shrink
from mercer.spaces.record_kernels import MOST_LANDMARKS, MOST_WAVES, RecordKernel

__all__ = ["MOST_POINTS", "records_from", "table_from"]

MOST_POINTS = {"landmarks": MOST_LANDMARKS, "features": 5000, "exponential": 1000}
_MOST_CELLS = 1 << 28  # coordinates of all embedded points
_MOST_PRODUCTS = 1 << 36
_NEAR = 1e-6  # how far weights may be from what their style says


def table_from(top: Fields, privacy: Statement) -> TableRelease:
    """A synthetic table; ValueError says what is wrong."""
    domain = TableDomain.from_dict(top.get("domain", dict))
    kernel = _kernel(top.part("kernel"), domain)
    method = top.get("method", str)
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}")
    most = min(MOST_POINTS[method], _MOST_CELLS // domain.width)
    codes = _records(top.get("points", list), domain, most, "points")
    given = top.get("landmarks", list | None)
    if given is not None and method != "landmarks":
        raise ValueError(f"a table of method {method!r} has no landmarks")
    marks = None if given is None else _records(given, domain, most, "landmarks")
    embedding = _embedding(top, method, kernel, codes if marks is None else marks)
    style, bound = _style(top)
    if method == "exponential" and style != "uniform":
        raise ValueError("a table drawn whole has equal weights")
    weight = _weights(top, len(codes), style, bound)
    return TableRelease(domain, privacy, kernel, method, embedding, marks, codes, weight, style, bound)


def records_from(top: Fields, privacy: Statement) -> RecordsRelease:
    """Synthetic records of any kind; the kernel is given again by whoever loads them."""
    points = top.get("points", list)
    if not 1 <= len(points) <= MOST_LANDMARKS:
        raise ValueError(f"points must be 1 to {MOST_LANDMARKS} records")
    style, bound = _style(top)
    raw = np.array(numbers(top.get("coordinates", list), "a coordinate"))
    if raw.shape != (len(points),):
        raise ValueError("points and coordinates differ in number")
    return RecordsRelease(
        OpenDomain(top.part("domain").get("words", str)),
        privacy,
        tuple(points),
        _weights(top, len(points), style, bound),
        raw,
        _law(top),
        _floor(top, len(points)),
        style,
        bound,
    )


def _kernel(fields: Fields, domain: TableDomain) -> RecordKernel:
    scales = numbers(fields.get("scales", list), "a scale")
    return RecordKernel(domain, fields.get("name", str), tuple(scales))


def _embedding(top: Fields, method: str, kernel: RecordKernel, marks: Floats) -> NoisyEmbedding | None:
    """The noisy coordinates; a table drawn whole has none."""
    if method == "exponential":
        for name in ("noise", "coordinates"):
            if top.get(name, dict | list | None) is not None:
                raise ValueError(f"a table drawn whole has no {name}")
        return None
    raw, law = np.array(numbers(top.get("coordinates", list), "a coordinate")), _law(top)
    if method == "features":
        width, many = kernel.domain.width, MOST_WAVES // 2
        waves = _matrix(top.get("frequencies", list), width, many, "frequencies")
        if np.max(np.abs(waves)) > 1e6:
            raise ValueError("frequencies must be at most 1e6")
        return WaveEmbedding(raw, law, waves)
    if raw.shape != (len(marks),):
        raise ValueError(f"coordinates must be one for each of the {len(marks)} landmarks")
    if len(marks) ** 2 * kernel.domain.width > _MOST_PRODUCTS:
        raise ValueError("landmarks and categories are too many for any release")
    u = kernel.embed(marks)
    even = np.array(numbers(top.get("even", list), "even")) if top.has("even") else None
    found = LandmarkEmbedding(raw, law, kernel.between(u, u), _floor(top, len(marks)), _shrink(top), even)
    if top.has("rank") and top.get("rank", int) != found.size:
        raise ValueError("rank does not follow from landmarks, kernel and floor")
    return found


def _law(top: Fields) -> Law:
    law = law_from_dict(top.get("noise", dict))
    if law.moments:
        raise ValueError(f"the noise law {law.name!r} does not fit an embedding")
    return law


def _floor(top: Fields, landmarks: int) -> float:
    """Of eigenvalues, which are not above the number of landmarks."""
    floor = top.positive("floor")
    if floor > landmarks:
        raise ValueError(f"floor must be at most the number of landmarks, {landmarks}")
    return floor


def _shrink(top: Fields) -> Shrink:
    fields = top.part("shrink")
    values = {key: finite(fields.get(key, int | float), f"{key} of shrink") for key in ("eta", "penalty")}
    return Shrink(fields.get("guess", str), **values)


def _style(top: Fields) -> tuple[str, float]:
    bound = top.positive("bound")
    if bound < 1:
        raise ValueError("bound must be at least 1")
    return top.get("style", str), bound


def _weights(top: Fields, size: int, style: str, bound: float) -> Floats:
    """Of the style that the file says; TableRelease knows which styles there are."""
    weight = np.array(numbers(top.get("weights", list), "a weight"))
    if weight.shape != (size,):
        raise ValueError(f"weights must be one for each of the {size} points")
    total, absolute = float(weight.sum()), float(np.abs(weight).sum())
    fits = True
    if style == "positive":
        fits = bool(np.all(weight >= 0)) and abs(total - 1) <= _NEAR
    elif style == "uniform":
        fits = bool(np.all(np.abs(weight * size - 1) <= _NEAR))
    elif style == "l1":
        fits = absolute <= bound * (1 + _NEAR)
    if not fits:
        raise ValueError(f"weights are not of the style {style!r}")
    return weight


def _records(rows: list[Any], domain: TableDomain, most: int, what: str) -> Floats:
    codes = _matrix(rows, domain.dimension, most, what)
    if not np.array_equal(domain.snap(codes), codes):
        raise ValueError(f"{what} must lie in the domain")
    return codes


def _matrix(rows: list[Any], width: int, most: int, what: str) -> Floats:
    """Numbers in rows of one length."""
    if not 1 <= len(rows) <= most:
        raise ValueError(f"{what} must be 1 to {most}, got {len(rows)}")
    for row in rows:
        if not isinstance(row, list) or len(row) != width:
            raise ValueError(f"{what} must be lists of {width} numbers")
        if not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in row):
            raise ValueError(f"{what} must be numbers")
    matrix = np.array([[float(value) for value in row] for row in rows])
    if not np.all(np.isfinite(matrix)):
        raise ValueError(f"{what} must be finite")
    return matrix
