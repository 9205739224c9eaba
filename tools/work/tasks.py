"""Creating and changing tasks."""

from typing import Any, Literal

from pydantic import Field

from auth.policy import may_reach
from auth.principal import Principal
from stores.language.wording import comparable
from stores.ledger import EntityQuery
from stores.records import Entity, JsonObject
from tools.app import App
from tools.frame.json_values import texts_in, without_none
from tools.frame.operation import WRITERS, Call, Request, Route, mutation
from tools.records.entity_models import Assignees, Description, EntityFields, EntityId, Label, Labels, Name
from tools.records.storing import store, until_visible
from tools.records.workflow import joined
from tools.runtime.threads import in_thread
from tools.work.work_changes import (
    IF_MATCH,
    REFUSALS,
    Done,
    Ids,
    OnTask,
    Priority,
    TaskDone,
    WorkChange,
    apply_change,
    changes_of,
    naming_fields_of,
    task_done,
)

TaskStatus = Literal["backlog", "todo", "doing", "blocked", "review", "done", "archived"]
Complexity = Literal["trivial", "simple", "medium", "complex", "epic"]
IN_METADATA = ("status", "priority", "complexity", "assignees", "epic_id", "parent_task_id", "feature", "technologies")


class CreateTaskRequest(Request):
    """A task to create."""

    title: Name = Field(description="Title: one line that says what is to be done.")
    project_id: EntityId = Field(description="Id of the project that it belongs to.")
    description: Description | None = Field(None, description="What is to be done, in full.")
    priority: Priority = Field("medium", description="How much it matters.")
    complexity: Complexity = Field("medium", description="How hard it is.")
    status: TaskStatus = Field("todo", description="The state in which it begins.")
    assignees: Assignees | None = Field(None, description="Who works on it.")
    epic_id: EntityId | None = Field(None, description="Id of the epic that it is part of.")
    parent_task_id: EntityId | None = Field(None, description="Id of the task that it is a part of.")
    feature: Label | None = Field(None, description="The feature that it is for.")
    tags: Labels | None = Field(None, description="Browse-only labels, without effect on ranking.")
    technologies: Labels | None = Field(None, description="Technologies that it touches.")
    depends_on: Ids | None = Field(None, description="Ids of tasks that come first.")


async def create_task(app: App, call: Call, request: CreateTaskRequest) -> TaskDone:
    """Create a task in a project. It is durable when this answers."""
    given: JsonObject = {name: getattr(request, name) for name in ("project_id", *IN_METADATA)}
    given["depends_on"] = list(dict.fromkeys(request.depends_on or ())) or None
    fields = EntityFields(
        name=request.title,
        description=request.description,
        entity_type="task",
        tags=request.tags,
        metadata=without_none(given),
    )
    with naming_fields_of(request):
        created = await store(app, call, [fields], sync=False, deferred=False)
    done = Done(created.entities[0], [], created.sequence)
    task = done.entity
    data: JsonObject = {"project_id": task.project_id, "branch_name": task.metadata.get("branch_name")}
    return task_done(app, call, "create", "Task created", done, **data)


class UpdateTaskRequest(OnTask):
    """The fields of a task to change; those that are absent stay."""

    title: Name | None = Field(None, description="New title.")
    description: Description | None = Field(None, description="New description.")
    status: TaskStatus | None = Field(None, description="New state. A task that is archived stays archived.")
    priority: Priority | None = Field(None, description="New priority.")
    complexity: Complexity | None = Field(None, description="New complexity.")
    assignees: Assignees | None = Field(None, description="Who works on it from now on.")
    epic_id: EntityId | None = Field(None, description="Id of its new epic; null takes it out of its epic.")
    parent_task_id: EntityId | None = Field(None, description="Id of its new parent task; null for none.")
    feature: Label | None = Field(None, description="New feature; null for none.")
    tags: Labels | None = Field(None, description="New labels.")
    technologies: Labels | None = Field(None, description="New technologies.")
    add_depends_on: Ids | None = Field(None, description="Ids of tasks that come first, too.")
    remove_depends_on: Ids | None = Field(None, description="Ids of tasks that do not have to come first any more.")
    sync: bool = Field(False, description="Wait until every healthy index shows the change, at most 20 s.")


async def update_task(app: App, call: Call, request: UpdateTaskRequest) -> TaskDone:
    """Change the given fields of a task. It is durable when this answers; with `sync` every healthy index shows it.

    A change of status has the side effects of that move's own route, except that it assigns nobody.
    """
    with naming_fields_of(request):
        deed = WorkChange("update_task", "", request, lambda task: _changes(request, task))
        done = await in_thread(apply_change, app, call, deed)
    if not request.sync:
        return task_done(app, call, "update_task", "Update queued", done)
    jobs = await until_visible(app, call.caller, done.sequence, [done.entity.id])
    return task_done(app, call, "update_task", "Task updated", done, pending_indexes=jobs.pending_indexes or None)


def _changes(request: UpdateTaskRequest, task: Entity) -> dict[str, Any]:
    if not (request.add_depends_on or request.remove_depends_on):
        return changes_of(request, IN_METADATA)
    known = task.metadata.get("depends_on")
    gone = request.remove_depends_on or []
    left = [each for each in known if each not in gone] if isinstance(known, list) else []
    return changes_of(request, IN_METADATA, {"depends_on": joined(left, request.add_depends_on or [])})


OPERATIONS = (
    mutation(
        create_task,
        Route("POST", "/api/tasks", tag="tasks", errors=REFUSALS),
        roles=WRITERS,
        events=("entity_pending", "entity_created"),
    ),
    mutation(
        update_task,
        Route(
            "PATCH", "/api/tasks/{task_id}", tag="tasks", query=frozenset({"sync"}), headers=IF_MATCH, errors=REFUSALS
        ),
        roles=WRITERS,
        events=("entity_updated",),
    ),
)


DOING_LIMIT = 200


def active_task(app: App, caller: Principal, project_id: str | None) -> Entity | None:
    """Return the task in progress that the caller, or in a project anybody, started last. Blocks.

    Ties go to the smaller id.
    """
    query = EntityQuery(
        visibility=caller.visible,
        types=("task",),
        statuses=("doing",),
        project_ids=(project_id,) if project_id is not None else (),
        limit=DOING_LIMIT,
    )
    doing, _ = app.ledger.records.list_entities(caller.organization_id, query)
    doing = [task for task in doing if may_reach(caller, task)]
    names = {comparable(name) for name in (caller.user.name.strip(), caller.user.email) if name}
    own = [task for task in doing if names.intersection(map(comparable, texts_in(task.metadata.get("assignees"))))]
    # Without a project, only the caller's own tasks count.
    chosen = own or (doing if project_id is not None else [])
    latest = max((_started(task) for task in chosen), default="")
    return min((task for task in chosen if _started(task) == latest), key=lambda task: task.id, default=None)


def _started(task: Entity) -> str:
    started = task.metadata.get("started_at")
    return started if isinstance(started, str) else ""
