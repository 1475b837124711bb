"""Files of counts are as the published schema says."""

import json
from importlib.resources import files

import jsonschema
import pytest

import mercer

SCHEMA = json.loads((files("mercer.releases") / "release.schema.json").read_text())
ROWS = [{"a": i % 3, "b": i % 2 == 0} for i in range(400)]
DOMAIN = {"a": range(3), "b": bool}
WEAK = {"epsilon": 1, "gamma": 0.05, "weaker_promise": True}
RARE = [True] * 3 + [False] * 997
RELEASES = {
    "histogram": lambda: mercer.histogram(range(400), bins=8, bounds=(0, 400), epsilon=1),
    "sparse": lambda: mercer.histogram(range(400), bins=range(400), epsilon=1, sparse=True),
    "table": lambda: mercer.table(ROWS, domain=DOMAIN, epsilon=1, delta=1e-6),
    "margins": lambda: mercer.table(ROWS, domain=DOMAIN, margins=1, epsilon=1, missing="drop"),
    "count": lambda: mercer.count(ROWS, where={"a": 1}, epsilon=1),
    "optimal": lambda: mercer.count([True, False] * 5, epsilon=1, mechanism="optimal"),
    "weak count": lambda: mercer.random_proportion(RARE, **WEAK),
    "weak histogram": lambda: mercer.random_histogram([1.0] * 3 + [5.0] * 997, bins=[0, 2, 4, 6], **WEAK),
    "weak number": lambda: mercer.random_statistic([float(i % 9) for i in range(2000)], **WEAK),
}


@pytest.mark.parametrize("name", RELEASES)
def test_files_follow_the_schema(name, tmp_path):
    path = RELEASES[name]().save(tmp_path / "r.json")
    fields = json.loads(path.read_text())
    jsonschema.validate(fields, SCHEMA)
    assert mercer.load(path).save(tmp_path / "again.json").read_text() == path.read_text()
    for wrong in (fields | {"extra": 1}, {k: v for k, v in fields.items() if k != "domain"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, SCHEMA)
