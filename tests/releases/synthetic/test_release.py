"""Synthetic tables: closed forms, what a recipient can do, and what goes wrong.  M10, M17."""

import math
from datetime import date

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import binom

import mercer
from mercer.releases.synthetic.embedding import LandmarkEmbedding, Shrink, choose_shrink
from mercer.releases.synthetic.weights import fit_weights, herd, onto_ball, onto_simplex
from mercer.sensitive.data import open_records
from mercer.sensitive.summaries.embedding import EmbeddingSummary, LandmarkFeatures, tally_records
from mercer.sensitive.summaries.kernel_sums import kernel_error
from mercer.spaces.record_kernels import LandmarkSpan, OwnKernel, RecordKernel

ALPHA = 1e-9
PLANE = mercer.Domain({"x": (0, 1), "y": (0, 1)})
PROMISE = {"domain": PLANE, "epsilon": 1.0, "delta": 1e-6}


def blobs(rng, n=4000):
    centre = np.array([[0.3, 0.3], [0.7, 0.6]])[(rng.random(n) < 0.4).astype(int)]
    return np.clip(centre + 0.08 * rng.standard_normal((n, 2)), 0, 1)


@pytest.fixture(scope="module")
def release():
    rows = blobs(np.random.default_rng(5))
    return mercer.synthetic(rows, size=200, rng=3, **PROMISE)


# geometry


def test_the_kernel_of_mixed_records():
    """Gaussian factors of numeric columns times exp(-a) for categories that differ (M10)."""
    domain = mercer.Domain({"age": (0, 100), "ward": ["a", "b", "c"], "ill": bool})
    kernel = RecordKernel(domain, "gaussian", (0.2, 1.5, 0.7))
    x, y = np.array([[30.0, 0, 1]]), np.array([[50.0, 2, 0]])
    expected = math.exp(-((0.2 / 0.2) ** 2) / 2 - 1.5 - 0.7)
    assert kernel(x, y)[0, 0] == pytest.approx(expected, rel=1e-6)
    assert kernel(x, x)[0, 0] == 1.0
    rough = RecordKernel(domain, "exponential", (0.2, 1.5, 0.7))
    assert rough(x, y)[0, 0] == pytest.approx(math.exp(-1 - 1.5 - 0.7), rel=1e-6)


@pytest.mark.parametrize("name", ["gaussian", "matern32", "exponential"])
def test_random_features_are_the_kernel(name, rng):
    """Means of cosines over many frequencies: an exact mean of bounded terms (Hoeffding)."""
    domain = mercer.Domain({"age": (0, 1), "h": (0, 1), "ward": ["a", "b", "c"]})
    kernel = RecordKernel(domain, name, (0.4, 0.8, 0.6))
    pairs = 20_000
    x = domain.from_unit(rng.random((6, 3)))
    w, u = kernel.frequencies(pairs), kernel.embed(x)
    means = np.cos((u[:, None] - u[None]) @ w.T).mean(axis=2)
    # frequencies are orthogonal in blocks, whose terms are not independent: blocks are
    blocks = pairs / len(kernel.factors)
    assert np.max(np.abs(means - kernel(x, x))) < math.sqrt(2 * math.log(2 * 36 / ALPHA) / blocks)


def test_a_span_is_orthonormal_and_reveals_the_rank(rng):
    z = rng.random((60, 2))
    gram = np.exp(-cdist(z, z, "sqeuclidean") / 2 / 0.2**2)
    twice = np.block([[gram, gram], [gram, gram]])
    span, used = LandmarkSpan.of(twice, 6e-7)
    assert len(used) <= 60  # copies add nothing
    assert len(set(used % 60)) == len(used)
    inner = span.mixing @ span.gram @ span.mixing.T
    assert np.allclose(inner, np.eye(span.size), atol=1e-6)
    assert 1 <= span.gain < 1 + 1e-4
    coordinates = rng.standard_normal(span.size)
    again = span.coordinates(span.gram @ span.weights(coordinates))
    assert np.allclose(again, coordinates, rtol=1e-5)
    assert span.first(7).size == 7
    assert np.allclose(np.abs(span.first(7).mixing), np.abs(span.mixing[:7]), atol=1e-8)


