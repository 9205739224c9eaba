"""Commands made of tables: the options by the names of the arguments that they fill."""

from collections.abc import Callable, Mapping
from functools import partial
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

from cli.client.failure import guarded
from cli.options import JsonOption, UrlOption

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

        raise typer.Exit(guarded(partial(run_verb, verb, given | fixed)))

    parameters = []
    for name, said in {**options, "as_json": JsonOption, "url": UrlOption}.items():
        kind = said.__origin__
        default = Parameter.empty if kind is str else False if kind is bool else None
        parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=said))
    run.__name__, run.__doc__ = verb, summary
    vars(run)["__signature__"] = Signature(parameters)
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


QUERY = argument("Plain words; identifiers and 'quoted phrases' work, too.")

VERBS: Mapping[str, tuple[str, Options]] = {
    "remember": ("Keep words to the letter: for the members of the project, or for you alone without one.", {
        "content": argument("The words; - or nothing reads standard input.", is_needed=False),
        "name": option("--title", text="Title in one line; by default the first line."),
        "kind": option("--kind", "--type", "-t", text="episode (the default), decision, rule, procedure, plan, …"),
        "tags": TAGS, "project": PROJECT, **SCOPE,
    }),
    "search": ("Search everything that you may read by meaning, words and relations; best hits first.", {
        "query": QUERY, "project": PROJECT, "types": TYPES, "tags": TAGS,
        "since": option("--since", text="Only changes since: an ISO date, or 7d."), "limit": LIMIT,
    }),
    "recall": ("Find raw memories, to the letter, in one scope: that of the project, else your own.", {
        "query": QUERY, "project": PROJECT, **SCOPE, "limit": LIMIT,
    }),
    "context": ("Compile a context pack for a goal: work under way, decisions, rules, pitfalls, prior work.", {
        "goal": argument("Your next piece of work, in plain words."),
        "markdown_token_budget": option("--tokens", text="Most tokens; 4000 by default.", kind=int, min=100),
        "intent": option("--intent", text="build, plan, ideate, research, debug, decide, learn or general."),
        "layer": option("--layer", text="wake (at most 8 items), recall (24) or deep_search (50)."),
        "project": PROJECT,
    }),
    "reflect": ("Find decisions, tasks, plans, claims and procedures in notes, which are kept as a raw memory.", {
        "content": argument("A file with notes; - reads standard input.", "FILE"),
        "persist": option("--persist", text="Keep the findings as records.", kind=bool),
        "persist_review": option("--review", text="Put the findings into the review queue instead.", kind=bool),
        "source_title": option("--title", text="Name of the notes."),
        "project": PROJECT, **SCOPE,
    }),
    "explore": ("Walk the graph from a record: its neighbours, walks of several steps, or dependencies.", {
        "entity_id": argument("Where to start.", "ID_OR_NAME"),
        "mode": option("--mode", text="related (the default), traverse or dependencies."),
        "depth": option("--depth", text="Steps of traverse and dependencies.", kind=int, min=1, max=3),
        "types": TYPES,
        "relationship_types": option("--along", text="Only this relationship; repeatable.", kind=list[str]),
        "limit": LIMIT,
    }),
    "show": ("Show an entity, a raw memory or a part of a document, with its nearest neighbours.", {
        "entity_id": argument("Id, its beginning, or the exact name.", "ID"),
        "as_of": option("--as-of", text="As it was then: an ISO date or time, or 7d."),
    }),
    "capture": ("List raw memories that nothing was made of yet, the latest first.", {
        "review_state": option("--state", text="pending (the default), deferred, promoted or archived; '' for all."),
        "entity_type": option("--type", "-t", text="Only this type."), "limit": LIMIT,
    }),
    "stats": ("Count the records that you may read by type, and their relations.", {}),
}  # fmt: skip
VERB_COMMANDS = [command(verb, summary, options) for verb, (summary, options) in VERBS.items()]

MOVES: Mapping[str, Mapping[str, tuple[str, str, str]]] = {
    "task": {
        "start": ("start_task", "assignee", "Start a task; TEXT names who works on it."),
        "block": ("block_task", "reason", "Block a task; TEXT says why."),
        "unblock": ("unblock_task", "", "Go on with a blocked task."),
        "submit": ("submit_review", "pr_url", "Hand a task in for review; TEXT is the address of the change."),
        "complete": ("complete_task", "learnings", "Complete a task; TEXT is kept as lessons learned."),
        "archive": ("archive_task", "reason", "Archive a task; TEXT says why."),
        "note": ("add_note", "content", "Add TEXT to a task as a note."),
    },
    "epic": {
        "start": ("start_epic", "", "Start an epic."),
        "complete": ("complete_epic", "learnings", "Complete an epic; TEXT is kept as lessons learned."),
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
    "name": argument("Title in one line."),
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
