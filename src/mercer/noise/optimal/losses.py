"""Losses of a released count, and public priors on the true one.

loss(i, j) is what it costs to say i where the count is j, both in 0..n.  All of it is public.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from mercer.common.checks import Floats

__all__ = ["LOSSES", "OWN", "Loss", "check_prior", "distance_graded", "loss_matrix", "mirrored"]

Loss: TypeAlias = str | Floats | Sequence[Sequence[float]] | Callable[[int, int], float]

LOSSES = ("absolute", "squared", "zero-one")
OWN = "own"  # the name of a loss that was given as an array or a function
_LARGEST = 1e12


def loss_matrix(loss: Loss, n: int) -> tuple[str, Floats]:
    """Name of a loss and its values, loss(i, j) in row i and column j."""
    i, j = np.indices((n + 1, n + 1))
    if isinstance(loss, str):
        named = {"absolute": np.abs(i - j), "squared": (i - j) ** 2, "zero-one": i != j}
        if loss not in named:
            raise ValueError(
                f"loss must be one of {', '.join(map(repr, LOSSES))}, an array of {n + 1} x "
                f"{n + 1} numbers or a function loss(i, j); got {loss!r}"
            )
        return loss, named[loss].astype(float)
    if callable(loss):
        values: Any = [[loss(a, b) for b in range(n + 1)] for a in range(n + 1)]
    else:
        values = loss
    try:
        matrix = np.array(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"loss must be numbers, {n + 1} x {n + 1} of them, or a function that returns one; "
            f"got {type(loss).__name__}"
        ) from error
    if matrix.shape != (n + 1, n + 1):
        raise ValueError(
            f"loss must have {n + 1} rows (what is said) and {n + 1} columns (the count), one for "
            f"each of 0..{n}; got the shape {matrix.shape}"
        )
    if not np.all(np.isfinite(matrix)) or matrix.min() < 0 or matrix.max() > _LARGEST:
        raise ValueError(
            f"loss must be finite, at least 0 and at most {_LARGEST:g} everywhere; add a constant "
            "to a loss that falls below 0, and give a large number for what must not be said"
        )
    if matrix.max() < 1 / _LARGEST:
        raise ValueError(
            f"loss must be above {1 / _LARGEST:g} somewhere: without a loss every mechanism is best"
        )
    return OWN, matrix


def check_prior(prior: object, n: int) -> Floats:
    """Weights of the counts 0..n with sum one."""
    try:
        weights = np.array(prior, dtype=float)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"prior must be {n + 1} weights, one for each count 0..{n}; got {type(prior).__name__}"
        ) from error
    if weights.shape != (n + 1,):
        raise ValueError(
            f"prior must be {n + 1} weights, one for each count 0..{n}; got the shape "
            f"{weights.shape}; leave it out for the minimax mechanism"
        )
    total = float(weights.sum())
    if not np.all(np.isfinite(weights)) or weights.min() < 0 or not 0 < total < np.inf:
        raise ValueError(
            "prior must be finite weights of at least 0 that are not all 0; for a count that "
            "cannot be give 0, or leave prior out for the minimax mechanism"
        )
    return weights / total


def distance_graded(matrix: Floats) -> bool:
    """Whether, for every count, answers further from it never cost less.

    loss(i, j) is then, for each j, a function of |i - j| that does not fall: the condition of
    Ghosh, Roughgarden and Sundararajan 2009.
    """
    count = len(matrix)
    away = np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    order = np.argsort(away, axis=0, kind="stable")
    loss = np.take_along_axis(matrix, order, axis=0)
    far = np.take_along_axis(away, order, axis=0)
    step, level = np.diff(loss, axis=0), np.diff(far, axis=0) == 0
    return bool(np.all(step >= 0) and np.all(step[level] == 0))


def mirrored(matrix: Floats) -> bool:
    """Whether counting the others instead, n - i for n - j, costs the same."""
    return bool(np.array_equal(matrix, matrix[::-1, ::-1]))
