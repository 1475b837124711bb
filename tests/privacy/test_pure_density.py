"""Pure densities: replayed on neighbours, audited on the worst of them, and worth having.

Coordinates are moments (c_0, c).  One record moves them by t - t' with t and t' in 1/n times the
body (M11): each is looked at by itself, since no norm of the difference would do.
"""

import copy
import json
import math
from importlib.resources import files

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import mercer
from mercer.audits.audit import epsilon_lower_bound
from mercer.columns.domain import Box
from mercer.kernels import Gaussian
from mercer.noise import entropy
from mercer.noise.laws import cone_draws, gauge, uniform_moments
from mercer.noise.mechanisms import Orbitope
from mercer.promise.events import PureEvent, Sensitivity
from mercer.sensitive.data import open_rows
from mercer.sensitive.summaries.density import DensitySummary, tally_rows
from mercer.spaces.bases import Moments
from tests.conftest import ALPHA

UNIT = Box(("x",), ((0.0, 1.0),))
KERNEL = Gaussian(((0.01,),))  # moments do not look at it
BOUNDARIES = ("reflect", "periodic", "open")
every_boundary = pytest.mark.parametrize("boundary", BOUNDARIES)


def norm_of(basis):
    return "cosines" if basis.real else "moments"


def summary(rows, basis, n=None):
    source = open_rows(np.asarray(rows, dtype=float), columns=None, unit=None, dimension=None)
    tally = tally_rows(source, UNIT)
    return DensitySummary(tally, basis, KERNEL, n=n or tally.rows, unit="row")


def size_in_the_cone(t, basis):
    """The least s with t in s times the body, c_0 taking any value up to s."""
    return max(float(t[0]), gauge(t[1:], real=basis.real)) if np.any(t) else 0.0


# replay


@every_boundary
@pytest.mark.parametrize("m", [1, 5, 24])
def test_replay_on_neighbours(boundary, m, rng):
    """The change is t - t', both within the stated size of the body, rounding included."""
    basis, rest = Moments(m, boundary), rng.random(49)
    value = summary([*rest, 0.0], basis).sensitivity(norm_of(basis)).value
    assert 1 / 50 <= value <= 1.0001 / 50
    pool = [0.0, 1.0, 0.5, *rng.random(3), -3.0, 1e9, np.nan, np.inf]
    whole = [summary([*rest, x], basis).coordinates() for x in pool]
    alone = [summary([x], basis, n=50).coordinates() for x in pool]
    for t in alone:
        assert size_in_the_cone(t, basis) <= value
    assert max(size_in_the_cone(t, basis) for t in alone) > 0.8 * value  # 20 % too small is seen
    assert not np.any(alone[-1])  # rows without values contribute nothing
    spare = (value - 1 / 50) / 2  # any vector e is in 2 |e|_1 times the cone, on both sides
    for i in range(len(pool)):
        for j in range(i):
            left_over = (whole[i] - whole[j]) - (alone[i] - alone[j])
            assert 2 * np.sum(np.abs(left_over)) <= spare


def test_no_norm_of_the_change_would_do():
    """E5: the change itself has a gauge of up to (m + 1)/n, one way round."""
    basis = Moments(8, "reflect")
    one, two = (summary([*[0.5] * 49, x], basis).coordinates() for x in (0.0, 1.0))
    apart = max(gauge((a - b)[1:], real=True) for a, b in ((one, two), (two, one)))
    assert apart > 4 * 2 / 50  # the thesis takes 2/n


@every_boundary
@pytest.mark.parametrize("m", [1, 2, 3, 8, 32])
def test_spans_in_other_norms(boundary, m, rng):
    """Laplace and l2 noise on moments: bounds hold on all pairs of nodes and are not idle."""
    features = Moments(m, boundary).row_features(KERNEL)
    cells = features.shape[0] - 1
    picked = np.unique(np.concatenate([np.linspace(0, cells, 240).astype(int), rng.integers(0, cells, 60)]))
    nodes = [features.total(np.eye(1, cells + 1, g, dtype=np.int64)[0], 1) for g in picked]
    vectors = np.array([*nodes, np.zeros_like(nodes[0])])
    gaps = vectors[:, None] - vectors[None]
    for norm, bound in ((1, features.spans["l1"]), (2, features.diameter)):
        worst = np.linalg.norm(gaps, ord=norm, axis=2).max()
        assert 0.6 * bound <= worst <= bound
    assert np.linalg.norm(vectors, axis=1).max() <= features.norm + features.rounding


