"""Bounds on rounding that bases state, against arithmetic of 60 digits: docs/proofs/density.md.

The bounds hold for every processor, so they are those of the worst one; `worst` tests build the
rounding errors of such a one, all of the size that is allowed and of the least lucky sign, and see
that it comes within a tenth of the bound.
"""

import functools
import itertools
import math

import numpy as np
import pytest
from flint import arb, arb_mat, ctx

from mercer.kernels import Exponential, Gaussian, Matern32, Matern52, norms
from mercer.spaces.bases import REGISTRY, Eigenfunctions, Fourier, Grid, Landmarks
from mercer.spaces.bases.base import UNIT_ROUNDOFF
from mercer.spaces.bases.spectral import fft_growth
from mercer.spaces.markov import whiten, whitener


@pytest.fixture(autouse=True)
def digits():
    before, ctx.prec = ctx.prec, 200
    yield
    ctx.prec = before


def line(kernel, h):
    return kernel(((h**2,),))


SLANTED = Gaussian(((0.04, 0.0399), (0.0399, 0.04)))
POINT_BASES = {
    "landmarks-smooth": functools.partial(Landmarks.spanning, line(Gaussian, 0.2), 24),
    "landmarks-many": functools.partial(Landmarks.spanning, line(Gaussian, 0.05), 64),
    "landmarks-well": functools.partial(Landmarks.spanning, line(Gaussian, 0.03), 24),
    "landmarks-rough": functools.partial(Landmarks.spanning, line(Matern52, 0.3), 40),
    "landmarks-plane": functools.partial(Landmarks.spanning, Gaussian(((0.04, 0.0), (0.0, 0.09))), 49),
    "landmarks-slanted": functools.partial(Landmarks.spanning, SLANTED, 36),
    "eigenfunctions-smooth": functools.partial(Eigenfunctions.spanning, line(Gaussian, 0.2), 24, side=40),
    "eigenfunctions-rough": functools.partial(Eigenfunctions.spanning, line(Matern32, 0.2), 24, side=40),
}
point_bases = pytest.mark.parametrize("basis", POINT_BASES, indirect=True)


@pytest.fixture
def basis(request):
    return made(request.param)


@functools.cache
def made(name):
    return POINT_BASES[name]()


def exact(values):
    return arb_mat([[arb(float(v)) for v in row] for row in np.atleast_2d(values)])


def floats(matrix):
    return np.array([[float(v.mid()) for v in row] for row in matrix.table()])


def exact_kernel(kernel, x, y):
    """k at points as the kernel rounds them (Gaussian) or as they are."""
    if isinstance(kernel, Gaussian):
        scaled = [p / kernel.lengths if kernel.diagonal else kernel._white(p) for p in (x, y)]
        a, b = (exact(p).table() for p in scaled)
        square = [[sum(((s - t) ** 2 for s, t in zip(p, q, strict=True)), arb(0)) for q in b] for p in a]
        return arb_mat([[(-s / 2).exp() for s in row] for row in square])
    rate, p = arb(kernel.rate(0)), kernel.states
    out = []
    for a in x[:, 0]:
        s = [rate * abs(arb(float(a)) - arb(float(b))) for b in y[:, 0]]
        shape = {1: lambda t: 1 + 0 * t, 2: lambda t: 1 + t, 3: lambda t: 1 + t + t * t / 3}[p]
        out.append([shape(t) * (-t).exp() for t in s])
    return arb_mat(out)


