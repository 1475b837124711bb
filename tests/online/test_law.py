"""Live answers, asked in any order, have the law of a batch release at the same points.

A batch of answers is f + tau G, G normal with the kernel's covariance: whitened answers of many
independent paths are standard normal numbers.  Means, variances and the variances of all sums of
two are tested by their exact laws (normal and chi-square), which together are the whole
covariance; a test fails for a correct program with probability ALPHA at most.
"""

import itertools

import numpy as np
import pytest
from scipy.stats import chi2, norm

import mercer
from mercer.columns.domain import Box
from mercer.kernels import KERNELS, Exponential, Gaussian, Matern32, Matern52
from mercer.noise.laws import Normal
from mercer.online import markov as live_markov
from mercer.online.cholesky import JITTER
from mercer.online.markov import MarkovLive
from mercer.online.store import Memory
from mercer.releases.density.release import DensityRelease
from mercer.spaces.bases import Grid
from tests.conftest import ALPHA

MARKOV = [Exponential(((0.04,),)), Matern32(((0.04,),)), Matern52(((0.04,),))]
NODES = np.linspace(0.0, 1.0, 6)  # of the grid under the paths
PATHS, SIGMA = 500, 0.3  # enough to see every fault planted below: see there


def law_p_value(answers, mean, covariance):
    """Smallest p-value of all tests of means and covariances, times their number."""
    paths, m = answers.shape
    white = np.linalg.solve(np.linalg.cholesky(covariance), (answers - mean).T)
    values = [2 * norm.sf(np.abs(row.sum()) / np.sqrt(paths)) for row in white]
    sums = [(white**2).sum()] + [(row**2).sum() for row in white]
    degrees = [white.size] + [paths] * m
    for i, j in itertools.combinations(range(m), 2):
        sums.append(((white[i] + white[j]) ** 2).sum() / 2)
        degrees.append(paths)
    for total, degree in zip(sums, degrees, strict=True):
        values.append(2 * min(chi2.cdf(total, degree), chi2.sf(total, degree)))
    return min(values) * len(values)


@pytest.fixture(scope="module")
def template():
    """Statement and shape of a release on a grid of few nodes, so that bridges matter."""
    return mercer.density(
        np.linspace(0.1, 0.9, 50), bounds=(0, 1), epsilon=1, delta=1e-6, bandwidth=0.2, kernel="exponential"
    )


def markov_path(kernel, template, coordinates, sigma):
    release = DensityRelease(
        domain=Box(("x",), ((0.0, 1.0),)),
        basis=Grid(kernel, (6,)),
        coordinates=coordinates,
        noise=Normal(sigma, 2.0**-40),
        privacy=template.privacy,
        covariance=template.covariance,
        choice="given",
        boundary="open",
    )
    return MarkovLive.start(Memory(), "path", release)


def asked(live, points, rng):
    """Answers in a random order, one by one and in batches."""
    order, out = rng.permutation(len(points)), np.empty(len(points))
    while order.size:
        take = int(rng.integers(1, 4))
        some, order = order[:take], order[take:]
        out[some] = live.ask(float(points[some[0]])) if take == 1 else live.ask(points[some])
    assert np.array_equal(out, live.ask(points))  # and for ever
    return out / live._scale


def markov_answers(kernel, template, rng, *, sigma=SIGMA, points=None):
    basis = Grid(kernel, (6,))
    exact = rng.normal(size=basis.size)  # any f_D
    if points is None:
        points = np.concatenate([rng.uniform(0, 1, 5), [0.41, 0.43, 0.2]])  # close ones; a node
    answers = np.empty((PATHS, len(points)))
    for row in answers:
        noisy = exact + sigma * rng.standard_normal(basis.size)
        row[:] = asked(markov_path(kernel, template, noisy, SIGMA), points, rng)
    covariance = SIGMA**2 * kernel(points[:, None], points[:, None])
    return answers, basis.evaluate(points[:, None], exact), covariance


@pytest.mark.parametrize("kernel", MARKOV, ids=lambda k: k.name)
def test_markov_answers_have_the_law_of_a_batch(kernel, template, rng):
    assert law_p_value(*markov_answers(kernel, template, rng)) > ALPHA


@pytest.mark.parametrize("kernel", MARKOV, ids=lambda k: k.name)
def test_noise_a_fifth_too_small_is_seen(kernel, template, rng):
    """At the nodes, where no bridge adds noise of its own: 0.64 chi2(6 * 500), missed once in 1e27."""
    faulty = markov_answers(kernel, template, rng, sigma=0.8 * SIGMA, points=NODES)
    assert law_p_value(*faulty) < ALPHA


def test_exchanged_weights_are_seen(template, rng, monkeypatch):
    """E2: Hall's two bridge weights are exchanged; a point next to a node follows the other one."""
    right_way = live_markov.bridge_point

    def exchanged(kernel, before, after, left, right, z):
        return right_way(kernel, after, before, left, right, z)

    kernel, points = MARKOV[0], np.array([0.2, 0.21, 0.4])  # two nodes, and next to the first
    covariance = SIGMA**2 * kernel(points[:, None], points[:, None])
    exact = rng.normal(size=6)
    exact[2] = exact[1] + 4.0  # the node that is followed by mistake is another one
    mean = Grid(kernel, (6,)).evaluate(points[:, None], exact)
    for patch, seen in ((right_way, False), (exchanged, True)):
        monkeypatch.setattr(live_markov, "bridge_point", patch)
        answers = np.empty((PATHS, 3))
        for row in answers:
            live = markov_path(kernel, template, exact + SIGMA * rng.standard_normal(6), SIGMA)
            row[:] = [live.ask(float(x)) / live._scale for x in points]
        assert (law_p_value(answers, mean, covariance) < ALPHA) == seen


