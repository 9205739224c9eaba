"""Tasks and epics: creating tasks, changing both, and their moves: start, block, review, complete, archive."""

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from auth.policy import may_reach
from auth.principal import Principal
from stores.language.wording import comparable
from stores.ledger import EntityQuery
from stores.records import Entity, JsonObject, ProjectRole
from tools.app import App
from tools.frame.json_values import texts_in, without_none
from tools.frame.operation import IF_MATCH, SYNCED, Call, Request, Route, writing
from tools.records.entity_models import (
    Assignee,
    Assignees,
    Content,
    Description,
    EntityFields,
    EntityId,
    Label,
    Labels,
    Name,
)
from tools.records.receipts import receipt
from tools.records.storing import store, until_visible
from tools.records.workflow import joined
from tools.search.exposure import announce, count, session_of
from tools.work.work_changes import (
    MOST_HOURS,
    REFUSALS,
    EpicDone,
    Ids,
    OnEpic,
    OnTask,
    Priority,
    Reason,
    TaskDone,
    changes_of,
    changing,
    move,
    naming_fields_of,
    nonblank,
)

TaskStatus = Literal["backlog", "todo", "doing", "blocked", "review", "done", "archived"]
EpicStatus = Literal["planning", "in_progress", "blocked", "completed", "archived"]
Complexity = Literal["trivial", "simple", "medium", "complex", "epic"]
Commits = Annotated[list[Annotated[str, StringConstraints(min_length=1, max_length=100)]], Field(max_length=200)]
MAINTAINER: ProjectRole = "project_maintainer"
IN_METADATA = ("status", "priority", "complexity", "assignees", "epic_id", "parent_task_id", "feature", "technologies")


class CreateTaskRequest(Request):
    """A task to create."""

    title: Name = Field(description="Title in one line.")
    project_id: EntityId = Field(description="Id of the project that it belongs to.")
    description: Description | None = Field(None, description="Full description.")
    priority: Priority = Field("medium", description="Importance.")
    complexity: Complexity = Field("medium", description="Difficulty.")
    status: TaskStatus = Field("todo", description="The state in which it begins.")
    assignees: Assignees | None = Field(None, description="Names of the assignees.")
    epic_id: EntityId | None = Field(None, description="Id of the epic that it is part of.")
    parent_task_id: EntityId | None = Field(None, description="Id of the task that it is a part of.")
    feature: Label | None = Field(None, description="The feature that it is for.")
    tags: Labels | None = Field(None, description="Browse-only labels, without effect on ranking.")
    technologies: Labels | None = Field(None, description="Technologies that it touches.")
    depends_on: Ids | None = Field(None, description="Ids of tasks that come first.")


@writing(Route("POST", "/api/tasks", tag="tasks", errors=REFUSALS), "entity_pending", "entity_created")
def create_task(app: App, call: Call, request: CreateTaskRequest) -> TaskDone:
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
        (task,), _ = store(app, call, [fields], sync=False, deferred=False)
    shown = without_none({"project_id": task.project_id, "branch_name": task.metadata.get("branch_name")})
    return TaskDone(
        action="create",
        message="Task created",
        data={"status": task.metadata.get("status"), "revision": task.revision, **shown},
        mutation_receipt=receipt(app, call, [task]),
        task_id=task.id,
    )


class UpdateTaskRequest(OnTask):
    """The fields of a task to change; those that are absent stay."""

    title: Name | None = Field(None, description="New title.")
    description: Description | None = Field(None, description="New description.")
    status: TaskStatus | None = Field(None, description="New state. A task that is archived stays archived.")
    priority: Priority | None = Field(None, description="New priority.")
    complexity: Complexity | None = Field(None, description="New complexity.")
    assignees: Assignees | None = Field(None, description="New assignees.")
    epic_id: EntityId | None = Field(None, description="Id of its new epic; null takes it out of its epic.")
    parent_task_id: EntityId | None = Field(None, description="Id of its new parent task; null for none.")
    feature: Label | None = Field(None, description="New feature; null for none.")
    tags: Labels | None = Field(None, description="New labels.")
    technologies: Labels | None = Field(None, description="New technologies.")
    add_depends_on: Ids | None = Field(None, description="Ids of tasks that come first, too.")
    remove_depends_on: Ids | None = Field(None, description="Ids of tasks that do not have to come first any more.")
    sync: bool = Field(False, description="Wait until every healthy index shows the change, at most 20 s.")