@point_bases
def test_point_bases_keep_their_bounds_exactly(basis, rng):
    """M2, M3.1: norms and distances of exact and of computed vectors, and what is left out."""
    z, d = np.array(basis.points), basis.kernel.dimension
    x = np.concatenate([rng.random((10, d)), np.zeros((1, d)), np.ones((1, d)), z[:2]])
    mixing = exact(basis.mixing)
    computed = basis.features(x)
    vectors = floats(mixing * exact_kernel(basis.kernel, z, x)).T
    lengths = np.linalg.norm(vectors, axis=1)
    assert np.max(lengths**2) <= 1 + basis.blur
    assert np.max(np.sum(computed**2, axis=1)) <= 1 + basis.blur
    assert np.abs(np.sum(computed**2, axis=1) - lengths**2).max() <= basis.blur
    assert np.max(1 - lengths**2) <= 1.3 * basis.deficit  # between the points of its grid
    assert 0 < basis.blur < 1e-6  # and the noise does not grow by more than that
    features = basis.row_features(basis.kernel)
    gaps = np.linalg.norm(vectors[:, None] - vectors, axis=2) / basis.kernel.mass
    assert gaps.max() <= features.diameter
    assert features.diameter <= (1 + 1e-6) * math.sqrt(2) * features.norm


@pytest.mark.parametrize("basis", [n for n in POINT_BASES if "landm" in n], indirect=True)
def test_jitter_dominates_the_rounding_of_the_factor_exactly(basis):
    """M3.1: B K B' is at most (B L)(B L)', and B L is I up to what is stated."""
    z = np.array(basis.points)
    factor = exact(basis._factor)
    rest = floats(factor * factor.transpose() - exact_kernel(basis.kernel, z, z))
    assert np.linalg.eigvalsh(rest)[0] > 0
    assert basis._lost < 1e-10  # not zero where all directions are good ones
    off = exact(basis.mixing) * factor
    for i in range(len(z)):
        off[i, i] -= 1
    assert np.all(np.abs(floats(off)) <= basis._miss)


@pytest.mark.parametrize("name", ["landmarks-smooth", "landmarks-many"])
def test_worst_processor_comes_near_the_bound_of_landmarks(name):
    """A solver whose every row is that of a factor with wrong last bits, and worst dot products."""
    basis = made(name)
    factor, size = basis._factor, basis.size
    dot = UNIT_ROUNDOFF * (size + 2)
    x = np.linspace(0, 1, 101)[:, None]
    values = basis.kernel(np.array(basis.points), x)
    e = basis.mixing @ values
    signs = np.sign(e[:, 40])[:, None] * np.sign(e[:, 40])
    wrong = factor - dot * np.abs(factor) * np.where(basis.mixing[-1] < 0, -1.0, 1.0)[:, None] * signs[-1]
    rows, one = exact(basis.mixing), exact(np.eye(size))
    for _ in range(8):  # Newton: the inverse of the wrong factor, to all digits
        rows = rows * (2 * one - exact(wrong) * rows)
    off = floats(rows * exact(factor) - one)
    assert np.linalg.norm(basis._miss) / 10 < np.linalg.norm(off) < np.linalg.norm(basis._miss)
    dots = UNIT_ROUNDOFF * size * (np.abs(basis.mixing) @ values)
    allowed = basis._rounded(np.abs(basis.mixing) @ values, 0.0, 0.0)
    assert np.all(allowed / 10 < dots)
    worst = e + np.sign(e) * dots + off @ e
    assert 0 < np.max(np.sum(worst**2, axis=0)) - 1 < basis.blur


def test_a_slanted_kernel_stays_one_with_rounding():
    """The form (x - y)' H^-1 (x - y) is computed by whitened points, and loses no digits."""
    h = 1 - 1e-7
    kernel = Gaussian(((1.0, h), (h, 1.0)))
    x = np.random.default_rng().random((40, 2))
    gram = kernel(x, x)
    assert np.abs(gram - floats(exact_kernel(kernel, x, x))).max() < 24 * 2 * UNIT_ROUNDOFF
    inverse = np.linalg.inv(np.array(kernel.covariance))
    gap = x[:, None] - x
    form = np.exp(-0.5 * np.einsum("ijk,kl,ijl->ij", gap, inverse, gap))
    assert np.allclose(gram, form, atol=1e-7)


