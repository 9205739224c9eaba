"""`engrain serve`."""

import gc
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import typer

from cli.refusals import guarded, settings_of
from rest_bridge.server import serve


def run_server(environ: Mapping[str, str], *, host: str | None, port: int | None, data_dir: Path | None) -> int:
    def announce(address: str) -> None:
        gc.freeze()
        # The disk that standard output goes to may be full: serving is what counts.
        with suppress(OSError):
            typer.echo(f"Engrain serves {address} (API {address}/api/docs, MCP {address}/mcp). Stop it with Ctrl-C.")

    def command() -> int:
        settings = settings_of(environ, host=host, port=port, data_dir=data_dir)
        if settings.mcp_auth_mode == "off":
            typer.echo("Warning: /mcp is served WITHOUT authentication (ENGRAIN_MCP_AUTH_MODE=off).", err=True)
        serve(settings, on_listening=announce)
        return 0

    return guarded(command)