@writing(
    Route("PATCH", "/api/tasks/{task_id}", tag="tasks", query=SYNCED, headers=IF_MATCH, errors=REFUSALS),
    "entity_updated",
)
def update_task(app: App, call: Call, request: UpdateTaskRequest) -> TaskDone:
    """Change the given fields of a task. It is durable when this answers; with `sync` every healthy index shows it.

    A change of status has the side effects of that move's own route, except that it changes no assignee.
    """
    with naming_fields_of(request), changing(app, call, request, "update_task") as work:
        more: JsonObject = {}
        if request.add_depends_on or request.remove_depends_on:
            gone = request.remove_depends_on or []
            left = [each for each in work.listed("depends_on") if each not in gone]
            more = {"depends_on": joined(left, request.add_depends_on or [])}
        work.apply(**changes_of(request, IN_METADATA, more))
    done = work.done(TaskDone, app, "Task updated" if request.sync else "Update queued")

    async def wait() -> dict[str, JsonObject]:
        jobs = await until_visible(app, call.caller, work.tx.sequence, [work.entity.id])
        return {"data": {**done.data, "pending_indexes": [*jobs.pending_indexes]}} if jobs.pending_indexes else {}

    if request.sync:
        call.then(wait)
    return done


class StartTaskRequest(OnTask):
    """A task to start."""

    assignee: Assignee | None = Field(None, description="Assignee; by default the caller.")


@move("task", "start")
def start_task(app: App, call: Call, request: StartTaskRequest) -> TaskDone:
    """Begin work on a task: it is `doing`, has an assignee and the name of a branch, and its epic is in progress."""
    assignee = request.assignee or call.caller.user.name.strip() or call.caller.user.email
    with changing(app, call, request, "start_task") as work:
        work.move("doing", assignees=[*texts_in(work.listed("assignees")), assignee])
    return work.done(TaskDone, app, "Task started", "branch_name", "assignees", "started_at")


class BlockTaskRequest(OnTask):
    """A task that cannot go on."""

    reason: Reason = Field(description="Reason of the block.")


@move("task", "block")
def block_task(app: App, call: Call, request: BlockTaskRequest) -> TaskDone:
    """Say that a task cannot go on, and why; the reasons are kept in `metadata.blockers_encountered`."""
    with changing(app, call, request, "block_task") as work:
        work.move("blocked", blockers_encountered=[*work.listed("blockers_encountered"), request.reason])
    return work.done(TaskDone, app, "Task blocked", reason=request.reason)


class UnblockTaskRequest(OnTask):
    """A task that can go on."""


@move("task", "unblock")
def unblock_task(app: App, call: Call, request: UnblockTaskRequest) -> TaskDone:
    """Say that a task can go on: it is `doing` again."""
    with changing(app, call, request, "unblock_task") as work:
        work.move("doing")
    return work.done(TaskDone, app, "Task unblocked")


class SubmitReviewRequest(OnTask):
    """A task whose work is to be looked at."""

    pr_url: Annotated[str, StringConstraints(min_length=1, max_length=2000)] | None = Field(
        None, description="Address of the pull request."
    )
    commit_shas: Commits | None = Field(None, description="Commits that belong to it, beside those known already.")


@move("task", "review")
def submit_review(app: App, call: Call, request: SubmitReviewRequest) -> TaskDone:
    """Hand a task's work over for review."""
    with changing(app, call, request, "submit_review") as work:
        commits = joined(work.listed("commit_shas"), request.commit_shas or ())
        work.move("review", pr_url=request.pr_url, commit_shas=commits or None)
    return work.done(TaskDone, app, "Task submitted for review", "pr_url", "commit_shas", "reviewed_at")


class CompleteTaskRequest(OnTask):
    """A task that is done."""

    actual_hours: Annotated[float, Field(ge=0, le=MOST_HOURS)] | None = Field(None, description="Hours that it took.")
    learnings: Content | None = Field(None, description="Lessons, kept as an episode with the readers of the task.")
    cited_ids: Ids | None = Field(
        None, description="Ids of records that helped: the task refers to them then, and they count as cited."
    )


