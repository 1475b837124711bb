"""The best mechanisms for counts: optimal, exact to the last unit, and drawn exactly."""

import dataclasses
import json
import math
from decimal import ROUND_FLOOR, Decimal, getcontext, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import chi2

import mercer
from mercer.count_losses import distance_graded, loss_matrix
from mercer.counting_programs import OptimalCount, optimal_count, risk_body
from mercer.entropy import Entropy, Secure, Seeded
from tests.conftest import ALPHA

PINBALL = np.array([[max(2 * (i - j), j - i) for j in range(8)] for i in range(8)], dtype=float)
CASES = [(n, e) for n in (1, 2, 7, 70) for e in (0.001, 0.1, 1.0, 10.0)] + [(5, 1e-6), (30, 50.0)]


@pytest.fixture(scope="module")
def made():
    return {case: optimal_count(*case) for case in CASES}


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


def above(epsilon):
    """e^epsilon as a fraction, rounded down at 60 digits, for the decimal that epsilon prints."""
    with localcontext() as context:
        context.prec, context.rounding = 60, ROUND_FLOOR
        value = min(Decimal(repr(epsilon)), Decimal(epsilon)).exp()
        return Fraction(value) * (1 - Fraction(1, 10**58))


def violation(one, epsilon):
    """Largest excess of a probability over e^epsilon times its neighbour's, in fractions."""
    assert getcontext().prec >= 20
    ratio, total = above(epsilon), sum(one.weights[0])
    return max(
        Fraction(max(Fraction(a) - ratio * b, Fraction(b) - ratio * a), total)
        for row, other in pairwise(one.weights)
        for a, b in zip(row, other, strict=True)
    )


# --- optimal -------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.001, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("loss", ["absolute", "squared", "zero-one"])
def test_one_record_has_randomised_response(epsilon, loss):
    assert optimal_count(1, epsilon, loss).risk == pytest.approx(
        1 / (1 + math.exp(epsilon)), rel=1e-9
    )


@pytest.mark.parametrize(("epsilon", "risk"), [(0.1, 8.26), (0.05, 13.3), (0.001, 33.8)])
def test_values_of_the_thesis(epsilon, risk):
    """M13, to three digits."""
    one = optimal_count(70, epsilon)
    assert float(f"{one.risk:.3g}") == risk
    assert one.risk <= one.geometric_risk
    assert one.risk <= min(1 / epsilon, 35)


def test_certified(made):
    """The bound that no mechanism can beat is the risk, nearly."""
    for (_, epsilon), one in made.items():
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
    from mercer.counting_programs import _relabelled

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


# --- exact ---------------------------------------------------------------------------------------


def test_promise_in_fractions(made):
    for (n, epsilon), one in made.items():
        assert violation(one, epsilon) <= 0
        assert all(sum(row) == one.total for row in one.weights)
        assert min(min(row) for row in one.weights) >= 0
        assert np.allclose(one.matrix.sum(axis=1), 1, rtol=1e-14)
        assert one.matrix.shape == (n + 1, n + 1)


def test_the_ratio_is_tight(made):
    """Nothing of epsilon is given away: some ratio is e^epsilon to twelve digits."""
    for (_, epsilon), one in made.items():
        smaller = epsilon * (1 - 1e-9)
        assert violation(one, smaller) > 0


@pytest.mark.parametrize("share", [Fraction(1, 10**12), Fraction(1, 100)])
def test_a_matrix_a_trifle_off_is_refused(made, share):
    one = made[7, 1.0]
    rows = [list(row) for row in one.weights]
    ratio = above(1.0)
    j, i = max(
        ((j, i) for j in range(7) for i in range(8)),
        key=lambda p: Fraction(rows[p[0]][p[1]], rows[p[0] + 1][p[1]]),
    )
    more = int(rows[j][i] * share)
    other = max((k for k in range(8) if k != i), key=lambda k: rows[j][k])
    rows[j][i] += more
    rows[j][other] -= more
    assert Fraction(rows[j][i], rows[j + 1][i]) > ratio
    with pytest.raises(ValueError, match="break the promise epsilon = 1:"):
        dataclasses.replace(one, weights=tuple(map(tuple, rows)))


def test_a_mechanism_of_a_larger_epsilon_is_refused(made):
    one = optimal_count(7, 1.2)
    with pytest.raises(ValueError, match="break the promise"):
        dataclasses.replace(one, epsilon=1.0)
    assert dataclasses.replace(made[7, 1.0], epsilon=1.2, best=0.0).epsilon == 1.2


def test_rows_of_another_sum_are_refused(made):
    one = made[2, 1.0]
    rows = [list(row) for row in one.weights]
    rows[1][1] += 1
    with pytest.raises(ValueError, match="same sum"):
        dataclasses.replace(one, weights=tuple(map(tuple, rows)))
    rows[1][1] -= 1
    rows[1] = [-1, rows[1][0] + rows[1][1] + 1, rows[1][2]]
    with pytest.raises(ValueError, match="at least 0"):
        dataclasses.replace(one, weights=tuple(map(tuple, rows)))


# --- drawn ---------------------------------------------------------------------------------------


class Tape(Entropy):
    """Plays bytes."""

    secure = False

    def __init__(self, values):
        self.values = list(values)

    def octets(self, count):
        taken, self.values = self.values[:count], self.values[count:]
        return bytes(taken)

    def discrete_gaussian(self, scale, size):
        raise NotImplementedError

    discrete_laplace = discrete_gaussian


