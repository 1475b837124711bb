"""Columns whose values are counted: what is declared, what is refused, what is kept and shown."""

import json
from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import mercer
from mercer.releases.column.release import ColumnRelease
from tests.conftest import ALPHA

AGES = [34, 51, 42, 67, 29, 38, 55, 61, 47, 40] * 300


@pytest.fixture
def release():
    return mercer.density(AGES, bounds=(0, 100), step=1, epsilon=1)


@pytest.mark.parametrize(
    "given", [{"bounds": (0, 100), "step": 1}, {"bounds": range(0, 101)}, {"bounds": {"age": range(101)}}]
)
def test_one_column_declared_in_several_ways(given):
    frame = pd.DataFrame({"age": AGES, "bmi": 20.5})
    columns = None if isinstance(given["bounds"], dict) else "age"
    made = mercer.density(frame, columns=columns, epsilon=1, **given)
    assert isinstance(made, ColumnRelease)
    assert made.values.tolist() == list(range(101))
    assert made.domain.describe() == "age in [0, 100]"
    assert made.sample(5).dtype == np.int64


def test_what_stands_between_values_counts_for_the_nearest():
    made = mercer.density([0.12, 0.13, 0.37, 5.0] * 500, bounds=(0, 1), step=0.25, epsilon=8)
    assert made.values.tolist() == [0, 0.25, 0.5, 0.75, 1.0]
    assert made.shares == pytest.approx([0.25, 0.5, 0, 0, 0.25], abs=0.02)
    dropped = mercer.density(
        [0.12, 0.13, 0.37, 5.0] * 500, bounds=(0, 1), step=0.25, epsilon=8, outside="drop"
    )
    assert dropped.share_of_values == pytest.approx(0.75, abs=0.02)
    assert dropped.shares == pytest.approx([1 / 3, 2 / 3, 0, 0, 0], abs=0.02)


def test_dates_are_counted_by_days():
    days = [date(2024, 1, 1 + i % 20) for i in range(2000)]
    made = mercer.density(
        pd.DataFrame({"day": days}), bounds=("2024-01-01", "2024-01-31"), step=1, epsilon=2, columns="day"
    )
    assert len(made.values) == 31
    found = made.share("2024-01-01", "2024-01-10", 1 - 1e-9)  # misses once in 1e9 runs
    assert found.lower <= 0.5 <= found.upper
    assert float(made.cdf("2024-01-20")) == pytest.approx(1, abs=0.05)


def test_missing_records_are_a_value_of_their_own():
    made = mercer.density([*AGES, *[None] * 1000], bounds=(0, 100), step=1, epsilon=1)
    assert made.privacy.n == 4000
    assert made.share_of_values == pytest.approx(0.75, abs=0.05)
    assert made.share(0, 100).estimate == 1
    known = mercer.density([*AGES, *[None] * 1000], bounds=(0, 100), step=1, epsilon=1, missing="drop")
    assert known.privacy.n == 3000
    assert known.share_of_values == 1


def test_a_file_comes_back_to_the_last_bit(release, tmp_path):
    again = mercer.load(release.save(tmp_path / "age.json"))
    x = np.arange(101)
    assert np.array_equal(again(x), release(x))
    assert np.array_equal(again.quantile(x / 100), release.quantile(x / 100))
    assert again.share(20, 40) == release.share(20, 40)
    assert str(again.accuracy) == str(release.accuracy)


@pytest.mark.parametrize(
    ("field", "value"),
    [("step", 0.3), ("step", -1.0), ("levels", 9), ("nodes", [1, 2]), ("complete", True), ("step", 1e-9)],
)
def test_damaged_files_are_refused(release, tmp_path, field, value):
    fields = json.loads(release.save(tmp_path / "age.json").read_text())
    (tmp_path / "age.json").write_text(json.dumps({**fields, field: value}))
    with pytest.raises(ValueError, match="step|bounds|nodes|tree"):
        mercer.load(tmp_path / "age.json")


