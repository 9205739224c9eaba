"""`engrain serve`, and the settings of commands that open a data folder or a ledger."""

import gc
import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from cli.options import DataDir
from tools.runtime.settings import Settings, read_settings


def settings_of(data_dir: Path | None = None, host: str | None = None, port: int | None = None) -> Settings:
    settings, warnings = read_settings(os.environ, data_dir=data_dir, host=host, port=port)
    for warning in warnings:
        typer.echo(f"Warning: {warning}.", err=True)
    return settings


def serve(
    host: Annotated[str | None, typer.Option(help="Address to listen on (ENGRAIN_HOST).")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one (ENGRAIN_PORT).")] = None,
    data_dir: DataDir = None,
) -> None:
    # Read when numpy loads. Threads of a BLAS spin while they wait, and take processor time from everything else.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from rest_bridge import server  # noqa: PLC0415 - after that; other commands take the rest of this module

    def announce(address: str) -> None:
        gc.freeze()
        # The disk that standard output goes to may be full: serving is what counts.
        with suppress(OSError):
            typer.echo(f"Engrain serves {address} (API {address}/api/docs, MCP {address}/mcp). Stop it with Ctrl-C.")

    settings = settings_of(data_dir, host, port)
    if settings.mcp_auth_mode == "off":
        typer.echo("Warning: /mcp is served WITHOUT authentication (ENGRAIN_MCP_AUTH_MODE=off).", err=True)
    os.umask(0o077)  # The data is its owner's alone, also in a folder that others may enter.
    server.serve(settings, on_listening=announce)