def exact_rows(basis, smoother, nodes):
    """Whitened states of s(. - g): exact, but for kernel parameters as the code has them."""
    kernel, p, side = basis.kernel, basis.kernel.states, basis.sides[0]
    rate, gap = arb(kernel.rate(0)), arb(1) / (basis.sides[0] - 1)
    power = (2 * rate) ** (2 * p - 1) / math.comb(2 * p - 2, p - 1)

    def factor(away):
        matrix = arb_mat(p, p)
        for i, j in itertools.product(range(p), repeat=2):
            a, b = p - 1 - i, p - 1 - j
            whole = arb(math.factorial(a + b))
            if away is not None:
                t = 2 * rate * away
                terms = (t**k / math.factorial(k) for k in range(a + b + 1))
                whole *= 1 - (-t).exp() * sum(terms, arb(0))
            whole /= math.factorial(a) * math.factorial(b)
            matrix[i, j] = power * whole / (2 * rate) ** (a + b + 1)
        lower = arb_mat(p, p)
        for i in range(p):
            for j in range(i + 1):
                rest = matrix[i, j] - sum((lower[i, k] * lower[j, k] for k in range(j)), arb(0))
                lower[i, j] = rest.sqrt() if i == j else rest / lower[j, j]
        return lower.inv()

    def slopes(r):
        if isinstance(smoother, Gaussian):
            h = arb(float(smoother.lengths[0]))
            t = r / h
            decay = (-t * t / 2).exp()
            return [decay, -t / h * decay, (t * t - 1) / h**2 * decay]
        w, turn = arb(smoother.rate(0)), int(r.mid() > 0) - int(r.mid() < 0)
        s = w * abs(r)
        decay = (-s).exp()
        return {
            1: [decay],
            2: [(1 + s) * decay, -s * w * turn * decay],
            3: [
                (1 + s + s * s / 3) * decay,
                -(s + s * s) / 3 * w * turn * decay,
                (s * s - s - 1) / 3 * w**2 * decay,
            ],
        }[smoother.states]

    first, later, step = factor(None), factor(gap), arb_mat(p, p)
    for i in range(p):
        for j in range(i, p):
            step[i, j] = (-rate * gap).exp() * gap ** (j - i) / math.factorial(j - i)
    scale = 1 / float(smoother.spectrum(np.zeros(1), 0)[0])
    rows = []
    for node in nodes:
        states = []
        for place in range(side):
            some = slopes(arb(place) / (side - 1) - arb(float(node)))
            states.append(
                arb_mat(
                    p,
                    1,
                    [
                        sum((math.comb(i, k) * rate ** (i - k) * some[k] for k in range(i + 1)), arb(0))
                        * scale
                        for i in range(p)
                    ],
                )
            )
        new = [first * states[0]]
        new += [later * (b - step * a) for a, b in itertools.pairwise(states)]
        rows.append([column[i, 0] for column in new for i in range(p)])
    return rows


@pytest.mark.parametrize("kernel", [Exponential, Matern32, Matern52])
@pytest.mark.parametrize(("h", "side"), [(0.003, 24), (0.05, 120), (0.3, 120), (4.0, 24), (4.0, 2)])
@pytest.mark.parametrize("own", [True, False])
def test_rows_of_grids_are_off_by_less_than_stated(kernel, h, side, own, rng):
    noise = line(kernel, h)
    smoother = noise if own else line(Gaussian, h)
    basis, nodes = Grid(noise, (side,)), np.concatenate([[0.0, 0.5], rng.random(3)])
    computed = basis._axis_rows(smoother, 0, nodes, slice(0, side)).T
    norm = norms(smoother, noise).norm
    stated = basis._blur(smoother, 0, norm)
    for row, true in zip(computed, exact_rows(basis, smoother, nodes), strict=True):
        off = [float((arb(float(a)) - b).mid()) for a, b in zip(row, true, strict=True)]
        assert np.linalg.norm(off) / norm < stated
    assert stated < 1e-6


