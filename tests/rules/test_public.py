"""Public rules of pure releases: how many coordinates, from n and epsilon alone."""

import inspect

import numpy as np
import pytest

import mercer
from mercer.noise.laws import cone_draws
from mercer.rules import public as rules_density
from mercer.rules.public import CIRCLES, ball_rule, moment_degree, moment_rule, orbitope_variance

BOUNDARIES = tuple(CIRCLES)
SIZES = (10**2, 10**3, 10**4, 10**5, 10**6, 10**8)


def rule(n, epsilon=1.0, boundary="reflect"):
    return moment_rule(orbitope_variance(boundary, n=n, epsilon=epsilon), n=n, boundary=boundary)


def test_rules_cannot_see_a_record():
    for function in (orbitope_variance, moment_rule, moment_degree, ball_rule):
        names = set(inspect.signature(function).parameters)
        assert names <= {"boundary", "n", "epsilon", "variance", "h", "most", "dimension"}
    assert "mercer.sensitive.data" not in inspect.getsource(rules_density)


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("m", [8, 32])
def test_variances_are_nearly_those_of_the_noise(boundary, m, rng):
    """Within 7 % (real) and 25 % (complex, m = 8; 15 % at 32); 40 000 draws are good to 2 %."""
    n, epsilon, real = 1000, 0.7, boundary == "reflect"
    draws = cone_draws(m, 40_000, rng, real=real)[:, 1:] * 2 / (n * epsilon)
    square = np.mean(draws.reshape(len(draws), -1, m) ** 2, axis=(0, 1))
    coefficient = square * 2 / CIRCLES[boundary][2]  # of functions with unit L2 norm
    ratio = orbitope_variance(boundary, n=n, epsilon=epsilon)(m) / coefficient
    off = {True: 0.09, False: 0.27 if m == 8 else 0.15}[real]
    assert np.all(np.abs(ratio - 1) < off)
    assert not np.all(np.abs(1.5 * ratio - 1) < off)


@pytest.mark.parametrize("boundary", BOUNDARIES)
def test_more_records_show_more_detail(boundary):
    degrees, errors = [], []
    for n in SIZES:
        degree, expected = rule(n, boundary=boundary)
        degrees.append(degree)
        errors.append(expected.total)
        assert expected.total == expected.bias + expected.sampling + expected.privacy
        assert min(expected.bias, expected.sampling, expected.privacy) > 0
    assert degrees == sorted(degrees)
    assert errors == sorted(errors, reverse=True)
    assert 2 <= degrees[0] <= 16  # next to nothing can be told of a hundred
    assert degrees[-1] == 256


def test_more_privacy_shows_less():
    degrees = [rule(10_000, epsilon)[0] for epsilon in (0.01, 0.1, 1.0, 10.0)]
    totals = [rule(10_000, epsilon)[1].total for epsilon in (0.01, 0.1, 1.0, 10.0)]
    assert degrees == sorted(degrees)
    assert totals == sorted(totals, reverse=True)


@pytest.mark.parametrize("n", SIZES[1:5])
def test_finer_detail_costs_what_is_said(n):
    """The degree is at most four times that of least error, and no reference loses over 15 %,

    or 35 % where the best degree is at least 6.
    """
    variance = orbitope_variance("reflect", n=n, epsilon=1.0)

    def errors(m):
        return rules_density._least(m, variance(m), n=n, boundary="reflect")[1]

    totals = {m: errors(m) for m in rules_density._LADDER if m <= 256}
    best = min(totals, key=lambda m: float(np.sum(np.log(totals[m]))))
    chosen = rule(n)[0]
    assert best <= chosen <= 4 * best
    price = 0.35 if best >= 6 else 0.15
    assert np.all(totals[chosen] <= (1 + price) * totals[best])


def test_degree_of_a_given_bandwidth():
    variance = orbitope_variance("reflect", n=10**5, epsilon=1.0)
    options = {"boundary": "reflect", "most": 512}
    widths = (0.3, 0.1, 0.05, 0.02, 0.01, 0.005)
    degrees = [moment_degree(h, variance, n=10**5, **options) for h in widths]
    assert degrees == sorted(degrees)
    for h, m in zip(widths, degrees, strict=True):  # what is left out hides in the sampling error
        j = np.arange(1, 4096)
        square = 2 * np.exp(-((np.pi * j * h) ** 2))
        assert np.sum(square[m:]) <= 0.05 * np.sum(square) / 2 / 10**5 or m == 256
    few = orbitope_variance("reflect", n=100, epsilon=0.1)
    assert moment_degree(0.05, few, n=100, **options) < degrees[2]
    with pytest.raises(ValueError, match="bandwidth must be at least .* use 'auto' or a larger one"):
        moment_degree(1e-3, variance, n=10**5, **options)


@pytest.mark.parametrize("boundary", BOUNDARIES)
@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_ball_rule(boundary, dimension):
    rules = [ball_rule(n=n, epsilon=1.0, dimension=dimension, boundary=boundary) for n in SIZES[:5]]
    widths = [r.bandwidth for r in rules]
    assert widths == sorted(widths, reverse=True)
    totals = [r.expected.total for r in rules]
    assert totals == sorted(totals, reverse=True)
    assert all(0 < r.cut < 1 and r.expected.bandwidth >= r.bandwidth * (1 - 1e-12) for r in rules)
    less = ball_rule(n=1000, epsilon=0.1, dimension=dimension, boundary=boundary)
    assert less.bandwidth >= rules[1].bandwidth


def test_releases_follow_the_rules(rng):
    for n in (200, 5000):
        release = mercer.density(rng.random(n), bounds=(0, 1), epsilon=1)
        assert release.basis.size == rule(n)[0] + 1
        plan = mercer.density_plan(n=n, bounds=(0, 1), epsilon=1)
        assert plan.coordinates == release.basis.size
    plane = mercer.density(rng.random((2000, 2)), bounds=[(0, 1)] * 2, epsilon=1)
    expected = ball_rule(n=2000, epsilon=1.0, dimension=2, boundary="reflect")
    assert plane.basis.lengths == pytest.approx([expected.bandwidth] * 2)
    assert plane.basis.eigenvalues.min() >= expected.cut**2  # a box: the cut holds along each axis
