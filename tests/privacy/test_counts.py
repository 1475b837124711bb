"""The promise of counts, histograms, tables and margins: replays, audits, planted faults.

False alarms: every audit's bound exceeds a true claim with probability 1e-9 at most.
"""

import math

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.api import counts as counting
from mercer.api import tables
from mercer.audits.audit import epsilon_lower_bound
from mercer.columns.bins import axes_of
from mercer.columns.table import Domain
from mercer.noise.count_laws import GeometricLaw
from mercer.noise.entropy import Secure
from mercer.noise.mechanisms.counts import CountNoise, GeometricCounts, count_mechanism
from mercer.promise.events import PureEvent, Sensitivity
from mercer.sensitive.data import open_records
from mercer.sensitive.summaries import cell_counts
from mercer.sensitive.summaries.cell_counts import count_margins, moved_counts
from tests.conftest import ALPHA

SURE = 1 - ALPHA
ONE = [0, 1, 1, 2, 3, 3, 3, 0]
NEIGHBOURS = (ONE, [*ONE[:-1], 3])
ODD = (ONE, [*ONE[:-1], None])


def histogram(data, rng, **given):
    return mercer.histogram(data, bins=range(4), epsilon=5, rng=rng, insist=True, **given)


@pytest.mark.parametrize("pair", [NEIGHBOURS, ODD, (ONE, [*ONE[:-1], "x"]), (ONE, [*ONE[:-1], 1e9])])
@pytest.mark.parametrize("given", [{}, {"delta": 1e-6}, {"sparse": True}, {"sparse": True, "delta": 1e-6}])
def test_histogram_replay(pair, given):
    found = mercer.replay(lambda data, rng: histogram(data, rng, **given), pair)
    assert found.kept, str(found)
    (change,) = found.changes
    bound = 2.0 if "delta" not in given else math.sqrt(2)
    assert change.declared == pytest.approx(bound)
    if pair is NEIGHBOURS:
        assert change.measured == pytest.approx(bound)  # the worst there is


def table_rows(last):
    rows = [{"a": i % 3, "b": i % 2 == 0, "c": i % 5} for i in range(29)]
    return [*rows, last]


DOMAIN = {"a": range(3), "b": bool, "c": range(5)}
FIRST, OTHER = {"a": 0, "b": True, "c": 0}, {"a": 2, "b": False, "c": 4}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"margins": 1},
        {"margins": 2, "delta": 1e-6},
        {"margins": [("a", "b"), ("b",)]},
        {"margins": 1, "missing": "drop"},
        {"sparse": True},
    ],
)
@pytest.mark.parametrize("last", [OTHER, {"a": 2, "b": None, "c": 1}])
def test_table_replay(given, last):
    if given.get("missing") == "drop" and last["b"] is None:
        pytest.skip("the number of complete rows is not public there")
    function = lambda data, rng: mercer.table(  # noqa: E731
        data, domain=DOMAIN, epsilon=50, rng=rng, insist=True, **given
    )
    found = mercer.replay(function, (table_rows(FIRST), table_rows(last)))
    assert found.kept, str(found)
    if last is OTHER:
        change = found.changes[0]
        assert change.measured == pytest.approx(change.declared)  # the bound is the worst case


def test_one_count_of_two_halves_the_sensitivity():
    rows = table_rows(FIRST)
    usual = mercer.table(rows, domain=DOMAIN, columns=["b"], margins=1, epsilon=1, insist=True)
    halved = mercer.table(
        rows, domain=DOMAIN, columns=["b"], margins=1, epsilon=1, missing="drop", insist=True
    )
    assert usual.noise.scale == pytest.approx(2)
    assert halved.noise.scale == pytest.approx(1)
    assert halved.raw[0].sum() == 30


def test_count_replay():
    data = [True, False, True, True]
    for given in ({}, {"delta": 1e-6}, {"mechanism": "optimal"}):
        function = lambda rows, rng, given=given: mercer.count(  # noqa: E731
            rows, epsilon=5, rng=rng, insist=True, **given
        )
        for last in (False, None, "x"):
            found = mercer.replay(function, (data, [*data[:-1], last]))
            assert found.kept, str(found)
            assert found.changes[0].measured == found.changes[0].declared == 1


def person_rows(rows_of_c):
    return pd.DataFrame({"who": ["a", "a", "b"] + ["c"] * len(rows_of_c), "x": [0, 1, 2, *rows_of_c]})


@pytest.mark.parametrize("most", [1, 2])
def test_person_replay(most):
    """All rows of a person against another set of as many rows: 2k in the l1 norm at most."""
    function = lambda data, rng: mercer.histogram(  # noqa: E731
        data, columns="x", bins=range(4), unit="who", rows_per_person=most, epsilon=9, rng=rng, insist=True
    )
    found = mercer.replay(function, (person_rows([0, 0, 0]), person_rows([3, 3, 3])))
    assert found.kept, str(found)
    assert found.changes[0].measured == 2 * most


