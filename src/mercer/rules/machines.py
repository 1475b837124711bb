"""Public rules for kernel machines: bandwidth, features, penalty.  M8.

Functions of the number of records, of columns and of the promise, never of a record.
studies/accuracy/machine_rules.py measures what they lose against the best choice in hindsight.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from mercer.spaces.losses import WHOLE, Loss

__all__ = [
    "band_rule",
    "bandwidth_rule",
    "cells_rule",
    "feature_rule",
    "machine_penalty",
    "moment_noise",
    "moment_penalty",
    "threshold_rule",
]

_WAVES = 256  # random features
_MOST = 400  # eigenfunctions
_FEW = {1: 16, 2: 28}  # of a pure promise, by columns
_RIDGE = {1: 2.0}  # of moments, in one column, in units of noise sqrt(features);
_FURTHER = 1.0  # in more columns, where features are many
_SHARE = {"hinge": 1.0, "logistic": 0.5}  # of noise that the penalty balances; regressions 4


def bandwidth_rule(*, n: int, epsilon: float, dimension: int, pure: bool, moments: bool = False) -> float:
    """Bandwidth as a share of the width of the bounds, the same in all columns.

    c sqrt(d), with c falling slowly as there are more records: a finer function needs more.  Noise on
    moments grows with the number of features, so that it is not finer where epsilon is large.
    """
    if dimension > 3 and pure:
        return 0.28 * math.sqrt(dimension)
    more = max(n * epsilon / 100, 1.0)
    c = 0.3 * more**-0.25 if dimension == 1 else 0.2 * more ** (-1 / (dimension + 1))
    least = {1: 0.03, 2: _two(1.0 if moments else epsilon, pure=pure), 3: 0.11 if moments else 0.05}.get(
        dimension, 0.15
    )
    return max(c, least) * math.sqrt(dimension)


def _two(epsilon: float, *, pure: bool) -> float:
    """The least c of two columns (M21): maps want less, social and medical columns more."""
    return 0.1 if pure else 0.07 / max(epsilon, 1.0)


def feature_rule(*, n: int, epsilon: float, dimension: int, pure: bool) -> tuple[str, int]:
    """Kind and largest number of features.

    With a delta, noise at a point does not depend on their number.  A pure promise pays for each,
    so it takes few: all of some degree, more as there are more records.
    """
    d = dimension
    few = (0.6 if d in (2, 3) else 0.3) * math.sqrt(n * epsilon)
    few = min(few, _FEW.get(d, math.inf))
    if d > 3 and not pure:
        return "random", _WAVES
    degree = 2 if d <= 3 else 1
    while math.comb(d + degree, d) < few and math.comb(d + degree + 1, d) <= _MOST and degree < 40:
        if d > 3 and (degree == 2 or math.comb(d + 2, d) > few):
            break
        degree += 1
    if d > 3:
        return "taylor", math.comb(d + degree, d)
    return "eigenfunctions", math.comb(d + degree, d) if pure else _MOST


def machine_penalty(
    loss: Loss, *, n: int, multiplier: float, kappa: float, epsilon: float, pure: bool, inside: bool
) -> float:
    """Penalty that balances noise and fit; `inside`: the noise is in the objective.

    Noise at a point has standard deviation multiplier M kappa^2 / (penalty n) at most; the penalty
    keeps that a share of the function's own scale, larger where many records determine the
    function against the noise.  It is never so small that the curvature costs more than half of
    epsilon (docs/proofs/machines.md, 4).
    """
    noise = multiplier * max(map(abs, loss.slopes)) * kappa**2 / n
    if not inside:
        return max((4.0 if loss.classes else 16.0) * noise, 1e-7)
    spared = 2.02 if loss.classes else 4.0  # the curvature's share of epsilon is one in so many
    least = loss.curvature * kappa**2 / (2 * n * math.expm1(min(epsilon, 2.0) / spared))
    share = _SHARE.get(loss.name, 4.0) * (0.5 if pure else 1.0)
    if loss.classes:
        share *= min(1.0, max(math.sqrt(2000 / (n * epsilon)), 0.25 if pure else 0.5))
    return max(share * noise, least, 1e-7)


def band_rule(*, n: int, epsilon: float) -> float:
    """Share of epsilon for the error band of noise in the objective (M21)."""
    return 0.15 if n * epsilon < 500 else 0.1 if n * epsilon < 3000 else 0.05


def cells_rule(lengths: Sequence[float], *, n: int, epsilon: float) -> tuple[int, ...]:
    """Cells along each column in which curvature is counted with this epsilon: powers of two (M21).

    So many that a cell has ten times 1/epsilon of the rows (five in one column), but not coarser
    than a bandwidth or so, nor finer than a fourth.
    """
    d = len(lengths)
    ruled = math.log2(max(n * epsilon / (5 if d == 1 else 10), 1)) / d
    sides = []
    for h in lengths:
        least, most = math.ceil(math.log2(0.6 / h)), math.floor(math.log2(4 / h))
        power = max(min(max(round(ruled), least), most), 2)
        sides.append(min(2**power, {1: 64, 2: 32, 3: 16}[d]))
    return tuple(sides)


def threshold_rule(*, n: int, epsilon: float) -> float:
    """Huber's threshold in half ranges of the response: .3, up to the whole range 2 (M21).

    A small threshold keeps the noise small where there are few records, and is between the mean and
    the median; with the whole range the function is the mean.
    """
    return min(WHOLE, max(0.3, 0.3 * math.sqrt(n * epsilon / 1000)))


def moment_penalty(*, sd: float, n: int, size: int, dimension: int) -> float:
    """Penalty of least squares from moments with noise of this deviation in each coordinate (M21).

    The noise of sum phi phi' has eigenvalues up to sd sqrt(2 size): the penalty is about as large, so
    that no direction is made of noise alone and the error holds to first order.
    """
    return _RIDGE.get(dimension, _FURTHER) * sd * math.sqrt(size) / n


def moment_noise(*, sd: float, n: int, size: int, penalty: float) -> float:
    """About the noise of the function at a record, in half ranges, where records fill the features evenly.

    sum phi phi' is n / size times one then; weights w of responses in [-1, 1] have mostly |w|^2 near 2,
    with which the error's first factor is sqrt(2).
    """
    return sd * math.sqrt(2) / (n / size + n * penalty)
