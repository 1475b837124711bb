"""The promise of synthetic tables: what one record can move, and what an attacker can show.

M10, E10, E11; docs/proofs/embedding.md.
"""

import math
import warnings
from decimal import Decimal, localcontext

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mercer
from mercer.audits.audit import epsilon_lower_bound
from mercer.noise.entropy import Seeded
from mercer.noise.mechanisms import L2, Gaussian
from mercer.promise.events import Sensitivity, classic_multiplier
from mercer.sensitive.data import open_records
from mercer.sensitive.summaries import kernel_sums as sums
from mercer.sensitive.summaries.embedding import (
    EmbeddingSummary,
    LandmarkFeatures,
    WaveFeatures,
    tally_records,
)
from mercer.spaces.record_kernels import LandmarkSpan, RecordKernel, WaveSpan

CONFIDENCE = 1 - 1e-9
MIXED = mercer.Domain({"age": (0, 100), "sex": ["f", "m"], "ward": ["a", "b", "c"], "ill": bool})
PLANE = mercer.Domain({"x": (0, 1), "y": (0, 1)})
PROMISE = {"epsilon": 1.0, "delta": 1e-6, "size": 24, "scale": "public"}
PATHS = [True, False] if sums.compiled() else [False]


@pytest.fixture(params=PATHS, ids=["compiled", "numpy"][-len(PATHS) :])
def loops(request, monkeypatch):
    """Both ways of adding up kernel values."""
    monkeypatch.setattr(sums, "compiled", lambda: request.param)
    return request.param


def seen_by(kernel, marks):
    u = kernel.embed(marks)
    span, used = LandmarkSpan.of(kernel.between(u, u), sums.kernel_error(kernel))
    return LandmarkFeatures(kernel, np.ascontiguousarray(u[used]), span)


def summary_of(table, how, domain=PLANE, unit=None):
    records = open_records(table, domain=domain, unit=unit)
    tally = tally_records(records, how)
    return EmbeddingSummary(tally, n=tally.persons if unit else tally.rows, unit="row")


def moved(one, two):
    """How far the coordinates moved, as a share of what is declared."""
    assert one.sensitivity("l2") == two.sensitivity("l2")
    change = np.linalg.norm(one.coordinates() - two.coordinates())
    return change / one.sensitivity("l2").value


# kernel values


def exact_kernel(one, other):
    with localcontext() as context:
        context.prec = 40
        square = sum((Decimal(float(a)) - Decimal(float(b))) ** 2 for a, b in zip(one, other, strict=True))
        return (-square / 2).exp()


@pytest.mark.parametrize("width", [1, 2, 5, 17, 64])
def test_kernel_values_are_as_exact_as_declared(width, loops, rng):
    """Against 40 digits, at random distances and at those where the error is largest (T = 1)."""
    domain = mercer.Domain({f"c{j}": (0, 1) for j in range(width)})
    worst = 0.0
    for reach in (0.3, 1.2, 4.0):
        kernel = RecordKernel(domain, "gaussian", (math.sqrt(width / 12) / reach,) * width)
        rows, points = (kernel.embed(rng.random((8, width))) for _ in range(2))
        for row in rows:
            values = sums.kernel_sums(kernel, row[None], points, None)
            for value, point in zip(values, points, strict=True):
                off = abs(Decimal(int(value)) / (1 << 24) - exact_kernel(row, point))
                worst = max(worst, float(off))
    assert worst <= sums.kernel_error(kernel)
    assert worst > 2.0**-26  # it is a bound on something


@pytest.mark.skipif(not sums.compiled(), reason="numba is not installed")
def test_the_polynomial_at_all_singles():
    """2^-f for every single f in [0, 1): less than 4 steps of 2^-24 from the power."""
    c = sums._halves()
    for exponent in range(1, 25):
        f = (np.arange(1 << 23, 1 << 24, 1 if exponent == 1 else 64) / np.float64(1 << 23)).astype(np.float32)
        f = np.ldexp(f, -exponent)
        power = np.full_like(f, c[5])
        for k in (4, 3, 2, 1, 0):
            power = c[k] + f * power
        assert power.dtype == np.float32
        assert np.max(np.abs(power.astype(float) - np.exp2(-f.astype(float)))) < 4 * 2.0**-24


