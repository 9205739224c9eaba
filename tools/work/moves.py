"""Moves of a task or epic: start, block, unblock, review, complete, archive; and other changes of an epic."""

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, StringConstraints

from auth.principal import Principal
from stores.ledger import Cited, Transaction
from stores.records import Entity, JsonObject
from tools.app import App
from tools.frame.json_values import without_none
from tools.frame.operation import WRITERS, Call, Route, mutation
from tools.records.entity_models import Assignee, Assignees, Content, Description, Labels, Name
from tools.records.workflow import joined
from tools.search.citations import announce, count
from tools.search.exposure import session_of
from tools.work.work_changes import (
    IF_MATCH,
    MOST_HOURS,
    REFUSALS,
    EpicDone,
    Ids,
    OnEpic,
    OnTask,
    Priority,
    Reason,
    TaskDone,
    WorkChange,
    change_epic,
    change_task,
    changes_of,
    cite,
    learn,
    move,
    nonblank,
)

Commits = Annotated[list[Annotated[str, StringConstraints(min_length=1, max_length=100)]], Field(max_length=200)]


EpicStatus = Literal["planning", "in_progress", "blocked", "completed", "archived"]


def _listed(value: JsonValue) -> list[Any]:
    return value if isinstance(value, list) else []


class StartTaskRequest(OnTask):
    """A task to start."""

    assignee: Assignee | None = Field(None, description="Who works on it; the caller when absent.")


def start_task(app: App, call: Call, request: StartTaskRequest) -> TaskDone:
    """Begin work on a task: it is `doing`, has an assignee and the name of a branch, and its epic is in progress."""
    assignee = request.assignee or call.caller.user.name.strip() or call.caller.user.email

    def plan(task: Entity) -> JsonObject:
        known = [each for each in _listed(task.metadata.get("assignees")) if isinstance(each, str) and each.strip()]
        return {"metadata": {"status": "doing", "assignees": [*known, assignee]}}

    shown = ("branch_name", "assignees", "started_at")
    return change_task(app, call, WorkChange("start_task", "Task started", request, plan, shown))


class BlockTaskRequest(OnTask):
    """A task that cannot go on."""

    reason: Reason = Field(description="What is in the way.")


def block_task(app: App, call: Call, request: BlockTaskRequest) -> TaskDone:
    """Say that a task cannot go on, and why; the reasons are kept in `metadata.blockers_encountered`."""

    def plan(task: Entity) -> JsonObject:
        reasons = [*_listed(task.metadata.get("blockers_encountered")), request.reason]
        return {"metadata": {"status": "blocked", "blockers_encountered": reasons}}

    return change_task(app, call, WorkChange("block_task", "Task blocked", request, plan), reason=request.reason)


class UnblockTaskRequest(OnTask):
    """A task that can go on."""


def unblock_task(app: App, call: Call, request: UnblockTaskRequest) -> TaskDone:
    """Say that a task can go on: it is `doing` again."""
    deed = WorkChange("unblock_task", "Task unblocked", request, lambda _: {"metadata": {"status": "doing"}})
    return change_task(app, call, deed)


class SubmitReviewRequest(OnTask):
    """A task whose work is to be looked at."""

    pr_url: Annotated[str, StringConstraints(min_length=1, max_length=2000)] | None = Field(
        None, description="Address of the pull request."
    )
    commit_shas: Commits | None = Field(None, description="Commits that belong to it, beside those known already.")


def submit_review(app: App, call: Call, request: SubmitReviewRequest) -> TaskDone:
    """Hand a task's work over for review."""

    def plan(task: Entity) -> JsonObject:
        given: JsonObject = {"status": "review", "pr_url": request.pr_url}
        if request.commit_shas:
            given["commit_shas"] = joined(task.metadata.get("commit_shas"), request.commit_shas)
        return {"metadata": without_none(given)}

    shown = ("pr_url", "commit_shas", "reviewed_at")
    return change_task(app, call, WorkChange("submit_review", "Task submitted for review", request, plan, shown))


class CompleteTaskRequest(OnTask):
    """A task that is done."""

    actual_hours: Annotated[float, Field(ge=0, le=MOST_HOURS)] | None = Field(None, description="Hours that it took.")
    learnings: Content | None = Field(
        None, description="What was learned. It is kept as an episode that whoever reads the task can read."
    )
    cited_ids: Ids | None = Field(
        None, description="Ids of records that helped: the task refers to them then, and they count as cited."
    )


