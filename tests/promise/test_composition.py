"""Lists fixed beforehand: closed forms, optimal composition, the private side, monotone."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.promise.composition import decimal, delta_of, epsilon_of, gaussian_above, gaussian_beside
from mercer.promise.events import (
    ApproximateEvent,
    GaussianEvent,
    PureEvent,
    RandomEvent,
    gaussian_log_delta,
    gaussian_multiplier,
)


def optimal(epsilon0, k, epsilon, delta0=0.0):
    """Kairouz, Oh and Viswanath 2015: optimal composition, term by term with 50 digits."""
    with mpmath.workdps(50):
        e0, e = mpmath.mpf(epsilon0), mpmath.mpf(epsilon)
        likely = mpmath.exp(e0) / (1 + mpmath.exp(e0))
        total = mpmath.mpf(0)
        for up in range(k + 1):
            loss = (2 * up - k) * e0
            chance = mpmath.binomial(k, up) * likely**up * (1 - likely) ** (k - up)
            total += chance * max(0, 1 - mpmath.exp(e - loss))
        return 1 - (1 - mpmath.mpf(delta0)) ** k * (1 - total)


def mixed(mu, epsilon0, epsilon):
    """One pure and one Gaussian release, with 50 digits."""

    def gaussian(e):
        near, far = mu / 2 - e / mu, -mu / 2 - e / mu
        return mpmath.ncdf(near) - mpmath.exp(e) * mpmath.ncdf(far)

    with mpmath.workdps(50):
        mu, e0, e = mpmath.mpf(mu), mpmath.mpf(epsilon0), mpmath.mpf(epsilon)
        likely = 1 / (1 + mpmath.exp(-e0))
        return likely * gaussian(e - e0) + (1 - likely) * gaussian(e + e0)


def test_pure_releases_add_up_as_they_are_printed():
    assert epsilon_of([PureEvent(0.1)] * 10, delta=0) == 1.0
    assert epsilon_of([PureEvent(0.1), PureEvent(0.2)], delta=0) == 0.3
    assert delta_of([PureEvent(0.1)] * 10, epsilon=1.0) == 0
    assert delta_of([PureEvent(0.1)] * 10, epsilon=0.9999) > 0
    assert decimal(0.1) == Fraction(1, 10)
    assert decimal(1e-6) == Fraction(1, 10**6)


@pytest.mark.parametrize("mus", [(0.3,), (0.1, 0.2, 0.05), (1.0,) * 9])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_gaussian_releases_join_to_one(mus, epsilon):
    events = [GaussianEvent(mu, 0.0) for mu in mus]
    mu = math.sqrt(sum(m * m for m in mus))
    exact = math.exp(gaussian_log_delta(mu, epsilon=epsilon))
    assert exact <= delta_of(events, epsilon=epsilon) <= exact * (1 + 1e-8)
    spoiled = [GaussianEvent(m, 1e-9) for m in mus]
    more = len(mus) * 1e-9 * (1 + math.exp(epsilon))
    assert delta_of(spoiled, epsilon=epsilon) == pytest.approx(min(1, exact + more), rel=1e-8)


@pytest.mark.parametrize(
    ("epsilon0", "k", "epsilon"), [(0.1, 50, 3), (0.5, 8, 2), (1, 2, 0.5), (0.01, 400, 1)]
)
def test_optimal_composition_of_pure_releases(epsilon0, k, epsilon):
    exact = optimal(epsilon0, k, epsilon)
    ours = delta_of([PureEvent(epsilon0)] * k, epsilon=epsilon)
    assert exact <= ours <= exact * (1 + mpmath.mpf(1e-6)) + mpmath.mpf(1e-14)


def test_optimal_composition_of_approximate_releases():
    exact = optimal(0.3, 12, 1.5, 1e-4)
    ours = delta_of([ApproximateEvent(0.3, 1e-4)] * 12, epsilon=1.5)
    assert exact <= ours <= exact * (1 + mpmath.mpf(1e-8))
    assert delta_of([ApproximateEvent(1, 1e-5)] * 2, epsilon=2) == pytest.approx(2e-5, rel=1e-4)


@given(st.floats(0.02, 3), st.floats(0.01, 3), st.floats(0.1, 10))
@settings(max_examples=60, deadline=None)
def test_one_pure_and_one_gaussian_never_below_the_truth(mu, epsilon0, epsilon):
    exact = mixed(mu, epsilon0, epsilon)
    ours = delta_of([PureEvent(epsilon0), GaussianEvent(mu, 0.0)], epsilon=epsilon)
    assert exact <= ours <= exact * (1 + mpmath.mpf(1e-7)) + mpmath.mpf(1e-299)


def test_many_kinds_go_through_privacy_loss_distributions():
    """Too many different losses to sum: dp-accounting, above the truth and close to it."""
    spread = [PureEvent(0.1 + 1e-9 * k) for k in range(16)]
    same = [PureEvent(0.1)] * 16
    for gaussian in ([], [GaussianEvent(0.3, 0.0)]):
        sharp = delta_of([*same, *gaussian], epsilon=1.2)
        ours = delta_of([*spread, *gaussian], epsilon=1.2)
        assert sharp <= ours <= 1.1 * sharp


@given(
    st.lists(
        st.sampled_from(
            [
                PureEvent(0.2),
                PureEvent(0.7),
                GaussianEvent(0.4, 1e-18),
                GaussianEvent(1.1, 0.0),
                ApproximateEvent(0.5, 1e-7),
            ]
        ),
        min_size=1,
        max_size=6,
    ),
    st.floats(0.01, 5),
    st.floats(0.01, 2),
)
@settings(max_examples=40, deadline=None)
def test_monotone_and_inverse(events, epsilon, more):
    delta = delta_of(events, epsilon=epsilon)
    # distances count (1 + e^epsilon) times: up to 6e-18 here
    slack = 6e-18 * (1 + math.exp(epsilon + more)) + 1e-15
    assert delta_of(events, epsilon=epsilon + more) <= delta * (1 + 1e-9) + slack
    assert delta_of([*events, PureEvent(0.3)], epsilon=epsilon) >= delta * (1 - 1e-9)
    if 1e-6 < delta < 0.5:
        back = epsilon_of(events, delta=delta)
        assert delta_of(events, epsilon=back) <= delta
        assert back == pytest.approx(epsilon, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("pure", [0.01, 0.1, 0.5, 0.9, 0.99])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (4.0, 1e-10), (0.2, 0.01)])
def test_gaussian_beside_a_pure_release(pure, epsilon, delta):
    pure *= epsilon
    multiplier = gaussian_beside(pure, epsilon=epsilon, delta=delta)
    assert multiplier <= gaussian_multiplier(epsilon=epsilon - pure, delta=delta)
    assert multiplier >= gaussian_multiplier(epsilon=epsilon, delta=delta)
    assert mixed(1 / multiplier, pure, epsilon) <= delta  # private
    assert mixed(1.0001 / multiplier, pure, epsilon) > delta  # and no more noise than needed


@pytest.mark.parametrize("mu", [1e-9, 1e-5, 0.01, 1.0, 30.0])
@pytest.mark.parametrize("epsilon", [-3.0, -1e-3, 0.0, 1e-6, 0.1, 3.0, 300.0])
def test_rounding_is_paid(mu, epsilon):
    with mpmath.workdps(80):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        exact = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        exact = mpmath.log(exact) if exact > 0 else -mpmath.inf
    ours = gaussian_above(mu, epsilon=epsilon)
    assert exact <= ours
    if exact > -500 and mu > 1e-4:
        assert ours <= exact + 1e-4


def test_bad_arguments():
    with pytest.raises(ValueError, match="random-DP"):
        delta_of([RandomEvent(1, 0, 0.1)], epsilon=1)
    with pytest.raises(ValueError, match="epsilon must be in"):
        delta_of([PureEvent(1)], epsilon=-1)
    with pytest.raises(ValueError, match="delta must be in"):
        epsilon_of([PureEvent(1)], delta=1)
    with pytest.raises(ValueError, match="ask for a larger delta"):
        epsilon_of([GaussianEvent(1, 1e-6)], delta=1e-7)
    with pytest.raises(ValueError, match="epsilon_pure must be below"):
        gaussian_beside(1.0, epsilon=1.0, delta=1e-6)
