"""Kernel machines: losses, features, solver, releases and their files."""

import itertools
import json
import math
from importlib.resources import files

import jsonschema
import numpy as np
import pytest

import mercer
from mercer.api.recipes.machine import MachineRecipe
from mercer.columns.domain import Box
from mercer.noise.entropy import Seeded
from mercer.releases.machine.release import shrinkage
from mercer.rules.machines import bandwidth_rule, feature_rule, machine_penalty, threshold_rule
from mercer.sensitive.data import open_rows
from mercer.sensitive.labels import Classes, Labels
from mercer.sensitive.summaries import machine
from mercer.sensitive.summaries import risk as solver
from mercer.sensitive.summaries.risk import Examples
from mercer.spaces.kernels import KERNELS
from mercer.spaces.losses import (
    LOSSES,
    Hinge,
    Huber,
    Insensitive,
    Logistic,
    Pinball,
    Squared,
    loss_from_dict,
    sharpness,
)
from mercer.spaces.maps import MAPS, LandmarkMap, Linear, RandomFeatures, Taylor, TensorMap, map_from_dict
from tests.conftest import ALPHA
from tests.privacy.test_machines import summary_of

ALL = [
    Logistic(),
    Hinge(),
    Hinge(0.02),
    Huber(),
    Huber(1.5),
    Insensitive(),
    Pinball(0.9),
    Pinball(0.2, 0.5),
    Squared(),
]


@pytest.mark.parametrize("loss", ALL, ids=lambda loss: str(loss))
def test_a_loss_is_convex_with_the_stated_slope_and_curvature(loss, rng):
    f = np.sort(rng.uniform(-6, 6, 4001))
    for y in (-1.0, 1.0) if loss.classes else (-1.0, -0.3, 0.0, 0.77, 1.0):
        target = np.full(f.size, y)
        jet = loss.jet(f, target)
        step = 1e-6
        ahead, behind = loss.jet(f + step, target), loss.jet(f - step, target)
        assert np.allclose((ahead.value - behind.value) / (2 * step), jet.slope, atol=1e-7)
        kink = np.abs(np.abs(f - y) - getattr(loss, "threshold", 99)) < 3 * step
        bend = (ahead.slope - behind.slope) / (2 * step)
        assert np.allclose(bend[~kink], jet.curve[~kink], atol=2e-4 * (1 + loss.curvature))
        assert np.all(np.diff(jet.slope) >= -1e-12)  # convex
        assert jet.curve.max() <= loss.curvature * (1 + 1e-12)
        low, high = loss.slopes
        signed = y * jet.slope if loss.classes else jet.slope
        assert low - 1e-12 <= signed.min()
        assert signed.max() <= high + 1e-12
        assert loss.jet(np.zeros(1), np.array([y])).value[0] <= loss.at_zero * (1 + 1e-12)
    assert loss_from_dict(json.loads(json.dumps(loss.to_dict()))) == loss


def test_losses_tend_to_those_of_the_textbook():
    f, one = np.linspace(-3, 3, 601), np.ones(601)
    assert np.allclose(Hinge(0.001).jet(f, one).value, np.maximum(0, 1 - f), atol=1e-3)
    tube = np.maximum(0, np.abs(f - 1) - 0.2)
    assert np.allclose(Insensitive(0.2, 0.001).jet(f, one).value, tube, atol=2e-3)
    pinball = np.where(f < 1, 0.8 * (1 - f), 0.2 * (f - 1))
    assert np.allclose(Pinball(0.8, 0.001).jet(f, one).value, pinball, atol=1e-3)
    assert np.allclose(Huber(0.5).jet(f, one).slope, np.clip(f - 1, -0.5, 0.5))
    assert math.isclose(Squared().steepness(penalty=16.0, kappa=2.0), 2 * (1 + 2 / 4))
    assert Squared().steepness(penalty=0.04, kappa=2.0) == 4  # by the residuals that there can be
    r = np.linspace(-2, 2, 401)
    assert np.allclose(Squared().jet(r, np.zeros(401)).value, r**2)  # no target in [-1, 1] is farther
    assert set(LOSSES) == {"logistic", "hinge", "huber", "epsilon-insensitive", "pinball", "squared"}


