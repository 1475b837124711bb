"""The best mechanisms for counts are best: against the program of the thesis, and closed forms."""

import dataclasses
import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog

from mercer.noise.optimal import distance_graded, loss_matrix
from mercer.noise.programs import _relabelled, optimal_count, risk_body
from tests.helpers.count_samples import CASES, PINBALL, violation


def plain_program(n, epsilon, loss, prior=None):
    """The least risk, by the program as the thesis states it: dense, variable (i, j) at i m + j."""
    m = n + 1
    upper, equal = [], []
    for i in range(m):
        for j in range(n):
            for a, b in ((j, j + 1), (j + 1, j)):
                row = np.zeros(m * m + 1)
                row[i * m + a], row[i * m + b] = 1, -math.exp(epsilon)
                upper.append(row)
    goal = np.zeros(m * m + 1)
    for j in range(m):
        one, risk = np.zeros(m * m + 1), np.zeros(m * m + 1)
        one[j : m * m : m] = 1
        risk[j : m * m : m] = loss[:, j]
        risk[-1] = -1
        equal.append(one)
        if prior is None:
            upper.append(risk)
        else:
            goal[j : m * m : m] = prior[j] * loss[:, j]
    if prior is None:
        goal[-1] = 1
    found = linprog(goal, upper, np.zeros(len(upper)), equal, np.ones(m), method="highs")
    assert found.status == 0
    return found.fun


# --- optimal -------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.001, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("loss", ["absolute", "squared", "zero-one"])
def test_one_record_has_randomised_response(epsilon, loss):
    assert optimal_count(1, epsilon, loss).risk == pytest.approx(1 / (1 + math.exp(epsilon)), rel=1e-9)


@pytest.mark.parametrize(("epsilon", "risk"), [(0.1, 8.26), (0.05, 13.3), (0.001, 33.8)])
def test_values_of_the_thesis(epsilon, risk):
    """M13, to three digits."""
    one = optimal_count(70, epsilon)
    assert float(f"{one.risk:.3g}") == risk
    assert one.risk <= one.geometric_risk
    assert one.risk <= min(1 / epsilon, 35)


def test_certified():
    """The bound that no mechanism can beat is the risk, nearly."""
    for n, epsilon in CASES:
        one = optimal_count(n, epsilon)
        assert one.best <= one.risk * (1 + 1e-12)
        if epsilon <= 10:
            assert one.best >= one.risk * (1 - 1e-6)


@pytest.mark.parametrize("epsilon", [0.01, 0.7, 3.0])
@pytest.mark.parametrize("loss", ["absolute", "squared", "zero-one", "random"])
def test_relabelled_noise_is_as_good_as_any(epsilon, loss, rng):
    """Ghosh et al. 2009, Gupte and Sundararajan 2010: against the program of the thesis."""
    n = 6
    if loss == "random":  # one that grows with the distance, differently for every count
        steps = np.cumsum(rng.random((n + 1, n + 1)), axis=0)
        loss = np.array([[steps[abs(i - j), j] for j in range(n + 1)] for i in range(n + 1)])
    values = loss_matrix(loss, n)[1]
    assert distance_graded(values)
    for prior in (None, rng.dirichlet(np.full(n + 1, 0.5)), np.ones(n + 1) / (n + 1)):
        one = optimal_count(n, epsilon, loss, prior)
        least = plain_program(n, epsilon, values, prior)
        assert one.risk == pytest.approx(least, rel=1e-5, abs=1e-7)
        assert one.best <= least * (1 + 1e-6) + 1e-8


@pytest.mark.parametrize("epsilon", [0.01, 0.7, 3.0])
def test_losses_that_do_not_grow_with_the_distance(epsilon, rng):
    n = 7
    for loss in (PINBALL, rng.random((n + 1, n + 1))):
        assert not distance_graded(loss)
        for prior in (None, rng.dirichlet(np.ones(n + 1))):
            one = optimal_count(n, epsilon, loss, prior)
            least = plain_program(n, epsilon, loss, prior)
            assert one.risk == pytest.approx(least, rel=1e-5, abs=1e-7)
            assert least * (1 - 1e-5) - 1e-7 <= one.best <= least * (1 + 1e-5) + 1e-7
            assert violation(one, epsilon) <= 0


def test_the_truth_of_relabelling_needs_its_condition():
    """A loss for which relabelled geometric noise is not best: the other program is needed."""
    n, epsilon = 4, 0.5
    loss = np.array([[(i * 7 + j * j * 3) % 5 for j in range(n + 1)] for i in range(n + 1)]) / 4.0
    one = optimal_count(n, epsilon, loss)
    weights, _ = _relabelled(n, epsilon, loss, None)
    assert dataclasses.replace(one, weights=weights, best=0.0).risk > one.risk * 1.0001


def test_a_function_and_an_array_are_the_same():
    one = optimal_count(7, 0.5, lambda i, j: max(2 * (i - j), j - i))
    other = optimal_count(7, 0.5, PINBALL)
    assert one == other
    assert one.loss == "own"


def test_risk_falls_with_epsilon_and_grows_with_n():
    for loss in ("absolute", "squared", "zero-one"):
        risks = [optimal_count(20, e, loss).risk for e in np.geomspace(0.001, 20, 12)]
        assert all(a >= b * (1 - 1e-12) for a, b in pairwise(risks))  # squared: level at n^2/4
        assert risks[0] > risks[5] > risks[-1]
        sizes = [optimal_count(n, 0.3, loss).risk for n in (1, 2, 3, 5, 9, 20, 40)]
        assert all(a < b for a, b in pairwise(sizes))


