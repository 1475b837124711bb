"""The body of moments: exact laws of its uniform points, and the sampler that promises rest on.

Uniform on a convex body of dimension d makes gauge^d uniform on [0, 1], and c_1 is the first
canonical moment itself: both laws are exact.  Means of bounded numbers are held against Maurer
and Pontil's empirical Bernstein bound (2009, Theorem 4), which is true for every law.
"""

import math

import numpy as np
import pytest
from scipy.stats import beta, gamma, kstest

from mercer.noise import entropy
from mercer.noise.laws import OrbitopeLaw, cone_draws, gauge, powers, public_draws, uniform_moments
from mercer.noise.mechanisms.knorm import OrbitopeNoise
from mercer.promise.events import PureEvent
from tests.conftest import ALPHA

both = pytest.mark.parametrize("real", [True, False], ids=["real", "complex"])
RUNS = 400_000


def psi(x, m, *, real):
    """Moments c_1..c_m of a record at x."""
    angle = np.arange(1, m + 1) * (np.pi if real else 2 * np.pi) * x
    return np.cos(angle) if real else np.concatenate([np.cos(angle), np.sin(angle)])


def mean_is(values, claimed, low, high):
    """Whether the mean of independent values in [low, high] can be `claimed`."""
    unit = (np.asarray(values) - low) / (high - low)
    risk = math.log(4 / ALPHA)  # both sides
    reach = math.sqrt(2 * unit.var(ddof=1) * risk / unit.size) + 7 * risk / (3 * (unit.size - 1))
    return abs(unit.mean() - (claimed - low) / (high - low)) <= reach


def squares(degree, rng, *, real):
    """|c_j|^2 of uniform points, a row for each j."""
    u = uniform_moments(degree, RUNS, rng, real=real)
    return u**2 if real else u[:degree] ** 2 + u[degree:] ** 2


@both
@pytest.mark.parametrize("m", [1, 2, 3, 6])
def test_gauge_of_uniform_points(m, real, rng):
    """P(gauge <= r) = r^d; so the mean is d/(d + 1) (M11).  A wrong dimension is seen."""
    u = uniform_moments(m, 4000, rng, real=real)
    d = len(u)
    assert d == (m if real else 2 * m)
    g = np.array([gauge(point, real=real) for point in u.T])
    assert g.max() <= 1 + 1e-9
    assert kstest(g**d, "uniform").pvalue > ALPHA
    assert kstest(g ** (d * 1.3), "uniform").pvalue < ALPHA
    assert kstest((0.9 * g) ** d, "uniform").pvalue < ALPHA
    assert mean_is(g, d / (d + 1), 0.0, 1.0)


@pytest.mark.parametrize("m", [1, 2, 5, 20])
def test_first_moment_is_the_first_canonical_moment(m, rng):
    """2 Beta(m, m) - 1 when real, |c_1|^2 of law Beta(1, 2m - 1) when complex."""
    real = uniform_moments(m, 20_000, rng, real=True)[0]
    assert kstest((real + 1) / 2, beta(m, m).cdf).pvalue > ALPHA
    assert kstest((real + 1) / 2, beta(m + 1, m + 1).cdf).pvalue < ALPHA or m > 2
    pair = uniform_moments(m, 20_000, rng, real=False)
    square = pair[0] ** 2 + pair[m] ** 2
    assert kstest(square, beta(1, 2 * m - 1).cdf).pvalue > ALPHA
    assert kstest(square, beta(1, 2 * m).cdf).pvalue < ALPHA or m > 5
    assert kstest(np.arctan2(pair[m], pair[0]) / (2 * np.pi) + 0.5, "uniform").pvalue > ALPHA


EXACT = {2: (1 / 4, 2 / 5), 3: (1 / 6, 19 / 84, 37 / 112), 4: (1 / 8, 17 / 108, 73 / 360, 38 / 135)}


@pytest.mark.parametrize("m", EXACT)
def test_second_moments_complex(m, rng):
    """M11's exact values (E7); the thesis' 1/(4m - 3(i - 1)) is seen to be wrong from m = 3 on."""
    square = squares(m, rng, real=False)
    formula = 1 / (m * (2 * m + 1)) + (2 * m - 1) / ((2 * m + 1) * (2 * m - 2))
    assert EXACT[m][:2] == pytest.approx((1 / (2 * m), formula))
    for row, claimed in zip(square, EXACT[m], strict=True):
        assert mean_is(row, claimed, 0.0, 1.0)
        assert not mean_is(0.9 * row, claimed, 0.0, 1.0)
    if m > 2:
        thesis = [2 / (4 * m - 3 * i) for i in range(m)]
        assert not all(mean_is(r, t, 0.0, 1.0) for r, t in zip(square, thesis, strict=True))


