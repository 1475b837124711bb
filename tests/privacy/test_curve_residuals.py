"""Moments of curves about the released mean, for bands about a population's: what one curve can do.  M22."""

import math
import warnings
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mercer
from mercer.audits.audit import epsilon_lower_bound
from mercer.noise.mechanisms import L2, Gaussian
from mercer.noise.mechanisms.additive import GaussianShare
from mercer.promise.composition import delta_of
from mercer.promise.events import GaussianEvent, PureEvent, Sensitivity
from mercer.sensitive.curves.source import open_curves
from mercer.sensitive.summaries import residuals
from mercer.sensitive.summaries.curves import CurveBall
from mercer.sensitive.summaries.residuals import (
    ResidualSummary,
    residual_bound,
    residual_size,
    tally_residuals,
)
from mercer.spaces.polynomials import Polynomials

CONFIDENCE = 1 - 1e-9
SOME = Polynomials((32,))
FINE = (1 - np.cos(np.pi * np.linspace(0, 1, 801))) / 2
K = 6


def summary_of(
    curves,
    grid=FINE,
    *,
    mean=None,
    radius=0.5,
    directions=K,
    bound=2.0,
    missing="fill",
    outside="clip",
    **more,
):
    opened = open_curves(curves, grid=grid, **more)
    mean = np.zeros(32) if mean is None else mean
    tally = tally_residuals(
        opened,
        SOME,
        center=np.zeros(32),
        ball=CurveBall(bound, missing, outside),
        mean=mean,
        radius=radius,
        directions=directions,
    )
    n = tally.persons if opened.unit else tally.rows
    return ResidualSummary(tally, n=n, unit="row", stretch=1.0, parameters=())


def moved(one, two):
    """How far the numbers moved, as a share of what is declared."""
    assert one.sensitivity("l2") == two.sensitivity("l2")
    return np.linalg.norm(one.coordinates() - two.coordinates()) / one.sensitivity("l2").value


def matrix_of(numbers, size=K):
    found = np.diag(numbers[:size])
    above = np.triu_indices(size, 1)
    found[above] = numbers[size:] / math.sqrt(2)
    return found + np.triu(found, 1).T


def by_hand(curves, grid, mean, *, radius=0.5, bound=2.0, outside="clip", weights=None):
    """Total and moments by the definition: one curve after the other, in doubles."""
    total, moments, table = 0.0, np.zeros((K, K)), SOME.of_grid([grid])
    edges = np.concatenate([[0.0], (grid[1:] + grid[:-1]) / 2, [1.0]])
    weights = np.ones(len(curves)) if weights is None else weights
    at = SOME.rows(grid[:, None]) @ mean
    for curve, weight in zip(curves, weights, strict=True):
        norm = math.sqrt(np.sum(np.diff(edges) * curve**2))
        clipped = curve / max(norm, bound) * (norm <= bound or outside == "clip")
        apart = clipped - at
        total += weight * min(np.sum(np.diff(edges) * apart**2), 1.0)
        some = (apart @ table)[:K]
        some = some / max(np.linalg.norm(some), radius)
        moments += weight * np.outer(some, some)
    return total / weights.sum(), moments / weights.sum()


@pytest.mark.parametrize("outside", ["clip", "drop"])
def test_moments_are_those_by_hand(outside, rng):
    """Against a loop over the curves in doubles; the summary's heights have 14 bits below the bound."""
    grid = np.sort(rng.random(30))
    curves = rng.standard_normal((200, 1)) * np.sin(4 * grid) + rng.standard_normal((200, 1))
    curves[:20] *= 9
    mean = SOME.inner(lambda u: 0.2 * u[:, 0])
    total, moments = by_hand(curves, grid, mean, outside=outside)
    options = {"mean": mean, "outside": outside, "bounds": (0, 1)}
    found = summary_of(curves, grid, directions=None, **options).coordinates()
    assert found == pytest.approx([total], abs=1e-3)
    made = matrix_of(summary_of(curves, grid, **options).coordinates())
    assert np.max(np.abs(made - moments)) < 1e-3
    assert np.linalg.eigvalsh(made).min() > -1e-9
    assert np.trace(made) <= 1


def test_curves_on_grids_of_their_own_have_the_same_moments(rng):
    t = np.linspace(0, 1, 60)
    curves = rng.standard_normal((80, 1)) * np.sin(4 * t)
    pairs = [(t, curve) for curve in curves]
    for directions in (None, K):
        one = summary_of(curves, t, directions=directions).coordinates()
        two = summary_of(pairs, None, bounds=(0, 1), directions=directions).coordinates()
        assert np.max(np.abs(one - two)) < 2e-3


