"""The release file: the same bits in another process, a published schema, and no way to fool it."""

import copy
import json
from importlib.resources import files

import jsonschema
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mercer
from tests.helpers.children import in_a_child

PROMISE = {"epsilon": 1.0, "delta": 1e-6}
CASES = {
    "auto": {},
    "periodic": {"boundary": "periodic"},
    "open": {"boundary": "open", "bandwidth": 0.05},
    "landmarks": {"basis": "landmarks", "bandwidth": 0.1},
    "eigenfunctions": {"basis": "eigenfunctions", "bandwidth": 0.1, "size": 12},
    "exponential": {"kernel": "exponential", "bandwidth": 0.1},
    "matern52": {"kernel": "matern52", "bandwidth": 0.1, "size": 50},
}
SCHEMA = json.loads((files("mercer.releases") / "release.schema.json").read_text())


def make(**options):
    data = np.random.default_rng().beta(2, 3, 500)
    return mercer.density(data, bounds=(0, 1), **PROMISE, **options)


@pytest.mark.parametrize("options", CASES.values(), ids=CASES)
def test_bit_equal_in_another_process_and_valid_under_the_schema(options, tmp_path):
    release, path = make(**options), tmp_path / "r.json"
    assert release.save(path) == path
    x = np.linspace(0, 1, 101)
    out = in_a_child(f"""
import mercer, numpy as np
r, x = mercer.load({str(path)!r}), np.linspace(0, 1, 101)
b = r.band(x)
for v in (r(x), r.raw(x), b.lower, b.upper):
    print(v.tobytes().hex())
""").split()
    band = release.band(x)
    for values, text in zip((release(x), release.raw(x), band.lower, band.upper), out, strict=True):
        assert values.tobytes().hex() == text
    jsonschema.validate(json.loads(path.read_text()), SCHEMA)
    again = mercer.load(path)
    assert again.privacy == release.privacy
    assert again.accuracy == release.accuracy


def test_plane_and_full_matrix(tmp_path, rng):
    data = rng.random((300, 2))
    matrix = [[0.01, 0.004], [0.004, 0.01]]
    release = mercer.density(data, bounds=[(0, 1)] * 2, boundary="open", bandwidth=matrix, **PROMISE)
    again = mercer.load(release.save(tmp_path / "p.json"))
    x = rng.random((20, 2))
    assert np.array_equal(again(x), release(x))
    jsonschema.validate(json.loads((tmp_path / "p.json").read_text()), SCHEMA)


@pytest.fixture(scope="module")
def fields():
    release = make()
    return json.loads(json.dumps({"format": "mercer-release", "version": 2, **release.to_dict()}))


def load_fields(value, tmp_path, name="x.json"):
    path = tmp_path / name
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
        (["version"], 3, "newer version.*upgrade mercer"),
        (["version"], "1", "wrong type"),
        (["format"], "other", "does not call itself"),
        (["kind"], "__import__", "unknown kind"),
        (["coordinates", 0], float("nan"), "truncated, damaged or not JSON"),
        (["coordinates", 0], float("inf"), "truncated, damaged or not JSON"),
        (["coordinates", 0], "1", "must be a number"),
        (["coordinates"], [1.0, 2.0], "coordinates have length 2"),
        (["coordinates"], {}, "wrong type"),
        (["basis", "name"], "os.system", "unknown basis"),
        (["basis", "kernel", "name"], "box", "unknown kernel"),
        (["basis", "kernel", "covariance"], [[-1.0]], "positive definite"),
        (["basis", "kernel", "covariance"], [[1e-30]], "bandwidth must be between"),
        (["basis", "size"], 10**9, "basis size"),
        (["basis", "size"], 3, "does not follow from its kernel"),
        (["domain", "bounds"], [[1, 0]], "lower < upper"),
        (["domain", "bounds"], [[0, 1], [0, 1]], "bounds must be one"),
        (["domain", "columns"], [], "list of names"),
        (["noise", "scale"], 0, "above 0"),
        (["noise", "step"], None, "step of the noise must be a number"),
        (["privacy", "events"], [{"kind": "magic"}], "must be one of pure, gaussian"),
        (["privacy", "events"], [{"kind": "pure"}], "epsilon of a pure event"),
        (["smoothing", "kernel"], "box", "smoother must be one of"),
        (["noise", "law"], "none", "unknown noise law"),
        (["privacy", "epsilon"], -1, "above 0"),
        (["privacy", "delta"], 1, "delta must be"),
        (["privacy", "secure"], "yes", "wrong type"),
        (["privacy", "n"], 0, "n must be"),
        (["smoothing", "choice"], "magic", "choice must be one of"),
        (["smoothing", "covariance"], [[1.0, 0.0], [0.0, 1.0]], "differ in dimension"),
        (["boundary"], "wall", "boundary must be one of"),
        (["boundary"], "periodic", "does not fit basis"),
        (["smoothing", "covariance"], [[1e-8]], "at least the release's own"),
    ],
)
def test_damaged_files_say_what_is_wrong(fields, path, value, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        load_fields(changed(fields, path, value), tmp_path)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_truncated_files(fields, share, tmp_path):
    text = json.dumps(fields)
    with pytest.raises(ValueError, match="not a release file"):
        load_fields(text[: int(share * len(text))], tmp_path)


def test_what_is_not_a_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="no release file"):
        mercer.load(tmp_path / "gone.json")
    for text in ("[]", "3", '"x"', "null", "[" * 100_000):
        with pytest.raises(ValueError, match=r"x\.json"):
            load_fields(text, tmp_path)


LEAF = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5))
JSON = st.recursive(
    LEAF,
    lambda s: st.lists(s, max_size=4) | st.dictionaries(st.text(max_size=5), s, max_size=4),
    max_leaves=8,
)


@given(data=st.data(), value=JSON)
@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
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
        assert np.isfinite(release(np.mean(release.domain.bounds, axis=1)))


def test_saving_is_all_or_nothing(tmp_path, monkeypatch):
    release, path = make(), tmp_path / "r.json"
    release.save(path)
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", lambda _fd: (_ for _ in ()).throw(OSError(28, "disk full")))
    with pytest.raises(OSError, match="disk full"):
        make().save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["r.json"]
