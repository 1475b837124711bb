"""Digests of seeded releases: the same whenever they are made, others if one bit is."""

import copy

import numpy as np
import pytest

from tests.contracts.collected import collected
from tests.contracts.everything import digest_of
from tests.contracts.seeded import CASES, made

QUICK = (
    "density-pure",
    "density-gaussian",
    "density-scott",
    "mean-curve-given",
    "classifier-given",
    "regression-array",
    "synthetic-drawn",
    "records-letters",
    "histogram-bins",
    "histogram-sparse-delta",
    "table-pairs",
    "count-geometric",
    "random-statistic-mean",
    "quantiles-three",
    "iqr-test",
    "live-coordinates",
)


@pytest.mark.parametrize("name", QUICK)
def test_a_case_gives_the_same_numbers_again(name):
    assert digest_of(collected(made(name))) == digest_of(collected(made(name)))


def test_one_bit_would_be_seen():
    found = collected(made("density-pure"))
    other = copy.deepcopy(found)
    assert digest_of(other) == digest_of(found)
    other["values"][3] = float(np.nextafter(other["values"][3], 1))
    assert digest_of(other) != digest_of(found)


def test_cases_differ():
    names = [name for name in CASES if name.startswith("count-")]
    assert len({digest_of(collected(made(name))) for name in names}) == len(names) > 3
