"""`engrain task …`, `engrain epic …` and `engrain project …`."""

from collections.abc import Mapping
from typing import Annotated

import typer

from cli.verbs.options import JsonOption, LimitOption, ProjectOption, TagOption, UrlOption, run

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
}
"""By group and command: the action of `manage`, the field that TEXT fills, and the help."""

RecordArgument = Annotated[str, typer.Argument(metavar="ID_OR_NAME", help="Id, its beginning, or the exact name.")]
TextArgument = Annotated[str | None, typer.Argument(help="- reads standard input.", show_default=False)]
NameArgument = Annotated[str, typer.Argument(help="One line that says what it is.")]
ContentOption = Annotated[str | None, typer.Option("--content", "-c", help="The details; - reads standard input.")]
StatusOption = Annotated[
    str | None, typer.Option("--status", help="Only these, comma-separated; by default all but archived ones.")
]
PriorityOption = Annotated[str | None, typer.Option("--priority", help="critical, high, medium, low or someday.")]

tasks = typer.Typer(name="task", help="List, show, create and move tasks.", no_args_is_help=True)
epics = typer.Typer(name="epic", help="List, show, create and move epics.", no_args_is_help=True)
projects = typer.Typer(name="project", help="List, show and create projects.", no_args_is_help=True)


def _add_list(group: typer.Typer, kind: str) -> None:
    @group.command("list", help=f"List the {kind}s of a project.")
    def listed(
        status: StatusOption = None,
        project: ProjectOption = None,
        limit: LimitOption = None,
        as_json: JsonOption = False,
        url: UrlOption = None,
    ) -> None:
        run("list", {**locals(), "kind": kind})


def _add_show(group: typer.Typer, kind: str) -> None:
    @group.command("show", help=f"Show one {kind}.")
    def shown(entity_id: RecordArgument, as_json: JsonOption = False, url: UrlOption = None) -> None:
        run("show", {**locals(), "kind": kind})


def _add_move(group: typer.Typer, kind: str, name: str) -> None:
    action, field, summary = MOVES[kind][name]

    @group.command(name, help=summary)
    def moved(
        entity_id: RecordArgument, text: TextArgument = None, as_json: JsonOption = False, url: UrlOption = None
    ) -> None:
        run("move", {**locals(), "kind": kind, "action": action, "field": field})


for _kind, _group in (("task", tasks), ("epic", epics), ("project", projects)):
    _add_list(_group, _kind)
    _add_show(_group, _kind)
    for _name in MOVES.get(_kind, ()):
        _add_move(_group, _kind, _name)


@tasks.command("create")
def create_task(  # noqa: PLR0913 - a parameter for each flag
    name: NameArgument,
    content: ContentOption = None,
    priority: PriorityOption = None,
    assignees: Annotated[list[str] | None, typer.Option("--assignee", help="Who works on it; repeatable.")] = None,
    due_date: Annotated[str | None, typer.Option("--due", help="An ISO date.")] = None,
    depends_on: Annotated[list[str] | None, typer.Option("--after", help="Id of a task before it; repeatable.")] = None,
    epic: Annotated[str | None, typer.Option(help="Id or name of its epic.")] = None,
    tags: TagOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
    url: UrlOption = None,
) -> None:
    """Create a task."""
    run("create", {**locals(), "type": "task"})


@epics.command("create")
def create_epic(  # noqa: PLR0913 - as above
    name: NameArgument,
    content: ContentOption = None,
    priority: PriorityOption = None,
    tags: TagOption = None,
    project: ProjectOption = None,
    as_json: JsonOption = False,
    url: UrlOption = None,
) -> None:
    """Create an epic of a project."""
    run("create", {**locals(), "type": "epic"})


@projects.command("create")
def create_project(
    name: NameArgument,
    content: ContentOption = None,
    repository_url: Annotated[str | None, typer.Option("--repository", help="Address of its repository.")] = None,
    tags: TagOption = None,
    as_json: JsonOption = False,
    url: UrlOption = None,
) -> None:
    """Create a project that everybody in the organization may read."""
    run("create", {**locals(), "type": "project"})


GROUPS = (tasks, epics, projects)
