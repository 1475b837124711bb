"""Noise on moments: what one row, or person, can do to sum phi phi' and sum y phi, and what is drawn.  M21."""

import math
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq
from scipy.stats import chi2, norm

import mercer
from mercer.audits.audit import epsilon_lower_bound
from mercer.columns.domain import Box
from mercer.noise.entropy import Seeded
from mercer.noise.mechanisms import Gaussian
from mercer.promise.events import ApproximateEvent, GaussianEvent, Sensitivity
from mercer.sensitive.data import open_rows
from mercer.sensitive.labels import Labels, Response
from mercer.sensitive.summaries.moments import MomentSums, moment_bound
from mercer.sensitive.summaries.risk import Examples
from mercer.spaces.maps import Linear, RandomFeatures, Taylor, TensorMap
from mercer.spaces.moments import MomentSpan
from tests.conftest import ALPHA

CONFIDENCE = 1 - 1e-9
WORST = math.sqrt(4.5)  # 2 + 2 t^2 + t^4 / 2 at t = 1


def sums_of(x, y, features, *, ratio=None, unit=None, moves=False):
    """Moments of rows in the unit cube; `unit` are the persons' names."""
    x = np.asarray(x, dtype=float)
    names = [f"x{k}" for k in range(x.shape[1])]
    data = x if unit is None else pd.DataFrame(x, columns=names).assign(who=unit)
    labels = Labels(np.asarray(y, dtype=float), Response(-1, 1))
    given = {"columns": None if unit is None else names, "unit": None if unit is None else "who"}
    rows = open_rows(data, **given, dimension=None, labels=labels)
    domain = Box.of([(0.0, 1.0)] * len(rows.names), rows.names, most=99)
    span = MomentSpan(features.size, ratio or features.kappa)
    examples = Examples(rows, domain)
    n = len(x) if unit is None else examples.persons
    return MomentSums(
        examples, features, span, n=n, unit="row" if unit is None else "who", moves=moves or unit is not None
    )


MAPS = [
    Linear(0.0, 4),
    Linear(0.7, 3),
    TensorMap.spanning(0.0, "gaussian", np.array([0.1]), 60),
    RandomFeatures.spanning(0.5, "matern52", np.full(3, 0.4), 40),
    Taylor(0.0, np.full(5, 0.6), 2),
]
NAMES = [features.name for features in MAPS]


@pytest.mark.parametrize("features", MAPS, ids=NAMES)
@pytest.mark.parametrize("shared", [False, True], ids=["rows", "persons"])
def test_sums_are_those_of_a_loop_over_the_rows(features, shared, rng):
    """Within what cutting to the grid leaves: half a step a feature and row."""
    n, d, m = 5000, features.dimension, features.size
    x, y = rng.random((n, d)), rng.uniform(-1.5, 1.5, n)
    x[0], y[1] = np.nan, np.nan  # they count nothing
    x[2] = 7.0  # outside: moved to the bounds
    who = rng.integers(0, 900, n).astype(str) if shared else None
    matrix, vector = np.zeros((m, m)), np.zeros(m)
    weights = np.ones(n) if who is None else 1 / pd.Series(who).groupby(who).transform("size").to_numpy()
    for row, label, weight in zip(x, y, weights, strict=True):
        if np.all(np.isfinite(row)) and np.isfinite(label):
            phi = features.features(np.clip(row, 0, 1)[None])[0]
            matrix += weight * np.outer(phi, phi)
            vector += weight * np.clip(label, -1, 1) * phi
    source = sums_of(x, y, features, ratio=0.8, unit=who)
    found, other = source._span.parts(source.coordinates())
    step = 2.0 ** -(14 if shared else 18)  # of the grid, and of a person's shares
    assert np.abs(found - matrix).max() <= 4 * n * step * features.kappa**2
    assert np.abs(other - vector).max() <= 4 * n * step * features.kappa**2
    if not shared:
        assert np.abs(found - matrix).max() <= 40 * math.sqrt(n) * step  # and rounding goes both ways
    assert source.size == m * (m + 3) // 2


def test_coordinates_keep_lengths(rng):
    span, half = MomentSpan(7, 1.7), rng.standard_normal((7, 7))
    matrix, vector = half + half.T, rng.standard_normal(7)
    coordinates = span.coordinates(matrix, vector)
    assert len(coordinates) == span.size == 35
    length = np.sum(matrix**2) + 1.7**2 * np.sum(vector**2)
    assert np.isclose(np.sum(coordinates**2), length, rtol=1e-13)
    back, same = span.parts(coordinates)
    assert np.allclose(back, matrix, rtol=1e-14)
    assert np.allclose(same, vector, rtol=1e-14)
    for wrong in ((0, 1.0), (3, 0.0), (3, math.nan), (3, 1e9)):
        with pytest.raises(ValueError, match="moments must be"):
            MomentSpan(*wrong)


