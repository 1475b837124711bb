"""Counts of curvature, for the error band of noise in the objective: what one row can do to them.  M21."""

import json
from unittest.mock import patch

import numpy as np
import pytest

import mercer
from mercer.audits.audit import epsilon_lower_bound
from mercer.columns.domain import Box
from mercer.noise.entropy import Seeded
from mercer.noise.mechanisms.counts import CountNoise, GeometricCounts
from mercer.promise.events import ApproximateEvent, PureEvent, Sensitivity
from mercer.sensitive.data import open_rows
from mercer.sensitive.labels import Classes, Labels, Response
from mercer.sensitive.summaries.curvature import CurvatureCells, curvature_bound
from mercer.sensitive.summaries.risk import Examples, Machine
from mercer.spaces.losses import Hinge, Huber, Insensitive, Logistic, Pinball, Squared
from mercer.spaces.meshes import CellMesh

CONFIDENCE = 1 - 1e-9
LOSSES = [Logistic(), Hinge(0.5), Hinge(0.02), Huber(0.2), Insensitive(), Pinball(0.9), Squared()]


def cells_of(x, y, loss, mesh, values, *, many=1):
    target = Classes((0, 1)) if loss.classes else Response(-1, 1)
    rows = open_rows(x, columns=None, unit=None, dimension=None, labels=Labels(np.asarray(y), target))
    domain = Box.of([(0.0, 1.0)] * len(rows.names), rows.names)
    machine = Machine(loss, 0.01, 1 if loss.classes else None)
    return CurvatureCells(
        Examples(rows, domain), (machine,) * many, mesh, np.tile(values, (many, 1)), n=len(x), unit="row"
    )


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_cells_hold_the_second_derivatives_of_their_rows(loss, rng):
    """Against a loop over the rows, which knows nothing of nodes: in one column and in two."""
    for d, mesh in ((1, CellMesh((8,), 16)), (2, CellMesh((4, 2), 8))):
        n, nodes = 9000, mesh.nodes()
        x = rng.random((n, d))
        x[:3] = [[0.0] * d, [1.0] * d, [np.nan] * d]  # at the walls, and one that counts nothing
        y = rng.integers(0, 2, n) if loss.classes else rng.uniform(-1, 1, n)
        values = np.sin(5 * nodes.sum(axis=1))
        source = cells_of(x, y, loss, mesh, values)
        found = source.coordinates().reshape(mesh.cells)
        expected = np.zeros(mesh.cells)
        for row, label in zip(x, y, strict=True):
            if np.all(np.isfinite(row)):
                away = np.abs(nodes - np.clip(row, 0, 1 - 1e-12)) * mesh.sides
                near = int(np.argmin(away.max(axis=1)))
                target = np.array([2.0 * label - 1 if loss.classes else label])
                curve = float(loss.jet(values[[near]], target).curve[0]) / loss.curvature
                cell = tuple(int(min(v * k, k - 1)) for v, k in zip(row, mesh.cells, strict=True))
                expected[cell] += np.rint(curve * loss.steps)
        assert np.array_equal(found, expected)
        assert found.dtype == np.int64


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_row_moves_the_counts_by_no_more_than_the_bound_and_all_of_that(loss, rng):
    mesh, reached = CellMesh((6,), 8), 0.0
    for many in (1, 3):
        for _ in range(40):
            n = 20
            x, y = rng.random((n, 1)), rng.choice([0, 1] if loss.classes else [-1.0, 0.0, 0.5, 1.0], n)
            values = rng.choice([-1.0, 0.0, 1.0, 0.5], 48)
            other, changed = x.copy(), y.copy()
            other[3], changed[3] = rng.choice([rng.random(), np.nan]), y[7]
            one, two = (cells_of(a, b, loss, mesh, values, many=many) for a, b in ((x, y), (other, changed)))
            bound = one.sensitivity("l1")
            assert bound == two.sensitivity("l1") == curvature_bound([Machine(loss, 1.0)] * many)
            moved = np.abs(one.coordinates() - two.coordinates()).sum()
            assert moved <= bound.value
            reached = max(reached, float(moved / bound.value))
    assert reached > 0.3  # the bound is not idle
    with pytest.raises(ValueError, match="no bound in the norm 'l2'"):
        one.sensitivity("l2")
    if loss.steps == 1:  # a small residual in one cell, and then in another
        pair = [cells_of(np.array([[v], [0.4]]), np.zeros(2), loss, mesh, np.zeros(48)) for v in (0.1, 0.9)]
        moved = np.abs(pair[0].coordinates() - pair[1].coordinates()).sum()
        assert moved == pair[0].sensitivity("l1").value == 2


