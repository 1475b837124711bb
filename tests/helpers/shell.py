"""Commands as from a shell, for the tests of the command line."""

from __future__ import annotations

import json
from typing import Any

from mercer.cli.app import main


def run(capsys: Any, *arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a call as from a shell."""
    try:
        main([str(a) for a in arguments])
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def released(capsys: Any, *arguments: object) -> str:
    """What a call that must succeed prints."""
    code, out, err = run(capsys, *arguments)
    assert (code, err) == (0, ""), err
    return out


def said(capsys: Any, *arguments: object) -> Any:
    """What a call that must succeed prints as JSON."""
    return json.loads(released(capsys, *arguments, "--json"))
