"""`engrain serve`, and settings and errors of commands that open a data folder or a ledger."""

import gc
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import typer

from stores.errors import EngrainError
from tools.runtime.settings import Settings, read_settings


def settings_of(
    environ: Mapping[str, str], *, data_dir: Path | None = None, host: str | None = None, port: int | None = None
) -> Settings:
    settings, warnings = read_settings(environ, data_dir=data_dir, host=host, port=port)
    for warning in warnings:
        typer.echo(f"Warning: {warning}.", err=True)
    return settings


def guarded(command: Callable[[], int]) -> int:
    try:
        return command()
    except EngrainError as error:
        typer.echo(f"Error: {error.message}", err=True)
        if error.remediation != error.default_remediation:
            typer.echo(error.remediation, err=True)
        return 1


def run_server(environ: Mapping[str, str], *, host: str | None, port: int | None, data_dir: Path | None) -> int:
    def announce(address: str) -> None:
        gc.freeze()
        # The disk that standard output goes to may be full: serving is what counts.
        with suppress(OSError):
            typer.echo(f"Engrain serves {address} (API {address}/api/docs, MCP {address}/mcp). Stop it with Ctrl-C.")

    from rest_bridge.server import serve  # noqa: PLC0415 - other commands take the rest of this module

    def command() -> int:
        settings = settings_of(environ, host=host, port=port, data_dir=data_dir)
        if settings.mcp_auth_mode == "off":
            typer.echo("Warning: /mcp is served WITHOUT authentication (ENGRAIN_MCP_AUTH_MODE=off).", err=True)
        os.umask(0o077)  # The data is its owner's alone, also in a folder that others may enter.
        serve(settings, on_listening=announce)
        return 0

    return guarded(command)
