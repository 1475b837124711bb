"""Replay: every release function, on worst, random and odd neighbours, with its noise frozen."""

import re
import threading
import types
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mercer
from mercer.api.choose import cv_bandwidth, scott_bandwidth
from mercer.audits import replay as replays
from mercer.audits.distances import measure
from mercer.sensitive import rows
from mercer.sources import cells

N = 40


def pairs(rng):
    rest = rng.random(N - 1)
    yield np.append(rest, 0.0), np.append(rest, 1.0)
    yield np.append(rest, rng.random()), np.append(rest, rng.random())
    yield np.append(rest, 0.3), np.append(rest, np.nan)  # no value: zero, and the same path
    yield np.append(rest, 0.3), np.append(rest, 1e300)  # clipped
    yield np.append(np.zeros(N - 1), 0.0), np.append(np.zeros(N - 1), 1.0)


DENSITIES = {
    "pure": {},
    "periodic": {"boundary": "periodic"},
    "open": {"boundary": "open"},
    "given": {"bandwidth": 0.1},
    "l2": {"mechanism": "l2"},
    "laplace": {"mechanism": "laplace"},
    "gaussian": {"delta": 1e-6},
    "gaussian-moments": {"delta": 1e-6, "basis": "moments"},
    "matern": {"kernel": "matern32", "delta": 1e-6},
    "hermite": {"basis": "hermite", "size": 12},
    "wavelet": {"basis": "wavelet", "size": 16},
    "private-scott": {"bandwidth": "private-scott"},
    "private-cv": {"bandwidth": "private-cv"},
    "private-cv-gaussian": {"bandwidth": "private-cv", "delta": 1e-6},
}


@pytest.mark.parametrize("name", DENSITIES)
def test_densities(name, rng):
    def release(data, rng):
        return mercer.density(data, bounds=(0, 1), epsilon=1, rng=rng, **DENSITIES[name])

    for pair in pairs(rng):
        found = mercer.replay(release, pair)
        assert found.changes
        if name.startswith("private"):  # the noisy choice may differ, and all after it
            assert all(c.within for c in found.changes if c.norm == "score"), str(found)
            assert found.changes[0].what == "scores"
        else:
            assert found.kept, f"{name}: {found}"


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("delta", [None, 1e-6])
def test_several_columns(d, delta, rng):
    def release(data, rng):
        return mercer.density(data, bounds=[(0, 1)] * d, epsilon=1, delta=delta, rng=rng)

    rest = rng.random((N - 1, d))
    pair = np.vstack([rest, np.zeros(d)]), np.vstack([rest, np.ones(d)])
    assert mercer.replay(release, pair).kept


def test_persons(rng):
    base = pd.DataFrame({"x": rng.random(60), "who": np.repeat(np.arange(20), 3).astype(str)})
    other = base.copy()
    other.loc[other.who == "7", "x"] = [0.0, np.nan, 1.0]

    def release(data, rng):
        return mercer.density(data, columns="x", unit="who", bounds=(0, 1), epsilon=1, rng=rng)

    assert mercer.replay(release, (base, other)).kept
    rows = mercer.replay(
        lambda data, rng: mercer.density(data, columns="x", bounds=(0, 1), epsilon=1, rng=rng), (base, other)
    )
    assert not rows.kept  # planted: three rows are more than one row may move


@pytest.mark.parametrize(
    "release",
    [
        lambda data, rng: mercer.quantiles(data, [0.1, 0.5], bounds=(0, 1), epsilon=1, rng=rng),
        lambda data, rng: mercer.quantiles(data, 0.5, bounds=(0, 1), epsilon=1, level=None, rng=rng),
        lambda data, rng: mercer.quantiles(data, 0.9, bounds=(0, 1), step=0.125, epsilon=1, rng=rng),
        lambda data, rng: mercer.iqr(data, bounds=(0, 1), epsilon=1, rng=rng),
        lambda data, rng: mercer.iqr(
            data, bounds=(0, 1), epsilon=1, delta=1e-3, method="propose-test-release", rng=rng
        ),
        lambda data, rng: cv_bandwidth(data, bounds=(0, 1), epsilon=1, rng=rng),
        lambda data, rng: scott_bandwidth(data, bounds=(0, 1), epsilon=1, rng=rng),
        lambda data, rng: mercer.select_function(
            [lambda x: np.ones_like(x), lambda x: 2 * x], data, bounds=(0, 1), epsilon=1, rng=rng
        ),
    ],
    ids=["quantiles", "without-intervals", "in-steps", "iqr", "tested-iqr", "cv", "scott", "select_function"],
)
def test_choices(release, rng):
    for pair in pairs(rng):
        found = mercer.replay(release, pair)
        assert found.changes
        assert all(c.within for c in found.changes), str(found)


