"""Reduced sets: gradients, convex weights, planted sets found again, constraints, valid codes."""

import sys

import numpy as np
import pytest

from mercer.releases.synthetic.reduced.descent import Problem, refit
from mercer.releases.synthetic.reduced.growth import Garden, NeighbourRows, even, pursue, sweep
from mercer.releases.synthetic.reduced.rules import Quadratic, rule_named
from mercer.releases.synthetic.reduced.search import Space, distance, reduce
from mercer.releases.synthetic.reduced.waves import NumpyWaves, torch_waves
from mercer.releases.synthetic.weights import STYLES
from mercer.spaces.maps.base import RandomFeatures

SIDE = 8.0  # length scales


def waves(dimension, pairs):
    return RandomFeatures.spanning(1.0, "gaussian", np.ones(dimension), 2 * pairs).frequencies


def box(dimension, *, low=-50.0, high=30.0):
    """Numbers only: `dimension` columns, SIDE length scales each."""
    slope = SIDE / (high - low)

    def draw(count):
        return low + (high - low) * np.random.default_rng(1).random((count, dimension))

    every = tuple(range(dimension))
    return Space(
        embed=lambda codes: (codes - low) * slope,
        draw=draw,
        snap=lambda codes: codes,
        free=every,
        lower=(low,) * dimension,
        upper=(high,) * dimension,
        slope=(slope,) * dimension,
        place=every,
    )


def mixed():
    """Columns: a category of three, a whole number in 0..20, a number in [-1, 1]."""

    def embed(codes):
        hot = np.eye(3)[codes[:, 0].astype(int)] * 1.5
        return np.column_stack([codes[:, 2] * 3 + 3, hot, codes[:, 1] * 0.4])

    def snap(codes):
        out = codes.copy()
        out[:, 0] = np.clip(np.rint(out[:, 0]), 0, 2)
        out[:, 1] = np.clip(np.rint(out[:, 1]), 0, 20)
        out[:, 2] = np.clip(out[:, 2], -1, 1)
        return out

    def draw(count):
        rng = np.random.default_rng(2)
        return np.column_stack(
            [rng.integers(0, 3, count), rng.integers(0, 21, count), rng.uniform(-1, 1, count)]
        ).astype(float)

    return Space(
        embed=embed,
        draw=draw,
        snap=snap,
        free=(1, 2),
        lower=(0.0, -1.0),
        upper=(20.0, 1.0),
        slope=(0.4, 3.0),
        place=(4, 0),
        step=(1.0, 0.0),
    )


def features(points, frequencies):
    """phi, written once more."""
    angle = points @ frequencies.T
    return np.hstack([np.cos(angle), np.sin(angle)]) / np.sqrt(len(frequencies))


def planted(space, codes, weights, frequencies):
    return np.asarray(weights) @ features(space.embed(np.asarray(codes, dtype=float)), frequencies)


PLANTED = [[-40.0, -35.0], [10.0, 20.0], [-10.0, 25.0], [20.0, -45.0]]


def cloud(dimension, pairs, *, noise=0.0, count=400):
    """The mean feature of three clusters, with or without noise."""
    frequencies, rng = waves(dimension, pairs), np.random.default_rng(5)
    centres = rng.uniform(2, 6, (3, dimension))
    rows = centres[rng.choice(3, count, p=[0.5, 0.3, 0.2])] + 0.4 * rng.standard_normal((count, dimension))
    target = features(rows, frequencies).mean(axis=0)
    return target + noise * rng.standard_normal(len(target)), frequencies


# -- features and gradients --------------------------------------------------------------------


def differences(function, at, step=1e-6):
    out = np.empty(at.size)
    for i in range(at.size):
        ahead, behind = at.ravel().copy(), at.ravel().copy()
        ahead[i] += step
        behind[i] -= step
        out[i] = (function(ahead.reshape(at.shape)) - function(behind.reshape(at.shape))) / (2 * step)
    return out.reshape(at.shape)


def test_features_have_norm_one_and_are_what_they_say():
    frequencies = waves(3, 150)
    points = np.random.default_rng(0).uniform(0, 8, (7, 3))
    rows = NumpyWaves(frequencies).rows(points)
    np.testing.assert_allclose(rows, features(points, frequencies), atol=1e-15)
    np.testing.assert_allclose(np.sum(rows**2, axis=1), 1, atol=1e-13)
    np.testing.assert_allclose(NumpyWaves(frequencies).gram(points), rows @ rows.T, atol=1e-13)
    vector = np.random.default_rng(1).standard_normal(300)
    np.testing.assert_allclose(NumpyWaves(frequencies).scores(points, vector), rows @ vector, atol=1e-12)
    single = NumpyWaves(frequencies, single=True).scores(points, vector)
    np.testing.assert_allclose(single, rows @ vector, atol=1e-4)


