"""The error that a private choice is to expect, in words, from public arguments."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["of_bandwidth", "of_fit", "of_quantiles", "of_selection", "of_spread"]

Arguments = Mapping[str, Any]


def of_quantiles(given: Arguments, made: Any) -> str:
    """Of quantiles: by how many records the rank misses its target at most."""
    q, grid = given["q"], given["grid"]
    levels = len(list(q)) if isinstance(q, Iterable) else 1
    points = len(list(grid)) if isinstance(grid, Iterable) else grid or (1 << 15) + 1
    return _of_ranks(made.epsilon / levels, points, made.n)


def of_spread(given: Arguments, made: Any) -> str:
    """Of an interquartile range: the same of each quartile."""
    if given["method"] != "exponential":
        return "the factor e^(1/epsilon) or so, where the test lets anything out"
    return _of_ranks(made.epsilon / 2, (1 << 15) + 1, made.n)


def _of_ranks(epsilon: float, points: int, n: int) -> str:
    reach = 2 / epsilon * (math.log(points) + math.log(20))
    return (
        f"each rank misses its target by at most {reach:.3g} of n = {n} records in 95 % of the "
        f"cases ({min(reach / n, 1):.2%} of them)"
    )


def of_fit(given: Arguments, made: Any) -> str:
    """Of a choice among functions: by how many records the score misses the best."""
    return _of_choice(len(given["functions"]), made.epsilon)


def of_selection(given: Arguments, made: Any) -> str:
    """Of a choice among candidates, in units of the score's sensitivity."""
    return _of_choice(len(given["candidates"]), made.epsilon)


def _of_choice(candidates: int, epsilon: float) -> str:
    reach = 2 / epsilon * (math.log(candidates) + math.log(20))
    return (
        f"the score of the chosen one is within {reach:.3g} times the sensitivity of the best, in "
        "95 % of the cases"
    )


def of_bandwidth(given: Arguments, made: Any) -> str:
    """Of a private bandwidth: how far quartiles or scores are from the best."""
    if given["method"] == "private-scott":
        return _of_ranks(made.epsilon / 2, (1 << 15) + 1, made.n)
    return "the score of the chosen bandwidth is near the best: see docs/proofs/selection.md"
