"""Histograms and tables as files, and back.  Nothing is executed, everything checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.columns.cells import MOST_LISTED, Axes
from mercer.common.checks import Ints
from mercer.common.fields import Fields
from mercer.noise.count_laws import count_law_from_dict
from mercer.releases.counts.histogram import HistogramRelease

__all__ = ["histogram_from", "rows_each", "to_dict", "whole_numbers"]

_MOST = 1 << 62


def to_dict(release: HistogramRelease) -> dict[str, Any]:
    """All that the file holds."""
    return {
        "kind": release.kind,
        "privacy": release.privacy.to_dict(),
        "domain": release.domain.to_dict(),
        "noise": release.noise.to_dict(),
        "keys": None if release.keys is None else release.keys.tolist(),
        "values": release.values.tolist(),
        "threshold": release.threshold,
        "complete": release.complete,
        "rows_each": release.rows_each,
        "exact": None if release.exact is None else np.flatnonzero(release.exact).tolist(),
    }


def histogram_from(top: Fields, privacy: Any) -> HistogramRelease:
    """A histogram or table; ValueError says what is wrong."""
    axes = Axes.from_dict(top.get("domain", dict))
    values = whole_numbers(top.get("values", list), "values")
    keys, given = top.get("keys", list | None), top.get("exact", list | None)
    threshold = top.get("threshold", int | None)
    if threshold is not None and not 0 <= threshold < _MOST:
        raise ValueError("threshold must be a whole number >= 0")
    exact = None
    if given is not None:
        marks = whole_numbers(given, "exact")
        if np.any(marks < 0) or np.any(marks >= len(values)):
            raise ValueError("exact must be places of values")
        exact = np.zeros(len(values), dtype=bool)
        exact[marks] = True
    return HistogramRelease(
        domain=axes,
        privacy=privacy,
        noise=count_law_from_dict(top.get("noise", dict)),
        keys=None if keys is None else whole_numbers(keys, "keys"),
        values=values,
        threshold=threshold,
        complete=top.get("complete", bool),
        exact=exact,
        rows_each=rows_each(top),
    )


def rows_each(top: Fields) -> int:
    """Rows of one person that count."""
    number: int = top.get("rows_each", int)
    if not 1 <= number <= 1 << 20:
        raise ValueError("rows_each must be a whole number from 1")
    return number


def whole_numbers(values: list[Any], what: str) -> Ints:
    """A list of whole numbers that 64 bits hold."""
    if len(values) > MOST_LISTED:
        raise ValueError(f"{what} are too many for any release")
    if not all(isinstance(v, int) and not isinstance(v, bool) and abs(v) < _MOST for v in values):
        raise ValueError(f"{what} must be whole numbers")
    return np.array(values, dtype=np.int64)
