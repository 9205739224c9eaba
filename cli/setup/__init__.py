"""`engrain setup` connects coding agents to Engrain; their hooks call `engrain hook`."""

import os
from typing import Annotated

import typer


def setup(
    clients: Annotated[list[str] | None, typer.Argument(help="Which ones; without one, they are listed.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Undo what setup did: of these clients, or of all.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before writing.")] = False,
) -> None:
    """Connect coding agents to Engrain: show the change of their configuration, ask, and write it.

    Without a name nothing changes: it lists the clients of this machine. Exit code 1 where a file is left as it is.
    """
    from cli.setup.command import run_setup  # noqa: PLC0415 - the other commands do without

    raise typer.Exit(run_setup(os.environ, clients or (), is_removal=remove, is_sure=yes))


def hook(name: Annotated[str, typer.Argument(help="session-start, pre-compact or stop.")]) -> None:
    """Answer a hook of a coding agent, with its event on standard input. Exit code 0 whatever happens."""
    from cli.setup.hooks import run_hook  # noqa: PLC0415 - as above

    run_hook(os.environ, name)