def test_replay_sees_each_kind_of_fault(rng):
    rest = rng.random(N - 1)
    pair = np.append(rest, 0.2), np.append(rest, 0.9)

    def branch(data, rng):  # a parameter that follows the data: other draws
        size = 8 if data[-1] < 0.5 else 9
        return mercer.density(data, bounds=(0, 1), epsilon=1, basis="moments", size=size, rng=rng)

    def twice(data, rng):  # one release more for some data
        out = mercer.density(data, bounds=(0, 1), epsilon=1, rng=rng)
        return mercer.density(data, bounds=(0, 1), epsilon=1, rng=rng) if data[-1] > 0.5 else out

    for faulty in (branch, twice):
        found = mercer.replay(faulty, pair)
        assert not found.same_noise
        assert "DIFFERENT noise" in str(found)

    def dropped(data, rng):  # the number of complete rows is not public: another n, other scale
        return mercer.density(data, bounds=(0, 1), epsilon=1, missing="drop", rng=rng)

    assert not mercer.replay(dropped, (np.append(rest, 0.2), np.append(rest, np.nan))).kept


def release_of(data, rng, **given):
    return mercer.density(data, bounds=(0, 1), epsilon=1, bandwidth=0.3, rng=rng, **given)


@pytest.fixture
def odd(rng):
    """Neighbours of which one has a value above 0.9."""
    rest = rng.random(N - 1) * 0.8
    return np.append(rest, 0.2), np.append(rest, 0.95)


def test_an_exception_is_an_output(odd):
    def refused(data, rng, after):
        out = release_of(data, rng) if after else None
        if data[-1] > 0.9:
            raise ValueError(f"{data[-1]} is too much")
        return out or release_of(data, rng)

    for after in (True, False):
        for pair in (odd, odd[::-1]):
            found = mercer.replay(partial(refused, after=after), pair)
            assert not found.same_end
            assert not found.kept
            assert sorted(found.ended) == ["ValueError", "a release"]
            assert "ValueError" in str(found)
            assert "an exception follows the data" in str(found)
            assert "0.95" not in str(found)  # what it says may show a record
    texts = mercer.replay(lambda d, rng: release_of(d, rng, kernel=f"k{d[-1]}"), odd)
    assert not texts.same_end
    assert "DIFFERENT texts" in str(texts)
    assert "k0" not in str(texts)


def test_the_same_error_on_both_sides_is_told(odd):
    found = mercer.replay(lambda d, rng: release_of(d, rng, kernel="none"), odd)
    assert found.same_end
    assert not found.kept
    assert str(found) == "nothing sensitive was shown\nboth runs ended with the same ValueError"

    def late(data, rng):
        release_of(data, rng)
        raise OSError("the disk is full")

    assert mercer.replay(late, odd).kept  # what was shown moved as declared, whatever came then


@pytest.mark.parametrize("threaded", [False, True])
def test_a_warning_is_an_output(threaded, odd):
    def told(data, rng):
        def warn():
            if data[-1] > 0.9:
                warnings.warn("too much", stacklevel=1)

        if threaded:
            thread = threading.Thread(target=warn)
            thread.start()
            thread.join()
        else:
            warn()
        return release_of(data, rng)

    found = mercer.replay(told, odd)
    assert (found.same_end, found.same_path, found.same_noise) == (True, True, True)
    assert not found.same_warnings
    assert not found.kept
    assert "DIFFERENT warnings" in str(found)


def test_a_file_is_an_output(odd):
    def field(data, rng):
        fields = release_of(data, rng).to_dict()
        return fields | ({"note": "odd"} if data[-1] > 0.9 else {})

    def statement(data, rng):
        fields = release_of(data, rng).to_dict()
        complete = int(np.sum(data < 0.9))  # how many rows are complete is not public
        return fields | {"privacy": fields["privacy"] | {"n": complete}}

    for faulty in (field, statement):
        found = mercer.replay(faulty, odd)
        assert not found.same_file
        assert not found.kept
        assert "DIFFERENT fields" in str(found)
    assert mercer.replay(lambda d, rng: release_of(d, rng).to_dict(), odd).kept


def moved(function, file):
    """A function as if it stood in a file."""
    code = function.__code__.replace(co_filename=file)
    return types.FunctionType(code, function.__globals__, None, None, function.__closure__)


