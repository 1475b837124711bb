"""The promise of columns whose values are counted on a tree: replays, an audit, planted faults.

False alarms: the audit's bound exceeds a true claim with probability 1e-9 at most.
"""

import math

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.api import counted
from mercer.audits.audit import epsilon_lower_bound
from mercer.noise.count_laws import GeometricLaw
from mercer.noise.entropy import Secure
from mercer.noise.mechanisms.counts import CountNoise
from mercer.promise.events import PureEvent, Sensitivity
from mercer.sensitive.summaries import tree_counts
from mercer.sensitive.summaries.tree_counts import TreeCounts
from mercer.spaces.trees import Tree
from tests.conftest import ALPHA

ONE = [0, 1, 1, 20, 33, 47, 99, 100]
GIVEN = {"bounds": (0, 100), "step": 1, "insist": True}
DEEP = {"bounds": (0, 99_999), "step": 1, "insist": True}


def column(data, rng, **given):
    return mercer.density(data, rng=rng, **{**GIVEN, "epsilon": 1, **given})


@pytest.mark.parametrize("last", [0, 100, None, "x", 1e9, -1e9, math.nan, 50.4])
@pytest.mark.parametrize("given", [{}, {"delta": 1e-6}, {"epsilon": 0.1, "delta": 1e-2, **DEEP}])
def test_replay_meets_two_counts_on_each_level(last, given):
    one, two = [*ONE[:-1], 100], [*ONE[:-1], last]
    found = mercer.replay(lambda data, rng: column(data, rng, **given), (one, two))
    assert found.kept, str(found)
    (change,) = found.changes
    levels = column(one, None, **given).levels
    assert levels >= 2
    assert change.declared == pytest.approx(math.sqrt(2 * levels) if "bounds" in given else 2 * levels)
    if last == (1e9 if "bounds" in given else 0):  # no node above them is the same
        assert change.measured == pytest.approx(change.declared)


def people(rows_of_c):
    return pd.DataFrame({"who": ["a", "a", "b"] + ["c"] * len(rows_of_c), "x": [0, 1, 2, *rows_of_c]})


@pytest.mark.parametrize("other", [[100, 100, 100], [None], [None, None, None]])
def test_a_person_counts_once(other):
    def release(data, rng):
        return column(data, rng, columns="x", unit="who")

    pair = [people(rows).astype({"x": float}) for rows in ([0.0] * len(other), other)]
    found = mercer.replay(release, tuple(pair))
    assert found.kept, str(found)
    assert found.changes[0].measured == 4


def test_audit_comes_near_the_claim():
    """The worst neighbours: a record moves between the ends.  The likelihood ratio decides."""
    epsilon, runs, tree = 1.0, 200_000, Tree(9, 2)
    ends = np.eye(9, dtype=int) * 3
    one, two = (
        tree.sums(ends[0] + 1),
        tree.sums(ends[0] + 1 - np.eye(9, dtype=int)[0] + np.eye(9, dtype=int)[8]),
    )
    moved = np.flatnonzero(one != two)
    made = mercer.density([0] * 9, bounds=(0, 7), step=1, epsilon=epsilon, insist=True)
    assert np.abs(one - two).sum() == 4 == TreeCounts.bound_of(tree, "l1").value

    def ratio(scale):
        noise = CountNoise(GeometricLaw(scale), PureEvent(epsilon))
        draws = [noise.draw(runs * len(moved), Secure()).reshape(runs, -1) + c[moved] for c in (one, two)]
        score = [np.abs(z - two[moved]).sum(axis=1) - np.abs(z - one[moved]).sum(axis=1) for z in draws]
        return epsilon_lower_bound(*score, delta=0.0, confidence=1 - ALPHA)

    assert made.noise.scale == pytest.approx(2 * made.levels / epsilon)
    assert 0.7 * epsilon < ratio(4 / epsilon) <= epsilon
    assert ratio(2 / epsilon) > epsilon  # as if the levels did not share epsilon


def test_audit_of_the_whole_call():
    """The function that people call, with secure noise: the count of the first value, on one level."""
    epsilon, runs = 2.0, 2500

    def scores(data):
        call = [
            mercer.density(data, bounds=(0, 3), step=1, epsilon=epsilon, insist=True) for _ in range(runs)
        ]
        nodes = np.array([made.nodes for made in call], dtype=float)
        near = np.abs(nodes[:, [0, 3]] - [2, 1]) - np.abs(nodes[:, [0, 3]] - [3, 0])
        return near.sum(axis=1)

    found = epsilon_lower_bound(scores([0, 0, 0, 1]), scores([0, 0, 3, 1]), delta=0.0, confidence=1 - ALPHA)
    assert 0.2 * epsilon < found <= epsilon


def test_replay_sees_levels_that_do_not_share_epsilon(monkeypatch):
    monkeypatch.setattr(TreeCounts, "bound_of", staticmethod(lambda _tree, _norm: Sensitivity(2.0, "l1")))
    found = mercer.replay(column, (ONE, [*ONE[:-1], 0]))
    assert not found.kept
    assert "EXCEEDED" in str(found)


def test_replay_sees_levels_that_follow_the_records(monkeypatch):
    usual = counted._chosen

    def wrong(leaves, asked):
        _tree, mechanism, promise = usual(leaves, asked)
        return Tree(leaves, wrong.levels), mechanism, promise

    def release(data, rng):
        wrong.levels = 1 if np.mean(data) > 40 else 2
        return column(data, rng)

    monkeypatch.setattr(counted, "_chosen", wrong)
    assert not mercer.replay(release, ([50] * 7 + [0], [0] * 8)).kept


def test_replay_sees_missing_records_that_are_left_out(monkeypatch):
    """Without a leaf for them the sum of all counts would not be n, and a missing one would show."""

    def wrong(self):
        cells = self._tally.dense()
        total = int(cells.sum())
        if total < self.n:
            return self._tree.sums(np.append(cells, 0))
        return self._tree.sums(np.append(cells, self.n * 2 - total))

    monkeypatch.setattr(tree_counts.TreeCounts, "coordinates", wrong)
    assert not mercer.replay(column, (ONE, [*ONE[:-1], None])).kept


def test_the_promise_is_of_the_noise_that_was_chosen():
    """With few values pure noise keeps a promise with a delta, and the statement says so."""
    few = mercer.density(ONE, **GIVEN, epsilon=1, delta=1e-6)
    many = mercer.density(ONE, **DEEP, epsilon=0.1, delta=1e-2)
    assert few.privacy.delta == 0
    assert "two-sided geometric" in str(few.privacy)
    assert many.privacy.delta == 1e-2
    assert "Gaussian" in str(many.privacy)
    assert "level(s) of a tree" in str(few.privacy)
