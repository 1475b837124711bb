"""Integer noise: the law of every sampler, and the balls behind the doubles."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom, chi2

from mercer.noise.count_laws import GeometricLaw, RoundedNormalLaw
from mercer.noise.entropy import Entropy, Secure, Seeded, Uniforms
from mercer.noise.exact import (
    _heads,
    _normal_tail,
    _one_sided,
    above_geometric,
    above_normal,
    balls,
    geometric,
    passing,
    rounded_normal,
    settle,
)
from mercer.noise.mechanisms.counts import CountNoise, GeometricCounts
from mercer.promise.events import PureEvent, Sensitivity
from tests.conftest import ALPHA

DRAWS = 60_000


def law_p_value(draws, above):
    """Of all cells of a law on whole numbers together: exact binomial tests, times their number.

    `above(k)` is P(draw > k).  Cells are single numbers while at least 500 are expected.
    """
    low = int(np.floor(np.quantile(draws, 0.001))) - 1
    edges = [low]
    while above(edges[-1]) * len(draws) > 500:
        k = edges[-1] + 1
        while (above(edges[-1]) - above(k)) * len(draws) < 500 and above(k) * len(draws) > 1:
            k += 1
        edges.append(k)
    chances = [1 - above(edges[0])]
    chances += [above(a) - above(b) for a, b in pairwise(edges)]
    chances.append(above(edges[-1]))
    places = np.searchsorted(np.array(edges), draws, side="left")
    counts = np.bincount(places, minlength=len(chances))
    each = [
        2 * min(binom.cdf(c, len(draws), p), binom.sf(c - 1, len(draws), p))
        for c, p in zip(counts, chances, strict=True)
    ]
    many = sum(p * len(draws) >= 5 for p in chances)
    expected = np.array(chances) * len(draws)
    big = expected >= 500
    square = float(np.sum((counts[big] - expected[big]) ** 2 / expected[big]))
    together = chi2.sf(square, int(big.sum()))  # an upper bound on the degrees of freedom
    return min(1.0, min(each) * max(many, 1)), together


@pytest.mark.parametrize("scale", [0.4, 2.0, 20.0, 3e4])
def test_geometric_law(scale):
    draws = geometric(scale, DRAWS, Secure())
    exact, square = law_p_value(draws, GeometricLaw(scale).above)
    assert exact > ALPHA
    assert square > ALPHA / 1000  # the chi-square law is an approximation: a wide margin
    assert law_p_value(draws, GeometricLaw(1.2 * scale).above)[0] < ALPHA  # sees 20 % less noise


@pytest.mark.parametrize("sigma", [0.4, 1.5, 20.0, 3e4])
def test_rounded_normal_law(sigma):
    draws = rounded_normal(sigma, DRAWS, Secure())
    exact, square = law_p_value(draws, RoundedNormalLaw(sigma).above)
    assert exact > ALPHA
    assert square > ALPHA / 1000
    assert law_p_value(draws, RoundedNormalLaw(1.2 * sigma).above)[0] < ALPHA


def test_large_scales_are_drawn_too():
    draws = geometric(2.0**40, 2000, Secure())
    assert 0.5 < np.mean(np.abs(draws)) / 2.0**40 < 2.0


@pytest.mark.parametrize("law", [GeometricLaw(3.0), RoundedNormalLaw(4.0)])
def test_noise_above_a_threshold(law):
    sampler = above_geometric if isinstance(law, GeometricLaw) else above_normal
    draws = sampler(law.scale, 12, DRAWS, Secure())
    whole = law.above(12)
    exact, _ = law_p_value(draws, lambda k: min(law.above(k) / whole, 1.0))
    assert draws.min() > 12
    assert exact > ALPHA
    shifted = law_p_value(draws - 1, lambda k: min(law.above(k) / whole, 1.0))[0]
    assert shifted < ALPHA  # one step off would be seen


def test_gaps_place_every_trial_alike():
    law, cells, runs = GeometricLaw(2.0), 40, 4000
    chance = law.above(1)
    found = np.zeros(cells)
    source = Secure()
    for _ in range(runs):
        found[passing(cells, cells, chance, lambda: law.above_ball(1), source)] += 1
    each = [2 * min(binom.cdf(c, runs, chance), binom.sf(c - 1, runs, chance)) for c in found]
    assert min(each) * cells > ALPHA
    wrong = chance * 1.3
    each = [2 * min(binom.cdf(c, runs, wrong), binom.sf(c - 1, runs, wrong)) for c in found]
    assert min(each) * cells < ALPHA


def test_no_trial_of_none_and_rare_trials():
    law = GeometricLaw(2.0)
    assert passing(0, 5, law.above(1), lambda: law.above_ball(1), Secure()) == []
    chance = law.above(200)
    places = passing(1 << 62, 1 << 62, chance, lambda: law.above_ball(200), Seeded(1))
    assert places == sorted(set(places))
    expected = 2.0**62 * chance
    assert abs(len(places) - expected) < 7 * math.sqrt(expected) + 7  # beyond: below 1e-9


class _Told(Entropy):
    """First bits that are given, then bits that are all zeros or all ones."""

    secure = False

    def __init__(self, heads, rest):
        self._heads, self._rest = np.asarray(heads, dtype=np.uint64), rest

    def discrete_gaussian(self, scale, size):
        raise NotImplementedError

    discrete_laplace = discrete_gaussian

    def octets(self, count):
        if len(self._heads):
            out = self._heads.astype(">u8").tobytes()
            assert len(out) == count
            self._heads = self._heads[:0]
            return out
        return bytes([self._rest]) * count


@pytest.mark.parametrize("rest", [0, 255])
@pytest.mark.parametrize("scale", [0.7, 12.0, 1e6, 3e10])
def test_doubles_agree_with_balls(rng, scale, rest):
    """What doubles decide is what balls decide, whatever the bits that were not read."""
    heads = rng.integers(0, 1 << 63, 300, dtype=np.uint64) * np.uint64(2)
    fast = _one_sided(scale, len(heads), _Told(heads, rest))
    for head, got in zip(heads, fast, strict=True):
        uniform = Uniforms(lambda count: bytes([rest]) * count, 1, heads=[int(head)], bits=64)
        true = settle(lambda bits, u=uniform: [-balls(u, bits)[0].log() * scale - 0.5])[0]
        assert got == true


@pytest.mark.parametrize("threshold", [None, 3, 60])
def test_normal_doubles_agree_with_balls(rng, threshold):
    from flint import arb

    sigma = 8.5
    heads = rng.integers(0, 1 << 63, 200, dtype=np.uint64) * np.uint64(2)
    fast = _normal_tail(sigma, threshold, len(heads), _Told(heads, 0))

    def tail(k):
        return (arb(2 * k - 1) / (2 * arb(sigma) * arb(2).sqrt())).erfc()

    for head, got in zip(heads, fast, strict=True):
        share = arb(2 * int(head) + 1) / arb(2) ** 65
        whole = arb(1) if threshold is None else tail(threshold + 1)
        least = 0 if threshold is None else threshold + 1
        assert got == least or share * whole < tail(int(got))
        assert share * whole > tail(int(got) + 1)


def test_draws_at_a_step_are_settled_by_more_bits():
    # U just at exp(-1): -log U is 1 but for what the later bits say
    head = int(math.exp(-1) * 2.0**64)
    near = [head - 4096, head, head + 4096]
    values = [_one_sided(1.0, 1, _Told([h], 0))[0] for h in near]
    assert values[0] == 1
    assert values[-1] == 0
    assert values[1] in (0, 1)


def test_heads_are_read_in_order():
    assert list(_heads(2, _Told([1, 2], 0))) == [1, 2]


def noise(epsilon=1.0):
    return GeometricCounts().calibrate(Sensitivity(2.0, "l1"), epsilon=epsilon)


def test_sparse_law_is_the_dense_law():
    """Every cell of a sparse draw has the law of a noisy cell cut at the threshold."""
    mechanism, cells, threshold, runs = noise(0.8), 12, 2, 6000
    keys, counts = np.array([2, 3, 9]), np.array([4, 1, 30])
    source, seen = Secure(), np.zeros((runs, cells), dtype=np.int64)
    for i in range(runs):
        held, values = mechanism.sparse(keys, counts, cells, threshold, source)
        assert np.all(np.diff(held) > 0)
        assert np.all(values > threshold)
        seen[i, held] = values
    true = np.zeros(cells, dtype=np.int64)
    true[keys] = counts
    worst = 1.0
    for cell in range(cells):
        for k in range(threshold, threshold + 6):
            p = mechanism.law.above(k - int(true[cell]))
            c = int(np.sum(seen[:, cell] > k))
            worst = min(worst, 2 * min(binom.cdf(c, runs, p), binom.sf(c - 1, runs, p)))
    assert worst * cells * 6 > ALPHA
    # two cells, occupied or not, do not know of each other
    a, b = seen[:, 0] > threshold, seen[:, 4] > threshold
    p = mechanism.law.above(threshold) ** 2
    both = int(np.sum(a & b))
    assert 2 * min(binom.cdf(both, runs, p), binom.sf(both - 1, runs, p)) > ALPHA
    # a sampler that forgets the empty cells would be seen
    assert binom.cdf(0, runs, mechanism.law.above(threshold)) < ALPHA


def test_sparse_draws_in_a_table_of_2_to_the_40():
    keys = np.sort(np.random.default_rng(0).choice(1 << 40, 2000, replace=False))
    mechanism = noise()
    held, values = mechanism.sparse(keys, np.full(2000, 500), 1 << 40, 55, Secure())
    assert np.isin(keys, held).all()  # 445 below a threshold: probability e^-222
    assert len(held) < 2040
    assert values.min() > 55


def test_faulty_noise_is_seen():
    """Noise 20 % too small does not have the law that is promised."""
    weak = CountNoise(GeometricLaw(0.8 * noise().law.scale), PureEvent(1.0))
    draws = weak.draw(DRAWS, Secure())
    assert law_p_value(draws, noise().law.above)[0] < ALPHA