def test_gradients_against_differences():
    engine, rng = NumpyWaves(waves(2, 60)), np.random.default_rng(3)
    points, weights = rng.uniform(0, 8, (5, 2)), rng.standard_normal(5)
    target = rng.standard_normal(120) / 10
    value, by_point, by_weight = engine.value(points, weights, target)
    rest = weights @ features(points, engine.frequencies) - target
    assert value == pytest.approx(rest @ rest, rel=1e-12)
    moved = differences(lambda u: engine.value(u, weights, target)[0], points)
    np.testing.assert_allclose(by_point, moved, atol=1e-7)
    weighed = differences(lambda w: engine.value(points, w, target)[0], weights)
    np.testing.assert_allclose(by_weight, weighed, atol=1e-7)
    heights, slopes = engine.slopes(points, target)
    np.testing.assert_allclose(heights, engine.scores(points, target))
    climbed = differences(lambda u: engine.scores(u, target).sum(), points)
    np.testing.assert_allclose(slopes, climbed, atol=1e-7)


@pytest.mark.parametrize("name", STYLES)
def test_charts_give_allowed_weights_and_their_gradients(name):
    rule, rng = rule_named(name, 1.5), np.random.default_rng(4)
    start = rule.project(rng.standard_normal(6))
    chart = rule.chart(start)
    np.testing.assert_allclose(chart.weights(chart.start), start, atol=1e-14)
    gradient = rng.standard_normal(6)
    numbers = chart.start + rng.uniform(0.1, 0.5, len(chart.start))
    pulled = chart.pull(numbers, gradient)
    expected = differences(lambda v: float(gradient @ chart.weights(v)), numbers)
    np.testing.assert_allclose(pulled, expected, atol=1e-8)
    weights = chart.weights(numbers)
    if name == "l1":
        assert np.abs(weights).sum() <= 1.5 + 1e-12
    if name in ("positive", "uniform"):
        assert weights.min() >= 0
        assert weights.sum() == pytest.approx(1, abs=1e-12)


