"""A bound on curves that is chosen with budget."""

import numpy as np
import pandas as pd
import pytest

import mercer
from tests.conftest import ALPHA

T = np.linspace(0, 1, 30)
FLAT = np.linspace(0.5, 1.5, 4001)[:, None] * np.ones(30)  # root mean squares, one each


def test_it_is_the_quantile_it_should_be():
    """P(rank misses by m or more) <= candidates * exp(-epsilon m / 2), for every seed."""
    epsilon, n = 2.0, len(FLAT)
    found = mercer.curve_bound(FLAT, grid=T, most=50, epsilon=epsilon, share=0.9)
    assert found.levels == (0.9,)
    (bound,) = found.values
    missed = abs(np.mean(np.linspace(0.5, 1.5, n) <= bound) - 0.9) * n
    step = 0.024 * 1.5 * n  # the candidates' distance
    assert missed <= 2 / epsilon * np.log(601 / ALPHA) + step
    mercer.mean_curve(FLAT, grid=T, bound=bound, epsilon=1, delta=1e-6)
    assert found.privacy.delta == 0
    assert found.privacy.epsilon == epsilon
    assert found.privacy.n == n
    assert str(found).startswith("Quantiles of root mean square: 0.9: ")
    assert "norm" not in found.to_dict()["column"]


@pytest.mark.parametrize("most", [1.6, 1e3, 1e5])
def test_a_generous_most_costs_little(most):
    (bound,) = mercer.curve_bound(FLAT, grid=T, most=most, epsilon=2).values
    assert 1.3 < bound < 1.6 or bound == pytest.approx(1.6)


def test_around_a_center_it_is_smaller():
    options = {"grid": T, "most": 10, "epsilon": 2, "share": 0.9}
    (far,) = mercer.curve_bound(FLAT, **options).values
    (near,) = mercer.curve_bound(FLAT, center=np.ones(30), **options).values
    assert near < 0.6 < 1.2 < far


def test_curves_beyond_most_and_without_points_count():
    wild = np.vstack([np.full((1000, 30), 1e200), np.full((1000, 30), np.nan)])
    (bound,) = mercer.curve_bound(wild, grid=T, most=7, epsilon=2).values
    assert bound == 7
    (bound,) = mercer.curve_bound(wild[1000:], grid=T, most=7, epsilon=2).values
    assert bound < 1e-4


def test_persons_are_counted(rng):
    frame = pd.DataFrame(FLAT, columns=[f"h{i}" for i in range(30)])
    frame["who"] = np.arange(len(frame)) % 500
    found = mercer.curve_bound(frame, grid=T, columns="h*", unit="who", most=10, epsilon=2)
    assert (found.privacy.n, found.privacy.unit) == (500, "who")
    renamed = frame.rename(columns={"who": "root mean square"})
    found = mercer.curve_bound(renamed, grid=T, columns="h*", unit="root mean square", most=10, epsilon=2)
    assert found.privacy.unit == "root mean square"
    # one person with very many high curves moves it as little as anybody: here one of 500
    loud = pd.concat([frame, frame.iloc[[0] * 4000].assign(who=0, h0=9)])
    (bound,) = mercer.curve_bound(loud, grid=T, columns="h*", unit="who", most=10, epsilon=5).values
    assert bound < 2
    long = frame.iloc[:400].melt("who", value_name="height").assign(t=lambda f: f.variable.str[1:])
    long["t"] = long.t.astype(float)
    found = mercer.curve_bound(
        long, long=("who", "t", "height"), bounds=(0, 29), most=10, epsilon=2, unit="who"
    )
    assert found.privacy.n == 400


def test_it_is_charged(tmp_path):
    book = mercer.Ledger(tmp_path / "budgets.db")
    file = tmp_path / "curves.csv"
    pd.DataFrame(FLAT[:100]).add_prefix("h").to_csv(file, index=False)
    book.register("heights", epsilon=1, data=file)
    options = {"grid": T, "most": 10, "epsilon": 0.75}
    with pytest.raises(mercer.LedgerError, match="are counted in the ledger"):
        mercer.curve_bound(file, **options)
    charged = options | {"ledger": book, "dataset": "heights"}
    mercer.curve_bound(file, **charged)
    assert [charge.what for charge in book.history("heights")] == ["quantiles of root mean square"]
    with pytest.raises(mercer.BudgetExceeded):
        mercer.curve_bound(file, **charged)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"most": None}, "most is missing: give a public number"),
        ({"most": -1}, "most must be a finite number above 0"),
        ({"most": 1e200}, "most must be in"),
        ({"share": 0}, "share must be a finite number above 0"),
        ({"share": 1.2}, "share must be in"),
        ({"epsilon": None}, "epsilon is missing"),
        ({"grid": None}, "grid is missing"),
        ({"size": 2}, "size must be"),
        ({"center": np.ones(3)}, "center must be"),
    ],
)
def test_mistakes(change, message):
    with pytest.raises(ValueError, match=message):
        mercer.curve_bound(FLAT, **({"grid": T, "most": 10, "epsilon": 1} | change))


def test_a_seed_gives_the_same_bound():
    first, second = (mercer.curve_bound(FLAT, grid=T, most=10, epsilon=0.01, rng=5) for _ in range(2))
    assert first == second
    assert not first.privacy.secure
