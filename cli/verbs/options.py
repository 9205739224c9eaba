"""Options that several verbs share, and the start of a verb."""

from typing import Annotated, Any, NoReturn

import typer

from cli.governance import JsonOption, UrlOption

__all__ = [
    "JsonOption", "LimitOption", "ProjectOption", "ScopeKeyOption", "ScopeOption", "TagOption", "TypeOption",
    "UrlOption", "run",
]  # fmt: skip

ProjectOption = Annotated[
    str | None,
    typer.Option(
        "--project", "-p", help="Id, name or slug; by default that of this folder's Git remote, '' for no project."
    ),
]
ScopeOption = Annotated[
    str | None,
    typer.Option("--scope", help="Who may read it: private, project, organization, team, shared, delegated, public."),
]
ScopeKeyOption = Annotated[str | None, typer.Option("--scope-key", help="Which team or memory space.")]
TagOption = Annotated[list[str] | None, typer.Option("--tag", help="A tag; repeatable.")]
TypeOption = Annotated[
    list[str] | None, typer.Option("--type", "-t", help="Only this type, such as decision or raw_memory; repeatable.")
]
LimitOption = Annotated[int | None, typer.Option(min=1, help="Most results.")]


def run(verb: str, given: dict[str, Any]) -> NoReturn:
    """Run a verb with its options by name, and exit."""
    from cli.verbs.running import run_verb  # noqa: PLC0415 - only commands that talk to a server need a client

    raise typer.Exit(run_verb(verb, given))