REFUSED = {
    "step does not|bounds must be a whole number of steps": {"bounds": (0, 100), "step": 0.3},
    "step must be": {"bounds": (0, 100), "step": 0},
    "at most 1048576 values": {"bounds": (0, 1e9), "step": 1},
    "rising range of two integers": {"bounds": range(5, 6)},
    "step must be that of the range": {"bounds": range(0, 100), "step": 2},
    "bandwidth does not go with step": {"bounds": (0, 100), "step": 1, "bandwidth": 3.0},
    "mechanism does not go with step": {"bounds": (0, 100), "step": 1, "mechanism": "l2"},
    "a day, for dates": {"bounds": ("2024-01-01", "2024-02-01"), "step": 2},
    "step is for one column": {"bounds": {"a": (0, 1), "b": (0, 1)}, "step": 1},
    "bounds is missing": {"step": 1},
}


@pytest.mark.parametrize("words", REFUSED)
def test_errors_come_before_any_charge(words, tmp_path):
    ledger = mercer.Ledger(tmp_path / "budget.db")
    ledger.register("d", epsilon=1)
    with pytest.raises(ValueError, match=words):
        mercer.density(AGES, epsilon=1, ledger=ledger, dataset="d", **REFUSED[words])
    assert ledger.remaining("d").epsilon == 1


def test_a_dry_run_says_what_the_release_will(tmp_path):
    ledger = mercer.Ledger(tmp_path / "budget.db")
    ledger.register("d", epsilon=1)
    given = {"bounds": (0, 100), "step": 1, "epsilon": 0.5}
    dry = mercer.density(AGES, **given, dry_run=True, ledger=ledger, dataset="d")
    assert ledger.remaining("d").epsilon == 1
    made = mercer.density(AGES, **given, ledger=ledger, dataset="d")
    assert f"{made.accuracy.mean:.2g}"[:3] in dry.expected
    assert dry.mechanism == made.privacy.mechanism


def test_the_accuracy_is_that_of_repeated_releases():
    """Root mean squares over 60 releases, within 40 %: chi-square's tails at 1e-9 are inside."""
    exact = np.cumsum(np.bincount(AGES, minlength=101)) / len(AGES)
    errors, means = [], []
    for _ in range(60):
        made = mercer.density(AGES, bounds=(0, 100), step=1, epsilon=0.5)
        errors.append(np.sqrt(np.mean((made.law.raw[1:-1] - exact[:-1]) ** 2)))
        raw = np.diff(made.law.raw) @ made.values
        means.append(raw - np.mean(AGES))
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(made.accuracy.cdf, rel=0.4)
    assert np.sqrt(np.mean(np.square(means))) == pytest.approx(made.accuracy.mean, rel=0.7)


def test_the_band_of_all_values_holds_together():
    """Of 101 values at once, at the level 1 - 1e-9: no release misses one."""
    exact = np.bincount(AGES, minlength=101) / len(AGES)
    x = np.arange(101)
    for _ in range(20):
        made = mercer.density(AGES, bounds=(0, 100), step=1, epsilon=1)
        band = made.band(x, 1 - ALPHA / 20)
        assert np.all((band.lower <= exact + 1e-12) & (exact <= band.upper + 1e-12))
    narrow = made.band(x, 0.5, simultaneous=False)
    assert np.all(narrow.upper <= band.upper)


def test_containers_give_the_same_counts():
    given = {"bounds": (0, 100), "step": 1, "epsilon": 1, "rng": 7}
    frame = pd.DataFrame({"x": AGES})
    nodes = [
        mercer.density(data, columns=columns, **given).nodes.tolist()
        for data, columns in (
            (AGES, None),
            (np.array(AGES), None),
            (frame, "x"),
            (pa.table({"x": AGES}), "x"),
        )
    ]
    assert all(found == nodes[0] for found in nodes)


@pytest.mark.parametrize(
    "call",
    [
        lambda bounds, **paid: mercer.live(AGES, bounds=bounds, epsilon=1, **paid),
        lambda bounds, **paid: mercer.live({"x": AGES}, bounds={"x": bounds}, epsilon=1, **paid),
        lambda bounds, **paid: mercer.PrivateKernelDensity(epsilon=1, bounds=bounds, **paid).fit(
            np.zeros((5, 1))
        ),
    ],
)
def test_ranges_are_refused_where_values_are_not_counted(call, tmp_path):
    ledger = mercer.Ledger(tmp_path / "budget.db")
    ledger.register("d", epsilon=1)
    with pytest.raises(ValueError, match="got a range of integers"):
        call(range(101), ledger=ledger, dataset="d")
    assert ledger.remaining("d").epsilon == 1
