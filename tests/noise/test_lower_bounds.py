"""No private release beats the bounds; and they are near what the best ones have."""

import math
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import coo_array

from mercer.noise.lower_bounds import counting_bound, histogram_bound, margins_bound, sparse_bound
from mercer.noise.optimal import geometric_matrix, loss_matrix
from mercer.noise.programs import optimal_count

EPSILONS = (0.001, 0.01, 0.05, 0.1, 0.3, 1.0, 2.0, 5.0, 20.0)


def least_worst(targets, outputs, neighbours, epsilon, kept=None):
    """Least largest l1 error of all epsilon-DP laws on `outputs`: the whole linear program.

    The error counts at the inputs `kept` (all).  Medians of whole numbers may be taken whole, so
    outputs on the lattice lose nothing.
    """
    a, b = len(targets), len(outputs)
    loss = np.abs(targets[:, None, :] - outputs[None, :, :]).sum(axis=2)
    rows, columns, values = [], [], []
    row = 0
    for s, t in neighbours:
        for one, other in ((s, t), (t, s)):
            rows += [row + np.arange(b)] * 2
            columns += [one * b + np.arange(b), other * b + np.arange(b)]
            values += [np.ones(b), np.full(b, -math.exp(epsilon))]
            row += b
    for s in range(a) if kept is None else kept:
        rows += [np.full(b, row), [row]]
        columns += [s * b + np.arange(b), [a * b]]
        values += [loss[s], [-1.0]]
        row += 1
    cells = (np.concatenate(rows), np.concatenate(columns))
    upper = coo_array((np.concatenate(values), cells), shape=(row, a * b + 1)).tocsc()
    place = (np.repeat(np.arange(a), b), np.arange(a * b))
    equal = coo_array((np.ones(a * b), place), shape=(a, a * b + 1)).tocsc()
    goal = np.append(np.zeros(a * b), 1.0)
    found = linprog(goal, upper, np.zeros(row), equal, np.ones(a), method="highs-ipm")
    assert found.status == 0
    return found.fun


def histograms(n, cells):
    return [h for h in product(range(n + 1), repeat=cells) if sum(h) == n]


def one_moved(states):
    return [
        (s, t)
        for (s, a), (t, b) in combinations(enumerate(states), 2)
        if sum(abs(x - y) for x, y in zip(a, b, strict=True)) == 2
    ]


# --- counts --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10, 70])
def test_no_count_beats_the_bound_and_the_best_is_near(n):
    for epsilon in EPSILONS:
        bound, best = counting_bound(n, epsilon), optimal_count(n, epsilon)
        assert 0.95 * best.risk <= bound <= best.risk
        assert bound <= best.geometric_risk


def test_a_bound_somewhat_larger_would_be_seen():
    for epsilon in EPSILONS:
        assert 1.06 * counting_bound(70, epsilon) > optimal_count(70, epsilon).risk


@pytest.mark.parametrize("epsilon", [1e-6, 0.001, 0.1, 0.3, 1.0, 3.0])
def test_many_records_have_the_error_of_geometric_noise(epsilon):
    error = 1 / math.sinh(epsilon)
    assert 0.97 * error < counting_bound(10**9, epsilon) < error
    assert counting_bound(10**9, epsilon) < 1 / epsilon


def test_few_records_are_said_by_halves():
    assert counting_bound(10, 1e-6) == pytest.approx(5, rel=1e-4)


def test_never_below_the_bound_of_the_thesis():
    """Proposition 2.3.1, where its conditions hold."""
    for epsilon in np.geomspace(1e-4, 1.99, 40):
        for n in (math.ceil(6 / epsilon), 10 * math.ceil(6 / epsilon)):
            assert counting_bound(n, float(epsilon)) > math.exp(-2) / epsilon


def test_monotone():
    """Nearly: a larger n or a smaller epsilon makes it harder."""
    bounds = [counting_bound(n, 0.1) for n in (1, 3, 10, 30, 100, 300, 1000, 10_000)]
    assert all(b > 0.99 * a for a, b in pairwise(bounds))
    bounds = [counting_bound(50, epsilon) for epsilon in EPSILONS]
    assert all(a > b for a, b in pairwise(bounds))


