"""Fitted margins against dense least squares, dense covariances and plain alternating projections."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import chi2

from mercer.releases.counts.margin_fit import NEAR, SWEEPS, MarginFit
from mercer.releases.counts.margin_parts import apart, subsets, together
from tests.conftest import ALPHA

CASES = {
    "pairs": ((2, 3, 2), ((0, 1), (1, 2), (0, 2))),
    "nested": ((2, 3, 4), ((), (1,), (0, 1), (0, 1, 2))),
    "chain": ((3, 2, 2, 3), ((0, 1), (1, 2), (2, 3))),
    "apart": ((4, 3), ((0,), (1,))),
    "one cell": ((1, 3, 2), ((0, 1), (1, 2))),
    "twice": ((2, 3), ((0, 1), (0, 1), (0,))),
    "total": ((3,), ((),)),
}


def summing(sizes, axes):
    """The matrix from the cells of the whole table to those of a margin."""
    matrix = np.ones((1, 1))
    for axis, size in enumerate(sizes):
        matrix = np.kron(matrix, np.eye(size) if axis in axes else np.ones((1, size)))
    return matrix


class Dense:
    """The same by generalised least squares on the whole table."""

    def __init__(self, sizes, sets, variances, total):
        self.sizes, self.total = sizes, total
        cells = math.prod(sizes)
        rows = np.concatenate([summing(sizes, axes) for axes in sets])
        weight = np.concatenate(
            [np.full(summing(sizes, axes).shape[0], 1 / v) for axes, v in zip(sets, variances, strict=True)]
        )
        free = np.eye(cells) if total is None else np.eye(cells) - 1 / cells
        self.even = np.full(cells, 0.0 if total is None else total / cells)
        self.rows, self.weight = rows, weight
        values, vectors = np.linalg.eigh(free @ (rows.T * weight) @ rows @ free)
        kept = vectors[:, values > 1e-9]  # the others are rounding: true ones are above 0.01
        self.covariance = (kept / values[values > 1e-9]) @ kept.T

    def table(self, noisy):
        flat = np.concatenate([np.ravel(margin) for margin in noisy])
        pull = self.rows.T @ (self.weight * (flat - self.rows @ self.even))
        return self.even + self.covariance @ pull

    def margin(self, axes, noisy):
        shape = [self.sizes[axis] for axis in axes]
        return (summing(self.sizes, axes) @ self.table(noisy)).reshape(shape)

    def deviation(self, axes, vectors):
        row = np.ones(1)
        for vector in vectors:
            row = np.kron(row, vector)
        row = row @ summing(self.sizes, axes)
        return math.sqrt(max(row @ self.covariance @ row, 0.0))


def draw(rng, name, *, scale=1.0, total=None):
    """Noisy margins of a table with many empty cells."""
    sizes, sets = CASES[name]
    table = rng.multinomial(40, rng.dirichlet(np.full(math.prod(sizes), 0.2))).astype(float)
    variances = scale * rng.uniform(0.2, 5.0, len(sets))
    exact = [(summing(sizes, s) @ table).reshape([sizes[a] for a in s]) for s in sets]
    noisy = [m + rng.normal(0, math.sqrt(v), m.shape) for m, v in zip(exact, variances, strict=True)]
    return sizes, sets, exact, noisy, variances, total


@pytest.mark.parametrize("total", [None, 40.0])
@pytest.mark.parametrize("name", CASES)
def test_estimate_is_that_of_dense_least_squares(rng, name, total):
    sizes, sets, _, noisy, variances, _ = draw(rng, name)
    fit, dense = (MarginFit.of(sizes, sets, noisy, variances, total), Dense(sizes, sets, variances, total))
    for axes in {part for chosen in sets for part in subsets(chosen)}:
        np.testing.assert_allclose(fit.unbiased(axes), dense.margin(axes, noisy), atol=1e-8)
        vectors = [rng.normal(size=sizes[axis]) for axis in axes]
        variance = dense.deviation(axes, vectors) ** 2
        assert fit.deviation(axes, vectors) ** 2 == pytest.approx(variance, rel=1e-7, abs=1e-10)
        corner = [np.eye(sizes[axis])[0] for axis in axes]
        assert fit.cell_deviation(axes) == pytest.approx(fit.deviation(axes, corner))
        answer = fit.unbiased(axes)
        for vector in vectors:
            answer = np.tensordot(vector, answer, 1)
        assert fit.answer(axes, vectors)[0] == pytest.approx(float(answer), abs=1e-9)


@pytest.mark.parametrize("total", [None, 40.0])
@pytest.mark.parametrize("name", CASES)
def test_weights_of_noises_are_those_of_the_answer(rng, name, total):
    """Each count moved by one, and the answer asked again: squares, and how many terms there are."""
    sizes, sets, _, noisy, variances, _ = draw(rng, name)
    fit = MarginFit.of(sizes, sets, noisy, variances, total)
    axes = max(sets, key=len)
    vectors = [rng.normal(size=sizes[axis]) for axis in axes]
    middle, squares = fit.answer(axes, vectors)[0], []
    for k, margin in enumerate(noisy):
        for cell in np.ndindex(margin.shape):
            moved = np.array(margin)
            moved[cell] += 1
            other = MarginFit.of(sizes, sets, [*noisy[:k], moved, *noisy[k + 1 :]], variances, total)
            squares.append(variances[k] * (other.answer(axes, vectors)[0] - middle) ** 2)
    square = np.array(squares)
    assert fit.deviation(axes, vectors) ** 2 == pytest.approx(square.sum(), rel=1e-6, abs=1e-9)
    if square.sum() > 1e-6:
        expected = square.sum() ** 2 / np.sum(square**2)
        assert fit.terms(axes, vectors) == pytest.approx(expected, rel=1e-5)
    else:
        assert fit.terms(axes, vectors) == math.inf


def test_terms_of_a_single_margin_are_its_cells(rng):
    fit = MarginFit.of((3, 2), ((0, 1),), [rng.normal(size=(3, 2))], [2.0])
    assert fit.terms((0, 1), [np.array([1.0, 0, 0]), np.array([0.0, 1])]) == pytest.approx(1)
    assert fit.terms((0, 1), [np.array([1.0, 0, 1]), np.ones(2)]) == pytest.approx(4)
    assert fit.terms((0,), [np.array([0.0, 1, 0])]) == pytest.approx(2)
    assert fit.deviation((0,), [np.array([0.0, 1, 0])]) == pytest.approx(2.0)


def test_exchanged_weights_would_be_seen(rng):
    sizes, sets, _, noisy, _, _ = draw(rng, "pairs")
    variances = [0.1, 1.0, 10.0]
    dense = Dense(sizes, sets, variances, None)
    wrong = MarginFit.of(sizes, sets, noisy, variances[::-1])
    assert np.max(np.abs(wrong.unbiased((1,)) - dense.margin((1,), noisy))) > 1e-6
    vectors = [np.array([1.0, 0, 0])]
    assert abs(wrong.deviation((1,), vectors) / dense.deviation((1,), vectors) - 1) > 0.1


def test_deviation_is_that_of_simulated_noise(rng):
    """Answers are linear in normal noise: their squares over the variance are chi-square, exactly."""
    sizes, sets, variances, runs = (2, 3, 2), ((0, 1), (1, 2), (1,)), [1.0, 16.0, 4.0], 800
    exact = [np.full([sizes[a] for a in s], 10.0 * 12 / math.prod(sizes[a] for a in s)) for s in sets]
    vectors = [np.array([1.0, 0, 1]), np.array([0.0, 1])]
    truth, given = 120 * 2 / 3 / 2, []
    for _ in range(runs):
        noisy = [m + rng.normal(0, math.sqrt(v), m.shape) for m, v in zip(exact, variances, strict=True)]
        fit = MarginFit.of(sizes, sets, noisy, variances)
        answer = np.tensordot(vectors[1], np.tensordot(vectors[0], fit.unbiased((1, 2)), 1), 1)
        given.append(float(answer) - truth)

    def p_value(deviation):
        s = float(np.sum(np.square(given))) / deviation**2
        return 2 * min(chi2.cdf(s, runs), chi2.sf(s, runs))

    assert p_value(fit.deviation((1, 2), vectors)) > ALPHA
    exchanged = MarginFit.of(sizes, sets, noisy, [16.0, 1.0, 4.0])
    assert p_value(exchanged.deviation((1, 2), vectors)) < ALPHA
    assert p_value(1.4 * fit.deviation((1, 2), vectors)) < ALPHA


def plain_projections(dense, noisy, sweeps=20_000):
    """Dykstra's projections with a dense projector, long enough to be exact."""
    project = dense.rows @ dense.covariance @ (dense.rows.T * dense.weight)
    even = dense.rows @ dense.even
    flat = np.concatenate([np.ravel(margin) for margin in noisy])
    point, pull = even + project @ (flat - even), 0.0
    for _ in range(sweeps):
        moved = np.maximum(point + pull, 0.0)
        pull = point + pull - moved
        point = even + project @ (moved - even)
    return np.maximum(point, 0.0)


