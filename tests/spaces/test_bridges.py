"""Bridges: the conditional law of a Markov path between two known states."""

import mpmath as mp
import numpy as np
import pytest

from mercer.kernels import Exponential, Matern32, Matern52
from mercer.spaces.bridges import DETERMINED, bridge, bridge_point, fill
from mercer.spaces.markov import innovation, transition

KERNELS = [Exponential(((0.04,),)), Matern32(((0.04,),)), Matern52(((0.04,),))]
GAPS = [(0.1, 0.2), (0.2, 0.05), (1e-3, 0.4), (0.3, 1e-4), (2.0, 30.0), (1e-2, 1e-2)]


def exact(kernel, before, after):
    """Weights of both states and the covariance, in sixty digits."""
    p, rate = kernel.states, mp.mpf(kernel.rate(0))

    def step(gap):
        out = mp.matrix(p, p)
        for i in range(p):
            for j in range(i, p):
                out[i, j] = mp.exp(-rate * gap) * mp.mpf(gap) ** (j - i) / mp.factorial(j - i)
        return out

    def new(gap):
        out, power = mp.matrix(p, p), (2 * rate) ** (2 * p - 1) / mp.binomial(2 * p - 2, p - 1)
        for i in range(p):
            for j in range(p):
                a, b = p - 1 - i, p - 1 - j
                whole = mp.gammainc(a + b + 1, 0, 2 * rate * gap) / (2 * rate) ** (a + b + 1)
                out[i, j] = power * whole / mp.factorial(a) / mp.factorial(b)
        return out

    first, second, lead = step(before), step(after), new(before)
    gain = lead * second.T * (second * lead * second.T + new(after)) ** -1
    return first - gain * second * first, gain, lead - gain * second * lead


def numbers(matrix):
    return np.array(matrix.tolist(), dtype=float)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
@pytest.mark.parametrize("gaps", GAPS)
def test_bridges_have_the_conditional_law(kernel, gaps, rng):
    with mp.workdps(60):
        left, right, spread = (numbers(m) for m in exact(kernel, *gaps))
    p = kernel.states
    size = np.sqrt(np.diag(spread))

    def at(start, end, z):
        pair = [np.array([gap]) for gap in gaps]
        return bridge(kernel, *pair, start[None], end[None], z[None])

    zero, scale = np.zeros(p), 1 + np.abs(left) + np.abs(right)
    for k, unit in enumerate(np.eye(p)):
        assert np.all(np.abs(at(unit, zero, zero)[0][0] - left[:, k]) <= 1e-10 * scale[:, k])
        assert np.all(np.abs(at(zero, unit, zero)[0][0] - right[:, k]) <= 1e-10 * scale[:, k])
    factor = np.stack([at(zero, zero, unit)[0][0] for unit in np.eye(p)], axis=1)
    if spread[0, 0] > DETERMINED:
        outer = np.outer(size, size)
        assert np.allclose((factor @ factor.T) / outer, spread / outer, atol=1e-7)
    else:
        assert not np.any(factor)
    assert np.isclose(at(zero, zero, zero)[1][0], spread[0, 0], rtol=1e-10)
    start, end, z = rng.normal(size=(3, p))
    single, variance = bridge_point(kernel, *gaps, start.tolist(), end.tolist(), z.tolist())
    many, variances = at(start, end, z)
    assert np.allclose(single, many[0], rtol=1e-7, atol=1e-9)
    assert np.isclose(variance, variances[0], rtol=1e-9)


def test_weights_of_the_exponential_kernel_are_m7s_and_not_halls_exchanged_ones():
    kernel = KERNELS[0]
    a, b = np.exp(-5 * 0.03), np.exp(-5 * 0.4)
    left, right = (
        bridge(kernel, np.array([0.03]), np.array([0.4]), np.array([[u]]), np.array([[v]]), np.zeros((1, 1)))[
            0
        ][0, 0]
        for u, v in ((1.0, 0.0), (0.0, 1.0))
    )
    assert np.isclose(left, a * (1 - b**2) / (1 - a**2 * b**2))
    assert np.isclose(right, b * (1 - a**2) / (1 - a**2 * b**2))
    assert left > 0.8 > 0.1 > right  # the nearer point counts more; E2 has them the other way round


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_a_gap_of_nothing_is_the_neighbour(kernel, rng):
    p = kernel.states
    left, right, z = rng.normal(size=(3, 1, p))
    for before, after, end in ((0.0, 0.2, left), (0.2, 0.0, right)):
        state, variance = bridge(kernel, np.array([before]), np.array([after]), left, right, z)
        assert np.allclose(state, end, rtol=1e-12)
        assert variance[0] == 0
        one = bridge_point(kernel, before, after, left[0].tolist(), right[0].tolist(), z[0].tolist())
        assert np.allclose(one[0], end[0])
        assert one[1] == 0


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: k.name)
def test_a_filled_path_has_the_kernels_covariance_to_the_last_digits(kernel, rng):
    """Answers are linear in the normals, so their covariance is known without sampling."""
    x = np.sort(rng.uniform(0.05, 0.95, 12))
    p = kernel.states
    first = np.linalg.cholesky(innovation(kernel, np.inf))
    later = np.linalg.cholesky(innovation(kernel, 1.0))
    columns = []
    for unit in np.eye((len(x) + 2) * p).reshape(-1, len(x) + 2, p):
        start = first @ unit[0]
        end = transition(kernel, 1.0) @ start + later @ unit[1]
        place = [2]

        def following(n, unit=unit, place=place):
            place[0] += n
            return unit[place[0] - n : place[0]]

        ends = (np.zeros(len(x)), np.ones(len(x)))
        states, knots = fill(
            kernel, x, ends, (np.tile(start, (len(x), 1)), np.tile(end, (len(x), 1))), following
        )
        columns.append(states[:, 0])
    factor = np.stack(columns, axis=1)
    error = np.abs(factor @ factor.T - kernel(x[:, None], x[:, None]))
    assert np.max(error) < (1e-12 if np.all(knots) else 10 * np.sqrt(DETERMINED))


def test_points_that_are_determined_are_no_knots(rng):
    kernel = KERNELS[2]
    x = np.sort(rng.uniform(0.5, 0.5 + 1e-9, 50))
    ends = (np.zeros(50), np.ones(50))
    sides = (np.zeros((50, 3)), np.ones((50, 3)))
    states, knots = fill(kernel, x, ends, sides, lambda n: rng.standard_normal((n, 3)))
    assert np.sum(knots) == 1  # the first that was drawn says all
    assert np.ptp(states[:, 0]) < 1e-4
    assert fill(kernel, x[:0], (x[:0], x[:0]), (states[:0], states[:0]), lambda n: np.zeros((n, 3)))[
        0
    ].shape == (0, 3)