def test_sums_are_of_each_row_alone(loops, rng):
    """Whole numbers: order, chunks and company do not matter."""
    kernel = RecordKernel(PLANE, "gaussian", (0.2, 0.3))
    u, points = kernel.embed(rng.random((400, 2))), kernel.embed(rng.random((37, 2)))
    alone = sum(sums.kernel_sums(kernel, row[None], points, None) for row in u)
    assert np.array_equal(sums.kernel_sums(kernel, u, points, None), alone)
    assert np.array_equal(sums.kernel_sums(kernel, u[::-1].copy(), points, None), alone)
    weights = rng.integers(1, 99, len(u))
    weighed = sum(
        w * sums.kernel_sums(kernel, row[None], points, None) for w, row in zip(weights, u, strict=True)
    )
    assert np.array_equal(sums.kernel_sums(kernel, u, points, weights), weighed)
    waves = kernel.frequencies(19)
    alone = sum(sums.wave_sums(waves, row[None], None) for row in u)
    assert np.array_equal(sums.wave_sums(waves, u, None), alone)


def test_waves_have_norm_one_at_most(loops, rng):
    kernel = RecordKernel(PLANE, "matern32", (0.01, 0.3))
    waves = kernel.frequencies(500)
    for row in kernel.embed(rng.random((50, 2))):
        pair = sums.wave_sums(waves, row[None], None).reshape(2, -1) / 2.0**24
        length = np.sum(pair**2) / 500
        assert 1 - 1e-6 < length <= sums.wave_norm() ** 2
        angle = waves @ row
        assert np.max(np.abs(pair - [np.cos(angle), np.sin(angle)])) < 1e-6


# sensitivity


@pytest.mark.parametrize("name", ["gaussian", "exponential", "matern52"])
def test_declared_is_sqrt2_over_n_and_reached(name, loops, rng):
    """A record at one landmark, and at another far away."""
    kernel = RecordKernel(PLANE, name, (0.03, 0.03))
    how = seen_by(kernel, np.vstack([[[0.1, 0.1], [0.9, 0.9]], rng.random((60, 2))]))
    others = rng.random((9, 2))
    one, two = (summary_of(np.vstack([others, [p]]), how) for p in ([0.1, 0.1], [0.9, 0.9]))
    assert math.sqrt(2) / 10 < one.sensitivity("l2").value < math.sqrt(2) / 10 * 1.032
    assert 0.965 < moved(one, two) <= 1


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 2**32 - 1), st.sampled_from(["gaussian", "matern32"]))
def test_no_neighbours_move_it_further(seed, name):
    """Random landmarks (close ones, too), scales and neighbours, rows that do not fit included."""
    rng = np.random.default_rng(seed)
    scales = tuple(10 ** rng.uniform(-2.5, 0.5, 2)) + tuple(10 ** rng.uniform(-2, 1, 2))
    kernel = RecordKernel(MIXED, name, scales)
    many = int(rng.integers(1, 80))
    marks = MIXED.from_unit(rng.random((many, 4)) * 10 ** rng.uniform(-3, 0, 4))
    how = seen_by(kernel, marks)
    rows = MIXED.from_unit(rng.random((5, 4)))
    swaps = [*MIXED.from_unit(rng.random((2, 4))), marks[0], np.array([np.nan, 0, 0, 0])]
    whole = [summary_of(_frame(np.vstack([rows, [x]])), how, MIXED) for x in swaps]
    for one in whole:
        for two in whole:
            assert moved(one, two) <= 1


def _frame(codes):
    table = MIXED.table(codes)
    return table.to_pandas()


def test_all_rows_of_a_person_move_it_no_further(rng, loops):
    kernel = RecordKernel(PLANE, "gaussian", (0.05, 0.05))
    how = seen_by(kernel, np.vstack([[[0.1, 0.1], [0.9, 0.9]], rng.random((30, 2))]))
    ids = ["p"] * 6 + ["q"] * 3 + ["r"]
    base = pd.DataFrame(rng.random((10, 2)), columns=["x", "y"]).assign(id=ids)
    pair = []
    for place in (0.1, 0.9):
        frame = base.copy()
        frame.loc[frame.id == "p", ["x", "y"]] = place
        pair.append(summary_of(frame, how, unit="id"))
    assert pair[0].n == 3
    assert 0.96 < moved(*pair) <= 1
    rows = [summary_of(frame[["x", "y"]], how) for frame in (base, base.assign(x=0.9, y=0.9))]
    assert np.linalg.norm(rows[0].coordinates() - rows[1].coordinates()) > 0  # not a constant