def test_draws_are_exact_for_every_byte():
    """Of all first bytes that are not refused, each answer has its weight's share."""
    one = OptimalCount(1, 1.0, "absolute", None, ((5, 3), (3, 5)), 0.0)
    for count in (0, 1):
        answers = []
        for byte in range(256):
            tape = Tape([byte, 0])  # zero is never refused
            answer = one.draw(count, tape)
            if len(tape.values) == 1:
                answers.append(answer)
        share = Fraction(answers.count(0), len(answers))
        assert share == Fraction(one.weights[count][0], 8)
        assert len(answers) == 128


def p_value(draws, probabilities):
    expected = probabilities * draws.size
    seen = np.bincount(draws, minlength=probabilities.size)
    return chi2.sf(np.sum((seen - expected) ** 2 / expected), probabilities.size - 1)


def test_draws_have_their_law():
    """Chi-square, all cells expected above 2000 times; its neighbour's law is told apart."""
    one = optimal_count(4, 0.5, "zero-one")
    draws = np.array([one.draw(1, Secure()) for _ in range(60_000)])
    assert p_value(draws, one.matrix[1]) > ALPHA
    assert p_value(draws, one.matrix[2]) < ALPHA
    assert p_value(draws, 0.97 * one.matrix[1] + 0.03 * one.matrix[4]) < ALPHA


def test_a_count_outside_is_clipped_and_never_shown(made):
    one = made[30, 50.0]
    assert one.draw(-5, Seeded(1)) == 0
    assert one.draw(np.int64(1234), Seeded(1)) == 30
    for bad in (12.5, "12", True):
        with pytest.raises(TypeError, match="whole number") as error:
            one.draw(bad, Seeded(1))
        assert "12" not in str(error.value)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_intervals_cover(made, level):
    for one in (made[7, 1.0], made[70, 0.1], made[30, 50.0], optimal_count(7, 0.5, PINBALL)):
        edges = [one.interval(i, level) for i in range(one.n + 1)]
        for count in range(one.n + 1):
            inside = [low <= count <= high for low, high in edges]
            covered = sum(w for w, held in zip(one.weights[count], inside, strict=True) if held)
            assert Fraction(covered, one.total) >= Fraction(level)
    assert made[30, 50.0].interval(4, 0.99) == (4, 4)
    low, high = made[70, 0.1].interval(35, 0.5)
    assert 0 < low <= 35 <= high < 70


# --- kept ----------------------------------------------------------------------------------------


def test_saved_and_loaded():
    for one in (
        optimal_count(7, 0.5, PINBALL, np.arange(1, 9)),
        optimal_count(7, 0.5),
        mercer.optimal_count(3, 0.25, "squared", [1, 2, 3, 4]),
    ):
        other = OptimalCount.from_dict(json.loads(json.dumps(one.to_dict())))
        assert other == one
        assert np.array_equal(other.matrix, one.matrix)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("kind", "count"), ("n", 8), ("n", 7.0), ("epsilon", 0.4), ("epsilon", -1), ("loss", "own"),
        ("loss", "huber"), ("losses", [[1]]), ("prior", [1, 2]), ("weights", []), ("weights", [["1"]]),
        ("weights", [[1.5]]), ("weights", 3), ("best", 1e9), ("best", -1.0), ("best", float("nan")),
    ],
)  # fmt: skip
def test_a_spoiled_file_is_refused(key, value):
    fields = optimal_count(7, 0.5).to_dict() | {key: value}
    with pytest.raises(ValueError):  # noqa: PT011
        OptimalCount.from_dict(fields)


def test_says_what_it_is(made):
    one = made[70, 0.1]
    assert repr(one) == (
        "OptimalCount(n=70, epsilon=0.1, loss='absolute', minimax risk 8.264, "
        "clipped geometric 9.682)"
    )
    assert "largest expected absolute loss 8.264" in str(one)
    assert "geometric noise clipped to 0..70 has 9.682" in str(one)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.n = 3


# --- the risk body -------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 5.0])
@pytest.mark.parametrize("loss", ["absolute", [[0.0, 3.0], [1.0, 0.5]]])
def test_risk_body_has_the_support_of_the_program(epsilon, loss):
    """In every direction, the least of the program over n = 1 is that of a corner."""
    values, ratio = loss_matrix(loss, 1)[1], math.exp(epsilon)
    corners = risk_body(epsilon, loss)
    upper = [row for a, b in ((0, 1), (2, 3)) for row in (np.eye(4)[a] - ratio * np.eye(4)[b], np.eye(4)[b] - ratio * np.eye(4)[a])]  # fmt: skip
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
    area = sum(
        a[0] * b[1] - a[1] * b[0] for a, b in zip(corners, np.roll(corners, -1, 0), strict=True)
    )
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
)  # fmt: skip
def test_bad_arguments(arguments, error, words):
    with pytest.raises(error, match=words):
        optimal_count(*arguments)


def test_bad_questions(made):
    one = made[7, 1.0]
    with pytest.raises(ValueError, match="output must be in .0, 7."):
        one.interval(8, 0.9)
    for level in (0.0, 1.0, 95, "0.9"):
        with pytest.raises(ValueError, match="level must be in .0, 1."):
            one.interval(3, level)
    with pytest.raises(ValueError, match="epsilon must be in"):
        risk_body(100.0)