def change(phi, psi, y, other, ratio):
    """The squared change of the coordinates, from the matrices themselves: nothing of the proof."""
    matrix = np.outer(phi, phi) - np.outer(psi, psi)
    return np.sum(matrix**2) + ratio**2 * np.sum((y * phi - other * psi) ** 2)


@pytest.mark.parametrize("length", [1.0, 1.3])
@pytest.mark.parametrize("ratio", [0.3, 1.0, 1.3, 3.0])
def test_the_bound_is_the_largest_change_of_two_rows(length, ratio, rng):
    """Random rows never exceed it, a search over angles reaches it, and so does no shorter bound."""
    bound = moment_bound(length, ratio)
    for _ in range(2000):
        phi, psi = rng.standard_normal((2, 3))
        phi *= length * rng.choice([1.0, rng.random()]) / np.linalg.norm(phi)
        psi *= length * rng.choice([1.0, rng.random(), 0.0]) / np.linalg.norm(psi)
        y, other = rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], 2)
        assert change(phi, psi, y, other, ratio) <= bound**2 * (1 + 1e-12)
    angles = np.linspace(0, math.pi, 2001)
    rows = length * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    first = np.array([length, 0.0])
    reached = max(change(first, row, 1.0, -1.0, ratio) for row in rows)
    assert bound**2 * (1 - 1e-5) <= reached <= bound**2 * (1 + 1e-12)
    u = min(ratio**2 / 2, length**2)  # the worst angle that the proof names
    worst = length * np.array([u / length**2, math.sqrt(1 - (u / length**2) ** 2)])
    assert np.isclose(change(first, worst, 1.0, -1.0, ratio), bound**2)
    if (length, ratio) == (1.0, 1.0):
        assert np.isclose(bound, WORST)


def corners(*signs):
    """A row of four columns whose linear features are these signs over two: of length one."""
    return (np.array(signs) + 1) / 2


LINE = Linear(0.0, 4)
ONE, TWO = corners(1, 1, 1, 1), corners(1, 1, 1, -1)  # phi'psi = 1/2


def test_neighbours_reach_the_sensitivity_and_do_not_pass_it(rng):
    """The maximising angle |u| = 1/2, a row that does not fit, and random rows."""
    x, y = rng.random((40, 4)), rng.uniform(-1, 1, 40)
    x[5], y[5] = ONE, 1.0
    declared = sums_of(x, y, LINE).sensitivity("l2").value
    assert WORST <= declared <= WORST * (1 + 1e-5)
    base = sums_of(x, y, LINE).coordinates()
    moved = {}
    for name, row, label in (
        ("worst", TWO, -1.0),
        ("same row", ONE, -1.0),
        ("missing", np.full(4, np.nan), 0.0),
        ("no answer", ONE, np.nan),
        ("random", rng.random(4), rng.uniform(-1, 1)),
    ):
        other, labels = x.copy(), y.copy()
        other[5], labels[5] = row, label
        moved[name] = float(np.linalg.norm(sums_of(other, labels, LINE).coordinates() - base))
    assert max(moved.values()) <= declared
    assert moved["worst"] >= declared * (1 - 1e-4)
    assert np.isclose(moved["missing"], math.sqrt(2), rtol=1e-4)  # |(A, c) of one row|
    assert np.isclose(moved["no answer"], math.sqrt(2), rtol=1e-4)
    with pytest.raises(ValueError, match="no bound in the norm 'l1'"):
        sums_of(x, y, LINE).sensitivity("l1")


def test_persons_move_no_more_than_rows(rng):
    """A person's rows share one weight: a mean of rows is within the hull of rows."""
    x, y, who = rng.random((60, 4)), rng.uniform(-1, 1, 60), np.repeat(np.arange(20), 3).astype(str)
    x[who == "4"], y[who == "4"] = ONE, 1.0
    base = sums_of(x, y, LINE, unit=who)
    other, labels = x.copy(), y.copy()
    other[who == "4"], labels[who == "4"] = TWO, -1.0
    moved = np.linalg.norm(base.coordinates() - sums_of(other, labels, LINE, unit=who).coordinates())
    declared = base.sensitivity("l2").value
    assert (1 - 3e-4) * declared <= moved <= declared <= WORST * (1 + 1e-3)
    more = np.append(who, ["4"] * 5)  # with more rows
    wide, long = np.vstack([x, rng.random((5, 4))]), np.append(y, rng.uniform(-1, 1, 5))
    changed = sums_of(wide, long, LINE, unit=more)
    assert changed.n == 20
    assert np.linalg.norm(base.coordinates() - changed.coordinates()) <= declared


