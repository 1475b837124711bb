"""Every registered basis, on every kernel it takes: found by name, checked alike."""

import functools
import itertools
import math

import numpy as np
import pytest

from mercer.kernels import KERNELS, Gaussian
from mercer.spaces.bases import REGISTRY, Cosine, basis_from_dict
from mercer.spaces.bases.points import PointBasis


def covariance(d: int, *, full: bool = False):
    h = 0.2 if d < 3 else 0.3  # an eighth of the nodes: the same code, and room for 3-d cases
    matrix = np.diag([h**2 * (1 + 0.2 * i) for i in range(d)])
    if full:
        matrix[0, 1] = matrix[1, 0] = 0.015
    return tuple(map(tuple, matrix.tolist()))


def cases():
    """Ways to make a basis.  Seconds for eigenfunctions, which take every kernel: not made here."""
    for (name, basis), kernel, d in itertools.product(REGISTRY.items(), KERNELS.values(), (1, 2, 3)):
        size = {1: 24, 2: 36, 3: 64}[d]
        make = functools.partial(basis.spanning, kernel(covariance(d)), size)
        if name != "eigenfunctions":
            try:
                make()
            except ValueError:
                continue
        yield pytest.param(functools.cache(make), id=f"{name}-{kernel.name}-{d}d")
    for name in ("fourier", "landmarks"):
        kernel = Gaussian(covariance(2, full=True))
        make = functools.partial(REGISTRY[name].spanning, kernel, 36)
        yield pytest.param(functools.cache(make), id=f"{name}-full-matrix")
    kernel = Gaussian(covariance(1))
    periodic = functools.partial(REGISTRY["fourier"].spanning, kernel, 0, periodic=True)
    yield pytest.param(functools.cache(periodic), id="fourier-periodic")


CASES = list(cases())
all_bases = pytest.mark.parametrize("basis", CASES, indirect=True)


@pytest.fixture
def basis(request):
    return request.param()


def test_every_basis_has_a_case():
    assert {case.id.split("-")[0] for case in CASES} == set(REGISTRY)


def kernel_of(basis):
    """Moments have none: what they release is smoothed afterwards."""
    return getattr(basis, "kernel", Gaussian(covariance(basis.dimension)))


@functools.lru_cache(maxsize=len(CASES))
def rows_of(basis):
    """The map from nodes to coordinates: seconds for some bases, and a pure function of them."""
    return basis.row_features(kernel_of(basis))


def points(basis, rng, count=12):
    return rng.random((count, basis.dimension))


@all_bases
def test_evaluate_is_features_times_coordinates(basis, rng):
    x, c = points(basis, rng), rng.normal(size=basis.size)
    assert np.allclose(basis.evaluate(x, c), basis.features(x) @ c, atol=1e-9)
    ticks = [rng.random(3) for _ in range(basis.dimension)]
    mesh = np.stack(np.meshgrid(*ticks, indexing="ij"), -1)
    grid = basis.features(mesh.reshape(-1, len(ticks))) @ c
    assert np.allclose(basis.on_grid(ticks, c), grid.reshape(mesh.shape[:-1]), atol=1e-9)


@all_bases
def test_features_are_orthonormal_up_to_the_stated_deficit(basis, rng):
    """e(x).e(y) is the kernel of the span: it never exceeds K(x, x), and misses the deficit.

    Where e(x) comes from a matrix of bad condition, by no more than the stated rounding, which
    tests/spaces/test_rounding.py compares with exact arithmetic.
    """
    x = points(basis, rng, 40)
    e = basis.features(x)
    square = np.sum(e**2, axis=1)
    if not hasattr(basis, "kernel") and not hasattr(basis, "kappa"):  # unit vectors of L2
        middles = (np.arange(1 << 14) + 0.5)[:, None] / (1 << 14)
        table = basis.features(middles)
        assert np.allclose(table.T @ table / len(table), np.eye(basis.size), atol=1e-4)
        return
    top = basis.kappa**2 if hasattr(basis, "kappa") else 1.0
    rounding = basis.blur if isinstance(basis, PointBasis) else 1e-9
    assert rounding < 1e-6
    assert np.all(square <= top * (1 + rounding))
    if not hasattr(basis, "kappa"):  # K(x, x) = 1 everywhere
        assert np.all(1 - square <= basis.deficit * 1.2 + 1e-6)


@all_bases
def test_derivatives(basis, rng):
    smooth = kernel_of(basis).smoothness
    c, x = rng.normal(size=basis.size), 0.1 + 0.8 * points(basis, rng)
    d = basis.dimension
    if smooth < 1:
        with pytest.raises(ValueError, match="no further derivatives"):
            basis.evaluate(x, c, (1,) + (0,) * (d - 1))
        return
    if not kernel_of(basis).diagonal and basis.name == "landmarks":
        with pytest.raises(ValueError, match="diagonal"):
            basis.evaluate(x, c, (1, 0))
        return
    for axis in range(d):
        orders, step = tuple(int(i == axis) for i in range(d)), np.eye(d)[axis] * 1e-5
        numeric = (basis.evaluate(x + step, c) - basis.evaluate(x - step, c)) / 2e-5
        scale = np.abs(numeric).max() + 1
        if basis.name != "grid":  # whose second derivative jumps at the grid's points
            assert np.allclose(basis.evaluate(x, c, orders), numeric, atol=1e-4 * scale)
        assert np.median(np.abs(basis.evaluate(x, c, orders) - numeric)) < 1e-3 * scale