def test_what_a_curve_adds_depends_on_nothing_else(rng, tmp_path):
    """M3.3: the same sums in any order, by rows or by columns, from a file that two threads read."""
    import pyarrow.parquet as pq

    t = np.linspace(0, 1, 12)
    rows = rng.standard_normal((3000, 12)) * np.exp(rng.normal(0, 3, (3000, 1)))
    rows[rng.random(rows.shape) < 0.02] = np.nan
    rows[7], rows[8], rows[9, 3], rows[10] = np.nan, np.inf, -np.inf, 1e308
    table = pa.table({f"h{i:02d}": rows[:, i] for i in range(12)})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=700)
    mean = 0.1 * rng.standard_normal(32)
    for directions in (None, K):
        options = {"mean": mean, "directions": directions}
        whole = summary_of(rows, t, **options).coordinates()
        turned = summary_of(rows[rng.permutation(3000)], t, **options).coordinates()
        read = summary_of(str(tmp_path / "a.parquet"), t, **options).coordinates()
        parts = [summary_of(rows[i::7], t, **options) for i in range(7)]
        added = sum(part.coordinates() * part.n for part in parts) / 3000
        assert np.array_equal(whole, turned)
        assert np.array_equal(whole, read)
        assert np.allclose(whole, added, atol=1e-12)


cells = st.one_of(
    st.floats(-3, 3), st.floats(), st.sampled_from([np.nan, np.inf, -np.inf, 1.7e308, 5e-324, 0.0])
)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_neighbours_move_them_further(data):
    """Any heights, gaps and spikes, about any centre, clipped or dropped."""
    points = data.draw(st.integers(2, 9))
    ticks = data.draw(st.lists(st.floats(0, 1), min_size=points, max_size=points, unique=True))
    grid = np.sort(np.array(ticks))
    if np.any(np.diff(grid) < 1e-9):  # refused
        grid = np.linspace(0, 1, points)
    rows = st.lists(cells, min_size=points, max_size=points)
    curves = data.draw(st.lists(rows, min_size=3, max_size=5))
    other = data.draw(rows)
    mean = np.array(data.draw(st.lists(st.floats(-2, 2), min_size=3, max_size=3)) + [0.0] * 29)
    options = {
        "mean": mean,
        "bound": data.draw(st.sampled_from([1e-50, 0.1, 2.0, 1e60])),
        "radius": data.draw(st.sampled_from([1e-6, 0.3, 1.0])),
        "missing": data.draw(st.sampled_from(["fill", "zero"])),
        "outside": data.draw(st.sampled_from(["clip", "drop"])),
        "directions": data.draw(st.sampled_from([None, K])),
        "bounds": (0, 1),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = summary_of(np.array(curves), grid, **options)
        two = summary_of(np.array([other, *curves[1:]]), grid, **options)
        assert moved(one, two) <= 1


def along(k, sign=1.0):
    return sign * 50 * SOME.rows(FINE[:, None])[:, k]


def test_the_bounds_are_reached():
    """A curve at the centre and one at the bound; two that are at right angles."""
    zero = np.zeros((4, len(FINE)))
    pair = [np.vstack([zero, curve]) for curve in (0 * FINE, along(1))]
    assert 0.99 < moved(*[summary_of(c, directions=None) for c in pair]) <= 1
    pair = [np.vstack([zero, curve]) for curve in (along(0), along(1))]
    assert 0.99 < moved(*[summary_of(c) for c in pair]) <= 1
    assert residual_bound(5, K).value == pytest.approx(math.sqrt(2) / 5, rel=1e-6)
    assert residual_bound(5, None, 3.0).value == pytest.approx(3 / 5, rel=1e-6)
    assert (residual_size(None), residual_size(10)) == (1, 55)
    with pytest.raises(ValueError, match="no bound in the norm 'l1'"):
        summary_of(pair[0]).sensitivity("l1")


def test_all_curves_of_a_person_move_them_no_further_and_tell_no_less(rng):
    """M16: each of k curves has the k-th part of the person's weight."""
    t = np.linspace(0, 1, 60)
    rows = rng.standard_normal((9, 60))
    ids = ["a", "b", "b", "c", "c", "c", "d", "d", "d"]
    shapes = [50 * SOME.rows(t[:, None])[:, k] for k in range(2)]

    def table(last):
        changed = rows.copy()
        changed[6:] = last
        return pa.table({**{f"h{i:02d}": changed[:, i] for i in range(60)}, "id": ids})

    one, two = (summary_of(table(shape), t, unit="id") for shape in shapes)
    assert one.n == 4
    assert 0.98 < moved(one, two) <= 1
    nothing, much = (summary_of(table(c), t, unit="id", directions=None) for c in (0 * t, shapes[1]))
    assert 0.98 < moved(nothing, much) <= 1
    changed = rows.copy()
    changed[6:] = shapes[0]
    weights = np.array([1, *[1 / 2] * 2, *[1 / 3] * 6])
    _, moments = by_hand(changed, t, np.zeros(32), weights=weights)
    assert np.max(np.abs(matrix_of(one.coordinates()) - moments)) < 1e-3


def test_only_complete_curves_count_where_their_number_is_public(rng):
    t = np.linspace(0, 1, 20)
    rows = rng.standard_normal((50, 20))
    gaps = np.vstack([rows, np.full((5, 20), np.nan)])
    for directions in (None, K):
        options = {"directions": directions, "missing": "drop", "mean": np.eye(32)[0]}
        one, two = summary_of(rows, t, **options), summary_of(gaps, t, **options)
        assert np.allclose(one.coordinates() * 50, two.coordinates() * 55, rtol=1e-12)


# shares of a promise


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.05])
def test_shares_of_gaussian_noise_keep_the_promise_together(epsilon, delta):
    """Each event is no less than what its draw can move; together they come within 2 % of delta."""
    events = []
    for share, size, bound in ((0.95, 128, 0.02), (0.0125, 1, 0.01), (0.0375, 55, 0.014)):
        mechanism = GaussianShare(share)
        sensitivity = Sensitivity(bound, norm="l2")
        noise = mechanism.calibrate(sensitivity, size, epsilon=epsilon, delta=delta * (1 - 0.006))
        law = noise.law
        # both neighbours are snapped: each moves by at most half a step in every coordinate
        assert (bound + law.step * math.sqrt(size)) / law.scale <= noise.event.mu
        assert bound / law.scale > noise.event.mu * (1 - 1e-3)
        ratio = law.scale / Gaussian().calibrate(sensitivity, size, epsilon=epsilon, delta=delta).law.scale
        assert ratio == pytest.approx(1 / math.sqrt(share), rel=0.02)
        multiplier = mechanism.multiplier(size, epsilon=epsilon, delta=delta)
        assert multiplier == pytest.approx(law.scale / bound, rel=0.02)
        assert mechanism.event(epsilon=epsilon, delta=delta).mu == pytest.approx(noise.event.mu, rel=0.02)
        events.append(noise.event)
    assert 0.97 * delta < delta_of(events, epsilon=epsilon) <= delta
    less = [GaussianEvent(event.mu / 0.8, event.distance) for event in events]
    assert delta_of(less, epsilon=epsilon) > delta
    for wrong in (0.0, -1.0, 1.1):
        with pytest.raises(ValueError, match="share must be in"):
            GaussianShare(wrong)