def test_persons_are_the_neighbours(rng):
    """M16: a person's rows are one point of the body, however many there are."""
    import pandas as pd

    basis = Moments(9, "reflect")
    base = pd.DataFrame({"x": rng.random(90), "who": np.repeat(np.arange(30), 3).astype(str)})

    def of(frame, n=30):
        rows = open_rows(frame, columns="x", unit="who", dimension=1)
        tally = tally_rows(rows, UNIT)
        return DensitySummary(tally, basis, KERNEL, n=n, unit="who")

    mine = base.who == "7"
    value = of(base).sensitivity("cosines").value
    many = pd.concat([base[mine].assign(x=v) for v in rng.random(40)])
    for rows in (base[mine].assign(x=0.0), many, base[mine].assign(x=np.nan)):
        t = of(rows).coordinates()
        assert size_in_the_cone(t, basis) <= value
        moved = of(pd.concat([base[~mine], rows])).coordinates() - of(base[~mine]).coordinates()
        assert np.abs(moved - t).max() < 1e-12
    assert size_in_the_cone(of(base[mine].assign(x=0.0)).coordinates(), basis) > 0.8 * value
    # planted fault: rows counted as persons
    by_rows = summary(base[mine].x, basis, n=90).coordinates()
    assert size_in_the_cone(by_rows, basis) > 2 * summary(base.x, basis).sensitivity("cosines").value


def test_nothing_public_depends_on_the_data(rng):
    for options in (
        {},
        {"boundary": "open"},
        {"bandwidth": 0.1},
        {"mechanism": "laplace"},
        {"mechanism": "l2"},
    ):
        one = mercer.density(rng.random(300), bounds=(0, 1), epsilon=1, **options)
        two = mercer.density(np.full(300, np.nan), bounds=(0, 1), epsilon=1, **options)
        assert one.basis == two.basis
        assert one.noise == two.noise
        assert one.privacy == two.privacy


# audits


def features(x, m, *, real):
    angle = np.arange(m + 1) * (np.pi if real else 2 * np.pi) * x
    return np.cos(angle) if real else np.concatenate([np.cos(angle), np.sin(angle[1:])])


def peak(x, m, *, real):
    """Fejer's polynomial: its integral by the measure of moments z is peak @ z; one at x, >= 0."""
    j = np.arange(m + 1)
    weight = np.where(j > 0, 2.0, 1.0) * (1 - j / (m + 1))
    weight = weight if real else np.concatenate([weight, weight[1:]])
    weight = weight * features(x, m, real=real)
    return weight / (weight @ features(x, m, real=real))


def corner(z, x, y, m, *, real):
    """How much mass is at x too many and at y too few, the lesser of both.

    Outputs z - c = a - b with a near the ray of x and b near that of y are where the likelihood
    ratio comes near e^epsilon.
    """
    return np.minimum(z @ peak(x, m, real=real), -(z @ peak(y, m, real=real)))


def audited(m, rng, *, real, share=1.0, runs=1_000_000, y=1.0):
    """Lower bound on epsilon for one record moved from 0 to y, at epsilon = 1."""
    noise = Orbitope(real).calibrate(
        Sensitivity(1.0, norm=Orbitope(real).norm), m + 1 if real else 2 * m + 1, epsilon=1.0
    )
    samples = [
        corner(
            cone_draws(m, runs, rng, real=real) * noise.law.scale * share + features(x, m, real=real),
            0.0,
            y,
            m,
            real=real,
        )
        for x in (0.0, y)
    ]
    return epsilon_lower_bound(*samples, delta=0.0, confidence=1 - ALPHA)


@pytest.mark.parametrize(("m", "near"), [(1, 0.9), (2, 0.78), (4, 0.78)])
def test_audit_comes_near_the_claim_and_stays_below(m, near, rng):
    assert near < audited(m, rng, real=True) <= 1.0


def test_audit_of_the_periodic_body(rng):
    assert 0.55 < audited(2, rng, real=False, y=0.5) <= 1.0


