"""Random differential privacy counted out: the share of orders for which it fails is <= gamma.

Given the n + 1 records as a multiset, all orders are equally likely (thesis, 5.2.1), so the
promise holds if for every multiset the share of orders that break the inequality is at most gamma.
All of it in whole numbers and fractions: there is no false alarm.  The one simulation states its
own.
"""

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

import mercer
from mercer.common.streams import simulation
from mercer.promise.weaker import asymptotic_delta, asymptotic_rank, pair_rank, pairs_of, rarest
from tests.conftest import ALPHA

ROOT = Fraction(1, 2)  # e^(-epsilon / 8), so that every ratio of the law is a fraction
EPSILON = 8 * math.log(2)
ALLOWED = ROOT**-8  # e^epsilon
HISTOGRAM, PROPORTION = 4, 8  # ROOT^power = e^(-1 / scale) for scales 2 / epsilon, 1 / epsilon
GAMMAS = (Fraction(3, 8), Fraction(1, 2), Fraction(3, 4), Fraction(9, 10))
GOLOMB = (0, 1, 5, 12, 25, 27, 35, 41, 44)  # all differences differ


@cache
def worst(one, two, power):
    """Largest ratio of the probabilities of an outcome of one cell: (count, told exactly)."""
    (c, exact), (d, also) = one, two
    if exact or also:
        return Fraction(1) if one == two else None  # None: no bound
    ratio = ROOT**power  # the law is ratio^|z - count|, up to a factor that cancels
    window = range(min(c, d) - 2, max(c, d) + 3)  # beyond it the ratio is the same for ever
    return max(ratio ** abs(z - c) / ratio ** abs(z - d) for z in window)


def kept(one, two, most, power):
    """Whether the inequality holds for all outcomes on two databases, given as counts of cells."""
    total = Fraction(1)
    for c, d in zip(one, two, strict=True):
        ratio = worst((c, c <= most), (d, d <= most), power)
        if ratio is None:
            return False
        total *= ratio
    return total <= ALLOWED


def share(multiset, cells, most, power):
    """Of the orders of n + 1 records, those for which it fails.

    Only the last two records matter: x_n is in D, x_(n + 1) takes its place in D'.  Records of the
    values beyond `cells` are in no cell.
    """
    size, bad = sum(multiset), 0
    for a, b in itertools.product(range(len(multiset)), repeat=2):
        ways = multiset[a] * (multiset[b] - (a == b))
        if ways <= 0:
            continue
        counts = [list(multiset), list(multiset)]
        counts[0][b] -= 1
        counts[1][a] -= 1
        bad += ways * (not kept(*(tuple(c[:cells]) for c in counts), most, power))
    return Fraction(bad, size * (size - 1))


def multisets(size, values):
    for cuts in itertools.combinations(range(size + values - 1), values - 1):
        ends = (-1, *cuts, size + values - 1)
        yield tuple(b - a - 1 for a, b in itertools.pairwise(ends))


def largest(n, cells, gamma, *, values, power, rule=rarest):
    most = rule(n, cells, gamma)
    return max(share(c, cells, most, power) for c in multisets(n + 1, values))


def test_shares_are_those_of_all_orders():
    """The shortcut of two records against every order, written out."""
    for multiset in multisets(6, 3):
        records = [value for value, many in enumerate(multiset) for _ in range(many)]
        most, bad = 1, 0
        for order in itertools.permutations(records):
            first, second = order[:5], (*order[:4], order[5])
            counts = [tuple(Counter(data)[j] for j in range(2)) for data in (first, second)]
            bad += not kept(*counts, most, HISTOGRAM)
        assert Fraction(bad, math.factorial(6)) == share(multiset, 2, most, HISTOGRAM)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_proportion_keeps_the_promise(gamma):
    for n in (1, 2, 3, 5, 8, 16, 33, 60):
        # ones are the cell, zeros in none
        assert largest(n, 1, gamma, values=2, power=PROPORTION) <= gamma, n