def test_all_rows_public_and_no_noise_is_the_empirical_embedding(rng):
    """Algorithm 1 with Z = X: the projection is the mean embedding itself, to rounding."""
    rows = rng.random((120, 2))
    kernel = RecordKernel(PLANE, "gaussian", (0.05, 0.07))
    u = kernel.embed(rows)
    gram = kernel.between(u, u)
    span, used = LandmarkSpan.of(gram, kernel_error(kernel))
    how = LandmarkFeatures(kernel, u[used], span)
    tally = tally_records(open_records(rows, domain=PLANE, unit=None), how)
    c = EmbeddingSummary(tally, n=120, unit="row").coordinates()
    weights = np.zeros(120)
    weights[used] = span.weights(c)
    gap = weights - 1 / 120
    assert math.sqrt(max(gap @ gram @ gap, 0)) < 2e-5  # kernel values are cut at 2^-24
    if len(used) == 120:
        assert np.allclose(weights, 1 / 120, atol=1e-3)


def test_without_privacy_to_speak_of_the_release_is_the_empirical_embedding(rng):
    rows = blobs(rng, 300)
    kernel = {"x": 0.1, "y": 0.1}
    free = mercer.synthetic(
        rows, domain=PLANE, epsilon=1e7, insist=True, public=rows, scale=kernel, weights="free"
    )
    assert free.mmd(rows) < 1e-3
    assert free.expect("x") == pytest.approx(rows[:, 0].mean(), abs=2e-3)


# shrinking and weights


def test_stein_is_unbiased_and_its_choice_is_no_worse_than_none(rng):
    values = 50 * 0.8 ** np.arange(40)
    truth = np.sqrt(values) * rng.standard_normal(40) * 0.1
    uniform = truth + 0.05 * rng.standard_normal(40)
    sd, runs = 0.2, 4000
    one = Shrink("uniform", 1.0, 0.01)
    noise = rng.standard_normal((runs, 40)) * sd
    risks = [one.risk(truth + z, uniform, values, sd**2) for z in noise]
    losses = [np.sum((one.apply(truth + z, uniform, values) - truth) ** 2) for z in noise]
    gap = np.array(risks) - np.array(losses)
    assert abs(gap.mean()) < 6.5 * gap.std() / math.sqrt(runs)  # 6.5 sd: below 1e-10
    chosen, plain = [], []
    for z in noise[:300]:
        best = choose_shrink(truth + z, uniform, values, sd**2)
        chosen.append(np.sum((best.apply(truth + z, uniform, values) - truth) ** 2))
        plain.append(np.sum(z**2))
    assert np.mean(chosen) < 0.6 * np.mean(plain)


def test_projections_onto_the_constraints(rng):
    v = rng.standard_normal((30, 5))
    w = onto_simplex(v)
    assert np.all(w >= 0)
    assert np.allclose(w.sum(axis=0), 1)
    for other in rng.dirichlet(np.ones(30), 50):  # the nearest: obtuse angles
        assert np.all(np.sum((v - w) * (other[:, None] - w), axis=0) <= 1e-9)
    b = onto_ball(v, 1.5)
    assert np.all(np.abs(b).sum(axis=0) <= 1.5 + 1e-12)
    small = v / np.abs(v).sum(axis=0)
    assert np.array_equal(onto_ball(small, 1.5), small)


@pytest.mark.parametrize("style", ["positive", "l1"])
def test_fitted_weights_keep_the_constraint_and_come_near(style, rng):
    z = rng.random((80, 2))
    gram = np.exp(-cdist(z, z, "sqeuclidean") / 2 / 0.15**2)
    truth = rng.dirichlet(np.ones(80))
    values, length = gram @ truth, float(truth @ gram @ truth)
    w = fit_weights(gram, values, style=style, bound=1.0, enough=1e-8, length=length)
    assert np.abs(w).sum() <= 1 + 1e-12
    if style == "positive":
        assert np.all(w >= 0)
        assert w.sum() == pytest.approx(1, abs=1e-12)
    assert (w - truth) @ gram @ (w - truth) <= 4.1e-8  # `enough`, and three times more
    far = fit_weights(gram, -values, style=style, bound=1.0, enough=0.0, length=length)
    assert np.abs(far).sum() <= 1 + 1e-12


def test_herding_comes_nearer_than_chance(rng):
    z = rng.random((200, 1))
    gram = np.exp(-cdist(z, z, "sqeuclidean") / 2 / 0.2**2)
    w = rng.dirichlet(np.ones(200))
    picked = np.bincount(herd(gram, gram @ w, 50), minlength=200) / 50
    gap = picked - w
    assert gap @ gram @ gap < 0.05 * (1 - w @ gram @ w) / 50  # of independent draws