@pytest.mark.parametrize("m", [1, 4])
def test_noise_too_small_is_caught(m, rng):
    assert audited(m, rng, real=True, share=0.8 if m == 1 else 0.75) > 1.0


def test_one_sided_noise_of_the_thesis_is_caught(rng):
    """E5: exp(-||z||_K eps n/2) has a log-likelihood ratio of up to (m + 1)/2 times epsilon."""
    m, epsilon, runs = 8, 1.0, 40_000
    s = 2 / epsilon  # n = 1: the thesis' Delta = 2/n over epsilon
    t, u = (features(x, m, real=True)[1:] for x in (0.0, 1.0))
    # exactly: at the output u the densities under u and t are exp(0) and exp(-||u - t|| / s)
    worst = max(gauge(u - t, real=True), gauge(t - u, real=True)) / s
    assert worst == pytest.approx((m + 1) / 2 * epsilon, rel=0.12)
    assert worst > 4 * epsilon

    lags = np.abs(np.subtract.outer(np.arange(m + 1), np.arange(m + 1)))

    def gauges(c):  # of many rows at once
        matrices = np.concatenate([np.zeros((len(c), 1)), c], axis=1)[:, lags]
        return -np.linalg.eigvalsh(matrices)[:, 0]

    assert gauges(u[None] - t) == pytest.approx([gauge(u - t, real=True)])

    def loss(z):
        return (gauges(z - u) - gauges(z - t)) / s

    def draw(centre):
        body = uniform_moments(m, runs, rng, real=True).T
        return centre + body * rng.gamma(m + 1, s, (runs, 1))

    bound = epsilon_lower_bound(loss(draw(t)), loss(draw(u)), delta=0.0, confidence=1 - ALPHA)
    assert bound > epsilon


# usefulness


@pytest.mark.parametrize(("h", "most"), [(0.1, 0.56), (0.05, 0.59), (0.02, 0.66)])
def test_the_stronger_promise_is_the_more_accurate_one(h, most, rng):
    x = rng.beta(2, 4, 100_000)
    options = {"bounds": (0, 1), "epsilon": 1, "bandwidth": h}
    pure = mercer.density(x, **options).accuracy
    other = mercer.density(x, delta=1e-6, mechanism="gaussian", **options).accuracy
    assert pure.integrated / other.integrated < most
    assert pure.pointwise < other.pointwise
    sampling = 1 / (2 * math.sqrt(math.pi) * h * x.size)
    assert pure.truncation < 0.1 * sampling  # not bought by leaving out what could be seen


def test_right_at_the_wall(rng):
    """An exponential density of rate five: highest at the wall, where a plain KDE has half of it."""
    x = rng.exponential(0.2, 120_000)
    x = x[x < 1][:100_000]
    u = (np.arange(1000) + 0.5) / 1000
    truth = 5 * np.exp(-5 * u) / (1 - math.exp(-5))
    release = mercer.density(x, bounds=(0, 1), epsilon=1)
    assert release(0.0) == pytest.approx(truth[0], rel=0.12)
    assert np.mean((release(u) - truth) ** 2) < 0.003  # M17: .0005 on average
    opened = mercer.density(x, bounds=(0, 1), epsilon=1, boundary="open")
    assert opened.raw(0.0) < 0.75 * truth[0]


@every_boundary
def test_boundaries(boundary, rng):
    """Mass near zero shows at one only on a circle."""
    x = np.abs(rng.normal(0, 0.05, 20_000))
    release = mercer.density(x, bounds=(0, 1), epsilon=1, boundary=boundary, bandwidth=0.05)
    assert release.basis.boundary == boundary
    assert release.integral(0, 1) == pytest.approx(1)
    far = release.raw(1.0) / release.raw(0.0)
    assert far == pytest.approx(1.0, abs=1e-6) if boundary == "periodic" else abs(far) < 0.1
    near = release.integral(0, 0.25) + (release.integral(0.75, 1) if boundary == "periodic" else 0)
    assert near > 0.75