def distance(dense, margins, other):
    flat = np.concatenate([np.ravel(margin) for margin in margins])
    return math.sqrt(np.mean((flat - other) ** 2 * dense.weight))


@pytest.mark.parametrize("name", ["pairs", "chain", "nested"])
def test_nearest_margins_without_negative_cells(rng, name):
    sizes, sets, _, noisy, variances, _ = draw(rng, name, scale=20.0)
    fit, dense = (MarginFit.of(sizes, sets, noisy, variances, 40.0), Dense(sizes, sets, variances, 40.0))
    best = plain_projections(dense, noisy)
    found = [fit.margin(axes) for axes in sets]
    assert fit.nearest.distance <= NEAR
    assert fit.nearest.sweeps < SWEEPS
    assert distance(dense, found, best) <= fit.nearest.distance + 1e-4
    check_family(fit, 40.0)


def test_wrong_projector_would_be_seen():
    sizes, sets = (2, 2), ((0, 1), (0,))
    noisy = [np.array([[-9.0, 20], [20, 9]]), np.array([4.0, 36.0])]
    variances = [1.0, 4.0]
    dense = Dense(sizes, sets, variances, 40.0)
    wrong = MarginFit.of(sizes, sets, noisy, variances[::-1], 40.0)
    best = plain_projections(dense, noisy)
    assert distance(dense, [wrong.margin(axes) for axes in sets], best) > 100 * NEAR
    right = MarginFit.of(sizes, sets, noisy, variances, 40.0)
    assert distance(dense, [right.margin(axes) for axes in sets], best) <= NEAR + 1e-4