# a recipient


def test_styles_of_weights(release):
    for style in ("free", "l1", "positive", "uniform"):
        other = release.reweight(style)
        assert other.privacy == release.privacy
        assert other.expect("x") == pytest.approx(release.expect("x"), abs=0.02)
        if style != "free":
            assert np.abs(other.weights).sum() <= 1 + 1e-9
    again = release.reweight("uniform").reweight("positive")
    assert again.mmd(release) < 0.05


def test_expectations_and_probabilities_without_an_interval(release):
    rows = blobs(np.random.default_rng(5))
    assert release.expect(lambda t: t["x"] * t["y"]) == pytest.approx(
        np.mean(rows[:, 0] * rows[:, 1]), abs=0.02
    )
    inside = release.probability({"x": (0, 0.5)})
    assert inside == pytest.approx(np.mean(rows[:, 0] <= 0.5), abs=0.05)
    assert release.probability(lambda t: t["x"] <= 0.5) == inside
    assert release.interval("x").estimate == release.expect("x")
    assert release.interval({"x": (0, 0.5)}, level=0.99).estimate == inside
    nowhere = {"x": (0.999, 0.9991)}  # no record is there, and no interval of no width either
    for asked in ("x", {"x": (0, 0.5)}, nowhere, lambda t: t["x"] > 2):
        found = release.interval(asked)
        assert math.isfinite(found.estimate)
        assert math.isnan(found.lower)
        assert math.isnan(found.upper)
    with pytest.raises(ValueError, match="level must be"):
        release.interval("x", level=2)


def test_pushing_forward(release):
    doubled = release.push(lambda t: 2 * t["x"])
    assert doubled.expect(lambda v: v) == pytest.approx(2 * release.expect("x"))
    assert 0 <= doubled.probability(lambda v: v > 1) <= 1
    assert doubled.sample(10, rng=1).shape == (10,)
    kernel = lambda a, b: np.exp(-((a[:, None] - b[None]) ** 2))  # noqa: E731
    assert doubled.mmd(doubled, kernel) == 0
    assert doubled.mmd(release.push(lambda t: 2 * t["y"]), kernel) > 0
    with pytest.raises(ValueError, match="Theorem 11"):
        release.reweight("free").push(lambda t: t["x"])
    with pytest.raises(ValueError, match="one value a row"):
        release.push(lambda t: t["x"][:3])


def test_samples_are_ordinary_rows(release):
    table = release.sample(500, rng=1)
    assert table.num_rows == 500
    assert table.schema.names == ["x", "y"]
    assert np.mean(table.column("x").to_numpy()) == pytest.approx(release.expect("x"), abs=0.01)
    assert release.sample(0).num_rows == 0


def test_a_model_is_trained_by_the_weights(rng):
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rows = blobs(rng, 6000)
    frame = pd.DataFrame(rows, columns=["x", "y"]).assign(right=rows[:, 0] + rows[:, 1] > 0.9)
    domain = mercer.Domain({"x": (0, 1), "y": (0, 1), "right": bool})
    made = mercer.synthetic(frame, domain=domain, epsilon=2, delta=1e-6, size=400, rng=1)
    for model in (
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        KNeighborsClassifier(15),
    ):
        fitted = made.fit_weights(model, target="right")
        assert fitted is not model
        assert fitted.score(frame[["x", "y"]], frame["right"]) > 0.85
    with pytest.raises(ValueError, match="no column 'wrong'"):
        made.fit_weights(LogisticRegression(), target="wrong")


def test_level_and_power_of_the_two_sample_test():
    """Rejections at 5 % among rows of the same law: binomial; of another law: all."""
    rng = np.random.default_rng(2)
    rejected, runs = 0, 60
    for seed in range(runs):
        one = mercer.synthetic(blobs(rng, 1500), size=40, scale=0.2, rng=seed, **PROMISE)
        rejected += one.two_sample_test(blobs(rng, 300)).p_value < 0.05
    # the law of the statistic is simulated from an estimated covariance: a level up to 7.5 %
    assert binom.sf(rejected - 1, runs, 0.075) > ALPHA
    moved = np.clip(blobs(rng, 300) + np.array([0.1, 0.0]), 0, 1)
    assert one.two_sample_test(moved).p_value < 1e-3
    assert "p = " in str(one.two_sample_test(moved))


