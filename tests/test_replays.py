"""Replay: every release function, on worst, random and odd neighbours, with its noise frozen."""

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.replays import measure
from mercer.selection import cv_bandwidth, scott_bandwidth

N = 40


def pairs(rng):
    rest = rng.random(N - 1)
    yield np.append(rest, 0.0), np.append(rest, 1.0)
    yield np.append(rest, rng.random()), np.append(rest, rng.random())
    yield np.append(rest, 0.3), np.append(rest, np.nan)  # no value: zero, and the same path
    yield np.append(rest, 0.3), np.append(rest, 1e300)  # clipped
    yield np.append(np.zeros(N - 1), 0.0), np.append(np.zeros(N - 1), 1.0)


DENSITIES = {
    "pure": {},
    "periodic": {"boundary": "periodic"},
    "open": {"boundary": "open"},
    "given": {"bandwidth": 0.1},
    "l2": {"mechanism": "l2"},
    "laplace": {"mechanism": "laplace"},
    "gaussian": {"delta": 1e-6},
    "gaussian-moments": {"delta": 1e-6, "basis": "moments"},
    "matern": {"kernel": "matern32", "delta": 1e-6},
    "hermite": {"basis": "hermite", "size": 12},
    "wavelet": {"basis": "wavelet", "size": 16},
    "private-scott": {"bandwidth": "private-scott"},
    "private-cv": {"bandwidth": "private-cv"},
    "private-cv-gaussian": {"bandwidth": "private-cv", "delta": 1e-6},
}


@pytest.mark.parametrize("name", DENSITIES)
def test_densities(name, rng):
    def release(data, rng):
        return mercer.density(data, bounds=(0, 1), epsilon=1, rng=rng, **DENSITIES[name])

    for pair in pairs(rng):
        found = mercer.replay(release, pair)
        assert found.changes
        if name.startswith("private"):  # the noisy choice may differ, and all after it
            assert all(c.within for c in found.changes if c.norm == "score"), str(found)
            assert found.changes[0].what == "scores"
        else:
            assert found.kept, f"{name}: {found}"


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("delta", [None, 1e-6])
def test_several_columns(d, delta, rng):
    def release(data, rng):
        return mercer.density(data, bounds=[(0, 1)] * d, epsilon=1, delta=delta, rng=rng)

    rest = rng.random((N - 1, d))
    pair = np.vstack([rest, np.zeros(d)]), np.vstack([rest, np.ones(d)])
    assert mercer.replay(release, pair).kept


def test_persons(rng):
    base = pd.DataFrame({"x": rng.random(60), "who": np.repeat(np.arange(20), 3).astype(str)})
    other = base.copy()
    other.loc[other.who == "7", "x"] = [0.0, np.nan, 1.0]

    def release(data, rng):
        return mercer.density(data, columns="x", unit="who", bounds=(0, 1), epsilon=1, rng=rng)

    assert mercer.replay(release, (base, other)).kept
    rows = mercer.replay(
        lambda data, rng: mercer.density(data, columns="x", bounds=(0, 1), epsilon=1, rng=rng),
        (base, other),
    )
    assert not rows.kept  # planted: three rows are more than one row may move


@pytest.mark.parametrize(
    "release",
    [
        lambda data, rng: mercer.quantiles(data, [0.1, 0.5], bounds=(0, 1), epsilon=1, rng=rng),
        lambda data, rng: mercer.iqr(data, bounds=(0, 1), epsilon=1, rng=rng),
        lambda data, rng: mercer.iqr(
            data, bounds=(0, 1), epsilon=1, delta=1e-3, method="propose-test-release", rng=rng
        ),
        lambda data, rng: cv_bandwidth(data, bounds=(0, 1), epsilon=1, rng=rng),
        lambda data, rng: scott_bandwidth(data, bounds=(0, 1), epsilon=1, rng=rng),
        lambda data, rng: mercer.select_function(
            [lambda x: np.ones_like(x), lambda x: 2 * x], data, bounds=(0, 1), epsilon=1, rng=rng
        ),
    ],
    ids=["quantiles", "iqr", "tested-iqr", "cv", "scott", "select_function"],
)
def test_choices(release, rng):
    for pair in pairs(rng):
        found = mercer.replay(release, pair)
        assert found.changes
        assert all(c.within for c in found.changes), str(found)


def test_replay_sees_each_kind_of_fault(rng):
    rest = rng.random(N - 1)
    pair = np.append(rest, 0.2), np.append(rest, 0.9)

    def branch(data, rng):  # a parameter that follows the data: other draws
        size = 8 if data[-1] < 0.5 else 9
        return mercer.density(data, bounds=(0, 1), epsilon=1, basis="moments", size=size, rng=rng)

    def twice(data, rng):  # one release more for some data
        out = mercer.density(data, bounds=(0, 1), epsilon=1, rng=rng)
        return mercer.density(data, bounds=(0, 1), epsilon=1, rng=rng) if data[-1] > 0.5 else out

    for faulty in (branch, twice):
        found = mercer.replay(faulty, pair)
        assert not found.same_noise
        assert "DIFFERENT noise" in str(found)

    def dropped(data, rng):  # the number of complete rows is not public: another n, other scale
        return mercer.density(data, bounds=(0, 1), epsilon=1, missing="drop", rng=rng)

    assert not mercer.replay(dropped, (np.append(rest, 0.2), np.append(rest, np.nan))).kept


def test_changes_are_measured_in_their_norm(rng):
    a, b = rng.normal(size=5), rng.normal(size=5)
    assert measure(a, b, "l1") == pytest.approx(np.abs(a - b).sum())
    assert measure(a, b, "l2") == pytest.approx(np.linalg.norm(a - b))
    assert measure(a, b, "score") == pytest.approx(np.abs(a - b).max())
    j = np.arange(6)
    ends = np.cos(np.pi * j * 0.0), np.cos(np.pi * j * 1.0)
    assert measure(*ends, "cosines") == pytest.approx(1.0, rel=1e-6)  # one record each way
    assert measure(3 * ends[0], ends[0] + ends[1], "cosines") == pytest.approx(2.0, rel=1e-6)
    with pytest.raises(ValueError, match="cannot be measured"):
        measure(a, b, "body")