def check_family(fit, total):
    """No negative cell, one answer wherever two margins overlap, the total kept."""
    margins = dict(zip(fit.sets, fit.nearest.margins, strict=True))
    seen = {}
    for axes, margin in margins.items():
        assert margin.min(initial=0.0) >= 0
        assert float(margin.sum()) == pytest.approx(total, rel=1e-9, abs=1e-9)
        for part in subsets(axes):
            rest = tuple(k for k, axis in enumerate(axes) if axis not in part)
            below = margin.sum(axis=rest)
            gap = np.max(np.abs(below - seen.setdefault(part, below)), initial=0.0)
            assert gap <= 1e-9 * max(total, 1)


@pytest.mark.parametrize("noise", [30.0, 3000.0])
def test_sixteen_binary_columns(rng, noise):
    rows = rng.random((5000, 16)) < rng.random((5000, 1)) ** 3
    sets = tuple(itertools.combinations(range(16), 3))
    exact = []
    for axes in sets:
        cells = np.ravel_multi_index(rows[:, axes].T.astype(int), (2, 2, 2))
        exact.append(np.bincount(cells, minlength=8).reshape(2, 2, 2).astype(float))
    noisy = [m + np.round(rng.normal(0, noise, m.shape)) for m in exact]
    fit = MarginFit.of((2,) * 16, sets, noisy, [noise**2] * len(sets), 5000)
    check_family(fit, 5000)
    assert fit.nearest.distance <= NEAR

    def error(margins):
        return np.mean([np.abs(a - b).sum() for a, b in zip(margins, exact, strict=True)])

    assert error([fit.unbiased(s) for s in sets]) < 0.6 * error(noisy)
    assert error(fit.nearest.margins) < 1.05 * error([fit.unbiased(s) for s in sets])


def test_margins_without_negative_cells_stay(rng):
    sizes, sets, exact, _, variances, _ = draw(rng, "pairs")
    exact = [margin + 120 / margin.size for margin in exact]
    fit = MarginFit.of(sizes, sets, exact, variances, 160.0)
    for axes, margin in zip(sets, exact, strict=True):
        np.testing.assert_allclose(fit.margin(axes), margin, atol=1e-9)
        np.testing.assert_allclose(fit.unbiased(axes), margin, atol=1e-9)
    assert fit.nearest.sweeps == 0
    assert fit.nearest.distance == 0


