"""Weights of synthetic records: bounded, positive or equal.  Layer 4.  M10, Theorem 11.

All minimise the distance in the kernel's space to a function with values g at the points, given
their Gram matrix K: w'Kw - 2 w'g.  Post-processing: no solver's failure touches the promise.
"""

from __future__ import annotations

import numpy as np

from mercer.checks import Floats, Ints

__all__ = ["STYLES", "fit_weights", "herd", "onto_ball", "onto_simplex"]

STYLES = ("positive", "l1", "free", "uniform")
_ROUNDS = 4000


def onto_simplex(v: Floats) -> Floats:
    """Nearest weights that are not negative and add up to one; one set a column."""
    ordered = -np.sort(-v, axis=0)
    tops = (np.cumsum(ordered, axis=0) - 1) / np.arange(1, len(v) + 1)[:, None]
    last = len(v) - 1 - np.argmax((ordered > tops)[::-1], axis=0)
    return np.maximum(v - np.take_along_axis(tops, last[None, :], axis=0), 0.0)


def onto_ball(v: Floats, bound: float) -> Floats:
    """Nearest weights whose absolute values add up to at most `bound`; one set a column."""
    size = np.abs(v)
    inside = size.sum(axis=0) <= bound
    return np.where(inside, v, np.sign(v) * onto_simplex(size / bound) * bound)


def fit_weights(
    gram: Floats, values: Floats, *, style: str, bound: float = 1.0, start: Floats | None = None,
    tolerance: float = 0.0,
) -> Floats:  # fmt: skip
    """Weights for values of one function, or of several, one a column.

    Accelerated projected gradient with restarts (O'Donoghue and Candes 2015), until the objective
    is within `tolerance` of its least by the Frank-Wolfe bound.
    """
    alone = values.ndim == 1
    g = values[:, None] if alone else values
    m = len(gram)
    step = 1 / _norm(gram)
    w = np.full((m, g.shape[1]), 1 / m) if start is None else np.array(start).reshape(m, -1)
    w = np.repeat(w, g.shape[1], axis=1) if w.shape[1] < g.shape[1] else w

    def project(v: Floats) -> Floats:
        return onto_simplex(v) if style == "positive" else onto_ball(v, bound)

    w = project(w)
    z, momentum = w, np.ones(g.shape[1])
    for turn in range(_ROUNDS):
        slope = gram @ z - g
        fresh = project(z - step * slope)
        back = np.sum((z - fresh) * (fresh - w), axis=0) > 0  # going uphill: start afresh
        later = np.where(back, 1.0, (1 + np.sqrt(1 + 4 * momentum**2)) / 2)
        z = np.where(back, fresh, fresh + (momentum - 1) / later * (fresh - w))
        w, momentum = fresh, later
        if turn % 20 == 19 and np.max(_gap(gram @ w - g, w, style, bound)) <= tolerance:
            break
    return w[:, 0] if alone else w


def _gap(slope: Floats, w: Floats, style: str, bound: float) -> Floats:
    """How far the squared distance is above its least, at most."""
    if style == "positive":
        lowest = slope.min(axis=0)
    else:
        lowest = -bound * np.abs(slope).max(axis=0)
    return 2 * (np.sum(slope * w, axis=0) - lowest)


def _norm(gram: Floats) -> float:
    """Bound on the largest eigenvalue: by the largest sum of a row, or a few steps of power."""
    v = np.ones(len(gram)) / np.sqrt(len(gram))
    top = 0.0
    for _ in range(30):
        v = gram @ v
        top = float(np.linalg.norm(v))
        v /= max(top, 1e-300)
    return max(min(top * 1.05, float(np.abs(gram).sum(axis=1).max())), 1e-300)


def herd(gram: Floats, values: Floats, size: int) -> Ints:
    """Places of `size` points, with repetition, whose plain mean comes near (kernel herding)."""
    picked = np.zeros(size, dtype=np.int64)
    running = np.zeros(len(gram))
    for turn in range(size):
        picked[turn] = int(np.argmax((turn + 1) * values - running - 0.5 * np.diag(gram)))
        running += gram[:, picked[turn]]
    return picked