def test_waves_move_by_2_over_n_at_most(rng, loops):
    kernel = RecordKernel(PLANE, "gaussian", (0.02, 0.02))
    how = WaveFeatures(kernel, WaveSpan(kernel.frequencies(1)))
    others, best = rng.random((4, 2)), 0.0
    assert summary_of(others, how).sensitivity("l2").value == pytest.approx(0.5, rel=1e-6)
    for _ in range(300):
        one, two = (summary_of(np.vstack([others, rng.random((1, 2))]), how) for _ in range(2))
        share = moved(one, two)
        assert share <= 1
        best = max(best, share)
    assert best > 0.97  # opposite waves


def test_order_files_and_workers_do_not_matter(tmp_path, rng, loops):
    frame = pd.DataFrame(rng.random((3000, 2)), columns=["x", "y"])
    how = seen_by(RecordKernel(PLANE, "gaussian", (0.1, 0.2)), rng.random((40, 2)))
    expected = summary_of(frame, how).coordinates()
    pq.write_table(
        pa.table({name: frame[name] for name in frame}), tmp_path / "t.parquet", row_group_size=700
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    for table in (
        frame.sample(frac=1.0, random_state=1),
        frame.to_numpy(),
        str(tmp_path / "t.parquet"),
        str(tmp_path / "t.csv"),
    ):
        assert np.array_equal(summary_of(table, how).coordinates(), expected)


# replays


def people(rng, n=30):
    return pd.DataFrame(
        {
            "age": rng.random(n) * 100,
            "sex": rng.choice(["f", "m"], n),
            "ward": rng.choice(["a", "b", "c"], n),
            "ill": rng.random(n) < 0.3,
            "id": [f"p{i // 3}" for i in range(n)],
        }
    )


REPLAYS = {
    "landmarks": {},
    "pure": {"delta": None},
    "free": {"weights": "free"},
    "l1": {"weights": "l1", "bound": 2.0},
    "uniform": {"weights": "uniform"},
    "matern": {"kernel": "matern52"},
    "private": {"scale": "private"},
    "persons": {"unit": "id"},
    "private persons": {"unit": "id", "scale": "private"},
    "features": {"method": "features", "features": 40, "size": 3},
}


@pytest.mark.parametrize("kind", REPLAYS)
def test_replays(kind, rng):
    one = people(rng)
    two = one.copy()
    for place in (3, 4, 5):  # all of one person
        if kind.endswith("persons") or place == 3:
            two.loc[place, ["age", "sex", "ward"]] = [-7e300, "x", None]

    def release(data, rng):
        return mercer.synthetic(data, domain=MIXED, rng=rng, **{**PROMISE, **REPLAYS[kind]})

    found = mercer.replay(release, (one, two))
    if kind.startswith("private"):  # scales are drawn, and differ as the draws do
        assert found.changes[0].what == "counts"
        assert found.changes[0].within
        assert found.same_path
        assert found.changes[0].measured >= 0.25 * found.changes[0].declared  # of four columns
        return
    assert found.kept, str(found)
    assert found.changes[-1].measured > 0


def test_replays_of_lists_files_and_own_kernels(tmp_path, rng):
    frame = people(rng)
    one = frame.drop(columns="id").to_dict("records")
    two = [*one[:-1], {"age": "old", "sex": None}]
    found = mercer.replay(lambda d, rng: mercer.synthetic(d, domain=MIXED, rng=rng, **PROMISE), (one, two))
    assert found.kept, str(found)
    paths = []
    for name, age in (("one", "12"), ("two", "none")):
        path = tmp_path / f"{name}.csv"
        frame.astype({"age": object}).assign(age=[*frame.age.astype(str)[:-1], age]).to_csv(path, index=False)
        paths.append(str(path))
    found = mercer.replay(lambda d, rng: mercer.synthetic(d, domain=MIXED, rng=rng, **PROMISE), tuple(paths))
    assert found.kept, str(found)
    letters = mercer.OwnKernel(lambda x, z: len(set(x) & set(z)) / 4, supremum=1.0)
    texts = (["ab", "bc", "cd", "abcd"], ["ab", "bc", "cd", None])

    def own(data, rng):
        return mercer.synthetic(
            data, kernel=letters, public=["a", "bc", "abd"], epsilon=1, delta=1e-6, rng=rng
        )

    found = mercer.replay(own, texts)
    assert found.kept, str(found)


def test_replay_of_a_table_drawn_whole(rng):
    domain = mercer.Domain({"sex": ["f", "m"], "ill": bool})
    for other in (["m", True], [None, True]):
        one = people(rng)[["sex", "ill"]].astype(object)
        two = one.copy()
        two.loc[0] = other
        one.loc[0] = ["f", False]

        def release(data, rng):
            return mercer.synthetic(data, domain=domain, epsilon=1, method="exponential", size=3, rng=rng)

        found = mercer.replay(release, (one, two))
        assert found.kept, str(found)
        assert found.changes[0].measured > 0.2 * found.changes[0].declared


# planted faults


def test_scales_read_from_the_records_are_seen(rng):
    """The median heuristic on the records themselves."""
    one = rng.random((20, 2))
    two = np.vstack([one[:-1], [[1.0, 0.0]]])

    def release(data, rng):
        scale = float(np.median(np.linalg.norm(data[:, None] - data[None], axis=2)))
        return mercer.synthetic(data, domain=PLANE, rng=rng, **{**PROMISE, "scale": scale})

    found = mercer.replay(release, (one, two))
    assert not found.kept
    assert not found.same_noise


def test_landmarks_read_from_the_records_are_seen(rng):
    one = rng.random((20, 2))
    two = np.vstack([one[:-1], [[1.0, 0.0]]])

    def release(data, rng):
        return mercer.synthetic(data, domain=PLANE, public=data, rng=rng, epsilon=1, delta=1e-6)

    assert not mercer.replay(release, (one, two)).same_noise


def test_unpaired_features_are_seen(rng, monkeypatch):
    """Balog's sqrt(2/J) cos(w x + b) exceed 2/N (E11)."""
    monkeypatch.setattr(sums, "compiled", lambda: False)
    phase = rng.random(8) * 2 * math.pi

    def unpaired(frequencies, u, weights):
        assert weights is None
        wave = math.sqrt(2) * np.cos(u @ frequencies.T + phase[: len(frequencies)])
        return np.concatenate([np.trunc(wave * 2**24).astype(np.int64).sum(axis=0)] * 2) // 1

    kernel = RecordKernel(PLANE, "gaussian", (0.02, 0.02))
    how = WaveFeatures(kernel, WaveSpan(kernel.frequencies(1)))
    monkeypatch.setattr("mercer.sensitive.summaries.embedding.wave_sums", unpaired)
    most = 0.0
    for _ in range(200):
        pair = [summary_of(np.vstack([np.zeros((4, 2)), rng.random((1, 2))]), how) for _ in "ab"]
        most = max(most, moved(*pair))
    assert most > 1.2


def test_a_factor_one_would_be_seen(monkeypatch, rng):
    """A bound of 1/n instead of sqrt2/n fails on records at two landmarks."""
    kernel = RecordKernel(PLANE, "gaussian", (0.03, 0.03))
    how = seen_by(kernel, np.array([[0.1, 0.1], [0.9, 0.9]]))
    monkeypatch.setattr(LandmarkFeatures, "diameter", 1.0)
    others = rng.random((3, 2))
    one, two = (summary_of(np.vstack([others, [p]]), how) for p in ([0.1, 0.1], [0.9, 0.9]))
    assert moved(one, two) > 1.3


def test_sums_of_floats_would_be_seen():
    """M3.3: singles added up one after the other lose whole records; these sums do not."""
    kernel = RecordKernel(mercer.Domain({"x": (0, 1)}), "gaussian", (1.0,))
    u = np.zeros((1 << 17, 1))
    point = np.zeros((1, 1))
    assert sums.kernel_sums(kernel, u, point, None)[0] >> 24 <= 1 << 17
    whole = sums.kernel_sums(kernel, u, point, None)[0]
    assert whole - sums.kernel_sums(kernel, u[1:], point, None)[0] == whole >> 17
    total = np.float32(2**24)
    assert total + np.float32(1) == total


# audits


@pytest.mark.parametrize("share", [1.0, 0.8])
@pytest.mark.parametrize("kind", ["landmarks", "features", "pure"])
def test_audit_on_the_worst_records(kind, share, rng):
    """Lower bounds on epsilon from the summary's own coordinates; a fifth less noise is seen."""
    epsilon, delta = 1.0, 0.0 if kind == "pure" else 1e-3
    kernel = RecordKernel(PLANE, "gaussian", (0.03, 0.03))
    if kind == "features":
        turn = math.pi / float(np.linalg.norm(kernel.embed(np.array([[0.3, 0.0]]))))
        how = WaveFeatures(kernel, WaveSpan(np.array([[turn, 0.0]])))
        ends = [0.0, 0.0], [0.3, 0.0]  # half a wave apart
    else:
        how = seen_by(kernel, np.array([[0.1, 0.1], [0.9, 0.9]]))
        ends = [0.1, 0.1], [0.9, 0.9]
    one, two = (summary_of(np.vstack([[[0.5, 0.5]] * 4, [end]]), how) for end in ends)
    assert moved(one, two) > 0.965
    mechanism = L2() if kind == "pure" else Gaussian()
    less = Sensitivity(one.sensitivity("l2").value * share, "l2")
    law = mechanism.calibrate(less, one.size, epsilon=epsilon, delta=delta).law
    centres = one.coordinates(), two.coordinates()
    gap = centres[0] - centres[1]
    samples = []
    for centre in centres:
        if kind == "pure":
            z = law.simulate(one.size, 400_000, rng) + centre
            samples.append(np.linalg.norm(z - centres[1], axis=1) - np.linalg.norm(z - centres[0], axis=1))
        else:  # white noise: only the part along the change tells
            z = law.simulate(1, 4_000_000, rng)[:, 0]
            samples.append((centre - centres[1]) @ gap / np.linalg.norm(gap) + z)
    bound = epsilon_lower_bound(*samples, delta=delta, confidence=CONFIDENCE)
    if share == 1.0:
        assert 0.75 < bound <= epsilon
    else:
        assert bound > epsilon


def test_audit_from_end_to_end(rng):
    """`mercer.synthetic` itself with its own sampler, on two records at two landmarks."""
    marks = {"x": [0.1, 0.9], "y": [0.1, 0.9]}
    draws = []
    for place in (0.1, 0.9):
        table = np.array([[0.5, 0.5], [place, place]])
        draws.append(
            [
                mercer.synthetic(
                    table,
                    domain=PLANE,
                    epsilon=4,
                    delta=0.05,
                    public=marks,
                    scale=0.03,
                    weights="free",
                    rng=Seeded(rng),
                ).embedding.coordinates
                @ [1, -1]
                for _ in range(500)
            ]
        )
    bound = epsilon_lower_bound(*np.array(draws), delta=0.05, confidence=CONFIDENCE)
    assert 0 < bound <= 4


def test_noise_is_0_56_of_the_papers():
    """M10: sqrt2 and M1 instead of 2 and ln(1.25/delta) (E10)."""
    kernel = RecordKernel(PLANE, "gaussian", (0.1, 0.1))
    how = seen_by(kernel, np.random.default_rng(0).random((50, 2)))
    summary = summary_of(np.random.default_rng(1).random((1000, 2)), how)
    law = Gaussian().calibrate(summary.sensitivity("l2"), summary.size, epsilon=1, delta=1e-6).law
    papers = math.sqrt(8 * math.log(1.25e6)) / 1000
    assert law.deviations(1)[0] / papers == pytest.approx(0.56, abs=0.01)
    assert classic_multiplier(epsilon=1, delta=1e-6) > 4


# what a second reader found


def test_many_persons_do_not_overflow(rng):
    """Sums of persons' shares are integers of any size: 2^39 a person in 64 bits would wrap."""
    from mercer.sensitive.summaries.embedding import EmbeddingTally

    kernel = RecordKernel(PLANE, "gaussian", (0.2, 0.2))
    how = seen_by(kernel, np.vstack([np.full((1, 2), 0.5), rng.random((4, 2))]))  # one is the row
    tally = EmbeddingTally(how)
    tally.add(np.full((1, 2), 0.5), np.array([1 << 15]))
    for _ in range(26):  # doubled to 2^26 persons
        tally.merge(tally)
    one = EmbeddingTally(how).add(np.full((1, 2), 0.5), np.array([1 << 15]))
    assert list(tally.total) == [int(t) << 26 for t in one.total]
    assert max(tally.total) > 1 << 63


def test_odd_records_are_no_exceptions(rng):
    """Lone surrogates, mappings that fail, kernels that warn or exit: nothing is shown."""

    class Evil(dict):
        def get(self, *_):
            raise RuntimeError("secret")

    good = {"x": 0.5, "y": 0.5}
    options = {"domain": PLANE, "size": 10, "epsilon": 1, "delta": 1e-6, "rng": 1}
    for odd in (Evil(x=1), {"x": "\ud800", "y": 2}):
        made = mercer.synthetic([good, good, odd], **options)
        assert made.privacy.n == 3
    texts = pd.DataFrame({"s": pd.array(["a", "b", "\ud800"], dtype="string[python]")})
    made = mercer.synthetic(texts, domain={"s": ["a", "b"]}, epsilon=1, delta=1e-6, rng=1)
    assert made.privacy.n == 3
    named = [{**good, "id": name} for name in ("a", "\ud800", None, float("nan"))]
    assert mercer.synthetic(named, unit="id", **options).privacy.n == 2
    frame = pd.DataFrame([{**good, "id": name} for name in ("a", "b", pd.NA, pd.NaT)])
    frame["id"] = frame["id"].astype(object)
    assert mercer.synthetic(frame, unit="id", **options).privacy.n == 2

    def odd_kernel(x, z):
        if x == "exit":
            raise SystemExit
        if x == "warn":
            warnings.warn("secret", stacklevel=1)
        return 1.0 if x == z else 0.5

    kernel = mercer.OwnKernel(odd_kernel, supremum=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "n times epsilon")
        made = mercer.synthetic(
            ["a", "exit", "warn"], kernel=kernel, public=["a", "b"], epsilon=1, delta=1e-6, rng=1
        )
    assert made.privacy.n == 3


def test_nothing_is_spent_on_what_cannot_be(tmp_path):
    book = mercer.Ledger(tmp_path / "a.db")
    book.register("it", epsilon=5, delta=1e-4)
    kernel = mercer.OwnKernel(lambda x, z: float(x == z), supremum=1.0)
    with pytest.raises(ValueError, match="bound must be at least 1"):
        mercer.synthetic(
            ["a", "b"],
            kernel=kernel,
            public=["a"],
            epsilon=1,
            weights="l1",
            bound=0.5,
            ledger=book,
            dataset="it",
        )
    with pytest.raises(ValueError, match="epsilon must be in"):
        mercer.synthetic(
            np.zeros((4, 2)), domain=PLANE, epsilon=0.5, choice_share=1e-10, ledger=book, dataset="it"
        )
    assert book.remaining("it").spent_epsilon == 0


def test_spans_are_cut_where_every_machine_cuts(rng):
    """Equal eigenvalues of a categorical domain are kept together."""
    domain = mercer.Domain({"a": [str(i) for i in range(12)], "b": [str(i) for i in range(9)]})
    kernel = RecordKernel(domain, "gaussian", (1.0, 1.0))
    codes = np.array([[i, j] for i in range(12) for j in range(9)], dtype=float)
    gram = kernel(codes, codes)
    span, _ = LandmarkSpan.of(gram, 6e-7)
    for most in range(1, span.size, 7):
        sizes = set()
        for _ in range(3):
            shaken = gram + 1e-15 * rng.standard_normal(gram.shape)
            cut = span.first(most)
            sizes.add(LandmarkSpan((shaken + shaken.T) / 2, cut.floor).size)
        assert sizes == {cut.size}
