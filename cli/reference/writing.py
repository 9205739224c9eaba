"""The reference pages: made of the catalogue and the settings, written into a folder, or compared with it."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import typer

from cli.reference.markdown import MARK, code, fields_table, in_words, spoken, table
from tools.catalogue import OPERATIONS
from tools.frame.operation import Operation, Tool
from tools.frame.tool_schemas import input_schema
from tools.mcp_server import CORE, PROMPTS, RESOURCES
from tools.runtime.client_settings import DESCRIPTIONS, ClientSettings
from tools.runtime.settings import PREFIX, Settings

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


def commands_page(app: typer.Typer) -> str:
    return "\n\n".join([INTRO, *[_section(name, command) for name, command in commands(app).items()]]) + "\n"


def _section(name: str, command: Any) -> str:  # noqa: ANN401, RUF100 - typer brings its own click
    context = command.make_context(name, [], resilient_parsing=True)
    records = [each.get_help_record(context) for each in command.params if each.name != "help"]
    parts = [f"## engrain {name}", " ".join((command.help or "").split())]
    if rows := [[code(names), meaning] for names, meaning in filter(None, records)]:
        parts.append(table(["Option", "Meaning"], rows))
    return "\n\n".join(parts)


TOOLS = """\
# MCP tools

Every tool is served at `/mcp` (streamable HTTP). Unknown arguments are refused and the nearest known one is named. A
tool's answer is a text for the model and the same as structured content: what the REST endpoint answers, without what
only programs need. A refusal is a result with `isError` and a text that says what to change. How to connect an agent:
[Connecting agents](../guide/agents.md)."""

FURTHER = """\
They can be called by everybody whose role allows it, and are in `tools/list` where the address names their set:
`/mcp?toolsets=facts,synthesis`, or `/mcp?toolsets=all`."""


def tools_page() -> str:
    offered = [(operation, operation.tool) for operation in OPERATIONS if operation.tool is not None]
    listed = [_tool(operation, tool) for operation, tool in offered if tool.toolset == CORE]
    unlisted = [_tool(operation, tool) for operation, tool in offered if tool.toolset != CORE]
    parts = [TOOLS, *listed]
    if unlisted:
        parts += ["## Further toolsets", FURTHER, *unlisted]
    parts += ["## Resources", *[f"- {code(each.uri)}: {each.description}" for each in RESOURCES]]
    parts += ["## Prompts", *[f"- {code(each.name)}: {each.description}" for each in PROMPTS]]
    return "\n\n".join(parts) + "\n"


def _tool(operation: Operation, tool: Tool) -> str:
    arguments = input_schema(operation.request, tool.omit, tool.omit_values, tool.defaults)
    parts = [f"## {operation.name}", f"*{tool.title}.* {operation.description}", _tool_facts(operation, tool)]
    if arguments["properties"]:
        parts += [fields_table(arguments)]
    return "\n\n".join(parts)


def _tool_facts(operation: Operation, tool: Tool) -> str:
    nature = "reads only" if tool.read_only else "deletes" if tool.destructive else "writes"
    roles = sorted(operation.roles or (), key=("owner", "admin", "member", "viewer").index)
    who = spoken([role.capitalize() for role in roles]) or "anybody"
    return f"It {nature}; may be called by {who}; needs the scope {code(f'api:{operation.scope}')}."


SETTINGS = """\
# Settings

Settings are environment variables. A value that a setting cannot have stops the start with a sentence that says what to
do; an unknown `ENGRAIN_*` name is a warning with the nearest known one; an empty value counts as unset. Options of the
command line win over the environment.

`ENGRAIN_URL` and `ENGRAIN_TOKEN`, at the end, are for the commands that talk to a server; the server does not read
them. All others are the server's."""

NEVER_SHOWN = " A secret: it is never shown in messages."


def settings_page() -> str:
    properties = Settings.model_json_schema()["properties"]
    server = [_setting(name, properties[name]) for name in Settings.model_fields]
    client = [_client_setting(each.name, is_secret=not each.repr) for each in fields(ClientSettings)]
    return "\n\n".join([SETTINGS, *server, *client]) + "\n"


def _client_setting(name: str, *, is_secret: bool) -> str:
    facts = f"Type: text. Default: unset.{NEVER_SHOWN if is_secret else ''}"
    return f"## {PREFIX}{name.upper()}\n\n{DESCRIPTIONS[name]}\n\n{facts}"


def _setting(name: str, schema: dict[str, Any]) -> str:
    field = Settings.model_fields[name]
    variants = [option for option in schema.get("anyOf", [schema]) if option != {"type": "null"}]
    kind = "text, comma-separated" if variants[0].get("type") == "array" else in_words(variants[0])
    facts = [
        f"Type: {kind.replace('string', 'text')}.",
        f"Default: {_setting_default(field.get_default(), field.default_factory)}.",
    ]
    if not field.repr:
        facts.append(NEVER_SHOWN.strip())
    return f"## {PREFIX}{name.upper()}\n\n{field.description}\n\n{' '.join(facts)}"


def _setting_default(value: object, factory: object) -> str:
    if factory is not None:
        return "`engrain` in the platform's folder for user data"
    if value is None or value == ():
        return "unset"
    return code(str(value).lower() if isinstance(value, bool) else value)


PAGES: Mapping[str, Callable[[typer.Typer], str]] = {
    "tools.md": lambda _: tools_page(),
    "settings.md": lambda _: settings_page(),
    "commands.md": commands_page,
}


def pages(app: typer.Typer) -> dict[str, str]:
    return {name: f"{MARK}\n\n{make(app)}" for name, make in PAGES.items()}


def run_reference(app: typer.Typer, *, write: Path | None, check: Path | None) -> int:
    """Write or compare the pages. Return 1 after drift, 2 without either option."""
    if write is None and check is None:
        typer.echo("Error: say --write FOLDER or --check FOLDER.", err=True)
        return 2
    if write is not None:
        write.mkdir(parents=True, exist_ok=True)
        for name, text in pages(app).items():
            (write / name).write_text(text, encoding="utf-8")
            typer.echo(f"wrote {write / name}")
    drifted = [] if check is None else _drifted(app, check)
    for path in drifted:
        typer.echo(f"{path} is missing or has drifted. Run `engrain reference --write {check}`.", err=True)
    return 1 if drifted else 0


def _drifted(app: typer.Typer, folder: Path) -> list[Path]:
    wanted = {folder / name: text for name, text in pages(app).items()}
    return [path for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
