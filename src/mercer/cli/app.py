"""The command line: its commands, and errors as one line."""

from __future__ import annotations

import re
import sys
from typing import Annotated, NoReturn

import typer

from mercer.cli.counts import count_command, histogram_command, table_command
from mercer.cli.curves import curve_command
from mercer.cli.density import ask_command, density_command, live_command, quantiles_command
from mercer.cli.ledger import ledger_app
from mercer.cli.machines import classify_command, regress_command
from mercer.cli.plan import audit_command, plan_app
from mercer.cli.releases import eval_command, inspect_command, plot_command, predict_command
from mercer.cli.releasing import say, worded
from mercer.cli.serve import serve_command
from mercer.cli.synthetic import synthesize_command
from mercer.cli.typed import spread
from mercer.common import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    name="mercer",
    help="Release functions and counts with differential privacy: a density, a histogram, a table, "
    "a classifier, a regression, a mean curve or a synthetic table from a file of records, that "
    "anyone may use for ever.",
    epilog="Exit status: 0; 2 for a mistake, nothing spent; 3 if what was released and paid for "
    "could not be written where it was to go: it says where it is instead.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
# click's error of usage, wherever typer keeps click
_UsageError: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "UsageError"
)

app.add_typer(plan_app, name="plan")
app.command("audit", no_args_is_help=True)(audit_command)
app.add_typer(ledger_app, name="ledger")
app.command("serve", no_args_is_help=True)(serve_command)
app.command("live", no_args_is_help=True)(live_command)
app.command("ask", no_args_is_help=True)(ask_command)
app.command("curve", no_args_is_help=True)(curve_command)
app.command("classify", no_args_is_help=True)(classify_command)
app.command("regress", no_args_is_help=True)(regress_command)
app.command("predict", no_args_is_help=True)(predict_command)
app.command("synthesize", no_args_is_help=True)(synthesize_command)
app.command("count", no_args_is_help=True)(count_command)
app.command("histogram", no_args_is_help=True)(histogram_command)
app.command("table", no_args_is_help=True)(table_command)
app.command("eval", no_args_is_help=True)(eval_command)
app.command("plot", no_args_is_help=True)(plot_command)
app.command("inspect", no_args_is_help=True)(inspect_command)
app.command("density", no_args_is_help=True)(density_command)
app.command("quantiles", no_args_is_help=True)(quantiles_command)


def main(arguments: list[str] | None = None) -> None:
    """Entry point: errors are one line on stderr, exit code 2; a bug is a trace and exit code 1."""
    argv = spread(sys.argv[1:] if arguments is None else arguments)
    try:
        status = app(argv, standalone_mode=False)
    except _UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()  # type: ignore[attr-defined]
            sys.exit(2)
        _fail(_usage(error, argv), argv)
    except (ValueError, TypeError, OSError) as error:
        message = str(error) or type(error).__name__
        if isinstance(error, OSError) and error.filename is not None:
            message = f"{error.strerror}: {error.filename}"
        _fail(worded(message), argv)
    except typer.Abort:
        _fail("stopped", argv)
    if status:
        sys.exit(status)


def _fail(message: str, argv: list[str]) -> NoReturn:
    say("error", message, "--json" in argv)
    sys.exit(2)


def _usage(error: Exception, argv: list[str]) -> str:
    """A sentence on what is wrong with the options, and what to type instead."""
    message = error.format_message().rstrip(".")  # type: ignore[attr-defined]
    extra = re.search(r"unexpected extra argument(?:s|\(s\))? \((.*)\)", message)
    if extra is None:
        return f"{message}; mercer {_command(argv)} --help lists the options"
    words = extra[1].split(" ")
    before = argv[argv.index(words[0]) - 1] if words[0] in argv else ""
    option = before if before.startswith("-") else _option_of(argv, words[0])
    if option in ("-c", "--column"):
        return (
            f"{words[0]!r} follows a column that is named already: give each with --column, such "
            f"as --column age --column {words[0]}"
        )
    where = f" after {option}" if option else ""
    return (
        f"{' '.join(words)!r} stands where nothing is expected{where}: that option takes no more "
        f"values, or one of them is misspelt; mercer {_command(argv)} --help lists the options"
    )


def _option_of(argv: list[str], word: str) -> str:
    """The option that a word follows."""
    place = argv.index(word) if word in argv else 0
    return next((one.split("=")[0] for one in reversed(argv[:place]) if one.startswith("-")), "")


def _command(argv: list[str]) -> str:
    names = [word for word in argv[:2] if re.fullmatch(r"[a-z]+", word)]
    return " ".join(names if names[:1] in (["plan"], ["ledger"]) else names[:1])


@app.callback(invoke_without_command=True)
def _top(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        print(f"mercer {__version__}")
        raise typer.Exit