@pytest.mark.parametrize(
    "options", [{}, {"mechanism": "l2"}, {"mechanism": "laplace"}, {"boundary": "periodic"}], ids=str
)
def test_share_of_missing_rows_is_recovered(options, rng):
    """M18: c_0 is released beside the others; within eight standard deviations of its noise."""
    data = np.concatenate([rng.beta(2, 4, 14_000), np.full(6000, np.nan)])
    one = mercer.density(data, bounds=(0, 1), epsilon=1, **options)
    norm = one.basis.amplitude[0]
    sd = one.noise.deviations(one.basis.size)[0] * math.sqrt(one.basis.spread[0]) / norm
    assert one.share_of_values == pytest.approx(0.7, abs=8 * sd)
    assert sd < 0.03
    whole = mercer.density(data[:14_000], bounds=(0, 1), epsilon=1, **options)
    assert 1 - 8 * sd <= whole.share_of_values <= 1.0  # one, but where the noise is beyond three deviations
    u = np.linspace(0, 1, 101)
    assert np.abs(one(u) - whole(u)).max() < 0.35 * whole(u).max()


def test_pure_by_default_and_by_name(rng):
    x = rng.random(400)
    assert mercer.density(x, bounds=(0, 1), epsilon=1).privacy.mechanism == Orbitope().words
    assert mercer.density(x, bounds=(0, 1), epsilon=1, delta=0).privacy.delta == 0
    plane = mercer.density(rng.random((400, 2)), bounds=[(0, 1)] * 2, epsilon=1)
    assert plane.privacy.mechanism.startswith("l2")
    with_delta = mercer.density(x, bounds=(0, 1), epsilon=1, delta=1e-6)
    assert with_delta.privacy.mechanism.startswith("Gaussian")
    for name in ("orbitope", "l2", "laplace"):  # a pure mechanism keeps any promise with a delta
        kept = mercer.density(x, bounds=(0, 1), epsilon=1, delta=1e-6, mechanism=name)
        assert kept.privacy.delta == 0
        assert kept.privacy.events == (PureEvent(1.0),)
    with pytest.raises(ValueError, match="one column.*use 'l2'"):
        mercer.density(x.reshape(-1, 2), bounds=[(0, 1)] * 2, epsilon=1, mechanism="orbitope")
    with pytest.raises(ValueError, match="delta is missing.*need no delta"):
        mercer.density(x, bounds=(0, 1), epsilon=1, mechanism="gaussian")


def test_persons_through_the_front_door(rng):
    import pandas as pd

    frame = pd.DataFrame({"x": rng.beta(2, 4, 3000), "who": np.repeat(np.arange(1000), 3)})
    release = mercer.density(frame, columns="x", unit="who", bounds=(0, 1), epsilon=1)
    assert release.privacy.n == 1000
    assert "all rows of one 'who'" in release.privacy.sentence
    assert release.noise.scale == pytest.approx(2 / 1000, rel=1e-3)


def test_moments_can_be_smoothed_to_anything(rng):
    """M17: no bandwidth was chosen before the noise, so any is free, and 'auto' can be had back."""
    release = mercer.density(rng.beta(2, 4, 20_000), bounds=(0, 10), epsilon=1)
    u = np.linspace(0, 10, 101)
    wide = release.smooth(2.0)
    assert wide.bandwidth == pytest.approx([2.0])
    assert wide.smoother == "gaussian"
    assert wide.accuracy.integrated < release.accuracy.integrated
    assert np.array_equal(wide.smooth("auto")(u), release(u))


# bands


def plausible(hits, runs, level, off):
    """Binomial, both sides; the simulated quantile itself is off by up to `off`."""
    low = binom.cdf(hits, runs, level - off)
    high = binom.sf(hits - 1, runs, min(level + off, 1 - 1e-9))
    return min(low, high) > ALPHA


BAND_CASES = {
    "orbitope": {"bandwidth": 0.08},
    "orbitope-periodic": {"bandwidth": 0.08, "boundary": "periodic"},
    "orbitope-auto": {},
    "l2": {"bandwidth": 0.08, "mechanism": "l2", "basis": "cosine"},
    "l2-moments": {"bandwidth": 0.1, "mechanism": "l2"},
    "laplace": {"bandwidth": 0.1, "mechanism": "laplace"},
}