def test_distances_between_releases(release, rng):
    same = mercer.synthetic(blobs(np.random.default_rng(5)), size=200, rng=4, **PROMISE)
    other = mercer.synthetic(rng.random((4000, 2)), size=200, rng=4, **PROMISE)
    assert release.mmd(release) == pytest.approx(0, abs=1e-6)
    assert release.mmd(same) < 0.2 * release.mmd(other)


def test_smoothing_again(release):
    raw = release.smooth(penalty=0)
    assert raw.embedding.risk > release.embedding.risk
    assert np.allclose(raw.smooth().weights, release.weights, atol=1e-9)
    assert raw.embedding.risk == pytest.approx(release.embedding.deviation**2 * release.embedding.size)


# columns of all kinds


def test_records_of_every_kind_stay_in_their_domain(rng):
    n = 3000
    frame = pd.DataFrame(
        {
            "age": rng.random(n) * 100,
            "visits": rng.poisson(3, n),
            "stage": rng.choice(["I", "II", "III"], n),
            "ward": rng.choice(["a", "b", "zz"], n),
            "ill": rng.random(n) < 0.3,
            "day": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
        }
    )
    domain = mercer.Domain(
        {
            "age": (0, 100),
            "visits": range(0, 21),
            "stage": {"ordered": ["I", "II", "III"]},
            "ward": {"categories": ["a", "b"], "other": "other"},
            "ill": bool,
            "day": (date(2024, 1, 1), date(2024, 12, 31)),
        }
    )
    for weights in ("positive", "uniform"):
        made = mercer.synthetic(frame, domain=domain, epsilon=2, delta=1e-6, weights=weights, size=300, rng=1)
        table = made.sample(200, rng=1).to_pandas()
        assert table["age"].between(0, 100).all()
        assert table["visits"].isin(range(21)).all()
        assert set(table["stage"]) <= {"I", "II", "III"}
        assert set(table["ward"]) <= {"a", "b", "other"}
        assert table["ill"].dtype == bool
        assert table["day"].map(lambda d: date(2024, 1, 1) <= d <= date(2024, 12, 31)).all()
        assert made.probability({"ward": "other"}) == pytest.approx(1 / 3, abs=0.1)


def test_rows_that_do_not_fit_contribute_nothing_and_count(rng):
    rows = blobs(rng, 2000)
    gaps = np.vstack([rows, np.full((2000, 2), np.nan)])
    whole = mercer.synthetic(rows, weights="free", size=50, rng=1, **PROMISE)
    half = mercer.synthetic(gaps, weights="free", size=50, rng=1, **PROMISE)
    assert half.privacy.n == 4000
    assert half.weights.sum() == pytest.approx(whole.weights.sum() / 2, abs=0.05)
    assert half.expect("x") == pytest.approx(whole.expect("x"), abs=0.02)  # mass one is restored
    nothing = mercer.synthetic(np.full((2000, 2), np.nan), size=50, rng=1, **PROMISE)
    assert nothing.weights.sum() == pytest.approx(1)


# tables drawn whole


def test_the_exponential_mechanism_has_its_law(rng):
    """Frequencies of tables of two records against the law, by an exact test of each."""
    domain = mercer.Domain({"ill": bool})
    rows = [{"ill": True}] * 6 + [{"ill": False}] * 2
    kernel = RecordKernel(domain, "gaussian", (1.0,))
    k, n, epsilon = math.exp(-1), 8, 2.0
    p = np.array([2, 6]) / 8
    tables = np.array([[2, 0], [1, 1], [0, 2]]) / 2
    gram = np.array([[1, k], [k, 1]])
    gaps = tables - p
    distance = np.sqrt(np.einsum("ij,jk,ik->i", gaps, gram, gaps))
    expected = np.exp(-epsilon * distance / (2 * math.sqrt(2) / n))
    expected /= expected.sum()
    runs, counts = 600, np.zeros(3)
    for _ in range(runs):
        made = mercer.synthetic(
            rows, domain=domain, epsilon=epsilon, method="exponential", size=2, scale={"ill": 1.0}, rng=rng
        )
        counts[int(sum(made.view()["ill"]))] += 1
    assert kernel(np.array([[0.0]]), np.array([[1.0]]))[0, 0] == pytest.approx(k)
    for count, chance in zip(counts, expected, strict=True):
        tail = min(binom.cdf(count, runs, chance), binom.sf(count - 1, runs, chance))
        assert tail > ALPHA / 6