@all_bases
def test_file_fields_give_the_same_basis(basis, rng):
    again = basis_from_dict(basis.to_dict())
    x, c = points(basis, rng), rng.normal(size=basis.size)
    assert np.array_equal(again.evaluate(x, c), basis.evaluate(x, c))


@all_bases
def test_rows_keep_their_bounds_and_their_values(basis, rng):
    """M3.2: every node's vector is inside the stated norm and diameter, and is the row's."""
    features = rows_of(basis)
    d = basis.dimension
    corners = list(itertools.product(*[(0, n - 1) for n in features.shape]))
    inner = [tuple(int(rng.integers(n)) for n in features.shape) for _ in range(12 if d < 3 else 3)]
    # and two that are far apart and away from the walls, where no basis is at its weakest
    inner += [tuple(place * (n - 1) // 4 for n in features.shape) for place in (1, 3)]
    vectors = []
    for node in corners + inner:
        counts = np.zeros(features.shape, dtype=np.int64)
        counts[node] = 1
        vectors.append(features.total(counts, 1))
    vectors = np.array(vectors)
    gaps = np.linalg.norm(vectors[:, None] - vectors[None, :], axis=2)
    assert np.linalg.norm(vectors, axis=1).max() <= features.norm
    assert gaps.max() <= features.diameter
    assert gaps.max() >= 0.6 * features.diameter  # the bound is not idle
    spot = np.array(corners + inner) / (np.array(features.shape) - 1)
    exact = basis.features(spot)
    if hasattr(basis, "kernel") and not hasattr(basis, "kappa"):
        exact = exact / basis.kernel.mass  # a row is a density, 1/mass times the kernel
    assert np.abs(basis.unmix(vectors) - exact).max() < 1e-4 * np.abs(exact).max() * d
    assert 0 < features.rounding < 1e-8 * features.norm


@all_bases
def test_rounding_bound_holds_for_any_weights(basis, rng):
    """M3.3: what is computed differs from exact arithmetic by less than the stated bound."""
    features = rows_of(basis)
    if math.prod(features.shape) * basis.size > 10**7:
        return  # the slow reference would take minutes; smaller cases cover the same code
    weight = 10**6
    nodes = [tuple(int(rng.integers(n)) for n in features.shape) for _ in range(12)]
    counts = np.zeros(features.shape, dtype=np.int64)
    for node in nodes:
        counts[node] += weight // 12
    whole = features.total(counts, weight)
    parts = []
    for node in nodes:
        one = np.zeros(features.shape, dtype=np.int64)
        one[node] = 1
        parts.append(features.total(one, 1))
    slow = [math.fsum(column) * (weight // 12) / weight for column in np.array(parts).T]
    assert np.linalg.norm(whole - np.array(slow)) < 2 * features.rounding


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="unknown basis 'os.system'"):
        basis_from_dict({"name": "os.system"})
    with pytest.raises(ValueError, match="unknown kernel"):
        basis_from_dict({"name": "cosine", "kernel": {"name": "box"}})


def test_truncation_reaches_the_stated_sizes():
    """M2: a few dozen coordinates are enough for smooth kernels."""
    for h, most in ((0.1, 31), (0.05, 57), (0.01, 260)):
        basis = REGISTRY["cosine"].spanning(Gaussian(((h**2,),)), 0)
        assert basis.size <= most
        assert basis.deficit < 1e-6 * basis.kappa**2


@pytest.mark.parametrize("h", [0.01, 0.03, 0.07, 0.12, 0.16, 0.2])
def test_cosine_rows_have_the_same_norm_at_the_walls_as_inside(h):
    """The proof of bases/fourier.py, on a dense grid of pairs: norms, inner products, diameter."""
    basis = REGISTRY["cosine"].spanning(Gaussian(((h**2,),)), 0)
    features = basis.row_features(kernel_of(basis))
    x = np.unique(
        np.concatenate(
            [
                np.linspace(0, min(1, 6 * h), 241),
                np.linspace(0, 1, 241),
                1 - np.linspace(0, min(1, 6 * h), 241),
            ]
        )
    )
    e = basis.features(x[:, None])
    rows = basis.mix(e)
    assert np.allclose(basis.unmix(rows), e)
    gram = rows @ rows.T
    assert gram.diagonal().max() <= features.norm**2
    assert gram.diagonal().max() >= 0.999 * features.norm**2
    assert gram[0, 0] == pytest.approx(gram.diagonal().max(), rel=1e-3)  # wall like inside
    assert gram.min() >= -3e-5 * features.norm**2
    squares = gram.diagonal()[:, None] + gram.diagonal()[None, :] - 2 * gram
    assert squares.max() <= features.diameter**2
    plain = e @ e.T
    assert squares.max() <= 0.501 * (plain.diagonal()[:, None] + plain.diagonal() - 2 * plain).max()


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("cut", [0.3, 0.1, 0.03, 0.01])
@pytest.mark.parametrize("h", [0.07, 0.11, 0.1575, 0.19])
def test_corners_of_few_cosines_stay_within_the_diameter(d, cut, h):
    """Evened noise with few coordinates kept: a set that is no product would exceed it by 1.6 %."""
    kernel = Gaussian(tuple(tuple(row) for row in (np.eye(d) * h**2).tolist()))
    basis = Cosine.spanning(kernel, cut=cut)
    features = basis.row_features(kernel)
    corners = np.array(list(itertools.product((0.0, 1.0), repeat=d)))
    vectors = basis.mix(basis.features(corners))
    gaps = np.linalg.norm(vectors[:, None] - vectors[None, :], axis=2)
    assert gaps.max() <= features.diameter
    assert np.linalg.norm(vectors, axis=1).max() <= features.norm
    assert gaps.max() >= 0.8 * features.diameter
