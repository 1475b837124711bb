"""Accuracy of histograms before anything is spent: what is planned is what is released."""

import json
import math

import numpy as np
import pytest

import mercer
from mercer.noise.lower_bounds import histogram_bound, sparse_bound
from tests.helpers.shell import released, run

VALUES = [i % 10 for i in range(500)]


def masses(law, reach=4000):
    """P(noise = k) for k in -reach..reach."""
    tails = np.array([law.above(k) for k in range(-1, reach)])
    half = tails[:-1] - tails[1:]
    return np.concatenate([half[:0:-1], half])


def error_of(law, count, threshold):
    """Expected error of one cell, by the definition; None: all cells are released, none below 0."""
    chances = masses(law)
    k = np.arange(len(chances)) - len(chances) // 2
    assert chances.sum() == pytest.approx(1, abs=1e-9)
    noisy = count + k
    shown = np.maximum(noisy, 0) if threshold is None else np.where(noisy > threshold, noisy, 0)
    return float(np.sum(chances * np.abs(shown - count)))


@pytest.mark.parametrize("delta", [None, 1e-6])
@pytest.mark.parametrize("most", [1, 3])
def test_a_plan_is_what_is_released(delta, most):
    rows = [{"x": value, "who": i // most} for i, value in enumerate(VALUES)]
    persons = {"unit": "who", "rows_per_person": most} if most > 1 else {}
    promise = {"epsilon": 0.5, "delta": delta}
    n = len({row["who"] for row in rows}) if most > 1 else 500
    plan = mercer.histogram_plan(n, 10, **promise, rows_per_person=most)
    release = mercer.histogram(rows, columns="x", bins=range(10), **promise, **persons)
    assert plan.law == release.noise
    assert plan.deviation == release.noise.deviation
    assert plan.privacy_error == release.accuracy.error
    sparse = mercer.histogram(rows, columns="x", bins=range(10), sparse=True, **promise, **persons)
    assert plan.threshold == sparse.threshold
    if delta is None and most == 1:
        assert plan.best() == release.accuracy.best == histogram_bound(500, 10, 0.5)
        assert plan.best(3) == sparse_bound(500, 10, 3, 0.5)
    elif delta is not None:
        assert plan.best() is None


@pytest.mark.parametrize("delta", [None, 1e-5])
def test_errors_are_bounds_for_every_count(delta):
    """Exact expectations of single cells, so no false alarms; and a bound that is too small."""
    plan = mercer.histogram_plan(1000, 64, epsilon=1.0, delta=delta)
    counts = range(0, 4 * plan.threshold)
    dense = [error_of(plan.law, count, None) for count in counts]
    sparse = [error_of(plan.law, count, plan.threshold) for count in counts]
    for q in (0, 1, 7, 64):
        empty = 64 - q
        assert empty * dense[0] + q * max(dense) <= plan.dense_error(q) * (1 + 1e-9)
        assert empty * sparse[0] + q * max(sparse[1:]) <= plan.sparse_error(q)
    assert dense[0] == pytest.approx(plan.law.mean_error / 2)
    assert plan.privacy_error == pytest.approx(64 * plan.law.mean_error)
    assert max(sparse[1:]) > 0.5 * (plan.threshold + plan.law.mean_error)  # no idle bound
    assert 64 * sparse[0] > 0.1 * plan.sparse_error(0)
    assert plan.sparse_error(plan.worth) <= plan.dense_error(plan.worth)
    assert plan.sparse_error(plan.worth + 1) >= plan.dense_error(plan.worth + 1) * (1 - 1e-9)


def test_sparse_plans_know_the_thesis():
    """Proposition 2.4.3 has (2q + 1)/epsilon (ln p + 1) with Laplace noise: as large, within 10 %."""
    for epsilon in (0.01, 0.1, 1.0):
        plan = mercer.histogram_plan(20_000, 65_536, epsilon=epsilon)
        for q in (1, 100, 3000):
            thesis = (2 * q + 1) / epsilon * (math.log(65_536) + 1)
            assert plan.sparse_error(q) <= 1.1 * thesis + q
        assert plan.threshold == int(2 / epsilon * math.log(65_536) * (1 + 1e-12))
    known = mercer.histogram_plan(20_000, 65_536, epsilon=1.0, occupied=4096)
    assert known.threshold == int(2 * math.log(16))


def test_several_epsilons_and_huge_tables():
    plans = mercer.histogram_plan(100, 2**40, epsilon=[0.1, 1])
    assert [plan.epsilon for plan in plans] == [0.1, 1]
    assert all(plan.worth == 100 for plan in plans)
    assert plans[1].privacy_error > 1e12
    assert plans[0].share > 0.5 > plans[1].share


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"n": 0}, ValueError, "n must be in"),
        ({"cells": 0}, ValueError, "cells must be in"),
        ({"cells": 2.5}, TypeError, "cells must be a whole number"),
        ({"epsilon": None}, ValueError, "epsilon is missing"),
        ({"epsilon": []}, ValueError, "epsilon must be one number or more"),
        ({"epsilon": -1}, ValueError, "epsilon must be"),
        ({"delta": 2}, ValueError, "delta must be in"),
        ({"occupied": 11}, ValueError, "occupied must be in"),
        ({"rows_per_person": 0}, ValueError, "rows_per_person must be in"),
    ],
)
def test_bad_arguments(changes, kind, message):
    with pytest.raises(kind, match=message):
        mercer.histogram_plan(**{"n": 100, "cells": 10, "epsilon": 1} | changes)
    with pytest.raises(ValueError, match="occupied must be in"):
        mercer.histogram_plan(100, 10, epsilon=1).sparse_error(11)


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    call = ("plan", "histogram", "--n", 20_000, "--cells", 65_536, "--epsilon", "1e-5", 1)
    out = released(capsys, *call, "-o", "plan.png")
    assert "sparse, 200 held" in out
    assert "At epsilon = 1e-05 everything would be noise" in out
    assert "best: no pure release" in out
    assert (tmp_path / "plan.png").stat().st_size > 5000
    said = json.loads(released(capsys, *call, "--json"))["plans"][1]
    plan = mercer.histogram_plan(20_000, 65_536, epsilon=1)
    assert said == plan.to_dict() | {"sparse_error": {str(q): plan.sparse_error(q) for q in (200, 2000)}}
    out = released(capsys, *call[:-2], 1, "--delta", "1e-6", "--occupied", 50)
    assert "sparse, 50 held" in out
    assert "best" not in out
    for arguments, message in ((call[:2], "cells is missing"), (call[:6], "epsilon is missing")):
        code, _, err = run(capsys, *arguments, "--delta", "1e-6")
        assert code == 2
        assert message in err