@pytest.mark.parametrize("m", [2, 3, 8])
def test_moments_of_the_real_body(m, rng):
    """From c_1 = a_0 and c_2 = a_0^2 + (1 - a_0^2) a_1 with independent a_k = 2 Beta - 1.

    E a_0^2 = 1/(2m + 1), E a_0^4 = 3/((2m + 1)(2m + 3)), E a_1^2 = 1/(2m - 1), so that
    E (1 - a_0^2)^2 = 4m(m + 1)/((2m + 1)(2m + 3)).
    """
    c = uniform_moments(m, RUNS, rng, real=True)
    fourth = (2 * m + 1) * (2 * m + 3)
    second = 3 / fourth + 4 * m * (m + 1) / ((2 * m - 1) * fourth)
    for values, claimed, low in (
        (c[0], 0.0, -1.0),
        (c[0] ** 2, 1 / (2 * m + 1), 0.0),
        (c[1], 1 / (2 * m + 1), -1.0),
        (c[1] ** 2, second, 0.0),
    ):
        assert mean_is(values, claimed, low, 1.0)
        assert not mean_is(values, claimed + 0.02, low, 1.0)


@both
def test_uniform_by_rejection(real, rng):
    """m = 2 against points of a cube that pass the eigenvalue test; DKW for both samples."""
    size = 2 if real else 4
    cube = rng.uniform(-1, 1, (size, 100_000 if real else 500_000))
    inside = cube[:, _positive(cube, real=real)]
    ours = uniform_moments(2, inside.shape[1], rng, real=real)
    limit = 2 * math.sqrt(math.log(4 / ALPHA) / (2 * inside.shape[1]))
    functions = [lambda c, i=i: c[i] for i in range(size)] + [
        lambda c: c[0] * c[-1],
        lambda c: c[0] ** 2 - c[1],
    ]
    for function in functions:
        assert _distance(function(ours), function(inside)) < limit
    # planted faults: canonical moments of the body one degree larger, and 15 % too small
    other = uniform_moments(3, inside.shape[1], rng, real=real)[[0, 1] if real else [0, 1, 3, 4]]
    assert max(_distance(f(other), f(inside)) for f in functions) > limit
    assert max(_distance(f(0.85 * ours), f(inside)) for f in functions) > limit


def _positive(c, *, real):
    """Whether the 3 x 3 Toeplitz matrix is positive semidefinite, by its minors."""
    one, two = (c[0], c[1]) if real else (c[0] + 1j * c[2], c[1] + 1j * c[3])
    square = np.abs(one) ** 2
    determinant = 1 + 2 * np.real(one**2 * np.conj(two)) - 2 * square - np.abs(two) ** 2
    return (square <= 1) & (np.abs(two) <= 1) & (determinant >= 0)


def _distance(a, b):
    both_sorted = np.concatenate([a, b])
    shares = [np.searchsorted(np.sort(v), both_sorted, "right") / len(v) for v in (a, b)]
    return float(np.abs(shares[0] - shares[1]).max())


@pytest.mark.parametrize("k", [1, 2, 7])
def test_ulrichs_representation(k, rng):
    """sqrt(1 - U^(1/b)) cos(2 pi V), b = k - 1/2, has the law 2 Beta(k, k) - 1."""
    u, v = rng.random((2, 100_000))

    def made(b):
        return (np.sqrt(1 - u ** (1 / b)) * np.cos(2 * np.pi * v) + 1) / 2

    assert powers(k, real=True)[0] == 1 / (k - 0.5)
    assert kstest(made(k - 0.5), beta(k, k).cdf).pvalue > ALPHA
    assert kstest(made(k + 0.5), beta(k, k).cdf).pvalue < ALPHA
    assert kstest(made(0.7 * (k - 0.5)), beta(k, k).cdf).pvalue < ALPHA


@both
@pytest.mark.parametrize("m", [1, 2, 5, 9])
def test_the_body_is_far_from_symmetric(m, real):
    """M11, E5: ||psi(x)|| = 1, sup ||-psi(x)|| = m, sup ||psi(x) - psi(y)|| = m + 1, not 2."""
    x = np.linspace(0, 1, 60 * m + 1)
    points = np.array([psi(value, m, real=real) for value in x])
    assert max(gauge(p, real=real) for p in points) == pytest.approx(1, abs=1e-9)
    assert max(gauge(-p, real=real) for p in points) == pytest.approx(m, abs=1e-9)
    first = points[0]
    apart = [gauge(a - b, real=real) for a, b in [(first, p) for p in points] + [(p, first) for p in points]]
    assert max(apart) <= m + 1 + 1e-9
    assert max(apart) == pytest.approx(m + 1, rel=0.02)
    with_middle = [gauge(a - b, real=real) for a in points[::7] for b in points[::7]]
    assert max(with_middle) <= m + 1 + 1e-9


