"""`mercer live` and `mercer ask`, as a person types them."""

import json

import pytest

import mercer
from mercer.cli.app import main
from mercer.ledger.ledger import Ledger

MAKE = "live visits.csv --column age --bounds 0 100 --epsilon 1 --delta 1e-6 --bandwidth 5"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys, rng):
    monkeypatch.chdir(tmp_path)
    rows = "\n".join(f"{a:.1f},{b:.1f}" for a, b in rng.normal(50, 15, (400, 2)))
    (tmp_path / "visits.csv").write_text(f"age,weight\n{rows}\n")

    capsys.readouterr()

    def call(line):
        code = 0
        try:
            main(line.split())
        except SystemExit as stop:
            code = stop.code or 0
        out = capsys.readouterr()
        return code, out.out, out.err

    return call


@pytest.mark.parametrize("kernel", ["gaussian", "exponential", "matern32", "matern52"])
def test_make_and_ask(run, kernel):
    code, out, err = run(f"{MAKE} --kernel {kernel} --store a.db --name ages")
    assert (code, err) == (0, "")
    assert "epsilon = 1" in out
    assert "no records" in out
    assert "Ask it: mercer ask a.db --at 50" in out
    code, out, _ = run("ask a.db --at 20 42.5 --json")
    values = json.loads(out)["values"]
    assert [row["at"] for row in values] == [[20.0], [42.5]]
    assert all(row["lower"] < row["value"] < row["upper"] for row in values)
    assert values[1]["value"] == float(mercer.open_live("a.db").ask(42.5))
    code, out, _ = run("ask a.db --at 42.5")
    assert code == 0
    assert f"{values[1]['value']:.6g}" in out


def test_two_columns_say_that_the_store_is_sensitive(run):
    code, out, _ = run(
        "live visits.csv --column age --column weight --bounds 0 100 0 100 --epsilon 1 --delta 1e-6 "
        "--bandwidth 12 --kernel exponential --store b.db"
    )
    assert code == 0
    assert "holds counts of the records: keep it as safe as them" in out
    code, out, _ = run("ask b.db --at 40 60 50 70 --json")
    assert len(json.loads(out)["values"]) == 2
    assert run("ask b.db --at 40 60 50")[2].startswith("Error: --at needs 2 numbers a point (age, weight)")


def test_json_of_a_new_one(run):
    code, out, _ = run(f"{MAKE} --kernel matern52 --store a.db --json")
    said = json.loads(out)
    assert (code, said["route"], said["sensitive"], said["name"]) == (0, "markov", False, "a")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (MAKE, "store is missing"),
        (f"{MAKE} --store a.db --name ../up", "name must be"),
        (f"{MAKE} --store nowhere/a.db", "there is no folder"),
        (f"{MAKE} --store mysql://host/x", "a mysql:// URL"),
        (f"{MAKE} --store a.db --kernel cubic", "kernel must be"),
        (f"{MAKE} --store a.db --kernel matern32 --route coordinates", "route='coordinates' needs"),
        (f"{MAKE} --store a.db --route markov", "route='markov' needs"),
        (f"{MAKE} --store a.db --route cholesky --boundary reflect", "boundary must be 'open'"),
        (MAKE.replace(" --delta 1e-6", "") + " --store a.db --kernel matern32", "delta is missing"),
        ("ask nothing.db --at 3", "is not there"),
        ("ask a.db", "at is missing"),
        ("ask a.db --at 101", "must lie in the domain"),
        ("ask a.db --at nan", "must lie in the domain"),
        ("ask a.db --name other --at 3", "has no live release 'other'; it has 'a'"),
    ],
)
def test_errors_name_the_way_out(run, line, words):
    if line.startswith("ask a.db"):
        run(f"{MAKE} --kernel matern32 --store a.db")
    code, _, err = run(line)
    assert code == 2
    assert err.startswith("Error: ")
    assert words in err
    assert len(err.splitlines()) == 1


def test_a_taken_name_costs_nothing(run):
    Ledger("budgets.db").register("visits", epsilon=3, delta=1e-5)
    paid = f"{MAKE} --kernel matern32 --store a.db --ledger budgets.db --dataset visits"
    assert run(paid)[0] == 0
    assert len(Ledger("budgets.db").history("visits")) == 1
    code, _, err = run(paid)
    assert code == 2
    assert "has a live release 'a' already" in err
    assert len(Ledger("budgets.db").history("visits")) == 1
