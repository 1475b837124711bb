"""Plans: accuracy known before any data, and the same as the release's."""

import numpy as np
import pytest

import mercer

PROMISE = {"epsilon": 1.0, "delta": 1e-6}


@pytest.mark.parametrize("boundary", ["reflect", "periodic", "open"])
def test_a_plan_is_what_the_release_turns_out_to_be(boundary, rng):
    plan = mercer.density_plan(n=2000, bounds=(0, 100), boundary=boundary, bandwidth=5.0, **PROMISE)
    release = mercer.density(
        rng.random(2000) * 100, bounds=(0, 100), boundary=boundary, bandwidth=5.0, **PROMISE
    )
    assert plan.privacy_error**2 == pytest.approx(release.accuracy.integrated)
    assert plan.pointwise == pytest.approx(release.accuracy.pointwise)
    assert plan.coordinates == release.basis.size
    assert plan.bandwidth == pytest.approx((5.0,))
    assert plan.finest == pytest.approx((5.0,))


def test_auto_plans_know_the_noise_bandwidth(rng):
    plan = mercer.density_plan(n=2000, bounds=[(0, 1), (0, 10)], **PROMISE)
    data = rng.random((2000, 2)) * [1, 10]
    release = mercer.density(data, bounds=[(0, 1), (0, 10)], **PROMISE)
    assert plan.finest == pytest.approx(tuple(release.finest_bandwidth))
    assert plan.bandwidth[0] >= plan.finest[0]


def test_less_privacy_or_more_data_is_more_accurate():
    def error(n, epsilon):
        return mercer.density_plan(n=n, bounds=(0, 1), epsilon=epsilon, delta=1e-6).privacy_error

    assert error(1000, 0.1) > error(1000, 1.0) > error(10_000, 1.0) > error(100_000, 1.0)


def test_sampling_error_is_that_of_the_estimate_without_privacy(rng):
    """Mean over fresh samples of the squared distance to the mean estimate, interior bandwidth."""
    plan = mercer.density_plan(n=500, bounds=(0, 1), bandwidth=0.05, **PROMISE)
    loud = {"epsilon": 50.0, "delta": 0.5, "insist": True, "bounds": (0, 1), "bandwidth": 0.05}
    x = (np.arange(200) + 0.5) / 200
    curves = np.array([mercer.density(rng.random(500), rng=rng, **loud).raw(x) for _ in range(40)])
    real = np.mean((curves - 1.0) ** 2)
    assert 0.5 < real / plan.sampling_error**2 < 1.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 1}, "n must be in"),
        ({"n": 2.5}, "n must be a whole"),
        ({"bounds": (1, 0)}, "lower < upper"),
        ({"epsilon": None}, "epsilon is missing"),
        ({"delta": 2}, "delta must be"),
    ],
)
def test_errors(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        mercer.density_plan(**({"n": 100, "bounds": (0, 1), **PROMISE} | options))
