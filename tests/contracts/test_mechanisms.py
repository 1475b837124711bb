"""Every mechanism, found by name: lattice, law, norm, event; each test would see 20 % less noise.

Scales are tested by statistics of exactly known law.  Rounding to the lattice changes them by less
than 1e-5 of their standard deviation, and so the false-alarm rate by less than 1e-4 of itself.
"""

import math
from typing import get_args

import numpy as np
import pytest
from scipy.special import gammaln, ndtri, roots_genlaguerre
from scipy.stats import binom, chi2, gamma, nbinom

from mercer.noise import entropy
from mercer.noise.mechanisms import (
    L2,
    MECHANISMS,
    Gaussian,
    Geometric,
    KNorm,
    Laplace,
    Orbitope,
    cross_polytope,
    cube,
    euclidean_ball,
)
from mercer.promise.events import Norm, PureEvent, Sensitivity, gaussian_multiplier
from tests.conftest import ALPHA

NAMED = {name: kind() for name, kind in MECHANISMS.items()}
BODIES = {body.__name__: body for body in (cube, cross_polytope, euclidean_ball)}
SIZE = 5
ALL = NAMED | {
    "gaussian-classic": Gaussian("classic"),
    "orbitope-complex": Orbitope(real=False),
    **{f"k-norm-{name}": KNorm(body(SIZE)) for name, body in BODIES.items()},
}
PURE = {name: mechanism for name, mechanism in ALL.items() if mechanism.pure}
every = pytest.mark.parametrize("mechanism", ALL.values(), ids=ALL)
every_pure = pytest.mark.parametrize("mechanism", PURE.values(), ids=PURE)
DELTA = Sensitivity(0.01, norm="l2")


def sensitivity(mechanism, value=0.01):
    whole = isinstance(mechanism, Geometric)  # which is for counts
    return Sensitivity(5000.0 if whole else value, norm=mechanism.norm)


def two_sided(law, value, *parameters):
    least = value - 1 if law in (binom, nbinom) else value  # P(at least), P(at most)
    return 2 * min(law.cdf(value, *parameters), law.sf(least, *parameters))


# one statistic for each law: noise (runs, size) and the scale claimed -> p-value, exact


def gaussian_p(noise, law):
    return two_sided(chi2, float(np.sum((noise / law.scale) ** 2)), noise.size)


def laplace_p(noise, law):
    """P(k = 0) and, of the others, |k| - 1 geometric: both exact on the lattice."""
    steps = np.rint(np.abs(noise) / law.step)
    q = math.exp(-law.step / law.scale)
    moved = int(np.count_nonzero(steps))
    longer = float(np.sum(steps)) - moved
    length = two_sided(nbinom, longer, moved, -math.expm1(-law.step / law.scale))
    return 2 * min(length, two_sided(binom, moved, noise.size, 2 * q / (1 + q)))


def gauge_p(gauge):
    """The gauge of K-norm noise is Gamma(size) times the scale."""

    def p_value(noise, law):
        runs, size = noise.shape
        return two_sided(gamma, sum(map(gauge, noise)) / law.scale, runs * size)

    return p_value


def orbitope_p(noise, law):
    """c_0 is a difference of two Gamma(size): its exact distribution function, made normal."""
    runs, size = noise.shape
    tail = gamma_difference_sf(np.abs(noise[:, 0]) / law.scale, size)
    return two_sided(chi2, float(np.sum(ndtri(tail) ** 2)), runs)


def gamma_difference_sf(x, k):
    """P(A - B > x), x >= 0, A and B independent Gamma(k), k whole.

    P(A > x + B) = E e^-(x + B) sum_(i<k) (x + B)^i / i!: a polynomial under b^(k-1) e^(-2b), for
    which k nodes of Gauss and Laguerre are exact.
    """
    nodes, weights = roots_genlaguerre(k, k - 1)
    t = x[:, None] + nodes / 2
    i = np.arange(k)
    terms = np.exp(i * np.log(t[..., None]) - gammaln(i + 1))
    # the node's e^-b is in the weight: e^-b e^-b b^(k-1) = (2b)^(k-1) e^(-2b) / 2^(k-1)
    return np.exp(-x) * (terms.sum(axis=2) @ weights) / 2.0**k / math.exp(gammaln(k))


def p_value_of(mechanism):
    match mechanism:
        case Gaussian():
            return gaussian_p
        case Laplace() | Geometric():
            return laplace_p
        case L2():
            return gauge_p(lambda z: float(np.linalg.norm(z)))
        case KNorm():
            return gauge_p(mechanism.body.gauge)
        case Orbitope():
            return orbitope_p
    raise AssertionError(f"no test of the law of {mechanism.name}")