def test_what_a_row_counts_with_is_the_same_wherever_it_stands(rng):
    """To the last bit, with any rows beside it: a damaged line of a file moves all that follow."""
    mesh, loss = CellMesh((8, 8), 8), Logistic()
    values = rng.standard_normal(64 * 64)
    x, y = rng.random((10_001, 2)), rng.integers(0, 2, 10_001)
    whole = cells_of(x, y, loss, mesh, values).coordinates()
    turn = rng.permutation(len(x))
    assert np.array_equal(cells_of(x[turn], y[turn], loss, mesh, values).coordinates(), whole)
    parts = [cells_of(x[i::7], y[i::7], loss, mesh, values).coordinates() for i in range(7)]
    assert np.array_equal(sum(parts), whole)


# the whole release


def line(n=400, *, seed=5):
    x = np.random.default_rng(seed).random(n)
    return np.column_stack([x, np.sin(6 * x)])


def learn(data, rng, **options):
    options = {"epsilon": 1.0, "delta": 1e-6, "bounds": (0, 1), "y_bounds": (-1, 1), "rng": rng} | options
    return mercer.regression(data[:, :1], data[:, 1], **options)


def neighbours():
    one = line()
    other = one.copy()
    other[0] = (1 - one[0, 0], one[0, 1])
    return one, other


@pytest.mark.parametrize(
    "options",
    [{}, {"delta": None}, {"loss": "pinball", "quantiles": [0.1, 0.9]}, {"loss": "epsilon-insensitive"}],
    ids=str,
)
def test_a_replay_sees_the_counts_move_within_their_bound(options):
    found = mercer.replay(lambda data, rng: learn(data, rng, **options), neighbours())
    assert found.kept, str(found)
    (counts,) = [change for change in found.changes if change.what == "curvature"]
    assert 0 < counts.measured <= counts.declared


def test_a_replay_goes_on_with_what_was_drawn_first():
    """The weights of neighbours differ; the counts are those of one function, that of the first run."""
    found = mercer.replay(
        lambda data, rng: learn(data, rng, loss="squared", method="objective"), neighbours()
    )
    curvature = found.changes[1]
    assert (curvature.measured, curvature.declared) == (2.0, 2.0)


def half(machines):
    return Sensitivity(curvature_bound(machines).value / 2, norm="l1")


def of_the_records(self):
    """Counts at a function that the records moved: without noise."""
    total = sum(piece.target.sum() for piece in self._examples.fold_points(lambda piece: piece))
    self._values = self._values + np.modf(1e3 * total)[0]
    return COORDINATES(self)


