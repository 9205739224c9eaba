"""The reference pages: made of the catalogue and the settings, written into a folder, or compared with it."""

from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import typer

from cli.reference import command_page, error_page
from cli.reference.markdown import MARK, code, fields_table, in_words, spoken
from rest_bridge.websocket import EVENT_NAMES
from tools.catalogue import OPERATIONS
from tools.frame.operation import Operation, Tool
from tools.frame.prompts import PROMPTS
from tools.frame.tool_schemas import input_schema
from tools.mcp_server import CORE, RESOURCES
from tools.runtime.client_settings import DESCRIPTIONS, ClientSettings
from tools.runtime.settings import PREFIX, Settings

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


EVENTS = """\
# Events

`GET /api/ws` upgrades to a WebSocket. Authenticate the handshake as any request (bearer header, or the session cookie
from a page of an allowed origin); a handshake that is not accepted is closed with 1008 and the reason. Only events of
records that the caller may read are sent, and no event carries text of a record.

```json
{"event": "entity_created", "data": {"id": "pattern_0a1b2c3d4e5f", "entity_type": "pattern"},
 "timestamp": "2026-01-31T12:00:00+00:00"}
```

| The client sends | The server answers |
| --- | --- |
| `{"type": "ping"}` | the event `pong` |
| `{"type": "subscribe", "topics": ["entity_created"]}` | the event `subscribed` with the known topics; none means all |
| `{"type": "pong"}` or `{"type": "heartbeat_ack"}` | nothing: it is the answer to `heartbeat` |
| anything else | the event `error` with a `message` |

Every 30 seconds the server sends `heartbeat`. A client that does not answer within 10 seconds is closed with 1008; one
that does not keep up is closed with 1013 and should reconnect and read what it missed.

`GET /api/logs/stream` is a socket of the same kind for owners of the organization. Its one event is `log`; `data` is an
entry as `GET /api/logs` gives it, and `?service=` and `?level=` narrow what is sent."""

EVENT_MEANINGS = {
    "entity_pending": "An entity was stored with `sync=false` and is durable; the indexes do not show it yet.",
    "entity_created": "An entity is stored and every healthy index shows it.",
    "entity_updated": "An entity has changed. Of a task or epic `data` has the `status` and `priority` that are new, "
    "and the `action` that changed it.",
    "entity_deleted": "An entity is gone, with all its revisions.",
    "note_pending": "A note on a task was stored and is durable; the indexes do not show it yet. `data` has the "
    "`task_id`. The event `entity_pending` tells the same.",
    "note_created": "A note on a task is stored and every healthy index shows it. `data` has the `task_id`.",
    "raw_capture_changed": "A raw memory was captured, reviewed or erased; `data` has the `action`, and its "
    "`review_state` and `capture_surface`. Only who may read the memory hears of it.",
    "job_queued": "A background job waits: a new one, or one that failed and will be repeated (`deferred`). `data` of "
    "all events of jobs has `job_id`, `function` and `status`; only who may see the job hears of it.",
    "job_started": "An attempt at a background job begins.",
    "job_completed": "A background job is done; `GET /api/jobs/{job_id}` has its result.",
    "job_failed": "A background job was given up; `GET /api/jobs/{job_id}` has the error.",
    "job_cancelled": "A background job was cancelled.",
    "permission_changed": "Somebody's membership or role changed; `data` names the `user_id` and the `change_type`.",
}


def events_page() -> str:
    caused: dict[str, list[str]] = {}
    for operation in OPERATIONS:
        for event in operation.events:
            caused.setdefault(event, []).append(code(operation.name))
    sections = [
        f"## {event}\n\n{EVENT_MEANINGS[event]} Caused by {spoken(caused[event], 'and')}."
        for event in EVENT_NAMES
        if event in caused
    ]
    reserved = [code(event) for event in EVENT_NAMES if event not in caused]
    rest = f"Clients may subscribe to these names; nothing causes them in this version: {', '.join(reserved)}."
    return "\n\n".join([EVENTS, *sections, "## Reserved names", rest]) + "\n"


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


PAGES: Mapping[str, tuple[str, Callable[[typer.Typer], str]]] = {
    "tools.md": ("MCP tools", lambda _: tools_page()),
    "events.md": ("Events of the WebSocket", lambda _: events_page()),
    "settings.md": ("Settings", lambda _: settings_page()),
    "errors.md": ("Error codes, with remediation", lambda _: error_page.page()),
    "commands.md": ("The `engrain` command line", command_page.page),
}


def pages(app: typer.Typer) -> dict[str, str]:
    index = [f"- [{title}]({name})" for name, (title, _) in PAGES.items()]
    intro = (
        "These pages are generated from the code. `make docs` writes them anew; `make check` says when they drift.\n"
        "The reference of REST is the OpenAPI document at `/api/openapi.json`: [REST](../guide/rest.md)."
    )
    made = {name: f"{MARK}\n\n{make(app)}" for name, (_, make) in PAGES.items()}
    return {"README.md": "\n".join([MARK, "", "# Reference", "", intro, "", *index, ""]), **made}


def run_reference(app: typer.Typer, *, write: Path | None, check: Path | None) -> int:
    """Write or compare the pages. Return 1 after drift, 2 without either option."""
    if write is not None:
        _write(app, write)
    if check is not None:
        return _check(app, check)
    if write is None:
        typer.echo("Error: say --write FOLDER or --check FOLDER.", err=True)
        return 2
    return 0


def _write(app: typer.Typer, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for stray in _strays(folder):
        stray.unlink()
    for name, text in pages(app).items():
        (folder / name).write_text(text, encoding="utf-8")
        typer.echo(f"wrote {folder / name}")


def _check(app: typer.Typer, folder: Path) -> int:
    drifted = [f"{folder / name} {reason}" for name, reason in _drift(app, folder)]
    for line in drifted:
        typer.echo(f"{line}. Run `engrain reference --write {folder}`.", err=True)
    return 1 if drifted else 0


def _drift(app: typer.Typer, folder: Path) -> list[tuple[str, str]]:
    found = []
    for name, text in pages(app).items():
        path = folder / name
        if not path.is_file():
            found.append((name, "is missing"))
        elif path.read_text(encoding="utf-8") != text:
            found.append((name, "has drifted from the code"))
    return found + [(path.name, "is no longer generated") for path in _strays(folder)]


def _strays(folder: Path) -> list[Path]:
    known = {"README.md", *PAGES}
    return [
        path
        for path in sorted(folder.glob("*.md"))
        if path.name not in known and path.read_text(encoding="utf-8").startswith(MARK)
    ]
