"""Errors of commands that open a data folder."""

import typer

from stores.errors import EngrainError


def tell(error: EngrainError) -> int:
    typer.echo(f"Error: {error.message}", err=True)
    if error.remediation != error.default_remediation:
        typer.echo(error.remediation, err=True)
    return 1
