"""Reference of the command line."""

from typing import Any

import typer

from cli.reference.markdown import code, table

INTRO = """\
# Commands

`engrain COMMAND --help` says the same. Commands that open a data folder take `--data-dir`; while a server serves that
folder, they say which process it is and exit with 1. Exit codes: 0 for success, 1 for a failure that a sentence
explains, 2 for a command line that makes no sense; from commands that take `--url`, 3 when nobody is logged in and 4
when no Engrain server answers: [The command line](../guide/command-line.md)."""


def commands(app: typer.Typer) -> dict[str, Any]:
    """Return the visible commands by name, those of a group behind it."""
    found: dict[str, Any] = {}
    for name, command in vars(typer.main.get_command(app))["commands"].items():
        if not command.hidden:
            found[name] = command
            found |= {f"{name} {each}": of_group for each, of_group in getattr(command, "commands", {}).items()}
    return found


def page(app: typer.Typer) -> str:
    return "\n\n".join([INTRO, *[_section(name, command) for name, command in commands(app).items()]]) + "\n"


def _section(name: str, command: Any) -> str:  # noqa: ANN401, RUF100 - typer brings its own click
    context = command.make_context(name, [], resilient_parsing=True)
    records = [each.get_help_record(context) for each in command.params if each.name != "help"]
    parts = [f"## engrain {name}", " ".join((command.help or "").split())]
    if rows := [[code(names), meaning] for names, meaning in filter(None, records)]:
        parts.append(table(["Option", "Meaning"], rows))
    return "\n\n".join(parts)
