"""What Mercer's synthetic tables are compared with: noise, models and measures are right."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import chi2

from mercer.promise.events import gaussian_log_delta, gaussian_multiplier
from studies.peers import merf, trees
from studies.peers import tables as peers
from studies.shared import bins, measures
from studies.shared.tables import SPECS, stand_in, table
from tests.conftest import ALPHA

DOMAIN = {"x": (0.0, 2.0), "k": range(5, 25), "c": ["a", "b", "d"]}


def rows(n, rng):
    k, c = rng.integers(5, 25, n), np.array(["a", "b", "d"])[rng.integers(3, size=n)]
    return pd.DataFrame({"x": rng.uniform(0, 2, n), "k": k, "c": c})


def scale_p_value(z, sd):
    s = np.sum(np.ravel(z) ** 2) / sd**2
    return 2 * min(chi2.cdf(s, np.size(z)), chi2.sf(s, np.size(z)))


def noise_has(z, sd):
    assert scale_p_value(z, sd) > ALPHA
    assert scale_p_value(z, 0.9 * sd) < ALPHA  # would see 10 % too much
    assert scale_p_value(z, 1.1 * sd) < ALPHA  # and 10 % too little


@pytest.mark.parametrize("most_cells", [1, 64])
def test_noise_and_sensitivity_of_the_mean_of_waves(most_cells, rng):
    layout = merf.Layout(DOMAIN, most_cells)
    settings = merf.Settings(frequencies=6000)
    waves = merf._frequencies(layout.width, settings, rng)
    frame = rows(200, rng)

    def vector(part):
        mean, shares = merf._embedding(part, layout, waves)
        return np.append(mean.ravel(), shares)

    frame.loc[:1, ["x", "k"]] = [[0.0, 5], [2.0, 24]]  # opposite corners
    whole, first = vector(frame), vector(frame.iloc[[0]])
    for i in range(50):  # the first row replaced by row i
        far = 200 * np.linalg.norm((vector(frame.iloc[[i]]) - first) / 200)
        assert far <= 2 + 1e-5
    promise = {"epsilon": 0.7, "delta": 1e-6}
    noisy = merf._released(frame, layout, waves, rng, **promise)
    sd = 2 / 200 * gaussian_multiplier(**promise)
    noise_has(np.append(noisy[0].ravel(), noisy[1]) - whole, sd)


def test_two_rows_may_be_two_apart():
    """So the sensitivity is not sqrt(2) / n: products of waves may be negative (M10)."""
    layout = merf.Layout({"x": (0.0, 1.0)}, 1)
    waves = np.full((1, 3), np.pi, dtype=np.float32)
    ends = [merf._embedding(pd.DataFrame({"x": [x]}), layout, waves)[0] for x in (0.0, 1.0)]
    assert np.linalg.norm(ends[0] - ends[1]) == pytest.approx(2, abs=1e-5)


def test_tables_cost_what_the_tree_says(rng):
    frame = rows(300, rng)
    d, promise = 3, {"epsilon": 1.0, "delta": 1e-6}
    sd_one, reach, sd_two = trees.budget(d, **promise)
    _, codes = bins.coded(frame, DOMAIN, 6)
    other = codes.copy()
    other[0] = (codes[0] + 1) % [6, 6, 3]  # another row, in other bins of all columns
    sizes, pairs = [6, 6, 3], [(0, 1), (1, 2)]
    one = sum(
        np.sum((np.bincount(codes[:, j], minlength=6) - np.bincount(other[:, j], minlength=6)) ** 2)
        for j in range(d)
    )
    moves = [trees._pair(codes, sizes, e) - trees._pair(other, sizes, e) for e in pairs]
    assert one == 2 * d
    assert [np.abs(m).sum() for m in moves] == [2, 2]  # of an l1 score: at most this
    two = sum(np.sum(m**2) for m in moves)
    spent = one / (2 * sd_one**2) + (d - 1) * reach**2 / 8 + two / (2 * sd_two**2)
    assert spent == pytest.approx(trees.zcdp_rho(**promise), rel=1e-9)


def test_noise_of_columns(rng):
    domain = {f"k{j}": range(0, 128) for j in range(100)}
    frame = pd.DataFrame({name: rng.integers(128, size=2000) for name in domain})
    cut, codes = trees.Cut.of(frame, domain, 7.0, 20.0, rng)
    counts = [np.bincount(frame[name], minlength=128) for name in domain]
    noise_has(np.array(cut.noisy) - np.array(counts), 7.0)
    assert np.all(codes.max(axis=0) < cut.sizes)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_rho_is_on_the_private_side_and_near(epsilon):
    rho = trees.zcdp_rho(epsilon=epsilon, delta=1e-6)
    assert gaussian_log_delta(math.sqrt(2 * rho), epsilon=epsilon) < math.log(1e-6)
    exact = 1 / gaussian_multiplier(epsilon=epsilon, delta=1e-6) ** 2 / 2
    assert exact / 1.25 < rho < exact


def test_choices_follow_the_exponential_mechanism(rng):
    codes = np.stack([rng.integers(2, size=400) for _ in range(3)], axis=1)
    codes[:, 1] = codes[:, 0]
    columns = [
        trees.Measured((j,), np.bincount(codes[:, j], minlength=2).astype(float), np.ones(2))
        for j in range(3)
    ]
    sure = [trees._chosen(codes, [2] * 3, columns, 10.0, 0.0, rng)[0] for _ in range(20)]
    assert set(sure) == {(0, 1)}
    blind = {trees._chosen(codes, [2] * 3, columns, 1e-12, 0.0, rng)[0] for _ in range(100)}
    assert blind == {(0, 1), (0, 2), (1, 2)}  # misses one with probability below 1e-17


def test_tree_against_all_cells(rng):
    sizes, links = [3, 2, 4, 2], [(1, 0), (1, 2), (2, 3)]
    tree = trees.Tree(
        [rng.normal(size=s) for s in sizes], {e: rng.normal(size=(sizes[e[0]], sizes[e[1]])) for e in links}
    )
    law = np.zeros(sizes)
    for cell in itertools.product(*map(range, sizes)):
        law[cell] = math.exp(
            sum(v[k] for v, k in zip(tree.nodes, cell, strict=True))
            + sum(v[cell[i], cell[j]] for (i, j), v in tree.links.items())
        )
    law /= law.sum()
    for key, found in tree.tables().items():
        rest = tuple(set(range(4)) - set(key))
        slow = law.sum(axis=rest)
        np.testing.assert_allclose(found, slow.T if len(key) == 2 and key[0] > key[1] else slow)
    n = 200_000
    drawn = tree.sample(n, rng)
    counts = np.zeros(sizes)
    np.add.at(counts, tuple(drawn.T), 1)
    spread = np.sqrt(law * (1 - law) / n)
    assert np.all(np.abs(counts / n - law) < 7 * spread + 50 / n)
    goals = [trees.Measured(k, n * v, np.ones_like(v)) for k, v in tree.tables().items()]
    again = trees.Tree.fitted(sizes, links, goals, n)
    np.testing.assert_allclose(again.tables()[1, 2], tree.tables()[1, 2], atol=1e-4)


@pytest.mark.parametrize("most_cells", [1, 64])
def test_slopes_of_the_generator(most_cells):
    """Against differences; weights before soft levels have slopes that are not those of a mean."""
    layout = merf.Layout({**DOMAIN, "c": ["a", "b"]}, most_cells)
    settings = merf.Settings(frequencies=40, hidden=(16,), lengths=(1.0, 2.0))
    rng = np.random.default_rng(0)  # nothing random is asserted
    waves = merf._frequencies(layout.width, settings, rng)
    generator = merf.Generator.start(layout, settings, rng)
    generator.weights[-1][:] *= 0.05  # inside the bounds
    size = np.full((layout.cells, 1), 1 / layout.cells, np.float32)
    goal = (0.1 * rng.normal(size=(layout.cells, 80))).astype(np.float32)
    cells = np.tile(np.repeat(np.arange(layout.cells), 16), 2)

    def errors(points):
        parts = [v.reshape(2, layout.cells, -1, 40).mean(axis=2) for v in merf._features(points, waves)]
        half = np.concatenate(parts, axis=-1).astype(float) * size - goal
        return float((half[0] * half[1]).sum())

    points, inputs = generator.forward(cells, np.random.default_rng(1))
    slope = merf._slope(points, goal, size, waves)
    for place in [(0, 0), (5, 1), (17, 1)]:
        moved = [points.copy() for _ in range(2)]
        moved[0][place] += 1e-2
        moved[1][place] -= 1e-2
        assert slope[place] == pytest.approx((errors(moved[0]) - errors(moved[1])) / 2e-2, rel=1e-3, abs=2e-5)
    if most_cells == 1:
        return  # the rest holds where no level is drawn
    gradients = generator.gradients(slope, inputs)
    values = [v for pair in zip(generator.weights[::-1], generator.offsets[::-1], strict=True) for v in pair]
    for value, gradient in zip(values, gradients, strict=True):
        place = tuple(s // 2 for s in value.shape)
        both = []
        for step in (1e-2, -2e-2):
            value[place] += step
            both.append(errors(generator.forward(cells, np.random.default_rng(1))[0]))
        value[place] += 1e-2
        assert gradient[place] == pytest.approx((both[0] - both[1]) / 2e-2, abs=2e-4, rel=0.02)


def test_bins_there_and_back(rng):
    frame = rows(500, rng)
    for most in (3, 6, 16, 64):
        cut, codes = bins.coded(frame, DOMAIN, most)
        again = bins.coded(bins.drawn(codes, cut, DOMAIN, rng), DOMAIN, most)[1]
        np.testing.assert_array_equal(codes, again)
    few, many = bins.Bins(DOMAIN["k"], 6), bins.Bins(DOMAIN["k"], 20)
    np.testing.assert_array_equal(many.groups(few)[many.code(frame["k"])], few.code(frame["k"]))
    odd = pd.DataFrame({"x": [np.nan, -9, 99], "k": [0, 99, 5], "c": ["?", "b", "a"]})
    assert bins.coded(odd, DOMAIN, 4)[1].tolist() == [[0, 0, 0], [0, 3, 1], [3, 0, 0]]
    for n in (0, 1, 999):
        counts = bins.rounded(n, rng.random(7), rng)
        assert counts.sum() == n
        assert counts.min() >= 0
    near = bins.simplex(rng.normal(size=9), 5.0)
    assert near.min() >= 0
    assert near.sum() == pytest.approx(5)


def test_distance_against_all_pairs(rng):
    domain = SPECS["adult"].domain
    data = stand_in("adult", 1000)
    share = rng.random(len(data.train))
    share /= share.sum()
    x, y = (measures._embedded(f, domain).astype(float) for f in (data.train, data.test))
    n = len(y)

    def kernel(a, b):
        return np.exp(-cdist(a, b, "sqeuclidean") / 2)

    square = share @ kernel(x, x) @ share + (kernel(y, y).sum() - n) / (n * (n - 1))
    square -= 2 * share @ kernel(x, y).mean(axis=1)
    found = measures.distance(domain, data.train, share, data.test)
    assert found == pytest.approx(math.sqrt(square), abs=1e-4)


def test_weights_count_as_repeated_rows():
    data = stand_in("california", 500)
    times = np.arange(len(data.train)) % 3
    whole = data.train.loc[data.train.index.repeat(times)]
    given = measures.measures("california", data.train, times, data.test)
    repeated = measures.measures("california", whole, None, data.test)
    for kind in measures.KINDS:
        if "boosting" not in kind:  # its leaves count rows
            close = 0.01 if "logistic" in kind else 1e-5  # its penalty does, a little
            assert given[kind] == pytest.approx(repeated[kind], abs=close), kind
    perfect = measures.measures("california", data.test, None, data.test)
    assert max(perfect[k] for k in ("one-way", "two-way", "queries", "moments", "waves")) < 1e-9
    with pytest.raises(ValueError, match="non-negative"):
        measures.measures("california", data.train, times - 1.0, data.test)


def test_every_method_gives_rows_of_the_domain():
    data = stand_in("adult", 400)
    domain = data.spec.domain
    for name, (_, synthesise) in peers.available(quick=True).items():
        if name == "ours":
            continue
        frame, weights = synthesise(data.train, domain, epsilon=1.0, delta=1e-6, seed=3)
        again, _ = synthesise(data.train, domain, epsilon=1.0, delta=1e-6, seed=3)
        pd.testing.assert_frame_equal(frame, again)
        assert list(frame) == list(domain)
        assert len(frame) == len(weights) == len(data.train)
        for column, values in domain.items():
            if isinstance(values, tuple):
                assert frame[column].between(*values).all(), (name, column)
            else:
                assert frame[column].isin(list(values)).all(), (name, column)


def test_a_missing_file_says_what_to_get(tmp_path, monkeypatch):
    monkeypatch.delenv("MERCER_DATA", raising=False)
    table.cache_clear()
    for folder in (None, str(tmp_path)):
        with pytest.raises(SystemExit, match=r"adult_numeric.csv.gz.*MERCER_DATA.*education_num"):
            table("adult", folder)
    with pytest.raises(ValueError, match="california, adult, nltcs, got 'x'"):
        table("x")
