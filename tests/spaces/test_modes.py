"""Polynomials and eigenfunctions: closed forms, exact integrals, filters."""

import itertools
import time

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from mercer.releases.curve.smoothing import cautious_risk, choose_filter, estimated_risk
from mercer.spaces.kernels import KERNELS
from mercer.spaces.modes import CURVE_KERNELS, SpectralFilter, derivatives_of, modes
from mercer.spaces.polynomials import Polynomials, gauss

LINE = Polynomials((40,))


def test_orthonormal_on_the_interval_and_on_the_square():
    for some in (Polynomials((150,)), Polynomials((9, 7))):
        nodes, weights = some.quadrature
        table = some.rows(nodes)
        assert np.allclose((table * weights[:, None]).T @ table, np.eye(some.size), atol=1e-11)


def test_derivatives_against_differences(rng):
    square = Polynomials((6, 5))
    for some, orders in ((LINE, (1,)), (LINE, (2,)), (square, (1, 0)), (square, (1, 2))):
        c = rng.standard_normal(some.size) / (1 + np.arange(some.size)) ** 4
        x = rng.uniform(0.1, 0.9, (7, some.dimension))
        value = some.evaluate(x, c, orders)
        assert np.allclose(value, some.rows(x, orders) @ c, atol=1e-8)
        step, total = 1e-3, 0.0
        for axis, order in enumerate(orders):
            if order:
                move = np.zeros(some.dimension)
                move[axis] = step
                lower = tuple(o - (a == axis) for a, o in enumerate(orders))
                total = (some.evaluate(x + move, c, lower) - some.evaluate(x - move, c, lower)) / (2 * step)
        assert np.allclose(value, total, atol=1e-2 * (1 + np.abs(value).max()))


def test_integrals():
    assert np.allclose(LINE.integrals(np.zeros(1), np.ones(1)), np.eye(40)[0], atol=1e-15)
    for k in (0, 1, 2, 17):
        found = LINE.integrals(np.array([0.2]), np.array([0.7]))[k]
        wanted = quad(lambda t, k=k: LINE.rows(np.array([[t]]))[0, k], 0.2, 0.7)[0]
        assert found == pytest.approx(wanted, abs=1e-12)
    weighted = LINE.inner(lambda x: np.exp(x[:, 0]))
    assert weighted[0] == pytest.approx(np.e - 1, rel=1e-13)


def test_coordinates_of_a_broken_line_are_exact_on_any_grid(rng):
    ticks = np.sort(rng.uniform(0, 1, 11))
    heights = rng.standard_normal(11)
    found = heights @ LINE.of_grid((ticks,))
    edges = np.concatenate([[0], ticks, [1]])
    wanted = np.zeros(40)
    for low, high in itertools.pairwise(edges):  # exact on every straight piece
        nodes, weights = gauss(32)
        t = low + (high - low) * nodes
        wanted += (high - low) * (weights * np.interp(t, ticks, heights)) @ LINE.rows(t[:, None])
    assert np.allclose(found, wanted, atol=1e-12)
    # Bessel, and the trapezoid rule above the broken line's own norm
    square = sum(
        (high - low) * (a * a + a * b + b * b) / 3
        for low, high, a, b in zip(
            edges,
            edges[1:],
            np.interp(edges, ticks, heights),
            np.interp(edges[1:], ticks, heights),
            strict=False,
        )
    )
    assert np.sum(found**2) <= square + 1e-12


def test_points_of_many_curves_at_once(rng):
    counts = [5, 0, 1, 9, 0]
    starts = np.concatenate([[0], np.cumsum(counts)])
    times = np.concatenate([np.sort(rng.uniform(0, 1, c)) for c in counts])
    values = rng.standard_normal(starts[-1])
    found = LINE.of_points(times, values, starts)
    for i, count in enumerate(counts):
        part = slice(starts[i], starts[i + 1])
        wanted = values[part] @ LINE.of_grid((times[part],)) if count else np.zeros(40)
        assert np.allclose(found[i], wanted, atol=1e-12)
    assert LINE.of_points(np.zeros(0), np.zeros(0), np.zeros(1, dtype=int)).shape == (0, 40)


def test_a_surface_is_a_product(rng):
    square, ticks = Polynomials((6, 5)), (np.linspace(0, 1, 7), np.array([0.1, 0.4, 0.9]))
    one, two = rng.standard_normal(7), rng.standard_normal(3)
    found = np.outer(one, two).reshape(-1) @ square.of_grid(ticks)
    wanted = np.outer(one @ Polynomials((6,)).of_grid(ticks[:1]), two @ Polynomials((5,)).of_grid(ticks[1:]))
    assert np.allclose(found, wanted.reshape(-1), atol=1e-12)


@pytest.mark.parametrize("h", [0.1, 0.3, 1.0])
def test_eigenvalues_of_the_exponential_kernel(h):
    """2h / (1 + h^2 w^2) at the roots of (h^2 w^2 - 1) sin w = 2 h w cos w."""

    def equation(w):
        return (h * h * w * w - 1) * np.sin(w) - 2 * h * w * np.cos(w)

    ticks = np.linspace(1e-6, 70, 20001)
    values = equation(ticks)
    roots = [
        brentq(equation, a, b)
        for a, b, fa, fb in zip(ticks, ticks[1:], values, values[1:], strict=False)
        if fa * fb < 0
    ]
    wanted = 2 * h / (1 + (h * np.array(roots[:20])) ** 2)
    found = modes("exponential", (h,), Polynomials((128,))).values[:20]
    assert np.allclose(found, wanted, rtol=2e-5)