def audited(one, two, *, delta=0.0):
    return epsilon_lower_bound(one, two, delta=delta, confidence=SURE)


def outputs(function, data, runs):
    return np.array([function(data) for _ in range(runs)], dtype=float)


def noise_of(epsilon, delta=None):
    mechanism = count_mechanism(delta)
    return mechanism.calibrate(moved_counts(2, 1, mechanism.norm), epsilon=epsilon, delta=delta or 0.0)


def run_dense(noise, counts, runs):
    draws = noise.draw(runs * len(counts), Secure()).reshape(runs, -1)
    return draws + counts


def test_audit_of_a_histogram_comes_near_the_claim():
    """Worst neighbours: one record moves.  The likelihood ratio is |z - c'| - |z - c|."""
    epsilon, runs = 1.0, 400_000
    one, two = np.array([5, 5]), np.array([4, 6])

    def ratio(noise):
        a, b = run_dense(noise, one, runs), run_dense(noise, two, runs)
        score = [np.abs(z - two).sum(axis=1) - np.abs(z - one).sum(axis=1) for z in (a, b)]
        return audited(*score)

    found = ratio(noise_of(epsilon))
    assert 0.85 * epsilon < found <= epsilon
    assert ratio(noise_of(epsilon / 0.8)) > epsilon  # noise 20 % too small is caught


def test_audit_of_margins_comes_near_the_claim():
    """One record moves in both of two margins: 4 in the l1 norm."""
    epsilon, runs = 1.0, 400_000  # 0.75 is more than six deviations below what is found
    rows, other = [{"a": 0, "b": False}] * 9, [{"a": 0, "b": False}] * 8 + [{"a": 1, "b": True}]

    def counts(data):
        axes = axes_of(Domain({"a": range(2), "b": bool}), None, None)
        records = open_records(data, domain=Domain([a.column for a in axes.columns]), unit=None)
        tally = count_margins(records, axes, ((0,), (1,)), most=1)
        return np.concatenate([part.dense() for part in tally.parts])

    one, two = counts(rows), counts(other)
    made = mercer.table(rows, domain={"a": range(2), "b": bool}, margins=1, epsilon=epsilon, insist=True)

    def ratio(scale):
        noise = CountNoise(GeometricLaw(scale), PureEvent(epsilon))
        a, b = run_dense(noise, one, runs), run_dense(noise, two, runs)
        score = [np.abs(z - two).sum(axis=1) - np.abs(z - one).sum(axis=1) for z in (a, b)]
        return audited(*score)

    assert np.abs(one - two).sum() == 4
    assert 0.75 * epsilon < ratio(made.noise.scale) <= epsilon
    assert ratio(made.noise.scale / 2) > epsilon  # as if the margins did not share epsilon


def test_audit_with_a_delta():
    epsilon, delta, runs = 1.0, 1e-3, 1_000_000
    one, two = np.array([5, 5]), np.array([4, 6])

    def found(scale):
        noise = noise_of(epsilon, delta)
        draws = np.rint(np.random.default_rng().standard_normal((2, runs, 2)) * noise.law.scale * scale)
        score = [(z + c) @ (one - two) for z, c in zip(draws, (one, two), strict=True)]
        return audited(*score, delta=delta)

    assert 0.5 * epsilon < found(1.0) <= epsilon
    assert found(0.65) > epsilon  # by twelve deviations of what is found; at 0.8 by two


def test_audit_of_the_sparse_release():
    """What is seen of a sparse table: whether a cell is there, and its count."""
    epsilon, runs, threshold = 1.0, 100_000, 3
    noise, source = noise_of(epsilon), Secure()

    def score(keys, counts, noise):
        """Runs side by side: a table of which every six cells are one run's."""
        places = (keys + 6 * np.arange(runs)[:, None]).reshape(-1)
        held, values = noise.sparse(places, np.tile(counts, runs), 6 * runs, threshold, source)
        table = np.zeros(6 * runs)
        table[held] = np.minimum(values, 12)
        return table[0::6] - table[1::6]

    pair = (np.array([0, 1]), np.array([7, 6])), (np.array([0, 1]), np.array([6, 7]))
    found = audited(score(*pair[0], noise), score(*pair[1], noise))
    assert 0.6 * epsilon < found <= epsilon
    weak = noise_of(2 * epsilon)
    assert audited(score(*pair[0], weak), score(*pair[1], weak)) > epsilon


def test_audit_of_the_whole_call():
    """The function that people call, on its worst neighbours, with secure noise."""
    epsilon, runs = 1.0, 1800  # bounds have mean 0.55 and deviation 0.05
    call = lambda data: mercer.count(data, epsilon=epsilon, insist=True).raw  # noqa: E731
    one = outputs(call, [True, True, True], runs)
    two = outputs(call, [True, True, False], runs)
    assert 0.2 * epsilon < audited(one, two) <= epsilon