def test_many_points_go_in_blocks(monkeypatch):
    frequencies, rng = waves(2, 40), np.random.default_rng(0)
    points, weights = rng.uniform(0, 8, (50, 2)), rng.standard_normal(50)
    target = rng.standard_normal(80)
    engine = NumpyWaves(frequencies)
    whole = engine.value(points, weights, target)
    monkeypatch.setattr("mercer.releases.synthetic.reduced.waves._CELLS", 400)
    monkeypatch.setattr("mercer.releases.synthetic.reduced.waves._KEPT", 100)
    for a, b in zip(engine.value(points, weights, target), whole, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(engine.gram(points), engine.rows(points) @ engine.rows(points).T)


# -- weights of fixed points -------------------------------------------------------------------


def fixed_problem(count=30, seed=0):
    frequencies, rng = waves(2, 80), np.random.default_rng(seed)
    rows = features(rng.uniform(0, 8, (count, 2)), frequencies)
    target = rng.dirichlet(np.ones(count)) @ rows + 0.02 * rng.standard_normal(160)
    return Quadratic(rows @ rows.T, rows @ target, float(target @ target))


@pytest.mark.parametrize("seed", range(5))
def test_positive_weights_are_the_best(seed):
    q = fixed_problem(seed=seed)
    w = rule_named("positive", 1.0).refit(q, np.full(30, 1 / 30))
    assert w.min() >= 0
    assert w.sum() == pytest.approx(1, abs=1e-12)
    slope = q.gram @ w - q.cross
    level = w @ slope
    assert np.all(slope >= level - 1e-10)  # no vertex is better
    assert np.all(np.abs(slope[w > 0] - level) < 1e-9)


@pytest.mark.parametrize("bound", [0.3, 0.8, 50.0])
def test_l1_weights_are_the_best(bound):
    q = fixed_problem()
    w = rule_named("l1", bound).refit(q, np.zeros(30))
    assert np.abs(w).sum() <= bound + 1e-12
    slope = q.gram @ w - q.cross
    level = np.abs(slope).max()
    # the duality gap of the ball bounds how far the square is from the least
    assert w @ slope + bound * level < 1e-8 * max(1, bound)
    if bound == 50.0:
        np.testing.assert_allclose(w, rule_named("free", 1.0).refit(q, w), atol=1e-5)


def test_a_refit_never_makes_it_worse():
    target, frequencies = cloud(2, 100)
    space = box(2)
    engine = NumpyWaves(frequencies)
    codes = space.draw(20)
    for name in STYLES:
        rule = rule_named(name, 1.0)
        problem = Problem(target, engine, engine, space, rule, 0.0, lambda _: None)
        before = rule.project(np.full(20, 0.05))
        after = refit(problem, codes, before)
        assert problem.distance(codes, after) <= problem.distance(codes, before)


def test_pursuit_takes_each_direction_once():
    frequencies = waves(2, 200)
    places = np.array([[1.0, 1.0], [1.0, 1.0], [5.0, 5.0], [1.0, 1.0], [7.0, 2.0]])
    rows = features(places, frequencies)
    rest = 0.5 * rows[0] + 0.4 * rows[2] - 0.3 * rows[4]
    assert sorted(pursue(rows, rest, 5, signed=True)) == [0, 2, 4]
    assert 4 not in pursue(rows, rest, 2, signed=False)


# -- the search --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STYLES)
def test_a_planted_set_is_found_again(name):
    space, frequencies = box(2), waves(2, 200)
    weights = [0.25] * 4 if name == "uniform" else [0.4, 0.3, 0.2, 0.1]
    target = planted(space, PLANTED, weights, frequencies)
    found = reduce(target, frequencies, space, size=4, weights=name)
    assert found.distance < 1e-7
    order = np.argsort(found.codes @ [1.0, 0.1])
    expected = np.argsort(np.array(PLANTED) @ [1.0, 0.1])
    np.testing.assert_allclose(found.codes[order], np.array(PLANTED)[expected], atol=1e-4)
    np.testing.assert_allclose(found.weights[order], np.array(weights)[expected], atol=1e-6)


def test_negative_weights_are_found_where_they_are_allowed():
    space, frequencies = box(2), waves(2, 200)
    target = planted(space, PLANTED[:2], [0.6, -0.4], frequencies)
    for name in ("free", "l1"):
        found = reduce(target, frequencies, space, size=2, weights=name)
        assert found.distance < 1e-6
        assert sorted(np.round(found.weights, 5)) == [-0.4, 0.6]
    tight = reduce(target, frequencies, space, size=2, weights="l1", bound=0.5)
    assert np.abs(tight.weights).sum() <= 0.5 + 1e-12
    assert tight.distance > 0.1


@pytest.mark.parametrize("name", STYLES)
@pytest.mark.parametrize("size", [1, 7])
def test_constraints_and_the_reported_distance(name, size):
    target, frequencies = cloud(3, 100, noise=0.01)
    space = box(3)
    found = reduce(target, frequencies, space, size=size, weights=name, restarts=1, iterations=40)
    assert len(found.codes) == len(found.weights) <= size
    assert np.all(found.weights != 0)
    rest = found.weights @ features(space.embed(found.codes), frequencies) - target
    assert found.distance == pytest.approx(np.linalg.norm(rest), rel=1e-12)
    assert found.distance == distance(target, frequencies, space, found.codes, found.weights)
    assert found.history[-1] == (len(found.codes), found.distance)
    assert found.codes.min() >= -50
    assert found.codes.max() <= 30
    if name == "l1":
        assert np.abs(found.weights).sum() <= 1 + 1e-12
    if name == "positive":
        assert found.weights.min() >= 0
        assert found.weights.sum() == pytest.approx(1, abs=1e-12)
    if name == "uniform":
        assert len(found.weights) == size
        np.testing.assert_allclose(found.weights, 1 / size, rtol=1e-12)


def test_more_points_come_nearer():
    target, frequencies = cloud(2, 150)
    reached = [
        reduce(target, frequencies, box(2), size=size, weights="positive", restarts=1).distance
        for size in (1, 3, 10)
    ]
    assert reached[2] < 0.2 * reached[1] < 0.2 * reached[0]


def test_known_noise_stops_free_weights_from_fitting_it():
    clean, frequencies = cloud(2, 100)
    noise = 0.03
    target = clean + noise * np.random.default_rng(8).standard_normal(len(clean))
    blind = reduce(target, frequencies, box(2), size=40, weights="free", restarts=1, iterations=50)
    told = reduce(
        target, frequencies, box(2), size=40, weights="free", noise=noise, restarts=1, iterations=50
    )
    assert len(told.weights) < len(blind.weights)
    truth = [distance(clean, frequencies, box(2), r.codes, r.weights) for r in (told, blind)]
    assert truth[0] < truth[1]


def test_same_arguments_same_result():
    target, frequencies = cloud(2, 60, noise=0.01)
    first, second = (reduce(target, frequencies, box(2), size=6, iterations=30) for _ in range(2))
    assert first.codes.tobytes() == second.codes.tobytes()
    assert first.weights.tobytes() == second.weights.tobytes()
    assert first.history == second.history


def test_progress_is_counted():
    target, frequencies = cloud(2, 40)
    seen = []
    reduce(target, frequencies, box(2), size=3, iterations=10, restarts=1, progress=seen.append)
    assert set(seen) == {1}
    assert len(seen) > 10


# -- columns of several kinds ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["l1", "positive"])
def test_mixed_columns_stay_valid_and_are_found(name):
    space, frequencies = mixed(), waves(5, 200)
    codes = np.array([[0, 3, -0.5], [1, 15, 0.25], [2, 9, 0.75], [1, 2, -0.125]])
    target = planted(space, codes, [0.4, 0.3, 0.2, 0.1], frequencies)
    found = reduce(target, frequencies, space, size=4, weights=name)
    assert np.array_equal(space.snap(found.codes), found.codes)
    assert found.distance < 1e-6
    order = np.argsort(-found.weights)
    np.testing.assert_array_equal(found.codes[order][:, :2], codes[:, :2])
    np.testing.assert_allclose(found.codes[order][:, 2], codes[:, 2], atol=1e-5)


@pytest.mark.parametrize("name", STYLES)
def test_mixed_columns_with_noise_stay_valid(name):
    space, frequencies = mixed(), waves(5, 100)
    rng = np.random.default_rng(11)
    target = features(space.embed(space.draw(300)), frequencies).mean(axis=0)
    target = target + 0.01 * rng.standard_normal(len(target))
    found = reduce(target, frequencies, space, size=12, weights=name, restarts=1, iterations=40)
    assert np.array_equal(space.snap(found.codes), found.codes)
    assert np.isin(found.codes[:, 0], [0, 1, 2]).all()
    assert found.distance == distance(target, frequencies, space, found.codes, found.weights)


def test_columns_without_any_that_move():
    """Three categories of four levels: a table of counts is found exactly."""

    def embed(codes):
        return np.hstack([np.eye(4)[codes[:, j].astype(int)] * 1.3 for j in range(3)])

    space = Space(
        embed=embed,
        draw=lambda count: np.random.default_rng(4).integers(0, 4, (count, 3)).astype(float),
        snap=lambda codes: codes,
    )
    frequencies = waves(12, 150)
    codes = np.array([[0, 1, 2], [3, 3, 0], [2, 2, 2]], dtype=float)
    target = planted(space, codes, [0.5, 0.3, 0.2], frequencies)
    found = reduce(target, frequencies, space, size=3, weights="positive", restarts=1)
    assert found.distance < 1e-6
    np.testing.assert_array_equal(found.codes[np.argsort(-found.weights)], codes)


def test_a_sweep_goes_to_better_levels_and_categories():
    space, frequencies = mixed(), waves(5, 150)
    right = np.array([[0, 3, -0.5], [1, 15, 0.25]])
    wrong = np.array([[0, 4, -0.5], [2, 15, 0.25]])
    target = planted(space, right, [0.6, 0.4], frequencies)
    engine = NumpyWaves(frequencies)
    rule = rule_named("free", 1.0)
    problem = Problem(target, engine, engine, space, rule, 0.0, lambda _: None)
    neighbours = NeighbourRows.seen(space, space.draw(50))
    swept, moved = sweep(problem, neighbours, wrong, np.array([0.6, 0.4]))
    assert moved == 2
    np.testing.assert_array_equal(swept, right)


@pytest.mark.parametrize("size", [1, 5, 13])
def test_even_rows_are_as_many_as_asked_for(size):
    space = box(2)
    engine, pool = NumpyWaves(waves(2, 10)), space.draw(10)
    rule = rule_named("uniform", 1.0)
    problem = Problem(np.zeros(20), engine, engine, space, rule, 0.0, lambda _: None)
    garden = Garden(pool, NeighbourRows.seen(space, pool), np.random.default_rng(0))
    rows = even(problem, garden, pool[:3], np.array([0.6, 0.3, 0.1]), size)
    assert rows.shape == (size, 2)


# -- errors ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"size": 0}, "size must be in"),
        ({"size": -3}, "size must be in"),
        ({"weights": "convex"}, "weights must be one of"),
        ({"device": "tpu"}, "device must be one of"),
        ({"bound": 0.0}, "bound must be a finite number above 0"),
        ({"noise": -1.0}, "noise must be a finite number above 0"),
        ({"restarts": 0}, "restarts must be in"),
        ({"iterations": 0}, "iterations must be in"),
    ],
)
def test_bad_arguments(change, words):
    target, frequencies = cloud(2, 20)
    with pytest.raises(ValueError, match=words):
        reduce(target, frequencies, box(2), **({"size": 2} | change))


