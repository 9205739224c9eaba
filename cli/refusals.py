"""How a command says that it cannot be done."""

import typer

from stores.errors import EngrainError


def tell(error: EngrainError) -> int:
    """Write what is wrong and what helps to standard error; return the exit code."""
    typer.echo(f"Error: {error.message}", err=True)
    if error.remediation != error.default_remediation:
        typer.echo(error.remediation, err=True)
    return 1
