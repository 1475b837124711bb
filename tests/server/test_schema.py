"""The service does what its own description says, for requests that Schemathesis makes up."""

import itertools

import numpy as np
import pytest
import schemathesis
import schemathesis.specs.openapi.schemas  # now, not while the service's threads run
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import mercer
from mercer.server import Settings
from tests.helpers.serving import OWNER, TOKEN, make_releases, serving

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]
BOUNDED = settings(max_examples=6, deadline=None, derandomize=False, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder, data = (tmp_path_factory.mktemp(name) for name in ("releases", "records"))
    make_releases(folder)
    ages = np.random.default_rng().uniform(0, 100, 200)
    mercer.live(
        ages,
        bounds=(0, 100),
        epsilon=1,
        delta=1e-6,
        kernel="exponential",
        bandwidth=5,
        store=folder / "walk.db",
        name="walk",
    ).close()
    (data / "a.csv").write_text("age\n" + "\n".join(map(str, ages)))
    mercer.Ledger(folder / "ledger.db").register("a", epsilon=3)
    with serving(Settings(folder=folder, data=data, token=TOKEN)) as service:
        yield service


@pytest.fixture(scope="module")
def operations(service):
    """Every operation that the description names."""
    schema = schemathesis.openapi.from_url(f"{service.url}/openapi.json")
    found = [result.ok() for result in schema.get_all_operations()]
    assert len(found) == 15
    return found


CHANGES = itertools.cycle([{}, {"bounds": [[0, 100]]}, {"bounds": [[0, 100]], "epsilon": 0.01}])
NAMES = itertools.cycle(["ages", "both", "three", "walk", "none"])


def check(operation, change=lambda _case: None, headers=OWNER, status=None):
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):

        @BOUNDED
        @given(case=operation.as_strategy(generation_mode=mode))
        def answers_as_described(case):
            change(case)
            answer = case.call_and_validate(checks=CHECKS, headers=headers, timeout=60)
            assert status is None or answer.status_code == status

        try:
            answers_as_described()
        except Unsatisfiable:
            assert mode is GenerationMode.NEGATIVE  # nothing about it can be wrong


def test_as_described(operations):
    for operation in operations:
        check(operation)


def test_as_described_for_releases_that_are_there(operations):
    def name(case):
        case.path_parameters["name"] = next(NAMES)

    for operation in operations:
        if operation.path.startswith("/api/releases/"):
            check(operation, name)


def test_as_described_without_the_token(operations):
    for operation in operations:
        if operation.path.startswith("/api/owner/"):
            check(operation, headers={"Authorization": "Bearer x"}, status=401)


def test_as_described_where_releases_may_really_be_made(operations):
    def data(case):
        if isinstance(case.body, dict):
            case.body.update(data="a.csv", dataset="a", columns=["age"])
            case.body.update(next(CHANGES))

    for operation in operations:
        if (operation.method, operation.path) == ("post", "/api/owner/releases"):
            check(operation, data)
