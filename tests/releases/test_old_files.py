"""What earlier versions wrote is read for ever, and answers as it did: files/README.md."""

import json
import math
import shutil
from pathlib import Path

import pytest

import mercer
from tests.contracts.seeded.records import OLD, TABLE
from tests.releases.files.write import answers, heard, spent

FOLDER = Path(__file__).parent / "files"
SAID = json.loads((FOLDER / "answers.json").read_text())
KINDS = {
    "density",
    "column",
    "classifier",
    "regression",
    "mean-curve",
    "synthetic-table",
    "synthetic-records",
    "histogram",
    "count",
    "margins",
    "statistic",
}
NEAR = 1e-12  # of the largest number of its list: sums of products, in any order
SOLVED = 1e-6  # of weights that a program finds: as exactly as it stops


def far(one, other, near=NEAR, scale=0.0):
    """Where two answers differ: numbers that are not real ones, words and shapes may not at all."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [f"{name} {words}" for name in one for words in far(one[name], other[name], near)]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        largest = max([scale, *(abs(x) for x in one if isinstance(x, float) and math.isfinite(x))])
        return [words for a, b in zip(one, other, strict=True) for words in far(a, b, near, largest)]
    if isinstance(one, float) and isinstance(other, float):
        close = (
            one == other
            or (math.isnan(one) and math.isnan(other))
            or abs(one - other) <= near * max(abs(one), scale)
        )
        return [] if close else [f"was {one}, is {other}"]
    return [] if one == other and type(one) is type(other) else [f"was {one!r}, is {other!r}"]


@pytest.mark.parametrize("name", SAID["releases"])
def test_a_release_answers_as_it_did(name):
    release = mercer.load(FOLDER / f"{name}.json")
    said, found = dict(SAID["releases"][name]), answers(release)
    if release.kind == "density" and release.domain.dimension == 1:
        del said["integral"], found["integral"]  # today from the monotone distribution function: test_cdf.py
    if release.kind in ("classifier", "regression") and not release.privacy.delta:
        said.pop("narrow", None)  # its quantile was that of a normal times that of a radius: test_bands.py
    if name.startswith(("synthetic", "records")):  # the ends of intervals did not cover: none is told today
        for asked in ("interval", "interval_where"):
            if isinstance(said.get(asked), list):
                assert all(math.isnan(end) for end in found[asked][1:3])
                said[asked] = [said[asked][0], *found[asked][1:3], *said[asked][3:]]
    if release.kind in (
        "histogram",
        "margins",
    ):  # of cut bins today from the least to the most: test_asked.py
        for asked in {"cut", "whole", "pair"} & said.keys():
            if isinstance(said[asked], list) and far(said[asked], found[asked]):
                assert found[asked][1] < found[asked][2]
                said[asked], found[asked] = said[asked][::3], found[asked][::3]  # estimate and level
    found = {asked: found.get(asked) for asked in said}  # what was refused then may be answered now
    assert far(said, found, SOLVED if name.startswith("synthetic") else NEAR) == []


@pytest.mark.parametrize("name", [name for name in SAID["releases"] if not name.startswith("format-1")])
def test_a_release_is_written_again_to_the_last_byte(name, tmp_path):
    old, new = FOLDER / f"{name}.json", tmp_path / "again.json"
    mercer.load(old).save(new)
    assert new.read_bytes() == old.read_bytes()


def test_every_kind_is_there():
    files = {file.stem: json.loads(file.read_text()) for file in FOLDER.glob("*.json")}
    del files["answers"], files["quantiles-dates"]  # numbers to read, not to load
    assert files.keys() == SAID["releases"].keys()
    assert {fields["kind"] for fields in files.values()} == KINDS
    assert {fields["version"] for fields in files.values()} == {1, 2}


def test_quantiles_say_that_they_are_numbers():
    with pytest.raises(ValueError, match="numbers to read as they stand in the file"):
        mercer.load(FOLDER / "quantiles-dates.json")


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    place = Path(shutil.copy(FOLDER / "live.db", tmp_path_factory.mktemp("old") / "live.db"))
    place.chmod(0o600)  # what git keeps can be read by others
    return place


def test_names_of_live_releases(store):
    assert sorted(mercer.live_names(store)) == sorted(SAID["live"])


@pytest.mark.parametrize("name", SAID["live"])
def test_a_live_release_answers_as_it_did(name, store):
    new = [[99.0, 12.0]] if name.endswith("plane") else [99.0]
    with mercer.open_live(store, name) as path:
        assert far(SAID["live"][name], json.loads(json.dumps(heard(path)))) == []
        first = path.ask(new)
    with mercer.open_live(store, name) as path:  # and goes on
        assert path.ask(new) == first


def test_a_ledger_tells_what_it_told_and_goes_on(tmp_path):
    place = shutil.copy(FOLDER / "budgets.db", tmp_path / "budgets.db")
    ledger = mercer.Ledger.open(place)
    assert far(SAID["ledger"], spent(ledger)) == []
    mercer.count(TABLE, **OLD, epsilon=1.5, ledger=ledger, dataset="pure")
    with pytest.raises(mercer.BudgetExceeded):
        mercer.count(TABLE, **OLD, epsilon=0.1, ledger=ledger, dataset="pure")
    assert len(ledger.history("pure")) == 2


def test_a_difference_would_be_seen():
    said = SAID["releases"]["density-pure"]
    assert far(said, said) == []
    other = json.loads(json.dumps(said))
    other["values"][0] *= 1 + 1e-10
    assert len(far(said, other)) == 1
    del other["raw"]
    assert far(said, other)