def test_bayes_and_minimax(rng):
    n, epsilon = 12, 0.4
    worst = optimal_count(n, epsilon)
    for prior in (np.ones(n + 1), rng.dirichlet(np.ones(n + 1)), np.arange(n + 1.0)):
        bayes = optimal_count(n, epsilon, prior=prior)
        share = prior / prior.sum()
        assert bayes.risk <= share @ worst.risks + 1e-12
        assert bayes.risk <= worst.risk + 1e-12  # a mean below the maximum
        assert bayes.risks.max() >= worst.risk * (1 - 1e-9)  # which minimax makes least
        assert bayes.prior == tuple(share)


def test_prior_on_one_count_says_that_count():
    prior = np.zeros(10)
    prior[3] = 5
    one = optimal_count(9, 0.2, prior=prior)
    assert one.risk == pytest.approx(0, abs=1e-20)
    assert np.allclose(one.matrix[:, 3], 1)


def test_prior_on_two_counts():
    """0 or 4, alike: sum_k min(P(k|0), P(k|4)) 4/2 of geometric noise, which is 2 e^-2epsilon."""
    one = optimal_count(4, 0.3, prior=[1, 0, 0, 0, 1])
    assert one.risk == pytest.approx(2 * math.exp(-0.6), rel=1e-9)


# --- the risk body -------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 5.0])
@pytest.mark.parametrize("loss", ["absolute", [[0.0, 3.0], [1.0, 0.5]]])
def test_risk_body_has_the_support_of_the_program(epsilon, loss):
    """In every direction, the least of the program over n = 1 is that of a corner."""
    values, ratio = loss_matrix(loss, 1)[1], math.exp(epsilon)
    corners = risk_body(epsilon, loss)
    upper = [
        row
        for a, b in ((0, 1), (2, 3))
        for row in (np.eye(4)[a] - ratio * np.eye(4)[b], np.eye(4)[b] - ratio * np.eye(4)[a])
    ]
    equal = [[1, 0, 1, 0], [0, 1, 0, 1]]  # variables q(0|0), q(0|1), q(1|0), q(1|1)
    for angle in np.linspace(0, 2 * np.pi, 17):
        way = np.array([np.cos(angle), np.sin(angle)])
        goal = [way[j] * values[i, j] for i in (0, 1) for j in (0, 1)]
        least = linprog(goal, upper, np.zeros(4), equal, np.ones(2), method="highs").fun
        assert np.min(corners @ way) == pytest.approx(least, abs=1e-9)


def test_risk_body_corners():
    lie = math.e / (1 + math.e)
    assert np.allclose(risk_body(1.0), [[0, 1], [1 - lie, 1 - lie], [1, 0], [lie, lie]])
    corners = risk_body(1.0, [[0.0, 3.0], [1.0, 0.5]])
    area = sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(corners, np.roll(corners, -1, 0), strict=True))
    assert area > 0  # counter-clockwise
    assert len(risk_body(1.0, [[0.0, 1.0], [0.0, 1.0]])) == 1  # what is said does not matter


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ((0, 1.0), ValueError, "n must be in .1, 200., got 0"),
        ((201, 1.0), ValueError, "geometric noise"),
        ((2.0, 1.0), TypeError, "n must be a whole number"),
        ((5, 0.0), ValueError, "epsilon must be a finite number above 0"),
        ((5, None), ValueError, "epsilon is missing"),
        ((5, 1e-7), ValueError, "below nothing is learnt"),
        ((5, 51.0), ValueError, "above the count is told"),
        ((5, 1.0, "huber"), ValueError, "'absolute', 'squared', 'zero-one'"),
        ((5, 1.0, np.ones((5, 5))), ValueError, "6 rows"),
        ((5, 1.0, lambda i, j: i - j), ValueError, "add a constant"),
        ((5, 1.0, lambda *_: math.inf), ValueError, "finite"),
        ((5, 1.0, lambda *_: "x"), TypeError, "loss must be numbers"),
        ((5, 1.0, lambda *_: 0.0), ValueError, "without a loss"),
        ((5, 1.0, 3.0), ValueError, "6 rows"),
        ((7, 13.0, PINBALL), ValueError, "epsilon must be in"),
        ((101, 1.0, lambda i, j: float((i + j) % 2)), ValueError, "n must be in .1, 100."),
        ((5, 1.0, "absolute", [1, 2]), ValueError, "6 weights"),
        ((5, 1.0, "absolute", np.zeros(6)), ValueError, "not all 0"),
        ((5, 1.0, "absolute", [1, 1, 1, 1, 1, -1]), ValueError, "at least 0"),
        ((5, 1.0, "absolute", [1, 1, 1, 1, 1, math.nan]), ValueError, "finite"),
        ((5, 1.0, "absolute", "uniform"), TypeError, "6 weights"),
    ],
)
def test_bad_arguments(arguments, error, words):
    with pytest.raises(error, match=words):
        optimal_count(*arguments)


def test_bad_risk_body():
    with pytest.raises(ValueError, match="epsilon must be in"):
        risk_body(100.0)
