"""The contract of a kind of release, over the table of kinds: HOUSE rule, docs/architecture.md.

One file of each kind is loaded, written, checked against the schema, described, drawn, asked on the
command line and put into the service, by code that names no kind.
"""

import contextlib
import dataclasses
import io
import json
import re
import warnings
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest

import mercer
from mercer.cli.app import main
from mercer.releases import base
from mercer.releases.base import KINDS, Release, class_of, found
from mercer.releases.findings import Finding
from mercer.releases.words import Words, words_of
from mercer.server import Settings
from tests.helpers import ROOT
from tests.helpers.serving import serving

FILES = ROOT / "tests" / "releases" / "files"
SCHEMA = json.loads((files("mercer.releases") / "release.schema.json").read_text())
QUESTIONS = (
    "--at 1",
    "--at 1 2",
    "--at 1 2 3",
    "--grid 5",
    "--where {0}=20..40",
    "--expect {0}",
    "--margin {0}",
    "",
)


def examples() -> dict[str, Path]:
    """The first file of each kind that earlier versions wrote."""
    first = {}
    for file in sorted(FILES.glob("*.json")):
        fields = json.loads(file.read_text())
        if fields.get("format") == base.FORMAT and fields["version"] == base.VERSION:
            first.setdefault(fields["kind"], file)
    del first["quantiles"]  # numbers to read as they stand in the file
    return first


EXAMPLES = examples()


def broken(kind, path, folder):
    """What a kind does not do that all kinds do, in words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from _library(kind, path, folder)
        yield from _commands(path)


def _library(kind, path, folder):
    release = mercer.load(path)
    if not isinstance(release, Release) or type(release) is not class_of(kind) or release.kind != kind:
        yield f"{path.name} is loaded as {type(release).__name__}"
    jsonschema.validate(json.loads(path.read_text()), SCHEMA)
    if release.save(folder / "again.json").read_bytes() != path.read_bytes():
        yield "its file is another when it is written again"
    if not (repr(release).startswith(f"<{type(release).__name__}") and release.domain.describe()):
        yield "repr and domain do not say what it is"
    if not (str(release.privacy) and release.privacy.epsilon > 0 and release.privacy.short in repr(release)):
        yield "it does not say what is promised"
    if not all(isinstance(one, Finding) and one.words for one in release.findings()):
        yield "findings are no findings"
    words = words_of(release)
    if not isinstance(words, Words) or not words.describe() or not json.dumps(words.summary()):
        yield "there are no words for it"
    try:
        figure = release.plot()
    except TypeError as error:
        if "no picture" not in str(error):
            yield f"it is not drawn: {error}"
    else:
        release.plot(folder / "picture.png")
        if not figure.axes or not (folder / "picture.png").stat().st_size:
            yield "its picture is empty"
    if not all(callable(found(place)) for place in KINDS[kind][:4]):
        yield "a part of it is missing"


def _commands(path):
    for options in ([], ["--json"]):
        status, out, _ = said(["inspect", str(path), *options])
        if status or "epsilon" not in out:
            yield f"inspect {options} does not describe it"
    answered = 0
    names = getattr(mercer.load(path).domain, "names", ["age"])
    for question in dict.fromkeys(
        q.format(name) for name in names for q in QUESTIONS
    ):  # each kind answers one, or says where it is asked; others it refuses in words
        status, out, told = said(["eval", str(path), *question.split(), "--json"])
        if status not in (0, 2) or not (out if status == 0 else told) or "Traceback" in told:
            yield f"eval {question} ends with {status}: {told}"
        answered += (status == 0 and bool(json.loads(out))) or "in Python" in told
    if not answered:
        yield "eval answers no question"


def said(arguments):
    """Status, output and errors of a command."""
    out, told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(told):
        try:
            status = main(arguments)
        except SystemExit as stop:
            status = stop.code
    return status or 0, out.getvalue(), told.getvalue()


def test_there_is_an_example_of_every_kind():
    assert EXAMPLES.keys() == KINDS.keys()


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_keeps_the_contract(kind, tmp_path):
    assert list(broken(kind, EXAMPLES[kind], tmp_path)) == []


def test_the_service_shows_the_kinds_that_say_so(tmp_path):
    for kind, file in EXAMPLES.items():
        (tmp_path / f"{kind}.json").write_bytes(file.read_bytes())
    with serving(Settings(folder=tmp_path)) as service:
        listed = [entry["name"] for entry in service.client.get("/api/releases").json()["releases"]]
        assert listed == [kind for kind, parts in KINDS.items() if parts.served]
        for kind, parts in KINDS.items():
            asked = service.values(kind, points=[50.0])
            assert asked.status_code == (200 if parts.served else 404), (kind, asked.text)


FAULTS = {  # what a kind may forget, and what is then found
    "no words": ({"words": "findings:tell"}, "show|describe"),
    "no picture": ({"figure": "findings:tell"}, "drawn|picture"),
    "another class": ({"release": "counts.number:CountRelease"}, "loaded|domain|invalid|not a valid"),
    "a part that is not there": ({"findings": "findings:missing"}, "missing"),
    "a module that is not there": ({"findings": "missing:missing"}, "missing"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_kind_that_forgets_a_part_is_seen(fault, tmp_path, monkeypatch):
    parts, reason = FAULTS[fault]
    monkeypatch.setitem(KINDS, "histogram", KINDS["histogram"]._replace(**parts))
    try:
        told = "; ".join(broken("histogram", EXAMPLES["histogram"], tmp_path))
    except Exception as error:  # of whatever type: the contract is not kept
        told = f"{type(error).__name__}: {error}"
    assert re.search(reason, told), told


def test_a_release_that_is_written_otherwise_is_seen(tmp_path, monkeypatch):
    class_of_count = class_of("count")
    plain = class_of_count.to_dict
    monkeypatch.setattr(class_of_count, "to_dict", lambda self: plain(self) | {"raw": self.raw + 1})
    assert "its file is another when it is written again" in [*broken("count", EXAMPLES["count"], tmp_path)]
    assert dataclasses.is_dataclass(class_of_count)