class Given(entropy.Entropy):
    """Uniform numbers from a list, each padded with zero bits; secure ones when it has run out."""

    secure = False

    def __init__(self, numbers):
        self.numbers, self.asked = list(numbers), 0

    def discrete_gaussian(self, scale, size):  # noqa: ARG002
        raise AssertionError("not used")

    discrete_laplace = discrete_gaussian

    def octets(self, count):
        self.asked += count
        if not self.numbers:
            return entropy.Secure().octets(count)
        numbers, self.numbers = self.numbers[: count // 24], self.numbers[count // 24 :]
        return b"".join(int(u * 2.0**64).to_bytes(8, "big") + bytes(16) for u in numbers)


class Replayed:
    """The same numbers for the sampler in doubles, which takes 1 - U where the other takes U."""

    def __init__(self, sides):
        self.gammas = [-float(np.sum(np.log(mass))) for mass, _, _ in sides]
        self.numbers = [
            value
            for _, radii, turns in sides
            for pair in zip(radii, turns, strict=True)
            for value in (1 - pair[0], pair[1])
        ]

    def random(self, runs):
        return np.full(runs, self.numbers.pop(0))

    def gamma(self, shape, scale, runs):
        assert scale == 1.0
        assert shape > 0
        return np.full(runs, self.gammas.pop(0))


@both
@pytest.mark.parametrize("m", [1, 2, 7, 24])
def test_exact_and_fast_sampler_are_one_function(m, real, rng):
    """The same uniform numbers through balls and through doubles, the lattice at 2^-40."""
    size = m + 1 if real else 2 * m + 1
    noise = OrbitopeNoise(OrbitopeLaw(1.0, 2.0**-40, real), PureEvent(1.0))
    for _ in range(3):
        sides = [[rng.random(k) for k in (size, m, m)] for _ in range(2)]
        source = Given(np.concatenate([part for side in sides for part in side]))
        exact = noise.add(np.zeros(size), source)
        assert source.asked == 24 * 2 * (size + 2 * m)  # 192 bits a number were enough
        fast = cone_draws(m, 1, Replayed(sides), real=real)[0]
        assert np.abs(exact - fast).max() < 1e-9


@both
@pytest.mark.parametrize("bits", [0.0, 1 - 2.0**-53], ids=["zeros", "ones"])
def test_more_bits_are_read_when_the_first_say_too_little(real, bits):
    """U = 0.000... has no logarithm, U = 0.111... no square root: yet both are only beginnings."""
    m, size = 3, 4 if real else 7
    noise = OrbitopeNoise(OrbitopeLaw(1.0, 2.0**-20, real), PureEvent(1.0))
    first = np.full(2 * (size + 2 * m), bits)
    source = Given(first)
    if bits:  # all 192 bits are ones, not only those of a double
        source.octets = _ones_first(source, 24 * first.size)
    out = noise.add(np.zeros(size), source)
    assert source.asked > 24 * first.size
    assert np.all(np.isfinite(out))
    assert np.array_equal(out * 2.0**20, np.rint(out * 2.0**20))


def _ones_first(source, count):
    def octets(number):
        source.asked += number
        return b"\xff" * number if source.asked <= count else entropy.Secure().octets(number)

    return octets


@both
def test_exact_sampler_has_the_law_of_the_fast_one(real, rng):
    """All coordinates against those drawn in doubles: DKW for both."""
    m, runs = 2, 1500
    size = m + 1 if real else 2 * m + 1
    noise = OrbitopeNoise(OrbitopeLaw(1.0, 2.0**-20, real), PureEvent(1.0))
    exact = np.array([noise.add(np.zeros(size), entropy.Secure()) for _ in range(runs)])
    fast = cone_draws(m, 400_000, rng, real=real)
    limit = math.sqrt(math.log(4 / ALPHA) / 2) * (runs**-0.5 + len(fast) ** -0.5)
    for i in range(size):
        assert _distance(exact[:, i], fast[:, i]) < limit
    assert _distance(2.0 * exact[:, 0], fast[:, 0]) > limit
    assert _distance(exact[:, 0] + 1.0, fast[:, 0]) > limit


def test_cones_of_degree_one_are_two_independent_laplace_pairs(rng):
    """(c_0 + c_1)/2 and (c_0 - c_1)/2 of A are independent exponentials: exact for A - B."""
    z = cone_draws(1, 4000, rng, real=True)
    pair = np.stack([z[:, 0] + z[:, 1], z[:, 0] - z[:, 1]]) / 2
    total = np.sum(np.abs(pair))
    assert 2 * min(gamma.cdf(total, pair.size), gamma.sf(total, pair.size)) > ALPHA
    assert gamma.sf(total / 0.8, pair.size) < ALPHA
    signs = np.sum(np.sign(pair[0]) == np.sign(pair[1]))
    assert abs(signs - 2000) < 6.2 * math.sqrt(1000)  # Hoeffding: below ALPHA / 2


@both
def test_many_long_draws(real, rng):
    draws = uniform_moments(64, 10_000, rng, real=real)
    assert draws.shape == (64 if real else 128, 10_000)
    assert np.all(np.abs(draws) <= 1 + 1e-9)
    assert max(gauge(point, real=real) for point in draws.T[:20]) <= 1 + 1e-7
    assert cone_draws(64, 100, rng, real=real).shape == (100, 65 if real else 129)


def test_public_draws_are_fixed_and_read_only():
    one, two = public_draws(5, real=True), public_draws(5, real=True)
    assert np.array_equal(one, two)
    public_draws.cache_clear()
    assert np.array_equal(one, public_draws(5, real=True))
    with pytest.raises(ValueError, match="read-only"):
        one[0, 0] = 0.0
