"""The Markov form: exactly the kernel's Gaussian law, without a matrix of points x points."""

import itertools
import math

import numpy as np
import pytest
from flint import arb, ctx
from scipy.special import gammainc

from mercer.kernels import Exponential, Matern32, Matern52
from mercer.spaces.markov import path_from, sample_path, state_of, unwhiten, whiten

KERNELS = [Exponential(((0.04,),)), Matern32(((0.04,),)), Matern52(((0.04,),))]


@pytest.mark.parametrize("kernel", KERNELS)
def test_even_points_have_the_kernels_covariance(kernel):
    side, p = 30, kernel.states
    z = np.linspace(0, 1, side)[:, None]
    eye = np.eye(side * p).reshape(side, p, side * p)
    factor = unwhiten(kernel, eye, 1 / (side - 1))[:, 0]  # values as a map of the coordinates
    assert np.allclose(factor @ factor.T, kernel(z, z), atol=1e-10)
    assert np.allclose(whiten(kernel, unwhiten(kernel, eye, 0.1), 0.1), eye, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("spread", ["even", "random", "clustered", "far"])
def test_paths_have_the_kernels_covariance(kernel, spread, rng):
    t = np.sort(rng.random(25))
    if spread == "clustered":  # close points: where innovation variances would cancel
        t = np.sort(np.concatenate([t, t + 1e-7, t + 1e-4]))
    if spread == "even":
        t = np.linspace(0, 1, 25)
    if spread == "far":  # far apart in length scales: the recursion restarts its scaling
        t = np.cumsum(rng.exponential(40, 25))
    p = kernel.states
    columns = []
    for unit in np.eye(t.size * p):
        rows, place = unit.reshape(t.size, p).T, [0]

        def following(n, rows=rows, place=place):
            place[0] += n
            return rows[:, place[0] - n : place[0]]

        columns.append(path_from(kernel, np.diff(t), following))
    factor = np.stack(columns, axis=1)
    assert np.allclose(factor @ factor.T, kernel(t[:, None], t[:, None]), atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_states_are_derivatives(kernel):
    rate = kernel.rate(0)
    d = np.array([[2.0], [3.0], [5.0]])[: kernel.states]
    expected = [2.0, 3 + 2 * rate, 5 + 2 * rate * 3 + rate**2 * 2][: kernel.states]
    assert np.allclose(state_of(kernel, d)[:, 0], expected)


def test_path_takes_any_increasing_points(rng):
    assert sample_path(KERNELS[1], np.array([0.0, 0.2, 0.9]), rng=rng).shape == (3,)
    with pytest.raises(ValueError, match="increasing"):
        sample_path(KERNELS[1], np.array([0.0, 0.0]), rng=rng)


@pytest.mark.parametrize("states", [1, 2, 3])
def test_innovations_are_known_to_256_units_in_the_last_place(states, rng):
    """What `whitener` supposes of the incomplete Gamma function."""
    with ctx.workprec(400):
        for s, x in itertools.product(range(1, 2 * states), np.exp(rng.uniform(-20, 6.5, 300))):
            t = arb(float(x))
            true = 1 - (-t).exp() * sum((t**k / math.factorial(k) for k in range(s)), arb(0))
            assert abs(float((arb(float(gammainc(s, x))) / true - 1).mid())) < 240 * 2.0**-53