def test_estimated_total_is_kept_and_not_negative():
    sets = ((0, 1), (1,))
    fit = MarginFit.of((2, 2), sets, [np.array([[9.0, -5], [4, 1]]), np.array([13.0, -2])], [1, 2])
    assert fit.total == pytest.approx(float(fit.unbiased(())))
    check_family(fit, fit.total)
    fit = MarginFit.of((2, 2), sets, [np.full((2, 2), -3.0), np.array([1.0, -2])], [1, 2])
    assert fit.total == 0
    assert float(fit.unbiased(())) < 0
    assert not fit.margin((0, 1)).any()


def test_agreement_does_not_mean_that_a_table_exists():
    """A = B, B = C and A != C: each pair is possible, all three are not."""
    same, other = np.array([[4.0, 0], [0, 4]]), np.array([[0.0, 4], [4, 0]])
    sets = ((0, 1), (1, 2), (0, 2))
    fit = MarginFit.of((2, 2, 2), sets, [same, same, other], [1, 1, 1], 8)
    for axes, margin in zip(sets, [same, same, other], strict=True):
        np.testing.assert_allclose(fit.margin(axes), margin, atol=1e-12)
    rows = np.concatenate([summing((2, 2, 2), axes) for axes in sets])
    right = np.concatenate([same.ravel(), same.ravel(), other.ravel()])
    assert linprog(np.zeros(8), A_eq=rows, b_eq=right).status == 2  # infeasible


def test_apart_and_together_are_inverse(rng):
    margins = rng.normal(size=(3, 2, 5, 1, 4))
    np.testing.assert_allclose(together(apart(margins)), margins, atol=1e-12)
    assert apart(margins)[1, 0, 0, 0, 0] == pytest.approx(margins[1].sum())


def test_shapes_order_and_covers(rng):
    sizes, sets, _, noisy, variances, _ = draw(rng, "chain")
    fit = MarginFit.of(sizes, sets, noisy, variances)
    assert fit.margin((1, 0)).shape == (2, 3)
    np.testing.assert_array_equal(fit.margin((1, 0)), fit.margin((0, 1)).T)
    vectors = [rng.normal(size=2), rng.normal(size=3)]
    assert fit.deviation((1, 0), vectors) == pytest.approx(fit.deviation((0, 1), vectors[::-1]))
    assert fit.answer((1, 0), vectors) == pytest.approx(fit.answer((0, 1), vectors[::-1]))
    assert fit.covers((2, 1))
    assert fit.covers(())
    assert not fit.covers((0, 2))
    for array in (fit.margin((0,)), fit.unbiased((0, 1)), fit.nearest.margins[0], fit.estimate):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sizes": (2, 0)}, "sizes must be whole numbers"),
        ({"sets": ()}, "sets must have at least one margin"),
        ({"sets": ((1, 0),)}, "sets must be sorted"),
        ({"sets": ((0, 2),)}, "different axes from 0 to 1"),
        ({"noisy": [np.zeros((3, 2))]}, "noisy must be arrays of shapes"),
        ({"noisy": [np.full((2, 3), np.nan)]}, "noisy must be finite"),
        ({"variances": [0.0]}, "variances must be 1 finite numbers above 0"),
        ({"variances": [1.0, 1.0]}, "variances must be 1 finite"),
        ({"total": -1.0}, "total must be a finite number"),
        ({"sizes": (5000, 5000), "noisy": []}, "at most 16777216 cells"),
    ],
)
def test_bad_arguments(change, words):
    good = {"sizes": (2, 3), "sets": ((0, 1),), "noisy": [np.ones((2, 3))], "variances": [1.0]}
    MarginFit.of(**good)
    with pytest.raises(ValueError, match=words):
        MarginFit.of(**{**good, **change})


def test_bad_questions():
    fit = MarginFit.of((2, 3, 2), ((0, 1), (2,)), [np.ones((2, 3)), np.ones(2)], [1.0, 1.0])
    with pytest.raises(ValueError, match=r"axes \(0, 2\) are not together .* \(0, 1\), \(2,\)"):
        fit.margin((0, 2))
    for axes in ((0, 0), (3,)):
        with pytest.raises(ValueError, match="different numbers from 0 to 2"):
            fit.unbiased(axes)
    with pytest.raises(ValueError, match="vectors must be finite, one for each axis"):
        fit.deviation((0,), [np.ones(3)])
    with pytest.raises(ValueError, match="vectors must be finite, one for each axis"):
        fit.answer((0,), [])