MADE = [
    LandmarkMap.spanning(0.5, "gaussian", np.full(2, 0.2), 49),
    LandmarkMap.spanning(0.0, "matern32", np.full(5, 0.9), np.random.default_rng(1).random((40, 5))),
    TensorMap.spanning(0.0, "gaussian", np.full(2, 0.15), 200),
    TensorMap.spanning(1.0, "matern52", np.array([0.2, 0.3, 0.2]), 80),
    TensorMap.spanning(0.0, "exponential", np.full(1, 0.3), 20, level=True),
    RandomFeatures.spanning(0.0, "gaussian", np.full(10, 0.8), 128),
    RandomFeatures.spanning(0.3, "matern52", np.full(4, 0.8), 64),
    Linear(0.316, 7),
    Taylor(0.0, np.full(6, 0.7), 2),
]


@pytest.mark.parametrize("features", MADE, ids=lambda m: f"{m.name}-{m.dimension}")
def test_features_stay_within_kappa_and_survive_a_file(features, rng):
    corners = rng.integers(0, 2, (200, features.dimension)).astype(float)
    x = np.concatenate([rng.random((400, features.dimension)), corners])
    phi = features.features(x)
    assert phi.shape == (600, features.size)
    assert np.linalg.norm(phi, axis=1).max() <= features.kappa
    again = map_from_dict(json.loads(json.dumps(features.to_dict())))
    assert np.array_equal(again.features(x), phi)
    assert again.words == features.words
    assert {type(one).name for one in MADE} == set(MAPS)  # all kinds are tried


def test_features_are_their_kernels(rng):
    """phi(x)'phi(y) against K(x, y): all of it, or its average over frequencies."""
    x = rng.random((60, 2))
    kernel = KERNELS["gaussian"](((0.09, 0.0), (0.0, 0.09)))(x, x)
    for made, close in (
        (TensorMap.spanning(0.0, "gaussian", np.full(2, 0.3), 400), 0.15),
        (LandmarkMap.spanning(0.0, "gaussian", np.full(2, 0.3), 144), 1e-3),
        (RandomFeatures.spanning(0.0, "gaussian", np.full(2, 0.3), 4000), 0.12),
    ):
        phi = made.features(x)
        assert np.abs(phi @ phi.T - kernel).max() < close
    wide = KERNELS["gaussian"](((0.25, 0.0), (0.0, 0.25)))(x, x)
    phi = Taylor(0.0, np.full(2, 0.5), 8).features(x)
    assert np.abs(phi @ phi.T - wide).max() < 1e-3
    rough = RandomFeatures.spanning(0.0, "exponential", np.full(2, 0.3), 4000).features(x)
    exact = KERNELS["exponential"](((0.09, 0.0), (0.0, 0.09)))(x, x)
    assert np.abs(rough @ rough.T - exact).max() < 0.12


def test_nesterov_arrives_in_the_public_number_of_passes(rng, monkeypatch):
    """With no Newton step at all the aim is met, after no more passes than were promised."""
    x = rng.random((300, 2))
    y = (x[:, 0] > 0.4).astype(int)
    summary = summary_of(x, y, Hinge(0.5), 0.02)
    risk, passes = summary.risk, []
    aims = np.array([summary.bounds.aim(m) for m in summary.bounds.machines])
    most = solver.most_passes(risk, aims)
    sweep = solver.Risk.sweep
    monkeypatch.setattr(solver.Risk, "sweep", lambda *a, **k: (passes.append(1), sweep(*a, **k))[1])
    monkeypatch.setattr(solver, "_NEWTON", 0)
    slow = solver.minimise(risk, aims)
    assert sweep(risk, slow, curve=False).norms[0] <= aims[0]
    assert 4 < len(passes) <= most
    monkeypatch.undo()
    passes.clear()
    quick = solver.minimise(risk, aims)
    assert np.linalg.norm(slow - quick) <= 2 * summary.bounds.left(summary.bounds.machines[0]) / 0.02


