"""`engrain task …`, `engrain epic …` and `engrain project …`."""

from collections.abc import Mapping

import typer

from cli.verbs.memory import LIMIT, PROJECT, TAGS, Options, argument, command, option

MOVES: Mapping[str, Mapping[str, tuple[str, str, str]]] = {
    "task": {
        "start": ("start_task", "assignee", "Start a task; TEXT names who works on it."),
        "block": ("block_task", "reason", "Block a task; TEXT says why."),
        "unblock": ("unblock_task", "", "Go on with a blocked task."),
        "submit": ("submit_review", "pr_url", "Hand a task in for review; TEXT is the address of the change."),
        "complete": ("complete_task", "learnings", "Complete a task; TEXT says what was learned, and is kept."),
        "archive": ("archive_task", "reason", "Archive a task; TEXT says why."),
        "note": ("add_note", "content", "Add TEXT to a task as a note."),
    },
    "epic": {
        "start": ("start_epic", "", "Start an epic."),
        "complete": ("complete_epic", "learnings", "Complete an epic; TEXT says what was learned, and is kept."),
        "archive": ("archive_epic", "reason", "Archive an epic; TEXT says why."),
    },
    "project": {},
}
"""Action of `manage`, field that TEXT fills, and help, by group and command."""

RECORD: Options = {"entity_id": argument("Id, its beginning, or the exact name.", "ID_OR_NAME")}
MOVED: Options = {**RECORD, "text": argument("- reads standard input.", "TEXT", is_needed=False)}
STATUS: Options = {
    "status": option("--status", text="Only these, comma-separated; by default all but archived ones."),
    "limit": LIMIT,
}
NEW: Options = {
    "name": argument("One line that says what it is."),
    "content": option("--content", "-c", text="The details; - reads standard input."),
    "tags": TAGS,
}
WORK: Options = {"project": PROJECT, "priority": option("--priority", text="critical, high, medium, low or someday.")}
CREATED: dict[str, Options] = {
    "task": NEW | WORK | {
        "assignees": option("--assignee", text="Who works on it; repeatable.", kind=list[str]),
        "due_date": option("--due", text="An ISO date."),
        "depends_on": option("--after", text="Id of a task before it; repeatable.", kind=list[str]),
        "epic": option("--epic", text="Id or name of its epic."),
    },
    "epic": NEW | WORK,
    "project": NEW | {"repository_url": option("--repository", text="Address of its repository.")},
}  # fmt: skip


def _group(kind: str) -> typer.Typer:
    group = typer.Typer(name=kind, help=f"List, show, create and move {kind}s.", no_args_is_help=True)
    listed = STATUS if kind == "project" else STATUS | {"project": PROJECT}
    group.command("list")(command("list", f"List {kind}s.", listed, kind=kind))
    group.command("show")(command("show", f"Show one {kind}.", RECORD, kind=kind))
    group.command("create")(command("create", f"Create one {kind}.", CREATED[kind], type=kind))
    for name, (action, field, summary) in MOVES[kind].items():
        group.command(name)(command("move", summary, MOVED, kind=kind, action=action, field=field))
    return group


GROUPS = [_group(kind) for kind in MOVES]
