"""Files of synthetic tables and records: the same bits again, a schema, and no way to fool them."""

import copy
import json
from importlib.resources import files

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mercer
from mercer.api.recipes.synthetic import TableRecipe
from mercer.releases.synthetic.records import RecordsRelease
from mercer.releases.synthetic.release import MOST_POINTS, TableRelease
from tests.helpers.children import in_a_child

PROMISE = {"epsilon": 2.0, "delta": 1e-6}
DOMAIN = mercer.Domain(
    {
        "age": (0, 100),
        "visits": range(21),
        "sex": ["f", "m", "x"],
        "ill": bool,
        "stage": {"ordered": ["I", "II", "III"]},
        "ward": {"categories": ["a", "b"], "other": "?"},
        "day": ("2020-01-01", "2020-12-31"),
    }
)
SMALL = mercer.Domain({"a": bool, "b": ["x", "y", "z"]})
CASES = {
    "positive": {},
    "uniform": {"weights": "uniform", "size": 30},
    "free": {"weights": "free", "kernel": "matern52"},
    "l1": {"weights": "l1", "bound": 1.5, "kernel": "exponential"},
    "pure": {"delta": None, "kernel": "matern32"},
    "few coordinates": {"delta": None, "epsilon": 0.01},
    "private scales": {"scale": "private"},
}
SCHEMA = json.loads((files("mercer.releases") / "release.schema.json").read_text())


def rows(domain, many=400):
    return domain.table(domain.from_unit(np.random.default_rng().random((many, domain.dimension))))


def make(**options):
    chosen = {**PROMISE, "size": 40, **options}
    return mercer.synthetic(rows(DOMAIN), domain=DOMAIN, **chosen)


def by_features():
    return make(method="features", size=12, features=20)


def drawn_whole():
    return mercer.synthetic(rows(SMALL), domain=SMALL, epsilon=2, method="exponential", size=3)


MAKERS = {name: lambda o=options: make(**o) for name, options in CASES.items()}
MAKERS |= {"features": by_features, "exponential": drawn_whole}


@pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)
def test_the_same_bits_and_valid_under_the_schema(maker, tmp_path):
    release, path = maker(), tmp_path / "t.json"
    release.save(path)
    jsonschema.validate(json.loads(path.read_text()), SCHEMA)
    again = mercer.load(path)
    assert isinstance(again, TableRelease)
    assert again.to_dict() == release.to_dict()
    assert again.domain == release.domain
    assert again.privacy == release.privacy
    assert str(again.accuracy) == str(release.accuracy)
    assert again.points.equals(release.points)
    for name in ("weights", "positive", "codes"):
        assert getattr(again, name).tobytes() == getattr(release, name).tobytes(), name
    if release.method == "landmarks":
        other = again.reweight("l1", 2.0).weights
        assert other.tobytes() == release.reweight("l1", 2.0).weights.tobytes()
        assert again.smooth(penalty=0).weights.tobytes() == release.smooth(penalty=0).weights.tobytes()


def test_the_same_bits_in_another_process(tmp_path):
    release, path = make(), tmp_path / "t.json"
    release.save(path)
    out = in_a_child(f"""
import mercer
r = mercer.load({str(path)!r})
print(r.weights.tobytes().hex(), r.expect("age").hex(), r.accuracy.difference.hex())
""").split()
    numbers = [release.expect("age").hex(), release.accuracy.difference.hex()]
    assert out == [release.weights.tobytes().hex(), *numbers]


def test_records_of_any_kind_come_back(tmp_path):
    kernel = mercer.OwnKernel(lambda x, z: len(set(x) & set(z)) / 26, supremum=1.0)
    words = ["abc", "bcd", "xyz", "wxy"] * 50
    release = mercer.synthetic(words, kernel=kernel, public=["abc", "xyz", "mno"], **PROMISE)
    path = release.save(tmp_path / "w.json")
    jsonschema.validate(json.loads(path.read_text()), SCHEMA)
    again = mercer.load(path)
    assert isinstance(again, RecordsRelease)
    assert again.points == release.points
    assert again.to_dict() == release.to_dict()
    assert again.with_kernel(kernel).mmd(["abc"]) == release.mmd(["abc"])
    fields = json.loads(path.read_text())
    for key, value, message in [
        ("floor", 20, "floor must be at most the number of landmarks"),
        ("points", [], "points must be 1 to"),
        ("coordinates", [1.0], "differ in number"),
        ("weights", [1.0, 1.0, 1.0], "not of the style"),
        ("domain", {"words": 3}, "wrong type"),
    ]:
        with pytest.raises(ValueError, match=message):
            load_fields({**fields, key: value}, tmp_path)


def test_most_points_are_those_that_a_table_may_have():
    for method, most in MOST_POINTS.items():
        with pytest.raises(ValueError, match=f"size must be .*{most}"):
            TableRecipe.of(
                domain=SMALL,
                method=method,
                kernel="gaussian",
                scale="auto",
                size=most + 1,
                features=None,
                weights="positive",
                bound=1.0,
                public=None,
                pure=False,
            )


@pytest.fixture(scope="module")
def fields():
    release = make(weights="uniform", size=30)
    assert release.landmarks is not None
    return json.loads(json.dumps({"format": "mercer-release", "version": 2, **release.to_dict()}))