def test_every_mechanism_has_a_test_of_its_law():
    assert all(p_value_of(mechanism) for mechanism in ALL.values())
    # the law of a difference of two exponentials is Laplace's, and a plain integral agrees
    x = np.array([0.0, 0.5, 4.0])
    assert np.allclose(gamma_difference_sf(x, 1), np.exp(-x) / 2)
    b = np.linspace(0, 80, 400_001)
    for value in x:
        plain = np.trapezoid(gamma.pdf(b, 5) * gamma.sf(value + b, 5), b)
        assert gamma_difference_sf(np.array([value]), 5)[0] == pytest.approx(plain, rel=1e-6)


@every
@pytest.mark.parametrize("source", ["secure", "seeded"])
def test_noise_is_on_the_lattice_and_has_its_scale(mechanism, source, rng):
    noise = mechanism.calibrate(sensitivity(mechanism), SIZE, epsilon=0.7, delta=1e-6)
    drawn = entropy.Secure() if source == "secure" else entropy.Seeded(rng)
    centre = np.array([1.0, -0.25, 0.3, 1 / 3, 0.0]) * (3 if noise.law.step < 1 else 1000)
    if isinstance(mechanism, Geometric):
        centre = np.rint(centre)
    if isinstance(mechanism, (Gaussian, Laplace, Geometric)):
        out = noise.add(np.tile(centre, 400), drawn).reshape(400, SIZE)
    else:  # only one coordinate of the orbitope has a simple law
        runs = 2500 if isinstance(mechanism, Orbitope) else 400
        out = np.array([noise.add(centre, drawn) for _ in range(runs)])
    assert math.frexp(noise.law.step)[0] == 0.5  # a power of two
    assert np.array_equal(out / noise.law.step, np.rint(out / noise.law.step))
    p_value = p_value_of(mechanism)
    assert p_value(out - centre, noise.law) > ALPHA
    assert p_value((out - centre) * 0.8, noise.law) < ALPHA  # noise 20 % too small is seen
    assert p_value((out - centre) / 0.8, noise.law) < ALPHA


@every_pure
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
@pytest.mark.parametrize("value", [1e-7, 0.01, 3.0])
def test_pure_noise_is_no_less_than_the_promise_needs(mechanism, epsilon, value):
    """Delta_1/eps, Delta_K/eps, 2 Delta/eps: never below, and above by what rounding costs."""
    if isinstance(mechanism, Geometric):
        value = 3.0
    bound = Sensitivity(value, norm=mechanism.norm)
    noise = mechanism.calibrate(bound, SIZE, epsilon=epsilon, delta=0.0)
    needed = value / epsilon * (2 if isinstance(mechanism, Orbitope) else 1)
    snapped = SIZE * noise.law.step / epsilon if isinstance(mechanism, Laplace) else 0.0
    assert needed <= noise.law.scale <= (needed + snapped) * (1 + 1e-9)
    assert noise.law.step <= max(noise.law.scale * 2.0**-19, 1.0 * isinstance(mechanism, Geometric))
    assert noise.event == PureEvent(epsilon)


@pytest.mark.parametrize("size", [1, 40, 5000])
@pytest.mark.parametrize("value", [1e-9, 0.01, 3.0])
def test_snapping_is_in_the_laplace_scale(size, value):
    """Two snapped vectors differ by size * step more in the l1 norm: the scale covers it."""
    noise = Laplace().calibrate(Sensitivity(value, norm="l1"), size, epsilon=1.0)
    assert noise.law.scale >= value + size * noise.law.step
    assert noise.scale * noise.law.step >= value + size * noise.law.step


@every
def test_a_sensitivity_in_another_norm_is_refused(mechanism):
    for norm in set(get_args(Norm)) - {mechanism.norm}:
        with pytest.raises(ValueError, match=f"must be in the norm '{mechanism.norm}'"):
            mechanism.calibrate(Sensitivity(1.0, norm=norm), SIZE, epsilon=1.0, delta=1e-6)


@every_pure
def test_a_pure_mechanism_needs_no_delta_and_states_none(mechanism):
    given, without = (
        mechanism.calibrate(sensitivity(mechanism), SIZE, epsilon=1.0, delta=delta) for delta in (1e-6, 0.0)
    )
    assert given.event == without.event == PureEvent(1.0)
    assert given.law == without.law
    for delta in (-0.1, 1.0, math.nan):
        with pytest.raises(ValueError, match="delta must be in"):
            mechanism.calibrate(sensitivity(mechanism), SIZE, epsilon=1.0, delta=delta)
    for epsilon in (0.0, -1.0, math.inf):
        with pytest.raises(ValueError, match="epsilon must be"):
            mechanism.calibrate(sensitivity(mechanism), SIZE, epsilon=epsilon, delta=0.0)


