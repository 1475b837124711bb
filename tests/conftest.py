"""Shared by all tests.

No seed is ever picked: statistical tests hold for every seed, and state how often a correct
program may fail.  ALPHA is the false-alarm rate of one statistical assertion; fewer than 1000 are
made, so the whole suite stays below 1e-6.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.helpers.browser import Browser, missing, serving

ALPHA = 1e-9
LONG = (  # files that take longest, first: `--dist loadfile` then ends on short ones
    "repo/test_studies.py",
    "server/test_page.py",
    "online/test_store.py",
    "privacy/test_replays.py",
    "online/test_law.py",
    "contracts/test_bases.py",
    "privacy/test_live.py",
    "faults/test_live_crash.py",
    "server/test_page_access.py",
    "faults/test_ledger_crash.py",
    "privacy/test_planted_faults.py",
    "faults/test_live_stores.py",
    "repo/test_docs.py",
    "server/test_schema.py",
    "server/test_limits.py",
    "privacy/test_audits.py",
    "privacy/test_pure_density.py",
    "privacy/test_density.py",
    "releases/density/test_release.py",
    "noise/test_orbitope.py",
    "sensitive/test_selection.py",
    "api/test_selection.py",
)


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config.option, "loadscopereorder"):  # by the number of tests: says nothing of time
        config.option.loadscopereorder = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    place = {name: k for k, name in enumerate(LONG)}
    items.sort(key=lambda item: place.get(item.nodeid.split("::")[0].removeprefix("tests/"), len(LONG)))


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


@pytest.fixture(scope="module")
def page_folder(tmp_path_factory) -> Path:
    """A folder of releases of every shape the page knows."""
    import mercer

    folder = tmp_path_factory.mktemp("releases")
    generator = np.random.default_rng()
    ages = np.concatenate([generator.normal(38, 11, 12_000), generator.normal(71, 8, 8_000)])
    weights = 55 + 0.4 * ages + generator.normal(0, 9, ages.size)
    heights = generator.normal(170, 9, ages.size)
    one = {"bounds": (0, 100), "epsilon": 1, "columns": "age"}
    mercer.density(ages, **one).save(folder / "ages.json")
    mercer.density(ages[:500], **one, rng=1).save(folder / "trial.json")
    both = [(0, 100), (30, 130)]
    mercer.density(np.c_[ages, weights], bounds=both, epsilon=1, delta=1e-6, columns=("age", "weight")).save(
        folder / "body.json"
    )
    mercer.density(
        np.c_[ages, weights, heights][:2000],
        bounds=[*both, (130, 210)],
        epsilon=2,
        delta=1e-6,
        columns=("age", "weight", "height"),
    ).save(folder / "cube.json")
    store = folder / "wards.db"
    rough = {**one, "delta": 1e-6, "kernel": "matern32", "bandwidth": 4}
    mercer.live(ages[:2000], **rough, store=store, name="waiting-room").close()
    return folder


@pytest.fixture(scope="module")
def browser(page_folder, tmp_path_factory) -> Iterator[Browser]:
    """Chromium at a running service."""
    if words := missing():
        if os.environ.get("CI"):
            pytest.fail(words)
        pytest.skip(words)
    with serving(page_folder) as service:
        window = Browser(service.url, tmp_path_factory.mktemp("browser"))
        yield window
        window.close()


@pytest.fixture
def quiet(browser, request):
    """No request leaves the service's own address, and the console stays empty."""
    browser.size(1200, 900)
    browser.scheme("light")
    browser.requests(), browser.complaints()
    yield
    assert browser.foreign() == []
    allowed = "Failed to load" if "refused" in request.fixturenames else "nothing"
    assert [words for words in browser.complaints() if allowed not in words] == []


@pytest.fixture
def refused():
    """Marks a test in which the service refuses something: Chromium logs that."""
