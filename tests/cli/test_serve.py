"""`mercer serve`: what it says, and when it does not start."""

import logging
import socket

import pytest

import mercer
from mercer.cli.app import main
from tests.helpers.serving import TOKEN, start


@pytest.fixture
def places(tmp_path):
    for name in ("releases", "records"):
        (tmp_path / name).mkdir()
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)
    return tmp_path


@pytest.fixture
def as_before():
    """The command sets up the log of its process: here that of all tests to come."""
    logs = [logging.getLogger(name) for name in ("mercer.server", "mercer.access", "uvicorn.error")]
    kept = [(log, log.handlers, log.propagate, log.level) for log in logs]
    yield
    for log, handlers, propagate, level in kept:
        log.handlers, log.propagate = handlers, propagate
        log.setLevel(level)


@pytest.fixture
def refused(capsys, as_before):
    def run(*arguments):
        with pytest.raises(SystemExit) as stop:
            main(["serve", *map(str, arguments)])
        assert stop.value.code == 2
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        assert not out
        return err

    return run


def test_places_that_are_none(refused, places):
    assert "there is no folder" in refused(places / "none")
    (places / "a.txt").write_text("x")
    assert "is a file; mercer serve wants the folder" in refused(places / "a.txt")
    assert "postgresql" in refused("mysql://host/db")
    mercer.live([1.0, 2.0], bounds=(0, 5), epsilon=1, store=places / "s.db").close()
    assert "store is given twice" in refused(places / "s.db", "--store", places / "s.db")
    assert "there is no folder" in refused(places, "--data", places / "none")


def test_the_owner_side_starts_only_when_it_is_safe(refused, places):
    token = ["--token-file", places / "token", "--data", places / "records"]
    assert "needs a folder" in refused(places / "releases", "--token-file", places / "token")
    assert "kept apart" in refused(places / "records", *token)
    words = refused(places / "releases", *token, "--host", "0.0.0.0")
    assert "--allow-remote-owner" in words
    assert "TLS" in words
    (places / "token").chmod(0o644)
    assert "chmod 600" in refused(places / "releases", *token)
    (places / "token").chmod(0o600)
    (places / "token").write_text("short")
    assert "at least 32" in refused(places / "releases", *token)
    (places / "token").unlink()
    assert "No such file" in refused(places / "releases", *token)


def test_two_releases_of_one_name(refused, places):
    make = {"bounds": (0, 5), "epsilon": 1}
    mercer.live([1.0, 2.0], **make, store=places / "releases" / "s.db", name="twice").close()
    mercer.density([1.0, 2.0], **make).save(places / "releases" / "twice.json")
    assert "two releases have the name twice" in refused(places / "releases")


def test_a_port_that_is_taken(refused, places):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        words = refused(places / "releases", "--port", port)
    assert f"127.0.0.1:{port}" in words
    assert "--port" in words


@pytest.mark.parametrize("remote", [False, True])
def test_what_it_says_with_an_owner_side(places, remote):
    host = ["--host", "0.0.0.0", "--allow-remote-owner"] if remote else []
    process, port, said = start(
        [places / "releases", "--token-file", places / "token", "--data", places / "records", *host]
    )
    process.terminate()
    process.communicate(timeout=60)
    assert "serves 0 releases" in said
    assert port
    assert "Owner side: on" in said
    assert ("TLS" in said) == remote
    assert "Stop with" in said
    assert TOKEN not in said
    assert process.returncode == 0


def test_help_begins_with_an_example(capsys):
    main(["serve", "--help"])
    out = capsys.readouterr().out
    assert "Example: mercer serve releases/" in out
    for option in ("--token-file", "--data", "--ledger", "--store", "--allow-remote-owner"):
        assert option in out