def test_interpolation_without_noise_is_seen(template, rng, monkeypatch):
    monkeypatch.setattr(live_markov._Normals, "__call__", lambda _, n: np.zeros((n, 1)))
    assert law_p_value(*markov_answers(MARKOV[0], template, rng)) < ALPHA


def test_draws_that_do_not_know_of_each_other_are_seen(template, rng, monkeypatch):
    """Two writers in one gap: what the pen prevents.  Seen best in its middle, side by side."""
    from mercer.online.store import _MemoryPen

    monkeypatch.setattr(_MemoryPen, "beside", lambda *_: (None, None))
    kernel = MARKOV[0]
    points, answers = np.array([0.49, 0.51]), np.empty((PATHS, 2))
    exact = rng.normal(size=6)
    for row in answers:
        live = markov_path(kernel, template, exact + SIGMA * rng.standard_normal(6), SIGMA)
        row[:] = [live.ask(float(x)) / live._scale for x in points]
    mean = Grid(kernel, (6,)).evaluate(points[:, None], exact)
    covariance = SIGMA**2 * kernel(points[:, None], points[:, None])
    assert law_p_value(answers, mean, covariance) < ALPHA


@pytest.mark.parametrize(
    "kernel",
    [*MARKOV, Gaussian(((0.04,),)), Matern32(((0.04, 0), (0, 0.09)))],
    ids=lambda k: f"{k.name}-{k.dimension}",
)
def test_answers_of_a_growing_factor_have_the_law_of_a_batch(kernel, rng):
    d, n = kernel.dimension, 40
    rows = rng.integers(0, 129, (n, d)) / 128  # on nodes: binning changes nothing
    points = rng.uniform(0, 1, (6, d))
    widths = [float(h) for h in kernel.lengths]
    answers = np.empty((400, 6))
    live = mercer.live(
        rows,
        bounds=[(0, 1)] * d if d > 1 else (0, 1),
        epsilon=1,
        delta=1e-6,
        bandwidth=widths,
        kernel=kernel.name,
        route="cholesky",
        rng=rng,
    )
    for row in answers:
        live._store._pens["live"] = type(live._store._pens["live"])()  # another path
        live._kept = 0
        for part in np.split(rng.permutation(6), [1, 3]):
            row[part] = live.ask(points[part])
        assert np.array_equal(row, live.ask(points))
    gap = (points[:, None, :] - rows[None]) / np.array(widths)
    mean = np.mean(np.exp(-(gap**2).sum(axis=2) / 2), axis=1) / np.prod(np.sqrt(2 * np.pi) * np.array(widths))
    tau = live._tap.noise.law.scale
    covariance = tau**2 * (kernel(points, points) + JITTER * np.eye(6))
    assert law_p_value(answers, mean, covariance) > ALPHA
    assert law_p_value(answers, mean, 1.6 * covariance) < ALPHA


def estimate(rows, points, kernel, h):
    """f_D on (0, 1), directly."""
    smoother = KERNELS[kernel](((h * h,),))
    return np.mean(smoother.profile(points[:, None] - rows, 0), axis=1) / smoother.mass


@pytest.mark.parametrize("kernel", ["exponential", "matern32", "matern52"])
@pytest.mark.parametrize("h", [0.003, 0.05, 0.3])
def test_a_live_path_stands_on_the_estimate_itself(kernel, h, rng):
    """At so large an n hardly anything but the projection shows; the band knows its error."""
    rows = rng.integers(0, 1025, 200) / 1024
    points = rng.uniform(0, 1, 60)
    for smoother in ("gaussian", kernel):
        live = mercer.live(
            np.repeat(rows, 5000),
            bounds=(0, 1),
            epsilon=50,
            delta=1e-3,
            insist=True,
            bandwidth=h,
            kernel=kernel,
            smoother=smoother,
        )
        f = estimate(rows, points, smoother, h)
        peak = float(KERNELS[smoother](((h * h,),)).mass) ** -1
        noise = 8 * live.accuracy.pointwise
        assert np.max(np.abs(live.ask(points) - f)) < live._error + noise
        exact = smoother == kernel and h > 0.01  # rows stand on nodes
        assert live._error < (1e-12 if exact else 5e-4) * peak
        band = live.band(points, 1 - 1e-13)
        assert np.all((band.lower < f) & (f < band.upper))


def test_rows_without_values_add_nothing_and_nothing_is_divided_out(rng):
    rows = rng.normal(0.5, 0.05, 100_000)
    rows[:30_000] = np.nan
    grid = np.linspace(0, 1, 1001)
    for options in ({}, {"route": "cholesky"}):
        live = mercer.live(
            rows, bounds=(0, 1), epsilon=1, delta=1e-6, bandwidth=0.05, kernel="exponential", **options
        )
        assert np.isclose(np.trapezoid(live.ask(grid[::10]), grid[::10]), 0.7, atol=0.01)


def test_a_seed_repeats_the_path(rng):
    rows, points = rng.normal(50, 9, 200), rng.uniform(0, 100, 30)
    one, two = (
        mercer.live(
            rows, bounds=(0, 100), epsilon=1, delta=1e-6, bandwidth=5, kernel="exponential", rng=7
        ).ask(points)
        for _ in range(2)
    )
    assert np.array_equal(one, two)


def test_coordinates_answer_as_their_release(rng):
    live = mercer.live(rng.normal(50, 9, 500), bounds=(0, 100), epsilon=1)
    x = rng.uniform(0, 100, 7)
    assert np.array_equal(live.ask(x), live.release.raw(np.sort(x))[np.argsort(np.argsort(x))])
    assert live.count == 0
