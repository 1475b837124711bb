"""M1: exact values, extremes, the private side, and the classic formula's failure (E1)."""

import math

import mpmath
import pytest
from dp_accounting import GaussianDpEvent
from dp_accounting.pld import PLDAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from mercer.promise.events import classic_multiplier, gaussian_log_delta, gaussian_multiplier


def exact_delta(mu: float, epsilon: float) -> mpmath.mpf:
    with mpmath.workdps(80):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        return mpmath.ncdf(near) - mpmath.exp(epsilon) * mpmath.ncdf(far)


@pytest.mark.parametrize(
    ("epsilon", "delta", "value", "digits"),
    [
        (1, 1e-6, 4.22468, 5e-6),
        (0.1, 1e-6, 36.30469, 5e-6),
        (4, 1e-6, 1.19352, 5e-6),
        (1, 0.1, 1.0859, 5e-5),
        (1, 1e-5, 3.7306, 5e-5),
    ],
)
def test_values_of_m1(epsilon, delta, value, digits):
    assert gaussian_multiplier(epsilon=epsilon, delta=delta) == pytest.approx(value, abs=digits)


@pytest.mark.parametrize("epsilon", [1e-3, 0.01, 0.1, 1.0, 8.0, 50.0])
@pytest.mark.parametrize("delta", [0.5, 0.1, 1e-6, 1e-12, 1e-30])
def test_calibration_is_tight_and_private_over_the_whole_range(epsilon, delta):
    multiplier = gaussian_multiplier(epsilon=epsilon, delta=delta)
    assert exact_delta(1 / multiplier, epsilon) <= delta
    assert exact_delta(1.0001 / multiplier, epsilon) > delta  # and no more noise than needed


@given(
    st.floats(1e-3, 50), st.floats(-30, -0.1).map(lambda e: 10.0**e)
)  # random parameters, checked against 80 digits
@settings(max_examples=60, deadline=None)
def test_never_on_the_wrong_side(epsilon, delta):
    multiplier = gaussian_multiplier(epsilon=epsilon, delta=delta)
    assert exact_delta(1 / multiplier, epsilon) <= delta
    assert math.exp(gaussian_log_delta(1 / multiplier, epsilon=epsilon)) == pytest.approx(
        float(exact_delta(1 / multiplier, epsilon)), rel=1e-6
    )


def test_agrees_with_a_privacy_loss_accountant():
    multiplier = gaussian_multiplier(epsilon=1.0, delta=1e-6)
    accountant = PLDAccountant().compose(GaussianDpEvent(multiplier))
    assert accountant.get_epsilon(1e-6) == pytest.approx(1.0, abs=2e-3)


def test_classic_formula_and_where_it_fails():
    assert classic_multiplier(epsilon=1, delta=1e-6) == pytest.approx(5.3868, abs=5e-5)
    with pytest.raises(ValueError, match=r"epsilon must be in \(0, 1\].*analytic"):
        classic_multiplier(epsilon=1.01, delta=1e-6)
    # E1: what the printed formula would give above 1
    for epsilon, delta, truth in ((16, 1e-6, 2e-5), (8, 0.1, 0.141)):
        printed = math.sqrt(2 * math.log(2 / delta)) / epsilon
        broken = float(exact_delta(1 / printed, epsilon))
        assert broken > delta
        assert broken == pytest.approx(truth, rel=0.1)


@pytest.mark.parametrize("epsilon", [None, 0, -1, math.nan, math.inf, "1", True])
def test_bad_epsilon_is_refused(epsilon):
    with pytest.raises((ValueError, TypeError), match="epsilon"):
        gaussian_multiplier(epsilon=epsilon, delta=1e-6)


@pytest.mark.parametrize("delta", [None, 0, 1, -0.1, 1.5, math.nan, "x"])
def test_bad_delta_is_refused(delta):
    with pytest.raises((ValueError, TypeError), match="delta"):
        gaussian_multiplier(epsilon=1, delta=delta)
