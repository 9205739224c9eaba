"""Run a verb: open the server, ask, print the answer."""

import os
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import typer

from cli.client import Client, CommandFailed, ToolAnswer, open_client
from cli.client.failure import ExitCode, NotFound, print_json, shown
from cli.client.server import JsonObject
from cli.local.project import metrics_path, project_for
from cli.waiting import waiting

Given = dict[str, Any]

TITLE, EXCERPT, WHOLE = 120, 200, 50_000_000
MOST_NAMED = 5
_ID = re.compile(r"(?:[a-z_]+_)?[0-9a-fA-F][0-9a-fA-F-]{3,}")


def run_verb(verb: str, given: Given) -> None:
    """Ask the server for a verb with its options, and print the answer."""
    as_json, url = given.pop("as_json"), given.pop("url")
    if "content" in given:
        given["content"] = given_text(given["content"], is_file=verb == "reflect", is_needed=verb != "create")
    with open_client(os.environ, url=url) as client, waiting():
        if "project" in given:
            given["project"] = _project(client, given["project"])
        answer = ASKING[verb](client, given) if verb in ASKING else client.tool(verb, given)
    print_json(answer.structure) if as_json else _print(answer)


def _print(answer: ToolAnswer) -> None:
    text = _harmless(answer.text).strip("\n")
    if not sys.stdout.isatty():
        typer.echo(text)
        return
    if not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        text = _rendered(text, answer)
    if text.count("\n") < shutil.get_terminal_size().lines - 1:
        typer.echo(text)
        return
    import pydoc  # noqa: PLC0415 - only for long answers

    os.environ.setdefault("LESS", "FRX")
    pydoc.pager(text + "\n")


def _harmless(text: str) -> str:
    return "\n".join(shown(line.expandtabs()) for line in text.split("\n"))


def _rendered(text: str, answer: ToolAnswer) -> str:
    from rich.console import Console  # noqa: PLC0415 - only on a terminal
    from rich.markdown import Markdown  # noqa: PLC0415 - as above

    markdown = _harmless(str(answer.structure.get("markdown") or answer.structure.get("content") or ""))
    # Content is indented in the text.
    for block in (markdown, "".join("\n" + f"  {line}".rstrip() for line in markdown.splitlines())):
        if markdown and block in text:
            console = Console(force_terminal=True, highlight=False)
            with console.capture() as held:
                console.print(Markdown(markdown, hyperlinks=False))
            return text.replace(block, f"\n{held.get()}", 1).strip("\n")
    return text


def given_text(source: str | None, *, is_file: bool = False, is_needed: bool = True) -> str | None:
    """Return the text of an argument or file; that of standard input for `-`, or for nothing where it is needed."""
    if source is None and not is_needed:
        return None
    if source is None and sys.stdin.isatty():
        raise CommandFailed("There is no text.", "Write it as an argument, or pipe it in.", code=ExitCode.USAGE)
    name = source if is_file and source != "-" else "Standard input"
    try:
        if source is None or source == "-":
            source = sys.stdin.buffer.read().decode()
        elif is_file:
            source = Path(source).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise CommandFailed(f"{name} cannot be read: {reason}.", code=ExitCode.USAGE) from None
    if not source.strip():
        raise CommandFailed("The text is empty.", "Write something, or pipe it in.", code=ExitCode.USAGE)
    return source


def _project(client: Client, named: str | None) -> str | None:
    if named is not None or (found := project_for(client)) is None or not found.is_there:
        return named or None
    typer.echo(f"Project {found.name}, as this folder's Git remote says; --project '' is for none.", err=True)
    return found.name


def _id(client: Client, named: str, entity_type: str | None = None) -> str:
    if _ID.fullmatch(named):
        try:
            return str(client.call("GET", f"/api/resolve/{quote(named, safe='')}")["id"])
        except NotFound:
            pass
    wanted = {"search": named, "page_size": 200, "entity_type": entity_type or ""}
    found = client.call("GET", f"/api/entities?{urlencode(wanted)}")["entities"]
    exact = [each for each in found if str(each["name"]).casefold() == named.casefold()]
    near = ", ".join(f"{each['name']} ({each['id']})" for each in (exact or found)[:MOST_NAMED])
    if len(exact) == 1:
        return str(exact[0]["id"])
    what = f"There are {len(exact)} records" if exact else f"There is no {entity_type or 'record'}"
    raise CommandFailed(
        f"{what} with the id or name {named!r}.",
        f"Use an id, such as {near}." if near else "Find its id: engrain search",
    )