@pytest.mark.parametrize("options", BAND_CASES.values(), ids=BAND_CASES)
def test_band_covers_the_estimate_without_noise(options, rng):
    """95 % bands cover in 95 % of 1500 fresh draws; 0.017 is five standard errors of 4000."""
    runs = 1500
    release = mercer.density(rng.beta(2, 4, 500), bounds=(0, 1), epsilon=1, **options)
    u = np.linspace(0, 1, 201)
    draws = release.noise.simulate(release.basis.size, runs, rng).T
    noise = np.abs(release.scale * (release.basis.noise_rows(u[:, None], release._field().factors) @ draws))
    width = release._field().everywhere(0.95) * release.standard_error(u)
    each = release._field().half_width(u[:, None], 0.95, simultaneous=False)
    covered = int(np.sum(np.all(noise <= width[:, None], axis=0)))
    assert plausible(covered, runs, 0.95, 0.017)
    for place in (0, 100):
        assert plausible(int(np.sum(noise[place] <= each[place])), runs, 0.95, 0.017)
    narrow = int(np.sum(np.all(noise <= 0.7 * width[:, None], axis=0)))
    assert not plausible(narrow, runs, 0.95, 0.017)
    assert not plausible(int(np.sum(noise[100] <= 0.7 * each[100])), runs, 0.95, 0.017)


def test_band_covers_in_the_plane(rng):
    """l2 noise is normal times a random length: the closed form for fields allows for it."""
    runs = 800
    release = mercer.density(rng.random((300, 2)), bounds=[(0, 1)] * 2, epsilon=1, bandwidth=0.15)
    ticks = np.linspace(0, 1, 33)
    u = np.stack(np.meshgrid(ticks, ticks, indexing="ij"), -1).reshape(-1, 2)
    rows = release.basis.noise_rows(u, release._field().factors)
    draws = release.noise.simulate(release.basis.size, runs, rng).T
    sd = release.noise.deviations(release.basis.size)[0] * np.sqrt(np.sum(rows**2, axis=1))
    top = np.max(np.abs(rows @ draws) / sd[:, None], axis=0)
    covered = int(np.sum(top <= release._field().everywhere(0.95)))
    assert binom.cdf(covered, runs, 0.94) > ALPHA
    assert binom.sf(covered - 1, runs, 0.99) > ALPHA
    assert binom.cdf(int(np.sum(top <= 1.96)), runs, 0.94) < ALPHA


@pytest.mark.parametrize("options", [{}, {"mechanism": "l2"}], ids=str)
def test_accuracy_is_the_real_error_due_to_noise(options, rng):
    """Secure noise of forty releases against what they said: far beyond six sigma either way."""
    data = rng.random(400)
    options = options | {"bounds": (0, 1), "bandwidth": 0.1}
    one = mercer.density(data, epsilon=1, **options)
    exact = one.basis.unmix(summary(data, one.basis).coordinates()) if one.basis.name == "moments" else None
    u = (np.arange(200) + 0.5) / 200
    still = one.basis.evaluate(u[:, None], exact * one.filter)
    errors = [np.mean((mercer.density(data, epsilon=1, **options).raw(u) - still) ** 2) for _ in range(40)]
    assert 0.3 < np.mean(errors) / one.accuracy.integrated < 2.5


# files

SCHEMA = json.loads((files("mercer.releases") / "release.schema.json").read_text())
FILE_CASES = {
    "reflect": {},
    "periodic": {"boundary": "periodic"},
    "open": {"boundary": "open", "bandwidth": 0.1},
    "l2": {"mechanism": "l2"},
    "laplace": {"mechanism": "laplace"},
    "cosine": {"mechanism": "l2", "basis": "cosine"},
    "small": {"size": 16, "bandwidth": 0.1},
}


def release_of(options):
    data = np.random.default_rng().beta(2, 4, 300)
    return mercer.density(data, bounds=(0, 1), epsilon=1, **options)


@pytest.mark.parametrize("options", FILE_CASES.values(), ids=FILE_CASES)
def test_files_give_the_same_bits_back(options, tmp_path):
    release = release_of(options)
    again = mercer.load(release.save(tmp_path / "r.json"))
    u = np.linspace(0, 1, 301)
    assert np.array_equal(release.coordinates, again.coordinates)
    assert np.array_equal(release(u), again(u))
    assert np.array_equal(release.band(u).upper, again.band(u).upper)
    assert again.to_dict() == release.to_dict()
    assert again.noise == release.noise
    assert again.privacy == release.privacy
    assert again.accuracy == release.accuracy
    jsonschema.validate(json.loads((tmp_path / "r.json").read_text()), SCHEMA)


