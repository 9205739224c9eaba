"""`engrain up`, `stop`, `status`, `logs` and `mcp`."""

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from cli.client.failure import CommandFailed, ExitCode, print_json
from cli.client.server import Server
from cli.local.server import LOG, data_folder, ensure, serving, stop
from cli.options import DataDir, JsonOption, UrlOption
from stores.folder import STAY

_POLL_S = 0.3


def _folder(data_dir: Path | None) -> Path:
    return data_folder(os.environ) if data_dir is None else data_dir.expanduser().absolute()


def up(data_dir: DataDir = None) -> None:
    """It needs no login; one that a command has started ends after half an hour without a client, this one does not."""
    folder = _folder(data_dir)
    server = ensure(folder, os.environ, idle_exit_s=0)
    (folder / STAY).touch(mode=0o600)
    Server(server.address, server.pid).request("GET", "/api/health")
    typer.echo(f"Engrain serves {server.address} (process {server.pid}). Stop it with `engrain stop`.")


def stop_server(data_dir: DataDir = None) -> None:
    was = stop(_folder(data_dir))
    typer.echo("No server runs." if was is None else f"Stopped the server at {was.address}.")


def status(data_dir: DataDir = None, as_json: JsonOption = False) -> None:
    folder = _folder(data_dir)
    who = serving(folder)
    if who is None or who.address is None:
        raise CommandFailed(f"No server runs on {folder}.", "Start it: engrain up", code=ExitCode.UNREACHABLE)
    server = Server(who.address, who.pid)
    health = server.request("GET", "/api/health")
    ready = server.request("GET", "/api/health/ready")
    said = {
        "address": who.address, "pid": who.pid, "folder": str(folder), "version": server.version,
        "uptime_seconds": health.get("uptime_seconds"), "indexes": ready.get("indexes"),
    }  # fmt: skip
    if as_json:
        print_json(said)
        return
    typer.echo(f"Engrain {server.version} serves {who.address} (process {who.pid}, folder {folder}).")
    for index in ready.get("indexes", ()):
        typer.echo(f"{index['name']}: {index['state']}, {index['pending']} changes pending")


def logs(
    data_dir: DataDir = None,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, help="Last lines to show.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as lines come, until interrupted.")] = False,
) -> None:
    folder = _folder(data_dir)
    try:
        with (folder / LOG).open("rb") as file:
            typer.echo(b"".join(file.readlines()[-lines:]), nl=False)
            while follow:
                typer.echo(file.read(), nl=False)
                time.sleep(_POLL_S)
    except FileNotFoundError:
        raise CommandFailed(
            f"No server was started in the background on {folder}.",
            "One that you start yourself writes to its terminal.",
        ) from None


def mcp(url: UrlOption = None) -> int:
    from cli.local.proxy import run_mcp  # noqa: PLC0415 - for agents alone

    return run_mcp(os.environ, url=url)