@pytest.mark.parametrize("features", MAPS, ids=NAMES)
def test_what_a_row_adds_is_the_same_wherever_it_stands(features, rng):
    """To the last bit, where one record can move others: a damaged line of a CSV file goes last."""
    n = 4999
    x, y = rng.random((n, features.dimension)), rng.uniform(-1, 1, n)
    whole = sums_of(x, y, features, moves=True).coordinates()
    turn = rng.permutation(n)
    assert np.array_equal(sums_of(x[turn], y[turn], features, moves=True).coordinates(), whole)
    assert np.allclose(sums_of(x, y, features).coordinates(), whole, atol=1e-2)


# the whole release


def learn(data, rng, **options):
    given = {"bounds": (-1, 1), "y_bounds": (-1, 1), "kernel": "linear", "constant": 0}
    given |= {"epsilon": 1.0, "delta": 1e-6, "loss": "squared", "method": "moments", "rng": rng} | options
    return mercer.regression(data[:, :-1], data[:, -1], **given)


def neighbours(rng, n=300):
    """The worst pair: every row but one is the same."""
    one = np.column_stack([rng.uniform(-1, 1, (n, 4)), rng.uniform(-1, 1, n)])
    one[7] = (1, 1, 1, 1, 1)
    other = one.copy()
    other[7] = (1, 1, 1, -1, -1)
    return one, other


@pytest.mark.filterwarnings("ignore:.*records are few")
def test_a_replay_of_the_worst_pair_stays_within_the_bound_and_comes_near(rng):
    found = mercer.replay(learn, neighbours(rng))
    assert found.kept, str(found)
    (moved,) = found.changes
    assert moved.what == "moments"
    assert moved.declared * (1 - 1e-4) <= moved.measured <= moved.declared


@pytest.mark.filterwarnings("ignore:.*records are few")
@pytest.mark.parametrize("row", [(np.nan, 0, 0, 0, 1), (1, 1, 1, 1, np.nan), (9, 9, 9, -9, -9)], ids=str)
def test_a_replay_of_rows_that_do_not_fit_or_are_clipped(row, rng):
    one, other = neighbours(rng)
    other[7] = row
    found = mercer.replay(learn, (one, other))
    assert found.kept, str(found)
    assert 0.6 < found.changes[0].measured / found.changes[0].declared <= 1


@pytest.mark.filterwarnings("ignore:.*records are few")
@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "gaussian", "constant": None, "features": "random", "size": 40},
        {"kernel": "linear", "constant": 2.0},
        {"epsilon": 4.0, "penalty": 0.1},
    ],
    ids=str,
)
def test_a_replay_with_other_features(options, rng):
    assert mercer.replay(lambda data, rng: learn(data, rng, **options), neighbours(rng)).kept


@pytest.mark.filterwarnings("ignore:.*records are few")
def test_a_replay_of_damaged_lines_and_of_persons(rng, tmp_path):
    """A line that cannot be read goes last, and all rows after it stand elsewhere."""
    rows = [f"{a:.4f},{b:.4f},p{k % 90}" for k, (a, b) in enumerate(rng.random((300, 2)))]
    broken = [*rows]
    broken[20] = "0.5"
    for unit in (None, "who"):
        paths = []
        for name, lines in (("one", rows), ("two", broken)):
            path = tmp_path / f"{name}.csv"
            path.write_text("x,y,who\n" + "\n".join(lines) + "\n")
            paths.append(path)

        def release(path, rng, unit=unit):
            terms = {"loss": "squared", "method": "moments", "epsilon": 1, "delta": 1e-6, "unit": unit}
            return mercer.regression(path, "y", columns="x", bounds=(0, 1), y_bounds=(0, 1), rng=rng, **terms)

        found = mercer.replay(release, tuple(paths))
        assert all(change.within for change in found.changes), str(found)
        assert found.same_noise


# planted faults


def without_the_cross_term(length, ratio):
    return math.sqrt(2 * length**4 + 2 * ratio**2 * length**2)


def unclipped(self, raw):
    """Responses as they would be with bounds that are taken for narrower than they are."""
    found = POINTS(self, raw)
    return found._replace(target=1.5 * found.target)


def longer(self, unit):
    return 1.1 * LINEAR(self, unit)