# when things go wrong


def wrong(**options):
    return {**PROMISE, "size": 20, **options}


WRONG = [
    ({"domain": None}, "domain is missing"),
    ({"domain": {"z": (0, 1)}}, "no column 'z'"),
    ({"domain": 3}, "domain must be"),
    ({"epsilon": None}, "epsilon is missing"),
    ({"delta": 2}, "delta must be"),
    ({"method": "magic"}, "method must be"),
    ({"kernel": "magic"}, "kernel must be"),
    ({"size": 0}, "size must be"),
    ({"size": -3}, "size must be"),
    ({"size": 10**6}, "size must be"),
    ({"size": 2.5}, "size must be"),
    ({"method": "features", "features": 0}, "features must be"),
    ({"features": 100}, "features is the number"),
    ({"weights": "heavy"}, "weights must be"),
    ({"bound": 0.5}, "bound must be at least 1"),
    ({"scale": -1}, "scale must be"),
    ({"scale": "long"}, "scale must be"),
    ({"scale": {"x": 0.1}}, "scale is missing for the column 'y'"),
    ({"scale": {"x": 0.1, "y": 0.1, "q": 1}}, "no column 'q'"),
    ({"public": np.zeros((30, 5))}, "public rows must have 2 columns"),
    ({"public": np.zeros((3, 2)), "size": 20}, "at most the number of public rows"),
    ({"public": pd.DataFrame({"x": [0.5]}), "size": None}, "no column 'y'"),
    ({"public": [[0.1, "east"]], "size": None}, "do not fit"),
    ({"public": np.zeros((30, 2)), "method": "features"}, "public gives landmarks"),
    ({"method": "exponential", "size": 3}, "method='exponential' lists"),
    ({"device": "abacus"}, "device must be"),
    ({"restarts": 0}, "restarts must be"),
    ({"choice_share": 2, "scale": "private"}, "choice_share must be"),
    ({"unit": "id"}, "unit"),
    ({"dataset": "d"}, "ledger and dataset"),
]


@pytest.mark.parametrize(("options", "words"), WRONG, ids=[w for _, w in WRONG])
def test_errors_name_the_way_out_and_spend_nothing(options, words, tmp_path):
    frame = pd.DataFrame({"x": [0.1, 0.512345], "y": [0.9, 0.2]})
    ledger = mercer.Ledger(tmp_path / "ledger.db")
    ledger.register("d", epsilon=5, delta=1e-4)
    given = wrong(**options)
    if "dataset" not in options:
        given |= {"ledger": ledger, "dataset": "d"}
    with pytest.raises((ValueError, TypeError), match=words) as caught:
        mercer.synthetic(frame, **given)
    assert "512345" not in str(caught.value)
    assert ledger.remaining("d").spent_epsilon == 0


def test_empty_tables_and_one_row():
    for rows in (np.zeros((0, 2)), np.zeros((1, 2))):
        with pytest.raises(ValueError, match="at least 2 rows"):
            mercer.synthetic(rows, size=10, **PROMISE)


def test_more_landmarks_than_rank_are_not_an_error():
    rows = np.tile([[0.5, 0.5]], (50, 1))
    made = mercer.synthetic(rows, public=rows, rng=1, **PROMISE)
    assert made.embedding.size == 1
    assert made.weights.sum() == pytest.approx(1)


def test_a_law_of_landmarks(rng):
    def law(size, rng):
        return {"x": rng.normal(0.5, 0.1, size), "y": rng.random(size)}

    made = mercer.synthetic(blobs(rng), public=law, size=64, rng=1, **PROMISE)
    assert made.points_count == 64
    assert 0.4 < np.mean(made.view()["x"]) < 0.6
    with pytest.raises(TypeError, match="function of"):
        mercer.synthetic(blobs(rng), public=lambda: 3, size=64, **PROMISE)


# kernels of the caller's own


def letters(x, z):
    return math.exp(-sum(a != b for a, b in zip(x, z, strict=True)) / 2)


