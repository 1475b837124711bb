"""Laws of the single columns: what they cost, and where landmarks go."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import mercer
from mercer.api.table_request import draw_laws
from mercer.door.publish import Purse
from mercer.noise.entropy import Seeded
from mercer.sensitive.data import open_records
from mercer.sensitive.summaries.tables import count_columns
from mercer.spaces.landmarks import ColumnLaws, bins_of, places_in, spread

ALPHA = 1e-9
DOMAIN = mercer.Domain(
    {"x": (-1, 3), "visits": range(0, 10), "age": range(0, 101), "ward": ["a", "b", "c"], "ill": bool}
)


def people(rng, n=4000):
    return pd.DataFrame(
        {
            "x": rng.normal(1, 0.3, n),
            "visits": rng.poisson(2, n).clip(0, 9),
            "age": rng.integers(20, 60, n),
            "ward": rng.choice(["a", "b", "c"], n, p=[0.7, 0.2, 0.1]),
            "ill": rng.random(n) < 0.2,
            "id": np.arange(n) // 4,
        }
    )


def counted(frame, unit=None):
    return count_columns(open_records(frame, domain=DOMAIN, unit=unit))


def test_bins_hold_all_codes():
    assert [bins_of(column) for column in DOMAIN.columns] == [32, 10, 32, 3, 2]
    x = DOMAIN.columns[0]
    assert places_in(x, np.array([-1.0, 3.0, 1.0, np.nan])).tolist() == [0, 31, 16, -1]
    assert places_in(DOMAIN.columns[3], np.array([0.0, 2.0, np.nan])).tolist() == [0, 2, -1]


def test_counts_are_those_of_numpy(rng):
    frame = people(rng)
    counts = counted(frame)
    assert counts.rows == 4000
    assert np.array_equal(counts.counts[1], np.bincount(frame["visits"], minlength=10))
    assert np.array_equal(counts.counts[0], np.histogram(np.clip(frame["x"], -1, 3), 32, (-1, 3))[0])
    frame.loc[0, "ward"] = "zz"
    assert counted(frame).counts[3].sum() == 3999


def test_one_record_or_person_moves_counts_by_no_more(rng):
    """2 for every column, reached; for persons in steps of 2^-15 of one."""
    frame = people(rng, 40)
    for unit, many in ((None, 1), ("id", 4)):
        other = frame.copy()
        other.loc[: many - 1, ["x", "visits", "age", "ward", "ill"]] = [9.0, 9, 100, "c", True]
        frame.loc[: many - 1, ["x", "visits", "age", "ward", "ill"]] = [-9.0, 0, 0, "a", False]
        one, two = counted(frame, unit), counted(other, unit)
        change = sum(np.abs(a - b).sum() for a, b in zip(one.counts, two.counts, strict=True))
        assert change == one.sensitivity("l1").value == 10 * (1 if unit is None else 1 << 15)


def test_noise_of_the_counts_has_its_law(rng):
    """Two-sided geometric: the exact variance, by its sum of squares over many counts."""
    counts = counted(people(rng))
    truth = np.concatenate(counts.counts)
    total, runs, epsilon = 0.0, 200, 0.5
    for _ in range(runs):
        shown = []

        class Watched(Seeded):
            def discrete_laplace(self, scale, size, shown=shown):
                draws = super().discrete_laplace(scale, size)
                shown.extend(draws)
                return draws

        draw_laws(counts, epsilon, Purse(Watched(rng)))
        total += float(np.mean(np.square(shown)))
    r = np.exp(-epsilon / 10)
    variance, fourth = 2 * r / (1 - r) ** 2, 24 / (1 - r) ** 4  # the fourth moment, at most
    slack = 6.5 * np.sqrt(fourth / (runs * len(truth)))
    assert abs(total / runs - variance) < slack < 0.3 * variance


def test_landmarks_follow_the_laws(rng):
    frame = people(rng)
    laws = ColumnLaws.of(DOMAIN, [c.astype(float) for c in counted(frame).counts])
    codes = spread(DOMAIN, 2048, records=laws.records)
    assert np.array_equal(DOMAIN.snap(codes), codes)
    for j, column in enumerate(DOMAIN.columns):
        seen = np.bincount(places_in(column, codes[:, j]), minlength=bins_of(column))
        expected = laws.shares[j] / laws.shares[j].sum() * 2048
        statistic = np.sum((seen - expected) ** 2 / expected)
        assert chi2.sf(statistic, len(expected) - 1) > ALPHA  # quasi-random: much smaller
    assert laws.deviation(0) == pytest.approx(0.3 / 4, rel=0.6)  # a twentieth is spread evenly
    assert laws.differ(3) == pytest.approx(1 - 0.49 - 0.04 - 0.01, abs=0.06)


def test_counts_lost_in_noise_are_still_laws():
    laws = ColumnLaws.of(DOMAIN, [np.full(bins_of(c), -5.0) for c in DOMAIN.columns])
    for shares in laws.shares:
        assert np.all(shares > 0)
        assert shares.sum() == pytest.approx(1)


def test_tables_follow_data_in_a_corner(rng):
    """Data in a corner of a large domain."""
    rows = 0.02 * rng.standard_normal((4000, 3)) + np.array([0.1, 0.8, 0.5])
    domain = mercer.Domain({"a": (0, 1), "b": (0, 1), "c": (0, 1)})
    made = mercer.synthetic(rows, domain=domain, epsilon=1, delta=1e-6, size=200, rng=2)
    spread_of = np.sqrt(made.expect(lambda t: t["a"] ** 2) - made.expect("a") ** 2)
    assert spread_of < 0.04
    assert np.mean(np.std(made.codes, axis=0)) < 0.15  # evenly spread records have 0.29
    assert abs(made.expect("b") - 0.8) < 0.02
    assert "laws of the columns" in made.privacy.mechanism
    assert len(made.privacy.events) == 2
