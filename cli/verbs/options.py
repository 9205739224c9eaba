"""Commands made of a table: the types of the options, by the names of the arguments that they fill."""

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

from cli.governance import JsonOption, UrlOption

Options = dict[str, Any]


def argument(text: str, metavar: str | None = None, *, is_needed: bool = True) -> Any:
    return Annotated[str if is_needed else str | None, typer.Argument(metavar=metavar, help=text, show_default=False)]


def option(*flags: str, text: str, kind: Any = str, **bounds: Any) -> Any:
    return Annotated[kind | None if kind is not bool else bool, typer.Option(*flags, help=text, **bounds)]


PROJECT = option("--project", "-p", text="Id, name or slug; that of this folder's Git remote by default, '' for none.")
SCOPE = {
    "memory_scope": option(
        "--scope", text="Who may read it: private, project, organization, team, shared, delegated, public."
    ),
    "scope_key": option("--scope-key", text="Which team or memory space."),
}
TAGS = option("--tag", text="A tag; repeatable.", kind=list[str])
TYPES = option("--type", "-t", text="Only this type, such as decision or raw_memory; repeatable.", kind=list[str])
LIMIT = option("--limit", text="Most results.", kind=int, min=1)


def command(verb: str, summary: str, options: Options, **fixed: Any) -> Callable[..., None]:
    """Make the function of a command that runs a verb with its options, and `fixed` ones."""

    def run(**given: Any) -> None:
        from cli.verbs.running import run_verb  # noqa: PLC0415 - only commands that talk to a server need a client

        raise typer.Exit(run_verb(verb, given | fixed))

    parameters = []
    for name, said in {**options, "as_json": JsonOption, "url": UrlOption}.items():
        kind = said.__origin__
        default = Parameter.empty if kind is str else False if kind is bool else None
        parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=said))
    run.__name__, run.__doc__ = verb, summary
    vars(run)["__signature__"] = Signature(parameters)
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run