def test_kernels_on_texts(rng, tmp_path):
    def words(n):
        return ["".join(rng.choice(list("abcd"), 4, p=[0.4, 0.3, 0.2, 0.1])) for _ in range(n)]

    texts, public = words(1500), words(60)
    kernel = OwnKernel(letters, supremum=1.0, name="letters that differ", universal=True)
    made = mercer.synthetic(
        [*texts, None, "toolong"], kernel=kernel, public=public, epsilon=2, delta=1e-6, rng=1
    )
    assert made.privacy.n == 1502
    share = made.expect(lambda points: [p.count("a") / 4 for p in points])
    assert share == pytest.approx(0.4, abs=0.05)
    assert set(made.sample(20, rng=1)) <= set(public)
    assert made.two_sample_test(words(200)).p_value > 1e-6
    assert made.two_sample_test([w.replace("a", "d") for w in words(200)]).p_value < 1e-3
    assert made.mmd(texts[:300]) < 0.3
    assert made.push(lambda points: [len(p) for p in points]).expect(np.array) == pytest.approx(4)
    interval = made.interval(lambda points: [p.count("a") / 4 for p in points])
    assert interval.estimate == share
    assert math.isnan(interval.lower)
    again = mercer.load(made.save(tmp_path / "texts.json"))
    assert again.points == made.points
    assert np.array_equal(again.weights, made.weights)
    with pytest.raises(ValueError, match="with_kernel"):
        again.reweight("free")
    assert np.allclose(again.with_kernel(kernel).reweight("positive").weights, made.weights, atol=1e-6)


def test_own_kernels_that_are_none():
    texts = ["ab", "cd"]
    base = {"public": ["ab", "cd", "ad"], "epsilon": 1, "delta": 1e-6}
    cases = [
        (OwnKernel(lambda x, z: 2.0 if x == z else 0.0, supremum=1.0), {}, "supremum must be at"),
        (OwnKernel(lambda x, z: float(x < z), supremum=1.0), {}, "symmetric"),
        (OwnKernel(lambda x, z: 0.1 if x == z else 1.0, supremum=1.0), {}, "positive definite"),
        (OwnKernel(lambda *_: 1 / 0, supremum=1.0), {}, "finite number for any two"),
        (OwnKernel(letters, supremum=1.0), {"public": None}, "public must be a list"),
        (OwnKernel(letters, supremum=1.0), {"method": "features"}, "goes with method"),
        (OwnKernel(letters, supremum=1.0), {"domain": PLANE}, "without domain"),
    ]
    for kernel, options, words in cases:
        with pytest.raises((ValueError, TypeError), match=words):
            mercer.synthetic(texts, kernel=kernel, **{**base, **options})
    with pytest.raises(ValueError, match="supremum must be"):
        OwnKernel(letters, supremum=0)


def test_embedding_refuses_what_does_not_fit(release):
    assert isinstance(release.embedding, LandmarkEmbedding)
    with pytest.raises(ValueError, match="guess must be"):
        release.smooth(guess="clever")
    with pytest.raises(ValueError, match="style must be"):
        release.reweight("heavy")
    with pytest.raises(ValueError, match="finite numbers"):
        release.expect(lambda t: t["x"][:3])
    with pytest.raises(ValueError, match="truth value"):
        release.probability(lambda t: t["x"])
    with pytest.raises(ValueError, match="no column 'y'"):
        release.mmd(pd.DataFrame({"x": [0.1]}))


def test_rows_where_nobody_is_are_told_apart():
    """Directions in which own rows do not vary are tested, too."""
    rng = np.random.default_rng(8)
    line = mercer.Domain({"x": (0, 1)})
    data = 0.4 + 0.2 * rng.random((4000, 1))
    made = mercer.synthetic(data, domain=line, public=data[:60], epsilon=1, delta=1e-6, scale=0.02, rng=1)
    assert made.two_sample_test(0.8 + 0.2 * rng.random((500, 1))).p_value < 1e-3
    assert made.two_sample_test(0.4 + 0.2 * rng.random((500, 1))).p_value > 1e-4


def test_bounds_of_weights_are_checked(release):
    for bound in (0.5, -1.0, math.nan, math.inf):
        with pytest.raises(ValueError, match="bound must be"):
            release.reweight("l1", bound)
    found = release.reweight("free").interval({"x": (0, 0.5)})
    assert found.estimate == release.reweight("free").probability({"x": (0, 0.5)})