def test_a_branch_left_of_the_door_is_seen_wherever_it_is(odd, monkeypatch):
    """In any module and function: none is named in audits/replay.py."""
    whole, single = cells.Reader.objects, rows.ArrayRows._whole

    def of_all(self, values):
        if any(isinstance(v, str) for v in values):
            self.seen = True
        return whole(self, values)

    def of_chunks(self):
        for chunk in single(self):
            if np.any(chunk > 0.9):
                self.seen = True
            yield chunk

    def counted(values, rng):
        return mercer.histogram(values, categories=["a", "b"], epsilon=5, rng=rng)

    texts = ["a", "b", "a", 7], ["a", "b", "a", "b"]
    mixed = [7, 7, 7, 7], [7, 7, 7, "b"]
    assert mercer.replay(release_of, odd).kept
    assert mercer.replay(counted, texts).kept
    assert mercer.replay(counted, mixed).kept
    monkeypatch.setattr(rows.ArrayRows, "_whole", moved(of_chunks, rows.__file__))
    monkeypatch.setattr(cells.Reader, "objects", moved(of_all, cells.__file__))
    for function, pair in ((release_of, odd), (counted, mixed)):
        found = mercer.replay(function, pair)
        assert not found.same_path
        assert not found.kept
        assert re.search(r"a branch follows the data \(\w+\.py:\d+\)", str(found))


def test_how_often_and_how_one_cell_is_read_is_timing():
    """Cells of other types go other ways, one by one; their number changes no path."""

    def counted(values, rng):
        return mercer.histogram(values, bins=[0, 1, 2], epsilon=5, rng=rng)

    for other in ("1", None, True, b"1", "x", np.float32(1), 10**400, object()):
        assert mercer.replay(counted, ([0, 1, 1, 1], [0, 1, 1, other])).kept


def test_no_function_is_exempt_and_every_folder_left_of_the_door_is_watched():
    watch = replays._Watch()

    def place(path):
        code = compile("import sys\nframe = sys._getframe()", str(path), "exec")
        held = {}
        exec(code, held)
        return watch._right_of_the_door(held["frame"])

    root = Path(mercer.__file__).parent
    for path in root.rglob("*.py"):
        folder = path.relative_to(root).parts[0]
        if path.name != "replay.py":
            assert place(path) is (folder == "releases"), path
    assert place(root.parent / "elsewhere.py") is None
    for name in vars(replays):
        assert "EXEMPT" not in name
        assert "LEFT" not in name


def test_changes_are_measured_in_their_norm(rng):
    a, b = rng.normal(size=5), rng.normal(size=5)
    assert measure(a, b, "l1") == pytest.approx(np.abs(a - b).sum())
    assert measure(a, b, "l2") == pytest.approx(np.linalg.norm(a - b))
    assert measure(a, b, "score") == pytest.approx(np.abs(a - b).max())
    j = np.arange(6)
    ends = np.cos(np.pi * j * 0.0), np.cos(np.pi * j * 1.0)
    assert measure(*ends, "cosines") == pytest.approx(1.0, rel=1e-6)  # one record each way
    assert measure(3 * ends[0], ends[0] + ends[1], "cosines") == pytest.approx(2.0, rel=1e-6)
    with pytest.raises(ValueError, match="cannot be measured"):
        measure(a, b, "body")


def waves(place, m, norm):
    """Moments of one record."""
    j = np.arange(m + 1)
    if norm == "cosines":
        return np.cos(np.pi * j * place)
    return np.concatenate([np.cos(2 * np.pi * j * place), np.sin(2 * np.pi * j[1:] * place)])


@pytest.mark.parametrize("norm", ["cosines", "moments"])
@pytest.mark.parametrize("m", [3, 8, 24, 60])
def test_one_record_is_measured_as_one_wherever_it_stands(norm, m, rng):
    """No more, of any two places, near ones too; and no less where one wave is 1 here and -1 there."""

    def moved(x, y):
        one, two = (np.round(waves(place, m, norm) / 80 * 2**40) / 2**40 for place in (x, y))
        return 80 * measure(one, two, norm)

    for _ in range(60 // m // 4 + 1):
        x, j = rng.random(), rng.integers(1, m + 1)
        for y in (rng.random(), rng.integers(2), min(x + 4 * rng.random() / m, 1), x + 1e-4 * (0.5 - x)):
            assert 0 < moved(x, y) <= 1 + 1e-6 / 4  # worst of thousands: 1e-8
        turns = rng.integers(0, j + 1, 2) * 2 + [0, 1]
        x, y = turns / j if norm == "cosines" else turns / (2 * j)
        x, y = (1 - abs(1 - place % 2) if norm == "cosines" else place % 1 for place in (x, y))
        assert 1 - 1e-9 <= moved(x, y) <= 1 + 1e-6 / 4