def test_a_bound_by_the_least_innovation_alone_would_be_wrong(rng):
    """What was stated before: 64 u sqrt(side) (rate gap)^(1/2 - p); at 1.1 to 1.3 times that."""
    noise = line(Matern52, 0.003)
    basis, nodes = Grid(noise, (1000,)), np.concatenate([[0.0, 0.5, 1.0], rng.random(2)])
    computed = basis._axis_rows(noise, 0, nodes, slice(0, 1000)).T
    norm = norms(noise, noise).norm
    off = 0.0
    for row, true in zip(computed, exact_rows(basis, noise, nodes), strict=True):
        away = [float((arb(float(a)) - b).mid()) for a, b in zip(row, true, strict=True)]
        off = max(off, float(np.linalg.norm(away)) / norm)
    assert off < basis._blur(noise, 0, norm)
    small = min(1.0, noise.rate(0) / 999)
    assert off > 0.3 * 64 * UNIT_ROUNDOFF * math.sqrt(1000) * small**-2.5


@pytest.mark.parametrize("kernel", [Exponential, Matern32, Matern52])
def test_worst_processor_comes_near_the_bound_of_grids(kernel):
    """States that are off by what is allowed, with signs that whitening adds up."""
    noise, side = line(kernel, 0.5), 400
    basis, p = Grid(noise, (side,)), noise.states
    top, wave = 1 / noise.mass, noise.rate(0)
    sizes = top * (2 * wave) ** np.arange(p)
    (later, _), places = whitener(noise, 1 / (side - 1)), np.arange(side)
    signs = np.where(later[-1] < 0, -1.0, 1.0) * np.where(places % 2, -1.0, 1.0)[:, None]
    wrong = UNIT_ROUNDOFF * (40 + 3 * wave) * signs * sizes
    off = float(np.linalg.norm(whiten(noise, wrong, 1 / (side - 1)))) / norms(noise, noise).norm
    stated = basis._blur(noise, 0, norms(noise, noise).norm)
    assert stated / 10 < off < stated


@pytest.mark.parametrize(
    ("name", "h"), [("cosine", 0.2), ("cosine", 0.01), ("fourier", 0.1), ("fourier", 0.25), ("fourier", 1.0)]
)
def test_transforms_are_off_by_less_than_stated(name, h, rng):
    """Few nodes hold the weight, so that the sums can be known; h = 0.25 and 1 have odd circles."""
    basis = REGISTRY[name].spanning(line(Gaussian, h), 0)
    features = basis.row_features(basis.kernel)
    nodes = [0, *rng.integers(features.shape[0], size=5).tolist(), features.shape[0] - 1]
    counts = np.bincount(nodes, minlength=features.shape[0])
    computed = basis.unmix(features.total(counts, 7)) / (np.sqrt(basis.eigenvalues) * basis.amplitude)
    last = features.shape[0] - 1
    off = []
    for value, k, place in zip(computed, basis.frequencies[:, 0], range(basis.size), strict=True):
        half = (basis.size + 1) // 2
        rate = arb(2) / arb(basis.periods[0]) if isinstance(basis, Fourier) else arb(1)
        sine = isinstance(basis, Fourier) and place >= half
        total = arb(0)
        for node in nodes:
            angle = arb.pi() * rate * int(k) * int(node) / last
            total += angle.sin() if sine else angle.cos()
        off.append(float((arb(float(value)) - total / 7).mid()))
    scale = np.sqrt(basis.eigenvalues) * basis.amplitude
    assert np.linalg.norm(scale * off) < features.rounding


def test_growth_of_transforms():
    assert fft_growth(1 << 11) == 16 * 11
    assert fft_growth(3 << 10) < 16 * 12
    assert fft_growth(13 << 8) > fft_growth(1 << 12)  # a large prime: summed, or by Bluestein