def test_audit_of_the_optimal_mechanism():
    from mercer import optimal_count

    matrix, source, runs = optimal_count(8, 1.0), Secure(), 60_000  # mean 0.885, sd 0.0137
    one = np.array([matrix.draw(0, source) for _ in range(runs)], dtype=float)
    two = np.array([matrix.draw(1, source) for _ in range(runs)], dtype=float)
    assert 0.8 < audited(-one, -two) <= 1.0
    loose = optimal_count(8, 1.6)
    one = np.array([loose.draw(0, source) for _ in range(runs)], dtype=float)
    two = np.array([loose.draw(1, source) for _ in range(runs)], dtype=float)
    assert audited(-one, -two) > 1.0


def test_replay_sees_a_sensitivity_of_one(monkeypatch):
    """A histogram's is 2 under replace-one: peers that state 1 mean another promise."""
    monkeypatch.setattr(cell_counts.CellCounts, "sensitivity", lambda *_: Sensitivity(1.0, "l1"))
    found = mercer.replay(histogram, NEIGHBOURS)
    assert not found.kept
    assert "EXCEEDED" in str(found)


def test_replay_sees_a_threshold_read_from_the_data(monkeypatch):
    usual = tables.publish_cells

    def wrong(tally, *rest, **given):
        given["threshold"] = len(tally.occupied()[0])  # the occupied cells are not public
        return usual(tally, *rest, **given)

    monkeypatch.setattr(tables, "publish_cells", wrong)
    pair = ([0, 0, 0, 0, 0], [0, 0, 0, 0, 2])
    found = mercer.replay(lambda data, rng: histogram(data, rng, sparse=True), pair)
    assert not found.same_noise


def test_replay_sees_edges_read_from_the_data():
    def wrong(data, rng):
        top = float(np.max(data))
        return mercer.histogram(data, bins=4, bounds=(0, top), epsilon=5, rng=rng, insist=True)

    found = mercer.replay(wrong, ([0.0, 1.0, 2.0, 3.0, 7.9], [0.0, 1.0, 2.0, 3.0, 4.0]))
    assert not found.kept


def test_replay_sees_more_rows_of_a_person(monkeypatch):
    """More rows of a person than were asked for that are counted all the same."""
    usual = cell_counts.DrawnRows
    monkeypatch.setattr(cell_counts, "DrawnRows", lambda lots, _, width: usual(lots, 9, width))
    function = lambda data, rng: mercer.histogram(  # noqa: E731
        data, columns="x", bins=range(4), unit="who", epsilon=9, rng=rng, insist=True
    )
    found = mercer.replay(function, (person_rows([0, 0, 0]), person_rows([3, 3, 3])))
    assert not found.kept


def test_replay_sees_a_bad_record_that_counts_elsewhere(monkeypatch):
    """A branch that follows a value is seen."""
    usual = counting.counted

    def wrong(ask, data, **given):
        number, n = usual(ask, data, **given)
        return (number * 2 if number == 3 else number), n

    monkeypatch.setattr(counting, "counted", wrong)
    found = mercer.replay(
        lambda rows, rng: mercer.count(rows, epsilon=5, rng=rng, insist=True),
        ([True, True, True, False], [True, True, False, False]),
    )
    assert not found.kept


def test_calibration_is_never_below():
    for epsilon in (1e-3, 0.1, 1.0, 7.3):
        assert noise_of(epsilon).law.scale * epsilon >= 2.0
        gaussian = noise_of(epsilon, 1e-6)
        assert gaussian.law.scale >= math.sqrt(2) / gaussian.event.mu * (1 - 1e-15)
        assert gaussian.event.distance == 0  # a rounded normal is post-processing of M1
    assert noise_of(1.0, 1e-6).law.scale == pytest.approx(4.22468 * math.sqrt(2), rel=1e-5)
    with pytest.raises(ValueError, match="in the norm"):
        GeometricCounts().calibrate(Sensitivity(2.0, "l2"), epsilon=1)
    with pytest.raises(ValueError, match="whole number"):
        GeometricCounts().calibrate(Sensitivity(1.5, "l1"), epsilon=1)


def test_neighbours_of_large_tables_are_replayed_folded():
    domain = {f"b{i}": bool for i in range(40)}
    rows = np.zeros((20, 40), dtype=bool)
    other = rows.copy()
    other[-1] = True
    function = lambda data, rng: mercer.table(data, domain=domain, epsilon=50, rng=rng, insist=True)  # noqa: E731
    found = mercer.replay(function, (rows, other))
    assert found.kept, str(found)
    assert found.changes[0].measured == 2
