"""`engrain up`, `stop`, `status`, `logs` and `mcp`."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from cli.client.failure import CommandFailed, ExitCode, guarded, print_json
from cli.local.server import LOG, data_folder, ensure, serving, stop
from stores.folder import STAY

DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Folder that holds everything (ENGRAIN_DATA_DIR).")]
_POLL_S = 0.3


def _with_folder(data_dir: Path | None, command: Callable[[Path], None]) -> None:
    folder = data_folder(os.environ) if data_dir is None else data_dir.expanduser().absolute()
    raise typer.Exit(guarded(lambda: command(folder)))


def up(data_dir: DataDir = None) -> None:
    """Start this machine's server in the background, unless it runs. Commands start it by themselves, too.

    It needs no login; one that a command has started ends after half an hour without a client, this one does not.
    """

    def command(folder: Path) -> None:
        from cli.client.server import Server  # noqa: PLC0415 - only with a server

        server = ensure(folder, os.environ, idle_exit_s=0)
        (folder / STAY).touch(mode=0o600)
        Server(server.address).request("GET", "/api/health")
        typer.echo(f"Engrain serves {server.address} (process {server.pid}). Stop it with `engrain stop`.")

    _with_folder(data_dir, command)


def stop_server(data_dir: DataDir = None) -> None:
    """Stop the server of the data folder. The next command that needs one starts it again."""

    def command(folder: Path) -> None:
        was = stop(folder)
        typer.echo("No server runs." if was is None else f"Stopped the server at {was.address}.")

    _with_folder(data_dir, command)


def status(
    data_dir: DataDir = None, as_json: Annotated[bool, typer.Option("--json", help="As JSON, for programs.")] = False
) -> None:
    """Say which server owns the data folder, and how far its indexes are. Exit code 4 when none runs."""

    def command(folder: Path) -> None:
        from cli.client.server import Server  # noqa: PLC0415 - only with a server

        who = serving(folder)
        if who is None or who.address is None:
            raise CommandFailed(f"No server runs on {folder}.", "Start it: engrain up", code=ExitCode.UNREACHABLE)
        server = Server(who.address)
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

    _with_folder(data_dir, command)


def logs(
    data_dir: DataDir = None,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, help="Last lines to show.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as lines come, until interrupted.")] = False,
) -> None:
    """Show what the server in the background wrote."""

    def command(folder: Path) -> None:
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

    _with_folder(data_dir, command)


def mcp(url: Annotated[str | None, typer.Option("--url", help="Address of the server (ENGRAIN_URL).")] = None) -> None:
    """Serve MCP over standard input and output, for coding agents that start a command."""
    from cli.local.proxy import run_mcp  # noqa: PLC0415 - for agents alone

    raise typer.Exit(run_mcp(os.environ, url=url))