@pytest.fixture(scope="module")
def fields():
    release = release_of(FILE_CASES["small"])
    return json.loads(json.dumps({"format": "mercer-release", "version": 2, **release.to_dict()}))


def changed(fields, path, value):
    copied = copy.deepcopy(fields)
    part = copied
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return copied


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["noise", "real"], None, "real of the noise must be true or false"),
        (["noise", "real"], 1, "real of the noise must be true or false"),
        (["noise", "real"], False, "'orbitope' does not fit the basis 'moments'"),
        (["noise", "scale"], 0, "scale of the noise must be a number above 0"),
        (["noise", "scale"], True, "scale of the noise must be a number above 0"),
        (["noise", "step"], -1.0, "step of the noise must be a number above 0"),
        (["noise", "law"], ["orbitope"], "unknown noise law"),
        (["noise", "law"], "caratheodory", "unknown noise law"),
        (["basis", "size"], 15, "coordinates have length"),
        (["basis", "size"], 1, "degree of moments must be in"),
        (["basis", "size"], 2000, r"basis size must be a whole number in \[1, 1025\]"),
        (["basis", "boundary"], "periodic", "does not fit its boundary"),
        (["basis", "boundary"], "wall", "basis boundary must be"),
        (["boundary"], "periodic", "does not fit basis"),
        (["smoothing", "kernel"], "sextic", "smoother must be one of"),
        (["smoothing", "kernel"], 4, "wrong type"),
        (["privacy", "events"], [{"kind": ["pure"]}], "must be one of pure"),
        (["privacy", "events"], [{"kind": "pure", "epsilon": 0}], "epsilon of a pure event"),
        (["privacy", "events"], "pure", "wrong type"),
        (["privacy", "delta"], 1.0, "delta must be in"),
    ],
)
def test_damaged_files_say_what_is_wrong(fields, path, value, message, tmp_path):
    (tmp_path / "x.json").write_text(json.dumps(changed(fields, path, value)))
    with pytest.raises(ValueError, match=message):
        mercer.load(tmp_path / "x.json")


def test_a_law_on_another_basis_is_refused(tmp_path, rng):
    other = mercer.density(rng.random(300), bounds=(0, 1), epsilon=1, delta=1e-6).to_dict()
    law = {"law": "orbitope", "scale": 0.01, "step": 2.0**-30, "real": True}
    text = json.dumps({"format": "mercer-release", "version": 2, **other, "noise": law})
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ValueError, match="'orbitope' does not fit the basis 'cosine'"):
        mercer.load(tmp_path / "x.json")


anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(data=st.data(), value=anything)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage_is_a_clear_error(fields, data, value, tmp_path):
    """A field of an orbitope file replaced by anything: an error at once, or a release that works."""

    def paths(part, prefix=()):
        for key, inner in part.items() if isinstance(part, dict) else enumerate(part[:2]):
            yield (*prefix, key)
            if isinstance(inner, (dict, list)):
                yield from paths(inner, (*prefix, key))

    path = data.draw(st.sampled_from(sorted(paths(fields), key=str)))
    (tmp_path / "x.json").write_text(json.dumps(changed(fields, list(path), value)))
    try:
        release = mercer.load(tmp_path / "x.json")
    except ValueError as error:
        assert str(error).startswith("x.json")
    else:
        middle = np.mean(release.domain.bounds, axis=1)
        assert np.isfinite(release(middle))
        assert np.all(np.isfinite(release.band(middle).upper))
        assert release.accuracy.integrated > 0


def test_seeded_releases_repeat_and_say_so(rng):
    data = rng.random(200)
    one, two = (mercer.density(data, bounds=(0, 1), epsilon=1, rng=5) for _ in range(2))
    assert np.array_equal(one.coordinates, two.coordinates)
    assert one.privacy.short.startswith("NOT PRIVATE")
    fresh = [mercer.density(data, bounds=(0, 1), epsilon=1, rng=entropy.Secure()) for _ in range(2)]
    assert not np.any(fresh[0].coordinates == fresh[1].coordinates)
