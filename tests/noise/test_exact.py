"""Exact real numbers: balls hold what they must, and rounding waits until it is certain."""

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq
from scipy.stats import gamma as gamma_law
from scipy.stats import kstest

from mercer.noise.entropy import Secure, Uniforms
from mercer.noise.exact import balls, gamma, phases, powered, settle, settled_index, working
from tests.conftest import ALPHA


class Fixed:
    """Bytes from a list of numbers in [0, 1), every bit of them, as often as they are asked."""

    def __init__(self, *numbers):
        self.numbers, self.bits = [Fraction(number) for number in numbers], 0

    def __call__(self, count):
        more = 8 * count // len(self.numbers)
        self.bits += more
        heads = [int(number * 2**self.bits) % 2**more for number in self.numbers]
        return b"".join(head.to_bytes(more // 8, "big") for head in heads)


def fraction(value):
    return fmpq(value.numerator, value.denominator)


def test_later_bits_continue_the_earlier_ones():
    uniforms = Secure().uniforms(50)
    first, second, third = (list(uniforms.heads(bits)) for bits in (64, 192, 1024))
    assert [head >> 128 for head in second] == first
    assert [head >> 832 for head in third] == second
    assert uniforms.heads(64) == first  # and reading less again changes nothing
    assert uniforms.heads(1024) == third
    assert len(uniforms) == 50
    assert all(0 <= head < 2**64 for head in first)
    assert len(set(first)) == 50  # two alike: probability below 1e-16


def test_heads_are_the_numbers_themselves():
    numbers = [Fraction(1, 3), Fraction(2, 7), Fraction(0), 1 - Fraction(1, 2**300)]
    uniforms = Uniforms(Fixed(*numbers), 4)
    for bits in (64, 192, 384):
        assert uniforms.heads(bits) == [int(number * 2**bits) for number in numbers]


@pytest.mark.parametrize("bits", [64, 192, 384])
def test_balls_hold_every_number_that_begins_like_this(bits):
    number = Fraction(1, 3)
    with working(bits):
        (ball,) = balls(Uniforms(Fixed(number), 1), bits)
    head = int(number * 2**bits)
    with working(4 * bits):
        for inside in (number, Fraction(head, 2**bits), Fraction(head + 1, 2**bits)):
            assert ball.contains(arb(fraction(inside)))
        assert not ball.contains(arb(fraction(Fraction(head + 2, 2**bits))))
        assert not ball.contains(arb(fraction(Fraction(head - 1, 2**bits))))


def test_functions_of_balls_are_those_of_the_numbers():
    numbers = [Fraction(1, 3), Fraction(2, 7), Fraction(9, 11)]
    with working(192):
        made = balls(Uniforms(Fixed(*numbers), 3), 192)
        total, ((cosine, sine), *_) = gamma(made), phases(made)
        root = powered(made[0], arb(1) / 5)
    floats = [float(number) for number in numbers]
    assert float(total.mid()) == pytest.approx(-math.log(math.prod(floats)), rel=1e-15)
    assert float(cosine.mid()) == pytest.approx(math.cos(2 * math.pi / 3), rel=1e-15)
    assert float(sine.mid()) == pytest.approx(math.sin(2 * math.pi / 3), rel=1e-15)
    assert float(root.mid()) == pytest.approx(3**-0.2, rel=1e-15)
    assert float(total.rad()) < 1e-50


def test_gamma_has_its_law():
    """Kolmogorov's exact test; it would see a number too many."""
    uniforms, k = Secure().uniforms(5 * 6000), 5
    with working(64):
        made = balls(uniforms, 64)
        draws = np.array([float(gamma(made[i::6000]).mid()) for i in range(6000)])
    assert kstest(draws, gamma_law(k).cdf).pvalue > ALPHA
    assert kstest(draws, gamma_law(k + 1).cdf).pvalue < ALPHA
    assert kstest(draws * 0.8, gamma_law(k).cdf).pvalue < ALPHA


def around(value, asked):
    """A computation of `value` to within 2^-bits, which notes what it was asked for."""

    def compute(bits):
        asked.append(bits)
        return [arb(fraction(value), arb(2) ** -bits)]

    return compute


@pytest.mark.parametrize(
    ("value", "nearest"),
    [
        (Fraction(7, 3), 2),
        (Fraction(8, 3), 3),
        (Fraction(-7, 3), -2),
        (Fraction(-8, 3), -3),
        (0, 0),
        (10**40 + Fraction(1, 3), 10**40),
    ],
)
def test_rounding_is_to_the_nearest(value, nearest):
    asked = []
    assert settle(around(Fraction(value), asked)) == [nearest]
    assert asked == [192]


@pytest.mark.parametrize(("side", "nearest"), [(1, 1), (-1, 0)])
def test_near_the_middle_more_bits_are_read(side, nearest):
    asked = []
    value = Fraction(1, 2) + side * Fraction(1, 2**300)
    assert settle(around(value, asked)) == [nearest]
    assert asked == [192, 384]
    # planted fault: the rounding of a double cannot tell the sides apart
    assert round(float(value)) == round(float(1 - value))


def test_every_number_must_be_certain():
    asked = []
    easy, hard = around(Fraction(1, 3), []), around(Fraction(1, 2) + Fraction(1, 2**800), asked)
    assert settle(lambda bits: easy(bits) + hard(bits)) == [0, 1]
    assert asked[-1] > 800


def test_what_never_settles_is_an_error_and_not_a_guess():
    asked = []
    with pytest.raises(ArithmeticError, match="nothing was released"):
        settle(around(Fraction(1, 2), asked))  # a ball around the middle for ever
    assert asked == [192 * 2**i for i in range(10)]
    with pytest.raises(ArithmeticError, match="could not be rounded"):
        settled_index(lambda _bits: (arb(0.5, 0.1), [arb(0.5), arb(1)]))
    assert settle(lambda _bits: [arb(0.5), arb(-0.5)]) == [1, 0]  # exactly half way: up


def test_index_of_the_first_edge_above():
    edges = [arb(1), arb(2), arb(3)]
    for point, place in ((0.5, 0), (1.0, 1), (1.5, 1), (2.999, 2)):
        assert settled_index(lambda _bits, p=point: (arb(p), edges)) == place
    asked = []

    def compute(bits):
        asked.append(bits)
        return arb(fraction(2 + Fraction(1, 2**250)), arb(2) ** -bits), edges

    assert settled_index(compute) == 2
    assert asked == [192, 384]


def test_the_precision_of_others_is_left_alone():
    before = ctx.prec
    settle(around(Fraction(1, 2) + Fraction(1, 2**500), []))
    assert ctx.prec == before
