"""Lower bounds on the error of any private release of counts, with constants.  M13.

Each is a bound on the largest expected l1 error, over databases of n records, of any
epsilon-DP release whatever it prints; neighbours replace one record and n is public.  They hold
for n as it is, not in a limit, and for pure DP only: with delta > 0 a release may do better.
docs/proofs/lower_bounds.md.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from mercer.common.checks import Floats, check_count, check_epsilon
from mercer.noise.optimal import geometric_matrix

__all__ = ["counting_bound", "histogram_bound", "margins_bound", "sparse_bound"]

_LATTICE = 200  # values of a count that a prior is put on
_STEP = 0.17  # epsilon times the distance of these values, where n leaves the choice
_ENDS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 1.0, 3.0)  # weight of the ends beside a bell's
_RATES = (0.1, 0.3, 0.6, 1.0)  # and of priors that fall like the noise, in its units
_MOST = 2**62
_SAFE = 1 - 1e-9  # for rounding


def counting_bound(n: int, epsilon: float) -> float:
    """No epsilon-DP release of a count in 0..n has expected absolute error below this everywhere.

    The best Bayes risk under a few priors on equally spaced counts, which geometric noise and a
    posterior median attain (Ghosh, Roughgarden and Sundararajan 2009).  It comes near
    1/sinh(epsilon), the error of geometric noise, for large n epsilon, and near n/2 for small; it
    is never below the e^-2/epsilon of the thesis, Proposition 2.3.1.

    >>> round(counting_bound(70, 0.1), 2)  # the best mechanism has 8.26
    8.2
    """
    return _counting(_check_records(n), check_epsilon(epsilon))


def histogram_bound(n: int, cells: int, epsilon: float) -> float:
    """The lower bound for a histogram of n records in `cells` cells, in l1 error summed over cells.

    Cells in pairs: each pair is a count, wrong in both cells.  Near cells/epsilon for large n;
    geometric noise has twice that.  Thesis, Proposition 2.4.2, with a constant.
    """
    n, epsilon = _check_records(n), check_epsilon(epsilon)
    pairs = min(_check_cells("cells", cells) // 2, n)
    if pairs == 0:
        return 0.0  # one cell holds all n records, and n is public
    shares = range(n // pairs, min(n // pairs + 3, n + 1))
    return max(2 * min(pairs, n // share) * _counting(share, epsilon) for share in shares)


def sparse_bound(n: int, cells: int, occupied: int, epsilon: float) -> float:
    """The lower bound for histograms of which at most `occupied` cells are not empty, in l1 error.

    Order occupied ln(cells/occupied) / epsilon: thesis, Proposition 2.4.4, with a constant.
    """
    n, epsilon = _check_records(n), check_epsilon(epsilon)
    cells = _check_cells("cells", cells)
    hint = "it is the most cells that may hold records, so not more than there are"
    occupied = check_count("occupied", occupied, least=1, most=cells, hint=hint)
    if occupied == 1:  # all n in one of the cells
        return _SAFE * float(_blocks(np.array([float(n)]), cells, epsilon)[0])
    most, bounds = min(occupied - 1, n), [histogram_bound(n, occupied, epsilon)]
    while most:
        block = (cells - 1) // most
        if block >= 2:
            reach = (np.log(block) + 10) / epsilon
            groups = _grid(min(n // most, reach))
            bounds.append(_SAFE * most * float(np.max(_blocks(groups, block, epsilon))))
        most //= 2
    return max(bounds)


def margins_bound(n: int, attributes: int, epsilon: float) -> float:
    """The lower bound for the counts of ones of k binary attributes, k at most 10000.

    Order k^2/epsilon: thesis, Proposition 2.4.5, with a constant.  l1 error summed over the k
    counts.
    """
    n, epsilon = _check_records(n), check_epsilon(epsilon)
    hint = "give the number of attributes of zeros and ones"
    k = check_count("attributes", attributes, least=1, most=10_000, hint=hint)
    groups = _grid(min(n, (k + 10) / epsilon))
    return max(
        k * _counting(n, epsilon),  # all attributes alike
        _SAFE * float(np.max(groups * _scatter(epsilon * groups, k))),
    )


@lru_cache(maxsize=1024)
def _counting(n: int, epsilon: float) -> float:
    """The largest value, over step sizes t, of t times the Bayes risk at t epsilon."""
    wide = int(min(_STEP / epsilon, n))  # a range of _LATTICE _STEP/epsilon
    best = int(min(1.2785 / epsilon, n))  # s for which s/(1 + e^(s epsilon)), the risk at 0 or s, is largest
    steps = {*(max(1, step) for step in (wide, 2 * wide, -(-n // _LATTICE), best)), min(n, best + 1)}
    return _SAFE * max(
        step * _bayes_risk(min(n // step, _LATTICE), epsilon * step) for step in steps if step <= n
    )


def _bayes_risk(m: int, epsilon: float) -> float:
    """The largest, over priors on 0..m, of the least expected absolute error."""
    count = np.arange(m + 1.0)
    bell = np.cos(np.pi / 2 * (2 * count - m) / (m + 2))
    bell, ends = bell / bell.sum(), np.isin(count, (0, m)) / 2
    priors = [np.ones(m + 1), ends, *(bell + share * ends for share in _ENDS)]
    priors += [np.exp(-rate * epsilon * np.abs(count - m // 2)) for rate in _RATES]
    noise = geometric_matrix(m, epsilon)
    return max(_posterior_loss(noise * (p / p.sum())[:, None]) for p in priors)


def _posterior_loss(joint: Floats) -> float:
    """sum_k min_i sum_j |i - j| joint(j, k), as a sum over the places between two counts."""
    below = np.cumsum(joint, axis=0)[:-1]  # the count is at most j, and the noisy one k
    above = np.cumsum(joint[::-1], axis=0)[-2::-1]
    return float(np.sum(np.minimum(below, above)))


def _blocks(groups: Floats, block: int, epsilon: float) -> Floats:
    """Least expected l1 error of one block that holds a group in one of its cells."""
    if block < 2:
        return np.zeros_like(groups)
    odds = np.minimum(epsilon * groups - np.log(block - 1), 700.0)  # of the likeliest cell
    return groups * np.minimum(1.0, 2 / (1 + np.exp(odds)))


def _scatter(spread: Floats, k: int) -> Floats:
    """Least expected Hamming distance to one point, of laws on {0,1}^k with ratios <= e^spread.

    The least has weight e^spread within some distance and 1 outside.  In logarithms: the share
    of points within a distance can be 2^-k.
    """
    from scipy.special import gammaln

    away = np.arange(k + 1.0)
    points = gammaln(k + 1) - gammaln(away + 1) - gammaln(k + 1 - away) - k * np.log(2)
    within = np.logaddexp.accumulate(points)[:-1]
    sums = np.logaddexp.accumulate(points[1:] + np.log(away[1:]))[:-1]
    more = spread + np.log(-np.expm1(-spread))  # log(e^spread - 1)
    least = np.full(spread.shape, k / 2)  # nothing within: the uniform law
    for inside, distance in zip(within, np.append(-np.inf, sums), strict=True):
        top = np.logaddexp(np.log(k / 2), more + distance)
        least = np.minimum(least, np.exp(top - np.logaddexp(0.0, more + inside)))
    return least


def _grid(most: float) -> Floats:
    """Some integers in [1, most], among them all up to 30; at least the integer 1."""
    few = np.arange(1.0, 31.0)
    values = np.concatenate([few, np.linspace(1, max(most, 1.0), 300)])
    return np.unique(np.floor(values[values <= max(most, 1.0)]))


def _check_records(n: int) -> int:
    hint = "it is the public number of records"
    return check_count("n", n, least=1, most=_MOST, hint=hint)


def _check_cells(name: str, cells: int) -> int:
    hint = "give the number of cells, empty ones included"
    return check_count(name, cells, least=1, most=_MOST, hint=hint)
