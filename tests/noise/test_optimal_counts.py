"""Mechanisms for counts are exact to the last unit, drawn exactly, and checked when loaded."""

import dataclasses
import json
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

import mercer
from mercer.noise.entropy import Entropy, Secure, Seeded
from mercer.noise.optimal import OptimalCount
from mercer.noise.programs import optimal_count
from tests.conftest import ALPHA
from tests.helpers.count_samples import CASES, PINBALL, above, violation


@pytest.fixture(scope="module")
def made():
    return {case: optimal_count(*case) for case in CASES}


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
        ("kind", "count"),
        ("n", 8),
        ("n", 7.0),
        ("epsilon", 0.4),
        ("epsilon", -1),
        ("loss", "own"),
        ("loss", "huber"),
        ("losses", [[1]]),
        ("prior", [1, 2]),
        ("weights", []),
        ("weights", [["1"]]),
        ("weights", [[1.5]]),
        ("weights", 3),
        ("best", 1e9),
        ("best", -1.0),
        ("best", float("nan")),
    ],
)
def test_a_spoiled_file_is_refused(key, value):
    fields = optimal_count(7, 0.5).to_dict() | {key: value}
    with pytest.raises(ValueError):  # noqa: PT011
        OptimalCount.from_dict(fields)


def test_says_what_it_is(made):
    one = made[70, 0.1]
    assert repr(one) == (
        "OptimalCount(n=70, epsilon=0.1, loss='absolute', minimax risk 8.264, clipped geometric 9.682)"
    )
    assert "largest expected absolute loss 8.264" in str(one)
    assert "geometric noise clipped to 0..70 has 9.682" in str(one)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.n = 3


def test_bad_questions(made):
    one = made[7, 1.0]
    with pytest.raises(ValueError, match="output must be in .0, 7."):
        one.interval(8, 0.9)
    for level in (0.0, 1.0, 95, "0.9"):
        with pytest.raises(ValueError, match="level must be in .0, 1."):
            one.interval(3, level)