@move("task", "complete", "entity_pending", "entity_created")
def complete_task(app: App, call: Call, request: CompleteTaskRequest) -> TaskDone:
    """Complete a task. Lessons learned become an episode; an epic whose tasks are all done is completed."""
    learnings, session_key = nonblank(request.learnings), session_of(app, call)
    cited = [each for each in request.cited_ids or () if each != request.task_id]
    with changing(app, call, request, "complete_task") as work:
        work.move("done", actual_hours=request.actual_hours, learnings=learnings)
        work.cite(cited)
        counted = count(work.tx, call, cited, "task", session_key) if cited else None
        work.learn(learnings)
    if counted is not None:
        announce(app, call, counted, "task", session_key)
    return work.done(TaskDone, app, "Task completed", "completed_at", "actual_hours", "learnings")


class ArchiveTaskRequest(OnTask):
    """A task that is put away."""

    reason: Reason | None = Field(None, description="Why; kept in `metadata.archive_reason`.")


@move("task", "archive")
def archive_task(app: App, call: Call, request: ArchiveTaskRequest) -> TaskDone:
    """Put a task away for good: lists hide it, and it moves to no other status any more."""
    with changing(app, call, request, "archive_task") as work:
        work.move("archived", archive_reason=request.reason)
    return work.done(TaskDone, app, "Task archived", reason=request.reason)


class UpdateEpicRequest(OnEpic):
    """The fields of an epic to change; those that are absent stay."""

    title: Name | None = Field(None, description="New title.")
    description: Description | None = Field(None, description="New description.")
    status: EpicStatus | None = Field(None, description="New state; `completed` and `archived` need a maintainer.")
    priority: Priority | None = Field(None, description="New priority.")
    assignees: Assignees | None = Field(None, description="New assignees.")
    tags: Labels | None = Field(None, description="New labels.")


@writing(Route("PATCH", "/api/epics/{epic_id}", tag="epics", headers=IF_MATCH, errors=REFUSALS), "entity_updated")
def update_epic(app: App, call: Call, request: UpdateEpicRequest) -> EpicDone:
    """Change the given fields of an epic. Its status holds until one of its tasks moves."""
    with changing(app, call, request, "update_epic") as work:
        work.apply(**changes_of(request, ("status", "priority", "assignees")))
    return work.done(EpicDone, app, "Epic updated")


class StartEpicRequest(OnEpic):
    """An epic to start."""


@move("epic", "start")
def start_epic(app: App, call: Call, request: StartEpicRequest) -> EpicDone:
    """Begin an epic: it is in progress. The start of one of its tasks does that, too."""
    with changing(app, call, request, "start_epic") as work:
        work.move("in_progress")
    return work.done(EpicDone, app, "Epic started", "started_at")


class CompleteEpicRequest(OnEpic):
    """An epic that is done."""

    learnings: Content | None = Field(None, description="Lessons, kept as an episode with the readers of the epic.")


@move("epic", "complete", "entity_pending", "entity_created")
def complete_epic(app: App, call: Call, request: CompleteEpicRequest) -> EpicDone:
    """Complete an epic, whatever the states of its tasks; for maintainers. Lessons learned become an episode."""
    learnings = nonblank(request.learnings)
    with changing(app, call, request, "complete_epic", MAINTAINER) as work:
        work.move("completed", learnings=learnings)
        work.learn(learnings)
    return work.done(EpicDone, app, "Epic completed", "completed_at", "learnings")


class ArchiveEpicRequest(OnEpic):
    """An epic that is put away."""

    reason: Reason | None = Field(None, description="Why; kept in `metadata.archive_reason`.")


@move("epic", "archive")
def archive_epic(app: App, call: Call, request: ArchiveEpicRequest) -> EpicDone:
    """Put an epic away for good; for maintainers. Its tasks stay as they are."""
    with changing(app, call, request, "archive_epic", MAINTAINER) as work:
        work.move("archived", archive_reason=request.reason)
    return work.done(EpicDone, app, "Epic archived", reason=request.reason)


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
    chosen = sorted(chosen, key=lambda task: task.id)
    return max(chosen, key=lambda task: str(task.metadata.get("started_at") or ""), default=None)