@pytest.mark.parametrize("step", [2, 3])
def test_counts_in_steps(step):
    """R(n, epsilon) >= t R(n/t, t epsilon), by the programs."""
    for epsilon in (0.05, 0.3, 1.0):
        whole = optimal_count(12, epsilon)
        part = optimal_count(12 // step, step * epsilon)
        assert step * part.best <= whole.risk


def test_uniform_prior_is_a_bound_by_the_program():
    """The Bayes risk that geometric noise has is the program's, and so a bound (n = 12)."""
    for epsilon in (0.1, 0.5, 2.0):
        prior = np.ones(13) / 13
        noise = geometric_matrix(12, epsilon)
        loss = loss_matrix("absolute", 12)[1]
        value = np.sum(np.min(loss @ (prior[:, None] * noise), axis=0))
        states = [(k,) for k in range(13)]
        lattice = np.array(states)
        whole = least_worst(lattice, lattice, list(pairwise(range(13))), epsilon)
        assert optimal_count(12, epsilon, prior=prior).risk == pytest.approx(value, rel=1e-9)
        assert value <= whole * (1 + 1e-7)
        assert counting_bound(12, epsilon) <= whole * (1 + 1e-7)


# --- histograms ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "cells"), [(1, 2), (2, 2), (3, 2), (1, 3), (2, 3), (3, 3), (2, 4)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_no_histogram_beats_the_bound(n, cells, epsilon):
    states = histograms(n, cells)
    grid = np.array(list(product(range(n + 1), repeat=cells)))
    least = least_worst(np.array(states), grid, one_moved(states), epsilon)
    bound = histogram_bound(n, cells, epsilon)
    assert 0 < bound <= least * (1 + 1e-7)
    assert sparse_bound(n, cells, cells, epsilon) <= least * (1 + 1e-7)
    if cells == 2:  # one pair: a count, wrong twice
        assert least == pytest.approx(2 * optimal_count(n, epsilon).risk, rel=1e-6)


def test_histogram_orders():
    """Near cells/epsilon, half of what geometric noise of scale 2/epsilon has."""
    for cells in (2, 10, 1000):
        for epsilon in (0.01, 0.1, 1.0):
            bound = histogram_bound(10**7, cells, epsilon)
            noise = cells / math.sinh(epsilon / 2)
            assert 0.4 * noise < bound < noise
    assert histogram_bound(10, 1, 1.0) == 0
    assert 90 < histogram_bound(100, 10**6, 1e-4) < 100  # saying nothing costs n at most
    assert histogram_bound(100, 2**62, 1.0) <= 100


# --- sparse histograms ---------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "cells", "occupied"), [(1, 3, 1), (2, 3, 1), (2, 3, 2), (2, 4, 2)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_no_sparse_histogram_beats_the_bound(n, cells, occupied, epsilon):
    """All histograms are inputs; the error is counted on sparse ones, as the bound does."""
    states = histograms(n, cells)
    kept = [s for s, h in enumerate(states) if sum(c > 0 for c in h) <= occupied]
    grid = np.array(list(product(range(n + 1), repeat=cells)))
    least = least_worst(np.array(states), grid, one_moved(states), epsilon, kept)
    assert 0 < sparse_bound(n, cells, occupied, epsilon) <= least * (1 + 1e-7)


def test_one_block_by_brute_force(rng):
    """Laws on b cells with ratios at most A: the least l1 error of any guess of a group of 1."""
    for _ in range(200):
        b, ratio = int(rng.integers(2, 7)), float(np.exp(rng.uniform(0, 4)))
        law = np.exp(rng.uniform(0, math.log(ratio), b))
        if rng.random() < 0.5:
            law[:] = 1
            law[0] = ratio
        law /= law.sum()
        least = np.sum(np.minimum(law, 1 - law))  # each cell apart: 0 or 1
        bound = min(1, 2 * (b - 1) / (ratio + b - 1))
        assert least >= bound * (1 - 1e-12)
        if law[0] == law.max() and np.allclose(law[1:], law[0] / ratio):
            assert least == pytest.approx(bound)


def test_sparse_orders():
    """Order q ln(p/q)/epsilon, and below the error of the thresholds of M13."""
    for cells in (2**10, 2**20, 2**40, 2**62):
        for occupied in (2, 10, 100):
            for epsilon in (0.1, 1.0):
                bound = sparse_bound(10**9, cells, occupied, epsilon)
                order = (occupied - 1) * math.log(cells / occupied) / epsilon
                assert 0.8 * order < bound < 2 * order + 10
                assert bound < (2 * occupied + 1) / epsilon * (math.log(cells) + 1)


def test_sparse_edges():
    assert sparse_bound(10, 1, 1, 1.0) == 0
    assert sparse_bound(3, 2**62, 1, 0.1) == pytest.approx(3)  # one cell of very many: unknown
    assert sparse_bound(10**6, 50, 1, 1.0) == pytest.approx(0, abs=1e-9)  # a million say where
    assert sparse_bound(100, 50, 50, 0.1) <= 100
    assert sparse_bound(5, 1000, 900, 1.0) <= 5
    assert sparse_bound(10**6, 100, 100, 1.0) >= histogram_bound(10**6, 100, 1.0)


# --- margins -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "k"), [(1, 1), (3, 1), (1, 2), (2, 2), (3, 2), (1, 3), (2, 3)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_no_margins_beat_the_bound(n, k, epsilon):
    states = histograms(n, 2**k)
    points = np.array(list(product((0, 1), repeat=k)))
    grid = np.array(list(product(range(n + 1), repeat=k)))
    least = least_worst(np.array(states) @ points, grid, one_moved(states), epsilon)
    assert 0 < margins_bound(n, k, epsilon) <= least * (1 + 1e-7)


def test_scatter_by_brute_force():
    """All laws with two weights on the vertices of a cube, and the nearest point to each."""
    from mercer.noise.lower_bounds import _scatter

    for k in (1, 2, 3):
        away = np.array([sum(v) for v in product((0, 1), repeat=k)])
        sets = np.array(list(product((0, 1), repeat=2**k)))
        for spread in (0.1, 1.0, 3.0):
            laws = 1 + sets * math.expm1(spread)
            least = np.min(laws @ away / laws.sum(axis=1))
            assert _scatter(np.array([spread]), k)[0] == pytest.approx(least, rel=1e-12)


def test_margins_orders():
    """Order k^2/epsilon, and below geometric noise of scale k/epsilon on every count."""
    for k in (1, 2, 5, 20, 100, 1000):
        for epsilon in (0.1, 1.0):
            bound = margins_bound(10**9, k, epsilon)
            assert 0.04 * k**2 / epsilon < bound < k / math.sinh(epsilon / k)
            assert bound >= k * counting_bound(10**9, epsilon) * (1 - 1e-9)
    assert margins_bound(4, 100, 1e-3) <= 4 * 50 * (1 + 1e-9)  # saying n/2 costs k n/2


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: counting_bound(0, 1.0), ValueError, "n must be in"),
        (lambda: counting_bound(2.5, 1.0), TypeError, "n must be a whole number"),
        (lambda: counting_bound(5, 0.0), ValueError, "epsilon must be"),
        (lambda: counting_bound(5, None), ValueError, "epsilon is missing"),
        (lambda: histogram_bound(5, 0, 1.0), ValueError, "cells must be in"),
        (lambda: histogram_bound(5, 2**63, 1.0), ValueError, "cells must be in"),
        (lambda: sparse_bound(5, 10, 11, 1.0), ValueError, "occupied must be in"),
        (lambda: sparse_bound(5, 10, 0, 1.0), ValueError, "occupied must be in"),
        (lambda: margins_bound(5, 0, 1.0), ValueError, "attributes must be in"),
        (lambda: margins_bound(5, 10_001, 1.0), ValueError, "attributes must be in"),
    ],
)
def test_bad_arguments(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_extremes_do_not_break():
    for epsilon in (1e-9, 1e9):
        for n in (1, 2**62):
            for bound in (
                counting_bound(n, epsilon),
                histogram_bound(n, 2**62, epsilon),
                sparse_bound(n, 2**62, 2**61, epsilon),
                margins_bound(n, 50, epsilon),
            ):
                assert 0 <= bound < math.inf
