"""Settings and errors of commands that open a data folder or a ledger."""

from collections.abc import Callable, Mapping
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
