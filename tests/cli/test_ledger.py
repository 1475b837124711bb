"""`mercer ledger …` and `mercer density --ledger` as people and machines use them."""

import json

import pytest

from mercer.cli.app import main
from mercer.ledger.ledger import Ledger


@pytest.fixture
def folder(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{age:.1f}" for age in rng.normal(50, 15, 300))
    (tmp_path / "people.csv").write_text(f"age\n{rows}\n")
    return tmp_path


def run(capsys, *arguments):
    try:
        main([str(a) for a in arguments])
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


CREATE = ["ledger", "create", "b.db", "--dataset", "people", "--epsilon", "3", "--delta", "1e-5"]
DENSITY = [
    "density",
    "people.csv",
    "-c",
    "age",
    "--bounds",
    "0",
    "100",
    "--epsilon",
    "1",
    "--delta",
    "1e-6",
    "--ledger",
    "b.db",
    "--dataset",
    "people",
]


def test_create_release_show_history(folder, capsys):
    code, out, err = run(capsys, *CREATE)
    assert (code, err) == (0, "")
    assert "total epsilon = 3, delta = 1e-05" in out
    code, out, _ = run(
        capsys,
        "ledger",
        "register",
        "b.db",
        "--dataset",
        "visits",
        "--epsilon",
        "1",
        "--unit",
        "patient",
        "--json",
    )
    assert json.loads(out)["dataset"]["epsilon"] == 1.0
    for name in ("one.json", "two.json"):
        assert run(capsys, *DENSITY, "-o", name)[0] == 0
    code, out, _ = run(capsys, "ledger", "show", "b.db", "-o", "spent.png")
    assert code == 0
    assert "2 of 3" in out
    assert "█" in out
    assert "visits: a pure release of epsilon up to 1 fits." in out
    assert max(map(len, out.splitlines()[:3])) <= 80
    assert (folder / "spent.png").stat().st_size > 5000
    code, out, _ = run(capsys, "ledger", "show", "b.db", "--dataset", "people", "--json")
    (people,) = json.loads(out)["datasets"]
    assert (people["releases"], people["spent_epsilon"]) == (2, 2.0)
    assert (people["epsilon"], people["total_epsilon"], people["total_delta"]) == (1, 3, 1e-5)
    code, out, _ = run(capsys, "ledger", "history", "b.db", "--dataset", "people")
    assert out.count("density of age") == 2
    code, out, _ = run(capsys, "ledger", "history", "b.db", "--json")
    fields = json.loads(out)
    assert fields["ledger"] == Ledger("b.db").id
    assert [c["number"] for c in fields["charges"]] == [1, 2]
    assert fields["charges"][0]["events"][0]["kind"] == "gaussian"


def test_errors_are_one_line_and_spend_nothing(folder, capsys):
    assert run(capsys, *CREATE)[0] == 0
    too_much = [word if word != "1" else "9" for word in DENSITY]
    for match, arguments in {
        "exists; open it": CREATE,
        "has not that much left": [*too_much, "-o", "r.json"],
        "go together": [*DENSITY[:-2], "-o", "r.json"],
        "seed": [*DENSITY, "--seed", "1", "-o", "r.json"],
        "is not in ledger": [*DENSITY[:-1], "others", "-o", "r.json"],
        "there is no ledger": ["ledger", "show", "none.db"],
        "dataset is missing": ["ledger", "register", "n.db", "--epsilon", "1"],
        "epsilon is missing": ["ledger", "create", "c.db", "--dataset", "x"],
    }.items():
        code, out, err = run(capsys, *arguments)
        assert (code, out) == (2, ""), arguments
        assert match in err
        assert len(err.splitlines()) == 1
    code, out, err = run(capsys, "ledger", "show", "none.db", "--json")
    assert "there is no ledger" in json.loads(err)["error"]
    assert Ledger("b.db").history() == []
    assert not (folder / "r.json").exists()
    assert not (folder / "c.db").exists()
    assert not (folder / "n.db").exists()


def test_register_makes_the_ledger_and_says_so(folder, capsys):
    place = ["ledger", "register", "n.db", "--dataset", "people", "--epsilon", "3"]
    code, out, err = run(capsys, *place)
    assert (code, err) == (0, "")
    assert "Ledger" in out.splitlines()[0]
    assert out.splitlines()[0].endswith("n.db made.")
    assert "people: total epsilon = 3" in out
    code, out, _ = run(capsys, "ledger", "register", "n.db", "--dataset", "b", "--epsilon", "1")
    assert code == 0
    assert "made" not in out
    assert list(Ledger.open("n.db").datasets) == ["b", "people"]
    code, out, _ = run(capsys, "ledger", "register", "m.db", "--dataset", "b", "--epsilon", "1", "--json")
    fields = json.loads(out)
    assert fields["made"] is True
    assert (fields["dataset"]["epsilon"], fields["dataset"]["total_epsilon"]) == (1, 1)


@pytest.mark.parametrize("command", ["create", "register"])
def test_a_ledger_is_not_made_for_a_wrong_total(folder, capsys, command):
    Ledger("first.db").register("people", epsilon=1, data="people.csv")
    make = ["ledger", command, "n.db", "--dataset", "people", "--epsilon", "3"]
    for match, arguments in {
        "epsilon must be": [*make[:-1], "-1"],
        "delta must be": [*make, "--delta", "2"],
        "name must be": [*make[:4], " ", *make[5:]],
        "unit must be": [*make, "--unit", " "],
        "no file or folder": [*make, "--data", "none.csv"],
        "would allow the total twice": [*make, "--data", "people.csv"],
    }.items():
        code, out, err = run(capsys, *arguments)
        assert (code, out) == (2, ""), arguments
        assert match in " ".join(err.split())
        assert not (folder / "n.db").exists()


@pytest.mark.parametrize("command", ["create", "register", "show", "history"])
def test_help_starts_with_an_example(command, capsys):
    code, out, _ = run(capsys, "ledger", command, "--help")
    assert code == 0
    assert f"mercer ledger {command} budgets.db" in " ".join(out.split())


def test_data_note_from_the_command_line(folder, capsys):
    assert run(capsys, *CREATE, "--data", "people.csv")[0] == 0
    assert (folder / "people.csv.mercer-ledger").exists()
    code, _, err = run(capsys, *DENSITY[:-4], "-o", "r.json")
    assert code == 2
    assert "counted in the ledger" in err