@every
def test_the_law_and_the_multiplier_describe_the_noise(mechanism):
    """Public deviations: their mean square is what rules and plans were told."""
    noise = mechanism.calibrate(sensitivity(mechanism), SIZE, epsilon=0.7, delta=1e-6)
    deviations = noise.law.deviations(SIZE)
    assert deviations.shape == (SIZE,)
    told = mechanism.multiplier(SIZE, epsilon=0.7, delta=1e-6) * sensitivity(mechanism).value
    used = deviations[1:] if isinstance(mechanism, Orbitope) else deviations  # c_0 is apart
    tolerance = 0.3 if isinstance(mechanism, Geometric) else 1e-3  # told at sensitivity one
    assert math.sqrt(np.mean(used**2)) == pytest.approx(told, rel=tolerance)


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="size must be the body's dimension 3, got 4"):
        KNorm(cube(3)).calibrate(Sensitivity(1.0, norm="body"), 4, epsilon=1.0)
    with pytest.raises(ValueError, match="size must be odd"):
        Orbitope(real=False).calibrate(Sensitivity(1.0, norm="moments"), 4, epsilon=1.0)
    for size in (1, 514):
        with pytest.raises(ValueError, match="size must be in"):
            Orbitope().calibrate(Sensitivity(1.0, norm="cosines"), size, epsilon=1.0)
    with pytest.raises(ValueError, match="whole number.*use 'laplace'"):
        Geometric().calibrate(Sensitivity(0.5, norm="l1"), 3, epsilon=1.0)


@pytest.mark.parametrize("mechanism", [Gaussian(), Gaussian("classic")], ids=["analytic", "classic"])
@pytest.mark.parametrize("size", [1, 40, 5000])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-9), (0.5, 0.1)])
def test_gaussian_lattice_is_fine_enough(mechanism, size, epsilon, delta):
    """M3.5: s >= max(2^30, sqrt(25 (1 + e^eps) m / delta)), slack <= delta/1000, Delta widened."""
    noise = mechanism.calibrate(DELTA, size, epsilon=epsilon, delta=delta)
    sd, step = noise.law.scale, noise.law.step
    assert math.frexp(step)[0] == 0.5  # a power of two
    least = max(2.0**30, math.sqrt(25 * (1 + math.exp(epsilon)) * size / delta))
    assert sd / step >= least
    assert noise.scale == sd / step
    assert noise.event.distance * (1 + math.exp(epsilon)) <= delta / 1000 * (1 + 1e-9)
    multiplier = mechanism.multiplier(size, epsilon=epsilon, delta=delta)
    assert sd >= multiplier * (DELTA.value + step * math.sqrt(size))
    assert sd <= multiplier * DELTA.value * 1.001  # exactness costs next to nothing


def test_multiplier_is_that_of_m1():
    noise = Gaussian().calibrate(DELTA, 10, epsilon=1.0, delta=1e-6)
    assert noise.law.scale / DELTA.value == pytest.approx(4.22468, rel=3e-4)
    assert 1 / noise.event.mu >= gaussian_multiplier(epsilon=1.0, delta=1e-6)


def test_parameters_beyond_64_bit_draws_are_refused():
    with pytest.raises(ValueError, match="finer lattice than 64-bit draws"):
        Gaussian().calibrate(DELTA, 100, epsilon=1.0, delta=1e-33)
    with pytest.raises(ValueError, match="calibration must be one of"):
        Gaussian("loose")


LEAKS = {name: m for name, m in ALL.items() if not isinstance(m, (KNorm, Geometric))}


@pytest.mark.parametrize("mechanism", LEAKS.values(), ids=LEAKS)
def test_low_bits_tell_nothing(mechanism):
    """Float noise on float values leaks through the low bits; lattice output cannot.

    0 + z keeps all bits of z, also those far below the ulp of 1; 1 + z has lost them.  So one
    look at the last bits tells which of two neighbours was released, whatever epsilon says.
    """
    bound, size = Sensitivity(1.0, norm=mechanism.norm), 201
    noise = mechanism.calibrate(bound, size, epsilon=1.0, delta=1e-6)

    def coarse(values):  # all outputs are whole numbers of 2^-53
        small = np.abs(values)[np.abs(values) < 0.5]
        return bool(np.all(small * 2.0**53 == np.rint(small * 2.0**53)))

    z = np.random.default_rng().standard_normal(4000) * noise.law.scale
    assert coarse(1.0 + z)
    assert not coarse(0.0 + z)  # the leak
    zero, one = (noise.add(np.full(size, float(k)), entropy.Seeded(7)) for k in (0, 1))
    assert coarse(zero)  # ours: both on one lattice
    assert coarse(one)