def _answer(structure: JsonObject, shown: JsonObject) -> ToolAnswer:
    from tools.frame.answers import answer_of, text_of  # noqa: PLC0415 - the text of tools comes from the server

    return ToolAnswer(text_of(answer_of(shown)), structure)


def _remember(client: Client, given: Given) -> ToolAnswer:
    lines = (line.strip("#*- \t") for line in given["content"].splitlines())
    given["name"] = given["name"] or next(filter(None, lines), given["content"].strip())[:TITLE]
    return client.tool("remember", given)


def _recall(client: Client, given: Given) -> ToolAnswer:
    project, scope = given.pop("project"), given["memory_scope"]
    if project and scope in (None, "project"):
        given |= {"memory_scope": "project", "scope_key": given["scope_key"] or project}
    elif project:
        given["project_id"] = project
    found = client.call("POST", "/api/memory/raw/recall", given)
    rows = [_row(each, each["passage"]["text"]) | {"score": each["score"]} for each in found["memories"]]
    return _answer(found, {"memories": rows})


def _capture(client: Client, given: Given) -> ToolAnswer:
    said = {"review_state": "pending"} | {name: value for name, value in given.items() if value is not None}
    found = client.call("GET", f"/api/entities/captures?{urlencode(said)}")
    rows = [
        _row(each, each["raw_content"][:EXCERPT]) | {"type": each["entity_type"], "state": each["review_state"]}
        for each in found["captures"]
    ]
    return _answer(found, {"captures": rows, "total": found["total"]})


def _row(memory: JsonObject, content: str) -> JsonObject:
    return {"id": memory["id"], "name": memory["title"], "at": memory["captured_at"], "content": content}


def _explore(client: Client, given: Given) -> ToolAnswer:
    given["entity_id"] = _id(client, given["entity_id"])
    return client.tool("explore", given | {"mode": given["mode"] or "related"})


def _show(client: Client, given: Given) -> ToolAnswer:
    kind = given.pop("kind", None)
    metrics: JsonObject = {}
    if kind == "project":
        metrics = client.call("GET", metrics_path(given["entity_id"]))["metrics"]
        given["entity_id"] = metrics["project_id"]
    else:
        given["entity_id"] = _id(client, given["entity_id"], kind)
    answer = client.tool("get_entity", given | {"content_max_chars": WHOLE})
    if not metrics:
        return answer
    tasks = {status: count for status, count in metrics["status_distribution"].items() if count}
    shown = _answer(answer.structure | {"metrics": metrics}, {"tasks": tasks})
    return replace(shown, text=f"{answer.text}\n{shown.text}")


def _stats(client: Client, given: Given) -> ToolAnswer:
    found = client.call("GET", "/api/admin/stats")
    return _answer(found, found)


def _create(client: Client, given: Given) -> ToolAnswer:
    if epic := given.pop("epic", None):
        given["metadata"] = {"epic_id": _id(client, epic, "epic")}
    return client.tool("add", given | {"content": given["content"] or given["name"]})


def _move(client: Client, given: Given) -> ToolAnswer:
    text = given_text(given["text"], is_needed=False)
    if text and not given["field"]:
        raise CommandFailed("It takes no TEXT.", code=ExitCode.USAGE)
    arguments = {"action": given["action"], "entity_id": _id(client, given["entity_id"], given["kind"])}
    return client.tool("manage", arguments | {"data": {given["field"]: text} if text else {}})


ASKING = {
    "remember": _remember, "recall": _recall, "capture": _capture, "explore": _explore, "show": _show, "stats": _stats,
    "list": lambda client, given: client.tool("explore", given | {"types": [given.pop("kind")]}),
    "create": _create, "move": _move,
}  # fmt: skip
"""Verbs that are more than the tool of their name."""
