"""Shared by all tests.

No seed is ever picked: statistical tests hold for every seed, and state how often a correct
program may fail.  ALPHA is the false-alarm rate of one statistical assertion; fewer than 900 are
made, so the whole suite stays below 1e-6.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator

import numpy as np
import pytest

ALPHA = 1e-9


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    seed = secrets.randbits(64)
    request.node.user_properties.append(("seed", seed))
    print(f"rng seed: {seed}")  # shown when a test fails
    return np.random.default_rng(seed)


@pytest.fixture
def postgres(tmp_path) -> Iterator[str]:
    """URL of an empty schema of the server in MERCER_TEST_POSTGRES; .ci/postgres starts one."""
    url = os.environ.get("MERCER_TEST_POSTGRES")
    if not url:
        if os.environ.get("CI"):
            pytest.fail("MERCER_TEST_POSTGRES is not set: run the tests through .ci/postgres")
        pytest.skip("needs a PostgreSQL server: .ci/postgres make test")
    import psycopg

    schema = f"test_{secrets.token_hex(8)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
    yield f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3D{schema}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP SCHEMA {schema} CASCADE")


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path) -> str:
    """Where a new ledger may be: a file, then a database."""
    if request.param == "sqlite":
        return str(tmp_path / "budgets.db")
    return request.getfixturevalue("postgres")
