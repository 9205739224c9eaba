"""Reference of the command line."""

import inspect
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from typer import Typer
from typer.models import ArgumentInfo, ParameterInfo

from cli.reference.markdown import code, spoken, table

INTRO = """\
# Commands

`engrain COMMAND --help` says the same. Commands that open a data folder take `--data-dir`; while a server serves that
folder, they say which process it is and exit with 1. Exit codes: 0 for success, 1 for a failure that a sentence
explains, 2 for a command line that makes no sense; from commands that take `--url`, 3 when nobody is logged in and 4
when no Engrain server answers: [The command line](../guide/command-line.md)."""

Command = Callable[..., object]


def commands(app: Typer) -> dict[str, Command]:
    found = _commands(app)
    for group in app.registered_groups:
        if group.typer_instance is not None and (info := group.typer_instance.registered_callback) is not None:
            name = str(group.typer_instance.info.name)
            if info.callback is not None:
                found[name] = info.callback
            found |= {f"{name} {each}": command for each, command in _commands(group.typer_instance).items()}
    return found


def _commands(typer: Typer) -> dict[str, Command]:
    return {
        info.name or info.callback.__name__.replace("_", "-"): info.callback
        for info in typer.registered_commands
        if info.callback is not None and not info.hidden
    }


def page(app: Typer) -> str:
    return "\n\n".join([INTRO, *[_section(name, command) for name, command in commands(app).items()]]) + "\n"


def _section(name: str, command: Command) -> str:
    hints = get_type_hints(command, include_extras=True)
    rows = [_row(parameter, hints[parameter]) for parameter in inspect.signature(command).parameters]
    parts = [f"## engrain {name}", " ".join((inspect.getdoc(command) or "").split())]
    if rows:
        parts.append(table(["Option", "Value", "Meaning"], rows))
    return "\n\n".join(parts)


def _row(parameter: str, hint: Any) -> list[str]:  # noqa: ANN401, RUF100 - a type annotation has no type
    kind, info = hint, None
    if get_origin(hint) is Annotated:
        kind, info = hint.__origin__, next(each for each in hint.__metadata__ if isinstance(each, ParameterInfo))
    # Inside Annotated, typer takes the first name for a default and sorts it out when it runs.
    declared = (info.default, *(info.param_decls or ())) if info is not None else ()
    named = [name for name in declared if isinstance(name, str) and name.startswith("-")]
    bare = parameter.replace("_", "-")
    names = named or [f"[{bare}]" if isinstance(info, ArgumentInfo) else f"--{bare}"]
    return [" ".join(map(code, names)), _value(kind), (info.help if info is not None else None) or ""]


def _value(kind: Any) -> str:  # noqa: ANN401, RUF100 - a type annotation has no type
    options = [option for option in get_args(kind) if option is not NoneType]
    if get_origin(kind) is list:
        return f"{_value(options[0])}; may be repeated"
    if options:
        return spoken([_value(option) for option in options])
    if isinstance(kind, type) and issubclass(kind, Enum):
        return spoken([code(member.value) for member in kind])
    return {Path: "path", int: "integer", str: "text", bool: "flag", float: "number"}.get(kind, code(kind))