@pytest.mark.parametrize("gamma", GAMMAS)
def test_histogram_keeps_the_promise(gamma):
    for n in (1, 2, 3, 4, 5, 6, 7, 8, 16, 30):
        assert largest(n, 3, gamma, values=3, power=HISTOGRAM) <= gamma, n
    for n in (4, 8):  # some records in no cell
        assert largest(n, 3, gamma, values=4, power=HISTOGRAM) <= gamma, n
        assert largest(n, 2, gamma, values=3, power=HISTOGRAM) <= gamma, n


FAULTS = {
    "gamma / k": (lambda n, k, g: math.floor(g * n / k) - 1, HISTOGRAM, 3, 3),
    "without 1 / n": (lambda n, k, g: math.floor(g * n / (2 * k)), HISTOGRAM, 3, 3),
    "noise 20 % small": (rarest, 5, 3, 3),
    "noise 20 % small, proportion": (rarest, 10, 1, 2),
    "phat + 1 / n <= gamma": (lambda n, k, g: math.floor(g * n / k) - 1, PROPORTION, 1, 2),
    "2 phat <= gamma": (lambda n, k, g: math.floor(g * n / (2 * k)), PROPORTION, 1, 2),
}


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_seen(name):
    rule, power, cells, values = FAULTS[name]
    cases = itertools.product((4, 8, 16), (Fraction(1, 8), *GAMMAS))
    assert any(largest(n, cells, gamma, values=values, power=power, rule=rule) > gamma for n, gamma in cases)


@pytest.mark.parametrize("gamma", [0.375, 0.75])
def test_releases_follow_the_rule_that_was_checked(gamma):
    """Every multiset of 8 records of three values: what is exact, and the law of the rest."""
    promise = {"epsilon": EPSILON, "gamma": gamma, "weaker_promise": True, "insist": True}
    most = rarest(8, 3, Fraction(gamma))
    for counts in multisets(8, 3):
        records = [letter for letter, many in zip("abc", counts, strict=True) for _ in range(many)]
        release = mercer.random_histogram(records, categories=["a", "b", "c"], **promise)
        assert release.exact.tolist() == [c <= most for c in counts]
        assert release.values[release.exact].tolist() == [c for c in counts if c <= most]
        assert 2 / EPSILON <= release.noise.scale <= 2 / EPSILON * (1 + 1e-11)
        ones = mercer.random_proportion([r == "a" for r in records], **promise)
        if counts[0] <= rarest(8, 1, Fraction(gamma)):
            assert ones.noise is None
            assert ones.raw == counts[0]
        else:
            assert 1 / EPSILON <= ones.noise.scale <= 1 / EPSILON * (1 + 1e-11)


def test_the_comparison_is_exact():
    """At 2 (phat + 1/n) = gamma in decimals doubles go wrong; fractions do not."""
    assert 2 * (14 / 100 + 1 / 100) > 0.3  # in doubles
    assert rarest(100, 1, Fraction("0.3")) == 14
    assert rarest(100, 1, Fraction(0.3)) == 13  # the double lies below 3/10
    rows = [True] * 14 + [False] * 86
    release = mercer.random_proportion(rows, epsilon=1, gamma=0.3, weaker_promise=True)
    assert release.noise is None
    assert release.raw == 14
    rows[14] = True
    release = mercer.random_proportion(rows, epsilon=1, gamma=0.3, weaker_promise=True)
    assert release.noise is not None


def broken(one, two, place, rank):
    """Whether the quantile of changes differs, or does not cover the change, for each database."""
    pairs = pairs_of(one.shape[1], simulation(one.shape[1]))
    quantiles = [
        np.partition(np.abs(data[:, pairs[0]] - data[:, pairs[1]]), rank - 1, axis=1)[:, rank - 1]
        for data in (one, two)
    ]
    moved = np.abs(one[:, place] - two[:, place])
    return (quantiles[0] != quantiles[1]) | (moved > quantiles[0])


def exchanged(orders, place):
    one = orders[:, :-1]
    two = one.copy()
    two[:, place] = orders[:, -1]
    return one, two