def load_fields(value, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return mercer.load(path)


def changed(fields, path, value):
    copied = copy.deepcopy(fields)
    part = copied
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return copied


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["domain"], [], "wrong type"),
        (["domain", "columns"], {}, "columns must be a list"),
        (["domain", "columns", 0, "type"], "__import__", "type must be one of"),
        (["domain", "columns", 0, "bounds"], [1, 0], "lower < upper"),
        (["domain", "columns", 2, "levels"], ["f", "f"], "must be different"),
        (["domain", "columns", 1, "name"], "age", "stands more than once"),
        (["kernel", "name"], "os.system", "kernel must be one of"),
        (["kernel", "scales"], [1.0], "one number for each of the 7 columns"),
        (["kernel", "scales", 0], 1e9, "scale of 'age' must be in"),
        (["kernel", "scales", 0], "1", "a scale must be a number"),
        (["kernel", "scales", 0], True, "a scale must be a number"),
        (["method"], "magic", "method must be one of landmarks"),
        (["method"], "features", "has no landmarks"),
        (["method"], "exponential", "has no landmarks"),
        (["points"], [], "points must be 1 to 10000"),
        (["points"], [[0.0]], "lists of 7 numbers"),
        (["points", 0, 0], "1", "points must be numbers"),
        (["points", 0, 0], None, "points must be numbers"),
        (["points", 0, 0], 101, "points must lie in the domain"),
        (["points", 0, 2], 0.5, "points must lie in the domain"),
        (["landmarks"], [[0, 0, 0, 0, 0, 0, 18262]], "one for each of the 1 landmarks"),
        (["landmarks", 0, 0], -1, "landmarks must lie in the domain"),
        (["weights"], [1.0], "one for each of the 30 points"),
        (["weights", 0], 0.5, "not of the style 'uniform'"),
        (["style"], "positive", None),
        (["style"], "best", "weights must be one of"),
        (["style"], 3, "wrong type"),
        (["bound"], 0.5, "bound must be at least 1"),
        (["bound"], None, "must be a number"),
        (["noise"], None, "wrong type"),
        (["noise", "law"], "none", "unknown noise law"),
        (["noise"], {"law": "orbitope", "scale": 1.0, "step": 0.1, "real": True}, "does not fit"),
        (["coordinates"], [1.0], "coordinates must be one for each"),
        (["coordinates", 0], "1", "must be a number"),
        (["coordinates"], None, "wrong type"),
        (["floor"], 0, "must be above 0"),
        (["floor"], 41, "floor must be at most the number of landmarks"),
        (["shrink"], None, "wrong type"),
        (["shrink", "guess"], "mean", "guess must be one of"),
        (["shrink", "eta"], 100, "eta must be in"),
        (["shrink", "penalty"], -1, "penalty in"),
        (["shrink", "penalty"], None, "wrong type"),
        (["privacy", "epsilon"], -1, "above 0"),
        (["privacy", "n"], 0, "n must be"),
    ],
)
def test_damaged_files_say_what_is_wrong(fields, path, value, message, tmp_path):
    if message is None:
        load_fields(changed(fields, path, value), tmp_path)
        return
    with pytest.raises(ValueError, match=message):
        load_fields(changed(fields, path, value), tmp_path)


def test_other_methods_are_checked_too(tmp_path):
    waves = {"format": "mercer-release", "version": 2, **by_features().to_dict()}
    for path, value, message in [
        (["frequencies"], [], "frequencies must be 1 to"),
        (["frequencies", 0], [1.0], "lists of 11 numbers"),
        (["frequencies", 0, 0], "x", "must be numbers"),
        (["coordinates"], [1.0], "coordinates must be 20 finite numbers"),
        (["weights", 0], -1.0, "not of the style 'positive'"),
    ]:
        with pytest.raises(ValueError, match=message):
            load_fields(changed(waves, path, value), tmp_path)
    whole = {"format": "mercer-release", "version": 2, **drawn_whole().to_dict()}
    for path, value, message in [
        (["noise"], {"law": "l2", "scale": 1.0, "step": 0.1}, "has no noise"),
        (["coordinates"], [1.0], "has no coordinates"),
        (["style"], "positive", "drawn whole has equal weights"),
        (["method"], "landmarks", "wrong type"),
    ]:
        with pytest.raises(ValueError, match=message):
            load_fields(changed(whole, path, value), tmp_path)
    free = {"format": "mercer-release", "version": 2, **make(weights="l1").to_dict()}
    with pytest.raises(ValueError, match="not of the style 'l1'"):
        load_fields(changed(free, ["weights", 0], 3.0), tmp_path)


def test_a_hostile_file_cannot_ask_for_all_memory(fields, tmp_path):
    """64 columns of 1000 levels make records of 64000 coordinates: few of them are allowed."""
    wide = [{"name": f"c{i}", "type": "categorical", "levels": list(range(1000))} for i in range(64)]
    value = changed(fields, ["domain", "columns"], wide)
    value["kernel"]["scales"] = [1.0] * 64
    value["points"] = [[0] * 64] * 5000
    with pytest.raises(ValueError, match="points must be 1 to 4194"):
        load_fields(value, tmp_path)


LEAF = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5))
JSON = st.recursive(
    LEAF,
    lambda s: st.lists(s, max_size=4) | st.dictionaries(st.text(max_size=5), s, max_size=4),
    max_leaves=8,
)


@given(data=st.data(), value=JSON)
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
def test_fuzzed_files_load_or_raise_a_value_error(fields, data, value, tmp_path):
    """Any field replaced by anything: never another exception, never a hang."""

    def paths(part, prefix=()):
        for key, inner in part.items() if isinstance(part, dict) else enumerate(part[:3]):
            yield (*prefix, key)
            if isinstance(inner, (dict, list)):
                yield from paths(inner, (*prefix, key))

    path = data.draw(st.sampled_from(sorted(paths(fields), key=str)))
    try:
        release = load_fields(changed(fields, list(path), value), tmp_path)
    except ValueError as error:
        assert str(error).startswith("x.json")
    else:
        first = release.domain.columns[0]
        chance = release.probability(lambda table: np.asarray(table[first.name]) == 0)
        assert 0 <= chance <= 1
