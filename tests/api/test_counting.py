"""One count or proportion."""

import json

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.columns.conditions import Closed, Open

SURE = 1e6
ROWS = pd.DataFrame(
    {
        "age": [20, 40, 60, 80, None, 65],
        "sex": ["f", "m", "f", "f", "f", None],
        "ok": [True, False, True, None, True, True],
        "day": ["2020-01-05", "2020-02-01", "x", "2020-01-31", "2021-01-01", "2020-01-01"],
        "who": ["a", "a", "b", "b", "c", "c"],
    }
)


@pytest.mark.parametrize(
    ("where", "true"),
    [
        ({"age": (60, None)}, 3),
        ({"age": (60, 80), "sex": "f"}, 1),  # 60 <= age < 80
        ({"age": range(60, 81), "sex": "f"}, 2),  # of integers both ends count
        ({"age": (60, 60)}, 1),
        ({"age": Closed(None, 40)}, 2),
        ({"age": Open(None, 40)}, 1),
        ({"day": Open("2020-01-01", "2020-01-31")}, 2),
        ({"age": 40}, 1),
        ({"age": [20, 40, 41]}, 2),
        ({"sex": ["f", "m"]}, 5),
        ({"ok": True}, 4),
        ({"ok": [True, False]}, 5),
        ({"day": ("2020-01-01", "2020-01-31")}, 3),
        ({"age": (None, None)}, 5),
    ],
)
def test_conditions(tmp_path, where, true):
    path = tmp_path / "rows.csv"
    ROWS.to_csv(path, index=False)
    for data in (ROWS, path, ROWS.to_dict("records")):
        assert mercer.count(data, where=where, epsilon=SURE, insist=True).count == true


def test_truths_and_proportions():
    values = [True, False, True, None]
    assert mercer.count(values, epsilon=SURE, insist=True).count == 2
    share = mercer.proportion(values, epsilon=SURE, insist=True)
    assert share.value == share.proportion == 0.5
    assert float(share) == 0.5
    assert share.count == 2
    assert int(mercer.count(np.array([True, False]), epsilon=SURE, insist=True)) == 1
    assert mercer.count(ROWS, columns="ok", epsilon=SURE, insist=True).count == 4
    with pytest.raises(TypeError, match="no whole number"):
        int(share)


def test_persons_with_any_such_row():
    assert mercer.count(ROWS, where={"age": (60, None)}, unit="who", epsilon=SURE, insist=True).count == 2
    share = mercer.proportion(ROWS, where={"sex": "f"}, unit="who", epsilon=SURE, insist=True)
    assert share.proportion == 1.0
    assert share.n == 3


def test_counts_already():
    rows = pd.DataFrame({"sex": ["f", "m"], "many": [30, 12]})
    assert mercer.count(rows, where={"sex": "f"}, counts="many", epsilon=SURE, insist=True).count == 30


def test_noise_intervals_and_files(tmp_path):
    release = mercer.count([True] * 500 + [False] * 500, epsilon=1)
    value, low, high, level = release.interval()
    assert low <= value <= high
    assert level == 0.95
    assert high - low <= 2 * release.noise.half_width(1, 0.95)
    assert release.noise.scale == pytest.approx(1.0)  # sensitivity one
    back = mercer.load(release.save(tmp_path / "c.json"))
    assert back.to_dict() == release.to_dict()
    assert "times the best possible" in str(release.accuracy)
    assert release.accuracy.ratio < 1.1
    gaussian = mercer.proportion([True] * 500, epsilon=1, delta=1e-6)
    assert gaussian.noise.scale == pytest.approx(4.22468, rel=1e-5)  # M1
    assert gaussian.value <= 1
    with pytest.raises(ValueError, match="level"):
        release.interval(2)


def test_optimal_mechanism(tmp_path):
    values = [True] * 6 + [False] * 4
    release = mercer.count(values, epsilon=0.5, mechanism="optimal")
    assert 0 <= release.raw <= 10
    assert release.accuracy.error == pytest.approx(release.noise.risk)
    back = mercer.load(release.save(tmp_path / "c.json"))
    assert back.interval() == release.interval()
    chosen = mercer.optimal_count(10, 0.5, loss="squared")
    assert mercer.count(values, epsilon=0.5, mechanism=chosen).noise is chosen
    assert mercer.count(values, epsilon=2, mechanism=chosen).privacy.epsilon == 0.5  # its own
    known = mercer.optimal_count(10, 0.5, prior=[0] * 9 + [1, 1])
    for other in (chosen, known, mercer.optimal_count(10, 0.5, loss="zero-one")):
        found = mercer.count(values, epsilon=0.5, mechanism=other).accuracy
        assert found.ratio >= 1  # in absolute error on the worst data, as the bound is
        assert found.each >= found.error >= release.accuracy.error * (1 - 1e-6)
    fields = json.loads((tmp_path / "c.json").read_text())
    for change in (
        {"raw": 11},
        {"raw": -1},
        {"noise": None},
        {"privacy": fields["privacy"] | {"epsilon": 0.1}},
    ):
        (tmp_path / "d.json").write_text(json.dumps(fields | change))
        with pytest.raises(ValueError, match="no answer|weaker promise alone|or epsilon"):
            mercer.load(tmp_path / "d.json")
    for given, words in (
        ({"mechanism": mercer.optimal_count(9, 0.5)}, "is for n = 9"),
        ({"mechanism": mercer.optimal_count(10, 0.6)}, "more than the 0.5"),
        ({"mechanism": "best"}, "mechanism must be"),
        ({"mechanism": "optimal", "delta": 1e-6}, "is pure"),
    ):
        with pytest.raises(ValueError, match=words):
            mercer.count(values, epsilon=0.5, **given)
    with pytest.raises(ValueError, match="at most 200 records"):
        mercer.count([True] * 300, epsilon=0.5, mechanism="optimal")


def test_errors():
    with pytest.raises(ValueError, match="where names its columns"):
        mercer.count(ROWS, where={"ok": True}, columns="ok", epsilon=1)
    with pytest.raises(ValueError, match="no column 'town'"):
        mercer.count(ROWS, where={"town": "x"}, epsilon=1)
    with pytest.raises(ValueError, match="everything would be noise"):
        mercer.count([True] * 5, epsilon=0.01)
    with pytest.raises(TypeError, match="where must be conditions"):
        mercer.count(ROWS, where=["age"], epsilon=1)