def test_bad_targets():
    target, frequencies = cloud(2, 20)
    with pytest.raises(ValueError, match="target must be finite"):
        reduce(np.where(np.arange(40) == 3, np.nan, target), frequencies, box(2), size=2)
    with pytest.raises(ValueError, match="target must be a vector of 40 numbers"):
        reduce(target[:-1], frequencies, box(2), size=2)
    with pytest.raises(ValueError, match="frequencies must be a matrix"):
        reduce(target, frequencies[:, 0], box(2), size=2)
    with pytest.raises(ValueError, match="embed must give 2 coordinates"):
        reduce(target, frequencies, box(3), size=2)


def test_a_target_of_which_nothing_is_left_gives_equal_weights():
    """The target was paid for: an error after the charge would lose it."""
    _, frequencies = cloud(2, 20)
    for name in ("free", "l1"):
        found = reduce(np.zeros(40), frequencies, box(2), size=3, weights=name)
        assert found.level
        assert np.array_equal(found.weights, np.full(3, 1 / 3))
        assert found.codes.shape == (3, 2)
        assert len(np.unique(found.codes, axis=0)) == 3
        assert found.history[-1] == (3, found.distance)
        moved = reduce(np.full(40, 0.1), frequencies, box(2), size=3, weights=name)
        assert not moved.level


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"free": (0,)}, "lower must have one entry"),
        (
            {"free": (0,), "lower": (0.0,), "upper": (np.inf,), "slope": (1.0,), "place": (0,)},
            "must be finite and in order",
        ),
        (
            {"free": (0,), "lower": (0.0,), "upper": (1.0,), "slope": (0.0,), "place": (0,)},
            "slope of free column 0",
        ),
        (
            {"free": (0, 0), "lower": (0.0,) * 2, "upper": (1.0,) * 2, "slope": (1.0,) * 2, "place": (0, 1)},
            "must not repeat",
        ),
        (
            {
                "free": (0,),
                "lower": (0.0,),
                "upper": (1.0,),
                "slope": (1.0,),
                "place": (0,),
                "step": (1.0, 1.0),
            },
            "step must be empty",
        ),
    ],
)
def test_bad_spaces(fields, words):
    with pytest.raises(ValueError, match=words):
        Space(embed=np.asarray, draw=lambda n: np.zeros((n, 1)), snap=np.asarray, **fields)


