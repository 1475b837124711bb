"""What the tests of counts share: some mechanisms, and their promise checked in fractions."""

from decimal import ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np

PINBALL = np.array([[max(2 * (i - j), j - i) for j in range(8)] for i in range(8)], dtype=float)
CASES = [(n, e) for n in (1, 2, 7, 70) for e in (0.001, 0.1, 1.0, 10.0)] + [(5, 1e-6), (30, 50.0)]


def above(epsilon):
    """e^epsilon as a fraction, rounded down at 60 digits, for the decimal that epsilon prints."""
    with localcontext() as context:
        context.prec, context.rounding = 60, ROUND_FLOOR
        value = min(Decimal(repr(epsilon)), Decimal(epsilon)).exp()
        return Fraction(value) * (1 - Fraction(1, 10**58))


def violation(one, epsilon):
    """Largest excess of a probability over e^epsilon times its neighbour's, in fractions."""
    ratio, total = above(epsilon), sum(one.weights[0])
    return max(
        Fraction(max(Fraction(a) - ratio * b, Fraction(b) - ratio * a), total)
        for row, other in pairwise(one.weights)
        for a, b in zip(row, other, strict=True)
    )
