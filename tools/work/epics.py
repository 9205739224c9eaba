"""Changing, starting, completing and archiving epics."""

from typing import Any, Literal

from pydantic import Field

from stores.records import Entity, JsonObject
from tools.app import App
from tools.frame.json_values import without_none
from tools.frame.operation import WRITERS, Call, Operation, Route, Run, mutation
from tools.records.entity_models import Assignees, Content, Description, Labels, Name
from tools.work.tasks import nothing_to_change
from tools.work.work_changes import (
    IF_MATCH,
    REFUSALS,
    EpicDone,
    OnEpic,
    Priority,
    Reason,
    WorkChange,
    change_epic,
    epic_route,
    learn,
    nonblank,
)

EpicStatus = Literal["planning", "in_progress", "blocked", "completed", "archived"]


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

    def plan(_: Entity) -> dict[str, Any]:
        metadata = {name: getattr(request, name) for name in ("status", "priority", "assignees")}
        given = {
            "name": request.title,
            "description": request.description,
            "tags": request.tags,
            "metadata": without_none(metadata) or None,
        }
        if not any(value is not None for value in given.values()):
            raise nothing_to_change(UpdateEpicRequest, {"epic_id", "expected_revision"})
        return without_none(given)

    return change_epic(app, call, WorkChange("update_epic", "Epic updated", request, plan))


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
    metadata: JsonObject = {"status": "completed", **({} if learnings is None else {"learnings": learnings})}
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
    reason: JsonObject = {} if request.reason is None else {"archive_reason": request.reason}
    changes = {"metadata": {"status": "archived", **reason}}
    deed = WorkChange("archive_epic", "Epic archived", request, lambda _: changes, least="project_maintainer")
    return change_epic(app, call, deed, reason=request.reason)


def _operation(route: Route, run: Run, *more_events: str) -> Operation:
    return mutation(run, route, roles=WRITERS, events=("entity_updated", *more_events))


OPERATIONS = (
    _operation(Route("PATCH", "/api/epics/{epic_id}", tag="epics", headers=IF_MATCH, errors=REFUSALS), update_epic),
    _operation(epic_route("start"), start_epic),
    _operation(epic_route("complete"), complete_epic, "entity_pending", "entity_created"),
    _operation(epic_route("archive"), archive_epic),
)