# -- PyTorch -----------------------------------------------------------------------------------


def test_without_pytorch_the_way_out_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    target, frequencies = cloud(2, 20)
    with pytest.raises(ImportError, match=r"pip install 'mercer\[torch\]'"):
        reduce(target, frequencies, box(2), size=2, device="torch")


def test_pytorch_agrees_with_numpy():
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'mercer[torch]'")
    frequencies, rng = waves(3, 80), np.random.default_rng(6)
    points, weights = rng.uniform(0, 8, (9, 3)), rng.standard_normal(9)
    target, numpy = rng.standard_normal(160), NumpyWaves(frequencies)
    for engine, digits in zip(torch_waves(frequencies, "torch"), (1e-5, 1e-12), strict=True):
        pairs = [
            (engine.rows(points), numpy.rows(points)),
            (engine.gram(points), numpy.gram(points)),
            (engine.scores(points, target), numpy.scores(points, target)),
            (engine.residual(points, weights, target), numpy.residual(points, weights, target)),
            *zip(engine.slopes(points, target), numpy.slopes(points, target), strict=True),
            *zip(engine.value(points, weights, target), numpy.value(points, weights, target), strict=True),
        ]
        for got, expected in pairs:
            np.testing.assert_allclose(got, expected, atol=20 * digits, rtol=20 * digits)


@pytest.mark.parametrize("device", ["torch", "cuda"])
def test_pytorch_finds_the_planted_set(device):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'mercer[torch]'")
    if device == "cuda" and not torch.cuda.is_available():
        target, frequencies = cloud(2, 20)
        with pytest.raises(ValueError, match="device='cuda' needs a GPU"):
            reduce(target, frequencies, box(2), size=2, device="cuda")
        return
    space, frequencies = box(2), waves(2, 200)
    target = planted(space, PLANTED, [0.4, 0.3, 0.2, 0.1], frequencies)
    found = reduce(target, frequencies, space, size=4, device=device)
    assert found.distance < 1e-7
    assert found.distance == distance(target, frequencies, space, found.codes, found.weights)
    np.testing.assert_allclose(np.sort(found.weights), [0.1, 0.2, 0.3, 0.4], atol=1e-6)
