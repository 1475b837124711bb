"""Planted faults: each is caught, and Mercer's own code is not.

The list is that of studies/faults/planted_faults.py.  Audits hold at confidence 1 - 1e-9 each: a false
alarm needs a bound above the truth.
"""

import pytest

from studies.faults import planted_faults as planted

RUNS = 60_000
CASES = {
    "noise-gaussian": lambda: planted.too_little_noise("gaussian"),
    "noise-laplace": lambda: planted.too_little_noise("laplace"),
    "noise-geometric": lambda: planted.too_little_noise("geometric"),
    "noise-l2": lambda: planted.too_little_noise("l2"),
    "noise-orbitope": lambda: planted.too_little_noise("orbitope"),
    "one-sided orbitope (E5)": lambda: planted.one_sided_orbitope(RUNS),
    "thesis' Laplace scale (E6)": lambda: planted.thesis_laplace(RUNS),
    "classic at 16 (E1)": lambda: planted.classic_at_sixteen(2_000_000),
    "bounds from the data": planted.data_dependent_bounds,
    "bandwidth from the data": planted.bandwidth_from_the_data,
    "clipped likelihood": planted.clipped_likelihood,
    "float sum": lambda: planted.floating_sum(1 << 21),
    "repeated noise": planted.repeated_noise,
    "float noise": lambda: planted.float_noise(RUNS),
}


@pytest.mark.parametrize("name", CASES)
def test_every_planted_fault_is_caught(name):
    found = CASES[name]()
    assert found.caught, found


def test_a_sound_mechanism_would_not_count_as_caught():
    """The suite can fail: noise of full size is no fault, and the finding says so."""
    assert not planted.too_little_noise("laplace", share=1.0).caught