# the whole release

T = np.linspace(0, 1, 25)
TERMS = {"bound": 2.0, "epsilon": 1.0, "delta": 1e-6, "size": 16, "population": 0.05}


def release(data, rng, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mercer.PrivacyWarning)
        return mercer.mean_curve(data, **({"grid": T} | TERMS | options), rng=rng)


KINDS = {
    "delta": {},
    "pure": {"delta": None},
    "a large share": {"population": 0.5},
    "centre": {"center": np.sin},
    "zero": {"missing": "zero"},
    "outside": {"outside": "drop"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_replays(kind, rng):
    """Three draws, each within its bound, whatever is replaced; the second run goes on with the first's."""
    curves = rng.standard_normal((40, 25))
    curves[3, 4:9] = np.nan
    for other in (np.full(25, 99.0), np.full(25, np.nan), np.eye(25)[3] * 1e300, np.zeros(25)):
        changed = curves.copy()
        changed[-1] = other
        found = mercer.replay(lambda data, rng: release(data, rng, **KINDS[kind]), (curves, changed))
        assert found.kept, (kind, str(found))
        assert [change.what for change in found.changes] == ["coordinates", "residuals", "residuals"]


def test_replays_of_persons_pairs_and_groups(rng):
    rows = rng.standard_normal((30, 25))
    changed, single = rows.copy(), rows.copy()
    changed[:3], single[4] = 77.0, -88.0

    def persons(data, rng):
        names = {f"h{i:02d}": data[:, i] for i in range(25)}
        return release(pa.table({**names, "id": [f"p{i // 3}" for i in range(30)]}), rng, unit="id")

    def pairs(data, rng):
        many = [(T[: 20 + i % 5], row[: 20 + i % 5]) for i, row in enumerate(data)]
        return release(many, rng, grid=None, bounds=(0, 1))

    def groups(data, rng, *, disjoint, delta):
        halves = {"a": data[:15], "b": data[15:]}
        terms = TERMS | {"epsilon": 4, "delta": delta}
        return mercer.mean_curves(halves, disjoint=disjoint, grid=T, rng=rng, **terms)

    assert mercer.replay(persons, (rows, changed)).kept
    assert mercer.replay(pairs, (rows, single)).kept
    for delta in (1e-6, None):
        for disjoint in (True, False):
            found = mercer.replay(
                lambda d, rng, disjoint=disjoint, delta=delta: groups(d, rng, disjoint=disjoint, delta=delta),
                (rows, single),
            )
            assert found.kept, str(found)
    one, both = rows.copy(), rows.copy()
    one[[4, 20]], both[[4, 20]] = 99.0, -99.0
    found = mercer.replay(lambda d, rng: groups(d, rng, disjoint=False, delta=1e-6), (one, both))
    assert found.kept
    for place in range(3):  # a person who is in both groups: the draws of one kind together
        draws = found.changes[place::3]
        assert math.sqrt(sum((c.measured / c.declared) ** 2 for c in draws)) <= 1


# planted faults


def test_a_centre_without_noise_is_seen(rng):
    """Residuals about the exact mean: it moves with the curve, and so do all others."""
    curves = np.full((20, 25), 5.0)
    changed = curves.copy()
    changed[0] = -5.0
    exact = {}

    def careless(opened, polynomials, *, mean, **options):
        rows = np.concatenate([np.asarray(chunk) for chunk in opened.chunks()]) / 5.0
        mean = np.mean(rows @ polynomials.of_grid([T]), axis=0)
        exact["mean"] = mean
        return tally_residuals(opened, polynomials, mean=mean, **options)

    assert mercer.replay(release, (curves, changed)).kept
    with patch("mercer.api.curve_request.tally_residuals", careless):
        found = mercer.replay(release, (curves, changed))
    assert not found.kept
    assert any(not change.within for change in found.changes[1:])


def test_a_radius_read_from_the_curves_is_seen(rng):
    curves = 0.1 * rng.standard_normal((40, 25))
    changed = curves.copy()
    changed[0] = 9.0
    radius = []

    def careless(opened, polynomials, **options):
        tally = tally_residuals(opened, polynomials, **options)
        if options["directions"] is None:
            radius[:] = [float(tally.means(40)[0])]
        return tally

    with (
        patch("mercer.api.curve_request.tally_residuals", careless),
        patch("mercer.api.curve_request.radius_of", lambda *_: 3 * math.sqrt(radius[0])),
    ):
        assert not mercer.replay(release, (curves, changed)).kept


def test_clipping_forgotten_is_seen(monkeypatch):
    zero = np.zeros((4, len(FINE)))
    pair = [np.vstack([zero, curve]) for curve in (along(0), along(1))]
    assert moved(*[summary_of(c, radius=0.1) for c in pair]) <= 1
    whole = 2.0**15

    def unclipped(found, radius, weights):
        return np.trunc(found * (whole / radius * np.sqrt(weights))[:, None])

    monkeypatch.setattr(residuals, "_clipped", unclipped)
    assert moved(*[summary_of(c, radius=0.1) for c in pair]) > 5


# audits


@pytest.mark.parametrize("share", [1.0, 0.8])
@pytest.mark.parametrize("pure", [False, True])
def test_audit_of_all_three_draws_together(pure, share, rng):
    """All move as far as they may; the bound is below the claim and near it; a fifth less noise is seen."""
    epsilon, delta, runs = 1.0, 0.0 if pure else 1e-3, 400_000 if pure else 4_000_000
    pair = [np.vstack([np.zeros((4, len(FINE))), curve]) for curve in (along(0), along(1))]
    moments = [summary_of(c, directions=2).coordinates() for c in pair]
    moves = [  # of the mean, one coordinate; of the total, a curve at the centre and one at the bound
        (2 / 5, np.array([0.0]), np.array([2 / 5]), 0.95),
        (1 / 5, np.array([0.0]), np.array([1 / 5]), 0.0125),
        (math.sqrt(2) / 5, *moments, 0.0375),
    ]
    losses = [np.zeros(runs), np.zeros(runs)]
    for bound, one, two, part in moves:
        less = Sensitivity(bound * share * (1 + 1e-6), "l2")
        if pure:
            law = L2().calibrate(less, one.size, epsilon=epsilon * part).law
        else:
            law = GaussianShare(part).calibrate(less, one.size, epsilon=epsilon, delta=delta * 0.994).law
        for place, centre in enumerate((one, two)):
            if pure:
                z = law.simulate(one.size, runs, rng) + centre
                away = np.linalg.norm(z - two, axis=1) - np.linalg.norm(z - one, axis=1)
                losses[place] += away / law.scale
            else:  # white noise: only the part along the change tells
                gap = np.linalg.norm(one - two) / law.scale
                z = rng.standard_normal(runs)
                losses[place] += gap * (z + (gap / 2 if place == 0 else -gap / 2))
    found = epsilon_lower_bound(*losses, delta=delta, confidence=CONFIDENCE)
    if share == 1.0:
        assert 0.6 < found <= epsilon
    else:
        assert found > epsilon


# what it costs


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_three_draws_are_one_charge_that_the_statement_and_the_dry_run_tell(tmp_path, delta, rng):
    book = mercer.Ledger.create(tmp_path / "book.db")
    book.register("study", epsilon=1.0, delta=1e-5)
    curves = rng.standard_normal((300, 25))
    terms = {"delta": delta, "ledger": book, "dataset": "study", "epsilon": 0.8}
    dry = release(curves, None, dry_run=True, **terms)
    assert book.history("study") == []
    assert "second moments of the curves about the released mean" in dry.mechanism
    assert "for bands about the population's mean, has 0.05 of the budget" in dry.expected
    made = release(curves, None, **terms)
    (charge,) = book.history("study")
    assert charge.epsilon == made.privacy.epsilon == 0.8
    assert made.privacy.mechanism == dry.mechanism
    kind = GaussianEvent if delta else PureEvent
    assert [type(event) for event in made.privacy.events] == [kind] * 3
    if not delta:
        assert [event.epsilon for event in made.privacy.events] == pytest.approx([0.76, 0.01, 0.03])
    bare = release(curves, None, delta=delta, epsilon=0.8, population=0)
    assert len(bare.privacy.events) == 1
    assert "second moments" not in bare.privacy.mechanism
    sd, more = (one.noise.deviations(one.size)[0] for one in (bare, made))
    if delta:
        assert more / sd == pytest.approx(1 / math.sqrt(0.95), rel=2e-3)


def test_groups_are_charged_together(tmp_path, rng):
    for disjoint in (True, False):
        for delta in (1e-6, None):
            name = f"{disjoint}-{delta}"
            book = mercer.Ledger.create(tmp_path / f"{name}.db")
            book.register("study", epsilon=2.0, delta=1e-5)
            curves = rng.standard_normal((300, 25))
            made = mercer.mean_curves(
                {"a": curves[:100], "b": curves[100:]},
                disjoint=disjoint,
                grid=T,
                ledger=book,
                dataset="study",
                **TERMS | {"delta": delta},
            )
            (charge,) = book.history("study")
            assert charge.epsilon == 1.0
            assert all(len(one.privacy.events) == 3 for one in made.values())
            assert [one.sampling.n for one in made.values()] == [100, 200]


def test_nothing_is_charged_where_the_share_is_wrong(tmp_path, rng):
    book = mercer.Ledger.create(tmp_path / "book.db")
    book.register("study", epsilon=1.0, delta=1e-5)
    curves = rng.standard_normal((30, 25))
    terms = {"ledger": book, "dataset": "study"}
    for wrong in (-0.1, 0.6, 1e-9, True, "much", float("nan"), None):
        with pytest.raises(ValueError, match="population must be a share of the budget"):
            release(curves, None, population=wrong, **terms)
    for option in ({"kernel": "gaussian"}, {"penalty": "rule"}, {"penalty": "private-cv"}, {"scale": 0.2}):
        with pytest.raises(ValueError, match="population is for the default smoothing"):
            release(curves, None, **option, **terms)
    with pytest.raises(ValueError, match="population is for the default smoothing"):
        release(curves, None, order="paper", penalty=0.1, **terms)
    surfaces = rng.standard_normal((30, 5, 5))
    with pytest.raises(ValueError, match="population is for curves of one argument"):
        release(surfaces, None, grid=(T[:5], T[:5]), size=8, **terms)
    assert book.history("study") == []
