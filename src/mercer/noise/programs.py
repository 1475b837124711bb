"""The optimal mechanism for a count, by linear programming.  M13; thesis 1.3.5, 2.3.3.

There are two forms of one program.  For losses that grow with |i - j|, some best mechanism is the truncated
geometric one followed by a random relabelling of its answers, whatever the prior (Ghosh,
Roughgarden and Sundararajan 2009), and so also for the worst case (Gupte and Sundararajan 2010):
without a prior a small program finds the relabelling, with one it needs no program at all.  For
other losses the program of the thesis is solved as it stands.  docs/proofs/counting.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

from mercer.common.checks import Floats, check_count, check_epsilon
from mercer.noise.optimal import (
    BITS,
    LIMITS,
    MOST,
    OWN,
    Loss,
    OptimalCount,
    check_prior,
    distance_graded,
    geometric_matrix,
    loss_matrix,
    mirrored,
    ratios,
    settled,
)

__all__ = ["optimal_count", "risk_body"]

_MOST_PLAIN = 100  # counts, where the whole program is solved
_HIGHEST_PLAIN = 12.0  # epsilon, likewise: e^epsilon is a coefficient
_FAR = 1e6  # costs, in units of the geometric mechanism's, that a solver need not tell apart
_PART = 60  # bits of a relabelling's probabilities


def optimal_count(n: int, epsilon: float, loss: Loss = "absolute", prior: Any = None) -> OptimalCount:
    """The epsilon-DP mechanism of least risk for a count in 0..n, as an exact matrix.

    Without a prior the largest expected loss over counts is least (minimax); with `prior`, n + 1
    public weights of the counts, the mean loss under it.  `loss` is "absolute", "squared",
    "zero-one", an array, or a function loss(i, j) of the answer i and the count j.  n is public,
    neighbours replace one record.  The limit of n is 200, and 100 for a loss that does not grow
    with |i - j|: from some 20/epsilon on, geometric noise is nearly as good.

    >>> best = optimal_count(10, 0.5)
    >>> round(best.risk, 3), round(best.geometric_risk, 3)
    (1.479, 1.762)
    """
    n, epsilon = _check_size(n, MOST), _check_rate(epsilon, LIMITS[1])
    name, values = loss_matrix(loss, n)
    weights = None if prior is None else check_prior(prior, n)
    given = None if weights is None else tuple(weights.tolist())
    own = None if name != OWN else tuple(tuple(row) for row in values.tolist())
    if distance_graded(values):
        found, best = _relabelled(n, epsilon, values, weights)
        return OptimalCount(n, epsilon, name, given, found, best, own)
    _check_size(n, _MOST_PLAIN)
    _check_rate(epsilon, _HIGHEST_PLAIN)
    found, _ = _relabelled(n, epsilon, values, weights)  # private, but perhaps not best
    one = OptimalCount(n, epsilon, name, given, found, 0.0, own)
    found, best = _plain(n, epsilon, values, weights, scale=one.risk or 1.0)
    other = OptimalCount(n, epsilon, name, given, found, best, own)
    return replace(one, best=best) if one.risk < other.risk else other


def risk_body(epsilon: float, loss: Loss = "absolute") -> Floats:
    """Corners of the polygon of (risk at 0, risk at 1) of all epsilon-DP mechanisms, n = 1.

    Counter-clockwise, those that coincide left out.  Thesis, Figure 2.1; the four extreme
    mechanisms say 0, say 1, tell the truth with probability 1/(1 + e^-epsilon), or lie with it.

    >>> risk_body(1.0).round(3).tolist()
    [[0.0, 1.0], [0.269, 0.269], [1.0, 0.0], [0.731, 0.731]]
    """
    epsilon = _check_rate(epsilon, LIMITS[1])
    _, values = loss_matrix(loss, 1)
    truth = 1 / (1 + np.exp(-epsilon))
    ones = np.array([[0.0, 0.0], [1 - truth, truth], [1.0, 1.0], [truth, 1 - truth]])
    corners = values[0] * (1 - ones) + values[1] * ones  # P(say 1) at both counts, as risks
    a, b = corners[1] - corners[0], corners[2] - corners[0]
    if a[0] * b[1] - a[1] * b[0] < 0:
        corners = corners[::-1]
    _, first = np.unique(corners, axis=0, return_index=True)
    return np.asarray(corners[np.sort(first)])


def _relabelled(n: int, epsilon: float, loss: Floats, prior: Floats | None) -> tuple[Any, float]:
    """Geometric noise followed by a relabelling of its answers.

    Returns the integer weights, and a lower bound on the risk of every mechanism.
    """
    noise = geometric_matrix(n, epsilon)
    if prior is None:
        relabel, prior = _least_worst(noise, loss, halved=mirrored(loss))
        if _worst(noise, loss) <= _worst(noise @ relabel, loss):  # more than a solver can resolve
            relabel = np.eye(n + 1)
    else:
        answers = np.argmin(loss @ (prior[:, None] * noise), axis=0)
        relabel = np.zeros((n + 1, n + 1))
        relabel[np.arange(n + 1), answers] = 1
    best = float(np.sum(np.min(loss @ (prior[:, None] * noise), axis=0)))  # of any relabelling
    best *= 1 - 1e-11  # a sum of products of numbers >= 0: its rounding is a small share of it
    below, _ = ratios(epsilon)
    noisy = _geometric_whole(n, below)
    total = np.zeros((n + 1, n + 1), dtype=object)
    for k, i in np.argwhere(relabel > 0).tolist():
        total[:, i] += noisy[:, k] * int(relabel[k, i] * 2**_PART)
    return settled(total.tolist(), below), best


def _least_worst(noise: Floats, loss: Floats, *, halved: bool) -> tuple[Floats, Floats]:
    """The relabelling T(k, i) of least largest risk, and the prior for which it is hardest.

    Minimise t with sum_(k, i) noise(j, k) T(k, i) loss(i, j) <= t for every j.  Where the loss
    has a mirror image, T(k, i) = T(n - k, n - i) may be asked for: half the rows and columns.
    """
    sparse = _sparse()
    m = len(noise)
    half = (m + 1) // 2 if halved else m
    scale = _worst(noise, loss)
    if scale < 1e-250:  # noise too small to matter, or to divide by
        return np.eye(m), np.ones(m) / m
    cost = noise[:half, :, None] * loss.T[:half, None, :]  # j, k, i
    cost = np.minimum(cost / scale, _FAR)  # so that t is near 1
    if halved:
        folded = cost[:, :half] + cost[:, ::-1, ::-1][:, :half]
        if m % 2:
            folded[:, -1] /= 2
        cost = folded
    size = half * m
    risk = np.hstack([cost.reshape(half, size), np.full((half, 1), -1.0)])
    rows = sparse.hstack([sparse.kron(sparse.identity(half), np.ones((1, m))), np.zeros((half, 1))]).tocsc()
    goal = np.append(np.zeros(size), 1.0)
    found = _solve("highs-ds", goal, risk, np.zeros(half), rows, np.ones(half))
    relabel, dual = found.x[:-1].reshape(half, m), -found.ineqlin.marginals
    if halved:
        relabel = np.vstack([relabel, relabel[: m // 2][::-1, ::-1]])
        dual = np.concatenate([dual, dual[: m // 2][::-1]])
        if m % 2:
            dual[half - 1] *= 2
            relabel[half - 1] = (relabel[half - 1] + relabel[half - 1][::-1]) / 2
    relabel, dual = np.maximum(relabel, 0), np.maximum(dual, 0)
    return relabel / relabel.sum(axis=1, keepdims=True), dual / dual.sum()


def _worst(matrix: Floats, loss: Floats) -> float:
    return float(np.max(np.sum(matrix * loss.T, axis=1)))


def _geometric_whole(n: int, below: int) -> Any:
    """`geometric_matrix` for the ratio below / 2^BITS, as integers in units of about 2^(-2 BITS)."""
    power = [1 << (2 * BITS)]
    for _ in range(n + 1):
        power.append((power[-1] << BITS) // below)
    one, ratio = power[:2]
    inside = [(one - ratio) * p // (one + ratio) for p in power]
    ends = [one * p // (one + ratio) for p in power]
    return np.array(
        [[(ends if k in (0, n) else inside)[abs(j - k)] for k in range(n + 1)] for j in range(n + 1)],
        dtype=object,
    )


def _plain(n: int, epsilon: float, loss: Floats, prior: Floats | None, *, scale: float) -> tuple[Any, float]:
    """The program of the thesis for any loss: P(i | j) with bounded ratios of neighbours, least risk.

    Returns the integer weights, and a lower bound on the risk of every mechanism.
    """
    sparse = _sparse()
    m, cost = n + 1, np.minimum(loss / scale, _FAR)  # so that the risk is near 1
    here, there = (
        sparse.kron(sparse.csc_array(np.eye(n, m, k)), sparse.identity(m)) for k in (0, 1)
    )  # j and j + 1
    grow = np.exp(epsilon)
    steps = sparse.vstack([here - grow * there, there - grow * here])
    rows = sparse.kron(sparse.identity(m), np.ones((1, m)))
    empty = np.zeros((steps.shape[0], 1))
    if prior is None:
        risk = sparse.hstack([sparse.block_diag(list(cost.T[:, None, :])), np.full((m, 1), -1.0)])
        upper = sparse.vstack([sparse.hstack([steps, empty]), risk]).tocsc()
        equal = sparse.hstack([rows, np.zeros((m, 1))]).tocsc()
        goal = np.append(np.zeros(m * m), 1.0)
    else:
        upper, equal = steps.tocsc(), rows.tocsc()
        goal = (prior * cost).T.reshape(-1)
    found = _solve("highs-ipm", goal, upper, np.zeros(upper.shape[0]), equal, np.ones(m))
    matrix = np.clip(found.x[: m * m].reshape(m, m), 0, 1)
    duals = np.maximum(-found.ineqlin.marginals, 0)
    worst = duals[steps.shape[0] :] if prior is None else prior
    below, above = ratios(epsilon)
    best = _dual_bound(loss / scale, worst, duals[: steps.shape[0]].reshape(2, n, m), above)
    rounded = [[int(p * 2**BITS) for p in row] for row in matrix.tolist()]
    return settled(rounded, below), best * scale * (1 - 1e-11)


def _dual_bound(loss: Floats, prior: Floats, duals: Floats, above: int) -> float:
    """A lower bound for every mechanism from any prior and any duals >= 0, in integer arithmetic.

    sum_j min_i of prior(j) loss(i, j) plus what the duals charge for the ratios: for a mechanism
    that keeps them the charge is at most zero, and a row of probabilities is at least its least.
    """
    whole = np.frompyfunc(lambda value: int(value * 2**BITS), 1, 1)  # exact, then rounded down
    cost = whole(loss.T) * whole(prior)[:, None] << BITS  # j, i; units of 2^-3 BITS
    up, down = whole(duals)
    cost[:-1] += (up << (2 * BITS)) - (down * above << BITS)
    cost[1:] += (down << (2 * BITS)) - (up * above << BITS)
    least = sum(min(row) for row in cost.tolist())
    return max(0.0, least / (sum(whole(prior)) << (2 * BITS)))


def _solve(method: str, goal: Floats, upper: Any, limits: Floats, equal: Any, ones: Floats) -> Any:
    import scipy.optimize

    found: Any = None
    program = cast(Any, scipy.optimize.linprog)
    for way in (method, "highs-ds", "highs-ipm", "highs"):
        exact = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
        found = program(
            goal,
            A_ub=upper,
            b_ub=limits,
            A_eq=equal,
            b_eq=ones,
            method=way,
            options=exact if way != "highs" else {},
        )
        if found.status == 0:
            return found
    raise ArithmeticError(
        f"the linear program was not solved ({found.message}); nothing was released: try another "
        "epsilon or a loss with fewer orders of magnitude, or use geometric noise"
    )


def _sparse() -> Any:
    import scipy.sparse

    return scipy.sparse


def _check_size(n: int, most: int) -> int:
    hint = (
        "the program grows with n^2, and for large n geometric noise clipped to 0..n is nearly "
        "as good: use that"
    )
    return check_count("n", n, least=1, most=most, hint=hint)


def _check_rate(epsilon: float, most: float) -> float:
    rate = check_epsilon(epsilon)
    if not LIMITS[0] <= rate <= most:
        raise ValueError(
            f"epsilon must be in [{LIMITS[0]:g}, {most:g}] for an optimal count with this loss, "
            f"got {rate!r}: below nothing is learnt, above the count is told nearly as it is; use "
            "geometric noise"
        )
    return rate
