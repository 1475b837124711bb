"""The command `mercer serve`."""

from __future__ import annotations

import ipaddress
import logging
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["serve_command"]

_BACKLOG = 512


def serve_command(
    place: Annotated[str, typer.Argument(metavar="FOLDER", help="A folder of releases, or a live store.")],
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.", min=0, max=65535)] = 8000,
    store: Annotated[
        str | None, typer.Option(help="One more live store: a file or a postgresql:// URL.")
    ] = None,
    token_file: Annotated[
        Path | None, typer.Option(help="Turns the owner side on: a file with its token, mode 600.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder of records: releases are made from files in it.")
    ] = None,
    ledger: Annotated[
        str | None, typer.Option(help="Budgets: a file or a postgresql:// URL. [FOLDER/ledger.db]")
    ] = None,
    allow_remote_owner: Annotated[
        bool, typer.Option("--allow-remote-owner", help="Let other machines reach the owner side.")
    ] = False,
    points: Annotated[int, typer.Option(help="Most points of one request.", min=1)] = 10_000,
    workers: Annotated[int, typer.Option(help="Threads for numerics.", min=1)] = 2,
    log: Annotated[bool, typer.Option(help="Log requests on stderr, without their data.")] = True,
) -> None:
    """Serve releases over HTTP: a page to look at them, and an API to query them.

    [bold]Example:[/bold] mercer serve releases/ --port 8000

    Releases are public, so anybody who reaches the address may ask. Making and retiring them is
    the owner's, and off unless there is a token.
    """
    try:
        import uvicorn

        from mercer.server import Settings, create_app
        from mercer.server.running import config_of
        from mercer.server.settings import read_token
    except ModuleNotFoundError as error:
        raise ValueError(
            f"mercer serve needs {error.name}; install it: pip install 'mercer[serve]'"
        ) from None

    token = None if token_file is None else read_token(token_file)
    if token is not None and not _loopback(host) and not allow_remote_owner:
        raise ValueError(
            f"host {host!r} can be reached from other machines, and the owner side spends budget "
            "for whoever has the token; put a proxy with TLS before it and give "
            "--allow-remote-owner, or leave out --token-file"
        )
    folder, first = _place(place)
    if first is not None and store is not None:
        raise ValueError("store is given twice; name the folder first, and the store with --store")
    settings = Settings(
        folder=folder,
        store=first or store,
        ledger=ledger,
        token=token,
        data=data,
        points=points,
        workers=workers,
    )
    _log_to_stderr(log)
    app = create_app(settings)
    listener = _listen(host, port)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # after the requests under way
    try:
        _say(app, listener, host, token is not None)
        uvicorn.Server(config_of(app)).run(sockets=[listener])
    except KeyboardInterrupt:
        pass
    finally:
        listener.close()
        print("Stopped.", flush=True)


def _say(app: Any, listener: socket.socket, host: str, owner: bool) -> None:
    name, port = listener.getsockname()[:2]
    shown = f"[{name}]" if ":" in name else ("localhost" if host == "localhost" else name)
    count = len(app.state.answers.catalogue.entries())
    print(f"Mercer serves {count} release{'' if count == 1 else 's'} at http://{shown}:{port}/")
    if not owner:
        print("Owner side: off. Releases are looked at and queried only.")
    elif _loopback(host):
        print("Owner side: on, for whoever on this machine has the token.")
    else:
        print(
            "Owner side: on, for whoever anywhere has the token. It travels with every request: "
            "have a proxy with TLS before this port."
        )
    print("Stop with Ctrl+C; requests under way are finished.", flush=True)
    if not count:
        print("Nothing to show yet: put release files (*.json) or live stores (*.db) into the folder.")


def _place(place: str) -> tuple[Path | None, str | None]:
    """A folder, or a live store."""
    if "://" in place:
        return None, place
    path = Path(place)
    if path.is_dir():
        return path, None
    if path.suffix == ".db" and path.is_file():
        return None, place
    if path.is_file():
        raise ValueError(
            f"{place!r} is a file; mercer serve wants the folder that release files lie in, here "
            f"{str(path.parent)!r}, or a live store (*.db, postgresql://…)"
        )
    raise ValueError(
        f"there is no folder {place!r} and no live store (*.db, postgresql://…) of that name; name "
        "the folder that holds release files"
    )


def _loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _listen(host: str, port: int) -> socket.socket:
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except OSError as error:
        words = os.strerror(error.errno) if error.errno and error.errno > 0 else "no such address"
        raise ValueError(
            f"cannot listen at {host}:{port}: {words}; choose another --host or --port"
        ) from None


def _log_to_stderr(requests: bool) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    for name, level in (
        ("mercer.server", logging.INFO),
        ("mercer.access", logging.INFO if requests else logging.WARNING),
        ("uvicorn.error", logging.WARNING),
    ):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