LINEAR, POINTS = Linear.features, Examples._points
SUMS = "mercer.sensitive.summaries.moments"
FAULTS = {
    "a sensitivity without the cross term": (f"{SUMS}.moment_bound", without_the_cross_term),
    "responses that are not clipped": ("mercer.sensitive.summaries.risk.Examples._points", unclipped),
    "features longer than one": ("mercer.spaces.maps.Linear.features", longer),
}


@pytest.mark.filterwarnings("ignore:.*records are few")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_seen(fault, rng):
    place, wrong = FAULTS[fault]
    one, other = neighbours(rng)
    assert mercer.replay(learn, (one, other)).kept
    with patch(place, wrong):
        found = mercer.replay(learn, (one, other))
    assert not found.kept
    assert not found.changes[0].within


def needed(epsilon, delta):
    """The multiplier of the Gaussian mechanism by its exact delta (M1), found anew."""

    def lost(multiplier):
        mu = 1 / multiplier
        first = norm.cdf(mu / 2 - epsilon / mu)
        return first - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu) - delta

    return brentq(lost, 0.05, 1000)


@pytest.mark.filterwarnings("ignore:.*records are few")
def test_the_noise_is_as_large_as_the_promise_needs(rng):
    """Chi-squared over all coordinates of some releases, exact; 20 % less noise would be seen."""
    epsilon, delta, sd = 1.0, 1e-6, WORST * needed(1.0, 1e-6)
    one, _ = neighbours(rng, n=50)
    x, y = (one[:, :-1] + 1) / 2, one[:, -1]
    features = RandomFeatures.spanning(0.0, "gaussian", np.full(4, 0.5), 64)
    exact = sums_of(x, y, features).coordinates()
    given = {"kernel": "gaussian", "features": "random", "bandwidth": 1.0, "size": 64}
    square = count = 0.0
    for _ in range(3):
        made = learn(one, rng, epsilon=epsilon, delta=delta, **given)
        assert np.array_equal(made.features.frequencies, features.frequencies)
        assert sd <= made.noise.scale <= sd * 1.001
        square += np.sum((made.coordinates - exact) ** 2)
        count += exact.size

    def p_value(ratio):
        s = square / (ratio * sd) ** 2
        return 2 * min(chi2.cdf(s, count), chi2.sf(s, count))

    assert p_value(1.0) > ALPHA
    assert p_value(1 / 0.8) < ALPHA  # had it been 20 % too small
    assert p_value(0.8) < ALPHA


def test_audit_stays_under_the_claim_and_comes_near(rng):
    """The worst pair of rows; 30 % too little noise is seen, and so is the bound without its cross term."""
    rest, runs, promise = np.full((2, 4), 0.5), 120_000, {"epsilon": 1.0, "delta": 0.05}
    pair = [sums_of(np.vstack([rest, row]), [0.0, 0.0, y], LINE) for row, y in ((ONE, 1.0), (TWO, -1.0))]
    exact = [source.coordinates() for source in pair]
    way, source = exact[1] - exact[0], Seeded(rng)
    way /= np.linalg.norm(way)

    def audited(share):
        bound = Sensitivity(pair[0].sensitivity("l2").value * share, norm="l2")
        noise = Gaussian().calibrate(bound, pair[0].size, **promise)
        one, two = (noise.add(np.tile(e, runs), source).reshape(runs, -1) @ way for e in exact)
        return epsilon_lower_bound(two, one, delta=0.05, confidence=CONFIDENCE)

    assert 0.7 < audited(1.0) <= 1.0
    assert audited(0.7) > 1.0


@pytest.mark.filterwarnings("ignore:.*records are few")
def test_one_gaussian_event_is_charged_before_it_is_drawn(tmp_path, rng):
    book = mercer.Ledger.create(tmp_path / "book.db")
    book.register("study", epsilon=1.0, delta=1e-5)
    one, _ = neighbours(rng)
    terms = {"ledger": book, "dataset": "study", "epsilon": 0.9}
    dry = learn(one, None, dry_run=True, **terms)
    assert book.history("study") == []
    assert "the penalty stays free" in dry.expected
    made = learn(one, None, **terms)
    (charge,) = book.history("study")
    assert (charge.epsilon, made.privacy.epsilon) == (0.9, 0.9)
    (event,) = made.privacy.events
    assert isinstance(event, (GaussianEvent, ApproximateEvent))
    made.smooth(penalty=0.1)
    assert len(book.history("study")) == 1
    with pytest.raises(mercer.BudgetExceeded):
        learn(one, None, **terms)