@pytest.mark.parametrize(("values", "n"), [((0, 1, 3), 8), ((0, 1, 3), 9), ((0, 1), 14)])
def test_statistic_keeps_the_promise_for_all_multisets(values, n):
    """All sequences of n + 1 values, by multiset: each has the same number of orders."""
    k, gamma = len(values), Fraction(3, n // 2)  # the least that n pairs allow
    digits = np.array(np.unravel_index(np.arange(k ** (n + 1)), (k,) * (n + 1))).T
    orders = np.array(values)[digits]
    names = np.stack([(digits == j).sum(axis=1) for j in range(k)], 1) @ (n + 2) ** np.arange(k)
    group = np.unique(names, return_inverse=True)[1]
    for place in (0, n - 1):
        bad = broken(*exchanged(orders, place), place, pair_rank(n // 2, gamma))
        failing = np.bincount(group, weights=bad)
        assert np.all(failing * gamma.denominator <= gamma.numerator * np.bincount(group))


def test_statistic_keeps_the_promise_for_all_orders():
    """Nine different values in all 9! orders; the quantile at gamma for gamma / 3 is seen."""
    orders = np.array(GOLOMB)[np.array(list(itertools.permutations(range(9))), dtype=np.int8)]
    gamma, pairs = Fraction(3, 4), 4
    pair = exchanged(orders, 0)
    right, wrong = pair_rank(pairs, gamma), pairs + 1 - math.floor(gamma * pairs)
    assert (right, wrong) == (4, 2)
    many = math.factorial(9)
    assert int(np.sum(broken(*pair, 0, right))) <= gamma * many
    assert int(np.sum(broken(*pair, 0, wrong))) > gamma * many


def test_statistic_keeps_the_promise_for_normal_records(rng):
    """2000 databases of 200 records; exact binomial, wrong at a rate of ALPHA each way."""
    gamma, n, runs = Fraction(1, 10), 200, 2000
    pair = exchanged(rng.standard_normal((runs, n + 1)), 0)
    bad = int(np.sum(broken(*pair, 0, pair_rank(n // 2, gamma))))
    assert binom.sf(bad - 1, runs, float(gamma)) > ALPHA  # gamma at most
    far = int(np.sum(broken(*pair, 0, n // 2 + 1 - math.floor(gamma * n / 2))))
    assert binom.sf(far - 1, runs, float(gamma)) < ALPHA  # would be seen


def test_ranks():
    for pairs in (3, 7, 60, 1000):
        for gamma in (Fraction(1, 100), Fraction("0.05"), Fraction(1, 2), Fraction(99, 100)):
            rank = pair_rank(pairs, gamma)
            if rank is None:
                assert Fraction(3, pairs) > gamma
                continue
            assert Fraction(3 * (pairs + 1 - rank), pairs) <= gamma
            assert rank == 1 or Fraction(3 * (pairs + 2 - rank), pairs) > gamma
    gamma = Fraction("0.05")
    assert asymptotic_rank(7000, 3500, gamma) is None  # 4 ln(4 / gamma) / gamma^2 = 7011.2
    assert asymptotic_rank(7100, 3550, gamma) <= 3550
    places = np.concatenate(pairs_of(101, simulation(101)))
    assert sorted({*places.tolist()}) == sorted(places.tolist())
    assert len(places) == 100


def test_delta_of_laplace_noise_whose_scale_changes():
    """By integration: centres s apart, scales 2 s / epsilon, the other's e^-b or e^b of it."""
    for n, epsilon in ((16, 1.0), (100, 1.0), (400, 0.3)):
        b = n**-0.5
        delta = asymptotic_delta(n, epsilon)
        for factor in (math.exp(-b), math.exp(b)):
            scale, other = 2 / epsilon, 2 * factor / epsilon
            z = np.linspace(-80, 80, 1_000_001) * scale
            p = np.exp(-np.abs(z) / scale) / (2 * scale)
            q = np.exp(-np.abs(z - 1.0) / other) / (2 * other)
            lost = np.sum(np.maximum(p - math.exp(epsilon) * q, 0)) * (z[1] - z[0])
            assert lost <= delta
    assert asymptotic_delta(3, 1.0) is None
    assert asymptotic_delta(100, 0.1) is None
    assert asymptotic_delta(10**6, 1.0) == pytest.approx(math.exp(-500 + 0.75), rel=1e-3)