COORDINATES = CurvatureCells.coordinates
FAULTS = {
    "a bound that forgets where the row goes": ("mercer.sensitive.summaries.curvature.curvature_bound", half),
    "counts at a function without noise": (
        "mercer.sensitive.summaries.curvature.CurvatureCells.coordinates",
        of_the_records,
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_seen(fault):
    place, wrong = FAULTS[fault]
    one, other = neighbours()
    other[0, 1] = -one[0, 1]  # the response changes too
    with patch(place, wrong):
        assert not mercer.replay(learn, (one, other)).kept
    assert mercer.replay(learn, (one, other)).kept


def test_audit_of_the_counts_stays_under_the_claim_and_comes_near(rng):
    """One row goes from a cell to another; half the noise is seen."""
    mesh, loss, values, runs = CellMesh((2,), 4), Huber(2.0), np.zeros(8), 200_000
    pair = [cells_of(np.array([[v], [0.4], [0.9]]), [0.0, 0, 0], loss, mesh, values) for v in (0.1, 0.8)]
    assert [source.coordinates().tolist() for source in pair] == [[2, 1], [1, 2]]
    noise = GeometricCounts().calibrate(pair[0].sensitivity("l1"), epsilon=1.0)
    source = Seeded(rng)

    def drawn(noise: CountNoise):
        exact = [np.tile(summary.coordinates(), runs) for summary in pair]
        return [np.subtract(*noise.randomise(e, source).reshape(runs, 2).T) for e in exact]

    one, two = drawn(noise)
    assert 0.6 < epsilon_lower_bound(one, two, delta=0.0, confidence=CONFIDENCE) <= 1.0
    less = GeometricCounts().calibrate(Sensitivity(1.0, norm="l1"), epsilon=1.0)
    one, two = drawn(less)
    assert epsilon_lower_bound(one, two, delta=0.0, confidence=CONFIDENCE) > 1.0


# what it costs


@pytest.mark.parametrize("delta", [None, 1e-6])
def test_both_draws_are_one_charge_that_the_statement_and_the_dry_run_tell(tmp_path, delta):
    book = mercer.Ledger.create(tmp_path / "book.db")
    book.register("study", epsilon=1.0, delta=1e-5)
    terms = {"delta": delta, "ledger": book, "dataset": "study", "epsilon": 0.9}
    terms |= {"bandwidth": 0.1} if delta else {}  # by default the noise of so few features is pure
    dry = learn(line(), None, dry_run=True, **terms)
    assert book.history("study") == []
    assert "second derivatives of the loss in 8 cells" in dry.mechanism
    assert "the error band is estimated with epsilon = 0.135 of the promise" in dry.expected
    made = learn(line(), None, **terms)
    (charge,) = book.history("study")
    assert charge.epsilon == made.privacy.epsilon == 0.9
    kind = ApproximateEvent if delta else PureEvent
    first, second = made.privacy.events
    assert isinstance(first, kind)
    assert (first.epsilon, second) == (0.765, PureEvent(0.135))
    assert made.privacy.mechanism == dry.mechanism
    bare = learn(line(), None, epsilon=0.9, band=0, delta=delta)
    assert bare.curvature is None
    assert len(bare.privacy.events) == 1
    assert "second derivatives" not in bare.privacy.mechanism


def test_nothing_is_charged_where_the_share_is_wrong(tmp_path):
    book = mercer.Ledger.create(tmp_path / "book.db")
    book.register("study", epsilon=1.0, delta=1e-5)
    terms = {"ledger": book, "dataset": "study"}
    for wrong in (-0.1, 0.6, True, "much", float("nan")):
        with pytest.raises(ValueError, match=r"band must be a share of epsilon in \[0, 0.5\]"):
            learn(line(), None, band=wrong, **terms)
    with pytest.raises(ValueError, match="band is a share of the budget for the error band of noise in the"):
        learn(line(), None, band=0.05, method="output", **terms)
    x = np.random.default_rng().random((50, 4))
    with pytest.raises(ValueError, match="up to 3 columns, got 4"):
        mercer.classifier(
            x, x[:, 0] > 0.5, classes=(False, True), bounds=(0, 1), epsilon=1, band=0.1, **terms
        )
    assert book.history("study") == []


def test_a_penalty_that_is_chosen_and_a_band_share_the_budget(rng):
    """Rows of the parts: those held out choose, the others are learnt from and counted."""
    data = line(3000)
    made = learn(data, rng, penalty=[0.01, 0.1])
    assert (made.choice, made.curvature.n) == ("private", 2400)
    assert sum(event.epsilon for event in made.privacy.events) == pytest.approx(1.0)
    assert made.curvature.counts.shape[0] == 1
    assert json.loads(json.dumps(made.to_dict()))["curvature"]["n"] == 2400
    one, other = data, data.copy()
    other[4] = (0.1, -other[4, 1])  # a row that is held out
    assert mercer.replay(lambda d, rng: learn(d, rng, penalty=[0.01, 0.1]), (one, other)).kept
    other = data.copy()
    other[3] = (0.1, -other[3, 1])
    assert mercer.replay(lambda d, rng: learn(d, rng, penalty=[0.01, 0.1]), (one, other)).kept