@pytest.mark.parametrize("kind", ["one class", "constant", "missing", "huge", "same row"])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_no_data_make_the_solver_fail(kind, loss, rng):
    x, y = rng.random((500, 3)), rng.integers(0, 2, 500).astype(float)
    if kind == "one class":
        y[:] = 1
    elif kind == "constant":
        x[:] = 0.5
    elif kind == "missing":
        x[:], y[::2] = np.nan, 7
    elif kind == "huge":
        x *= 1e300
    else:
        x[:], y[:] = x[0], 0
    for method in ("objective", "output"):
        made = mercer.classifier(
            x, y, classes=(0, 1), bounds=(0, 1), epsilon=1, delta=1e-6, loss=loss, method=method, rng=0
        )
        assert np.all(np.isfinite(made(np.clip(np.nan_to_num(x[:5]), 0, 1))))


def test_memory_does_not_grow_with_rows(tmp_path, monkeypatch):
    """Features of large data are made anew in each pass: pieces, not rows, are kept."""
    import tracemalloc

    import pyarrow as pa
    import pyarrow.parquet as pq

    monkeypatch.setattr(solver, "_KEPT", 1 << 20)
    rng, peaks = np.random.default_rng(0), []
    for n in (400_000, 800_000):  # pieces enough that as many are under way in both
        x = rng.random((n, 2))
        table = pa.table({"a": x[:, 0], "b": x[:, 1], "y": (x[:, 0] > 0.5).astype(int)})
        pq.write_table(table, tmp_path / "rows.parquet", row_group_size=8192)
        del x, table
        tracemalloc.start()
        made = mercer.classifier(
            tmp_path / "rows.parquet",
            "y",
            classes=(0, 1),
            bounds=[(0, 1)] * 2,
            epsilon=1,
            delta=1e-6,
            features="random",
            size=64,
            rng=0,
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert made.domain.names == ("a", "b")
    assert peaks[1] < 1.5 * peaks[0] < 100e6  # with twice the rows


class Silent(Seeded):
    """No noise at all."""

    def discrete_gaussian(self, scale, size):  # noqa: ARG002
        return [0] * size


def test_pieces_are_the_same_however_the_source_is_cut(rng):
    """Small batches do not make small pieces: sums have as many terms as the proof counts."""
    import pyarrow as pa

    from mercer.sensitive.summaries.risk import PIECE

    x = rng.random((3 * PIECE + 17, 1))
    y = (x[:, 0] > 0.5).astype(int)
    small = pa.Table.from_batches(pa.table({"x": x[:, 0], "y": y}).to_batches(max_chunksize=100))
    whole = summary_of(x, y, Hinge(), 0.1)
    rows = open_rows(small, columns=["x"], unit=None, dimension=1, labels=Labels("y", Classes((0, 1))))
    cut = Examples(rows, Box.of((0, 1), ("x",)))
    for examples in (whole._examples, cut):
        examples.on(Linear(1.0, 1))
        assert list(examples.fold(lambda piece: len(piece.phi))) == [PIECE] * 3 + [17]
        assert list(examples.fold(lambda piece: len(piece.phi), 8)) == [PIECE // 8] * 3 + [3]
    first, second = (s.fold(lambda piece: piece.phi.sum()) for s in (whole._examples, cut))
    assert list(first) == list(second)


def test_one_odd_answer_is_missing_and_no_error(rng):
    """M18: neither a number beyond all doubles nor any other cell decides about an exception."""
    x, y = rng.random(50), [0, 1] * 25
    options = {"classes": (0, 1), "bounds": (0, 1), "epsilon": 1, "rng": 0}
    wanted = mercer.classifier(x, [None, *y[1:]], **options)
    for odd in (10**400, "a", float("nan"), [1, 2], object(), -(10**30), b"x"):
        made = mercer.classifier(x, [odd, *y[1:]], **options)
        assert np.array_equal(made.coordinates, wanted.coordinates)


def test_candidates_need_places_that_no_record_moves(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x,y\n" + "0.5,1\n" * 50)
    with pytest.raises(ValueError, match="damaged line"):
        mercer.classifier(path, "y", classes=(0, 1), bounds=(0, 1), epsilon=1, penalty=[0.1, 1.0])


def test_a_band_covers_the_machine_without_noise(rng):
    """Output: exact coverage by the normal law.  Objective: the bound covers at least as often."""
    x = rng.random(400)
    y = np.sin(6 * x) / 2
    options = {"bounds": (0, 1), "y_bounds": (-1, 1), "delta": 1e-5, "penalty": 0.05, "bandwidth": 0.2}
    plain = mercer.regression(x, y, epsilon=1, method="output", **options, rng=Silent(0))
    grid, runs = np.linspace(0, 1, 50), 80
    truth, at_point, everywhere = plain(grid, raw=True), 0, {"output": 0, "objective": 0}
    for method in everywhere:
        width = None
        for _ in range(runs):
            made = mercer.regression(x, y, epsilon=1, method=method, **options, rng=rng)
            if width is None:  # the same for all runs: public
                ends = made.band(grid, 0.9)
                width = made._field().everywhere(0.9)
                half = np.clip(width * made.standard_error(grid), 0, None)
                assert np.allclose(ends.upper, np.clip(made(grid, raw=True) + half, -1, 1))
            off = np.abs(made(grid, raw=True) - truth) / made.standard_error(grid)
            everywhere[method] += bool(off.max() <= width)
            at_point += bool(method == "output" and off[15] <= 1.6448536269514722)
    from scipy.stats import binom

    assert binom.cdf(at_point, runs, 0.9) > ALPHA / 2
    assert binom.sf(at_point - 1, runs, 0.9) > ALPHA / 2
    assert binom.cdf(everywhere["output"], runs, 0.9) > ALPHA
    assert binom.cdf(everywhere["objective"], runs, 0.9) > ALPHA


def test_quantiles_never_cross_and_share_the_budget(rng):
    x = rng.random(3000)
    y = x + rng.standard_normal(3000) / 4
    made = mercer.regression(
        x,
        y,
        bounds=(0, 1),
        y_bounds=(-1, 2),
        epsilon=0.5,
        delta=1e-6,
        loss="pinball",
        quantiles=(0.9, 0.1, 0.5),
        rng=rng,
    )
    grid = np.linspace(0, 1, 200)
    value = made(grid)
    assert value.shape == (200, 3)
    assert np.all(np.diff(value, axis=1) >= 0)
    assert made.levels == (0.1, 0.5, 0.9)
    assert np.all((value >= -1) & (value <= 2))
    one = mercer.regression(
        x,
        y,
        bounds=(0, 1),
        y_bounds=(-1, 2),
        epsilon=0.5,
        delta=1e-6,
        loss="pinball",
        penalty=made.penalty,
        rng=rng,
    )
    assert made.noise.scale > 1.5 * one.noise.scale  # three share what one has alone


def test_frames_are_matched_by_name(rng):
    import pandas as pd
    import polars as pl

    frame = pd.DataFrame({"a": rng.random(400), "b": rng.random(400), "y": 0})
    frame["y"] = (frame["a"] > 0.5).astype(int)
    made = mercer.classifier(frame, "y", columns=["a", "b"], classes=(0, 1), bounds=(0, 1), epsilon=1, rng=0)
    wanted = made(frame[["a", "b"]].to_numpy())
    assert np.array_equal(made(frame[["b", "a"]]), wanted)
    assert np.array_equal(made(pl.from_pandas(frame)), wanted)  # further columns do no harm
    assert np.array_equal(made.predict(frame), made.predict(frame[["a", "b"]].to_numpy()))
    with pytest.raises(ValueError, match="x must have the columns a, b"):
        made(frame[["a", "y"]])


def test_several_classes_learn_one_function_each(rng):
    x = rng.random((4000, 2))
    y = np.array(["low", "middle", "high"])[np.digitize(x.sum(1), [0.7, 1.3])]
    made = mercer.classifier(
        x,
        y,
        classes=("low", "middle", "high"),
        bounds=(0, 1),
        epsilon=2,
        delta=1e-6,
        loss="logistic",
        rng=rng,
    )
    assert np.mean(made.predict(x) == y) > 0.8
    chance = made.probability(x[:10])
    assert chance.shape == (10, 3)
    assert np.allclose(chance.sum(1), 1)
    assert made(x[0]).shape == (3,)
    default = mercer.classifier(
        x, y, classes=("low", "middle", "high"), bounds=(0, 1), epsilon=2, delta=1e-6, rng=rng
    )
    chance = default.probability(x)
    assert np.allclose(chance.sum(1), 1)
    assert np.array_equal(chance.argmax(1), default(x).argmax(1))  # the class that is predicted


@pytest.mark.parametrize("loss", [Hinge(), Hinge(0.05), Hinge(1.0), Logistic()], ids=str)
def test_probabilities_are_the_exact_link_of_the_loss(loss):
    """The function f that is best where a share p of the rows is of the class has probability p (M21)."""
    ends = [loss.jet(np.linspace(-6, 6, 120_001), np.full(120_001, y)).value for y in (1.0, -1.0)]
    f = np.linspace(-6, 6, 120_001)
    for p in (0.02, 0.2, 0.5, 0.7, 0.95):
        best = f[np.argmin(p * ends[0] + (1 - p) * ends[1])]
        slack = 1e-4 / getattr(loss, "width", 1.0)  # the grid's step, where the link is steepest
        assert math.isclose(loss.probability(best, penalty=0.0), p, abs_tol=slack)
    every = loss.probability(np.array([-1e9, -3.0, 0.0, 3.0, 1e9]), penalty=0.01)
    assert np.all(np.diff(every) >= 0)
    assert every[[0, 2, 4]].tolist() == [0, 0.5, 1]
    with pytest.raises(ValueError, match="responses, which have no probability"):
        Huber().probability(f, penalty=0.1)


def test_probabilities_undo_a_part_of_the_penalty():
    """A public factor between 1 and 1.75, which leaves the class as it is."""
    assert [sharpness(v) for v in (0.0, 1e-6, 3e-4, 3e-3, 0.1)] == [1, 1, 1, 1.5, 1.75]
    f = np.linspace(-2, 2, 9)
    assert np.array_equal(Hinge().probability(f, penalty=3e-3), Hinge().probability(1.5 * f, penalty=0.0))
    assert np.array_equal(Logistic().probability(f, penalty=3e-3), Logistic().probability(f, penalty=0.0))


def test_hubers_threshold_grows_with_the_rows_to_the_whole_range(rng):
    """A skewed response: little data have the middle, much data the mean, and the release says which."""
    sizes = [threshold_rule(n=n, epsilon=1.0) for n in (100, 1000, 4000, 10**5, 10**6)]
    assert np.allclose(sizes, [0.3, 0.3, 0.6, 2, 2])
    assert threshold_rule(n=1000, epsilon=4.0) == threshold_rule(n=4000, epsilon=1.0)
    x = rng.random(4000)
    y = (rng.random(4000) < 0.1) * 1.0  # the mean is 0.1, the median 0
    options = {"bounds": (0, 1), "y_bounds": (0, 1), "delta": 1e-6, "rng": rng}
    few, whole, squared = (
        mercer.regression(x, y, **options, **more)
        for more in ({"epsilon": 1.0}, {"epsilon": 12.0}, {"epsilon": 12.0, "loss": "squared"})
    )
    assert few.losses[0].threshold == 0.3 * 2
    assert few.losses[0].estimates == "between the mean and the median"
    assert whole.losses[0].estimates == squared.losses[0].estimates == "the mean"
    at = np.linspace(0.2, 0.8, 7)
    # the release's noise is .005 at most here, the mean of 4000 rows is off by .015 once in 1e3
    for release in (whole, squared):
        assert np.abs(release(at).mean() - y.mean()) < 0.03
    assert (whole.method, squared.method) == ("objective", "moments")
    given = mercer.regression(x, y, **options, epsilon=1.0, threshold=1.0)
    assert given.losses[0].threshold == 2.0


def test_squared_loss_is_least_squares(rng):
    """With next to no noise: the ridge regression on the same features, for objective and output."""
    x = rng.random(3000)
    y = np.where(rng.random(3000) < 0.3 + 0.4 * x, 1.0, 0.0)
    for method in ("objective", "output"):
        made = mercer.regression(
            x,
            y,
            bounds=(0, 1),
            y_bounds=(0, 1),
            epsilon=1e6,
            insist=True,
            loss="squared",
            method=method,
            penalty=0.01,
        )
        phi = made.features.features(x[:, None])
        ridge = np.linalg.solve(phi.T @ phi / 3000 + 0.01 * np.eye(phi.shape[1]), phi.T @ (2 * y - 1) / 3000)
        grid = np.linspace(0, 1, 21)
        fit = made.features.features(grid[:, None]) @ ridge / 2 + 0.5
        assert np.abs(made(grid) - fit).max() < 2e-3


def test_files_give_the_same_values_and_damage_is_named(tmp_path, rng):
    x = rng.random((500, 2))
    made = mercer.classifier(
        x,
        x[:, 0] > 0.5,
        classes=(False, True),
        bounds=(0, 1),
        epsilon=1,
        delta=1e-6,
        method="output",
        rng=rng,
    )
    path = made.save(tmp_path / "machine.json")
    again = mercer.load(path)
    assert np.array_equal(again(x), made(x))
    assert again.predict(x).tolist() == made.predict(x).tolist()
    assert again.privacy == made.privacy
    assert again.shrunk().weights.tolist() == made.shrunk().weights.tolist()
    text = json.loads(path.read_text())
    schema = json.loads((files("mercer.releases") / "release.schema.json").read_text())
    jsonschema.validate(text, schema)
    quantiles = mercer.regression(
        x, x[:, 1], bounds=(0, 1), y_bounds=(0, 1), epsilon=1, loss="pinball", quantiles=(0.2, 0.8), rng=rng
    )
    jsonschema.validate(json.loads(quantiles.save(tmp_path / "q.json").read_text()), schema)
    for features in MADE:
        jsonschema.validate({**text, "features": features.to_dict()}, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**text, "machine": {}}, schema)
    steps = made.coordinates / made.noise.step
    assert np.array_equal(steps, np.rint(steps))  # on the lattice, to the last bit
    for key, value, message in (
        ("classes", ["a"], "one function"),
        ("losses", [{"name": "huber", "threshold": 1.0}], "losses"),
        ("losses", [{"name": "pickle"}], "unknown loss"),
        ("features", {"name": "os.system", "constant": 0}, "unknown features"),
        ("coordinates", [1.0], "coordinates"),
        ("machine", {**text["machine"], "method": "magic"}, "method"),
    ):
        path.write_text(json.dumps({**text, key: value}))
        with pytest.raises(ValueError, match=message):
            mercer.load(path)


def test_shrinkage_is_james_and_steins(rng):
    """Less squared error than the noisy weights, at the origin by far, and never a sign turned."""
    sd, size, runs = 0.5, 24, 2000
    for truth in (np.zeros(size), np.linspace(1, 0, size)):
        noisy = truth + sd * rng.standard_normal((runs, size))
        factors = np.stack([shrinkage(row, (3, 6, 12, 3), sd) for row in noisy])
        assert np.all((factors >= 0) & (factors <= 1))
        gain = np.sum((noisy - truth) ** 2, 1) - np.sum((factors * noisy - truth) ** 2, 1)
        # mean gain is positive by 5 standard errors and more
        assert gain.mean() > 5 * gain.std() / math.sqrt(runs)
    x = rng.random(200)
    inner = mercer.regression(x, x, bounds=(0, 1), y_bounds=(0, 1), epsilon=1, delta=1e-6, rng=0)
    with pytest.raises(ValueError, match="method='output'"):
        inner.shrunk()


def test_rules_are_public_and_move_as_they_should():
    assert feature_rule(n=1000, epsilon=1, dimension=2, pure=False)[0] == "eigenfunctions"
    assert feature_rule(n=1000, epsilon=1, dimension=10, pure=False) == ("random", 256)
    kind, few = feature_rule(n=1000, epsilon=1, dimension=2, pure=True)
    assert (kind, few) == ("eigenfunctions", 21)
    assert feature_rule(n=10**6, epsilon=1, dimension=2, pure=True)[1] == 28  # and never more
    floors = {(1.0, False): 0.07, (0.5, False): 0.07, (4.0, False): 0.0175, (4.0, True): 0.1}
    for (epsilon, pure), c in floors.items():
        ruled = bandwidth_rule(n=10**9, epsilon=epsilon, dimension=2, pure=pure)
        assert math.isclose(ruled, c * math.sqrt(2))
    assert feature_rule(n=1000, epsilon=1, dimension=30, pure=True) == ("taylor", 31)
    assert feature_rule(n=10**6, epsilon=1, dimension=5, pure=True) == ("taylor", 21)
    widths = [bandwidth_rule(n=n, epsilon=1, dimension=2, pure=False) for n in (10, 10**3, 10**5)]
    assert widths == sorted(widths, reverse=True)
    rule = {"multiplier": 4.0, "kappa": 1.0, "epsilon": 1.0, "pure": False, "inside": True}
    penalties = [machine_penalty(Hinge(), n=n, **rule) for n in (100, 1000, 10_000)]
    assert np.allclose(penalties, [0.04, 0.004, 0.0002])


@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_rules_penalty_can_be_solved(moves, delta):
    """Nobody meets a refusal by default: with public numbers alone, for all losses and sizes."""
    losses = [Hinge(), Logistic(), Huber(), Pinball(0.9), Insensitive(), Squared()]
    for loss in losses:
        for n, d in itertools.product((20, 10**3, 10**5, 10**6), (1, 2, 5, 30)):
            recipe = MachineRecipe.of(
                [(loss, 1 if loss.classes else None)],
                kernel="gaussian",
                bandwidth=None,
                features=None,
                size=None,
                points=None,
                constant=None,
                method=None,
                penalty="rule",
                pure=delta == 0,
                unit=None,
            )
            domain = Box.of([(0, 1)] * d, [f"x{i}" for i in range(d)], most=99)
            promise = {"epsilon": 1.0, "delta": delta}
            features = recipe.map(domain, n=n, epsilon=1.0)
            (penalty,) = recipe.candidates(features, n=n, promise=promise)
            raised = 33.0 if moves and n == 10**6 else 1.0
            bounds = recipe.bounds(features, [penalty * raised], n, promise, moves=moves, persons=False)
            assert recipe.sound(bounds, promise), (loss, n, d)


class Watched(Seeded):
    """Counts what is drawn."""

    def __init__(self):
        super().__init__(0)
        self.drawn = 0

    def discrete_gaussian(self, scale, size):
        self.drawn += size
        return super().discrete_gaussian(scale, size)


@pytest.mark.filterwarnings("ignore::mercer.common.checks.FindingWarning")  # of what came out
def test_a_penalty_that_is_too_small_is_known_before_anything_is_spent(tmp_path):
    x = np.linspace(0, 1, 500)
    book = mercer.Ledger.create(tmp_path / "book.db")
    book.register("study", epsilon=1, delta=1e-5)
    options = {"classes": (False, True), "bounds": (0, 1), "epsilon": 0.5, "delta": 1e-6}
    source = Watched()
    with pytest.raises(ValueError, match=r"use a penalty of 0\.\d+ or more"):
        mercer.classifier(x, x > 0.5, **options, penalty=1e-5, ledger=book, dataset="study")
    with (
        pytest.warns(mercer.PrivacyWarning, match="records are few|would do"),
        pytest.raises(ValueError, match="double precision cannot solve"),
    ):
        mercer.classifier(x, x > 0.5, **options, penalty=1e-17, method="output", rng=source)
    assert source.drawn == 0
    assert book.history("study") == []
    with pytest.warns(mercer.PrivacyWarning, match=r"a penalty of \d.* would do"):
        mercer.classifier(x, x > 0.5, **options, penalty=1e-3, method="output", rng=0)


@pytest.mark.filterwarnings("ignore::mercer.common.checks.PrivacyWarning")
@pytest.mark.parametrize("method", ["objective", "output"])
@pytest.mark.parametrize("delta", [None, 1e-5])
def test_replay_of_the_public_functions(method, delta, rng):
    rows = rng.random((40, 2))
    y = (rows[:, 0] > 0.5).astype(float)
    table = np.column_stack([rows, y])
    others = [table.copy() for _ in range(3)]
    others[0][5] = [0.9, 0.1, 1 - y[5]]
    others[1][5] = [np.nan, 0.1, 1]
    others[2][5] = [0.5, 0.5, 9]

    def classify(data, rng):
        return mercer.classifier(
            data[:, :2],
            data[:, 2],
            classes=(0, 1),
            bounds=(0, 1),
            epsilon=1,
            delta=delta,
            method=method,
            penalty=0.5,
            size=6,
            rng=rng,
        )

    def regress(data, rng):
        return mercer.regression(
            data[:, :1],
            data[:, 1],
            y_bounds=(0, 1),
            bounds=(0, 1),
            epsilon=1,
            delta=delta,
            method=method,
            penalty=[0.5, 1.0],
            size=6,
            rng=rng,
        )

    for function, other in ((classify, others[0]), (classify, others[1]), (regress, others[2])):
        found = mercer.replay(function, (table, other))
        assert found.kept, str(found)


@pytest.mark.filterwarnings("ignore::mercer.common.checks.PrivacyWarning")
@pytest.mark.parametrize("delta", [None, 1e-5])
def test_replay_of_persons_and_of_several_functions(delta, rng, monkeypatch):
    """A person with one row more or many: neither noise nor bound may follow the number of rows."""
    import pandas as pd

    who = np.repeat(np.arange(30), 2)
    frame = pd.DataFrame({"x": rng.random(60), "y": rng.integers(0, 3, 60), "who": who})
    more = pd.DataFrame({"x": rng.random(40), "y": 2, "who": 0})
    other = pd.concat([frame[frame["who"] > 0], more], ignore_index=True)

    def persons(data, rng):
        return mercer.classifier(
            data,
            "y",
            columns=["x"],
            classes=(0, 1, 2),
            bounds=(0, 1),
            epsilon=1,
            delta=delta,
            unit="who",
            penalty=0.5,
            size=5,
            rng=rng,
        )

    monkeypatch.setattr(machine, "_ROUNDOFF", 1e-12)  # a bound on rounding that can be seen
    monkeypatch.setattr(machine, "PIECE", 1)
    found = mercer.replay(persons, (frame, other))
    monkeypatch.undo()
    assert found.same_noise, str(found)
    assert all(change.within for change in found.changes), str(found)

    def several(data, rng, method):
        return mercer.regression(
            data[["x"]],
            data["y"],
            y_bounds=(0, 2),
            bounds=(0, 1),
            epsilon=1,
            delta=delta,
            loss="pinball",
            quantiles=(0.1, 0.5, 0.9),
            method=method,
            penalty=0.5,
            size=5,
            rng=rng,
        )

    changed = frame.copy()
    changed.loc[7, ["x", "y"]] = [0.01, 0]
    for method in ("output", "objective"):
        found = mercer.replay(lambda data, rng, m=method: several(data, rng, m), (frame, changed))
        assert found.kept, str(found)


def test_a_live_store_keeps_a_machine(tmp_path, rng):
    x = rng.random((800, 2))
    made = mercer.classifier(
        x,
        np.where(x[:, 0] > 0.5, "yes", "no"),
        classes=("no", "yes"),
        bounds=(0, 1),
        epsilon=1,
        delta=1e-6,
        rng=0,
    )
    place = tmp_path / "machine.db"
    with mercer.live(made, store=place) as live:
        first = live.ask(x[:20])
        assert live.kind == "classifier"
        assert not live.sensitive
    with mercer.open_live(place) as again:
        assert np.array_equal(again.ask(x[:20]), first)
        assert again.predict(x[:20]).tolist() == made.predict(x[:20]).tolist()
        assert np.all(again.band(x[:20]).lower < first)
    with pytest.raises(ValueError, match="public already"):
        mercer.live(made, epsilon=1, store=tmp_path / "other.db")