@pytest.mark.parametrize("kernel", CURVE_KERNELS)
def test_modes_rebuild_the_kernel(kernel):
    """Mercer: K(s, t) = sum lambda_j v_j(s) v_j(t), and the eigenvalues add up to K(t, t) = 1."""
    some = Polynomials((128,))
    found = modes(kernel, (0.2,), some)
    x = np.linspace(0.05, 0.95, 19)[:, None]
    functions = some.rows(x) @ found.vectors
    wanted = KERNELS[kernel](((0.04,),))(x, x)
    tolerance = 0.05 if kernel == "exponential" else 1e-3
    assert np.allclose((functions * found.values) @ functions.T, wanted, atol=tolerance)
    assert found.values.sum() == pytest.approx(1, abs=tolerance)
    assert np.all(np.diff(found.values) <= 0)
    assert np.allclose(found.vectors.T @ found.vectors, np.eye(128), atol=1e-12)


def test_modes_of_a_product_are_products():
    one, two = modes("matern32", (0.2,), Polynomials((6,))), modes("matern32", (0.4,), Polynomials((5,)))
    both = modes("matern32", (0.2, 0.4), Polynomials((6, 5)))
    assert np.allclose(both.values, np.sort(np.outer(one.values, two.values).reshape(-1))[::-1])
    matrix = (both.vectors * both.values) @ both.vectors.T
    parts = [(m.vectors * m.values) @ m.vectors.T for m in (one, two)]
    assert np.allclose(matrix, np.kron(*parts), atol=1e-12)


def test_eigenfunctions_on_two_thousand_points_are_quick():
    """Under two seconds, and kept by their parameters."""
    start = time.perf_counter()
    some = Polynomials((128,))
    values = some.rows(np.linspace(0, 1, 2000)[:, None]) @ modes("matern52", (0.1234,), some).vectors
    first = time.perf_counter() - start
    assert values.shape == (2000, 128)
    assert first < 2
    assert modes("matern52", (0.1234,), some) is modes("matern52", (0.1234,), some)


def test_within_a_frame_the_kernel_is_projected(rng):
    some = Polynomials((12,))
    frame = np.linalg.qr(rng.standard_normal((12, 5)))[0].T
    whole = modes("gaussian", (0.2,), some)
    part = whole.within(frame)
    matrix = frame @ (whole.vectors * whole.values) @ whole.vectors.T @ frame.T
    assert np.allclose((part.vectors * part.values) @ part.vectors.T, matrix, atol=1e-12)
    assert whole.within(None) is whole


def test_how_often_paths_can_be_differentiated():
    """Mirshani et al., Appendix B: the noise of C_3 has one derivative, of C_2 two, of C_4 none."""
    assert [derivatives_of(k) for k in CURVE_KERNELS] == [np.inf, 2, 1, 0]


def test_the_risk_estimate_is_right_in_the_mean(rng):
    """Of any filter, for noise of any law with this variance."""
    truth, v, runs = rng.standard_normal(30), 0.3, 40_000
    factors = rng.uniform(0, 1, (4, 30))
    noise = rng.choice([-1.0, 1.0], (runs, 30)) * np.sqrt(v)  # not normal
    estimates = np.stack([estimated_risk(truth + z, v, factors) for z in noise])
    real = np.mean(np.sum((factors[None] * (truth + noise)[:, None, :] - truth) ** 2, axis=2), 0)
    spread = estimates.std(axis=0) / np.sqrt(runs)
    assert np.all(np.abs(estimates.mean(axis=0) - real) < 7 * spread + 0.05 * real)


def test_the_chosen_filter_is_the_best_of_its_grid(rng):
    some = Polynomials((24,))
    y = rng.standard_normal(24) / (1 + np.arange(24))
    options = {"kernel": "matern52", "scales": [(0.1,), (0.3,)], "etas": (1.0, 2.0)}
    chosen = choose_filter(y, 0.001, some, None, **options, penalty=None)
    found = chosen.modes(some)
    turned = found.vectors.T @ y

    def risk(smoothing):
        own = smoothing.modes(some)
        return cautious_risk(own.vectors.T @ y, 0.001, smoothing.factors(own.values))

    best = cautious_risk(turned, 0.001, chosen.factors(found.values))
    for scale in (0.1, 0.3):
        for eta in (1.0, 2.0):
            for penalty in np.logspace(-10, 1, 23):
                assert best <= risk(SpectralFilter("matern52", (scale,), eta, float(penalty))) * 1.05 + 1e-4
    given = choose_filter(y, 0.001, some, None, **options, penalty=0.02)
    assert given.penalty == 0.02


@pytest.mark.parametrize(
    "fields",
    [
        {"kernel": "cubic"},
        {"scales": []},
        {"scales": ["a"]},
        {"scales": [0.1, 0.1, 0.1]},
        {"scales": [1e-9]},
        {"eta": 0.5},
        {"penalty": 0},
        {"penalty": True},
        {"penalty": None},
    ],
)
def test_filters_of_damaged_files_are_refused(fields):
    whole = SpectralFilter("gaussian", (0.1,), 1.0, 0.1).to_dict()
    assert SpectralFilter.from_dict(whole).to_dict() == whole
    with pytest.raises(ValueError, match="smoothing|filter"):
        SpectralFilter.from_dict(whole | fields)
