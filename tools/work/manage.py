"""The verb manage: all task and epic operations in one tool."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Annotated, NamedTuple, get_args

from pydantic import Field, StringConstraints

from stores.errors import ValidationFailed
from stores.records import JsonObject
from tools.app import App
from tools.crawling import operations as crawling
from tools.frame.operation import Call, Operation, Request, Result, Run, Tool, begun, writing
from tools.frame.parsing import parse
from tools.frame.threads import in_thread
from tools.governance import review
from tools.governance.corrections import correct_memory
from tools.governance.lifecycle import CorrectionView
from tools.records.entity_models import EntityId, MutationReceipt
from tools.records.projects import ProjectNames
from tools.work import notes, planning, tasks
from tools.work.notes import NoteView
from tools.work.planning import Advice
from tools.work.work_changes import WorkDone


class Action(NamedTuple):
    key: str
    """The field that `entity_id` fills; empty for an action on nothing in particular."""
    run: Run


_NAMED: Sequence[tuple[str, Sequence[Run]]] = (
    ("task_id", (tasks.start_task, tasks.block_task, tasks.unblock_task, tasks.submit_review, tasks.complete_task)),
    ("task_id", (tasks.archive_task, tasks.update_task, notes.add_note)),
    ("epic_id", (tasks.start_epic, tasks.complete_epic, tasks.archive_epic, tasks.update_epic)),
    ("task_id", (planning.estimate,)),
    ("entity_id", (planning.prioritize, planning.suggest, planning.detect_cycles)),
    ("source_id", (correct_memory,)),
)
ACTIONS: Mapping[str, Action] = {
    **{run.__name__: Action(key, run) for key, runs in _NAMED for run in runs},
    "crawl": Action("", crawling.crawl_source),
    **dict.fromkeys(("sync", "refresh"), Action("source_id", crawling.sync_source)),
    "review": Action("", review.list_review),
    **dict.fromkeys(get_args(review.Verb), Action("item_id", review.decide_review)),
}
ALL = Action("", crawling.sync_all_sources)
"""`refresh` without an `entity_id`."""
ABSENT: Mapping[str, str] = {
    "link_graph": "Records are not linked by guessing; say what belongs together with `related_to` of `add`.",
    "link_graph_status": "Records are not linked by guessing, so there is no such work to report on.",
}


class ManageRequest(Request):
    """An action, its target and its fields."""

    action: Annotated[str, StringConstraints(min_length=1, max_length=100)] = Field(
        description=f"One of {', '.join(ACTIONS)}."
    )
    entity_id: EntityId | None = Field(
        None,
        description="Id of the task or epic; for prioritize, suggest and detect_cycles of the epic or project; for "
        "sync and refresh of the source; refresh without it means all sources.",
    )
    data: JsonObject | None = Field(
        None,
        description="Fields of the action. start_task: assignee. block_task: reason. submit_review: pr_url, "
        "commit_shas. complete_task: actual_hours, learnings, cited_ids. archive_task, archive_epic: reason. "
        "update_task: name, description, status, priority, complexity, assignees, epic_id, parent_task_id, feature, "
        "tags, technologies, add_depends_on, remove_depends_on. add_note: content, author_type, author_name. "
        "complete_epic: learnings. update_epic: name, description, status, priority, assignees, tags. "
        "prioritize: limit. suggest: assignee, limit. correct_memory (raw memory): action (wrong, stale, duplicate, "
        "superseded, hide, redact, revise, restore, delete), reason, revised_content, replacement_source_id, metadata, "
        "duplicate_of_source_id. review: kind, limit. edit: content. "
        "crawl: url, source_name, project, depth, pages, include, exclude (paths). refresh all: project. "
        "Actions on tasks and epics: expected_revision.",
    )
    idempotency_key: Annotated[str, StringConstraints(min_length=1, max_length=255)] | None = Field(
        None, description="Send the same key again to repeat a call whose answer was lost: it is done once."
    )


class Managed(Result):
    """Result of an action."""

    success: bool
    action: str
    entity_id: str | None
    message: str
    data: JsonObject
    timestamp: datetime
    mutation_receipt: MutationReceipt | None = None


@writing(
    None,
    "entity_updated",
    "note_pending",
    "note_created",
    "entity_pending",
    "entity_created",
    tool=Tool("Work on tasks and epics", read_only=False, omit_result=frozenset({"timestamp"})),
)
async def manage(app: App, call: Call, request: ManageRequest) -> Managed:
    """Work on a task or epic: start, block, unblock, hand in for review, complete, archive, change, add a note, plan.

    An unknown action is answered with success false and the list of actions.
    """
    if (action := ACTIONS.get(request.action)) is None:
        return _unknown(app, request)
    if request.entity_id is None and request.action == "refresh":
        action = ALL
    key, run = action
    if request.entity_id is None and key:
        raise _misused("entity_id", f"entity_id is required for {request.action}.", "id of a task or epic")
    given = request.data or {}
    if key in given:
        raise _misused(f"data.{key}", f"data names {key}; that is what entity_id is for.", "no such field")
    own = {key: request.entity_id} if key else {}
    own |= {"verb": request.action} if run is review.decide_review else {}
    fields = parse(Operation(run).request, {**given, **own}, where="arguments.data", hidden=tuple(own))
    if "project" in fields.model_fields_set:
        fields = await in_thread(ProjectNames(app, call.caller).with_ids, fields)
    return _managed(app, request, await call.settled(await begun(run, app, call, fields)))


Crawl = crawling.CrawlStarted | crawling.SyncsStarted
Done = WorkDone | NoteView | Advice | CorrectionView | review.Decided | review.ReviewQueue | Crawl


def _managed(app: App, request: ManageRequest, done: Done) -> Managed:
    if isinstance(done, WorkDone | Advice):
        message, data = done.message, done.data
    else:
        said = getattr(done, "message", getattr(done, "reason", f"{request.action} done"))
        message = "Note added" if isinstance(done, NoteView) else said
        data = done.model_dump(mode="json", exclude={"mutation_receipt"}, exclude_none=True)
    return Managed.of(
        request,
        success=done.success if isinstance(done, Advice) else getattr(done, "applied", True),
        message=message,
        data=data,
        timestamp=app.clock(),
        mutation_receipt=getattr(done, "mutation_receipt", None),
    )


def _unknown(app: App, request: ManageRequest) -> Managed:
    known = list(ACTIONS)
    near = [each for each in known if request.action.lower() in each] or get_close_matches(request.action, known)
    meant = f" Did you mean {' or '.join(near)}?" if near else ""
    missing = ABSENT.get(request.action, f"There is no action {request.action}.{meant}")
    said = f"{missing} Actions are {', '.join(known)}."
    return Managed.of(request, success=False, message=said, data={"actions": [*known]}, timestamp=app.clock())


def _misused(field: str, message: str, expected: str) -> ValidationFailed:
    return ValidationFailed(message, details={"field": f"arguments.{field}", "expected": expected})
