"""Shared by all tests.

No seed is ever picked: statistical tests hold for every seed, and state how often a correct
program may fail.  ALPHA is the false-alarm rate of one statistical assertion; fewer than 300 are
made, so the whole suite stays below 1e-6.
"""

from __future__ import annotations

import secrets

import numpy as np
import pytest

ALPHA = 3e-9


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    seed = secrets.randbits(64)
    request.node.user_properties.append(("seed", seed))
    print(f"rng seed: {seed}")  # shown when a test fails
    return np.random.default_rng(seed)
