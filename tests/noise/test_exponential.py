"""The exponential mechanism: its law, its certainty, its price on the worst neighbours."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from mercer.audits.audit import epsilon_lower_bound
from mercer.noise import entropy
from mercer.noise.mechanisms import MECHANISMS, Exponential
from mercer.promise.events import PureEvent, Sensitivity
from tests.conftest import ALPHA


class Scripted(entropy.Entropy):
    """Bytes as written beforehand, one string for each uniform number, 0x5a after."""

    secure = False

    def __init__(self, *numbers):
        self.numbers = list(numbers)

    def discrete_gaussian(self, _scale, _size):
        raise AssertionError("not drawn here")

    discrete_laplace = discrete_gaussian

    def octets(self, _count):
        raise AssertionError("not drawn here")

    def uniforms(self, size):
        assert size == 1
        bits = iter(self.numbers.pop(0) if self.numbers else b"")
        return entropy.Uniforms(lambda count: bytes(next(bits, 0x5A) for _ in range(count)), 1)


def calibrated(epsilon=1.0, sensitivity=1.0):
    return Exponential().calibrate(Sensitivity(sensitivity, norm="score"), epsilon=epsilon)


def law(scores, rate, counts=None):
    """The closed form: P(i) proportional to counts_i exp(rate score_i)."""
    scores = np.array([float(s) for s in scores])
    weights = np.exp(rate * (scores - scores.max())) * (1 if counts is None else np.array(counts))
    return weights / weights.sum()


def agrees(draws, p):
    """Exact: each frequency is binomial; two-sided, divided by the number of cells."""
    seen = np.bincount(draws, minlength=len(p))
    worst = min(binomtest(int(k), len(draws), q).pvalue for k, q in zip(seen, p, strict=True))
    return worst > ALPHA / len(p)


CASES = {
    "integers": ([3, 1, 4, 1, 5, 9, 2, 6], None, 1.0),
    "doubles": ([0.1, -0.7, 2.5, 0.1], None, 0.3),
    "fractions": ([Fraction(1, 3), Fraction(-2, 7), 1], None, 0.5),
    "counts": ([0, 2, 1], [50, 1, 0], 1.0),
    "large": ([10**30, 10**30 - 2, 10**30 - 3], None, 1.0),
}


@pytest.mark.parametrize("name", CASES)
def test_law(name, rng):
    scores, counts, sensitivity = CASES[name]
    choice = calibrated(1.5, sensitivity)
    given_counts = None if counts is None else np.array(counts)
    source = entropy.Seeded(rng)
    draws = [choice.choose(scores, source, counts=given_counts) for _ in range(3000)]
    shifted = [s - max(scores) for s in scores]
    p = law(shifted, 1.5 / (2 * sensitivity), counts)
    assert agrees(draws, p)
    assert not agrees(draws, law(shifted, 1.5 / sensitivity, counts))  # twice the epsilon is seen


def test_secure_source_has_the_same_law():
    choice = calibrated(2.0)
    draws = [choice.choose([0, 1, 2], entropy.Secure()) for _ in range(2000)]
    assert agrees(draws, law([0, 1, 2], 1.0))


def reference(scores, counts, rate, numbers):
    """Groups by falling score with 600 digits, then the member: slow and independent."""
    with localcontext() as context:
        context.prec = 600
        u, v = (Decimal(int.from_bytes(b.ljust(150, b"\x5a"), "big")) / 2**1200 for b in numbers)
        groups = sorted({s for s, c in zip(scores, counts, strict=True) if c}, reverse=True)
        totals = [sum(c for s, c in zip(scores, counts, strict=True) if s == g) for g in groups]
        power = Decimal(rate.numerator) / Decimal(rate.denominator)
        weights = [t * (power * (g - groups[0])).exp() for t, g in zip(totals, groups, strict=True)]
        point, place = u * sum(weights), 0
        while point >= weights[place]:
            point, place = point - weights[place], place + 1
        rank = int(v * totals[place])
        members = [i for i, s in enumerate(scores) for _ in range(counts[i]) if s == groups[place]]
        return members[rank]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-400, 5), st.integers(0, 4)), min_size=1, max_size=9).filter(
        lambda pairs: any(c for _, c in pairs)
    ),
    st.sampled_from([Fraction(1, 8), Fraction(1), Fraction(40)]),
    st.tuples(st.binary(min_size=24, max_size=100), st.binary(min_size=24, max_size=24)),
    st.booleans(),
)
def test_index_is_that_of_the_real_numbers(pairs, rate, numbers, extreme):
    """Also where the first bits do not tell: numbers within 2^-792 of 1."""
    if extreme:
        numbers = (b"\xff" * 99 + numbers[0][:1], numbers[1])
    scores, counts = [s for s, _ in pairs], [c for _, c in pairs]
    choice = calibrated(float(2 * rate))
    found = choice.choose(scores, Scripted(*numbers), counts=np.array(counts))
    assert found == reference(scores, counts, rate, numbers)


def test_unlikely_candidates_are_reached_bit_by_bit():
    choice = calibrated(2.0)  # weights 1 and e^-1000 = 2^-1442.7
    assert choice.choose([0, -1000], Scripted(b"\xff" * 180 + b"\x00")) == 0
    assert choice.choose([0, -1000], Scripted(b"\xff" * 181)) == 1


def test_price_on_the_worst_neighbours():
    """One candidate gains what many lose: the ratio comes near e^epsilon, and never above."""
    many, epsilon = 10_000, 1.0
    one = law([0.0] * many, epsilon / 2)
    other = law([1.0] + [-1.0] * (many - 1), epsilon / 2)  # replace-one: every score by 1
    ratio = np.max(np.abs(np.log(one / other)))
    assert 0.99 * epsilon < ratio <= epsilon
    halved = law([2.0] + [-2.0] * (many - 1), epsilon / 2)  # sensitivity told half of the truth
    assert np.max(np.abs(np.log(one / halved))) > epsilon


def test_audit(rng):
    epsilon, source = 3.0, entropy.Seeded(rng)
    choice = calibrated(epsilon)
    scores = [0] * 30, [1] + [-1] * 29
    out = [np.array([choice.choose(s, source) == 0 for _ in range(5000)]) for s in scores]
    bound = epsilon_lower_bound(out[1], out[0], delta=0.0, confidence=1 - ALPHA)
    assert 0.3 * epsilon < bound <= epsilon


def test_scores_that_are_not_finite_count_as_zero(rng):
    choice = calibrated(2.0)
    source = entropy.Seeded(rng)
    draws = [choice.choose([math.nan, math.inf, -1.0], source) for _ in range(1500)]
    assert agrees(draws, law([0, 0, -1], 1.0))
    assert choice.choose([Fraction(1), math.inf], source) in (0, 1)


def test_contract():
    assert "exponential" not in MECHANISMS  # adds no noise: a choice, not coordinates
    choice = calibrated(0.7)
    assert choice.event == PureEvent(0.7)
    assert "certainty" in choice.words
    with pytest.raises(ValueError, match="norm='score'"):
        Exponential().calibrate(Sensitivity(1.0, norm="l2"), epsilon=1.0)
    with pytest.raises(ValueError, match="epsilon is missing"):
        Exponential().calibrate(Sensitivity(1.0, norm="score"), epsilon=None)
    with pytest.raises(ValueError, match="at least one candidate"):
        choice.choose([], entropy.Secure())
    with pytest.raises(ValueError, match="one for each candidate"):
        choice.choose([1, 2], entropy.Secure(), counts=np.array([1]))
    with pytest.raises(ValueError, match="nothing to choose"):
        choice.choose([1, 2], entropy.Secure(), counts=np.array([0, 0]))
    with pytest.raises(TypeError, match="got str"):
        choice.choose(["a", "b"], entropy.Secure())
    with pytest.raises(TypeError, match="axes"):
        choice.choose(np.zeros((2, 2)), entropy.Secure())