def complete_task(app: App, call: Call, request: CompleteTaskRequest) -> TaskDone:
    """Say that a task is done. What was learned becomes an episode; an epic whose tasks are all done is completed."""
    learnings = nonblank(request.learnings)
    session_key = session_of(app, call)
    counted: list[Cited] = []

    def plan(_: Entity) -> JsonObject:
        given: JsonObject = {"status": "done", "actual_hours": request.actual_hours, "learnings": learnings}
        return {"metadata": without_none(given)}

    def beside(tx: Transaction, caller: Principal, before: Entity, task: Entity) -> list[Entity]:
        cited = [each for each in request.cited_ids or () if each != task.id]
        cite(tx, caller, task, cited)
        if cited:
            counted.append(count(tx, call, cited, "task", session_key))
        return learn(tx, caller, before, task) if learnings else []

    shown = ("completed_at", "actual_hours", "learnings")
    done = change_task(app, call, WorkChange("complete_task", "Task completed", request, plan, shown, beside))
    for found in counted:
        announce(app, call, found, "task", session_key)
    return done


class ArchiveTaskRequest(OnTask):
    """A task that is put away."""

    reason: Reason | None = Field(None, description="Why; kept in `metadata.archive_reason`.")


def archive_task(app: App, call: Call, request: ArchiveTaskRequest) -> TaskDone:
    """Put a task away for good: lists hide it, and it moves to no other status any more."""
    metadata = without_none({"status": "archived", "archive_reason": request.reason})
    deed = WorkChange("archive_task", "Task archived", request, lambda _: {"metadata": metadata})
    return change_task(app, call, deed, reason=request.reason)


class UpdateEpicRequest(OnEpic):
    """The fields of an epic to change; those that are absent stay."""

    title: Name | None = Field(None, description="New title.")
    description: Description | None = Field(None, description="New description.")
    status: EpicStatus | None = Field(
        None, description="New state; `completed` and `archived` are for maintainers of the project."
    )
    priority: Priority | None = Field(None, description="New priority.")
    assignees: Assignees | None = Field(None, description="Who answers for it from now on.")
    tags: Labels | None = Field(None, description="New labels.")


def update_epic(app: App, call: Call, request: UpdateEpicRequest) -> EpicDone:
    """Change the given fields of an epic. Its status holds until one of its tasks moves."""
    deed = WorkChange(
        "update_epic", "Epic updated", request, lambda _: changes_of(request, ("status", "priority", "assignees"))
    )
    return change_epic(app, call, deed)


class StartEpicRequest(OnEpic):
    """An epic to start."""


def start_epic(app: App, call: Call, request: StartEpicRequest) -> EpicDone:
    """Begin an epic: it is in progress. The start of one of its tasks does that, too."""
    changes = {"metadata": {"status": "in_progress"}}
    return change_epic(app, call, WorkChange("start_epic", "Epic started", request, lambda _: changes, ("started_at",)))


class CompleteEpicRequest(OnEpic):
    """An epic that is done."""

    learnings: Content | None = Field(
        None, description="What was learned. It is kept as an episode that whoever reads the epic can read."
    )


def complete_epic(app: App, call: Call, request: CompleteEpicRequest) -> EpicDone:
    """Say that an epic is completed, whatever its tasks are; for maintainers. What was learned becomes an episode."""
    learnings = nonblank(request.learnings)
    metadata = without_none({"status": "completed", "learnings": learnings})
    deed = WorkChange(
        "complete_epic", "Epic completed", request, lambda _: {"metadata": metadata}, ("completed_at", "learnings"),
        learn if learnings else None, least="project_maintainer",
    )  # fmt: skip
    return change_epic(app, call, deed)


class ArchiveEpicRequest(OnEpic):
    """An epic that is put away."""

    reason: Reason | None = Field(None, description="Why; kept in `metadata.archive_reason`.")


def archive_epic(app: App, call: Call, request: ArchiveEpicRequest) -> EpicDone:
    """Put an epic away for good; for maintainers. Its tasks stay as they are."""
    metadata = without_none({"status": "archived", "archive_reason": request.reason})
    changes = {"metadata": metadata}
    deed = WorkChange("archive_epic", "Epic archived", request, lambda _: changes, least="project_maintainer")
    return change_epic(app, call, deed, reason=request.reason)


OPERATIONS = (
    move("task", "start", start_task),
    move("task", "block", block_task),
    move("task", "unblock", unblock_task),
    move("task", "review", submit_review),
    move("task", "complete", complete_task, "entity_pending", "entity_created"),
    move("task", "archive", archive_task),
    mutation(
        update_epic,
        Route("PATCH", "/api/epics/{epic_id}", tag="epics", headers=IF_MATCH, errors=REFUSALS),
        roles=WRITERS,
        events=("entity_updated",),
    ),
    move("epic", "start", start_epic),
    move("epic", "complete", complete_epic, "entity_pending", "entity_created"),
    move("epic", "archive", archive_epic),
)
